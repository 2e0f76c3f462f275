//! Runs strategies on a recorded web, through the same loop as a live crawl, and measures what they find.

use crate::graph::{Graph, Reach};
use crate::labels::{Class, Labels, Rules as LabelRules, Seeds};
use crate::metrics::{self, Step, SweepPoint, Truth};
use crate::oracle::oracle;
use crate::results::{self, RunTiming};
use crate::teach::{self, FetchedPage, Teach, Teacher};
use crate::watch::Watch;
use crate::webs::Recorded;
use crawl::collection::TopicParts;
use crawl::config::{Config, ScopeSection};
use crawl::scope::Scope;
use crawl::{Crawl, Event, Parts, Rules, replay};
use focus::strategies::{Model, Reason, Rescore, Scored, Strategy, Visit, Wants};
use frontier::Limits;
use std::borrow::Cow;
use std::collections::HashMap;
use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};
use store::Ledger;
use types::{Canon, Priority, Problem, Source, Url, UrlId};

/// What to run.
pub struct Plan<'a> {
    /// What is crawled.
    pub web: &'a dyn Recorded,
    /// Topics by name.
    pub topics: Vec<(String, Config)>,
    /// Names of the strategies to compare.
    pub strategies: Vec<String>,
    /// Who is relevant; without labels the judge that guides also measures.
    pub labels: Option<&'a Labels>,
    /// Which labels count as relevant.
    pub label_rules: LabelRules,
    /// Where crawls may begin; draws of `rngs` choose among them.
    pub seeds: Vec<Url>,
    /// `None` = all seeds, in the order given.
    pub rngs: Vec<Option<u64>>,
    /// Pages per run; see [`Plan::limit`].
    pub pages: Option<u64>,
    /// Share of the verdicts that are turned round at random, 0–1.
    pub judge_noise: f64,
    /// Requests at once on the virtual clock.
    pub concurrency: usize,
    /// Pause between two requests of one host, on the virtual clock.
    pub delay: Duration,
    /// Most pages of one host.
    pub per_host: Option<u64>,
    /// Crawls that run at once.
    pub threads: NonZeroUsize,
    /// Most pages taken into the link graph.
    pub max_pages: usize,
    /// The web's link graph, where it is known; else it is made from all seeds.
    pub graph: Option<&'a Graph>,
    /// Looks for the best order there is: takes as long as a few crawls.
    pub best_order: bool,
    /// Keep every crawl's ledger in a folder below this one while it runs, as a live crawl does.
    pub on_disk: Option<PathBuf>,
    /// A model file and the strategy that starts from it.
    pub strategy_model: Option<(String, String)>,
    /// Crawls with labels beside those without.
    pub teach: Option<Teach>,
    /// A strategy or a judge of one's own, in place of those of the topic.
    pub own: Option<&'a (dyn Fn(TopicParts) -> TopicParts + Sync)>,
}

