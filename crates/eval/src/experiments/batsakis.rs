//! Findings of Batsakis: crawls of 1,000 pages, measured by their similarity to fifty relevant pages.

use super::crawled::Run;
use super::elsewhere::taught;
use super::lab::{Lab, Site, Variant, over_draws};
use super::{Experiment, Finding, Row, TOPICS, Table, alike, better};
use crate::labels::Class;
use crate::metrics::{SIMILAR, against_examples};
use crawl::train::TrainingPage;
use focus::text::{Doc, DocFreq, SparseVec};
use learn::rng::Rng;
use std::collections::HashMap;
use types::{Assessment, LinkKind, Problem, Url, Verdict};

/// Pages of each crawl, and relevant pages that they are compared with.
const PAGES: u64 = 1000;
const EXAMPLES: usize = 50;

const HOW: &str = "As Batsakis: every crawl fetches 1,000 pages; fifty relevant pages of the web (by label; Batsakis: chosen from a search engine's results by a person) are the examples; a page's similarity is its highest cosine with one of them, tf·idf over all words. Harvest: pages above 0.75. Seeds are drawn; Batsakis has one.";

/// How similar each page that can be reached is to the nearest example.
struct Nearest(HashMap<String, f64>);

impl Nearest {
    /// `None` without examples.
    fn of(lab: &Lab, site: &Site, reached: &[Url], docs: &[Option<Doc>]) -> Result<Option<Nearest>, Problem> {
        let analyst = lab.analyst(site, &site.config)?;
        let pages = (0..site.web.pages()).filter_map(|n| site.web.page(n));
        let mut relevant: Vec<Url> = pages.filter(|u| site.class(u) == Class::Relevant).collect();
        Rng(0).shuffle(&mut relevant);
        relevant.truncate(EXAMPLES);
        let mut df = DocFreq::default();
        docs.iter().flatten().for_each(|d| df.add(d.counts()));
        let examples: Vec<SparseVec> = relevant
            .iter()
            .filter_map(|u| analyst.read(&site.web.answer(u)))
            .map(|(doc, _)| doc.counts().tf_idf(&df))
            .collect();
        if examples.is_empty() {
            return Ok(None);
        }
        let similarities = lab.each(docs, |doc| {
            let page = doc.as_ref()?.counts().tf_idf(&df);
            Some(examples.iter().map(|e| page.cosine(e)).fold(0.0, f64::max))
        });
        let pairs = reached.iter().zip(similarities);
        Ok(Some(Nearest(pairs.filter_map(|(u, s)| Some((u.to_string(), s?))).collect())))
    }

    fn all(&self, run: &Run) -> Vec<f64> {
        run.order.iter().filter_map(|l| self.0.get(&l.url).copied()).collect()
    }

    /// Pages above 0.75, and the mean similarity.
    fn measure(&self, run: &Run) -> (Option<f64>, Option<f64>) {
        let m = against_examples(&self.all(run), SIMILAR);
        (m.average.map(|_| m.count as f64), m.average)
    }
}

/// Everything that can be reached, read.
fn read_all(lab: &Lab, site: &Site) -> Result<(Vec<Url>, Vec<Option<Doc>>), Problem> {
    let reached = lab.reached(site, "")?;
    let analyst = lab.analyst(site, &site.config)?;
    let docs = lab.each(&reached, |u| analyst.read(&site.web.answer(u)).map(|d| d.0));
    Ok((reached, docs))
}

/// `[harvest, similarity][variant][site]`.
type Measured = [Vec<Row>; 2];

/// Crawls with the variants that `make` has for a site.
fn measured(
    lab: &Lab,
    names: &[&str],
    make: impl Fn(&Site, &[Url], &[Option<Doc>]) -> Result<Vec<Variant>, Problem>,
) -> Result<Measured, Problem> {
    let mut rows: Measured = std::array::from_fn(|_| vec![Vec::new(); names.len()]);
    for site in &lab.sites {
        let (reached, docs) = read_all(lab, site)?;
        let nearest = Nearest::of(lab, site, &reached, &docs)?;
        let variants = if nearest.is_some() { make(site, &reached, &docs)? } else { Vec::new() };
        drop(docs);
        let (Some(nearest), false) = (nearest, variants.is_empty()) else {
            rows.iter_mut().flatten().for_each(|r| r.push(None));
            continue;
        };
        let variants: Vec<Variant> = variants.into_iter().map(|v| v.pages(PAGES)).collect();
        let runs = lab.crawl_site(site, &variants)?;
        for n in 0..names.len() {
            rows[0][n].push(over_draws(&runs[n], |r| nearest.measure(r).0));
            rows[1][n].push(over_draws(&runs[n], |r| nearest.measure(r).1));
        }
    }
    Ok(rows)
}

