//! The source of a page, cut into tags, comments and text as the standard's tokenizer does (§13.2.5).
//!
//! The input has no NUL and no carriage return (see [`crate::quick`]), so a piece of the source that holds no
//! character reference is what it says, and is borrowed.

use crate::names::{self, Attr, Name, UNKNOWN, pack};
use crate::quick::Odd;
use crate::walk::Attrs;
use html5ever::data::{C1_REPLACEMENTS, NAMED_ENTITIES};
use memchr::{memchr, memmem};
use std::borrow::Cow;

/// Tags with more attributes are left to the parser that guards against them.
const MAX_ATTRS: u32 = 128;

pub struct Source<'s> {
    pub text: &'s str,
    pub at: usize,
}

/// A start or end tag.
#[derive(Clone, Copy, Debug)]
pub struct TagToken<'s> {
    pub name: Name<'s>,
    pub self_closing: bool,
    /// Attributes of any name.
    pub attrs: u32,
}

/// `None`: the source ended inside it, so there is none.
type Scanned<T> = Result<Option<T>, Odd>;

#[inline]
fn is_space(b: u8) -> bool {
    matches!(b, b' ' | b'\n' | b'\t' | 0x0c)
}

pub fn is_blank(text: &str) -> bool {
    text.bytes().all(is_space)
}

impl<'s> Source<'s> {
    #[inline]
    fn bytes(&self) -> &'s [u8] {
        self.text.as_bytes()
    }
    #[inline]
    pub fn peek(&self, ahead: usize) -> Option<u8> {
        self.bytes().get(self.at + ahead).copied()
    }
    #[inline]
    pub fn rest(&self) -> &'s [u8] {
        self.bytes().get(self.at..).unwrap_or_default()
    }
    #[inline]
    pub fn slice(&self, from: usize, to: usize) -> &'s str {
        self.text.get(from..to).unwrap_or_default()
    }
    fn end(&mut self) {
        self.at = self.text.len();
    }

    /// A tag whose name begins here. `foreign`: names may have capitals (SVG has `linearGradient`).
    pub fn tag(&mut self, attrs: &mut Attrs<'s>, foreign: bool) -> Scanned<TagToken<'s>> {
        attrs.clear();
        let bytes = self.bytes();
        let start = self.at;
        let (mut key, mut upper) = (0, false);
        let mut at = start;
        loop {
            match bytes.get(at) {
                None => {
                    self.end();
                    return Ok(None);
                }
                Some(b'>' | b'/') => break,
                Some(&b) if is_space(b) => break,
                Some(&b) => {
                    upper |= b.is_ascii_uppercase();
                    key = pack(key, b.to_ascii_lowercase());
                    at += 1;
                }
            }
        }
        let id = if at - start <= names::LONGEST { names::tag_of(key) } else { UNKNOWN };
        let name = if id != UNKNOWN {
            Name::known(id)
        } else if upper && !foreign {
            return Err(Odd("a name of one's own in capitals"));
        } else {
            Name { id, text: self.slice(start, at) }
        };
        self.at = at;
        let mut token = TagToken { name, self_closing: false, attrs: 0 };
        loop {
            match self.peek(0) {
                None => return Ok(None),
                Some(b'>') => {
                    self.at += 1;
                    return Ok(Some(token));
                }
                Some(b'/') => {
                    self.at += 1;
                    if self.peek(0) == Some(b'>') {
                        self.at += 1;
                        token.self_closing = true;
                        return Ok(Some(token));
                    }
                }
                Some(b) if is_space(b) => self.at += 1,
                Some(_) => {
                    token.attrs += 1;
                    if token.attrs > MAX_ATTRS {
                        return Err(Odd("very many attributes"));
                    }
                    if !self.attribute(attrs) {
                        self.end();
                        return Ok(None);
                    }
                }
            }
        }
    }

    /// One attribute; `false` when the source ends inside it.
    fn attribute(&mut self, attrs: &mut Attrs<'s>) -> bool {
        let bytes = self.bytes();
        let start = self.at;
        let mut at = start;
        let mut key = 0;
        loop {
            match bytes.get(at) {
                None => return false,
                // An equals sign in front is a part of the name.
                Some(b'=') if at > start => break,
                Some(b'>' | b'/') => break,
                Some(&b) if is_space(b) => break,
                Some(&b) => {
                    key = pack(key, b.to_ascii_lowercase());
                    at += 1;
                }
            }
        }
        let name = if at - start <= names::LONGEST { Attr::of_packed(key) } else { None };
        while bytes.get(at).is_some_and(|&b| is_space(b)) {
            at += 1;
        }
        let mut value = "";
        if bytes.get(at) == Some(&b'=') {
            at += 1;
            while bytes.get(at).is_some_and(|&b| is_space(b)) {
                at += 1;
            }
            match bytes.get(at) {
                None => return false,
                Some(b'>') => {}
                Some(&quote @ (b'"' | b'\'')) => {
                    let from = at + 1;
                    let Some(len) = memchr(quote, bytes.get(from..).unwrap_or_default()) else {
                        return false;
                    };
                    value = self.slice(from, from + len);
                    at = from + len + 1;
                }
                Some(_) => {
                    let from = at;
                    while bytes.get(at).is_some_and(|&b| b != b'>' && !is_space(b)) {
                        at += 1;
                    }
                    value = self.slice(from, at);
                }
            }
        }
        self.at = at;
        if let Some(name) = name
            && !attrs.has(name)
        {
            attrs.push(name, decoded(value, true));
        }
        true
    }

    /// `<!…`: the exclamation mark is next. Skips it; `true` when it was a comment (of whatever kind).
    pub fn declaration(&mut self, foreign: bool) -> Result<Declared<'s>, Odd> {
        let rest = self.rest();
        if rest.starts_with(b"!--") {
            self.at += 3;
            self.comment();
            return Ok(Declared::Comment);
        }
        if rest.get(1..8).is_some_and(|d| d.eq_ignore_ascii_case(b"doctype")) {
            let end = memchr(b'>', rest).ok_or(Odd("an unfinished doctype"))?;
            let inside = self.slice(self.at + 8, self.at + end);
            self.at += end + 1;
            // A quoted `>` ends it, too, and makes it an odd one.
            return Ok(Declared::Doctype(quirks(inside)));
        }
        if foreign && rest.starts_with(b"![CDATA[") {
            let from = self.at + 8;
            let len = memmem::find(self.bytes().get(from..).unwrap_or_default(), b"]]>");
            let len = len.ok_or(Odd("an unfinished CDATA section"))?;
            self.at = from + len + 3;
            return Ok(Declared::Text(self.slice(from, from + len)));
        }
        self.bogus();
        Ok(Declared::Comment)
    }

    /// Anything up to the next `>`.
    pub fn bogus(&mut self) {
        match memchr(b'>', self.rest()) {
            Some(n) => self.at += n + 1,
            None => self.end(),
        }
    }

    /// After `<!--`.
    fn comment(&mut self) {
        let bytes = self.bytes();
        if self.rest().starts_with(b">") || self.rest().starts_with(b"->") {
            self.at += memchr(b'>', self.rest()).unwrap_or(0) + 1;
            return;
        }
        // The two dashes that open it may also be those that close it: `<!--->` was dealt with above,
        // `<!---->` is here.
        let mut at = self.at;
        while let Some(n) = bytes.get(at..).and_then(|rest| memchr(b'>', rest)) {
            let end = at + n;
            let inside = bytes.get(self.at..end).unwrap_or_default();
            if inside.ends_with(b"--") || inside.ends_with(b"--!") {
                self.at = end + 1;
                return;
            }
            at = end + 1;
        }
        self.end();
    }

    /// The contents of an element that has no markup inside, up to its end tag, which is next then (or the
    /// end is).
    pub fn raw(&mut self, name: &str) -> &'s str {
        let bytes = self.bytes();
        let start = self.at;
        let mut at = start;
        while let Some(n) = bytes.get(at..).and_then(|rest| memmem::find(rest, b"</")) {
            let end = at + n;
            let after = bytes.get(end + 2..).unwrap_or_default();
            let named = after.get(..name.len()).is_some_and(|a| a.eq_ignore_ascii_case(name.as_bytes()));
            if named && after.get(name.len()).is_some_and(|&b| is_space(b) || matches!(b, b'/' | b'>')) {
                self.at = end;
                return self.slice(start, end);
            }
            at = end + 2;
        }
        self.end();
        self.slice(start, self.at)
    }
}

