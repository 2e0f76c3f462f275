//! Strategies order the frontier. One file each; everything that needs the list reads [`ALL`].

mod adaptive;
mod agents;
mod apprentice;
mod backlink;
mod best_first;
mod best_first_anchor;
mod best_first_page;
mod breadth_first;
mod classifier;
mod context_graph;
mod depth_first;
mod ehrig;
mod fish;
mod genre;
mod genre_context;
mod hmm;
mod hybrid_hmm;
mod hybrid_hmm_anchor;
mod infospiders;
mod intelligent;
mod pagerank;
mod query_vector;
mod recorded;
mod semantic;
mod shark;
mod ssrm;
mod synset;

use crate::judges::Example;
use crate::model::{ModelFile, Role};
pub use crate::text::Parts;
use crate::text::{Doc, DocFreq, TextOptions};
use crate::topic::{Topic, did_you_mean};
use learn::wordnet::WordNet;
use std::sync::Arc;
use types::{Assessment, LinkKind, Priority, Problem, Source, Target, Ties, Url, UrlId, Verdict};

/// What a strategy is made from.
#[derive(Clone, Copy)]
pub struct StrategySetup<'a> {
    /// What the user asked for.
    pub topic: &'a Topic,
    /// The strategy's own options (`[strategy]` without `kind`).
    pub options: &'a toml::Table,
    /// Seed of all its randomness.
    pub rng: u64,
    /// A background collection for idf, when there is one.
    pub idf: Option<&'a DocFreq>,
    /// The example pages, read.
    pub examples: &'a [Example],
    /// What words mean, for the strategies that ask ([`needs_wordnet`]), when there is such a database.
    pub wordnet: Option<&'a Arc<WordNet>>,
    /// What the strategy learnt elsewhere.
    pub model: Option<&'a ModelFile>,
}

impl<'a> StrategySetup<'a> {
    /// From a topic alone: no background collection, no examples.
    pub fn new(topic: &'a Topic) -> StrategySetup<'a> {
        StrategySetup {
            topic,
            options: &topic.strategy.options,
            rng: 0,
            idf: None,
            examples: &[],
            wordnet: None,
            model: None,
        }
    }
    /// How texts are read.
    pub fn text(&self) -> &'a TextOptions {
        &self.topic.text.options
    }
}

/// A strategy by name.
pub struct StrategyEntry {
    /// As `[strategy] kind` names it.
    pub name: &'static str,
    /// One line for lists.
    pub summary: &'static str,
    /// Markdown with the headings of [`HEADINGS`].
    pub doc: &'static str,
    /// Makes one; a problem names the option that is wrong.
    pub build: fn(&StrategySetup) -> Result<Box<dyn Strategy>, Problem>,
}

/// The headings every strategy's and judge's documentation has, in this order.
pub const HEADINGS: [&str; 5] =
    ["## What it does", "## When it helps", "## When it hurts", "## Options", "## Source"];

/// The strategy of a topic that names none.
pub const DEFAULT: &str = "adaptive";

/// Every strategy.
pub const ALL: &[StrategyEntry] = &[
    adaptive::ENTRY,
    breadth_first::ENTRY,
    depth_first::ENTRY,
    backlink::ENTRY,
    pagerank::ENTRY,
    fish::ENTRY,
    shark::ENTRY,
    best_first_page::ENTRY,
    best_first_anchor::ENTRY,
    best_first::ENTRY,
    genre::ENTRY,
    genre_context::ENTRY,
    classifier::ENTRY,
    hmm::ENTRY,
    hybrid_hmm::ENTRY,
    hybrid_hmm_anchor::ENTRY,
    context_graph::ENTRY,
    apprentice::ENTRY,
    agents::ENTRY,
    ehrig::ENTRY,
    ssrm::ENTRY,
    synset::ENTRY,
    intelligent::ENTRY,
    infospiders::ENTRY,
];

/// The strategy of this name, or a problem with the nearest names.
pub fn find(name: &str) -> Result<&'static StrategyEntry, Problem> {
    ALL.iter().find(|e| e.name == name).ok_or_else(|| {
        let known: Vec<&str> = ALL.iter().map(|e| e.name).collect();
        Problem::usage(format!("there is no strategy `{name}`")).hint(did_you_mean(name, &known))
    })
}

/// Strategies that look words up in WordNet: whoever makes the setup should hand one in.
pub fn needs_wordnet(name: &str) -> bool {
    [ehrig::ENTRY.name, ssrm::ENTRY.name, synset::ENTRY.name].contains(&name)
}

/// The topic's strategy, knowing what its model says.
pub fn build(setup: &StrategySetup) -> Result<Box<dyn Strategy>, Problem> {
    let kind = &setup.topic.strategy.kind;
    let mut strategy = (find(kind)?.build)(setup)?;
    if let Some(model) = setup.model {
        let Some(part) = model.find(Role::Strategy, kind) else {
            let has: Vec<String> =
                model.parts.iter().map(|p| format!("{} `{}`", p.role.name(), p.kind)).collect();
            return Err(Problem::usage(format!(
                "the model has nothing for strategy `{kind}`, but for {}",
                has.join(", ")
            ))
            .hint("name a model of this strategy, or choose the one the model is for"));
        };
        let known = part.body_for(setup.text())?;
        strategy.model().map_or(Ok(()), |m| m.import(known)).map_err(|p| {
            Problem::usage(format!("the model of strategy `{kind}` does not fit its options"))
                .because(p.what())
                .hint("use the options it was trained with, or train again")
        })?;
    }
    Ok(strategy)
}

