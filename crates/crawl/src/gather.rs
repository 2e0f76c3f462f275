//! Makes a collection of others: a copy of one, one of several, a part of one. The others are only read, and
//! may be crawled meanwhile: what was committed when they were opened comes along.
//!
//! ```text
//! INTO.making/making            a sign that the folder is ours; nothing else of it counts until it is renamed
//!             warc/ ledger.log … the new collection
//! INTO                          takes its place, whole and durable, in one step
//! ```
//! A process that dies before leaves scraps, which the next one that makes the same collection throws away.
//!
//! | kept | in a copy | of several, or of a part |
//! |---|---|---|
//! | pages, versions, URLs that wait, labels, answers, visits, failures | all | all that is taken |
//! | what was removed, and why | all | of every collection; it holds for all of them |
//! | what the strategy learnt, changes by `steer` | all | of several: the first one's |
//! | what the judge learnt | all | made again from the pages and labels |

use crate::answers::Answers;
use crate::check::mend_index;
use crate::collection::{Collection, IndexedCounts, committed, unknown_pages};
use crate::config::LoadedConfig;
use crate::crawl::{Counts, Run};
use crate::difference::{difference, own_lines};
use crate::failures::Failure;
use crate::labels::{Change, Labels};
use crate::measured::Measured;
use crate::remove::{Removal, whole};
use crate::rendering::Attempt;
use crate::space;
use crate::state::PageLine;
use crate::stored;
use crate::visits::{Found, PageVisit, each};
use focus::text::{Doc, TextOptions};
use frontier::State;
use serde::Serialize;
use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use store::archive::{Archived, ComposerSettings, JoinedArchives};
use store::files::{self, Mode};
use store::formats::position_bytes;
use store::ledger::{self as log, Gather, Gathering, Held, Part, PlacedVersion, Take};
use store::{LedgerReader, Records, Which};
use types::{ArchiveRef, Canon, Millis, Outcome, Problem, Record, StateKey, UrlId, Who};

/// The file that says that a folder is one of these.
const SIGN: &str = "making";
/// Beside the new collection there must be room for so much.
const SPARE: u64 = 16 << 20;
/// Disagreements that are named.
const SHOWN: usize = 1_000;

/// Two collections say different things of a page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Conflict {
    /// The page.
    pub url: String,
    /// What the collection that was named first says; it stands.
    pub stands: bool,
    /// The other one.
    pub other: PathBuf,
    /// Who said so.
    pub who: Who,
}

/// A collection that was taken from.
#[derive(Clone, Debug, Serialize)]
pub struct SourceReport {
    /// Its folder.
    pub dir: PathBuf,
    /// Pages that it has.
    pub pages: u64,
    /// Versions of them.
    pub versions: u64,
    /// Pages of it that are in the new one.
    pub taken: u64,
}

/// What came of it.
#[derive(Clone, Debug, Serialize)]
pub struct GatherReport {
    /// The new collection.
    pub into: PathBuf,
    /// What it was made of.
    pub from: Vec<SourceReport>,
    /// Pages in it.
    pub pages: u64,
    /// Versions of them.
    pub versions: u64,
    /// URLs in it.
    pub urls: u64,
    /// URLs that wait to be fetched.
    pub pending: u64,
    /// Times that a page was taken once more: so many pages less than in all of them.
    pub twice: u64,
    /// Pages that were removed from one of the collections, and so from all.
    pub removed: u64,
    /// Answers in the archive.
    pub answers: u64,
    /// Answers that several archives had: copied once.
    pub same_answers: u64,
    /// Labels in it.
    pub labels: u64,
    /// Pages that two collections label differently.
    pub disagreements: u64,
    /// Of those, the first.
    pub conflicts: Vec<Conflict>,
    /// What is worth knowing.
    pub notes: Vec<String>,
}

/// Copies a collection.
pub fn copy(dir: &Path, into: &Path) -> Result<GatherReport, Problem> {
    let made = NewCollection::begin(into, &[dir])?;
    let sources = [Source::open(dir)?];
    make(made, &sources, &PageChoice::All, true)
}

