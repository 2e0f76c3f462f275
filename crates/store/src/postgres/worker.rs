//! The loop's side of a shared crawl: its numbers are the crawl's, those of the ledger inside are this worker's.

use super::look::{self, Look};
use super::post::{self, Child};
use super::scratch::Revised;
use super::{Shared, id32, shard_of};
use crate::ledger::apply::check_candidate;
use crate::traits::{Done, Stats, Store, Wanted};
use frontier::{Applied, Frontier, Gate, HostInfo, Idle, Info, News, Next, Peek, Refusal, State};
use std::collections::{HashMap, HashSet};
use std::sync::PoisonError;
use std::time::Duration;
use types::{
    Assessment, Candidate, Fingerprint, Lease, Millis, Priority, Problem, Record, Rescored, RobotsAnswer,
    Settle, Source, Turn, Url, UrlId, Verdict,
};

/// Numbers from here on down stand for far URLs for a moment; real ones do not come near.
const HANDLES: u32 = u32::MAX - 1;
/// URLs of other shards that are remembered as sighted; beyond this all are forgotten.
const MOST_FAR_KNOWN: usize = 250_000;
/// Nothing to do now: look again this much later.
const NAP: u64 = 150;
/// The same while shards are on their way.
const SHORT_NAP: Duration = Duration::from_millis(10);
/// Texts of far URLs that are remembered.
const FAR_URLS: usize = 10_000;

/// Keys in one bucket are as good as equal: within about 1 % of each other.
fn bucket(p: Priority) -> (u8, u64) {
    (p.lane, p.key().to_bits() >> 45)
}

impl Shared {
    fn unknown(&self, id: UrlId) -> Problem {
        Problem::new(format!("there is no URL number {} in the crawl `{}`", id.0, self.options.crawl))
    }

    fn slot(&self, id: UrlId) -> Option<UrlId> {
        self.ids.slot(id.0)
    }

    fn global(&self, slot: UrlId) -> UrlId {
        UrlId(self.ids.global(slot).unwrap_or(u32::MAX))
    }

    fn shard_of_url(&self, url: &Url) -> i16 {
        shard_of(url.host_key(), self.key, self.shards)
    }

    /// Were its records taken over from the database, not written here?
    fn is_loaded(&self, slot: UrlId) -> bool {
        let at = self.loaded.partition_point(|(_, to)| *to <= slot.0);
        self.loaded.get(at).is_some_and(|(from, _)| *from <= slot.0)
    }

    /// What is pending of what was loaded since this was last asked.
    pub(super) fn newly_loaded(&mut self) -> Vec<UrlId> {
        let told = self.loads_told;
        let at = self.loaded.partition_point(|(_, to)| *to <= told);
        let new = self.loaded.get(at..).unwrap_or(&[]);
        let slots = new.iter().flat_map(|(from, to)| told.max(*from)..*to).map(UrlId);
        let open = slots.filter(|slot| self.inner.order().is_open(*slot));
        let ids = open.filter_map(|slot| self.ids.global(slot)).map(UrlId).collect();
        self.loads_told = self.loaded.last().map_or(0, |(_, to)| *to);
        ids
    }

    /// Its slot, if where it was found is here too.
    fn sighted_here(&self, id: UrlId) -> Option<UrlId> {
        self.slot(id).filter(|slot| self.inner.order().is_open(*slot) || !self.is_loaded(*slot))
    }

    pub(super) fn clear_handles(&mut self) {
        self.handles.get_mut().unwrap_or_else(PoisonError::into_inner).clear();
    }

    fn send(&mut self, c: &Candidate) {
        let parent_shard = c.parent.and_then(|p| self.ids.shard_of(p.0));
        let shard = self.shard_of_url(&c.url);
        if self.far_known.len() >= MOST_FAR_KNOWN {
            self.far_known.clear();
        }
        self.far_known.insert(c.url.fingerprint(self.key).0);
        self.out.outbox.push((shard, post::sighting(c, parent_shard)));
    }

