//! Is a collection what it was? Every record of the ledger, every record of the archive, every reference from
//! one to the other and every page of the search index is looked at.
//!
//! | part | what is compared |
//! |---|---|
//! | ledger | the checksum of every record; length and end with what was noted of them; every URL's own records |
//! | state | every label, verdict line, visit and failure is about a URL that is there |
//! | archive | the checksum of every compressed record, block and payload; what belongs together; what refers to what |
//! | reference | every page's place in the archive has its answer: address, length, digest |
//! | index | the checksum of every file; every page is in it, and nothing else |
//!
//! What a crash leaves behind (an unfinished commit, pages that were never committed, an index that lags) is
//! no fault: the next run sets it right. It is told as a note.

use crate::answers::Answers;
use crate::collection::{Collection, IndexedCounts, committed, unknown_pages};
use crate::config::LoadedConfig;
use crate::failures::{FAILURES, Failure};
use crate::repair;
use crate::state::PageLine;
use crate::visits::{PageVisit, VISITS};
use frontier::State;
use serde::Serialize;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::path::Path;
use store::archive::{
    self, ArchiveSettings, Digest, HttpLimits, Limits, Scan, Stacks, UNCOMMITTED, WarcRecord, http_message,
    payload_digest,
};
use store::formats::LabelChange;
use store::index::Index;
use store::ledger as log;
use store::{Ledger, Records, Which};
use types::{ArchiveRef, Outcome, Problem, Record, StateKey, Url, UrlId};

/// Largest block of an archive record that is read whole; of larger ones the checksum of the compression is
/// all that is compared.
const LARGEST: usize = 256 << 20;

/// Which part of a collection a fault is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// The ledger, its checkpoints and its mark.
    Ledger,
    /// What is kept beside URLs and pages.
    State,
    /// A WARC file.
    Archive,
    /// From a page to its record in the archive.
    Reference,
    /// The search index.
    Index,
}

impl Part {
    /// For people.
    pub fn name(self) -> &'static str {
        match self {
            Part::Ledger => "ledger",
            Part::State => "state",
            Part::Archive => "archive",
            Part::Reference => "reference",
            Part::Index => "index",
        }
    }
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Fault {
    /// Where it belongs.
    pub part: Part,
    /// The file with the byte, or the URL.
    pub place: String,
    /// What is wrong there.
    pub what: String,
    /// Can `--repair` set it right without loss?
    pub repairable: bool,
}

/// What was found.
#[derive(Clone, Debug, Default, Serialize)]
pub struct CheckReport {
    /// Pages that are known to have been there: those that are, and those that are known to be missing.
    pub before: u64,
    /// Pages that are there.
    pub pages: u64,
    /// Pages with nothing wrong: record, place in the archive, bytes.
    pub sound: u64,
    /// Pages with a fault of their own.
    pub damaged: u64,
    /// Pages that are known to be missing.
    pub missing: u64,
    /// Versions of pages whose records were read.
    pub versions: u64,
    /// URLs whose records were read.
    pub urls: u64,
    /// Bytes of the ledger.
    pub ledger_bytes: u64,
    /// Archive files that were read.
    pub archive_files: u64,
    /// Records in them.
    pub archive_records: u64,
    /// Bytes of them.
    pub archive_bytes: u64,
    /// Pages in the search index.
    pub indexed: u64,
    /// A crawl is writing: what it has not committed was left out.
    pub running: bool,
    /// What a crash or an earlier repair left, and the next run sets right by itself.
    pub notes: Vec<String>,
    /// What is wrong.
    pub faults: Vec<Fault>,
}

/// What came of a repair.
#[derive(Clone, Debug, Serialize)]
pub struct RepairReport {
    /// Before anything was changed.
    pub found: CheckReport,
    /// Faults that are not there any more.
    pub repaired: Vec<Fault>,
    /// The collection as it is now; its faults are those that are left.
    #[serde(flatten)]
    pub now: CheckReport,
}

