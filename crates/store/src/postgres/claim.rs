//! Who has which shard. A worker's row says until when it counts; a shard's row says which worker has it, and in which
//! epoch. Both are only believed when the database says so inside the transaction that writes.
//!
//! ```text
//! join     take a vacant slot (or a new one) under a new incarnation; its learnt state comes with it
//! renew    every sixth of the lease, by a thread of its own: `expires` moves on, but only if it has not passed
//! bury     a worker whose `expires` has passed loses its incarnation; from here on nothing it sends is accepted
//! take     shards without a living owner: new owner, next epoch
//! give     shards beyond one's share, with nothing in flight: no owner; marked clean, unless their hosts still rest
//! ```
//! A worker that slept through its lease is buried by whoever looks first. When it wakes, its renewal and its commits
//! change no row, which tells it to forget everything and to join anew. Its requests stop a third of the lease earlier:
//! the [`Gate`] closes by its own clock, without asking anyone.

use super::db::Db;
use crate::fleet::Gate;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use types::Problem;

#[derive(Clone, Debug)]
pub(super) struct Member {
    pub crawl: i32,
    pub slot: i32,
    pub incarnation: i64,
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

/// Joins the crawl. `name` is this worker's own (its folder's): a slot left by the same name is taken at once, because the
/// folder's lock proves that whoever was in it is gone.
pub(super) fn join(db: &Db, crawl: i32, name: &str, lease: Duration) -> Result<(Member, Kept), Problem> {
    let lease = lease.as_millis() as f64;
    for _ in 0..20 {
        // Sent twice, one of these would leave a slot behind that nobody is in: whoever called tries all of it again.
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

/// Takes the claim from workers whose time is over.
pub(super) fn bury(db: &Db, crawl: i32) -> Result<(), Problem> {
    db.tell(
        // One that was stopped inside a transaction holds its row until the server ends its session; nobody waits for it.
        "UPDATE gleaner.worker SET incarnation = -nextval('gleaner.incarnation') WHERE crawl = $1 AND slot IN
           (SELECT slot FROM gleaner.worker WHERE crawl = $1 AND expires < now() AND incarnation > 0
            FOR UPDATE SKIP LOCKED)",
        &[&crawl],
    )?;
    Ok(())
}

pub(super) struct Taken {
    pub shard: i16,
    pub epoch: i64,
    /// Its last owner gave it up in order: its hosts need not rest.
    pub clean: bool,
}

/// Takes up to `most` shards that nobody alive has. Should the answer be lost, they are taken all the same: whoever has
/// more shards than it knows of joins anew.
pub(super) fn take(db: &Db, me: &Member, most: i64) -> Result<Vec<Taken>, Problem> {
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
pub(super) fn give(db: &Db, me: &Member, shards: &[i16], unclean: &[i16]) -> Result<(), Problem> {
    db.tell(
        "UPDATE gleaner.shard SET owner = NULL, clean = shard <> ALL($4)
         WHERE crawl = $1 AND owner = $2 AND shard = ANY($3)",
        &[&me.crawl, &me.incarnation, &shards, &unclean],
    )?;
    Ok(())
}

/// Ends the membership in order.
pub(super) fn leave(db: &Db, me: &Member) -> Result<(), Problem> {
    db.tell(
        "UPDATE gleaner.worker SET expires = '-infinity', in_flight = 0, idle = false, lane = NULL, key = NULL,
                incarnation = -nextval('gleaner.incarnation')
         WHERE crawl = $1 AND slot = $2 AND incarnation = $3",
        &[&me.crawl, &me.slot, &me.incarnation],
    )?;
    Ok(())
}

/// Renews the claim from a thread of its own, so that a long load or a busy loop does not let it run out.
pub(super) struct Heart {
    stop: Sender<()>,
    thread: Option<JoinHandle<()>>,
    lost: Arc<AtomicBool>,
}

impl Heart {
    pub fn beat(db: Db, me: Member, lease: Duration, gate: Gate) -> Heart {
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
    pub fn stop(&mut self) {
        let _ = self.stop.send(());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }

    pub fn is_lost(&self) -> bool {
        self.lost.load(Ordering::SeqCst)
    }
}

impl Drop for Heart {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Shards one has, with their epochs.
pub(super) type Owned = BTreeMap<i16, i64>;
