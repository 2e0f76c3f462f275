//! Joining a crawl: the schema, the crawl's row, a slot, the first shards.

use super::arrive::Arriving;
use super::claim::{self, Heart};
use super::db::Db;
use super::ids::Ids;
use super::load;
use super::schema::{MIGRATION_LOCK, MIGRATIONS};
use super::scratch::Scratch;
use super::seal::Standing;
use super::ship::Outgoing;
use super::{SHARDS, Shared, SharedOptions, Skew};
use crate::fleet::Gate;
use crate::ledger::codec::Kind;
use crate::ledger::{self, Ledger, codec};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::sync::Mutex;
use std::time::{Duration, Instant};
use types::{Millis, Problem, StateKey};

/// What a worker in a new slot starts with.
const INHERITED: [StateKey; 2] = [StateKey::Strategy, StateKey::Run];

/// A crawl's own row.
pub(super) struct CrawlRow {
    pub crawl: i32,
    pub key: (u64, u64),
    pub shards: i16,
    pub topic: String,
    pub next_id: i64,
}

/// For whoever only reads: are the tables as this program knows them?
pub(super) fn check_version(db: &Db) -> Result<(), Problem> {
    let newest = MIGRATIONS.len() as i32;
    match db.ask("SELECT version FROM gleaner.version", &[])?.first().map_or(0, |r| r.get::<_, i32>(0)) {
        v if v == newest => Ok(()),
        v if v > newest => Err(too_new(v)),
        v => Err(Problem::new(format!(
            "the database has version {v} of the tables, this program needs {newest}"
        ))
        .hint("`gleaner crawl … --store …` of this version brings them up to date")),
    }
}

/// The crawl of this name; without one, the only crawl there is.
pub(super) fn choose(db: &Db, name: Option<&str>) -> Result<(String, CrawlRow), Problem> {
    let mut all = crawls(db)?;
    let names: Vec<String> = all.iter().map(|c| c.0.clone()).collect();
    let at = match name {
        Some(name) => names.iter().position(|n| n == name).ok_or_else(|| match names.is_empty() {
            true => no_crawl(),
            false => Problem::usage(format!("there is no crawl `{name}` in this database"))
                .hint(format!("there are: {}", names.join(", "))),
        })?,
        None if names.is_empty() => return Err(no_crawl()),
        None if names.len() == 1 => 0,
        None => {
            return Err(Problem::usage("there are several crawls in this database")
                .hint(format!("name one with --crawl: {}", names.join(", "))));
        }
    };
    Ok(all.swap_remove(at))
}

fn no_crawl() -> Problem {
    Problem::nothing("there is no crawl in this database")
        .hint("`gleaner crawl topic.toml --store …` begins one")
}

pub(super) fn crawls(db: &Db) -> Result<Vec<(String, CrawlRow)>, Problem> {
    let there = db.ask("SELECT to_regclass('gleaner.crawl') IS NOT NULL", &[])?;
    if !there.first().is_some_and(|r| r.get::<_, bool>(0)) {
        return Ok(Vec::new());
    }
    check_version(db)?;
    let rows = db.ask(
        "SELECT crawl, key0, key1, shards, topic, next_id, name FROM gleaner.crawl ORDER BY name",
        &[],
    )?;
    Ok(rows.iter().map(|r| (r.get(6), crawl_of(r))).collect())
}

fn too_new(version: i32) -> Problem {
    let newest = MIGRATIONS.len();
    Problem::new(format!("the database has version {version} of the tables, this program knows {newest}"))
        .hint("update gleaner on this machine; all workers of a crawl should run the same version")
}

