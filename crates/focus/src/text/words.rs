//! Words of a text: found, folded and hashed in one pass, without an allocation per word.
//!
//! The same normaliser runs over terms and over text, so whatever it does to a spelling, both sides agree:
//! * case and accents are folded (NFKD, marks dropped): `Álgebra` = `algebra`, `ß` = `ss`, `ﬁ` = `fi`;
//! * `what's` and `what’s` are `whats`, but `l'algèbre` is `l` `algebre` (only English endings are joined);
//! * `b-tree` is `b` `tree`; `Ph.D.`, `U.S.A.` and `M.Sc.` are `phd`, `usa`, `msc`; `3.11` is `3` `11`;
//! * `c++`, `g++`, `c#` and `f#` keep their signs;
//! * soft hyphens and zero-width characters inside a word are not there;
//! * scripts written without blanks (Han, Kana) give one token per character: phrases find their words.

use std::sync::LazyLock;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// A word of a text: the hash of its normalised (and perhaps stemmed) spelling, and where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    /// Stable between runs, machines and versions: learned models keep it.
    pub hash: u64,
    /// First byte in its text.
    pub start: u32,
    len: u16,
    stop: bool,
}

impl Token {
    pub(crate) fn new(hash: u64, start: usize, end: usize, stop: bool) -> Token {
        let start = u32::try_from(start).unwrap_or(u32::MAX);
        Token { hash, start, len: u16::try_from(end - start as usize).unwrap_or(u16::MAX), stop }
    }
    /// End of the word in the source text.
    pub fn end(self) -> u32 {
        self.start + u32::from(self.len)
    }
    /// A word too common to say anything (`the`): part of phrases, not of vectors.
    pub fn is_stop(self) -> bool {
        self.stop
    }
    /// Where it stands in its text.
    pub fn span(self) -> types::Span {
        types::Span { start: self.start, end: self.end() }
    }
}

/// Words are cut after this many bytes of source: a megabyte of letters without a blank is many tokens.
const LONGEST: usize = 128;

const FNV: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0000_0100_0000_01b3;

/// FNV-1a over the UTF-8 bytes, with a final mix so that the low bits are good ones too.
#[derive(Clone, Copy)]
pub(crate) struct WordHash(u64);

