//! The loop's side of a shared crawl: its numbers are the crawl's, those of the ledger inside are this
//! worker's.

use super::ids::Slot;
use super::look::{self, Look};
use super::post::{self, Child};
use super::scratch::Revised;
use super::{Shard, Shared, url_id};
use crate::fleet::{Done, Fleet, Gate, News, Seat, SharedPage, Ticket, Wanted};
use crate::ledger::apply::check_candidate;
use crate::traits::{Each, Journal, Records, Revision, Stats, Storage, Which};
use frontier::{Applied, Frontier, HostInfo, Idle, Info, Next, Peek, Pick, Refusal, State};
use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use types::{
    Candidate, Fingerprint, Lease, Millis, Priority, Problem, Record, Rescored, RobotsAnswer, Settle, Source,
    StateKey, Target, Turn, Url, UrlId, Verdict, Version,
};

/// URLs of other shards that are remembered as sighted; beyond this all are forgotten.
const MOST_FAR_KNOWN: usize = 250_000;
/// Nothing to do now: look again this much later.
const NAP: u64 = 150;
/// The same while shards are on their way.
const SHORT_NAP: Duration = Duration::from_millis(10);
/// Texts of far URLs that are remembered.
const FAR_URLS: usize = 10_000;

/// What this worker remembers of URLs whose shards are not here.
#[derive(Default)]
pub(super) struct Far {
    /// Fingerprints of those that were sighted here of late.
    sighted: HashSet<u64>,
    /// Slots of pages here with links to other shards.
    pub pages: HashSet<Slot>,
    /// The links beside a URL that were asked for last.
    beside: Mutex<Option<(UrlId, Vec<Child>)>>,
    /// Their text, as far as it was asked for.
    urls: Mutex<HashMap<UrlId, Url>>,
    /// The shards of this slot's pages of earlier runs were asked for.
    own_pages_known: bool,
}

impl Far {
    /// The worker joins anew, perhaps in another slot.
    pub fn forget_own(&mut self) {
        self.pages.clear();
        self.own_pages_known = false;
    }
}

/// Keys in one bucket are as good as equal: within about 1 % of each other.
fn bucket(p: Priority) -> (u8, u64) {
    (p.lane, p.key().to_bits() >> 45)
}

impl Shared {
    fn unknown(&self, id: UrlId) -> Problem {
        Problem::new(format!("there is no URL number {} in the crawl `{}`", id.0, self.options.crawl))
    }

    fn slot(&self, id: UrlId) -> Option<Slot> {
        self.ids.slot(id)
    }

    /// The crawl's number of what the ledger inside calls `inner`.
    fn global(&self, inner: UrlId) -> Result<UrlId, Problem> {
        self.ids.global(Slot::of(inner)).ok_or_else(|| {
            Problem::new("a URL of this worker has no number in the crawl")
                .hint("this is a bug; please report it")
        })
    }

    /// How a URL that is here stands.
    fn info(&self, slot: Slot) -> Option<Info> {
        self.inner.order().info(slot.inner())
    }

    fn is_open(&self, slot: Slot) -> bool {
        self.inner.order().is_open(slot.inner())
    }

    fn shard_of_url(&self, url: &Url) -> i16 {
        self.spread.shard_of(url.host_key())
    }

    /// Its slot, if where it was found is here too.
    fn sighted_here(&self, id: UrlId) -> Option<Slot> {
        self.slot(id).filter(|slot| self.is_open(*slot) || !self.shards.is_loaded(*slot))
    }

    /// Where a link is in this worker's memory, if it is here.
    fn slot_of(&self, child: Child) -> Option<Slot> {
        match child {
            Child::Known(global) => self.ids.slot(global),
            Child::Far { print, .. } => self.inner.order().find(print).map(Slot::of),
        }
    }

