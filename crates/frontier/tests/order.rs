//! The order by itself, without a ledger under it.

use gleaner_frontier::{Choice, Limits, NewUrl, Order, Shares, State};
use proptest::prelude::*;
use types::{Fingerprint, Millis, Outcome, Priority, Task, UrlId};

fn add(order: &mut Order, url: &str, key: f64) -> UrlId {
    let name = gleaner_frontier::guards::host_key(url);
    let host = order.find_host(name).unwrap_or_else(|| order.add_host(name));
    order.insert(&NewUrl {
        url,
        print: Fingerprint::of(url, order.key()),
        offset: 16,
        host,
        parent: None,
        depth: 0,
        site_depth: 0,
        hops: 0,
        priority: Priority::key_only(key),
        model: 0,
        expires: None,
    })
}

fn limits() -> Limits {
    Limits { delay_ms: 100, use_robots: false, ..Limits::default() }
}

#[test]
fn an_order_serves_the_best_of_the_hosts_that_are_free() {
    let mut order = Order::new(limits(), (1, 2));
    let (a1, a2, b) = (
        add(&mut order, "http://a/1", 0.9),
        add(&mut order, "http://a/2", 0.8),
        add(&mut order, "http://b/", 0.1),
    );
    let leased = |c: Choice| match c {
        Choice::Lease { id, task: Task::Page, .. } => Some(id),
        _ => None,
    };
    assert_eq!(leased(order.choose(Millis(0), None)), Some(a1));
    assert_eq!(leased(order.choose(Millis(0), None)), Some(b), "a has a request in flight");
    order.end_lease(a1, Some(Millis(50)));
    order.settle(a1, Outcome::Fetched);
    assert_eq!(leased(order.choose(Millis(60), None)), Some(a2), "nobody set a's clock");
    assert_eq!(order.info(a1).unwrap().state, State::Settled(Outcome::Fetched));
    assert_eq!(order.counts().leased, 2);
    order.check().unwrap();
}

#[test]
fn an_image_is_the_same_order() {
    let mut order = Order::new(limits(), (1, 2));
    for i in 0..3_000u32 {
        add(&mut order, &format!("http://h{}/p{i}?q", i % 70), f64::from(i * 37 % 100));
    }
    for i in (0..3_000).step_by(3) {
        order.settle(UrlId(i), Outcome::HttpError(404));
    }
    order.retry(UrlId(1), 5_000);
    let mut image = Vec::new();
    order.write(&mut image).unwrap();
    let mut again = Order::read(&mut image.as_slice(), limits(), (1, 2)).unwrap();
    again.wake(Millis(0), true);
    again.check().unwrap();
    assert_eq!(again.counts(), order.counts());
    for now in [0, 10_000] {
        assert_eq!(again.peek(Millis(now), None, 5_000), order.peek(Millis(now), None, 5_000));
    }
    assert!((0..3_000).all(|i| again.info(UrlId(i)) == order.info(UrlId(i))));
}

fn shared(slots: u32, per_domain: u32, for_quick: u32) -> Limits {
    let shares = Some(Shares { slots, per_domain, for_quick, quick_ms: 1_000 });
    Limits { delay_ms: 0, shares, ..limits() }
}

/// Everything that can be leased now, up to `most`.
fn lease_all(order: &mut Order, now: u64, most: usize) -> Vec<UrlId> {
    let mut out = Vec::new();
    while out.len() < most
        && let Choice::Lease { id, .. } = order.choose(Millis(now), None)
    {
        order.check().unwrap();
        out.push(id);
    }
    out
}

fn end(order: &mut Order, id: UrlId, now: u64) {
    order.end_lease(id, Some(Millis(now)));
    order.settle(id, Outcome::Fetched);
    order.check().unwrap();
}

#[test]
fn a_domain_has_its_share_and_the_best_of_its_hosts_come_first() {
    let mut order = Order::new(shared(8, 2, 0), (1, 2));
    let bad: Vec<UrlId> = (0..20)
        .map(|i| add(&mut order, &format!("http://h{i}.bad.test/"), 9.0 - f64::from(i) / 100.0))
        .collect();
    let good: Vec<UrlId> = (0..6).map(|i| add(&mut order, &format!("http://g{i}.test/"), 0.1)).collect();
    let first = lease_all(&mut order, 0, 8);
    assert_eq!(first, [&bad[..2], &good[..6]].concat(), "two of one domain, all others");
    assert!(order.peek(Millis(0), None, 30).is_empty(), "nothing else could be leased");
    end(&mut order, bad[1], 10);
    assert_eq!(lease_all(&mut order, 10, 8), [bad[2]], "the best that waited");
    // Nobody else has anything: then it may have all there is.
    good.iter().for_each(|g| end(&mut order, *g, 20));
    end(&mut order, bad[0], 20);
    assert_eq!(lease_all(&mut order, 20, 8), bad[3..10]);
    end(&mut order, bad[2], 30);
    assert_eq!(lease_all(&mut order, 30, 8), [bad[10]]);
}