/// Creates the schema or brings it up to date.
pub(super) fn migrate(db: &Db) -> Result<(), Problem> {
    let wrong = |e: tokio_postgres::Error| db.problem("prepare", &e);
    let version = |db: &Db| -> Result<Option<i32>, Problem> {
        let there = db.ask("SELECT to_regclass('gleaner.version') IS NOT NULL", &[])?;
        if !there.first().is_some_and(|r| r.get::<_, bool>(0)) {
            return Ok(None);
        }
        Ok(db.ask("SELECT version FROM gleaner.version", &[])?.first().map(|r| r.get(0)))
    };
    let newest = MIGRATIONS.len() as i32;
    match version(db)? {
        Some(v) if v == newest => return Ok(()),
        Some(v) if v > newest => {
            return Err(too_new(v));
        }
        _ => {}
    }
    // The lock before the transaction: what another worker made meanwhile must be seen in it.
    let lock = format!("SELECT pg_advisory_lock({MIGRATION_LOCK})");
    db.run(async {
        db.client().batch_execute(&lock).await?;
        db.client().batch_execute("BEGIN").await
    })
    .map_err(wrong)?;
    let migrated = (|| {
        let have = version(db)?.unwrap_or(0);
        let mut sql = String::new();
        if have == 0 {
            // An administrator may have made the schema for a role that must not make any.
            if db.ask("SELECT 1 WHERE to_regnamespace('gleaner') IS NULL", &[])?.len() == 1 {
                sql.push_str("CREATE SCHEMA gleaner;");
            }
            sql.push_str("CREATE TABLE gleaner.version (version int NOT NULL);");
            sql.push_str("INSERT INTO gleaner.version VALUES (0);");
        }
        for step in MIGRATIONS.get(have.max(0) as usize..).unwrap_or_default() {
            sql.push_str(step);
        }
        sql.push_str(&format!("UPDATE gleaner.version SET version = {newest};"));
        db.run(async { db.client().batch_execute(&sql).await }).map_err(wrong)
    })();
    let end = if migrated.is_ok() { "COMMIT" } else { "ROLLBACK" };
    let unlock = format!("SELECT pg_advisory_unlock({MIGRATION_LOCK})");
    let ended = db.run(async {
        let ended = db.client().batch_execute(end).await;
        db.client().batch_execute(&unlock).await?;
        ended
    });
    let ended = ended.map_err(wrong);
    migrated.and(ended)
}

fn crawl_row(db: &Db, options: &SharedOptions) -> Result<CrawlRow, Problem> {
    let random = || RandomState::new().hash_one(std::process::id());
    let (key0, key1) = options.key.unwrap_or_else(|| (random(), random()));
    let rows = db.ask(
        "INSERT INTO gleaner.crawl (name, key0, key1, shards, topic) VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT (name) DO UPDATE SET topic = EXCLUDED.topic
         RETURNING crawl, key0, key1, shards, topic, next_id",
        &[&options.crawl, &(key0 as i64), &(key1 as i64), &SHARDS, &options.topic],
    )?;
    let row = rows.first().map(crawl_of).ok_or_else(|| Problem::new("the crawl's row was not made"))?;
    db.tell(
        "INSERT INTO gleaner.shard (crawl, shard) SELECT $1, n FROM generate_series(0, $2::int4 - 1) AS n
         ON CONFLICT DO NOTHING",
        &[&row.crawl, &i32::from(row.shards)],
    )?;
    db.tell("INSERT INTO gleaner.steering (crawl) VALUES ($1) ON CONFLICT DO NOTHING", &[&row.crawl])?;
    Ok(row)
}

fn crawl_of(row: &tokio_postgres::Row) -> CrawlRow {
    CrawlRow {
        crawl: row.get(0),
        key: (row.get::<_, i64>(1) as u64, row.get::<_, i64>(2) as u64),
        shards: row.get(3),
        topic: row.get(4),
        next_id: row.get(5),
    }
}

/// `now` is the time at `asked`.
fn measure_skew(db: &Db, now: Millis, asked: Instant) -> Result<Skew, Problem> {
    let mut best: Option<Skew> = None;
    // The quickest answer of several is the most exact.
    for _ in 0..8 {
        let sent = asked.elapsed();
        let rows = db.ask("SELECT (extract(epoch FROM clock_timestamp()) * 1000)::int8", &[])?;
        let trip = asked.elapsed() - sent;
        let there = rows.first().map_or(0, |r| r.get::<_, i64>(0));
        // It was made about half-way.
        let here = now.0 as i64 + (sent + trip / 2).as_millis() as i64;
        let skew = Skew { by: there - here, error: (trip / 2).as_millis() as u64 + 1 };
        if best.is_none_or(|b| skew.error < b.error) {
            best = Some(skew);
        }
    }
    Ok(best.unwrap_or_default())
}

