//! Strategy `agents`: several crawlers with a topic table and a queue of their own, dealt the seeds, serving
//! in turn.

mod knowledge;
mod links;
#[cfg(test)]
mod tests;

use super::{
    Miss, Model, Parts, Reason, Rescore, Scored, Strategy, StrategyEntry, StrategySetup, Visit, Wants,
};
use crate::options;
use crate::topic::presets;
use knowledge::{Agent, TableKind};
use learn::bytes::{Reader, Writer, damaged};
use links::{Evidence, Genres};
use serde::Deserialize;
use std::collections::BTreeMap;
use types::{LinkKind, Priority, Problem, Source, Url};

pub(super) const ENTRY: StrategyEntry = StrategyEntry {
    name: "agents",
    summary: "several agents learn a table of topic words from their seeds and score links by it and by \
              genre",
    doc: "\
## What it does
The seeds are dealt out to `agents` agents, which take turns. Each has its own queue and its own knowledge: once its seeds are fetched, the
`size` words with the highest weights `W = w / w_max`, `w = Σ TFW·idf` over its pages, are its topic table (TSWT); the weights go on
changing with every page it fetches. A link scores `LS_T` = the table's words in the anchor, in the URL and in the text around it (the
sum of their weights, divided by the size of the table, each) + the cosine of every page it was found on with the table. `LS_G` is the same
with the words of a genre, all of weight 1; of several genres the highest counts. `Final = topic_weight·LS_T + genre_weight·LS_G`.

A `dynamic` table grows: of a page as similar as `similarity` to it, the `add` percent heaviest words are added. A link that has waited for
`ttl` steps is forgotten; it may be found again. What one agent has fetched, or is fetching, the others skip.

## When it helps
Good seeds, and topics whose words the user cannot list: the table learns them. Several agents explore more widely than one.

## When it hurts
Seeds off the topic: their words become the table. One agent with all seeds is more precise than several with a part each.

## Options
`agents` = 3 · `table` = \"static\" | \"dynamic\" · `size` = 50 (100 if dynamic) · `add` = 50 percent · `similarity` = 0.6 · `genres` = names of
built-in genres (default: the topic's; none if it has none) · `topic_weight` = 1 · `genre_weight` = 1 · `ttl` = 100000 steps (0: never
forgotten).

## Source
Pappas et al. 2012, §III. Dealing seeds in turn, w_max over the table's words, and of several anchors the best one, are ours; so is the idf of genre
phrases (1).",
    build,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Options {
    agents: usize,
    table: TableKind,
    size: Option<usize>,
    add: f64,
    similarity: f64,
    genres: Option<Vec<String>>,
    topic_weight: f64,
    genre_weight: f64,
    ttl: u32,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            agents: 3,
            table: TableKind::Static,
            size: None,
            add: 50.0,
            similarity: 0.6,
            genres: None,
            topic_weight: 1.0,
            genre_weight: 1.0,
            ttl: 100_000,
        }
    }
}

/// Most agents: each has a lane.
const MOST_AGENTS: usize = 64;
/// Above every link's score.
const SEED: f64 = 1e6;
/// Pending links scored again before each lease: the weights change with every page, and sightings add up.
const LOOKAHEAD: usize = 16;

struct Agents {
    o: Options,
    genres: Genres,
    agents: Vec<Agent>,
    /// Seeds dealt so far.
    dealt: u32,
    turn: usize,
    model: u32,
    /// Pages fetched before their agent had a table → cosine with it.
    parents: BTreeMap<u32, f64>,
    /// A table was made when no page was being learnt from.
    due: bool,
    changed: bool,
}

fn build(setup: &StrategySetup) -> Result<Box<dyn Strategy>, Problem> {
    let what = "strategy `agents`";
    let o: Options = options::parse(what, setup.options)?;
    let size = o.size.unwrap_or(if o.table == TableKind::Static { 50 } else { 100 });
    if !(1..=MOST_AGENTS).contains(&o.agents) || !(1..=knowledge::MOST_TABLE).contains(&size) {
        return Err(Problem::usage(format!(
            "{what}: agents must be 1 to {MOST_AGENTS}, size 1 to {}",
            knowledge::MOST_TABLE
        )));
    }
    if !(0.0..=100.0).contains(&o.add) || !(0.0..=1.0).contains(&o.similarity) {
        return Err(Problem::usage(format!("{what}: add is a percentage, similarity between 0 and 1")));
    }
    if ![o.topic_weight, o.genre_weight].iter().all(|w| (0.0..=1000.0).contains(w)) {
        return Err(Problem::usage(format!("{what}: weights must be between 0 and 1000")));
    }
    let genres = match &o.genres {
        Some(names) => Genres::new(&[], &presets::find_all(names)?, setup.text()),
        None => Genres::new(&setup.topic.genre.own, &setup.topic.genre.presets, setup.text()),
    };
    let agents = (0..o.agents).map(|_| Agent::new(o.table, size, o.add, o.similarity)).collect();
    Ok(Box::new(Agents {
        o,
        genres,
        agents,
        dealt: 0,
        turn: 0,
        model: 0,
        parents: BTreeMap::new(),
        due: false,
        changed: false,
    }))
}

