//! The loop's one place of order: what is leased next, and what an arrival changes.

use crate::analyse::Analysis;
use crate::collection::{Indexed, MakeJudge};
use crate::control::{Adjustments, merged, plain};
use crate::duplicates::{Duplicates, Earlier};
use crate::events::{Curve, Event, Pause, Progress};
use crate::inbox::Inbox;
use crate::listings::{ListingLimits, Listings, is_sitemap_file, later};
use crate::marks::Marks;
use crate::measured::Measurer;
use crate::mirrors::Mirrors;
use crate::network::{Ask, Network};
use crate::origins::{Door, Origins};
use crate::outlook::Outlook;
use crate::robots::RobotsCache;
use crate::roll::Roll;
use crate::scope::Scope;
use crate::steer::{Rejudging, Steering};
use crate::suspects::Suspects;
use crate::sweep::Sweep;
use crate::teacher::Teaching;
use fetch::robots::Robots;
use focus::judges::Judge;
use focus::strategies::Strategy;
use frontier::{Info, Next, Pick};
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;
use store::archive::{Archiver, Position};
use store::formats::position_bytes;
use store::index::Index;
use store::{Gate, News, Records, Which};
use types::{
    Candidate, Canon, Fetched, Lease, LinkKind, Millis, Outcome, Priority, Problem, Rescored, RobotsAnswer,
    Settle, StateKey, Task, Turn, Url, UrlId, Verdict,
};

/// What a crawl runs on: the order of the frontier and the records, in one atomic whole.
pub use store::Storage as Ledger;

/// Settings of the loop itself; the rest belongs to the parts.
#[derive(Clone, Debug)]
pub struct Rules {
    pub pages: Option<u64>,
    pub relevant: Option<u64>,
    /// Requests of any kind: pages, robots.txt, sitemaps, redirects, errors.
    pub requests: Option<u64>,
    pub time: Option<Duration>,
    pub redirects: u8,
    pub links_per_page: usize,
    pub expand_min: f64,
    pub obey_nofollow: bool,
    pub use_sitemaps: bool,
    pub listings: ListingLimits,
    pub attempts: u8,
    pub concurrency: usize,
    /// Group hosts by the address that answered (off when addresses are made up by `--resolve`).
    pub group_by_ip: bool,
    /// When no host answers any more, wait for the network.
    pub watch_network: bool,
    /// How long a crawl that has to stop waits for what is in flight (`None`: for all of it).
    pub grace: Option<Duration>,
    /// When nothing can be fetched for longer than this, the crawl ends; `None` = it waits.
    pub max_wait: Option<Duration>,
    pub only_relevant_archived: bool,
    /// Keep records and learnt state in the ledger. Off in a backtest, which is never taken up again.
    pub keep: bool,
    /// Share of verdicts that are turned around, to see how a strategy copes with a poor judge. For backtests.
    pub noise: f64,
    pub user_agent: String,
    /// Seed of all chance in the loop.
    pub rng: u64,
    /// With more pending URLs than this, a new model is applied to them in the background (`None`: always at once, as
    /// order that can be repeated needs it).
    pub sweep_above: Option<u64>,
}

impl Default for Rules {
    fn default() -> Self {
        Rules {
            pages: None,
            relevant: None,
            requests: None,
            time: None,
            redirects: 8,
            links_per_page: 500,
            expand_min: 0.0,
            obey_nofollow: true,
            use_sitemaps: true,
            listings: ListingLimits::none(),
            attempts: 3,
            concurrency: 1,
            group_by_ip: false,
            watch_network: false,
            grace: None,
            max_wait: None,
            only_relevant_archived: false,
            keep: true,
            noise: 0.0,
            user_agent: "Gleaner".into(),
            rng: 0,
            sweep_above: None,
        }
    }
}

/// Everything a crawl is made of.
pub struct Parts {
    pub name: String,
    pub strategy_name: String,
    pub judge_name: String,
    pub rules: Rules,
    pub canon: Canon,
    pub scope: Scope,
    pub ledger: Box<dyn Ledger>,
    pub judge: Arc<RwLock<Box<dyn Judge>>>,
    pub strategy: Box<dyn Strategy>,
    pub archive: Option<Box<dyn Archiver>>,
    pub index: Option<Index>,
}

/// An answer on its way back to the loop.
pub struct Arrival {
    pub lease: Lease,
    pub fetched: Fetched,
    pub analysis: Option<Analysis>,
}

