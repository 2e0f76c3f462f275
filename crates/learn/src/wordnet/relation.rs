//! How near two words are in the hypernym graph: the length of the shortest path over all their senses, and
//! how deep the hypernym lies in which it meets.

use super::{Synset, WordNet};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// Shortest path and meeting point of two words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Relation {
    /// Hypernym links on the shortest path between any two senses; 0 = they share a synset.
    pub path: u32,
    /// Links from the meeting point of that path up to its nearest root; of several, the deepest.
    pub depth: u32,
}

impl Relation {
    /// Ehrig & Maedche: `σ^path`.
    pub fn ehrig(&self, sigma: f64) -> f64 {
        libm::pow(sigma, f64::from(self.path))
    }
    /// Li, Bandar & McLean: `e^(−α·path) · tanh(β·depth)`.
    pub fn li(&self, alpha: f64, beta: f64) -> f64 {
        libm::exp(-alpha * f64::from(self.path)) * libm::tanh(beta * f64::from(self.depth))
    }
}

/// A word's senses and everything above them: (synset, steps up), ascending.
pub(super) type Above = Vec<(u32, u8)>;

/// Breadth-first upwards, so that every synset has its smallest distance; also where hypernyms go round in a
/// circle.
pub(super) fn above(net: &WordNet, senses: &[Synset]) -> Above {
    let mut found: BTreeMap<u32, u8> = BTreeMap::new();
    let mut level: Vec<u32> = senses.iter().map(|s| s.0).collect();
    let mut steps = 0u8;
    while !level.is_empty() && steps < u8::MAX {
        let mut next = Vec::new();
        for s in level {
            if let std::collections::btree_map::Entry::Vacant(e) = found.entry(s) {
                e.insert(steps);
                next.extend(net.hypernyms(Synset(s)).map(|h| h.0));
            }
        }
        level = next;
        steps += 1;
    }
    found.into_iter().collect()
}

/// Where the two lists meet with the fewest steps together.
pub(super) fn between(net: &WordNet, a: &Above, b: &Above) -> Option<Relation> {
    let (mut i, mut j) = (0, 0);
    let mut best: Option<Relation> = None;
    while let (Some(x), Some(y)) = (a.get(i), b.get(j)) {
        match x.0.cmp(&y.0) {
            std::cmp::Ordering::Less => i += 1,
            std::cmp::Ordering::Greater => j += 1,
            std::cmp::Ordering::Equal => {
                let here = Relation { path: u32::from(x.1) + u32::from(y.1), depth: net.depth(Synset(x.0)) };
                if best.is_none_or(|b| here.path < b.path || (here.path == b.path && here.depth > b.depth)) {
                    best = Some(here);
                }
                i += 1;
                j += 1;
            }
        }
    }
    best
}

/// The relations of any word to a fixed list of terms, remembered: a crawl asks for the same words all the
/// time.
pub struct Relations {
    net: Arc<WordNet>,
    terms: Vec<Above>,
    known: HashMap<Box<str>, Arc<[Option<Relation>]>>,
    most: usize,
}

impl Relations {
    /// `most` words are remembered; then it starts afresh, so that hostile pages cannot fill the memory.
    pub fn new(net: Arc<WordNet>, terms: &[&str], most: usize) -> Relations {
        let terms = terms.iter().map(|t| above(&net, &net.lookup(t))).collect();
        Relations { net, terms, known: HashMap::new(), most: most.max(1) }
    }
    /// How many terms there are.
    pub fn terms(&self) -> usize {
        self.terms.len()
    }
    /// The relation of `word` to each term, in order.
    pub fn of(&mut self, word: &str) -> Arc<[Option<Relation>]> {
        if let Some(known) = self.known.get(word) {
            return known.clone();
        }
        let mine = above(&self.net, &self.net.lookup(word));
        let found: Arc<[Option<Relation>]> =
            self.terms.iter().map(|t| between(&self.net, &mine, t)).collect();
        if self.known.len() >= self.most {
            self.known.clear();
        }
        self.known.insert(word.into(), found.clone());
        found
    }
}