/// Looks at the whole collection in a folder. Changes nothing; works beside a crawl.
pub fn check(dir: &Path, index: bool) -> Result<CheckReport, Problem> {
    let mut check = Check { running: log::is_locked(dir), ..Check::default() };
    let aside = Collection::aside_dir(dir);
    if aside.is_dir() {
        check.note(format!("{} holds what an earlier run or repair set aside", aside.display()));
    }
    if store::swap::is_unfinished(dir) && !check.running {
        let what = "a removal or compaction was decided and is not finished";
        check.fault(Part::Ledger, dir.join("rewrite.tmp").display().to_string(), what, true);
    }
    for found in store::shape::misplaced(dir) {
        let part = match found.path.strip_prefix(dir).ok().and_then(|p| p.components().next()) {
            Some(first) if first.as_os_str() == "warc" => Part::Archive,
            Some(first) if first.as_os_str() == "index" => Part::Index,
            _ => Part::Ledger,
        };
        check.fault(part, found.path.display().to_string(), found.what(), true);
    }
    let warc = Collection::warc_dir(dir);
    let opened = Ledger::open_read_whole(dir);
    // A commit that ended while the files were being read is none of this check's business.
    let ledger = match opened {
        Ok(ledger) => ledger,
        Err(problem) => {
            let path = dir.join("ledger.log").display().to_string();
            check.fault(Part::Ledger, path, &in_short(&problem), true);
            check.out.missing = log::witness(dir).and_then(|w| w.pages).unwrap_or(0);
            check.archive(&warc, None)?;
            return Ok(check.done());
        }
    };
    check.ledger_file(dir, &ledger)?;
    check.urls(&*ledger)?;
    check.state(&*ledger)?;
    check.archive(&warc, Some(&*ledger))?;
    let stacks = Stacks::new(Some(warc)).reading_on();
    check.references(&*ledger, &stacks)?;
    if index {
        check.index(dir, &*ledger)?;
    }
    Ok(check.done())
}

/// Looks at a crawl in a shared database: its URLs, state and pages, and their places in the archive.
pub fn check_shared(records: &dyn Records, archive: Option<&Stacks>) -> Result<CheckReport, Problem> {
    let mut check = Check { running: true, ..Check::default() };
    check.urls(records)?;
    check.state(records)?;
    match archive {
        Some(archive) => check.references(records, archive)?,
        None => {
            check.note("the workers' archive files were not looked at (--warc DIR names their folder)".into())
        }
    }
    check.running = false;
    Ok(check.done())
}

/// Checks, sets right what can be without loss, and checks again. Fails when another process has the
/// collection open.
pub fn check_and_repair(dir: &Path, loaded: &LoadedConfig, rng: u64) -> Result<RepairReport, Problem> {
    let wants_index = loaded.config.archive.index;
    let in_the_way = !store::shape::misplaced(dir).is_empty();
    // Whoever cannot write is told before anything is read.
    if !in_the_way {
        drop(log::hold(dir)?);
    }
    let found = check(dir, wants_index)?;
    if in_the_way {
        repair::repair(dir, loaded, rng)?;
    }
    if store::swap::is_unfinished(dir) {
        let _held = log::hold(dir)?;
        finish_swap(dir, loaded)?;
    }
    let in_part = |part| found.faults.iter().any(|f| f.part == part && f.repairable);
    for path in log::damaged_checkpoints(dir).unwrap_or_default() {
        let _held = log::hold(dir)?;
        fs::remove_file(&path).map_err(|e| Problem::io("remove", &path, &e))?;
    }
    if in_part(Part::Ledger) || in_part(Part::Archive) || !found.notes.is_empty() {
        repair::repair(dir, loaded, rng)?;
    }
    if wants_index && (in_part(Part::Index) || in_part(Part::Ledger) || !found.notes.is_empty()) {
        let _held = log::hold(dir)?;
        mend_index(dir)?;
    }
    let now = check(dir, wants_index)?;
    let left: HashSet<&Fault> = now.faults.iter().collect();
    let repaired = found.faults.iter().filter(|f| !left.contains(f)).cloned().collect();
    Ok(RepairReport { found, repaired, now })
}

/// Finishes a removal or compaction that was decided when its process died. The caller holds the lock.
pub(crate) fn finish_swap(dir: &Path, loaded: &LoadedConfig) -> Result<(), Problem> {
    match store::swap::finish(dir)? && loaded.config.archive.index {
        true => mend_index(dir),
        false => Ok(()),
    }
}

/// Makes the index agree with the ledger. One that cannot be read is made anew.
/// The caller holds the lock.
pub(crate) fn mend_index(dir: &Path) -> Result<(), Problem> {
    let ledger = Ledger::open_read(dir)?;
    let mut index = Index::open_or_create(&Collection::index_dir(dir))?;
    let wanted = wanted_in_index(&*ledger)?;
    let there: Vec<UrlId> = index.ids().collect();
    for id in there.into_iter().filter(|id| !wanted.contains(id)) {
        index.remove(id)?;
    }
    let missing = wanted.into_iter().filter(|id| !index.contains(*id)).collect();
    for record in ledger.records_of(missing) {
        index.add(&record?)?;
    }
    index.close()
}