impl Agents {
    fn agent_of(&self, priority: Priority) -> usize {
        usize::from(priority.lane).min(self.agents.len().saturating_sub(1))
    }

    fn next_turn(&mut self, agent: usize) {
        self.turn = (agent + 1) % self.agents.len().max(1);
    }

    /// `Final` of a URL from its sightings: of several anchors the best, the pages it was found on added up.
    fn total(&self, sightings: &[(Option<u32>, Evidence)]) -> Option<Priority> {
        let first = sightings.first()?;
        let mut met: Vec<u32> = Vec::new();
        let (mut own, mut parents) = (0.0f64, 0.0);
        let mut genre_own = vec![0.0f64; self.genres.len()];
        let mut genre_parents = vec![0.0f64; self.genres.len()];
        for (parent, e) in sightings {
            if let Some(agent) = self.agents.get(usize::from(e.agent)) {
                own = own.max(agent.own_score(&e.sets));
            }
            for (best, g) in genre_own.iter_mut().zip(&e.genres) {
                *best = best.max(g.0);
            }
            if parent.is_some_and(|p| met.contains(&p)) {
                continue;
            }
            met.extend(parent);
            parents +=
                e.parent.or_else(|| self.parents.get(&parent.as_ref().copied()?).copied()).unwrap_or(0.0);
            for (sum, g) in genre_parents.iter_mut().zip(&e.genres) {
                *sum += g.1;
            }
        }
        let genre = genre_own.iter().zip(&genre_parents).map(|(a, b)| a + b).fold(0.0, f64::max);
        let key = self.o.topic_weight * (own + parents) + self.o.genre_weight * genre;
        let lane = usize::from(first.1.agent).min(self.agents.len().saturating_sub(1)) as u8;
        Some(Priority::new(lane, if key.is_finite() { key } else { 0.0 }))
    }

    /// The cosines of an agent's first pages, now that it has a table.
    fn catch_up(&mut self, agent: usize) {
        if let Some(a) = self.agents.get_mut(agent) {
            self.parents.extend(a.first_pages());
        }
    }
}

impl Strategy for Agents {
    fn wants(&self) -> Wants {
        let lane = Some(self.turn as u8);
        Wants { lookahead: LOOKAHEAD, lane, ..Wants::SOURCES.and(Parts::COUNTS_AND_LINKS) }
    }

    fn seed(&mut self, _: &Url) -> Scored {
        self.changed = true;
        let agent = self.dealt as usize % self.agents.len().max(1);
        self.dealt = self.dealt.saturating_add(1);
        if let Some(a) = self.agents.get_mut(agent) {
            a.deal();
        }
        Scored { priority: Priority::new(agent as u8, SEED), evidence: Vec::new(), ttl: None }
    }

    fn learn(&mut self, visit: &Visit) -> Rescore {
        self.changed = true;
        self.model = self.model.wrapping_add(1);
        let n = self.agent_of(visit.priority);
        self.next_turn(n);
        let Some(agent) = self.agents.get_mut(n) else { return Rescore::Nothing };
        let made = agent.learn(visit.id, visit.kind == LinkKind::Seed, visit.doc.counts());
        if made {
            self.catch_up(n);
        }
        if made || std::mem::take(&mut self.due) { Rescore::Everything } else { Rescore::Stale }
    }

    fn score(&mut self, visit: &Visit) -> Vec<Option<Scored>> {
        let n = self.agent_of(visit.priority);
        let Some(agent) = self.agents.get(n) else {
            return visit.doc.page.links.iter().map(|_| None).collect();
        };
        let vector = agent.vector(visit.doc.counts());
        let parent = agent.like_table(&vector);
        let page_genres = self.genres.of_page(visit.doc, agent, vector.norm());
        let mut reading = links::Reading::new(visit.doc, &self.genres);
        let ttl = (self.o.ttl > 0).then_some(self.o.ttl);
        let one = |(i, link): (usize, &types::Link)| {
            let links::ReadLink { sets, own, genres } = reading.link(i, link, agent);
            let genres: Vec<(f64, f64)> = genres.into_iter().zip(page_genres.iter().copied()).collect();
            let genre = genres.iter().map(|g| g.0 + g.1).fold(0.0, f64::max);
            let key = self.o.topic_weight * (own + parent.unwrap_or(0.0)) + self.o.genre_weight * genre;
            let evidence = Evidence { agent: n as u8, parent, genres, sets }.write();
            Some(Scored { priority: Priority::new(n as u8, key), evidence, ttl })
        };
        visit.doc.page.links.iter().enumerate().map(one).collect()
    }

