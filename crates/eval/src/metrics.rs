//! What a fetch order is worth.
//!
//! Definitions, once and for all. `R` = reachable pages, `M` = relevant reachable pages (seeds never count),
//! `n` = counted pages fetched so far (seeds and ignored pages are counted: fetching them costs as much),
//! `rel(n)` = relevant ones among them, `recall(n) = rel(n) / M`.
//!
//! * **harvest** = `rel(n) / n` at the end.
//! * **auc** = area under `recall(n)` against `n / R`, by the trapezoid rule on the points `n = 0, 1, …, R`.
//!   A crawl that stops early goes on flat to `R`; pages beyond `R` (a crawler in a spider trap) earn
//!   nothing. A relevant page fetched as the `p`-th adds `(R − p + ½) / (R·M)`, so the sum is exact in whole
//!   numbers.
//! * **random_auc** = its expected value for a uniformly random order of the reachable pages: ½, or with a
//!   budget of `b < R` pages `(b·R − b²/2) / R²`.
//! * **oracle_auc** = that of [`crate::oracle`], cut at the same budget.
//! * **normalised_auc** = (auc − random) / (oracle − random): 1 = as good as the oracle, 0 = as good as
//!   chance.
//! * **search length** of a share `q` = the smallest `n` with `rel(n) ≥ ⌈q·M⌉`.
//! * **found** at a budget `b` = `rel(b)`; of a crawl that ended earlier, what it had at its end.
//!
//! Where a value is not defined (no relevant page, never reached) it is `None`, never NaN.

use crate::labels::Class;
use crate::oracle::area;
use std::collections::BTreeMap;

/// One counted page, in fetch order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// How the page counts, by its labels.
    pub class: Class,
    /// What the judge decided.
    pub judged: bool,
    /// The judge's score.
    pub score: f64,
}

/// What there was to find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Truth {
    /// Pages that the seeds reach, the seeds included.
    pub reachable: usize,
    /// Of those, how many are relevant; seeds never count.
    pub relevant: usize,
    /// Pages the crawl was allowed, when fewer than are reachable.
    pub budget: Option<usize>,
}

impl Truth {
    fn budget(&self) -> usize {
        self.budget.unwrap_or(self.reachable).min(self.reachable)
    }

    /// From a doubled area in pages to 0–1.
    fn share(&self, doubled: u128) -> Option<f64> {
        let whole = 2 * self.reachable as u128 * self.relevant as u128;
        (whole > 0).then(|| doubled as f64 / whole as f64)
    }

    /// The auc of an order given as "is it relevant?".
    pub fn auc(&self, order: impl Iterator<Item = bool>) -> Option<f64> {
        self.share(area(order, self.reachable))
    }

    /// The auc of an order cut at the budget.
    pub fn auc_in_budget(&self, order: impl Iterator<Item = bool>) -> Option<f64> {
        self.auc(order.take(self.budget()))
    }

    /// The auc that a random order has on average.
    pub fn random_auc(&self) -> Option<f64> {
        let (b, r) = (self.budget() as f64, self.reachable as f64);
        (self.reachable > 0 && self.relevant > 0).then(|| (b * r - b * b / 2.0) / (r * r))
    }
}

/// (auc − random) / (oracle − random).
pub fn normalised(auc: f64, oracle: f64, random: f64) -> Option<f64> {
    let room = oracle - random;
    (room.abs() > 1e-12).then(|| (auc - random) / room)
}

/// Everything measured on one order.
#[derive(Clone, Debug, PartialEq)]
pub struct Measures {
    /// Pages that count.
    pub pages: usize,
    /// Of those, how many are relevant.
    pub relevant: usize,
    /// `relevant / pages`; `None` without pages.
    pub harvest: Option<f64>,
    /// Area under recall over pages, 0–1; `None` when nothing relevant is reachable.
    pub auc: Option<f64>,
    /// Pages until half of the relevant ones were found; `None` when that never happened.
    pub search_length_50: Option<usize>,
    /// Pages until nine tenths of the relevant ones were found.
    pub search_length_90: Option<usize>,
    /// Relevant pages among the first of each of [`BUDGETS`].
    pub found: BTreeMap<usize, usize>,
    /// At most [`POINTS`] points `(n, recall)`, the first (0, 0), the last at the end of the crawl.
    pub recall: Vec<(usize, f64)>,
    /// At most [`POINTS`] points `(n, share of relevant pages among the window of pages before)`.
    pub harvest_rate: Vec<(usize, f64)>,
    /// How well the judge's verdicts agree with the labels.
    pub judge: Decision,
}

