//! Findings about orders: which strategy finds relevant pages sooner.

use super::judging::trained_for;
use super::lab::{Lab, Variant, auc, by_variant, over_draws, recall_at, share_until};
use super::{Claim, Experiment, Finding, Table, as_good, better, mean};
use crate::labels::Class;
use std::time::Duration;
use types::Problem;

type Row = Vec<Option<f64>>;

fn table(lab: &Lab, title: &str, variants: &[Variant], rows: &[Row]) -> Table {
    let mut table = Table::over(lab, title);
    for (v, row) in variants.iter().zip(rows) {
        table.row(&v.name, row);
    }
    table
}

const AUC: &str = "Area under recall against the share of reachable pages fetched (0.5 = chance).";

pub(super) const POLICIES: Experiment = Experiment {
    name: "policies",
    claim: "FS-2 finds 90 % of the relevant pages within 60 % of the visits; PS is worst early; PFS is best for full recall",
    source: "Assis 2008, Fig. 4.3, 4.7",
    run: policies,
};

/// Assis's crawler: his judge; links deeper than 7 inside a site and beyond the first 200 of a page are not followed, whatever the
/// order; ten requests at once, a second between two to the same host.
fn as_assis_crawled(name: &str, strategy: &str) -> Variant {
    let caps = "[judge]\nkind = 'genre'\n[limits]\nsite_depth = 7\nlinks_per_page = 200\n";
    Variant {
        concurrency: 10,
        delay: Duration::from_secs(1),
        ..Variant::new(name, &format!("{caps}[strategy]\n{strategy}"))
    }
}

fn policies(lab: &Lab) -> Result<Finding, Problem> {
    let names = ["FS-1", "FS-2", "PS", "PFS-1", "PFS-2"];
    let policy = |n: &&str| as_assis_crawled(n, &format!("kind = 'genre'\npolicy = '{n}'"));
    let variants: Vec<Variant> = (names.iter().map(policy))
        .chain([as_assis_crawled("breadth-first", "kind = 'breadth-first'")])
        .collect();
    let alone: Vec<Variant> =
        variants.iter().map(|v| Variant { concurrency: 1, delay: Duration::ZERO, ..v.clone() }).collect();
    let runs = lab.crawl(&variants)?;
    let (together, alone) = (by_variant(&runs, auc), by_variant(&lab.crawl(&alone)?, auc));
    let at = |share: f64| by_variant(&runs, |r| recall_at(r, share));
    let (early, late) = (at(0.1), at(0.6));
    let until = by_variant(&runs, |r| share_until(r, 95));
    let least = |rows: &[Row]| {
        (0..names.len()).min_by(|a, b| mean(&rows[*a]).total_cmp(&mean(&rows[*b]))).unwrap_or(0)
    };
    let fs2 = mean(&late[1]);
    let first_full = names[least(&until)];
    let claims = vec![
        Claim {
            what: "FS-2 finds 90 % within 60 % of the visits".into(),
            holds: fs2 >= 0.9,
            numbers: format!("mean recall {fs2:.3} at 60 %"),
        },
        Claim {
            what: "PS is worst early".into(),
            holds: names[least(&early)] == "PS",
            numbers: format!(
                "worst at 10 % of the visits: {} ({:.3}); PS {:.3}",
                names[least(&early)],
                mean(&early[least(&early)]),
                mean(&early[2])
            ),
        },
        Claim {
            what: "PFS needs the fewest visits for (95 %) recall".into(),
            holds: first_full.starts_with("PFS"),
            numbers: format!(
                "{first_full}: {:.3} of the pages; FS-2 {:.3}, PFS-2 {:.3}",
                mean(&until[least(&until)]),
                mean(&until[1]),
                mean(&until[4])
            ),
        },
    ];
    let tables = vec![
        table(lab, "Recall after 10 % of the reachable pages.", &variants, &early),
        table(lab, "Recall after 60 %.", &variants, &late),
        table(
            lab,
            "Share of the pages fetched until 95 % of the relevant ones were found.",
            &variants,
            &until,
        ),
        table(lab, &format!("{AUC} Ten requests at once, polite."), &variants, &together),
        table(lab, &format!("{AUC} One request at a time."), &variants, &alone),
    ];
    Ok(Finding::of(
        claims,
        tables,
        "Assis crawls sites whose relevant pages (syllabi) do not link to each other but stand together in lists: siblings tell, parents do not. Where relevant pages link to each other (documentation, project pages), the relevance of the page a link stands on (PS) is worth more than Assis found. As in his crawls ten requests are under way at once, a second apart per host, with his caps (depth 7, 200 links) for every crawler; which of equal links goes first is chance (`ties`), because he names no rule and answers come in any order.",
    ))
}

