//! Silhouettes (Rousseeuw 1987): how much nearer a point is to its own cluster than to the next one.
//!
//! `s = (b − a) / max(a, b)`, a = mean distance to the others of its cluster, b = the smallest mean distance to another
//! cluster; a point alone in its cluster has 0. Quadratic in the number of rows: sample first when there are many.

use super::matrix::Matrix;

/// One silhouette per row; all 0 when there are fewer than two clusters.
pub fn samples(data: &Matrix, labels: &[usize]) -> Vec<f64> {
    let n = data.len().min(labels.len());
    let mut names: Vec<usize> = labels.iter().take(n).copied().collect();
    names.sort_unstable();
    names.dedup();
    if names.len() < 2 {
        return vec![0.0; n];
    }
    let cluster: Vec<usize> = labels.iter().take(n).map(|l| names.partition_point(|x| x < l)).collect();
    let mut sizes = vec![0usize; names.len()];
    cluster.iter().for_each(|c| sizes.get_mut(*c).into_iter().for_each(|s| *s += 1));
    let mut sums = vec![0.0; names.len()];
    let mut out = Vec::with_capacity(n);
    for (i, own) in cluster.iter().enumerate() {
        let row = data.row(i);
        sums.fill(0.0);
        for (j, c) in cluster.iter().enumerate() {
            if i != j {
                let d = libm::sqrt(row.distance2(&data.row(j)));
                sums.get_mut(*c).into_iter().for_each(|s| *s += d);
            }
        }
        let (mut a, mut b, mut alone) = (0.0, f64::INFINITY, false);
        for (c, (sum, size)) in sums.iter().zip(&sizes).enumerate() {
            if c == *own {
                alone = *size < 2;
                a = sum / (size.saturating_sub(1).max(1)) as f64;
            } else {
                b = b.min(sum / *size as f64);
            }
        }
        let most = f64::max(a, b);
        out.push(if alone || most <= 0.0 { 0.0 } else { (b - a) / most });
    }
    out
}

/// The mean silhouette; `None` when there are no rows or fewer than two clusters.
pub fn mean(data: &Matrix, labels: &[usize]) -> Option<f64> {
    let first = labels.first()?;
    if labels.iter().take(data.len()).all(|l| l == first) {
        return None;
    }
    let s = samples(data, labels);
    Some(s.iter().sum::<f64>() / s.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        let m = Matrix::of_values(&[0.1, 0.2, 0.8, 0.9]);
        let s = samples(&m, &[7, 7, 3, 3]);
        let (outer, inner) = ((0.75 - 0.1) / 0.75, (0.65 - 0.1) / 0.65);
        for (a, b) in s.iter().zip([outer, inner, inner, outer]) {
            assert!((a - b).abs() < 1e-12);
        }
        assert!((mean(&m, &[7, 7, 3, 3]).unwrap() - (outer + inner) / 2.0).abs() < 1e-12);
        assert_eq!(samples(&m, &[0, 0, 0, 1])[3], 0.0);
    }

    #[test]
    fn degenerate_input() {
        let m = Matrix::of_values(&[1.0, 1.0, 1.0]);
        assert_eq!(mean(&m, &[0, 0, 0]), None);
        assert_eq!(mean(&m, &[]), None);
        assert_eq!(mean(&Matrix::of(&[]), &[]), None);
        assert_eq!(mean(&m, &[0, 1, 1]), Some(0.0));
        assert_eq!(mean(&m, &[0, 1]), Some(0.0));
    }
}
