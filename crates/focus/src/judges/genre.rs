//! Judges `genre` (Assis 2008, Algorithm 2) and `terms` (its ablation, Assis 2008, Tab. 4.4).

use super::{Judge, JudgeEntry, JudgeSetup, Measure, Needs, Thresholded};
use crate::text::vector::idf;
use crate::text::{Doc, Found, Language, Terms};
use crate::topic::{IdfSource, Weights};
use learn::bytes::{Reader, Writer, damaged};
use types::{Assessment, Hit, Part, Problem};

pub(super) const GENRE: JudgeEntry = JudgeEntry {
    name: "genre",
    summary: "similarity to genre, content and URL terms, judged apart and combined",
    doc: "\
## What it does
Measures the cosine between the page and the genre terms, the page and the content terms, and the page's URL and the URL
terms: `comb = (GW·g + CW·c)/(GW+CW)`, `final = (GCW·comb + UW·u)/(GCW+UW)`. A set without terms is left out of its
mean. Relevant from the threshold on.

## When it helps
When you can say in words both what kind of page you want and what it should be about: course syllabi, job offers,
release notes. Needs no training.

## When it hurts
When wanted pages share no vocabulary, or when the same words fill unwanted pages.

## Options
`threshold` = \"auto\" (default), 0–1, or an estimator · `weights` = { genre = 5, content = 5, combined = 7, url = 3 }
(4 and 6 for offers, says the source) · `[text] idf` = \"one\" (default), \"online\" or a file.

## Source
Assis, Laender, Gonçalves, da Silva: genre-aware focused crawling, Algorithm 2.",
    build: |setup| build(setup, false),
};

pub(super) const TERMS: JudgeEntry = JudgeEntry {
    name: "terms",
    summary: "similarity to all terms in one set (genre and content not told apart)",
    doc: "\
## What it does
As `genre`, with genre and content terms merged into one set.

## When it helps
As a baseline: it shows what telling genre and content apart is worth. Also when the terms are a mixed bag anyway.

## When it hurts
A page full of content terms and of another genre looks like a wanted one.

## Options
As `genre`; of `weights` only `combined` and `url` count.

## Source
The ablation of Assis et al., Table 4.4.",
    build: |setup| build(setup, true),
};

fn build(setup: &JudgeSetup, merged: bool) -> Result<Box<dyn Judge>, Problem> {
    super::no_options(setup)?;
    Ok(Thresholded::over(GenreMeasure::new(setup, merged)?, setup))
}

/// Wanted pages usually score so many times what a page with one term of each set does.
const ABOVE: f64 = 1.12;

/// A term of the subject counts on an example page when so many of the other examples have it.
const OTHERS: usize = 2;

/// Page words against the sets `genre` and `content` (or `terms`), URL words against `url`.
struct GenreMeasure {
    words: Terms,
    urls: Terms,
    weights: Weights,
    idf: Idf,
}

enum Idf {
    One,
    /// Fixed, per term of `words` and of `urls`.
    File {
        words: Vec<f64>,
        urls: Vec<f64>,
    },
    /// Documents seen, and with each term of `words`. URL words weigh 1: a URL is no document.
    Online {
        documents: u32,
        with: Vec<u32>,
    },
}

impl GenreMeasure {
    fn new(setup: &JudgeSetup, merged: bool) -> Result<GenreMeasure, Problem> {
        let topic = setup.topic;
        if topic.genre.is_empty() && topic.content.is_empty() {
            return Err(Problem::usage(format!(
                "judge `{}` needs terms, and the topic has \
                                               none",
                topic.judge.kind
            ))
            .hint(
                "add `[genre] preset` or `terms`, or `[content] terms`; `gleaner terms` suggests some \
                       from example pages",
            ));
        }
        let words = if merged { topic.merged_terms() } else { topic.page_terms() };
        let urls = topic.url_terms();
        let idf = match (&topic.text.idf, setup.idf) {
            (IdfSource::One, _) => Idf::One,
            (IdfSource::Online, _) => Idf::Online { documents: 0, with: vec![0; words.len()] },
            (IdfSource::File(_), Some(df)) => {
                Idf::File { words: words.idf_from(df), urls: urls.idf_from(df) }
            }
            (IdfSource::File(path), None) => {
                return Err(Problem::new(format!("the idf file {path} was not read")));
            }
        };
        if words.is_empty() {
            return Err(Problem::usage("none of the topic's terms contains a letter or digit")
                .hint("check `[genre] terms` and `[content] terms`"));
        }
        Ok(GenreMeasure { words, urls, weights: topic.judge.weights, idf })
    }