/// Makes one collection of several. The topic is that of the first.
pub fn merge(dirs: &[PathBuf], into: &Path) -> Result<GatherReport, Problem> {
    let named: Vec<&Path> = dirs.iter().map(PathBuf::as_path).collect();
    for (i, dir) in named.iter().enumerate() {
        let same = |other: &&&Path| fs::canonicalize(other).ok() == fs::canonicalize(dir).ok();
        if named.get(..i).is_some_and(|before| before.iter().any(|o| same(&o))) {
            return Err(Problem::usage(format!("{} is named twice", dir.display())));
        }
    }
    let made = NewCollection::begin(into, &named)?;
    let sources = named.iter().map(|dir| Source::open(dir)).collect::<Result<Vec<_>, _>>()?;
    make(made, &sources, &PageChoice::All, false)
}

/// Makes a collection of some pages of another one, with what waits behind them; and, if `rest` is named, one
/// of the others.
pub fn split(
    dir: &Path,
    pages: &HashSet<UrlId>,
    into: &Path,
    rest: Option<&Path>,
) -> Result<(GatherReport, Option<GatherReport>), Problem> {
    let made = NewCollection::begin(into, &[dir])?;
    let other = rest.map(|rest| NewCollection::begin(rest, &[dir])).transpose()?;
    let sources = [Source::open(dir)?];
    let first = make(made, &sources, &PageChoice::These(pages), false)?;
    let rest = other.map(|made| make(made, &sources, &PageChoice::ButThese(pages), false)).transpose()?;
    Ok((first, rest))
}

/// Which pages come along.
enum PageChoice<'a> {
    All,
    These(&'a HashSet<UrlId>),
    ButThese(&'a HashSet<UrlId>),
}

impl PageChoice<'_> {
    fn has(&self, id: UrlId) -> bool {
        match self {
            PageChoice::All => true,
            PageChoice::These(pages) => pages.contains(&id),
            PageChoice::ButThese(pages) => !pages.contains(&id),
        }
    }
}

/// A collection that is read.
struct Source {
    dir: PathBuf,
    ledger: LedgerReader,
    archived: Archived,
    loaded: LoadedConfig,
    removed: Vec<Removal>,
    /// Pages that were archived and never committed.
    uncommitted: u64,
}

impl Source {
    fn open(dir: &Path) -> Result<Source, Problem> {
        let ledger = whole(dir)?;
        let warc = Collection::warc_dir(dir);
        let archived = Archived::read(&warc, committed(&*ledger)?)?;
        if let Some(place) = archived.damaged.first() {
            return Err(Problem::new(format!("the archive of {} is damaged", dir.display()))
                .because(place)
                .hint(format!("`gleaner check {} --repair` sets right what can be", dir.display())));
        }
        let uncommitted = match log::is_locked(dir) {
            true => 0,
            false => unknown_pages(&warc, &*ledger, u64::MAX - 1)?,
        };
        let loaded = crate::config::Config::read(&Collection::topic_file(dir), toml::Table::new())?;
        let removed = Removal::list(&*ledger)?;
        Ok(Source { dir: dir.to_path_buf(), ledger, archived, loaded, removed, uncommitted })
    }
}

/// A new collection on its way.
struct NewCollection {
    into: PathBuf,
    shop: PathBuf,
    /// It has its name, or is whole.
    done: bool,
    _held: Held,
}

impl Drop for NewCollection {
    fn drop(&mut self) {
        if !self.done {
            let _ = fs::remove_dir_all(&self.shop);
        }
    }
}

