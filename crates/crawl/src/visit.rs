//! An answer has arrived: whose fault is it if there is none, what becomes of the lease, and where does a
//! redirect lead? What a page changes is in `page.rs`; robots.txt is here, sitemaps and feeds are in
//! `listed.rs`.

use crate::crawl::{Arrival, Crawl};
use crate::events::Event;
use crate::failures::Reason;
use crate::network::Fault;
use fetch::robots::Robots;
use fetch::{Class, classify};
use focus::strategies::Miss;
use std::sync::Arc;
use std::time::Duration;
use types::{
    Candidate, Failure, Fetched, HostUpdate, Lease, LinkKind, Millis, Outcome, Problem, RobotsAnswer, Settle,
    Task, Turn,
};

/// First pause before an unavailable robots.txt is asked for again; doubles with each try.
const ROBOTS_RETRY: Duration = Duration::from_secs(10);

impl Crawl {
    pub(crate) fn visit(&mut self, arrival: Arrival, now: Millis) -> Result<(), Problem> {
        if let Class::Postponed { after } = classify(&arrival.fetched) {
            return self.postponed(&arrival.lease, after, now);
        }
        self.counts.bytes += arrival.fetched.wire_bytes;
        self.counts.bytes += resources(&arrival.fetched).iter().map(|r| r.wire_bytes).sum::<u64>();
        if !self.parts.rules.watch_network {
            return self.settle(arrival, now);
        }
        match self.whose_fault(&arrival, now) {
            Some(Fault::Host) => {}
            Some(Fault::Unknown) => {
                self.hosts.doubtful.push(arrival);
                return Ok(());
            }
            Some(Fault::Network) => {
                self.undo_doubtful(now)?;
                return self.withheld(&arrival.lease, false, now);
            }
            None => {
                // Someone answers: those who did not are to blame themselves.
                for silent in std::mem::take(&mut self.hosts.doubtful) {
                    self.settle(silent, now)?;
                }
            }
        }
        self.settle(arrival, now)
    }

    fn settle(&mut self, arrival: Arrival, now: Millis) -> Result<(), Problem> {
        let Arrival { lease, fetched, analysis, attempt } = arrival;
        if !self.holds(lease.id) {
            return Ok(());
        }
        self.counts.requests += u64::from(!fetched.failure.as_ref().is_some_and(Failure::is_refusal));
        self.counts.requests += resources(&fetched).len() as u64;
        if lease.task == Task::Robots {
            return self.robots_arrived(&lease, &fetched, now);
        }
        if lease.revisit.is_some() {
            return self.revisited(lease, fetched, analysis, now);
        }
        let class = classify(&fetched);
        let mut turn = Turn::new(Settle::Done {
            id: lease.id,
            outcome: class.outcome().unwrap_or(Outcome::Unreachable),
        });
        turn.host = self.host_update(&fetched, class, now);
        turn.state.extend(attempt.map(|attempt| attempt.line(lease.id)));
        match (class, analysis) {
            (Class::Page, Some(analysis)) => self.page(lease, fetched, analysis, turn, now),
            (Class::Redirect, _) => self.redirect(&lease, &fetched, turn, now),
            (Class::Retry { after, host }, _) => {
                if self.parts.rules.watch_network
                    && fetched.failure.as_ref().is_some_and(is_silence)
                    && self.hosts.origins.was_silent(&lease.url, now, &self.hosts.door_limits)
                {
                    // The host itself answers, under its other scheme.
                    turn.host.failed = None;
                } else if host {
                    turn.host.not_before = after.map(|wait| now.plus(wait));
                }
                let last = lease.attempt + 1 >= self.parts.rules.attempts;
                let outcome = last.then_some(match fetched.status {
                    0 => Outcome::Unreachable,
                    status => Outcome::HttpError(status),
                });
                turn.settle = match outcome {
                    Some(outcome) => Settle::Done { id: lease.id, outcome },
                    None => {
                        let seed = self.parts.rules.rng ^ u64::from(lease.id.0);
                        let wait =
                            after.unwrap_or_else(|| fetch::retry::backoff(u32::from(lease.attempt), seed));
                        Settle::Retry { id: lease.id, not_before: now.plus(wait) }
                    }
                };
                self.apply(turn)?;
                self.miss(&lease, Reason::of(&fetched), outcome, now)
            }
            (class, _) => {
                // A 200 whose type cannot be read after all is not wanted either.
                let outcome = if class == Class::Page {
                    Outcome::Unwanted
                } else {
                    class.outcome().unwrap_or(Outcome::Unreachable)
                };
                turn.settle = Settle::Done { id: lease.id, outcome };
                self.apply(turn)?;
                self.miss(&lease, Reason::of(&fetched), Some(outcome), now)
            }
        }
    }

