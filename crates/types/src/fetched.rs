use crate::{Millis, NoText, Page, Url};
use serde::{Deserialize, Serialize};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

/// The answer to one request, of one hop: a redirect is an answer, not something to be followed here.
#[derive(Clone, Debug)]
pub struct Fetched {
    /// The URL that was asked for.
    pub url: Url,
    /// HTTP status; 0 when there was no HTTP answer (see `failure`).
    pub status: u16,
    /// Response headers in order, names lower-case, values as Latin-1/UTF-8 text.
    pub headers: Vec<(String, String)>,
    /// The body, or what a recorded web has instead of it.
    pub payload: Payload,
    /// Why there is no (whole) answer.
    pub failure: Option<Failure>,
    /// What cut the body short, when it is not whole.
    pub truncated: Option<Truncation>,
    /// Absolute target of a 3xx answer, unparsed.
    pub location: Option<String>,
    /// `Retry-After`, as a wait from the moment of the answer.
    pub retry_after: Option<Duration>,
    /// The address that was really connected to.
    pub ip: Option<IpAddr>,
    /// When the request began.
    pub started: Millis,
    /// From the start of the request to the end of the answer.
    pub elapsed: Duration,
    /// Bytes of the body on the wire.
    pub wire_bytes: u64,
    /// The request head as it was sent, for the archive (empty when nothing was sent).
    pub request_head: String,
    /// `HTTP/1.1`, `HTTP/2`, or empty.
    pub protocol: &'static str,
    /// What a browser made of the page, if one was asked: it is read in place of `payload`.
    pub rendered: Option<Arc<Rendered>>,
}

/// A page after its scripts have run.
#[derive(Clone, Debug, Default)]
pub struct Rendered {
    /// The document as it was then: HTML in UTF-8, without scripts.
    pub html: Arc<[u8]>,
    /// What the page asked for and was given on the way, for the archive.
    pub resources: Vec<Fetched>,
}

/// What came with the answer.
#[derive(Clone, Debug, Default)]
pub enum Payload {
    /// No body: a failure, or an answer without one.
    #[default]
    None,
    /// A body. Both forms share one allocation when there was no content encoding.
    Bytes {
        /// As it was sent, still content-encoded.
        wire: Arc<[u8]>,
        /// After content decoding.
        decoded: Arc<[u8]>,
    },
    /// A page that a recorded web already extracted (its cache); same value extraction would give.
    Page(Arc<Page>),
}

impl Payload {
    /// A body that was sent without content encoding.
    pub fn plain(bytes: impl Into<Arc<[u8]>>) -> Payload {
        let wire: Arc<[u8]> = bytes.into();
        Payload::Bytes { decoded: wire.clone(), wire }
    }

    /// The decoded body; empty when there is none.
    pub fn decoded(&self) -> &[u8] {
        match self {
            Payload::Bytes { decoded, .. } => decoded,
            _ => &[],
        }
    }
}

/// What ended a body before its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Truncation {
    /// The size limit was reached.
    Length,
    /// The total time limit was reached.
    Time,
    /// The connection broke in the middle of the body.
    Disconnect,
}

/// Why a request got no usable answer. The text is for people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Failure {
    /// The host name could not be looked up.
    Dns(String),
    /// No address of the host accepted a connection.
    Connect(String),
    /// The handshake failed or the certificate is not valid.
    Tls(String),
    /// The host did not answer within the time limit.
    Timeout(String),
    /// The answer is not valid HTTP.
    Protocol(String),
    /// The SSRF guard refused the address.
    Guarded(String),
    /// The scheme or the URL cannot be fetched at all.
    Unsupported(String),
    /// Not a type we asked for; aborted after the headers.
    Unwanted(String),
    /// The answer's headers exceed the limits, or it sends too much that is no part of a page.
    TooLarge(String),
    /// The answer comes, but more slowly than is waited for.
    Slow(String),
    /// Nobody was asked: it was not its turn in a queue of our own. Not the host's fault, and no try.
    Postponed(String),
    /// The answer is here, but its document cannot be read within the limits.
    Unreadable(String),
    /// The answer is here, but its document has no text that could be read.
    NoText(NoText),
}

