//! A shared crawl as readers see it: everything that is committed, straight from the tables. Needs no claim
//! and no permission to write.
//!
//! Which pages there are, and what was last said of them, is kept in memory and read on by
//! [`SharedReader::refresh`]. The batches of one worker are committed one after the other, so what is new of
//! each worker is what lies behind the last page of it that was seen; across workers no such order exists.

use super::db::Db;
use super::look::{self, Look, PIECE, info_from, record_from, verdict_of};
use super::open::{CrawlRow, choose, crawls};
use super::seat;
use super::steer::{self, CommandInfo};
use super::{id32, id64, shard_of, url_id};
use crate::formats::LabelChange;
use crate::ledger::codec;
use crate::traits::{Each, Records, Stats, Which};
use frontier::{Clock, HostInfo, HostState, Info, RobotsState};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio_postgres::Row;
use types::{
    Holder, Label, Millis, Problem, Record, RobotsAnswer, Source, StateKey, Url, UrlId, Verdict, Who,
};

/// Pending URLs that are asked for at once.
const MANY: i64 = 20_000;

/// A database that restarts is waited for; people do not wait much longer.
const PATIENCE: Duration = Duration::from_secs(10);

/// A page, and what was last said of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Judged {
    /// The page.
    pub id: UrlId,
    /// What the judge decided last.
    pub relevant: bool,
    /// Soft score of the judge, 0–1.
    pub score: f64,
    shard: i16,
}

/// A worker that is alive.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct WorkerInfo {
    /// As the worker called itself when it joined.
    pub name: String,
    /// Shards of the frontier that it has.
    pub shards: u64,
    /// Pages it fetched.
    pub pages: u64,
    /// Of those, how many were judged relevant.
    pub relevant: u64,
    /// Requests that are out.
    pub in_flight: u64,
    /// Nothing to fetch at the moment.
    pub idle: bool,
    /// The newest command that it has done.
    pub applied: u64,
}

/// Hosts by the number this reader gave them when it first met them.
#[derive(Default)]
struct Hosts {
    at: HashMap<u32, u32>,
    names: Vec<String>,
    by_name: HashMap<String, u32>,
}

impl Hosts {
    fn number(&mut self, host: u32) -> u32 {
        let next = self.names.len() as u32;
        *self.at.entry(host).or_insert_with(|| {
            self.names.push(String::new());
            next
        })
    }
    fn name(&mut self, host: u32, name: &str) -> u32 {
        let number = self.number(host);
        if let Some(kept) = self.names.get_mut(number as usize).filter(|n| n.is_empty()) {
            *kept = name.to_string();
            self.by_name.insert(name.to_string(), number);
        }
        number
    }
}

/// See the module.
pub struct SharedReader {
    db: Db,
    crawl: CrawlRow,
    name: String,
    /// Of the last look, to see whether there is something new.
    seen: Option<Seen>,
    /// In the order this reader met them; workers' pages come in the order they were fetched.
    pages: Vec<Judged>,
    /// Where a page is in `pages`.
    at: HashMap<UrlId, u32>,
    /// Per worker's slot: the last page of it that was seen.
    last: BTreeMap<i32, i64>,
    hosts: Mutex<Hosts>,
}

/// What the workers' rows add up to.
#[derive(Clone, Copy, PartialEq)]
struct Seen {
    batches: i64,
    incarnations: i64,
    revisions: i64,
    commands: i64,
}

fn lock<T>(m: &Mutex<T>) -> MutexGuard<'_, T> {
    m.lock().unwrap_or_else(PoisonError::into_inner)
}

impl SharedReader {
    /// Opens a crawl by name; without one, the only crawl there is.
    pub fn open(url: &str, name: Option<&str>) -> Result<SharedReader, Problem> {
        let mut reader = SharedReader::find_crawl(url, name)?;
        reader.refresh()?;
        Ok(reader)
    }

    /// Is there such a crawl?
    pub fn exists(url: &str, name: &str) -> bool {
        SharedReader::find_crawl(url, Some(name)).is_ok()
    }

    /// The names of all crawls in the database.
    pub fn crawls(url: &str) -> Result<Vec<String>, Problem> {
        let db = Db::connect(url, Duration::from_secs(30), PATIENCE)?;
        Ok(crawls(&db)?.into_iter().map(|c| c.0).collect())
    }