/// A page that was fetched and judged, as a strategy sees it.
pub struct Visit<'a> {
    /// The page.
    pub id: UrlId,
    /// Canonical address.
    pub url: &'a Url,
    /// How the page was found.
    pub kind: LinkKind,
    /// The page with its words.
    pub doc: &'a Doc,
    /// What the judge measured.
    pub assessment: &'a Assessment,
    /// What the judge decided.
    pub verdict: Verdict,
    /// The page it was first found on.
    pub parent: Option<UrlId>,
    /// Links from the seed.
    pub depth: u16,
    /// Links since the host was entered.
    pub site_depth: u16,
    /// Priority of its lease.
    pub priority: Priority,
    /// Evidence of its lease; empty for seeds of strategies that give none.
    pub evidence: &'a [u8],
    /// Every remembered sighting of it, first found first: what a learner trains on.
    pub sources: &'a [Source],
    /// For every link of the page, what is known of its target. Shorter than the links = the rest is new.
    pub targets: &'a [Target],
    /// Pages fetched so far, this one included.
    pub n: u64,
    /// Near-duplicate of an earlier page, soft 404 or error page: earns nothing.
    pub worthless: bool,
}

/// A URL whose fetch brought no page (error, wrong type, robots): also something to learn from.
pub struct Miss<'a> {
    /// The URL.
    pub id: UrlId,
    /// Canonical address.
    pub url: &'a Url,
    /// The priority it was fetched with.
    pub priority: Priority,
    /// The strategy's own bytes of its lease.
    pub evidence: &'a [u8],
    /// Every remembered sighting of it, first found first.
    pub sources: &'a [Source],
}

/// A page whose verdict has changed since it was learnt from: the judge's threshold moved, or the user
/// labelled it.
pub struct Revised<'a> {
    /// The page.
    pub id: UrlId,
    /// Canonical address.
    pub url: &'a Url,
    /// What the judge decides now.
    pub verdict: Verdict,
    /// Every remembered sighting of it, first found first.
    pub sources: &'a [Source],
    /// Why.
    pub because: Because,
}

/// Why a verdict changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Because {
    /// The user said so.
    User,
    /// The judge learnt it from what the user said of other pages.
    Labels,
    /// The judge alone: its threshold moves with every few pages. Learners that were measured with both
    /// (`hmm`, `context-graph`, `intelligent`) do better without following that.
    Judge,
}

/// A page of a finished crawl that a strategy is trained on: what is known of it before its text is looked
/// at.
#[derive(Clone, Debug)]
pub struct Lesson {
    /// Canonical address.
    pub url: Url,
    /// What the judge decided.
    pub verdict: Verdict,
}

/// How a strategy is trained on a finished crawl.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Training {
    /// It is shown the pages in the order they were fetched, as if it had been there: `learn`, `score`.
    Replay,
    /// It is shown every link between two pages of the crawl and what was behind it, whichever came first:
    /// `train_on_link`.
    Links,
}

/// The score of one link, and what is needed to score it again.
#[derive(Clone, Debug, PartialEq)]
pub struct Scored {
    /// Where the link goes in the frontier.
    pub priority: Priority,
    /// Opaque to everyone else; at most 1 KB.
    pub evidence: Vec<u8>,
    /// Steps after which the frontier forgets the link.
    pub ttl: Option<u32>,
}

impl Scored {
    /// A score in lane 0, without evidence and time to live.
    pub fn key(key: f64) -> Scored {
        Scored { priority: Priority::key_only(key), evidence: Vec::new(), ttl: None }
    }
}

/// What has to be scored anew after a visit.
#[derive(Clone, Debug, PartialEq)]
pub enum Rescore {
    /// All priorities stay.
    Nothing,
    /// The pending siblings of the visited page (other links of the page it was found on) get this priority.
    Siblings(Priority),
    /// These get these priorities, if still pending.
    Urls(Vec<(UrlId, Priority)>),
    /// The model changed: pending URLs are scored again lazily, when they come near the top.
    Stale,
    /// Score every pending URL again now.
    Everything,
}

/// One reason for a score, for people: `("anchor", +1.9)`.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Reason {
    /// The feature or part of the formula.
    pub label: String,
    /// What it adds to the score.
    pub value: f64,
}

/// What a strategy wants of the loop. The loop looks these things up for every page or every link, so what
/// nobody reads is left empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wants {
    /// [`Visit::sources`] and those of [`Miss`].
    pub sources: bool,
    /// [`Visit::targets`].
    pub targets: bool,
    /// Parts of [`Visit::doc`] that are better made by the thread pool. What is not named here is made when
    /// it is asked for.
    pub doc: Parts,
    /// Before each lease, so many of the best pending URLs are scored again if an older model scored them.
    pub lookahead: usize,
    /// The lane that is served next; `None` = the highest lane that has something.
    pub lane: Option<u8>,
    /// Which of two URLs with the same priority goes first. Asked when the crawl begins.
    pub ties: Ties,
}

