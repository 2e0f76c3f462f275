//! One HTTP exchange → finished gzip members. Pure: no file, no clock, no randomness of its own.

use super::date::rfc3339;
use super::digest::{Digest, payload_digest};
use super::reader::WarcRecord;
use libdeflater::{CompressionLvl, Compressor};
use siphasher::sip128::{Hasher128, SipHasher24};
use std::fmt::Write as _;
use std::hash::Hasher;
use types::{Assessment, Fetched, LinkKind, Millis, Payload, Problem, Truncation, Verdict};

/// The same bytes came again.
pub(super) const SAME_PAYLOAD: &str = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest";
/// The server says that they would be the same (304).
pub(super) const NOT_MODIFIED: &str = "http://netpreserve.org/warc/1.1/revisit/server-not-modified";

/// Field of a response: the id of the record that has the document as a browser rendered it.
pub(super) const RENDERED: &str = "Gleaner-Rendered";
/// How a resource of a page was found, in its metadata.
pub(super) const RESOURCE: &str = "resource";

/// How records are made. The same for every composer of a crawl.
#[derive(Clone, Debug)]
pub struct ComposerSettings {
    /// Makes record ids: random per collection in a live crawl, from the seed in a test. The same exchange
    /// gets the same ids under the same key.
    pub key: (u64, u64),
    /// deflate level, 0–12. Bodies that are compressed already are stored whatever this says.
    pub level: i32,
    /// `WARC-Block-Digest` on every record (a second pass of SHA-1 over each response).
    pub block_digests: bool,
}

impl Default for ComposerSettings {
    fn default() -> Self {
        ComposerSettings { key: (0, 0), level: 1, block_digests: true }
    }
}

/// The page a revisit refers to: same payload, archived earlier.
#[derive(Clone, Copy, Debug)]
pub struct Original<'a> {
    /// Its canonical address.
    pub url: &'a str,
    /// When the original was fetched ([`types::Record::fetched`]).
    pub fetched: Millis,
}

/// What the crawler knows of a page beyond its bytes: the `metadata` record.
#[derive(Clone, Copy, Debug, Default)]
pub struct PageNote<'a> {
    /// URL of the page it was found on.
    pub parent: Option<&'a str>,
    /// Links from the seed.
    pub depth: u16,
    /// How the parent refers to it.
    pub kind: LinkKind,
    /// What the judge measured; left out of the record when `None`.
    pub assessment: Option<&'a Assessment>,
    /// What the judge decided; left out of the record when `None`.
    pub verdict: Option<Verdict>,
    /// Archive a `revisit` of this page instead of the payload.
    pub duplicate_of: Option<Original<'a>>,
    /// [`payload_digest`] of the wire body, when it was computed before.
    pub digest: Option<Digest>,
    /// It is no page, but something that `parent` needs to be shown.
    pub resource: bool,
}

/// A WARC record id, `<urn:uuid:…>`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RecordId(u64, u64);

impl std::fmt::Display for RecordId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The version (4) and variant (10) bits make it a valid random UUID.
        let (a, b) = (self.0 & !0xf000 | 0x4000, self.1 & !(3 << 62) | 1 << 63);
        write!(
            f,
            "<urn:uuid:{:08x}-{:04x}-{:04x}-{:04x}-{:012x}>",
            a >> 32,
            a >> 16 & 0xffff,
            a & 0xffff,
            b >> 48,
            b & 0xffff_ffff_ffff
        )
    }
}

impl RecordId {
    /// Ids come from what they name, not from a counter: nothing has to be remembered across a crash, and
    /// composers on several threads need not agree.
    pub(super) fn new(key: (u64, u64), kind: &str, target: &str, at: Millis) -> RecordId {
        let mut h = SipHasher24::new_with_keys(key.0, key.1);
        h.write(kind.as_bytes());
        h.write_u8(0);
        h.write_u64(at.0);
        h.write(target.as_bytes());
        let h = h.finish128();
        RecordId(h.h1, h.h2)
    }
}

/// The finished members of one exchange, to be appended in one piece.
#[derive(Clone, Debug)]
pub struct Composed {
    pub(super) bytes: Vec<u8>,
    /// Length of the first member: the response or revisit.
    pub(super) response: usize,
    pub(super) at: Millis,
    /// Of the payload.
    pub digest: Digest,
    /// The first record is a `revisit`: the payload is archived elsewhere.
    pub revisit: bool,
}

impl Composed {
    /// All records, compressed, as they go into an archive.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Compressed size of all records.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }
    /// There are no records: the exchange brought nothing that is archived.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }
}

