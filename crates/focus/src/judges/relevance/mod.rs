//! Judge `relevance`, the default: a calibrated probability from whatever is known of the wish.
//!
//! Everything it knows is a function of the pages it was shown, in order, and of the labels that count now
//! ([`Relevance::fit`]): nothing is carried along, so taking a label back restores exactly what was, and a resumed
//! crawl shows it the pages again.

mod features;
mod learner;
mod line;
mod prior;
mod terms;

use super::{Example, ExampleKind, Judge, JudgeEntry, JudgeSetup, Like, Needs, Reasons, WordReason};
use crate::text::Doc;
use crate::topic::Threshold;
use features::Features;
use learn::bytes::{Reader, Writer, damaged};
use learn::sigmoid;
use learner::{Row, Scales, Weights};
use line::Aim;
use prior::{Background, Measured, Prior};
use serde::Deserialize;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::OnceLock;
use terms::{CONTENT, GENRE, TopicTerms, URL, WISH};
use types::{Assessment, Cursor, Features as Kept, Hit, Label, Part, Problem, Verdict, Who};

pub(super) const ENTRY: JudgeEntry = JudgeEntry {
    name: "relevance",
    summary: "a probability from terms, name, examples and labels; learns from every answer",
    doc: "\
## What it does
Gives the probability that a page is wanted. It reads the page's own text (no menus, headers, footers), title, headings
and URL. Without labels the topic decides: terms of the genre *and* terms of the subject, weighed by how rare they are
in this crawl, words of the topic's name and description, and URL words. Example pages and labels then teach a logistic
regression over the words of all fields that starts from there; links to a page and the pages they stand on are such
fields, too. Relevant from the line on that lets expect the best F1.

## When it helps
Always: it is the default. A few labels (`gleaner label`) help most.

## When it hurts
When a wanted page shares neither terms nor words with anything said or labelled.

## Options
`threshold` = \"auto\" (default) or a probability · `precision` or `recall` = 0–1: the line that lets expect this much of it.

## Source
Ours; docs/adr/0022-relevance.md and 0040-in-links-are-a-field.md. Genre and subject apart: Assis et al. BM25: Robertson et al.",
    build: |setup| Ok(Box::new(Relevance::new(setup)?)),
};

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Options {
    precision: Option<f64>,
    recall: Option<f64>,
}

/// One page in so many is wanted, until labels say otherwise.
const USUAL_SHARE: f64 = 0.02;
/// Unlabelled pages that the regression is shown.
const SAMPLE: usize = 400;
/// Pages that say which words are rare.
const SCALE_SAMPLE: usize = 1_000;
/// It looks at the background again after so many pages, and then after a quarter more each time.
const FEWEST_NEW: usize = 10;

/// Words that are told for a page and against it; those that add less than this are not.
const MOST_REASONS: usize = 12;
const LEAST_REASON: f64 = 0.0005;
/// Pages that have less in common are not alike.
const LEAST_LIKE: f64 = 0.1;

struct Relevance {
    terms: TopicTerms,
    aim: Aim,
    examples: Vec<(Kept, bool)>,
    /// What is kept of the pages it was shown.
    seen: Vec<Kept>,
    /// What was said of them, by where they are.
    labels: BTreeMap<usize, Label>,
    version: u32,
    /// So many of the pages are its background: those up to the last milestone, or the last labelled one.
    background: usize,
    /// After so many pages it looks again.
    next: usize,
    fitted: OnceLock<Fitted>,
}

/// The judge's mind after some pages.
struct Fitted {
    prior: Prior,
    learned: Option<(Scales, Weights)>,
    /// Of pages a model spoke of: how likely they are by its word and by all else, under the hash of what is kept of them.
    weighed: HashMap<u64, f64>,
    line: f64,
    expected_f1: f64,
    /// Probabilities of all pages seen by then; NaN of those that cannot be read.
    shown: Vec<f64>,
}

/// From so many pages on, all cores look at them.
const MANY: usize = 8_000;

