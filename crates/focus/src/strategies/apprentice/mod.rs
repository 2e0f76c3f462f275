//! Strategy `apprentice`: learns during the crawl which words at which DOM offset around a link lead to good
//! pages.

mod features;
#[cfg(test)]
mod tests;

use super::{
    Lesson, Model, Parts, Reason, Rescore, Revised, Scored, Strategy, StrategyEntry, StrategySetup, Training,
    Visit, Wants,
};
use crate::judges::{Example, ExampleKind};
use crate::options;
use features::{Evidence, Reading, Window, target};
use learn::bayes::Bayes;
use learn::bytes::{Reader, Writer, damaged};
use learn::sigmoid;
use serde::Deserialize;
use std::collections::HashMap;
use types::{Canon, LinkKind, Priority, Problem, Source, Url, UrlId};

pub(super) const ENTRY: StrategyEntry = StrategyEntry {
    name: "apprentice",
    summary: "a naive Bayes learner predicts a link's worth from the words around it and where they stand",
    doc: "\
## What it does
The judge is the critic: it labels what was fetched. The apprentice learns from its verdicts to predict the worth of a link from
the page it stands on alone: every word within `d_max` DOM leaves of the link is a feature ⟨word, offset⟩ (offset 0 = inside the
link, negative = before it). A multinomial naive Bayes learner with the classes high and low is told of every fetched link and gives
`Pr(high | features)`. The frontier is ordered by its log-odds, which is the same order and never saturates.

`online`: for the first `warmup` pages links get the critic's relevance of the page they stand on; then the apprentice takes over,
the whole frontier is scored again, and it goes on learning (every `batch` pages stale scores near the top are refreshed; at each
doubling of the crawl all of them). `offline`: what was learnt before the crawl stays as it is: pairs of example pages that link to each
other, or the state of an earlier crawl. `recall`: only URLs of the list `urls` (the pages of an earlier crawl) are followed. As long as
only one of the two classes has been seen, the critic's relevance goes on deciding.

## When it helps
Sites with regular pages: lists, tables and menus where the words beside a link tell what is behind it.

## When it hurts
Short crawls (less than a few hundred pages) and webs without structure. With `split = 0.5` a critic whose scores rarely pass it
(similarities rather than probabilities): few links are high, and to Laplace's smoothing rare words then look high.

## Options
`mode` = \"online\" | \"offline\" | \"recall\" · `d_max` = 5 · `offsets` = true (false: the same words without their offsets) · `split` =
\"median\" (of the relevances seen so far) | a number such as 0.5 | \"verdict\" (the judge's decision) · `warmup` = 100 pages · `batch` = 50 pages: a link
teaches only if its page was fetched before the batch of its target · `sources` = \"max\" | \"first\": several pages link to the
same URL · `topic` = false: the judge's top classes of the page and all prefixes of their paths as features · `cocitation` = false:
⟨high or low, offset⟩ of links in the window whose targets are judged · `urls` = []: the URLs `recall` may fetch.

## Source
Chakrabarti, Punera, Subramanyam: Accelerated focused crawling through online relevance feedback, 2002. The
warm-up and batch sizes and the log-odds are ours.",
    build,
};

#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Mode {
    Online,
    Offline,
    Recall,
}

#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Several {
    Max,
    First,
}

#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(untagged)]
enum Split {
    At(f64),
    By(SplitBy),
}

#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum SplitBy {
    Median,
    Verdict,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Options {
    mode: Mode,
    d_max: u32,
    offsets: bool,
    split: Split,
    warmup: u64,
    batch: u64,
    sources: Several,
    topic: bool,
    cocitation: bool,
    urls: Vec<String>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            mode: Mode::Online,
            d_max: 5,
            offsets: true,
            split: Split::By(SplitBy::Median),
            warmup: 100,
            batch: 50,
            sources: Several::Max,
            topic: false,
            cocitation: false,
            urls: Vec::new(),
        }
    }
}

const LOW: usize = 0;
const HIGH: usize = 1;
/// Seeds come before everything the apprentice has an opinion of.
const SEED_LANE: u8 = 1;
/// Stale links looked at before each lease.
const LOOKAHEAD: usize = 32;
/// Relevances are counted in so many steps for the median.
const STEPS: usize = 256;
/// Judged targets remembered for co-citation.
const MOST_JUDGED: usize = 2_000_000;

struct Apprentice {
    o: Options,
    window: Window,
    /// Hashes of the URLs `recall` is restricted to.
    allowed: Option<std::collections::HashSet<u64>>,
    bayes: Bayes,
    /// It orders the frontier; until then the critic does.
    in_charge: bool,
    model: u32,
    /// Pages at which the whole frontier is scored again.
    next_full: u64,
    /// Pages of the running batch.
    batch: Vec<UrlId>,
    /// Pages by relevance, for the median.
    relevances: Vec<u32>,
    /// Target → high?, for co-citation; and what is new in it since the last save.
    judged: HashMap<u32, bool>,
    fresh: Vec<(u32, bool)>,
    changed: bool,
}

