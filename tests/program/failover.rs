//! A database that is two machines: the primary dies in mid-crawl and the standby takes over. And what stands
//! between us and a database: a pooler.
//!
//! Real PostgreSQL clusters with streaming replication, three workers. `GLEANER_LONG=1` (`./test long`) does
//! it several times in one crawl, back and forth, and prints what was lost.

use super::shared::{
    Blow, CONCURRENCY, DELAY_MS, archived_twice, exported, polite, relevant_in, sound, worker,
};
use crate::common::endurance::{self, now_ms, topic};
use crate::common::{DemoServer, Ran, Rng, Running, file, finish, folder, gleaner, long, run, until};
use crate::support::line::Line;
use crate::support::postgres::{Bouncer, Server};
use madeup::{Entry, read_log};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use store::{Records, SharedReader};

/// Are commits on both machines before they count?
#[derive(Clone, Copy, PartialEq)]
enum Replication {
    Synchronous,
    Asynchronous,
}

#[test]
fn a_standby_that_takes_over_has_all_that_was_committed() {
    failover(Replication::Synchronous);
}

#[test]
fn what_an_asynchronous_standby_does_not_have_is_found_again() {
    failover(Replication::Asynchronous);
}

fn number(server: &Server, sql: &str) -> u64 {
    server.sql(sql).parse().unwrap()
}

fn pages(server: &Server) -> BTreeSet<String> {
    let sql = "SELECT s.url FROM gleaner.page p JOIN gleaner.sight s USING (crawl, id) WHERE s.n = 0";
    server.sql(sql).lines().map(str::to_string).collect()
}

fn count(server: &Server) -> u64 {
    match server.sql("SELECT to_regclass('gleaner.page') IS NOT NULL").as_str() {
        "t" => number(server, "SELECT count(*) FROM gleaner.page"),
        _ => 0,
    }
}

/// Waits for a worker as long as pages come: a busy machine is slow, not stuck.
fn to_the_end(mut worker: Running, server: &Server) -> Ran {
    let (mut at, mut since) = (count(server), Instant::now());
    while worker.child.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(200));
        let now = count(server);
        if now != at {
            (at, since) = (now, Instant::now());
        }
        assert!(since.elapsed() < Duration::from_secs(150), "no page for so long, and it does not end");
    }
    worker.wait()
}