/// What the driver should do now.
pub enum Step {
    Fetch(Box<Lease>),
    /// Nothing may be fetched before `until`; an arrival may change that.
    Wait {
        until: Millis,
        idle: String,
    },
    /// As much as may be is in flight: wait for an arrival.
    Busy,
    /// It is over but for what is in flight: wait for that, not for long.
    Ending,
    Done(Stop),
}

/// Why a crawl ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Nothing is left to fetch.
    Exhausted,
    Pages,
    Relevant,
    Requests,
    Time,
    User,
    /// All that is left is on hosts that asked for a long pause.
    Pauses,
}

impl Stop {
    pub fn reason(self) -> &'static str {
        match self {
            Stop::Exhausted => "nothing left to fetch",
            Stop::Pages => "page limit reached",
            Stop::Relevant => "limit of relevant pages reached",
            Stop::Requests => "request limit reached ([limits] requests)",
            Stop::Time => "time limit reached",
            Stop::User => "stopped by the user",
            Stop::Pauses => "only hosts that want a long pause are left",
        }
    }
}

/// What is remembered of each page so that a verdict can be revised without its assessment.
#[derive(Clone, Copy)]
pub(crate) struct Judged {
    pub id: UrlId,
    pub score: f64,
    /// An exclude term or a foreign language rules it out, whatever the threshold.
    pub barred: bool,
    /// Turned around by [`Rules::noise`].
    pub turned: bool,
    /// The judge's verdict.
    pub relevant: bool,
    /// What was said of it: counts instead.
    pub label: Option<bool>,
    /// The same, or nearly the same, came before.
    pub copy_of: Option<Earlier>,
    /// Of its text; 0 = too short to tell.
    pub simhash: u64,
}

impl Judged {
    /// Is it one of the wanted pages?
    pub fn wanted(&self) -> bool {
        self.label.unwrap_or(self.relevant)
    }
}

/// What is thought of a page now.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Judgement {
    pub id: UrlId,
    /// The judge's own.
    pub verdict: Verdict,
    /// What the user said counts instead.
    pub label: Option<bool>,
}

pub struct Crawl {
    pub(crate) parts: Parts,
    /// The pages, as far as they are judged.
    pub(crate) roll: Roll,
    pub(crate) measurer: Measurer,
    pub(crate) duplicates: Duplicates,
    pub(crate) mirrors: Mirrors,
    pub(crate) counts: Counts,
    robots: RobotsCache,
    /// What sitemaps and feeds have cost.
    pub(crate) listings: Listings,
    in_flight: HashMap<u64, Out>,
    pub(crate) events: Box<dyn FnMut(&Event) + Send>,
    started: Option<Millis>,
    stop: Option<Stop>,
    /// Since when it only waits for what is in flight.
    stopping: Option<Millis>,
    paused: bool,
    recent: VecDeque<Millis>,
    pub(crate) network: Network,
    /// Without an answer, while it is not known whose fault that is.
    pub(crate) doubtful: Vec<Arrival>,
    pub(crate) origins: Origins,
    pub(crate) door_limits: frontier::Limits,
    idle: String,
    /// URLs of pages that led to others lately.
    pub(crate) parents: HashMap<UrlId, Arc<str>>,
    /// Pages the strategy learned from since its state was saved.
    pub(crate) unsaved: u32,
    /// Bytes of appended strategy state since the last whole save, and the size of that.
    pub(crate) appended: (usize, usize),
    /// How far the archive was written at the last commit.
    archived: Option<Position>,
    /// Pending URLs that are being scored again.
    pub(crate) sweep: Option<Sweep>,
    /// What the other workers of a shared crawl did.
    others: News,
    told_others: Millis,
    /// What was changed while running, in this run or an earlier one.
    pub(crate) adjustments: Adjustments,
    pub(crate) steering: Option<Steering>,
    /// Makes the judge again, as it was before it saw any page.
    pub(crate) make_judge: Option<MakeJudge>,
    pub(crate) rejudging: Option<Rejudging>,
    /// Leases whose pages may have been measured by a judge that is gone.
    pub(crate) measured_before: HashSet<u64>,
    /// The labels that the strategy was told of.
    pub(crate) labels_told: Vec<u8>,
    /// Of a shared crawl: everything that was asked up to this number was done.
    pub(crate) steered: u64,
    /// Where other processes leave labels, if they can.
    pub(crate) inbox: Option<Inbox>,
    /// What is being read is marked here, if anywhere.
    pub(crate) marks: Option<Marks>,
    /// What was being read when an earlier run died.
    pub(crate) suspects: Suspects,
    /// A language model that is asked about pages.
    pub(crate) teaching: Option<Box<Teaching>>,
}

