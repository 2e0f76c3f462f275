//! The sections of a topic file, each with its defaults. A new setting is a field here, with a line that says
//! what it does, and a value in the `Default` of its section.

use crate::documents::DocumentLimits;
use crate::units::{Size, Span};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;
use types::{FORMATS, Problem};

/// Where to start.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Seeds {
    /// Written in the topic file itself.
    pub urls: Vec<String>,
    /// Files with one URL per line, or `set<TAB>url` lines chosen with `FILE#SET`.
    pub files: Vec<String>,
    /// Sitemaps whose pages are fetched.
    pub sitemaps: Vec<String>,
    /// Feeds whose pages are fetched.
    pub feeds: Vec<String>,
    /// Nothing but the seeds and what these sitemaps and feeds list: links of pages are not followed.
    pub only: bool,
}

/// A list of what is allowed, or a table with `allow` and `deny` lists. Empty = everything. Deny wins.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Rules {
    /// If there is any, what matches none is left out.
    pub allow: Vec<String>,
    /// What matches one is left out.
    pub deny: Vec<String>,
}

impl<'de> Deserialize<'de> for Rules {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Rules, D::Error> {
        #[derive(Deserialize)]
        #[serde(default, deny_unknown_fields)]
        #[derive(Default)]
        struct Both {
            allow: Vec<String>,
            deny: Vec<String>,
        }
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "a list of what is allowed, or a table { allow = […], deny = […] }")]
        enum Either {
            List(Vec<String>),
            Both(Both),
        }
        Ok(match Either::deserialize(d)? {
            Either::List(allow) => Rules { allow, deny: Vec::new() },
            Either::Both(b) => Rules { allow: b.allow, deny: b.deny },
        })
    }
}

/// Which URLs may be fetched at all.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ScopeSection {
    /// Host names; `*.example.org` covers the domain and everything below it.
    pub hosts: Rules,
    /// Registrable domains (`example.org` covers all its hosts) or suffixes (`edu`).
    pub domains: Rules,
    /// Regular expressions matched against the whole URL.
    pub patterns: Rules,
    /// File name extensions of URLs. The default denies what cannot be read.
    pub file_types: Rules,
    /// Kinds of document that are read: all that can be, unless some are named.
    pub documents: Vec<String>,
    /// ISO 639-1 codes. A page in another language is not relevant.
    pub languages: Vec<String>,
    /// Stay on the hosts of the seeds.
    pub seed_hosts_only: bool,
    /// Query parameters to drop from URLs, beside the known tracking and session ones.
    pub drop_params: Vec<String>,
}

/// Extensions of things that are never a page.
const BINARY: &[&str] = &[
    "7z", "aac", "ai", "apk", "avi", "avif", "bin", "bmp", "bz2", "class", "css", "dat", "deb", "dll", "dmg",
    "doc", "eot", "eps", "exe", "flac", "flv", "gif", "gz", "ico", "img", "iso", "jar", "jpeg", "jpg", "js",
    "m4a", "m4v", "mid", "mkv", "mov", "mp3", "mp4", "mpeg", "mpg", "msi", "o", "ogg", "ogv", "otf", "pkg",
    "png", "ppt", "ps", "psd", "rar", "rpm", "so", "svg", "swf", "tar", "tgz", "tif", "tiff", "ttf", "wasm",
    "wav", "webm", "webp", "wma", "wmv", "woff", "woff2", "xls", "xz", "z", "zip", "zst",
];

impl Default for ScopeSection {
    fn default() -> Self {
        ScopeSection {
            hosts: Rules::default(),
            domains: Rules::default(),
            patterns: Rules::default(),
            file_types: Rules { allow: Vec::new(), deny: BINARY.iter().map(|s| s.to_string()).collect() },
            documents: FORMATS.iter().map(|f| f.name.to_string()).collect(),
            languages: Vec::new(),
            seed_hosts_only: false,
            drop_params: Vec::new(),
        }
    }
}

/// A child process has to start, too.
pub(super) const LEAST_DOCUMENT_TIME: Duration = Duration::from_secs(1);
pub(super) const LEAST_DOCUMENT_MEMORY: u64 = 64 << 20;

pub(super) const LEAST_RENDER_TIME: Duration = Duration::from_secs(1);
pub(super) const LEAST_RENDER_MEMORY: u64 = 128 << 20;
pub(super) const MOST_RENDER_TABS: usize = 64;

