//! Sequential minimal optimisation for the C-SVC dual, with second-order working sets (Fan, Chen & Lin 2005)
//! and a bounded cache of kernel rows: `min ½ αᵀQα − Σα`, `0 ≤ α_i ≤ C_i`, `Σ y_i α_i = 0`,
//! `Q_ij = y_i y_j K(x_i, x_j)`.

use crate::matrix::Matrix;

/// How alike two vectors are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kernel {
    /// The dot product.
    Linear,
    /// `e^(−γ‖x−y‖²)`
    Rbf(f64),
}

impl Kernel {
    /// From the product and the squared lengths.
    pub fn of(self, dot: f64, xx: f64, yy: f64) -> f64 {
        match self {
            Kernel::Linear => dot,
            Kernel::Rbf(gamma) => libm::exp(-gamma * (xx + yy - 2.0 * dot).max(0.0)),
        }
    }
}

/// Products of all pairs of rows when they fit, so that every fold and every γ of a search can share them.
pub struct Gram {
    squares: Vec<f64>,
    /// Row-major, or empty when there are too many rows.
    products: Vec<f64>,
    data: Matrix,
}

/// 2048² × 8 bytes = 32 MiB.
const MOST_IN_FULL: usize = 2048;

impl Gram {
    /// Products of all pairs of rows, unless there are too many: then they are computed when needed.
    pub fn of(data: &Matrix) -> Gram {
        let n = data.len();
        let mut gram = Gram {
            squares: data.rows().map(|r| r.square).collect(),
            products: Vec::new(),
            data: data.clone(),
        };
        if n <= MOST_IN_FULL {
            let mut products = Vec::with_capacity(n * n);
            let mut dense = vec![0.0; data.width()];
            for i in 0..n {
                gram.dots(i, &mut dense, &mut products);
            }
            gram.products = products;
        }
        gram
    }
    /// Number of rows.
    pub fn len(&self) -> usize {
        self.squares.len()
    }
    /// There are no rows.
    pub fn is_empty(&self) -> bool {
        self.squares.is_empty()
    }

    /// Appends the products of row `i` with every row. `dense` is all zeros before and after.
    fn dots(&self, i: usize, dense: &mut [f64], out: &mut Vec<f64>) {
        for (c, v) in self.data.row(i).iter() {
            dense.get_mut(c).into_iter().for_each(|d| *d = v);
        }
        out.extend(self.data.rows().map(|r| r.dot_dense(dense)));
        for (c, _) in self.data.row(i).iter() {
            dense.get_mut(c).into_iter().for_each(|d| *d = 0.0);
        }
    }

    /// The kernel of row `i` with each of `with`.
    fn kernel_row(&self, kernel: Kernel, i: usize, with: &[usize], dense: &mut Vec<f64>) -> Vec<f64> {
        let n = self.len();
        let mut made = Vec::new();
        let dots: &[f64] = if self.products.is_empty() {
            dense.resize(self.data.width(), 0.0);
            self.dots(i, dense, &mut made);
            &made
        } else {
            self.products.get(i * n..(i + 1) * n).unwrap_or(&[])
        };
        let xx = self.squares.get(i).copied().unwrap_or(0.0);
        let of = |j: &usize| match (dots.get(*j), self.squares.get(*j)) {
            (Some(dot), Some(yy)) => kernel.of(*dot, xx, *yy),
            _ => 0.0,
        };
        with.iter().map(of).collect()
    }

    /// The kernel of one pair.
    pub fn kernel(&self, kernel: Kernel, i: usize, j: usize) -> f64 {
        let dot = match self.products.get(i * self.len() + j) {
            Some(d) if j < self.len() => *d,
            _ => self.data.row(i).dot(&self.data.row(j)),
        };
        let square = |i: usize| self.squares.get(i).copied().unwrap_or(0.0);
        kernel.of(dot, square(i), square(j))
    }
}

/// Kernel rows used lately; the one not used for longest goes when there is no room.
struct Cache<'a> {
    gram: &'a Gram,
    kernel: Kernel,
    subset: &'a [usize],
    rows: Vec<Option<Vec<f64>>>,
    /// Rows kept, each with the time of its last use.
    kept: Vec<(usize, u64)>,
    time: u64,
    most: usize,
    dense: Vec<f64>,
}

