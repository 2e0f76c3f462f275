//! How often does a page change? Few pages are visited often, so what is known of a page is pooled with its
//! directory, its host and the whole collection: the fewer visits, the more the others count.
//!
//! A visit shows whether a page changed since the last one, not how often. With changes that come at random at
//! a rate of r, that is so with probability 1 - exp(-r t) after a time t. From n visits that saw k changes in a
//! time T altogether the rate is about -n ln((n - k + 1/2) / (n + 1/2)) / T (Cho and Garcia-Molina 2003); of a
//! group the same sums count. The rate of the level above stands in as one change seen at that rate.

use crate::visits::Found;
use std::collections::HashMap;
use std::time::Duration;
use types::UrlId;

/// Before anything is known: one change in a month.
const USUAL: f64 = 1.0 / (30.0 * 86_400.0);
/// The level above counts as so many changes.
const PULL: f64 = 1.0;

/// What visits saw.
#[derive(Clone, Copy, Default)]
struct Seen {
    visits: f64,
    changes: f64,
    /// Seconds.
    time: f64,
}

impl Seen {
    fn add(&mut self, elapsed: f64, changed: bool) {
        self.visits += 1.0;
        self.changes += f64::from(u8::from(changed));
        self.time += elapsed;
    }

    /// Changes per second, pulled towards `above`.
    fn rate(&self, above: f64) -> f64 {
        let happened = -self.visits * libm::log((self.visits - self.changes + 0.5) / (self.visits + 0.5));
        (happened.max(0.0) + PULL) / (self.time + PULL / above)
    }
}

/// Change rates of the pages of a collection.
#[derive(Default)]
pub(crate) struct Rates {
    all: Seen,
    hosts: HashMap<String, Seen>,
    directories: HashMap<String, Seen>,
    pages: HashMap<UrlId, Seen>,
}

impl Rates {
    /// A page was visited, so long after the visit before.
    pub fn visited(&mut self, id: UrlId, url: &str, elapsed: Duration, found: Found) {
        if !found.is_there() {
            return;
        }
        let (elapsed, changed) = (elapsed.as_secs_f64(), found == Found::Changed);
        self.all.add(elapsed, changed);
        self.hosts.entry(host(url).to_string()).or_default().add(elapsed, changed);
        self.directories.entry(directory(url).to_string()).or_default().add(elapsed, changed);
        self.pages.entry(id).or_default().add(elapsed, changed);
    }

    /// The probability that a page has changed after so long.
    pub fn has_changed(&self, id: UrlId, url: &str, age: Duration) -> f64 {
        let pooled = |seen: Option<&Seen>, above: f64| seen.map_or(above, |s| s.rate(above));
        let all = pooled(Some(&self.all).filter(|s| s.visits > 0.0), USUAL);
        let host = pooled(self.hosts.get(host(url)), all);
        let directory = pooled(self.directories.get(directory(url)), host);
        let rate = pooled(self.pages.get(&id), directory);
        1.0 - libm::exp(-rate * age.as_secs_f64())
    }
}

fn host(url: &str) -> &str {
    url.split('/').nth(2).unwrap_or(url)
}

/// The address without its last part.
fn directory(url: &str) -> &str {
    let path = url.split(['?', '#']).next().unwrap_or(url);
    path.rfind('/').map_or(path, |at| &path[..at])
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: Duration = Duration::from_secs(86_400);

    #[test]
    fn what_changes_often_is_thought_to_have_changed() {
        let mut rates = Rates::default();
        let (news, law) = ("http://a.example/news/today", "http://a.example/law/one");
        let unknown = rates.has_changed(UrlId(1), news, DAY);
        assert!((0.02..0.05).contains(&unknown), "{unknown}: one in thirty");
        for _ in 0..10 {
            rates.visited(UrlId(1), news, DAY, Found::Changed);
            rates.visited(UrlId(2), law, DAY, Found::NotModified);
        }
        let (often, never) = (rates.has_changed(UrlId(1), news, DAY), rates.has_changed(UrlId(2), law, DAY));
        assert!(often > 0.8 && never < 0.1, "{often} {never}");
        // A page that nobody visited again is as those beside it; a host's as its host.
        let beside = rates.has_changed(UrlId(3), "http://a.example/news/other", DAY);
        let elsewhere = rates.has_changed(UrlId(4), "http://a.example/x/y", DAY);
        assert!(beside > elsewhere && elsewhere > never, "{beside} {elsewhere} {never}");
        // The longer ago, the more likely; nobody knows of a page that gave no answer.
        assert!(rates.has_changed(UrlId(2), law, 100 * DAY) > never);
        rates.visited(UrlId(2), law, DAY, Found::NoAnswer);
        assert_eq!(rates.has_changed(UrlId(2), law, DAY), never);
    }

    #[test]
    fn a_rate_is_found_again_from_what_visits_see() {
        // A page that changes every four days on average, visited every two: P(seen) = 1 - exp(-1/2).
        let mut seen = Seen::default();
        for n in 0..1000 {
            seen.add(2.0, (n as f64 * 0.618_034).fract() < 0.393_47);
        }
        let rate = seen.rate(1.0);
        assert!((rate - 0.25).abs() < 0.02, "{rate}");
    }

    #[test]
    fn addresses_have_a_host_and_a_directory() {
        assert_eq!(directory("http://a.example/x/y?q=/z"), "http://a.example/x");
        assert_eq!((host("http://a.example:81/x"), host("x")), ("a.example:81", "x"));
        assert_eq!(directory("http://a.example/"), "http://a.example");
    }
}
