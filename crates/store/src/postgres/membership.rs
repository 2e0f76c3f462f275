//! Being one of the workers. A worker's row says until when it counts; that is only believed when the
//! database says so inside the transaction that writes.
//!
//! ```text
//! join     take a vacant slot (or a new one) under a new incarnation; its learnt state comes with it
//! renew    every sixth of the lease, by a thread of its own: `expires` moves on, but only if it has not passed
//! bury     a worker whose `expires` has passed loses its incarnation; from here on nothing it sends is accepted
//! rejoin   a worker that was buried forgets what it did not commit and joins anew
//! leave    ends the membership in order
//! ```
//! When the database itself is another than before (a standby took over, a backup was restored: see
//! `Db::has_changed_history`), what was committed last may be gone. Then every worker rejoins, too, and
//! relies on no number that it was given.
//!
//! A worker that slept through its lease is buried by whoever looks first (`takeover`). When it wakes, its
//! renewal and its commits change no row, which tells it to rejoin. Its requests stop a third of the lease
//! earlier: the [`Gate`] closes by its own clock, without asking anyone.

use super::db::Db;
use super::open::{empty_ledger, measure_skew};
use super::scratch::Scratch;
use super::takeover::Shards;
use super::{Shared, SharedOptions};
use crate::fleet::Gate;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use types::{Millis, Problem};

#[derive(Clone, Debug)]
pub(super) struct Member {
    pub crawl: i32,
    pub slot: i32,
    pub incarnation: i64,
}

/// This worker's place in the crawl.
pub(super) struct Membership {
    pub me: Member,
    heart: Option<Heart>,
    pub gate: Gate,
    /// The claim is gone: everything since the last commit is void.
    pub lost: bool,
}

impl Membership {
    pub fn new(db: &Db, crawl: i32, options: &SharedOptions) -> Result<(Membership, Kept), Problem> {
        let (me, kept) = join(db, crawl, &options.worker, options.lease)?;
        let gate = Gate::closed();
        let heart = Heart::beat(db.another()?, me.clone(), options.lease, gate.clone());
        Ok((Membership { me, heart: Some(heart), gate, lost: false }, kept))
    }

    /// Joins anew.
    fn join(&mut self, db: &Db, options: &SharedOptions) -> Result<Kept, Problem> {
        let (me, kept) = join(db, self.me.crawl, &options.worker, options.lease)?;
        // Whoever sends requests has this gate.
        let heart = Heart::beat(db.another()?, me.clone(), options.lease, self.gate.clone());
        (self.me, self.heart, self.lost) = (me, Some(heart), false);
        Ok(kept)
    }

    /// Was the claim lost, as far as this worker knows by now?
    pub fn is_lost(&self) -> bool {
        self.lost || self.heart.as_ref().is_none_or(Heart::is_lost)
    }

    pub fn stop_renewing(&mut self) {
        if let Some(heart) = &mut self.heart {
            heart.stop();
        }
    }

    /// Ends the membership. Whatever comes now has no claim.
    pub fn end(&mut self, db: &Db) -> Result<(), Problem> {
        if !self.lost {
            leave(db, &self.me)?;
        }
        self.heart = None;
        self.gate.open_until(Instant::now());
        self.lost = true;
        Ok(())
    }
}

/// What a slot remembers of whoever was in it before.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Kept {
    pub step: u64,
    pub pages: i64,
    pub relevant: i64,
    /// The slot is new: nothing was learnt in it yet.
    pub fresh: bool,
}

/// Joins the crawl. `name` is this worker's own (its folder's): a slot left by the same name is taken at
/// once, because the folder's lock proves that whoever was in it is gone.
fn join(db: &Db, crawl: i32, name: &str, lease: Duration) -> Result<(Member, Kept), Problem> {
    let lease = lease.as_millis() as f64;
    for _ in 0..20 {
        // Sent twice, one of these would leave a slot behind that nobody is in: whoever called tries all of
        // it again.
        let wrong = |e| db.problem("write to", &e);
        db.execute(
            "UPDATE gleaner.worker SET incarnation = -nextval('gleaner.incarnation'), expires = '-infinity'
             WHERE crawl = $1 AND name = $2 AND incarnation > 0",
            &[&crawl, &name],
        )
        .map_err(wrong)?;
        let taken = db.query(
            "WITH free AS (SELECT slot FROM gleaner.worker WHERE crawl = $1 AND expires < now()
                           ORDER BY (name = $2) DESC, pages DESC, slot LIMIT 1 FOR UPDATE SKIP LOCKED)
             UPDATE gleaner.worker w SET incarnation = nextval('gleaner.incarnation'), name = $2, batch = 0,
                    idle = false, in_flight = 0, lane = NULL, key = NULL,
                    expires = now() + $3 * interval '1 millisecond'
             FROM free WHERE w.crawl = $1 AND w.slot = free.slot
             RETURNING w.slot, w.incarnation, w.pages, w.relevant",
            &[&crawl, &name, &lease],
        );
        let taken = taken.map_err(wrong)?;
        let (rows, fresh) = if taken.is_empty() {
            let made = db.query(
                "INSERT INTO gleaner.worker (crawl, slot, incarnation, name, expires)
                 SELECT $1, coalesce(max(slot) + 1, 0), nextval('gleaner.incarnation'), $2,
                        now() + $3 * interval '1 millisecond'
                 FROM gleaner.worker WHERE crawl = $1
                 ON CONFLICT DO NOTHING RETURNING slot, incarnation, pages, relevant",
                &[&crawl, &name, &lease],
            );
            (made.map_err(wrong)?, true)
        } else {
            (taken, false)
        };
        if let Some(row) = rows.first() {
            let member = Member { crawl, slot: row.get(0), incarnation: row.get(1) };
            let steps = db
                .ask("SELECT coalesce(max(step), 0) FROM gleaner.worker WHERE crawl = $1", &[&crawl])?
                .first()
                .map_or(0, |r| r.get::<_, i64>(0));
            let kept = Kept { step: steps as u64, pages: row.get(2), relevant: row.get(3), fresh };
            return Ok((member, kept));
        }
    }
    Err(Problem::new("cannot join the crawl")
        .because("other workers join at the same moment, again and again"))
}

