//! Shards that are ours and not all here yet. A crawl of millions of URLs takes minutes to load. What its
//! last owners meant to fetch next is there at once, because they say so every few seconds; finding its best
//! URLs takes seconds. So these are brought first and the crawl goes on with them, in its order; the rest
//! comes while it runs, read by a thread of its own and taken in between two turns of the loop.

use super::db::{Db, Line};
use super::load::{self, Rows, Take};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, Instant};
use types::{Millis, Problem};

/// Pieces that wait to be taken in.
const AHEAD: usize = 4;

/// After a failure.
const AGAIN: Duration = Duration::from_millis(500);

/// Some shards that were taken together.
pub(super) struct Arriving {
    /// Those that are not whole; and whether they were given up in order.
    pub shards: BTreeMap<i16, bool>,
    pub hosts: HashMap<i64, u32>,
    /// When they were taken.
    pub since: Millis,
    pub from: Receiver<Result<Piece, Problem>>,
    /// Tells the thread that reads whether anyone listens.
    wanted: Arc<AtomicBool>,
}

pub(super) enum Piece {
    Rows(Rows),
    /// Nothing more of these will come.
    Whole(Vec<i16>),
}

impl Arriving {
    /// Brings what the last owners meant to fetch next, then the `best` best URLs of the shards, then
    /// everything, `at_once` shards at a time.
    pub fn bring(
        line: Line,
        crawl: i32,
        shards: BTreeMap<i16, bool>,
        best: i64,
        at_once: usize,
        since: Millis,
    ) -> Arriving {
        let (to, from) = sync_channel(AHEAD);
        let all: Vec<i16> = shards.keys().copied().collect();
        let wanted = Arc::new(AtomicBool::new(true));
        let courier = Courier { line, crawl, to, wanted: wanted.clone() };
        std::thread::spawn(move || {
            if let Err(problem) = courier.bring_all(&all, best, at_once) {
                let _ = courier.to.send(Err(problem));
            }
        });
        Arriving { shards, hosts: HashMap::new(), since, from, wanted }
    }
}

impl Drop for Arriving {
    fn drop(&mut self) {
        self.wanted.store(false, Ordering::Relaxed);
    }
}

/// The thread that reads, with a connection of its own.
struct Courier {
    line: Line,
    crawl: i32,
    to: SyncSender<Result<Piece, Problem>>,
    wanted: Arc<AtomicBool>,
}

impl Courier {
    fn is_wanted(&self) -> bool {
        self.wanted.load(Ordering::Relaxed)
    }

    fn bring_all(&self, all: &[i16], best: i64, at_once: usize) -> Result<(), Problem> {
        let crawl = self.crawl;
        let mut db = None;
        self.bring(&mut db, &|db, take| load::read_hints(db, crawl, all, take))?;
        self.bring(&mut db, &|db, take| load::read_best(db, crawl, all, best, take))?;
        for some in all.chunks(at_once.max(1)) {
            self.bring(&mut db, &|db, take| load::read_shards(db, crawl, some, take))?;
            if !self.is_wanted() || self.to.send(Ok(Piece::Whole(some.to_vec()))).is_err() {
                break;
            }
        }
        Ok(())
    }

    /// When the connection is cut this begins again: what is here already is known by its number. If the
    /// database has no free connection this waits without a limit: the loop goes on without these shards, and
    /// a take-over must not give up.
    fn bring(
        &self,
        db: &mut Option<Db>,
        read: &dyn Fn(&Db, Take) -> Result<(), tokio_postgres::Error>,
    ) -> Result<(), Problem> {
        let mut failing_since = None;
        while self.is_wanted() {
            let Some(open) = db else {
                *db = self.line.connect()?;
                if db.is_none() {
                    std::thread::sleep(AGAIN);
                }
                continue;
            };
            let mut came = false;
            let send = &mut |rows| {
                came = true;
                self.is_wanted() && self.to.send(Ok(Piece::Rows(rows))).is_ok()
            };
            let Err(e) = read(open, send) else { return Ok(()) };
            if came {
                failing_since = None;
            }
            let since = *failing_since.get_or_insert_with(Instant::now);
            if !super::db::passes(&e) || since.elapsed() > open.patience() {
                return Err(open.problem("read from", &e));
            }
            *db = None;
            std::thread::sleep(AGAIN);
        }
        Ok(())
    }
}
