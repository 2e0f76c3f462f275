//! The rules of one group, in little memory: all paths in one text, eight bytes beside it for each.
//!
//! A file may be 500 KiB of rules for us, and a crawl meets many hosts. Rules that take more than
//! [`MAX_BYTES`] are made coarser, and only ever so that less may be fetched: with a length `n`, `Disallow`
//! paths longer than `n` are cut to their first `n` bytes (they then match more), and `Allow` paths that are
//! not shorter than what was cut are left out. An `Allow` that is kept wins over exactly the rules it won
//! over before. `n` is about the greatest with which the rules fit; with `n` = 1 nothing may be fetched.

use super::pattern::{self, Pattern};
use std::cmp::Reverse;
use std::fmt;
use types::Url;

/// Memory of one host's rules, and about what they take in the ledger.
pub const MAX_BYTES: usize = 48 << 10;
/// The longest path. URLs are not longer, so that nothing is lost.
const LONGEST: usize = 8 << 10;
/// Bytes of a rule in the ledger beside its path: `Disallow: ` and the end of the line.
const LINE: usize = 11;

#[derive(Clone, Debug, Default)]
pub struct Rules {
    /// The paths, one after the other.
    text: Box<str>,
    /// Longest first, so that the first one that matches decides.
    rules: Box<[Place]>,
}

/// Where a rule's path ends in the text; it begins where the one before ends.
#[derive(Clone, Copy, Debug)]
struct Place {
    end: u32,
    allow: bool,
    to_end: bool,
}

/// One rule. Shown as it stands in a robots.txt.
#[derive(Clone, Copy, Debug)]
pub struct Rule<'a> {
    pub allow: bool,
    path: &'a str,
    to_end: bool,
}

impl fmt::Display for Rule<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = if self.allow { "Allow" } else { "Disallow" };
        write!(f, "{key}: {}{}", self.path, if self.to_end { "$" } else { "" })
    }
}

impl Rules {
    pub fn new(rules: Vec<(bool, Pattern)>) -> Rules {
        let longest = rules.iter().map(|(_, p)| p.length()).max().unwrap_or(0);
        let mut most = longest.min(LONGEST);
        if let Some(kept) = fitted(&rules, most) {
            return Rules::packed(&kept);
        }
        // About the greatest length with which they fit: halved until they do, then between there and twice
        // that.
        let mut kept = loop {
            most /= 2;
            match fitted(&rules, most) {
                Some(kept) => break kept,
                // A hundred different first bytes fit.
                None if most == 0 => break vec![(false, Pattern::everything())],
                None => {}
            }
        };
        let (mut low, mut high) = (most, most.saturating_mul(2));
        for _ in 0..2 {
            let middle = low.midpoint(high);
            match fitted(&rules, middle) {
                Some(better) => (kept, low) = (better, middle),
                None => high = middle,
            }
        }
        Rules::packed(&kept)
    }

    fn packed(rules: &[(bool, Pattern)]) -> Rules {
        let mut text = String::with_capacity(rules.iter().map(|(_, p)| p.text().len()).sum());
        let mut places = Vec::with_capacity(rules.len());
        for (allow, pattern) in rules {
            text.push_str(pattern.text());
            places.push(Place { end: text.len() as u32, allow: *allow, to_end: pattern.is_to_end() });
        }
        Rules { text: text.into(), rules: places.into() }
    }

    pub fn iter(&self) -> impl Iterator<Item = Rule<'_>> {
        let mut start = 0;
        self.rules.iter().map(move |place| {
            let path = self.text.get(start..place.end as usize).unwrap_or("");
            start = place.end as usize;
            Rule { allow: place.allow, path, to_end: place.to_end }
        })
    }

    /// The rule that decides about this URL, if one speaks of it.
    pub fn deciding(&self, url: &Url) -> Option<Rule<'_>> {
        if self.rules.is_empty() {
            return None;
        }
        let target = &url.as_url()[url::Position::BeforePath..url::Position::AfterQuery];
        let target = pattern::normalise_target(target);
        self.iter().find(|rule| pattern::matches(rule.path, rule.to_end, &target))
    }

    /// Bytes of memory.
    pub fn size(&self) -> usize {
        self.text.len() + self.rules.len() * size_of::<Place>()
    }
}

