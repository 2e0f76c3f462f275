//! What a reader needs of the place a collection is kept in: a folder, or a database that many workers share. Both are
//! read on while others write.

use crate::state::PageLine;
use frontier::{Frontier, Info};
use std::collections::HashMap;
use std::path::Path;
use store::index::Index;
use store::ledger::Damage;
use store::{CommandInfo, FileLog, Ledger, SharedReader, Store, WorkerInfo};
use types::{Problem, Record, Source, UrlId, Verdict};

/// See the module. Everything here goes by what [`Store::refresh`] last saw.
pub trait Kept: Store + Send + Sync {
    /// What was said of pages since `mark`, which moves on.
    fn said_since(&self, mark: &mut Mark) -> Result<Said, Problem>;

    /// Fetched pages from the `from`th on, each with where its URL stands.
    fn pages_from(&self, from: usize) -> Box<dyn Iterator<Item = Result<(Record, Info), Problem>> + '_>;

    /// These pages, in this order; those that are gone are left out.
    fn records_of<'a>(&'a self, ids: Vec<UrlId>) -> Box<dyn Iterator<Item = Result<Record, Problem>> + 'a>;

    /// Every remembered sighting of a URL, first found first.
    fn sources_of(&self, id: UrlId) -> Result<Vec<Source>, Problem>;

    /// Where every URL stands that waits to be fetched, in no particular order.
    fn waiting(&self) -> Box<dyn Iterator<Item = Result<Info, Problem>> + '_>;

    /// The name of a host, by the number that [`Info::host`] has and [`Store::hosts`] counts.
    fn host_name(&self, host: u32) -> Option<String>;

    /// Is anyone crawling into it? `dir` is its folder.
    fn is_running(&self, dir: &Path) -> bool;

    /// Of a shared crawl, the workers that are alive.
    fn workers(&self) -> Result<Vec<WorkerInfo>, Problem>;

    /// Of a shared crawl, its name.
    fn shared_name(&self) -> Option<&str> {
        None
    }

    /// Of a shared crawl, what was asked of its workers of late, the newest first.
    fn commands(&self, _most: usize) -> Result<Vec<CommandInfo>, Problem> {
        Ok(Vec::new())
    }

    /// The full-text index in `dir`. Of a shared crawl, whose workers each know a part only, it is made here: whatever
    /// is missing in it is added first.
    fn index(&self, dir: &Path) -> Result<Index, Problem>;

    /// How the ledger is damaged, if it is.
    fn damage(&self) -> Option<&Damage> {
        None
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
pub struct Said {
    /// What was said before is void.
    pub anew: bool,
    /// In the order they were fetched.
    pub lines: Vec<Line>,
    /// When a verdict changed since: all that were changed after the page was fetched.
    pub revised: Option<HashMap<UrlId, Verdict>>,
}

/// A page, and what was said of it when it came.
pub struct Line {
    pub id: UrlId,
    pub relevant: bool,
    pub score: f64,
    pub copy_of: Option<UrlId>,
    /// Of its text; 0 = unknown.
    pub simhash: u64,
}

impl Kept for Ledger<FileLog> {
    fn said_since(&self, mark: &mut Mark) -> Result<Said, Problem> {
        let mut said = Said::default();
        let places = self.state_places("pages");
        // Judged again as a whole: what was said before is void.
        if places.first().copied() != mark.first || places.len() < mark.pieces {
            said.anew = true;
            *mark = Mark { first: places.first().copied(), ..Mark::default() };
        }
        for place in places.iter().skip(mark.pieces) {
            let line = self.state_at(*place)?;
            if let Some(PageLine { judged: j, copy_of, .. }) = PageLine::read(&line) {
                let (relevant, score, simhash) = (j.relevant, j.score, j.simhash);
                said.lines.push(Line { id: j.id, relevant, score, copy_of, simhash });
            }
        }
        mark.pieces = places.len();
        let revisions = Some(self.revisions());
        if mark.revisions != revisions {
            mark.revisions = revisions;
            said.revised = Some(self.revised()?.into_iter().collect());
        }
        Ok(said)
    }

    fn pages_from(&self, from: usize) -> Box<dyn Iterator<Item = Result<(Record, Info), Problem>> + '_> {
        Box::new(self.records(from).filter_map(|record| match record {
            Ok(record) => self.entry(record.id).map(|info| Ok((record, info))),
            Err(e) => Some(Err(e)),
        }))
    }

    fn records_of<'a>(&'a self, ids: Vec<UrlId>) -> Box<dyn Iterator<Item = Result<Record, Problem>> + 'a> {
        Box::new(ids.into_iter().filter_map(|id| self.record(id).transpose()))
    }

    fn sources_of(&self, id: UrlId) -> Result<Vec<Source>, Problem> {
        Frontier::sources(self, id)
    }

    fn waiting(&self) -> Box<dyn Iterator<Item = Result<Info, Problem>> + '_> {
        Box::new(Frontier::pending(self).filter_map(|id| self.entry(id)).map(Ok))
    }

    fn host_name(&self, host: u32) -> Option<String> {
        self.order().host_info(host).map(|h| h.name)
    }

    fn is_running(&self, dir: &Path) -> bool {
        store::ledger::is_locked(dir)
    }
    fn workers(&self) -> Result<Vec<WorkerInfo>, Problem> {
        Ok(Vec::new())
    }

    fn index(&self, dir: &Path) -> Result<Index, Problem> {
        Index::open(dir)
    }

    fn damage(&self) -> Option<&Damage> {
        Ledger::damage(self)
    }
}

