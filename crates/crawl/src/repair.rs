//! Brings back what a damaged collection still has.
//!
//! The whole commits that the ledger begins with stay as they are. Every page behind them, whether its record
//! in the ledger is whole or only its bytes are in the archive, is visited once more as if it had just
//! arrived: it is judged again, its links are found again, the strategy learns from it again. What was known
//! of URLs that brought no page is gone; they are asked for once more when the crawl goes on.
//!
//! The new ledger is made beside the old one and takes its place when it is whole. The old one, and bytes
//! that fit nowhere, are set aside; nothing is deleted.

use crate::admit::{Origin, answer_of, is_page, lease};
use crate::analyse::Analyst;
use crate::collection::{Collection, TopicParts, committed, live_answer, unknown_pages, write_topic};
use crate::config::LoadedConfig;
use crate::crawl::{Arrival, Crawl, Ledger, Parts};
use crate::labels::{Change, Labels};
use crate::rules::Stop;
use crate::scope::Scope;
use crate::steer::Adjustments;
use crate::stored;
use fetch::Http;
use frontier::Limits;
use serde::Serialize;
use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use store::Records;
use store::archive::{
    self, ArchiveSettings, Archiver, Digest, Exchange, Exchanges, HttpLimits, PageNote, Position, Stacks,
    WrittenRecord, http_message, rfc3339,
};
use store::formats::position_bytes;
use store::index::Index;
use store::ledger::{self as log, SalvagedRecord};
use types::{ArchiveRef, Canon, Fetched, LinkKind, Millis, Payload, Problem, Record, StateKey, Url, UrlId};

/// The new ledger is made here.
const WORKSHOP: &str = "repair.tmp";
/// In the workshop: the new ledger is whole and may take its place.
const DONE: &str = "done";
/// In the workshop: the old ledger was set aside.
const MOVED: &str = "moved";
/// Pages between two commits.
const BATCH: u64 = 64;
/// Largest page that is read from the archive.
const LARGEST: usize = 64 << 20;

/// What was wrong, and what came of the repair.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Repaired {
    /// What was wrong, each in a sentence. Nothing: nothing was changed.
    pub found: Vec<String>,
    /// Pages the collection had, as far as that is known.
    pub before: Option<u64>,
    /// Pages in the part of the ledger that was whole.
    pub kept: u64,
    /// Pages that came back from records behind the damage.
    pub from_ledger: u64,
    /// Pages that came back from the archive alone.
    pub from_archive: u64,
    /// Pages that were found and could not be brought back.
    pub failed: u64,
    /// Pages now.
    pub pages: u64,
    /// URLs that wait to be fetched now.
    pub pending: u64,
    /// Labels that came back.
    pub labels: u64,
    /// Where the old ledger and what fits nowhere are.
    pub aside: Option<PathBuf>,
}

impl Repaired {
    /// Pages that are known to have been there and are gone.
    pub fn lost(&self) -> u64 {
        self.before.map_or(0, |n| n.saturating_sub(self.pages)).max(self.failed)
    }
}

/// Repairs the collection in a folder by its topic. Fails when another process has it open.
pub fn repair(dir: &Path, loaded: &LoadedConfig, rng: u64) -> Result<Repaired, Problem> {
    let mut result = Repaired::default();
    // First: a collection with something in the way cannot be held.
    for (found, to) in store::shape::set_aside(dir, Millis::now())? {
        let now = format!("{} {}; it is in {} now", found.path.display(), found.what(), to.display());
        result.found.push(now);
    }
    if !result.found.is_empty() && !Collection::topic_file(dir).exists() {
        write_topic(dir, &loaded.text)?;
    }
    let _held = log::hold(dir)?;
    store::swap::finish(dir)?;
    if dir.join(WORKSHOP).join(DONE).exists() {
        result.found.push("an earlier repair was interrupted when it was nearly done".into());
        result.aside = Some(take_place(dir)?);
    }
    let look = Look::at(dir)?;
    result.before = look.before;
    result.found.extend(look.found.iter().cloned());
    if look.found.is_empty() {
        finish(dir, loaded, &mut result)?;
        return Ok(result);
    }
    write_topic(dir, &loaded.text)?;
    let end = rebuild(dir, loaded, rng, &look, &mut result)?;
    result.aside = Some(take_place(dir)?);
    set_aside_rest(dir, end.as_ref())?;
    finish(dir, loaded, &mut result)?;
    Ok(result)
}

