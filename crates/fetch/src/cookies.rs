//! A cookie jar (RFC 6265), for the few sites that answer nobody without one. Off unless the settings say so:
//! a crawler that carries cookies is tracked, and sees pages others do not.
//!
//! Bounded in every direction, in memory only, and never across registrable domains.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};
use types::{Problem, Url, domain_of};

const MAX_DOMAINS: usize = 10_000;
const MAX_PER_DOMAIN: usize = 50;
const MAX_SIZE: usize = 4096;

#[derive(Debug)]
struct Cookie {
    name: String,
    value: String,
    /// The host that set it, or the domain it asked to be sent to.
    domain: String,
    host_only: bool,
    path: String,
    secure: bool,
    expires: Option<SystemTime>,
}

#[derive(Default)]
pub(crate) struct Jar(Mutex<HashMap<Box<str>, Vec<Cookie>>>);

impl Jar {
    /// A jar with the cookies of a `cookies.txt`; none when cookies are not wanted and there are none.
    pub fn begin(wanted: bool, lines: &str) -> Result<Option<Jar>, Problem> {
        let jar = Jar::default();
        let mut any = false;
        for (number, line) in lines.lines().enumerate() {
            let Some(cookie) =
                Cookie::of_line(line).map_err(|why| {
                    // Not the line itself: it is a secret.
                    Problem::usage(format!("the file of cookies cannot be read: line {}: {why}", number + 1))
                    .hint("seven fields with tabs between them, as browsers' extensions and `curl -c` write \
                           them")
                })?
            else {
                continue;
            };
            any = true;
            let mut domains = jar.0.lock().unwrap_or_else(PoisonError::into_inner);
            domains.entry(domain_of(&cookie.domain).into()).or_default().push(cookie);
        }
        Ok((wanted || any).then_some(jar))
    }

    /// Remembers the `Set-Cookie` values of an answer.
    pub fn keep<'a>(&self, url: &Url, values: impl Iterator<Item = &'a str>, now: SystemTime) {
        for cookie in values.take(MAX_PER_DOMAIN).filter_map(|value| Cookie::parse(url, value, now)) {
            let mut domains = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if domains.len() >= MAX_DOMAINS && !domains.contains_key(url.domain()) {
                domains.clear(); // rare, and losing cookies is harmless
            }
            let cookies = domains.entry(url.domain().into()).or_default();
            let same =
                |c: &Cookie| c.name == cookie.name && c.domain == cookie.domain && c.path == cookie.path;
            cookies.retain(|c| !same(c) && c.is_fresh(now));
            if cookie.is_fresh(now) {
                if cookies.len() >= MAX_PER_DOMAIN {
                    cookies.remove(0);
                }
                cookies.push(cookie);
            }
        }
    }

    /// The `Cookie` header for a request, if there is one.
    pub fn header(&self, url: &Url, now: SystemTime) -> Option<String> {
        let domains = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut due: Vec<&Cookie> =
            domains.get(url.domain())?.iter().filter(|c| c.is_for(url, now)).collect();
        // Longer paths first, then the order they came in (§5.4; the sort is stable).
        due.sort_by_key(|c| std::cmp::Reverse(c.path.len()));
        let pairs: Vec<String> = due.iter().map(|c| format!("{}={}", c.name, c.value)).collect();
        (!pairs.is_empty()).then(|| pairs.join("; "))
    }
}