pub enum Declared<'s> {
    Comment,
    Doctype(Quirks),
    /// A CDATA section.
    Text(&'s str),
}

/// Whether a table closes a paragraph depends on the doctype.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Quirks {
    No,
    Yes,
    /// An unusual doctype.
    Unknown,
}

fn quirks(inside: &str) -> Quirks {
    let mut rest = inside.trim_ascii_start();
    if rest.len() == inside.len() {
        return Quirks::Unknown;
    }
    match rest.get(..4) {
        Some(name) if name.eq_ignore_ascii_case("html") => rest = &rest[4..],
        _ => return Quirks::Unknown,
    }
    if rest.trim_ascii().is_empty() {
        return Quirks::No;
    }
    let lower = rest.to_ascii_lowercase();
    let mut words = lower.split('"');
    let usual = words.next().is_some_and(|w| w.trim_ascii() == "public" && w.len() > 7)
        && words.next().is_some_and(|id| {
            ["-//w3c//dtd xhtml 1.0 ", "-//w3c//dtd html 4.01", "-//w3c//dtd xhtml 1.1//en"]
                .iter()
                .any(|usual| id.starts_with(usual))
        })
        && words.next().is_some_and(|between| between.trim_ascii().is_empty())
        && words.next().is_some_and(|system| system.starts_with("http://www.w3.org/tr/"))
        && words.next().is_some_and(|after| after.trim_ascii().is_empty())
        && words.next().is_none();
    if usual { Quirks::No } else { Quirks::Unknown }
}

