//! A collection's own full-text index as a search engine.

use super::{Hits, SearchEngine};
use crawl::reader::Reader;
use std::path::Path;
use types::Problem;

pub struct Index {
    reader: Reader,
    index: store::index::Index,
}

impl Index {
    pub fn new(dir: &str) -> Result<Index, Problem> {
        if dir.is_empty() {
            return Err(Problem::usage("--engine collection: which one?")
                .hint("give its folder: --engine collection:DIR"));
        }
        let reader = Reader::open(Path::new(dir))?;
        let index = reader.index()?;
        Ok(Index { reader, index })
    }
}

impl SearchEngine for Index {
    fn name(&self) -> String {
        format!("the collection {}", self.reader.dir().display())
    }

    /// The index reads no more of a query.
    fn longest_query(&self) -> usize {
        1_000
    }

    fn live(&self) -> bool {
        false
    }

    fn search(&self, query: &str, _section: &str, hits: &mut Hits) -> Result<(), Problem> {
        // An engine knows nothing of this topic: every page of the index is a candidate.
        for found in self.index.search(query, hits.want(), 0, &|_| true)? {
            if let Some(record) = self.reader.record(found.id)? {
                hits.push(&record.url, &record.title);
            }
        }
        Ok(())
    }
}
