//! A hidden Markov chain counted from labelled paths (Batsakis, §3.4.1): hidden = how many links to a target,
//! visible = which cluster the page belongs to.
//!
//! `π_i` = share of training pages at level i; `A` = level-to-level transitions and `B` = clusters per level,
//! counted and row-normalised. Along a path: `α_1(j) = π_j·b_{j,c}`, `α_t(j) = b_{j,c} Σ_i α_{t−1}(i)·a_ij`,
//! normalised; the prediction is `Σ_i α_t(i)·a_ij`.
//!
//! What the source leaves open, decided here (all numbers must have a defined answer):
//! * a row never counted is uniform: a level that was never left, or never seen, says nothing about what
//!   follows;
//! * a page no reachable level explains (all `α` 0) is ignored: `α_t` is then the prediction alone.

use crate::bytes::{Reader, Writer, damaged};
use types::Problem;

/// Most hidden or visible states: a damaged state must not ask for a gigabyte.
const MOST: usize = 4096;

/// The chain: probabilities, row-major.
#[derive(Clone, Debug, PartialEq)]
pub struct Hmm {
    states: usize,
    symbols: usize,
    counts: Counts,
    start: Vec<f64>,
    step: Vec<f64>,
    emit: Vec<f64>,
}

/// What was counted; whole numbers, so that counting can go on after a restart.
#[derive(Clone, Debug, Default, PartialEq)]
struct Counts {
    start: Vec<u64>,
    step: Vec<u64>,
    emit: Vec<u64>,
}

fn rows(counts: &[u64], width: usize) -> Vec<f64> {
    let mut out = Vec::with_capacity(counts.len());
    for row in counts.chunks(width.max(1)) {
        let total: f64 = row.iter().map(|n| *n as f64).sum();
        out.extend(row.iter().map(|n| if total > 0.0 { *n as f64 / total } else { 1.0 / row.len() as f64 }));
    }
    out
}

impl Hmm {
    /// Nothing counted yet: every level and cluster is equally likely. At least one of each, at most 4096.
    pub fn new(states: usize, symbols: usize) -> Hmm {
        let (states, symbols) = (states.clamp(1, MOST), symbols.clamp(1, MOST));
        let counts = Counts {
            start: vec![0; states],
            step: vec![0; states * states],
            emit: vec![0; states * symbols],
        };
        let mut h = Hmm { states, symbols, counts, start: Vec::new(), step: Vec::new(), emit: Vec::new() };
        h.finish();
        h
    }
    /// Number of hidden states.
    pub fn states(&self) -> usize {
        self.states
    }
    /// Number of observable symbols.
    pub fn symbols(&self) -> usize {
        self.symbols
    }

    /// Counts recorded paths of (level, cluster), each in visiting order. Pairs out of range end a path.
    pub fn count(&mut self, paths: &[Vec<(usize, usize)>]) {
        for path in paths {
            let mut before: Option<usize> = None;
            for &(state, symbol) in path {
                if state >= self.states || symbol >= self.symbols {
                    before = None;
                    continue;
                }
                let up =
                    |v: &mut [u64], i: usize| v.get_mut(i).into_iter().for_each(|n| *n = n.saturating_add(1));
                up(&mut self.counts.start, state);
                up(&mut self.counts.emit, state * self.symbols + symbol);
                if let Some(b) = before {
                    up(&mut self.counts.step, b * self.states + state);
                }
                before = Some(state);
            }
        }
        self.finish();
    }

    /// Counts pages of a tree of visits, each once: its level, its cluster, and the level of the page it was
    /// reached from. What is out of range is not counted.
    pub fn count_tree(&mut self, pages: &[(usize, usize, Option<usize>)]) {
        let up = |v: &mut [u64], i: usize| v.get_mut(i).into_iter().for_each(|n| *n = n.saturating_add(1));
        for &(state, symbol, before) in pages.iter().filter(|p| p.0 < self.states && p.1 < self.symbols) {
            up(&mut self.counts.start, state);
            up(&mut self.counts.emit, state * self.symbols + symbol);
            if let Some(b) = before.filter(|b| *b < self.states) {
                up(&mut self.counts.step, b * self.states + state);
            }
        }
        self.finish();
    }