pub(super) const LINK_CONTEXT: Experiment = Experiment {
    name: "link-context",
    claim: "link context as first score raises efficiency by 100 %",
    source: "Siqueira et al., §2.1",
    run: link_context,
};

fn link_context(lab: &Lab) -> Result<Finding, Problem> {
    let variants = [Variant::strategy("genre-context"), Variant::strategy("genre")];
    let runs = lab.crawl(&variants)?;
    let early = by_variant(&runs, |r| recall_at(r, 0.1));
    let all = by_variant(&runs, auc);
    let gain = mean(&early[0]) / mean(&early[1]).max(1e-9);
    let claims = vec![
        better(("the context as first score", &early[0]), ("0 as first score", &early[1])),
        Claim {
            what: "it finds at least twice as much early on".into(),
            holds: gain >= 2.0,
            numbers: format!(
                "mean recall in the first tenth {:.3} instead of {:.3}",
                mean(&early[0]),
                mean(&early[1])
            ),
        },
    ];
    let tables = vec![
        table(lab, "Recall after 10 % of the reachable pages.", &variants, &early),
        table(lab, AUC, &variants, &all),
    ];
    Ok(Finding::of(
        claims,
        tables,
        "The efficiency of Siqueira et al. is relevant pages per page fetched; with equally many pages fetched that is recall. It is largest where anchors name what is behind them.",
    ))
}

pub(super) const BEST_FIRST: Experiment = Experiment {
    name: "best-first",
    claim: "page and anchor > anchor > page > breadth-first",
    source: "Batsakis, Fig. 12",
    run: best_first,
};

fn best_first(lab: &Lab) -> Result<Finding, Problem> {
    let variants =
        ["best-first", "best-first-anchor", "best-first-page", "breadth-first"].map(Variant::strategy);
    let runs = lab.crawl(&variants)?;
    let rows = by_variant(&runs, auc);
    let pair = |a: usize, b: usize| {
        better((&variants[a].name, rows[a].as_slice()), (&variants[b].name, rows[b].as_slice()))
    };
    Ok(Finding::of(
        vec![pair(0, 1), pair(1, 2), pair(2, 3)],
        vec![table(lab, AUC, &variants, &rows)],
        "Batsakis measures similarity to example pages over 1,000 pages of an open web in which most pages have nothing to do with the topic; here all pages of a few sites are fetched in the end. Anchors alone leave most links at 0, in the order they were found.",
    ))
}

pub(super) const WORDNET: Experiment = Experiment {
    name: "wordnet",
    claim: "synset expansion ≥ best-first, marginally; Ehrig and SSRM with WordNet do not help",
    source: "Batsakis, Fig. 14, 15, §4.7",
    run: wordnet,
};

fn wordnet(lab: &Lab) -> Result<Finding, Problem> {
    let variants = ["synset", "best-first", "ehrig", "ssrm", "best-first-anchor"].map(Variant::strategy);
    let runs = lab.crawl(&variants)?;
    let rows = by_variant(&runs, auc);
    let helps = |n: usize| {
        let mut c = better((&variants[n].name, rows[n].as_slice()), ("the anchor's own words", &rows[4]));
        c.what = format!("{} does not help", variants[n].name);
        c.holds = !c.holds;
        c
    };
    Ok(Finding::of(
        vec![as_good(("synset", &rows[0]), ("best-first", &rows[1]), 0.0), helps(2), helps(3)],
        vec![table(lab, AUC, &variants, &rows)],
        "Ehrig and SSRM look at anchors alone, so they are compared with best-first-anchor. Technical terms have few synonyms in WordNet, and its everyday senses (\"class\", \"index\", \"tree\") mislead.",
    ))
}

pub(super) const HMM: Experiment = Experiment {
    name: "hmm",
    claim: "hybrid-hmm-anchor > hybrid-hmm > hmm; K-means ≈ X-means",
    source: "Batsakis, Fig. 16",
    run: hmm,
};

