//! Tells an outage of our own network from hosts that are down.
//!
//! 1. Hosts that have answered before fall silent one after the other, and nobody else answers in between:
//!    the network is in doubt.
//! 2. A few other hosts of different domains, which answered lately, are asked at once.
//! 3. If one of them answers, the silent hosts are to blame, and what they did not answer counts as a
//!    failure.
//! 4. If none answers, it is an outage. The crawl pauses. Requests that failed meanwhile go back to the
//!    frontier as if they had not been sent. Every few seconds a few hosts are asked whether the network is
//!    back.
//!
//! So an outage costs time but no URLs, and a group of hosts that hangs costs only its own URLs.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher, Hash};
use std::time::Duration;
use types::Millis;

/// So many hosts in a row are no coincidence (all of them, if there are fewer).
const FEW: usize = 4;
/// Hosts that are asked at once whether the network is there.
const LOOKS: usize = 4;
/// At first only those that have answered before: one that rests for its delay is worth the wait.
const FIRST: Duration = Duration::from_millis(1_500);
/// Between two rounds of that.
const EVERY: Duration = Duration::from_secs(5);
/// After this long it is believed of the hosts: perhaps all that is left is on one machine that is gone.
const PATIENCE: Duration = Duration::from_secs(600);

#[derive(Default)]
pub(crate) struct Network {
    /// Hosts that have answered in this run, and when they last did.
    good: HashMap<u64, Millis>,
    /// Those of them that gave no answer since anyone last did.
    silent: HashSet<u64>,
    state: State,
    /// Leases that look whether the network is there.
    looks: HashSet<u64>,
    failed_looks: usize,
    /// Hosts that were looked at since the doubt began.
    looked: HashSet<u64>,
    /// Domains that were looked at in this round, one for each look.
    round: Vec<u64>,
    next_round: Millis,
    /// The time, when it was last asked for.
    now: Millis,
    /// It was waited for in vain.
    gave_up: bool,
}

#[derive(Clone, Copy, Default, PartialEq, Debug)]
enum State {
    #[default]
    Up,
    Doubted {
        since: Millis,
    },
    Down {
        since: Millis,
    },
}

/// Whose fault it is that there was no answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fault {
    Host,
    /// That is being found out.
    Unknown,
    Network,
}

/// What may be asked now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ask {
    Anyone,
    /// The host that [`Network::rank`] puts highest.
    Look,
    /// Nobody until then.
    Nobody(Millis),
}

impl Network {
    pub fn answered(&mut self, host: &str, now: Millis) {
        self.good.insert(hash(host), now);
        if self.state != State::Up {
            tracing::debug!(host, state = ?self.state, "a host answers: the network is there");
        }
        if !self.silent.is_empty() {
            self.silent.clear();
        }
        (self.state, self.gave_up) = (State::Up, false);
    }

    /// A host gave no answer to this lease.
    pub fn was_silent(&mut self, host: &str, lease: u64, now: Millis) -> Fault {
        let host = hash(host);
        if self.good.contains_key(&host) {
            self.silent.insert(host);
        }
        if self.looks.remove(&lease) {
            self.failed_looks += 1;
        }
        match self.state {
            State::Up if !self.gave_up && self.silent.len() >= FEW.min(self.good.len()).max(2) => {
                self.state = State::Doubted { since: now };
                self.failed_looks = 0;
                self.looks.clear();
                self.looked.clear();
                self.round.clear();
                self.next_round = now.plus(EVERY);
                tracing::debug!(hosts = self.silent.len(), "hosts fell silent: is the network there?");
                self.give_way(now);
            }
            State::Doubted { .. } => self.give_way(now),
            State::Down { since } if now.since(since) >= PATIENCE => {
                tracing::warn!("the network did not come back");
                (self.state, self.gave_up) = (State::Up, true);
                self.silent.clear();
            }
            _ => {}
        }
        match self.state {
            State::Up => Fault::Host,
            State::Doubted { .. } => Fault::Unknown,
            State::Down { .. } => Fault::Network,
        }
    }