impl<'a> Plan<'a> {
    /// A plan without topics, strategies and seeds: one request at a time, everything that can be reached.
    pub fn on(web: &'a dyn Recorded) -> Plan<'a> {
        Plan {
            web,
            topics: Vec::new(),
            strategies: Vec::new(),
            labels: None,
            label_rules: LabelRules::new("1,relevant,yes", ""),
            seeds: Vec::new(),
            rngs: vec![None],
            pages: None,
            judge_noise: 0.0,
            concurrency: 1,
            delay: Duration::ZERO,
            per_host: None,
            threads: NonZeroUsize::MIN,
            max_pages: 2_000_000,
            graph: None,
            best_order: true,
            on_disk: None,
            strategy_model: None,
            teach: None,
            own: None,
        }
    }
}

/// One run, measured.
pub struct Run {
    /// What goes into `results.json`.
    pub result: results::Run,
    /// `(pages, share of relevant ones among the last)`.
    pub harvest_rate: Vec<(usize, f64)>,
    /// Mean loss against the judge as a critic, after so many pages (Chakrabarti et al. 2002).
    pub loss: Vec<(usize, f64)>,
    /// The judge's decisions at every threshold.
    pub sweep: Vec<SweepPoint>,
    /// Pages that count, in fetch order.
    pub order: Vec<Line>,
    /// When the last page arrived, on the virtual clock.
    pub virtual_ms: u64,
    /// What goes into the timing file.
    pub timing: RunTiming,
}

/// One counted page, in fetch order.
pub struct Line {
    /// Address of the page.
    pub url: String,
    /// The judge's score when it was fetched, 0–1.
    pub score: f64,
    /// Its labels, as the label file has them.
    pub labels: String,
    /// How it counts.
    pub class: Class,
    /// What the judge says of it in the end.
    pub judged: bool,
}

/// A page as the crawl told of it.
struct Fetch {
    id: UrlId,
    url: String,
    score: f64,
    at: u64,
    simhash: u64,
}

/// One crawl to measure.
struct Job {
    topic: String,
    strategy: String,
    config: Config,
    /// Which of the draws of the seeds.
    rng: usize,
    /// How many labels the user gives meanwhile.
    labels: usize,
}

/// Everything a tournament found out.
pub struct Outcome {
    /// In the order topic, strategy, rng.
    pub runs: Vec<Run>,
    /// Recall of the oracle for the first rng.
    pub oracle_curve: Vec<(usize, f64)>,
    /// Pages of the link graph.
    pub graph_pages: usize,
    /// Links of the link graph.
    pub graph_links: usize,
    /// The web is larger than was taken into the graph.
    pub graph_cut: bool,
}

/// Told when a run ends: how many are done, of how many, and which.
pub type Tell<'a> = &'a (dyn Fn(usize, usize, &Run) + Sync);

/// What measuring needs: the whole web as far as any seed reaches, what the labels say of it, and what each
/// draw can reach. Crawling needs none of it, so it is made beside the first runs.
struct WholeWeb<'a> {
    graph: Cow<'a, Graph>,
    /// By node. Seeds count neither way.
    classes: Vec<Class>,
    /// By draw.
    known: Vec<ReachablePart>,
}

/// The part of it that some seeds reach, and the best order there.
struct ReachablePart {
    reach: Reach,
    oracle: Option<Vec<u32>>,
}

impl WholeWeb<'_> {
    fn is_relevant(&self, node: u32) -> bool {
        self.classes.get(node as usize) == Some(&Class::Relevant)
    }
}

