//! Living with other workers: sharing out the shards, taking in mail, exchanging what models learnt, knowing when all is
//! done.

use super::claim;
use super::post::{self, Message};
use super::{Shared, id32};
use crate::fleet::{News, Ticket};
use frontier::{Applied, Frontier};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};
use types::{Millis, Priority, Problem, Rescored, Url, UrlId};

/// How often a worker looks up from its work.
pub(super) const TEND_EVERY: Duration = Duration::from_millis(300);
/// Messages taken in at a time.
const MAIL: i64 = 5_000;

impl Shared {
    /// How the fleet stands: how many are alive, and how good their next URLs are.
    /// Also, beside them, the newest command to all workers.
    pub(super) fn look_around(&mut self) -> Result<(News, u64), Problem> {
        let rows = self.db.ask(
            "SELECT slot, incarnation > 0 AND expires >= now(), pages, relevant, in_flight, lane, key,
                    (SELECT count(*) FROM gleaner.shard WHERE crawl = $1 AND owner = $2), idle,
                    (SELECT n FROM gleaner.steering WHERE crawl = $1)
             FROM gleaner.worker WHERE crawl = $1",
            &[&self.me.crawl, &self.me.incarnation],
        )?;
        let mut news = News::default();
        let mut best: Option<Priority> = None;
        self.others_idle = false;
        for row in &rows {
            let (slot, alive): (i32, bool) = (row.get(0), row.get(1));
            // An answer was lost on the way: what we think we have is not what we have.
            self.lost |= row.get::<_, i64>(7) != self.owned.len() as i64;
            news.workers += u32::from(alive);
            if slot == self.me.slot {
                continue;
            }
            news.pages += row.get::<_, i64>(2).max(0) as u64;
            news.relevant += row.get::<_, i64>(3).max(0) as u64;
            if alive {
                self.others_idle |= row.get::<_, bool>(8);
                news.in_flight += row.get::<_, i64>(4).max(0) as u64;
                if let (Some(lane), Some(key)) = (row.get::<_, Option<i16>>(5), row.get::<_, Option<f64>>(6))
                {
                    best = best.max(Some(super::load::priority(lane, key)));
                }
            }
        }
        self.workers = news.workers.max(1);
        self.others_watermark = best;
        let newest = rows.first().and_then(|r| r.get::<_, Option<i64>>(9)).unwrap_or(0);
        Ok((news, newest.max(0) as u64))
    }

    /// How many shards are ours to have.
    pub(super) fn share(&self) -> usize {
        (self.shards.max(1) as usize).div_ceil(self.workers.max(1) as usize)
    }

    /// See [`crate::Fleet::maintain`].
    pub(super) fn tend_now(
        &mut self,
        now: Millis,
        merge: &dyn Fn(Priority, Priority) -> Priority,
    ) -> Result<Option<News>, Problem> {
        let began = Instant::now();
        let lost = self.lost || self.heart.as_ref().is_none_or(|h| h.is_lost());
        if !lost && !self.arriving.is_empty() {
            self.take_arrivals()?;
        }
        if !lost && self.tended_at.elapsed() < TEND_EVERY {
            return Ok(None);
        }
        if lost {
            self.rejoin(now)?;
        } else if self.db.is_closed() && self.db.reconnect().is_err() {
            // Later: nothing here is needed to go on with what is in memory.
            self.tended_at = Instant::now();
            return Ok(None);
        }
        let tended = self.tend_once(now, began, merge);
        self.tended_at = Instant::now();
        tended.map(|mut news| {
            news.rejoined = lost;
            Some(news)
        })
    }