/// What is found before anything is changed.
#[derive(Default)]
struct Look {
    found: Vec<String>,
    /// Everything in the ledger before this byte is whole.
    whole: u64,
    before: Option<u64>,
    /// What the user said of pages, behind the damage, in the numbers of the old ledger.
    labels: Vec<Vec<u8>>,
    control: Option<Vec<u8>>,
    /// What was removed, behind the damage.
    removed: Vec<Vec<u8>>,
}

impl Look {
    fn at(dir: &Path) -> Result<Look, Problem> {
        let mut look = Look { found: Vec::new(), whole: 0, before: None, ..Look::default() };
        let (mut behind, mut labels, mut control, mut removed) = (0, Vec::new(), None, Vec::new());
        let salvage = log::salvage(dir, &mut |found| {
            match found {
                SalvagedRecord::Page(_) => behind += 1,
                SalvagedRecord::State("labels", _, bytes) => labels.push(bytes.to_vec()),
                SalvagedRecord::State("control", _, bytes) => control = Some(bytes.to_vec()),
                SalvagedRecord::State("removed", _, bytes) => removed.push(bytes.to_vec()),
                SalvagedRecord::State(..) => {}
            }
            Ok(())
        })?;
        (look.whole, look.labels, look.control, look.removed) = (salvage.whole, labels, control, removed);
        let witness = log::witness(dir);
        look.before = witness.as_ref().and_then(|w| w.pages);
        match store::Ledger::open_read(dir) {
            Ok(ledger) => {
                if let Some(damage) = ledger.damage() {
                    look.before = damage.pages.max(look.before);
                    look.note(&damage.problem(&dir.join("ledger.log").display().to_string()));
                } else if behind > 0 || (salvage.whole < ledger.stats()?.log_bytes) {
                    look.found.push(format!("ledger.log is damaged at byte {}", salvage.whole));
                }
                look.at_archive(dir, &*ledger)?;
            }
            Err(problem) => look.note(&problem),
        }
        Ok(look)
    }

    fn note(&mut self, problem: &Problem) {
        let why = problem.cause().map_or(String::new(), |why| format!(" ({why})"));
        self.found.push(format!("{}{why}", problem.what()));
    }

    fn at_archive(&mut self, dir: &Path, ledger: &impl Records) -> Result<(), Problem> {
        let (warc, position) = (Collection::warc_dir(dir), committed(ledger)?);
        if let Some(p) = &position {
            let length = fs::metadata(warc.join(&p.file)).map_or(0, |m| m.len());
            if length < p.length {
                self.found.push(format!("{} has {length} bytes, {} were committed", p.file, p.length));
            }
        }
        let pages = unknown_pages(&warc, ledger, u64::MAX - 1)?;
        if pages > 0 {
            self.found.push(format!("the archive holds {pages} pages that the ledger does not know of"));
        }
        Ok(())
    }
}

