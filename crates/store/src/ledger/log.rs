//! Where a ledger's bytes go: an append-only log, with room for checkpoints beside it.

use super::mark::{LAST, MARK, Mark};
use crate::files;
use crate::{shape, swap};
use std::fs::{self, File, TryLockError};
use std::io::{self, BufWriter, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use types::Problem;

/// An append-only sequence of bytes. The ledger is the same code on any of these, so an order on disk and one
/// in memory are the same order.
pub trait Log: Send {
    /// For messages: the file's path.
    fn name(&self) -> String;
    /// Bytes appended so far, durable or not.
    fn len(&self) -> u64;
    /// Nothing was ever appended.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// All of it or an error; after an error the ledger truncates to where it was.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;
    /// Fewer bytes than asked for only at the end.
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize>;
    /// Makes what was appended as durable as the log's policy says.
    fn flush(&mut self) -> io::Result<()>;
    /// Makes it durable now.
    fn sync(&mut self) -> io::Result<()>;
    /// Everything before this offset is known to be durable.
    fn synced(&self) -> u64;
    /// Cuts the end off: a commit that failed half-way must not be read back.
    fn truncate(&mut self, len: u64) -> io::Result<()>;
    /// What lies beside the log and knows how long it was, as it was when the log was opened.
    fn witness(&self) -> Option<&Witness> {
        None
    }
    /// So many pages are in what was appended.
    fn note_pages(&mut self, _pages: u64) {}
    /// Looks whether someone else appended (a log opened for reading).
    fn refresh(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Is there any use in saving one?
    fn keeps_checkpoints(&self) -> bool {
        false
    }
    /// Positions of the checkpoints there are, newest first.
    fn checkpoints(&self) -> io::Result<Vec<u64>> {
        Ok(Vec::new())
    }
    /// Reads the checkpoint of this position.
    fn open_checkpoint(&self, _pos: u64) -> io::Result<Box<dyn Read>> {
        Err(io::ErrorKind::NotFound.into())
    }
    /// Writes a checkpoint of the log up to `pos`; older ones may be removed once it is safe. Returns its
    /// size.
    fn save_checkpoint(
        &mut self,
        _pos: u64,
        _write: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<u64> {
        Ok(0)
    }
    /// Removes a checkpoint that turned out to be unreadable.
    fn remove_checkpoint(&mut self, _pos: u64) -> io::Result<()> {
        Ok(())
    }
}

/// How long a log was at least: something was written after it was durable so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Witness {
    /// Bytes it had at least.
    pub end: u64,
    /// Records of pages before `end`, if that is known.
    pub pages: Option<u64>,
    /// The bytes before `end`; empty when they are not known.
    pub last: Vec<u8>,
    /// The name of the file that says so.
    pub file: String,
}

/// A log in memory: backtests, which are never taken up again.
#[derive(Debug, Default)]
pub struct MemLog {
    bytes: Vec<u8>,
}

impl MemLog {
    /// Empty; nothing survives the process.
    pub fn new() -> MemLog {
        MemLog::default()
    }
}

impl Log for MemLog {
    fn name(&self) -> String {
        "the ledger in memory".into()
    }
    fn len(&self) -> u64 {
        self.bytes.len() as u64
    }
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        let rest = self.bytes.get(offset as usize..).unwrap_or_default();
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
        self.bytes.len() as u64
    }
    fn truncate(&mut self, len: u64) -> io::Result<()> {
        self.bytes.truncate(len as usize);
        Ok(())
    }
}

/// When a commit is forced to the disk. A killed process loses nothing in any case; this is about a machine
/// that stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// Each commit.
    Always,
    /// At most this long after it (with the next commit that comes).
    Within(Duration),
}

impl Default for Durability {
    fn default() -> Durability {
        Durability::Within(Duration::from_millis(500))
    }
}

/// The file `ledger.log` in a folder, checkpoints beside it, and a lock that one process holds.
#[derive(Debug)]
pub struct FileLog {
    dir: PathBuf,
    path: PathBuf,
    file: File,
    len: u64,
    synced: u64,
    last_sync: Instant,
    durability: Durability,
    /// After a failed sync the system may have dropped what it could not write, and say nothing at the next
    /// one.
    broken: bool,
    /// Held as long as this lives; `None` when only reading.
    _lock: Option<Held>,
    /// A checkpoint that is being forced to the disk.
    saving: Option<JoinHandle<()>>,
    witness: Option<Witness>,
    /// Opened with the first sync.
    mark: Option<File>,
    pages: u64,
    /// As if there were no checkpoints: everything is read from the log.
    whole: bool,
}

/// The ledger's file.
pub const LOG: &str = "ledger.log";
const LOCK: &str = "lock";
const CHECKPOINT: &str = "checkpoint-";