/// Who made the state that is kept. Another strategy or judge (the command line may choose) starts from its own.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Run {
    pub strategy: String,
    pub judge: String,
}

impl Run {
    /// The last run's; `None` before the first.
    pub fn of(store: &(impl Records + ?Sized)) -> Result<Option<Run>, Problem> {
        let bytes = store.state(StateKey::Run)?.pop();
        Ok(bytes.and_then(|b| serde_json::from_slice(&b).ok()))
    }
}

/// A lease that is out.
#[derive(Clone, Copy)]
pub(crate) struct Out {
    pub id: UrlId,
    pub task: Task,
    since: Millis,
    /// It is to show whether the network is there, whatever else is in flight.
    look: bool,
}

/// Running totals, kept with the collection.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub(crate) struct Counts {
    pub pages: u64,
    pub relevant: u64,
    /// Answers and failures of every kind.
    pub requests: u64,
    pub bytes: u64,
    pub duplicates: u64,
    pub near_duplicates: u64,
    pub errors: BTreeMap<String, u64>,
    pub refused: BTreeMap<String, u64>,
    #[serde(skip)]
    pub curve: Curve,
    #[serde(skip)]
    pub threshold: f64,
}

impl Counts {
    pub fn error(&mut self, kind: &str) {
        *self.errors.entry(kind.to_string()).or_default() += 1;
    }
    pub fn refuse(&mut self, kind: &str, n: u64) {
        if n > 0 {
            *self.refused.entry(kind.to_string()).or_default() += n;
        }
    }
}

/// What becomes of a lease.
enum Permission {
    Fetch,
    /// Not at all: this is how it ends.
    Never(Outcome),
    /// Something else of the host comes first.
    Later,
    /// Its host's robots.txt comes first; this is the answer that is kept.
    AskRobots(RobotsAnswer),
}

/// How often the other workers are told what the model learnt.
const TELL_EVERY: Duration = Duration::from_secs(2);

/// A page that takes longer is not waited for when only a few more are wanted. Should it come all the same when there are
/// enough, it goes back.
const OVERDUE: Duration = Duration::from_secs(5);

impl Crawl {
    /// Takes up a collection where it was left, or starts it.
    pub fn new(parts: Parts) -> Result<Crawl, Problem> {
        let mut crawl = Crawl {
            parts,
            roll: Roll::default(),
            measurer: Measurer::default(),
            duplicates: Duplicates::default(),
            mirrors: Mirrors::default(),
            counts: Counts::default(),
            robots: RobotsCache::default(),
            listings: Listings::default(),
            in_flight: HashMap::new(),
            events: Box::new(|_| {}),
            started: None,
            stop: None,
            stopping: None,
            paused: false,
            recent: VecDeque::new(),
            network: Network::default(),
            doubtful: Vec::new(),
            origins: Origins::default(),
            door_limits: frontier::Limits::default(),
            idle: String::new(),
            parents: HashMap::new(),
            unsaved: 0,
            appended: (0, 0),
            archived: None,
            sweep: None,
            others: News::default(),
            told_others: Millis(0),
            adjustments: Adjustments::default(),
            steering: None,
            make_judge: None,
            rejudging: None,
            measured_before: HashSet::new(),
            labels_told: Vec::new(),
            steered: 0,
            inbox: None,
            marks: None,
            suspects: Suspects::default(),
            teaching: None,
        };
        crawl.adjustments = Adjustments::read(crawl.parts.ledger.as_ref())?;
        crawl.restore()?;
        Ok(crawl)
    }

    pub fn on_event(&mut self, sink: impl FnMut(&Event) + Send + 'static) {
        self.events = Box::new(sink);
    }

    pub(crate) fn emit(&mut self, event: Event) {
        (self.events)(&event);
    }

    /// Offers the user's URLs. Those known already are left alone, so running the same command again is harmless.
    pub fn seed(&mut self, urls: &[Url], now: Millis) -> Result<usize, Problem> {
        let mut new = 0;
        for url in urls {
            if let Err(why) = self.parts.scope.check(url) {
                self.counts.refuse(&format!("scope: {}", why.kind()), 1);
                continue;
            }
            if self.parts.ledger.look_up(url)?.is_some_and(|e| !e.state.is_unanswered()) {
                // Known from an earlier run: a strategy must not hear of it twice.
                continue;
            }
            let candidate = self.as_seed(url);
            if self.parts.ledger.seed(candidate, now)? {
                new += 1;
            }
        }
        self.save_strategy_now()?;
        self.save_run()?;
        self.parts.ledger.commit()?;
        Ok(new)
    }

