//! The crawl loop, its settings and its events.
//!
//! ```text
//!          1 lease            2 fetch            3 extract         4 judge
//! frontier ───────► Lease ───────────► Fetched ───────────► Page ───────────► Verdict
//!    ▲                                                                          │ 5 learn; score links
//!    │  7 add sightings, settle the lease         6 record                      ▼
//!    └────────────────────◄─────────────────────────◄──────────── Visit + scored links
//! ```
//!
//! [`Crawl`] is the loop's one place of order: `next` is step 1, `arrived` is steps 4–7. Steps 2 and 3 (and
//! the pure half of 4) are done by whoever drives it: [`live::run`] on an async runtime and a thread pool,
//! [`replay::run`] on a virtual clock. Both drive the same `Crawl`, so a backtest measures the crawler that
//! people run.

#![warn(missing_docs)]

pub(crate) mod admit;
mod analyse;
pub mod answers;
pub mod check;
pub mod collection;
pub mod compact;
pub mod config;
mod crawl;
mod difference;
pub mod documents;
mod duplicates;
pub mod events;
mod failures;
pub mod gather;
pub mod import;
pub mod labels;
mod links;
mod listed;
mod listings;
pub mod live;
mod logins;
pub mod marks;
mod measured;
mod mirrors;
mod network;
mod next;
mod origins;
mod outlook;
mod page;
pub mod policy;
pub mod quiz;
pub mod rates;
pub mod reader;
mod refresh;
pub mod rejudge;
pub mod remove;
pub mod remove_shared;
pub mod rendering;
pub mod repair;
pub mod replay;
pub mod resources;
mod robots;
mod roll;
mod rules;
pub mod scope;
mod session;
pub mod space;
mod state;
pub mod steer;
pub mod stored;
mod suspects;
mod sweep;
pub mod teacher;
#[cfg(any(test, feature = "testkit"))]
pub mod testkit;
mod timings;
pub mod train;
pub mod units;
mod verdicts;
mod visit;
mod visits;
mod watch;

pub use analyse::{Analysis, Analyst};
pub use config::Config;
pub use crawl::{Arrival, Crawl, Judgement, Ledger, Parts};
pub use events::{Event, Pause, Progress};
pub use outlook::Outlook;
pub use refresh::{RefreshPlan, Refreshed};
pub use rules::{Rules, Step, Stop};
pub use timings::{StageTime, Threads};
pub use visits::{Found, PageVisit};
pub use watch::{Round, WatchPlan, Watched};