    fn word_idf(&self, term: usize) -> f64 {
        match &self.idf {
            Idf::One => 1.0,
            Idf::File { words, .. } => words.get(term).copied().unwrap_or(1.0),
            Idf::Online { documents, with } => idf(*documents, with.get(term).copied().unwrap_or(0)),
        }
    }
    fn url_idf(&self, term: usize) -> f64 {
        match &self.idf {
            Idf::File { urls, .. } => urls.get(term).copied().unwrap_or(1.0),
            _ => 1.0,
        }
    }

    /// Algorithm 2, steps 5–9: the parts, the last of them the final similarity.
    fn parts(&self, found: &Found, url: Option<f64>) -> Vec<Part> {
        let mut parts = Vec::with_capacity(5);
        let mut weighted = Vec::with_capacity(2);
        for (name, weight) in
            [("genre", self.weights.genre), ("content", self.weights.content), ("terms", 1.0)]
        {
            let Some(set) = self.words.set(name).filter(|s| !self.words.set_is_empty(*s)) else { continue };
            let sim = self.words.sim(set, found, |t| self.word_idf(t));
            parts.push(Part { name: name.into(), value: sim });
            weighted.push((sim, weight));
        }
        let combined = mean(&weighted);
        parts.push(Part { name: "combined".into(), value: combined });
        let score = match url {
            Some(u) => {
                parts.push(Part { name: "url".into(), value: u });
                mean(&[(combined, self.weights.combined), (u, self.weights.url)])
            }
            None => combined,
        };
        parts.push(Part { name: "score".into(), value: score });
        parts
    }

    /// The similarity of the page's URL, and what was found in it; nothing when the topic has no URL terms.
    fn url_of(&self, doc: &Doc) -> (Option<f64>, Option<Found>) {
        let Some(set) = self.urls.set("url").filter(|s| !self.urls.set_is_empty(*s)) else {
            return (None, None);
        };
        let found = self.urls.count(&[doc.url()], None);
        (Some(self.urls.sim(set, &found, |t| self.url_idf(t))), Some(found))
    }

    /// The score of a page that has one term of each set, in the usual language.
    fn one_of_each(&self) -> f64 {
        let list = self.words.list_for(None);
        let one = |terms: &Terms, set: usize, list, kinds: f64| {
            let n = terms.active(set, list).count() as f64;
            if n > 0.0 { libm::sqrt((kinds / n).min(1.0)) } else { 0.0 }
        };
        let mut weighted = Vec::with_capacity(2);
        for (name, weight, kinds) in [
            ("genre", self.weights.genre, 1.0),
            ("content", self.weights.content, 1.0),
            // Two kinds of terms in one set.
            ("terms", 1.0, 2.0),
        ] {
            let Some(set) = self.words.set(name).filter(|s| !self.words.set_is_empty(*s)) else { continue };
            weighted.push((one(&self.words, set, list, kinds), weight));
        }
        let combined = mean(&weighted);
        match self.urls.set("url").filter(|s| !self.urls.set_is_empty(*s)) {
            Some(set) => mean(&[
                (combined, self.weights.combined),
                (one(&self.urls, set, None, 1.0), self.weights.url),
            ]),
            None => combined,
        }
    }

    /// What was found, from the hits of an earlier assessment.
    fn recall(&self, assessment: &Assessment) -> Found {
        let list =
            assessment.parts.iter().find_map(|p| p.name.strip_prefix("list:")).and_then(Language::from_code);
        let mut counts = vec![0; self.words.len()];
        for hit in &assessment.hits {
            let term = self.words.set(&hit.set).and_then(|s| self.words.find(s, &hit.term, list));
            if let Some(n) = term.and_then(|t| counts.get_mut(t)) {
                *n = hit.count;
            }
        }
        Found::new(counts, list)
    }
}

/// Weighted mean; 0 when nothing has weight.
fn mean(values: &[(f64, f64)]) -> f64 {
    let weights: f64 = values.iter().map(|v| v.1).sum();
    if weights > 0.0 { values.iter().map(|v| v.0 * v.1).sum::<f64>() / weights } else { 0.0 }
}

