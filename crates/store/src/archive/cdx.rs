//! Lines of a CDXJ index: where in which file each archived answer is, by address and time.

use super::reader::WarcRecord;
use super::{HttpLimits, http_message};
use serde_json::json;
use std::cmp::Reverse;

/// One archived answer.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CdxLine {
    /// The address as indexes sort it.
    pub key: String,
    /// `20261116182053`
    pub time: String,
    /// Whatever else is known, as JSON.
    fields: String,
}

impl CdxLine {
    /// Of a response or revisit at `offset` of `file`. `None`: it names no address or no time.
    pub fn of(record: &WarcRecord, file: &str, offset: u64, length: u64) -> Option<CdxLine> {
        let url = record.target()?;
        let digits: String = record.header("WARC-Date")?.chars().filter(char::is_ascii_digit).collect();
        let time = digits.get(..14)?.to_string();
        let message = http_message(&record.block, &HttpLimits { body: 0, ..HttpLimits::default() });
        let media = message.as_ref().and_then(|m| m.header("content-type")).unwrap_or("unk");
        let media = media.split(';').next().unwrap_or("").trim().to_ascii_lowercase();
        let fields = json!({
            "url": url,
            "mime": if record.kind() == "revisit" { "warc/revisit" } else { &media },
            "status": message.map_or(0, |m| m.status).to_string(),
            "digest": record.header("WARC-Payload-Digest").unwrap_or("-"),
            "length": length.to_string(),
            "offset": offset.to_string(),
            "filename": file,
        });
        Some(CdxLine { key: surt(url), time, fields: fields.to_string() })
    }
}

impl std::fmt::Display for CdxLine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {} {}", self.key, self.time, self.fields)
    }
}

/// An address as indexes of web archives sort it: `org,example)/a?b=1`. Scheme, `www.` and capitals do not
/// count, nor does the order of parameters.
pub fn surt(url: &str) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let rest = rest.split('#').next().unwrap_or(rest);
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (host, path) = rest.split_at(end);
    let host = host.rsplit('@').next().unwrap_or(host).to_ascii_lowercase();
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => (name, port),
        _ => (host.as_str(), ""),
    };
    let https = url.starts_with("https:");
    let port = if port.is_empty() || port == if https { "443" } else { "80" } {
        String::new()
    } else {
        format!(":{port}")
    };
    let mut labels: Vec<&str> = name.split('.').filter(|l| !l.is_empty()).collect();
    let is_www = |l: &str| l.strip_prefix("www").is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit()));
    if labels.len() > 1 && labels.first().is_some_and(|l| is_www(l)) {
        labels.remove(0);
    }
    labels.reverse();
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let mut path = plain(path);
    if path.is_empty() {
        path.push('/');
    }
    if path.len() > 1 && path.ends_with('/') {
        path.pop();
    }
    let mut parameters: Vec<String> =
        if query.is_empty() { Vec::new() } else { query.split('&').map(plain).collect() };
    // By name, then by value; `a` comes before `a=`.
    parameters.sort_by_cached_key(|p| {
        let (name, value) = p.split_once('=').unwrap_or((p, ""));
        (name.to_string(), Reverse(!p.contains('=')), value.to_string())
    });
    let query = if parameters.is_empty() { String::new() } else { format!("?{}", parameters.join("&")) };
    format!("{}{port}){path}{query}", labels.join(","))
}

/// Escapes resolved as far as they go and written again, in small letters.
fn plain(s: &str) -> String {
    let mut bytes = s.as_bytes().to_vec();
    // `%2541` stands for `%41`, which stands for `A`.
    while let Some(fewer) = unescaped(&bytes) {
        bytes = fewer;
    }
    let mut out = String::with_capacity(bytes.len());
    for b in bytes {
        match b {
            0..=0x20 | 0x7f..=0xff | b'#' | b'%' => out += &format!("%{b:02x}"),
            b => out.push(char::from(b.to_ascii_lowercase())),
        }
    }
    out
}

/// `None`: nothing is escaped.
fn unescaped(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some((&first, after)) = rest.split_first() {
        let digit = |b: Option<&u8>| b.and_then(|b| char::from(*b).to_digit(16));
        match (first, digit(after.first()), digit(after.get(1))) {
            (b'%', Some(high), Some(low)) => {
                out.push((high << 4 | low) as u8);
                rest = after.get(2..).unwrap_or_default();
            }
            _ => {
                out.push(first);
                rest = after;
            }
        }
    }
    (out.len() < bytes.len()).then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_sort_as_elsewhere() {
        // What Python's `surt` says of them; tests/program/integrate.rs compares many.
        for (url, key) in [
            ("http://www.Example.org:8080/A/b?x=2&a=1", "org,example:8080)/a/b?a=1&x=2"),
            ("http://example.org/", "org,example)/"),
            ("https://example.org:443/a%20b/?", "org,example)/a%20b"),
            ("http://user@ex.org/foo/#top", "org,ex)/foo"),
            ("http://1.2.3.4/x", "4,3,2,1)/x"),
            ("http://ex.org/%C3%A4?%41", "org,ex)/%c3%a4?a"),
        ] {
            assert_eq!(surt(url), key, "{url}");
        }
    }
}
