//! Content decoding of a body that has been collected whole, under a cap.
//!
//! Decoding after the fact (not while streaming) lets the archive keep the bytes as they were sent, and costs
//! one pass. Whatever was decoded before a stream turns out cut or corrupt is kept: half a page is better
//! than none.

use std::cell::RefCell;
use std::io::{ErrorKind, Read};
use types::Truncation;

/// A content coding we asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coding {
    Gzip,
    Deflate,
    Brotli,
    Zstd,
}

/// Real answers have one coding, rarely two; more is somebody playing.
const MAX_CODINGS: usize = 4;
/// Members of one gzip body; each costs a fresh decoder, so an unbounded number of empty ones would burn CPU.
const MAX_MEMBERS: usize = 4096;
/// RFC 9659: the window of zstd as a content coding is at most 8 MiB.
const ZSTD_WINDOW_LOG: u32 = 23;

/// The codings of a `Content-Encoding` value in the order they were applied. Names we do not know (`utf-8`,
/// `none`: servers say such things) are ignored, as browsers do.
pub fn codings(value: &str) -> Vec<Coding> {
    let known = value.split(',').filter_map(|name| {
        let name = name.trim();
        let is = |s: &str| name.eq_ignore_ascii_case(s);
        match () {
            _ if is("gzip") || is("x-gzip") => Some(Coding::Gzip),
            _ if is("deflate") => Some(Coding::Deflate),
            _ if is("br") => Some(Coding::Brotli),
            _ if is("zstd") => Some(Coding::Zstd),
            _ => None,
        }
    });
    known.take(MAX_CODINGS + 1).collect()
}

/// What decoding gave; `None` bytes = the wire bytes are the content.
#[derive(Debug, PartialEq, Eq)]
pub struct Decoded {
    pub bytes: Option<Vec<u8>>,
    /// `Length`: the cap was reached. `Disconnect`: the stream ended early or is corrupt.
    pub cut: Option<Truncation>,
}

/// Undoes `codings` (last applied first), giving at most `cap` bytes.
pub fn decode(codings: &[Coding], wire: &[u8], cap: usize) -> Decoded {
    if codings.len() > MAX_CODINGS {
        return Decoded { bytes: Some(Vec::new()), cut: Some(Truncation::Disconnect) };
    }
    let mut bytes: Option<Vec<u8>> = None;
    let mut cut = None;
    for coding in codings.iter().rev() {
        let input = bytes.as_deref().unwrap_or(wire);
        if input.is_empty() || mislabelled(*coding, input) {
            continue;
        }
        let mut out = Vec::new();
        match undo(*coding, input, cap, BIG, &mut out) {
            End::Whole => {}
            End::Cap => cut = cut.or(Some(Truncation::Length)),
            End::Early => cut = cut.or(Some(Truncation::Disconnect)),
            End::Corrupt => {
                // The step that met the error lost what it had decoded. Small steps lose next to nothing.
                out.clear();
                undo(*coding, input, cap, SMALL, &mut out);
                cut = cut.or(Some(Truncation::Disconnect));
            }
        }
        bytes = Some(out);
    }
    Decoded { bytes, cut }
}

/// Said to be compressed but sent as it is: a common misconfiguration, and cheap to see.
fn mislabelled(coding: Coding, input: &[u8]) -> bool {
    let text = input.iter().find(|b| !b.is_ascii_whitespace()) == Some(&b'<');
    match coding {
        Coding::Gzip => input.first() != Some(&0x1f),
        Coding::Zstd => text,
        // `<` (0x3c) starts neither a zlib stream nor a likely raw deflate or brotli stream of a page; two
        // letters after it settle it.
        Coding::Deflate | Coding::Brotli => {
            let start: Vec<u8> =
                input.iter().skip_while(|b| b.is_ascii_whitespace()).take(5).copied().collect();
            text && start.len() == 5 && start.iter().all(|b| (0x20..0x7f).contains(b))
        }
    }
}

