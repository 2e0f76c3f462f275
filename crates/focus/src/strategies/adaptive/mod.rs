//! Strategy `adaptive`: the default. From the user's terms alone it is a good best-first; while it crawls it
//! learns which words, places and groups of links lead to relevant pages. `docs/adaptive.md` says how and
//! what it is worth.

mod options;
mod read;
mod scale;
mod sight;
mod state;
mod tally;
#[cfg(test)]
mod tests;
mod ways;

use super::{
    Because, Miss, Model, Reason, Rescore, Revised, Scored, Strategy, StrategyEntry, StrategySetup, Visit,
    Wants,
};
use learn::logistic::{HEADS, Logistic, Rates, Saving, sigmoid};
use options::{Options, Parts};
use read::{Common, Memo, PageSide, Query, Taste, own_groups};
use scale::Scale;
use sight::{Groups, Sight, Sim};
use std::collections::HashSet;
use tally::{Base, KINDS, Kind, Tally};
use types::{Priority, Problem, Source, Target, Url, UrlId};
use ways::{Way, Ways};

pub(super) const ENTRY: StrategyEntry = StrategyEntry {
    name: "adaptive",
    summary: "learns while crawling which words, places and groups of links lead to relevant pages",
    doc: "\
## What it does
Predicts for every link how likely its target is relevant, how similar to the topic it will be, and how much the target is worth as
a way to others: three logistic regressions over the words of the anchor, the URL, the surroundings, the heading and the page's
title, the place in the page and how pages of the same host, directory, tag path, URL shape and list turned out. A prior made of
the topic's terms (or of the words of the example pages) is always there, so it starts as a good best-first; every judged page
teaches it. While few relevant pages are known, and again when none has been found for long, the predicted similarity counts as
much as the predicted relevance; hosts of which little is known get a small bonus.

## When it helps
The usual case: any topic described by terms, common or rare, with a strict or a sloppy judge. Most where relevant pages
stand in lists, share URL patterns or are announced by words the user did not think of.

## When it hurts
Crawls of a few dozen pages (nothing can be learnt from them), and judges whose score says nothing of the topic.

## Options
`host_bonus` = 0.2: how much hosts of which little is known are tried · `crowd` = 7: how long a host that gave most of what was
found waits for the others (0 = it does not) · `ahead` = 0.5: how much the worth of a link as a way to others counts beside its own
chance of being relevant · `far` = 0.5: how far that looks · `refresh` = 64: all pending links are scored again every so many pages ·
`lookahead` = 16: so many of the best are scored again before each fetch.

## Source
Ours; after Chakrabarti et al. (apprentice), Assis et al. (genre, siblings), Pant and Srinivasan (link contexts). docs/adaptive.md.",
    build,
};

/// Dense features, in order.
#[derive(Clone, Copy)]
#[repr(usize)]
enum X {
    One,
    Parent,
    ParentRelevant,
    PageGenre,
    PageContent,
    Steps,
    AnchorGenre,
    AnchorContent,
    ContextGenre,
    ContextContent,
    Heading,
    Title,
    UrlTerms,
    UrlWords,
    SameHost,
    Sources,
    Depth,
    /// Lifts of the groups: first for relevance, then for similarity.
    Lifts,
}
const D: usize = X::Lifts as usize + HEADS * KINDS;

/// Seeds come before everything that was found.
const SEED: f64 = 100.0;
/// Sightings of one URL that are looked at.
const MOST_SOURCES: usize = 8;
/// New links of a page that count for its worth as a way to others.
const MOST_CHILDREN: usize = 32;
/// Finds after which it counts by half that one host gave most of them.
const CROWD_FROM: f64 = 200.0;
/// Fewer pages without a relevant one are never a drought.
const DROUGHT: f64 = 500.0;
/// After so many pages without a relevant one it searches by places: before the first one was found, and
/// later. Every other turn of so many pages goes on as before.
const SEARCH_FIRST: u64 = 100;
const SEARCH: u64 = 200;
const TURN: u64 = 50;
/// Pages on the way to a find that get credit for it, and what is left of it at each step.
const LONGEST_WAY: usize = 5;
const FADING: f64 = 0.8;

/// The heads of the regression: is it relevant, how similar is it, is it a way to relevant ones?
const RELEVANT: usize = 0;
const SIMILAR: usize = 1;
const AHEAD: usize = 2;
const RATES: Rates =
    Rates { step: 0.3, damp: 0.1, dense_step: 0.15, dense_damp: 0.5, dense_l2: 0.002, level: 0.5 };