    fn wait(&self, now: Millis) -> Next {
        let idle = Idle { pending: self.inner.order().counts().pending, ..Idle::default() };
        Next::Wait {
            until: now.plus(Duration::from_millis(NAP)),
            idle: Idle { next_in_ms: Some(NAP), ..idle },
        }
    }

    /// Would the budget be better spent by another worker?
    fn leaves_it_to_others(&mut self, now: Millis, lane: Option<u8>) -> bool {
        if !self.options.budget || lane.is_some() {
            return false;
        }
        let Some(water) = self.others_watermark else { return false };
        self.inner.peek(now, None, 1).first().is_some_and(|best| best.priority < water)
    }

    /// What the database says of a URL.
    fn look(&self, id: UrlId) -> Look<'_> {
        let shard = self.ids.shard_of(id.0);
        Look { db: &self.db, crawl: self.me.crawl, id, shard, shards: self.shards }
    }

    /// Learns the shards of pages that are not here: fetched by an earlier run of this slot, or before their host was
    /// handed over.
    fn find_shards(&mut self, ids: impl Iterator<Item = UrlId>) -> Result<(), Problem> {
        let strange = |shared: &Shared, id: &u32| shared.ids.shard_of(*id).is_none();
        let mut unknown: Vec<u32> = ids.map(|id| id.0).filter(|id| strange(self, id)).collect();
        if unknown.is_empty() {
            return Ok(());
        }
        let mut found = Vec::new();
        if !self.own_pages_known {
            found = self.db.ask(
                "SELECT id, shard FROM gleaner.page WHERE crawl = $1 AND slot = $2",
                &[&self.me.crawl, &self.me.slot],
            )?;
            self.own_pages_known = true;
        }
        for row in &found {
            self.ids.remember_far(id32(row.get(0)), row.get(1));
        }
        unknown.retain(|id| strange(self, id));
        if unknown.is_empty() {
            return Ok(());
        }
        // Fetched again by another.
        let numbers: Vec<i64> = unknown.iter().map(|id| super::id64(*id)).collect();
        let found = self.db.ask(
            "SELECT id, shard FROM gleaner.page WHERE crawl = $1 AND id = ANY($2)",
            &[&self.me.crawl, &numbers],
        )?;
        for row in &found {
            self.ids.remember_far(id32(row.get(0)), row.get(1));
        }
        Ok(())
    }

    /// The children of a page, as they were kept.
    fn kept_children(&self, id: UrlId) -> Result<Vec<Child>, Problem> {
        if let Some(slot) = self.slot(id) {
            if let Some(children) = self.uncommitted().find_map(|(_, out)| out.children.get(&slot.0)) {
                return Ok(children.clone());
            }
            if !self.is_loaded(slot) && !self.far_pages.contains(&slot.0) {
                let slots = self.inner.children(slot)?;
                return Ok(slots.iter().filter_map(|s| self.ids.global(*s)).map(Child::Known).collect());
            }
        }
        self.look(id).children()
    }

    /// New priorities: ours are applied, far ones are sent.
    fn rescore_all(&mut self, rescored: &[Rescored]) -> Result<(), Problem> {
        let mut here = Vec::with_capacity(rescored.len());
        for r in rescored {
            if let Some(slot) = self.slot(r.id) {
                if let Some(info) = self.inner.order().info(slot) {
                    // Evidence is never written again, and a priority only when it is in another bucket.
                    let small = bucket(info.priority) == bucket(r.priority) && r.cause == info.cause;
                    let minor = &mut self.inner.log_mut().facts.minor;
                    if small {
                        minor.insert(slot.0);
                    } else {
                        minor.remove(&slot.0);
                    }
                }
                here.push(Rescored { id: slot, ..*r });
            } else {
                let handles = self.handles.get_mut().unwrap_or_else(PoisonError::into_inner);
                let at = HANDLES.checked_sub(r.id.0).map(|i| i as usize);
                if let Some(Child::Far { shard, print }) = at.and_then(|i| handles.get(i)).copied() {
                    self.out.outbox.push((shard, post::rescore(print, r.priority, r.model, r.cause)));
                }
            }
        }
        self.inner.rescore(&here)?;
        // The minor ones are only known by name until the ledger's batch becomes facts.
        frontier::Frontier::commit(&mut self.inner)?;
        self.inner.log_mut().facts.minor.clear();
        Ok(())
    }

    /// What our own ledger says is next, once everyone may know of it.
    fn announced(&mut self, next: Next, now: Millis) -> Result<Next, Problem> {
        let lease = match next {
            Next::Lease(lease) => lease,
            Next::Empty(idle) if !self.arriving.is_empty() => {
                return Ok(Next::Wait { until: now.plus(SHORT_NAP), idle });
            }
            Next::Empty(idle) => {
                return Ok(if self.all_done()? { Next::Empty(idle) } else { self.wait(now) });
            }
            // What is on its way is taken in between two turns.
            Next::Wait { until, idle } if !self.arriving.is_empty() => {
                return Ok(Next::Wait { until: until.min(now.plus(SHORT_NAP)), idle });
            }
            Next::Wait { until, idle } => return Ok(Next::Wait { until, idle }),
        };
        self.idle = false;
        let slot = lease.id;
        let host = self.inner.order().info(slot).map(|i| i.host);
        self.most_in_flight = self.most_in_flight.max(self.inner.order().in_flight());
        // Whoever takes over after a crash must know every host that was contacted.
        if host.is_none_or(|h| h >= self.hosts_shipped) {
            let shipped = self.announce_hosts();
            if shipped.is_err() || self.lost {
                self.inner.apply(Turn::new(Settle::Return { id: slot }), &|old, _| old)?;
                shipped?;
                return Ok(self.wait(now));
            }
        }
        Ok(Next::Lease(Lease { id: self.global(slot), ..lease }))
    }
}

