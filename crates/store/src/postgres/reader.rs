//! A shared crawl as readers see it: everything that is committed, straight from the tables. Needs no claim and no
//! permission to write.

use super::db::Db;
use super::load::{kind, priority};
use super::open::{CrawlRow, crawl_of};
use super::post::{Child, read_children};
use super::{id32, id64, shard_of};
use crate::ledger::codec;
use crate::ledger::page;
use crate::traits::{Stats, Store};
use frontier::{Applied, Clock, Frontier, HostInfo, HostState, Idle, Info, Next, Peek, RobotsState, State};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio_postgres::Row;
use types::{
    Candidate, Canon, Fingerprint, Millis, Priority, Problem, Record, Rescored, RobotsAnswer, Source, Turn,
    Url, UrlId, Verdict,
};

/// The shard a URL is in, or all of them when it is not known (256 look-ups instead of one).
fn candidates(shards: i16, known: Option<i16>) -> Vec<i16> {
    known.map_or_else(|| (0..shards).collect(), |s| vec![s])
}

fn canon() -> Canon {
    Canon { drop_params: Vec::new(), max_length: usize::MAX }
}

pub(super) fn find(db: &Db, crawl: i32, shard: i16, print: Fingerprint) -> Result<Option<UrlId>, Problem> {
    let rows = db.ask(
        "SELECT id FROM gleaner.url WHERE crawl = $1 AND shard = $2 AND print0 = $3 AND print1 = $4",
        &[&crawl, &shard, &(print.0 as i64), &(print.1 as i64)],
    )?;
    Ok(rows.first().map(|r| UrlId(id32(r.get(0)))))
}

pub(super) fn url_of(
    db: &Db,
    crawl: i32,
    shards: i16,
    id: UrlId,
    shard: Option<i16>,
) -> Result<Option<Url>, Problem> {
    let rows = db.ask(
        "SELECT url FROM gleaner.sight WHERE crawl = $1 AND shard = ANY($2) AND id = $3 AND n = 0",
        &[&crawl, &candidates(shards, shard), &id64(id.0)],
    )?;
    Ok(rows.first().and_then(|r| r.get::<_, Option<&str>>(0)).and_then(|t| canon().parse(t).ok()))
}

pub(super) fn sources_of(
    db: &Db,
    crawl: i32,
    shards: i16,
    id: UrlId,
    shard: Option<i16>,
) -> Result<Vec<Source>, Problem> {
    let rows = db.ask(
        "SELECT parent, kind, lane, key, anchor, evidence FROM gleaner.sight
         WHERE crawl = $1 AND shard = ANY($2) AND id = $3 ORDER BY n",
        &[&crawl, &candidates(shards, shard), &id64(id.0)],
    )?;
    let source = |r: &Row| Source {
        parent: r.get::<_, Option<i64>>(0).map(|p| UrlId(id32(p))),
        kind: kind(r.get(1)),
        priority: priority(r.get(2), r.get(3)),
        anchor: r.get::<_, &str>(4).into(),
        evidence: r.get(5),
    };
    Ok(rows.iter().map(source).collect())
}

pub(super) fn entry_of(
    db: &Db,
    crawl: i32,
    shards: i16,
    id: UrlId,
    shard: Option<i16>,
) -> Result<Option<Info>, Problem> {
    let rows = db.ask(
        "SELECT state, status, lane, key, model, parent, cause, depth, site_depth, hops, attempts
         FROM gleaner.url WHERE crawl = $1 AND shard = ANY($2) AND id = $3",
        &[&crawl, &candidates(shards, shard), &id64(id.0)],
    )?;
    let Some(r) = rows.first() else { return Ok(None) };
    let some = |at: usize| r.get::<_, Option<i64>>(at).map(|id| UrlId(id32(id)));
    let small = |at: usize| u16::try_from(r.get::<_, i32>(at)).unwrap_or(u16::MAX);
    let tiny = |at: usize| u8::try_from(r.get::<_, i16>(at)).unwrap_or(u8::MAX);
    Ok(Some(Info {
        id,
        state: state_of(r.get(0), small(1)),
        priority: priority(r.get(2), r.get(3)),
        model: id32(r.get(4)),
        parent: some(5),
        cause: some(6),
        depth: small(7),
        site_depth: small(8),
        hops: tiny(9),
        attempts: tiny(10),
        host: u32::MAX,
    }))
}

