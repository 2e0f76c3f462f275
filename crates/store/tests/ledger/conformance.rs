//! What every ledger must do, whatever it is kept on. A new store adds one line to `suite!` at the end.

use crate::harness::*;
use crate::shared::{server, shared};
use frontier::{Clock, Frontier, Idle, Info, Limits, Next, Patience, Pick, Refusal, State};
use gleaner_store::ledger::{FileLog, Ledger, MemLog};
use gleaner_store::{Fleet, Journal, Records, Revision, Shared, SharedOptions, Which};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use types::{
    Candidate, HostUpdate, LinkKind, Millis, Outcome, Priority, Rescored, RobotsAnswer, Settle, Source,
    StateKey, Task, Turn, UrlId, Verdict,
};

/// A place to keep ledgers: makes one, and opens the same one again.
pub trait Place {
    type L: Frontier + Records + Journal;
    fn open(&mut self, limits: Limits, now: u64) -> Self::L;
    /// Writes whatever makes the next start fast, if there is such a thing.
    fn checkpoint(l: &mut Self::L);
    /// Can what was closed be opened again?
    const KEEPS: bool = true;
    /// Is what it needs installed?
    fn is_there() -> bool {
        true
    }
}

#[derive(Default)]
pub struct Memory;
impl Place for Memory {
    type L = Ledger<MemLog>;
    fn open(&mut self, limits: Limits, _now: u64) -> Self::L {
        Ledger::in_memory(limits)
    }
    fn checkpoint(l: &mut Self::L) {
        l.checkpoint().unwrap();
    }
    const KEEPS: bool = false;
}

pub struct Folder(tempfile::TempDir);
impl Default for Folder {
    fn default() -> Self {
        Folder(tempfile::tempdir().unwrap())
    }
}
impl Place for Folder {
    type L = Ledger<FileLog>;
    fn open(&mut self, limits: Limits, now: u64) -> Self::L {
        Ledger::open(self.0.path(), options(limits), Millis(now)).unwrap()
    }
    fn checkpoint(l: &mut Self::L) {
        l.checkpoint().unwrap();
    }
}

#[derive(Default)]
pub struct Crashing(CrashLog);
impl Place for Crashing {
    type L = Ledger<CrashLog>;
    fn open(&mut self, limits: Limits, now: u64) -> Self::L {
        open(&self.0, limits, now)
    }
    fn checkpoint(l: &mut Self::L) {
        l.checkpoint().unwrap();
    }
}

/// A crawl of its own in one database. Of more URLs than `AT_ONCE` everything comes while the crawl goes on,
/// as after a take-over of millions of them; here it has come.
pub struct Postgres<const AT_ONCE: u32>(tempfile::TempDir);
impl<const AT_ONCE: u32> Default for Postgres<AT_ONCE> {
    fn default() -> Self {
        Postgres(tempfile::tempdir().unwrap())
    }
}
impl<const AT_ONCE: u32> Place for Postgres<AT_ONCE> {
    type L = Shared;
    fn open(&mut self, limits: Limits, now: u64) -> Self::L {
        let options = SharedOptions { load_at_once: AT_ONCE, ..shared(self.0.path(), "one", limits) };
        let mut all = Shared::open(options, Millis(now)).unwrap();
        let end = Instant::now() + Duration::from_secs(30);
        while all.arriving() > 0 {
            assert!(Instant::now() < end, "{} shards do not come", all.arriving());
            all.maintain(Millis(now), &best).unwrap();
        }
        all
    }
    fn checkpoint(l: &mut Self::L) {
        l.sync().unwrap();
    }
    fn is_there() -> bool {
        server().is_some()
    }
}

fn order_of(l: &mut (impl Frontier + Records + Journal), now: u64) -> Vec<String> {
    let mut out = Vec::new();
    while let Some(lease) = l.lease_at(now) {
        l.apply(done(lease.id, Outcome::Fetched, now), &best).unwrap();
        out.push(lease.url.to_string());
        l.check().unwrap();
    }
    out
}

fn best_first_across_hosts_then_first_found<P: Place>(mut p: P) {
    let mut l = p.open(quick(), 0);
    for (u, key) in [
        ("http://a/1", 0.2),
        ("http://b/1", 0.9),
        ("http://a/2", 0.9),
        ("http://c/1", 0.5),
        ("http://c/2", 0.9),
    ] {
        assert!(l.seed(seed(u, key), Millis(0)).unwrap());
    }
    assert!(!l.seed(seed("http://a/1", 0.1), Millis(0)).unwrap(), "known");
    assert_eq!(order_of(&mut l, 0), ["http://b/1", "http://a/2", "http://c/2", "http://c/1", "http://a/1"]);
    assert!(matches!(l.lease(Millis(0), Pick::Best).unwrap(), Next::Empty(Idle { pending: 0, .. })));
}

fn lanes_are_served_high_to_low_or_the_named_one_first<P: Place>(mut p: P) {
    let mut l = p.open(quick(), 0);
    for (u, lane, key) in
        [("http://a/1", 0, 9.0), ("http://b/1", 2, 0.1), ("http://c/1", 1, 5.0), ("http://d/1", 2, 0.2)]
    {
        l.seed(Candidate { priority: Priority::new(lane, key), ..seed(u, 0.0) }, Millis(0)).unwrap();
    }
    let peeked: Vec<u32> = l.peek(Millis(0), Some(1), 9).iter().map(|p| p.id.0).collect();
    assert_eq!(peeked, [2, 3, 1, 0]);
    let first = leased(l.lease(Millis(0), Pick::Lane(1)).unwrap());
    assert_eq!((first.url.as_str(), first.priority.lane), ("http://c/1", 1));
    let next = leased(l.lease(Millis(0), Pick::Lane(1)).unwrap());
    assert_eq!(next.url.as_str(), "http://d/1", "the named lane is empty: the others as usual");
    assert_eq!(order_of(&mut l, 0), ["http://b/1", "http://a/1"]);
}