impl Cache<'_> {
    fn load(&mut self, i: usize) {
        self.time += 1;
        if self.rows.get(i).is_some_and(Option::is_some) {
            self.kept.iter_mut().filter(|k| k.0 == i).for_each(|k| k.1 = self.time);
            return;
        }
        if self.kept.len() >= self.most
            && let Some(oldest) = (0..self.kept.len()).min_by_key(|n| self.kept.get(*n).map(|k| k.1))
        {
            let (old, _) = self.kept.swap_remove(oldest);
            self.rows.get_mut(old).into_iter().for_each(|r| *r = None);
        }
        let at = self.subset.get(i).copied().unwrap_or(0);
        let row = self.gram.kernel_row(self.kernel, at, self.subset, &mut self.dense);
        if let Some(place) = self.rows.get_mut(i) {
            *place = Some(row);
        }
        self.kept.push((i, self.time));
    }
    fn row(&self, i: usize) -> &[f64] {
        self.rows.get(i).and_then(|r| r.as_deref()).unwrap_or(&[])
    }
}

/// The problem to be solved, beside its data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Params {
    /// How alike two vectors are.
    pub kernel: Kernel,
    /// Cost of an example on the wrong side: larger fits the examples more closely.
    pub c: f64,
    /// Multiply C for the positive and the negative examples.
    pub weights: (f64, f64),
    /// Largest violation of the optimality conditions that is good enough.
    pub tolerance: f64,
    /// Bytes of kernel rows kept.
    pub cache: usize,
}

impl Params {
    /// Both classes weigh 1, tolerance 0.001, 64 MB of kernel rows.
    pub fn new(kernel: Kernel, c: f64) -> Params {
        Params { kernel, c, weights: (1.0, 1.0), tolerance: 1e-3, cache: 64 << 20 }
    }
}

/// The solution: `f(x) = Σ coefficient_i K(x_i, x) − rho`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Solution {
    /// `y_i α_i`, one per row of the subset.
    pub coefficients: Vec<f64>,
    /// Offset of the decision value.
    pub rho: f64,
    /// False when the bound on the number of steps was reached first.
    pub converged: bool,
}

/// Solves for the rows `subset` with labels `positive` (parallel to `subset`). One class only, or nothing:
/// all coefficients 0 and the constant +1, −1 or 0.
pub fn solve(gram: &Gram, subset: &[usize], positive: &[bool], params: &Params) -> Solution {
    let n = subset.len().min(positive.len());
    let subset = subset.get(..n).unwrap_or(&[]);
    let positives = positive.iter().take(n).filter(|p| **p).count();
    if positives == 0 || positives == n {
        let constant = if n == 0 {
            0.0
        } else if positives == 0 {
            -1.0
        } else {
            1.0
        };
        return Solution { coefficients: vec![0.0; n], rho: -constant, converged: true };
    }
    let y: Vec<f64> = positive.iter().take(n).map(|p| if *p { 1.0 } else { -1.0 }).collect();
    let bound: Vec<f64> = positive
        .iter()
        .take(n)
        .map(|p| (params.c * if *p { params.weights.0 } else { params.weights.1 }).clamp(1e-9, 1e9))
        .collect();
    let diagonal: Vec<f64> = subset.iter().map(|i| gram.kernel(params.kernel, *i, *i)).collect();
    let most = (params.cache / (8 * n)).clamp(2, n.max(2));
    let mut cache = Cache {
        gram,
        kernel: params.kernel,
        subset,
        rows: vec![None; n],
        kept: Vec::new(),
        time: 0,
        most,
        dense: Vec::new(),
    };
    let mut state = State { alpha: vec![0.0; n], gradient: vec![-1.0; n], y, bound };
    let most_steps = 100_000usize.max(n.saturating_mul(200));
    let mut converged = false;
    for _ in 0..most_steps {
        let Some((i, top)) = state.first() else {
            converged = true;
            break;
        };
        cache.load(i);
        let (j, bottom) = state.second(i, top, cache.row(i), &diagonal);
        let Some(j) = j.filter(|_| top - bottom >= params.tolerance) else {
            converged = true;
            break;
        };
        cache.load(j);
        state.step(i, j, cache.row(i), cache.row(j), &diagonal);
    }
    let rho = state.rho();
    let coefficients = state.alpha.iter().zip(&state.y).map(|(a, y)| a * y).collect();
    Solution { coefficients, rho, converged }
}

