//! Opening the search index: pages that it lags behind by are added.

use super::Collection;
use crate::crawl::Ledger;
use frontier::State;
use std::path::Path;
use store::index::Index;
use types::{Outcome, Problem, StateKey, UrlId};

/// The search index holds no truth: what it misses (after a crash, or when it was deleted) is added again.
pub(super) fn open_index(dir: &Path, ledger: &dyn Ledger, notes: &mut Vec<String>) -> Result<Index, Problem> {
    let mut index = Index::open_or_create(&Collection::index_dir(dir))?;
    let known = IndexedCounts::read(ledger)?;
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
pub(crate) struct IndexedCounts {
    /// Of so many pages of the ledger each was looked at.
    pub pages: u64,
    /// So many were put into the index (some ask not to be).
    pub documents: u64,
}

impl IndexedCounts {
    const STATE: StateKey = StateKey::Indexed;

    pub fn read(store: &(impl store::Records + ?Sized)) -> Result<IndexedCounts, Problem> {
        let bytes = store.state(Self::STATE)?.pop().unwrap_or_default();
        let number = |i: usize| bytes.as_chunks::<8>().0.get(i).map_or(0, |b| u64::from_le_bytes(*b));
        Ok(IndexedCounts { pages: number(0), documents: number(1) })
    }

    pub fn note(self, store: &mut (impl store::Journal + ?Sized)) -> Result<(), Problem> {
        store.put_state(Self::STATE, false, &self.to_bytes())
    }

    pub fn to_bytes(self) -> Vec<u8> {
        [self.pages.to_le_bytes(), self.documents.to_le_bytes()].concat()
    }
}
