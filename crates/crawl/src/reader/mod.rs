//! A collection as readers see it: how it stands, what it has, why a page is in it. Works while a crawl
//! writes.

mod at;
mod changes;
mod ended;
mod in_force;
mod source;

pub use changes::{Change, ChangeKind, Changes, DiffLine};
pub use ended::{Miss, MissCount, MissFilter};
pub use source::{CollectionSource, Mark, PageUpdate, PageUpdates};

use crate::answers::{Answers, Estimate, LabelStability, PageOpinion};
use crate::collection::{Collection, IndexedCounts, unknown_pages};
use crate::config::{Config, LoadedConfig};
use crate::crawl::{Counts, Run};
use crate::events::Curve;
use crate::labels::{Choice, Labels, Quality};
use crate::outlook::Outlook;
use crate::remove::Removal;
use crate::rendering::Attempt;
use crate::session::{InForce, Session};
use crate::steer::Adjustments;
use crate::teacher::{TeacherSpending, Usage};
use crate::visits::Found;
use crate::watch::Watched;
use focus::strategies::{Reason, Strategy, StrategySetup};
use frontier::State;
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use store::archive::{Stacks, UNCOMMITTED, lost_pages, rfc3339};
use store::index::Index;
use store::{Ledger, SharedReader, WorkerInfo};
use types::{Priority, Problem, Record, StateKey, Url, UrlId, Who};

/// Reads a collection without changing it, while a crawl may be writing to it.
pub struct Reader {
    dir: PathBuf,
    source: CollectionSource,
    loaded: LoadedConfig,
    /// The last run.
    session: Option<Session>,
    /// What was changed while a crawl ran.
    adjustments: Adjustments,
    /// The topic file with the changes laid over it.
    config: Config,
    /// What was said of each page when it came, in fetch order, as far as it was read.
    lines: Vec<PageUpdate>,
    /// Where a page is among them.
    at: HashMap<UrlId, usize>,
    /// Pages that were gone, or had moved, when they were last visited.
    away: HashMap<UrlId, Found>,
    /// Visits that were read.
    visits: usize,
    mark: Mark,
    /// Verdicts in fetch order, the newest of each page, the user's labels above the judge's.
    verdicts: Vec<(UrlId, bool)>,
    /// Copies, and the page each is a copy of.
    copies: HashMap<UrlId, UrlId>,
    newest: HashMap<UrlId, Newest>,
    /// The judge's scores are probabilities: the newest counts.
    probabilities: bool,
    labels: Labels,
    archive: Stacks,
    /// Pages that the archive has and the ledger has lost.
    lost: Option<Problem>,
    /// `None`: as it is now.
    then: Option<at::PastView>,
}

/// What is thought of a page now.
#[derive(Clone, Copy)]
struct Newest {
    /// The user's word, or the judge's.
    relevant: bool,
    /// The judge's own.
    judged: bool,
    score: f64,
}

/// How a collection stands.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    /// What the collection is called.
    pub name: String,
    /// Pages fetched.
    pub pages: u64,
    /// Relevant pages; labels count, and copies count once.
    pub relevant: u64,
    /// URLs ever admitted.
    pub urls: u64,
    /// URLs that wait.
    pub pending: u64,
    /// Hosts ever met.
    pub hosts: usize,
    /// URLs that ended, by outcome.
    pub outcomes: Vec<(&'static str, u64)>,
    /// What went wrong, by kind.
    pub errors: BTreeMap<String, u64>,
    /// Links that were not taken, by reason.
    pub refused: BTreeMap<String, u64>,
    /// Threshold of the judge.
    pub threshold: f64,
    /// The thresholds the judge chose by itself, with its reasons, the newest last.
    pub choices: Vec<Choice>,
    /// `(pages, relevant)`, ascending.
    pub curve: Vec<(u64, u64)>,
    /// What is still to be found; `None` = too little is known.
    pub outlook: Option<Outlook>,
    /// Size of the ledger.
    pub ledger_bytes: u64,
    /// Size of the archive.
    pub archive_bytes: u64,
    /// Size of the search index.
    pub index_bytes: u64,
    /// A crawl is writing to it now.
    pub running: bool,
    /// How the judge does on the pages the user labelled.
    pub labels: Option<Quality>,
    /// The language model that is asked about pages, and what it has cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub teacher: Option<Usage>,
    /// Of a shared crawl, those that are alive.
    pub workers: Vec<WorkerInfo>,
    /// The last run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<Session>,
    /// How its watch stands, if it is or was watched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub watch: Option<Watched>,
    /// Why nothing is fetched at the moment; `None` while a crawl runs, and before the first.
    pub stopped: Option<String>,
    /// The settings in force, and where each comes from.
    pub settings: Vec<InForce>,
}

