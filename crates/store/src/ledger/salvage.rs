//! What a damaged ledger still holds: the whole commits it begins with, and after them every record that is
//! whole.

use super::codec::{self, FRAME_HEAD, Kind, RECORD_HEAD};
use super::log::LOG;
use super::page;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use types::{Problem, Record};

/// Read at a time; more for a commit that is larger.
const WINDOW: usize = 8 << 20;
/// A record that seems to be larger than this is not one, as far as a search goes.
const LARGEST_FOUND: usize = 256 << 20;

/// A record behind the damage.
pub enum SalvagedRecord<'a> {
    /// A page, whole.
    Page(Box<Record>),
    /// A piece of a named state: its name, whether it is a change, its bytes.
    State(&'a str, bool, &'a [u8]),
}

/// What came of a search.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Salvage {
    /// Everything before this byte is whole commits.
    pub whole: u64,
    /// Bytes of the file.
    pub len: u64,
    /// Bytes after `whole` that belong to no whole record.
    pub lost: u64,
}

/// Looks through the whole ledger of a folder, every byte of it. `each` is given what is whole behind the
/// damage, in the order it was written. A ledger that is not there is an empty one.
pub fn salvage(
    dir: &Path,
    each: &mut dyn FnMut(SalvagedRecord<'_>) -> Result<(), Problem>,
) -> Result<Salvage, Problem> {
    let path = dir.join(LOG);
    if !path.exists() {
        return Ok(Salvage::default());
    }
    let mut scan = Scan::open(&path)?;
    let len = scan.len;
    let mut at = 0;
    while let Some(size) = scan.whole_frame(at)? {
        at += size as u64;
    }
    let whole = at;
    let mut lost = 0;
    while at < len {
        if let Some(size) = scan.whole_frame(at)? {
            let body = scan.bytes(at + FRAME_HEAD as u64, size - FRAME_HEAD)?;
            let mut rest = body;
            while let Some((kind, payload, n)) = codec::next_record(rest) {
                tell(kind, payload, each)?;
                rest = &rest[n..];
            }
            at += size as u64;
        } else if let Some(size) = scan.whole_record(at)? {
            // Of a commit that is not whole some records may be.
            if let Some((kind, payload, _)) = codec::next_record(scan.bytes(at, size)?) {
                tell(kind, payload, each)?;
            }
            at += size as u64;
        } else {
            lost += 1;
            at += 1;
        }
    }
    Ok(Salvage { whole, len, lost })
}

fn tell(
    kind: u8,
    payload: &[u8],
    each: &mut dyn FnMut(SalvagedRecord<'_>) -> Result<(), Problem>,
) -> Result<(), Problem> {
    match Kind::of(kind) {
        Some(Kind::Page) => match page::get_page(payload) {
            Some(record) => each(SalvagedRecord::Page(Box::new(record))),
            None => Ok(()),
        },
        Some(Kind::State) => match codec::get_state(payload) {
            Some((name, change, bytes)) => each(SalvagedRecord::State(name, change, bytes)),
            None => Ok(()),
        },
        _ => Ok(()),
    }
}

/// The bytes of a ledger, frame by frame.
pub(super) struct Scan<'a> {
    file: File,
    path: &'a Path,
    pub len: u64,
    window: Vec<u8>,
    /// Where in the file the window begins.
    start: u64,
}

impl<'a> Scan<'a> {
    pub fn open(path: &'a Path) -> Result<Scan<'a>, Problem> {
        let file = File::open(path).map_err(|e| Problem::io("open", path, &e))?;
        let len = file.metadata().map_err(|e| Problem::io("read", path, &e))?.len();
        Ok(Scan { file, path, len, window: Vec::new(), start: 0 })
    }

    /// So many bytes from here, fewer at the end of the file.
    pub fn bytes(&mut self, at: u64, n: usize) -> Result<&[u8], Problem> {
        let n = n.min(usize::try_from(self.len.saturating_sub(at)).unwrap_or(usize::MAX));
        let inside = at >= self.start && at + n as u64 <= self.start + self.window.len() as u64;
        if !inside {
            let size = n.max(WINDOW).min(usize::try_from(self.len - at).unwrap_or(usize::MAX));
            self.window.resize(size, 0);
            self.start = at;
            self.file.read_exact_at(&mut self.window, at).map_err(|e| Problem::io("read", self.path, &e))?;
        }
        let from = (at - self.start) as usize;
        Ok(self.window.get(from..from + n).unwrap_or_default())
    }

    /// The size of the whole commit that begins here.
    pub fn whole_frame(&mut self, at: u64) -> Result<Option<usize>, Problem> {
        let head = self.bytes(at, FRAME_HEAD)?;
        let Some((len, _)) = codec::frame_head(head, at) else { return Ok(None) };
        let size = FRAME_HEAD + len;
        let body = self.bytes(at, size)?.get(FRAME_HEAD..size);
        Ok(body.is_some_and(codec::body_is_whole).then_some(size))
    }

    /// The size of the whole record that begins here.
    fn whole_record(&mut self, at: u64) -> Result<Option<usize>, Problem> {
        let &[_, _, _, _, kind, a, b, c, d] = self.bytes(at, RECORD_HEAD)? else { return Ok(None) };
        let size = RECORD_HEAD + u32::from_le_bytes([a, b, c, d]) as usize;
        if Kind::of(kind).is_none() || size > LARGEST_FOUND || at + size as u64 > self.len {
            return Ok(None);
        }
        Ok(codec::next_record(self.bytes(at, size)?).map(|_| size))
    }
}
