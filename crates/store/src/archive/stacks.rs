//! Finds an archived record again: in the files of a folder, or in the objects of a bucket, from any machine.
//! Of an object only the piece that is wanted is read.

use super::compose::RENDERED;
use super::reader::{Limits, WarcError, WarcReader, WarcRecord, read_at};
use crate::s3::{Account, Address, Bucket};
use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use types::{ArchiveRef, Problem};

/// Readers wait for a bucket that is away, but someone sits in front of them.
const PATIENCE: Duration = Duration::from_secs(15);
/// After that nobody is kept waiting for this long.
const REST: Duration = Duration::from_secs(30);
/// Request and metadata records behind a response are smaller than this, nearly always.
const BEHIND: u64 = 16 << 10;
/// Pieces that are read in advance, and how many of them are kept: several workers' objects are read in
/// turns.
const AHEAD: u64 = 1 << 20;
const PIECES: usize = 24;

/// See the module.
pub struct Stacks {
    dir: Option<PathBuf>,
    buckets: Mutex<BTreeMap<String, Arc<Bucket>>>,
    /// Read more than is asked for, because what is asked for next lies behind it.
    on: bool,
    pieces: Mutex<VecDeque<Piece>>,
    away: Mutex<Option<(Instant, Problem)>>,
}

struct Piece {
    file: String,
    from: u64,
    bytes: Vec<u8>,
    /// The object has no more.
    last: bool,
}

impl Stacks {
    /// `dir`: the folder of files, if this machine has them.
    pub fn new(dir: Option<PathBuf>) -> Stacks {
        Stacks { dir, buckets: Mutex::default(), on: false, pieces: Mutex::default(), away: Mutex::default() }
    }

    /// For whoever reads one record after another.
    pub fn reading_on(self) -> Stacks {
        Stacks { on: true, ..self }
    }

    /// A response or revisit, read.
    pub fn record(&self, at: &ArchiveRef, limits: Limits) -> Result<WarcRecord, Problem> {
        if !Address::is_one(&at.file) {
            return read_at(&self.path(at)?, at.offset, limits);
        }
        let bytes = self.remote(at, at.length)?.0;
        let mut records = WarcReader::new(bytes.as_slice(), at.file.as_str(), limits)
            .map_err(|e| damaged(&at.file, e.to_string()))?;
        match records.next() {
            Some(Ok(record)) => Ok(record),
            Some(Err(e)) => Err(damaged(&at.file, e.to_string())),
            None => Err(damaged(&at.file, format!("there is no record at byte {}", at.offset))),
        }
    }

    /// The document of a page as a browser rendered it, if `response` says that there is one.
    pub fn rendered(&self, at: &ArchiveRef, response: &WarcRecord, limits: Limits) -> Option<Vec<u8>> {
        let id = response.header(RENDERED)?;
        let belongs = |r: &WarcRecord| r.header("WARC-Record-ID") == Some(id);
        // It comes last of the few records of a page.
        const BEHIND: usize = 8;
        if Address::is_one(&at.file) {
            let bytes = self.remote_exchange(at).ok()?;
            let records = WarcReader::new(bytes.as_slice(), at.file.as_str(), limits).ok()?;
            return records.take(BEHIND).flatten().find(belongs).map(|r| r.block);
        }
        let records = WarcReader::open_at(&self.path(at).ok()?, at.offset, limits).ok()?;
        records.take(BEHIND).flatten().find(belongs).map(|r| r.block)
    }

    /// The bytes of a response or revisit, as they are in the archive.
    pub fn bytes(&self, at: &ArchiveRef) -> Result<Vec<u8>, Problem> {
        if Address::is_one(&at.file) {
            let bytes = self.remote(at, at.length)?.0;
            if (bytes.len() as u64) < at.length {
                return Err(damaged(&at.file, format!("it ends inside the record at byte {}", at.offset)));
            }
            return Ok(bytes);
        }
        let path = self.path(at)?;
        let io = |e: std::io::Error| Problem::io("read", &path, &e);
        let mut file = File::open(&path).map_err(|e| Problem::io("open", &path, &e))?;
        file.seek(SeekFrom::Start(at.offset)).map_err(io)?;
        let mut bytes = Vec::new();
        file.take(at.length).read_to_end(&mut bytes).map_err(io)?;
        Ok(bytes)
    }

    /// Copies a response or revisit and the records that belong to it. `Ok(Err(_))`: the output cannot be
    /// written.
    pub fn copy_exchange(
        &self,
        at: &ArchiveRef,
        out: &mut dyn Write,
    ) -> Result<Result<(), std::io::Error>, Problem> {
        if Address::is_one(&at.file) {
            return self.remote_exchange(at).map(|bytes| out.write_all(&bytes));
        }
        let path = self.path(at)?;
        // Only heads matter here, so blocks may be passed over.
        let records = WarcReader::open_at(&path, at.offset, Limits { block: 0, ..Limits::default() })?;
        let (end, _) = end_of_exchange(records, at.offset).map_err(|why| damaged(&path.display(), why))?;
        let mut file = File::open(&path).map_err(|e| Problem::io("open", &path, &e))?;
        file.seek(SeekFrom::Start(at.offset)).map_err(|e| Problem::io("read", &path, &e))?;
        Ok(std::io::copy(&mut file.take(end - at.offset), out).map(|_| ()))
    }

