//! Results B against results A: better, the same or worse, run by run.

use super::{Results, Run, distinct_numbers, mean_found};
use crate::stats;
use crate::stats::Paired;
use std::collections::BTreeMap;
use std::fmt::Write;

/// How one strategy on one topic changed from results A to results B.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// Name of the topic.
    pub topic: String,
    /// Name of the strategy.
    pub strategy: String,
    /// What the change amounts to.
    pub kind: ChangeKind,
    /// Mean auc in A over the runs both have.
    pub before: Option<f64>,
    /// Mean auc in B over the same runs.
    pub after: Option<f64>,
    /// Run against run.
    pub pairs: Paired,
}

/// What a change amounts to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// The mean auc rose by more than the tolerance.
    Better,
    /// The mean auc is within the tolerance.
    Same,
    /// The mean auc fell by more than the tolerance.
    Regression,
    /// Only results A have it.
    OnlyBefore,
    /// Only results B have it.
    OnlyAfter,
    /// The web, the labels or the extractor changed: other pages are reachable.
    NotComparable,
}

/// Results B against results A.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// By topic and strategy.
    pub changes: Vec<Change>,
    /// By strategy.
    pub found: Vec<FoundChange>,
    /// Differences of auc up to this are none.
    pub tolerance: f64,
}

/// Relevant pages that a strategy found at budgets, summed over the topics that can be compared (of each the
/// mean over the runs that both results have).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FoundChange {
    /// Name of the strategy.
    pub strategy: String,
    /// Topics that can be compared.
    pub topics: usize,
    /// By budget: in A and in B.
    pub sums: BTreeMap<usize, (f64, f64)>,
    /// By budget, of every run that both have: found in A, and how many more in B.
    pub runs: BTreeMap<usize, Vec<(f64, f64)>>,
}

/// Fewer runs say nothing of noise.
const FEWEST_RUNS: usize = 3;
/// A smaller share of what was found is no fall.
const SMALL_FALL: f64 = 0.02;

impl FoundChange {
    /// Takes in the runs of one topic. Runs without such numbers are left out.
    fn add(&mut self, both: &[(&Run, &Run)]) {
        let have: Vec<_> = both.iter().filter(|(r, s)| !r.found.is_empty() && !s.found.is_empty()).collect();
        if have.is_empty() {
            return;
        }
        let old = mean_found(have.iter().map(|p| &p.0.found));
        let new = mean_found(have.iter().map(|p| &p.1.found));
        self.topics += 1;
        for (n, before) in old {
            let Some(after) = new.get(&n) else { continue };
            let sum = self.sums.entry(n).or_default();
            *sum = (sum.0 + before, sum.1 + after);
        }
        for (a, b) in have {
            for (n, before) in &a.found {
                let Some(after) = b.found.get(n) else { continue };
                let (before, after) = (*before as f64, *after as f64);
                self.runs.entry(*n).or_default().push((before, after - before));
            }
        }
    }

    /// Fewer were found after `n` fetches by more than the noise: by more than twice the standard error of
    /// the differences between the same runs, and by more than 2 % of what was found. Two runs or fewer say
    /// nothing of noise.
    pub fn fell(&self, n: usize) -> bool {
        let Some(runs) = self.runs.get(&n).filter(|runs| runs.len() >= FEWEST_RUNS) else { return false };
        let before = stats::mean(&runs.iter().map(|r| r.0).collect::<Vec<_>>());
        let more: Vec<f64> = runs.iter().map(|r| r.1).collect();
        let (mean, count) = (stats::mean(&more), more.len() as f64);
        let variance = more.iter().map(|d| (d - mean) * (d - mean)).sum::<f64>() / (count - 1.0);
        -mean > 2.0 * (variance / count).sqrt() && -mean > SMALL_FALL * before
    }
}

impl Comparison {
    /// How many pairs of topic and strategy became worse, and how many numbers of pages found after so many
    /// fetches.
    pub fn regressions(&self) -> usize {
        let fell = |f: &FoundChange| f.runs.keys().filter(|n| f.fell(**n)).count();
        self.worse_areas() + self.found.iter().map(fell).sum::<usize>()
    }

    fn worse_areas(&self) -> usize {
        self.changes.iter().filter(|c| c.kind == ChangeKind::Regression).count()
    }

