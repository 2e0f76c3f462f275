//! Shards that are ours and not all here yet. A crawl of millions of URLs takes minutes to load. What its last owners
//! meant to fetch next is there at once, because they say so every few seconds; finding its best URLs takes seconds. So
//! these are brought first and the crawl goes on with them, in its order; the rest comes while it runs, read by a thread
//! of its own and taken in between two turns of the loop.
//!
//! Until all of a shard is here nobody can tell whether a URL of it is known. What is found of it goes into its outbox,
//! as if another worker had it, and is taken in afterwards. What is not here cannot be changed by anyone meanwhile.

use super::Shared;
use super::db::Db;
use super::load::{self, Loader, Rows};
use super::scratch::Scratch;
use frontier::{Frontier, Peek};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::time::{Duration, Instant};
use types::{Millis, Problem};

/// Pieces that wait to be taken in.
const AHEAD: usize = 4;
/// Between two turns the loop is kept from its work for at least this long, and as long as it was away, up to the other.
const TURN: (Duration, Duration) = (Duration::from_millis(5), Duration::from_millis(50));

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
        db: Db,
        crawl: i32,
        shards: BTreeMap<i16, bool>,
        best: i64,
        at_once: usize,
        since: Millis,
    ) -> Arriving {
        let (to, from) = sync_channel(AHEAD);
        let all: Vec<i16> = shards.keys().copied().collect();
        std::thread::spawn(move || {
            if let Err(problem) = send_all(&db, crawl, &all, best, at_once, &to) {
                let _ = to.send(Err(problem));
            }
        });
        Arriving { shards, hosts: HashMap::new(), since, from }
    }
}

/// Ends early when nobody listens any more. When the line is cut it begins again where it was: what is here already is
/// known by its number.
fn send_all(
    db: &Db,
    crawl: i32,
    all: &[i16],
    best: i64,
    at_once: usize,
    to: &SyncSender<Result<Piece, Problem>>,
) -> Result<(), Problem> {
    let wrong = |e| db.problem("read from", &e);
    let send = &mut |rows| to.send(Ok(Piece::Rows(rows))).is_ok();
    db.patiently(&mut || load::read_hints(db, crawl, all, send)).map_err(wrong)?;
    db.patiently(&mut || load::read_best(db, crawl, all, best, send)).map_err(wrong)?;
    for some in all.chunks(at_once.max(1)) {
        db.patiently(&mut || load::read_shards(db, crawl, some, send)).map_err(wrong)?;
        if to.send(Ok(Piece::Whole(some.to_vec()))).is_err() {
            break;
        }
    }
    Ok(())
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
    pub(super) fn leave_hints(&mut self, now: Millis) -> Result<(), Problem> {
        let many = self.ids.len() > self.options.load_at_once as usize;
        if !many || self.hinted_at.is_some_and(|t| t.elapsed() < HINT_EVERY) {
            return Ok(());
        }
        self.hinted_at = Some(Instant::now());
        let top = self.inner.peek(now, None, HINTS);
        let place = |p: &Peek| Some((self.ids.host_of(p.id)?.shard, self.ids.global(p.id)?));
        let bytes = load::write_hints(top.iter().filter_map(place));
        self.db.tell(
            "INSERT INTO gleaner.state (crawl, slot, name, n, bytes) VALUES ($1, $2, $3, 0, $4)
             ON CONFLICT (crawl, slot, name, n) DO UPDATE SET bytes = EXCLUDED.bytes",
            &[&self.me.crawl, &self.me.slot, &load::HINT, &bytes],
        )?;
        Ok(())
    }

    /// Takes in what has come, for a moment.
    pub(super) fn take_arrivals(&mut self) -> Result<(), Problem> {
        let began = Instant::now();
        let away = began.duration_since(self.arrivals_taken_at);
        let most = away.clamp(TURN.0, TURN.1);
        let mut arriving = std::mem::take(&mut self.arriving);
        let mut taken = Ok(());
        for a in &mut arriving {
            while taken.is_ok() && !a.shards.is_empty() && began.elapsed() < most {
                match a.from.try_recv() {
                    Ok(Ok(Piece::Rows(rows))) => taken = self.take_piece(a, &rows),
                    Ok(Ok(Piece::Whole(shards))) => {
                        a.shards.retain(|shard, _| !shards.contains(shard));
                        // What came late of a host that had its pages by then.
                        taken = self.inner.drop_beyond_caps();
                    }
                    Ok(Err(problem)) => taken = Err(problem),
                    Err(TryRecvError::Empty) => break,
                    Err(TryRecvError::Disconnected) => {
                        taken = Err(Problem::new("the thread that loads shards ended unexpectedly"));
                    }
                }
            }
        }
        arriving.retain(|a| !a.shards.is_empty());
        self.arriving = arriving;
        self.arrivals_taken_at = Instant::now();
        taken
    }

    fn take_piece(&mut self, a: &mut Arriving, rows: &Rows) -> Result<(), Problem> {
        self.load(&a.shards, &mut a.hosts, a.since, |_, loader, log| loader.take_in(rows, log))
    }

    /// Rows of shards into the ledger.
    pub(super) fn load(
        &mut self,
        shards: &BTreeMap<i16, bool>,
        hosts: &mut HashMap<i64, u32>,
        since: Millis,
        bring: impl FnOnce(&Db, &mut Loader<'_>, &mut Scratch) -> Result<(), Problem>,
    ) -> Result<(), Problem> {
        // What is not yet in the log must not come after what is loaded.
        Frontier::commit(&mut self.inner)?;
        if self.hosts_shipped < self.inner.order().host_count() as u32 {
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
        self.hosts_shipped = self.inner.order().host_count() as u32;
        Ok(())
    }
}
