//! Makes a judge of a measure: a page is relevant from a threshold on, which may be estimated while crawling.
//!
//! `auto` needs no seeds that are relevant themselves: entry pages say nothing of what is wanted. It begins
//! with what is usual for the measure on the terms of this topic ([`Measure::usual`]) and then looks at the
//! background: the score that three in four of the pages crawled stay below. Where most pages have next to
//! nothing of the topic, less is needed to stand out, and the line is lower, by a tenth at most: the pages of
//! a focused crawl are chosen to be like the wanted ones, so whatever depends more on their scores is wrong
//! until the crawl is nearly done (ADR 5). For the same reason seeds that look like search results (most of
//! them reach the line) are left out, and entry pages are counted. Three or more example pages draw the line
//! half-way to their median, scored as if the terms were not theirs ([`Measure::held_out`]); where a measure
//! cannot tell that, the line is only not above their median. Labels, once there are enough of both kinds,
//! decide alone. The estimate is refined after 10, 20, 50, 100, 200, 500 pages and then every 500; small
//! changes are ignored, so that verdicts are not revised for nothing.
//!
//! Mixtures, false-discovery rates, outliers and two-means on all pages draw the line anywhere (ADR 5).

use super::{Example, ExampleKind, Judge, JudgeSetup, Measure, Needs};
use crate::text::Doc;
use crate::topic::threshold::quantile;
use crate::topic::{Estimator, Threshold};
use learn::bytes::{Reader, Writer, damaged};
use types::{Assessment, Label, Problem, Verdict};

/// Scores are kept in this many bins, not one by one: the state stays small however long the crawl is.
const BINS: usize = 1000;

/// Smaller changes of the threshold are not worth revising verdicts for.
const WORTH: f64 = 0.005;

/// The line: so much of the usual one, and so much of what three in four pages score below, but of that at
/// most so much of the usual one.
const OF_USUAL: f64 = 0.893;
const OF_BACKGROUND: f64 = 0.3;
const MOST_BACKGROUND: f64 = 0.357;

/// The share of pages that are surely background.
const COMMON: f64 = 0.75;

/// Fewer pages are no background.
const FEW: u64 = 10;

/// Seeds whose scores are kept one by one, in order.
const MOST_SEEDS: usize = 200;

/// A measure and a threshold.
pub struct Thresholded<M> {
    measure: M,
    setting: Threshold,
    /// How many of the first pages are seeds.
    seeds: usize,
    /// The user said how many; 10 is assumed otherwise, for the estimators that need some.
    seeds_known: bool,
    examples: Option<ExampleMedian>,
    state: State,
}

#[derive(Clone, Debug, PartialEq)]
struct State {
    threshold: f64,
    version: u32,
    seen: u64,
    /// Scores of the first pages, in order of arrival.
    first: Vec<f64>,
    bins: Vec<u32>,
    /// Bins of the pages the user labelled: not wanted, wanted.
    labels: [Vec<u32>; 2],
    why: Why,
}

/// Median score of the user's relevant examples.
#[derive(Clone, Copy, Debug, PartialEq)]
enum ExampleMedian {
    /// Of the terms that they do not have for themselves: what wanted pages score.
    HeldOut(f64),
    /// As they are, which may be too high: at least half of them are relevant.
    AsTheyAre(f64),
}

/// How the threshold came about.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Why {
    Start,
    Fixed,
    Seeds,
    Pages,
    Labels,
}

