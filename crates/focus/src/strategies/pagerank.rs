//! Strategy `pagerank`: the URL to which most rank flows from the pages fetched so far.

use super::{Model, Reason, Rescore, Scored, Strategy, StrategyEntry, StrategySetup, Visit, Wants};
use crate::options;
use crate::text::vector::Plain;
use crate::text::word_hash;
use learn::bytes::{Reader, Writer, damaged};
use learn::pagerank::{PageRank, Steps};
use serde::Deserialize;
use std::collections::HashMap;
use types::{Priority, Problem, Source, Url};

pub(super) const ENTRY: StrategyEntry = StrategyEntry {
    name: "pagerank",
    summary: "the URL to which most PageRank flows from the pages fetched so far",
    doc: "\
## What it does
Every URL seen, fetched or not, is a node; every link of a fetched page is an edge. PageRank of this graph is computed every
`every` pages, and then all pending URLs are ordered by the rank that flows to them over links: `d · Σ R(u) / out(u)`, in units of
an average page's rank. Between two computations a new link adds what its page would pass on, with the rank the page had as a
pending URL.

## When it helps
When the important pages of a web are wanted (home pages, standards, what everybody refers to), whatever they are about.

## When it hurts
For a topic: menus and imprints come first, as with `backlink`. Every computation goes over the whole graph.

## Options
`every` = 100 pages between computations (from 10,000 pages on 1 % of the pages, so that a long crawl does not spend its time
here) · `damping` = 0.85.

## Source
Assis 2008, §2.1, Batsakis, §2.2; Cho, Garcia-Molina, Page: Efficient crawling through URL ordering, 1998.",
    build,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Options {
    every: u64,
    damping: f64,
}

impl Default for Options {
    fn default() -> Self {
        Options { every: 100, damping: 0.85 }
    }
}

/// URLs beyond these have no node of their own: they get what flows to them when found, and no more.
const MOST_NODES: usize = 20_000_000;

/// Seeds come before anything that is merely linked to.
const SEEDS: u8 = 1;

const EVIDENCE: u8 = 1;

struct Ranked {
    every: u64,
    damping: f64,
    graph: Graph,
    /// Changes since the last save; `None` = the next save must hold everything.
    log: Option<Vec<Change>>,
}

/// What the ranks are computed from; saved as it is.
#[derive(Default)]
struct Graph {
    /// Node by the hash of its URL. Two URLs that share one only blur each other's rank.
    nodes: HashMap<u64, u32, Plain>,
    names: Vec<u64>,
    rank: PageRank,
    /// Distinct links of each fetched page.
    out: Vec<u32>,
    pages: u64,
    /// Pages at the last computation, and nodes then.
    computed: u64,
    ranked: u32,
    /// What every page has without a link to it, in units of the average rank.
    base: f64,
}

#[derive(Clone, Copy)]
enum Change {
    Page,
    Node(u64),
    Link(u32, u32),
    Compute,
}

fn build(setup: &StrategySetup) -> Result<Box<dyn Strategy>, Problem> {
    let o: Options = options::parse("strategy `pagerank`", setup.options)?;
    if o.every == 0 || !(0.0..1.0).contains(&o.damping) {
        return Err(Problem::usage("strategy `pagerank`: every is at least 1, damping a share below 1"));
    }
    // Before the first computation all pages are average.
    let graph = Graph { base: 1.0, ..Graph::default() };
    Ok(Box::new(Ranked { every: o.every, damping: o.damping, graph, log: None }))
}

impl Graph {
    fn apply(&mut self, change: Change, damping: f64) {
        match change {
            Change::Page => self.pages += 1,
            Change::Node(name) => {
                let node = self.names.len() as u32;
                self.nodes.insert(name, node);
                self.names.push(name);
                self.out.push(0);
                self.rank.node(node);
            }
            Change::Link(from, to) => {
                self.rank.link(from, to);
                self.out.get_mut(from as usize).into_iter().for_each(|n| *n = n.saturating_add(1));
            }
            Change::Compute => self.compute(damping),
        }
    }

    fn compute(&mut self, damping: f64) {
        self.rank.compute(Steps { damping, ..Steps::default() });
        self.computed = self.pages;
        self.ranked = self.names.len() as u32;
        let ranks = (0..self.ranked).map(|n| self.rank.rank(n));
        let dangling: f64 = ranks.zip(&self.out).filter(|e| *e.1 == 0).map(|e| e.0).sum();
        self.base = 1.0 - damping + damping * dangling;
    }

    /// What flows to a node over links, in units of the average rank; `None` before it was computed.
    fn flow(&self, node: u32) -> Option<f64> {
        (node < self.ranked).then(|| (self.rank.rank(node) * f64::from(self.ranked) - self.base).max(0.0))
    }
}

impl Ranked {
    fn change(&mut self, change: Change) {
        self.graph.apply(change, self.damping);
        if let Some(log) = &mut self.log {
            log.push(change);
            // Nobody saves (a backtest), or the changes are more than the whole.
            if log.len() > 2 * self.graph.names.len() + 100_000 {
                self.log = None;
            }
        }
    }

    /// The node of a URL; new ones are made until there are too many.
    fn node(&mut self, url: &Url) -> Option<u32> {
        let name = word_hash(url.as_str());
        if let Some(node) = self.graph.nodes.get(&name) {
            return Some(*node);
        }
        if self.graph.names.len() >= MOST_NODES {
            return None;
        }
        self.change(Change::Node(name));
        self.graph.nodes.get(&name).copied()
    }
}

fn evidence(node: Option<u32>) -> Vec<u8> {
    let mut w = Writer::default();
    if let Some(node) = node {
        w.u8(EVIDENCE).u32(node);
    }
    w.0
}

fn node_of(evidence: &[u8]) -> Option<u32> {
    let mut r = Reader(evidence);
    if r.u8().ok()? == EVIDENCE { r.u32().ok() } else { None }
}

impl Strategy for Ranked {
    fn wants(&self) -> Wants {
        Wants::NOTHING
    }

    fn seed(&mut self, url: &Url) -> Scored {
        let node = self.node(url);
        Scored { priority: Priority::new(SEEDS, 0.0), evidence: evidence(node), ttl: None }
    }

    fn learn(&mut self, _: &Visit) -> Rescore {
        self.change(Change::Page);
        let interval = self.every.max(self.graph.pages / 100);
        if self.graph.pages - self.graph.computed < interval {
            return Rescore::Nothing;
        }
        self.change(Change::Compute);
        Rescore::Everything
    }

    fn score(&mut self, visit: &Visit) -> Vec<Option<Scored>> {
        let own = self.node(visit.url);
        let links = &visit.doc.page.links;
        // Each target counts once, the page itself not at all.
        let mut first: HashMap<u64, (), Plain> = HashMap::with_capacity_and_hasher(links.len(), Plain);
        let mut targets: Vec<Option<Option<u32>>> = Vec::with_capacity(links.len());
        let mut fresh = Vec::new();
        for link in links {
            if first.insert(word_hash(link.url.as_str()), ()).is_some() {
                targets.push(None);
                continue;
            }
            let node = self.node(&link.url);
            let itself = link.url == *visit.url;
            if !itself {
                fresh.push(node);
            }
            targets.push(Some(node));
        }
        // A page that is fetched again has its links already.
        let known = own.and_then(|n| self.graph.out.get(n as usize)).is_some_and(|n| *n > 0);
        if let Some(from) = own.filter(|_| !known) {
            for to in fresh.iter().flatten().filter(|to| **to != from) {
                self.change(Change::Link(from, *to));
            }
        }
        let rank = self.graph.base + visit.priority.key().max(0.0);
        let flow = self.damping * rank / fresh.len().max(1) as f64;
        let one = |t: Option<Option<u32>>| {
            t.map(|node| Scored { priority: Priority::key_only(flow), evidence: evidence(node), ttl: None })
        };
        targets.into_iter().map(one).collect()
    }

    fn rescore(&mut self, sources: &[Source]) -> Option<Priority> {
        let lane = sources.iter().map(|s| s.priority.lane).max()?;
        let node = sources.iter().find_map(|s| node_of(&s.evidence))?;
        Some(Priority::new(lane, self.graph.flow(node)?))
    }

    /// One more page passes rank on to it.
    fn merge(&self, old: Priority, new: Priority) -> Priority {
        Priority::new(old.lane.max(new.lane), old.key() + new.key())
    }

    fn explain(&self, evidence: &[u8], priority: Priority) -> Vec<Reason> {
        let mut out = vec![Reason {
            label: "rank flowing to it (1 = an average page's)".into(),
            value: priority.key(),
        }];
        if let Some(flow) = node_of(evidence).and_then(|n| self.graph.flow(n)) {
            out.push(Reason { label: "of it, at the last computation".into(), value: flow });
        }
        out
    }

    fn model(&mut self) -> Option<&mut dyn Model> {
        Some(self)
    }
}

impl Model for Ranked {
    fn save(&mut self, full: bool) -> Option<Vec<u8>> {
        let log = self.log.replace(Vec::new()).filter(|_| !full);
        let mut w = Writer::default();
        match log {
            Some(log) if log.is_empty() => return None,
            Some(log) => {
                w.u8(0).var(log.len() as u64);
                for change in log {
                    match change {
                        Change::Page => w.u8(0),
                        Change::Node(name) => w.u8(1).u64(name),
                        Change::Link(from, to) => w.u8(2).var(u64::from(from)).var(u64::from(to)),
                        Change::Compute => w.u8(3),
                    };
                }
            }
            None => {
                let g = &mut self.graph;
                w.u8(1).var(g.pages).var(g.computed).u32(g.ranked).f64(g.base).var(g.names.len() as u64);
                for (name, out) in g.names.iter().zip(&g.out) {
                    w.u64(*name).var(u64::from(*out));
                }
                w.bytes(&g.rank.save());
            }
        }
        Some(w.0)
    }

    fn load(&mut self, bytes: &[u8]) -> Result<(), Problem> {
        let mut r = Reader(bytes);
        let number = |v: u64| u32::try_from(v).map_err(|_| damaged());
        match r.u8()? {
            1 => {
                let mut g = Graph { pages: r.var()?, computed: r.var()?, ..Graph::default() };
                (g.ranked, g.base) = (r.u32()?, r.f64()?);
                for node in 0..number(r.var()?)? {
                    let name = r.u64()?;
                    g.nodes.insert(name, node);
                    g.names.push(name);
                    g.out.push(number(r.var()?)?);
                }
                g.rank = PageRank::load(r.bytes()?)?;
                if g.rank.nodes() != g.names.len() || g.computed > g.pages {
                    return Err(damaged());
                }
                self.graph = g;
            }
            0 => {
                for _ in 0..r.var()? {
                    let change = match r.u8()? {
                        0 => Change::Page,
                        1 => Change::Node(r.u64()?),
                        2 => Change::Link(number(r.var()?)?, number(r.var()?)?),
                        3 => Change::Compute,
                        _ => return Err(damaged()),
                    };
                    let nodes = self.graph.names.len() as u32;
                    if matches!(change, Change::Link(a, b) if a >= nodes || b >= nodes) {
                        return Err(damaged());
                    }
                    self.graph.apply(change, self.damping);
                }
            }
            _ => return Err(damaged()),
        }
        r.end()?;
        self.log = Some(Vec::new());
        Ok(())
    }

    /// Nothing of it is of use elsewhere.
    fn export(&mut self) -> Option<Vec<u8>> {
        None
    }
}

#[cfg(test)]
mod tests {
    use crate::testkit::{Crawl, Options, run, run_with};

    const WEB: &str = "
        == http://a/
        [1](/1) [2](/2) [again](/1) [home](/)
        == /1
        [3](/3) [4](/4) [2](/2)
        == /2
        [4](/4)
        == /3
        == /4
        [](/5)
        == /5
        ";

    /// PageRank the slow way: links as a table, two hundred steps. In units of the average.
    fn ranks(n: usize, links: &[(usize, usize)]) -> Vec<f64> {
        let out = |u: usize| links.iter().filter(|l| l.0 == u).count() as f64;
        let mut r = vec![1.0; n];
        for _ in 0..200 {
            let dangling: f64 = (0..n).filter(|u| out(*u) == 0.0).map(|u| r[u]).sum::<f64>() / n as f64;
            let mut next = vec![0.15 + 0.85 * dangling; n];
            for (u, v) in links {
                next[*v] += 0.85 * r[*u] / out(*u);
            }
            r = next;
        }
        r
    }

    #[test]
    fn before_the_first_computation_flows_add_up() {
        let crawl = run(WEB, "query = 'x'\n[strategy]\nkind = 'pagerank'");
        // All pages are average at first (1). The seed has two links that count: /1 and /2 get 0.85/2 each.
        let first = 0.85 / 2.0;
        crawl.expect_score("/1", first);
        crawl.expect_score("/2", first);
        // /1 comes first, with rank 1 + 0.425, and passes a third of 0.85 of it to each of its links.
        let one = 0.85 * (1.0 + first) / 3.0;
        crawl.expect_score("/3", one);
        crawl.expect_lease_key("/2", first + one);
        // /2 passes everything to /4, which overtakes /3.
        crawl.expect_lease_key("/4", one + 0.85 * (1.0 + first + one));
        assert_eq!(crawl.order(), "/ /1 /2 /4 /5 /3");
    }

    #[test]
    fn computed_ranks_by_hand() {
        let crawl = run(WEB, "query = 'x'\n[strategy]\nkind = 'pagerank'\nevery = 2");
        // Computed at the second page (/1), over the links of the seed alone: nodes /, /1, /2.
        let r = ranks(3, &[(0, 1), (0, 2)]);
        let base = 0.15 + 0.85 * (r[1] + r[2]) / 3.0;
        let two = r[2] - base;
        assert!((two - 0.85 * r[0] / 2.0).abs() < 1e-6);
        // Then /1 passes on, with the rank it had when it was leased: 1 + 0.425 before, but base is the new
        // one.
        let one = 0.85 * (base + 0.425) / 3.0;
        let got = crawl.first_scores["/3"].key();
        assert!((got - one).abs() < 1e-6, "{got} {one}");
        let lease = |name: &str| crawl.steps.iter().find(|s| s.url.path() == name).unwrap().priority.key();
        // A computed rank replaces what /1 added to /2 in the same turn: `two` alone, so /3 and /4 come
        // before it.
        assert!(two < one);
        assert_eq!(crawl.order(), "/ /1 /3 /4 /5 /2");
        assert!((lease("/3") - one).abs() < 1e-6, "{}", lease("/3"));
        // Computed again at the fourth page (/4); nodes in the order seen: /, /1, /2, /3, /4.
        let r = ranks(5, &[(0, 1), (0, 2), (1, 3), (1, 4), (1, 2)]);
        let base = 0.15 + 0.85 * (r[2] + r[3] + r[4]) / 5.0;
        assert!((lease("/2") - (r[2] - base)).abs() < 1e-6, "{} {}", lease("/2"), r[2] - base);
    }

    #[test]
    fn a_restart_between_computations_changes_nothing() {
        let topic = "query = 'x'\n[strategy]\nkind = 'pagerank'\nevery = 2";
        let whole = run(WEB, topic);
        for restart_at in 1..whole.steps.len() {
            let again = run_with(WEB, topic, Options { restart_at, ..Options::default() });
            let keys = |c: &Crawl| c.steps.iter().map(|s| s.priority.key()).collect::<Vec<f64>>();
            assert_eq!(
                (again.order(), keys(&again)),
                (whole.order(), keys(&whole)),
                "restarted at {restart_at}"
            );
        }
    }

    #[test]
    fn wrong_options() {
        for wrong in ["every = 0", "damping = 1.0", "damping = -0.1"] {
            let t = crate::topic::Topic::from_toml(&format!(
                "query = 'x'\n[strategy]\nkind = 'pagerank'\n{wrong}"
            ));
            assert!(crate::strategies::build(&crate::strategies::StrategySetup::new(&t.unwrap())).is_err());
        }
    }
}
