//! Strategy `fish`: Fish-Search, a school that multiplies where there is food and dies where there is none.

use super::{Reason, Scored, Strategy, StrategyEntry, StrategySetup, Visit};
use crate::bytes::{Reader, Writer};
use crate::options;
use serde::Deserialize;
use types::{Priority, Problem, Url};

pub(super) const ENTRY: StrategyEntry = StrategyEntry {
    name: "fish",
    summary: "Fish-Search: relevant pages renew the depth budget of their links, irrelevant ones use it up",
    doc: "\
## What it does
A page is food or not (the judge's decision). Links of a relevant page come first and get a fresh depth budget; links of
an irrelevant page come later and get one less than the page had; at 0 nothing is followed. Under a relevant page `width` × 1.5
links are kept, under another `width`.

## When it helps
Historically the first focused crawler; as a baseline, and with a strict judge on dense topics.

## When it hurts
All relevant pages are equal, so within them it is breadth-first; links beyond the width are lost, and so is everything
behind `depth` irrelevant pages.

## Options
`depth` = 3 · `width` = 5 · `rest` = false: keep the links beyond the width, after all others.

## Source
De Bra and Post: Information retrieval in the World-Wide Web, 1994; S0 §1.4, S3 §2.3.",
    build,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Options {
    depth: u32,
    width: usize,
    rest: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options { depth: 3, width: 5, rest: false }
    }
}

struct Fish {
    o: Options,
}

fn build(setup: &StrategySetup) -> Result<Box<dyn Strategy>, Problem> {
    let o: Options = options::parse("strategy `fish`", setup.options)?;
    if o.width == 0 || o.depth == 0 {
        return Err(Problem::usage("strategy `fish`: depth and width must be at least 1"));
    }
    Ok(Box::new(Fish { o }))
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
    fn seed(&mut self, _: &Url) -> Scored {
        self.scored(UNDER_RELEVANT, self.o.depth)
    }

    fn score(&mut self, visit: &Visit) -> Vec<Option<Scored>> {
        let relevant = visit.verdict.relevant;
        let depth = if relevant { self.o.depth } else { self.depth(visit.evidence) - 1 };
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
            "found on a relevant page"
        } else {
            "found on another page"
        };
        vec![
            Reason { label: under.into(), value: priority.key() },
            Reason { label: "depth left".into(), value: f64::from(self.depth(evidence)) },
        ]
    }
}

#[cfg(test)]
mod tests {
    use crate::testkit::check;

    fn order(web: &str, options: &str, expected: &str) {
        let topic = format!("query = 'sql'\n[judge]\nthreshold = 0.5\n[strategy]\nkind = 'fish'\n{options}");
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
    fn width_counts_targets() {
        let web = "== http://a/\n[1](/1) [again](/1) [2](/2) [3](/3)\n== /1\n== /2\n== /3\n";
        order(web, "width = 2", "/ /1 /2");
        order(web, "width = 2\nrest = true", "/ /1 /2 /3");
        // Under a relevant page half as many again: 3 of 4.
        let good = "== http://a/\nsql [1](/1) [2](/2) [3](/3) [4](/4)\n== /1\n== /2\n== /3\n== /4\n";
        order(good, "width = 2", "/ /1 /2 /3");
    }
}