impl<M: Measure + 'static> Thresholded<M> {
    /// A judge of `measure` with the topic's threshold.
    pub fn over(measure: M, setup: &JudgeSetup) -> Box<dyn Judge> {
        let setting = setup.topic.judge.threshold;
        let seeds = if setup.seeds == 0 { 10 } else { setup.seeds.min(MOST_SEEDS) };
        let score = |e: &Example| measure.relevance(&measure.assess(&e.doc));
        let of = |kind| setup.examples.iter().filter(|e| e.kind == kind).map(score).collect::<Vec<f64>>();
        let (yes, no) = (of(ExampleKind::Relevant), of(ExampleKind::Irrelevant));
        let mut state = State::new();
        for (label, scores) in [(false, no), (true, yes.clone())] {
            scores.into_iter().for_each(|s| state.note_label(s, label));
        }
        let examples = (yes.len() >= 3).then(|| {
            let relevant = setup.examples.iter().filter(|e| e.kind == ExampleKind::Relevant);
            let docs: Vec<&Doc> = relevant.map(|e| e.doc.as_ref()).collect();
            match measure.held_out(&docs) {
                Some(scores) => ExampleMedian::HeldOut(median(scores)),
                None => ExampleMedian::AsTheyAre(median(yes)),
            }
        });
        let seeds_known = setup.seeds > 0;
        let mut judge = Thresholded { measure, setting, seeds, seeds_known, examples, state };
        (judge.state.threshold, judge.state.why) = match setting {
            Threshold::Fixed(t) => (t, Why::Fixed),
            Threshold::Estimated(_) => (judge.measure.usual(), Why::Start),
            Threshold::Auto => judge.estimate(),
        };
        Box::new(judge)
    }
}

impl<M: Measure> Thresholded<M> {
    /// The automatic threshold from what is known now.
    fn estimate(&self) -> (f64, Why) {
        if let Some(t) = best_for_labels(&self.state.labels) {
            return (t, Why::Labels);
        }
        let usual = self.measure.usual();
        let (t, why) = match self.background() {
            Some(common) => (line(usual, common), Why::Pages),
            None => (usual, Why::Start),
        };
        let t = match self.examples {
            Some(ExampleMedian::HeldOut(e)) => (t + e) / 2.0,
            Some(ExampleMedian::AsTheyAre(e)) => t.min(e),
            None => t,
        };
        (t, why)
    }

    /// What three in four pages score below, seeds that look like search results left out.
    fn background(&self) -> Option<f64> {
        let mut bins = self.state.bins.clone();
        let mut pages = self.state.seen;
        if self.seeds_are() == Some(Seeds::Results) {
            for score in self.seed_scores() {
                if let Some(n) = bins.get_mut(bin(*score)) {
                    *n = n.saturating_sub(1);
                    pages = pages.saturating_sub(1);
                }
            }
        }
        (pages >= FEW).then(|| quantile_of_bins(&bins, COMMON)).flatten()
    }

    /// For people: what the example pages have changed.
    fn about_examples(&self) -> String {
        match self.examples {
            Some(ExampleMedian::HeldOut(e)) => {
                format!(
                    ", drawn half-way to what the example pages score without terms of their own ({e:.2})"
                )
            }
            Some(ExampleMedian::AsTheyAre(e)) if self.state.threshold >= e => {
                ", held to the median of the example pages".into()
            }
            _ => String::new(),
        }
    }

    /// For people: what the seeds look like and what follows from it.
    fn about_seeds(&self) -> String {
        let (n, all) = (self.seeds_above(), self.seed_scores().len());
        match self.seeds_are() {
            Some(Seeds::Results) => {
                format!(
                    "; {n} of {all} seeds are relevant, as search results are, and do not count as background"
                )
            }
            Some(Seeds::Entries) => {
                format!(
                    "; only {n} of {all} seeds look relevant: they are entry pages, so their own scores say \
                     nothing"
                )
            }
            None => String::new(),
        }
    }

    fn seed_scores(&self) -> &[f64] {
        self.state.first.get(..self.seeds.min(self.state.first.len())).unwrap_or(&[])
    }

    /// How many seeds reach the usual threshold.
    fn seeds_above(&self) -> usize {
        let usual = self.measure.usual();
        self.seed_scores().iter().filter(|s| **s >= usual).count()
    }

