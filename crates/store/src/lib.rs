//! Keep it: what was fetched and what was decided, so that nothing is lost and everything can be taken out
//! again.

#![warn(missing_docs)]

pub mod archive;
pub mod export;
pub mod files;
mod fleet;
pub mod formats;
pub mod index;
pub mod ledger;
mod postgres;
pub mod s3;
pub mod shape;
pub mod swap;
mod traits;
mod trust;
pub mod zip;

pub use fleet::{Done, Fleet, Gate, Lesson, News, Seat, SharedCommand, SharedPage, Sitting, Ticket, Wanted};
pub use ledger::{Durability, FileLog, Ledger, LedgerReader, MemLog, Options};
pub use postgres::{
    CommandInfo, Given, Going, Helm, Judged, LOAD_AT_ONCE, Moved, Named, Reached, Remover, Shared,
    SharedOptions, SharedReader, Without, WorkerInfo, check_address,
};
pub use traits::{Each, Journal, Records, Revision, Stats, Storage, Which};
