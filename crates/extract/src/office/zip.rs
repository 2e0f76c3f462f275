//! The parts of a ZIP file that is in memory.
//!
//! Files that were cut off are read as far as they go: without a directory at the end, the headers in front
//! of the parts are looked for. What is unpacked is bounded, whatever the sizes in the file say.

use flate2::read::DeflateDecoder;
use memchr::memmem;
use std::cell::Cell;
use std::io::Read;

/// Most that one part, and all parts together, may unfold to.
const MAX_PART: usize = 32 << 20;
const MAX_ALL: usize = 64 << 20;
/// More parts than this are not looked at.
const MAX_PARTS: usize = 20_000;
/// The end of the directory stands in the last so many bytes.
const TAIL: usize = 22 + u16::MAX as usize;

const STORED: u16 = 0;
const DEFLATED: u16 = 8;
const UNKNOWN: u32 = u32::MAX;

pub struct Zip<'a> {
    parts: Vec<Part<'a>>,
    room: Cell<usize>,
}

struct Part<'a> {
    name: &'a str,
    method: u16,
    encrypted: bool,
    packed: &'a [u8],
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at.checked_add(2)?)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

impl<'a> Zip<'a> {
    pub fn open(bytes: &'a [u8]) -> Zip<'a> {
        let listed = directory(bytes).filter(|parts| !parts.is_empty());
        let parts = listed.unwrap_or_else(|| scattered(bytes));
        Zip { parts, room: Cell::new(MAX_ALL) }
    }

    fn find(&self, name: &str) -> Option<&Part<'a>> {
        let name = name.trim_start_matches('/');
        let exact = self.parts.iter().find(|p| p.name == name);
        exact.or_else(|| self.parts.iter().find(|p| p.name.eq_ignore_ascii_case(name)))
    }

    pub fn has(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    /// The part cannot be read without a password.
    pub fn is_encrypted(&self, name: &str) -> bool {
        self.find(name).is_some_and(|p| p.encrypted)
    }

    /// A part, as far as it can be unpacked, and whether that is all of it.
    pub fn read(&self, name: &str) -> Option<(Vec<u8>, bool)> {
        let part = self.find(name).filter(|p| !p.encrypted)?;
        let most = MAX_PART.min(self.room.get());
        let (bytes, whole) = match part.method {
            STORED => {
                let kept = part.packed.get(..most).unwrap_or(part.packed);
                (kept.to_vec(), kept.len() == part.packed.len())
            }
            DEFLATED => {
                let mut bytes = Vec::new();
                let read = DeflateDecoder::new(part.packed).take(most as u64 + 1).read_to_end(&mut bytes);
                let whole = read.is_ok() && bytes.len() <= most;
                bytes.truncate(most);
                (bytes, whole)
            }
            _ => return None,
        };
        self.room.set(self.room.get().saturating_sub(bytes.len()));
        Some((bytes, whole))
    }
}

/// What the directory at the end of the file lists.
fn directory(bytes: &[u8]) -> Option<Vec<Part<'_>>> {
    let tail = bytes.len().saturating_sub(TAIL);
    let end = tail + memmem::rfind(bytes.get(tail..)?, b"PK\x05\x06")?;
    let count = usize::from(u16_at(bytes, end + 10)?).min(MAX_PARTS);
    let mut at = u32_at(bytes, end + 16)? as usize;
    let mut parts = Vec::new();
    while parts.len() < count && bytes.get(at..)?.starts_with(b"PK\x01\x02") {
        let [name, extra, comment] = [28, 30, 32].map(|field| u16_at(bytes, at + field).map(usize::from));
        let name_at = at + 46;
        let name_end = name_at.checked_add(name?)?;
        let packed = u32_at(bytes, at + 20)?;
        let header = u32_at(bytes, at + 42)? as usize;
        let name = bytes.get(name_at..name_end).and_then(|n| std::str::from_utf8(n).ok());
        if let (Some(name), Some(from)) = (name, contents(bytes, header)) {
            let length = if packed == UNKNOWN { bytes.len() } else { packed as usize };
            parts.push(Part {
                name,
                method: u16_at(bytes, at + 10)?,
                encrypted: u16_at(bytes, at + 8)? & 1 != 0,
                packed: piece(bytes, from, length),
            });
        }
        at = name_end.checked_add(extra?)?.checked_add(comment?)?;
    }
    Some(parts)
}

/// Where the contents of the part begin whose header is here.
fn contents(bytes: &[u8], header: usize) -> Option<usize> {
    if !bytes.get(header..)?.starts_with(b"PK\x03\x04") {
        return None;
    }
    let (name, extra) = (u16_at(bytes, header + 26)?, u16_at(bytes, header + 28)?);
    Some(header + 30 + usize::from(name) + usize::from(extra))
}

fn piece(bytes: &[u8], from: usize, length: usize) -> &[u8] {
    let to = from.saturating_add(length).min(bytes.len());
    bytes.get(from..to).unwrap_or_default()
}

/// The parts whose headers can be found.
fn scattered(bytes: &[u8]) -> Vec<Part<'_>> {
    let headers: Vec<usize> = memmem::find_iter(bytes, b"PK\x03\x04").take(MAX_PARTS).collect();
    let mut parts = Vec::new();
    for (i, &header) in headers.iter().enumerate() {
        let read = || {
            let name_end = header + 30 + usize::from(u16_at(bytes, header + 26)?);
            let name = std::str::from_utf8(bytes.get(header + 30..name_end)?).ok()?;
            let flags = u16_at(bytes, header + 6)?;
            let next = headers.get(i + 1).copied().unwrap_or(bytes.len());
            let from = contents(bytes, header)?;
            let packed = u32_at(bytes, header + 18)?;
            // The size may stand behind the contents, which know themselves where they end.
            let length = match packed {
                0 | UNKNOWN => next.saturating_sub(from),
                known => known as usize,
            };
            let method = u16_at(bytes, header + 8)?;
            Some(Part { name, method, encrypted: flags & 1 != 0, packed: piece(bytes, from, length) })
        };
        parts.extend(read());
    }
    parts
}
