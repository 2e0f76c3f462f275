//! Changing a collection: the frontier's side of the ledger. Each change is decided, written to the batch and
//! made in memory, in that order; replaying the log makes the same changes without deciding anything.

use super::codec::{self, Admit, Kind, Seen, Settled, Sight};
use super::{Ledger, Log, page};
use crate::traits::{Journal, Revision};
use frontier::{
    Applied, Choice, Clock, Frontier, NewUrl, Next, Order, Peek, Pick, Refusal, RobotsState, SOURCES_KEPT,
    State,
};
use std::collections::HashSet;
use types::{
    Candidate, HostUpdate, Lease, LinkKind, Millis, Outcome, Priority, Problem, Rescored, RobotsAnswer,
    Settle, Target, Task, Turn, Url, UrlId,
};

/// Most bytes of one record.
pub(super) const LARGEST: usize = 1 << 30;
/// Most bytes of evidence (`types::Candidate`).
const EVIDENCE: usize = 1024;
/// Most bytes of an anchor that are kept; it is for people.
const ANCHOR: usize = 240;
/// A batch this large is committed before more is added to it.
pub(super) const BATCH: usize = 256 << 20;

impl<L: Log> Frontier for Ledger<L> {
    fn lease(&mut self, now: Millis, pick: Pick<'_>) -> Result<Next, Problem> {
        match pick {
            Pick::Best => self.lease_by(|order| order.choose(now, None)),
            Pick::Lane(lane) => self.lease_by(|order| order.choose(now, Some(lane))),
            Pick::Only(lane) => self.lease_by(|order| order.choose_only(now, lane)),
            Pick::Host(rank) => self.lease_by(|order| order.choose_host(now, rank)),
        }
    }

    fn peek(&mut self, now: Millis, lane: Option<u8>, k: usize) -> Vec<Peek> {
        self.order.peek(now, lane, k)
    }

    fn seed(&mut self, candidate: Candidate, now: Millis) -> Result<bool, Problem> {
        check_candidate(&candidate)?;
        let mut applied = Applied::default();
        self.offer(&candidate, true, now.0, &|old, new| old.max(new), &mut HashSet::new(), &mut applied);
        self.shed(&mut applied);
        Ok(applied.admitted > 0)
    }

