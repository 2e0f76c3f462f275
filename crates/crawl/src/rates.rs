//! How often does a page change? Few pages are visited often, so what is known of a page is pooled with those
//! of the same verdict, of the same shape of address, of its host and of its directory: the fewer visits, the
//! more the others count.
//!
//! A visit shows whether a page changed since the last one, not how often. With changes that come at random
//! at a rate of r, that is so with probability 1 - exp(-r t) after a time t, and then r t / (1 - exp(-r t))
//! changes are expected (Cho and Garcia-Molina 2003 have the case of equal intervals). Expectation and
//! estimate in turns (EM) give the rate; the level above stands in as `PULL` changes seen at its rate.

use crate::visits::Found;
use std::collections::HashMap;
use std::time::Duration;
use types::UrlId;
use xxhash_rust::xxh3::xxh3_64;

/// Before anything is known: one change in a month.
const USUAL: f64 = 1.0 / 30.0;
/// The level above counts as so many changes.
const PULL: f64 = 1.0;
/// Nothing is thought to change more often a day.
const FASTEST: f64 = 200.0;
/// Turns of expectation and estimate: more make no difference that is seen.
const TURNS: usize = 12;
/// Seconds of a day.
const DAY: f64 = 86_400.0;

/// What visits saw, in days.
#[derive(Clone, Copy, Debug, Default)]
struct ChangeCounts {
    changes: f32,
    /// Between all visits.
    time: f32,
    /// Between those that saw a change.
    changed: f32,
}

impl ChangeCounts {
    fn add(&mut self, elapsed: f64, changed: bool) {
        self.time += elapsed as f32;
        if changed {
            self.changes += 1.0;
            self.changed += elapsed as f32;
        }
    }

    /// Changes a day, pulled towards `above`.
    fn rate(&self, above: f64) -> f64 {
        let (changes, time) = (f64::from(self.changes), f64::from(self.time));
        let mean = if changes > 0.0 { f64::from(self.changed) / changes } else { 0.0 };
        let mut rate = above;
        for _ in 0..TURNS {
            let x = rate * mean;
            // Changes that are expected between two visits if there was one at least.
            let each = if x < 1e-6 { 1.0 } else { x / (1.0 - libm::exp(-x)) };
            rate = ((changes * each + PULL) / (time + PULL / above)).min(FASTEST);
        }
        rate
    }
}

/// What a page has in common with others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kin {
    /// From the widest group to the narrowest.
    groups: [u64; 4],
}

impl Kin {
    /// Of a page with this address and verdict.
    pub fn of(url: &str, relevant: bool) -> Kin {
        let key = |kind: &str, name: &str| xxh3_64(format!("{kind}\t{name}").as_bytes());
        let verdict = if relevant { "relevant" } else { "other" };
        Kin {
            groups: [
                key("verdict", verdict),
                key("shape", &format!("{verdict} {}", shape(url))),
                key("host", &format!("{verdict} {}", host(url))),
                key("directory", &format!("{verdict} {}", directory(url))),
            ],
        }
    }
}

/// Change rates of the pages of a collection.
#[derive(Default)]
pub struct Rates {
    all: ChangeCounts,
    groups: HashMap<u64, ChangeCounts>,
    pages: HashMap<UrlId, ChangeCounts>,
}

impl Rates {
    /// A page was visited, so long after the visit before.
    pub fn visited(&mut self, id: UrlId, kin: &Kin, elapsed: Duration, found: Found) {
        if !found.is_there() {
            return;
        }
        let (elapsed, changed) = (elapsed.as_secs_f64() / DAY, found == Found::Changed);
        self.all.add(elapsed, changed);
        for group in kin.groups {
            self.groups.entry(group).or_default().add(elapsed, changed);
        }
        self.pages.entry(id).or_default().add(elapsed, changed);
    }

    /// Changes of a page a day, as far as anybody knows.
    pub fn rate(&self, id: UrlId, kin: &Kin) -> f64 {
        let pooled = |seen: Option<&ChangeCounts>, above: f64| seen.map_or(above, |s| s.rate(above));
        let mut rate = pooled(Some(&self.all).filter(|s| s.time > 0.0), USUAL);
        for group in &kin.groups {
            rate = pooled(self.groups.get(group), rate);
        }
        pooled(self.pages.get(&id), rate)
    }

