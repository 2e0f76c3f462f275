//! One crawl, several workers, a real PostgreSQL: the real program, end to end, undisturbed and disturbed.
//!
//! The web is the one of `gleaner demo`, served by a process of its own whose log is the witness.
//! `GLEANER_LONG=1` (`./test long`) disturbs for longer.

use crate::common;
use crate::common::dashboard::Dashboard;
use crate::common::endurance::{self, now_ms, topic};
use crate::common::{DemoServer, Rng, Running, file, finish, folder, gleaner, long, run};
use crate::support::line::Line;
use crate::support::postgres;
use crate::support::postgres::Server;
use crawl::reader::Reader;
use crawl::steer::Command as Do;
use crawl::steer::fleet::{Address, FleetCommand};
use madeup::{Entry, read_log};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use store::archive::{Limits, WarcReader, read_at};
use store::{Records, SharedReader};

pub const DELAY_MS: u64 = 40;
pub const CONCURRENCY: u64 = 8;

pub fn crawl(web: &DemoServer, topic: &Path, out: &Path) -> Command {
    endurance::crawl(web, topic, out, DELAY_MS, CONCURRENCY)
}

pub fn worker(web: &DemoServer, topic: &Path, out: &Path, store: &str, name: &str) -> Command {
    let mut command = crawl(web, topic, out);
    command.args(["--store", store, "--crawl", "demo", "--lease", "3s"]);
    if name != "w1" {
        // The others load what they take over while they crawl, as if it were a crawl of millions.
        command.args(["--load-at-once", "100"]);
    }
    // Who asked is in the server's log.
    command.args(["--user-agent", &format!("Gleaner/{name}")]);
    command
}

/// The relevant pages of a shared crawl.
fn relevant(server: &Server) -> BTreeSet<String> {
    exported(&["--store", &server.url(), "--crawl", "demo"])
}

/// The relevant pages of an ordinary collection.
pub fn relevant_in(dir: &Path) -> BTreeSet<String> {
    exported(&[dir.to_str().unwrap()])
}

pub fn exported(which: &[&str]) -> BTreeSet<String> {
    endurance::urls(&run([&["export", "--format", "jsonl", "--copies"], which].concat()))
}