impl Frontier for Shared {
    fn lease(&mut self, now: Millis, lane: Option<u8>) -> Result<Next, Problem> {
        if self.lost || !self.gate.is_open() || self.leaves_it_to_others(now, lane) {
            return Ok(self.wait(now));
        }
        let next = self.inner.lease(now, lane)?;
        self.announced(next, now)
    }

    fn lease_of(&mut self, now: Millis, rank: &dyn Fn(&str) -> Option<u64>) -> Result<Next, Problem> {
        if self.lost || !self.gate.is_open() {
            return Ok(self.wait(now));
        }
        let next = self.inner.lease_of(now, rank)?;
        self.announced(next, now)
    }

    fn peek(&mut self, now: Millis, lane: Option<u8>, k: usize) -> Vec<Peek> {
        let ids = &self.ids;
        let top = self.inner.peek(now, lane, k).into_iter();
        top.filter_map(|p| Some(Peek { id: UrlId(ids.global(p.id)?), ..p })).collect()
    }

    fn seed(&mut self, candidate: Candidate, now: Millis) -> Result<bool, Problem> {
        check_candidate(&candidate)?;
        if self.is_here(self.shard_of_url(&candidate.url)) {
            self.make_room(1)?;
            let new = self.inner.seed(candidate, now)?;
            self.number_new()?;
            return Ok(new);
        }
        let known = self.find(&candidate.url).and_then(|id| self.entry(id));
        let known = known.is_some_and(|e| !e.state.is_unanswered());
        if !known {
            self.send(&candidate);
        }
        Ok(!known)
    }

