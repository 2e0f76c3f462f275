//! A collection that is watched: rounds of visits to known pages and of discovery, out of one budget. What a
//! round does is decided by [`crate::policy`]; how a page is visited again is `refresh.rs`.
//!
//! Between two rounds nothing is kept but the ledger: state `watch` says which round runs or when the next
//! one is due, state `finds` which new pages came from visits to which known ones, state `visits` the rest. A
//! round that was broken off goes on with what is left of its budget (ADR 49).

use crate::crawl::{Crawl, JudgedPage};
use crate::policy::{Known, Policy, Unknown};
use crate::rates::Kin;
use crate::refresh::{KnownPage, Refresh, Refreshed};
use crate::roll::Roll;
use crate::rules::Stop;
use crate::visits::{Found, of_all};
use frontier::State;
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet};
use std::time::Duration;
use store::{Each, Records, Which};
use types::{Lease, Millis, Outcome, Priority, Problem, StateKey, Turn, UrlId};

/// The harvest of late is that of so many pages.
const OF_LATE: usize = 100;
/// A round divides what is left of its budget at most so often.
const DIVISIONS: u32 = 24;
/// A round that was broken off so long ago is over.
const STALE: Duration = Duration::from_secs(7 * 86_400);

/// What a watch is asked to do.
#[derive(Clone, Debug)]
pub struct WatchPlan {
    /// Pages of a round, known and new ones together.
    pub pages: u64,
    /// Between the beginnings of two rounds.
    pub every: Duration,
    /// How long it lasts. `None`: until it is stopped.
    pub lasts: Option<Duration>,
    /// A page that is not there is asked for once more after this long.
    pub confirm: Duration,
}

/// State `watch`: how a watch stands.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Watched {
    /// When its first round began.
    pub since: Millis,
    /// Milliseconds between the beginnings of two rounds.
    pub every_ms: u64,
    /// When it ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Millis>,
    /// Pages of a round.
    pub pages: u64,
    /// The round that runs, or was broken off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub now: Option<Round>,
    /// The last round that ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last: Option<Round>,
    /// When the next round is due; `None` while one runs, and at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub due: Option<Millis>,
    /// New links of the last rounds, the later the more.
    fresh: Vec<u64>,
}

/// A round of a watch.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Round {
    /// From 1.
    pub number: u64,
    /// When it began.
    pub began: Millis,
    /// When it ended.
    pub ended: Millis,
    /// Pages fetched for the first time.
    pub new: u64,
    /// … that are relevant.
    pub relevant: u64,
    /// What visits to known pages found.
    #[serde(flatten)]
    pub visits: Refreshed,
    /// Pages and URLs there were when it began.
    pages_before: usize,
    urls_before: u32,
}

impl Watched {
    /// How the watch of a collection stands; `None`: it was never watched.
    pub fn of(store: &(impl Records + ?Sized)) -> Result<Option<Watched>, Problem> {
        // Of a shared crawl: that of the worker whose round is the last.
        let all = store.state(StateKey::Watch)?;
        let all = all.iter().filter_map(|bytes| serde_json::from_slice::<Watched>(bytes).ok());
        Ok(all.max_by_key(|w| w.now.as_ref().or(w.last.as_ref()).map_or(w.since, |round| round.began)))
    }

    /// Is there a round to come, or one to go on with?
    pub fn goes_on(&self) -> bool {
        self.now.is_some() || self.due.is_some()
    }
}

/// A round that is under way.
pub(crate) struct Rounds {
    state: Watched,
    policy: Policy,
    /// Pages that may be visited again.
    known: Vec<Known>,
    /// Where a page is in `known`.
    at: HashMap<UrlId, usize>,
    /// How often the budget was divided.
    divisions: u32,
}

