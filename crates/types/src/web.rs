use crate::{Fetched, Millis, Task, Url};
use std::future::Future;
use std::pin::Pin;

/// What is asked of a web: one URL, no redirects followed.
#[derive(Clone, Debug)]
pub struct Request {
    /// What to fetch.
    pub url: Url,
    /// Whether it is a page or robots.txt: they have different limits.
    pub task: Task,
    /// Validators of an earlier answer, for a conditional GET.
    pub etag: Option<String>,
    /// `Last-Modified` of that answer.
    pub last_modified: Option<String>,
}

impl Request {
    /// A plain request for a page.
    pub fn page(url: Url) -> Request {
        Request { url, task: Task::Page, etag: None, last_modified: None }
    }
}

/// The future of a fetch: it always ends with an answer.
pub type FetchFuture<'a> = Pin<Box<dyn Future<Output = Fetched> + Send + 'a>>;

/// Anything that answers fetches: the internet, a folder, WARC files, a simulation.
///
/// An answer is always a [`Fetched`]; failures are values, not errors, because a failed fetch is an outcome
/// the ledger must keep. Recorded and generated webs return futures that are ready at once.
pub trait Web: Send + Sync {
    /// Asks for one URL. Never fails: see [`Fetched::failure`].
    fn fetch<'a>(&'a self, request: &'a Request) -> FetchFuture<'a>;

    /// How long the answer takes, for webs whose time is simulated; the live web ignores it.
    fn latency(&self, _url: &Url, _at: Millis) -> Millis {
        Millis(0)
    }
}
