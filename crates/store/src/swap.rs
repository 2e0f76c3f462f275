//! Puts a new ledger and new archive files in the place of old ones, all at once.
//!
//! ```text
//! DIR/rewrite.tmp/ledger.log, ledger.mark      the new ledger
//!                 warc/                        new archive files, under names that are not in use
//!                 commit                       what goes; when it is there, the new takes the place of the old
//! ```
//! Everything is made beside the collection and durable before `commit` is. A process that dies before leaves the
//! old collection and scraps; one that dies after leaves a swap that whoever opens the collection for writing
//! finishes first ([`finish`]). Each step of that can be done twice.

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

    /// Makes the swap. `goes`: files that are replaced or of no use any more, by their paths in the collection.
    /// The search index is emptied: it is to be made again.
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