fn state_of(code: i16, status: u16) -> State {
    match u8::try_from(code - 1).ok().and_then(|c| codec::outcome_of(c, status)) {
        Some(outcome) => State::Settled(outcome),
        None => State::Pending,
    }
}

pub(super) fn verdict_of(r: &Row, at: usize) -> Verdict {
    Verdict {
        relevant: r.get(at),
        relevance: r.get(at + 1),
        threshold: r.get(at + 2),
        version: id32(r.get(at + 3)),
    }
}

fn record_from(r: &Row) -> Result<Record, Problem> {
    let mut record = page::get_body(r.get(0)).ok_or_else(|| {
        Problem::new("a page's record in the database cannot be read")
            .because("what is there is not what was written")
            .hint("update gleaner if a newer version writes to this crawl; else restore the database from a backup")
    })?;
    record.verdict = verdict_of(r, 1);
    Ok(record)
}

pub(super) fn record_of(
    db: &Db,
    crawl: i32,
    shards: i16,
    id: UrlId,
    shard: Option<i16>,
) -> Result<Option<Record>, Problem> {
    let rows = db.ask(
        "SELECT record, relevant, relevance, threshold, version FROM gleaner.page
         WHERE crawl = $1 AND shard = ANY($2) AND id = $3",
        &[&crawl, &candidates(shards, shard), &id64(id.0)],
    )?;
    rows.first().map(record_from).transpose()
}

pub(super) fn children_of(
    db: &Db,
    crawl: i32,
    shards: i16,
    id: UrlId,
    shard: Option<i16>,
) -> Result<Vec<Child>, Problem> {
    let rows = db.ask(
        "SELECT children FROM gleaner.link WHERE crawl = $1 AND shard = ANY($2) AND id = $3",
        &[&crawl, &candidates(shards, shard), &id64(id.0)],
    )?;
    Ok(rows.first().and_then(|r| read_children(r.get(0))).unwrap_or_default())
}

/// The numbers of links that were kept by fingerprint; those never admitted have none.
pub(super) fn resolve(db: &Db, crawl: i32, children: &[Child]) -> Result<Vec<UrlId>, Problem> {
    let far: Vec<(i16, Fingerprint)> = children
        .iter()
        .filter_map(|c| match c {
            Child::Far { shard, print } => Some((*shard, *print)),
            Child::Known(_) => None,
        })
        .collect();
    let mut found: HashMap<Fingerprint, UrlId> = HashMap::new();
    if !far.is_empty() {
        let rows = db.ask(
            "SELECT u.print0, u.print1, u.id FROM gleaner.url u
             JOIN unnest($2::int2[], $3::int8[], $4::int8[]) AS t(shard, print0, print1)
               ON u.shard = t.shard AND u.print0 = t.print0 AND u.print1 = t.print1 WHERE u.crawl = $1",
            &[
                &crawl,
                &far.iter().map(|f| f.0).collect::<Vec<i16>>(),
                &far.iter().map(|f| f.1.0 as i64).collect::<Vec<i64>>(),
                &far.iter().map(|f| f.1.1 as i64).collect::<Vec<i64>>(),
            ],
        )?;
        for r in rows {
            let print = Fingerprint(r.get::<_, i64>(0) as u64, r.get::<_, i64>(1) as u64);
            found.insert(print, UrlId(id32(r.get(2))));
        }
    }
    let number = |c: &Child| match c {
        Child::Known(id) => Some(UrlId(*id)),
        Child::Far { print, .. } => found.get(print).copied(),
    };
    Ok(children.iter().filter_map(number).collect())
}

/// See the module.
pub struct SharedReader {
    db: Db,
    crawl: CrawlRow,
    name: String,
    /// Of the last look, to see whether there is something new.
    seen: (i64, i64),
    /// Shards of pages, as far as they were met: one look-up instead of 256.
    shards: Mutex<HashMap<u32, i16>>,
}

