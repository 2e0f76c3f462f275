//! Learns from labelled pages: logistic regression whose starting point is the prior.
//!
//! `log-odds = prior + w·x`, with `w` drawn towards 0 (L2): without labels the prior decides, ten labels nudge it, a
//! hundred decide. Unlabelled pages take part, too: a sample of the crawl, each with the probability it has now as its
//! target and together the weight of a few dozen labels. They keep what the first labels say from being carried over to
//! everything, and say which words are rare.
//!
//! The regression is solved anew from all labels each time (Newton's method, conjugate gradients; half a second of a
//! label is too long, a tenth is not): a label that is taken back leaves no trace.

use super::features::{BODY, BUCKETS, FIELDS, Features};
use super::prior::MEASURES;
use learn::sigmoid;
use std::collections::HashMap;
use types::{Label, Who};

/// How much the words of each field weigh: text, title, headings, URL, links to the page, pages that link to it, shape.
const SCALE: [f64; FIELDS] = [2.0, 1.0, 0.7, 1.0, 1.0, 1.0, 0.5];
/// And the measures of the prior, and those of the page's shape.
const MEASURE_SCALE: f64 = 0.5;
const SHAPE_SCALE: f64 = 0.25;
/// Links, links by words, depth of the URL, headings.
const SHAPES: usize = 4;
const DENSE: usize = MEASURES + SHAPES;
/// Strength of L2 on the weights and on the constant.
const RIDGE: f64 = 0.3;
const RIDGE_CONSTANT: f64 = 5.0;
/// So many yes are enough to learn from beside any number of no; with fewer, L2 is stronger by the square of what is missing.
/// The first answers are mostly no: words that such pages share would be held against every page.
const ENOUGH: f64 = 10.0;
/// People and models make mistakes, and of a rare topic the mistaken yes soon outnumber the right ones. The share of mistakes
/// before anything speaks for another one, and how many answers that is worth.
const USUAL_MISTAKES: f64 = 0.02;
const SURE_OF_USUAL: f64 = 40.0;
/// So many seem to be mistakes where none is: pages nothing announced. Above it, the more seem so the more are.
const SEEMING: f64 = 0.03;
const EXCESS: f64 = 2.0;
const MOST_MISTAKES: f64 = 0.2;
/// No model is believed to make fewer.
const LEAST_OF_MODEL: f64 = 0.05;
/// Pages of one kind only do not say how many there are: the constant stays where the prior has it.
const RIDGE_CONSTANT_OF_ONE_KIND: f64 = 1e3;
/// Weight of all unlabelled pages together, in labels.
const UNLABELLED: f64 = 30.0;
/// Times the targets of unlabelled pages are set and the regression is solved.
const ROUNDS: usize = 3;
/// Parts of the answers that are left out in turn to see what the others make of them.
const PARTS: usize = 5;
const NEWTON_STEPS: usize = 8;
const GRADIENT_STEPS: usize = 40;

/// A page as the regression sees it.
pub(super) struct Row {
    pub prior: f64,
    dense: [f64; DENSE],
    /// Buckets with the constant factor of their weight; sorted by bucket within each field.
    words: Vec<(u32, f32)>,
}

impl Row {
    /// How alike two pages are in their words: the cosine of the fields together, 0–1.
    pub fn similarity(&self, other: &HashMap<u32, f32>) -> f64 {
        let product = |(b, x): &(u32, f32)| f64::from(*x) * other.get(b).copied().map_or(0.0, f64::from);
        let both: f64 = self.words.iter().map(product).sum();
        let length = |words: &mut dyn Iterator<Item = f32>| {
            libm::sqrt(words.map(|x| f64::from(x) * f64::from(x)).sum())
        };
        let lengths = length(&mut self.words.iter().map(|w| w.1)) * length(&mut other.values().copied());
        if lengths > 0.0 { (both / lengths).clamp(0.0, 1.0) } else { 0.0 }
    }
    pub fn words(&self) -> &[(u32, f32)] {
        &self.words
    }
}

