//! Findings of Chakrabarti et al. 2002: what the words around a link are worth, and what learning them does
//! to a crawl.

use super::lab::{Lab, Site, Variant, over_draws};
use super::{Claim, Experiment, Finding, Table, better, mean};
use crate::metrics;
use crate::tournament::Run;
use crawl::collection::Made;
use crawl::train::Seen;
use focus::model::{ModelFile, Part, Role};
use focus::strategies::{Lesson, Strategy, Visit};
use std::collections::HashMap;
use types::{Assessment, Canon, LinkKind, Priority, Problem, Source, UrlId, Verdict};

type Row = Vec<Option<f64>>;

pub(super) const OFFSETS: Experiment = Experiment {
    name: "offsets",
    claim: "offset features beat the same words without offsets; the best d_max is 4 to 6",
    source: "Chakrabarti et al. 2002, Fig. 6, 7",
    run: offsets,
};

const WINDOWS: [u32; 6] = [0, 2, 4, 5, 6, 8];

/// The pages of a breadth-first crawl, with what the site's judge says of them.
fn recorded(run: &Run) -> Vec<Seen> {
    let canon = Canon::exact();
    let one = |l: &crate::tournament::Line| {
        let url = canon.parse(&l.url).ok()?;
        let verdict = Verdict { relevant: l.judged, relevance: l.score, ..Verdict::default() };
        Some(Seen {
            url,
            kind: LinkKind::Anchor,
            parent: None,
            depth: 0,
            assessment: Assessment { score: l.score, ..Assessment::default() },
            verdict,
            worthless: false,
        })
    };
    run.order.iter().filter_map(one).collect()
}

fn offsets(lab: &Lab) -> Result<Finding, Problem> {
    let mut rows: Vec<Row> = vec![Vec::new(); WINDOWS.len() + 1];
    let mut positives: Vec<Row> = rows.clone();
    for site in &lab.sites {
        let run = first(lab.crawl_site(site, &[Variant::strategy("breadth-first")])?);
        let pages = run.map(|r| recorded(&r)).unwrap_or_default();
        let windows = WINDOWS.iter().map(|d| (*d, true)).chain([(5, false)]);
        for (n, (d_max, offsets)) in windows.enumerate() {
            (lab.progress)(&format!("{}: d_max = {d_max}", site.name));
            let a = accuracy(lab, site, &pages, d_max, offsets)?;
            rows[n].push(a.map(|a| a.0));
            positives[n].push(a.map(|a| a.1));
        }
    }
    let name = |n: usize| match WINDOWS.get(n) {
        Some(d) => format!("d_max = {d}"),
        None => "d_max = 5, no offsets".into(),
    };
    let mut micro = Table::over(
        lab,
        "Links of held-out pages predicted right (mean of both classes; split at the median relevance).",
    );
    let mut high = Table::over(lab, "Of those that lead to high pages.");
    for n in 0..rows.len() {
        micro.row(&name(n), &rows[n]);
        high.row(&name(n), &positives[n]);
    }
    let best = (0..WINDOWS.len()).max_by(|a, b| mean(&rows[*a]).total_cmp(&mean(&rows[*b]))).unwrap_or(0);
    let claims = vec![
        better(("with offsets", &rows[3]), ("the same words without", &rows[WINDOWS.len()])),
        Claim {
            what: "the best d_max is 4 to 6".into(),
            holds: (4..=6).contains(&WINDOWS[best]),
            numbers: format!(
                "best in the mean: {} ({:.3}; d_max = 5 has {:.3})",
                WINDOWS[best],
                mean(&rows[best]),
                mean(&rows[3])
            ),
        },
    ];
    Ok(Finding::of(
        claims,
        vec![micro, high],
        "Trained on the links of two thirds of the pages, tested on those of the rest; the judge of the topic file is the critic. The critic of Chakrabarti et al. is a taxonomy classifier with probabilities near 0 and 1; a similarity has many ties at 0, so the median splits less cleanly.",
    ))
}

fn first(runs: Vec<Vec<Run>>) -> Option<Run> {
    runs.into_iter().flatten().next()
}

