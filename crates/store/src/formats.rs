//! The byte formats of pieces of state that more than one place reads or writes.

use crate::archive::Position;
use types::UrlId;

/// One change of [`types::StateKey::Labels`]: five bytes, the number of a page and what was said of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LabelChange {
    /// The page.
    pub id: UrlId,
    /// A language model said it, not a person.
    pub by_model: bool,
    /// `None` takes back what was said.
    pub said: Option<bool>,
}

impl LabelChange {
    /// A person's word on a page.
    pub fn of(id: UrlId, said: bool) -> LabelChange {
        LabelChange { id, by_model: false, said: Some(said) }
    }

    /// Number of the page (little-endian), then one byte for who said what.
    pub fn to_bytes(self) -> [u8; 5] {
        let [a, b, c, d] = self.id.0.to_le_bytes();
        // 0, 1 and 2 were there before models spoke.
        let first = if self.by_model { 3 } else { 0 };
        [a, b, c, d, first + self.said.map_or(2, u8::from)]
    }

    /// All changes of an entry.
    pub fn all(entry: &[u8]) -> impl Iterator<Item = LabelChange> + '_ {
        entry.as_chunks::<5>().0.iter().map(|&[a, b, c, d, said]| LabelChange {
            id: UrlId(u32::from_le_bytes([a, b, c, d])),
            by_model: matches!(said, 3..=5),
            said: match said {
                0 | 3 => Some(false),
                1 | 4 => Some(true),
                _ => None,
            },
        })
    }
}

/// [`types::StateKey::Archive`]: how far the archive was written.
pub fn position_bytes(p: &Position) -> Vec<u8> {
    [&p.length.to_le_bytes(), p.file.as_bytes()].concat()
}

/// `None`: these bytes are no position.
pub fn parse_position(bytes: &[u8]) -> Option<Position> {
    let (length, file) = bytes.split_first_chunk::<8>()?;
    Some(Position { length: u64::from_le_bytes(*length), file: String::from_utf8(file.to_vec()).ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_nonsense_is_nothing() {
        for (by_model, said) in [(false, None), (false, Some(true)), (true, Some(false)), (true, None)] {
            let change = LabelChange { id: UrlId(70_000), by_model, said };
            assert_eq!(LabelChange::all(&change.to_bytes()).collect::<Vec<_>>(), [change]);
        }
        assert_eq!(LabelChange::all(&[1, 2, 3]).count(), 0);
        let p = Position { file: "a.warc.gz".into(), length: 1 << 40 };
        assert_eq!(parse_position(&position_bytes(&p)), Some(p));
        assert_eq!(parse_position(&[1]), None);
    }
}
