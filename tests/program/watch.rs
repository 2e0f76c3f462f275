//! Collections that are watched: `gleaner watch` on generated webs that change, served as they are at a time.

use crate::common::collection::Snapshot;
use crate::common::{Ran, Rng, Running, file, finish, folder, gleaner, long, until, warcs};
use madeup::sim::{Clock, DAY, Role};
use madeup::{Log, Server, SimWeb};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use types::Millis;

const WEB: &str =
    "sim:campus?pages=100&hosts=4&topic-share=0.2&redirects=0&broken=0&change=0.05&born=0.3&die=0.2&days=20";
/// When the web is looked at for the second time.
const LATER: Millis = Millis(12 * DAY);

struct Web {
    server: Server,
    clock: Clock,
    web: SimWeb,
}

impl Web {
    fn start() -> Web {
        let clock = Clock::default();
        let open = || SimWeb::open(WEB).unwrap().at_time_of(&clock);
        let server = Server::start(open(), ([127, 0, 0, 1], 0).into(), Log::in_memory()).unwrap();
        Web { server, web: open(), clock }
    }

    fn topic(&self, dir: &Path) -> PathBuf {
        let text = format!("{}[fetch]\ndelay = '0s'\nsitemaps = false\n", self.web.topic_toml());
        file(dir, "topic.toml", &text)
    }

    fn watch(&self, what: &Path, args: &[&str]) -> Command {
        let mut command = gleaner();
        command.env("NO_COLOR", "1").arg("watch").arg(what).args(["--allow-private", "--confirm", "20ms"]);
        command.args(["--resolve", &self.server.resolve()]).args(args);
        command
    }

    /// What is true of every page that was there at the beginning, and of those that are new, at the later
    /// time.
    fn truth(&self) -> BTreeMap<String, &'static str> {
        let page = |id: u32| {
            let (life, url) = (self.web.life(id), self.web.url_of(id).unwrap().to_string());
            let links = |at: Millis| self.web.links_at(id, at);
            let found = match (life.is_at(Millis(0)), life.is_at(LATER)) {
                (false, false) => return None,
                (true, false) => "gone",
                (false, true) => "new",
                _ if self.web.version(id, LATER).0 > 0 => "changed",
                _ if self.web.about(id).role != Role::Leaf && links(LATER) != links(Millis(0)) => "changed",
                _ => "same",
            };
            Some((url, found))
        };
        (0..self.web.options().pages).filter_map(page).collect()
    }
}