/// When to stop, and what not to spend the budget on.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Stop after so many pages (answers with status 200 that could be read).
    pub pages: Option<u64>,
    /// Stop after so many relevant pages.
    pub relevant: Option<u64>,
    /// Stop after so many requests of any kind. With `pages` and without this: ten for each page, and a
    /// thousand.
    pub requests: Option<u64>,
    /// Stop after so long.
    pub time: Option<Span>,
    /// Stop before the collection's folder takes more.
    pub disk: Option<Size>,
    /// Stop while so much of the disk is free.
    pub disk_free: Size,
    /// Stop when nothing can be fetched for longer than this, because hosts asked for a pause.
    pub max_wait: Span,
    /// Links from a seed.
    pub depth: Option<u16>,
    /// Links since a host was entered.
    pub site_depth: Option<u16>,
    /// Pages per host.
    pub per_host: Option<u64>,
    /// Links followed per page.
    pub links_per_page: usize,
    /// Longest page read; the rest is cut off (and recorded as cut).
    pub page_size: Size,
    /// Follow a page's links only if its relevance is at least this.
    pub expand_min: f64,
    /// Never fetch a URL whose priority is below this.
    pub floor: Option<f64>,
    /// Rather wait up to so long for a better host than fetch something much worse now. Saves pages, costs
    /// time (ADR 12).
    pub patience: Span,
    /// Worse than this share of what is waited for is much worse.
    pub patience_share: f64,
    /// Redirects followed from one URL.
    pub redirects: u8,
    /// Variants of the query string per page address, against endless calendars and filters.
    pub query_variants: u32,
    /// URLs remembered as pending at most; the worst are refused beyond it.
    pub max_pending: Option<u64>,
    /// Longest that reading one document (a PDF) may take, by the wall's clock and by the processor's.
    pub document_time: Span,
    /// Most memory that reading one document may take.
    pub document_memory: Size,
    /// Processes that read documents, at most.
    pub document_readers: usize,
    /// Longest that showing one page in a browser may take.
    pub render_time: Span,
    /// Most memory that one page may take in a browser.
    pub render_memory: Size,
    /// Pages shown in a browser at the same time, at most.
    pub render_tabs: usize,
    /// Share of the HTML pages of a run that may be shown in a browser.
    pub render_share: f64,
    /// Share of a run's time that each tab may be busy.
    pub render_time_share: f64,
    /// Sitemaps and feeds read of one host.
    pub sitemaps: u32,
    /// Levels of sitemaps that name sitemaps.
    pub sitemap_nesting: u8,
    /// Bytes of one host's sitemaps and feeds.
    pub sitemap_bytes: Size,
    /// URLs taken from one host's sitemaps and feeds.
    pub sitemap_urls: u32,
    /// Share of a host's requests that may go to sitemaps while it has pages to fetch.
    pub sitemap_share: f64,
}

impl Limits {
    /// The budget of requests: what was set, or enough for the pages that are wanted.
    pub fn most_requests(&self) -> Option<u64> {
        let enough = |pages: u64| pages.saturating_mul(10).saturating_add(1_000);
        self.requests.or_else(|| self.pages.map(enough))
    }
}

impl Default for Limits {
    fn default() -> Self {
        let documents = DocumentLimits::default();
        Limits {
            pages: None,
            relevant: None,
            requests: None,
            time: None,
            disk: None,
            disk_free: Size(64 << 20),
            max_wait: Span(Duration::from_secs(20 * 60)),
            depth: None,
            site_depth: None,
            per_host: None,
            links_per_page: 500,
            page_size: Size(5 << 20),
            expand_min: 0.0,
            floor: None,
            patience: Span(Duration::ZERO),
            patience_share: 0.5,
            redirects: 8,
            query_variants: 500,
            max_pending: None,
            document_time: Span(documents.time),
            document_memory: Size(documents.memory),
            document_readers: documents.readers,
            render_time: Span(Duration::from_secs(30)),
            render_memory: Size(1 << 30),
            render_tabs: 2,
            render_share: 1.0,
            render_time_share: 1.0,
            sitemaps: 50,
            sitemap_nesting: 2,
            sitemap_bytes: Size(50 << 20),
            sitemap_urls: 10_000,
            sitemap_share: 0.25,
        }
    }
}