    /// Everything that ended without an answer is asked for once more, with what is known of it. How many these are.
    pub fn retry_unanswered(&mut self, now: Millis) -> Result<usize, Problem> {
        let mut again = 0;
        let unanswered = |e: &Result<Info, Problem>| e.as_ref().is_ok_and(|e| e.state.is_unanswered());
        let all: Result<Vec<Info>, Problem> =
            self.parts.ledger.entries(Which::All).filter(|e| e.is_err() || unanswered(e)).collect();
        for e in all? {
            let id = e.id;
            let best = self.parts.ledger.sources(id)?.into_iter().max_by_key(|s| s.priority);
            let Some(source) = best else { continue };
            let candidate = Candidate {
                url: self.parts.ledger.url(id)?,
                parent: source.parent,
                kind: source.kind,
                depth: e.depth,
                site_depth: e.site_depth,
                hops: e.hops,
                priority: source.priority,
                evidence: source.evidence,
                model: e.model,
                ttl: None,
                anchor: source.anchor,
            };
            again += usize::from(self.parts.ledger.seed(candidate, now)?);
        }
        self.parts.ledger.commit()?;
        Ok(again)
    }

    /// A URL the user named, as the strategy sees it.
    pub(crate) fn as_seed(&mut self, url: &Url) -> Candidate {
        let scored = self.parts.strategy.seed(url);
        Candidate {
            url: url.clone(),
            parent: None,
            kind: LinkKind::Seed,
            depth: 0,
            site_depth: 0,
            hops: 0,
            priority: self.with_rule_of(url, scored.priority),
            evidence: scored.evidence,
            model: self.parts.strategy.model(),
            ttl: None,
            anchor: "".into(),
        }
    }

    fn save_run(&mut self) -> Result<(), Problem> {
        let run = Run { strategy: self.parts.strategy_name.clone(), judge: self.parts.judge_name.clone() };
        if self.parts.rules.keep
            && Run::of(self.parts.ledger.as_ref())?.as_ref() != Some(&run)
            && let Ok(bytes) = serde_json::to_vec(&run)
        {
            self.parts.ledger.put_state(StateKey::Run, false, &bytes)?;
        }
        Ok(())
    }

    /// Step 1: the best URL that may be fetched now.
    pub fn next(&mut self, now: Millis) -> Result<Step, Problem> {
        let started = *self.started.get_or_insert(now);
        if let Some(stop) = self.stop {
            return Ok(self.stop_when_done(stop, now));
        }
        // Before the limits: a crawl that has reached one can still be corrected, or given another limit.
        if self.paused {
            self.idle = "paused".into();
            return Ok(Step::Wait { until: now.plus(Duration::from_millis(200)), idle: self.idle.clone() });
        }
        if let Some(stop) = self.reached(now, started) {
            return Ok(self.stop_when_done(stop, now));
        }
        // A limit may have been raised since.
        self.stopping = None;
        match self.network.ask(now) {
            Ask::Anyone => {}
            Ask::Look => return self.look(now),
            Ask::Nobody(until) => {
                self.idle = self.network.trouble().into();
                return Ok(Step::Wait { until, idle: self.idle.clone() });
            }
        }
        let counts = |out: &&Out| out.task == Task::Page && !self.is_beyond_count(out, now);
        let pages_in_flight = self.in_flight.values().filter(counts).count() as u64;
        let in_flight = self.in_flight.len() as u64;
        if self.in_flight.len() >= self.parts.rules.concurrency
            || self.suspects.any_of(self.in_flight.values())
            || self.parts.rules.requests.is_some_and(|most| self.counts.requests + in_flight >= most)
            || self.parts.rules.pages.is_some_and(|most| {
                self.counts.pages + pages_in_flight + self.others.pages + self.others.in_flight >= most
            })
        {
            return Ok(Step::Busy);
        }
        loop {
            self.refresh_top(now)?;
            let lane = self.parts.strategy.lane();
            match self.parts.ledger.lease(now, Pick::of_lane(lane))? {
                Next::Lease(lease) => {
                    if self.turned_away(&lease, now)? {
                        continue;
                    }
                    if !self.is_its_turn(&lease, now)? {
                        continue;
                    }
                    return Ok(self.fetch(lease, false, now));
                }
                Next::Wait { until, idle } => {
                    self.idle = idle.to_string();
                    // Workers that are busy may yet send something.
                    if self.in_flight.is_empty()
                        && self.others.in_flight == 0
                        && self.is_too_long(until.since(now))
                    {
                        return Ok(Step::Done(Stop::Pauses));
                    }
                    return Ok(Step::Wait { until, idle: self.idle.clone() });
                }
                Next::Empty(_) if self.in_flight.is_empty() => return Ok(Step::Done(Stop::Exhausted)),
                Next::Empty(_) => return Ok(Step::Busy),
            }
        }
    }

