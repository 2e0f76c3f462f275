//! What is worth a request? One currency for discovery and revisits: days on which a relevant page is in the
//! collection as it is.
//!
//! * A page that changes at a rate of r and was seen a days ago: worth (1 − (1 + r a) e^(−r a)) / r. That is
//!   the index whose threshold policy has the best freshness a budget can buy (Azar et al. 2018). Pages that
//!   change faster than anybody can follow are worth little: the best policy is not proportional to the rates
//!   (Cho and Garcia-Molina 2003).
//! * A page that brings new relevant pages at a rate of m: m a² / 2, the days they have been waiting. Hubs,
//!   feeds and sitemaps are such pages.
//! * A URL that was never fetched: the probability that it is relevant, by the harvest of late, for as long
//!   as such a page stays as it is.
//!
//! The budget goes to the highest. Pure: it is told what visits found, and answers.

use crate::rates::{Kin, Rates};
use crate::visits::Found;
use std::collections::HashMap;
use std::time::Duration;
use types::{Millis, UrlId};

/// A change in a page that is not relevant is worth so much: it may become relevant.
const OTHER: f64 = 0.005;
/// A page that nobody knows of is worth finding so much more than a known one is worth reading again.
const NEW: f64 = 2.0;
/// Before anything is known: new relevant pages a day on a page, for each that was found there before.
const USUAL: f64 = 0.01;
/// What is known of all pages that bring others counts as so many pages brought by one of them.
const PULL: f64 = 0.5;
/// A page on which no relevant page was ever found counts as one on which so much of one was.
const BARE: f64 = 0.005;
/// A page that is not relevant and was found there counts so much: where many links are, more may come.
const OTHER_CHILD: f64 = 0.01;
/// A feed or sitemap as one on which so many were.
const LISTING: f64 = 1.0;
/// A page that is fetched is thought to stay as it is for so many days at most.
const HORIZON: f64 = 30.0;
/// Of a budget at most this share is kept for links that revisits bring.
const FRESH_MOST: f64 = 0.4;

/// What a page brought.
#[derive(Clone, Copy, Debug, Default)]
struct Source {
    /// Relevant pages that were first found on it, ever.
    children: u32,
    /// Other pages that were.
    others: u32,
    /// Of these, found when it was visited again.
    brought: u32,
    /// Days between its visits.
    watched: f32,
    /// A feed or sitemap.
    listing: bool,
}

impl Source {
    fn size(&self) -> f64 {
        let children = f64::from(self.children) + OTHER_CHILD * f64::from(self.others);
        children + if self.listing { LISTING } else { BARE }
    }
}

/// Which pages bring new relevant ones, and how many.
#[derive(Default)]
struct Sources {
    pages: HashMap<UrlId, Source>,
    brought: f64,
    /// Days of watching, times the size of what was watched.
    exposure: f64,
}

impl Sources {
    fn watched(&mut self, id: UrlId, days: f64) {
        let source = self.pages.entry(id).or_default();
        source.watched += days as f32;
        self.exposure += source.size() * days;
    }

    /// New relevant pages a day.
    fn rate(&self, id: UrlId, listing: bool) -> f64 {
        let each = (self.brought + 1.0) / (self.exposure + 1.0 / USUAL);
        let unknown = Source { listing, ..Source::default() };
        let source = self.pages.get(&id).unwrap_or(&unknown);
        let prior = each * source.size();
        (f64::from(source.brought) + PULL) / (f64::from(source.watched) + PULL / prior)
    }
}

/// A page that may be visited again.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    /// The page.
    pub id: UrlId,
    /// What it has in common with others.
    pub kin: Kin,
    /// Is it one of the wanted pages?
    pub relevant: bool,
    /// A feed or sitemap: it is there for its links.
    pub listing: bool,
    /// When it was last seen.
    pub seen: Millis,
}

/// URLs that were never fetched.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unknown {
    /// How many there are.
    pub pending: u64,
    /// Share of relevant pages among those fetched last.
    pub harvest: f64,
}

/// What a part of the budget goes to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Division {
    /// Visited again, with what that is worth in days; the best first.
    pub visits: Vec<(UrlId, f64)>,
    /// Requests for pages that are new.
    pub new: u64,
}