impl Shared {
    /// Joins the crawl of this name, or begins it.
    pub fn open(options: SharedOptions, now: Millis) -> Result<Shared, Problem> {
        let began = Instant::now();
        let db = Db::connect(&options.url, options.lease / 3, options.patience)?;
        migrate(&db)?;
        let row = crawl_row(&db, &options)?;
        let skew = if options.database_time { measure_skew(&db, now, began)? } else { Skew::default() };
        // The folder's lock is taken first: it proves that nobody else has this worker's name.
        let scratch = Scratch::create(&options.scratch)?;
        let (me, kept) = claim::join(&db, row.crawl, &options.worker, options.lease)?;
        let gate = Gate::closed();
        let heart = Heart::beat(db.another()?, me.clone(), options.lease, gate.clone());
        let mut shared = Shared {
            inner: empty_ledger(scratch, &options, row.key, now)?,
            db,
            me,
            key: row.key,
            shards: row.shards,
            owned: BTreeMap::new(),
            heart: Some(heart),
            gate,
            skew,
            ids: Ids::default(),
            out: Outgoing::default(),
            sealed: None,
            ahead: None,
            told: Standing::at_first(&kept),
            batch: 0,
            lost: false,
            urgent: false,
            shipped_at: Instant::now(),
            // Before the first lease the loop must know what the others have done: of a limit they may have used up all.
            tended_at: began.checked_sub(super::fleet::TEND_EVERY).unwrap_or(began),
            hosts_shipped: 0,
            state_n: HashMap::new(),
            next_state: HashMap::new(),
            delta_n: 0,
            deltas_read: HashMap::new(),
            arriving: Vec::new(),
            arrivals_taken_at: began,
            hinted_at: None,
            rests: BTreeMap::new(),
            loaded: Vec::new(),
            far_known: HashSet::new(),
            far_pages: HashSet::new(),
            beside: Mutex::default(),
            far_urls: Mutex::default(),
            pages: kept.pages,
            relevant: kept.relevant,
            idle: false,
            watermark: None,
            others_watermark: None,
            others_idle: false,
            workers: 1,
            most_in_flight: 8,
            resumed: row.next_id > 0,
            steered: 0,
            asked_seeds: Vec::new(),
            own_pages_known: false,
            loads_told: 0,
            options,
        };
        shared.inner.order_mut().at_step(kept.step);
        shared.take_up_state(kept.fresh)?;
        shared.skip_old_deltas()?;
        shared.look_around()?;
        shared.take_shards(now, began)?;
        shared.ship()?;
        Ok(shared)
    }

    /// As if this process was stopped or cut off: for tests. What it does from here on must not be accepted once its time
    /// is over.
    #[doc(hidden)]
    pub fn stop_renewing(&mut self) {
        if let Some(heart) = &mut self.heart {
            heart.stop();
        }
    }

    /// Statements sent to the database so far.
    pub fn statements(&self) -> u64 {
        self.db.statements()
    }

    /// A number that no other run of any worker has.
    pub fn incarnation(&self) -> i64 {
        self.me.incarnation
    }

    /// Was there something before this worker joined?
    pub fn resumed(&self) -> bool {
        self.resumed
    }

    /// The slot's learnt state. A fresh slot starts from what the most experienced worker's model has learnt.
    fn take_up_state(&mut self, fresh: bool) -> Result<(), Problem> {
        let crawl = self.me.crawl;
        let rows = if fresh {
            self.db.ask(
                "SELECT name, n, bytes FROM gleaner.state WHERE crawl = $1 AND name = ANY($3) AND slot =
                   (SELECT slot FROM gleaner.worker WHERE crawl = $1 AND slot <> $2 ORDER BY pages DESC, slot LIMIT 1)
                 ORDER BY name, n",
                &[&crawl, &self.me.slot, &INHERITED.map(StateKey::name).as_slice()],
            )?
        } else {
            self.db.ask(
                "SELECT name, n, bytes FROM gleaner.state WHERE crawl = $1 AND slot = $2 AND name <> $3 ORDER BY name, n",
                &[&crawl, &self.me.slot, &StateKey::Next.name()],
            )?
        };
        let mut records = Vec::new();
        for row in rows {
            let (name, n, bytes): (String, i64, &[u8]) = (row.get(0), row.get(1), row.get(2));
            codec::record(&mut records, Kind::State, |o| {
                o.bytes(name.as_bytes());
                o.u8(u8::from(n > 0));
                o.rest(bytes);
            });
            if !fresh {
                self.state_n.insert(name, n + 1);
            }
        }
        self.inner.log_mut().take_in(&records, 0, 0)?;
        self.inner.catch_up()
    }

