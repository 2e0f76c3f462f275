//! The collections under a folder, or the crawls in a shared database, each opened for reading when it is
//! first asked for and read on while it grows.

use super::jobs::{Job, Jobs};
use super::live::Hub;
use super::queue::Queue;
use super::reply::Refusal;
use super::rows::Rows;
use crate::labelling::{LabelList, LabelRoute};
use crawl::Outlook;
use crawl::collection::Collection;
use crawl::quiz::Quiz;
use crawl::reader::{Explainer, Reader};
use crawl::steer::Effect;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard};
use std::time::{Duration, Instant, SystemTime};
use store::archive::Stacks;
use store::index::Index;
use types::Problem;

/// What is on disk is looked at again after this long.
const FRESH: Duration = Duration::from_millis(400);
/// What the strategy has learnt is read again after this long.
const EXPLAINER_FRESH: Duration = Duration::from_secs(10);
/// The same of a shared crawl: others use the database too.
const SHARED_FRESH: Duration = Duration::from_millis(1_500);
/// Between two additions to the index of a shared crawl.
const INDEX_EVERY: Duration = Duration::from_secs(10);
/// A stopped collection that was opened for a label stays open for the next one this long.
const LINGER: Duration = Duration::from_secs(15);
/// Subfolders looked at.
const MOST: usize = 2_000;

pub struct Shelf {
    root: PathBuf,
    shared: Option<SharedShelf>,
    jobs: Arc<Jobs>,
    open: Mutex<BTreeMap<String, Arc<Volume>>>,
}

/// A database instead of a folder.
#[derive(Clone, Debug)]
pub struct SharedShelf {
    /// `postgres://…`
    pub store: String,
    /// Only this crawl.
    pub crawl: Option<String>,
    /// Where this machine keeps what it makes of them.
    pub cache: PathBuf,
    /// Where the workers' archive files are, if this machine has them.
    pub warc: Option<PathBuf>,
}

/// One collection.
pub struct Volume {
    pub name: String,
    pub dir: PathBuf,
    /// Of a crawl that is kept in a database.
    pub shared: Option<SharedShelf>,
    /// Where its pages are, byte for byte.
    pub archive: Stacks,
    pub hub: Hub,
    jobs: Arc<Jobs>,
    indexing: AtomicBool,
    /// Something changed that the next look must see.
    changed: AtomicBool,
    view: RwLock<Option<View>>,
    /// Of a folder that nobody crawls into: open for labels, since some were given a moment ago.
    teaching: Mutex<Option<(LabelRoute, Instant)>>,
    is_teaching: AtomicBool,
}

/// A collection as it was a moment ago.
pub struct View {
    pub reader: Reader,
    pub rows: Rows,
    pub queue: Queue,
    pub index: Option<Index>,
    /// Which pages could be asked about.
    pub quiz: Mutex<Quiz>,
    index_stamp: Option<SystemTime>,
    /// Made when it is first asked for; learnt state may be large.
    explainer: Mutex<Option<(Instant, Explainer)>>,
    read: Instant,
    file: Option<FileId>,
}

/// Tells a ledger from another one that took its place.
type FileId = (u64, u64);

impl Shelf {
    pub fn new(root: PathBuf) -> Shelf {
        Shelf { root, shared: None, jobs: Arc::default(), open: Mutex::default() }
    }

    /// The crawls in a database. Their workers run elsewhere; what is asked of them is written there.
    pub fn shared(shared: SharedShelf) -> Shelf {
        Shelf { shared: Some(shared.clone()), ..Shelf::new(shared.cache) }
    }

    pub fn is_shared(&self) -> bool {
        self.shared.is_some()
    }