/// Curvature of a pair that is not positive counts as this (a kernel that is not quite positive definite).
const TAU: f64 = 1e-12;

struct State {
    alpha: Vec<f64>,
    /// Gradient of the objective: `Qα − 1`.
    gradient: Vec<f64>,
    y: Vec<f64>,
    bound: Vec<f64>,
}

impl State {
    /// (label, may grow, may shrink, gradient) of every variable. Slices of one length: no bounds to check
    /// inside.
    fn each(&self) -> impl Iterator<Item = (f64, bool, bool, f64)> + '_ {
        let values = self.alpha.iter().zip(&self.bound).zip(self.y.iter().zip(&self.gradient));
        values.map(|((a, c), (y, g))| (*y, *a < *c, *a > 0.0, *g))
    }

    /// The variable that violates optimality most from above.
    fn first(&self) -> Option<(usize, f64)> {
        let mut best: Option<(usize, f64)> = None;
        for (t, (y, grow, shrink, g)) in self.each().enumerate() {
            let up = if y > 0.0 { grow } else { shrink };
            if up && best.is_none_or(|b| -y * g > b.1) {
                best = Some((t, -y * g));
            }
        }
        best
    }

    /// The partner whose step improves the objective most, and the violation from below.
    fn second(&self, i: usize, top: f64, row: &[f64], diagonal: &[f64]) -> (Option<usize>, f64) {
        let own = diagonal.get(i).copied().unwrap_or(0.0);
        let (mut best, mut gain, mut bottom) = (None, 0.0, f64::INFINITY);
        for (t, (((y, grow, shrink, g), k), d)) in self.each().zip(row).zip(diagonal).enumerate() {
            let low = if y > 0.0 { shrink } else { grow };
            if !low {
                continue;
            }
            bottom = f64::min(bottom, -y * g);
            let difference = top + y * g;
            if difference > 0.0 {
                let curve = own + d - 2.0 * k;
                let curve = if curve > 0.0 { curve } else { TAU };
                let improved = difference * difference / curve;
                if best.is_none() || improved > gain {
                    (best, gain) = (Some(t), improved);
                }
            }
        }
        (best, bottom)
    }

    /// Moves the pair along the constraint to the best point of its box, and brings the gradient up to date.
    fn step(&mut self, i: usize, j: usize, row_i: &[f64], row_j: &[f64], diagonal: &[f64]) {
        let at = |v: &[f64], k: usize| v.get(k).copied().unwrap_or(0.0);
        let (yi, yj, ci, cj) = (at(&self.y, i), at(&self.y, j), at(&self.bound, i), at(&self.bound, j));
        let (ai, aj) = (at(&self.alpha, i), at(&self.alpha, j));
        let curve = at(diagonal, i) + at(diagonal, j) - 2.0 * at(row_i, j);
        let curve = if curve > 0.0 { curve } else { TAU };
        // Along the direction in which y_i α_i grows and y_j α_j shrinks by the same amount.
        let wanted = (-yi * at(&self.gradient, i) + yj * at(&self.gradient, j)) / curve;
        let room_i = if yi > 0.0 { ci - ai } else { ai };
        let room_j = if yj > 0.0 { aj } else { cj - aj };
        let move_by = wanted.min(room_i).min(room_j).max(0.0);
        // Ending exactly on the bound matters: "at the bound" is asked with an equality.
        let land = |a: f64, c: f64, y: f64, room: f64| {
            if move_by < room {
                a + y * move_by
            } else if y > 0.0 {
                c
            } else {
                0.0
            }
        };
        let (new_i, new_j) = (land(ai, ci, yi, room_i), land(aj, cj, -yj, room_j));
        self.alpha.get_mut(i).into_iter().for_each(|a| *a = new_i);
        self.alpha.get_mut(j).into_iter().for_each(|a| *a = new_j);
        let (di, dj) = (yi * (new_i - ai), yj * (new_j - aj));
        for (((g, y), ki), kj) in self.gradient.iter_mut().zip(&self.y).zip(row_i).zip(row_j) {
            *g += y * (di * ki + dj * kj);
        }
    }

    /// The offset: the mean over free variables, else the middle of what is allowed.
    fn rho(&self) -> f64 {
        let (mut upper, mut lower, mut sum, mut free) = (f64::INFINITY, f64::NEG_INFINITY, 0.0, 0usize);
        for (y, grow, shrink, g) in self.each() {
            let yg = y * g;
            match (grow, shrink) {
                (true, true) => {
                    free += 1;
                    sum += yg;
                }
                (true, false) if y > 0.0 => upper = upper.min(yg),
                (true, false) => lower = lower.max(yg),
                _ if y > 0.0 => lower = lower.max(yg),
                _ => upper = upper.min(yg),
            }
        }
        let rho = if free > 0 { sum / free as f64 } else { (upper + lower) / 2.0 };
        if rho.is_finite() { rho } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    #[test]
    fn two_points_by_hand() {
        // x = −1 and +1, linear: the widest margin is f(x) = x, α = ½ each.
        let gram = Gram::of(&Matrix::of_values(&[-1.0, 1.0]));
        let s = solve(&gram, &[0, 1], &[false, true], &Params::new(Kernel::Linear, 10.0));
        assert!(
            s.converged && (s.coefficients[0] + 0.5).abs() < 1e-9 && (s.coefficients[1] - 0.5).abs() < 1e-9
        );
        assert!(s.rho.abs() < 1e-9);
        // C below ½ binds: α = C.
        let s = solve(&gram, &[0, 1], &[false, true], &Params::new(Kernel::Linear, 0.1));
        assert_eq!(s.coefficients, [-0.1, 0.1]);
    }

    #[test]
    fn one_class_is_a_constant() {
        let gram = Gram::of(&Matrix::of_values(&[1.0, 2.0]));
        let p = Params::new(Kernel::Rbf(1.0), 1.0);
        assert_eq!(solve(&gram, &[0, 1], &[true, true], &p).rho, -1.0);
        assert_eq!(solve(&gram, &[0, 1], &[false, false], &p).rho, 1.0);
        assert_eq!(solve(&gram, &[], &[], &p).rho, 0.0);
        assert_eq!(solve(&gram, &[0, 99], &[true, false], &p).coefficients.len(), 2);
    }

    #[test]
    fn optimality_holds_with_a_tiny_cache_too() {
        let mut rng = Rng(5);
        let x: Vec<f64> = (0..60).map(|_| rng.unit() * 6.0).collect();
        let y: Vec<bool> = x.iter().map(|v| libm::sin(*v) + rng.unit() * 0.4 > 0.2).collect();
        let gram = Gram::of(&Matrix::of_values(&x));
        let all: Vec<usize> = (0..60).collect();
        let p = Params { weights: (2.0, 1.0), tolerance: 1e-6, ..Params::new(Kernel::Rbf(2.0), 3.0) };
        let s = solve(&gram, &all, &y, &p);
        assert_eq!(s, solve(&gram, &all, &y, &Params { cache: 0, ..p }));
        assert!(s.converged && s.coefficients.iter().sum::<f64>().abs() < 1e-9);
        for (i, positive) in y.iter().enumerate() {
            let f: f64 =
                (0..60).map(|j| s.coefficients[j] * gram.kernel(p.kernel, i, j)).sum::<f64>() - s.rho;
            let (label, c) = if *positive { (1.0, 6.0) } else { (-1.0, 3.0) };
            let alpha = s.coefficients[i] * label;
            assert!((-1e-9..=c + 1e-9).contains(&alpha));
            // Karush–Kuhn–Tucker: outside the margin unused, inside at the bound.
            if alpha < 1e-9 {
                assert!(label * f > 1.0 - 1e-4)
            }
            if alpha > c - 1e-9 {
                assert!(label * f < 1.0 + 1e-4)
            }
        }
    }

    #[test]
    fn identical_points_with_both_labels_end() {
        let gram = Gram::of(&Matrix::of_values(&[1.0; 6]));
        let s = solve(
            &gram,
            &[0, 1, 2, 3, 4, 5],
            &[true, false, true, false, true, true],
            &Params::new(Kernel::Rbf(1.0), 1.0),
        );
        assert!(s.rho.is_finite() && s.coefficients.iter().all(|c| c.is_finite()));
    }
}
