//! One crawl, several workers, a real PostgreSQL: the real program, end to end, undisturbed and disturbed.
//!
//! The web is the one of `gleaner demo`, served by a process of its own whose log is the witness. `GLEANER_LONG=1`
//! (`./test long`) disturbs for longer.

mod common;
#[path = "support/postgres.rs"]
mod postgres;

use common::{DemoServer, Rng, Running, file, finish, folder, gleaner, long, run};
use gleaner::demo::{Entry, TOPIC, read_log};
use postgres::Server;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use store::{SharedReader, Store};

const DELAY_MS: u64 = 40;
const GRAIN_MS: u64 = 2;
const CONCURRENCY: u64 = 8;

/// The demo's topic, to be crawled to the end: what never ends is left out.
fn topic() -> String {
    format!(
        r#"{TOPIC}
[scope]
hosts = {{ deny = ["closed.stonewall.example"] }}
patterns = {{ deny = ["/lab/(error|unavailable|cut|dropped)"] }}
[limits]
per_host = 150
[fetch]
attempts = 6
"#
    )
}

fn crawl(web: &DemoServer, topic: &Path, out: &Path) -> Command {
    let mut command = gleaner();
    command.arg("crawl").arg(topic).arg("--out").arg(out);
    command.args(["--resolve", &web.resolve(), "--allow-private", "--json"]);
    command.args(["--delay", &format!("{DELAY_MS}ms"), "--concurrency", &CONCURRENCY.to_string()]);
    command
}

fn worker(web: &DemoServer, topic: &Path, out: &Path, store: &str, name: &str) -> Command {
    let mut command = crawl(web, topic, out);
    command.args(["--store", store, "--crawl", "demo", "--lease", "3s"]);
    // Who asked is in the server's log.
    command.args(["--user-agent", &format!("Gleaner/{name}")]);
    command
}

fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as u64
}

/// The relevant pages of a shared crawl.
fn relevant(server: &Server) -> BTreeSet<String> {
    exported(&["--store", &server.url(), "--crawl", "demo"])
}

/// The relevant pages of an ordinary collection.
fn relevant_in(dir: &Path) -> BTreeSet<String> {
    exported(&[dir.to_str().unwrap()])
}

fn exported(which: &[&str]) -> BTreeSet<String> {
    let ran = run([&["export", "--format", "jsonl"], which].concat());
    let urls = ran.ok().out.lines().map(|l| {
        let v: serde_json::Value = serde_json::from_str(l).unwrap();
        v["url"].as_str().unwrap().to_string()
    });
    urls.collect()
}

/// Everything that must hold of the tables, whatever happened.
fn sound(server: &Server) {
    let reader = SharedReader::open(&server.url(), Some("demo")).unwrap();
    reader.check().unwrap_or_else(|p| panic!("{p}"));
    let stats = reader.stats();
    assert_eq!(stats.pending + stats.settled, stats.urls, "each URL in exactly one state");
    let twice = server.sql(
        "SELECT s.url FROM gleaner.sight s JOIN gleaner.crawl c USING (crawl) WHERE s.n = 0 AND c.name = 'demo'
         GROUP BY s.url HAVING count(*) > 1",
    );
    assert_eq!(twice, "", "admitted twice");
}

#[test]
fn one_worker_then_two_find_what_an_ordinary_crawl_finds() {
    let Some(server) = postgres::server() else { return };
    let dir = folder();
    let topic = file(dir.path(), "topic.toml", &topic());
    let calm_web = DemoServer::start(&dir.path().join("calm.log"), Some(300));
    let calm = Running::start(&mut crawl(&calm_web, &topic, &dir.path().join("calm")));

    // Stopped half-way by a limit, then two go on.
    let web = DemoServer::start(&dir.path().join("web.log"), Some(300));
    let out = |n: u32| dir.path().join(format!("w{n}"));
    let url = server.url();
    finish(worker(&web, &topic, &out(1), &url, "w1").args(["--pages", "60"])).ok();
    let status = run(["status", "--store", &url, "--crawl", "demo", "--json"]);
    let v: serde_json::Value = serde_json::from_str(&status.ok().out).unwrap();
    let pages = v["pages"].as_u64().unwrap();
    assert!((60..60 + 2 * CONCURRENCY).contains(&pages), "{pages} pages");
    assert_eq!(v["running"], serde_json::Value::Bool(false));
    sound(server);

    let a = Running::start(&mut worker(&web, &topic, &out(1), &url, "w1"));
    let b = Running::start(&mut worker(&web, &topic, &out(2), &url, "w2"));
    a.wait().ok();
    b.wait().ok();
    sound(server);
    calm.wait().ok();
    let (wanted, found) = (relevant_in(&dir.path().join("calm")), relevant(server));
    assert!(wanted.len() > 10, "{}", wanted.len());
    assert_eq!(wanted, found);
    let log = read_log(&web.log).unwrap_or_else(|p| panic!("{p}"));
    let of = |name: &str| log.iter().filter(|e| e.agent.contains(name)).count();
    assert!(of("w1") > 60 && of("w2") > 20, "both worked: {} and {}", of("w1"), of("w2"));
    polite(&log, &[]);

    // Reading it from anywhere.
    let cache = dir.path().join("cache");
    let read = |args: &[&str]| {
        finish(gleaner().args(args).args(["--store", &url, "--crawl", "demo"]).env("XDG_CACHE_HOME", &cache))
    };
    let one = found.iter().next().unwrap();
    read(&["explain", one]).ok().shows(&["how it was found", "settled: fetched", "how it was judged"]);
    read(&["search", "database", "--json", "--all"]).ok().shows(&["\"url\""]);
    // The second time the index is there.
    read(&["search", "database", "--json", "--all"]).ok().shows(&["\"url\""]);
    read(&["status"]).ok().shows(&["not running"]);
    let wrong = finish(gleaner().args(["status", "--store", &url, "--crawl", "nothing"]));
    wrong.fails(2, &["no crawl `nothing`", "demo"]);
    let nowhere = finish(gleaner().args(["status", "--store", "postgres://gleaner@127.0.0.1:1/x"]));
    nowhere.fails(1, &["cannot connect to the PostgreSQL database `x` at 127.0.0.1:1", "hint"]);
}

