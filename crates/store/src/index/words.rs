//! Text → lower-case words. Scripts written without blanks (Chinese, Japanese, Thai …) give one token per
//! character, so that a query word becomes a phrase of characters and is found anywhere.

use tantivy::tokenizer::{TextAnalyzer, Token, TokenStream, Tokenizer};

/// Longer runs are hashes, base 64 or the like, never a word someone looks for.
const MAX_WORD: usize = 64;

#[derive(Clone, Default)]
pub(super) struct Words {
    token: Token,
}

pub(super) struct WordStream<'a> {
    text: &'a str,
    at: usize,
    token: &'a mut Token,
}

impl Tokenizer for Words {
    type TokenStream<'a> = WordStream<'a>;
    fn token_stream<'a>(&'a mut self, text: &'a str) -> WordStream<'a> {
        self.token.reset();
        WordStream { text, at: 0, token: &mut self.token }
    }
}

impl TokenStream for WordStream<'_> {
    fn advance(&mut self) -> bool {
        while let Some((from, to, letters)) = next_word(self.text, self.at) {
            self.at = to;
            self.token.position = self.token.position.wrapping_add(1);
            let Some(word) = self.text.get(from..to).filter(|w| w.len() <= MAX_WORD) else { continue };
            self.token.offset_from = from;
            self.token.offset_to = to;
            let out = &mut self.token.text;
            out.clear();
            match letters {
                Letters::Small => out.push_str(word),
                Letters::Ascii => {
                    out.push_str(word);
                    out.make_ascii_lowercase();
                }
                Letters::Any => out.extend(word.chars().flat_map(char::to_lowercase)),
            }
            return true;
        }
        false
    }
    fn token(&self) -> &Token {
        self.token
    }
    fn token_mut(&mut self) -> &mut Token {
        self.token
    }
}

/// Calls `found(word, position)` for every token that `analyzer`, which is made of [`Words`] and a filter for
/// what is not ASCII, has for the text. Most words are taken from the text as they stand there.
pub(super) fn each_word(text: &str, analyzer: &mut TextAnalyzer, mut found: impl FnMut(&[u8], u32)) {
    let (mut at, mut position) = (0, 0);
    let mut lower = [0; MAX_WORD];
    while let Some((from, to, letters)) = next_word(text, at) {
        at = to;
        if let Some(word) = text.get(from..to).filter(|w| w.len() <= MAX_WORD) {
            match (letters, lower.get_mut(..word.len())) {
                (Letters::Ascii, Some(lower)) => {
                    lower.copy_from_slice(word.as_bytes());
                    lower.make_ascii_lowercase();
                    found(lower, position);
                }
                (Letters::Any, _) => {
                    analyzer.token_stream(word).process(&mut |token| found(token.text.as_bytes(), position));
                }
                _ => found(word.as_bytes(), position),
            }
        }
        position += 1;
    }
}

/// What a word consists of: most are done with a look at each byte.
enum Letters {
    /// Small ASCII letters and digits.
    Small,
    Ascii,
    Any,
}

const SMALL: u8 = 1;
const CAPITAL: u8 = 2;
/// What an ASCII byte is; 0 for what is in no word, and for every byte that is not ASCII.
const CLASS: [u8; 256] = {
    let mut table = [0; 256];
    let mut b = 0u8;
    while b < 128 {
        if b.is_ascii_uppercase() {
            table[b as usize] = CAPITAL;
        } else if b.is_ascii_alphanumeric() {
            table[b as usize] = SMALL;
        }
        b += 1;
    }
    table
};

/// The byte range of the next word at or after `at`.
fn next_word(text: &str, at: usize) -> Option<(usize, usize, Letters)> {
    let bytes = text.as_bytes();
    let mut start = at;
    loop {
        let b = *bytes.get(start)?;
        if CLASS[usize::from(b)] != 0 {
            break;
        }
        if b.is_ascii() {
            start += 1;
            continue;
        }
        let c = text.get(start..)?.chars().next()?;
        if is_unspaced(c) && c.is_alphanumeric() {
            return Some((start, start + c.len_utf8(), Letters::Any));
        }
        if c.is_alphanumeric() {
            break;
        }
        start += c.len_utf8();
    }
    let (mut end, mut seen, mut ascii) = (start, 0, true);
    while let Some(&b) = bytes.get(end) {
        let class = CLASS[usize::from(b)];
        if class != 0 {
            seen |= class;
            end += 1;
            continue;
        }
        if b.is_ascii() {
            break;
        }
        match text.get(end..).and_then(|rest| rest.chars().next()) {
            Some(c) if c.is_alphanumeric() && !is_unspaced(c) => {
                ascii = false;
                end += c.len_utf8();
            }
            _ => break,
        }
    }
    let letters = match (ascii, seen & CAPITAL == 0) {
        (true, true) => Letters::Small,
        (true, false) => Letters::Ascii,
        (false, _) => Letters::Any,
    };
    Some((start, end, letters))
}

/// Scripts that do not put blanks between words.
fn is_unspaced(c: char) -> bool {
    matches!(c,
        '\u{0E00}'..='\u{0EFF}'      // Thai, Lao
        | '\u{1000}'..='\u{109F}'    // Burmese
        | '\u{1780}'..='\u{17FF}'    // Khmer
        | '\u{3040}'..='\u{30FF}'    // Hiragana, Katakana
        | '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{3FFFF}')
}