    /// Is it fetched beside the pages that are still wanted? Because it takes long, or is a look at the network.
    fn is_beyond_count(&self, out: &Out, now: Millis) -> bool {
        self.parts.rules.grace.is_some() && (out.look || now.since(out.since) >= OVERDUE)
    }

    fn fetch(&mut self, lease: Lease, look: bool, now: Millis) -> Step {
        self.idle.clear();
        self.listings.requested(lease.url.host_key(), is_sitemap_file(&lease));
        self.in_flight.insert(lease.number, Out { id: lease.id, task: lease.task, since: now, look });
        Step::Fetch(Box::new(lease))
    }

    /// Settles a lease that needs no request, because it may not be sent, or not now. `true` when that is so.
    fn turned_away(&mut self, lease: &Lease, now: Millis) -> Result<bool, Problem> {
        let (outcome, kind) = match self.permission(lease)? {
            Permission::Never(Outcome::RobotsDenied) => (Outcome::RobotsDenied, "robots-denied"),
            Permission::Never(outcome) => (outcome, "out-of-scope"),
            Permission::Later => {
                self.postpone(lease, now)?;
                return Ok(true);
            }
            Permission::AskRobots(answer) => {
                self.ask_robots_again(lease, answer, now)?;
                return Ok(true);
            }
            Permission::Fetch if lease.task == Task::Page => {
                match self.origins.door(&lease.url, now, &self.door_limits) {
                    Door::Open => return Ok(false),
                    Door::GivenUp => (Outcome::Unreachable, "silent"),
                    Door::ShutUntil(until) => {
                        let mut turn = Turn::new(Settle::Defer { id: lease.id, until });
                        turn.host.finished = now;
                        self.apply(turn)?;
                        return Ok(true);
                    }
                }
            }
            Permission::Fetch => return Ok(false),
        };
        let mut turn = Turn::new(Settle::Done { id: lease.id, outcome });
        turn.host.finished = now;
        self.apply(turn)?;
        self.miss(lease, kind, Some(outcome), now)?;
        Ok(true)
    }

    /// Asks a host whether the network is there. However much is in flight: that may be what hangs.
    fn look(&mut self, now: Millis) -> Result<Step, Problem> {
        loop {
            let network = &self.network;
            match self.parts.ledger.lease(now, Pick::Host(&|host| network.rank(host)))? {
                Next::Lease(lease) => {
                    if self.turned_away(&lease, now)? {
                        continue;
                    }
                    self.network.looks_at(lease.url.host_key(), lease.number);
                    return Ok(self.fetch(lease, true, now));
                }
                Next::Wait { .. } | Next::Empty(_) => {
                    let until = self.network.none_to_look_at(now);
                    if self.network.is_down() {
                        self.undo_doubtful(now)?;
                    }
                    self.idle = self.network.trouble().into();
                    return Ok(Step::Wait { until, idle: self.idle.clone() });
                }
            }
        }
    }

    /// What is in flight is waited for, but not for ever.
    fn stop_when_done(&mut self, stop: Stop, now: Millis) -> Step {
        let since = *self.stopping.get_or_insert(now);
        let late = self.parts.rules.grace.is_some_and(|grace| now.since(since) >= grace);
        if self.in_flight.is_empty() || late { Step::Done(stop) } else { Step::Ending }
    }

    fn is_too_long(&self, wait: Duration) -> bool {
        self.parts.rules.max_wait.is_some_and(|most| wait > most)
    }

    /// Hosts that want a pause longer than this crawl waits, the longest first, and how long it still is.
    fn pauses(&self, now: Millis) -> Result<Vec<Pause>, Problem> {
        let pause = |h: frontier::HostInfo| {
            let left = h.next_allowed().since(now);
            self.is_too_long(left).then_some(Pause { host: h.name, seconds: left.as_secs() })
        };
        let mut all: Vec<Pause> = self.parts.ledger.hosts()?.into_iter().filter_map(pause).collect();
        all.sort_by(|a, b| (b.seconds, &a.host).cmp(&(a.seconds, &b.host)));
        Ok(all)
    }

    fn reached(&self, now: Millis, started: Millis) -> Option<Stop> {
        let rules = &self.parts.rules;
        if rules.pages.is_some_and(|most| self.counts.pages + self.others.pages >= most) {
            return Some(Stop::Pages);
        }
        if rules.relevant.is_some_and(|most| self.counts.relevant + self.others.relevant >= most) {
            return Some(Stop::Relevant);
        }
        if rules.requests.is_some_and(|most| self.counts.requests >= most) {
            return Some(Stop::Requests);
        }
        rules.time.is_some_and(|most| now.since(started) >= most).then_some(Stop::Time)
    }