    /// A table for the terminal.
    pub fn table(&self) -> String {
        let mut out =
            String::from("topic                     strategy                  before    after   change\n");
        let show = |v: Option<f64>| v.map_or_else(|| "–".to_string(), |v| format!("{v:.4}"));
        for c in &self.changes {
            let change = match (c.before, c.after) {
                (Some(a), Some(b)) => format!("{:+.4}", b - a),
                _ => "–".into(),
            };
            let mark = match c.kind {
                ChangeKind::Better => "  better",
                ChangeKind::Same => "",
                ChangeKind::Regression => "  REGRESSION",
                ChangeKind::OnlyBefore => "  only in the first",
                ChangeKind::OnlyAfter => "  only in the second",
                ChangeKind::NotComparable => "  not comparable: other pages are reachable",
            };
            let _ = writeln!(
                out,
                "{:<25} {:<22} {:>9} {:>8} {:>8}{mark}",
                c.topic,
                c.strategy,
                show(c.before),
                show(c.after),
                change
            );
        }
        let _ = writeln!(
            out,
            "{} of {} worse by more than {}",
            self.worse_areas(),
            self.changes.len(),
            self.tolerance
        );
        self.found_table(&mut out);
        out
    }

    fn found_table(&self, out: &mut String) {
        let budgets: Vec<usize> = distinct_numbers(self.found.iter().flat_map(|f| f.sums.keys().copied()));
        if budgets.is_empty() {
            return;
        }
        let _ = write!(out, "\n{:<48}", "relevant pages found after");
        out.extend(budgets.iter().map(|n| format!(" {n:>20}")));
        out.push('\n');
        for f in self.found.iter().filter(|f| !f.sums.is_empty()) {
            let of = if f.topics == 1 { "1 topic".into() } else { format!("sum of {} topics", f.topics) };
            let _ = write!(out, "{:<25} {:<22}", of, f.strategy);
            for n in &budgets {
                let mark = if f.fell(*n) { " FEWER" } else { "" };
                let cell = f
                    .sums
                    .get(n)
                    .map_or("–".into(), |(a, b)| format!("{a:.1} → {b:.1} ({:+.1}){mark}", b - a));
                let _ = write!(out, " {cell:>20}");
            }
            out.push('\n');
        }
    }
}

/// Compares two results run by run. A mean auc that falls by more than `tolerance` is a regression, and so is
/// a number of pages found that falls by more than its noise ([`FoundChange::fell`]).
pub fn compare(a: &Results, b: &Results, tolerance: f64) -> Comparison {
    let mut keys: Vec<(&str, &str)> =
        a.runs.iter().chain(&b.runs).map(|r| (r.topic.as_str(), r.strategy.as_str())).collect();
    keys.sort_unstable();
    keys.dedup();
    let mut found: BTreeMap<&str, FoundChange> = BTreeMap::new();
    let changes = keys
        .into_iter()
        .map(|(topic, strategy)| {
            let of = |r: &Results| -> BTreeMap<u64, Run> {
                let mine = r.runs.iter().filter(|r| r.topic == topic && r.strategy == strategy);
                mine.map(|r| (r.rng, r.clone())).collect()
            };
            let (old, new) = (of(a), of(b));
            let both: Vec<(&Run, &Run)> =
                old.iter().filter_map(|(k, r)| new.get(k).map(|s| (r, s))).collect();
            let (x, y): (Vec<f64>, Vec<f64>) =
                both.iter().filter_map(|(r, s)| Some((r.auc?, s.auc?))).unzip();
            let mean = |v: &[f64]| (!v.is_empty()).then(|| stats::mean(v));
            let alone = |m: &BTreeMap<u64, Run>| mean(&m.values().filter_map(|r| r.auc).collect::<Vec<_>>());
            let same_web = both
                .iter()
                .all(|(r, s)| (r.reachable, r.relevant_reachable) == (s.reachable, s.relevant_reachable));
            let (before, after) =
                if both.is_empty() { (alone(&old), alone(&new)) } else { (mean(&x), mean(&y)) };
            let kind = match (before, after) {
                _ if old.is_empty() => ChangeKind::OnlyAfter,
                _ if new.is_empty() => ChangeKind::OnlyBefore,
                _ if both.is_empty() || !same_web => ChangeKind::NotComparable,
                (Some(p), Some(q)) if q < p - tolerance => ChangeKind::Regression,
                (Some(p), Some(q)) if q > p + tolerance => ChangeKind::Better,
                _ => ChangeKind::Same,
            };
            if same_web {
                let new = || FoundChange { strategy: strategy.into(), ..FoundChange::default() };
                found.entry(strategy).or_insert_with(new).add(&both);
            }
            let pairs = stats::paired(&y, &x, 1e-9);
            Change { topic: topic.into(), strategy: strategy.into(), kind, before, after, pairs }
        })
        .collect();
    Comparison { changes, found: found.into_values().collect(), tolerance }
}