    /// What the seeds look like, once all have been seen.
    fn seeds_are(&self) -> Option<Seeds> {
        let scores = self.seed_scores();
        if !self.seeds_known || scores.len() < self.seeds {
            return None;
        }
        Some(if 2 * self.seeds_above() >= scores.len() { Seeds::Results } else { Seeds::Entries })
    }
}

/// What the seeds of a crawl look like.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Seeds {
    /// Mostly relevant themselves.
    Results,
    /// Pages to start from, whose own score says nothing.
    Entries,
}

fn median(mut scores: Vec<f64>) -> f64 {
    scores.sort_by(f64::total_cmp);
    quantile(&scores, 0.5)
}

fn line(usual: f64, background: f64) -> f64 {
    (OF_USUAL * usual + OF_BACKGROUND * background.min(MOST_BACKGROUND * usual)).clamp(0.0, 1.0)
}

/// Is this a moment to look again? 10, 20, 50, 100, 200, 500, then every 500 pages.
fn due(seen: u64) -> bool {
    matches!(seen, 10 | 20 | 50 | 100 | 200) || (seen > 0 && seen.is_multiple_of(500))
}

fn bin(score: f64) -> usize {
    if score.is_nan() { 0 } else { (score.clamp(0.0, 1.0) * BINS as f64).round() as usize }
}

impl State {
    fn new() -> State {
        State {
            threshold: 0.0,
            version: 0,
            seen: 0,
            first: Vec::new(),
            bins: vec![0; BINS + 1],
            labels: [vec![0; BINS + 1], vec![0; BINS + 1]],
            why: Why::Start,
        }
    }

    fn note(&mut self, score: f64, label: Option<bool>) {
        self.seen += 1;
        if self.first.len() < MOST_SEEDS {
            self.first.push(score);
        }
        count(&mut self.bins, score);
        if let Some(l) = label {
            self.note_label(score, l);
        }
    }

    fn note_label(&mut self, score: f64, label: bool) {
        if let Some(bins) = self.labels.get_mut(usize::from(label)) {
            count(bins, score);
        }
    }

    /// Takes a new threshold if it differs enough to be worth revising verdicts for.
    fn take(&mut self, (threshold, why): (f64, Why)) -> bool {
        let small = (threshold - self.threshold).abs() < WORTH;
        if small && self.why == why {
            return false;
        }
        self.why = why;
        if small {
            return false;
        }
        self.threshold = threshold;
        self.version += 1;
        true
    }
}

/// The threshold with the best F1 on labelled pages, when there are enough of both kinds; the middle of the
/// best ones.
fn best_for_labels(labels: &[Vec<u32>; 2]) -> Option<f64> {
    let total = |l: &Vec<u32>| l.iter().map(|n| u64::from(*n)).sum::<u64>();
    let (no, yes) = (total(&labels[0]), total(&labels[1]));
    if yes < 3 || no < 3 {
        return None;
    }
    let (mut tp, mut fp) = (0u64, 0u64);
    let mut best: Option<(f64, usize, usize)> = None;
    for i in (0..=BINS).rev() {
        tp += u64::from(labels[1].get(i).copied().unwrap_or(0));
        fp += u64::from(labels[0].get(i).copied().unwrap_or(0));
        let f1 = 2.0 * tp as f64 / (yes + tp + fp).max(1) as f64;
        match &mut best {
            Some((b, _, low)) if f1 == *b => *low = i,
            Some((b, ..)) if f1 < *b => {}
            _ => best = Some((f1, i, i)),
        }
    }
    best.map(|(_, high, low)| (high + low) as f64 / (2 * BINS) as f64)
}

/// The score that this share of the pages stays below or at; `None` without pages.
fn quantile_of_bins(bins: &[u32], share: f64) -> Option<f64> {
    let total: u64 = bins.iter().map(|n| u64::from(*n)).sum();
    let wanted = (share * total as f64).ceil().max(1.0) as u64;
    let mut before = 0;
    bins.iter().enumerate().find_map(|(i, n)| {
        before += u64::from(*n);
        (before >= wanted).then_some(i as f64 / BINS as f64)
    })
}