#[test]
fn each_of_few_domains_has_an_equal_part_and_loopback_is_no_domain() {
    let mut order = Order::new(shared(8, 1, 0), (1, 2));
    for i in 0..20 {
        add(&mut order, &format!("http://h{i}.a.test/"), 9.0);
        add(&mut order, &format!("http://h{i}.b.test/"), 8.0);
    }
    let host = |o: &Order, id: UrlId| o.host_info(o.host_of(id).unwrap()).unwrap().name;
    let first = lease_all(&mut order, 0, 8);
    assert_eq!(first.iter().filter(|id| host(&order, **id).ends_with("a.test")).count(), 4);
    let mut order = Order::new(shared(8, 1, 0), (1, 2));
    for i in 0..8 {
        add(&mut order, &format!("http://127.0.0.1:{}/", 8000 + i), 9.0);
        add(&mut order, &format!("http://h{i}.test/"), 1.0);
    }
    let first = lease_all(&mut order, 0, 8);
    assert!(first.iter().all(|id| host(&order, *id).starts_with("127.")));
}

#[test]
fn a_part_is_kept_for_hosts_that_are_quick() {
    let mut order = Order::new(shared(8, 8, 2), (1, 2));
    let quick: Vec<UrlId> =
        (0..6).map(|i| add(&mut order, &format!("http://q{}.test/{i}", i % 3), 9.0)).collect();
    assert_eq!(lease_all(&mut order, 0, 8), quick[..3], "one of each host");
    for id in &quick[..3] {
        end(&mut order, *id, 500);
    }
    // Known to be quick by now. New ones are better, and hang.
    let new: Vec<UrlId> = (0..20).map(|i| add(&mut order, &format!("http://n{i}.test/"), 10.0)).collect();
    let leased = lease_all(&mut order, 500, 8);
    assert_eq!(leased, [&new[..6], &quick[3..5]].concat(), "six of eight");
    end(&mut order, quick[3], 600);
    assert_eq!(lease_all(&mut order, 600, 8), quick[5..6]);
    let Choice::Wait { idle, .. } = order.choose(Millis(600), None) else { panic!("nothing may be leased") };
    assert_eq!((idle.hosts_held_back, idle.urls_below_floor), (14, 0));
    // Whoever takes too long is not quick any more, and then nothing is kept for it.
    assert_eq!(lease_all(&mut order, 1_601, 8).len(), 0, "eight risky ones are out");
    end(&mut order, new[0], 2_000);
    assert_eq!(lease_all(&mut order, 2_000, 1), [new[6]]);
}

proptest! {
    /// Whatever happens: no domain has more than its share, nothing is forgotten, and every counter counts.
    #[test]
    fn shares_hold(steps in prop::collection::vec((0u8..6, 0u32..40, 0u64..2_000), 1..120)) {
        let mut order = Order::new(shared(10, 2, 3), (1, 2));
        let (mut now, mut out, mut n) = (0, Vec::new(), 0);
        for (what, which, wait) in steps {
            now += wait / 4;
            match what {
                0 | 1 => {
                    n += 1;
                    let url = format!("http://h{which}.d{}.test/{n}", which % 5);
                    add(&mut order, &url, f64::from(which % 7));
                }
                2 | 3 if out.len() < 10 => {
                    if let Choice::Lease { id, .. } = order.choose(Millis(now), None) {
                        out.push(id);
                    }
                }
                4 if !out.is_empty() => {
                    let id = out.swap_remove(which as usize % out.len());
                    order.end_lease(id, Some(Millis(now)));
                    if which % 3 == 0 {
                        order.defer(id, Millis(now + wait));
                    } else {
                        order.settle(id, Outcome::Fetched);
                    }
                }
                _ => {
                    let host = which % order.host_count().max(1) as u32;
                    if let Some(clock) = order.clock(host) {
                        let next_allowed = now + wait;
                        order.set_clock(host, gleaner_frontier::Clock { next_allowed, failures: which % 2, ..clock });
                    }
                }
            }
            order.check().unwrap();
        }
        // In the end everything is served.
        for _ in 0..10_000 {
            match order.choose(Millis(now), None) {
                Choice::Lease { id, .. } if out.len() < 10 => out.push(id),
                Choice::Lease { id, .. } => {
                    order.end_lease(id, Some(Millis(now)));
                    order.settle(id, Outcome::Fetched);
                }
                Choice::Wait { until, .. } if out.is_empty() => now = now.max(until.0),
                Choice::Wait { .. } => {}
                Choice::Empty(_) => break,
            }
            if let Some(id) = out.pop() {
                now += 50;
                order.end_lease(id, Some(Millis(now)));
                order.settle(id, Outcome::Fetched);
            }
        }
        prop_assert_eq!((order.counts().pending, order.counts().leased), (0, 0));
    }

    #[test]
    fn any_bytes_are_an_image_or_an_error(mut bytes in prop::collection::vec(any::<u8>(), 0..400), small in any::<bool>()) {
        if small {
            // Small numbers get further into the reader than random ones.
            bytes.iter_mut().enumerate().filter(|(i, _)| i % 8 != 0).for_each(|(_, b)| *b = 0);
        }
        if let Ok(mut order) = Order::read(&mut bytes.as_slice(), limits(), (0, 0)) {
            order.wake(Millis(0), false);
            let _ = order.choose(Millis(1_000), None);
        }
    }
}