    /// The links of the page that `id` was first found on. They are asked for twice in a row: those that are
    /// here get their new priorities first, those that are not here next.
    fn links_beside(&self, id: UrlId) -> Result<Vec<Child>, Problem> {
        let parent = self.slot(id).and_then(|s| self.info(s)).and_then(|i| i.parent);
        let Some(parent) = parent else { return Ok(Vec::new()) };
        let mut beside = self.far.beside.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((of, links)) = beside.as_ref()
            && *of == id
        {
            return Ok(links.clone());
        }
        let links = self.kept_children(parent)?;
        *beside = Some((id, links.clone()));
        Ok(links)
    }

    fn send(&mut self, c: &Candidate) {
        let parent_shard = c.parent.and_then(|p| self.ids.shard_of(p));
        let shard = self.shard_of_url(&c.url);
        if self.far.sighted.len() >= MOST_FAR_KNOWN {
            self.far.sighted.clear();
        }
        self.far.sighted.insert(c.url.fingerprint(self.spread.key).0);
        self.outgoing.draft.outbox.push((shard, post::sighting(c, parent_shard)));
    }

    fn wait(&self, now: Millis) -> Next {
        let idle = Idle { pending: self.inner.order().counts().pending, ..Idle::default() };
        Next::Wait {
            until: now.plus(Duration::from_millis(NAP)),
            idle: Idle { next_in_ms: Some(NAP), ..idle },
        }
    }

    /// Would the budget be better spent by another worker?
    fn leaves_it_to_others(&mut self, now: Millis, pick: Pick<'_>) -> bool {
        if !self.options.budget || !matches!(pick, Pick::Best) {
            return false;
        }
        let Some(water) = self.peers.watermark else { return false };
        self.inner.peek(now, None, 1).first().is_some_and(|best| best.priority < water)
    }

    /// What the database says of a URL.
    fn look(&self, id: UrlId) -> Look<'_> {
        let shard = self.ids.shard_of(id);
        Look { db: &self.db, crawl: self.membership.me.crawl, id, shard, shards: self.spread.shards }
    }

    /// Learns the shards of pages that are not here: fetched by an earlier run of this slot, or before their
    /// host was handed over.
    fn find_shards(&mut self, ids: impl Iterator<Item = UrlId>) -> Result<(), Problem> {
        let strange = |shared: &Shared, id: &UrlId| shared.ids.shard_of(*id).is_none();
        let mut unknown: Vec<UrlId> = ids.filter(|id| strange(self, id)).collect();
        if unknown.is_empty() {
            return Ok(());
        }
        let mut found = Vec::new();
        if !self.far.own_pages_known {
            found = self.db.ask(
                "SELECT id, shard FROM gleaner.page WHERE crawl = $1 AND slot = $2",
                &[&self.membership.me.crawl, &self.membership.me.slot],
            )?;
            self.far.own_pages_known = true;
        }
        for row in &found {
            self.ids.remember_far(url_id(row.get(0)), row.get(1));
        }
        unknown.retain(|id| strange(self, id));
        if unknown.is_empty() {
            return Ok(());
        }
        // Fetched again by another.
        let numbers: Vec<i64> = unknown.iter().map(|id| super::id64(id.0)).collect();
        let found = self.db.ask(
            "SELECT id, shard FROM gleaner.page WHERE crawl = $1 AND id = ANY($2)",
            &[&self.membership.me.crawl, &numbers],
        )?;
        for row in &found {
            self.ids.remember_far(url_id(row.get(0)), row.get(1));
        }
        Ok(())
    }

    /// The children of a page, as they were kept.
    fn kept_children(&self, id: UrlId) -> Result<Vec<Child>, Problem> {
        if let Some(slot) = self.slot(id) {
            if let Some(children) = self.uncommitted().find_map(|(_, out)| out.children.get(&slot)) {
                return Ok(children.clone());
            }
            if !self.shards.is_loaded(slot) && !self.far.pages.contains(&slot) {
                let here = self.inner.children(slot.inner())?.into_iter().map(Slot::of);
                return Ok(here.filter_map(|s| self.ids.global(s)).map(Child::Known).collect());
            }
        }
        self.look(id).children()
    }

    /// New priorities of URLs that are here.
    fn rescore_all(&mut self, rescored: &[Rescored]) -> Result<(), Problem> {
        let mut here = Vec::with_capacity(rescored.len());
        for r in rescored {
            if let Some(slot) = self.slot(r.id) {
                if let Some(info) = self.info(slot) {
                    // Evidence is never written again, and a priority only when it is in another bucket.
                    let small = bucket(info.priority) == bucket(r.priority) && r.cause == info.cause;
                    let minor = &mut self.inner.log_mut().facts.minor;
                    if small {
                        minor.insert(slot);
                    } else {
                        minor.remove(&slot);
                    }
                }
                here.push(Rescored { id: slot.inner(), ..*r });
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
            Next::Empty(idle) if !self.shards.arriving.is_empty() => {
                return Ok(Next::Wait { until: now.plus(SHORT_NAP), idle });
            }
            Next::Empty(idle) => {
                return Ok(if self.all_done()? { Next::Empty(idle) } else { self.wait(now) });
            }
            // What is on its way is taken in between two turns.
            Next::Wait { until, idle } if !self.shards.arriving.is_empty() => {
                return Ok(Next::Wait { until: until.min(now.plus(SHORT_NAP)), idle });
            }
            Next::Wait { until, idle } => return Ok(Next::Wait { until, idle }),
        };
        self.work.idle = false;
        let slot = Slot::of(lease.id);
        let host = self.info(slot).and_then(|i| i.host);
        self.work.most_in_flight = self.work.most_in_flight.max(self.inner.order().in_flight());
        // Whoever takes over after a crash must know every host that was contacted.
        if host.is_none_or(|h| h >= self.outgoing.hosts_sent) {
            let shipped = self.announce_hosts();
            if shipped.is_err() || self.membership.lost {
                self.inner.apply(Turn::new(Settle::Return { id: lease.id }), &|old, _| old)?;
                shipped?;
                return Ok(self.wait(now));
            }
        }
        let id = self.global(lease.id)?;
        let mut revisit = lease.revisit;
        // A page that was fetched by another worker, or an earlier run, is in the database only.
        if revisit.as_ref().is_some_and(|known| known.digest.is_empty())
            && let Some(r) = self.record(id)?
        {
            revisit = Some(Version { etag: r.etag, last_modified: r.last_modified, digest: r.digest });
        }
        Ok(Next::Lease(Lease { id, revisit, ..lease }))
    }
}

