//! Strategy `hmm`: a hidden Markov chain predicts how many links a page is away from a target; and what its
//! hybrids (`hybrid-hmm`, `hybrid-hmm-anchor`) share with it.

use super::recorded::{Early, SEED, TrainedOnce, Warmup, distances, targets};
use super::{Model, Parts, Reason, Rescore, Scored, Strategy, StrategyEntry, StrategySetup, Visit, Wants};
use crate::options;
use crate::text::{Counts, DocFreq, SparseVec};
use learn::bytes::{Reader, Writer};
use learn::hmm::Hmm;
use learn::kmeans::kmeans;
use learn::knn::Neighbours;
use learn::matrix::Matrix;
use learn::rng::Rng;
use learn::xmeans::xmeans;
use serde::Deserialize;
use types::{LinkKind, Priority, Problem, Source, Url};

pub(super) const ENTRY: StrategyEntry = StrategyEntry {
    name: "hmm",
    summary: "a hidden Markov chain over page clusters predicts which links lead to targets",
    doc: "\
## What it does
Recorded visits are labelled with their level, the number of links to the nearest relevant page (hidden state, L0 to L3 or more), and
clustered by their words (visible state): K-means with four clusters and a fifth of the relevant pages, or X-means over all. From
the record come π (share of pages per level), A (level-to-level steps) and B (clusters per level). While crawling, a page gets the cluster
of its k nearest recorded pages, `α_t(j) = b(j, c_t) · Σ_i α_{t−1}(i)·a_ij` along the path of first parents, and its links the priority
`α_{t+1}(L0) = Σ_i α_t(i)·a_i0`. Priorities equal within `epsilon` are ordered by the probability of L0 in two steps.

The record is the example pages, in the order given, when relevant ones and pages that lead to them are among them; else the crawl itself
(ours): its first `warmup` pages are ordered best-first, paths are the first parents, relevant is what the judge says (or the best twentieth,
when nothing was relevant). Then the chain is made and the whole frontier scored again.

## When it helps
Targets behind pages that are not like them (tunnelling): department → courses → syllabus.

## When it hurts
All links of a page get the same priority, as do pages of one cluster on alike paths; a record without relevant pages teaches little.

## Options
`clusters` = \"kmeans\" | \"xmeans\" · `k` = 4 clusters of irrelevant pages (K-means) · `most` = 10 clusters (X-means) · `neighbours` = 5 ·
`levels` = 4 · `epsilon` = 0.01 · `warmup` = 200 pages.

## Source
Batsakis, §3.4.1 (after Liu, Milios, Janssen). idf: the background collection's for K-means when there is one, else, and for X-means always,
of the record. Vectors have length one before they are clustered (ours).",
    build: |setup| Chain::build(setup, Mix::Alone),
};

/// How the chain's probability is combined with similarity to the relevant pages.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Mix {
    Alone,
    Page,
    PageAndAnchor,
}

#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Clusters {
    Kmeans,
    Xmeans,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Options {
    clusters: Clusters,
    k: usize,
    most: usize,
    neighbours: usize,
    levels: usize,
    epsilon: f64,
    warmup: u64,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            clusters: Clusters::Kmeans,
            k: 4,
            most: 10,
            neighbours: 5,
            levels: 4,
            epsilon: 0.01,
            warmup: 200,
        }
    }
}

/// Runs of K-means, of which the best is taken.
const RESTARTS: usize = 4;
const LATE: u8 = 2;

pub(super) struct Chain {
    mix: Mix,
    o: Options,
    rng: u64,
    idf: Option<DocFreq>,
    warmup: Warmup,
    model: Option<Trained>,
}

/// What was learnt.
struct Trained {
    df: DocFreq,
    neighbours: Neighbours,
    hmm: Hmm,
    /// `c_r`, of length one.
    target: SparseVec,
    /// α and similarity of each recorded page, for its links that still wait.
    pages: Vec<(Vec<f64>, f64)>,
}

