//! One host: its clock (which survives a crash), its robots state, and its queues.

use crate::heap::Heap;
use crate::limits::Limits;
use std::net::IpAddr;
use types::{HostUpdate, Millis};

pub(crate) const DAY: u64 = 24 * 3_600_000;
/// No host is left alone for longer: as long as a `Retry-After` that is believed.
const LONGEST_WAIT: u64 = 30 * DAY;

/// When a host may be contacted again, and why. A plain value that the ledger writes down.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Clock {
    /// Milliseconds; no request of this host before then.
    pub next_allowed: u64,
    /// How long the wait until `next_allowed` was when it was set. A wait that looks longer than this at a
    /// later start means that the machine's clock went backwards.
    pub wait_ms: u64,
    /// `Crawl-delay` as the host asked for it.
    pub crawl_delay_ms: u64,
    /// Failures in a row.
    pub failures: u32,
    /// Failures in a row to get robots.txt.
    pub robots_failures: u32,
    /// Pages fetched.
    pub pages: u64,
    /// Given up until then.
    pub closed_until: u64,
    /// The address that answered last; hosts of one address may share a clock.
    pub ip: Option<IpAddr>,
}

impl Clock {
    /// The pause between two requests.
    pub fn delay(&self, limits: &Limits) -> u64 {
        limits.delay_ms.max(self.crawl_delay_ms.min(limits.max_delay_ms))
    }

    /// The clock after a fetch that taught `u`. Counted from the *end* of the request, so that a slow host
    /// rests longer.
    pub fn after(mut self, u: &HostUpdate, limits: &Limits) -> Clock {
        if let Some(ms) = u.crawl_delay {
            self.crawl_delay_ms = ms;
        }
        if u.ip.is_some() {
            self.ip = u.ip;
        }
        match u.failed {
            Some(true) => self.failures = self.failures.saturating_add(1),
            Some(false) => self.failures = 0,
            None => {}
        }
        let delay = self.delay(limits);
        let mut wait = if u.contacted { delay } else { 0 };
        if u.failed == Some(true) {
            let doubled = delay.max(limits.backoff_ms).saturating_mul(1 << (self.failures - 1).min(32));
            wait = wait.max(doubled.min(limits.max_backoff_ms));
        }
        if let Some(at) = u.not_before {
            wait = wait.max(at.since(u.finished).as_millis() as u64);
        }
        self.push_back(u.finished.0, wait);
        self
    }

    /// Not before `from + wait`; never earlier than already decided.
    pub(crate) fn push_back(&mut self, from: u64, wait: u64) {
        let at = from.saturating_add(wait);
        if at > self.next_allowed {
            self.next_allowed = at;
            self.wait_ms = wait;
        }
    }

    /// At a start at `now`: no wait is longer than it was when it was set, else the clock went backwards.
    pub fn clamp(&mut self, now: u64, limits: &Limits) {
        self.wait_ms = self.wait_ms.min(LONGEST_WAIT);
        self.next_allowed = self.next_allowed.min(now.saturating_add(self.wait_ms));
        self.closed_until = self.closed_until.min(now.saturating_add(limits.closed_ms));
    }
}

/// What is known of a host's robots.txt; the answer itself is in the log at `offset`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RobotsState {
    /// Where the answer is in the ledger's log.
    pub offset: u64,
    /// HTTP status of the answer; 0 when nobody answered.
    pub status: u16,
    /// Milliseconds; when the answer came.
    pub fetched: u64,
    /// 0 = never asked.
    pub expires: u64,
}

impl RobotsState {
    /// At a start at `now`: an answer is kept no longer than it was to be, and for a day at most (RFC 9309
    /// §2.4), else the clock was set meanwhile.
    pub fn clamp(&mut self, now: u64) {
        let kept = self.expires.saturating_sub(self.fetched).min(DAY);
        if self.fetched > now || self.expires > now.saturating_add(DAY) {
            self.expires = self.expires.min(now.saturating_add(kept));
        }
    }

    /// No answer, a server error or "too many requests": nothing of the host may be fetched (RFC 9309
    /// §2.3.1.4).
    pub fn failed(&self) -> bool {
        is_robots_failure(self.status) && self.expires > 0
    }
}

/// Does an answer with this status leave the rules unknown?
pub(crate) fn is_robots_failure(status: u16) -> bool {
    status == 0 || status == 429 || status >= 500
}

/// Where a host stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HostState {
    /// Nothing of it can be leased (nothing pending, or only retries whose time has not come).
    #[default]
    Out,
    /// Its best URL may be leased now.
    Ready,
    /// May be contacted at this time.
    Waiting(u64),
    /// As many requests in flight as allowed, or waiting for its robots.txt.
    Held,
    /// As many pages as allowed were fetched of it.
    Full,
    /// Its address or its domain has as many requests in flight as allowed.
    Parked,
}

