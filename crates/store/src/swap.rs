//! Puts a new ledger and new archive files in the place of old ones, all at once.
//!
//! ```text
//! DIR/rewrite.tmp/ledger.log, ledger.mark      the new ledger
//!                 warc/                        new archive files, under names that are not in use
//!                 commit                       what goes; when it is there, the new takes the place of the old
//! ```
//! Everything is made beside the collection and durable before `commit` is. A process that dies before leaves
//! the old collection and scraps; one that dies after leaves a swap that whoever opens the collection for
//! writing finishes first ([`finish`]). Each step of that can be done twice.

use crate::files;
use crate::index::Index;
use crate::ledger as log;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use types::Problem;

const SHOP: &str = "rewrite.tmp";
const COMMIT: &str = "commit";
const WARC: &str = "warc";

/// A swap that is being prepared.
pub struct Swap {
    dir: PathBuf,
    shop: PathBuf,
}

impl Swap {
    /// An empty place for what is new. What an earlier swap left there is finished, or thrown away.
    pub fn begin(dir: &Path) -> Result<Swap, Problem> {
        finish(dir)?;
        let shop = dir.join(SHOP);
        files::make_folder(&shop)?;
        files::make_folder(&shop.join(WARC))?;
        Ok(Swap { dir: dir.to_path_buf(), shop })
    }

    /// The folder for the new ledger.
    pub fn ledger(&self) -> &Path {
        &self.shop
    }

    /// The folder for new archive files.
    pub fn warc(&self) -> PathBuf {
        self.shop.join(WARC)
    }

    /// Makes the swap. `goes`: files that are replaced or of no use any more, by their paths in the
    /// collection. The search index is emptied: it is to be made again.
    pub fn commit(self, goes: &[String]) -> Result<(), Problem> {
        sync_folder(&self.warc())?;
        sync_folder(&self.shop)?;
        let path = self.shop.join(COMMIT);
        let text: String = goes.iter().map(|name| format!("{name}\n")).collect();
        let beside = self.shop.join("commit.new");
        fs::write(&beside, text)
            .and_then(|()| File::open(&beside)?.sync_all())
            .and_then(|()| fs::rename(&beside, &path))
            .map_err(|e| Problem::io("write", &path, &e))?;
        sync_folder(&self.shop)?;
        finish(&self.dir).map(|_| ())
    }
}

/// Was a swap decided that is not finished?
pub fn is_unfinished(dir: &Path) -> bool {
    dir.join(SHOP).join(COMMIT).is_file()
}

/// Finishes a swap that was decided, throws away one that was not. The caller holds the lock of the folder.
pub fn finish(dir: &Path) -> Result<bool, Problem> {
    let shop = dir.join(SHOP);
    files::refuse_link(&shop)?;
    if !shop.is_dir() {
        return Ok(false);
    }
    let decided = is_unfinished(dir);
    if decided {
        take_place(dir, &shop)?;
        // First of all: without it the rest is scraps, and may be thrown away in any order.
        let commit = shop.join(COMMIT);
        fs::remove_file(&commit).map_err(|e| Problem::io("remove", &commit, &e))?;
        sync_folder(&shop)?;
    }
    fs::remove_dir_all(&shop).map_err(|e| Problem::io("remove", &shop, &e))?;
    sync_folder(dir)?;
    Ok(decided)
}

fn take_place(dir: &Path, shop: &Path) -> Result<(), Problem> {
    let commit = shop.join(COMMIT);
    let goes = fs::read_to_string(&commit).map_err(|e| Problem::io("read", &commit, &e))?;
    Index::remove_all(&dir.join("index"))?;
    let (from, to) = (shop.join(WARC), dir.join(WARC));
    for entry in fs::read_dir(&from).map_err(|e| Problem::io("read", &from, &e))?.flatten() {
        let path = entry.path();
        fs::rename(&path, to.join(entry.file_name())).map_err(|e| Problem::io("move", &path, &e))?;
    }
    if to.is_dir() {
        sync_folder(&to)?;
    }
    let mut new = log::ledger_files(shop);
    if new.iter().any(|path| path.ends_with(log::LOG)) {
        // Those of the old ledger would say of the new one that it was cut off.
        for path in log::ledger_files(dir).iter().filter(|path| !path.ends_with(log::LOG)) {
            fs::remove_file(path).map_err(|e| Problem::io("remove", path, &e))?;
        }
        sync_folder(dir)?;
        // The ledger first: without its mark it is believed, a mark without its ledger is not.
        new.sort_by_key(|path| !path.ends_with(log::LOG));
    }
    for path in new {
        let to = dir.join(path.file_name().unwrap_or_default());
        fs::rename(&path, &to).map_err(|e| Problem::io("move", &path, &e))?;
        sync_folder(dir)?;
    }
    for name in goes.lines().filter(|name| !name.is_empty() && !name.contains("..") && !name.starts_with('/'))
    {
        let path = dir.join(name);
        let removed = match path.is_dir() && !path.is_symlink() {
            true => fs::remove_dir_all(&path),
            false => fs::remove_file(&path),
        };
        match removed {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                return Err(Problem::io("remove", &path, &e));
            }
            _ => {}
        }
    }
    if to.is_dir() {
        sync_folder(&to)?;
    }
    sync_folder(dir)
}