impl Frontier for Shared {
    fn lease(&mut self, now: Millis, pick: Pick<'_>) -> Result<Next, Problem> {
        if self.membership.lost || !self.membership.gate.is_open() || self.leaves_it_to_others(now, pick) {
            return Ok(self.wait(now));
        }
        let next = self.inner.lease(now, pick)?;
        self.announced(next, now)
    }

    fn peek(&mut self, now: Millis, lane: Option<u8>, k: usize) -> Vec<Peek> {
        let ids = &self.ids;
        let top = self.inner.peek(now, lane, k).into_iter();
        top.filter_map(|p| Some(Peek { id: ids.global(Slot::of(p.id))?, ..p })).collect()
    }

    fn seed(&mut self, candidate: Candidate, now: Millis) -> Result<bool, Problem> {
        check_candidate(&candidate)?;
        if self.shards.is_here(self.shard_of_url(&candidate.url)) {
            self.make_room(1)?;
            let new = self.inner.seed(candidate, now)?;
            self.number_new()?;
            return Ok(new);
        }
        let known = self.look_up(&candidate.url)?.is_some_and(|e| !e.state.is_unanswered());
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
        self.outgoing.urgent |= turn.host.not_before.is_some();
        self.find_shards(turn.revised.iter().map(|r| r.0))?;

        let most = self.options.limits.links_per_page.map_or(usize::MAX, |n| n as usize);
        let cut = turn.add.len().saturating_sub(most);
        let mut shards = Vec::with_capacity(turn.add.len().min(most));
        let (mut here, mut far) = (Vec::with_capacity(turn.add.len()), Vec::new());
        for c in turn.add.into_iter().take(most) {
            let shard = self.shard_of_url(&c.url);
            let print = c.url.fingerprint(self.spread.key);
            shards.push((shard, print));
            if self.shards.is_here(shard) { here.push(c) } else { far.push(c) }
        }
        let (mut revised, mut far_revised) = (Vec::new(), Vec::new());
        for (id, verdict) in &turn.revised {
            match self.slot(*id) {
                Some(slot) => revised.push((slot.inner(), *verdict)),
                None if self.ids.shard_of(*id).is_some() => {
                    far_revised.push((*id, Revised { verdict: *verdict, assessment: None }));
                }
                None => {}
            }
        }
        let verdict = turn.record.as_ref().map(|r| r.verdict);
        let settles = matches!(turn.settle, Settle::Done { .. });
        let inner = Turn {
            settle: with_id(turn.settle, slot.inner()),
            add: here,
            rescore: Vec::new(),
            revised,
            record: turn.record,
            host: turn.host,
            state: turn.state,
        };
        let all_revised: Vec<bool> = turn.revised.iter().map(|(_, v)| v.relevant).collect();
        // A new version of a page is no further page.
        let earlier = match verdict.is_some() && self.inner.order().is_revisit(slot.inner()) {
            true => self.record(id)?.map(|r| r.verdict.relevant),
            false => None,
        };
        let mut applied = self.inner.apply(inner, merge)?;
        self.number_new()?;
        (0..cut).for_each(|_| applied.refuse(Refusal::LinksPerPage));
        self.outgoing.draft.far_revised.extend(far_revised);
        if !far.is_empty() {
            for c in &far {
                self.send(c);
            }
            applied.sent = far.len() as u32;
            if settles && !applied.stale {
                let order = self.inner.order();
                let child = |(shard, print): &(Shard, Fingerprint)| {
                    if !self.shards.is_here(*shard) {
                        return Some(Child::Far { shard: *shard, print: *print });
                    }
                    order.find(*print).and_then(|s| self.ids.global(Slot::of(s))).map(Child::Known)
                };
                let children = shards.iter().filter_map(child).collect();
                self.outgoing.draft.children.insert(slot, children);
            }
        }
        if let Some(verdict) = verdict.filter(|_| !applied.stale) {
            match earlier {
                Some(relevant) => {
                    self.inner.log_mut().facts.known.insert(slot);
                    self.work.relevant -= i64::from(relevant);
                }
                None => self.work.pages += 1,
            }
            self.work.relevant += i64::from(verdict.relevant);
        }
        for relevant in all_revised {
            self.work.relevant += if relevant { 1 } else { -1 };
        }
        if !turn.rescore.is_empty() {
            self.rescore_all(&turn.rescore)?;
        }
        Ok(applied)
    }

