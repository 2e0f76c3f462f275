//! Judge `bayes`: multinomial naive Bayes over two classes of examples or over a topic taxonomy (Chakrabarti
//! et al. 2002, §2.1, §2.3, §3.1).

use super::evidence::{self, TOP};
use super::{Example, ExampleKind, Judge, JudgeEntry, JudgeSetup, Measure, Thresholded};
use crate::options;
use crate::text::Doc;
use crate::topic::{OneOrMany, did_you_mean};
use learn::bayes::Bayes;
use learn::bytes::{Reader, Writer, damaged};
use learn::rng::Rng;
use learn::taxonomy;
use serde::Deserialize;
use types::{Assessment, Part, Problem};

pub(super) const ENTRY: JudgeEntry = JudgeEntry {
    name: "bayes",
    summary: "naive Bayes, learnt from relevant and irrelevant examples or from a taxonomy of examples",
    doc: "\
## What it does
Counts the words of the examples of each class: `θ = (1 + count) / (|T| + all counts)`, `Pr(c|page) ∝ Pr(c) Π θ^n`, with
`Pr(c)` the share of the examples. Either two classes, `[examples] relevant` and `irrelevant`, or the classes of a taxonomy: a folder
whose sub-folders are topics and whose files are pages. Then leaves with few examples are joined with their parent, what inner
topics have of their own becomes `Other`, and large classes are sampled. Relevance is the probability of the classes in focus
together. The verdict shows the most probable classes and the words that speak most for the focus.

## When it helps
Topics that are easier to show than to describe, and a good background: a hundred pages that are not wanted, from the same sites.
As the critic of the apprentice.

## When it hurts
Words are counted as if independent, so long pages get probabilities next to 0 or 1: good for yes or no, poor for order. With
few or one-sided irrelevant examples everything unknown looks relevant.

## Options
`threshold` = \"auto\" (default), 0–1, or an estimator · `taxonomy` = a folder · `focus` = the wanted topics, as
\"Science/Biology\" or a list of them (with `taxonomy`) · `least` = 300: leaves with fewer examples are joined with their parent ·
`most` = 300 examples per class · `model` = a file of `gleaner train`, instead of examples.

## Source
Chakrabarti, Punera, Subramanyam: Accelerated focused crawling through online relevance feedback, 2002, §2.1, §2.3, §3.1.",
    build,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Options {
    /// Read by whoever makes the setup; here only a sign that it was wanted.
    taxonomy: Option<String>,
    focus: OneOrMany,
    least: usize,
    most: usize,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            taxonomy: None,
            focus: OneOrMany::default(),
            least: taxonomy::EXAMPLES,
            most: taxonomy::EXAMPLES,
        }
    }
}

/// How many classes a verdict names, and a report.
const CLASSES_SHOWN: usize = 5;
const CLASSES_NAMED: usize = 12;

struct BayesMeasure {
    bayes: Bayes,
    /// Name of each class, and whether it is in focus.
    classes: Vec<(String, bool)>,
}

fn build(setup: &JudgeSetup) -> Result<Box<dyn Judge>, Problem> {
    let o: Options = options::parse("judge `bayes`", setup.options)?;
    let measure = if let Some(bytes) = setup.trained("bayes")? {
        of_model(bytes, &o.focus.0)?
    } else if o.taxonomy.is_some() || !setup.taxonomy.is_empty() {
        of_taxonomy(setup, &o)?
    } else {
        of_two(setup, &o)?
    };
    Ok(Thresholded::over(measure, setup))
}

/// As it was trained before. Other topics of its taxonomy may be wanted now.
fn of_model(bytes: &[u8], focus: &[String]) -> Result<BayesMeasure, Problem> {
    let mut r = Reader(bytes);
    let mut classes = Vec::new();
    for _ in 0..r.var()? {
        let wanted = r.u8()? == 1;
        let name = String::from_utf8(r.bytes()?.to_vec()).map_err(|_| damaged())?;
        classes.push((name, wanted));
    }
    if classes.len() < 2 {
        return Err(damaged());
    }
    let mut bayes = Bayes::new(classes.len());
    bayes.load(r.bytes()?)?;
    r.end()?;
    for f in focus {
        if !classes.iter().any(|c| taxonomy::is_under(&c.0, f)) {
            let known: Vec<&str> = classes.iter().map(|c| c.0.as_str()).collect();
            return Err(Problem::usage(format!("judge `bayes`: the model has no topic `{f}`"))
                .hint(did_you_mean(f, &known)));
        }
    }
    if !focus.is_empty() {
        classes.iter_mut().for_each(|c| c.1 = focus.iter().any(|f| taxonomy::is_under(&c.0, f)));
    }
    Ok(BayesMeasure { bayes, classes })
}

