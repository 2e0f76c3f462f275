//! Reads WARC files of any crawler: `.warc`, `.warc.gz`, `.warc.zst`, versions 0.17 to 1.1.
//!
//! The reader is an iterator. A damaged record gives one [`WarcError`] and reading goes on at the next record
//! that can be found; damage to the compression or the end of the file in the middle of a record ends the
//! iteration.

use super::members::Members;
use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::Path;
use types::Problem;

/// What a hostile file may cost.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Largest record head.
    pub head: usize,
    /// Of a larger block the beginning is kept and [`WarcRecord::cut`] says so.
    pub block: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { head: 256 << 10, block: 32 << 20 }
    }
}

/// One record of a WARC file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WarcRecord {
    /// `1.1`, `1.0`, `0.18` …
    pub version: String,
    /// In order, names as written.
    pub headers: Vec<(String, String)>,
    /// What follows the headers: of a `response`, the HTTP answer.
    pub block: Vec<u8>,
    /// The block was longer than the limit.
    pub cut: bool,
    /// Where the record starts in the file and how many bytes it takes there (compressed, with its end
    /// marks).
    pub offset: u64,
    /// Bytes it takes in the file, see `offset`.
    pub length: u64,
    /// Can the record be read from `offset` alone? Not when several share one compressed member.
    pub addressable: bool,
}

impl WarcRecord {
    /// The first header of this name, in any case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, v)| v.as_str())
    }
    /// Is it the response of a page that a browser rendered? Such a page is known by its document, which is
    /// another record.
    pub fn is_rendered(&self) -> bool {
        self.header(super::compose::RENDERED).is_some()
    }
    /// `response`, `request`, `warcinfo` …, lower-case.
    pub fn kind(&self) -> String {
        self.header("WARC-Type").unwrap_or("").to_ascii_lowercase()
    }
    /// The target URI; the angle brackets some writers put around it are removed.
    pub fn target(&self) -> Option<&str> {
        let target = self.header("WARC-Target-URI")?;
        Some(target.strip_prefix('<').and_then(|t| t.strip_suffix('>')).unwrap_or(target))
    }
}

/// A record that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WarcError {
    /// Name of the file, for people.
    pub file: String,
    /// Byte where the record begins.
    pub offset: u64,
    /// What is wrong, for people.
    pub what: String,
    /// Nothing more can be read from this file.
    pub fatal: bool,
}

impl fmt::Display for WarcError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {}: {}", self.file, self.offset, self.what)
    }
}
impl std::error::Error for WarcError {}

/// Why the record at hand is not yielded.
enum Fault {
    /// The file cannot be read further.
    Io(io::Error),
    /// The record is bad; the next may be good.
    Bad(String),
    /// A good end.
    End,
}

impl From<io::Error> for Fault {
    fn from(e: io::Error) -> Fault {
        Fault::Io(e)
    }
}

/// Reads a WARC file record by record: plain, or compressed with gzip or zstd.
pub struct WarcReader<R: BufRead> {
    input: Members<R>,
    name: String,
    limits: Limits,
    done: bool,
    /// Number of the member in which the last record began.
    last_member: u64,
    /// A version line that was found while looking for the next good record, with its offset.
    found: Option<(Vec<u8>, u64)>,
    errors: u64,
}

impl WarcReader<BufReader<File>> {
    /// A file from its beginning.
    pub fn open(path: &Path, limits: Limits) -> Result<Self, Problem> {
        let file = File::open(path).map_err(|e| Problem::io("open", path, &e))?;
        let name = path.display().to_string();
        WarcReader::new(BufReader::with_capacity(64 << 10, file), name, limits)
            .map_err(|e| Problem::io("read", path, &e))
    }

