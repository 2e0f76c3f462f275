//! What the archive holds beyond the position that the ledger committed last, and how it is set aside.

use super::date::rfc3339;
use super::exchange::Exchanges;
use super::writer::{ArchiveSettings, Position, serial};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use types::{Millis, Problem};

/// Pages that a crash can leave behind the ledger's end: one batch, and what a second brought when the power
/// failed.
pub const UNCOMMITTED: u64 = 1_000;

/// The folder of what was set aside, if nobody names another: inside the archive's.
const ASIDE: &str = "damaged";
const NOTE: &str = "README.txt";

/// A piece of a file that the ledger does not know of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// File name inside the archive's folder.
    pub file: String,
    /// Byte where the piece begins; it reaches to the end of the file.
    pub from: u64,
    /// Bytes.
    pub length: u64,
    /// Whole pages in it (no more are counted than were asked for).
    pub pages: u64,
    /// Does it begin as the archive's own records do? If not, it is no unfinished write.
    sound: bool,
}

impl Piece {
    /// Nothing but the beginning of a record, or a file that has no page yet: what a killed process leaves.
    fn is_scrap(&self) -> bool {
        self.pages == 0 && self.sound
    }
}

/// The files of a worker, in the order they were written.
pub fn files(dir: &Path, settings: &ArchiveSettings) -> Result<Vec<(u64, String)>, Problem> {
    let mut ours = Vec::new();
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        // Whoever writes there says best what is wrong.
        Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(ours);
        }
        Err(e) => return Err(Problem::io("read", dir, &e)),
    };
    for entry in entries {
        let entry = entry.map_err(|e| Problem::io("read", dir, &e))?;
        // Whoever writes refuses a folder in the place of a file (`shape`); to a reader it is a file that is
        // missing.
        if let Some(name) = entry.file_name().to_str()
            && let Some(serial) = serial(name, settings)
            && !entry.file_type().is_ok_and(|t| t.is_dir())
        {
            ours.push((serial, name.to_string()));
        }
    }
    ours.sort();
    Ok(ours)
}

/// Everything behind `committed`. Pages are counted up to `most`.
pub fn beyond(
    dir: &Path,
    settings: &ArchiveSettings,
    committed: Option<&Position>,
    most: u64,
) -> Result<Vec<Piece>, Problem> {
    let last = committed.and_then(|p| serial(&p.file, settings));
    let mut out: Vec<Piece> = Vec::new();
    for (n, file) in files(dir, settings)? {
        let from = match (committed, last) {
            (Some(p), _) if p.file == file => p.length,
            (Some(_), Some(last)) if n <= last => continue,
            _ => 0,
        };
        let path = dir.join(&file);
        let length = fs::metadata(&path).map_err(|e| Problem::io("read", &path, &e))?.len();
        if length <= from && committed.is_some_and(|p| p.file == file) {
            continue;
        }
        let counted: u64 = out.iter().map(|p| p.pages).sum();
        let left = most.saturating_sub(counted);
        let pages = Exchanges::open(&path, from, 0)?.take(usize::try_from(left).unwrap_or(usize::MAX));
        let sound = length == from || begins_a_member(&path, from)?;
        out.push(Piece { pages: pages.count() as u64, file, from, length: length - from, sound });
    }
    Ok(out)
}

fn begins_a_member(path: &Path, from: u64) -> Result<bool, Problem> {
    let io = |e: io::Error| Problem::io("read", path, &e);
    let mut file = File::open(path).map_err(io)?;
    file.seek(SeekFrom::Start(from)).map_err(io)?;
    let mut magic = Vec::new();
    file.take(2).read_to_end(&mut magic).map_err(io)?;
    Ok([0x1f, 0x8b].starts_with(&magic))
}

/// What was set aside.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Aside {
    /// Whole pages in it.
    pub pages: u64,
    /// Size of all pieces together.
    pub bytes: u64,
    /// The folder it is in now.
    pub folder: PathBuf,
}