    /// What an answer says of its host.
    pub(crate) fn host_update(&self, fetched: &Fetched, class: Class, now: Millis) -> HostUpdate {
        HostUpdate {
            contacted: !fetched.failure.as_ref().is_some_and(Failure::is_refusal),
            finished: now,
            crawl_delay: None,
            not_before: None,
            // An answer, whatever it says, shows that the host is alive.
            failed: (class != Class::Unreachable).then_some(matches!(class, Class::Retry { host: true, .. })),
            ip: fetched.ip.filter(|_| self.parts.rules.group_by_ip),
        }
    }

    /// Nobody was asked: the URL goes back as it was, and its host waits. That is no try, and says nothing of
    /// the host.
    fn postponed(&mut self, lease: &Lease, after: Duration, now: Millis) -> Result<(), Problem> {
        let mut turn = Turn::new(Settle::Return { id: lease.id });
        turn.host.finished = now;
        turn.host.not_before = Some(now.plus(after));
        self.apply(turn)?;
        Ok(())
    }

    /// If there was no answer: because of the host, or because there is no network? `None`: somebody
    /// answered.
    fn whose_fault(&mut self, arrival: &Arrival, now: Millis) -> Option<Fault> {
        let lease = &arrival.lease;
        match &arrival.fetched.failure {
            // Nobody was asked.
            Some(failure) if failure.is_refusal() => Some(Fault::Host),
            Some(failure) if is_silence(failure) => {
                Some(self.hosts.network.was_silent(lease.url.host_key(), lease.number, now))
            }
            _ => {
                self.hosts.network.answered(lease.url.host_key(), now);
                self.hosts.origins.answered(&lease.url);
                None
            }
        }
    }

    fn robots_arrived(&mut self, lease: &Lease, fetched: &Fetched, now: Millis) -> Result<(), Problem> {
        if fetched.failure.as_ref().is_some_and(Failure::is_refusal) {
            // Nobody was asked, and nobody will be.
            self.apply(Turn::new(Settle::Done { id: lease.id, outcome: Outcome::Refused }))?;
            return self.miss(lease, Reason::of(fetched), Some(Outcome::Refused), now);
        }
        let status = if fetched.failure.is_some() { 0 } else { fetched.status };
        let agent = &self.parts.rules.user_agent;
        let robots = Arc::new(Robots::from_answer(status, fetched.payload.decoded(), agent));
        let unavailable = status == 0 || status >= 500 || status == 429;
        let keep = if unavailable {
            // Closed until it can be had. Asked again soon, because a small crawl should not end waiting for
            // one host.
            let soon = ROBOTS_RETRY * 2u32.saturating_pow(u32::from(lease.attempt).min(10));
            fetched.retry_after.unwrap_or(soon).min(robots.keep_for())
        } else {
            robots.keep_for()
        };
        // Only what concerns us: a file may have half a megabyte, and there are many hosts.
        let body = robots.reduced(agent);
        let answer = RobotsAnswer { status, body, fetched: now, expires: now.plus(keep) };
        let mut turn = Turn::new(Settle::Robots { id: lease.id, answer });
        turn.host = HostUpdate {
            contacted: true,
            finished: now,
            crawl_delay: robots.crawl_delay().map(|d| d.as_millis() as u64),
            not_before: fetched.retry_after.filter(|_| unavailable).map(|wait| now.plus(wait)),
            failed: Some(unavailable),
            ip: fetched.ip.filter(|_| self.parts.rules.group_by_ip),
        };
        if self.parts.rules.use_sitemaps {
            for text in robots.sitemaps() {
                let Ok(url) = self.parts.canon.parse(&text) else { continue };
                // A sitemap may live elsewhere, but not off the site that names it: that would let any host
                // spend our budget on another.
                if url.domain() == lease.url.domain()
                    && self.parts.scope.check_listing(&url).is_ok()
                    && self.admit_sitemap(&url)
                {
                    turn.add.push(self.inherit(lease, url, LinkKind::Sitemap));
                }
            }
            self.note_listings(&mut turn, &lease.url);
        }
        self.apply(turn)?;
        self.remember_robots(lease.url.host_key(), robots);
        if unavailable {
            let reason = match &fetched.failure {
                Some(_) => Reason::of(fetched),
                None => Reason {
                    why: format!("robots.txt: status {status}"),
                    ..Reason::named("robots-unavailable")
                },
            };
            self.miss(lease, reason, None, now)?;
        }
        Ok(())
    }