    fn apply(
        &mut self,
        turn: Turn,
        merge: &dyn Fn(Priority, Priority) -> Priority,
    ) -> Result<Applied, Problem> {
        let id = turn.settle.id();
        let Some(slot) = self.slot(id) else { return Err(self.unknown(id)) };
        turn.add.iter().try_for_each(check_candidate)?;
        self.make_room(turn.add.len() as u32 + 1)?;
        self.urgent |= turn.host.not_before.is_some();
        self.find_shards(turn.revised.iter().map(|r| r.0))?;

        let most = self.options.limits.links_per_page.map_or(usize::MAX, |n| n as usize);
        let cut = turn.add.len().saturating_sub(most);
        let mut shards = Vec::with_capacity(turn.add.len().min(most));
        let (mut here, mut far) = (Vec::with_capacity(turn.add.len()), Vec::new());
        for c in turn.add.into_iter().take(most) {
            let shard = self.shard_of_url(&c.url);
            let print = c.url.fingerprint(self.key);
            shards.push((shard, print));
            if self.is_here(shard) { here.push(c) } else { far.push(c) }
        }
        let (mut revised, mut far_revised) = (Vec::new(), Vec::new());
        for (id, verdict) in &turn.revised {
            match self.slot(*id) {
                Some(slot) => revised.push((slot, *verdict)),
                None if self.ids.shard_of(id.0).is_some() => {
                    far_revised.push((id.0, Revised { verdict: *verdict, assessment: None }));
                }
                None => {}
            }
        }
        let verdict = turn.record.as_ref().map(|r| r.verdict);
        let settles = matches!(turn.settle, Settle::Done { .. });
        let inner = Turn {
            settle: with_id(turn.settle, slot),
            add: here,
            rescore: Vec::new(),
            revised,
            record: turn.record,
            host: turn.host,
            state: turn.state,
        };
        let all_revised: Vec<bool> = turn.revised.iter().map(|(_, v)| v.relevant).collect();
        let mut applied = self.inner.apply(inner, merge)?;
        self.number_new()?;
        (0..cut).for_each(|_| applied.refuse(Refusal::LinksPerPage));
        self.out.far_revised.extend(far_revised);
        if !far.is_empty() {
            for c in &far {
                self.send(c);
            }
            applied.sent = far.len() as u32;
            if settles && !applied.stale {
                let order = self.inner.order();
                let child = |(shard, print): &(i16, Fingerprint)| {
                    if !self.is_here(*shard) {
                        return Some(Child::Far { shard: *shard, print: *print });
                    }
                    order.find(*print).and_then(|s| self.ids.global(s)).map(Child::Known)
                };
                let children = shards.iter().filter_map(child).collect();
                self.out.children.insert(slot.0, children);
            }
        }
        if let Some(verdict) = verdict.filter(|_| !applied.stale) {
            self.pages += 1;
            self.relevant += i64::from(verdict.relevant);
        }
        for relevant in all_revised {
            self.relevant += if relevant { 1 } else { -1 };
        }
        if !turn.rescore.is_empty() {
            self.rescore_all(&turn.rescore)?;
        }
        Ok(applied)
    }

    fn rescore(&mut self, rescored: &[Rescored]) -> Result<(), Problem> {
        if rescored.is_empty() { Ok(()) } else { self.rescore_all(rescored) }
    }

    fn set_aside(&mut self, id: UrlId) {
        if let Some(slot) = self.slot(id) {
            self.inner.set_aside(slot);
        }
    }

    fn set_limits(&mut self, limits: frontier::Limits) {
        self.options.limits = limits.clone();
        self.inner.set_limits(limits);
    }

    fn commit(&mut self) -> Result<(), Problem> {
        self.commit_if_due()
    }

    fn siblings(&self, id: UrlId) -> Vec<UrlId> {
        let parent = self.slot(id).and_then(|s| self.inner.order().info(s)).and_then(|i| i.parent);
        let Some(parent) = parent else { return Vec::new() };
        // A page whose links cannot be read has no siblings to re-score.
        let children = self.kept_children(parent).unwrap_or_default();
        let mut handles = self.handles.lock().unwrap_or_else(PoisonError::into_inner);
        let mut met = HashSet::new();
        let mut out = Vec::new();
        for child in children {
            let slot = match child {
                Child::Known(global) => self.ids.slot(global),
                Child::Far { print, .. } => self.inner.order().find(print),
            };
            match (slot, child) {
                (Some(slot), _) => {
                    let global = self.global(slot);
                    let pending = self.inner.order().info(slot).is_some_and(|i| i.state == State::Pending);
                    if pending && global != id && met.insert(global) {
                        out.push(global);
                    }
                }
                (None, Child::Far { .. }) => {
                    let handle = HANDLES - handles.len() as u32;
                    handles.push(child);
                    out.push(UrlId(handle));
                }
                // It was here when its parent was read and has moved since, or is not here yet: whoever has it would
                // hear of it by number only, which is not worth a message.
                (None, Child::Known(_)) => {}
            }
        }
        out
    }