    pub fn jobs(&self) -> &Jobs {
        &self.jobs
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Name and folder of each collection: the folder itself, if it is one, and those in it.
    pub fn list(&self) -> Vec<(String, PathBuf)> {
        if let Some(s) = &self.shared {
            let all = match &s.crawl {
                Some(one) => vec![one.clone()],
                None => self.crawls(s),
            };
            return all.into_iter().map(|name| (name.clone(), s.cache.join(name))).collect();
        }
        let mut out = BTreeMap::new();
        if Collection::exists(&self.root) {
            let name = std::fs::canonicalize(&self.root)
                .ok()
                .and_then(|p| p.file_name().map(|n| n.to_string_lossy().into_owned()))
                .unwrap_or_else(|| "collection".into());
            out.insert(name, self.root.clone());
        }
        for (name, dir) in self.folders() {
            if Collection::exists(&dir) {
                out.entry(name).or_insert(dir);
            }
        }
        out.into_iter().collect()
    }

    /// The crawls of a database; those that are known when it cannot be asked.
    fn crawls(&self, s: &SharedShelf) -> Vec<String> {
        match store::SharedReader::crawls(&s.store) {
            Ok(names) => names,
            Err(e) => {
                tracing::warn!(problem = %e, "the crawls cannot be listed");
                self.open.lock().unwrap_or_else(PoisonError::into_inner).keys().cloned().collect()
            }
        }
    }

    /// Every subfolder whose name can be written in an address.
    pub fn folders(&self) -> Vec<(String, PathBuf)> {
        if self.shared.is_some() {
            return Vec::new();
        }
        let Ok(entries) = std::fs::read_dir(&self.root) else { return Vec::new() };
        let mut out: Vec<(String, PathBuf)> = entries
            .take(MOST)
            .flatten()
            .filter(|e| e.file_type().is_ok_and(|t| t.is_dir()))
            .filter_map(|e| Some((e.file_name().to_str()?.to_string(), e.path())))
            .filter(|(name, _)| !name.starts_with('.') && name.chars().count() <= 200)
            .collect();
        out.sort();
        out
    }

    /// By name. The name is looked up in what is there, so it cannot lead anywhere else.
    pub fn get(&self, name: &str) -> Result<Arc<Volume>, Refusal> {
        let known = self.open.lock().unwrap_or_else(PoisonError::into_inner).get(name).cloned();
        if let Some(volume) = known.filter(|v| v.shared.is_some() || Collection::exists(&v.dir)) {
            return Ok(volume);
        }
        let found = self.list().into_iter().find(|(n, _)| n == name);
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((name, dir)) = found else {
            open.remove(name);
            return Err(Refusal::not_found(format!("there is no collection `{name}`")));
        };
        let given = self.shared.as_ref().and_then(|s| s.warc.clone());
        let volume = Arc::new(Volume {
            name: name.clone(),
            archive: Stacks::new(Some(given.unwrap_or_else(|| Collection::warc_dir(&dir)))),
            dir,
            shared: self.shared.clone(),
            hub: Hub::default(),
            jobs: self.jobs.clone(),
            indexing: AtomicBool::new(false),
            changed: AtomicBool::new(false),
            view: RwLock::new(None),
            teaching: Mutex::new(None),
            is_teaching: AtomicBool::new(false),
        });
        // Two may have come at once: the first stays.
        let volume = open.entry(name).or_insert(volume).clone();
        drop(open);
        volume.keep_indexing();
        Ok(volume)
    }

    /// Lets go of every folder that was opened for labels.
    pub fn stop_teaching(&self) {
        let open: Vec<Arc<Volume>> =
            self.open.lock().unwrap_or_else(PoisonError::into_inner).values().cloned().collect();
        open.iter().for_each(|v| v.stop_teaching());
    }

    pub fn all(&self) -> Vec<Arc<Volume>> {
        self.list().into_iter().filter_map(|(name, _)| self.get(&name).ok()).collect()
    }
}

/// A view that is there.
pub struct ViewGuard<'a>(RwLockReadGuard<'a, Option<View>>);

impl std::ops::Deref for ViewGuard<'_> {
    type Target = View;
    fn deref(&self) -> &View {
        // `Volume::view` made sure of it.
        self.0.as_ref().unwrap_or_else(|| unreachable!("a view is made before it is lent"))
    }
}

impl Volume {
    /// The crawl of this collection in this process, running or ended.
    pub fn job(&self) -> Option<Arc<Job>> {
        self.jobs.get(&self.name)
    }

    /// The next view is read from disk, however fresh the last one is.
    pub fn look_again(&self) {
        self.changed.store(true, Ordering::SeqCst);
    }

