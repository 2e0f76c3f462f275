//! Visits known pages again. The frontier gives leases for them as for any other URL, so robots rules, pauses
//! and `Retry-After` hold; what an answer changes is decided here.
//!
//! | answer | what becomes of the page | what the archive gets |
//! |---|---|---|
//! | 304, or the same bytes | stays | a `revisit` record |
//! | other bytes, the same own text | a new version | the answer |
//! | another own text | a new version; judged again, its links are looked at | the answer |
//! | 404, 410, a page that says "not found" | asked once more; then it is called gone | – |
//! | a redirect | moved; the target is fetched | – |
//! | anything else | stays; asked again the next time | – |
//!
//! A visit is not written down before it ends, so a crash costs the visits in flight and nothing else. Which
//! pages a refresh has still to visit is known from the visits since it began (ADR 36).

use crate::analyse::{Analysis, digest, is_soft_404};
use crate::crawl::{Crawl, JudgedPage};
use crate::difference::{Difference, difference, own_lines};
use crate::events::Event;
use crate::failures::Reason;
use crate::labels::Labels;
use crate::links::links;
use crate::measured::{FEATURES, Measured, in_links};
use crate::page::record_of;
use crate::rates::{Kin, Rates};
use crate::roll::Roll;
use crate::state::PageLine;
use crate::stored;
use crate::verdicts::final_verdict;
use crate::visits::{Found, PageVisit, VISITS, last, of_all};
use crate::watch::Rounds;
use fetch::{Class, classify};
use focus::strategies::Visit;
use focus::text::Doc;
use frontier::State;
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet};
use std::sync::PoisonError;
use std::time::{Duration, Instant};
use store::archive::{Digest, Original, PageNote, parse_rfc3339};
use store::{SharedPage, Which};
use types::{
    Assessment, Candidate, Fetched, Lease, LinkKind, Millis, Outcome, PageKind, Priority, Problem, Record,
    Settle, StateKey, Target, Truncation, Turn, UrlId, Verdict,
};

/// State: [`Begun`] as JSON.
const STATE: StateKey = StateKey::Refresh;

/// Key of a sitemap that is read again: in front of all pages.
const SITEMAPS_FIRST: f64 = 1e9;
/// Sitemaps that a refresh reads again.
const MOST_SITEMAPS: usize = 10_000;

/// One that was broken off so long ago is not gone on with: what it visited is not new any more.
const STALE: Duration = Duration::from_secs(7 * 86_400);

/// Which pages are visited again, and how.
#[derive(Clone, Debug)]
pub struct RefreshPlan {
    /// Relevant pages only.
    pub relevant: bool,
    /// Pages of this host only, and of hosts below it.
    pub host: Option<String>,
    /// Pages that were not visited for this long.
    pub older_than: Option<Duration>,
    /// At most so many: the relevant ones that have most likely changed.
    pub pages: Option<usize>,
    /// So many new pages may be fetched beside.
    pub new_pages: u64,
    /// A page that is not there is asked for once more after this long.
    pub confirm: Duration,
    /// Also pages that were gone, or had moved.
    pub gone: bool,
    /// A refresh that was broken off is not gone on with.
    pub anew: bool,
}

/// A refresh that has not ended: pages visited since then are done.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Begun {
    at: Millis,
}

/// What a refresh has come to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Refreshed {
    /// Pages to visit, when it began.
    pub planned: u64,
    /// It goes on with one that was broken off at this time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub goes_on: Option<Millis>,
    /// Pages visited.
    pub visited: u64,
    /// … that the server calls not modified.
    pub not_modified: u64,
    /// … with the same bytes.
    pub same_payload: u64,
    /// … with other bytes and the same text.
    pub same_text: u64,
    /// … whose own text is another.
    pub changed: u64,
    /// … that are gone.
    pub gone: u64,
    /// … that moved.
    pub moved: u64,
    /// … that gave no answer.
    pub no_answer: u64,
    /// … that may not be asked for any more.
    pub denied: u64,
    /// Pages that were not asked for, because their sitemap says that they are as they were.
    #[serde(skip_serializing_if = "is_none")]
    pub spared: u64,
    /// Links to URLs that were not known.
    pub new_links: u64,
    /// Of a shared crawl: pages on hosts that other workers have. They are theirs to visit.
    #[serde(skip_serializing_if = "is_none")]
    pub elsewhere: u64,
}

#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_none(n: &u64) -> bool {
    *n == 0
}

impl Refreshed {
    /// Visits that found the page as it was.
    pub fn unchanged(&self) -> u64 {
        self.not_modified + self.same_payload + self.same_text
    }