/// The text with its character references resolved.
pub fn decoded(text: &str, in_attribute: bool) -> Cow<'_, str> {
    if memchr(b'&', text.as_bytes()).is_none() {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    decode_into(&mut out, text, in_attribute);
    Cow::Owned(out)
}

fn decode_into(out: &mut String, mut text: &str, in_attribute: bool) {
    while let Some(n) = memchr(b'&', text.as_bytes()) {
        let (before, rest) = text.split_at(n);
        out.push_str(before);
        let used = reference(out, &rest[1..], in_attribute);
        if used == 0 {
            out.push('&');
        }
        text = &rest[1 + used..];
    }
    out.push_str(text);
}

/// Appends what the reference after an ampersand stands for; how many bytes it took (0: it is none).
fn reference(out: &mut String, text: &str, in_attribute: bool) -> usize {
    let bytes = text.as_bytes();
    match bytes {
        [b'#', ..] => number(out, bytes),
        [b'l', b't', b';', ..] => one(out, '<', 3),
        [b'g', b't', b';', ..] => one(out, '>', 3),
        [b'a', b'm', b'p', b';', ..] => one(out, '&', 4),
        [b'q', b'u', b'o', b't', b';', ..] => one(out, '"', 5),
        [b'n', b'b', b's', b'p', b';', ..] => one(out, '\u{a0}', 5),
        [b, ..] if b.is_ascii_alphanumeric() => name(out, text, in_attribute),
        _ => 0,
    }
}

#[inline]
fn one(out: &mut String, c: char, used: usize) -> usize {
    out.push(c);
    used
}

fn number(out: &mut String, bytes: &[u8]) -> usize {
    let hex = matches!(bytes.get(1), Some(b'x' | b'X'));
    let (base, from) = if hex { (16, 2) } else { (10, 1) };
    let mut at = from;
    let mut n: u32 = 0;
    while let Some(d) = bytes.get(at).and_then(|&b| (b as char).to_digit(base)) {
        n = n.saturating_mul(base).saturating_add(d).min(0x11_0000);
        at += 1;
    }
    if at == from {
        return 0;
    }
    let c = match n {
        0x80..=0x9f => C1_REPLACEMENTS.get(n as usize - 0x80).copied().flatten().or(char::from_u32(n)),
        0 => None,
        n => char::from_u32(n),
    };
    out.push(c.unwrap_or('\u{fffd}'));
    at + usize::from(bytes.get(at) == Some(&b';'))
}

fn name(out: &mut String, text: &str, in_attribute: bool) -> usize {
    // The longest name that is one; a table of all prefixes says when to stop.
    let mut found: Option<(usize, (u32, u32))> = None;
    for (i, c) in text.char_indices() {
        let end = i + c.len_utf8();
        match text.get(..end).and_then(|prefix| NAMED_ENTITIES.get(prefix)) {
            Some(&chars) if chars.0 != 0 => found = Some((end, chars)),
            Some(_) => {}
            None => break,
        }
    }
    let Some((used, (first, second))) = found else { return 0 };
    let whole = text.as_bytes().get(used - 1) == Some(&b';');
    let next = text.as_bytes().get(used);
    if in_attribute && !whole && next.is_some_and(|&b| b == b'=' || b.is_ascii_alphanumeric()) {
        return 0;
    }
    out.extend(char::from_u32(first));
    if second != 0 {
        out.extend(char::from_u32(second));
    }
    used
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references() {
        for (text, plain, attribute) in [
            ("a &lt; b", "a < b", "a < b"),
            ("&amp;lt;", "&lt;", "&lt;"),
            ("&copy;&copy &copy=1 &copyx", "©© ©=1 ©x", "©© &copy=1 &copyx"),
            ("&notit; &notin;", "¬it; ∉", "&notit; ∉"),
            ("&#65;&#x41;&#X41 &#; &#x; &#xg", "AAA &#; &#x; &#xg", "AAA &#; &#x; &#xg"),
            ("&#0;&#x80;&#x110000;&#99999999999;", "\u{fffd}€\u{fffd}\u{fffd}", "\u{fffd}€\u{fffd}\u{fffd}"),
            ("& && &; &x &unknown;", "& && &; &x &unknown;", "& && &; &x &unknown;"),
            ("&nbsp;|&NotEqualTilde;", "\u{a0}|≂̸", "\u{a0}|≂̸"),
        ] {
            assert_eq!(decoded(text, false), plain, "{text}");
            assert_eq!(decoded(text, true), attribute, "{text}");
        }
    }

    #[test]
    fn doctypes() {
        let strict = r#" html PUBLIC "-//W3C//DTD HTML 4.01//EN" "http://www.w3.org/TR/html4/strict.dtd""#;
        for (inside, quirks_of) in [
            (" html", Quirks::No),
            (" HTML ", Quirks::No),
            (strict, Quirks::No),
            (r#" HTML PUBLIC "-//IETF//DTD HTML//EN""#, Quirks::Unknown),
            ("html", Quirks::Unknown),
            ("", Quirks::Unknown),
        ] {
            assert_eq!(quirks(inside), quirks_of, "{inside}");
        }
    }
}
