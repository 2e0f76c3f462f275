//! Strategy `context-graph`: how far is this page from a target? Links of near pages first.

use super::recorded::{Early, SEED, TrainedOnce, Warmup, distances, targets};
use super::{Model, Parts, Reason, Rescore, Scored, Strategy, StrategyEntry, StrategySetup, Visit, Wants};
use crate::options;
use crate::text::{Counts, DocFreq, SparseVec};
use learn::bayes::Bayes;
use learn::bytes::{Reader, Writer};
use learn::softmax;
use serde::Deserialize;
use types::{LinkKind, Priority, Problem, Source, Url};

pub(super) const ENTRY: StrategyEntry = StrategyEntry {
    name: "context-graph",
    summary: "a classifier per layer says how many links a page is from a target; links of near pages first",
    doc: "\
## What it does
The context graph has the targets in layer 0, pages that link to them in layer 1, and so on. Each layer, and what is in none, is known
by its 40 heaviest tf·idf terms and has a naive Bayes model over the terms of all. A fetched page belongs to the layer with the
highest posterior, or to \"other\" when that is below 0.5, or the page has none of the terms. Its links go to that layer's queue, ordered by
the posterior; the queue of the nearest layer that has something is served.

Batsakis builds the graph from example pages and their in-links. Here in-links come from the example pages, when some of them lead to relevant
ones; else from the crawl itself (ours): its first `warmup` pages are ordered best-first, targets are what the judge found relevant (or the
best twentieth, when nothing was relevant), and their in-links among those pages make the layers. Then the whole frontier is put
into the queues.

## When it helps
Targets that are found by way of typical other pages: departments, course lists, tables of contents.

## When it hurts
Webs where the way to a target looks like any other page; links of one page are all equal.

## Options
`layers` = 4 · `terms` = 40 per layer · `other` = 0.5: the posterior below which a page is in no layer · `warmup` = 200 pages.

## Source
Diligenti, Coetzee, Lawrence, Giles, Gori: Focused crawling using context graphs, 2000; Batsakis, §2.5, Assis 2008, §6.2. All layers are
equally likely beforehand (ours: the record's shares are those of the warm-up, not of the web).",
    build,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Options {
    layers: usize,
    terms: usize,
    other: f64,
    warmup: u64,
}

impl Default for Options {
    fn default() -> Self {
        Options { layers: 4, terms: 40, other: 0.5, warmup: 200 }
    }
}

const LATE: u8 = 2;

struct ContextGraph {
    o: Options,
    idf: Option<DocFreq>,
    warmup: Warmup,
    model: Option<Trained>,
}

struct Trained {
    layers: Layers,
    /// Where each recorded page belongs, for its links that still wait.
    pages: Vec<Place>,
}

/// A model per layer, nearest first, and one of what is in no layer.
struct Layers {
    /// The terms of all, sorted.
    terms: Vec<u64>,
    bayes: Bayes,
}

/// Layer (`None` = other) and how sure that is.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Place {
    layer: Option<u8>,
    posterior: f64,
}

impl Layers {
    /// From pages with their layers; `terms` = how many describe each.
    fn new(layers: usize, terms: usize, df: &DocFreq, pages: &[(&Counts, usize)]) -> Layers {
        let mut all: Vec<u64> = Vec::new();
        for n in 0..=layers {
            let inside: Vec<SparseVec> = pages.iter().filter(|p| p.1 == n).map(|p| p.0.tf_idf(df)).collect();
            all.extend(SparseVec::sum(&inside).top(terms).iter().map(|e| e.0));
        }
        all.sort_unstable();
        all.dedup();
        let mut out = Layers { terms: all, bayes: Bayes::new(layers + 1) };
        for (words, n) in pages {
            let features = out.features(words);
            out.bayes.add(*n, features);
        }
        out
    }

    fn features(&self, words: &Counts) -> Vec<(u64, u32)> {
        self.terms.iter().map(|t| (*t, words.get(*t))).filter(|f| f.1 > 0).collect()
    }

    /// The layer with the highest posterior (all equally likely beforehand); of equal ones the nearest.
    fn place(&self, words: &Counts, other: f64) -> Place {
        let features = self.features(words);
        if features.is_empty() {
            return Place { layer: None, posterior: 0.0 };
        }
        let priors = self.bayes.log_joint([]);
        let mut p = self.bayes.log_joint(features);
        for (n, (log, prior)) in p.iter_mut().zip(&priors).enumerate() {
            *log = if self.bayes.documents(n) == 0 { f64::NEG_INFINITY } else { *log - prior };
        }
        softmax(&mut p);
        let rest = p.len().saturating_sub(1);
        let mut best = Place { layer: None, posterior: 0.0 };
        for (n, p) in p.into_iter().enumerate() {
            if p > best.posterior {
                best = Place { layer: (n < rest).then_some(n as u8), posterior: p };
            }
        }
        match best.layer {
            Some(_) if best.posterior >= other => best,
            // How sure it is that the page is in no layer must not lift its links.
            _ => Place { layer: None, posterior: 0.0 },
        }
    }
}

fn build(setup: &StrategySetup) -> Result<Box<dyn Strategy>, Problem> {
    let what = "strategy `context-graph`";
    let o: Options = options::parse(what, setup.options)?;
    if !(1..=32).contains(&o.layers) || !(1..=10_000).contains(&o.terms) || !(1..=5_000).contains(&o.warmup) {
        return Err(Problem::usage(format!(
            "{what}: layers must be 1 to 32, terms 1 to 10000, warmup 1 to 5000 pages"
        )));
    }
    if !(0.0..=1.0).contains(&o.other) {
        return Err(Problem::usage(format!("{what}: other must be between 0 and 1")));
    }
    let warmup = Warmup::new(setup, o.warmup);
    let told = warmup.told();
    let mut graph = ContextGraph { o, idf: setup.idf.cloned(), warmup, model: None };
    if told {
        graph.train();
    }
    Ok(Box::new(graph))
}

impl ContextGraph {
    fn train(&mut self) {
        let record = &self.warmup.record;
        let extra = self.warmup.beside();
        let mut df = DocFreq::default();
        record.iter().map(|p| &p.words).chain(extra).for_each(|w| df.add(w));
        let df = self.idf.as_ref().unwrap_or(&df);
        let rest = self.o.layers;
        let levels = distances(record, &targets(record));
        let mut pages: Vec<(&Counts, usize)> =
            record.iter().zip(levels).map(|(p, d)| (&p.words, d.map_or(rest, |d| d.min(rest)))).collect();
        pages.extend(extra.iter().map(|w| (w, 0)));
        let layers = Layers::new(self.o.layers, self.o.terms, df, &pages);
        let pages = record.iter().map(|p| layers.place(&p.words, self.o.other)).collect();
        self.model = Some(Trained { layers, pages });
    }

    /// Nearest layer = highest queue; below all of them, "other".
    fn priority(&self, place: Place) -> Priority {
        let lane = place.layer.map_or(0, |l| self.o.layers.saturating_sub(usize::from(l)) as u8);
        Priority::new(lane, place.posterior)
    }

    fn read(&self, model: &Trained, evidence: &[u8]) -> Option<Place> {
        if let Some(early) = Early::read(evidence) {
            return model.pages.get(early.page as usize).copied();
        }
        let mut r = Reader(evidence);
        if r.u8().ok()? != LATE {
            return None;
        }
        let layer = r.u8().ok()?.checked_sub(1).filter(|l| usize::from(*l) < self.o.layers);
        Some(Place { layer, posterior: r.f64().ok()? })
    }
}

impl Strategy for ContextGraph {
    fn wants(&self) -> Wants {
        Wants::NOTHING.and(Parts::COUNTS)
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
        let place = model.layers.place(visit.doc.counts(), self.o.other);
        let priority = self.priority(place);
        let mut w = Writer::default();
        w.u8(LATE).u8(place.layer.map_or(0, |l| l + 1)).f64(place.posterior);
        let one = |_: &types::Link| Some(Scored { priority, evidence: w.0.clone(), ttl: None });
        visit.doc.page.links.iter().map(one).collect()
    }

    fn rescore(&mut self, sources: &[Source]) -> Option<Priority> {
        let model = self.model.as_ref()?;
        if sources.iter().any(|s| s.kind == LinkKind::Seed) {
            return None;
        }
        sources.iter().filter_map(|s| self.read(model, &s.evidence)).map(|p| self.priority(p)).max()
    }

    fn explain(&self, evidence: &[u8], priority: Priority) -> Vec<Reason> {
        let reason = |label: String, value: f64| vec![Reason { label, value }];
        let Some(model) = &self.model else {
            return reason("best-first, before the layers are known".into(), priority.key());
        };
        match self.read(model, evidence) {
            None => reason("a seed".into(), priority.key()),
            Some(Place { layer: Some(l), posterior }) => {
                reason(format!("on a page of layer {l} (links to a target)"), posterior)
            }
            Some(Place { layer: None, posterior }) => reason("on a page of no layer".into(), posterior),
        }
    }

    fn model(&mut self) -> Option<&mut dyn Model> {
        Some(self)
    }
}

impl TrainedOnce for ContextGraph {
    fn warmup(&mut self) -> &mut Warmup {
        &mut self.warmup
    }
    fn is_trained(&self) -> bool {
        self.model.is_some()
    }
    fn train(&mut self) {
        ContextGraph::train(self);
    }
    fn forget(&mut self) {
        self.model = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::run;
    use crate::text::word_hash;

    const WEB: &str = "
        == http://a/
        department [alpha](/list1) [beta](/blog1) [gamma](/list2) [delta](/blog2) [epsilon](/blog3) [zeta](/list3)
        == /list1
        courses courses courses [g1](/g1)
        == /blog1
        photos [h1](/h1)
        == /list2
        courses courses courses [g2](/g2)
        == /blog2
        photos [h2](/h2)
        == /blog3
        photos [h3](/h3)
        == /list3
        courses courses courses [g3](/g3)
        == /g1
        sql
        == /h1
        == /g2
        sql
        == /h2
        == /h3
        == /g3
        sql
        ";

    fn topic(options: &str) -> String {
        format!("query = 'sql'\n[judge]\nthreshold = 0.5\n[strategy]\nkind = 'context-graph'\n{options}")
    }

    #[test]
    fn layers_are_queues() {
        let c = run(WEB, &topic("warmup = 10"));
        // The record ends with /g1 /h1 /g2: layer 0 = /g1, /g2, layer 1 = /list1, /list2, layer 2 = /, in
        // none: the others, /list3 among them, whose target was not visited. Yet it reads like layer 1, so
        // /g3 overtakes.
        assert_eq!(c.order(), "/ /list1 /blog1 /list2 /blog2 /blog3 /list3 /g1 /h1 /g2 /g3 /h2 /h3");
        let lane = |path: &str| c.steps.iter().find(|s| s.url.path() == path).unwrap().priority.lane;
        assert_eq!((lane("/g3"), lane("/h2"), lane("/h3")), (3, 0, 0));
        c.expect_lease_key("/h2", 0.0);
        // All words are terms. T: sql, courses, g1, g2, g3, department, 6 anchors, photos, h1, h2, h3 = 16.
        // Tokens: layer 0: 2; layer 1: courses 6, g1, g2; layer 2: 7; none: photos 3, h1–h3, courses 3, g3.
        let t = 16.0f64;
        let p = [
            (1.0 / (t + 2.0)).powi(4),
            (7.0 / (t + 8.0)).powi(3) * (1.0 / (t + 8.0)),
            (1.0 / (t + 7.0)).powi(4),
            (4.0 / (t + 10.0)).powi(3) * (2.0 / (t + 10.0)),
        ];
        c.expect_lease_key("/g3", p[1] / p.iter().sum::<f64>());
    }

    #[test]
    fn places_by_hand() {
        let words =
            |w: &[(&str, u32)]| Counts::from_pairs(w.iter().map(|(w, n)| (word_hash(w), *n)).collect());
        let (a, b, c) = (words(&[("sql", 3)]), words(&[("list", 1), ("x", 1)]), words(&[("soup", 2)]));
        // One term each: of layer 1 the heavier by hash order; nothing in layer 2.
        let layers = Layers::new(3, 1, &DocFreq::default(), &[(&a, 0), (&b, 1), (&c, 3)]);
        assert_eq!(layers.terms.len(), 3);
        // sql: θ = 4/6 in layer 0, 1/4 in layer 1, 1/5 in none.
        let p = (4.0 / 6.0) / (4.0 / 6.0 + 1.0 / 4.0 + 1.0 / 5.0);
        let place = layers.place(&words(&[("sql", 1), ("unknown", 7)]), 0.5);
        assert!(place.layer == Some(0) && (place.posterior - p).abs() < 1e-12);
        // Too strict a bound, no known words, more like the rest: in no layer.
        for (w, other) in
            [(&a, 0.9999), (&words(&[("unknown", 1)]), 0.5), (&Counts::default(), 0.0), (&c, 0.1)]
        {
            assert_eq!(layers.place(w, other).layer, None);
        }
        // One class: everything known is in it.
        let one = Layers::new(3, 9, &DocFreq::default(), &[(&a, 0)]);
        assert_eq!(one.place(&a, 0.5), Place { layer: Some(0), posterior: 1.0 });
        assert_eq!(Layers::new(3, 9, &DocFreq::default(), &[]).place(&a, 0.5).layer, None);
    }

    #[test]
    fn odd_records() {
        for options in ["warmup = 1", "warmup = 3\nlayers = 1", "warmup = 1000", "warmup = 4\nterms = 1"] {
            let c = run(&WEB.replace("sql", "?!"), &topic(options));
            assert_eq!(c.steps.len(), 13, "{options}");
        }
        for wrong in ["layers = 0", "terms = 0", "other = 2", "warmup = 0"] {
            let t = crate::topic::Topic::from_toml(&topic(wrong)).unwrap();
            assert!(build(&StrategySetup::new(&t)).is_err(), "{wrong}");
        }
        let t = crate::topic::Topic::from_toml(&topic("")).unwrap();
        let mut s = build(&StrategySetup::new(&t)).unwrap();
        let good = s.model().unwrap().save(true).unwrap();
        assert!((0..good.len()).all(|n| s.model().unwrap().load(&good[..n]).is_err()));
    }
}
