//! Strategy `classifier`: a trained judge drives the crawl (the SVM crawler of Assis's comparison).

use super::genre::TieRule;
use super::{Reason, Rescore, Scored, Strategy, StrategyEntry, StrategySetup, Visit, Wants};
use crate::options;
use serde::Deserialize;
use types::{LinkKind, Priority, Problem, Ties};

pub(super) const ENTRY: StrategyEntry = StrategyEntry {
    name: "classifier",
    summary: "links are worth what the judge gave the page they stand on; any judge drives it",
    doc: "\
## What it does
A link's priority is the relevance the judge gave to the page it was found on: the traditional focused crawler, driven by a
classifier (`svm`, `bayes`) or any other judge. With `queue = \"siblings\"` a page that the judge finds relevant enough gives its relevance to
the pending links beside it instead, as the genre policy FS-2 does.

## When it helps
With a judge that was trained on examples, on topics whose pages link to each other.

## When it hurts
Genres whose pages do not link to each other; judges whose probabilities are all near 0 or 1 say little about order.

## Options
`queue` = \"page\" (default) or \"siblings\" · `ties` = \"first\", \"last\" or \"random\": which of equal links goes first (default: the first found; with siblings random, as `genre`) · `change` = 0.2: from this relevance on siblings are raised.

## Source
Assis 2008, §4.1.2 and Fig. 4.6 (sibling queueing helps the SVM crawler too).",
    build,
};

#[derive(Deserialize, Clone, Copy, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Queue {
    Page,
    Siblings,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Options {
    ties: Option<TieRule>,
    queue: Queue,
    change: f64,
}

impl Default for Options {
    fn default() -> Self {
        Options { ties: None, queue: Queue::Page, change: 0.2 }
    }
}

struct Classifier {
    ties: Ties,
    o: Options,
}

fn build(setup: &StrategySetup) -> Result<Box<dyn Strategy>, Problem> {
    let o: Options = options::parse("strategy `classifier`", setup.options)?;
    // As for the policies of `genre`: first found first would make sibling queueing breadth-first.
    let usual = if o.queue == Queue::Siblings { TieRule::Random } else { TieRule::First };
    Ok(Box::new(Classifier { ties: o.ties.unwrap_or(usual).ties(setup.rng), o }))
}

impl Strategy for Classifier {
    fn wants(&self) -> Wants {
        Wants { ties: self.ties, ..Wants::NOTHING }
    }

    fn learn(&mut self, visit: &Visit) -> Rescore {
        let found = visit.kind != LinkKind::Seed && visit.parent.is_some();
        if self.o.queue == Queue::Siblings && found && visit.verdict.relevance >= self.o.change {
            return Rescore::Siblings(Priority::key_only(visit.verdict.relevance));
        }
        Rescore::Nothing
    }

    fn score(&mut self, visit: &Visit) -> Vec<Option<Scored>> {
        let key = if self.o.queue == Queue::Page { visit.verdict.relevance } else { 0.0 };
        visit.doc.page.links.iter().map(|_| Some(Scored::key(key))).collect()
    }

    /// Found on several pages: worth what the best of them is. Siblings keep what they were given.
    fn merge(&self, old: Priority, new: Priority) -> Priority {
        if self.o.queue == Queue::Page { old.max(new) } else { old }
    }

    fn explain(&self, _: &[u8], priority: Priority) -> Vec<Reason> {
        let label = match self.o.queue {
            Queue::Page => "relevance of the page it was found on",
            Queue::Siblings => "relevance of a page found beside it",
        };
        vec![Reason { label: label.into(), value: priority.key() }]
    }
}

#[cfg(test)]
mod tests {
    use crate::testkit::{check, run};

    const WEB: &str = "== http://a/\n[poor](/p) [good](/g) [3](/3)\n== /p\n[1](/1)\n== /g\nsql [2](/2)\n\
                       == /1\n== /2\n== /3\n";

    #[test]
    fn links_are_worth_their_page() {
        let crawl = run(WEB, "query = 'sql'\n[judge]\nthreshold = 0.5\n[strategy]\nkind = 'classifier'");
        // /g contains the only term: similarity 1; / and /p have none.
        crawl.expect_score("/2", 1.0);
        crawl.expect_score("/1", 0.0);
        assert_eq!(crawl.order(), "/ /p /g /2 /3 /1");
    }

    #[test]
    fn siblings_instead() {
        // /g (similarity 1) raises /3, the pending link beside it, above /1, which was found later and stays
        // at 0.
        let web = "== http://a/\n[good](/g) [poor](/p)\n== /g\nsql\n== /p\n[1](/1)\n== /1\n== /3\n";
        let topic = "query = 'sql'\n[judge]\nthreshold = 0.5\n[strategy]\nkind = 'classifier'\n\
                     queue = 'siblings'\nties = 'first'";
        check(web, topic, "/ /g /p /1");
        let crawl = run(WEB, topic);
        crawl.expect_lease_key("/3", 1.0);
        assert_eq!(crawl.order(), "/ /p /g /3 /1 /2");
    }
}
