//! Strategy `breadth-first`: first found, first fetched.

use super::{Scored, Strategy, StrategyEntry, StrategySetup, Visit, Wants};
use crate::options::{NoOptions, parse};
use types::{Problem, Url};

pub(super) const ENTRY: StrategyEntry = StrategyEntry {
    name: "breadth-first",
    summary: "first found, first fetched; knows nothing of the topic",
    doc: "\
## What it does
Fetches links in the order in which they were found.

## When it helps
As the baseline everything else is measured against, and when everything is wanted.

## When it hurts
Whenever only some pages are wanted: it spends the budget evenly on all.

## Options
None.

## Source
Batsakis, §3.2; Assis 2008, §2.1.",
    build,
};

/// One priority for all: the frontier's tie rule (first found first) is the whole strategy.
const EQUAL: f64 = 1.0;

struct BreadthFirst;

fn build(setup: &StrategySetup) -> Result<Box<dyn Strategy>, Problem> {
    parse::<NoOptions>("strategy `breadth-first`", setup.options)?;
    Ok(Box::new(BreadthFirst))
}

impl Strategy for BreadthFirst {
    fn wants(&self) -> Wants {
        Wants::NOTHING
    }

    fn seed(&mut self, _: &Url) -> Scored {
        Scored::key(EQUAL)
    }
    fn score(&mut self, visit: &Visit) -> Vec<Option<Scored>> {
        visit.doc.page.links.iter().map(|_| Some(Scored::key(EQUAL))).collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::testkit::check;

    #[test]
    fn level_by_level() {
        check(
            "== http://a/ \n [1](/1) [2](/2)\n== /1\n [3](/3) [2](/2)\n== /2\n [4](/4)\n== /3\n== /4\n",
            "query = 'x'\n[strategy]\nkind = 'breadth-first'",
            "/ /1 /2 /3 /4",
        );
    }
}