/// Pages that a search shall find.
fn wanted_in_index(ledger: &dyn Records) -> Result<BTreeSet<UrlId>, Problem> {
    let mut wanted = BTreeSet::new();
    for page in ledger.pages(0) {
        let (record, info) = page?;
        match !record.noindex && info.state == State::Settled(Outcome::Fetched) {
            true => wanted.insert(record.id),
            // An earlier version may have allowed it.
            false => wanted.remove(&record.id),
        };
    }
    Ok(wanted)
}

/// On one line, without what to do.
fn in_short(problem: &Problem) -> String {
    problem.cause().map_or_else(|| problem.what().to_string(), |why| format!("{}: {why}", problem.what()))
}

/// The digest that the page of an answer is known by. `None`: there is none, or the page is known by the
/// document that a browser made of it.
fn payload(answer: &WarcRecord) -> Option<Digest> {
    if answer.is_rendered() {
        return None;
    }
    answer.header("WARC-Payload-Digest").and_then(Digest::from_header)
}

/// A record of the archive, as far as references need it.
struct Answer {
    length: u64,
    /// Of its address.
    url: u64,
    digest: Option<Digest>,
}

/// A check under way.
#[derive(Default)]
struct Check {
    out: CheckReport,
    running: bool,
    /// Pages with a fault.
    damaged: BTreeSet<UrlId>,
    /// Responses and revisits of the files that were read, by file and byte.
    answers: HashMap<String, HashMap<u64, Answer>>,
    hash: RandomState,
}

impl Check {
    fn note(&mut self, text: String) {
        self.out.notes.push(text);
    }

    fn fault(&mut self, part: Part, place: impl Into<String>, what: &str, repairable: bool) {
        let fault = Fault { part, place: place.into(), what: what.to_string(), repairable };
        self.out.faults.push(fault);
    }

    fn page_fault(&mut self, part: Part, id: UrlId, place: impl Into<String>, what: &str) {
        self.damaged.insert(id);
        self.fault(part, place, what, false);
    }

    fn done(mut self) -> CheckReport {
        let out = &mut self.out;
        out.damaged = self.damaged.len() as u64;
        out.sound = out.pages.saturating_sub(out.damaged);
        out.before = out.pages + out.missing;
        out.running = out.running || self.running;
        self.out
    }

    // ---- the ledger ---------------------------------------------------------------------------------------

    fn ledger_file(&mut self, dir: &Path, ledger: &store::LedgerReader) -> Result<(), Problem> {
        let path = dir.join("ledger.log").display().to_string();
        let stats = ledger.stats()?;
        self.out.ledger_bytes = stats.log_bytes;
        if let Some(damage) = ledger.damage() {
            let problem = damage.problem(&path);
            self.fault(Part::Ledger, format!("{path} at byte {}", damage.at), &in_short(&problem), true);
            self.out.missing = damage.missing();
        } else if ledger.unfinished() > 0 && !self.running {
            let bytes = ledger.unfinished();
            self.note(format!("{bytes} bytes at the end of {path} are a commit that was not finished"));
        }
        for path in log::damaged_checkpoints(dir)? {
            let what = "the checkpoint is damaged; the ledger itself is not";
            self.fault(Part::Ledger, path.display().to_string(), what, true);
        }
        let mark = dir.join(log::MARK);
        if let Ok(bytes) = fs::read(&mark)
            && !self.running
            && log::Mark::from_bytes(&bytes).is_none()
        {
            self.note(format!("{} is damaged; the next run writes it again", mark.display()));
        }
        Ok(())
    }

