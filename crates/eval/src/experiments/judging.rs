//! Findings about judges: what they decide on the pages a crawl can reach, against the labels.

use super::lab::{JudgedPage, Lab, Site, Variant, best_f1, best_threshold, f1_at};
use super::{Claim, Experiment, Finding, Table, as_good, better, mean};
use crate::labels::Class;
use focus::text::{Counts, DocFreq};
use focus::topic::Estimator;
use focus::topic::threshold::Subset;
use learn::rng::{Rng, mix};
use std::collections::HashSet;
use std::fmt::Write;
use std::fs;
use types::Problem;

type Row = Vec<Option<f64>>;

pub(super) const JUDGES: Experiment = Experiment {
    name: "judges",
    claim: "genre and content judged separately beat the merged term set and an SVM on F1; at least 88 % F1",
    source: "Assis 2008, Fig. 4.1, Tab. 4.3, 4.4",
    run: judges,
};

/// Labelled pages given to the trained judges: relevant, irrelevant.
const EXAMPLES: (usize, usize) = (40, 80);

/// A random sample of labelled pages that the seeds reach, for training; they are left out of the measuring.
fn examples(pages: &[JudgedPage]) -> (Vec<String>, Vec<String>) {
    let draw = |class: Class, most: usize| {
        let mut some: Vec<&JudgedPage> = pages.iter().filter(|p| p.class == class).collect();
        some.sort_by_key(|p| mix(xxhash_rust::xxh3::xxh3_64(p.url.as_bytes())));
        // Never more than a third: the rest is measured on.
        let most = most.min(some.len() / 3);
        some.into_iter().take(most).map(|p| p.url.clone()).collect::<Vec<String>>()
    };
    (draw(Class::Relevant, EXAMPLES.0), draw(Class::Irrelevant, EXAMPLES.1))
}

fn list(urls: &[String]) -> String {
    toml::Value::Array(urls.iter().cloned().map(toml::Value::String).collect()).to_string()
}

/// Settings that train a judge on these pages.
pub(super) fn trained(kind: &str, yes: &[String], no: &[String]) -> String {
    format!("[examples]\nrelevant = {}\nirrelevant = {}\n[judge]\nkind = '{kind}'\n", list(yes), list(no))
}

/// The same for a site: examples drawn from its labels. `None` without enough of both kinds.
pub(super) fn trained_for(
    lab: &Lab,
    site: &Site,
    kind: &str,
) -> Result<Option<(String, HashSet<String>)>, Problem> {
    let plain = lab.judged(site, &[Variant::new("genre", "")])?;
    let (yes, no) = plain.first().map(|p| examples(p)).unwrap_or_default();
    if yes.len() < 3 || no.len() < 3 {
        return Ok(None);
    }
    let used = yes.iter().chain(&no).cloned().collect();
    Ok(Some((trained(kind, &yes, &no), used)))
}

fn judges(lab: &Lab) -> Result<Finding, Problem> {
    let names = ["genre", "terms", "svm", "bayes"];
    let mut rows: Vec<Row> = vec![Vec::new(); names.len()];
    for site in &lab.sites {
        let plain =
            lab.judged(site, &[Variant::new("genre", ""), Variant::new("terms", "[judge]\nkind = 'terms'")])?;
        let (yes, no) = plain.first().map(|p| examples(p)).unwrap_or_default();
        let mut all: Vec<Option<Vec<JudgedPage>>> = plain.into_iter().map(Some).collect();
        if yes.len() >= 3 && no.len() >= 3 {
            let of = |kind| Variant::new(kind, &trained(kind, &yes, &no));
            all.extend(lab.judged(site, &[of("svm"), of("bayes")])?.into_iter().map(Some));
        } else {
            all.extend([None, None]);
        }
        let used: HashSet<&String> = yes.iter().chain(&no).collect();
        for (row, pages) in rows.iter_mut().zip(all) {
            row.push(pages.and_then(|mut pages| {
                pages.retain(|p| !used.contains(&p.url));
                best_f1(&pages)
            }));
        }
    }
    let mut table = Table::over(lab, "Best F1 of any threshold, on pages the trained judges have not seen.");
    for (name, row) in names.iter().zip(&rows) {
        table.row(name, row);
    }
    let [genre, terms, svm, bayes] = [0, 1, 2, 3].map(|i| rows.get(i).cloned().unwrap_or_default());
    let high = mean(&genre);
    let claims = vec![
        better(("genre and content apart", &genre), ("the merged set", &terms)),
        better(("genre and content apart", &genre), ("an SVM", &svm)),
        better(("genre and content apart", &genre), ("naive Bayes", &bayes)),
        Claim {
            what: "F1 is 88 % or more".into(),
            holds: high >= 0.88,
            numbers: format!("mean best F1 {high:.3}"),
        },
    ];
    Ok(Finding::of(
        claims,
        vec![table],
        "Assis judges pages of three narrow topics with terms chosen for them; here most labels are broad classes (all course pages, all faculty pages) of which hand-written terms describe a part, while a trained judge learns the rest from forty examples. The trained judges get labels the term judges do not have.",
    ))
}