/// Makes the new ledger in the workshop. Returns where the archive ends.
fn rebuild(
    dir: &Path,
    loaded: &LoadedConfig,
    rng: u64,
    look: &Look,
    result: &mut Repaired,
) -> Result<Option<Position>, Problem> {
    let shop = dir.join(WORKSHOP);
    if shop.exists() {
        // Of a repair that was interrupted; what it was made of is still there.
        fs::remove_dir_all(&shop).map_err(|e| Problem::io("clear", &shop, &e))?;
    }
    fs::create_dir_all(&shop).map_err(|e| Problem::io("create", &shop, &e))?;
    copy_whole(dir, &shop, look.whole)?;
    let place = Arc::new(Mutex::new(Place::default()));
    let (mut crawl, analyst) = open_crawl(&shop, loaded, rng, look, &place)?;
    let stats = crawl.parts.ledger.stats()?;
    let known = UrlId(stats.urls as u32);
    result.kept = stats.pages;
    let mut back = Restoring {
        stacks: Stacks::new(Some(Collection::warc_dir(dir))).reading_on(),
        limits: Collection::limits(&loaded.config),
        known,
        numbers: HashMap::new(),
        tried: 0,
        crawl: &mut crawl,
        analyst,
        place: place.clone(),
    };
    let mut failed = 0;
    log::salvage(dir, &mut |found| {
        if let SalvagedRecord::Page(record) = found {
            match back.record(&record)? {
                PageFate::Back => result.from_ledger += 1,
                PageFate::Not => failed += 1,
                PageFate::Known => {}
            }
        }
        Ok(())
    })?;
    let position = committed(back.crawl.parts.ledger.as_ref())?;
    let warc = Collection::warc_dir(dir);
    for (file, from) in sources(&warc, position.as_ref())? {
        let mut pages = Exchanges::open(&warc.join(&file), from, LARGEST)?;
        for exchange in &mut pages {
            match back.exchange(&file, &exchange)? {
                PageFate::Back => result.from_archive += 1,
                PageFate::Not => failed += 1,
                PageFate::Known => {}
            }
        }
        failed += pages.damaged();
    }
    result.failed = failed;
    let numbers = back.numbers;
    result.labels = bring_labels(&mut crawl, &look.labels, known, &numbers)?;
    let end = archive_end(&warc)?;
    let bytes = end.as_ref().map(position_bytes).unwrap_or_default();
    crawl.parts.ledger.put_state(StateKey::Archive, false, &bytes)?;
    place.lock().unwrap_or_else(PoisonError::into_inner).end = end.clone();
    crawl.commit()?;
    crawl.close(Stop::User, Millis::now())?;
    drop(crawl);
    touch(&shop.join(DONE))?;
    Ok(end)
}

fn copy_whole(dir: &Path, shop: &Path, whole: u64) -> Result<(), Problem> {
    if whole == 0 {
        return Ok(());
    }
    let (from, to) = (dir.join("ledger.log"), shop.join("ledger.log"));
    let copy = || -> io::Result<()> {
        let mut out = File::create(&to)?;
        io::copy(&mut File::open(&from)?.take(whole), &mut out)?;
        out.sync_all()
    };
    copy().map_err(|e| Problem::io("copy", &from, &e))
}

/// The crawl as the whole part of the ledger knows it. Nothing is fetched, and nothing is written into the
/// archive: pages are found there.
fn open_crawl(
    shop: &Path,
    loaded: &LoadedConfig,
    rng: u64,
    look: &Look,
    place: &Arc<Mutex<Place>>,
) -> Result<(Crawl, Analyst), Problem> {
    let options = store::Options::new(Collection::limits(&loaded.config));
    let mut ledger: Box<dyn Ledger> = Box::new(store::Ledger::open(shop, options, Millis::now())?);
    if let Some(bytes) = &look.control {
        ledger.put_state(StateKey::Control, false, bytes)?;
    }
    for bytes in &look.removed {
        ledger.put_state(StateKey::Removed, true, bytes)?;
    }
    let adjustments = Adjustments::read(ledger.as_ref())?;
    let config = adjustments.over(loaded)?;
    let topic = adjustments.topic(&config)?;
    let web = Http::new(Collection::fetch_settings(&config)?)?;
    let canon = Collection::canon(&config);
    let made = TopicParts::new(&topic, &canon, &live_answer(&web), 0, rng)?;
    let mut rules = Collection::rules(&config, rng);
    rules.watch_network = false;
    // What is in the archive stays there, however it is judged now.
    rules.only_relevant_archived = false;
    let parts = Parts {
        name: config.title().to_string(),
        strategy_name: topic.strategy.kind.clone(),
        judge_name: topic.judge.kind.clone(),
        rules,
        canon,
        scope: Scope::new(&config.scope, &[])?,
        ledger,
        judge: made.analyst.judge.clone(),
        strategy: made.strategy,
        archive: Some(Box::new(ReadyArchive(place.clone()))),
        index: None,
        folder: None,
    };
    let mut crawl = Crawl::new(parts)?;
    // Who made the state is noted, as at the beginning of every run.
    crawl.seed(&[], Millis::now())?;
    Ok((crawl, made.analyst))
}

