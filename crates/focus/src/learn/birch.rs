//! BIRCH (Zhang, Ramakrishnan & Livny 1996): one pass that gathers points into a tree of clustering features
//! (count, linear sum, sum of squares). A point joins the nearest leaf entry if the radius of both together stays
//! within the threshold; a node with too many entries splits along its two farthest ones.

use super::matrix::Matrix;
use crate::text::SparseVec;

/// A clustering feature: enough to know the centroid and radius of many points without keeping them.
#[derive(Clone, Debug, Default)]
struct Feature {
    n: f64,
    /// Sum of the points: (column, value), columns ascending.
    sum: Vec<(u32, f64)>,
    /// Sum of the squared lengths of the points.
    squares: f64,
    /// Squared length of the centroid.
    norm: f64,
    /// Node below, for entries of inner nodes.
    child: Option<usize>,
}

fn dot(a: &[(u32, f64)], b: &[(u32, f64)]) -> f64 {
    let (mut i, mut j, mut sum) = (0, 0, 0.0);
    while let (Some(x), Some(y)) = (a.get(i), b.get(j)) {
        match x.0.cmp(&y.0) {
            std::cmp::Ordering::Less => i += 1,
            std::cmp::Ordering::Greater => j += 1,
            std::cmp::Ordering::Equal => {
                sum += x.1 * y.1;
                i += 1;
                j += 1;
            }
        }
    }
    sum
}

fn add(a: &[(u32, f64)], b: &[(u32, f64)]) -> Vec<(u32, f64)> {
    let mut out = Vec::with_capacity(a.len().max(b.len()));
    let (mut a, mut b) = (a.iter().peekable(), b.iter().peekable());
    loop {
        match (a.peek(), b.peek()) {
            (Some(x), Some(y)) if x.0 == y.0 => {
                out.push((x.0, x.1 + y.1));
                a.next();
                b.next();
            }
            (Some(x), Some(y)) if x.0 < y.0 => out.extend(a.next()),
            (_, Some(_)) => out.extend(b.next()),
            (Some(_), None) => out.extend(a.next()),
            (None, None) => return out,
        }
    }
}

impl Feature {
    fn together(&self, other: &Feature) -> Feature {
        let n = self.n + other.n;
        let sum = add(&self.sum, &other.sum);
        let norm = if n > 0.0 { dot(&sum, &sum) / (n * n) } else { 0.0 };
        Feature { n, sum, squares: self.squares + other.squares, norm, child: self.child }
    }
    fn take_in(&mut self, other: &Feature) {
        *self = self.together(other);
    }
    /// Mean squared distance of the points to their centroid.
    fn radius2(&self) -> f64 {
        if self.n > 0.0 { (self.squares / self.n - self.norm).max(0.0) } else { 0.0 }
    }
    /// Squared distance of the centroids.
    fn distance2(&self, other: &Feature) -> f64 {
        (self.norm + other.norm - 2.0 * dot(&self.sum, &other.sum) / (self.n * other.n).max(1.0)).max(0.0)
    }
}

#[derive(Debug, Default)]
struct Node {
    entries: Vec<Feature>,
}

struct Tree {
    nodes: Vec<Node>,
    root: usize,
    threshold2: f64,
    branching: usize,
}

/// A leaf entry: how many points, and their centroid.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    pub points: usize,
    pub centroid: Vec<(u32, f64)>,
}

/// Leaf entries, from the first leaf to the last. `threshold` bounds the radius of an entry, `branching` (at least 2)
/// the entries of a node.
pub fn birch(data: &Matrix, threshold: f64, branching: usize) -> Vec<Entry> {
    let threshold = if threshold.is_finite() { threshold.max(0.0) } else { 0.0 };
    let mut tree = Tree {
        nodes: vec![Node::default()],
        root: 0,
        threshold2: threshold * threshold,
        branching: branching.max(2),
    };
    for row in data.rows() {
        let sum: Vec<(u32, f64)> = row.columns.iter().copied().zip(row.values.iter().copied()).collect();
        tree.insert(Feature { n: 1.0, sum, squares: row.square, norm: row.square, child: None });
    }
    let mut out = Vec::new();
    tree.leaves(tree.root, &mut out);
    out
}