impl NewCollection {
    fn begin(into: &Path, sources: &[&Path]) -> Result<NewCollection, Problem> {
        for dir in sources {
            Collection::check_remains(dir)?;
            if !Collection::exists(dir) {
                return Err(Problem::usage(format!("{} is not a collection", dir.display()))
                    .hint("name the folder that `gleaner crawl` wrote (--out)"));
            }
            if store::swap::is_unfinished(dir) {
                return Err(Problem::new(format!("something is being removed from {}", dir.display()))
                    .because("a removal or compaction was decided and is not finished")
                    .hint(format!("`gleaner check {} --repair` finishes it", dir.display())));
            }
        }
        let is_free = match fs::read_dir(into) {
            Ok(mut entries) => entries.next().is_none(),
            Err(e) => e.kind() == std::io::ErrorKind::NotFound && into.symlink_metadata().is_err(),
        };
        if !is_free {
            return Err(Problem::usage(format!("{} is there already", into.display()))
                .hint("name a folder that does not exist: the collections that are read are never changed"));
        }
        let parent = parent(into);
        fs::create_dir_all(&parent).map_err(|e| Problem::io("create", &parent, &e))?;
        let around = fs::canonicalize(&parent).map_err(|e| Problem::io("find", &parent, &e))?;
        let inside = |dir: &&&Path| fs::canonicalize(dir).is_ok_and(|dir| around.starts_with(dir));
        if let Some(dir) = sources.iter().find(inside) {
            return Err(Problem::usage(format!("{} is inside {}", into.display(), dir.display()))
                .hint("name a folder beside it"));
        }
        let mut name = into.file_name().unwrap_or_default().to_os_string();
        if name.is_empty() {
            return Err(Problem::usage(format!("{} is no name for a folder", into.display())));
        }
        name.push(".making");
        let shop = parent.join(name);
        let sign = shop.join(SIGN);
        let of_others = |dir: &Path| {
            fs::read_dir(dir).is_ok_and(|mut entries| entries.next().is_some()) && !sign.is_file()
        };
        files::refuse_link(&shop)?;
        if of_others(&shop) {
            return Err(Problem::new(format!("{} is in the way", shop.display()))
                .because("the new collection is made there, and this folder was made by something else")
                .hint("move it away"));
        }
        let bits = sources.first().and_then(|d| fs::metadata(d).ok()).map(|m| m.permissions().mode() & 0o777);
        files::make_collection(&shop, bits.map_or(Mode::Private, |bits| Mode::Bits(bits | 0o700)))?;
        let write = |e: std::io::Error| Problem::io("write", &sign, &e);
        fs::write(&sign, "a collection that is being made\n").map_err(write)?;
        let held = log::hold(&shop)?;
        // Of a process that died.
        let (lock, sign) = (shop.join("lock"), shop.join(SIGN));
        for entry in fs::read_dir(&shop).map_err(|e| Problem::io("read", &shop, &e))?.flatten() {
            let path = entry.path();
            let gone = match path.is_dir() && !path.is_symlink() {
                _ if path == lock || path == sign => Ok(()),
                true => fs::remove_dir_all(&path),
                false => fs::remove_file(&path),
            };
            gone.map_err(|e| Problem::io("remove", &path, &e))?;
        }
        Ok(NewCollection { into: into.to_path_buf(), shop, done: false, _held: held })
    }

    /// The new collection is whole: it gets its name, and then loses its sign. The other way round, a kill in
    /// between would leave a folder that nobody recognises as ours. With its name, a sign says nothing.
    fn end(mut self) -> Result<(), Problem> {
        sync_all(&self.shop)?;
        self.done = true;
        let named = fs::rename(&self.shop, &self.into);
        let sign = if named.is_ok() { &self.into } else { &self.shop }.join(SIGN);
        let unsigned = fs::remove_file(&sign).map_err(|e| Problem::io("remove", &sign, &e));
        named.map_err(|e| {
            Problem::io("make", &self.into, &e)
                .hint(format!("the new collection is whole in {}: give it another name", self.shop.display()))
        })?;
        unsigned?;
        sync(&self.into)?;
        sync(&parent(&self.into))
    }
}

fn parent(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_path_buf(),
        _ => PathBuf::from("."),
    }
}

fn sync(path: &Path) -> Result<(), Problem> {
    File::open(path).and_then(|f| f.sync_all()).map_err(|e| Problem::io("sync", path, &e))
}

/// Every file and folder below one.
fn sync_all(dir: &Path) -> Result<(), Problem> {
    for entry in fs::read_dir(dir).map_err(|e| Problem::io("read", dir, &e))?.flatten() {
        let path = entry.path();
        if path.is_dir() { sync_all(&path)? } else { sync(&path)? }
    }
    sync(dir)
}