/// What the user taught the judge, and what came of it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct TeachingEffect {
    /// Pages with a label.
    pub answered: u64,
    /// Of those, how many are wanted.
    pub yes: u64,
    /// Pages that are relevant now.
    pub relevant: u64,
    /// `None`: too little was answered to tell.
    pub estimate: Option<Estimate>,
    /// `None`: too little was answered to tell.
    pub settled: Option<LabelStability>,
}

impl Summary {
    /// Relevant share of the pages, 0–1; 0 without pages.
    pub fn harvest(&self) -> f64 {
        if self.pages == 0 { 0.0 } else { self.relevant as f64 / self.pages as f64 }
    }
}

/// Why a URL was fetched (or not), and what came of it.
#[derive(Clone, Debug, Serialize)]
pub struct Explanation {
    /// Canonical address.
    pub url: String,
    /// Pending, leased or settled, and how.
    pub state: String,
    /// Name of the strategy.
    pub strategy: String,
    /// The priority it has, or was fetched with.
    pub priority: Priority,
    /// From the seed to the page.
    pub path: Vec<PathStep>,
    /// Sightings, first seen first.
    pub sources: Vec<LinkPlace>,
    /// The page whose verdict changed its place in the queue.
    pub rescored_by: Option<String>,
    /// What was said of it.
    pub label: Option<bool>,
    /// Who said so.
    pub label_by: Option<Who>,
    /// What is kept of the page, if it was fetched.
    pub record: Option<Record>,
    /// Address of an earlier page with the same payload.
    pub duplicate_of: Option<String>,
    /// Address of an earlier page with nearly the same text.
    pub near_duplicate_of: Option<String>,
    /// What came of showing it in a browser, if that was tried.
    pub rendered: Option<Attempt>,
}

/// One page on the way from a seed.
#[derive(Clone, Debug, Serialize)]
pub struct PathStep {
    /// Its address.
    pub url: String,
    /// Its title; empty when it was not fetched.
    pub title: String,
    /// Text of the link that led to it.
    pub anchor: String,
    /// The judge's score; `None` when it was not fetched.
    pub score: Option<f64>,
}

/// A page on which the link was seen.
#[derive(Clone, Debug, Serialize)]
pub struct LinkPlace {
    /// Its address, or "the seeds".
    pub parent: String,
    /// Text of the link.
    pub anchor: String,
    /// What the strategy made of this sighting.
    pub priority: Priority,
    /// Why, in the strategy's words.
    pub reasons: Vec<Reason>,
}

/// Why links have their place: the strategy, with what it has learnt.
pub struct Explainer {
    kind: String,
    strategy: Option<Box<dyn Strategy>>,
}

impl Explainer {
    /// Every sighting of a URL with its reasons, first found first.
    pub fn sources(&self, reader: &Reader, id: UrlId) -> Result<Vec<LinkPlace>, Problem> {
        let seen = reader.source.sources(id)?;
        let strategy = self.strategy.as_ref();
        Ok(seen
            .into_iter()
            .map(|s| LinkPlace {
                parent: s.parent.and_then(|p| reader.url(p)).unwrap_or_else(|| "the seeds".into()),
                anchor: s.anchor.to_string(),
                priority: s.priority,
                reasons: strategy.map_or(Vec::new(), |st| st.explain(&s.evidence, s.priority)),
            })
            .collect())
    }
}

