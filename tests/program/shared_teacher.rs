//! A language model that teaches a crawl of several workers: they take turns within one budget, all of them
//! learn from every answer, and one that dies loses its turn. The real program, a real PostgreSQL, an
//! endpoint of the real protocol. Loopback only.

use crate::common::campus::{self, html, serve};
use crate::common::{Running, finish, folder, gleaner};
use crate::support::endpoint::{Asked, Does, Endpoint};
use crate::support::postgres::Server;
use serde_json::Value;
use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Twelve campuses, each a domain with words of its own; the first page of the first one leads to all.
fn campuses(slow: Duration) -> SocketAddr {
    campuses_with_gate(slow, Arc::default())
}

/// The same; while the gate is shut, no page is answered.
fn campuses_with_gate(slow: Duration, shut: Arc<AtomicBool>) -> SocketAddr {
    serve(move |host, target, _| {
        while shut.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(10));
        }
        let name = host.split('.').next().unwrap_or_default();
        let own: String = (0..30).map(|i| format!("{name}word{i}x{target} ")).collect();
        if target != "/robots.txt" {
            std::thread::sleep(slow);
        }
        let page = match target {
            "/" => {
                let others: String = (0..12)
                    .map(|i| format!("<p><a href=\"http://c{i}.example/all\">campus {i}</a></p>"))
                    .collect();
                Some(html("All campuses", &others))
            }
            "/all" => campus::page("/"),
            _ => campus::page(target),
        };
        match page {
            Some(body) => {
                let body = body.replace("</main>", &format!("<p>{own}</p></main>"));
                (200, String::new(), "text/html; charset=utf-8", body)
            }
            None => (404, String::new(), "text/html", "no".into()),
        }
    })
}

fn topic(dir: &Path, model: &Endpoint, more: &str) {
    let text = campus::TOPIC.replace("kind = \"genre\"\nthreshold = \"auto\"     # or a number", "");
    let text = format!("{text}\n[teacher]\nurl = \"{}\"\nmodel = \"tiny\"\n{more}\n", model.url());
    std::fs::write(dir.join("t.toml"), text).unwrap();
}

fn worker(dir: &Path, web: SocketAddr, server: &Server, name: &str) -> Command {
    let mut command = gleaner();
    command.current_dir(dir).args(["crawl", "t.toml", "--seed", "http://c0.example/", "--out", name]);
    command.args(["--store", &server.url(), "--crawl", "taught", "--lease", "3s"]);
    command.args(["--resolve", &format!("*:{web}"), "--allow-private"]);
    // Whoever asks is known by its key.
    command.env("GLEANER_TEACHER_KEY", name).env("NO_COLOR", "1");
    command
}

fn cli(server: &Server, args: &[&str]) -> String {
    let mut command = gleaner();
    command.args(args).args(["--store", &server.url(), "--crawl", "taught"]).env("NO_COLOR", "1");
    finish(&mut command).ok().out.clone()
}

fn wants_databases(asked: &Asked) -> Does {
    Does::Says(asked.each(|p| if p.url.contains("/db") { "yes" } else { "no" }))
}

