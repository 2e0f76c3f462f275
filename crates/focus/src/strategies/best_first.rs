//! Strategy `best-first`: similarity of the page and of the anchor to the topic; and what its two halves
//! (`best-first-page`, `best-first-anchor`) share with it.

use super::query_vector::QueryVector;
use super::{Model, Parts, Reason, Rescore, Scored, Strategy, StrategyEntry, StrategySetup, Visit, Wants};
use crate::options;
use learn::bytes::{Reader, Writer};
use serde::Deserialize;
use types::{Priority, Problem, Source, Url};

pub(super) const ENTRY: StrategyEntry = StrategyEntry {
    name: "best-first",
    summary: "similarity of the page and of the anchor text to the topic, averaged",
    doc: "\
## What it does
A link's priority is `(cos(u, q) + cos(a, q)) / 2`: how much the page it stands on and its anchor text are like the topic's
terms (tf·idf over all words). With `n` > 1 the best n known links are fetched before new ones are considered.

## When it helps
Topics whose pages link to each other or are named in the anchors: the usual case. A strong, cheap baseline.

## When it hurts
Genres whose pages do not link to each other (course pages do not link to course pages), and anchors that say \"here\".

## Options
`n` = 1: batch size of N-best-first (larger explores more widely).

## Source
Batsakis, §3.2.3; N-best-first after Menczer, Pant, Srinivasan.",
    build: |setup| BestFirst::build(setup, Use::Both),
};

/// Which of the two similarities count.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Use {
    Page,
    Anchor,
    Both,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Options {
    n: u32,
}

impl Default for Options {
    fn default() -> Self {
        Options { n: 1 }
    }
}

/// Links of the running batch wait in the upper lane, links found meanwhile in the lower one; when the batch
/// is done, or has no links left, all pending links move up. With n = 1 everything is in lane 0.
pub(super) struct BestFirst {
    query: QueryVector,
    using: Use,
    n: u32,
    /// Pages fetched of the running batch.
    done: u32,
    /// State was saved once: from then on only changes are.
    changed: bool,
}

impl BestFirst {
    pub(super) fn build(setup: &StrategySetup, using: Use) -> Result<Box<dyn Strategy>, Problem> {
        let o: Options = options::parse(&format!("strategy `{}`", setup.topic.strategy.kind), setup.options)?;
        if o.n == 0 {
            return Err(Problem::usage("[strategy] n must be at least 1"));
        }
        let query = QueryVector::new(setup);
        Ok(Box::new(BestFirst { query, using, n: o.n, done: 0, changed: false }))
    }

    /// Where links found now wait: those of the page that ended a batch belong to the next one.
    fn new_lane(&self) -> u8 {
        u8::from(self.n > 1 && self.done == 0)
    }
}

const EVIDENCE: u8 = 1;

impl Strategy for BestFirst {
    fn wants(&self) -> Wants {
        Wants::NOTHING.and(Parts::COUNTS)
    }

    fn seed(&mut self, _: &Url) -> Scored {
        Scored { priority: Priority::new(u8::from(self.n > 1), 1.0), evidence: Vec::new(), ttl: None }
    }

    fn learn(&mut self, visit: &Visit) -> Rescore {
        self.query.learn(visit.doc);
        self.changed = true;
        if self.n == 1 {
            return Rescore::Nothing;
        }
        // A page from the lower lane: the batch had no links left, so a new one began with this page.
        let early = visit.priority.lane == 0;
        self.done = if early { 1 } else { (self.done + 1) % self.n };
        if early || self.done == 0 { Rescore::Everything } else { Rescore::Nothing }
    }

    fn score(&mut self, visit: &Visit) -> Vec<Option<Scored>> {
        let page = if self.using == Use::Anchor { 0.0 } else { self.query.page(visit.doc) };
        let one = |link: &types::Link| {
            let anchor = if self.using == Use::Page { 0.0 } else { self.query.words(visit.doc.anchor(link)) };
            let key = match self.using {
                Use::Page => page,
                Use::Anchor => anchor,
                Use::Both => (page + anchor) / 2.0,
            };
            let mut w = Writer::default();
            w.u8(EVIDENCE).f64(page).f64(anchor);
            Some(Scored { priority: Priority::new(self.new_lane(), key), evidence: w.0, ttl: None })
        };
        visit.doc.page.links.iter().map(one).collect()
    }