fn a_lease_carries_what_was_known<P: Place>(mut p: P) {
    let mut l = p.open(quick(), 0);
    l.seed(seed("http://a/", 1.0), Millis(0)).unwrap();
    let mut hub = Candidate {
        depth: 4,
        site_depth: 2,
        hops: 1,
        kind: LinkKind::Redirect,
        ..link("http://b/x?y=1", 0.5)
    };
    hub.evidence = vec![0, 255, 7];
    let (root, _) = l.visit(10, &[hub]);
    let lease = l.lease_at(10).unwrap();
    assert_eq!(lease.url.as_str(), "http://b/x?y=1");
    assert_eq!((lease.depth, lease.site_depth, lease.hops, lease.attempt), (4, 2, 1, 0));
    assert_eq!((lease.parent, lease.kind, lease.task), (Some(root.id), LinkKind::Redirect, Task::Page));
    assert_eq!(lease.evidence, [0, 255, 7]);
    assert!(lease.number > root.number);
    assert_eq!(l.entry(lease.id).unwrap().unwrap().state, State::Leased);
    l.apply(Turn::new(Settle::Return { id: lease.id }), &best).unwrap();
    assert_eq!(l.entry(lease.id).unwrap().unwrap().state, State::Pending);
    l.check().unwrap();
}

fn sightings_are_merged_and_remembered<P: Place>(mut p: P) {
    let mut l = p.open(quick(), 0);
    l.seed(seed("http://a/", 1.0), Millis(0)).unwrap();
    l.seed(seed("http://b/", 0.9), Millis(0)).unwrap();
    let (a, first) = l.visit(0, &[link("http://t/", 0.3), link("http://t/", 0.1), link("http://u/", 0.35)]);
    assert_eq!((first.admitted, first.merged), (2, 1));
    let (b, second) = l.visit(0, &[Candidate { evidence: vec![9], ..link("http://t/", 0.4) }]);
    assert_eq!((second.admitted, second.merged), (0, 1));
    let t = l.find(&url("http://t/")).unwrap().unwrap();
    assert_eq!(l.entry(t).unwrap().unwrap().priority, Priority::key_only(0.4), "the best of its sightings");
    let sources = l.sources(t).unwrap();
    assert_eq!(
        sources.iter().map(|s| s.parent).collect::<Vec<_>>(),
        [Some(a.id), Some(b.id)],
        "first found first"
    );
    assert_eq!(sources[1].evidence, [9]);
    assert_eq!(&*sources[0].anchor, "to http://t/");
    let lease = l.lease_at(0).unwrap();
    assert_eq!((lease.id, lease.evidence.as_slice()), (t, [9].as_slice()), "evidence of the best sighting");
    assert_eq!(lease.parent, Some(a.id), "the first parent");
    // The strategy's own combination.
    let turn = Turn { add: vec![link("http://u/", 0.5)], ..done(t, Outcome::Fetched, 0) };
    l.apply(turn, &|a, b| Priority::key_only(a.key() + b.key())).unwrap();
    let u = l.find(&url("http://u/")).unwrap().unwrap();
    assert_eq!(l.entry(u).unwrap().unwrap().priority, Priority::key_only(0.85));
    // A settled URL stays settled.
    let turn = Turn { add: vec![link("http://a/", 5.0)], ..Turn::new(Settle::Return { id: t }) };
    assert_eq!(l.apply(turn, &best).unwrap().known, 1);
    assert_eq!(l.entry(a.id).unwrap().unwrap().state, State::Settled(Outcome::Fetched));
    l.check().unwrap();
}

fn at_most_eight_sources_but_every_priority_counts<P: Place>(mut p: P) {
    let mut l = p.open(quick(), 0);
    for i in 0..12 {
        l.seed(seed(&format!("http://s{i}/"), 9.0), Millis(0)).unwrap();
    }
    for i in 0..12 {
        l.visit(0, &[link("http://t/", 0.1 * f64::from(i))]);
    }
    let t = l.find(&url("http://t/")).unwrap().unwrap();
    assert_eq!(l.sources(t).unwrap().len(), 8);
    assert!((l.entry(t).unwrap().unwrap().priority.key() - 1.1).abs() < 1e-12);
    l.check().unwrap();
}

fn siblings_are_the_other_pending_links_of_the_first_parent<P: Place>(mut p: P) {
    let mut l = p.open(quick(), 0);
    l.seed(seed("http://a/", 1.0), Millis(0)).unwrap();
    l.seed(seed("http://z/", 0.99), Millis(0)).unwrap();
    let links = ["http://b/", "http://z/", "http://c/", "http://b/", "http://d/"].map(|u| link(u, 0.5));
    let (a, _) = l.visit(0, &links);
    let id = |l: &P::L, u: &str| l.find(&url(u)).unwrap().unwrap();
    let (b, c, d, z) = (id(&l, "http://b/"), id(&l, "http://c/"), id(&l, "http://d/"), id(&l, "http://z/"));
    assert_eq!(l.siblings(b).unwrap(), [z, c, d], "page order, known targets included");
    assert_eq!(l.children(a.id).unwrap(), [b, z, c, b, d]);
    assert_eq!(l.siblings(a.id).unwrap(), [], "a seed has none");
    l.visit(0, &[]);
    assert_eq!(l.entry(z).unwrap().unwrap().state, State::Settled(Outcome::Fetched));
    assert_eq!(l.siblings(b).unwrap(), [c, d]);
    // FS: a visit re-scores the siblings, even downwards.
    let leased = l.lease_at(0).unwrap();
    assert_eq!(leased.id, b);
    let rescore = l.siblings(b).unwrap().into_iter().map(|id| Rescored {
        id,
        priority: Priority::key_only(0.01),
        model: 3,
        cause: Some(b),
    });
    let turn = Turn { rescore: rescore.collect(), ..done(b, Outcome::Fetched, 0) };
    l.apply(turn, &best).unwrap();
    let info = l.entry(c).unwrap().unwrap();
    assert_eq!((info.priority.key(), info.model, info.cause), (0.01, 3, Some(b)));
    l.check().unwrap();
}

fn rescoring_reorders_and_ignores_the_settled<P: Place>(mut p: P) {
    let mut l = p.open(quick(), 0);
    for (u, key) in [("http://a/1", 0.3), ("http://a/2", 0.2), ("http://a/3", 0.1), ("http://b/", 0.25)] {
        l.seed(seed(u, key), Millis(0)).unwrap();
    }
    let to =
        |id, lane, key| Rescored { id: UrlId(id), priority: Priority::new(lane, key), model: 7, cause: None };
    l.rescore(&[to(2, 0, 0.9), to(0, 0, 0.05), to(1, 3, -1.0), to(99, 0, 1.0)]).unwrap();
    l.check().unwrap();
    let peeked: Vec<(u32, u32)> = l.peek(Millis(0), None, 9).iter().map(|p| (p.id.0, p.model)).collect();
    assert_eq!(peeked, [(1, 7), (2, 7), (3, 1), (0, 7)]);
    assert_eq!(order_of(&mut l, 0), ["http://a/2", "http://a/3", "http://b/", "http://a/1"]);
    l.rescore(&[to(0, 0, 5.0)]).unwrap();
    assert_eq!(l.entry(UrlId(0)).unwrap().unwrap().state, State::Settled(Outcome::Fetched));
    l.check().unwrap();
}

