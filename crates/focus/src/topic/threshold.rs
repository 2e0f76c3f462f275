//! Where the line is: the five estimators of Siqueira et al., §3 and their subsets of the seeds, as pure
//! functions of similarities.
//!
//! Degenerate input has a defined answer, never NaN: no value gives `None`, one value or all-equal values
//! give that value. Values outside 0–1 are clamped, what is not a number is ignored.

use learn::rng::Rng;

/// The similarity a page needs to be relevant, as the user sets it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Threshold {
    /// Estimated from the seeds and then from the pages crawled so far.
    #[default]
    Auto,
    /// A number from 0 to 1 that the user chose.
    Fixed(f64),
    /// Estimated once, from the seeds' similarities.
    Estimated(Estimator),
}

impl Threshold {
    /// What `[judge] threshold` takes, beside numbers.
    pub const NAMES: &[&str] = &["auto", "mean", "weighted-mean", "kmeans", "birch", "silhouette"];

    /// The threshold of one of [`Threshold::NAMES`].
    pub fn named(name: &str) -> Option<Threshold> {
        if name == "auto" { Some(Threshold::Auto) } else { Estimator::named(name).map(Threshold::Estimated) }
    }
    /// `fixed` for a number.
    pub fn name(self) -> &'static str {
        match self {
            Threshold::Auto => "auto",
            Threshold::Fixed(_) => "fixed",
            Threshold::Estimated(e) => e.name(),
        }
    }
}

/// How a threshold is estimated from the seeds' similarities.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Estimator {
    /// Arithmetic mean after removing outliers (1.5·IQR).
    Mean,
    /// The same with weight 1/rank: the values stand in the order of the search results.
    WeightedMean,
    /// 2-means from (min, max); centroid of the higher cluster.
    KMeans,
    /// CF-tree with threshold half a standard deviation; highest leaf centroid.
    Birch,
    /// The split t ∈ 0, 0.01 … 1 with the best mean silhouette.
    Silhouette,
}

impl Estimator {
    /// In the order of the documentation.
    pub const ALL: [Estimator; 5] = [
        Estimator::Mean,
        Estimator::WeightedMean,
        Estimator::KMeans,
        Estimator::Birch,
        Estimator::Silhouette,
    ];

    /// As `[judge] threshold` names it.
    pub fn name(self) -> &'static str {
        match self {
            Estimator::Mean => "mean",
            Estimator::WeightedMean => "weighted-mean",
            Estimator::KMeans => "kmeans",
            Estimator::Birch => "birch",
            Estimator::Silhouette => "silhouette",
        }
    }
    /// The estimator of this name.
    pub fn named(name: &str) -> Option<Estimator> {
        Estimator::ALL.into_iter().find(|e| e.name() == name)
    }

    /// The threshold for these similarities; `None` when there are none.
    pub fn estimate(self, values: &[f64]) -> Option<f64> {
        let values = usable(values);
        let first = *values.first()?;
        if values.iter().all(|v| *v == first) {
            return Some(first);
        }
        Some(match self {
            Estimator::Mean => mean(&values),
            Estimator::WeightedMean => weighted_mean(&values),
            Estimator::KMeans => two_means(&values).1,
            Estimator::Birch => birch(&values),
            Estimator::Silhouette => silhouette(&values),
        })
    }
}

fn usable(values: &[f64]) -> Vec<f64> {
    values.iter().filter(|v| !v.is_nan()).map(|v| v.clamp(0.0, 1.0)).collect()
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut v = values.to_vec();
    v.sort_by(f64::total_cmp);
    v
}

/// Quantile by linear interpolation between order statistics (the usual default); 0 of nothing.
pub fn quantile(sorted: &[f64], q: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return 0.0 };
    let at = q.clamp(0.0, 1.0) * last as f64;
    let (low, part) = (at as usize, at - at.floor());
    let a = sorted.get(low).copied().unwrap_or(0.0);
    let b = sorted.get(low + 1).copied().unwrap_or(a);
    a + (b - a) * part
}