fn make(
    making: NewCollection,
    sources: &[Source],
    picked: &PageChoice<'_>,
    verbatim: bool,
) -> Result<GatherReport, Problem> {
    let need = sources.iter().map(|s| space::used(&s.dir).total()).sum::<u64>() + SPARE;
    if let Some(free) = space::free(&making.shop).filter(|free| *free < need) {
        return Err(Problem::new(format!("there is no room for {}", making.into.display()))
            .because(format!("it takes up to {need} bytes, {free} are free"))
            .hint("make room on this disk, or name a folder on another one"));
    }
    let mut made = GatherReport {
        into: making.into.clone(),
        from: Vec::new(),
        pages: 0,
        versions: 0,
        urls: 0,
        pending: 0,
        twice: 0,
        removed: 0,
        answers: 0,
        same_answers: 0,
        labels: 0,
        disagreements: 0,
        conflicts: Vec::new(),
        notes: Vec::new(),
    };
    let mut parts = Vec::new();
    for source in sources {
        let (takes, taken, removed) = takes(source, sources, picked)?;
        let stats = source.ledger.stats()?;
        made.from.push(SourceReport {
            dir: source.dir.clone(),
            pages: stats.pages,
            versions: stats.versions,
            taken,
        });
        made.removed += removed;
        if source.uncommitted > 0 {
            made.notes.push(format!(
                "{} pages at the end of the archive of {} were never committed and are not in it (`gleaner \
                 check \
                 {} --repair` brings them in)",
                source.uncommitted,
                source.dir.display(),
                source.dir.display()
            ));
        }
        parts.push(Part { ledger: &source.ledger, takes });
    }
    let Some(first) = sources.first() else { return Err(Problem::usage("which collections?")) };
    made.notes.extend(differences(sources)?);
    let gather = Gather::new(parts)?;
    let shop = &making.shop;
    let places = archives(shop, sources, &gather, &mut made)?;
    let mut new = gather.begin(shop)?;
    new.urls()?;
    let moved = |part: usize, at: &ArchiveRef| {
        let (file, offset, length) = places.of.get(part)?.get(&(at.file.clone(), at.offset))?.clone();
        Some(ArchiveRef { file, offset, length })
    };
    let placed = new.pages(&moved)?;
    let lost = placed.iter().filter(|p| p.lost).count();
    if lost > 0 {
        made.notes.push(format!("the bytes of {lost} versions are not in the archives; their text is kept"));
    }
    write_states(&mut new, &gather, sources, &placed, verbatim, &mut made)?;
    new.state(StateKey::Archive, false, &places.position)?;
    let documents = newest(&placed).values().filter(|p| !p.noindex).count() as u64;
    let indexed = IndexedCounts { pages: placed.len() as u64, documents };
    new.state(StateKey::Indexed, false, &indexed.to_bytes())?;
    new.end(sources.iter().all(|s| s.ledger.ended_in_order()))?;
    let topic = Collection::topic_file(shop);
    files::replace(&topic, first.loaded.text.as_bytes()).map_err(|e| Problem::io("write", &topic, &e))?;
    verify(shop, &placed, &mut made)?;
    if first.loaded.config.archive.index {
        mend_index(shop)?;
    }
    making.end()?;
    Ok(made)
}

/// What is worth knowing before collections become one.
fn differences(sources: &[Source]) -> Result<Vec<String>, Problem> {
    let Some((first, others)) = sources.split_first() else { return Ok(Vec::new()) };
    let mut notes = Vec::new();
    let judge = |s: &Source| Ok::<_, Problem>(Run::of(&*s.ledger)?.map(|run| run.judge));
    for other in others {
        if other.loaded.text != first.loaded.text {
            notes.push(format!(
                "the topic of {} is another: that of {} is kept, and pages stand as each was judged \
                 (`gleaner rejudge` \
                 judges all by one)",
                other.dir.display(),
                first.dir.display()
            ));
        }
        if let (Some(one), Some(two)) = (judge(first)?, judge(other)?)
            && one != two
        {
            notes.push(format!("{} was judged by `{two}`, not by `{one}`", other.dir.display()));
        }
    }
    Ok(notes)
}