    /// Enough others gave no answer either.
    fn give_way(&mut self, now: Millis) {
        if self.failed_looks >= LOOKS || self.silent.len() >= self.good.len() {
            self.declare_outage(now);
        }
    }

    fn declare_outage(&mut self, now: Millis) {
        self.state = State::Down { since: now };
        tracing::warn!(hosts = self.silent.len(), "no host answers any more: waiting for the network");
    }

    /// Why nobody is asked now, for people.
    pub fn trouble(&self) -> &'static str {
        match self.state {
            State::Down { .. } => "no host answers any more: waiting for the network",
            _ => "hosts fell silent: looking whether the network is there",
        }
    }

    pub fn is_down(&self) -> bool {
        matches!(self.state, State::Down { .. })
    }

    /// What may be asked now.
    pub fn ask(&mut self, now: Millis) -> Ask {
        if self.state == State::Up {
            return Ask::Anyone;
        }
        self.now = now;
        if now >= self.next_round {
            self.next_round = now.plus(EVERY);
            self.round.clear();
        }
        if self.round.len() >= LOOKS { Ask::Nobody(self.next_round) } else { Ask::Look }
    }

    /// Whom to look at: hosts of another domain than those of this round, then those that answered last.
    pub fn rank(&self, host: &str) -> Option<u64> {
        const OTHER_DOMAIN: u64 = 1 << 62;
        const GOOD: u64 = 1 << 61;
        let id = hash(host);
        if self.looked.contains(&id) {
            return None;
        }
        let domain = if self.round.contains(&domain(host)) { 0 } else { OTHER_DOMAIN };
        let rank = match self.good.get(&id) {
            // While it is not known whose fault it is, those in question cannot tell.
            _ if self.silent.contains(&id) && !self.is_down() => return None,
            _ if self.silent.contains(&id) => 0,
            Some(at) => GOOD + at.0.min(GOOD - 1),
            None if matches!(self.state, State::Doubted { since } if self.now.since(since) < FIRST) => {
                return None;
            }
            None => 1,
        };
        Some(domain + rank)
    }

    pub fn looks_at(&mut self, host: &str, lease: u64) {
        self.looks.insert(lease);
        self.looked.insert(hash(host));
        self.round.push(domain(host));
    }

    /// Nobody can be looked at now: until when to wait. Those looked at before may be looked at again; and
    /// when nobody could be asked for a while, the doubt is as good as an outage.
    pub fn none_to_look_at(&mut self, now: Millis) -> Millis {
        self.looked.clear();
        if let State::Doubted { since } = self.state
            && self.looks.is_empty()
            && now.since(since) >= EVERY
        {
            self.declare_outage(now);
        }
        now.plus(Duration::from_millis(200))
    }
}

/// The same in every run.
pub(crate) fn hash(what: impl Hash) -> u64 {
    BuildHasherDefault::<DefaultHasher>::default().hash_one(what)
}