    fn apply(
        &mut self,
        turn: Turn,
        merge: &dyn Fn(Priority, Priority) -> Priority,
    ) -> Result<Applied, Problem> {
        let id = turn.settle.id();
        // Everything that can fail comes first: a turn is applied as a whole or not at all.
        let (Some(info), Some(host)) = (self.order.info(id), self.order.host_of(id)) else {
            return Err(self.unknown(id));
        };
        for (revised, _) in &turn.revised {
            self.order.offset(*revised).ok_or_else(|| self.unknown(*revised))?;
        }
        turn.add.iter().try_for_each(check_candidate)?;
        let body = turn.record.map(page::page_body).transpose().map_err(|e| {
            Problem::new(format!("the page of URL number {} cannot be written down", id.0)).because(e)
        })?;
        if body.as_ref().is_some_and(|b| b.len() > LARGEST) {
            return Err(Problem::new(format!("the page of URL number {} is too large to keep", id.0)));
        }
        if self.batch.len() > BATCH {
            self.write_batch()?;
        }

        let limits = self.order.limits().clone();
        let host_update = up_to_date(turn.host, self.order.now());
        let finished = host_update.finished;
        let mut applied = Applied::default();
        self.order.end_lease(id, host_update.contacted.then_some(finished));
        let old_clock = self.order.clock(host).unwrap_or_default();
        let mut clock = old_clock.after(&host_update, &limits);
        if let (true, Some(ip)) = (host_update.contacted, clock.ip) {
            self.order.contacted(ip, finished);
        }
        // How a host's pending URLs end, if this turn ends them.
        let mut purge = None;
        if clock.failures >= limits.host_failures {
            clock.failures = 0;
            clock.closed_until = finished.0.saturating_add(limits.closed_ms);
            purge = Some(Outcome::Unreachable);
        }

        let settled = matches!(info.state, State::Settled(_));
        let (revisit, before) = (self.order.is_revisit(id), self.order.ended_before(id));
        let mut outcome = None;
        match &turn.settle {
            Settle::Robots { answer, .. } => {
                if self.note_robots(host, answer, &mut clock) >= u32::from(limits.max_attempts) {
                    clock.robots_failures = 0;
                    clock.closed_until = finished.0.saturating_add(limits.closed_ms);
                    let no_answer = answer.status == 0;
                    purge =
                        purge.or(Some(if no_answer { Outcome::Unreachable } else { Outcome::RobotsDenied }));
                }
            }
            _ if settled => applied.stale = true,
            Settle::Done { outcome: done, .. } => outcome = Some(*done),
            // Nothing of a visit is written before it ends well.
            Settle::Retry { not_before, .. } if revisit => {
                if info.attempts.saturating_add(1) < limits.max_attempts {
                    self.order.retry(id, not_before.0);
                } else {
                    applied.gave_up = true;
                    self.order.end_revisit(id);
                }
            }
            Settle::AsBefore { .. } if revisit => self.order.end_revisit(id),
            Settle::AsBefore { .. } => self.order.release(id),
            Settle::Retry { not_before, .. } if info.attempts.saturating_add(1) < limits.max_attempts => {
                let step = self.order.step();
                self.put(Kind::Retry, |o| codec::put_retry(o, id, *not_before, step, false));
                self.order.retry(id, not_before.0);
            }
            Settle::Retry { .. } => {
                applied.gave_up = true;
                outcome = Some(Outcome::Unreachable);
            }
            Settle::Return { .. } => self.order.release(id),
            Settle::Defer { until, .. } => self.order.defer(id, *until),
        }
        if outcome == Some(Outcome::Fetched) && !revisit {
            clock.pages += 1;
            if limits.pages_per_host.is_some_and(|most| clock.pages >= most) {
                purge = purge.or(Some(Outcome::Dropped));
            }
        }
        if let Some(outcome) = outcome {
            self.order.settle(id, outcome);
        }
        if clock != old_clock {
            self.put(Kind::Clock, |o| codec::put_clock(o, host, &clock));
            self.order.set_clock(host, clock);
        }
        if let Some(outcome) = purge {
            let pending = self.order.pending_of(host);
            self.drop_urls(&pending, outcome);
            applied.dropped += pending.len() as u32;
        }

        let children = self.offer_all(&turn.add, finished.0, merge, &mut applied);
        if !applied.stale
            && let Some(body) = body
        {
            let prev = self.order.offset(id).unwrap_or_default();
            let offset = self.put(Kind::Page, |o| page::put_page(o, id, prev, &body));
            self.order.set_offset(id, offset);
            self.pages.push(offset);
            self.superseded += u64::from(before == Some(Outcome::Fetched));
        }
        if let Some(outcome) = outcome {
            let prev = self.order.offset(id).unwrap_or_default();
            let step = self.order.step();
            let offset = self.put(Kind::Settle, |o| Settled { id, prev, outcome, step, children }.put(o));
            self.order.set_offset(id, offset);
        }
        self.rescore(&turn.rescore)?;
        self.revise(&Revision::of(&turn.revised))?;
        for (key, change, bytes) in &turn.state {
            self.put_state(*key, *change, bytes)?;
        }
        self.shed(&mut applied);
        Ok(applied)
    }

    fn rescore(&mut self, rescored: &[Rescored]) -> Result<(), Problem> {
        let waits = |id| self.order.is_open(id) && !self.order.is_revisit(id);
        let open: Vec<Rescored> = rescored.iter().copied().filter(|r| waits(r.id)).collect();
        // In pieces, so that re-scoring everything makes no record of a hundred megabytes.
        for part in open.chunks(1 << 16) {
            self.put(Kind::Rescore, |o| codec::put_rescored(o, part));
            for r in part {
                self.order.rescore(r.id, r.priority, r.model, r.cause);
            }
        }
        Ok(())
    }

