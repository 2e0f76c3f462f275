//! The frontier as the crawl loop sees it: memory, disk or a shared database.

use crate::{Limits, Next, Refusal};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;
use types::{Candidate, Millis, Priority, Problem, Rescored, RobotsAnswer, Source, Turn, Url, UrlId};

/// What to fetch next, and when. Everything applied changes the order at once and becomes durable with `commit`.
pub trait Frontier {
    /// The best URL that may be fetched now, by stored priority. A host whose robots.txt is unknown or too old answers
    /// with a lease of [`types::Task::Robots`] first. A named lane is served first; when it has nothing to give now, the
    /// others are served as usual, highest first.
    fn lease(&mut self, now: Millis, lane: Option<u8>) -> Result<Next, Problem>;

    /// As `lease`, of the host that `rank` puts highest among those that may be contacted now (`None`: not that one).
    fn lease_of(&mut self, now: Millis, rank: &dyn Fn(&str) -> Option<u64>) -> Result<Next, Problem>;

    /// The best `k` URLs that could be leased now, best first, in the order of `lease`.
    fn peek(&mut self, now: Millis, lane: Option<u8>, k: usize) -> Vec<Peek>;

    /// Offers a URL outside any turn. `true` when it is new; a known one is merged by its best priority.
    fn seed(&mut self, candidate: Candidate, now: Millis) -> Result<bool, Problem>;

    /// Everything one visit changes. `merge` combines the priority a known URL has with that of a new sighting.
    fn apply(
        &mut self,
        turn: Turn,
        merge: &dyn Fn(Priority, Priority) -> Priority,
    ) -> Result<Applied, Problem>;

    /// New priorities; those of URLs that are no longer pending are ignored.
    fn rescore(&mut self, rescored: &[Rescored]) -> Result<(), Problem>;

    /// A pending URL waits until nothing else is left and nothing is in flight; in this run only.
    fn set_aside(&mut self, _id: UrlId) {}

    /// Other caps and clocks from now on: what is decided later obeys them, what was decided stands.
    fn set_limits(&mut self, _limits: Limits) {}

    /// Everything applied so far is kept, all of it or nothing. When it fails (a full disk), nothing is lost in memory and
    /// a later commit takes it up again.
    fn commit(&mut self) -> Result<(), Problem>;

    /// The other links of the page `id` was first found on, if still pending, in page order.
    fn siblings(&self, id: UrlId) -> Vec<UrlId>;

    /// Every remembered sighting of a URL, first found first.
    fn sources(&self, id: UrlId) -> Result<Vec<Source>, Problem>;

    /// As `sources`, of many at once; those that are not there are left out.
    fn all_sources(&self, ids: &[UrlId]) -> Result<HashMap<UrlId, Vec<Source>>, Problem> {
        ids.iter().map(|id| Ok((*id, self.sources(*id)?))).collect()
    }

    /// Every pending URL, first found first.
    fn pending(&self) -> Box<dyn Iterator<Item = UrlId> + '_>;

    /// The newest answer to a host's robots.txt.
    fn robots(&self, host_key: &str) -> Result<Option<RobotsAnswer>, Problem>;

    // ---- several workers on one frontier; a frontier of one's own needs none of this ------------------------------

    /// What a shared frontier has to do now and then: take over and hand over hosts, take in what others found. Called
    /// between any two leases; it does nothing when nothing is due.
    fn tend(
        &mut self,
        _now: Millis,
        _merge: &dyn Fn(Priority, Priority) -> Priority,
    ) -> Result<News, Problem> {
        Ok(News::default())
    }

    /// Hands what a model learnt to the other workers, with the next commit.
    fn publish(&mut self, _delta: Vec<u8>) {}

    /// Admits a URL of [`News::seeds`], or not: then it is known, or out of scope. `true` when it was new. Its message is
    /// gone with the commit that admits it.
    fn take_seed(
        &mut self,
        _ticket: u64,
        _candidate: Option<Candidate>,
        _now: Millis,
    ) -> Result<bool, Problem> {
        Ok(false)
    }

