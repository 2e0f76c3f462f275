//! Documents from the Web, read in processes of their own.
//!
//! ```text
//!  body ─sniff─► a page (HTML, text, feed …) ────────────────► extract, right here
//!            └─► a document (PDF …) ─► pool ─► child process ─► extract, there ─► Page
//! ```
//!
//! The libraries that read documents were made for files one trusts: a file of five kilobytes can make them
//! ask for gigabytes or work for an hour, and a failed allocation ends the process. So a document is read by
//! a child: this same program, started again as `gleaner read-document`, with limits on memory, processor
//! time and wall-clock time that it cannot lift. What a child cannot read is [`Unread`], with the reason; the
//! crawl goes on.
//!
//! `mod.rs` decides who reads what, `pool.rs` shares the children out and watches the clock, `child.rs` is
//! one child as the crawler sees it, `reader.rs` is what runs in the child, `wire.rs` is what the two say to
//! each other.
//!
//! A program that uses these crates as a library and has not named a reader ([`read_apart`]) reads documents
//! in its own process, without limits.

mod child;
mod pool;
mod reader;
mod wire;

pub use reader::serve;

use extract::{Options, sniff};
use pool::Pool;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::sync::oneshot;
use types::{Failure, Fetched, NoText, Page, Payload, Url};

/// What one document may cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DocumentLimits {
    /// For one document, by the clock on the wall and by the processor's.
    pub time: Duration,
    /// Address space of a child, in bytes.
    pub memory: u64,
    /// Children at the same time, at most.
    pub readers: usize,
}

impl Default for DocumentLimits {
    fn default() -> DocumentLimits {
        DocumentLimits { time: Duration::from_secs(20), memory: 512 << 20, readers: 2 }
    }
}

/// Why a document was not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unread {
    /// It takes more than it may, or its reader broke down. For people.
    Limits(String),
    /// There is nothing in it that could be read.
    NoText(NoText),
    /// Nothing is wrong with it: the crawl ends.
    Stopped,
}

impl Unread {
    /// What became of the answer.
    pub fn failure(self) -> Failure {
        match self {
            Unread::NoText(why) => Failure::NoText(why),
            other => Failure::Unreadable(other.to_string()),
        }
    }
}

/// A page, unless it says that it has no text.
fn with_text(page: Page) -> Result<Page, Unread> {
    match page.no_text {
        Some(why) => Err(Unread::NoText(why)),
        None => Ok(page),
    }
}

impl std::fmt::Display for Unread {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Unread::Limits(why) => f.write_str(why),
            Unread::NoText(why) => why.fmt(f),
            Unread::Stopped => f.write_str("the crawl ends"),
        }
    }
}

/// How a child is started: the program, and the arguments that make it call [`serve`].
#[derive(Clone, Debug)]
pub struct Program {
    /// The executable, most often this one.
    pub path: PathBuf,
    /// What comes before anything of a document.
    pub args: Vec<OsString>,
}

impl Program {
    /// This program, started again with these arguments.
    pub fn this(args: &[&str]) -> Option<Program> {
        // Linux finds it there even after it was replaced by a newer version, which may speak differently.
        let alive = PathBuf::from("/proc/self/exe");
        let path = if alive.exists() { Some(alive) } else { std::env::current_exe().ok() };
        path.map(|path| Program { path, args: args.iter().map(OsString::from).collect() })
    }
}

static PROGRAM: OnceLock<Program> = OnceLock::new();

/// From now on this process has documents read by children. Said once, by the program's `main`.
pub fn read_apart(program: Program) {
    let _ = PROGRAM.set(program);
}

/// Reads whatever the Web sends. Cheap to clone; the children belong to all clones together.
#[derive(Clone, Default)]
pub struct Documents {
    /// `None`: everything is read in this process.
    pool: Option<Arc<Pool>>,
}

/// A document that a child reads.
pub type Reading = oneshot::Receiver<Result<Page, Unread>>;

impl Documents {
    /// Documents are read by children, if this program named a reader.
    pub fn new(limits: DocumentLimits) -> Documents {
        let pool = PROGRAM.get().map(|program| Arc::new(Pool::new(program.clone(), limits)));
        Documents { pool }
    }

    /// With the usual limits and as many children as there are processors: for whoever reads pages without a
    /// crawl.
    pub fn usual() -> &'static Documents {
        static USUAL: OnceLock<Documents> = OnceLock::new();
        USUAL.get_or_init(|| {
            let readers = std::thread::available_parallelism().map_or(2, usize::from);
            Documents::new(DocumentLimits { readers, ..DocumentLimits::default() })
        })
    }

    /// As [`extract::extract`]; waits for the child when it is a document.
    pub fn read(
        &self,
        url: &Url,
        content_type: Option<&str>,
        x_robots_tag: Option<&str>,
        body: &[u8],
        options: &Options,
    ) -> Result<Page, Unread> {
        let kind = sniff(url, content_type, body);
        match &self.pool {
            Some(pool) if kind.is_document() => {
                let question = wire::Question::new(url, content_type, x_robots_tag, options);
                pool.read(&question, body.into())
            }
            _ => with_text(extract::extract_as(kind, url, content_type, x_robots_tag, body, options)),
        }
    }

    /// Has an answer read by a child, without waiting. `None`: it is nothing that a child reads.
    pub fn begin(&self, fetched: &Fetched, options: &Options) -> Option<Reading> {
        let pool = self.pool.as_ref()?;
        let Payload::Bytes { decoded, .. } = &fetched.payload else { return None };
        let content_type = fetched.header("content-type");
        if !(200..300).contains(&fetched.status)
            || fetched.failure.is_some()
            || !sniff(&fetched.url, content_type, decoded).is_document()
        {
            return None;
        }
        let question =
            wire::Question::new(&fetched.url, content_type, fetched.header("x-robots-tag"), options);
        Some(pool.begin(&question, decoded.clone()))
    }

    /// The crawl ends: what is not read after `grace` is [`Unread::Stopped`], and its child is killed.
    pub fn stop_within(&self, grace: Duration) {
        if let Some(pool) = &self.pool {
            pool.stop_within(grace);
        }
    }

    /// The crawl goes on after all.
    pub fn go_on(&self) {
        if let Some(pool) = &self.pool {
            pool.go_on();
        }
    }
}