fn what_is_set_aside_comes_last_and_alone<P: Place>(mut p: P) {
    let mut l = p.open(Limits { delay_ms: 1_000, use_robots: false, ..Limits::default() }, 0);
    for (u, key) in [("http://a/1", 1.0), ("http://b/1", 0.9), ("http://c/1", 0.2), ("http://c/2", 0.1)] {
        l.seed(seed(u, key), Millis(0)).unwrap();
    }
    let (a, b) = (l.find(&url("http://a/1")).unwrap().unwrap(), l.find(&url("http://b/1")).unwrap().unwrap());
    l.set_aside(a);
    l.set_aside(b);
    // Neither a better score nor another sighting brings it back.
    l.rescore(&[Rescored { id: a, priority: Priority::new(9, 9.0), model: 7, cause: None }]).unwrap();
    let (first, _) = l.visit(0, &[link("http://b/1", 9.0)]);
    assert_eq!(first.url.as_str(), "http://c/1");
    assert!(l.lease_at(10).is_none(), "another page is still to come, and its host rests");
    let other = l.lease_at(1_000).unwrap();
    assert_eq!(other.url.as_str(), "http://c/2");
    assert!(l.lease_at(1_000).is_none(), "another page is in flight");
    l.commit().unwrap();
    P::checkpoint(&mut l);
    l.check().unwrap();
    l.apply(done(other.id, Outcome::Fetched, 1_000), &best).unwrap();
    let one = l.lease_at(1_000).unwrap();
    assert!(l.lease_at(1_000).is_none(), "it is alone");
    l.check().unwrap();
    // What is found by it goes before the next that was set aside.
    l.apply(Turn { add: vec![link("http://d/1", 0.1)], ..done(one.id, Outcome::Fetched, 1_000) }, &best)
        .unwrap();
    let found = l.lease_at(1_000).unwrap();
    assert_eq!(found.url.as_str(), "http://d/1");
    l.apply(done(found.id, Outcome::Fetched, 1_000), &best).unwrap();
    let two = l.lease_at(1_000).unwrap();
    assert_eq!(
        {
            let mut both = [one.id, two.id];
            both.sort();
            both
        },
        [a, b]
    );
    l.apply(Turn::new(Settle::Return { id: two.id }), &best).unwrap();
    l.set_aside(two.id);
    assert!(l.lease_at(2_000).is_some(), "as often as one likes");
    if !P::KEEPS {
        return;
    }
    l.apply(Turn::new(Settle::Return { id: two.id }), &best).unwrap();
    l.set_aside(two.id);
    l.seed(seed("http://e/1", 0.0), Millis(2_000)).unwrap();
    l.close().unwrap();
    drop(l);
    let mut l = p.open(quick(), 3_000);
    assert_eq!(l.lease_at(100_000).unwrap().id, two.id, "set aside in that run only");
}

fn politeness_counts_from_the_end_of_a_request<P: Place>(mut p: P) {
    let mut l = p.open(Limits { delay_ms: 1_000, use_robots: false, ..Limits::default() }, 0);
    l.seed(seed("http://a/1", 1.0), Millis(0)).unwrap();
    l.seed(seed("http://a/2", 0.9), Millis(0)).unwrap();
    let first = l.lease_at(0).unwrap();
    let Next::Wait { idle, .. } = l.lease(Millis(50), Pick::Best).unwrap() else {
        panic!("one request per host")
    };
    assert_eq!(idle.hosts_in_flight, 1);
    l.apply(done(first.id, Outcome::Fetched, 400), &best).unwrap();
    let Next::Wait { until, idle } = l.lease(Millis(1_399), Pick::Best).unwrap() else { panic!("too early") };
    assert_eq!((until, idle.hosts_waiting, idle.next_in_ms), (Millis(1_400), 1, Some(1)));
    assert_eq!(idle.to_string(), "waiting for 1 host, next in 1 ms");
    assert_eq!(l.lease_at(1_400).unwrap().url.as_str(), "http://a/2");
    l.check().unwrap();
}

fn a_waiting_host_holds_no_slot<P: Place>(mut p: P) {
    let mut l = p.open(Limits { delay_ms: 1_000, use_robots: false, ..Limits::default() }, 0);
    for (u, key) in [("http://good/1", 1.0), ("http://good/2", 0.9), ("http://poor/1", 0.1)] {
        l.seed(seed(u, key), Millis(0)).unwrap();
    }
    l.visit(0, &[]);
    assert_eq!(l.lease_at(1).unwrap().url.as_str(), "http://poor/1");
    assert_eq!(l.lease_at(1_000).unwrap().url.as_str(), "http://good/2");
}

fn floor_and_patience_rather_wait<P: Place>(mut p: P) {
    let patience = Some(Patience { wait_ms: 2_000, share: 0.7 });
    let limits =
        Limits { delay_ms: 1_000, use_robots: false, floor: Some(0.05), patience, ..Limits::default() };
    let mut l = p.open(limits, 0);
    l.seed(seed("http://start/", 9.0), Millis(0)).unwrap();
    l.seed(seed("http://start/2", 9.0), Millis(0)).unwrap();
    let links = [
        ("http://good/1", 1.0),
        ("http://good/2", 0.9),
        ("http://fair/1", 0.7),
        ("http://poor/1", 0.5),
        ("http://nil/", 0.01),
    ];
    l.visit(0, &links.map(|(u, key)| link(u, key)));
    assert_eq!(l.visit(0, &[]).0.url.as_str(), "http://good/1", "the second seed comes anyway");
    assert_eq!(
        l.lease_at(0).unwrap().url.as_str(),
        "http://fair/1",
        "more than seven tenths of what could be waited for"
    );
    let Next::Wait { until, idle } = l.lease(Millis(0), Pick::Best).unwrap() else {
        panic!("0.5 is not worth it")
    };
    assert_eq!((until, idle.patient), (Millis(1_000), true));
    assert_eq!(l.lease_at(1_000).unwrap().url.as_str(), "http://start/2");
    assert_eq!(l.lease_at(1_000).unwrap().url.as_str(), "http://good/2");
    // In flight, but nothing left of it that would be worth waiting for.
    assert_eq!(l.lease_at(1_000).unwrap().url.as_str(), "http://poor/1");
    l.check().unwrap();
    let Next::Wait { idle, .. } = l.lease(Millis(1_000), Pick::Best).unwrap() else {
        panic!("below the floor")
    };
    assert_eq!(idle.urls_below_floor, 1);
    for id in [1, 3, 4, 5] {
        l.apply(done(UrlId(id), Outcome::Fetched, 1_100), &best).unwrap();
    }
    assert!(matches!(
        l.lease(Millis(9_000), Pick::Best).unwrap(),
        Next::Empty(Idle { urls_below_floor: 1, pending: 1, .. })
    ));
    l.check().unwrap();
}

