//! Writes a ledger again, without what is to go and without what was replaced since: earlier states, clocks
//! and robots answers. Every URL keeps its number.
//!
//! Records of one URL are chained by their places in the log. A record that goes leaves its predecessor in
//! its place, so that chains stay whole.

use super::codec::{self, Admit, FRAME_HEAD, Kind, Out, Settled, Sight};
use super::log::LOG;
use super::mark::{LAST, MARK, Mark};
use super::page;
use super::salvage::Scan;
use crate::files;
use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use types::{ArchiveRef, Outcome, Problem, StateKey, UrlId};

/// What a ledger that is written again leaves out, or has otherwise.
pub struct Edit<'a> {
    /// URLs whose pages go, with the words of their links. They end as out of scope.
    pub gone: &'a HashSet<UrlId>,
    /// Of those, the ones that wait to be fetched.
    pub waiting: &'a [UrlId],
    /// Where a page's answer is now; `None`: where it was.
    pub moved: &'a dyn Fn(&ArchiveRef) -> Option<ArchiveRef>,
    /// A piece of state by its name; `None` leaves it out.
    pub state: &'a dyn Fn(&str, &[u8]) -> Option<Vec<u8>>,
    /// Pieces of state that are put behind everything: name, whether it is a change, bytes.
    pub add: &'a [(StateKey, bool, Vec<u8>)],
    /// The last run ended in order.
    pub closed: bool,
}

/// What came of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RewriteReport {
    /// Records of pages that were left out.
    pub dropped: u64,
    /// Records of pages that are there.
    pub pages: u64,
    /// Bytes before.
    pub before: u64,
    /// Bytes after.
    pub after: u64,
}

/// Writes the ledger of `from` into the folder `to`. What comes after its last whole commit is left out.
pub fn rewrite(from: &Path, to: &Path, edit: &Edit<'_>) -> Result<RewriteReport, Problem> {
    let path = from.join(LOG);
    let newest = Newest::of(&path)?;
    let mut scan = Scan::open(&path)?;
    let mut copy = Copy::begin(to, edit, newest)?;
    let mut at = 0;
    while let Some(size) = scan.whole_frame(at)? {
        let body = scan.bytes(at + FRAME_HEAD as u64, size - FRAME_HEAD)?;
        let (mut offset, mut rest) = (at + FRAME_HEAD as u64, body);
        while let Some((kind, payload, n)) = codec::next_record_unchecked(rest) {
            copy.record(offset, kind, payload).ok_or_else(|| {
                Problem::new(format!("a record at byte {offset} of {} cannot be read", path.display()))
                    .hint("`gleaner check` says what is wrong")
            })?;
            offset += n as u64;
            rest = rest.get(n..).unwrap_or_default();
        }
        copy.frame()?;
        at += size as u64;
    }
    copy.end()?;
    Ok(RewriteReport { before: scan.len, ..copy.done })
}

/// Where the newest record of each thing is that a later one replaces.
#[derive(Default)]
struct Newest {
    states: HashMap<String, u64>,
    clocks: HashMap<u32, u64>,
    robots: HashMap<u32, u64>,
}

impl Newest {
    fn of(path: &Path) -> Result<Newest, Problem> {
        let mut newest = Newest::default();
        let mut scan = Scan::open(path)?;
        let mut at = 0;
        while let Some(size) = scan.whole_frame(at)? {
            let body = scan.bytes(at + FRAME_HEAD as u64, size - FRAME_HEAD)?;
            let (mut offset, mut rest) = (at + FRAME_HEAD as u64, body);
            while let Some((kind, payload, n)) = codec::next_record_unchecked(rest) {
                newest.note(offset, kind, payload);
                offset += n as u64;
                rest = rest.get(n..).unwrap_or_default();
            }
            at += size as u64;
        }
        Ok(newest)
    }

    fn note(&mut self, offset: u64, kind: u8, payload: &[u8]) {
        match Kind::of(kind) {
            Some(Kind::State) => {
                if let Some((name, false, _)) = codec::get_state(payload) {
                    self.states.insert(name.to_string(), offset);
                }
            }
            Some(Kind::Clock) => {
                self.clocks.extend(codec::get_clock(payload).map(|(host, _)| (host, offset)));
            }
            Some(Kind::Robots) => {
                self.robots.extend(codec::get_robots(payload).map(|(host, _)| (host, offset)));
            }
            _ => {}
        }
    }
}