pub(super) const IDF: Experiment = Experiment {
    name: "idf",
    claim: "idf = 1 is as good as a computed idf",
    source: "Assis 2008, Fig. 4.2",
    run: idf,
};

fn idf(lab: &Lab) -> Result<Finding, Problem> {
    let names = ["idf = 1", "idf of the crawl so far", "idf of the whole web"];
    let mut rows: Vec<Row> = vec![Vec::new(); names.len()];
    for (n, site) in lab.sites.iter().enumerate() {
        let file = lab.scratch.join(format!("idf-{n}.tsv"));
        fs::write(&file, background(lab, site)?).map_err(|e| Problem::io("write", &file, &e))?;
        let whole = format!("[text]\nidf = {}", toml::Value::String(file.display().to_string()));
        let variants = [
            Variant::new(names[0], "[text]\nidf = 'one'"),
            Variant::new(names[1], "[text]\nidf = 'online'"),
            Variant::new(names[2], &whole),
        ];
        for (row, pages) in rows.iter_mut().zip(lab.judged(site, &variants)?) {
            row.push(best_f1(&pages));
        }
        let _ = fs::remove_file(&file);
    }
    let mut table = Table::over(lab, "Best F1 of any threshold.");
    for (name, row) in names.iter().zip(&rows) {
        table.row(name, row);
    }
    let claims = vec![
        as_good((names[0], &rows[0]), (names[1], &rows[1]), 0.02),
        as_good((names[0], &rows[0]), (names[2], &rows[2]), 0.02),
    ];
    Ok(Finding::of(
        claims,
        vec![table],
        "Within 0.02 counts as equally good. The topic's terms are few and chosen: how common they are elsewhere says little.",
    ))
}

/// How many pages of the web contain each term of the topic, as a background file.
fn background(lab: &Lab, site: &Site) -> Result<String, Problem> {
    let topic = site.config.topic()?;
    let analyst = lab.analyst(site, &site.config)?;
    let mut terms: Vec<String> = Vec::new();
    for set in [&topic.genre, &topic.content, &topic.url] {
        terms.extend(set.for_language(None, &topic.text.options));
    }
    terms.sort();
    terms.dedup();
    let set = focus::text::Terms::of("all", &terms, &topic.text.options);
    let mut with = vec![0u32; terms.len()];
    let mut pages = 0u32;
    for n in 0..site.web.pages() {
        let Some(doc) = site.web.page(n).and_then(|u| lab.doc(site, &analyst, u.as_str())) else { continue };
        pages += 1;
        let found = set.count(&doc.page_words(), doc.language());
        for (i, w) in with.iter_mut().enumerate() {
            *w += u32::from(set.find(0, &terms[i], None).is_some_and(|t| found.count(t) > 0));
        }
    }
    let mut out = format!("documents\t{pages}\n");
    for (term, n) in terms.iter().zip(with) {
        let _ = writeln!(out, "{term}\t{n}");
    }
    Ok(out)
}

pub(super) const FEW_TERMS: Experiment = Experiment {
    name: "few-terms",
    claim: "few terms suffice; content terms matter more than genre terms",
    source: "Assis 2008, Tab. 5.1, 5.2",
    run: few_terms,
};

fn few_terms(lab: &Lab) -> Result<Finding, Problem> {
    let names =
        ["all terms", "3 of each", "5 of each", "10 of each", "genre terms alone", "content terms alone"];
    let mut rows: Vec<Row> = vec![Vec::new(); names.len()];
    for site in &lab.sites {
        let (genre, content) = (&site.config.genre.terms, &site.config.content.terms);
        let both = !genre.is_empty() && !content.is_empty() && site.config.genre.preset.0.is_empty();
        let cut = |g: usize, c: usize| {
            let first = |l: &[String], n: usize| list(&l.iter().take(n).cloned().collect::<Vec<_>>());
            format!("[genre]\nterms = {}\n[content]\nterms = {}", first(genre, g), first(content, c))
        };
        let all = usize::MAX;
        let variants = [cut(all, all), cut(3, 3), cut(5, 5), cut(10, 10), cut(all, 0), cut(0, all)];
        if !both {
            rows.iter_mut().for_each(|r| r.push(None));
            continue;
        }
        let variants: Vec<Variant> = names.iter().zip(&variants).map(|(n, s)| Variant::new(n, s)).collect();
        for (row, pages) in rows.iter_mut().zip(lab.judged(site, &variants)?) {
            row.push(best_f1(&pages));
        }
    }
    let mut table =
        Table::over(lab, "Best F1 of any threshold; terms are taken in the order of the topic file.");
    for (name, row) in names.iter().zip(&rows) {
        table.row(name, row);
    }
    let claims = vec![
        as_good((names[2], &rows[2]), (names[0], &rows[0]), 0.03),
        as_good((names[1], &rows[1]), (names[0], &rows[0]), 0.03),
        better((names[5], &rows[5]), (names[4], &rows[4])),
    ];
    Ok(Finding::of(
        claims,
        vec![table],
        "Topics without genre or without content terms are left out. What matters more depends on the labels: where the label is a kind of page (course, faculty, changelog) genre terms carry it, where it is a subject within a kind (operating systems, query planning) content terms do.",
    ))
}

