//! From the block of a `response` record to status, headers and decoded body.
//!
//! Crawlers differ in what they store: some keep chunked and compressed bodies as sent, some undo one or both
//! and leave the headers as they were. So headers are believed only when the bytes agree.

use flate2::bufread::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};
use std::borrow::Cow;
use std::io::{self, Read};

/// What decoding one body may cost.
#[derive(Clone, Copy, Debug)]
pub struct HttpLimits {
    /// Largest decoded body; of a larger one the beginning is kept.
    pub body: usize,
    /// Most header lines that are read.
    pub headers: usize,
}

impl Default for HttpLimits {
    fn default() -> Self {
        HttpLimits { body: 32 << 20, headers: 1_000 }
    }
}

/// An HTTP answer as it stands in the block of a WARC record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpMessage<'a> {
    /// HTTP status of the first line.
    pub status: u16,
    /// In order; names lower-case, values as UTF-8 or else Latin-1 text.
    pub headers: Vec<(String, String)>,
    /// Without transfer-encoding, still content-encoded.
    pub wire: Cow<'a, [u8]>,
    /// Decoded.
    pub body: Cow<'a, [u8]>,
    /// The body is not whole: larger than the limit, or broken off or damaged in the middle.
    pub cut: bool,
}

impl HttpMessage<'_> {
    /// The first header of this name, in any case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, v)| v.as_str())
    }
}

/// `None` when the block is not an HTTP response.
pub fn http_message<'a>(block: &'a [u8], limits: &HttpLimits) -> Option<HttpMessage<'a>> {
    let (line, mut rest) = next_line(block);
    let status = status_of(line)?;
    let mut headers: Vec<(String, String)> = Vec::new();
    loop {
        if rest.is_empty() {
            break;
        }
        let (line, after) = next_line(rest);
        rest = after;
        if line.is_empty() {
            break;
        }
        if headers.len() >= limits.headers {
            continue;
        }
        if matches!(line.first(), Some(b' ' | b'\t')) {
            if let Some((_, value)) = headers.last_mut() {
                value.push(' ');
                value.push_str(text(line).trim());
            }
        } else if let Some(colon) = line.iter().position(|&b| b == b':') {
            let (name, value) = (&line[..colon], &line[colon + 1..]);
            headers.push((text(name).trim().to_ascii_lowercase(), text(value).trim().to_string()));
        }
    }
    let all = |name: &str| {
        headers
            .iter()
            .filter(|(n, _)| n == name)
            .flat_map(|(_, v)| v.split(','))
            .map(|v| v.trim().to_ascii_lowercase())
            .collect::<Vec<_>>()
    };
    let mut cut = false;
    let mut wire = Cow::Borrowed(rest);
    if all("transfer-encoding").iter().any(|e| e == "chunked")
        && let Some((body, whole)) = dechunk(rest)
    {
        wire = Cow::Owned(body);
        cut |= !whole;
    }
    let mut body = wire.clone();
    // Applied in the order listed, so undone from the end. Nobody stacks more than two.
    for encoding in all("content-encoding").iter().rev().take(3) {
        match decode(encoding, &body, limits.body) {
            Some((decoded, whole)) => {
                body = Cow::Owned(decoded);
                cut |= !whole;
            }
            None => break,
        }
    }
    if body.len() > limits.body {
        cut = true;
        body = match body {
            Cow::Borrowed(b) => Cow::Borrowed(&b[..limits.body]),
            Cow::Owned(mut b) => {
                b.truncate(limits.body);
                Cow::Owned(b)
            }
        };
    }
    Some(HttpMessage { status, headers, wire, body, cut })
}

/// The line without its end, and what follows.
fn next_line(bytes: &[u8]) -> (&[u8], &[u8]) {
    let (line, rest) = match bytes.iter().position(|&b| b == b'\n') {
        Some(at) => (&bytes[..at], &bytes[at + 1..]),
        None => (bytes, &bytes[bytes.len()..]),
    };
    (line.strip_suffix(b"\r").unwrap_or(line), rest)
}