    fn rescore(&mut self, rescored: &[Rescored]) -> Result<(), Problem> {
        if rescored.is_empty() { Ok(()) } else { self.rescore_all(rescored) }
    }

    fn revisit(&mut self, id: UrlId, priority: Priority) -> Result<bool, Problem> {
        let Some(slot) = self.slot(id) else { return Ok(false) };
        let open = self.inner.revisit(slot.inner(), priority)?;
        self.work.idle &= !open;
        Ok(open)
    }

    /// Of a URL whose shard is elsewhere its worker is to be asked.
    fn ask_again(&mut self, id: UrlId) -> Result<bool, Problem> {
        let Some(slot) = self.slot(id) else { return Ok(false) };
        let again = self.inner.ask_again(slot.inner())?;
        self.work.idle &= !again;
        Ok(again)
    }

    fn set_aside(&mut self, id: UrlId) {
        if let Some(slot) = self.slot(id) {
            self.inner.set_aside(slot.inner());
        }
    }

    fn set_limits(&mut self, limits: frontier::Limits) {
        self.options.limits = limits.clone();
        self.inner.set_limits(limits);
    }

    fn set_ties(&mut self, ties: types::Ties) {
        self.inner.set_ties(ties);
    }

    fn commit(&mut self) -> Result<(), Problem> {
        self.commit_if_due()
    }