/// What is known of the pages of a collection, as far as their next visit is concerned.
#[derive(Default)]
pub struct Policy {
    rates: Rates,
    sources: Sources,
    /// New links that the visits of a round bring, of late.
    fresh: f64,
}

impl Policy {
    /// A page was visited again, so long after the visit before.
    pub fn visited(&mut self, page: &Known, elapsed: Duration, found: Found) {
        if !page.listing {
            self.rates.visited(page.id, &page.kin, elapsed, found);
        }
        if found.is_there() {
            self.sources.watched(page.id, days(elapsed));
        }
    }

    /// A page was first found on this one.
    pub fn found_on(&mut self, source: UrlId, listing: bool, relevant: bool) {
        let source = self.sources.pages.entry(source).or_default();
        *(if relevant { &mut source.children } else { &mut source.others }) += 1;
        source.listing = listing;
    }

    /// … which was relevant, when this one was visited again.
    pub fn brought_by(&mut self, source: UrlId) {
        self.sources.pages.entry(source).or_default().brought += 1;
        self.sources.brought += 1.0;
    }

    /// The visits of a round brought so many links to URLs that were not known.
    pub fn brought_links(&mut self, links: u64) {
        self.fresh = if self.fresh == 0.0 { links as f64 } else { 0.7 * self.fresh + 0.3 * links as f64 };
    }

    /// Changes of a page a day.
    pub fn rate(&self, page: &Known) -> f64 {
        self.rates.rate(page.id, &page.kin)
    }

    /// New relevant pages a day that visits to a page bring.
    pub fn brings(&self, page: &Known) -> f64 {
        self.sources.rate(page.id, page.listing)
    }

    /// What a visit now is worth.
    pub fn gain(&self, page: &Known, now: Millis) -> f64 {
        let age = days(now.since(page.seen));
        let change = match page.listing {
            true => 0.0,
            false => (if page.relevant { 1.0 } else { OTHER }) * gain_of_change(self.rate(page), age),
        };
        change + NEW * gain_of_links(self.brings(page), age.min(HORIZON))
    }

    /// What a request for the next URL of the frontier is worth, after `n` others: the best go first.
    fn gain_of_new(&self, unknown: &Unknown, n: u64) -> f64 {
        let stays = (1.0 / self.rates.usual(true)).min(HORIZON);
        NEW * unknown.harvest * 100.0 / (100.0 + n as f64) * stays
    }

    /// Divides a budget between known pages and new ones. Part of it is kept for the links that the visits
    /// bring; what is left of that can be divided again.
    pub fn divide(
        &self,
        pages: impl Iterator<Item = Known>,
        unknown: &Unknown,
        budget: u64,
        now: Millis,
    ) -> Division {
        let mut visits: Vec<(UrlId, f64)> = pages.map(|p| (p.id, self.gain(&p, now))).collect();
        visits.retain(|(_, gain)| *gain > 0.0);
        visits.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        visits.truncate(usize::try_from(budget).unwrap_or(usize::MAX));
        let kept = (self.fresh.ceil() as u64).max(1).min((budget as f64 * FRESH_MOST) as u64);
        // Both lists fall: take the better head until the budget is spent.
        let (mut at, mut new, left) = (0, 0, budget - kept);
        while at as u64 + new < left {
            let visit = visits.get(at).map(|v| v.1);
            let url = (new < unknown.pending).then(|| self.gain_of_new(unknown, new));
            match (visit, url) {
                (Some(visit), url) if url.is_none_or(|url| visit >= url) => at += 1,
                (_, Some(_)) => new += 1,
                _ => break,
            }
        }
        visits.truncate(at);
        Division { visits, new: new + kept }
    }
}

/// Days of freshness that a visit is worth to a page with this rate, so many days after the last.
pub fn gain_of_change(rate: f64, age: f64) -> f64 {
    let x = rate * age;
    if x < 1e-4 {
        return rate * age * age / 2.0;
    }
    (1.0 - (1.0 + x) * libm::exp(-x)) / rate
}

