//! Strategy `infospiders`: a population of agents that live on relevance (Menczer and Belew; Assis 2008,
//! §1.4).
//!
//! How agents, which each sit on a page and choose among its links, become one frontier:
//! * An agent lives in a **lane** of its own; the links of the pages it visited wait there. Living agents
//!   take turns ([`Strategy::lane`]); when an agent's lane has nothing, the frontier serves the highest lane
//!   that has.
//! * An agent chooses link l with probability `e^{β·λ(l)} / Σ e^{β·λ}`. The largest of `λ + G/β` with
//!   independent Gumbel numbers G is distributed exactly so: that is the **key**. G is made from the seed and
//!   the URL, nothing is drawn in order.
//! * An agent that **dies** leaves its links where they are. Whoever lives in the lane next has them: an
//!   offspring that is given the lane, or an agent born on the page when a link of an empty lane is fetched,
//!   with the genes of the fittest.
//! * **Splitting**, the links of the page at hand are shared: each goes to the agent that values it more.

use super::query_vector::QueryVector;
use super::{
    Miss, Model, Parts, Reason, Rescore, Scored, Strategy, StrategyEntry, StrategySetup, Visit, Wants,
};
use crate::options;
use crate::text::{Doc, Token, word_hash};
use learn::bytes::{Reader, Writer, damaged};
use learn::rng::Rng;
use serde::Deserialize;
use types::{Link, Priority, Problem, Source, Url, UrlId};

