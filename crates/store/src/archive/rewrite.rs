//! Writes archive files again without some of their pages. What stays is copied byte for byte; a revisit
//! whose payload stood in a page that goes becomes a response with that payload.

use super::compose::{Composer, ComposerSettings};
use super::date::compact;
use super::exchange::Scan;
use super::http::{HttpLimits, http_message};
use super::reader::{Limits, WarcRecord, read_at};
use super::writer::{ArchiveSettings, Position};
use crate::files;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use types::{Millis, Problem};

/// An answer in the archive.
struct HeldAnswer {
    offset: u64,
    length: u64,
    /// Where the records that belong to it end.
    end: u64,
    target: String,
    date: String,
    /// Of a revisit: address and date of the answer it refers to.
    refers: Option<(String, String)>,
    /// Of its payload, as the record says it.
    digest: String,
}

/// What tells an answer from all others: two collections may have the same one.
type Identity = (String, String, String, bool);

/// Archives that are being copied into a new one.
#[derive(Debug, Default)]
pub struct JoinedArchives {
    /// The end of the new archive.
    pub position: Option<Position>,
    /// Answers that were copied.
    pub answers: u64,
    /// Answers that were there already: the archives share them.
    pub same: u64,
    /// Answers that were left out.
    pub dropped: u64,
    /// Answers that got a payload of their own.
    pub filled: u64,
    files: u64,
    there: HashMap<Identity, (String, u64, u64)>,
}

/// The answers of an archive that a ledger commits, file by file.
pub struct Archived {
    dir: PathBuf,
    position: Option<Position>,
    files: BTreeMap<String, Vec<HeldAnswer>>,
    /// Places that cannot be read: nobody knows what is there.
    pub damaged: Vec<String>,
}

/// What came of copying.
#[derive(Debug, Default)]
pub struct CopyReport {
    /// Files that were written, with the files they replace.
    pub files: Vec<(String, String)>,
    /// Of a file that was replaced: where its answers were, and where they are now, with their length.
    pub moved: HashMap<(String, u64), (String, u64, u64)>,
    /// Answers that were left out.
    pub dropped: u64,
    /// Answers that got a payload of their own.
    pub filled: u64,
    /// The end of the archive now.
    pub position: Option<Position>,
}

impl Archived {
    /// Reads the heads of all records before `position`.
    pub fn read(dir: &Path, position: Option<Position>) -> Result<Archived, Problem> {
        let mut archived =
            Archived { dir: dir.to_path_buf(), position, files: BTreeMap::new(), damaged: Vec::new() };
        for (_, file) in super::files(dir, &ArchiveSettings::default())? {
            let held = archived.read_file(&file)?;
            archived.files.insert(file, held);
        }
        Ok(archived)
    }

    /// The same of every archive file in a folder, whichever workers of a shared crawl wrote them.
    pub fn read_every(dir: &Path) -> Result<Archived, Problem> {
        let mut archived =
            Archived { dir: dir.to_path_buf(), position: None, files: BTreeMap::new(), damaged: Vec::new() };
        let io = |e: std::io::Error| Problem::io("read", dir, &e);
        for entry in std::fs::read_dir(dir).map_err(io)? {
            let entry = entry.map_err(io)?;
            let is_file = entry.file_type().map_err(io)?.is_file();
            if let Some(file) =
                entry.file_name().to_str().filter(|name| is_file && name.ends_with(".warc.gz"))
            {
                let held = archived.read_file(file)?;
                archived.files.insert(file.to_string(), held);
            }
        }
        Ok(archived)
    }

    /// Has it this file?
    pub fn has(&self, file: &str) -> bool {
        self.files.contains_key(file)
    }

    fn until(&self, file: &str) -> u64 {
        self.position.as_ref().filter(|p| p.file == file).map_or(u64::MAX, |p| p.length)
    }

    fn read_file(&mut self, file: &str) -> Result<Vec<HeldAnswer>, Problem> {
        let (path, until) = (self.dir.join(file), self.until(file));
        let mut held: Vec<HeldAnswer> = Vec::new();
        for record in Scan::open(&path, 0, Limits { block: 0, ..Limits::default() })? {
            let record = match record {
                Ok(record) if record.offset >= until => break,
                Ok(record) => record,
                Err(e) if e.offset >= until => break,
                Err(e) => {
                    self.damaged.push(e.to_string());
                    continue;
                }
            };
            let end = record.offset + record.length;
            match record.kind().as_str() {
                "response" | "revisit" => {
                    let said = |name: &str| record.header(name).unwrap_or_default().to_string();
                    let refers = (record.kind() == "revisit")
                        .then(|| (said("WARC-Refers-To-Target-URI"), said("WARC-Refers-To-Date")));
                    held.push(HeldAnswer {
                        offset: record.offset,
                        length: record.length,
                        end,
                        target: record.target().unwrap_or_default().to_string(),
                        date: said("WARC-Date"),
                        digest: said("WARC-Payload-Digest"),
                        refers,
                    });
                }
                "warcinfo" => {}
                // Between two records nothing but damage can lie: what follows it belongs to nobody.
                _ => {
                    if let Some(last) = held.last_mut().filter(|last| last.end == record.offset) {
                        last.end = end;
                    }
                }
            }
        }
        Ok(held)
    }

