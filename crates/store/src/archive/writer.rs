//! The archive's files: appending, rotating, and cutting back to what was committed.

use super::beyond::{self, Aside};
use super::compose::{Composed, Composer, ComposerSettings, PageNote};
use super::date::compact;
use super::digest::Digest;
use crate::files;
use std::fs::{self, File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use types::{ArchiveRef, Fetched, Millis, Problem};

pub(crate) const SUFFIX: &str = ".warc.gz";

/// How an archive is written.
#[derive(Clone, Debug)]
pub struct ArchiveSettings {
    /// First part of every file name.
    pub prefix: String,
    /// Last part of every file name: several workers may share a folder, none touches another's files.
    pub worker: String,
    /// A file that has reached this size is not continued.
    pub max_size: u64,
    /// Further fields of the `warcinfo` record (`software`, `operator`, `isPartOf`, `http-header-user-agent`
    /// …).
    pub info: Vec<(String, String)>,
    /// Bytes kept in memory before they are written.
    pub buffer: usize,
    /// How records are made.
    pub composer: ComposerSettings,
    /// Where to set aside what the ledger does not know of (default: a folder in the archive's).
    pub aside: Option<PathBuf>,
}

impl Default for ArchiveSettings {
    fn default() -> Self {
        ArchiveSettings {
            prefix: "gleaner".into(),
            worker: "0".into(),
            max_size: 1 << 30,
            info: vec![("software".into(), concat!("gleaner/", env!("CARGO_PKG_VERSION")).into())],
            buffer: 1 << 20,
            composer: ComposerSettings::default(),
            aside: None,
        }
    }
}

/// How far the archive is written: what the ledger commits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Position {
    /// File name inside the archive's folder.
    pub file: String,
    /// Bytes of it that are written or in the buffer.
    pub length: u64,
}

/// Where a page went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenRecord {
    /// The response or revisit record.
    pub at: ArchiveRef,
    /// Of the payload.
    pub digest: Digest,
    /// A `revisit` was written: the payload is archived elsewhere.
    pub revisit: bool,
}

/// An archive as the crawl's loop sees it: files in a folder, or objects in a bucket.
pub trait Archiver: Send {
    /// Composes and appends one exchange. `None`: there was no HTTP answer to archive.
    fn write(&mut self, fetched: &Fetched, note: &PageNote) -> Result<Option<WrittenRecord>, Problem>;
    /// What was appended survives a killed process, as far as the ledger does not see to it itself.
    fn flush(&mut self) -> Result<(), Problem>;
    /// The same, and a power cut.
    fn sync(&mut self) -> Result<(), Problem>;
    /// What the ledger commits, so that the next run can cut back to it.
    fn position(&self) -> Option<Position>;
}

/// The file being written.
pub(super) struct CurrentFile {
    pub(super) file: File,
    name: String,
    /// Bytes of it that the operating system has.
    written: u64,
}

/// Appends exchanges to a folder of `.warc.gz` files.
///
/// Nothing is in the archive until [`Archive::flush`] (survives a killed process) or [`Archive::sync`]
/// (survives a power cut) has returned and the ledger has committed [`Archive::position`]. When an append or
/// flush fails, for example on a full disk, nothing is lost: the bytes stay in the buffer and the next call
/// tries again.
pub struct Archive {
    dir: PathBuf,
    settings: ArchiveSettings,
    composer: Composer,
    pub(super) current: Option<CurrentFile>,
    buffer: Vec<u8>,
    next_serial: u64,
    /// A file was created since the folder was last synced.
    dir_dirty: bool,
    aside: Option<Aside>,
}

impl Archive {
    /// Opens or creates the folder and makes it agree with `committed`: the committed file is cut to its
    /// committed length, later files are gone. What is cut off is set aside when it holds whole pages
    /// ([`Archive::set_aside`] says so). A crash leaves no more than [`super::UNCOMMITTED`] of them: whoever
    /// finds more should ask first.
    pub fn open(
        dir: &Path,
        settings: ArchiveSettings,
        committed: Option<Position>,
    ) -> Result<Archive, Problem> {
        check_names(&settings)?;
        files::make_folder(dir)?;
        let next_serial = beyond::files(dir, &settings)?.last().map_or(0, |(n, _)| n + 1);
        let composer = Composer::new(settings.composer.clone());
        let mut archive = Archive {
            dir: dir.to_path_buf(),
            settings,
            composer,
            current: None,
            buffer: Vec::new(),
            next_serial,
            dir_dirty: false,
            aside: None,
        };
        archive.recover(committed)?;
        Ok(archive)
    }

