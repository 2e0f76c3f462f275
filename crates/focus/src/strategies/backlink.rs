//! Strategy `backlink`: the URL that most known pages link to.

use super::{Reason, Scored, Strategy, StrategyEntry, StrategySetup, Visit, Wants};
use crate::options::{NoOptions, parse};
use types::{Priority, Problem, Url};

pub(super) const ENTRY: StrategyEntry = StrategyEntry {
    name: "backlink",
    summary: "the URL that most of the pages fetched so far link to",
    doc: "\
## What it does
A URL's priority is the number of pages fetched so far that link to it; every page counts once.

## When it helps
When the important pages are wanted (home pages, standards), whatever they are about.

## When it hurts
For a topic: navigation links stand on every page, so menus and imprints come first. Slow to see anything at the start.

## Options
None.

## Source
Assis 2008, §2.1, Batsakis, §2.2; Cho, Garcia-Molina, Page: Efficient crawling through URL ordering, 1998.",
    build,
};

struct Backlink;

fn build(setup: &StrategySetup) -> Result<Box<dyn Strategy>, Problem> {
    parse::<NoOptions>("strategy `backlink`", setup.options)?;
    Ok(Box::new(Backlink))
}

/// Seeds come before anything that is merely linked to.
const SEEDS: u8 = 1;

impl Strategy for Backlink {
    fn wants(&self) -> Wants {
        Wants::NOTHING
    }

    fn seed(&mut self, _: &Url) -> Scored {
        Scored { priority: Priority::new(SEEDS, 0.0), evidence: Vec::new(), ttl: None }
    }
    fn score(&mut self, visit: &Visit) -> Vec<Option<Scored>> {
        visit.doc.page.links.iter().map(|_| Some(Scored::key(1.0))).collect()
    }
    /// One more page links to it.
    fn merge(&self, old: Priority, new: Priority) -> Priority {
        Priority::new(old.lane.max(new.lane), old.key() + new.key())
    }
    fn explain(&self, _: &[u8], priority: Priority) -> Vec<Reason> {
        vec![Reason { label: "pages that link to it".into(), value: priority.key() }]
    }
}

#[cfg(test)]
mod tests {
    use crate::testkit::run;

    #[test]
    fn pages_that_link_are_counted_once_each() {
        let web = "== http://a/ \n [1](/1) [2](/2) [3](/3)\n== /1\n [4](/4) [3](/3)\n== /2\n [4](/4)\n\
                   == /3\n [4](/4)\n== /4\n";
        let crawl = run(web, "query = 'x'\n[strategy]\nkind = 'backlink'");
        // After / and /1 the page /3 has two in-links, /2 and /4 one each: /2 was found before /4. Then /4
        // has 2 (from /1 and /3), more than /2.
        assert_eq!(crawl.order(), "/ /1 /3 /4 /2");
    }
}
