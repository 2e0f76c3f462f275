//! Flags that several commands share, and how they become settings.

use clap::Args;
use crawl::collection::SharedStore;
use crawl::config::{Config, LoadedConfig};
use crawl::reader::Reader;
use crawl::units::{Size, Span};
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;
use store::archive::parse_rfc3339;
use toml::{Table, Value};
use types::{Canon, Millis, Problem, Url};

/// What is wanted: a topic file, or the same said with flags.
#[derive(Args, Debug, Default, Clone)]
pub struct TopicArgs {
    /// Topic file (TOML)
    #[arg(value_name = "TOPIC.toml")]
    pub topic: Option<PathBuf>,
    #[command(flatten)]
    pub flags: TopicFlags,
}

#[derive(Args, Debug, Default, Clone)]
pub struct TopicFlags {
    /// What the pages are about: terms separated by commas
    #[arg(long, value_name = "\"a, b, c\"")]
    pub subject: Option<String>,
    /// What kind of page: a built-in genre (see `gleaner genres`)
    #[arg(long, value_name = "GENRE")]
    pub genre: Option<String>,
    /// Words and "phrases" a wanted page contains
    #[arg(long, value_name = "WORDS")]
    pub query: Option<String>,
    /// How to judge pages (see `gleaner judges`)
    #[arg(long, value_name = "NAME")]
    pub judge: Option<String>,
    /// How to order links (see `gleaner strategies`)
    #[arg(long, value_name = "NAME")]
    pub strategy: Option<String>,
}

/// How to fetch.
#[derive(Args, Debug, Default, Clone)]
pub struct FetchFlags {
    /// Sent as User-Agent
    #[arg(long, value_name = "S")]
    pub user_agent: Option<String>,
    /// URL or mail address where site owners can reach you
    #[arg(long, value_name = "URL|MAIL")]
    pub contact: Option<String>,
    /// A proxy: http://, https://, socks5:// or socks5h://host:port
    #[arg(long, value_name = "URL")]
    pub proxy: Option<String>,
    /// Send a host (or every host: '*:ADDR:PORT') to an address of your choice
    #[arg(long, value_name = "HOST:PORT:ADDR:PORT")]
    pub resolve: Vec<String>,
    /// Allow addresses that are not on the public internet
    #[arg(long)]
    pub allow_private: bool,
    /// Show pages in a browser and read what their scripts write: auto, never or always (--render alone:
    /// always)
    #[arg(
        long,
        value_name = "WHEN",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "always",
        value_parser = ["auto", "never", "always"]
    )]
    pub render: Option<String>,
    /// The browser's program, or the DevTools address of one that runs, as http://127.0.0.1:9222 (default:
    /// Chromium or Chrome, if one is installed)
    #[arg(long, value_name = "PATH")]
    pub browser: Option<PathBuf>,
    /// The browser of --browser may run on another machine
    #[arg(long, requires = "browser")]
    pub browser_elsewhere: bool,
}

/// A language model that is asked. Its key is in the environment only (GLEANER_TEACHER_KEY).
#[derive(Args, Debug, Default, Clone)]
pub struct TeacherFlags {
    /// A language model to ask: address of an OpenAI-compatible API, as in http://localhost:11434/v1
    #[arg(long, value_name = "URL")]
    pub teacher_url: Option<String>,
    /// The model's name there
    #[arg(long, value_name = "NAME")]
    pub teacher_model: Option<String>,
}

impl TeacherFlags {
    pub fn lay(&self, table: &mut Table) {
        for (key, value) in [("url", &self.teacher_url), ("model", &self.teacher_model)] {
            if let Some(v) = value {
                set(table, "teacher", key, v.as_str());
            }
        }
    }
}

/// Which collection: a folder, or a crawl in a shared database.
#[derive(Args, Debug, Default, Clone)]
pub struct StoreArgs {
    /// Read a shared crawl instead of a folder (postgres://…)
    #[arg(long, value_name = "URL")]
    pub store: Option<String>,
    /// With --store: which crawl, when the database has several
    #[arg(long, value_name = "NAME", requires = "store")]
    pub crawl: Option<String>,
}