fn failover(replication: Replication) {
    let Some(mut primary) = Server::start(false) else { return };
    let rounds = if long() { 6 } else { 1 };
    let dir = folder();
    let size = if long() { 6_000 } else { 500 };
    let topic = file(dir.path(), "topic.toml", &topic());
    let calm_web = DemoServer::start(&dir.path().join("calm.log"), Some(size));
    let calm = Running::start(&mut super::shared::crawl(&calm_web, &topic, &dir.path().join("calm")));

    // What the standby gets goes through a line that can be cut: then it is behind.
    let mut copying = Line::to(primary.port);
    let mut standby = Server::standby_of(copying.port, None);
    let ports = [primary.port, standby.port];
    let store = format!(
        "postgres://gleaner@127.0.0.1:{},127.0.0.1:{}/postgres?target_session_attrs=read-write",
        ports[0], ports[1]
    );
    let web = DemoServer::start(&dir.path().join("web.log"), Some(size));
    let out = |n: usize| dir.path().join(format!("w{n}"));
    let workers: Vec<Running> = (0..3)
        .map(|n| Running::start(&mut worker(&web, &topic, &out(n), &store, &format!("w{n}"))))
        .collect();
    let (mut lost_in_all, mut failovers, mut turns) = (0, 0, Vec::new());
    for round in 1..=rounds {
        if replication == Replication::Synchronous {
            primary.sql("ALTER SYSTEM SET synchronous_standby_names = '*'");
            primary.sql("SELECT pg_reload_conf()");
            let both = "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'";
            until("the standby is synchronous", || number(&primary, both) == 1);
        }
        let at = count(&primary);
        until("the crawl gets on", || count(&primary) >= at + 60);
        if replication == Replication::Asynchronous {
            let there = "SELECT count(*) FROM pg_stat_replication";
            until("the standby follows", || number(&primary, there) == 1);
            copying.cut();
            let at = count(&primary);
            until("the standby is behind", || count(&primary) >= at + 30);
        }
        // Another session sees a commit only when it is where it must be.
        let seen = pages(&primary);
        let killed = now_ms();
        primary.kill();
        standby.promote();
        failovers += 1;
        let there = pages(&standby);
        let lost = seen.difference(&there).count();
        println!(
            "failover {round}: {} pages were committed, {lost} of them are not on the new primary",
            seen.len()
        );
        match replication {
            Replication::Synchronous => assert_eq!(lost, 0, "committed and gone"),
            Replication::Asynchronous => assert!(lost >= 20, "the standby was not behind: {lost}"),
        }
        lost_in_all += lost as u64;
        // The dead one comes back as a standby of the other.
        let port = primary.port;
        primary = standby;
        // Whoever has joined it goes on from there.
        let at = count(&primary);
        until("the workers go on", || count(&primary) >= at + 10);
        turns.push(Turn { killed, went_on: now_ms(), left: there.len() as u64 });
        copying = Line::to(primary.port);
        standby = Server::standby_of(copying.port, Some(port));
    }
    for ran in workers.into_iter().map(|w| to_the_end(w, &primary)) {
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        assert!(!ran.err.contains("panicked"), "{}", ran.err);
    }

    sound(&primary);
    let twice =
        "SELECT count(*) FROM (SELECT id FROM gleaner.url GROUP BY crawl, id HAVING count(*) > 1) AS t";
    assert_eq!(number(&primary, twice), 0, "two URLs have one number");
    let reader = SharedReader::open(&store, Some("demo")).unwrap();
    assert_eq!(reader.stats().unwrap().pending, 0, "crawled to the end");
    calm.wait().ok();
    let (wanted, found) =
        (relevant_in(&dir.path().join("calm")), exported(&["--store", &store, "--crawl", "demo"]));
    let missing: Vec<_> = wanted.difference(&found).collect();
    let extra: Vec<_> = found.difference(&wanted).collect();
    assert!(missing.is_empty() && extra.is_empty(), "missing {missing:?}, extra {extra:?}");
    run(["check", "--store", &store, "--crawl", "demo"]).ok().shows(&["nothing is wrong"]);

    let log = read_log(&web.log).unwrap_or_else(|p| panic!("{p}"));
    polite_between(&log, &turns);
    let folders: Vec<PathBuf> = (0..3).map(out).collect();
    let again = archived_twice(&reader, &folders);
    println!(
        "{failovers} failovers: {lost_in_all} pages lost and found again, {again} archived more than once"
    );
    // What was in flight is fetched again; and what was fetched until the workers had the new primary and is
    // not on it, which with synchronous replication is no more than what was in flight.
    let gone = |t: &Turn| {
        let fetched = log.iter().filter(|e| e.path != "/robots.txt" && e.arrived <= t.went_on).count();
        (fetched as u64).saturating_sub(t.left)
    };
    let lost = match replication {
        Replication::Synchronous => 0,
        Replication::Asynchronous => turns.iter().map(gone).sum(),
    };
    assert!(
        again <= lost + (failovers + 1) * 4 * CONCURRENCY,
        "{again} pages are archived twice, {lost} lost"
    );
}

/// One failover: when the primary was killed, when the workers went on with the standby, and how many pages
/// were there.
struct Turn {
    killed: u64,
    went_on: u64,
    left: u64,
}

/// As everywhere, one request at a time for a host. Only while the workers change to the standby, a request
/// that is still in flight does not keep whoever has the host now from beginning with it (docs/scale.md); the
/// pause between the beginnings holds all the same.
fn polite_between(log: &[Entry], turns: &[Turn]) {
    endurance::polite(log, DELAY_MS, |a, _| {
        let changing = |t: &Turn| a.finished >= t.killed && a.arrived <= t.went_on;
        if turns.iter().any(changing) { a.arrived } else { a.finished }
    });
}