/// The rules with paths of at most `longest` bytes, in order and each once, if they are small enough.
fn fitted(rules: &[(bool, Pattern)], longest: usize) -> Option<Vec<(bool, Pattern)>> {
    let mut rules = coarser(rules, longest);
    // First match = longest match, and allow wins ties.
    rules.sort_unstable_by(|(a, p), (b, q)| {
        let key = |allow: bool, p: &Pattern| (Reverse(p.length()), !allow);
        key(*a, p).cmp(&key(*b, q)).then_with(|| p.text().cmp(q.text()))
    });
    rules.dedup();
    let bytes: usize = rules.iter().map(|(_, p)| p.length() + LINE).sum();
    (bytes <= MAX_BYTES).then_some(rules)
}

/// Rules that allow no more than these, with paths of at most `longest` bytes.
fn coarser(rules: &[(bool, Pattern)], longest: usize) -> Vec<(bool, Pattern)> {
    if rules.iter().all(|(_, p)| p.length() <= longest) {
        return rules.to_vec();
    }
    // What is cut is at least this long: cutting never splits an escape of three bytes.
    let shortest_cut = longest.saturating_sub(2).max(1);
    let keep = |(allow, pattern): &(bool, Pattern)| match allow {
        true => (pattern.length() < shortest_cut).then(|| (true, pattern.clone())),
        false => Some((false, pattern.cut(longest))),
    };
    rules.iter().filter_map(keep).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use types::Canon;

    fn url(path: &str) -> Url {
        Canon::exact().parse(&format!("http://foo.bar{path}")).unwrap()
    }

    fn list(rules: &[(bool, String)]) -> Vec<(bool, Pattern)> {
        rules.iter().filter_map(|(allow, p)| Some((*allow, Pattern::new(p.as_bytes())?))).collect()
    }

    fn allows(rules: &Rules, path: &str) -> bool {
        rules.deciding(&url(path)).is_none_or(|r| r.allow)
    }

    #[test]
    fn more_than_fits_is_refused_rather_than_fetched() {
        let many: Vec<(bool, String)> = (0..20_000)
            .map(|n| (n % 4 == 0, format!("/section/{}/of/a/long/path/{n}", n % 7)))
            .chain([(true, "/section/3/ok".into()), (false, "/private".into())])
            .collect();
        let rules = Rules::new(list(&many));
        assert!(rules.size() <= MAX_BYTES, "{}", rules.size());
        for n in (0..20_000).filter(|n| n % 4 != 0) {
            assert!(!allows(&rules, &format!("/section/{}/of/a/long/path/{n}", n % 7)), "{n}");
        }
        assert!(!allows(&rules, "/private/x"));
        assert!(allows(&rules, "/elsewhere"));
        // Paths that have nothing in common: what is left of them still covers them all.
        let noise: Vec<(bool, String)> =
            (0..30_000u32).map(|n| (false, format!("/{:08x}", n.wrapping_mul(2_654_435_761)))).collect();
        let rules = Rules::new(list(&noise));
        assert!(rules.size() <= MAX_BYTES && noise.iter().all(|(_, path)| !allows(&rules, path)));
    }

    proptest! {
        #[test]
        fn coarser_rules_allow_nothing_more(
            rules in proptest::collection::vec((any::<bool>(), "/[ab*é]{0,6}\\$?"), 0..12),
            longest in 1usize..12,
            target in "/[abé]{0,8}",
        ) {
            let whole = Rules::new(list(&rules));
            let rough = Rules::packed(&fitted(&list(&rules), longest).unwrap());
            prop_assert!(allows(&whole, &target) || !allows(&rough, &target), "{rules:?}");
        }
    }
}