    fn target(&self, url: &Url) -> Target {
        let print = url.fingerprint(self.spread.key);
        if self.shards.is_here(self.shard_of_url(url)) {
            return self.inner.order().target(print);
        }
        if self.far.sighted.contains(&print.0) { Target::Open } else { Target::New }
    }
}

fn with_id(settle: Settle, id: UrlId) -> Settle {
    match settle {
        Settle::Done { outcome, .. } => Settle::Done { id, outcome },
        Settle::Retry { not_before, .. } => Settle::Retry { id, not_before },
        Settle::Robots { answer, .. } => Settle::Robots { id, answer },
        Settle::Return { .. } => Settle::Return { id },
        Settle::Defer { until, .. } => Settle::Defer { id, until },
        Settle::AsBefore { .. } => Settle::AsBefore { id },
    }
}

impl Records for Shared {
    fn find(&self, url: &Url) -> Result<Option<UrlId>, Problem> {
        let shard = self.shard_of_url(url);
        let print = url.fingerprint(self.spread.key);
        if self.shards.is_here(shard) {
            return self.inner.order().find(print).map(|s| self.global(s)).transpose();
        }
        look::find(&self.db, self.membership.me.crawl, shard, print)
    }

    fn url(&self, id: UrlId) -> Result<Url, Problem> {
        if let Some(slot) = self.slot(id) {
            return self.inner.url(slot.inner());
        }
        let mut cache = self.far.urls.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(url) = cache.get(&id) {
            return Ok(url.clone());
        }
        let url = self.look(id).url()?.ok_or_else(|| self.unknown(id))?;
        if cache.len() >= FAR_URLS {
            cache.clear();
        }
        cache.insert(id, url.clone());
        Ok(url)
    }

    fn urls(&self, ids: &[UrlId]) -> Result<HashMap<UrlId, Url>, Problem> {
        let (here, far): (Vec<UrlId>, Vec<UrlId>) = ids.iter().partition(|id| self.slot(**id).is_some());
        let mut all = HashMap::with_capacity(ids.len());
        for id in here {
            all.insert(id, self.url(id)?);
        }
        look::urls_of(&self.db, self.membership.me.crawl, &far, &mut all)?;
        Ok(all)
    }

    fn entry(&self, id: UrlId) -> Result<Option<Info>, Problem> {
        if let Some(slot) = self.slot(id) {
            return Ok(self.info(slot).map(|i| Info { id, ..i }));
        }
        // Its host has no number here.
        Ok(self.look(id).entry()?.map(|i| Info { host: None, ..i }))
    }