/// What of each URL comes along; how many pages; and how many were removed by another collection.
fn takes(
    source: &Source,
    sources: &[Source],
    picked: &PageChoice<'_>,
) -> Result<(Vec<Take>, u64, u64), Problem> {
    let removed: Vec<&Removal> = sources.iter().flat_map(|s| &s.removed).collect();
    let ledger = &source.ledger;
    let (mut taken, mut gone) = (0, 0);
    let mut takes = ledger.takes(|entry| {
        let is_page = entry.state == State::Settled(Outcome::Fetched);
        if is_page && !picked.has(entry.id) {
            return Ok(Take::No);
        }
        let is_removed = !removed.is_empty() && {
            let url = ledger.url(entry.id)?;
            removed.iter().any(|r| r.what.matches(&url))
        };
        if is_removed {
            gone += u64::from(is_page);
            return Ok(Take::Address);
        }
        taken += u64::from(is_page);
        Ok(Take::Yes)
    })?;
    if matches!(picked, PageChoice::All) {
        return Ok((takes, taken, gone));
    }
    // What waits, or ended otherwise, comes along with the pages that link to it.
    let mut wanted: Vec<bool> = Vec::with_capacity(takes.len());
    for entry in ledger.entries(Which::All) {
        let entry = entry?;
        let is_page = entry.state == State::Settled(Outcome::Fetched);
        let is_taken = takes.get(entry.id.0 as usize).is_some_and(|t| *t != Take::No);
        let linked = is_taken && !is_page && {
            let sources = ledger.sources(entry.id)?;
            let from = |id: UrlId| wanted.get(id.0 as usize).copied().unwrap_or_else(|| picked.has(id));
            sources.iter().any(|s| s.parent.is_none_or(from))
        };
        wanted.push(is_taken && (is_page || linked));
    }
    // And the redirects on the way to a page.
    for n in (0..wanted.len()).rev() {
        let mut at = UrlId(n as u32);
        while wanted.get(at.0 as usize) == Some(&true)
            && let Some(parent) = ledger.entry(at)?.and_then(|e| e.parent)
            && takes.get(parent.0 as usize).is_some_and(|t| *t != Take::No)
            && wanted.get(parent.0 as usize) == Some(&false)
        {
            if let Some(w) = wanted.get_mut(parent.0 as usize) {
                *w = true;
            }
            at = parent;
        }
    }
    for (take, wanted) in takes.iter_mut().zip(wanted) {
        if !wanted && *take == Take::Yes {
            *take = Take::No;
        }
    }
    Ok((takes, taken, gone))
}

/// Where answers were, and where they are now, with their length.
type Moved = HashMap<(String, u64), (String, u64, u64)>;

/// Where the answers of every archive are now.
struct AnswerPlaces {
    of: Vec<Moved>,
    position: Vec<u8>,
}

fn archives(
    shop: &Path,
    sources: &[Source],
    gather: &Gather<'_>,
    made: &mut GatherReport,
) -> Result<AnswerPlaces, Problem> {
    let warc = Collection::warc_dir(shop);
    files::make_folder(&warc)?;
    let (mut joined, mut of) = (JoinedArchives::default(), Vec::new());
    let canon = Canon { drop_params: Vec::new(), max_length: usize::MAX };
    for (part, source) in sources.iter().enumerate() {
        let stays = |target: &str| {
            let id = canon.parse(target).ok().and_then(|url| source.ledger.find(&url).ok()?);
            id.is_some_and(|id| gather.kept(part, id).is_some())
        };
        let composer = ComposerSettings { key: key(&source.ledger)?, ..ComposerSettings::default() };
        of.push(source.archived.copy_into(&stays, &warc, composer, &mut joined)?);
    }
    sync(&warc)?;
    (made.answers, made.same_answers) = (joined.answers, joined.same);
    let position = joined.position.as_ref().map(position_bytes).unwrap_or_default();
    Ok(AnswerPlaces { of, position })
}

fn key(ledger: &LedgerReader) -> Result<(u64, u64), Problem> {
    let key = ledger.state(StateKey::ArchiveKey)?.pop().and_then(|b| <[u8; 16]>::try_from(b).ok());
    let half = |bytes: &[u8; 16], at: usize| u64::from_le_bytes(std::array::from_fn(|i| bytes[at + i]));
    Ok(key.map_or((0, 0), |bytes| (half(&bytes, 0), half(&bytes, 8))))
}

/// The newest version of each page.
fn newest(placed: &[PlacedVersion]) -> HashMap<UrlId, &PlacedVersion> {
    placed.iter().map(|p| (p.id, p)).collect()
}

