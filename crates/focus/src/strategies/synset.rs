//! Strategy `synset`: best-first with anchor and topic expanded by their synonyms (Batsakis, §3.3.3).

use super::query_vector::QueryVector;
use super::semantic;
use super::{Model, Parts, Reason, Rescore, Scored, Strategy, StrategyEntry, StrategySetup, Visit, Wants};
use crate::options::{NoOptions, parse};
use crate::text::{Counts, SparseVec, TextOptions};
use learn::bytes::{Reader, Writer};
use learn::wordnet::{Synonyms, WordNet};
use std::collections::HashMap;
use std::sync::Arc;
use types::{Link, Priority, Problem};

pub(super) const ENTRY: StrategyEntry = StrategyEntry {
    name: "synset",
    summary: "best-first with anchor and topic expanded by WordNet synonyms",
    doc: "\
## What it does
`(cos(u, q⁺) + cos(a⁺, q⁺)) / 2`: as `best-first`, but the topic's words and the anchor's words bring their synonyms along (every
word of a synset they are in), each with the weight of the word it stands for; a word that comes from several keeps the largest weight.

## When it helps
When pages name the topic's things differently (car, automobile), in English. Batsakis finds it at least as good as `best-first`,
by a little.

## When it hurts
Words with many meanings bring the synonyms of all of them (class: course, but also social class and category).

## Options
None.

## Source
Batsakis, §3.3.3. Needs WordNet: `[text] wordnet`.",
    build,
};

/// Words whose synonyms are remembered.
const MOST_KNOWN: usize = 100_000;

const EVIDENCE: u8 = 1;

struct Synset {
    query: QueryVector,
    synonyms: Expander,
    /// Spellings of the topic's words, by hash.
    words: Vec<(u64, String)>,
    /// q⁺ under the weights of now.
    expanded: SparseVec,
}

fn build(setup: &StrategySetup) -> Result<Box<dyn Strategy>, Problem> {
    parse::<NoOptions>("strategy `synset`", setup.options)?;
    let net = semantic::net(setup)?;
    let words = semantic::topic_words(setup).into_iter().map(|w| (w.hash, w.spelling)).collect();
    let synonyms = Expander::new(net, *setup.text());
    let mut s = Synset { query: QueryVector::new(setup), synonyms, words, expanded: SparseVec::default() };
    s.refresh();
    Ok(Box::new(s))
}

/// The synonyms of words, as token hashes, remembered.
struct Expander {
    synonyms: Synonyms,
    options: TextOptions,
    known: HashMap<Box<str>, Arc<[u64]>>,
}

impl Expander {
    fn new(net: Arc<WordNet>, options: TextOptions) -> Expander {
        Expander { synonyms: Synonyms::new(net, 1), options, known: HashMap::new() }
    }

    fn of(&mut self, word: &str) -> Arc<[u64]> {
        if let Some(known) = self.known.get(word) {
            return known.clone();
        }
        let mut hashes: Vec<u64> = Vec::new();
        for s in self.synonyms.of(word).iter() {
            // A phrase brings each of its words, as a phrase of the topic does.
            hashes.extend(self.options.tokens(s).iter().filter(|t| !t.is_stop()).map(|t| t.hash));
        }
        hashes.sort_unstable();
        hashes.dedup();
        let found: Arc<[u64]> = hashes.into();
        if self.known.len() >= MOST_KNOWN {
            self.known.clear();
        }
        self.known.insert(word.into(), found.clone());
        found
    }

    /// The words with their weights, and their synonyms with the same.
    fn expand<S: AsRef<str>>(&mut self, words: impl Iterator<Item = (u64, S, f64)>) -> SparseVec {
        let mut entries: Vec<(u64, f64)> = Vec::new();
        for (hash, spelling, weight) in words {
            entries.push((hash, weight));
            entries.extend(self.of(spelling.as_ref()).iter().map(|h| (*h, weight)));
        }
        entries.sort_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)));
        entries.dedup_by_key(|e| e.0);
        SparseVec::new(entries)
    }
}

impl Synset {
    fn refresh(&mut self) {
        let vector = self.query.vector();
        let words = self.words.iter().map(|(h, s)| (*h, s, vector.get(*h)));
        self.expanded = self.synonyms.expand(words);
    }
}