    /// Those of the shards that are here.
    fn entries(&self, which: Which) -> Each<'_, Info> {
        let global = |i: Result<Info, Problem>| i.and_then(|i| Ok(Info { id: self.global(i.id)?, ..i }));
        Box::new(self.inner.entries(which).map(global))
    }

    fn sources(&self, id: UrlId) -> Result<Vec<Source>, Problem> {
        if let Some(slot) = self.sighted_here(id) {
            return self.inner.sources(slot.inner());
        }
        let found = self.look(id).sources()?;
        if found.is_empty() { Err(self.unknown(id)) } else { Ok(found) }
    }

    fn all_sources(&self, ids: &[UrlId]) -> Result<HashMap<UrlId, Vec<Source>>, Problem> {
        let (here, far): (Vec<UrlId>, Vec<UrlId>) =
            ids.iter().partition(|id| self.sighted_here(**id).is_some());
        let mut all = HashMap::with_capacity(ids.len());
        for id in here {
            all.insert(id, self.sources(id)?);
        }
        look::sources_of(&self.db, self.membership.me.crawl, &far, &mut all)?;
        Ok(all)
    }

    fn children(&self, id: UrlId) -> Result<Vec<UrlId>, Problem> {
        look::resolve(&self.db, self.membership.me.crawl, &self.kept_children(id)?)
    }

    /// Those that are here; [`Fleet::rescore_far_siblings`] reaches the others.
    fn siblings(&self, id: UrlId) -> Result<Vec<UrlId>, Problem> {
        let mut out = Vec::new();
        let mut met = HashSet::new();
        for child in self.links_beside(id)? {
            let Some(slot) = self.slot_of(child) else { continue };
            let pending = self.info(slot).is_some_and(|i| i.state == State::Pending);
            let global = self.global(slot.inner())?;
            if pending && global != id && met.insert(global) {
                out.push(global);
            }
        }
        Ok(out)
    }

    fn record(&self, id: UrlId) -> Result<Option<Record>, Problem> {
        let slot = self.slot(id);
        if let Some(slot) = slot
            && let Some(record) = self.inner.record(slot.inner())?
        {
            return Ok(Some(Record { id, ..record }));
        }
        let Some(found) = self.look(id).record()? else { return Ok(None) };
        let newest = slot.and_then(|s| self.uncommitted().find_map(|(facts, _)| facts.revised.get(&s)));
        Ok(Some(match newest {
            Some(newest) => newest.over(found)?,
            None => found,
        }))
    }

    fn records_of(&self, ids: Vec<UrlId>) -> Each<'_, Record> {
        let mut ids = ids.into_iter();
        look::in_pieces(move || {
            let some: Vec<UrlId> = ids.by_ref().take(look::PIECE).collect();
            if some.is_empty() {
                return Ok(None);
            }
            let far: Vec<UrlId> = some.iter().copied().filter(|id| self.slot(*id).is_none()).collect();
            let mut far = look::records_of(&self.db, self.membership.me.crawl, &far)?;
            let mut out = Vec::with_capacity(some.len());
            for id in some {
                let record = match self.slot(id) {
                    Some(_) => self.record(id)?,
                    None => far.remove(&id),
                };
                out.extend(record);
            }
            Ok(Some(out))
        })
    }

    /// What was not committed yet is here, the rest in the database.
    fn versions(&self, id: UrlId) -> Result<Vec<Record>, Problem> {
        let Some(newest) = self.record(id)? else { return Ok(Vec::new()) };
        let mut all = match self.slot(id) {
            Some(slot) => self.inner.versions(slot.inner())?,
            None => Vec::new(),
        };
        all.extend(self.look(id).record()?);
        all.extend(self.look(id).past()?);
        let mut met = HashSet::new();
        all.retain(|version| met.insert((version.fetched, version.digest.clone())));
        let numbered = |record: Record| Record { id, ..record };
        Ok(std::iter::once(newest).chain(all.into_iter().skip(1)).map(numbered).collect())
    }

    fn pages(&self, from: usize) -> Each<'_, (Record, Info)> {
        let rows = self
            .db
            .ask("SELECT id FROM gleaner.page WHERE crawl = $1 ORDER BY seq", &[&self.membership.me.crawl]);
        let committed: Vec<UrlId> = match rows {
            Ok(rows) => rows.iter().map(|r| url_id(r.get(0))).collect(),
            Err(e) => return Box::new(std::iter::once(Err(e))),
        };
        let known: HashSet<UrlId> = committed.iter().copied().collect();
        let fresh: Vec<UrlId> = (self.inner.pages_here().filter_map(|s| self.ids.global(Slot::of(s))))
            .filter(|id| !known.contains(id))
            .collect();
        let all = committed.into_iter().chain(fresh).skip(from);
        let with_entry = |record: Record| Ok(self.entry(record.id)?.map(|info| (record, info)));
        Box::new(self.records_of(all.collect()).filter_map(move |r| r.and_then(with_entry).transpose()))
    }

    fn revised(&self) -> Result<Vec<(UrlId, Verdict)>, Problem> {
        let rows = self.db.ask(
            "SELECT id, relevant, relevance, threshold, version FROM gleaner.page
             WHERE crawl = $1 AND slot = $2 AND revised ORDER BY id",
            &[&self.membership.me.crawl, &self.membership.me.slot],
        )?;
        let mut all: std::collections::BTreeMap<UrlId, Verdict> =
            rows.iter().map(|r| (url_id(r.get(0)), look::verdict_of(r, 1))).collect();
        for (slot, verdict) in self.inner.revised()? {
            all.insert(self.global(slot)?, verdict);
        }
        Ok(all.into_iter().collect())
    }

    fn hosts(&self) -> Result<Vec<HostInfo>, Problem> {
        self.inner.hosts()
    }

    fn find_host(&self, name: &str) -> Result<Option<u32>, Problem> {
        self.inner.find_host(name)
    }

    fn host_name(&self, number: u32) -> Result<Option<String>, Problem> {
        self.inner.host_name(number)
    }

    fn robots(&self, host_key: &str) -> Result<Option<RobotsAnswer>, Problem> {
        self.inner.robots(host_key)
    }

    fn state(&self, key: StateKey) -> Result<Vec<Vec<u8>>, Problem> {
        match key {
            StateKey::Removed => look::removed(&self.db, self.membership.me.crawl),
            _ => self.inner.state(key),
        }
    }

    fn each_state(&self, key: StateKey) -> Each<'_, Vec<u8>> {
        match key {
            StateKey::Removed => look::in_pieces(look::once(self.state(key))),
            _ => self.inner.each_state(key),
        }
    }

    fn stats(&self) -> Result<Stats, Problem> {
        self.inner.stats()
    }

    fn check(&self) -> Result<(), Problem> {
        self.inner.check()
    }
}

