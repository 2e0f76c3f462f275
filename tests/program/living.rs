//! Collections that live: what failed and is asked for again, pages that are visited again. Real servers on loopback that
//! answer otherwise between two runs.

use crate::common::dashboard::Dashboard;
use crate::common::{Ran, Running, crawl, file, finish, folder, gleaner, serve, until};
use crate::support::postgres;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

const TOPIC: &str = "name = \"Courses\"\nquery = \"syllabus\"\n[fetch]\ndelay = '0s'\nattempts = 2\nsitemaps = false\n";

fn lines(ran: &Ran) -> Vec<Value> {
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
    assert_eq!((&gone["kind"], &gone["error"], &gone["attempts"]), (&json!("http-error"), &json!("http-410"), &json!(1)));
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
    shown.ok().shows(&["http-410", "1 URL on 1 host", "http://a.example/gone", "link “to gone” on http://a.example/", "2 tries", "UTC"]);
    // Filters: an outcome, a word of a try, a host, and what there is not.
    let urls = |args: &[&str]| lines(&errors(&out, args)).iter().map(|m| m["url"].as_str().unwrap().to_string()).collect::<Vec<_>>();
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
    errors(&out, &["--kind", "http-410", "--retry"]).ok().shows(&["1 URL is asked for again", "gleaner crawl --out"]);
    let better = failing().replace("/gone 410\nno more", "/gone\n<title>Back</title>a syllabus again");
    let server = serve(&better);
    finish(&mut crawl(&server, &topic, &out)).ok();
    let asked: Vec<String> = server.log().entries().iter().map(|e| format!("{}{}", e.host, e.path)).collect();
    assert_eq!(asked.iter().filter(|p| !p.ends_with("/robots.txt")).collect::<Vec<_>>(), ["a.example/gone"]);
    let left = lines(&errors(&out, &["--json"]));
    assert!(left.iter().all(|m| m["url"] != "http://a.example/gone"), "{left:#?}");
    // It has all its tries again, and where the link stands is still known.
    errors(&out, &["--kind", "http-500", "--retry", "--json"]).ok().shows(&["\"changed\":1", "\"running\":false"]);
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
    errors(&out, &["--kind", "http-500", "--retry", "--json"]).ok().shows(&["\"changed\":1", "\"running\":true"]);
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
    finish(command.args(["--seed", "http://a.example/", "--time", "20s", "--store", &database, "--crawl", "errors"])).ok();
    let read = |args: &[&str]| finish(gleaner().args(["errors", "--store", &database, "--crawl", "errors"]).args(args));
    let all = lines(&read(&["--json"]));
    assert_eq!(all.len(), 5, "{all:#?}");
    assert!(all.iter().all(|m| m["at"].as_u64().is_some()), "{all:#?}");
    assert_eq!(lines(&read(&["--json", "--kind", "http-410"]))[0]["anchor"], "to gone");
    read(&["--retry"]).fails(2, &["--retry is for a collection in a folder"]);
}
