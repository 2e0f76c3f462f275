//! Order and politeness against a naive model: a list that is searched from end to end for every lease.

use crate::harness::*;
use frontier::{Frontier, Limits, Next, Pick};
use gleaner_store::ledger::{Ledger, MemLog};
use gleaner_store::{Journal, Records};
use proptest::prelude::*;
use types::{HostUpdate, Lease, Millis, Outcome, Priority, Rescored, Settle, Turn, UrlId};

#[derive(Clone, Debug)]
enum Op {
    Seed {
        host: u8,
        path: u8,
        lane: u8,
        key: i8,
    },
    Advance(u16),
    Lease(Option<u8>),
    Settle {
        which: u8,
        how: How,
        took: u8,
        links: Vec<(u8, u8, u8, i8)>,
    },
    Rescore {
        url: u8,
        lane: u8,
        key: i8,
    },
    /// The process dies (or ends in order) and starts again.
    Restart {
        clean: bool,
    },
}

#[derive(Clone, Copy, Debug)]
enum How {
    Done,
    Denied,
    Failed,
    Retry(u16),
    Return,
}

fn op() -> impl Strategy<Value = Op> {
    let key = -3i8..4;
    let one = (0u8..5, 0u8..12, 0u8..3, key.clone());
    let how = prop_oneof![
        4 => Just(How::Done),
        1 => Just(How::Denied),
        1 => Just(How::Failed),
        1 => (0u16..600).prop_map(How::Retry),
        1 => Just(How::Return),
    ];
    prop_oneof![
        3 => one.clone().prop_map(|(host, path, lane, key)| Op::Seed { host, path, lane, key }),
        2 => (0u16..300).prop_map(Op::Advance),
        6 => prop::option::weighted(0.2, 0u8..3).prop_map(Op::Lease),
        5 => (any::<u8>(), how, 0u8..200, prop::collection::vec(one, 0..5))
            .prop_map(|(which, how, took, links)| Op::Settle { which, how, took, links }),
        2 => (any::<u8>(), 0u8..3, key).prop_map(|(url, lane, key)| Op::Rescore { url, lane, key }),
        1 => any::<bool>().prop_map(|clean| Op::Restart { clean }),
    ]
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum At {
    Pending,
    Leased,
    Settled,
    /// Settled too, because nobody answered: given as a seed once more, it begins anew.
    Unanswered,
}

impl At {
    fn is_settled(self) -> bool {
        matches!(self, At::Settled | At::Unanswered)
    }
}

#[derive(Debug)]
struct Known {
    url: String,
    host: usize,
    priority: Priority,
    at: At,
    not_before: u64,
    attempts: u8,
}

#[derive(Clone, Copy, Default, Debug)]
struct Clock {
    next: u64,
    failures: u32,
    in_flight: u32,
}

struct Naive {
    limits: Limits,
    now: u64,
    urls: Vec<Known>,
    hosts: [Clock; 5],
}

impl Naive {
    fn eligible(&self, u: &Known) -> bool {
        let h = &self.hosts[u.host];
        u.at == At::Pending
            && u.not_before <= self.now
            && h.next <= self.now
            && h.in_flight < self.limits.per_host_in_flight
            && self.limits.floor.is_none_or(|f| u.priority.key() >= f)
    }

    /// By stored priority; the named lane first; first found first.
    fn best(&self, lane: Option<u8>) -> Option<usize> {
        let rank = |i: &usize| {
            let p = self.urls[*i].priority;
            (Some(p.lane) == lane, p, std::cmp::Reverse(*i))
        };
        (0..self.urls.len()).filter(|&i| self.eligible(&self.urls[i])).max_by_key(rank)
    }

    fn see(&mut self, text: &str, host: usize, priority: Priority) {
        match self.urls.iter_mut().find(|u| u.url == text) {
            Some(u) if u.at.is_settled() => {}
            Some(u) => u.priority = u.priority.max(priority),
            None => {
                let at = At::Pending;
                self.urls.push(Known { url: text.into(), host, priority, at, not_before: 0, attempts: 0 });
            }
        }
    }

    fn contacted(&mut self, host: usize, finished: u64, failed: bool) {
        let h = &mut self.hosts[host];
        h.failures = if failed { h.failures + 1 } else { 0 };
        let mut wait = self.limits.delay_ms;
        if failed {
            wait = wait.max((self.limits.backoff_ms << (h.failures - 1)).min(self.limits.max_backoff_ms));
        }
        h.next = h.next.max(finished + wait);
    }
}

fn address(host: u8, path: u8) -> String {
    format!("http://h{host}/{path}")
}

/// What the property needs of a ledger, with or without a disk under it.
trait Restart: Frontier + Records + Journal + Sized {
    fn restart(self, clean: bool, limits: Limits, now: u64) -> (Self, bool);
}
impl Restart for Ledger<MemLog> {
    fn restart(self, _: bool, _: Limits, _: u64) -> (Self, bool) {
        (self, false)
    }
}
impl Restart for Ledger<CrashLog> {
    fn restart(mut self, clean: bool, limits: Limits, now: u64) -> (Self, bool) {
        if clean {
            self.close().unwrap();
        } else {
            self.commit().unwrap();
        }
        let log = self.into_log();
        (open(&log, limits, now), true)
    }
}

fn run<L: Restart>(mut l: L, limits: Limits, ops: &[Op]) -> Result<Vec<String>, TestCaseError> {
    let mut m = Naive { limits: limits.clone(), now: 0, urls: Vec::new(), hosts: Default::default() };
    let mut out: Vec<Lease> = Vec::new();
    let mut order = Vec::new();
    for op in ops {
        match op {
            Op::Seed { host, path, lane, key } => {
                let text = address(*host, *path);
                let p = Priority::new(*lane, f64::from(*key));
                let c = types::Candidate { priority: p, ..seed(&text, 0.0) };
                l.seed(c, Millis(m.now)).unwrap();
                match m.urls.iter_mut().find(|u| u.url == text && u.at == At::Unanswered) {
                    Some(u) => (u.at, u.priority, u.not_before, u.attempts) = (At::Pending, p, 0, 0),
                    None => m.see(&text, usize::from(*host), p),
                }
            }
            Op::Advance(ms) => m.now += u64::from(*ms),
            Op::Lease(lane) => {
                let best = m.best(*lane);
                let peeked = l.peek(Millis(m.now), *lane, 3);
                prop_assert_eq!(peeked.first().map(|p| p.id.0 as usize), best, "peek");
                for (i, p) in peeked.iter().enumerate() {
                    prop_assert!(m.eligible(&m.urls[p.id.0 as usize]), "peeked {} is not eligible", i);
                }
                match (l.lease(Millis(m.now), Pick::of_lane(*lane)).unwrap(), best) {
                    (Next::Lease(lease), Some(i)) => {
                        prop_assert_eq!(lease.id.0 as usize, i);
                        prop_assert_eq!(lease.url.as_str(), &m.urls[i].url);
                        prop_assert_eq!(lease.attempt, m.urls[i].attempts);
                        m.urls[i].at = At::Leased;
                        m.hosts[m.urls[i].host].in_flight += 1;
                        order.push(lease.url.to_string());
                        out.push(lease);
                    }
                    (Next::Wait { until, .. }, None) => {
                        prop_assert!(until.0 > m.now);
                        // Nobody becomes eligible by time alone before `until`.
                        let soonest = m.urls.iter().filter(|u| {
                            let h = &m.hosts[u.host];
                            u.at == At::Pending
                                && h.in_flight < m.limits.per_host_in_flight
                                && m.limits.floor.is_none_or(|f| u.priority.key() >= f)
                        });
                        let soonest = soonest.map(|u| u.not_before.max(m.hosts[u.host].next)).min();
                        prop_assert!(soonest.is_none_or(|s| until.0 <= s), "{until:?} after {soonest:?}");
                    }
                    (Next::Empty(_), None) => {
                        prop_assert!(out.is_empty());
                        let floor = m.limits.floor.unwrap_or(f64::NEG_INFINITY);
                        prop_assert!(m.urls.iter().all(|u| u.at.is_settled() || u.priority.key() < floor));
                    }
                    (next, best) => prop_assert!(false, "{next:?}, expected {best:?}"),
                }
            }
            Op::Settle { which, how, took, links } => {
                if out.is_empty() {
                    continue;
                }
                let lease = out.remove(usize::from(*which) % out.len());
                let (i, id) = (lease.id.0 as usize, lease.id);
                m.now += u64::from(*took);
                let (settle, contacted, failed) = match how {
                    How::Done => (Settle::Done { id, outcome: Outcome::Fetched }, true, Some(false)),
                    How::Denied => (Settle::Done { id, outcome: Outcome::RobotsDenied }, false, None),
                    How::Failed => (Settle::Done { id, outcome: Outcome::Unreachable }, true, Some(true)),
                    How::Retry(ms) => {
                        (Settle::Retry { id, not_before: Millis(m.now + u64::from(*ms)) }, true, Some(true))
                    }
                    How::Return => (Settle::Return { id }, false, None),
                };
                let host = HostUpdate { contacted, failed, finished: Millis(m.now), ..HostUpdate::default() };
                let found = |(host, path, lane, key): &(u8, u8, u8, i8)| types::Candidate {
                    priority: Priority::new(*lane, f64::from(*key)),
                    parent: Some(id),
                    ..link(&address(*host, *path), 0.0)
                };
                let add = links.iter().map(found).collect();
                l.apply(Turn { host, add, ..Turn::new(settle) }, &best).unwrap();
                m.hosts[m.urls[i].host].in_flight -= 1;
                match how {
                    How::Done | How::Denied => m.urls[i].at = At::Settled,
                    How::Failed => m.urls[i].at = At::Unanswered,
                    How::Retry(ms) => {
                        m.urls[i].attempts += 1;
                        m.urls[i].not_before = m.now + u64::from(*ms);
                        let given_up = m.urls[i].attempts >= m.limits.max_attempts;
                        m.urls[i].at = if given_up { At::Unanswered } else { At::Pending };
                    }
                    How::Return => m.urls[i].at = At::Pending,
                }
                if contacted {
                    let host = m.urls[i].host;
                    m.contacted(host, m.now, failed == Some(true));
                }
                for (host, path, lane, key) in links {
                    m.see(&address(*host, *path), usize::from(*host), Priority::new(*lane, f64::from(*key)));
                }
            }
            Op::Rescore { url, lane, key } => {
                if m.urls.is_empty() {
                    continue;
                }
                let i = usize::from(*url) % m.urls.len();
                let priority = Priority::new(*lane, f64::from(*key));
                l.rescore(&[Rescored { id: UrlId(i as u32), priority, model: 2, cause: None }]).unwrap();
                if !m.urls[i].at.is_settled() {
                    m.urls[i].priority = priority;
                }
            }
            Op::Restart { clean } => {
                let (again, restarted) = l.restart(*clean, limits.clone(), m.now);
                l = again;
                if restarted {
                    let in_order = *clean && out.is_empty();
                    out.clear();
                    for u in m.urls.iter_mut().filter(|u| u.at == At::Leased) {
                        u.at = At::Pending;
                    }
                    for (i, h) in m.hosts.iter_mut().enumerate() {
                        h.in_flight = 0;
                        // Any host there is a URL of may have been contacted a moment ago.
                        if !in_order && m.urls.iter().any(|u| u.host == i) {
                            h.next = h.next.max(m.now + m.limits.delay_ms);
                        }
                    }
                }
            }
        }
        l.check().map_err(|e| TestCaseError::fail(format!("after {op:?}: {e}")))?;
        let (pending, leased) = (l.stats().unwrap().pending as usize, l.stats().unwrap().leased as usize);
        prop_assert_eq!(pending, m.urls.iter().filter(|u| u.at == At::Pending).count());
        prop_assert_eq!(leased, out.len());
    }
    Ok(order)
}

fn limits(delay_ms: u64, per_host: u32, floor: bool) -> Limits {
    Limits {
        delay_ms,
        per_host_in_flight: per_host,
        backoff_ms: delay_ms.max(50),
        max_backoff_ms: 400,
        host_failures: u32::MAX,
        max_attempts: 3,
        use_robots: false,
        floor: floor.then_some(-1.0),
        ..Limits::default()
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn no_url_is_leased_while_a_better_one_was_eligible(
        ops in prop::collection::vec(op(), 1..80),
        delay in prop_oneof![Just(0u64), Just(100u64)],
        per_host in 1u32..3,
        floor in any::<bool>(),
    ) {
        let limits = limits(delay, per_host, floor);
        run(Ledger::in_memory(limits.clone()), limits.clone(), &ops)?;
        run(open(&CrashLog::default(), limits.clone(), 0), limits, &ops)?;
    }

    #[test]
    fn memory_and_disk_give_the_same_order(ops in prop::collection::vec(op(), 1..80)) {
        let ops: Vec<Op> = ops.into_iter().filter(|o| !matches!(o, Op::Restart { .. })).collect();
        let limits = limits(100, 1, false);
        let memory = run(Ledger::in_memory(limits.clone()), limits.clone(), &ops)?;
        let disk = run(open(&CrashLog::default(), limits.clone(), 0), limits, &ops)?;
        prop_assert_eq!(memory, disk);
    }
}