impl Journal for Shared {
    fn revise(&mut self, pages: &[Revision]) -> Result<(), Problem> {
        self.find_shards(pages.iter().map(|p| p.id))?;
        let mut here = Vec::new();
        for page in pages {
            match self.slot(page.id) {
                Some(slot) => here.push(Revision { id: slot.inner(), ..page.clone() }),
                None if self.ids.shard_of(page.id).is_some() => {
                    self.outgoing.draft.far_revised.push((page.id, Revised::of(page)?));
                }
                None => return Err(self.unknown(page.id)),
            }
        }
        self.inner.revise(&here)
    }

    fn put_state(&mut self, key: StateKey, change: bool, bytes: &[u8]) -> Result<(), Problem> {
        self.inner.put_state(key, change, bytes)
    }

    fn sync(&mut self) -> Result<(), Problem> {
        // What waits for the bucket is not committed: it goes when it may.
        if self.is_holding() { self.commit_if_due() } else { self.ship() }
    }

    fn close(&mut self) -> Result<(), Problem> {
        self.ship()?;
        if !self.membership.lost {
            let all: Vec<Shard> = self.shards.owned.keys().copied().collect();
            // With a request still out its hosts have to rest: then nothing is given up, it runs out.
            if self.inner.order().in_flight() == 0 {
                self.give_away(&all)?;
            }
            self.return_numbers()?;
        }
        self.membership.end(&self.db)
    }
}

impl Fleet for Shared {
    fn maintain(
        &mut self,
        now: Millis,
        merge: &dyn Fn(Priority, Priority) -> Priority,
    ) -> Result<Option<News>, Problem> {
        self.maintain_membership(now, merge)
    }

    fn gate(&self) -> Gate {
        self.membership.gate.clone()
    }

    fn holds(&self, id: UrlId) -> bool {
        !self.membership.lost && self.slot(id).is_some_and(|s| self.is_open(s))
    }

    fn is_here(&self, id: UrlId) -> bool {
        !self.membership.lost && self.slot(id).is_some()
    }

    fn has_its_share(&self) -> bool {
        self.shards.arriving.is_empty()
            && self.shards.owned.len() + self.peers.workers as usize > self.share()
    }

