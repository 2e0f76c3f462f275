//! Decompression that knows where compressed members begin and end, so that records have addresses.

use flate2::bufread::GzDecoder;
use std::io::{self, BufRead, BufReader, Read};
use zstd::stream::read::Decoder as ZstdDecoder;

/// Largest zstd dictionary accepted.
const MAX_DICTIONARY: u64 = 16 << 20;
const ZSTD_MAGIC: [u8; 4] = [0x28, 0xB5, 0x2F, 0xFD];
/// The skippable frame that holds the dictionary of a `.warc.zst`.
const ZSTD_DICTIONARY: [u8; 4] = [0x5D, 0x2A, 0x4D, 0x18];

/// Counts what is consumed, and can look four bytes ahead.
pub(super) struct Counted<R> {
    inner: R,
    ahead: [u8; 4],
    from: usize,
    to: usize,
    count: u64,
}

impl<R: BufRead> Counted<R> {
    fn new(inner: R, count: u64) -> Self {
        Counted { inner, ahead: [0; 4], from: 0, to: 0, count }
    }

    /// The next bytes, up to four, without consuming them.
    fn peek(&mut self) -> io::Result<&[u8]> {
        if self.from > 0 {
            self.ahead.copy_within(self.from..self.to, 0);
            (self.from, self.to) = (0, self.to - self.from);
        }
        while self.to < 4 {
            match self.inner.read(&mut self.ahead[self.to..]) {
                Ok(0) => break,
                Ok(n) => self.to += n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(&self.ahead[..self.to])
    }
}

impl<R: BufRead> Read for Counted<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let n = {
            let available = self.fill_buf()?;
            let n = available.len().min(out.len());
            out[..n].copy_from_slice(&available[..n]);
            n
        };
        self.consume(n);
        Ok(n)
    }
}