/// What a sample of pages says of words and of usual measures.
#[derive(Clone, Debug, Default)]
pub(super) struct Scales {
    /// idf of the text's words by bucket.
    idf: Vec<f32>,
    mean: [f64; DENSE],
    spread: [f64; DENSE],
}

fn dense(page: &Features, measures: &[f64; MEASURES]) -> [f64; DENSE] {
    let mut out = [0.0; DENSE];
    out.iter_mut().zip(measures).for_each(|(o, m)| *o = *m);
    let (links, words) = (f64::from(page.links), f64::from(page.length));
    let shapes = [
        libm::log1p(links),
        libm::log1p(100.0 * links / (words + 20.0)),
        f64::from(page.depth.min(8)),
        libm::log1p(f64::from(page.headings)),
    ];
    out.iter_mut().skip(MEASURES).zip(shapes).for_each(|(o, s)| *o = s);
    out
}

impl Scales {
    pub fn of<'a>(sample: impl Iterator<Item = (&'a Features, &'a [f64; MEASURES])>) -> Scales {
        let mut df = vec![0u32; BUCKETS];
        let (mut n, mut sum, mut squares) = (0.0, [0.0; DENSE], [0.0; DENSE]);
        for (page, measures) in sample {
            n += 1.0;
            for (bucket, _) in page.words.get(BODY).into_iter().flatten() {
                if let Some(d) = df.get_mut(*bucket as usize) {
                    *d += 1;
                }
            }
            for ((s, q), v) in sum.iter_mut().zip(&mut squares).zip(dense(page, measures)) {
                *s += v;
                *q += v * v;
            }
        }
        let idf = |d: u32| libm::log(1.0 + (n - f64::from(d) + 0.5) / (f64::from(d) + 0.5)) as f32;
        let mean = sum.map(|s| s / f64::max(n, 1.0));
        let mut spread = squares;
        for (s, m) in spread.iter_mut().zip(mean) {
            *s = libm::sqrt((*s / f64::max(n, 1.0) - m * m).max(0.0)).max(1e-3);
        }
        Scales { idf: df.into_iter().map(idf).collect(), mean, spread }
    }

    /// A page's row.
    pub fn row(&self, page: &Features, measures: &[f64; MEASURES], prior: f64) -> Row {
        let mut d = dense(page, measures);
        for (i, v) in d.iter_mut().enumerate() {
            let (mean, spread) = (self.mean.get(i).unwrap_or(&0.0), self.spread.get(i).unwrap_or(&1.0));
            let scale = if i < MEASURES { MEASURE_SCALE } else { SHAPE_SCALE };
            *v = ((*v - mean) / spread).clamp(-5.0, 5.0) * scale;
        }
        let mut words = Vec::with_capacity(page.words.iter().map(Vec::len).sum());
        for (field, list) in page.words.iter().enumerate() {
            let from = words.len();
            let mut squares = 0.0;
            for (bucket, n) in list {
                let weight = match field {
                    // 1 + ln of how often, from the step it was kept in.
                    BODY => {
                        (1.0 + f64::from(*n) * core::f64::consts::LN_2)
                            * f64::from(self.idf.get(*bucket as usize).copied().unwrap_or(1.0))
                    }
                    _ => 1.0,
                };
                squares += weight * weight;
                words.push((*bucket, weight as f32));
            }
            let norm = (SCALE.get(field).copied().unwrap_or(1.0) / libm::sqrt(squares).max(1e-9)) as f32;
            words.iter_mut().skip(from).for_each(|w| w.1 *= norm);
        }
        Row { prior, dense: d, words }
    }
}

/// What was learnt.
#[derive(Clone, Debug, Default)]
pub(super) struct Weights {
    words: Vec<f32>,
    dense: [f64; DENSE],
    constant: f64,
}