// ---- a worker dies again and again ------------------------------------------------------------------------

#[test]
fn a_worker_that_is_killed_again_and_again_loses_nothing() {
    let Some(server) = Server::start(false) else { return };
    let (kills, size): (u64, u64) = if long() { (200, 6_000) } else { (4, 300) };
    let dir = folder();
    let topic = file(dir.path(), "topic.toml", &topic());
    let calm_web = DemoServer::start(&dir.path().join("calm.log"), Some(size as usize));
    let calm = Running::start(&mut super::shared::crawl(&calm_web, &topic, &dir.path().join("calm")));
    let web = DemoServer::start(&dir.path().join("web.log"), Some(size as usize));
    let start = |n: u64| {
        let name = format!("w{}", n % 2);
        (Running::start(&mut worker(&web, &topic, &dir.path().join(&name), &server.url(), &name)), name)
    };
    let (mut rng, mut blows, mut early) = (Rng(17), Vec::new(), 0);
    for n in 0..kills {
        // One of two, beside the other or alone; while it joins, loads, crawls or commits.
        let before = count(&server);
        let mut dying = vec![start(n)];
        if n % 5 == 0 {
            dying.push(start(n + 1));
        }
        // Every third while it joins and loads, the others after some pages more.
        let more = if n % 3 == 0 { 0 } else { 1 + rng.below(size / kills / 2) };
        until("the crawl gets on", || count(&server) >= before + more);
        std::thread::sleep(Duration::from_millis(rng.below(300)));
        for (running, name) in &mut dying {
            assert!(
                running.child.try_wait().unwrap().is_none(),
                "kill {n}: the crawl is done: its web is too small"
            );
            running.signal("KILL");
            blows.push(Blow { agent: name.clone(), at: now_ms() });
            let _ = running.child.wait();
        }
        early += u64::from(count(&server) == before);
        if count(&server) > 0 {
            sound(&server);
        }
    }
    let at_last = count(&server);
    to_the_end(start(0).0, &server).ok();
    sound(&server);
    calm.wait().ok();
    let store = server.url();
    let (wanted, found) =
        (relevant_in(&dir.path().join("calm")), exported(&["--store", &store, "--crawl", "demo"]));
    assert_eq!(wanted.difference(&found).collect::<Vec<_>>(), Vec::<&String>::new(), "missing");
    assert_eq!(found.difference(&wanted).collect::<Vec<_>>(), Vec::<&String>::new(), "extra");
    polite(&read_log(&web.log).unwrap_or_else(|p| panic!("{p}")), &blows);
    println!(
        "{} kills, {early} before a page was committed, the last after {at_last} pages; nothing is missing",
        blows.len()
    );
}

// ---- a pooler ---------------------------------------------------------------------------------------------

#[test]
fn a_pooler_may_lend_sessions_but_not_transactions() {
    let Some(server) = Server::start(false) else { return };
    let dir = folder();
    let topic = file(dir.path(), "topic.toml", &topic());
    let web = DemoServer::start(&dir.path().join("web.log"), Some(300));
    let crawl = |store: &str, name: &str| {
        let mut command = worker(&web, &topic, &dir.path().join(name), store, name);
        finish(command.args(["--pages", "20"]))
    };
    for mode in ["transaction", "statement"] {
        let Some(pooler) = Bouncer::start(&server, mode) else { return };
        let says = ["cannot be used through this pooler", "pool_mode = session"];
        crawl(&pooler.url(), "w1").fails(1, &says);
        let status = finish(gleaner().args(["status", "--store", &pooler.url()]));
        status.fails(1, &says);
        assert_eq!(server.sql("SELECT to_regnamespace('gleaner') IS NULL"), "t", "{mode}: nothing was made");
    }
    let Some(pooler) = Bouncer::start(&server, "session") else { return };
    crawl(&pooler.url(), "w1").ok();
    sound(&server);
    run(["status", "--store", &pooler.url(), "--crawl", "demo"]).ok().shows(&["pages"]);
    // Straight to the server, beside it.
    crawl(&server.url(), "w2").ok();
}