fn a_host_in_flight_is_worth_waiting_for_too<P: Place>(mut p: P) {
    let patience = Some(Patience { wait_ms: 2_000, share: 0.7 });
    let mut l = p.open(Limits { delay_ms: 1_000, use_robots: false, patience, ..Limits::default() }, 0);
    l.seed(seed("http://start/", 1.0), Millis(0)).unwrap();
    let links = [("http://good/1", 1.0), ("http://good/2", 0.9), ("http://poor/1", 0.1)];
    l.visit(0, &links.map(|(u, key)| link(u, key)));
    assert_eq!(l.lease_at(0).unwrap().url.as_str(), "http://good/1");
    let Next::Wait { until, .. } = l.lease(Millis(10), Pick::Best).unwrap() else { panic!("poor") };
    assert_eq!(until, Millis(1_010));
}

fn robots_come_first_and_expire<P: Place>(mut p: P) {
    let mut l = p.open(Limits { delay_ms: 100, ..Limits::default() }, 0);
    l.seed(seed("https://a:8443/x?y", 1.0), Millis(0)).unwrap();
    l.seed(seed("https://a:8443/z", 0.5), Millis(0)).unwrap();
    let lease = l.lease_at(0).unwrap();
    assert_eq!(
        (lease.task, lease.url.as_str(), lease.id),
        (Task::Robots, "https://a:8443/robots.txt", UrlId(0))
    );
    assert_eq!(l.entry(lease.id).unwrap().unwrap().state, State::Pending, "the URL itself stays pending");
    assert!(l.lease_at(0).is_none(), "nothing else of the host before its rules are known");
    l.check().unwrap();
    assert_eq!(l.robots("a:8443").unwrap(), None);
    let answer = RobotsAnswer {
        status: 200,
        body: b"User-agent: *\n".to_vec(),
        fetched: Millis(10),
        expires: Millis(5_000),
    };
    let settle = Settle::Robots { id: lease.id, answer: answer.clone() };
    l.apply(Turn { host: HostUpdate { crawl_delay: Some(300), ..contact(10) }, ..Turn::new(settle) }, &best)
        .unwrap();
    assert_eq!(l.robots("a:8443").unwrap(), Some(answer));
    assert!(l.lease_at(309).is_none(), "robots.txt was a request, too");
    let (page, _) = l.visit(310, &[]);
    assert_eq!(page.task, Task::Page);
    assert_eq!(l.lease_at(5_000).unwrap().task, Task::Robots, "too old");
    l.check().unwrap();
}

fn robots_that_cannot_be_had_close_the_host<P: Place>(mut p: P) {
    let mut l = p.open(Limits { delay_ms: 0, max_attempts: 2, ..Limits::default() }, 0);
    l.seed(seed("http://a/1", 1.0), Millis(0)).unwrap();
    l.seed(seed("http://a/2", 1.0), Millis(0)).unwrap();
    let fail = |l: &mut P::L, now: u64, expires: u64| {
        let lease = l.lease_at(now).unwrap();
        assert_eq!(lease.task, Task::Robots);
        let answer =
            RobotsAnswer { status: 503, body: vec![], fetched: Millis(now), expires: Millis(expires) };
        l.apply(Turn { host: contact(now), ..Turn::new(Settle::Robots { id: lease.id, answer }) }, &best)
            .unwrap()
    };
    assert_eq!(fail(&mut l, 0, 700).dropped, 0);
    assert!(l.lease_at(699).is_none(), "blocked until it is asked again");
    assert_eq!(fail(&mut l, 700, 1_400).dropped, 2);
    assert_eq!(l.entry(UrlId(1)).unwrap().unwrap().state, State::Settled(Outcome::RobotsDenied));
    assert!(matches!(l.lease(Millis(10_000), Pick::Best).unwrap(), Next::Empty(_)), "a crawl can end");
    l.seed(seed("http://b/", 1.0), Millis(1_500)).unwrap();
    let robots = l.lease_at(1_500).unwrap();
    let turn = Turn {
        add: vec![link("http://a/3", 1.0)],
        host: contact(1_500),
        ..Turn::new(Settle::Return { id: robots.id })
    };
    assert_eq!(l.apply(turn, &best).unwrap().refused, [(Refusal::HostClosed, 1)]);
    l.check().unwrap();
}

fn a_host_that_keeps_failing_is_given_up<P: Place>(mut p: P) {
    let limits = Limits {
        delay_ms: 10,
        backoff_ms: 100,
        host_failures: 3,
        max_attempts: 9,
        use_robots: false,
        ..Limits::default()
    };
    let mut l = p.open(limits, 0);
    l.seed(seed("http://a/1", 1.0), Millis(0)).unwrap();
    l.seed(seed("http://a/2", 0.5), Millis(0)).unwrap();
    let mut now = 0;
    for (i, wait) in [100, 200].into_iter().enumerate() {
        let lease = l.lease_at(now).unwrap();
        assert_eq!((lease.id, usize::from(lease.attempt)), (UrlId(0), i));
        let host = HostUpdate { failed: Some(true), ..contact(now) };
        l.apply(Turn { host, ..Turn::new(Settle::Retry { id: lease.id, not_before: Millis(now) }) }, &best)
            .unwrap();
        let Next::Wait { until, idle } = l.lease(Millis(now), Pick::Best).unwrap() else {
            panic!("backing off")
        };
        assert_eq!((until, idle.hosts_backing_off), (Millis(now + wait), 1));
        now += wait;
    }
    let lease = l.lease_at(now).unwrap();
    let host = HostUpdate { failed: Some(true), ..contact(now) };
    let turn = Turn { host, ..Turn::new(Settle::Done { id: lease.id, outcome: Outcome::Unreachable }) };
    assert_eq!(l.apply(turn, &best).unwrap().dropped, 1);
    assert_eq!(l.entry(UrlId(1)).unwrap().unwrap().state, State::Settled(Outcome::Unreachable));
    assert_eq!(l.stats().unwrap().pending, 0);
    l.check().unwrap();
}

