//! What the characters of a PDF font mean: its own map to Unicode, and the names that a font brings along.
//!
//! The library takes a map only if the font says nothing else, and none whose head it does not understand; of
//! the names inside a font file it knows nothing. Files of TeX have both.

use lopdf::{Dictionary, Document, Object};
use std::collections::HashMap;

/// Characters of a font that are known, letters of one of them, bytes of a font file's head.
const MOST: usize = 70_000;
const LONGEST: usize = 16;
const HEAD: usize = 64 << 10;

/// Code → text, of a `ToUnicode` stream.
pub fn unicode(map: &[u8]) -> HashMap<u32, String> {
    let mut out = HashMap::new();
    let mut tokens = Tokens(map);
    while let Some(token) = tokens.next() {
        match token {
            Token::Word(b"beginbfchar") => {
                while let (Some(Token::Hex(code)), Some(Token::Hex(text))) = (tokens.next(), tokens.next()) {
                    put(&mut out, number(&code), text_of(&text));
                }
            }
            Token::Word(b"beginbfrange") => {
                while let (Some(Token::Hex(first)), Some(Token::Hex(last))) = (tokens.next(), tokens.next()) {
                    let (first, last) = (number(&first), number(&last));
                    match tokens.next() {
                        Some(Token::Hex(text)) => range(&mut out, first, last, &text),
                        Some(Token::Open) => {
                            let mut code = first;
                            while let Some(Token::Hex(text)) = tokens.next() {
                                if code <= last {
                                    put(&mut out, code, text_of(&text));
                                }
                                code = code.saturating_add(1);
                            }
                        }
                        _ => break,
                    }
                }
            }
            _ => {}
        }
    }
    out
}

fn put(out: &mut HashMap<u32, String>, code: u32, text: String) {
    if out.len() < MOST {
        out.insert(code, text);
    }
}

/// Codes that follow one another mean characters that do.
fn range(out: &mut HashMap<u32, String>, first: u32, last: u32, text: &[u8]) {
    let text = text_of(text);
    let Some(end) = text.chars().next_back() else { return };
    let before = &text[..text.len() - end.len_utf8()];
    for code in (first..=last).take(MOST.saturating_sub(out.len())) {
        if let Some(c) = char::from_u32((end as u32).saturating_add(code - first)) {
            out.insert(code, format!("{before}{c}"));
        }
    }
}

fn number(hex: &[u8]) -> u32 {
    hex.iter().take(4).fold(0, |n, b| n << 8 | u32::from(*b))
}

fn text_of(hex: &[u8]) -> String {
    let units: Vec<u16> = match hex {
        [one] => vec![u16::from(*one)],
        _ => hex.as_chunks::<2>().0.iter().map(|pair| u16::from_be_bytes(*pair)).collect(),
    };
    let chars = char::decode_utf16(units).filter_map(Result::ok).take(LONGEST);
    chars.filter(|c| *c != '\0').collect()
}

/// The words of PostScript, as far as these files need them.
struct Tokens<'a>(&'a [u8]);

enum Token<'a> {
    Word(&'a [u8]),
    Hex(Vec<u8>),
    Open,
    Close,
}

impl<'a> Iterator for Tokens<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        loop {
            self.0 = self.0.trim_ascii_start();
            let (first, rest) = self.0.split_first()?;
            match first {
                b'%' => {
                    let end = rest.iter().position(|b| matches!(b, b'\n' | b'\r')).unwrap_or(rest.len());
                    self.0 = rest.get(end..)?;
                }
                b'<' if rest.first() == Some(&b'<') => self.0 = rest.get(1..)?,
                b'>' => self.0 = rest,
                b'<' => {
                    let end = rest.iter().position(|b| *b == b'>').unwrap_or(rest.len());
                    let (inside, after) = rest.split_at(end);
                    self.0 = after.get(1..).unwrap_or_default();
                    return Some(Token::Hex(bytes(inside)));
                }
                b'[' | b']' => {
                    self.0 = rest;
                    return Some(if *first == b'[' { Token::Open } else { Token::Close });
                }
                _ => {
                    let is_end =
                        |b: &u8| b.is_ascii_whitespace() || matches!(b, b'<' | b'>' | b'[' | b']' | b'%');
                    // A name begins with a slash, and ends where the next one does.
                    let end = rest.iter().position(|b| is_end(b) || *b == b'/').unwrap_or(rest.len());
                    let (word, after) = self.0.split_at(end + 1);
                    self.0 = after;
                    return Some(Token::Word(word));
                }
            }
        }
    }
}

