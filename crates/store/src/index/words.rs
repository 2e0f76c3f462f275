//! Text → lower-case words. Scripts written without blanks (Chinese, Japanese, Thai …) give one token per character,
//! so that a query word becomes a phrase of characters and is found anywhere.

use tantivy::tokenizer::{Token, TokenStream, Tokenizer};

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
        while let Some((from, to)) = next_word(self.text, self.at) {
            self.at = to;
            self.token.position = self.token.position.wrapping_add(1);
            let Some(word) = self.text.get(from..to).filter(|w| w.len() <= MAX_WORD) else { continue };
            self.token.offset_from = from;
            self.token.offset_to = to;
            lower(word, &mut self.token.text);
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

fn lower(word: &str, out: &mut String) {
    out.clear();
    if word.is_ascii() {
        out.push_str(word);
        out.make_ascii_lowercase();
    } else {
        out.extend(word.chars().flat_map(char::to_lowercase));
    }
}

/// The byte range of the next word at or after `at`.
fn next_word(text: &str, at: usize) -> Option<(usize, usize)> {
    let bytes = text.as_bytes();
    let mut start = at;
    loop {
        let b = *bytes.get(start)?;
        if b.is_ascii_alphanumeric() {
            break;
        }
        if b.is_ascii() {
            start += 1;
            continue;
        }
        let c = text.get(start..)?.chars().next()?;
        if is_unspaced(c) && c.is_alphanumeric() {
            return Some((start, start + c.len_utf8()));
        }
        if c.is_alphanumeric() {
            break;
        }
        start += c.len_utf8();
    }
    let mut end = start;
    while let Some(&b) = bytes.get(end) {
        if b.is_ascii_alphanumeric() {
            end += 1;
            continue;
        }
        if b.is_ascii() {
            break;
        }
        match text.get(end..).and_then(|rest| rest.chars().next()) {
            Some(c) if c.is_alphanumeric() && !is_unspaced(c) => end += c.len_utf8(),
            _ => break,
        }
    }
    Some((start, end))
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