/// Balanced accuracy and accuracy on the high ones, on links of pages not trained on.
fn accuracy(
    lab: &Lab,
    site: &Site,
    pages: &[Seen],
    d_max: u32,
    offsets: bool,
) -> Result<Option<(f64, f64)>, Problem> {
    let settings = format!(
        "[strategy]\nkind = 'apprentice'\nmode = 'offline'\nsplit = 'median'\nd_max = {d_max}\noffsets = {offsets}"
    );
    let config = Variant::new("apprentice", &settings).config(site)?;
    let topic = config.topic()?;
    let mut made = Made::new(&topic, &Canon::exact(), &|url| Ok(site.web.answer(url)), 0, 0)?;
    let lessons: Vec<Lesson> =
        pages.iter().map(|p| Lesson { url: p.url.clone(), verdict: p.verdict }).collect();
    let at: HashMap<&types::Url, usize> = pages.iter().enumerate().map(|(i, p)| (&p.url, i)).collect();
    let mut relevances: Vec<f64> = pages.iter().map(|p| p.verdict.relevance).collect();
    relevances.sort_by(f64::total_cmp);
    let Some(median) = relevances.get(relevances.len().saturating_sub(1) / 2).copied() else {
        return Ok(None);
    };
    let strategy = made.strategy.as_mut();
    strategy.model().map(|m| m.begin_training(&lessons));
    let (mut right, mut all) = ([0usize; 2], [0usize; 2]);
    for held_out in [false, true] {
        for (i, page) in pages.iter().enumerate().filter(|(i, _)| (i % 3 == 2) == held_out) {
            let Some(doc) = lab.doc(site, &made.analyst, page.url.as_str()) else { continue };
            let visit = shown(i, page, &doc);
            for (link, scored) in doc.page.links.iter().zip(strategy.score(&visit)) {
                let (Some(scored), Some(&target)) = (scored, at.get(&link.url)) else { continue };
                if target == i {
                    continue;
                }
                if !held_out {
                    strategy
                        .model()
                        .into_iter()
                        .for_each(|m| m.train_on_link(&scored.evidence, &lessons[target]));
                    continue;
                }
                // As the apprentice splits: in steps of 1/256.
                let step = |r: f64| (r.clamp(0.0, 1.0) * 256.0) as usize;
                let high = step(lessons[target].verdict.relevance) > step(median);
                let Some(said) = predicted(strategy, scored.evidence) else { continue };
                all[usize::from(high)] += 1;
                right[usize::from(high)] += usize::from(said == high);
            }
        }
    }
    let share = |n: usize| (all[n] > 0).then(|| right[n] as f64 / all[n] as f64);
    Ok(share(0).zip(share(1)).map(|(low, high)| ((low + high) / 2.0, high)))
}

/// Does it say that the link leads to a high page?
fn predicted(strategy: &mut dyn Strategy, evidence: Vec<u8>) -> Option<bool> {
    let source = Source {
        parent: Some(UrlId(0)),
        kind: LinkKind::Anchor,
        priority: Priority::key_only(0.0),
        evidence,
        anchor: "".into(),
    };
    strategy.rescore(&[source]).map(|p| p.key() > 0.0)
}

fn shown<'a>(i: usize, page: &'a Seen, doc: &'a focus::text::Doc) -> Visit<'a> {
    Visit {
        id: UrlId(i as u32),
        url: &page.url,
        kind: page.kind,
        doc,
        assessment: &page.assessment,
        verdict: page.verdict,
        parent: None,
        depth: 0,
        site_depth: 0,
        priority: Priority::key_only(0.0),
        evidence: &[],
        sources: &[],
        targets: &[],
        n: i as u64 + 1,
        worthless: false,
    }
}

pub(super) const LOSS: Experiment = Experiment {
    name: "apprentice",
    claim: "the apprentice cuts the loss by 30–90 % against its critic-driven baseline; online training works mid-crawl",
    source: "Chakrabarti et al. 2002, Fig. 10, 13, 14",
    run: loss,
};

/// Part of each web that is fetched: Chakrabarti et al. 2002 crawl far less than there is.
const BUDGET: f64 = 0.2;

/// Mean of 1 − Pr over the pages.
fn mean_loss(run: &Run) -> Option<f64> {
    let scores: Vec<f64> = run.order.iter().map(|l| l.score).collect();
    (!scores.is_empty()).then(|| metrics::against_critic(&scores, 1).loss)
}

const ONLINE: &str = "[strategy]\nkind = 'apprentice'\nsplit = 'median'";