/// Makes WARC records. Keeps its buffers from page to page; use one per thread.
pub struct Composer {
    settings: ComposerSettings,
    deflate: Compressor,
    /// For bodies that are compressed already.
    store: Compressor,
    head: Vec<u8>,
    plain: Vec<u8>,
    fields: String,
}

impl Composer {
    /// Allocates its buffers once.
    pub fn new(settings: ComposerSettings) -> Composer {
        let level = CompressionLvl::new(settings.level.clamp(0, 12)).unwrap_or_default();
        let zero = CompressionLvl::new(0).unwrap_or_default();
        Composer {
            settings,
            deflate: Compressor::new(level),
            store: Compressor::new(zero),
            head: Vec::new(),
            plain: Vec::new(),
            fields: String::new(),
        }
    }

    /// The records of one exchange: response (or revisit), request, metadata, and the rendered document if
    /// there is one. `None` when there was no HTTP answer.
    ///
    /// A rendered page is known by its document, so neither its digest nor what is the same as it says
    /// anything of the payload.
    pub fn exchange(&mut self, fetched: &Fetched, note: &PageNote) -> Result<Option<Composed>, Problem> {
        if fetched.status == 0 {
            return Ok(None);
        }
        let body: &[u8] = match &fetched.payload {
            Payload::Bytes { wire, .. } => wire,
            Payload::None | Payload::Page(_) => &[],
        };
        let note = &match fetched.rendered {
            Some(_) => PageNote { digest: None, duplicate_of: None, ..*note },
            None => *note,
        };
        let digest = note.digest.unwrap_or_else(|| payload_digest(body));
        let url = fetched.url.as_str();
        let date = rfc3339(fetched.started);
        let id = self.id("response", fetched);
        let mut bytes = Vec::with_capacity(body.len() / 3 + 1_024);

        self.head.clear();
        response_head(fetched, body.len(), &mut self.head);
        self.begin(if note.duplicate_of.is_some() { "revisit" } else { "response" }, id, &date);
        self.field("WARC-Target-URI", url);
        if let Some(ip) = fetched.ip {
            self.field("WARC-IP-Address", &ip.to_string());
        }
        match fetched.protocol {
            "HTTP/2" => self.field("WARC-Protocol", "h2"),
            "HTTP/1.0" => self.field("WARC-Protocol", "http/1.0"),
            _ => {}
        }
        if let Some(original) = note.duplicate_of {
            let profile = if fetched.status == 304 { NOT_MODIFIED } else { SAME_PAYLOAD };
            self.field("WARC-Profile", profile);
            self.field("WARC-Refers-To-Target-URI", original.url);
            self.field("WARC-Refers-To-Date", &rfc3339(original.fetched));
        }
        if let Some(why) = fetched.truncated {
            let why = match why {
                Truncation::Length => "length",
                Truncation::Time => "time",
                Truncation::Disconnect => "disconnect",
            };
            self.field("WARC-Truncated", why);
        }
        self.field("WARC-Payload-Digest", &format!("sha1:{}", digest.base32()));
        let document = self.id("resource", fetched);
        if fetched.rendered.is_some() {
            self.field(RENDERED, &document.to_string());
        }
        self.field("Content-Type", "application/http;msgtype=response");
        let kept: &[u8] = if note.duplicate_of.is_some() { &[] } else { body };
        let head = std::mem::take(&mut self.head);
        self.end(&[&head, kept], !kept.is_empty() && is_compressed(fetched), &mut bytes)?;
        self.head = head;
        let response = bytes.len();

        if !fetched.request_head.is_empty() {
            let request = self.id("request", fetched);
            self.begin("request", request, &date);
            self.field("WARC-Target-URI", url);
            self.field("WARC-Concurrent-To", &id.to_string());
            self.field("Content-Type", "application/http;msgtype=request");
            let end = if fetched.request_head.ends_with("\r\n\r\n") {
                ""
            } else if fetched.request_head.ends_with("\r\n") {
                "\r\n"
            } else {
                "\r\n\r\n"
            };
            self.end(&[fetched.request_head.as_bytes(), end.as_bytes()], false, &mut bytes)?;
        }

        let mut about = String::new();
        metadata_fields(fetched, note, &mut about);
        let metadata = self.id("metadata", fetched);
        self.begin("metadata", metadata, &date);
        self.field("WARC-Target-URI", url);
        self.field("WARC-Concurrent-To", &id.to_string());
        self.field("Content-Type", "application/warc-fields");
        self.end(&[about.as_bytes()], false, &mut bytes)?;

        if let Some(rendered) = &fetched.rendered {
            self.begin("resource", document, &date);
            self.field("WARC-Target-URI", &format!("urn:dom:{url}"));
            self.field("WARC-Concurrent-To", &id.to_string());
            self.field("Content-Type", "text/html; charset=utf-8");
            self.end(&[&rendered.html], false, &mut bytes)?;
        }

        Ok(Some(Composed {
            bytes,
            response,
            at: fetched.started,
            digest,
            revisit: note.duplicate_of.is_some(),
        }))
    }

