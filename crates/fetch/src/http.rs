//! The live web: [`Http`] fetches one URL per call.

use crate::connect::{Connector, NoPlace};
use crate::cookies::Jar;
use crate::decode::{self, Coding, codings, decode};
use crate::dns::{Resolve, System};
use crate::exchange::{self, LateKind, NoHead, Pace, Piece, Timer};
use crate::login::Logins;
use crate::media::{Check, ENOUGH, WantedTypes};
use crate::pool::{Conn, Limits, NoBody, Pool};
use crate::{Settings, headers, robots};
use bytes::Bytes;
use hyper::body::{Body, Incoming};
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use hyper::{Response, Uri, Version, header};
use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio::time::Instant;
use types::{
    Canon, Failure, FetchFuture, Fetched, Millis, Payload, Problem, Request, Task, Truncation, Url, Web,
};
use url::Position;

/// Redirects followed for a robots.txt (RFC 9309 §2.3.1.2).
const ROBOTS_HOPS: usize = 5;
/// Bodies of redirects and errors are kept for the archive, but nobody needs much of them.
const MAX_OTHER_BODY: usize = 64 << 10;

/// Fetches over HTTP/1.1 and HTTP/2. One per crawl: it holds the connections, names and TLS sessions.
pub struct Http {
    connector: Connector,
    pool: Pool,
    wanted: WantedTypes,
    timeout: Duration,
    idle_timeout: Duration,
    pace: Pace,
    max_body: usize,
    limits: Limits,
    /// Only when the settings want cookies.
    jar: Option<Jar>,
    logins: Logins,
    /// Headers that are the same in every request, in the order they are sent.
    common: Vec<(HeaderName, HeaderValue)>,
    /// The same as text, for `request_head`.
    common_text: String,
    /// Names a redirect of robots.txt may lead to.
    canon: Canon,
}

/// What is asked of one hop.
struct Hop<'a> {
    url: &'a Url,
    etag: Option<&'a str>,
    last_modified: Option<&'a str>,
    max_body: usize,
    /// Check the media type, and give up what is not wanted.
    picky: bool,
    /// What is asked for in place of pages: `Accept` of a script, a style sheet, data.
    accept: Option<&'a str>,
}

impl Http {
    /// A fetcher that looks names up with the system's resolver.
    pub fn new(settings: Settings) -> Result<Http, Problem> {
        Http::with_resolver(settings, Arc::new(System))
    }

    /// With another source of addresses than the operating system. The guard applies all the same.
    pub fn with_resolver(settings: Settings, resolver: Arc<dyn Resolve>) -> Result<Http, Problem> {
        settings.check()?;
        let mut common = Vec::new();
        let mut common_text = String::new();
        let mut add = |name: HeaderName, label: &str, value: String, setting: &str| {
            let parsed = HeaderValue::try_from(value.as_str()).map_err(|_| {
                Problem::usage(format!("{setting} cannot be sent in an HTTP header"))
                    .because(format!("`{}` has characters that are not allowed there", value.escape_debug()))
                    .hint("use plain ASCII letters, digits and punctuation")
            })?;
            common_text.push_str(&format!("{label}: {value}\r\n"));
            common.push((name, parsed));
            Ok::<(), Problem>(())
        };
        add(header::USER_AGENT, "User-Agent", settings.user_agent_sent(), "the user agent")?;
        add(header::ACCEPT, "Accept", settings.accept_header(), "the list of media types")?;
        add(header::ACCEPT_ENCODING, "Accept-Encoding", "gzip, br, zstd, deflate".into(), "")?;
        if let Some(languages) = settings.accept_language() {
            add(header::ACCEPT_LANGUAGE, "Accept-Language", languages, "the list of languages")?;
        }
        for (name, value) in &settings.headers {
            // A secret: neither in the errors nor in the copy of the request.
            let bad = || Problem::usage(format!("the header `{}` cannot be sent", name.escape_debug()));
            let parsed = HeaderName::try_from(name.as_str()).map_err(|_| bad())?;
            let mut value = HeaderValue::try_from(value.as_str()).map_err(|_| bad())?;
            value.set_sensitive(true);
            common.push((parsed, value));
        }
        Ok(Http {
            connector: Connector::new(&settings, resolver)?,
            pool: Pool::new(settings.max_idle, settings.max_idle_per_origin),
            wanted: WantedTypes::new(&settings.accept),
            timeout: settings.timeout,
            idle_timeout: settings.idle_timeout,
            pace: Pace::new(settings.min_rate, settings.rate_window),
            max_body: settings.max_body,
            limits: Limits { max_headers: settings.max_headers },
            jar: Jar::begin(settings.cookies, &settings.cookie_lines)?,
            logins: Logins::new(&settings.logins)?,
            common,
            common_text,
            canon: Canon::exact(),
        })
    }