/// What is kept beside URLs and pages.
fn write_states<'a>(
    new: &mut Gathering<'_, 'a>,
    gather: &Gather<'a>,
    sources: &[Source],
    placed: &[PlacedVersion],
    verbatim: bool,
    made: &mut GatherReport,
) -> Result<(), Problem> {
    if verbatim {
        let Some(source) = sources.first() else { return Ok(()) };
        made.labels = Labels::read(&*source.ledger)?.len() as u64;
        return new.states_of(0, &[StateKey::Archive, StateKey::Indexed]);
    }
    let mut states = States { new, gather, sources, placed };
    states.of_the_first()?;
    states.removed()?;
    states.counts()?;
    states.pages()?;
    states.visits()?;
    states.failures()?;
    states.labels(made)?;
    states.numbered(StateKey::Answers, 14, 0)?;
    states.numbered(StateKey::TeacherAnswers, 21, 8)?;
    states.numbered(StateKey::Unarchived, 4, 0)?;
    states.rendered()
}

struct States<'x, 'g, 'a> {
    new: &'x mut Gathering<'g, 'a>,
    gather: &'x Gather<'a>,
    sources: &'x [Source],
    placed: &'x [PlacedVersion],
}

impl States<'_, '_, '_> {
    /// What there can be only one of. Numbers in it are those of the first collection: they stay when all of
    /// it comes along.
    fn of_the_first(&mut self) -> Result<(), Problem> {
        let Some(first) = self.sources.first() else { return Ok(()) };
        let mut keys = vec![
            StateKey::Run,
            StateKey::Control,
            StateKey::ArchiveKey,
            StateKey::Teacher,
            StateKey::Listings,
            StateKey::Thresholds,
        ];
        if self.sources.len() > 1 {
            keys.push(StateKey::Strategy);
            keys.push(StateKey::LabelsTold);
        }
        for key in keys {
            for (n, bytes) in first.ledger.each_state(key).enumerate() {
                self.new.state(key, n > 0, &bytes?)?;
            }
        }
        Ok(())
    }

    fn removed(&mut self) -> Result<(), Problem> {
        let mut all: Vec<&Removal> = Vec::new();
        for removal in self.sources.iter().flat_map(|s| &s.removed) {
            if !all.contains(&removal) {
                all.push(removal);
            }
        }
        all.sort_by_key(|r| r.at);
        for removal in all {
            let entry = serde_json::to_vec(removal)
                .map_err(|e| Problem::new("cannot write down what was removed").because(e))?;
            self.new.state(StateKey::Removed, true, &entry)?;
        }
        Ok(())
    }

    /// Requests and errors of several add up; of a part nobody knows them.
    fn counts(&mut self) -> Result<(), Problem> {
        let mut sum = Counts::default();
        for source in self.sources.iter().filter(|_| self.sources.len() > 1) {
            let bytes = source.ledger.state(StateKey::Counts)?.pop();
            let Some(counts) = bytes.and_then(|b| serde_json::from_slice::<Counts>(&b).ok()) else {
                continue;
            };
            sum.requests += counts.requests;
            sum.bytes += counts.bytes;
            sum.duplicates += counts.duplicates;
            sum.near_duplicates += counts.near_duplicates;
            for (kind, n) in counts.errors {
                *sum.errors.entry(kind).or_default() += n;
            }
            for (kind, n) in counts.refused {
                *sum.refused.entry(kind).or_default() += n;
            }
        }
        sum.pages = newest(self.placed).len() as u64;
        let bytes =
            serde_json::to_vec(&sum).map_err(|e| Problem::new("cannot save the totals").because(e))?;
        self.new.state(StateKey::Counts, false, &bytes)
    }

    /// How each page was judged, in the order they came, and what it was measured by.
    fn pages(&mut self) -> Result<(), Problem> {
        let newest = newest(self.placed);
        let mut lines: HashMap<(usize, UrlId), PageLine> = HashMap::new();
        for (part, source) in self.sources.iter().enumerate() {
            for line in PageLine::newest(&*source.ledger)? {
                lines.insert((part, line.judged.id), line);
            }
        }
        let mut met = HashSet::new();
        for placed in self.placed.iter().filter(|p| met.insert(p.id)) {
            let Some(stands) = newest.get(&placed.id) else { continue };
            let Some(mut line) = lines.remove(&(stands.part, stands.was)) else { continue };
            line.judged.id = placed.id;
            line.copy_of = line.copy_of.and_then(|id| self.gather.kept(stands.part, id));
            self.new.state(StateKey::Pages, true, &line.write())?;
        }
        for (part, source) in self.sources.iter().enumerate() {
            for entry in source.ledger.each_state(StateKey::Features) {
                let Some(mut measured) = Measured::decode(&entry?) else { continue };
                let Some(id) = self.gather.kept(part, measured.id) else { continue };
                if newest.get(&id).is_some_and(|p| p.part == part) {
                    measured.id = id;
                    self.new.state(StateKey::Features, true, &measured.encode())?;
                }
            }
        }
        Ok(())
    }

    /// Visits in the order they were made. That two collections fetched a page is a visit to it, too.
    fn visits(&mut self) -> Result<(), Problem> {
        let between = self.between()?;
        let gather = self.gather;
        let mut rows: Vec<Box<dyn Iterator<Item = Result<PageVisit, Problem>> + '_>> = Vec::new();
        for (part, source) in self.sources.iter().enumerate() {
            rows.push(Box::new(each(&*source.ledger).filter_map(move |visit| match visit {
                Ok(visit) => gather.kept(part, visit.id).map(|id| Ok(PageVisit { id, ..visit })),
                Err(problem) => Some(Err(problem)),
            })));
        }
        rows.push(Box::new(between.into_iter().map(Ok)));
        let mut heads = Vec::new();
        for row in &mut rows {
            heads.push(row.next().transpose()?);
        }
        let mut met: HashSet<(UrlId, Millis)> = HashSet::new();
        let several = self.sources.len() > 1;
        loop {
            let next = heads.iter().enumerate().filter_map(|(i, h)| Some((h.as_ref()?.at, i))).min();
            let Some((_, i)) = next else { return Ok(()) };
            let (Some(head), Some(row)) = (heads.get_mut(i), rows.get_mut(i)) else { return Ok(()) };
            let visit = std::mem::replace(head, row.next().transpose()?);
            let Some(visit) = visit else { continue };
            // A collection and its copy made the same ones.
            if !several || met.insert((visit.id, visit.at)) {
                self.new.state(StateKey::Visits, true, &visit.encode())?;
            }
        }
    }

    /// A version that came after one of another collection.
    fn between(&self) -> Result<Vec<PageVisit>, Problem> {
        let mut before: HashMap<UrlId, &PlacedVersion> = HashMap::new();
        let mut out = Vec::new();
        for placed in self.placed.iter().filter(|p| p.shared) {
            let Some(earlier) = before.insert(placed.id, placed).filter(|e| e.part != placed.part) else {
                continue;
            };
            let (Some(old), Some(new)) = (self.version(earlier)?, self.version(placed)?) else { continue };
            let text = TextOptions::default();
            let lines = |record: &Record| own_lines(&Doc::new(stored::kept_page(record), &text));
            let difference = match earlier.digest == placed.digest {
                true => None,
                false => difference(&lines(&old), &lines(&new)),
            };
            let found = match &difference {
                Some(_) => Found::Changed,
                None if earlier.digest == placed.digest => Found::SamePayload,
                None => Found::SameText,
            };
            let difference = difference.unwrap_or_default();
            out.push(PageVisit {
                id: placed.id,
                at: placed.fetched,
                found,
                status: new.status,
                added: difference.added,
                removed: difference.removed,
                text: difference.text,
            });
        }
        out.sort_by_key(|visit| visit.at);
        Ok(out)
    }

    fn version(&self, placed: &PlacedVersion) -> Result<Option<Record>, Problem> {
        let Some(source) = self.sources.get(placed.part) else { return Ok(None) };
        let versions = source.ledger.versions(placed.was)?;
        Ok(versions.into_iter().find(|v| v.fetched == placed.fetched && v.digest == placed.digest))
    }

    fn failures(&mut self) -> Result<(), Problem> {
        let mut met = HashSet::new();
        for (part, source) in self.sources.iter().enumerate() {
            for entry in source.ledger.each_state(StateKey::Failures) {
                let Some(mut failure) = Failure::decode(&entry?) else { continue };
                let Some(id) = self.gather.kept(part, failure.id) else { continue };
                failure.id = id;
                if met.insert((id, failure.at)) {
                    self.new.state(StateKey::Failures, true, &failure.encode())?;
                }
            }
        }
        Ok(())
    }

    /// What was said of pages. Where collections disagree, the one that was named first is right.
    fn labels(&mut self, made: &mut GatherReport) -> Result<(), Problem> {
        let mut said: HashMap<(UrlId, bool), bool> = HashMap::new();
        let mut all: Vec<Change> = Vec::new();
        for (part, source) in self.sources.iter().enumerate() {
            for change in Labels::read(&*source.ledger)?.changes() {
                let Some(id) = self.gather.kept(part, change.id) else { continue };
                let word = change.said.unwrap_or_default();
                match said.get(&(id, change.who == Who::Person)) {
                    Some(stands) if *stands != word => {
                        made.disagreements += 1;
                        if made.conflicts.len() < SHOWN {
                            made.conflicts.push(Conflict {
                                url: source.ledger.url(change.id)?.to_string(),
                                stands: *stands,
                                other: source.dir.clone(),
                                who: change.who,
                            });
                        }
                    }
                    Some(_) => {}
                    None => {
                        said.insert((id, change.who == Who::Person), word);
                        all.push(Change { id, ..change });
                    }
                }
            }
        }
        made.labels = said.keys().map(|(id, _)| id).collect::<HashSet<_>>().len() as u64;
        let bytes: Vec<u8> = all.iter().flat_map(|change| change.encode()).collect();
        match bytes.is_empty() {
            true => Ok(()),
            false => self.new.state(StateKey::Labels, false, &bytes),
        }
    }

    /// Entries of one size, with the number of a page at this place. What the first collection says comes
    /// last.
    fn numbered(&mut self, key: StateKey, size: usize, at: usize) -> Result<(), Problem> {
        for (part, source) in self.sources.iter().enumerate().rev() {
            for piece in source.ledger.each_state(key) {
                let piece = piece?;
                let mut out = Vec::with_capacity(piece.len());
                for entry in piece.chunks_exact(size) {
                    let mut entry = entry.to_vec();
                    let Some(place) = entry.get_mut(at..at + 4) else { continue };
                    let bytes = std::array::from_fn(|i| place.get(i).copied().unwrap_or_default());
                    let id = UrlId(u32::from_le_bytes(bytes));
                    let Some(id) = self.gather.kept(part, id) else { continue };
                    place.copy_from_slice(&id.0.to_le_bytes());
                    out.extend(entry);
                }
                if !out.is_empty() {
                    self.new.state(key, true, &out)?;
                }
            }
        }
        Ok(())
    }

    fn rendered(&mut self) -> Result<(), Problem> {
        for (part, source) in self.sources.iter().enumerate() {
            for attempt in Attempt::all(&*source.ledger)? {
                if let Some(id) = self.gather.kept(part, UrlId(attempt.page)) {
                    let (key, change, bytes) = attempt.line(id);
                    self.new.state(key, change, &bytes)?;
                }
            }
        }
        Ok(())
    }
}

