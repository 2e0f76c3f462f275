//! The files a backtest leaves: `results.json`, `timing.json`, `order-*.tsv`, and the comparison of two
//! results.
//!
//! `results.json` is the same, byte for byte, wherever it is made: fields in a fixed order, numbers rounded
//! to six digits, nothing that depends on time or machine (that is in `timing.json`).

mod compare;
mod timing;

pub use compare::{Change, ChangeKind, Comparison, FoundChange, compare};
pub use timing::{RunTiming, Timing};

use crate::metrics::{self, Measures, Truth};
use crate::stats::{self, Paired};
use crate::teach::Teaching;
use serde::{Deserialize, Serialize, Serializer};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;
use types::Problem;

/// A file `results.json`: the same input gives the same bytes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// The web that was crawled, as the user named it.
    pub web: String,
    /// How labels were given, when they were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub teaching: Option<Teaching>,
    /// In the order topic, strategy, draw.
    pub runs: Vec<Run>,
    /// Means per topic and over all topics.
    pub summary: Vec<Summary>,
}

/// One crawl: a topic, a strategy, a random number.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Name of the topic.
    pub topic: String,
    /// Name of the strategy.
    pub strategy: String,
    /// Number of the draw of the seeds.
    pub rng: u64,
    /// Pages that the seeds reach, the seeds included.
    pub reachable: usize,
    /// Of those, how many are relevant; seeds never count.
    pub relevant_reachable: usize,
    /// Pages fetched that count.
    pub pages: usize,
    /// Of those, how many are relevant.
    pub relevant: usize,
    /// `relevant / pages`.
    #[serde(serialize_with = "six")]
    pub harvest: Option<f64>,
    /// Area under recall over pages, 0–1.
    #[serde(serialize_with = "six")]
    pub auc: Option<f64>,
    /// 0 = as good as a random order, 1 = as good as the oracle's.
    #[serde(serialize_with = "six")]
    pub normalised_auc: Option<f64>,
    /// The auc of the best order found with knowledge of all labels.
    #[serde(serialize_with = "six")]
    pub oracle_auc: Option<f64>,
    /// The auc that a random order has on average.
    #[serde(serialize_with = "six")]
    pub random_auc: Option<f64>,
    /// Pages until half, and nine tenths, of the relevant ones were found.
    pub search_length: SearchLength,
    /// Relevant pages among the first 100, 250, … pages. Results of older versions have none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub found: BTreeMap<usize, usize>,
    /// `[n, recall]`, at most 200 points.
    #[serde(serialize_with = "six_points")]
    pub recall: Vec<(usize, f64)>,
    /// How well the judge's verdicts agree with the labels.
    pub judge: JudgeScores,
    /// What so many labels make of the verdicts, each in a crawl of its own; everything above is without
    /// labels.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub teach: Vec<Lesson>,
}

/// What verdicts are worth after so many labels (see [`crate::teach`]).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Lesson {
    /// Labels that were to be given.
    pub labels: usize,
    /// Questions that were answered: fewer than `labels` when there was nothing left to ask.
    pub given: usize,
    /// How many of them with yes.
    pub yes: usize,
    /// Of the judge's verdicts on the half of the pages that was never asked about.
    #[serde(serialize_with = "six")]
    pub precision: Option<f64>,
    /// As `precision`.
    #[serde(serialize_with = "six")]
    pub recall: Option<f64>,
    /// As `precision`.
    #[serde(serialize_with = "six")]
    pub f1: Option<f64>,
    /// Of all pages, the labels in place of the verdicts.
    #[serde(serialize_with = "six")]
    pub f1_all: Option<f64>,
    /// Mean of (relevance − truth)² on the half that was never asked about.
    #[serde(serialize_with = "six")]
    pub brier: Option<f64>,
    /// Relevant pages among the first 100, 250, … pages.
    pub found: BTreeMap<usize, usize>,
    /// Are high probabilities right?
    pub calibration: Calibration,
}

/// Pages that the judge gives a probability of at least 0.8, and how many of them are relevant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Calibration {
    /// Pages with a probability of at least 0.8.
    pub pages: usize,
    /// Of those, how many are relevant.
    pub right: usize,
}

