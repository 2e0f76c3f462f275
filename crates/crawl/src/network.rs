//! Is it the hosts, or is it our own network? When hosts that have answered before fall silent one after the other, and
//! nobody else answers in between, the crawl holds its breath: what was asked goes back to where it was, as if it had
//! not been asked, and one request every few seconds looks whether the network is there again. So an outage costs time
//! and no URLs.

use std::collections::HashSet;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::time::Duration;
use types::Millis;

/// So many hosts in a row are no coincidence (all of them, if there are fewer).
const FEW: usize = 4;
/// Between two looks.
const EVERY: Duration = Duration::from_secs(5);
/// After this long it is believed of the hosts: perhaps all that is left is on one machine that is gone.
const PATIENCE: Duration = Duration::from_secs(600);

#[derive(Default)]
pub(crate) struct Network {
    /// Hosts that have answered in this run.
    good: HashSet<u64>,
    /// Those of them that gave no answer since anyone last did.
    silent: HashSet<u64>,
    down_since: Option<Millis>,
    next_look: Millis,
    /// It was waited for in vain.
    gave_up: bool,
}

impl Network {
    pub fn answered(&mut self, host: &str) {
        self.good.insert(hash(host));
        self.silent.clear();
        (self.down_since, self.gave_up) = (None, false);
    }

    /// A host gave no answer. Is it the network's fault?
    pub fn was_silent(&mut self, host: &str, now: Millis) -> bool {
        let host = hash(host);
        if self.good.contains(&host) {
            self.silent.insert(host);
        }
        match self.down_since {
            None if !self.gave_up && self.silent.len() >= FEW.min(self.good.len()).max(2) => {
                self.down_since = Some(now);
                self.next_look = now.plus(EVERY);
                tracing::warn!(
                    hosts = self.silent.len(),
                    "no host answers any more: waiting for the network"
                );
            }
            Some(since) if now.since(since) >= PATIENCE => {
                tracing::warn!("the network did not come back");
                (self.down_since, self.gave_up) = (None, true);
                self.silent.clear();
            }
            _ => {}
        }
        self.down_since.is_some()
    }

    /// Until when nothing may be asked. One request at a time looks whether anyone answers.
    pub fn hold(&mut self, now: Millis, in_flight: usize) -> Option<Millis> {
        self.down_since?;
        if in_flight > 0 {
            return Some(now.plus(Duration::from_millis(200)));
        }
        if now < self.next_look {
            return Some(self.next_look);
        }
        self.next_look = now.plus(EVERY);
        None
    }
}

fn hash(host: &str) -> u64 {
    BuildHasherDefault::<DefaultHasher>::default().hash_one(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Millis {
        Millis(seconds * 1000)
    }

    #[test]
    fn hosts_that_never_answered_say_nothing_of_the_network() {
        let mut n = Network::default();
        assert!((0..50).all(|i| !n.was_silent(&format!("dead{i}"), at(i))));
        n.answered("a");
        assert!(!n.was_silent("a", at(60)), "one host may be down");
        assert_eq!(n.hold(at(60), 0), None);
    }

    #[test]
    fn four_good_hosts_in_a_row_do_and_one_answer_ends_it() {
        let mut n = Network::default();
        ["a", "b", "c", "d", "e"].into_iter().for_each(|h| n.answered(h));
        assert!(!n.was_silent("a", at(1)) && !n.was_silent("b", at(1)) && !n.was_silent("a", at(1)));
        n.answered("e");
        assert!(["a", "b", "c"].iter().all(|h| !n.was_silent(h, at(2))), "counted anew");
        assert!(n.was_silent("d", at(2)) && n.was_silent("x", at(3)));
        // One look every five seconds.
        assert_eq!(
            (n.hold(at(3), 0), n.hold(at(7), 1)),
            (Some(at(7)), Some(at(7).plus(Duration::from_millis(200))))
        );
        assert_eq!((n.hold(at(7), 0), n.hold(at(8), 0)), (None, Some(at(12))));
        n.answered("x");
        assert_eq!(n.hold(at(8), 3), None);
    }

    #[test]
    fn in_the_end_the_hosts_are_to_blame() {
        let mut n = Network::default();
        ["a", "b"].into_iter().for_each(|h| n.answered(h));
        n.was_silent("a", at(0));
        assert!(n.was_silent("b", at(0)), "both there are");
        assert!(n.was_silent("a", at(599)) && !n.was_silent("a", at(600)));
        assert!(
            !n.was_silent("b", at(601)) && !n.was_silent("a", at(602)),
            "and that is that, until one answers"
        );
    }
}