    async fn page(&self, request: &Request) -> Fetched {
        let hop = Hop {
            url: &request.url,
            etag: request.etag.as_deref(),
            last_modified: request.last_modified.as_deref(),
            max_body: self.max_body,
            picky: true,
            accept: None,
        };
        self.hop(hop, &mut (Instant::now() + self.timeout)).await
    }

    /// Something that a page needs to be shown: a script, a style sheet, data. Of any type, one hop, within
    /// the limits of a page.
    pub async fn resource(&self, url: &Url, accept: &str) -> Fetched {
        let hop = Hop {
            url,
            etag: None,
            last_modified: None,
            max_body: self.max_body,
            picky: false,
            accept: Some(accept),
        };
        self.hop(hop, &mut (Instant::now() + self.timeout)).await
    }

    /// robots.txt, through up to five redirects; the answer is the last one's, the URL the one asked for.
    async fn robots(&self, request: &Request) -> Fetched {
        let mut deadline = Instant::now() + self.timeout;
        let mut url = request.url.clone();
        for hop in 0.. {
            let ask = Hop {
                url: &url,
                etag: None,
                last_modified: None,
                max_body: robots::MAX_SIZE,
                picky: false,
                accept: None,
            };
            let mut answer = self.hop(ask, &mut deadline).await;
            let target = answer.location.as_deref().filter(|_| answer.is_redirect() && hop < ROBOTS_HOPS);
            match target.and_then(|t| self.canon.parse(t).ok()) {
                Some(next) => url = next,
                None => {
                    answer.url = request.url.clone();
                    return answer;
                }
            }
        }
        Fetched::empty(request.url.clone(), Millis::now())
    }

    /// One hop. `deadline` is moved by the time that was spent waiting for a name.
    async fn hop(&self, hop: Hop<'_>, deadline: &mut Instant) -> Fetched {
        let start = Instant::now();
        let mut fetched = Fetched::empty(hop.url.clone(), Millis::now());
        if let Err(failure) = self.exchange(&hop, deadline, &mut fetched).await {
            fetched.failure = Some(failure);
        }
        fetched.elapsed = start.elapsed();
        fetched
    }

    /// Fills in `fetched`; the error is why there is nothing (more) to fill in.
    async fn exchange(
        &self,
        hop: &Hop<'_>,
        deadline: &mut Instant,
        fetched: &mut Fetched,
    ) -> Result<(), Failure> {
        self.connector.admit(hop.url)?;
        let origin = self.origin(hop.url);
        let mut kept = self.pool.take(origin).await;
        let (mut conn, mut timer, response) = loop {
            let mut conn = match kept.take() {
                Some(conn) => conn,
                None => self.open(hop, deadline, fetched).await?,
            };
            let (request, head) = self.request(hop, conn.protocol())?;
            let mut timer = Timer::new(*deadline, self.idle_timeout, self.pace);
            conn.allowance.renew();
            fetched.ip = conn.ip;
            fetched.protocol = conn.protocol();
            fetched.request_head = head;
            match exchange::head(&mut conn, request, &mut timer).await {
                Ok(response) => break (conn, timer, response),
                // The server closed the kept connection just as we used it. Asking again is safe: it is a
                // GET.
                Err(NoHead::Failed(e)) if conn.reused && !e.is_parse() && !exchange::is_flood(&e) => {
                    kept = None
                }
                Err(NoHead::Failed(e)) => return Err(exchange::failure(&e)),
                Err(NoHead::Late(late)) => return Err(self.late(late, "no answer")),
            }
        };
        timer.progress();
        conn.allowance.renew();
        fetched.status = response.status().as_u16();
        fetched.headers = headers::all(response.headers());
        fetched.location = match fetched.status {
            300..=399 => fetched.header("location").and_then(|l| headers::location(hop.url.as_url(), l)),
            _ => None,
        };
        if let Some(jar) = &self.jar {
            let set = fetched.headers.iter().filter(|(name, _)| name == "set-cookie");
            jar.keep(hop.url, set.map(|(_, value)| value.as_str()), SystemTime::now());
        }
        let server_date = fetched.header("date");
        fetched.retry_after = fetched
            .header("retry-after")
            .and_then(|v| headers::retry_after(v, server_date, SystemTime::now()));

        let whole = self.body(hop, &mut conn, response, &mut timer, fetched).await?;
        // Asked twice, here and when it is taken again: the first time lets the parser finish this answer, so
        // that the second one sees what came after it.
        if whole && conn.is_usable().await {
            self.pool.put(origin, conn);
        }
        Ok(())
    }