fn of_two(setup: &JudgeSetup, o: &Options) -> Result<BayesMeasure, Problem> {
    if !o.focus.0.is_empty() {
        return Err(Problem::usage("judge `bayes`: `focus` names topics of a taxonomy, and there is none")
            .hint("add `taxonomy = \"FOLDER\"`, or take `focus` out"));
    }
    let (yes, no) = super::two_classes("bayes", setup)?;
    let mut bayes = Bayes::new(2);
    let mut rng = Rng(setup.rng);
    let mut add = |class: usize, list: Vec<&Example>| {
        // Sampling as for a taxonomy: one class of one leaf.
        let docs = vec![(String::new(), list)];
        for e in taxonomy::prepare(docs, 0, o.most.max(1), &mut rng).into_iter().flat_map(|c| c.examples) {
            bayes.add(class, e.doc.counts().iter());
        }
    };
    add(0, no);
    add(1, yes);
    Ok(BayesMeasure { bayes, classes: vec![("irrelevant".into(), false), ("relevant".into(), true)] })
}

fn of_taxonomy(setup: &JudgeSetup, o: &Options) -> Result<BayesMeasure, Problem> {
    let folder = o.taxonomy.as_deref().unwrap_or("the taxonomy");
    if setup.taxonomy.is_empty() {
        return Err(Problem::new(format!("judge `bayes`: {folder} holds no pages")).hint(
            "it must be a folder whose sub-folders are topics (as deep as you like) and whose files \
                   are example pages",
        ));
    }
    if o.focus.0.is_empty() {
        return Err(Problem::usage("judge `bayes` does not know which topics of the taxonomy are wanted")
            .hint("add `focus = \"Science/Biology\"` (or a list of topics) to [judge]"));
    }
    let pages = setup.taxonomy.iter().map(|p| (p.path.clone(), vec![&p.doc]));
    let classes = taxonomy::prepare(pages, o.least, o.most.max(1), &mut Rng(setup.rng));
    for f in &o.focus.0 {
        if classes.iter().any(|c| taxonomy::is_under(&c.path, f)) {
            continue;
        }
        let mut known: Vec<&str> = setup.taxonomy.iter().map(|p| p.path.as_str()).collect();
        known.sort_unstable();
        known.dedup();
        if known.iter().any(|k| taxonomy::is_under(k, f)) {
            return Err(Problem::usage(format!(
                "judge `bayes`: the topic `{f}` has fewer than {} examples and was joined with its parent",
                o.least
            ))
            .hint("add pages to its folder, or set `least` lower in [judge]"));
        }
        return Err(Problem::usage(format!("judge `bayes`: there is no topic `{f}` in {folder}"))
            .hint(did_you_mean(f, &known)));
    }
    let in_focus = |path: &str| o.focus.0.iter().any(|f| taxonomy::is_under(path, f));
    if classes.iter().all(|c| in_focus(&c.path)) {
        return Err(Problem::usage(
            "judge `bayes`: every class of the taxonomy is in focus, so every page is relevant",
        )
        .hint("add topics that are not wanted to the taxonomy, or narrow `focus`"));
    }
    let mut bayes = Bayes::new(classes.len());
    let mut names = Vec::with_capacity(classes.len());
    for (i, c) in classes.into_iter().enumerate() {
        c.examples.iter().for_each(|d| bayes.add(i, d.counts().iter()));
        names.push((c.path.clone(), in_focus(&c.path)));
    }
    Ok(BayesMeasure { bayes, classes: names })
}

impl BayesMeasure {
    /// The most probable class in (or out of) focus.
    fn best(&self, p: &[f64], focus: bool) -> Option<usize> {
        let of = p.iter().zip(&self.classes).enumerate().filter(|(_, (_, c))| c.1 == focus);
        of.max_by(|a, b| a.1.0.total_cmp(b.1.0).then(b.0.cmp(&a.0))).map(|e| e.0)
    }
}

