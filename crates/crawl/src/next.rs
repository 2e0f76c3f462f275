//! Step 1 of the loop: decides which URL is fetched next, or how long to wait.

use crate::crawl::{Crawl, OpenLease};
use crate::failures::Reason;
use crate::listings::{is_sitemap_file, later};
use crate::network::Ask;
use crate::origins::Door;
use crate::rules::{Step, Stop};
use crate::timings::Stage;
use fetch::robots::Robots;
use focus::strategies::Wants;
use frontier::{Next, Pick};
use std::sync::Arc;
use std::time::Duration;
use types::{
    Lease, LinkKind, Millis, Outcome, Priority, Problem, Rescored, RobotsAnswer, Settle, Task, Turn,
};

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

/// A page that takes longer is not waited for when only a few more are wanted. Should it come all the same
/// when there are enough, it goes back.
const OVERDUE: Duration = Duration::from_secs(5);

impl Crawl {
    /// Step 1: the best URL that may be fetched now.
    pub fn next(&mut self, now: Millis) -> Result<Step, Problem> {
        let _timed = self.pace.timings.begin(Stage::Choose);
        let started = *self.pace.started.get_or_insert(now);
        if let Some(stop) = self.pace.stop {
            return Ok(self.stop_when_done(stop, now));
        }
        // Before the limits: a crawl that has reached one can still be corrected, or given another limit.
        if self.pace.paused {
            self.pace.idle = "paused".into();
            return Ok(Step::Wait {
                until: now.plus(Duration::from_millis(200)),
                idle: self.pace.idle.clone(),
            });
        }
        if let Some(stop) = self.reached(now, started) {
            return Ok(self.stop_when_done(stop, now));
        }
        // A limit may have been raised since.
        self.pace.stopping = None;
        match self.hosts.network.ask(now) {
            Ask::Anyone => {}
            Ask::Look => return self.look(now),
            Ask::Nobody(until) => {
                self.pace.idle = self.hosts.network.trouble().into();
                return Ok(Step::Wait { until, idle: self.pace.idle.clone() });
            }
        }
        let counts =
            |out: &&OpenLease| out.task == Task::Page && !out.revisit && !self.is_beyond_count(out, now);
        let pages_in_flight = self.pace.in_flight.values().filter(counts).count() as u64;
        let in_flight = self.pace.in_flight.len() as u64;
        if self.pace.in_flight.len() >= self.parts.rules.concurrency
            || self.crashes.suspects.any_of(self.pace.in_flight.values())
            || self.parts.rules.requests.is_some_and(|most| self.counts.requests + in_flight >= most)
        {
            return Ok(Step::Busy);
        }
        // What others fetch is part of the crawl's budget, and no part of a refresh's.
        let others = match self.refresh.is_some() {
            true => 0,
            false => self.fleet.news.pages + self.fleet.news.in_flight,
        };
        let most = self.parts.rules.pages;
        let full = most.is_some_and(|most| self.counts.pages + pages_in_flight + others >= most);
        if full && self.refresh.is_none() {
            return Ok(Step::Busy);
        }
        loop {
            self.refresh_top(now)?;
            let pick = match full {
                // No new page is wanted: what is left is to visit known ones again.
                true => Pick::Only(Priority::REVISIT),
                false => Pick::of_lane(self.parts.strategy.wants().lane),
            };
            match self.parts.ledger.lease(now, pick)? {
                Next::Lease(lease) => {
                    if self.turned_away(&lease, now)? {
                        continue;
                    }
                    if !self.is_its_turn(&lease, now)? {
                        continue;
                    }
                    return Ok(self.fetch(lease, false, now));
                }
                Next::Wait { .. } | Next::Empty(_) if full && self.is_refreshed()? => {
                    return self.refreshed_or_more(now);
                }
                Next::Wait { until, idle } => {
                    self.pace.idle = idle.to_string();
                    // Workers that are busy may yet send something.
                    if self.pace.in_flight.is_empty()
                        && self.fleet.news.in_flight == 0
                        && self.is_too_long(until.since(now))
                    {
                        return Ok(Step::Done(Stop::Pauses));
                    }
                    return Ok(Step::Wait { until, idle: self.pace.idle.clone() });
                }
                Next::Empty(_) if self.pace.in_flight.is_empty() => {
                    return match self.is_refreshed()? {
                        true => self.refreshed_or_more(now),
                        false => Ok(Step::Done(Stop::Exhausted)),
                    };
                }
                Next::Empty(_) => return Ok(Step::Busy),
            }
        }
    }

    /// All that was planned is done: what is left of a round's budget is divided again.
    fn refreshed_or_more(&mut self, now: Millis) -> Result<Step, Problem> {
        if self.divide_again()? { self.next(now) } else { Ok(Step::Done(Stop::Refreshed)) }
    }

    /// Is it fetched beside the pages that are still wanted? Because it takes long, or is a look at the
    /// network.
    pub(crate) fn is_beyond_count(&self, out: &OpenLease, now: Millis) -> bool {
        self.parts.rules.grace.is_some() && (out.look || now.since(out.since) >= OVERDUE)
    }

