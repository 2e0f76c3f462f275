//! The order by itself, without a ledger under it.

use frontier::{Choice, Fresh, Limits, Order, State};
use proptest::prelude::*;
use types::{Fingerprint, Millis, Outcome, Priority, Task, UrlId};

fn add(order: &mut Order, url: &str, key: f64) -> UrlId {
    let name = frontier::guards::host_key(url);
    let host = order.find_host(name).unwrap_or_else(|| order.add_host(name));
    order.insert(&Fresh {
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

proptest! {
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