impl Trained {
    fn similarity(&self, words: &Counts) -> f64 {
        cosine_with_unit(&words.tf_idf(&self.df), &self.target)
    }

    /// α after a page: `before` is that of the page it was reached from. A page without words is no
    /// observation.
    fn alpha(&self, before: Option<&[f64]>, cluster: Option<usize>) -> Vec<f64> {
        match (before, cluster) {
            (None, Some(c)) => self.hmm.first(c),
            (Some(a), Some(c)) => self.hmm.next(a, c),
            (None, None) => (0..self.hmm.states()).map(|i| self.hmm.start_of(i)).collect(),
            (Some(a), None) => self.hmm.predict(a),
        }
    }
}

/// The long one has length one: its length is not summed for every anchor.
fn cosine_with_unit(x: &SparseVec, unit: &SparseVec) -> f64 {
    let norm = x.norm();
    if norm > 0.0 { (x.dot(unit) / norm).clamp(0.0, 1.0) } else { 0.0 }
}

/// What decides about a link.
#[derive(Debug, PartialEq)]
struct Late {
    alpha: Vec<f64>,
    page: f64,
    anchor: f64,
}

impl Late {
    fn write(alpha: &[f64], page: f64, anchor: f64) -> Vec<u8> {
        let mut w = Writer(Vec::with_capacity(24 + 8 * alpha.len()));
        w.u8(LATE).f64(page).f64(anchor);
        alpha.iter().for_each(|a| {
            w.f64(*a);
        });
        w.0
    }
    fn read(evidence: &[u8], levels: usize) -> Option<Late> {
        let mut r = Reader(evidence);
        if r.u8().ok()? != LATE {
            return None;
        }
        let (page, anchor) = (r.f64().ok()?, r.f64().ok()?);
        let mut alpha = Vec::with_capacity(levels);
        for _ in 0..levels {
            alpha.push(r.f64().ok().filter(|a| (0.0..=1.0).contains(a))?);
        }
        r.end().ok()?;
        Some(Late { alpha, page, anchor })
    }
}

impl Chain {
    pub(super) fn build(setup: &StrategySetup, mix: Mix) -> Result<Box<dyn Strategy>, Problem> {
        let what = format!("strategy `{}`", setup.topic.strategy.kind);
        let o: Options = options::parse(&what, setup.options)?;
        if o.k == 0 || o.neighbours == 0 || o.warmup == 0 || !(2..=16).contains(&o.levels) {
            return Err(Problem::usage(format!(
                "{what}: k, neighbours and warmup must be at least 1, levels 2 to 16"
            )));
        }
        if o.k > 100 || !(2..=100).contains(&o.most) || o.warmup > 5_000 {
            return Err(Problem::usage(format!(
                "{what}: at most 100 clusters (`most` at least 2) and a warmup of 5000 pages"
            )));
        }
        if !(o.epsilon > 0.0 && o.epsilon <= 1.0) {
            return Err(Problem::usage(format!("{what}: epsilon must be above 0 and at most 1")));
        }
        let warmup = Warmup::new(setup, o.warmup);
        let told = warmup.told();
        let mut chain = Chain { mix, o, rng: setup.rng, idf: setup.idf.cloned(), warmup, model: None };
        if told {
            chain.train();
        }
        Ok(Box::new(chain))
    }

