//! Words suggested from the addresses of example pages.

use super::generate::Suggestion;
use crate::text::{Doc, Token};
use std::collections::{BTreeMap, BTreeSet};

/// Parts of an address that say how a page is made, not what it is.
const FILE_WORDS: [&str; 12] =
    ["html", "htm", "shtml", "php", "asp", "aspx", "jsp", "cgi", "bin", "index", "default", "www"];

/// Words in the paths of these pages' addresses that others have less often: at least three times the odds,
/// on two pages of three or more. Hosts are left out: they name a place, not a topic.
pub(super) fn url_words(pages: &[&Doc], background: &[&Doc], n: usize) -> Vec<Suggestion> {
    let words = |doc: &Doc| -> BTreeSet<String> {
        let path = match &doc.page.url {
            // A file on this disk has no address.
            Some(url) if url.host() != "localhost" => url.path().to_lowercase(),
            _ => return BTreeSet::new(),
        };
        let text = |t: &Token| path.get(t.start as usize..t.end() as usize).unwrap_or("").to_string();
        let good = |w: &String| {
            w.chars().count() > 1 && w.chars().any(char::is_alphabetic) && !FILE_WORDS.contains(&w.as_str())
        };
        crate::text::TextOptions::default().tokens(&path).iter().map(text).filter(good).collect()
    };
    let count = |docs: &[&Doc]| {
        let mut on: BTreeMap<String, u32> = BTreeMap::new();
        for word in docs.iter().flat_map(|d| words(d)) {
            *on.entry(word).or_default() += 1;
        }
        on
    };
    let (ours, theirs) = (count(pages), count(background));
    let least = if pages.len() >= 3 { 2 } else { 1 };
    let odds = |k: u32, n: usize| (f64::from(k) + 0.5) / (n as f64 - f64::from(k) + 0.5);
    let mut list: Vec<Suggestion> = ours
        .into_iter()
        .filter(|(_, k)| *k >= least)
        .map(|(term, k)| {
            let there = theirs.get(&term).copied().unwrap_or(0);
            let share = f64::from(k) / pages.len() as f64;
            let score = share * libm::log(odds(k, pages.len()) / odds(there, background.len()));
            Suggestion { term, count: k, pages: k, score }
        })
        .filter(|s| s.score > f64::from(s.pages) / pages.len() as f64 * libm::log(3.0))
        .collect();
    list.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.term.cmp(&b.term)));
    list.truncate(n);
    list
}