/// A shared crawl that this process joins as a worker.
#[derive(clap::Args, Debug, Default)]
pub struct WorkerArgs {
    /// Join a shared crawl as a worker instead (postgres://…)
    #[arg(long, value_name = "URL")]
    pub store: Option<String>,
    /// With --store: which crawl, when the database has several
    #[arg(long, value_name = "NAME", requires = "store")]
    pub crawl: Option<String>,
    /// With --store: write WARC files into a bucket of S3-compatible storage
    #[arg(long, value_name = "s3://BUCKET/PREFIX", requires = "store")]
    pub archive: Option<String>,
    /// With --store: a worker that is silent for this long has lost its hosts to the others [default: 30s]
    #[arg(long, value_name = "TIME", value_parser = span, requires = "store")]
    pub lease: Option<Span>,
}

/// What a worker of a crawl that was begun works with.
pub struct Worker {
    /// Its own folder.
    pub dir: PathBuf,
    /// The topic in the database, and the command line above it.
    pub loaded: LoadedConfig,
    /// The crawl.
    pub store: SharedStore,
}

impl WorkerArgs {
    /// Lays the flags over the settings.
    pub fn lay(&self, t: &mut Table) {
        if let Some(to) = &self.archive {
            set(t, "archive", "to", to.as_str());
            set(t, "archive", "warc", true);
        }
    }

    /// The crawl that `--store` names, which must be there; `None`: no store is named.
    pub fn begun(&self, dir: Option<&Path>, flags: Table) -> Result<Option<Worker>, Problem> {
        let Some(url) = &self.store else { return Ok(None) };
        let reader = store::SharedReader::open(url, self.crawl.as_deref())?;
        let loaded = Config::load(reader.topic(), "the topic in the database", flags)?;
        let dir = dir.map_or_else(|| PathBuf::from(crate::text::slug(reader.name())), Path::to_path_buf);
        Ok(Some(Worker { dir, loaded, store: self.store_of(url, reader.name()) }))
    }

    /// How it is joined.
    pub fn store_of(&self, url: &str, crawl: &str) -> SharedStore {
        SharedStore {
            url: url.to_string(),
            crawl: crawl.to_string(),
            lease: self.lease.map_or(Duration::from_secs(30), |lease| lease.0.max(Duration::from_secs(1))),
            load_at_once: store::LOAD_AT_ONCE,
        }
    }
}

/// How a shared crawl is named on the command line, for hints: without the password that its address has.
pub fn store_flags(store: &SharedStore) -> String {
    format!("--store … --crawl {}", store.crawl)
}

/// Opens the collection in a folder, or the one that `--store` names.
pub fn read_from(dir: Option<&Path>, shared: &StoreArgs) -> Result<Reader, Problem> {
    match (&shared.store, dir) {
        (Some(url), _) => Reader::open_shared(url, shared.crawl.as_deref(), &cache_folder()),
        (None, Some(dir)) => read(dir),
        (None, None) => {
            Err(Problem::usage("which collection?").hint("name a folder, or a database with --store"))
        }
    }
}

/// A date on the command line: the collection as it was then.
#[derive(clap::Args, Debug, Default)]
pub struct DateArgs {
    /// The collection as it was then: 2026-11-01 (the end of that day, UTC), 2026-11-01T12:00:00Z, or so long
    /// ago (7d)
    #[arg(long, value_name = "DATE", value_parser = date)]
    pub at: Option<Millis>,
}

impl DateArgs {
    /// The collection as it was at the date, if one is named.
    pub fn view(&self, reader: Reader) -> Result<Reader, Problem> {
        let Some(at) = self.at else { return Ok(reader) };
        if at > Millis::now() {
            return Err(
                Problem::usage("--at names a time to come").hint("leave it out to see what is there now")
            );
        }
        reader.at(at)
    }
}