impl Rounds {
    /// A page was visited now.
    pub fn seen(&mut self, id: UrlId, found: Found) {
        let Some(page) = self.at.get(&id).and_then(|at| self.known.get_mut(*at)) else { return };
        let began = self.state.now.as_ref().map_or(Millis(0), |round| round.began);
        page.seen = Millis::now().max(began);
        if matches!(found, Found::Gone | Found::Moved) {
            // Not again.
            page.seen = Millis::NEVER;
        }
    }
}

/// An entry of state `finds`: a relevant page came from a visit to this one.
fn find(source: UrlId) -> Vec<u8> {
    source.0.to_le_bytes().to_vec()
}

impl Crawl {
    /// Begins a round, or goes on with one that was broken off.
    pub fn begin_round(&mut self, plan: &WatchPlan, now: Millis) -> Result<Round, Problem> {
        self.have_share(now)?;
        let today = Millis::now();
        let mut state = Watched::of(self.parts.ledger.as_ref())?.unwrap_or_default();
        let is_over = state.now.is_none() && state.until.is_some_and(|until| until <= today);
        if !state.goes_on() || is_over {
            // A new watch; what earlier ones learnt is still true.
            state = Watched { since: today, last: state.last, fresh: state.fresh, ..Watched::default() };
        }
        state.until = plan.lasts.map(|lasts| state.since.plus(lasts));
        (state.every_ms, state.pages) = (plan.every.as_millis() as u64, plan.pages);
        let broken_off = state.now.take().filter(|round| today.since(round.began) < STALE);
        let round = match broken_off {
            Some(round) => round,
            None => Round {
                number: state.last.as_ref().map_or(0, |r| r.number) + 1,
                began: today,
                pages_before: self.judging.roll.judged.len(),
                urls_before: match self.parts.ledger.fleet() {
                    Some(fleet) => fleet.next_number()?,
                    None => u32::try_from(self.parts.ledger.stats()?.urls).unwrap_or(u32::MAX),
                },
                ..Round::default()
            },
        };
        (state.now, state.due) = (Some(round.clone()), None);
        let pages = self.known_pages()?;
        let (policy, known, visits) = self.learn_from_visits(&state, round.began, &pages)?;
        let at = known.iter().enumerate().map(|(i, page)| (page.id, i)).collect();
        let rounds = Rounds { state, policy, known, at, divisions: 0 };
        let roll_at = self.judging.roll.judged.iter().enumerate().map(|(i, j)| (j.id, i)).collect();
        self.refresh = Some(Box::new(Refresh::of_round(rounds, visits, plan.confirm, roll_at, &pages)));
        let left = plan.pages.saturating_sub(self.spent());
        let rules = &mut self.parts.rules;
        rules.relevant = None;
        rules.pages = Some(self.counts.pages);
        // As for a crawl: what gives no page must end as well.
        rules.requests = Some(self.counts.requests + 10 * left + 1_000);
        self.put_watched()?;
        self.divide_again()?;
        self.parts.ledger.commit()?;
        self.pace.started = Some(now);
        // With what it came to before it was broken off.
        let new = new_pages(&self.judging.roll, round.pages_before).count() as u64;
        Ok(Round { new, visits: self.refreshed().cloned().unwrap_or_default(), ..round })
    }

