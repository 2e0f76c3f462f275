//! The pages of an archive file, one after another, each with what was noted of it. What pages needed to be
//! shown is passed over. Damage costs the records
//! it hits: reading goes on at the next one that is whole.

use super::compose::RESOURCE;
use super::reader::{Limits, WarcError, WarcReader, WarcRecord};
use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use types::Problem;

/// A response or revisit, with the records that belong to it.
pub struct Exchange {
    /// Has the HTTP answer, or what is left of it in a revisit.
    pub response: WarcRecord,
    /// The request as it was sent; empty when it is not kept.
    pub request: String,
    /// The fields of the metadata record.
    pub note: Vec<(String, String)>,
    /// The document as a browser rendered it.
    pub rendered: Option<Vec<u8>>,
}

impl Exchange {
    /// A field of the note.
    pub fn noted(&self, name: &str) -> Option<&str> {
        self.note.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, v)| v.as_str())
    }
}

/// Every record of an archive file, one after another. Damage is told and passed over: reading goes on at the
/// next compressed member that begins with a whole record.
pub struct Scan {
    path: PathBuf,
    limits: Limits,
    records: Option<WarcReader<BufReader<File>>>,
    /// The first record behind damage.
    ahead: Option<WarcRecord>,
    /// Where the last whole record ends.
    end: u64,
}

impl Scan {
    /// The records of a file from this byte on.
    pub fn open(path: &Path, from: u64, limits: Limits) -> Result<Scan, Problem> {
        let records = WarcReader::open_at(path, from, limits).ok();
        if records.is_none() {
            // Not even a beginning; only a file that is not there is a problem.
            File::open(path).map_err(|e| Problem::io("open", path, &e))?;
        }
        Ok(Scan { path: path.to_path_buf(), limits, records, ahead: None, end: from })
    }

    /// Where the last whole record ends.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// Goes on at the next compressed member that begins with a whole record.
    fn resume(&mut self, from: u64) {
        self.records = None;
        let mut at = from;
        while let Some(found) = next_member(&self.path, at) {
            let Ok(mut reader) = WarcReader::open_at(&self.path, found, self.limits) else { return };
            if let Some(Ok(record)) = reader.next() {
                self.ahead = Some(record);
                self.records = Some(reader);
                return;
            }
            at = found + 1;
        }
    }
}

impl Iterator for Scan {
    type Item = Result<WarcRecord, WarcError>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = match self.ahead.take() {
            Some(record) => Ok(record),
            None => self.records.as_mut()?.next()?,
        };
        match &next {
            Ok(record) => self.end = record.offset + record.length,
            Err(e) if e.fatal => self.resume(self.end.max(e.offset) + 1),
            Err(_) => {}
        }
        Some(next)
    }
}

/// See the module.
pub struct Exchanges {
    records: Scan,
    /// A record that was read too far.
    ahead: Option<WarcRecord>,
    /// Records that could not be read.
    damaged: u64,
}

impl Exchanges {
    /// The pages of a file from this byte on. `block`: the largest block that is kept.
    pub fn open(path: &Path, from: u64, block: usize) -> Result<Exchanges, Problem> {
        let records = Scan::open(path, from, Limits { block, ..Limits::default() })?;
        Ok(Exchanges { records, ahead: None, damaged: 0 })
    }

    /// Where the last whole record ends.
    pub fn end(&self) -> u64 {
        self.records.end()
    }

    /// Places where something could not be read.
    pub fn damaged(&self) -> u64 {
        self.damaged
    }

    fn record(&mut self) -> Option<WarcRecord> {
        if let Some(record) = self.ahead.take() {
            return Some(record);
        }
        loop {
            match self.records.next()? {
                Ok(record) => return Some(record),
                Err(_) => self.damaged += 1,
            }
        }
    }
}

/// Where the next gzip member may begin.
fn next_member(path: &Path, from: u64) -> Option<u64> {
    const MAGIC: &[u8] = &[0x1f, 0x8b, 0x08];
    let mut file = File::open(path).ok()?;
    file.seek(SeekFrom::Start(from)).ok()?;
    let mut at = from;
    let mut window = vec![0; 1 << 20];
    let mut kept = 0;
    loop {
        let n = file.read(window.get_mut(kept..)?).ok()?;
        if n == 0 {
            return None;
        }
        let bytes = window.get(..kept + n)?;
        if let Some(i) = bytes.windows(MAGIC.len()).position(|w| w == MAGIC) {
            return Some(at + i as u64);
        }
        // A beginning may lie across two reads.
        let keep = bytes.len().min(MAGIC.len() - 1);
        let from = bytes.len() - keep;
        at += from as u64;
        window.copy_within(from..from + keep, 0);
        kept = keep;
    }
}

impl Iterator for Exchanges {
    type Item = Exchange;

    fn next(&mut self) -> Option<Exchange> {
        loop {
            let exchange = self.exchange()?;
            if exchange.noted("foundAs") != Some(RESOURCE) {
                return Some(exchange);
            }
        }
    }
}

impl Exchanges {
    fn exchange(&mut self) -> Option<Exchange> {
        let response = loop {
            let record = self.record()?;
            if matches!(record.kind().as_str(), "response" | "revisit") {
                break record;
            }
        };
        let id = response.header("WARC-Record-ID").map(str::to_string);
        let mut exchange = Exchange { response, request: String::new(), note: Vec::new(), rendered: None };
        while let Some(record) = self.record() {
            if record.header("WARC-Concurrent-To") != id.as_deref() || id.is_none() {
                self.ahead = Some(record);
                break;
            }
            let text = String::from_utf8_lossy(&record.block);
            match record.kind().as_str() {
                "resource" => exchange.rendered = Some(record.block),
                "request" => exchange.request = text.into_owned(),
                "metadata" => {
                    let field = |line: &str| {
                        let (name, value) = line.split_once(':')?;
                        Some((name.trim().to_string(), value.trim().to_string()))
                    };
                    exchange.note = text.lines().filter_map(field).collect();
                }
                _ => {}
            }
        }
        Some(exchange)
    }
}
