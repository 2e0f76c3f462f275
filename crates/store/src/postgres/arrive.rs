//! Shards that are ours and not all here yet. A crawl of millions of URLs takes minutes to load. What its last owners
//! meant to fetch next is there at once, because they say so every few seconds; finding its best URLs takes seconds. So
//! these are brought first and the crawl goes on with them, in its order; the rest comes while it runs, read by a thread
//! of its own and taken in between two turns of the loop.
//!
//! Until all of a shard is here nobody can tell whether a URL of it is known. What is found of it goes into its outbox,
//! as if another worker had it, and is taken in afterwards. What is not here cannot be changed by anyone meanwhile.

use super::Shared;
use super::db::{Db, Line};
use super::load::{self, Loader, Rows, Take};
use super::scratch::Scratch;
use frontier::Frontier;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::time::{Duration, Instant};
use types::{Millis, Problem, StateKey, UrlId};

/// Pieces that wait to be taken in.
const AHEAD: usize = 4;
/// Between two turns the loop is kept from its work for at least this long, and as long as it was away, up to the other.
const TURN: (Duration, Duration) = (Duration::from_millis(5), Duration::from_millis(50));

/// After a failure.
const AGAIN: Duration = Duration::from_millis(500);
/// How often a worker with many URLs says what it means to fetch next, and how much of it.
const HINT_EVERY: Duration = Duration::from_secs(5);
const HINTS: usize = 4_096;

/// Some shards that were taken together.
pub(super) struct Arriving {
    /// Those that are not whole; and whether they were given up in order.
    shards: BTreeMap<i16, bool>,
    hosts: HashMap<i64, u32>,
    /// When they were taken.
    since: Millis,
    from: Receiver<Result<Piece, Problem>>,
    /// Tells the thread that reads whether anyone listens.
    wanted: Arc<AtomicBool>,
}

enum Piece {
    Rows(Rows),
    /// Nothing more of these will come.
    Whole(Vec<i16>),
}

impl Arriving {
    /// Brings what the last owners meant to fetch next, then the `best` best URLs of the shards, then everything, `at_once`
    /// shards at a time.
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

    /// When the line is cut it begins again: what is here already is known by its number. The loop goes on without these
    /// shards meanwhile, so that no connection is free is waited for as long as it takes.
    fn bring(
        &self,
        db: &mut Option<Db>,
        read: &dyn Fn(&Db, Take) -> Result<(), tokio_postgres::Error>,
    ) -> Result<(), Problem> {
        let mut in_vain_since = None;
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
                in_vain_since = None;
            }
            let since = *in_vain_since.get_or_insert_with(Instant::now);
            if !super::db::passes(&e) || since.elapsed() > open.patience() {
                return Err(open.problem("read from", &e));
            }
            *db = None;
            std::thread::sleep(AGAIN);
        }
        Ok(())
    }
}

impl Shared {
    /// Shards that are this worker's and not all here yet.
    pub fn arriving(&self) -> usize {
        self.arriving.iter().map(|a| a.shards.len()).sum()
    }

    /// Is all of this shard here? Only then is a URL that is not here a new one.
    pub(super) fn is_here(&self, shard: i16) -> bool {
        self.owned.contains_key(&shard) && !self.is_arriving(shard)
    }

    pub(super) fn is_arriving(&self, shard: i16) -> bool {
        self.arriving.iter().any(|a| a.shards.contains_key(&shard))
    }

    /// Not here, and not given up in order by whoever had it before.
    pub(super) fn arrives_unclean(&self, shard: i16) -> bool {
        self.arriving.iter().any(|a| a.shards.get(&shard) == Some(&false))
    }

    /// Another worker gets these: what is still under way of them is not wanted.
    pub(super) fn stop_arriving(&mut self, gone: &BTreeSet<i16>) {
        for a in &mut self.arriving {
            a.shards.retain(|shard, _| !gone.contains(shard));
        }
        self.arriving.retain(|a| !a.shards.is_empty());
    }