fn retries_wait_their_turn_and_end<P: Place>(mut p: P) {
    let mut l = p.open(Limits { max_attempts: 2, ..quick() }, 0);
    l.seed(seed("http://a/1", 1.0), Millis(0)).unwrap();
    l.seed(seed("http://a/2", 0.5), Millis(0)).unwrap();
    let retry = |id| Turn { host: contact(0), ..Turn::new(Settle::Retry { id, not_before: Millis(500) }) };
    let lease = l.lease_at(0).unwrap();
    assert!(!l.apply(retry(lease.id), &best).unwrap().gave_up);
    l.check().unwrap();
    assert_eq!(l.visit(0, &[]).0.url.as_str(), "http://a/2", "meanwhile the next");
    let Next::Wait { until, idle } = l.lease(Millis(0), Pick::Best).unwrap() else { panic!() };
    assert_eq!((until, idle.retries), (Millis(500), 1));
    let again = l.lease_at(500).unwrap();
    assert_eq!((again.id, again.attempt), (lease.id, 1));
    assert!(l.apply(retry(again.id), &best).unwrap().gave_up);
    assert_eq!(l.entry(lease.id).unwrap().unwrap().state, State::Settled(Outcome::Unreachable));
    l.check().unwrap();
}

fn leases_that_are_never_settled_return<P: Place>(mut p: P) {
    let mut l = p.open(Limits { lease_ms: 1_000, delay_ms: 200, use_robots: false, ..Limits::default() }, 0);
    l.seed(seed("http://a/", 1.0), Millis(0)).unwrap();
    let lease = l.lease_at(0).unwrap();
    assert_eq!(lease.expires, Millis(1_000));
    let Next::Wait { until, .. } = l.lease(Millis(1), Pick::Best).unwrap() else { panic!() };
    assert_eq!(until, Millis(1_000));
    assert!(l.lease_at(1_000).is_none(), "it may just have been contacted");
    assert_eq!(l.stats().unwrap().returned, 1);
    let again = l.lease_at(1_200).unwrap();
    assert_eq!(again.id, lease.id);
    l.apply(done(lease.id, Outcome::Fetched, 1_300), &best).unwrap();
    assert!(l.apply(done(lease.id, Outcome::HttpError(500), 1_400), &best).unwrap().stale, "settled once");
    assert_eq!(l.entry(lease.id).unwrap().unwrap().state, State::Settled(Outcome::Fetched));
    l.check().unwrap();
}

fn hosts_at_one_address_share_it<P: Place>(mut p: P) {
    let limits = Limits {
        delay_ms: 0,
        per_ip_in_flight: Some(1),
        per_ip_delay_ms: 50,
        use_robots: false,
        ..Limits::default()
    };
    let mut l = p.open(limits, 0);
    for u in ["http://a/1", "http://a/2", "http://b/1", "http://b/2", "http://c/1", "http://c/2"] {
        l.seed(seed(u, 1.0), Millis(0)).unwrap();
    }
    // Addresses are learnt with the first answer.
    for ip in ["192.0.2.1", "192.0.2.1", "127.0.0.1"] {
        let lease = l.lease_at(0).unwrap();
        let host = HostUpdate { ip: ip.parse().ok(), ..contact(0) };
        l.apply(Turn { host, ..done(lease.id, Outcome::Fetched, 0) }, &best).unwrap();
    }
    l.check().unwrap();
    assert_eq!(l.peek(Millis(100), None, 9).len(), 3);
    let a = l.lease_at(100).unwrap();
    assert_eq!(a.url.as_str(), "http://a/2");
    assert_eq!(l.peek(Millis(100), None, 9).len(), 1, "b shares the address");
    assert_eq!(l.lease_at(100).unwrap().url.as_str(), "http://c/2", "loopback is not shared");
    assert!(l.lease_at(100).is_none());
    l.check().unwrap();
    l.apply(done(a.id, Outcome::Fetched, 120), &best).unwrap();
    assert!(l.lease_at(169).is_none());
    assert_eq!(l.lease_at(170).unwrap().url.as_str(), "http://b/2");
    l.check().unwrap();
}

fn caps_and_guards_refuse_and_say_why<P: Place>(mut p: P) {
    let limits = Limits {
        depth: Some(3),
        site_depth: Some(2),
        links_per_page: Some(9),
        url_length: 60,
        path_repeat: Some(2),
        query_variants: Some(1),
        calendar_pages: Some(1),
        pages_per_host: Some(1),
        ..quick()
    };
    let mut l = p.open(limits, 0);
    l.seed(seed("http://a/", 1.0), Millis(0)).unwrap();
    l.seed(seed("http://a/other", 0.1), Millis(0)).unwrap();
    let links = [
        Candidate { depth: 4, ..link("http://b/1", 0.5) },
        Candidate { site_depth: 3, ..link("http://b/2", 0.5) },
        link(&format!("http://b/{}", "x".repeat(60)), 0.5),
        link("http://b/x/y/x/y/x", 0.5),
        link("http://b/q?a=1", 0.5),
        link("http://b/q?a=2", 0.5),
        link("http://b/calendar/2031/05", 0.5),
        link("http://b/calendar/2031/06", 0.5),
        link("http://a/more", 0.5),
        link("http://b/3", 0.5),
    ];
    let (_, applied) = l.visit(0, &links);
    let mut refused = applied.refused.clone();
    refused.sort();
    let one = |r| (r, 1);
    let expected = [
        Refusal::Depth,
        Refusal::SiteDepth,
        Refusal::LinksPerPage,
        Refusal::UrlLength,
        Refusal::PathRepeat,
        Refusal::QueryVariants,
        Refusal::Calendar,
        Refusal::HostFull,
    ];
    assert_eq!(refused, expected.map(one));
    assert_eq!((applied.admitted, applied.dropped), (2, 1));
    assert_eq!(
        l.entry(UrlId(1)).unwrap().unwrap().state,
        State::Settled(Outcome::Dropped),
        "a has had its page"
    );
    l.check().unwrap();
}

fn a_wildcard_domain_cannot_make_hosts_for_ever<P: Place>(mut p: P) {
    let limits = || Limits { hosts_per_domain: Some(2), ..quick() };
    let mut l = p.open(limits(), 0);
    l.seed(seed("http://start.org/", 1.0), Millis(0)).unwrap();
    let links = ["a.trap.com", "b.trap.com", "c.trap.com", "b.trap.com", "a.fine.com", "c.trap.com:81"];
    let (_, applied) = l.visit(0, &links.map(|h| link(&format!("http://{h}/{h}"), 0.5)));
    assert_eq!((applied.admitted, applied.merged), (3, 1));
    assert_eq!(applied.refused, [(Refusal::HostsPerDomain, 2)]);
    l.commit().unwrap();
    l.close().unwrap();
    drop(l);
    if P::KEEPS {
        let mut l = p.open(limits(), 0);
        let (_, applied) =
            l.visit(0, &[link("http://d.trap.com/", 0.5), link("http://a.trap.com/more", 0.5)]);
        assert_eq!((applied.admitted, applied.refused), (1, vec![(Refusal::HostsPerDomain, 1)]));
    }
}

