//! Strategy `ssrm`: semantic similarity of anchor and topic, weighted as vectors are (Batsakis, §3.3.2).

use super::query_vector::QueryVector;
use super::semantic::{self, Nearness};
use super::{Model, Reason, Rescore, Scored, Strategy, StrategyEntry, StrategySetup, Visit};
use crate::options;
use crate::text::Counts;
use learn::wordnet::Relation;
use serde::Deserialize;
use types::{Link, Priority, Problem};

pub(super) const ENTRY: StrategyEntry = StrategyEntry {
    name: "ssrm",
    summary: "semantic similarity of anchor and topic: tf·idf weights, words related through WordNet",
    doc: "\
## What it does
`Σ_i Σ_k sim(i,k) · w_i · w_k / (‖w_a‖ · ‖w_q‖)` over the words of the anchor and of the topic, with tf·idf weights. The similarity of
two words is `e^{−α·L} · tanh(β·H)`: L the shortest path between any of their meanings, H how deep the hypernym lies in which it
meets. So general words (entity, thing) relate to nothing much. Words that WordNet does not connect count 1 if they are the same
word, else 0.

## When it helps
As `ehrig`; rare words count more than common ones, deep relations more than shallow ones, long anchors no more than short.

## When it hurts
As `ehrig`: what is near in WordNet is often another topic. Batsakis finds that it does not help. Even the same word counts less than 1 when it
is in WordNet but not deep.

## Options
`alpha` = 0.2 (cost of distance) · `beta` = 0.6 (gain of depth).

## Source
Varelas et al.: Semantic similarity methods in WordNet, 2005, with Li, Bandar and McLean's measure, as in Batsakis, §3.3.2. Needs
WordNet: `[text] wordnet`.",
    build,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Options {
    alpha: f64,
    beta: f64,
}

impl Default for Options {
    fn default() -> Self {
        Options { alpha: 0.2, beta: 0.6 }
    }
}

struct Ssrm<F> {
    query: QueryVector,
    near: Nearness<F>,
    /// Weights of the topic's words in the order of `near`, and their length; brought up to date by every
    /// visit.
    weights: Vec<f64>,
    length: f64,
}

fn build(setup: &StrategySetup) -> Result<Box<dyn Strategy>, Problem> {
    let o: Options = options::parse("strategy `ssrm`", setup.options)?;
    if ![o.alpha, o.beta].iter().all(|v| v.is_finite() && *v >= 0.0) {
        return Err(Problem::usage("strategy `ssrm`: alpha and beta are numbers, 0 or more"));
    }
    let net = semantic::net(setup)?;
    let words = semantic::topic_words(setup);
    let near = Nearness::new(net, words, move |r: &Relation| r.li(o.alpha, o.beta));
    let mut s = Ssrm { query: QueryVector::new(setup), near, weights: Vec::new(), length: 0.0 };
    s.refresh();
    Ok(Box::new(s))
}

impl<F: Fn(&Relation) -> f64> Ssrm<F> {
    fn refresh(&mut self) {
        let vector = self.query.vector();
        self.weights = self.near.terms().iter().map(|t| vector.get(t.hash)).collect();
        self.length = vector.norm();
    }
}

impl<F: Fn(&Relation) -> f64 + Send> Strategy for Ssrm<F> {
    fn learn(&mut self, visit: &Visit) -> Rescore {
        self.query.learn(visit.doc);
        self.refresh();
        Rescore::Nothing
    }

    fn score(&mut self, visit: &Visit) -> Vec<Option<Scored>> {
        let mut one = |link: &Link| {
            let anchor = visit.doc.anchor(link);
            let anchor = anchor.get(..anchor.len().min(semantic::MOST_WORDS)).unwrap_or(anchor);
            let weights = self.query.weights(&Counts::of(&[anchor]));
            let length = weights.norm() * self.length;
            if length <= 0.0 {
                return Some(Scored::key(0.0));
            }
            let mut sum = 0.0;
            for (token, _) in semantic::anchor_words(visit.doc, anchor) {
                let near = self.near.of(&visit.doc.word(token), token.hash);
                let each: f64 = near.iter().zip(&self.weights).map(|(n, w)| n * w).sum();
                sum += each * weights.get(token.hash);
            }
            Some(Scored::key(sum / length))
        };
        visit.doc.page.links.iter().map(&mut one).collect()
    }

    fn explain(&self, _: &[u8], priority: Priority) -> Vec<Reason> {
        vec![Reason { label: "semantic similarity of the anchor".into(), value: priority.key() }]
    }

    fn model(&mut self) -> Option<&mut dyn Model> {
        Some(self)
    }
}

impl<F: Fn(&Relation) -> f64 + Send> Model for Ssrm<F> {
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
    fn li_similarity_by_hand() {
        let web = "
            == http://a/
            [dog](/dog) [cat soup](/cat) [sql](/sql) [soup](/no) [](/none) [animal](/animal)
            == /dog
            == /cat
            == /sql
            == /no
            == /none
            == /animal
            ";
        let crawl = run(web, "[content]\nterms = ['dog', 'sql']\n[strategy]\nkind = 'ssrm'");
        // One page so far with every word on it: all idf are 1, so w = tf = 1 and ‖q‖ = √2.
        let q = 2.0f64.sqrt();
        let li = |l: f64, h: f64| (-0.2 * l).exp() * (0.6 * h).tanh();
        // dog and dog: no steps, two below the root.
        crawl.expect_score("/dog", li(0.0, 2.0) / q);
        // cat and dog meet in animal, one below the root, after two steps; soup adds only length.
        crawl.expect_score("/cat", li(2.0, 1.0) / (q * 2.0f64.sqrt()));
        crawl.expect_score("/animal", li(1.0, 1.0) / q);
        // Not in WordNet, but the same word.
        crawl.expect_score("/sql", 1.0 / q);
        crawl.expect_score("/no", 0.0);
        crawl.expect_score("/none", 0.0);
    }

    #[test]
    fn weights_follow_the_pages() {
        let web = "== http://a/\n[dog](/1)\n== /1\n[dog sql](/2)\n== /2\n";
        let crawl = run(web, "[content]\nterms = ['dog', 'sql']\n[strategy]\nkind = 'ssrm'");
        // At /1: two pages, dog on both, sql on one.
        let idf = |n: f64| (3.0f64 / (n + 1.0)).ln() + 1.0;
        let (dog, sql) = (idf(2.0), idf(1.0));
        let li = 1.2f64.tanh();
        crawl.expect_score("/2", (li * dog * dog + sql * sql) / (dog * dog + sql * sql));
    }
}