    fn find_crawl(url: &str, name: Option<&str>) -> Result<SharedReader, Problem> {
        let db = Db::connect(url, Duration::from_secs(30), PATIENCE)?;
        let (name, crawl) = choose(&db, name)?;
        Ok(SharedReader {
            db,
            crawl,
            name,
            seen: None,
            pages: Vec::new(),
            at: HashMap::new(),
            last: BTreeMap::new(),
            hosts: Mutex::default(),
        })
    }

    /// What was asked of the workers of late, the newest first.
    pub fn commands(&self, most: usize) -> Result<Vec<CommandInfo>, Problem> {
        steer::commands(&self.db, self.crawl.crawl, most as i64)
    }

    /// Name of the crawl.
    pub fn name(&self) -> &str {
        &self.name
    }
    /// The topic file it was begun (or last joined) with.
    pub fn topic(&self) -> &str {
        &self.crawl.topic
    }
    /// Every page, in the order they were met, with what was last said of them.
    pub fn judged(&self) -> &[Judged] {
        &self.pages
    }
    /// Verdicts changed so far: when it stands, no verdict changed.
    pub fn revisions(&self) -> u64 {
        self.seen.map_or(0, |s| s.revisions as u64)
    }

    /// Workers that are alive.
    pub fn workers(&self) -> Result<Vec<WorkerInfo>, Problem> {
        let rows = self.db.ask(
            "SELECT w.name, (SELECT count(*) FROM gleaner.shard s WHERE s.crawl = $1 AND s.owner = w.incarnation),
                    w.pages, w.relevant, w.in_flight, w.idle, w.applied
             FROM gleaner.worker w WHERE w.crawl = $1 AND w.incarnation > 0 AND w.expires >= now() ORDER BY w.slot",
            &[&self.crawl.crawl],
        )?;
        let number = |r: &Row, at: usize| r.get::<_, i64>(at).max(0) as u64;
        let worker = |r: &Row| WorkerInfo {
            name: r.get(0),
            shards: number(r, 1),
            pages: number(r, 2),
            relevant: number(r, 3),
            in_flight: number(r, 4),
            idle: r.get(5),
            applied: number(r, 6),
        };
        Ok(rows.iter().map(worker).collect())
    }