// ---- disturbances -----------------------------------------------------------------------------------------------------

/// A line to the database that can be cut.
struct Line {
    port: u16,
    open: Arc<AtomicBool>,
    ends: Arc<Mutex<Vec<TcpStream>>>,
}

impl Line {
    fn to(port: u16) -> Line {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let line = Line {
            port: listener.local_addr().unwrap().port(),
            open: Arc::new(AtomicBool::new(true)),
            ends: Arc::default(),
        };
        let (open, ends) = (line.open.clone(), line.ends.clone());
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                if !open.load(Ordering::SeqCst) {
                    continue;
                }
                let Ok(there) = TcpStream::connect(("127.0.0.1", port)) else { continue };
                let mut list = ends.lock().unwrap();
                list.extend([client.try_clone().unwrap(), there.try_clone().unwrap()]);
                for (mut from, mut to) in
                    [(client.try_clone().unwrap(), there.try_clone().unwrap()), (there, client)]
                {
                    std::thread::spawn(move || {
                        let mut buffer = [0; 16 << 10];
                        while let Ok(n @ 1..) = from.read(&mut buffer) {
                            if to.write_all(&buffer[..n]).is_err() {
                                break;
                            }
                        }
                        let _ = to.shutdown(Shutdown::Both);
                    });
                }
            }
        });
        line
    }

    fn cut(&self) {
        self.open.store(false, Ordering::SeqCst);
        for end in self.ends.lock().unwrap().drain(..) {
            let _ = end.shutdown(Shutdown::Both);
        }
    }

    fn mend(&self) {
        self.open.store(true, Ordering::SeqCst);
    }

    fn url(&self) -> String {
        format!("postgres://gleaner@127.0.0.1:{}/postgres", self.port)
    }
}

/// From when on whatever a worker had in flight may end for the server at any time.
struct Blow {
    agent: String,
    at: u64,
}

