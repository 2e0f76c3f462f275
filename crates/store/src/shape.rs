//! Is every part of a collection's folder a file or a folder, as it should be? A copy that went wrong leaves
//! a folder where a file belongs, or the reverse. Whoever writes refuses such a collection; a repair sets
//! aside what is in the way.

use crate::archive;
use std::fs;
use std::path::{Path, PathBuf};
use types::{Millis, Problem};

/// Parts that are folders.
const FOLDERS: [&str; 3] = ["warc", "index", "damaged"];
/// Where the collection keeps what did not fit.
const ASIDE: &str = "damaged";

/// Something that is in the way of a part of the collection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misplaced {
    /// Where it is.
    pub path: PathBuf,
    /// It is a folder, and a file belongs there.
    pub is_folder: bool,
}

impl Misplaced {
    /// What is wrong, without the place.
    pub fn what(&self) -> &'static str {
        match self.is_folder {
            true => "is a folder, and a file belongs there",
            false => "is a file, and a folder belongs there",
        }
    }
}

/// What is in the way in a collection's folder, in the order of their names. Links are none of this: whoever
/// writes refuses them.
pub fn misplaced(dir: &Path) -> Vec<Misplaced> {
    let mut out = Vec::new();
    let mut look = |path: PathBuf, wants_folder: bool| {
        if let Ok(found) = path.symlink_metadata()
            && !found.is_symlink()
            && found.is_dir() != wants_folder
        {
            out.push(Misplaced { path, is_folder: !wants_folder });
        }
    };
    for name in names(dir) {
        if FOLDERS.contains(&name.as_str()) {
            look(dir.join(&name), true);
        } else if is_file_of_ours(&name) {
            look(dir.join(&name), false);
        }
    }
    for name in names(&dir.join("warc")).into_iter().filter(|n| n.ends_with(archive::SUFFIX)) {
        look(dir.join("warc").join(name), false);
    }
    for name in names(&dir.join("index")) {
        look(dir.join("index").join(name), false);
    }
    out.sort_by(|a, b| a.path.cmp(&b.path));
    out
}

fn is_file_of_ours(name: &str) -> bool {
    matches!(name, "ledger.log" | "ledger.mark" | "lock" | "topic.toml" | "report.html")
        || name.starts_with("checkpoint-")
}

fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    entries.filter_map(|e| e.file_name().into_string().ok()).collect()
}

/// Fails when something is in the way.
pub fn check(dir: &Path) -> Result<(), Problem> {
    let Some(first) = misplaced(dir).into_iter().next() else { return Ok(()) };
    Err(Problem::new(format!("{} {}", first.path.display(), first.what())).hint(format!(
        "nothing was changed; `gleaner repair {}` sets it aside and brings back what can be, or restore that part from a backup",
        dir.display()
    )))
}

/// Puts everything that is in the way where nothing uses it. Returns what it was and where it is now.
pub fn set_aside(dir: &Path, now: Millis) -> Result<Vec<(Misplaced, PathBuf)>, Problem> {
    let aside = dir.join(ASIDE);
    let mut moved = Vec::new();
    let mut all = misplaced(dir);
    // A file in the place of the folder that everything goes to is moved first.
    all.sort_by_key(|found| found.path != aside);
    for found in all {
        let mut from = found.path.clone();
        if from == aside {
            // The place for it is what it stands in.
            from = free_name(dir, ASIDE);
            fs::rename(&found.path, &from).map_err(|e| Problem::io("move", &found.path, &e))?;
        }
        crate::files::make_folder(&aside)?;
        let name = found.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let to = free_name(&aside, &name);
        fs::rename(&from, &to).map_err(|e| Problem::io("move", &from, &e))?;
        let about = format!("stood at {} and {}", found.path.display(), found.what());
        archive::note(&aside, &to, &about, now).map_err(|e| Problem::io("write", &aside, &e))?;
        moved.push((found, to));
    }
    Ok(moved)
}

/// A name in a folder that nothing has yet.
fn free_name(dir: &Path, name: &str) -> PathBuf {
    let all = std::iter::once(name.to_string()).chain((2u32..).map(|n| format!("{n}-{name}")));
    let mut free = all.map(|n| dir.join(n)).filter(|p| p.symlink_metadata().is_err());
    free.next().unwrap_or_else(|| dir.join(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_the_way_is_found_and_set_aside() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        for folder in ["ledger.log", "warc/gleaner-1.warc.gz", "index/meta.json", "mine", "checkpoint-1"] {
            fs::create_dir_all(at(folder)).unwrap();
            fs::write(at(folder).join("inside"), folder).unwrap();
        }
        fs::write(at("damaged"), "a file").unwrap();
        fs::write(at("topic.toml"), "query = 'x'").unwrap();
        fs::create_dir_all(at("warc/somebody-elses")).unwrap();
        assert!(check(dir.path()).unwrap_err().to_string().contains("gleaner repair"));
        let moved = set_aside(dir.path(), Millis(0)).unwrap();
        assert_eq!(moved.len(), 5, "{moved:#?}");
        assert_eq!(misplaced(dir.path()), Vec::new());
        check(dir.path()).unwrap();
        for (found, to) in &moved {
            assert!(!found.path.exists() || found.path.ends_with("damaged"), "{}", found.path.display());
            assert!(to.exists() && to.starts_with(at("damaged")), "{}", to.display());
        }
        assert_eq!(fs::read_to_string(at("damaged/ledger.log/inside")).unwrap(), "ledger.log");
        assert_eq!(fs::read_to_string(at("damaged/damaged")).unwrap(), "a file");
        assert!(at("mine").is_dir() && at("topic.toml").is_file() && at("warc/somebody-elses").is_dir());
        assert!(fs::read_to_string(at("damaged/README.txt")).unwrap().contains("meta.json"));
        // Once more, of the same names.
        fs::create_dir_all(at("ledger.log")).unwrap();
        assert_eq!(set_aside(dir.path(), Millis(0)).unwrap()[0].1, at("damaged/2-ledger.log"));
    }
}
