//! A collection as readers see it: how it stands, what it has, why a page is in it. Works while a crawl writes.

use crate::collection::Collection;
use crate::config::Config;
use crate::crawl::Ledger;
use crate::crawl::{Counts, Run};
use crate::events::Curve;
use focus::strategies::{Reason, StrategySetup};
use frontier::State;
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use store::index::Index;
use store::{FileLog, SharedReader, Store};
use types::{Priority, Problem, Record, Url, UrlId, Verdict};

pub struct Reader {
    dir: PathBuf,
    kept: Kept,
    config: Config,
    /// Verdicts in fetch order, the newest of each page.
    verdicts: Vec<(UrlId, bool)>,
    relevant: HashMap<UrlId, bool>,
}

/// Where the collection is.
enum Kept {
    Folder(Box<store::Ledger<FileLog>>),
    Shared(Box<SharedReader>),
}

/// How a collection stands.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    pub name: String,
    pub pages: u64,
    pub relevant: u64,
    pub urls: u64,
    pub pending: u64,
    pub hosts: usize,
    pub outcomes: Vec<(&'static str, u64)>,
    pub errors: BTreeMap<String, u64>,
    pub refused: BTreeMap<String, u64>,
    pub threshold: f64,
    pub curve: Vec<(u64, u64)>,
    pub ledger_bytes: u64,
    pub archive_bytes: u64,
    pub index_bytes: u64,
    pub running: bool,
    /// Of a shared crawl, those that are alive: name, shards, pages fetched.
    pub workers: Vec<(String, u64, u64)>,
}

impl Summary {
    pub fn harvest(&self) -> f64 {
        if self.pages == 0 { 0.0 } else { self.relevant as f64 / self.pages as f64 }
    }
}

/// Why a URL was fetched (or not), and what came of it.
#[derive(Clone, Debug, Serialize)]
pub struct Explanation {
    pub url: String,
    /// Pending, leased or settled, and how.
    pub state: String,
    pub strategy: String,
    pub priority: Priority,
    /// From the seed to the page.
    pub path: Vec<PathStep>,
    pub sources: Vec<SeenOn>,
    /// The page whose verdict changed its place in the queue.
    pub rescored_by: Option<String>,
    pub record: Option<Record>,
    pub duplicate_of: Option<String>,
    pub near_duplicate_of: Option<String>,
}

#[derive(Clone, Debug, Serialize)]
pub struct PathStep {
    pub url: String,
    pub title: String,
    /// Text of the link that led to it.
    pub anchor: String,
    pub score: Option<f64>,
}

#[derive(Clone, Debug, Serialize)]
pub struct SeenOn {
    pub parent: String,
    pub anchor: String,
    pub priority: Priority,
    pub reasons: Vec<Reason>,
}

/// Longer paths are cut at the far end: nobody reads a thousand steps.
const LONGEST_PATH: usize = 200;

impl Reader {
    pub fn open(dir: &Path) -> Result<Reader, Problem> {
        if !Collection::exists(dir) {
            return Err(Problem::usage(format!("{} is not a collection", dir.display()))
                .hint("name the folder that `gleaner crawl` wrote (--out)"));
        }
        let kept = Kept::Folder(Box::new(store::Ledger::open_read(dir)?));
        let config = Config::read(&Collection::topic_file(dir), toml::Table::new())?.config;
        Self::with(dir.to_path_buf(), kept, config)
    }

    /// Opens a crawl in a shared database. `dir`: where this machine keeps what it makes of it (an index to search in).
    pub fn open_shared(url: &str, crawl: Option<&str>, dir: &Path) -> Result<Reader, Problem> {
        let shared = SharedReader::open(url, crawl)?;
        let config = Config::load(shared.topic(), "the topic in the database", toml::Table::new())?.config;
        let dir = dir.join(shared.name());
        Self::with(dir, Kept::Shared(Box::new(shared)), config)
    }

    fn with(dir: PathBuf, kept: Kept, config: Config) -> Result<Reader, Problem> {
        let mut reader = Reader { dir, kept, config, verdicts: Vec::new(), relevant: HashMap::new() };
        reader.read_verdicts()?;
        Ok(reader)
    }

    /// Reads on in a collection that another process writes.
    pub fn refresh(&mut self) -> Result<bool, Problem> {
        let new = match &mut self.kept {
            Kept::Folder(l) => l.refresh()?,
            Kept::Shared(s) => s.refresh()?,
        };
        if new {
            self.read_verdicts()?;
        }
        Ok(new)
    }

