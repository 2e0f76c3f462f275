//! Shards that are loaded while the crawl goes on: the best first, nothing twice, nothing lost.

use crate::harness::*;
use crate::postgres::Server;
use crate::shared::{reader, server, shared};
use frontier::{Frontier, Limits};
use gleaner_store::{Fleet, Journal, Records, Shared, SharedOptions};
use std::collections::{BTreeSet, HashSet};
use std::path::Path;
use std::time::{Duration, Instant};
use types::{Candidate, Millis, Outcome, Turn, UrlId};

const HOSTS: u64 = 60;
const URLS: u64 = 24_000;

/// The n-th URL of the web; no two are worth the same.
fn nth(n: u64) -> Candidate {
    let host = n % HOSTS;
    let key = ((n + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 11) as f64 / (1u64 << 53) as f64;
    link(&format!("http://www.d{host}.example{host}.org/{n}"), key)
}

fn many(dir: &Path, worker: &str, limits: Limits) -> SharedOptions {
    SharedOptions { load_at_once: 400, lease: Duration::from_secs(2), ..shared(dir, worker, limits) }
}

/// A worker that has found everything and fetched a little of it.
fn filled(options: SharedOptions) -> Shared {
    let mut a = Shared::open(options, Millis(0)).unwrap();
    a.seed(seed("http://start.example/", 2.0), Millis(0)).unwrap();
    let links: Vec<Candidate> = (0..URLS).map(nth).collect();
    let mut parts = links.chunks(1_000);
    for part in &mut parts {
        a.visit(0, part);
    }
    a.sync().unwrap();
    a
}

/// One that has filled the crawl is gone without a word; its successor has these limits, and a part of it
/// all. The URLs there are, and those that were pending.
fn succeeded(dir: &Path, limits: Limits, now: u64) -> (Shared, u64, u64) {
    let mut a = filled(many(dir, "a", quick()));
    let (urls, pending) = (a.stats().unwrap().urls, a.stats().unwrap().pending);
    a.stop_renewing();
    drop(a);
    let mut b = Shared::open(many(dir, "a", limits), Millis(now)).unwrap();
    begun(&mut b);
    (b, urls, pending)
}

/// Tends until something is here and something is not.
fn begun(w: &mut Shared) {
    let end = Instant::now() + Duration::from_secs(20);
    while w.stats().unwrap().pending == 0 {
        assert!(Instant::now() < end && w.arriving() > 0, "{} shards to come", w.arriving());
        w.maintain(Millis(0), &best).unwrap();
    }
    assert!(w.arriving() > 0, "all of it is here already: the test shows nothing");
}

fn whole(workers: &mut [&mut Shared], urls: u64) {
    let end = Instant::now() + Duration::from_secs(30);
    let here = |w: &[&mut Shared]| w.iter().map(|w| w.stats().unwrap().urls).sum::<u64>();
    while workers.iter().any(|w| w.arriving() > 0) || here(workers) < urls {
        assert!(Instant::now() < end, "{} of {urls} URLs are here", here(workers));
        for w in workers.iter_mut() {
            w.maintain(Millis(0), &best).unwrap();
        }
    }
    assert_eq!(here(workers), urls);
    workers.iter().for_each(|w| w.check().unwrap());
}

#[test]
fn the_crawl_goes_on_in_its_order_before_all_is_here() {
    if server().is_none() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let mut a = filled(many(dir.path(), "a", quick()));
    let (urls, pending) = (a.stats().unwrap().urls, a.stats().unwrap().pending);
    // What it would have fetched next.
    let order: Vec<String> =
        a.peek(Millis(0), None, 40).iter().map(|p| a.url(p.id).unwrap().to_string()).collect();
    a.stop_renewing();
    drop(a);

    let mut b = Shared::open(many(dir.path(), "a", quick()), Millis(0)).unwrap();
    begun(&mut b);
    // Each page has links to a page that is known but not here, to one that is new, and to itself.
    let mut fetched = Vec::new();
    for n in 0..order.len() as u64 {
        let fresh = link(&format!("http://www.d1.example1.org/new/{n}"), 1e-9);
        let known = Candidate { anchor: "again".into(), ..nth(URLS - 1 - n) };
        let lease = b.lease_at(0).unwrap();
        fetched.push(lease.url.to_string());
        let add = [fresh, known, link(lease.url.as_str(), 0.1)];
        let add = add.into_iter().map(|l| Candidate { parent: Some(lease.id), ..l }).collect();
        let record = Some(record(lease.id, lease.url.as_str()));
        b.apply(Turn { add, record, ..done(lease.id, Outcome::Fetched, 0) }, &best).unwrap();
    }
    assert!(b.arriving() > 0, "it has not come meanwhile");
    assert_eq!(fetched, order);
    b.sync().unwrap();

    let more = order.len() as u64;
    whole(&mut [&mut b], urls + more);
    assert_eq!(b.stats().unwrap().pending, pending, "as many new ones as were fetched");
    let again = b.find(&nth(URLS - 1).url).unwrap().unwrap();
    let end = Instant::now() + Duration::from_secs(10);
    while b.sources(again).unwrap().get(1).is_none_or(|s| &*s.anchor != "again") {
        assert!(Instant::now() < end, "what was found meanwhile: {:?}", b.sources(again).unwrap());
        b.maintain(Millis(0), &best).unwrap();
    }
    // To the very end: every URL once.
    let mut met: HashSet<String> = fetched.into_iter().collect();
    while let Some(lease) = b.lease_at(0) {
        assert!(met.insert(lease.url.to_string()), "{} a second time", lease.url);
        b.apply(done(lease.id, Outcome::Fetched, 0), &best).unwrap();
    }
    assert_eq!(met.len() as u64, pending + more);
    b.sync().unwrap();
    let r = reader(dir.path());
    r.check().unwrap();
    assert_eq!((r.stats().unwrap().urls, r.stats().unwrap().pending), (urls + more, 0));
}

#[test]
fn what_was_meant_to_be_fetched_next_is_there_first() {
    if server().is_none() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    // So few at once that no search is made for the best. Hosts that wait for their turn count like all
    // others.
    let slow = || Limits { delay_ms: 60_000, ..quick() };
    let few = || SharedOptions { load_at_once: 3, ..many(dir.path(), "a", slow()) };
    let top =
        |w: &mut Shared| -> Vec<UrlId> { w.peek(Millis(200_000), None, 500).iter().map(|p| p.id).collect() };
    let mut a = filled(few());
    a.maintain(Millis(0), &best).unwrap();
    let (urls, order) = (a.stats().unwrap().urls, top(&mut a));
    drop(a);
    let mut b = Shared::open(few(), Millis(0)).unwrap();
    while top(&mut b) != order {
        assert!(b.arriving() > 50, "the best came late: {} shards to come", b.arriving());
        b.maintain(Millis(0), &best).unwrap();
    }
    whole(&mut [&mut b], urls);
    drop(b);
    // Hints are only hints.
    let sql = |set: &str| {
        server().unwrap().sql(&format!("UPDATE gleaner.state SET bytes = {set} WHERE name = 'next'"))
    };
    for nonsense in ["'\\x00'", "decode(repeat('ff00', 3000), 'hex')", "substr(bytes, 2)", "''"] {
        sql(nonsense);
        let mut b = Shared::open(few(), Millis(0)).unwrap();
        whole(&mut [&mut b], urls);
    }
}

#[test]
fn what_is_on_its_way_can_be_handed_on() {
    if server().is_none() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let (mut b, urls, pending) = succeeded(dir.path(), quick(), 0);
    // A third joins while half of it is under way.
    let mut c = Shared::open(many(dir.path(), "c", quick()), Millis(0)).unwrap();
    // Time to look up from its work: it finds that it is not alone.
    std::thread::sleep(Duration::from_millis(400));
    let coming = b.arriving();
    b.maintain(Millis(0), &best).unwrap();
    assert!(b.arriving() > 0 && b.arriving() < coming - 64, "{} of {coming}", b.arriving());
    whole(&mut [&mut b, &mut c], urls);
    assert!(b.stats().unwrap().urls > 0 && c.stats().unwrap().urls > 0);
    assert_eq!(b.stats().unwrap().pending + c.stats().unwrap().pending, pending);
    reader(dir.path()).check().unwrap();
    // And it ends while half of that is under way.
    c.stop_renewing();
    drop(c);
    let mut c = Shared::open(many(dir.path(), "c", quick()), Millis(0)).unwrap();
    assert!(c.arriving() > 0);
    c.close().unwrap();
    drop(c);
    whole(&mut [&mut b], urls);
    assert_eq!(b.stats().unwrap().pending, pending);
}

#[test]
fn hosts_rest_although_they_were_handed_on_before_they_were_here() {
    if server().is_none() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let slow = || Limits { delay_ms: 60_000, use_robots: false, ..Limits::default() };
    let a = filled(many(dir.path(), "a", quick()));
    // Gone without a word: any host may have been contacted a moment ago.
    drop(a);
    let mut b = Shared::open(many(dir.path(), "a", slow()), Millis(5_000)).unwrap();
    assert!(b.arriving() > 0);
    b.close().unwrap();
    drop(b);
    let mut c = Shared::open(many(dir.path(), "c", slow()), Millis(6_000)).unwrap();
    begun(&mut c);
    assert!(c.lease_at(65_000).is_none(), "not before a minute is over");
    let urls = c.stats().unwrap().urls;
    whole(&mut [&mut c], urls.max(URLS + 1));
    assert!(c.lease_at(65_000).is_none());
    assert!(c.lease_at(66_000).is_some());
}

#[test]
fn a_host_that_has_had_its_pages_gets_no_more_of_what_comes_late() {
    if server().is_none() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let (mut b, urls, _) = succeeded(dir.path(), Limits { pages_per_host: Some(2), ..quick() }, 0);
    let mut fetched = 0;
    while b.lease_at(0).is_some_and(|l| b.apply(done(l.id, Outcome::Fetched, 0), &best).is_ok()) {
        fetched += 1;
    }
    assert!(b.arriving() > 0 && fetched > 0, "{fetched}");
    whole(&mut [&mut b], urls);
    while b.lease_at(0).is_some_and(|l| b.apply(done(l.id, Outcome::Fetched, 0), &best).is_ok()) {}
    b.sync().unwrap();
    assert_eq!(b.stats().unwrap().pending, 0, "nothing waits for ever");
    let r = reader(dir.path());
    let most: BTreeSet<u64> = r.hosts().unwrap().into_iter().map(|h| h.clock.pages).collect();
    assert!(most.last().is_some_and(|m| *m <= 26), "two, and what the first worker had: {most:?}");
    r.check().unwrap();
}

#[test]
fn a_line_that_is_cut_meanwhile_is_taken_up_again() {
    let Some(own) = Server::start(false) else { return };
    let dir = tempfile::tempdir().unwrap();
    let options = |name: &str| SharedOptions {
        load_at_once: 400,
        key: Some((1, 2)),
        database_time: false,
        ..SharedOptions::new(&own.url(), "cut", name, dir.path().join(name), quick())
    };
    let a = filled(options("a"));
    let (urls, pending) = (a.stats().unwrap().urls, a.stats().unwrap().pending);
    drop(a);
    let mut b = Shared::open(options("a"), Millis(0)).unwrap();
    begun(&mut b);
    for _ in 0..3 {
        own.sql(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = \
                 'gleaner'",
        );
        let _ = b.maintain(Millis(0), &best);
        std::thread::sleep(Duration::from_millis(30));
    }
    whole(&mut [&mut b], urls);
    assert_eq!(b.stats().unwrap().pending, pending);
}

#[test]
fn a_host_that_is_given_up_meanwhile_is_given_up_whole() {
    if server().is_none() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let (mut b, urls, _) = succeeded(dir.path(), Limits { host_failures: 1, ..quick() }, 5_000);
    let lease = b.lease_at(5_000).unwrap();
    let host = types::HostUpdate { failed: Some(true), ..contact(5_001) };
    let turn =
        Turn { host, ..Turn::new(types::Settle::Done { id: lease.id, outcome: Outcome::Unreachable }) };
    b.apply(turn, &best).unwrap();
    assert!(b.arriving() > 0);
    whole(&mut [&mut b], urls);
    let name = lease.url.host_key().to_string();
    let left = b.hosts().unwrap().into_iter().find(|h| h.name == name).map(|h| h.pending);
    assert_eq!(left, Some(0), "nothing is left of {name}");
    assert!(b.stats().unwrap().pending > 0);
}

#[test]
fn no_free_connection_is_waited_for_while_the_crawl_goes_on() {
    let Some(own) = Server::start(false) else { return };
    own.sql("CREATE ROLE few LOGIN; CREATE SCHEMA gleaner AUTHORIZATION few");
    let dir = tempfile::tempdir().unwrap();
    let options = SharedOptions {
        load_at_once: 400,
        key: Some((1, 2)),
        database_time: false,
        patience: Duration::from_secs(1),
        ..SharedOptions::new(
            &own.url().replace("gleaner@", "few@"),
            "few",
            "a",
            dir.path().join("a"),
            quick(),
        )
    };
    let a = filled(options.clone());
    let urls = a.stats().unwrap().urls;
    drop(a);
    // One to work and one for the heartbeat.
    own.sql("ALTER ROLE few CONNECTION LIMIT 2");
    let mut b = Shared::open(options, Millis(0)).unwrap();
    let end = Instant::now() + Duration::from_secs(3);
    while Instant::now() < end {
        b.maintain(Millis(0), &best).unwrap();
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!((b.arriving(), b.stats().unwrap().urls), (256, 0), "longer than its patience");
    own.sql("ALTER ROLE few CONNECTION LIMIT -1");
    whole(&mut [&mut b], urls);
}
