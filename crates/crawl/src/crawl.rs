//! The loop's one place of order: what is leased next, and what an arrival changes.

use crate::analyse::Analysis;
use crate::collection::{IndexedCounts, MakeJudge};
use crate::duplicates::{Duplicates, EarlierPage};
use crate::events::{Curve, Event, Pause, Progress};
use crate::listings::Listings;
use crate::marks::Marks;
use crate::measured::Measurer;
use crate::mirrors::Mirrors;
use crate::network::Network;
use crate::origins::Origins;
use crate::outlook::Outlook;
use crate::refresh::Refresh;
use crate::remove::Removal;
use crate::rendering::Attempt;
use crate::robots::RobotsCache;
use crate::roll::Roll;
use crate::rules::{Rules, Stop};
use crate::scope::Scope;
use crate::session::{RunEnd, Session};
use crate::space::SpaceWatch;
use crate::steer::inbox::Inbox;
use crate::steer::{Adjustments, merged, plain};
use crate::steer::{Rejudging, Steering};
use crate::suspects::Suspects;
use crate::sweep::Sweep;
use crate::teacher::Teaching;
use crate::timings::{Stage, Timings};
use fetch::robots::Robots;
use focus::judges::Judge;
use focus::strategies::Strategy;
use frontier::Info;
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};
use store::archive::{Archiver, Position};
use store::formats::position_bytes;
use store::index::Index;
use store::{News, Records, Which};
use types::{
    Candidate, Canon, Fetched, Label, Lease, LinkKind, Millis, Priority, Problem, Rescored, Settle, StateKey,
    Task, Turn, Url, UrlId, Verdict,
};

/// What a crawl runs on: the order of the frontier and the records, in one atomic whole.
pub use store::Storage as Ledger;

/// Everything a crawl is made of.
pub struct Parts {
    /// What the collection is called, for people.
    pub name: String,
    /// The strategy's name in the list of strategies.
    pub strategy_name: String,
    /// The judge's name in the list of judges.
    pub judge_name: String,
    /// Settings of the loop itself.
    pub rules: Rules,
    /// How URLs are spelt.
    pub canon: Canon,
    /// What may be fetched at all.
    pub scope: Scope,
    /// Where everything is kept.
    pub ledger: Box<dyn Ledger>,
    /// Shared with the threads that assess pages.
    pub judge: Arc<RwLock<Box<dyn Judge>>>,
    /// Scores links and learns from pages.
    pub strategy: Box<dyn Strategy>,
    /// Keeps the answers; `None`: nothing is archived.
    pub archive: Option<Box<dyn Archiver>>,
    /// The search index; `None`: nothing is indexed.
    pub index: Option<Index>,
    /// Where what does not fit into memory goes; `None`: nowhere.
    pub folder: Option<PathBuf>,
}

/// An answer on its way back to the loop.
pub struct Arrival {
    /// The right that was given for it.
    pub lease: Lease,
    /// What was answered.
    pub fetched: Fetched,
    /// `None` when the answer has no page to read.
    pub analysis: Option<Analysis>,
    /// What came of showing it in a browser, if that was tried.
    pub attempt: Option<Attempt>,
}

/// What is remembered of each page so that a verdict can be revised without its assessment.
#[derive(Clone, Copy)]
pub(crate) struct JudgedPage {
    pub id: UrlId,
    pub score: f64,
    /// An exclude term or a foreign language rules it out, whatever the threshold.
    pub barred: bool,
    /// Turned around by [`Rules::noise`].
    pub turned: bool,
    /// The judge's verdict.
    pub relevant: bool,
    /// What was said of it.
    pub label: Option<Label>,
    /// The same, or nearly the same, came before.
    pub copy_of: Option<EarlierPage>,
    /// Of its text; 0 = too short to tell.
    pub simhash: u64,
}

impl JudgedPage {
    /// Is it one of the wanted pages?
    pub fn wanted(&self) -> bool {
        self.label.and_then(Label::decides).unwrap_or(self.relevant)
    }
}

/// What is thought of a page now.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Judgement {
    /// The page.
    pub id: UrlId,
    /// The judge's own.
    pub verdict: Verdict,
    /// What was said of it. A person's word counts instead.
    pub label: Option<Label>,
}

/// A crawl. Each owner below has one concern; the loop (`live.rs`, `replay.rs`) drives them through
/// [`Crawl::next`] and [`Crawl::arrived`].
pub struct Crawl {
    pub(crate) parts: Parts,
    pub(crate) judging: Judging,
    pub(crate) learning: Learning,
    pub(crate) counts: Counts,
    pub(crate) pace: Pace,
    pub(crate) hosts: Hosts,
    pub(crate) crashes: Crashes,
    pub(crate) fleet: OtherWorkers,
    pub(crate) steer: Steer,
    /// A language model that is asked about pages.
    pub(crate) teaching: Option<Box<Teaching>>,
    /// Known pages that are visited again.
    pub(crate) refresh: Option<Box<Refresh>>,
    /// How far the archive was written at the last commit.
    archived: Option<Position>,
    events: Box<dyn FnMut(&Event) + Send>,
}

