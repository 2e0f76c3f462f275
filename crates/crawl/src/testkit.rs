//! Crawls of a web in a string with the real loop: tests of strategies read `check(web, topic, expected
//! order)`.

use crate::config::ScopeSection;
use crate::documents::Documents;
use crate::scope::Scope;
use crate::{Analyst, Crawl, Parts, Rules, replay};
use focus::judges::{self, JudgeSetup};
use focus::strategies::{self, Model, Reason, Rescore, Scored, Strategy, StrategySetup, Visit, Wants};
use focus::topic::Topic;
use madeup::WebString;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use types::{Canon, Millis, Priority, Problem, Source, Url, Verdict};

/// How a web in a string is crawled.
#[derive(Clone, Copy, Default)]
pub struct Options {
    /// Stop after so many pages and go on with a new crawl on the same ledger; 0 = never.
    pub restart_at: usize,
    /// Seed of all chance.
    pub rng: u64,
    /// Parts of the strategy that are switched off.
    pub without: &'static [&'static str],
}

/// One fetched page.
#[derive(Clone, Debug)]
pub struct Step {
    /// Canonical address.
    pub url: Url,
    /// Its priority when it was leased.
    pub priority: Priority,
    /// What the judge decided when it came.
    pub verdict: Verdict,
}

/// What happened.
#[derive(Clone, Default)]
pub struct CrawlLog {
    /// In the order they were fetched.
    pub steps: Vec<Step>,
    /// First score of every URL, by its short name.
    pub first_scores: HashMap<String, Priority>,
    names: HashMap<Url, String>,
    /// What the strategy had learnt in the end.
    pub learnt: Vec<Vec<u8>>,
}

impl CrawlLog {
    /// Short names of the pages in the order they were fetched.
    pub fn order(&self) -> String {
        self.steps.iter().map(|s| self.names[&s.url].as_str()).collect::<Vec<_>>().join(" ")
    }
    fn step(&self, name: &str) -> &Step {
        let found = self.steps.iter().find(|s| self.names[&s.url] == name);
        found.unwrap_or_else(|| panic!("{name} was not fetched"))
    }
    /// What the judge decided about a page, by its short name.
    pub fn verdict(&self, name: &str) -> Verdict {
        self.step(name).verdict
    }
    /// The key a link got when it was first scored.
    pub fn expect_score(&self, name: &str, expected: f64) {
        let got = self.first_scores.get(name).unwrap_or_else(|| panic!("{name} was not scored")).key();
        assert!((got - expected).abs() < 1e-9, "{name}: {got} is not {expected}");
    }
    /// The key it had when it was fetched.
    pub fn expect_lease_key(&self, name: &str, expected: f64) {
        let got = self.step(name).priority.key();
        assert!((got - expected).abs() < 1e-9, "{name}: {got} is not {expected}");
    }
    fn scored(&mut self, web: &WebString, url: &Url, priority: Priority) {
        let name = web.short(url);
        self.names.insert(url.clone(), name.clone());
        self.first_scores.entry(name).or_insert(priority);
    }
}

/// A strategy whose visits and scores are written down.
struct LoggedStrategy {
    inner: Box<dyn Strategy>,
    web: Arc<WebString>,
    seen: Arc<Mutex<CrawlLog>>,
}

