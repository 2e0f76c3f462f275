//! Steering: whatever people change while a crawl runs, or between two runs.
//!
//! | file | what it does |
//! |---|---|
//! | `command.rs` | what can be asked: [`Command`], and what comes of it: [`Effect`] |
//! | `adjustments.rs` | what all commands add up to, kept in the ledger |
//! | `obey.rs` | the loop obeys a command |
//! | `labels.rs`, `hosts.rs`, `rejudging.rs` | … about pages, about hosts, about the topic |
//! | `inbox.rs` | commands of other processes reach a crawl through its folder |
//! | `fleet.rs` | commands reach the workers of a shared crawl through their database |
//! | `stopped.rs` | labels reach a collection that nobody crawls into |

mod adjustments;
mod command;
pub mod fleet;
mod hosts;
pub mod inbox;
mod labels;
mod obey;
pub(crate) mod rejudging;
pub mod stopped;

pub use adjustments::Adjustments;
pub(crate) use adjustments::{merged, plain};
pub use command::{Command, Effect, HostRule, Limits, NewTerm, Order, Pace, Settings, TermSet, Workers};
pub(crate) use command::{labelled, retried, verdicts_changed};
pub(crate) use obey::Steering;
pub(crate) use rejudging::Rejudging;
