//! Small-sample statistics for comparing strategies: means with 95 % intervals, paired comparisons, sign test
//! and Wilcoxon's signed-rank test. Deterministic, and the same on every machine (`libm`).

use learn::rng::Rng;
use libm::{exp, fabs, lgamma, log, sqrt};

/// A mean and its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Arithmetic mean.
    pub mean: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Values behind it.
    pub n: usize,
}

/// 0 for no values.
pub fn mean(values: &[f64]) -> f64 {
    if values.is_empty() { 0.0 } else { values.iter().sum::<f64>() / values.len() as f64 }
}

/// Sample standard deviation; 0 for fewer than two values.
pub fn deviation(values: &[f64]) -> f64 {
    if values.len() < 2 {
        return 0.0;
    }
    let m = mean(values);
    sqrt(values.iter().map(|v| (v - m) * (v - m)).sum::<f64>() / (values.len() - 1) as f64)
}

/// Mean with Student's t interval: for repeated runs that differ only in their random numbers. With one value
/// (or equal ones) the interval is that value: there is nothing to estimate it from.
pub fn t_interval(values: &[f64]) -> Interval {
    let (m, n) = (mean(values), values.len());
    let half = if n < 2 { 0.0 } else { t_quantile_975(n - 1) * deviation(values) / sqrt(n as f64) };
    Interval { mean: m, low: m - half, high: m + half, n }
}

/// Mean with a percentile bootstrap interval: for means over topics, which are not alike and not many.
pub fn bootstrap(values: &[f64], rounds: usize, seed: u64) -> Interval {
    let (m, n) = (mean(values), values.len());
    if n < 2 || rounds == 0 {
        return Interval { mean: m, low: m, high: m, n };
    }
    let mut rng = Rng(seed);
    let mut means: Vec<f64> =
        (0..rounds).map(|_| (0..n).map(|_| values[rng.below(n)]).sum::<f64>() / n as f64).collect();
    means.sort_by(f64::total_cmp);
    let at = |q: f64| means[((rounds - 1) as f64 * q + 0.5) as usize];
    Interval { mean: m, low: at(0.025), high: at(0.975), n }
}

/// How strategy A did against B on the same topics and seeds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Paired {
    /// Pairs in which A is better.
    pub wins: usize,
    /// Pairs in which B is better.
    pub losses: usize,
    /// Pairs that are equal.
    pub ties: usize,
    /// Mean of A − B.
    pub difference: f64,
    /// Two-sided exact sign test; ties are left out.
    pub sign_p: f64,
    /// Two-sided Wilcoxon signed-rank test: exact up to 25 pairs, normal approximation beyond.
    pub wilcoxon_p: f64,
}

/// Compares pair by pair; differences up to `tie` are ties. Longer lists are cut to the shorter.
pub fn paired(a: &[f64], b: &[f64], tie: f64) -> Paired {
    let all: Vec<f64> = a.iter().zip(b).map(|(x, y)| x - y).collect();
    let real: Vec<f64> = all.iter().copied().filter(|d| fabs(*d) > tie && d.is_finite()).collect();
    let wins = real.iter().filter(|d| **d > 0.0).count();
    let losses = real.len() - wins;
    Paired {
        wins,
        losses,
        ties: all.len() - real.len(),
        difference: mean(&all),
        sign_p: sign_test(wins, losses),
        wilcoxon_p: wilcoxon(&real),
    }
}

/// Two-sided: how often a fair coin is at least as uneven.
pub fn sign_test(wins: usize, losses: usize) -> f64 {
    let n = wins + losses;
    if n == 0 {
        return 1.0;
    }
    let few = wins.min(losses);
    let choose =
        |k: usize| exp(lgamma(n as f64 + 1.0) - lgamma(k as f64 + 1.0) - lgamma((n - k) as f64 + 1.0));
    let scale = exp(-(n as f64) * std::f64::consts::LN_2);
    let tail: f64 = (0..=few).map(|k| choose(k) * scale).sum();
    (2.0 * tail).min(1.0)
}

/// Signed-rank test of non-zero differences.
pub fn wilcoxon(differences: &[f64]) -> f64 {
    let mut d: Vec<f64> = differences.iter().copied().filter(|x| *x != 0.0 && x.is_finite()).collect();
    let n = d.len();
    if n == 0 {
        return 1.0;
    }
    d.sort_by(|a, b| fabs(*a).total_cmp(&fabs(*b)));
    // Ranks doubled, so that the mean rank of tied values is a whole number.
    let mut ranks = vec![0u64; n];
    let mut tied = 0.0;
    let mut i = 0;
    while i < n {
        let mut j = i;
        while j + 1 < n && fabs(d[j + 1]) == fabs(d[i]) {
            j += 1;
        }
        for r in &mut ranks[i..=j] {
            *r = (i + j + 2) as u64;
        }
        let t = (j - i + 1) as f64;
        tied += t * t * t - t;
        i = j + 1;
    }
    let plus: u64 = d.iter().zip(&ranks).filter(|(x, _)| **x > 0.0).map(|(_, r)| r).sum();
    let total: u64 = ranks.iter().sum();
    let w = plus.min(total - plus);
    if n <= 25 {
        // Number of sign patterns for each (doubled) sum.
        let mut ways = vec![0f64; total as usize + 1];
        ways[0] = 1.0;
        for &r in &ranks {
            for s in (r as usize..ways.len()).rev() {
                ways[s] += ways[s - r as usize];
            }
        }
        let below: f64 = ways[..=w as usize].iter().sum();
        return (2.0 * below / exp(n as f64 * std::f64::consts::LN_2)).min(1.0);
    }
    let nf = n as f64;
    let centre = nf * (nf + 1.0) / 4.0;
    let spread = sqrt((nf * (nf + 1.0) * (2.0 * nf + 1.0) - tied / 2.0) / 24.0);
    let z = (fabs(w as f64 / 2.0 - centre) - 0.5).max(0.0) / spread;
    libm::erfc(z / std::f64::consts::SQRT_2).min(1.0)
}

