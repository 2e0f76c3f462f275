//! Learners that judges and strategies share: classifiers, clusterings, chains, ranks, and what words mean.
//! This crate knows numbers and hashed words; it knows no pages, no topics and no strategies.
//!
//! Everything here is pure and repeatable. Chance comes from a seeded [`rng::Rng`], sums run in one fixed
//! order, `exp` and `ln` are libm's, so two machines agree to the last bit. Nothing panics on any numbers:
//! what is not finite counts as 0, and every degenerate input (nothing, one class, all equal) has a defined
//! answer.
//!
//! * [`bayes`], [`taxonomy`]: naive Bayes over hashed features, and the classes of a topic tree.
//! * [`logistic`]: three logistic regressions over the same features, learnt one example at a time.
//! * [`svm`], [`smo`], [`platt`]: support vectors with probabilities.
//! * [`kmeans`], [`xmeans`], [`knn`]: groups of pages and of values.
//! * [`hmm`]: how far along a path to a target a page is.
//! * [`pagerank`]: over the growing crawled graph.
//! * [`SparseVec`], [`matrix`]: vectors over hashed words, alone and as rows of one table.
//! * [`wordnet`]: what words mean. [`rng`]: the one source of chance. [`bytes`]: how states are written.

#![warn(missing_docs)]

pub mod bayes;
pub mod bytes;
pub mod hmm;
pub mod kmeans;
pub mod knn;
pub mod logistic;
pub mod matrix;
pub mod pagerank;
pub mod platt;
pub mod rng;
pub mod smo;
mod sparse;
pub mod svm;
pub mod taxonomy;
pub mod wordnet;
pub mod xmeans;

mod tally;

pub use sparse::SparseVec;

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