    /// `now` is the time at `began`.
    fn tend_once(
        &mut self,
        now: Millis,
        began: Instant,
        merge: &dyn Fn(Priority, Priority) -> Priority,
    ) -> Result<News, Problem> {
        let k = (2 * self.most_in_flight).min(512);
        // What the user wants first of one host says nothing about the others' URLs, and one host is slow.
        let top = self.inner.order_mut().peek_without(now, Priority::BOOSTED, k);
        // Nobody has to wait for a worker that does not have more than it can fetch soon.
        let water = (top.len() == k).then(|| top.last().map(|p| p.priority)).flatten();
        if water != self.watermark {
            self.watermark = water;
            self.out.news = true;
        }
        let (mut news, newest) = self.look_around()?;
        if self.lost {
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

    /// Gives up what is beyond our share, takes what is missing.
    fn share_out(&mut self, now: Millis, began: Instant) -> Result<(), Problem> {
        let share = self.share();
        if self.owned.len() > share {
            let busy: BTreeSet<i16> =
                self.inner.order().leased().filter_map(|id| self.ids.host_of(id)).map(|p| p.shard).collect();
            let surplus = self.owned.len() - share;
            // A host with a request in flight stays until it is answered. What is not here yet goes first.
            let mut free: Vec<i16> = self.owned.keys().rev().copied().filter(|s| !busy.contains(s)).collect();
            free.sort_by_key(|s| !self.is_arriving(*s));
            self.give_up(free.get(..surplus).unwrap_or(&free))?;
        }
        self.take_shards(now, began)?;
        Ok(())
    }

    /// Hands shards over in order: everything of them is in the database before they are free.
    pub(super) fn give_up(&mut self, shards: &[i16]) -> Result<(), Problem> {
        if shards.is_empty() {
            return Ok(());
        }
        self.ship()?;
        if self.lost {
            return Ok(());
        }
        let gone: BTreeSet<i16> = shards.iter().copied().collect();
        let hosts: Vec<bool> = (0..self.inner.order().host_count() as u32)
            .map(|h| self.ids.host(h).is_some_and(|p| gone.contains(&p.shard)))
            .collect();
        self.inner.order_mut().evict(&|h| hosts.get(h as usize).copied().unwrap_or(false));
        self.ids.evict(&|shard| gone.contains(&shard));
        self.owned.retain(|shard, _| !gone.contains(shard));
        // Last: from here on others contact these hosts, even if the answer is lost.
        self.give_away(shards)?;
        self.stop_arriving(&gone);
        Ok(())
    }

    /// Whose hosts still rest, or are not here to rest, is not given up in order: they rest again.
    pub(super) fn give_away(&self, shards: &[i16]) -> Result<(), Problem> {
        let now = Instant::now();
        let rests = |s: &i16| self.rests.get(s).is_some_and(|until| *until > now) || self.arrives_unclean(*s);
        let unclean: Vec<i16> = shards.iter().copied().filter(rests).collect();
        claim::give(&self.db, &self.me, shards, &unclean)
    }

    /// What was found of our shards by others, or by us before all of a shard was here. Seeds are handed to the loop, which knows what they are worth; and the numbers of
    /// what is pending of the rest.
    fn take_in_mail(
        &mut self,
        now: Millis,
        merge: &dyn Fn(Priority, Priority) -> Priority,
    ) -> Result<(Vec<(Ticket, Url)>, Vec<UrlId>), Problem> {
        self.asked_seeds.clear();
        let (mut seeds, mut mailed) = (Vec::new(), Vec::new());
        let shards: Vec<i16> = self.owned.keys().copied().filter(|s| self.is_here(*s)).collect();
        if shards.is_empty() || self.lost {
            return Ok((seeds, mailed));
        }
        loop {
            let taken = self.mail_taken();
            let rows = if taken.is_empty() {
                self.db.ask(
                    "SELECT shard, seq, message FROM gleaner.outbox WHERE crawl = $1 AND shard = ANY($2)
                     ORDER BY seq LIMIT $3",
                    &[&self.me.crawl, &shards, &MAIL],
                )?
            } else {
                self.db.ask(
                    "SELECT shard, seq, message FROM gleaner.outbox o WHERE crawl = $1 AND shard = ANY($2)
                       AND NOT EXISTS (SELECT 1 FROM unnest($4::int8[]) AS t(seq) WHERE t.seq = o.seq)
                     ORDER BY seq LIMIT $3",
                    &[&self.me.crawl, &shards, &MAIL, &taken],
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
                    self.asked_seeds.push(ticket);
                    seeds.push((ticket, url));
                    continue;
                }
                self.out.consumed.push(place);
                match message {
                    Some(Message::Sighting { candidate, parent_shard }) => {
                        if let (Some(parent), Some(shard)) = (candidate.parent, parent_shard) {
                            self.ids.remember_far(parent.0, shard);
                        }
                        self.inner.sighted(&candidate, now, merge, &mut applied)?;
                        self.number_new()?;
                        let found = self.inner.order().find(candidate.url.fingerprint(self.key));
                        mailed.extend(found.and_then(|slot| self.ids.global(slot)).map(UrlId));
                    }
                    Some(Message::Rescore { print, priority, model, cause }) => {
                        if let Some(id) = self.inner.order().find(print) {
                            mailed.extend(self.ids.global(id).map(UrlId));
                            rescored.push(Rescored { id, priority, model, cause });
                        }
                    }
                    // Of a newer version, perhaps; it cannot be understood later either.
                    Some(Message::Seed { .. }) | None => {}
                }
            }
            self.inner.rescore(&rescored)?;
            if applied.admitted > 0 {
                self.idle = false;
            }
            // With pages that wait for the bucket it is committed with them.
            if !self.is_holding() {
                self.ship()?;
            }
            if self.lost {
                return Ok((Vec::new(), Vec::new()));
            }
            if rows.len() < MAIL as usize {
                return Ok((seeds, mailed));
            }
        }
    }

    fn read_deltas(&mut self) -> Result<Vec<Vec<u8>>, Problem> {
        if self.workers < 2 {
            return Ok(Vec::new());
        }
        let (slots, read): (Vec<i32>, Vec<i64>) = self.deltas_read.iter().map(|(s, n)| (*s, *n)).unzip();
        let rows = self.db.ask(
            "SELECT d.slot, d.n, d.bytes FROM gleaner.delta d
             LEFT JOIN unnest($3::int4[], $4::int8[]) AS t(slot, n) ON t.slot = d.slot
             WHERE d.crawl = $1 AND d.slot <> $2 AND d.n > coalesce(t.n, 0) ORDER BY d.slot, d.n LIMIT 256",
            &[&self.me.crawl, &self.me.slot, &slots, &read],
        )?;
        let mut out = Vec::with_capacity(rows.len());
        for row in rows {
            self.deltas_read.insert(row.get(0), row.get(1));
            out.push(row.get(2));
        }
        Ok(out)
    }

    /// What was published before this worker joined is in the state it took up.
    pub(super) fn skip_old_deltas(&mut self) -> Result<(), Problem> {
        let rows = self.db.ask(
            "SELECT slot, max(n) FROM gleaner.delta WHERE crawl = $1 GROUP BY slot",
            &[&self.me.crawl],
        )?;
        for row in rows {
            let (slot, n): (i32, i64) = (row.get(0), row.get(1));
            if slot == self.me.slot {
                self.delta_n = n;
            } else {
                self.deltas_read.entry(slot).or_insert(n);
            }
        }
        Ok(())
    }

    /// Is there nothing left to do for anyone? One question, answered of one moment: every worker is idle, no mail is
    /// under way, no shard is without a worker.
    pub(super) fn all_done(&mut self) -> Result<bool, Problem> {
        if !self.idle {
            self.idle = true;
            self.out.news = true;
        }
        if self.is_holding() {
            self.commit_if_due()?;
            if self.is_holding() {
                return Ok(false);
            }
        }
        self.ship()?;
        if self.lost {
            return Ok(false);
        }
        let rows = self.db.ask(
            "SELECT NOT EXISTS (SELECT 1 FROM gleaner.worker WHERE crawl = $1 AND incarnation > 0 AND NOT idle)
                AND NOT EXISTS (SELECT 1 FROM gleaner.outbox WHERE crawl = $1)
                AND NOT EXISTS (SELECT 1 FROM gleaner.shard WHERE crawl = $1 AND (owner IS NULL OR owner NOT IN
                      (SELECT incarnation FROM gleaner.worker WHERE crawl = $1 AND expires >= now())))",
            &[&self.me.crawl],
        )?;
        Ok(rows.first().is_some_and(|r| r.get(0)))
    }

    /// At least `n` numbers of new URLs in stock: a URL must have its number when it is admitted.
    pub(super) fn make_room(&mut self, n: u32) -> Result<(), Problem> {
        if self.ids.spare() >= n {
            return Ok(());
        }
        // Small crawls have small numbers, large ones ask rarely.
        let block = i64::from(n).max((self.ids.len() as i64 / 4).clamp(256, 16_384));
        let rows = self.db.ask(
            "UPDATE gleaner.crawl SET next_id = next_id + $2 WHERE crawl = $1 RETURNING next_id",
            &[&self.me.crawl, &block],
        )?;
        let end = rows.first().map_or(0, |r| r.get::<_, i64>(0));
        let (next, last) = self.ids.rest();
        if next < last && i64::from(last) == end - block {
            // Right behind what is left of the block before.
            self.ids.refill(next, id32(end));
        } else {
            self.ids.refill(id32(end - block), id32(end));
        }
        Ok(())
    }

    /// Gives new slots of the ledger their numbers. There must be room.
    pub(super) fn number_new(&mut self) -> Result<(), Problem> {
        while self.ids.len() < self.inner.order().len() {
            let slot = UrlId(self.ids.len() as u32);
            let Some(global) = self.ids.take() else {
                return Err(Problem::new("a URL was admitted without a number")
                    .hint("this is a bug; please report it"));
            };
            let host = self.inner.order().info(slot).map_or(0, |i| i.host);
            if self.ids.host(host).is_none() {
                let name = self.inner.order().host_info(host).map(|h| h.name).unwrap_or_default();
                let shard = super::shard_of(&name, self.key, self.shards);
                self.ids.add_host(super::ids::Place { shard, host: global });
            }
            self.ids.add(global, host);
        }
        Ok(())
    }

    /// Gives back numbers that were not used, if nobody has taken any since.
    pub(super) fn return_numbers(&self) -> Result<(), Problem> {
        let (next, end) = self.ids.rest();
        self.db.tell(
            "UPDATE gleaner.crawl SET next_id = $2 WHERE crawl = $1 AND next_id = $3",
            &[&self.me.crawl, &i64::from(next), &i64::from(end)],
        )?;
        Ok(())
    }
}