fn tables(lab: &Lab, names: &[&str], rows: &Measured) -> Vec<Table> {
    vec![
        Table::of(lab, "Harvest: pages of 1,000 whose similarity is more than 0.75.", names, &rows[0]),
        Table::of(lab, "Mean similarity.", names, &rows[1]),
    ]
}

pub(super) const BEST_FIRST: Experiment = Experiment {
    name: "best-first",
    claim: "page and anchor > anchor > page > breadth-first",
    source: "Batsakis, Fig. 12, 13",
    turn: 0,
    run: best_first,
};

fn best_first(lab: &Lab) -> Result<Finding, Problem> {
    let lab = &lab.at_most(TOPICS);
    let names = ["best-first", "best-first-anchor", "best-first-page", "breadth-first"];
    let rows = measured(lab, &names, |_, _, _| Ok(names.map(Variant::strategy).to_vec()))?;
    let mut claims = Vec::new();
    for (measure, of) in [(0, "harvest"), (1, "mean similarity")] {
        let pair = |a: usize, b: usize| {
            better((names[a], rows[measure][a].as_slice()), (names[b], rows[measure][b].as_slice()))
        };
        claims.push(
            pair(0, 1)
                .what(&format!("page and anchor beat the anchor alone ({of})"))
                .figure("clearly better"),
        );
        claims.push(
            pair(1, 2)
                .what(&format!("the anchor beats the page ({of})"))
                .figure("better")
                .why("Batsakis starts at a directory whose anchors are the names of subjects. Perhaps fewer anchors here have a word of the topic; links without one wait in the order they were found."),
        );
        claims.push(pair(2, 3).what(&format!("the page beats breadth-first ({of})")).figure("far better"));
    }
    Ok(Finding::of(claims, tables(lab, &names, &rows), HOW))
}

pub(super) const WORDNET: Experiment = Experiment {
    name: "wordnet",
    claim: "synset expansion ≥ best-first, marginally; Ehrig and SSRM with WordNet do not help",
    source: "Batsakis, Fig. 14, 15, §4.7",
    turn: 2,
    run: wordnet,
};

fn wordnet(lab: &Lab) -> Result<Finding, Problem> {
    let lab = &lab.at_most(TOPICS);
    let names = ["synset", "best-first", "ehrig", "ssrm", "best-first-anchor"];
    let rows = measured(lab, &names, |_, _, _| Ok(names.map(Variant::strategy).to_vec()))?;
    let mut claims = Vec::new();
    for (measure, of) in [(0, "harvest"), (1, "mean similarity")] {
        let of_row = |n: usize| (names[n], rows[measure][n].as_slice());
        claims.push(
            better(of_row(0), of_row(1))
                .what(&format!("synset expansion is better than best-first ({of})"))
                .figure("marginally better")
                .why("Perhaps everyday senses of technical terms (\"class\", \"index\", \"tree\") mislead."),
        );
        for n in [2, 3] {
            claims.push(
                better(of_row(1), of_row(n))
                    .what(&format!("{} is worse than best-first ({of})", names[n]))
                    .figure("performed poorly"),
            );
        }
    }
    Ok(Finding::of(claims, tables(lab, &names, &rows), HOW))
}

pub(super) const HMM: Experiment = Experiment {
    name: "hmm",
    claim: "hybrid-hmm-anchor > hybrid-hmm > hmm; K-means = X-means",
    source: "Batsakis, Fig. 16, 17",
    turn: 1,
    run: hmm,
};

/// Relevant pages that the recorded user goes to.
const TARGETS: usize = 30;

