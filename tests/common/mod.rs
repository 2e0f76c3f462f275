//! Helpers of the tests that run the real program.

// A benchmark (benches/views.rs) uses a part of this.
#![allow(dead_code)]

pub mod browser;
pub mod campus;
pub mod collection;
pub mod cost;
pub mod dashboard;
pub mod endurance;
pub mod terminal;
#[path = "../support/tools.rs"]
pub mod tools;

use madeup::{Log, Server, WebString};
use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Nothing here may take longer, even on a machine with much else to do.
const PATIENCE: Duration = Duration::from_secs(150);

pub fn gleaner() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gleaner"));
    command.stdin(Stdio::null());
    command
}

/// What a run of the program left behind.
#[derive(Debug)]
pub struct Ran {
    /// `None`: killed by a signal.
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Ran {
    /// Asserts the exit code and that standard error says all of `says`.
    #[track_caller]
    pub fn fails(&self, code: i32, says: &[&str]) {
        assert_eq!(self.code, Some(code), "{self}");
        for text in says {
            assert!(self.err.contains(text), "`{text}` is missing in:\n{self}");
        }
        // A message for people, not a crash.
        assert!(!self.err.contains("panicked") && !self.err.contains("RUST_BACKTRACE"), "{self}");
    }

    #[track_caller]
    pub fn ok(&self) -> &Ran {
        assert_eq!(self.code, Some(0), "{self}");
        assert!(!self.err.contains("panicked"), "{self}");
        self
    }

    #[track_caller]
    pub fn shows(&self, says: &[&str]) -> &Ran {
        for text in says {
            assert!(self.out.contains(text), "`{text}` is missing in:\n{self}");
        }
        self
    }
}

impl std::fmt::Display for Ran {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Ran { code, out, err } = self;
        write!(f, "exit code {code:?}\n--- standard output\n{out}\n--- standard error\n{err}")
    }
}

/// Runs the program with these arguments.
pub fn run<S: AsRef<OsStr>>(args: impl IntoIterator<Item = S>) -> Ran {
    finish(gleaner().args(args))
}

/// Runs a command to its end and takes all it says.
pub fn finish(command: &mut Command) -> Ran {
    Running::start(command).wait()
}

/// A program under way, its output being read.
pub struct Running {
    pub child: Child,
    out: Option<Reading>,
    err: Option<Reading>,
}

/// Output that is read while it comes.
struct Reading {
    thread: JoinHandle<()>,
    so_far: Arc<(Mutex<Vec<u8>>, Condvar)>,
}

