//! The settings of a crawl: one typed struct, read once. A typo is an error that names the nearest key.
//!
//! Two steps: what the user wrote ([`Config`], the topic file with the command line's flags laid over it)
//! becomes what the program uses (`Topic`, `Scope`, `frontier::Limits`, `fetch::Settings`). Defaults are in
//! one place: the `Default` of each section.

use crate::documents::DocumentLimits;
use crate::session::Origin;
use crate::units::{Size, Span};
use focus::topic::{
    ContentSection, ExamplesSection, ExcludeSection, GenreSection, JudgeSection, Sections, StrategySection,
    TextSection, Topic, UrlSection, nearest, presets,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;
use types::{FORMATS, Problem};

/// The topic file. All parts are optional except a name (or query) and something that says what is wanted.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// What the collection is called.
    pub name: Option<String>,
    /// What is wanted, in a sentence.
    pub description: Option<String>,
    /// The shortest topic: words and "phrases" that a wanted page contains.
    pub query: Option<String>,
    /// Kinds of page that are wanted.
    pub genre: GenreSection,
    /// Words of the subject.
    pub content: ContentSection,
    /// Words of addresses.
    pub url: UrlSection,
    /// Words that rule a page out.
    pub exclude: ExcludeSection,
    /// Pages that are, or are not, what is wanted.
    pub examples: ExamplesSection,
    /// Who decides whether a page is wanted.
    pub judge: JudgeSection,
    /// Who decides which link is next.
    pub strategy: StrategySection,
    /// Where to start.
    pub seeds: Seeds,
    /// What may be fetched at all.
    pub scope: ScopeSection,
    /// When to stop, and how much is taken of a host or a page.
    pub limits: Limits,
    /// How fast, and with which manners.
    pub fetch: Fetch,
    /// What is kept of answers.
    pub archive: ArchiveSection,
    /// How words are made from text.
    pub text: TextSection,
    /// A language model that answers questions about pages.
    pub teacher: TeacherSection,
    /// Who is told of what is new.
    pub notify: NotifySection,
    /// Where in which file it all stands, for messages.
    #[serde(skip)]
    pub places: Places,
}

/// Least that `[limits] disk` can be: less would hold no page.
const LEAST_DISK: u64 = 2_000_000;

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
const LEAST_DOCUMENT_TIME: Duration = Duration::from_secs(1);
const LEAST_DOCUMENT_MEMORY: u64 = 64 << 20;

const LEAST_RENDER_TIME: Duration = Duration::from_secs(1);
const LEAST_RENDER_MEMORY: u64 = 128 << 20;
const MOST_RENDER_TABS: usize = 64;

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