    fn revisit(&mut self, id: UrlId, priority: Priority) -> Result<bool, Problem> {
        self.order.info(id).ok_or_else(|| self.unknown(id))?;
        Ok(self.order.revisit(id, priority))
    }

    fn ask_again(&mut self, id: UrlId) -> Result<bool, Problem> {
        let info = self.order.info(id).ok_or_else(|| self.unknown(id))?;
        let failed = matches!(info.state, State::Settled(outcome) if outcome.is_failure());
        if failed {
            let step = self.order.step();
            self.put(Kind::Retry, |o| codec::put_retry(o, id, Millis(0), step, true));
            self.order.restart(id);
        }
        Ok(failed)
    }

    fn set_aside(&mut self, id: UrlId) {
        self.order.set_aside(id);
    }

    fn set_limits(&mut self, limits: frontier::Limits) {
        self.order.set_limits(limits);
    }

    fn set_ties(&mut self, ties: types::Ties) {
        self.order.set_ties(ties);
    }

    fn commit(&mut self) -> Result<(), Problem> {
        self.write_batch()?;
        if self.checkpoint_is_due() {
            self.write_checkpoint()?;
        }
        Ok(())
    }

    fn target(&self, url: &Url) -> Target {
        self.order.target(url.fingerprint(self.order.key()))
    }
}

impl<L: Log> Ledger<L> {
    fn lease_by(&mut self, choose: impl FnOnce(&mut Order) -> Choice) -> Result<Next, Problem> {
        let expired = self.order.expired();
        self.drop_urls(&expired, Outcome::Dropped);
        let (id, task, number, expires) = match choose(&mut self.order) {
            Choice::Lease { id, task, number, expires } => (id, task, number, expires),
            Choice::Wait { until, idle } => return Ok(Next::Wait { until, idle }),
            Choice::Empty(idle) => return Ok(Next::Empty(idle)),
        };
        let Some(info) = self.order.info(id) else { return Err(self.unknown(id)) };
        // A host must be known to the next start before it is contacted: after a crash it has to rest.
        let remembered =
            if info.host.is_some_and(|h| h < self.hosts_kept) { Ok(()) } else { self.write_batch() };
        let known = match remembered.and_then(|()| self.known(id)) {
            Ok(known) => known,
            Err(e) => {
                self.order.end_lease(id, None);
                self.order.release(id);
                return Err(e);
            }
        };
        let url = match task {
            Task::Page => known.url,
            Task::Robots => known.url.robots_txt(),
        };
        let revisit = match task == Task::Page && self.order.is_revisit(id) {
            true => Some(self.version(id)?),
            false => None,
        };
        Ok(Next::Lease(Lease {
            id,
            number,
            url,
            task,
            kind: known.kind,
            parent: info.parent,
            depth: info.depth,
            site_depth: info.site_depth,
            hops: info.hops,
            attempt: info.attempts,
            priority: info.priority,
            evidence: known.evidence,
            expires,
            revisit,
        }))
    }

    /// A URL that another worker found.
    pub(crate) fn sighted(
        &mut self,
        candidate: &Candidate,
        now: Millis,
        merge: &dyn Fn(Priority, Priority) -> Priority,
        applied: &mut Applied,
    ) -> Result<(), Problem> {
        check_candidate(candidate)?;
        let named = candidate.kind == LinkKind::Seed;
        self.offer(candidate, named, now.0, merge, &mut HashSet::new(), applied);
        self.shed(applied);
        Ok(())
    }

    /// Offers the links of a page; returns the ids of those that are in the order, in page order.
    fn offer_all(
        &mut self,
        add: &[Candidate],
        now: u64,
        merge: &dyn Fn(Priority, Priority) -> Priority,
        applied: &mut Applied,
    ) -> Vec<UrlId> {
        let most = self.order.limits().links_per_page.map_or(usize::MAX, |n| n as usize);
        let mut met = HashSet::with_capacity(add.len().min(most));
        let mut children = Vec::with_capacity(add.len().min(most));
        for (i, candidate) in add.iter().enumerate() {
            if i >= most {
                applied.refuse(Refusal::LinksPerPage);
            } else if let Some(id) = self.offer(candidate, false, now, merge, &mut met, applied) {
                children.push(id);
            }
        }
        children
    }

