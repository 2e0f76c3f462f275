//! Judge `svm`: a support vector machine on tf·idf vectors (Assis 2008, §4.1.2).

use super::evidence::{self, TOP};
use super::{Judge, JudgeEntry, JudgeSetup, Measure, Thresholded};
use crate::options;
use crate::text::{Doc, DocFreq, SparseVec};
use learn::bytes::{Reader, Writer, damaged};
use learn::smo::Kernel;
use learn::svm::{Search, Svm};
use serde::Deserialize;
use types::{Assessment, Part, Problem};

pub(super) const ENTRY: JudgeEntry = JudgeEntry {
    name: "svm",
    summary: "support vector machine with an RBF kernel, learnt from relevant and irrelevant examples",
    doc: "\
## What it does
Pages become tf·idf vectors of length one. A machine with an RBF kernel is trained on `[examples] relevant` and `irrelevant`;
C and γ are those that judge most left-out examples right (grid search with cross-validation, both classes weighing the same).
Platt's sigmoid, fitted to the left-out examples, turns its output into a probability: the relevance. The verdict shows the
output, the probability, and the words that push the page most to the relevant side.

## When it helps
A few dozen examples of each kind, irrelevant ones from the same sites: then it is the strongest of the trained judges, and its
probabilities are usable for order.

## When it hurts
With a handful of examples the grid search picks by chance. Training takes seconds for several hundred examples and grows with
their square. Pages of a kind that neither set of examples has are guessed.

## Options
`threshold` = \"auto\" (default), 0–1, or an estimator · `c` = [0.5, 2, 8, 32, 128] · `gamma` = [0.03125, 0.125, 0.5, 2], or [] for the
linear kernel · `folds` = 5 · `balanced` = true: both classes count alike · `model` = a file of `gleaner train`, instead of
examples · `[text] idf` = a file of document counts; otherwise the examples are counted.

## Source
Assis 2008, §4.1.2 (the crawler it compares with); grid search, cross-validation and Platt scaling are ours.",
    build,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Options {
    c: Vec<f64>,
    gamma: Vec<f64>,
    folds: usize,
    balanced: bool,
}

impl Default for Options {
    fn default() -> Self {
        let s = Search::default();
        Options { c: s.c, gamma: s.gamma, folds: s.folds, balanced: true }
    }
}

/// More examples are not read: the table of all pairs would not fit.
const MOST: usize = 4_000;

struct SvmMeasure {
    svm: Svm,
    df: DocFreq,
    how: String,
}

fn build(setup: &JudgeSetup) -> Result<Box<dyn Judge>, Problem> {
    let o: Options = options::parse("judge `svm`", setup.options)?;
    let fine = |list: &[f64]| list.iter().all(|v| v.is_finite() && *v > 0.0);
    if !fine(&o.c) || !fine(&o.gamma) || o.c.is_empty() || o.folds < 2 {
        return Err(Problem::usage(
            "judge `svm`: c and gamma are lists of numbers above 0, folds is 2 or more",
        ));
    }
    if let Some(bytes) = setup.trained("svm")? {
        return Ok(Thresholded::over(of_model(bytes)?, setup));
    }
    let (yes, no) = super::two_classes("svm", setup)?;
    if yes.len() + no.len() > MOST {
        return Err(Problem::usage(format!("judge `svm`: {} examples are too many", yes.len() + no.len()))
            .hint(format!("take a sample of at most {MOST}, or use judge `bayes`")));
    }
    let df = setup.idf.cloned().unwrap_or_else(|| {
        let mut df = DocFreq::default();
        yes.iter().chain(&no).for_each(|e| df.add(e.doc.counts()));
        df
    });
    let labels: Vec<bool> = yes.iter().map(|_| true).chain(no.iter().map(|_| false)).collect();
    let vectors: Vec<SparseVec> = yes.iter().chain(&no).map(|e| vector(&e.doc, &df)).collect();
    let search = Search {
        c: o.c,
        gamma: o.gamma,
        folds: o.folds,
        balanced: o.balanced,
        seed: setup.rng,
        ..Search::default()
    };
    let (svm, tried) = Svm::search(&vectors, &labels, &search);
    let best = tried.iter().map(|t| t.accuracy).fold(0.0, f64::max);
    let kernel = match svm.kernel() {
        Kernel::Linear => "linear kernel".to_string(),
        Kernel::Rbf(g) => format!("RBF kernel, γ = {g}"),
    };
    let judged = if tried.is_empty() {
        "too few examples to leave any out".to_string()
    } else {
        format!("{:.0} % of left-out examples judged right", 100.0 * best)
    };
    let how = format!(
        "{kernel}, C = {}, {} of {} examples are support vectors, {judged}",
        svm.c(),
        svm.support_vectors(),
        labels.len()
    );
    Ok(Thresholded::over(SvmMeasure { svm, df, how }, setup))
}

/// As it was trained before, with the idf of its examples.
fn of_model(bytes: &[u8]) -> Result<SvmMeasure, Problem> {
    let mut r = Reader(bytes);
    let how = String::from_utf8(r.bytes()?.to_vec()).map_err(|_| damaged())?;
    let mut df = DocFreq::default();
    let counts = r.bytes()?;
    if !counts.is_empty() {
        df.load(counts)?;
    }
    let svm = Svm::load(r.bytes()?)?;
    r.end()?;
    Ok(SvmMeasure { svm, df, how })
}

fn vector(doc: &Doc, df: &DocFreq) -> SparseVec {
    let mut v = doc.counts().tf_idf(df);
    v.normalise();
    v
}

impl Measure for SvmMeasure {
    fn assess(&self, doc: &Doc) -> Assessment {
        let x = vector(doc, &self.df);
        let p = self.svm.probability(&x);
        let parts = vec![
            Part { name: "Pr(relevant)".into(), value: p },
            Part { name: "decision".into(), value: self.svm.decision(&x) },
        ];
        let adds = self.svm.contributions(&x);
        let hits = evidence::hits("svm", doc, adds.iter(), TOP);
        Assessment { score: p.clamp(0.0, 1.0), parts, hits, ..Assessment::default() }
    }

    fn explain(&self) -> Option<String> {
        Some(self.how.clone())
    }

    fn trained(&self) -> Option<Vec<u8>> {
        let mut w = Writer::default();
        w.bytes(self.how.as_bytes()).bytes(&self.df.clone().save(true).unwrap_or_default());
        w.bytes(&self.svm.save());
        Some(w.0)
    }
}

#[cfg(test)]
mod tests {
    use crate::judges::testing::{judge, problem};

    const WEB: &str = "
        == http://a/y1
        sql joins
        == /y2
        sql index
        == /y3
        joins index
        == /n1
        soup stew
        == /n2
        stew eggs
        == /n3
        soup eggs
        == /p
        sql index joins
        == /q
        eggs stew
        == /empty
        ";
    const YES: &[&str] = &["/y1", "/y2", "/y3"];
    const NO: &[&str] = &["/n1", "/n2", "/n3"];

    #[test]
    fn symmetric_classes_are_split_in_the_middle() {
        // Two sets of three pages that are mirror images of each other: a page like one set and a page like
        // the other have opposite decisions, and a page with no words lies exactly between.
        let j = judge(WEB, "[judge]\nkind = 'svm'\ngamma = []\nc = [1]", YES, NO);
        let decision = |path: &str| j.of(path).0.part("decision").unwrap();
        let (p, q) = (decision("/p"), decision("/q"));
        assert!(p > 0.0 && q < 0.0);
        assert!((decision("/y1") + decision("/n1")).abs() < 1e-6);
        assert!(decision("/empty").abs() < 1e-6);
        assert!(j.of("/p").0.score > 0.5 && j.of("/q").0.score < 0.5);
        assert!(j.judge.explain().unwrap().contains("linear kernel, C = 1, "));
    }

    #[test]
    fn one_of_each_by_hand() {
        // Two vectors of length one at a right angle, both support vectors: ‖x₁ − x₂‖² = 2, K = e^(−2γ). With
        // C large enough α = 1/(1 − K) each and ρ = 0: f(x₁) = α(1 − K) = 1.
        let j = judge(WEB, "[judge]\nkind = 'svm'\ngamma = [0.5]\nc = [100]", &["/y1"], &["/n1"]);
        let d = |path: &str| j.of(path).0.part("decision").unwrap();
        assert!((d("/y1") - 1.0).abs() < 1e-2 && (d("/n1") + 1.0).abs() < 1e-2, "{}", d("/y1"));
        // /y2 shares one of two words with /y1: cos = ½ when the weights are equal, distance² = 1; to /n1 it
        // is 2. idf from the two examples: sql and joins in one of two, index in none.
        let (sql, index) = ((3.0f64 / 2.0).ln() + 1.0, 3.0f64.ln() + 1.0);
        let cos = sql / (2.0f64.sqrt() * (sql * sql + index * index).sqrt());
        let k = |d2: f64| (-0.5 * d2).exp();
        let alpha = 1.0 / (1.0 - k(2.0));
        let expected = alpha * (k(2.0 - 2.0 * cos) - k(2.0));
        assert!((d("/y2") - expected).abs() < 1e-2, "{} {expected}", d("/y2"));
        assert!(d("/empty").abs() < 1e-2, "as far from both");
    }

    #[test]
    fn words_that_push() {
        let j = judge(WEB, "[judge]\nkind = 'svm'", YES, NO);
        let (a, v) = j.of("/p");
        assert!(v.relevant);
        let terms: Vec<&str> = a.hits.iter().map(|h| h.term.as_str()).collect();
        assert_eq!(terms.len(), 3, "{terms:?}");
        assert!(j.of("/q").0.hits.is_empty());
    }

    #[test]
    fn what_is_missing_is_said() {
        let k = "[judge]\nkind = 'svm'";
        assert!(problem(WEB, k, YES, &[]).contains("`irrelevant = ["));
        assert!(problem(WEB, k, &[], &[]).contains("both kinds"));
        assert!(problem(WEB, &format!("{k}\nc = [-1]"), YES, NO).contains("above 0"));
        assert!(problem(WEB, &format!("{k}\nfold = 2"), YES, NO).contains("did you mean `folds`"));
    }
}
