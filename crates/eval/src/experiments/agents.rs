//! Findings of Pappas et al. 2012: agents, their weight tables, requests in parallel, and contexts that are
//! not meant.

use super::lab::{Lab, Site, Variant, by_variant, over_draws};
use super::{Claim, Experiment, Finding, Table, better, mean};
use crate::labels::Class;
use crate::tournament::Run;
use std::collections::{HashMap, HashSet};
use std::time::Duration;
use types::{Canon, Problem};

type Row = Vec<Option<f64>>;

pub(super) const AGENTS: Experiment = Experiment {
    name: "agents",
    claim: "disambiguation raises precision; concurrency keeps precision and cuts time; a static table of 50 is best among static sizes, a dynamic one improves at 50 % addition; three agents explore more widely, one agent with the same seeds is more precise",
    source: "Pappas et al. 2012, Fig. 3, 5, 6, 7",
    run,
};

/// Part of each web that is fetched.
const BUDGET: f64 = 0.2;

/// Share of relevant pages among those that count.
fn precision(run: &Run) -> Option<f64> {
    let counted = run.order.iter().filter(|l| l.class != Class::Neutral).count();
    let found = run.order.iter().filter(|l| l.class == Class::Relevant).count();
    (counted > 0).then(|| found as f64 / counted as f64)
}

/// Hosts it has been to.
fn hosts(run: &Run) -> Option<f64> {
    let canon = Canon::exact();
    let names: HashSet<String> =
        run.order.iter().filter_map(|l| canon.parse(&l.url).ok()).map(|u| u.host_key().to_string()).collect();
    Some(names.len() as f64)
}

fn variant(name: &str, options: &str) -> Variant {
    Variant::new(name, &format!("[strategy]\nkind = 'agents'\n{options}")).budget(BUDGET)
}

fn run(lab: &Lab) -> Result<Finding, Problem> {
    let sizes = [25, 50, 100, 200];
    let mut variants: Vec<Variant> =
        sizes.iter().map(|n| variant(&format!("static, {n} terms"), &format!("size = {n}"))).collect();
    variants.push(variant("dynamic, 50 % added", "table = 'dynamic'\nadd = 50"));
    variants.push(variant("dynamic, 10 % added", "table = 'dynamic'\nadd = 10"));
    variants.push(variant("one agent", "agents = 1"));
    let in_parallel = variants.len();
    for n in [4, 12] {
        let mut v = variant(&format!("{n} requests at a time"), "");
        (v.concurrency, v.delay) = (n, Duration::from_millis(200));
        variants.push(v);
    }
    let mut one = variant("1 request at a time", "");
    one.delay = Duration::from_millis(200);
    variants.push(one);
    let runs = lab.crawl(&variants)?;
    let rows = by_variant(&runs, precision);
    let explored = by_variant(&runs, hosts);
    let time = by_variant(&runs, |r| Some(r.virtual_ms as f64 / 1e3));
    let mut table = Table::over(lab, "Precision over the first 20 % of the web.");
    for (v, row) in variants.iter().zip(&rows) {
        table.row(&v.name, row);
    }
    let (with, without) = disambiguated(lab)?;
    let mut let_through = Table::over(lab, "Precision of what the judge lets through, on half of the pages.");
    let_through.row("with `exclude` terms", &with);
    let_through.row("without", &without);
    let mut wide = Table::over(lab, "Hosts visited.");
    wide.row("three agents", &explored[1]);
    wide.row("one agent", &explored[6]);
    let mut seconds = Table::over(lab, "Virtual seconds (200 ms between two requests to a host).");
    for n in [in_parallel + 2, in_parallel, in_parallel + 1] {
        seconds.row(&variants[n].name, &time[n]);
    }
    let best = (0..sizes.len()).max_by(|a, b| mean(&rows[*a]).total_cmp(&mean(&rows[*b]))).unwrap_or(0);
    let (slow, fast) = (mean(&time[in_parallel + 2]), mean(&time[in_parallel + 1]));
    let steady = mean(&rows[in_parallel + 1]) - mean(&rows[in_parallel + 2]);
    let claims = vec![
        better(("with excluded contexts, precision", &with), ("without", &without)),
        Claim {
            what: "precision is steady from 1 to 12 requests at a time".into(),
            holds: steady.abs() <= 0.02,
            numbers: format!("{steady:+.3}"),
        },
        Claim {
            what: "twelve requests at a time are several times faster".into(),
            holds: slow / fast.max(1e-9) >= 3.0,
            numbers: format!("{:.1} times", slow / fast.max(1e-9)),
        },
        Claim {
            what: "50 terms are best among static tables".into(),
            holds: sizes[best] == 50,
            numbers: format!(
                "best: {} ({:.3}; 50 has {:.3})",
                sizes[best],
                mean(&rows[best]),
                mean(&rows[1])
            ),
        },
        better(("a dynamic table with 50 % added", &rows[4]), ("one with 10 %", &rows[5])),
        better(("three agents (hosts visited)", &explored[1]), ("one", &explored[6])),
        better(("one agent (precision)", &rows[6]), ("three", &rows[1])),
    ];
    Ok(Finding::of(
        claims,
        vec![table, let_through, wide, seconds],
        "Recorded webs answer at once: the time is that of politeness (200 ms between two requests to a host), which twelve requests at a time share, while that of Pappas et al. is that of slow answers. Pappas et al. gives every agent the results of one kind of search engine (web, news, blogs); here the seeds are dealt out in turn, so the agents differ in where they start only. Weights 0.5/0.5 and 1/1 rank alike within an agent: the difference in Fig. 8 of Pappas et al. cannot come from the order. Where no page is as similar to a table as 0.6, a dynamic table never grows: it is a static one of 100. The excluded terms are found automatically (words much more frequent in false alarms than in relevant pages, on half of the labels) and measured on the other half: a person who knows the wrong contexts does better.",
    ))
}

