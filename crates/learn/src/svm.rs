//! A support vector machine with probabilities (Assis 2008, §4.1.2): C and γ by grid search with
//! cross-validation, Platt's sigmoid on cross-validated decision values. The solver is [`super::smo`], the
//! sigmoid [`super::platt`].
//!
//! Only one class of examples gives a constant: probability 1 or 0 (no example: ½), so that a crawl can
//! start.

use crate::bytes::{Reader, Writer, damaged};
use crate::matrix::{Matrix, Postings};
use crate::platt::Platt;
use crate::rng::Rng;
use crate::smo::{Gram, Kernel, Params, Solution, solve};
use crate::sparse::SparseVec;
use types::Problem;

/// What to try, and how.
#[derive(Clone, Debug, PartialEq)]
pub struct Search {
    /// Costs of an example on the wrong side to try.
    pub c: Vec<f64>,
    /// Of the RBF kernel; empty = the linear kernel.
    pub gamma: Vec<f64>,
    /// Parts of the cross-validation; each is left out once.
    pub folds: usize,
    /// Weigh the classes so that both count alike, in training and in choosing.
    pub balanced: bool,
    /// Decides which example falls into which part.
    pub seed: u64,
    /// Bytes of kernel rows kept.
    pub cache: usize,
}

impl Default for Search {
    /// Powers of two around what suits vectors of length one (tf·idf, normalised).
    fn default() -> Search {
        Search {
            c: [-1, 1, 3, 5, 7].map(|e| libm::exp2(f64::from(e))).to_vec(),
            gamma: [-5, -3, -1, 1].map(|e| libm::exp2(f64::from(e))).to_vec(),
            folds: 5,
            balanced: false,
            seed: 0,
            cache: 64 << 20,
        }
    }
}

/// One cell of the grid, for the report.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tried {
    /// Kernel of the cell, with its γ.
    pub kernel: Kernel,
    /// Cost of the cell.
    pub c: f64,
    /// Share of examples judged right when left out (weighted when balanced).
    pub accuracy: f64,
}

/// Every example's fold: shuffled by the seed, then dealt out class by class, so that each fold has its share
/// of both.
pub fn stratified(positive: &[bool], folds: usize, seed: u64) -> Vec<usize> {
    let folds = folds.max(1);
    let mut order: Vec<usize> = (0..positive.len()).collect();
    Rng(seed).shuffle(&mut order);
    order.sort_by_key(|i| positive.get(*i).copied());
    let mut fold = vec![0; positive.len()];
    for (n, i) in order.into_iter().enumerate() {
        fold.get_mut(i).into_iter().for_each(|f| *f = n % folds);
    }
    fold
}

/// The decision value of every example by a machine that has not seen its fold.
pub fn left_out_values(gram: &Gram, positive: &[bool], folds: &[usize], params: &Params) -> Vec<f64> {
    let n = gram.len().min(positive.len()).min(folds.len());
    let mut values = vec![0.0; n];
    for fold in 0..=folds.iter().copied().max().unwrap_or(0) {
        let (mut train, mut test, mut labels) = (Vec::new(), Vec::new(), Vec::new());
        for (i, (f, label)) in folds.iter().zip(positive).take(n).enumerate() {
            if *f == fold {
                test.push(i);
            } else {
                train.push(i);
                labels.push(*label);
            }
        }
        if test.is_empty() {
            continue;
        }
        let solution = solve(gram, &train, &labels, params);
        let vectors: Vec<(usize, f64)> = train
            .into_iter()
            .zip(&solution.coefficients)
            .filter(|e| *e.1 != 0.0)
            .map(|(i, c)| (i, *c))
            .collect();
        for i in test {
            let sum: f64 = vectors.iter().map(|(j, c)| c * gram.kernel(params.kernel, i, *j)).sum();
            values.get_mut(i).into_iter().for_each(|v| *v = sum - solution.rho);
        }
    }
    values
}

/// A trained machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Svm {
    kernel: Kernel,
    c: f64,
    vectors: Vec<SparseVec>,
    coefficients: Vec<f64>,
    squares: Vec<f64>,
    rho: f64,
    platt: Platt,
    /// Set when there was only one class (or none): the probability, whatever the page.
    constant: Option<f64>,
    /// Of the linear kernel all support vectors are one.
    sum: SparseVec,
    postings: Postings,
}

