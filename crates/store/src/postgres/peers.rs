//! The other workers: how they stand, what they wrote to this one, what their models learnt, and whether all
//! is done.

use super::Shared;
use super::ids::Slot;
use super::post::{self, Message};
use crate::fleet::{News, Ticket};
use frontier::{Applied, Frontier};
use std::collections::HashMap;
use std::time::{Duration, Instant};
use types::{Millis, Priority, Problem, Rescored, Url, UrlId};

/// How often a worker looks up from its work.
const MAINTAIN_EVERY: Duration = Duration::from_millis(300);
/// Messages taken in at a time.
const MAIL: i64 = 5_000;

/// What this worker knows of the others.
pub(super) struct Peers {
    maintained_at: Instant,
    /// Workers that are alive, this one included.
    pub workers: u32,
    /// Nothing worse than this is worth the budget now.
    pub watermark: Option<Priority>,
    /// One of them has nothing to do.
    pub idle: bool,
    /// Per slot of another worker: the last delta of it that was read.
    deltas_read: HashMap<i32, i64>,
    /// The last command that the loop was told of.
    pub commands_read: u64,
    /// Messages with seeds that the loop was told of and has not answered.
    pub seeds: Vec<Ticket>,
}

impl Peers {
    pub fn new(began: Instant) -> Peers {
        Peers {
            // Before the first lease the loop must know what the others have done: of a limit they may have
            // used up all.
            maintained_at: began.checked_sub(MAINTAIN_EVERY).unwrap_or(began),
            workers: 1,
            watermark: None,
            idle: false,
            deltas_read: HashMap::new(),
            commands_read: 0,
            seeds: Vec::new(),
        }
    }

    /// The numbers of what was read are not to be relied on: others may have them now.
    pub fn read_anew(&mut self) {
        self.deltas_read.clear();
        self.commands_read = 0;
    }
}

impl Shared {
    /// How the fleet stands: how many are alive, and how good their next URLs are.
    /// Also, beside them, the newest command to all workers.
    pub(super) fn look_around(&mut self) -> Result<(News, u64), Problem> {
        let rows = self.db.ask(
            "SELECT slot, incarnation > 0 AND expires >= now(), pages, relevant, in_flight, lane, key,
                    (SELECT count(*) FROM gleaner.shard WHERE crawl = $1 AND owner = $2), idle,
                    (SELECT n FROM gleaner.steering WHERE crawl = $1)
             FROM gleaner.worker WHERE crawl = $1",
            &[&self.membership.me.crawl, &self.membership.me.incarnation],
        )?;
        let mut news = News::default();
        let mut best: Option<Priority> = None;
        self.peers.idle = false;
        for row in &rows {
            let (slot, alive): (i32, bool) = (row.get(0), row.get(1));
            // An answer was lost on the way: what we think we have is not what we have.
            self.membership.lost |= row.get::<_, i64>(7) != self.shards.owned.len() as i64;
            news.workers += u32::from(alive);
            if slot == self.membership.me.slot {
                continue;
            }
            news.pages += row.get::<_, i64>(2).max(0) as u64;
            news.relevant += row.get::<_, i64>(3).max(0) as u64;
            if alive {
                self.peers.idle |= row.get::<_, bool>(8);
                news.in_flight += row.get::<_, i64>(4).max(0) as u64;
                if let (Some(lane), Some(key)) = (row.get::<_, Option<i16>>(5), row.get::<_, Option<f64>>(6))
                {
                    best = best.max(Some(super::load::priority(lane, key)));
                }
            }
        }
        self.peers.workers = news.workers.max(1);
        self.peers.watermark = best;
        let newest = rows.first().and_then(|r| r.get::<_, Option<i64>>(9)).unwrap_or(0);
        Ok((news, newest.max(0) as u64))
    }

