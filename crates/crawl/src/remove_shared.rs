//! Takes pages out of a shared crawl, for good. What goes from the database goes in one transaction
//! ([`store::Remover`]); archive files in folders are written again beside the old ones before it, and take
//! their place after it.
//!
//! ```text
//! WARC/remove.tmp/*.warc.gz    files without the pages, under names that are not in use
//!                 plan.json    which removal they belong to, and what they replace
//! ```
//! A process that dies before the transaction ends leaves the old archive and scraps; one that dies after it
//! leaves a plan that the next removal with this folder finishes.

use crate::remove::{Order, Removal, Removed, SHOWN, Selector, without};
use frontier::State;
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use store::archive::{Archived, ComposerSettings, CopyReport};
use store::{Named, Remover, files};
use types::{ArchiveRef, Canon, Millis, Problem, UrlId};

const SHOP: &str = "remove.tmp";
const PLAN: &str = "plan.json";

/// The crawl that pages are removed from.
#[derive(Clone, Debug)]
pub struct SharedCrawl<'a> {
    /// `postgres://…`
    pub store: &'a str,
    /// Its name; `None`: the only one there is.
    pub crawl: Option<&'a str>,
    /// Folders with archive files of its workers.
    pub warc: &'a [PathBuf],
}

/// Files that take the place of others once a removal is decided.
#[derive(Serialize, Deserialize)]
struct Plan {
    at: Millis,
    what: Selector,
    /// The new one, and the one that it replaces.
    files: Vec<(String, String)>,
}

/// A folder of archive files.
struct Shelf {
    dir: PathBuf,
    archived: Archived,
}

/// Removes pages of a shared crawl. Fails, and changes nothing, while a worker runs.
pub fn remove_shared(from: &SharedCrawl<'_>, order: &Order<'_>) -> Result<Removed, Problem> {
    let remover = Remover::begin(from.store, from.crawl)?;
    let what = order.what.clone();
    let mut earlier = Vec::new();
    for bytes in remover.removed()? {
        earlier.extend(serde_json::from_slice::<Removal>(&bytes));
    }
    let shelves = shelves(from.warc, &earlier, order)?;
    let gone = remover.named(&|url| what.matches(url))?;
    let versions = remover.versions(&gone)?;
    let pages: Vec<&str> = versions.iter().filter(|v| v.is_page).map(|v| v.record.url.as_str()).collect();
    let goes = |target: &str| is_meant(&what, target);
    let strange = shelves.iter().any(|shelf| shelf.archived.targets().any(goes));
    if gone.is_empty() && !strange {
        return Err(Problem::nothing(format!("no URL of {} is {}", remover.name(), what.text()))
            .hint("to keep URLs out that were never seen, name them in [scope] hosts or patterns"));
    }
    let waits = gone.iter().any(|named| !matches!(named.state, State::Settled(_)));
    let before = earlier.iter().rfind(|r| r.what == what);
    if let Some(before) = before.filter(|_| pages.is_empty() && !waits && !strange) {
        let when = store::archive::rfc3339(before.at);
        return Err(Problem::nothing(format!("{} was removed at {when}", what.text()))
            .hint("`gleaner remove --store … --list` shows what was"));
    }
    let places = versions.iter().filter_map(|v| v.record.archive.as_ref());
    let is_left = |at: &&ArchiveRef| !shelves.iter().any(|shelf| shelf.archived.has(&at.file));
    let place = |at: &ArchiveRef| format!("{} {}+{}", at.file, at.offset, at.length);
    let mut removed = Removed {
        removal: Removal {
            at: Millis::now(),
            by: order.by.to_string(),
            because: order.because.to_string(),
            what: what.clone(),
            urls: gone.len() as u64,
            pages: pages.len() as u64,
            versions: versions.len() as u64,
            answers: 0,
            left: places.filter(is_left).map(place).collect(),
        },
        gone: pages.iter().take(SHOWN).map(|url| (*url).to_string()).collect(),
        copies: Vec::new(),
        freed: 0,
    };
    if order.dry_run {
        let targets = shelves.iter().flat_map(|shelf| shelf.archived.targets());
        removed.removal.answers = targets.filter(|target| goes(target)).count() as u64;
        return Ok(removed);
    }
    let before: u64 = from.warc.iter().map(|dir| folder_bytes(dir)).sum();
    let written = write_again(&remover, &shelves, &goes, &mut removed.removal)?;
    let ids: HashSet<UrlId> = gone.iter().map(|named: &Named| named.id).collect();
    let edit = |name: &str, bytes: &[u8]| without(&ids, name, bytes);
    let mut moves: HashMap<(String, u64), (String, u64, u64)> = HashMap::new();
    written.into_iter().for_each(|copied| moves.extend(copied.moved));
    let moved = |at: &ArchiveRef| {
        let (file, offset, length) = moves.get(&(at.file.clone(), at.offset))?.clone();
        Some(ArchiveRef { file, offset, length })
    };
    let moved: Option<&dyn Fn(&ArchiveRef) -> Option<ArchiveRef>> =
        if moves.is_empty() { None } else { Some(&moved) };
    let entry = serde_json::to_vec(&removed.removal)
        .map_err(|e| Problem::new("cannot write down what was removed").because(e))?;
    remover.remove(&gone, &edit, moved, &entry)?;
    remover.commit()?;
    for shelf in &shelves {
        finish(&shelf.dir, std::slice::from_ref(&removed.removal))?;
    }
    let after: u64 = from.warc.iter().map(|dir| folder_bytes(dir)).sum();
    removed.freed = before as i64 - after as i64;
    Ok(removed)
}

