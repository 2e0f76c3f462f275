//! A shared crawl is changed while it runs: from a dashboard or the command line, through a real PostgreSQL,
//! to real workers.

use crate::common;
use crate::common::browser::Browser;
use crate::common::dashboard::Dashboard;
use crate::common::endurance::{self, now_ms, topic};
use crate::common::{DemoServer, Running, file, finish, folder, gleaner};
use crate::support::postgres::Server;
use madeup::{Entry, SEEDS, read_log};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

const DELAY_MS: u64 = 40;
const CONCURRENCY: u64 = 4;
/// Longer than the dashboard waits for workers.
const LEASE: &str = "6s";
/// Workers hear of each other's pages every 300 ms: a limit may be passed by what came since.
const LATE: u64 = 150;
const C: &str = "/api/v1/collections/demo";

/// A database, a web, and workers on it.
struct Scene<'a> {
    server: &'a Server,
    dir: tempfile::TempDir,
    topic: PathBuf,
    web: DemoServer,
}

impl Scene<'_> {
    fn new(server: &Server) -> Scene<'_> {
        let dir = folder();
        // So that labels have something to move.
        let text = topic().replace("threshold = 0.47", "threshold = \"auto\"");
        assert!(text.contains("\"auto\""));
        let topic = file(dir.path(), "topic.toml", &text);
        let web = DemoServer::start(&dir.path().join("web.log"), Some(6000));
        Scene { server, dir, topic, web }
    }

    fn command(&self, name: &str) -> Command {
        let mut command =
            endurance::crawl(&self.web, &self.topic, &self.dir.path().join(name), DELAY_MS, CONCURRENCY);
        command.args(["--store", &self.server.url(), "--crawl", "demo", "--lease", LEASE]);
        // Who asked is in the server's log.
        command.args(["--user-agent", &format!("Gleaner/{name}")]);
        command
    }

    fn worker(&self, name: &str) -> Running {
        Running::start(&mut self.command(name))
    }

    fn dashboard(&self) -> Dashboard {
        self.dashboard_as("gleaner")
    }

    fn dashboard_as(&self, role: &str) -> Dashboard {
        let url = self.server.url().replace("gleaner@", &format!("{role}@"));
        let mut command = gleaner();
        command.args(["serve", "--store", &url, "--crawl", "demo", "--listen", "127.0.0.1:0"]);
        Dashboard::run(command.env("XDG_CACHE_HOME", self.dir.path().join("cache")))
    }

    fn cli(&self, args: &[&str]) -> common::Ran {
        let mut command = gleaner();
        command.args(args).args(["--store", &self.server.url(), "--crawl", "demo"]);
        finish(command.env("XDG_CACHE_HOME", self.dir.path().join("cache")))
    }

    fn number(&self, sql: &str) -> u64 {
        self.server.sql(sql).parse().unwrap_or_else(|_| panic!("{sql}"))
    }

    fn pages(&self) -> u64 {
        self.number("SELECT count(*) FROM gleaner.page")
    }

    #[track_caller]
    fn until(&self, what: &str, done: impl Fn() -> bool) {
        let end = Instant::now() + Duration::from_secs(60);
        while !done() {
            assert!(Instant::now() < end, "waited in vain: {what}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// So many workers, and something to change.
    fn under_way(&self, workers: u64, pages: u64) {
        self.until("the crawl gets going", || {
            self.server.sql("SELECT to_regclass('gleaner.effect') IS NOT NULL") == "t"
                && self.alive() == workers
                && self.pages() >= pages
        });
    }

    fn alive(&self) -> u64 {
        self.number("SELECT count(*) FROM gleaner.worker WHERE incarnation > 0 AND expires >= now()")
    }

    fn log(&self) -> Vec<Entry> {
        read_log(&self.web.log).unwrap_or_else(|p| panic!("{p}"))
    }

    fn asked(&self, which: impl Fn(&Entry) -> bool) -> usize {
        self.log().iter().filter(|e| which(e)).count()
    }
}

#[track_caller]
fn sent(d: &Dashboard, method: &str, path: &str, body: Value) -> Value {
    let answer = d.send(method, &format!("{C}{path}"), &body);
    assert_eq!(answer.status, 200, "{path}: {}", answer.text());
    answer.json()
}

#[track_caller]
fn refused(d: &Dashboard, method: &str, path: &str, body: Value, status: u16) -> String {
    let answer = d.send(method, &format!("{C}{path}"), &body);
    assert_eq!(answer.status, status, "{path}: {}", answer.text());
    answer.text()
}

/// All of so many workers have done it, or (the machine may be busy) will have soon. What it changed in all.
#[track_caller]
fn all_of(s: &Scene, effect: &Value, workers: u64) -> u64 {
    assert_eq!(effect["workers"]["of"], workers, "{effect}");
    let of_newest = "FROM gleaner.effect WHERE n = (SELECT n FROM gleaner.steering)";
    s.until("all have done it", || s.number(&format!("SELECT count(*) {of_newest}")) == workers);
    let changed = s.number(&format!("SELECT coalesce(sum(changed), 0) {of_newest}"));
    if effect["workers"]["applied"] == workers && !effect["text"].as_str().unwrap().contains("seed") {
        assert_eq!(effect["changed"], changed, "{effect}");
    }
    changed
}

fn list(v: &Value) -> &[Value] {
    v.as_array().unwrap()
}

/// As by Ctrl-C.
#[track_caller]
fn stopped(worker: Running) {
    let ran = worker.wait();
    assert_eq!(ran.code, Some(3), "{ran}");
    assert!(ran.out.contains("stopped by the user") && !ran.err.contains("panicked"), "{ran}");
}

fn act(d: &Dashboard, action: &str) -> Value {
    sent(d, "POST", "/control", json!({ "action": action }))
}

#[test]
fn what_is_asked_reaches_every_worker_now_and_later() {
    let Some(server) = Server::start(false) else { return };
    let s = Scene::new(&server);
    let workers = [s.worker("w1"), s.worker("w2")];
    s.under_way(2, 60);
    let d = s.dashboard();

    // Pause: all of them, and whoever joins.
    let paused = act(&d, "pause");
    all_of(&s, &paused, 2);
    assert!(paused["text"].as_str().unwrap().starts_with("paused"), "{paused}");
    let o = d.json(C);
    assert_eq!((o["state"].as_str(), o["controlled"].as_bool()), (Some("paused"), Some(true)), "{o}");
    let third = s.worker("w3");
    s.until("the third joins", || s.alive() == 3);
    s.until("what was in flight arrives", || {
        s.number("SELECT sum(in_flight) FROM gleaner.worker WHERE incarnation > 0") == 0
    });
    let (pages, at) = (s.pages(), now_ms());
    std::thread::sleep(Duration::from_millis(1500));
    assert_eq!(s.pages(), pages, "nothing is fetched meanwhile");
    assert_eq!(s.asked(|e| e.arrived > at || e.agent.contains("w3")), 0);
    s.cli(&["status"]).ok().shows(&["paused"]);

    // A host is blocked, another goes first, by whoever has them.
    let hosts = d.json(&format!("{C}/hosts?sort=pending"));
    let host = |i: usize| hosts["hosts"][i]["host"].as_str().unwrap().to_string();
    let (blocked, boosted) = (host(0), host(1));
    let pending = |host: &str| {
        s.number(&format!(
            "SELECT count(*) FROM gleaner.url u JOIN gleaner.host h USING (crawl, shard, host)
             WHERE u.state = 0 AND h.name = '{host}'"
        ))
    };
    let e = sent(&d, "PUT", &format!("/hosts/{blocked}"), json!({ "rule": "block" }));
    assert_eq!(all_of(&s, &e, 3), pending(&blocked), "{e}");
    let e = sent(&d, "PUT", &format!("/hosts/{boosted}"), json!({ "rule": "boost" }));
    assert!(pending(&boosted) > 3);
    assert_eq!(all_of(&s, &e, 3), pending(&boosted), "{e}");
    s.until("it goes first", || {
        // The order of the queue is looked at now and then.
        let best = d.json(&format!("{C}/frontier?limit=1"));
        best["urls"][0]["url"].as_str().is_some_and(|u| u.contains(&boosted))
    });
    assert_eq!(d.json(&format!("{C}/hosts?q={blocked}"))["hosts"][0]["rule"], "block");
    refused(&d, "PUT", "/hosts/no.such.host", json!({ "rule": "block" }), 404);

    // Seeds: admitted once, by whoever has the host.
    let seeds: Vec<String> = (0..9).map(|i| format!("http://seed{i}.steered{i}.example/")).collect();
    let all: Vec<&str> = seeds.iter().map(String::as_str).chain([SEEDS[0], seeds[0].as_str()]).collect();
    let e = sent(&d, "POST", "/seeds", json!({ "urls": all }));
    assert_eq!(e["changed"], 9, "{e}");
    assert!(e["text"].as_str().unwrap().contains("1 known already"), "{e}");
    s.until("the seeds are taken", || s.number("SELECT count(*) FROM gleaner.outbox") == 0);
    let admitted = "SELECT count(*) FROM gleaner.sight WHERE url LIKE 'http://seed%.steered%'";
    assert_eq!(s.number(admitted), 9);
    let owners =
        "SELECT count(DISTINCT s.owner) FROM gleaner.sight x JOIN gleaner.shard s USING (crawl, shard)
                  WHERE x.url LIKE 'http://seed%.steered%'";
    assert!(s.number(owners) > 1, "they were not all one worker's");

    // Labels: each worker's judge learns from all of them.
    let relevant = d.json(&format!("{C}/pages?relevant=true&sort=best&limit=200"));
    let relevant = list(&relevant["pages"]);
    assert!(relevant.len() >= 12, "{}", relevant.len());
    let lines: String = (relevant.iter().enumerate().filter(|(i, _)| i % 2 == 0))
        .map(|(i, p)| {
            format!("{}\t{}\n", p["url"].as_str().unwrap(), if i < relevant.len() / 2 { "yes" } else { "no" })
        })
        .collect();
    let labels = file(s.dir.path(), "labels.tsv", &lines);
    let n = lines.lines().count();
    let ran = s.cli(&["label", "--from", labels.to_str().unwrap()]);
    ran.ok();
    assert!(ran.err.contains(&format!("{n} pages labelled")), "{ran}");
    assert!(ran.err.contains("changed verdict; all 3 workers have done it"), "{ran}");
    let e = sent(&d, "PUT", &format!("/pages/{}/label", relevant[1]["id"]), json!({ "label": false }));
    all_of(&s, &e, 3);
    assert_eq!(e["relevant"], false);
    let after = d.json(&format!("{C}/pages?relevant=true&limit=200"));
    let after: BTreeSet<&str> = list(&after["pages"]).iter().map(|p| p["url"].as_str().unwrap()).collect();
    let gone = relevant.iter().filter(|p| !after.contains(p["url"].as_str().unwrap())).count();
    assert!(gone > n / 2, "{gone} of {} are no longer relevant, {n} labelled", relevant.len());
    let learnt = |what: &str| {
        s.number(&format!("SELECT count(DISTINCT slot) FROM gleaner.state WHERE name = '{what}'"))
    };
    assert_eq!(learnt("labels"), 3, "every worker knows the labels, also the one without a page");
    assert_eq!(s.number("SELECT count(*) FROM gleaner.label"), n as u64 + 1);

    // Settings. What makes no sense is not asked of anyone.
    let limit = pages + 300;
    let e = sent(
        &d,
        "PATCH",
        "/settings",
        json!({ "limits": { "pages": limit }, "fetch": { "concurrency": 2 } }),
    );
    all_of(&s, &e, 3);
    let text = e["text"].as_str().unwrap();
    assert!(text.contains("of 3 workers the command line (--concurrency) stands"), "{e}");
    let before = s.number("SELECT n FROM gleaner.steering");
    refused(&d, "PATCH", "/settings", json!({ "strategy": "no toml" }), 400);
    refused(&d, "PATCH", "/settings", json!({ "strategy": "no_such_option = 1" }), 400);
    refused(&d, "PATCH", "/settings", json!({ "mute_terms": ["a\u{0}b"] }), 400);
    refused(&d, "POST", "/control", json!({ "action": "start" }), 409);
    assert_eq!(s.number("SELECT n FROM gleaner.steering"), before, "nothing was given");
    let e = sent(&d, "PATCH", "/settings", json!({ "add_terms": [{ "set": "exclude", "term": "kernel" }] }));
    assert_eq!(all_of(&s, &e, 3), pages, "all pages are judged again: {e}");
    let excluded = d.json(&format!("{C}/topic"))["meaning"]["exclude"].clone();
    assert!(list(&excluded).contains(&json!("kernel")), "{excluded}");

    // The same from the command line. What is not named stays.
    let ran = s.cli(&["steer", "pace", "--delay", "20ms"]);
    assert!(ran.ok().out.contains("all 3 workers have done it"), "{ran}");
    let ran = s.cli(&["steer", "limit", "--relevant", "100000"]);
    assert!(ran.ok().out.contains("all 3 workers have done it"), "{ran}");
    s.until("the dashboard knows the limits", || {
        let limits = d.json(&format!("{C}/topic"))["meaning"]["limits"].clone();
        (&limits["pages"], &limits["relevant"]) == (&json!(limit), &json!(100_000))
    });
    let ran = s.cli(&["steer", "seed", SEEDS[0], "http://late.steered9.example/"]);
    assert!(ran.ok().out.contains("1 known already"), "{ran}");
    assert!(s.cli(&["steer", "free", &boosted]).ok().out.contains("as any other again"));
    s.cli(&["steer", "block", "no.such.host"]).fails(4, &["no host `no.such.host`"]);
    s.cli(&["steer", "seed", "no url"]).fails(2, &["seed `no url`"]);
    finish(gleaner().args(["steer", "pause"])).fails(2, &["--store"]);

    // It goes on, with all of that.
    let of_blocked = s.asked(|e| e.host == blocked);
    let last = s.number("SELECT max(seq) FROM gleaner.page");
    assert!(s.cli(&["steer", "resume"]).ok().out.contains("all 3 workers"));
    for w in workers.into_iter().chain([third]) {
        let ran = w.wait();
        assert!(ran.ok().out.contains("page limit reached"), "{ran}");
    }
    let fetched = s.pages();
    assert!((limit..limit + LATE).contains(&fetched), "{fetched} pages, limit {limit}");
    assert_eq!(s.asked(|e| e.host == blocked), of_blocked, "a blocked host is left alone");
    for name in ["w1", "w2", "w3"] {
        assert!(s.asked(|e| e.arrived > at && e.agent.contains(name)) > 2, "{name} went on");
    }
    // By the labels alone, which all of them have, whoever fetched the pages; a judge does not move for less
    // than 0.005.
    let new = format!(
        "SELECT count(DISTINCT slot), max(threshold) - min(threshold) < 0.01, min(threshold) FROM \
         gleaner.page WHERE seq > {last}"
    );
    assert!(
        server.sql(&new).starts_with("3|t|"),
        "every worker judges by the same threshold: {}",
        server.sql(&new)
    );
    let o = d.json(C);
    let commands = list(&o["commands"]);
    assert_eq!(commands[0]["kind"], "resume");
    assert!(commands.iter().all(|c| c["applied"] == c["of"] && c["failure"].is_null()), "{o}");
    assert!(commands.iter().any(|c| c["who"].as_str().unwrap().starts_with("gleaner label")), "{o}");
    refused(&d, "POST", "/control", json!({ "action": "stop" }), 409);
    refused(&d, "POST", "/control", json!({ "action": "pause" }), 409);

    // Said while nobody works, heard by whoever comes: one that was there, and one that was not.
    let e = sent(&d, "PATCH", "/settings", json!({ "limits": { "pages": limit + 60 } }));
    assert!(e["text"].as_str().unwrap().contains("no worker is running"), "{e}");
    let url = relevant[3]["url"].as_str().unwrap();
    let ran = s.cli(&["label", url, "--no"]);
    assert!(ran.ok().err.contains("those that join will follow it"), "{ran}");
    let back = [s.worker("w2"), s.worker("w4")];
    for w in back {
        assert!(w.wait().ok().out.contains("page limit reached"));
    }
    let fetched = s.pages();
    assert!((limit + 60..limit + 60 + LATE).contains(&fetched), "{fetched} pages, limit {limit} + 60");
    assert_eq!(s.asked(|e| e.host == blocked), of_blocked, "nor by those that came later");
    let newest = s.number("SELECT n FROM gleaner.steering");
    let done = format!("SELECT count(*) FROM gleaner.worker WHERE applied = {newest}");
    assert_eq!(s.number(&done), 2);
    let ran = s.cli(&["label", "--json"]);
    assert_eq!(ran.ok().out.lines().count(), n + 2, "{ran}");
    assert!(
        ran.out.lines().any(|l| l.contains(&format!("\"{url}\"")) && l.contains("\"label\":false")),
        "{ran}"
    );

    // Stop: everyone who is there, and nobody who comes later.
    sent(&d, "PATCH", "/settings", json!({ "limits": {} }));
    let pair = [s.worker("w1"), s.worker("w4")];
    s.under_way(2, fetched + 20);
    // How long people wait for all workers, while these are at work.
    let mut waits: Vec<u128> = Vec::new();
    for i in 0..9 {
        let begun = Instant::now();
        sent(&d, "PUT", &format!("/pages/{}/label", relevant[5]["id"]), json!({ "label": i % 2 == 0 }));
        waits.push(begun.elapsed().as_millis());
    }
    waits.sort_unstable();
    println!("a label, obeyed by two busy workers: median {} ms, longest {} ms", waits[4], waits[8]);
    let e = act(&d, "stop");
    assert!(e["text"].as_str().unwrap().starts_with("stopping"), "{e}");
    for w in pair {
        stopped(w);
    }
    let fetched = s.pages();
    let again = s.worker("w1");
    s.until("it goes on", || s.pages() > fetched + 10);
    all_of(&s, &act(&d, "stop"), 1);
    stopped(again);
    let reader = store::SharedReader::open(&server.url(), Some("demo")).unwrap();
    store::Records::check(&reader).unwrap_or_else(|p| panic!("{p}"));
}

#[test]
fn a_worker_that_is_killed_or_cut_off_before_it_obeys_does_so_when_it_is_back() {
    let Some(server) = Server::start(false) else { return };
    let s = Scene::new(&server);
    let mut workers = [s.worker("w1"), s.worker("w2")];
    s.under_way(2, 60);
    let d = s.dashboard();
    let hosts = d.json(&format!("{C}/hosts?sort=pending"));
    let blocked = hosts["hosts"][0]["host"].as_str().unwrap().to_string();
    let pages = d.json(&format!("{C}/pages?limit=200"));
    let page = |i: usize| pages["pages"][i]["id"].to_string();

    // Both are stopped before they hear of anything: one will be killed, one wakes up long after its lease.
    workers.iter().for_each(|w| w.signal("STOP"));
    let e = sent(&d, "PUT", &format!("/pages/{}/label", page(0)), json!({ "label": true }));
    assert_eq!(e["workers"], json!({ "applied": 0, "of": 2 }), "{e}");
    assert!(e["text"].as_str().unwrap().contains("asked: 0 of 2 workers have done it so far"), "{e}");
    sent(&d, "PUT", &format!("/hosts/{blocked}"), json!({ "rule": "block" }));
    sent(&d, "PUT", &format!("/pages/{}/label", page(1)), json!({ "label": false }));
    let add = json!({ "add_terms": [{ "set": "exclude", "term": "kernel" }] });
    sent(&d, "PATCH", "/settings", add);
    let n = s.number("SELECT n FROM gleaner.steering");
    assert_eq!(n, 4);
    s.until("their leases run out", || s.alive() == 0);
    // While they are away the commands are dropped: what they add up to is all they will find.
    server.sql("DELETE FROM gleaner.command");
    workers[0].signal("KILL");
    let _ = workers[0].child.wait();
    workers[0] = s.worker("w1");
    workers[1].signal("CONT");
    let done = format!("SELECT count(*) FROM gleaner.worker WHERE incarnation > 0 AND applied = {n}");
    s.until("both have done it", || s.number(&done) == 2);
    let at = s.asked(|e| e.host == blocked);
    for (name, whole) in [("labels", 2), ("control", 2)] {
        let slots = format!("SELECT count(DISTINCT slot) FROM gleaner.state WHERE name = '{name}'");
        assert_eq!(s.number(&slots), whole, "{name}");
    }
    let control = "SELECT count(*) FROM gleaner.state WHERE name = 'control' AND convert_from(bytes, \
                   'UTF8') LIKE '%kernel%'
                   AND convert_from(bytes, 'UTF8') LIKE '%block%'";
    assert_eq!(s.number(control), 2);
    let before = s.pages();
    s.until("they go on", || s.pages() > before + 60);
    assert_eq!(s.asked(|e| e.host == blocked), at, "a blocked host is left alone");
    all_of(&s, &act(&d, "stop"), 2);
    workers.into_iter().for_each(stopped);
}

#[test]
fn what_labels_changed_is_in_the_database_although_the_commit_was_refused() {
    let Some(server) = Server::start(false) else { return };
    let s = Scene::new(&server);
    let worker = s.worker("w1");
    s.under_way(1, 120);
    let d = s.dashboard();
    all_of(&s, &act(&d, "pause"), 1);
    s.until("what was in flight arrives", || s.number("SELECT sum(in_flight) FROM gleaner.worker") == 0);
    let relevant = d.json(&format!("{C}/pages?relevant=true&sort=best&limit=200"));
    let relevant = list(&relevant["pages"]);
    let lines: String = (relevant.iter().enumerate().filter(|(i, _)| i % 2 == 0))
        .map(|(i, p)| {
            format!("{}\t{}\n", p["url"].as_str().unwrap(), if i < relevant.len() / 2 { "yes" } else { "no" })
        })
        .collect();
    let labels = file(s.dir.path(), "labels.tsv", &lines);
    let counted = "SELECT count(*) FROM gleaner.page WHERE relevant";
    let before = s.number(counted);
    // As if another had taken the slot over and given it back: whatever it commits next is refused.
    let incarnation = || s.number("SELECT max(incarnation) FROM gleaner.worker");
    let first = incarnation();
    server.sql("UPDATE gleaner.worker SET batch = batch + 100");
    s.cli(&["label", "--from", labels.to_str().unwrap()]).ok();
    s.until("it comes back and has done it", || {
        s.number("SELECT max(applied) FROM gleaner.worker") == s.number("SELECT n FROM gleaner.steering")
    });
    assert!(incarnation() > first, "its commit was refused");
    let after = s.number(counted);
    assert!(after < before, "{before} pages were relevant by the judge, {after} are");

    // Whoever takes the slot up again reads what is in the database, and finds nothing to revise.
    all_of(&s, &act(&d, "stop"), 1);
    stopped(worker);
    // What it cannot do is no reason not to join: it says so, as one that runs.
    server.sql(
        "UPDATE gleaner.steering SET n = n + 1, wanted = jsonb_set(wanted, '{settings,strategy}', \
                '\"no_such_option = 1\"')",
    );
    let worker = s.worker("w1");
    s.until("it is back", || s.alive() == 1);
    s.until("it says so", || s.number("SELECT count(*) FROM gleaner.effect WHERE failed") == 1);
    let said = server.sql("SELECT text FROM gleaner.effect WHERE failed");
    assert!(said.starts_with("while joining: ") && said.contains("no_such_option"), "{said}");
    all_of(&s, &act(&d, "pause"), 1);
    s.until("what was in flight arrives", || s.number("SELECT sum(in_flight) FROM gleaner.worker") == 0);
    let again = sent(&d, "PUT", &format!("/pages/{}/label", relevant[0]["id"]), json!({ "label": true }));
    assert_eq!(all_of(&s, &again, 1), 0, "{again}");
    all_of(&s, &act(&d, "stop"), 1);
    stopped(worker);
}

#[test]
fn a_role_that_may_only_look_changes_nothing_and_one_that_may_steer_needs_no_more() {
    let Some(server) = Server::start(false) else { return };
    let s = Scene::new(&server);
    let worker = s.worker("w1");
    s.under_way(1, 40);
    // As docs/scale.md says.
    for line in
        roles(&std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/scale.md")).unwrap())
    {
        server.sql(&line);
    }
    let d = s.dashboard_as("reader");
    assert!(d.json(C)["pages"].as_u64() >= Some(40));
    let text = refused(&d, "POST", "/control", json!({ "action": "pause" }), 409);
    assert!(text.contains("permission denied") && text.contains("may only look"), "{text}");
    assert_eq!(s.number("SELECT n FROM gleaner.steering"), 0);
    drop(d);

    let d = s.dashboard_as("helmsman");
    all_of(&s, &act(&d, "pause"), 1);
    let pages = d.json(&format!("{C}/pages?limit=1"));
    all_of(
        &s,
        &sent(&d, "PUT", &format!("/pages/{}/label", pages["pages"][0]["id"]), json!({ "label": true })),
        1,
    );
    all_of(
        &s,
        &sent(&d, "PUT", &format!("/pages/{}/label", pages["pages"][0]["id"]), json!({ "label": null })),
        1,
    );
    all_of(&s, &sent(&d, "POST", "/seeds", json!({ "urls": ["http://seed.steered.example/"] })), 1);
    all_of(&s, &sent(&d, "PATCH", "/settings", json!({ "limits": { "pages": 5000 } })), 1);
    all_of(&s, &act(&d, "resume"), 1);
    all_of(&s, &act(&d, "stop"), 1);
    stopped(worker);
    let denied = server.sql("SELECT has_table_privilege('helmsman', 'gleaner.page', 'UPDATE')");
    assert_eq!(denied, "f");

    // Tables of the version before are brought up to date by the next worker, with what is in them.
    server.sql(
        "DROP TABLE gleaner.steering, gleaner.command, gleaner.effect, gleaner.label;
         DROP TABLE gleaner.teacher, gleaner.answer, gleaner.lesson, gleaner.past, gleaner.removed;
         ALTER TABLE gleaner.page DROP COLUMN first;
         ALTER TABLE gleaner.worker DROP COLUMN applied; DROP INDEX gleaner.page_id; UPDATE gleaner.version SET version = 2",
    );
    s.cli(&["status"]).fails(1, &["version 2 of the tables", "brings them up to date"]);
    let before = s.pages();
    let worker = s.worker("w1");
    s.until("it goes on", || s.pages() > before + 10);
    let d = s.dashboard_as("reader");
    assert!(d.json(C)["pages"].as_u64() >= Some(before), "who could look can look at the new tables too");
    drop(d);
    let d = s.dashboard();
    all_of(&s, &act(&d, "stop"), 1);
    stopped(worker);
}

#[test]
fn in_the_browser_one_sees_what_was_asked_and_who_has_done_it() {
    let Some(mut b) = Browser::start() else { return };
    let Some(server) = Server::start(false) else { return };
    let s = Scene::new(&server);
    let workers = [s.worker("w1"), s.worker("w2")];
    s.under_way(2, 40);
    let d = s.dashboard();
    b.open(&d.url);
    b.wait("document.body.innerText.includes('demo')");
    b.eval("location.hash = '#/c/demo/overview'");
    b.wait("document.querySelector('#state')?.innerText === 'running'");
    b.wait("document.querySelectorAll('#workers .num').length === 2");
    b.click("#do-pause");
    b.wait("document.querySelector('#state')?.innerText === 'paused'");
    b.wait(
        "document.querySelector('#asked').innerText.includes('pause') && document.querySelector('#asked \
            .num').innerText === '2/2'",
    );
    let pictures = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("dashboard");
    std::fs::create_dir_all(&pictures).unwrap();
    b.picture(&pictures.join("shared.png"));
    b.click("#do-resume");
    b.wait("document.querySelector('#state')?.innerText === 'running'");
    b.click("#do-stop");
    b.wait("document.querySelector('#state')?.innerText === 'stopped'");
    b.wait("document.querySelector('#controls').innerText.includes('no worker is running')");
    assert!(b.eval("document.querySelector('#do-start')").is_null(), "nothing is started from here");
    workers.into_iter().for_each(stopped);
    assert!(b.complaints.is_empty(), "{:?}", b.complaints);
}

/// The statements of the document that make roles for those who look and those who steer.
fn roles(document: &str) -> Vec<String> {
    let lines = document
        .lines()
        .map(str::trim)
        .filter(|l| ["CREATE ROLE", "GRANT", "ALTER DEFAULT"].iter().any(|s| l.starts_with(s)));
    let wanted = lines.filter(|l| l.contains("reader") || l.contains("helmsman"));
    let all: Vec<String> = wanted.map(|l| l.split(" -- ").next().unwrap_or(l).to_string()).collect();
    assert!(all.len() >= 3, "{all:?}");
    all
}