/// Longer paths are cut at the far end: nobody reads a thousand steps.
const LONGEST_PATH: usize = 200;

impl Reader {
    /// Opens the collection in a folder.
    pub fn open(dir: &Path) -> Result<Reader, Problem> {
        Collection::check_remains(dir)?;
        if !Collection::exists(dir) {
            return Err(Problem::usage(format!("{} is not a collection", dir.display()))
                .hint("name the folder that `gleaner crawl` wrote (--out)"));
        }
        let source = CollectionSource::Folder(Box::new(Ledger::open_read(dir)?));
        let loaded = Config::read(&Collection::topic_file(dir), toml::Table::new()).map_err(|problem| {
            problem.or_hint(
                "correct it, or put the topic file that was crawled in its place; the pages are not touched",
            )
        })?;
        Self::with(dir.to_path_buf(), source, loaded)
    }

    /// Opens a crawl in a shared database. `dir`: where this machine keeps what it makes of it (an index to
    /// search in).
    pub fn open_shared(url: &str, crawl: Option<&str>, dir: &Path) -> Result<Reader, Problem> {
        let shared = SharedReader::open(url, crawl)?;
        let loaded = Config::load(shared.topic(), "the topic in the database", toml::Table::new())?;
        let dir = dir.join(shared.name());
        Self::with(dir, CollectionSource::Shared(Box::new(shared)), loaded)
    }

    fn with(dir: PathBuf, source: CollectionSource, loaded: LoadedConfig) -> Result<Reader, Problem> {
        let mut reader = Reader {
            archive: Stacks::new(Some(Collection::warc_dir(&dir))),
            dir,
            source,
            session: None,
            adjustments: Adjustments::default(),
            config: loaded.config.clone(),
            loaded,
            lines: Vec::new(),
            at: HashMap::new(),
            away: HashMap::new(),
            visits: 0,
            mark: Mark::default(),
            verdicts: Vec::new(),
            copies: HashMap::new(),
            newest: HashMap::new(),
            probabilities: false,
            labels: Labels::default(),
            lost: None,
            then: None,
        };
        reader.read_verdicts()?;
        reader.read_settings()?;
        reader.read_away()?;
        if reader.source.damage().is_none() {
            reader.lost = reader.find_lost();
        }
        Ok(reader)
    }

    /// Reads on in a collection that another process writes.
    pub fn refresh(&mut self) -> Result<bool, Problem> {
        if self.then.is_some() {
            return Ok(false);
        }
        let new = self.source.refresh()?;
        if new {
            self.read_verdicts()?;
            self.read_settings()?;
            self.read_away()?;
        }
        Ok(new)
    }

    /// Which pages were not there when they were last visited.
    fn read_away(&mut self) -> Result<(), Problem> {
        for visit in self.source.visits_since(&mut self.visits)? {
            match visit.found {
                Found::Gone | Found::Moved => self.away.insert(visit.id, visit.found),
                found if found.is_there() => self.away.remove(&visit.id),
                _ => None,
            };
        }
        Ok(())
    }

    /// Was the page gone, or had it moved, when it was last visited?
    pub fn away(&self, id: UrlId) -> Option<Found> {
        self.away.get(&id).copied()
    }

    /// Which settings are in force: the topic file, what was changed, the command line of the last run.
    fn read_settings(&mut self) -> Result<(), Problem> {
        let session = Session::of(&*self.source)?;
        let adjustments = Adjustments::read(&*self.source)?;
        let flags = |session: &Option<Session>| session.as_ref().map(|s| s.flags.clone());
        let other_flags = flags(&session) != flags(&self.session);
        if other_flags && let Some(session) = &session {
            // The topic file may be another by now.
            self.loaded = self.loaded.with_flags(session.flags()).unwrap_or_else(|_| self.loaded.clone());
        }
        if other_flags || adjustments != self.adjustments {
            self.config = adjustments.over(&self.loaded)?;
            self.adjustments = adjustments;
        }
        self.session = session;
        Ok(())
    }