    /// The rate of pages of a verdict, for those that nobody has seen.
    pub fn usual(&self, relevant: bool) -> f64 {
        let above = if self.all.time > 0.0 { self.all.rate(USUAL) } else { USUAL };
        let kin = Kin::of("", relevant);
        self.groups.get(&kin.groups[0]).map_or(above, |seen| seen.rate(above))
    }

    /// The probability that a page has changed after so long.
    pub fn has_changed(&self, id: UrlId, kin: &Kin, age: Duration) -> f64 {
        1.0 - libm::exp(-self.rate(id, kin) * age.as_secs_f64() / DAY)
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

/// The first word of the last part, and how it ends: `course-12.html` is as `course-7.html`.
fn shape(url: &str) -> String {
    let path = url.split(['?', '#']).next().unwrap_or(url);
    let name = path.rsplit('/').next().unwrap_or("");
    let word: String = name.chars().take_while(|c| c.is_alphabetic()).take(20).collect();
    let end = name.rsplit_once('.').map_or("", |(_, end)| end);
    format!("{word}.{end}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAYS: Duration = Duration::from_secs(86_400);

    fn kin(url: &str) -> Kin {
        Kin::of(url, true)
    }

    #[test]
    fn what_changes_often_is_thought_to_have_changed() {
        let mut rates = Rates::default();
        let (news, law) = (kin("http://a.example/news/today"), kin("http://a.example/law/one"));
        let unknown = rates.has_changed(UrlId(1), &news, DAYS);
        assert!((0.02..0.05).contains(&unknown), "{unknown}: one in thirty");
        for _ in 0..10 {
            rates.visited(UrlId(1), &news, DAYS, Found::Changed);
            rates.visited(UrlId(2), &law, DAYS, Found::NotModified);
        }
        let (often, never) =
            (rates.has_changed(UrlId(1), &news, DAYS), rates.has_changed(UrlId(2), &law, DAYS));
        assert!(often > 0.8 && never < 0.15, "{often} {never}");
        // A page that nobody visited again is as those beside it; a host's as its host.
        let beside = rates.has_changed(UrlId(3), &kin("http://a.example/news/other"), DAYS);
        let elsewhere = rates.has_changed(UrlId(4), &kin("http://a.example/x/y"), DAYS);
        assert!(beside > elsewhere && elsewhere > never, "{beside} {elsewhere} {never}");
        // The longer ago, the more likely; nobody knows of a page that gave no answer.
        assert!(rates.has_changed(UrlId(2), &law, 100 * DAYS) > never);
        rates.visited(UrlId(2), &law, DAYS, Found::NoAnswer);
        assert_eq!(rates.has_changed(UrlId(2), &law, DAYS), never);
    }

    #[test]
    fn a_rate_is_found_again_from_what_visits_see() {
        // A page that changes every four days on average, visited after one day and after nine in turns:
        // P(seen) = 1 - exp(-1/4) and 1 - exp(-9/4). The mean of the intervals is what is kept of them.
        let mut seen = ChangeCounts::default();
        for n in 0..4000 {
            let elapsed = if n % 2 == 0 { 1.0 } else { 9.0 };
            let chance = 1.0 - libm::exp(-elapsed / 4.0);
            seen.add(elapsed, (f64::from(n / 2) * 0.618_034).fract() < chance);
        }
        let rate = seen.rate(1.0);
        assert!((rate - 0.25).abs() < 0.06, "{rate}");
        // Without a change the level above is divided by the time that passed.
        let still = ChangeCounts { time: 100.0, ..ChangeCounts::default() };
        assert!(still.rate(0.1) < 0.01);
    }

    #[test]
    fn addresses_have_a_host_a_directory_and_a_shape() {
        assert_eq!(directory("http://a.example/x/y?q=/z"), "http://a.example/x");
        assert_eq!((host("http://a.example:81/x"), host("x")), ("a.example:81", "x"));
        assert_eq!(directory("http://a.example/"), "http://a.example");
        assert_eq!(shape("http://a.example/x/course-12.html?a=1"), "course.html");
        assert_eq!(
            (shape("http://a.example/x/"), shape("http://a.example/7.pdf")),
            (".".into(), ".pdf".into())
        );
    }
}
