//! Where experiments are run: topics on webs, with labels; and crawls with settings that differ in what is
//! looked into.

use crate::labels::{Class, Labels, Rules};
use crate::metrics;
use crate::tournament::{Plan, Run};
use crate::webs::Recorded;
use crawl::config::Config;
use crawl::{Analyst, collection::Made};
use focus::text::Doc;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use types::{Canon, Problem, Url};

/// One topic on one web.
pub struct Site {
    /// Name of the topic, as tables show it.
    pub name: String,
    /// What is crawled.
    pub web: Arc<dyn Recorded>,
    /// The topic file, resolved.
    pub config: Config,
    /// Which pages are relevant.
    pub labels: Labels,
    /// Which labels count as relevant.
    pub rules: Rules,
    /// Where every crawl may begin; draws of `rngs` choose among them.
    pub seeds: Vec<Url>,
}

/// What is told while it runs.
pub type Progress<'a> = &'a (dyn Fn(&str) + Sync);

/// The sites, draws and threads that all crawls of an experiment share.
pub struct Lab<'a> {
    /// Topics in the order of the tables.
    pub sites: Vec<Site>,
    /// Draws of the seeds; `None` takes all seeds.
    pub rngs: Vec<Option<u64>>,
    /// Crawls that run at once.
    pub threads: NonZeroUsize,
    /// A folder for model and idf files.
    pub scratch: PathBuf,
    /// Called with a line for people before each step.
    pub progress: Progress<'a>,
}

/// Settings laid over a site's own.
#[derive(Clone, Debug)]
pub struct Variant {
    /// As tables show it.
    pub name: String,
    /// TOML; `[strategy]` replaces the site's, the rest is laid over it.
    pub settings: String,
    /// Parts of the strategy that are switched off: not a setting of topic files.
    pub without: Vec<String>,
    /// Requests at once on the virtual clock.
    pub concurrency: usize,
    /// Pause between two requests of one host, on the virtual clock.
    pub delay: Duration,
    /// Share of the reachable pages fetched; 1 = all.
    pub budget: f64,
}

impl Variant {
    /// One request at a time, no pause, all reachable pages.
    pub fn new(name: &str, settings: &str) -> Variant {
        Variant {
            name: name.into(),
            settings: settings.into(),
            without: Vec::new(),
            concurrency: 1,
            delay: Duration::ZERO,
            budget: 1.0,
        }
    }
    /// A strategy with its defaults.
    pub fn strategy(name: &str) -> Variant {
        Variant::new(name, &format!("[strategy]\nkind = '{name}'"))
    }
    /// The same with another share of the reachable pages.
    pub fn budget(self, budget: f64) -> Variant {
        Variant { budget, ..self }
    }

    /// The site's settings with these laid over.
    pub fn config(&self, site: &Site) -> Result<Config, Problem> {
        let bad = |e: &dyn std::fmt::Display| Problem::new(format!("experiment `{}`: {e}", self.name));
        let mut table = toml::Table::try_from(&site.config).map_err(|e| bad(&e))?;
        let over: toml::Table = toml::from_str(&self.settings).map_err(|e| bad(&e))?;
        for (section, value) in over {
            match (table.get_mut(&section), value) {
                (Some(toml::Value::Table(old)), toml::Value::Table(new)) if section != "strategy" => {
                    old.extend(new);
                }
                (_, value) => {
                    table.insert(section, value);
                }
            }
        }
        let mut config: Config = table.try_into().map_err(|e| bad(&e))?;
        config.strategy.without = self.without.clone();
        Ok(config)
    }
}

/// A page of a site, judged.
pub struct JudgedPage {
    pub url: String,
    pub class: Class,
    pub judged: bool,
    pub score: f64,
}