/// Where the page that is being visited is in the archive.
#[derive(Default)]
struct Place {
    now: Option<ArchiveRef>,
    end: Option<Position>,
}

/// An archive in which every page is already.
struct ReadyArchive(Arc<Mutex<Place>>);

impl Archiver for ReadyArchive {
    fn write(&mut self, _: &Fetched, note: &PageNote) -> Result<Option<WrittenRecord>, Problem> {
        let at = self.0.lock().unwrap_or_else(PoisonError::into_inner).now.clone();
        Ok(at.map(|at| WrittenRecord {
            at,
            digest: note.digest.unwrap_or(Digest([0; 20])),
            revisit: note.duplicate_of.is_some(),
        }))
    }
    fn flush(&mut self) -> Result<(), Problem> {
        Ok(())
    }
    fn sync(&mut self) -> Result<(), Problem> {
        Ok(())
    }
    fn position(&self) -> Option<Position> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).end.clone()
    }
}

/// What became of a page.
enum PageFate {
    Back,
    /// It is there already.
    Known,
    Not,
}

/// Pages on their way back.
struct Restoring<'a> {
    crawl: &'a mut Crawl,
    analyst: Analyst,
    stacks: Stacks,
    limits: Limits,
    place: Arc<Mutex<Place>>,
    /// URLs before this one have the numbers they had.
    known: UrlId,
    /// The new numbers of pages behind the damage.
    numbers: HashMap<UrlId, UrlId>,
    tried: u64,
}