impl Weights {
    /// The log-odds of a page.
    pub fn log_odds(&self, row: &Row) -> f64 {
        let dense: f64 = row.dense.iter().zip(self.dense).map(|(x, w)| x * w).sum();
        let word = |(bucket, x): &(u32, f32)| {
            f64::from(*x) * f64::from(self.words.get(*bucket as usize).copied().unwrap_or(0.0))
        };
        row.prior + dense + row.words.iter().map(word).sum::<f64>() + self.constant
    }
    /// What one word of a field adds.
    pub fn of_bucket(&self, bucket: u32) -> f64 {
        f64::from(self.words.get(bucket as usize).copied().unwrap_or(0.0))
    }

    /// Learns from labelled rows and a sample of unlabelled ones. Says, too, how likely each labelled page is by its label and
    /// by all else.
    pub fn learn(labelled: &[(Row, Label)], sample: &[Row]) -> (Weights, Vec<f64>) {
        let mut problem = Regression::new(labelled.iter().map(|l| &l.0).chain(sample));
        let n = labelled.len();
        let yes = labelled.iter().filter(|l| l.1.relevant).count();
        let both = yes > 0 && yes < n;
        let missing = ENOUGH / yes.max(1) as f64;
        problem.ridge = RIDGE * (1.0 + missing * missing * (1.0 - yes as f64 / n.max(1) as f64));
        problem.ridge_constant = if both { RIDGE_CONSTANT } else { RIDGE_CONSTANT_OF_ONE_KIND };
        let share = UNLABELLED / sample.len().max(1) as f64;
        problem.weight = labelled.iter().map(|_| 1.0).chain(sample.iter().map(|_| share)).collect();
        problem.target = labelled.iter().map(|l| f64::from(u8::from(l.1.relevant))).collect();
        problem.target.extend(sample.iter().map(|r| sigmoid(r.prior)));
        let mut w = vec![0.0; problem.width];
        problem.solve(&mut w);
        // With pages of one kind each round would only believe more of what it believed before.
        let rounds = if both { ROUNDS } else { 1 };
        for _ in 1..rounds {
            let others = problem.odds_without(&w, n);
            let answers: Vec<Answer> = others.iter().zip(labelled).map(|(z, l)| (sigmoid(*z), l.1)).collect();
            let odds = problem.odds(&w);
            for (t, z) in problem.target.iter_mut().zip(&odds).skip(n) {
                *t = sigmoid(*z);
            }
            let mistaken = |who| share_of_mistakes(answers.iter().copied(), who);
            let (person, model) = (mistaken(Who::Person), mistaken(Who::Model));
            for (t, (p, label)) in problem.target.iter_mut().zip(&answers) {
                let mistaken = if label.who == Who::Person { person } else { model };
                *t = believed(*p, label.relevant, mistaken);
            }
            problem.solve(&mut w);
        }
        let weights = problem.weights(&w);
        problem.target.truncate(n);
        (weights, problem.target)
    }
}

/// What the other answers make of a page, and what was said of it.
type Answer = (f64, Label);

/// The probability that a page is wanted: others give it `p`, its label may be a mistake.
fn believed(p: f64, label: bool, mistaken: f64) -> f64 {
    let said = if label { 1.0 - mistaken } else { mistaken };
    let (wanted, not) = (p * said, (1.0 - p) * (1.0 - said));
    wanted / (wanted + not).max(1e-12)
}

/// The share of answers that are mistakes, from what the others make of each (expectation and maximisation). The few first
/// answers say little of it.
fn share_of_mistakes(answers: impl Iterator<Item = Answer> + Clone, who: Who) -> f64 {
    let answers = answers.filter(|a| a.1.who == who);
    let mut share = USUAL_MISTAKES;
    for _ in 0..20 {
        let (mut n, mut wrong) = (SURE_OF_USUAL, SURE_OF_USUAL * USUAL_MISTAKES);
        for (p, label) in answers.clone() {
            let p = believed(p, label.relevant, share);
            n += 1.0;
            wrong += if label.relevant { 1.0 - p } else { p };
        }
        share = wrong / n;
    }
    let least = if who == Who::Model { LEAST_OF_MODEL } else { 0.0 };
    (EXCESS * (share - SEEMING)).clamp(least, MOST_MISTAKES)
}

