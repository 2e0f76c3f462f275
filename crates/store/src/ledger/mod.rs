//! The embedded ledger: an append-only log on disk, the order in memory, a checkpoint now and then.
//!
//! * **Everything that happened is in the log**, in commits: a frame is whole or it is not there. Nothing in
//!   the log is ever rewritten, so a crash can only cost the end of it, and bytes written stay close to bytes
//!   kept.
//! * **Only the order is in memory**: some 90 bytes per URL. Its text, evidence, anchor and parents are read
//!   from the log when it is leased, looked at or explained. The records of one URL are chained, newest first
//!   (`Revise → Settle → Page → Sight → Admit`), and the order knows where the newest is.
//! * **A checkpoint is a shortcut**: the order's facts at a position of the log. Without one (or with a
//!   damaged one) the log is replayed from the start and gives the same.
//! * **Leases are not written.** After a crash they are pending again, and every host rests for its delay
//!   before it is contacted, so politeness holds without a write per request.

pub(crate) mod apply;
mod checkpoint;
pub(crate) mod codec;
mod damage;
mod gather;
mod log;
mod mark;
pub(crate) mod page;
mod query;
mod recent;
mod replay;
mod rewrite;
mod salvage;

pub use checkpoint::damaged_checkpoints;
pub use damage::{Damage, DamageKind, missing};
pub use gather::{Gather, Gathering, Part, PlacedVersion, Take};
pub use log::{Durability, FileLog, Held, LOG, Log, MemLog, Witness, hold, is_locked, ledger_files, witness};
pub use mark::{MARK, Mark};
pub(crate) use query::OUTCOMES;
pub use query::outcome_name;
pub use rewrite::{Edit, RewriteReport, rewrite};
pub use salvage::{Salvage, SalvagedRecord, salvage};

use codec::{FRAME_HEAD, In, Kind};
use frontier::{Limits, Order};
use recent::Recent;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::BuildHasher;
use std::path::Path;
use types::{Canon, Fingerprint, Millis, Problem, StateKey, Url, UrlId};

/// How a ledger is opened.
#[derive(Clone, Debug)]
pub struct Options {
    /// What the frontier's decisions depend on.
    pub limits: Limits,
    /// The secret of the fingerprints of a new ledger; an old one keeps its own. `None` = chosen at random,
    /// so that no web page can be made to collide. No order depends on it.
    pub key: Option<(u64, u64)>,
    /// How long a commit may stay in the memory of the system.
    pub durability: Durability,
    /// Smallest growth of the log between two checkpoints.
    pub checkpoint_bytes: u64,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            limits: Limits::default(),
            key: None,
            durability: Durability::default(),
            checkpoint_bytes: 32 << 20,
        }
    }
}

impl Options {
    /// The defaults, with these limits.
    pub fn new(limits: Limits) -> Options {
        Options { limits, ..Options::default() }
    }
}

/// A collection's frontier and records. See the module.
pub struct Ledger<L: Log> {
    log: L,
    order: Order,
    /// The next frame: its head, then the records not yet committed.
    batch: Vec<u8>,
    /// Where in the log it will begin.
    base: u64,
    /// Of the last frame in the log: ties a checkpoint to it.
    last_frame: u64,
    /// Offsets of page records, in the order they were fetched.
    pages: Vec<u64>,
    /// Of those, earlier versions of pages that changed.
    superseded: u64,
    /// Pages whose verdict was changed later.
    revised: BTreeSet<u32>,
    revisions: u64,
    /// Per name: the newest whole state, then its changes.
    states: BTreeMap<String, Vec<u64>>,
    /// Hosts that are in the log, not only in the batch.
    hosts_kept: u32,
    checkpointed: u64,
    checkpoint_bytes: u64,
    written: u64,
    torn: u64,
    /// The log could not be cut back after a failed write; to be tried again first.
    unclean_tail: bool,
    closed: bool,
    /// What is wrong with the log (only when reading; a writer refuses to start).
    damage: Option<Damage>,
    canon: Canon,
    recent: Recent,
}

impl Ledger<MemLog> {
    /// A ledger that lives as long as the process.
    pub fn in_memory(limits: Limits) -> Ledger<MemLog> {
        let options = Options { key: Some((0, 0)), ..Options::new(limits) };
        let mut ledger = Ledger::empty(MemLog::new(), &options);
        ledger.begin(&options, Millis(0));
        ledger
    }
}

impl Ledger<FileLog> {
    /// Opens (or makes) the ledger in a folder. What an earlier run committed is there; its leases are
    /// pending again.
    pub fn open(dir: &Path, options: Options, now: Millis) -> Result<Ledger<FileLog>, Problem> {
        let log = FileLog::open(dir, options.durability)?;
        Ledger::on(log, options, now)
    }