    fn all_sources(&self, ids: &[UrlId]) -> Result<HashMap<UrlId, Vec<Source>>, Problem> {
        let (here, far): (Vec<UrlId>, Vec<UrlId>) =
            ids.iter().partition(|id| self.sighted_here(**id).is_some());
        let mut all = HashMap::with_capacity(ids.len());
        for id in here {
            all.insert(id, self.sources(id)?);
        }
        look::sources_of(&self.db, self.me.crawl, &far, &mut all)?;
        Ok(all)
    }

    fn sources(&self, id: UrlId) -> Result<Vec<Source>, Problem> {
        if let Some(slot) = self.sighted_here(id) {
            return self.inner.sources(slot);
        }
        let found = self.look(id).sources()?;
        if found.is_empty() { Err(self.unknown(id)) } else { Ok(found) }
    }

    fn pending(&self) -> Box<dyn Iterator<Item = UrlId> + '_> {
        Box::new(self.inner.order().pending().map(|s| self.global(s)))
    }

    fn robots(&self, host_key: &str) -> Result<Option<RobotsAnswer>, Problem> {
        self.inner.robots(host_key)
    }

    fn tend(&mut self, now: Millis, merge: &dyn Fn(Priority, Priority) -> Priority) -> Result<News, Problem> {
        Ok(self.tend_now(now, merge)?.unwrap_or_default())
    }

    fn publish(&mut self, delta: Vec<u8>) {
        if self.workers > 1 {
            self.out.deltas.push(delta);
        }
    }

    fn take_seed(&mut self, ticket: u64, candidate: Option<Candidate>, now: Millis) -> Result<bool, Problem> {
        let Some(at) = self.asked_seeds.iter().position(|(_, seq)| *seq as u64 == ticket) else {
            return Ok(false);
        };
        let place = self.asked_seeds.swap_remove(at);
        if self.lost || !self.is_here(place.0) {
            // Whoever has the shard takes it.
            return Ok(false);
        }
        candidate.iter().try_for_each(check_candidate)?;
        self.make_room(1)?;
        self.out.consumed.push(place);
        let Some(candidate) = candidate else { return Ok(false) };
        let new = self.inner.seed(candidate, now)?;
        self.number_new()?;
        self.idle &= !new;
        Ok(new)
    }

    fn set_budget(&mut self, budget: bool) {
        self.options.budget = budget;
    }

    fn holds(&self, id: UrlId) -> bool {
        !self.lost && self.slot(id).is_some_and(|s| self.inner.order().is_open(s))
    }

    fn gate(&self) -> Gate {
        self.gate.clone()
    }
}

fn with_id(settle: Settle, id: UrlId) -> Settle {
    match settle {
        Settle::Done { outcome, .. } => Settle::Done { id, outcome },
        Settle::Retry { not_before, .. } => Settle::Retry { id, not_before },
        Settle::Robots { answer, .. } => Settle::Robots { id, answer },
        Settle::Return { .. } => Settle::Return { id },
        Settle::Defer { until, .. } => Settle::Defer { id, until },
    }
}

impl Store for Shared {
    fn find(&self, url: &Url) -> Option<UrlId> {
        let shard = self.shard_of_url(url);
        let print = url.fingerprint(self.key);
        if self.is_here(shard) {
            return self.inner.order().find(print).map(|s| self.global(s));
        }
        look::find(&self.db, self.me.crawl, shard, print).ok().flatten()
    }

    fn knows(&self, url: &Url) -> bool {
        let print = url.fingerprint(self.key);
        if self.is_here(self.shard_of_url(url)) {
            return self.inner.order().find(print).is_some();
        }
        self.far_known.contains(&print.0)
    }