/// Most points of a curve in a results file.
pub const POINTS: usize = 200;

/// Pages that users let a crawl fetch: what is found until then matters more to them than the area, which
/// hides the start.
pub const BUDGETS: [usize; 5] = [100, 250, 500, 1000, 2000];

/// Measures a crawl's order against what there was to find.
pub fn measure(order: &[Step], truth: &Truth) -> Measures {
    let hits: Vec<bool> = order.iter().map(|s| s.class == Class::Relevant).collect();
    let relevant = hits.iter().filter(|h| **h).count();
    Measures {
        pages: order.len(),
        relevant,
        harvest: ratio(relevant, order.len()),
        auc: truth.auc(hits.iter().copied()),
        search_length_50: search_length(&hits, truth.relevant, 50),
        search_length_90: search_length(&hits, truth.relevant, 90),
        found: found(&hits),
        recall: recall_curve(&hits, truth.relevant),
        harvest_rate: windowed(&hits),
        judge: Decision::of(order.iter().filter_map(|s| known(s.class).map(|r| (s.judged, r)))),
    }
}

fn known(class: Class) -> Option<bool> {
    match class {
        Class::Relevant => Some(true),
        Class::Irrelevant => Some(false),
        Class::Neutral => None,
    }
}

fn ratio(a: usize, b: usize) -> Option<f64> {
    (b > 0).then(|| a as f64 / b as f64)
}

/// Pages until `percent` of the relevant were found.
pub fn search_length(hits: &[bool], relevant: usize, percent: usize) -> Option<usize> {
    let need = (relevant * percent).div_ceil(100);
    if need == 0 {
        return None;
    }
    let mut found = 0;
    hits.iter()
        .position(|h| {
            found += *h as usize;
            *h && found == need
        })
        .map(|i| i + 1)
}

/// Relevant pages among the first of each of [`BUDGETS`].
pub fn found(hits: &[bool]) -> BTreeMap<usize, usize> {
    let count = |n: usize| hits.iter().take(n).filter(|h| **h).count();
    BUDGETS.iter().map(|&n| (n, count(n))).collect()
}

/// Indices (1-based page counts) at which a curve of `n` pages is sampled.
fn samples(n: usize) -> Vec<usize> {
    if n < POINTS {
        return (1..=n).collect();
    }
    let steps = POINTS - 1;
    (1..=steps).map(|i| (i * n).div_ceil(steps)).collect()
}

/// Recall after n pages. More hits than there were to find (labels changed under the crawl) stay at 1.
pub fn recall_curve(hits: &[bool], relevant: usize) -> Vec<(usize, f64)> {
    let mut points = vec![(0, 0.0)];
    if relevant == 0 {
        return points;
    }
    let (mut found, mut done) = (0, 0);
    for n in samples(hits.len()) {
        found += hits.get(done..n).map_or(0, |part| part.iter().filter(|h| **h).count());
        done = n;
        points.push((n, (found as f64 / relevant as f64).min(1.0)));
    }
    points
}

/// Share of relevant pages in a window of 5 % of the crawl (at least 20 pages) that ends at n.
pub fn windowed(hits: &[bool]) -> Vec<(usize, f64)> {
    let window = (hits.len() / 20).max(20);
    let mut sums = Vec::with_capacity(hits.len() + 1);
    sums.push(0usize);
    for h in hits {
        sums.push(sums[sums.len() - 1] + *h as usize);
    }
    samples(hits.len())
        .into_iter()
        .map(|n| {
            let from = n.saturating_sub(window);
            (n, (sums[n] - sums[from]) as f64 / (n - from) as f64)
        })
        .collect()
}

/// Precision, recall and F1 of a set of yes/no decisions.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Decision {
    /// Share of the yes decisions that are right; `None` when there is no yes.
    pub precision: Option<f64>,
    /// Share of the relevant pages that got a yes; `None` when there is none.
    pub recall: Option<f64>,
    /// Harmonic mean of both.
    pub f1: Option<f64>,
}

impl Decision {
    /// Of `(said, is)` pairs.
    pub fn of(pairs: impl Iterator<Item = (bool, bool)>) -> Decision {
        let (mut both, mut said, mut is) = (0, 0, 0);
        for (s, r) in pairs {
            both += (s && r) as usize;
            said += s as usize;
            is += r as usize;
        }
        Decision::counted(both, said, is)
    }

    fn counted(both: usize, said: usize, is: usize) -> Decision {
        Decision { precision: ratio(both, said), recall: ratio(both, is), f1: ratio(2 * both, said + is) }
    }
}

