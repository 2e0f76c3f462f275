//! From a shard's rows back to the records of a log: the ledger takes them in as if it had written them.

use super::db::Db;
use super::ids::{Ids, Place, Slot};
use super::scratch::Scratch;
use super::{Skew, id32, url_id};
use crate::ledger::Log;
use crate::ledger::codec::{self, Admit, FRAME_HEAD, Kind, Seen, Sight};
use frontier::{Clock, Limits, RobotsState};
use futures_util::TryStreamExt;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;
use types::{LinkKind, Millis, Outcome, Priority, Problem, Rescored, RobotsAnswer, StateKey, UrlId};

/// Rows that are taken in at a time.
const ROWS: usize = 1_000;

/// What is read of a host, and of a URL with one of its sightings. Of a settled URL only its text is needed:
/// to know it again.
macro_rules! host_columns {
    () => {
        "SELECT h.shard, h.host, h.name, h.clock, r.status, r.fetched, r.expires, r.body "
    };
}
macro_rules! url_columns {
    () => {
        "SELECT u.id, u.host, u.parent, u.cause, u.key, u.not_before, u.expires, u.model, u.depth, u.site_depth, u.status,
                u.state, u.lane, u.hops, u.attempts, s.url, s.kind, s.lane, s.key, s.parent_shard,
                CASE WHEN u.state = 0 THEN s.anchor END, CASE WHEN u.state = 0 THEN s.evidence END, s.n, s.parent, u.shard "
    };
}

/// All of some shards.
const HOSTS: &str = concat!(
    host_columns!(),
    "FROM gleaner.host h LEFT JOIN gleaner.robots r USING (crawl, shard, host)
     WHERE h.crawl = $1 AND h.shard = ANY($2) ORDER BY h.host"
);
/// In the order they were found, each with its sightings.
const URLS: &str = concat!(
    url_columns!(),
    "FROM gleaner.url u JOIN gleaner.sight s
       ON s.crawl = $1 AND s.shard = u.shard AND s.id = u.id AND (s.n = 0 OR u.state = 0)
     WHERE u.crawl = $1 AND u.shard = ANY($2) ORDER BY u.id, s.n"
);

/// The same of URLs that are named and pending, and of their hosts.
const HOSTS_OF: &str = concat!(
    host_columns!(),
    "FROM (SELECT DISTINCT u.shard, u.host FROM unnest($2::int2[], $3::int8[]) AS t(shard, id)
           JOIN gleaner.url u ON u.crawl = $1 AND u.shard = t.shard AND u.id = t.id) AS n
     JOIN gleaner.host h ON h.crawl = $1 AND h.shard = n.shard AND h.host = n.host
     LEFT JOIN gleaner.robots r ON r.crawl = $1 AND r.shard = n.shard AND r.host = n.host ORDER BY h.host"
);
const NAMED: &str = concat!(
    url_columns!(),
    "FROM unnest($2::int2[], $3::int8[]) AS t(shard, id)
     JOIN gleaner.url u ON u.crawl = $1 AND u.shard = t.shard AND u.id = t.id AND u.state = 0
     JOIN gleaner.sight s ON s.crawl = $1 AND s.shard = t.shard AND s.id = t.id
     ORDER BY u.id, s.n"
);

/// The best that is pending of some shards. No index has priorities (they change too often): every row is
/// looked at, once.
const BEST: &str = "SELECT shard, id FROM gleaner.url WHERE crawl = $1 AND shard = ANY($2) AND state = 0
     ORDER BY lane DESC, key DESC, id LIMIT $3";

/// What is known of some shards, as it comes from the database.
pub(super) enum Rows {
    Hosts(Vec<Row>),
    /// All sightings of a URL are in one piece.
    Urls(Vec<Row>),
}

/// Everything of these shards, piece by piece, for as long as it is wanted.
pub(super) fn read_shards(
    db: &Db,
    crawl: i32,
    shards: &[i16],
    take: Take,
) -> Result<(), tokio_postgres::Error> {
    stream_hosts(db, HOSTS, &[&crawl, &shards], take)?;
    stream_urls(db, URLS, &[&crawl, &shards], take)
}

