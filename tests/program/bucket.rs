//! A shared crawl whose pages go to S3-compatible storage: the real program, a real PostgreSQL, somebody
//! else's storage server that checks signatures and permissions.

use crate::common;
use crate::common::dashboard::Dashboard;
use crate::common::endurance::{self, topic, urls};
use crate::common::{DemoServer, Running, file, finish, folder, gleaner};
use crate::support::bucket::Storage;
use crate::support::line::Line;
use crate::support::postgres;
use crate::support::postgres::Server;
use madeup::read_log;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use store::{Records, SharedReader};

const TO: &str = "s3://crawls/demo";
const PAGES: usize = 300;

fn crawl(web: &DemoServer, topic: &Path, out: &Path) -> Command {
    endurance::crawl(web, topic, out, 40, 8)
}

fn worker(web: &DemoServer, topic: &Path, out: &Path, server: &Server, name: &str) -> Command {
    let mut command = crawl(web, topic, out);
    command.args(["--store", &server.url(), "--crawl", name, "--lease", "3s", "--archive", TO]);
    command
}

/// The demo's topic; objects are put more often than usual, because the whole crawl takes some seconds.
fn bucket_topic(dir: &Path, patience: &str) -> PathBuf {
    let text = format!("{}\n[archive]\nevery = \"700ms\"\npatience = \"{patience}\"\n", topic());
    file(dir, "topic.toml", &text)
}

fn pages(server: &Server, name: &str) -> u64 {
    if server.sql("SELECT to_regclass('gleaner.page') IS NOT NULL") != "t" {
        return 0;
    }
    let sql = format!(
        "SELECT count(*) FROM gleaner.page JOIN gleaner.crawl c USING (crawl) WHERE c.name = '{name}'"
    );
    server.sql(&sql).parse().unwrap()
}