    /// A file from the record at `offset` on.
    pub fn open_at(path: &Path, offset: u64, limits: Limits) -> Result<Self, Problem> {
        let io = |e: io::Error| Problem::io("read", path, &e);
        let start = WarcReader::open(path, limits)?;
        if offset == 0 {
            return Ok(start);
        }
        let dictionary = start.input.dictionary().to_vec();
        let mut file = File::open(path).map_err(io)?;
        file.seek(SeekFrom::Start(offset)).map_err(io)?;
        let input = Members::new(BufReader::new(file), offset, dictionary).map_err(io)?;
        Ok(WarcReader::from_members(input, path.display().to_string(), limits))
    }
}

/// The record at an address: `(file, offset)` as [`types::ArchiveRef`] or an index holds it.
pub fn read_at(path: &Path, offset: u64, limits: Limits) -> Result<WarcRecord, Problem> {
    match WarcReader::open_at(path, offset, limits)?.next() {
        Some(Ok(record)) => Ok(record),
        Some(Err(e)) => Err(Problem::new(format!("cannot read a record of {}", path.display()))
            .because(e)
            .hint("the archive is damaged or was changed since it was indexed")),
        None => Err(Problem::new(format!("{} has no record at byte {offset}", path.display()))
            .because("the file ends there")
            .hint("the archive was cut or changed since it was indexed")),
    }
}

impl<R: BufRead> WarcReader<R> {
    /// Any stream; `name` is for errors.
    pub fn new(input: R, name: impl Into<String>, limits: Limits) -> io::Result<Self> {
        Ok(WarcReader::from_members(Members::new(input, 0, Vec::new())?, name.into(), limits))
    }

    fn from_members(input: Members<R>, name: String, limits: Limits) -> Self {
        WarcReader { input, name, limits, done: false, last_member: 0, found: None, errors: 0 }
    }

    /// Errors yielded so far.
    pub fn errors(&self) -> u64 {
        self.errors
    }

    fn record(&mut self, at: &mut u64) -> Result<WarcRecord, Fault> {
        let version = match self.found.take() {
            Some((line, offset)) => {
                *at = offset;
                line
            }
            None => {
                self.skip_blank_lines()?;
                if self.input.fill_buf()?.is_empty() {
                    return Err(Fault::End);
                }
                *at = self.input.offset();
                self.line(self.limits.head)?
            }
        };
        let member = self.input.number;
        let first_in_member = member != self.last_member;
        self.last_member = member;
        let Some(version) = trimmed(&version).strip_prefix("WARC/").map(|v| v.trim().to_string()) else {
            return Err(Fault::Bad("no WARC record starts here".into()));
        };
        let headers = self.headers()?;
        let length = headers.iter().find(|(n, _)| n.eq_ignore_ascii_case("content-length"));
        let length: u64 = match length.map(|(_, v)| v.parse()) {
            Some(Ok(n)) => n,
            Some(Err(_)) => return Err(Fault::Bad("Content-Length is not a number".into())),
            None => return Err(Fault::Bad("a record without Content-Length".into())),
        };

        let mut block = Vec::new();
        let keep = length.min(self.limits.block as u64);
        let read = self.input.by_ref().take(keep).read_to_end(&mut block)? as u64;
        let skipped = if read == keep {
            io::copy(&mut self.input.by_ref().take(length - keep), &mut io::sink())?
        } else {
            0
        };
        if read + skipped < length {
            let why = format!("the file ends {} bytes before the record does", length - read - skipped);
            return Err(Fault::Io(io::Error::new(io::ErrorKind::UnexpectedEof, why)));
        }
        // The two line ends after the block belong to the record. Reading them also brings the checksum of
        // its member to light.
        self.skip_line_ends()?;
        let alone = self.input.is_plain() || (self.input.number == member && self.input.at_member_end()?);
        Ok(WarcRecord {
            version,
            headers,
            block,
            cut: keep < length,
            offset: *at,
            length: self.input.end().saturating_sub(*at),
            addressable: self.input.is_plain() || (first_in_member && alone),
        })
    }