/// Looks at pages on all cores, given where the first of each part is; the parts are in order.
fn in_parts<T: Send>(pages: &[Kept], look: &(dyn Fn(usize, &[Kept]) -> T + Sync)) -> Vec<T> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    if pages.len() < MANY || threads < 2 {
        return vec![look(0, pages)];
    }
    let size = pages.len().div_ceil(threads);
    std::thread::scope(|s| {
        let chunks = pages.chunks(size).enumerate();
        let parts: Vec<_> =
            chunks.map(|(i, part)| (i, part, s.spawn(move || look(i * size, part)))).collect();
        // Should a thread be lost, its part is looked at here.
        let joined = |(i, part, made): (usize, _, std::thread::ScopedJoinHandle<T>)| {
            made.join().unwrap_or_else(|_| look(i * size, part))
        };
        parts.into_iter().map(joined).collect()
    })
}

/// What the pages of the background say together.
struct Survey {
    background: Background,
    /// Unlabelled pages, drawn by a hash of what is kept of them: those with the smallest, in that order.
    sample: Vec<(u64, usize)>,
}

impl Survey {
    /// Draws of more pages than needed are let go.
    fn trim(&mut self) {
        self.sample.sort_unstable();
        self.sample.truncate(SCALE_SAMPLE);
    }
}

impl Fitted {
    /// Log-odds of a page, and where they begin.
    fn odds(&self, terms: &TopicTerms, page: &Features) -> (Start, f64) {
        let start = Start::of(&self.prior, terms, page);
        let odds = match &self.learned {
            Some((scales, weights)) => weights.log_odds(&scales.row(page, &start.measures.of, start.odds)),
            None => start.odds,
        };
        (start, odds)
    }

    /// How likely a page is of which this is kept.
    fn probability(&self, terms: &TopicTerms, kept: &[u8]) -> Result<f64, Problem> {
        if !self.weighed.is_empty()
            && let Some(p) = self.weighed.get(&crate::text::word_hash_of(kept))
        {
            return Ok(*p);
        }
        // No words are read before words were learnt.
        let decode = if self.learned.is_some() { Features::decode } else { Features::decode_terms };
        Ok(sigmoid(self.odds(terms, &decode(kept)?).1))
    }

    /// What the log-odds are made of, by name. They add up.
    fn parts(&self, start: &Start, odds: f64) -> Vec<(&'static str, f64)> {
        let (any, added) = self.prior.parts(&start.measures);
        let mut parts = vec![("any page", any + usual_odds())];
        parts.extend(prior::NAMES.into_iter().zip(added));
        if start.stuffing > 0.0 {
            parts.push(("stuffed with the topic's words", prior::cost(start.stuffing)));
        }
        parts.push(("learned from labels", odds - start.odds));
        parts
    }
}

/// Log-odds of a page before anything is known of it.
fn usual_odds() -> f64 {
    libm::log(USUAL_SHARE / (1.0 - USUAL_SHARE))
}

/// What the topic alone makes of a page.
struct Start {
    measures: Measured,
    stuffing: f64,
    /// Log-odds before anything is learnt.
    odds: f64,
}

impl Start {
    fn of(prior: &Prior, terms: &TopicTerms, page: &Features) -> Start {
        let (measures, stuffing) = (prior.measure(terms, page), prior::stuffing(terms, page));
        let odds = prior.log_odds(&measures, stuffing) + usual_odds();
        Start { measures, stuffing, odds }
    }
}

impl Relevance {
    fn new(setup: &JudgeSetup) -> Result<Relevance, Problem> {
        let options: Options = crate::options::parse("judge `relevance`", setup.options)?;
        let aim = aim(&options, setup)?;
        let terms = TopicTerms::new(setup.topic);
        let of = |e: &Example| {
            let label = match e.kind {
                ExampleKind::Relevant => true,
                ExampleKind::Irrelevant => false,
                ExampleKind::Genre => return None,
            };
            Some((Kept::of(&Features::of(&e.doc, &terms).encode()), label))
        };
        let mut examples: Vec<(Kept, bool)> = setup.examples.iter().filter_map(of).collect();
        if let Some(bytes) = setup.trained(ENTRY.name)? {
            examples.extend(read_lessons(bytes)?);
        }
        Ok(Relevance {
            terms,
            aim,
            examples,
            seen: Vec::new(),
            labels: BTreeMap::new(),
            version: 0,
            background: 0,
            next: FEWEST_NEW,
            fitted: OnceLock::new(),
        })
    }