fn forgotten_urls_may_be_found_again<P: Place>(mut p: P) {
    let mut l = p.open(quick(), 0);
    for i in 0..6 {
        l.seed(seed(&format!("http://s{i}/"), 1.0), Millis(0)).unwrap();
    }
    l.visit(0, &[Candidate { ttl: Some(2), ..link("http://t/", 0.1) }]);
    let t = l.find(&url("http://t/")).unwrap().unwrap();
    l.visit(0, &[]);
    assert_eq!(l.entry(t).unwrap().unwrap().state, State::Pending);
    l.visit(0, &[]);
    l.visit(0, &[]);
    assert_eq!(l.entry(t).unwrap().unwrap().state, State::Settled(Outcome::Dropped));
    assert_eq!(l.stats().unwrap().pending, 2);
    let again = Candidate { evidence: vec![1], ..link("http://t/", 0.7) };
    let (parent, applied) = l.visit(0, &[again]);
    assert_eq!(applied.admitted, 1);
    let info = l.entry(t).unwrap().unwrap();
    assert_eq!((info.state, info.parent, info.priority.key()), (State::Pending, Some(parent.id), 0.7));
    assert_eq!(l.sources(t).unwrap().len(), 1);
    assert_eq!(l.url(t).unwrap().as_str(), "http://t/");
    l.check().unwrap();
}

fn a_full_frontier_forgets_the_worst<P: Place>(mut p: P) {
    let mut l = p.open(Limits { max_pending: Some(20), ..quick() }, 0);
    l.seed(seed("http://a/", 99.0), Millis(0)).unwrap();
    let links: Vec<Candidate> =
        (0..30).map(|i| link(&format!("http://h{i}/"), f64::from((i * 7) % 30))).collect();
    let (_, applied) = l.visit(0, &links);
    assert_eq!((applied.admitted, applied.dropped, l.stats().unwrap().pending), (30, 12, 18));
    let keys = l.entries(Which::Pending).map(|e| e.unwrap().priority.key());
    let worst = keys.fold(f64::MAX, f64::min);
    assert_eq!(worst, 12.0);
    l.check().unwrap();
}

fn records_verdicts_and_state<P: Place>(mut p: P) {
    let mut l = p.open(quick(), 0);
    for u in ["http://a/", "http://b/", "http://c/"] {
        l.seed(seed(u, 1.0), Millis(0)).unwrap();
    }
    let (a, _) = l.visit(0, &[]);
    let lease = l.lease_at(0).unwrap();
    let better = Verdict { relevant: true, relevance: 0.9, threshold: 0.2, version: 2 };
    let turn = Turn {
        record: Some(record(lease.id, "http://b/")),
        revised: vec![(a.id, better)],
        state: vec![
            (StateKey::Judge, false, vec![1]),
            (StateKey::Judge, true, vec![2, 3]),
            (StateKey::Run, true, vec![]),
        ],
        ..done(lease.id, Outcome::Fetched, 0)
    };
    l.apply(turn, &best).unwrap();
    l.put_state(StateKey::Judge, true, &[4]).unwrap();
    let all: Vec<_> = l.pages(0).map(|p| p.unwrap().0).collect();
    assert_eq!(all.len(), 2);
    assert_eq!(all[0], types::Record { verdict: better, ..record(a.id, "http://a/") });
    assert_eq!(all[1], record(lease.id, "http://b/"));
    assert_eq!(l.pages(1).count(), 1);
    assert_eq!(l.pages(7).count(), 0);
    assert_eq!(l.record(a.id).unwrap().unwrap().verdict, better);
    assert_eq!(l.record(UrlId(2)).unwrap(), None);
    assert_eq!(l.record(UrlId(77)).unwrap(), None);
    // Another topic: what the verdict rests on changes too, and stays when only the verdict changes again.
    let other = types::Assessment { score: 0.75, excluded: Some("x".into()), ..types::Assessment::default() };
    l.revise(&[Revision { id: a.id, verdict: better, assessment: Some(other.clone()) }]).unwrap();
    l.commit().unwrap();
    let worse = Verdict { relevant: false, version: 9, ..better };
    l.revise(&Revision::of(&[(a.id, worse)])).unwrap();
    l.commit().unwrap();
    let again = l.record(a.id).unwrap().unwrap();
    assert_eq!((again.assessment, again.verdict), (other, worse));
    assert_eq!(l.pages(0).count(), all.len());
    assert!(l.revise(&Revision::of(&[(UrlId(77), worse)])).is_err());
    assert_eq!(l.revised().unwrap(), [(a.id, worse)]);
    assert_eq!(l.state(StateKey::Judge).unwrap(), [vec![1], vec![2, 3], vec![4]]);
    assert_eq!(l.state(StateKey::Run).unwrap(), [Vec::<u8>::new()]);
    assert_eq!(l.state(StateKey::Counts).unwrap(), Vec::<Vec<u8>>::new());
    l.put_state(StateKey::Judge, false, &[9]).unwrap();
    assert_eq!(l.state(StateKey::Judge).unwrap(), [vec![9]]);
    let stats = l.stats().unwrap();
    assert_eq!((stats.urls, stats.pending, stats.settled, stats.pages, stats.hosts), (3, 1, 2, 2, 3));
    assert_eq!(stats.outcomes[0], ("fetched", 2));
    assert_eq!(l.hosts().unwrap().into_iter().map(|h| h.name).collect::<Vec<_>>(), ["a", "b", "c"]);
    assert_eq!(l.hosts().unwrap().into_iter().next().unwrap().clock.pages, 1);
    l.check().unwrap();
}

/// The state of a URL.
fn state_of(l: &impl Records, id: UrlId) -> State {
    l.entry(id).unwrap().unwrap().state
}

/// Every version of a page, the newest first.
fn texts(l: &impl Records, id: UrlId) -> Vec<String> {
    l.versions(id).unwrap().into_iter().map(|version| version.text).collect()
}