    /// From the record to the chain. The same record always gives the same chain, so only the record is
    /// saved.
    fn train(&mut self) {
        let record = &self.warmup.record;
        let extra = self.warmup.beside();
        let mut df = DocFreq::default();
        record.iter().map(|p| &p.words).chain(extra).for_each(|w| df.add(w));
        if self.o.clusters == Clusters::Kmeans
            && let Some(idf) = &self.idf
        {
            df = idf.clone();
        }
        let unit = |words: &Counts| {
            let mut v = words.tf_idf(&df);
            v.normalise();
            v
        };
        let vectors: Vec<SparseVec> = record.iter().map(|p| &p.words).chain(extra).map(unit).collect();
        let mut wanted = targets(record);
        let last = self.o.levels - 1;
        let mut levels: Vec<usize> =
            distances(record, &wanted).iter().map(|d| d.map_or(last, |d| d.min(last))).collect();
        wanted.extend(extra.iter().map(|_| true));
        levels.resize(vectors.len(), 0);

        let mut rng = Rng(self.rng);
        let (labels, symbols) = match self.o.clusters {
            Clusters::Kmeans => {
                let others: Vec<SparseVec> = vectors
                    .iter()
                    .zip(&wanted)
                    .filter(|(_, wanted)| !**wanted)
                    .map(|(v, _)| v.clone())
                    .collect();
                let found = kmeans(&Matrix::of(&others), self.o.k, RESTARTS, &mut rng);
                let relevant = found.centres.len();
                let mut of_others = found.labels.into_iter();
                let label = |w: &bool| if *w { relevant } else { of_others.next().unwrap_or(0) };
                (wanted.iter().map(label).collect::<Vec<_>>(), relevant + 1)
            }
            Clusters::Xmeans => {
                let found = xmeans(&Matrix::of(&vectors), 2, self.o.most, &mut rng);
                (found.labels, found.centres.len().max(1))
            }
        };
        let mut hmm = Hmm::new(self.o.levels, symbols);
        let parent = |i: usize| record.get(i).and_then(|p| p.parent).map(|p| p as usize).filter(|p| *p < i);
        let level = |i: usize| levels.get(i).copied();
        let counted: Vec<(usize, usize, Option<usize>)> = labels
            .iter()
            .zip(&levels)
            .enumerate()
            .map(|(i, (cluster, l))| (*l, *cluster, parent(i).and_then(level)))
            .collect();
        hmm.count_tree(&counted);

        let relevant: Vec<SparseVec> = if self.warmup.examples.is_empty() {
            let of_record = record.iter().zip(&wanted).filter(|(_, w)| **w);
            of_record.map(|(p, _)| p.words.tf_idf(&df)).collect()
        } else {
            self.warmup.examples.iter().map(|w| w.tf_idf(&df)).collect()
        };
        let mut target = SparseVec::centroid(&relevant);
        target.normalise();
        let neighbours = Neighbours::new(&vectors, &labels);
        let mut model = Trained { df, neighbours, hmm, target, pages: Vec::with_capacity(record.len()) };
        for (i, page) in record.iter().enumerate() {
            let cluster = labels.get(i).copied().filter(|_| !page.words.is_empty());
            let before = parent(i).and_then(|p| model.pages.get(p)).map(|p| p.0.clone());
            let alpha = model.alpha(before.as_deref(), cluster);
            let similarity = model.similarity(&page.words);
            model.pages.push((alpha, similarity));
        }
        self.model = Some(model);
    }

    fn key(&self, model: &Trained, late: &Late) -> f64 {
        let (one, two) = model.hmm.ahead(&late.alpha, 0);
        match self.mix {
            Mix::Alone => ordered(one, two, self.o.epsilon),
            Mix::Page => (late.page + one) / 2.0,
            Mix::PageAndAnchor => (one + (late.page + late.anchor) / 2.0) / 2.0,
        }
    }

    /// The evidence of a link as it counts now.
    fn late(&self, model: &Trained, evidence: &[u8]) -> Option<Late> {
        if let Some(late) = Late::read(evidence, self.o.levels) {
            return Some(late);
        }
        let early = Early::read(evidence)?;
        let (alpha, page) = model.pages.get(early.page as usize)?;
        let anchor = if self.mix == Mix::PageAndAnchor { model.similarity(&early.anchor()) } else { 0.0 };
        Some(Late { alpha: alpha.clone(), page: *page, anchor })
    }
}