#[cfg(test)]
mod tests {
    use super::super::ALL;
    use super::super::tests::run;
    use super::*;

    #[test]
    fn comparison_marks_regressions() {
        let a = Results::new(
            "w",
            vec![
                run("t", "a", 1, 0.7),
                run("t", "a", 2, 0.7),
                run("t", "b", 1, 0.5),
                run("t", "c", 1, 0.5),
                run("t", "gone", 1, 0.5),
            ],
        );
        let mut moved = run("t", "c", 1, 0.1);
        moved.reachable = 11;
        let b = Results::new(
            "w",
            vec![
                run("t", "a", 1, 0.6),
                run("t", "a", 2, 0.75),
                run("t", "b", 1, 0.6),
                moved,
                run("t", "new", 1, 0.5),
            ],
        );
        let c = compare(&a, &b, 0.005);
        let kinds: Vec<(&str, ChangeKind)> =
            c.changes.iter().map(|c| (c.strategy.as_str(), c.kind)).collect();
        use ChangeKind::*;
        assert_eq!(
            kinds,
            [
                ("a", Regression),
                ("b", Better),
                ("c", NotComparable),
                ("gone", OnlyBefore),
                ("new", OnlyAfter)
            ]
        );
        assert_eq!(c.regressions(), 1);
        assert!(c.table().contains("REGRESSION") && c.table().contains("-0.0250"), "{}", c.table());
        assert_eq!((c.changes[0].pairs.wins, c.changes[0].pairs.losses), (1, 1));
        assert_eq!(compare(&a, &a, 0.0).regressions(), 0);
        assert_eq!(a.versus("a", "b").wins, 1);
    }

    #[test]
    fn found_pages_are_summed_up_and_compared() {
        let with = |topic: &str, rng: u64, n: usize| Run {
            found: BTreeMap::from([(100, n), (250, 2 * n)]),
            ..run(topic, "a", rng, 0.5)
        };
        // Means per topic: t 3 and 6, u 10 and 20; over topics 6.5 and 13.
        let a = Results::new("w", vec![with("t", 1, 2), with("t", 2, 4), with("u", 1, 10)]);
        assert_eq!(a.summary_of("t", "a").unwrap().found_mean, BTreeMap::from([(100, 3.0), (250, 6.0)]));
        assert_eq!(a.summary_of(ALL, "a").unwrap().found_mean, BTreeMap::from([(100, 6.5), (250, 13.0)]));
        // The second draw of t is missing in B, which counts for neither: sums 2 + 10 and 5 + 7.
        let b = Results::new("w", vec![with("t", 1, 5), with("u", 1, 7), with("new", 1, 50)]);
        let c = compare(&a, &b, 0.1);
        assert_eq!(c.found[0].topics, 2);
        assert_eq!(c.found[0].sums, BTreeMap::from([(100, (12.0, 12.0)), (250, (24.0, 24.0))]));
        assert!(
            c.table().contains("sum of 2 topics") && c.table().contains("24.0 → 24.0 (+0.0)"),
            "{}",
            c.table()
        );
        // The same runs differ by −1, −2 and −3 of 10: −2 on average, with a standard error of 0.58. By −6, 0
        // and 0 it is 2.
        let three =
            |n: [usize; 3]| Results::new("w", n.iter().zip(1..).map(|(n, rng)| with("t", rng, *n)).collect());
        let was = three([10; 3]);
        let c = compare(&was, &three([9, 8, 7]), 1.0);
        assert!(
            (c.found[0].fell(100), c.found[0].fell(250), c.regressions()) == (true, true, 2),
            "{}",
            c.table()
        );
        assert!(
            c.table().contains("10.0 → 8.0 (-2.0) FEWER") && c.table().contains("0 of 1 worse"),
            "{}",
            c.table()
        );
        for same_or_more in [[10, 10, 4], [11, 12, 13], [10, 10, 10]] {
            assert_eq!(compare(&was, &three(same_or_more), 1.0).regressions(), 0, "{same_or_more:?}");
        }
        // Results of an older version have none.
        let old = a.json().replace("\"found\"", "\"lost\"").replace("\"found_mean\"", "\"lost_mean\"");
        let old: Results = serde_json::from_str(&old).unwrap();
        assert!(old.runs[0].found.is_empty() && old.summary[0].found_mean.is_empty());
        let c = compare(&old, &b, 0.1);
        assert!(c.found[0].sums.is_empty() && !c.table().contains("found after"), "{}", c.table());
    }
}
