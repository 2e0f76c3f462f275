//! A take-over, top to bottom: who has which shard, and how a shard goes from one worker to another.
//!
//! ```text
//! 1 share_out     every MAINTAIN_EVERY: how many shards are this worker's to have?
//! 2 give_up       beyond its share, with nothing in flight: commit, forget, then `give`
//! 3 take_shards   below its share: `bury` the dead, `take` what nobody alive has: new owner, next epoch
//! 4 load_now      few URLs: all of them at once
//!   arrive        many: a thread reads them, the best first, and the crawl goes on meanwhile
//! 5 take_arrivals between two turns: what the thread has read goes into the ledger
//! ```
//! A shard's row says which worker has it, and in which epoch. It is only believed when the database says so
//! inside the transaction that writes (`Shared::claim_check`).
//!
//! Until all of a shard is here nobody can tell whether a URL of it is known. What is found of it goes into
//! its outbox, as if another worker had it, and is taken in afterwards. What is not here cannot be changed by
//! anyone meanwhile.

use super::arrive::{Arriving, Piece};
use super::db::Db;
use super::ids::Slot;
use super::load::{self, Loader, Rows};
use super::membership::Member;
use super::scratch::Scratch;
use super::{Shard, Shared};
use frontier::Frontier;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::mpsc::TryRecvError;
use std::time::{Duration, Instant};
use types::{Millis, Problem, StateKey, UrlId};

/// Taking in what a thread has read keeps the loop from its work as long as the loop was away before, but at
/// least and at most this long.
const TURN: (Duration, Duration) = (Duration::from_millis(5), Duration::from_millis(50));
/// How often a worker with many URLs says what it means to fetch next, and how much of it.
const HINT_EVERY: Duration = Duration::from_secs(5);
const HINTS: usize = 4_096;

/// The shards that a worker has.
pub(super) struct Shards {
    /// With the epoch in which each was taken.
    pub owned: BTreeMap<Shard, i64>,
    /// Those that are not all here yet, by when they were taken.
    pub arriving: Vec<Arriving>,
    arrivals_taken_at: Instant,
    hinted_at: Option<Instant>,
    /// Shards whose last owner did not give them up in order: until then their hosts rest.
    rests: BTreeMap<Shard, Instant>,
    /// Slots from, up to: these came from the database, where their records are. In order.
    loaded: Vec<(Slot, Slot)>,
    /// The loop was told of what was loaded into slots below this.
    loads_told: Slot,
}

impl Shards {
    pub fn none() -> Shards {
        Shards {
            owned: BTreeMap::new(),
            arriving: Vec::new(),
            arrivals_taken_at: Instant::now(),
            hinted_at: None,
            rests: BTreeMap::new(),
            loaded: Vec::new(),
            loads_told: Slot::nth(0),
        }
    }

    /// Is all of this shard here? Only then is a URL that is not here a new one.
    pub fn is_here(&self, shard: Shard) -> bool {
        self.owned.contains_key(&shard) && !self.is_arriving(shard)
    }

    fn is_arriving(&self, shard: Shard) -> bool {
        self.arriving.iter().any(|a| a.shards.contains_key(&shard))
    }

    /// Do the hosts of a shard still have to rest? Its last owner did not give it up in order, and they
    /// rested too short or are not here to rest.
    fn has_to_rest(&self, shard: Shard) -> bool {
        let rests = self.rests.get(&shard).is_some_and(|until| *until > Instant::now());
        rests || self.arriving.iter().any(|a| a.shards.get(&shard) == Some(&false))
    }

    /// Another worker gets these.
    fn forget(&mut self, gone: &BTreeSet<Shard>) {
        self.owned.retain(|shard, _| !gone.contains(shard));
        for a in &mut self.arriving {
            a.shards.retain(|shard, _| !gone.contains(shard));
        }
        self.arriving.retain(|a| !a.shards.is_empty());
    }

    /// Was this slot's record taken over from the database, not written here?
    pub fn is_loaded(&self, slot: Slot) -> bool {
        let at = self.loaded.partition_point(|(_, to)| *to <= slot);
        self.loaded.get(at).is_some_and(|(from, _)| *from <= slot)
    }

