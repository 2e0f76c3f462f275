//! A collection's folder, and how settings become the parts of a crawl.
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

use crate::analyse::Analyst;
use crate::config::{Config, Fetch, Loaded};
use crate::crawl::{Crawl, Ledger, Parts, Run};
use crate::documents::{DocumentLimits, Documents};
use crate::events::Event;
use crate::listings::ListingLimits;
use crate::marks::Marks;
use crate::rendering::Rendering;
use crate::rules::Rules;
use crate::scope::Scope;
use crate::session::Session;
use crate::steer::Adjustments;
use crate::steer::Steering;
use crate::steer::inbox::Inbox;
use crate::teacher::Teaching;
use fetch::{Http, ResolveRule, Settings};
use focus::judges::{self, Example, ExampleKind, Judge, JudgeSetup};
use focus::strategies::{self, Strategy, StrategySetup};
use focus::text::{Doc, DocFreq};
use focus::topic::{IdfSource, Topic};
use frontier::{Limits, Patience, Shares, State};
use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::path::{Path, PathBuf};
use std::sync::{Arc, RwLock};
use std::time::Duration;
use store::Which;
use store::archive::{
    self, Archive, ArchiveSettings, Archiver, Objects, Position, Stacks, UNCOMMITTED, beyond,
};
use store::files;
use store::formats::parse_position;
use store::index::Index;
use store::s3::{Account, Address, Bucket};
use types::{
    Canon, Fetched, Format, Formats, LinkKind, Millis, Outcome, PageKind, Payload, Problem, Request,
    StateKey, Url, UrlId, Web,
};

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
    fn join(&self, dir: &Path, loaded: &Loaded) -> Result<(store::Shared, String), Problem> {
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

/// How long a crawl that has to stop waits for the pages that are being read.
const GRACE: Duration = Duration::from_secs(4);

/// How the requests in flight are shared out.
fn shares(f: &Fetch) -> Shares {
    let slots = u32::try_from(f.concurrency).unwrap_or(u32::MAX);
    Shares {
        slots,
        per_domain: f.per_domain_in_flight.unwrap_or((slots / 4).max(8)),
        for_quick: (f64::from(slots) * f.quick_share) as u32,
        quick_ms: f.quick.0.as_millis() as u64,
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
pub struct Open {
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
                "nothing was changed; `gleaner repair {0}` brings the pages back from the archive, or restore the ledger from a \
                 backup; to begin anew, name another folder",
                dir.display()
            )))
    }

    /// How the collection spells URLs.
    pub fn canon(config: &Config) -> Canon {
        let mut canon = Canon::default();
        canon.drop_params.extend(config.scope.drop_params.iter().map(|p| p.to_lowercase()));
        canon
    }

    /// What the fetcher needs to know.
    pub fn fetch_settings(config: &Config) -> Result<Settings, Problem> {
        let f = &config.fetch;
        let resolve = f.resolve.iter().map(|r| r.parse::<ResolveRule>()).collect::<Result<Vec<_>, _>>()?;
        let defaults = Settings::default();
        Ok(Settings {
            user_agent: f.user_agent.clone().unwrap_or(defaults.user_agent.clone()),
            contact: f.contact.clone(),
            timeout: f.timeout.0,
            connect_timeout: f.connect_timeout.0,
            min_rate: f.min_rate.0,
            max_body: usize::try_from(config.limits.page_size.0).unwrap_or(usize::MAX),
            allow_private: f.allow_private,
            proxies: crate::logins::proxies(f)?,
            logins: crate::logins::logins(f)?,
            cookie_lines: crate::logins::cookies(f)?,
            resolve,
            languages: f.languages.clone(),
            cookies: f.cookies,
            accept: accept(Formats::named(&config.scope.documents)?),
            max_idle: defaults.max_idle.max(f.concurrency),
            max_idle_per_origin: defaults.max_idle_per_origin.max(f.per_host_in_flight as usize),
            ..defaults
        })
    }

    /// A polite crawl's limits.
    pub fn limits(config: &Config) -> Limits {
        let (l, f) = (&config.limits, &config.fetch);
        let ms = |d: Duration| d.as_millis() as u64;
        Limits {
            delay_ms: ms(f.delay.0),
            max_delay_ms: ms(f.max_delay.0).max(ms(f.delay.0)),
            per_host_in_flight: f.per_host_in_flight,
            per_ip_in_flight: Some(f.per_address_in_flight.unwrap_or(2).max(f.per_host_in_flight)),
            per_ip_delay_ms: 0,
            pages_per_host: l.per_host,
            depth: l.depth,
            site_depth: l.site_depth,
            max_attempts: f.attempts,
            query_variants: Some(l.query_variants),
            floor: l.floor,
            patience: (!l.patience.0.is_zero())
                .then_some(Patience { wait_ms: ms(l.patience.0), share: l.patience_share }),
            use_robots: f.robots,
            max_pending: l.max_pending,
            shares: Some(shares(f)),
            // As long as an answer takes, and documents that wait for one another to be read.
            lease_ms: 2 * ms(f.timeout.0)
                + 60_000
                + ms(l.document_time.0) * (f.concurrency / l.document_readers.max(1) + 1) as u64
                + ms(l.render_time.0) * (f.concurrency / l.render_tabs.max(1) + 1) as u64,
            ..Limits::default()
        }
    }

    /// Who reads documents, within the limits of the settings.
    pub fn documents(config: &Config) -> Documents {
        let l = &config.limits;
        Documents::new(DocumentLimits {
            time: l.document_time.0,
            memory: l.document_memory.0,
            readers: l.document_readers,
        })
    }

    /// Does the crawl end after so many pages?
    pub(crate) fn has_budget(config: &Config) -> bool {
        config.limits.pages.is_some() || config.limits.relevant.is_some()
    }

    /// The sitemaps and feeds that a topic begins with.
    pub fn listings(config: &Config, canon: &Canon) -> Result<Vec<(Url, LinkKind)>, Problem> {
        let seeds = &config.seeds;
        let sitemaps = seeds.sitemaps.iter().map(|text| ("sitemaps", text, LinkKind::Sitemap));
        let feeds = seeds.feeds.iter().map(|text| ("feeds", text, LinkKind::Feed));
        let parse = |(key, text, kind): (&str, &String, LinkKind)| match canon.parse_typed(text) {
            Ok(url) => Ok((url, kind)),
            Err(e) => Err(Problem::usage(format!("[seeds] {key}: `{text}`: {e}"))
                .hint("these are whole addresses, as in https://www.example.org/sitemap.xml")),
        };
        sitemaps.chain(feeds).map(parse).collect()
    }

    /// What the loop needs to know. `rng` is the seed of all chance.
    pub fn rules(config: &Config, rng: u64) -> Rules {
        let (l, f) = (&config.limits, &config.fetch);
        Rules {
            pages: l.pages,
            relevant: l.relevant,
            requests: l.most_requests(),
            time: l.time.map(|t| t.0),
            disk: l.disk.map(|most| most.0),
            disk_free: l.disk_free.0,
            redirects: l.redirects,
            links_per_page: l.links_per_page,
            expand_min: l.expand_min,
            obey_nofollow: f.nofollow,
            use_sitemaps: f.sitemaps && !config.seeds.only,
            listed_only: config.seeds.only,
            listings: ListingLimits {
                files: l.sitemaps,
                nesting: l.sitemap_nesting,
                bytes: l.sitemap_bytes.0,
                urls: l.sitemap_urls,
                share: l.sitemap_share,
            },
            attempts: f.attempts,
            concurrency: f.concurrency,
            // Addresses that the user made up say nothing about who shares a server; nor does a proxy's.
            group_by_ip: f.resolve.is_empty() && f.proxy.0.is_empty(),
            watch_network: true,
            grace: Some(GRACE),
            // Pauses that the user chose are waited for.
            max_wait: Some(l.max_wait.0.max(f.delay.0).max(f.max_delay.0)),
            only_relevant_archived: config.archive.only_relevant,
            keep: true,
            noise: 0.0,
            user_agent: f.user_agent.clone().unwrap_or_else(|| Settings::default().user_agent),
            rng,
            sweep_above: Some(20_000),
        }
    }

    /// Judge and text options of a topic, for reading pages without crawling.
    pub fn analyst(config: &Config) -> Result<Analyst, Problem> {
        let topic = config.topic()?;
        let web = Http::new(Self::fetch_settings(config)?)?;
        let made = Made::new(&topic, &Self::canon(config), &live_answer(&web), 0, 0)?;
        Ok(Analyst { documents: Self::documents(config), ..made.analyst })
    }

    /// Opens (or makes) the collection in `dir` for crawling. Fails when another process has it.
    pub fn open(dir: &Path, loaded: &Loaded, seeds: &[Url], rng: u64) -> Result<Open, Problem> {
        Self::open_in(dir, None, loaded, seeds, rng)
    }

    /// As `open`, for whoever fetches nothing: no contact is asked for.
    pub(crate) fn open_without_fetching(dir: &Path, loaded: &Loaded, rng: u64) -> Result<Open, Problem> {
        Self::open_with(dir, None, loaded, &[], rng, false)
    }

    /// As `open`; with a shared store, joins the crawl there.
    pub fn open_in(
        dir: &Path,
        shared: Option<&SharedStore>,
        loaded: &Loaded,
        seeds: &[Url],
        rng: u64,
    ) -> Result<Open, Problem> {
        Self::open_with(dir, shared, loaded, seeds, rng, true)
    }

    fn open_with(
        dir: &Path,
        shared: Option<&SharedStore>,
        loaded: &Loaded,
        seeds: &[Url],
        rng: u64,
        fetches: bool,
    ) -> Result<Open, Problem> {
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
        let mut made = Made::new(&topic, &canon, &live_answer(&web), seeds.len(), rng)?;
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
            made = Made::new(&topic, &canon, &live_answer(&web), seeds.len(), rng)?;
            notes.push(format!(
                "this collection is judged by `{}`, as before; to change that, set [judge] kind = \"{}\" and run \
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
                .and_then(|topic| Made::new(&topic, &canon, &live_answer(&web), seeds.len(), rng));
            match adjusted {
                Ok(adjusted) => made = adjusted,
                // As a worker that runs: it goes on without, and says so.
                Err(problem) if wanted.is_some() => {
                    adjustments = adjustments.without_topic();
                    failed = Some(problem);
                }
                Err(problem) => return Err(problem.or_hint("terms or options were changed while the crawl ran: change them again in the dashboard (gleaner serve)")),
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
        Ok(Open { crawl, web: crawling, analyst: made.analyst, resumed, notes, listings, session })
    }
}

impl Open {
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

/// The thinking parts of a crawl, made from a topic.
pub struct Made {
    /// Reads and assesses answers.
    pub analyst: Analyst,
    /// Orders the frontier.
    pub strategy: Box<dyn Strategy>,
    /// Makes the judge again, as it was before it saw any page.
    pub make_judge: MakeJudge,
}

/// The media types of pages, and of the documents that are wanted. Text is asked for in any case: lists of
/// URLs are.
fn accept(documents: Formats) -> Vec<String> {
    let wanted = |media: &String| {
        Format::of_media_type(media).is_none_or(|f| f.kind == PageKind::Text || documents.has(f.kind))
    };
    Settings::default().accept.into_iter().filter(wanted).collect()
}

/// Makes a judge as it is before it has seen a page.
pub type MakeJudge = Box<dyn Fn() -> Result<Box<dyn Judge>, Problem> + Send>;

impl Made {
    /// `answer` brings example pages: from the live web, or from a recorded one.
    pub fn new(
        topic: &Topic,
        canon: &Canon,
        answer: &dyn Fn(&Url) -> Result<Fetched, Problem>,
        seeds: usize,
        rng: u64,
    ) -> Result<Made, Problem> {
        let extract = Arc::new(extract::Options { canon: canon.clone(), ..extract::Options::default() });
        let text = Arc::new(topic.text.options);
        let idf = background(topic)?;
        let examples = examples(topic, &extract, answer)?;
        let taxonomy = crate::resources::taxonomy(topic, &extract)?;
        let wordnet = crate::resources::wordnet(topic)?;
        let taught = |path: &Option<String>| path.as_deref().map(crate::resources::model).transpose();
        let (judge_model, strategy_model) = (taught(&topic.judge.model)?, taught(&topic.strategy.model)?);
        let strategy = strategies::build(&StrategySetup {
            topic,
            options: &topic.strategy.options,
            rng,
            idf: idf.as_ref(),
            examples: &examples,
            wordnet: wordnet.as_ref(),
            model: strategy_model.as_ref(),
        })?;
        let topic = topic.clone();
        let make_judge: MakeJudge = Box::new(move || {
            judges::build(&JudgeSetup {
                topic: &topic,
                options: &topic.judge.options,
                idf: idf.as_ref(),
                examples: &examples,
                seeds,
                rng,
                taxonomy: &taxonomy,
                model: judge_model.as_ref(),
            })
        });
        let judge: Arc<RwLock<Box<dyn Judge>>> = Arc::new(RwLock::new(make_judge()?));
        let parts = strategy.wants().doc;
        let documents = Documents::usual().clone();
        let analyst = Analyst { extract, text, judge, parts, documents, rendering: None };
        Ok(Made { analyst, strategy, make_judge })
    }

    /// With a strategy that is not in the list.
    pub fn with_strategy(self, strategy: Box<dyn Strategy>) -> Made {
        Made { strategy, ..self }
    }

    /// With a judge that is not in the list.
    pub fn with_judge<J: Judge + 'static>(mut self, make: impl Fn() -> J + Send + 'static) -> Made {
        self.analyst.judge = Arc::new(RwLock::new(Box::new(make())));
        self.make_judge = Box::new(move || Ok(Box::new(make())));
        self
    }
}

/// The settings with the judge of the last run, when they name none and it was another than today's default.
pub(crate) fn earlier_judge(
    loaded: &Loaded,
    ledger: &(impl store::Records + ?Sized),
) -> Result<Option<Loaded>, Problem> {
    let last =
        Run::of(ledger)?.filter(|run| loaded.config.judge.kind.is_none() && run.judge != judges::DEFAULT);
    Ok(last.map(|run| {
        let mut kept = loaded.clone();
        kept.config.judge.kind = Some(run.judge);
        kept
    }))
}

/// What a judge is trained on, read.
pub struct Schoolbook {
    /// Example pages of the topic, fetched and read.
    pub examples: Vec<Example>,
    /// Pages of the topic tree, with the class of each.
    pub taxonomy: Vec<focus::judges::TaxonomyPage>,
    /// How many documents have each word, from the topic's file; `None` when it names none.
    pub idf: Option<DocFreq>,
}

impl Schoolbook {
    /// Fetches and reads what the topic names. `answer` brings pages: from the live web, or from a recorded
    /// one.
    pub fn read(
        topic: &Topic,
        canon: &Canon,
        answer: &dyn Fn(&Url) -> Result<Fetched, Problem>,
    ) -> Result<Schoolbook, Problem> {
        let extract = extract::Options { canon: canon.clone(), ..extract::Options::default() };
        Ok(Schoolbook {
            examples: examples(topic, &extract, answer)?,
            taxonomy: crate::resources::taxonomy(topic, &extract)?,
            idf: background(topic)?,
        })
    }
    /// What the judge of this topic is made from.
    pub fn setup<'a>(&'a self, topic: &'a Topic, rng: u64) -> JudgeSetup<'a> {
        JudgeSetup {
            idf: self.idf.as_ref(),
            examples: &self.examples,
            taxonomy: &self.taxonomy,
            rng,
            ..JudgeSetup::new(topic)
        }
    }
}

/// The background collection that `[text] idf` names.
fn background(topic: &Topic) -> Result<Option<DocFreq>, Problem> {
    let IdfSource::File(path) = &topic.text.idf else { return Ok(None) };
    let path = Path::new(path);
    let text = fs::read_to_string(path).map_err(|e| Problem::io("read the idf file", path, &e))?;
    DocFreq::from_text(&text, &topic.text.options).map(Some)
}

/// The topic's example pages, read.
fn examples(
    topic: &Topic,
    options: &extract::Options,
    answer: &dyn Fn(&Url) -> Result<Fetched, Problem>,
) -> Result<Vec<Example>, Problem> {
    let e = &topic.examples;
    let lists = [
        (&e.relevant, ExampleKind::Relevant),
        (&e.irrelevant, ExampleKind::Irrelevant),
        (&e.genre, ExampleKind::Genre),
    ];
    let mut out = Vec::new();
    for (list, kind) in lists {
        for name in list {
            let fetched = example(name, &options.canon, answer)?;
            let page = match &fetched.payload {
                Payload::Page(page) => page.clone(),
                payload => {
                    let content_type = fetched.header("content-type");
                    let documents = Documents::usual();
                    let page = documents.read(&fetched.url, content_type, None, payload.decoded(), options);
                    Arc::new(page.map_err(|e| {
                        Problem::new(format!("the example page {name} cannot be read"))
                            .because(e)
                            .hint("take it out of [examples]")
                    })?)
                }
            };
            out.push(Example { doc: Arc::new(Doc::new(page, &topic.text.options)), kind });
        }
    }
    Ok(out)
}

fn example(
    name: &str,
    canon: &Canon,
    answer: &dyn Fn(&Url) -> Result<Fetched, Problem>,
) -> Result<Fetched, Problem> {
    let path = Path::new(name);
    if !name.contains("://") && path.is_file() {
        let bytes = fs::read(path).map_err(|e| Problem::io("read the example page", path, &e))?;
        let url = canon.parse("http://localhost/example").map_err(|e| Problem::new(e.to_string()))?;
        let mut fetched = Fetched::empty(url, Millis(0));
        fetched.status = 200;
        fetched.payload = Payload::plain(bytes);
        return Ok(fetched);
    }
    // Nobody means a host by `/tmp/page.html` or `./page`.
    if ["/", "./", "../", "~"].iter().any(|start| name.starts_with(start)) {
        return Err(Problem::usage(format!("[examples] there is no file {name}"))
            .hint("check the path; a URL begins with http:// or https://"));
    }
    let mut url = canon
        .parse_typed(name)
        .map_err(|e| Problem::usage(format!("[examples] `{name}` is neither a file nor a URL")).because(e))?;
    for _ in 0..8 {
        let fetched = answer(&url)?;
        match fetched.location.as_deref().filter(|_| fetched.is_redirect()).map(|l| canon.join(&url, l)) {
            Some(Ok(target)) => url = target,
            _ if fetched.status == 200 => return Ok(fetched),
            _ => {
                let why = fetched.failure.map_or(format!("status {}", fetched.status), |f| f.to_string());
                return Err(Problem::new(format!("the example page {name} cannot be had"))
                    .because(why)
                    .hint("take it out of [examples], or save it and name the file"));
            }
        }
    }
    Err(Problem::new(format!("the example page {name} redirects without end")))
}

/// A name or address that is not on the public internet.
fn is_local(host: &str) -> bool {
    let literal = host.trim_start_matches('[').trim_end_matches(']').parse::<std::net::IpAddr>();
    literal.map_or_else(|_| fetch::guard::is_local_name(host), |ip| !fetch::guard::is_public(ip))
}

/// Asks the live web, waiting for the answer.
pub fn live_answer(web: &Http) -> impl Fn(&Url) -> Result<Fetched, Problem> + '_ {
    |url| {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|e| Problem::new("cannot start the network").because(e))?;
        Ok(runtime.block_on(web.fetch(&Request::page(url.clone()))))
    }
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

fn open_archive(
    dir: &Path,
    config: &Config,
    settings: &Settings,
    ledger: &mut dyn Ledger,
    files: Option<&str>,
    notes: &mut Vec<String>,
) -> Result<Archive, Problem> {
    let committed = match files {
        Some(_) => None,
        None => committed(ledger)?,
    };
    let mut made = archive_settings(config, settings, ledger, files)?;
    made.aside = Some(Collection::aside_dir(dir));
    let warc = Collection::warc_dir(dir);
    if files.is_none() {
        // Pages come after the first URL: a ledger that knows none is not the one they were fetched with.
        let most = if ledger.stats()?.urls == 0 { 0 } else { UNCOMMITTED };
        if unknown_pages(&warc, ledger, most)? > most {
            return Err(archive::lost_pages(&warc));
        }
    }
    let mut archive = Archive::open(&warc, made, committed)?;
    if let Some(aside) = archive.set_aside() {
        notes.push(aside.describe());
    }
    if files.is_none()
        && let Some(problem) = last_page_unreadable(&warc, ledger)?
    {
        // Whoever reads a file from its beginning would not find what is written behind the damage.
        archive.begin_new_file()?;
        notes.push(problem);
    }
    Ok(archive)
}

/// How far the archive was written when the ledger was committed last.
pub(crate) fn committed(ledger: &(impl store::Records + ?Sized)) -> Result<Option<Position>, Problem> {
    Ok(ledger.state(StateKey::Archive)?.pop().and_then(|bytes| parse_position(&bytes)))
}

/// Pages behind the end of the archive as the ledger knows it, that the ledger does not have. No more than
/// `most` and one are counted.
pub(crate) fn unknown_pages(
    warc: &Path,
    ledger: &(impl store::Records + ?Sized),
    most: u64,
) -> Result<u64, Problem> {
    let canon = Canon { drop_params: Vec::new(), max_length: usize::MAX };
    let has = |url: &str| match canon.parse(url) {
        Ok(url) => Ok(ledger.look_up(&url)?.is_some_and(|e| e.state == State::Settled(Outcome::Fetched))),
        Err(_) => Ok::<_, Problem>(false),
    };
    let mut unknown = 0;
    for piece in beyond(warc, &ArchiveSettings::default(), committed(ledger)?.as_ref(), 1)? {
        for page in archive::Exchanges::open(&warc.join(&piece.file), piece.from, 0)? {
            let known = page.response.target().map(has).transpose()?.unwrap_or(false);
            unknown += u64::from(!known);
            if unknown > most {
                return Ok(unknown);
            }
        }
    }
    Ok(unknown)
}

/// Is the page that was archived last not in the archive any more?
fn last_page_unreadable(warc: &Path, ledger: &dyn Ledger) -> Result<Option<String>, Problem> {
    let pages = usize::try_from(ledger.stats()?.versions).unwrap_or(usize::MAX);
    let Some(page) = pages.checked_sub(1).and_then(|last| ledger.pages(last).next()) else {
        return Ok(None);
    };
    let Some(at) = page?.0.archive else { return Ok(None) };
    let read = Stacks::new(Some(warc.to_path_buf())).record(&at, archive::Limits::default());
    Ok(read.err().map(|problem| {
        let why = problem.cause().unwrap_or_default();
        format!(
            "{} is damaged ({why}): the text of its pages is in the ledger; the crawl goes on in a new file",
            at.file
        )
    }))
}

/// Objects are put whole and kept in memory until they are: no larger than this.
const LARGEST_OBJECT: u64 = 32 << 20;

/// The bucket that `[archive] to` names, after a look whether it is there.
fn open_bucket(config: &Config, shared: bool) -> Result<Option<Bucket>, Problem> {
    let Some(to) = config.archive.to.as_ref().filter(|_| config.archive.warc) else { return Ok(None) };
    if !shared {
        return Err(Problem::usage("only a crawl in a shared database can archive into a bucket (--archive)").hint(
            "name the database with --store, or leave --archive out and copy DIR/warc/*.warc.gz when the crawl is done",
        ));
    }
    let bucket = Bucket::new(Address::parse(to)?, Account::from_env()?, config.archive.patience.0)?;
    bucket.check()?;
    Ok(Some(bucket))
}

fn archive_settings(
    config: &Config,
    settings: &Settings,
    ledger: &mut dyn Ledger,
    files: Option<&str>,
) -> Result<ArchiveSettings, Problem> {
    let mut archive = ArchiveSettings { max_size: config.archive.file_size.0, ..ArchiveSettings::default() };
    if config.archive.to.is_some() {
        archive.max_size = archive.max_size.min(LARGEST_OBJECT);
    }
    if let Some(files) = files {
        archive.worker = files.to_string();
    }
    archive.info.push(("isPartOf".into(), config.title().replace(['\r', '\n'], " ")));
    archive.info.push(("http-header-user-agent".into(), settings.user_agent_sent()));
    archive.composer.key = archive_key(ledger)?;
    Ok(archive)
}

/// Makes the record ids of this collection's archive its own; chosen once.
fn archive_key(ledger: &mut dyn Ledger) -> Result<(u64, u64), Problem> {
    let stored = ledger.state(StateKey::ArchiveKey)?.pop().and_then(|b| <[u8; 16]>::try_from(b).ok());
    let bytes = match stored {
        Some(bytes) => bytes,
        None => {
            let random = || RandomState::new().hash_one(std::process::id()).to_le_bytes();
            let mut bytes = [0; 16];
            bytes[..8].copy_from_slice(&random());
            bytes[8..].copy_from_slice(&random());
            ledger.put_state(StateKey::ArchiveKey, false, &bytes)?;
            bytes
        }
    };
    let half = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| bytes[at + i]));
    Ok((half(0), half(8)))
}