pub(super) const ENTRY: StrategyEntry = StrategyEntry {
    name: "infospiders",
    summary: "a population of agents with energy and small neural nets that breed where pages are relevant",
    doc: "\
## What it does
Agents start on the seeds. Each has keywords (at first the topic's) and a one-layer net over them: a link's inputs are its
keywords nearby, `Σ 1/distance` over the 12 words on either side and the anchor (distance 1); the output is what the link is expected to bring.
Links are chosen by chance, good ones more often. A page costs an agent energy 1 and brings its similarity with the topic, in units
of the mean similarity so far: on average life goes on, on good pages an agent fattens and splits, on poor ones it dies. After
each page the net of the agent learns: expected was its output for the link, real is the page's similarity plus half the best output on
the page's own links (Q-learning). An offspring has half the energy, slightly other weights, and the page's most frequent word
as a keyword (from 32 on in place of the one that matters least).

## When it helps
Webs with several good regions of different vocabulary: agents adapt to where they are. A reference for what local learning
without a global view can do.

## When it hurts
Each agent learns from its own few pages only; studies (Chakrabarti's too) find a plain best-first crawl ahead on short crawls.

## Options
`agents` = 32 at most (up to 200) · `energy` = 0.5 at birth · `cost` = 1 per page · `split` = 1: energy to split at · `window` = 12 words on
either side · `rate` = 0.1 of learning · `discount` = 0.5 · `beta` = 8: how strongly better links are preferred; 0 = always the
best · `mutation` = 0.2: how far an offspring's weights may be off.

## Source
Menczer and Belew: Adaptive retrieval agents, 2000; Menczer, Pant, Srinivasan: Topical web crawlers, 2004; Assis 2008, §1.4. The numbers
and the benefit in units of the mean are ours.",
    build,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Options {
    agents: u8,
    energy: f64,
    cost: f64,
    split: f64,
    window: usize,
    rate: f64,
    discount: f64,
    beta: f64,
    mutation: f64,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            agents: 32,
            energy: 0.5,
            cost: 1.0,
            split: 1.0,
            window: 12,
            rate: 0.1,
            discount: 0.5,
            beta: 8.0,
            mutation: 0.2,
        }
    }
}

/// Seeds wait above all agents.
const SEEDS: u8 = u8::MAX;
const EVIDENCE: u8 = 1;
/// So many of the topic's words are keywords.
const MOST_KEYWORDS: usize = 32;
/// One input is no larger than this, however often the word is repeated in an anchor.
const MOST_INPUT: f64 = 4.0;
/// Weights stay within this.
const MOST_WEIGHT: f64 = 16.0;
/// What a keyword is worth to the first agents.
const FIRST_WEIGHT: f64 = 0.5;

/// What an offspring inherits.
#[derive(Clone, Debug, PartialEq)]
struct Genes {
    /// Names the list of keywords: inputs measured for one list mean nothing for another.
    list: u32,
    keywords: Vec<u64>,
    weights: Vec<f64>,
    bias: f64,
}

impl Genes {
    /// The net's output: what a link is expected to bring.
    fn value(&self, inputs: &[f64]) -> f64 {
        self.bias + self.weights.iter().zip(inputs).map(|(w, x)| w * x).sum::<f64>()
    }

    /// One step of normalised least mean squares towards `target`.
    fn learn(&mut self, inputs: &[f64], target: f64, rate: f64) {
        let length = 1.0 + inputs.iter().map(|x| x * x).sum::<f64>();
        let step = rate * (target - self.value(inputs)) / length;
        let bounded = |w: f64| w.clamp(-MOST_WEIGHT, MOST_WEIGHT);
        self.bias = bounded(self.bias + step);
        for (w, x) in self.weights.iter_mut().zip(inputs) {
            *w = bounded(*w + step * x);
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
struct Agent {
    lane: u8,
    energy: f64,
    genes: Genes,
    /// Pages it has visited.
    pages: u32,
    /// Visits (of anybody) at its last one: who has no links left starves.
    last: u64,
}

/// Everything that lives and changes.
#[derive(Clone, Debug, PartialEq)]
struct World {
    /// By lane.
    agents: Vec<Agent>,
    /// Genes for whoever is born when nobody lives.
    ancestor: Genes,
    lists: u32,
    rng: Rng,
    visits: u64,
    /// Whose turn it is, as a count.
    turn: u64,
    /// Seeds given and not yet fetched.
    seeds: u32,
    similarity: f64,
    births: u64,
    deaths: u64,
}

struct InfoSpiders {
    o: Options,
    seed: u64,
    query: QueryVector,
    /// The genes it starts with.
    first: Genes,
    world: World,
    /// The page just learnt from, and the lanes its links go to: of the agent at hand, and of its offspring.
    here: (UrlId, u8, Option<u8>),
    changed: bool,
}

fn build(setup: &StrategySetup) -> Result<Box<dyn Strategy>, Problem> {
    let o: Options = options::parse("strategy `infospiders`", setup.options)?;
    let fine = |v: f64| v.is_finite() && (0.0..=1e6).contains(&v);
    let numbers = [o.energy, o.cost, o.split, o.rate, o.discount, o.beta, o.mutation];
    if !numbers.into_iter().all(fine) || o.discount >= 1.0 || o.rate > 1.0 {
        return Err(Problem::usage(
            "strategy `infospiders`: all numbers are 0 or more, discount is below 1, rate at most 1",
        ));
    }
    if !(1..=200).contains(&o.agents) || o.window > 1_000 {
        return Err(Problem::usage("strategy `infospiders`: agents is 1 to 200, window at most 1000"));
    }
    let query = QueryVector::new(setup);
    // Ascending by hash, as everywhere.
    let keywords: Vec<u64> = query.vector().iter().map(|e| e.0).take(MOST_KEYWORDS).collect();
    let weights = vec![FIRST_WEIGHT; keywords.len()];
    let ancestor = Genes { list: 0, keywords, weights, bias: 0.0 };
    let first = ancestor.clone();
    let world = World {
        agents: Vec::new(),
        ancestor,
        lists: 0,
        rng: Rng(setup.rng ^ 0x696e_666f),
        visits: 0,
        turn: 0,
        seeds: 0,
        similarity: 0.0,
        births: 0,
        deaths: 0,
    };
    Ok(Box::new(InfoSpiders {
        o,
        seed: setup.rng,
        query,
        first,
        world,
        here: (UrlId(u32::MAX), 1, None),
        changed: false,
    }))
}

impl World {
    fn at(&self, lane: u8) -> Option<usize> {
        self.agents.binary_search_by_key(&lane, |a| a.lane).ok()
    }
    fn genes(&self, lane: u8) -> &Genes {
        self.at(lane).and_then(|i| self.agents.get(i)).map_or(&self.ancestor, |a| &a.genes)
    }
    fn free_lane(&self, most: u8) -> Option<u8> {
        (1..=most).find(|l| self.at(*l).is_none())
    }
    fn fittest(&self) -> &Genes {
        let best = self.agents.iter().max_by(|a, b| a.energy.total_cmp(&b.energy).then(b.lane.cmp(&a.lane)));
        best.map_or(&self.ancestor, |a| &a.genes)
    }
    fn born(&mut self, lane: u8, energy: f64, genes: Genes) {
        let agent = Agent { lane, energy, genes, pages: 0, last: self.visits };
        let at = self.agents.partition_point(|a| a.lane < lane);
        self.agents.insert(at, agent);
        self.births += 1;
    }
    fn dies(&mut self, at: usize) {
        if at < self.agents.len() {
            self.ancestor = self.agents.remove(at).genes;
            self.deaths += 1;
        }
    }
}

impl InfoSpiders {
    /// The agent on whose account a page goes: the one in its lane, else one born there.
    fn host(&mut self, lane: u8) -> u8 {
        let lane = if (1..=self.o.agents).contains(&lane) { Some(lane) } else { None };
        if let Some(l) = lane.filter(|l| self.world.at(*l).is_some()) {
            return l;
        }
        // A seed, or a link nobody owns. With no place left the weakest makes room.
        let lane = lane.or_else(|| self.world.free_lane(self.o.agents)).unwrap_or_else(|| {
            let weakest = self.world.agents.iter().enumerate();
            let at = weakest.min_by(|a, b| a.1.energy.total_cmp(&b.1.energy)).map_or(0, |e| e.0);
            let lane = self.world.agents.get(at).map_or(1, |a| a.lane);
            self.world.dies(at);
            lane
        });
        let genes = self.world.fittest().clone();
        self.world.born(lane, self.o.energy, genes);
        lane
    }

    /// Keywords near a link: anchor words at distance 1, the n-th word outside it at distance n + 1.
    fn inputs(&self, doc: &Doc, link: &Link, genes: &Genes) -> Vec<f64> {
        let body = doc.body();
        let from = body.partition_point(|t| t.start < link.anchor.start);
        let to = from + body.get(from..).unwrap_or(&[]).partition_point(|t| t.start < link.anchor.end);
        let mut inputs = vec![0.0; genes.keywords.len()];
        let mut note = |t: &Token, distance: usize| {
            if let Ok(k) = genes.keywords.binary_search(&t.hash)
                && let Some(x) = inputs.get_mut(k)
            {
                *x = f64::min(*x + 1.0 / distance as f64, MOST_INPUT);
            }
        };
        // A page that is one link is not read again for each of its words.
        let anchor = body.get(from..to.min(from + 64)).unwrap_or(&[]);
        anchor.iter().for_each(|t| note(t, 1));
        let before = body.get(from.saturating_sub(self.o.window)..from).unwrap_or(&[]);
        before.iter().rev().enumerate().for_each(|(n, t)| note(t, n + 2));
        let after = body.get(to..body.len().min(to + self.o.window)).unwrap_or(&[]);
        after.iter().enumerate().for_each(|(n, t)| note(t, n + 2));
        inputs
    }

    /// The chance of a link: the same whenever it is asked for.
    fn gumbel(&self, url: &Url) -> f64 {
        if self.o.beta <= 0.0 {
            return 0.0;
        }
        let unit = Rng(self.seed ^ word_hash(url.as_str())).unit();
        // Never 0 or 1, so that both logarithms are finite.
        let unit = unit.clamp(1e-12, 1.0 - 1e-12);
        -libm::log(-libm::log(unit)) / self.o.beta
    }

    /// An offspring beside the agent `at`: half the energy, other weights, a keyword of the page.
    fn split(&mut self, at: usize, doc: &Doc) -> Option<u8> {
        let lane = self.world.free_lane(self.o.agents)?;
        let agent = self.world.agents.get_mut(at)?;
        agent.energy /= 2.0;
        let energy = agent.energy;
        let mut genes = agent.genes.clone();
        for w in genes.weights.iter_mut().chain(std::iter::once(&mut genes.bias)) {
            let off = self.o.mutation * (2.0 * self.world.rng.unit() - 1.0);
            *w = (*w + off).clamp(-MOST_WEIGHT, MOST_WEIGHT);
        }
        self.new_keyword(&mut genes, doc);
        self.world.born(lane, energy, genes);
        Some(lane)
    }

    /// The page's most frequent word becomes a keyword; when there are enough, in place of the one that
    /// matters least.
    fn new_keyword(&mut self, genes: &mut Genes, doc: &Doc) {
        let fresh = doc.counts().iter().filter(|(h, n)| *n > 1 && genes.keywords.binary_search(h).is_err());
        let Some((word, _)) = fresh.max_by(|a, b| a.1.cmp(&b.1).then(b.0.cmp(&a.0))) else { return };
        let weights = genes.weights.iter().enumerate();
        let Some((least, _)) = weights.min_by(|a, b| a.1.abs().total_cmp(&b.1.abs())) else { return };
        if genes.keywords.len() >= MOST_KEYWORDS {
            genes.keywords.remove(least);
            genes.weights.remove(least);
        }
        let at = genes.keywords.partition_point(|k| *k < word);
        genes.keywords.insert(at, word);
        genes.weights.insert(at, FIRST_WEIGHT);
        self.world.lists = self.world.lists.wrapping_add(1);
        genes.list = self.world.lists;
    }

    /// Who has had no page for many rounds has no links left.
    fn starve(&mut self) {
        let patience = 4 * self.world.agents.len() as u64 + 20;
        let visits = self.world.visits;
        while let Some(at) = self.world.agents.iter().position(|a| visits - a.last.min(visits) > patience) {
            self.world.dies(at);
        }
    }
}

/// What a link carries: whose keywords its inputs are for, its chance, and the inputs.
struct Carried {
    seed: bool,
    list: u32,
    chance: f64,
    inputs: Vec<f64>,
}

impl Carried {
    fn write(&self) -> Vec<u8> {
        let mut w = Writer::default();
        w.u8(EVIDENCE).u8(u8::from(self.seed)).u32(self.list).f64(self.chance).u8(self.inputs.len() as u8);
        // Single precision is plenty for Σ 1/distance, and is what is learnt from on both sides of a restart.
        self.inputs.iter().for_each(|x| {
            w.u32((*x as f32).to_bits());
        });
        w.0
    }
    fn read(bytes: &[u8]) -> Option<Carried> {
        let mut r = Reader(bytes);
        if r.u8().ok()? != EVIDENCE {
            return None;
        }
        let (seed, list, chance) = (r.u8().ok()? == 1, r.u32().ok()?, r.f64().ok()?);
        let inputs = (0..r.u8().ok()?).map(|_| {
            let x = f64::from(f32::from_bits(r.u32().ok()?));
            x.is_finite().then_some(x)
        });
        Some(Carried { seed, list, chance, inputs: inputs.collect::<Option<Vec<f64>>>()? })
    }
}

impl InfoSpiders {
    /// Agents take turns; while seeds wait, one of them is started in every round.
    fn next_lane(&self) -> Option<u8> {
        let agents = &self.world.agents;
        let waiting = usize::from(self.world.seeds > 0);
        let round = (agents.len() + waiting) as u64;
        let at = self.world.turn.checked_rem(round)? as usize;
        agents.get(at).map_or(Some(SEEDS), |a| Some(a.lane))
    }
}

impl Strategy for InfoSpiders {
    fn wants(&self) -> Wants {
        Wants { lane: self.next_lane(), ..Wants::NOTHING.and(Parts::COUNTS) }
    }

    fn seed(&mut self, _: &Url) -> Scored {
        self.world.seeds = self.world.seeds.saturating_add(1);
        self.changed = true;
        let carried = Carried { seed: true, list: 0, chance: 0.0, inputs: Vec::new() };
        Scored { priority: Priority::new(SEEDS, 1.0), evidence: carried.write(), ttl: None }
    }

    fn learn(&mut self, visit: &Visit) -> Rescore {
        self.changed = true;
        self.query.learn(visit.doc);
        let similarity = if visit.worthless { 0.0 } else { self.query.page(visit.doc) };
        let w = &mut self.world;
        (w.visits, w.turn) = (w.visits + 1, w.turn + 1);
        w.similarity += similarity;
        let mean = w.similarity / w.visits as f64;
        // Where nobody has found anything yet, nobody can be blamed.
        let benefit = if mean > 0.0 { similarity / mean } else { self.o.cost };
        let carried = Carried::read(visit.evidence);
        if carried.as_ref().is_some_and(|c| c.seed) {
            w.seeds = w.seeds.saturating_sub(1);
        }
        let lane = self.host(visit.priority.lane);
        self.here = (visit.id, lane, None);

        // Q-learning: what the link brought, against what was expected of it.
        let genes = self.world.genes(lane).clone();
        let best = visit.doc.page.links.iter().map(|l| genes.value(&self.inputs(visit.doc, l, &genes)));
        let next = best.max_by(f64::total_cmp).unwrap_or(0.0);
        let Some(at) = self.world.at(lane) else { return Rescore::Nothing };
        let visits = self.world.visits;
        let Some(agent) = self.world.agents.get_mut(at) else { return Rescore::Nothing };
        if let Some(c) = carried.filter(|c| !c.seed && c.list == agent.genes.list) {
            agent.genes.learn(&c.inputs, similarity + self.o.discount * next, self.o.rate);
        }
        agent.pages = agent.pages.saturating_add(1);
        agent.last = visits;
        agent.energy += benefit - self.o.cost;
        if agent.energy >= self.o.split && agent.energy > 0.0 {
            self.here.2 = self.split(at, visit.doc);
            // No place for offspring: what cannot be passed on is not hoarded.
            if let Some(a) = self.world.agents.get_mut(at).filter(|_| self.here.2.is_none()) {
                a.energy = self.o.split;
            }
        } else if agent.energy < 0.0 {
            self.world.dies(at);
        }
        self.starve();
        Rescore::Nothing
    }

    fn score(&mut self, visit: &Visit) -> Vec<Option<Scored>> {
        // A sitemap is scored without being learnt from: its links go where it was.
        let (lane, offspring) = match self.here {
            (id, lane, offspring) if id == visit.id => (lane, offspring),
            _ => (visit.priority.lane.clamp(1, self.o.agents), None),
        };
        let first = self.world.genes(lane);
        let second = offspring.map(|l| (l, self.world.genes(l)));
        let one = |(i, link): (usize, &Link)| {
            let mut inputs = self.inputs(visit.doc, link, first);
            let (mut lane, mut genes, mut value) = (lane, first, first.value(&inputs));
            if let Some((l, g)) = second {
                let theirs = self.inputs(visit.doc, link, g);
                let v = g.value(&theirs);
                if v > value || (v == value && i % 2 == 1) {
                    (lane, genes, value, inputs) = (l, g, v, theirs);
                }
            }
            let chance = self.gumbel(&link.url);
            let carried = Carried { seed: false, list: genes.list, chance, inputs };
            Some(Scored {
                priority: Priority::new(lane, value + chance),
                evidence: carried.write(),
                ttl: None,
            })
        };
        visit.doc.page.links.iter().enumerate().map(one).collect()
    }

    fn rescore(&mut self, sources: &[Source]) -> Option<Priority> {
        let of = |s: &Source| {
            let c = Carried::read(&s.evidence).filter(|c| !c.seed)?;
            let genes = self.world.genes(s.priority.lane);
            (genes.list == c.list).then(|| Priority::new(s.priority.lane, genes.value(&c.inputs) + c.chance))
        };
        sources.iter().find_map(of)
    }

    /// Whoever found it first keeps it; what nobody owns goes to the finder.
    fn merge(&self, old: Priority, new: Priority) -> Priority {
        if old.lane == new.lane {
            old.max(new)
        } else if old.lane == SEEDS || self.world.at(old.lane).is_some() {
            old
        } else {
            new
        }
    }

    fn explain(&self, evidence: &[u8], priority: Priority) -> Vec<Reason> {
        let Some(c) = Carried::read(evidence) else { return Vec::new() };
        if c.seed {
            return vec![Reason { label: "seed: an agent starts here".into(), value: priority.key() }];
        }
        vec![
            Reason { label: "expected by its agent".into(), value: priority.key() - c.chance },
            Reason { label: "chance".into(), value: c.chance },
            Reason { label: "agent".into(), value: f64::from(priority.lane) },
        ]
    }

    fn model(&mut self) -> Option<&mut dyn Model> {
        Some(self)
    }
}

impl Model for InfoSpiders {
    fn miss(&mut self, miss: &Miss) {
        // Nothing was learnt, but the turn is over.
        self.world.turn += 1;
        if Carried::read(miss.evidence).is_some_and(|c| c.seed) {
            self.world.seeds = self.world.seeds.saturating_sub(1);
        }
        self.changed = true;
    }

    fn save(&mut self, full: bool) -> Option<Vec<u8>> {
        if !full && !self.changed {
            return None;
        }
        self.changed = false;
        let mut w = Writer::default();
        let s = &self.world;
        w.u64(s.rng.0).u32(s.lists).var(s.visits).var(s.turn).u32(s.seeds).f64(s.similarity);
        w.var(s.births).var(s.deaths);
        write_genes(&mut w, &s.ancestor);
        w.u8(s.agents.len() as u8);
        for a in &s.agents {
            w.u8(a.lane).f64(a.energy).u32(a.pages).var(a.last);
            write_genes(&mut w, &a.genes);
        }
        // The words' counts are changes, or everything; the world is small and always whole.
        if let Some(words) = self.query.save(full) {
            w.bytes(&words);
        }
        Some(w.0)
    }

    fn load(&mut self, bytes: &[u8]) -> Result<(), Problem> {
        let mut r = Reader(bytes);
        let (rng, lists) = (Rng(r.u64()?), r.u32()?);
        let (visits, turn, seeds, similarity) = (r.var()?, r.var()?, r.u32()?, r.f64()?);
        let (births, deaths) = (r.var()?, r.var()?);
        let ancestor = read_genes(&mut r)?;
        let mut agents: Vec<Agent> = Vec::new();
        for _ in 0..r.u8()? {
            let (lane, energy, pages, last) = (r.u8()?, r.f64()?, r.u32()?, r.var()?);
            if agents.last().is_some_and(|a| a.lane >= lane) {
                return Err(damaged());
            }
            agents.push(Agent { lane, energy, genes: read_genes(&mut r)?, pages, last });
        }
        // Of an earlier run with more agents allowed: the rest live on in the lanes there are.
        agents.retain(|a| (1..=self.o.agents).contains(&a.lane));
        if !r.0.is_empty() {
            self.query.load(r.bytes()?)?;
        }
        r.end()?;
        self.world = World { agents, ancestor, lists, rng, visits, turn, seeds, similarity, births, deaths };
        Ok(())
    }

    /// The genes of the fittest: whoever is born elsewhere has them.
    fn export(&mut self) -> Option<Vec<u8>> {
        if *self.world.fittest() == self.first {
            return None;
        }
        let mut w = Writer::default();
        write_genes(&mut w, self.world.fittest());
        Some(w.0)
    }

    fn import(&mut self, bytes: &[u8]) -> Result<(), Problem> {
        let mut r = Reader(bytes);
        let genes = read_genes(&mut r)?;
        r.end()?;
        self.world.lists = self.world.lists.max(genes.list);
        self.world.ancestor = genes;
        self.changed = true;
        Ok(())
    }
}

fn write_genes(w: &mut Writer, g: &Genes) {
    w.u32(g.list).f64(g.bias).u8(g.keywords.len() as u8);
    for (k, x) in g.keywords.iter().zip(&g.weights) {
        w.u64(*k).f64(*x);
    }
}

fn read_genes(r: &mut Reader) -> Result<Genes, Problem> {
    let (list, bias) = (r.u32()?, r.f64()?);
    let mut g = Genes { list, keywords: Vec::new(), weights: Vec::new(), bias };
    for _ in 0..r.u8()? {
        g.keywords.push(r.u64()?);
        g.weights.push(r.f64()?);
    }
    let sound = |w: &f64| w.abs() <= MOST_WEIGHT;
    if !g.keywords.is_sorted() || !g.weights.iter().all(sound) || !sound(&g.bias) {
        Err(damaged())
    } else {
        Ok(g)
    }
}

#[cfg(test)]
#[path = "infospiders_tests.rs"]
mod tests;
