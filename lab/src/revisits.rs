//! How good is the policy of `gleaner watch`? It, and others, look after changing generated webs on a virtual
//! clock with the same budget. All begin with a complete collection at day 0.
//!
//! | policy | what it does with a budget |
//! |---|---|
//! | gain | `crawl::policy`, as `gleaner watch` |
//! | uniform | every known page in turn |
//! | uniform, wanted | relevant pages, lists and feeds in turn |
//! | proportional | pages in proportion to the rates that are estimated |
//! | best stationary | fixed intervals for relevant pages from the true rates, the whole budget, nothing else: a formula |
//!
//! New links are fetched at once by all of them, out of the same budget.

use clap::Parser;
use crawl::Found;
use crawl::policy::{Known, Policy, Unknown, gain_of_change};
use crawl::rates::{Kin, Rates};
use eval::webs::SimWeb;
use madeup::sim::{DAY, Life, Role};
use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::fmt::Write;
use types::{Millis, Problem, UrlId};

/// Compares policies of visiting pages again on changing generated webs.
#[derive(Parser, Debug, Clone)]
pub struct Args {
    /// Webs (default: five, of different tempers)
    #[arg(long = "web", value_name = "sim:NAME?…")]
    pub webs: Vec<String>,
    /// Pages of each of the default webs
    #[arg(long, value_name = "N", default_value_t = 3000)]
    pub pages: u32,
    /// Random numbers: one web each
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub seeds: u64,
    /// Days of the virtual clock
    #[arg(long, value_name = "DAYS", default_value_t = 60)]
    pub days: u64,
    /// Days that are not measured: the policies learn
    #[arg(long, value_name = "DAYS", default_value_t = 20)]
    pub learn: u64,
    /// Rounds a day
    #[arg(long, value_name = "N", default_value_t = 4)]
    pub rounds: u64,
    /// Requests of a day, as a share of the pages
    #[arg(long, value_name = "SHARE", default_value_t = 0.08)]
    pub budget: f64,
}

/// Webs of different tempers.
const WEBS: [&str; 5] = [
    "sim:campus?topic-share=0.12&change=0.3&born=0.3&die=0.1",
    "sim:hubs?topic-share=0.1&change=0.1&born=0.5&die=0.2",
    "sim:template?topic-share=0.15&change=1&born=0.2&die=0.05",
    "sim:drift?topic-share=0.08&change=0.5&born=0.4&die=0.3",
    "sim:rare?topic-share=0.03&change=2&born=0.3&die=0.1",
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Gain,
    Uniform,
    UniformWanted,
    Proportional,
}

const KINDS: [(Kind, &str); 4] = [
    (Kind::Gain, "gain"),
    (Kind::Uniform, "uniform"),
    (Kind::UniformWanted, "uniform, wanted"),
    (Kind::Proportional, "proportional"),
];

/// What a policy came to, after the days of learning.
#[derive(Clone, Copy, Debug, Default)]
pub struct Outcome {
    /// Share of the relevant pages of the collection that are there as they are.
    pub freshness: f64,
    /// Days since the first change that was not seen, on average over the same pages.
    pub age: f64,
    /// Median days until a new relevant page was found; one that never was counts as endless.
    pub delay: f64,
    /// Share of the new relevant pages that were found.
    pub found: f64,
    /// Requests a day.
    pub requests: f64,
}

/// One web and what became of it.
pub struct Compared {
    web: String,
    outcomes: Vec<(&'static str, Outcome)>,
    /// Freshness of the best stationary policy.
    best: f64,
}

impl Compared {
    fn of(&self, name: &str) -> Outcome {
        self.outcomes.iter().find(|(n, _)| *n == name).map(|(_, o)| *o).unwrap_or_default()
    }
    /// Freshness of the policy, in shares of the best stationary one's and of uniform's; its delay in shares
    /// of uniform's.
    pub fn ratios(&self) -> (f64, f64, f64) {
        let (ours, uniform) = (self.of("gain"), self.of("uniform"));
        (ours.freshness / self.best, ours.freshness / uniform.freshness, ours.delay / uniform.delay)
    }
}

/// Everything that happens on a web, worked out once.
struct World {
    web: SimWeb,
    lives: Vec<Life>,
    changes: Vec<Vec<Millis>>,
    relevant: Vec<bool>,
    lists: Vec<bool>,
    kin: Vec<Kin>,
    rates: Vec<f64>,
    end: Millis,
}

impl World {
    fn new(spec: &str, days: u64) -> Result<World, Problem> {
        let web = SimWeb::open(spec)?;
        let ids = 0..web.options().pages;
        let end = Millis(days * DAY);
        let about: Vec<_> = ids.clone().map(|id| web.about(id)).collect();
        let url = |id: u32| web.url_of(id).map_or(String::new(), |u| u.to_string());
        Ok(World {
            lives: ids.clone().map(|id| web.life(id)).collect(),
            changes: ids.clone().map(|id| web.change_times(id).take_while(|t| *t <= end).collect()).collect(),
            relevant: about.iter().map(|a| a.relevant).collect(),
            lists: about.iter().map(|a| a.role != Role::Leaf).collect(),
            kin: ids.clone().map(|id| Kin::of(&url(id), about[id as usize].relevant)).collect(),
            rates: ids.map(|id| web.change_rate(id)).collect(),
            end,
            web,
        })
    }

