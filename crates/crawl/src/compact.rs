//! Gives space back: the ledger is written again without what was replaced since, and the search index is
//! made again. No page, version or visit goes, and the archive is left as it is.

use crate::check::{finish_swap, mend_index};
use crate::collection::committed;
use crate::config::LoadedConfig;
use crate::remove::{Plan, verify, whole, write_ledger};
use crate::space::{self, SpaceUsed};
use serde::Serialize;
use std::path::Path;
use store::archive::CopyReport;
use store::ledger as log;
use store::swap::Swap;
use types::{Problem, StateKey};

/// What came of it.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Compacted {
    /// What took the space before.
    pub before: SpaceUsed,
    /// What takes it now.
    pub after: SpaceUsed,
}

/// Beside the new ledger there must be room for so much.
const SPARE: u64 = 16 << 20;

/// Writes the ledger again, and the index. `with_damaged`: what was set aside goes. Fails, and changes
/// nothing, when another process has the collection open, when it is damaged, or when there is no room for a
/// second ledger.
pub fn compact(dir: &Path, loaded: &LoadedConfig, with_damaged: bool) -> Result<Compacted, Problem> {
    let _held = log::hold(dir)?;
    finish_swap(dir, loaded)?;
    let before = space::used(dir);
    let need = before.ledger + SPARE;
    if let Some(free) = space::free(dir).filter(|free| *free < need) {
        return Err(Problem::new(format!(
            "there is no room to write {} again",
            dir.join(log::LOG).display()
        ))
        .because(format!("it takes up to {need} bytes, {free} are free"))
        .hint("make room on this disk, or copy the folder to another one and compact it there"));
    }
    let ledger = whole(dir)?;
    let (plan, copied) =
        (Plan::default(), CopyReport { position: committed(&*ledger)?, ..CopyReport::default() });
    let swap = Swap::begin(dir)?;
    let anew = [StateKey::Archive.name(), StateKey::Indexed.name()];
    let state = |name: &str, bytes: &[u8]| (!anew.contains(&name)).then(|| bytes.to_vec());
    let written = write_ledger(dir, &swap, &ledger, &copied, &plan, &state, Vec::new())?;
    verify(&swap, &ledger, &plan, &written)?;
    drop(ledger);
    let mut goes = vec![crate::roll::FEATURES_FILE.to_string()];
    if with_damaged {
        goes.push("damaged".to_string());
    }
    swap.commit(&goes)?;
    if loaded.config.archive.index {
        mend_index(dir)?;
    }
    Ok(Compacted { before, after: space::used(dir) })
}
