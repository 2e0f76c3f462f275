//! Where experiments are run: topics on webs, with labels; and crawls with settings that differ in what is
//! looked into.

use super::crawled::{self, Folder, Run, Shelf};
use crate::graph::Graph;
use crate::labels::{Class, Labels, Rules};
use crate::metrics;
use crate::tournament::{self, Plan};
use crate::webs::Recorded;
use crawl::config::Config;
use crawl::{Analyst, collection::TopicParts};
use focus::text::Doc;
use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use types::{Assessment, Canon, Problem, Url};

/// One topic on one web.
#[derive(Clone)]
pub struct Site {
    /// Name of the topic, as tables show it.
    pub name: String,
    /// What is crawled.
    pub web: Arc<dyn Recorded>,
    /// The topic file, resolved.
    pub config: Config,
    /// Which pages are relevant.
    pub labels: Arc<Labels>,
    /// Which labels count as relevant.
    pub rules: Rules,
    /// A genre and a subject, few pages: the kind of topic that Assis and Siqueira et al. crawl for.
    pub narrow: bool,
    /// Where every crawl may begin; draws of `rngs` choose among them.
    pub seeds: Vec<Url>,
}

impl Site {
    /// How a page counts; a seed counts neither way.
    pub fn class(&self, url: &Url) -> Class {
        if self.seeds.contains(url) { Class::Neutral } else { self.rules.class(self.labels.of(url)) }
    }

    /// Its genre and content terms, in the order of the topic file.
    pub fn terms(&self) -> Result<(Vec<String>, Vec<String>), Problem> {
        let topic = self.config.topic()?;
        let list = |set: &focus::topic::TermList| set.for_language(None, &topic.text.options);
        Ok((list(&topic.genre), list(&topic.content)))
    }
}

/// What is told while it runs.
pub type Progress<'a> = &'a (dyn Fn(&str) + Sync);

/// The sites, draws and threads that all crawls of an experiment share.
#[derive(Clone)]
pub struct Lab<'a> {
    /// Topics in the order of the tables.
    pub sites: Vec<Site>,
    /// Draws of the seeds; `None` takes all seeds.
    pub rngs: Vec<Option<u64>>,
    /// Crawls that run at once.
    pub threads: NonZeroUsize,
    /// A folder for model and idf files.
    pub scratch: PathBuf,
    /// Crawls that have ended.
    pub crawls: Folder,
    /// Link graphs of the webs.
    pub graphs: Graphs,
    /// Called with a line for people before each step.
    pub progress: Progress<'a>,
}

/// The link graph of each web, by its state: made once, from all its pages.
#[derive(Clone, Default)]
pub struct Graphs(Arc<Mutex<HashMap<u64, Arc<Graph>>>>);

impl Graphs {
    fn of(&self, site: &Site, threads: NonZeroUsize) -> Arc<Graph> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let make = || {
            let pages: Vec<Url> = (0..site.web.pages()).filter_map(|n| site.web.page(n)).collect();
            let from: Vec<Url> = site.seeds.iter().cloned().chain(pages).collect();
            Arc::new(Plan { threads, ..Plan::on(site.web.as_ref()) }.graph_from(&from))
        };
        all.entry(site.web.identity().state).or_insert_with(make).clone()
    }
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
    /// Share of the web's pages fetched; 1 = all that can be reached.
    pub budget: f64,
    /// Or so many pages.
    pub pages: Option<u64>,
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
            pages: None,
        }
    }
    /// A strategy with its defaults.
    pub fn strategy(name: &str) -> Variant {
        Variant::new(name, &format!("[strategy]\nkind = '{name}'"))
    }
    /// The same, ending after so many pages.
    pub fn pages(self, pages: u64) -> Variant {
        Variant { pages: Some(pages), ..self }
    }
    /// The same with another share of the web's pages.
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

/// A page that counts, and its score.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Judged {
    pub relevant: bool,
    pub score: f64,
}