/// The search index holds no truth: what it misses (after a crash, or when it was deleted) is added again.
fn open_index(dir: &Path, ledger: &dyn Ledger, notes: &mut Vec<String>) -> Result<Index, Problem> {
    let mut index = Index::open_or_create(&Collection::index_dir(dir))?;
    let known = Indexed::read(ledger)?;
    let mut from = usize::try_from(known.pages).unwrap_or(0);
    if (index.len() as u64) < known.documents || index.is_empty() {
        from = 0;
    }
    // A crash, or a ledger that was put back: the index may know pages that the ledger does not.
    let ids: Vec<UrlId> = index.ids().collect();
    for id in ids {
        if !ledger.entry(id)?.is_some_and(|e| e.state == State::Settled(Outcome::Fetched)) {
            index.remove(id)?;
        }
    }
    let mut added = 0;
    for page in ledger.pages(from) {
        let (record, _) = page?;
        // Of what comes after the last commit of the index nobody knows which version it has.
        if !record.noindex && (from > 0 || !index.contains(record.id)) {
            index.add(&record)?;
            added += 1;
        }
    }
    if let Some(why) = index.was_reset() {
        notes.push(format!("{why}; it was made again from the ledger: {added} pages"));
    } else if from == 0 && known.documents > 0 && added > 0 {
        notes.push(format!("the search index had lost pages; {added} were added again from the ledger"));
    }
    Ok(index)
}

/// What the index was known to have when it was last committed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Indexed {
    /// Of so many pages of the ledger each was looked at.
    pub pages: u64,
    /// So many were put into the index (some ask not to be).
    pub documents: u64,
}

impl Indexed {
    const STATE: StateKey = StateKey::Indexed;

    pub fn read(store: &(impl store::Records + ?Sized)) -> Result<Indexed, Problem> {
        let bytes = store.state(Self::STATE)?.pop().unwrap_or_default();
        let number = |i: usize| bytes.as_chunks::<8>().0.get(i).map_or(0, |b| u64::from_le_bytes(*b));
        Ok(Indexed { pages: number(0), documents: number(1) })
    }

    pub fn note(self, store: &mut (impl store::Journal + ?Sized)) -> Result<(), Problem> {
        store.put_state(Self::STATE, false, &self.to_bytes())
    }

    pub fn to_bytes(self) -> Vec<u8> {
        [self.pages.to_le_bytes(), self.documents.to_le_bytes()].concat()
    }
}