impl WordHash {
    pub fn new() -> WordHash {
        WordHash(FNV)
    }
    #[inline]
    pub fn byte(&mut self, b: u8) {
        self.0 = (self.0 ^ u64::from(b)).wrapping_mul(PRIME);
    }
    pub fn finish(self) -> u64 {
        let h = self.0;
        (h ^ (h >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (h >> 29)
    }
}

/// The same hash of any bytes.
pub(crate) fn word_hash_of(bytes: &[u8]) -> u64 {
    let mut h = WordHash::new();
    bytes.iter().for_each(|b| h.byte(*b));
    h.finish()
}

/// Hash of a normalised word, as in [`Token::hash`].
pub fn word_hash(normalised: &str) -> u64 {
    let mut h = WordHash::new();
    normalised.bytes().for_each(|b| h.byte(b));
    h.finish()
}

/// Where a scanned word's normalised characters go.
pub(crate) trait Sink {
    fn byte(&mut self, b: u8);
    fn char(&mut self, c: char) {
        let mut buf = [0; 4];
        c.encode_utf8(&mut buf).bytes().for_each(|b| self.byte(b));
    }
}
impl Sink for WordHash {
    #[inline]
    fn byte(&mut self, b: u8) {
        WordHash::byte(self, b);
    }
}
impl Sink for String {
    fn byte(&mut self, b: u8) {
        // Only ever ASCII: other characters come through `char`.
        self.push(b as char);
    }
    fn char(&mut self, c: char) {
        self.push(c);
    }
}

/// Lower case of an ASCII letter or digit, 0 for every other byte.
const LOWER: [u8; 256] = {
    let mut table = [0; 256];
    let mut b = 0;
    while b < 128 {
        if (b as u8).is_ascii_alphanumeric() {
            table[b] = (b as u8).to_ascii_lowercase();
        }
        b += 1;
    }
    table
};

/// Signs that may go on with a word: apostrophe, dot, plus, hash, and everything that is not ASCII.
const GOES_ON: [bool; 256] = {
    let mut table = [false; 256];
    table[b'\'' as usize] = true;
    table[b'.' as usize] = true;
    table[b'+' as usize] = true;
    table[b'#' as usize] = true;
    let mut b = 128;
    while b < 256 {
        table[b] = true;
        b += 1;
    }
    table
};

/// Calls `found(start, end, hash)` for every word of `text`.
pub(crate) fn each_word(text: &str, mut found: impl FnMut(usize, usize, u64)) {
    let bytes = text.as_bytes();
    let mut i = 0;
    while let Some(&b) = bytes.get(i) {
        if LOWER[b as usize] == 0 {
            if b < 128 {
                i += 1;
                continue;
            }
            let c = char_at(text, i);
            if !c.is_alphanumeric() {
                i += c.len_utf8();
                continue;
            }
        }
        // Most words are plain letters between blanks.
        let mut hash = WordHash::new();
        let mut end = i;
        let plain = bytes.get(i..bytes.len().min(i + LONGEST)).unwrap_or(&[]);
        for &b in plain {
            let lower = LOWER[b as usize];
            if lower == 0 {
                break;
            }
            hash.byte(lower);
            end += 1;
        }
        let next = bytes.get(end).copied().unwrap_or(b' ');
        // The dot of a sentence's end is followed by no letter.
        let ends = next == b'.' && bytes.get(end + 1).is_none_or(|b| LOWER[*b as usize] == 0);
        if GOES_ON[next as usize] && !ends && end < i + LONGEST {
            hash = WordHash::new();
            end = scan(text, i, &mut hash);
        }
        if hash.0 != FNV {
            found(i, end, hash.finish());
        }
        i = end;
    }
}

/// The normalised spelling of one word of a text.
pub fn normalise(word: &str) -> String {
    let mut out = String::with_capacity(word.len());
    each_word(word, |start, _, _| {
        scan(word, start, &mut out);
    });
    out
}

fn char_at(text: &str, i: usize) -> char {
    text.get(i..).and_then(|t| t.chars().next()).unwrap_or('\u{fffd}')
}

/// Reads one word from `start` (a word character), gives its normalised characters to `sink`, returns its
/// end.
fn scan(text: &str, start: usize, sink: &mut impl Sink) -> usize {
    let bytes = text.as_bytes();
    let at = |i: usize| bytes.get(i).copied().unwrap_or(b' ');
    let limit = start + LONGEST;
    let mut i = start;
    // Letters since the start or the last joined dot; `None` once it holds anything but ASCII letters.
    let mut segment = start;
    let mut letters_only = true;
    while i < limit {
        let b = at(i);
        let lower = LOWER[b as usize];
        if lower != 0 {
            letters_only &= b > b'9';
            sink.byte(lower);
            i += 1;
            continue;
        }
        match b {
            b'\'' if i > start => match clitic(bytes, i + 1) {
                Some(end) => i = copy_ascii(bytes, i + 1, end, sink),
                None => return i,
            },
            b'.' if letters_only && i > segment => match initials(bytes, segment, i) {
                Some(end) => {
                    segment = i + 1;
                    i = copy_ascii(bytes, i + 1, end, sink);
                }
                None => return i,
            },
            b'+' if i > start && at(i + 1) == b'+' && LOWER[at(i + 2) as usize] == 0 && at(i + 2) != b'+' => {
                sink.byte(b'+');
                sink.byte(b'+');
                return i + 2;
            }
            b'#' if i == start + 1 && letters_only && LOWER[at(i + 1) as usize] == 0 && at(i + 1) < 128 => {
                sink.byte(b'#');
                return i + 1;
            }
            0..=127 => return i,
            _ => {
                let c = char_at(text, i);
                let size = c.len_utf8();
                letters_only = false;
                if is_ideograph(c) {
                    // One token per character; a Latin word before it ends here.
                    if i == start {
                        fold(c, sink);
                        return i + size;
                    }
                    return i;
                }
                if is_invisible(c) {
                    i += size;
                } else if c.is_alphanumeric() || is_combining_mark(c) {
                    fold(c, sink);
                    i += size;
                } else if matches!(c, '\u{2019}' | '\u{2bc}') && i > start {
                    match clitic(bytes, i + size) {
                        Some(end) => i = copy_ascii(bytes, i + size, end, sink),
                        None => return i,
                    }
                } else {
                    return i;
                }
            }
        }
    }
    i
}

fn copy_ascii(bytes: &[u8], start: usize, end: usize, sink: &mut impl Sink) -> usize {
    for &b in bytes.get(start..end).unwrap_or(&[]) {
        sink.byte(LOWER[b as usize]);
    }
    end
}

/// Length of the run of ASCII letters at `i`, if nothing else of a word follows it; at most `most`.
fn letters(bytes: &[u8], i: usize, most: usize) -> Option<usize> {
    let mut n = 0;
    while let Some(&b) = bytes.get(i + n) {
        if !b.is_ascii_alphabetic() {
            if b.is_ascii_digit() || b >= 128 {
                return None;
            }
            break;
        }
        n += 1;
        if n > most {
            return None;
        }
    }
    (n > 0).then_some(n)
}

/// The end of an English ending after an apostrophe: what|s, don|t, we|re.
fn clitic(bytes: &[u8], i: usize) -> Option<usize> {
    let n = letters(bytes, i, 2)?;
    let known =
        match (bytes.get(i).map(u8::to_ascii_lowercase), bytes.get(i + 1).map(u8::to_ascii_lowercase), n) {
            (Some(b's' | b't' | b'd' | b'm'), _, 1) => true,
            (Some(a), Some(b), 2) => matches!(&[a, b], b"re" | b"ve" | b"ll"),
            _ => false,
        };
    known.then_some(i + n)
}

/// `dot` stands between two short runs of letters, one of them a single letter: Ph|.D, U|.S, M|.Sc. The end
/// of the second run.
fn initials(bytes: &[u8], segment: usize, dot: usize) -> Option<usize> {
    let before = dot - segment;
    let after = letters(bytes, dot + 1, 2)?;
    (before <= 2 && (before == 1 || after == 1)).then_some(dot + 1 + after)
}

fn is_ideograph(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{3134f}')
}

fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{feff}')
}

/// Accents and vowel points, which spellings add and leave out freely; not the vowel signs of Indic scripts,
/// which are part of the word.
fn is_accent(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}' | '\u{483}'..='\u{487}' | '\u{591}'..='\u{5c7}' | '\u{610}'..='\u{61a}'
        | '\u{64b}'..='\u{65f}' | '\u{670}' | '\u{1ab0}'..='\u{1aff}' | '\u{1dc0}'..='\u{1dff}'
        | '\u{20d0}'..='\u{20ff}' | '\u{fe00}'..='\u{fe0f}' | '\u{fe20}'..='\u{fe2f}')
}

