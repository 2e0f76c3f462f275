//! K-means (Lloyd) on sparse vectors or plain numbers, from given centres or k-means++.
//!
//! A cluster that loses its last point takes over the point farthest from its own centre. Fewer distinct
//! points than clusters asked for: as many clusters as there are distinct points.

use crate::matrix::{Matrix, Row};
use crate::rng::Rng;
use crate::sparse::SparseVec;

/// Lloyd's steps at most; each is one pass over the data.
const MOST_STEPS: usize = 300;

/// A clustering of the rows of a matrix.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Clusters {
    /// A value for every column.
    pub centres: Vec<Vec<f64>>,
    /// Cluster of each row.
    pub labels: Vec<usize>,
    /// Sum of squared distances to the centres.
    pub inertia: f64,
    /// False when the bound on the number of rounds was reached first.
    pub converged: bool,
}

impl Clusters {
    /// How many rows each cluster has.
    pub fn sizes(&self) -> Vec<usize> {
        let mut sizes = vec![0; self.centres.len()];
        for l in &self.labels {
            sizes.get_mut(*l).into_iter().for_each(|s| *s += 1);
        }
        sizes
    }
    /// The centres as vectors over words.
    pub fn named(&self, data: &Matrix) -> Vec<SparseVec> {
        self.centres.iter().map(|c| data.name(c)).collect()
    }
    /// Rows of one cluster.
    pub fn members(&self, cluster: usize) -> Vec<usize> {
        self.labels.iter().enumerate().filter(|e| *e.1 == cluster).map(|e| e.0).collect()
    }
}

pub(super) fn square(v: &[f64]) -> f64 {
    v.iter().map(|x| x * x).sum()
}

/// Squared distance of a row to a centre, given the centre's squared length.
pub(super) fn distance2(row: &Row, centre: &[f64], centre_square: f64) -> f64 {
    if let [c] = centre {
        // One dimension, the exact way: nothing cancels.
        let x = row.values.first().unwrap_or(&0.0);
        return (x - c) * (x - c);
    }
    (row.square + centre_square - 2.0 * row.dot_dense(centre)).max(0.0)
}

/// Index and squared distance of the nearest centre; the first of equals.
fn nearest(row: &Row, centres: &[Vec<f64>], squares: &[f64]) -> (usize, f64) {
    let mut best = (0, f64::INFINITY);
    for (i, (c, s)) in centres.iter().zip(squares).enumerate() {
        let d = distance2(row, c, *s);
        if d < best.1 {
            best = (i, d);
        }
    }
    best
}

/// From the given centres (a value per column each).
pub fn from_centres(data: &Matrix, mut centres: Vec<Vec<f64>>) -> Clusters {
    if data.is_empty() || centres.is_empty() {
        return Clusters { centres, converged: true, ..Clusters::default() };
    }
    for c in &mut centres {
        c.resize(data.width(), 0.0);
        c.iter_mut().filter(|v| !v.is_finite()).for_each(|v| *v = 0.0);
    }
    let mut labels: Vec<usize> = Vec::new();
    let mut converged = false;
    for _ in 0..MOST_STEPS {
        let squares: Vec<f64> = centres.iter().map(|c| square(c)).collect();
        let found: Vec<(usize, f64)> = data.rows().map(|r| nearest(&r, &centres, &squares)).collect();
        let mut new: Vec<usize> = found.iter().map(|f| f.0).collect();
        refill(&mut new, &found, centres.len());
        if new == labels {
            converged = true;
            break;
        }
        labels = new;
        centres = means(data, &labels, &centres);
    }
    let squares: Vec<f64> = centres.iter().map(|c| square(c)).collect();
    let mut inertia = 0.0;
    for (row, l) in data.rows().zip(&labels) {
        if let (Some(c), Some(s)) = (centres.get(*l), squares.get(*l)) {
            inertia += distance2(&row, c, *s);
        }
    }
    Clusters { centres, labels, inertia, converged }
}

/// Gives every empty cluster the point farthest from its centre (the first of equals), if it is not there
/// already and its cluster can spare it.
fn refill(labels: &mut [usize], found: &[(usize, f64)], k: usize) {
    let mut sizes = vec![0usize; k];
    labels.iter().for_each(|l| sizes.get_mut(*l).into_iter().for_each(|s| *s += 1));
    if sizes.iter().all(|s| *s > 0) {
        return;
    }
    let mut far: Vec<(usize, f64)> = found.iter().map(|f| f.1).enumerate().filter(|f| f.1 > 0.0).collect();
    far.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    let mut far = far.into_iter();
    for empty in 0..k {
        if sizes.get(empty) != Some(&0) {
            continue;
        }
        for (point, _) in far.by_ref() {
            let Some(label) = labels.get_mut(point) else { continue };
            let Some(from) = sizes.get_mut(*label).filter(|s| **s > 1) else { continue };
            *from -= 1;
            *label = empty;
            sizes.get_mut(empty).into_iter().for_each(|s| *s = 1);
            break;
        }
    }
}

/// The mean of each cluster; an empty one stays where it was.
fn means(data: &Matrix, labels: &[usize], old: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let mut sums: Vec<Vec<f64>> = old.iter().map(|c| vec![0.0; c.len()]).collect();
    let mut sizes = vec![0usize; old.len()];
    for (row, l) in data.rows().zip(labels) {
        let Some(sum) = sums.get_mut(*l) else { continue };
        for (c, v) in row.iter() {
            sum.get_mut(c).into_iter().for_each(|s| *s += v);
        }
        sizes.get_mut(*l).into_iter().for_each(|s| *s += 1);
    }
    for ((sum, n), old) in sums.iter_mut().zip(&sizes).zip(old) {
        if *n == 0 {
            sum.clone_from(old);
        } else {
            sum.iter_mut().for_each(|s| *s /= *n as f64);
        }
    }
    sums
}

