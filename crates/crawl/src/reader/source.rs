//! Where a reader finds a collection: in a folder, or in a database that many workers share. Others may write
//! to it meanwhile; [`CollectionSource::refresh`] reads what is new.

use crate::state::PageLine;
use crate::visits::{self, PageVisit};
use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::time::Duration;
use store::index::Index;
use store::ledger::Damage;
use store::{LedgerReader, Records, SharedReader, WorkerInfo};
use types::{Millis, Problem, StateKey, UrlId, Verdict};

/// What workers commit becomes visible some time after the database's clock said when.
const OVERLAP: Duration = Duration::from_secs(600);

/// See the module. Everything here goes by what [`CollectionSource::refresh`] last saw; what is known of URLs
/// and pages is [`Records`].
pub enum CollectionSource {
    /// A ledger in a folder.
    Folder(Box<LedgerReader>),
    /// A crawl in a database.
    Shared(Box<SharedReader>),
}

impl std::ops::Deref for CollectionSource {
    type Target = dyn Records;
    fn deref(&self) -> &Self::Target {
        match self {
            CollectionSource::Folder(ledger) => &***ledger,
            CollectionSource::Shared(shared) => &**shared,
        }
    }
}

impl CollectionSource {
    /// Reads on. `true` when there was something new.
    pub fn refresh(&mut self) -> Result<bool, Problem> {
        match self {
            CollectionSource::Folder(ledger) => ledger.refresh(),
            CollectionSource::Shared(shared) => shared.refresh(),
        }
    }

    /// The crawl in the database, if that is what it is.
    pub fn shared(&self) -> Option<&SharedReader> {
        match self {
            CollectionSource::Folder(_) => None,
            CollectionSource::Shared(shared) => Some(shared),
        }
    }

    /// What was said of pages since `mark`, which moves on.
    pub fn said_since(&self, mark: &mut Mark) -> Result<PageUpdates, Problem> {
        match self {
            CollectionSource::Folder(ledger) => said_in_folder(ledger, mark),
            CollectionSource::Shared(shared) => said_in_database(shared, mark),
        }
    }

    /// Visits to known pages after the first `known`, which is counted on.
    pub fn visits_since(&self, known: &mut usize) -> Result<Vec<PageVisit>, Problem> {
        let mut new = Vec::new();
        match self {
            CollectionSource::Folder(ledger) => {
                for place in ledger.state_places(StateKey::Visits).iter().skip(*known) {
                    new.extend(PageVisit::decode(&ledger.state_at(*place)?));
                    *known += 1;
                }
            }
            // Those of one worker come after those of another: all are read.
            CollectionSource::Shared(shared) => {
                for visit in visits::each(&**shared) {
                    new.push(visit?);
                }
                new.sort_by_key(|v| v.at);
                *known = new.len();
            }
        }
        Ok(new)
    }

    /// Is anyone crawling into it? `dir` is its folder.
    pub fn is_running(&self, dir: &Path) -> bool {
        match self {
            CollectionSource::Folder(_) => store::ledger::is_locked(dir),
            CollectionSource::Shared(shared) => shared.workers().is_ok_and(|w| !w.is_empty()),
        }
    }

    /// Of a shared crawl, the workers that are alive.
    pub fn workers(&self) -> Result<Vec<WorkerInfo>, Problem> {
        self.shared().map_or(Ok(Vec::new()), SharedReader::workers)
    }

    /// Of a shared crawl, its name.
    pub fn shared_name(&self) -> Option<&str> {
        self.shared().map(SharedReader::name)
    }

    /// How the ledger is damaged, if it is.
    pub fn damage(&self) -> Option<&Damage> {
        match self {
            CollectionSource::Folder(ledger) => ledger.damage(),
            CollectionSource::Shared(_) => None,
        }
    }