    /// Where URLs stand, piece by piece: there may be many millions.
    fn all_entries(&self, sql: &'static str) -> Each<'_, Info> {
        let (mut shard, mut after) = (0i16, -1i64);
        look::in_pieces(move || {
            if shard >= self.crawl.shards {
                return Ok(None);
            }
            let rows = self.db.ask(sql, &[&self.crawl.crawl, &shard, &after, &MANY])?;
            match rows.last().filter(|_| rows.len() >= MANY as usize) {
                Some(last) => after = last.get(0),
                None => (shard, after) = (shard + 1, -1),
            }
            Ok(Some(rows.iter().map(|r| self.numbered(info_from(r, 0))).collect()))
        })
    }

    /// These pages and where they stand, in this order; those that are gone are left out.
    pub fn pages_of<'a>(&'a self, ids: impl Iterator<Item = UrlId> + 'a) -> Each<'a, (Record, Info)> {
        let mut ids = ids.fuse();
        look::in_pieces(move || {
            let wanted: Vec<UrlId> = ids.by_ref().take(PIECE).collect();
            if wanted.is_empty() { Ok(None) } else { self.some_pages(&wanted).map(Some) }
        })
    }

    fn some_pages(&self, ids: &[UrlId]) -> Result<Vec<(Record, Info)>, Problem> {
        let place = |id: &UrlId| Some((self.shard(*id)?, id64(id.0)));
        let (shards, numbers): (Vec<i16>, Vec<i64>) = ids.iter().filter_map(place).unzip();
        let rows = self.db.ask(
            "SELECT p.record, p.relevant, p.relevance, p.threshold, p.version, p.assessment, u.id, u.state, u.status,
                    u.lane, u.key, u.model, u.parent, u.cause, u.depth, u.site_depth, u.hops, u.attempts, u.host
             FROM unnest($2::int2[], $3::int8[]) AS t(shard, id)
             JOIN gleaner.page p ON p.crawl = $1 AND p.shard = t.shard AND p.id = t.id
             JOIN gleaner.url u ON u.crawl = $1 AND u.shard = t.shard AND u.id = t.id",
            &[&self.crawl.crawl, &shards, &numbers],
        )?;
        let mut found = HashMap::with_capacity(rows.len());
        for r in &rows {
            let info = self.numbered(info_from(r, 6));
            found.insert(info.id, (record_from(r)?, info));
        }
        Ok(ids.iter().filter_map(|id| found.remove(id)).collect())
    }

    /// With this reader's number of the host.
    fn numbered(&self, info: Info) -> Info {
        Info { host: info.host.map(|host| lock(&self.hosts).number(host)), ..info }
    }

    fn read_hosts(&self) -> Result<Vec<HostInfo>, Problem> {
        let rows = self.db.ask(
            "SELECT h.host, h.name, h.clock, r.status, r.fetched, r.expires FROM gleaner.host h
             LEFT JOIN gleaner.robots r USING (crawl, shard, host) WHERE h.crawl = $1 ORDER BY h.host",
            &[&self.crawl.crawl],
        )?;
        let mut hosts = lock(&self.hosts);
        let mut out: Vec<(u32, HostInfo)> = rows
            .iter()
            .map(|r| {
                let info = HostInfo {
                    name: r.get(1),
                    clock: r.get::<_, &[u8]>(2).try_into().map(Clock::from_bytes).unwrap_or_default(),
                    robots: RobotsState {
                        offset: 0,
                        status: r.get::<_, Option<i32>>(3).and_then(|s| u16::try_from(s).ok()).unwrap_or(0),
                        fetched: r.get::<_, Option<i64>>(4).unwrap_or(0).max(0) as u64,
                        expires: r.get::<_, Option<i64>>(5).unwrap_or(0).max(0) as u64,
                    },
                    in_flight: 0,
                    pending: 0,
                    state: HostState::Out,
                };
                (hosts.name(id32(r.get(0)), &info.name), info)
            })
            .collect();
        out.sort_by_key(|(number, _)| *number);
        Ok(out.into_iter().map(|(_, info)| info).collect())
    }

    fn shard(&self, id: UrlId) -> Option<i16> {
        self.at.get(&id).and_then(|i| self.pages.get(*i as usize)).map(|p| p.shard)
    }

    fn look(&self, id: UrlId) -> Look<'_> {
        let (crawl, shards) = (self.crawl.crawl, self.crawl.shards);
        Look { db: &self.db, crawl, id, shard: self.shard(id), shards }
    }

    fn take_in(&mut self, rows: &[Row]) {
        for r in rows {
            let id = url_id(r.get(0));
            let page = Judged { id, relevant: r.get(1), score: r.get(2), shard: r.get(3) };
            let last = self.last.entry(r.get(4)).or_insert(-1);
            *last = (*last).max(r.get(5));
            match self.at.get(&id) {
                Some(&i) => self.pages[i as usize] = page,
                None => {
                    self.at.insert(id, self.pages.len() as u32);
                    self.pages.push(page);
                }
            }
        }
    }

    /// The pages that came since, or all of them when verdicts changed.
    fn read_pages(&mut self, all: bool) -> Result<(), Problem> {
        if all {
            let rows = self.db.ask(
                "SELECT id, relevant, score, shard, slot, seq FROM gleaner.page WHERE crawl = $1 ORDER BY seq",
                &[&self.crawl.crawl],
            )?;
            // Pages may have been removed.
            (self.pages, self.at, self.last) = (Vec::new(), HashMap::new(), BTreeMap::new());
            self.take_in(&rows);
            return Ok(());
        }
        let slots = self
            .db
            .ask("SELECT slot FROM gleaner.worker WHERE crawl = $1 ORDER BY slot", &[&self.crawl.crawl])?;
        let slots: Vec<i32> = slots.iter().map(|r| r.get(0)).collect();
        let after: Vec<i64> = slots.iter().map(|s| self.last.get(s).copied().unwrap_or(-1)).collect();
        let rows = self.db.ask(
            "SELECT p.id, p.relevant, p.score, p.shard, p.slot, p.seq
             FROM unnest($2::int4[], $3::int8[]) AS t(slot, seq)
             JOIN gleaner.page p ON p.crawl = $1 AND p.slot = t.slot AND p.seq > t.seq ORDER BY p.seq",
            &[&self.crawl.crawl, &slots, &after],
        )?;
        self.take_in(&rows);
        Ok(())
    }