    /// See [`crate::Fleet::maintain`].
    pub(super) fn maintain_membership(
        &mut self,
        now: Millis,
        merge: &dyn Fn(Priority, Priority) -> Priority,
    ) -> Result<Option<News>, Problem> {
        let began = Instant::now();
        self.membership.lost |= self.db.has_changed_history();
        let lost = self.membership.is_lost();
        if !lost && !self.shards.arriving.is_empty() {
            self.take_arrivals()?;
        }
        if !lost && self.peers.maintained_at.elapsed() < MAINTAIN_EVERY {
            return Ok(None);
        }
        if lost {
            self.rejoin(now)?;
        } else if self.db.is_closed() && self.db.reconnect().is_err() {
            // Later: nothing here is needed to go on with what is in memory.
            self.peers.maintained_at = Instant::now();
            return Ok(None);
        }
        let maintained = self.maintain_once(now, began, merge);
        self.peers.maintained_at = Instant::now();
        maintained.map(|mut news| {
            news.rejoined = lost;
            Some(news)
        })
    }

    /// `now` is the time at `began`.
    fn maintain_once(
        &mut self,
        now: Millis,
        began: Instant,
        merge: &dyn Fn(Priority, Priority) -> Priority,
    ) -> Result<News, Problem> {
        let k = (2 * self.work.most_in_flight).min(512);
        // What the user wants first of one host says nothing about the others' URLs, and one host is slow.
        let top = self.inner.order_mut().peek_without(now, Priority::BOOSTED, k);
        // Nobody has to wait for a worker that does not have more than it can fetch soon.
        let water = (top.len() == k).then(|| top.last().map(|p| p.priority)).flatten();
        if water != self.work.watermark {
            self.work.watermark = water;
            self.outgoing.draft.news = true;
        }
        let (mut news, newest) = self.look_around()?;
        if self.membership.lost {
            return Ok(news);
        }
        (news.commands, news.missed) = self.read_commands(newest)?;
        self.tell_budget()?;
        self.leave_hints()?;
        self.share_out(now, began)?;
        (news.seeds, news.mailed) = self.take_in_mail(now, merge)?;
        news.deltas = self.read_deltas()?;
        news.taken = self.newly_loaded();
        Ok(news)
    }

    /// What was found of our shards by others, or by us before all of a shard was here. Seeds are handed to
    /// the loop, which knows what they are worth; and the numbers of what is pending of the rest.
    fn take_in_mail(
        &mut self,
        now: Millis,
        merge: &dyn Fn(Priority, Priority) -> Priority,
    ) -> Result<(Vec<(Ticket, Url)>, Vec<UrlId>), Problem> {
        self.peers.seeds.clear();
        let (mut seeds, mut mailed) = (Vec::new(), Vec::new());
        let shards: Vec<i16> =
            self.shards.owned.keys().copied().filter(|s| self.shards.is_here(*s)).collect();
        if shards.is_empty() || self.membership.lost {
            return Ok((seeds, mailed));
        }
        loop {
            let taken = self.mail_taken();
            let rows = if taken.is_empty() {
                self.db.ask(
                    "SELECT shard, seq, message FROM gleaner.outbox WHERE crawl = $1 AND shard = ANY($2)
                     ORDER BY seq LIMIT $3",
                    &[&self.membership.me.crawl, &shards, &MAIL],
                )?
            } else {
                self.db.ask(
                    "SELECT shard, seq, message FROM gleaner.outbox o WHERE crawl = $1 AND shard = ANY($2)
                       AND NOT EXISTS (SELECT 1 FROM unnest($4::int8[]) AS t(seq) WHERE t.seq = o.seq)
                     ORDER BY seq LIMIT $3",
                    &[&self.membership.me.crawl, &shards, &MAIL, &taken],
                )?
            };
            if rows.is_empty() {
                return Ok((seeds, mailed));
            }
            // Nothing from here on needs the database: all of it is taken in, or nothing.
            self.make_room(rows.len() as u32)?;
            let mut applied = Applied::default();
            let mut rescored = Vec::new();
            for row in &rows {
                let place: (i16, i64) = (row.get(0), row.get(1));
                let message = post::read(row.get(2));
                if let Some(Message::Seed { url }) = message {
                    let ticket = Ticket { shard: place.0, seq: place.1 };
                    self.peers.seeds.push(ticket);
                    seeds.push((ticket, url));
                    continue;
                }
                self.outgoing.draft.consumed.push(place);
                match message {
                    Some(Message::Sighting { candidate, parent_shard }) => {
                        if let (Some(parent), Some(shard)) = (candidate.parent, parent_shard) {
                            self.ids.remember_far(parent, shard);
                        }
                        self.inner.sighted(&candidate, now, merge, &mut applied)?;
                        self.number_new()?;
                        let found = self.inner.order().find(candidate.url.fingerprint(self.spread.key));
                        mailed.extend(found.and_then(|id| self.ids.global(Slot::of(id))));
                    }
                    Some(Message::Rescore { print, priority, model, cause }) => {
                        if let Some(id) = self.inner.order().find(print) {
                            mailed.extend(self.ids.global(Slot::of(id)));
                            rescored.push(Rescored { id, priority, model, cause });
                        }
                    }
                    // Of a newer version, perhaps; it cannot be understood later either.
                    Some(Message::Seed { .. }) | None => {}
                }
            }
            self.inner.rescore(&rescored)?;
            if applied.admitted > 0 {
                self.work.idle = false;
            }
            // With pages that wait for the bucket it is committed with them.
            if !self.is_holding() {
                self.ship()?;
            }
            if self.membership.lost {
                return Ok((Vec::new(), Vec::new()));
            }
            if rows.len() < MAIL as usize {
                return Ok((seeds, mailed));
            }
        }
    }