    /// Reads the body; true when it came to its end, so the connection can be used again.
    async fn body(
        &self,
        hop: &Hop<'_>,
        conn: &mut Conn,
        response: Response<Incoming>,
        timer: &mut Timer,
        fetched: &mut Fetched,
    ) -> Result<bool, Failure> {
        let success = (200..300).contains(&fetched.status);
        let picky = hop.picky && success && !matches!(fetched.status, 204 | 205);
        let media_type = if picky { fetched.media_type() } else { String::new() };
        let mut undecided = picky
            && match self.wanted.check(&media_type) {
                Check::Wanted => false,
                Check::Look => true,
                // Dropping the connection (or resetting the stream) tells the server to stop.
                Check::Unwanted => return Err(Failure::Unwanted(media_type)),
            };
        let codings = content_codings(&fetched.headers);
        let cap = if success { hop.max_body } else { hop.max_body.min(MAX_OTHER_BODY) };
        let mut body = response.into_body();
        let expected = body.size_hint().exact().unwrap_or(8 << 10);
        let mut wire = Vec::with_capacity((expected as usize).min(cap).min(1 << 20));
        let mut broken = None;
        let begun = Instant::now();
        let whole = loop {
            match exchange::piece(conn, &mut body, timer).await {
                Piece::Data(data) => {
                    conn.allowance.earn(data.len());
                    let room = cap - wire.len();
                    wire.extend_from_slice(data.get(..room).unwrap_or(&data));
                    if undecided && wire.len() >= ENOUGH {
                        self.look(&codings, &wire, &media_type)?;
                        undecided = false;
                    }
                    if data.len() > room {
                        fetched.truncated = Some(Truncation::Length);
                        break false;
                    }
                }
                Piece::End => break true,
                Piece::Late(late) => {
                    fetched.truncated = Some(Truncation::Time);
                    broken = Some(self.late(late, "the body stopped coming"));
                    break false;
                }
                Piece::Failed(e) => {
                    fetched.truncated = Some(Truncation::Disconnect);
                    broken = Some(exchange::failure(&e));
                    break false;
                }
            }
        };
        fetched.wire_bytes = wire.len() as u64;
        let dripped = matches!(broken, Some(Failure::Slow(_)))
            && self.pace.is_slow(fetched.wire_bytes, begun.elapsed());
        if let Some(failure) = broken.filter(|_| wire.is_empty() || dripped) {
            // Headers and then nothing, or a drip all along: not even the beginning of a page. What only
            // stalled towards its end is half a page.
            return Err(failure);
        }
        if undecided && !wire.is_empty() {
            self.look(&codings, &wire, &media_type)?;
        }
        let wire: Arc<[u8]> = wire.into();
        let mut decoded = decode(&codings, &wire, hop.max_body);
        if picky && is_gzip_file(&media_type, decoded.bytes.as_deref().unwrap_or(&wire)) {
            let inside = decode(&[Coding::Gzip], decoded.bytes.as_deref().unwrap_or(&wire), hop.max_body);
            decoded =
                decode::Decoded { bytes: inside.bytes.or(decoded.bytes), cut: decoded.cut.or(inside.cut) };
        }
        fetched.truncated = fetched.truncated.or(decoded.cut);
        let decoded = decoded.bytes.map_or_else(|| wire.clone(), Arc::from);
        fetched.payload = Payload::Bytes { wire, decoded };
        Ok(whole)
    }

    fn look(&self, codings: &[Coding], wire: &[u8], declared: &str) -> Result<(), Failure> {
        self.wanted.look(codings, wire).map_err(|seen| {
            Failure::Unwanted(if declared.is_empty() || declared == seen {
                seen.to_string()
            } else {
                format!("{seen} (declared as {declared})")
            })
        })
    }

    async fn open(
        &self,
        hop: &Hop<'_>,
        deadline: &mut Instant,
        fetched: &mut Fetched,
    ) -> Result<Conn, Failure> {
        let before = Instant::now();
        let place = self.connector.locate(hop.url).await.map_err(|e| match e {
            NoPlace::Failed(failure) => failure,
            NoPlace::Later(after) => {
                fetched.retry_after = Some(after);
                Failure::Postponed(format!("{} is still being looked up", hop.url.host()))
            }
        })?;
        *deadline += before.elapsed();
        let open = async { Conn::open(self.connector.connect(hop.url, &place).await?, self.limits).await };
        match tokio::time::timeout_at(*deadline, open).await {
            Ok(result) => result,
            Err(_) => Err(self.late(LateKind::Total, "no connection")),
        }
    }

    fn late(&self, late: LateKind, what: &str) -> Failure {
        Failure::Timeout(match late {
            LateKind::Total => format!("{what} within {:?}", self.timeout),
            LateKind::Idle => format!("{what}: silent for {:?}", self.idle_timeout),
            LateKind::Slow => {
                let (least, window) = (self.pace.least, self.pace.window);
                return Failure::Slow(format!("fewer than {least} bytes a second, over {window:?}"));
            }
        })
    }