    /// The full-text index in `dir`. Of a shared crawl, whose workers each know a part only, it is made here:
    /// whatever is missing in it is added first.
    pub fn index(&self, dir: &Path) -> Result<Index, Problem> {
        let CollectionSource::Shared(shared) = self else { return Index::open(dir) };
        std::fs::create_dir_all(dir).map_err(|e| Problem::io("create", dir, &e))?;
        let mut index = Index::open_or_create(dir)?;
        // What changed since the index was filled last is told by a mark beside it.
        let mark = dir.with_extension("mark");
        let since = std::fs::read_to_string(&mark).ok().and_then(|text| text.trim().parse().ok());
        let since = Millis(since.unwrap_or(0u64).saturating_sub(OVERLAP.as_millis() as u64));
        let (changed, now) = shared.changed_after(since)?;
        let changed: HashSet<UrlId> = changed.into_iter().collect();
        let there: HashSet<UrlId> = shared.judged().iter().map(|p| p.id).collect();
        let gone: Vec<UrlId> = index.ids().filter(|id| !there.contains(id)).collect();
        let ids = shared.judged().iter().map(|p| p.id);
        let missing: Vec<UrlId> = ids.filter(|id| changed.contains(id) || !index.contains(*id)).collect();
        let fill = || {
            for id in gone {
                index.remove(id)?;
            }
            for record in shared.records_of(missing) {
                let record = record?;
                match record.noindex {
                    false => index.add(&record)?,
                    true => index.remove(record.id)?,
                }
            }
            index.commit()?;
            store::files::replace(&mark, now.0.to_string().as_bytes())
                .map_err(|e| Problem::io("write", &mark, &e))
        };
        match fill() {
            Ok(()) => Ok(index),
            // Another process may be adding to it just now: what is there is shown.
            Err(e) => Index::open(dir).map_err(|_| e),
        }
    }
}

/// How far someone has read what was said of pages.
#[derive(Default, PartialEq)]
pub struct Mark {
    first: Option<u64>,
    pieces: usize,
    revisions: Option<u64>,
}

/// What was said of pages.
#[derive(Default)]
pub struct PageUpdates {
    /// What was said before is void.
    pub anew: bool,
    /// In the order they were fetched.
    pub lines: Vec<PageUpdate>,
    /// When a verdict changed since: all that were changed after the page was fetched.
    pub revised: Option<HashMap<UrlId, Verdict>>,
}

/// A page, and what was said of it when it came.
pub struct PageUpdate {
    /// The page.
    pub id: UrlId,
    /// The judge's verdict.
    pub relevant: bool,
    /// The judge's score, 0–1.
    pub score: f64,
    /// An earlier page with the same, or nearly the same, text.
    pub copy_of: Option<UrlId>,
    /// Of its text; 0 = unknown.
    pub simhash: u64,
}

fn said_in_folder(ledger: &LedgerReader, mark: &mut Mark) -> Result<PageUpdates, Problem> {
    let mut said = PageUpdates::default();
    let places = ledger.state_places(StateKey::Pages);
    // Judged again as a whole: what was said before is void.
    if places.first().copied() != mark.first || places.len() < mark.pieces {
        said.anew = true;
        *mark = Mark { first: places.first().copied(), ..Mark::default() };
    }
    for place in places.iter().skip(mark.pieces) {
        let line = ledger.state_at(*place)?;
        if let Some(PageLine { judged: j, copy_of, .. }) = PageLine::read(&line) {
            let (relevant, score, simhash) = (j.relevant, j.score, j.simhash);
            said.lines.push(PageUpdate { id: j.id, relevant, score, copy_of, simhash });
        }
    }
    mark.pieces = places.len();
    let revisions = Some(ledger.revisions());
    if mark.revisions != revisions {
        mark.revisions = revisions;
        said.revised = Some(ledger.revised()?.into_iter().collect());
    }
    Ok(said)
}

fn said_in_database(shared: &SharedReader, mark: &mut Mark) -> Result<PageUpdates, Problem> {
    let mut said = PageUpdates::default();
    let revisions = Some(shared.revisions());
    if mark.revisions != revisions {
        // Whatever was said last is in the pages' own rows.
        *mark = Mark { revisions, ..Mark::default() };
        said.anew = true;
        said.revised = Some(shared.revised()?.into_iter().collect());
    }
    let new = shared.judged().get(mark.pieces..).unwrap_or_default();
    said.lines.extend(new.iter().map(|p| PageUpdate {
        id: p.id,
        relevant: p.relevant,
        score: p.score,
        // The database does not tell copies apart: each worker sees its own pages only.
        copy_of: None,
        simhash: 0,
    }));
    mark.pieces = shared.judged().len();
    Ok(said)
}