    /// Says what is next in line here, for whoever has to go on with it.
    pub(super) fn leave_hints(&mut self) -> Result<(), Problem> {
        let many = self.ids.len() > self.options.load_at_once as usize;
        if !many || self.hinted_at.is_some_and(|t| t.elapsed() < HINT_EVERY) {
            return Ok(());
        }
        self.hinted_at = Some(Instant::now());
        let place = |id: UrlId| Some((self.ids.host_of(id)?.shard, self.ids.global(id)?));
        let bytes = load::write_hints(self.inner.order().best(HINTS).into_iter().filter_map(place));
        self.db.tell(
            "INSERT INTO gleaner.state (crawl, slot, name, n, bytes) VALUES ($1, $2, $3, 0, $4)
             ON CONFLICT (crawl, slot, name, n) DO UPDATE SET bytes = EXCLUDED.bytes",
            &[&self.me.crawl, &self.me.slot, &StateKey::Next.name(), &bytes],
        )?;
        Ok(())
    }

    /// Takes in what has come, for a moment: of those that were taken at different times a piece each in turn.
    pub(super) fn take_arrivals(&mut self) -> Result<(), Problem> {
        let began = Instant::now();
        let away = began.duration_since(self.arrivals_taken_at);
        let most = away.clamp(TURN.0, TURN.1);
        let mut arriving = std::mem::take(&mut self.arriving);
        let mut taken = Ok(true);
        while matches!(taken, Ok(true)) && began.elapsed() < most {
            taken = Ok(false);
            for a in &mut arriving {
                match self.take_one(a) {
                    Ok(some) => taken = taken.map(|before| before | some),
                    Err(e) => taken = Err(e),
                }
                if taken.is_err() {
                    break;
                }
            }
            arriving.retain(|a| !a.shards.is_empty());
        }
        self.arriving = arriving;
        self.arrivals_taken_at = Instant::now();
        taken.map(|_| ())
    }

    /// Was there something to take in?
    fn take_one(&mut self, a: &mut Arriving) -> Result<bool, Problem> {
        match a.from.try_recv() {
            Ok(Ok(Piece::Rows(rows))) => {
                let hosts = matches!(rows, Rows::Hosts(_));
                self.load(&a.shards, &mut a.hosts, a.since, hosts, |_, loader, log| {
                    loader.take_in(&rows, log)
                })?;
            }
            Ok(Ok(Piece::Whole(shards))) => {
                a.shards.retain(|shard, _| !shards.contains(shard));
                // What came late of a host that had had its pages by then, or was given up.
                self.inner.drop_beyond_caps();
                self.inner.drop_closed_since(a.since);
            }
            Ok(Err(problem)) => return Err(problem),
            Err(TryRecvError::Empty) => return Ok(false),
            Err(TryRecvError::Disconnected) => {
                return Err(Problem::new("the thread that loads shards ended unexpectedly"));
            }
        }
        Ok(true)
    }

    /// Rows of shards into the ledger. `with_hosts`: hosts may be among them.
    pub(super) fn load(
        &mut self,
        shards: &BTreeMap<i16, bool>,
        hosts: &mut HashMap<i64, u32>,
        since: Millis,
        with_hosts: bool,
        bring: impl FnOnce(&Db, &mut Loader<'_>, &mut Scratch) -> Result<(), Problem>,
    ) -> Result<(), Problem> {
        // What is not yet in the log must not come after what is loaded.
        Frontier::commit(&mut self.inner)?;
        if with_hosts && self.hosts_shipped < self.inner.order().host_count() as u32 {
            // They come before the ones that are loaded, which are known to everyone.
            self.announce_hosts()?;
        }
        let from = self.ids.len() as u32;
        let limits = self.options.limits.clone();
        let mut loader = Loader::new(self.skew, &limits, since, &mut self.ids, shards, hosts);
        bring(&self.db, &mut loader, self.inner.log_mut())?;
        let rest = Instant::now() + Duration::from_millis(loader.rest_ms);
        for (shard, _) in shards.iter().filter(|(_, clean)| !**clean) {
            let until = self.rests.entry(*shard).or_insert(rest);
            *until = rest.max(*until);
        }
        let to = self.ids.len() as u32;
        match self.loaded.last_mut() {
            Some(last) if last.1 == from => last.1 = to,
            _ if from < to => self.loaded.push((from, to)),
            _ => {}
        }
        self.inner.catch_up()?;
        if with_hosts {
            self.hosts_shipped = self.inner.order().host_count() as u32;
        }
        Ok(())
    }
}