    fn fetch(&mut self, lease: Lease, look: bool, now: Millis) -> Step {
        self.pace.idle.clear();
        self.hosts.listings.requested(lease.url.host_key(), is_sitemap_file(&lease));
        let (id, task, revisit) = (lease.id, lease.task, lease.revisit.is_some());
        self.pace.in_flight.insert(lease.number, OpenLease { id, task, since: now, revisit, look });
        Step::Fetch(Box::new(lease))
    }

    /// Settles a lease that needs no request, because it may not be sent, or not now. `true` when that is so.
    fn turned_away(&mut self, lease: &Lease, now: Millis) -> Result<bool, Problem> {
        if lease.revisit.is_some() && self.spared(lease, now)? {
            return Ok(true);
        }
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
                match self.hosts.origins.door(&lease.url, now, &self.hosts.door_limits) {
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
        if lease.revisit.is_some() {
            self.visit_refused(lease, outcome, kind, now)?;
            return Ok(true);
        }
        let mut turn = Turn::new(Settle::Done { id: lease.id, outcome });
        turn.host.finished = now;
        self.apply(turn)?;
        self.miss(lease, Reason::named(kind), Some(outcome), now)?;
        Ok(true)
    }

    /// Asks a host whether the network is there. However much is in flight: that may be what hangs.
    fn look(&mut self, now: Millis) -> Result<Step, Problem> {
        loop {
            let network = &self.hosts.network;
            match self.parts.ledger.lease(now, Pick::Host(&|host| network.rank(host)))? {
                Next::Lease(lease) => {
                    if self.turned_away(&lease, now)? {
                        continue;
                    }
                    self.hosts.network.looks_at(lease.url.host_key(), lease.number);
                    return Ok(self.fetch(lease, true, now));
                }
                Next::Wait { .. } | Next::Empty(_) => {
                    let until = self.hosts.network.none_to_look_at(now);
                    if self.hosts.network.is_down() {
                        self.undo_doubtful(now)?;
                    }
                    self.pace.idle = self.hosts.network.trouble().into();
                    return Ok(Step::Wait { until, idle: self.pace.idle.clone() });
                }
            }
        }
    }

    /// What is in flight is waited for, but not for ever.
    fn stop_when_done(&mut self, stop: Stop, now: Millis) -> Step {
        let since = *self.pace.stopping.get_or_insert(now);
        let late = self.parts.rules.grace.is_some_and(|grace| now.since(since) >= grace);
        if self.pace.in_flight.is_empty() || late { Step::Done(stop) } else { Step::Ending }
    }

    pub(crate) fn is_too_long(&self, wait: Duration) -> bool {
        self.parts.rules.max_wait.is_some_and(|most| wait > most)
    }

    fn reached(&mut self, now: Millis, started: Millis) -> Option<Stop> {
        let rules = &self.parts.rules;
        if let Some(dir) = &self.parts.folder
            && let Some(stop) = self.pace.space.look(dir, rules, self.counts.pages, now)
        {
            return Some(stop);
        }
        if self.refresh.is_none()
            && rules.pages.is_some_and(|most| self.counts.pages + self.fleet.news.pages >= most)
        {
            return Some(Stop::Pages);
        }
        if rules.relevant.is_some_and(|most| self.counts.relevant + self.fleet.news.relevant >= most) {
            return Some(Stop::Relevant);
        }
        if rules.requests.is_some_and(|most| self.counts.requests >= most) {
            return Some(Stop::Requests);
        }
        rules.time.is_some_and(|most| now.since(started) >= most).then_some(Stop::Time)
    }

    /// Scores the best pending URLs again when the model has moved on since they were scored.
    fn refresh_top(&mut self, now: Millis) -> Result<(), Problem> {
        let Wants { lookahead, lane, .. } = self.parts.strategy.wants();
        if lookahead == 0 {
            return Ok(());
        }
        let model = self.parts.strategy.version();
        let mut fresh = Vec::new();
        for top in self.parts.ledger.peek(now, lane, lookahead) {
            if top.model != model
                && top.priority.lane != Priority::REVISIT
                && let Some(rescored) = self.rescored(top.id, None)?
            {
                fresh.push(rescored);
            }
        }
        self.parts.ledger.rescore(&fresh)
    }

    /// May this URL be fetched now? (Scope may have changed since it was found; robots rules are only known
    /// when its host was asked.)
    fn permission(&mut self, lease: &Lease) -> Result<Permission, Problem> {
        if lease.task == Task::Robots {
            return Ok(Permission::Fetch);
        }
        let in_scope = match is_sitemap_file(lease) || lease.kind == LinkKind::Feed {
            true => self.parts.scope.check_listing(&lease.url),
            false => self.parts.scope.check(&lease.url),
        };
        if in_scope.is_err() || self.is_blocked(&lease.url) {
            return Ok(Permission::Never(Outcome::OutOfScope));
        }
        let host = lease.url.host_key();
        let robots = match self.hosts.robots.get(host) {
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
            && lease.revisit.is_none()
            && lease.priority != later()
            && !self.hosts.listings.is_turn(host, &self.parts.rules.listings);
        Ok(if waits { Permission::Later } else { Permission::Fetch })
    }

    /// A sitemap file lets the pages of its host pass.
    fn postpone(&mut self, lease: &Lease, now: Millis) -> Result<(), Problem> {
        let mut turn = Turn::new(Settle::Return { id: lease.id });
        turn.host.finished = now;
        let (priority, model) = (later(), self.parts.strategy.version());
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
}