/// How to fetch, politely.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Fetch {
    /// Sent as is when set; otherwise made from our name and `contact`.
    pub user_agent: Option<String>,
    /// A URL or mail address where the owner of a site can reach you. Needed on the public web.
    pub contact: Option<String>,
    /// Requests in flight, over all hosts.
    pub concurrency: usize,
    /// Requests in flight per host.
    pub per_host_in_flight: u32,
    /// Requests in flight over all hosts of one registrable domain. Default: a quarter of `concurrency`, at
    /// least 8.
    pub per_domain_in_flight: Option<u32>,
    /// Requests in flight over all hosts at one address. Default: 2, or `per_host_in_flight` if that is more.
    pub per_address_in_flight: Option<u32>,
    /// Share of the requests in flight that is kept for hosts that are quick.
    pub quick_share: f64,
    /// A host whose last answer took no longer is quick.
    pub quick: Span,
    /// Pause between the end of one request and the start of the next, per host.
    pub delay: Span,
    /// The longest `Crawl-delay` that is honoured in full; hosts asking for more get this.
    pub max_delay: Span,
    /// Total time for one answer.
    pub timeout: Span,
    /// For the name look-up, and again for TCP and TLS together.
    pub connect_timeout: Span,
    /// Fewer bytes of an answer per second than this end it.
    pub min_rate: Size,
    /// Tries per URL.
    pub attempts: u8,
    /// `http://[user:password@]host:port` (or `https`, `socks5`, `socks5h`), for all requests; of several
    /// each host keeps to one. `$NAME`: it is in the environment.
    pub proxy: Proxies,
    /// Obey robots.txt. Turning it off is for your own servers.
    pub robots: bool,
    /// Use the sitemaps that robots.txt names as a source of links.
    pub sitemaps: bool,
    /// Obey `nofollow` (on links and pages).
    pub nofollow: bool,
    /// Keep and send cookies, in memory, within each site.
    pub cookies: bool,
    /// A `cookies.txt` with the cookies to begin with.
    pub cookies_file: Option<String>,
    /// What is sent to some hosts only, by host: names of environment variables.
    pub logins: BTreeMap<String, LoginSection>,
    /// Allow addresses that are not on the public internet.
    pub allow_private: bool,
    /// `HOST:PORT:ADDR:PORT`, or `*:ADDR:PORT` for every host.
    pub resolve: Vec<String>,
    /// `Accept-Language`.
    pub languages: Vec<String>,
    /// Which pages are shown in a browser, so that what their scripts write is read too.
    pub render: Render,
    /// How often a rendered page is scrolled to its end, and "load more" pressed, at most.
    pub scroll: u32,
}

/// Which pages are shown in a browser.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Render {
    /// Those that say little without their scripts, and those like which it was worth while.
    #[default]
    Auto,
    /// None.
    Never,
    /// All HTML pages.
    Always,
}

impl Default for Fetch {
    fn default() -> Self {
        Fetch {
            user_agent: None,
            contact: None,
            concurrency: 32,
            per_host_in_flight: 1,
            per_domain_in_flight: None,
            per_address_in_flight: None,
            quick_share: 0.5,
            quick: Span(Duration::from_secs(3)),
            delay: Span(Duration::from_secs(1)),
            max_delay: Span(Duration::from_secs(60)),
            timeout: Span(Duration::from_secs(30)),
            connect_timeout: Span(Duration::from_secs(10)),
            min_rate: Size(1_000),
            attempts: 3,
            proxy: Proxies::default(),
            robots: true,
            sitemaps: true,
            nofollow: true,
            cookies: false,
            cookies_file: None,
            logins: BTreeMap::new(),
            allow_private: false,
            resolve: Vec::new(),
            languages: Vec::new(),
            render: Render::default(),
            scroll: 5,
        }
    }
}

/// One proxy, or a list of them.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Proxies(pub Vec<String>);

impl<'de> Deserialize<'de> for Proxies {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Proxies, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "the address of a proxy, or a list of them")]
        enum Either {
            One(String),
            List(Vec<String>),
        }
        Ok(Proxies(match Either::deserialize(d)? {
            Either::One(one) => vec![one],
            Either::List(list) => list,
        }))
    }
}

/// What is sent to some hosts. All values are names of environment variables: secrets are in no file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LoginSection {
    /// The variable with `user:password`.
    pub basic: Option<String>,
    /// The variable with a token.
    pub bearer: Option<String>,
    /// Headers, each with the variable that holds its value.
    pub headers: BTreeMap<String, String>,
}

/// What is kept of the pages.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ArchiveSection {
    /// Write WARC files.
    pub warc: bool,
    /// Archive only relevant pages.
    pub only_relevant: bool,
    /// Start a new WARC file at this size.
    pub file_size: Size,
    /// Keep a full-text index.
    pub index: bool,
    /// Write WARC files into a bucket instead, as `s3://BUCKET/PREFIX`. Of a crawl in a shared database only.
    pub to: Option<String>,
    /// With `to`: how long pages wait for others to go with them. What waits is fetched again after a crash.
    pub every: Span,
    /// With `to`: how long a bucket that is away is waited for.
    pub patience: Span,
    /// Who may read a new collection: `private` (its owner), `umask`, or bits as in `0750`.
    pub mode: String,
}

