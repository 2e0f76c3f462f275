//! Strategy `fish`: Fish-Search, a school that multiplies where there is food and dies where there is none.

use super::query_vector::QueryVector;
use super::{Model, Parts, Reason, Rescore, Scored, Strategy, StrategyEntry, StrategySetup, Visit, Wants};
use crate::options;
use learn::bytes::{Reader, Writer, damaged};
use serde::Deserialize;
use types::{Priority, Problem, Url, UrlId};

pub(super) const ENTRY: StrategyEntry = StrategyEntry {
    name: "fish",
    summary: "Fish-Search: relevant pages renew the depth budget of their links, irrelevant ones use it up",
    doc: "\
## What it does
A page is food or not: Boolean. The sources match it with the query; a topic is a list of many words, so a page is food when it matches
them (cosine) at least as well as the pages so far do on average (ours), or, with `food = \"verdict\"`, when the judge calls it
relevant. Links of food come first and get a fresh depth budget; links of another page come later and get one less than the page
had; at 0 nothing is followed. That holds for the first `width` × 1.5 links of food and the first `width` of another page; the rest wait
until nothing else is left.

## When it helps
Historically the first focused crawler; as a baseline.

## When it hurts
All food is equal, so within it the order is breadth-first; what is behind `depth` pages without food is lost. With a strict judge as the
only food, or without the rest, the school starves soon.

## Options
`depth` = 3 · `width` = 5 · `food` = \"match\" | \"verdict\" · `rest` = true: false drops the links beyond the width.

## Source
De Bra and Post: Information retrieval in the World-Wide Web, 1994; Assis 2008, §1.4, Batsakis, §2.3.",
    build,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Options {
    depth: u32,
    width: usize,
    rest: bool,
    food: Food,
}

/// Which pages are food.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Food {
    /// Those that match the topic's words better than the pages so far do on average.
    Match,
    /// Those the judge calls relevant.
    Verdict,
}

impl Default for Options {
    fn default() -> Self {
        Options { depth: 3, width: 5, rest: true, food: Food::Match }
    }
}

struct Fish {
    o: Options,
    query: QueryVector,
    /// Pages so far, and the sum of their similarities.
    pages: u64,
    sum: f64,
    /// The page just learnt from: is it food?
    here: Option<(UrlId, bool)>,
    changed: bool,
}

fn build(setup: &StrategySetup) -> Result<Box<dyn Strategy>, Problem> {
    let o: Options = options::parse("strategy `fish`", setup.options)?;
    if o.width == 0 || o.depth == 0 {
        return Err(Problem::usage("strategy `fish`: depth and width must be at least 1"));
    }
    let query = QueryVector::new(setup);
    Ok(Box::new(Fish { o, query, pages: 0, sum: 0.0, here: None, changed: false }))
}

/// How links rank, by the page they stand on.
const UNDER_RELEVANT: f64 = 1.0;
const UNDER_OTHER: f64 = 0.5;
const BEYOND_WIDTH: f64 = 0.0;

impl Fish {
    fn scored(&self, key: f64, depth: u32) -> Scored {
        let mut w = Writer::default();
        w.u8(1).u32(depth);
        Scored { priority: Priority::key_only(key), evidence: w.0, ttl: None }
    }

    /// The depth budget a page was found with.
    fn depth(&self, evidence: &[u8]) -> u32 {
        let mut r = Reader(evidence);
        match (r.u8(), r.u32()) {
            (Ok(1), Ok(depth)) => depth.min(self.o.depth),
            _ => self.o.depth,
        }
    }
}

impl Strategy for Fish {
    fn wants(&self) -> Wants {
        Wants::NOTHING.and(Parts::COUNTS)
    }

    fn seed(&mut self, _: &Url) -> Scored {
        self.scored(UNDER_RELEVANT, self.o.depth)
    }

    fn learn(&mut self, visit: &Visit) -> Rescore {
        let food = match self.o.food {
            Food::Verdict => visit.verdict.relevant,
            Food::Match => {
                self.query.learn(visit.doc);
                let similarity = self.query.page(visit.doc);
                self.pages += 1;
                self.sum += similarity;
                self.changed = true;
                similarity > 0.0 && similarity * self.pages as f64 >= self.sum
            }
        };
        self.here = Some((visit.id, food));
        Rescore::Nothing
    }

    fn score(&mut self, visit: &Visit) -> Vec<Option<Scored>> {
        // A sitemap is scored without being learnt from: it is no food.
        let relevant = self.here.is_some_and(|(id, food)| id == visit.id && food);
        let depth = if relevant { self.o.depth } else { self.depth(visit.evidence).saturating_sub(1) };
        let width = if relevant { self.o.width * 3 / 2 } else { self.o.width };
        let key = if relevant { UNDER_RELEVANT } else { UNDER_OTHER };
        let mut out = Vec::with_capacity(visit.doc.page.links.len());
        // The same target twice takes one place, not two.
        let mut kept: Vec<&Url> = Vec::with_capacity(width);
        for link in &visit.doc.page.links {
            let room = kept.len() < width;
            let known = kept.contains(&&link.url);
            if room && !known {
                kept.push(&link.url);
            }
            out.push(match (depth, room || known) {
                (0, _) => None,
                (_, true) => Some(self.scored(key, depth)),
                (_, false) => self.o.rest.then(|| self.scored(BEYOND_WIDTH, depth)),
            });
        }
        out
    }

