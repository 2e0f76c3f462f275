//! Which known group does a page belong to? The nearest centroid, or a vote of the k nearest examples, by
//! cosine.

use crate::matrix::Postings;
use crate::sparse::SparseVec;

/// Examples with the number of their group.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Neighbours {
    postings: Postings,
    labels: Vec<usize>,
}

impl Neighbours {
    /// One label per vector. Vectors are compared by direction; one without length is near to nothing.
    pub fn new(vectors: &[SparseVec], labels: &[usize]) -> Neighbours {
        let n = vectors.len().min(labels.len());
        let unit = |v: &SparseVec| {
            let mut v = SparseVec::new(v.iter().filter(|e| e.1.is_finite()).collect());
            v.normalise();
            v
        };
        let vectors: Vec<SparseVec> = vectors.iter().take(n).map(unit).collect();
        Neighbours { postings: Postings::of(&vectors), labels: labels.iter().take(n).copied().collect() }
    }
    /// How many examples there are.
    pub fn len(&self) -> usize {
        self.labels.len()
    }
    /// There is no example to vote.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// The `k` examples nearest to `x`: (label, cosine), nearest first, ties in the order given.
    pub fn nearest(&self, x: &SparseVec, k: usize) -> Vec<(usize, f64)> {
        let norm = x.norm();
        let mut dots = Vec::new();
        self.postings.dots(x, &mut dots);
        let scale = if norm > 0.0 && norm.is_finite() { 1.0 / norm } else { 0.0 };
        let mut order: Vec<(usize, f64)> = dots.iter().map(|d| d * scale).enumerate().collect();
        let by = |a: &(usize, f64), b: &(usize, f64)| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0));
        if k > 0 && k < order.len() {
            order.select_nth_unstable_by(k - 1, by);
        }
        order.truncate(k);
        order.sort_by(by);
        order.into_iter().filter_map(|(i, c)| self.labels.get(i).map(|l| (*l, c))).collect()
    }

    /// The label most of the `k` nearest have; ties go to the larger sum of cosines, then to the smaller
    /// label. `None` when there are no examples.
    pub fn assign(&self, x: &SparseVec, k: usize) -> Option<usize> {
        let mut votes: Vec<(usize, usize, f64)> = Vec::new();
        for (label, cosine) in self.nearest(x, k.max(1)) {
            match votes.iter_mut().find(|v| v.0 == label) {
                Some(v) => {
                    v.1 += 1;
                    v.2 += cosine;
                }
                None => votes.push((label, 1, cosine)),
            }
        }
        votes
            .into_iter()
            .max_by(|a, b| a.1.cmp(&b.1).then(a.2.total_cmp(&b.2)).then(b.0.cmp(&a.0)))
            .map(|v| v.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn v(entries: &[(u64, f64)]) -> SparseVec {
        SparseVec::new(entries.to_vec())
    }

    #[test]
    fn votes_by_hand() {
        let examples = [v(&[(1, 5.0)]), v(&[(1, 1.0), (2, 1.0)]), v(&[(1, 1.0), (2, 1.0)]), v(&[(3, 1.0)])];
        let n = Neighbours::new(&examples, &[4, 9, 9, 2]);
        let x = v(&[(1, 3.0), (2, 0.1)]);
        assert_eq!(n.assign(&x, 1), Some(4));
        assert_eq!(n.assign(&x, 3), Some(9));
        // One vote each among the two nearest: the nearer one.
        assert_eq!(n.assign(&x, 2), Some(4));
        assert!((n.nearest(&x, 1)[0].1 - 3.0 / (9.01f64).sqrt()).abs() < 1e-12);
        assert_eq!(n.nearest(&x, 99).len(), 4);
    }

    #[test]
    fn nothing_in_common_and_nothing_at_all() {
        assert_eq!(Neighbours::new(&[], &[]).assign(&v(&[(1, 1.0)]), 3), None);
        let c = Neighbours::new(&[v(&[(1, 1.0)]), SparseVec::default()], &[0, 1]);
        assert_eq!(c.assign(&v(&[(7, 1.0)]), 1), Some(0));
        assert_eq!(c.assign(&SparseVec::default(), 0), Some(0));
        assert_eq!(c.assign(&v(&[(1, f64::NAN)]), 1), Some(0));
    }
}
