//! Collections that live: what failed and is asked for again, pages that are visited again. Real servers on
//! loopback that answer otherwise between two runs.

use crate::common::dashboard::Dashboard;
use crate::common::{Ran, Running, crawl, file, finish, folder, gleaner, serve, until};
use crate::support::postgres;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

pub const TOPIC: &str =
    "name = \"Courses\"\nquery = \"syllabus\"\n[fetch]\ndelay = '0s'\nattempts = 2\nsitemaps = false\n";

pub fn lines(ran: &Ran) -> Vec<Value> {
    ran.ok().out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn errors(out: &Path, args: &[&str]) -> Ran {
    finish(gleaner().env("NO_COLOR", "1").arg("errors").arg(out).args(args))
}

/// A start page whose links fail in different ways.
fn failing() -> String {
    let links: String = ["gone", "sick", "private/x", "fine", "strange"]
        .map(|path| format!("<a href='/{path}'>to {path}</a> "))
        .concat();
    format!(
        "== http://a.example/\n<title>Start</title>{links} <a href='http://dead.example/'>dead</a>\n\
         == http://a.example/gone 410\nno more\n\
         == http://a.example/sick 500\nsick\n\
         == http://a.example/fine\n<title>Fine</title>a syllabus\n\
         == http://a.example/strange 301 location: http://a.example/strange\n\
         == http://a.example/robots.txt\nUser-agent: *\nDisallow: /private\n\
         == http://dead.example/ !drop\n"
    )
}

fn failed(dir: &Path) -> PathBuf {
    let (topic, out) = (file(dir, "t.toml", TOPIC), dir.join("out"));
    let server = serve(&failing());
    finish(crawl(&server, &topic, &out).args(["--seed", "http://a.example/", "--time", "20s"])).ok();
    out
}

#[test]
fn errors_say_what_failed_why_when_how_often_and_where_the_link_stands() {
    let dir = folder();
    let before = types::Millis::now().0;
    let out = failed(dir.path());
    let all = lines(&errors(&out, &["--json"]));
    let of = |url: &str| all.iter().find(|m| m["url"] == url).unwrap_or_else(|| panic!("{url}: {all:#?}"));
    assert_eq!(all.len(), 5, "{all:#?}");
    let gone = of("http://a.example/gone");
    assert_eq!(
        (&gone["kind"], &gone["error"], &gone["attempts"]),
        (&json!("http-error"), &json!("http-410"), &json!(1))
    );
    assert_eq!((&gone["parent"], &gone["anchor"]), (&json!("http://a.example/"), &json!("to gone")));
    for miss in &all {
        let at = miss["at"].as_u64().unwrap_or_else(|| panic!("{miss}"));
        assert!((before..=types::Millis::now().0).contains(&at), "{miss}");
    }
    let sick = of("http://a.example/sick");
    assert_eq!((&sick["error"], &sick["attempts"]), (&json!("http-500"), &json!(2)), "it was tried twice");
    assert!(sick["since"].as_u64() < sick["at"].as_u64(), "{sick}");
    assert_eq!(of("http://a.example/private/x")["kind"], "robots-denied");
    assert_eq!(of("http://a.example/strange")["error"], "redirect-loop");
    assert_eq!(of("http://dead.example/")["kind"], "unreachable");
    // For people.
    let shown = errors(&out, &[]);
    shown.ok().shows(&[
        "http-410",
        "1 URL on 1 host",
        "http://a.example/gone",
        "link “to gone” on http://a.example/",
        "2 tries",
        "UTC",
    ]);
    // Filters: an outcome, a word of a try, a host, and what there is not.
    let urls = |args: &[&str]| {
        lines(&errors(&out, args)).iter().map(|m| m["url"].as_str().unwrap().to_string()).collect::<Vec<_>>()
    };
    assert_eq!(urls(&["--json", "--kind", "http-error"]).len(), 3);
    assert_eq!(urls(&["--json", "--kind", "http-410"]), ["http://a.example/gone"]);
    assert_eq!(urls(&["--json", "--host", "dead.example"]), ["http://dead.example/"]);
    assert_eq!(urls(&["--json", "--host", "example"]).len(), 5, "hosts below it");
    assert_eq!(urls(&["--json", "--limit", "2", "--offset", "1"]).len(), 2);
    errors(&out, &["--kind", "nonsense"]).ok().shows(&["no such URL failed"]);
    errors(&dir.path().join("nowhere"), &[]).fails(2, &["is not a collection"]);
    errors(&out, &["--retry", "--limit", "1"]).fails(2, &["cannot be used with"]);
}

#[test]
fn exactly_these_are_asked_again_by_the_next_crawl_and_by_one_that_runs() {
    let dir = folder();
    let out = failed(dir.path());
    let topic = dir.path().join("t.toml");
    // Stopped: the next crawl asks for one kind and nothing else.
    errors(&out, &["--kind", "http-410", "--retry"])
        .ok()
        .shows(&["1 URL is asked for again", "gleaner crawl --out"]);
    let better = failing().replace("/gone 410\nno more", "/gone\n<title>Back</title>a syllabus again");
    let server = serve(&better);
    finish(&mut crawl(&server, &topic, &out)).ok();
    let asked: Vec<String> = server.log().entries().iter().map(|e| format!("{}{}", e.host, e.path)).collect();
    assert_eq!(asked.iter().filter(|p| !p.ends_with("/robots.txt")).collect::<Vec<_>>(), ["a.example/gone"]);
    let left = lines(&errors(&out, &["--json"]));
    assert!(left.iter().all(|m| m["url"] != "http://a.example/gone"), "{left:#?}");
    // It has all its tries again, and where the link stands is still known.
    errors(&out, &["--kind", "http-500", "--retry", "--json"])
        .ok()
        .shows(&["\"changed\":1", "\"running\":false"]);
    finish(&mut crawl(&server, &topic, &out)).ok();
    let sick = lines(&errors(&out, &["--kind", "http-500", "--json"])).remove(0);
    assert_eq!((&sick["attempts"], &sick["anchor"]), (&json!(4), &json!("to sick")), "{sick}");
    errors(&out, &["--kind", "fetched", "--retry"]).ok().shows(&["none of these URLs ended without a page"]);

    // Running: through its inbox, at once.
    let slow = format!("{better}== http://a.example/slow !delay=4000ms\n<title>Slow</title>slow\n")
        .replace("/sick 500\nsick", "/sick\n<title>Well</title>a syllabus");
    let server = serve(&slow);
    let running = Running::start(crawl(&server, &topic, &out).args(["--seed", "http://a.example/slow"]));
    until("the slow page is asked for", || store::ledger::is_locked(&out));
    errors(&out, &["--kind", "http-500", "--retry", "--json"])
        .ok()
        .shows(&["\"changed\":1", "\"running\":true"]);
    running.wait().ok();
    assert!(server.log().entries().iter().any(|e| e.path == "/sick" && e.status == 200));
    assert!(lines(&errors(&out, &["--kind", "http-500", "--json"])).is_empty());
}

#[test]
fn the_dashboard_shows_when_and_asks_again() {
    let dir = folder();
    let out = failed(dir.path());
    let dashboard = Dashboard::start(&out, &[]);
    let list = "/api/v1/collections/out/errors";
    let shown = dashboard.json(&format!("{list}?kind=http-410"));
    assert!(shown["misses"][0]["at"].as_u64().is_some(), "{shown}");
    assert_eq!(dashboard.json(&format!("{list}?host=dead.example"))["misses"].as_array().unwrap().len(), 1);
    let id = shown["misses"][0]["id"].clone();
    let done = dashboard.send("POST", &format!("{list}/retry"), &json!({ "ids": [id] }));
    assert_eq!((done.status, &done.json()["changed"]), (200, &json!(1)), "{}", done.text());
    let done = dashboard.send("POST", &format!("{list}/retry"), &json!({ "kind": "http-500" }));
    assert_eq!(done.json()["changed"], 1, "{}", done.text());
    assert_eq!(dashboard.json(&format!("{list}?kind=http-410"))["misses"].as_array().unwrap().len(), 0);
    assert_eq!(dashboard.send("POST", &format!("{list}/retry"), &json!({ "ids": [4_000_000] })).status, 404);
    assert_eq!(dashboard.send("POST", &format!("{list}/retry"), &json!({ "idz": [1] })).status, 400);
}

#[test]
fn errors_of_a_shared_crawl_are_those_of_all_its_workers() {
    let Some(server) = postgres::server() else { return };
    let database = server.url();
    let dir = folder();
    let topic = file(dir.path(), "t.toml", TOPIC);
    let web = serve(&failing());
    let mut command = crawl(&web, &topic, &dir.path().join("w"));
    finish(command.args([
        "--seed",
        "http://a.example/",
        "--time",
        "20s",
        "--store",
        &database,
        "--crawl",
        "errors",
    ]))
    .ok();
    let read = |args: &[&str]| {
        finish(gleaner().args(["errors", "--store", &database, "--crawl", "errors"]).args(args))
    };
    let all = lines(&read(&["--json"]));
    assert_eq!(all.len(), 5, "{all:#?}");
    assert!(all.iter().all(|m| m["at"].as_u64().is_some()), "{all:#?}");
    assert_eq!(lines(&read(&["--json", "--kind", "http-410"]))[0]["anchor"], "to gone");
    read(&["--retry"]).fails(2, &["--retry is for a collection in a folder"]);
}

// ---- visited again
// ----------------------------------------------------------------------------------------------------

/// Six pages of a course, as they were.
pub const BEFORE: &str = "\
== http://a.example/ etag: \"start-1\"
<title>Start</title><p>All about the syllabus of our course.</p><ul><li><a href='/same'>same</a><li><a href='/clock'>clock</a>\
<li><a href='/news'>news</a><li><a href='/old'>old</a><li><a href='/moved'>moved</a><li><a \
href='/plain'>plain</a></ul>
== http://a.example/same etag: \"same-1\"
<title>Same</title><p>A syllabus that stays as it is.</p>
== http://a.example/clock
<title>Clock</title><p>A syllabus with a clock.</p><p>It is 12:01:33 now, and you are visitor 4711.</p>
== http://a.example/news etag: \"news-1\"
<title>News</title><p>A syllabus with news.</p><p>The exam is on 3 May.</p><p>Bring a pen.</p>
== http://a.example/old
<title>Old</title><p>A syllabus that goes away.</p>
== http://a.example/moved
<title>Moved</title><p>A syllabus that moves.</p>
== http://a.example/plain
<title>Plain</title><p>A syllabus without a tag.</p>
";

/// The same a week later.
pub const AFTER: &str = "\
== http://a.example/ etag: \"start-1\"
<title>Start</title>never sent
== http://a.example/same etag: \"same-1\"
never sent
== http://a.example/clock
<title>Clock</title><p>A syllabus with a clock.</p><p>It is 18:44:02 now, and you are visitor 5002.</p>
== http://a.example/news etag: \"news-2\"
<title>News</title><p>A syllabus with news.</p><p>The exam is on 5 May.</p><p>Bring a pen.</p><p>See <a href='/fresh'>the fresh page</a>.</p>
== http://a.example/old 404
no such page
== http://a.example/moved 301 location: http://a.example/new-home
== http://a.example/new-home
<title>New home</title><p>A syllabus that moved here.</p>
== http://a.example/plain
<title>Plain</title><p>A syllabus without a tag.</p>
== http://a.example/fresh
<title>Fresh</title><p>A syllabus nobody knew of.</p>
";

fn crawled(dir: &Path) -> PathBuf {
    let (topic, out) = (file(dir, "t.toml", TOPIC), dir.join("out"));
    finish(crawl(&serve(BEFORE), &topic, &out).args(["--seed", "http://a.example/"])).ok();
    out
}

fn refresh(server: &madeup::Server, out: &Path, args: &[&str]) -> Ran {
    let mut command = gleaner();
    command.env("NO_COLOR", "1").arg("refresh").arg(out).args(["--confirm", "50ms", "--allow-private"]);
    finish(command.args(["--resolve", &server.resolve()]).args(args))
}

/// What each visit found, by path.
pub fn visits(ran: &Ran) -> std::collections::BTreeMap<String, Value> {
    let all: Vec<Value> = lines(ran).into_iter().filter(|e| e["event"] == "visit").collect();
    let path = |e: &Value| e["url"].as_str().unwrap().replace("http://a.example", "");
    let by_path: std::collections::BTreeMap<_, _> = all.iter().map(|e| (path(e), e.clone())).collect();
    assert_eq!(by_path.len(), all.len(), "each page once: {all:#?}");
    by_path
}

#[test]
fn known_pages_are_visited_again_and_only_their_own_text_counts() {
    let dir = folder();
    let out = crawled(dir.path());
    let server = serve(AFTER);
    let found = visits(&refresh(&server, &out, &["--json"]));
    let of = |path: &str| found[path]["found"].as_str().unwrap();
    assert_eq!(
        ["/", "/same", "/plain", "/clock", "/news", "/old", "/moved"].map(of),
        ["not-modified", "not-modified", "same-payload", "same-text", "changed", "gone", "moved"]
    );
    assert_eq!(
        (&found["/news"]["new_links"], &found["/moved"]["note"]),
        (&json!(1), &json!("http://a.example/new-home"))
    );
    // A page that is not there is asked for twice, what it moved to is fetched, and what is new is left for a
    // crawl.
    let asked = |path: &str| server.log().entries().iter().filter(|e| e.path == path).count();
    assert_eq!([asked("/old"), asked("/new-home"), asked("/fresh"), asked("/same")], [2, 1, 0, 1]);
    // The collection has the new versions and is sound.
    let snapshot = crate::common::collection::Snapshot::take(&out);
    assert_eq!(snapshot.pages.len(), 8, "{:?}", snapshot.pages.keys());
    assert!(snapshot.pages["http://a.example/news"].text.contains("5 May"));
    assert_eq!(snapshot.pages["http://a.example/news"].etag.as_deref(), Some("\"news-2\""));
    let status: Value =
        serde_json::from_str(&crate::common::run(["status", out.to_str().unwrap(), "--json"]).ok().out)
            .unwrap();
    assert_eq!((&status["pages"], &status["relevant"]), (&json!(8), &json!(8)), "{status:#}");
    // Search has the newest text, and no page that is gone.
    let search =
        |words: &str| crate::common::run(["search", out.to_str().unwrap(), words, "--json"]).ok().out.clone();
    assert!(search("exam").contains("5 May") && !search("exam").contains("3 May"));
    assert!(!search("goes away").contains("/old") && search("moved here").contains("/new-home"));
    // Again at once: everything is known, and nothing is asked for that is gone.
    let again = visits(&refresh(&server, &out, &["--json"]));
    assert_eq!(again.len(), 6, "{again:#?}");
    assert_eq!(again["/news"]["found"], "not-modified");
    assert_eq!(asked("/old"), 2);
    // Judged again, each page counts once.
    let rejudged = crate::common::run(["rejudge", out.to_str().unwrap()]);
    rejudged.ok();
    let status: Value =
        serde_json::from_str(&crate::common::run(["status", out.to_str().unwrap(), "--json"]).ok().out)
            .unwrap();
    assert_eq!((&status["pages"], &status["relevant"]), (&json!(8), &json!(8)), "{rejudged}");
    // A crawl goes on as ever and finds what is new.
    let topic = dir.path().join("t.toml");
    finish(&mut crawl(&server, &topic, &out)).ok();
    assert_eq!(asked("/fresh"), 1);
    assert_eq!(crate::common::collection::Snapshot::take(&out).pages.len(), 9);
}

/// The WARC records that came after the first `skip` ones: type, URL, profile, refers-to URL, refers-to date,
/// date, digest.
fn revisits(out: &Path) -> Vec<[String; 6]> {
    let mut found = Vec::new();
    for path in crate::common::warcs(out) {
        let bytes = std::fs::read(&path).unwrap();
        let reader = store::archive::WarcReader::new(
            bytes.as_slice(),
            "x".to_string(),
            store::archive::Limits::default(),
        );
        for record in reader.unwrap() {
            let record = record.unwrap_or_else(|e| panic!("{e}"));
            if record.kind() != "revisit" {
                continue;
            }
            let of = |name: &str| record.header(name).unwrap_or_default().to_string();
            // The block of a revisit is the head of the answer, and nothing else.
            assert!(record.block.ends_with(b"\r\n\r\n"), "{}", String::from_utf8_lossy(&record.block));
            found.push([
                record.target().unwrap_or_default().to_string(),
                of("WARC-Profile"),
                of("WARC-Refers-To-Target-URI"),
                of("WARC-Refers-To-Date"),
                of("WARC-Date"),
                of("WARC-Payload-Digest"),
            ]);
        }
    }
    found
}

#[test]
fn the_archive_has_every_version_and_revisits_that_others_resolve() {
    let dir = folder();
    let out = crawled(dir.path());
    let first = crate::common::collection::Snapshot::take(&out);
    let asked_at = |page: &types::Record| store::archive::rfc3339(page.fetched);
    // Readers of archives count in seconds.
    std::thread::sleep(std::time::Duration::from_millis(1_100));
    let server = serve(AFTER);
    refresh(&server, &out, &["--json"]).ok();
    let second = crate::common::collection::Snapshot::take(&out);
    let all = revisits(&out);
    let profiles: std::collections::BTreeMap<&str, &str> =
        all.iter().map(|r| (r[0].as_str(), r[1].rsplit('/').next().unwrap())).collect();
    let same = ["http://a.example/", "http://a.example/plain", "http://a.example/same"];
    assert_eq!(profiles.keys().copied().collect::<Vec<_>>(), same);
    assert_eq!(
        same.map(|url| profiles[url]),
        ["server-not-modified", "identical-payload-digest", "server-not-modified"]
    );
    for [url, profile, target, date, at, digest] in &all {
        let page = &first.pages[url];
        assert!(profile.starts_with("http://netpreserve.org/warc/1.1/revisit/"), "{profile}");
        assert_eq!((target, date), (url, &asked_at(page)), "it refers to the record that has the bytes");
        assert!(at > date && !digest.is_empty(), "{url}: {at} after {date}");
    }
    // Somebody else's reader checks every digest, and that every revisit resolves.
    let Some(python) = crate::common::python("revisit records") else { return };
    let warcs = crate::common::warcs(&out);
    let checked = crate::common::script(&python, "check_warc.py", &warcs);
    checked.ok().shows(&["3 revisit", "10 response"]);
    // pywb replays the page as it was, and as it is.
    let compact = |page: &types::Record| {
        let digits: String = asked_at(page).chars().filter(char::is_ascii_digit).collect();
        digits[..14].to_string()
    };
    let url = "http://a.example/news";
    let (old, new) = (&first.pages[url], &second.pages[url]);
    assert_ne!(old.digest, new.digest);
    let replay = dir.path().join("replay");
    std::fs::create_dir_all(&replay).unwrap();
    let asked = format!("{}/{url}\n{}/{url}\n", compact(old), compact(new));
    std::fs::write(dir.path().join("urls"), asked).unwrap();
    let mut command = std::process::Command::new(&python);
    command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/py/replay.py")).arg(&replay).args(&warcs);
    let ran = finish(command.stdin(std::fs::File::open(dir.path().join("urls")).unwrap()));
    let bodies: Vec<&str> = ran.ok().out.lines().filter_map(|l| l.split('\t').nth(2)).collect();
    assert_eq!(bodies, [old.digest.as_str(), new.digest.as_str()], "{ran}");
}

#[test]
fn changes_are_told_in_a_terminal_in_json_as_a_page_and_as_feeds() {
    let dir = folder();
    let out = crawled(dir.path());
    let path = out.to_str().unwrap();
    let told = |args: &[&str]| finish(gleaner().env("NO_COLOR", "1").args(["changes", path]).args(args));
    let kinds = |args: &[&str]| -> Vec<String> {
        let v: Value = serde_json::from_str(&told(args).ok().out).unwrap();
        let one = |c: &Value| {
            format!(
                "{} {}",
                c["kind"].as_str().unwrap(),
                c["url"].as_str().unwrap().replace("http://a.example", "")
            )
        };
        let mut all: Vec<String> = v["changes"].as_array().unwrap().iter().map(one).collect();
        all.sort();
        all
    };
    assert_eq!(kinds(&["--json"]).len(), 7, "all are new");
    // A moment between the crawl and the refresh.
    std::thread::sleep(std::time::Duration::from_millis(5));
    let between = store::archive::rfc3339(types::Millis::now());
    refresh(&serve(AFTER), &out, &["--json", "--new", "5"]).ok();
    let since = ["--since", between.as_str()];
    assert_eq!(
        kinds(&[&since[..], &["--json"]].concat()),
        ["changed /news", "gone /old", "moved /moved", "new /fresh", "new /new-home"]
    );
    assert_eq!(kinds(&[&since[..], &["--json", "--kind", "gone"]].concat()), ["gone /old"]);
    let v: Value =
        serde_json::from_str(&told(&[&since[..], &["--json", "--kind", "changed"]].concat()).out).unwrap();
    let diff: Vec<String> = v["changes"][0]["diff"]
        .as_array()
        .unwrap()
        .iter()
        .map(|l| format!("{}{}", l["mark"].as_str().unwrap(), l["text"].as_str().unwrap()))
        .collect();
    assert_eq!(
        diff,
        [
            "@",
            " A syllabus with news.",
            "-The exam is on 3 May.",
            "+The exam is on 5 May.",
            " Bring a pen.",
            "+See the fresh page."
        ]
    );
    told(&since).ok().shows(&[
        "2 new, 1 changed, 1 moved, 1 gone",
        "- The exam is on 3 May.",
        "+ The exam is on 5 May.",
        "+10 −6 words",
        "to http://a.example/new-home",
        "http://a.example/old",
    ]);
    // Files.
    let file = |name: &str| dir.path().join(name);
    let names = [file("new.html"), file("new.atom"), file("new.json")];
    let paths: Vec<&str> = names.iter().map(|n| n.to_str().unwrap()).collect();
    told(&[&since[..], &["--html", paths[0], "--atom", paths[1], "--json-feed", paths[2]]].concat()).ok();
    let [html, atom, feed] = names.map(|n| std::fs::read_to_string(n).unwrap());
    for text in
        ["<ins>The exam is on 5 May.</ins>", "<del>The exam is on 3 May.</del>", "What is new in Courses"]
    {
        assert!(html.contains(text), "{text}");
    }
    assert_eq!(atom.matches("<entry>").count(), 3, "{atom}");
    assert!(
        atom.contains("<link href=\"http://a.example/news\"/>")
            && atom.contains("&lt;ins&gt;The exam is on 5 May."),
        "{atom}"
    );
    let feed: Value = serde_json::from_str(&feed).unwrap();
    assert_eq!(
        (&feed["version"], feed["items"].as_array().unwrap().len()),
        (&json!("https://jsonfeed.org/version/1.1"), 3)
    );
    // An old date shows all as new; nonsense is refused; an empty time says so.
    assert_eq!(
        kinds(&["--json", "--since", "2020-01-01"]).iter().filter(|c| c.starts_with("new")).count(),
        7
    );
    told(&["--since", "soon"]).fails(2, &["--since cannot be `soon`", "neither a duration"]);
    told(&["--since", "2100-01-01"]).ok().shows(&["nothing new"]);
    told(&["--json", "--html", "-"]).fails(2, &["--json has standard output"]);
    // The same in the dashboard.
    let dashboard = Dashboard::start(&out, &[]);
    let got = dashboard.json(&format!("/api/v1/collections/out/changes?since={between}&kind=changed"));
    assert_eq!(
        (&got["totals"]["new"], &got["changes"][0]["url"]),
        (&json!(2), &json!("http://a.example/news")),
        "{got:#}"
    );
    assert_eq!(dashboard.get("/api/v1/collections/out/feed.atom").text().matches("<entry>").count(), 7);
    assert_eq!(dashboard.json("/api/v1/collections/out/feed.json")["items"].as_array().unwrap().len(), 7);
    assert_eq!(dashboard.get("/api/v1/collections/out/changes?since=soon").status, 400);
}

/// Answers by path, which the test changes while it serves.
#[derive(Clone, Default)]
pub struct Changing(pub std::sync::Arc<std::sync::Mutex<std::collections::BTreeMap<String, madeup::Reply>>>);

impl madeup::Answer for Changing {
    fn answer(&self, ask: &madeup::Ask) -> madeup::Reply {
        let missing = || madeup::Reply::text(404, "no such page\n");
        self.0.lock().unwrap().get(ask.path).cloned().unwrap_or_else(missing)
    }
}

impl Changing {
    fn set(&self, path: &str, body: &str) {
        let reply = madeup::Reply::html(format!("<title>Page</title><p>A syllabus.</p>{body}"));
        self.0.lock().unwrap().insert(path.into(), reply);
    }
    pub fn serve(&self) -> madeup::Server {
        madeup::Server::start(self.clone(), "127.0.0.1:0".parse().unwrap(), madeup::Log::in_memory()).unwrap()
    }
}

/// A hub and forty pages, each with a version in it.
pub fn forty(version: u32) -> Changing {
    let web = Changing::default();
    let links: String = (0..40).map(|n| format!("<a href='/p{n}'>page {n}</a> ")).collect();
    web.set("/", &links);
    for n in 0..40 {
        web.set(
            &format!("/p{n}"),
            &format!(
                "<p>This is page number {n} of the course.</p><p>Its text says {} {version}.</p>",
                "word".repeat(n % 7 + 1)
            ),
        );
    }
    web
}

#[test]
fn a_refresh_that_is_killed_goes_on_and_loses_no_page() {
    let dir = folder();
    let (topic, out) = (file(dir.path(), "t.toml", TOPIC), dir.path().join("out"));
    let web = forty(1);
    let server = web.serve();
    finish(crawl(&server, &topic, &out).args(["--seed", "http://a.example/"])).ok();
    let before = crate::common::collection::Snapshot::take(&out);
    assert_eq!(before.pages.len(), 41);
    for (path, reply) in forty(2).0.lock().unwrap().iter() {
        web.0.lock().unwrap().insert(path.clone(), reply.clone());
    }
    let start = |args: &[&str]| {
        let mut command = gleaner();
        command.arg("refresh").arg(&out).args([
            "--delay",
            "5ms",
            "--confirm",
            "10ms",
            "--allow-private",
            "--json",
        ]);
        Running::start(command.args(["--resolve", &server.resolve()]).args(args))
    };
    let mut rng = crate::common::Rng(7);
    let kills = if crate::common::long() { 200 } else { 6 };
    for _ in 0..kills {
        let running = start(&[]);
        std::thread::sleep(std::time::Duration::from_millis(rng.between(30, 400)));
        running.signal("KILL");
        running.wait();
        // Nothing of what was known is lost or half there, whenever it dies.
        let now = crate::common::collection::Snapshot::take(&out);
        assert_eq!(now.pages.len(), 41);
        assert!(
            now.pages.values().all(|r| r.text.contains("word") || r.url.ends_with("example/")),
            "each page has a text"
        );
    }
    let last = start(&[]).wait();
    last.ok();
    let now = crate::common::collection::Snapshot::take(&out);
    assert!(
        now.pages.iter().filter(|(url, _)| url.contains("/p")).all(|(_, r)| r.text.contains(" 2.")),
        "all are new"
    );
    // Each change is told once, however often it was killed.
    let told = finish(gleaner().args(["changes", out.to_str().unwrap(), "--json", "--all"]));
    let told: Value = serde_json::from_str(&told.ok().out).unwrap();
    assert!(told["changes"].as_array().unwrap().iter().all(|c| c["times"].as_u64() <= Some(1)), "{told:#}");
    // Search and archive agree.
    let found = crate::common::run([
        "search",
        out.to_str().unwrap(),
        "number course",
        "--all",
        "--limit",
        "100",
        "--json",
    ]);
    assert_eq!(found.ok().out.lines().count(), 40);
    if let Some(python) = crate::common::python("the archive after kills") {
        crate::common::script(&python, "check_warc.py", crate::common::warcs(&out)).ok();
    }
}

#[test]
fn rules_and_pauses_hold_for_visits_and_one_wrong_404_is_no_loss() {
    let dir = folder();
    let (topic, out) = (file(dir.path(), "t.toml", TOPIC), dir.path().join("out"));
    let pages = "== http://a.example/\n<title>A</title>a syllabus <a href='/shy'>shy</a> <a \
                 href='/flaky'>flaky</a> <a href='/busy'>busy</a>\n\
        == http://a.example/flaky\n<title>Flaky</title>a syllabus\n== http://a.example/busy\n\
        <title>Busy</title>a syllabus\n\
        == http://a.example/shy\n<title>Shy</title>a syllabus\n\
        == http://a.example/robots.txt\nUser-agent: *\nDisallow: /nothing\n";
    finish(crawl(&serve(pages), &topic, &out).args(["--seed", "http://a.example/"])).ok();
    let later = "== http://a.example/\n<title>A</title>a syllabus <a href='/shy'>shy</a> <a \
                 href='/flaky'>flaky</a> <a href='/busy'>busy</a>\n\
        == http://a.example/flaky 404\nnot now\n== http://a.example/flaky\n<title>Flaky</title>a syllabus\n\
        == http://a.example/busy 503 retry-after: 1\nlater\n== http://a.example/busy\n\
        <title>Busy</title>a syllabus\n\
        == http://a.example/shy\n<title>Shy</title>a syllabus\n\
        == http://a.example/robots.txt\nUser-agent: *\nDisallow: /shy\n";
    let server = serve(later);
    // Another user agent has to ask for its own rules.
    let ran = refresh(&server, &out, &["--json", "--user-agent", "Other/1.0", "--delay", "100ms"]);
    let found = visits(&ran);
    assert_eq!(found["/shy"]["found"], "denied", "{found:#?}");
    assert_eq!(found["/flaky"]["found"], "same-payload", "one wrong answer is asked about again");
    assert_eq!(found["/busy"]["found"], "same-payload");
    let log = server.log().entries();
    assert!(log.iter().all(|e| e.path != "/shy"), "it was not asked for");
    let mut all: Vec<_> = log.iter().collect();
    all.sort_by_key(|e| e.arrived);
    assert_eq!(all[0].path, "/robots.txt");
    let busy = all.iter().position(|e| e.path == "/busy").unwrap();
    let gap = all[busy + 1].arrived - all[busy].finished;
    assert!(gap >= 998, "the host asked for a second, and was asked again after {gap} ms");
    for pair in all.windows(2) {
        assert!(pair[1].arrived + 2 >= pair[0].finished + 100, "a pause between two requests");
    }
    // What may not be asked for stays as it was.
    let snapshot = crate::common::collection::Snapshot::take(&out);
    assert_eq!(snapshot.pages.len(), 4);
    refresh(&server, &out, &["--host", "nowhere.example"]).fails(4, &["nothing to visit again"]);
    refresh(&server, &dir.path().join("none"), &[]).fails(2, &["is not a collection"]);
}

/// What a visit to a page that is as it was costs, against its first visit. The times are printed, and
/// nothing is asserted of them: `GLEANER_LONG=1 cargo test --release --test program an_unchanged_page --
/// --nocapture`.
#[test]
fn an_unchanged_page_is_asked_for_once_and_neither_read_nor_sent() {
    let pages = if crate::common::long() { 3_000 } else { 30 };
    let text = |n: usize| {
        let words = ["syllabus", "course", "lecture", "exam", "reading", "relational", "algebra", "week"];
        let lines = (0..40).map(|line| {
            let line: Vec<&str> = (0..12).map(|w| words[(n * 7 + line * 5 + w * w) % words.len()]).collect();
            format!("<p>{} {n}.</p>", line.join(" "))
        });
        lines.collect::<String>()
    };
    let links: String = (0..pages).map(|n| format!("<a href='/p{n}'>page {n}</a> ")).collect();
    let mut web = format!("== http://a.example/ etag: \"hub\"\n<title>Hub</title>a syllabus {links}\n");
    for n in 0..pages {
        web += &format!("== http://a.example/p{n} etag: \"p{n}\"\n<title>Page {n}</title>{}\n", text(n));
    }
    let server = serve(&web);
    let dir = folder();
    let topic = format!("{TOPIC}[limits]\nlinks_per_page = 100000\n");
    let (topic, out) = (file(dir.path(), "t.toml", &topic), dir.path().join("out"));
    let mut command = crawl(&server, &topic, &out);
    let (ran, first) = crate::common::cost::measured(command.args(["--seed", "http://a.example/", "--json"]));
    ran.ok();
    let count = |kind: &str, ran: &Ran| lines(ran).iter().filter(|e| e["event"] == kind).count();
    assert_eq!(count("page", &ran), pages + 1);
    let sent = |from: usize| server.log().entries().iter().skip(from).filter(|e| e.status == 200).count();
    let before = server.log().entries().len();
    let mut command = gleaner();
    command.arg("refresh").arg(&out).args(["--allow-private", "--json", "--resolve", &server.resolve()]);
    let (ran, again) = crate::common::cost::measured(&mut command);
    let found = visits_of(&ran);
    assert_eq!(found.len(), pages + 1);
    assert!(found.iter().all(|v| v["found"] == "not-modified"));
    assert_eq!(
        (server.log().entries().len() - before, sent(before)),
        (pages + 1, 0),
        "each was asked for once"
    );
    let each = |cost: &crate::common::cost::Cost| cost.cpu.as_secs_f64() * 1_000.0 / (pages + 1) as f64;
    println!(
        "{pages} pages: first visit {:.2} ms of CPU a page, unchanged {:.2} ms: {:.2} of it",
        each(&first),
        each(&again),
        each(&again) / each(&first)
    );
}

fn visits_of(ran: &Ran) -> Vec<Value> {
    lines(ran).into_iter().filter(|e| e["event"] == "visit").collect()
}