    /// The `warcinfo` record that opens a file.
    ///
    /// `name` tells it from other files' records; `file` is what the file is called, if that is known.
    pub(crate) fn warcinfo(
        &mut self,
        name: &str,
        file: Option<&str>,
        at: Millis,
        info: &[(String, String)],
    ) -> Result<Vec<u8>, Problem> {
        let mut about = String::from(
            "format: WARC File Format 1.1\r\nconformsTo: \
             http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/\r\n",
        );
        for (name, value) in info {
            field(&mut about, name, value);
        }
        let id = RecordId::new(self.settings.key, "warcinfo", name, at);
        self.begin("warcinfo", id, &rfc3339(at));
        if let Some(file) = file {
            self.field("WARC-Filename", file);
        }
        self.field("Content-Type", "application/warc-fields");
        let mut bytes = Vec::new();
        self.end(&[about.as_bytes()], false, &mut bytes)?;
        Ok(bytes)
    }

    /// The `warcinfo` record of a file that is written again under another name.
    pub(super) fn renamed(&mut self, info: &WarcRecord, file: &str, at: Millis) -> Result<Vec<u8>, Problem> {
        self.begin("warcinfo", RecordId::new(self.settings.key, "warcinfo", file, at), &rfc3339(at));
        self.field("WARC-Filename", file);
        self.field("Content-Type", "application/warc-fields");
        let mut bytes = Vec::new();
        self.end(&[&info.block], false, &mut bytes)?;
        Ok(bytes)
    }

    /// A revisit as the response that it stands for: the answer it refers to is to go, and it keeps the
    /// payload.
    pub(super) fn with_payload(&mut self, revisit: &WarcRecord, payload: &[u8]) -> Result<Vec<u8>, Problem> {
        const MADE_ANEW: &[&str] = &[
            "warc-type",
            "warc-profile",
            "warc-refers-to",
            "warc-refers-to-target-uri",
            "warc-refers-to-date",
            "warc-block-digest",
            "content-length",
        ];
        self.fields.clear();
        self.fields.push_str("WARC/1.1\r\n");
        self.field("WARC-Type", "response");
        for (name, value) in &revisit.headers {
            if !MADE_ANEW.contains(&name.to_ascii_lowercase().as_str()) {
                field(&mut self.fields, name, value);
            }
        }
        let mut bytes = Vec::new();
        self.end(&[&revisit.block, payload], false, &mut bytes)?;
        Ok(bytes)
    }

    fn id(&self, kind: &str, fetched: &Fetched) -> RecordId {
        RecordId::new(self.settings.key, kind, fetched.url.as_str(), fetched.started)
    }

    fn begin(&mut self, kind: &str, id: RecordId, date: &str) {
        self.fields.clear();
        self.fields.push_str("WARC/1.1\r\n");
        self.field("WARC-Type", kind);
        let _ = write!(self.fields, "WARC-Record-ID: {id}\r\n");
        self.field("WARC-Date", date);
    }

    fn field(&mut self, name: &str, value: &str) {
        field(&mut self.fields, name, value);
    }

    /// Closes the record begun last with this block and appends it to `out` as one gzip member.
    fn end(&mut self, block: &[&[u8]], stored: bool, out: &mut Vec<u8>) -> Result<(), Problem> {
        if self.settings.block_digests {
            let digest = Digest::of(block).base32();
            let _ = write!(self.fields, "WARC-Block-Digest: sha1:{digest}\r\n");
        }
        let length: usize = block.iter().map(|b| b.len()).sum();
        let _ = write!(self.fields, "Content-Length: {length}\r\n\r\n");
        self.plain.clear();
        self.plain.extend_from_slice(self.fields.as_bytes());
        for piece in block {
            self.plain.extend_from_slice(piece);
        }
        self.plain.extend_from_slice(b"\r\n\r\n");
        let compressor = if stored { &mut self.store } else { &mut self.deflate };
        let start = out.len();
        out.resize(start + compressor.gzip_compress_bound(self.plain.len()), 0);
        let written = out.get_mut(start..).map(|room| compressor.gzip_compress(&self.plain, room));
        match written {
            Some(Ok(n)) => out.truncate(start + n),
            // The bound is exact by contract; a failure here is a bug, but not one worth a crash.
            _ => {
                return Err(Problem::new("cannot compress a WARC record")
                    .hint("please report this; the page is not archived"));
            }
        }
        if self.plain.capacity() > 4 << 20 {
            // One huge page must not keep its memory for the rest of the crawl.
            self.plain = Vec::new();
        }
        Ok(())
    }
}