/// The new ledger has what it should, and the sums are right.
fn verify(shop: &Path, placed: &[PlacedVersion], made: &mut GatherReport) -> Result<(), Problem> {
    let new = whole(shop)?;
    let stats = new.stats()?;
    Records::check(&*new)?;
    Answers::read(&*new)?;
    (made.pages, made.versions) = (stats.pages, stats.versions);
    (made.urls, made.pending) = (stats.urls, stats.pending);
    let taken: u64 = made.from.iter().map(|f| f.taken).sum();
    made.twice = taken.saturating_sub(stats.pages);
    let in_several: HashMap<UrlId, HashSet<usize>> =
        placed.iter().filter(|p| p.shared).fold(HashMap::new(), |mut all, p| {
            all.entry(p.id).or_insert_with(HashSet::new).insert(p.part);
            all
        });
    let right = stats.pages == newest(placed).len() as u64 && stats.versions == placed.len() as u64;
    // Of a page that was fetched by several, each gave a version, or the very same one.
    let most = in_several.len() as u64 * (made.from.len() as u64).saturating_sub(1);
    if !right || taken < stats.pages || made.twice > most {
        return Err(Problem::new("the new collection is not what it should be")
            .because(format!("{taken} pages were taken, {} are in it", stats.pages))
            .hint("nothing was made; please report this"));
    }
    for (id, placed) in newest(placed) {
        let record = new.record(id)?;
        if record.is_none_or(|r| r.fetched != placed.fetched || r.digest != placed.digest) {
            return Err(Problem::new("the new collection is not what it should be")
                .because(format!("URL number {} is not the page that was taken", id.0))
                .hint("nothing was made; please report this"));
        }
    }
    Ok(())
}
