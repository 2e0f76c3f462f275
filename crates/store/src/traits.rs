//! Where a crawl keeps what it knows, as small traits. What is next is [`frontier::Frontier`]; what is known
//! is [`Records`]; what is written outside a turn is [`Journal`]; what is shared with other workers is
//! [`Fleet`](crate::Fleet). A crawl runs on a [`Storage`], which is all of them; a reader has [`Records`]
//! only.

use crate::fleet::Fleet;
use frontier::{Frontier, HostInfo, Info, State};
use std::collections::{HashMap, HashSet};
use types::{Assessment, Problem, Record, RobotsAnswer, Source, StateKey, Url, UrlId, Verdict};

/// Answers that come one by one: there may be millions.
pub type Each<'a, T> = Box<dyn Iterator<Item = Result<T, Problem>> + 'a>;

/// What is known of a collection. Read-only; works while a crawl writes.
pub trait Records {
    // ---- URLs ---------------------------------------------------------------------------------------------

    /// The number of a URL; `None` when it was never admitted.
    fn find(&self, url: &Url) -> Result<Option<UrlId>, Problem>;

    /// The address of a number; an error when there is no such URL.
    fn url(&self, id: UrlId) -> Result<Url, Problem>;

    /// As `url`, of many at once; those that are not there are left out.
    fn urls(&self, ids: &[UrlId]) -> Result<HashMap<UrlId, Url>, Problem> {
        ids.iter().map(|id| Ok((*id, self.url(*id)?))).collect()
    }

    /// Where a URL stands; `None`: there is no such URL.
    fn entry(&self, id: UrlId) -> Result<Option<Info>, Problem>;

    /// As `entry`, by its text.
    fn look_up(&self, url: &Url) -> Result<Option<Info>, Problem> {
        self.find(url)?.map_or(Ok(None), |id| self.entry(id))
    }

    /// Where all these URLs stand, first found first.
    fn entries(&self, which: Which) -> Each<'_, Info>;

    /// Every remembered sighting of a URL, first found first.
    fn sources(&self, id: UrlId) -> Result<Vec<Source>, Problem>;

    /// As `sources`, of many at once; those that are not there are left out.
    fn all_sources(&self, ids: &[UrlId]) -> Result<HashMap<UrlId, Vec<Source>>, Problem> {
        ids.iter().map(|id| Ok((*id, self.sources(*id)?))).collect()
    }

    /// The URLs a fetched page links to, as far as they were admitted, in page order.
    fn children(&self, id: UrlId) -> Result<Vec<UrlId>, Problem>;

    /// The other links of the page `id` was first found on, if still pending, in page order.
    fn siblings(&self, id: UrlId) -> Result<Vec<UrlId>, Problem> {
        let Some(parent) = self.entry(id)?.and_then(|i| i.parent) else { return Ok(Vec::new()) };
        let (mut out, mut met) = (Vec::new(), HashSet::new());
        for child in self.children(parent)? {
            let pending = self.entry(child)?.is_some_and(|i| i.state == State::Pending);
            if pending && child != id && met.insert(child) {
                out.push(child);
            }
        }
        Ok(out)
    }

    // ---- pages --------------------------------------------------------------------------------------------

    /// A fetched page, with its newest verdict.
    fn record(&self, id: UrlId) -> Result<Option<Record>, Problem>;

