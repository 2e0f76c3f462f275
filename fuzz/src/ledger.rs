//! Ledgers and checkpoints that somebody made up, with sums that are right: only what they say is wrong.

use crate::texts::record;
use frontier::{Frontier, Limits, Next, Pick};
use std::io::{self, Read, Write};
use std::sync::{Arc, Mutex, OnceLock};
use store::ledger::{Ledger, Log, Options};
use store::{Journal, Records, Revision, Which};
use types::{
    Candidate, Canon, HostUpdate, LinkKind, Millis, Outcome, Priority, Settle, StateKey, Turn, UrlId, Verdict,
};

/// A log and its checkpoints in memory.
#[derive(Clone, Default)]
struct Memory {
    bytes: Arc<Mutex<Vec<u8>>>,
    checkpoint: Arc<Mutex<Option<(u64, Vec<u8>)>>>,
    keeps: bool,
}

impl Memory {
    fn of(bytes: Vec<u8>) -> Memory {
        Memory { bytes: Arc::new(Mutex::new(bytes)), ..Memory::default() }
    }
    fn all(&self) -> Vec<u8> {
        self.bytes.lock().expect("one thread").clone()
    }
}

impl Log for Memory {
    fn name(&self) -> String {
        "a ledger in memory".into()
    }
    fn len(&self) -> u64 {
        self.bytes.lock().expect("one thread").len() as u64
    }
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.bytes.lock().expect("one thread").extend_from_slice(bytes);
        Ok(())
    }
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        let bytes = self.bytes.lock().expect("one thread");
        let rest = bytes.get(offset as usize..).unwrap_or_default();
        let n = rest.len().min(buf.len());
        buf[..n].copy_from_slice(&rest[..n]);
        Ok(n)
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
    fn synced(&self) -> u64 {
        self.len()
    }
    fn truncate(&mut self, len: u64) -> io::Result<()> {
        self.bytes.lock().expect("one thread").truncate(len as usize);
        Ok(())
    }
    fn keeps_checkpoints(&self) -> bool {
        self.keeps
    }
    fn checkpoints(&self) -> io::Result<Vec<u64>> {
        Ok(self.checkpoint.lock().expect("one thread").iter().map(|c| c.0).collect())
    }
    fn open_checkpoint(&self, pos: u64) -> io::Result<Box<dyn Read>> {
        match &*self.checkpoint.lock().expect("one thread") {
            Some((at, bytes)) if *at == pos => Ok(Box::new(io::Cursor::new(bytes.clone()))),
            _ => Err(io::ErrorKind::NotFound.into()),
        }
    }
    fn save_checkpoint(
        &mut self,
        pos: u64,
        write: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<u64> {
        let mut bytes = Vec::new();
        write(&mut bytes)?;
        let size = bytes.len() as u64;
        *self.checkpoint.lock().expect("one thread") = Some((pos, bytes));
        Ok(size)
    }
}

fn options() -> Options {
    let limits = Limits { use_robots: false, ..Limits::default() };
    Options { key: Some((1, 2)), checkpoint_bytes: 1, ..Options::new(limits) }
}

fn candidate(n: u64) -> Candidate {
    Candidate {
        url: Canon::default().parse(&format!("http://h{}.example/{n}", n % 2)).expect("a URL"),
        parent: None,
        kind: LinkKind::Seed,
        depth: 0,
        site_depth: 0,
        hops: 0,
        priority: Priority::key_only(0.5),
        evidence: b"evidence".to_vec(),
        model: 1,
        ttl: None,
        anchor: "all about it".into(),
    }
}

/// Reads everything there is. Errors are fine; what is said must be consistent with itself when `check` says
/// that it is.
fn look(ledger: &Ledger<Memory>) -> String {
    let stats = ledger.stats();
    let mut seen = Vec::new();
    for entry in ledger.entries(Which::All).take(200).flatten() {
        seen.push(format!("{entry:?}"));
        let _ = ledger.url(entry.id);
        let _ = ledger.sources(entry.id);
        let _ = ledger.children(entry.id);
        let _ = ledger.siblings(entry.id);
        let _ = ledger.record(entry.id);
        let _ = ledger.versions(entry.id);
    }
    let pages: Vec<String> = ledger.pages(0).take(200).map(|p| format!("{p:?}")).collect();
    let _ = ledger.revised();
    for host in ledger.hosts().unwrap_or_default().into_iter().take(50) {
        let _ = ledger.robots(&host.name);
        let _ = ledger.find_host(&host.name);
    }
    for key in [StateKey::Strategy, StateKey::Judge, StateKey::Labels, StateKey::Archive, StateKey::Session] {
        let _ = ledger.state(key);
    }
    format!("{stats:?} {seen:?} {pages:?}")
}

/// Goes on with it: a seed, a lease, an end.
fn go_on(ledger: &mut Ledger<Memory>) {
    let _ = ledger.seed(candidate(100), Millis(5_000));
    let _ = ledger.lease(Millis(2_000_000_000_000), Pick::of_lane(None));
    let _ = ledger.commit();
    let _ = ledger.close();
}

/// Any frames and records: read or refused. What was written again after it reads the same twice.
pub fn ledger(data: &[u8]) {
    let bytes = sealed(data);
    let log = Memory::of(bytes);
    let Ok(mut ledger) = Ledger::on(log.clone(), options(), Millis(1_000)) else { return };
    let before = look(&ledger);
    if ledger.check().is_err() {
        // Sums are right and contents are not: somebody wrote it so. It must only do no harm.
        go_on(&mut ledger);
        return;
    }
    let _ = before;
    go_on(&mut ledger);
    let end = look(&ledger);
    drop(ledger);
    let again = Ledger::on(Memory::of(log.all()), options(), Millis(1_000));
    let again = again.unwrap_or_else(|p| panic!("what was written cannot be read: {p}"));
    again.check().unwrap_or_else(|p| panic!("{p}"));
    assert_eq!(counts(&end), counts(&look(&again)), "read again it says something else");
}