    fn fitted(&self) -> &Fitted {
        self.fitted.get_or_init(|| self.fit())
    }

    /// Everything from the pages shown and the labels that count.
    fn fit(&self) -> Fitted {
        let Survey { background, sample } = self.survey();
        let prior = Prior::new(&self.terms, background);
        let mut fitted = Fitted {
            prior,
            learned: None,
            weighed: HashMap::new(),
            line: 0.0,
            expected_f1: 0.0,
            shown: Vec::new(),
        };
        if self.labels.len() + self.examples.len() > 0 {
            self.learn(&mut fitted, &sample);
        }
        let judged = |_, pages: &[Kept]| -> Vec<f64> {
            let mut cursor = Cursor::default();
            pages
                .iter()
                .map(|page| fitted.probability(&self.terms, cursor.read(page)).unwrap_or(f64::NAN))
                .collect()
        };
        // Pages after the background are judged with it; only the background says where the line is.
        let shown = in_parts(&self.seen, &judged).concat();
        let probabilities = shown.iter().take(self.background).copied().filter(|p| !p.is_nan()).collect();
        (fitted.line, fitted.expected_f1) = line::draw(self.aim, probabilities);
        fitted.shown = shown;
        fitted
    }

    fn survey(&self) -> Survey {
        let drawing = self.labels.len() + self.examples.len() > 0;
        let look = |first: usize, pages: &[Kept]| {
            let mut cursor = Cursor::default();
            let mut part = Survey { background: Background::new(&self.terms), sample: Vec::new() };
            for (i, page) in pages.iter().enumerate() {
                let bytes = cursor.read(page);
                let Ok(features) = Features::decode_terms(bytes) else { continue };
                part.background.add(&features);
                if drawing && !self.labels.contains_key(&(first + i)) {
                    part.sample.push((crate::text::word_hash_of(bytes), first + i));
                    if part.sample.len() >= 4 * SCALE_SAMPLE {
                        part.trim();
                    }
                }
            }
            part
        };
        let shown = self.seen.get(..self.background).unwrap_or(&[]);
        let mut all = Survey { background: Background::new(&self.terms), sample: Vec::new() };
        for part in in_parts(shown, &look) {
            all.background.merge(&part.background);
            all.sample.extend(part.sample);
        }
        all.trim();
        all
    }

    /// Example pages, then labelled ones.
    fn lessons(&self) -> impl Iterator<Item = (&Kept, Label)> {
        let labelled = self.labels.iter().filter_map(|(i, label)| Some((self.seen.get(*i)?, *label)));
        self.examples.iter().map(|(f, l)| (f, Label::person(*l))).chain(labelled)
    }

    fn learn(&self, fitted: &mut Fitted, sample: &[(u64, usize)]) {
        let sample = sample.iter().filter_map(|(_, i)| self.seen.get(*i));
        let sample: Vec<Features> = sample.filter_map(|s| Features::decode(&s.read()).ok()).collect();
        let (mut hashes, mut labelled) = (Vec::new(), Vec::new());
        for (kept, label) in self.lessons() {
            let bytes = kept.read();
            let Ok(page) = Features::decode(&bytes) else { continue };
            hashes.push(crate::text::word_hash_of(&bytes));
            labelled.push((page, label));
        }
        let pages: Vec<&Features> = sample.iter().chain(labelled.iter().map(|l| &l.0)).collect();
        let starts: Vec<Start> = pages.iter().map(|p| Start::of(&fitted.prior, &self.terms, p)).collect();
        let scales = Scales::of(pages.iter().zip(&starts).map(|(p, s)| (*p, &s.measures.of)));
        let row = |(page, start): (&Features, &Start)| scales.row(page, &start.measures.of, start.odds);
        let (of_sample, of_labelled) = starts.split_at(sample.len());
        let labelled = labelled.iter().zip(of_labelled);
        let rows: Vec<(Row, Label)> = labelled.map(|((p, label), s)| (row((p, s)), *label)).collect();
        let others: Vec<Row> = sample.iter().zip(of_sample).take(SAMPLE).map(row).collect();
        let (weights, weighed) = Weights::learn(&rows, &others);
        let by_model = rows.iter().map(|r| r.1.who == Who::Model);
        let weighed = hashes.into_iter().zip(weighed).zip(by_model);
        fitted.weighed = weighed.filter(|(_, by_model)| *by_model).map(|(known, _)| known).collect();
        fitted.learned = Some((scales, weights));
    }

