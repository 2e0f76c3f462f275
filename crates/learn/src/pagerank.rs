//! PageRank over the graph crawled so far. Nodes and links are added as pages come; ranks are computed when
//! asked for, starting from the last ones (a graph that grew by a few percent needs a few steps).
//!
//! `r(v) = (1−d)/n + d·(Σ_{u→v} r(u)/out(u) + Σ_{dangling u} r(u)/n)`: pages without known links (also those
//! not fetched yet) spread their rank evenly. A link counts once, however often it stands on the page; links
//! to itself do not.

use crate::bytes::{Reader, Writer, damaged};
use types::Problem;

/// The graph, and the ranks at the last computation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PageRank {
    /// (from, to), sorted and without doubles up to `sorted`; later ones in order of arrival.
    edges: Vec<(u32, u32)>,
    sorted: usize,
    nodes: u32,
    ranks: Vec<f64>,
}

/// How to compute.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Steps {
    /// `d`: the share of rank that follows links.
    pub damping: f64,
    /// Stop when the ranks change by less than this in sum.
    pub tolerance: f64,
    /// Most steps of one computation.
    pub most: usize,
}

impl Default for Steps {
    fn default() -> Steps {
        Steps { damping: 0.85, tolerance: 1e-8, most: 100 }
    }
}

impl PageRank {
    /// Nodes are numbered by the caller, densely from 0. Memory is eight bytes per node and link.
    pub fn node(&mut self, node: u32) {
        self.nodes = self.nodes.max(node.saturating_add(1));
    }
    /// Adds a link and its ends. Links of a page to itself are left out.
    pub fn link(&mut self, from: u32, to: u32) {
        self.node(from);
        self.node(to);
        if from != to {
            self.edges.push((from, to));
        }
    }
    /// Number of pages known.
    pub fn nodes(&self) -> usize {
        self.nodes as usize
    }
    /// Distinct links.
    pub fn links(&mut self) -> usize {
        self.sort();
        self.edges.len()
    }

    fn sort(&mut self) {
        if self.sorted < self.edges.len() {
            self.edges.sort_unstable();
            self.edges.dedup();
            self.sorted = self.edges.len();
        }
    }

    /// Brings the ranks up to date; returns how many steps it took.
    pub fn compute(&mut self, steps: Steps) -> usize {
        self.sort();
        let n = self.nodes as usize;
        if n == 0 {
            return 0;
        }
        // New nodes start with an even share; then all is scaled to sum 1.
        self.ranks.resize(n, 1.0 / n as f64);
        let sum: f64 = self.ranks.iter().sum();
        self.ranks.iter_mut().for_each(|r| *r /= sum);
        let mut degree = vec![0u32; n];
        for (from, _) in &self.edges {
            degree.get_mut(*from as usize).into_iter().for_each(|d| *d += 1);
        }
        // Links grouped by target, sources ascending: one pass per step, sums in one order.
        let (starts, sources) = incoming(&self.edges, n);
        let damping = steps.damping.clamp(0.0, 1.0);
        let mut shares = vec![0.0; n];
        let mut next = vec![0.0; n];
        for step in 1..=steps.most {
            let mut dangling = 0.0;
            for ((share, rank), degree) in shares.iter_mut().zip(&self.ranks).zip(&degree) {
                *share = if *degree == 0 { 0.0 } else { rank / f64::from(*degree) };
                if *degree == 0 {
                    dangling += rank;
                }
            }
            let base = (1.0 - damping + damping * dangling) / n as f64;
            let mut change = 0.0;
            for ((new, old), range) in next.iter_mut().zip(&self.ranks).zip(starts.windows(2)) {
                let from = match range {
                    [a, b] => sources.get(*a as usize..*b as usize).unwrap_or(&[]),
                    _ => &[],
                };
                let sum: f64 = from.iter().filter_map(|s| shares.get(*s as usize)).sum();
                *new = base + damping * sum;
                change += (*new - old).abs();
            }
            std::mem::swap(&mut self.ranks, &mut next);
            if change < steps.tolerance {
                return step;
            }
        }
        steps.most
    }

    /// Rank at the last computation, as a share of all; 0 for nodes that came later.
    pub fn rank(&self, node: u32) -> f64 {
        self.ranks.get(node as usize).copied().unwrap_or(0.0)
    }

