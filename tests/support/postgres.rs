//! A PostgreSQL of one's own for tests: a private folder, a private port, gone when the test process is.

#![allow(dead_code)]

// The store's tests load this file without the rest.
#[allow(clippy::duplicate_mod)]
#[path = "tools.rs"]
mod tools;

use std::io::{BufRead, BufReader};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

pub struct Server {
    pub port: u16,
    pub dir: PathBuf,
    bin: PathBuf,
    /// As long as this is open, the server lives.
    _keep: ChildStdin,
    _shell: Child,
    durable: bool,
    /// Settings beside the usual ones.
    more: String,
}

/// How a new server gets its files.
struct Make<'a> {
    /// A shell command that fills `$dir/data`.
    files: String,
    /// What is done before the start.
    prepare: &'a str,
    durable: bool,
    more: &'a str,
}

/// Where the server's programs are.
fn programs() -> Option<PathBuf> {
    let mut found: Vec<PathBuf> = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .flatten()
        .map(|e| e.path().join("bin"))
        .filter(|p| p.join("initdb").is_file())
        .collect();
    found.sort();
    let on_path = || {
        let path = std::env::var_os("PATH")?;
        std::env::split_paths(&path).find(|p| p.join("initdb").is_file() && p.join("postgres").is_file())
    };
    found.pop().or_else(on_path)
}

fn free_port() -> Option<u16> {
    Some(TcpListener::bind("127.0.0.1:0").ok()?.local_addr().ok()?.port())
}

fn is_root() -> bool {
    Command::new("id").arg("-u").output().is_ok_and(|o| o.stdout.starts_with(b"0\n"))
}

/// The server refuses to run as root.
fn as_postgres(script: &str) -> Command {
    let mut c = if is_root() {
        let mut c = Command::new("runuser");
        c.args(["-u", "postgres", "--", "sh", "-c", script]);
        c
    } else {
        let mut c = Command::new("sh");
        c.args(["-c", script]);
        c
    };
    c.current_dir("/");
    c
}

impl Server {
    /// `None` when PostgreSQL is not installed.
    pub fn start(durable: bool) -> Option<Server> {
        Server::start_with(durable, "", "")
    }

    /// One that speaks TLS, with this certificate and key (PEM).
    pub fn start_with_tls(certificate: &str, key: &str) -> Option<Server> {
        let files = format!(
            "umask 077; printf '%s' '{certificate}' >$dir/server.crt; printf '%s' '{key}' >$dir/server.key"
        );
        Server::start_with(
            false,
            &files,
            "-c ssl=on -c ssl_cert_file=$dir/server.crt -c ssl_key_file=$dir/server.key",
        )
    }

    fn start_with(durable: bool, prepare: &str, more: &str) -> Option<Server> {
        let Some(bin) = programs() else {
            tools::missing("PostgreSQL (Debian's package `postgresql`)");
            return None;
        };
        let files =
            format!("{}/initdb -D $dir/data -A trust -U gleaner --no-sync -E UTF8 --locale=C", bin.display());
        let make = Make { files, prepare, durable, more };
        // Between our look for a free port and the server's start somebody else may take it: then another
        // one.
        (0..5).find_map(|_| Server::start_at(free_port()?, &bin, &make))
    }

    /// A standby that gets everything from the server at a port, as it happens there. It listens at `port`,
    /// or at one that is free.
    pub fn standby_of(primary: u16, port: Option<u16>) -> Server {
        let bin = programs().expect("the primary has them");
        let files = format!(
            "{}/pg_basebackup -D $dir/data -d 'host=127.0.0.1 port={primary} user=gleaner' -R -X stream -c fast --no-sync",
            bin.display()
        );
        let make = Make { files, prepare: "", durable: false, more: "" };
        let made = (0..5).find_map(|_| Server::start_at(port.or_else(free_port)?, &bin, &make));
        made.expect("a port for the standby")
    }

