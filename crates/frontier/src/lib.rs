//! What to fetch next, and when.
//!
//! [`Order`] is the frontier in memory: which URLs are known (the seen set), which wait in which host's
//! queue, which host may be contacted at what time, who holds a lease. It does no input or output and has no
//! clock: time is an argument, so that a simulated week and a real one run the same code.
//!
//! It is built of **facts** (`insert`, `sight`, `settle`, `set_clock` …), which a ledger writes down and
//! replays, and **decisions** (`refuse`, `choose`, `Clock::after`), which read facts and change nothing that
//! must survive a crash. A decision depends on [`Limits`]; a fact never does, so a crawl may be resumed under
//! other limits.
//!
//! ```text
//!            ┌ per lane ─────────────┐      ┌ per host and lane ──┐
//!  choose ──►│ ready hosts, by their │─────►│ its URLs, best first │
//!            │ best URL              │      └─────────────────────┘
//!            └───────▲───────────────┘
//!                    │ when the time has come
//!            hosts that wait (delay, back-off, robots), URLs that wait (retries)
//! ```
//!
//! The frontier orders URLs; it does not know why: topics, pages and scores are nobody's business here.

#![warn(missing_docs)]

mod check;
mod entry;
pub mod guards;
mod heap;
mod host;
mod idle;
mod image;
mod limits;
mod order;
mod schedule;
mod shares;
mod traits;

pub use entry::{Info, State};
pub use host::{Clock, HostInfo, HostState, RobotsState};
pub use idle::{Idle, Next};
pub use limits::{Limits, Patience, Refusal, Shares};
pub use order::{Counts, NewUrl, Order, SOURCES_KEPT};
pub use schedule::Choice;
pub use traits::{Applied, Frontier, Peek, Pick};
