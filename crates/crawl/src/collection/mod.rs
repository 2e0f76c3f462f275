//! A collection's folder, and how it is opened for crawling. `settings.rs` makes of the topic file what each
//! part of the program uses, `parts.rs` makes judge and strategy, `archiving.rs` and `indexing.rs` open
//! archive and search index.
//!
//! ```text
//! DIR/topic.toml    what was asked for
//!     ledger.log    every URL's state and every record, append-only; checkpoint-* beside it
//!     reading       which URLs are being read at this moment
//!     warc/         the pages, byte for byte
//!     index/        full text
//!     report.html   what came of it
//!     ledger.mark   how far the ledger is known to be durable
//!     inbox/        labels for a crawl that is running; only while there are any
//!     damaged/      what did not fit the rest and was set aside; only when there is something
//! ```

mod archiving;
mod indexing;
mod parts;
mod settings;

pub(crate) use archiving::{committed, unknown_pages};
pub(crate) use indexing::IndexedCounts;
pub(crate) use parts::earlier_judge;
pub use parts::{MakeJudge, TopicParts, TrainingMaterial, live_answer};

use archiving::{archive_settings, open_archive, open_bucket};
use indexing::open_index;
use parts::is_local;

use crate::analyse::Analyst;
use crate::config::{Config, LoadedConfig};
use crate::crawl::{Crawl, Ledger, Parts};
use crate::events::Event;
use crate::marks::Marks;
use crate::rendering::Rendering;
use crate::scope::Scope;
use crate::session::Session;
use crate::steer::inbox::Inbox;
use crate::steer::{Adjustments, Steering};
use crate::teacher::Teaching;
use fetch::{Http, ResolveRule, Settings};
use focus::judges;
use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use store::archive::{ArchiveSettings, Archiver, Objects, Stacks, beyond};
use store::{Which, files};
use types::{Formats, LinkKind, Millis, Problem, Url, Web};

/// How long a request of a crawl waits for its host's name; then others go first.
const NAME_PATIENCE: Duration = Duration::from_secs(1);

/// Names of what is in a collection's folder.
pub struct Collection;

/// A crawl that is kept in a database and shared with other workers. The folder holds this worker's archive
/// and what need not survive.
#[derive(Clone, Debug)]
pub struct SharedStore {
    /// `postgres://…`
    pub url: String,
    /// The crawl's name: workers that say the same name work on the same crawl.
    pub crawl: String,
    /// A worker that is not heard of for this long has lost its hosts to the others.
    pub lease: Duration,
    /// Of more URLs than this the best are loaded first, the rest while it crawls.
    pub load_at_once: u32,
}

impl SharedStore {
    /// Joins the crawl; also returns the name that this run's archive files get.
    fn join(&self, dir: &Path, loaded: &LoadedConfig) -> Result<(store::Shared, String), Problem> {
        if Collection::exists(dir) {
            return Err(Problem::usage(format!("{} holds a collection of its own", dir.display()))
                .hint("name another folder with --out, or leave --store out to go on with it"));
        }
        let worker = worker_name(dir)?;
        let config = &loaded.config;
        let options = store::SharedOptions {
            topic: loaded.text.clone(),
            lease: self.lease,
            load_at_once: self.load_at_once,
            budget: Collection::has_budget(config),
            ..store::SharedOptions::new(
                &self.url,
                &self.crawl,
                &worker,
                dir.join("scratch"),
                Collection::limits(config),
            )
        };
        let shared = store::Shared::open(options, Millis::steady())?;
        // Files of their own for each run: whatever an earlier one wrote stays as it is.
        let files = format!("{worker}.{}", shared.incarnation());
        Ok((shared, files))
    }
}

/// A name that stays with the folder.
fn worker_name(dir: &Path) -> Result<String, Problem> {
    let path = dir.join("worker");
    if let Ok(name) = fs::read_to_string(&path)
        && !name.trim().is_empty()
    {
        return Ok(name.trim().to_string());
    }
    let host = fs::read_to_string("/etc/hostname").unwrap_or_default();
    let host: String = host.trim().chars().filter(|c| c.is_ascii_alphanumeric()).take(30).collect();
    let random = RandomState::new().hash_one(std::process::id()) as u32;
    let name = format!("{}.{random:08x}", if host.is_empty() { "worker" } else { &host });
    files::replace(&path, name.as_bytes()).map_err(|e| Problem::io("write", &path, &e))?;
    Ok(name)
}