/// Relevant pages after which the second head counts half.
const BETA: f64 = 10.0;
/// The first head learns the verdict and, by half, the soft score raised to this power.
const POWER: f64 = 2.0;
const SOFT: f64 = 0.5;

/// A page that was fetched.
struct Page<'a> {
    id: UrlId,
    parent: Option<UrlId>,
    url: &'a Url,
}

/// What one page taught, kept until its links have been scored.
struct Lesson {
    id: UrlId,
    parent: Option<UrlId>,
    own: Groups,
    sights: Vec<Sight>,
    xs: Vec<[f64; D]>,
    relevant: f64,
    /// What the page was worth as a way to others, once its links are scored.
    worth: Option<f64>,
}

fn groups(sights: &[Sight]) -> Vec<Groups> {
    sights.iter().map(|s| s.groups).collect()
}

struct Adaptive {
    o: Options,
    parts: Parts,
    query: Query,
    model: Logistic<D>,
    tally: Tally,
    /// How the judge's score, the similarity to all terms and that to genre and content at once were so far.
    scales: [Scale; 3],
    /// The page that was learnt last: its links are scored next.
    last: Option<(UrlId, Taste, Common)>,
    /// What it taught, until its links have been scored too.
    lesson: Option<Lesson>,
    /// Version of the model: pages and misses learnt from.
    version: u32,
    /// Links scored so far.
    links: u64,
    since_refresh: u64,
    /// Pages since the last relevant one.
    drought: u64,
    has_found: bool,
    ways: Ways,
    memo: Memo,
}

/// What all links that are scored at one moment share.
struct Now {
    base: Base,
    /// How much the second head counts.
    beta: f64,
    /// How curious it is about hosts of which little is known, and the logarithm of the pages so far.
    curious: f64,
    pages: f64,
    searches: bool,
}

fn build(setup: &StrategySetup) -> Result<Box<dyn Strategy>, Problem> {
    Ok(Box::new(Adaptive::new(setup)?))
}

/// Prior weights (spec/adaptive.md §6.3): what a link is worth before anything was learnt.
fn prior(parts: &Parts, has: [bool; 2]) -> [[f64; D]; HEADS] {
    let mut w = [0.0; D];
    // Genre and content share a weight; a topic with only one of them gives it all.
    let (g, c) = match has {
        [true, true] => (0.5, 0.5),
        [true, false] => (1.0, 0.0),
        _ => (0.0, 1.0),
    };
    let mut set = |x: X, v: f64| w[x as usize] = v;
    set(X::Parent, 1.0);
    set(X::ParentRelevant, 0.5);
    set(X::PageGenre, 2.0 * g);
    set(X::PageContent, 2.0 * c);
    set(X::Steps, -0.3);
    set(X::AnchorGenre, 4.0 * g);
    set(X::AnchorContent, 4.0 * c);
    set(X::ContextGenre, 2.0 * g);
    set(X::ContextContent, 2.0 * c);
    set(X::Heading, 1.0);
    set(X::Title, 0.5);
    set(X::UrlTerms, 1.5);
    set(X::UrlWords, 1.5);
    let mut out = [w; HEADS];
    for (head, w) in out.iter_mut().enumerate() {
        if !parts.prior {
            *w = [0.0; D];
        }
        w[X::One as usize] = -1.0;
        for kind in Kind::ALL {
            let v = match kind {
                Kind::TagPath => 0.2,
                Kind::Siblings | Kind::List => 0.4,
                _ => 0.3,
            };
            if parts.prior {
                w[X::Lifts as usize + KINDS * head + kind as usize] = v;
            }
        }
    }
    out
}

impl Adaptive {
    fn new(setup: &StrategySetup) -> Result<Adaptive, Problem> {
        let o = Options::read(setup.options)?;
        let parts = Parts::without(&setup.topic.strategy.without)?;
        let query = Query::new(setup);
        let model = Logistic::new(prior(&parts, query.has), RATES);
        Ok(Adaptive {
            o,
            parts,
            query,
            model,
            tally: Tally::default(),
            scales: Default::default(),
            last: None,
            lesson: None,
            version: 0,
            links: 0,
            since_refresh: 0,
            drought: 0,
            has_found: false,
            ways: Ways::default(),
            memo: Memo::default(),
        })
    }