fn build(setup: &StrategySetup) -> Result<Box<dyn Strategy>, Problem> {
    let o: Options = options::parse("strategy `apprentice`", setup.options)?;
    if let Split::At(at) = o.split
        && !(at > 0.0 && at <= 1.0)
    {
        return Err(Problem::usage("strategy `apprentice`: split must be above 0 and at most 1")
            .hint("or \"median\", or \"verdict\""));
    }
    if o.batch == 0 || o.d_max > 100 {
        return Err(Problem::usage("strategy `apprentice`: batch must be at least 1 and d_max at most 100"));
    }
    let allowed = match (o.mode, o.urls.is_empty()) {
        (Mode::Recall, true) => {
            return Err(Problem::usage("strategy `apprentice`: mode \"recall\" needs a list of URLs")
                .hint("urls = [\"https://…\", …]: the pages an earlier crawl fetched"));
        }
        (Mode::Recall, false) => Some(allowed(&o.urls)?),
        (_, false) => {
            return Err(Problem::usage("strategy `apprentice`: `urls` is only for mode \"recall\"")
                .hint("add mode = \"recall\", or take the list out"));
        }
        (_, true) => None,
    };
    let window = Window { d_max: o.d_max, offsets: o.offsets, topic: o.topic, cocitation: o.cocitation };
    let mut a = Apprentice {
        window,
        allowed,
        bayes: Bayes::new(2),
        in_charge: false,
        model: 0,
        next_full: 0,
        batch: Vec::new(),
        relevances: vec![0; STEPS + 1],
        judged: HashMap::new(),
        fresh: Vec::new(),
        changed: false,
        o,
    };
    a.study(setup.examples);
    Ok(Box::new(a))
}

fn url_hash(url: &Url) -> u64 {
    types::Fingerprint::of(url.as_str(), (1, 1)).0
}

fn allowed(urls: &[String]) -> Result<std::collections::HashSet<u64>, Problem> {
    let canon = Canon::exact();
    urls.iter()
        .map(|text| {
            let bad =
                |e| Problem::usage(format!("strategy `apprentice`: urls: `{text}` is not a URL")).because(e);
            canon.parse(text).map(|u| url_hash(&u)).map_err(bad)
        })
        .collect()
}

impl Apprentice {
    /// Offline training: every pair of example pages of which one links to the other.
    fn study(&mut self, examples: &[Example]) {
        let mut labels: HashMap<&Url, bool> = HashMap::new();
        for e in examples.iter().filter(|e| e.kind != ExampleKind::Genre) {
            if let Some(url) = &e.doc.page.url {
                labels.insert(url, e.kind == ExampleKind::Relevant);
            }
        }
        for e in examples {
            let relevance = f64::from(u8::from(e.kind == ExampleKind::Relevant));
            let reading = Reading::of_doc(self.window, &e.doc, relevance);
            for (i, link) in e.doc.page.links.iter().enumerate() {
                if let Some(high) = labels.get(&link.url)
                    && Some(&link.url) != e.doc.page.url.as_ref()
                {
                    let evidence = reading.link(i, link);
                    self.bayes.add(usize::from(*high), evidence.counted(&self.judged));
                }
            }
        }
        self.in_charge = self.ready();
    }

    /// It has seen both classes: with one, every prediction would be the same.
    fn ready(&self) -> bool {
        self.bayes.documents(LOW) > 0 && self.bayes.documents(HIGH) > 0
    }

    fn is_high(&self, relevance: f64, relevant: bool) -> bool {
        match self.o.split {
            Split::At(at) => relevance >= at,
            Split::By(SplitBy::Verdict) => relevant,
            // Two equally probable intervals, as far as possible: when half of all have the median itself,
            // they are low.
            Split::By(SplitBy::Median) => step(relevance) > self.median(),
        }
    }

    /// The step of the middle one (the lower of two) of all relevances so far.
    fn median(&self) -> usize {
        let total: u64 = self.relevances.iter().map(|n| u64::from(*n)).sum();
        let mut seen = 0;
        for (i, n) in self.relevances.iter().enumerate() {
            seen += u64::from(*n);
            if seen * 2 >= total && seen > 0 {
                return i;
            }
        }
        0
    }

    /// `ln(Pr(high | features) / Pr(low | features))`, kept finite.
    fn odds(&self, evidence: &Evidence) -> f64 {
        let logs = self.bayes.log_joint(evidence.counted(&self.judged));
        let z = logs.get(HIGH).unwrap_or(&0.0) - logs.get(LOW).unwrap_or(&0.0);
        if z.is_nan() { 0.0 } else { z.clamp(-1e9, 1e9) }
    }

