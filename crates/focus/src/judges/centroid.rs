//! Judge `centroid`: how near a page comes to the nearest of the example pages (Batsakis, §4.2).

use super::evidence::{self, TOP};
use super::{ExampleKind, Judge, JudgeEntry, JudgeSetup, Measure, Thresholded};
use crate::text::{Doc, DocFreq, SparseVec};
use crate::topic::Threshold;
use types::{Assessment, Part, Problem};

pub(super) const ENTRY: JudgeEntry = JudgeEntry {
    name: "centroid",
    summary: "cosine with the nearest of your example pages",
    doc: "\
## What it does
Compares the page with every page under `[examples] relevant` (tf·idf over all words, stopwords left out) and takes the largest
cosine. Relevant when it is more than 0.75. The verdict names the nearest example and the words both share.

## When it helps
When you have pages you like and want more of the same; no terms to think of, no training, two examples are enough.

## When it hurts
Wanted pages in other words than the examples' are missed, and pages that share a site's boilerplate with an example look
alike. Lower the threshold (0.3–0.5) when examples are few or short.

## Options
`threshold` = more than 0.75 (default), 0–1, \"auto\", or an estimator · `[text] idf` = a file of document counts; otherwise
every word weighs the same.

## Source
Batsakis, §4.2: the harvest ratio counts pages whose similarity with any example exceeds 0.75.",
    build,
};

/// Batsakis's line.
const MORE_THAN: f64 = 0.75;

fn build(setup: &JudgeSetup) -> Result<Box<dyn Judge>, Problem> {
    super::no_options(setup)?;
    let df = setup.idf.cloned().unwrap_or_default();
    let mut examples = Vec::new();
    for e in setup.examples.iter().filter(|e| e.kind == ExampleKind::Relevant) {
        let vector = e.doc.counts().tf_idf(&df);
        if vector.is_empty() {
            continue;
        }
        let name = e.doc.page.url.as_ref().map_or_else(String::new, |u| u.without_scheme().to_string());
        examples.push((name, vector));
    }
    if examples.is_empty() {
        return Err(Problem::usage("judge `centroid` needs example pages, and there is none with words")
            .hint(
                "add `[examples]` `relevant = [\"https://…\", \"page.html\"]`: URLs or files of pages you \
                   want more of",
            ));
    }
    let measure = Centroid { examples, df };
    if setup.topic.judge.threshold_given {
        return Ok(Thresholded::over(measure, setup));
    }
    // `Thresholded` says "from the threshold on"; Batsakis says "more than".
    let mut topic = setup.topic.clone();
    topic.judge.threshold = Threshold::Fixed(MORE_THAN.next_up());
    Ok(Thresholded::over(measure, &JudgeSetup { topic: &topic, ..*setup }))
}

struct Centroid {
    /// Name and vector of each example.
    examples: Vec<(String, SparseVec)>,
    df: DocFreq,
}

impl Measure for Centroid {
    fn assess(&self, doc: &Doc) -> Assessment {
        let page = doc.counts().tf_idf(&self.df);
        let mut best: Option<(f64, &(String, SparseVec))> = None;
        let mut sum = 0.0;
        for e in &self.examples {
            let cos = page.cosine(&e.1).max(0.0);
            sum += cos;
            if best.is_none_or(|b| cos > b.0) {
                best = Some((cos, e));
            }
        }
        let Some((score, (name, nearest))) = best else { return Assessment::default() };
        // What each word adds to the product of the two vectors.
        let shared = page.iter().map(|(h, w)| (h, w * nearest.get(h)));
        let hits = evidence::hits("nearest", doc, shared, TOP);
        let mut parts = vec![
            Part { name: "nearest".into(), value: score },
            Part { name: "mean".into(), value: sum / self.examples.len() as f64 },
        ];
        if score > 0.0 && !name.is_empty() {
            parts.push(Part { name: format!("example:{name}"), value: score });
        }
        Assessment { score, parts, hits, ..Assessment::default() }
    }

    fn usual(&self) -> f64 {
        MORE_THAN
    }
}

#[cfg(test)]
mod tests {
    use crate::judges::testing::{judge, problem};

    #[test]
    fn the_nearest_example_by_hand() {
        let web = "
            == http://a/good
            sql joins
            == /other
            soup
            == /p
            sql sql soup
            == /none
            stew
            == /empty
            ";
        let j = judge(web, "[judge]\nkind = 'centroid'", &["/good", "/other"], &[]);
        let (a, v) = j.of("/p");
        // Page: sql tf 1, soup tf ½. With /good (sql, joins): 1/(√1.25·√2); with /other: ½/√1.25.
        let (good, other) = (1.0 / (1.25f64.sqrt() * 2.0f64.sqrt()), 0.5 / 1.25f64.sqrt());
        assert!((a.score - good).abs() < 1e-12 && good > other);
        assert!((a.part("mean").unwrap() - (good + other) / 2.0).abs() < 1e-12);
        assert!(a.part("example:a/good").is_some());
        assert_eq!((a.hits.len(), a.hits[0].term.as_str(), a.hits[0].count), (1, "sql", 2));
        assert!(!v.relevant, "0.63 is not more than 0.75");
        let (a, v) = j.of("/good");
        assert!((a.score - 1.0).abs() < 1e-12 && v.relevant);
        for nothing in ["/none", "/empty"] {
            let (a, v) = j.of(nothing);
            assert!(a.score == 0.0 && !v.relevant && a.hits.is_empty());
        }
    }

    #[test]
    fn exactly_on_the_line_is_not_beyond_it() {
        // Sixteen words each, twelve of them shared: cos = 12/16 = 0.75 exactly.
        let words = |from: u8| (from..from + 16).map(|c| format!("w{c}")).collect::<Vec<_>>().join(" ");
        let web = format!("== http://a/e\n{}\n== /p\n{}\n", words(0), words(4));
        let of = |threshold: &str| {
            let j = judge(&web, &format!("[judge]\nkind = 'centroid'\n{threshold}"), &["/e"], &[]);
            let (a, v) = j.of("/p");
            assert_eq!(a.score, 0.75);
            v.relevant
        };
        assert!(!of(""));
        assert!(of("threshold = 0.75"));
    }

    #[test]
    fn what_is_missing_is_said() {
        let web = "== http://a/empty\n== /x\nsql\n";
        for examples in [&[][..], &["/empty"]] {
            let message = problem(web, "[judge]\nkind = 'centroid'", examples, &["/x"]);
            assert!(message.contains("[examples]") && message.contains("relevant"), "{message}");
        }
        assert!(problem(web, "[judge]\nkind = 'centroid'\nk = 1", &["/x"], &[]).contains("no option `k`"));
    }
}