/// Means of [`Lesson`]s.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LessonMeans {
    /// Labels that were to be given.
    pub labels: usize,
    /// Mean of [`Lesson::precision`].
    #[serde(serialize_with = "six")]
    pub precision: Option<f64>,
    /// Mean of [`Lesson::recall`].
    #[serde(serialize_with = "six")]
    pub recall: Option<f64>,
    /// Mean of [`Lesson::f1`].
    #[serde(serialize_with = "six")]
    pub f1: Option<f64>,
    /// Mean of [`Lesson::f1_all`].
    #[serde(serialize_with = "six")]
    pub f1_all: Option<f64>,
    /// Mean of [`Lesson::brier`].
    #[serde(serialize_with = "six")]
    pub brier: Option<f64>,
    /// Share of relevant pages among those with a probability of at least 0.8.
    #[serde(serialize_with = "six")]
    pub sure: Option<f64>,
    /// Mean of [`Lesson::found`], by budget.
    #[serde(serialize_with = "six_by_number")]
    pub found: BTreeMap<usize, f64>,
}

/// Pages fetched until a share of the relevant ones was found; `None` when that never happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SearchLength {
    /// Half of them.
    #[serde(rename = "50")]
    pub half: Option<usize>,
    /// Nine tenths of them.
    #[serde(rename = "90")]
    pub most: Option<usize>,
}

/// The judge's verdicts against the labels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct JudgeScores {
    /// Share of the yes decisions that are right.
    #[serde(serialize_with = "six")]
    pub precision: Option<f64>,
    /// Share of the relevant pages that got a yes.
    #[serde(serialize_with = "six")]
    pub recall: Option<f64>,
    /// Harmonic mean of both.
    #[serde(serialize_with = "six")]
    pub f1: Option<f64>,
}

/// Means over the random numbers of one topic (t interval), or over the topics (`"topic": "all"`, bootstrap).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Name of the topic, or `all`.
    pub topic: String,
    /// Name of the strategy.
    pub strategy: String,
    /// Mean of [`Run::auc`].
    #[serde(serialize_with = "six")]
    pub auc_mean: Option<f64>,
    /// Lower end of its 95 % interval.
    #[serde(serialize_with = "six")]
    pub auc_low: Option<f64>,
    /// Upper end of its 95 % interval.
    #[serde(serialize_with = "six")]
    pub auc_high: Option<f64>,
    /// Mean of [`Run::normalised_auc`].
    #[serde(serialize_with = "six")]
    pub normalised_auc_mean: Option<f64>,
    /// Lower end of its 95 % interval.
    #[serde(serialize_with = "six")]
    pub normalised_auc_low: Option<f64>,
    /// Upper end of its 95 % interval.
    #[serde(serialize_with = "six")]
    pub normalised_auc_high: Option<f64>,
    /// Mean of [`Run::harvest`].
    #[serde(serialize_with = "six")]
    pub harvest_mean: Option<f64>,
    /// Mean of the recall at the end.
    #[serde(serialize_with = "six")]
    pub recall_mean: Option<f64>,
    /// Mean F1 of the judge.
    #[serde(serialize_with = "six")]
    pub judge_f1_mean: Option<f64>,
    /// Mean of [`Run::found`], by budget.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty", serialize_with = "six_by_number")]
    pub found_mean: BTreeMap<usize, f64>,
    /// By number of labels.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub teach: Vec<LessonMeans>,
    /// Runs behind the means.
    pub runs: usize,
}

/// The topic name of means over all topics.
pub const ALL: &str = "all";

/// Six digits after the point; what is no number is null.
fn rounded(v: f64) -> Option<f64> {
    v.is_finite().then(|| libm::round(v * 1e6) / 1e6 + 0.0)
}

fn six<S: Serializer>(v: &Option<f64>, s: S) -> Result<S::Ok, S::Error> {
    v.and_then(rounded).serialize(s)
}

fn six_points<S: Serializer>(points: &[(usize, f64)], s: S) -> Result<S::Ok, S::Error> {
    s.collect_seq(points.iter().map(|(n, r)| (n, rounded(*r))))
}

