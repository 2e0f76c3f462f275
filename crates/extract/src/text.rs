//! Visible text: whitespace collapsed, blocks on lines of their own.

use types::Span;

/// What stands between two pieces of text. The stronger wins when several are asked for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Gap {
    None,
    Space,
    /// Between the cells of a table row: a reader sees one line, but not one phrase.
    Cell,
    Line,
}

/// Collects text. A gap is written only when something visible follows it, so the text never starts or ends
/// with one.
pub struct Text {
    out: String,
    gap: Gap,
    limit: usize,
    pub full: bool,
}

const PLAIN: u8 = 0;
const SPACE: u8 = 1;
/// First byte of a character that may be an unusual space.
const LEAD: u8 = 2;

const CLASS: [u8; 256] = {
    let mut t = [PLAIN; 256];
    let mut i = 0;
    while i <= 0x20 {
        t[i] = SPACE;
        i += 1;
    }
    t[0x7f] = SPACE;
    t[0xc2] = LEAD;
    t[0xe1] = LEAD;
    t[0xe2] = LEAD;
    t[0xe3] = LEAD;
    t[0xef] = LEAD;
    t
};

enum At {
    /// So many bytes of ordinary text.
    Text(usize),
    /// So many bytes of space.
    Space(usize),
    /// So many bytes that are neither seen nor separate anything (soft hyphen, zero-width joiners between
    /// words).
    Nothing(usize),
}

#[inline]
fn at(bytes: &[u8]) -> At {
    match bytes {
        [b, ..] if CLASS[*b as usize] == SPACE => At::Space(1),
        [0xc2, 0xa0 | 0x85, ..] => At::Space(2),
        [0xc2, 0xad, ..] => At::Nothing(2),
        [0xe2, 0x80, 0x80..=0x8b | 0xa8 | 0xa9 | 0xaf, ..] => At::Space(3),
        [0xe1, 0x9a, 0x80, ..] | [0xe2, 0x81, 0x9f, ..] | [0xe3, 0x80, 0x80, ..] => At::Space(3),
        [0xe2, 0x81, 0xa0, ..] | [0xef, 0xbb, 0xbf, ..] => At::Nothing(3),
        _ => At::Text(1),
    }
}

/// Nothing in it that a reader would see?
pub fn is_blank(s: &str) -> bool {
    let bytes = s.as_bytes();
    let mut i = 0;
    while i < bytes.len() {
        match at(&bytes[i..]) {
            At::Text(_) => return false,
            At::Space(n) | At::Nothing(n) => i += n,
        }
    }
    true
}

/// One line, spaces collapsed, at most `limit` bytes.
pub fn collapsed(s: &str, limit: usize) -> String {
    let mut t = Text::new(limit);
    t.push(s, false);
    t.out
}

impl Text {
    pub fn new(limit: usize) -> Text {
        Text { out: String::new(), gap: Gap::None, limit: limit.min(u32::MAX as usize / 2), full: false }
    }

    pub fn len(&self) -> usize {
        self.out.len()
    }
    pub fn reserve(&mut self, n: usize) {
        self.out.reserve(n.min(self.limit));
    }
    pub fn as_str(&self) -> &str {
        &self.out
    }
    pub fn finish(self) -> String {
        self.out
    }

    #[inline]
    pub fn gap(&mut self, gap: Gap) {
        if gap > self.gap {
            self.gap = gap;
        }
    }

    /// The span of what was written from `from` on, without the gap before it.
    #[inline]
    pub fn since(&self, from: usize) -> Span {
        let gap = self.out.as_bytes().get(from).is_some_and(|b| matches!(b, b' ' | b'\t' | b'\n'));
        Span::new(from + usize::from(gap), self.out.len())
    }

