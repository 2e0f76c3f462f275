//! What the WordNet strategies share: the topic's words, and how near any word is to each of them.

use super::StrategySetup;
use crate::text::{Doc, Token, normalise};
use learn::wordnet::{self, Relation, Relations, WordNet};
use std::collections::HashMap;
use std::sync::Arc;
use types::Problem;

/// Words whose nearness is remembered; then it starts afresh, so that hostile pages cannot fill the memory.
const MOST_KNOWN: usize = 100_000;

/// Longer anchors are cut: a page that is one link is not looked up word by word.
pub(super) const MOST_WORDS: usize = 64;

/// The database, or how to get it.
pub(super) fn net(setup: &StrategySetup) -> Result<Arc<WordNet>, Problem> {
    setup.wordnet.cloned().ok_or_else(|| wordnet::missing("the database"))
}

/// A word of the topic: its spelling, its token hash, and how often the topic's terms contain it.
pub(super) struct TopicWord {
    pub spelling: String,
    pub hash: u64,
    pub count: u32,
}

/// The topic's words without stopwords, in the order of their hashes (as in a vector).
pub(super) fn topic_words(setup: &StrategySetup) -> Vec<TopicWord> {
    let o = setup.text();
    let mut out: Vec<TopicWord> = Vec::new();
    for term in setup.topic.counted().flat_map(|l| l.for_language(None, o)) {
        for t in o.tokens(&term).iter().filter(|t| !t.is_stop()) {
            match out.iter_mut().find(|w| w.hash == t.hash) {
                Some(w) => w.count += 1,
                None => {
                    out.push(TopicWord { spelling: normalise(t.span().of(&term)), hash: t.hash, count: 1 })
                }
            }
        }
    }
    out.sort_by_key(|w| w.hash);
    out
}

/// How near words are to the topic's, as numbers: a formula over path and depth.
pub(super) struct Nearness<F> {
    relations: Relations,
    terms: Vec<TopicWord>,
    known: HashMap<Box<str>, Arc<[f64]>>,
    formula: F,
}

impl<F: Fn(&Relation) -> f64> Nearness<F> {
    pub fn new(net: Arc<WordNet>, terms: Vec<TopicWord>, formula: F) -> Nearness<F> {
        let spellings: Vec<&str> = terms.iter().map(|t| t.spelling.as_str()).collect();
        // Numbers are remembered here, so what they were made from need not be.
        let relations = Relations::new(net, &spellings, 1);
        Nearness { relations, terms, known: HashMap::new(), formula }
    }
    pub fn terms(&self) -> &[TopicWord] {
        &self.terms
    }

    /// The nearness of a word to each of the topic's, in their order. Words that WordNet does not connect: 1
    /// if they are the same, else 0.
    pub fn of(&mut self, word: &str, hash: u64) -> Arc<[f64]> {
        if let Some(known) = self.known.get(word) {
            return known.clone();
        }
        let relations = self.relations.of(word);
        let one = |(term, relation): (&TopicWord, &Option<Relation>)| match relation {
            Some(r) => (self.formula)(r),
            None => f64::from(u8::from(term.hash == hash)),
        };
        let found: Arc<[f64]> = self.terms.iter().zip(relations.iter()).map(one).collect();
        if self.known.len() >= MOST_KNOWN {
            self.known.clear();
        }
        self.known.insert(word.into(), found.clone());
        found
    }
}

/// The words of an anchor that are not stopwords, each once with its first spelling and its count, ascending
/// by hash.
pub(super) fn anchor_words(doc: &Doc, anchor: &[Token]) -> Vec<(Token, u32)> {
    let mut words: Vec<(Token, u32)> =
        anchor.iter().take(MOST_WORDS).filter(|t| !t.is_stop()).map(|t| (*t, 1)).collect();
    words.sort_by_key(|w| (w.0.hash, w.0.start));
    words.dedup_by(|later, kept| {
        let same = later.0.hash == kept.0.hash;
        kept.1 += u32::from(same);
        same
    });
    debug_assert!(words.iter().all(|w| w.0.end() as usize <= doc.page.text.len()));
    words
}