fn status_of(line: &[u8]) -> Option<u16> {
    let line = std::str::from_utf8(line.get(..line.len().min(64))?).ok().or_else(|| {
        // A reason phrase in another encoding must not hide the status.
        std::str::from_utf8(line.get(..12)?).ok()
    })?;
    let mut words = line.split_ascii_whitespace();
    let protocol = words.next()?;
    if !(protocol.starts_with("HTTP/") || protocol.eq_ignore_ascii_case("ICY")) {
        return None;
    }
    words.next()?.get(..3)?.parse().ok().filter(|s| (100..1000).contains(s))
}

fn text(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => Cow::Owned(bytes.iter().map(|&b| b as char).collect()),
    }
}

/// The body without chunk marks, and whether its last chunk was there. `None` when it is not chunked after
/// all.
fn dechunk(body: &[u8]) -> Option<(Vec<u8>, bool)> {
    let mut out = Vec::with_capacity(body.len());
    let mut rest = body;
    let mut first = true;
    loop {
        let (line, after) = next_line(rest);
        let size =
            line.split(|&b| b == b';').next().and_then(|hex| std::str::from_utf8(hex).ok()).map(str::trim);
        let size =
            size.filter(|s| !s.is_empty() && s.len() <= 15).and_then(|s| usize::from_str_radix(s, 16).ok());
        let size = match size {
            Some(size) => size,
            None if first => return None,
            None => return Some((out, false)),
        };
        first = false;
        if size == 0 {
            return Some((out, true));
        }
        let Some(chunk) = after.get(..size) else {
            out.extend_from_slice(after);
            return Some((out, false));
        };
        out.extend_from_slice(chunk);
        rest = &after[size..];
        rest = rest.strip_prefix(b"\r\n").or_else(|| rest.strip_prefix(b"\n")).unwrap_or(rest);
    }
}

/// The decoded bytes (at most `max` + 1), and whether they are whole. `None` when the bytes are not so
/// encoded.
fn decode(encoding: &str, body: &[u8], max: usize) -> Option<(Vec<u8>, bool)> {
    match encoding {
        "gzip" | "x-gzip" => {
            body.starts_with(&[0x1f, 0x8b]).then(|| read_some(MultiGzDecoder::new(body), max))
        }
        "deflate" => {
            // The name means zlib, but raw deflate is sent under it too.
            let zlib = matches!(body, [cmf, flg, ..] if cmf & 15 == 8 && (u16::from(*cmf) << 8 | u16::from(*flg)) % 31 == 0);
            let tried = if zlib {
                read_some(ZlibDecoder::new(body), max)
            } else {
                read_some(DeflateDecoder::new(body), max)
            };
            something(tried)
        }
        "br" => something(read_some(brotli_decompressor::Decompressor::new(body, 4 << 10), max)),
        "zstd" => something(read_some(zstd::stream::read::Decoder::with_buffer(body).ok()?, max)),
        _ => None,
    }
}

/// Nothing at all from an encoded body means that it was not so encoded.
fn something((bytes, whole): (Vec<u8>, bool)) -> Option<(Vec<u8>, bool)> {
    (whole || !bytes.is_empty()).then_some((bytes, whole))
}