    /// Pages of which a new version came after that time of the database's, and its time now.
    pub fn changed_after(&self, since: Millis) -> Result<(Vec<UrlId>, Millis), Problem> {
        let rows = self.db.ask(
            "SELECT DISTINCT id FROM gleaner.past WHERE crawl = $1
               AND stored > to_timestamp($2::float8 / 1000.0) ORDER BY id",
            &[&self.crawl.crawl, &(since.0 as f64)],
        )?;
        let now = self.db.ask("SELECT (extract(epoch FROM clock_timestamp()) * 1000)::int8", &[])?;
        let now = now.first().map_or(0, |r| r.get::<_, i64>(0).max(0) as u64);
        Ok((rows.iter().map(|r| url_id(r.get(0))).collect(), Millis(now)))
    }

    fn unknown(&self, id: UrlId) -> Problem {
        Problem::new(format!("there is no URL number {} in the crawl `{}`", id.0, self.name))
    }

    fn count(&self, sql: &'static str) -> Result<u64, Problem> {
        let rows = self.db.ask(sql, &[&self.crawl.crawl])?;
        Ok(rows.first().map_or(0, |r| r.get::<_, i64>(0).max(0) as u64))
    }

    /// Reads on. `true` when there was something new.
    pub fn refresh(&mut self) -> Result<bool, Problem> {
        if self.db.is_closed() {
            self.db.reconnect().map_err(|e| self.db.problem("connect to", &e))?;
        }
        let rows = self.db.ask(
            "SELECT coalesce(sum(batch), 0)::int8, coalesce(sum(abs(incarnation)), 0)::int8,
                    coalesce(sum(revisions), 0)::int8,
                    coalesce((SELECT n FROM gleaner.steering WHERE crawl = $1), 0)
             FROM gleaner.worker WHERE crawl = $1",
            &[&self.crawl.crawl],
        )?;
        let now = rows.first().map(|r| Seen {
            batches: r.get(0),
            incarnations: r.get(1),
            revisions: r.get(2),
            commands: r.get(3),
        });
        if now == self.seen {
            return Ok(false);
        }
        let revised = now.map(|n| n.revisions) != self.seen.map(|s| s.revisions);
        self.read_pages(revised)?;
        self.seen = now;
        Ok(true)
    }
}

/// Where URLs of a shard stand, those after a number.
macro_rules! entries_after {
    ($condition:literal) => {
        concat!(
            "SELECT id, state, status, lane, key, model, parent, cause, depth, site_depth, hops, attempts, host
             FROM gleaner.url WHERE crawl = $1 AND shard = $2 AND id > $3 ",
            $condition,
            " ORDER BY id LIMIT $4"
        )
    };
}

impl Records for SharedReader {
    fn find(&self, url: &Url) -> Result<Option<UrlId>, Problem> {
        let c = &self.crawl;
        look::find(&self.db, c.crawl, shard_of(url.host_key(), c.key, c.shards), url.fingerprint(c.key))
    }

    fn url(&self, id: UrlId) -> Result<Url, Problem> {
        self.look(id).url()?.ok_or_else(|| self.unknown(id))
    }

    fn entry(&self, id: UrlId) -> Result<Option<Info>, Problem> {
        Ok(self.look(id).entry()?.map(|i| self.numbered(i)))
    }