    /// Admits a URL, or merges a new sighting into a known one. `met`: URLs already seen on the same page.
    fn offer(
        &mut self,
        c: &Candidate,
        named: bool,
        now: u64,
        merge: &dyn Fn(Priority, Priority) -> Priority,
        met: &mut HashSet<UrlId>,
        applied: &mut Applied,
    ) -> Option<UrlId> {
        let print = c.url.fingerprint(self.order.key());
        let known = self.order.find(print);
        // Named once more, it is tried once more, whatever it was when it was found.
        let again = named && known.is_some_and(|id| self.order.is_unanswered(id));
        if let Some(id) = known
            && !self.order.is_forgotten(id)
            && !again
        {
            if self.order.is_open(id) && !self.order.is_revisit(id) {
                applied.merged += 1;
                self.sight(id, c, merge, !met.insert(id));
            } else {
                applied.known += 1;
            }
            return Some(id);
        }
        let host_key = c.url.host_key();
        let host = self.order.find_host(host_key);
        if let Some(why) = self.order.refuse(c, host, now).filter(|_| !again) {
            applied.refuse(why);
            return None;
        }
        let host = host.unwrap_or_else(|| {
            self.put(Kind::Host, |o| o.rest(host_key.as_bytes()));
            self.order.add_host(host_key)
        });
        let id = self.admit(c, host, known);
        met.insert(id);
        applied.admitted += 1;
        Some(id)
    }

    /// A new URL, or one that is pending anew under its old number.
    fn admit(&mut self, c: &Candidate, host: u32, known: Option<UrlId>) -> UrlId {
        let id = known.unwrap_or(UrlId(self.order.len() as u32));
        let expires = self.expires(c);
        let admit = Admit {
            id,
            host,
            depth: c.depth,
            site_depth: c.site_depth,
            hops: c.hops,
            model: c.model,
            expires,
            url: c.url.as_str(),
            seen: seen(c),
        };
        let offset = self.put(Kind::Admit, |o| admit.put(o));
        let fresh = NewUrl {
            url: c.url.as_str(),
            print: c.url.fingerprint(self.order.key()),
            offset,
            host,
            parent: c.parent,
            depth: c.depth,
            site_depth: c.site_depth,
            hops: c.hops,
            priority: c.priority,
            model: c.model,
            expires,
        };
        match known {
            Some(id) => self.order.revive(id, &fresh),
            None => {
                self.order.insert(&fresh);
            }
        }
        id
    }

    /// A URL that is still wanted was seen again. `again`: on the same page as before, where only a better
    /// sighting is worth remembering.
    fn sight(
        &mut self,
        id: UrlId,
        c: &Candidate,
        merge: &dyn Fn(Priority, Priority) -> Priority,
        again: bool,
    ) {
        let Some(info) = self.order.info(id) else { return };
        let merged = merge(info.priority, c.priority);
        // The older of the two: what was scored by an older model is due to be scored again.
        let model = info.model.min(c.model);
        if self.order.sources_kept(id) < SOURCES_KEPT && (!again || c.priority > info.priority) {
            let (prev, expires) = (self.order.offset(id).unwrap_or_default(), self.expires(c));
            let offset =
                self.put(Kind::Sight, |o| Sight { id, prev, merged, model, expires, seen: seen(c) }.put(o));
            self.order.sight(id, Some(offset), merged, model, expires);
        } else if merged != info.priority {
            let rescored = Rescored { id, priority: merged, model, cause: info.cause };
            self.put(Kind::Rescore, |o| codec::put_rescored(o, &[rescored]));
            self.order.rescore(id, merged, model, info.cause);
        }
    }