/// A user who walks from a seed to one relevant page after the other, along the shortest ways, and says of
/// each page whether it is relevant.
fn browsing(
    reached: &[Url],
    docs: &[Option<Doc>],
    is_seed: impl Fn(&Url) -> bool,
    is_relevant: impl Fn(&Url) -> bool,
) -> Vec<TrainingPage> {
    let at: HashMap<&Url, usize> = reached.iter().enumerate().map(|(i, u)| (u, i)).collect();
    let mut parents: Vec<Option<usize>> = vec![None; reached.len()];
    let mut known: Vec<bool> = reached.iter().map(is_seed).collect();
    // Breadth-first order: the first page that names another is on a shortest way to it.
    for (i, doc) in docs.iter().enumerate() {
        for link in doc.iter().flat_map(|d| &d.page.links) {
            if let Some(&target) = at.get(&link.url).filter(|t| !known[**t]) {
                known[target] = true;
                parents[target] = Some(i);
            }
        }
    }
    let is_target = |i: &usize| parents[*i].is_some() && is_relevant(&reached[*i]);
    let mut targets: Vec<usize> = (0..reached.len()).filter(is_target).collect();
    Rng(1).shuffle(&mut targets);
    let mut out: Vec<TrainingPage> = Vec::new();
    let mut visited: HashMap<usize, usize> = HashMap::new();
    for target in targets.into_iter().take(TARGETS) {
        let mut way = vec![target];
        while let Some(parent) = way.last().and_then(|i| parents[*i]).filter(|_| way.len() < 50) {
            way.push(parent);
        }
        let mut before: Option<usize> = None;
        for page in way.into_iter().rev() {
            let n = *visited.entry(page).or_insert_with(|| {
                let relevant = is_relevant(&reached[page]);
                let relevance = f64::from(u8::from(relevant));
                out.push(TrainingPage {
                    url: reached[page].clone(),
                    kind: if before.is_none() { LinkKind::Seed } else { LinkKind::Anchor },
                    parent: before,
                    depth: before.map_or(0, |b| out[b].depth + 1),
                    assessment: Assessment { score: relevance, ..Assessment::default() },
                    verdict: Verdict { relevant, relevance, ..Verdict::default() },
                    worthless: false,
                });
                out.len() - 1
            });
            before = Some(n);
        }
    }
    out
}

fn hmm(lab: &Lab) -> Result<Finding, Problem> {
    let lab = &lab.at_most(TOPICS);
    let names = ["hybrid-hmm-anchor", "hybrid-hmm", "hmm", "hmm, X-means"];
    let kinds = ["hybrid-hmm-anchor", "hybrid-hmm", "hmm", "hmm"];
    let rows = measured(lab, &names, |site, reached, docs| {
        let relevant = |u: &Url| site.class(u) == Class::Relevant;
        let visits = browsing(reached, docs, |u| site.seeds.contains(u), relevant);
        let mut variants = Vec::new();
        for (name, kind) in names.iter().zip(kinds) {
            let more = if name.ends_with("X-means") { "clusters = 'xmeans'\n" } else { "" };
            let settings = format!("[strategy]\nkind = '{kind}'\n{more}");
            let Some(model) = taught(lab, site, &settings, &visits, name)? else { return Ok(Vec::new()) };
            variants.push(Variant::new(name, &format!("{settings}model = {model}\n")));
        }
        Ok(variants)
    })?;
    let mut claims = Vec::new();
    for (measure, of, margin) in [(0, "harvest", 5.0), (1, "mean similarity", 0.01)] {
        let row = |n: usize| (names[n], rows[measure][n].as_slice());
        claims.push(
            better(row(1), row(2))
                .what(&format!("the hybrid beats the chain alone ({of})"))
                .figure("clearly better"),
        );
        claims.push(
            better(row(0), row(1)).what(&format!("with anchors it is better still ({of})")).figure("better"),
        );
        claims.push(
            alike(row(2), row(3), margin)
                .what(&format!("K-means and X-means are alike ({of}, within {margin})"))
                .figure("identical"),
        );
    }
    let how = "The chains are trained on recorded browsing: a person who walks from the seed to thirty relevant pages, one after the other along shortest ways, and says which pages are relevant.";
    Ok(Finding::of(claims, tables(lab, &names, &rows), &format!("{HOW} {how}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_walk_to_each_target() {
        let web = "== http://a/\n[one](/one) [two](/two)\n== /one\n[good](/good)\n== /two\n[best](/best) [good](/good)\n== /good\nx\n== /best\ny\n";
        let web = madeup::WebString::new(web);
        let paths = ["/", "/one", "/two", "/good", "/best"];
        let reached: Vec<Url> = paths.iter().map(|p| web.url(p)).collect();
        let read = |p: &&str| Some(Doc::new(web.page(p), &focus::text::TextOptions::default()));
        let docs: Vec<Option<Doc>> = paths.iter().map(read).collect();
        let walk = browsing(&reached, &docs, |u| u.path() == "/", |u| ["/good", "/best"].contains(&u.path()));
        let paths: Vec<&str> = walk.iter().map(|s| s.url.path()).collect();
        // Two walks from the home page; each page is recorded once, with the page it was reached from.
        assert_eq!(paths.len(), 5, "{paths:?}");
        assert_eq!(paths[0], "/");
        let of = |path: &str| walk.iter().find(|s| s.url.path() == path).unwrap();
        let parent = |path: &str| of(path).parent.map(|p| walk[p].url.path().to_string());
        assert_eq!(parent("/good").as_deref(), Some("/one"));
        assert_eq!(parent("/best").as_deref(), Some("/two"));
        assert_eq!((of("/best").depth, of("/").kind), (2, LinkKind::Seed));
        assert!(of("/good").verdict.relevant && !of("/one").verdict.relevant);
    }
}
