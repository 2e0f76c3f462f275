//! The log under a worker's ledger: a local file that may be thrown away at any time, and a list of the facts
//! in it that the database has not got yet.
//!
//! The worker's ledger is the same code as the embedded one, on this log. So the order of a shared crawl is
//! the order of an embedded one by construction, and everything a lease needs (URL, evidence, sightings) is
//! read from the local disk, without asking the database.

use super::ids::Slot;
use crate::ledger::codec::{self, Admit, FRAME_HEAD, Kind, Settled, Sight};
use crate::ledger::{Durability, FileLog, Log, page};
use crate::traits::Revision;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;
use std::time::Duration;
use types::{LinkKind, Priority, Problem, Record, RobotsAnswer, UrlId, Verdict};

/// What happened since the last commit to the database.
#[derive(Default)]
pub(super) struct Facts {
    pub urls: BTreeMap<Slot, Touch>,
    /// New hosts: number, name.
    pub hosts: Vec<(u32, String)>,
    pub clocks: BTreeSet<u32>,
    pub robots: BTreeMap<u32, RobotsAnswer>,
    /// In the order they were fetched; of a page that was visited again every version.
    pub pages: Vec<(Slot, Vec<u8>)>,
    /// Pages that were there before: theirs are new versions.
    pub known: BTreeSet<Slot>,
    pub links: BTreeMap<Slot, Vec<Slot>>,
    pub revised: BTreeMap<Slot, Revised>,
    /// Name, change or whole, bytes.
    pub state: Vec<(String, bool, Vec<u8>)>,
    /// Re-scored so little that the database need not know.
    pub minor: BTreeSet<Slot>,
    named: Option<String>,
}

/// A verdict that changed, and what it rests on when that changed too.
#[derive(Clone, Default)]
pub(super) struct Revised {
    pub verdict: Verdict,
    pub assessment: Option<Vec<u8>>,
}

impl Revised {
    pub fn of(r: &Revision) -> Result<Revised, Problem> {
        let assessment = r.assessment.as_ref().map(page::assessment_bytes).transpose()?;
        Ok(Revised { verdict: r.verdict, assessment })
    }

    /// The record with this verdict.
    pub fn over(&self, record: Record) -> Result<Record, Problem> {
        let damaged = |e| Problem::new("an assessment that was just made cannot be read").because(e);
        let assessment = match &self.assessment {
            Some(bytes) => postcard::from_bytes(bytes).map_err(damaged)?,
            None => record.assessment,
        };
        Ok(Record { verdict: self.verdict, assessment, ..record })
    }
}

/// A URL that changed: how it stands now is in the order.
#[derive(Default)]
pub(super) struct Touch {
    /// Its text, when it is new (or new again).
    pub admitted: Option<String>,
    /// It was known, forgotten, and found again: older sightings do not count any more.
    pub revived: bool,
    pub sights: Vec<Sighting>,
}

pub(super) struct Sighting {
    pub parent: Option<UrlId>,
    pub kind: LinkKind,
    pub priority: Priority,
    pub anchor: String,
    pub evidence: Vec<u8>,
}

impl Sighting {
    fn of(seen: &codec::Seen<'_>) -> Sighting {
        Sighting {
            parent: seen.parent,
            kind: seen.kind,
            priority: seen.priority,
            anchor: seen.anchor.to_string(),
            evidence: seen.evidence.to_vec(),
        }
    }
}

impl Facts {
    pub fn is_empty(&self) -> bool {
        self.urls.is_empty()
            && self.hosts.is_empty()
            && self.clocks.is_empty()
            && self.robots.is_empty()
            && self.pages.is_empty()
            && self.links.is_empty()
            && self.revised.is_empty()
            && self.state.is_empty()
    }

    fn touch(&mut self, id: UrlId) -> &mut Touch {
        self.urls.entry(Slot::of(id)).or_default()
    }