    /// Scores the best pending URLs again when the model has moved on since they were scored.
    fn refresh_top(&mut self, now: Millis) -> Result<(), Problem> {
        let k = self.parts.strategy.lookahead();
        if k == 0 {
            return Ok(());
        }
        let model = self.parts.strategy.model();
        let lane = self.parts.strategy.lane();
        let mut fresh = Vec::new();
        for top in self.parts.ledger.peek(now, lane, k) {
            if top.model != model
                && let Some(rescored) = self.rescored(top.id, None)?
            {
                fresh.push(rescored);
            }
        }
        self.parts.ledger.rescore(&fresh)
    }

    /// A pending URL's priority under the present model.
    pub(crate) fn rescored(&mut self, id: UrlId, cause: Option<UrlId>) -> Result<Option<Rescored>, Problem> {
        let mut sources = self.parts.ledger.sources(id)?;
        // Seen while its host went first.
        sources.iter_mut().for_each(|s| s.priority = plain(s.priority));
        let model = self.parts.strategy.model();
        let Some(priority) = self.parts.strategy.rescore(&sources) else { return Ok(None) };
        let priority = self.with_rule(id, priority)?;
        Ok(Some(Rescored { id, priority, model, cause }))
    }

    /// May this URL be fetched now? (Scope may have changed since it was found; robots rules are only known when its host
    /// was asked.)
    fn permission(&mut self, lease: &Lease) -> Result<Permission, Problem> {
        if lease.task == Task::Robots {
            return Ok(Permission::Fetch);
        }
        if self.parts.scope.check(&lease.url).is_err() || self.is_blocked(&lease.url) {
            return Ok(Permission::Never(Outcome::OutOfScope));
        }
        let host = lease.url.host_key();
        let robots = match self.robots.get(host) {
            Some(robots) => Some(robots),
            None => match self.parts.ledger.robots(host)? {
                Some(answer) if Robots::is_for_another(&answer.body, &self.parts.rules.user_agent) => {
                    return Ok(Permission::AskRobots(answer));
                }
                Some(answer) => {
                    let agent = &self.parts.rules.user_agent;
                    let robots = Arc::new(Robots::from_answer(answer.status, &answer.body, agent));
                    self.remember_robots(host, robots.clone());
                    Some(robots)
                }
                None => None,
            },
        };
        if robots.is_some_and(|r| !r.allows(&lease.url)) {
            return Ok(Permission::Never(Outcome::RobotsDenied));
        }
        let waits = is_sitemap_file(lease)
            && lease.priority != later()
            && !self.listings.is_turn(host, &self.parts.rules.listings);
        Ok(if waits { Permission::Later } else { Permission::Fetch })
    }

    /// A sitemap file lets the pages of its host pass.
    fn postpone(&mut self, lease: &Lease, now: Millis) -> Result<(), Problem> {
        let mut turn = Turn::new(Settle::Return { id: lease.id });
        turn.host.finished = now;
        let (priority, model) = (later(), self.parts.strategy.model());
        turn.rescore.push(Rescored { id: lease.id, priority, model, cause: None });
        self.apply(turn).map(drop)
    }

    /// The rules that are kept are those of another user agent: they end now.
    fn ask_robots_again(&mut self, lease: &Lease, answer: RobotsAnswer, now: Millis) -> Result<(), Problem> {
        let answer = RobotsAnswer { body: Vec::new(), expires: now, ..answer };
        for settle in [Settle::Return { id: lease.id }, Settle::Robots { id: lease.id, answer }] {
            let mut turn = Turn::new(settle);
            turn.host.finished = now;
            self.apply(turn)?;
        }
        Ok(())
    }

    pub(crate) fn remember_robots(&mut self, host: &str, robots: Arc<Robots>) {
        self.robots.put(host, robots);
    }