/// What the workers that had these shards meant to fetch next, by their own last word: a hint that costs no
/// search.
pub(super) fn read_hints(
    db: &Db,
    crawl: i32,
    shards: &[i16],
    take: Take,
) -> Result<(), tokio_postgres::Error> {
    let said = db.query(
        "SELECT bytes FROM gleaner.state WHERE crawl = $1 AND name = $2",
        &[&crawl, &StateKey::Next.name()],
    )?;
    let hints = said.iter().flat_map(|r| hints(r.get(0))).filter(|(shard, _)| shards.contains(shard));
    read_named(db, crawl, hints.collect(), take)
}

/// The `most` best pending URLs of these shards.
pub(super) fn read_best(
    db: &Db,
    crawl: i32,
    shards: &[i16],
    most: i64,
    take: Take,
) -> Result<(), tokio_postgres::Error> {
    let best = db.query(BEST, &[&crawl, &shards, &most])?;
    read_named(db, crawl, best.iter().map(|r| (r.get(0), r.get(1))).collect(), take)
}

/// Some URLs, if they are pending, after their hosts.
fn read_named(
    db: &Db,
    crawl: i32,
    named: BTreeSet<(i16, i64)>,
    take: Take,
) -> Result<(), tokio_postgres::Error> {
    let (shards, ids): (Vec<i16>, Vec<i64>) = named.into_iter().unzip();
    stream_hosts(db, HOSTS_OF, &[&crawl, &shards, &ids], take)?;
    stream_urls(db, NAMED, &[&crawl, &shards, &ids], take)
}

/// [`StateKey::Next`]: shards and numbers of URLs.
pub(super) fn write_hints(urls: impl Iterator<Item = (i16, UrlId)>) -> Vec<u8> {
    urls.flat_map(|(shard, id)| shard.to_le_bytes().into_iter().chain(id.0.to_le_bytes())).collect()
}

fn hints(bytes: &[u8]) -> impl Iterator<Item = (i16, i64)> {
    let (all, _) = bytes.as_chunks::<6>();
    all.iter().map(|[a, b, id @ ..]| (i16::from_le_bytes([*a, *b]), i64::from(u32::from_le_bytes(*id))))
}

fn stream_hosts(db: &Db, sql: &str, params: Params, take: Take) -> Result<(), tokio_postgres::Error> {
    stream(db, sql, params, |_| true, &mut |rows| take(Rows::Hosts(rows)))
}

fn stream_urls(db: &Db, sql: &str, params: Params, take: Take) -> Result<(), tokio_postgres::Error> {
    let is_url = |row: &Row| row.get::<_, i16>(22) == 0;
    stream(db, sql, params, is_url, &mut |rows| take(Rows::Urls(rows)))
}

type Params<'a> = &'a [&'a (dyn ToSql + Sync)];
/// What takes rows in; `false` = no more of them.
pub(super) type Take<'a> = &'a mut dyn FnMut(Rows) -> bool;

/// `begins`: a piece may begin with this row.
fn stream(
    db: &Db,
    sql: &str,
    params: Params,
    begins: impl Fn(&Row) -> bool,
    take: &mut dyn FnMut(Vec<Row>) -> bool,
) -> Result<(), tokio_postgres::Error> {
    db.run(async {
        let rows = db.client().query_raw(sql, params.iter().copied()).await?;
        let mut rows = std::pin::pin!(rows);
        let mut piece: Vec<Row> = Vec::with_capacity(ROWS);
        while let Some(row) = rows.try_next().await? {
            if piece.len() >= ROWS && begins(&row) && !take(std::mem::take(&mut piece)) {
                return Ok(());
            }
            piece.push(row);
        }
        take(piece);
        Ok(())
    })
}

/// No retry is further away, else a clock was set.
const DAY: Duration = Duration::from_secs(24 * 3600);
/// Two workers' clocks may differ by so much.
const CLOCK_ERROR: u64 = 1_000;

/// Rows on their way into a worker's log.
pub(super) struct Loader<'a> {
    skew: Skew,
    limits: &'a Limits,
    /// When the shards were taken.
    now: Millis,
    ids: &'a mut Ids,
    /// The shards that are loaded. `true`: the last owner gave it up in order; else every host of it rests
    /// first.
    clean: &'a BTreeMap<i16, bool>,
    /// Numbers of hosts that are here.
    host_numbers: &'a mut HashMap<i64, u32>,
    /// The longest that a host has to rest.
    pub rest_ms: u64,
    /// Records not yet handed over.
    records: Vec<u8>,
    urls: u32,
    hosts: u32,
}