impl Svm {
    fn build(
        kernel: Kernel,
        c: f64,
        vectors: Vec<SparseVec>,
        coefficients: Vec<f64>,
        rho: f64,
        platt: Platt,
        constant: Option<f64>,
    ) -> Svm {
        let squares = vectors.iter().map(|v| v.dot(v)).collect();
        let (sum, postings) = match kernel {
            Kernel::Linear => {
                let scaled = vectors.iter().zip(&coefficients).map(|(v, c)| {
                    let mut v = v.clone();
                    v.scale(*c);
                    v
                });
                (SparseVec::sum(&scaled.collect::<Vec<_>>()), Postings::default())
            }
            Kernel::Rbf(_) => (SparseVec::default(), Postings::of(&vectors)),
        };
        Svm { kernel, c, vectors, coefficients, squares, rho, platt, constant, sum, postings }
    }

    /// Trains with fixed parameters. `folds` (one number per example) are those of the sigmoid's
    /// cross-validation.
    pub fn train(examples: &[SparseVec], positive: &[bool], params: &Params, folds: &[usize]) -> Svm {
        let gram = Gram::of(&Matrix::of(examples));
        Svm::train_on(&gram, examples, positive, params, folds)
    }

    fn train_on(
        gram: &Gram,
        examples: &[SparseVec],
        positive: &[bool],
        params: &Params,
        folds: &[usize],
    ) -> Svm {
        let n = examples.len().min(positive.len());
        let all: Vec<usize> = (0..n).collect();
        let Solution { coefficients, rho, .. } = solve(gram, &all, positive, params);
        let positives = positive.iter().take(n).filter(|p| **p).count();
        let constant = match (n, positives) {
            (0, _) => Some(0.5),
            (_, 0) => Some(0.0),
            (n, p) if n == p => Some(1.0),
            _ => None,
        };
        let platt = if constant.is_some() {
            Platt::default()
        } else {
            Platt::fit(&left_out_values(gram, positive, folds, params), positive)
        };
        let kept = examples.iter().zip(coefficients).filter(|e| e.1 != 0.0);
        let (vectors, coefficients) = kept.map(|(v, c)| (clean(v), c)).unzip();
        Svm::build(params.kernel, params.c, vectors, coefficients, rho, platt, constant)
    }

    /// Chooses C and γ by cross-validation and trains with the best; ties go to the smaller C, then the
    /// smaller γ (the smoother machine). Also returns what was tried.
    pub fn search(examples: &[SparseVec], positive: &[bool], search: &Search) -> (Svm, Vec<Tried>) {
        let n = examples.len().min(positive.len());
        let (examples, positive) = (examples.get(..n).unwrap_or(&[]), positive.get(..n).unwrap_or(&[]));
        let positives = positive.iter().filter(|p| **p).count();
        let weights = if search.balanced && positives > 0 && positives < n {
            (n as f64 / (2.0 * positives as f64), n as f64 / (2.0 * (n - positives) as f64))
        } else {
            (1.0, 1.0)
        };
        // Every class needs an example in training when one fold is left out.
        let rarer = positives.min(n - positives);
        let folds = stratified(positive, search.folds.min(rarer).max(2), search.seed);
        let gram = Gram::of(&Matrix::of(examples));
        let params = |kernel, c| Params { weights, cache: search.cache, ..Params::new(kernel, c) };
        let mut kernels: Vec<Kernel> = search.gamma.iter().copied().map(Kernel::Rbf).collect();
        if kernels.is_empty() {
            kernels.push(Kernel::Linear);
        }
        let mut cs = search.c.clone();
        if cs.is_empty() {
            cs.push(1.0);
        }
        let mut tried: Vec<Tried> = Vec::new();
        if rarer >= 2 {
            for &c in &cs {
                for &kernel in &kernels {
                    let values = left_out_values(&gram, positive, &folds, &params(kernel, c));
                    let accuracy = accuracy(&values, positive, weights);
                    tried.push(Tried { kernel, c, accuracy });
                }
            }
        }
        let gamma = |k: Kernel| if let Kernel::Rbf(g) = k { g } else { 0.0 };
        let best = tried.iter().max_by(|a, b| {
            a.accuracy
                .total_cmp(&b.accuracy)
                .then(b.c.total_cmp(&a.c))
                .then(gamma(b.kernel).total_cmp(&gamma(a.kernel)))
        });
        // Too few examples to leave any out: the middle of the grid.
        let middle = (
            kernels.get(kernels.len() / 2).copied().unwrap_or(Kernel::Linear),
            cs.get(cs.len() / 2).copied().unwrap_or(1.0),
        );
        let (kernel, c) = best.map_or(middle, |b| (b.kernel, b.c));
        (Svm::train_on(&gram, examples, positive, &params(kernel, c), &folds), tried)
    }

