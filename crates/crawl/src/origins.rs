//! Counts failures per origin, that is scheme and host: a host that answers over http may hang over https.
//! The origin that hangs backs off on its own and is given up as a host would be. Meanwhile pages of the
//! other origin are fetched.

use std::collections::HashMap;
use std::time::Duration;
use types::{Millis, Url};

#[derive(Default)]
pub(crate) struct Origins {
    /// Those that answered in this run, and those that are silent beside one that answered.
    known: HashMap<u64, Origin>,
}

#[derive(Clone, Copy, Default)]
struct Origin {
    /// Requests in a row without an answer.
    silent: u32,
    until: Millis,
}

/// May an origin be asked?
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Door {
    Open,
    ShutUntil(Millis),
    GivenUp,
}

impl Origins {
    pub fn answered(&mut self, url: &Url) {
        self.known.insert(hash(url.scheme(), url), Origin::default());
    }

    /// An origin gave no answer. `true`: the host answers under its other scheme, so only the origin is to
    /// blame.
    pub fn was_silent(&mut self, url: &Url, now: Millis, limits: &frontier::Limits) -> bool {
        let other = if url.scheme() == "https" { "http" } else { "https" };
        if url.port().is_some() || self.known.get(&hash(other, url)).is_none_or(|o| o.silent > 0) {
            return false;
        }
        let origin = self.known.entry(hash(url.scheme(), url)).or_default();
        origin.silent = origin.silent.saturating_add(1);
        let wait = limits.backoff_ms.saturating_mul(1 << (origin.silent - 1).min(32));
        origin.until = now.plus(Duration::from_millis(wait.min(limits.max_backoff_ms)));
        true
    }

    pub fn door(&self, url: &Url, now: Millis, limits: &frontier::Limits) -> Door {
        match self.known.get(&hash(url.scheme(), url)) {
            Some(o) if o.silent >= limits.host_failures => Door::GivenUp,
            Some(o) if o.until > now => Door::ShutUntil(o.until),
            _ => Door::Open,
        }
    }
}

fn hash(scheme: &str, url: &Url) -> u64 {
    crate::network::hash((scheme, url.host_key()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use frontier::Limits;
    use types::Canon;

    #[test]
    fn a_door_that_hangs_backs_off_alone_and_is_given_up() {
        let url = |u: &str| Canon::exact().parse(u).unwrap();
        let (open, shut) = (url("http://e.org/a"), url("https://e.org/b"));
        let limits =
            Limits { backoff_ms: 1_000, max_backoff_ms: 4_000, host_failures: 4, ..Limits::default() };
        let mut o = Origins::default();
        assert!(!o.was_silent(&shut, Millis(0), &limits), "nobody of this host ever answered");
        o.answered(&open);
        assert!(o.was_silent(&shut, Millis(0), &limits));
        assert_eq!(o.door(&shut, Millis(0), &limits), Door::ShutUntil(Millis(1_000)));
        assert_eq!(o.door(&open, Millis(0), &limits), Door::Open);
        assert_eq!(o.door(&shut, Millis(1_000), &limits), Door::Open);
        assert!(!o.was_silent(&open, Millis(0), &limits), "both doors are shut: that is the host");
        for (now, until) in [(1_000, 3_000), (3_000, 7_000)] {
            o.was_silent(&shut, Millis(now), &limits);
            assert_eq!(o.door(&shut, Millis(now), &limits), Door::ShutUntil(Millis(until)));
        }
        o.was_silent(&shut, Millis(7_000), &limits);
        assert_eq!(o.door(&shut, Millis(99_000), &limits), Door::GivenUp);
        o.answered(&shut);
        assert_eq!(o.door(&shut, Millis(99_000), &limits), Door::Open);
        let port = url("https://e.org:8443/");
        assert!(!o.was_silent(&port, Millis(0), &limits), "another port is another host");
    }
}