    fn pages(&self) -> u32 {
        self.lives.len() as u32
    }
    /// Feeds have the numbers behind those of the pages.
    fn is_feed(&self, id: u32) -> bool {
        id >= self.pages()
    }
    fn links(&self, id: u32, at: Millis) -> Vec<u32> {
        match self.is_feed(id) {
            true => self.web.newest(id - self.pages(), at),
            false => self.web.links_at(id, at),
        }
    }
    fn version(&self, id: u32, at: Millis) -> usize {
        self.changes.get(id as usize).map_or(0, |c| c.partition_point(|t| *t <= at))
    }
    fn is_there(&self, id: u32, at: Millis) -> bool {
        self.lives.get(id as usize).is_none_or(|life| life.is_at(at))
    }

    /// Of relevant pages only, with the whole budget: every page at a fixed interval, such that one more
    /// visit is worth the same everywhere. Averaged over some days.
    fn best_stationary(&self, a_day: f64, rounds: f64, from: Millis) -> f64 {
        let days = (from.0 / DAY..self.end.0 / DAY).step_by(4).map(|d| Millis(d * DAY));
        let on = |at: Millis| {
            let there = (0..self.pages()).filter(|id| self.relevant[*id as usize] && self.is_there(*id, at));
            let rates: Vec<f64> = there.map(|id| self.rates[id as usize]).collect();
            best_freshness(&rates, a_day, 1.0 / rounds)
        };
        let all: Vec<f64> = days.map(on).collect();
        all.iter().sum::<f64>() / all.len().max(1) as f64
    }
}

/// The most that visits at fixed intervals can do for the freshness of pages with these rates (Cho and
/// Garcia-Molina 2003, §4): intervals at which the gain of one more visit is the same, found by halving.
fn best_freshness(rates: &[f64], a_day: f64, shortest: f64) -> f64 {
    // The interval at which a visit is worth `worth`; `None`: never.
    let interval = |rate: f64, worth: f64| {
        if rate <= 0.0 || 1.0 / rate <= worth {
            return None;
        }
        let (mut low, mut high) = (shortest, 1e5);
        for _ in 0..60 {
            let middle = (low * high).sqrt();
            if gain_of_change(rate, middle) < worth { low = middle } else { high = middle }
        }
        Some(high)
    };
    let (mut low, mut high) = (1e-9_f64, 1e5_f64);
    for _ in 0..60 {
        let worth = (low * high).sqrt();
        let visits: f64 = rates.iter().filter_map(|r| interval(*r, worth)).map(|t| 1.0 / t).sum();
        if visits > a_day { low = worth } else { high = worth }
    }
    let fresh = rates.iter().map(|&rate| match (rate <= 0.0, interval(rate, high)) {
        (true, _) => 1.0,
        (_, None) => 0.0,
        (_, Some(t)) => (1.0 - (-rate * t).exp()) / (rate * t),
    });
    fresh.sum::<f64>() / rates.len().max(1) as f64
}

/// A page of the collection.
#[derive(Clone, Debug)]
struct Kept {
    seen: Millis,
    first: Millis,
    version: usize,
    links: u64,
    gone: bool,
}

struct Crawler<'a> {
    world: &'a World,
    kind: Kind,
    policy: Policy,
    rates: Rates,
    kept: HashMap<u32, Kept>,
    /// Known pages by the time they were last seen, for those who take turns.
    turns: BTreeSet<(Millis, u32)>,
    pending: VecDeque<(u32, u32)>,
    parents: HashMap<u32, u32>,
    found: HashMap<u32, Millis>,
    requests: u64,
}