    fn finish(&mut self) {
        self.start = rows(&self.counts.start, self.states);
        self.step = rows(&self.counts.step, self.states);
        self.emit = rows(&self.counts.emit, self.symbols);
    }

    /// `π_i`.
    pub fn start_of(&self, state: usize) -> f64 {
        self.start.get(state).copied().unwrap_or(0.0)
    }
    /// `a_ij`.
    pub fn step_of(&self, from: usize, to: usize) -> f64 {
        if to < self.states { self.step.get(from * self.states + to).copied().unwrap_or(0.0) } else { 0.0 }
    }
    /// `b_{j,c}`.
    pub fn emit_of(&self, state: usize, symbol: usize) -> f64 {
        if symbol < self.symbols {
            self.emit.get(state * self.symbols + symbol).copied().unwrap_or(0.0)
        } else {
            0.0
        }
    }

    /// `α` after the first page of a path.
    pub fn first(&self, symbol: usize) -> Vec<f64> {
        self.seen(self.start.clone(), symbol)
    }
    /// `α` after one more page.
    pub fn next(&self, alpha: &[f64], symbol: usize) -> Vec<f64> {
        self.seen(self.predict(alpha), symbol)
    }
    fn seen(&self, before: Vec<f64>, symbol: usize) -> Vec<f64> {
        let mut alpha: Vec<f64> =
            before.iter().enumerate().map(|(j, p)| p * self.emit_of(j, symbol)).collect();
        let sum: f64 = alpha.iter().sum();
        if sum > 0.0 {
            alpha.iter_mut().for_each(|a| *a /= sum);
            alpha
        } else {
            normalised(before)
        }
    }

    /// Where the next page will be: `Σ_i α(i)·a_ij`.
    pub fn predict(&self, alpha: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; self.states];
        for (a, row) in alpha.iter().zip(self.step.chunks(self.states)) {
            for (o, p) in out.iter_mut().zip(row) {
                *o += a * p;
            }
        }
        out
    }
    /// Probability of a level after one and after two steps: the priority of a link, and what breaks
    /// near-ties.
    pub fn ahead(&self, alpha: &[f64], state: usize) -> (f64, f64) {
        let one = self.predict(alpha);
        let two = self.predict(&one);
        (one.get(state).copied().unwrap_or(0.0), two.get(state).copied().unwrap_or(0.0))
    }

    /// The counts; `load` computes the probabilities again.
    pub fn save(&self) -> Vec<u8> {
        let mut w = Writer::default();
        w.var(self.states as u64).var(self.symbols as u64);
        for n in self.counts.start.iter().chain(&self.counts.step).chain(&self.counts.emit) {
            w.var(*n);
        }
        w.0
    }
    /// Reads what `save` wrote.
    pub fn load(bytes: &[u8]) -> Result<Hmm, Problem> {
        let mut r = Reader(bytes);
        let size = |v: u64| usize::try_from(v).ok().filter(|n| (1..=MOST).contains(n)).ok_or_else(damaged);
        let (states, symbols) = (size(r.var()?)?, size(r.var()?)?);
        // Every count takes at least a byte.
        if r.0.len() < states + states * states + states * symbols {
            return Err(damaged());
        }
        let mut h = Hmm::new(states, symbols);
        for n in h.counts.start.iter_mut().chain(&mut h.counts.step).chain(&mut h.counts.emit) {
            *n = r.var()?;
        }
        r.end()?;
        h.finish();
        Ok(h)
    }
}