impl Measure for GenreMeasure {
    fn assess(&self, doc: &Doc) -> Assessment {
        let found = self.words.count(&doc.page_words(), doc.language());
        let (url, in_url) = self.url_of(doc);
        let mut parts = self.parts(&found, url);
        let score = parts.pop().map_or(0.0, |p| p.value);
        let mut hits = Vec::new();
        for name in ["genre", "content", "terms"] {
            hits_of(&self.words, name, &found, &mut hits);
        }
        if let Some(f) = &in_url {
            hits_of(&self.urls, "url", f, &mut hits);
        }
        if let Some(list) = found.language() {
            // Which of a preset's lists was used: people want to know, and so does `recall`.
            let own = |l| {
                self.words.active(self.words.set("terms").or(self.words.set("genre")).unwrap_or(0), l).count()
            };
            parts.push(Part {
                name: format!("list:{}", list.code()),
                value: (own(Some(list)) - own(None)) as f64,
            });
        }
        Assessment { score, parts, hits, ..Assessment::default() }
    }

    fn relevance(&self, assessment: &Assessment) -> f64 {
        if !matches!(self.idf, Idf::Online { .. }) {
            return assessment.score;
        }
        self.parts(&self.recall(assessment), assessment.part("url")).pop().map_or(0.0, |p| p.value)
    }

    /// Online idf weighs the counts of the terms anew: they are among the evidence.
    fn needs(&self) -> Needs {
        Needs { assessments: matches!(self.idf, Idf::Online { .. }), ..Needs::default() }
    }

    /// A cosine with n terms has a scale that depends on n: one of them on the page makes 1/√n, a quarter of
    /// them 1/2. So the unit is the score of a page with one term of each set, and the line is usually a
    /// little above it: wanted pages have a few terms of every set, others some of one. The factor is from 32
    /// labelled topics (ADR 5).
    fn usual(&self) -> f64 {
        (ABOVE * self.one_of_each()).clamp(0.05, 0.9)
    }

    /// Terms are often taken from the examples, which then score higher than other wanted pages ever will.
    /// Without this page its terms would have been suggested only if enough of the others had them: only
    /// those count.
    fn held_out(&self, examples: &[&Doc]) -> Option<Vec<f64>> {
        let set = ["content", "terms"].into_iter().find_map(|name| self.words.set(name))?;
        let found: Vec<Found> =
            examples.iter().map(|d| self.words.count(&d.page_words(), d.language())).collect();
        let score = |(at, doc): (usize, &&Doc)| {
            let here = found.get(at)?;
            let mut counts: Vec<u32> = (0..self.words.len()).map(|t| here.count(t)).collect();
            for term in self.words.active(set, None).filter(|t| here.count(*t) > 0) {
                // One of those that have it is this page.
                if found.iter().filter(|f| f.count(term) > 0).count() <= OTHERS
                    && let Some(n) = counts.get_mut(term)
                {
                    *n = 0;
                }
            }
            self.parts(&Found::new(counts, here.language()), self.url_of(doc).0).pop().map(|p| p.value)
        };
        Some(examples.iter().enumerate().filter_map(score).collect())
    }

    fn observe(&mut self, assessment: &Assessment) -> bool {
        let Idf::Online { .. } = self.idf else { return false };
        let found = self.recall(assessment);
        let Idf::Online { documents, with } = &mut self.idf else { return false };
        *documents = documents.saturating_add(1);
        for (term, n) in with.iter_mut().enumerate() {
            *n += u32::from(found.count(term) > 0);
        }
        // Weights move slowly: earlier verdicts are looked at again as often as the threshold is.
        false
    }

    fn save(&self) -> Vec<u8> {
        let Idf::Online { documents, with } = &self.idf else { return Vec::new() };
        let mut w = Writer::default();
        w.u32(*documents).var(with.len() as u64);
        with.iter().for_each(|n| {
            w.var(u64::from(*n));
        });
        w.0
    }

    fn load(&mut self, bytes: &[u8]) -> Result<(), Problem> {
        let Idf::Online { documents, with } = &mut self.idf else { return Ok(()) };
        let mut r = Reader(bytes);
        *documents = r.u32()?;
        if r.var()? != with.len() as u64 {
            // The topic's terms were changed since: what was counted belongs to others.
            *documents = 0;
            return Ok(());
        }
        for n in with {
            *n = u32::try_from(r.var()?).map_err(|_| damaged())?;
        }
        r.end()
    }
}

fn hits_of(terms: &Terms, set: &str, found: &Found, out: &mut Vec<Hit>) {
    let Some(number) = terms.set(set) else { return };
    for term in terms.active(number, found.language()) {
        let count = found.count(term);
        if count > 0 {
            out.push(Hit { set: set.to_string(), term: terms.text(term).to_string(), count });
        }
    }
}