impl Restoring<'_> {
    /// A page whose record was found behind the damage.
    fn record(&mut self, old: &Record) -> Result<PageFate, Problem> {
        let Some(url) = exact(&old.url) else { return Ok(PageFate::Not) };
        if is_page(self.crawl, &url)? {
            return Ok(PageFate::Known);
        }
        let mut record = old.clone();
        record.duplicate_of = old.duplicate_of.and_then(|id| self.number(id));
        let answer = stored::answer(&self.stacks, self.crawl.parts.ledger.as_ref(), &record)?;
        let mut fetched = answer.fetched;
        fetched.wire_bytes = old.bytes;
        fetched.truncated = old.truncated;
        fetched.elapsed = std::time::Duration::from_millis(u64::from(old.elapsed_ms));
        let origin =
            Origin { parent: old.parent.and_then(|id| self.number(id)), kind: old.kind, depth: old.depth };
        let came =
            self.visit(url.clone(), &origin, fetched, old.archive.clone(), Digest::from_hex(&old.digest))?;
        if let (PageFate::Back, Some(id)) = (&came, self.crawl.parts.ledger.find(&url)?) {
            self.numbers.insert(old.id, id);
        }
        Ok(came)
    }

    /// A page of the archive that the ledger may not know.
    fn exchange(&mut self, file: &str, exchange: &Exchange) -> Result<PageFate, Problem> {
        let response = &exchange.response;
        let Some(url) = response.target().and_then(exact) else { return Ok(PageFate::Not) };
        if is_page(self.crawl, &url)? {
            return Ok(PageFate::Known);
        }
        let Some(message) = http_message(&response.block, &HttpLimits::default()) else {
            return Ok(PageFate::Not);
        };
        let mut fetched = answer_of(exchange, url.clone(), &message);
        fetched.payload = match response.kind().as_str() {
            "revisit" => match self.original(response.header("WARC-Refers-To-Target-URI"))? {
                Some(payload) => payload,
                None => return Ok(PageFate::Not),
            },
            _ => fetched.payload,
        };
        if let Payload::Bytes { wire, .. } = &fetched.payload {
            fetched.wire_bytes = wire.len() as u64;
        }
        let via = exchange.noted("via").and_then(exact);
        let parent = via.map_or(Ok(None), |u| self.crawl.parts.ledger.find(&u))?;
        let depth = exchange.noted("depth").and_then(|v| v.parse().ok()).unwrap_or(0);
        let kind = exchange.noted("foundAs").map_or(LinkKind::Anchor, kind_of);
        let at = ArchiveRef { file: file.to_string(), offset: response.offset, length: response.length };
        let at = response.addressable.then_some(at);
        self.visit(url, &Origin { parent, kind, depth }, fetched, at, None)
    }

    /// The body of the page that a revisit refers to.
    fn original(&self, url: Option<&str>) -> Result<Option<Payload>, Problem> {
        let ledger = &self.crawl.parts.ledger;
        let Some(id) = url.and_then(exact).map_or(Ok(None), |u| ledger.find(&u))? else { return Ok(None) };
        let Some(at) = ledger.record(id)?.and_then(|r| r.archive) else { return Ok(None) };
        let limits = archive::Limits { block: LARGEST, ..archive::Limits::default() };
        let Ok(record) = self.stacks.record(&at, limits) else { return Ok(None) };
        let message = http_message(&record.block, &HttpLimits::default());
        Ok(message.map(|m| Payload::Bytes { wire: m.wire.as_ref().into(), decoded: m.body.as_ref().into() }))
    }

    /// The page as if it had just come.
    fn visit(
        &mut self,
        url: Url,
        origin: &Origin,
        fetched: Fetched,
        at: Option<ArchiveRef>,
        digest: Option<Digest>,
    ) -> Result<PageFate, Problem> {
        let read = catch_unwind(AssertUnwindSafe(|| self.analyst.analyse(&fetched)));
        let Ok(Some(mut analysis)) = read else { return Ok(PageFate::Not) };
        if let Some(digest) = digest {
            analysis.digest = digest.0;
        }
        let Some(lease) = lease(self.crawl, &self.limits, &url, origin)? else { return Ok(PageFate::Not) };
        self.place.lock().unwrap_or_else(PoisonError::into_inner).now = at;
        self.crawl
            .visit(Arrival { lease, fetched, analysis: Some(analysis), attempt: None }, Millis::now())?;
        self.tried += 1;
        if self.tried.is_multiple_of(BATCH) {
            self.crawl.commit()?;
        }
        Ok(if is_page(self.crawl, &url)? { PageFate::Back } else { PageFate::Not })
    }

    /// The number that a URL of the old ledger has now.
    fn number(&self, old: UrlId) -> Option<UrlId> {
        if old < self.known { Some(old) } else { self.numbers.get(&old).copied() }
    }
}

fn exact(url: &str) -> Option<Url> {
    Canon { drop_params: Vec::new(), max_length: usize::MAX }.parse(url).ok()
}

/// As the archive writes it.
fn kind_of(text: &str) -> LinkKind {
    use LinkKind::*;
    let all = [Anchor, Area, Frame, Refresh, Canonical, Redirect, Sitemap, Feed, Seed];
    all.into_iter().find(|k| format!("{k:?}").eq_ignore_ascii_case(text)).unwrap_or(Anchor)
}

/// The archive's files, from what the ledger knows of on.
fn sources(warc: &Path, position: Option<&Position>) -> Result<Vec<(String, u64)>, Problem> {
    let pieces = archive::beyond(warc, &ArchiveSettings::default(), position, 0)?;
    Ok(pieces.into_iter().map(|p| (p.file, p.from)).collect())
}

/// The end of the last whole record of the archive.
fn archive_end(warc: &Path) -> Result<Option<Position>, Problem> {
    for (_, file) in archive::files(warc, &ArchiveSettings::default())?.into_iter().rev() {
        let mut pages = Exchanges::open(&warc.join(&file), 0, 0)?;
        while pages.next().is_some() {}
        if pages.end() > 0 {
            return Ok(Some(Position { file, length: pages.end() }));
        }
    }
    Ok(None)
}