fn normalised(mut v: Vec<f64>) -> Vec<f64> {
    let sum: f64 = v.iter().sum();
    let n = v.len().max(1) as f64;
    if sum > 0.0 {
        v.iter_mut().for_each(|x| *x /= sum);
    } else {
        v.fill(1.0 / n);
    }
    v
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn close(a: f64, b: f64) {
        assert!((a - b).abs() < 1e-12, "{a} is not {b}");
    }

    /// Two paths over levels L2 L1 L0 and L2 L2 L1 L0, clusters 0 to 2.
    fn counted() -> Hmm {
        let mut h = Hmm::new(3, 3);
        h.count(&[vec![(2, 0), (1, 1), (0, 2)], vec![(2, 0), (2, 1), (1, 1), (0, 2)]]);
        h
    }

    #[test]
    fn counts_by_hand() {
        let h = counted();
        for (level, share) in [2.0 / 7.0, 2.0 / 7.0, 3.0 / 7.0].into_iter().enumerate() {
            close(h.start_of(level), share);
        }
        // L2 → L1 twice, L2 → L2 once; L1 → L0 always; L0 was never left: uniform.
        close(h.step_of(2, 1), 2.0 / 3.0);
        close(h.step_of(2, 2), 1.0 / 3.0);
        close(h.step_of(1, 0), 1.0);
        close(h.step_of(0, 2), 1.0 / 3.0);
        close(h.emit_of(2, 0), 2.0 / 3.0);
        close(h.emit_of(2, 1), 1.0 / 3.0);
        close(h.emit_of(0, 2), 1.0);
        assert_eq!((h.step_of(1, 9), h.emit_of(9, 0), h.emit_of(0, 9)), (0.0, 0.0, 0.0));
    }

    #[test]
    fn forward_by_hand() {
        let h = counted();
        // Cluster 0 occurs only at L2.
        let a = h.first(0);
        assert_eq!(a, [0.0, 0.0, 1.0]);
        let (one, two) = h.ahead(&a, 0);
        close(one, 0.0);
        close(two, 2.0 / 3.0);
        // Then cluster 1: L1 with 2/3·1, L2 with 1/3·1/3, normalised.
        let a = h.next(&a, 1);
        let (l1, l2) = (2.0 / 3.0, 1.0 / 9.0);
        close(a[1], l1 / (l1 + l2));
        close(a[2], l2 / (l1 + l2));
        close(h.ahead(&a, 0).0, l1 / (l1 + l2));
    }

    #[test]
    fn impossible_pages_and_nothing_counted() {
        let h = counted();
        // After L1 only L0 follows, which never shows cluster 0: the prediction stands.
        assert_eq!(h.next(&[0.0, 1.0, 0.0], 0), [1.0, 0.0, 0.0]);
        // A cluster that does not exist is ignored as well.
        close(h.first(77).iter().sum(), 1.0);
        let empty = Hmm::new(4, 5);
        assert_eq!(empty.first(0), [0.25; 4]);
        close(empty.ahead(&[0.25; 4], 0).1, 0.25);
        assert_eq!(Hmm::new(0, 0).first(0), [1.0]);
        let mut odd = Hmm::new(2, 2);
        odd.count(&[vec![(0, 0), (5, 0), (1, 1)]]);
        close(odd.step_of(0, 1), 0.5);
    }

    proptest! {
        #[test]
        fn alpha_is_a_distribution_and_survives_a_restart(paths in proptest::collection::vec(proptest::collection::vec((0..4usize, 0..5usize), 0..8), 0..6), walk in proptest::collection::vec(0..6usize, 1..12)) {
            let mut h = Hmm::new(4, 5);
            h.count(&paths);
            let back = Hmm::load(&h.save()).unwrap();
            prop_assert_eq!(&back, &h);
            let mut a = h.first(walk[0]);
            for s in &walk[1..] {
                a = h.next(&a, *s);
                prop_assert!((a.iter().sum::<f64>() - 1.0).abs() < 1e-9);
                prop_assert!(a.iter().all(|p| (0.0..=1.0 + 1e-12).contains(p)));
            }
        }

        #[test]
        fn damage_is_told(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
            if let Ok(h) = Hmm::load(&bytes) {
                prop_assert!(h.first(0).iter().all(|p| p.is_finite()));
            }
        }
    }
}