    fn rescore(&mut self, sources: &[Source]) -> Option<Priority> {
        // A new batch begins: what is pending moves up with the best score it ever had.
        let best = sources.iter().map(|s| s.priority.key()).max_by(f64::total_cmp)?;
        Some(Priority::new(u8::from(self.n > 1), best))
    }

    fn explain(&self, evidence: &[u8], _: Priority) -> Vec<Reason> {
        let mut r = Reader(evidence);
        let (Ok(EVIDENCE), Ok(page), Ok(anchor)) = (r.u8(), r.f64(), r.f64()) else { return Vec::new() };
        let half = if self.using == Use::Both { 0.5 } else { 1.0 };
        let reasons = [("page", page, Use::Anchor), ("anchor", anchor, Use::Page)];
        let used = reasons.into_iter().filter(|r| r.2 != self.using);
        used.map(|(label, v, _)| Reason { label: label.into(), value: half * v }).collect()
    }

    fn model(&mut self) -> Option<&mut dyn Model> {
        Some(self)
    }
}

impl Model for BestFirst {
    fn save(&mut self, full: bool) -> Option<Vec<u8>> {
        if !full && !self.changed {
            return None;
        }
        self.changed = false;
        let mut w = Writer::default();
        w.u32(self.done);
        if let Some(words) = self.query.save(full) {
            w.bytes(&words);
        }
        Some(w.0)
    }

    fn load(&mut self, bytes: &[u8]) -> Result<(), Problem> {
        let mut r = Reader(bytes);
        self.done = r.u32()? % self.n;
        if !r.0.is_empty() {
            self.query.load(r.bytes()?)?;
        }
        r.end()
    }
}

#[cfg(test)]
mod tests {
    use crate::testkit::{check, run};

    const WEB: &str = "
        == http://a/
        [sql](/1) [soup](/2)
        == /1
        sql sql joins
        == /2
        soup";

    #[test]
    fn page_and_anchor_by_hand() {
        let crawl = run(WEB, "query = 'sql'\n[strategy]\nkind = 'best-first'");
        // One document so far, with both words: every idf is ln(2/2) + 1 = 1.
        let page = 1.0 / 2.0f64.sqrt();
        crawl.expect_score("/1", (page + 1.0) / 2.0);
        crawl.expect_score("/2", page / 2.0);
        assert_eq!(crawl.order(), "/ /1 /2");
    }

    #[test]
    fn halves_by_hand() {
        let page = run(WEB, "query = 'sql'\n[strategy]\nkind = 'best-first-page'");
        page.expect_score("/1", 1.0 / 2.0f64.sqrt());
        page.expect_score("/2", 1.0 / 2.0f64.sqrt());
        let anchor = run(WEB, "query = 'sql'\n[strategy]\nkind = 'best-first-anchor'");
        anchor.expect_score("/1", 1.0);
        anchor.expect_score("/2", 0.0);
    }

    #[test]
    fn online_idf_by_hand() {
        let web = "== http://a/\nsql soup [x](/1)\n== /1\nsql [sql stew](/2)\n== /2\n";
        let crawl = run(web, "query = 'sql'\n[strategy]\nkind = 'best-first'");
        // At /1: N = 2; sql and x are in both documents' words where they stand: sql in 2, stew in 1.
        let idf = |n: f64| (3.0 / (n + 1.0)).ln() + 1.0;
        let (sql, stew) = (idf(2.0), idf(1.0));
        // Page words: sql twice (tf 1), stew once (tf ½); anchor: sql, stew (tf 1 each).
        let page = sql / (sql * sql + 0.25 * stew * stew).sqrt();
        let anchor = sql / (sql * sql + stew * stew).sqrt();
        crawl.expect_score("/2", (page + anchor) / 2.0);
    }

    #[test]
    fn a_batch_is_finished_before_new_links_count() {
        // /1 leads to a better link than /2 is; with n = 2 both are fetched first.
        let web =
            "== http://a/\n[sql](/1) [sql soup](/2) [soup](/3)\n== /1\nsql [sql](/9)\n== /2\n== /3\n== /9\n";
        check(web, "query = 'sql'\n[strategy]\nkind = 'best-first-anchor'", "/ /1 /9 /2 /3");
        check(web, "query = 'sql'\n[strategy]\nkind = 'best-first-anchor'\nn = 2", "/ /1 /2 /9 /3");
        check(web, "query = 'sql'\n[strategy]\nkind = 'best-first-anchor'\nn = 3", "/ /1 /2 /3 /9");
    }
}