fn six_by_number<S: Serializer>(values: &BTreeMap<usize, f64>, s: S) -> Result<S::Ok, S::Error> {
    s.collect_map(values.iter().map(|(n, v)| (n, rounded(*v))))
}

impl Run {
    /// Puts the measures of a crawl beside those of the oracle.
    pub fn new(
        topic: &str,
        strategy: &str,
        rng: u64,
        truth: &Truth,
        m: &Measures,
        oracle_auc: Option<f64>,
    ) -> Run {
        let random_auc = truth.random_auc();
        let normalised = match (m.auc, oracle_auc, random_auc) {
            (Some(a), Some(o), Some(r)) => metrics::normalised(a, o, r),
            _ => None,
        };
        Run {
            topic: topic.into(),
            strategy: strategy.into(),
            rng,
            reachable: truth.reachable,
            relevant_reachable: truth.relevant,
            pages: m.pages,
            relevant: m.relevant,
            harvest: m.harvest,
            auc: m.auc,
            normalised_auc: normalised,
            oracle_auc,
            random_auc,
            search_length: SearchLength { half: m.search_length_50, most: m.search_length_90 },
            found: m.found.clone(),
            recall: m.recall.clone(),
            judge: JudgeScores { precision: m.judge.precision, recall: m.judge.recall, f1: m.judge.f1 },
            teach: Vec::new(),
        }
    }

    fn key(&self) -> (&str, &str, u64) {
        (&self.topic, &self.strategy, self.rng)
    }

    fn recall_at_end(&self) -> Option<f64> {
        (self.relevant_reachable > 0).then(|| self.relevant as f64 / self.relevant_reachable as f64)
    }
}

impl Results {
    /// Sorts the runs (whoever finished first must not show) and sums them up.
    pub fn new(web: impl Into<String>, mut runs: Vec<Run>) -> Results {
        runs.sort_by(|a, b| a.key().cmp(&b.key()));
        let summary = summarise(&runs);
        Results { web: web.into(), teaching: None, runs, summary }
    }

    /// Reads a file `results.json`.
    pub fn load(path: &Path) -> Result<Results, Problem> {
        let bytes = fs::read(path).map_err(|e| Problem::io("read the results", path, &e))?;
        serde_json::from_slice(&bytes).map_err(|e| {
            Problem::usage(format!("{} is not a results file", path.display()))
                .because(e)
                .hint("give the results.json of a backtest, or the folder it is in")
        })
    }

    /// The file's text.
    pub fn json(&self) -> String {
        // Plain data with text keys: writing it cannot fail.
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }

    /// Names of the topics, in the order of the runs.
    pub fn topics(&self) -> Vec<&str> {
        distinct(self.runs.iter().map(|r| r.topic.as_str()))
    }

    /// Names of the strategies, in the order of the runs.
    pub fn strategies(&self) -> Vec<&str> {
        distinct(self.runs.iter().map(|r| r.strategy.as_str()))
    }

    pub(crate) fn summary_of(&self, topic: &str, strategy: &str) -> Option<&Summary> {
        self.summary.iter().find(|s| s.topic == topic && s.strategy == strategy)
    }

    /// Strategy `a` against `b`, pair by pair (same topic and random number), by auc.
    pub fn versus(&self, a: &str, b: &str) -> Paired {
        let of = |s: &str| -> BTreeMap<(&str, u64), f64> {
            let runs = self.runs.iter().filter(|r| r.strategy == s);
            runs.filter_map(|r| r.auc.map(|v| ((r.topic.as_str(), r.rng), v))).collect()
        };
        let (a, b) = (of(a), of(b));
        let pairs = a.iter().filter_map(|(k, v)| b.get(k).map(|w| (*v, *w)));
        let (x, y): (Vec<f64>, Vec<f64>) = pairs.unzip();
        stats::paired(&x, &y, 1e-9)
    }
}

fn distinct<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut list: Vec<&str> = names.collect();
    list.sort_unstable();
    list.dedup();
    list
}

fn distinct_numbers(numbers: impl Iterator<Item = usize>) -> Vec<usize> {
    let mut list: Vec<usize> = numbers.collect();
    list.sort_unstable();
    list.dedup();
    list
}