/// Two-byte characters are most of what is not ASCII on the web: their folding is looked up.
static FOLDED: LazyLock<Vec<Box<str>>> = LazyLock::new(|| {
    let folded = |c| {
        let mut out = String::new();
        fold_slowly(c, &mut out);
        out.into_boxed_str()
    };
    ('\u{80}'..'\u{800}').map(folded).collect()
});

fn fold(c: char, sink: &mut impl Sink) {
    match (c as usize).checked_sub(0x80).and_then(|i| FOLDED.get(i)) {
        Some(folded) => folded.chars().for_each(|c| sink.char(c)),
        None => fold_slowly(c, sink),
    }
}

fn fold_slowly(c: char, sink: &mut impl Sink) {
    for c in c.nfkd().flat_map(char::to_lowercase) {
        // Letters that Unicode does not decompose, though readers do.
        let letters = match c {
            // Lower case may bring a mark back: İ = i + dot above.
            c if is_accent(c) => "",
            'ß' => "ss",
            'ς' => "σ",
            'ı' => "i",
            'ø' => "o",
            'đ' | 'ð' => "d",
            'ł' => "l",
            'ħ' => "h",
            'æ' => "ae",
            'œ' => "oe",
            'þ' => "th",
            c => {
                sink.char(c);
                continue;
            }
        };
        letters.chars().for_each(|c| sink.char(c));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn words(text: &str) -> Vec<String> {
        let mut out = Vec::new();
        each_word(text, |start, end, hash| {
            let word = normalise(&text[start..end]);
            assert_eq!(word_hash(&word), hash, "{word}");
            out.push(word);
        });
        out
    }

    #[test]
    fn spellings() {
        let table: &[(&str, &[&str])] = &[
            ("", &[]),
            ("  -- !! ", &[]),
            ("Relational\nAlgebra", &["relational", "algebra"]),
            ("What's new, what’s old", &["whats", "new", "whats", "old"]),
            ("don't we're students' O'Reilly", &["dont", "were", "students", "o", "reilly"]),
            ("l'algèbre d'un qu'il", &["l", "algebre", "d", "un", "qu", "il"]),
            ("B-tree B–tree", &["b", "tree", "b", "tree"]),
            ("Ph.D. ph.d PhD, U.S.A. M.Sc. e.g. this", &["phd", "phd", "phd", "usa", "msc", "eg", "this"]),
            ("end.A new node.js www.cs.edu", &["end", "a", "new", "node", "js", "www", "cs", "edu"]),
            ("C++ and C# or g++, a+b, c+++", &["c++", "and", "c#", "or", "g++", "a", "b", "c"]),
            ("3.11 and 1,000", &["3", "11", "and", "1", "000"]),
            (
                "Álgebra STRASSE Straße Œuvre Łódź Søren",
                &["algebra", "strasse", "strasse", "oeuvre", "lodz", "soren"],
            ),
            ("e\u{301}cole soft\u{ad}ware ﬁle ＡＢＣ", &["ecole", "software", "file", "abc"]),
            ("Иван Ёлка Σίσυφος", &["иван", "елка", "σισυφοσ"]),
            ("数据库 SQL入門", &["数", "据", "库", "sql", "入", "門"]),
            ("snake_case CS415", &["snake", "case", "cs415"]),
            ("\u{301}alone İstanbul", &["alone", "istanbul"]),
        ];
        for (text, expected) in table {
            assert_eq!(words(text), *expected, "{text:?}");
        }
    }

    #[test]
    fn one_endless_word_is_cut() {
        let text = "é".repeat(10_000);
        assert!(words(&text).len() > 100);
    }

    #[test]
    fn hashes_never_change() {
        // Learned models on disk keep these: a change here needs a new version of every saved state.
        let expected = {
            let mut h = 0xcbf2_9ce4_8422_2325u64;
            for b in b"syllabus" {
                h = (h ^ u64::from(*b)).wrapping_mul(0x100_0000_01b3);
            }
            (h ^ (h >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (h >> 29)
        };
        assert_eq!(word_hash("syllabus"), expected);
    }

    proptest! {
        #[test]
        fn anything_is_survived(text in "\\PC{0,200}") {
            let mut last = 0;
            each_word(&text, |start, end, _| {
                assert!(start >= last && end > start && text.get(start..end).is_some());
                last = end;
            });
        }

        #[test]
        fn mixed_signs_are_survived(text in "[a-cA-C.'’+# é\u{301}\u{ad}数0-9-]{0,80}") {
            let once = words(&text).join(" ");
            // Normalising twice changes nothing.
            prop_assert_eq!(words(&once).join(" "), once);
        }
    }
}
