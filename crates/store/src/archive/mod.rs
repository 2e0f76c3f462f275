//! How is a page kept, byte for byte? In WARC/1.1 files that every web-archive tool reads.
//!
//! Writing is in two steps. [`Composer`] turns one HTTP exchange into finished gzip members (hashing and
//! compressing: pure, may run on any thread); [`Archive`] appends those bytes to the current file (one place,
//! in commit order). The ledger commits [`Archive::position`] with each batch, and [`Archive::open`] sets
//! aside whatever lies beyond the committed position, so a page is in the archive exactly when the ledger
//! says so. No whole page is ever deleted.
//!
//! ```text
//!  warcinfo │ response request metadata │ revisit request metadata │ …      one gzip member per record
//! ```
//!
//! Of one exchange the response (or revisit) comes first: [`types::ArchiveRef`] points at it, and what
//! belongs to it is found by reading on.
//!
//! With the bucket of an S3-compatible storage in place of the folder it is [`Objects`]: each a file of its
//! own, put there whole before the ledger commits what is in it. [`Stacks`] finds a record again, wherever it
//! is.
//!
//! Reading ([`WarcReader`], [`http_message`]) takes the files of any crawler, trusts nothing and is bounded
//! in memory.

mod beyond;
mod cdx;
mod compose;
pub(crate) mod date;
pub(crate) mod digest;
mod exchange;
mod http;
mod members;
mod objects;
mod reader;
mod rewrite;
mod stacks;
mod writer;

#[cfg(test)]
mod tests;

pub use beyond::{Aside, Piece, UNCOMMITTED, beyond, cut, files, keep, note, set_aside};
pub use cdx::{CdxLine, surt};
pub use compose::{Composed, Composer, ComposerSettings, Original, PageNote, RecordId};
pub use date::{parse_rfc3339, rfc3339};
pub use digest::{Digest, payload_digest};
pub use exchange::{Exchange, Exchanges, Scan};
pub use http::{HttpLimits, HttpMessage, http_message};
pub use objects::{Depot, Objects, Uploads};
pub use reader::{Limits, WarcError, WarcReader, WarcRecord, read_at};
pub use rewrite::{Archived, CopyReport, JoinedArchives};
pub use stacks::Stacks;
pub(crate) use writer::SUFFIX;
pub use writer::{Archive, ArchiveSettings, Archiver, Position, WrittenRecord, lost_pages};