/// Plain numbers, with the threshold of spec §9: half of their standard deviation, branching 50. Centroids ascending.
pub fn of_values(values: &[f64]) -> Vec<f64> {
    let data = Matrix::of_values(values);
    let n = values.len().max(1) as f64;
    let mean = data.rows().filter_map(|r| r.values.first()).sum::<f64>() / n;
    let variance =
        data.rows().filter_map(|r| r.values.first()).map(|v| (v - mean) * (v - mean)).sum::<f64>() / n;
    let entries = birch(&data, 0.5 * libm::sqrt(variance), 50);
    let mut centroids: Vec<f64> = entries.iter().map(|e| e.centroid.first().map_or(0.0, |c| c.1)).collect();
    centroids.sort_by(f64::total_cmp);
    centroids
}

/// A leaf entry's centroid as a vector over words.
pub fn named(entry: &Entry, data: &Matrix) -> SparseVec {
    let mut dense = vec![0.0; data.width()];
    for (c, v) in &entry.centroid {
        dense.get_mut(*c as usize).into_iter().for_each(|d| *d = *v);
    }
    data.name(&dense)
}

impl Tree {
    fn insert(&mut self, point: Feature) {
        // The way down, so that the way up needs no recursion: a chain of nodes is as deep as the tree only.
        let mut way: Vec<(usize, usize)> = Vec::new();
        let mut at = self.root;
        while let Some((nearest, child)) = self.nearest(at, &point) {
            match child {
                Some(child) => {
                    way.push((at, nearest));
                    at = child;
                }
                None => break,
            }
        }
        let mut split = self.insert_in_leaf(at, &point);
        while let Some((node, entry)) = way.pop() {
            let Some(place) = self.nodes.get_mut(node).and_then(|n| n.entries.get_mut(entry)) else { return };
            if !split {
                place.take_in(&point);
                continue;
            }
            let Some(child) = place.child else { return };
            let (one, two) = self.split(child);
            let Some(node) = self.nodes.get_mut(node) else { return };
            if let Some(place) = node.entries.get_mut(entry) {
                *place = one;
            }
            node.entries.push(two);
            split = node.entries.len() > self.branching;
        }
        if split {
            let (one, two) = self.split(self.root);
            self.nodes.push(Node { entries: vec![one, two] });
            self.root = self.nodes.len() - 1;
        }
    }

    /// The entry of the node whose centroid is nearest, and the node below it.
    fn nearest(&self, node: usize, point: &Feature) -> Option<(usize, Option<usize>)> {
        let mut best: Option<(usize, f64)> = None;
        let entries = &self.nodes.get(node)?.entries;
        for (i, e) in entries.iter().enumerate() {
            let d = e.norm - 2.0 * dot(&e.sum, &point.sum) / e.n;
            if best.is_none_or(|b| d < b.1) {
                best = Some((i, d));
            }
        }
        let i = best?.0;
        Some((i, entries.get(i)?.child))
    }

    /// True if the leaf now has too many entries.
    fn insert_in_leaf(&mut self, leaf: usize, point: &Feature) -> bool {
        let nearest = self.nearest(leaf, point).map(|n| n.0);
        let Some(node) = self.nodes.get_mut(leaf) else { return false };
        if let Some(entry) = nearest.and_then(|i| node.entries.get_mut(i)) {
            let both = entry.together(point);
            if both.radius2() <= self.threshold2 {
                *entry = both;
                return false;
            }
        }
        node.entries.push(point.clone());
        node.entries.len() > self.branching
    }