impl SharedReader {
    /// Opens a crawl by name; without one, the only crawl there is.
    pub fn open(url: &str, name: Option<&str>) -> Result<SharedReader, Problem> {
        let db = Db::connect(url, Duration::from_secs(30))?;
        let there = db.ask("SELECT to_regclass('gleaner.crawl') IS NOT NULL", &[])?;
        let none = || {
            Problem::nothing("there is no crawl in this database")
                .hint("`gleaner crawl topic.toml --store …` begins one")
        };
        if !there.first().is_some_and(|r| r.get::<_, bool>(0)) {
            return Err(none());
        }
        let rows = db.ask(
            "SELECT crawl, key0, key1, shards, topic, next_id, name FROM gleaner.crawl ORDER BY name",
            &[],
        )?;
        let names: Vec<String> = rows.iter().map(|r| r.get(6)).collect();
        let at = match name {
            Some(name) => names.iter().position(|n| n == name).ok_or_else(|| {
                Problem::usage(format!("there is no crawl `{name}` in this database"))
                    .hint(format!("there are: {}", names.join(", ")))
            })?,
            None if names.is_empty() => return Err(none()),
            None if names.len() == 1 => 0,
            None => {
                return Err(Problem::usage("there are several crawls in this database")
                    .hint(format!("name one with --crawl: {}", names.join(", "))));
            }
        };
        let crawl = rows.get(at).map(crawl_of).ok_or_else(none)?;
        let name = names.get(at).cloned().unwrap_or_default();
        Ok(SharedReader { db, crawl, name, seen: (-1, -1), shards: Mutex::default() })
    }

    pub fn name(&self) -> &str {
        &self.name
    }
    /// The topic file it was begun (or last joined) with.
    pub fn topic(&self) -> &str {
        &self.crawl.topic
    }

    /// Workers that are alive: name, shards, pages fetched.
    pub fn workers(&self) -> Result<Vec<(String, u64, u64)>, Problem> {
        let rows = self.db.ask(
            "SELECT w.name, (SELECT count(*) FROM gleaner.shard s WHERE s.crawl = $1 AND s.owner = w.incarnation), w.pages
             FROM gleaner.worker w WHERE w.crawl = $1 AND w.incarnation > 0 AND w.expires >= now() ORDER BY w.slot",
            &[&self.crawl.crawl],
        )?;
        Ok(rows.iter().map(|r| (r.get(0), r.get::<_, i64>(1) as u64, r.get::<_, i64>(2) as u64)).collect())
    }

    fn shard(&self, id: UrlId) -> Option<i16> {
        self.shards.lock().unwrap_or_else(PoisonError::into_inner).get(&id.0).copied()
    }

    fn read_only(&self) -> Problem {
        Problem::new(format!("the crawl `{}` is open for reading only", self.name))
    }
    fn unknown(&self, id: UrlId) -> Problem {
        Problem::new(format!("there is no URL number {} in the crawl `{}`", id.0, self.name))
    }

    fn count(&self, sql: &'static str) -> u64 {
        let rows = self.db.ask(sql, &[&self.crawl.crawl]).unwrap_or_default();
        rows.first().map_or(0, |r| r.get::<_, i64>(0).max(0) as u64)
    }
}

impl Store for SharedReader {
    fn find(&self, url: &Url) -> Option<UrlId> {
        let c = &self.crawl;
        find(&self.db, c.crawl, shard_of(url.host_key(), c.key, c.shards), url.fingerprint(c.key))
            .ok()
            .flatten()
    }

    fn url(&self, id: UrlId) -> Result<Url, Problem> {
        url_of(&self.db, self.crawl.crawl, self.crawl.shards, id, self.shard(id))?
            .ok_or_else(|| self.unknown(id))
    }

    fn entry(&self, id: UrlId) -> Option<Info> {
        entry_of(&self.db, self.crawl.crawl, self.crawl.shards, id, self.shard(id)).ok().flatten()
    }

    fn children(&self, id: UrlId) -> Result<Vec<UrlId>, Problem> {
        let kept = children_of(&self.db, self.crawl.crawl, self.crawl.shards, id, self.shard(id))?;
        resolve(&self.db, self.crawl.crawl, &kept)
    }

    fn record(&self, id: UrlId) -> Result<Option<Record>, Problem> {
        record_of(&self.db, self.crawl.crawl, self.crawl.shards, id, self.shard(id))
    }

