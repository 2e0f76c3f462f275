//! What a collection holds at a moment, read from outside the crawler and checked on the way.

use super::warcs;
use frontier::State;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use store::archive::{Limits, WarcReader};
use store::{Ledger, Records};
use types::{Outcome, Record, UrlId};

/// Every URL with its state and every page. [`Snapshot::take`] panics when the collection contradicts itself.
#[derive(Default)]
pub struct Snapshot {
    pub urls: BTreeMap<String, (UrlId, State)>,
    pub pages: BTreeMap<String, Record>,
    /// File and length up to which the archive is committed.
    pub archived: Option<(String, u64)>,
}

impl Snapshot {
    /// Reads a collection that nobody has open. One that was never committed to is empty.
    pub fn take(dir: &Path) -> Snapshot {
        if !dir.join("ledger.log").is_file() {
            return Snapshot::default();
        }
        let ledger = Ledger::open_read(dir).unwrap_or_else(|p| panic!("{p}"));
        assert_eq!(ledger.damage(), None, "a killed crawler must not leave damage");
        ledger.check().unwrap_or_else(|p| panic!("{p}"));
        let stats = ledger.stats().unwrap();
        // Leases are not written down: for whoever comes next they are pending.
        assert_eq!(stats.leased, 0);
        assert_eq!(stats.pending + stats.settled, stats.urls, "each URL in exactly one state");
        let mut snapshot = Snapshot::default();
        for id in (0..stats.urls as u32).map(UrlId) {
            let url = ledger.url(id).unwrap_or_else(|p| panic!("{p}")).to_string();
            let state = ledger.entry(id).unwrap().expect("an admitted URL has a state").state;
            let record = ledger.record(id).unwrap_or_else(|p| panic!("{p}"));
            if record.is_some() {
                assert_eq!(state, State::Settled(Outcome::Fetched), "{url} has a record");
            }
            if let Some(record) = record {
                assert_eq!(record.url, url);
                snapshot.pages.insert(url.clone(), record);
            }
            let before = snapshot.urls.insert(url.clone(), (id, state));
            assert!(before.is_none(), "{url} was admitted twice");
        }
        assert_eq!(snapshot.pages.len() as u64, stats.pages, "each page is recorded once");
        snapshot.archived =
            ledger.state(types::StateKey::Archive).unwrap_or_else(|p| panic!("{p}")).pop().map(|bytes| {
                let (length, file) = bytes.split_at(8);
                (String::from_utf8(file.to_vec()).unwrap(), u64::from_le_bytes(length.try_into().unwrap()))
            });
        snapshot
    }

    pub fn relevant(&self) -> BTreeSet<&str> {
        self.pages.values().filter(|r| r.verdict.relevant).map(|r| r.url.as_str()).collect()
    }

    /// URLs whose work is done.
    pub fn settled(&self) -> impl Iterator<Item = (&str, Outcome)> {
        self.urls.iter().filter_map(|(url, (_, state))| match state {
            State::Settled(outcome) => Some((url.as_str(), *outcome)),
            _ => None,
        })
    }

    pub fn pending(&self) -> usize {
        self.urls.values().filter(|(_, state)| *state == State::Pending).count()
    }

    /// Asserts that nothing an earlier snapshot held is gone or different.
    pub fn has_all_of(&self, earlier: &Snapshot) {
        for (url, (id, state)) in &earlier.urls {
            let Some((new_id, new_state)) = self.urls.get(url) else { panic!("{url} was lost") };
            assert_eq!(id, new_id, "{url} has another number now");
            match state {
                // A URL dropped by a cap may be found again later.
                State::Pending | State::Leased | State::Settled(Outcome::Dropped) => {}
                State::Settled(_) => assert_eq!(state, new_state, "{url} was settled"),
            }
        }
        for (url, record) in &earlier.pages {
            // What is thought of a page may change as the judge learns; what was fetched may not.
            let mut now = self.pages.get(url).cloned();
            if let Some(now) = &mut now {
                (now.verdict, now.assessment.score) = (record.verdict, record.assessment.score);
            }
            assert_eq!(now.as_ref(), Some(record), "the record of {url} changed");
        }
    }

    /// The archive up to the committed position, as a restart would leave it: whole, every page in it exactly
    /// once. Writes it to `scratch` and says where.
    pub fn check_archive(&self, dir: &Path, scratch: &Path) -> Vec<PathBuf> {
        let _ = std::fs::remove_dir_all(scratch);
        std::fs::create_dir_all(scratch).unwrap();
        let Some((last, length)) = &self.archived else {
            assert!(self.pages.values().all(|r| r.archive.is_none()), "pages refer to an archive");
            return Vec::new();
        };
        let mut kept = Vec::new();
        let mut found: BTreeMap<String, (String, u64)> = BTreeMap::new();
        for path in warcs(dir) {
            let name = path.file_name().unwrap().to_str().unwrap().to_string();
            let mut bytes = std::fs::read(&path).unwrap();
            if name == *last {
                assert!(bytes.len() as u64 >= *length, "{name} is shorter than what was committed");
                bytes.truncate(*length as usize);
            } else if name > *last {
                continue;
            }
            for record in WarcReader::new(bytes.as_slice(), name.clone(), Limits::default()).unwrap() {
                let record = record.unwrap_or_else(|e| panic!("{name}: {e}"));
                if matches!(record.kind().as_str(), "response" | "revisit") {
                    let url = record.target().unwrap().to_string();
                    let before = found.insert(url.clone(), (name.clone(), record.offset));
                    assert!(before.is_none(), "{url} is archived more than once");
                }
            }
            let copy = scratch.join(&name);
            std::fs::write(&copy, bytes).unwrap();
            kept.push(copy);
        }
        let referred: BTreeMap<String, (String, u64)> = self
            .pages
            .values()
            .filter_map(|r| r.archive.as_ref().map(|a| (r.url.clone(), (a.file.clone(), a.offset))))
            .collect();
        assert_eq!(referred, found, "the ledger and the archive hold the same pages at the same places");
        kept
    }
}
