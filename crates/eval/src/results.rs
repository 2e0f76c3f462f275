//! The files a backtest leaves: `results.json`, `timing.json`, `order-*.tsv`, and the comparison of two
//! results.
//!
//! `results.json` is the same, byte for byte, wherever it is made: fields in a fixed order, numbers rounded
//! to six digits, nothing that depends on time or machine (that is in `timing.json`).

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

/// What was measured with a clock: differs from run to run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Timing {
    /// The web that was crawled, as the user named it.
    pub web: String,
    /// Crawls that ran at once.
    pub threads: usize,
    /// Wall time of everything.
    pub seconds: f64,
    /// In the order of the results.
    pub runs: Vec<RunTiming>,
}

/// Cost of one run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunTiming {
    /// Name of the topic.
    pub topic: String,
    /// Name of the strategy.
    pub strategy: String,
    /// Number of the draw of the seeds.
    pub rng: u64,
    /// Pages fetched.
    pub pages: usize,
    /// Links scored.
    pub links: usize,
    /// Wall time of this run.
    pub seconds: f64,
    /// Wall time per page, in microseconds.
    pub us_per_page: f64,
    /// Scoring a link when it is found, reading its evidence off the page included.
    pub us_per_link: f64,
    /// The same, 99th percentile.
    #[serde(default)]
    pub us_per_link_p99: f64,
    /// Scoring a pending link again from its evidence.
    #[serde(default)]
    pub us_per_rescore: f64,
    /// The same, 99th percentile.
    #[serde(default)]
    pub us_per_rescore_p99: f64,
    /// How long the crawl would have taken with its pauses and answer times.
    #[serde(default)]
    pub virtual_seconds: f64,
    /// How long until half of the relevant pages were found; `None` when they never were.
    #[serde(default)]
    pub virtual_seconds_50: Option<f64>,
}

impl Timing {
    /// The file's text.
    pub fn json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
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

    /// Fewer were found after `n` fetches by more than the noise: by more than twice the standard error of the differences
    /// between the same runs, and by more than 2 % of what was found. Two runs or fewer say nothing of noise.
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
    /// How many pairs of topic and strategy became worse, and how many numbers of pages found after so many fetches.
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

/// Compares two results run by run. A mean auc that falls by more than `tolerance` is a regression, and so is a number of pages
/// found that falls by more than its noise ([`FoundChange::fell`]).
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
    use super::*;

    fn run(topic: &str, strategy: &str, rng: u64, auc: f64) -> Run {
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
        // The same runs differ by −1, −2 and −3 of 10: −2 on average, with a standard error of 0.58. By −6, 0 and 0 it is 2.
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