    fn priority(&self, evidence: &Evidence) -> Priority {
        Priority::key_only(if self.in_charge { self.odds(evidence) } else { evidence.relevance })
    }
}

fn step(relevance: f64) -> usize {
    if relevance.is_finite() { (relevance.clamp(0.0, 1.0) * STEPS as f64) as usize } else { 0 }
}

impl Strategy for Apprentice {
    fn wants(&self) -> Wants {
        let lookahead = if self.in_charge && self.o.mode != Mode::Offline { LOOKAHEAD } else { 0 };
        Wants { lookahead, ..Wants::SOURCES.and(Parts::ALL) }
    }

    fn seed(&mut self, _: &Url) -> Scored {
        Scored { priority: Priority::new(SEED_LANE, 1.0), evidence: Vec::new(), ttl: None }
    }

    fn learn(&mut self, visit: &Visit) -> Rescore {
        self.changed = true;
        let relevance = visit.verdict.relevance;
        if let Some(n) = self.relevances.get_mut(step(relevance)) {
            *n = n.saturating_add(1);
        }
        let high = self.is_high(relevance, visit.verdict.relevant);
        if self.o.mode != Mode::Offline {
            for source in visit.sources {
                // Chakrabarti et al. 2002: u was fetched before the batch that v belongs to.
                if source.parent.is_some_and(|p| !self.batch.contains(&p))
                    && let Some(evidence) = Evidence::read(&source.evidence)
                {
                    self.bayes.add(usize::from(high), evidence.counted(&self.judged));
                }
            }
        }
        if self.o.cocitation && self.judged.len() < MOST_JUDGED {
            let t = target(visit.url);
            self.judged.insert(t, high);
            self.fresh.push((t, high));
        }
        self.batch.push(visit.id);
        if self.o.mode == Mode::Offline {
            self.batch.clear();
            return Rescore::Nothing;
        }
        if !self.in_charge {
            if visit.n.is_multiple_of(self.o.batch) {
                self.batch.clear();
            }
            if visit.n < self.o.warmup || !self.ready() {
                return Rescore::Nothing;
            }
            self.in_charge = true;
            self.model += 1;
            self.next_full = visit.n.saturating_mul(2);
            self.batch.clear();
            return Rescore::Everything;
        }
        if !visit.n.is_multiple_of(self.o.batch) {
            return Rescore::Nothing;
        }
        self.batch.clear();
        self.model = self.model.wrapping_add(1);
        if visit.n >= self.next_full {
            self.next_full = visit.n.saturating_mul(2);
            return Rescore::Everything;
        }
        Rescore::Stale
    }

    fn score(&mut self, visit: &Visit) -> Vec<Option<Scored>> {
        let reading = Reading::of_visit(self.window, visit);
        let one = |(i, link): (usize, &types::Link)| {
            if self.allowed.as_ref().is_some_and(|a| !a.contains(&url_hash(&link.url))) {
                return None;
            }
            let evidence = reading.link(i, link);
            Some(Scored { priority: self.priority(&evidence), evidence: evidence.write(), ttl: None })
        };
        visit.doc.page.links.iter().enumerate().map(one).collect()
    }

    fn rescore(&mut self, sources: &[Source]) -> Option<Priority> {
        if sources.iter().any(|s| s.kind == LinkKind::Seed) {
            return None;
        }
        let mut all = sources.iter().filter_map(|s| Evidence::read(&s.evidence)).map(|e| self.priority(&e));
        match self.o.sources {
            Several::Max => all.max(),
            Several::First => all.next(),
        }
    }

    fn merge(&self, old: Priority, new: Priority) -> Priority {
        match self.o.sources {
            Several::Max => old.max(new),
            Several::First => old,
        }
    }

    fn explain(&self, evidence: &[u8], priority: Priority) -> Vec<Reason> {
        let Some(e) = Evidence::read(evidence) else {
            return vec![Reason { label: "a seed".into(), value: priority.key() }];
        };
        let mut out = vec![Reason { label: "the page it stands on".into(), value: e.relevance }];
        if self.in_charge {
            let label = format!("Pr(high) by {} features around it", e.features.len());
            out.push(Reason { label, value: sigmoid(priority.key()) });
            out.push(Reason { label: "log-odds".into(), value: priority.key() });
        }
        out
    }

    fn model(&mut self) -> Option<&mut dyn Model> {
        Some(self)
    }
}

impl Model for Apprentice {
    fn version(&self) -> u32 {
        self.model
    }