    /// Addresses of all answers.
    pub fn targets(&self) -> impl Iterator<Item = &str> {
        self.files.values().flatten().map(|h| h.target.as_str())
    }

    /// Writes into `to` every file that has an answer that `goes`, without it. Nothing else is changed.
    pub fn copy_without(
        &self,
        goes: &dyn Fn(&str) -> bool,
        to: &Path,
        composer: ComposerSettings,
        now: Millis,
    ) -> Result<CopyReport, Problem> {
        let mut gone: HashMap<(String, String), (&str, u64)> = HashMap::new();
        for (file, held) in &self.files {
            for h in held.iter().filter(|h| h.refers.is_none() && goes(&h.target)) {
                gone.insert((h.target.clone(), h.date.clone()), (file, h.offset));
            }
        }
        let lost = |h: &HeldAnswer| h.refers.as_ref().is_some_and(|r| gone.contains_key(r));
        let mut copied = CopyReport { position: self.position.clone(), ..CopyReport::default() };
        let mut composer = Composer::new(composer);
        let taken: HashSet<&String> = self.files.keys().collect();
        for (file, held) in &self.files {
            if !held.iter().any(|h| goes(&h.target) || lost(h)) {
                continue;
            }
            let mut at = now;
            let mut name = renamed(file, at);
            while taken.contains(&name) {
                at = Millis(at.0 + 1);
                name = renamed(file, at);
            }
            let mut out = Output::create(&to.join(&name))?;
            let from = self.dir.join(file);
            let io = |e: std::io::Error| Problem::io("read", &from, &e);
            let mut bytes = File::open(&from).map_err(io)?;
            out.write(&composer.renamed(&first(&from)?, &name, at)?)?;
            for h in held {
                let payload = h.refers.as_ref().and_then(|r| gone.get(r));
                if goes(&h.target) {
                    copied.dropped += 1;
                    continue;
                }
                let (offset, mut length) = (out.length, h.length);
                if let Some((original, place)) = payload {
                    let revisit = read_at(&from, h.offset, Limits::default())?;
                    if is_not_modified(&revisit) {
                        // It says that nothing changed since an answer that nobody may know of.
                        copied.dropped += 1;
                        continue;
                    }
                    let member = composer.with_payload(&revisit, &self.payload(original, *place)?)?;
                    out.write(&member)?;
                    length = member.len() as u64;
                    copied.filled += 1;
                } else {
                    out.copy(&mut bytes, h.offset, h.length).map_err(io)?;
                }
                out.copy(&mut bytes, h.offset + h.length, h.end - h.offset - h.length).map_err(io)?;
                copied.moved.insert((file.clone(), h.offset), (name.clone(), offset, length));
            }
            out.sync()?;
            if let Some(p) = copied.position.as_mut().filter(|p| p.file == *file) {
                *p = Position { file: name.clone(), length: out.length };
            }
            copied.files.push((name, file.clone()));
        }
        Ok(copied)
    }