fn summarise(runs: &[Run]) -> Vec<Summary> {
    let mut groups: BTreeMap<(&str, &str), Vec<&Run>> = BTreeMap::new();
    for r in runs {
        groups.entry((&r.topic, &r.strategy)).or_default().push(r);
    }
    let of = |runs: &[&Run], f: &dyn Fn(&Run) -> Option<f64>| {
        runs.iter().filter_map(|r| f(r)).collect::<Vec<f64>>()
    };
    let mean = |v: &[f64]| (!v.is_empty()).then(|| stats::mean(v));
    let mut list: Vec<Summary> = groups
        .iter()
        .map(|((topic, strategy), runs)| {
            let auc = of(runs, &|r| r.auc);
            let normalised = of(runs, &|r| r.normalised_auc);
            let (a, n) = (stats::t_interval(&auc), stats::t_interval(&normalised));
            let some = |v: f64, from: &[f64]| (!from.is_empty()).then_some(v);
            Summary {
                topic: topic.to_string(),
                strategy: strategy.to_string(),
                auc_mean: some(a.mean, &auc),
                auc_low: some(a.low, &auc),
                auc_high: some(a.high, &auc),
                normalised_auc_mean: some(n.mean, &normalised),
                normalised_auc_low: some(n.low, &normalised),
                normalised_auc_high: some(n.high, &normalised),
                harvest_mean: mean(&of(runs, &|r| r.harvest)),
                recall_mean: mean(&of(runs, &Run::recall_at_end)),
                judge_f1_mean: mean(&of(runs, &|r| r.judge.f1)),
                found_mean: mean_found(runs.iter().map(|r| &r.found)),
                teach: lesson_means(runs),
                runs: runs.len(),
            }
        })
        .collect();
    if distinct(runs.iter().map(|r| r.topic.as_str())).len() > 1 {
        let over: Vec<Summary> = distinct(runs.iter().map(|r| r.strategy.as_str()))
            .into_iter()
            .map(|strategy| over_topics(strategy, &list))
            .collect();
        list.extend(over);
    }
    list
}

/// Means by number, of those that have it.
fn means<'a>(of: impl Iterator<Item = &'a BTreeMap<usize, f64>>) -> BTreeMap<usize, f64> {
    let mut all: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
    of.flatten().for_each(|(n, v)| all.entry(*n).or_default().push(*v));
    all.into_iter().map(|(n, values)| (n, stats::mean(&values))).collect()
}

fn mean_found<'a>(found: impl Iterator<Item = &'a BTreeMap<usize, usize>>) -> BTreeMap<usize, f64> {
    let each: Vec<BTreeMap<usize, f64>> =
        found.map(|of| of.iter().map(|(n, v)| (*n, *v as f64)).collect()).collect();
    means(each.iter())
}

/// The mean of those that have a value.
fn mean_of(values: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    let values: Vec<f64> = values.flatten().collect();
    (!values.is_empty()).then(|| stats::mean(&values))
}

fn lesson_means(runs: &[&Run]) -> Vec<LessonMeans> {
    let numbers = distinct_numbers(runs.iter().flat_map(|r| r.teach.iter().map(|l| l.labels)));
    let of = |labels: usize| {
        let mine: Vec<&Lesson> =
            runs.iter().flat_map(|r| &r.teach).filter(|lesson| lesson.labels == labels).collect();
        let pages: usize = mine.iter().map(|l| l.calibration.pages).sum();
        let right: usize = mine.iter().map(|l| l.calibration.right).sum();
        LessonMeans {
            labels,
            precision: mean_of(mine.iter().map(|l| l.precision)),
            recall: mean_of(mine.iter().map(|l| l.recall)),
            f1: mean_of(mine.iter().map(|l| l.f1)),
            f1_all: mean_of(mine.iter().map(|l| l.f1_all)),
            brier: mean_of(mine.iter().map(|l| l.brier)),
            sure: (pages > 0).then(|| right as f64 / pages as f64),
            found: mean_found(mine.iter().map(|l| &l.found)),
        }
    };
    numbers.into_iter().map(of).collect()
}