    fn revise(&mut self, pages: &[Revised]) {
        // The number the split looks at is as it was; only the decision has changed.
        if self.o.split != Split::By(SplitBy::Verdict) || self.o.mode == Mode::Offline {
            return;
        }
        for page in pages {
            let high = usize::from(page.verdict.relevant);
            for evidence in page.sources.iter().filter_map(|s| Evidence::read(&s.evidence)) {
                let features = evidence.counted(&self.judged);
                self.bayes.relabel(1 - high, high, features);
            }
            if self.o.cocitation && self.judged.contains_key(&target(page.url)) {
                self.judged.insert(target(page.url), page.verdict.relevant);
                self.fresh.push((target(page.url), page.verdict.relevant));
            }
        }
        self.changed = true;
    }

    fn save(&mut self, full: bool) -> Option<Vec<u8>> {
        if !full && !self.changed {
            return None;
        }
        self.changed = false;
        let mut w = Writer::default();
        w.u8(1).u8(u8::from(full)).u8(u8::from(self.in_charge)).u32(self.model).u64(self.next_full);
        w.var(self.batch.len() as u64);
        for id in &self.batch {
            w.u32(id.0);
        }
        for n in &self.relevances {
            w.var(u64::from(*n));
        }
        let fresh = std::mem::take(&mut self.fresh);
        let judged = if full {
            let mut all: Vec<(u32, bool)> = self.judged.iter().map(|(k, v)| (*k, *v)).collect();
            all.sort_unstable();
            all
        } else {
            fresh
        };
        w.var(judged.len() as u64);
        for (t, high) in judged {
            w.u32(t).u8(u8::from(high));
        }
        w.bytes(&self.bayes.save(full).unwrap_or_default());
        Some(w.0)
    }

    fn load(&mut self, bytes: &[u8]) -> Result<(), Problem> {
        let mut r = Reader(bytes);
        if r.u8()? != 1 {
            return Err(damaged());
        }
        let full = r.u8()? == 1;
        let in_charge = r.u8()? == 1;
        let (model, next_full) = (r.u32()?, r.u64()?);
        let mut batch = Vec::new();
        for _ in 0..r.var()? {
            batch.push(UrlId(r.u32()?));
        }
        let mut relevances = Vec::with_capacity(STEPS + 1);
        for _ in 0..=STEPS {
            relevances.push(u32::try_from(r.var()?).map_err(|_| damaged())?);
        }
        let mut judged = Vec::new();
        for _ in 0..r.var()? {
            judged.push((r.u32()?, r.u8()? == 1));
        }
        let learnt = r.bytes()?;
        r.end()?;
        if !learnt.is_empty() {
            self.bayes.load(learnt)?;
        }
        if full {
            self.judged.clear();
        }
        self.judged.extend(judged);
        (self.model, self.next_full, self.batch, self.relevances) = (model, next_full, batch, relevances);
        // Trained elsewhere is trained: an offline crawl may start from the state of an online one.
        self.in_charge = in_charge || (self.o.mode == Mode::Offline && self.ready());
        self.changed = false;
        Ok(())
    }

    /// Counts, the spread of relevances, and judged targets by their URL; batches and versions are this
    /// crawl's.
    fn export(&mut self) -> Option<Vec<u8>> {
        let (batch, model, next_full) = (std::mem::take(&mut self.batch), self.model, self.next_full);
        (self.model, self.next_full) = (0, 0);
        let bytes = self.save(true);
        (self.batch, self.model, self.next_full) = (batch, model, next_full);
        bytes
    }

    fn import(&mut self, bytes: &[u8]) -> Result<(), Problem> {
        self.load(bytes)?;
        self.in_charge = self.ready();
        self.changed = true;
        Ok(())
    }

    /// Chakrabarti's offline training: every fetched pair. All verdicts are known beforehand, so the median
    /// is that of the whole crawl.
    fn begin_training(&mut self, lessons: &[Lesson]) -> Training {
        for lesson in lessons {
            if let Some(n) = self.relevances.get_mut(step(lesson.verdict.relevance)) {
                *n = n.saturating_add(1);
            }
        }
        for lesson in lessons.iter().filter(|_| self.o.cocitation).take(MOST_JUDGED) {
            let high = self.is_high(lesson.verdict.relevance, lesson.verdict.relevant);
            self.judged.insert(target(&lesson.url), high);
        }
        self.changed = true;
        Training::Links
    }

    fn train_on_link(&mut self, evidence: &[u8], lesson: &Lesson) {
        if let Some(evidence) = Evidence::read(evidence) {
            let high = self.is_high(lesson.verdict.relevance, lesson.verdict.relevant);
            self.bayes.add(usize::from(high), evidence.counted(&self.judged));
            self.in_charge = self.ready();
        }
    }

    fn delta(&mut self) -> Option<Vec<u8>> {
        if self.o.mode == Mode::Offline { None } else { self.bayes.delta() }
    }

    fn apply(&mut self, delta: &[u8]) -> Result<(), Problem> {
        self.changed = true;
        self.bayes.apply(delta)
    }
}