fn domain(host: &str) -> u64 {
    hash(types::domain_of(host))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Millis {
        Millis(seconds * 1000)
    }

    fn with(good: &[&str]) -> Network {
        let mut n = Network::default();
        good.iter().enumerate().for_each(|(i, h)| n.answered(h, at(i as u64)));
        n
    }

    #[test]
    fn hosts_that_never_answered_say_nothing_of_the_network() {
        let mut n = Network::default();
        assert!((0..50).all(|i| n.was_silent(&format!("dead{i}"), i, at(i)) == Fault::Host));
        n.answered("a", at(50));
        assert_eq!(n.was_silent("a", 1, at(60)), Fault::Host, "one host may be down");
        assert_eq!(n.ask(at(60)), Ask::Anyone);
    }

    #[test]
    fn four_good_hosts_in_a_row_put_it_in_doubt_and_one_answer_clears_it() {
        let mut n = with(&["a", "b", "c", "d", "e", "f"]);
        assert!(["a", "b", "a"].iter().all(|h| n.was_silent(h, 1, at(10)) == Fault::Host));
        n.answered("e", at(11));
        assert!(["a", "b", "c"].iter().all(|h| n.was_silent(h, 1, at(12)) == Fault::Host), "counted anew");
        assert_eq!(n.was_silent("d", 1, at(12)), Fault::Unknown);
        assert_eq!(n.was_silent("x", 2, at(13)), Fault::Unknown, "whoever else gives no answer");
        assert_eq!(n.ask(at(13)), Ask::Look);
        n.answered("f", at(14));
        assert_eq!((n.ask(at(14)), n.is_down()), (Ask::Anyone, false));
    }

    #[test]
    fn a_look_goes_to_those_who_answered_last_and_not_to_one_domain_only() {
        let mut n = with(&["a.bad.test", "b.bad.test", "c.bad.test", "d.bad.test"]);
        ["old.test", "new.test", "e.bad.test", "f.bad.test"].iter().for_each(|h| n.answered(h, at(20)));
        n.answered("new.test", at(21));
        n.answered("f.bad.test", at(22));
        for h in ["a.bad.test", "b.bad.test", "c.bad.test", "d.bad.test"] {
            n.was_silent(h, 1, at(30));
        }
        let mut looked = Vec::new();
        for (lease, now) in [(10, 30), (11, 30), (12, 30), (13, 32)] {
            assert_eq!(n.ask(at(now)), Ask::Look);
            let all = ["a.bad.test", "e.bad.test", "f.bad.test", "old.test", "new.test", "unknown.test"];
            let best = all.into_iter().max_by_key(|h| n.rank(h)).unwrap();
            n.looks_at(best, lease);
            looked.push(best);
        }
        assert_eq!(looked, ["f.bad.test", "new.test", "old.test", "unknown.test"]);
        assert_eq!(n.rank("a.bad.test"), None, "a silent one cannot tell");
        assert_eq!(n.ask(at(32)), Ask::Nobody(at(35)));
        assert_eq!(n.ask(at(35)), Ask::Look, "others, while the first have not answered");
    }

    #[test]
    fn looks_in_vain_make_an_outage_and_one_answer_ends_it() {
        let mut n = with(&["a", "b", "c", "d", "e", "f", "g", "h", "i"]);
        ["a", "b", "c", "d"].iter().for_each(|h| assert_ne!(n.was_silent(h, 1, at(10)), Fault::Network));
        for (lease, h) in ["e", "f", "g", "h"].into_iter().enumerate() {
            n.looks_at(h, lease as u64);
            assert!(!n.is_down());
            let fault = n.was_silent(h, lease as u64, at(11));
            assert_eq!(fault, if h == "h" { Fault::Network } else { Fault::Unknown });
        }
        assert_eq!(n.ask(at(12)), Ask::Nobody(at(15)));
        assert!(n.rank("i") > n.rank("a") && n.rank("a").is_some() && n.rank("e").is_none());
        n.answered("b", at(16));
        assert_eq!(n.ask(at(16)), Ask::Anyone);
    }

    #[test]
    fn in_the_end_the_hosts_are_to_blame() {
        let mut n = with(&["a", "b"]);
        n.was_silent("a", 1, at(10));
        assert_eq!(n.was_silent("b", 1, at(10)), Fault::Network, "both there are");
        assert_eq!(n.was_silent("a", 1, at(609)), Fault::Network);
        assert_eq!(n.was_silent("a", 1, at(610)), Fault::Host);
        assert_eq!(n.was_silent("b", 1, at(611)), Fault::Host, "and that is that, until one answers");
        assert_eq!(n.was_silent("a", 1, at(612)), Fault::Host);
    }

    #[test]
    fn a_doubt_that_nobody_can_clear_becomes_an_outage() {
        let mut n = with(&["a", "b", "c", "d", "e"]);
        ["a", "b", "c", "d"].iter().for_each(|h| assert_ne!(n.was_silent(h, 1, at(10)), Fault::Network));
        n.none_to_look_at(at(12));
        assert!(!n.is_down());
        n.none_to_look_at(at(15));
        assert!(n.is_down());
    }
}