fn until(what: &str, mut done: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    while !done() {
        assert!(Instant::now() < end, "{what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// What holds of a finished crawl: nothing is missing, and every page is in the bucket where the ledger says.
fn complete(server: &Server, storage: &Storage, name: &str, dir: &Path) -> Vec<PathBuf> {
    let reader = SharedReader::open(&server.url(), Some(name)).unwrap();
    reader.check().unwrap_or_else(|p| panic!("{p}"));
    assert_eq!(reader.stats().unwrap().pending, 0, "crawled to the end");
    let recorded = reader.pages(0).count();

    // Read on a machine that has nothing but the two addresses.
    let cache = dir.join(format!("cache-{name}"));
    let read = |args: &[&str]| {
        let mut command = gleaner();
        command.args(args).args(["--store", &server.url(), "--crawl", name]).env("XDG_CACHE_HOME", &cache);
        finish(storage.environment(&mut command))
    };
    let listed = dir.join(format!("{name}.jsonl"));
    read(&["export", "--all", "-o", listed.to_str().unwrap()]).ok();
    // What asks not to be indexed is in the ledger but not exported.
    let checked = storage.check(&listed);
    assert!(checked > 200 && checked <= recorded && checked + 20 > recorded, "{checked} of {recorded}");
    let subset = dir.join(format!("{name}.warc.gz"));
    read(&["export", "--all", "--format", "warc", "-o", subset.to_str().unwrap()]).ok();
    let said = storage.check_warcs(std::slice::from_ref(&subset));
    // Markdown is made of the bytes in the bucket.
    let ran = read(&["export", "--format", "markdown"]);
    assert!(ran.ok().out.contains("\n## ") && ran.out.contains("\n- "), "it has headings and lists");
    assert!(said.contains(&format!("{checked} metadata")), "{checked} pages; {said}");

    // Every object is a WARC file of its own.
    let objects = dir.join(format!("objects-{name}"));
    std::fs::create_dir_all(&objects).unwrap();
    storage.fetch(&objects);
    let mut files: Vec<PathBuf> = std::fs::read_dir(&objects).unwrap().map(|e| e.unwrap().path()).collect();
    files.sort();
    storage.check_warcs(&files);
    files
}

#[test]
fn two_workers_one_killed_and_every_page_is_in_the_bucket() {
    let (Some(server), Some(storage)) = (Server::start(false), Storage::start()) else { return };
    let dir = folder();
    let calm_web = DemoServer::start(&dir.path().join("calm.log"), Some(PAGES));
    let plain = file(dir.path(), "plain.toml", &topic());
    let calm = Running::start(&mut crawl(&calm_web, &plain, &dir.path().join("calm")));

    let topic = bucket_topic(dir.path(), "30s");
    let web = DemoServer::start(&dir.path().join("web.log"), Some(PAGES));
    let out = |n: usize| dir.path().join(format!("w{n}"));
    let start = |n: usize| {
        let mut command = worker(&web, &topic, &out(n), &server, "demo");
        // Who asked is in the server's log.
        command.args(["--user-agent", &format!("Gleaner/w{n}")]);
        Running::start(storage.environment(&mut command))
    };
    let (one, two) = (start(1), start(2));
    until("the crawl does not get going", || pages(&server, "demo") > 60);
    one.signal("KILL");
    let blow = endurance::now_ms();
    let killed = one.wait();
    assert_eq!(killed.code, None, "it was still at work: {killed}");
    let at_kill = pages(&server, "demo");
    let one = start(1);
    let ended = [one.wait(), two.wait()];
    for ran in &ended {
        ran.ok();
    }
    let files = complete(&server, &storage, "demo", dir.path());
    let total = pages(&server, "demo");
    println!("{} objects for {total} pages; killed after {at_kill}", files.len());
    assert!((files.len() as u64) * 3 < total, "{} objects for {total} pages", files.len());
    for n in [1, 2] {
        assert!(common::warcs(&out(n)).is_empty(), "a worker keeps no archive of its own");
    }
    // Pages of the last second are fetched again, and no host is contacted early for that.
    let log = read_log(&web.log).unwrap_or_else(|p| panic!("{p}"));
    endurance::polite(&log, 40, |a, _| {
        let hit = a.agent.contains("w1") && (a.arrived..=a.finished).contains(&blow);
        if hit { a.arrived.min(blow) } else { a.finished }
    });
    // The same pages as without all that. (A worker knows copies of its own pages only.)
    calm.wait().ok();
    let wanted = urls(&common::run(["export", "--copies", dir.path().join("calm").to_str().unwrap()]));
    let found = urls(&common::run(["export", "--copies", "--store", &server.url(), "--crawl", "demo"]));
    assert!(wanted.len() > 10, "{}", wanted.len());
    assert_eq!(wanted, found);

    // One page, in the browser and on the command line.
    let mut serve = gleaner();
    serve.args(["serve", "--store", &server.url(), "--crawl", "demo", "--listen", "127.0.0.1:0"]);
    let d = Dashboard::run(storage.environment(&mut serve).env("XDG_CACHE_HOME", dir.path().join("other")));
    let list = d.json("/api/v1/collections/demo/pages?relevant=true&limit=5");
    let id = list["pages"][0]["id"].as_u64().unwrap();
    let record = d.get(&format!("/api/v1/collections/demo/pages/{id}/warc"));
    assert_eq!((record.status, &record.body[..2]), (200, &[0x1f, 0x8b][..]), "{}", record.text());
    let mut explain = gleaner();
    explain.args(["explain", list["pages"][0]["url"].as_str().unwrap(), "--store", &server.url()]);
    finish(explain.args(["--crawl", "demo"])).ok().shows(&["archived in s3://crawls/demo/gleaner-"]);

    // The secret went nowhere.
    let secret = &storage.writer.1;
    for ran in ended.iter().chain([&killed]) {
        assert!(!ran.out.contains(secret) && !ran.err.contains(secret), "a secret is shown");
    }
    let dumped = server.sql(
        "SELECT string_agg(topic, ' ') FROM gleaner.crawl UNION ALL
         SELECT string_agg(encode(bytes, 'escape'), ' ') FROM gleaner.state",
    );
    assert!(dumped.contains("[archive]") && !dumped.contains(secret.as_str()), "a secret is in the database");
    for n in [1, 2] {
        let grep = Command::new("grep").args(["-rqF", secret]).arg(out(n)).status().unwrap();
        assert_eq!(grep.code(), Some(1), "a secret is in a worker's folder");
    }
}

#[test]
fn what_is_wrong_with_a_bucket_is_said() {
    let (Some(server), Some(storage)) = (postgres::server(), Storage::start()) else { return };
    let dir = folder();
    let topic = bucket_topic(dir.path(), "2s");
    let web = DemoServer::start(&dir.path().join("web.log"), Some(60));
    let out = dir.path().join("w");
    let begin = |to: &str| {
        let mut command = crawl(&web, &topic, &out);
        command.args(["--store", &server.url(), "--crawl", "wrong", "--lease", "2s", "--archive", to]);
        command
    };
    let none = finish(storage.environment(&mut begin("s3://nothing-here/x")));
    none.fails(
        1,
        &["cannot reach s3://nothing-here/x at http://127.0.0.1:", "NoSuchBucket", "hint: make the bucket"],
    );
    let mut stranger = begin(TO);
    let id = ("AKIAUNKNOWN".to_string(), "unknown".to_string());
    finish(storage.environment_at(&mut stranger, storage.port, &id))
        .fails(1, &["cannot reach s3://crawls/demo", "InvalidAccessKeyId", "hint: check AWS_ACCESS_KEY_ID"]);
    let mut forger = begin(TO);
    let id = (storage.writer.0.clone(), "not the secret".to_string());
    finish(storage.environment_at(&mut forger, storage.port, &id))
        .fails(1, &["SignatureDoesNotMatch", "AWS_SECRET_ACCESS_KEY"]);
    finish(storage.environment_at(&mut begin(TO), storage.port, &storage.reader)).fails(
        1,
        &["cannot write to s3://crawls/demo", "AccessDenied", "hint: these credentials may not", "PutObject"],
    );
    let began = Instant::now();
    finish(storage.environment_at(&mut begin(TO), 1, &storage.writer)).fails(
        1,
        &["cannot reach s3://crawls/demo at http://127.0.0.1:1", "refused", "nothing committed is lost"],
    );
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    let mut nobody = begin(TO);
    finish(nobody.env_remove("AWS_ACCESS_KEY_ID").env_remove("AWS_SECRET_ACCESS_KEY"))
        .fails(2, &["AWS_ACCESS_KEY_ID is not set", "hint"]);
    finish(storage.environment(&mut begin("s3://id:secret@crawls/x"))).fails(2, &["s3://BUCKET/PREFIX"]);
    finish(storage.environment(crawl(&web, &topic, &out).args(["--archive", TO])))
        .fails(2, &["only a crawl in a shared database", "--store"]);
    assert_eq!(pages(server, "wrong"), 0, "nothing is committed that is not in the bucket");

    // Nothing of all that is in the way afterwards, and a limit holds although pages are committed late.
    finish(storage.environment(begin(TO).args(["--pages", "40"]))).ok();
    let n = pages(server, "wrong");
    assert!((40..=48).contains(&n), "{n} pages");
}

#[test]
fn the_storage_goes_away_and_comes_back() {
    let (Some(server), Some(storage)) = (Server::start(false), Storage::start()) else { return };
    let dir = folder();
    let web = DemoServer::start(&dir.path().join("web.log"), Some(PAGES));
    let line = Line::to(storage.port);
    let start = |topic: &Path| {
        let mut command = worker(&web, topic, &dir.path().join("w"), &server, "demo");
        Running::start(storage.environment_at(&mut command, line.port, &storage.writer))
    };
    // Away for a while: the crawl waits.
    let patient = bucket_topic(dir.path(), "60s");
    let crawling = start(&patient);
    until("the crawl does not get going", || pages(&server, "demo") > 40);
    line.cut();
    // What is under way may still be committed; then nothing is.
    std::thread::sleep(Duration::from_millis(1_500));
    let before = pages(&server, "demo");
    std::thread::sleep(Duration::from_millis(2_500));
    assert_eq!(pages(&server, "demo"), before, "nothing is committed that is not in the bucket");
    line.mend();
    until("it does not go on", || pages(&server, "demo") > before + 20);
    // It answers nothing for a while, but takes connections.
    storage.signal("STOP");
    std::thread::sleep(Duration::from_secs(3));
    storage.signal("CONT");
    let stuck = pages(&server, "demo");
    until("it does not go on", || pages(&server, "demo") > stuck + 20);

    // Away for longer than the crawl's patience: it ends with a word, and goes on from there another time.
    crawling.signal("INT");
    assert_eq!(crawling.wait().code, Some(3), "stopped in order");
    let hasty = bucket_topic(dir.path(), "2s");
    let crawling = start(&hasty);
    let before = pages(&server, "demo");
    until("the crawl does not get going", || pages(&server, "demo") > before + 10);
    line.cut();
    let began = Instant::now();
    crawling
        .wait()
        .fails(1, &["cannot write to s3://crawls/demo at http://127.0.0.1:", "nothing committed is lost"]);
    assert!(began.elapsed() < Duration::from_secs(25), "{:?}", began.elapsed());
    line.mend();
    start(&hasty).wait().ok();
    complete(&server, &storage, "demo", dir.path());
}
