//! A shared crawl that lives: its pages are visited again by one worker or several, watched, corrected, and
//! told of.

use super::living::{AFTER, BEFORE, TOPIC, forty, lines, visits};
use super::notices::{PATIENCE, SECRET, receiver};
use crate::common::{self, Ran, Running, crawl, file, finish, folder, gleaner, serve};
use crate::support::postgres::{self, Server};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;
use store::{Records, SharedReader};
use types::Canon;

/// A crawl of its own in the database of all tests.
struct Crawl {
    dir: tempfile::TempDir,
    server: &'static Server,
    name: &'static str,
}

impl Crawl {
    fn new(name: &'static str) -> Option<Crawl> {
        Some(Crawl { server: postgres::server()?, dir: folder(), name })
    }

    fn out(&self, worker: &str) -> PathBuf {
        self.dir.path().join(worker)
    }

    fn on(&self, command: &str, args: &[&str]) -> Command {
        let mut c = gleaner();
        c.env("NO_COLOR", "1")
            .env("XDG_CACHE_HOME", self.out("cache"))
            .env("XDG_STATE_HOME", self.out("state"));
        c.arg(command).args(args).args(["--store", &self.server.url(), "--crawl", self.name]);
        c
    }

    fn read(&self, command: &str, args: &[&str]) -> Ran {
        finish(&mut self.on(command, args))
    }

    fn json(&self, command: &str, args: &[&str]) -> Value {
        let ran = self.read(command, &[args, &["--json"]].concat());
        serde_json::from_str(&ran.ok().out).unwrap_or_else(|e| panic!("{e}: {ran}"))
    }

    fn crawled(&self, topic: &str, web: &madeup::Server) {
        let topic = file(self.dir.path(), "t.toml", topic);
        let mut c = crawl(web, &topic, &self.out("w1"));
        finish(c.args(["--seed", "http://a.example/", "--store", &self.server.url(), "--crawl", self.name]))
            .ok();
        // The next worker is another one, with a slot of its own: it knows of no page.
        self.server.sql(&format!(
            "INSERT INTO gleaner.worker (crawl, slot, incarnation, name, expires)
             SELECT crawl, 7, -nextval('gleaner.incarnation'), 'w2', '-infinity' FROM gleaner.crawl
             WHERE name = '{}'",
            self.name
        ));
        std::fs::create_dir_all(self.out("w2")).unwrap();
        std::fs::write(self.out("w2").join("worker"), "w2").unwrap();
    }

    fn refresh(&self, web: &madeup::Server, worker: &str, args: &[&str]) -> Command {
        let out = self.out(worker);
        let mut c = self.on("refresh", &[out.to_str().unwrap(), "--confirm", "50ms", "--allow-private"]);
        c.args(["--resolve", &web.resolve()]).args(args);
        c
    }

    fn reader(&self) -> SharedReader {
        SharedReader::open(&self.server.url(), Some(self.name)).unwrap_or_else(|p| panic!("{p}"))
    }

    /// Texts of a page's versions, the newest first.
    fn versions(&self, url: &str) -> Vec<String> {
        let reader = self.reader();
        let id = reader.find(&Canon::exact().parse(url).unwrap()).unwrap().unwrap();
        reader.versions(id).unwrap().into_iter().map(|v| v.text).collect()
    }

    fn sound(&self) {
        self.read("check", &[]).ok().shows(&["nothing is wrong"]);
    }
}

fn kinds(changes: &Value) -> Vec<String> {
    let one = |c: &Value| {
        let path = c["url"].as_str().unwrap().replace("http://a.example", "");
        format!("{} {path}", c["kind"].as_str().unwrap())
    };
    let mut all: Vec<String> = changes["changes"].as_array().unwrap().iter().map(one).collect();
    all.sort();
    all
}

fn revisits(out: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for path in common::warcs(out) {
        let bytes = std::fs::read(&path).unwrap();
        let limits = store::archive::Limits::default();
        for record in store::archive::WarcReader::new(bytes.as_slice(), "x".to_string(), limits).unwrap() {
            let record = record.unwrap_or_else(|e| panic!("{e}"));
            if record.kind() == "revisit" {
                found.push(record.target().unwrap_or_default().to_string());
            }
        }
    }
    found.sort();
    found
}