    fn read_verdicts(&mut self) -> Result<(), Problem> {
        self.relevant.clear();
        self.verdicts.clear();
        if let Some(all) = self.ledger().verdicts()? {
            self.relevant.extend(all.iter().copied());
            self.verdicts = all;
            return Ok(());
        }
        let revised: HashMap<UrlId, Verdict> = self.ledger().revised()?.into_iter().collect();
        for line in self.ledger().state("pages")? {
            if let Some((id, relevant)) = crate::visit::page_line_verdict(&line) {
                let relevant = revised.get(&id).map_or(relevant, |v| v.relevant);
                self.verdicts.push((id, relevant));
                self.relevant.insert(id, relevant);
            }
        }
        Ok(())
    }

    /// When the ledger is damaged: what to tell whoever reads what is before the damage.
    pub fn damage(&self) -> Option<Problem> {
        let Kept::Folder(ledger) = &self.kept else { return None };
        let at = ledger.damage()?;
        let file = self.dir.join("ledger.log");
        Some(
            Problem::new(format!(
                "{} is damaged at byte {at}; only what is before that is shown",
                file.display()
            ))
            .hint("check the disk, and restore the folder from a backup"),
        )
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }
    pub fn config(&self) -> &Config {
        &self.config
    }
    pub fn ledger(&self) -> &dyn Ledger {
        match &self.kept {
            Kept::Folder(l) => l.as_ref(),
            Kept::Shared(s) => s.as_ref(),
        }
    }
    /// The full-text index. Of a shared crawl it is made here, and only what is new is added the next time.
    pub fn index(&self) -> Result<Index, Problem> {
        match &self.kept {
            Kept::Folder(_) => Index::open(&Collection::index_dir(&self.dir)),
            Kept::Shared(shared) => self.make_index(shared),
        }
    }