/// What is thought of the pages that were fetched.
#[derive(Default)]
pub(crate) struct Judging {
    /// The pages, as far as they are judged.
    pub roll: Roll,
    pub measurer: Measurer,
    pub duplicates: Duplicates,
    pub mirrors: Mirrors,
    /// Makes the judge again, as it was before it saw any page.
    pub make_judge: Option<MakeJudge>,
    /// All pages are being judged again.
    pub rejudging: Option<Rejudging>,
    /// Leases whose pages may have been measured by a judge that is gone.
    pub measured_before: HashSet<u64>,
}

/// What the strategy was told, and how much of what it learned is saved.
#[derive(Default)]
pub(crate) struct Learning {
    /// URLs of pages that led to others lately.
    pub parents: HashMap<UrlId, Arc<str>>,
    /// Pages the strategy learned from since its state was saved.
    pub unsaved: u32,
    /// Bytes of appended strategy state since the last whole save, and the size of that.
    pub appended: (usize, usize),
    /// Pending URLs that are being scored again.
    pub sweep: Option<Sweep>,
    /// The labels that the strategy was told of.
    pub labels_told: Vec<u8>,
}

/// What is in flight, how fast it goes, and when it ends.
#[derive(Default)]
pub(crate) struct Pace {
    pub started: Option<Millis>,
    /// This run, if it is to be kept with the collection.
    pub session: Option<Session>,
    pub stop: Option<Stop>,
    /// Since when it only waits for what is in flight.
    pub stopping: Option<Millis>,
    pub paused: bool,
    pub in_flight: HashMap<u64, OpenLease>,
    /// Why nothing can be fetched right now, for people.
    pub idle: String,
    /// When the last pages came.
    pub recent: VecDeque<Millis>,
    /// Where the time goes.
    pub timings: Timings,
    /// Where the space goes.
    pub space: SpaceWatch,
}

/// What the hosts allow, and whether they answer.
#[derive(Default)]
pub(crate) struct Hosts {
    pub robots: RobotsCache,
    /// What sitemaps and feeds have cost.
    pub listings: Listings,
    pub network: Network,
    /// Arrivals without an answer, while it is not known whose fault that is.
    pub doubtful: Vec<Arrival>,
    pub origins: Origins,
    pub door_limits: frontier::Limits,
}

/// Pages whose reading may kill the process.
#[derive(Default)]
pub(crate) struct Crashes {
    /// What is being read is marked here, if anywhere.
    pub marks: Option<Marks>,
    /// What was being read when an earlier run died.
    pub suspects: Suspects,
}

/// The other workers of a shared crawl.
#[derive(Default)]
pub(crate) struct OtherWorkers {
    /// What they did.
    pub news: News,
    /// When they were last told what this worker learned.
    pub told: Millis,
    /// Every command up to this number was obeyed.
    pub obeyed: u64,
}

/// What the user changed while the crawl ran, and how to obey more of it.
#[derive(Default)]
pub(crate) struct Steer {
    /// What all changes add up to, those of earlier runs included.
    pub adjustments: Adjustments,
    /// `None`: this crawl cannot be changed while it runs.
    pub collection: Option<Steering>,
    /// Where other processes leave labels, if they can.
    pub inbox: Option<Inbox>,
}

/// Who made the state that is kept. Another strategy or judge (the command line may choose) starts from its
/// own.
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
pub(crate) struct OpenLease {
    pub id: UrlId,
    pub task: Task,
    pub since: Millis,
    /// A page that is known.
    pub revisit: bool,
    /// It is to show whether the network is there, whatever else is in flight.
    pub look: bool,
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

impl Crawl {
    /// Takes up a collection where it was left, or starts it.
    pub fn new(parts: Parts) -> Result<Crawl, Problem> {
        let mut crawl = Crawl {
            parts,
            judging: Judging::default(),
            learning: Learning::default(),
            counts: Counts::default(),
            pace: Pace::default(),
            hosts: Hosts::default(),
            crashes: Crashes::default(),
            fleet: OtherWorkers::default(),
            steer: Steer::default(),
            teaching: None,
            refresh: None,
            archived: None,
            events: Box::new(|_| {}),
        };
        crawl.steer.adjustments = Adjustments::read(crawl.parts.ledger.as_ref())?;
        let removed = Removal::list(crawl.parts.ledger.as_ref())?;
        crawl.parts.scope.keep_out(removed.into_iter().map(|r| r.what));
        crawl.restore()?;
        crawl.parts.ledger.set_ties(crawl.parts.strategy.wants().ties);
        Ok(crawl)
    }

