//! Strategy `shark`: Shark-Search, fuzzy relevance that is inherited and read from around the link.

use super::query_vector::QueryVector;
use super::{Model, Parts, Reason, Rescore, Scored, Strategy, StrategyEntry, StrategySetup, Visit, Wants};
use crate::options;
use learn::bytes::{Reader, Writer};
use serde::Deserialize;
use types::{Link, Priority, Problem, Url};

pub(super) const ENTRY: StrategyEntry = StrategyEntry {
    name: "shark",
    summary: "Shark-Search: what the page and its ancestors are worth, and what the anchor and its \
              surroundings say",
    doc: "\
## What it does
`γ·inherited + (1−γ)·neighbourhood`. Inherited is `δ·sim(u)` when the page has any similarity with the topic, else `δ` times what
the page itself inherited. Neighbourhood is `β·anchor + (1−β)·context`, where the context counts 1 when the anchor
itself matches, else the similarity of the text around it.

## When it helps
Topics whose good pages are a hop or two behind poor ones: what an ancestor was worth fades slowly.

## When it hurts
Where links stand in long lists of bare names: nothing is said around them.

## Options
`delta` = 0.5 (decay) · `gamma` = 0.5 (inherited against neighbourhood) · `beta` = 0.8 (anchor against context).

## Source
Hersovici et al.: The Shark-Search algorithm, 1998; Assis 2008, §1.4, Pappas et al. 2012.",
    build,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Options {
    delta: f64,
    gamma: f64,
    beta: f64,
}

impl Default for Options {
    fn default() -> Self {
        Options { delta: 0.5, gamma: 0.5, beta: 0.8 }
    }
}

struct Shark {
    query: QueryVector,
    o: Options,
}

fn build(setup: &StrategySetup) -> Result<Box<dyn Strategy>, Problem> {
    let o: Options = options::parse("strategy `shark`", setup.options)?;
    if ![o.delta, o.gamma, o.beta].iter().all(|v| (0.0..=1.0).contains(v)) {
        return Err(Problem::usage("strategy `shark`: delta, gamma and beta are shares between 0 and 1"));
    }
    Ok(Box::new(Shark { query: QueryVector::new(setup), o }))
}

/// What a link carries: its inherited score (its own children may need it), anchor and context similarity.
struct Carried {
    inherited: f64,
    anchor: f64,
    context: f64,
}

impl Carried {
    const VERSION: u8 = 1;

    fn write(&self) -> Vec<u8> {
        let mut w = Writer::default();
        w.u8(Carried::VERSION).f64(self.inherited).f64(self.anchor).f64(self.context);
        w.0
    }
    fn read(bytes: &[u8]) -> Option<Carried> {
        let mut r = Reader(bytes);
        if r.u8().ok()? != Carried::VERSION {
            return None;
        }
        Some(Carried { inherited: r.f64().ok()?, anchor: r.f64().ok()?, context: r.f64().ok()? })
    }
}

impl Shark {
    fn neighbourhood(&self, c: &Carried) -> f64 {
        self.o.beta * c.anchor + (1.0 - self.o.beta) * c.context
    }
    fn key(&self, c: &Carried) -> f64 {
        self.o.gamma * c.inherited + (1.0 - self.o.gamma) * self.neighbourhood(c)
    }
}

impl Strategy for Shark {
    fn wants(&self) -> Wants {
        Wants::NOTHING.and(Parts::COUNTS)
    }

    fn seed(&mut self, _: &Url) -> Scored {
        Scored::key(1.0)
    }

    fn learn(&mut self, visit: &Visit) -> Rescore {
        self.query.learn(visit.doc);
        Rescore::Nothing
    }

    fn score(&mut self, visit: &Visit) -> Vec<Option<Scored>> {
        let sim = self.query.page(visit.doc);
        let own = Carried::read(visit.evidence).map_or(0.0, |c| c.inherited);
        let inherited = self.o.delta * if sim > 0.0 { sim } else { own };
        let one = |link: &Link| {
            let anchor = self.query.words(visit.doc.anchor(link));
            let context = if anchor > 0.0 { 1.0 } else { self.query.words(visit.doc.context(link)) };
            let carried = Carried { inherited, anchor, context };
            Some(Scored {
                priority: Priority::key_only(self.key(&carried)),
                evidence: carried.write(),
                ttl: None,
            })
        };
        visit.doc.page.links.iter().map(one).collect()
    }

    fn explain(&self, evidence: &[u8], _: Priority) -> Vec<Reason> {
        let Some(c) = Carried::read(evidence) else { return Vec::new() };
        let near = 1.0 - self.o.gamma;
        let reason = |label: &str, value: f64| Reason { label: label.into(), value };
        vec![
            reason("inherited", self.o.gamma * c.inherited),
            reason("anchor", near * self.o.beta * c.anchor),
            reason("context", near * (1.0 - self.o.beta) * c.context),
        ]
    }

    fn model(&mut self) -> Option<&mut dyn Model> {
        Some(self)
    }
}

impl Model for Shark {
    fn save(&mut self, full: bool) -> Option<Vec<u8>> {
        self.query.save(full)
    }

    fn load(&mut self, bytes: &[u8]) -> Result<(), Problem> {
        self.query.load(bytes)
    }
}

#[cfg(test)]
mod tests {
    use crate::testkit::run;

    #[test]
    fn the_formula_by_hand() {
        // Words of the only page: sql, one, soup, two, each once; query: sql. One document: idf = ln(2/2)+1 =
        // 1.
        let web = "== http://a/\nsql [one](/1)\nsoup [sql](/2)\n== /1\n== /2\n";
        let crawl = run(web, "query = 'sql'\n[strategy]\nkind = 'shark'");
        // sql twice (tf 1), one and soup once (tf ½): cos = 1/√(1+¼+¼).
        let sim = 1.0 / 1.5f64.sqrt();
        let inherited = 0.5 * sim;
        // /1: the anchor says nothing; its context is the line "sql one": cos = 1/√2.
        crawl.expect_score("/1", 0.5 * inherited + 0.5 * (0.2 * (1.0 / 2.0f64.sqrt())));
        // /2: the anchor is the query itself, so the context counts 1.
        crawl.expect_score("/2", 0.5 * inherited + 0.5 * (0.8 + 0.2));
        assert_eq!(crawl.order(), "/ /2 /1");
    }

    #[test]
    fn what_is_inherited_fades_over_poor_pages() {
        let web = "== http://a/\nsql [x](/1)\n== /1\n[y](/2)\n== /2\n[z](/3)\n== /3\n";
        let crawl = run(web, "query = 'sql'\n[strategy]\nkind = 'shark'");
        // Page /: sql and x once each: cos = 1/√2. Pages /1 and /2 have no similarity: they pass on half of
        // what they had. The context of /1's link is the line "sql x": 1/√2.
        let first = 0.5 / 2.0f64.sqrt();
        crawl.expect_score("/1", 0.5 * first + 0.5 * 0.2 / 2.0f64.sqrt());
        crawl.expect_score("/2", 0.5 * first / 2.0);
        crawl.expect_score("/3", 0.5 * first / 4.0);
    }
}
