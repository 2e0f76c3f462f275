//! Pages that were being read when an earlier run died. One of them may be the reason, and may kill this run
//! too.
//!
//! | died while it was read | what becomes of it |
//! |---|---|
//! | once | tried once more: after everything else, and alone |
//! | twice | given up, as [`Outcome::Crashed`] |
//!
//! So one bad page costs two runs at most. A page that only happened to be there is read alone in a
//! millisecond, and hardly ever happens to be there again.

use crate::crawl::{Crawl, OpenLease};
use crate::failures::Reason;
use crate::marks::{InterruptedRun, Marks};
use frontier::State;
use std::collections::{BTreeMap, HashSet};
use types::{Lease, Millis, Outcome, Problem, Settle, StateKey, Task, Turn, UrlId};

/// State: [`DeathCounts`] as JSON.
const STATE: StateKey = StateKey::Crashes;
/// Dying so often while one page is read is enough.
const ENOUGH: u32 = 2;

#[derive(Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
struct DeathCounts {
    /// The last run whose death was counted: dying again before the next one begins counts once.
    run: u64,
    /// How often a run died while a URL was read.
    deaths: BTreeMap<u32, u32>,
}

/// The suspects of this run.
#[derive(Default)]
pub(crate) struct Suspects {
    deaths: BTreeMap<UrlId, u32>,
    /// They wait until nothing else is left.
    aside: HashSet<UrlId>,
}

/// What to do with a lease.
enum Verdict {
    Fetch,
    Wait,
    GiveUp,
}

impl Suspects {
    fn judge(&mut self, lease: &Lease, alone: bool) -> Verdict {
        if lease.task != Task::Page {
            return Verdict::Fetch;
        }
        match self.deaths.get(&lease.id) {
            None => Verdict::Fetch,
            Some(n) if *n >= ENOUGH => Verdict::GiveUp,
            // Its turn is when it comes back from aside, and finds nobody else there.
            Some(_) if self.aside.remove(&lease.id) && alone => Verdict::Fetch,
            Some(_) => {
                self.aside.insert(lease.id);
                Verdict::Wait
            }
        }
    }

    /// Is one of them being fetched? Then nothing else is.
    pub fn any_of<'a>(&self, mut in_flight: impl Iterator<Item = &'a OpenLease>) -> bool {
        !self.deaths.is_empty()
            && in_flight.any(|out| out.task == Task::Page && self.deaths.contains_key(&out.id))
    }
}

impl Crawl {
    /// Marks what is being read from here on, and takes note of what was being read when an earlier run died.
    pub fn watched_by(mut self, marks: Marks, left: InterruptedRun, now: Millis) -> Result<Crawl, Problem> {
        let ledger = &mut self.parts.ledger;
        let kept = ledger.state(STATE)?.pop().and_then(|b| serde_json::from_slice::<DeathCounts>(&b).ok());
        let mut kept = kept.unwrap_or_default();
        if !left.urls.is_empty() && left.run != kept.run {
            kept.run = left.run;
            for id in left.urls {
                *kept.deaths.entry(id.0).or_default() += 1;
            }
            // Whatever is settled by now did no harm.
            for id in kept.deaths.keys().copied().collect::<Vec<_>>() {
                if ledger.entry(UrlId(id))?.is_some_and(|e| matches!(e.state, State::Settled(_))) {
                    kept.deaths.remove(&id);
                }
            }
            let bytes = serde_json::to_vec(&kept)
                .map_err(|e| Problem::new("cannot note which pages were being read").because(e))?;
            ledger.put_state(STATE, false, &bytes)?;
            ledger.commit()?;
            ledger.sync()?;
        }
        marks.start(now.0)?;
        self.crashes.suspects.deaths = kept.deaths.into_iter().map(|(id, n)| (UrlId(id), n)).collect();
        if !self.crashes.suspects.deaths.is_empty() {
            let pages = self.crashes.suspects.deaths.len();
            tracing::warn!(pages, "an earlier run died while it read these: they come last, each alone");
        }
        self.crashes.marks = Some(marks);
        Ok(self)
    }

    /// Where it is marked which URLs are being read.
    pub fn marks(&self) -> Option<Marks> {
        self.crashes.marks.clone()
    }

    /// May this lease be fetched now? If not, it is dealt with.
    pub(crate) fn is_its_turn(&mut self, lease: &Lease, now: Millis) -> Result<bool, Problem> {
        if self.crashes.suspects.deaths.is_empty() {
            return Ok(true);
        }
        let alone = self.in_flight() == 0;
        match self.crashes.suspects.judge(lease, alone) {
            Verdict::Fetch => Ok(true),
            Verdict::Wait => {
                self.withheld(lease, false, now)?;
                self.parts.ledger.set_aside(lease.id);
                Ok(false)
            }
            Verdict::GiveUp => {
                let outcome = Outcome::Crashed;
                let mut turn = Turn::new(Settle::Done { id: lease.id, outcome });
                turn.host.finished = now;
                self.apply(turn)?;
                self.miss(lease, Reason::named("crashed"), Some(outcome), now)?;
                Ok(false)
            }
        }
    }
}