impl<'a> Lab<'a> {
    /// The same with some of the sites.
    pub fn only(&self, keep: impl Fn(&Site) -> bool) -> Lab<'a> {
        let sites = self.sites.iter().filter(|s| keep(s)).cloned().collect();
        Lab { sites, ..self.clone() }
    }

    /// The narrow topics; all when the suite marks none.
    pub fn narrow(&self) -> Lab<'a> {
        if self.sites.iter().any(|s| s.narrow) { self.only(|s| s.narrow) } else { self.clone() }
    }

    /// The topics that are not narrow, as Chakrabarti et al. have them; all when there are none.
    pub fn broad(&self) -> Lab<'a> {
        if self.sites.iter().any(|s| !s.narrow) { self.only(|s| !s.narrow) } else { self.clone() }
    }

    /// At most so many topics, spread over the list.
    pub fn at_most(&self, n: usize) -> Lab<'a> {
        let all = self.sites.len();
        if all <= n {
            return self.clone();
        }
        let sites = (0..n).map(|i| self.sites[i * all / n].clone()).collect();
        Lab { sites, ..self.clone() }
    }

    /// Crawls begin at all seeds, once: for what does not depend on where they begin.
    pub fn whole(&self) -> Lab<'a> {
        Lab { rngs: vec![None], ..self.clone() }
    }

    /// The numbers that draws are made with; draws of examples and of search results use them, too.
    pub fn draws(&self) -> Vec<u64> {
        self.rngs.iter().map(|r| r.unwrap_or(0)).collect()
    }

    /// Everything a result depends on: the program, the draws, and of each site the web, the topic, labels
    /// and seeds.
    pub fn settings(&self) -> Result<serde_json::Value, Problem> {
        let hash = |text: &str| format!("{:016x}", xxhash_rust::xxh3::xxh3_64(text.as_bytes()));
        let one = |s: &Site| {
            let topic = toml::to_string(&s.config).map_err(|e| Problem::new("topic").because(e))?;
            let labels: Vec<(String, &str)> = s.labels.iter().map(|(u, l)| (u.to_string(), l)).collect();
            Ok(serde_json::json!({
                "name": s.name,
                "narrow": s.narrow,
                "web": format!("{:016x}", s.web.identity().state),
                "topic": hash(&topic),
                "labels": hash(&format!("{labels:?} {:?}", s.rules)),
                "seeds": hash(&format!("{:?}", s.seeds)),
            }))
        };
        let sites = self.sites.iter().map(one).collect::<Result<Vec<_>, Problem>>()?;
        Ok(serde_json::json!({
            "version": env!("CARGO_PKG_VERSION"),
            "draws": self.rngs,
            "sites": sites,
        }))
    }

    /// Runs of each variant on each site: `[site][variant]`, one per draw of the seeds.
    pub fn crawl(&self, variants: &[Variant]) -> Result<Vec<Vec<Vec<Run>>>, Problem> {
        let mut out = Vec::with_capacity(self.sites.len());
        for site in &self.sites {
            out.push(self.crawl_site(site, variants)?);
        }
        Ok(out)
    }

    /// Runs of each variant on one site: `[variant]`, one per draw of the seeds. What was crawled before is
    /// not crawled again.
    pub fn crawl_site(&self, site: &Site, variants: &[Variant]) -> Result<Vec<Vec<Run>>, Problem> {
        let shelf = |v: &Variant| Shelf::of(self, site, v, self.pages(site, v));
        let shelves = variants.iter().map(shelf).collect::<Result<Vec<Shelf>, Problem>>()?;
        let find = |s: &Shelf| self.rngs.iter().map(|rng| s.find(*rng)).collect::<Vec<Option<Run>>>();
        let mut out: Vec<Vec<Option<Run>>> = shelves.iter().map(find).collect();
        let mut todo: Vec<(usize, usize)> = (0..variants.len())
            .flat_map(|v| (0..self.rngs.len()).map(move |r| (v, r)))
            .filter(|(v, r)| out[*v][*r].is_none())
            .collect();
        while let Some(&(first, _)) = todo.first() {
            // Those that share the settings of the loop run together, on all cores.
            let key = |v: &Variant| (v.concurrency, v.delay, v.budget.to_bits(), v.pages);
            let alike = |(v, _): &(usize, usize)| key(&variants[*v]) == key(&variants[first]);
            let (now, later): (Vec<_>, Vec<_>) = todo.into_iter().partition(alike);
            todo = later;
            for ((v, r), run) in self.crawl_alike(site, variants, &shelves, &now)? {
                out[v][r] = Some(run);
            }
        }
        Ok(out.into_iter().map(|runs| runs.into_iter().flatten().collect()).collect())
    }

    /// The crawls of these (variant, draw), which share the settings of the loop; each is kept as soon as it
    /// ends.
    fn crawl_alike(
        &self,
        site: &Site,
        variants: &[Variant],
        shelves: &[Shelf],
        which: &[(usize, usize)],
    ) -> Result<Vec<((usize, usize), Run)>, Problem> {
        let Some(&(first, _)) = which.first() else { return Ok(Vec::new()) };
        let graph = self.graphs.of(site, self.threads);
        let plan = Plan { graph: Some(&graph), best_order: false, ..self.plan(site, &variants[first]) };
        let jobs = which
            .iter()
            .map(|(v, r)| Ok((site.name.clone(), variants[*v].config(site)?, *r)))
            .collect::<Result<Vec<_>, Problem>>()?;
        let done = |n: usize, i: usize, run: tournament::Run| {
            let (v, r) = which[i];
            let run = Run::from(run);
            shelves[v].keep(self.rngs[r], &run);
            (self.progress)(&format!("{}: {n} of {} crawls ({})", site.name, which.len(), variants[v].name));
            ((v, r), run)
        };
        plan.run_jobs(&jobs, &done)
    }

    /// After how many pages a crawl ends.
    fn pages(&self, site: &Site, variant: &Variant) -> Option<u64> {
        // A share of what is reachable is not known before the graph is built: of all pages is near enough.
        let share = || ((site.web.pages() as f64 * variant.budget) as u64).max(50);
        variant.pages.or_else(|| (variant.budget < 1.0).then(share))
    }

    fn plan<'b>(&self, site: &'b Site, variant: &Variant) -> Plan<'b> {
        Plan {
            labels: Some(&site.labels),
            label_rules: site.rules.clone(),
            seeds: site.seeds.clone(),
            rngs: self.rngs.clone(),
            pages: self.pages(site, variant),
            concurrency: variant.concurrency,
            delay: variant.delay,
            threads: self.threads,
            ..Plan::on(site.web.as_ref())
        }
    }

    /// Crawls from seeds of their own: `[variant]`, one run per list of seeds.
    pub fn crawl_from(
        &self,
        site: &Site,
        variants: &[Variant],
        seeds: &[Vec<Url>],
    ) -> Result<Vec<Vec<Run>>, Problem> {
        let mut out: Vec<Vec<Run>> = variants.iter().map(|_| Vec::new()).collect();
        let seeds: Vec<&Vec<Url>> = seeds.iter().filter(|s| !s.is_empty()).collect();
        // Threads take variants, or lists of seeds where there are too few variants.
        let many = variants.len() >= self.threads.get();
        let apart = if many { self.threads } else { NonZeroUsize::MIN };
        let one = |seeds: &&Vec<Url>| {
            let there = Site { seeds: seeds.to_vec(), ..site.clone() };
            Lab { threads: apart, ..self.whole() }.crawl_site(&there, variants)
        };
        let all = if many { seeds.iter().map(one).collect() } else { self.each(&seeds, one) };
        for runs in all {
            for (list, runs) in out.iter_mut().zip(runs?) {
                list.extend(runs);
            }
        }
        Ok(out)
    }

    /// Every page that all seeds together reach with these settings, in the order of a breadth-first crawl.
    pub fn reached(&self, site: &Site, settings: &str) -> Result<Vec<Url>, Problem> {
        crawled::reached_once(self, site, settings, || {
            let plain = "[judge]\nkind = 'query'\nquery = 'a'\n[strategy]\nkind = 'breadth-first'";
            let v = Variant::new("breadth-first", &format!("{settings}\n{plain}"));
            let runs = self.whole().crawl_site(site, &[v])?;
            let order = runs.into_iter().flatten().next().map(|r| r.order).unwrap_or_default();
            Ok(order.iter().filter_map(|l| Canon::exact().parse(&l.url).ok()).collect())
        })
    }

    /// What a judge measures on each of the pages; `None` for what cannot be read.
    pub fn assess(
        &self,
        site: &Site,
        variant: &Variant,
        pages: &[Url],
        rng: u64,
    ) -> Result<Vec<Option<Assessment>>, Problem> {
        let mut config = variant.config(site)?;
        // Reading needs no strategy, and some need what is not there.
        config.strategy = focus::topic::StrategySection {
            kind: Some("breadth-first".into()),
            ..focus::topic::StrategySection::default()
        };
        let topic = config.topic()?;
        let answer = |url: &Url| Ok(site.web.answer(url));
        let made = TopicParts::new(&topic, &Canon::exact(), &answer, site.seeds.len(), rng)?;
        (self.progress)(&format!("{}: {} pages ({})", site.name, pages.len(), variant.name));
        Ok(self.each(pages, |url| {
            made.analyst.read(&site.web.answer(url)).map(|(doc, _)| made.analyst.assess_alone(&doc))
        }))
    }

    /// On all threads, in the order of the items.
    pub fn each<T: Sync, R: Send>(&self, items: &[T], f: impl Fn(&T) -> R + Sync) -> Vec<R> {
        let size = items.len().div_ceil(self.threads.get()).max(1);
        std::thread::scope(|scope| {
            let threads: Vec<_> = items
                .chunks(size)
                .map(|part| scope.spawn(|| part.iter().map(&f).collect::<Vec<R>>()))
                .collect();
            threads.into_iter().flat_map(|t| t.join().unwrap_or_default()).collect()
        })
    }

    /// Reads pages of a site with the site's own judge.
    pub fn analyst(&self, site: &Site, config: &Config) -> Result<Analyst, Problem> {
        let topic = config.topic()?;
        Ok(TopicParts::new(&topic, &Canon::exact(), &|url| Ok(site.web.answer(url)), site.seeds.len(), 0)?
            .analyst)
    }

    pub(crate) fn doc(&self, site: &Site, analyst: &Analyst, url: &str) -> Option<Doc> {
        let url = Canon::exact().parse(url).ok()?;
        analyst.analyse(&site.web.answer(&url)).map(|a| a.doc)
    }
}