    /// Hands every event to `sink`, on the loop's thread. Replaces the one before.
    pub fn on_event(&mut self, sink: impl FnMut(&Event) + Send + 'static) {
        self.events = Box::new(sink);
    }

    pub(crate) fn emit(&mut self, event: Event) {
        (self.events)(&event);
    }

    /// Offers the user's URLs. Those known already are left alone, so running the same command again is
    /// harmless.
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

    /// Offers the sitemaps and feeds that the user names. They are read once a run.
    pub fn seed_listings(&mut self, listings: &[(Url, LinkKind)], now: Millis) -> Result<(), Problem> {
        for (url, kind) in listings {
            if self.parts.scope.check_listing(url).is_err()
                || self.parts.ledger.look_up(url)?.is_some_and(|e| !e.state.is_unanswered())
            {
                continue;
            }
            let hops = u8::from(*kind == LinkKind::Sitemap);
            let candidate = Candidate { kind: *kind, hops, ..self.as_seed(url) };
            self.parts.ledger.seed(candidate, now)?;
        }
        self.parts.ledger.commit()
    }

    /// Everything that ended without an answer is asked for once more, with what is known of it. How many
    /// these are.
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
            model: self.parts.strategy.version(),
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

    /// A pending URL's priority under the present model.
    pub(crate) fn rescored(&mut self, id: UrlId, cause: Option<UrlId>) -> Result<Option<Rescored>, Problem> {
        let mut sources = self.parts.ledger.sources(id)?;
        // Seen while its host went first.
        sources.iter_mut().for_each(|s| s.priority = plain(s.priority));
        let model = self.parts.strategy.version();
        let Some(priority) = self.parts.strategy.rescore(&sources) else { return Ok(None) };
        let priority = self.with_rule(id, priority)?;
        Ok(Some(Rescored { id, priority, model, cause }))
    }

    pub(crate) fn remember_robots(&mut self, host: &str, robots: Arc<Robots>) {
        self.hosts.robots.put(host, robots);
    }