fn until(what: &str, done: impl Fn() -> bool) {
    let give_up = Instant::now() + Duration::from_secs(100);
    while !done() {
        assert!(Instant::now() < give_up, "not {what} after 100 seconds");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn keys(model: &Endpoint) -> BTreeSet<String> {
    model.asked().iter().map(|a| a.authorization.clone()).collect()
}

#[test]
fn workers_take_turns_within_one_budget_and_all_learn() {
    let Some(server) = Server::start(false) else { return };
    let dir = folder();
    let d = dir.path();
    let (busy, at_once) = (AtomicBool::new(false), Arc::new(AtomicUsize::new(0)));
    let overlaps = at_once.clone();
    let model = Endpoint::start(move |asked| {
        overlaps.fetch_add(usize::from(busy.swap(true, Ordering::SeqCst)), Ordering::SeqCst);
        let answer = wants_databases(asked);
        busy.store(false, Ordering::SeqCst);
        answer
    });
    topic(d, &model, "calls = 9\nbatch = 4\nevery = 8\nwait = \"60s\"");
    let web = campuses(Duration::from_millis(40));
    let workers = ["w1", "w2"].map(|name| Running::start(&mut worker(d, web, &server, name)));
    for w in workers {
        let ran = w.wait();
        assert!(ran.ok().err.contains("the workers of this crawl take turns"), "{ran}");
        assert!(ran.err.contains("at most 9 requests"), "{ran}");
    }
    assert_eq!(at_once.load(Ordering::SeqCst), 0, "one worker asks at a time");
    let asked = model.asked();
    assert_eq!(asked.len(), 9, "one budget for all");
    let both: BTreeSet<String> = ["Bearer w1", "Bearer w2"].map(String::from).into();
    assert_eq!(keys(&model), both, "both had their turn");
    let urls = model.urls();
    let once: BTreeSet<&String> = urls.iter().collect();
    assert_eq!(once.len(), urls.len(), "no page is asked about twice");

    // Who reads is told the same: the budget, and every label as the model's.
    let status: Value = serde_json::from_str(&cli(&server, &["status", "--json"])).unwrap();
    let spent = &status["teacher"]["spent"];
    assert_eq!((&spent["calls"], &spent["tokens"]), (&9.into(), &900.into()), "{status}");
    assert_eq!(spent["questions"], urls.len());
    let labels = cli(&server, &["label", "--json"]);
    let labels: Vec<Value> = labels.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    assert!(labels.len() >= 9 && labels.iter().all(|l| l["by"] == "model"), "{labels:?}");
    for l in &labels {
        assert_eq!(l["label"], l["url"].as_str().unwrap().contains("/db"), "{l}");
    }
    // Each of the workers has learnt all of it, whoever had asked.
    let heard = "SELECT count(*) FROM gleaner.worker w WHERE applied = (SELECT n FROM gleaner.steering)";
    assert_eq!(server.sql(heard), "2");
    let kept = server.sql("SELECT sum(length(bytes)) FROM gleaner.state WHERE name = 'labels' GROUP BY slot");
    assert_eq!(kept, format!("{0}\n{0}", 5 * labels.len()));
    let pages = cli(&server, &["export", "--format", "jsonl", "--copies"]);
    let found: BTreeSet<String> = pages
        .lines()
        .map(|l| serde_json::from_str::<Value>(l).unwrap()["url"].as_str().unwrap().to_string())
        .collect();
    let right = found.iter().filter(|u| u.contains("/db")).count();
    assert!(right >= 20 && 5 * (found.len() - right) <= right, "{right} of {}", found.len());

    // A person's word stands above the model's; taken back, the model's counts again; taken back once more,
    // none.
    let one = labels.iter().find(|l| l["label"] == true).unwrap()["url"].as_str().unwrap();
    let said = || {
        let all = cli(&server, &["label", "--json"]);
        let line = all.lines().find(|l| l.contains(&format!("\"{one}\""))).map(str::to_string);
        line.map(|l| serde_json::from_str::<Value>(&l).unwrap())
            .map(|l| (l["label"].clone(), l["by"].clone()))
    };
    cli(&server, &["label", one, "--no"]);
    assert_eq!(said(), Some((false.into(), "person".into())));
    cli(&server, &["label", one, "--clear"]);
    assert_eq!(said(), Some((true.into(), "model".into())));
    cli(&server, &["label", one, "--clear"]);
    assert_eq!(said(), None);
    // A worker that joins takes all of it over, and asks nothing: the budget is used up.
    finish(&mut worker(d, web, &server, "w3")).ok();
    assert_eq!(model.asked().len(), 9);
    assert_eq!(server.sql("SELECT count(DISTINCT slot) FROM gleaner.state WHERE name = 'labels'"), "2");
}

#[test]
fn a_worker_that_is_killed_while_it_asks_loses_its_turn_and_what_it_spent_stays_spent() {
    let Some(server) = Server::start(false) else { return };
    let dir = folder();
    let d = dir.path();
    // Whoever asks first never gets an answer.
    let first = Mutex::new(None);
    let model = Endpoint::start(move |asked| {
        let mut first = first.lock().unwrap();
        if *first.get_or_insert_with(|| asked.authorization.clone()) == asked.authorization {
            return Does::Waits(Duration::from_secs(600));
        }
        wants_databases(asked)
    });
    topic(d, &model, "calls = 4\nbatch = 3\nevery = 5\nwait = \"60s\"\ntimeout = \"600s\"");
    let shut = Arc::new(AtomicBool::new(true));
    let web = campuses_with_gate(Duration::from_millis(100), shut.clone());
    let workers = ["w1", "w2"].map(|name| (name, Running::start(&mut worker(d, web, &server, name))));
    // However slow this machine is, neither worker finishes the crawl before the other has its share.
    until("making tables", || server.sql("SELECT to_regclass('gleaner.outbox') IS NOT NULL") == "t");
    until("sharing", || server.sql("SELECT count(DISTINCT owner) FROM gleaner.shard") == "2");
    shut.store(false, Ordering::SeqCst);
    until("asked", || !model.asked().is_empty());
    until("both at work", || server.sql("SELECT count(*) FROM gleaner.worker WHERE pages > 3") == "2");
    assert_eq!(keys(&model).len(), 1, "the seat is taken");
    let asker = model.asked()[0].authorization.replace("Bearer ", "");
    let (mut killed, mut left): (Vec<_>, Vec<_>) = workers.into_iter().partition(|(name, _)| *name == asker);
    let ((_, mut killed), (left_name, left)) = (killed.remove(0), left.remove(0));
    killed.signal("KILL");
    let _ = killed.child.wait();
    let ran = left.wait();
    ran.ok();
    let second = format!("Bearer {left_name}");
    let of_second = model.asked().iter().filter(|a| a.authorization == second).count();
    assert_eq!((model.asked().len(), of_second), (4, 3), "what was sent is spent");
    let status: Value = serde_json::from_str(&cli(&server, &["status", "--json"])).unwrap();
    assert_eq!(status["teacher"]["spent"]["calls"], 4, "{status}");
    assert_eq!(status["teacher"]["spent"]["questions"], 9, "{status}");
    let labels = cli(&server, &["label", "--json"]);
    assert!(
        labels.lines().count() >= 3 && labels.lines().all(|l| l.contains("\"by\":\"model\"")),
        "{labels}"
    );
}

#[test]
fn a_broken_teacher_costs_a_shared_crawl_nothing() {
    let Some(server) = Server::start(false) else { return };
    let dir = folder();
    let d = dir.path();
    let model =
        Endpoint::start(|_| Does::Replies(200, "", "text/html", "<!doctype html><p>Please sign in".into()));
    topic(d, &model, "calls = 30\nbatch = 4\nevery = 5\nwait = \"60s\"");
    let web = campuses(Duration::ZERO);
    let workers = ["w1", "w2"].map(|name| Running::start(&mut worker(d, web, &server, name)));
    let said: String = workers.into_iter().map(|w| w.wait().ok().err.clone()).collect();
    assert!(said.contains("but a Web page") && said.contains("the crawl goes on with what it has"), "{said}");
    assert_eq!(server.sql("SELECT sum(pages) FROM gleaner.worker"), "373");
    // While one leaves it alone, so does the other.
    let calls = model.asked().len();
    assert!((1..=12).contains(&calls), "{calls} requests");
    let status: Value = serde_json::from_str(&cli(&server, &["status", "--json"])).unwrap();
    assert_eq!(status["teacher"]["spent"]["calls"], calls, "{status}");
}