    fn path(&self, at: &ArchiveRef) -> Result<PathBuf, Problem> {
        // The name comes from the ledger; it must not lead out of the folder.
        let name =
            Path::new(&at.file).file_name().filter(|n| *n == at.file.as_str() && !at.file.contains('\\'));
        let Some(name) = name else {
            return Err(Problem::new(format!("`{}` is not the name of an archive file", at.file))
                .hint("the ledger is damaged"));
        };
        match &self.dir {
            Some(dir) => Ok(dir.join(name)),
            None => Err(Problem::usage(format!("{} is in a worker's archive folder", at.file))
                .hint("name the folder that has the workers' archive files with --warc")),
        }
    }

    fn remote_exchange(&self, at: &ArchiveRef) -> Result<Vec<u8>, Problem> {
        let limits = Limits { block: 0, ..Limits::default() };
        let mut length = at.length.saturating_add(BEHIND);
        loop {
            let (mut bytes, last) = self.remote(at, length)?;
            let records = WarcReader::new(bytes.as_slice(), at.file.as_str(), limits)
                .map_err(|e| damaged(&at.file, e.to_string()))?;
            let (end, whole) = end_of_exchange(records, 0).map_err(|why| damaged(&at.file, why))?;
            if whole || last {
                bytes.truncate(usize::try_from(end).unwrap_or(usize::MAX));
                return Ok(bytes);
            }
            // What belongs to it goes on behind the piece.
            length = length.saturating_mul(2);
        }
    }

    /// A piece of an object, and whether the object ends with it.
    fn remote(&self, at: &ArchiveRef, length: u64) -> Result<(Vec<u8>, bool), Problem> {
        let mut pieces = self.pieces.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(i) = pieces.iter().position(|p| p.has(at, length))
            && let Some(piece) = pieces.remove(i)
        {
            let cut = piece.cut(at, length);
            pieces.push_back(piece);
            return Ok(cut);
        }
        drop(pieces);
        let wanted = if self.on { length.max(AHEAD) } else { length };
        let bytes = self.fetch(&at.file, at.offset, wanted)?;
        let last = (bytes.len() as u64) < wanted;
        let piece = Piece { file: at.file.clone(), from: at.offset, bytes, last };
        let cut = piece.cut(at, length);
        if self.on {
            let mut pieces = self.pieces.lock().unwrap_or_else(PoisonError::into_inner);
            if pieces.len() >= PIECES {
                pieces.pop_front();
            }
            pieces.push_back(piece);
        }
        Ok(cut)
    }

    fn fetch(&self, file: &str, from: u64, length: u64) -> Result<Vec<u8>, Problem> {
        let address = Address::parse(file)
            .map_err(|e| Problem::new("a record's place in the archive makes no sense").because(e.what()))?;
        if let Some((since, problem)) = &*self.away.lock().unwrap_or_else(PoisonError::into_inner)
            && since.elapsed() < REST
        {
            return Err(problem.clone());
        }
        let key = address.prefix.clone();
        let bucket = self.bucket(address)?;
        let began = Instant::now();
        bucket.get(&key, from, length).inspect_err(|problem| {
            if began.elapsed() >= PATIENCE / 2 {
                let away = Some((Instant::now(), problem.clone()));
                *self.away.lock().unwrap_or_else(PoisonError::into_inner) = away;
            }
        })
    }

    fn bucket(&self, address: Address) -> Result<Arc<Bucket>, Problem> {
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bucket) = buckets.get(&address.bucket) {
            return Ok(bucket.clone());
        }
        let name = address.bucket.clone();
        let address = Address { prefix: String::new(), ..address };
        let bucket = Arc::new(Bucket::new(address, Account::from_env()?, PATIENCE)?);
        buckets.insert(name, bucket.clone());
        Ok(bucket)
    }
}

impl Piece {
    fn has(&self, at: &ArchiveRef, length: u64) -> bool {
        let end = self.from + self.bytes.len() as u64;
        self.file == at.file
            && (self.from..=end).contains(&at.offset)
            && (self.last || at.offset.saturating_add(length) <= end)
    }

    fn cut(&self, at: &ArchiveRef, length: u64) -> (Vec<u8>, bool) {
        let from =
            usize::try_from(at.offset.saturating_sub(self.from)).unwrap_or(usize::MAX).min(self.bytes.len());
        let to = from.saturating_add(usize::try_from(length).unwrap_or(usize::MAX)).min(self.bytes.len());
        let bytes = self.bytes.get(from..to).unwrap_or_default().to_vec();
        (bytes, self.last && to == self.bytes.len())
    }
}

fn damaged(file: &dyn std::fmt::Display, why: String) -> Problem {
    Problem::new(format!("cannot copy a page from {file}"))
        .because(why)
        .hint("the archive is damaged or was changed since the crawl")
}

/// Where the records of the exchange that starts at `offset` end; `true` when what follows is seen to be
/// another's.
fn end_of_exchange(
    mut records: impl Iterator<Item = Result<WarcRecord, WarcError>>,
    offset: u64,
) -> Result<(u64, bool), String> {
    let first = match records.next() {
        Some(Ok(record)) => record,
        Some(Err(e)) => return Err(e.to_string()),
        None => return Err(format!("there is no record at byte {offset}")),
    };
    if !matches!(first.kind().as_str(), "response" | "revisit") || !first.addressable {
        return Err(format!("at byte {offset} is no response of its own"));
    }
    let id = first.header("WARC-Record-ID");
    let mut end = first.offset + first.length;
    // An error here lies behind the page: someone else's, or a record being written just now.
    for record in records.map_while(Result::ok) {
        if record.header("WARC-Concurrent-To") != id || !record.addressable {
            return Ok((end, true));
        }
        end = record.offset + record.length;
    }
    Ok((end, false))
}