/// An opened collection, ready to crawl.
pub struct OpenCrawl {
    /// The loop, ready for its first step.
    pub crawl: Crawl,
    /// Where pages come from.
    pub web: Arc<dyn Web>,
    /// Reads and assesses answers.
    pub analyst: Analyst,
    /// The collection was there before.
    pub resumed: bool,
    /// What was found on opening that a person should know of.
    pub notes: Vec<String>,
    /// Sitemaps and feeds that the topic names.
    listings: Vec<(Url, LinkKind)>,
    session: Session,
}

impl Collection {
    /// Is there a collection in this folder?
    pub fn exists(dir: &Path) -> bool {
        dir.join("ledger.log").is_file()
    }
    /// The topic file that is kept with the collection.
    pub fn topic_file(dir: &Path) -> PathBuf {
        dir.join("topic.toml")
    }
    /// The folder of the archive.
    pub fn warc_dir(dir: &Path) -> PathBuf {
        dir.join("warc")
    }
    /// The folder of the search index.
    pub fn index_dir(dir: &Path) -> PathBuf {
        dir.join("index")
    }
    /// Where bytes go that do not fit the rest: nothing is deleted.
    pub fn aside_dir(dir: &Path) -> PathBuf {
        dir.join("damaged")
    }

    /// A folder without a ledger must not have what only a ledger's crawl leaves behind.
    pub fn check_remains(dir: &Path) -> Result<(), Problem> {
        let ledger = dir.join("ledger.log");
        if fs::metadata(&ledger).is_ok_and(|m| m.is_file() && m.len() > 0) {
            return Ok(());
        }
        if let Some(witness) = store::ledger::witness(dir).filter(|w| w.end > 0) {
            return Err(store::ledger::missing(dir, &witness));
        }
        let pages = beyond(&Self::warc_dir(dir), &ArchiveSettings::default(), None, 1)?;
        if pages.iter().all(|p| p.pages == 0) {
            return Ok(());
        }
        Err(Problem::new(format!("{} is missing or empty", ledger.display()))
            .because(format!("{} holds pages", Self::warc_dir(dir).display()))
            .hint(format!(
                "nothing was changed; `gleaner repair {0}` brings the pages back from the archive, or \
                 restore the ledger from a \
                 backup; to begin anew, name another folder",
                dir.display()
            )))
    }

    /// Judge and text options of a topic, for reading pages without crawling.
    pub fn analyst(config: &Config) -> Result<Analyst, Problem> {
        let topic = config.topic()?;
        let web = Http::new(Self::fetch_settings(config)?)?;
        let made = TopicParts::new(&topic, &Self::canon(config), &live_answer(&web), 0, 0)?;
        Ok(Analyst { documents: Self::documents(config), ..made.analyst })
    }

    /// Opens (or makes) the collection in `dir` for crawling. Fails when another process has it.
    pub fn open(dir: &Path, loaded: &LoadedConfig, seeds: &[Url], rng: u64) -> Result<OpenCrawl, Problem> {
        Self::open_in(dir, None, loaded, seeds, rng)
    }

    /// As `open`, for whoever fetches nothing: no contact is asked for.
    pub(crate) fn open_without_fetching(
        dir: &Path,
        loaded: &LoadedConfig,
        rng: u64,
    ) -> Result<OpenCrawl, Problem> {
        Self::open_with(dir, None, loaded, &[], rng, false)
    }

    /// As `open`; with a shared store, joins the crawl there.
    pub fn open_in(
        dir: &Path,
        shared: Option<&SharedStore>,
        loaded: &LoadedConfig,
        seeds: &[Url],
        rng: u64,
    ) -> Result<OpenCrawl, Problem> {
        Self::open_with(dir, shared, loaded, seeds, rng, true)
    }