fn means_over_topics(topics: &[&Summary]) -> Vec<LessonMeans> {
    let numbers = distinct_numbers(topics.iter().flat_map(|s| s.teach.iter().map(|l| l.labels)));
    let of = |labels: usize| {
        let mine: Vec<&LessonMeans> =
            topics.iter().flat_map(|s| &s.teach).filter(|lesson| lesson.labels == labels).collect();
        LessonMeans {
            labels,
            precision: mean_of(mine.iter().map(|l| l.precision)),
            recall: mean_of(mine.iter().map(|l| l.recall)),
            f1: mean_of(mine.iter().map(|l| l.f1)),
            f1_all: mean_of(mine.iter().map(|l| l.f1_all)),
            brier: mean_of(mine.iter().map(|l| l.brier)),
            sure: mean_of(mine.iter().map(|l| l.sure)),
            found: means(mine.iter().map(|l| &l.found)),
        }
    };
    numbers.into_iter().map(of).collect()
}

/// Every topic counts the same, however many pages or runs it has.
fn over_topics(strategy: &str, per_topic: &[Summary]) -> Summary {
    let mine: Vec<&Summary> = per_topic.iter().filter(|s| s.strategy == strategy).collect();
    let of = |f: &dyn Fn(&Summary) -> Option<f64>| mine.iter().filter_map(|s| f(s)).collect::<Vec<f64>>();
    let mean = |v: Vec<f64>| (!v.is_empty()).then(|| stats::mean(&v));
    let interval = |v: &[f64]| (!v.is_empty()).then(|| stats::bootstrap(v, 2000, 1));
    let auc = interval(&of(&|s| s.auc_mean));
    let normalised = interval(&of(&|s| s.normalised_auc_mean));
    Summary {
        topic: ALL.into(),
        strategy: strategy.into(),
        auc_mean: auc.map(|i| i.mean),
        auc_low: auc.map(|i| i.low),
        auc_high: auc.map(|i| i.high),
        normalised_auc_mean: normalised.map(|i| i.mean),
        normalised_auc_low: normalised.map(|i| i.low),
        normalised_auc_high: normalised.map(|i| i.high),
        harvest_mean: mean(of(&|s| s.harvest_mean)),
        recall_mean: mean(of(&|s| s.recall_mean)),
        judge_f1_mean: mean(of(&|s| s.judge_f1_mean)),
        found_mean: means(mine.iter().map(|s| &s.found_mean)),
        teach: means_over_topics(&mine),
        runs: mine.iter().map(|s| s.runs).sum(),
    }
}

/// A line of `order-*.tsv`.
#[derive(Clone, Debug, PartialEq)]
pub struct OrderLine<'a> {
    /// Address of the page.
    pub url: &'a str,
    /// The judge's score, 0–1.
    pub score: f64,
    /// Its labels, as the label file has them.
    pub labels: &'a str,
}

/// `n <TAB> url <TAB> judge score <TAB> labels`, n from 1.
pub fn order_tsv<'a>(lines: impl Iterator<Item = OrderLine<'a>>) -> String {
    let mut out = String::new();
    for (i, l) in lines.enumerate() {
        let score = if l.score.is_finite() { l.score } else { 0.0 };
        let _ = writeln!(out, "{}\t{}\t{:.6}\t{}", i + 1, l.url, score, l.labels);
    }
    out
}

/// `order-<topic>-<strategy>-<rng>.tsv`, with what no file system minds.
pub fn order_file(topic: &str, strategy: &str, rng: u64) -> String {
    let safe = |s: &str| -> String {
        let kept = s
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '_' });
        let name: String = kept.take(80).collect();
        name.trim_start_matches('.').to_string()
    };
    format!("order-{}-{}-{rng}.tsv", safe(topic), safe(strategy))
}

#[cfg(test)]
mod tests {
    use super::*;

    pub fn run(topic: &str, strategy: &str, rng: u64, auc: f64) -> Run {
        Run {
            topic: topic.into(),
            strategy: strategy.into(),
            rng,
            reachable: 10,
            relevant_reachable: 4,
            pages: 8,
            relevant: 2,
            harvest: Some(0.25),
            auc: Some(auc),
            normalised_auc: Some(auc - 0.1),
            oracle_auc: Some(0.9),
            random_auc: Some(0.5),
            search_length: SearchLength { half: Some(3), most: None },
            found: BTreeMap::from([(100, 2), (250, 4)]),
            recall: vec![(0, 0.0), (8, 0.5)],
            judge: JudgeScores { precision: Some(2.0 / 3.0), recall: None, f1: Some(0.5) },
            teach: Vec::new(),
        }
    }

