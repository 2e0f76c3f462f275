//! What one crawl decides about fetching.

use crate::login::Login;
use crate::rule::ResolveRule;
use std::time::Duration;
use types::{FORMATS, Format, PageKind, Problem};

/// Documents that `Accept` names.
const NAMED: [PageKind; 2] = [PageKind::Text, PageKind::Pdf];

/// How to fetch. [`Default`] is polite and safe; the application fills in the rest from the user's settings.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Product token and version; robots.txt groups are matched against the token.
    pub user_agent: String,
    /// A URL or mail address where the owner of a site reaches whoever runs this crawl.
    pub contact: Option<String>,
    /// From the start of a fetch to its last byte.
    pub timeout: Duration,
    /// For the name look-up, and again for TCP and TLS together. Waiting for our own look-ups is no part of
    /// it.
    pub connect_timeout: Duration,
    /// How long a fetch waits for its host's name before it says [`types::Failure::Postponed`] (the look-up
    /// goes on); the more names are open, the less. `None` = as long as it takes.
    pub name_patience: Option<Duration>,
    /// Longest silence of the server, before the headers and between pieces of the body.
    pub idle_timeout: Duration,
    /// Fewer bytes of a body per second than this, over `rate_window`, end it. 0 = any pace will do.
    pub min_rate: u64,
    /// Stretches of time that `min_rate` is measured over, from the first byte of the body on.
    pub rate_window: Duration,
    /// Bodies are cut here, in bytes on the wire and again in bytes after content decoding.
    pub max_body: usize,
    /// Largest response head, in bytes.
    pub max_headers: usize,
    /// Media types wanted; `type/*` and `*/*` work. Anything else is aborted after its headers.
    pub accept: Vec<String>,
    /// Lifts the SSRF guard.
    pub allow_private: bool,
    /// `http://[user:password@]host:port` of proxies, or with `https`, `socks5` or `socks5h`. Each host keeps
    /// to one of them.
    pub proxies: Vec<String>,
    /// What is sent to some hosts only.
    pub logins: Vec<Login>,
    /// Cookies to begin with, as in a `cookies.txt`.
    pub cookie_lines: String,
    /// Where hosts are; the first rule that matches wins.
    pub resolve: Vec<ResolveRule>,
    /// Keep and send cookies, in memory, within each site.
    pub cookies: bool,
    /// Offer HTTP/2 to servers that speak TLS.
    pub http2: bool,
    /// `Accept-Language`, best first. Empty = the header is not sent.
    pub languages: Vec<String>,
    /// Further headers of every request (a search engine's key). Their values are in no copy of the request.
    pub headers: Vec<(String, String)>,
    /// Certificates (DER) trusted besides the public ones, for intranets and tests.
    pub extra_roots: Vec<Vec<u8>>,
    /// Idle connections kept, in all.
    pub max_idle: usize,
    /// Idle connections kept of one origin: as many as there are requests to one host at a time, or each
    /// burst opens its connections anew.
    pub max_idle_per_origin: usize,
}

impl Default for Settings {
    fn default() -> Self {
        let pages = [
            "text/html",
            "application/xhtml+xml",
            "application/xml",
            "text/xml",
            "application/rss+xml",
            "application/atom+xml",
            "application/gzip",
        ];
        let documents = FORMATS.iter().flat_map(|f| f.media_types).copied();
        Settings {
            user_agent: "Gleaner/0.1".into(),
            contact: None,
            timeout: Duration::from_secs(30),
            connect_timeout: Duration::from_secs(10),
            name_patience: None,
            idle_timeout: Duration::from_secs(15),
            min_rate: 1_000,
            rate_window: Duration::from_secs(10),
            max_body: 5 << 20,
            max_headers: 64 << 10,
            accept: pages.into_iter().chain(documents).map(String::from).collect(),
            allow_private: false,
            proxies: Vec::new(),
            logins: Vec::new(),
            cookie_lines: String::new(),
            resolve: Vec::new(),
            cookies: false,
            http2: true,
            languages: Vec::new(),
            headers: Vec::new(),
            extra_roots: Vec::new(),
            max_idle: 256,
            max_idle_per_origin: 4,
        }
    }
}

impl Settings {
    /// The `User-Agent` as sent: `Gleaner/0.1 (+https://example.org/why)`.
    pub fn user_agent_sent(&self) -> String {
        match &self.contact {
            Some(contact) if !self.user_agent.contains(contact.as_str()) => {
                format!("{} (+{contact})", self.user_agent)
            }
            _ => self.user_agent.clone(),
        }
    }

    /// May this crawl go to other people's servers? Only when they can find out whose it is.
    ///
    /// Not asked of crawls that stay on this machine ([`Settings::is_local_only`]).
    pub fn check_public(&self) -> Result<(), Problem> {
        let reachable = |text: &str| text.contains('@') || text.contains("://");
        // A user agent of one's own may say it itself.
        if self.contact.as_deref().is_some_and(reachable)
            || (self.contact.is_none() && reachable(&self.user_agent))
        {
            return Ok(());
        }
        let p = match &self.contact {
            None => Problem::usage("no contact is set, and crawling other people's servers needs one"),
            Some(c) => Problem::usage(format!("the contact `{c}` is neither a URL nor a mail address")),
        };
        Err(p.because("whoever runs a site must be able to reach whoever crawls it").hint(
            "say --contact you@example.org (or a URL), or add `contact = \
             \"https://example.org/about-my-crawl\"` under \
             [fetch] in the topic file; a crawl of this machine only (--resolve '*:127.0.0.1:8080' \
             --allow-private) does \
             not need it",
        ))
    }