    fn read_verdicts(&mut self) -> Result<(), Problem> {
        let own = || self.loaded.config.judge.kind.clone().unwrap_or_else(|| focus::judges::DEFAULT.into());
        let judge = Run::of(&*self.source)?.map_or_else(own, |run| run.judge);
        self.probabilities = focus::judges::gives_probabilities(&judge);
        let said = self.source.said_since(&mut self.mark)?;
        if said.anew {
            self.lines.clear();
            self.at.clear();
            self.copies.clear();
        }
        let known = self.lines.len();
        let mut again = false;
        for line in said.lines {
            match line.copy_of {
                Some(original) => self.copies.insert(line.id, original),
                None => self.copies.remove(&line.id),
            };
            // A later version takes the place of the earlier one.
            match self.at.get(&line.id).and_then(|i| self.lines.get_mut(*i)) {
                Some(earlier) => {
                    *earlier = line;
                    again = true;
                }
                None => {
                    self.at.insert(line.id, self.lines.len());
                    self.lines.push(line);
                }
            }
        }
        let labels = Labels::read(&*self.source)?;
        if said.revised.is_none() && labels == self.labels && known > 0 && !again {
            for line in self.lines.iter().skip(known) {
                let relevant = labels.decides(line.id).unwrap_or(line.relevant);
                self.verdicts.push((line.id, relevant));
                let newest = Newest { relevant, judged: line.relevant, score: line.score };
                self.newest.insert(line.id, newest);
            }
            return Ok(());
        }
        self.labels = labels;
        let revised = match said.revised {
            Some(revised) => revised,
            None => self.source.revised()?.into_iter().collect(),
        };
        self.newest.clear();
        self.verdicts.clear();
        for line in &self.lines {
            let (judged, score) = match revised.get(&line.id) {
                Some(v) if self.probabilities => (v.relevant, v.relevance),
                Some(v) => (v.relevant, line.score),
                None => (line.relevant, line.score),
            };
            let relevant = self.labels.decides(line.id).unwrap_or(judged);
            self.verdicts.push((line.id, relevant));
            self.newest.insert(line.id, Newest { relevant, judged, score });
        }
        Ok(())
    }

    /// Why it was removed from the collection, if it was.
    fn removal(&self, url: &Url) -> Result<Option<Removal>, Problem> {
        Ok(Removal::list(&*self.source)?.into_iter().rfind(|r| r.what.matches(url)))
    }

    /// When the collection is damaged: what to tell whoever reads what is left of it.
    pub fn damage(&self) -> Option<Problem> {
        let file = self.dir.join("ledger.log").display().to_string();
        match self.source.damage() {
            Some(damage) => Some(damage.problem(&file)),
            None => self.lost.clone(),
        }
    }

    /// Does the archive have more pages than a crash can leave behind the ledger's end?
    fn find_lost(&self) -> Option<Problem> {
        if self.source.shared_name().is_some() || self.is_running() {
            return None;
        }
        let warc = Collection::warc_dir(&self.dir);
        let most = if self.source.stats().ok()?.urls == 0 { 0 } else { UNCOMMITTED };
        let unknown = unknown_pages(&warc, &*self.source, most).ok()?;
        (unknown > most).then(|| lost_pages(&warc))
    }

    /// When the archive does not reach as far as the ledger says. The pages themselves are there: their text
    /// is in the ledger.
    pub fn archive_damage(&self) -> Option<String> {
        let committed = crate::collection::committed(&*self.source).ok()??;
        let path = Collection::warc_dir(&self.dir).join(&committed.file);
        let length = std::fs::metadata(&path).map_or(0, |m| m.len());
        (self.source.shared_name().is_none() && length < committed.length).then(|| {
            format!(
                "{} has {length} bytes, {} were committed: bytes of archived pages are missing (their text \
                 is in the ledger)",
                path.display(),
                committed.length
            )
        })
    }

