//! Findings of Chakrabarti et al. 2002 about crawls: what an apprentice saves, trained on a baseline crawl or
//! while it crawls, and inside the baseline's own pages.

use super::chakrabarti::{odds, recorded, shown};
use super::crawled::Run;
use super::elsewhere::{Elsewhere, taught};
use super::lab::{Lab, Site, Variant, over_draws};
use super::{Claim, Experiment, Finding, Row, Table, at_least, at_most, better, lower};
use crate::metrics;
use crate::tournament::Line;
use crawl::collection::TopicParts;
use std::collections::{HashMap, HashSet};
use std::num::NonZeroUsize;
use types::{Canon, Problem, Url};

/// Mean of 1 − Pr over pages of a crawl.
fn loss(order: &[Line], from: usize, to: usize) -> Option<f64> {
    let scores: Vec<f64> = order.get(from..to.min(order.len()))?.iter().map(|l| l.score).collect();
    (!scores.is_empty()).then(|| metrics::against_critic(&scores, 1).loss)
}

/// A topic with its critic, and how far it is crawled.
pub(super) struct Bench<'a> {
    pub site: &'a Site,
    pub critic: String,
    /// What the critic gives each page that the crawl can reach, best first.
    grades: Vec<f64>,
    /// 10 and 20 % of them.
    pages: [usize; 2],
    /// Where crawls begin, by draw.
    starts: Vec<Vec<Url>>,
}

const APPRENTICE: &str = "[strategy]\nkind = 'apprentice'\nsplit = 'median'\n";

