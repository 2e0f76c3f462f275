//! The store as everyone but the frontier sees it: records, verdicts, state.

use frontier::{HostInfo, Info};
use std::collections::HashMap;
use types::{Assessment, Problem, Record, Url, UrlId, Verdict};

/// What a collection keeps. Reading works while a crawl writes.
pub trait Store {
    fn find(&self, url: &Url) -> Option<UrlId>;
    /// Was it sighted before, as far as can be told without asking anyone? For every link of every page.
    fn knows(&self, url: &Url) -> bool {
        self.find(url).is_some()
    }
    fn url(&self, id: UrlId) -> Result<Url, Problem>;
    /// As `url`, of many pages at once; those that are not there are left out.
    fn urls(&self, pages: &[UrlId]) -> Result<HashMap<UrlId, Url>, Problem> {
        pages.iter().map(|id| Ok((*id, self.url(*id)?))).collect()
    }
    /// Where a URL stands.
    fn entry(&self, id: UrlId) -> Option<Info>;
    /// The URLs a fetched page links to, as far as they were admitted, in page order.
    fn children(&self, id: UrlId) -> Result<Vec<UrlId>, Problem>;
    /// A fetched page, with its newest verdict.
    fn record(&self, id: UrlId) -> Result<Option<Record>, Problem>;
    /// These pages, in no particular order; those that are not there are left out.
    fn each_record(
        &self,
        ids: &[UrlId],
        with: &mut dyn FnMut(Record) -> Result<(), Problem>,
    ) -> Result<(), Problem> {
        for id in ids {
            self.record(*id)?.map_or(Ok(()), &mut *with)?;
        }
        Ok(())
    }
    /// Fetched pages in the order they were fetched, with their newest verdicts, from the `from`th on.
    fn records(&self, from: usize) -> Box<dyn Iterator<Item = Result<Record, Problem>> + '_>;
    /// Every verdict that was changed after the page was recorded.
    fn revised(&self) -> Result<Vec<(UrlId, Verdict)>, Problem>;
    /// Changes verdicts; part of the next commit.
    fn revise(&mut self, verdicts: &[(UrlId, Verdict)]) -> Result<(), Problem>;
    /// Changes verdicts together with what they rest on: the topic is another now. Part of the next commit.
    fn reassess(&mut self, pages: &[(UrlId, Verdict, Assessment)]) -> Result<(), Problem>;
    /// A named piece of state: the newest whole one, then every change appended to it.
    fn state(&self, name: &str) -> Result<Vec<Vec<u8>>, Problem>;
    /// Part of the next commit.
    fn put_state(&mut self, name: &str, change: bool, bytes: &[u8]) -> Result<(), Problem>;
    fn hosts(&self) -> Box<dyn Iterator<Item = HostInfo> + '_>;
    /// The number of a host, as [`Info::host`] has it.
    fn find_host(&self, name: &str) -> Option<u32>;
    fn stats(&self) -> Stats;
    /// What was committed is on the disk when this returns.
    fn sync(&mut self) -> Result<(), Problem>;
    /// Makes the next start fast.
    fn checkpoint(&mut self) -> Result<(), Problem>;
    /// Commits, and notes that the run ended in order: the next one need not let every host rest first.
    fn close(&mut self) -> Result<(), Problem>;
    /// Reads on in a collection another process writes. `true` when there was something new.
    fn refresh(&mut self) -> Result<bool, Problem>;
    /// Of a crawl that several workers share: what was asked of all of them so far. `None`: it is not shared.
    fn wanted(&mut self) -> Result<Option<Wanted>, Problem> {
        Ok(None)
    }
    /// Everything that was asked up to number `n` was done (or, having failed, will not be); part of the next commit.
    fn obeyed(&mut self, _n: u64, _done: Option<Done>) {}
    /// How many pages are relevant now, after verdicts changed outside a turn.
    fn recounted(&mut self, _relevant: u64) {}
    /// Verifies every invariant of the frontier (slow).
    fn check(&self) -> Result<(), Problem>;
}

/// What commands to a shared crawl add up to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Wanted {
    /// The newest command.
    pub n: u64,
    /// JSON; whoever gives commands knows what it means.
    pub json: String,
    pub labels: Vec<(UrlId, bool)>,
}

/// What came of a command.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Done {
    pub changed: u64,
    pub failed: bool,
    pub text: String,
}

/// How much of what there is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stats {
    /// URLs ever admitted = pending + leased + settled.
    pub urls: u64,
    pub pending: u64,
    pub leased: u64,
    pub settled: u64,
    /// Settled, by outcome.
    pub outcomes: Vec<(&'static str, u64)>,
    /// Records of fetched pages.
    pub pages: u64,
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