    /// Of a shared crawl: its name in the database.
    pub fn shared_name(&self) -> Option<&str> {
        self.source.shared_name()
    }
    /// The collection's folder.
    pub fn dir(&self) -> &Path {
        &self.dir
    }
    /// The settings, with what was changed while a crawl ran.
    pub fn config(&self) -> &Config {
        &self.config
    }
    /// The settings with other changes laid over the topic file.
    pub fn config_with(&self, adjustments: &Adjustments) -> Result<Config, Problem> {
        adjustments.over(&self.loaded)
    }
    /// What was changed while running.
    pub fn adjustments(&self) -> &Adjustments {
        &self.adjustments
    }
    /// The topic, with what was changed while a crawl ran.
    pub fn topic(&self) -> Result<focus::topic::Topic, Problem> {
        self.adjustments.topic(&self.config)
    }
    /// The topic file, without what was changed while a crawl ran.
    pub(crate) fn loaded(&self) -> &LoadedConfig {
        &self.loaded
    }
    /// The topic file as it was when the collection was opened.
    pub fn topic_text(&self) -> &str {
        &self.loaded.text
    }
    /// What is known of URLs and pages.
    pub fn ledger(&self) -> &CollectionSource {
        &self.source
    }
    /// What was said of pages.
    pub fn labels(&self) -> &Labels {
        &self.labels
    }
    /// How the judge does on the labelled pages; `None` without labels.
    pub fn quality(&self) -> Result<Option<Quality>, Problem> {
        if self.labels.is_empty() {
            return Ok(None);
        }
        let mut pairs = Vec::new();
        for (id, label) in self.labels.iter() {
            if let Some(record) = self.source.record(id)? {
                pairs.push((label, record.verdict.relevant));
            }
        }
        Ok(Some(Quality::of(pairs)))
    }
    /// The strategy of the last run; the topic's own before the first.
    pub fn strategy(&self) -> Result<String, Problem> {
        let last = Run::of(&*self.source)?.map(|r| r.strategy);
        let own = || self.config.strategy.kind.clone().unwrap_or_else(|| focus::strategies::DEFAULT.into());
        Ok(last.unwrap_or_else(own))
    }
    /// Where its pages are, byte for byte.
    pub fn archive(&self) -> &Stacks {
        &self.archive
    }
    /// Is anyone crawling into it?
    pub fn is_running(&self) -> bool {
        self.source.is_running(&self.dir)
    }
    /// The full-text index. Of a shared crawl it is made here, and only what is new is added the next time.
    /// One that is damaged or gone is made again ([`Index::was_reset`] says so).
    pub fn index(&self) -> Result<Index, Problem> {
        let dir = Collection::index_dir(&self.dir);
        let opened = self.source.index(&dir);
        if self.source.shared_name().is_some() || !self.config.archive.index {
            return opened;
        }
        match opened {
            Ok(index) => {
                let known = IndexedCounts::read(&*self.source).unwrap_or_default();
                if index.len() as u64 >= known.documents || self.is_running() {
                    return Ok(index);
                }
                let why = Problem::new(format!("the search index {} has lost pages", dir.display()));
                drop(index);
                self.make_index(&dir, why)
            }
            Err(why) => self.make_index(&dir, why),
        }
    }

    /// The index once more, after a search failed in it: files that are whole and not those that belong there
    /// are met by nothing else.
    pub fn index_again(&self, why: Problem) -> Result<Index, Problem> {
        match self.source.shared_name() {
            Some(_) => Err(why),
            None => self.make_index(&Collection::index_dir(&self.dir), why),
        }
    }