impl<'a> Crawler<'a> {
    fn new(world: &'a World, kind: Kind) -> Crawler<'a> {
        let mut crawler = Crawler {
            world,
            kind,
            policy: Policy::default(),
            rates: Rates::default(),
            kept: HashMap::new(),
            turns: BTreeSet::new(),
            pending: VecDeque::new(),
            parents: HashMap::new(),
            found: HashMap::new(),
            requests: 0,
        };
        for seed in world.web.seeds() {
            if let Some(id) = world.web.id_of(&seed) {
                crawler.parents.insert(id, id);
                crawler.pending.push_back((id, id));
            }
        }
        while let Some((id, parent)) = crawler.pending.pop_front() {
            crawler.fetch(id, parent, Millis(0), Millis(0));
        }
        for feed in world.pages()..world.pages() + world.web.hosts() as u32 {
            crawler.keep(feed, Millis(0));
        }
        crawler
    }

    fn takes_turns(&self, id: u32) -> bool {
        let world = self.world;
        match self.kind {
            Kind::Uniform => true,
            Kind::UniformWanted => {
                world.is_feed(id) || world.relevant[id as usize] || world.lists[id as usize]
            }
            Kind::Gain | Kind::Proportional => false,
        }
    }

    fn keep(&mut self, id: u32, at: Millis) {
        let links = self.see_links(id, at);
        let version = self.world.version(id, at);
        if let Some(old) = self.kept.get(&id) {
            self.turns.remove(&(old.seen, id));
        }
        let first = self.kept.get(&id).map_or(at, |k| k.first);
        self.kept.insert(id, Kept { seen: at, first, version, links, gone: false });
        if self.takes_turns(id) {
            self.turns.insert((at, id));
        }
    }

    /// Notes what is new; a number that stands for all of them.
    fn see_links(&mut self, id: u32, at: Millis) -> u64 {
        let links = self.world.links(id, at);
        for &to in &links {
            if let Entry::Vacant(new) = self.parents.entry(to) {
                new.insert(id);
                self.pending.push_back((to, id));
            }
        }
        links.iter().fold(7, |sum: u64, to| sum.rotate_left(7) ^ u64::from(*to).wrapping_mul(0x9e37_79b9))
    }

    /// A page that is new to the collection.
    fn fetch(&mut self, id: u32, parent: u32, at: Millis, round: Millis) {
        self.requests += 1;
        if !self.world.is_there(id, at) {
            return;
        }
        self.keep(id, at);
        self.found.insert(id, at);
        let relevant = self.world.relevant[id as usize];
        self.policy.found_on(UrlId(parent), self.world.is_feed(parent), relevant);
        if relevant && self.kept.get(&parent).is_some_and(|p| p.first < round) {
            self.policy.brought_by(UrlId(parent));
        }
    }

    fn known(&self, id: u32, kept: &Kept) -> Known {
        let listing = self.world.is_feed(id);
        let kin = self.world.kin.get(id as usize).copied().unwrap_or(Kin::of("", false));
        let relevant = !listing && self.world.relevant[id as usize];
        Known { id: UrlId(id), kin, relevant, listing, seen: kept.seen }
    }

    /// A page that is known. How many links were new.
    fn visit(&mut self, id: u32, at: Millis) -> u64 {
        self.requests += 1;
        let Some(kept) = self.kept.get(&id).cloned() else { return 0 };
        let known = self.known(id, &kept);
        let elapsed = at.since(kept.seen);
        if !self.world.is_there(id, at) {
            // It is asked for once more before it is called gone.
            self.requests += 1;
            self.turns.remove(&(kept.seen, id));
            if let Some(k) = self.kept.get_mut(&id) {
                k.gone = true;
            }
            self.policy.visited(&known, elapsed, Found::Gone);
            return 0;
        }
        let before = self.pending.len();
        self.keep(id, at);
        let now = &self.kept[&id];
        let same = now.version == kept.version && (!self.world.is_list(id) || now.links == kept.links);
        let found = if same { Found::SamePayload } else { Found::Changed };
        self.policy.visited(&known, elapsed, found);
        self.rates.visited(known.id, &known.kin, elapsed, found);
        (self.pending.len() - before) as u64
    }

    fn new_pages(&mut self, most: u64, at: Millis) -> u64 {
        let before = self.requests;
        while self.requests - before < most
            && let Some((id, parent)) = self.pending.pop_front()
        {
            self.fetch(id, parent, at, at);
        }
        self.requests - before
    }

    /// Spends what may be spent at this time.
    fn round(&mut self, budget: u64, at: Millis) {
        let end = self.requests + budget;
        match self.kind {
            Kind::Gain => self.round_by_gain(end, at),
            Kind::Uniform | Kind::UniformWanted => {
                while self.requests < end {
                    if self.new_pages(1, at) > 0 {
                        continue;
                    }
                    let Some((_, id)) = self.turns.first().copied().filter(|(seen, _)| *seen < at) else {
                        break;
                    };
                    self.visit(id, at);
                }
            }
            Kind::Proportional => {
                let key = |c: &Crawler<'_>, id: u32, k: &Kept| {
                    let known = c.known(id, k);
                    c.rates.rate(known.id, &known.kin) * at.since(k.seen).as_secs_f64()
                };
                let mut all: Vec<(f64, u32)> = self
                    .kept
                    .iter()
                    .filter(|(_, k)| !k.gone)
                    .map(|(id, k)| (key(self, *id, k), *id))
                    .collect();
                all.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
                for (_, id) in all {
                    self.new_pages(end.saturating_sub(self.requests), at);
                    if self.requests >= end {
                        break;
                    }
                    self.visit(id, at);
                }
            }
        }
    }