    /// What a page is like. The judge's score alone is a poor guide on many topics: it counts terms, whatever
    /// else the page is full of. A cosine over the whole vocabulary does not, and the geometric mean of genre
    /// and content asks for both.
    fn taste(&mut self, visit: &Visit) -> Taste {
        let page = self.query.page(visit.doc, &mut self.memo);
        let [genre, content, both] = page;
        let joint = match self.query.has {
            [true, true] => (genre * content).sqrt(),
            _ => both,
        };
        let measures = [visit.verdict.relevance, both, joint];
        if visit.worthless {
            return Taste { page, measures: [0.0; 3], ..Taste::default() };
        }
        let scaled = measures.iter().zip(&self.scales).map(|(m, s)| s.of(*m)).sum::<f64>();
        Taste { soft: scaled / 3.0, relevant: visit.verdict.relevant, page, measures }
    }

    fn dense(&self, base: &Base, s: &Sight, sources: usize) -> [f64; D] {
        let mut x = [0.0; D];
        let mut set = |i: X, v: f64| x[i as usize] = v;
        set(X::One, 1.0);
        set(X::Parent, s.sim(Sim::Parent));
        set(X::ParentRelevant, f64::from(u8::from(s.parent_relevant)));
        set(X::PageGenre, s.sim(Sim::PageGenre));
        set(X::PageContent, s.sim(Sim::PageContent));
        set(X::Steps, libm::log(1.0 + f64::from(s.steps)));
        set(X::AnchorGenre, s.sim(Sim::AnchorGenre));
        set(X::AnchorContent, s.sim(Sim::AnchorContent));
        set(X::ContextGenre, s.sim(Sim::ContextGenre));
        set(X::ContextContent, s.sim(Sim::ContextContent));
        set(X::Heading, s.sim(Sim::Heading));
        set(X::Title, s.sim(Sim::Title));
        set(X::UrlTerms, s.sim(Sim::UrlTerms));
        set(X::UrlWords, s.sim(Sim::UrlWords));
        set(X::SameHost, f64::from(u8::from(s.same_host)));
        set(X::Sources, libm::log(sources.max(1) as f64));
        set(X::Depth, libm::log(1.0 + f64::from(s.depth)));
        let lifts = self.tally.lifts(base, &s.groups);
        for kind in Kind::ALL {
            if self.parts.counts(kind) {
                let lift = lifts[kind as usize];
                for (h, lift) in lift.iter().enumerate() {
                    x[X::Lifts as usize + h * KINDS + kind as usize] = *lift;
                }
            }
        }
        x
    }

    /// Nothing relevant has been found for much longer than chance explains.
    fn dry(&self) -> bool {
        self.drought as f64 > (5.0 / self.tally.rates()[RELEVANT]).max(DROUGHT)
    }

    /// Nothing that says what a link is worth has led to a relevant page for long: it looks where pages are
    /// most like the topic, whatever the link says.
    fn searches(&self) -> bool {
        let after = if self.has_found { SEARCH } else { SEARCH_FIRST };
        self.parts.search && self.drought.checked_sub(after).is_some_and(|d| (d / TURN).is_multiple_of(2))
    }

    /// How much the second head counts: all at first, less with every relevant page found; all again when
    /// none is found any more, because then what is similar is the only trace there is.
    fn beta(&self) -> f64 {
        match self.parts.similar {
            false => 0.0,
            true if self.dry() => 1.0,
            true => BETA / (BETA + f64::from(self.tally.total().relevant) + 1e-9),
        }
    }

    fn now(&self) -> Now {
        let more = if self.dry() { 2.0 } else { 1.0 };
        Now {
            base: self.tally.base(),
            beta: self.beta(),
            curious: more * self.o.host_bonus,
            pages: libm::log(1.0 + f64::from(self.tally.total().n)),
            searches: self.searches(),
        }
    }

    /// Chances of one sighting. What is little known is worth a look: log odds for the links of a host of
    /// which few pages are known.
    fn chances(&self, now: &Now, s: &Sight, sources: usize) -> [f64; HEADS] {
        let host = self.tally.sum(s.groups.host);
        let bonus = now.curious * (now.pages / (1.0 + f64::from(host.n))).sqrt();
        self.model.z(s, &self.dense(&now.base, s, sources)).map(|z| sigmoid(z + bonus))
    }