fn count(bins: &mut [u32], score: f64) {
    if let Some(n) = bins.get_mut(bin(score)) {
        *n = n.saturating_add(1);
    }
}

impl<M: Measure> Judge for Thresholded<M> {
    fn assess(&self, doc: &Doc) -> Assessment {
        self.measure.assess(doc)
    }

    fn decide(&self, assessment: &Assessment) -> Verdict {
        let relevance = self.measure.relevance(assessment);
        let threshold = self.state.threshold;
        Verdict { relevant: relevance >= threshold, relevance, threshold, version: self.state.version }
    }

    fn observe(&mut self, assessment: &Assessment, label: Option<Label>) -> bool {
        let moved = self.measure.observe(assessment);
        let score = self.measure.relevance(assessment);
        self.state.note(score, label.map(|l| l.relevant));
        let changed = match self.setting {
            Threshold::Fixed(_) => false,
            Threshold::Estimated(how) => {
                let n = self.state.first.len();
                let from_seeds = self.state.seen as usize <= self.seeds.max(1);
                match from_seeds.then(|| how.estimate(self.state.first.get(..n).unwrap_or(&[]))).flatten() {
                    Some(t) => self.state.take((t, Why::Seeds)),
                    None => false,
                }
            }
            Threshold::Auto if due(self.state.seen) || label.is_some() => {
                let new = self.estimate();
                self.state.take(new)
            }
            Threshold::Auto => false,
        };
        changed | moved
    }

    fn save(&self) -> Option<Vec<u8>> {
        if self.needs().pages {
            // Every page will be shown again.
            return None;
        }
        let s = &self.state;
        let mut w = Writer::default();
        w.u8(1).f64(s.threshold).u32(s.version).u64(s.seen).u8(s.why as u8);
        w.var(s.first.len() as u64);
        s.first.iter().for_each(|v| {
            w.f64(*v);
        });
        for bins in std::iter::once(&s.bins).chain(&s.labels) {
            // Most bins are empty: (gap, count) of the others.
            let full: Vec<(usize, u32)> = bins.iter().copied().enumerate().filter(|b| b.1 > 0).collect();
            w.var(full.len() as u64);
            for (i, n) in full {
                w.var(i as u64).var(u64::from(n));
            }
        }
        w.bytes(&self.measure.save());
        Some(w.0)
    }

    fn load(&mut self, bytes: &[u8]) -> Result<(), Problem> {
        let mut r = Reader(bytes);
        if r.u8()? != 1 {
            return Err(damaged());
        }
        let mut s = State::new();
        (s.threshold, s.version, s.seen) = (r.f64()?.clamp(0.0, 1.0), r.u32()?, r.u64()?);
        s.why = match r.u8()? {
            0 => Why::Start,
            1 => Why::Fixed,
            2 => Why::Seeds,
            3 => Why::Pages,
            4 => Why::Labels,
            _ => return Err(damaged()),
        };
        for _ in 0..r.var()?.min(MOST_SEEDS as u64) {
            s.first.push(r.f64()?);
        }
        for bins in std::iter::once(&mut s.bins).chain(&mut s.labels) {
            for _ in 0..r.var()? {
                let (i, n) = (r.var()?, r.var()?);
                let slot = usize::try_from(i).ok().and_then(|i| bins.get_mut(i)).ok_or_else(damaged)?;
                *slot = u32::try_from(n).map_err(|_| damaged())?;
            }
        }
        let measure = r.bytes()?;
        r.end()?;
        self.measure.load(measure)?;
        // A threshold the user has set meanwhile wins over what was estimated before.
        if let Threshold::Fixed(t) = self.setting
            && t != s.threshold
        {
            s.threshold = t;
            s.version += 1;
            s.why = Why::Fixed;
        }
        self.state = s;
        Ok(())
    }