impl Measure for BayesMeasure {
    fn assess(&self, doc: &Doc) -> Assessment {
        let p = self.bayes.posteriors(doc.counts().iter());
        let score: f64 = p.iter().zip(&self.classes).filter(|e| e.1.1).map(|e| e.0).sum();
        let mut shown: Vec<usize> = (0..p.len()).collect();
        let at = |i: usize| p.get(i).copied().unwrap_or(0.0);
        shown.sort_by(|a, b| at(*b).total_cmp(&at(*a)).then(a.cmp(b)));
        shown.truncate(CLASSES_SHOWN);
        let name =
            |i: usize| self.classes.get(i).map_or("", |c| if c.0.is_empty() { "(root)" } else { &c.0 });
        let parts = shown.iter().map(|i| Part { name: format!("Pr({})", name(*i)), value: at(*i) }).collect();
        let hits = match (self.best(&p, true), self.best(&p, false)) {
            (Some(yes), Some(no)) => {
                // n·ln(θ_yes/θ_no): what the word adds to the log odds of the two most probable classes.
                let adds = doc.counts().iter().filter_map(|(h, n)| {
                    let (a, b) = (self.bayes.theta(yes, h)?, self.bayes.theta(no, h)?);
                    Some((h, f64::from(n) * libm::log(a / b)))
                });
                evidence::hits("bayes", doc, adds, TOP)
            }
            _ => Vec::new(),
        };
        Assessment { score: score.clamp(0.0, 1.0), parts, hits, ..Assessment::default() }
    }

    fn explain(&self) -> Option<String> {
        let of = |(i, (name, wanted)): (usize, &(String, bool))| {
            let name = if name.is_empty() { "(root)" } else { name };
            format!("{}{name}: {}", if *wanted { "+" } else { "" }, self.bayes.documents(i))
        };
        let mut list: Vec<String> = self.classes.iter().enumerate().map(of).collect();
        let more = list.len().saturating_sub(CLASSES_NAMED);
        list.truncate(CLASSES_NAMED);
        if more > 0 {
            list.push(format!("and {more} more classes"));
        }
        Some(format!("{} words; pages per class (+ = wanted): {}", self.bayes.vocabulary(), list.join(", ")))
    }

    fn trained(&self) -> Option<Vec<u8>> {
        let mut w = Writer::default();
        w.var(self.classes.len() as u64);
        for (name, wanted) in &self.classes {
            w.u8(u8::from(*wanted)).bytes(name.as_bytes());
        }
        w.bytes(&self.bayes.clone().save(true)?);
        Some(w.0)
    }
}

/// The examples of both classes; what is missing is said.
pub(super) fn both<'a>(
    name: &str,
    examples: &'a [Example],
) -> Result<(Vec<&'a Example>, Vec<&'a Example>), Problem> {
    let of =
        |kind| examples.iter().filter(|e| e.kind == kind && !e.doc.counts().is_empty()).collect::<Vec<_>>();
    let (yes, no) = (of(ExampleKind::Relevant), of(ExampleKind::Irrelevant));
    let (missing, key, what) = match (yes.is_empty(), no.is_empty()) {
        (false, false) => return Ok((yes, no)),
        (true, false) => ("relevant example pages", "relevant", "pages you want"),
        (false, true) => (
            "irrelevant example pages, too",
            "irrelevant",
            "pages you do not want, best a random sample of the same sites; without a background every page \
             would be relevant",
        ),
        (true, true) => (
            "example pages of both kinds",
            "relevant = […]` and `irrelevant",
            "pages you want and pages you do not want",
        ),
    };
    Err(Problem::usage(format!("judge `{name}` needs {missing}"))
        .hint(format!("add `[examples]` `{key} = [\"https://…\", \"page.html\"]`: URLs or files of {what}")))
}

#[cfg(test)]
mod tests {
    use crate::judges::testing::{judge, problem, with_taxonomy};

    const WEB: &str = "
        == http://a/y1
        sql sql joins
        == /y2
        sql
        == /n1
        soup sql
        == /p
        sql soup new
        == /unknown
        nothing known
        == /empty
        == /b1
        cell
        == /b2
        gene gene
        == /m1
        proof
        ";