    /// How much of a link's value counts. More of the same is worth less: a host that gave most of what was
    /// found waits for the others. Among its own links the order stays.
    fn share(&self, s: &Sight) -> f64 {
        let host = self.tally.sum(s.groups.host).relevant;
        match crowding(host.into(), self.tally.total().relevant.into()) {
            0.0 => 1.0,
            crowded => libm::exp(-self.o.crowd * crowded),
        }
    }

    fn value(&self, now: &Now, s: &Sight, p: [f64; HEADS]) -> f64 {
        if now.searches {
            return self.tally.place(&now.base, &s.groups)[SIMILAR] - now.base.rates[SIMILAR];
        }
        let wanted = p[RELEVANT] + self.o.ahead * (p[AHEAD] - p[RELEVANT]);
        wanted + now.beta * (p[SIMILAR] - now.base.rates[SIMILAR])
    }

    fn combined(&self, sights: &[Sight]) -> Option<f64> {
        let n = sights.len();
        if n == 0 {
            return None;
        }
        let now = self.now();
        let values = sights.iter().map(|s| self.value(&now, s, self.chances(&now, s, n)));
        let value = values.max_by(f64::total_cmp)?;
        Some(shared(value, self.share(sights.first()?)))
    }

    /// What the regressions learn from. Nothing, when they are off.
    fn all_dense(&self, sights: &[Sight]) -> Vec<[f64; D]> {
        let base = self.tally.base();
        let sights_learnt = if self.parts.learn { sights } else { &[] };
        sights_learnt.iter().map(|s| self.dense(&base, s, sights.len())).collect()
    }

    /// Learns that the target of these sightings was so.
    fn found(&mut self, page: &Page, sights: Vec<Sight>, relevant: f64, similar: f64) -> Lesson {
        // All features as they were before this page counted.
        let xs = self.all_dense(&sights);
        let &Page { id, parent, url } = page;
        let lesson = Lesson { id, parent, own: own_groups(url), sights, xs, relevant, worth: None };
        self.teach(&lesson.sights, &lesson.xs, [Some(relevant), Some(similar), None]);
        self.tally.add(&lesson.own, &groups(&lesson.sights), relevant as f32, similar as f32);
        self.version = self.version.wrapping_add(1);
        lesson
    }

    fn teach(&mut self, sights: &[Sight], xs: &[[f64; D]], y: [Option<f64>; HEADS]) {
        let weight = 1.0 / (sights.len().max(1) as f64).sqrt();
        for (s, x) in sights.iter().zip(xs) {
            self.model.learn(s, x, y, weight);
        }
    }

    /// A page that was counted was on the other side.
    fn correct(&mut self, page: &Revised, relevant: f64) {
        let found_on: Vec<Groups> = sights(page.sources).iter().map(|s| s.groups).collect();
        let by = (1.0 - SOFT) * (2.0 * relevant - 1.0);
        self.tally.correct(&own_groups(page.url), &found_on, by as f32);
        self.version = self.version.wrapping_add(1);
    }

    /// The second half of a lesson: what the page was worth as a way to others. If its links were never
    /// scored, what it is.
    fn end_lesson(&mut self) {
        let Some(lesson) = self.lesson.take() else { return };
        let worth = lesson.worth.unwrap_or(lesson.relevant);
        self.teach(&lesson.sights, &lesson.xs, [None, None, Some(worth)]);
        self.tally.ahead(&lesson.own, &groups(&lesson.sights), (worth - lesson.relevant) as f32);
        if self.parts.credit {
            let (parent, own, is_relevant) = (lesson.parent, lesson.own, lesson.relevant > 0.5);
            let evidence = lesson.sights.iter().map(Sight::write).collect();
            self.ways.put(lesson.id, Way { parent, own, evidence, is_relevant, worth });
        }
    }

    /// A relevant page was found on this one: the pages on the way were worth more than their links promised.
    fn credit(&mut self, mut on: Option<UrlId>) {
        let mut credit = 1.0;
        for _ in 0..LONGEST_WAY {
            let Some((id, mut way)) = on.and_then(|id| Some((id, self.ways.get(id)?.clone()))) else {
                return;
            };
            credit *= FADING;
            if credit > way.worth {
                let sights: Vec<Sight> = way.evidence.iter().filter_map(|e| Sight::read(e).ok()).collect();
                let xs = self.all_dense(&sights);
                self.teach(&sights, &xs, [None, None, Some(credit)]);
                self.tally.ahead(&way.own, &groups(&sights), (credit - way.worth) as f32);
                way.worth = credit;
                self.ways.put(id, way.clone());
            }
            if way.is_relevant {
                return;
            }
            on = way.parent;
        }
    }