fn a_page_is_visited_again_and_stays_what_it_was_until_that_ends<P: Place>(mut p: P) {
    let again = Priority::new(Priority::REVISIT, 0.5);
    let limits = Limits { host_failures: 2, pages_per_host: Some(2), ..quick() };
    let mut l = p.open(limits.clone(), 0);
    l.seed(seed("http://a/", 1.0), Millis(0)).unwrap();
    let (a, _) = l.visit(0, &[link("http://b/", 0.5)]);
    let fetched = State::Settled(Outcome::Fetched);
    assert!(l.revisit(a.id, again).unwrap());
    assert!(!l.revisit(a.id, again).unwrap(), "it is open already");
    assert_eq!(l.entries(Which::Pending).count(), 1, "what waits for its first visit");
    // Only what is known, then only that.
    let lease = leased(l.lease(Millis(0), Pick::Only(Priority::REVISIT)).unwrap());
    assert_eq!((lease.id, lease.url.as_str()), (a.id, "http://a/"));
    let known = lease.revisit.expect("a visit knows the version");
    assert_eq!(known.digest, record(a.id, "http://a/").digest);
    assert!(!matches!(l.lease(Millis(0), Pick::Only(Priority::REVISIT)).unwrap(), Next::Lease(_)));
    // As before: its links, its record, the pages of its host.
    let same = |id| Turn { host: contact(1), ..Turn::new(Settle::AsBefore { id }) };
    l.apply(same(a.id), &best).unwrap();
    assert_eq!((state_of(&l, a.id), l.children(a.id).unwrap().len()), (fetched, 1));
    assert_eq!(l.hosts().unwrap().first().unwrap().clock.pages, 1);
    l.check().unwrap();
    // A new version takes the place of the old one; the page counts once.
    assert!(l.revisit(a.id, again).unwrap());
    let lease = leased(l.lease(Millis(2), Pick::Best).unwrap());
    assert_eq!(lease.id, a.id, "before what is new");
    let newer = types::Record { text: "newer".into(), digest: "00".into(), ..record(a.id, "http://a/") };
    let turn = Turn { record: Some(newer.clone()), ..done(a.id, Outcome::Fetched, 3) };
    l.apply(turn, &best).unwrap();
    l.commit().unwrap();
    assert_eq!(l.record(a.id).unwrap().unwrap().text, "newer");
    let first = record(a.id, "http://a/").text;
    assert_eq!(texts(&l, a.id), ["newer", first.as_str()]);
    // Twice between two commits: nothing is lost.
    for text in ["third", "fourth"] {
        assert!(l.revisit(a.id, again).unwrap());
        let lease = leased(l.lease(Millis(4), Pick::Only(Priority::REVISIT)).unwrap());
        let known = lease.revisit.as_ref().map(|known| known.digest.clone());
        assert_eq!(known.as_deref(), Some(if text == "third" { "00" } else { "third" }));
        let record = Some(types::Record { text: text.into(), digest: text.into(), ..newer.clone() });
        l.apply(Turn { record, ..done(a.id, Outcome::Fetched, 4) }, &best).unwrap();
    }
    assert_eq!(texts(&l, a.id), ["fourth", "third", "newer", first.as_str()]);
    l.commit().unwrap();
    assert_eq!(texts(&l, a.id), ["fourth", "third", "newer", first.as_str()]);
    assert_eq!(l.pages(0).count(), 1);
    assert_eq!(l.hosts().unwrap().first().unwrap().clock.pages, 1);
    l.check().unwrap();
    // A host that is given up takes no known page along; a try that failed is not written down.
    assert!(l.revisit(a.id, again).unwrap());
    for n in 0..2 {
        let now = Millis(10 + 100_000 * n);
        let lease = leased(l.lease(now, Pick::Only(Priority::REVISIT)).unwrap());
        let mut turn = Turn::new(Settle::Retry { id: lease.id, not_before: now });
        turn.host = HostUpdate { failed: Some(true), ..contact(now.0) };
        l.apply(turn, &best).unwrap();
    }
    assert_eq!(state_of(&l, a.id), fetched);
    // Whatever is open when it ends is settled the next time.
    assert!(l.revisit(a.id, again).unwrap());
    P::checkpoint(&mut l);
    if P::KEEPS {
        l.close().unwrap();
        drop(l);
        let mut l = p.open(limits, 300_000);
        assert_eq!(state_of(&l, a.id), fetched);
        assert_eq!(l.record(a.id).unwrap().unwrap().text, "fourth");
        assert_eq!(texts(&l, a.id), ["fourth", "third", "newer", first.as_str()]);
        l.check().unwrap();
        // A verdict is about the version it was given on.
        let better = Verdict { relevant: true, relevance: 0.9, threshold: 0.2, version: 2 };
        l.revise(&Revision::of(&[(a.id, better)])).unwrap();
        assert!(l.revisit(a.id, again).unwrap());
        let lease = leased(l.lease(Millis(900_000), Pick::Only(Priority::REVISIT)).unwrap());
        assert_eq!(lease.revisit.map(|known| known.digest), Some("fourth".into()), "known from before");
        let record = Some(types::Record { text: "fifth".into(), digest: "fifth".into(), ..newer });
        l.apply(Turn { record, ..done(a.id, Outcome::Fetched, 900_000) }, &best).unwrap();
        l.commit().unwrap();
        assert_eq!(texts(&l, a.id), ["fifth", "fourth", "third", "newer", first.as_str()]);
        assert!(!l.record(a.id).unwrap().unwrap().verdict.relevant);
        l.check().unwrap();
    }
}

fn what_failed_is_asked_again_with_all_its_tries<P: Place>(mut p: P) {
    let mut l = p.open(quick(), 0);
    l.seed(seed("http://a/", 1.0), Millis(0)).unwrap();
    let (a, _) = l.visit(0, &[link("http://b/", 0.5)]);
    let lease = l.lease_at(0).unwrap();
    let again = Turn { host: contact(0), ..Turn::new(Settle::Retry { id: lease.id, not_before: Millis(0) }) };
    l.apply(again, &best).unwrap();
    let lease = l.lease_at(1).unwrap();
    assert_eq!(lease.attempt, 1);
    l.apply(done(lease.id, Outcome::HttpError(503), 1), &best).unwrap();
    assert!(!l.ask_again(a.id).unwrap(), "it gave a page");
    assert!(l.ask_again(lease.id).unwrap());
    assert!(!l.ask_again(lease.id).unwrap(), "it is pending");
    l.commit().unwrap();
    if P::KEEPS {
        l.close().unwrap();
        drop(l);
        l = p.open(quick(), 10);
    }
    assert_eq!((state_of(&l, lease.id), l.sources(lease.id).unwrap().len()), (State::Pending, 1));
    let lease = l.lease_at(20).unwrap();
    assert_eq!((lease.url.as_str(), lease.attempt), ("http://b/", 0));
    l.check().unwrap();
}

