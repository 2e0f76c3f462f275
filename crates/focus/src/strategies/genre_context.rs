//! Strategy `genre-context`: the genre policies, with a first score from the text of the link itself.

use super::genre::Genre;
use super::{Parts, Reason, Rescore, Scored, Strategy, StrategyEntry, StrategySetup, Visit, Wants};
use crate::text::{Terms, Token};
use crate::topic::Weights;
use learn::bytes::{Reader, Writer};
use types::{Priority, Problem, Url};

pub(super) const ENTRY: StrategyEntry = StrategyEntry {
    name: "genre-context",
    summary: "as `genre`, but a new link starts with the topic similarity of its own words",
    doc: "\
## What it does
As `genre`: a judged page passes its score to the pending links beside it (or to its own). But a new link does not start at 0: its first
score is the topic similarity of its link context, the anchor text, its title attribute and the words of its URL.

## When it helps
Everywhere `genre` does, and before the first good page of a list has been found. Siqueira et al. report twice the efficiency.

## When it hurts
Misleading anchors and URLs; sites whose links are numbers.

## Options
As `genre`: `policy`, `change`, `ties`, `depth`, `links`.

## Source
Siqueira et al., §2.1.",
    build,
};

struct GenreContext {
    genre: Genre,
    terms: Terms,
    weights: Weights,
}

fn build(setup: &StrategySetup) -> Result<Box<dyn Strategy>, Problem> {
    let genre = Genre::new("strategy `genre-context`", setup)?;
    Ok(Box::new(GenreContext { genre, terms: setup.topic.terms(), weights: setup.topic.judge.weights }))
}

impl GenreContext {
    /// The judge's own measure (Assis 2008, Algorithm 2), on the words of a link instead of a page.
    fn similarity(&self, visit: &Visit, words: &[&[Token]]) -> f64 {
        let found = self.terms.count(words, visit.doc.language());
        let sim = |name: &str| {
            let set = self.terms.set(name).filter(|s| !self.terms.set_is_empty(*s))?;
            Some(self.terms.sim(set, &found, |_| 1.0))
        };
        let mean = |a: Option<f64>, wa: f64, b: Option<f64>, wb: f64| match (a, b) {
            (Some(a), Some(b)) if wa + wb > 0.0 => Some((wa * a + wb * b) / (wa + wb)),
            (a, b) => a.or(b),
        };
        let combined = mean(sim("genre"), self.weights.genre, sim("content"), self.weights.content);
        mean(combined, self.weights.combined, sim("url"), self.weights.url).unwrap_or(0.0)
    }
}

impl Strategy for GenreContext {
    fn wants(&self) -> Wants {
        self.genre.wants().and(Parts::LINKS)
    }

    fn seed(&mut self, url: &Url) -> Scored {
        self.genre.seed(url)
    }

    fn learn(&mut self, visit: &Visit) -> Rescore {
        self.genre.learn(visit)
    }

    fn score(&mut self, visit: &Visit) -> Vec<Option<Scored>> {
        let given = self.genre.gives_to_children(visit);
        let mut out = self.genre.score(visit);
        for (i, (link, scored)) in visit.doc.page.links.iter().zip(&mut out).enumerate() {
            let Some(scored) = scored else { continue };
            let words = [visit.doc.anchor(link), visit.doc.label(i), visit.doc.link_url(i)];
            let own = self.similarity(visit, &words);
            let mut w = Writer::default();
            w.u8(1).f64(own);
            scored.evidence = w.0;
            if !given {
                scored.priority = Priority::key_only(own);
            }
        }
        out
    }

    fn merge(&self, old: Priority, new: Priority) -> Priority {
        self.genre.merge(old, new)
    }

    fn explain(&self, evidence: &[u8], priority: Priority) -> Vec<Reason> {
        let mut r = Reader(evidence);
        match (r.u8(), r.f64()) {
            (Ok(1), Ok(own)) if own == priority.key() => {
                vec![Reason { label: "words of the link".into(), value: own }]
            }
            _ => self.genre.explain(evidence, priority),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testkit::run;

    const TOPIC: &str = "name = 'n'\n[genre]\nterms = ['syllabus', 'grading']\n[content]\nterms = ['sql']\n\
                         [judge]\nthreshold = 0.5\n[strategy]\nkind = 'genre-context'\n";

    #[test]
    fn the_first_score_by_hand() {
        let web = "== http://a/\n[syllabus](/1) [x](/sql \"grading\") [y](/2)\n== /1\n== /sql\n== /2\n";
        let crawl = run(web, TOPIC);
        // /1: one of two genre terms: cos = 1/√2; no content term; equal weights.
        crawl.expect_score("/1", (1.0 / 2.0f64.sqrt()) / 2.0);
        // /sql: grading in the label (1/√2), sql in the URL (1).
        crawl.expect_score("/sql", (1.0 / 2.0f64.sqrt() + 1.0) / 2.0);
        crawl.expect_score("/2", 0.0);
        assert_eq!(crawl.order(), "/ /sql /1 /2");
    }

    #[test]
    fn siblings_overwrite_it() {
        let web = "== http://a/\n[syllabus sql](/1) [x](/2) [sql](/3)\n== /1\nsyllabus sql\n== /2\n== /3\n";
        let crawl = run(web, &format!("{TOPIC}ties = 'first'\n"));
        // /1 is judged (1/√2 + 1)/2 ≥ 0.2: both siblings get that, and /2 was found before /3.
        crawl.expect_lease_key("/2", (1.0 / 2.0f64.sqrt() + 1.0) / 2.0);
        assert_eq!(crawl.order(), "/ /1 /2 /3");
    }
}