/// The folders, after what an earlier removal left in them was finished or thrown away.
fn shelves(warc: &[PathBuf], earlier: &[Removal], order: &Order<'_>) -> Result<Vec<Shelf>, Problem> {
    let mut shelves = Vec::new();
    for dir in warc {
        if !order.dry_run {
            finish(dir, earlier)?;
        }
        let archived = Archived::read_every(dir)?;
        if let (Some(place), false) = (archived.damaged.first(), order.with_damaged) {
            return Err(Problem::new("the archive is damaged")
                .because(format!("{place}: nobody can say whether what is to go is there"))
                .hint("--with-damaged leaves such bytes out of the files that are written again"));
        }
        shelves.push(Shelf { dir: dir.clone(), archived });
    }
    Ok(shelves)
}

/// Writes archive files again without what goes, beside the old ones, and a plan of which replaces which.
fn write_again(
    remover: &Remover,
    shelves: &[Shelf],
    goes: &dyn Fn(&str) -> bool,
    removal: &mut Removal,
) -> Result<Vec<CopyReport>, Problem> {
    let key = remover.archive_key()?.and_then(|bytes| <[u8; 16]>::try_from(bytes).ok());
    let half = |at: usize| key.map_or(0, |bytes| u64::from_le_bytes(std::array::from_fn(|i| bytes[at + i])));
    let composer = || ComposerSettings { key: (half(0), half(8)), ..ComposerSettings::default() };
    let mut all = Vec::new();
    for shelf in shelves.iter().filter(|shelf| shelf.archived.targets().any(goes)) {
        let shop = shelf.dir.join(SHOP);
        files::make_folder(&shop)?;
        let copied = shelf.archived.copy_without(goes, &shop, composer(), Millis::now())?;
        removal.answers += copied.dropped;
        let plan = Plan { at: removal.at, what: removal.what.clone(), files: copied.files.clone() };
        let bytes = serde_json::to_vec(&plan)
            .map_err(|e| Problem::new("cannot write down what replaces what").because(e))?;
        let path = shop.join(PLAN);
        files::replace(&path, &bytes).map_err(|e| Problem::io("write", &path, &e))?;
        all.push(copied);
    }
    Ok(all)
}

/// Of a removal that is decided, new files take the place of old ones; those of any other are thrown away.
/// Each step can be done twice.
fn finish(dir: &Path, decided: &[Removal]) -> Result<(), Problem> {
    let shop = dir.join(SHOP);
    if !shop.is_dir() {
        return Ok(());
    }
    let plan: Option<Plan> =
        fs::read(shop.join(PLAN)).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
    if let Some(plan) = plan.filter(|p| decided.iter().any(|r| r.at == p.at && r.what == p.what)) {
        for (new, old) in &plan.files {
            let (new, path) = (shop.join(new), dir.join(new));
            if new.is_file() {
                fs::rename(&new, &path).map_err(|e| Problem::io("move", &new, &e))?;
            }
            let old = dir.join(old);
            match fs::remove_file(&old) {
                Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                    return Err(Problem::io("delete", &old, &e));
                }
                _ => {}
            }
        }
        fs::File::open(dir).and_then(|d| d.sync_all()).map_err(|e| Problem::io("write", dir, &e))?;
    }
    fs::remove_dir_all(&shop).map_err(|e| Problem::io("delete", &shop, &e))
}

fn is_meant(what: &Selector, target: &str) -> bool {
    let canon = Canon { drop_params: Vec::new(), max_length: usize::MAX };
    canon.parse(target).is_ok_and(|url| what.matches(&url))
}

fn folder_bytes(dir: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(dir) else { return 0 };
    entries.flatten().filter_map(|e| e.metadata().ok()).filter(|m| m.is_file()).map(|m| m.len()).sum()
}