    fn needs(&self) -> Needs {
        self.measure.needs()
    }

    fn trained(&self) -> Option<Vec<u8>> {
        self.measure.trained()
    }

    fn explain(&self) -> Option<String> {
        let s = &self.state;
        let t = s.threshold;
        let threshold = match s.why {
            Why::Fixed => format!("threshold {t:.3}, as set"),
            Why::Start => {
                let examples = self.about_examples();
                format!("threshold {t:.3}, usual for these terms{examples}, until {FEW} pages are known")
            }
            Why::Seeds => {
                let how = match self.setting {
                    Threshold::Estimated(e) => e,
                    _ => Estimator::KMeans,
                };
                format!(
                    "threshold {t:.3}, by {} from the first {} pages",
                    how.name(),
                    s.first.len().min(self.seeds)
                )
            }
            Why::Pages => {
                let common = self.background().unwrap_or(0.0);
                format!(
                    "threshold {t:.3}, from what is usual for these terms and the scores of {} pages (three \
                     in four have {common:.2} or less){}{}",
                    s.seen,
                    self.about_examples(),
                    self.about_seeds()
                )
            }
            Why::Labels => {
                let n: u64 = s.labels.iter().flatten().map(|n| u64::from(*n)).sum();
                format!("threshold {t:.3}, the best for {n} labelled pages")
            }
        };
        Some(match self.measure.explain() {
            Some(how) => format!("{how}; {threshold}"),
            None => threshold,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topic::Topic;

    /// Takes the score from a part of the assessment: tests feed scores without pages.
    struct Given;
    impl Measure for Given {
        fn assess(&self, _: &Doc) -> Assessment {
            Assessment::default()
        }
        fn usual(&self) -> f64 {
            0.4
        }
    }

    fn judge(threshold: &str, seeds: usize) -> Box<dyn Judge> {
        let topic = Topic::from_toml(&format!("query = 'x'\n[judge]\nthreshold = {threshold}")).unwrap();
        Thresholded::over(Given, &JudgeSetup { seeds, ..JudgeSetup::new(&topic) })
    }
    fn page(score: f64) -> Assessment {
        Assessment { score, ..Assessment::default() }
    }
    fn threshold(j: &dyn Judge) -> f64 {
        j.decide(&page(0.0)).threshold
    }
    fn close(a: f64, b: f64) {
        assert!((a - b).abs() < 1e-9, "{a} is not {b}");
    }

    #[test]
    fn fixed_stays() {
        let mut j = judge("0.7", 0);
        assert!((0..600).all(|i| !j.observe(&page(f64::from(i % 10) / 10.0), None)));
        assert_eq!(threshold(j.as_ref()), 0.7);
        assert!(j.decide(&page(0.7)).relevant && !j.decide(&page(0.69)).relevant);
    }

    #[test]
    fn estimators_use_the_seeds_and_only_them() {
        let mut j = judge("'kmeans'", 4);
        for s in [0.1, 0.8, 0.2, 0.9] {
            j.observe(&page(s), None);
        }
        close(threshold(j.as_ref()), 0.85);
        for _ in 0..600 {
            j.observe(&page(0.3), None);
        }
        close(threshold(j.as_ref()), 0.85);
        assert!(j.explain().unwrap().contains("kmeans from the first 4 pages"));
    }

    #[test]
    fn auto_by_hand() {
        let mut j = judge("'auto'", 0);
        assert_eq!(threshold(j.as_ref()), 0.4);
        assert!(j.explain().unwrap().contains("usual"));
        // Of ten pages eight score 0.1 or less: 0.893·0.4 + 0.3·0.1.
        let scores = [0.0, 0.1, 0.05, 0.1, 0.0, 0.02, 0.1, 0.9, 0.8, 0.1];
        let moved: Vec<bool> = scores.iter().map(|s| j.observe(&page(*s), None)).collect();
        assert_eq!(moved.iter().position(|m| *m), Some(9), "looked at after ten pages");
        close(threshold(j.as_ref()), 0.893 * 0.4 + 0.3 * 0.1);
        assert_eq!(j.decide(&page(0.5)).version, 1);
        assert!(j.explain().unwrap().contains("10 pages (three in four have 0.10 or less)"));
        // The same pages again and again: nothing to revise.
        for _ in 0..200 {
            for s in scores {
                assert!(!j.observe(&page(s), None));
            }
        }
    }

    #[test]
    fn a_background_that_scores_high_moves_the_line_only_so_far() {
        let mut j = judge("'auto'", 0);
        for _ in 0..20 {
            j.observe(&page(1.0), None);
        }
        // 0.893·0.4 + 0.3·(0.357·0.4), not 0.893·0.4 + 0.3·1: 0.40004 is too near to where it stood to be
        // worth revising.
        close(line(0.4, 1.0), 0.893 * 0.4 + 0.3 * 0.357 * 0.4);
        close(threshold(j.as_ref()), 0.4);
        let mut none = judge("'auto'", 0);
        for _ in 0..20 {
            none.observe(&page(0.0), None);
        }
        close(threshold(none.as_ref()), 0.893 * 0.4);
    }

    #[test]
    fn auto_tells_entry_pages_from_search_results() {
        // Four seeds, then forty pages of the background.
        let run = |seeds: [f64; 4]| {
            let mut j = judge("'auto'", 4);
            for s in seeds.into_iter().chain(std::iter::repeat_n(0.05, 46)) {
                j.observe(&page(s), None);
            }
            (threshold(j.as_ref()), j.explain().unwrap())
        };
        let (entries, why) = run([0.1, 0.0, 0.2, 0.5]);
        assert!(why.contains("only 1 of 4 seeds look relevant: they are entry pages"), "{why}");
        let (results, why) = run([0.6, 0.5, 0.7, 0.1]);
        assert!(why.contains("3 of 4 seeds are relevant, as search results are"), "{why}");
        close(entries, 0.893 * 0.4 + 0.3 * 0.05);
        close(results, 0.893 * 0.4 + 0.3 * 0.05);
        // Search results alone are no background.
        let mut j = judge("'auto'", 20);
        for _ in 0..20 {
            j.observe(&page(0.8), None);
        }
        close(threshold(j.as_ref()), 0.4);
    }

    #[test]
    fn labels_decide() {
        let mut j = judge("'auto'", 0);
        for (s, l) in [(0.9, true), (0.8, true), (0.7, true), (0.3, false), (0.75, false), (0.2, false)] {
            j.observe(&page(s), Some(Label::person(l)));
        }
        // F1 from 0.7 on: 2·3/(3+4) = 6/7; from 0.8 on: 2·2/(3+2) = 4/5. Every t in (0.3, 0.7] is as good:
        // the middle.
        close(threshold(j.as_ref()), (0.301 + 0.7) / 2.0);
        assert!(j.explain().unwrap().contains("6 labelled"));
    }

    #[test]
    fn a_restart_changes_nothing() {
        let mut a = judge("'auto'", 3);
        for i in 0..137u32 {
            a.observe(
                &page(f64::from(i * 37 % 100) / 100.0),
                (i % 9 == 0).then_some(Label::person(i % 2 == 0)),
            );
        }
        let mut b = judge("'auto'", 3);
        b.load(&a.save().unwrap()).unwrap();
        for i in 0..900u32 {
            let p = page(f64::from(i * 31 % 100) / 250.0);
            assert_eq!(a.observe(&p, None), b.observe(&p, None));
            assert_eq!(a.decide(&p), b.decide(&p));
        }
        assert_eq!(a.save(), b.save());
        // A threshold set by the user meanwhile wins.
        let mut fixed = judge("0.9", 3);
        fixed.load(&a.save().unwrap()).unwrap();
        assert_eq!(threshold(fixed.as_ref()), 0.9);
    }
}
