//! Who may ask: the token, the host, the origin, and how often.
//!
//! * The token is needed for everything: `?token=…` (then a cookie), or `Authorization: Bearer …`.
//! * The `Host` must be an address or a name of this machine, so that no web site can point a name of its own
//!   here.
//! * Requests that change something must come from our own pages: same origin, JSON, a cookie that other
//!   sites cannot send.

use super::reply::Refusal;
use hyper::HeaderMap;
use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use types::Problem;

/// Bytes of chance in a token.
const TOKEN_BYTES: usize = 24;
/// A token that people choose must not be easier to guess than this allows, when others can reach the port.
const SHORTEST_TOKEN: usize = 16;

pub struct Guard {
    token: String,
    addr: SocketAddr,
    names: Vec<String>,
    asked: Mutex<Bucket>,
    wrong: Mutex<WrongTokens>,
}

impl Guard {
    /// `token`: the user's, if any. `names`: further host names under which this server is reached.
    pub fn new(
        addr: SocketAddr,
        token: Option<String>,
        names: Vec<String>,
        rate: f64,
    ) -> Result<Guard, Problem> {
        let token = match token {
            Some(t) => checked(t, addr)?,
            None if addr.ip().is_loopback() => random_token()?,
            None => {
                return Err(Problem::usage(format!("{addr} can be reached by others: a token is needed"))
                    .hint("set one with --token (at least 16 characters), or listen on 127.0.0.1"));
            }
        };
        Ok(Guard {
            token,
            addr,
            names: names.iter().map(|n| n.to_lowercase()).collect(),
            asked: Mutex::new(Bucket::new(rate, 4.0 * rate)),
            wrong: Mutex::new(WrongTokens::default()),
        })
    }

    pub fn token(&self) -> &str {
        &self.token
    }

    /// The port may have been chosen by the system.
    pub fn listens_on(&mut self, addr: SocketAddr) {
        self.addr = addr;
    }

    /// Cookies do not know ports; the name does.
    fn cookie_name(&self) -> String {
        format!("gleaner_{}", self.addr.port())
    }

    pub fn cookie(&self) -> String {
        format!("{}={}; Path=/; HttpOnly; SameSite=Strict", self.cookie_name(), self.token)
    }

    /// Lets a request through, or says why not. `token`: of the query.
    pub fn admit(&self, headers: &HeaderMap, token: Option<&str>, changes: bool) -> Result<(), Refusal> {
        self.host(headers)?;
        if !self.knows(headers, token) {
            return Err(Refusal::new(
                401,
                Problem::new("a token is needed").hint(
                    "open the address that was printed at the start, or send `Authorization: Bearer TOKEN`",
                ),
            )
            .with("www-authenticate", "Bearer"));
        }
        take(&self.asked)?;
        if changes { self.origin(headers) } else { Ok(()) }
    }

    /// Does the request bring a token at all, right or wrong?
    pub fn has_token(&self, headers: &HeaderMap, token: Option<&str>) -> bool {
        token.is_some() || headers.contains_key("authorization") || self.cookies(headers).next().is_some()
    }

    /// How long a wrong token from this address waits for its answer; `None`: too many wait already. The
    /// right token never waits, whatever comes from the same address.
    pub fn wrong_token(&self, ip: IpAddr) -> Option<Duration> {
        self.wrong.lock().unwrap_or_else(PoisonError::into_inner).wait(ip, Instant::now())
    }

    fn host(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        if headers.get_all("host").iter().nth(1).is_some() {
            // Whoever stands in front of us may have looked at the other one.
            return Err(Refusal::bad("the request names two hosts").with("connection", "close"));
        }
        let host = headers.get("host").and_then(|h| h.to_str().ok()).unwrap_or("");
        let name = without_port(host).to_lowercase();
        let ours = match name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>() {
            // An address is nobody's name: it cannot be pointed here by someone else.
            Ok(ip) => ip.is_loopback() || !self.addr.ip().is_loopback(),
            Err(_) => name == "localhost" || self.names.contains(&name),
        };
        if ours {
            return Ok(());
        }
        Err(Refusal::new(
            403,
            Problem::new("this server is not known under that name")
                .hint("use the address that was printed, or name the host with --allow-host"),
        ))
    }