impl Wants {
    /// No look-ups and no parts made in advance.
    pub const NOTHING: Wants = Wants {
        sources: false,
        targets: false,
        doc: Parts::NONE,
        lookahead: 0,
        lane: None,
        ties: Ties::First,
    };
    /// Only the sightings of each page.
    pub const SOURCES: Wants = Wants { sources: true, ..Wants::NOTHING };
    /// Everything that can be looked up or made in advance.
    pub const ALL: Wants = Wants { targets: true, doc: Parts::ALL, ..Wants::SOURCES };

    /// The same with other parts of the page.
    pub const fn and(self, doc: Parts) -> Wants {
        Wants { doc, ..self }
    }
}

/// Orders the frontier. A strategy is told of visits and answers with scores; it never sees the frontier or
/// the store. Only `score` must be written. A strategy that learns more than one page can tell has a
/// [`Model`].
pub trait Strategy: Send {
    /// What the loop does for it. The loop asks before every visit and every lease.
    fn wants(&self) -> Wants {
        Wants::ALL
    }

    /// Scores a URL the user named.
    fn seed(&mut self, _url: &Url) -> Scored {
        Scored::key(1.0)
    }

    /// Learns from a visit. Called in arrival order, before `score` for the same visit.
    fn learn(&mut self, _visit: &Visit) -> Rescore {
        Rescore::Nothing
    }

    /// One answer per link of the page, in order; `None` = do not follow it.
    fn score(&mut self, visit: &Visit) -> Vec<Option<Scored>>;

    /// Scores a pending URL again under the present model, from its sightings. `None` = keep what it has.
    fn rescore(&mut self, _sources: &[Source]) -> Option<Priority> {
        None
    }

    /// Combines the priority a pending URL has with that of a new sighting of it.
    fn merge(&self, old: Priority, new: Priority) -> Priority {
        old.max(new)
    }

    /// Says why a link got its score.
    fn explain(&self, _evidence: &[u8], _priority: Priority) -> Vec<Reason> {
        Vec::new()
    }

    /// What it has learnt, if it learns.
    fn model(&mut self) -> Option<&mut dyn Model> {
        None
    }
}

impl dyn Strategy + '_ {
    /// Version of its model; 0 without one.
    pub fn version(&mut self) -> u32 {
        self.model().map_or(0, |m| m.version())
    }
}

/// What a strategy has learnt. It is saved with the collection, corrected, trained on finished crawls,
/// written to model files and shared between workers.
pub trait Model {
    /// A pending URL scored under an older version may be scored again when it comes near the top.
    fn version(&self) -> u32 {
        0
    }

    /// Learns from a fetch that brought no page.
    fn miss(&mut self, _miss: &Miss) {}

    /// Learns that earlier pages were not what they seemed. Called before `learn` of the page that caused it.
    fn revise(&mut self, _pages: &[Revised]) {}

    /// What was learnt since the last call (`full = false`) or everything (`full = true`). `None` = nothing
    /// new. `load` of a full save and then of each later change, in order, restores the exact state.
    fn save(&mut self, full: bool) -> Option<Vec<u8>>;
    /// Takes back a save, or lays a change over the state.
    fn load(&mut self, bytes: &[u8]) -> Result<(), Problem>;
    /// Everything, piece by piece: the first piece is loaded like a full save, the others like later changes.
    /// A state of many megabytes is not in memory a second time as a whole.
    fn save_all(&mut self, put: &mut dyn FnMut(Vec<u8>) -> Result<(), Problem>) -> Result<(), Problem> {
        self.save(true).map_or(Ok(()), put)
    }

    /// What was learnt, without what belongs to this crawl alone (numbers of URLs, positions): another crawl
    /// may start from it with `import`. `None` = nothing that would be of use elsewhere.
    fn export(&mut self) -> Option<Vec<u8>> {
        self.save(true)
    }
    /// Starts from what another crawl's `export` gave.
    fn import(&mut self, bytes: &[u8]) -> Result<(), Problem> {
        self.load(bytes)
    }

    /// A finished crawl is going to be shown to it; these are all its pages, in order. Says how they are
    /// shown.
    fn begin_training(&mut self, _lessons: &[Lesson]) -> Training {
        Training::Replay
    }
    /// One link of a finished crawl (`evidence` as `score` gave it) and what it led to.
    fn train_on_link(&mut self, _evidence: &[u8], _target: &Lesson) {}

    /// What was learnt since the last call, as a sum other workers can add to theirs.
    fn delta(&mut self) -> Option<Vec<u8>> {
        None
    }
    /// Adds what another worker learnt (its `delta`) to ours.
    fn apply(&mut self, _delta: &[u8]) -> Result<(), Problem> {
        Ok(())
    }
}

#[cfg(test)]
mod tests;