    fn records(&self, from: usize) -> Box<dyn Iterator<Item = Result<Record, Problem>> + '_> {
        const PIECE: i64 = 200;
        let mut after: i64 = match from {
            0 => -1,
            n => {
                let rows = self.db.ask(
                    "SELECT seq FROM gleaner.page WHERE crawl = $1 ORDER BY seq LIMIT 1 OFFSET $2",
                    &[&self.crawl.crawl, &(n as i64 - 1)],
                );
                match rows {
                    Ok(rows) => rows.first().map_or(i64::MAX, |r| r.get(0)),
                    Err(e) => return Box::new(std::iter::once(Err(e))),
                }
            }
        };
        let mut piece: std::vec::IntoIter<Row> = Vec::new().into_iter();
        let mut failed = false;
        Box::new(std::iter::from_fn(move || {
            if failed {
                return None;
            }
            if piece.len() == 0 {
                let rows = self.db.ask(
                    "SELECT record, relevant, relevance, threshold, version, seq FROM gleaner.page
                     WHERE crawl = $1 AND seq > $2 ORDER BY seq LIMIT $3",
                    &[&self.crawl.crawl, &after, &PIECE],
                );
                match rows {
                    Ok(rows) => piece = rows.into_iter(),
                    Err(e) => {
                        failed = true;
                        return Some(Err(e));
                    }
                }
            }
            let row = piece.next()?;
            after = row.get(5);
            Some(record_from(&row))
        }))
    }

    fn verdicts(&self) -> Result<Option<Vec<(UrlId, bool)>>, Problem> {
        let rows = self.db.ask(
            "SELECT id, relevant, shard FROM gleaner.page WHERE crawl = $1 ORDER BY seq",
            &[&self.crawl.crawl],
        )?;
        let mut shards = self.shards.lock().unwrap_or_else(PoisonError::into_inner);
        shards.extend(rows.iter().map(|r| (id32(r.get(0)), r.get::<_, i16>(2))));
        Ok(Some(rows.iter().map(|r| (UrlId(id32(r.get(0))), r.get(1))).collect()))
    }

    fn revised(&self) -> Result<Vec<(UrlId, Verdict)>, Problem> {
        let rows = self.db.ask(
            "SELECT id, relevant, relevance, threshold, version FROM gleaner.page
             WHERE crawl = $1 AND revised ORDER BY id",
            &[&self.crawl.crawl],
        )?;
        Ok(rows.iter().map(|r| (UrlId(id32(r.get(0))), verdict_of(r, 1))).collect())
    }

    fn revise(&mut self, _: &[(UrlId, Verdict)]) -> Result<(), Problem> {
        Err(self.read_only())
    }

    /// Totals: one of each worker. Anything else: of the worker with the most pages.
    fn state(&self, name: &str) -> Result<Vec<Vec<u8>>, Problem> {
        let rows = if name == "counts" {
            self.db.ask(
                "SELECT bytes FROM gleaner.state WHERE crawl = $1 AND name = $2 AND n = 0 ORDER BY slot",
                &[&self.crawl.crawl, &name],
            )?
        } else {
            self.db.ask(
                "SELECT bytes FROM gleaner.state WHERE crawl = $1 AND name = $2 AND slot =
                   (SELECT slot FROM gleaner.worker WHERE crawl = $1 ORDER BY pages DESC, slot LIMIT 1) ORDER BY n",
                &[&self.crawl.crawl, &name],
            )?
        };
        Ok(rows.iter().map(|r| r.get(0)).collect())
    }

    fn put_state(&mut self, _: &str, _: bool, _: &[u8]) -> Result<(), Problem> {
        Err(self.read_only())
    }

    fn hosts(&self) -> Box<dyn Iterator<Item = HostInfo> + '_> {
        let rows = self.db.ask(
            "SELECT h.name, h.clock, r.status, r.fetched, r.expires FROM gleaner.host h
             LEFT JOIN gleaner.robots r USING (crawl, shard, host) WHERE h.crawl = $1 ORDER BY h.host",
            &[&self.crawl.crawl],
        );
        let host = |r: Row| HostInfo {
            name: r.get(0),
            clock: r.get::<_, &[u8]>(1).try_into().map(Clock::from_bytes).unwrap_or_default(),
            robots: RobotsState {
                offset: 0,
                status: r.get::<_, Option<i32>>(2).and_then(|s| u16::try_from(s).ok()).unwrap_or(0),
                fetched: r.get::<_, Option<i64>>(3).unwrap_or(0).max(0) as u64,
                expires: r.get::<_, Option<i64>>(4).unwrap_or(0).max(0) as u64,
            },
            in_flight: 0,
            pending: 0,
            state: HostState::Out,
        };
        Box::new(rows.unwrap_or_default().into_iter().map(host))
    }

    fn stats(&self) -> Stats {
        let rows = self
            .db
            .ask(
                "SELECT state, count(*) FROM gleaner.url WHERE crawl = $1 GROUP BY state ORDER BY state",
                &[&self.crawl.crawl],
            )
            .unwrap_or_default();
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
        stats.pages = self.count("SELECT count(*) FROM gleaner.page WHERE crawl = $1");
        stats.hosts = self.count("SELECT count(*) FROM gleaner.host WHERE crawl = $1") as usize;
        stats.leases = self.count("SELECT coalesce(sum(step), 0)::int8 FROM gleaner.worker WHERE crawl = $1");
        let size = self.db.ask(
            "SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::int8 FROM pg_class c
             JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'gleaner' AND c.relkind = 'r'",
            &[],
        );
        stats.log_bytes =
            size.ok().and_then(|r| r.first().map(|r| r.get::<_, i64>(0))).unwrap_or(0).max(0) as u64;
        stats
    }

    fn sync(&mut self) -> Result<(), Problem> {
        Err(self.read_only())
    }
    fn checkpoint(&mut self) -> Result<(), Problem> {
        Err(self.read_only())
    }
    fn close(&mut self) -> Result<(), Problem> {
        Ok(())
    }

    fn refresh(&mut self) -> Result<bool, Problem> {
        if self.db.is_closed() {
            self.db.reconnect().map_err(|e| self.db.problem("connect to", &e))?;
        }
        let rows = self.db.ask(
            "SELECT coalesce(sum(batch + pages + relevant), 0)::int8, coalesce(sum(abs(incarnation)), 0)::int8
             FROM gleaner.worker WHERE crawl = $1",
            &[&self.crawl.crawl],
        )?;
        let now = rows.first().map_or((0, 0), |r| (r.get(0), r.get(1)));
        let new = now != self.seen;
        self.seen = now;
        Ok(new)
    }

    /// The invariants that can be checked from outside: every URL has a host and a first sighting, pages are of URLs
    /// that were fetched, and no page was written in an epoch other than that of its shard at the time.
    fn check(&self) -> Result<(), Problem> {
        let crawl = &self.crawl.crawl;
        let checks: [(&str, &'static str); 5] = [
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

impl Frontier for SharedReader {
    fn lease(&mut self, _: Millis, _: Option<u8>) -> Result<Next, Problem> {
        Ok(Next::Empty(Idle::default()))
    }
    fn peek(&mut self, _: Millis, _: Option<u8>, _: usize) -> Vec<Peek> {
        Vec::new()
    }
    fn seed(&mut self, _: Candidate, _: Millis) -> Result<bool, Problem> {
        Err(self.read_only())
    }
    fn apply(&mut self, _: Turn, _: &dyn Fn(Priority, Priority) -> Priority) -> Result<Applied, Problem> {
        Err(self.read_only())
    }
    fn rescore(&mut self, _: &[Rescored]) -> Result<(), Problem> {
        Err(self.read_only())
    }
    fn commit(&mut self) -> Result<(), Problem> {
        Err(self.read_only())
    }
    fn siblings(&self, _: UrlId) -> Vec<UrlId> {
        Vec::new()
    }
    fn sources(&self, id: UrlId) -> Result<Vec<Source>, Problem> {
        sources_of(&self.db, self.crawl.crawl, self.crawl.shards, id, self.shard(id))
    }
    fn pending(&self) -> Box<dyn Iterator<Item = UrlId> + '_> {
        let rows = self.db.ask(
            "SELECT id FROM gleaner.url WHERE crawl = $1 AND state = 0 ORDER BY id",
            &[&self.crawl.crawl],
        );
        Box::new(rows.unwrap_or_default().into_iter().map(|r| UrlId(id32(r.get(0)))))
    }
    fn robots(&self, host_key: &str) -> Result<Option<RobotsAnswer>, Problem> {
        let shard = shard_of(host_key, self.crawl.key, self.crawl.shards);
        let rows = self.db.ask(
            "SELECT r.status, r.body, r.fetched, r.expires FROM gleaner.robots r
             JOIN gleaner.host h USING (crawl, shard, host) WHERE h.crawl = $1 AND h.shard = $2 AND h.name = $3",
            &[&self.crawl.crawl, &shard, &host_key],
        )?;
        Ok(rows.first().map(|r| RobotsAnswer {
            status: u16::try_from(r.get::<_, i32>(0)).unwrap_or(0),
            body: r.get(1),
            fetched: Millis(r.get::<_, i64>(2).max(0) as u64),
            expires: Millis(r.get::<_, i64>(3).max(0) as u64),
        }))
    }
}