    #[test]
    fn two_classes_by_hand() {
        let j = judge(WEB, "[judge]\nkind = 'bayes'\nthreshold = 0.6", &["/y1", "/y2"], &["/n1"]);
        // T = {sql, joins, soup}. Relevant: sql 3, joins 1 of 4 words; irrelevant: soup 1, sql 1 of 2.
        let (y, n) = (3.0 + 4.0, 3.0 + 2.0);
        // Page: sql, soup; `new` is not in T.
        let yes = 2.0 / 3.0 * (4.0 / y) * (1.0 / y);
        let no = 1.0 / 3.0 * (2.0 / n) * (2.0 / n);
        let (a, _) = j.of("/p");
        assert!((a.score - yes / (yes + no)).abs() < 1e-12, "{}", a.score);
        assert!((a.part("Pr(relevant)").unwrap() - a.score).abs() < 1e-12);
        assert!((a.part("Pr(irrelevant)").unwrap() + a.score - 1.0).abs() < 1e-12);
        // sql speaks for relevant (4/7 > 2/5), soup against.
        let terms: Vec<&str> = a.hits.iter().map(|h| h.term.as_str()).collect();
        assert_eq!(terms, ["sql"]);
        // Nothing known of a page: the prior.
        for path in ["/unknown", "/empty"] {
            assert!((j.of(path).0.score - 2.0 / 3.0).abs() < 1e-12);
        }
        assert!(j.of("/y1").1.relevant && !j.of("/n1").1.relevant);
    }

    #[test]
    fn a_taxonomy_by_hand() {
        let tree =
            [("Sci/Bio/Cells", "/b1"), ("Sci/Bio/Genes", "/b2"), ("Sci/Maths", "/m1"), ("Cooking", "/n1")];
        let j = with_taxonomy(WEB, "[judge]\nkind = 'bayes'\nfocus = 'Sci/Bio'\nleast = 1", &tree).unwrap();
        // Four classes of one page each, T = {cell, gene, proof, soup, sql}, words: 1, 2, 1, 2. The page is
        // `sql`, `soup` (`new` unknown): Cells 1/6·1/6, Genes 1/7·1/7, Maths 1/6·1/6, Cooking 2/7·2/7.
        let p = [1.0 / 36.0, 1.0 / 49.0, 1.0 / 36.0, 4.0 / 49.0];
        let (a, _) = j.of("/p");
        assert!((a.score - (p[0] + p[1]) / p.iter().sum::<f64>()).abs() < 1e-12);
        assert!((a.part("Pr(Cooking)").unwrap() - p[3] / p.iter().sum::<f64>()).abs() < 1e-12);
        assert!(j.of("/b2").0.score > 0.5);
        // With least = 2 the leaves of Bio are joined to one class of two pages, and Maths, Cooking go to the
        // root.
        let j = with_taxonomy(WEB, "[judge]\nkind = 'bayes'\nfocus = 'Sci/Bio'\nleast = 2", &tree).unwrap();
        let (a, _) = j.of("/unknown");
        assert!((a.score - 0.5).abs() < 1e-12, "two pages of four: {}", a.score);
    }

    #[test]
    fn what_is_missing_is_said() {
        let k = "[judge]\nkind = 'bayes'";
        assert!(problem(WEB, k, &[], &[]).contains("irrelevant"));
        assert!(problem(WEB, k, &["/y1"], &[]).contains("`irrelevant = ["));
        assert!(problem(WEB, k, &[], &["/n1"]).contains("`relevant = ["));
        assert!(problem(WEB, k, &["/empty"], &["/n1"]).contains("needs relevant"));
        assert!(problem(WEB, &format!("{k}\nfocus = 'x'"), &["/y1"], &["/n1"]).contains("taxonomy"));
        assert!(problem(WEB, &format!("{k}\ntaxonomy = 'dir'"), &[], &[]).contains("dir holds no pages"));
        let tree = [("Sci/Bio", "/b1"), ("Cooking", "/n1")];
        let say = |rest: &str| with_taxonomy(WEB, &format!("{k}\n{rest}"), &tree).err().unwrap();
        assert!(say("least = 1").contains("focus"));
        assert!(say("least = 1\nfocus = 'Sci/Bi'").contains("did you mean `Sci/Bio`"));
        assert!(say("focus = 'Sci/Bio'").contains("fewer than 300"));
        assert!(say("least = 1\nfocus = ['Sci', 'Cooking']").contains("every class"));
    }
}
