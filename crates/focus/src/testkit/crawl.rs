//! The small crawl: one page at a time, no politeness, the frontier a list. It keeps the contract of the real loop:
//! learn before score, siblings, re-scoring, merging, lanes, expiry, saving and loading.

use super::Web;
use crate::judges::Judge;
use crate::strategies::{Miss, Rescore, Scored, Strategy, Visit};
use crate::text::{Doc, TextOptions};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use types::{Assessment, LinkKind, Priority, Source, Url, UrlId, Verdict};

#[derive(Clone, Copy, Default)]
pub struct Options {
    /// Stop after so many pages; 0 = when nothing is left.
    pub pages: usize,
    /// After so many pages, throw judge and strategy away and restore them from what they saved.
    pub restart_at: usize,
    pub rng: u64,
}

/// One fetched page.
#[derive(Clone, Debug)]
pub struct Step {
    pub url: Url,
    /// Its priority when it was leased.
    pub priority: Priority,
    pub assessment: Assessment,
    pub verdict: Verdict,
}

/// What happened.
pub struct Crawl {
    pub steps: Vec<Step>,
    /// First score of every URL, by its short name.
    pub first_scores: HashMap<String, Priority>,
    /// Links that led nowhere, in order.
    pub misses: Vec<Url>,
    names: HashMap<Url, String>,
}

impl Crawl {
    /// Short names of the pages in the order they were fetched.
    pub fn order(&self) -> String {
        self.steps.iter().map(|s| self.names[&s.url].as_str()).collect::<Vec<_>>().join(" ")
    }
    fn step(&self, name: &str) -> &Step {
        self.steps
            .iter()
            .find(|s| self.names[&s.url] == name)
            .unwrap_or_else(|| panic!("{name} was not fetched"))
    }
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
}

struct Pending {
    url: Url,
    priority: Priority,
    sources: Vec<Source>,
    depth: u16,
    site_depth: u16,
    model: u32,
    /// Step after which it is forgotten.
    expires: Option<u64>,
}

impl Pending {
    fn evidence(&self) -> Vec<u8> {
        let mut best: Option<&Source> = None;
        for s in &self.sources {
            if best.is_none_or(|b| s.priority > b.priority) {
                best = Some(s);
            }
        }
        best.map(|s| s.evidence.clone()).unwrap_or_default()
    }
}

/// Crawls. `judge` and `strategy` make fresh ones, so that a restart can be played.
pub fn crawl(
    web: &Web,
    text: &TextOptions,
    judge: &dyn Fn() -> Box<dyn Judge>,
    strategy: &dyn Fn() -> Box<dyn Strategy>,
    options: &Options,
) -> Crawl {
    let (mut j, mut s) = (judge(), strategy());
    let mut out =
        Crawl { steps: Vec::new(), first_scores: HashMap::new(), misses: Vec::new(), names: HashMap::new() };
    let mut ids: HashMap<Url, UrlId> = HashMap::new();
    let mut pending: BTreeMap<UrlId, Pending> = BTreeMap::new();
    let mut saved: Vec<Vec<u8>> = s.save(true).into_iter().collect();
    let mut leases = 0u64;

    for url in &web.seeds {
        let scored = s.seed(url);
        let model = s.model();
        offer(
            &mut out,
            web,
            &mut ids,
            &mut pending,
            s.as_ref(),
            url,
            None,
            LinkKind::Seed,
            0,
            0,
            scored,
            model,
            0,
        );
    }
    loop {
        pending.retain(|_, p| p.expires.is_none_or(|e| leases <= e));
        if pending.is_empty() || (options.pages > 0 && out.steps.len() >= options.pages) {
            return out;
        }
        if options.restart_at > 0 && out.steps.len() == options.restart_at {
            let judged = j.save();
            (j, s) = (judge(), strategy());
            if let Some(bytes) = judged {
                j.load(&bytes).expect("the judge loads what it saved");
            }
            for bytes in &saved {
                s.load(bytes).expect("the strategy loads what it saved");
            }
        }
        look_ahead(&mut pending, s.as_mut());
        let lane = s.lane();
        let best = pending
            .iter()
            .max_by(|(ia, a), (ib, b)| {
                let at = |p: &Pending| lane.is_some_and(|l| p.priority.lane == l);
                at(a).cmp(&at(b)).then(a.priority.cmp(&b.priority)).then(ib.cmp(ia))
            })
            .map(|(id, _)| *id);
        let Some((id, p)) = best.and_then(|id| Some((id, pending.remove(&id)?))) else { return out };
        leases += 1;
        let evidence = p.evidence();
        let Some(page) = web.pages.get(&p.url) else {
            s.miss(&Miss { id, url: &p.url, priority: p.priority, evidence: &evidence, sources: &p.sources });
            saved.extend(s.save(false));
            out.misses.push(p.url);
            continue;
        };
        let doc = Doc::new(Arc::clone(page), text);
        let assessment = j.assess(&doc);
        if j.observe(&assessment, None) {
            for step in &mut out.steps {
                step.verdict = j.decide(&step.assessment);
            }
        }
        let verdict = j.decide(&assessment);
        let known: Vec<bool> = page.links.iter().map(|l| ids.contains_key(&l.url)).collect();
        let visit = Visit {
            id,
            url: &p.url,
            kind: p.sources.first().map_or(LinkKind::Seed, |s| s.kind),
            doc: &doc,
            assessment: &assessment,
            verdict,
            parent: p.sources.first().and_then(|s| s.parent),
            depth: p.depth,
            site_depth: p.site_depth,
            priority: p.priority,
            evidence: &evidence,
            sources: &p.sources,
            known: &known,
            n: out.steps.len() as u64 + 1,
            worthless: false,
        };
        let rescore = s.learn(&visit);
        apply(rescore, &visit, &mut pending, s.as_mut());
        let scores = s.score(&visit);
        assert_eq!(scores.len(), page.links.len(), "one answer per link");
        let model = s.model();
        out.steps.push(Step {
            url: p.url.clone(),
            priority: p.priority,
            assessment: assessment.clone(),
            verdict,
        });
        for (link, scored) in page.links.iter().zip(scores) {
            let Some(scored) = scored else { continue };
            assert!(
                scored.priority.key().is_finite() && scored.evidence.len() <= 1024,
                "{:?}",
                scored.priority
            );
            let site = if link.url.host_key() == p.url.host_key() { p.site_depth + 1 } else { 0 };
            offer(
                &mut out,
                web,
                &mut ids,
                &mut pending,
                s.as_ref(),
                &link.url,
                Some(id),
                link.kind,
                p.depth + 1,
                site,
                scored,
                model,
                leases,
            );
        }
        saved.extend(s.save(false));
    }
}