fn bring_labels(
    crawl: &mut Crawl,
    lines: &[Vec<u8>],
    known: UrlId,
    numbers: &HashMap<UrlId, UrlId>,
) -> Result<u64, Problem> {
    let mut said = Vec::new();
    for change in lines.iter().flat_map(|l| Change::all(l)) {
        let old = change.id;
        let now = if old < known { Some(old) } else { numbers.get(&old).copied() };
        said.extend(now.map(|id| Change { id, ..change }));
    }
    if said.is_empty() {
        return Ok(0);
    }
    let ledger = crawl.parts.ledger.as_mut();
    let mut labels = Labels::read(&*ledger)?;
    labels.apply(ledger, &said)?;
    Ok(said.len() as u64)
}

/// Sets the old ledger aside and puts the new one in its place. Whenever it is interrupted, it can go on.
/// Returns where the old one is.
fn take_place(dir: &Path) -> Result<PathBuf, Problem> {
    let (shop, aside) = (dir.join(WORKSHOP), Collection::aside_dir(dir));
    let moved = shop.join(MOVED);
    let mut folder = aside.clone();
    if !moved.exists() {
        let name = format!("ledger-{}", rfc3339(Millis::now()).replace([':', '-', '.'], ""));
        folder = aside.join(&name);
        fs::create_dir_all(&folder).map_err(|e| Problem::io("create", &folder, &e))?;
        for path in log::ledger_files(dir) {
            move_into(&path, &folder)?;
        }
        archive::note(&aside, &folder, "the ledger as it was before it was repaired", Millis::now())
            .map_err(|e| Problem::io("write", &aside, &e))?;
        touch(&moved)?;
    }
    for path in log::ledger_files(&shop) {
        move_into(&path, dir)?;
    }
    sync_folder(dir)?;
    fs::remove_dir_all(&shop).map_err(|e| Problem::io("remove", &shop, &e))?;
    Ok(folder)
}

fn move_into(path: &Path, folder: &Path) -> Result<(), Problem> {
    let to = folder.join(path.file_name().unwrap_or_default());
    fs::rename(path, &to).map_err(|e| Problem::io("move", path, &e))?;
    sync_folder(folder)
}

fn sync_folder(dir: &Path) -> Result<(), Problem> {
    File::open(dir).and_then(|d| d.sync_all()).map_err(|e| Problem::io("sync", dir, &e))
}

fn touch(path: &Path) -> Result<(), Problem> {
    let made = File::create(path).and_then(|mut f| f.write_all(b"\n").and_then(|()| f.sync_all()));
    made.map_err(|e| Problem::io("write", path, &e))?;
    path.parent().map_or(Ok(()), sync_folder)
}

/// Bytes behind the archive's last whole record would be in the way of what is written next.
fn set_aside_rest(dir: &Path, end: Option<&Position>) -> Result<(), Problem> {
    let (warc, aside) = (Collection::warc_dir(dir), Collection::aside_dir(dir));
    for (_, file) in archive::files(&warc, &ArchiveSettings::default())?.into_iter().rev() {
        match end {
            Some(end) if end.file == file => return archive::cut(&warc, end, &aside, Millis::now()),
            // Not one whole record is in it.
            _ => archive::cut(&warc, &Position { file, length: 0 }, &aside, Millis::now())?,
        }
    }
    Ok(())
}

/// Makes the index again and counts what is there now.
fn finish(dir: &Path, loaded: &LoadedConfig, result: &mut Repaired) -> Result<(), Problem> {
    let ledger = store::Ledger::open_read(dir)?;
    let stats = ledger.stats()?;
    (result.pages, result.pending) = (stats.pages, stats.pending);
    let folder = Collection::index_dir(dir);
    let changed = result.from_ledger + result.from_archive > 0 || result.aside.is_some();
    if !loaded.config.archive.index || (!changed && Index::open(&folder).is_ok()) {
        return Ok(());
    }
    if !changed {
        result.found.push("the search index was damaged".into());
    }
    Index::remove_all(&folder)?;
    let mut index = Index::open_or_create(&folder)?;
    for page in ledger.pages(0) {
        let (record, _) = page?;
        if !record.noindex {
            index.add(&record)?;
        }
    }
    index.close()
}