/// Everything that must hold of the tables, whatever happened.
pub fn sound(server: &Server) {
    let reader = SharedReader::open(&server.url(), Some("demo")).unwrap();
    reader.check().unwrap_or_else(|p| panic!("{p}"));
    let stats = reader.stats().unwrap();
    assert_eq!(stats.pending + stats.settled, stats.urls, "each URL in exactly one state");
    let twice = server.sql(
        "SELECT s.url FROM gleaner.sight s JOIN gleaner.crawl c USING (crawl) WHERE s.n = 0 AND c.name = \
         'demo'
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
    let report = dir.path().join("report.html");
    read(&["report", "-o", report.to_str().unwrap()]).ok();
    let html = std::fs::read_to_string(&report).unwrap();
    assert!(
        found.iter().filter(|u| html.contains(u.as_str())).count() > 5,
        "the report lists what was found"
    );
    dashboard(&url, &cache, &found, &[out(1), out(2)]);
}

/// A shared crawl in the browser: everything is shown; how it is changed while it runs:
/// tests/program/steer.rs.
fn dashboard(url: &str, cache: &Path, found: &BTreeSet<String>, workers: &[PathBuf]) {
    let archives = cache.join("archives");
    std::fs::create_dir_all(&archives).unwrap();
    for file in workers.iter().flat_map(|w| common::warcs(w)) {
        std::fs::copy(&file, archives.join(file.file_name().unwrap())).unwrap();
    }
    let mut command = gleaner();
    command.args(["serve", "--store", url, "--crawl", "demo", "--listen", "127.0.0.1:0", "--warc"]);
    let d = Dashboard::run(command.arg(&archives).env("XDG_CACHE_HOME", cache));
    let list = d.json("/api/v1/collections");
    assert!(list.to_string().contains("\"demo\""), "{list}");
    let one = d.json("/api/v1/collections/demo");
    assert_eq!((one["state"].as_str(), one["controlled"].as_bool()), (Some("stopped"), Some(false)));
    let pages = d.json("/api/v1/collections/demo/pages?relevant=true&limit=200");
    let listed: BTreeSet<String> =
        pages["pages"].as_array().unwrap().iter().map(|p| p["url"].as_str().unwrap().to_string()).collect();
    // What asks not to be indexed is not exported, but shown.
    assert!(found.is_subset(&listed), "{:?}", found.difference(&listed).collect::<Vec<_>>());
    assert_eq!(one["relevant"].as_u64(), Some(listed.len() as u64));
    let id = pages["pages"][0]["id"].as_u64().unwrap();
    let page = d.json(&format!("/api/v1/collections/demo/pages/{id}"));
    assert!(page["explanation"]["path"].as_array().is_some_and(|p| !p.is_empty()), "{page}");
    let hosts = d.json("/api/v1/collections/demo/hosts?sort=pages");
    let host = hosts["hosts"][0]["host"].as_str().unwrap();
    assert!(hosts["hosts"][0]["pages"].as_u64() > Some(1), "{hosts}");
    let of_host = d.json(&format!("/api/v1/collections/demo/pages?host={host}&limit=200"));
    let all = of_host["pages"].as_array().unwrap();
    assert!(!all.is_empty() && all.iter().all(|p| p["url"].as_str().unwrap().contains(host)), "{of_host}");
    assert!(d.json("/api/v1/collections/demo/topic")["text"].as_str().unwrap().contains("[scope]"));
    assert!(d.json("/api/v1/collections/demo/frontier")["urls"].is_array());
    assert_eq!(d.get(&format!("/api/v1/collections/demo/pages/{id}/warc")).status, 200);
    // The index was made by `gleaner search` before, and is kept up to date beside whoever looks.
    let search = d.json("/api/v1/collections/demo/search?q=database&all=true");
    assert!(search["results"].as_array().is_some_and(|r| !r.is_empty()), "{search}");
    let body = serde_json::json!({ "action": "start" });
    let refused = d.send("POST", "/api/v1/collections/demo/control", &body);
    assert_eq!(refused.status, 409, "{}", refused.text());
    let label = d.send(
        "PUT",
        &format!("/api/v1/collections/demo/pages/{id}/label"),
        &serde_json::json!({"label": false}),
    );
    // Nobody is there to hear it; it counts all the same.
    assert_eq!(label.status, 200, "{}", label.text());
    assert!(label.text().contains("no worker is running"), "{}", label.text());
    assert_eq!(d.json("/api/v1/collections/demo/pages?label=no")["pages"].as_array().unwrap().len(), 1);
    assert_eq!(d.json("/api/v1/collections/demo")["relevant"].as_u64(), Some(listed.len() as u64 - 1));
    let begin =
        serde_json::json!({ "name": "x", "topic": "name = 'x'\nquery = 'sql'", "seeds": ["http://a.test/"] });
    assert_eq!(d.send("POST", "/api/v1/collections", &begin).status, 409);
}

// ---- disturbances
// -----------------------------------------------------------------------------------------------------

/// From when on whatever a worker had in flight may end for the server at any time.
pub struct Blow {
    pub agent: String,
    pub at: u64,
}

#[test]
fn disturbed_in_every_way_it_loses_nothing_and_stays_polite() {
    // A server of its own: it is going to be killed.
    let Some(server) = Server::start(false) else { return };
    // So large that the last blow still falls on a busy crawl.
    let size = if long() { Some(20_000) } else { Some(1200) };
    let rounds = if long() { 12 } else { 1 };
    let dir = folder();
    let topic = file(dir.path(), "topic.toml", &topic());
    let calm_web = DemoServer::start(&dir.path().join("calm.log"), size);
    let calm = Running::start(&mut crawl(&calm_web, &topic, &dir.path().join("calm")));

    let web = DemoServer::start(&dir.path().join("web.log"), size);
    let line = Line::to(server.port);
    let start = |n: usize| {
        let store = if n == 2 {
            format!("postgres://gleaner@127.0.0.1:{}/postgres", line.port)
        } else {
            server.url()
        };
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
    // One more, whose disk is full soon after it joined (as far as a limit on file sizes is a full disk).
    let mut cramped = Command::new("sh");
    let inner = worker(&web, &topic, &dir.path().join("w9"), &server.url(), "w9");
    let words: Vec<String> = std::iter::once(inner.get_program())
        .chain(inner.get_args())
        .map(|w| format!("'{}'", w.to_str().unwrap().replace('\'', "'\\''")))
        .collect();
    cramped.args(["-c", &format!("trap '' XFSZ; ulimit -f 40; exec {}", words.join(" "))]);
    let cramped = Running::start(&mut cramped);
    let mut disturbances = 1;
    let nap = |rng: &mut Rng, ms: u64| std::thread::sleep(Duration::from_millis(ms + rng.below(ms / 2)));
    for _ in 0..rounds {
        // A worker is killed, and started again in its folder, while everyone is asked to pause. Who has
        // heard of it by then, and who has not, must not matter.
        ask(&server, &dir.path().join("cache"), Do::Pause);
        workers[0].signal("KILL");
        blows.push(Blow { agent: "w0".into(), at: now_ms() });
        let _ = workers[0].child.wait();
        nap(&mut rng, 400);
        workers[0] = start(0);
        disturbances += 1;
        nap(&mut rng, 800);
        ask(&server, &dir.path().join("cache"), Do::Resume);
        nap(&mut rng, 300);

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

        // The database itself, right after it was told to pause.
        ask(&server, &dir.path().join("cache"), Do::Pause);
        server.kill();
        nap(&mut rng, 500);
        server.restart();
        disturbances += 1;
        nap(&mut rng, 1_000);
        ask(&server, &dir.path().join("cache"), Do::Resume);
    }
    let at_last = pages();

    let ended: Vec<_> = workers.into_iter().map(Running::wait).collect();
    let full = cramped.wait();
    for ran in &ended {
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        assert!(!ran.err.contains("panicked"), "{}", ran.err);
    }
    // It ended with a word, and took nothing with it.
    full.fails(1, &["error: cannot "]);
    assert!(!full.err.contains("panicked"), "{}", full.err);

    sound(&server);
    let reader = SharedReader::open(&server.url(), Some("demo")).unwrap();
    assert_eq!(reader.stats().unwrap().pending, 0, "crawled to the end");
    calm.wait().ok();
    let (wanted, found) = (relevant_in(&dir.path().join("calm")), relevant(&server));
    let missing: Vec<_> = wanted.difference(&found).collect();
    let extra: Vec<_> = found.difference(&wanted).collect();
    assert!(missing.is_empty() && extra.is_empty(), "missing {missing:?}, extra {extra:?}");
    assert!(wanted.len() > 40, "{}", wanted.len());

    // Shards changed hands, and every page was written in the epoch of its shard at that moment (checked by
    // `sound`).
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
    println!(
        "{disturbances} disturbances, the last after {at_last} pages of {}; {epochs} epochs, {again} pages \
         fetched again",
        served.len()
    );
    assert!(again <= (disturbances + 1) * 4 * CONCURRENCY, "{again} pages were fetched again");
    let folders: Vec<PathBuf> = [0, 1, 2, 9].iter().map(|n| dir.path().join(format!("w{n}"))).collect();
    let twice = archived_twice(&reader, &folders);
    println!("{twice} pages archived more than once");
    assert!(twice <= (disturbances + 1) * 4 * CONCURRENCY, "{twice} pages are archived twice");
}

/// Asks something of all workers, and does not wait for any.
fn ask(server: &Server, cache: &Path, what: Do) {
    let reader = Reader::open_shared(&server.url(), Some("demo"), cache).unwrap_or_else(|p| panic!("{p}"));
    // All may be done by now.
    let Ok(asked) = FleetCommand::new(&reader, what) else { return };
    let to = Address { store: &server.url(), crawl: "demo", who: "a test", patience: Duration::ZERO };
    asked.give(&to).unwrap_or_else(|p| panic!("{p}"));
}

/// Pages that are in the workers' archives more than once; every page of the ledger is where its record says.
pub fn archived_twice(reader: &SharedReader, folders: &[PathBuf]) -> u64 {
    let mut times: BTreeMap<String, u64> = BTreeMap::new();
    let mut files: BTreeMap<String, PathBuf> = BTreeMap::new();
    for path in folders.iter().flat_map(|f| common::warcs(f)) {
        let name = path.file_name().unwrap().to_str().unwrap().to_string();
        let bytes = std::fs::read(&path).unwrap();
        // What a killed worker leaves behind may end in half a record.
        let records =
            WarcReader::new(bytes.as_slice(), name.clone(), Limits::default()).into_iter().flatten();
        for record in records.map_while(Result::ok) {
            if matches!(record.kind().as_str(), "response" | "revisit") {
                *times.entry(record.target().unwrap().to_string()).or_default() += 1;
            }
        }
        assert!(files.insert(name, path).is_none(), "two workers wrote a file of the same name");
    }
    let mut checked = 0;
    for page in reader.pages(0) {
        let (record, _) = page.unwrap();
        let at = record.archive.as_ref().unwrap_or_else(|| panic!("{} is not archived", record.url));
        let there = read_at(&files[&at.file], at.offset, Limits::default()).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(there.target(), Some(record.url.as_str()), "{} at {}", at.file, at.offset);
        checked += 1;
    }
    assert!(checked > 100, "{checked}");
    times.values().map(|n| n - 1).sum()
}

/// The server's own log: one request at a time per host over all workers, and a pause between the end of one
/// and the start of the next, robots.txt included.
pub fn polite(log: &[Entry], blows: &[Blow]) {
    endurance::polite(log, DELAY_MS, |a, _| {
        // A request of a worker that was killed or stopped ends for the server when it notices; it was sent
        // before.
        let hit =
            blows.iter().find(|x| a.agent.contains(&x.agent) && (a.arrived..=a.finished).contains(&x.at));
        hit.map_or(a.finished, |x| a.arrived.min(x.at))
    });
}