    /// The graph without its ranks.
    pub fn save(&mut self) -> Vec<u8> {
        self.sort();
        let mut w = Writer::default();
        w.var(u64::from(self.nodes)).var(self.edges.len() as u64);
        let mut last = (0, 0);
        for &(from, to) in &self.edges {
            if from != last.0 {
                last.1 = 0;
            }
            // Sorted by source, then by target: both are gaps.
            w.var(u64::from(from - last.0)).var(u64::from(to - last.1));
            last = (from, to);
        }
        w.var(self.ranks.len() as u64);
        for r in &self.ranks {
            w.f64(*r);
        }
        w.0
    }
    /// Reads what `save` wrote. Ranks are 0 until they are computed.
    pub fn load(bytes: &[u8]) -> Result<PageRank, Problem> {
        let mut r = Reader(bytes);
        let number = |v: u64| u32::try_from(v).map_err(|_| damaged());
        let nodes = number(r.var()?)?;
        let mut edges: Vec<(u32, u32)> = Vec::new();
        let mut last = (0u32, 0u32);
        for _ in 0..r.var()? {
            let step = number(r.var()?)?;
            let from = last.0.checked_add(step).ok_or_else(damaged)?;
            let base = if step == 0 { last.1 } else { 0 };
            let to = base.checked_add(number(r.var()?)?).ok_or_else(damaged)?;
            if from >= nodes || to >= nodes || from == to {
                return Err(damaged());
            }
            edges.push((from, to));
            last = (from, to);
        }
        let mut ranks = Vec::new();
        for _ in 0..r.var()? {
            let rank = r.f64()?;
            if !(rank.is_finite() && rank >= 0.0) || ranks.len() >= nodes as usize {
                return Err(damaged());
            }
            ranks.push(rank);
        }
        r.end()?;
        // What was computed sums to one; a state that does not is not ours (and would divide by zero).
        if !ranks.is_empty() && ranks.iter().sum::<f64>() <= 0.0 {
            return Err(damaged());
        }
        let sorted = edges.len();
        Ok(PageRank { edges, sorted, nodes, ranks })
    }
}

fn incoming(edges: &[(u32, u32)], n: usize) -> (Vec<u32>, Vec<u32>) {
    let mut starts = vec![0u32; n + 1];
    for (_, to) in edges {
        starts.get_mut(*to as usize + 1).into_iter().for_each(|s| *s += 1);
    }
    let mut sum = 0;
    for s in &mut starts {
        sum += *s;
        *s = sum;
    }
    let mut at = starts.clone();
    let mut sources = vec![0u32; edges.len()];
    for (from, to) in edges {
        if let Some(place) = at.get_mut(*to as usize) {
            sources.get_mut(*place as usize).into_iter().for_each(|s| *s = *from);
            *place += 1;
        }
    }
    (starts, sources)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn close(a: f64, b: f64) {
        assert!((a - b).abs() < 1e-7, "{a} is not {b}");
    }

    #[test]
    fn three_pages_by_hand() {
        // 0 → 1, 0 → 2, 1 → 2, 2 → 0, without damping's even part: r = (0.4, 0.2, 0.4).
        let mut g = PageRank::default();
        for (a, b) in [(0, 1), (0, 2), (1, 2), (2, 0), (0, 1), (1, 1)] {
            g.link(a, b);
        }
        assert_eq!((g.nodes(), g.links()), (3, 4));
        g.compute(Steps { damping: 1.0, tolerance: 1e-12, most: 1000 });
        close(g.rank(0), 0.4);
        close(g.rank(1), 0.2);
        close(g.rank(2), 0.4);
    }

    #[test]
    fn dangling_pages_by_hand() {
        // 0 → 1 and 1 leads nowhere: r1 = r0 + d·r0 and r0 + r1 = 1.
        let mut g = PageRank::default();
        g.link(0, 1);
        g.compute(Steps::default());
        close(g.rank(0), 1.0 / 2.85);
        close(g.rank(1), 1.85 / 2.85);
        assert_eq!(g.rank(7), 0.0);
        assert_eq!(PageRank::default().compute(Steps::default()), 0);
        let mut lonely = PageRank::default();
        lonely.node(3);
        lonely.compute(Steps::default());
        close(lonely.rank(2), 0.25);
    }

    #[test]
    fn a_warm_start_is_quicker_and_ends_at_the_same_ranks() {
        let mut rng = crate::rng::Rng(3);
        let mut warm = PageRank::default();
        let edges: Vec<(u32, u32)> = (0..4000)
            .map(|_| (rng.below(500) as u32, rng.below(rng.clone().below(500) + 1) as u32))
            .collect();
        edges[..3950].iter().for_each(|e| warm.link(e.0, e.1));
        let cold_steps = warm.compute(Steps::default());
        let mut back = PageRank::load(&warm.save()).unwrap();
        edges[3950..].iter().for_each(|e| {
            warm.link(e.0, e.1);
            back.link(e.0, e.1)
        });
        let mut cold = PageRank::default();
        edges.iter().for_each(|e| cold.link(e.0, e.1));
        let warm_steps = warm.compute(Steps::default());
        assert!(warm_steps < cold_steps && cold.compute(Steps::default()) > warm_steps);
        back.compute(Steps::default());
        assert_eq!(back, warm);
        for i in 0..500 {
            close(cold.rank(i), warm.rank(i));
        }
    }

    proptest! {
        #[test]
        fn ranks_are_shares_and_survive_a_restart(edges in proptest::collection::vec((0..30u32, 0..30u32), 0..90)) {
            let mut g = PageRank::default();
            edges.iter().for_each(|e| g.link(e.0, e.1));
            g.compute(Steps::default());
            if !edges.is_empty() {
                prop_assert!(((0..30).map(|i| g.rank(i)).sum::<f64>() - 1.0).abs() < 1e-9);
            }
            let bytes = g.save();
            prop_assert_eq!(PageRank::load(&bytes).unwrap(), g);
            for n in 0..bytes.len() {
                prop_assert!(PageRank::load(&bytes[..n]).is_err());
            }
        }
    }
}