    /// The slots that were loaded since this was last asked.
    fn newly_loaded(&mut self) -> Vec<Slot> {
        let told = self.loads_told;
        let at = self.loaded.partition_point(|(_, to)| *to <= told);
        let new = self.loaded.get(at..).unwrap_or(&[]);
        let slots = new.iter().flat_map(|(from, to)| told.max(*from).up_to(*to)).collect();
        self.loads_told = self.loaded.last().map_or(Slot::nth(0), |(_, to)| *to);
        slots
    }

    fn note_loaded(&mut self, from: Slot, to: Slot) {
        match self.loaded.last_mut() {
            Some(last) if last.1 == from => last.1 = to,
            _ if from < to => self.loaded.push((from, to)),
            _ => {}
        }
    }
}

impl Shared {
    // ---- 1 how many ---------------------------------------------------------------------------------------

    /// How many shards are this worker's to have.
    pub(super) fn share(&self) -> usize {
        (self.spread.shards.max(1) as usize).div_ceil(self.peers.workers.max(1) as usize)
    }

    /// Gives up what is beyond this worker's share, takes what is missing. `now` is the time at `began`.
    pub(super) fn share_out(&mut self, now: Millis, began: Instant) -> Result<(), Problem> {
        let share = self.share();
        if self.shards.owned.len() > share {
            let order = self.inner.order();
            let busy: BTreeSet<Shard> =
                order.leased().filter_map(|id| self.ids.host_of(Slot::of(id))).map(|p| p.shard).collect();
            let surplus = self.shards.owned.len() - share;
            // A host with a request in flight stays until it is answered. What is not here yet goes first.
            let free = self.shards.owned.keys().rev().copied();
            let mut free: Vec<Shard> = free.filter(|s| !busy.contains(s)).collect();
            free.sort_by_key(|s| !self.shards.is_arriving(*s));
            self.give_up(free.get(..surplus).unwrap_or(&free))?;
        }
        self.take_shards(now, began)
    }

    // ---- 2 giving -----------------------------------------------------------------------------------------

    /// Hands shards over in order: everything of them is in the database before they are free.
    fn give_up(&mut self, shards: &[Shard]) -> Result<(), Problem> {
        if shards.is_empty() {
            return Ok(());
        }
        self.ship()?;
        if self.membership.lost {
            return Ok(());
        }
        let gone: BTreeSet<Shard> = shards.iter().copied().collect();
        let hosts: Vec<bool> = (0..self.inner.order().host_count() as u32)
            .map(|h| self.ids.host(h).is_some_and(|p| gone.contains(&p.shard)))
            .collect();
        self.inner.order_mut().evict(&|h| hosts.get(h as usize).copied().unwrap_or(false));
        self.ids.evict(&|shard| gone.contains(&shard));
        self.shards.owned.retain(|shard, _| !gone.contains(shard));
        // Last: from here on others contact these hosts, even if the answer is lost.
        self.give_away(shards)?;
        self.shards.forget(&gone);
        Ok(())
    }

    /// Frees shards that nothing is known of here any more. Those whose hosts have to rest are not given up
    /// in order: they rest again.
    pub(super) fn give_away(&self, shards: &[Shard]) -> Result<(), Problem> {
        let unclean: Vec<Shard> = shards.iter().copied().filter(|s| self.shards.has_to_rest(*s)).collect();
        give(&self.db, &self.membership.me, shards, &unclean)
    }

    // ---- 3 taking -----------------------------------------------------------------------------------------