/// Days that new pages have been waiting to be found on a page which brings so many of them a day.
pub fn gain_of_links(rate: f64, age: f64) -> f64 {
    rate * age * age / 2.0
}

fn days(time: Duration) -> f64 {
    time.as_secs_f64() / 86_400.0
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: u64 = 86_400_000;

    fn page(id: u32, relevant: bool, listing: bool) -> Known {
        let kin = Kin::of(&format!("http://h{id}.example/p{id}.html"), relevant);
        Known { id: UrlId(id), kin, relevant, listing, seen: Millis(0) }
    }

    #[test]
    fn the_index_is_the_one_of_azar_and_others() {
        // Worked by hand: rate 2 a day after half a day, (1 - 2/e) / 2.
        assert!((gain_of_change(2.0, 0.5) - (1.0 - 2.0 / std::f64::consts::E) / 2.0).abs() < 1e-12);
        // It grows with the age, up to the time that a page stays as it is.
        assert!(gain_of_change(2.0, 0.5) < gain_of_change(2.0, 1.0));
        assert!((gain_of_change(2.0, 1e3) - 0.5).abs() < 1e-9);
        // The two forms meet.
        assert!((gain_of_change(1e-4, 1.001) - gain_of_change(1e-4, 0.999)).abs() < 1e-6);
        assert!((gain_of_links(0.5, 4.0) - 4.0).abs() < 1e-12);
        // What changes too fast to be followed is worth less than what changes now and then.
        assert!(gain_of_change(50.0, 2.0) < gain_of_change(0.7, 2.0));
    }

    #[test]
    fn a_hub_that_brings_pages_comes_before_pages_that_stay_as_they_are() {
        let mut policy = Policy::default();
        let (hub, still, news, list) =
            (page(1, false, false), page(2, true, false), page(3, true, false), page(4, false, true));
        for _ in 0..10 {
            policy.visited(&hub, Duration::from_secs(86_400), Found::SameText);
            policy.visited(&still, Duration::from_secs(86_400), Found::NotModified);
            policy.visited(&news, Duration::from_secs(86_400), Found::Changed);
            policy.visited(&list, Duration::from_secs(86_400), Found::SameText);
            policy.found_on(hub.id, false, true);
            policy.brought_by(hub.id);
        }
        assert!(policy.brings(&hub) > 0.8 && policy.brings(&still) < 0.05 && policy.brings(&list) < 0.2);
        assert!(policy.rate(&news) > 1.0 && policy.rate(&still) < 0.2);
        let all = || [hub, still, news, list].into_iter();
        let order: Vec<u32> = policy
            .divide(all(), &Unknown::default(), 10, Millis(DAY))
            .visits
            .iter()
            .map(|(id, _)| id.0)
            .collect();
        assert_eq!(order[..2], [1, 3], "{order:?}");
        // A budget is not exceeded, and something is kept for what the hub brings.
        let two = policy.divide(all(), &Unknown::default(), 3, Millis(DAY));
        assert_eq!((two.visits.len(), two.new), (2, 1));
        assert_eq!(policy.divide(all(), &Unknown::default(), 0, Millis(DAY)), Division::default());
        // What was seen just now is not visited.
        assert!(policy.divide(all(), &Unknown::default(), 9, Millis(0)).visits.is_empty());
    }

    #[test]
    fn new_pages_are_fetched_while_they_are_good_and_visits_go_on_when_they_are_not() {
        let mut policy = Policy::default();
        let pages: Vec<Known> = (0..100).map(|n| page(n, true, false)).collect();
        for p in &pages {
            let found = if p.id.0 % 2 == 0 { Found::Changed } else { Found::NotModified };
            policy.visited(p, Duration::from_secs(86_400), found);
        }
        let divide = |harvest: f64| {
            let unknown = Unknown { pending: 1000, harvest };
            policy.divide(pages.iter().copied(), &unknown, 50, Millis(DAY))
        };
        let (rich, poor) = (divide(0.5), divide(0.001));
        assert!(rich.new > 20, "{}", rich.new);
        assert_eq!(poor.visits.len() as u64 + poor.new, 50);
        assert!(poor.new <= 2, "{}", poor.new);
    }
}