/// From a place in the old log to the one in the new.
#[derive(Default)]
struct Places {
    /// Records behind one another keep their distance: where each run begins, old and new.
    runs: Vec<(u64, u64)>,
    /// Records that went, and the place of the one before.
    gone: HashMap<u64, u64>,
}

impl Places {
    fn note(&mut self, old: u64, new: u64) {
        let same = |&(o, n): &(u64, u64)| new.wrapping_sub(n) == old.wrapping_sub(o);
        if !self.runs.last().is_some_and(same) {
            self.runs.push((old, new));
        }
    }

    fn of(&self, old: u64) -> Option<u64> {
        if let Some(new) = self.gone.get(&old) {
            return Some(*new);
        }
        let run = self.runs.partition_point(|(o, _)| *o <= old).checked_sub(1)?;
        let (o, n) = self.runs.get(run)?;
        Some(n.wrapping_add(old - o))
    }
}

struct Copy<'a> {
    edit: &'a Edit<'a>,
    newest: Newest,
    places: Places,
    path: PathBuf,
    out: BufWriter<File>,
    /// Where the frame at hand begins.
    base: u64,
    batch: Vec<u8>,
    last: Vec<u8>,
    done: RewriteReport,
}

impl<'a> Copy<'a> {
    fn begin(to: &Path, edit: &'a Edit<'a>, newest: Newest) -> Result<Copy<'a>, Problem> {
        let path = to.join(LOG);
        let file = files::create_new(&path).map_err(|e| Problem::io("create", &path, &e))?;
        Ok(Copy {
            edit,
            newest,
            places: Places::default(),
            out: BufWriter::with_capacity(1 << 20, file),
            path,
            base: 0,
            batch: vec![0; FRAME_HEAD],
            last: Vec::new(),
            done: RewriteReport::default(),
        })
    }

    /// `None`: it cannot be read.
    fn record(&mut self, old: u64, kind: u8, payload: &[u8]) -> Option<()> {
        let kind = Kind::of(kind)?;
        let gone = |id: UrlId| self.edit.gone.contains(&id);
        match kind {
            Kind::Opened | Kind::Closed => {}
            Kind::Clock => {
                let (host, _) = codec::get_clock(payload)?;
                if self.newest.clocks.get(&host) == Some(&old) {
                    self.put(kind, |o| o.rest(payload));
                }
            }
            Kind::Robots => {
                let (host, _) = codec::get_robots(payload)?;
                if self.newest.robots.get(&host) == Some(&old) {
                    self.put(kind, |o| o.rest(payload));
                }
            }
            Kind::State => {
                let (name, change, bytes) = codec::get_state(payload)?;
                if self.newest.states.get(name).is_none_or(|newest| *newest <= old)
                    && let Some(bytes) = (self.edit.state)(name, bytes)
                {
                    self.put_state(name, change, &bytes);
                }
            }
            Kind::Admit => {
                let mut admit = Admit::get(payload)?;
                if admit.seen.parent.is_some_and(gone) {
                    (admit.seen.anchor, admit.seen.evidence) = ("", &[]);
                }
                let new = self.put(kind, |o| admit.put(o));
                self.places.note(old, new);
            }
            Kind::Sight => {
                let mut sight = Sight::get(payload)?;
                sight.prev = self.places.of(sight.prev)?;
                if sight.seen.parent.is_some_and(gone) {
                    (sight.seen.anchor, sight.seen.evidence) = ("", &[]);
                }
                let new = self.put(kind, |o| sight.put(o));
                self.places.note(old, new);
            }
            Kind::Settle => {
                let mut settled = Settled::get(payload)?;
                settled.prev = self.places.of(settled.prev)?;
                if gone(settled.id) && settled.outcome == Outcome::Fetched {
                    settled.outcome = Outcome::OutOfScope;
                    settled.children.clear();
                }
                let new = self.put(kind, |o| settled.put(o));
                self.places.note(old, new);
            }
            Kind::Page => {
                let (id, prev) = page::page_head(payload)?;
                let prev = self.places.of(prev)?;
                if gone(id) {
                    self.places.gone.insert(old, prev);
                    self.done.dropped += 1;
                    return Some(());
                }
                let body = self.page(page::after_head(payload)?)?;
                let new = self.put(kind, |o| page::put_page(o, id, prev, &body));
                self.places.note(old, new);
                self.done.pages += 1;
            }
            Kind::Revise => {
                let (id, prev, verdict) = codec::get_revise(payload)?;
                let prev = self.places.of(prev)?;
                if gone(id) {
                    self.places.gone.insert(old, prev);
                    return Some(());
                }
                let rest = codec::get_revise_rest(payload).unwrap_or_default();
                let new = self.put(kind, |o| {
                    codec::put_revise(o, id, prev, &verdict);
                    o.rest(rest);
                });
                self.places.note(old, new);
            }
            Kind::Meta | Kind::Host | Kind::Retry | Kind::Rescore | Kind::Drop => {
                self.put(kind, |o| o.rest(payload));
            }
        }
        Some(())
    }

    /// A page with its place in the archive as it is now, and a copy of nothing that is gone.
    fn page(&self, body: &[u8]) -> Option<Vec<u8>> {
        let (mut record, rest) = page::fields(body)?;
        let gone = |id: Option<UrlId>| id.is_some_and(|id| self.edit.gone.contains(&id));
        let moved = record.archive.as_ref().and_then(|at| (self.edit.moved)(at));
        if moved.is_none() && !gone(record.duplicate_of) && !gone(record.near_duplicate_of) {
            return Some(body.to_vec());
        }
        record.archive = moved.or(record.archive);
        record.duplicate_of = record.duplicate_of.filter(|id| !gone(Some(*id)));
        record.near_duplicate_of = record.near_duplicate_of.filter(|id| !gone(Some(*id)));
        page::with_fields(&record, rest).ok()
    }

    fn put(&mut self, kind: Kind, write: impl FnOnce(&mut Out)) -> u64 {
        self.base + codec::record(&mut self.batch, kind, write) as u64
    }

    fn put_state(&mut self, name: &str, change: bool, bytes: &[u8]) {
        self.put(Kind::State, |o| {
            o.bytes(name.as_bytes());
            o.u8(u8::from(change));
            o.rest(bytes);
        });
    }

    /// Writes the frame at hand.
    fn frame(&mut self) -> Result<(), Problem> {
        if self.batch.len() > FRAME_HEAD {
            codec::seal(&mut self.batch, self.base, self.base);
            self.out.write_all(&self.batch).map_err(|e| Problem::io("write", &self.path, &e))?;
            self.base += self.batch.len() as u64;
            self.last.extend_from_slice(&self.batch);
            let from = self.last.len().saturating_sub(LAST);
            self.last.drain(..from);
            self.batch.truncate(FRAME_HEAD);
            self.batch.shrink_to(1 << 20);
        }
        Ok(())
    }

    /// What comes behind everything; then all of it is durable.
    fn end(&mut self) -> Result<(), Problem> {
        if !self.edit.waiting.is_empty() {
            self.put(Kind::Drop, |o| codec::put_drop(o, Outcome::OutOfScope, self.edit.waiting));
        }
        for (key, change, bytes) in self.edit.add {
            self.put_state(key.name(), *change, bytes);
        }
        if self.edit.closed {
            self.put(Kind::Closed, |o| o.u64(types::Millis::now().0));
        }
        self.frame()?;
        let io = |e: std::io::Error| Problem::io("write", &self.path, &e);
        self.out.flush().map_err(io)?;
        self.out.get_ref().sync_all().map_err(io)?;
        self.done.after = self.base;
        let mark = Mark { end: self.base, pages: self.done.pages, last: self.last.clone() };
        let path = self.path.with_file_name(MARK);
        files::replace(&path, &mark.to_bytes()).map_err(|e| Problem::io("write", &path, &e))
    }
}
