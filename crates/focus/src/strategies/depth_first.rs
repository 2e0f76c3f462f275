//! Strategy `depth-first`: last found, first fetched.

use super::{Model, Rescore, Scored, Strategy, StrategyEntry, StrategySetup, Visit, Wants};
use crate::options::{NoOptions, parse};
use learn::bytes::{Reader, Writer};
use types::{Priority, Problem, Url};

pub(super) const ENTRY: StrategyEntry = StrategyEntry {
    name: "depth-first",
    summary: "last found, first fetched; knows nothing of the topic",
    doc: "\
## What it does
Follows the links of the page fetched last, the first link of a page before the others; goes back when a branch ends.

## When it helps
As a baseline, and on small sites that are to be taken whole, one section after the other.

## When it hurts
Almost always: on the Web a branch does not end, so it loses itself in the first one.

## Options
None.

## Source
Assis 2008, §2.1.",
    build,
};

/// The key counts pages: links of a later page come first, links of one page share a key and so keep their
/// order.
#[derive(Default)]
struct DepthFirst {
    pages: u64,
}

fn build(setup: &StrategySetup) -> Result<Box<dyn Strategy>, Problem> {
    parse::<NoOptions>("strategy `depth-first`", setup.options)?;
    Ok(Box::new(DepthFirst::default()))
}

impl Strategy for DepthFirst {
    fn wants(&self) -> Wants {
        Wants::NOTHING
    }

    fn seed(&mut self, _: &Url) -> Scored {
        Scored::key(0.0)
    }

    fn learn(&mut self, _: &Visit) -> Rescore {
        self.pages += 1;
        Rescore::Nothing
    }

    fn score(&mut self, visit: &Visit) -> Vec<Option<Scored>> {
        visit.doc.page.links.iter().map(|_| Some(Scored::key(self.pages as f64))).collect()
    }

    /// A link found again moves to the top with the page it was found on.
    fn merge(&self, _: Priority, new: Priority) -> Priority {
        new
    }

    fn model(&mut self) -> Option<&mut dyn Model> {
        Some(self)
    }
}

impl Model for DepthFirst {
    fn save(&mut self, _: bool) -> Option<Vec<u8>> {
        let mut w = Writer::default();
        w.u64(self.pages);
        Some(w.0)
    }

    fn load(&mut self, bytes: &[u8]) -> Result<(), Problem> {
        self.pages = Reader(bytes).u64()?;
        Ok(())
    }

    /// Nothing of it is of use elsewhere.
    fn export(&mut self) -> Option<Vec<u8>> {
        None
    }
}

#[cfg(test)]
mod tests {
    use crate::testkit::check;

    #[test]
    fn branch_by_branch() {
        check(
            "== http://a/ \n [1](/1) [2](/2)\n== /1\n [3](/3) [4](/4)\n== /2\n== /3\n [5](/5)\n== /4\n\
             == /5\n",
            "query = 'x'\n[strategy]\nkind = 'depth-first'",
            "/ /1 /3 /5 /4 /2",
        );
    }

    #[test]
    fn found_again_moves_up() {
        check(
            "== http://a/ \n [1](/1) [2](/2) [3](/3)\n== /1\n [3](/3)\n== /2\n== /3\n",
            "query = 'x'\n[strategy]\nkind = 'depth-first'",
            "/ /1 /3 /2",
        );
    }
}