/// Who is told of new, changed and gone relevant pages (`gleaner changes --notify`). Nobody unless `webhook`, or `mail`
/// and `to`, are set. Secrets are in the environment only.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NotifySection {
    /// Address that gets a signed POST of JSON. Redirects are not followed.
    pub webhook: Option<String>,
    /// The user's SMTP server, as in `smtps://mail.example.org` (TLS) or `smtp://mail.example.org:587` (STARTTLS).
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
    fn check(&self) -> Result<(), Problem> {
        let bad = |what: &str, why: &str, hint: &str| {
            Err(Problem::usage(format!("[notify] {what}: {why}")).hint(hint.to_string()))
        };
        let secret = "a password does not belong into a file";
        if let Some(text) = &self.webhook {
            let hint = "as in https://hooks.example.org/gleaner";
            match url::Url::parse(text) {
                Ok(url) if !url.username().is_empty() || url.password().is_some() => {
                    let hint = "what is sent is signed: put the secret into the environment: GLEANER_WEBHOOK_SECRET=…";
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

/// A configuration with the origin of its values.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The file with the flags laid over it.
    pub config: Config,
    /// The topic file's text, to be kept with the collection; made from the flags when there is no file.
    pub text: String,
    file: toml::Table,
    flags: toml::Table,
}

impl Config {
    /// From the text of a topic file (`name` is how errors call it), with the flags of a command line, as a
    /// table of the same shape, laid over it.
    pub fn load(text: &str, name: &str, flags: toml::Table) -> Result<Loaded, Problem> {
        // First alone, so that errors have a place; then merged.
        let places = Places::of(text, name);
        let alone: Config = toml::from_str(text).map_err(|e| explain(&e, text, &places))?;
        presets::find_all(&alone.genre.preset.0).map_err(|p| places.put(p))?;
        let file: toml::Table = toml::from_str(text).map_err(|e| explain(&e, text, &places))?;
        let mut merged = file.clone();
        lay_over(&mut merged, &flags);
        let mut config: Config = merged.try_into().map_err(|e: toml::de::Error| {
            Problem::usage(format!("the command line does not fit the settings: {}", e.message()))
        })?;
        config.places = places;
        config.check()?;
        presets::find_all(&config.genre.preset.0)?;
        let text = if text.trim().is_empty() { flags.to_string() } else { text.to_string() };
        Ok(Loaded { config, text, file, flags })
    }

    /// As `load`, from a file.
    pub fn read(path: &Path, flags: toml::Table) -> Result<Loaded, Problem> {
        let text = std::fs::read_to_string(path).map_err(|e| {
            let p = Problem::io("read the topic file", path, &e);
            match e.kind() {
                std::io::ErrorKind::NotFound => p.hint("`gleaner new` writes one"),
                std::io::ErrorKind::InvalidData => p.hint(
                    "it is no text: put the topic file there again; for a collection, \
                     `gleaner repair DIR TOPIC.toml` takes another one",
                ),
                _ => p,
            }
        })?;
        Config::load(&text, &path.display().to_string(), flags)
    }

    /// What the user wants.
    pub fn topic(&self) -> Result<Topic, Problem> {
        let topic = Topic::from_sections(Sections {
            name: self.name.clone(),
            description: self.description.clone(),
            query: self.query.clone(),
            genre: self.genre.clone(),
            content: self.content.clone(),
            url: self.url.clone(),
            exclude: self.exclude.clone(),
            examples: self.examples.clone(),
            judge: self.judge.clone(),
            strategy: self.strategy.clone(),
            text: self.text.clone(),
        });
        topic.map_err(|p| self.places.put(p))
    }

    /// What the collection is called.
    pub fn title(&self) -> &str {
        self.name.as_deref().or(self.query.as_deref()).unwrap_or("collection")
    }

    fn check(&self) -> Result<(), Problem> {
        let at = |what: &str| self.places.put(Problem::usage(what));
        if self.fetch.concurrency == 0 {
            return Err(at("[fetch] concurrency = 0 would fetch nothing").hint("use 1 or more"));
        }
        if self.fetch.per_host_in_flight == 0 {
            return Err(at("[fetch] per_host_in_flight = 0 would fetch nothing").hint("use 1 or more"));
        }
        if self.fetch.per_domain_in_flight == Some(0) || self.fetch.per_address_in_flight == Some(0) {
            return Err(at("[fetch] 0 requests in flight per domain or address would fetch nothing")
                .hint("use 1 or more, or leave per_domain_in_flight and per_address_in_flight out"));
        }
        if !(0.0..=0.9).contains(&self.fetch.quick_share) {
            return Err(at("[fetch] quick_share must be between 0 and 0.9")
                .hint("0.5 keeps half of the requests for hosts that are quick; new hosts need the rest"));
        }
        if self.limits.requests == Some(0) {
            return Err(
                at("[limits] requests = 0 would fetch nothing").hint("leave it out, or use 1 or more")
            );
        }
        if !(0.0..=1.0).contains(&self.limits.sitemap_share) {
            return Err(at("[limits] sitemap_share must be between 0 and 1")
                .hint("0.25 lets every fourth request of a host be one for a sitemap"));
        }
        if self.limits.pages == Some(0) || self.limits.relevant == Some(0) {
            return Err(at("[limits] a limit of 0 pages leaves nothing to do")
                .hint("leave the limit out, or use 1 or more"));
        }
        if self.limits.disk.is_some_and(|most| most.0 < LEAST_DISK) {
            return Err(
                at("[limits] disk is less than a collection takes").hint("leave it out, or use 2MB or more")
            );
        }
        if self.limits.per_host == Some(0) {
            return Err(
                at("[limits] per_host = 0 would fetch nothing").hint("leave it out, or use 1 or more")
            );
        }
        if self.limits.links_per_page == 0 {
            return Err(at("[limits] links_per_page = 0 would follow no link").hint("use 1 or more"));
        }
        let shares = [self.limits.render_share, self.limits.render_time_share];
        if !shares.iter().all(|share| (0.0..=1.0).contains(share)) {
            return Err(at("[limits] render_share and render_time_share must be between 0 and 1")
                .hint("1 is no budget, 0.1 a tenth of the pages or of the time"));
        }
        if !(0.0..=1.0).contains(&self.limits.expand_min) {
            return Err(at("[limits] expand_min must be between 0 and 1"));
        }
        if !(0.0..=1.0).contains(&self.limits.patience_share) {
            return Err(at("[limits] patience_share must be between 0 and 1").hint(
                "0.5 waits when what could be fetched now is worth less than half of what is waited for",
            ));
        }
        if self.limits.document_time.0 < LEAST_DOCUMENT_TIME {
            return Err(at("[limits] document_time is too short to read anything").hint("use 1s or more"));
        }
        if self.limits.document_memory.0 < LEAST_DOCUMENT_MEMORY {
            return Err(
                at("[limits] document_memory is too little to read anything").hint("use 64MiB or more")
            );
        }
        if self.limits.document_readers == 0 {
            return Err(at("[limits] document_readers = 0 would read no document")
                .hint("use 1 or more; [scope] file_types keeps documents out"));
        }
        if self.limits.render_time.0 < LEAST_RENDER_TIME {
            return Err(at("[limits] render_time is too short to show anything").hint("use 1s or more"));
        }
        if self.limits.render_memory.0 < LEAST_RENDER_MEMORY {
            return Err(
                at("[limits] render_memory is too little to show anything").hint("use 128MiB or more")
            );
        }
        if !(1..=MOST_RENDER_TABS).contains(&self.limits.render_tabs) {
            return Err(at(&format!("[limits] render_tabs = {} makes no sense", self.limits.render_tabs))
                .hint("use 1 to 64; [fetch] render = \"never\" shows no page in a browser"));
        }
        if self.fetch.attempts == 0 {
            return Err(at("[fetch] attempts = 0 would fetch nothing").hint("use 1 or more"));
        }
        self.archive.mode.parse::<store::files::Mode>().map_err(|p| self.places.put(p))?;
        if let Some(to) = &self.archive.to {
            store::s3::Address::parse(to).map_err(|p| self.places.put(p))?;
        }
        crate::teacher::check(&self.teacher).map_err(|p| self.places.put(p))?;
        self.notify.check().map_err(|p| self.places.put(p))?;
        crate::scope::Scope::new(&self.scope, &[])?;
        Ok(())
    }
}

impl Loaded {
    /// Was this set on the command line?
    pub fn is_flag(&self, section: &str, key: &str) -> bool {
        has(&self.flags, section, key)
    }

    /// Who says this key of a section, or of the file itself: the command line, the topic file, nobody.
    pub fn origin(&self, section: Option<&str>, key: &str) -> Origin {
        let says = |t: &toml::Table| section.map_or(t.contains_key(key), |section| has(t, section, key));
        match (says(&self.flags), says(&self.file)) {
            (true, _) => Origin::CommandLine,
            (false, true) => Origin::Topic,
            (false, false) => Origin::Default,
        }
    }

    /// What the command line set.
    pub fn flags(&self) -> &toml::Table {
        &self.flags
    }

    /// The same topic file under another command line.
    pub fn with_flags(&self, flags: toml::Table) -> Result<Loaded, Problem> {
        let mut again = Config::load(&self.text, "topic.toml", flags)?;
        again.config.places = self.config.places.clone();
        Ok(again)
    }

    /// Every setting with its value and where it came from, one per line, as TOML.
    pub fn describe(&self) -> String {
        let mut out = String::new();
        let Ok(toml::Value::Table(all)) = toml::Value::try_from(&self.config) else { return out };
        let lines = |out: &mut String, section: Option<&str>, table: &toml::Table| {
            for (key, value) in table.iter().filter(|(_, v)| section.is_some() || !v.is_table()) {
                let text = format!("{key} = {value}");
                out.push_str(&format!("{text:<60} # {}\n", self.origin(section, key).name()));
            }
        };
        lines(&mut out, None, &all);
        for (name, value) in &all {
            if let toml::Value::Table(table) = value {
                out.push_str(&format!("\n[{name}]\n"));
                lines(&mut out, Some(name), table);
            }
        }
        out
    }
}

fn has(table: &toml::Table, section: &str, key: &str) -> bool {
    table.get(section).and_then(|s| s.as_table()).is_some_and(|t| t.contains_key(key))
}

fn lay_over(base: &mut toml::Table, over: &toml::Table) {
    for (key, value) in over {
        match (base.get_mut(key), value) {
            (Some(toml::Value::Table(b)), toml::Value::Table(o)) => lay_over(b, o),
            _ => {
                base.insert(key.clone(), value.clone());
            }
        }
    }
}

/// A TOML error as `file:line:column: what`, with the nearest known key when one was misspelt.
fn explain(e: &toml::de::Error, text: &str, places: &Places) -> Problem {
    let message = e.message();
    let place = match e.span() {
        // Sections with options of their own lose the place of their values.
        _ if message.contains("threshold") => places.of_key("judge", "threshold"),
        Some(span) => places.at(text, span.start),
        None => places.file.clone(),
    };
    let quoted: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    if message.starts_with("unknown field")
        && let [unknown, known @ ..] = quoted.as_slice()
    {
        let p = Problem::usage(format!("{place}: unknown key `{unknown}`"));
        if crate::teacher::is_secret(unknown) && known.contains(&"tokens") {
            return Problem::usage(format!("{place}: a key does not belong into a file (`{unknown}`)"))
                .hint(format!("put it into the environment: {}=…", crate::teacher::KEY));
        }
        return match nearest(unknown, known.iter().copied()) {
            Some(near) => p.hint(format!("did you mean `{near}`?")),
            None => p.hint(format!("known keys here: {}", known.join(", "))),
        };
    }
    let its_line = e.span().map_or("", |span| {
        let from = text.get(..span.start).and_then(|before| before.rfind('\n')).map_or(0, |i| i + 1);
        text.get(from..).and_then(|rest| rest.lines().next()).unwrap_or("").trim()
    });
    let p = Problem::usage(format!("{place}: {message}"));
    if message.contains("duplicate key") {
        let twice = e.span().and_then(|s| text.get(s)).unwrap_or("it").trim();
        return Problem::usage(format!("{place}: `{twice}` is there twice"))
            .hint("put what belongs together into one, and take the other out");
    }
    if message.contains("threshold") {
        return p.hint(
            "write threshold = \"auto\", or a number such as 0.4; `gleaner threshold` helps to find it",
        );
    }
    if toml::de::DeTable::parse(text).is_err() {
        return Problem::usage(format!("{place}: this is not TOML"))
            .because(format!("{message} (in the line `{its_line}`)"))
            .hint(
                "words stand in quotes, lists in [\"a\", \"b\"], and a section begins with its [name]; \
                 `gleaner new` writes a topic file with comments",
            );
    }
    Problem::usage(format!("{place}: the value does not fit"))
        .because(format!("{message} (in the line `{its_line}`)"))
        .hint("`gleaner config` shows every setting with a value that fits")
}

/// Where the keys of a topic file stand.
#[derive(Clone, Debug, Default)]
pub struct Places {
    file: String,
    /// (section, key) to line and column; the key is empty for the section itself, the section for the top.
    keys: BTreeMap<(String, String), (usize, usize)>,
}

impl Places {
    fn of(text: &str, file: &str) -> Places {
        let mut keys = BTreeMap::new();
        if let Ok(table) = toml::de::DeTable::parse(text) {
            for (name, value) in table.get_ref() {
                keys.insert((String::new(), name.get_ref().to_string()), line(text, name.span().start));
                if let toml::de::DeValue::Table(section) = value.get_ref() {
                    for (key, _) in section {
                        let at = line(text, key.span().start);
                        keys.insert((name.get_ref().to_string(), key.get_ref().to_string()), at);
                    }
                }
            }
        }
        Places { file: file.to_string(), keys }
    }

    fn at(&self, text: &str, byte: usize) -> String {
        let (line, column) = line(text, byte);
        format!("{}:{line}:{column}", self.file)
    }

    fn of_key(&self, section: &str, key: &str) -> String {
        let find = |s: &str, k: &str| self.keys.get(&(s.to_string(), k.to_string()));
        match find(section, key).or_else(|| find("", section)) {
            Some((line, column)) => format!("{}:{line}:{column}", self.file),
            None => self.file.clone(),
        }
    }

    /// A problem with its place: that of the `[section] key` it begins with, or the topic's name.
    fn put(&self, problem: Problem) -> Problem {
        if self.file.is_empty() {
            return problem;
        }
        let named = problem.what().strip_prefix('[').and_then(|rest| rest.split_once(']'));
        let place = match named {
            Some((section, rest)) => {
                let key: String =
                    rest.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
                self.of_key(section, &key)
            }
            None if self.keys.contains_key(&(String::new(), "name".to_string())) => self.of_key("", "name"),
            None => self.of_key("", "query"),
        };
        problem.at(place)
    }
}

/// Line and column, from 1, of a byte.
fn line(text: &str, byte: usize) -> (usize, usize) {
    let before = text.get(..byte.min(text.len())).unwrap_or("");
    (before.matches('\n').count() + 1, before.chars().rev().take_while(|c| *c != '\n').count() + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        Config::load(text, "t.toml", toml::Table::new()).unwrap_err().to_string()
    }

    #[test]
    fn a_typo_names_the_nearest_key_with_its_place() {
        let e = error("name = \"x\"\n[limits]\npagse = 3\n");
        assert!(e.contains("t.toml:3:1: unknown key `pagse`"), "{e}");
        assert!(e.contains("did you mean `pages`?"), "{e}");
    }

    #[test]
    fn a_wrong_type_says_where() {
        let e = error("name = \"x\"\n[limits]\npages = \"many\"\n");
        assert!(e.contains("t.toml:3:9"), "{e}");
        let e = error("[fetch]\ndelay = 5\n");
        assert!(e.contains("unit"), "{e}");
        let e = error("[fetch\ndelay = 5\n");
        assert!(e.contains("t.toml:1:"), "{e}");
    }

    #[test]
    fn a_topic_that_makes_no_sense_says_where_and_what_to_do() {
        let topic = |text: &str| {
            let loaded = Config::load(text, "t.toml", toml::Table::new());
            loaded.and_then(|l| l.config.topic()).map(|t| t.name).unwrap_err().to_string()
        };
        for (text, place, fix) in [
            ("name = \"x\"\n\n[genre]\npreset = \"sylabus\"\n", "t.toml:4:1: ", "did you mean `syllabus`?"),
            ("# mine\nname = \"x\"\n", "t.toml:2:1: ", "give at least one of"),
            (
                "name = \"x\"\nquery = \"y\"\n[judge]\nthreshold = 1.5\n",
                "t.toml:4:1: ",
                "threshold = \"auto\"",
            ),
            ("name = \"x\"\n[judge]\nthreshold = \"atuo\"\n", "t.toml:3:1: ", "auto"),
            (
                "name = \"x\"\n[content]\nterms = []\n[content]\nterms = []\n",
                "t.toml:4:",
                "put what belongs together",
            ),
            ("name = \"x\"\nname = \"y\"\n", "t.toml:2:1: ", "`name` is there twice"),
            ("query = \"y\"\n[text]\nstem = \"xx\"\n", "t.toml:3:1: ", "known:"),
            ("query = \"y\"\n[judge]\nweights = { genre = -1 }\n", "t.toml:3:1: ", "the defaults are"),
        ] {
            let e = topic(text);
            assert!(e.contains(place) && e.contains(fix), "{text}\n{e}");
        }
    }

    #[test]
    fn contradictions_are_refused() {
        assert!(error("[fetch]\nconcurrency = 0\n").contains("would fetch nothing"));
        assert!(error("[limits]\npages = 0\n").contains("nothing to do"));
        assert!(error("[limits]\npatience_share = 2.0\n").contains("between 0 and 1"));
        assert!(error("[limits]\nrender_share = 2.0\n").contains("between 0 and 1"));
        assert!(error("[scope]\npatterns = [\"(\"]\n").contains("pattern"));
    }

    #[test]
    fn flags_lie_over_the_file_and_origins_are_known() {
        let mut flags = toml::Table::new();
        let mut limits = toml::Table::new();
        limits.insert("pages".into(), 7.into());
        flags.insert("limits".into(), limits.into());
        let l = Config::load("name = \"x\"\n[limits]\npages = 3\nrelevant = 2\n", "t.toml", flags).unwrap();
        assert_eq!(l.config.limits.pages, Some(7));
        assert_eq!(l.config.limits.relevant, Some(2));
        let text = l.describe();
        let text = &text[text.find("[limits]").unwrap()..];
        let origin = |key: &str| {
            text.lines().find(|l| l.starts_with(key)).unwrap().split("# ").nth(1).unwrap().to_string()
        };
        assert_eq!(origin("pages ="), "command line");
        assert_eq!(origin("relevant ="), "topic file");
        assert_eq!(origin("redirects ="), "default");
    }
}