#[derive(Debug, Default)]
pub(crate) struct Host {
    pub name: Box<str>,
    /// It is among those whose turn may be worth waiting for.
    pub rests: bool,
    pub clock: Clock,
    pub robots: RobotsState,
    /// Whom it shares requests with: a name of its registrable domain.
    pub domain: u64,
    // What follows is rebuilt at each start.
    /// Its last answer came soon, and it did not fail.
    pub quick: bool,
    /// It has something queued or in flight, and is counted as such.
    pub works: bool,
    pub in_flight: u32,
    pub robots_lease: bool,
    pub place: HostState,
    /// Counted in `Idle::hosts_backing_off`.
    pub backing_off: bool,
    /// URLs in `queues`.
    pub queued: u32,
    /// Highest lane first; most hosts have one.
    pub queues: Vec<(u8, Heap)>,
}

impl Host {
    pub fn queue(&self, lane: u8) -> Option<&Heap> {
        self.queues.iter().find(|(l, _)| *l == lane).map(|(_, q)| q)
    }

    pub fn queue_mut(&mut self, lane: u8) -> &mut Heap {
        let at = self.queues.partition_point(|(l, _)| *l > lane);
        if self.queues.get(at).is_none_or(|(l, _)| *l != lane) {
            self.queues.insert(at, (lane, Heap::default()));
        }
        &mut self.queues[at].1
    }
}

/// A host, for people.
#[derive(Clone, Debug, PartialEq)]
pub struct HostInfo {
    /// The host key: name, and port when it is not the scheme's own.
    pub name: String,
    /// When it may be contacted again.
    pub clock: Clock,
    /// What is known of its robots.txt.
    pub robots: RobotsState,
    /// Requests that are out.
    pub in_flight: u32,
    /// URLs that wait in its queues.
    pub pending: u32,
    /// Why it is asked now, or not.
    pub state: HostState,
}

impl HostInfo {
    /// The earliest time of its next request.
    pub fn next_allowed(&self) -> Millis {
        Millis(self.clock.next_allowed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits() -> Limits {
        Limits {
            delay_ms: 100,
            max_delay_ms: 5_000,
            backoff_ms: 1_000,
            max_backoff_ms: 8_000,
            ..Limits::default()
        }
    }
    fn contact(finished: u64) -> HostUpdate {
        HostUpdate { contacted: true, finished: Millis(finished), ..HostUpdate::default() }
    }

    #[test]
    fn the_delay_counts_from_the_end_and_crawl_delay_is_capped() {
        let c = Clock::default().after(&contact(1_000), &limits());
        assert_eq!((c.next_allowed, c.wait_ms), (1_100, 100));
        let c = c.after(&HostUpdate { crawl_delay: Some(2_000), ..contact(2_000) }, &limits());
        assert_eq!(c.next_allowed, 4_000);
        let c = c.after(&HostUpdate { crawl_delay: Some(3_600_000), ..contact(5_000) }, &limits());
        assert_eq!(c.next_allowed, 10_000);
        let c = c.after(
            &HostUpdate { contacted: false, finished: Millis(11_000), ..HostUpdate::default() },
            &limits(),
        );
        assert_eq!(c.next_allowed, 11_000, "a URL denied by cached rules costs no politeness");
    }

    #[test]
    fn back_off_doubles_to_a_cap_and_resets() {
        let fail = |c: Clock, at| c.after(&HostUpdate { failed: Some(true), ..contact(at) }, &limits());
        let mut c = Clock::default();
        let mut waits = Vec::new();
        for at in [10_000, 30_000, 50_000, 70_000, 90_000] {
            c = fail(c, at);
            waits.push(c.wait_ms);
        }
        assert_eq!(waits, [1_000, 2_000, 4_000, 8_000, 8_000]);
        c = c.after(&HostUpdate { failed: Some(false), ..contact(200_000) }, &limits());
        assert_eq!((c.failures, c.wait_ms), (0, 100));
    }

    #[test]
    fn retry_after_is_honoured_and_never_shortened() {
        let c = Clock::default()
            .after(&HostUpdate { not_before: Some(Millis(90_000)), ..contact(1_000) }, &limits());
        assert_eq!((c.next_allowed, c.wait_ms), (90_000, 89_000));
        let c = c.after(&contact(2_000), &limits());
        assert_eq!(c.next_allowed, 90_000, "another answer that was in flight does not shorten it");
    }

    #[test]
    fn robots_rules_do_not_last_for_years_because_a_clock_was_wrong() {
        let at = |fetched, expires, now| {
            let mut r = RobotsState { fetched, expires, ..RobotsState::default() };
            r.clamp(now);
            r.expires
        };
        assert_eq!(at(1_000, 5_000, 2_000), 5_000);
        assert_eq!(at(50 * DAY, 50 * DAY + 900, 2_000), 2_900, "fetched in the future");
        assert_eq!(at(1_000, 50 * DAY, 2_000), 2_000 + DAY, "kept for too long");
        assert_eq!(at(0, 0, 2_000), 0, "never asked");
    }

    #[test]
    fn a_clock_that_went_back_does_not_block_a_host_for_years() {
        let mut c = Clock::default().after(&contact(1_000_000_000), &limits());
        c.clamp(5_000, &limits());
        assert_eq!(c.next_allowed, 5_100);
        let mut c = Clock::default()
            .after(&HostUpdate { not_before: Some(Millis(90_000)), ..contact(1_000) }, &limits());
        c.clamp(2_000, &limits());
        assert_eq!(c.next_allowed, 90_000, "a long wait that was asked for stands");
    }
}
