//! The numeric parts that judges and strategies stand on: classifiers, clusterings, chains and ranks.
//!
//! Everything here is pure and repeatable: chance comes from a seeded [`crate::rng::Rng`], sums run in one fixed
//! order, `exp` and `ln` are libm's, so two machines agree to the last bit. Nothing panics on any numbers:
//! what is not finite counts as 0, and every degenerate input (nothing, one class, all equal) has a defined answer.
//!
//! * [`bayes`], [`taxonomy`]: naive Bayes over hashed features, and the classes of a topic tree (S1).
//! * [`svm`], [`smo`], [`platt`]: support vectors with probabilities (S0).
//! * [`kmeans`], [`xmeans`], [`birch`], [`silhouette`], [`knn`]: groups of pages and of values (S3, S4).
//! * [`hmm`]: where along a path to a target we are (S3).
//! * [`pagerank`]: over the growing crawled graph.
//! * [`matrix`]: sparse vectors as rows of one table, the input of the clusterings and of the SVM.

pub mod bayes;
pub mod birch;
pub mod hmm;
pub mod kmeans;
pub mod knn;
pub mod matrix;
pub mod pagerank;
pub mod platt;
pub mod silhouette;
pub mod smo;
pub mod svm;
pub mod taxonomy;
pub mod xmeans;

mod tally;

/// `1 / (1 + e^-z)` without overflow.
pub fn sigmoid(z: f64) -> f64 {
    if z >= 0.0 {
        1.0 / (1.0 + libm::exp(-z))
    } else {
        let e = libm::exp(z);
        e / (1.0 + e)
    }
}

/// Turns log weights into shares that sum to 1, in place. All minus infinity (nothing is possible) or not a
/// number anywhere: equal shares.
pub fn softmax(logs: &mut [f64]) {
    let max = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut sum = 0.0;
    if max.is_finite() {
        for x in logs.iter_mut() {
            *x = libm::exp(*x - max);
            sum += *x;
        }
    }
    if sum > 0.0 && sum.is_finite() {
        logs.iter_mut().for_each(|x| *x /= sum);
    } else {
        let share = 1.0 / logs.len().max(1) as f64;
        logs.fill(share);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_never_overflow() {
        let mut x = [1000.0, 1000.0 + 3f64.ln()];
        softmax(&mut x);
        assert!((x[0] - 0.25).abs() < 1e-12 && (x[1] - 0.75).abs() < 1e-12);
        for mut x in [[f64::NEG_INFINITY; 2], [f64::NAN; 2], [f64::INFINITY, 0.0], [f64::NAN, 0.0]] {
            softmax(&mut x);
            assert_eq!(x, [0.5, 0.5]);
        }
        softmax(&mut []);
        assert_eq!(sigmoid(0.0), 0.5);
        assert_eq!((sigmoid(-1e9), sigmoid(1e9)), (0.0, 1.0));
        assert!((sigmoid(2.0) + sigmoid(-2.0) - 1.0).abs() < 1e-15);
    }
}
