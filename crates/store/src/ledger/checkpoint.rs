//! A checkpoint: the order's facts at a position of the log, so that a start need not replay all of it.

use super::codec::FRAME_HEAD;
use super::{FileLog, Ledger, Log, Options};
use frontier::Order;
use std::collections::BTreeSet;
use std::io::{self, Error, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use types::Problem;

const MAGIC: &[u8; 8] = b"GLNRCKP2";
/// Of earlier versions: no page was visited twice.
const MAGIC_1: &[u8; 8] = b"GLNRCKP1";

impl<L: Log> Ledger<L> {
    /// Has the log grown so much that a checkpoint is worth its bytes? Each is paid for by half its size of
    /// new log, so all checkpoints together stay within twice the log, and a start after a crash replays no
    /// more than that.
    pub(super) fn checkpoint_is_due(&self) -> bool {
        let grown = self.base.saturating_sub(self.checkpointed);
        self.log.keeps_checkpoints() && grown >= self.checkpoint_bytes.max(self.order.image_size() / 2)
    }

    /// Writes one of everything committed. The batch must be empty.
    pub(super) fn write_checkpoint(&mut self) -> Result<(), Problem> {
        if !self.log.keeps_checkpoints() || self.base == self.checkpointed || self.batch.len() > FRAME_HEAD {
            return Ok(());
        }
        // A checkpoint must never be ahead of the log.
        self.log.sync().map_err(|e| self.io("write", &e))?;
        let (pos, last_frame) = (self.base, self.last_frame);
        let mut head = [0; FRAME_HEAD];
        self.log.read_at(last_frame, &mut head).map_err(|e| self.io("read", &e))?;
        let (order, pages, revised, states) = (&self.order, &self.pages, &self.revised, &self.states);
        let (closed, superseded) = (self.closed, self.superseded);
        let size = self.log.save_checkpoint(pos, &mut |w| {
            let mut w = Summed { inner: w, sum: crc32fast::Hasher::new() };
            let (k0, k1) = order.key();
            w.write_all(MAGIC)?;
            for v in [pos, last_frame, k0, k1, u64::from(closed)] {
                put(&mut w, v)?;
            }
            w.write_all(&head)?;
            order.write(&mut w)?;
            put(&mut w, pages.len() as u64)?;
            let mut buffer = Vec::with_capacity(8 * 4096);
            for chunk in pages.chunks(4096) {
                buffer.clear();
                chunk.iter().for_each(|o| buffer.extend_from_slice(&o.to_le_bytes()));
                w.write_all(&buffer)?;
            }
            put(&mut w, revised.len() as u64)?;
            for id in revised {
                put(&mut w, u64::from(*id))?;
            }
            put(&mut w, states.len() as u64)?;
            for (name, offsets) in states {
                put(&mut w, name.len() as u64)?;
                w.write_all(name.as_bytes())?;
                put(&mut w, offsets.len() as u64)?;
                for offset in offsets {
                    put(&mut w, *offset)?;
                }
            }
            put(&mut w, superseded)?;
            let sum = w.sum.clone().finalize();
            w.inner.write_all(&sum.to_le_bytes())
        });
        match size {
            Ok(size) => {
                self.written += size;
                self.checkpointed = pos;
                Ok(())
            }
            Err(e) => Err(self.io("write a checkpoint of", &e)),
        }
    }

    /// The newest checkpoint that is whole and belongs to this log; without one, everything is replayed.
    pub(super) fn load_checkpoint(&mut self, options: &Options) {
        for pos in self.log.checkpoints().unwrap_or_default() {
            if pos > self.log.len() {
                continue;
            }
            let Ok(file) = self.log.open_checkpoint(pos) else { continue };
            if let Ok(image) = self.read_checkpoint(file, pos, options, true) {
                self.order = image.order;
                self.pages = image.pages;
                self.superseded = image.superseded;
                self.revised = image.revised;
                self.states = image.states;
                self.closed = image.closed;
                self.base = pos;
                self.last_frame = image.last_frame;
                self.checkpointed = pos;
                return;
            }
        }
    }

    /// How many pages the log had at a checkpoint, whether it is still the same log or not.
    pub(super) fn checkpointed_pages(&self, pos: u64) -> Option<u64> {
        let file = self.log.open_checkpoint(pos).ok()?;
        let image = self.read_checkpoint(file, pos, &Options::default(), false).ok()?;
        Some(image.pages.len() as u64)
    }

    /// `ours`: it must belong to the log as it is.
    fn read_checkpoint(
        &self,
        file: Box<dyn Read>,
        pos: u64,
        options: &Options,
        ours: bool,
    ) -> io::Result<Image> {
        let bad = |what: &str| Error::new(ErrorKind::InvalidData, what.to_string());
        let mut r = Summed { inner: file, sum: crc32fast::Hasher::new() };
        let mut magic = [0; 8];
        r.read_exact(&mut magic)?;
        let [at, last_frame, k0, k1, closed] =
            [get(&mut r)?, get(&mut r)?, get(&mut r)?, get(&mut r)?, get(&mut r)?];
        let mut head = [0; FRAME_HEAD];
        r.read_exact(&mut head)?;
        if ![MAGIC, MAGIC_1].contains(&&magic) || at != pos {
            return Err(bad("not a checkpoint of this position"));
        }
        // The same frame must stand before that position: the log may have been cut back and gone on
        // differently.
        let mut there = [0; FRAME_HEAD];
        if ours && (self.log.read_at(last_frame, &mut there)? != FRAME_HEAD || there != head) {
            return Err(bad("not a checkpoint of this log"));
        }
        let order = Order::read(&mut r, options.limits.clone(), (k0, k1))?;
        let mut pages = Vec::new();
        for _ in 0..get(&mut r)? {
            pages.push(get(&mut r)?);
        }
        let mut revised = BTreeSet::new();
        for _ in 0..get(&mut r)? {
            revised.insert(get(&mut r)? as u32);
        }
        let mut states = std::collections::BTreeMap::new();
        for _ in 0..get(&mut r)? {
            let len = get(&mut r)?;
            if len > 4096 {
                return Err(bad("a name is too long"));
            }
            let mut name = vec![0; len as usize];
            r.read_exact(&mut name)?;
            let name = String::from_utf8(name).map_err(|_| bad("a name is not text"))?;
            let mut offsets = Vec::new();
            for _ in 0..get(&mut r)? {
                offsets.push(get(&mut r)?);
            }
            states.insert(name, offsets);
        }
        let superseded = if &magic == MAGIC { get(&mut r)? } else { 0 };
        let sum = r.sum.clone().finalize();
        let mut kept = [0; 4];
        r.inner.read_exact(&mut kept)?;
        if u32::from_le_bytes(kept) != sum {
            return Err(bad("the sum is wrong"));
        }
        Ok(Image { order, pages, superseded, revised, states, closed: closed != 0, last_frame })
    }
}

/// The checkpoints in a folder that are not whole, or do not belong to its ledger. They are shortcuts:
/// without them the ledger is read from its beginning.
pub fn damaged_checkpoints(dir: &Path) -> Result<Vec<PathBuf>, Problem> {
    let options = Options::default();
    let ledger = Ledger::empty(FileLog::open_read(dir)?, &options);
    let positions = ledger.log.checkpoints().map_err(|e| Problem::io("read", dir, &e))?;
    // One that is ahead of the ledger is a witness of what was cut off.
    let there = positions.into_iter().filter(|&pos| pos <= ledger.log.len());
    let damaged = there.filter(|&pos| match ledger.log.open_checkpoint(pos) {
        Ok(file) => ledger.read_checkpoint(file, pos, &options, true).is_err(),
        // A crawl that is running has replaced it.
        Err(e) => e.kind() != ErrorKind::NotFound,
    });
    Ok(damaged.map(|pos| ledger.log.checkpoint_path(pos)).collect())
}

struct Image {
    order: Order,
    pages: Vec<u64>,
    superseded: u64,
    revised: BTreeSet<u32>,
    states: std::collections::BTreeMap<String, Vec<u64>>,
    closed: bool,
    last_frame: u64,
}

/// Sums what passes through.
struct Summed<T> {
    inner: T,
    sum: crc32fast::Hasher,
}
impl<W: Write> Write for Summed<W> {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        let n = self.inner.write(buf)?;
        self.sum.update(&buf[..n]);
        Ok(n)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
impl<R: Read> Read for Summed<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(buf)?;
        self.sum.update(&buf[..n]);
        Ok(n)
    }
}

fn put(w: &mut dyn Write, v: u64) -> io::Result<()> {
    w.write_all(&v.to_le_bytes())
}
fn get(r: &mut dyn Read) -> io::Result<u64> {
    let mut b = [0; 8];
    r.read_exact(&mut b)?;
    Ok(u64::from_le_bytes(b))
}