/// `⌊one/ε⌋` decides, then `two`, as one number: within a step of ε, never reaching the next.
fn ordered(one: f64, two: f64, epsilon: f64) -> f64 {
    (libm::floor(one / epsilon) + two.clamp(0.0, 1.0) * (1.0 - 1e-9)) * epsilon
}

impl Strategy for Chain {
    fn wants(&self) -> Wants {
        Wants::SOURCES.and(Parts::COUNTS)
    }

    fn seed(&mut self, _: &Url) -> Scored {
        Scored { priority: Priority::new(SEED, 1.0), evidence: Vec::new(), ttl: None }
    }

    fn learn(&mut self, visit: &Visit) -> Rescore {
        if self.model.is_some() {
            return Rescore::Nothing;
        }
        if !self.warmup.learn(visit) {
            return Rescore::Nothing;
        }
        self.train();
        Rescore::Everything
    }

    fn score(&mut self, visit: &Visit) -> Vec<Option<Scored>> {
        let Some(model) = &self.model else { return self.warmup.score(visit) };
        let words = visit.doc.counts();
        let vector = words.tf_idf(&model.df);
        let cluster =
            if words.is_empty() { None } else { model.neighbours.assign(&vector, self.o.neighbours) };
        let before = visit.sources.first().and_then(|s| self.late(model, &s.evidence)).map(|l| l.alpha);
        let alpha = model.alpha(before.as_deref(), cluster);
        let page = cosine_with_unit(&vector, &model.target);
        let (one, two) = model.hmm.ahead(&alpha, 0);
        let one = |link: &types::Link| {
            let anchor = match self.mix {
                Mix::PageAndAnchor => model.similarity(&Counts::of(&[visit.doc.anchor(link)])),
                _ => 0.0,
            };
            let key = match self.mix {
                Mix::Alone => ordered(one, two, self.o.epsilon),
                Mix::Page => (page + one) / 2.0,
                Mix::PageAndAnchor => (one + (page + anchor) / 2.0) / 2.0,
            };
            let evidence = Late::write(&alpha, page, anchor);
            Some(Scored { priority: Priority::key_only(key), evidence, ttl: None })
        };
        visit.doc.page.links.iter().map(one).collect()
    }

    fn rescore(&mut self, sources: &[Source]) -> Option<Priority> {
        let model = self.model.as_ref()?;
        if sources.iter().any(|s| s.kind == LinkKind::Seed) {
            return None;
        }
        let keys = sources.iter().filter_map(|s| self.late(model, &s.evidence));
        keys.map(|late| Priority::key_only(self.key(model, &late))).max()
    }

    fn explain(&self, evidence: &[u8], priority: Priority) -> Vec<Reason> {
        let reason = |label: &str, value: f64| Reason { label: label.into(), value };
        let Some(model) = &self.model else {
            return vec![reason("best-first, before training", priority.key())];
        };
        let Some(late) = self.late(model, evidence) else { return vec![reason("a seed", priority.key())] };
        let (one, two) = model.hmm.ahead(&late.alpha, 0);
        let mut out = vec![reason("Pr(target in one link)", one), reason("Pr(target in two links)", two)];
        if self.mix != Mix::Alone {
            out.push(reason("page like the relevant ones", late.page));
        }
        if self.mix == Mix::PageAndAnchor {
            out.push(reason("anchor like the relevant ones", late.anchor));
        }
        out
    }

    fn model(&mut self) -> Option<&mut dyn Model> {
        Some(self)
    }
}

impl TrainedOnce for Chain {
    fn warmup(&mut self) -> &mut Warmup {
        &mut self.warmup
    }
    fn is_trained(&self) -> bool {
        self.model.is_some()
    }
    fn train(&mut self) {
        Chain::train(self);
    }
    fn forget(&mut self) {
        self.model = None;
    }
}

#[cfg(test)]
#[path = "hmm_tests.rs"]
mod tests;