    fn open_with(
        dir: &Path,
        shared: Option<&SharedStore>,
        loaded: &LoadedConfig,
        seeds: &[Url],
        rng: u64,
        fetches: bool,
    ) -> Result<OpenCrawl, Problem> {
        let config = &loaded.config;
        let mut topic = config.topic()?;
        let settings = Self::fetch_settings(config)?;
        // Only a crawl that can reach other people's servers needs to say whose it is. One that sends every
        // host to an address of the user's choice cannot.
        let at_home = settings.allow_private && seeds.iter().all(|u| is_local(u.host()));
        let replayed =
            settings.allow_private && settings.resolve.iter().any(|r| matches!(r, ResolveRule::Every { .. }));
        if fetches && !at_home && !replayed && !settings.is_local_only() {
            settings.check_public()?;
        }
        // Example pages are waited for; a crawl has other things to fetch meanwhile.
        let web = Arc::new(Http::new(settings.clone())?);
        let crawling = Settings { name_patience: Some(NAME_PATIENCE), ..settings.clone() };
        let crawling = Arc::new(Http::new(crawling)?);
        let canon = Self::canon(config);
        let mut made = TopicParts::new(&topic, &canon, &live_answer(&web), seeds.len(), rng)?;
        // Before the crawl is joined: whoever cannot keep a page should not have any to fetch.
        let bucket = open_bucket(config, shared.is_some())?;
        files::make_collection(dir, config.archive.mode.parse()?)?;
        let mut objects = None;
        let mut notes = Vec::new();
        let (mut ledger, resumed, files): (Box<dyn Ledger>, bool, Option<String>) = match shared {
            Some(store) => {
                let (mut shared, files) = store.join(dir, loaded)?;
                let resumed = shared.resumed();
                if let Some(bucket) = bucket {
                    let archive = archive_settings(config, &settings, &mut shared, Some(&files))?;
                    let made = Objects::new(Arc::new(bucket), archive)?;
                    shared.archive_first(made.uploads(), config.archive.every.0);
                    objects = Some(made);
                }
                (Box::new(shared), resumed, Some(files))
            }
            None => {
                let resumed = Self::exists(dir);
                Self::check_remains(dir)?;
                // A folder with a ledger is a collection, and a collection has a topic: killed in between, it
                // must not lack one.
                if !resumed {
                    write_topic(dir, &loaded.text)?;
                }
                let options = store::Options::new(Self::limits(config));
                (Box::new(store::Ledger::open(dir, options, Millis::steady())?), resumed, None)
            }
        };
        write_topic(dir, &loaded.text)?;
        // A collection keeps the judge it was begun with, unless the topic names one.
        let kept = if resumed { earlier_judge(loaded, ledger.as_ref())? } else { None };
        let loaded = kept.as_ref().unwrap_or(loaded);
        if kept.is_some() {
            topic = loaded.config.topic()?;
            made = TopicParts::new(&topic, &canon, &live_answer(&web), seeds.len(), rng)?;
            notes.push(format!(
                "this collection is judged by `{}`, as before; to change that, set [judge] kind = \"{}\" \
                 and run \
                 `gleaner rejudge`",
                topic.judge.kind,
                judges::DEFAULT
            ));
        }
        // What was changed while an earlier run was under way goes on.
        let wanted = ledger.fleet_mut().map(|fleet| fleet.wanted()).transpose()?;
        let mut adjustments = match &wanted {
            Some(wanted) => Adjustments::parse(&wanted.json)?,
            None => Adjustments::read(ledger.as_ref())?,
        };
        let mut failed = None;
        if adjustments.change_the_topic() {
            let adjusted = (adjustments.over(loaded))
                .and_then(|config| adjustments.topic(&config))
                .and_then(|topic| TopicParts::new(&topic, &canon, &live_answer(&web), seeds.len(), rng));
            match adjusted {
                Ok(adjusted) => made = adjusted,
                // As a worker that runs: it goes on without, and says so.
                Err(problem) if wanted.is_some() => {
                    adjustments = adjustments.without_topic();
                    failed = Some(problem);
                }
                Err(problem) => {
                    return Err(problem.or_hint(
                        "terms or options were changed while the crawl \
                                                            ran: change them again in the dashboard \
                                                            (gleaner serve)",
                    ));
                }
            }
        }
        if wanted.is_some() {
            crate::steer::fleet::update_adjustments(ledger.as_mut(), &adjustments)?;
        }
        let adjusted = adjustments.over(loaded)?;
        let config = &adjusted;
        made.analyst.documents = Self::documents(config);
        if fetches {
            made.analyst.rendering = Rendering::open(config, &crawling, ledger.as_ref(), dir)?.map(Arc::new);
        }
        Arc::make_mut(&mut made.analyst.extract).documents = Formats::named(&config.scope.documents)?;
        ledger.set_limits(Self::limits(config));
        if let Some(fleet) = ledger.fleet_mut() {
            fleet.set_budget(Self::has_budget(config));
        }
        let archive: Option<Box<dyn Archiver>> = match (objects, config.archive.warc) {
            (Some(objects), _) => Some(Box::new(objects)),
            (None, true) => {
                let files = files.as_deref();
                Some(Box::new(open_archive(dir, config, &settings, ledger.as_mut(), files, &mut notes)?))
            }
            (None, false) => None,
        };
        // Of a shared crawl each worker has a part only: `gleaner search --store` makes the index of the
        // whole.
        let index = match config.archive.index && shared.is_none() {
            true => Some(open_index(dir, ledger.as_ref(), &mut notes)?),
            false => None,
        };
        // A crawl that is taken up again has the seeds it was begun with, whether they are named again or
        // not.
        let listings = Self::listings(config, &canon)?;
        let mut all_seeds = seeds.to_vec();
        all_seeds.extend(listings.iter().map(|(url, _)| url.clone()));
        if config.scope.seed_hosts_only && shared.is_none() {
            all_seeds.extend(first_urls(ledger.as_ref())?);
        }
        let mut parts = Parts {
            name: config.title().to_string(),
            strategy_name: topic.strategy.kind.clone(),
            judge_name: topic.judge.kind.clone(),
            rules: Self::rules(config, rng),
            canon,
            scope: Scope::new(&config.scope, &all_seeds)?,
            ledger,
            judge: made.analyst.judge.clone(),
            strategy: made.strategy,
            archive,
            index,
            folder: Some(dir.to_path_buf()),
        };
        let mut teaching =
            Teaching::new(config, &adjustments.topic(config)?, &settings, parts.ledger.as_ref(), rng)?;
        if let Some(fleet) = parts.ledger.fleet_mut() {
            teaching = teaching.map(|t| t.in_turns(fleet)).transpose()?;
        }
        let answering = web;
        let session = Session::begin(loaded);
        let steering = Steering {
            archive: Stacks::new(Some(Self::warc_dir(dir))).reading_on(),
            loaded: loaded.clone(),
            analyst: made.analyst.clone(),
            seeds: seeds.len(),
            rng,
            answer: Box::new(move |url| live_answer(&answering)(url)),
        };
        let (marks, left) = Marks::open(dir)?;
        let crawl = Crawl::new(parts)?.taught_by(made.make_judge).steered_by(steering)?;
        let mut crawl = crawl.watched_by(marks, left, Millis::now())?.asking(teaching);
        if let Some(wanted) = wanted {
            crawl.join_fleet(wanted, failed)?;
        }
        if shared.is_none() {
            crawl.steer.inbox = Some(Inbox::of(dir));
        }
        Ok(OpenCrawl { crawl, web: crawling, analyst: made.analyst, resumed, notes, listings, session })
    }
}

