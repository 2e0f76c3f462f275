//! Measuring a focused crawler: recorded and generated webs, labels, metrics, the oracle, reports.
//!
//! ```text
//!  webs/  folder · WARC · generated      labels   who is relevant, seeds
//!    │                                      │
//!  cache  extracted pages, kept on disk     │
//!    │                                      ▼
//!  graph  what the seeds reach ──► oracle ─► metrics ──► results, report
//! ```
//!
//! Everything here works on plain values (a [`types::Web`], pages, fetch orders, labels); the crawl loop is
//! handed in from outside.

#![warn(missing_docs)]

pub mod cache;
pub mod experiments;
pub mod graph;
pub mod labels;
pub mod metrics;
pub mod oracle;
pub mod report;
pub mod results;
pub mod stats;
mod tally;
pub mod teach;
pub mod tournament;
mod watch;
pub mod webs;

pub use tally::{Entry as TallyEntry, Tally};