    pub(crate) fn count(&mut self, found: Found) {
        self.visited += 1;
        *match found {
            Found::NotModified => &mut self.not_modified,
            Found::SamePayload => &mut self.same_payload,
            Found::SameText => &mut self.same_text,
            Found::Changed => &mut self.changed,
            Found::Gone => &mut self.gone,
            Found::Moved => &mut self.moved,
            Found::NoAnswer => &mut self.no_answer,
            Found::Denied => &mut self.denied,
        } += 1;
    }
}

/// A refresh that is under way.
pub(crate) struct Refresh {
    /// What has still to be visited, and where pages moved to.
    pub due: HashSet<UrlId>,
    /// Pages that were not there when they were asked for.
    missing: HashSet<UrlId>,
    /// Pages that have not changed since they were visited, as their sitemap says.
    unchanged: HashSet<UrlId>,
    confirm: Duration,
    /// Where pages are on the roll.
    at: HashMap<UrlId, usize>,
    /// Of a shared crawl: pages that other workers fetched. Is it a relevant one?
    others: HashMap<UrlId, bool>,
    pub done: Refreshed,
    /// It is a round of a watch.
    pub rounds: Option<Rounds>,
}

impl Refresh {
    /// Nothing is due yet.
    pub fn of_round(
        rounds: Rounds,
        visits: Refreshed,
        confirm: Duration,
        at: HashMap<UrlId, usize>,
        pages: &[KnownPage],
    ) -> Refresh {
        let done = Refreshed { planned: visits.visited, ..visits };
        Refresh {
            due: HashSet::new(),
            missing: HashSet::new(),
            unchanged: HashSet::new(),
            confirm,
            at,
            others: others_of(pages),
            done,
            rounds: Some(rounds),
        }
    }
}

/// A page that may be visited again.
#[derive(Clone, Copy)]
pub(crate) struct KnownPage {
    pub id: UrlId,
    /// It is one of the wanted pages.
    pub wanted: bool,
    /// It is a copy of another.
    pub is_copy: bool,
    pub score: f64,
    /// When it came, if that is known without its record.
    pub first: Option<Millis>,
    /// Another worker of a shared crawl fetched it.
    is_of_other: bool,
}

fn others_of(pages: &[KnownPage]) -> HashMap<UrlId, bool> {
    pages.iter().filter(|page| page.is_of_other).map(|page| (page.id, page.wanted)).collect()
}

/// A worker that has just joined waits at most so long until the others have handed over its share of hosts.
const SHARE_PATIENCE: Duration = Duration::from_secs(20);

/// What a visit found, on its way into the ledger.
pub(crate) struct Ending {
    found: Found,
    difference: Difference,
    /// As [`PageVisit::text`], unless it is a difference.
    note: String,
    /// Of a new version, its title.
    title: String,
}

impl Ending {
    pub fn new(found: Found) -> Ending {
        Ending { found, difference: Difference::default(), note: String::new(), title: String::new() }
    }
    pub fn because(found: Found, note: impl Into<String>) -> Ending {
        Ending { note: note.into(), ..Ending::new(found) }
    }
}

impl Crawl {
    /// Opens the pages of a plan for another visit. Limits of the crawl itself do not count for a refresh.
    pub fn begin_refresh(&mut self, plan: &RefreshPlan, now: Millis) -> Result<Refreshed, Problem> {
        self.have_share(now)?;
        let ledger = &self.parts.ledger;
        let broken_off = ledger.state(STATE)?.pop().and_then(|b| serde_json::from_slice::<Begun>(&b).ok());
        let goes_on = broken_off.filter(|b| !plan.anew && Millis::now().since(b.at) < STALE);
        let begun = goes_on.unwrap_or(Begun { at: Millis::now() });
        let pages = self.known_pages()?;
        let (wanted, elsewhere) = self.to_visit(plan, begun, &pages)?;
        let mut due = HashSet::with_capacity(wanted.len());
        for (key, id) in wanted {
            if self.parts.ledger.revisit(id, Priority::new(Priority::REVISIT, key))? {
                due.insert(id);
            }
        }
        let planned = due.len() as u64;
        let done = Refreshed { planned, elsewhere, goes_on: goes_on.map(|b| b.at), ..Refreshed::default() };
        let rules = &mut self.parts.rules;
        rules.pages = Some(self.counts.pages + plan.new_pages);
        (rules.relevant, rules.requests) = (None, None);
        let at = self.judging.roll.judged.iter().enumerate().map(|(i, j)| (j.id, i)).collect();
        let (missing, unchanged, confirm) = (HashSet::new(), HashSet::new(), plan.confirm);
        self.open_sitemaps(&due)?;
        let (so_far, rounds) = (done.clone(), None);
        let others = others_of(&pages);
        let begun_with = Refresh { due, missing, unchanged, confirm, at, others, done: so_far, rounds };
        self.refresh = Some(Box::new(begun_with));
        self.put_begun(Some(begun))?;
        self.parts.ledger.commit()?;
        self.pace.started = Some(now);
        Ok(done)
    }

