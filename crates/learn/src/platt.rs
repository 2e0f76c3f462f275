//! Decision values to probabilities: Platt's sigmoid, fitted by Newton's method with backtracking in the
//! numerically stable form of Lin, Lin & Weng (2007).

use crate::sigmoid;

/// `Pr(positive|f) = 1 / (1 + e^(A·f + B))`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Platt {
    /// Slope; negative when larger values mean "positive".
    pub a: f64,
    /// Offset.
    pub b: f64,
}

impl Default for Platt {
    /// Nothing was learnt: a monotone map with ½ at the boundary.
    fn default() -> Platt {
        Platt { a: -1.0, b: 0.0 }
    }
}

impl Platt {
    /// Probability that an example with this decision value is positive; 0.5 for NaN.
    pub fn probability(&self, value: f64) -> f64 {
        let z = -(self.a * value + self.b);
        if z.is_nan() { 0.5 } else { sigmoid(z) }
    }

    /// Fits to decision values and labels. One class only gives (almost) its constant: the targets are
    /// Platt's `(N₊+1)/(N₊+2)` and `1/(N₋+2)`, never 0 or 1. No values at all: the default.
    pub fn fit(values: &[f64], positive: &[bool]) -> Platt {
        let data: Vec<(f64, bool)> =
            values.iter().copied().zip(positive.iter().copied()).filter(|d| d.0.is_finite()).collect();
        let positives = data.iter().filter(|d| d.1).count() as f64;
        let negatives = data.len() as f64 - positives;
        if data.is_empty() {
            return Platt::default();
        }
        let (high, low) = ((positives + 1.0) / (positives + 2.0), 1.0 / (negatives + 2.0));
        let target = |p: bool| if p { high } else { low };
        let loss = |a: f64, b: f64| -> f64 {
            data.iter()
                .map(|(f, p)| {
                    let (z, t) = (f * a + b, target(*p));
                    if z >= 0.0 {
                        t * z + libm::log1p(libm::exp(-z))
                    } else {
                        (t - 1.0) * z + libm::log1p(libm::exp(z))
                    }
                })
                .sum()
        };
        let (mut a, mut b) = (0.0, libm::log((negatives + 1.0) / (positives + 1.0)));
        let mut value = loss(a, b);
        for _ in 0..100 {
            // A little on the diagonal keeps the matrix invertible when all values are equal.
            let (mut h11, mut h22, mut h21, mut g1, mut g2) = (1e-12, 1e-12, 0.0, 0.0, 0.0);
            for (f, positive) in &data {
                let p = sigmoid(-(f * a + b));
                let (d2, d1) = (p * (1.0 - p), target(*positive) - p);
                h11 += f * f * d2;
                h22 += d2;
                h21 += f * d2;
                g1 += f * d1;
                g2 += d1;
            }
            if g1.abs() < 1e-5 && g2.abs() < 1e-5 {
                break;
            }
            let det = h11 * h22 - h21 * h21;
            let (da, db) = (-(h22 * g1 - h21 * g2) / det, -(h11 * g2 - h21 * g1) / det);
            let slope = g1 * da + g2 * db;
            let mut step = 1.0;
            let moved = loop {
                let (na, nb) = (a + step * da, b + step * db);
                let new = loss(na, nb);
                if new < value + 1e-4 * step * slope {
                    (a, b, value) = (na, nb, new);
                    break true;
                }
                step /= 2.0;
                if step < 1e-10 {
                    break false;
                }
            };
            if !moved {
                break;
            }
        }
        if a.is_finite() && b.is_finite() { Platt { a, b } } else { Platt::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn symmetric_data_by_hand() {
        // Two values ±1, ten of each, all on their own side: targets 11/12 and 1/12, B = 0 and σ(−A) = 11/12.
        let values: Vec<f64> = (0..20).map(|i| if i < 10 { 1.0 } else { -1.0 }).collect();
        let labels: Vec<bool> = (0..20).map(|i| i < 10).collect();
        let p = Platt::fit(&values, &labels);
        assert!((p.a + 11f64.ln()).abs() < 1e-4 && p.b.abs() < 1e-4, "{p:?}");
        assert!((p.probability(1.0) - 11.0 / 12.0).abs() < 1e-4);
    }

    #[test]
    fn degenerate_values() {
        assert_eq!(Platt::fit(&[], &[]), Platt::default());
        assert_eq!(Platt::fit(&[f64::NAN], &[true]), Platt::default());
        assert!(Platt::fit(&[0.5, 0.7, 2.0], &[true; 3]).probability(0.6) > 0.7);
        assert!(Platt::fit(&[0.5, 0.7, 2.0], &[false; 3]).probability(0.6) < 0.3);
        let same = Platt::fit(&[1.0; 4], &[true, true, true, false]);
        // Targets 4/5, 4/5, 4/5 and 1/3: their mean.
        assert!((same.probability(1.0) - (3.0 * 0.8 + 1.0 / 3.0) / 4.0).abs() < 1e-4, "{same:?}");
        assert_eq!(Platt::default().probability(f64::NAN), 0.5);
    }

    proptest! {
        #[test]
        fn always_a_probability(data in proptest::collection::vec((any::<f64>(), any::<bool>()), 0..40), x in any::<f64>()) {
            let (values, labels): (Vec<f64>, Vec<bool>) = data.into_iter().unzip();
            let p = Platt::fit(&values, &labels).probability(x);
            prop_assert!((0.0..=1.0).contains(&p));
        }
    }
}
