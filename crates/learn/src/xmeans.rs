//! X-means (Pelleg & Moore 2000): K-means that finds the number of clusters. Each cluster is split in two and
//! keeps the halves if that raises the Bayesian information criterion of its own points.
//!
//! Four clouds at the corners of a square are no better as two halves, but far better as four quarters: when
//! two parts do not pay, three and four may: the best of these is taken (ours).
//!
//! The model is K spherical Gaussians with one variance in M dimensions. The paper's variance estimate lacks
//! the factor 1/M, which makes splits ever easier as the vocabulary grows; here it has it:
//! `σ² = Σ‖x−μ‖² / (M(R−K))`, `l = Σ R_n ln(R_n/R) − RM/2·ln(2πσ²) − M(R−K)/2`,
//! `BIC = l − ½(K−1 + MK + 1)·ln R`.

use crate::kmeans::{Clusters, distance2, from_centres, kmeans, square};
use crate::matrix::Matrix;
use crate::rng::Rng;

/// Attempts at splitting a cluster; the best parts are judged.
const TRIES: usize = 4;
/// Parts a cluster is split into at once, at most.
const MOST_PARTS: usize = 4;

/// Finds between `least` and `most` clusters.
pub fn xmeans(data: &Matrix, least: usize, most: usize, rng: &mut Rng) -> Clusters {
    let mut clusters = kmeans(data, least.max(1), TRIES, rng);
    loop {
        let room = most.saturating_sub(clusters.centres.len());
        if room == 0 || data.is_empty() {
            return clusters;
        }
        // What each split would gain; when there is no room for all, the best ones.
        let mut splits: Vec<(f64, usize, Vec<Vec<f64>>)> = Vec::new();
        for (i, centre) in clusters.centres.iter().enumerate() {
            let part = data.pick(&clusters.members(i));
            let s = square(centre);
            let inertia = part.rows().map(|r| distance2(&r, centre, s)).sum();
            let whole = bic(&[part.len()], inertia, data.width());
            let mut best: Option<(f64, usize, Vec<Vec<f64>>)> = None;
            for k in 2..=MOST_PARTS.min(room + 1) {
                let parts = kmeans(&part, k, TRIES, rng);
                if parts.centres.len() < k || parts.sizes().contains(&0) {
                    break;
                }
                let gain = bic(&parts.sizes(), parts.inertia, data.width()) - whole;
                if gain > best.as_ref().map_or(0.0, |b| b.0) {
                    best = Some((gain, i, parts.centres));
                }
            }
            splits.extend(best);
        }
        if splits.is_empty() {
            return clusters;
        }
        splits.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let mut centres = clusters.centres.clone();
        for (_, i, parts) in splits {
            if centres.len() + parts.len() - 1 > most {
                continue;
            }
            let mut parts = parts.into_iter();
            if let (Some(place), Some(first)) = (centres.get_mut(i), parts.next()) {
                *place = first;
            }
            centres.extend(parts);
        }
        let better = from_centres(data, centres);
        // The centres together may end where they were before: then that is the answer.
        if better.sizes().contains(&0) || better.inertia >= clusters.inertia {
            return clusters;
        }
        clusters = better;
    }
}

/// The criterion for clusters of these sizes with this sum of squared distances; higher is better. With
/// as many clusters as points no variance can be estimated: −∞, so that this is never a reason to split.
pub fn bic(sizes: &[usize], inertia: f64, dimensions: usize) -> f64 {
    let (r, k, m) = (sizes.iter().sum::<usize>() as f64, sizes.len() as f64, dimensions.max(1) as f64);
    if r <= k {
        return f64::NEG_INFINITY;
    }
    // The floor is far below any spread that matters and keeps the logarithm finite.
    let variance = (inertia / (m * (r - k))).max(1e-12);
    let shares: f64 = sizes.iter().filter(|n| **n > 0).map(|n| *n as f64 * libm::log(*n as f64 / r)).sum();
    let log_likelihood =
        shares - r * m / 2.0 * libm::log(2.0 * std::f64::consts::PI * variance) - m * (r - k) / 2.0;
    log_likelihood - (k - 1.0 + m * k + 1.0) / 2.0 * libm::log(r)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sparse::SparseVec;

    /// `k` round clouds, far apart.
    fn clouds(k: usize, each: usize, seed: u64) -> Matrix {
        let mut rng = Rng(seed);
        let mut normal = move || (0..12).map(|_| rng.unit()).sum::<f64>() - 6.0;
        let mut data = Vec::new();
        for i in 0..k * each {
            let (cx, cy) = [(0.0, 0.0), (20.0, 0.0), (0.0, 20.0), (20.0, 20.0), (40.0, 10.0)][i % k];
            data.push(SparseVec::new(vec![(1, cx + normal()), (2, cy + normal())]));
        }
        Matrix::of(&data)
    }

    #[test]
    fn finds_the_number_of_clouds() {
        for k in 1..=5 {
            for seed in 0..5 {
                let c = xmeans(&clouds(k, 120, seed), 1, 12, &mut Rng(seed));
                assert_eq!(c.centres.len(), k, "seed {seed}");
                assert_eq!(c.sizes(), vec![120; k]);
                assert!(c.labels.iter().enumerate().all(|(i, l)| *l == c.labels[i % k]));
            }
        }
        assert_eq!(xmeans(&clouds(5, 40, 1), 1, 3, &mut Rng(1)).centres.len(), 3);
        assert_eq!(xmeans(&clouds(2, 40, 1), 4, 4, &mut Rng(1)).centres.len(), 4);
    }

    #[test]
    fn criterion_by_hand() {
        // Two points each, R = 4, K = 2, M = 1, inertia 1: σ² = ½, l = 4 ln ½ − 2 ln π − 1, p = 4.
        let expected = 4.0 * 0.5f64.ln() - 2.0 * std::f64::consts::PI.ln() - 1.0 - 2.0 * 4f64.ln();
        assert!((bic(&[2, 2], 1.0, 1) - expected).abs() < 1e-12);
        assert_eq!(bic(&[1, 1], 0.0, 3), f64::NEG_INFINITY);
    }

    #[test]
    fn degenerate_input() {
        assert_eq!(xmeans(&Matrix::of(&[]), 1, 5, &mut Rng(1)).centres.len(), 0);
        assert_eq!(xmeans(&Matrix::of_values(&[2.0; 9]), 1, 5, &mut Rng(1)).centres.len(), 1);
        assert_eq!(xmeans(&Matrix::of_values(&[2.0, 9.0]), 1, 5, &mut Rng(1)).centres.len(), 1);
    }
}
