//! The frontier as the crawl loop sees it: memory, disk or a shared database.

use crate::{Limits, Next, Refusal};
use types::{Candidate, Millis, Priority, Problem, Rescored, Target, Ties, Turn, Url, UrlId};

/// What to fetch next, and when. Everything applied changes the order at once and becomes durable with
/// `commit`.
pub trait Frontier {
    /// Offers a URL outside any turn. `true` when it is new; a known one is merged by its best priority.
    fn seed(&mut self, candidate: Candidate, now: Millis) -> Result<bool, Problem>;

    /// The best URL that may be fetched now, by stored priority. A host whose robots.txt is unknown or too
    /// old answers with a lease of [`types::Task::Robots`] first.
    fn lease(&mut self, now: Millis, pick: Pick<'_>) -> Result<Next, Problem>;

    /// The best `k` URLs that could be leased now, best first, in the order of `lease`. Memory only.
    fn peek(&mut self, now: Millis, lane: Option<u8>, k: usize) -> Vec<Peek>;

    /// Everything one visit changes. `merge` combines the priority a known URL has with that of a new
    /// sighting.
    fn apply(
        &mut self,
        turn: Turn,
        merge: &dyn Fn(Priority, Priority) -> Priority,
    ) -> Result<Applied, Problem>;

    /// New priorities; those of URLs that are no longer pending are ignored.
    fn rescore(&mut self, rescored: &[Rescored]) -> Result<(), Problem>;

    /// Everything applied so far is kept, all of it or nothing. When it fails (a full disk), nothing is lost
    /// in memory and a later commit takes it up again.
    fn commit(&mut self) -> Result<(), Problem>;

    /// What is known of this URL, as far as memory tells? Asked for every link of every page.
    fn target(&self, url: &Url) -> Target;

    /// A URL that ended waits for another visit in this run, in the order of `priority`; what is known of it
    /// stays until the visit is settled, also when the process dies. `false`: it has not ended.
    fn revisit(&mut self, id: UrlId, priority: Priority) -> Result<bool, Problem>;

    /// A URL that ended without a page is pending again, with all its tries. `false`: it is pending already,
    /// or gave a page or a redirect.
    fn ask_again(&mut self, id: UrlId) -> Result<bool, Problem>;

    /// A pending URL waits until nothing else is left and nothing is in flight; in this run only.
    fn set_aside(&mut self, id: UrlId);

    /// Other caps and clocks from now on: what is decided later obeys them, what was decided stands.
    fn set_limits(&mut self, limits: Limits);

    /// Another rule for URLs of the same priority, from now on.
    fn set_ties(&mut self, ties: Ties);
}

/// Which of the URLs that may be fetched now is leased.
#[derive(Clone, Copy)]
pub enum Pick<'a> {
    /// The best of all lanes, the highest lane first.
    Best,
    /// The best of this lane; of all lanes when this one has nothing to give now.
    Lane(u8),
    /// The best of this lane, and of no other.
    Only(u8),
    /// The best of the host that this ranks highest (`None`: not that one).
    Host(&'a dyn Fn(&str) -> Option<u64>),
}

impl Pick<'_> {
    /// A lane that a strategy names, or all of them.
    pub fn of_lane(lane: Option<u8>) -> Pick<'static> {
        lane.map_or(Pick::Best, Pick::Lane)
    }
}

/// One of the best pending URLs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Peek {
    /// Number of the URL.
    pub id: UrlId,
    /// The priority it waits with.
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
    /// Pending URLs settled along with it, because the host was given up, had its pages, or the frontier is
    /// full.
    pub dropped: u32,
}

impl Applied {
    /// Counts one more refusal.
    pub fn refuse(&mut self, why: Refusal) {
        match self.refused.binary_search_by_key(&why, |r| r.0) {
            Ok(at) => self.refused[at].1 += 1,
            Err(at) => self.refused.insert(at, (why, 1)),
        }
    }
}