impl<'a> Bench<'a> {
    /// `None` without a critic, or when most of what a tenth of the web fetches is lost in any order: their
    /// topics are "neither too broad nor too narrow".
    pub fn of(lab: &Lab, site: &'a Site) -> Result<Option<Bench<'a>>, Problem> {
        let Some(elsewhere) = Elsewhere::of(lab, site)? else { return Ok(None) };
        let Some(critic) = elsewhere.critic(lab, site)? else { return Ok(None) };
        let share = |s: f64| ((elsewhere.reached.len() as f64 * s) as usize).max(20);
        let pages = [share(0.1), share(0.2)];
        let judge = Variant::new("critic", &critic);
        let assessed = lab.assess(site, &judge, &elsewhere.reached, 0)?;
        let mut grades: Vec<f64> = assessed.into_iter().flatten().map(|a| a.score).collect();
        grades.sort_by(|a, b| b.total_cmp(a));
        if least_loss(&grades, pages[0]).is_none_or(|least| least > 0.5) {
            return Ok(None);
        }
        Ok(Some(Bench { site, critic, grades, pages, starts: elsewhere.starts(lab, site) }))
    }

    fn crawl(&self, lab: &Lab, variants: &[Variant]) -> Result<Vec<Vec<Run>>, Problem> {
        lab.crawl_from(self.site, variants, &self.starts)
    }

    fn variant(&self, name: &str, strategy: &str) -> Variant {
        Variant::new(name, &format!("{}{strategy}", self.critic)).pages(self.pages[1] as u64)
    }

    /// The crawl that the critic drives.
    fn baseline(&self) -> Variant {
        self.variant("baseline", "[strategy]\nkind = 'classifier'\n")
    }

    /// It, one per draw.
    pub fn baselines(&self, lab: &Lab) -> Result<Vec<Run>, Problem> {
        Ok(self.crawl(lab, &[self.baseline()])?.into_iter().flatten().collect())
    }

    /// §3.5: one apprentice per baseline crawl, trained on all its links, started where that one started.
    /// `then` makes the settings of its crawl of the name of the model file.
    fn trained(
        &self,
        lab: &Lab,
        baseline: &[Run],
        then: &(dyn Fn(&Run, &str) -> Result<Variant, Problem> + Sync),
    ) -> Result<Vec<Run>, Problem> {
        let draws: Vec<(usize, &Run, &Vec<Url>)> =
            baseline.iter().zip(&self.starts).enumerate().map(|(n, (run, from))| (n, run, from)).collect();
        let one = |(n, run, from): &(usize, &Run, &Vec<Url>)| -> Result<Vec<Run>, Problem> {
            let base = format!("{}{APPRENTICE}", self.critic);
            let name = format!("apprentice-{n}");
            (lab.progress)(&format!("{}: training {name}", self.site.name));
            let model = taught(lab, self.site, &base, &recorded(&run.order), &name)?;
            let Some(model) = model else { return Ok(Vec::new()) };
            let alone = Lab { threads: NonZeroUsize::MIN, ..lab.clone() };
            let runs = alone.crawl_from(self.site, &[then(run, &model)?], &[from.to_vec()])?;
            Ok(runs.into_iter().flatten().collect())
        };
        let runs = lab.each(&draws, one).into_iter().collect::<Result<Vec<_>, Problem>>()?;
        Ok(runs.into_iter().flatten().collect())
    }

    fn offline(&self, lab: &Lab, baseline: &[Run]) -> Result<Vec<Run>, Problem> {
        self.trained(lab, baseline, &|_, model| {
            Ok(self.variant("apprentice", &format!("{APPRENTICE}mode = 'offline'\nmodel = {model}\n")))
        })
    }
}

/// The least loss that any order of `n` pages can have: the pages that the critic likes best, first.
fn least_loss(grades: &[f64], n: usize) -> Option<f64> {
    let best = grades.get(..n.min(grades.len()))?;
    (!best.is_empty()).then(|| metrics::against_critic(best, 1).loss)
}

pub(super) const LOSS: Experiment = Experiment {
    name: "apprentice",
    claim: "the apprentice cuts the loss by 30–90 % against its critic-driven baseline; trained online, the loss falls when it takes over",
    source: "Chakrabarti et al. 2002, §3.5, §3.7, Fig. 10, 13, 14",
    turn: 0,
    run: apprentice,
};

fn apprentice(lab: &Lab) -> Result<Finding, Problem> {
    let lab = &lab.broad();
    let names = ["baseline (critic)", "apprentice, trained on the baseline's crawl", "apprentice, online"];
    let mut rows: [Vec<Row>; 2] = std::array::from_fn(|_| vec![Vec::new(); names.len() + 1]);
    let mut after: Vec<Row> = vec![Vec::new(); 3];
    let mut frontier: Vec<Row> = vec![Vec::new(); 3];
    let mut fifths: Vec<Row> = vec![Vec::new(); 15];
    for site in &lab.sites {
        let Some(bench) = Bench::of(lab, site)? else {
            let all = rows.iter_mut().flatten().chain(&mut after).chain(&mut frontier).chain(&mut fifths);
            all.for_each(|r| r.push(None));
            continue;
        };
        let [tenth, fifth] = bench.pages;
        let online = bench.variant(names[2], &format!("{APPRENTICE}warmup = {tenth}\n"));
        let early = bench.variant(names[2], APPRENTICE);
        let runs = bench.crawl(lab, &[bench.baseline(), online, early])?;
        let offline = bench.offline(lab, &runs[0])?;
        for (at, n) in [tenth, fifth].into_iter().enumerate() {
            for (row, list) in rows[at].iter_mut().zip([&runs[0], &offline, &runs[2]]) {
                row.push(over_draws(list, |r| loss(&r.order, 0, n)));
            }
            rows[at][3].push(least_loss(&bench.grades, n));
        }
        after[0].push(over_draws(&runs[1], |r| loss(&r.order, 0, tenth)));
        after[1].push(over_draws(&runs[1], |r| loss(&r.order, tenth, fifth)));
        after[2].push(over_draws(&runs[0], |r| loss(&r.order, tenth, fifth)));
        let outlooks = runs[0].iter().map(|run| outlook(lab, &bench, run));
        let outlooks: Vec<Outlook> = outlooks.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect();
        let over_draws = |value: &dyn Fn(&Outlook) -> f64| {
            let values: Vec<f64> = outlooks.iter().map(value).collect();
            (!values.is_empty()).then(|| crate::stats::mean(&values))
        };
        for (n, row) in frontier.iter_mut().enumerate() {
            row.push(over_draws(&|o| o.mean[n]));
        }
        for (n, row) in fifths.iter_mut().enumerate() {
            row.push(over_draws(&|o| o.fifths[n / 5][n % 5]));
        }
    }
    let cut = |at: usize, which: usize| -> Row {
        let (base, other) = (&rows[at][0], &rows[at][which]);
        base.iter().zip(other).map(|(b, o)| Some(1.0 - (*o)? / (*b)?.max(1e-9))).collect()
    };
    let avoidable = |at: usize, which: usize| -> Row {
        (0..lab.sites.len())
            .map(|s| {
                let of = |n: usize| rows[at][n][s];
                let (base, other, least) = (of(0)?, of(which)?, of(3)?);
                // Where the baseline loses next to nothing more than it must, there is no share of it.
                (base - least > 0.02).then(|| (base - other) / (base - least))
            })
            .collect()
    };
    let closed = "The recorded webs end: there are fewer relevant pages than the Web has, so a part of the loss cannot be avoided: see the next line.";
    let away = |row: &Row| -> Row {
        row.iter().zip(&frontier[2]).map(|(e, t)| Some(((*e)? - (*t)?).abs())).collect()
    };
    let claims = vec![
        lower((names[1], &rows[0][1]), (names[0], &rows[0][0]))
            .what(
                "trained on the baseline's crawl, the apprentice loses less than it (first 10 % of the web)",
            )
            .figure("less on all topics"),
        lower((names[1], &rows[1][1]), (names[0], &rows[1][0]))
            .what("the same for the first 20 %")
            .figure("less on all topics"),
        at_least("the loss is cut by 30 % or more (10 % of the web)", &cut(0, 1), 0.3)
            .figure("30–60 % typically, 90 % at best")
            .why(closed),
        at_least(
            "of the loss that can be avoided, 30 % or more is cut (10 % of the web)",
            &avoidable(0, 1),
            0.3,
        )
        .figure("the open Web: all loss can be avoided")
        .why("Least possible loss: the pages that the critic likes best, first."),
        lower(("after", &after[1]), ("the baseline's", &after[2]))
            .what("trained mid-crawl, it loses less from then on than the baseline does")
            .figure("the rate falls from over 30 to 6 %"),
        lower((names[2], &rows[1][2]), (names[0], &rows[1][0]))
            .what("trained from page 100 on, it loses less than the baseline (20 % of the web)")
            .figure("\"easy to train online\""),
        better(("the baseline's estimate", &frontier[0]), ("what the frontier is worth", &frontier[2]))
            .what("the baseline is too optimistic about its frontier")
            .figure("overly optimistic (one topic)"),
        lower(("the apprentice's error", &away(&frontier[1])), ("the baseline's", &away(&frontier[0])))
            .what("the apprentice's estimate of the frontier is nearer to the truth")
            .figure("\"appears more accurate\""),
    ];
    let named = [names[0], names[1], names[2], "least possible"];
    let tables = vec![
        Table::of(
            lab,
            "Mean loss (1 − relevance by the critic) over the first 10 % of the web.",
            &named,
            &rows[0],
        ),
        Table::of(lab, "Over the first 20 %.", &named, &rows[1]),
        Table::of(lab, "Loss cut, as a share of the baseline's.", &["10 %", "20 %"], &[cut(0, 1), cut(1, 1)]),
        Table::of(
            lab,
            "Loss cut, as a share of what can be avoided.",
            &["10 %", "20 %"],
            &[avoidable(0, 1), avoidable(1, 1)],
        ),
        Table::of(
            lab,
            "Trained mid-crawl (at 10 % of the web): loss before, after, and the baseline's in the same pages.",
            &["before", "after", "baseline"],
            &after,
        ),
        Table::of(
            lab,
            "Mean expected relevance of the links that wait at 10 % of the web, and what they are worth.",
            &WHO,
            &frontier,
        ),
        Table::of(
            lab,
            "Shares of these links by relevance.",
            &WHO.iter().flat_map(|w| FIFTHS.map(|f| format!("{f} {w}"))).collect::<Vec<_>>(),
            &fifths,
        ),
    ];
    Ok(Finding::of(
        claims,
        tables,
        "As §3.5: a critic trained on pages outside the crawl (naive Bayes, a class per label), crawls begin at examples of the topic (thirty, drawn; pages that count as fetched, as theirs do), the baseline crawls by the critic, the apprentice learns from all links between the baseline's pages and crawls again from the same pages. One apprentice per draw. Chakrabarti et al. fetch 15,000–25,000 pages of the open Web; here 10 and 20 % of a web of some thousand. Topics of which any order loses more than half in the first tenth are left out: too narrow for this claim.",
    ))
}

/// Who says what a link is worth.
const WHO: [&str; 3] = ["by the baseline", "by the apprentice", "by the critic, when read"];
const FIFTHS: [&str; 5] = ["0 to 0.2", "0.2 to 0.4", "0.4 to 0.6", "0.6 to 0.8", "0.8 to 1"];

/// What the links that wait are worth, as each of [`WHO`] has it: the mean, and shares by fifths.
struct Outlook {
    mean: [f64; 3],
    fifths: [[f64; 5]; 3],
}

impl Outlook {
    /// `None` without links.
    fn of(links: &[[f64; 3]]) -> Option<Outlook> {
        let n = links.len() as f64;
        let mut out = Outlook { mean: [0.0; 3], fifths: [[0.0; 5]; 3] };
        for link in links {
            for (who, value) in link.iter().enumerate() {
                out.mean[who] += value / n;
                out.fifths[who][((value * 5.0) as usize).min(4)] += 1.0 / n;
            }
        }
        (!links.is_empty()).then_some(out)
    }
}

/// Links that wait when a baseline crawl has fetched a tenth of the web: mean relevance as the baseline
/// expects it, as an apprentice trained on those pages does, and as the critic finds it.
fn outlook(lab: &Lab, bench: &Bench, run: &Run) -> Result<Option<Outlook>, Problem> {
    let site = bench.site;
    let settings = format!("{}{APPRENTICE}mode = 'offline'\n", bench.critic);
    let topic = Variant::new("apprentice", &settings).config(site)?.topic()?;
    let mut made = TopicParts::new(&topic, &Canon::exact(), &|url| Ok(site.web.answer(url)), 0, 0)?;
    let order = run.order.get(..bench.pages[0]).unwrap_or(&run.order);
    let pages = recorded(order);
    let analyst = made.analyst.clone();
    let read = |url: &Url| analyst.read(&site.web.answer(url)).map(|d| d.0);
    crawl::train::teach(made.strategy.as_mut(), &pages, &mut |p| Ok(read(&p.url)))?;
    let fetched: HashSet<&Url> = pages.iter().map(|p| &p.url).collect();
    // Of several links to a page the best counts, as in the frontier.
    let mut waiting: HashMap<Url, (f64, f64)> = HashMap::new();
    for (i, page) in pages.iter().enumerate() {
        let Some(doc) = read(&page.url) else { continue };
        let scores = made.strategy.score(&shown(i, page, &doc));
        for (link, scored) in doc.page.links.iter().zip(scores) {
            let Some(scored) = scored.filter(|_| !fetched.contains(&link.url)) else { continue };
            let Some(z) = odds(made.strategy.as_mut(), scored.evidence) else { continue };
            let best = waiting.entry(link.url.clone()).or_insert((0.0, 0.0));
            *best = (best.0.max(page.verdict.relevance), best.1.max(learn::sigmoid(z)));
        }
    }
    let mut urls: Vec<Url> = waiting.keys().cloned().collect();
    urls.sort();
    let worth = lab.assess(site, &Variant::new("critic", &bench.critic), &urls, 0)?;
    let known = urls.iter().zip(worth).filter_map(|(url, a)| {
        let (base, apprentice) = waiting.get(url)?;
        Some([*base, *apprentice, a?.score])
    });
    Ok(Outlook::of(&known.collect::<Vec<_>>()))
}

pub(super) const RECALL: Experiment = Experiment {
    name: "recall-mode",
    claim: "kept to the baseline's pages, the apprentice fetches the same pages, the good ones earlier; free, it shares 3–17 % of the URLs with the baseline",
    source: "Chakrabarti et al. 2002, §3.6, Fig. 11, 12",
    turn: 1,
    run: recall,
};

/// The pages of a crawl and every link on them that ends at one of them, redirects followed: what a crawl
/// that is kept to these pages may ask for.
fn pages_and_ways(lab: &Lab, site: &Site, order: &[Line]) -> Result<Vec<String>, Problem> {
    let canon = Canon::exact();
    let pages: HashSet<Url> = order.iter().filter_map(|l| canon.parse(&l.url).ok()).collect();
    let analyst = lab.analyst(site, &site.config)?;
    let mut list: Vec<&Url> = pages.iter().collect();
    list.sort();
    let found = lab.each(&list, |url| {
        let links = analyst.read(&site.web.answer(url)).map(|(doc, _)| doc);
        let links = links.iter().flat_map(|doc| doc.page.links.iter().map(|l| l.url.clone()));
        let leads = |link: &Url| {
            !pages.contains(link) && site.web.resolve(link).is_some_and(|end| pages.contains(&end))
        };
        links.filter(leads).collect::<Vec<Url>>()
    });
    let mut ways: Vec<String> = list.iter().map(|u| u.to_string()).collect();
    ways.extend(found.into_iter().flatten().map(|u| u.to_string()));
    ways.sort();
    ways.dedup();
    Ok(ways)
}

fn recall(lab: &Lab) -> Result<Finding, Problem> {
    let lab = &lab.broad();
    let names = ["baseline", "recall mode", "apprentice, free"];
    let mut rows: [Vec<Row>; 2] = std::array::from_fn(|_| vec![Vec::new(); names.len()]);
    let (mut overlap, mut same): (Row, Row) = (Vec::new(), Vec::new());
    for site in &lab.sites {
        let Some(bench) = Bench::of(lab, site)? else {
            rows.iter_mut().flatten().for_each(|r| r.push(None));
            overlap.push(None);
            same.push(None);
            continue;
        };
        let baseline = bench.baselines(lab)?;
        let free = bench.offline(lab, &baseline)?;
        let recalled = bench.trained(lab, &baseline, &|run, model| {
            let ways = pages_and_ways(lab, site, &run.order)?;
            let urls = toml::Value::Array(ways.into_iter().map(toml::Value::String).collect());
            // One batch without end: it goes by what it was taught, and learns nothing more.
            let mode =
                format!("{APPRENTICE}mode = 'recall'\nbatch = 1000000000\nmodel = {model}\nurls = {urls}\n");
            Ok(Variant { pages: None, ..bench.variant(names[1], &mode) })
        })?;
        // A quarter and half of the baseline's pages: in the end both have fetched the same.
        for (at, part) in [4, 2].into_iter().enumerate() {
            let n = bench.pages[1] / part;
            for (row, runs) in rows[at].iter_mut().zip([&baseline, &recalled, &free]) {
                row.push(over_draws(runs, |r| loss(&r.order, 0, n)));
            }
        }
        overlap.push(mean_of(&baseline, &free, |a, b| metrics::overlap(a, b)));
        same.push(mean_of(&baseline, &recalled, share_of));
    }
    let claims = vec![
        at_least("in the end recall mode has fetched all pages of the baseline", &same, 0.999)
            .figure("exactly the same set"),
        lower((names[1], &rows[0][1]), (names[0], &rows[0][0]))
            .what("it fetches the good ones earlier: less loss after a quarter of the pages")
            .figure("between baseline and apprentice"),
        lower((names[1], &rows[1][1]), (names[0], &rows[1][0]))
            .what("less loss after half of the pages")
            .figure("between baseline and apprentice"),
        lower((names[2], &rows[1][2]), (names[1], &rows[1][1]))
            .what("the free apprentice loses less than recall mode (half of the pages)")
            .figure("generally less")
            .why("Recall mode need not generalise: it goes among pages it was trained on. Perhaps a closed web has too little outside them."),
        at_most("the free apprentice shares 17 % of the URLs or less with the baseline", &overlap, 0.17)
            .figure("3, 4, 9, 17 %")
            .why("Both draw from one web of some thousand pages, of which each fetches a fifth, and from the same relevant ones."),
        Claim::not_tested(
            "the loss of crawls with topic or cocitation features",
            "Chakrabarti et al. measured accuracy, not crawls: `offsets` has it.",
        ),
    ];
    let tables = vec![
        Table::of(lab, "Mean loss over the first quarter of the baseline's pages.", &names, &rows[0]),
        Table::of(lab, "Over the first half.", &names, &rows[1]),
        Table::of(
            lab,
            "URLs of either crawl that both fetched.",
            &["baseline and free apprentice"],
            &[overlap],
        ),
        Table::of(lab, "Share of the baseline's pages that recall mode fetched.", &["recall mode"], &[same]),
    ];
    Ok(Finding::of(
        claims,
        tables,
        "As §3.6: the apprentice is the one trained on the baseline's crawl (20 % of the web), kept to the baseline's pages or free; it learns nothing while it crawls. Topics of which any order loses more than half in a tenth of the web are left out.",
    ))
}

fn mean_of(a: &[Run], b: &[Run], f: impl Fn(&[&str], &[&str]) -> Option<f64>) -> Option<f64> {
    let urls = |r: &Run| -> Vec<String> { r.order.iter().map(|l| l.url.clone()).collect() };
    let values: Vec<f64> = a
        .iter()
        .zip(b)
        .filter_map(|(a, b)| {
            let (a, b) = (urls(a), urls(b));
            let (a, b): (Vec<&str>, Vec<&str>) =
                (a.iter().map(String::as_str).collect(), b.iter().map(String::as_str).collect());
            f(&a, &b)
        })
        .collect();
    (!values.is_empty()).then(|| crate::stats::mean(&values))
}

/// Share of `a` that is in `b`.
fn share_of(a: &[&str], b: &[&str]) -> Option<f64> {
    let b: HashSet<&&str> = b.iter().collect();
    (!a.is_empty()).then(|| a.iter().filter(|x| b.contains(x)).count() as f64 / a.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::lab::testing::lines;

    #[test]
    fn loss_by_hand() {
        let order = lines("+-+-", &[1.0, 0.2, 0.6, 0.0]);
        assert!((loss(&order, 0, 2).unwrap() - 0.4).abs() < 1e-12);
        assert!((loss(&order, 2, 9).unwrap() - 0.7).abs() < 1e-12, "to the end");
        assert_eq!(loss(&order, 9, 12), None);
        // The best two of three: (0 + 0.5) / 2.
        assert_eq!(least_loss(&[1.0, 0.5, 0.0], 2), Some(0.25));
        assert_eq!((least_loss(&[1.0], 9), least_loss(&[], 2)), (Some(0.0), None));
        let o = Outlook::of(&[[1.0, 0.1, 0.5], [0.5, 0.3, 0.0]]).unwrap();
        assert_eq!(o.mean, [0.75, 0.2, 0.25]);
        assert_eq!(o.fifths[0], [0.0, 0.0, 0.5, 0.0, 0.5]);
        assert_eq!(o.fifths[1], [0.5, 0.5, 0.0, 0.0, 0.0]);
        assert!(Outlook::of(&[]).is_none());
        assert_eq!(share_of(&["a", "b", "c", "d"], &["b", "a", "x"]), Some(0.5));
        assert_eq!(share_of(&[], &["x"]), None);
    }
}