    /// What was set aside on opening.
    pub fn set_aside(&self) -> Option<&Aside> {
        self.aside.as_ref()
    }

    fn recover(&mut self, committed: Option<Position>) -> Result<(), Problem> {
        let mut last = None;
        if let Some(position) = &committed {
            let path = self.dir.join(&position.file);
            files::refuse_link(&path)?;
            last = serial(&position.file, &self.settings);
            if last.is_none() {
                return Err(Problem::new(format!(
                    "the ledger names {} as the archive's last file",
                    position.file
                ))
                .because("that is not a name this worker gives")
                .hint("resume with the same archive prefix and worker name as before"));
            }
            let length = match fs::metadata(&path) {
                Ok(there) => there.len(),
                Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
                    return Err(shortened(&path, "missing", position, 0));
                }
                Err(e) => return Err(Problem::io("find", &path, &e)),
            };
            if length < position.length {
                return Err(shortened(&path, "shorter than the ledger says", position, length));
            }
        }
        self.set_aside_beyond(committed.as_ref())?;
        if let (Some(position), Some(last)) = (committed, last) {
            let path = self.dir.join(&position.file);
            let file =
                OpenOptions::new().write(true).open(&path).map_err(|e| Problem::io("open", &path, &e))?;
            self.next_serial = last + 1;
            self.current = Some(CurrentFile { file, name: position.file, written: position.length });
        }
        Ok(())
    }

    fn set_aside_beyond(&mut self, committed: Option<&Position>) -> Result<(), Problem> {
        let pieces = beyond::beyond(&self.dir, &self.settings, committed, u64::MAX)?;
        let folder = beyond::folder(&self.dir, &self.settings);
        let mut aside = Aside { folder: folder.clone(), ..Aside::default() };
        for piece in &pieces {
            self.dir_dirty |= piece.from == 0;
            if beyond::set_aside(&self.dir, piece, &folder, Millis::now())?.is_some() {
                aside.pages += piece.pages;
                aside.bytes += piece.length;
            }
        }
        self.aside = (aside.bytes > 0).then_some(aside);
        Ok(())
    }

    /// Composes and appends one exchange. `None`: there was no HTTP answer to archive.
    pub fn write(&mut self, fetched: &Fetched, note: &PageNote) -> Result<Option<WrittenRecord>, Problem> {
        match self.composer.exchange(fetched, note)? {
            Some(composed) => self.append(&composed).map(Some),
            None => Ok(None),
        }
    }

    /// Appends one exchange composed elsewhere. On an error it is not appended and everything before it still
    /// is.
    pub fn append(&mut self, exchange: &Composed) -> Result<WrittenRecord, Problem> {
        if self.length() >= self.settings.max_size {
            self.finish_file()?;
        }
        if self.current.is_none() {
            self.start_file(exchange.at)?;
        }
        if self.buffer.len() + exchange.bytes.len() > self.settings.buffer {
            self.flush()?;
        }
        let offset = self.length();
        self.buffer.extend_from_slice(&exchange.bytes);
        let at = ArchiveRef { file: self.file_name().to_string(), offset, length: exchange.response as u64 };
        Ok(WrittenRecord { at, digest: exchange.digest, revisit: exchange.revisit })
    }

    /// The end of everything appended so far; `None` before the first page. Commit it after `flush` or
    /// `sync`.
    pub fn position(&self) -> Option<Position> {
        self.current.as_ref().map(|c| Position { file: c.name.clone(), length: self.length() })
    }

    /// Hands everything to the operating system.
    pub fn flush(&mut self) -> Result<(), Problem> {
        let Some(current) = &mut self.current else { return Ok(()) };
        if self.buffer.is_empty() {
            return Ok(());
        }
        let path = self.dir.join(&current.name);
        // Always from a known place: if an earlier try failed half-way, this one writes over its remains.
        let tried = current
            .file
            .seek(SeekFrom::Start(current.written))
            .and_then(|_| current.file.write_all(&self.buffer));
        if let Err(e) = tried {
            // Best effort: a file that ends between records is valid for others while we wait for space.
            let _ = current.file.set_len(current.written);
            return Err(Problem::io("write", &path, &e));
        }
        current.written += self.buffer.len() as u64;
        self.buffer.clear();
        if self.buffer.capacity() > 4 * self.settings.buffer {
            self.buffer = Vec::new();
        }
        Ok(())
    }

    /// Flushes, and waits until the disk has it.
    pub fn sync(&mut self) -> Result<(), Problem> {
        self.flush()?;
        if let Some(current) = &self.current {
            current.file.sync_data().map_err(|e| Problem::io("sync", &self.dir.join(&current.name), &e))?;
        }
        if self.dir_dirty {
            // A new file's name is only durable with its folder. Not every system can open one: then it need
            // not.
            if let Ok(dir) = File::open(&self.dir) {
                dir.sync_all().map_err(|e| Problem::io("sync", &self.dir, &e))?;
            }
            self.dir_dirty = false;
        }
        Ok(())
    }

    /// The folder of the WARC files.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    fn file_name(&self) -> &str {
        self.current.as_ref().map_or("", |c| &c.name)
    }

    fn length(&self) -> u64 {
        self.current.as_ref().map_or(0, |c| c.written) + self.buffer.len() as u64
    }

    /// What is written from now on goes into a new file: what is there is left as it is.
    pub fn begin_new_file(&mut self) -> Result<(), Problem> {
        self.finish_file()
    }

    fn finish_file(&mut self) -> Result<(), Problem> {
        self.sync()?;
        self.current = None;
        Ok(())
    }

    fn start_file(&mut self, at: Millis) -> Result<(), Problem> {
        let (prefix, worker) = (&self.settings.prefix, &self.settings.worker);
        let name = format!("{prefix}-{}-{:05}-{worker}{SUFFIX}", compact(at), self.next_serial);
        let info = self.composer.warcinfo(&name, Some(&name), at, &self.settings.info)?;
        let path = self.dir.join(&name);
        let file = files::create_new(&path).map_err(|e| Problem::io("create", &path, &e))?;
        self.next_serial += 1;
        self.dir_dirty = true;
        self.current = Some(CurrentFile { file, name, written: 0 });
        self.buffer.extend_from_slice(&info);
        Ok(())
    }
}

