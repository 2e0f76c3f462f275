//! Files and folders of a collection. Two rules:
//!
//! * What pages say may be private, so new collections are: `0700` for the folder. Everything below takes its
//!   folder's bits, so that a folder which is shared (`[archive] mode`, or made by an earlier version) stays
//!   shared.
//! * A collection may come from somebody else, and a link in it may point at any file of the user. So nothing
//!   is written through a link: files are made new, replaced by name, or refused.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use types::Problem;

/// Who may read a new collection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Its owner.
    #[default]
    Private,
    /// Whom the user's umask lets.
    Umask,
    /// These bits for folders, and for files without the execute bits.
    Bits(u32),
}

impl FromStr for Mode {
    type Err = Problem;
    fn from_str(text: &str) -> Result<Mode, Problem> {
        match (text, u32::from_str_radix(text, 8)) {
            ("private", _) => Ok(Mode::Private),
            ("umask", _) => Ok(Mode::Umask),
            // Its owner must be able to work with it.
            (_, Ok(bits)) if bits <= 0o777 && bits & 0o700 == 0o700 => Ok(Mode::Bits(bits)),
            _ => Err(Problem::usage(format!("[archive] mode = \"{text}\" is not a mode")).hint(
                "write \"private\", \"umask\", or octal bits in which the owner may do all, as in \"0750\"",
            )),
        }
    }
}

/// Makes the folder of a new collection. One that is there keeps its mode.
pub fn make_collection(dir: &Path, mode: Mode) -> Result<(), Problem> {
    let problem = |e: io::Error| Problem::io("create the collection folder", dir, &e);
    if dir.is_dir() {
        return Ok(());
    }
    if let Some(parent) = dir.parent().filter(|p| !p.as_os_str().is_empty()) {
        fs::create_dir_all(parent).map_err(problem)?;
    }
    let bits = match mode {
        Mode::Private => Some(0o700),
        Mode::Umask => None,
        Mode::Bits(bits) => Some(bits),
    };
    match make(dir, bits) {
        Err(e) if e.kind() != io::ErrorKind::AlreadyExists => Err(problem(e)),
        _ => Ok(()),
    }
}

/// Makes a folder inside a collection, with the bits of the folder it is in.
pub fn make_folder(dir: &Path) -> Result<(), Problem> {
    refuse_link(dir)?;
    if dir.is_dir() {
        return Ok(());
    }
    if let Some(parent) = dir.parent().filter(|p| !p.as_os_str().is_empty() && !p.exists()) {
        make_folder(parent)?;
    }
    match make(dir, bits_around(dir)) {
        Err(e) if e.kind() != io::ErrorKind::AlreadyExists => Err(Problem::io("create", dir, &e)),
        _ => Ok(()),
    }
}

/// Fails when there is a link at this place.
pub fn refuse_link(path: &Path) -> Result<(), Problem> {
    match path.symlink_metadata() {
        Ok(found) if found.is_symlink() => Err(Problem::new(format!("{} is a link", path.display()))
            .because("what a collection writes stays in its folder")
            .hint(
                "put the file or folder itself there; the collection's own folder may be reached by a link",
            )),
        _ => Ok(()),
    }
}

/// Makes a file that must not be there yet.
pub fn create_new(path: &Path) -> io::Result<File> {
    let bits = bits_around(path).map(|b| b & 0o666);
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, bits.unwrap_or(0o666));
    let file = options.open(path)?;
    set_bits(path, bits)?;
    Ok(file)
}

/// Opens a file for reading and writing, made if it is not there.
pub fn open_or_create(path: &Path) -> Result<File, Problem> {
    refuse_link(path)?;
    match create_new(path) {
        Err(e) if e.kind() != io::ErrorKind::AlreadyExists => return Err(Problem::io("create", path, &e)),
        _ => {}
    }
    OpenOptions::new().read(true).write(true).open(path).map_err(|e| Problem::io("open", path, &e))
}

/// Writes a file, all of it or nothing. Whatever had this name, a link too, is replaced.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let beside = beside(path);
    // Of a run that was killed; or a link that somebody put there.
    let _ = fs::remove_file(&beside);
    let written =
        create_new(&beside).and_then(|mut f| f.write_all(bytes)).and_then(|()| fs::rename(&beside, path));
    if written.is_err() {
        let _ = fs::remove_file(&beside);
    }
    written
}

fn beside(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(format!(".{}.new", std::process::id()));
    path.with_file_name(name)
}