    fn round_by_gain(&mut self, end: u64, at: Millis) {
        let (mut fresh, mut first) = (0, true);
        while self.requests < end {
            let unknown = Unknown { pending: self.pending.len() as u64, harvest: 0.3 };
            let pages = self.kept.iter().filter(|(_, k)| !k.gone).map(|(id, k)| self.known(*id, k));
            let plan = self.policy.divide(pages, &unknown, end - self.requests, at);
            for (id, _) in &plan.visits {
                fresh += self.visit(id.0, at);
            }
            let new = self.new_pages(end.saturating_sub(self.requests), at);
            if plan.visits.is_empty() && new == 0 {
                break;
            }
            if std::mem::take(&mut first) {
                self.policy.brought_links(fresh);
            }
        }
    }

    /// Pages that are as they are, pages, and the days by which the others are behind.
    fn look(&self, at: Millis) -> (f64, f64, f64) {
        let (mut fresh, mut all, mut behind) = (0.0, 0.0, 0.0);
        for (&id, kept) in &self.kept {
            if kept.gone || self.world.is_feed(id) || !self.world.relevant[id as usize] {
                continue;
            }
            all += 1.0;
            let change = self.world.changes[id as usize].get(kept.version).copied();
            let gone = self.world.lives[id as usize].gone;
            let stale_since = change.unwrap_or(Millis::NEVER).min(gone);
            match stale_since <= at {
                true => behind += at.since(stale_since).as_secs_f64() / 86_400.0,
                false => fresh += 1.0,
            }
        }
        (fresh, all, behind)
    }
}

impl World {
    fn is_list(&self, id: u32) -> bool {
        self.is_feed(id) || self.lists[id as usize]
    }
}

fn run_one(world: &World, kind: Kind, args: &Args) -> Outcome {
    let mut crawler = Crawler::new(world, kind);
    let step = DAY / args.rounds;
    let learned = Millis(args.learn * DAY);
    let budget = budget_of_a_round(world, args);
    let (mut fresh, mut all, mut behind, mut spent) = (0.0, 0.0, 0.0, 0);
    let mut at = Millis(step);
    while at < world.end {
        let before = crawler.requests;
        crawler.round(budget, at);
        if at >= learned {
            spent += crawler.requests - before;
            for quarter in 0..4 {
                let (f, a, b) = crawler.look(Millis(at.0 + quarter * step / 4 + step / 8));
                (fresh, all, behind) = (fresh + f, all + a, behind + b);
            }
        }
        at = Millis(at.0 + step);
    }
    // Born when something was learnt, and early enough to be found.
    let born = |id: &u32| {
        let life = world.lives[*id as usize];
        world.relevant[*id as usize] && life.born > learned && life.born.0 + 5 * DAY < world.end.0
    };
    let mut delays: Vec<f64> = (0..world.pages())
        .filter(born)
        .map(|id| match crawler.found.get(&id) {
            Some(found) => found.since(world.lives[id as usize].born).as_secs_f64() / 86_400.0,
            None => f64::INFINITY,
        })
        .collect();
    delays.sort_by(f64::total_cmp);
    let found = delays.iter().filter(|d| d.is_finite()).count() as f64 / delays.len().max(1) as f64;
    Outcome {
        freshness: fresh / f64::max(all, 1.0),
        age: behind / f64::max(all, 1.0),
        delay: delays.get(delays.len() / 2).copied().unwrap_or(f64::INFINITY),
        found,
        requests: spent as f64 / (args.days - args.learn) as f64,
    }
}