impl Archiver for Archive {
    fn write(&mut self, fetched: &Fetched, note: &PageNote) -> Result<Option<WrittenRecord>, Problem> {
        Archive::write(self, fetched, note)
    }
    fn flush(&mut self) -> Result<(), Problem> {
        Archive::flush(self)
    }
    fn sync(&mut self) -> Result<(), Problem> {
        Archive::sync(self)
    }
    fn position(&self) -> Option<Position> {
        Archive::position(self)
    }
}

/// What is chosen by the user must fit into a file's name.
pub(super) fn check_names(settings: &ArchiveSettings) -> Result<(), Problem> {
    for part in [&settings.prefix, &settings.worker] {
        if part.is_empty()
            || !part.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'))
        {
            return Err(Problem::usage(format!("`{part}` cannot be part of an archive's file name"))
                .hint("use letters, digits, `.`, `_` and `-`"));
        }
    }
    Ok(())
}

/// The archive has pages that no crash can have left behind the ledger's end.
pub fn lost_pages(dir: &Path) -> Problem {
    Problem::new(format!("{} holds many pages that the ledger does not know of", dir.display()))
        .because("the ledger was cut off, or an older one was put in its place: a crash leaves few or none")
        .hint(format!(
            "nothing was changed; `gleaner repair {}` brings them back, or restore the ledger from a backup",
            collection(dir)
        ))
}

fn shortened(path: &Path, how: &str, position: &Position, length: u64) -> Problem {
    Problem::new(format!("{} is {how}", path.display()))
        .because(format!("{length} bytes are there, {} were committed", position.length))
        .hint(format!(
            "restore the file from a copy; without one `gleaner repair {}` goes on without those bytes (the \
             text of \
             the pages is in the ledger)",
            path.parent().map_or_else(|| "DIR".to_string(), collection)
        ))
}

/// The folder whose archive this is.
fn collection(dir: &Path) -> String {
    dir.parent().map_or_else(|| "DIR".to_string(), |d| d.display().to_string())
}

/// The serial number in one of this worker's file names, `prefix-timestamp-serial-worker.warc.gz`.
pub(super) fn serial(name: &str, settings: &ArchiveSettings) -> Option<u64> {
    let rest = name.strip_suffix(SUFFIX)?.strip_prefix(&settings.prefix)?.strip_prefix('-')?;
    let (timestamp, rest) = rest.split_once('-')?;
    let (serial, worker) = rest.split_once('-')?;
    let digits = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
    if timestamp.len() != 17 || !digits(timestamp) || !digits(serial) || worker != settings.worker {
        return None;
    }
    serial.parse().ok()
}
