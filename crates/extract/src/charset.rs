//! Bytes → characters: byte order mark, then the header, then the markup, then what the bytes look like.

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};
use std::borrow::Cow;

/// How far into the markup a declaration is looked for. The standard says 1,024; real pages are less tidy.
const PRESCAN: usize = 4_096;
/// How much is looked at when guessing.
const GUESS: usize = 16 << 10;

/// The text, and the name of the encoding it was in.
pub fn decode<'a>(body: &'a [u8], content_type: Option<&str>, host: &str) -> (Cow<'a, str>, &'static str) {
    if let Some((encoding, bom)) = Encoding::for_bom(body) {
        return decode_as(encoding, body.get(bom..).unwrap_or_default());
    }
    let declared = content_type.and_then(header_charset).or_else(|| markup_charset(body));
    if let Some(encoding) = declared {
        return decode_as(encoding, body);
    }
    match std::str::from_utf8(body) {
        Ok(s) => (Cow::Borrowed(s), UTF_8.name()),
        // Cut off in the middle of a character, else fine.
        Err(e) if e.error_len().is_none() && e.valid_up_to() > 0 => decode_as(UTF_8, body),
        Err(_) => decode_as(guess(body, host), body),
    }
}

fn decode_as<'a>(encoding: &'static Encoding, body: &'a [u8]) -> (Cow<'a, str>, &'static str) {
    (encoding.decode_without_bom_handling(body).0, encoding.name())
}

fn guess(body: &[u8], host: &str) -> &'static Encoding {
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    // Start where it gets interesting: markup and scripts at the top are ASCII.
    let first = body.iter().position(|b| !b.is_ascii()).unwrap_or(0);
    let from = first.saturating_sub(16);
    let end = from.saturating_add(GUESS).min(body.len());
    detector.feed(body.get(from..end).unwrap_or_default(), end == body.len());
    let tld = host.rsplit('.').next().unwrap_or("").as_bytes();
    let plain = tld.iter().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || *b == b'-');
    detector.guess(plain.then_some(tld), Utf8Detection::Allow)
}

/// `text/html; charset="utf-8"`.
fn header_charset(content_type: &str) -> Option<&'static Encoding> {
    content_type.split(';').skip(1).find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        if !name.trim().eq_ignore_ascii_case("charset") {
            return None;
        }
        Encoding::for_label_no_replacement(value.trim().trim_matches(['"', '\'']).as_bytes())
    })
}

/// `<meta charset>`, `<meta http-equiv content>`, or an XML declaration.
fn markup_charset(body: &[u8]) -> Option<&'static Encoding> {
    let head = body.get(..PRESCAN).unwrap_or(body);
    let declared = xml_encoding(head).or_else(|| meta_charset(head))?;
    // A declaration that could be read as ASCII cannot be true if it says UTF-16.
    match declared {
        e if e == UTF_16LE || e == UTF_16BE => Some(UTF_8),
        e if e.name() == "x-user-defined" => Some(WINDOWS_1252),
        e => Some(e),
    }
}

fn xml_encoding(head: &[u8]) -> Option<&'static Encoding> {
    let declaration = head.strip_prefix(b"<?xml")?;
    let end = declaration.iter().position(|&b| b == b'>')?;
    value_after(declaration.get(..end)?, b"encoding")
}

fn meta_charset(head: &[u8]) -> Option<&'static Encoding> {
    let mut rest = head;
    while let Some(open) = memchr::memchr(b'<', rest) {
        rest = rest.get(open..)?;
        if rest.starts_with(b"<!--") {
            let end = rest.windows(3).skip(2).position(|w| w == b"-->")?;
            rest = rest.get(end + 5..)?;
            continue;
        }
        let is_meta = rest.get(1..5).is_some_and(|t| t.eq_ignore_ascii_case(b"meta"))
            && rest.get(5).is_some_and(|b| b.is_ascii_whitespace() || *b == b'/');
        if is_meta {
            let end = rest.iter().position(|&b| b == b'>').unwrap_or(rest.len());
            if let Some(encoding) = value_after(rest.get(5..end)?, b"charset") {
                return Some(encoding);
            }
        }
        rest = rest.get(1..)?;
    }
    None
}

/// The encoding named after `name =`, quoted or not.
fn value_after(text: &[u8], name: &[u8]) -> Option<&'static Encoding> {
    let mut from = 0;
    while let Some(i) = text.get(from..)?.windows(name.len()).position(|w| w.eq_ignore_ascii_case(name)) {
        from += i + name.len();
        let rest = text.get(from..)?.trim_ascii_start();
        let Some(value) = rest.strip_prefix(b"=") else { continue };
        let value = value.trim_ascii_start();
        let value = value.strip_prefix(b"\"").or_else(|| value.strip_prefix(b"'")).unwrap_or(value);
        let end = value
            .iter()
            .position(|b| b.is_ascii_whitespace() || matches!(b, b'"' | b'\'' | b';' | b'>' | b'/'))
            .unwrap_or(value.len());
        if let Some(encoding) = Encoding::for_label_no_replacement(value.get(..end)?) {
            return Some(encoding);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_order_of_trust() {
        let latin1 = b"<meta charset=utf-8>caf\xe9";
        assert_eq!(decode(latin1, Some("text/html; Charset=\"ISO-8859-1\""), "e.org").1, "windows-1252");
        assert_eq!(decode(latin1, Some("text/html; charset=nonsense"), "e.org").1, "UTF-8");
        assert_eq!(
            decode(b"\xef\xbb\xbf\xc3\xa9", Some("text/html; charset=koi8-r"), "e.org"),
            ("é".into(), "UTF-8")
        );
        assert_eq!(decode(b"\xff\xfea\0b\0", None, "e.org"), ("ab".into(), "UTF-16LE"));
        assert_eq!(decode("é".as_bytes(), None, "e.org"), ("é".into(), "UTF-8"));
    }

    #[test]
    fn declared_in_the_markup() {
        let name = |s: &str| markup_charset(s.as_bytes()).map(|e| e.name());
        assert_eq!(name("<html><META CHARSET = 'iso-8859-2'>"), Some("ISO-8859-2"));
        assert_eq!(
            name("<meta http-equiv=content-type content=\"text/html; charset=koi8-r\">"),
            Some("KOI8-R")
        );
        assert_eq!(name("<!-- <meta charset=koi8-r> --><meta charset=gbk>"), Some("GBK"));
        assert_eq!(name("<meta charset=utf-16>"), Some("UTF-8"));
        assert_eq!(name("<?xml version=\"1.0\" encoding='Shift_JIS'?><a/>"), Some("Shift_JIS"));
        assert_eq!(name("<metallic charset=gbk>"), None);
        assert_eq!(name("<meta name=charset content=x><meta charset=gbk>"), Some("GBK"));
        assert_eq!(name("<!--"), None);
    }

    #[test]
    fn guessed() {
        let (text, _, _) =
            encoding_rs::WINDOWS_1251.encode("Программа курса по базам данных, осень, лекции и семинары");
        assert_eq!(decode(&text, None, "example.ru").1, "windows-1251");
        let (text, _, _) = encoding_rs::SHIFT_JIS.encode("これは日本語の文章です。データベースの講義。");
        assert_eq!(decode(&text, None, "example.jp").1, "Shift_JIS");
        // A character cut off at the end does not make it another encoding.
        assert_eq!(decode(&"größe".as_bytes()[..4], None, "e.org").1, "UTF-8");
    }
}