    /// Ends a lesson whose links were scored. It is not done there: the links need not wait for it, only the
    /// next who asks.
    fn catch_up(&mut self) {
        if self.lesson.as_ref().is_some_and(|l| l.worth.is_some()) {
            self.end_lesson();
        }
    }

    /// The best rate of relevant pages per fetch, this page and some of its new links taken together: what
    /// decides when one thing must be done before others can be.
    fn worth(relevant: f64, mut chances: Vec<f64>) -> f64 {
        chances.sort_unstable_by(|a, b| b.total_cmp(a));
        let (mut sum, mut best) = (relevant, relevant);
        for (k, p) in chances.iter().take(MOST_CHILDREN).enumerate() {
            sum += p;
            best = f64::max(best, sum / (k as f64 + 2.0));
        }
        best
    }
}

/// 0 for a host that gave up to half of what was found, 1 for one that gave all of it; less while little was
/// found.
fn crowding(of_host: f64, of_all: f64) -> f64 {
    if of_all <= 0.0 {
        return 0.0;
    }
    (2.0 * of_host / of_all - 1.0).max(0.0) * of_all / (of_all + CROWD_FROM)
}

/// A share of a value. What is worth nothing stays so.
fn shared(value: f64, share: f64) -> f64 {
    if value > 0.0 { value * share } else { value }
}

/// The sightings that are looked at: the first four and the best four of the others.
fn sights(sources: &[Source]) -> Vec<Sight> {
    let read = |sources: &mut dyn Iterator<Item = &Source>| {
        let mut out: Vec<Sight> = Vec::with_capacity(sources.size_hint().0.min(MOST_SOURCES));
        for s in sources.filter(|s| !s.evidence.is_empty()) {
            out.push(Sight::default());
            if out.last_mut().is_none_or(|sight| sight.read_into(&s.evidence).is_err()) {
                out.pop();
            }
        }
        out
    };
    if sources.len() <= MOST_SOURCES {
        return read(&mut sources.iter());
    }
    let (first, rest) = sources.split_at(MOST_SOURCES / 2);
    let mut best: Vec<&Source> = rest.iter().collect();
    // A stable sort: of equal ones the earlier.
    best.sort_by_key(|s| std::cmp::Reverse(s.priority));
    best.truncate(MOST_SOURCES / 2);
    read(&mut first.iter().chain(best))
}

impl Strategy for Adaptive {
    fn wants(&self) -> Wants {
        Wants { lookahead: self.o.lookahead, ..Wants::ALL }
    }

    fn seed(&mut self, _: &Url) -> Scored {
        Scored::key(SEED)
    }

    fn learn(&mut self, visit: &Visit) -> Rescore {
        self.query.learn(visit.doc);
        let taste = self.taste(visit);
        let verdict = f64::from(u8::from(taste.relevant));
        let soft = if self.parts.soft { SOFT } else { 0.0 };
        let relevant = verdict + soft * (libm::pow(taste.soft, POWER) - verdict);
        self.end_lesson();
        let sights = sights(visit.sources);
        let was = (self.dry(), self.searches());
        if taste.relevant {
            self.credit(visit.parent);
        }
        self.has_found |= taste.relevant;
        self.drought = if taste.relevant { 0 } else { self.drought + 1 };
        let page = Page { id: visit.id, parent: visit.parent, url: visit.url };
        let lesson = self.found(&page, sights, relevant, taste.soft);
        self.lesson = Some(lesson);
        for (scale, m) in self.scales.iter_mut().zip(taste.measures) {
            scale.add(m);
        }
        let common = Common::of(&self.query, &self.parts, &mut self.memo, visit, &taste);
        self.last = Some((visit.id, taste, common));
        self.since_refresh += 1;
        // A large frontier is scored again less often: about a thousand links per page.
        let due = self.o.refresh > 0 && self.since_refresh >= self.o.refresh.max(self.links / 1000);
        let turned = self.dry() != was.0 || (self.searches() != was.1 && !taste.relevant);
        if due || turned {
            self.since_refresh = 0;
            return Rescore::Everything;
        }
        Rescore::Stale
    }