fn bytes(hex: &[u8]) -> Vec<u8> {
    let digits: Vec<u8> = hex.iter().filter_map(|b| (*b as char).to_digit(16)).map(|d| d as u8).collect();
    digits.chunks(2).map(|pair| pair.iter().fold(0, |n, d| n << 4 | d) << (4 * (2 - pair.len()))).collect()
}

/// Code → text, by the names in the head of a Type 1 font file (`dup 12 /fi put`).
pub fn built_in(file: &[u8]) -> HashMap<u32, String> {
    let head = file.get(..HEAD).unwrap_or(file);
    let mut tokens = Tokens(head);
    let mut differences = Vec::new();
    while let Some(token) = tokens.next() {
        match token {
            Token::Word(b"eexec") => break,
            Token::Word(b"dup") if differences.len() < 512 => {
                let (Some(Token::Word(code)), Some(Token::Word(name))) = (tokens.next(), tokens.next())
                else {
                    continue;
                };
                let code = std::str::from_utf8(code).ok().and_then(|c| c.parse::<u8>().ok());
                if let (Some(code), Some(name)) = (code, name.strip_prefix(b"/")) {
                    differences.push(Object::Integer(code.into()));
                    differences.push(Object::Name(name.to_vec()));
                }
            }
            _ => {}
        }
    }
    named(differences)
}

/// The library knows what the names mean, and says so of the font of a document.
fn named(differences: Vec<Object>) -> HashMap<u32, String> {
    let codes: Vec<u8> =
        differences.iter().filter_map(|o| o.as_i64().ok()).filter_map(|c| u8::try_from(c).ok()).collect();
    let mut encoding = Dictionary::new();
    encoding.set("Type", Object::Name(b"Encoding".to_vec()));
    encoding.set("Differences", Object::Array(differences));
    let mut font = Dictionary::new();
    font.set("Type", Object::Name(b"Font".to_vec()));
    font.set("Encoding", Object::Dictionary(encoding));
    let document = Document::new();
    let Ok(encoding) = font.get_font_encoding(&document) else { return HashMap::new() };
    let text = |code: u8| Some((u32::from(code), Document::decode_text(&encoding, &[code]).ok()?));
    codes.into_iter().filter_map(text).filter(|(_, text)| !text.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(text: &str) -> Vec<(u32, String)> {
        let mut all: Vec<_> = unicode(text.as_bytes()).into_iter().collect();
        all.sort_unstable();
        all
    }

    #[test]
    fn maps_to_unicode() {
        let text = "/CMapName //fonts/Sabon LT Std/Sabon.otf,000-UTF16 def << /Registry (Adobe) >> def\n\
             1 begincodespacerange <0000> <FFFF> endcodespacerange % and so on\n\
             2 beginbfchar <0002> <0021> <00E0><00660069> endbfchar\n\
             2 beginbfrange <000C> <000E> <002B> <0010> <0012> [<0061> <D83DDE00>] endbfrange endcmap";
        let expected = [(2, "!"), (12, "+"), (13, ","), (14, "-"), (16, "a"), (17, "😀"), (0xe0, "fi")];
        assert_eq!(map(text), expected.map(|(code, text)| (code, text.to_string())));
    }

    #[test]
    fn nonsense_is_no_map() {
        for text in [
            "",
            "beginbfchar",
            "1 beginbfchar <00",
            "beginbfrange <00> <FFFFFFFF>",
            "beginbfchar <01> 7 <02> <0041>",
        ] {
            assert_eq!(map(text), [], "{text}");
        }
        // As many as are kept, without the numbers that are no characters.
        let all = unicode(b"1 beginbfrange <00000000> <FFFFFFFF> <0041> endbfrange");
        assert_eq!(all.len(), MOST - 0x800);
    }

    #[test]
    fn names_in_a_font_file() {
        let head = b"%!PS-AdobeFont-1.0: CMR10\n/Encoding 256 array 0 1 255 {1 index exch /.notdef put} for\n\
             dup 12 /fi put dup 104 /angbracketleft put\ndup 65/A put readonly def currentfile eexec dup 66 /B put";
        let mut all: Vec<_> = built_in(head).into_iter().collect();
        all.sort_unstable();
        let known: Vec<u32> = all.iter().map(|(code, _)| *code).collect();
        assert_eq!(known, [12, 65, 104], "{all:?}");
        assert_eq!((all[0].1.as_str(), all[1].1.as_str()), ("\u{fb01}", "A"));
    }
}
