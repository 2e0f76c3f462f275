//! Strategy `ehrig`: how near the words of the anchor are to the topic's in WordNet (Batsakis, §3.3.1).

use super::semantic::{self, Nearness};
use super::{Reason, Scored, Strategy, StrategyEntry, StrategySetup, Visit};
use crate::options;
use learn::wordnet::Relation;
use serde::Deserialize;
use types::{Link, Priority, Problem};

pub(super) const ENTRY: StrategyEntry = StrategyEntry {
    name: "ehrig",
    summary: "how near the words of the anchor are to the topic's words in WordNet",
    doc: "\
## What it does
Every word of the anchor is compared with every word of the topic: `Σ_i Σ_k σ^{path(i,k)} · tf(i) · tf(k)`, where the path is the
shortest between any two of their meanings through a common hypernym (0 = they share a meaning) and tf = count / largest count.
Words that WordNet does not connect count 1 if they are the same word, else 0. Not divided by anything: long anchors score more.

## When it helps
When anchors speak of the topic in other words than the topic file does, in English prose.

## When it hurts
WordNet connects almost all nouns over a few steps, so many words at some distance outweigh one that fits; technical words are
missing. Batsakis finds that it does not help.

## Options
`sigma` = 0.5: what one step costs.

## Source
Ehrig and Maedche: Ontology-focused crawling of Web documents, 2003, as in Batsakis, §3.3.1. Needs WordNet: `[text] wordnet`.",
    build,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Options {
    sigma: f64,
}

impl Default for Options {
    fn default() -> Self {
        Options { sigma: 0.5 }
    }
}

struct Ehrig<F> {
    near: Nearness<F>,
    /// tf of each of the topic's words.
    tf: Vec<f64>,
}

fn build(setup: &StrategySetup) -> Result<Box<dyn Strategy>, Problem> {
    let o: Options = options::parse("strategy `ehrig`", setup.options)?;
    if !(0.0..=1.0).contains(&o.sigma) {
        return Err(Problem::usage("strategy `ehrig`: sigma is a share between 0 and 1"));
    }
    let net = semantic::net(setup)?;
    let words = semantic::topic_words(setup);
    let max = f64::from(words.iter().map(|w| w.count).max().unwrap_or(1));
    let tf = words.iter().map(|w| f64::from(w.count) / max).collect();
    let sigma = o.sigma;
    Ok(Box::new(Ehrig { near: Nearness::new(net, words, move |r: &Relation| r.ehrig(sigma)), tf }))
}

impl<F: Fn(&Relation) -> f64 + Send> Strategy for Ehrig<F> {
    fn score(&mut self, visit: &Visit) -> Vec<Option<Scored>> {
        let mut one = |link: &Link| {
            let words = semantic::anchor_words(visit.doc, visit.doc.anchor(link));
            let max = f64::from(words.iter().map(|w| w.1).max().unwrap_or(1));
            let mut sum = 0.0;
            for (token, count) in words {
                let near = self.near.of(&visit.doc.word(token), token.hash);
                let each: f64 = near.iter().zip(&self.tf).map(|(n, tf)| n * tf).sum();
                sum += each * f64::from(count) / max;
            }
            Some(Scored::key(sum))
        };
        visit.doc.page.links.iter().map(&mut one).collect()
    }

    fn explain(&self, _: &[u8], priority: Priority) -> Vec<Reason> {
        vec![Reason { label: "nearness of the anchor's words to the topic's".into(), value: priority.key() }]
    }
}

#[cfg(test)]
mod tests {
    use crate::strategies::{StrategySetup, build};
    use crate::testkit::run;
    use crate::topic::Topic;

    const WEB: &str = "
        == http://a/
        [dog](/dog) [cats and hounds](/two) [entity](/top) [soup](/no) [](/none) [sql sql dog](/sql) [the](/stop)
        == /dog
        == /two
        == /top
        == /no
        == /none
        == /sql
        == /stop
        ";

    #[test]
    fn paths_by_hand() {
        // The topic's words: dog (twice: tf 1), sql (tf ½; not in WordNet).
        let crawl = run(WEB, "[content]\nterms = ['dog', 'dog sql']\n[strategy]\nkind = 'ehrig'");
        crawl.expect_score("/dog", 1.0);
        // cats ~ cat: two steps from dog; hound means the same. Both once: tf 1.
        crawl.expect_score("/two", 0.25 + 1.0);
        crawl.expect_score("/top", 0.25);
        // Not connected: 0; the same word: 1, times ½ for the topic's tf; dog once of two: tf ½.
        crawl.expect_score("/sql", 1.0 * 0.5 + 0.5 * 1.0);
        for nothing in ["/no", "/none", "/stop"] {
            crawl.expect_score(nothing, 0.0);
        }
        let third = run(WEB, "[content]\nterms = ['dog']\n[strategy]\nkind = 'ehrig'\nsigma = 0.3");
        third.expect_score("/two", 0.09 + 1.0);
        // No steps at all are allowed: only the same meaning counts.
        run(WEB, "[content]\nterms = ['dog']\n[strategy]\nkind = 'ehrig'\nsigma = 0")
            .expect_score("/two", 1.0);
    }

    #[test]
    fn without_wordnet_it_says_how_to_get_it() {
        for kind in ["ehrig", "ssrm", "synset"] {
            assert!(crate::strategies::needs_wordnet(kind));
            let t = Topic::from_toml(&format!("query = 'x'\n[strategy]\nkind = '{kind}'")).unwrap();
            let message = build(&StrategySetup::new(&t)).err().unwrap().to_string();
            assert!(
                message.contains("apt-get install wordnet-base") && message.contains("[text]"),
                "{message}"
            );
        }
        assert!(!crate::strategies::needs_wordnet("shark"));
    }
}