/// A day means its end: what came on that day is there.
fn date(text: &str) -> Result<Millis, String> {
    const DAY: u64 = 86_400_000;
    if let Ok(span) = text.parse::<Span>() {
        let ago = u64::try_from(span.0.as_millis()).unwrap_or(u64::MAX);
        return Ok(Millis(Millis::now().0.saturating_sub(ago)));
    }
    let at = parse_rfc3339(text).filter(|_| text.len() >= 10);
    let at = at.ok_or_else(|| {
        format!("`{text}` is neither a date (2026-11-01, 2026-11-01T12:00:00Z) nor a duration (7d, 6h)")
    })?;
    match text.len() {
        // Today has not ended.
        10 => Ok(Millis((at.0 + DAY - 1).min(Millis::now().0.max(at.0)))),
        _ => Ok(at),
    }
}

/// Where this machine keeps what can be made again.
pub fn cache_folder() -> PathBuf {
    let dir = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    let base = dir("XDG_CACHE_HOME").or_else(|| dir("HOME").map(|h| h.join(".cache")));
    base.unwrap_or_else(std::env::temp_dir).join("gleaner")
}

/// Where this machine remembers what it told others of a shared crawl. Crawls of one name in two databases
/// have two of these.
pub fn notes_folder(store: &str, crawl: &str) -> Result<PathBuf, Problem> {
    let dir = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    let base = dir("XDG_STATE_HOME").or_else(|| dir("HOME").map(|h| h.join(".local/state")));
    // Without user and password, which may change.
    let place = store.split_once("://").map_or(store, |(_, rest)| rest);
    let place = place.rsplit_once('@').map_or(place, |(_, rest)| rest);
    let print = types::Fingerprint::of(place, (0, 0)).0;
    let folder =
        base.unwrap_or_else(std::env::temp_dir).join("gleaner").join(format!("{crawl}-{print:016x}"));
    std::fs::create_dir_all(&folder).map_err(|e| Problem::io("create", &folder, &e))?;
    Ok(folder)
}

/// Sets `section.key` in a table of flags.
pub fn set(table: &mut Table, section: &str, key: &str, value: impl Into<Value>) {
    let entry = table.entry(section).or_insert_with(|| Value::Table(Table::new()));
    if let Value::Table(t) = entry {
        t.insert(key.into(), value.into());
    }
}

/// A number as TOML has them.
pub fn number(n: u64) -> Value {
    Value::Integer(n.min(i64::MAX as u64) as i64)
}

impl TopicFlags {
    pub fn lay(&self, table: &mut Table) {
        if let Some(subject) = &self.subject {
            let terms: Vec<Value> = subject
                .split(',')
                .map(str::trim)
                .filter(|s| !s.is_empty())
                .map(|s| Value::String(s.into()))
                .collect();
            set(table, "content", "terms", terms);
        }
        if let Some(genre) = &self.genre {
            set(table, "genre", "preset", genre.as_str());
        }
        if let Some(query) = &self.query {
            table.insert("query".into(), query.as_str().into());
        }
        if let Some(judge) = &self.judge {
            set(table, "judge", "kind", judge.as_str());
        }
        if let Some(strategy) = &self.strategy {
            set(table, "strategy", "kind", strategy.as_str());
        }
        if !table.contains_key("name")
            && (self.subject.is_some() || self.genre.is_some() || self.query.is_some())
        {
            let name =
                [&self.genre, &self.subject, &self.query].into_iter().flatten().cloned().collect::<Vec<_>>();
            table.insert("name".into(), name.join(": ").into());
        }
    }
}

impl FetchFlags {
    /// Not in the table: that is kept with the collection, and a topic must not name programs.
    pub fn name_browser(&self) {
        if let Some(browser) = &self.browser {
            crawl::rendering::use_browser(browser.clone(), self.browser_elsewhere);
        }
    }

    pub fn lay(&self, table: &mut Table) {
        for (key, value) in
            [("user_agent", &self.user_agent), ("contact", &self.contact), ("proxy", &self.proxy)]
        {
            if let Some(v) = value {
                set(table, "fetch", key, v.as_str());
            }
        }
        if !self.resolve.is_empty() {
            let rules: Vec<Value> = self.resolve.iter().map(|s| Value::String(s.clone())).collect();
            set(table, "fetch", "resolve", rules);
        }
        if self.allow_private {
            set(table, "fetch", "allow_private", true);
        }
        if let Some(when) = &self.render {
            set(table, "fetch", "render", when.as_str());
        }
        self.name_browser();
    }
}