    /// Every URL: its own records, and those it refers to.
    fn urls(&mut self, ledger: &dyn Records) -> Result<(), Problem> {
        let stats = ledger.stats()?;
        (self.out.urls, self.out.pages) = (stats.urls, stats.pages);
        if let Err(problem) = ledger.check() {
            self.fault(Part::Ledger, "the order of URLs", &in_short(&problem), false);
        }
        let mut known: HashSet<UrlId> = HashSet::new();
        let mut entries = Vec::new();
        for entry in ledger.entries(Which::All) {
            let entry = entry?;
            known.insert(entry.id);
            entries.push((entry.id, entry.parent, entry.state == State::Settled(Outcome::Fetched)));
        }
        for (id, parent, is_page) in entries {
            let place = || format!("URL number {}", id.0);
            let wrong = |check: &mut Check, what: &str| match is_page {
                true => check.page_fault(Part::Ledger, id, place(), what),
                false => check.fault(Part::Ledger, place(), what, false),
            };
            match ledger.url(id) {
                Ok(url) if ledger.find(&url)? != Some(id) => wrong(self, "its address leads to another URL"),
                Ok(_) => {}
                Err(problem) => wrong(self, &in_short(&problem)),
            }
            if parent.is_some_and(|p| !known.contains(&p)) {
                wrong(self, "the page it was found on is not there");
            }
            match ledger.children(id) {
                Ok(children) if children.iter().any(|c| !known.contains(c)) => {
                    wrong(self, "a URL that it links to is not there");
                }
                Ok(_) => {}
                Err(problem) => wrong(self, &in_short(&problem)),
            }
        }
        Ok(())
    }

    /// Whatever is kept of a page is kept of a page that is there.
    fn state(&mut self, ledger: &dyn Records) -> Result<(), Problem> {
        let known = |id: UrlId| Ok::<_, Problem>(ledger.entry(id)?.is_some());
        let mut count = |key: StateKey, read: &dyn Fn(&[u8]) -> Option<Vec<UrlId>>| -> Result<(), Problem> {
            let (mut unreadable, mut lost) = (0u64, 0u64);
            for piece in ledger.each_state(key) {
                let piece = piece?;
                // An empty one began the state anew: the pages were judged again.
                if piece.is_empty() {
                    continue;
                }
                let Some(ids) = read(&piece) else {
                    unreadable += 1;
                    continue;
                };
                for id in ids {
                    lost += u64::from(!known(id)?);
                }
            }
            let place = format!("state `{}`", key.name());
            if unreadable > 0 {
                self.fault(
                    Part::State,
                    place.clone(),
                    &format!("{unreadable} entries cannot be read"),
                    false,
                );
            }
            if lost > 0 {
                self.fault(Part::State, place, &format!("{lost} entries are about no URL"), false);
            }
            Ok(())
        };
        count(StateKey::Pages, &|b| PageLine::read(b).map(|l| vec![l.judged.id]))?;
        count(VISITS, &|b| PageVisit::decode(b).map(|v| vec![v.id]))?;
        count(FAILURES, &|b| Failure::decode(b).map(|f| vec![f.id]))?;
        count(StateKey::Labels, &|b| Some(LabelChange::all(b).map(|l| l.id).collect()))?;
        Answers::read(ledger).map(|_| ())
    }

    // ---- the archive --------------------------------------------------------------------------------------

    /// Every record of every file.
    fn archive(&mut self, warc: &Path, ledger: Option<&dyn Records>) -> Result<(), Problem> {
        let position = ledger.map(committed).transpose()?.flatten();
        let (mut originals, mut revisits) = (HashSet::new(), Vec::new());
        let files = archive::files(warc, &ArchiveSettings::default())?;
        if let Some(p) = position.as_ref().filter(|p| files.iter().all(|(_, file)| *file != p.file)) {
            let what = format!("is missing; {} bytes of it were committed", p.length);
            self.fault(Part::Archive, warc.join(&p.file).display().to_string(), &what, true);
        }
        for (_, file) in files {
            let path = warc.join(&file);
            let length = fs::metadata(&path).map_err(|e| Problem::io("read", &path, &e))?.len();
            let mut end = length;
            if let Some(p) = position.as_ref().filter(|p| p.file == file) {
                if length < p.length {
                    let what = format!("has {length} bytes, {} were committed", p.length);
                    self.fault(Part::Archive, path.display().to_string(), &what, true);
                }
                end = p.length;
            }
            self.out.archive_files += 1;
            self.out.archive_bytes += end.min(length);
            self.archive_file(&path, &file, end, &mut originals, &mut revisits)?;
        }
        for (place, original) in revisits {
            if !originals.contains(&original) {
                self.fault(Part::Archive, place, "refers to an answer that is not in the archive", false);
            }
        }
        let Some(ledger) = ledger.filter(|_| !self.running) else { return Ok(()) };
        let pages = unknown_pages(warc, ledger, u64::MAX - 1)?;
        let most = if self.out.urls == 0 { 0 } else { UNCOMMITTED };
        if pages > most {
            let what = format!("holds {pages} pages that the ledger does not know of");
            self.fault(Part::Archive, warc.display().to_string(), &what, true);
            self.out.missing = self.out.missing.max(pages);
        } else if pages > 0 {
            self.note(format!("{pages} pages at the end of {} were never committed", warc.display()));
        }
        Ok(())
    }

