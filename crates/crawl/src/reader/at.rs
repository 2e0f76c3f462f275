//! A collection as it was at a date: the version of each page that was the newest then; pages that came later
//! are absent, and pages that were gone later are there. What was said of pages (labels, verdicts given
//! again) counts as it does today, where that version is still the newest.

use super::{Newest, Reader};
use crate::visits::Found;
use std::collections::HashMap;
use std::path::Path;
use store::index::Index;
use types::{Millis, Problem, Record, UrlId};

/// The date, and what was another then.
pub(super) struct PastView {
    pub at: Millis,
    /// Of pages that changed since: when their version of that date was fetched.
    versions: HashMap<UrlId, Millis>,
}

impl Reader {
    /// The collection as it was at a date. It is not read on.
    pub fn at(mut self, at: Millis) -> Result<Reader, Problem> {
        let (mut versions, mut known) = (HashMap::new(), HashMap::new());
        for line in &self.lines {
            let Some(now) = self.newest.get(&line.id).copied() else { continue };
            // Pages are few that were fetched more than once: the newest version tells of most.
            let Some(newest) = self.source.record(line.id)? else { continue };
            if newest.fetched <= at {
                known.insert(line.id, now);
                continue;
            }
            let mut all = self.source.versions(line.id)?.into_iter();
            let Some(then) = all.find(|v| v.fetched <= at) else { continue };
            versions.insert(line.id, then.fetched);
            let judged = then.verdict.relevant;
            let relevant = self.labels.decides(line.id).unwrap_or(judged);
            let score = if self.probabilities { then.verdict.relevance } else { then.assessment.score };
            known.insert(line.id, Newest { relevant, judged, score });
        }
        self.verdicts.retain(|(id, _)| known.contains_key(id));
        for (id, relevant) in &mut self.verdicts {
            *relevant = known.get(id).is_some_and(|n| n.relevant);
        }
        self.newest = known;
        self.away.clear();
        for visit in self.source.visits_since(&mut 0)?.into_iter().filter(|v| v.at <= at) {
            match visit.found {
                Found::Gone | Found::Moved => self.away.insert(visit.id, visit.found),
                found if found.is_there() => self.away.remove(&visit.id),
                _ => None,
            };
        }
        self.then = Some(PastView { at, versions });
        Ok(self)
    }

    /// The date that is looked at; `None`: now.
    pub fn date(&self) -> Option<Millis> {
        self.then.as_ref().map(|then| then.at)
    }

    /// A page as it was then, of its newest version.
    pub(super) fn as_it_was(&self, newest: Record) -> Result<Option<Record>, Problem> {
        let Some(then) = &self.then else { return Ok(Some(newest)) };
        let id = newest.id;
        if !self.newest.contains_key(&id) {
            return Ok(None);
        }
        match then.versions.get(&id) {
            None => Ok(Some(newest)),
            Some(fetched) => Ok(self.source.versions(id)?.into_iter().find(|v| v.fetched == *fetched)),
        }
    }

    /// A search index of the pages as they were then, made in an empty folder.
    pub fn index_then(&self, dir: &Path) -> Result<Index, Problem> {
        let mut index = Index::open_or_create(dir)?;
        for record in self.records(true) {
            let record = record?;
            if !record.noindex {
                index.add(&record)?;
            }
        }
        index.commit()?;
        Ok(index)
    }
}