impl<R: BufRead> BufRead for Counted<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.from < self.to { Ok(&self.ahead[self.from..self.to]) } else { self.inner.fill_buf() }
    }
    fn consume(&mut self, n: usize) {
        self.count += n as u64;
        if self.from < self.to {
            self.from = (self.from + n).min(self.to);
        } else {
            self.inner.consume(n);
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Packing {
    Plain,
    Gzip,
    Zstd,
}

enum State<R: BufRead> {
    /// Between members (or before the first), or a plain file.
    Raw(Counted<R>),
    Gzip(Box<BufReader<GzDecoder<Counted<R>>>>),
    Zstd(Box<BufReader<ZstdDecoder<'static, Counted<R>>>>),
    /// After an error that cannot be recovered from.
    Lost,
}

/// The decompressed bytes of a file: its members (gzip) or frames (zstd) one after another.
pub(super) struct Members<R: BufRead> {
    state: State<R>,
    packing: Packing,
    dictionary: Vec<u8>,
    /// Where the current member starts in the file.
    start: u64,
    /// How many members were begun.
    pub(super) number: u64,
    /// Where the last member that was finished ends.
    end: u64,
}

impl<R: BufRead> Members<R> {
    /// `offset`: where `inner` stands in its file. `dictionary`: of a zstd file, when `inner` is not at its
    /// start.
    pub(super) fn new(inner: R, offset: u64, dictionary: Vec<u8>) -> io::Result<Self> {
        let mut raw = Counted::new(inner, offset);
        let magic = raw.peek()?;
        let packing = match magic {
            [0x1f, 0x8b, ..] => Packing::Gzip,
            m if m == ZSTD_MAGIC || is_skippable(m) => Packing::Zstd,
            _ => Packing::Plain,
        };
        let mut members =
            Members { state: State::Lost, packing, dictionary, start: offset, number: 0, end: offset };
        if packing == Packing::Zstd && raw.peek()? == ZSTD_DICTIONARY {
            members.dictionary = read_dictionary(&mut raw)?;
        }
        members.state = State::Raw(raw);
        Ok(members)
    }

    pub(super) fn dictionary(&self) -> &[u8] {
        &self.dictionary
    }

    pub(super) fn is_plain(&self) -> bool {
        self.packing == Packing::Plain
    }

    /// The file position to name in an error or an address: of the next byte in a plain file, else of the
    /// current member.
    pub(super) fn offset(&self) -> u64 {
        match &self.state {
            State::Raw(raw) => raw.count,
            _ => self.start,
        }
    }

    /// Where the last finished member ends (or the next byte of a plain file).
    pub(super) fn end(&self) -> u64 {
        if self.is_plain() { self.offset() } else { self.end }
    }

    /// Are all bytes of the current member read? Always false in a plain file.
    pub(super) fn at_member_end(&mut self) -> io::Result<bool> {
        if self.is_plain() {
            return Ok(false);
        }
        self.fill_member().map(|bytes| bytes == 0)
    }

    /// Bytes available in the current member; closes it when there are none.
    fn fill_member(&mut self) -> io::Result<usize> {
        let available = match &mut self.state {
            State::Raw(_) => return Ok(0),
            State::Gzip(d) => d.fill_buf().map(<[u8]>::len),
            State::Zstd(d) => d.fill_buf().map(<[u8]>::len),
            State::Lost => return Err(io::ErrorKind::UnexpectedEof.into()),
        };
        if matches!(available, Ok(0)) {
            let raw = match std::mem::replace(&mut self.state, State::Lost) {
                State::Gzip(d) => d.into_inner().into_inner(),
                State::Zstd(d) => d.into_inner().into_inner(),
                State::Raw(raw) => raw,
                State::Lost => return Err(io::ErrorKind::UnexpectedEof.into()),
            };
            self.end = raw.count;
            self.state = State::Raw(raw);
        }
        available
    }

    /// Begins the next member; false at the end of the file.
    fn next_member(&mut self) -> io::Result<bool> {
        let State::Raw(mut raw) = std::mem::replace(&mut self.state, State::Lost) else {
            return Err(io::ErrorKind::UnexpectedEof.into());
        };
        if self.packing == Packing::Zstd {
            while is_skippable(raw.peek()?) {
                skip_frame(&mut raw)?;
            }
        }
        self.start = raw.count;
        if raw.peek()?.is_empty() {
            self.state = State::Raw(raw);
            return Ok(false);
        }
        self.number += 1;
        self.state = if self.packing == Packing::Gzip {
            State::Gzip(Box::new(BufReader::with_capacity(16 << 10, GzDecoder::new(raw))))
        } else {
            let decoder = ZstdDecoder::with_dictionary(raw, &self.dictionary)?.single_frame();
            State::Zstd(Box::new(BufReader::with_capacity(16 << 10, decoder)))
        };
        Ok(true)
    }
}

impl<R: BufRead> Read for Members<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let available = self.fill_buf()?;
        let n = available.len().min(out.len());
        out[..n].copy_from_slice(&available[..n]);
        self.consume(n);
        Ok(n)
    }
}

impl<R: BufRead> BufRead for Members<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if !self.is_plain() {
            // An empty member is legal; a file of nothing but empty members ends in time linear in its size.
            while self.fill_member()? == 0 {
                if !self.next_member()? {
                    return Ok(&[]);
                }
            }
        }
        match &mut self.state {
            State::Raw(raw) => raw.fill_buf(),
            State::Gzip(d) => d.fill_buf(),
            State::Zstd(d) => d.fill_buf(),
            State::Lost => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
    fn consume(&mut self, n: usize) {
        match &mut self.state {
            State::Raw(raw) => raw.consume(n),
            State::Gzip(d) => d.consume(n),
            State::Zstd(d) => d.consume(n),
            State::Lost => {}
        }
    }
}

fn is_skippable(magic: &[u8]) -> bool {
    matches!(magic, [0x50..=0x5F, 0x2A, 0x4D, 0x18])
}

/// Reads magic and length of a skippable frame; returns the length.
fn frame_header<R: BufRead>(raw: &mut Counted<R>) -> io::Result<u64> {
    let mut head = [0; 8];
    raw.read_exact(&mut head)?;
    Ok(u64::from(u32::from_le_bytes([head[4], head[5], head[6], head[7]])))
}

fn skip_frame<R: BufRead>(raw: &mut Counted<R>) -> io::Result<()> {
    let length = frame_header(raw)?;
    let skipped = io::copy(&mut raw.by_ref().take(length), &mut io::sink())?;
    if skipped < length { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(()) }
}

/// The dictionary frame of a `.warc.zst` holds the dictionary plain or as a zstd frame.
fn read_dictionary<R: BufRead>(raw: &mut Counted<R>) -> io::Result<Vec<u8>> {
    let length = frame_header(raw)?;
    let too_large = || io::Error::new(io::ErrorKind::InvalidData, "zstd dictionary is too large");
    if length > MAX_DICTIONARY {
        return Err(too_large());
    }
    let mut bytes = Vec::new();
    if (raw.by_ref().take(length).read_to_end(&mut bytes)? as u64) < length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    if bytes.starts_with(&ZSTD_MAGIC) {
        let mut dictionary = Vec::new();
        ZstdDecoder::with_buffer(bytes.as_slice())?.take(MAX_DICTIONARY + 1).read_to_end(&mut dictionary)?;
        if dictionary.len() as u64 > MAX_DICTIONARY {
            return Err(too_large());
        }
        return Ok(dictionary);
    }
    Ok(bytes)
}