/// The regression over those columns that some row has: words first, then dense ones, then the constant.
struct Regression<'a> {
    rows: Vec<(&'a Row, Vec<u32>)>,
    /// Bucket of each word column.
    buckets: Vec<u32>,
    width: usize,
    ridge: f64,
    ridge_constant: f64,
    target: Vec<f64>,
    weight: Vec<f64>,
}

impl<'a> Regression<'a> {
    fn new(rows: impl Iterator<Item = &'a Row>) -> Regression<'a> {
        let mut column = vec![u32::MAX; BUCKETS];
        let mut buckets = Vec::new();
        let rows = rows
            .map(|row| {
                let columns = row.words.iter().map(|(bucket, _)| {
                    let slot = column.get_mut(*bucket as usize);
                    slot.map_or(0, |c| {
                        if *c == u32::MAX {
                            *c = buckets.len() as u32;
                            buckets.push(*bucket);
                        }
                        *c
                    })
                });
                (row, columns.collect())
            })
            .collect();
        let width = buckets.len() + DENSE + 1;
        Regression {
            rows,
            buckets,
            width,
            ridge: RIDGE,
            ridge_constant: RIDGE_CONSTANT,
            target: Vec::new(),
            weight: Vec::new(),
        }
    }

    /// x·v for a row.
    fn dot(&self, (row, columns): &(&Row, Vec<u32>), v: &[f64]) -> f64 {
        let words: f64 =
            row.words.iter().zip(columns).map(|(w, c)| f64::from(w.1) * at(v, *c as usize)).sum();
        let dense = row.dense.iter().zip(v.iter().skip(self.buckets.len())).map(|(x, w)| x * w).sum::<f64>();
        words + dense + v.last().copied().unwrap_or(0.0)
    }
    /// out += by·x.
    fn add(&self, (row, columns): &(&Row, Vec<u32>), by: f64, out: &mut [f64]) {
        for (w, c) in row.words.iter().zip(columns) {
            if let Some(o) = out.get_mut(*c as usize) {
                *o += by * f64::from(w.1);
            }
        }
        for (x, o) in row.dense.iter().zip(out.iter_mut().skip(self.buckets.len())) {
            *o += by * x;
        }
        if let Some(o) = out.last_mut() {
            *o += by;
        }
    }
    fn ridge(&self, column: usize) -> f64 {
        if column + 1 == self.width { self.ridge_constant } else { self.ridge }
    }
    fn odds(&self, w: &[f64]) -> Vec<f64> {
        self.rows.iter().map(|r| r.0.prior + self.dot(r, w)).collect()
    }
    fn loss(&self, w: &[f64]) -> f64 {
        let fit: f64 = self
            .odds(w)
            .into_iter()
            .zip(&self.target)
            .zip(&self.weight)
            .map(|((z, t), m)| {
                // -t·ln p - (1-t)·ln(1-p), without overflow.
                m * (f64::max(z, 0.0) - z * t + libm::log1p(libm::exp(-z.abs())))
            })
            .sum();
        fit + 0.5 * w.iter().enumerate().map(|(i, v)| self.ridge(i) * v * v).sum::<f64>()
    }

    /// Newton's method from `w` on; each step by conjugate gradients, halved while it does not help.
    fn solve(&self, w: &mut Vec<f64>) {
        let mut loss = self.loss(w);
        for _ in 0..NEWTON_STEPS {
            let mut gradient: Vec<f64> = w.iter().enumerate().map(|(i, v)| self.ridge(i) * v).collect();
            let mut curve = Vec::with_capacity(self.rows.len());
            for ((row, z), (t, m)) in
                self.rows.iter().zip(self.odds(w)).zip(self.target.iter().zip(&self.weight))
            {
                let p = sigmoid(z);
                self.add(row, m * (p - t), &mut gradient);
                curve.push(m * (p * (1.0 - p)).max(1e-6));
            }
            let size = norm(&gradient);
            if size < 1e-4 {
                break;
            }
            let step = self.conjugate_gradients(&gradient, &curve);
            let mut scale = 1.0;
            let better = loop {
                let next: Vec<f64> = w.iter().zip(&step).map(|(v, s)| v - scale * s).collect();
                let l = self.loss(&next);
                if l < loss {
                    break Some((next, l));
                }
                scale /= 2.0;
                if scale < 1e-3 {
                    break None;
                }
            };
            let Some((next, l)) = better else { break };
            let gain = loss - l;
            (*w, loss) = (next, l);
            if gain < 1e-5 * (1.0 + loss) {
                break;
            }
        }
    }

    /// The odds of the first `n` rows as the others see them: each part of them is left out in turn.
    fn odds_without(&mut self, w: &[f64], n: usize) -> Vec<f64> {
        let weight = self.weight.clone();
        let mut out = vec![0.0; n];
        for part in 0..PARTS {
            let is_out = |i: usize| i < n && i % PARTS == part;
            for (_, m) in self.weight.iter_mut().enumerate().filter(|(i, _)| is_out(*i)) {
                *m = 0.0;
            }
            let mut v = w.to_vec();
            self.solve(&mut v);
            for (_, (o, row)) in out.iter_mut().zip(&self.rows).enumerate().filter(|(i, _)| is_out(*i)) {
                *o = row.0.prior + self.dot(row, &v);
            }
            self.weight.clone_from(&weight);
        }
        out
    }

    /// Solves `H·s = g`, `H = Σ curve·x·xᵀ + ridge`.
    fn conjugate_gradients(&self, g: &[f64], curve: &[f64]) -> Vec<f64> {
        let mut s = vec![0.0; self.width];
        let mut r = g.to_vec();
        let mut d = r.clone();
        let mut rr = dot(&r, &r);
        let enough = rr * 1e-4;
        for _ in 0..GRADIENT_STEPS {
            let mut hd: Vec<f64> = d.iter().enumerate().map(|(i, v)| self.ridge(i) * v).collect();
            for (row, c) in self.rows.iter().zip(curve) {
                let x = self.dot(row, &d);
                self.add(row, c * x, &mut hd);
            }
            let step = rr / dot(&d, &hd).max(1e-300);
            for ((s, r), (d, h)) in s.iter_mut().zip(&mut r).zip(d.iter().zip(&hd)) {
                *s += step * d;
                *r -= step * h;
            }
            let next = dot(&r, &r);
            if next < enough {
                break;
            }
            let keep = next / rr;
            d.iter_mut().zip(&r).for_each(|(d, r)| *d = r + keep * *d);
            rr = next;
        }
        s
    }

    fn weights(&self, w: &[f64]) -> Weights {
        let mut out = Weights { words: vec![0.0; BUCKETS], ..Weights::default() };
        for (bucket, v) in self.buckets.iter().zip(w) {
            if let Some(o) = out.words.get_mut(*bucket as usize) {
                *o = *v as f32;
            }
        }
        out.dense.iter_mut().zip(w.iter().skip(self.buckets.len())).for_each(|(o, v)| *o = *v);
        out.constant = w.last().copied().unwrap_or(0.0);
        out
    }
}

fn at(v: &[f64], i: usize) -> f64 {
    v.get(i).copied().unwrap_or(0.0)
}
fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}
fn norm(v: &[f64]) -> f64 {
    libm::sqrt(dot(v, v))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(words: &[u32]) -> Features {
        let mut list: Vec<(u32, u8)> = words.iter().map(|w| (*w, 0)).collect();
        list.sort_unstable();
        let mut page = Features { length: 100, ..Features::default() };
        page.words[BODY] = list;
        page
    }

    /// Pages with word 1 are wanted; all have word 2 and one of their own.
    #[test]
    fn labels_find_the_word_that_matters_and_none_change_nothing() {
        let none = [0.0; MEASURES];
        let pages: Vec<Features> =
            (0..60).map(|i| page(&[if i % 3 == 0 { 1 } else { 3 }, 2, 100 + i])).collect();
        let scales = Scales::of(pages.iter().map(|p| (p, &none)));
        let row = |i: usize| scales.row(&pages[i], &none, -3.0);
        let sample: Vec<Row> = (0..60).map(row).collect();
        let (untaught, _) = Weights::learn(&[], &sample);
        assert!((untaught.log_odds(&row(0)) + 3.0).abs() < 1e-6, "the prior is where it starts");
        let labelled: Vec<(Row, Label)> = (0..36).map(|i| (row(i), Label::person(i % 3 == 0))).collect();
        let (w, _) = Weights::learn(&labelled, &sample);
        let odds = |i| w.log_odds(&row(i));
        assert!(odds(48) > odds(49) + 0.5, "{} against {}", odds(48), odds(49));
        assert!(w.of_bucket(1) > 0.3 && w.of_bucket(3) < 0.0 && w.of_bucket(1) > w.of_bucket(2).abs());
    }

    /// One answer in eleven is a mistake: the others find that out, and say which.
    #[test]
    fn mistakes_are_recognised_by_the_other_answers() {
        let none = [0.0; MEASURES];
        let pages: Vec<Features> =
            (0..120).map(|i| page(&[if i % 3 == 0 { 1 } else { 3 }, 100 + i % 10])).collect();
        let scales = Scales::of(pages.iter().map(|p| (p, &none)));
        let rows = || pages.iter().map(|p| scales.row(p, &none, -1.0));
        let sample: Vec<Row> = rows().collect();
        let is_wrong = |i: usize| i % 11 == 4;
        let said = |i: usize| Label { relevant: i.is_multiple_of(3) != is_wrong(i), who: Who::Model };
        let labelled: Vec<(Row, Label)> = rows().enumerate().map(|(i, row)| (row, said(i))).collect();
        let (w, weighed) = Weights::learn(&labelled, &sample);
        let unseen = |word| w.log_odds(&scales.row(&page(&[word, 105]), &none, -1.0));
        assert!(unseen(1) > 0.8 && unseen(3) < -2.0, "{} {}", unseen(1), unseen(3));
        // A mistaken yes is believed less than any right one.
        let yes = |wrong: bool| {
            let of = move |i: &usize| said(*i).relevant && is_wrong(*i) == wrong;
            (0..120).filter(of).map(|i| weighed[i]).collect::<Vec<f64>>()
        };
        let (right, wrong) = (yes(false), yes(true));
        let (least, most) =
            (right.iter().copied().fold(1.0, f64::min), wrong.iter().copied().fold(0.0, f64::max));
        assert!(most + 0.01 < least && wrong.len() > 5, "{right:?} {wrong:?}");
    }

    #[test]
    fn right_answers_are_believed() {
        let of = |answers: &[Answer]| share_of_mistakes(answers.iter().copied(), Who::Person);
        let right: Vec<Answer> =
            (0..100).map(|i| (if i % 4 == 0 { 0.9 } else { 0.02 }, Label::person(i % 4 == 0))).collect();
        assert_eq!(of(&right), 0.0);
        let mut wrong = right;
        wrong.iter_mut().filter(|a| a.0 < 0.1).step_by(5).for_each(|a| a.1.relevant = true);
        assert!(of(&wrong) > 0.1, "{}", of(&wrong));
        // The first answers are believed, whatever the topic makes of the page.
        assert!(of(&[(0.1, Label::person(true)); 3]) < 0.02);
    }
}