/// `Name: value` on one line whatever the value holds.
fn field(out: &mut String, name: &str, value: &str) {
    let clean = |c: char| if c.is_control() { ' ' } else { c };
    out.extend(name.chars().filter(|c| !c.is_control() && *c != ':'));
    out.push_str(": ");
    out.extend(value.chars().map(clean));
    out.push_str("\r\n");
}

/// The HTTP head as an HTTP/1.1 server would have sent it with this body: replay tools know nothing else.
/// Transfer encodings and the framing of HTTP/2 are gone, the content encoding stays.
fn response_head(fetched: &Fetched, body: usize, out: &mut Vec<u8>) {
    out.extend_from_slice(format!("HTTP/1.1 {} {}\r\n", fetched.status, reason(fetched.status)).as_bytes());
    let bodiless = body == 0 && matches!(fetched.status, 100..=199 | 204 | 304);
    let mut length_said = false;
    for (name, value) in &fetched.headers {
        if name.is_empty() || name.starts_with(':') || name.eq_ignore_ascii_case("transfer-encoding") {
            continue;
        }
        if name.eq_ignore_ascii_case("content-length") {
            if !length_said && !bodiless {
                out.extend_from_slice(format!("{name}: {body}\r\n").as_bytes());
            }
            length_said = true;
            continue;
        }
        out.extend(name.bytes().filter(|b| !b.is_ascii_control() && !matches!(b, b':' | b' ')));
        out.extend_from_slice(b": ");
        out.extend(value.bytes().map(|b| if matches!(b, b'\r' | b'\n' | 0) { b' ' } else { b }));
        out.extend_from_slice(b"\r\n");
    }
    if !length_said && !bodiless {
        out.extend_from_slice(format!("content-length: {body}\r\n").as_bytes());
    }
    out.extend_from_slice(b"\r\n");
}

/// Would deflate waste its time?
fn is_compressed(fetched: &Fetched) -> bool {
    let encoded = fetched.header("content-encoding").is_some_and(|e| {
        let e = e.trim();
        !e.is_empty() && !e.eq_ignore_ascii_case("identity")
    });
    let media = fetched.media_type();
    encoded
        || (media.starts_with("image/") && media != "image/svg+xml")
        || media.starts_with("video/")
        || media.starts_with("audio/")
        || media.starts_with("application/vnd.o")
        || matches!(
            media.as_str(),
            "application/pdf"
                | "application/zip"
                | "application/epub+zip"
                | "application/gzip"
                | "application/x-gzip"
        )
}

fn metadata_fields(fetched: &Fetched, note: &PageNote, out: &mut String) {
    // `via` and `fetchTimeMs` are the names other crawlers use for the same things.
    if let Some(parent) = note.parent {
        field(out, "via", parent);
    }
    field(out, "fetchTimeMs", &fetched.elapsed.as_millis().to_string());
    field(out, "depth", &note.depth.to_string());
    let kind = if note.resource { RESOURCE.to_string() } else { format!("{:?}", note.kind).to_lowercase() };
    field(out, "foundAs", &kind);
    if let Some(failure) = &fetched.failure {
        field(out, "failure", failure.kind());
    }
    if let Some(verdict) = note.verdict {
        field(out, "relevant", if verdict.relevant { "true" } else { "false" });
        field(out, "relevance", &verdict.relevance.to_string());
        field(out, "threshold", &verdict.threshold.to_string());
        field(out, "verdictVersion", &verdict.version.to_string());
    }
    if let Some(assessment) = note.assessment {
        field(out, "score", &assessment.score.to_string());
        for part in &assessment.parts {
            field(out, "scorePart", &format!("{}={}", part.name, part.value));
        }
        if let Some(term) = &assessment.excluded {
            field(out, "excludedBy", term);
        }
    }
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        201 => "Created",
        202 => "Accepted",
        203 => "Non-Authoritative Information",
        204 => "No Content",
        206 => "Partial Content",
        300 => "Multiple Choices",
        301 => "Moved Permanently",
        302 => "Found",
        303 => "See Other",
        304 => "Not Modified",
        307 => "Temporary Redirect",
        308 => "Permanent Redirect",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        406 => "Not Acceptable",
        408 => "Request Timeout",
        410 => "Gone",
        429 => "Too Many Requests",
        451 => "Unavailable For Legal Reasons",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        _ => "Unknown",
    }
}