impl Lab<'_> {
    /// Runs of each variant on each site: `[site][variant]`, one per draw of the seeds.
    pub fn crawl(&self, variants: &[Variant]) -> Result<Vec<Vec<Vec<Run>>>, Problem> {
        let mut out = Vec::with_capacity(self.sites.len());
        for site in &self.sites {
            out.push(self.crawl_site(site, variants)?);
        }
        Ok(out)
    }

    /// Runs of each variant on one site: `[variant]`, one per draw of the seeds.
    pub fn crawl_site(&self, site: &Site, variants: &[Variant]) -> Result<Vec<Vec<Run>>, Problem> {
        let mut out: Vec<Vec<Run>> = variants.iter().map(|_| Vec::new()).collect();
        // Those that share the settings of the loop run together, on all cores.
        let mut todo: Vec<usize> = (0..variants.len()).collect();
        while let Some(&first) = todo.first() {
            let alike = |v: &Variant| {
                let w = &variants[first];
                (v.concurrency, v.delay, v.budget.to_bits()) == (w.concurrency, w.delay, w.budget.to_bits())
            };
            let (now, later): (Vec<usize>, Vec<usize>) =
                todo.iter().copied().partition(|i| alike(&variants[*i]));
            todo = later;
            let configs = now
                .iter()
                .map(|i| Ok((i.to_string(), variants[*i].config(site)?)))
                .collect::<Result<Vec<_>, Problem>>()?;
            let plan = self.plan(site, &variants[first]);
            let tell = |done: usize, of: usize, run: &Run| {
                let name = run.result.strategy.parse::<usize>().ok().and_then(|i| variants.get(i));
                (self.progress)(&format!(
                    "{}: {done} of {of} crawls ({})",
                    site.name,
                    name.map_or("", |v| &v.name)
                ));
            };
            for run in plan.run_variants(&site.name, &configs, &tell)?.runs {
                if let Some(list) = run.result.strategy.parse::<usize>().ok().and_then(|i| out.get_mut(i)) {
                    list.push(run);
                }
            }
        }
        Ok(out)
    }

    fn plan<'a>(&self, site: &'a Site, variant: &Variant) -> Plan<'a> {
        // A share of what is reachable is not known before the graph is built: of all pages is near enough.
        let pages =
            (variant.budget < 1.0).then(|| ((site.web.pages() as f64 * variant.budget) as u64).max(50));
        Plan {
            labels: Some(&site.labels),
            label_rules: site.rules.clone(),
            seeds: site.seeds.clone(),
            rngs: self.rngs.clone(),
            pages,
            concurrency: variant.concurrency,
            delay: variant.delay,
            threads: self.threads,
            ..Plan::on(site.web.as_ref())
        }
    }

    /// Every page the seeds reach, judged with these settings; breadth-first, since the order does not
    /// matter. One draw.
    pub fn judged(&self, site: &Site, settings: &[Variant]) -> Result<Vec<Vec<JudgedPage>>, Problem> {
        let variants: Vec<Variant> = settings
            .iter()
            .map(|v| Variant {
                settings: format!("{}\n[strategy]\nkind = 'breadth-first'\n", v.settings),
                ..v.clone()
            })
            .collect();
        let runs = self.crawl_site(site, &variants)?;
        let pages = |runs: Vec<Run>| {
            let first = runs.into_iter().next();
            first.map_or_else(Vec::new, |r| {
                r.order
                    .into_iter()
                    .map(|l| JudgedPage { url: l.url, class: l.class, judged: l.judged, score: l.score })
                    .collect()
            })
        };
        Ok(runs.into_iter().map(pages).collect())
    }

    /// Reads pages of a site with the site's own judge.
    pub fn analyst(&self, site: &Site, config: &Config) -> Result<Analyst, Problem> {
        let topic = config.topic()?;
        Ok(Made::new(&topic, &Canon::exact(), &|url| Ok(site.web.answer(url)), site.seeds.len(), 0)?.analyst)
    }

    pub(crate) fn doc(&self, site: &Site, analyst: &Analyst, url: &str) -> Option<Doc> {
        let url = Canon::exact().parse(url).ok()?;
        analyst.analyse(&site.web.answer(&url)).map(|a| a.doc)
    }
}

/// The best F1 of any threshold.
pub fn best_f1(pages: &[JudgedPage]) -> Option<f64> {
    let points = metrics::sweep(&steps(pages));
    metrics::best_threshold(&points).and_then(|p| p.decision.f1)
}

/// The threshold with the best F1.
pub fn best_threshold(pages: &[JudgedPage]) -> Option<f64> {
    metrics::best_threshold(&metrics::sweep(&steps(pages))).map(|p| p.threshold)
}

/// F1 of "score ≥ t".
pub fn f1_at(pages: &[JudgedPage], t: f64) -> Option<f64> {
    let pairs = pages.iter().filter_map(|p| match p.class {
        Class::Relevant => Some((p.score >= t, true)),
        Class::Irrelevant => Some((p.score >= t, false)),
        Class::Neutral => None,
    });
    metrics::Decision::of(pairs).f1
}

pub fn steps(pages: &[JudgedPage]) -> Vec<metrics::Step> {
    pages.iter().map(|p| metrics::Step { class: p.class, judged: p.judged, score: p.score }).collect()
}

/// A number of a run, as the mean over the draws; `None` if no draw has one.
pub fn over_draws(runs: &[Run], value: impl Fn(&Run) -> Option<f64>) -> Option<f64> {
    let known: Vec<f64> = runs.iter().filter_map(value).collect();
    (!known.is_empty()).then(|| crate::stats::mean(&known))
}

/// `[variant][site]` of a number of the runs.
pub fn by_variant(runs: &[Vec<Vec<Run>>], value: impl Fn(&Run) -> Option<f64>) -> Vec<Vec<Option<f64>>> {
    let variants = runs.first().map_or(0, Vec::len);
    (0..variants)
        .map(|v| runs.iter().map(|site| site.get(v).and_then(|r| over_draws(r, &value))).collect())
        .collect()
}

/// Recall after a share of the reachable pages.
pub fn recall_at(run: &Run, share: f64) -> Option<f64> {
    let r = &run.result;
    if r.relevant_reachable == 0 {
        return None;
    }
    let n = (r.reachable as f64 * share).round() as usize;
    let found = run.order.iter().take(n).filter(|l| l.class == Class::Relevant).count();
    Some(found as f64 / r.relevant_reachable as f64)
}

/// Share of the reachable pages fetched until a share of the relevant ones was found; 1 if it never was.
pub fn share_until(run: &Run, percent: usize) -> Option<f64> {
    let hits: Vec<bool> = run.order.iter().map(|l| l.class == Class::Relevant).collect();
    let r = &run.result;
    if r.relevant_reachable == 0 || r.reachable == 0 {
        return None;
    }
    let n = metrics::search_length(&hits, r.relevant_reachable, percent).unwrap_or(r.reachable);
    Some(n as f64 / r.reachable as f64)
}

/// Area under the recall curve, for [`over_draws`].
pub fn auc(run: &Run) -> Option<f64> {
    run.result.auc
}