impl Strategy for Synset {
    fn wants(&self) -> Wants {
        Wants::NOTHING.and(Parts::COUNTS)
    }

    fn learn(&mut self, visit: &Visit) -> Rescore {
        self.query.learn(visit.doc);
        self.refresh();
        Rescore::Nothing
    }

    fn score(&mut self, visit: &Visit) -> Vec<Option<Scored>> {
        let page = self.query.weights(visit.doc.counts()).cosine(&self.expanded).max(0.0);
        let length = self.expanded.norm();
        let mut one = |link: &Link| {
            let anchor = visit.doc.anchor(link);
            let anchor = anchor.get(..anchor.len().min(semantic::MOST_WORDS)).unwrap_or(anchor);
            let mut cos = 0.0;
            if !anchor.is_empty() {
                let weights = self.query.weights(&Counts::of(&[anchor]));
                let words = semantic::anchor_words(visit.doc, anchor);
                let words = words.iter().map(|(t, _)| (t.hash, visit.doc.word(*t), weights.get(t.hash)));
                let expanded = self.synonyms.expand(words);
                let lengths = expanded.norm() * length;
                if lengths > 0.0 {
                    cos = (expanded.dot(&self.expanded) / lengths).clamp(0.0, 1.0);
                }
            }
            let mut w = Writer::default();
            w.u8(EVIDENCE).f64(page).f64(cos);
            let priority = Priority::key_only((page + cos) / 2.0);
            Some(Scored { priority, evidence: w.0, ttl: None })
        };
        visit.doc.page.links.iter().map(&mut one).collect()
    }

    fn explain(&self, evidence: &[u8], _: Priority) -> Vec<Reason> {
        let mut r = Reader(evidence);
        let (Ok(EVIDENCE), Ok(page), Ok(anchor)) = (r.u8(), r.f64(), r.f64()) else { return Vec::new() };
        [("page", page), ("anchor", anchor)].map(|(l, v)| Reason { label: l.into(), value: v / 2.0 }).into()
    }

    fn model(&mut self) -> Option<&mut dyn Model> {
        Some(self)
    }
}

impl Model for Synset {
    fn save(&mut self, full: bool) -> Option<Vec<u8>> {
        self.query.save(full)
    }

    fn load(&mut self, bytes: &[u8]) -> Result<(), Problem> {
        self.query.load(bytes)?;
        self.refresh();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::testkit::run;

    #[test]
    fn synonyms_by_hand() {
        let web = "== http://a/\n[hound](/h) [dog soup](/d) [soup](/s) [](/n)\n== /h\n== /d\n== /s\n== /n\n";
        let crawl = run(web, "[content]\nterms = ['dog']\n[strategy]\nkind = 'synset'");
        // One page, so all idf are 1. q⁺ = {dog, hound}, length √2. The page: soup twice (tf 1), hound and
        // dog once (tf ½): cos = (½ + ½)/(√1.5·√2).
        let page = 1.0 / (1.5f64.sqrt() * 2.0f64.sqrt());
        // hound⁺ = {hound, dog}: the same as q⁺.
        crawl.expect_score("/h", (page + 1.0) / 2.0);
        // (dog soup)⁺ = {dog, hound, soup}: 2/(√3·√2).
        crawl.expect_score("/d", (page + 2.0 / 6.0f64.sqrt()) / 2.0);
        crawl.expect_score("/s", page / 2.0);
        crawl.expect_score("/n", page / 2.0);
    }

    #[test]
    fn synonyms_inherit_the_weight_of_their_word() {
        let web = "== http://a/\n[x](/1)\n== /1\ndog [hound](/2)\n== /2\n";
        let crawl = run(web, "[content]\nterms = ['dog', 'x']\n[strategy]\nkind = 'synset'");
        // At /1: two pages; x on one, dog on one, hound on one.
        let w = (3.0f64 / 2.0).ln() + 1.0;
        // q⁺ = {dog: w, hound: w, x: w}; page {dog, hound}: cos = 2/(√2·√3); anchor⁺ = {hound, dog}: the
        // same.
        let cos = 2.0 / 6.0f64.sqrt();
        assert!(w > 1.0);
        crawl.expect_score("/2", cos);
    }
}