impl OpenCrawl {
    /// Offers the seeds and tells the listeners that it begins.
    pub fn start(&mut self, seeds: &[Url], now: Millis) -> Result<(), Problem> {
        self.crawl.begin_session(self.session.clone())?;
        self.announce(seeds.len() + self.listings.len());
        if let Some(text) = self.crawl.teaching().map(|t| t.announcement()) {
            self.crawl.emit(Event::Teacher { text });
        }
        self.crawl.seed(seeds, now)?;
        self.crawl.seed_listings(&self.listings, now)?;
        Ok(())
    }

    /// Opened for changes: nothing is fetched, and the last run stays the last one.
    pub fn start_paused(&mut self) {
        self.crawl.pause(true);
        self.announce(0);
    }

    fn announce(&mut self, seeds: usize) {
        let parts = self.crawl.parts();
        let event = Event::Started {
            name: parts.name.clone(),
            resumed: self.resumed,
            strategy: parts.strategy_name.clone(),
            judge: parts.judge_name.clone(),
            seeds,
        };
        self.crawl.emit(event);
    }
}

/// What a crawl began with, as its ledger has it.
fn first_urls(ledger: &dyn Ledger) -> Result<Vec<Url>, Problem> {
    let mut first = Vec::new();
    for entry in ledger.entries(Which::All) {
        let entry = entry?;
        if entry.depth == 0 && entry.parent.is_none() {
            first.push(ledger.url(entry.id)?);
        }
    }
    Ok(first)
}

/// Keeps the topic with the collection. Whatever happens meanwhile (a kill, a full disk), the old one or the
/// new one is there whole.
pub(crate) fn write_topic(dir: &Path, text: &str) -> Result<(), Problem> {
    let path = Collection::topic_file(dir);
    if fs::read_to_string(&path).ok().as_deref() == Some(text) {
        return Ok(());
    }
    files::replace(&path, text.as_bytes()).map_err(|e| Problem::io("write", &path, &e))
}