/// Gives the files that another library made in a folder the folder's bits.
pub fn share_like_folder(dir: &Path) {
    let Some(bits) = bits_of(dir) else { return };
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|t| t.is_file()) {
            // Best effort: it may be gone already.
            let _ = set_bits(&entry.path(), Some(bits & 0o666));
        }
    }
}

/// Is there a link in this folder?
pub fn has_link(dir: &Path) -> bool {
    let mut entries = fs::read_dir(dir).into_iter().flatten().flatten();
    entries.any(|e| e.file_type().is_ok_and(|t| t.is_symlink()))
}

fn make(dir: &Path, bits: Option<u32>) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, bits.unwrap_or(0o777));
    builder.create(dir)?;
    set_bits(dir, bits)
}

/// Bits that something inside a folder gets. A folder in which everybody may write (`/tmp`) is no example:
/// private.
fn bits_around(path: &Path) -> Option<u32> {
    let parent = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    bits_of(parent).map(|bits| if bits & 0o002 == 0 { bits } else { 0o700 })
}

#[cfg(unix)]
fn bits_of(path: &Path) -> Option<u32> {
    use std::os::unix::fs::PermissionsExt;
    Some(fs::metadata(path).ok()?.permissions().mode() & 0o777)
}

#[cfg(not(unix))]
fn bits_of(_: &Path) -> Option<u32> {
    None
}

/// The umask may have taken bits away that the folder has.
#[cfg(unix)]
fn set_bits(path: &Path, bits: Option<u32>) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let Some(bits) = bits else { return Ok(()) };
    let now = fs::metadata(path)?.permissions().mode();
    if now & 0o777 == bits {
        return Ok(());
    }
    fs::set_permissions(path, fs::Permissions::from_mode(now & 0o7000 | bits))
}

#[cfg(not(unix))]
fn set_bits(_: &Path, _: Option<u32>) -> io::Result<()> {
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn bits(path: &Path) -> u32 {
        bits_of(path).unwrap()
    }

    #[test]
    fn everything_takes_the_bits_of_its_folder() {
        let tmp = tempfile::tempdir().unwrap();
        for (mode, folder, file) in [
            (Mode::Private, 0o700, 0o600),
            (Mode::Bits(0o770), 0o770, 0o660),
            (Mode::Bits(0o750), 0o750, 0o640),
        ] {
            let dir = tmp.path().join(format!("{folder:o}"));
            make_collection(&dir, mode).unwrap();
            make_folder(&dir.join("a/b")).unwrap();
            drop(create_new(&dir.join("a/b/new")).unwrap());
            drop(open_or_create(&dir.join("open")).unwrap());
            replace(&dir.join("replaced"), b"x").unwrap();
            fs::write(dir.join("a/foreign"), "x").unwrap();
            share_like_folder(&dir.join("a"));
            for name in ["", "a", "a/b"] {
                assert_eq!(bits(&dir.join(name)), folder, "{mode:?} {name}");
            }
            for name in ["a/b/new", "open", "replaced", "a/foreign"] {
                assert_eq!(bits(&dir.join(name)), file, "{mode:?} {name}");
            }
            make_collection(&dir, Mode::Umask).unwrap();
            assert_eq!(bits(&dir), folder, "one that is there keeps its mode");
        }
        assert!("0640".parse::<Mode>().is_err() && "rwx".parse::<Mode>().is_err());
        assert_eq!("0750".parse::<Mode>().unwrap(), Mode::Bits(0o750));
    }

    #[test]
    fn nothing_is_written_through_a_link() {
        let tmp = tempfile::tempdir().unwrap();
        let (mine, dir) = (tmp.path().join("mine"), tmp.path().join("c"));
        fs::write(&mine, "precious").unwrap();
        make_collection(&dir, Mode::Private).unwrap();
        symlink(&mine, dir.join("report.html")).unwrap();
        symlink(&mine, beside(&dir.join("report.html"))).unwrap();
        replace(&dir.join("report.html"), b"report").unwrap();
        assert_eq!(fs::read(dir.join("report.html")).unwrap(), b"report");
        symlink(&mine, dir.join("lock")).unwrap();
        assert!(open_or_create(&dir.join("lock")).is_err() && create_new(&dir.join("lock")).is_err());
        symlink(tmp.path(), dir.join("warc")).unwrap();
        assert!(make_folder(&dir.join("warc")).is_err() && has_link(&dir));
        assert_eq!(fs::read(&mine).unwrap(), b"precious");
    }
}