impl Default for ArchiveSection {
    fn default() -> Self {
        ArchiveSection {
            warc: true,
            only_relevant: false,
            file_size: Size(1 << 30),
            index: true,
            to: None,
            every: Span(Duration::from_secs(5)),
            patience: Span(Duration::from_secs(120)),
            mode: "private".into(),
        }
    }
}

/// A language model that is asked about pages. Off unless `url` and `model` are set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TeacherSection {
    /// Address of an OpenAI-compatible API, as in `http://localhost:11434/v1`. The key is in the environment
    /// only.
    pub url: Option<String>,
    /// The model's name there.
    pub model: Option<String>,
    /// Requests, at most, over all runs of the collection.
    pub calls: u64,
    /// Tokens, sent and received, at most, over all runs of the collection.
    pub tokens: u64,
    /// Pages asked about in one request.
    pub batch: usize,
    /// Ask after every so many pages. Default: often at first, then less, until half of `[limits] pages`.
    pub every: Option<u64>,
    /// Characters of a page's text that are sent.
    pub text: usize,
    /// Longest wait for one answer.
    pub timeout: Span,
    /// Longest that the end of a crawl waits for answers.
    pub wait: Span,
}

impl Default for TeacherSection {
    fn default() -> Self {
        TeacherSection {
            url: None,
            model: None,
            calls: 60,
            tokens: 300_000,
            batch: 5,
            every: None,
            text: 2_000,
            timeout: Span(Duration::from_secs(60)),
            wait: Span(Duration::from_secs(30)),
        }
    }
}

/// Who is told of new, changed and gone relevant pages (`gleaner changes --notify`). Nobody unless `webhook`,
/// or `mail` and `to`, are set. Secrets are in the environment only.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NotifySection {
    /// Address that gets a signed POST of JSON. Redirects are not followed.
    pub webhook: Option<String>,
    /// The user's SMTP server, as in `smtps://mail.example.org` (TLS) or `smtp://mail.example.org:587`
    /// (STARTTLS).
    pub mail: Option<String>,
    /// Who writes, as in `Gleaner <gleaner@example.org>`.
    pub from: Option<String>,
    /// Who gets a mail.
    pub to: Vec<String>,
    /// How often it is tried.
    pub tries: u32,
    /// The first pause between two tries; each further one is twice as long.
    pub pause: Span,
    /// Longest wait for one answer.
    pub timeout: Span,
}

impl Default for NotifySection {
    fn default() -> Self {
        NotifySection {
            webhook: None,
            mail: None,
            from: None,
            to: Vec::new(),
            tries: 5,
            pause: Span(Duration::from_secs(2)),
            timeout: Span(Duration::from_secs(30)),
        }
    }
}

impl NotifySection {
    /// What cannot be meant.
    pub(super) fn check(&self) -> Result<(), Problem> {
        let bad = |what: &str, why: &str, hint: &str| {
            Err(Problem::usage(format!("[notify] {what}: {why}")).hint(hint.to_string()))
        };
        let secret = "a password does not belong into a file";
        if let Some(text) = &self.webhook {
            let hint = "as in https://hooks.example.org/gleaner";
            match url::Url::parse(text) {
                Ok(url) if !url.username().is_empty() || url.password().is_some() => {
                    let hint = "what is sent is signed: put the secret into the environment: \
                                GLEANER_WEBHOOK_SECRET=…";
                    return bad("webhook", secret, hint);
                }
                Ok(url) if matches!(url.scheme(), "http" | "https") => {}
                _ => return bad("webhook", "it is not an address of http or https", hint),
            }
        }
        if let Some(text) = &self.mail {
            let hint = "as in smtps://mail.example.org or smtp://mail.example.org:587";
            match url::Url::parse(text) {
                Ok(url) if !url.username().is_empty() || url.password().is_some() => {
                    let hint = "put it into the environment: GLEANER_SMTP_USER=… and GLEANER_SMTP_PASSWORD=…";
                    return bad("mail", secret, hint);
                }
                Ok(url) if matches!(url.scheme(), "smtp" | "smtps") && url.has_host() => {}
                _ => return bad("mail", "it is not an address of smtp or smtps", hint),
            }
            if self.to.is_empty() || self.from.is_none() {
                return bad("mail", "nobody writes, or nobody gets it", "set `from` and `to`, too");
            }
        }
        match self.tries {
            1..=20 => Ok(()),
            _ => bad("tries", "it must be 1–20", "5 tries take about a minute"),
        }
    }
}