#[test]
fn pages_that_others_fetched_are_visited_again_and_every_version_is_kept() {
    let Some(crawl) = Crawl::new("again") else { return };
    crawl.crawled(TOPIC, &serve(BEFORE));
    // A moment between the crawl and the refresh.
    std::thread::sleep(std::time::Duration::from_millis(5));
    let between = store::archive::rfc3339(types::Millis::now());
    // An index of the pages as they were.
    let search = |words: &str| crawl.read("search", &[words, "--json"]).ok().out.clone();
    assert!(search("exam").contains("3 May"));
    let web = serve(AFTER);
    let found = visits(&finish(&mut crawl.refresh(&web, "w2", &["--json", "--new", "5"])));
    let of = |path: &str| found[path]["found"].as_str().unwrap();
    assert_eq!(
        ["/", "/same", "/plain", "/clock", "/news", "/old", "/moved"].map(of),
        ["not-modified", "not-modified", "same-payload", "same-text", "changed", "gone", "moved"]
    );
    assert_eq!(found["/news"]["relevant"], true, "{}", found["/news"]);
    // Two versions of what is another, the newest in front; search, export and --at know which.
    let news = crawl.versions("http://a.example/news");
    assert_eq!(news.len(), 2);
    assert!(news[0].contains("5 May") && news[1].contains("3 May"), "{news:?}");
    assert_eq!(crawl.versions("http://a.example/same").len(), 1);
    assert!(search("exam").contains("5 May") && !search("exam").contains("3 May"));
    assert!(!search("goes away").contains("/old") && search("moved here").contains("/new-home"));
    let export =
        |args: &[&str]| crawl.read("export", &[args, &["--format", "jsonl"]].concat()).ok().out.clone();
    assert!(export(&[]).contains("5 May") && !export(&[]).contains("/old"));
    let then = export(&["--at", &between]);
    assert!(then.contains("3 May") && !then.contains("5 May") && !then.contains("/fresh"), "{then}");
    assert_eq!(crawl.json("status", &[])["pages"], 9, "a version is no page");
    assert_eq!(
        kinds(&crawl.json("changes", &["--since", &between])),
        ["changed /news", "gone /old", "moved /moved", "new /fresh", "new /new-home"]
    );
    let told = crawl.read("changes", &["--since", &between]);
    told.ok().shows(&["- The exam is on 3 May.", "+ The exam is on 5 May."]);
    // What is as it was is a revisit record in this worker's archive.
    let same = ["http://a.example/", "http://a.example/plain", "http://a.example/same"];
    assert_eq!(revisits(&crawl.out("w2")), same);
    crawl.sound();
    // Again, by the first worker: it learns what the other found, and nothing is asked for that is gone.
    let again = visits(&finish(&mut crawl.refresh(&web, "w1", &["--json"])));
    assert_eq!(again.len(), 7, "{again:#?}");
    assert_eq!(
        (&again["/news"]["found"], &again["/new-home"]["found"]),
        (&json!("not-modified"), &json!("same-payload"))
    );
    // A change of its own is one more version.
    let third = AFTER.replace("news-2", "news-3").replace("5 May", "7 June");
    finish(&mut crawl.refresh(&serve(&third), "w1", &["--json"])).ok();
    let news = crawl.versions("http://a.example/news");
    assert_eq!(news.len(), 3);
    assert!(news[0].contains("7 June") && news[2].contains("3 May"), "{news:?}");
    assert!(search("exam").contains("7 June"));
    assert_eq!(crawl.json("status", &[])["pages"], 9);
    crawl.sound();
}

#[test]
fn a_refresh_of_a_shared_crawl_that_is_killed_goes_on() {
    let Some(crawl) = Crawl::new("killed") else { return };
    let web = forty(1);
    let server = web.serve();
    crawl.crawled(TOPIC, &server);
    assert_eq!(crawl.json("status", &[])["pages"], 41);
    for (path, reply) in forty(2).0.lock().unwrap().iter() {
        web.0.lock().unwrap().insert(path.clone(), reply.clone());
    }
    let start =
        || Running::start(&mut crawl.refresh(&server, "w2", &["--json", "--delay", "5ms", "--lease", "2s"]));
    let mut rng = common::Rng(11);
    let kills = if common::long() { 200 } else { 3 };
    for _ in 0..kills {
        let running = start();
        std::thread::sleep(std::time::Duration::from_millis(rng.between(100, 900)));
        running.signal("KILL");
        running.wait();
        assert_eq!(crawl.json("status", &[])["pages"], 41, "nothing that was known is lost");
        crawl.sound();
    }
    start().wait().ok();
    for n in 0..40 {
        let versions = crawl.versions(&format!("http://a.example/p{n}"));
        assert_eq!(versions.len(), 2, "/p{n}: {versions:?}");
        assert!(versions[0].contains(" 2.") && versions[1].contains(" 1."), "/p{n}: {versions:?}");
    }
    // Each change is told once, however often it was killed.
    let told = crawl.json("changes", &["--all"]);
    assert!(told["changes"].as_array().unwrap().iter().all(|c| c["times"].as_u64() <= Some(1)), "{told:#}");
    crawl.sound();
}