/// The best F1 of any threshold, and the threshold.
pub fn best_f1(pages: &[Judged]) -> Option<(f64, f64)> {
    let class = |p: &Judged| if p.relevant { Class::Relevant } else { Class::Irrelevant };
    let steps: Vec<metrics::Step> =
        pages.iter().map(|p| metrics::Step { class: class(p), judged: false, score: p.score }).collect();
    let best = metrics::best_threshold(&metrics::sweep(&steps))?;
    Some((best.decision.f1?, best.threshold))
}

/// F1 of "score ≥ t".
pub fn f1_at(pages: &[Judged], t: f64) -> Option<f64> {
    metrics::Decision::of(pages.iter().map(|p| (p.score >= t, p.relevant))).f1
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

/// Share of the reachable pages fetched until a share of the relevant ones was found; 1 if it never was.
pub fn share_until(run: &Run, percent: usize) -> Option<f64> {
    let hits: Vec<bool> = run.order.iter().map(|l| l.class == Class::Relevant).collect();
    if run.relevant_reachable == 0 || run.reachable == 0 {
        return None;
    }
    let n = metrics::search_length(&hits, run.relevant_reachable, percent).unwrap_or(run.reachable);
    Some(n as f64 / run.reachable as f64)
}

/// Area under the recall curve, for [`over_draws`].
pub fn auc(run: &Run) -> Option<f64> {
    run.auc
}

#[cfg(test)]
pub mod testing {
    use super::Class;
    use crate::tournament::Line;

    /// Pages in fetch order: `+` relevant, `-` irrelevant, `.` neither; with their scores.
    pub fn lines(classes: &str, scores: &[f64]) -> Vec<Line> {
        let class = |c: char| match c {
            '+' => Class::Relevant,
            '-' => Class::Irrelevant,
            _ => Class::Neutral,
        };
        let one = |(i, (c, score)): (usize, (char, &f64))| Line {
            url: format!("http://a.org/{i}"),
            score: *score,
            labels: String::new(),
            class: class(c),
            judged: *score >= 0.5,
        };
        classes.chars().zip(scores).enumerate().map(one).collect()
    }
}
