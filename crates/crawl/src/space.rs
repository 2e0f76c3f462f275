//! What takes the space of a collection's folder, and whether there is room for more.

use crate::rules::{Rules, Stop};
use serde::Serialize;
use std::fs;
use std::path::Path;
use std::time::Duration;
use types::Millis;

/// The folder is looked at after so many pages, and after so long.
const PAGES: u64 = 16;
const EVERY: Duration = Duration::from_secs(1);
/// A run needs at least so much to end in order.
const TO_END: u64 = 512 << 10;

/// Bytes of the parts of a collection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SpaceUsed {
    /// The ledger.
    pub ledger: u64,
    /// Its checkpoints: the order of URLs as it was, for a quick start.
    pub checkpoints: u64,
    /// The WARC files.
    pub archive: u64,
    /// The search index.
    pub index: u64,
    /// What was set aside.
    pub aside: u64,
    /// The rest: topic, report, what a run needs.
    pub other: u64,
}

impl SpaceUsed {
    /// All of it.
    pub fn total(&self) -> u64 {
        self.parts().iter().map(|(_, bytes)| bytes).sum()
    }

    /// Each part with its name, the largest first.
    pub fn parts(&self) -> Vec<(&'static str, u64)> {
        let mut parts = vec![
            ("ledger", self.ledger),
            ("checkpoints", self.checkpoints),
            ("archive", self.archive),
            ("index", self.index),
            ("set aside", self.aside),
            ("other", self.other),
        ];
        parts.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
        parts
    }
}

/// Bytes that are free on the disk of a folder; `None`: nobody says.
pub fn free(dir: &Path) -> Option<u64> {
    let stat = rustix::fs::statvfs(dir).ok()?;
    Some(stat.f_bavail.saturating_mul(stat.f_frsize))
}

/// Looks at the folder now and then while a crawl runs.
#[derive(Default)]
pub(crate) struct SpaceWatch {
    /// When it was looked at last, with so many pages.
    looked: Option<(Millis, u64)>,
    used: u64,
    /// Most that came between two looks.
    growth: u64,
    full: Option<Stop>,
}

impl SpaceWatch {
    /// Why the crawl must end, if it must, while there is room for what ending takes.
    pub fn look(&mut self, dir: &Path, rules: &Rules, pages: u64, now: Millis) -> Option<Stop> {
        if rules.disk.is_none() && rules.disk_free == 0 {
            return None;
        }
        if self.looked.is_some_and(|(at, n)| pages < n + PAGES && now.since(at) < EVERY) {
            return self.full;
        }
        let parts = used(dir);
        let used = parts.total();
        if self.looked.is_some() {
            self.growth = self.growth.max(used.saturating_sub(self.used));
        }
        (self.looked, self.used) = (Some((now, pages)), used);
        // Pages that came last are in the index's memory only: it becomes about half as large as the ledger.
        let indexing = (parts.ledger / 2).saturating_sub(parts.index);
        // The last commit, a checkpoint and the report.
        let room = used / 8 + 2 * self.growth + indexing + TO_END;
        self.full = if rules.disk.is_some_and(|most| used + room > most) {
            Some(Stop::Disk)
        } else if rules.disk_free > 0 && free(dir).is_some_and(|free| free < rules.disk_free + room) {
            Some(Stop::DiskFull)
        } else {
            None
        };
        self.full
    }
}

/// Looks at a collection's folder. What vanishes meanwhile, or cannot be looked at, is not counted.
pub fn used(dir: &Path) -> SpaceUsed {
    let mut used = SpaceUsed::default();
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_str().unwrap_or_default();
        let bytes = size(&entry.path());
        match name {
            "ledger.log" => used.ledger += bytes,
            "warc" => used.archive += bytes,
            "index" => used.index += bytes,
            "damaged" => used.aside += bytes,
            _ if name.starts_with("checkpoint-") => used.checkpoints += bytes,
            _ => used.other += bytes,
        }
    }
    used
}

/// Bytes of a file, or of all files in a folder. Links are not followed.
fn size(path: &Path) -> u64 {
    let Ok(about) = path.symlink_metadata() else { return 0 };
    if !about.is_dir() {
        return about.len();
    }
    fs::read_dir(path).into_iter().flatten().flatten().map(|e| size(&e.path())).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crawl_ends_while_there_is_room_to_end() {
        let dir = tempfile::tempdir().unwrap();
        let rules = Rules { disk: Some(10_000_000), ..Rules::default() };
        let mut watch = SpaceWatch::default();
        let mut grow = |bytes: usize, pages: u64| {
            fs::write(dir.path().join("ledger.log"), vec![0; bytes]).unwrap();
            watch.look(dir.path(), &rules, pages, Millis(1_000))
        };
        assert_eq!(grow(1_000_000, 16), None);
        assert_eq!(grow(3_000_000, 20), None, "not looked at");
        assert_eq!(grow(2_000_000, 32), None);
        assert_eq!(grow(4_000_000, 48), Some(Stop::Disk), "4 MB, and the next look may find as much again");
        let parts = used(dir.path());
        assert_eq!((parts.ledger, parts.total()), (4_000_000, 4_000_000));
        assert_eq!(parts.parts()[0], ("ledger", 4_000_000));
        let nearly_full = Rules { disk_free: u64::MAX / 2, ..Rules::default() };
        let stop = SpaceWatch::default().look(dir.path(), &nearly_full, 0, Millis(0));
        assert_eq!(stop, Some(Stop::DiskFull));
        assert_eq!(SpaceWatch::default().look(dir.path(), &Rules::default(), 0, Millis(0)), None);
    }
}