impl Aside {
    /// In words.
    pub fn describe(&self) -> String {
        let pages = if self.pages == 1 { "1 page".to_string() } else { format!("{} pages", self.pages) };
        format!(
            "{pages} at the end of the archive were never committed; their bytes were set aside in {}, and \
             what is still wanted \
             is fetched again",
            self.folder.display()
        )
    }
}

/// Moves a piece out of the archive: into `aside` when it may hold something, else away. The file ends at
/// `piece.from` afterwards (a file of which nothing is left is gone).
pub fn set_aside(dir: &Path, piece: &Piece, aside: &Path, now: Millis) -> Result<Option<PathBuf>, Problem> {
    let path = dir.join(&piece.file);
    let cut = |path: &Path| -> io::Result<()> {
        if piece.from == 0 {
            return fs::remove_file(path);
        }
        let file = OpenOptions::new().write(true).open(path)?;
        file.set_len(piece.from)?;
        file.sync_all()
    };
    if piece.is_scrap() {
        cut(&path).map_err(|e| Problem::io("cut", &path, &e))?;
        return Ok(None);
    }
    let name = match piece.from {
        0 => piece.file.clone(),
        from => format!("{}.from-{from}.warc.gz", piece.file.trim_end_matches(".warc.gz")),
    };
    let kept = keep(aside, &name, |to| {
        let mut from = File::open(&path)?;
        from.seek(SeekFrom::Start(piece.from))?;
        io::copy(&mut from, to).map(|_| ())
    })
    .map_err(|e| Problem::io("set aside", &path, &e))?;
    let about = format!(
        "{} bytes of {} from byte {} on, with {} whole pages: the ledger did not know of them",
        piece.length, piece.file, piece.from, piece.pages
    );
    note(aside, &kept, &about, now).map_err(|e| Problem::io("write", aside, &e))?;
    cut(&path).map_err(|e| Problem::io("cut", &path, &e))?;
    Ok(Some(kept))
}

/// Makes the archive's last file end at `end`; what is behind that is set aside, whatever it is.
pub fn cut(dir: &Path, end: &Position, aside: &Path, now: Millis) -> Result<(), Problem> {
    let path = dir.join(&end.file);
    let length = fs::metadata(&path).map_err(|e| Problem::io("read", &path, &e))?.len();
    if length <= end.length {
        return Ok(());
    }
    let (file, from) = (end.file.clone(), end.length);
    let piece = Piece { file, from, length: length - from, pages: 0, sound: false };
    set_aside(dir, &piece, aside, now).map(|_| ())
}

/// Writes a new file into the folder of what was set aside. It is durable when this returns; nothing there is
/// written over.
pub fn keep(
    aside: &Path,
    name: &str,
    write: impl FnOnce(&mut File) -> io::Result<()>,
) -> io::Result<PathBuf> {
    fs::create_dir_all(aside)?;
    let (mut file, path) = new_file(aside, name)?;
    if let Err(e) = write(&mut file).and_then(|()| file.sync_all()) {
        let _ = fs::remove_file(&path);
        return Err(e);
    }
    File::open(aside)?.sync_all()?;
    Ok(path)
}

/// A name that nothing has there yet.
fn new_file(aside: &Path, name: &str) -> io::Result<(File, PathBuf)> {
    for n in 1..10_000 {
        let path = match n {
            1 => aside.join(name),
            _ => aside.join(format!("{n}-{name}")),
        };
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(file) => return Ok((file, path)),
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
            Err(e) => return Err(e),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// Says in the folder of what was set aside what a file is.
pub fn note(aside: &Path, file: &Path, about: &str, now: Millis) -> io::Result<()> {
    let path = aside.join(NOTE);
    let is_new = !path.exists();
    let mut out = OpenOptions::new().create(true).append(true).open(path)?;
    if is_new {
        out.write_all(
            b"What gleaner set aside because it did not fit the rest of the collection. Nothing here is used; when you do\n\
              not miss any page, this folder can be deleted.\n\n",
        )?;
    }
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    writeln!(out, "{} {name}: {about}", rfc3339(now))
}

/// Where to set aside what does not fit.
pub(super) fn folder(dir: &Path, settings: &ArchiveSettings) -> PathBuf {
    settings.aside.clone().unwrap_or_else(|| dir.join(ASIDE))
}