    /// Everything earlier visits tell, and which pages there are; what the visits since `began` found.
    fn learn_from_visits(
        &self,
        state: &Watched,
        began: Millis,
        pages: &[KnownPage],
    ) -> Result<(Policy, Vec<Known>, Refreshed), Problem> {
        let ledger = self.parts.ledger.as_ref();
        let (mut known, mut at) = (Vec::new(), HashMap::new());
        let mut add = |page: Known| {
            at.insert(page.id, known.len());
            known.push(page);
        };
        let firsts: HashMap<UrlId, Millis> =
            pages.iter().filter_map(|page| Some((page.id, page.first?))).collect();
        for j in pages.iter().filter(|j| self.is_here(j.id)) {
            let kin = Kin::of(ledger.url(j.id)?.as_str(), j.wanted);
            let relevant = j.wanted && !j.is_copy;
            add(Known { id: j.id, kin, relevant, listing: false, seen: Millis(0) });
        }
        // What gave links and no page is a sitemap or feed.
        let is_page: HashSet<UrlId> = pages.iter().map(|page| page.id).collect();
        for entry in ledger.entries(Which::All) {
            let entry = entry?;
            if entry.state == State::Settled(Outcome::Fetched)
                && !is_page.contains(&entry.id)
                && self.is_here(entry.id)
            {
                let kin = Kin::of("", false);
                add(Known { id: entry.id, kin, relevant: false, listing: true, seen: state.since });
            }
        }
        let mut policy = Policy::default();
        for j in pages.iter().filter(|j| self.is_here(j.id)) {
            if let Some(parent) = ledger.entry(j.id)?.and_then(|e| e.parent) {
                policy.found_on(parent, !is_page.contains(&parent), j.wanted && !j.is_copy);
            }
        }
        let (mut visits, mut away) = (Refreshed::default(), HashMap::new());
        let today = Millis::now();
        for visit in of_all(ledger) {
            let visit = visit?;
            if (began..=today).contains(&visit.at) {
                visits.count(visit.found);
            }
            let Some(page) = at.get(&visit.id).and_then(|i| known.get_mut(*i)) else { continue };
            let before = match page.seen.0 {
                0 => match firsts.get(&page.id) {
                    Some(first) => *first,
                    None => ledger.versions(page.id)?.last().map_or(visit.at, |first| first.fetched),
                },
                _ => page.seen,
            };
            policy.visited(page, visit.at.since(before), visit.found);
            page.seen = visit.at;
            away.insert(page.id, matches!(visit.found, Found::Gone | Found::Moved));
        }
        let no_others = || Box::new(std::iter::empty()) as Each<'_, Vec<u8>>;
        let others = ledger.fleet().map_or_else(no_others, |fleet| fleet.others_state(StateKey::Finds));
        for entry in ledger.each_state(StateKey::Finds).chain(others) {
            if let Ok(id) = <[u8; 4]>::try_from(entry?.as_slice()) {
                policy.brought_by(UrlId(u32::from_le_bytes(id)));
            }
        }
        state.fresh.iter().for_each(|links| policy.brought_links(*links));
        known.retain(|page| !away.get(&page.id).copied().unwrap_or(false));
        for page in known.iter_mut().filter(|page| page.seen == Millis(0)) {
            page.seen = match firsts.get(&page.id) {
                Some(first) => *first,
                None => ledger.record(page.id)?.map_or(state.since, |record| record.fetched),
            };
        }
        // A clock that was put back: whatever seems to be still to come was an interval ago.
        let ago = Millis(today.0.saturating_sub(state.every_ms.max(1)));
        known.iter_mut().filter(|page| page.seen > today).for_each(|page| page.seen = ago);
        Ok((policy, known, visits))
    }

    /// What the round has spent so far.
    fn spent(&self) -> u64 {
        let Some(refresh) = &self.refresh else { return 0 };
        let round = refresh.rounds.as_ref().and_then(|r| r.state.now.as_ref());
        let before = round.map_or(0, |r| r.pages_before);
        refresh.done.visited + new_pages(&self.judging.roll, before).count() as u64
    }