    /// Steps 4–7: what an answer changes, applied as one.
    pub fn arrived(&mut self, arrival: Arrival, now: Millis) -> Result<(), Problem> {
        let out = self.in_flight.remove(&arrival.lease.number);
        let rules = &self.parts.rules;
        if out.is_some_and(|out| out.task == Task::Page && self.is_beyond_count(&out, now))
            && rules.pages.is_some_and(|most| self.counts.pages + self.others.pages >= most)
        {
            // Others came in its stead.
            let mut turn = Turn::new(Settle::Return { id: arrival.lease.id });
            (turn.host.contacted, turn.host.finished) = (true, now);
            return self.apply(turn).map(drop);
        }
        if !self.holds(arrival.lease.id) {
            // Another worker has the host by now: the page is theirs to fetch and to record.
            let url = arrival.lease.url.to_string();
            let (id, kind) = (arrival.lease.id, "handed-over".to_string());
            self.counts.error(&kind);
            self.emit(Event::Miss { id, url, kind, outcome: None, at: now });
            return Ok(());
        }
        self.visit(arrival, now)
    }

    /// A lease that is given back as it was: its request was not sent, or (`contacted`) nobody waits for its page any more.
    pub fn withheld(&mut self, lease: &Lease, contacted: bool, now: Millis) -> Result<(), Problem> {
        self.in_flight.remove(&lease.number);
        if self.holds(lease.id) {
            let mut turn = Turn::new(Settle::Return { id: lease.id });
            turn.host.contacted = contacted;
            turn.host.finished = now;
            self.apply(turn)?;
        }
        Ok(())
    }

    /// What was asked in vain while the network was away was not asked.
    pub(crate) fn undo_doubtful(&mut self, now: Millis) -> Result<(), Problem> {
        for arrival in std::mem::take(&mut self.doubtful) {
            self.withheld(&arrival.lease, false, now)?;
        }
        Ok(())
    }

    /// Does a lease still count? Of a shared crawl another worker may have its host by now.
    pub(crate) fn holds(&self, id: UrlId) -> bool {
        self.parts.ledger.fleet().is_none_or(|fleet| fleet.holds(id))
    }

    /// Of a shared crawl: to be asked before each request is sent.
    pub fn gate(&self) -> Option<Gate> {
        self.parts.ledger.fleet().map(|fleet| fleet.gate())
    }

    /// Of a shared crawl: does what is due, and learns what the other workers learnt.
    pub fn maintain_membership(&mut self, now: Millis) -> Result<(), Problem> {
        let strategy = &self.parts.strategy;
        let merge = |old: Priority, new: Priority| merged(old, new, |a, b| strategy.merge(a, b));
        let Some(fleet) = self.parts.ledger.fleet_mut() else { return Ok(()) };
        let Some(mut news) = fleet.maintain(now, &merge)? else { return Ok(()) };
        for delta in std::mem::take(&mut news.deltas) {
            if let Err(e) = self.parts.strategy.apply(&delta) {
                // Of a worker with another strategy or version; ours is as good as before.
                tracing::warn!(problem = %e, "another worker's model cannot be read");
            }
        }
        if news.rejoined {
            // What was saved bit by bit since the last commit is lost.
            self.save_learned_whole()?;
        }
        // Asked for even when alone, so that a worker that joins is told only what it cannot have read.
        if now.since(self.told_others) >= TELL_EVERY {
            self.told_others = now;
            if let (Some(delta), Some(fleet)) = (self.parts.strategy.delta(), self.parts.ledger.fleet_mut()) {
                fleet.publish(delta);
            }
        }
        self.take_seeds(std::mem::take(&mut news.seeds), now)?;
        self.heed(&mut news, now)?;
        let touched = [std::mem::take(&mut news.taken), std::mem::take(&mut news.mailed)].concat();
        self.put_in_place(Some(&touched))?;
        self.others = news;
        Ok(())
    }

    /// Makes what was applied survive: the archive first, because the ledger refers to it.
    pub fn commit(&mut self) -> Result<(), Problem> {
        self.save_learned()?;
        if let Some(archive) = &mut self.parts.archive {
            archive.flush()?;
            let position = archive.position();
            if position != self.archived {
                if let Some(p) = &position {
                    self.parts.ledger.put_state(StateKey::Archive, false, &position_bytes(p))?;
                }
                self.archived = position;
            }
        }
        self.parts.ledger.commit()
    }

    /// As `commit`, and on stable storage even if the power fails.
    pub fn sync(&mut self) -> Result<(), Problem> {
        if let Some(archive) = &mut self.parts.archive {
            archive.sync()?;
        }
        self.commit()?;
        self.parts.ledger.sync()
    }

    /// Ends what was opened to correct it only: no page was fetched, and nobody is told of a run.
    pub fn finish_corrections(&mut self) -> Result<(), Problem> {
        self.save_counts()?;
        self.sync()?;
        self.parts.ledger.close()
    }