    /// Shard by shard.
    fn entries(&self, which: Which) -> Each<'_, Info> {
        self.all_entries(match which {
            Which::All => entries_after!(""),
            Which::Pending => entries_after!("AND state = 0"),
        })
    }

    fn sources(&self, id: UrlId) -> Result<Vec<Source>, Problem> {
        self.look(id).sources()
    }

    fn children(&self, id: UrlId) -> Result<Vec<UrlId>, Problem> {
        let kept = self.look(id).children()?;
        look::resolve(&self.db, self.crawl.crawl, &kept)
    }

    fn record(&self, id: UrlId) -> Result<Option<Record>, Problem> {
        self.look(id).record()
    }

    fn versions(&self, id: UrlId) -> Result<Vec<Record>, Problem> {
        let Some(newest) = self.record(id)? else { return Ok(Vec::new()) };
        let mut all = vec![newest];
        all.extend(self.look(id).past()?);
        Ok(all.into_iter().map(|record| Record { id, ..record }).collect())
    }

    fn records_of(&self, ids: Vec<UrlId>) -> Each<'_, Record> {
        Box::new(self.pages_of(ids.into_iter()).map(|page| page.map(|(record, _)| record)))
    }

    fn pages(&self, from: usize) -> Each<'_, (Record, Info)> {
        self.pages_of(self.pages.get(from..).unwrap_or_default().iter().map(|p| p.id))
    }

    fn revised(&self) -> Result<Vec<(UrlId, Verdict)>, Problem> {
        let rows = self.db.ask(
            "SELECT id, relevant, relevance, threshold, version FROM gleaner.page
             WHERE crawl = $1 AND revised ORDER BY id",
            &[&self.crawl.crawl],
        )?;
        Ok(rows.iter().map(|r| (url_id(r.get(0)), verdict_of(r, 1))).collect())
    }

    /// In the order of this reader's numbers.
    fn hosts(&self) -> Result<Vec<HostInfo>, Problem> {
        self.read_hosts()
    }

    /// This reader's number of it.
    fn find_host(&self, name: &str) -> Result<Option<u32>, Problem> {
        if let Some(number) = lock(&self.hosts).by_name.get(name) {
            return Ok(Some(*number));
        }
        let shard = shard_of(name, self.crawl.key, self.crawl.shards);
        let rows = self.db.ask(
            "SELECT host FROM gleaner.host WHERE crawl = $1 AND shard = $2 AND name = $3",
            &[&self.crawl.crawl, &shard, &name],
        )?;
        let host = rows.first().map(|r| id32(r.get(0)));
        Ok(host.map(|host| lock(&self.hosts).name(host, name)))
    }

    fn host_name(&self, number: u32) -> Result<Option<String>, Problem> {
        let known = |hosts: &Hosts| hosts.names.get(number as usize).filter(|n| !n.is_empty()).cloned();
        if let Some(name) = known(&lock(&self.hosts)) {
            return Ok(Some(name));
        }
        // Met as the host of a URL only: all names are read, so the next ones are known.
        self.read_hosts()?;
        Ok(known(&lock(&self.hosts)))
    }

    fn robots(&self, host_key: &str) -> Result<Option<RobotsAnswer>, Problem> {
        let shard = shard_of(host_key, self.crawl.key, self.crawl.shards);
        let rows = self.db.ask(
            "SELECT r.status, r.fetched, r.expires, r.body FROM gleaner.host h
             JOIN gleaner.robots r USING (crawl, shard, host)
             WHERE h.crawl = $1 AND h.shard = $2 AND h.name = $3",
            &[&self.crawl.crawl, &shard, &host_key],
        )?;
        Ok(rows.first().map(|r| RobotsAnswer {
            status: u16::try_from(r.get::<_, i32>(0)).unwrap_or(0),
            fetched: Millis(r.get::<_, i64>(1).max(0) as u64),
            expires: Millis(r.get::<_, i64>(2).max(0) as u64),
            body: r.get(3),
        }))
    }

    fn state(&self, key: StateKey) -> Result<Vec<Vec<u8>>, Problem> {
        let (crawl, name) = (self.crawl.crawl, key.name());
        let rows = match (key, key.holder()) {
            (StateKey::Labels, _) => {
                let line = |(id, label): (UrlId, Label)| {
                    let by_model = label.who == Who::Model;
                    LabelChange { id, by_model, said: Some(label.relevant) }.to_bytes().to_vec()
                };
                return Ok(steer::labels(&self.db, crawl)?.into_iter().map(line).collect());
            }
            (StateKey::Removed, _) => return look::removed(&self.db, crawl),
            (StateKey::Teacher, _) => return Ok(vec![seat::spent(&self.db, crawl)?]),
            (_, Holder::Crawl) => return Ok(vec![steer::wanted_json(&self.db, crawl)?.1.into_bytes()]),
            (_, Holder::EveryWorker) => self.db.ask(
                "SELECT bytes FROM gleaner.state WHERE crawl = $1 AND name = $2 ORDER BY slot, n",
                &[&crawl, &name],
            )?,
            (_, Holder::OneWorker) => self.db.ask(
                "SELECT bytes FROM gleaner.state WHERE crawl = $1 AND name = $2 AND slot =
                   (SELECT slot FROM gleaner.worker WHERE crawl = $1 ORDER BY pages DESC, slot LIMIT 1) ORDER BY n",
                &[&crawl, &name],
            )?,
        };
        Ok(rows.iter().map(|r| r.get(0)).collect())
    }

    fn stats(&self) -> Result<Stats, Problem> {
        let rows = self.db.ask(
            "SELECT state, count(*) FROM gleaner.url WHERE crawl = $1 GROUP BY state ORDER BY state",
            &[&self.crawl.crawl],
        )?;
        let mut stats = Stats::default();
        let mut by_outcome: HashMap<i16, u64> = HashMap::new();
        for r in rows {
            let (state, n): (i16, u64) = (r.get(0), r.get::<_, i64>(1).max(0) as u64);
            stats.urls += n;
            if state == 0 {
                stats.pending += n;
            } else {
                stats.settled += n;
                by_outcome.insert(state - 1, n);
            }
        }
        stats.outcomes = crate::ledger::OUTCOMES
            .iter()
            .map(|(name, outcome)| {
                let code = i16::from(codec::outcome_code(*outcome).0);
                (*name, by_outcome.get(&code).copied().unwrap_or(0))
            })
            .collect();
        stats.pages = self.pages.len() as u64;
        stats.versions = stats.pages + self.count("SELECT count(*) FROM gleaner.past WHERE crawl = $1")?;
        stats.hosts = self.count("SELECT count(*) FROM gleaner.host WHERE crawl = $1")? as usize;
        stats.leases =
            self.count("SELECT coalesce(sum(step), 0)::int8 FROM gleaner.worker WHERE crawl = $1")?;
        let size = self.db.ask(
            "SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::int8 FROM pg_class c
             JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'gleaner' AND c.relkind = 'r'",
            &[],
        )?;
        stats.log_bytes = size.first().map_or(0, |r| r.get::<_, i64>(0).max(0) as u64);
        Ok(stats)
    }

    /// The invariants that can be checked from outside: every URL has a host and a first sighting, pages are
    /// of URLs that were fetched, and no page was written in an epoch other than that of its shard at the
    /// time.
    fn check(&self) -> Result<(), Problem> {
        let crawl = &self.crawl.crawl;
        let checks: [(&str, &'static str); 6] = [
            (
                "a URL without its text",
                "SELECT count(*) FROM gleaner.url u WHERE crawl = $1 AND NOT EXISTS (SELECT 1 FROM gleaner.sight s
                 WHERE s.crawl = $1 AND s.shard = u.shard AND s.id = u.id AND s.n = 0 AND s.url IS NOT NULL)",
            ),
            (
                "a URL without its host",
                "SELECT count(*) FROM gleaner.url u WHERE crawl = $1 AND NOT EXISTS (SELECT 1 FROM gleaner.host h
                 WHERE h.crawl = $1 AND h.shard = u.shard AND h.host = u.host)",
            ),
            (
                "a page of a URL that is not settled as fetched",
                "SELECT count(*) FROM gleaner.page p WHERE crawl = $1 AND NOT EXISTS (SELECT 1 FROM gleaner.url u
                 WHERE u.crawl = $1 AND u.shard = p.shard AND u.id = p.id AND u.state = 1)",
            ),
            (
                "a page written under an epoch that had ended",
                "SELECT count(*) FROM gleaner.page p JOIN gleaner.epoch later
                   ON later.crawl = $1 AND later.shard = p.shard AND later.epoch = p.epoch + 1
                 WHERE p.crawl = $1 AND p.stored > later.since",
            ),
            (
                "an earlier version of a page that is not there",
                "SELECT count(*) FROM gleaner.past v WHERE crawl = $1 AND NOT EXISTS
                 (SELECT 1 FROM gleaner.page p WHERE p.crawl = $1 AND p.shard = v.shard AND p.id = v.id)",
            ),
            (
                "a number given to two URLs",
                "SELECT count(*) FROM (SELECT id FROM gleaner.url WHERE crawl = $1 GROUP BY id HAVING count(*) > 1) AS twice",
            ),
        ];
        for (what, sql) in checks {
            let rows = self.db.ask(sql, &[crawl])?;
            let n: i64 = rows.first().map_or(0, |r| r.get(0));
            if n > 0 {
                return Err(Problem::new(format!("the crawl `{}` is inconsistent", self.name))
                    .because(format!("{what}, {n} times")));
            }
        }
        Ok(())
    }
}