fn sync_folder(dir: &Path) -> Result<(), Problem> {
    File::open(dir).and_then(|d| d.sync_all()).map_err(|e| Problem::io("sync", dir, &e))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn collection(dir: &Path) {
        fs::create_dir(dir.join(WARC)).unwrap();
        fs::write(dir.join("ledger.log"), "old").unwrap();
        fs::write(dir.join("warc/old.warc.gz"), "old").unwrap();
        fs::write(dir.join("warc/kept.warc.gz"), "kept").unwrap();
    }

    fn prepared(dir: &Path) -> Swap {
        let swap = Swap::begin(dir).unwrap();
        fs::write(swap.ledger().join("ledger.log"), "new").unwrap();
        fs::write(swap.warc().join("new.warc.gz"), "new").unwrap();
        swap
    }

    fn read(dir: &Path, name: &str) -> Option<String> {
        fs::read_to_string(dir.join(name)).ok()
    }

    #[test]
    fn the_new_takes_the_place_of_the_old_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path();
        collection(dir);
        // Prepared and not decided: thrown away.
        drop(prepared(dir));
        assert!(!is_unfinished(dir) && !finish(dir).unwrap());
        assert_eq!(read(dir, "ledger.log").as_deref(), Some("old"));
        assert!(!dir.join(SHOP).exists());
        let goes = ["warc/old.warc.gz".to_string(), "not there".into(), "../outside".into()];
        prepared(dir).commit(&goes).unwrap();
        assert_eq!(read(dir, "ledger.log").as_deref(), Some("new"));
        assert_eq!(read(dir, "warc/new.warc.gz").as_deref(), Some("new"));
        assert_eq!(read(dir, "warc/kept.warc.gz").as_deref(), Some("kept"));
        assert!(!dir.join("warc/old.warc.gz").exists() && !dir.join(SHOP).exists());
    }

    #[test]
    fn whatever_step_it_died_at_the_next_one_finishes() {
        for done in 0..4 {
            let dir = tempfile::tempdir().unwrap();
            let dir = dir.path();
            collection(dir);
            let shop = prepared(dir).shop;
            fs::write(shop.join(COMMIT), "warc/old.warc.gz\n").unwrap();
            if done > 0 {
                fs::rename(shop.join("warc/new.warc.gz"), dir.join("warc/new.warc.gz")).unwrap();
            }
            if done > 1 {
                fs::rename(shop.join("ledger.log"), dir.join("ledger.log")).unwrap();
            }
            if done > 2 {
                fs::remove_file(dir.join("warc/old.warc.gz")).unwrap();
            }
            assert!(is_unfinished(dir) && finish(dir).unwrap(), "{done} steps were done");
            assert_eq!(read(dir, "ledger.log").as_deref(), Some("new"));
            assert_eq!(read(dir, "warc/new.warc.gz").as_deref(), Some("new"));
            assert!(!dir.join("warc/old.warc.gz").exists() && !dir.join(SHOP).exists());
            assert!(!finish(dir).unwrap());
        }
        // Killed while the scraps were being thrown away: what is left of them goes, too.
        let dir = tempfile::tempdir().unwrap();
        collection(dir.path());
        fs::create_dir(dir.path().join(SHOP)).unwrap();
        assert!(!finish(dir.path()).unwrap() && !dir.path().join(SHOP).exists());
    }
}