impl Plan<'_> {
    /// After how many pages a run ends: as many as were asked for. A web with spider traps has no end of its
    /// own: without a number, a run may fetch as many pages as the web has, and what it wastes on traps is
    /// missing elsewhere.
    pub fn limit(&self) -> Option<u64> {
        self.pages.or_else(|| self.web.is_endless().then(|| self.web.pages() as u64))
    }

    /// The topic with another strategy; its own options and model belong to the strategy it names.
    fn with_strategy(&self, config: &Config, strategy: &str) -> Config {
        let mut config = config.clone();
        if config.strategy.kind.as_deref() != Some(strategy) {
            config.strategy.kind = Some(strategy.to_string());
            config.strategy.options = toml::Table::new();
            config.strategy.model = None;
        }
        if let Some((_, file)) = self.strategy_model.as_ref().filter(|m| m.0 == strategy) {
            config.strategy.model = Some(file.clone());
        }
        config
    }

    /// The strategies that cannot be made for one of the topics (they need data that is not there), each with
    /// the reason; an error when none can.
    pub fn impossible(&self) -> Result<Vec<(String, Problem)>, Problem> {
        let mut out: Vec<(String, Problem)> = Vec::new();
        for name in &self.strategies {
            let made = self.topics.iter().try_for_each(|(_, config)| {
                let config = self.with_strategy(config, name);
                self.crawl(&config, &self.seeds, None, Arc::new(Clock::default()), None).map(|_| ())
            });
            if let Err(problem) = made {
                out.push((name.clone(), problem));
            }
        }
        match out.first() {
            // What no strategy can do without is not the strategies' problem.
            Some((_, problem)) if out.len() == self.strategies.len() => Err(problem.clone()),
            _ => Ok(out),
        }
    }

    /// All runs; the same whatever the number of threads.
    pub fn run(&self, tell: Tell) -> Result<Outcome, Problem> {
        let mut jobs = Vec::new();
        for (topic, config) in &self.topics {
            for strategy in &self.strategies {
                for rng in 0..self.rngs.len() {
                    let config = self.with_strategy(config, strategy);
                    jobs.extend(self.jobs(topic, strategy, &config, rng));
                }
            }
        }
        self.execute(&jobs, tell)
    }

    /// Settings that differ in more than the strategy, each under a name of its own in place of the
    /// strategy's.
    pub fn run_variants(
        &self,
        topic: &str,
        variants: &[(String, Config)],
        tell: Tell,
    ) -> Result<Outcome, Problem> {
        let of = |(name, config): &(String, Config)| {
            (0..self.rngs.len()).flat_map(|rng| self.jobs(topic, name, config, rng)).collect::<Vec<_>>()
        };
        self.execute(&variants.iter().flat_map(of).collect::<Vec<_>>(), tell)
    }

    /// One crawl, and one more per number of labels.
    fn jobs(&self, topic: &str, strategy: &str, config: &Config, rng: usize) -> Vec<Job> {
        let numbers: &[usize] = self.teach.as_ref().map_or(&[0], |t| &t.labels);
        let of = |&labels: &usize| Job {
            topic: topic.into(),
            strategy: strategy.into(),
            config: config.clone(),
            rng,
            labels,
        };
        numbers.iter().map(of).collect()
    }

    /// Runs of settings of a topic's (a name for it, settings, and which draw of the seeds); each is told
    /// with how many are done and its place in the list, and what is made of it comes back in the order of
    /// the list.
    pub fn run_jobs<T: Send>(
        &self,
        jobs: &[(String, Config, usize)],
        then: &(dyn Fn(usize, usize, Run) -> T + Sync),
    ) -> Result<Vec<T>, Problem> {
        let of = |(name, config, rng): &(String, Config, usize)| Job {
            topic: name.clone(),
            strategy: String::new(),
            config: config.clone(),
            rng: *rng,
            labels: 0,
        };
        Ok(self.on_all_threads(&jobs.iter().map(of).collect::<Vec<_>>(), then)?.0)
    }

    /// What is made of the run of each job, in their order.
    fn on_all_threads<T: Send>(
        &self,
        jobs: &[Job],
        then: &(dyn Fn(usize, usize, Run) -> T + Sync),
    ) -> Result<(Vec<T>, WholeWeb<'_>), Problem> {
        let draws: Vec<Vec<Url>> = self.rngs.iter().map(|rng| self.drawn(*rng)).collect();
        let made: OnceLock<WholeWeb> = OnceLock::new();
        // Whoever comes first makes it, the others wait for it.
        let field = || made.get_or_init(|| self.field(&draws, jobs.len()));
        let next = AtomicUsize::new(0);
        let done = AtomicUsize::new(0);
        let results: Mutex<Vec<(usize, Result<T, Problem>)>> = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for thread in 0..self.threads.get().min(jobs.len() + 1) {
                let (next, done, results, field, draws) = (&next, &done, &results, &field, &draws);
                scope.spawn(move || {
                    if thread == 0 {
                        field();
                    }
                    loop {
                        let i = next.fetch_add(1, Ordering::Relaxed);
                        let Some(job) = jobs.get(i) else { break };
                        let result = self.one(&draws[job.rng], job, field);
                        let n = done.fetch_add(1, Ordering::Relaxed) + 1;
                        if result.is_err() {
                            // No point in running the rest of a tournament that cannot be finished.
                            next.store(jobs.len(), Ordering::Relaxed);
                        }
                        let result = result.map(|run| then(n, i, run));
                        results.lock().unwrap_or_else(|e| e.into_inner()).push((i, result));
                    }
                });
            }
        });
        let mut results = results.into_inner().unwrap_or_else(|e| e.into_inner());
        results.sort_by_key(|(i, _)| *i);
        let results = results.into_iter().map(|r| r.1).collect::<Result<Vec<T>, Problem>>()?;
        let field = made.into_inner().unwrap_or_else(|| self.field(&draws, 0));
        Ok((results, field))
    }

    fn execute(&self, jobs: &[Job], tell: Tell) -> Result<Outcome, Problem> {
        let told = |n: usize, _: usize, run: Run| {
            tell(n, jobs.len(), &run);
            run
        };
        let (results, field) = self.on_all_threads(jobs, &told)?;
        let mut runs: Vec<Run> = Vec::new();
        for (mut run, job) in results.into_iter().zip(jobs) {
            match runs.last_mut() {
                // What labels make of it belongs to the run without any.
                Some(without) if job.labels > 0 => {
                    without.result.teach.append(&mut run.result.teach);
                }
                _ => runs.push(run),
            }
        }
        let oracle_curve = match field.known.first().and_then(|k| k.oracle.as_ref().map(|o| (k, o))) {
            Some((k, order)) => {
                let hits: Vec<bool> = order.iter().map(|&n| field.is_relevant(n)).collect();
                metrics::recall_curve(&hits, k.reach.relevant_reachable(|n| field.is_relevant(n)))
            }
            None => Vec::new(),
        };
        Ok(Outcome {
            runs,
            oracle_curve,
            graph_pages: field.graph.nodes(),
            graph_links: field.graph.links(),
            graph_cut: field.graph.cut,
        })
    }

    fn ask(&self, url: &Url) -> crate::graph::Answer {
        if self.web.is_trap(url) {
            return crate::graph::Answer::Nothing;
        }
        let fetched = self.web.answer(url);
        let page = match &fetched.payload {
            types::Payload::Bytes { decoded, .. } if fetched.status == 200 => {
                let options = extract::Options { canon: Canon::exact(), ..extract::Options::default() };
                let content_type = fetched.header("content-type");
                let documents = crawl::documents::Documents::usual();
                documents.read(&fetched.url, content_type, None, decoded, &options).ok()
            }
            _ => None,
        };
        crate::graph::Answer::of(&fetched, page.as_ref())
    }

    fn drawn(&self, rng: Option<u64>) -> Vec<Url> {
        rng.map_or_else(|| self.seeds.clone(), |rng| Seeds::draw(&self.seeds, rng))
    }

    /// The link graph of everything that these pages lead to.
    pub fn graph_from(&self, pages: &[Url]) -> Graph {
        Graph::build(pages, |url| self.ask(url), self.threads, self.max_pages)
    }

    fn field(&self, draws: &[Vec<Url>], jobs: usize) -> WholeWeb<'_> {
        // Runs have a thread each already.
        let spare = self.threads.get().saturating_sub(jobs);
        let threads = NonZeroUsize::new(spare).unwrap_or(NonZeroUsize::MIN);
        let make = || Graph::build(&self.seeds, |url| self.ask(url), threads, self.max_pages);
        let graph = self.graph.map_or_else(|| Cow::Owned(make()), Cow::Borrowed);
        let class = |node: u32| match (self.labels, Canon::exact().parse(graph.url(node))) {
            (Some(labels), Ok(url)) => self.label_rules.class(labels.of(&url)),
            _ => Class::Neutral,
        };
        let mut classes: Vec<Class> = (0..graph.nodes() as u32).map(class).collect();
        // Every seed of the list, drawn or not: whoever named it knows it already.
        for node in self.seeds.iter().filter_map(|u| graph.node(u)) {
            classes[node as usize] = Class::Neutral;
        }
        let mut field = WholeWeb { graph, classes, known: Vec::new() };
        field.known = draws.iter().map(|seeds| self.know(&field, seeds)).collect();
        field
    }

    fn know(&self, field: &WholeWeb, seeds: &[Url]) -> ReachablePart {
        let reach = field.graph.reach(seeds);
        let wanted = self.best_order && self.labels.is_some();
        let oracle = wanted.then(|| oracle(&field.graph, &reach, |n| field.is_relevant(n)).order);
        ReachablePart { reach, oracle }
    }

    fn one<'b>(
        &'b self,
        seeds: &[Url],
        job: &Job,
        field: impl Fn() -> &'b WholeWeb<'b>,
    ) -> Result<Run, Problem> {
        let (name, strategy, rng) = (&job.topic, &job.strategy, self.rngs[job.rng]);
        let started = Instant::now();
        let clock = Arc::new(Clock::default());
        let folder = self.on_disk.as_ref().map(|dir| {
            let name = if job.labels == 0 { name.clone() } else { format!("{name}-{}", job.labels) };
            let file = results::order_file(&name, strategy, rng.unwrap_or(0));
            dir.join(file.replace("order-", "ledger-").replace(".tsv", ""))
        });
        let disk = folder.as_ref().map(|f| Scratch::new(f)).transpose()?;
        let (mut crawl, analyst) = self.crawl(&job.config, seeds, rng, clock.clone(), folder.as_deref())?;
        let pages: Arc<Mutex<Vec<Fetch>>> = Arc::default();
        let seen = pages.clone();
        crawl.on_event(move |event| {
            if let Event::Page { id, url, score, at, simhash, .. } = event
                && let Ok(mut pages) = seen.lock()
            {
                pages.push(Fetch { id: *id, url: url.clone(), score: *score, at: at.0, simhash: *simhash });
            }
        });
        crawl.seed(seeds, types::Millis(0))?;
        let mut lesson = None;
        match self.teach.as_ref().filter(|_| job.labels > 0) {
            None => drop(replay::run(&mut crawl, self.web, &analyst)?),
            Some(teach) => {
                let teacher = self.teach(teach, &mut crawl, &analyst, job, field(), &pages)?;
                lesson = Some((teacher.given, teacher.yes));
            }
        }
        let seconds = started.elapsed().as_secs_f64();
        let field = field();
        let known = &field.known[job.rng];
        let verdicts: HashMap<UrlId, bool> = crawl.verdicts().collect();
        let fetched = std::mem::take(&mut *pages.lock().unwrap_or_else(|e| e.into_inner()));
        let mut steps = Vec::with_capacity(fetched.len());
        let mut order = Vec::with_capacity(fetched.len());
        let mut times = Vec::with_capacity(fetched.len());
        for Fetch { id, url, score, at, .. } in &fetched {
            times.push(*at);
            let (url, score) = (url.clone(), *score);
            let judged = verdicts.get(id).copied().unwrap_or(false);
            let parsed = Canon::exact().parse(&url).ok();
            let node = parsed.as_ref().and_then(|u| field.graph.node(u));
            let labels = match (self.labels, &parsed) {
                (Some(l), Some(u)) => l.of(u).to_string(),
                _ => String::new(),
            };
            let class = match (self.labels, node) {
                (Some(_), Some(n)) => field.classes[n as usize],
                (Some(_), None) => self.label_rules.class(&labels),
                (None, _) if parsed.as_ref().is_some_and(|u| self.seeds.contains(u)) => Class::Neutral,
                (None, _) if judged => Class::Relevant,
                (None, _) => Class::Irrelevant,
            };
            steps.push(Step { class, judged, score });
            order.push(Line { url, score, labels, class, judged });
        }
        let relevant = match self.labels {
            Some(_) => known.reach.relevant_reachable(|n| field.is_relevant(n)),
            // Judged by the judge itself: what this run found is all that is known.
            None => steps.iter().filter(|s| s.class == Class::Relevant).count(),
        };
        let truth = Truth {
            reachable: known.reach.reachable(),
            relevant,
            budget: self.limit().map(|p| usize::try_from(p).unwrap_or(usize::MAX)),
        };
        let measures = metrics::measure(&steps, &truth);
        let oracle_auc = known
            .oracle
            .as_ref()
            .and_then(|order| truth.auc_in_budget(order.iter().map(|&n| field.is_relevant(n))));
        let (found, again) = (Clock::read(&clock.found), Clock::read(&clock.again));
        let number = rng.unwrap_or(0);
        let virtual_ms = times.last().copied().unwrap_or(0);
        let half = measures.search_length_50.and_then(|n| times.get(n.checked_sub(1)?));
        let timing = RunTiming {
            topic: name.clone(),
            strategy: strategy.clone(),
            rng: number,
            pages: measures.pages,
            links: usize::try_from(found.links()).unwrap_or(usize::MAX),
            seconds,
            us_per_page: 1e6 * seconds / measures.pages.max(1) as f64,
            us_per_link: found.mean_us(),
            us_per_link_p99: found.quantile_us(0.99),
            us_per_rescore: again.mean_us(),
            us_per_rescore_p99: again.quantile_us(0.99),
            virtual_seconds: virtual_ms as f64 / 1e3,
            virtual_seconds_50: half.map(|ms| *ms as f64 / 1e3),
        };
        let mut result = results::Run::new(name, strategy, number, &truth, &measures, oracle_auc);
        if self.teach.is_some() {
            let (given, yes) = lesson.unwrap_or_default();
            let seen: HashMap<UrlId, FetchedPage> =
                fetched.iter().filter_map(|page| Some((page.id, self.seen(page, field)?))).collect();
            let pages = crawl.judgements().into_iter().filter_map(|j| Some((seen.get(&j.id)?, j)));
            let measured = teach::lesson(job.labels, number, pages);
            result.teach.push(results::Lesson { given, yes, found: measures.found.clone(), ..measured });
        }
        drop((crawl, disk));
        let scores: Vec<f64> = steps.iter().map(|s| s.score).collect();
        let critic = metrics::against_critic(&scores, 1);
        let loss = critic.cumulative_loss.iter().map(|(n, l)| (*n, l / (*n).max(1) as f64)).collect();
        Ok(Run {
            loss,
            virtual_ms,
            result,
            harvest_rate: measures.harvest_rate,
            sweep: metrics::sweep(&steps),
            order,
            timing,
        })
    }

    /// Runs a crawl to its end with someone who answers questions.
    fn teach(
        &self,
        teach: &Teach,
        crawl: &mut Crawl,
        analyst: &crawl::Analyst,
        job: &Job,
        field: &WholeWeb,
        pages: &Mutex<Vec<Fetch>>,
    ) -> Result<Teacher, Problem> {
        let reachable = field.known[job.rng].reach.reachable();
        let most = self.limit().map_or(usize::MAX, |p| usize::try_from(p).unwrap_or(usize::MAX));
        let draw = self.rngs[job.rng].unwrap_or(0);
        let mut teacher = Teacher::new(job.labels, reachable.min(most), draw, teach.wrong);
        let mut shown = 0;
        let mut show = |teacher: &mut Teacher| {
            let pages = pages.lock().unwrap_or_else(|e| e.into_inner());
            for page in pages.iter().skip(shown) {
                if let Some(seen) = self.seen(page, field) {
                    teacher.show(&seen);
                }
            }
            shown = pages.len();
        };
        let mut last = types::Millis(0);
        replay::run_with(crawl, self.web, analyst, &mut |crawl, now| {
            last = now;
            if !teacher.is_due(crawl) {
                return Ok(());
            }
            show(&mut teacher);
            teacher.answer(crawl, now)
        })?;
        show(&mut teacher);
        teacher.finish(crawl, last)?;
        Ok(teacher)
    }

    /// A page with what the labels say of it.
    fn seen(&self, page: &Fetch, field: &WholeWeb) -> Option<FetchedPage> {
        let url = Canon::exact().parse(&page.url).ok()?;
        let class = match (self.labels, field.graph.node(&url)) {
            (Some(_), Some(n)) => field.classes.get(n as usize).copied().unwrap_or(Class::Neutral),
            (Some(labels), None) => self.label_rules.class(labels.of(&url)),
            (None, _) => Class::Neutral,
        };
        Some(FetchedPage { id: page.id, url, simhash: page.simhash, class })
    }

    /// The loop as it runs live, on this web, with the settings of a backtest: no caps, no politeness unless
    /// asked for.
    fn crawl(
        &self,
        config: &Config,
        seeds: &[Url],
        rng: Option<u64>,
        clock: Arc<Clock>,
        folder: Option<&Path>,
    ) -> Result<(Crawl, crawl::Analyst), Problem> {
        let topic = config.topic()?;
        let canon = Canon::exact();
        let rng = rng.unwrap_or(0);
        let made = TopicParts::new(&topic, &canon, &|url| Ok(self.web.answer(url)), seeds.len(), rng)?;
        let made = match self.own {
            Some(own) => own(made),
            None => made,
        };
        let limits = Limits {
            delay_ms: self.delay.as_millis() as u64,
            per_host_in_flight: if self.delay.is_zero() { u32::MAX } else { 1 },
            pages_per_host: self.per_host,
            floor: config.limits.floor,
            // Caps that the topic names are part of the crawler that is tried; the usual ones are against
            // endless webs.
            depth: config.limits.depth,
            site_depth: config.limits.site_depth,
            patience: crawl::collection::Collection::limits(config).patience,
            ..Limits::none()
        };
        let mut scope = config.scope.clone();
        if scope.file_types == ScopeSection::default().file_types {
            // A recorded web has only what it has; a name ending in .so may well be a page.
            scope.file_types = Default::default();
        }
        let rules = Rules {
            pages: self.limit(),
            relevant: None,
            time: None,
            links_per_page: match config.limits.links_per_page {
                usual if usual == crawl::config::Limits::default().links_per_page => usize::MAX,
                named => named,
            },
            expand_min: config.limits.expand_min,
            obey_nofollow: false,
            use_sitemaps: false,
            attempts: 1,
            redirects: crate::graph::MAX_HOPS as u8,
            concurrency: self.concurrency,
            // On disk everything is kept, as in a live crawl.
            keep: folder.is_some(),
            noise: self.judge_noise,
            rng,
            ..Rules::default()
        };
        let parts = Parts {
            name: config.title().to_string(),
            strategy_name: topic.strategy.kind.clone(),
            judge_name: topic.judge.kind.clone(),
            rules,
            canon,
            scope: Scope::new(&scope, seeds)?,
            ledger: match folder {
                None => Box::new(Ledger::in_memory(limits)),
                Some(dir) => Box::new(Ledger::open(dir, store::Options::new(limits), types::Millis(0))?),
            },
            judge: made.analyst.judge.clone(),
            strategy: Box::new(TimedStrategy { inner: made.strategy, clock }),
            archive: None,
            index: None,
            folder: None,
        };
        Ok((Crawl::new(parts)?.taught_by(made.make_judge), made.analyst))
    }
}