fn nonsense_is_an_error_and_changes_nothing<P: Place>(mut p: P) {
    let mut l = p.open(quick(), 0);
    l.seed(seed("http://a/", 1.0), Millis(0)).unwrap();
    assert!(l.apply(done(UrlId(9), Outcome::Fetched, 0), &best).is_err());
    assert!(l.sources(UrlId(9)).is_err());
    assert!(l.url(UrlId(u32::MAX)).is_err());
    assert_eq!(l.entry(UrlId(9)).unwrap(), None);
    let lease = l.lease_at(0).unwrap();
    let long = Candidate { evidence: vec![0; 2_000], ..link("http://b/", 1.0) };
    let e = l.apply(Turn { add: vec![long], ..done(lease.id, Outcome::Fetched, 0) }, &best).unwrap_err();
    assert!(e.to_string().contains("2000 bytes"), "{e}");
    assert_eq!(l.entry(lease.id).unwrap().unwrap().state, State::Leased);
    assert_eq!(l.find(&url("http://b/")).unwrap(), None);
    l.check().unwrap();
}

/// Every URL with its sightings, and the name of its host: hosts may have other numbers the next time.
fn all_of(l: &(impl Frontier + Records + Journal)) -> Vec<(Info, String, Vec<Source>)> {
    let names: Vec<String> = l.hosts().unwrap().into_iter().map(|h| h.name).collect();
    let ids = (0..l.stats().unwrap().urls as u32).map(UrlId);
    ids.map(|id| {
        let info = l.entry(id).unwrap().unwrap();
        (Info { host: None, ..info }, names[info.host.unwrap() as usize].clone(), l.sources(id).unwrap())
    })
    .collect()
}

fn hosts_of(l: &impl Records) -> BTreeMap<String, Clock> {
    l.hosts().unwrap().into_iter().map(|h| (h.name, h.clock)).collect()
}

fn everything_is_there_after_reopening<P: Place>(mut p: P) {
    if !P::KEEPS {
        return;
    }
    let limits = || Limits { delay_ms: 100, use_robots: false, ..Limits::default() };
    let mut l = p.open(limits(), 0);
    for i in 0..8 {
        l.seed(seed(&format!("http://s{i}/"), 1.0 - 0.01 * f64::from(i)), Millis(0)).unwrap();
    }
    let (s0, _) = l.visit(
        0,
        &[
            link("http://t/1", 0.5),
            link("http://t/2?x", 0.4),
            Candidate { ttl: Some(9), ..link("http://u/", 0.3) },
        ],
    );
    let (_, _) = l.visit(0, &[link("http://t/1", 0.6)]);
    l.rescore(&[Rescored { id: UrlId(9), priority: Priority::new(1, 0.9), model: 5, cause: Some(s0.id) }])
        .unwrap();
    let retry = l.lease_at(0).unwrap();
    assert_eq!(retry.url.as_str(), "http://t/2?x");
    let host = HostUpdate { failed: Some(true), ip: "192.0.2.7".parse().ok(), ..contact(0) };
    l.apply(Turn { host, ..Turn::new(Settle::Retry { id: retry.id, not_before: Millis(90_000) }) }, &best)
        .unwrap();
    let verdict = Verdict { relevant: true, ..Verdict::default() };
    l.revise(&Revision::of(&[(s0.id, verdict)])).unwrap();
    l.put_state(StateKey::Answers, false, &[1, 2, 3]).unwrap();
    l.commit().unwrap();
    let (before, hosts, stats) = (all_of(&l), hosts_of(&l), l.stats().unwrap());
    let peek = l.peek(Millis(1_000_000), None, 20);
    l.close().unwrap();
    drop(l);

    let mut l = p.open(limits(), 500);
    l.check().unwrap();
    assert_eq!(all_of(&l), before);
    assert_eq!(hosts_of(&l), hosts);
    assert_eq!(l.stats().unwrap().outcomes, stats.outcomes);
    assert_eq!(l.revised().unwrap(), [(s0.id, verdict)]);
    assert_eq!(l.state(StateKey::Answers).unwrap(), [vec![1, 2, 3]]);
    assert_eq!(l.children(s0.id).unwrap().len(), 3);
    let next = l.lease_at(500).unwrap();
    assert!(next.number > retry.number, "lease numbers go on");
    l.apply(Turn::new(Settle::Return { id: next.id }), &best).unwrap();
    assert_eq!(l.peek(Millis(1_000_000), None, 20), peek);
    l.check().unwrap();
}

macro_rules! suite {
    ($($place:ident: $type:ty;)*) => { $(
        mod $place {
            use super::*;
            suite!(@ $type;
                best_first_across_hosts_then_first_found
                lanes_are_served_high_to_low_or_the_named_one_first
                a_lease_carries_what_was_known
                sightings_are_merged_and_remembered
                at_most_eight_sources_but_every_priority_counts
                siblings_are_the_other_pending_links_of_the_first_parent
                rescoring_reorders_and_ignores_the_settled
                politeness_counts_from_the_end_of_a_request
                a_waiting_host_holds_no_slot
                floor_and_patience_rather_wait
                a_host_in_flight_is_worth_waiting_for_too
                robots_come_first_and_expire
                robots_that_cannot_be_had_close_the_host
                a_host_that_keeps_failing_is_given_up
                retries_wait_their_turn_and_end
                leases_that_are_never_settled_return
                hosts_at_one_address_share_it
                caps_and_guards_refuse_and_say_why
                a_wildcard_domain_cannot_make_hosts_for_ever
                forgotten_urls_may_be_found_again
                a_full_frontier_forgets_the_worst
                records_verdicts_and_state
                a_page_is_visited_again_and_stays_what_it_was_until_that_ends
                what_failed_is_asked_again_with_all_its_tries
                nonsense_is_an_error_and_changes_nothing
                everything_is_there_after_reopening
                what_is_set_aside_comes_last_and_alone
            );
        }
    )* };
    (@ $type:ty; $($name:ident)*) => { $(
        #[test]
        fn $name() {
            if <$type as Place>::is_there() {
                super::$name(<$type>::default());
            }
        }
    )* };
}

suite! {
    memory: Memory;
    folder: Folder;
    crashing: Crashing;
    postgres: Postgres<{ gleaner_store::LOAD_AT_ONCE }>;
    arriving: Postgres<4>;
}