    fn knows(&self, headers: &HeaderMap, token: Option<&str>) -> bool {
        let same = |t: &str| equal(t.as_bytes(), self.token.as_bytes());
        if token.is_some_and(same) {
            return true;
        }
        let text = |name| headers.get(name).and_then(|v| v.to_str().ok());
        if let Some(bearer) = text("authorization").and_then(|a| a.strip_prefix("Bearer ")) {
            return same(bearer.trim());
        }
        self.cookies(headers).any(same)
    }

    /// The values of our cookie.
    fn cookies<'a>(&self, headers: &'a HeaderMap) -> impl Iterator<Item = &'a str> {
        let name = self.cookie_name();
        let all = headers.get_all("cookie").iter().filter_map(|v| v.to_str().ok());
        all.flat_map(|v| v.split(';'))
            .filter_map(move |c| c.trim().strip_prefix(name.as_str())?.strip_prefix('='))
    }

    fn origin(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        let text = |name| headers.get(name).and_then(|v| v.to_str().ok());
        let site_ok = text("sec-fetch-site").is_none_or(|s| s == "same-origin" || s == "none");
        let host = text("host").unwrap_or("");
        let origin_ok = text("origin").is_none_or(|o| o.strip_prefix("http://").is_some_and(|o| o == host));
        if site_ok && origin_ok {
            return Ok(());
        }
        Err(Refusal::new(403, Problem::new("changes are taken from this server's own pages only")))
    }
}

fn checked(token: String, addr: SocketAddr) -> Result<String, Problem> {
    let fine = |b: u8| b.is_ascii_alphanumeric() || b"-._~".contains(&b);
    if token.is_empty() || !token.bytes().all(fine) {
        return Err(Problem::usage("this token cannot be part of an address")
            .hint("use letters, digits and - . _ ~ only"));
    }
    if !addr.ip().is_loopback() && token.len() < SHORTEST_TOKEN {
        return Err(Problem::usage(format!("{addr} can be reached by others and this token is short"))
            .hint(format!("use at least {SHORTEST_TOKEN} characters, or listen on 127.0.0.1")));
    }
    Ok(token)
}

/// A secret, so it comes from the system and not from the crawl's seed.
fn random_token() -> Result<String, Problem> {
    let mut bytes = [0u8; TOKEN_BYTES];
    getrandom::fill(&mut bytes).map_err(|e| Problem::new("cannot make a token").because(e))?;
    Ok(bytes.iter().map(|b| format!("{b:02x}")).collect())
}

/// Compares without telling by its time where the difference is.
fn equal(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |d, (x, y)| d | (x ^ y)) == 0
}

fn without_port(host: &str) -> &str {
    if host.starts_with('[') {
        return host.split_inclusive(']').next().unwrap_or(host);
    }
    host.split(':').next().unwrap_or(host)
}

/// Answers to wrong tokens: one per second, of one address and of all together, after the first few.
#[derive(Default)]
struct WrongTokens {
    all: AnswerQueue,
    addresses: HashMap<IpAddr, AnswerQueue>,
}

/// When the next answer is due, if answers were given one per second from the start.
#[derive(Clone, Copy, Default)]
struct AnswerQueue {
    due: Option<Instant>,
}

/// Between two answers to wrong tokens.
const PAUSE: Duration = Duration::from_secs(1);
/// Wrong tokens that are answered at once after a time without any: people mistype.
const AT_ONCE: u32 = 5;
/// Longest wait, of one address and of all: who comes later is not answered. An address cannot fill the line
/// of all.
const OWN_LINE: Duration = Duration::from_secs(3);
const WHOLE_LINE: Duration = Duration::from_secs(10);
/// Addresses that are remembered.
const ADDRESSES: usize = 1024;