/// What does not depend on the time of opening.
fn counts(looked: &str) -> String {
    looked.split("leased").next().unwrap_or("").split("pending").next().unwrap_or("").to_string()
}

/// The same bytes with right sums, as far as they have the shape of frames and records.
fn sealed(data: &[u8]) -> Vec<u8> {
    const FRAME_HEAD: usize = 16;
    const RECORD_HEAD: usize = 9;
    let mut out = data.to_vec();
    let mut at = 0;
    while out.len() - at >= FRAME_HEAD {
        let len = u32::from_le_bytes(out[at..at + 4].try_into().expect("four bytes")) as usize;
        let len = len.min(out.len() - at - FRAME_HEAD);
        // No more than what is here is known to be durable.
        let synced = u64::from_le_bytes(out[at + 8..at + 16].try_into().expect("eight bytes")).min(at as u64);
        let mut sum = crc32fast::Hasher::new();
        sum.update(&(at as u64).to_le_bytes());
        sum.update(&(len as u32).to_le_bytes());
        sum.update(&synced.to_le_bytes());
        let check = sum.finalize() ^ 0x6c65_6467;
        out[at..at + 4].copy_from_slice(&(len as u32).to_le_bytes());
        out[at + 4..at + 8].copy_from_slice(&check.to_le_bytes());
        out[at + 8..at + 16].copy_from_slice(&synced.to_le_bytes());
        let (mut from, end) = (at + FRAME_HEAD, at + FRAME_HEAD + len);
        while end - from >= RECORD_HEAD {
            let n = u32::from_le_bytes(out[from + 5..from + 9].try_into().expect("four bytes")) as usize;
            let n = n.min(end - from - RECORD_HEAD);
            out[from + 5..from + 9].copy_from_slice(&(n as u32).to_le_bytes());
            let crc = crc32fast::hash(&out[from + 4..from + RECORD_HEAD + n]);
            out[from..from + 4].copy_from_slice(&crc.to_le_bytes());
            from += RECORD_HEAD + n;
        }
        at = end;
    }
    out
}

/// A small ledger, and its checkpoint.
fn small() -> &'static (Vec<u8>, u64, Vec<u8>) {
    static SMALL: OnceLock<(Vec<u8>, u64, Vec<u8>)> = OnceLock::new();
    SMALL.get_or_init(|| {
        let log = Memory { keeps: true, ..Memory::default() };
        let mut ledger = Ledger::on(log.clone(), options(), Millis(1_000)).unwrap_or_else(|p| panic!("{p}"));
        for n in 0..3 {
            ledger.seed(candidate(n), Millis(1_000)).unwrap_or_else(|p| panic!("{p}"));
        }
        let mut now = 1_000_000;
        for n in 3..9 {
            now += 1_000_000;
            let next = ledger.lease(Millis(now), Pick::Best).unwrap_or_else(|p| panic!("{p}"));
            let Next::Lease(lease) = next else { panic!("no lease: {next:?}") };
            let id = lease.id;
            let turn = Turn {
                host: HostUpdate {
                    contacted: true,
                    finished: Millis(now),
                    failed: Some(n % 4 == 0),
                    ..HostUpdate::default()
                },
                add: vec![Candidate { parent: Some(id), kind: LinkKind::Anchor, depth: 1, ..candidate(n) }],
                record: (n % 4 != 0)
                    .then(|| record(id.0, lease.url.as_str(), "Title", "All about the relational model.")),
                state: vec![(StateKey::Strategy, n % 2 == 0, vec![n as u8; 9])],
                ..Turn::new(match n % 4 {
                    0 => Settle::Retry { id, not_before: Millis(now + 5_000) },
                    _ => Settle::Done { id, outcome: Outcome::Fetched },
                })
            };
            ledger.apply(turn, &|a, b| a.max(b)).unwrap_or_else(|p| panic!("{p}"));
            ledger.commit().unwrap_or_else(|p| panic!("{p}"));
        }
        let verdict = Verdict { relevant: true, relevance: 0.9, threshold: 0.5, version: 2 };
        ledger.revise(&Revision::of(&[(UrlId(0), verdict)])).unwrap_or_else(|p| panic!("{p}"));
        ledger.close().unwrap_or_else(|p| panic!("{p}"));
        drop(ledger);
        let (pos, bytes) =
            log.checkpoint.lock().expect("one thread").clone().expect("a checkpoint was written");
        (log.all(), pos, bytes)
    })
}

/// The small ledger with a checkpoint of these bytes and the right sum: opened and read, never more than an
/// error.
pub fn checkpoint(data: &[u8]) {
    let (log, pos, _) = small();
    let mut bytes = data.get(..data.len().saturating_sub(4)).unwrap_or(&[]).to_vec();
    bytes.extend(crc32fast::hash(&bytes).to_le_bytes());
    let memory = Memory { keeps: true, ..Memory::of(log.clone()) };
    *memory.checkpoint.lock().expect("one thread") = Some((*pos, bytes));
    let Ok(mut ledger) = Ledger::on(memory.clone(), options(), Millis(1_000)) else { return };
    look(&ledger);
    let _ = ledger.check();
    go_on(&mut ledger);
}

/// A ledger and its checkpoint, as examples.
pub fn examples() -> [(&'static str, Vec<u8>); 2] {
    [("ledger", small().0.clone()), ("checkpoint", small().2.clone())]
}