    #[test]
    fn the_file_other_programs_read() {
        let r = Results::new("web", vec![run("t", "b", 1, 0.123456789), run("t", "a", 2, 0.7)]);
        let json = r.json();
        let value: serde_json::Value = serde_json::from_str(&json).unwrap();
        let first = &value["runs"][0];
        assert_eq!(first["strategy"], "a", "sorted");
        assert_eq!(first["search_length"]["50"], 3);
        assert!(first["search_length"]["90"].is_null());
        assert_eq!((&first["found"]["100"], &first["found"]["250"]), (&2.into(), &4.into()));
        assert_eq!(first["recall"][1][1], 0.5);
        assert_eq!(first["judge"]["precision"], 0.666667);
        assert_eq!(value["runs"][1]["auc"], 0.123457);
        let keys: Vec<&str> = [
            "\"topic\"",
            "\"strategy\"",
            "\"rng\"",
            "\"reachable\"",
            "\"relevant_reachable\"",
            "\"pages\"",
            "\"relevant\"",
            "\"harvest\"",
            "\"auc\"",
            "\"normalised_auc\"",
            "\"oracle_auc\"",
            "\"random_auc\"",
            "\"search_length\"",
            "\"found\"",
            "\"recall\"",
            "\"judge\"",
        ]
        .to_vec();
        let places: Vec<usize> = keys.iter().map(|k| json.find(k).unwrap()).collect();
        assert!(places.is_sorted(), "{places:?}");
        let again: Results = serde_json::from_str(&json).unwrap();
        assert_eq!(again.json(), json);
        // The order in which runs finished does not show.
        assert_eq!(
            json,
            Results::new("web", vec![run("t", "a", 2, 0.7), run("t", "b", 1, 0.123456789)]).json()
        );
    }

    #[test]
    fn summaries_over_seeds_and_topics() {
        let r = Results::new(
            "w",
            vec![run("t", "a", 1, 0.2), run("t", "a", 2, 0.4), run("t", "a", 3, 0.6), run("u", "a", 1, 0.8)],
        );
        let t = r.summary_of("t", "a").unwrap();
        assert!((t.auc_mean.unwrap() - 0.4).abs() < 1e-12 && t.runs == 3);
        // s = 0.2, t(2) = 4.3027: ± 0.4968.
        assert!((t.auc_high.unwrap() - 0.8968).abs() < 1e-3);
        let all = r.summary_of(ALL, "a").unwrap();
        assert!((all.auc_mean.unwrap() - 0.6).abs() < 1e-12, "topics count alike");
        assert_eq!(Results::new("w", vec![run("t", "a", 1, 0.2)]).summary.len(), 1);
    }

    #[test]
    fn undefined_values_are_null() {
        let mut r = run("t", "a", 1, f64::NAN);
        r.normalised_auc = None;
        let json = Results::new("w", vec![r]).json();
        assert!(!json.contains("NaN") && json.contains("\"auc\": null"), "{json}");
    }

    #[test]
    fn files() {
        let lines = [
            OrderLine { url: "http://a.org/", score: 0.5, labels: "course,x" },
            OrderLine { url: "http://b.org/", score: f64::NAN, labels: "" },
        ];
        assert_eq!(
            order_tsv(lines.into_iter()),
            "1\thttp://a.org/\t0.500000\tcourse,x\n2\thttp://b.org/\t0.000000\t\n"
        );
        assert_eq!(order_file("a b/../c", "best-first", 3), "order-a_b_.._c-best-first-3.tsv");
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("results.json");
        assert!(Results::load(&file).is_err());
        fs::write(&file, "{\"web\":3}").unwrap();
        let e = Results::load(&file).unwrap_err();
        assert!(e.exit_code() == 2 && e.to_string().contains("hint:"), "{e}");
    }
}