    fn url(&self, id: UrlId) -> Result<Url, Problem> {
        if let Some(slot) = self.slot(id) {
            return self.inner.url(slot);
        }
        let mut cache = self.far_urls.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(url) = cache.get(&id.0) {
            return Ok(url.clone());
        }
        let url = self.look(id).url()?.ok_or_else(|| self.unknown(id))?;
        if cache.len() >= FAR_URLS {
            cache.clear();
        }
        cache.insert(id.0, url.clone());
        Ok(url)
    }

    fn urls(&self, pages: &[UrlId]) -> Result<HashMap<UrlId, Url>, Problem> {
        let (here, far): (Vec<UrlId>, Vec<UrlId>) = pages.iter().partition(|id| self.slot(**id).is_some());
        let mut all = HashMap::with_capacity(pages.len());
        for id in here {
            all.insert(id, self.url(id)?);
        }
        look::urls_of(&self.db, self.me.crawl, &far, &mut all)?;
        Ok(all)
    }

    fn entry(&self, id: UrlId) -> Option<Info> {
        if let Some(slot) = self.slot(id) {
            return self.inner.entry(slot).map(|i| Info { id, ..i });
        }
        let far = self.look(id).entry();
        // Its host has no number here.
        far.ok().flatten().map(|i| Info { host: u32::MAX, ..i })
    }

    fn children(&self, id: UrlId) -> Result<Vec<UrlId>, Problem> {
        look::resolve(&self.db, self.me.crawl, &self.kept_children(id)?)
    }

    fn record(&self, id: UrlId) -> Result<Option<Record>, Problem> {
        let slot = self.slot(id);
        if let Some(slot) = slot
            && let Some(record) = self.inner.record(slot)?
        {
            return Ok(Some(record));
        }
        let found = self.look(id).record()?;
        let newest = slot.and_then(|s| self.uncommitted().find_map(|(facts, _)| facts.revised.get(&s.0)));
        Ok(found.map(|r| match newest {
            Some(newest) => {
                let changed = newest.assessment.as_ref().and_then(|b| postcard::from_bytes(b).ok());
                Record { verdict: newest.verdict, assessment: changed.unwrap_or(r.assessment), ..r }
            }
            None => r,
        }))
    }

    /// Those of others by the hundred, whatever their shards; what is here, and newer, as `record` has it.
    fn each_record(
        &self,
        ids: &[UrlId],
        with: &mut dyn FnMut(Record) -> Result<(), Problem>,
    ) -> Result<(), Problem> {
        let (here, far): (Vec<UrlId>, Vec<UrlId>) = ids.iter().partition(|id| self.slot(**id).is_some());
        for id in here {
            self.record(id)?.map_or(Ok(()), |r| with(Record { id, ..r }))?;
        }
        for some in far.chunks(200) {
            let numbers: Vec<i64> = some.iter().map(|id| super::id64(id.0)).collect();
            let rows = self.db.ask(
                "SELECT record, relevant, relevance, threshold, version, assessment, id FROM gleaner.page
                 WHERE crawl = $1 AND id = ANY($2)",
                &[&self.me.crawl, &numbers],
            )?;
            for row in &rows {
                with(Record { id: UrlId(id32(row.get(6))), ..look::record_from(row)? })?;
            }
        }
        Ok(())
    }