    /// Of a shared crawl: waits until this worker has its share of the hosts, and learns what the menus of
    /// hosts are whose pages others fetched.
    pub(crate) fn have_share(&mut self, now: Millis) -> Result<(), Problem> {
        let Some(fleet) = self.parts.ledger.fleet_mut() else { return Ok(()) };
        // Known pages are nobody else's to visit.
        fleet.set_budget(false);
        let began = Instant::now();
        loop {
            self.maintain_membership(now.plus(began.elapsed()))?;
            let has = self.parts.ledger.fleet().is_none_or(|fleet| fleet.has_its_share());
            if has || began.elapsed() >= SHARE_PATIENCE {
                break;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        let Some(fleet) = self.parts.ledger.fleet() else { return Ok(()) };
        for entry in fleet.others_state(FEATURES) {
            if let Some(page) = Measured::decode(&entry?) {
                self.judging.measurer.restore(&page);
            }
        }
        Ok(())
    }

    /// Every page of the collection, as far as one knows here what is thought of it.
    pub(crate) fn known_pages(&self) -> Result<Vec<KnownPage>, Problem> {
        let ledger = self.parts.ledger.as_ref();
        let all = ledger.fleet().map(|fleet| fleet.all_pages()).transpose()?.unwrap_or_default();
        let shared: HashMap<UrlId, SharedPage> = all.iter().map(|page| (page.id, *page)).collect();
        let is_theirs = |id: &UrlId| shared.get(id).is_some_and(|page| !page.is_own);
        let own = self.judging.roll.judged.iter().filter(|j| !is_theirs(&j.id));
        let mut pages: Vec<KnownPage> = own
            .map(|j| KnownPage {
                id: j.id,
                wanted: j.wanted(),
                is_copy: j.copy_of.is_some(),
                score: j.score,
                first: shared.get(&j.id).map(|page| page.first),
                is_of_other: false,
            })
            .collect();
        let labels = if all.is_empty() { Labels::default() } else { Labels::read(ledger)? };
        pages.extend(all.into_iter().filter(|page| !page.is_own).map(|page| KnownPage {
            id: page.id,
            wanted: labels.decides(page.id).unwrap_or(page.verdict.relevant),
            is_copy: false,
            score: page.verdict.relevance,
            first: Some(page.first),
            is_of_other: true,
        }));
        Ok(pages)
    }

    /// Is this page's host this worker's?
    pub(crate) fn is_here(&self, id: UrlId) -> bool {
        self.parts.ledger.fleet().is_none_or(|fleet| fleet.is_here(id))
    }

    /// The pages of a plan, what is to be visited first in front; and how many of them are elsewhere.
    fn to_visit(
        &self,
        plan: &RefreshPlan,
        begun: Begun,
        pages: &[KnownPage],
    ) -> Result<(Vec<(f64, UrlId)>, u64), Problem> {
        let ledger = self.parts.ledger.as_ref();
        let visited = last(ledger)?;
        // Where not all can be visited, what has most likely changed goes first.
        let rates = if plan.pages.is_some() { Some(self.change_rates(pages)?) } else { None };
        let now = Millis::now();
        let (mut wanted, mut elsewhere): (Vec<(f64, UrlId)>, u64) = (Vec::new(), 0);
        for j in pages {
            let before = visited.get(&j.id);
            let is_left = |found: &Found| !plan.gone && matches!(found, Found::Gone | Found::Moved);
            if (plan.relevant && !j.wanted)
                || before.is_some_and(|(when, found)| *when >= begun.at || is_left(found))
            {
                continue;
            }
            if !self.is_here(j.id) {
                elsewhere += 1;
                continue;
            }
            let url = match plan.host.is_some() || rates.is_some() {
                true => ledger.url(j.id)?.to_string(),
                false => String::new(),
            };
            if plan.host.as_ref().is_some_and(|host| !is_of_host(url.split('/').nth(2).unwrap_or(""), host)) {
                continue;
            }
            let mut age = Duration::ZERO;
            if plan.older_than.is_some() || rates.is_some() {
                let first = || match j.first {
                    Some(first) => Ok::<_, Problem>(first),
                    None => Ok(ledger.record(j.id)?.map_or(Millis(0), |r| r.fetched)),
                };
                age = now.since(before.map_or_else(first, |(when, _)| Ok(*when))?);
            }
            if plan.older_than.is_some_and(|most| age < most) {
                continue;
            }
            let key = match &rates {
                Some(rates) => worth(j) * rates.has_changed(j.id, &Kin::of(&url, j.wanted), age),
                None => f64::from(u8::from(j.wanted)) + j.score,
            };
            wanted.push((key, j.id));
        }
        wanted.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        wanted.truncate(plan.pages.unwrap_or(usize::MAX));
        Ok((wanted, elsewhere))
    }

    /// How often pages change, from all visits so far.
    fn change_rates(&self, pages: &[KnownPage]) -> Result<Rates, Problem> {
        let ledger = self.parts.ledger.as_ref();
        let known: HashMap<UrlId, &KnownPage> = pages.iter().map(|page| (page.id, page)).collect();
        let (mut rates, mut before) = (Rates::default(), HashMap::new());
        for visit in of_all(ledger) {
            let visit = visit?;
            let earlier = match before.insert(visit.id, visit.at) {
                Some(earlier) => earlier,
                None => match known.get(&visit.id).and_then(|page| page.first) {
                    Some(first) => first,
                    None => ledger.versions(visit.id)?.last().map_or(visit.at, |first| first.fetched),
                },
            };
            let is_wanted = known.get(&visit.id).is_some_and(|page| page.wanted);
            let kin = Kin::of(ledger.url(visit.id)?.as_str(), is_wanted);
            rates.visited(visit.id, &kin, visit.at.since(earlier), visit.found);
        }
        Ok(rates)
    }

    /// How far the refresh has come, if this is one.
    pub fn refreshed(&self) -> Option<&Refreshed> {
        self.refresh.as_ref().map(|r| &r.done)
    }

    fn put_begun(&mut self, begun: Option<Begun>) -> Result<(), Problem> {
        let bytes = begun.and_then(|b| serde_json::to_vec(&b).ok()).unwrap_or_default();
        self.parts.ledger.put_state(STATE, false, &bytes)
    }

    /// Is everything visited that was to be? What a host took along when it was given up is not waited for.
    pub(crate) fn is_refreshed(&mut self) -> Result<bool, Problem> {
        let Some(refresh) = &mut self.refresh else { return Ok(false) };
        if !self.pace.in_flight.is_empty() {
            return Ok(false);
        }
        while let Some(id) = refresh.due.iter().next().copied() {
            let entry = self.parts.ledger.entry(id)?;
            if entry.is_some_and(|e| !matches!(e.state, frontier::State::Settled(_))) {
                return Ok(false);
            }
            refresh.due.remove(&id);
            // It was handed over with its host.
            let is_elsewhere = self.parts.ledger.fleet().is_some_and(|fleet| !fleet.is_here(id));
            refresh.done.elsewhere += u64::from(is_elsewhere);
        }
        if refresh.rounds.is_none() {
            self.put_begun(None)?;
        }
        Ok(true)
    }

    /// A page was asked for again and this is the answer.
    pub(crate) fn revisited(
        &mut self,
        lease: Lease,
        fetched: Fetched,
        analysis: Option<Analysis>,
        now: Millis,
    ) -> Result<(), Problem> {
        let class = classify(&fetched);
        let mut turn = Turn::new(Settle::AsBefore { id: lease.id });
        turn.host = self.host_update(&fetched, class, now);
        let Some(record) = self.parts.ledger.record(lease.id)? else {
            // There is nothing to compare with: a sitemap or feed, or its record is gone.
            if lease.priority.key() != SITEMAPS_FIRST {
                return self.list_again(lease, fetched, analysis, turn, now);
            }
            if class == Class::Page {
                self.read_dates(&fetched)?;
            }
            self.apply(turn)?;
            return Ok(());
        };
        let same = || Digest(digest(&fetched)).hex() == record.digest;
        match (class, analysis) {
            (Class::NotModified, _) => {
                self.unchanged(&lease, &fetched, &record, turn, Found::NotModified, now)
            }
            (Class::Page, _) if same() => {
                self.unchanged(&lease, &fetched, &record, turn, Found::SamePayload, now)
            }
            (Class::Page, _) if broke_off(&fetched) && record.truncated.is_none() => {
                let ending = Ending::because(Found::NoAnswer, "the answer broke off");
                self.end_visit(&lease, &fetched, turn, ending, now)
            }
            (Class::Page, Some(analysis)) if !is_page(&analysis) => {
                let ending = Ending::because(Found::NoAnswer, "it is a list of links by now");
                self.end_visit(&lease, &fetched, turn, ending, now)
            }
            (Class::Page, Some(analysis)) if is_soft_404(&analysis.doc) && !was_soft_404(&record) => {
                self.missed(&lease, &fetched, turn, now)
            }
            (Class::Page, Some(analysis)) => self.new_version(lease, fetched, &record, analysis, turn, now),
            (Class::Redirect, _) => self.moved(&lease, &fetched, turn, now),
            (Class::Error(404 | 410), _) => self.missed(&lease, &fetched, turn, now),
            (Class::Retry { after, host }, _) => {
                if host {
                    turn.host.not_before = after.map(|wait| now.plus(wait));
                }
                let reason = Reason::of(&fetched);
                if lease.attempt + 1 < self.parts.rules.attempts {
                    let seed = self.parts.rules.rng ^ u64::from(lease.id.0);
                    let wait = after.unwrap_or_else(|| fetch::retry::backoff(u32::from(lease.attempt), seed));
                    turn.settle = Settle::Retry { id: lease.id, not_before: now.plus(wait) };
                    self.apply(turn)?;
                    return self.miss(&lease, reason, None, now);
                }
                let ending = Ending::because(Found::NoAnswer, reason_text(&reason));
                self.end_visit(&lease, &fetched, turn, ending, now)
            }
            _ => {
                let ending = Ending::because(Found::NoAnswer, reason_text(&Reason::of(&fetched)));
                self.end_visit(&lease, &fetched, turn, ending, now)
            }
        }
    }

    /// Opens the sitemaps of these pages' hosts, to be read before the pages are visited.
    fn open_sitemaps(&mut self, due: &HashSet<UrlId>) -> Result<(), Problem> {
        let rules = &self.parts.rules;
        if !(rules.use_sitemaps || rules.listed_only) {
            return Ok(());
        }
        let ledger = self.parts.ledger.as_ref();
        let mut hosts = HashSet::new();
        for id in due {
            hosts.extend(ledger.entry(*id)?.and_then(|e| e.host));
        }
        let mut found = Vec::new();
        for entry in ledger.entries(Which::All) {
            let entry = entry?;
            let read = entry.state == State::Settled(Outcome::Fetched) && entry.hops > 0;
            if read && entry.host.is_some_and(|h| hosts.contains(&h)) && ledger.record(entry.id)?.is_none() {
                let sources = ledger.sources(entry.id)?;
                found.extend(sources.iter().any(|s| s.kind == LinkKind::Sitemap).then_some(entry.id));
            }
        }
        for id in found.into_iter().take(MOST_SITEMAPS) {
            self.parts.ledger.revisit(id, Priority::new(Priority::REVISIT, SITEMAPS_FIRST))?;
        }
        Ok(())
    }

    /// A sitemap says when pages changed: what was visited since then need not be asked for.
    fn read_dates(&mut self, fetched: &Fetched) -> Result<(), Problem> {
        let (content_type, body) = fetched.readable();
        let dates = extract::sitemap_dates(&fetched.url, content_type, body);
        let visited = last(self.parts.ledger.as_ref())?;
        for (address, date) in dates {
            let Ok(url) = self.parts.canon.join(&fetched.url, &address) else { continue };
            // It speaks of its own site only.
            let Some(changed) = end_of(&date).filter(|_| url.domain() == fetched.url.domain()) else {
                continue;
            };
            let Some(entry) = self.parts.ledger.look_up(&url)? else { continue };
            let seen = match visited.get(&entry.id) {
                Some((at, found)) => found.is_there().then_some(*at),
                None => self.parts.ledger.record(entry.id)?.map(|r| r.fetched),
            };
            if let Some(refresh) = &mut self.refresh
                && refresh.due.contains(&entry.id)
                && seen.is_some_and(|seen| changed <= seen)
            {
                refresh.unchanged.insert(entry.id);
            }
        }
        Ok(())
    }

    /// A page that is as it was, as its sitemap says: it is not asked for. That is no visit.
    pub(crate) fn spared(&mut self, lease: &Lease, now: Millis) -> Result<bool, Problem> {
        let Some(refresh) = &mut self.refresh else { return Ok(false) };
        if !refresh.unchanged.remove(&lease.id) {
            return Ok(false);
        }
        refresh.due.remove(&lease.id);
        refresh.done.spared += 1;
        let mut turn = Turn::new(Settle::AsBefore { id: lease.id });
        turn.host.finished = now;
        self.apply(turn)?;
        self.tick(now);
        Ok(true)
    }

    /// A visit that is not made: the page may not be asked for, or its host is given up.
    pub(crate) fn visit_refused(
        &mut self,
        lease: &Lease,
        outcome: Outcome,
        kind: &str,
        now: Millis,
    ) -> Result<(), Problem> {
        let mut turn = Turn::new(Settle::AsBefore { id: lease.id });
        turn.host.finished = now;
        let found = if outcome == Outcome::Unreachable { Found::NoAnswer } else { Found::Denied };
        let ending = Ending::because(found, kind);
        self.end_visit(lease, &Fetched::empty(lease.url.clone(), Millis::now()), turn, ending, now)
    }

    fn unchanged(
        &mut self,
        lease: &Lease,
        fetched: &Fetched,
        record: &Record,
        turn: Turn,
        found: Found,
        now: Millis,
    ) -> Result<(), Problem> {
        if record.archive.is_some() {
            let original = self.original_of(record)?;
            let note = PageNote {
                depth: record.depth,
                kind: record.kind,
                duplicate_of: Some(Original { url: &original.0, fetched: original.1 }),
                digest: Digest::from_hex(&record.digest),
                ..PageNote::default()
            };
            if let Some(archive) = &mut self.parts.archive {
                archive.write(fetched, &note)?;
            }
        }
        self.end_visit(lease, fetched, turn, Ending::new(found), now)
    }

    /// Address and time of the record in the archive that has the payload.
    fn original_of(&self, record: &Record) -> Result<(String, Millis), Problem> {
        let mut versions = match record.duplicate_of {
            Some(id) => self.parts.ledger.versions(id)?,
            None => Vec::new(),
        };
        versions.retain(|v| v.digest == record.digest && v.archive.is_some());
        let original = versions.pop();
        Ok(original.map_or_else(|| (record.url.clone(), record.fetched), |r| (r.url, r.fetched)))
    }

    /// It is not there: once may be a mistake of the server's, twice it is gone.
    pub(crate) fn missed(
        &mut self,
        lease: &Lease,
        fetched: &Fetched,
        mut turn: Turn,
        now: Millis,
    ) -> Result<(), Problem> {
        let refresh = self.refresh.as_mut();
        let (first, confirm) =
            refresh.map_or((false, Duration::ZERO), |r| (r.missing.insert(lease.id), r.confirm));
        if first {
            turn.settle = Settle::Defer { id: lease.id, until: now.plus(confirm) };
            self.apply(turn)?;
            return Ok(());
        }
        self.end_visit(lease, fetched, turn, Ending::new(Found::Gone), now)
    }

    fn moved(
        &mut self,
        lease: &Lease,
        fetched: &Fetched,
        mut turn: Turn,
        now: Millis,
    ) -> Result<(), Problem> {
        let target = fetched.location.as_deref().and_then(|l| self.parts.canon.join(&lease.url, l).ok());
        let Some(target) = target.filter(|t| *t != lease.url && lease.hops < self.parts.rules.redirects)
        else {
            let ending = Ending::because(Found::NoAnswer, "a redirect that leads nowhere");
            return self.end_visit(lease, fetched, turn, ending, now);
        };
        if self.parts.scope.check(&target).is_ok() && !self.is_blocked(&target) {
            let candidate = self.inherit(lease, target.clone(), LinkKind::Redirect);
            turn.add.push(Candidate { priority: lease.priority, ..candidate });
        }
        let ending = Ending::because(Found::Moved, target.as_str());
        self.end_visit(lease, fetched, turn, ending, now)?;
        // Where it moved to belongs to this refresh, if it is new.
        let new = self.parts.ledger.look_up(&target)?.filter(|e| e.state == frontier::State::Pending);
        if let (Some(refresh), Some(entry)) = (&mut self.refresh, new) {
            refresh.due.insert(entry.id);
        }
        Ok(())
    }

    /// Other bytes than before: the page is read, judged and kept anew.
    fn new_version(
        &mut self,
        lease: Lease,
        fetched: Fetched,
        old: &Record,
        analysis: Analysis,
        mut turn: Turn,
        now: Millis,
    ) -> Result<(), Problem> {
        let Analysis { doc, assessment, digest } = analysis;
        let before = self.old_version(old)?;
        match &before {
            Some(before) => self.judging.measurer.leave_out_of_versions(&lease.url, before, &doc),
            None => self.judging.measurer.leave_out(&lease.url, &doc),
        }
        let changed = difference(&before.as_ref().map(own_lines).unwrap_or_default(), &own_lines(&doc));
        let found = if changed.is_some() { Found::Changed } else { Found::SameText };
        let sources = self.sources(&lease)?;
        doc.linked_from(in_links(&sources, |id| self.judging.roll.features_of(id)));
        let (mut judged, measured, assessment, verdict) = self.judge_again(&lease, &doc, assessment);
        turn.settle = Settle::Done { id: lease.id, outcome: Outcome::Fetched };
        turn.add = self.links_again(&lease, &doc, &assessment, verdict);
        let mut record = record_of(&lease, &fetched, &doc, &assessment, verdict, digest);
        (record.parent, record.kind, record.depth) = (old.parent, old.kind, old.depth);
        if changed.is_some() {
            // What it was a copy of says something else.
            judged.copy_of = None;
        } else {
            record.near_duplicate_of = old.near_duplicate_of.or(old.duplicate_of);
        }
        let noarchive = doc.page.robots.noarchive;
        record.archive = self.archive(&fetched, &record, noarchive)?;
        if let Some(index) = &mut self.parts.index {
            match record.noindex {
                true => index.remove(record.id)?,
                false => index.add(&record)?,
            }
        }
        let (difference, title) = (changed.unwrap_or_default(), record.title.clone());
        turn.record = Some(record);
        self.replace_page(&mut turn, judged, measured, digest, &assessment);
        let ending = Ending { difference, title, ..Ending::new(found) };
        self.end_visit(&lease, &fetched, turn, ending, now)
    }

    /// The page as it was: from the archive, or else from the text that was kept.
    fn old_version(&self, old: &Record) -> Result<Option<Doc>, Problem> {
        let Some(steering) = &self.steer.collection else { return Ok(None) };
        let fetched = stored::answer(&steering.archive, self.parts.ledger.as_ref(), old)?.fetched;
        Ok(steering.analyst.read(&fetched).map(|(doc, _)| doc))
    }

    /// The links of a page that was read again. The strategy scores them; it has learnt from the page before.
    fn links_again(
        &mut self,
        lease: &Lease,
        doc: &Doc,
        assessment: &Assessment,
        verdict: Verdict,
    ) -> Vec<Candidate> {
        if assessment.excluded.is_some()
            || verdict.relevance < self.parts.rules.expand_min
            || (self.parts.rules.obey_nofollow && doc.page.robots.nofollow)
        {
            return Vec::new();
        }
        let targets: Vec<Target> = doc.page.links.iter().map(|l| self.parts.ledger.target(&l.url)).collect();
        let visit = Visit {
            id: lease.id,
            url: &lease.url,
            kind: lease.kind,
            doc,
            assessment,
            verdict,
            parent: lease.parent,
            depth: lease.depth,
            site_depth: lease.site_depth,
            priority: lease.priority,
            evidence: &lease.evidence,
            sources: &[],
            targets: &targets,
            n: self.counts.pages,
            worthless: false,
        };
        let mut found = links(&mut self.parts, &mut self.counts, &visit, lease);
        self.rule_links(&mut found);
        found
    }

    /// What the judge makes of a page that it has seen before: it is not shown to it twice.
    fn judge_again(
        &mut self,
        lease: &Lease,
        doc: &Doc,
        assessment: Option<Assessment>,
    ) -> (JudgedPage, Option<Measured>, Assessment, Verdict) {
        let judge = self.parts.judge.read().unwrap_or_else(PoisonError::into_inner);
        let (mut assessment, measured) = match assessment {
            Some(assessment) if !judge.needs().own_text => (assessment, None),
            _ if judge.needs().own_text => {
                let (a, m) = self.judging.measurer.measure_again(judge.as_ref(), lease.id, &lease.url, doc);
                (a, Some(m))
            }
            _ => (judge.assess(doc), None),
        };
        self.judging.roll.shelve(&mut assessment);
        let at = self.refresh.as_ref().and_then(|r| r.at.get(&lease.id));
        let before = at.and_then(|i| self.judging.roll.judged.get(*i));
        // Of a page that another fetched only what was said of it is known.
        let lesson = self.judging.roll.lessons.get(&lease.id).map(|(_, label)| *label);
        let barred = assessment.excluded.is_some() || !self.parts.scope.speaks(&doc.page.language);
        let turned = before.is_some_and(|j| j.turned);
        let verdict = final_verdict(judge.decide(&assessment), barred, turned);
        if measured.is_some() {
            assessment.score = verdict.relevance;
        }
        let judged = JudgedPage {
            id: lease.id,
            score: assessment.score,
            barred,
            turned,
            relevant: verdict.relevant,
            label: before.map_or(lesson, |j| j.label),
            copy_of: before.and_then(|j| j.copy_of),
            simhash: doc.page.simhash,
        };
        (judged, measured, assessment, verdict)
    }

    /// The page takes the place of its earlier version.
    fn replace_page(
        &mut self,
        turn: &mut Turn,
        judged: JudgedPage,
        measured: Option<Measured>,
        digest: [u8; 20],
        assessment: &Assessment,
    ) {
        let at = self.refresh.as_ref().and_then(|r| r.at.get(&judged.id)).copied();
        if let Some(at) = at {
            let judge = self.parts.judge.read().unwrap_or_else(PoisonError::into_inner);
            let roll = &mut self.judging.roll;
            let counted = |roll: &Roll| roll.judged.get(at).is_some_and(|j| roll.is_counted(j));
            let before = counted(roll);
            roll.replace(at, judge.as_ref(), judged, assessment);
            let after = counted(roll);
            self.counts.relevant = self.counts.relevant.saturating_sub(u64::from(before)) + u64::from(after);
        } else {
            self.take_in_page(judged, assessment);
        }
        let adopted = self.judging.roll.adopted.contains(&judged.id);
        turn.state.push((
            StateKey::Pages,
            true,
            PageLine { adopted, ..PageLine::of(judged, digest) }.write(),
        ));
        turn.state.extend(measured.map(|m| (FEATURES, true, m.encode())));
    }

    /// Another worker fetched the page; its new version is this one's.
    fn take_in_page(&mut self, judged: JudgedPage, assessment: &Assessment) {
        let mut judge = self.parts.judge.write().unwrap_or_else(PoisonError::into_inner);
        // Should it change the judge's mind, the next page that comes tells.
        judge.observe(assessment, judged.label);
        let roll = &mut self.judging.roll;
        let at = roll.judged.len();
        roll.push(judge.as_ref(), judged, assessment);
        roll.adopted.insert(judged.id);
        roll.lessons.remove(&judged.id);
        drop(judge);
        self.counts.pages += 1;
        self.counts.relevant += u64::from(self.judging.roll.is_counted(&judged));
        if let Some(most) = &mut self.parts.rules.pages {
            // It is no new page.
            *most += 1;
        }
        if let Some(refresh) = &mut self.refresh {
            refresh.at.insert(judged.id, at);
        }
    }

    /// The visit is over: it is written down with all that it changed.
    pub(crate) fn end_visit(
        &mut self,
        lease: &Lease,
        fetched: &Fetched,
        mut turn: Turn,
        ending: Ending,
        now: Millis,
    ) -> Result<(), Problem> {
        let at = self.refresh.as_ref().and_then(|r| r.at.get(&lease.id)).copied();
        let own = at.and_then(|i| self.judging.roll.judged.get(i)).map(JudgedPage::wanted);
        let of_other = || self.refresh.as_ref().and_then(|r| r.others.get(&lease.id)).copied();
        let relevant = own.or_else(of_other).unwrap_or(false);
        let Ending { found, difference, note, title } = ending;
        let visit = PageVisit {
            id: lease.id,
            at: fetched.started,
            found,
            status: fetched.status,
            added: difference.added,
            removed: difference.removed,
            text: if found == Found::Changed { difference.text } else { note.clone() },
        };
        turn.state.push((VISITS, true, visit.encode()));
        let applied = self.apply(turn)?;
        self.count_applied(&applied);
        self.tick(now);
        let mut left = 0;
        if let Some(refresh) = &mut self.refresh {
            refresh.due.remove(&lease.id);
            refresh.done.count(found);
            if let Some(rounds) = &mut refresh.rounds {
                rounds.seen(lease.id, found);
            }
            refresh.done.new_links += u64::from(applied.admitted);
            left = refresh.due.len() as u64;
        }
        if found == Found::NoAnswer {
            let kind =
                note.split_whitespace().next().unwrap_or("no-answer").trim_end_matches(':').to_string();
            self.counts.error(&kind);
        }
        if let Some(index) = &mut self.parts.index
            && index.commit_if_due(now)?
        {
            self.note_indexed()?;
        }
        self.emit(Event::Visit {
            id: lease.id,
            url: lease.url.to_string(),
            title,
            found,
            status: visit.status,
            relevant,
            added: visit.added,
            removed: visit.removed,
            note,
            new_links: applied.admitted as usize,
            left,
            at: now,
        });
        Ok(())
    }
}

/// What it is worth to know that a page has changed.
fn worth(page: &KnownPage) -> f64 {
    let kind = if page.wanted { 1.0 } else { 0.1 };
    kind * (0.5 + page.score.clamp(0.0, 1.0) / 2.0)
}

/// Less came than there is, and not because of a limit on its size.
fn broke_off(fetched: &Fetched) -> bool {
    fetched.truncated.is_some_and(|why| why != Truncation::Length)
}

/// The end of the moment, or of the day, that a sitemap names.
fn end_of(date: &str) -> Option<Millis> {
    const DAY: Duration = Duration::from_secs(86_400);
    let at = parse_rfc3339(date)?;
    Some(if date.len() == 10 { at.plus(DAY) } else { at.plus(Duration::from_secs(1)) })
}

/// Not a sitemap or feed by now.
fn is_page(analysis: &Analysis) -> bool {
    !matches!(analysis.doc.page.kind, PageKind::Sitemap | PageKind::Feed)
}

/// Did the page say "not found" when it came first?
fn was_soft_404(record: &Record) -> bool {
    is_soft_404(&Doc::new(stored::kept_page(record), &focus::text::TextOptions::default()))
}

pub(crate) fn reason_text(reason: &Reason) -> String {
    match reason.why.as_str() {
        "" => reason.kind.clone(),
        why => format!("{}: {why}", reason.kind),
    }
}

/// A host key is this host, one below it, or the same with a port.
pub(crate) fn is_of_host(host_key: &str, name: &str) -> bool {
    let name = name.to_lowercase();
    let is_meant =
        |host: &str| host == name || host.strip_suffix(&name).is_some_and(|rest| rest.ends_with('.'));
    is_meant(host_key) || host_key.rsplit_once(':').is_some_and(|(bare, _)| is_meant(bare))
}