    fn read_deltas(&mut self) -> Result<Vec<Vec<u8>>, Problem> {
        if self.peers.workers < 2 {
            return Ok(Vec::new());
        }
        let (slots, read): (Vec<i32>, Vec<i64>) =
            self.peers.deltas_read.iter().map(|(s, n)| (*s, *n)).unzip();
        let rows = self.db.ask(
            "SELECT d.slot, d.n, d.bytes FROM gleaner.delta d
             LEFT JOIN unnest($3::int4[], $4::int8[]) AS t(slot, n) ON t.slot = d.slot
             WHERE d.crawl = $1 AND d.slot <> $2 AND d.n > coalesce(t.n, 0) ORDER BY d.slot, d.n LIMIT 256",
            &[&self.membership.me.crawl, &self.membership.me.slot, &slots, &read],
        )?;
        let mut out = Vec::with_capacity(rows.len());
        for row in rows {
            self.peers.deltas_read.insert(row.get(0), row.get(1));
            out.push(row.get(2));
        }
        Ok(out)
    }

    /// What was published before this worker joined is in the state it took up.
    pub(super) fn skip_old_deltas(&mut self) -> Result<(), Problem> {
        let rows = self.db.ask(
            "SELECT slot, max(n) FROM gleaner.delta WHERE crawl = $1 GROUP BY slot",
            &[&self.membership.me.crawl],
        )?;
        for row in rows {
            let (slot, n): (i32, i64) = (row.get(0), row.get(1));
            if slot == self.membership.me.slot {
                self.outgoing.deltas_sent = n;
            } else {
                self.peers.deltas_read.entry(slot).or_insert(n);
            }
        }
        Ok(())
    }

    /// Is there nothing left to do for anyone? One question, answered of one moment: every worker is idle, no
    /// mail is under way, no shard is without a worker.
    pub(super) fn all_done(&mut self) -> Result<bool, Problem> {
        if !self.work.idle {
            self.work.idle = true;
            self.outgoing.draft.news = true;
        }
        if self.is_holding() {
            self.commit_if_due()?;
            if self.is_holding() {
                return Ok(false);
            }
        }
        self.ship()?;
        if self.membership.lost {
            return Ok(false);
        }
        let rows = self.db.ask(
            "SELECT NOT EXISTS (SELECT 1 FROM gleaner.worker WHERE crawl = $1 AND incarnation > 0 AND NOT idle)
                AND NOT EXISTS (SELECT 1 FROM gleaner.outbox WHERE crawl = $1)
                AND NOT EXISTS (SELECT 1 FROM gleaner.shard WHERE crawl = $1 AND (owner IS NULL OR owner NOT IN
                      (SELECT incarnation FROM gleaner.worker WHERE crawl = $1 AND expires >= now())))",
            &[&self.membership.me.crawl],
        )?;
        Ok(rows.first().is_some_and(|r| r.get(0)))
    }
}