    /// Makes the index again from the ledger.
    fn make_index(&self, dir: &Path, why: Problem) -> Result<Index, Problem> {
        // Whoever crawls into the collection has the index open and makes it again when the next crawl
        // begins.
        let Ok(_held) = store::ledger::hold(&self.dir) else {
            return Err(why.hint("a crawl is running here: when it has ended, search again"));
        };
        Index::remove_all(dir)?;
        let mut index = Index::open_or_create(dir)?;
        // A page that cannot be read is told of by whoever reads pages.
        for (record, _) in self.source.pages(0).flatten().filter(|(r, _)| !r.noindex) {
            index.add(&record)?;
        }
        index.commit()?;
        Ok(index.made_again(&why))
    }

    /// Is the page relevant by its label, or else by its newest verdict?
    pub fn is_relevant(&self, id: UrlId) -> bool {
        self.newest.get(&id).is_some_and(|n| n.relevant)
    }
    /// Is it relevant, and not a copy of a relevant page? Near-duplicates count once.
    pub fn is_counted(&self, id: UrlId) -> bool {
        self.is_relevant(id) && self.copies.get(&id).is_none_or(|original| !self.is_relevant(*original))
    }
    /// How many pages would count as relevant if the line were there instead of at `now`. Labels stand,
    /// near-duplicates count once, and what is ruled out at any line stays so.
    pub fn count_at(&self, line: f64, now: f64) -> usize {
        let would_be = |id: UrlId| {
            self.newest.get(&id).is_some_and(|n| {
                let ruled_out = n.score >= now && !n.judged;
                self.labels.decides(id).unwrap_or(n.score >= line && !ruled_out)
            })
        };
        let counts = |id: &UrlId| self.copies.get(id).is_none_or(|original| !would_be(*original));
        self.verdicts.iter().filter(|(id, _)| would_be(*id) && counts(id)).count()
    }
    /// A page's newest score.
    pub fn score(&self, id: UrlId) -> Option<f64> {
        self.newest.get(&id).map(|n| n.score)
    }
    /// What is thought of every page, in fetch order, with the SimHash of its text.
    pub fn standings(&self) -> impl Iterator<Item = (UrlId, PageOpinion, u64)> + '_ {
        self.lines.iter().filter_map(|line| {
            let n = self.newest.get(&line.id)?;
            let label = self.labels.get(line.id);
            Some((line.id, PageOpinion { relevance: n.score, relevant: n.judged, label }, line.simhash))
        })
    }
    /// The line between relevant pages and others, as it is now.
    pub fn threshold(&self) -> Result<f64, Problem> {
        if self.probabilities
            && let Some(choice) = Choice::read(&*self.source)?.pop()
        {
            return Ok(choice.threshold);
        }
        match self.verdicts.last() {
            Some((id, _)) => Ok(self.source.record(*id)?.map_or(0.0, |r| r.verdict.threshold)),
            None => Ok(0.0),
        }
    }
    /// Do the judge's scores say how likely a page is?
    pub fn has_probabilities(&self) -> bool {
        self.probabilities
    }
    /// What was answered, with what the judge thought before.
    pub fn answers(&self) -> Result<Answers, Problem> {
        Answers::read(&*self.source)
    }
    /// What was answered so far, and what it lets expect of the others.
    pub fn taught(&self) -> Result<TeachingEffect, Problem> {
        let answers = self.answers()?;
        let relevant = self.verdicts.iter().filter(|(id, _)| self.is_counted(*id)).count() as u64;
        let estimate = match self.probabilities {
            true => Estimate::of(self.standings().map(|(_, s, _)| s), &answers),
            // Scores of other judges say nothing of how likely a page is.
            false => None,
        };
        let yes = self.labels.iter().filter(|(_, l)| *l).count() as u64;
        let settled = LabelStability::of(&answers, relevant).filter(|_| self.probabilities);
        Ok(TeachingEffect { answered: self.labels.len() as u64, yes, relevant, estimate, settled })
    }
    /// A page, with the user's word in place of the judge's where there is one.
    pub fn record(&self, id: UrlId) -> Result<Option<Record>, Problem> {
        let record = self.source.record(id)?.map_or(Ok(None), |newest| self.as_it_was(newest))?;
        Ok(record.map(|r| self.with_label(r)))
    }
    /// The probability that is kept with a page is that of the day it came; its verdict has today's.
    fn with_score(&self, mut record: Record) -> Record {
        if self.probabilities {
            record.assessment.score = record.verdict.relevance;
        }
        record
    }
    fn with_label(&self, record: Record) -> Record {
        let mut record = self.with_score(record);
        if let Some(label) = self.labels.decides(record.id) {
            record.verdict.relevant = label;
        }
        record
    }
    /// Every page in fetch order; only the relevant ones that are still there unless `all`.
    pub fn records(&self, all: bool) -> impl Iterator<Item = Result<Record, Problem>> + '_ {
        let is_meant = |id: UrlId, relevant: bool| all || (relevant && self.away(id).is_none());
        let wanted =
            self.verdicts.iter().filter(|(id, relevant)| is_meant(*id, *relevant)).map(|(id, _)| *id);
        let records = self.source.records_of(wanted.collect());
        let then = records.filter_map(|record| record.and_then(|newest| self.as_it_was(newest)).transpose());
        then.map(|record| record.map(|r| self.with_label(r)))
    }
    /// Every page in fetch order with its verdict and score, without reading any record.
    pub fn verdicts(&self) -> impl Iterator<Item = (UrlId, bool, f64)> + '_ {
        self.verdicts.iter().map(|(id, relevant)| (*id, *relevant, self.score(*id).unwrap_or(0.0)))
    }
    /// The address of a page; `None` when there is no such page.
    pub fn url(&self, id: UrlId) -> Option<String> {
        self.source.url(id).ok().map(|u| u.to_string())
    }

    /// How the collection stands.
    pub fn summary(&self) -> Result<Summary, Problem> {
        let stats = self.source.stats()?;
        // One of each worker.
        let mut counts = Counts::default();
        for bytes in self.source.state(StateKey::Counts)? {
            let one: Counts = serde_json::from_slice(&bytes).unwrap_or_default();
            for (sum, of) in [(&mut counts.errors, one.errors), (&mut counts.refused, one.refused)] {
                of.into_iter().for_each(|(kind, n)| *sum.entry(kind).or_default() += n);
            }
        }
        let mut curve = Curve::default();
        let mut relevant = 0;
        for (n, (id, _)) in self.verdicts.iter().enumerate() {
            relevant += u64::from(self.is_counted(*id));
            curve.push(n as u64 + 1, relevant);
        }
        let threshold = self.threshold()?;
        Ok(Summary {
            name: self.config.title().to_string(),
            pages: self.verdicts.len() as u64,
            relevant,
            urls: stats.urls,
            pending: stats.pending + stats.leased,
            hosts: stats.hosts,
            outcomes: ended::outcomes(stats.outcomes, self.verdicts.len() as u64),
            errors: counts.errors,
            refused: counts.refused,
            threshold,
            choices: Choice::read(&*self.source)?,
            curve: curve.points().to_vec(),
            outlook: Outlook::of(curve.points(), stats.pending + stats.leased),
            ledger_bytes: stats.log_bytes,
            archive_bytes: folder_bytes(&Collection::warc_dir(&self.dir)),
            index_bytes: folder_bytes(&Collection::index_dir(&self.dir)),
            running: self.is_running(),
            labels: self.quality()?,
            teacher: Usage::of(&self.config.teacher, TeacherSpending::read(&*self.source)?),
            workers: self.source.workers()?,
            session: self.session.clone(),
            watch: self.watched()?,
            stopped: self.why_stopped().filter(|_| !self.is_running()),
            settings: self.in_force(threshold)?,
        })
    }

    /// How the watch of this collection stands; `None`: it was never watched.
    pub fn watched(&self) -> Result<Option<Watched>, Problem> {
        Watched::of(&*self.source)
    }

    /// Is it a copy of another page, and of which?
    pub fn copy_of(&self, id: UrlId) -> Option<UrlId> {
        self.copies.get(&id).copied()
    }

    /// The strategy as the crawl left it, to tell why links have their place.
    pub fn explainer(&self) -> Result<Explainer, Problem> {
        let mut topic = self.topic()?;
        // The command line may have chosen another strategy than the topic file.
        if let Some(run) = Run::of(&*self.source)?.filter(|r| r.strategy != topic.strategy.kind) {
            topic.strategy.kind = run.strategy;
            topic.strategy.options.clear();
        }
        // A fresh strategy explains evidence well enough when its own state cannot be restored.
        let mut strategy = focus::strategies::build(&StrategySetup::new(&topic)).ok();
        if let Some(model) = strategy.as_mut().and_then(|s| s.model()) {
            for bytes in self.source.state(StateKey::Strategy)? {
                let _ = model.load(&bytes);
            }
        }
        Ok(Explainer { kind: topic.strategy.kind, strategy })
    }

    /// `None` when the crawl never saw this URL.
    pub fn explain(&self, url: &Url) -> Result<Option<Explanation>, Problem> {
        self.explain_with(&self.explainer()?, url)
    }

    /// As `explain`, with a strategy that was made ready before.
    pub fn explain_with(&self, explainer: &Explainer, url: &Url) -> Result<Option<Explanation>, Problem> {
        let Some(id) = self.source.find(url)? else { return Ok(None) };
        let Some(entry) = self.source.entry(id)? else { return Ok(None) };
        let newest = self.source.record(id)?;
        let is_page = newest.is_some();
        let record = newest.map_or(Ok(None), |newest| self.as_it_was(newest))?.map(|r| self.with_score(r));
        let sources = explainer.sources(self, id)?;
        let name = |id: Option<UrlId>| id.and_then(|id| self.url(id));
        Ok(Some(Explanation {
            url: url.to_string(),
            state: match entry.state {
                _ if is_page && record.is_none() => "not fetched at that date".into(),
                State::Pending => "pending: found, not fetched yet".into(),
                State::Leased => "being fetched".into(),
                State::Settled(outcome) => match self.removal(url)?.filter(|_| record.is_none()) {
                    Some(r) => format!("removed at {}, because: {}", rfc3339(r.at), r.because),
                    None => format!("settled: {}", ended::describe(outcome)),
                },
            },
            strategy: explainer.kind.clone(),
            priority: entry.priority,
            path: self.path(id)?,
            sources,
            rescored_by: name(entry.cause),
            label: self.labels.get(id),
            label_by: self.labels.label(id).map(|l| l.who),
            duplicate_of: name(record.as_ref().and_then(|r| r.duplicate_of)),
            near_duplicate_of: name(record.as_ref().and_then(|r| r.near_duplicate_of)),
            record,
            rendered: Attempt::all(&*self.source)?.filter(|a| a.page == id.0).last(),
        }))
    }

    /// The pages from the seed to this one, by first parents.
    pub fn path(&self, id: UrlId) -> Result<Vec<PathStep>, Problem> {
        let mut out = Vec::new();
        let mut at = Some(id);
        while let Some(id) = at
            && out.len() < LONGEST_PATH
        {
            let record = self.record(id)?;
            let sources = self.source.sources(id)?;
            out.push(PathStep {
                url: self.url(id).unwrap_or_default(),
                title: record.as_ref().map_or(String::new(), |r| r.title.clone()),
                anchor: sources.first().map_or(String::new(), |s| s.anchor.to_string()),
                score: self.score(id).or(record.map(|r| r.assessment.score)),
            });
            // A parent is always found before its child, so this ends even if the ledger were damaged.
            at = self.source.entry(id)?.and_then(|e| e.parent).filter(|p| *p < id);
        }
        out.reverse();
        Ok(out)
    }
}

fn folder_bytes(dir: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(dir) else { return 0 };
    entries.flatten().filter_map(|e| e.metadata().ok()).filter(|m| m.is_file()).map(|m| m.len()).sum()
}
