use serde::{Deserialize, Serialize};
use siphasher::sip128::{Hasher128, SipHasher24};
use std::fmt;
use std::hash::Hasher;

/// A canonical `http` or `https` URL: two spellings of one page are one value.
///
/// Made by [`crate::Canon`]; never by hand, so that a `Url` in any other crate is canonical by construction.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Url(pub(crate) url::Url);

/// A 128-bit name of a URL, keyed per collection: two URLs never share one in practice, and nobody who does
/// not know the key can make them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Fingerprint(pub u64, pub u64);

/// Why a text is not a [`Url`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UrlError {
    /// Not a URL at all.
    Malformed(String),
    /// A URL, but not one a web crawler fetches (`mailto:`, `javascript:`, `ftp:` …).
    Scheme(String),
    /// Longer than the limit; has the length in bytes.
    TooLong(usize),
}

impl fmt::Display for UrlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            UrlError::Malformed(why) => write!(f, "not a URL ({why})"),
            UrlError::Scheme(s) => write!(f, "cannot fetch `{s}:` URLs, only http and https"),
            UrlError::TooLong(n) => write!(f, "URL of {n} bytes is too long"),
        }
    }
}
impl std::error::Error for UrlError {}

impl Url {
    /// The whole URL as text.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
    /// `http` or `https`.
    pub fn scheme(&self) -> &str {
        self.0.scheme()
    }
    /// Host name in ASCII, without port. Never empty.
    pub fn host(&self) -> &str {
        self.0.host_str().unwrap_or("")
    }
    /// The port, unless it is the scheme's own.
    pub fn port(&self) -> Option<u16> {
        self.0.port()
    }
    /// The path with its leading slash, percent-encoded.
    pub fn path(&self) -> &str {
        self.0.path()
    }
    /// What follows `?`, percent-encoded.
    pub fn query(&self) -> Option<&str> {
        self.0.query()
    }
    /// `host`, or `host:port` when the port is not the scheme's own: the unit of politeness and of robots
    /// rules.
    pub fn host_key(&self) -> &str {
        &self.0[url::Position::BeforeHost..url::Position::AfterPort]
    }
    /// The registrable domain (`example.co.uk`), or the host itself for IP addresses and unknown suffixes.
    pub fn domain(&self) -> &str {
        domain_of(self.host())
    }
    /// Everything but the scheme: how recorded webs name pages.
    pub fn without_scheme(&self) -> &str {
        &self.0[url::Position::BeforeHost..]
    }
    /// The parsed form, for resolving references against it.
    pub fn as_url(&self) -> &url::Url {
        &self.0
    }
    /// The host's robots.txt.
    pub fn robots_txt(&self) -> Url {
        let mut u = self.0.clone();
        u.set_path("/robots.txt");
        u.set_query(None);
        u.set_fragment(None);
        Url(u)
    }
    /// The view of an application that the address names (`/courses` of `#/courses`). Servers never see it.
    pub fn route(&self) -> Option<&str> {
        self.0.fragment()
    }
    /// What the server is asked for: the address without its route.
    pub fn without_route(self) -> Url {
        let mut u = self.0;
        u.set_fragment(None);
        Url(u)
    }

    /// Its name under the collection's key.
    pub fn fingerprint(&self, key: (u64, u64)) -> Fingerprint {
        Fingerprint::of(self.as_str(), key)
    }
}

/// The registrable domain of a host name or host key (`www.example.co.uk:81` → `example.co.uk`), or the host
/// itself for IP addresses and unknown suffixes.
pub fn domain_of(host_key: &str) -> &str {
    let host = match host_key.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|b| b.is_ascii_digit()) && !host.contains(':') => host,
        _ => host_key,
    };
    // To the suffix list `192.0.2.7` would be a host of the domain `2.7`.
    if host.starts_with('[') || host.parse::<std::net::Ipv4Addr>().is_ok() {
        return host;
    }
    psl::domain_str(host).unwrap_or(host)
}

impl Fingerprint {
    /// Of the text of a canonical URL (a ledger that replays ten million of them need not parse each again).
    pub fn of(text: &str, key: (u64, u64)) -> Fingerprint {
        Fingerprint::of_bytes(text.as_bytes(), key)
    }
    /// Of any bytes; `of` for URLs.
    pub fn of_bytes(bytes: &[u8], key: (u64, u64)) -> Fingerprint {
        let mut h = SipHasher24::new_with_keys(key.0, key.1);
        h.write(bytes);
        let h = h.finish128();
        Fingerprint(h.h1, h.h2)
    }
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
impl fmt::Debug for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A URL in a cache of our own making: read back without parsing it again (five times faster).
///
/// The bytes are believed: use it only behind a checksum, never for what others wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trusted<U = Url>(pub U);

impl<U: std::borrow::Borrow<Url>> Serialize for Trusted<U> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.borrow().0.serialize_internal(serializer)
    }
}

impl<'de> Deserialize<'de> for Trusted {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        url::Url::deserialize_internal(deserializer).map(|u| Trusted(Url(u)))
    }
}