    /// Divides what is left of the budget between known and new pages. `true`: there is something to do.
    pub(crate) fn divide_again(&mut self) -> Result<bool, Problem> {
        let spent = self.spent();
        let unknown = Unknown {
            pending: self.parts.ledger.stats()?.pending,
            harvest: harvest(&self.judging.roll.judged),
        };
        let Some(rounds) = self.refresh.as_mut().and_then(|r| r.rounds.as_mut()) else { return Ok(false) };
        let left = rounds.state.pages.saturating_sub(spent);
        rounds.divisions += 1;
        if left == 0 || rounds.divisions > DIVISIONS {
            return Ok(false);
        }
        let (now, began) = (Millis::now(), rounds.state.now.as_ref().map_or(Millis(0), |r| r.began));
        // Each page once a round.
        let due = rounds.known.iter().copied().filter(|page| page.seen < began);
        let plan = rounds.policy.divide(due, &unknown, left, now);
        let (mut opened, mut due) = (0, Vec::new());
        for (id, gain) in plan.visits {
            if self.parts.ledger.revisit(id, Priority::new(Priority::REVISIT, gain))? {
                due.push(id);
                opened += 1;
            }
        }
        if let Some(refresh) = &mut self.refresh {
            refresh.done.planned += opened;
            refresh.due.extend(due);
        }
        let room = if unknown.pending > 0 || opened > 0 { plan.new } else { 0 };
        self.parts.rules.pages = Some(self.counts.pages + room);
        Ok(opened > 0 || (room > 0 && unknown.pending > 0))
    }

    /// A relevant page came from a visit of this round to a page that was known before: that is kept.
    pub(crate) fn note_find(&self, lease: &Lease, relevant: bool, turn: &mut Turn) {
        let rounds = self.refresh.as_ref().and_then(|r| r.rounds.as_ref());
        let Some(round) = rounds.and_then(|r| r.state.now.as_ref()) else { return };
        if let Some(parent) = lease.parent.filter(|p| p.0 < round.urls_before)
            && relevant
            && lease.id.0 >= round.urls_before
        {
            turn.state.push((StateKey::Finds, true, find(parent)));
        }
    }

    /// The round is over: what it found is kept, and when the next one is due. One that was stopped is not:
    /// the next run goes on with it.
    pub(crate) fn end_round(&mut self, stop: Stop) -> Result<(), Problem> {
        let roll = &self.judging.roll;
        let Some(refresh) = self.refresh.as_mut() else { return Ok(()) };
        let Some(rounds) = &mut refresh.rounds else { return Ok(()) };
        if matches!(stop, Stop::User | Stop::Disk | Stop::DiskFull) {
            return Ok(());
        }
        let Some(mut round) = rounds.state.now.take() else { return Ok(()) };
        round.ended = Millis::now();
        let new = || new_pages(roll, round.pages_before);
        let (all, relevant) = (new().count(), new().filter(|j| j.wanted() && j.copy_of.is_none()).count());
        (round.new, round.relevant) = (all as u64, relevant as u64);
        round.visits = Refreshed { goes_on: None, ..refresh.done.clone() };
        let state = &mut rounds.state;
        state.fresh.push(round.visits.new_links);
        if state.fresh.len() > 8 {
            state.fresh.remove(0);
        }
        let next = round.began.plus(Duration::from_millis(state.every_ms)).max(round.ended);
        state.due = Some(next).filter(|next| state.until.is_none_or(|until| *next < until));
        state.last = Some(round);
        self.put_watched()
    }

    /// How the watch stands, if this is a round of one.
    pub fn watched(&self) -> Option<&Watched> {
        Some(&self.refresh.as_ref()?.rounds.as_ref()?.state)
    }

    fn put_watched(&mut self) -> Result<(), Problem> {
        let Some(state) = self.watched() else { return Ok(()) };
        let bytes = serde_json::to_vec(state)
            .map_err(|e| Problem::new("cannot keep how the watch stands").because(e))?;
        self.parts.ledger.put_state(StateKey::Watch, false, &bytes)
    }
}

/// Pages that came for the first time since there were so many.
fn new_pages(roll: &Roll, before: usize) -> impl Iterator<Item = &JudgedPage> {
    let came = roll.judged.get(before..).unwrap_or_default().iter();
    came.filter(|j| !roll.adopted.contains(&j.id))
}

/// Share of relevant pages among those that came last.
fn harvest(judged: &[JudgedPage]) -> f64 {
    let last = &judged[judged.len().saturating_sub(OF_LATE)..];
    let relevant = last.iter().filter(|j| j.wanted() && j.copy_of.is_none()).count();
    (relevant as f64 + 0.5) / (last.len() as f64 + 1.0)
}
