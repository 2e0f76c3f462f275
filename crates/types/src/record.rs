use crate::{About, Assessment, LinkKind, Millis, Truncation, UrlId, Verdict};
use serde::{Deserialize, Serialize};

/// Where a page's response record is in the archive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArchiveRef {
    /// File name inside the collection's `warc/` folder (or object key).
    pub file: String,
    /// Byte of the file where the record begins.
    pub offset: u64,
    /// Bytes of the compressed record.
    pub length: u64,
}

/// What the store keeps of a fetched page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Number of the page in its collection.
    pub id: UrlId,
    /// Canonical address.
    pub url: String,
    /// The page it was found on; `None` for seeds.
    pub parent: Option<UrlId>,
    /// How that page refers to it.
    pub kind: LinkKind,
    /// Links from the seed.
    pub depth: u16,
    /// HTTP status of the answer.
    pub status: u16,
    /// Media type as the server named it, without parameters.
    pub media_type: String,
    /// The encoding its bytes were decoded with (WHATWG name).
    pub charset: String,
    /// ISO 639-1 code; empty when unknown.
    pub language: String,
    /// Text of `<title>`.
    pub title: String,
    /// `<meta name=description>`.
    pub description: String,
    /// The visible text, one line per block.
    pub text: String,
    /// How many links the page has.
    pub links: u32,
    /// When the request began.
    pub fetched: Millis,
    /// Duration of the fetch in milliseconds.
    pub elapsed_ms: u32,
    /// Bytes of the body on the wire.
    pub bytes: u64,
    /// What cut the body short, when it is not whole.
    pub truncated: Option<Truncation>,
    /// What the judge measured.
    pub assessment: Assessment,
    /// What the judge decided last.
    pub verdict: Verdict,
    /// SHA-1 of the payload (as WARC wants it), lower-case hex.
    pub digest: String,
    /// As in [`crate::Page::simhash`].
    pub simhash: u64,
    /// Same payload as this earlier page.
    pub duplicate_of: Option<UrlId>,
    /// Nearly the same text as this earlier page.
    pub near_duplicate_of: Option<UrlId>,
    /// Where the answer is archived; `None` when nothing was archived.
    pub archive: Option<ArchiveRef>,
    /// Validator of the answer, for asking whether it changed.
    pub etag: Option<String>,
    /// Validator of the answer, for asking whether it changed.
    pub last_modified: Option<String>,
    /// The page asks not to be indexed (`noindex`): kept in the ledger, left out of search and export.
    pub noindex: bool,
    /// What the page says of itself.
    pub about: About,
}