/// Precision with and without `exclude` terms, on the half of the pages they were not chosen on.
fn disambiguated(lab: &Lab) -> Result<(Row, Row), Problem> {
    let (mut with, mut without) = (Vec::new(), Vec::new());
    for site in &lab.sites {
        let plain = lab.crawl_site(site, &[variant("plain", "")])?;
        let terms = plain.first().and_then(|r| r.first()).map(|r| wrong_words(lab, site, r)).transpose()?;
        let terms = terms.unwrap_or_default();
        let list = toml::Value::Array(terms.into_iter().map(toml::Value::String).collect());
        let mut v = variant("excluding", "");
        v.settings.push_str(&format!("\n[exclude]\nterms = {list}\n"));
        let excluding = lab.crawl_site(site, &[v])?;
        // What counts as relevant for the user is what the judge lets through.
        let kept = |r: &Run| {
            let said: Vec<_> =
                r.order.iter().filter(|l| l.judged && odd(&l.url) && l.class != Class::Neutral).collect();
            let right = said.iter().filter(|l| l.class == Class::Relevant).count();
            (!said.is_empty()).then(|| right as f64 / said.len() as f64)
        };
        with.push(excluding.first().and_then(|r| over_draws(r, kept)));
        without.push(plain.first().and_then(|r| over_draws(r, kept)));
    }
    Ok((with, without))
}

fn odd(url: &str) -> bool {
    xxhash_rust::xxh3::xxh3_64(url.as_bytes()) & 1 == 1
}

/// Five words that many false alarms and (almost) no relevant pages have.
fn wrong_words(lab: &Lab, site: &Site, run: &Run) -> Result<Vec<String>, Problem> {
    let analyst = lab.analyst(site, &site.config)?;
    let (mut wrong, mut right) = (HashMap::<String, u32>::new(), HashMap::<String, u32>::new());
    let mut relevant = 0u32;
    for line in run.order.iter().filter(|l| !odd(&l.url)) {
        let into = match (line.class, line.judged) {
            (Class::Relevant, _) => &mut right,
            (Class::Irrelevant, true) => &mut wrong,
            _ => continue,
        };
        relevant += u32::from(line.class == Class::Relevant);
        let Some(doc) = lab.doc(site, &analyst, &line.url) else { continue };
        let words: HashSet<String> = doc
            .page
            .text
            .split(|c: char| !c.is_alphabetic())
            .filter(|w| w.chars().count() > 3)
            .map(str::to_lowercase)
            .collect();
        for w in words {
            *into.entry(w).or_default() += 1;
        }
    }
    let mut ranked: Vec<(u32, String)> = wrong
        .into_iter()
        .filter(|(w, _)| right.get(w).copied().unwrap_or(0) * 50 <= relevant)
        .map(|(w, n)| (n, w))
        .collect();
    ranked.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
    Ok(ranked.into_iter().take(5).map(|r| r.1).collect())
}
