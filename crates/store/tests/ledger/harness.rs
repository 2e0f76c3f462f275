//! Short ways to say what happens, and a log that crashes.

use frontier::{Applied, Frontier, Limits, Next, Pick};
use gleaner_store::ledger::{Ledger, Log, Options};
use std::collections::BTreeMap;
use std::io::{self, Cursor, Read, Write};
use std::sync::{Arc, Mutex, MutexGuard};
use types::{
    Assessment, Candidate, Canon, HostUpdate, Lease, LinkKind, Millis, Outcome, Priority, Record, Settle,
    Turn, Url, UrlId, Verdict,
};

pub fn url(text: &str) -> Url {
    Canon::exact().parse(text).unwrap()
}

/// A link found on a page, in lane 0.
pub fn link(text: &str, key: f64) -> Candidate {
    Candidate {
        url: url(text),
        parent: None,
        kind: LinkKind::Anchor,
        depth: 1,
        site_depth: 1,
        hops: 0,
        priority: Priority::key_only(key),
        evidence: format!("evidence of {text}").into_bytes(),
        model: 1,
        ttl: None,
        anchor: format!("to {text}").into(),
    }
}

pub fn seed(text: &str, key: f64) -> Candidate {
    Candidate { kind: LinkKind::Seed, depth: 0, site_depth: 0, ..link(text, key) }
}

/// No delay, no robots, one request per host.
pub fn quick() -> Limits {
    Limits { delay_ms: 0, use_robots: false, ..Limits::default() }
}

pub fn options(limits: Limits) -> Options {
    Options { key: Some((1, 2)), ..Options::new(limits) }
}

pub fn contact(finished: u64) -> HostUpdate {
    HostUpdate { contacted: true, finished: Millis(finished), failed: Some(false), ..HostUpdate::default() }
}

pub fn done(id: UrlId, outcome: Outcome, finished: u64) -> Turn {
    Turn { host: contact(finished), ..Turn::new(Settle::Done { id, outcome }) }
}

pub fn best(old: Priority, new: Priority) -> Priority {
    old.max(new)
}

pub fn leased(next: Next) -> Lease {
    match next {
        Next::Lease(lease) => lease,
        other => panic!("no lease: {other:?}"),
    }
}

pub trait Quick: Frontier {
    /// Leases and settles as fetched, with these links; returns the URL and what was applied.
    fn visit(&mut self, now: u64, links: &[Candidate]) -> (Lease, Applied) {
        let lease = leased(self.lease(Millis(now), Pick::Best).unwrap());
        let add = links.iter().map(|l| Candidate { parent: Some(lease.id), ..l.clone() }).collect();
        let record = Some(record(lease.id, lease.url.as_str()));
        let turn = Turn { add, record, ..done(lease.id, Outcome::Fetched, now) };
        let applied = self.apply(turn, &best).unwrap();
        (lease, applied)
    }

    fn lease_at(&mut self, now: u64) -> Option<Lease> {
        match self.lease(Millis(now), Pick::Best).unwrap() {
            Next::Lease(lease) => Some(lease),
            _ => None,
        }
    }
}
impl<F: Frontier + ?Sized> Quick for F {}

pub fn record(id: UrlId, url: &str) -> Record {
    Record {
        id,
        url: url.into(),
        parent: None,
        kind: LinkKind::Anchor,
        depth: 1,
        status: 200,
        media_type: "text/html".into(),
        charset: "UTF-8".into(),
        language: "en".into(),
        title: format!("Title of {url}"),
        description: String::new(),
        text: format!("The text of {url}. ").repeat(50),
        links: 3,
        fetched: Millis(5),
        elapsed_ms: 7,
        bytes: 1000,
        truncated: None,
        assessment: Assessment { score: 0.5, ..Assessment::default() },
        verdict: Verdict { relevant: false, relevance: 0.5, threshold: 0.6, version: 1 },
        digest: "da39a3ee".into(),
        simhash: 77,
        duplicate_of: None,
        near_duplicate_of: Some(UrlId(0)),
        archive: None,
        etag: None,
        last_modified: Some("yesterday".into()),
        noindex: false,
        about: types::About::default(),
    }
}