    /// Notes the records of a frame; how many URLs and hosts there were before is only needed for new ones.
    fn note(&mut self, kind: Kind, payload: &[u8], known: &mut u32, hosts: &mut u32) -> Option<()> {
        match kind {
            Kind::Meta | Kind::Opened | Kind::Closed => {}
            Kind::Host => self.named = Some(std::str::from_utf8(payload).ok()?.to_string()),
            Kind::Admit => {
                let a = Admit::get(payload)?;
                if let Some(name) = self.named.take() {
                    self.hosts.push((*hosts, name));
                    self.clocks.insert(*hosts);
                    *hosts += 1;
                }
                let sighting = Sighting::of(&a.seen);
                let revived = a.id.0 < *known;
                *known = (*known).max(a.id.0 + 1);
                let touch = self.touch(a.id);
                // New and forgotten and new again, all since the last commit, is simply new.
                touch.revived = revived;
                touch.admitted = Some(a.url.to_string());
                touch.sights = vec![sighting];
            }
            Kind::Sight => {
                let s = Sight::get(payload)?;
                let sighting = Sighting::of(&s.seen);
                self.touch(s.id).sights.push(sighting);
            }
            Kind::Settle => {
                let s = Settled::get(payload)?;
                self.touch(s.id);
                if !s.children.is_empty() {
                    self.links.insert(Slot::of(s.id), s.children.into_iter().map(Slot::of).collect());
                }
            }
            Kind::Retry => {
                let id = codec::In(payload).url_id()?;
                self.touch(id);
            }
            Kind::Clock => {
                self.clocks.insert(codec::get_clock(payload)?.0);
            }
            Kind::Robots => {
                let (host, answer) = codec::get_robots(payload)?;
                self.robots.insert(host, answer);
            }
            Kind::Rescore => codec::get_rescored(payload, |r| {
                if !self.minor.contains(&Slot::of(r.id)) {
                    self.urls.entry(Slot::of(r.id)).or_default();
                }
            })?,
            Kind::Page => {
                let (id, _) = page::page_head(payload)?;
                self.pages.push((Slot::of(id), payload.to_vec()));
            }
            Kind::Revise => {
                let (id, _, verdict) = codec::get_revise(payload)?;
                let revised = self.revised.entry(Slot::of(id)).or_default();
                revised.verdict = verdict;
                if let Some(rest) = codec::get_revise_rest(payload) {
                    revised.assessment = Some(rest.to_vec());
                }
            }
            Kind::State => {
                let (name, change, bytes) = codec::get_state(payload)?;
                self.state.push((name.to_string(), change, bytes.to_vec()));
            }
            Kind::Drop => {
                for id in codec::get_drop(payload)?.1 {
                    self.touch(id);
                }
            }
        }
        Some(())
    }
}

/// See the module.
pub(super) struct Scratch {
    file: FileLog,
    pub facts: Facts,
    /// URLs and hosts that are in the log.
    known: u32,
    hosts: u32,
}

impl Scratch {
    /// A new, empty one. What an earlier run left is of no use: the database has it.
    pub fn create(dir: &Path) -> Result<Scratch, Problem> {
        // Opened first: the lock tells two workers in one folder apart.
        let never = Durability::Within(Duration::MAX);
        let mut file = FileLog::open(dir, never)?;
        file.truncate(0).map_err(|e| Problem::io("clear", dir, &e))?;
        Ok(Scratch { file, facts: Facts::default(), known: 0, hosts: 0 })
    }

    /// Appends records that the database has already.
    pub fn take_in(&mut self, records: &[u8], urls: u32, hosts: u32) -> Result<(), Problem> {
        if records.is_empty() {
            return Ok(());
        }
        let mut frame = vec![0; FRAME_HEAD];
        frame.extend_from_slice(records);
        codec::seal(&mut frame, self.file.len(), self.file.synced());
        self.known += urls;
        self.hosts += hosts;
        self.file.append(&frame).map_err(|e| Problem::io("write", Path::new(&self.file.name()), &e))
    }
}

impl Log for Scratch {
    fn name(&self) -> String {
        self.file.name()
    }
    fn len(&self) -> u64 {
        self.file.len()
    }
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.append(bytes)?;
        let mut rest = bytes.get(FRAME_HEAD..).unwrap_or_default();
        while let Some((kind, payload, n)) = codec::next_record_unchecked(rest) {
            if let Some(kind) = Kind::of(kind) {
                let (mut known, mut hosts) = (self.known, self.hosts);
                let noted = self.facts.note(kind, payload, &mut known, &mut hosts);
                (self.known, self.hosts) = (known, hosts);
                if noted.is_none() {
                    return Err(io::Error::other("a record that was just made cannot be read"));
                }
            }
            rest = rest.get(n..).unwrap_or_default();
        }
        Ok(())
    }
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        self.file.read_at(offset, buf)
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
    fn sync(&mut self) -> io::Result<()> {
        // Nothing here has to survive.
        Ok(())
    }
    fn synced(&self) -> u64 {
        0
    }
    fn truncate(&mut self, len: u64) -> io::Result<()> {
        self.file.truncate(len)
    }
}