    /// Steps 4–7: what an answer changes, applied as one.
    pub fn arrived(&mut self, arrival: Arrival, now: Millis) -> Result<(), Problem> {
        let out = self.pace.in_flight.remove(&arrival.lease.number);
        let rules = &self.parts.rules;
        let others = if self.refresh.is_some() { 0 } else { self.fleet.news.pages };
        if out.is_some_and(|out| out.task == Task::Page && !out.revisit && self.is_beyond_count(&out, now))
            && rules.pages.is_some_and(|most| self.counts.pages + others >= most)
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

    /// A lease that is given back as it was: its request was not sent, or (`contacted`) nobody waits for its
    /// page any more.
    pub fn withheld(&mut self, lease: &Lease, contacted: bool, now: Millis) -> Result<(), Problem> {
        self.pace.in_flight.remove(&lease.number);
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
        for arrival in std::mem::take(&mut self.hosts.doubtful) {
            self.withheld(&arrival.lease, false, now)?;
        }
        Ok(())
    }

    /// Makes what was applied survive: the archive first, because the ledger refers to it.
    pub fn commit(&mut self) -> Result<(), Problem> {
        let _timed = self.pace.timings.begin(Stage::Commit);
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

    /// Ends the run: leases that never came back return, everything is saved. The collection can be taken up
    /// again.
    pub fn close(&mut self, stop: Stop, now: Millis) -> Result<Progress, Problem> {
        self.undo_doubtful(now)?;
        let mut open: Vec<_> = self.pace.in_flight.drain().collect();
        open.sort_unstable_by_key(|(number, _)| *number);
        for (_, OpenLease { id, .. }) in open {
            let mut turn = Turn::new(Settle::Return { id });
            // The request may have reached its host: the next run has to wait as after any other.
            turn.host.contacted = true;
            turn.host.finished = now;
            self.apply(turn)?;
        }
        self.save_counts()?;
        self.end_round(stop)?;
        if let Some(session) = &mut self.pace.session {
            session.ended = Some(RunEnd::new(stop, &self.parts.rules, Millis::now()));
            session.write(self.parts.ledger.as_mut())?;
        }
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

    /// Keeps with the collection that a run begins, and by which settings.
    pub(crate) fn begin_session(&mut self, session: Session) -> Result<(), Problem> {
        session.write(self.parts.ledger.as_mut())?;
        self.pace.session = Some(session);
        Ok(())
    }

    /// How this run ended, if it has.
    pub fn ended(&self) -> Option<&RunEnd> {
        self.pace.session.as_ref()?.ended.as_ref()
    }

    /// Remembers how many pages the index is known to have, so that a resumed crawl adds only what is
    /// missing.
    pub(crate) fn note_indexed(&mut self) -> Result<(), Problem> {
        let Some(index) = &self.parts.index else { return Ok(()) };
        let known =
            IndexedCounts { pages: self.parts.ledger.stats()?.versions, documents: index.len() as u64 };
        known.note(self.parts.ledger.as_mut())
    }

    pub(crate) fn apply(&mut self, turn: Turn) -> Result<frontier::Applied, Problem> {
        let _timed = self.pace.timings.begin(Stage::Settle);
        let strategy = &self.parts.strategy;
        let merge = |old: Priority, new: Priority| merged(old, new, |a, b| strategy.merge(a, b));
        self.parts.ledger.apply(turn, &merge)
    }

    /// Ends the crawl when what is in flight has come back. The first reason counts.
    pub fn stop(&mut self, why: Stop) {
        self.pace.stop.get_or_insert(why);
    }

    /// While paused, no new request is sent.
    pub fn pause(&mut self, paused: bool) {
        self.pace.paused = paused;
    }

    /// Where the time goes, to be added to.
    pub(crate) fn timings(&self) -> Timings {
        self.pace.timings.clone()
    }

    pub(crate) fn is_paused(&self) -> bool {
        self.pace.paused
    }

    pub(crate) fn in_flight_numbers(&self) -> HashSet<u64> {
        self.pace.in_flight.keys().copied().collect()
    }

    /// Requests that are out.
    pub fn in_flight(&self) -> usize {
        self.pace.in_flight.len()
    }

    /// Pages fetched, over all runs.
    pub fn pages(&self) -> u64 {
        self.counts.pages
    }

    /// Relevant pages, over all runs; labels count, and copies count once.
    pub fn relevant(&self) -> u64 {
        self.counts.relevant
    }

    /// The pages in fetch order, with their newest verdicts.
    pub fn verdicts(&self) -> impl Iterator<Item = (UrlId, bool)> + '_ {
        self.judging.roll.judged.iter().map(|j| (j.id, j.wanted()))
    }

    /// The pages in fetch order, with what the judge makes of them now and what the user said of them.
    pub fn judgements(&self) -> Vec<Judgement> {
        let judge = self.parts.judge.read().unwrap_or_else(PoisonError::into_inner);
        let verdicts = self.judging.roll.verdicts(judge.as_ref());
        let of = |(j, verdict): (&JudgedPage, Verdict)| Judgement { id: j.id, verdict, label: j.label };
        self.judging.roll.judged.iter().zip(verdicts).map(of).collect()
    }

    /// What the crawl is made of.
    pub fn parts(&self) -> &Parts {
        &self.parts
    }

    pub(crate) fn tick(&mut self, now: Millis) {
        self.pace.recent.push_back(now);
        if self.pace.recent.len() > 200 {
            self.pace.recent.pop_front();
        }
    }

    /// The state in numbers; `now` is for the rate and the outlook.
    pub fn progress(&self, now: Millis) -> Result<Progress, Problem> {
        let stats = self.parts.ledger.stats()?;
        let rate = match self.pace.recent.front() {
            Some(first) if self.pace.recent.len() > 1 => {
                self.pace.recent.len() as f64 / now.since(*first).as_secs_f64().max(0.05)
            }
            _ => 0.0,
        };
        Ok(Progress {
            pages: self.counts.pages,
            relevant: self.counts.relevant,
            pending: stats.pending,
            in_flight: self.pace.in_flight.len(),
            settled: stats.settled,
            hosts: stats.hosts,
            bytes: self.counts.bytes,
            rate,
            elapsed_ms: self.pace.started.map_or(0, |s| now.since(s).as_millis() as u64),
            errors: self.counts.errors.clone(),
            refused: self.counts.refused.clone(),
            idle: self.pace.idle.clone(),
            threshold: self.counts.threshold,
            duplicates: self.counts.duplicates,
            near_duplicates: self.counts.near_duplicates,
            curve: self.counts.curve.points().to_vec(),
            outlook: Outlook::of(
                self.counts.curve.points(),
                stats.pending + self.pace.in_flight.len() as u64,
            ),
            unanswered: stats.unanswered(),
            teacher: self.teaching.as_ref().map(|t| t.usage()),
            pauses: Vec::new(),
            timings: self.pace.timings.read(),
            refreshed: self.refreshed().cloned(),
        })
    }
}