    /// The kernel that cross-validation chose.
    pub fn kernel(&self) -> Kernel {
        self.kernel
    }
    /// The cost that cross-validation chose.
    pub fn c(&self) -> f64 {
        self.c
    }
    /// Examples that define the boundary.
    pub fn support_vectors(&self) -> usize {
        self.vectors.len()
    }

    /// Positive on the positive side; ±1 at the margins.
    pub fn decision(&self, x: &SparseVec) -> f64 {
        let Kernel::Rbf(_) = self.kernel else { return clean(x).dot(&self.sum) - self.rho };
        let xx: f64 = x.iter().map(|e| e.1 * e.1).filter(|v| v.is_finite()).sum();
        let mut dots = Vec::new();
        self.postings.dots(x, &mut dots);
        let parts = dots.iter().zip(&self.squares).zip(&self.coefficients);
        parts.map(|((dot, yy), c)| c * self.kernel.of(*dot, xx, *yy)).sum::<f64>() - self.rho
    }
    /// How much each word of `x` pushes the decision up: its weight times the slope of the decision in its
    /// direction.
    pub fn contributions(&self, x: &SparseVec) -> SparseVec {
        let x = clean(x);
        let Kernel::Rbf(gamma) = self.kernel else {
            return SparseVec::new(x.iter().map(|(h, w)| (h, w * self.sum.get(h))).collect());
        };
        // ∂/∂x_w Σ c·e^(−γ‖x−y‖²) = Σ c·K·2γ·(y_w − x_w).
        let xx = x.dot(&x);
        let mut pulls = Vec::new();
        self.postings.dots(&x, &mut pulls);
        for ((pull, yy), c) in pulls.iter_mut().zip(&self.squares).zip(&self.coefficients) {
            *pull = 2.0 * gamma * c * self.kernel.of(*pull, xx, *yy);
        }
        let all: f64 = pulls.iter().sum();
        let slope = |h, w| self.postings.weighted(h, &pulls) - all * w;
        SparseVec::new(x.iter().map(|(h, w)| (h, w * slope(h, w))).collect())
    }
    /// Probability of the positive class (Platt scaling).
    pub fn probability(&self, x: &SparseVec) -> f64 {
        self.constant.unwrap_or_else(|| self.platt.probability(self.decision(x)))
    }

    /// Support vectors, offset and scaling.
    pub fn save(&self) -> Vec<u8> {
        let mut w = Writer::default();
        let (kind, gamma) = match self.kernel {
            Kernel::Linear => (0, 0.0),
            Kernel::Rbf(g) => (1, g),
        };
        w.u8(kind).f64(gamma).f64(self.c).f64(self.rho).f64(self.platt.a).f64(self.platt.b);
        w.f64(self.constant.unwrap_or(-1.0)).var(self.vectors.len() as u64);
        for (v, c) in self.vectors.iter().zip(&self.coefficients) {
            w.f64(*c).var(v.len() as u64);
            let mut last = 0;
            for (h, x) in v.iter() {
                w.var(h - last).f64(x);
                last = h;
            }
        }
        w.0
    }
    /// Reads what `save` wrote.
    pub fn load(bytes: &[u8]) -> Result<Svm, Problem> {
        let mut r = Reader(bytes);
        let (kind, gamma, c, rho) = (r.u8()?, r.f64()?, r.f64()?, r.f64()?);
        let platt = Platt { a: r.f64()?, b: r.f64()? };
        let constant = Some(r.f64()?).filter(|p| (0.0..=1.0).contains(p));
        let kernel = match kind {
            0 => Kernel::Linear,
            1 => Kernel::Rbf(gamma),
            _ => return Err(damaged()),
        };
        let (mut vectors, mut coefficients) = (Vec::new(), Vec::new());
        for _ in 0..r.var()? {
            coefficients.push(r.f64()?);
            let (mut entries, mut h) = (Vec::new(), 0u64);
            for _ in 0..r.var()? {
                h = h.checked_add(r.var()?).ok_or_else(damaged)?;
                entries.push((h, r.f64()?));
            }
            vectors.push(SparseVec::new(entries));
        }
        r.end()?;
        Ok(Svm::build(kernel, c, vectors, coefficients, rho, platt, constant))
    }
}

/// Without values that are not finite.
fn clean(v: &SparseVec) -> SparseVec {
    SparseVec::new(v.iter().filter(|e| e.1.is_finite()).collect())
}