    fn probability(&self, assessment: &Assessment) -> f64 {
        // A page of which only the score is known keeps it.
        let known = self.fitted().probability(&self.terms, &assessment.features.read());
        known.unwrap_or(assessment.score)
    }

    /// The lesson that is most like a page; itself does not count.
    fn like(&self, scales: &Scales, prior: &Prior, own: &Kept, row: &Row) -> Option<Like> {
        let words: HashMap<u32, f32> = row.words().iter().copied().collect();
        let mut best: Option<Like> = None;
        let examples = self.examples.len();
        for (i, (kept, label)) in self.lessons().enumerate() {
            let Some(page) = Features::decode(&kept.read()).ok().filter(|_| kept != own) else { continue };
            let measures = prior.measure(&self.terms, &page);
            let similarity = scales.row(&page, &measures.of, 0.0).similarity(&words);
            if best.is_none_or(|b| similarity > b.similarity) {
                best = Some(Like { nth: i.checked_sub(examples), label: label.relevant, similarity });
            }
        }
        best.filter(|b| b.similarity >= LEAST_LIKE)
    }

    fn hits(&self, page: &Features) -> Vec<Hit> {
        let mut out = Vec::new();
        for set in [GENRE, CONTENT, URL, WISH] {
            let active: HashSet<u32> = self.terms.active(set, page.list).collect();
            for t in page.terms.iter().filter(|t| active.contains(&t.term)) {
                let count = if set == URL { u32::from(t.in_url) } else { t.count };
                if count > 0 {
                    let (set, term) = (self.terms.set_name(set).into(), self.terms.text(t.term).into());
                    out.push(Hit { set, term, count });
                }
            }
        }
        out
    }
}

fn aim(options: &Options, setup: &JudgeSetup) -> Result<Aim, Problem> {
    let share = |name: &str, v: f64| match v > 0.0 && v < 1.0 {
        true => Ok(v),
        false => Err(Problem::usage(format!("[judge] {name} = {v} is not a share between 0 and 1"))
            .hint(format!("write {name} = 0.9 for nine in ten"))),
    };
    let given = Some(setup.topic.judge.threshold).filter(|t| *t != Threshold::Auto);
    match (options.precision, options.recall, given) {
        (Some(_), Some(_), _) | (Some(_), _, Some(_)) | (_, Some(_), Some(_)) => {
            Err(Problem::usage("[judge] threshold, precision and recall each draw the line")
                .hint("keep one of them"))
        }
        (Some(p), None, None) => Ok(Aim::Precision(share("precision", p)?)),
        (None, Some(r), None) => Ok(Aim::Recall(share("recall", r)?)),
        (None, None, Some(Threshold::Fixed(t))) => Ok(Aim::Fixed(t)),
        (None, None, Some(Threshold::Estimated(e))) => Err(Problem::usage(format!(
            "judge `relevance` gives probabilities: threshold = \"{}\" is for the scores of other judges",
            e.name()
        ))
        .hint("leave threshold out, or set [judge] kind = \"genre\"")),
        _ => Ok(Aim::Best),
    }
}

impl Judge for Relevance {
    fn assess(&self, doc: &Doc) -> Assessment {
        let page = Features::of(doc, &self.terms);
        let fitted = self.fitted();
        let (start, odds) = fitted.odds(&self.terms, &page);
        let part = |(name, value): (&str, f64)| Part { name: name.into(), value };
        let parts = fitted.parts(&start, odds).into_iter().map(part).collect();
        let hits = self.hits(&page);
        Assessment {
            score: sigmoid(odds),
            parts,
            hits,
            stuffed: start.stuffing > 0.0,
            features: Kept::of(&page.encode()),
            ..Assessment::default()
        }
    }

    fn decide(&self, assessment: &Assessment) -> Verdict {
        let relevance = self.probability(assessment);
        let threshold = self.fitted().line;
        Verdict { relevant: relevance >= threshold, relevance, threshold, version: self.version }
    }

