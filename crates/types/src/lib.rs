//! The nouns of a crawl: plain values that flow one way through the loop.
//!
//! ```text
//!  Lease ──fetch──► Fetched ──extract──► Page ──judge──► Assessment, Verdict ──strategy──► Turn
//! ```
//!
//! Nothing here does anything but hold data, keep its own invariants and say what it means. Every other
//! crate depends on this one; this one depends on none of ours.

#![warn(missing_docs)]

mod canon;
mod features;
mod fetched;
mod format;
mod judged;
mod order;
mod page;
mod problem;
mod record;
mod state;
mod time;
mod url;
mod web;

pub use canon::Canon;
pub use features::{Cursor, Features, Shelf};
pub use fetched::{Failure, Fetched, Payload, Rendered, Truncation};
pub use format::{FORMATS, Format, Formats};
pub use judged::{Assessment, Hit, Label, Part, Verdict, Who};
pub use order::{
    Candidate, HostUpdate, Lease, LinkKind, Outcome, Priority, Rescored, RobotsAnswer, Settle, Source,
    Target, Task, Ties, Turn, UrlId, Version,
};
pub use page::{
    About, Block, Heading, Leaf, Link, MetaRobots, NESTED_SITEMAP, NoText, Page, PageKind, Region, Rel, Span,
};
pub use problem::{Problem, ProblemKind, with_causes};
pub use record::{ArchiveRef, Record};
pub use state::{Holder, StateKey};
pub use time::Millis;
pub use url::{Fingerprint, Trusted, Url, UrlError, domain_of};
pub use web::{FetchFuture, Request, Web};