    /// The records of one file before `end`.
    fn archive_file(
        &mut self,
        path: &Path,
        file: &str,
        end: u64,
        originals: &mut HashSet<(u64, u64)>,
        revisits: &mut Vec<(String, (u64, u64))>,
    ) -> Result<(), Problem> {
        let mut answers = HashMap::new();
        // The exchange that request and metadata records belong to.
        let mut exchange: Option<String> = None;
        let mut is_first = true;
        for record in Scan::open(path, 0, Limits { block: LARGEST, ..Limits::default() })? {
            let place = |offset: u64| format!("{} at byte {offset}", path.display());
            let record = match record {
                Ok(record) if record.offset >= end => break,
                Ok(record) => record,
                Err(e) if e.offset >= end => break,
                Err(e) => {
                    self.fault(Part::Archive, place(e.offset), &e.what, false);
                    exchange = None;
                    continue;
                }
            };
            self.out.archive_records += 1;
            let place = place(record.offset);
            for what in self.record_faults(&record, is_first) {
                self.fault(Part::Archive, place.clone(), &what, false);
            }
            is_first = false;
            let kind = record.kind();
            let hash = |name: &str| self.hash.hash_one(record.header(name).unwrap_or_default());
            match kind.as_str() {
                "response" | "revisit" => {
                    let url = self.hash.hash_one(record.target().unwrap_or_default());
                    if kind == "revisit" {
                        let original = (hash("WARC-Refers-To-Target-URI"), hash("WARC-Refers-To-Date"));
                        revisits.push((place, original));
                    } else {
                        originals.insert((url, hash("WARC-Date")));
                    }
                    let digest = payload(&record);
                    answers.insert(record.offset, Answer { length: record.length, url, digest });
                    exchange = record.header("WARC-Record-ID").map(str::to_string);
                }
                // Behind damage nobody knows what it belonged to.
                "request" | "metadata"
                    if exchange.is_some() && record.header("WARC-Concurrent-To") != exchange.as_deref() =>
                {
                    self.fault(Part::Archive, place, "does not belong to the answer before it", false);
                }
                _ => {}
            }
        }
        self.answers.insert(file.to_string(), answers);
        Ok(())
    }

    /// What is wrong with a record that could be read.
    fn record_faults(&self, record: &WarcRecord, is_first: bool) -> Vec<String> {
        let mut out = Vec::new();
        for name in ["WARC-Type", "WARC-Record-ID", "WARC-Date"] {
            if record.header(name).is_none_or(str::is_empty) {
                out.push(format!("has no {name}"));
            }
        }
        let kind = record.kind();
        if is_first != (kind == "warcinfo") {
            out.push(format!("a {kind} record where the file's own description belongs, or the reverse"));
        }
        if !record.addressable {
            out.push("shares its compressed member with another record".into());
        }
        if record.cut {
            return out;
        }
        let differs = |name: &str, digest: &Digest| {
            record.header(name).is_some_and(|said| Digest::from_header(said).as_ref() != Some(digest))
        };
        if differs("WARC-Block-Digest", &Digest::of(&[&record.block])) {
            out.push("its bytes are not those of its WARC-Block-Digest".into());
        }
        if kind == "response" {
            match http_message(&record.block, &HttpLimits { body: 0, ..HttpLimits::default() }) {
                None => out.push("is no HTTP answer".into()),
                Some(message) if differs("WARC-Payload-Digest", &payload_digest(&message.wire)) => {
                    out.push("its payload is not that of its WARC-Payload-Digest".into());
                }
                Some(_) => {}
            }
        }
        out
    }

    // ---- references ---------------------------------------------------------------------------------------

