//! From a shard's rows back to the records of a log: the ledger takes them in as if it had written them.

use super::db::Db;
use super::ids::{Ids, Place};
use super::scratch::Scratch;
use super::{Skew, id32};
use crate::ledger::Log;
use crate::ledger::codec::{self, Admit, FRAME_HEAD, Kind, Seen, Sight};
use frontier::{Clock, Limits};
use futures_util::TryStreamExt;
use std::collections::{BTreeMap, HashMap};
use tokio_postgres::Row;
use types::{LinkKind, Millis, Outcome, Priority, Problem, Rescored, RobotsAnswer, UrlId};

/// Bytes of records that are taken in at a time.
const PIECE: usize = 4 << 20;

/// Everything that is known of some shards, on its way into a worker's log.
pub(super) struct Loader<'a> {
    pub db: &'a Db,
    pub crawl: i32,
    pub skew: Skew,
    pub limits: &'a Limits,
    pub now: Millis,
    pub ids: &'a mut Ids,
    /// Records not yet handed over.
    records: Vec<u8>,
    urls: u32,
    hosts: u32,
    host_numbers: HashMap<i64, u32>,
}

impl<'a> Loader<'a> {
    pub fn new(
        db: &'a Db,
        crawl: i32,
        skew: Skew,
        limits: &'a Limits,
        now: Millis,
        ids: &'a mut Ids,
    ) -> Loader<'a> {
        let records = Vec::with_capacity(PIECE + (64 << 10));
        let host_numbers = HashMap::new();
        Loader { db, crawl, skew, limits, now, ids, records, urls: 0, hosts: 0, host_numbers }
    }

    pub fn put(&mut self, kind: Kind, write: impl FnOnce(&mut codec::Out)) {
        codec::record(&mut self.records, kind, write);
    }

    /// The records so far go to the log.
    pub fn hand_over(&mut self, log: &mut Scratch) -> Result<(), Problem> {
        log.take_in(&self.records, std::mem::take(&mut self.urls), std::mem::take(&mut self.hosts))?;
        self.records.clear();
        Ok(())
    }

    fn hand_over_if_full(&mut self, log: &mut Scratch) -> Result<(), Problem> {
        if self.records.len() >= PIECE { self.hand_over(log) } else { Ok(()) }
    }

    /// `clean`: whether the last owner gave the shard up in order; else every host of it rests first.
    pub fn shards(&mut self, log: &mut Scratch, shards: &BTreeMap<i16, bool>) -> Result<(), Problem> {
        let list: Vec<i16> = shards.keys().copied().collect();
        self.hosts(&list, shards)?;
        self.hand_over(log)?;
        self.urls(log, &list)
    }

    fn hosts(&mut self, list: &[i16], clean: &BTreeMap<i16, bool>) -> Result<(), Problem> {
        let rows = self.db.ask(
            "SELECT h.shard, h.host, h.name, h.clock, r.status, r.fetched, r.expires, r.body
             FROM gleaner.host h LEFT JOIN gleaner.robots r USING (crawl, shard, host)
             WHERE h.crawl = $1 AND h.shard = ANY($2) ORDER BY h.host",
            &[&self.crawl, &list],
        )?;
        for row in rows {
            let (shard, host, name): (i16, i64, &str) = (row.get(0), row.get(1), row.get(2));
            let bytes: &[u8] = row.get(3);
            let mut clock = bytes.try_into().map(Clock::from_bytes).unwrap_or_default();
            self.skew.clock_from(&mut clock);
            if !clean.get(&shard).copied().unwrap_or(false) {
                // Whoever had it may have contacted any of its hosts a moment ago.
                let (delay, now) = (clock.delay(self.limits), self.now.0);
                if now.saturating_add(delay) > clock.next_allowed {
                    (clock.next_allowed, clock.wait_ms) = (now.saturating_add(delay), delay);
                }
            }
            let number = self.ids.add_host(Place { shard, host: id32(host) });
            self.host_numbers.insert(host, number);
            self.hosts += 1;
            self.put(Kind::Host, |o| o.rest(name.as_bytes()));
            self.put(Kind::Clock, |o| codec::put_clock(o, number, &clock));
            if let Some(status) = row.get::<_, Option<i32>>(4) {
                let answer = RobotsAnswer {
                    status: u16::try_from(status).unwrap_or(0),
                    fetched: self.skew.of_db(row.get(5)),
                    expires: self.skew.of_db(row.get(6)),
                    body: row.get(7),
                };
                self.put(Kind::Robots, |o| codec::put_robots(o, number, &answer));
            }
        }
        Ok(())
    }

    fn urls(&mut self, log: &mut Scratch, list: &[i16]) -> Result<(), Problem> {
        // In the order they were found, each with its sightings. Of a settled URL only its text is needed: to know it again.
        let sql = "SELECT u.id, u.host, u.parent, u.cause, u.key, u.not_before, u.expires, u.model, u.depth,
                          u.site_depth, u.status, u.state, u.lane, u.hops, u.attempts,
                          s.url, s.kind, s.lane, s.key, s.parent_shard,
                          CASE WHEN u.state = 0 THEN s.anchor END, CASE WHEN u.state = 0 THEN s.evidence END,
                          s.n, s.parent
                   FROM gleaner.url u JOIN gleaner.sight s
                     ON s.crawl = $1 AND s.shard = u.shard AND s.id = u.id AND (s.n = 0 OR u.state = 0)
                   WHERE u.crawl = $1 AND u.shard = ANY($2) ORDER BY u.id, s.n";
        let mut gone: BTreeMap<(u8, u16), Vec<UrlId>> = BTreeMap::new();
        let mut rescored = Vec::new();
        let mut retries = Vec::new();
        let mut last: Option<(UrlId, u64)> = None;
        let db = self.db;
        db.run(async {
            let wrong = |e| db.problem("read from", &e);
            let params: [&(dyn tokio_postgres::types::ToSql + Sync); 2] = [&self.crawl, &list];
            let rows = db.client().query_raw(sql, params).await.map_err(wrong)?;
            let mut rows = std::pin::pin!(rows);
            while let Some(row) = rows.try_next().await.map_err(wrong)? {
                let at = log.len() + (FRAME_HEAD + self.records.len()) as u64;
                if row.get::<_, i16>(22) > 0 {
                    if let Some((slot, prev)) = last {
                        self.sight(&row, slot, prev);
                        last = Some((slot, at));
                    }
                    self.hand_over_if_full(log)?;
                    continue;
                }
                let slot = self.url(&row);
                last = Some((slot, at));
                let state: i16 = row.get(11);
                if let Some(code) = u8::try_from(state - 1).ok().filter(|_| state > 0) {
                    let status = u16::try_from(row.get::<_, i32>(10)).unwrap_or(0);
                    gone.entry((code, status)).or_default().push(slot);
                } else {
                    let r = Rescored {
                        id: slot,
                        priority: priority(row.get(12), row.get(4)),
                        model: id32(row.get(7)),
                        cause: row.get::<_, Option<i64>>(3).map(|c| UrlId(id32(c))),
                    };
                    if r.cause.is_some() || r.priority != priority(row.get(17), row.get(18)) {
                        rescored.push(r);
                    }
                    let attempts: i16 = row.get(14);
                    if attempts > 0 {
                        let at = row.get::<_, Option<i64>>(5).map_or(Millis(0), |t| self.skew.of_db(t));
                        retries.extend((0..attempts).map(|_| (slot, at)));
                    }
                }
                self.hand_over_if_full(log)?;
            }
            Ok::<(), Problem>(())
        })?;
        for ((code, status), ids) in gone {
            let outcome = codec::outcome_of(code, status).unwrap_or(Outcome::Dropped);
            for part in ids.chunks(1 << 16) {
                self.put(Kind::Drop, |o| codec::put_drop(o, outcome, part));
            }
        }
        for part in rescored.chunks(1 << 16) {
            self.put(Kind::Rescore, |o| codec::put_rescored(o, part));
        }
        for (id, not_before) in retries {
            self.put(Kind::Retry, |o| {
                o.u32(id.0);
                o.var(not_before.0);
                o.var(0);
            });
        }
        self.hand_over(log)
    }

    fn seen<'r>(&mut self, row: &'r Row) -> Seen<'r> {
        let parent = row.get::<_, Option<i64>>(23).map(|p| UrlId(id32(p)));
        if let (Some(parent), Some(shard)) = (parent, row.get::<_, Option<i16>>(19)) {
            self.ids.remember_far(parent.0, shard);
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

    fn url(&mut self, row: &Row) -> UrlId {
        let global = id32(row.get(0));
        let host = self.host_numbers.get(&row.get::<_, i64>(1)).copied().unwrap_or(0);
        let slot = self.ids.add(global, host);
        self.urls += 1;
        let seen = self.seen(row);
        let small = |at: usize| u16::try_from(row.get::<_, i32>(at)).unwrap_or(u16::MAX);
        let admit = Admit {
            id: slot,
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