/// Bounds of the 1.5·IQR rule.
fn fences(values: &[f64]) -> (f64, f64) {
    let s = sorted(values);
    let (q1, q3) = (quantile(&s, 0.25), quantile(&s, 0.75));
    let reach = 1.5 * (q3 - q1);
    (q1 - reach, q3 + reach)
}

fn mean(values: &[f64]) -> f64 {
    let (low, high) = fences(values);
    let kept: Vec<f64> = values.iter().copied().filter(|v| (low..=high).contains(v)).collect();
    kept.iter().sum::<f64>() / kept.len().max(1) as f64
}

fn weighted_mean(values: &[f64]) -> f64 {
    let (low, high) = fences(values);
    let (mut sum, mut weights) = (0.0, 0.0);
    for (i, v) in values.iter().enumerate().filter(|(_, v)| (low..=high).contains(*v)) {
        let w = 1.0 / (i + 1) as f64;
        sum += w * v;
        weights += w;
    }
    if weights > 0.0 { sum / weights } else { 0.0 }
}

/// Lloyd's algorithm with two centres that start at the extremes: (lower centroid, higher centroid).
pub fn two_means(values: &[f64]) -> (f64, f64) {
    let weighted: Vec<(f64, f64)> = values.iter().map(|v| (*v, 1.0)).collect();
    weighted_two_means(&weighted)
}

/// The same over `(value, weight)`.
pub fn weighted_two_means(values: &[(f64, f64)]) -> (f64, f64) {
    let mut low = values.iter().map(|v| v.0).fold(f64::INFINITY, f64::min);
    let mut high = values.iter().map(|v| v.0).fold(f64::NEG_INFINITY, f64::max);
    if low >= high {
        return if low.is_finite() { (low, low) } else { (0.0, 0.0) };
    }
    // In one dimension each step moves the border one way only, so it ends; the bound is for rounding.
    for _ in 0..1000 {
        let (mut a, mut na, mut b, mut nb) = (0.0, 0.0, 0.0, 0.0);
        for &(v, w) in values {
            // Ties go to the lower centre.
            if v - low <= high - v {
                a += w * v;
                na += w;
            } else {
                b += w * v;
                nb += w;
            }
        }
        let new = (if na > 0.0 { a / na } else { low }, if nb > 0.0 { b / nb } else { high });
        if new == (low, high) {
            break;
        }
        (low, high) = new;
    }
    (low, high)
}

/// Clustering feature: how many, their sum, the sum of their squares.
#[derive(Clone, Copy, Default)]
struct Feature {
    n: f64,
    sum: f64,
    squares: f64,
}

impl Feature {
    fn of(v: f64) -> Feature {
        Feature { n: 1.0, sum: v, squares: v * v }
    }
    fn plus(self, o: Feature) -> Feature {
        Feature { n: self.n + o.n, sum: self.sum + o.sum, squares: self.squares + o.squares }
    }
    fn centre(self) -> f64 {
        if self.n > 0.0 { self.sum / self.n } else { 0.0 }
    }
    fn radius_squared(self) -> f64 {
        (self.squares / self.n.max(1.0) - self.centre() * self.centre()).max(0.0)
    }
}

struct Node {
    entries: Vec<(Feature, Option<Box<Node>>)>,
}

const BRANCHING: usize = 50;

impl Node {
    /// True when the node has become too full and must be split.
    fn insert(&mut self, v: f64, limit: f64) -> bool {
        let near = (0..self.entries.len()).min_by(|&a, &b| {
            (self.entries[a].0.centre() - v).abs().total_cmp(&(self.entries[b].0.centre() - v).abs())
        });
        let Some(entry) = near.and_then(|i| self.entries.get_mut(i)) else {
            self.entries.push((Feature::of(v), None));
            return false;
        };
        let merged = entry.0.plus(Feature::of(v));
        match &mut entry.1 {
            Some(child) => {
                if child.insert(v, limit) {
                    let (a, b) = std::mem::replace(child.as_mut(), Node { entries: Vec::new() }).split();
                    *entry = a;
                    self.entries.push(b);
                } else {
                    entry.0 = merged;
                }
            }
            None if merged.radius_squared() <= limit * limit => entry.0 = merged,
            None => self.entries.push((Feature::of(v), None)),
        }
        self.entries.len() > BRANCHING
    }

