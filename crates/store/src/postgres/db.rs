//! One connection, as blocking calls: the crawl's loop decides in one place and waits for its ledger.

use super::pooler;
use super::tls::{self, Tls};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Runtime};
use tokio_postgres::config::Host;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Config, Error, Row, SimpleQueryMessage, Statement};
use types::Problem;

pub(super) type Param = Box<dyn ToSql + Sync + Send>;

/// One statement of a transaction.
pub(super) struct Step {
    pub sql: &'static str,
    pub params: Vec<Param>,
}

pub(super) struct Db {
    runtime: Runtime,
    line: Line,
    client: RwLock<Arc<Client>>,
    prepared: Mutex<HashMap<&'static str, Statement>>,
    statements: AtomicU64,
}

/// The way to a database.
#[derive(Clone)]
pub(super) struct Line {
    config: Config,
    tls: Tls,
    /// The server ends the session when it is silent for this long inside a transaction: a process that was
    /// stopped there must not hold its locks for ever.
    silence: Duration,
    /// How long a database that is away is waited for.
    patience: Duration,
    history: Arc<History>,
}

/// Which of the database's histories was last seen. When a standby takes over or a backup is restored, a new
/// one begins (PostgreSQL's *timeline*), and what was committed last may not be in it.
#[derive(Default)]
struct History {
    seen: Mutex<Option<String>>,
    changed: AtomicBool,
}

impl History {
    fn note(&self, timeline: Option<String>) {
        let Some(timeline) = timeline else { return };
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.as_ref().is_some_and(|s| *s != timeline) {
            self.changed.store(true, Ordering::SeqCst);
        }
        *seen = Some(timeline);
    }
}

/// Is this the address of a PostgreSQL database? Said before anything is tried with it.
pub fn check_address(url: &str) -> Result<(), Problem> {
    let cause = match url.split_once("://") {
        Some(("postgres" | "postgresql", _)) => return Ok(()),
        Some((scheme, _)) => format!("it begins with {scheme}://, and only PostgreSQL can be shared"),
        // Its own notation: `host=… dbname=…`.
        None if url.contains('=') => return Ok(()),
        None => format!("`{url}` has no postgres:// in front"),
    };
    Err(Problem::usage("--store is not the address of a PostgreSQL database").because(cause).hint(
        "write it as postgres://USER:PASSWORD@HOST:5432/DATABASE, or leave --store out to keep a folder",
    ))
}

impl Db {
    pub fn connect(url: &str, silence: Duration, patience: Duration) -> Result<Db, Problem> {
        check_address(url)?;
        let (address, tls) = tls::of_address(url)?;
        let mut config: Config = address.parse().map_err(|e: Error| {
            Problem::usage("--store is not the address of a PostgreSQL database")
                .because(detail(&e))
                .hint("write it as postgres://USER:PASSWORD@HOST:5432/DATABASE")
        })?;
        config.application_name("gleaner").connect_timeout(Duration::from_secs(10));
        // A dead peer must be noticed well before a claim runs out.
        config
            .keepalives_idle(Duration::from_secs(5))
            .keepalives_interval(Duration::from_secs(2))
            .keepalives_retries(3)
            .tcp_user_timeout(Duration::from_secs(12));
        let line = Line { config, tls, silence, patience, history: Arc::default() };
        let runtime = runtime()?;
        let client = runtime.block_on(line.open()).map_err(|e| line.problem("connect to", &e, true))?;
        if runtime.block_on(pooler::lends_sessions(&line, &client)) {
            return Err(pooler::problem(&line.place()));
        }
        Ok(line.with(runtime, client))
    }

    /// Has a new history of the database begun since [`Db::believe_anew`]? What this process knows of it may
    /// not be there any more.
    pub fn has_changed_history(&self) -> bool {
        self.line.history.changed.load(Ordering::SeqCst)
    }

    /// From now on nothing that was known before is relied on.
    pub fn believe_anew(&self) -> Result<(), Error> {
        // The connection may still be one to the server of before.
        self.reconnect()?;
        self.line.history.changed.store(false, Ordering::SeqCst);
        Ok(())
    }

    pub fn reconnect(&self) -> Result<(), Error> {
        let client = self.runtime.block_on(self.line.open())?;
        // Statements belong to their connection: they go before it.
        let mut prepared = self.prepared.lock().unwrap_or_else(PoisonError::into_inner);
        prepared.clear();
        *self.client.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(client);
        Ok(())
    }

    /// A second connection to the same place.
    pub fn another(&self) -> Result<Db, Problem> {
        let runtime = runtime()?;
        let client = self
            .patiently(|| runtime.block_on(self.line.open()))
            .map_err(|e| self.problem("connect to", &e))?;
        Ok(self.line().with(runtime, client))
    }

    /// How to make one later, elsewhere.
    pub fn line(&self) -> Line {
        self.line.clone()
    }

    /// How long a database that is away is waited for.
    pub fn patience(&self) -> Duration {
        self.line.patience
    }

    pub fn is_closed(&self) -> bool {
        self.client().is_closed()
    }

    /// Statements sent so far.
    pub fn statements(&self) -> u64 {
        self.statements.load(Ordering::Relaxed)
    }