/// Ends the membership in order.
fn leave(db: &Db, me: &Member) -> Result<(), Problem> {
    db.tell(
        "UPDATE gleaner.worker SET expires = '-infinity', in_flight = 0, idle = false, lane = NULL, key = NULL,
                incarnation = -nextval('gleaner.incarnation')
         WHERE crawl = $1 AND slot = $2 AND incarnation = $3",
        &[&me.crawl, &me.slot, &me.incarnation],
    )?;
    Ok(())
}

/// Renews the claim from a thread of its own, so that a long load or a busy loop does not let it run out.
struct Heart {
    stop: Sender<()>,
    thread: Option<JoinHandle<()>>,
    lost: Arc<AtomicBool>,
}

impl Heart {
    fn beat(db: Db, me: Member, lease: Duration, gate: Gate) -> Heart {
        let (stop, stopped) = mpsc::channel();
        let lost = Arc::new(AtomicBool::new(false));
        let flag = lost.clone();
        // The join itself was the first renewal.
        gate.open_until(Instant::now() + lease * 2 / 3);
        let thread = std::thread::spawn(move || {
            let db = db;
            let mut pause = lease / 6;
            while let Err(RecvTimeoutError::Timeout) = stopped.recv_timeout(pause) {
                let asked = Instant::now();
                let renewed = db.execute(
                    "UPDATE gleaner.worker SET expires = now() + $4 * interval '1 millisecond'
                     WHERE crawl = $1 AND slot = $2 AND incarnation = $3 AND expires >= now()",
                    &[&me.crawl, &me.slot, &me.incarnation, &(lease.as_millis() as f64)],
                );
                pause = lease / 6;
                match renewed {
                    Ok(1..) => gate.open_until(asked + lease * 2 / 3),
                    Ok(0) => {
                        gate.open_until(asked);
                        flag.store(true, Ordering::SeqCst);
                        break;
                    }
                    Err(_) => {
                        pause = Duration::from_millis(200);
                        if db.is_closed() {
                            let _ = db.reconnect();
                        }
                    }
                }
            }
        });
        Heart { stop, thread: Some(thread), lost }
    }

    /// No more renewals; the claim runs out by itself.
    fn stop(&mut self) {
        let _ = self.stop.send(());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }

    fn is_lost(&self) -> bool {
        self.lost.load(Ordering::SeqCst)
    }
}

impl Drop for Heart {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Shared {
    /// The claim is gone: forget everything and join anew. What the loop keeps in memory (its model) stays.
    pub(super) fn rejoin(&mut self, now: Millis) -> Result<(), Problem> {
        let began = Instant::now();
        let give_up = began + self.options.patience;
        self.membership.heart = None;
        // Which numbers were taken, read and told there is not known in another history.
        let mut anew = false;
        loop {
            anew |= self.db.has_changed_history();
            let reached = match self.db.has_changed_history() {
                true => self.db.believe_anew().is_ok(),
                false => !self.db.is_closed() || self.db.reconnect().is_ok(),
            };
            if reached {
                if anew {
                    self.ids.forget_all(false);
                    self.peers.read_anew();
                }
                match self.try_rejoin(now, began) {
                    Err(e) if !self.db.is_closed() || Instant::now() >= give_up => return Err(e),
                    Err(_) => {}
                    Ok(()) => return Ok(()),
                }
            } else if Instant::now() >= give_up {
                return Err(Problem::new("the database cannot be reached")
                    .hint("run the same command again when it is back; nothing committed is lost"));
            }
            std::thread::sleep(Duration::from_millis(500));
        }
    }

    fn try_rejoin(&mut self, now: Millis, began: Instant) -> Result<(), Problem> {
        let kept = self.membership.join(&self.db, &self.options)?;
        if self.options.database_time {
            self.skew = measure_skew(&self.db, now, began)?;
        }
        let step = self.inner.order().step().max(kept.step);
        // The old log's file is locked as long as its ledger lives: put a small one in its place first.
        let spare = self.options.scratch.join("spare");
        self.inner = empty_ledger(Scratch::create(&spare)?, &self.options, self.spread.key, now)?;
        let scratch = Scratch::create(&self.options.scratch)?;
        self.inner = empty_ledger(scratch, &self.options, self.spread.key, now)?;
        self.inner.order_mut().at_step(step);
        self.ids.forget_all(true);
        self.shards = Shards::none();
        self.outgoing.begin_anew(&kept);
        self.peers.seeds.clear();
        self.far.forget_own();
        (self.work.pages, self.work.relevant, self.work.idle) = (kept.pages, kept.relevant, false);
        self.start(false, now, began)
    }
}