    /// Copies every answer whose address `stays` into files of their own in `to`, behind those of `joined`.
    /// What is there already is not copied again. Returns where each answer is now: by its file and byte
    /// here.
    pub fn copy_into(
        &self,
        stays: &dyn Fn(&str) -> bool,
        to: &Path,
        composer: ComposerSettings,
        joined: &mut JoinedArchives,
    ) -> Result<HashMap<(String, u64), (String, u64, u64)>, Problem> {
        let mut gone: HashMap<(String, String), (&str, u64)> = HashMap::new();
        for (file, held) in &self.files {
            for h in held.iter().filter(|h| h.refers.is_none() && !stays(&h.target)) {
                gone.insert((h.target.clone(), h.date.clone()), (file, h.offset));
            }
        }
        let (mut composer, mut moved) = (Composer::new(composer), HashMap::new());
        let mut files: Vec<&String> = self.files.keys().collect();
        let settings = ArchiveSettings::default();
        let serial = |file: &str| super::writer::serial(file, &settings);
        let last = self.position.as_ref().map(|p| serial(&p.file));
        // What was begun after the last commit belongs to nobody yet.
        files.retain(|file| last.is_none_or(|last| serial(file) <= last));
        files.sort_by_key(|file| serial(file));
        for file in files {
            let held = self.files.get(file).map_or(&[][..], Vec::as_slice);
            let mut output: Option<(String, Output)> = None;
            let from = self.dir.join(file);
            let io = |e: std::io::Error| Problem::io("read", &from, &e);
            let mut bytes = File::open(&from).map_err(io)?;
            for h in held {
                if !stays(&h.target) {
                    joined.dropped += 1;
                    continue;
                }
                let identity = (h.target.clone(), h.date.clone(), h.digest.clone(), h.refers.is_some());
                if let Some(place) = joined.there.get(&identity) {
                    joined.same += 1;
                    moved.insert((file.clone(), h.offset), place.clone());
                    continue;
                }
                let payload = h.refers.as_ref().and_then(|r| gone.get(r));
                let revisit = match payload {
                    Some(_) => Some(read_at(&from, h.offset, Limits::default())?),
                    None => None,
                };
                if revisit.as_ref().is_some_and(is_not_modified) {
                    joined.dropped += 1;
                    continue;
                }
                let (name, out) = match &mut output {
                    Some(output) => output,
                    None => {
                        let name = numbered(file, joined.files);
                        let mut out = Output::create(&to.join(&name))?;
                        out.write(&composer.renamed(&first(&from)?, &name, Millis::now())?)?;
                        joined.files += 1;
                        output.insert((name, out))
                    }
                };
                let (offset, mut length) = (out.length, h.length);
                match (payload, &revisit) {
                    (Some((original, place)), Some(revisit)) => {
                        let member = composer.with_payload(revisit, &self.payload(original, *place)?)?;
                        out.write(&member)?;
                        length = member.len() as u64;
                        joined.filled += 1;
                    }
                    _ => out.copy(&mut bytes, h.offset, h.length).map_err(io)?,
                }
                out.copy(&mut bytes, h.offset + h.length, h.end - h.offset - h.length).map_err(io)?;
                joined.answers += 1;
                moved.insert((file.clone(), h.offset), (name.clone(), offset, length));
                joined.there.insert(identity, (name.clone(), offset, length));
            }
            if let Some((file, out)) = output {
                out.sync()?;
                joined.position = Some(Position { file, length: out.length });
            }
        }
        Ok(moved)
    }

    /// The body of an answer, as it was sent.
    fn payload(&self, file: &str, offset: u64) -> Result<Vec<u8>, Problem> {
        let limits = Limits { block: usize::MAX, ..Limits::default() };
        let record = read_at(&self.dir.join(file), offset, limits)?;
        let message = http_message(&record.block, &HttpLimits { body: 0, ..HttpLimits::default() });
        Ok(message.map(|m| m.wire.into_owned()).unwrap_or_default())
    }
}

/// The name of a file that is written again: another time, the same number.
fn renamed(file: &str, at: Millis) -> String {
    let mut parts: Vec<&str> = file.splitn(3, '-').collect();
    let stamp = compact(at);
    if let Some(time) = parts.get_mut(1) {
        *time = &stamp;
    }
    parts.join("-")
}

/// The name of a file that is the `n`th of a new archive.
fn numbered(file: &str, n: u64) -> String {
    let mut parts: Vec<&str> = file.splitn(4, '-').collect();
    let width = parts.get(2).map_or(0, |serial| serial.len());
    let serial = format!("{n:0width$}");
    if let Some(part) = parts.get_mut(2) {
        *part = &serial;
    }
    parts.join("-")
}

fn first(path: &Path) -> Result<WarcRecord, Problem> {
    read_at(path, 0, Limits::default())
}

fn is_not_modified(revisit: &WarcRecord) -> bool {
    revisit.block.split(|b| *b == b'\n').next().is_some_and(|line| line.windows(5).any(|w| w == b" 304 "))
}

/// A file that is being written.
struct Output {
    path: PathBuf,
    file: File,
    length: u64,
}

impl Output {
    fn create(path: &Path) -> Result<Output, Problem> {
        let file = files::create_new(path).map_err(|e| Problem::io("create", path, &e))?;
        Ok(Output { path: path.to_path_buf(), file, length: 0 })
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), Problem> {
        self.file.write_all(bytes).map_err(|e| Problem::io("write", &self.path, &e))?;
        self.length += bytes.len() as u64;
        Ok(())
    }

    fn copy(&mut self, from: &mut File, offset: u64, length: u64) -> std::io::Result<()> {
        from.seek(SeekFrom::Start(offset))?;
        let n = std::io::copy(&mut Read::by_ref(from).take(length), &mut self.file)?;
        self.length += n;
        if n < length { Err(std::io::ErrorKind::UnexpectedEof.into()) } else { Ok(()) }
    }

    fn sync(&self) -> Result<(), Problem> {
        self.file.sync_all().map_err(|e| Problem::io("write", &self.path, &e))
    }
}