    /// In two, around the entries that are farthest apart.
    fn split(self) -> ((Feature, Option<Box<Node>>), (Feature, Option<Box<Node>>)) {
        let centres = self.entries.iter().map(|e| e.0.centre());
        let low = centres.clone().fold(f64::INFINITY, f64::min);
        let high = centres.fold(f64::NEG_INFINITY, f64::max);
        let (a, b): (Vec<_>, Vec<_>) = self
            .entries
            .into_iter()
            .partition(|e| e.0.centre() - low < high - e.0.centre() || e.0.centre() == low);
        let whole = |entries: Vec<(Feature, Option<Box<Node>>)>| {
            let f = entries.iter().fold(Feature::default(), |f, e| f.plus(e.0));
            (f, Some(Box::new(Node { entries })))
        };
        (whole(a), whole(b))
    }

    fn highest(&self) -> f64 {
        let of = |e: &(Feature, Option<Box<Node>>)| e.1.as_ref().map_or(e.0.centre(), |n| n.highest());
        self.entries.iter().map(of).fold(0.0, f64::max)
    }
}

/// BIRCH's first phase; the values go in in their order.
fn birch(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / n;
    let limit = 0.5 * libm::sqrt(variance);
    let mut root = Node { entries: Vec::new() };
    for &v in values {
        if root.insert(v, limit) {
            let (a, b) = std::mem::replace(&mut root, Node { entries: Vec::new() }).split();
            root.entries = vec![a, b];
        }
    }
    root.highest()
}

/// ASTS. A t with an empty side is skipped; ties take the smallest t. Without any split: the mean.
fn silhouette(values: &[f64]) -> f64 {
    let s = sorted(values);
    let mut best: Option<(f64, f64)> = None;
    for step in 0..=100 {
        let t = f64::from(step) / 100.0;
        let cut = s.partition_point(|v| *v < t);
        let (below, above) = s.split_at(cut);
        if below.is_empty() || above.is_empty() {
            continue;
        }
        let value = (silhouettes(below, above) + silhouettes(above, below)) / s.len() as f64;
        if best.is_none_or(|(b, _)| value > b) {
            best = Some((value, t));
        }
    }
    best.map_or_else(|| mean(values), |b| b.1)
}

/// Sum of the silhouettes of the members of `own`; a cluster of one has silhouette 0. Sorted input: distances
/// to a whole cluster come from sums, not from pairs.
fn silhouettes(own: &[f64], other: &[f64]) -> f64 {
    if own.len() < 2 || other.is_empty() {
        return 0.0;
    }
    let total: f64 = own.iter().sum();
    // The clusters do not overlap, so all of `other` lies on one side.
    let centre = other.iter().sum::<f64>() / other.len() as f64;
    let (mut before, mut sum) = (0.0, 0.0);
    for (i, &x) in own.iter().enumerate() {
        let after = total - before - x;
        let distances = (x * i as f64 - before) + (after - x * (own.len() - 1 - i) as f64);
        let a = distances.max(0.0) / (own.len() - 1) as f64;
        let b = (centre - x).abs();
        let most = a.max(b);
        if most > 0.0 {
            sum += (b - a) / most;
        }
        before += x;
    }
    sum
}

/// Which of the seeds the estimate is made from (Siqueira et al., §4.3). The share is 0–1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Subset {
    /// All of them.
    Full,
    /// Values within [Q1, Q3].
    Iqr,
    /// A share drawn at random.
    Random(f64),
    /// The most similar share.
    First(f64),
    /// The least similar share.
    Last(f64),
}