fn read_some(reader: impl Read, max: usize) -> (Vec<u8>, bool) {
    let mut out = Vec::new();
    let result: io::Result<usize> = reader.take(max as u64 + 1).read_to_end(&mut out);
    let whole = result.is_ok() && out.len() <= max;
    (out, whole)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::Write;

    fn body(block: &[u8]) -> (u16, String, bool) {
        let m = http_message(block, &HttpLimits::default()).unwrap();
        (m.status, String::from_utf8_lossy(&m.body).into_owned(), m.cut)
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut e = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        e.write_all(bytes).unwrap();
        e.finish().unwrap()
    }

    #[test]
    fn plain_and_chunked() {
        assert_eq!(body(b"HTTP/1.1 200 OK\r\nA: b\r\n\r\nhello"), (200, "hello".into(), false));
        assert_eq!(body(b"HTTP/1.0 404\nA: b\n\nhello"), (404, "hello".into(), false));
        let chunked =
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;x=1\r\nhello\r\n1\r\n!\r\n0\r\n\r\n";
        assert_eq!(body(chunked), (200, "hello!".into(), false));
        let undone = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n<html>hello";
        assert_eq!(body(undone), (200, "<html>hello".into(), false));
        let broken = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nhello";
        assert_eq!(body(broken), (200, "hello".into(), true));
    }

    #[test]
    fn encodings() {
        let mut block = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n".to_vec();
        let head = block.len();
        block.extend(gzip(b"hello hello hello"));
        assert_eq!(body(&block), (200, "hello hello hello".into(), false));
        assert!(body(&block[..block.len() - 9]).2, "cut in the middle");
        block.truncate(head);
        block.extend(b"already decoded");
        assert_eq!(body(&block), (200, "already decoded".into(), false));

        let mut block = b"HTTP/1.1 200 OK\r\nContent-Encoding: zstd\r\n\r\n".to_vec();
        block.extend(zstd::bulk::compress(b"hello", 1).unwrap());
        assert_eq!(body(&block), (200, "hello".into(), false));

        // "hello" as one uncompressed brotli meta-block, then the empty last one (RFC 7932 §9).
        let mut block = b"HTTP/1.1 200 OK\r\nContent-Encoding: br\r\n\r\n".to_vec();
        block.extend([0x0b, 0x02, 0x80, b'h', b'e', b'l', b'l', b'o', 0x03]);
        assert_eq!(body(&block), (200, "hello".into(), false));

        for zlib in [true, false] {
            let mut block = b"HTTP/1.1 200 OK\r\nContent-Encoding: deflate\r\n\r\n".to_vec();
            let level = flate2::Compression::fast();
            if zlib {
                let mut e = flate2::write::ZlibEncoder::new(&mut block, level);
                e.write_all(b"hello").unwrap();
            } else {
                let mut e = flate2::write::DeflateEncoder::new(&mut block, level);
                e.write_all(b"hello").unwrap();
            }
            assert_eq!(body(&block), (200, "hello".into(), false));
        }
    }

    #[test]
    fn a_bomb_is_bounded() {
        let bomb = gzip(&gzip(&vec![0; 50 << 20]));
        let mut block = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip, gzip\r\n\r\n".to_vec();
        block.extend(bomb);
        let m = http_message(&block, &HttpLimits { body: 1 << 20, headers: 10 }).unwrap();
        assert!(m.cut);
        assert_eq!(m.body.len(), 1 << 20);
    }

    #[test]
    fn not_http() {
        let limits = HttpLimits::default();
        for block in [&b""[..], b"GET / HTTP/1.1\r\n\r\n", b"HTTP/1.1", b"HTTP/1.1 abc\r\n", b"\xff\xff"] {
            assert!(http_message(block, &limits).is_none());
        }
        assert!(http_message(b"HTTP/1.1 200 \xe9\xe9\r\n\r\n", &limits).is_some());
    }

    proptest! {
        #[test]
        fn any_block_is_survived(
            encoding in "(gzip|br|zstd|deflate|gzip, br)",
            chunked in any::<bool>(),
            tail in prop::collection::vec(any::<u8>(), 0..300),
        ) {
            let te = if chunked { "transfer-encoding: chunked\r\n" } else { "" };
            let mut block = format!("HTTP/1.1 200 OK\r\n{te}content-encoding: \
                                     {encoding}\r\n\r\n").into_bytes();
            block.extend(&tail);
            let limits = HttpLimits { body: 1_000, headers: 3 };
            let m = http_message(&block, &limits);
            prop_assert!(m.is_some_and(|m| m.body.len() <= 1_000));
            let _ = http_message(&tail, &limits);
        }
    }
}