    /// A URL that stands in for the leased one (redirect target, sitemap): same priority, same evidence.
    pub(crate) fn inherit(&mut self, lease: &Lease, url: types::Url, kind: LinkKind) -> Candidate {
        let same_host = url.host_key() == lease.url.host_key();
        let priority = self.with_rule_of(&url, lease.priority);
        Candidate {
            url,
            parent: if kind == LinkKind::Sitemap { lease.parent } else { Some(lease.id) },
            kind,
            depth: lease.depth,
            site_depth: if same_host { lease.site_depth } else { 0 },
            hops: match kind {
                LinkKind::Redirect => lease.hops.saturating_add(1),
                // The first of its kind: robots.txt names it.
                LinkKind::Sitemap => 1,
                _ => 0,
            },
            priority,
            evidence: lease.evidence.clone(),
            model: self.parts.strategy.version(),
            ttl: None,
            anchor: "".into(),
        }
    }

    fn redirect(
        &mut self,
        lease: &Lease,
        fetched: &Fetched,
        mut turn: Turn,
        now: Millis,
    ) -> Result<(), Problem> {
        let target = fetched.location.as_deref().map(|l| self.parts.canon.join(&lease.url, l));
        let mut kind = "redirect";
        let outcome = match target {
            Some(Ok(url)) if lease.hops >= self.parts.rules.redirects || url == lease.url => {
                kind = "redirect-loop";
                self.counts.error(kind);
                Outcome::HttpError(fetched.status)
            }
            Some(Ok(url)) => {
                match self.parts.scope.check(&url) {
                    Ok(()) => turn.add.push(self.inherit(lease, url, LinkKind::Redirect)),
                    Err(why) => self.counts.refuse(&format!("scope: {}", why.kind()), 1),
                }
                Outcome::Redirected
            }
            Some(Err(_)) | None => {
                kind = "bad-redirect";
                self.counts.error(kind);
                Outcome::HttpError(fetched.status)
            }
        };
        turn.settle = Settle::Done { id: lease.id, outcome };
        self.apply(turn)?;
        if outcome != Outcome::Redirected {
            let why = fetched.location.clone().map_or_else(String::new, |to| format!("it leads to {to}"));
            self.note_failure(lease.id, &Reason { why, ..Reason::named(kind) }, now)?;
        }
        let url = lease.url.to_string();
        self.emit(Event::Miss {
            id: lease.id,
            url,
            kind: "redirect".into(),
            outcome: Some(outcome),
            at: now,
        });
        Ok(())
    }

    /// A fetch that brought no page: the strategy and the listeners are told.
    pub(crate) fn miss(
        &mut self,
        lease: &Lease,
        reason: Reason,
        outcome: Option<Outcome>,
        now: Millis,
    ) -> Result<(), Problem> {
        self.counts.error(&reason.kind);
        if outcome != Some(Outcome::Fetched) {
            self.note_failure(lease.id, &reason, now)?;
        }
        if outcome.is_some() {
            let wants = self.parts.strategy.wants();
            let sources = if wants.sources { self.parts.ledger.sources(lease.id)? } else { Vec::new() };
            self.learning.unsaved += 1;
            let (url, priority, evidence) = (&lease.url, lease.priority, &lease.evidence[..]);
            if let Some(model) = self.parts.strategy.model() {
                model.miss(&Miss { id: lease.id, url, priority, evidence, sources: &sources });
            }
        }
        self.emit(Event::Miss {
            id: lease.id,
            url: lease.url.to_string(),
            kind: reason.kind,
            outcome,
            at: now,
        });
        Ok(())
    }
}

/// What was asked for so that the page could be shown.
fn resources(fetched: &Fetched) -> &[Fetched] {
    fetched.rendered.as_ref().map_or(&[], |rendered| &rendered.resources)
}

/// No answer at all: of the host, or because there is no network.
fn is_silence(failure: &Failure) -> bool {
    matches!(failure, Failure::Dns(_) | Failure::Connect(_) | Failure::Timeout(_))
}