enum End {
    Whole,
    Cap,
    /// The input ended before the stream did.
    Early,
    Corrupt,
}

const BIG: usize = 32 << 10;
const SMALL: usize = 32;

fn undo(coding: Coding, input: &[u8], cap: usize, step: usize, out: &mut Vec<u8>) -> End {
    // Markup shrinks four- to sixfold; guess low, a bomb must not make us reserve anything.
    out.reserve(input.len().saturating_mul(3).min(cap).min(1 << 20));
    match coding {
        Coding::Gzip if step == BIG && at_once(input, cap, out) => End::Whole,
        Coding::Gzip => gunzip(input, cap, step, out),
        // "deflate" means zlib (RFC 9110 §8.4.1.2), but some servers send the bare stream.
        Coding::Deflate if is_zlib(input) => pump(flate2::bufread::ZlibDecoder::new(input), cap, step, out),
        Coding::Deflate => pump(flate2::bufread::DeflateDecoder::new(input), cap, step, out),
        Coding::Brotli => pump(brotli_decompressor::Decompressor::new(input, 4096), cap, step, out),
        Coding::Zstd => {
            let decoder = zstd::stream::read::Decoder::with_buffer(input).and_then(|mut d| {
                d.window_log_max(ZSTD_WINDOW_LOG)?;
                Ok(d)
            });
            match decoder {
                Ok(decoder) => pump(decoder, cap, step, out),
                Err(_) => End::Corrupt,
            }
        }
    }
}

fn is_zlib(input: &[u8]) -> bool {
    match input {
        [a, b, ..] => a & 0x0f == 8 && (u16::from(*a) << 8 | u16::from(*b)) % 31 == 0,
        _ => false,
    }
}

/// Nothing that deflate writes is larger than this many times its size.
const LARGEST_RATIO: usize = 1_032;

thread_local! {
    static INFLATE: RefCell<libdeflater::Decompressor> = RefCell::new(libdeflater::Decompressor::new());
}

/// One gzip member that says how large its contents are, as nearly all are: twice as fast in one go. `false`
/// (and nothing decoded) when it is anything else.
fn at_once(input: &[u8], cap: usize, out: &mut Vec<u8>) -> bool {
    let Some(size) = input.last_chunk::<4>().map(|b| u32::from_le_bytes(*b) as usize) else { return false };
    if input.len() < 18 || size == 0 || size > cap || size / LARGEST_RATIO > input.len() {
        return false;
    }
    // A second member would be ignored; what merely looks like one only costs the slower way.
    if memchr::memmem::find(&input[3..], &[0x1f, 0x8b, 0x08]).is_some() {
        return false;
    }
    out.clear();
    out.resize(size, 0);
    let done = INFLATE.with_borrow_mut(|d| d.gzip_decompress(input, out));
    let whole = matches!(done, Ok(n) if n == size);
    if !whole {
        out.clear();
    }
    whole
}

/// Member after member; what follows the last one (padding, garbage) is ignored, as by every other reader.
fn gunzip(mut input: &[u8], cap: usize, step: usize, out: &mut Vec<u8>) -> End {
    for _ in 0..MAX_MEMBERS {
        let mut member = flate2::bufread::GzDecoder::new(input);
        match pump(&mut member, cap, step, out) {
            End::Whole => input = member.into_inner(),
            other => return other,
        }
        if !input.starts_with(&[0x1f, 0x8b]) {
            return End::Whole;
        }
    }
    End::Corrupt
}