impl Cookie {
    /// `domain, include subdomains, path, secure, expires, name, value`, with tabs between them. `None`: a
    /// comment.
    fn of_line(line: &str) -> Result<Option<Cookie>, &'static str> {
        let line = line.strip_prefix("#HttpOnly_").unwrap_or(line).trim_end_matches('\r');
        if line.trim().is_empty() || line.starts_with('#') {
            return Ok(None);
        }
        let fields: Vec<&str> = line.split('\t').collect();
        let [domain, below, path, secure, expires, name, value] = fields[..] else {
            return Err("it has not seven fields");
        };
        let is_true = |field: &str| field.eq_ignore_ascii_case("true");
        // 0: until the browser is closed.
        let expires = expires.trim().parse::<f64>().map_err(|_| "the fifth field is no time")?;
        let expires = Duration::try_from_secs_f64(expires).ok().filter(|after| !after.is_zero());
        if name.is_empty() || name.len() + value.len() > MAX_SIZE {
            return Err("the cookie has no name, or is too long");
        }
        Ok(Some(Cookie {
            name: name.into(),
            value: value.into(),
            domain: domain.trim().trim_start_matches('.').to_ascii_lowercase(),
            host_only: !is_true(below) && !domain.trim().starts_with('.'),
            path: if path.starts_with('/') { path.into() } else { "/".into() },
            secure: is_true(secure),
            expires: expires.map(|after| SystemTime::UNIX_EPOCH + after),
        }))
    }

    fn parse(url: &Url, text: &str, now: SystemTime) -> Option<Cookie> {
        let mut parts = text.split(';');
        let (name, value) = parts.next()?.split_once('=')?;
        let (name, value) = (name.trim(), value.trim());
        if name.is_empty()
            || name.len() + value.len() > MAX_SIZE
            || text.bytes().any(|b| b < 0x20 || b == 0x7f)
        {
            return None;
        }
        let mut cookie = Cookie {
            name: name.into(),
            value: value.into(),
            domain: url.host().into(),
            host_only: true,
            path: default_path(url.path()).into(),
            secure: false,
            expires: None,
        };
        let mut max_age = None;
        for part in parts {
            let (key, value) = part.split_once('=').unwrap_or((part, ""));
            let (key, value) = (key.trim().to_ascii_lowercase(), value.trim());
            match key.as_str() {
                "domain" if !value.is_empty() => {
                    let domain = value.trim_start_matches('.').to_ascii_lowercase();
                    // Within the registrable domain, or nobody's: `Domain=co.uk` must not reach every site
                    // there.
                    if !covers(&domain, url.host()) || !covers(url.domain(), &domain) {
                        return None;
                    }
                    // An IP address has no subdomains.
                    cookie.host_only =
                        matches!(url.as_url().host(), Some(url::Host::Ipv4(_) | url::Host::Ipv6(_)));
                    cookie.domain = domain;
                }
                "path" if value.starts_with('/') => cookie.path = value.into(),
                "secure" => cookie.secure = true,
                "expires" => cookie.expires = httpdate::parse_http_date(value).ok().or(cookie.expires),
                "max-age" => max_age = value.parse::<i64>().ok().or(max_age),
                _ => {}
            }
        }
        if let Some(seconds) = max_age {
            // Zero or less: gone at once. A year is enough for any crawl.
            let lifetime = Duration::from_secs(seconds.clamp(0, 365 * 24 * 3600) as u64);
            cookie.expires = Some(if seconds <= 0 { SystemTime::UNIX_EPOCH } else { now + lifetime });
        }
        if cookie.secure && url.scheme() != "https" {
            return None;
        }
        Some(cookie)
    }

    fn is_fresh(&self, now: SystemTime) -> bool {
        self.expires.is_none_or(|at| at > now)
    }

    fn is_for(&self, url: &Url, now: SystemTime) -> bool {
        let host = if self.host_only { url.host() == self.domain } else { covers(&self.domain, url.host()) };
        let path = url.path().strip_prefix(self.path.as_str());
        let path =
            path.is_some_and(|rest| rest.is_empty() || self.path.ends_with('/') || rest.starts_with('/'));
        host && path && (!self.secure || url.scheme() == "https") && self.is_fresh(now)
    }
}