fn offer(
    out: &mut Crawl,
    web: &Web,
    ids: &mut HashMap<Url, UrlId>,
    pending: &mut BTreeMap<UrlId, Pending>,
    strategy: &dyn Strategy,
    url: &Url,
    parent: Option<UrlId>,
    kind: LinkKind,
    depth: u16,
    site_depth: u16,
    scored: Scored,
    model: u32,
    now: u64,
) {
    let next = UrlId(ids.len() as u32);
    let known = ids.contains_key(url);
    let id = *ids.entry(url.clone()).or_insert(next);
    let source =
        Source { parent, kind, priority: scored.priority, evidence: scored.evidence, anchor: "".into() };
    let expires = scored.ttl.map(|t| now + u64::from(t));
    if let Some(p) = pending.get_mut(&id) {
        p.priority = strategy.merge(p.priority, scored.priority);
        p.sources.push(source);
        p.expires = p.expires.zip(expires).map(|(a, b)| a.max(b));
        return;
    }
    let forgotten = known
        && out.names.contains_key(url)
        && !out.steps.iter().any(|s| s.url == *url)
        && !out.misses.contains(url);
    if known && !forgotten {
        return;
    }
    let name = web.short(url);
    out.names.insert(url.clone(), name.clone());
    out.first_scores.entry(name).or_insert(scored.priority);
    let entry = Pending {
        url: url.clone(),
        priority: scored.priority,
        sources: vec![source],
        depth,
        site_depth,
        model,
        expires,
    };
    pending.insert(id, entry);
}

/// The best few whose score is of an older model are scored again before one of them is taken.
fn look_ahead(pending: &mut BTreeMap<UrlId, Pending>, strategy: &mut dyn Strategy) {
    let k = strategy.lookahead();
    let model = strategy.model();
    if k == 0 {
        return;
    }
    let mut order: Vec<(Priority, UrlId)> = pending.iter().map(|(id, p)| (p.priority, *id)).collect();
    order.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
    for (_, id) in order.into_iter().take(k) {
        if let Some(p) = pending.get_mut(&id)
            && p.model < model
        {
            p.priority = strategy.rescore(&p.sources).unwrap_or(p.priority);
            p.model = model;
        }
    }
}

fn apply(
    rescore: Rescore,
    visit: &Visit,
    pending: &mut BTreeMap<UrlId, Pending>,
    strategy: &mut dyn Strategy,
) {
    match rescore {
        Rescore::Nothing | Rescore::Stale => {}
        Rescore::Siblings(priority) => {
            for p in pending.values_mut() {
                if visit.parent.is_some() && p.sources.iter().any(|s| s.parent == visit.parent) {
                    p.priority = priority;
                }
            }
        }
        Rescore::Urls(list) => {
            for (id, priority) in list {
                if let Some(p) = pending.get_mut(&id) {
                    p.priority = priority;
                }
            }
        }
        Rescore::Everything => {
            let model = strategy.model();
            for p in pending.values_mut() {
                p.priority = strategy.rescore(&p.sources).unwrap_or(p.priority);
                p.model = model;
            }
        }
    }
}