    /// Opens for reading only, beside a crawl that may be running.
    pub fn open_read(dir: &Path) -> Result<LedgerReader, Problem> {
        Ledger::read_from(FileLog::open_read(dir)?)
    }

    /// As `open_read`, without the shortcut of a checkpoint: every record of the log is compared with its
    /// checksum and applied.
    pub fn open_read_whole(dir: &Path) -> Result<LedgerReader, Problem> {
        Ledger::read_from(FileLog::open_read(dir)?.read_whole())
    }

    fn read_from(log: FileLog) -> Result<LedgerReader, Problem> {
        let options = Options::default();
        let mut ledger = Ledger::empty(log, &options);
        ledger.load(&options, false)?;
        ledger.order.index();
        Ok(LedgerReader(ledger))
    }
}

/// A ledger that another process may be writing: it can be looked at ([`crate::Records`]) and read on.
pub struct LedgerReader(Ledger<FileLog>);

impl LedgerReader {
    /// Reads on in a collection another process writes. `true` when there was something new.
    pub fn refresh(&mut self) -> Result<bool, Problem> {
        self.0.follow()
    }
}

impl std::ops::Deref for LedgerReader {
    type Target = Ledger<FileLog>;
    fn deref(&self) -> &Ledger<FileLog> {
        &self.0
    }
}

impl<L: Log> Ledger<L> {
    /// Opens the ledger on any log, for writing.
    pub fn on(log: L, options: Options, now: Millis) -> Result<Ledger<L>, Problem> {
        let mut ledger = Ledger::empty(log, &options);
        if ledger.log.is_empty() {
            if let Some(damage) = ledger.find_damage(None) {
                return Err(damage.problem(&ledger.log.name()));
            }
            ledger.begin(&options, now);
        } else {
            let clean = ledger.load(&options, true)?;
            if ledger.base == 0 {
                // Not even the first commit was whole.
                ledger.begin(&options, now);
            }
            ledger.order.wake(now, clean);
        }
        // From here on hosts may be contacted, and a crash must be told from an orderly end.
        ledger.closed = false;
        codec::record(&mut ledger.batch, Kind::Opened, |o| o.u64(now.0));
        ledger.drop_beyond_caps();
        ledger.write_batch()?;
        ledger.log.sync().map_err(|e| ledger.io("write", &e))?;
        Ok(ledger)
    }

    fn empty(log: L, options: &Options) -> Ledger<L> {
        Ledger {
            log,
            order: Order::asleep(options.limits.clone(), (0, 0)),
            batch: vec![0; FRAME_HEAD],
            base: 0,
            last_frame: 0,
            pages: Vec::new(),
            superseded: 0,
            revised: BTreeSet::new(),
            revisions: 0,
            states: BTreeMap::new(),
            hosts_kept: 0,
            checkpointed: 0,
            checkpoint_bytes: options.checkpoint_bytes,
            written: 0,
            torn: 0,
            unclean_tail: false,
            closed: false,
            damage: None,
            // URLs in the log are canonical already; whatever made them so may have allowed any length.
            canon: Canon { drop_params: Vec::new(), max_length: usize::MAX },
            recent: Recent::default(),
        }
    }

    /// The first record of a new log.
    fn begin(&mut self, options: &Options, now: Millis) {
        let key = options.key.unwrap_or_else(random_key);
        self.order = Order::new(options.limits.clone(), key);
        self.order.start_at(now);
        codec::record(&mut self.batch, Kind::Meta, |o| {
            o.u32(codec::FORMAT);
            o.u64(key.0);
            o.u64(key.1);
        });
    }

    /// The order in memory.
    pub fn order(&self) -> &Order {
        &self.order
    }
    /// The log it is kept in.
    pub fn log(&self) -> &L {
        &self.log
    }
    pub(crate) fn log_mut(&mut self) -> &mut L {
        &mut self.log
    }
    pub(crate) fn order_mut(&mut self) -> &mut Order {
        &mut self.order
    }
    /// Takes in what someone else put at the end of the log (a shared store that takes over a shard). Nothing
    /// of our own may be uncommitted.
    pub(crate) fn catch_up(&mut self) -> Result<(), Problem> {
        self.write_batch()?;
        self.follow()?;
        self.hosts_kept = self.order.host_count() as u32;
        Ok(())
    }
    /// Where the pieces of a named state are: whoever saw some of them before needs to read only what came
    /// since.
    pub fn state_places(&self, key: StateKey) -> &[u64] {
        self.states.get(key.name()).map(Vec::as_slice).unwrap_or_default()
    }
    /// One piece of a named state.
    pub fn state_at(&self, place: u64) -> Result<Vec<u8>, Problem> {
        let bytes = |kind, payload: &[u8]| {
            (kind == Kind::State).then(|| codec::get_state(payload).map(|(_, _, b)| b.to_vec())).flatten()
        };
        self.read(place, bytes)
    }
    /// Verdicts changed so far by records that this ledger read or wrote: when it stands, no verdict changed.
    pub fn revisions(&self) -> u64 {
        self.revisions
    }
    /// The last run ended in order.
    pub fn ended_in_order(&self) -> bool {
        self.closed
    }
    /// Bytes behind the last whole commit: one that was not finished.
    pub fn unfinished(&self) -> u64 {
        self.torn
    }
    /// The log, given back: for tests that crash.
    pub fn into_log(self) -> L {
        self.log
    }
    /// When reading: how the log is damaged. Everything before that is there.
    pub fn damage(&self) -> Option<&Damage> {
        self.damage.as_ref()
    }