/// Is `host` the domain itself, or inside it?
fn covers(domain: &str, host: &str) -> bool {
    host.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

/// The directory of the path (RFC 6265 §5.1.4).
fn default_path(path: &str) -> &str {
    match path.rfind('/') {
        Some(0) | None => "/",
        Some(at) => path.get(..at).unwrap_or("/"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::Canon;

    fn url(text: &str) -> Url {
        Canon::exact().parse(text).unwrap()
    }

    fn epoch(seconds: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
    }

    /// What is sent to `to` after `from` answered with these.
    fn sent(from: &str, set: &[&str], to: &str) -> String {
        let jar = Jar::default();
        let now = epoch(1_700_000_000);
        jar.keep(&url(from), set.iter().copied(), now);
        jar.header(&url(to), now).unwrap_or_default()
    }

    #[test]
    fn who_gets_which() {
        let table: &[(&str, &[&str], &str, &str)] = &[
            ("http://a.example/x", &["k=v"], "http://a.example/y", "k=v"),
            ("http://a.example/x", &["k=v; HttpOnly; SameSite=Lax"], "http://a.example/", "k=v"),
            ("http://a.example/x", &["k=v"], "http://b.example/", ""),
            ("http://www.a.example/", &["k=v"], "http://a.example/", ""),
            ("http://www.a.example/", &["k=v; Domain=a.example"], "http://a.example/", "k=v"),
            ("http://www.a.example/", &["k=v; Domain=.A.example"], "http://other.a.example/", "k=v"),
            ("http://a.example/", &["k=v; Domain=b.example"], "http://b.example/", ""),
            ("http://a.co.uk/", &["k=v; Domain=co.uk"], "http://b.co.uk/", ""),
            ("http://a.co.uk/", &["k=v; Domain=co.uk"], "http://a.co.uk/", ""),
            ("http://a.example/", &["k=v; Domain=www.a.example"], "http://www.a.example/", ""),
            ("http://a.example/d/page", &["k=v"], "http://a.example/d/other", "k=v"),
            ("http://a.example/d/page", &["k=v"], "http://a.example/e", ""),
            ("http://a.example/d/page", &["k=v; Path=/"], "http://a.example/e", "k=v"),
            ("http://a.example/", &["k=v; Path=/d"], "http://a.example/dd", ""),
            ("http://a.example/", &["a=1; Path=/", "b=2; Path=/d"], "http://a.example/d/x", "b=2; a=1"),
            ("https://a.example/", &["k=v; Secure"], "http://a.example/", ""),
            ("https://a.example/", &["k=v; Secure"], "https://a.example/", "k=v"),
            ("http://a.example/", &["k=v; Secure"], "https://a.example/", ""),
            ("http://a.example/", &["k=1", "k=2"], "http://a.example/", "k=2"),
            ("http://a.example/", &["k=v; Max-Age=0"], "http://a.example/", ""),
            ("http://a.example/", &["k=v; Max-Age=-5"], "http://a.example/", ""),
            (
                "http://a.example/",
                &["k=v", "k=; Expires=Thu, 01 Jan 1970 00:00:00 GMT"],
                "http://a.example/",
                "",
            ),
            (
                "http://a.example/",
                &["k=v; Expires=Thu, 01 Jan 2099 00:00:00 GMT"],
                "http://a.example/",
                "k=v",
            ),
            (
                "http://a.example/",
                &["k=v; Max-Age=60; Expires=Thu, 01 Jan 1970 00:00:00 GMT"],
                "http://a.example/",
                "k=v",
            ),
            ("http://127.0.0.1/", &["k=v; Domain=0.0.1"], "http://127.0.0.1/", ""),
            ("http://127.0.0.1/", &["k=v"], "http://127.0.0.1/", "k=v"),
            ("http://a.example/", &["novalue", "=x", "k=a\u{1}b"], "http://a.example/", ""),
        ];
        for (from, set, to, expected) in table {
            assert_eq!(sent(from, set, to), *expected, "{from} {set:?} {to}");
        }
    }

    #[test]
    fn bounded_and_forgotten_in_time() {
        let jar = Jar::default();
        let now = epoch(1_700_000_000);
        let u = url("http://a.example/");
        for n in 0..500 {
            jar.keep(&u, [format!("k{n}=v").as_str()].into_iter(), now);
        }
        assert_eq!(jar.header(&u, now).unwrap().split("; ").count(), MAX_PER_DOMAIN);
        let long = format!("k={}", "v".repeat(MAX_SIZE));
        assert_eq!(sent("http://a.example/", &[&long], "http://a.example/"), "");
        for n in 0..MAX_DOMAINS + 5 {
            jar.keep(&url(&format!("http://d{n}.example/")), ["k=v"].into_iter(), now);
        }
        assert!(jar.0.lock().unwrap().len() <= MAX_DOMAINS);
        let jar = Jar::default();
        jar.keep(&u, ["k=v; Max-Age=60"].into_iter(), now);
        assert!(jar.header(&u, now + Duration::from_secs(59)).is_some());
        assert!(jar.header(&u, now + Duration::from_secs(61)).is_none());
    }
}
