//! Sparse vectors over hashed words. They are sorted by hash, so sums run in one fixed order on every
//! machine.

/// A vector over words: sorted by hash, one entry per word, no zeros needed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SparseVec(Vec<(u64, f64)>);

impl SparseVec {
    /// Entries in any order; weights of one word add up.
    pub fn new(mut entries: Vec<(u64, f64)>) -> SparseVec {
        entries.sort_by_key(|e| e.0);
        entries.dedup_by(|later, kept| {
            let same = later.0 == kept.0;
            if same {
                kept.1 += later.1;
            }
            same
        });
        SparseVec(entries)
    }
    /// Entries that are sorted by hash already, one per word.
    pub fn from_sorted(entries: Vec<(u64, f64)>) -> SparseVec {
        SparseVec(entries)
    }
    /// Hashes with their weights, hashes ascending.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (u64, f64)> + '_ {
        self.0.iter().copied()
    }
    /// Number of features that are not zero.
    pub fn len(&self) -> usize {
        self.0.len()
    }
    /// It has no feature.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
    /// Weight of a feature; 0 when it is not there.
    pub fn get(&self, hash: u64) -> f64 {
        self.0.binary_search_by_key(&hash, |e| e.0).ok().and_then(|i| self.0.get(i)).map_or(0.0, |e| e.1)
    }
    /// Euclidean length.
    pub fn norm(&self) -> f64 {
        libm::sqrt(self.0.iter().map(|e| e.1 * e.1).sum())
    }
    /// Dot product.
    pub fn dot(&self, other: &SparseVec) -> f64 {
        let (short, long) = if self.len() <= other.len() { (self, other) } else { (other, self) };
        if short.len() * 8 < long.len() {
            // A query against a page: look its few words up.
            return short.iter().map(|(h, w)| w * long.get(h)).sum();
        }
        let (mut i, mut j, mut sum) = (0, 0, 0.0);
        while let (Some(a), Some(b)) = (short.0.get(i), long.0.get(j)) {
            match a.0.cmp(&b.0) {
                std::cmp::Ordering::Less => i += 1,
                std::cmp::Ordering::Greater => j += 1,
                std::cmp::Ordering::Equal => {
                    sum += a.1 * b.1;
                    i += 1;
                    j += 1;
                }
            }
        }
        sum
    }
    /// Cosine of the angle; 0 when either has no length.
    pub fn cosine(&self, other: &SparseVec) -> f64 {
        let length = self.norm() * other.norm();
        // Rounding may leave the last bit above one.
        if length > 0.0 { (self.dot(other) / length).clamp(-1.0, 1.0) } else { 0.0 }
    }
    /// Multiplies every weight.
    pub fn scale(&mut self, by: f64) {
        self.0.iter_mut().for_each(|e| e.1 *= by);
    }
    /// To length one; a vector without length stays.
    pub fn normalise(&mut self) {
        let norm = self.norm();
        if norm > 0.0 {
            self.scale(1.0 / norm);
        }
    }
    /// The sum of many: a centroid, up to a factor.
    pub fn sum<'a>(vectors: impl IntoIterator<Item = &'a SparseVec>) -> SparseVec {
        SparseVec::new(vectors.into_iter().flat_map(|v| v.0.iter().copied()).collect())
    }
    /// The mean of many; empty of none.
    pub fn centroid(vectors: &[SparseVec]) -> SparseVec {
        let mut sum = SparseVec::sum(vectors);
        if !vectors.is_empty() {
            sum.scale(1.0 / vectors.len() as f64);
        }
        sum
    }
    /// The `k` heaviest words, ties by hash.
    pub fn top(&self, k: usize) -> SparseVec {
        let mut entries = self.0.clone();
        entries.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        entries.truncate(k);
        SparseVec::new(entries)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn top_and_centroid() {
        let v = SparseVec::new(vec![(3, 1.0), (1, 2.0), (3, 1.5), (2, 0.5)]);
        assert_eq!(v, SparseVec(vec![(1, 2.0), (2, 0.5), (3, 2.5)]));
        assert_eq!(v.top(2), SparseVec(vec![(1, 2.0), (3, 2.5)]));
        let c = SparseVec::centroid(&[v, SparseVec(vec![(2, 1.5)])]);
        assert_eq!(c, SparseVec(vec![(1, 1.0), (2, 1.0), (3, 1.25)]));
        assert!(SparseVec::centroid(&[]).is_empty());
    }

    proptest! {
        #[test]
        fn cosine_is_bounded_and_both_ways_of_multiplying_agree(
            a in proptest::collection::vec((0u64..50, 0.0f64..10.0), 0..40),
            b in proptest::collection::vec((0u64..50, 0.0f64..10.0), 0..40),
        ) {
            let (a, b) = (SparseVec::new(a), SparseVec::new(b));
            prop_assert!((0.0..=1.0).contains(&a.cosine(&b)));
            let plain: f64 = a.iter().map(|(h, w)| w * b.get(h)).sum();
            prop_assert!((a.dot(&b) - plain).abs() < 1e-9);
        }
    }
}