    fn make_index(&self, shared: &SharedReader) -> Result<Index, Problem> {
        let dir = Collection::index_dir(&self.dir);
        std::fs::create_dir_all(&dir).map_err(|e| Problem::io("create", &dir, &e))?;
        let mut index = Index::open_or_create(&dir)?;
        let missing: Vec<UrlId> =
            self.verdicts.iter().map(|v| v.0).filter(|id| !index.contains(*id)).collect();
        // A few are asked for one by one, many are read in one go.
        let few = missing.len() < 1_000;
        let records: Box<dyn Iterator<Item = Result<Record, Problem>>> = match few {
            true => Box::new(missing.into_iter().filter_map(|id| shared.record(id).transpose())),
            false => shared.records(0),
        };
        for record in records {
            let record = record?;
            if !record.noindex && !index.contains(record.id) {
                index.add(&record)?;
            }
        }
        index.commit()?;
        Ok(index)
    }
    pub fn is_relevant(&self, id: UrlId) -> bool {
        self.relevant.get(&id).copied().unwrap_or(false)
    }
    pub fn record(&self, id: UrlId) -> Result<Option<Record>, Problem> {
        self.ledger().record(id)
    }
    /// Every page in fetch order; only the relevant ones unless `all`.
    pub fn records(&self, all: bool) -> impl Iterator<Item = Result<Record, Problem>> + '_ {
        self.verdicts
            .iter()
            .filter(move |(_, relevant)| all || *relevant)
            .filter_map(|(id, _)| self.ledger().record(*id).transpose())
    }
    pub fn url(&self, id: UrlId) -> Option<String> {
        self.ledger().url(id).ok().map(|u| u.to_string())
    }

    pub fn summary(&self) -> Result<Summary, Problem> {
        let stats = self.ledger().stats();
        // One of each worker.
        let mut counts = Counts::default();
        for bytes in self.ledger().state("counts")? {
            let one: Counts = serde_json::from_slice(&bytes).unwrap_or_default();
            for (sum, of) in [(&mut counts.errors, one.errors), (&mut counts.refused, one.refused)] {
                of.into_iter().for_each(|(kind, n)| *sum.entry(kind).or_default() += n);
            }
        }
        let mut curve = Curve::default();
        let mut relevant = 0;
        for (n, (_, is)) in self.verdicts.iter().enumerate() {
            relevant += u64::from(*is);
            curve.push(n as u64 + 1, relevant);
        }
        let threshold = match self.verdicts.last() {
            Some((id, _)) => self.ledger().record(*id)?.map_or(0.0, |r| r.verdict.threshold),
            None => 0.0,
        };
        let workers = match &self.kept {
            Kept::Folder(_) => Vec::new(),
            Kept::Shared(s) => s.workers()?,
        };
        Ok(Summary {
            name: self.config.title().to_string(),
            pages: self.verdicts.len() as u64,
            relevant,
            urls: stats.urls,
            pending: stats.pending + stats.leased,
            hosts: stats.hosts,
            outcomes: stats.outcomes.into_iter().filter(|(_, n)| *n > 0).collect(),
            errors: counts.errors,
            refused: counts.refused,
            threshold,
            curve: curve.points().to_vec(),
            ledger_bytes: stats.log_bytes,
            archive_bytes: folder_bytes(&Collection::warc_dir(&self.dir)),
            index_bytes: folder_bytes(&Collection::index_dir(&self.dir)),
            running: match &self.kept {
                Kept::Folder(_) => store::ledger::is_locked(&self.dir),
                Kept::Shared(_) => !workers.is_empty(),
            },
            workers,
        })
    }

    /// `None` when the crawl never saw this URL.
    pub fn explain(&self, url: &Url) -> Result<Option<Explanation>, Problem> {
        let Some(id) = self.ledger().find(url) else { return Ok(None) };
        let Some(entry) = self.ledger().entry(id) else { return Ok(None) };
        let mut topic = self.config.topic()?;
        // The command line may have chosen another strategy than the topic file.
        if let Some(run) = Run::of(self.ledger())?.filter(|r| r.strategy != topic.strategy.kind) {
            topic.strategy.kind = run.strategy;
            topic.strategy.options.clear();
        }
        // A fresh strategy explains evidence well enough when its own state cannot be restored.
        let mut strategy = focus::strategies::build(&StrategySetup::new(&topic)).ok();
        if let Some(s) = &mut strategy {
            for bytes in self.ledger().state("strategy")? {
                let _ = s.load(&bytes);
            }
        }
        let record = self.ledger().record(id)?;
        let mut sources = Vec::new();
        for s in frontier::Frontier::sources(self.ledger(), id)? {
            sources.push(SeenOn {
                parent: s.parent.and_then(|p| self.url(p)).unwrap_or_else(|| "the seeds".into()),
                anchor: s.anchor.to_string(),
                priority: s.priority,
                reasons: strategy.as_ref().map_or(Vec::new(), |st| st.explain(&s.evidence, s.priority)),
            });
        }
        let name = |id: Option<UrlId>| id.and_then(|id| self.url(id));
        Ok(Some(Explanation {
            url: url.to_string(),
            state: match entry.state {
                State::Pending => "pending: found, not fetched yet".into(),
                State::Leased => "being fetched".into(),
                State::Settled(outcome) => format!("settled: {}", describe(outcome)),
            },
            strategy: topic.strategy.kind.clone(),
            priority: entry.priority,
            path: self.path(id)?,
            sources,
            rescored_by: name(entry.cause),
            duplicate_of: name(record.as_ref().and_then(|r| r.duplicate_of)),
            near_duplicate_of: name(record.as_ref().and_then(|r| r.near_duplicate_of)),
            record,
        }))
    }

    /// The pages from the seed to this one, by first parents.
    pub fn path(&self, id: UrlId) -> Result<Vec<PathStep>, Problem> {
        let mut out = Vec::new();
        let mut at = Some(id);
        while let Some(id) = at
            && out.len() < LONGEST_PATH
        {
            let record = self.ledger().record(id)?;
            let sources = frontier::Frontier::sources(self.ledger(), id)?;
            out.push(PathStep {
                url: self.url(id).unwrap_or_default(),
                title: record.as_ref().map_or(String::new(), |r| r.title.clone()),
                anchor: sources.first().map_or(String::new(), |s| s.anchor.to_string()),
                score: record.map(|r| r.assessment.score),
            });
            // A parent is always found before its child, so this ends even if the ledger were damaged.
            at = self.ledger().entry(id).and_then(|e| e.parent).filter(|p| *p < id);
        }
        out.reverse();
        Ok(out)
    }
}

fn describe(outcome: types::Outcome) -> String {
    use types::Outcome::*;
    match outcome {
        Fetched => "fetched".into(),
        Redirected => "it redirects to another URL".into(),
        HttpError(status) => format!("the server answered with status {status}"),
        Unreachable => "no answer after all tries".into(),
        RobotsDenied => "robots.txt forbids it".into(),
        Unwanted => "not a type of document that is read".into(),
        Refused => "refused by the guard, or not fetchable".into(),
        OutOfScope => "out of the topic's scope".into(),
        Dropped => "dropped: a cap was reached or it was forgotten".into(),
    }
}

fn folder_bytes(dir: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(dir) else { return 0 };
    entries.flatten().filter_map(|e| e.metadata().ok()).filter(|m| m.is_file()).map(|m| m.len()).sum()
}