fn hmm(lab: &Lab) -> Result<Finding, Problem> {
    let variants = [
        Variant::strategy("hybrid-hmm-anchor"),
        Variant::strategy("hybrid-hmm"),
        Variant::strategy("hmm"),
        Variant::new("hmm, X-means", "[strategy]\nkind = 'hmm'\nclusters = 'xmeans'"),
    ];
    let runs = lab.crawl(&variants)?;
    let rows = by_variant(&runs, auc);
    let pair = |a: usize, b: usize| {
        better((&variants[a].name, rows[a].as_slice()), (&variants[b].name, rows[b].as_slice()))
    };
    let gap = mean(&rows[2]) - mean(&rows[3]);
    let claims = vec![
        pair(0, 1),
        pair(1, 2),
        Claim {
            what: "K-means and X-means are alike".into(),
            holds: gap.abs() <= 0.03,
            numbers: format!("mean difference {gap:+.3}"),
        },
    ];
    Ok(Finding::of(
        claims,
        vec![table(lab, AUC, &variants, &rows)],
        "No recorded browsing was given: the chains are trained on the first 200 pages of their own crawl.",
    ))
}

pub(super) const CRAWLERS: Experiment = Experiment {
    name: "crawlers",
    claim: "fewer visits per relevant page than the SVM crawler; sibling queueing helps the SVM too; FS beats PFS below 30 % visited; a change threshold helps",
    source: "Assis 2008, Fig. 4.5–4.7, Tab. 4.5",
    run: crawlers,
};

fn crawlers(lab: &Lab) -> Result<Finding, Problem> {
    let plain = [
        Variant::new("genre FS-2", "[strategy]\nkind = 'genre'\npolicy = 'FS-2'"),
        Variant::new("genre FS-1", "[strategy]\nkind = 'genre'\npolicy = 'FS-1'"),
        Variant::new("genre PFS-2", "[strategy]\nkind = 'genre'\npolicy = 'PFS-2'"),
    ];
    let names = ["genre FS-2", "genre FS-1", "genre PFS-2", "SVM crawler", "SVM crawler, siblings"];
    let mut visits: Vec<Row> = vec![Vec::new(); names.len()];
    let mut early: Vec<Row> = vec![Vec::new(); names.len()];
    for site in &lab.sites {
        let mut variants = plain.to_vec();
        let svm = trained_for(lab, site, "svm")?;
        let used = svm.as_ref().map(|s| s.1.clone()).unwrap_or_default();
        if let Some((settings, _)) = &svm {
            variants.push(Variant::new(names[3], &format!("{settings}\n[strategy]\nkind = 'classifier'")));
            variants.push(Variant::new(
                names[4],
                &format!("{settings}\n[strategy]\nkind = 'classifier'\nqueue = 'siblings'"),
            ));
        }
        let runs = lab.crawl_site(site, &variants)?;
        for n in 0..names.len() {
            let of = |value: &dyn Fn(&crate::tournament::Run) -> Option<f64>| {
                runs.get(n).and_then(|r| over_draws(r, value))
            };
            // Pages the SVM was trained on are no finds.
            let half = |r: &crate::tournament::Run| {
                let hits: Vec<bool> =
                    r.order.iter().map(|l| l.class == Class::Relevant && !used.contains(&l.url)).collect();
                let all = hits.iter().filter(|h| **h).count();
                let n = crate::metrics::search_length(&hits, all, 50)?;
                Some(n as f64 / (all as f64 / 2.0).max(1.0))
            };
            visits[n].push(of(&half));
            early[n].push(of(&|r| recall_at(r, 0.3)));
        }
    }
    let named: Vec<Variant> = names.iter().map(|n| Variant::strategy(n)).collect();
    let fewer = |a: usize, b: usize| {
        let negative = |row: &Row| row.iter().map(|v| v.map(|v| -v)).collect::<Row>();
        let mut c = better((names[a], &negative(&visits[a])), (names[b], &negative(&visits[b])));
        c.what = format!("{} needs fewer visits than {}", names[a], names[b]);
        c
    };
    let claims = vec![
        fewer(0, 3),
        fewer(4, 3),
        better(("FS-2 at 30 % visited", &early[0]), ("PFS-2", &early[2])),
        better(("FS-2 (change threshold) at 30 % visited", &early[0]), ("FS-1", &early[1])),
    ];
    let tables = vec![
        table(lab, "Visits per relevant page until half of them were found.", &named, &visits),
        table(lab, "Recall after 30 % of the reachable pages.", &named, &early),
    ];
    Ok(Finding::of(
        claims,
        tables,
        "The SVM is trained on labelled pages of the same web (left out of the count); Assis's on pages of other sites. It knows more of these sites than the term judge.",
    ))
}
