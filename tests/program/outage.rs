//! The network goes away, is not there at first, or leads where it must not: what nobody answered is not
//! lost.

use crate::common::{Ran, Running, file, finish, folder, gleaner, serve};
use madeup::{Log, SEEDS, Server, Site, Size};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

const TOPIC: &str = "name = 'All'\nquery = 'page'\n[fetch]\ndelay = '5ms'\n";

/// A folder with the topic.
fn scene() -> tempfile::TempDir {
    let dir = folder();
    file(dir.path(), "all.toml", TOPIC);
    dir
}

fn site() -> Site {
    Site::new(3, Size::Pages(700))
}

fn crawl(dir: &Path, resolve: &str, more: &[&str]) -> std::process::Command {
    let mut command = gleaner();
    command.args(["crawl", "all.toml", "--out", "all", "--strategy", "breadth-first", "--allow-private"]);
    command.args(["--resolve", resolve]).args(more).current_dir(dir);
    command
}

/// How the URLs stand, by outcome, and the pages.
fn outcomes(dir: &Path) -> (u64, BTreeMap<String, u64>) {
    let ran = finish(gleaner().args(["status", "all", "--json"]).current_dir(dir));
    let status: serde_json::Value = serde_json::from_str(&ran.ok().out).unwrap();
    let all: Vec<(String, u64)> = serde_json::from_value(status["outcomes"].clone()).unwrap();
    let all = all.into_iter().collect();
    (status["pages"].as_u64().unwrap(), all)
}

#[test]
fn an_outage_costs_time_and_no_urls() {
    let dir = scene();
    let d = dir.path();
    let web = Server::start(site(), "127.0.0.1:0".parse().unwrap(), Log::off()).unwrap();
    let (addr, resolve) = (web.addr(), web.resolve());
    let seeds: Vec<&str> = SEEDS.iter().flat_map(|s| ["--seed", *s]).collect();
    let running = Running::start(crawl(d, &resolve, &["--pages", "500", "-v"]).args(&seeds));
    let asked = |least: u64| {
        let end = Instant::now() + Duration::from_secs(60);
        while !d.join("all").exists() || outcomes(d).0 < least {
            assert!(Instant::now() < end, "fewer than {least} pages");
            std::thread::sleep(Duration::from_millis(100));
        }
    };
    asked(150);
    // For longer than all retries take.
    drop(web);
    std::thread::sleep(Duration::from_secs(12));
    let (before, gone) = outcomes(d);
    let lost = gone.get("unreachable").copied().unwrap_or(0);
    let _web = Server::start(site(), addr, Log::off()).unwrap();
    let ran = running.wait();
    assert!(ran.ok().err.contains("waiting for the network"), "{ran}");
    let (pages, after) = outcomes(d);
    assert!(pages > before + 100, "{pages} pages, {before} before");
    // Those asked for in the moment it broke may have been tried as often as they may.
    assert!(lost <= 4 && after.get("unreachable").copied().unwrap_or(0) <= 4, "{gone:?}, {after:?}");
}

#[test]
fn a_seed_that_nobody_answered_is_asked_for_again_by_the_same_command() {
    let dir = scene();
    let d = dir.path();
    let web = Server::start(site(), "127.0.0.1:0".parse().unwrap(), Log::off()).unwrap();
    let (addr, resolve) = (web.addr(), web.resolve());
    drop(web);
    let once = |more: &[&str]| -> Ran {
        finish(crawl(d, &resolve, &["--pages", "30", "--seed", SEEDS[0]]).args(more))
    };
    let ran = once(&[]);
    ran.fails(4, &["none of your 1 seeds answered", "no connection", "--retry"]);
    assert!(!ran.err.contains("robots"), "robots.txt has nothing to do with it: {ran}");
    assert_eq!(outcomes(d).1.get("unreachable"), Some(&1));
    let why = finish(gleaner().args(["explain", "all", SEEDS[0]]).current_dir(d));
    assert!(!why.out.contains("robots.txt forbids"), "{why}");
    let _web = Server::start(site(), addr, Log::off()).unwrap();
    once(&[]).ok();
    assert_eq!(outcomes(d).0, 30);
    assert_eq!(outcomes(d).1.get("unreachable").copied().unwrap_or(0), 0);
}

#[test]
fn what_gave_no_answer_is_asked_for_once_more_when_the_user_says_so() {
    let dir = scene();
    let d = dir.path();
    let web = serve(
        "== http://a.test/\n<title>A</title><a href='http://b.test/far'>far away</a>\n\
         == http://b.test/far\n<title>B</title><p>far away</p>\n",
    );
    // The second host is somewhere else for now.
    let mut first = crawl(d, "b.test:80:127.0.0.1:9", &["--resolve", &web.resolve()]);
    finish(first.args(["--seed", "http://a.test/"])).ok();
    assert_eq!((outcomes(d).0, outcomes(d).1.get("unreachable")), (1, Some(&1)));
    // Found on a page, not named by the user: the same command leaves it alone.
    finish(crawl(d, &web.resolve(), &[]).args(["--seed", "http://a.test/"])).ok();
    assert_eq!(outcomes(d).0, 1);
    finish(&mut crawl(d, &web.resolve(), &["--retry"])).ok();
    assert_eq!((outcomes(d).0, outcomes(d).1.get("unreachable")), (2, None));
    let why = finish(gleaner().args(["explain", "all", "http://b.test/far"]).current_dir(d));
    assert!(why.ok().out.contains("how it was judged") && why.out.contains("far away"), "{why}");
}

#[test]
fn what_the_guard_refuses_is_said_at_once() {
    let dir = scene();
    let d = dir.path();
    let mut command = gleaner();
    command.args([
        "crawl",
        "all.toml",
        "--out",
        "all",
        "--seed",
        "http://127.0.0.1:9/",
        "--contact",
        "a@b.example",
    ]);
    let began = Instant::now();
    finish(command.current_dir(d)).fails(4, &["guard"]);
    assert!(began.elapsed() < Duration::from_secs(8), "nobody was waited for: {:?}", began.elapsed());
    assert_eq!(outcomes(d).1.get("refused"), Some(&1));
}
