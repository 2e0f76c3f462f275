//! Detects a damaged ledger. A crash costs at most what was not durable yet; if more than that is missing,
//! bytes were lost or changed.

use super::log::Witness;
use super::{Ledger, Log};
use std::path::Path;
use types::Problem;

/// What is wrong with a ledger. Everything before `at` is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Where it stops making sense.
    pub at: u64,
    /// What is wrong there.
    pub kind: DamageKind,
    /// How long it was at least.
    pub end: u64,
    /// Pages it had at least, if that is known.
    pub pages: Option<u64>,
    /// Pages before the damage.
    pub left: u64,
    /// The file that proves it; empty when the ledger itself does.
    pub file: String,
}

/// What can be wrong with a ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DamageKind {
    /// What is there is not what was written.
    Broken,
    /// It was longer.
    Short,
    /// Another ledger was here.
    Another,
}

impl Damage {
    /// Pages that are known to be missing.
    pub fn missing(&self) -> u64 {
        self.pages.map_or(0, |n| n.saturating_sub(self.left))
    }

    /// In words. `name`: the ledger's path.
    pub fn problem(&self, name: &str) -> Problem {
        let Damage { at, end, file, .. } = self;
        let pages = match self.pages {
            Some(n) if n > self.left => format!(": {n} pages were in it, {} are left", self.left),
            _ => String::new(),
        };
        let problem = match self.kind {
            DamageKind::Broken => Problem::new(format!("{name} is damaged at byte {at}"))
                .because(format!("what is there is not what was written{pages}")),
            DamageKind::Short => Problem::new(format!("{name} is cut off at byte {at}"))
                .because(format!("{file} was written when it had {end} bytes{pages}")),
            DamageKind::Another => Problem::new(format!("{name} is not the ledger that was here"))
                .because(format!("{file} does not fit it{pages}")),
        };
        problem.hint(hint(name))
    }
}

/// What to do about a damaged ledger.
pub(super) fn hint(name: &str) -> String {
    let dir = Path::new(name).parent().filter(|d| !d.as_os_str().is_empty());
    let dir = dir.map_or_else(|| "DIR".to_string(), |d| d.display().to_string());
    format!(
        "a crash does not do this: check the disk. `gleaner repair {dir}` brings back what the archive and \
         the rest of the \
         ledger still have, and deletes nothing; or restore the folder from a backup. Nothing was changed; \
         `gleaner export` still gives every page before the damage"
    )
}

/// The ledger's file is gone, but what belongs to it is there.
pub fn missing(dir: &Path, w: &Witness) -> Problem {
    let name = dir.join(super::log::LOG).display().to_string();
    let pages = w.pages.map_or(String::new(), |n| format!(" and {n} pages"));
    Problem::new(format!("{name} is missing"))
        .because(format!("{} was written when it had {} bytes{pages}", w.file, w.end))
        .hint(hint(&name))
}

impl<L: Log> Ledger<L> {
    /// Compares the ledger with what was written about it. `broken`: where it stops making sense though more
    /// was durable.
    pub(super) fn find_damage(&self, broken: Option<u64>) -> Option<Damage> {
        let witness = self.log.witness();
        let kind = match (broken, witness) {
            (Some(_), _) => DamageKind::Broken,
            (None, Some(w)) if w.end > self.base => {
                // Bytes that make no sense are damage; a whole end is a cut.
                if self.log.len() >= w.end { DamageKind::Broken } else { DamageKind::Short }
            }
            (None, Some(w)) if !self.ends_with(w) => DamageKind::Another,
            _ => return None,
        };
        let pages = witness.and_then(|w| w.pages.or_else(|| self.checkpointed_pages(w.end)));
        let at = broken.unwrap_or(self.base);
        Some(Damage {
            at,
            kind,
            end: witness.map_or(at, |w| w.end).max(at),
            pages,
            left: self.pages.len() as u64,
            file: witness.map(|w| w.file.clone()).unwrap_or_default(),
        })
    }

    /// Are the bytes before the witnessed end the same as then?
    fn ends_with(&self, w: &Witness) -> bool {
        let mut there = vec![0; w.last.len()];
        let from = w.end.saturating_sub(w.last.len() as u64);
        self.log.read_at(from, &mut there).is_ok_and(|n| n == there.len()) && there == w.last
    }

    pub(super) fn damaged(&self, offset: u64) -> Problem {
        let witness = self.log.witness();
        Damage {
            at: offset,
            kind: DamageKind::Broken,
            end: self.base,
            pages: None,
            left: self.pages.len() as u64,
            file: witness.map(|w| w.file.clone()).unwrap_or_default(),
        }
        .problem(&self.log.name())
    }
}