#[test]
fn disturbed_in_every_way_it_loses_nothing_and_stays_polite() {
    // A server of its own: it is going to be killed.
    let Some(server) = Server::start(false) else { return };
    let size = if long() { Some(6000) } else { Some(1200) };
    let rounds = if long() { 12 } else { 1 };
    let dir = folder();
    let topic = file(dir.path(), "topic.toml", &topic());
    let calm_web = DemoServer::start(&dir.path().join("calm.log"), size);
    let calm = Running::start(&mut crawl(&calm_web, &topic, &dir.path().join("calm")));

    let web = DemoServer::start(&dir.path().join("web.log"), size);
    let line = Line::to(server.port);
    let start = |n: usize| {
        let store = if n == 2 { line.url() } else { server.url() };
        let mut command = worker(&web, &topic, &dir.path().join(format!("w{n}")), &store, &format!("w{n}"));
        Running::start(&mut command)
    };
    let mut workers: Vec<Running> = (0..3).map(start).collect();
    let mut blows: Vec<Blow> = Vec::new();
    let mut rng = Rng(8);
    let pages = || -> u64 {
        let n = server.sql("SELECT count(*) FROM gleaner.page");
        n.parse().unwrap()
    };
    // Under way before anything happens.
    let end = Instant::now() + Duration::from_secs(60);
    while server.sql("SELECT to_regclass('gleaner.page') IS NOT NULL") != "t" || pages() < 30 {
        assert!(Instant::now() < end, "the crawl does not get going");
        std::thread::sleep(Duration::from_millis(100));
    }
    let mut disturbances = 0;
    let nap = |rng: &mut Rng, ms: u64| std::thread::sleep(Duration::from_millis(ms + rng.below(ms / 2)));
    for _ in 0..rounds {
        // A worker is killed, and started again in its folder.
        workers[0].signal("KILL");
        blows.push(Blow { agent: "w0".into(), at: now_ms() });
        let _ = workers[0].child.wait();
        nap(&mut rng, 400);
        workers[0] = start(0);
        disturbances += 1;
        nap(&mut rng, 800);

        // Another is stopped for longer than its lease, and wakes up as if nothing had happened.
        workers[1].signal("STOP");
        blows.push(Blow { agent: "w1".into(), at: now_ms() });
        nap(&mut rng, 5_000);
        workers[1].signal("CONT");
        disturbances += 1;
        nap(&mut rng, 800);

        // The third loses its line to the database for longer than its lease, but not its line to the Web.
        line.cut();
        blows.push(Blow { agent: "w2".into(), at: now_ms() });
        nap(&mut rng, 5_000);
        line.mend();
        disturbances += 1;
        nap(&mut rng, 500);

        // The database itself.
        server.kill();
        nap(&mut rng, 500);
        server.restart();
        disturbances += 1;
        nap(&mut rng, 1_000);
    }
    // One joins whose disk is full at once (as far as a limit on file sizes is a full disk), and ends with a word.
    let mut cramped = Command::new("sh");
    let inner = worker(&web, &topic, &dir.path().join("w9"), &server.url(), "w9");
    let words: Vec<String> = std::iter::once(inner.get_program())
        .chain(inner.get_args())
        .map(|w| format!("'{}'", w.to_str().unwrap().replace('\'', "'\\''")))
        .collect();
    cramped.args(["-c", &format!("trap '' XFSZ; ulimit -f 40; exec {}", words.join(" "))]);
    let cramped = Running::start(&mut cramped);
    let at_join = pages();

    let ended: Vec<_> = workers.into_iter().map(Running::wait).collect();
    let full = cramped.wait();
    for ran in &ended {
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        assert!(!ran.err.contains("panicked"), "{}", ran.err);
    }
    if full.code != Some(0) {
        full.fails(1, &["error: cannot "]);
    }
    println!("pages when the fourth joined: {at_join}; it ended with {:?}", full.code);
    assert!(!full.err.contains("panicked"), "{}", full.err);

    sound(&server);
    let reader = SharedReader::open(&server.url(), Some("demo")).unwrap();
    assert_eq!(reader.stats().pending, 0, "crawled to the end");
    calm.wait().ok();
    let (wanted, found) = (relevant_in(&dir.path().join("calm")), relevant(&server));
    let missing: Vec<_> = wanted.difference(&found).collect();
    let extra: Vec<_> = found.difference(&wanted).collect();
    assert!(missing.is_empty() && extra.is_empty(), "missing {missing:?}, extra {extra:?}");
    assert!(wanted.len() > 40, "{}", wanted.len());

    // Shards changed hands, and every page was written in the epoch of its shard at that moment (checked by `sound`).
    let epochs: u64 = server.sql("SELECT max(epoch) FROM gleaner.epoch").parse().unwrap();
    assert!(epochs >= 3, "{epochs}");

    let log = read_log(&web.log).unwrap_or_else(|p| panic!("{p}"));
    polite(&log, &blows);
    // No page was fetched twice beyond those in flight, or not yet committed, when something happened.
    let mut served: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    for e in log.iter().filter(|e| e.status == 200 && e.whole && e.path != "/robots.txt") {
        *served.entry((&e.host, &e.path)).or_default() += 1;
    }
    let again: u64 = served.values().map(|n| n - 1).sum();
    println!("{disturbances} disturbances, {epochs} epochs, {again} pages fetched again of {}", served.len());
    assert!(again <= (disturbances + 1) * 4 * CONCURRENCY, "{again} pages were fetched again");
}

/// The server's own log: one request at a time per host over all workers, and a pause between the end of one and the
/// start of the next, robots.txt included.
fn polite(log: &[Entry], blows: &[Blow]) {
    let mut hosts: BTreeMap<&str, Vec<&Entry>> = BTreeMap::new();
    for e in log {
        hosts.entry(&e.host).or_default().push(e);
    }
    for (host, mut all) in hosts {
        all.sort_by_key(|e| e.arrived);
        assert_eq!(all[0].path, "/robots.txt", "{host}: the first request");
        let delay = if host == "gentle.brookside.example" { 1000 } else { DELAY_MS };
        for pair in all.windows(2) {
            let [a, b] = pair else { unreachable!() };
            // Until the answer to robots.txt is kept, nobody can know its Crawl-delay.
            let delay = if b.path == "/robots.txt" { DELAY_MS } else { delay };
            // A request of a worker that was killed or stopped ends for the server when it notices; it was sent before.
            let hit =
                blows.iter().find(|x| a.agent.contains(&x.agent) && (a.arrived..=a.finished).contains(&x.at));
            let from = hit.map_or(a.finished, |x| a.arrived.min(x.at));
            assert!(
                b.arrived + GRAIN_MS >= from + delay,
                "{host}: {} ms between {} of {} (arrived {}, finished {}) and {} of {} ({})",
                b.arrived as i64 - from as i64,
                a.path,
                a.agent,
                a.arrived,
                a.finished,
                b.path,
                b.agent,
                b.arrived
            );
        }
    }
}
