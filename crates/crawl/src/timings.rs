//! Where the time of a crawl goes, by stage. Always counted: two looks at the clock per stage and page.

use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A part of the work on a page, in the order of ARCHITECTURE.md.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub(crate) enum Stage {
    Choose,
    Fetch,
    Read,
    Judge,
    Learn,
    Score,
    Archive,
    Index,
    Settle,
    Commit,
    Wait,
}

const STAGES: [(Stage, &str, Threads); 11] = [
    (Stage::Choose, "choose what is next", Threads::Loop),
    (Stage::Fetch, "wait for answers", Threads::Network),
    (Stage::Read, "read pages", Threads::Readers),
    (Stage::Judge, "judge", Threads::Loop),
    (Stage::Learn, "learn", Threads::Loop),
    (Stage::Score, "score links", Threads::Loop),
    (Stage::Archive, "archive", Threads::Loop),
    (Stage::Index, "index", Threads::Loop),
    (Stage::Settle, "write the ledger", Threads::Loop),
    (Stage::Commit, "commit", Threads::Loop),
    (Stage::Wait, "nothing to decide", Threads::Loop),
];

/// Which threads do the work of a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Threads {
    /// The thread that decides: one page after the other.
    Loop,
    /// The threads that read pages, side by side.
    Readers,
    /// Nobody works: requests are out, side by side.
    Network,
}

/// What one stage took in this run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StageTime {
    /// What is done.
    pub stage: String,
    /// By whom.
    pub on: Threads,
    /// All of it together.
    pub ms: f64,
    /// How often.
    pub times: u64,
}

#[derive(Default)]
struct Sum {
    nanos: AtomicU64,
    times: AtomicU64,
}

/// The sums of a run. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct Timings(Arc<[Sum; STAGES.len()]>);

impl Timings {
    /// From now until what is given back is dropped.
    pub fn begin(&self, stage: Stage) -> Running {
        Running { sums: self.clone(), stage, since: Instant::now() }
    }

    pub fn add(&self, stage: Stage, took: Duration) {
        if let Some(sum) = self.0.get(stage as usize) {
            sum.nanos.fetch_add(took.as_nanos() as u64, Ordering::Relaxed);
            sum.times.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Every stage that took time.
    pub fn read(&self) -> Vec<StageTime> {
        let of = |(stage, name, on): &(Stage, &str, Threads)| {
            let sum = self.0.get(*stage as usize)?;
            let (nanos, times) = (sum.nanos.load(Ordering::Relaxed), sum.times.load(Ordering::Relaxed));
            let ms = (nanos as f64 / 1e4).round() / 100.0;
            (times > 0).then(|| StageTime { stage: name.to_string(), on: *on, ms, times })
        };
        STAGES.iter().filter_map(of).collect()
    }
}

/// A stage that is being timed.
pub(crate) struct Running {
    sums: Timings,
    stage: Stage,
    since: Instant,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.sums.add(self.stage, self.since.elapsed());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_are_summed_and_the_list_is_in_their_order() {
        assert!(STAGES.iter().enumerate().all(|(i, (stage, ..))| *stage as usize == i));
        let timings = Timings::default();
        timings.add(Stage::Read, Duration::from_millis(30));
        timings.clone().add(Stage::Read, Duration::from_millis(12));
        drop(timings.begin(Stage::Choose));
        let read = timings.read();
        assert_eq!(read.len(), 2);
        let reading = StageTime { stage: "read pages".into(), on: Threads::Readers, ms: 42.0, times: 2 };
        assert_eq!(read[1], reading);
    }
}