    /// The standby is the primary from now on.
    pub fn promote(&self) {
        assert_eq!(self.sql("SELECT pg_promote()"), "t");
    }

    /// `None` when the port is taken.
    fn start_at(port: u16, bin: &Path, make: &Make<'_>) -> Option<Server> {
        let Make { files, prepare, durable, more } = make;
        // The shell outlives a test that is killed by a moment: when its input ends, it stops the server and
        // cleans up. A server that is killed on purpose is started again by `restart`, which leaves its
        // number in `pid`. In /tmp, whatever TMPDIR says: the user `postgres` must be able to write there.
        let script = format!(
            "set -e; dir=$(mktemp -d /tmp/gleaner-pg.XXXXXX); echo $dir
             {files} >$dir/made.log 2>&1
             {prepare}
             {start}
             until grep -qsE '^(ready|standby)' $dir/data/postmaster.pid; do
               kill -0 $! 2>/dev/null || {{ echo ended; exit; }}; sleep 0.05
             done
             echo started; cat >/dev/null || true
             kill -INT $(head -1 $dir/data/postmaster.pid) 2>/dev/null || true
             for i in 1 2 3 4 5 6 7 8 9 10; do [ -e $dir/data/postmaster.pid ] || break; sleep 0.3; done
             rm -rf $dir",
            start = start_command(&bin.display().to_string(), "$dir", port, *durable, more),
        );
        let mut shell =
            as_postgres(&script).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("sh starts");
        let mut lines = BufReader::new(shell.stdout.take().expect("its output")).lines();
        let dir = PathBuf::from(lines.next().expect("a folder").expect("text"));
        let started = lines.next().and_then(Result::ok);
        let log = || {
            let of = |name: &str| std::fs::read_to_string(dir.join(name)).unwrap_or_default();
            of("made.log") + &of("server.log")
        };
        if started.as_deref() == Some("ended") && log().contains("could not create any TCP/IP sockets") {
            let _ = shell.wait();
            return None;
        }
        assert_eq!(started.as_deref(), Some("started"), "{}: {}", dir.display(), log());
        let keep = shell.stdin.take().expect("its input");
        let more = more.replace("$dir", &dir.display().to_string());
        Some(Server {
            port,
            dir,
            bin: bin.to_path_buf(),
            _keep: keep,
            _shell: shell,
            durable: *durable,
            more,
        })
    }