fn loss(lab: &Lab) -> Result<Finding, Problem> {
    let names = ["baseline (critic)", "apprentice, online", "apprentice, trained on the baseline crawl"];
    let mut rows: Vec<Row> = vec![Vec::new(); names.len()];
    let mut drop: Vec<Row> = vec![Vec::new(); 2];
    for (n, site) in lab.sites.iter().enumerate() {
        let base = Variant::strategy("classifier").budget(BUDGET);
        let online = Variant::new(names[1], ONLINE).budget(BUDGET);
        let runs = lab.crawl_site(site, &[base, online])?;
        for (row, list) in rows.iter_mut().zip(&runs) {
            row.push(over_draws(list, mean_loss));
        }
        // Before and after the apprentice took over (page 100), for as many pages.
        let part = |from: usize, to: usize| {
            over_draws(&runs[1], |r| {
                let scores: Vec<f64> =
                    r.order.get(from..to.min(r.order.len()))?.iter().map(|l| l.score).collect();
                (!scores.is_empty()).then(|| metrics::against_critic(&scores, 1).loss)
            })
        };
        drop[0].push(part(0, 100));
        drop[1].push(part(100, 300));
        let offline = match runs[0].first() {
            Some(run) => taught(lab, site, run, n)?,
            None => None,
        };
        let row = match offline {
            Some(settings) => {
                let v = Variant::new(names[2], &settings).budget(BUDGET);
                let runs = lab.crawl_site(site, &[v])?;
                over_draws(&runs[0], mean_loss)
            }
            None => None,
        };
        rows[2].push(row);
    }
    let mut table =
        Table::over(lab, "Mean loss (1 − relevance by the critic) over the first 20 % of the web.");
    for (name, row) in names.iter().zip(&rows) {
        table.row(name, row);
    }
    let mut phases =
        Table::over(lab, "The online apprentice: loss while the critic leads, and while it leads itself.");
    phases.row("pages 1–100", &drop[0]);
    phases.row("pages 101–300", &drop[1]);
    let cut = |n: usize| 1.0 - mean(&rows[n]) / mean(&rows[0]).max(1e-9);
    let best = cut(1).max(cut(2));
    let negative = |row: &Row| row.iter().map(|v| v.map(|v| -v)).collect::<Row>();
    let mut lower = better((names[1], &negative(&rows[1])), (names[0], &negative(&rows[0])));
    lower.what = "the online apprentice loses less than its baseline".into();
    let mut trained = better((names[2], &negative(&rows[2])), (names[0], &negative(&rows[0])));
    trained.what = "trained offline, it loses less than its baseline".into();
    let mut after = better(("after", &negative(&drop[1])), ("before", &negative(&drop[0])));
    after.what = "the loss falls when it takes over".into();
    let claims = vec![
        lower,
        trained,
        Claim {
            what: "the loss is cut by 30 % or more".into(),
            holds: best >= 0.3,
            numbers: format!("online {:+.1} %, offline {:+.1} %", -100.0 * cut(1), -100.0 * cut(2)),
        },
        after,
    ];
    Ok(Finding::of(
        claims,
        vec![table, phases],
        "The critic here is the topic's own judge, whose scores are similarities: even good pages score 0.4 or so, so that a loss of 60 % is what perfection costs and cuts of 30 % are out of reach. The critic of Chakrabarti et al. gives probabilities near 0 or 1, and its baseline crawls the open web.",
    ))
}

/// A model made of a crawl, as settings that start from it.
fn taught(lab: &Lab, site: &Site, run: &Run, n: usize) -> Result<Option<String>, Problem> {
    let config = Variant::new("apprentice", ONLINE).config(site)?;
    let topic = config.topic()?;
    let mut made = Made::new(&topic, &Canon::exact(), &|url| Ok(site.web.answer(url)), 0, 0)?;
    let pages = recorded(run);
    let analyst = made.analyst.clone();
    crawl::train::teach(made.strategy.as_mut(), &pages, &mut |p| {
        Ok(lab.doc(site, &analyst, p.url.as_str()))
    })?;
    let Some(body) = made.strategy.model().and_then(|m| m.export()) else { return Ok(None) };
    let part = Part::new(Role::Strategy, "apprentice", String::new(), &topic.text.options, body);
    let file = lab.scratch.join(format!("apprentice-{n}.model"));
    std::fs::write(&file, ModelFile { parts: vec![part] }.write())
        .map_err(|e| Problem::io("write", &file, &e))?;
    let name = toml::Value::String(file.display().to_string());
    Ok(Some(format!("{ONLINE}\nmode = 'offline'\nmodel = {name}")))
}