    /// Does any process have its folder open for writing? Being open here for labels does not count.
    pub fn is_locked(&self) -> bool {
        !self.is_teaching.load(Ordering::SeqCst) && store::ledger::is_locked(&self.dir)
    }

    /// What the user says of pages of a folder that no crawl of this process has: obeyed here, or by whoever
    /// has it.
    pub fn say(self: &Arc<Self>, said: &LabelList) -> Result<Effect, Problem> {
        let mut teaching = self.teaching.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut way, opened) = match teaching.take() {
            Some((way, _)) => (way, false),
            None => (LabelRoute::to_folder(&self.dir)?, true),
        };
        let done = way.say_in_folder(said);
        let ours = way.holds_folder();
        self.is_teaching.store(ours, Ordering::SeqCst);
        if ours {
            *teaching = Some((way, Instant::now()));
            drop(teaching);
            if opened {
                self.close_later()?;
            }
        }
        done
    }

    /// Lets go of the folder a while after the last label; obeys what other processes leave in its inbox
    /// meanwhile.
    fn close_later(self: &Arc<Self>) -> Result<(), Problem> {
        let volume = Arc::downgrade(self);
        let closing = std::thread::Builder::new().name("dashboard-labels".into()).spawn(move || {
            loop {
                std::thread::sleep(Duration::from_millis(200));
                let Some(volume) = volume.upgrade() else { return };
                let mut teaching = volume.teaching.lock().unwrap_or_else(PoisonError::into_inner);
                match teaching.as_mut() {
                    None => return,
                    Some((_, since)) if since.elapsed() > LINGER => {
                        drop(teaching);
                        volume.stop_teaching();
                        return;
                    }
                    Some((way, _)) => way.read_inbox(),
                }
            }
        });
        closing.map(drop).map_err(|e| Problem::new("cannot start a thread").because(e))
    }

    /// Lets go of the folder: a crawl is about to begin, or the process to end.
    pub fn stop_teaching(&self) {
        let mut teaching = self.teaching.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((way, _)) = teaching.take()
            && let Err(problem) = way.close()
        {
            // What was said is in the ledger.
            tracing::warn!(%problem, "after labels, the collection was not closed in order");
        }
        self.is_teaching.store(false, Ordering::SeqCst);
    }

    /// Opens it anew for reading.
    pub fn open(&self) -> Result<Reader, Problem> {
        match &self.shared {
            Some(s) => Reader::open_shared(&s.store, Some(&self.name), &s.cache),
            None => Reader::open(&self.dir),
        }
    }

    fn fresh(&self) -> Duration {
        if self.shared.is_some() { SHARED_FRESH } else { FRESH }
    }

    /// Of a shared crawl nobody has an index of the whole: it is made here, beside whoever looks, as long as
    /// the collection is on the shelf.
    fn keep_indexing(self: &Arc<Self>) {
        if self.shared.is_none() || self.indexing.swap(true, Ordering::SeqCst) {
            return;
        }
        let volume = Arc::downgrade(self);
        let indexing = std::thread::Builder::new().name("dashboard-index".into()).spawn(move || {
            let mut reader: Option<Reader> = None;
            while let Some(volume) = volume.upgrade() {
                let made = match &mut reader {
                    Some(r) => r.refresh().and_then(|new| if new { r.index().map(drop) } else { Ok(()) }),
                    None => volume.open().and_then(|r| reader.insert(r).index().map(drop)),
                };
                drop(volume);
                if let Err(e) = made {
                    tracing::warn!(problem = %e, "the index is not up to date");
                    reader = None;
                }
                std::thread::sleep(INDEX_EVERY);
            }
        });
        if let Err(e) = indexing {
            tracing::error!(error = %e, "no thread for the index");
        }
    }

    /// Reads on, when the last look is some time ago, and lends what is known.
    pub fn view(&self) -> Result<ViewGuard<'_>, Refusal> {
        for _ in 0..3 {
            {
                let seen = self.view.read().unwrap_or_else(PoisonError::into_inner);
                let changed = self.changed.load(Ordering::SeqCst);
                if seen.as_ref().is_some_and(|v| v.read.elapsed() < self.fresh() && !changed) {
                    return Ok(ViewGuard(seen));
                }
            }
            let mut view = self.view.write().unwrap_or_else(PoisonError::into_inner);
            // Someone else may have read on while we waited.
            let changed = self.changed.swap(false, Ordering::SeqCst);
            if view.as_ref().is_none_or(|v| v.read.elapsed() >= self.fresh() || changed) {
                let file = file_id(&self.dir);
                let same = view.as_ref().is_some_and(|v| v.file == file);
                let read_on = if same { view.as_mut().map(View::refresh) } else { None };
                match read_on {
                    Some(Ok(())) => {}
                    // First use, another ledger in its place, or one that cannot be read on.
                    _ => *view = Some(View::new(self.open()?, file)?),
                }
            }
            drop(view);
        }
        // A machine so slow that a view is old before it is lent: old is good enough.
        let seen = self.view.read().unwrap_or_else(PoisonError::into_inner);
        if seen.is_some() {
            return Ok(ViewGuard(seen));
        }
        Err(Problem::new("the collection cannot be read just now").into())
    }
}