    /// Takes shards that nobody has, up to this worker's share, and loads them. When that is much the crawl
    /// goes on meanwhile: see [`Arriving`]. `now` is the time at `began`.
    pub(super) fn take_shards(&mut self, now: Millis, began: Instant) -> Result<(), Problem> {
        let share = self.share();
        if self.shards.owned.len() >= share {
            return Ok(());
        }
        bury(&self.db, self.membership.me.crawl)?;
        let free = self.db.ask(
            "SELECT (SELECT next_id FROM gleaner.crawl WHERE crawl = $1)
             FROM gleaner.shard WHERE crawl = $1 AND (owner IS NULL OR owner NOT IN
               (SELECT incarnation FROM gleaner.worker WHERE crawl = $1)) LIMIT 1",
            &[&self.membership.me.crawl],
        )?;
        let Some(urls) = free.first().map(|r| r.get::<_, i64>(0)) else { return Ok(()) };
        // Numbers have 32 bits; a row that says otherwise is not to be counted with.
        let urls = urls.clamp(0, i64::from(u32::MAX));
        if self.work.idle {
            // Whoever asks whether all is done must not see an idle worker with new shards.
            self.work.idle = false;
            self.outgoing.draft.news = true;
            self.ship()?;
        }
        let taken = take(&self.db, &self.membership.me, (share - self.shards.owned.len()) as i64)?;
        let clean: BTreeMap<Shard, bool> = taken.iter().map(|t| (t.shard, t.clean)).collect();
        self.shards.owned.extend(taken.iter().map(|t| (t.shard, t.epoch)));
        // Hosts that have to rest rest from now on, not from when this began.
        let late = if self.options.database_time { began.elapsed() } else { Duration::ZERO };
        let now = now.plus(late);
        let at_once = i64::from(self.options.load_at_once);
        if urls * clean.len() as i64 / i64::from(self.spread.shards.max(1)) > at_once {
            let shards_at_once = (at_once * i64::from(self.spread.shards) / urls) as usize;
            let arriving = Arriving::bring(
                self.db.line(),
                self.membership.me.crawl,
                clean,
                at_once / 4,
                shards_at_once,
                now,
            );
            self.shards.arriving.push(arriving);
            return Ok(());
        }
        match self.load_now(&clean, now) {
            // Half of a shard is none: join anew when the database is back.
            Err(_) if self.db.is_closed() => {
                self.membership.lost = true;
                Ok(())
            }
            loaded => loaded,
        }
    }

    // ---- 4 loading ----------------------------------------------------------------------------------------

    /// Few URLs: all at once, in the order they were found, also across shards.
    fn load_now(&mut self, shards: &BTreeMap<Shard, bool>, now: Millis) -> Result<(), Problem> {
        if shards.is_empty() {
            return Ok(());
        }
        let list: Vec<Shard> = shards.keys().copied().collect();
        let crawl = self.membership.me.crawl;
        self.load(shards, &mut HashMap::new(), now, true, |db, loader, log| {
            let mut taken = Ok(());
            load::read_shards(db, crawl, &list, &mut |rows| {
                taken = loader.take_in(&rows, log);
                taken.is_ok()
            })
            .map_err(|e| db.problem("read from", &e))?;
            taken
        })
    }

    // ---- 5 taking in what has come ------------------------------------------------------------------------

    /// Shards that are this worker's and not all here yet.
    pub fn arriving(&self) -> usize {
        self.shards.arriving.iter().map(|a| a.shards.len()).sum()
    }

    /// What is pending of what was loaded since this was last asked.
    pub(super) fn newly_loaded(&mut self) -> Vec<UrlId> {
        let open = |slot: &Slot| self.inner.order().is_open(slot.inner());
        let slots = self.shards.newly_loaded().into_iter().filter(open);
        slots.filter_map(|slot| self.ids.global(slot)).collect()
    }

    /// Says what is next in line here, for whoever has to go on with it.
    pub(super) fn leave_hints(&mut self) -> Result<(), Problem> {
        let many = self.ids.len() > self.options.load_at_once as usize;
        if !many || self.shards.hinted_at.is_some_and(|t| t.elapsed() < HINT_EVERY) {
            return Ok(());
        }
        self.shards.hinted_at = Some(Instant::now());
        let place = |slot: Slot| Some((self.ids.host_of(slot)?.shard, self.ids.global(slot)?));
        let bytes =
            load::write_hints(self.inner.order().best(HINTS).into_iter().map(Slot::of).filter_map(place));
        self.db.tell(
            "INSERT INTO gleaner.state (crawl, slot, name, n, bytes) VALUES ($1, $2, $3, 0, $4)
             ON CONFLICT (crawl, slot, name, n) DO UPDATE SET bytes = EXCLUDED.bytes",
            &[&self.membership.me.crawl, &self.membership.me.slot, &StateKey::Next.name(), &bytes],
        )?;
        Ok(())
    }