    fn records(&self, from: usize) -> Box<dyn Iterator<Item = Result<Record, Problem>> + '_> {
        let rows =
            self.db.ask("SELECT id FROM gleaner.page WHERE crawl = $1 ORDER BY seq", &[&self.me.crawl]);
        let committed: Vec<UrlId> = match rows {
            Ok(rows) => rows.iter().map(|r| UrlId(id32(r.get(0)))).collect(),
            Err(e) => return Box::new(std::iter::once(Err(e))),
        };
        let known: HashSet<UrlId> = committed.iter().copied().collect();
        let fresh: Vec<UrlId> =
            self.inner.pages_here().map(|s| self.global(s)).filter(|id| !known.contains(id)).collect();
        let all = committed.into_iter().chain(fresh).skip(from);
        Box::new(all.filter_map(|id| self.record(id).transpose()))
    }

    fn revised(&self) -> Result<Vec<(UrlId, Verdict)>, Problem> {
        let rows = self.db.ask(
            "SELECT id, relevant, relevance, threshold, version FROM gleaner.page
             WHERE crawl = $1 AND slot = $2 AND revised ORDER BY id",
            &[&self.me.crawl, &self.me.slot],
        )?;
        let mut all: std::collections::BTreeMap<UrlId, Verdict> =
            rows.iter().map(|r| (UrlId(id32(r.get(0))), look::verdict_of(r, 1))).collect();
        for (slot, verdict) in self.inner.revised()? {
            all.insert(self.global(slot), verdict);
        }
        Ok(all.into_iter().collect())
    }

    fn revise(&mut self, verdicts: &[(UrlId, Verdict)]) -> Result<(), Problem> {
        self.find_shards(verdicts.iter().map(|v| v.0))?;
        let mut here = Vec::new();
        for (id, verdict) in verdicts {
            match self.slot(*id) {
                Some(slot) => here.push((slot, *verdict)),
                None if self.ids.shard_of(id.0).is_some() => {
                    self.out.far_revised.push((id.0, Revised { verdict: *verdict, assessment: None }));
                }
                None => return Err(self.unknown(*id)),
            }
        }
        self.inner.revise(&here)
    }

    fn reassess(&mut self, pages: &[(UrlId, Verdict, Assessment)]) -> Result<(), Problem> {
        self.find_shards(pages.iter().map(|p| p.0))?;
        let mut here = Vec::new();
        for (id, verdict, assessment) in pages {
            match self.slot(*id) {
                Some(slot) => here.push((slot, *verdict, assessment.clone())),
                None if self.ids.shard_of(id.0).is_some() => {
                    let bytes = postcard::to_allocvec(assessment)
                        .map_err(|e| Problem::new("an assessment cannot be kept").because(e))?;
                    let revised = Revised { verdict: *verdict, assessment: Some(bytes) };
                    self.out.far_revised.push((id.0, revised));
                }
                None => return Err(self.unknown(*id)),
            }
        }
        self.inner.reassess(&here)
    }

    fn state(&self, name: &str) -> Result<Vec<Vec<u8>>, Problem> {
        self.inner.state(name)
    }

    fn put_state(&mut self, name: &str, change: bool, bytes: &[u8]) -> Result<(), Problem> {
        self.inner.put_state(name, change, bytes)
    }

    fn hosts(&self) -> Box<dyn Iterator<Item = HostInfo> + '_> {
        self.inner.hosts()
    }

    fn find_host(&self, name: &str) -> Option<u32> {
        self.inner.order().find_host(name)
    }

    fn stats(&self) -> Stats {
        self.inner.stats()
    }

    fn sync(&mut self) -> Result<(), Problem> {
        // What waits for the bucket is not committed: it goes when it may.
        if self.is_holding() { self.commit_if_due() } else { self.ship() }
    }

    fn checkpoint(&mut self) -> Result<(), Problem> {
        self.sync()
    }

    fn close(&mut self) -> Result<(), Problem> {
        self.ship()?;
        if !self.lost {
            let all: Vec<i16> = self.owned.keys().copied().collect();
            // With a request still out its hosts have to rest: then nothing is given up, it runs out.
            if self.inner.order().in_flight() == 0 {
                self.give_away(&all)?;
            }
            self.return_numbers()?;
            super::claim::leave(&self.db, &self.me)?;
        }
        self.heart = None;
        self.gate.open_until(std::time::Instant::now());
        // Whatever comes now has no claim.
        self.lost = true;
        Ok(())
    }

    fn refresh(&mut self) -> Result<bool, Problem> {
        Ok(false)
    }

    fn wanted(&mut self) -> Result<Option<Wanted>, Problem> {
        self.read_wanted().map(Some)
    }

    fn obeyed(&mut self, n: u64, done: Option<Done>) {
        self.note_obeyed(n, done);
    }

    fn recounted(&mut self, relevant: u64) {
        self.relevant = relevant as i64;
        self.out.news = true;
    }

    fn check(&self) -> Result<(), Problem> {
        self.inner.check()
    }
}
