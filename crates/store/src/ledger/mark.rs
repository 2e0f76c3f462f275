//! A mark beside the log: how far it was durable, and how many pages were in it. A log that ends before its
//! mark did not lose its end in a crash.
//!
//! The mark is written over in place after each sync of the log and is not forced to the disk: an older mark
//! is a weaker witness, never a wrong one.

use std::fs;
use std::path::Path;

/// The file's name.
pub const MARK: &str = "ledger.mark";
const MAGIC: &[u8; 8] = b"GLNRMRK1";
/// So many bytes of the log before its durable end are repeated in the mark.
pub const LAST: usize = 32;

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mark {
    /// The log was durable up to here.
    pub end: u64,
    /// Records of pages before `end`.
    pub pages: u64,
    /// The bytes before `end`, `LAST` of them if there are as many: tells this log from another.
    pub last: Vec<u8>,
}

impl Mark {
    /// The contents of the file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        out.extend(self.end.to_le_bytes());
        out.extend(self.pages.to_le_bytes());
        let mut last = [0; LAST];
        let n = self.last.len().min(LAST);
        last[..n].copy_from_slice(&self.last[..n]);
        out.push(n as u8);
        out.extend(last);
        let sum = crc32fast::hash(&out);
        out.extend(sum.to_le_bytes());
        out
    }

    /// `None` for bytes that are not a whole mark.
    pub fn from_bytes(bytes: &[u8]) -> Option<Mark> {
        let (body, sum) = bytes.split_last_chunk::<4>()?;
        if crc32fast::hash(body) != u32::from_le_bytes(*sum) {
            return None;
        }
        let rest = body.strip_prefix(MAGIC)?;
        let (end, rest) = rest.split_first_chunk::<8>()?;
        let (pages, rest) = rest.split_first_chunk::<8>()?;
        let (n, last) = rest.split_first()?;
        Some(Mark {
            end: u64::from_le_bytes(*end),
            pages: u64::from_le_bytes(*pages),
            last: last.get(..usize::from(*n))?.to_vec(),
        })
    }

    /// The mark in a folder; a damaged one says nothing.
    pub fn read(dir: &Path) -> Option<Mark> {
        fs::read(dir.join(MARK)).ok().and_then(|bytes| Mark::from_bytes(&bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_whole_or_nothing() {
        for last in [vec![], vec![7; 5], vec![9; LAST]] {
            let mark = Mark { end: 1 << 40, pages: 12, last };
            let bytes = mark.to_bytes();
            assert_eq!(Mark::from_bytes(&bytes), Some(mark));
            for at in 0..bytes.len() {
                let mut flipped = bytes.clone();
                flipped[at] ^= 1;
                assert_eq!(Mark::from_bytes(&flipped), None, "flipped at {at}");
                assert_eq!(Mark::from_bytes(&bytes[..at]), None, "cut at {at}");
            }
        }
    }
}