    /// Does the crawl end after so many pages? Then a worker with only poor URLs leaves them to the others.
    fn set_budget(&mut self, _budget: bool) {}

    /// Does a lease still count? `false`: another worker has its host by now, and whatever was fetched is theirs to fetch.
    fn holds(&self, _id: UrlId) -> bool {
        true
    }

    /// To be asked right before a request is sent: may this worker still contact the hosts it has leases of?
    fn gate(&self) -> Gate {
        Gate::default()
    }
}

/// What other workers of the same crawl did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct News {
    /// Pages fetched and judged relevant by all other workers, those that are gone included, and what they have in flight.
    pub pages: u64,
    pub relevant: u64,
    pub in_flight: u64,
    /// Workers that are alive, this one included.
    pub workers: u32,
    /// What their models learnt since the last call.
    pub deltas: Vec<Vec<u8>>,
    /// This worker had lost its claim (it was cut off or stopped for too long) and has joined anew: what was not
    /// committed is gone.
    pub rejoined: bool,
    /// Pending URLs that came over from others with their hosts.
    pub taken: Vec<UrlId>,
    /// URLs of which others wrote something: they may not know what this worker knows of their hosts.
    pub mailed: Vec<UrlId>,
    /// What was asked of all workers since the last call, in order.
    pub told: Vec<Told>,
    /// Some of it is gone by now: what it adds up to has to be read.
    pub missed: bool,
    /// URLs that the user named and whose hosts are this worker's; each is to be answered with `take_seed`.
    pub seeds: Vec<(u64, Url)>,
}

/// One thing that was asked of all workers. What it means is not the frontier's to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// Its number: each is one more than the one before.
    pub n: u64,
    pub kind: String,
    /// JSON.
    pub payload: String,
}

/// Until when requests may be sent. Shared with whoever sends them.
#[derive(Clone, Debug, Default)]
pub struct Gate(Option<Arc<Mutex<Instant>>>);

impl Gate {
    /// Closed until it is opened.
    pub fn closed() -> Gate {
        Gate(Some(Arc::new(Mutex::new(Instant::now()))))
    }
    pub fn open_until(&self, at: Instant) {
        if let Some(until) = &self.0 {
            *until.lock().unwrap_or_else(PoisonError::into_inner) = at;
        }
    }
    pub fn is_open(&self) -> bool {
        match &self.0 {
            None => true,
            Some(until) => Instant::now() < *until.lock().unwrap_or_else(PoisonError::into_inner),
        }
    }
}

/// One of the best pending URLs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Peek {
    pub id: UrlId,
    pub priority: Priority,
    /// Version of the model that scored it.
    pub model: u32,
}

/// What a turn did to the frontier.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Applied {
    /// New URLs (forgotten ones that were found again included).
    pub admitted: u32,
    /// Sightings of URLs that are still pending or leased.
    pub merged: u32,
    /// Sightings of URLs that are settled.
    pub known: u32,
    /// Not admitted, by reason, in the order of [`Refusal::ALL`].
    pub refused: Vec<(Refusal, u32)>,
    /// A retry was asked for, but the URL has had all its attempts: it was settled as unreachable.
    pub gave_up: bool,
    /// The lease had run out and someone else settled the URL: the settlement was ignored.
    pub stale: bool,
    /// Handed to the workers that have their hosts; whether they are new is theirs to say.
    pub sent: u32,
    /// Pending URLs settled along with it, because the host was given up, had its pages, or the frontier is full.
    pub dropped: u32,
}

impl Applied {
    pub fn refuse(&mut self, why: Refusal) {
        match self.refused.binary_search_by_key(&why, |r| r.0) {
            Ok(at) => self.refused[at].1 += 1,
            Err(at) => self.refused.insert(at, (why, 1)),
        }
    }
}