    /// Adds a text node; `pre` keeps its line breaks. Returns where it is.
    #[inline]
    pub fn push(&mut self, s: &str, pre: bool) -> Span {
        let bytes = s.as_bytes();
        let from = self.out.len();
        let mut run = 0;
        let mut i = 0;
        while i < bytes.len() {
            let b = bytes[i];
            if CLASS[b as usize] == PLAIN {
                i += 1;
                continue;
            }
            // One blank between two words stays as it is, the commonest case.
            if b == b' ' && i > run && bytes.get(i + 1).is_some_and(|&b| CLASS[b as usize] == PLAIN) {
                i += 2;
                continue;
            }
            let (mut width, mut gap) = match at(&bytes[i..]) {
                At::Text(n) => {
                    i += n;
                    continue;
                }
                At::Nothing(n) => (n, Gap::None),
                At::Space(n) => (n, if pre && b == b'\n' { Gap::Line } else { Gap::Space }),
            };
            self.flush(&s[run..i]);
            while i + width < bytes.len() {
                match at(&bytes[i + width..]) {
                    At::Text(_) => break,
                    At::Nothing(n) => width += n,
                    At::Space(n) => {
                        let line = pre && bytes[i + width] == b'\n';
                        gap = gap.max(if line { Gap::Line } else { Gap::Space });
                        width += n;
                    }
                }
            }
            self.gap(gap);
            i += width;
            run = i;
        }
        self.flush(&s[run..]);
        self.since(from)
    }

    #[inline]
    fn flush(&mut self, s: &str) {
        if s.is_empty() {
            return;
        }
        if self.out.len() + s.len() >= self.limit {
            return self.flush_last(s);
        }
        self.separate();
        self.out.push_str(s);
    }

    #[inline]
    fn separate(&mut self) {
        if self.gap != Gap::None {
            if !self.out.is_empty() {
                self.out.push(match self.gap {
                    Gap::Line => '\n',
                    Gap::Cell => '\t',
                    _ => ' ',
                });
            }
            self.gap = Gap::None;
        }
    }

    /// The limit is near: what fits is kept, the rest is not.
    #[cold]
    fn flush_last(&mut self, s: &str) {
        if self.full {
            return;
        }
        let room = self.limit.saturating_sub(self.out.len() + 1);
        let s = s[..s.floor_char_boundary(room)].trim_end();
        if s.is_empty() {
            self.full = true;
            return;
        }
        self.separate();
        self.out.push_str(s);
        self.full = self.out.len() + 4 >= self.limit;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn collapses() {
        for (from, to) in [
            ("  a \n b  ", "a b"),
            ("a\u{a0}\u{a0}b", "a b"),
            ("data\u{ad}base", "database"),
            ("x\u{3000}y \u{2003} z", "x y z"),
            ("é ü  ö", "é ü ö"),
            ("…“q”…", "…“q”…"),
            (" \t\n\u{200b}", ""),
            ("a\u{1}b", "a b"),
            ("a \u{ad} b", "a b"),
            ("a  b c   d", "a b c d"),
        ] {
            assert_eq!(collapsed(from, 1000), to, "{from:?}");
        }
    }

    #[test]
    fn spans_leave_gaps_out() {
        let mut t = Text::new(1000);
        assert_eq!(t.push("one ", false), Span::new(0, 3));
        assert_eq!(t.push(" \n ", false).len(), 0);
        assert_eq!(t.push(" two", false), Span::new(4, 7));
        t.gap(Gap::Line);
        assert_eq!(t.push("a\n\nb", true), Span::new(8, 11));
        assert_eq!(t.as_str(), "one two\na\nb");
    }

    #[test]
    fn stops_at_the_limit() {
        let mut t = Text::new(10);
        for _ in 0..100 {
            t.push("äöü ", false);
        }
        assert!(t.full && t.len() <= 10);
    }

    proptest! {
        #[test]
        fn same_as_split_whitespace(words in proptest::collection::vec("[a-zé…]{1,5}", 0..8), ws in "[ \n\t]{1,3}") {
            let s = words.join(&ws);
            prop_assert_eq!(collapsed(&s, 1 << 20), words.join(" "));
        }

        #[test]
        fn anything(s in "\\PC{0,80}", pre: bool, limit in 0usize..60) {
            let mut t = Text::new(limit);
            let a = t.push(&s, pre);
            let b = t.push(&s, pre);
            prop_assert!(t.as_str().get(a.start as usize..a.end as usize).is_some());
            prop_assert!(t.as_str().get(b.start as usize..b.end as usize).is_some());
            prop_assert!(t.len() <= limit.max(1));
            prop_assert_eq!(t.as_str().trim(), t.as_str());
        }
    }
}