    /// Every request goes to this machine: a rule sends all hosts to a loopback address.
    pub fn is_local_only(&self) -> bool {
        let every = self.resolve.iter().find_map(|r| match r {
            ResolveRule::Every { to } => Some(to.ip()),
            ResolveRule::Host { .. } => None,
        });
        let others_local = self.resolve.iter().all(|r| match r {
            ResolveRule::Host { to, .. } => to.ip().is_loopback(),
            ResolveRule::Every { .. } => true,
        });
        self.proxies.is_empty() && others_local && every.is_some_and(|ip| ip.is_loopback())
    }

    pub(crate) fn check(&self) -> Result<(), Problem> {
        let zero = |name: &str, value: Duration| {
            if value.is_zero() {
                Err(Problem::usage(format!("{name} is zero: nothing could ever be fetched")))
            } else {
                Ok(())
            }
        };
        zero("the timeout", self.timeout)?;
        zero("the connect timeout", self.connect_timeout)?;
        zero("the idle timeout", self.idle_timeout)?;
        zero("the window of the least pace", self.rate_window)?;
        if self.max_body == 0 {
            return Err(Problem::usage("the page size limit is zero: nothing could ever be fetched"));
        }
        if !self.proxies.is_empty() && !self.resolve.is_empty() {
            return Err(Problem::usage("--proxy and --resolve contradict each other")
                .because("through a proxy, the proxy looks up the names")
                .hint("leave one of them out"));
        }
        Ok(())
    }

    pub(crate) fn accept_header(&self) -> String {
        // `*/*` at the end: some servers answer 406 to anyone who does not take everything.
        let mut out = String::new();
        // There are too many kinds of documents to name them all to everyone.
        let named = |t: &&String| {
            *t != "*/*"
                && Format::of_media_type(t)
                    .is_none_or(|f| f.media_types.first() == Some(&t.as_str()) && NAMED.contains(&f.kind))
        };
        for (i, media_type) in self.accept.iter().filter(named).enumerate() {
            out.push_str(media_type.trim());
            out.push_str(if i < 2 { "," } else { ";q=0.9," });
        }
        out + "*/*;q=0.1"
    }

    pub(crate) fn accept_language(&self) -> Option<String> {
        let wanted = self.languages.iter().take(8).enumerate().map(|(i, language)| match i {
            0 => language.clone(),
            _ => format!("{language};q=0.{}", 10 - i),
        });
        let wanted: Vec<String> = wanted.chain(["*;q=0.1".to_string()]).collect();
        (!self.languages.is_empty()).then(|| wanted.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_agent_and_contact() {
        let mut s = Settings::default();
        assert_eq!(s.user_agent_sent(), "Gleaner/0.1");
        let problem = s.check_public().unwrap_err();
        assert!(problem.to_string().contains("hint: say --contact"), "{problem}");
        assert_eq!(problem.exit_code(), 2);
        s.contact = Some("me".into());
        assert!(s.check_public().is_err());
        s.contact = Some("https://example.org/crawl".into());
        assert_eq!(s.user_agent_sent(), "Gleaner/0.1 (+https://example.org/crawl)");
        assert_eq!(s.check_public(), Ok(()));
        s.user_agent = "Mine/2 (https://example.org/crawl)".into();
        assert_eq!(s.user_agent_sent(), "Mine/2 (https://example.org/crawl)");
        s.contact = None;
        assert_eq!(s.check_public(), Ok(()), "the user agent says it");
    }

    #[test]
    fn local_only() {
        let with = |rules: &[&str]| Settings {
            resolve: rules.iter().map(|r| r.parse().unwrap()).collect(),
            ..Settings::default()
        };
        assert!(with(&["*:127.0.0.1:80"]).is_local_only());
        assert!(with(&["*:[::1]:80"]).is_local_only());
        assert!(!with(&[]).is_local_only());
        assert!(!with(&["*:10.0.0.1:80"]).is_local_only());
        assert!(!with(&["example.org:80:127.0.0.1:80"]).is_local_only());
        assert!(!with(&["example.org:80:93.184.216.34:80", "*:127.0.0.1:80"]).is_local_only());
    }

    #[test]
    fn contradictions() {
        let s = Settings {
            proxies: vec!["http://127.0.0.1:3128".into()],
            resolve: vec!["*:127.0.0.1:80".parse().unwrap()],
            ..Settings::default()
        };
        assert!(s.check().unwrap_err().to_string().contains("--proxy and --resolve"));
        assert!(Settings { timeout: Duration::ZERO, ..Settings::default() }.check().is_err());
        assert!(Settings { max_body: 0, ..Settings::default() }.check().is_err());
        assert!(Settings::default().check().is_ok());
    }

    #[test]
    fn negotiation_headers() {
        let mut s = Settings {
            accept: vec!["text/html".into(), "text/plain".into(), "a/b".into()],
            ..Settings::default()
        };
        assert_eq!(s.accept_header(), "text/html,text/plain,a/b;q=0.9,*/*;q=0.1");
        assert_eq!(s.accept_language(), None);
        s.languages = vec!["de".into(), "en".into()];
        assert_eq!(s.accept_language().as_deref(), Some("de,en;q=0.9,*;q=0.1"));
    }
}