impl<'a> Loader<'a> {
    pub fn new(
        skew: Skew,
        limits: &'a Limits,
        now: Millis,
        ids: &'a mut Ids,
        clean: &'a BTreeMap<i16, bool>,
        host_numbers: &'a mut HashMap<i64, u32>,
    ) -> Loader<'a> {
        let records = Vec::new();
        Loader { skew, limits, now, ids, clean, host_numbers, rest_ms: 0, records, urls: 0, hosts: 0 }
    }

    fn put(&mut self, kind: Kind, write: impl FnOnce(&mut codec::Out)) {
        codec::record(&mut self.records, kind, write);
    }

    /// The rows go to the log as records; those that are there already, or not wanted any more, do not.
    pub fn take_in(&mut self, rows: &Rows, log: &mut Scratch) -> Result<(), Problem> {
        match rows {
            Rows::Hosts(rows) => rows.iter().for_each(|row| self.host(row)),
            Rows::Urls(rows) => self.all_urls(rows, log.len()),
        }
        log.take_in(&self.records, std::mem::take(&mut self.urls), std::mem::take(&mut self.hosts))?;
        self.records.clear();
        Ok(())
    }

    fn host(&mut self, row: &Row) {
        let (shard, host, name): (i16, i64, &str) = (row.get(0), row.get(1), row.get(2));
        let Some(clean) = self.clean.get(&shard).filter(|_| !self.host_numbers.contains_key(&host)) else {
            return;
        };
        let bytes: &[u8] = row.get(3);
        let mut clock = bytes.try_into().map(Clock::from_bytes).unwrap_or_default();
        self.skew.clock_from(&mut clock);
        // The clock of the database, or of whoever wrote this, may have been set since.
        let latest = self.now.0.saturating_add(CLOCK_ERROR);
        clock.clamp(latest, self.limits);
        if !clean {
            // Whoever had it may have contacted any of its hosts a moment ago.
            let (delay, now) = (clock.delay(self.limits), self.now.0);
            if now.saturating_add(delay) > clock.next_allowed {
                (clock.next_allowed, clock.wait_ms) = (now.saturating_add(delay), delay);
            }
            self.rest_ms = self.rest_ms.max(delay);
        }
        let number = self.ids.add_host(Place { shard, host: url_id(host) });
        self.host_numbers.insert(host, number);
        self.hosts += 1;
        self.put(Kind::Host, |o| o.rest(name.as_bytes()));
        self.put(Kind::Clock, |o| codec::put_clock(o, number, &clock));
        if let Some(status) = row.get::<_, Option<i32>>(4) {
            let status = u16::try_from(status).unwrap_or(0);
            let (fetched, expires) = (self.skew.of_db(row.get(5)), self.skew.of_db(row.get(6)));
            let mut state = RobotsState { offset: 0, status, fetched: fetched.0, expires: expires.0 };
            state.clamp(latest);
            let answer = RobotsAnswer { status, fetched, expires: Millis(state.expires), body: row.get(7) };
            self.put(Kind::Robots, |o| codec::put_robots(o, number, &answer));
        }
    }

    /// `log`: where the records will be.
    fn all_urls(&mut self, rows: &[Row], log: u64) {
        let mut gone: BTreeMap<(u8, u16), Vec<UrlId>> = BTreeMap::new();
        let mut rescored = Vec::new();
        let mut retries = Vec::new();
        let mut last: Option<(UrlId, u64)> = None;
        for row in rows {
            let at = log + (FRAME_HEAD + self.records.len()) as u64;
            if row.get::<_, i16>(22) > 0 {
                if let Some((slot, prev)) = last {
                    self.sight(row, slot, prev);
                    last = Some((slot, at));
                }
                continue;
            }
            last = None;
            let known = self.ids.slot(url_id(row.get(0))).is_some();
            if known || !self.clean.contains_key(&row.get::<_, i16>(24)) {
                continue;
            }
            let slot = self.url(row).inner();
            last = Some((slot, at));
            let state: i16 = row.get(11);
            if let Some(code) = u8::try_from(state - 1).ok().filter(|_| state > 0) {
                let status = u16::try_from(row.get::<_, i32>(10)).unwrap_or(0);
                gone.entry((code, status)).or_default().push(slot);
                continue;
            }
            let r = Rescored {
                id: slot,
                priority: priority(row.get(12), row.get(4)),
                model: id32(row.get(7)),
                cause: row.get::<_, Option<i64>>(3).map(url_id),
            };
            if r.cause.is_some() || r.priority != priority(row.get(17), row.get(18)) {
                rescored.push(r);
            }
            let attempts: i16 = row.get(14);
            if attempts > 0 {
                let at = row.get::<_, Option<i64>>(5).map_or(Millis(0), |t| self.skew.of_db(t));
                let at = at.min(self.now.plus(DAY));
                retries.extend((0..attempts).map(|_| (slot, at)));
            }
        }
        for ((code, status), ids) in gone {
            let outcome = codec::outcome_of(code, status).unwrap_or(Outcome::Dropped);
            self.put(Kind::Drop, |o| codec::put_drop(o, outcome, &ids));
        }
        if !rescored.is_empty() {
            self.put(Kind::Rescore, |o| codec::put_rescored(o, &rescored));
        }
        for (id, not_before) in retries {
            self.put(Kind::Retry, |o| codec::put_retry(o, id, not_before, 0, false));
        }
    }

    fn seen<'r>(&mut self, row: &'r Row) -> Seen<'r> {
        let parent = row.get::<_, Option<i64>>(23).map(url_id);
        if let (Some(parent), Some(shard)) = (parent, row.get::<_, Option<i16>>(19)) {
            self.ids.remember_far(parent, shard);
        }
        Seen {
            parent,
            kind: kind(row.get(16)),
            priority: priority(row.get(17), row.get(18)),
            anchor: row.get::<_, Option<&str>>(20).unwrap_or_default(),
            evidence: row.get::<_, Option<&[u8]>>(21).unwrap_or_default(),
        }
    }

    fn sight(&mut self, row: &Row, id: UrlId, prev: u64) {
        let sight = Sight {
            id,
            prev,
            merged: priority(row.get(12), row.get(4)),
            model: id32(row.get(7)),
            expires: row.get::<_, Option<i64>>(6).map(|e| e as u64),
            seen: self.seen(row),
        };
        codec::record(&mut self.records, Kind::Sight, |o| sight.put(o));
    }

    fn url(&mut self, row: &Row) -> Slot {
        let global = url_id(row.get(0));
        let host = self.host_numbers.get(&row.get::<_, i64>(1)).copied().unwrap_or(0);
        let slot = self.ids.add(global, host);
        self.urls += 1;
        let seen = self.seen(row);
        let small = |at: usize| u16::try_from(row.get::<_, i32>(at)).unwrap_or(u16::MAX);
        let admit = Admit {
            id: slot.inner(),
            host,
            depth: small(8),
            site_depth: small(9),
            hops: u8::try_from(row.get::<_, i16>(13)).unwrap_or(u8::MAX),
            model: id32(row.get(7)),
            expires: row.get::<_, Option<i64>>(6).map(|e| e as u64),
            url: row.get::<_, Option<&str>>(15).unwrap_or_default(),
            seen,
        };
        codec::record(&mut self.records, Kind::Admit, |o| admit.put(o));
        slot
    }
}

pub(super) fn kind(code: i16) -> LinkKind {
    codec::kind_of(u8::try_from(code).unwrap_or(0))
}

pub(super) fn priority(lane: i16, key: f64) -> Priority {
    Priority::new(u8::try_from(lane).unwrap_or(0), key)
}