    /// Every version of every page leads to its answer.
    fn references(&mut self, ledger: &dyn Records, archive: &Stacks) -> Result<(), Problem> {
        let pages: Vec<UrlId> = {
            let is_page = |e: &frontier::Info| e.state == State::Settled(Outcome::Fetched);
            let entries = ledger.entries(Which::All).filter(|e| e.as_ref().map_or(true, is_page));
            entries.map(|e| e.map(|e| e.id)).collect::<Result<_, _>>()?
        };
        for id in pages {
            let versions = match ledger.versions(id) {
                Ok(versions) => versions,
                Err(problem) => {
                    self.page_fault(Part::Ledger, id, format!("URL number {}", id.0), &in_short(&problem));
                    continue;
                }
            };
            // None: a sitemap or feed, whose links were taken and which is no page.
            for record in versions {
                self.out.versions += 1;
                if record.id != id {
                    self.page_fault(Part::Ledger, id, &record.url, "its record is that of another URL");
                }
                for other in [record.duplicate_of, record.near_duplicate_of].into_iter().flatten() {
                    if ledger.entry(other)?.is_none() {
                        self.page_fault(
                            Part::Ledger,
                            id,
                            &record.url,
                            "the page it is a copy of is not there",
                        );
                    }
                }
                let Some(at) = &record.archive else { continue };
                if let Some(what) = self.at_place(archive, at, &record) {
                    let place = format!("{} in {} at byte {}", record.url, at.file, at.offset);
                    self.page_fault(Part::Reference, id, place, &what);
                }
            }
        }
        Ok(())
    }

    /// What is wrong with the place of a page in the archive.
    fn at_place(&self, archive: &Stacks, at: &ArchiveRef, record: &Record) -> Option<String> {
        let url = self.hash.hash_one(record.url.as_str());
        let answer = match self.answers.get(&at.file) {
            Some(answers) => match answers.get(&at.offset) {
                Some(answer) => answer,
                None => return Some("there is no whole answer; the page's text is in the ledger".into()),
            },
            // In a bucket, or a folder of workers: this record alone is read.
            None => match archive.record(at, Limits { block: LARGEST, ..Limits::default() }) {
                Ok(found) => {
                    if let Some(what) = self.record_faults(&found, false).into_iter().next() {
                        return Some(what);
                    }
                    let digest = payload(&found);
                    let url = self.hash.hash_one(found.target().unwrap_or_default());
                    &Answer { length: found.length, url, digest }
                }
                Err(problem) => return Some(format!("{}; the page's text is kept", in_short(&problem))),
            },
        };
        if answer.url != url {
            return Some("there is the answer of another address".into());
        }
        if answer.length != at.length {
            return Some(format!("the answer there has {} bytes, not {}", answer.length, at.length));
        }
        if answer.digest.is_some_and(|d| d.hex() != record.digest) {
            return Some("the answer there has another digest than the page".into());
        }
        None
    }

    // ---- the index ----------------------------------------------------------------------------------------

    fn index(&mut self, dir: &Path, ledger: &dyn Records) -> Result<(), Problem> {
        let folder = Collection::index_dir(dir);
        let known = IndexedCounts::read(ledger)?;
        let index = match Index::open(&folder) {
            Ok(index) => index,
            Err(_) if known.documents == 0 && !folder.join("meta.json").exists() => return Ok(()),
            Err(problem) => {
                self.fault(Part::Index, folder.display().to_string(), &in_short(&problem), true);
                return Ok(());
            }
        };
        self.out.indexed = index.len() as u64;
        let wanted = wanted_in_index(ledger)?;
        // What came after the last commit of the index may not be in it yet.
        let behind = usize::try_from(known.pages).unwrap_or(usize::MAX);
        let mut late = BTreeSet::new();
        for page in ledger.pages(behind) {
            late.insert(page?.0.id);
        }
        let missing: Vec<UrlId> = wanted.iter().filter(|id| !index.contains(**id)).copied().collect();
        let waiting = missing.iter().filter(|id| late.contains(id)).count();
        if waiting > 0 && !self.running {
            self.note(format!("{waiting} pages that came last are not in the search index yet"));
        }
        for id in missing.into_iter().filter(|id| !late.contains(id)) {
            let url = ledger.url(id).map_or_else(|_| format!("URL number {}", id.0), |u: Url| u.to_string());
            self.fault(Part::Index, url, "is not in the search index", true);
        }
        if !self.running {
            for id in index.ids().filter(|id| !wanted.contains(id)) {
                let what = "is in the search index and is no page of the collection";
                self.fault(Part::Index, format!("URL number {}", id.0), what, true);
            }
        }
        Ok(())
    }
}
