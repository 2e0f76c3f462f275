//! What comes next, and when nothing does: why.

use std::fmt;
use types::{Lease, Millis};

/// The frontier's answer to "what now?".
#[derive(Debug)]
pub enum Next {
    /// Fetch this.
    Lease(Lease),
    /// Nothing before `until` (`Millis::NEVER`: until a lease is settled).
    Wait {
        /// When to ask again.
        until: Millis,
        /// Why it has to wait.
        idle: Idle,
    },
    /// Nothing, and nothing will come by waiting.
    Empty(Idle),
}

/// Why nothing can be leased.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Idle {
    /// URLs that wait, for whatever reason.
    pub pending: u64,
    /// Hosts whose time has not come.
    pub hosts_waiting: u64,
    /// Of those, how many wait because they failed.
    pub hosts_backing_off: u64,
    /// Hosts with requests in flight.
    pub hosts_in_flight: u64,
    /// URLs that wait for another try.
    pub retries: u64,
    /// URLs of hosts that are free, below the floor.
    pub urls_below_floor: u64,
    /// Hosts that are free but not known to be quick, while others like them have all their share.
    pub hosts_held_back: u64,
    /// A better URL is worth waiting for.
    pub patient: bool,
    /// Milliseconds until the first host or retry is due; `None` when nothing has a time.
    pub next_in_ms: Option<u64>,
}

impl fmt::Display for Idle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        let mut say = |n: u64, one: &str, many: &str| match n {
            0 => {}
            1 => parts.push(one.to_string()),
            n => parts.push(many.replace('#', &n.to_string())),
        };
        let resting = self.hosts_waiting - self.hosts_backing_off.min(self.hosts_waiting);
        say(resting, "waiting for 1 host", "waiting for # hosts");
        say(self.hosts_backing_off, "1 host failed and rests", "# hosts failed and rest");
        say(self.hosts_in_flight, "1 host is answering", "# hosts are answering");
        say(self.retries, "1 URL is tried again later", "# URLs are tried again later");
        say(self.urls_below_floor, "1 URL is below the floor", "# URLs are below the floor");
        say(self.hosts_held_back, "1 new or slow host waits its turn", "# new or slow hosts wait their turn");
        if self.patient {
            parts.push("a better URL is worth the wait".into());
        }
        if let Some(ms) = self.next_in_ms {
            parts.push(format!("next in {}", Wait(ms)));
        }
        if parts.is_empty() {
            return f.write_str("nothing is pending");
        }
        f.write_str(&parts.join(", "))
    }
}

struct Wait(u64);
impl fmt::Display for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            ms @ 0..1_000 => write!(f, "{ms} ms"),
            ms @ 1_000..120_000 => write!(f, "{} s", ms.div_ceil(1_000)),
            ms @ 120_000..7_200_000 => write!(f, "{} min", ms.div_ceil(60_000)),
            ms => write!(f, "{} h", ms.div_ceil(3_600_000)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_why() {
        let idle = Idle { hosts_waiting: 412, next_in_ms: Some(2_100), ..Idle::default() };
        assert_eq!(idle.to_string(), "waiting for 412 hosts, next in 3 s");
        let idle = Idle {
            hosts_waiting: 3,
            hosts_backing_off: 2,
            hosts_in_flight: 1,
            urls_below_floor: 9,
            ..Idle::default()
        };
        assert_eq!(
            idle.to_string(),
            "waiting for 1 host, 2 hosts failed and rest, 1 host is answering, 9 URLs are below the floor"
        );
        assert_eq!(Idle::default().to_string(), "nothing is pending");
    }
}