/// k-means++: the first centre at random, each further one with probability ∝ squared distance to the nearest
/// so far.
pub fn plus_plus(data: &Matrix, k: usize, rng: &mut Rng) -> Vec<Vec<f64>> {
    let dense = |i: usize| {
        let mut d = vec![0.0; data.width()];
        data.row(i).iter().for_each(|(c, v)| d.get_mut(c).into_iter().for_each(|x| *x = v));
        d
    };
    let mut centres: Vec<Vec<f64>> = Vec::new();
    let mut far = vec![f64::INFINITY; data.len()];
    let mut next = rng.below(data.len());
    while centres.len() < k.min(data.len()) {
        let centre = dense(next);
        let s = square(&centre);
        let mut total = 0.0;
        for (row, d) in data.rows().zip(&mut far) {
            // Rounding must not let a copy of a centre be chosen again.
            let new = distance2(&row, &centre, s);
            *d = d.min(if new <= 1e-12 * (row.square + s) { 0.0 } else { new });
            total += *d;
        }
        centres.push(centre);
        if total <= 0.0 || !total.is_finite() {
            break;
        }
        let mut draw = rng.unit() * total;
        next = far.iter().rposition(|d| *d > 0.0).unwrap_or(0);
        for (i, d) in far.iter().enumerate() {
            if *d > 0.0 && draw < *d {
                next = i;
                break;
            }
            draw -= d;
        }
    }
    centres
}

/// The best of `restarts` runs from k-means++.
pub fn kmeans(data: &Matrix, k: usize, restarts: usize, rng: &mut Rng) -> Clusters {
    let mut best: Option<Clusters> = None;
    for _ in 0..restarts.max(1) {
        let run = from_centres(data, plus_plus(data, k, rng));
        if best.as_ref().is_none_or(|b| run.inertia < b.inertia) {
            best = Some(run);
        }
    }
    best.unwrap_or_default()
}

/// Plain numbers from given centres: the centres and each value's cluster.
pub fn of_values(values: &[f64], centres: &[f64]) -> Clusters {
    from_centres(&Matrix::of_values(values), centres.iter().map(|c| vec![*c]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn values_by_hand() {
        let c = of_values(&[0.9, 0.1, 0.2, 0.8, 0.3], &[0.1, 0.9]);
        assert_eq!(c.labels, [1, 0, 0, 1, 0]);
        assert!((c.centres[0][0] - 0.2).abs() < 1e-12 && (c.centres[1][0] - 0.85).abs() < 1e-12);
        assert!((c.inertia - (0.01 + 0.01 + 0.0025 + 0.0025)).abs() < 1e-12 && c.converged);
        assert_eq!(c.sizes(), [3, 2]);
        assert_eq!(c.members(1), [0, 3]);
    }

    #[test]
    fn an_empty_cluster_takes_the_farthest_point() {
        // Both centres start left of everything; the second attracts nothing and gets 10, then keeps {9, 10}.
        let c = of_values(&[1.0, 2.0, 9.0, 10.0], &[0.0, -5.0]);
        assert_eq!(c.labels, [0, 0, 1, 1]);
        // All equal: nothing to take over.
        let c = of_values(&[3.0; 4], &[3.0, 7.0]);
        assert_eq!((c.labels, c.inertia), (vec![0; 4], 0.0));
    }

    #[test]
    fn degenerate_input() {
        let mut rng = Rng(1);
        assert_eq!(kmeans(&Matrix::of(&[]), 3, 2, &mut rng).centres.len(), 0);
        let same = Matrix::of(&vec![SparseVec::new(vec![(1, 1.0)]); 5]);
        assert_eq!(kmeans(&same, 3, 2, &mut rng).centres.len(), 1);
        assert_eq!(kmeans(&same, 0, 1, &mut rng).centres.len(), 0);
        let zeros = Matrix::of(&vec![SparseVec::default(); 3]);
        assert_eq!(kmeans(&zeros, 2, 1, &mut rng).labels, [0, 0, 0]);
        assert_eq!(of_values(&[f64::NAN, 1.0], &[f64::INFINITY]).labels, [0, 0]);
    }

    #[test]
    fn words_come_back() {
        let data = [(5u64, 1.0), (5, 3.0), (8, 2.0)].map(|e| SparseVec::new(vec![e]));
        let m = Matrix::of(&data);
        let c = kmeans(&m, 2, 4, &mut Rng(2));
        let mut named = c.named(&m);
        named.sort_by_key(|v| v.iter().map(|e| e.0).next());
        assert_eq!(named, [SparseVec::new(vec![(5, 2.0)]), SparseVec::new(vec![(8, 2.0)])]);
    }

    proptest! {
        #[test]
        fn every_point_is_with_its_nearest_centre(v in proptest::collection::vec((-5.0f64..5.0, -5.0f64..5.0), 1..40), k in 1..6usize, seed in any::<u64>()) {
            let data: Vec<SparseVec> = v.iter().map(|(x, y)| SparseVec::new(vec![(1, *x), (2, *y)])).collect();
            let m = Matrix::of(&data);
            let c = kmeans(&m, k, 1, &mut Rng(seed));
            prop_assert_eq!(&c, &kmeans(&m, k, 1, &mut Rng(seed)));
            prop_assert!(c.sizes().iter().all(|s| *s > 0));
            for (row, l) in m.rows().zip(&c.labels) {
                let own = distance2(&row, &c.centres[*l], square(&c.centres[*l]));
                for other in &c.centres {
                    prop_assert!(own <= distance2(&row, other, square(other)) + 1e-9);
                }
            }
        }
    }
}