impl Subset {
    /// The chosen values: in their own order (`Full`, `Iqr`, `Random`), or by similarity, descending. At
    /// least one is chosen of a list that has any.
    pub fn of(self, values: &[f64], rng: &mut Rng) -> Vec<f64> {
        let values = usable(values);
        let share = |s: f64| {
            ((s.clamp(0.0, 1.0) * values.len() as f64).round() as usize).clamp(1, values.len().max(1))
        };
        match self {
            Subset::Full => values,
            Subset::Iqr => {
                let s = sorted(&values);
                let (q1, q3) = (quantile(&s, 0.25), quantile(&s, 0.75));
                values.into_iter().filter(|v| (q1..=q3).contains(v)).collect()
            }
            Subset::Random(s) => {
                let mut order: Vec<usize> = (0..values.len()).collect();
                rng.shuffle(&mut order);
                order.truncate(share(s));
                order.sort_unstable();
                order.into_iter().filter_map(|i| values.get(i).copied()).collect()
            }
            Subset::First(s) | Subset::Last(s) => {
                let n = share(s).min(values.len());
                let mut all = sorted(&values);
                all.reverse();
                let from = if matches!(self, Subset::Last(_)) { all.len() - n } else { 0 };
                all.into_iter().skip(from).take(n).collect()
            }
        }
    }
}