    /// As `record`, of many, in this order; those that are not there are left out.
    fn records_of(&self, ids: Vec<UrlId>) -> Each<'_, Record> {
        Box::new(ids.into_iter().filter_map(|id| self.record(id).transpose()))
    }

    /// Every version of a page that is kept, the newest first; that one with its newest verdict.
    fn versions(&self, id: UrlId) -> Result<Vec<Record>, Problem> {
        Ok(self.record(id)?.into_iter().collect())
    }

    /// Fetched pages in the order they were fetched, from the `from`th record on ([`Stats::versions`]), each
    /// with its newest verdict and where its URL stands.
    fn pages(&self, from: usize) -> Each<'_, (Record, Info)>;

    /// Every verdict that was changed after the page was recorded.
    fn revised(&self) -> Result<Vec<(UrlId, Verdict)>, Problem>;

    // ---- hosts, state, totals -----------------------------------------------------------------------------

    /// Every host, in the order of the numbers that [`Info::host`] has.
    fn hosts(&self) -> Result<Vec<HostInfo>, Problem>;

    /// The number of a host.
    fn find_host(&self, name: &str) -> Result<Option<u32>, Problem>;

    /// The name of a host, by its number.
    fn host_name(&self, number: u32) -> Result<Option<String>, Problem>;

    /// The newest answer to a host's robots.txt.
    fn robots(&self, host_key: &str) -> Result<Option<RobotsAnswer>, Problem>;

    /// A piece of state: the newest whole one, then every change appended to it.
    fn state(&self, key: StateKey) -> Result<Vec<Vec<u8>>, Problem>;

    /// The same piece by piece, for states that are large.
    fn each_state(&self, key: StateKey) -> Each<'_, Vec<u8>> {
        match self.state(key) {
            Ok(pieces) => Box::new(pieces.into_iter().map(Ok)),
            Err(problem) => Box::new(std::iter::once(Err(problem))),
        }
    }

    /// Totals, without reading the pages.
    fn stats(&self) -> Result<Stats, Problem>;

    /// Verifies every invariant (slow).
    fn check(&self) -> Result<(), Problem>;
}

/// Which URLs are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// All that were ever admitted.
    All,
    /// Those that wait to be fetched.
    Pending,
}

/// What is written outside a turn. All of it is part of the next commit.
pub trait Journal {
    /// Changes verdicts.
    fn revise(&mut self, pages: &[Revision]) -> Result<(), Problem>;

    /// Keeps a piece of state; with `change`, appends to the one that is kept.
    fn put_state(&mut self, key: StateKey, change: bool, bytes: &[u8]) -> Result<(), Problem>;

    /// What was committed survives a loss of power when this returns.
    fn sync(&mut self) -> Result<(), Problem>;

    /// Commits, and notes that the run ended in order: the next one need not let every host rest first.
    fn close(&mut self) -> Result<(), Problem>;
}

/// A page's new verdict.
#[derive(Clone, Debug, PartialEq)]
pub struct Revision {
    /// The page.
    pub id: UrlId,
    /// Replaces the old one.
    pub verdict: Verdict,
    /// What the verdict rests on, when that changed too: the topic is another now.
    pub assessment: Option<Assessment>,
}

impl Revision {
    /// Verdicts that rest on the same as before.
    pub fn of(verdicts: &[(UrlId, Verdict)]) -> Vec<Revision> {
        let one =
            |(id, verdict): &(UrlId, Verdict)| Revision { id: *id, verdict: *verdict, assessment: None };
        verdicts.iter().map(one).collect()
    }
}

/// What a crawl runs on.
pub trait Storage: Frontier + Records + Journal + Send {
    /// The other workers, if the crawl is shared.
    fn fleet(&self) -> Option<&dyn Fleet>;
    /// As `fleet`, to write.
    fn fleet_mut(&mut self) -> Option<&mut dyn Fleet>;
}

/// How much of what there is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stats {
    /// URLs ever admitted = pending + leased + settled.
    pub urls: u64,
    /// URLs that wait.
    pub pending: u64,
    /// URLs with a lease that is out.
    pub leased: u64,
    /// URLs that ended, whatever the outcome.
    pub settled: u64,
    /// Settled, by outcome.
    pub outcomes: Vec<(&'static str, u64)>,
    /// Pages that were fetched.
    pub pages: u64,
    /// Records of them: a page that changed has one of each version.
    pub versions: u64,
    /// Hosts ever met.
    pub hosts: usize,
    /// Leases given so far.
    pub leases: u64,
    /// Leases that ran out and returned.
    pub returned: u64,
    /// Bytes of the ledger.
    pub log_bytes: u64,
    /// Bytes written by this process, checkpoints included.
    pub bytes_written: u64,
    /// Bytes of an unfinished commit that were cut off when it was opened.
    pub torn_bytes: u64,
}