    fn all_pages(&self) -> Result<Vec<SharedPage>, Problem> {
        let rows = self.db.ask(
            "SELECT id, relevant, relevance, threshold, version, slot = $2,
                    (extract(epoch FROM coalesce(first, stored)) * 1000)::int8
             FROM gleaner.page WHERE crawl = $1 ORDER BY seq",
            &[&self.membership.me.crawl, &self.membership.me.slot],
        )?;
        let page = |r: &tokio_postgres::Row| SharedPage {
            id: url_id(r.get(0)),
            verdict: look::verdict_of(r, 1),
            first: Millis(r.get::<_, i64>(6).max(0) as u64),
            is_own: r.get(5),
        };
        Ok(rows.iter().map(page).collect())
    }

    fn next_number(&self) -> Result<u32, Problem> {
        if let Some(next) = self.ids.next_number() {
            return Ok(next);
        }
        let rows = self
            .db
            .ask("SELECT next_id FROM gleaner.crawl WHERE crawl = $1", &[&self.membership.me.crawl])?;
        Ok(rows.first().map_or(u32::MAX, |r| super::id32(r.get(0))))
    }

    fn others_state(&self, key: StateKey) -> Each<'_, Vec<u8>> {
        let (crawl, me) = (self.membership.me.crawl, self.membership.me.slot);
        let mut after = (-1i32, -1i64);
        look::in_pieces(move || {
            let rows = self.db.ask(
                "SELECT slot, n, bytes FROM gleaner.state
                 WHERE crawl = $1 AND name = $2 AND slot <> $3 AND (slot, n) > ($4, $5)
                 ORDER BY slot, n LIMIT 1000",
                &[&crawl, &key.name(), &me, &after.0, &after.1],
            )?;
            let Some(last) = rows.last() else { return Ok(None) };
            after = (last.get(0), last.get(1));
            Ok(Some(rows.iter().map(|r| r.get(2)).collect()))
        })
    }

    fn rescore_far_siblings(&mut self, of: UrlId, priority: Priority, model: u32) -> Result<(), Problem> {
        for child in self.links_beside(of)? {
            // One that was here when its parent was read and has moved since is known by number only: that is
            // not worth a message.
            if let Child::Far { shard, print } = child
                && self.slot_of(child).is_none()
            {
                self.outgoing.draft.outbox.push((shard, post::rescore(print, priority, model, Some(of))));
            }
        }
        *self.far.beside.get_mut().unwrap_or_else(PoisonError::into_inner) = None;
        Ok(())
    }

    fn publish(&mut self, delta: Vec<u8>) {
        if self.peers.workers > 1 {
            self.outgoing.draft.deltas.push(delta);
        }
    }

    fn take_seed(
        &mut self,
        ticket: Ticket,
        candidate: Option<Candidate>,
        now: Millis,
    ) -> Result<bool, Problem> {
        let Some(at) = self.peers.seeds.iter().position(|asked| *asked == ticket) else {
            return Ok(false);
        };
        self.peers.seeds.swap_remove(at);
        if self.membership.lost || !self.shards.is_here(ticket.shard) {
            // Whoever has the shard takes it.
            return Ok(false);
        }
        candidate.iter().try_for_each(check_candidate)?;
        self.make_room(1)?;
        self.outgoing.draft.consumed.push((ticket.shard, ticket.seq));
        let Some(candidate) = candidate else { return Ok(false) };
        let new = self.inner.seed(candidate, now)?;
        self.number_new()?;
        self.work.idle &= !new;
        Ok(new)
    }

    fn set_budget(&mut self, budget: bool) {
        self.options.budget = budget;
    }

    fn wanted(&mut self) -> Result<Wanted, Problem> {
        self.read_wanted()
    }

    fn obeyed(&mut self, n: u64, done: Option<Done>) {
        self.note_obeyed(n, done);
    }

    fn recount(&mut self, relevant: u64) {
        self.work.relevant = relevant as i64;
        self.outgoing.draft.news = true;
    }

    fn seat(&mut self) -> &mut dyn Seat {
        self
    }
}

impl Storage for Shared {
    fn fleet(&self) -> Option<&dyn Fleet> {
        Some(self)
    }
    fn fleet_mut(&mut self) -> Option<&mut dyn Fleet> {
        Some(self)
    }
}