    fn observe(&mut self, assessment: &Assessment, label: Option<Label>) -> bool {
        if assessment.features.is_empty() {
            return false;
        }
        self.labels.extend(label.map(|label| (self.seen.len(), label)));
        self.seen.push(assessment.features.clone());
        let n = self.seen.len();
        let milestone = n >= self.next;
        if milestone {
            self.next = n + FEWEST_NEW.max(n / 4);
        }
        if milestone || label.is_some() {
            self.background = n;
            self.fitted = OnceLock::new();
            self.version += 1;
        }
        milestone || label.is_some()
    }

    fn needs(&self) -> Needs {
        Needs { assessments: true, own_text: true, pages: true }
    }

    fn decide_shown(&self) -> Vec<(Kept, Verdict)> {
        let fitted = self.fitted();
        let (threshold, version) = (fitted.line, self.version);
        let verdict = |relevance| Verdict { relevant: relevance >= threshold, relevance, threshold, version };
        let seen = self.seen.iter().zip(&fitted.shown).filter(|(_, p)| !p.is_nan());
        seen.map(|(kept, p)| (kept.clone(), verdict(*p))).collect()
    }

    fn reasons(&self, assessment: &Assessment, doc: &Doc) -> Option<Reasons> {
        let page = Features::decode(&assessment.features.read()).ok()?;
        let fitted = self.fitted();
        let (start, odds) = fitted.odds(&self.terms, &page);
        let named = fitted.parts(&start, odds).into_iter();
        let mut out = Reasons {
            parts: named.map(|(name, value)| (name.to_string(), value)).collect(),
            ..Reasons::default()
        };
        let Some((scales, weights)) = &fitted.learned else { return Some(out) };
        let row = scales.row(&page, &start.measures.of, start.odds);
        let names = features::named(doc);
        for (bucket, x) in row.words() {
            let value = f64::from(*x) * weights.of_bucket(*bucket);
            let Some((field, word)) = names.get(bucket) else { continue };
            let field = features::FIELD_NAMES.get(*field).copied().unwrap_or("text");
            let reason = WordReason { word: word.clone(), field, value };
            if value > LEAST_REASON {
                out.words_for.push(reason);
            } else if value < -LEAST_REASON {
                out.words_against.push(reason);
            }
        }
        out.words_for.sort_by(|a, b| b.value.total_cmp(&a.value));
        out.words_against.sort_by(|a, b| a.value.total_cmp(&b.value));
        out.words_for.truncate(MOST_REASONS);
        out.words_against.truncate(MOST_REASONS);
        out.like = self.like(scales, &fitted.prior, &assessment.features, &row);
        Some(out)
    }

    fn trained(&self) -> Option<Vec<u8>> {
        let mut w = Writer::default();
        let all: Vec<(&Kept, Label)> = self.lessons().collect();
        w.u8(1).var(all.len() as u64);
        for (kept, label) in all {
            w.u8(u8::from(label.relevant)).bytes(&kept.read());
        }
        Some(w.0)
    }

    fn explain(&self) -> Option<String> {
        let f = self.fitted();
        let known = match self.labels.len() + self.examples.len() {
            0 => "the topic's terms and name".to_string(),
            1 => "the topic and one labelled page".to_string(),
            n => format!("the topic and {n} labelled pages"),
        };
        let line = match self.aim {
            Aim::Best => format!(
                "the best to expect from the probabilities of {} pages (F1 {:.2})",
                self.background, f.expected_f1
            ),
            Aim::Precision(p) => format!("for a precision of {p}"),
            Aim::Recall(r) => format!("for a recall of {r}"),
            Aim::Fixed(_) => "as set".to_string(),
        };
        Some(format!("threshold {:.3}, {line}; probability from {known}", f.line))
    }
}

/// Labelled pages of a model file.
fn read_lessons(bytes: &[u8]) -> Result<Vec<(Kept, bool)>, Problem> {
    let mut r = Reader(bytes);
    if r.u8()? != 1 {
        return Err(damaged());
    }
    let mut out = Vec::new();
    for _ in 0..r.var()? {
        let label = r.u8()? != 0;
        let features = r.bytes()?;
        Features::decode(features)?;
        out.push((Kept::of(features), label));
    }
    r.end()?;
    Ok(out)
}