fn budget_of_a_round(world: &World, args: &Args) -> u64 {
    ((args.budget * f64::from(world.pages()) / args.rounds as f64).round() as u64).max(1)
}

/// All policies on all webs; numbers are means over the random numbers.
pub fn compare(args: &Args) -> Result<Vec<Compared>, Problem> {
    let specs: Vec<String> = match args.webs.is_empty() {
        true => WEBS.iter().map(|w| format!("{w}&pages={}&days={}", args.pages, args.days)).collect(),
        false => args.webs.clone(),
    };
    let mut all = Vec::new();
    for spec in specs {
        let mut sums = [Outcome::default(); KINDS.len()];
        let (mut best, n) = (0.0, args.seeds.max(1) as f64);
        for seed in 1..=args.seeds.max(1) {
            let joint = if spec.contains('?') { '&' } else { '?' };
            let world = World::new(&format!("{spec}{joint}seed={seed}"), args.days)?;
            let a_day = (budget_of_a_round(&world, args) * args.rounds) as f64;
            best += world.best_stationary(a_day, args.rounds as f64, Millis(args.learn * DAY)) / n;
            for (sum, (kind, _)) in sums.iter_mut().zip(KINDS) {
                let o = run_one(&world, kind, args);
                sum.freshness += o.freshness / n;
                sum.age += o.age / n;
                sum.delay += o.delay / n;
                sum.found += o.found / n;
                sum.requests += o.requests / n;
            }
        }
        let outcomes = KINDS.iter().zip(sums).map(|((_, name), o)| (*name, o)).collect();
        all.push(Compared { web: spec, outcomes, best });
    }
    Ok(all)
}

/// The table, as Markdown.
pub fn markdown(all: &[Compared]) -> String {
    let mut out = String::from(
        "| web | policy | freshness | age, days | delay of a new page, days | new pages found | requests a \
         day |\n\
         |---|---|---|---|---|---|---|\n",
    );
    for c in all {
        for (name, o) in &c.outcomes {
            let _ = writeln!(
                out,
                "| {} | {name} | {:.3} | {:.2} | {:.2} | {:.0} % | {:.0} |",
                c.web.replace('|', ""),
                o.freshness,
                o.age,
                o.delay,
                100.0 * o.found,
                o.requests
            );
        }
        let _ = writeln!(out, "| {} | best stationary | {:.3} | | | | |", c.web, c.best);
    }
    out.push_str(
        "\n| web | freshness / best stationary | freshness / uniform | delay / uniform |\n\
                  |---|---|---|---|\n",
    );
    for c in all {
        let (best, uniform, delay) = c.ratios();
        let _ = writeln!(out, "| {} | {best:.3} | {uniform:.2} | {delay:.2} |", c.web);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_intervals_are_those_of_the_formula() {
        // One page: the whole budget is its.
        let x: f64 = 0.5;
        assert!((best_freshness(&[1.0], 2.0, 0.01) - (1.0 - (-x).exp()) / x).abs() < 1e-3);
        // Pages that do not change need no visit; without a budget the others are never fresh.
        assert!((best_freshness(&[0.0, 5.0], 1e-6, 0.01) - 0.5).abs() < 1e-3);
        // Better than the same interval for all, by not chasing what cannot be caught.
        let rates: [f64; 3] = [0.1, 0.5, 20.0];
        let same = rates.iter().map(|r| (1.0 - (-r * 3.0_f64).exp()) / (r * 3.0)).sum::<f64>() / 3.0;
        assert!(best_freshness(&rates, 1.0, 0.01) > same + 0.05);
    }

    /// The targets of issue 22, on smaller webs and one of each.
    #[test]
    fn the_policy_keeps_collections_fresher_than_turns_and_finds_new_pages_sooner() {
        let args = Args {
            webs: WEBS[..4].iter().map(|w| format!("{w}&pages=1500&days=45")).collect(),
            pages: 0,
            seeds: 1,
            days: 45,
            learn: 20,
            rounds: 4,
            budget: 0.08,
        };
        let all = compare(&args).unwrap();
        let table = markdown(&all);
        for c in &all {
            let (best, uniform, delay) = c.ratios();
            assert!(best >= 0.9 && uniform >= 1.2 && delay <= 0.5, "{}\n{table}", c.web);
            let (ours, turns) = (c.of("gain"), c.of("uniform"));
            assert!(ours.requests <= turns.requests * 1.01 && ours.age < turns.age, "{table}");
        }
    }
}