#[test]
fn a_shared_crawl_is_watched_beside_a_worker_that_crawls() {
    let Some(crawl) = Crawl::new("watched") else { return };
    crawl.crawled(TOPIC, &serve(BEFORE));
    let web = serve(AFTER);
    let out = crawl.out("w2");
    let rounds = |rounds: &str| {
        let args = ["--out", out.to_str().unwrap(), "--every", "1s", "--rounds", rounds, "--pages", "20"];
        let mut c = crawl.on("watch", &args);
        c.args(["--json", "--confirm", "50ms", "--allow-private", "--resolve", &web.resolve()]);
        let ran = finish(&mut c);
        let ended: Vec<Value> = lines(&ran).into_iter().filter(|e| e["event"] == "round-ended").collect();
        ended
    };
    let first = rounds("2");
    assert_eq!(first.len(), 2, "{first:#?}");
    let round = &first[0]["round"];
    let counts = ["changed", "gone", "moved", "not_modified"].map(|what| round[what].as_u64().unwrap());
    assert_eq!(counts, [1, 1, 1, 2], "{round:#}");
    assert_eq!((&round["number"], &first[1]["round"]["number"]), (&json!(1), &json!(2)));
    let status = crawl.json("status", &[]);
    assert_eq!((&status["pages"], &status["watch"]["last"]["number"]), (&json!(9), &json!(2)), "{status:#}");
    // Another worker has the hosts: what is there is visited by whoever has it, and nothing breaks.
    let slow = format!("{AFTER}== http://a.example/slow !delay=3000ms\n<title>Slow</title>a slow syllabus\n");
    let slow = serve(&slow);
    let topic = crawl.dir.path().join("t.toml");
    let mut other = common::crawl(&slow, &topic, &crawl.out("w1"));
    other.args(["--seed", "http://a.example/slow", "--store", &crawl.server.url(), "--crawl", crawl.name]);
    let other = Running::start(&mut other);
    common::until("the other worker is there", || !crawl.reader().workers().unwrap().is_empty());
    let beside = finish(&mut crawl.refresh(&web, "w2", &["--json"]));
    assert!(matches!(beside.code, Some(0 | 4)), "{beside}");
    other.wait().ok();
    assert_eq!(crawl.json("status", &[])["pages"], 10);
    crawl.sound();
}

/// In the text of one page only.
const WORDS: &str = "marmalade elephants";