impl Running {
    pub fn start(command: &mut Command) -> Running {
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|e| panic!("cannot start {command:?}: {e}"));
        let out = child.stdout.take().map(read_all);
        let err = child.stderr.take().map(read_all);
        Running { child, out, err }
    }

    pub fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        let sent = Command::new("sh").args(["-c", &format!("kill -{name} {pid}")]).status().unwrap();
        assert!(sent.success(), "cannot send SIG{name} to {pid}");
    }

    /// Waits until the program says this on standard error.
    #[track_caller]
    pub fn says(&self, text: &str) {
        let (so_far, came) = &*self.err.as_ref().expect("it is being read").so_far;
        let missing = |said: &mut Vec<u8>| !String::from_utf8_lossy(said).contains(text);
        let (said, waited) = came.wait_timeout_while(so_far.lock().unwrap(), PATIENCE, missing).unwrap();
        assert!(!waited.timed_out(), "it does not say `{text}`:\n{}", String::from_utf8_lossy(&said));
    }

    pub fn wait(mut self) -> Ran {
        let until = Instant::now() + PATIENCE;
        let status = loop {
            match self.child.try_wait().unwrap() {
                Some(status) => break Some(status),
                None if Instant::now() > until => break None,
                None => std::thread::sleep(Duration::from_millis(5)),
            }
        };
        if status.is_none() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
        let text = |reading: Option<Reading>| {
            reading.map_or(String::new(), |r| {
                r.thread.join().unwrap();
                String::from_utf8_lossy(&r.so_far.0.lock().unwrap()).into_owned()
            })
        };
        let (out, err) = (text(self.out.take()), text(self.err.take()));
        let Some(status) = status else {
            panic!("still running after {PATIENCE:?}\n--- standard output\n{out}\n--- standard error\n{err}")
        };
        Ran { code: status.code(), out, err }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn read_all(mut from: impl Read + Send + 'static) -> Reading {
    let so_far: Arc<(Mutex<Vec<u8>>, Condvar)> = Arc::default();
    let into = so_far.clone();
    let thread = std::thread::spawn(move || {
        let mut bytes = [0; 4096];
        while let Ok(n @ 1..) = from.read(&mut bytes) {
            into.0.lock().unwrap().extend_from_slice(&bytes[..n]);
            into.1.notify_all();
        }
    });
    Reading { thread, so_far }
}

/// Waits until something is so.
#[track_caller]
pub fn until(what: &str, so: impl Fn() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !so() {
        assert!(Instant::now() < end, "in vain: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// `gleaner demo --serve-only` as a process of its own.
pub struct DemoServer {
    child: Child,
    pub addr: String,
    pub log: PathBuf,
}

impl DemoServer {
    /// `pages`: the size of its web, if it is not to be the usual one.
    pub fn start(log: &Path, pages: Option<usize>) -> DemoServer {
        let mut command = gleaner();
        command.args(["demo", "--serve-only", "--listen", "127.0.0.1:0", "--log"]).arg(log);
        if let Some(n) = pages {
            command.args(["--web-pages", &n.to_string()]);
        }
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut addr = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut addr).unwrap();
        let addr = addr.trim().to_string();
        assert!(addr.starts_with("127.0.0.1:"), "the server did not say where it is: `{addr}`");
        DemoServer { child, addr, log: log.to_path_buf() }
    }

    pub fn resolve(&self) -> String {
        format!("*:{}", self.addr)
    }
}

impl Drop for DemoServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Serves a web written in one string, within this process, so that the test reads its log directly.
pub fn serve(web: &str) -> Server {
    let web = WebString::parse(web).unwrap_or_else(|p| panic!("{p}"));
    Server::start(web, "127.0.0.1:0".parse().unwrap(), Log::in_memory()).unwrap_or_else(|p| panic!("{p}"))
}

/// A crawl of a server of ours: everything is sent there.
pub fn crawl(server: &Server, topic: &Path, out: &Path) -> Command {
    let mut command = gleaner();
    command.arg("crawl").arg(topic).arg("--out").arg(out);
    command.args(["--resolve", &server.resolve(), "--allow-private"]);
    command
}

/// A folder that goes away with the test.
pub fn folder() -> tempfile::TempDir {
    tempfile::Builder::new().prefix("gleaner-test-").tempdir().unwrap()
}

/// Writes a file into a folder and says where it is.
pub fn file(dir: &Path, name: &str, text: &str) -> PathBuf {
    let path = dir.join(name);
    std::fs::write(&path, text).unwrap();
    path
}

/// The Python with warcio and pyarrow that `./test` sets up. Without it the caller skips its check, loudly.
pub fn python(what: &str) -> Option<PathBuf> {
    let python = std::env::var_os("GLEANER_PY").map(PathBuf::from).filter(|p| p.is_file());
    if python.is_none() {
        tools::missing(&format!("{what}: GLEANER_PY is not set (a Python with warcio and pyarrow)"));
    }
    python
}

/// Runs one of the scripts in tests/py.
#[track_caller]
pub fn script<S: AsRef<OsStr>>(python: &Path, name: &str, args: impl IntoIterator<Item = S>) -> Ran {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/py").join(name);
    finish(Command::new(python).arg(path).args(args))
}

/// The WARC files of a collection, in order (not those set aside as never committed).
pub fn warcs(collection: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(collection.join("warc"))
        .map(|entries| {
            entries.flatten().map(|e| e.path()).filter(|p| p.extension().is_some_and(|e| e == "gz")).collect()
        })
        .unwrap_or_default();
    files.sort();
    files
}

/// Chance that is the same every time: SplitMix64.
pub struct Rng(pub u64);

impl Rng {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
    pub fn below(&mut self, n: u64) -> u64 {
        self.next() % n.max(1)
    }
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high - low + 1)
    }
}

/// Are the long forms of the campaigns asked for (`./test long`)?
pub fn long() -> bool {
    std::env::var_os("GLEANER_LONG").is_some_and(|v| v != "0" && !v.is_empty())
}
