//! What only a shared ledger can do: several workers on one crawl, taking over, handing over, being cut off.

use frontier::Limits;
use std::path::Path;
use std::time::Duration;
use store::SharedOptions;

pub use crate::postgres::server;

/// A worker of the crawl that is named after the folder, in time that is made up.
pub fn shared(dir: &Path, worker: &str, limits: Limits) -> SharedOptions {
    let crawl = dir.file_name().unwrap().to_string_lossy();
    let url = server().unwrap().url();
    SharedOptions {
        key: Some((1, 2)),
        database_time: false,
        commit_within: Duration::ZERO,
        ..SharedOptions::new(&url, &crawl, worker, dir.join(worker), limits)
    }
}