/// One threshold of a sweep.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SweepPoint {
    /// Pages with at least this score are taken.
    pub threshold: f64,
    /// How good that is.
    pub decision: Decision,
}

/// Precision, recall and F1 of "score ≥ t" for t = 0, 0.01, …, 1 (Assis 2008, Fig. 4.1); neutral pages are
/// left out.
pub fn sweep(order: &[Step]) -> Vec<SweepPoint> {
    let mut scored: Vec<(f64, bool)> = order
        .iter()
        .filter_map(|s| known(s.class).map(|r| (if s.score.is_nan() { 0.0 } else { s.score }, r)))
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0));
    let is = scored.iter().filter(|s| s.1).count();
    let mut points: Vec<SweepPoint> = Vec::with_capacity(101);
    let (mut said, mut both) = (0, 0);
    for i in (0..=100).rev() {
        let threshold = i as f64 / 100.0;
        while let Some((_, r)) = scored.get(said).filter(|s| s.0 >= threshold) {
            both += *r as usize;
            said += 1;
        }
        points.push(SweepPoint { threshold, decision: Decision::counted(both, said, is) });
    }
    points.reverse();
    points
}

/// The threshold of a sweep with the highest F1; the lowest of equals.
pub fn best_threshold(points: &[SweepPoint]) -> Option<SweepPoint> {
    let mut best: Option<SweepPoint> = None;
    for p in points {
        if p.decision.f1 > best.and_then(|b| b.decision.f1) {
            best = Some(*p);
        }
    }
    best
}

/// Against a critic that grades every page 0–1 (Chakrabarti et al. 2002): harvest rate = mean grade, loss = 1
/// − it.
#[derive(Clone, Debug, PartialEq)]
pub struct Critic {
    /// Mean grade.
    pub harvest: f64,
    /// `1 − harvest`.
    pub loss: f64,
    /// `(n, mean grade of the window before)`.
    pub running: Vec<(usize, f64)>,
    /// `(n, sum of 1 − grade so far)`.
    pub cumulative_loss: Vec<(usize, f64)>,
}

/// Grades in fetch order; NaN counts as 0. `window` is in pages.
pub fn against_critic(grades: &[f64], window: usize) -> Critic {
    let grade = |g: f64| if g.is_nan() { 0.0 } else { g.clamp(0.0, 1.0) };
    let mut sums = vec![0.0];
    for g in grades {
        sums.push(sums[sums.len() - 1] + grade(*g));
    }
    let n = grades.len();
    let harvest = if n == 0 { 0.0 } else { sums[n] / n as f64 };
    let window = window.max(1);
    let running = samples(n).into_iter().map(|i| {
        let from = i.saturating_sub(window);
        (i, (sums[i] - sums[from]) / (i - from) as f64)
    });
    let cumulative = samples(n).into_iter().map(|i| (i, i as f64 - sums[i]));
    Critic { harvest, loss: 1.0 - harvest, running: running.collect(), cumulative_loss: cumulative.collect() }
}

/// Against example pages (Batsakis): `similarities[i]` = highest cosine of page i with an example.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AgainstExamples {
    /// Pages above the threshold, and their share.
    pub count: usize,
    /// `count` as a share of all pages.
    pub ratio: Option<f64>,
    /// Mean similarity.
    pub average: Option<f64>,
}

/// Batsakis's threshold.
pub const SIMILAR: f64 = 0.75;

/// Similarities in fetch order; those above `threshold` count.
pub fn against_examples(similarities: &[f64], threshold: f64) -> AgainstExamples {
    let count = similarities.iter().filter(|s| **s > threshold).count();
    let n = similarities.len();
    let sum: f64 = similarities.iter().filter(|s| s.is_finite()).sum();
    AgainstExamples { count, ratio: ratio(count, n), average: (n > 0).then(|| sum / n as f64) }
}