    pub fn run<T>(&self, work: impl Future<Output = T>) -> T {
        self.runtime.block_on(work)
    }

    pub fn client(&self) -> Arc<Client> {
        self.client.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    async fn prepare(&self, client: &Arc<Client>, sql: &'static str) -> Result<Statement, Error> {
        let known = self.prepared.lock().unwrap_or_else(PoisonError::into_inner).get(sql).cloned();
        if let Some(statement) = known {
            return Ok(statement);
        }
        let statement = client.prepare(sql).await?;
        let mut prepared = self.prepared.lock().unwrap_or_else(PoisonError::into_inner);
        // Of a connection that is gone by now it is of no use to others.
        if Arc::ptr_eq(client, &self.client()) {
            prepared.insert(sql, statement.clone());
        }
        Ok(statement)
    }

    pub fn query(&self, sql: &'static str, params: &[&(dyn ToSql + Sync)]) -> Result<Vec<Row>, Error> {
        self.statements.fetch_add(1, Ordering::Relaxed);
        let client = self.client();
        self.run(async {
            let statement = self.prepare(&client, sql).await?;
            client.query(&statement, params).await
        })
    }

    pub fn execute(&self, sql: &'static str, params: &[&(dyn ToSql + Sync)]) -> Result<u64, Error> {
        self.statements.fetch_add(1, Ordering::Relaxed);
        let client = self.client();
        self.run(async {
            let statement = self.prepare(&client, sql).await?;
            client.execute(&statement, params).await
        })
    }

    /// As `query`, but a database that is away is waited for, and what went wrong is said in words. When the
    /// line is cut the statement may be run twice, or once without its answer: only for what bears it.
    pub fn ask(&self, sql: &'static str, params: &[&(dyn ToSql + Sync)]) -> Result<Vec<Row>, Problem> {
        self.patiently(|| self.query(sql, params)).map_err(|e| self.problem("read from", &e))
    }

    /// As `ask`, for what changes something.
    pub fn tell(&self, sql: &'static str, params: &[&(dyn ToSql + Sync)]) -> Result<u64, Problem> {
        self.patiently(|| self.execute(sql, params)).map_err(|e| self.problem("write to", &e))
    }

    /// Tries again as long as it may pass by itself.
    pub fn patiently<T>(&self, work: impl Fn() -> Result<T, Error>) -> Result<T, Error> {
        let give_up = Instant::now() + self.line.patience;
        let mut pause = Duration::from_millis(100);
        loop {
            match work() {
                Err(e) if passes(&e) && Instant::now() < give_up => {
                    tracing::warn!(problem = %self.problem("reach", &e), "waiting for the database");
                    std::thread::sleep(pause);
                    pause = (pause * 2).min(Duration::from_secs(2));
                    if self.is_closed() {
                        let _ = self.reconnect();
                    }
                }
                end => return end,
            }
        }
    }

    /// Runs the steps as one transaction, sent without waiting in between; commits only when `check` likes
    /// what the first `checks` of them returned (rows changed or a count selected).
    pub fn transact(&self, steps: &[Step], checks: &[Option<i64>]) -> Result<bool, Error> {
        self.statements.fetch_add(steps.len() as u64 + 2, Ordering::Relaxed);
        let client = self.client();
        self.run(async {
            let mut statements = Vec::with_capacity(steps.len());
            for step in steps {
                statements.push(self.prepare(&client, step.sql).await?);
            }
            let begin = client.batch_execute("BEGIN");
            let params: Vec<Vec<&(dyn ToSql + Sync)>> = steps
                .iter()
                .map(|s| s.params.iter().map(|p| &**p as &(dyn ToSql + Sync)).collect())
                .collect();
            // Sent in this order, answered in this order.
            let all = futures_util::future::join_all(
                statements.iter().zip(&params).map(|(s, p)| client.query(s, p)),
            );
            let (begun, answers) = futures_util::future::join(begin, all).await;
            let mut good = true;
            let mut failed = begun.err();
            for (i, answer) in answers.into_iter().enumerate() {
                match answer {
                    Ok(rows) => {
                        if let Some(Some(wanted)) = checks.get(i) {
                            let got: Option<i64> = rows.first().and_then(|r| r.try_get(0).ok());
                            good &= got == Some(*wanted);
                        }
                    }
                    Err(e) => {
                        failed.get_or_insert(e);
                    }
                }
            }
            // Who has no claim any more is told so, whatever else went wrong: others may have written the
            // same since.
            if let Some(e) = failed.filter(|_| good) {
                let _ = client.batch_execute("ROLLBACK").await;
                return Err(e);
            }
            client.batch_execute(if good { "COMMIT" } else { "ROLLBACK" }).await?;
            Ok(good)
        })
    }

    pub fn problem(&self, doing: &str, e: &Error) -> Problem {
        self.line.problem(doing, e, false)
    }
}

/// The server's timeline; nothing from a standby.
const TIMELINE: &str =
    "SELECT CASE WHEN NOT pg_is_in_recovery() THEN left(pg_walfile_name(pg_current_wal_lsn()), 8) END";

/// The first value of a statement's answer.
pub(super) async fn value(client: &Client, sql: &str) -> Result<Option<String>, Error> {
    let answer = client.simple_query(sql).await?;
    Ok(answer.iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => row.get(0).map(str::to_string),
        _ => None,
    }))
}