    fn expires(&self, c: &Candidate) -> Option<u64> {
        c.ttl.map(|steps| self.order.step() + u64::from(steps))
    }

    /// Returns how often in a row the host's robots.txt could not be had.
    fn note_robots(&mut self, host: u32, answer: &RobotsAnswer, clock: &mut Clock) -> u32 {
        let offset = self.put(Kind::Robots, |o| codec::put_robots(o, host, answer));
        let (fetched, expires) = (answer.fetched.0, answer.expires.0);
        let state = RobotsState { offset, status: answer.status, fetched, expires };
        clock.robots_failures = if state.failed() { clock.robots_failures.saturating_add(1) } else { 0 };
        self.order.set_robots(host, state);
        clock.robots_failures
    }

    /// Settles pending URLs that nobody will fetch.
    pub(super) fn drop_urls(&mut self, ids: &[UrlId], outcome: Outcome) {
        let (known, ids): (Vec<UrlId>, Vec<UrlId>) = ids.iter().partition(|id| self.order.is_revisit(**id));
        known.into_iter().for_each(|id| self.order.end_revisit(id));
        for part in ids.chunks(1 << 16) {
            self.put(Kind::Drop, |o| codec::put_drop(o, outcome, part));
            part.iter().for_each(|id| self.order.settle(*id, outcome));
        }
    }

    /// Too many pending: the worst tenth is forgotten, so that the cost of finding it is spread over many
    /// admissions.
    fn shed(&mut self, applied: &mut Applied) {
        let Some(most) = self.order.limits().max_pending else { return };
        let pending = self.order.counts().pending;
        if pending > most {
            let worst = self.order.worst((pending - most + most / 10) as usize);
            self.drop_urls(&worst, Outcome::Dropped);
            applied.dropped += worst.len() as u32;
        }
    }

    /// Limits may have changed since the last run: hosts that have had their pages get no more.
    pub(crate) fn drop_beyond_caps(&mut self) {
        if let Some(most) = self.order.limits().pages_per_host {
            self.drop_hosts(Outcome::Dropped, |c| c.pages >= most);
        }
    }

    /// What was not here when its host was given up ends as the rest of the host did. Hosts that were given
    /// up before `since` may have URLs that are to be tried again.
    pub(crate) fn drop_closed_since(&mut self, since: Millis) {
        let closed = since.0.saturating_add(self.order.limits().closed_ms);
        self.drop_hosts(Outcome::Unreachable, |c| c.closed_until >= closed);
    }

    /// Settles whatever is pending of some hosts.
    fn drop_hosts(&mut self, outcome: Outcome, which: impl Fn(&Clock) -> bool) {
        for host in 0..self.order.host_count() as u32 {
            if self.order.clock(host).is_some_and(|c| which(&c)) {
                let pending = self.order.pending_of(host);
                self.drop_urls(&pending, outcome);
            }
        }
    }
}

/// A request cannot have ended before the time that the order has heard of: then the clock was set back
/// meanwhile, and what is counted from its end would be over already.
fn up_to_date(mut update: HostUpdate, now: u64) -> HostUpdate {
    let behind = now.saturating_sub(update.finished.0);
    if update.contacted && behind > 0 {
        update.finished = Millis(now);
        update.not_before = update.not_before.map(|at| Millis(at.0.saturating_add(behind)));
    }
    update
}

pub(crate) fn check_candidate(c: &Candidate) -> Result<(), Problem> {
    if c.evidence.len() > EVIDENCE {
        return Err(Problem::new(format!("the evidence of {} is {} bytes long", c.url, c.evidence.len()))
            .because(format!("a strategy may keep {EVIDENCE} bytes per link")));
    }
    Ok(())
}

fn seen(c: &Candidate) -> Seen<'_> {
    let anchor = &c.anchor[..c.anchor.floor_char_boundary(ANCHOR)];
    Seen { parent: c.parent, kind: c.kind, priority: c.priority, anchor, evidence: &c.evidence }
}