/// Share of the pages of either crawl that both fetched (Chakrabarti et al. 2002, Fig. 11). Each list without
/// doubles.
pub fn overlap<T: Ord>(a: &[T], b: &[T]) -> Option<f64> {
    let mut sorted: Vec<&T> = a.iter().collect();
    sorted.sort_unstable();
    let both = b.iter().filter(|x| sorted.binary_search(x).is_ok()).count();
    ratio(both, a.len() + b.len() - both)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Graph;
    use crate::oracle::oracle;
    use proptest::prelude::*;
    use types::{Canon, Url};

    fn step(c: char, judged: bool, score: f64) -> Step {
        let class = match c {
            'R' => Class::Relevant,
            's' => Class::Neutral,
            _ => Class::Irrelevant,
        };
        Step { class, judged, score }
    }

    fn near(a: Option<f64>, b: f64) {
        assert!(a.is_some_and(|a| (a - b).abs() < 1e-12), "{a:?} is not {b}");
    }

    /// The web worked out on paper. Capitals are relevant, 0 is the seed; every page is reachable:
    ///
    /// ```text
    ///        0 ──► 1 ──► A
    ///        │     └───► 2 ──► B
    ///        └───► 3 ──► C, D, E        (a hub)
    ///              └───► 4
    /// ```
    /// R = 10 pages, M = 5 relevant.
    #[test]
    fn every_metric_on_paper() {
        let names = ["0", "1", "2", "3", "4", "A", "B", "C", "D", "E"];
        let urls: Vec<Url> =
            names.iter().map(|n| Canon::exact().parse(&format!("http://t.org/{n}")).unwrap()).collect();
        let links = vec![
            vec![1, 3],
            vec![5, 2],
            vec![6],
            vec![7, 8, 9, 4],
            vec![],
            vec![],
            vec![],
            vec![],
            vec![],
            vec![],
        ];
        let graph = Graph::from_lists(&urls, &links);
        let reach = graph.reach(&urls[..1]);
        let relevant = |n: u32| n >= 5;
        let truth = Truth {
            reachable: reach.reachable(),
            relevant: reach.relevant_reachable(relevant),
            budget: None,
        };
        assert_eq!(truth, Truth { reachable: 10, relevant: 5, budget: None });

        // A crawl: 0 1 3 A C 4 2 D, then it stops: two pages (B, E) never fetched.
        //   n        1 2 3 4 5 6 7 8 | 9 10
        //   relevant . . . x x . . x | flat
        //   recall   0 0 0 .2 .4 .4 .4 .6 .6 .6
        // The judge says yes to 3, A, C, 2, and no to the rest; the seed is neutral.
        let crawl = [
            step('s', true, 0.9),
            step('.', false, 0.1),
            step('.', true, 0.6),
            step('R', true, 0.9),
            step('R', true, 0.7),
            step('.', false, 0.2),
            step('.', true, 0.5),
            step('R', false, 0.4),
        ];
        let m = measure(&crawl, &truth);
        assert_eq!((m.pages, m.relevant), (8, 3));
        near(m.harvest, 3.0 / 8.0);
        // Trapezoids of width 1/10: (0+0)/2 + (0+0)/2 + (0+0)/2 + (0+.2)/2 + (.2+.4)/2 + .4 + .4 + (.4+.6)/2
        // + .6 + .6
        //   = 0.1 + 0.3 + 0.4 + 0.4 + 0.5 + 0.6 + 0.6 = 2.9, / 10 = 0.29.
        near(m.auc, 0.29);
        near(truth.random_auc(), 0.5);
        // Half of 5 is 3 pages: found as the 8th. 90 % is 5: never.
        assert_eq!((m.search_length_50, m.search_length_90), (Some(8), None));
        let recall = [0.0, 0.0, 0.0, 0.0, 0.2, 0.4, 0.4, 0.4, 0.6];
        assert_eq!(m.recall, (0..=8).zip(recall).collect::<Vec<_>>());
        // Window of 20 pages = all so far: 0, 0, 0, 1/4, 2/5, 2/6, 2/7, 3/8.
        assert_eq!(m.harvest_rate[7], (8, 3.0 / 8.0));
        assert_eq!(m.harvest_rate[3], (4, 0.25));
        // Said yes: 3 A C 2 → 2 of 4 right; relevant fetched: A C D → 2 of 3; F1 = 2·2/(4+3).
        near(m.judge.precision, 0.5);
        near(m.judge.recall, 2.0 / 3.0);
        near(m.judge.f1, 4.0 / 7.0);
        // At t = 0.4: yes to .6 .9 .7 .5 .4 = 5, right 3; F1 = 6/8. At 0.7: .9 .7, right 2; F1 = 4/5: the
        // best, and the lowest such t is just above 0.6.
        let points = sweep(&crawl);
        near(points[40].decision.f1, 0.75);
        near(points[70].decision.f1, 0.8);
        let best = best_threshold(&points).unwrap();
        assert_eq!(best.threshold, 0.61);
        near(best.decision.recall, 2.0 / 3.0);
        assert_eq!((points[0].decision.recall, points[100].decision.recall), (Some(1.0), Some(0.0)));
        assert_eq!(points[100].decision.precision, None);

        // The oracle: 0, then the hub (4 pages for 3), then 1 A, then 2 B:
        //   0 3 C D E 1 A 2 B, relevant at 3 4 5 7 9.
        // Any other order puts a page of lower ratio first: 1 A is 1/2, hub 3/4.
        let o = oracle(&graph, &reach, relevant);
        assert_eq!(o.order, [0, 3, 7, 8, 9, 1, 5, 2, 6]);
        // (7.5 + 6.5 + 5.5 + 3.5 + 1.5) / (10·5) = 24.5 / 50 = 0.49.
        let best = truth.auc(o.order.iter().map(|&n| relevant(n)));
        near(best, 0.49);
        assert_eq!(o.area, 49);
        // Here even the best order is below chance, because chance may fetch pages before it knows them:
        // (0.29 − 0.5) / (0.49 − 0.5) = 21.
        assert!((normalised(0.29, 0.49, 0.5).unwrap() - 21.0).abs() < 1e-9);
        near(normalised(0.75, 0.9, 0.5), 0.625);
        assert_eq!(normalised(0.5, 0.5, 0.5), None);

        // With a budget of 4 pages: oracle 0 3 C D = (7.5 + 6.5)/50 = 0.28; chance (4·10 − 8)/100 = 0.32.
        let tight = Truth { budget: Some(4), ..truth };
        near(tight.auc_in_budget(o.order.iter().map(|&n| relevant(n))), 0.28);
        near(tight.random_auc(), 0.32);
    }

    #[test]
    fn found_at_budgets() {
        // Relevant: every third page of 700, the first of them the third: 33 of 100, 83 of 250, 166 of 500,
        // 233 in all.
        let hits: Vec<bool> = (1..=700).map(|n| n % 3 == 0).collect();
        let expected = [(100, 33), (250, 83), (500, 166), (1000, 233), (2000, 233)];
        assert_eq!(found(&hits), expected.into_iter().collect());
        assert!(found(&[]).values().all(|n| *n == 0));
    }

    #[test]
    fn nothing_to_find_is_not_a_number() {
        let none = Truth { reachable: 3, relevant: 0, budget: None };
        let m = measure(&[step('.', false, 0.0)], &none);
        assert_eq!((m.auc, m.search_length_50, none.random_auc()), (None, None, None));
        assert_eq!(m.judge, Decision { precision: None, recall: None, f1: None });
        assert_eq!(m.recall, [(0, 0.0)]);
        let empty = measure(&[], &Truth { reachable: 0, relevant: 0, budget: None });
        assert_eq!((empty.harvest, empty.auc), (None, None));
        assert_eq!(best_threshold(&sweep(&[])), None);
    }

    #[test]
    fn critic_examples_overlap() {
        let c = against_critic(&[1.0, 0.5, 0.0, f64::NAN, 2.0], 2);
        assert!((c.harvest - 0.5).abs() < 1e-12 && (c.loss - 0.5).abs() < 1e-12);
        assert_eq!(c.running, [(1, 1.0), (2, 0.75), (3, 0.25), (4, 0.0), (5, 0.5)]);
        assert_eq!(c.cumulative_loss[4], (5, 2.5));
        let e = against_examples(&[0.8, 0.75, 0.1], SIMILAR);
        assert_eq!(e.count, 1);
        near(e.average, 0.55);
        near(overlap(&[1, 2, 3], &[3, 4]), 0.25);
        assert_eq!(overlap::<u32>(&[], &[]), None);
    }

    proptest! {
        #[test]
        fn curves_are_monotone_and_short(hits in prop::collection::vec(any::<bool>(), 0..1500), more in 0usize..50) {
            let relevant = hits.iter().filter(|h| **h).count() + more;
            let curve = recall_curve(&hits, relevant);
            prop_assert!(curve.len() <= POINTS);
            prop_assert!(curve.windows(2).all(|w| w[0].0 < w[1].0 && w[0].1 <= w[1].1));
            if relevant > 0 && !hits.is_empty() {
                prop_assert_eq!(curve.last().unwrap().0, hits.len());
            }
            let truth = Truth { reachable: hits.len() + more, relevant, budget: None };
            if let Some(auc) = truth.auc(hits.iter().copied()) {
                prop_assert!((0.0..=1.0).contains(&auc));
                // The trapezoid rule, done the slow way.
                let recall = |n: usize| hits[..n.min(hits.len())].iter().filter(|h| **h).count() as f64 / relevant as f64;
                let slow: f64 = (1..=truth.reachable).map(|n| (recall(n - 1) + recall(n)) / 2.0).sum::<f64>() / truth.reachable as f64;
                prop_assert!((auc - slow).abs() < 1e-9, "{} {}", auc, slow);
            }
        }
    }
}