    fn explain(&self, evidence: &[u8], priority: Priority) -> Vec<Reason> {
        let under = if priority.key() >= UNDER_RELEVANT {
            "found on a page that is food"
        } else {
            "found on another page"
        };
        vec![
            Reason { label: under.into(), value: priority.key() },
            Reason { label: "depth left".into(), value: f64::from(self.depth(evidence)) },
        ]
    }

    fn model(&mut self) -> Option<&mut dyn Model> {
        Some(self)
    }
}

impl Model for Fish {
    fn save(&mut self, full: bool) -> Option<Vec<u8>> {
        if self.o.food != Food::Match || (!full && !self.changed) {
            return None;
        }
        self.changed = false;
        let mut w = Writer::default();
        w.u8(1).u64(self.pages).f64(self.sum).bytes(&self.query.save(full).unwrap_or_default());
        Some(w.0)
    }

    fn load(&mut self, bytes: &[u8]) -> Result<(), Problem> {
        let mut r = Reader(bytes);
        if r.u8()? != 1 {
            return Err(damaged());
        }
        (self.pages, self.sum) = (r.u64()?, r.f64()?);
        let words = r.bytes()?;
        r.end()?;
        if words.is_empty() { Ok(()) } else { self.query.load(words) }
    }

    /// What pages match on average is this crawl's.
    fn export(&mut self) -> Option<Vec<u8>> {
        None
    }
}

#[cfg(test)]
mod tests {
    use crate::testkit::check;

    fn order(web: &str, options: &str, expected: &str) {
        let topic = format!(
            "query = 'sql'\n[judge]\nthreshold = 0.5\n[strategy]\nkind = 'fish'\nfood = 'verdict'\n{options}"
        );
        check(web, &topic, expected);
    }

    #[test]
    fn food_first() {
        let web = "== http://a/\n[1](/1) [2](/2)\n== /1\n[3](/3)\n== /2\nsql [4](/4)\n== /3\n== /4\n";
        // /1 and /2 were found on an irrelevant page; /4 on a relevant one, so it overtakes /3.
        order(web, "", "/ /1 /2 /4 /3");
    }

    #[test]
    fn the_school_dies_without_food() {
        // Depth 3 at the seed; /1 has 2, /2 has 1, /3 would have 0: not followed.
        let chain = "== http://a/\n[1](/1)\n== /1\n[2](/2)\n== /2\n[3](/3)\n== /3\n[4](/4)\n== /4\n";
        order(chain, "", "/ /1 /2");
        order(chain, "depth = 4", "/ /1 /2 /3");
        // Food at /2 renews the budget: /3 gets 3, /4 gets 2.
        let fed = chain.replace("== /2\n", "== /2\nsql ");
        order(&fed, "", "/ /1 /2 /3 /4");
    }

    #[test]
    fn food_is_what_matches_better_than_average() {
        // One word each: cosine with the query 1 (sql alone), 1/√2 (sql and another), 0. The judge finds
        // nothing relevant.
        let topic = "query = 'sql'\n[judge]\nthreshold = 1.0\n[exclude]\nterms = []\n[strategy]\n\
                     kind = 'fish'\ndepth = 2\nwidth = 4";
        let chain = "== http://a/\nsql soup\n[](/1)\n== /1\nsql soup stew\n[](/2)\n== /2\nsoup\n[](/3)\n\
                     == /3\nsoup\n[](/4)\n== /4\n";
        // /: above its own mean (equal): food, /1 gets 2. /1 is below the mean of both: /2 gets 1. /2 has
        // none: /3 would get 0.
        check(chain, topic, "/ /1 /2");
        // With /2 a perfect match the budget is renewed: /3 gets 2, /4 gets 1.
        check(&chain.replace("== /2\nsoup", "== /2\nsql"), topic, "/ /1 /2 /3 /4");
        // No word of the topic anywhere: nothing is food, however low the mean.
        check(&chain.replace("sql", "stew"), topic, "/ /1");
    }

    #[test]
    fn width_counts_targets() {
        let web = "== http://a/\n[1](/1) [again](/1) [2](/2) [3](/3)\n== /1\n== /2\n== /3\n";
        order(web, "width = 2\nrest = false", "/ /1 /2");
        order(web, "width = 2", "/ /1 /2 /3");
        // The rest waits for everything else, however much later that was found.
        let late = "== http://a/\n[1](/1) [2](/2) [3](/3)\n== /1\n[4](/4)\n== /2\n== /3\n== /4\n";
        order(late, "width = 2", "/ /1 /2 /4 /3");
        // Under a relevant page half as many again: 3 of 4.
        let good = "== http://a/\nsql [1](/1) [2](/2) [3](/3) [4](/4)\n== /1\n== /2\n== /3\n== /4\n";
        order(good, "width = 2\nrest = false", "/ /1 /2 /3");
    }
}