    /// Takes shards that nobody has, up to this worker's share, and loads them. When that is much the crawl goes on
    /// meanwhile: see [`Arriving`].
    /// `now` is the time at `began`.
    pub(super) fn take_shards(&mut self, now: Millis, began: Instant) -> Result<(), Problem> {
        let share = self.share();
        if self.owned.len() >= share {
            return Ok(());
        }
        claim::bury(&self.db, self.me.crawl)?;
        let free = self.db.ask(
            "SELECT (SELECT next_id FROM gleaner.crawl WHERE crawl = $1)
             FROM gleaner.shard WHERE crawl = $1 AND (owner IS NULL OR owner NOT IN
               (SELECT incarnation FROM gleaner.worker WHERE crawl = $1)) LIMIT 1",
            &[&self.me.crawl],
        )?;
        let Some(urls) = free.first().map(|r| r.get::<_, i64>(0)) else { return Ok(()) };
        if self.idle {
            // Whoever asks whether all is done must not see an idle worker with new shards.
            self.idle = false;
            self.out.news = true;
            self.ship()?;
        }
        let taken = claim::take(&self.db, &self.me, (share - self.owned.len()) as i64)?;
        let clean: BTreeMap<i16, bool> = taken.iter().map(|t| (t.shard, t.clean)).collect();
        self.owned.extend(taken.iter().map(|t| (t.shard, t.epoch)));
        // Hosts that have to rest rest from now on, not from when this began.
        let late = if self.options.database_time { began.elapsed() } else { Duration::ZERO };
        let now = now.plus(late);
        let at_once = i64::from(self.options.load_at_once);
        if urls * clean.len() as i64 / i64::from(self.shards.max(1)) > at_once {
            let shards_at_once = (at_once * i64::from(self.shards) / urls) as usize;
            let arriving =
                Arriving::bring(self.db.line(), self.me.crawl, clean, at_once / 4, shards_at_once, now);
            self.arriving.push(arriving);
            return Ok(());
        }
        match self.load_now(&clean, now) {
            // Half of a shard is none: join anew when the database is back.
            Err(_) if self.db.is_closed() => {
                self.lost = true;
                Ok(())
            }
            loaded => loaded,
        }
    }

    /// Together they come in the order they were found, also across shards.
    fn load_now(&mut self, shards: &BTreeMap<i16, bool>, now: Millis) -> Result<(), Problem> {
        if shards.is_empty() {
            return Ok(());
        }
        let list: Vec<i16> = shards.keys().copied().collect();
        let crawl = self.me.crawl;
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

    /// The claim is gone: forget everything and join anew. What the loop keeps in memory (its model) stays.
    pub(super) fn rejoin(&mut self, now: Millis) -> Result<(), Problem> {
        let began = Instant::now();
        let give_up = began + self.options.patience;
        self.heart = None;
        loop {
            if !self.db.is_closed() || self.db.reconnect().is_ok() {
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
        let db = &self.db;
        let (me, kept) = claim::join(db, self.me.crawl, &self.options.worker, self.options.lease)?;
        self.heart = Some(Heart::beat(db.another()?, me.clone(), self.options.lease, self.gate.clone()));
        if self.options.database_time {
            self.skew = measure_skew(db, now, began)?;
        }
        let step = self.inner.order().step().max(kept.step);
        // The old log's file is locked as long as its ledger lives: put a small one in its place first.
        let spare = self.options.scratch.join("spare");
        let limits = self.options.clone();
        self.inner = empty_ledger(Scratch::create(&spare)?, &limits, self.key, now)?;
        self.inner = empty_ledger(Scratch::create(&self.options.scratch)?, &limits, self.key, now)?;
        self.inner.order_mut().at_step(step);
        let old = std::mem::take(&mut self.ids);
        let (from, to) = old.rest();
        self.ids.refill(from, to);
        self.me = me;
        self.owned.clear();
        self.out = Outgoing::default();
        self.sealed = None;
        self.told = Standing::at_first(&kept);
        (self.batch, self.lost, self.urgent, self.hosts_shipped) = (0, false, false, 0);
        (self.pages, self.relevant, self.idle) = (kept.pages, kept.relevant, false);
        self.state_n.clear();
        self.next_state.clear();
        self.arriving.clear();
        self.rests.clear();
        self.loaded.clear();
        self.loads_told = 0;
        self.far_pages.clear();
        self.asked_seeds.clear();
        self.own_pages_known = false;
        self.take_up_state(false)?;
        self.skip_old_deltas()?;
        self.look_around()?;
        self.take_shards(now, began)?;
        self.ship()
    }
}

fn empty_ledger(
    mut scratch: Scratch,
    options: &SharedOptions,
    key: (u64, u64),
    now: Millis,
) -> Result<Ledger<Scratch>, Problem> {
    let mut records = Vec::new();
    codec::record(&mut records, Kind::Meta, |o| {
        o.u32(codec::FORMAT);
        o.u64(key.0);
        o.u64(key.1);
    });
    // Which hosts have to rest is decided when their shard is loaded.
    codec::record(&mut records, Kind::Closed, |o| o.u64(0));
    scratch.take_in(&records, 0, 0)?;
    let ledger_options = ledger::Options { key: Some(key), ..ledger::Options::new(options.limits.clone()) };
    Ledger::on(scratch, ledger_options, now)
}