/// A random subset drawn `times` times: mean of the estimates, and the 2.5 % and 97.5 % quantiles.
pub fn random_subsets(
    values: &[f64],
    share: f64,
    how: Estimator,
    times: usize,
    rng: &mut Rng,
) -> Option<(f64, f64, f64)> {
    let draws: Option<Vec<f64>> =
        (0..times.max(1)).map(|_| how.estimate(&Subset::Random(share).of(values, rng))).collect();
    let draws = sorted(&draws?);
    let mean = draws.iter().sum::<f64>() / draws.len() as f64;
    Some((mean, quantile(&draws, 0.025), quantile(&draws, 0.975)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn close(a: f64, b: f64) {
        assert!((a - b).abs() < 1e-9, "{a} is not {b}");
    }
    fn estimate(e: Estimator, v: &[f64]) -> f64 {
        e.estimate(v).unwrap()
    }

    #[test]
    fn means_by_hand() {
        // Q1 = 0.5, Q3 = 0.7: fences 0.2 and 1.0; 0.05 is an outlier.
        let v = [0.7, 0.5, 0.05, 0.6, 0.8];
        close(quantile(&sorted(&v), 0.25), 0.5);
        close(estimate(Estimator::Mean, &v), (0.7 + 0.5 + 0.6 + 0.8) / 4.0);
        let (w1, w2, w4, w5) = (1.0, 1.0 / 2.0, 1.0 / 4.0, 1.0 / 5.0);
        let expected = (w1 * 0.7 + w2 * 0.5 + w4 * 0.6 + w5 * 0.8) / (w1 + w2 + w4 + w5);
        close(estimate(Estimator::WeightedMean, &v), expected);
    }

    #[test]
    fn kmeans_by_hand() {
        // Centres 0.1 and 0.9 attract {0.1, 0.2, 0.3} and {0.8, 0.9}: 0.2 and 0.85; nothing moves any more.
        close(estimate(Estimator::KMeans, &[0.9, 0.1, 0.2, 0.8, 0.3]), 0.85);
        // 0.5 is as near to 0 as to 1: it goes to the lower one.
        close(estimate(Estimator::KMeans, &[0.0, 0.5, 1.0]), 1.0);
    }

    #[test]
    fn birch_by_hand() {
        // Mean 0.5, deviation 0.4: limit 0.2. Radius of {0.1, 0.1} is 0, of {0.9, 0.9} is 0; 0.1 and 0.9
        // together 0.4.
        close(estimate(Estimator::Birch, &[0.1, 0.9, 0.1, 0.9]), 0.9);
        // Deviation of 0.2, 0.3, 0.8 is √(0.07/… ): limit ≈ 0.1312; {0.2, 0.3} has radius 0.05 and merges,
        // 0.8 is alone.
        close(estimate(Estimator::Birch, &[0.2, 0.3, 0.8]), 0.8);
        // More clusters than one node holds: the tree splits, the highest leaf is still found.
        let many: Vec<f64> = (0..400).map(|i| f64::from(i * 37 % 400) / 400.0).collect();
        assert!(estimate(Estimator::Birch, &many) > 0.7);
    }

    #[test]
    fn silhouette_by_hand() {
        // Splitting {0.1, 0.2} from {0.8, 0.9} is best; the smallest such t is 0.21.
        close(estimate(Estimator::Silhouette, &[0.9, 0.1, 0.8, 0.2]), 0.21);
        // The value itself: a = 0.1; b = 0.75 and 0.65, both ways round.
        let s = silhouettes(&[0.1, 0.2], &[0.8, 0.9]);
        close(s, (0.75 - 0.1) / 0.75 + (0.65 - 0.1) / 0.65);
        close(silhouettes(&[0.8, 0.9], &[0.1, 0.2]), (0.65 - 0.1) / 0.65 + (0.75 - 0.1) / 0.75);
        close(silhouettes(&[0.4], &[0.9]), 0.0);
    }

    #[test]
    fn degenerate_input_is_defined() {
        for e in Estimator::ALL {
            assert_eq!(e.estimate(&[]), None, "{e:?}");
            assert_eq!(e.estimate(&[f64::NAN]), None, "{e:?}");
            assert_eq!(e.estimate(&[0.3]), Some(0.3), "{e:?}");
            assert_eq!(e.estimate(&[0.3, 0.3, 0.3]), Some(0.3), "{e:?}");
            assert_eq!(e.estimate(&[7.0]), Some(1.0), "{e:?}");
            assert_eq!(Estimator::named(e.name()), Some(e));
        }
    }

    #[test]
    fn subsets_by_hand() {
        let v = [0.4, 0.1, 0.3, 0.2];
        let of = |s: Subset| s.of(&v, &mut Rng(1));
        assert_eq!(of(Subset::Full), v);
        // Q1 = 0.175, Q3 = 0.325.
        assert_eq!(of(Subset::Iqr), [0.3, 0.2]);
        assert_eq!(of(Subset::First(0.5)), [0.4, 0.3]);
        assert_eq!(of(Subset::Last(0.25)), [0.1]);
        assert_eq!(of(Subset::Random(0.75)).len(), 3);
        assert_eq!(Subset::First(0.5).of(&[], &mut Rng(1)), Vec::<f64>::new());
        let (mean, low, high) = random_subsets(&v, 0.5, Estimator::Mean, 50, &mut Rng(1)).unwrap();
        assert!(low <= mean && mean <= high && low >= 0.1 && high <= 0.4);
        assert_eq!(random_subsets(&[], 0.5, Estimator::Mean, 5, &mut Rng(1)), None);
    }

    proptest! {
        #[test]
        fn never_out_of_range(v in proptest::collection::vec(any::<f64>(), 0..80)) {
            for e in Estimator::ALL {
                if let Some(t) = e.estimate(&v) {
                    prop_assert!((0.0..=1.0).contains(&t), "{e:?} {t}");
                }
            }
        }

        #[test]
        fn silhouette_agrees_with_the_definition(v in proptest::collection::vec(0.0f64..1.0, 2..20), t in 0.0f64..1.0) {
            let s = sorted(&v);
            let cut = s.partition_point(|x| *x < t);
            let (a, b) = s.split_at(cut);
            let slow: f64 = if a.len() < 2 || b.is_empty() { 0.0 } else {
                a.iter().enumerate().map(|(i, x)| {
                    let own = a.iter().enumerate().filter(|(j, _)| *j != i).map(|(_, y)| (x - y).abs()).sum::<f64>() / (a.len() - 1) as f64;
                    let other = b.iter().map(|y| (x - y).abs()).sum::<f64>() / b.len() as f64;
                    if own.max(other) > 0.0 { (other - own) / own.max(other) } else { 0.0 }
                }).sum()
            };
            prop_assert!((silhouettes(a, b) - slow).abs() < 1e-6);
        }
    }
}