/// The settings: the topic file, if there is one, with `flags` laid over it.
pub fn load(topic: Option<&Path>, mut flags: Table) -> Result<LoadedConfig, Problem> {
    match topic {
        Some(path) => {
            // A topic file keeps its own name.
            flags.remove("name");
            Config::read(path, flags)
        }
        None => Config::load("", "the command line", flags),
    }
}

/// Through a proxy the guard cannot see where a name leads. Whoever runs the crawl should know.
pub fn say_what_a_proxy_hides(config: &Config) {
    if !config.fetch.proxy.0.is_empty() && !config.fetch.allow_private {
        eprintln!(
            "{} the proxy looks up the names: inner addresses and names that look inner are refused here, \
             but \
             a public name that leads to an address inside the proxy's network is not seen; let the proxy \
             refuse those",
            console::style("note:").yellow().for_stderr()
        );
    }
}

/// Whether everything was there: whoever reads a damaged collection by a script must notice.
pub fn exit_code(reader: &Reader) -> ExitCode {
    if reader.damage().is_some() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// Opens a collection for reading. Of a damaged one there is what comes before the damage, and a warning.
pub fn read(dir: &Path) -> Result<Reader, Problem> {
    let reader = Reader::open(dir)?;
    if let Some(damage) = reader.damage() {
        warn(&damage.to_string());
    }
    Ok(reader)
}

pub fn warn(text: &str) {
    eprintln!("{} {text}", console::style("warning:").yellow().bold().for_stderr());
}

pub fn span(text: &str) -> Result<Span, String> {
    text.parse()
}

pub fn size(text: &str) -> Result<Size, String> {
    text.parse()
}

/// An address to listen on. Names are looked up: `localhost:7700`.
pub fn address(text: &str) -> Result<SocketAddr, String> {
    let found: Vec<SocketAddr> = text.to_socket_addrs().map(Iterator::collect).unwrap_or_default();
    let best = found.iter().find(|a| a.is_ipv4()).or(found.first());
    best.copied().ok_or_else(|| {
        format!("`{text}` is not an address with a port; write it as in 127.0.0.1:7700 or localhost:7700")
    })
}

/// A seed as it was typed.
pub fn seed(text: &str, canon: &Canon) -> Result<Url, Problem> {
    canon.parse_typed(text).map_err(|e| {
        Problem::usage(format!("seed `{text}`: {e}"))
            .hint("seeds are whole URLs, as in https://www.example.org/courses/")
    })
}

/// Seeds from the settings, flags and files, in order, without repeats.
pub fn seeds(config: &Config, urls: &[String], files: &[String], canon: &Canon) -> Result<Vec<Url>, Problem> {
    let mut out: Vec<Url> = Vec::new();
    for text in config.seeds.urls.iter().chain(urls) {
        out.push(seed(text, canon)?);
    }
    for file in config.seeds.files.iter().chain(files) {
        let mut seeds = eval::labels::Seeds::open(file)?;
        for url in &seeds.urls {
            match canon.parse(url.as_str()) {
                Ok(url) => out.push(url),
                Err(_) => seeds.notes.add("seed that cannot be fetched", url.as_str()),
            }
        }
        if !seeds.notes.is_empty() {
            eprintln!("{} {file}: {}", console::style("left out:").yellow().for_stderr(), seeds.notes);
        }
    }
    let mut seen = std::collections::HashSet::new();
    out.retain(|u| seen.insert(u.clone()));
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_make_a_topic() {
        let flags = TopicFlags {
            subject: Some("sql, relational model".into()),
            genre: Some("syllabus".into()),
            ..Default::default()
        };
        let mut t = Table::new();
        flags.lay(&mut t);
        assert_eq!(t["content"]["terms"][1].as_str(), Some("relational model"));
        assert_eq!(t["name"].as_str(), Some("syllabus: sql, relational model"));
    }
}
