//! Joining a crawl: the schema, the crawl's row, a slot, the first shards.

use super::db::Db;
use super::ids::Ids;
use super::membership::Membership;
use super::peers::Peers;
use super::schema::{MIGRATION_LOCK, MIGRATIONS};
use super::scratch::Scratch;
use super::seal::Outgoing;
use super::takeover::Shards;
use super::worker::Far;
use super::{SHARDS, Shared, SharedOptions, Skew, Spread, Work};
use crate::ledger::codec::Kind;
use crate::ledger::{self, Ledger, codec};
use std::hash::{BuildHasher, RandomState};
use std::time::Instant;
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
    db.tell("INSERT INTO gleaner.teacher (crawl) VALUES ($1) ON CONFLICT DO NOTHING", &[&row.crawl])?;
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
pub(super) fn measure_skew(db: &Db, now: Millis, asked: Instant) -> Result<Skew, Problem> {
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
        let (membership, kept) = Membership::new(&db, row.crawl, &options)?;
        let mut shared = Shared {
            inner: empty_ledger(scratch, &options, row.key, now)?,
            spread: Spread { key: row.key, shards: row.shards },
            skew,
            ids: Ids::default(),
            membership,
            shards: Shards::none(),
            outgoing: Outgoing::new(&kept),
            peers: Peers::new(began),
            far: Far::default(),
            work: Work { pages: kept.pages, relevant: kept.relevant, most_in_flight: 8, ..Work::default() },
            resumed: row.next_id > 0,
            db,
            options,
        };
        shared.inner.order_mut().at_step(kept.step);
        shared.start(kept.fresh, now, began)?;
        Ok(shared)
    }

    /// What a member does first. `now` is the time at `began`.
    pub(super) fn start(&mut self, fresh: bool, now: Millis, began: Instant) -> Result<(), Problem> {
        self.take_up_state(fresh)?;
        self.skip_old_deltas()?;
        self.look_around()?;
        self.take_shards(now, began)?;
        self.ship()
    }

    /// As if this process was stopped or cut off: for tests. What it does from here on must not be accepted
    /// once its time is over.
    #[doc(hidden)]
    pub fn stop_renewing(&mut self) {
        self.membership.stop_renewing();
    }

    /// Statements sent to the database so far.
    pub fn statements(&self) -> u64 {
        self.db.statements()
    }

    /// A number that no other run of any worker has.
    pub fn incarnation(&self) -> i64 {
        self.membership.me.incarnation
    }

    /// Was there something before this worker joined?
    pub fn resumed(&self) -> bool {
        self.resumed
    }

    /// The slot's learnt state. A fresh slot starts from what the most experienced worker's model has learnt.
    fn take_up_state(&mut self, fresh: bool) -> Result<(), Problem> {
        let crawl = self.membership.me.crawl;
        let rows = if fresh {
            self.db.ask(
                "SELECT name, n, bytes FROM gleaner.state WHERE crawl = $1 AND name = ANY($3) AND slot =
                   (SELECT slot FROM gleaner.worker WHERE crawl = $1 AND slot <> $2 ORDER BY pages DESC, slot LIMIT 1)
                 ORDER BY name, n",
                &[&crawl, &self.membership.me.slot, &INHERITED.map(StateKey::name).as_slice()],
            )?
        } else {
            self.db.ask(
                "SELECT name, n, bytes FROM gleaner.state WHERE crawl = $1 AND slot = $2 AND name <> $3 ORDER BY name, n",
                &[&crawl, &self.membership.me.slot, &StateKey::Next.name()],
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
                self.outgoing.state_rows.insert(name, n + 1);
            }
        }
        self.inner.log_mut().take_in(&records, 0, 0)?;
        self.inner.catch_up()
    }
}

pub(super) fn empty_ledger(
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