#[test]
fn what_is_removed_from_a_shared_crawl_is_in_no_table_and_no_archive_file_and_never_comes_back() {
    let Some(crawl) = Crawl::new("corrected") else { return };
    let page = "http://a.example/secret";
    let web = format!(
        "== http://a.example/\n<title>Start</title>a syllabus <a href='/secret'>to it</a>\n<a href='/other'>other</a>\n\
         == {page}\n<title>A secret</title>a syllabus of {WORDS} <a href='/behind'>{WORDS}</a>\n\
         == http://a.example/other\n<title>Other</title>another syllabus\n\
         == http://a.example/behind\n<title>Behind</title>a syllabus behind it\n"
    );
    let server = serve(&web);
    crawl.crawled(TOPIC, &server);
    // With a second version, fetched by another worker.
    let newer = web.replace("A secret", "A newer secret").replace("of marmalade", "of more marmalade");
    let newer = serve(&newer);
    finish(&mut crawl.refresh(&newer, "w2", &["--json"])).ok();
    assert_eq!(crawl.versions(page).len(), 2);
    assert_eq!(crawl.json("status", &[])["pages"], 4);
    let warcs: Vec<PathBuf> = ["w1", "w2"].map(|w| crawl.out(w).join("warc")).to_vec();
    let folders: Vec<&str> = warcs.iter().flat_map(|w| ["--warc", w.to_str().unwrap()]).collect();
    let remove = |args: &[&str]| crawl.read("remove", &[&folders[..], args].concat());
    crawl.read("search", &["elephants", "--json"]).ok().shows(&["secret"]);
    remove(&["http://a.example/nothing", "--because", "x"]).fails(4, &["no URL of corrected"]);
    remove(&[page]).fails(2, &["--because"]);
    // Without the folders it says which places hold it, and changes nothing.
    let would = crawl.read("remove", &[page, "--dry-run"]);
    would.ok().shows(&["would go: 1 page (2 versions", "2 answers of it in archive files", ".warc.gz"]);
    remove(&[page, "--dry-run"]).ok().shows(&["would go: 1 page (2 versions, 2 archived answers)"]);
    assert_eq!(crawl.versions(page).len(), 2);
    // Not while a worker runs.
    let slow = serve("== http://a.example/slow !delay=4000ms\n<title>Slow</title>slow\n");
    let topic = crawl.dir.path().join("t.toml");
    let mut other = common::crawl(&slow, &topic, &crawl.out("w1"));
    other.args(["--seed", "http://a.example/slow", "--store", &crawl.server.url(), "--crawl", crawl.name]);
    let other = Running::start(&mut other);
    common::until("the worker is there", || !crawl.reader().workers().unwrap().is_empty());
    remove(&[page, "--because", "x"]).fails(1, &["workers of `corrected` are running"]);
    other.wait().ok();

    let gone = remove(&[page, "--because", "its author asked", "--by", "Ada"]);
    gone.ok().shows(&["gone: 1 page (2 versions, 2 archived answers)", "VACUUM FULL"]);
    crawl.sound();
    let list = crawl.read("remove", &["--list"]);
    list.ok().shows(&[page, "by Ada, because: its author asked"]);
    crawl.read("explain", &[page]).ok().shows(&["because: its author asked"]);
    assert_eq!(crawl.read("search", &["elephants", "--json"]).out.trim(), "");
    // Whatever a table says: every row of every table, as text; and every byte of the archives.
    let tables = crawl.server.sql(
        "SELECT relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
                                   WHERE nspname = 'gleaner' AND relkind = 'r' ORDER BY 1",
    );
    for table in tables.lines() {
        for word in ["marmalade", "A newer secret"] {
            let hex: String = word.bytes().map(|b| format!("{b:02x}")).collect();
            let n = crawl.server.sql(&format!(
                "SELECT count(*) FROM gleaner.{table} t
                 WHERE t::text LIKE '%{word}%' OR t::text LIKE '%{hex}%'"
            ));
            assert_eq!(n, "0", "{table} has “{word}”");
        }
    }
    for file in warcs.iter().flat_map(|dir| std::fs::read_dir(dir).unwrap()) {
        let path = file.unwrap().path();
        assert!(path.is_file(), "{}", path.display());
        let mut text = Vec::new();
        let bytes = std::fs::read(&path).unwrap();
        std::io::Read::read_to_end(&mut flate2::read::MultiGzDecoder::new(&bytes[..]), &mut text).unwrap();
        assert!(!String::from_utf8_lossy(&text).contains("marmalade"), "{}", path.display());
    }
    // The rest is whole: every page's place in the archives is its own.
    let reader = crawl.reader();
    for page in reader.pages(0) {
        let at = page.unwrap().0.archive.unwrap();
        let path = warcs.iter().map(|dir| dir.join(&at.file)).find(|p| p.is_file()).expect("its file");
        store::archive::read_at(&path, at.offset, store::archive::Limits::default()).unwrap();
    }
    // It never comes back: not by a link, not as a seed.
    let asked = || newer.log().entries().iter().filter(|e| e.path == "/secret").count();
    let before = asked();
    let mut more = common::crawl(&newer, &topic, &crawl.out("w1"));
    more.args(["--seed", page, "--store", &crawl.server.url(), "--crawl", crawl.name]);
    finish(&mut more).ok();
    finish(&mut crawl.refresh(&newer, "w2", &["--json"])).ok();
    assert_eq!(asked(), before);
    remove(&[page, "--because", "again"]).fails(4, &["was removed at"]);
    crawl.sound();
}

#[test]
fn others_are_told_what_is_new_in_a_shared_crawl() {
    let Some(crawl) = Crawl::new("told") else { return };
    let (url, got) = receiver(&["204 thanks"]);
    crawl.crawled(&format!("{TOPIC}[notify]\nwebhook = \"{url}\"\npause = '10ms'\n"), &serve(BEFORE));
    let tell = || finish(crawl.on("changes", &["--notify"]).env("GLEANER_WEBHOOK_SECRET", SECRET));
    tell().ok().shows(&["7 changes since", "1 letter delivered, 0 not"]);
    got.recv_timeout(PATIENCE).unwrap();
    tell().ok().shows(&["0 changes since"]);
    finish(&mut crawl.refresh(&serve(AFTER), "w2", &["--json"])).ok();
    tell().ok().shows(&["4 changes since", "1 letter delivered"]);
    let letter: Value = serde_json::from_str(&got.recv_timeout(PATIENCE).unwrap().body).unwrap();
    assert_eq!(
        (&letter["counts"]["changed"], &letter["counts"]["gone"]),
        (&json!(1), &json!(1)),
        "{letter:#}"
    );
    crawl.read("changes", &["--undelivered"]).ok().shows(&["everything was delivered"]);
}