    /// Deals the entries out to two nodes, seeded by the two farthest; the first reuses the node's place.
    fn split(&mut self, node: usize) -> (Feature, Feature) {
        let entries = self.nodes.get_mut(node).map(|n| std::mem::take(&mut n.entries)).unwrap_or_default();
        let (mut far, mut seeds) = (-1.0, (0, 0));
        for (i, a) in entries.iter().enumerate() {
            for (j, b) in entries.iter().enumerate().skip(i + 1) {
                let d = a.distance2(b);
                if d > far {
                    (far, seeds) = (d, (i, j));
                }
            }
        }
        let near_first: Vec<bool> = match (entries.get(seeds.0), entries.get(seeds.1)) {
            (Some(a), Some(b)) => entries
                .iter()
                .enumerate()
                .map(|(i, e)| i == seeds.0 || (i != seeds.1 && a.distance2(e) < b.distance2(e)))
                .collect(),
            _ => Vec::new(),
        };
        let other = self.nodes.len();
        let (mut one, mut two) = (
            Feature { child: Some(node), ..Feature::default() },
            Feature { child: Some(other), ..Feature::default() },
        );
        let (mut left, mut right) = (Vec::new(), Vec::new());
        for (e, first) in entries.into_iter().zip(near_first) {
            if first {
                one.take_in(&e);
                left.push(e);
            } else {
                two.take_in(&e);
                right.push(e);
            }
        }
        self.nodes.push(Node { entries: right });
        if let Some(n) = self.nodes.get_mut(node) {
            n.entries = left;
        }
        (one, two)
    }

    fn leaves(&self, root: usize, out: &mut Vec<Entry>) {
        let mut todo = vec![root];
        while let Some(node) = todo.pop() {
            let Some(node) = self.nodes.get(node) else { continue };
            // Last pushed is next: children in reverse.
            todo.extend(node.entries.iter().rev().filter_map(|e| e.child));
            for e in node.entries.iter().filter(|e| e.child.is_none()) {
                let centroid = e.sum.iter().map(|(c, v)| (*c, v / e.n)).collect();
                out.push(Entry { points: e.n as usize, centroid });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn values_by_hand() {
        assert_eq!(of_values(&[0.1, 0.9, 0.1, 0.9]), [0.1, 0.9]);
        // Deviation of 0.2, 0.3, 0.8: √0.0689 = 0.262; limit 0.131. {0.2, 0.3} has radius 0.05.
        let c = of_values(&[0.2, 0.3, 0.8]);
        assert!((c[0] - 0.25).abs() < 1e-12 && (c[1] - 0.8).abs() < 1e-12);
        assert!(of_values(&[]).is_empty());
        assert_eq!(of_values(&[0.3]), [0.3]);
        assert_eq!(of_values(&[2.0; 5]), [2.0]);
    }

    #[test]
    fn words_come_back() {
        let data = [
            SparseVec::new(vec![(7, 1.0)]),
            SparseVec::new(vec![(7, 1.0), (9, 0.2)]),
            SparseVec::new(vec![(8, 5.0)]),
        ];
        let m = Matrix::of(&data);
        let entries = birch(&m, 0.2, 50);
        assert_eq!(entries.iter().map(|e| e.points).collect::<Vec<_>>(), [2, 1]);
        assert_eq!(named(&entries[0], &m), SparseVec::new(vec![(7, 1.0), (9, 0.1)]));
        assert!(birch(&Matrix::of(&[]), 1.0, 50).is_empty());
    }

    proptest! {
        #[test]
        fn no_point_is_lost_and_no_entry_too_wide(v in proptest::collection::vec((-5.0f64..5.0, -5.0f64..5.0), 0..200), t in 0.0f64..2.0, b in 2..6usize) {
            let data: Vec<SparseVec> = v.iter().map(|(x, y)| SparseVec::new(vec![(1, *x), (2, *y)])).collect();
            let m = Matrix::of(&data);
            let entries = birch(&m, t, b);
            prop_assert_eq!(entries.iter().map(|e| e.points).sum::<usize>(), v.len());
            let mean = |e: &Entry, c: usize| e.centroid[c].1 * e.points as f64;
            let total: f64 = entries.iter().map(|e| mean(e, 0)).sum();
            prop_assert!((total - v.iter().map(|p| p.0).sum::<f64>()).abs() < 1e-6);
            if t == 0.0 { prop_assert!(entries.len() == v.len()); }
        }
    }
}