impl Failure {
    /// No request was sent, and none will be.
    pub fn is_refusal(&self) -> bool {
        matches!(self, Failure::Guarded(_) | Failure::Unsupported(_))
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Failure::Dns(why) => write!(f, "the name cannot be looked up: {why}"),
            Failure::Connect(why) => write!(f, "no connection: {why}"),
            Failure::Tls(why) => write!(f, "no secure connection: {why}"),
            Failure::Timeout(why) => write!(f, "too slow: {why}"),
            Failure::Protocol(why) => write!(f, "not proper HTTP: {why}"),
            Failure::Guarded(why) => write!(f, "refused by the guard: {why}"),
            Failure::Unsupported(why) => write!(f, "cannot be fetched: {why}"),
            Failure::Unwanted(why) => write!(f, "not a type that is read: {why}"),
            Failure::TooLarge(why) => write!(f, "too large: {why}"),
            Failure::Slow(why) => write!(f, "its answer only drips: {why}"),
            Failure::Postponed(why) => write!(f, "not asked yet: {why}"),
            Failure::Unreadable(why) => write!(f, "the document cannot be read: {why}"),
            Failure::NoText(why) => write!(f, "the document cannot be read: {why}"),
        }
    }
}

impl Failure {
    /// May the same request succeed later?
    pub fn is_transient(&self) -> bool {
        match self {
            Failure::Dns(_) | Failure::Connect(_) | Failure::Timeout(_) | Failure::Protocol(_) => true,
            Failure::Slow(_) | Failure::Postponed(_) => true,
            Failure::Tls(_) | Failure::TooLarge(_) | Failure::Unwanted(_) | Failure::Unreadable(_) => false,
            Failure::Guarded(_) | Failure::Unsupported(_) | Failure::NoText(_) => false,
        }
    }

    /// A short, stable name for counters.
    pub fn kind(&self) -> &'static str {
        match self {
            Failure::Dns(_) => "dns",
            Failure::Connect(_) => "connect",
            Failure::Tls(_) => "tls",
            Failure::Timeout(_) => "timeout",
            Failure::Protocol(_) => "protocol",
            Failure::Guarded(_) => "guarded",
            Failure::Unsupported(_) => "unsupported",
            Failure::Unwanted(_) => "unwanted",
            Failure::TooLarge(_) => "too-large",
            Failure::Slow(_) => "slow",
            Failure::Postponed(_) => "postponed",
            Failure::Unreadable(_) => "document-limits",
            Failure::NoText(NoText::Encrypted) => "document-encrypted",
            Failure::NoText(NoText::Scanned) => "document-scanned",
        }
    }
}

impl Fetched {
    /// An answer with nothing in it, to be filled in.
    pub fn empty(url: Url, started: Millis) -> Fetched {
        Fetched {
            url,
            status: 0,
            headers: Vec::new(),
            payload: Payload::None,
            failure: None,
            truncated: None,
            location: None,
            retry_after: None,
            ip: None,
            started,
            elapsed: Duration::ZERO,
            wire_bytes: 0,
            request_head: String::new(),
            protocol: "",
            rendered: None,
        }
    }

    /// The first header of this name, which is given in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str())
    }

    /// What is read of the answer, with its content type: the rendered document if there is one, or else the
    /// decoded body.
    pub fn readable(&self) -> (Option<&str>, &[u8]) {
        match &self.rendered {
            Some(rendered) => (Some("text/html; charset=utf-8"), &rendered.html),
            None => (self.header("content-type"), self.payload.decoded()),
        }
    }

    /// A redirect status that names its target.
    pub fn is_redirect(&self) -> bool {
        matches!(self.status, 301 | 302 | 303 | 307 | 308) && self.location.is_some()
    }

    /// The media type without parameters, lower-case; empty when unknown.
    pub fn media_type(&self) -> String {
        let value = self.header("content-type").unwrap_or("");
        value.split(';').next().unwrap_or("").trim().to_ascii_lowercase()
    }
}