/// A disk in memory that outlives its ledger, forgets what was not synced, tears writes and fills up.
#[derive(Clone, Default)]
pub struct CrashLog(Arc<Mutex<Disk>>);

#[derive(Clone, Default)]
pub struct Disk {
    pub bytes: Vec<u8>,
    pub synced: usize,
    pub checkpoints: BTreeMap<u64, Vec<u8>>,
    /// Sync with each commit.
    pub always: bool,
    /// No more bytes than this fit.
    pub capacity: Option<usize>,
    /// Length after each append.
    pub appends: Vec<usize>,
}

impl CrashLog {
    pub fn of(bytes: &[u8]) -> CrashLog {
        let disk = Disk { bytes: bytes.to_vec(), synced: bytes.len(), ..Disk::default() };
        CrashLog(Arc::new(Mutex::new(disk)))
    }
    pub fn disk(&self) -> MutexGuard<'_, Disk> {
        self.0.lock().unwrap()
    }
    /// The machine stops: of what was not synced, `survive` bytes are there.
    pub fn crash(&self, survive: usize) {
        let mut disk = self.disk();
        let len = (disk.synced + survive).min(disk.bytes.len());
        disk.bytes.truncate(len);
        disk.synced = len;
    }
}

impl Log for CrashLog {
    fn name(&self) -> String {
        "crash.log".into()
    }
    fn len(&self) -> u64 {
        self.disk().bytes.len() as u64
    }
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut disk = self.disk();
        let room = disk.capacity.map_or(usize::MAX, |c| c.saturating_sub(disk.bytes.len()));
        disk.bytes.extend_from_slice(&bytes[..bytes.len().min(room)]);
        let len = disk.bytes.len();
        disk.appends.push(len);
        if bytes.len() > room { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
    }
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        let disk = self.disk();
        let rest = disk.bytes.get(offset as usize..).unwrap_or_default();
        let n = rest.len().min(buf.len());
        buf[..n].copy_from_slice(&rest[..n]);
        Ok(n)
    }
    fn flush(&mut self) -> io::Result<()> {
        let always = self.disk().always;
        if always { self.sync() } else { Ok(()) }
    }
    fn sync(&mut self) -> io::Result<()> {
        let mut disk = self.disk();
        disk.synced = disk.bytes.len();
        Ok(())
    }
    fn synced(&self) -> u64 {
        self.disk().synced as u64
    }
    fn truncate(&mut self, len: u64) -> io::Result<()> {
        let mut disk = self.disk();
        disk.bytes.truncate(len as usize);
        disk.synced = disk.synced.min(len as usize);
        Ok(())
    }
    fn keeps_checkpoints(&self) -> bool {
        true
    }
    fn checkpoints(&self) -> io::Result<Vec<u64>> {
        Ok(self.disk().checkpoints.keys().rev().copied().collect())
    }
    fn open_checkpoint(&self, pos: u64) -> io::Result<Box<dyn Read>> {
        let bytes = self.disk().checkpoints.get(&pos).cloned().ok_or(io::ErrorKind::NotFound)?;
        Ok(Box::new(Cursor::new(bytes)))
    }
    fn save_checkpoint(
        &mut self,
        pos: u64,
        write: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<u64> {
        let mut bytes = Vec::new();
        write(&mut bytes)?;
        let n = bytes.len() as u64;
        let mut disk = self.disk();
        disk.checkpoints.clear();
        disk.checkpoints.insert(pos, bytes);
        Ok(n)
    }
    fn remove_checkpoint(&mut self, pos: u64) -> io::Result<()> {
        self.disk().checkpoints.remove(&pos);
        Ok(())
    }
}

pub fn open(log: &CrashLog, limits: Limits, now: u64) -> Ledger<CrashLog> {
    Ledger::on(log.clone(), options(limits), Millis(now)).unwrap()
}