    fn rescore(&mut self, sources: &[Source]) -> Option<Priority> {
        if sources.iter().any(|s| s.kind == LinkKind::Seed) {
            return None;
        }
        let sightings: Vec<(Option<u32>, Evidence)> = sources
            .iter()
            .filter_map(|s| Some((s.parent.map(|p| p.0), Evidence::read(&s.evidence)?)))
            .collect();
        self.total(&sightings)
    }

    /// The first finder keeps it; another page that links to it adds to its score. The words of both links
    /// are counted here: a bound from above, made exact when the URL comes near the top.
    fn merge(&self, old: Priority, new: Priority) -> Priority {
        if old.key() >= SEED { old } else { Priority::new(old.lane, old.key() + new.key()) }
    }

    fn explain(&self, evidence: &[u8], priority: Priority) -> Vec<Reason> {
        let reason = |label: String, value: f64| Reason { label, value };
        let Some(e) = Evidence::read(evidence) else { return vec![reason("a seed".into(), priority.key())] };
        let Some(agent) = self.agents.get(usize::from(e.agent)) else { return Vec::new() };
        let parts: [(&str, &[u32]); 3] = [
            ("topic words in the anchor", &e.sets.anchor),
            ("topic words in the URL", &e.sets.url),
            ("topic words in the text around it", &e.sets.text),
        ];
        let mut out: Vec<Reason> =
            parts.iter().map(|(label, set)| reason((*label).into(), agent.words_score(set))).collect();
        out.push(reason(format!("its page and agent {}'s table", e.agent + 1), e.parent.unwrap_or(0.0)));
        for (i, g) in e.genres.iter().enumerate() {
            out.push(reason(format!("genre {}", self.genres.name(i)), g.0 + g.1));
        }
        out
    }

    fn model(&mut self) -> Option<&mut dyn Model> {
        Some(self)
    }
}

impl Model for Agents {
    fn version(&self) -> u32 {
        self.model
    }

    fn miss(&mut self, miss: &Miss) {
        self.changed = true;
        let n = self.agent_of(miss.priority);
        self.next_turn(n);
        if !miss.sources.iter().any(|s| s.kind == LinkKind::Seed) {
            return;
        }
        if let Some(agent) = self.agents.get_mut(n)
            && agent.seed_lost()
        {
            self.catch_up(n);
            self.due = true;
        }
    }

    fn save(&mut self, full: bool) -> Option<Vec<u8>> {
        if !full && !self.changed {
            return None;
        }
        self.changed = false;
        let mut w = Writer::default();
        w.u8(1).u32(self.dealt).var(self.turn as u64).u32(self.model).u8(u8::from(self.due));
        w.var(self.parents.len() as u64);
        for (id, cosine) in &self.parents {
            w.u32(*id).f64(*cosine);
        }
        w.var(self.agents.len() as u64);
        self.agents.iter_mut().for_each(|a| a.save(full, &mut w));
        Some(w.0)
    }

    fn load(&mut self, bytes: &[u8]) -> Result<(), Problem> {
        let mut r = Reader(bytes);
        if r.u8()? != 1 {
            return Err(damaged());
        }
        let (dealt, turn, model, due) = (r.u32()?, r.var()?, r.u32()?, r.u8()? == 1);
        let mut parents = BTreeMap::new();
        for _ in 0..r.var()? {
            parents.insert(r.u32()?, r.f64()?);
        }
        if r.var()? != self.agents.len() as u64 {
            return Err(damaged());
        }
        for agent in &mut self.agents {
            agent.load(&mut r)?;
        }
        r.end()?;
        self.turn = turn as usize % self.agents.len().max(1);
        (self.dealt, self.model, self.due, self.parents) = (dealt, model, due, parents);
        Ok(())
    }

    /// What each agent knows of the topic; its seeds and pages are this crawl's.
    fn export(&mut self) -> Option<Vec<u8>> {
        if !self.agents.iter().any(Agent::knows) {
            return None;
        }
        let mut w = Writer::default();
        w.var(self.agents.len() as u64);
        self.agents.iter_mut().for_each(|a| a.export(&mut w));
        Some(w.0)
    }

    fn import(&mut self, bytes: &[u8]) -> Result<(), Problem> {
        let mut r = Reader(bytes);
        if r.var()? != self.agents.len() as u64 {
            return Err(Problem::usage("it is for another number of agents"));
        }
        for agent in &mut self.agents {
            agent.load(&mut r)?;
        }
        r.end()?;
        self.changed = true;
        Ok(())
    }
}