fn lines(ran: &Ran) -> Vec<Value> {
    ran.ok().out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn of_event(all: &[Value], name: &str) -> Vec<Value> {
    all.iter().filter(|e| e["event"] == name).cloned().collect()
}

/// What `gleaner changes` tells of each page.
fn told(out: &Path, since: &str) -> BTreeMap<String, Value> {
    let ran = finish(gleaner().arg("changes").arg(out).args(["--all", "--json", "--since", since]));
    let v: Value = serde_json::from_str(&ran.ok().out).unwrap();
    let all = v["changes"].as_array().unwrap();
    all.iter().map(|c| (c["url"].as_str().unwrap().to_string(), c.clone())).collect()
}

/// WARC records of pages by type and address.
fn archived(out: &Path) -> BTreeMap<(String, String), usize> {
    let mut found = BTreeMap::new();
    for path in warcs(out) {
        let bytes = std::fs::read(&path).unwrap();
        let limits = store::archive::Limits::default();
        for record in store::archive::WarcReader::new(bytes.as_slice(), "x", limits).unwrap() {
            let record = record.unwrap_or_else(|e| panic!("{e}"));
            let url = record.target().unwrap_or_default().to_string();
            *found.entry((record.kind().to_string(), url)).or_default() += 1;
        }
    }
    found
}

#[test]
fn two_snapshots_of_a_web_are_told_apart_exactly() {
    let dir = folder();
    let (web, out) = (Web::start(), dir.path().join("out"));
    let topic = web.topic(dir.path());
    // The first round finds what there is.
    let first = lines(&finish(&mut web.watch(
        &topic,
        &["--out", out.to_str().unwrap(), "--pages", "400", "--rounds", "1", "--every", "1s", "--json"],
    )));
    let truth = web.truth();
    let count = |found: &str| truth.values().filter(|f| **f == found).count();
    assert!(["gone", "new", "changed", "same"].map(count).iter().all(|n| *n >= 3), "{truth:?}");
    let ended = of_event(&first, "round-ended").remove(0);
    assert_eq!(ended["round"]["new"], json!(truth.len() - count("new")), "{ended:#}");
    assert_eq!((&ended["round"]["number"], &ended["round"]["visited"]), (&json!(1), &json!(0)), "{ended:#}");
    let before = archived(&out);
    let since = store::archive::rfc3339(Millis::now());

    // The second finds what came of it.
    web.clock.set(LATER);
    let again = ["--pages", "400", "--rounds", "1", "--every", "1s", "--json"];
    let second = lines(&finish(&mut web.watch(&out, &again)));
    let mut visits = BTreeMap::new();
    for visit in of_event(&second, "visit") {
        let url = visit["url"].as_str().unwrap().to_string();
        assert!(visits.insert(url, visit["found"].as_str().unwrap().to_string()).is_none(), "once a round");
    }
    for (url, found) in &truth {
        match (*found, visits.get(url).map(String::as_str)) {
            ("new", None) | ("gone", Some("gone")) | ("changed", Some("changed")) => {}
            ("same", Some("not-modified" | "same-payload")) => {}
            (found, visit) => panic!("{url} is {found}, and the visit found {visit:?}"),
        }
    }
    let ended = of_event(&second, "round-ended").remove(0);
    let round = &ended["round"];
    assert_eq!(
        ["new", "changed", "gone"].map(|k| round[k].clone()),
        ["new", "changed", "gone"].map(|k| json!(count(k))),
        "{ended:#}"
    );
    // The feeds of the hosts were looked at, and are no pages.
    let feeds = visits.keys().filter(|url| url.ends_with("/feed.xml")).count();
    assert_eq!((feeds, visits.len()), (4, 4 + truth.len() - count("new")));
    assert_eq!(Snapshot::take(&out).pages.len(), truth.len());

    // The same is told: changes with their differences, feeds, the archive.
    let changes = told(&out, &since);
    let expected: BTreeMap<&String, &str> =
        truth.iter().filter(|(_, f)| **f != "same").map(|(u, f)| (u, *f)).collect();
    let kinds: BTreeMap<&String, &str> =
        changes.iter().map(|(url, c)| (url, c["kind"].as_str().unwrap())).collect();
    assert_eq!(kinds, expected);
    for (url, change) in changes.iter().filter(|(_, c)| c["kind"] == "changed") {
        assert_eq!(change["times"], 1, "{url}");
        assert!(change["diff"].as_array().is_some_and(|d| d.iter().any(|l| l["mark"] == "+")), "{change:#}");
    }
    let feed = dir.path().join("feed.json");
    let feed_args = ["--all", "--since", &since, "--json-feed", feed.to_str().unwrap()];
    finish(gleaner().arg("changes").arg(&out).args(feed_args)).ok();
    let feed: Value = serde_json::from_slice(&std::fs::read(&feed).unwrap()).unwrap();
    assert_eq!(feed["items"].as_array().unwrap().len(), count("new") + count("changed"));
    let after = archived(&out);
    for (url, found) in &truth {
        let new = |kind: &str| {
            let key = (kind.to_string(), url.clone());
            after.get(&key).copied().unwrap_or(0) - before.get(&key).copied().unwrap_or(0)
        };
        let expected = match *found {
            "new" | "changed" => (1, 0),
            "same" => (0, 1),
            _ => (0, 0),
        };
        assert_eq!((new("response"), new("revisit")), expected, "{url} is {found}");
    }
    finish(gleaner().arg("check").arg(&out)).ok();
}

#[test]
fn a_watch_that_is_killed_goes_on_and_tells_each_change_once() {
    let dir = folder();
    let (web, out) = (Web::start(), dir.path().join("out"));
    let topic = web.topic(dir.path());
    let out_text = out.to_str().unwrap();
    let first = ["--out", out_text, "--pages", "400", "--rounds", "1", "--every", "1s", "--json"];
    finish(&mut web.watch(&topic, &first)).ok();
    let (truth, before) = (web.truth(), Snapshot::take(&out));
    let since = store::archive::rfc3339(Millis::now());
    web.clock.set(LATER);
    let args = ["--pages", "400", "--every", "1s", "--delay", "10ms", "--json"];
    let mut rng = Rng(22);
    for _ in 0..if long() { 200 } else { 10 } {
        let running = Running::start(&mut web.watch(&out, &args));
        std::thread::sleep(std::time::Duration::from_millis(rng.between(20, 500)));
        running.signal("KILL");
        running.wait();
        let now = Snapshot::take(&out);
        assert!(before.pages.keys().all(|url| now.pages.contains_key(url)), "no page is lost");
    }
    let last = lines(&finish(&mut web.watch(&out, &[&args[..], &["--rounds", "1"]].concat())));
    assert_eq!(of_event(&last, "round-ended").len(), 1);
    let changes = told(&out, &since);
    for (url, found) in &truth {
        let change = changes.get(url);
        assert_eq!(change.map_or("same", |c| c["kind"].as_str().unwrap()), *found, "{url}");
        assert!(change.is_none_or(|c| c["times"].as_u64() <= Some(1)), "{url}: each change once");
    }
    assert_eq!(Snapshot::take(&out).pages.len(), truth.len());
    finish(gleaner().arg("check").arg(&out)).ok();
}

#[test]
fn a_budget_holds_status_tells_and_ctrl_c_ends_the_wait() {
    let dir = folder();
    let (web, out) = (Web::start(), dir.path().join("out"));
    let topic = web.topic(dir.path());
    let out_text = out.to_str().unwrap();
    // Two rounds of thirty pages: the second goes on discovering, and visits some of the first again.
    let args = ["--out", out_text, "--pages", "30", "--every", "1s", "--for", "30d", "--json"];
    let ran = lines(&finish(&mut web.watch(&topic, &[&args[..], &["--rounds", "2"]].concat())));
    let rounds = of_event(&ran, "round-ended");
    assert_eq!(rounds.len(), 2);
    for round in rounds.iter().map(|e| &e["round"]) {
        let spent = round["new"].as_u64().unwrap() + round["visited"].as_u64().unwrap();
        assert!((1..=30).contains(&spent), "{round:#}");
    }
    assert_eq!(rounds[0]["round"]["new"], 30);
    assert!(rounds[1]["round"]["new"].as_u64() > Some(0), "{:#}", rounds[1]);
    // Before the next round is due it says so, and Ctrl-C is the end of it.
    let later = ["--pages", "30", "--every", "2h", "--rounds", "1"];
    finish(&mut web.watch(&out, &later)).ok();
    let asked = web.server.log().entries().len();
    let waiting = Running::start(&mut web.watch(&out, &["--pages", "30", "--every", "2h"]));
    waiting.says("the next round begins");
    waiting.signal("INT");
    assert_eq!(waiting.wait().code, Some(3));
    assert_eq!(web.server.log().entries().len(), asked, "nobody was asked for anything");
    let status = finish(gleaner().arg("status").arg(&out));
    status.ok().shows(&["watched    every 2:00:00, 3 rounds so far; the next is due "]);
    let status = finish(gleaner().arg("status").arg(&out).arg("--json"));
    let status: Value = serde_json::from_str(&status.ok().out).unwrap();
    assert_eq!((&status["watch"]["last"]["number"], &status["watch"]["pages"]), (&json!(3), &json!(30)));
    assert!(status["watch"]["due"].as_u64() > Some(Millis::now().0), "{status:#}");

    // Stopped in the middle, the same round goes on with what is left.
    let dir = folder();
    let (topic, out) = (web.topic(dir.path()), dir.path().join("other"));
    let args = ["--out", out.to_str().unwrap(), "--pages", "50", "--delay", "50ms", "--json"];
    let running = Running::start(&mut web.watch(&topic, &args));
    let entries = web.server.log().entries().len();
    until("some pages are fetched", || web.server.log().entries().len() > entries + 12);
    running.signal("INT");
    let stopped = running.wait();
    assert_eq!(stopped.code, Some(3), "{stopped}");
    let status = finish(gleaner().arg("status").arg(&out));
    status.ok().shows(&["round 1 was broken off: `gleaner watch` goes on with it"]);
    let pages = Snapshot::take(&out).pages.len();
    assert!((1..50).contains(&pages), "{pages}");
    let ran = lines(&finish(&mut web.watch(&topic, &[&args[..], &["--rounds", "1"]].concat())));
    assert_eq!(of_event(&ran, "round")[0]["goes_on"], true);
    let ended = &of_event(&ran, "round-ended")[0]["round"];
    assert_eq!((&ended["number"], &ended["new"]), (&json!(1), &json!(50)), "{ended:#}");

    // Bad input.
    let fails = |args: &[&str], says: &[&str]| {
        let mut command = gleaner();
        finish(command.arg("watch").args(args)).fails(2, says);
    };
    fails(&[dir.path().to_str().unwrap()], &["is not a collection", "name a topic file"]);
    fails(&[out.to_str().unwrap(), "--every", "0s"], &["--every is too short"]);
    fails(&[out.to_str().unwrap(), "--out", "x"], &["--out names a folder, and so does DIR"]);
    fails(&[out.to_str().unwrap(), "--every", "often"], &["--every cannot be `often`"]);
}
