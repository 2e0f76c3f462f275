//! The words behind a number: what trained judges show as hits.

use crate::text::Doc;
use std::collections::BTreeMap;
use types::Hit;

/// How many words a verdict shows.
pub(super) const TOP: usize = 10;

/// The page's words that add most, with how often they stand there. Words that add nothing or take away are
/// left out; ties go by the word's number, so that two machines show the same.
pub(super) fn hits(
    set: &str,
    doc: &Doc,
    contributions: impl Iterator<Item = (u64, f64)>,
    top: usize,
) -> Vec<Hit> {
    let mut best: Vec<(u64, f64)> = contributions.filter(|c| c.1 > 0.0 && c.1.is_finite()).collect();
    best.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    best.truncate(top);
    // A hash has no spelling: the first place it stands at has one. The title is text of its own.
    let mut spelled: BTreeMap<u64, String> = BTreeMap::new();
    let wanted = |h: u64| best.iter().any(|b| b.0 == h);
    for t in doc.body() {
        if spelled.len() == best.len() {
            break;
        }
        if wanted(t.hash) && !spelled.contains_key(&t.hash) {
            spelled.insert(t.hash, doc.word(*t));
        }
    }
    for t in doc.title().iter().filter(|t| wanted(t.hash)) {
        spelled.entry(t.hash).or_insert_with(|| crate::text::normalise(t.span().of(&doc.page.title)));
    }
    let hit = |(hash, _): (u64, f64)| {
        Some(Hit { set: set.to_string(), term: spelled.get(&hash)?.clone(), count: doc.counts().get(hash) })
    };
    best.into_iter().filter_map(hit).collect()
}
