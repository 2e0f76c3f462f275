//! The few response headers the crawl acts on.

use hyper::HeaderMap;
use hyper::header::HeaderValue;
use std::time::{Duration, SystemTime};

/// No server gets to park a URL for longer than this. A crawl that has nothing else to do ends long before
/// (`[limits] max_wait`); this bounds for how long later runs leave the host alone.
const LONGEST_RETRY_AFTER: Duration = Duration::from_secs(24 * 3600);

/// Header values are bytes; most are ASCII, some UTF-8, the rest Latin-1 (RFC 9110 §5.5).
pub fn text(value: &HeaderValue) -> String {
    let bytes = value.as_bytes();
    match std::str::from_utf8(bytes) {
        Ok(s) => s.to_string(),
        Err(_) => bytes.iter().map(|&b| char::from(b)).collect(),
    }
}

pub fn all(headers: &HeaderMap) -> Vec<(String, String)> {
    headers.iter().map(|(name, value)| (name.as_str().to_string(), text(value))).collect()
}

/// `Retry-After` as a wait: seconds, or an HTTP date. A date is read against the server's own `Date` when
/// there is one, because the server's clock is the one it was computed with.
pub fn retry_after(value: &str, server_date: Option<&str>, now: SystemTime) -> Option<Duration> {
    let value = value.trim();
    let wait = if !value.is_empty() && value.bytes().all(|b| b.is_ascii_digit()) {
        // Too many digits for a number is still "very long".
        Duration::from_secs(value.parse().unwrap_or(u64::MAX))
    } else {
        let until = httpdate::parse_http_date(value).ok()?;
        let from = server_date.and_then(|d| httpdate::parse_http_date(d.trim()).ok()).unwrap_or(now);
        until.duration_since(from).unwrap_or(Duration::ZERO)
    };
    Some(wait.min(LONGEST_RETRY_AFTER))
}

/// The absolute target of a redirect, as text; what cannot be joined is kept as it came, for the record.
pub fn location(base: &url::Url, value: &str) -> Option<String> {
    let value = value.trim();
    if value.is_empty() {
        return None;
    }
    Some(base.join(value).map_or_else(|_| value.to_string(), String::from))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retry_after_forms() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000); // Tue, 14 Nov 2023 22:13:20 GMT
        let secs = |v, date| retry_after(v, date, now).map(|d| d.as_secs());
        let table = [
            ("120", None, Some(120)),
            (" 0 ", None, Some(0)),
            ("99999999999999999999999", None, Some(24 * 3600)),
            ("1000000000000000000", None, Some(24 * 3600)),
            ("Fri, 31 Dec 9999 23:59:59 GMT", None, Some(24 * 3600)),
            ("Tue, 14 Nov 2023 22:14:20 GMT", None, Some(60)),
            ("Tuesday, 14-Nov-23 22:14:20 GMT", None, Some(60)),
            ("Tue Nov 14 22:14:20 2023", None, Some(60)),
            ("Tue, 14 Nov 2023 22:14:20 GMT", Some("Tue, 14 Nov 2023 22:14:10 GMT"), Some(10)),
            ("Tue, 14 Nov 2023 22:14:20 GMT", Some("nonsense"), Some(60)),
            ("Mon, 13 Nov 2023 22:14:20 GMT", None, Some(0)),
            ("-5", None, None),
            ("1.5", None, None),
            ("", None, None),
            ("soon", None, None),
        ];
        for (value, date, expected) in table {
            assert_eq!(secs(value, date), expected, "{value:?} {date:?}");
        }
    }

    #[test]
    fn locations() {
        let base = url::Url::parse("http://example.org/a/b?x=1").unwrap();
        let table = [
            ("http://other.example/y", Some("http://other.example/y")),
            ("/y", Some("http://example.org/y")),
            ("y", Some("http://example.org/a/y")),
            ("?z=2", Some("http://example.org/a/b?z=2")),
            ("//cdn.example/y", Some("http://cdn.example/y")),
            (" /y#part ", Some("http://example.org/y#part")),
            ("/café", Some("http://example.org/caf%C3%A9")),
            ("mailto:a@b.c", Some("mailto:a@b.c")),
            ("http://[broken", Some("http://[broken")),
            ("", None),
        ];
        for (value, expected) in table {
            assert_eq!(location(&base, value).as_deref(), expected, "{value:?}");
        }
    }

    #[test]
    fn values_that_are_not_utf8() {
        assert_eq!(text(&HeaderValue::from_bytes(b"caf\xe9").unwrap()), "café");
        assert_eq!(text(&HeaderValue::from_bytes("café".as_bytes()).unwrap()), "café");
    }
}