pub(super) const THRESHOLDS: Experiment = Experiment {
    name: "thresholds",
    claim: "the K-means threshold is nearest to the best on two of three topics, on the third the means are; IQR is the best seed subset",
    source: "Siqueira et al., Tab. 3, 4",
    run: thresholds,
};

/// Search results that stand in for the seeds.
const RESULTS: usize = 50;

fn thresholds(lab: &Lab) -> Result<Finding, Problem> {
    let subsets = [
        ("full", Subset::Full),
        ("iqr", Subset::Iqr),
        ("first 50 %", Subset::First(0.5)),
        ("last 50 %", Subset::Last(0.5)),
    ];
    let mut away: Vec<Row> = vec![Vec::new(); Estimator::ALL.len()];
    let mut f1: Vec<Row> = vec![Vec::new(); Estimator::ALL.len() + 1];
    let mut by_subset: Vec<Row> = vec![Vec::new(); subsets.len()];
    for site in &lab.sites {
        let pages = lab.judged(site, &[Variant::new("genre", "")])?.into_iter().next().unwrap_or_default();
        let seeds = search_results(lab, site, &pages)?;
        let best = best_threshold(&pages);
        for (n, e) in Estimator::ALL.iter().enumerate() {
            let t = e.estimate(&seeds);
            away[n].push(t.zip(best).map(|(t, b)| (t - b).abs()));
            f1[n].push(t.and_then(|t| f1_at(&pages, t)));
        }
        f1[Estimator::ALL.len()].push(best_f1(&pages));
        for (row, (_, which)) in by_subset.iter_mut().zip(&subsets) {
            let some = which.of(&seeds, &mut Rng(0));
            let t = Estimator::KMeans.estimate(&some);
            row.push(t.zip(best).map(|(t, b)| (t - b).abs()));
        }
    }
    let mut distance = Table::over(lab, "Distance of the estimated threshold from the best one.");
    let mut quality = Table::over(lab, "F1 at the estimated threshold.");
    for (n, e) in Estimator::ALL.iter().enumerate() {
        distance.row(e.name(), &away[n]);
        quality.row(e.name(), &f1[n]);
    }
    quality.row("the best threshold", &f1[Estimator::ALL.len()]);
    let mut of_subsets =
        Table::over(lab, "Distance of the K-means threshold from the best one, by subset of the seeds.");
    for ((name, _), row) in subsets.iter().zip(&by_subset) {
        of_subsets.row(name, row);
    }
    let nearest = |rows: &[Row], which: usize| {
        (0..lab.sites.len())
            .filter(|s| {
                let of = |r: &Row| r.get(*s).copied().flatten();
                let Some(mine) = rows.get(which).and_then(of) else { return false };
                rows.iter().filter_map(of).all(|other| mine <= other + 1e-9)
            })
            .count()
    };
    let (sites, kmeans, iqr) = (lab.sites.len(), nearest(&away, 2), nearest(&by_subset, 1));
    let claims = vec![
        Claim {
            what: "K-means is nearest to the best threshold on more topics than any other".into(),
            holds: (0..Estimator::ALL.len()).all(|n| nearest(&away, n) <= kmeans),
            numbers: format!(
                "{kmeans} of {sites}; {}",
                Estimator::ALL
                    .iter()
                    .enumerate()
                    .map(|(n, e)| format!("{} {}", e.name(), nearest(&away, n)))
                    .collect::<Vec<_>>()
                    .join(", ")
            ),
        },
        Claim {
            what: "IQR is the best subset of the seeds".into(),
            holds: (0..subsets.len()).all(|n| mean(&by_subset[1]) <= mean(&by_subset[n]) + 1e-9),
            numbers: format!("nearest on {iqr} of {sites}; mean distance {:.3}", mean(&by_subset[1])),
        },
    ];
    Ok(Finding::of(
        claims,
        vec![distance, quality, of_subsets],
        "There is no search engine in a recorded web: its results are stood in for by the fifty pages nearest to the topic's terms (cosine over all words), which is kinder to the topic than a real engine, so every estimate lies high.",
    ))
}

/// Similarities of the pages a search engine might list first, in its order.
fn search_results(lab: &Lab, site: &Site, pages: &[JudgedPage]) -> Result<Vec<f64>, Problem> {
    let topic = site.config.topic()?;
    let analyst = lab.analyst(site, &site.config)?;
    let mut tokens = Vec::new();
    for set in [&topic.genre, &topic.content] {
        for term in set.for_language(None, &topic.text.options) {
            topic.text.options.tokenise(&term, None, &mut tokens);
        }
    }
    let df = DocFreq::default();
    let query = Counts::of(&[&tokens]).tf_idf(&df);
    let mut ranked: Vec<(f64, f64)> = Vec::new();
    for page in pages {
        if let Some(doc) = lab.doc(site, &analyst, &page.url) {
            ranked.push((doc.counts().tf_idf(&df).cosine(&query), page.score));
        }
    }
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0));
    Ok(ranked.into_iter().take(RESULTS).map(|r| r.1).collect())
}