impl AnswerQueue {
    fn wait(&self, now: Instant) -> Duration {
        let due = self.due.unwrap_or(now);
        due.saturating_duration_since(now).saturating_sub(PAUSE * (AT_ONCE - 1))
    }
    fn join(&mut self, now: Instant) {
        self.due = Some(self.due.map_or(now, |d| d.max(now)) + PAUSE);
    }
}

impl WrongTokens {
    fn wait(&mut self, ip: IpAddr, now: Instant) -> Option<Duration> {
        if self.addresses.len() >= ADDRESSES {
            self.addresses.retain(|_, line| line.due.is_some_and(|due| due > now));
            if self.addresses.len() >= ADDRESSES && !self.addresses.contains_key(&ip) {
                return None;
            }
        }
        let own = self.addresses.entry(ip).or_default();
        let (mine, all) = (own.wait(now), self.all.wait(now));
        if mine > OWN_LINE || all > WHOLE_LINE {
            return None;
        }
        own.join(now);
        self.all.join(now);
        Some(mine.max(all))
    }
}

/// So many per second on average, so many at once.
struct Bucket {
    rate: f64,
    most: f64,
    left: f64,
    at: Instant,
}

impl Bucket {
    fn new(rate: f64, most: f64) -> Bucket {
        Bucket { rate, most, left: most, at: Instant::now() }
    }
    fn take(&mut self, now: Instant) -> bool {
        let gained = now.saturating_duration_since(self.at).as_secs_f64() * self.rate;
        self.left = (self.left + gained).min(self.most);
        self.at = now;
        let enough = self.left >= 1.0;
        if enough {
            self.left -= 1.0;
        }
        enough
    }
}