fn accuracy(values: &[f64], positive: &[bool], weights: (f64, f64)) -> f64 {
    let (mut right, mut all) = (0.0, 0.0);
    for (v, p) in values.iter().zip(positive) {
        let w = if *p { weights.0 } else { weights.1 };
        all += w;
        if (*v > 0.0) == *p {
            right += w;
        }
    }
    if all > 0.0 { right / all } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ring(n: usize) -> (Vec<SparseVec>, Vec<bool>) {
        // Inside the circle of radius 1 or outside it: no line separates them.
        let mut rng = Rng(11);
        let points: Vec<(f64, f64)> =
            (0..n).map(|_| (rng.unit() * 4.0 - 2.0, rng.unit() * 4.0 - 2.0)).collect();
        let labels = points.iter().map(|(x, y)| x * x + y * y < 1.2).collect();
        (points.into_iter().map(|(x, y)| SparseVec::new(vec![(1, x), (2, y)])).collect(), labels)
    }

    #[test]
    fn search_finds_a_machine_that_separates_a_ring() {
        let (x, y) = ring(120);
        let (svm, tried) = Svm::search(&x, &y, &Search { balanced: true, ..Search::default() });
        assert_eq!(tried.len(), 20);
        let best = tried.iter().map(|t| t.accuracy).fold(0.0, f64::max);
        assert!(best > 0.9, "{tried:?}");
        assert!(tried.iter().any(|t| t.accuracy == best && t.kernel == svm.kernel() && t.c == svm.c()));
        assert!(svm.probability(&SparseVec::default()) > 0.8);
        assert!(svm.probability(&SparseVec::new(vec![(1, 1.9), (2, -1.7)])) < 0.2);
        let linear = Svm::search(&x, &y, &Search { gamma: Vec::new(), ..Search::default() });
        assert!(linear.1.iter().all(|t| t.accuracy < best && t.kernel == Kernel::Linear));
        // What a word adds is its weight times the slope, here by differences.
        let at = |a: f64, b: f64| SparseVec::new(vec![(1, a), (2, b)]);
        for svm in [&svm, &linear.0] {
            let (a, b, e) = (0.7, -0.4, 1e-6);
            let by = |x: SparseVec, y: SparseVec| (svm.decision(&x) - svm.decision(&y)) / (2.0 * e);
            let c = svm.contributions(&at(a, b));
            assert!((c.get(1) - a * by(at(a + e, b), at(a - e, b))).abs() < 1e-4);
            assert!((c.get(2) - b * by(at(a, b + e), at(a, b - e))).abs() < 1e-4);
            assert!(svm.contributions(&SparseVec::default()).is_empty());
        }
        // The same seed, the same machine, to the last bit; and after a restart.
        assert_eq!(Svm::search(&x, &y, &Search { balanced: true, ..Search::default() }).0, svm);
        for svm in [svm, linear.0] {
            let bytes = svm.save();
            assert_eq!(Svm::load(&bytes).unwrap(), svm);
            assert!((0..bytes.len()).step_by(7).all(|n| Svm::load(bytes.get(..n).unwrap_or(&[])).is_err()));
        }
    }

    #[test]
    fn one_class_none_and_too_few() {
        let (x, _) = ring(6);
        let p = |labels: &[bool]| Svm::search(&x, labels, &Search::default()).0.probability(&x[0]);
        assert_eq!(p(&[true; 6]), 1.0);
        assert_eq!(p(&[false; 6]), 0.0);
        assert_eq!(p(&[]), 0.5);
        let one = p(&[true, false, false, false, false, false]);
        assert!(one > 0.0 && one < 1.0);
        let (svm, tried) =
            Svm::search(&x[..2], &[true, false], &Search { c: vec![], gamma: vec![], ..Search::default() });
        assert!(tried.is_empty() && svm.decision(&x[0]) > svm.decision(&x[1]));
    }

    #[test]
    fn folds_are_stratified() {
        let labels: Vec<bool> = (0..23).map(|i| i % 3 == 0).collect();
        let folds = stratified(&labels, 4, 9);
        for f in 0..4 {
            let of = |p: bool| folds.iter().zip(&labels).filter(|e| *e.0 == f && *e.1 == p).count();
            assert!((1..=3).contains(&of(true)) && (3..=5).contains(&of(false)));
        }
        assert_eq!(folds, stratified(&labels, 4, 9));
        assert_ne!(folds, stratified(&labels, 4, 10));
        assert!(stratified(&[], 0, 1).is_empty());
    }
}