    fn score(&mut self, visit: &Visit) -> Vec<Option<Scored>> {
        self.catch_up();
        let (taste, common) = match &self.last {
            Some((id, taste, common)) if *id == visit.id => (*taste, common.clone()),
            _ => {
                let taste = self.taste(visit);
                (taste, Common::of(&self.query, &self.parts, &mut self.memo, visit, &taste))
            }
        };
        let before = Sight::steps(visit.evidence);
        let steps = if taste.relevant { 0 } else { before.saturating_add(1) };
        let mut memo = std::mem::take(&mut self.memo);
        let mut side = PageSide::new(&self.query, &self.parts, &mut memo, visit, common, steps);
        let now = self.now();
        let mut out = Vec::with_capacity(visit.doc.page.links.len());
        let mut targets = HashSet::with_capacity(visit.doc.page.links.len());
        let mut new_links = Vec::new();
        for (i, link) in visit.doc.page.links.iter().enumerate() {
            let target = visit.targets.get(i).copied().unwrap_or_default();
            if target == Target::Closed {
                out.push(Some(Scored::key(0.0)));
                continue;
            }
            let sight = side.link(i, link);
            let p = self.chances(&now, &sight, 1);
            let key = shared(self.value(&now, &sight, p), self.share(&sight));
            let new = target == Target::New && link.url != *visit.url;
            if new && targets.insert(&link.url) {
                new_links.push(p[RELEVANT] + self.o.far * (p[AHEAD] - p[RELEVANT]));
            }
            out.push(Some(Scored { priority: Priority::key_only(key), evidence: sight.write(), ttl: None }));
        }
        self.memo = memo;
        self.links += out.len() as u64;
        if let Some(l) = &mut self.lesson {
            l.worth = Some(Adaptive::worth(l.relevant, new_links));
        }
        out
    }

    fn rescore(&mut self, sources: &[Source]) -> Option<Priority> {
        self.catch_up();
        self.combined(&sights(sources)).map(Priority::key_only)
    }

    fn explain(&self, evidence: &[u8], _: Priority) -> Vec<Reason> {
        Sight::read(evidence).map_or_else(|_| Vec::new(), |s| self.reasons(&s))
    }

    fn model(&mut self) -> Option<&mut dyn Model> {
        Some(self)
    }
}

impl Model for Adaptive {
    fn version(&self) -> u32 {
        self.version
    }

    /// Fetches that brought nothing teach nothing: most links out of a good page fail for reasons of their
    /// own.
    fn miss(&mut self, _: &Miss) {
        self.catch_up();
    }

    /// What the user says of a page, and what the judge makes of other pages after it, replaces what was
    /// counted of them. What the user says is a lesson of its own, too. That the judge moved its line by
    /// itself is no news: half of what is learnt is the soft score, which stays.
    fn revise(&mut self, pages: &[Revised]) {
        self.catch_up();
        for page in pages {
            let relevant = f64::from(u8::from(page.verdict.relevant));
            match page.because {
                Because::User => {
                    self.correct(page, relevant);
                    let sights = sights(page.sources);
                    let page = Page { id: page.id, parent: None, url: page.url };
                    let lesson = self.found(&page, sights, relevant, relevant);
                    self.teach(&lesson.sights, &lesson.xs, [None, None, Some(relevant)]);
                }
                Because::Labels => self.correct(page, relevant),
                Because::Judge => {}
            }
        }
    }

    fn save(&mut self, full: bool) -> Option<Vec<u8>> {
        self.end_lesson();
        Some(self.write_state(if full { Saving::Everything } else { Saving::Changes }))
    }

    fn load(&mut self, bytes: &[u8]) -> Result<(), Problem> {
        self.read_state(bytes)
    }

    fn save_all(&mut self, put: &mut dyn FnMut(Vec<u8>) -> Result<(), Problem>) -> Result<(), Problem> {
        self.end_lesson();
        put(self.write_state(Saving::Start))?;
        while self.model.is_unsaved() {
            put(self.write_state(Saving::Piece))?;
        }
        Ok(())
    }

    fn delta(&mut self) -> Option<Vec<u8>> {
        self.catch_up();
        self.write_delta()
    }

    fn apply(&mut self, delta: &[u8]) -> Result<(), Problem> {
        self.catch_up();
        self.read_delta(delta)
    }
}