impl LoggedStrategy {
    fn note(&self, change: impl FnOnce(&mut CrawlLog)) {
        change(&mut self.seen.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

impl Strategy for LoggedStrategy {
    fn wants(&self) -> Wants {
        self.inner.wants()
    }
    fn seed(&mut self, url: &Url) -> Scored {
        let scored = self.inner.seed(url);
        self.note(|seen| seen.scored(&self.web, url, scored.priority));
        scored
    }
    fn learn(&mut self, visit: &Visit) -> Rescore {
        let step = Step { url: visit.url.clone(), priority: visit.priority, verdict: visit.verdict };
        self.note(|seen| seen.steps.push(step));
        self.inner.learn(visit)
    }
    fn score(&mut self, visit: &Visit) -> Vec<Option<Scored>> {
        let out = self.inner.score(visit);
        let links = &visit.doc.page.links;
        assert_eq!(out.len(), links.len(), "one answer per link");
        for (link, scored) in links.iter().zip(&out) {
            let Some(s) = scored else { continue };
            assert!(s.priority.key().is_finite() && s.evidence.len() <= 1024, "{:?}", s.priority);
            self.note(|seen| seen.scored(&self.web, &link.url, s.priority));
        }
        out
    }
    fn rescore(&mut self, sources: &[Source]) -> Option<Priority> {
        self.inner.rescore(sources)
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

/// Crawls the whole web with the topic's judge and strategy.
pub fn run(web: &str, topic: &str) -> CrawlLog {
    run_with(web, topic, Options::default())
}

/// As `run`, with options.
pub fn run_with(web: &str, topic: &str, options: Options) -> CrawlLog {
    let mut topic = Topic::from_toml(&judged_by_genre(&named(topic))).unwrap_or_else(|p| panic!("{p}"));
    topic.strategy.without = options.without.iter().map(|part| part.to_string()).collect();
    let net = madeup::small_wordnet();
    let strategy = || {
        let setup = StrategySetup { rng: options.rng, wordnet: Some(&net), ..StrategySetup::new(&topic) };
        strategies::build(&setup).unwrap_or_else(|p| panic!("{p}"))
    };
    crawl(WebString::new(web), &topic, &strategy, &options)
}

/// Crawls with strategies of one's own.
pub fn crawl(
    web: WebString,
    topic: &Topic,
    strategy: &dyn Fn() -> Box<dyn Strategy>,
    options: &Options,
) -> CrawlLog {
    let web = Arc::new(web);
    let seen: Arc<Mutex<CrawlLog>> = Arc::default();
    let mut ledger: Box<dyn crate::Ledger> = Box::new(store::Ledger::in_memory(frontier::Limits::none()));
    let first = (options.restart_at > 0).then_some(options.restart_at as u64);
    for pages in first.map(Some).into_iter().chain([None]) {
        let watched = LoggedStrategy { inner: strategy(), web: web.clone(), seen: seen.clone() };
        ledger = go_on(&web, topic, Box::new(watched), pages, ledger).unwrap_or_else(|p| panic!("{p}"));
    }
    let mut out = seen.lock().unwrap_or_else(PoisonError::into_inner).clone();
    out.learnt = ledger.state(types::StateKey::Strategy).unwrap_or_else(|p| panic!("{p}"));
    out
}

/// Crawls until there is nothing left, or so many pages. Gives the ledger back.
fn go_on(
    web: &WebString,
    topic: &Topic,
    strategy: Box<dyn Strategy>,
    pages: Option<u64>,
    ledger: Box<dyn crate::Ledger>,
) -> Result<Box<dyn crate::Ledger>, Problem> {
    let judge = judges::build(&JudgeSetup { seeds: web.seeds.len(), ..JudgeSetup::new(topic) })?;
    let judge = Arc::new(RwLock::new(judge));
    let canon = Canon::exact();
    let analyst = Analyst {
        rendering: None,
        extract: Arc::new(extract::Options { canon: canon.clone(), ..extract::Options::default() }),
        text: Arc::new(topic.text.options),
        judge: judge.clone(),
        parts: strategy.wants().doc,
        documents: Documents::usual().clone(),
    };
    let parts = Parts {
        name: "test".into(),
        strategy_name: topic.strategy.kind.clone(),
        judge_name: topic.judge.kind.clone(),
        rules: Rules { pages, use_sitemaps: false, ..Rules::default() },
        canon,
        scope: Scope::new(&ScopeSection::default(), &[])?,
        ledger,
        judge,
        strategy,
        archive: None,
        index: None,
        folder: None,
    };
    let mut crawl = Crawl::new(parts)?;
    crawl.seed(&web.seeds, Millis(0))?;
    let stop = replay::run(&mut crawl, web, &analyst)?;
    crawl.close(stop, Millis(1 << 40))?;
    Ok(crawl.parts.ledger)
}

/// Crawls, and compares the order: paths with blanks between.
pub fn check(web: &str, topic: &str, expected: &str) {
    assert_eq!(run(web, topic).order(), expected.split_whitespace().collect::<Vec<_>>().join(" "), "{topic}");
}

/// The same topic, judged by `genre` unless it names a judge: its scores can be worked out by hand.
pub fn judged_by_genre(topic: &str) -> String {
    let Ok(mut table) = topic.parse::<toml::Table>() else { return topic.to_string() };
    let judge = table.entry("judge").or_insert(toml::Value::Table(toml::Table::new()));
    if let Some(judge) = judge.as_table_mut() {
        judge.entry("kind").or_insert("genre".into());
    }
    toml::to_string(&table).unwrap_or_else(|_| topic.to_string())
}

fn named(topic: &str) -> String {
    let has =
        topic.lines().any(|l| l.trim_start().starts_with("name") || l.trim_start().starts_with("query"));
    if has { topic.to_string() } else { format!("name = 'test'\n{topic}") }
}