    /// Until it takes connections.
    pub fn wait(&self) {
        let end = Instant::now() + Duration::from_secs(60);
        let ready = || {
            Command::new(self.bin.join("pg_isready"))
                .args([
                    "-q",
                    "-h",
                    "127.0.0.1",
                    "-p",
                    &self.port.to_string(),
                    "-U",
                    "gleaner",
                    "-d",
                    "postgres",
                ])
                .status()
                .is_ok_and(|s| s.success())
        };
        while !ready() {
            assert!(Instant::now() < end, "PostgreSQL does not start: see {}/server.log", self.dir.display());
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    pub fn url(&self) -> String {
        format!("postgres://gleaner@127.0.0.1:{}/postgres", self.port)
    }

    /// The server's main process.
    pub fn pid(&self) -> u32 {
        let out = as_postgres(&format!("head -1 {}/data/postmaster.pid", self.dir.display()))
            .output()
            .expect("head");
        String::from_utf8_lossy(&out.stdout).trim().parse().expect("a process number")
    }

    /// As if the machine's plug was pulled, disk aside.
    pub fn kill(&self) {
        let pid = self.pid();
        // The children notice that the postmaster is gone; they are killed with it so that nothing is
        // finished in order.
        let script = format!("kill -9 {pid} $(ps -o pid= --ppid {pid}) 2>/dev/null; true");
        let _ = as_postgres(&script).status();
        let end = Instant::now() + Duration::from_secs(20);
        while TcpStream::connect(("127.0.0.1", self.port)).is_ok() && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    pub fn restart(&self) {
        let start = start_command(
            &self.bin.display().to_string(),
            &self.dir.display().to_string(),
            self.port,
            self.durable,
            &self.more,
        );
        let _ = as_postgres(&format!("rm -f {}/data/postmaster.pid; {start}", self.dir.display())).status();
        self.wait();
    }

    /// One statement, its answer as text: columns by `|`, rows by lines.
    pub fn sql(&self, sql: &str) -> String {
        let out = Command::new(self.bin.join("psql"))
            .args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", &self.url(), "-c", sql])
            .output()
            .expect("psql");
        assert!(out.status.success(), "{sql}: {}", String::from_utf8_lossy(&out.stderr));
        String::from_utf8_lossy(&out.stdout).trim().to_string()
    }

    /// One statement in another database of the server. `false`: it was refused.
    pub fn try_sql(&self, database: &str, sql: &str) -> bool {
        let url = format!("postgres://gleaner@127.0.0.1:{}/{database}", self.port);
        let out = Command::new(self.bin.join("psql"))
            .args(["-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", &url, "-c", sql])
            .output()
            .expect("psql");
        out.status.success()
    }
}

fn start_command(bin: &str, dir: &str, port: u16, durable: bool, more: &str) -> String {
    let fsync = if durable { "on" } else { "off" };
    format!(
        "{bin}/postgres -D {dir}/data -p {port} -h 127.0.0.1 -k '' -c fsync={fsync} -c max_connections=60 \
         -c shared_buffers=256MB -c log_min_messages=fatal -c max_wal_size=2GB -c full_page_writes={fsync} \
         {more} \
         </dev/null >>{dir}/server.log 2>&1 &"
    )
}

/// PgBouncer in front of a server, in one of its modes; gone with the test.
pub struct Bouncer {
    pub port: u16,
    /// As long as this is open, it lives.
    _keep: ChildStdin,
    _shell: Child,
}

impl Bouncer {
    /// `None` when PgBouncer is not installed.
    pub fn start(server: &Server, mode: &str) -> Option<Bouncer> {
        let program =
            ["/usr/sbin/pgbouncer", "/usr/bin/pgbouncer"].into_iter().find(|p| Path::new(p).is_file());
        let Some(program) = program else {
            tools::missing("PgBouncer (Debian's package `pgbouncer`)");
            return None;
        };
        let port = free_port()?;
        let script = format!(
            "set -e; dir=$(mktemp -d /tmp/gleaner-bouncer.XXXXXX)
             printf '%s\n' '[databases]' 'postgres = host=127.0.0.1 port={to} user=gleaner' '[pgbouncer]' listen_addr=127.0.0.1 \
               listen_port={port} auth_type=any pool_mode={mode} unix_socket_dir= logfile=$dir/log pidfile=$dir/pid >$dir/ini
             {program} -q $dir/ini </dev/null >/dev/null 2>&1 &
             echo started; cat >/dev/null || true; kill -INT $! 2>/dev/null || true; wait; rm -rf $dir",
            to = server.port
        );
        let mut shell =
            as_postgres(&script).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("sh starts");
        let mut lines = BufReader::new(shell.stdout.take().expect("its output")).lines();
        assert_eq!(lines.next().and_then(Result::ok).as_deref(), Some("started"));
        let end = Instant::now() + Duration::from_secs(60);
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(Instant::now() < end, "PgBouncer does not start");
            std::thread::sleep(Duration::from_millis(20));
        }
        let keep = shell.stdin.take().expect("its input");
        Some(Bouncer { port, _keep: keep, _shell: shell })
    }

    pub fn url(&self) -> String {
        format!("postgres://gleaner@127.0.0.1:{}/postgres", self.port)
    }
}

/// One server for all tests of a process. `None` (and a word about it) when PostgreSQL is not installed.
pub fn server() -> Option<&'static Server> {
    static SERVER: OnceLock<Option<Server>> = OnceLock::new();
    SERVER.get_or_init(|| Server::start(false)).as_ref()
}