    /// Which connections this URL may use: those of its origin, or any to the proxy for plain http.
    fn origin<'a>(&'a self, url: &'a Url) -> &'a str {
        match self.connector.proxy(url).filter(|_| self.connector.is_forwarded(url)) {
            Some(proxy) => &proxy.origin,
            None => &url.as_url()[..Position::BeforePath],
        }
    }

    /// The headers of every request as text, with another `Accept` if there is one.
    fn common_text(&self, accept: Option<&str>) -> Cow<'_, str> {
        let Some(accept) = accept else { return Cow::Borrowed(&self.common_text) };
        let line = |line: &str| match line.starts_with("Accept: ") {
            true => format!("Accept: {accept}\r\n"),
            false => line.to_string(),
        };
        Cow::Owned(self.common_text.split_inclusive("\r\n").map(line).collect())
    }

    /// The request, and its head as text.
    fn request(&self, hop: &Hop<'_>, protocol: &str) -> Result<(hyper::Request<NoBody>, String), Failure> {
        let url = hop.url.as_url();
        let path = &url[Position::BeforePath..Position::AfterQuery];
        let whole = &url[..Position::AfterQuery];
        let http2 = protocol == "HTTP/2";
        let proxied = self.connector.is_forwarded(hop.url);
        // HTTP/2 has scheme and authority as fields of their own, proxies want the whole URL.
        let target = if http2 || proxied { whole } else { path };
        let bad = |e: &dyn std::fmt::Display| Failure::Unsupported(format!("cannot be sent: {e}"));
        let uri = Uri::from_maybe_shared(Bytes::copy_from_slice(target.as_bytes())).map_err(|e| bad(&e))?;

        let host = hop.url.host_key();
        let mut head = String::with_capacity(64 + target.len() + host.len() + self.common_text.len());
        let line = if proxied { whole } else { path };
        let common = self.common_text(hop.accept);
        for part in ["GET ", line, " ", protocol, "\r\nHost: ", host, "\r\n", &common] {
            head.push_str(part);
        }
        let mut map = HeaderMap::with_capacity(self.common.len() + 4);
        if !http2 {
            map.insert(header::HOST, HeaderValue::from_str(host).map_err(|e| bad(&e))?);
        }
        for (name, value) in &self.common {
            map.insert(name.clone(), value.clone());
        }
        if let Some(accept) = hop.accept {
            map.insert(header::ACCEPT, HeaderValue::from_str(accept).map_err(|e| bad(&e))?);
        }
        let cookie = self.jar.as_ref().and_then(|jar| jar.header(hop.url, SystemTime::now()));
        let optional = [
            (header::IF_NONE_MATCH, "If-None-Match", hop.etag),
            (header::IF_MODIFIED_SINCE, "If-Modified-Since", hop.last_modified),
        ];
        for (name, label, value) in optional {
            // These come from servers; what cannot be sent back is left out.
            if let Some(value) = value
                && let Ok(parsed) = HeaderValue::from_str(value)
            {
                map.insert(name, parsed);
                for part in [label, ": ", value, "\r\n"] {
                    head.push_str(part);
                }
            }
        }
        // What follows is sent, but not in `head`: that goes to the archive.
        if let Some(value) = cookie.and_then(|cookie| HeaderValue::try_from(cookie).ok()) {
            map.insert(header::COOKIE, value);
        }
        for (name, value) in self.logins.headers(hop.url) {
            map.insert(name.clone(), value.clone());
        }
        if let Some(proxy) = self.connector.proxy(hop.url).filter(|_| proxied)
            && let Some(secret) = proxy.authorization.as_deref()
            && let Ok(value) = HeaderValue::from_str(secret)
        {
            map.insert(header::PROXY_AUTHORIZATION, value);
        }
        head.push_str("\r\n");

        let mut request = hyper::Request::new(NoBody::new());
        *request.uri_mut() = uri;
        *request.headers_mut() = map;
        if http2 {
            *request.version_mut() = Version::HTTP_2;
        }
        Ok((request, head))
    }
}

impl Web for Http {
    fn fetch<'a>(&'a self, request: &'a Request) -> FetchFuture<'a> {
        match request.task {
            Task::Page => Box::pin(self.page(request)),
            Task::Robots => Box::pin(self.robots(request)),
        }
    }
}

fn content_codings(headers: &[(String, String)]) -> Vec<Coding> {
    let values = headers.iter().filter(|(name, _)| name == "content-encoding");
    values.flat_map(|(_, value)| codings(value)).collect()
}

/// A compressed sitemap: a gzip file, not a gzip-encoded answer.
fn is_gzip_file(media_type: &str, bytes: &[u8]) -> bool {
    let says_so =
        matches!(media_type, "application/gzip" | "application/x-gzip" | "application/octet-stream" | "");
    says_so && bytes.starts_with(&[0x1f, 0x8b])
}