fn take(bucket: &Mutex<Bucket>) -> Result<(), Refusal> {
    if bucket.lock().unwrap_or_else(PoisonError::into_inner).take(Instant::now()) {
        return Ok(());
    }
    Err(Refusal::new(429, Problem::new("too many requests").hint("wait a second and try again"))
        .with("retry-after", "1"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::header::{HeaderName, HeaderValue};

    fn guard() -> Guard {
        let addr = "127.0.0.1:7700".parse().unwrap();
        Guard::new(addr, Some("secret".into()), vec!["crawler.example.org".into()], 100.0).unwrap()
    }
    fn headers(list: &[(&str, &str)]) -> HeaderMap {
        let mut out = HeaderMap::new();
        for (k, v) in list {
            out.append(k.parse::<HeaderName>().unwrap(), HeaderValue::from_str(v).unwrap());
        }
        out
    }
    fn status(list: &[(&str, &str)], token: Option<&str>, changes: bool) -> u16 {
        guard().admit(&headers(list), token, changes).map_or_else(|r| r.status, |()| 200)
    }
    const HOST: (&str, &str) = ("host", "127.0.0.1:7700");

    #[test]
    fn the_token_is_needed_however_it_is_brought() {
        assert_eq!(status(&[HOST], None, false), 401);
        assert_eq!(status(&[HOST], Some("secret"), false), 200);
        assert_eq!(status(&[HOST], Some("secre"), false), 401);
        assert_eq!(status(&[HOST, ("authorization", "Bearer secret")], None, false), 200);
        assert_eq!(status(&[HOST, ("authorization", "Bearer wrong")], None, false), 401);
        assert_eq!(status(&[HOST, ("cookie", "a=b; gleaner_7700=secret")], None, false), 200);
        assert_eq!(status(&[HOST, ("cookie", "gleaner_7701=secret")], None, false), 401);
        assert_eq!(status(&[HOST, ("cookie", "gleaner_7700=secret2")], None, false), 401);
    }

    #[test]
    fn a_foreign_name_is_refused_even_with_the_token() {
        for (host, expected) in [
            ("evil.example.com", 403),
            ("evil.example.com:7700", 403),
            ("", 403),
            ("192.168.0.7:7700", 403),
            ("localhost:7700", 200),
            ("[::1]:7700", 200),
            ("Crawler.example.org", 200),
        ] {
            assert_eq!(status(&[("host", host)], Some("secret"), false), expected, "{host}");
        }
    }

    #[test]
    fn changes_come_from_our_own_pages() {
        let with = |extra| status(&[HOST, extra], Some("secret"), true);
        assert_eq!(with(("origin", "http://127.0.0.1:7700")), 200);
        assert_eq!(with(("origin", "http://evil.example.com")), 403);
        assert_eq!(with(("origin", "null")), 403);
        assert_eq!(with(("sec-fetch-site", "cross-site")), 403);
        assert_eq!(with(("sec-fetch-site", "same-site")), 403);
        assert_eq!(with(("x", "no browser")), 200);
    }

    #[test]
    fn a_port_that_others_can_reach_needs_a_good_token() {
        let open = |t: Option<&str>| {
            Guard::new("0.0.0.0:80".parse().unwrap(), t.map(String::from), Vec::new(), 1.0).is_ok()
        };
        assert!(!open(None) && !open(Some("short")) && open(Some("0123456789abcdef")));
        assert!(!open(Some("0123456789abcdef; Path=/")));
        let addr = "127.0.0.1:0".parse().unwrap();
        let (a, b) =
            (Guard::new(addr, None, vec![], 1.0).unwrap(), Guard::new(addr, None, vec![], 1.0).unwrap());
        assert!(a.token().len() >= 48 && a.token() != b.token());
    }

    #[test]
    fn a_request_with_two_hosts_is_refused() {
        let bearer = ("authorization", "Bearer secret");
        assert_eq!(status(&[HOST, ("host", "evil.example.com"), bearer], None, false), 400);
        assert_eq!(status(&[HOST, HOST, bearer], None, false), 400);
    }

    #[test]
    fn wrong_tokens_are_answered_one_per_second() {
        let start = Instant::now();
        let answered = |wrong: &mut WrongTokens, ips: u8, per_second: u32, seconds: u32| {
            let mut leave = Vec::new();
            for n in 0..per_second * seconds {
                let now = start + Duration::from_secs(1) / per_second * n;
                let ip = IpAddr::from([10, 0, 0, (n % u32::from(ips)) as u8]);
                leave.extend(wrong.wait(ip, now).map(|wait| now + wait));
            }
            leave.iter().filter(|t| **t < start + Duration::from_secs(seconds.into())).count() as u32
        };
        for ips in [1, 200] {
            let n = answered(&mut WrongTokens::default(), ips, 1000, 30);
            assert!((30..=30 + AT_ONCE).contains(&n), "{n} answers to {ips} addresses");
        }
        // Somebody else who mistypes during a flood is told so.
        let mut wrong = WrongTokens::default();
        answered(&mut wrong, 1, 1000, 5);
        assert!(wrong.wait([10, 9, 9, 9].into(), start + Duration::from_secs(5)).is_some());
        // A cookie of an earlier run is a wrong token, no token at all is not.
        let g = guard();
        assert!(g.has_token(&headers(&[("cookie", "gleaner_7700=old")]), None));
        assert!(
            !g.has_token(&headers(&[("cookie", "other=1")]), None) && g.has_token(&headers(&[]), Some(""))
        );
    }

    #[test]
    fn a_bucket_fills_with_time() {
        let mut b = Bucket::new(2.0, 3.0);
        let t = b.at;
        assert!((0..3).all(|_| b.take(t)) && !b.take(t));
        assert!(b.take(t + Duration::from_millis(600)) && !b.take(t + Duration::from_millis(600)));
    }
}