impl View {
    /// What is still to be found: the same estimate as everywhere.
    pub fn outlook(&self) -> Result<Option<Outlook>, Problem> {
        let stats = self.reader.ledger().stats()?;
        Ok(Outlook::of(self.rows.curve.points(), stats.pending + stats.leased))
    }

    fn new(reader: Reader, file: Option<FileId>) -> Result<View, Problem> {
        let mut view = View {
            rows: Rows::default(),
            queue: Queue::default(),
            index: open_index(&reader),
            quiz: Mutex::default(),
            index_stamp: index_stamp(reader.dir()),
            explainer: Mutex::new(None),
            reader,
            read: Instant::now(),
            file,
        };
        view.rows.update(&view.reader)?;
        view.queue.update(&view.reader)?;
        view.read = Instant::now();
        Ok(view)
    }

    /// Lends the strategy as it was a while ago.
    pub fn explain<T>(&self, with: impl FnOnce(&Explainer) -> Result<T, Problem>) -> Result<T, Problem> {
        let mut kept = self.explainer.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((at, e)) = kept.as_ref()
            && at.elapsed() < EXPLAINER_FRESH
        {
            return with(e);
        }
        let new = self.reader.explainer()?;
        with(&kept.insert((Instant::now(), new)).1)
    }

    fn refresh(&mut self) -> Result<(), Problem> {
        if self.reader.refresh()? {
            self.rows.update(&self.reader)?;
        }
        // A crawl commits to the index rarely; its list of files changes when it does.
        let stamp = index_stamp(self.reader.dir());
        if stamp != self.index_stamp {
            match &mut self.index {
                Some(index) => match index.refresh() {
                    Ok(()) => {}
                    Err(_) => self.index = open_index(&self.reader),
                },
                None => self.index = open_index(&self.reader),
            }
            self.index_stamp = stamp;
        }
        self.queue.update(&self.reader)?;
        self.read = Instant::now();
        Ok(())
    }
}

/// The search index as it is; that of a folder is made again when it is damaged.
fn open_index(reader: &Reader) -> Option<Index> {
    let opened = match reader.shared_name() {
        Some(_) => Index::open(&Collection::index_dir(reader.dir())),
        None => reader.index(),
    };
    opened.inspect_err(|e| tracing::warn!(problem = %e, "there is no index")).ok()
}

/// When the search index was last committed to.
fn index_stamp(dir: &Path) -> Option<SystemTime> {
    std::fs::metadata(Collection::index_dir(dir).join("meta.json")).and_then(|m| m.modified()).ok()
}

#[cfg(unix)]
fn file_id(dir: &Path) -> Option<FileId> {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata(dir.join("ledger.log")).ok().map(|m| (m.dev(), m.ino()))
}
#[cfg(not(unix))]
fn file_id(dir: &Path) -> Option<FileId> {
    let created = std::fs::metadata(dir.join("ledger.log")).ok()?.created().ok()?;
    created.duration_since(std::time::UNIX_EPOCH).ok().map(|d| (d.as_secs(), u64::from(d.subsec_nanos())))
}