/// The lock of a folder: as long as it lives, nobody else writes there.
#[derive(Debug)]
pub struct Held(#[allow(dead_code)] File);

/// Takes the lock of a folder. Fails when another process has it.
pub fn hold(dir: &Path) -> Result<Held, Problem> {
    shape::check(dir)?;
    let lock_path = dir.join(LOCK);
    let lock = files::open_or_create(&lock_path)?;
    match lock.try_lock() {
        Ok(()) => Ok(Held(lock)),
        Err(TryLockError::WouldBlock) => {
            Err(Problem::new(format!("another gleaner process holds {}", dir.display())).hint(
                "wait for it to end or stop it; `gleaner status`, `search` and `export` work meanwhile",
            ))
        }
        Err(TryLockError::Error(e)) => Err(Problem::io("lock", &lock_path, &e)),
    }
}

/// What in this folder knows how long its ledger was.
pub fn witness(dir: &Path) -> Option<Witness> {
    let mark = Mark::read(dir).map(|m| Witness {
        end: m.end,
        pages: Some(m.pages),
        last: m.last,
        file: MARK.to_string(),
    });
    // A checkpoint is named after the length the log had, and is written when that is durable.
    let newest = positions(dir).unwrap_or_default().first().copied();
    match newest {
        Some(pos) if mark.as_ref().is_none_or(|m| m.end < pos) => {
            let file = format!("{CHECKPOINT}{pos:020}");
            Some(Witness { end: pos, pages: None, last: Vec::new(), file })
        }
        _ => mark,
    }
}

/// Positions of the checkpoints in a folder, newest first.
fn positions(dir: &Path) -> io::Result<Vec<u64>> {
    let mut all: Vec<u64> = Vec::new();
    for entry in fs::read_dir(dir)? {
        let name = entry?.file_name();
        if let Some(pos) = name.to_str().and_then(|n| n.strip_prefix(CHECKPOINT)).and_then(|n| n.parse().ok())
        {
            all.push(pos);
        }
    }
    all.sort_unstable_by(|a, b| b.cmp(a));
    Ok(all)
}

/// Everything in a folder that belongs to its ledger and is there, the ledger itself last.
pub fn ledger_files(dir: &Path) -> Vec<PathBuf> {
    let checkpoints = positions(dir).unwrap_or_default();
    let names = checkpoints.into_iter().map(|pos| format!("{CHECKPOINT}{pos:020}"));
    let all = names.chain([MARK.to_string(), LOG.to_string()]).map(|n| dir.join(n));
    all.filter(|p| p.is_file()).collect()
}

/// Is another process writing to the ledger of this folder?
pub fn is_locked(dir: &Path) -> bool {
    let Ok(lock) = File::open(dir.join(LOCK)) else { return false };
    matches!(lock.try_lock(), Err(TryLockError::WouldBlock))
}

impl FileLog {
    /// Opens for writing, made if it is not there. One process at a time.
    pub fn open(dir: &Path, durability: Durability) -> Result<FileLog, Problem> {
        files::make_collection(dir, files::Mode::Private)?;
        let lock = hold(dir)?;
        swap::finish(dir)?;
        let witness = witness(dir);
        let path = dir.join(LOG);
        let is_new = !path.exists();
        if is_new && let Some(w) = &witness {
            return Err(super::damage::missing(dir, w));
        }
        let file = files::open_or_create(&path)?;
        let len = file.metadata().map_err(|e| Problem::io("read", &path, &e))?.len();
        if is_new {
            // The name of the file must be as durable as what is in it.
            sync_dir(dir).map_err(|e| Problem::io("write", dir, &e))?;
        }
        let log = FileLog {
            dir: dir.into(),
            path,
            file,
            len,
            synced: 0,
            last_sync: Instant::now(),
            durability,
            broken: false,
            _lock: Some(lock),
            saving: None,
            witness,
            mark: None,
            pages: 0,
            whole: false,
        };
        log.remove_temporaries();
        Ok(log)
    }

    /// Opens for reading, beside a process that may be writing.
    pub fn open_read(dir: &Path) -> Result<FileLog, Problem> {
        let path = dir.join(LOG);
        // First, because the log may grow while it is opened.
        let witness = witness(dir);
        if !path.exists()
            && let Some(w) = &witness
        {
            return Err(super::damage::missing(dir, w));
        }
        let file = File::open(&path).map_err(|e| Problem::io("open", &path, &e))?;
        let len = file.metadata().map_err(|e| Problem::io("read", &path, &e))?.len();
        Ok(FileLog {
            dir: dir.into(),
            path,
            file,
            len,
            synced: 0,
            last_sync: Instant::now(),
            durability: Durability::Always,
            broken: false,
            _lock: None,
            saving: None,
            witness,
            mark: None,
            pages: 0,
            whole: false,
        })
    }

    /// As if there were no checkpoints.
    pub(super) fn read_whole(mut self) -> FileLog {
        self.whole = true;
        self
    }

    pub(super) fn checkpoint_path(&self, pos: u64) -> PathBuf {
        self.dir.join(format!("{CHECKPOINT}{pos:020}"))
    }

    /// Half-written checkpoints of a process that died.
    fn remove_temporaries(&self) {
        for entry in fs::read_dir(&self.dir).into_iter().flatten().flatten() {
            if entry.file_name().to_str().is_some_and(|n| n.starts_with(CHECKPOINT) && n.ends_with(".tmp")) {
                let _ = fs::remove_file(entry.path());
            }
        }
    }

    /// Notes how far the log is durable. Whatever goes wrong here costs a witness, not the log.
    fn write_mark(&mut self) {
        let mut last = [0; LAST];
        let from = self.synced.saturating_sub(LAST as u64);
        let Ok(n) = self.read_at(from, &mut last) else { return };
        let n = n.min((self.synced - from) as usize);
        let mark = Mark { end: self.synced, pages: self.pages, last: last[..n].to_vec() };
        if self.mark.is_none() {
            self.mark = files::open_or_create(&self.dir.join(MARK)).ok();
        }
        if let Some(file) = &self.mark {
            let _ = file.write_all_at(&mark.to_bytes(), 0);
        }
    }

    fn wait_for_checkpoint(&mut self) {
        if let Some(saving) = self.saving.take() {
            let _ = saving.join();
        }
    }
}

impl Drop for FileLog {
    fn drop(&mut self) {
        self.wait_for_checkpoint();
    }
}

impl Log for FileLog {
    fn name(&self) -> String {
        self.path.display().to_string()
    }
    fn len(&self) -> u64 {
        self.len
    }
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all_at(bytes, self.len)?;
        self.len += bytes.len() as u64;
        Ok(())
    }
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        let mut n = 0;
        while n < buf.len() {
            match self.file.read_at(&mut buf[n..], offset + n as u64) {
                Ok(0) => break,
                Ok(k) => n += k,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(n)
    }
    fn flush(&mut self) -> io::Result<()> {
        match self.durability {
            Durability::Always => self.sync(),
            Durability::Within(most) if self.last_sync.elapsed() >= most => self.sync(),
            Durability::Within(_) => Ok(()),
        }
    }
    fn sync(&mut self) -> io::Result<()> {
        if self.broken {
            return Err(io::Error::other(
                "an earlier write did not reach the disk; start again to see what did",
            ));
        }
        if self.synced < self.len {
            self.file.sync_data().inspect_err(|_| self.broken = true)?;
            self.synced = self.len;
            self.write_mark();
        }
        self.last_sync = Instant::now();
        Ok(())
    }
    fn synced(&self) -> u64 {
        self.synced
    }
    fn truncate(&mut self, len: u64) -> io::Result<()> {
        self.file.set_len(len)?;
        self.len = len;
        self.synced = self.synced.min(len);
        Ok(())
    }
    fn witness(&self) -> Option<&Witness> {
        self.witness.as_ref()
    }
    fn note_pages(&mut self, pages: u64) {
        self.pages = pages;
    }
    fn refresh(&mut self) -> io::Result<()> {
        self.len = self.file.metadata()?.len();
        Ok(())
    }

    fn keeps_checkpoints(&self) -> bool {
        true
    }
    fn checkpoints(&self) -> io::Result<Vec<u64>> {
        if self.whole { Ok(Vec::new()) } else { positions(&self.dir) }
    }
    fn open_checkpoint(&self, pos: u64) -> io::Result<Box<dyn Read>> {
        Ok(Box::new(io::BufReader::with_capacity(1 << 20, File::open(self.checkpoint_path(pos))?)))
    }
    fn save_checkpoint(
        &mut self,
        pos: u64,
        write: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<u64> {
        self.wait_for_checkpoint();
        let older = self.checkpoints()?;
        let path = self.checkpoint_path(pos);
        let tmp = path.with_extension("tmp");
        let written = (|| {
            // Of a run that was killed.
            let _ = fs::remove_file(&tmp);
            let mut out = BufWriter::with_capacity(1 << 20, files::create_new(&tmp)?);
            write(&mut out)?;
            out.into_inner().map_err(|e| e.into_error())
        })();
        let file = match written {
            Ok(file) => file,
            Err(e) => {
                let _ = fs::remove_file(&tmp);
                return Err(e);
            }
        };
        let size = file.metadata()?.len();
        let dir = self.dir.clone();
        // Forcing half a gigabyte to the disk takes seconds; nobody has to wait for it. Until it is done the
        // older checkpoint is the valid one.
        let finish = move || {
            let done = file.sync_all().and_then(|()| fs::rename(&tmp, &path)).and_then(|()| sync_dir(&dir));
            if done.is_err() {
                let _ = fs::remove_file(&tmp);
                return;
            }
            for old in older.into_iter().filter(|&old| old != pos) {
                let _ = fs::remove_file(dir.join(format!("{CHECKPOINT}{old:020}")));
            }
        };
        self.saving = Some(std::thread::Builder::new().name("checkpoint".into()).spawn(finish)?);
        Ok(size)
    }
    fn remove_checkpoint(&mut self, pos: u64) -> io::Result<()> {
        fs::remove_file(self.checkpoint_path(pos))
    }
}

fn sync_dir(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}