/// The t value that 97.5 % of Student's distribution with `df` degrees of freedom lies below.
pub fn t_quantile_975(df: usize) -> f64 {
    let df = df.max(1) as f64;
    // P(T > t) = I_{df/(df+t²)}(df/2, 1/2) / 2 falls with t: halve an interval that holds the answer.
    let (mut low, mut high) = (0.0, 13.0);
    for _ in 0..80 {
        let t = (low + high) / 2.0;
        let above = incomplete_beta(df / 2.0, 0.5, df / (df + t * t)) / 2.0;
        if above > 0.025 { low = t } else { high = t }
    }
    (low + high) / 2.0
}

/// Regularised incomplete beta function, by its continued fraction (modified Lentz).
fn incomplete_beta(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - incomplete_beta(b, a, 1.0 - x);
    }
    let front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log(1.0 - x)) / a;
    let tiny = 1e-300;
    let guard = |v: f64| if fabs(v) < tiny { tiny } else { v };
    let (mut c, mut d) = (1.0, 1.0 / guard(1.0 - (a + b) * x / (a + 1.0)));
    let mut f = d;
    for m in 1..300 {
        let m = m as f64;
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        d = 1.0 / guard(1.0 + even * d);
        c = guard(1.0 + even / c);
        f *= c * d;
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        d = 1.0 / guard(1.0 + odd * d);
        c = guard(1.0 + odd / c);
        f *= c * d;
        if fabs(c * d - 1.0) < 1e-15 {
            break;
        }
    }
    front * f
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: f64, b: f64) {
        assert!((a - b).abs() < 5e-4, "{a} is not {b}");
    }

    #[test]
    fn t_values_of_the_tables() {
        for (df, t) in [(1, 12.7062), (2, 4.3027), (4, 2.7764), (9, 2.2622), (29, 2.0452), (1000, 1.9623)] {
            near(t_quantile_975(df), t);
        }
    }

    #[test]
    fn intervals() {
        // 2, 4, 6: mean 4, s = 2, half width 4.3027·2/√3 = 4.9683.
        let i = t_interval(&[2.0, 4.0, 6.0]);
        near(i.mean, 4.0);
        near(i.high, 8.9683);
        near(i.low, -0.9683);
        assert_eq!(t_interval(&[0.5]), Interval { mean: 0.5, low: 0.5, high: 0.5, n: 1 });
        assert_eq!(t_interval(&[]).mean, 0.0);
        let b = bootstrap(&[1.0, 2.0, 3.0, 4.0], 1000, 1);
        assert_eq!(b, bootstrap(&[1.0, 2.0, 3.0, 4.0], 1000, 1));
        assert!(b.low < 2.0 && b.high > 3.0 && b.low >= 1.0 && b.high <= 4.0, "{b:?}");
    }

    #[test]
    fn sign_test_by_hand() {
        // 6 of 6: 2·(1/64). 5 of 6: 2·(1 + 6)/64. 1 of 2: certain.
        near(sign_test(6, 0), 0.03125);
        near(sign_test(1, 5), 0.21875);
        near(sign_test(1, 1), 1.0);
        near(sign_test(0, 0), 1.0);
    }

    #[test]
    fn wilcoxon_by_hand() {
        // 1, 2, 3 all positive: W− = 0, one of 2³ patterns, both sides: 2/8.
        near(wilcoxon(&[1.0, 2.0, 3.0]), 0.25);
        // −1, 2, 3: sums ≤ 1 are {} and {1}: 2·2/8.
        near(wilcoxon(&[-1.0, 2.0, 3.0]), 0.5);
        // Ties: 1, 1, −1 have rank 2 each; W− = 2; patterns with sum ≤ 2: {} and three of one: 2·4/8.
        near(wilcoxon(&[1.0, 1.0, -1.0]), 1.0);
        // The approximation agrees with the table's neighbourhood: n = 30, all positive.
        let many: Vec<f64> = (1..=30).map(f64::from).collect();
        assert!(wilcoxon(&many) < 1e-5);
        near(wilcoxon(&[]), 1.0);
    }

    #[test]
    fn paired_counts() {
        let p = paired(&[0.5, 0.6, 0.7, 0.4], &[0.4, 0.6, 0.5, 0.5], 1e-9);
        assert_eq!((p.wins, p.losses, p.ties), (2, 1, 1));
        near(p.difference, 0.05);
        near(p.sign_p, 1.0);
        let nan = paired(&[f64::NAN], &[1.0], 0.0);
        assert_eq!((nan.wins, nan.ties), (0, 1));
    }
}
