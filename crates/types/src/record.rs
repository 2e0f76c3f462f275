use crate::{Assessment, LinkKind, Millis, Truncation, UrlId, Verdict};
use serde::{Deserialize, Serialize};

/// Where a page's response record is in the archive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArchiveRef {
    /// File name inside the collection's `warc/` folder (or object key).
    pub file: String,
    pub offset: u64,
    pub length: u64,
}

/// What the store keeps of a fetched page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    pub id: UrlId,
    pub url: String,
    pub parent: Option<UrlId>,
    pub kind: LinkKind,
    pub depth: u16,
    pub status: u16,
    pub media_type: String,
    pub charset: String,
    pub language: String,
    pub title: String,
    pub description: String,
    pub text: String,
    pub links: u32,
    pub fetched: Millis,
    pub elapsed_ms: u32,
    pub bytes: u64,
    pub truncated: Option<Truncation>,
    pub assessment: Assessment,
    pub verdict: Verdict,
    /// SHA-1 of the payload (as WARC wants it), lower-case hex.
    pub digest: String,
    pub simhash: u64,
    /// Same payload as this earlier page.
    pub duplicate_of: Option<UrlId>,
    /// Nearly the same text as this earlier page.
    pub near_duplicate_of: Option<UrlId>,
    pub archive: Option<ArchiveRef>,
    pub etag: Option<String>,
    pub last_modified: Option<String>,
    /// The page asks not to be indexed (`noindex`): kept in the ledger, left out of search and export.
    pub noindex: bool,
}