fn runtime() -> Result<Runtime, Problem> {
    let made = Builder::new_current_thread().enable_all().build();
    made.map_err(|e| Problem::new("cannot start the network").because(e))
}

impl Line {
    async fn open(&self) -> Result<Client, Error> {
        let client = self.open_plain().await?;
        let ms = self.silence.as_millis();
        client.batch_execute(&format!("SET idle_in_transaction_session_timeout = {ms}")).await?;
        // Servers that only speak like PostgreSQL may not have these functions.
        let timeline = value(&client, TIMELINE).await.ok().flatten();
        self.history.note(timeline);
        Ok(client)
    }

    /// Without any setting of ours.
    pub async fn open_plain(&self) -> Result<Client, Error> {
        let (client, connection) = self.config.connect(self.tls.clone()).await?;
        tokio::spawn(async move {
            // Whoever uses the client hears of its end.
            let _ = connection.await;
        });
        Ok(client)
    }

    /// `None`: not now, but perhaps later (no connection is free, the server restarts).
    pub fn connect(&self) -> Result<Option<Db>, Problem> {
        let runtime = runtime()?;
        match runtime.block_on(self.open()) {
            Ok(client) => Ok(Some(self.clone().with(runtime, client))),
            Err(e) if passes(&e) => Ok(None),
            Err(e) => Err(self.problem("connect to", &e, false)),
        }
    }

    fn with(self, runtime: Runtime, client: Client) -> Db {
        Db {
            runtime,
            line: self,
            client: RwLock::new(Arc::new(client)),
            prepared: Mutex::default(),
            statements: AtomicU64::new(0),
        }
    }

    /// What went wrong, in words. `first`: when it was first tried.
    fn problem(&self, doing: &str, e: &Error, first: bool) -> Problem {
        problem(doing, &self.place(), &self.config, e, first)
    }

    /// The database's name and its servers, for people.
    fn place(&self) -> String {
        let host = |h: &Host| match h {
            Host::Tcp(name) => name.clone(),
            Host::Unix(path) => path.display().to_string(),
        };
        let (hosts, ports) = (self.config.get_hosts(), self.config.get_ports());
        let port = |n: usize| ports.get(n).or(ports.first()).copied().unwrap_or(5432);
        let mut all: Vec<String> =
            hosts.iter().enumerate().map(|(n, h)| format!("{}:{}", host(h), port(n))).collect();
        if all.is_empty() {
            all.push(format!("?:{}", port(0)));
        }
        format!("`{}` at {}", self.config.get_dbname().unwrap_or("?"), all.join(" or "))
    }
}

/// Will it perhaps go by itself: a server that restarts, a line that was cut, a disk that is being cleared?
pub(super) fn passes(e: &Error) -> bool {
    if e.is_closed() {
        return true;
    }
    match e.code() {
        Some(code) => {
            // Shutting down, starting up, out of connections, disk or memory, deadlock, silent for too long.
            let class = &code.code()[..2];
            matches!(class, "57" | "53" | "40" | "25" | "08") || *code == SqlState::CANNOT_CONNECT_NOW
        }
        // No answer from the server: the line, or a bug of ours.
        None => std::error::Error::source(e).is_some_and(|s| s.is::<std::io::Error>()),
    }
}

fn detail(e: &Error) -> String {
    match e.as_db_error() {
        Some(db) => format!("{} ({})", db.message(), db.code().code()),
        None => types::with_causes(e),
    }
}

fn problem(doing: &str, place: &str, config: &Config, e: &Error, first: bool) -> Problem {
    let p = Problem::new(format!("cannot {doing} the PostgreSQL database {place}")).because(detail(e));
    match e.code() {
        Some(c) if *c == SqlState::INSUFFICIENT_PRIVILEGE => {
            p.hint("the role needs CREATE on the database once (or a schema `gleaner` it owns); see docs/scale.md")
        }
        Some(c) if *c == SqlState::DISK_FULL => {
            p.hint("make room for the database and run the same command again; nothing is lost")
        }
        Some(c) if pooler::is_sign(c) => p.hint(pooler::HINT),
        Some(c) if c.code().starts_with("28") || *c == SqlState::INVALID_CATALOG_NAME => {
            p.hint("check user, password and database name in --store")
        }
        _ if first && config.get_ssl_mode() == tokio_postgres::config::SslMode::Require => {
            p.hint("does the server speak TLS (`ssl = on`), and is its certificate of this name and authority? sslrootcert=FILE names a private authority's")
        }
        _ if first && config.get_hosts().len() > 1 => {
            p.hint("is one of the servers up, and does it take writes? (of several the first that fits is used; target_session_attrs=read-write leaves standbys out)")
        }
        _ if first => p.hint("is the server up, and may this machine reach it? (`psql` with the same address tells)"),
        _ => p.hint("run the same command again when the database is back; nothing committed is lost"),
    }
}