    fn headers(&mut self) -> Result<Vec<(String, String)>, Fault> {
        let mut headers: Vec<(String, String)> = Vec::new();
        let mut left = self.limits.head;
        loop {
            let line = self.line(left)?;
            left = left.saturating_sub(line.len());
            let folded = matches!(line.first(), Some(b' ' | b'\t'));
            let line = trimmed(&line);
            if line.is_empty() {
                return Ok(headers);
            }
            if folded && let Some((_, value)) = headers.last_mut() {
                value.push(' ');
                value.push_str(line.trim());
            } else if let Some((name, value)) = line.split_once(':') {
                headers.push((name.trim().to_string(), value.trim().to_string()));
            }
            // A line that is neither is ignored: some writers put notes there.
        }
    }

    /// One line with its end. An error when it is longer than `max`.
    fn line(&mut self, max: usize) -> Result<Vec<u8>, Fault> {
        let mut line = Vec::new();
        self.input.by_ref().take(max as u64 + 1).read_until(b'\n', &mut line)?;
        if line.len() > max {
            return Err(Fault::Bad("the record's head is too long".into()));
        }
        if line.last() != Some(&b'\n') {
            return Err(Fault::Io(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                "the file ends inside a record's head",
            )));
        }
        Ok(line)
    }

    /// Skips line ends in this member and the next ones, to the beginning of a record.
    fn skip_blank_lines(&mut self) -> io::Result<()> {
        loop {
            let bytes = self.input.fill_buf()?;
            let blank = bytes.iter().take_while(|b| matches!(b, b'\r' | b'\n')).count();
            let all = blank == bytes.len();
            self.input.consume(blank);
            if blank == 0 || !all {
                return Ok(());
            }
        }
    }

    /// Skips line ends after a block, but not into the next member.
    fn skip_line_ends(&mut self) -> io::Result<()> {
        while !self.input.at_member_end()? {
            let bytes = self.input.fill_buf()?;
            let blank = bytes.iter().take_while(|b| matches!(b, b'\r' | b'\n')).count();
            let more = blank > 0 && blank == bytes.len();
            self.input.consume(blank);
            if !more {
                break;
            }
        }
        Ok(())
    }

    /// After a bad record: reads on to the next line that begins one.
    fn resynchronise(&mut self) -> Result<(), Fault> {
        loop {
            let (number, offset) = (self.input.number, self.input.offset());
            let mut line = Vec::new();
            self.input.by_ref().take(4 << 10).read_until(b'\n', &mut line)?;
            if line.is_empty() {
                return Err(Fault::End);
            }
            if line.starts_with(b"WARC/") {
                let offset = if self.input.number == number { offset } else { self.input.offset() };
                self.found = Some((line, offset));
                return Ok(());
            }
        }
    }
}

impl<R: BufRead> Iterator for WarcReader<R> {
    type Item = Result<WarcRecord, WarcError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        let mut at = self.input.offset();
        let fault = match self.record(&mut at) {
            Ok(record) => return Some(Ok(record)),
            Err(fault) => fault,
        };
        let (what, fatal) = match fault {
            Fault::End => {
                self.done = true;
                return None;
            }
            Fault::Io(e) => (e.to_string(), true),
            Fault::Bad(what) => {
                // What is wrong with the rest of the file, if anything, is told by the next call.
                if let Err(Fault::End) = self.resynchronise() {
                    self.done = true;
                }
                (what, false)
            }
        };
        self.done |= fatal;
        self.errors += 1;
        Some(Err(WarcError { file: self.name.clone(), offset: at, what, fatal }))
    }
}

fn trimmed(line: &[u8]) -> &str {
    // Header values are UTF-8 by the standard; the few that are not are cut at the first bad byte rather than
    // guessed.
    let valid = match std::str::from_utf8(line) {
        Ok(text) => text,
        Err(e) => line.get(..e.valid_up_to()).and_then(|l| std::str::from_utf8(l).ok()).unwrap_or(""),
    };
    valid.trim_end_matches(['\r', '\n'])
}