/// A folder for the time of one run.
struct Scratch(PathBuf);

impl Scratch {
    fn new(dir: &Path) -> Result<Scratch, Problem> {
        // A crawl that was killed may have left one: it would be taken up again.
        if dir.exists() {
            fs::remove_dir_all(dir).map_err(|e| Problem::io("empty", dir, &e))?;
        }
        fs::create_dir_all(dir).map_err(|e| Problem::io("create", dir, &e))?;
        Ok(Scratch(dir.to_path_buf()))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Time spent in a strategy's link scoring, and in scoring pending links again.
#[derive(Default)]
struct Clock {
    found: Mutex<Watch>,
    again: Mutex<Watch>,
}

impl Clock {
    fn read(watch: &Mutex<Watch>) -> Watch {
        watch.lock().map_or_else(|e| e.into_inner().clone(), |w| w.clone())
    }
    fn count(watch: &Mutex<Watch>, time: Duration, links: usize) {
        watch.lock().unwrap_or_else(std::sync::PoisonError::into_inner).count(time, links);
    }
}

/// A strategy with a stop-watch on its link scoring.
struct TimedStrategy {
    inner: Box<dyn Strategy>,
    clock: Arc<Clock>,
}

impl Strategy for TimedStrategy {
    fn wants(&self) -> Wants {
        self.inner.wants()
    }
    fn seed(&mut self, url: &Url) -> Scored {
        self.inner.seed(url)
    }
    fn learn(&mut self, visit: &Visit) -> Rescore {
        self.inner.learn(visit)
    }
    fn score(&mut self, visit: &Visit) -> Vec<Option<Scored>> {
        let started = Instant::now();
        let out = self.inner.score(visit);
        Clock::count(&self.clock.found, started.elapsed(), visit.doc.page.links.len());
        out
    }
    fn rescore(&mut self, sources: &[Source]) -> Option<Priority> {
        let started = Instant::now();
        let out = self.inner.rescore(sources);
        Clock::count(&self.clock.again, started.elapsed(), 1);
        out
    }
    fn merge(&self, old: Priority, new: Priority) -> Priority {
        self.inner.merge(old, new)
    }
    fn explain(&self, evidence: &[u8], priority: Priority) -> Vec<Reason> {
        self.inner.explain(evidence, priority)
    }
    fn model(&mut self) -> Option<&mut dyn Model> {
        self.inner.model()
    }
}

/// Draws of the seeds, as a user writes them: `N` or `N..M` (both included).
pub fn parse_rngs(text: Option<&str>) -> Result<Vec<Option<u64>>, Problem> {
    let bad = |t: &str| {
        Problem::usage(format!("--rng {t}: not a number or a range"))
            .hint("as in --rng 3 or --rng 0..4 (five runs)")
    };
    let Some(t) = text else { return Ok(vec![None]) };
    let number = |s: &str| s.trim().trim_start_matches('=').parse::<u64>().map_err(|_| bad(t));
    match t.split_once("..") {
        None => Ok(vec![Some(number(t)?)]),
        Some((a, b)) => {
            let (a, b) = (number(a)?, number(b)?);
            if b < a || b - a > 10_000 {
                return Err(bad(t));
            }
            Ok((a..=b).map(Some).collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::webs::SimWeb;

    fn plan<'a>(web: &'a SimWeb, text: &str, strategies: &[&str]) -> Plan<'a> {
        let toml = format!("{}\n{text}", web.topic_toml());
        let config = Config::load(&toml, "a test", Default::default()).unwrap().config;
        Plan {
            topics: vec![("t".into(), config)],
            strategies: strategies.iter().map(|s| s.to_string()).collect(),
            seeds: web.seeds(),
            pages: Some(20),
            max_pages: 1000,
            ..Plan::on(web)
        }
    }

    #[test]
    fn a_web_of_traps_ends_after_as_many_pages_as_it_has() {
        for name in ["traps", "mixed"] {
            let web = SimWeb::open(&format!("sim:{name}?pages=300&hosts=4&traps=1&seed=1")).unwrap();
            assert!(web.is_endless(), "{name}");
            let endless = Plan { pages: None, ..plan(&web, "", &["breadth-first"]) };
            assert_eq!(endless.limit(), Some(300));
            let outcome = endless.run(&|_, _, _| {}).unwrap_or_else(|p| panic!("{p}"));
            assert_eq!(outcome.runs[0].order.len(), 300, "{name}");
        }
        let web = SimWeb::open("sim:campus?pages=200&seed=1").unwrap();
        let all = Plan { pages: None, ..plan(&web, "", &["breadth-first"]) };
        assert_eq!((web.is_endless(), all.limit()), (false, None));
    }

    #[test]
    fn strategies_without_their_data_are_named() {
        let web = SimWeb::open("sim:campus?pages=200&seed=1").unwrap();
        let nowhere = "[text]\nwordnet = '/nowhere/wordnet'";
        let out = plan(&web, nowhere, &["shark", "ehrig", "pagerank"]).impossible().unwrap();
        assert_eq!(out.len(), 1);
        assert_eq!(out[0].0, "ehrig");
        assert!(out[0].1.to_string().contains("/nowhere/wordnet"), "{}", out[0].1);
        // Named, it is an error; and when nothing can be made, that is one, too.
        let named = plan(&web, nowhere, &["ehrig"]);
        assert!(named.run(&|_, _, _| {}).is_err() && named.impossible().is_err());
        let fine = plan(&web, "", &["shark", "intelligent"]);
        assert!(fine.impossible().unwrap().is_empty());
        assert_eq!(fine.run(&|_, _, _| {}).map(|o| o.runs.len()).unwrap_or(0), 2);
    }
}