pub(super) const RECALL: Experiment = Experiment {
    name: "recall-mode",
    claim: "the recall-mode apprentice's loss lies between baseline and apprentice; URL overlap with the baseline is small (3–17 %); topic and cocitation features hardly matter",
    source: "Chakrabarti et al. 2002, Fig. 11, 12, §3.8",
    run: recall,
};

fn recall(lab: &Lab) -> Result<Finding, Problem> {
    let names = ["baseline", "recall mode", "apprentice", "with topic features", "with cocitation"];
    let mut rows: Vec<Row> = vec![Vec::new(); names.len()];
    let mut overlap: Vec<Row> = vec![Vec::new()];
    for site in &lab.sites {
        let variants = [
            Variant::strategy("classifier").budget(2.0 * BUDGET),
            Variant::new(names[2], ONLINE).budget(BUDGET),
            Variant::new(names[3], &format!("{ONLINE}\ntopic = true")).budget(BUDGET),
            Variant::new(names[4], &format!("{ONLINE}\ncocitation = true")).budget(BUDGET),
        ];
        let runs = lab.crawl_site(site, &variants)?;
        let n = runs[1].first().map_or(0, |r| r.order.len());
        // The same number of pages of every crawl.
        let cut = |r: &Run| {
            let scores: Vec<f64> = r.order.iter().take(n).map(|l| l.score).collect();
            (!scores.is_empty()).then(|| metrics::against_critic(&scores, 1).loss)
        };
        let urls: Vec<toml::Value> = runs[0]
            .first()
            .map_or(&[][..], |r| &r.order)
            .iter()
            .map(|l| toml::Value::String(l.url.clone()))
            .collect();
        let list = toml::Value::Array(urls);
        let mode = Variant::new(names[1], &format!("{ONLINE}\nmode = 'recall'\nurls = {list}"));
        let recalled = if n > 0 { lab.crawl_site(site, &[mode])? } else { vec![Vec::new()] };
        rows[0].push(over_draws(&runs[0], cut));
        rows[1].push(over_draws(&recalled[0], cut));
        for v in 1..4 {
            rows[v + 1].push(over_draws(&runs[v], cut));
        }
        let pages =
            |r: Option<&Run>| r.map(|r| r.order.iter().take(n).map(|l| l.url.clone()).collect::<Vec<_>>());
        let both = pages(runs[0].first()).zip(pages(runs[1].first()));
        overlap[0].push(both.and_then(|(a, b)| metrics::overlap(&a, &b)));
    }
    let mut table = Table::over(lab, "Mean loss over equally many pages (20 % of the web).");
    for (name, row) in names.iter().zip(&rows) {
        table.row(name, row);
    }
    let mut shared = Table::over(lab, "URLs of either crawl that both fetched.");
    shared.row("baseline and apprentice", &overlap[0]);
    let (base, mode, app) = (mean(&rows[0]), mean(&rows[1]), mean(&rows[2]));
    let between = mode >= app.min(base) - 0.002 && mode <= app.max(base) + 0.002;
    let common = mean(&overlap[0]);
    let matter = |n: usize| mean(&rows[n]) - app;
    let claims = vec![
        Claim {
            what: "recall mode lies between baseline and apprentice".into(),
            holds: between,
            numbers: format!("loss {base:.3}, {mode:.3}, {app:.3}"),
        },
        Claim {
            what: "the crawls share few URLs (17 % or less)".into(),
            holds: common <= 0.17,
            numbers: format!("{:.1} % in the mean", 100.0 * common),
        },
        Claim {
            what: "topic and cocitation features hardly matter".into(),
            holds: matter(3).abs() <= 0.01 && matter(4).abs() <= 0.01,
            numbers: format!("change of the loss: topic {:+.4}, cocitation {:+.4}", matter(3), matter(4)),
        },
    ];
    Ok(Finding::of(
        claims,
        vec![table, shared],
        "Both crawls draw from a closed web of a few thousand pages, of which each fetches a fifth: two crawls of the open web have far more room to differ.",
    ))
}