impl Kept for SharedReader {
    fn said_since(&self, mark: &mut Mark) -> Result<Said, Problem> {
        let mut said = Said::default();
        let revisions = Some(self.revisions());
        if mark.revisions != revisions {
            // Whatever was said last is in the pages' own rows.
            *mark = Mark { revisions, ..Mark::default() };
            said.anew = true;
            said.revised = Some(self.revised()?.into_iter().collect());
        }
        let new = self.judged().get(mark.pieces..).unwrap_or_default();
        said.lines.extend(new.iter().map(|p| Line {
            id: p.id,
            relevant: p.relevant,
            score: p.score,
            // The database does not tell copies apart: each worker sees its own pages only.
            copy_of: None,
            simhash: 0,
        }));
        mark.pieces = self.judged().len();
        Ok(said)
    }

    fn pages_from(&self, from: usize) -> Box<dyn Iterator<Item = Result<(Record, Info), Problem>> + '_> {
        Box::new(self.pages_of(self.judged().iter().skip(from).map(|p| p.id)))
    }

    fn records_of<'a>(&'a self, ids: Vec<UrlId>) -> Box<dyn Iterator<Item = Result<Record, Problem>> + 'a> {
        Box::new(self.pages_of(ids.into_iter()).map(|page| page.map(|(record, _)| record)))
    }

    fn sources_of(&self, id: UrlId) -> Result<Vec<Source>, Problem> {
        self.sources(id)
    }

    fn waiting(&self) -> Box<dyn Iterator<Item = Result<Info, Problem>> + '_> {
        Box::new(SharedReader::waiting(self))
    }

    fn host_name(&self, host: u32) -> Option<String> {
        SharedReader::host_name(self, host)
    }

    fn is_running(&self, _: &Path) -> bool {
        SharedReader::workers(self).is_ok_and(|w| !w.is_empty())
    }
    fn workers(&self) -> Result<Vec<WorkerInfo>, Problem> {
        SharedReader::workers(self)
    }
    fn shared_name(&self) -> Option<&str> {
        Some(self.name())
    }
    fn commands(&self, most: usize) -> Result<Vec<CommandInfo>, Problem> {
        SharedReader::commands(self, most)
    }

    fn index(&self, dir: &Path) -> Result<Index, Problem> {
        std::fs::create_dir_all(dir).map_err(|e| Problem::io("create", dir, &e))?;
        let mut index = Index::open_or_create(dir)?;
        let ids = self.judged().iter().map(|p| p.id);
        let missing: Vec<UrlId> = ids.filter(|id| !index.contains(*id)).collect();
        let fill = || {
            for page in self.pages_of(missing.into_iter()) {
                let (record, _) = page?;
                if !record.noindex {
                    index.add(&record)?;
                }
            }
            index.commit()
        };
        match fill() {
            Ok(()) => Ok(index),
            // Another process may be adding to it just now: what is there is shown.
            Err(e) => Index::open(dir).map_err(|_| e),
        }
    }
}