    // ---- writing ------------------------------------------------------------------------------------------

    /// Adds a record to the batch; returns where in the log it will be.
    fn put(&mut self, kind: Kind, write: impl FnOnce(&mut codec::Out)) -> u64 {
        self.closed = false;
        self.base + codec::record(&mut self.batch, kind, write) as u64
    }

    /// Appends the batch to the log as one frame. On failure the batch stays, and the log is as it was.
    fn write_batch(&mut self) -> Result<(), Problem> {
        if self.batch.len() <= FRAME_HEAD {
            return Ok(());
        }
        if self.unclean_tail {
            self.log.truncate(self.base).map_err(|e| self.io("write", &e))?;
            self.unclean_tail = false;
        }
        let synced = self.log.synced();
        codec::seal(&mut self.batch, self.base, synced);
        if let Err(e) = self.log.append(&self.batch) {
            self.unclean_tail = self.log.truncate(self.base).is_err();
            return Err(self.io("write", &e));
        }
        self.written += self.batch.len() as u64;
        self.last_frame = self.base;
        self.hosts_kept = self.order.host_count() as u32;
        self.base += self.batch.len() as u64;
        self.batch.truncate(FRAME_HEAD);
        self.batch.shrink_to(1 << 20);
        self.log.note_pages(self.pages.len() as u64);
        self.log.flush().map_err(|e| self.io("write", &e))
    }

    // ---- reading ------------------------------------------------------------------------------------------

    /// One record, from the log or from the batch.
    fn read<T>(&self, offset: u64, use_it: impl FnOnce(Kind, &[u8]) -> Option<T>) -> Result<T, Problem> {
        let parse = |bytes: &[u8]| {
            let (kind, payload, _) = codec::next_record(bytes)?;
            use_it(Kind::of(kind)?, payload)
        };
        if let Some(at) = offset.checked_sub(self.base) {
            let bytes = self.batch.get(at as usize..).unwrap_or_default();
            return parse(bytes).ok_or_else(|| self.damaged(offset));
        }
        // Most records are small; the others need a second read.
        let mut small = [0; 1536];
        let n = self.log.read_at(offset, &mut small).map_err(|e| self.io("read", &e))?;
        let head = small.get(..n.min(codec::RECORD_HEAD)).unwrap_or_default();
        let mut r = In(head);
        let len = r.take(5).and_then(|_| r.u32()).map(|len| len as usize + codec::RECORD_HEAD);
        let Some(len) = len.filter(|&len| offset + len as u64 <= self.base) else {
            return Err(self.damaged(offset));
        };
        if len <= n {
            return parse(&small[..len]).ok_or_else(|| self.damaged(offset));
        }
        let mut large = vec![0; len];
        let n = self.log.read_at(offset, &mut large).map_err(|e| self.io("read", &e))?;
        parse(large.get(..n).unwrap_or_default()).ok_or_else(|| self.damaged(offset))
    }

    fn io(&self, doing: &str, e: &std::io::Error) -> Problem {
        Problem::io(doing, Path::new(&self.log.name()), e)
    }

    /// Verifies that a URL read from the log is the one the order means.
    fn parse_url(&self, id: UrlId, offset: u64, text: &str) -> Result<Url, Problem> {
        let right = self.order.print(id) == Some(Fingerprint::of(text, self.order.key()));
        let url = self.canon.parse(text).ok().filter(|u| right && u.as_str() == text);
        url.ok_or_else(|| self.damaged(offset))
    }
}

/// The one place where chance comes from outside the configuration: a secret must not be guessable, and
/// nothing that is ordered or counted depends on it.
fn random_key() -> (u64, u64) {
    let one = || std::hash::RandomState::new().hash_one(std::process::id());
    (one(), one())
}