    /// Takes in what the threads have read, for a moment; of each take-over a piece in turn.
    pub(super) fn take_arrivals(&mut self) -> Result<(), Problem> {
        let began = Instant::now();
        let away = began.duration_since(self.shards.arrivals_taken_at);
        let most = away.clamp(TURN.0, TURN.1);
        let mut arriving = std::mem::take(&mut self.shards.arriving);
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
        self.shards.arriving = arriving;
        self.shards.arrivals_taken_at = Instant::now();
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
        shards: &BTreeMap<Shard, bool>,
        hosts: &mut HashMap<i64, u32>,
        since: Millis,
        with_hosts: bool,
        bring: impl FnOnce(&Db, &mut Loader<'_>, &mut Scratch) -> Result<(), Problem>,
    ) -> Result<(), Problem> {
        // What is not yet in the log must not come after what is loaded.
        Frontier::commit(&mut self.inner)?;
        if with_hosts && self.outgoing.hosts_sent < self.inner.order().host_count() as u32 {
            // They come before the ones that are loaded, which are known to everyone.
            self.announce_hosts()?;
        }
        let from = self.ids.next_slot();
        let limits = self.options.limits.clone();
        let mut loader = Loader::new(self.skew, &limits, since, &mut self.ids, shards, hosts);
        bring(&self.db, &mut loader, self.inner.log_mut())?;
        let rest = Instant::now() + Duration::from_millis(loader.rest_ms);
        for (shard, _) in shards.iter().filter(|(_, clean)| !**clean) {
            let until = self.shards.rests.entry(*shard).or_insert(rest);
            *until = rest.max(*until);
        }
        self.shards.note_loaded(from, self.ids.next_slot());
        self.inner.catch_up()?;
        if with_hosts {
            self.outgoing.hosts_sent = self.inner.order().host_count() as u32;
        }
        Ok(())
    }
}

/// Takes the claim from workers whose time is over.
fn bury(db: &Db, crawl: i32) -> Result<(), Problem> {
    db.tell(
        // One that was stopped inside a transaction holds its row until the server ends its session; nobody
        // waits for it.
        "UPDATE gleaner.worker SET incarnation = -nextval('gleaner.incarnation') WHERE crawl = $1 AND slot IN
           (SELECT slot FROM gleaner.worker WHERE crawl = $1 AND expires < now() AND incarnation > 0
            FOR UPDATE SKIP LOCKED)",
        &[&crawl],
    )?;
    Ok(())
}

struct Taken {
    shard: Shard,
    epoch: i64,
    /// Its last owner gave it up in order: its hosts need not rest.
    clean: bool,
}

/// Takes up to `most` shards that nobody alive has. Should the answer be lost, they are taken all the same:
/// whoever has more shards than it knows of joins anew.
fn take(db: &Db, me: &Member, most: i64) -> Result<Vec<Taken>, Problem> {
    let rows = db.ask(
        "WITH free AS (SELECT shard, clean FROM gleaner.shard WHERE crawl = $1 AND (owner IS NULL OR owner NOT IN
                         (SELECT incarnation FROM gleaner.worker WHERE crawl = $1))
                       ORDER BY (shard + 37 * $3) % 256 LIMIT $4 FOR UPDATE SKIP LOCKED),
         taken AS (UPDATE gleaner.shard s SET owner = $2, epoch = s.epoch + 1, clean = false FROM free
                   WHERE s.crawl = $1 AND s.shard = free.shard RETURNING s.shard, s.epoch, free.clean),
         noted AS (INSERT INTO gleaner.epoch (crawl, shard, epoch, owner, slot)
                   SELECT $1, shard, epoch, $2, $3 FROM taken)
         SELECT shard, epoch, clean FROM taken ORDER BY shard",
        &[&me.crawl, &me.incarnation, &me.slot, &most],
    )?;
    if !rows.is_empty() {
        // The history is for whoever wants to know what happened lately, not for ever.
        db.tell(
            "DELETE FROM gleaner.epoch e USING gleaner.shard s WHERE e.crawl = $1 AND s.crawl = $1
             AND s.shard = e.shard AND s.owner = $2 AND e.epoch < s.epoch - 200",
            &[&me.crawl, &me.incarnation],
        )?;
    }
    Ok(rows.iter().map(|r| Taken { shard: r.get(0), epoch: r.get(1), clean: r.get(2) }).collect())
}

/// Gives shards up: in order, but for some of them.
fn give(db: &Db, me: &Member, shards: &[Shard], unclean: &[Shard]) -> Result<(), Problem> {
    db.tell(
        "UPDATE gleaner.shard SET owner = NULL, clean = shard <> ALL($4)
         WHERE crawl = $1 AND owner = $2 AND shard = ANY($3)",
        &[&me.crawl, &me.incarnation, &shards, &unclean],
    )?;
    Ok(())
}
