//! Makes a judge of a measure: a page is relevant from a threshold on, which may be estimated while crawling.

use super::{Judge, JudgeSetup, Measure};
use crate::bytes::{Reader, Writer, damaged};
use crate::text::Doc;
use crate::topic::threshold::weighted_two_means;
use crate::topic::{Estimator, Threshold};
use types::{Assessment, Problem, Verdict};

/// Scores are kept in this many bins, not one by one: the state stays small however long the crawl is.
const BINS: usize = 1000;

/// Before anything is known.
const START: f64 = 0.3;

/// Seeds whose scores are kept one by one, in order.
const MOST_SEEDS: usize = 200;

/// A measure and a threshold.
pub struct Thresholded<M> {
    measure: M,
    setting: Threshold,
    /// How many of the first pages are seeds.
    seeds: usize,
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
        let (threshold, why) = match setting {
            Threshold::Fixed(t) => (t, Why::Fixed),
            _ => (START, Why::Start),
        };
        let state = State {
            threshold,
            version: 0,
            seen: 0,
            first: Vec::new(),
            bins: vec![0; BINS + 1],
            labels: [vec![0; BINS + 1], vec![0; BINS + 1]],
            why,
        };
        Box::new(Thresholded { measure, setting, seeds, state })
    }
}

/// Is this a moment to look again? 10, 20, 50, 100, 200, 500, then every 500 pages.
fn due(seen: u64) -> bool {
    matches!(seen, 10 | 20 | 50 | 100 | 200) || (seen > 0 && seen.is_multiple_of(500))
}

fn bin(score: f64) -> usize {
    if score.is_nan() { 0 } else { (score.clamp(0.0, 1.0) * BINS as f64).round() as usize }
}

impl State {
    fn note(&mut self, score: f64, label: Option<bool>) {
        self.seen += 1;
        if self.first.len() < MOST_SEEDS {
            self.first.push(score);
        }
        let list = match label {
            Some(l) => self.labels.get_mut(usize::from(l)),
            None => None,
        };
        for bins in [Some(&mut self.bins), list].into_iter().flatten() {
            if let Some(n) = bins.get_mut(bin(score)) {
                *n = n.saturating_add(1);
            }
        }
    }

    fn estimate(&self) -> Option<(f64, Why)> {
        if let Some(t) = best_for_labels(&self.labels) {
            return Some((t, Why::Labels));
        }
        auto(&self.bins).map(|t| (t, Why::Pages))
    }

    /// Takes a new threshold if it differs enough to be worth revising verdicts for.
    fn take(&mut self, (threshold, why): (f64, Why)) -> bool {
        let small = (threshold - self.threshold).abs() < 0.01;
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

/// The threshold with the best F1 on labelled pages, when there are enough of both kinds; the middle of the best ones.
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

/// The line between the pages of two kinds, from the scores of the pages so far.
fn auto(bins: &[u32]) -> Option<f64> {
    let values: Vec<(f64, f64)> = bins
        .iter()
        .enumerate()
        .filter(|(_, n)| **n > 0)
        .map(|(i, n)| (i as f64 / BINS as f64, f64::from(*n)))
        .collect();
    if values.len() < 2 {
        return None;
    }
    let (low, high) = weighted_two_means(&values);
    Some((low + high) / 2.0)
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

    fn observe(&mut self, assessment: &Assessment, label: Option<bool>) -> bool {
        let moved = self.measure.observe(assessment);
        let score = self.measure.relevance(assessment);
        self.state.note(score, label);
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
            Threshold::Auto if due(self.state.seen) || label.is_some() => match self.state.estimate() {
                Some(new) => self.state.take(new),
                None => false,
            },
            Threshold::Auto => false,
        };
        changed | moved
    }

    fn save(&self) -> Option<Vec<u8>> {
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
        let mut s = State {
            threshold: r.f64()?.clamp(0.0, 1.0),
            version: r.u32()?,
            seen: r.u64()?,
            why: match r.u8()? {
                0 => Why::Start,
                1 => Why::Fixed,
                2 => Why::Seeds,
                3 => Why::Pages,
                4 => Why::Labels,
                _ => return Err(damaged()),
            },
            first: Vec::new(),
            bins: vec![0; BINS + 1],
            labels: [vec![0; BINS + 1], vec![0; BINS + 1]],
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

    fn explain(&self) -> Option<String> {
        let s = &self.state;
        let t = s.threshold;
        Some(match s.why {
            Why::Fixed => format!("threshold {t:.3}, as set"),
            Why::Start => format!("threshold {t:.3} until enough pages are known"),
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
            Why::Pages => format!("threshold {t:.3}, estimated from the scores of {} pages", s.seen),
            Why::Labels => {
                let n: u64 = s.labels.iter().flatten().map(|n| u64::from(*n)).sum();
                format!("threshold {t:.3}, the best for {n} labelled pages")
            }
        })
    }
}