    /// Ends the run: leases that never came back return, everything is saved. The collection can be taken up again.
    pub fn close(&mut self, stop: Stop, now: Millis) -> Result<Progress, Problem> {
        self.undo_doubtful(now)?;
        let mut open: Vec<_> = self.in_flight.drain().collect();
        open.sort_unstable_by_key(|(number, _)| *number);
        for (_, Out { id, .. }) in open {
            let mut turn = Turn::new(Settle::Return { id });
            // The request may have reached its host: the next run has to wait as after any other.
            turn.host.contacted = true;
            turn.host.finished = now;
            self.apply(turn)?;
        }
        self.save_counts()?;
        if let Some(index) = &mut self.parts.index {
            index.commit()?;
            self.note_indexed()?;
        }
        self.sync()?;
        let pauses = if stop == Stop::Pauses { self.pauses(now)? } else { Vec::new() };
        self.parts.ledger.close()?;
        let progress = Progress { pauses, ..self.progress(now)? };
        self.emit(Event::Finished { reason: stop.reason().into(), progress: Box::new(progress.clone()) });
        Ok(progress)
    }

    /// Remembers how many pages the index is known to have, so that a resumed crawl adds only what is missing.
    pub(crate) fn note_indexed(&mut self) -> Result<(), Problem> {
        let Some(index) = &self.parts.index else { return Ok(()) };
        let known = Indexed { pages: self.parts.ledger.stats()?.pages, documents: index.len() as u64 };
        known.note(self.parts.ledger.as_mut())
    }

    pub(crate) fn apply(&mut self, turn: Turn) -> Result<frontier::Applied, Problem> {
        let strategy = &self.parts.strategy;
        let merge = |old: Priority, new: Priority| merged(old, new, |a, b| strategy.merge(a, b));
        self.parts.ledger.apply(turn, &merge)
    }

    pub fn stop(&mut self, why: Stop) {
        self.stop.get_or_insert(why);
    }

    pub fn pause(&mut self, paused: bool) {
        self.paused = paused;
    }

    pub fn is_paused(&self) -> bool {
        self.paused
    }

    pub(crate) fn in_flight_numbers(&self) -> HashSet<u64> {
        self.in_flight.keys().copied().collect()
    }

    pub fn in_flight(&self) -> usize {
        self.in_flight.len()
    }

    pub fn pages(&self) -> u64 {
        self.counts.pages
    }

    pub fn relevant(&self) -> u64 {
        self.counts.relevant
    }

    /// The pages in fetch order, with their newest verdicts.
    pub fn verdicts(&self) -> impl Iterator<Item = (UrlId, bool)> + '_ {
        self.roll.judged.iter().map(|j| (j.id, j.wanted()))
    }

    /// The pages in fetch order, with what the judge makes of them now and what the user said of them.
    pub fn judgements(&self) -> Vec<Judgement> {
        let judge = self.parts.judge.read().unwrap_or_else(PoisonError::into_inner);
        let verdicts = self.roll.verdicts(judge.as_ref());
        let of = |(j, verdict): (&Judged, Verdict)| Judgement { id: j.id, verdict, label: j.label };
        self.roll.judged.iter().zip(verdicts).map(of).collect()
    }

    pub fn parts(&self) -> &Parts {
        &self.parts
    }

    pub(crate) fn tick(&mut self, now: Millis) {
        self.recent.push_back(now);
        if self.recent.len() > 200 {
            self.recent.pop_front();
        }
    }

    pub fn progress(&self, now: Millis) -> Result<Progress, Problem> {
        let stats = self.parts.ledger.stats()?;
        let rate = match self.recent.front() {
            Some(first) if self.recent.len() > 1 => {
                self.recent.len() as f64 / now.since(*first).as_secs_f64().max(0.05)
            }
            _ => 0.0,
        };
        Ok(Progress {
            pages: self.counts.pages,
            relevant: self.counts.relevant,
            pending: stats.pending,
            in_flight: self.in_flight.len(),
            settled: stats.settled,
            hosts: stats.hosts,
            bytes: self.counts.bytes,
            rate,
            elapsed_ms: self.started.map_or(0, |s| now.since(s).as_millis() as u64),
            errors: self.counts.errors.clone(),
            refused: self.counts.refused.clone(),
            idle: self.idle.clone(),
            threshold: self.counts.threshold,
            duplicates: self.counts.duplicates,
            near_duplicates: self.counts.near_duplicates,
            curve: self.counts.curve.points().to_vec(),
            outlook: Outlook::of(self.counts.curve.points(), stats.pending + self.in_flight.len() as u64),
            unanswered: stats.unanswered(),
            teacher: self.teaching.as_ref().map(|t| t.usage()),
            pauses: Vec::new(),
        })
    }
}