/// Reads to the end in steps, never more than `cap` bytes in all.
fn pump(mut reader: impl Read, cap: usize, step: usize, out: &mut Vec<u8>) -> End {
    loop {
        let have = out.len();
        if have >= cap {
            // Exactly at the cap: cut only if there is more.
            return match reader.read(&mut [0; 1]) {
                Ok(0) => End::Whole,
                _ => End::Cap,
            };
        }
        out.resize(have + step.min(cap - have), 0);
        let got = reader.read(out.get_mut(have..).unwrap_or_default());
        out.truncate(have + *got.as_ref().unwrap_or(&0));
        match got {
            Ok(0) => return End::Whole,
            Ok(_) => {}
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) if e.kind() == ErrorKind::UnexpectedEof => return End::Early,
            Err(_) => return End::Corrupt,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::Write;

    pub fn encode(coding: Coding, data: &[u8]) -> Vec<u8> {
        let level = flate2::Compression::default();
        match coding {
            Coding::Gzip => {
                let mut e = flate2::write::GzEncoder::new(Vec::new(), level);
                e.write_all(data).unwrap();
                e.finish().unwrap()
            }
            Coding::Deflate => {
                let mut e = flate2::write::ZlibEncoder::new(Vec::new(), level);
                e.write_all(data).unwrap();
                e.finish().unwrap()
            }
            Coding::Brotli => {
                let mut out = Vec::new();
                let mut e = brotli::CompressorWriter::new(&mut out, 4096, 5, 22);
                e.write_all(data).unwrap();
                drop(e);
                out
            }
            Coding::Zstd => zstd::encode_all(data, 3).unwrap(),
        }
    }

    const ALL: [Coding; 4] = [Coding::Gzip, Coding::Deflate, Coding::Brotli, Coding::Zstd];

    /// Text that compresses, but not to nothing.
    fn page(len: usize) -> Vec<u8> {
        let mut out = b"<html><body>".to_vec();
        let mut n = 1u64;
        while out.len() < len {
            n = n.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            out.extend_from_slice(format!("<p>word {} of many</p>\n", n >> 40).as_bytes());
        }
        out.truncate(len);
        out
    }

    #[test]
    fn every_coding_round_trips() {
        for len in [0, 1, 100, 40_000, 300_000] {
            let data = page(len);
            for coding in ALL {
                let got = decode(&[coding], &encode(coding, &data), 1 << 20);
                assert_eq!(got.cut, None, "{coding:?} {len}");
                assert_eq!(got.bytes.unwrap(), data, "{coding:?} {len}");
            }
            let twice = encode(Coding::Brotli, &encode(Coding::Gzip, &data));
            assert_eq!(decode(&[Coding::Gzip, Coding::Brotli], &twice, 1 << 20).bytes.unwrap(), data);
        }
    }

    #[test]
    fn two_members_that_are_alike() {
        // The sum and the size at the end fit the first one, too.
        for part in [page(300), page(50_000)] {
            let twice = encode(Coding::Gzip, &part).repeat(2);
            assert_eq!(decode(&[Coding::Gzip], &twice, 1 << 20).bytes.unwrap(), part.repeat(2));
        }
        // A size that is not true: neither believed nor reserved.
        let mut wire = encode(Coding::Gzip, &page(5_000));
        let end = wire.len();
        wire[end - 4..].copy_from_slice(&900_000u32.to_le_bytes());
        let got = decode(&[Coding::Gzip], &wire, 1 << 20);
        assert_eq!((got.bytes.unwrap(), got.cut), (page(5_000), Some(Truncation::Disconnect)));
    }

    #[test]
    fn raw_deflate_and_many_members() {
        let data = page(5_000);
        let mut e = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::default());
        e.write_all(&data).unwrap();
        assert_eq!(decode(&[Coding::Deflate], &e.finish().unwrap(), 1 << 20).bytes.unwrap(), data);

        let mut members = encode(Coding::Gzip, b"one ");
        members.extend(encode(Coding::Gzip, b"two"));
        members.extend([0, 0, 0, 7]);
        assert_eq!(
            decode(&[Coding::Gzip], &members, 100),
            Decoded { bytes: Some(b"one two".to_vec()), cut: None }
        );

        let flood = encode(Coding::Gzip, b"").repeat(100_000);
        let start = std::time::Instant::now();
        assert_eq!(decode(&[Coding::Gzip], &flood, 1 << 20).cut, Some(Truncation::Disconnect));
        assert!(start.elapsed().as_secs() < 5, "{:?}", start.elapsed());
    }

    #[test]
    fn a_bomb_is_cut_at_the_cap() {
        let zeros = vec![0u8; 50 << 20];
        for coding in ALL {
            let bomb = encode(coding, &zeros);
            let got = decode(&[coding], &bomb, 1 << 20);
            assert_eq!(got.cut, Some(Truncation::Length), "{coding:?}");
            assert_eq!(got.bytes.unwrap().len(), 1 << 20);
        }
        // A bomb inside a bomb meets the cap at each layer.
        let nested = encode(Coding::Gzip, &encode(Coding::Gzip, &zeros));
        assert_eq!(decode(&[Coding::Gzip, Coding::Gzip], &nested, 1 << 20).cut, Some(Truncation::Length));
        // Exactly the cap is not a cut.
        let exact = decode(&[Coding::Gzip], &encode(Coding::Gzip, &page(1000)), 1000);
        assert_eq!((exact.bytes.unwrap().len(), exact.cut), (1000, None));
        assert_eq!(decode(&[Coding::Gzip; 5], &nested, 1 << 20).cut, Some(Truncation::Disconnect));
    }

    #[test]
    fn what_was_decoded_before_an_error_is_kept() {
        let data = page(200_000);
        for coding in ALL {
            let wire = encode(coding, &data);
            let got = decode(&[coding], &wire[..wire.len() / 2], 1 << 20);
            let bytes = got.bytes.unwrap();
            assert_eq!(got.cut, Some(Truncation::Disconnect), "{coding:?}");
            assert!(data.starts_with(&bytes), "{coding:?}");
            // zstd decodes block by block (128 KiB), so it may keep less.
            let least = if coding == Coding::Zstd { 0 } else { data.len() / 4 };
            assert!(bytes.len() >= least, "{coding:?}: {}", bytes.len());
        }
        // Corrupt in the middle of a small page: found while decoding the first big step.
        let small = page(6_000);
        let mut wire = encode(Coding::Gzip, &small);
        let middle = wire.len() * 3 / 4;
        wire.truncate(middle);
        wire.extend([0xff; 64]);
        let got = decode(&[Coding::Gzip], &wire, 1 << 20);
        assert_eq!(got.cut, Some(Truncation::Disconnect));
        assert!(got.bytes.unwrap().starts_with(&small[..2_000]));
        // A wrong checksum: all of it, but said to be cut.
        let mut wire = encode(Coding::Gzip, &small);
        let crc = wire.len() - 6;
        wire[crc] ^= 0xff;
        let got = decode(&[Coding::Gzip], &wire, 1 << 20);
        assert_eq!((got.bytes.unwrap(), got.cut), (small, Some(Truncation::Disconnect)));
    }

    #[test]
    fn headers_that_lie() {
        for coding in ALL {
            let got = decode(&[coding], b"  <html><body>plain</body></html>", 1 << 20);
            assert_eq!(got, Decoded { bytes: None, cut: None }, "{coding:?}");
        }
        assert_eq!(codings("GZIP"), [Coding::Gzip]);
        assert_eq!(codings(" x-gzip , br"), [Coding::Gzip, Coding::Brotli]);
        assert_eq!(codings("identity, utf-8, none, "), []);
        assert_eq!(codings(&"gzip,".repeat(1000)).len(), MAX_CODINGS + 1);
    }

    proptest! {
        #[test]
        fn no_bytes_break_it(data in proptest::collection::vec(any::<u8>(), 0..400), which in 0usize..4, magic in any::<bool>()) {
            let coding = ALL[which];
            let mut wire = if magic { encode(coding, b"some text to start with")[..6].to_vec() } else { Vec::new() };
            wire.extend(data);
            let got = decode(&[coding], &wire, 10_000);
            prop_assert!(got.bytes.map_or(0, |b| b.len()) <= 10_000);
        }
    }
}
