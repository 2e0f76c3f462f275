//! Steps 4–7 for one answer: decide, learn, score its links, record, settle.

use crate::analyse::{Analysis, is_soft_404};
use crate::control::plain;
use crate::crawl::{Arrival, Crawl, Judged};
use crate::events::{Curve, Event};
use crate::links::links;
use crate::listings::is_sitemap_file;
use crate::measured::{self, FEATURES, Measured};
use crate::mirrors::last;
use crate::network::Fault;
use crate::state::LISTINGS;
use crate::teacher::UNARCHIVED;
use fetch::robots::Robots;
use fetch::{Class, classify};
use focus::judges::Judge;
use focus::strategies::{Miss, Rescore, Revised, Visit};
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, PoisonError};
use std::time::Duration;
use store::Revision;
use store::archive::{Digest, Original, PageNote};
use types::{
    ArchiveRef, Assessment, Candidate, Failure, Fetched, HostUpdate, Lease, LinkKind, Millis, Outcome, Page,
    PageKind, Problem, Record, Rescored, RobotsAnswer, Settle, Task, Turn, UrlId, Verdict,
};

/// First pause before an unavailable robots.txt is asked for again; doubles with each try.
const ROBOTS_RETRY: Duration = Duration::from_secs(10);
/// URLs of parents remembered for the archive.
const PARENTS_KEPT: usize = 4096;
impl Crawl {
    pub(crate) fn visit(&mut self, arrival: Arrival, now: Millis) -> Result<(), Problem> {
        if let Class::Postponed { after } = classify(&arrival.fetched) {
            return self.postponed(&arrival.lease, after, now);
        }
        self.counts.bytes += arrival.fetched.wire_bytes;
        if !self.parts.rules.watch_network {
            return self.settle(arrival, now);
        }
        match self.whose_fault(&arrival, now) {
            Some(Fault::Host) => {}
            Some(Fault::Unknown) => {
                self.doubtful.push(arrival);
                return Ok(());
            }
            Some(Fault::Network) => {
                self.undo_doubtful(now)?;
                return self.withheld(&arrival.lease, false, now);
            }
            None => {
                // Someone answers: those who did not are to blame themselves.
                for silent in std::mem::take(&mut self.doubtful) {
                    self.settle(silent, now)?;
                }
            }
        }
        self.settle(arrival, now)
    }

    fn settle(&mut self, arrival: Arrival, now: Millis) -> Result<(), Problem> {
        let Arrival { lease, fetched, analysis } = arrival;
        if !self.holds(lease.id) {
            return Ok(());
        }
        self.counts.requests += u64::from(!fetched.failure.as_ref().is_some_and(Failure::is_refusal));
        if lease.task == Task::Robots {
            return self.robots_arrived(&lease, &fetched, now);
        }
        let class = classify(&fetched);
        let mut turn = Turn::new(Settle::Done {
            id: lease.id,
            outcome: class.outcome().unwrap_or(Outcome::Unreachable),
        });
        turn.host = HostUpdate {
            contacted: !fetched.failure.as_ref().is_some_and(Failure::is_refusal),
            finished: now,
            crawl_delay: None,
            not_before: None,
            // An answer, whatever it says, shows that the host is alive.
            failed: (class != Class::Unreachable).then_some(matches!(class, Class::Retry { host: true, .. })),
            ip: fetched.ip.filter(|_| self.parts.rules.group_by_ip),
        };
        match (class, analysis) {
            (Class::Page, Some(analysis)) => self.page(lease, fetched, analysis, turn, now),
            (Class::Redirect, _) => self.redirect(&lease, &fetched, turn, now),
            (Class::Retry { after, host }, _) => {
                if self.parts.rules.watch_network
                    && fetched.failure.as_ref().is_some_and(is_silence)
                    && self.origins.was_silent(&lease.url, now, &self.door_limits)
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
                self.miss(&lease, &error_kind(&fetched), outcome, now)
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
                self.miss(&lease, &error_kind(&fetched), Some(outcome), now)
            }
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

    /// If there was no answer: because of the host, or because there is no network? `None`: somebody answered.
    fn whose_fault(&mut self, arrival: &Arrival, now: Millis) -> Option<Fault> {
        let lease = &arrival.lease;
        match &arrival.fetched.failure {
            // Nobody was asked.
            Some(failure) if failure.is_refusal() => Some(Fault::Host),
            Some(failure) if is_silence(failure) => {
                Some(self.network.was_silent(lease.url.host_key(), lease.number, now))
            }
            _ => {
                self.network.answered(lease.url.host_key(), now);
                self.origins.answered(&lease.url);
                None
            }
        }
    }

    fn robots_arrived(&mut self, lease: &Lease, fetched: &Fetched, now: Millis) -> Result<(), Problem> {
        if fetched.failure.as_ref().is_some_and(Failure::is_refusal) {
            // Nobody was asked, and nobody will be.
            self.apply(Turn::new(Settle::Done { id: lease.id, outcome: Outcome::Refused }))?;
            return self.miss(lease, &error_kind(fetched), Some(Outcome::Refused), now);
        }
        let status = if fetched.failure.is_some() { 0 } else { fetched.status };
        let agent = &self.parts.rules.user_agent;
        let robots = Arc::new(Robots::from_answer(status, fetched.payload.decoded(), agent));
        let unavailable = status == 0 || status >= 500 || status == 429;
        let keep = if unavailable {
            // Closed until it can be had. Asked again soon, because a small crawl should not end waiting for one host.
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
                // A sitemap may live elsewhere, but not off the site that names it: that would let any host spend
                // our budget on another.
                if url.domain() == lease.url.domain()
                    && self.parts.scope.check(&url).is_ok()
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
            let kind =
                if fetched.failure.is_some() { error_kind(fetched) } else { "robots-unavailable".into() };
            self.miss(lease, &kind, None, now)?;
        }
        Ok(())
    }

    /// A URL that stands in for the leased one (redirect target, sitemap): same priority, same evidence.
    fn inherit(&self, lease: &Lease, url: types::Url, kind: LinkKind) -> Candidate {
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
            model: self.parts.strategy.model(),
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
        let outcome = match target {
            Some(Ok(url)) if lease.hops >= self.parts.rules.redirects || url == lease.url => {
                self.counts.error("redirect-loop");
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
                self.counts.error("bad-redirect");
                Outcome::HttpError(fetched.status)
            }
        };
        turn.settle = Settle::Done { id: lease.id, outcome };
        self.apply(turn)?;
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
        kind: &str,
        outcome: Option<Outcome>,
        now: Millis,
    ) -> Result<(), Problem> {
        self.counts.error(kind);
        if outcome.is_some() {
            let reads = self.parts.strategy.reads();
            let sources = if reads.sources { self.parts.ledger.sources(lease.id)? } else { Vec::new() };
            self.unsaved += 1;
            self.parts.strategy.miss(&Miss {
                id: lease.id,
                url: &lease.url,
                priority: lease.priority,
                evidence: &lease.evidence,
                sources: &sources,
            });
        }
        self.emit(Event::Miss {
            id: lease.id,
            url: lease.url.to_string(),
            kind: kind.into(),
            outcome,
            at: now,
        });
        Ok(())
    }

    fn page(
        &mut self,
        lease: Lease,
        fetched: Fetched,
        analysis: Analysis,
        mut turn: Turn,
        now: Millis,
    ) -> Result<(), Problem> {
        let Analysis { doc, assessment, digest } = analysis;
        if matches!(doc.page.kind, PageKind::Sitemap | PageKind::Feed) {
            return self.listing(lease, doc, fetched.payload.decoded().len(), turn, now);
        }
        let (mut assessment, measured) = self.measure(&lease, &doc, assessment);
        let (same, near) = self.duplicates.meet(lease.id, digest, doc.page.simhash);
        let (duplicate_of, near_duplicate_of) = (same.map(|e| e.id), near.map(|e| e.id));
        let barred = assessment.excluded.is_some() || !self.parts.scope.speaks(&doc.page.language);
        let turned =
            self.parts.rules.noise > 0.0 && chance(&lease.url, self.parts.rules.rng) < self.parts.rules.noise;
        let (verdict, revise) = self.decide(&assessment, barred, turned);
        if measured.is_some() {
            // Its score is the probability it was judged by.
            assessment.score = verdict.relevance;
        }
        self.counts.pages += 1;
        self.counts.duplicates += u64::from(duplicate_of.is_some());
        self.counts.near_duplicates += u64::from(near_duplicate_of.is_some() && duplicate_of.is_none());
        self.watch_for_mirrors(&lease.url, duplicate_of.or(near_duplicate_of))?;
        let judged = Judged {
            id: lease.id,
            score: assessment.score,
            barred,
            turned,
            relevant: verdict.relevant,
            label: None,
            copy_of: same.or(near),
            simhash: doc.page.simhash,
        };
        self.roll.judged.push(judged);
        if !self.by_score() {
            self.roll.assessed.push(measured::kept(&assessment));
        }
        self.counts.relevant += u64::from(self.roll.is_counted(&judged));
        if revise {
            turn.revised = self.revise()?;
            self.tell_revised(&turn.revised, false)?;
        }
        self.tick(now);
        self.counts.curve.push(self.counts.pages, self.counts.relevant);

        let reads = self.parts.strategy.reads();
        let sources = if reads.sources { self.parts.ledger.sources(lease.id)? } else { Vec::new() };
        let known: Vec<bool> = if reads.known {
            doc.page.links.iter().map(|l| self.parts.ledger.knows(&l.url)).collect()
        } else {
            Vec::new()
        };
        let visit = Visit {
            id: lease.id,
            url: &lease.url,
            kind: lease.kind,
            doc: &doc,
            assessment: &assessment,
            verdict,
            parent: lease.parent,
            depth: lease.depth,
            site_depth: lease.site_depth,
            priority: lease.priority,
            evidence: &lease.evidence,
            sources: &sources,
            known: &known,
            n: self.counts.pages,
            worthless: duplicate_of.is_some()
                || near_duplicate_of.is_some()
                || is_soft_404(&doc)
                || assessment.stuffed,
        };
        let rescore = self.parts.strategy.learn(&visit);
        self.unsaved += 1;
        let follow = assessment.excluded.is_none()
            && verdict.relevance >= self.parts.rules.expand_min
            && !(self.parts.rules.obey_nofollow && doc.page.robots.nofollow);
        if follow {
            turn.add = links(&mut self.parts, &mut self.counts, &visit, &lease);
            self.rule_links(&mut turn.add);
            if assessment.stuffed && self.parts.strategy.lookahead() == 0 {
                // What it recommends can wait, unless somebody else does too. (A strategy that scores again before a fetch
                // has learnt that the page was worthless.)
                turn.add.iter_mut().for_each(|c| c.priority = last(c.priority));
            }
            if let Some(target) = &doc.page.refresh
                && *target != lease.url
                && lease.hops < self.parts.rules.redirects
                && self.parts.scope.check(target).is_ok()
            {
                let mut c = self.inherit(&lease, target.clone(), LinkKind::Refresh);
                c.hops = lease.hops + 1;
                turn.add.push(c);
            }
        } else if let Some(term) = &assessment.excluded {
            self.counts.refuse(&format!("excluded by `{term}`"), 1);
        }
        let siblings = if let Rescore::Siblings(priority) = &rescore { Some(*priority) } else { None };
        turn.rescore = self.rescores(rescore, lease.id)?;

        if self.parts.rules.keep {
            let mut record = record(&lease, &fetched, &doc, &assessment, verdict, digest);
            record.duplicate_of = duplicate_of;
            record.near_duplicate_of = near_duplicate_of;
            record.archive = self.archive(&fetched, &record, doc.page.robots.noarchive)?;
            if let Some(index) = &mut self.parts.index
                && !record.noindex
            {
                index.add(&record)?;
            }
            if record.archive.is_none() && !doc.page.robots.noarchive {
                turn.state.push((UNARCHIVED, true, record.id.0.to_le_bytes().to_vec()));
            }
            turn.record = Some(record);
            self.page_state(&mut turn, judged, digest, revise);
            turn.state.extend(measured.map(|m| (FEATURES, true, m.encode())));
        }
        let revised = turn.revised.len();
        let applied = self.apply(turn)?;
        if let (Some(priority), Some(fleet)) = (siblings, self.parts.ledger.fleet_mut()) {
            fleet.rescore_far_siblings(lease.id, plain(priority), self.parts.strategy.model())?;
        }
        self.count_applied(&applied);
        if let Some(index) = &mut self.parts.index
            && index.commit_if_due(now)?
        {
            self.note_indexed()?;
        }
        self.emit(Event::Page {
            id: lease.id,
            n: self.counts.pages,
            url: lease.url.to_string(),
            title: doc.page.title.clone(),
            score: assessment.score,
            relevant: verdict.relevant,
            depth: lease.depth,
            priority: lease.priority.key(),
            new_links: applied.admitted as usize,
            at: now,
            simhash: doc.page.simhash,
        });
        if revised > 0 {
            let (relevant, threshold) = (self.counts.relevant, self.counts.threshold);
            self.emit(Event::Revised { pages: revised, relevant, threshold });
        }
        Ok(())
    }

    /// Step 4a where it was not done before: the judge reads pages in order of arrival, or it was another judge then.
    fn measure(
        &mut self,
        lease: &Lease,
        doc: &focus::text::Doc,
        assessment: Option<Assessment>,
    ) -> (Assessment, Option<Measured>) {
        let stale = self.measured_before.remove(&lease.number);
        let judge = self.parts.judge.read().unwrap_or_else(PoisonError::into_inner);
        match assessment {
            Some(assessment) if !stale && !judge.reads_own_text() => (assessment, None),
            _ if judge.reads_own_text() => {
                let (a, m) = self.measurer.measure(judge.as_ref(), lease.id, &lease.url, doc);
                (a, Some(m))
            }
            _ => (judge.assess(doc), None),
        }
    }

    fn archive(
        &mut self,
        fetched: &Fetched,
        record: &Record,
        noarchive: bool,
    ) -> Result<Option<ArchiveRef>, Problem> {
        let Some(archive) = &mut self.parts.archive else { return Ok(None) };
        if noarchive || (self.parts.rules.only_relevant_archived && !record.verdict.relevant) {
            return Ok(None);
        }
        let original = match record.duplicate_of {
            Some(id) => self.parts.ledger.record(id)?.filter(|r| r.archive.is_some()),
            None => None,
        };
        let parent = record.parent.map(|id| parent_url(&mut self.parents, self.parts.ledger.as_ref(), id));
        let parent = parent.transpose()?;
        let note = PageNote {
            parent: parent.as_deref(),
            depth: record.depth,
            kind: record.kind,
            assessment: Some(&record.assessment),
            verdict: Some(record.verdict),
            duplicate_of: original.as_ref().map(|r| Original { url: &r.url, fetched: r.fetched }),
            digest: Digest::from_hex(&record.digest),
        };
        Ok(archive.write(fetched, &note)?.map(|w| w.at))
    }

    /// A sitemap or feed: a source of links, not a page of the collection.
    fn listing(
        &mut self,
        lease: Lease,
        doc: focus::text::Doc,
        bytes: usize,
        mut turn: Turn,
        now: Millis,
    ) -> Result<(), Problem> {
        let (host, limits) = (lease.url.host_key(), &self.parts.rules.listings);
        let Some(room) = self.listings.read(host, bytes, is_sitemap_file(&lease), limits) else {
            self.note_listings(&mut turn, &lease.url);
            self.counts.refuse("sitemaps of the host", 1);
            self.apply(turn)?;
            return self.miss(&lease, "sitemap-limit", Some(Outcome::Fetched), now);
        };
        let visit = Visit {
            id: lease.id,
            url: &lease.url,
            kind: lease.kind,
            doc: &doc,
            assessment: &Assessment::default(),
            verdict: Verdict::default(),
            parent: lease.parent,
            depth: lease.depth,
            site_depth: lease.site_depth,
            priority: lease.priority,
            evidence: &lease.evidence,
            sources: &[],
            known: &[],
            n: self.counts.pages,
            worthless: true,
        };
        turn.add = links(&mut self.parts, &mut self.counts, &visit, &lease);
        self.rule_links(&mut turn.add);
        self.bound_listing(&lease, &doc.page, room, &mut turn.add);
        let found = turn.add.len();
        self.listings.took(host, found);
        self.note_listings(&mut turn, &lease.url);
        let applied = self.apply(turn)?;
        self.count_applied(&applied);
        let kind = format!("listing of {found} links");
        self.emit(Event::Miss {
            id: lease.id,
            url: lease.url.to_string(),
            kind,
            outcome: Some(Outcome::Fetched),
            at: now,
        });
        Ok(())
    }

    /// Leaves out what the host's budget for sitemaps does not cover: sitemaps that are nested too deeply, are too many, or
    /// are somebody else's, and URLs beyond `room`.
    fn bound_listing(&mut self, lease: &Lease, page: &Page, room: usize, links: &mut Vec<Candidate>) {
        let nested: HashSet<&types::Url> =
            page.links.iter().filter(|l| page.names_sitemap(l)).map(|l| &l.url).collect();
        let before = links.len();
        let level = lease.hops.max(1).saturating_add(1);
        let too_deep = level > self.parts.rules.listings.nesting.saturating_add(1);
        links.retain_mut(|c| {
            if !nested.contains(&c.url) {
                return true;
            }
            (c.kind, c.hops) = (LinkKind::Sitemap, level);
            !too_deep && c.url.domain() == lease.url.domain() && self.admit_sitemap(&c.url)
        });
        self.counts.refuse("sitemaps of the host", (before - links.len()) as u64);
        if links.len() > room {
            self.counts.refuse("URLs of sitemaps", (links.len() - room) as u64);
            links.truncate(room);
        }
    }

    /// May this sitemap file be fetched one day? One that is known already costs nothing more.
    fn admit_sitemap(&mut self, url: &types::Url) -> bool {
        self.parts.ledger.knows(url) || self.listings.admit_file(url.host_key(), &self.parts.rules.listings)
    }

    /// Keeps what the host has spent on sitemaps.
    fn note_listings(&self, turn: &mut Turn, url: &types::Url) {
        if self.parts.rules.keep
            && let Some(line) = self.listings.line(url.host_key())
        {
            turn.state.push((LISTINGS, true, line));
        }
    }

    /// What the user wants of hosts, applied to links just found.
    fn rule_links(&mut self, links: &mut Vec<Candidate>) {
        if !self.has_rules() {
            return;
        }
        let before = links.len();
        links.retain(|c| !self.is_blocked(&c.url));
        self.counts.refuse("blocked by you", (before - links.len()) as u64);
        for c in links {
            c.priority = self.with_rule_of(&c.url, c.priority);
        }
    }

    fn count_applied(&mut self, applied: &frontier::Applied) {
        for (reason, n) in &applied.refused {
            self.counts.refuse(reason.name(), u64::from(*n));
        }
    }

    /// The verdict, and whether earlier ones have to be given again.
    fn decide(&mut self, assessment: &Assessment, barred: bool, turned: bool) -> (Verdict, bool) {
        let mut judge = self.parts.judge.write().unwrap_or_else(PoisonError::into_inner);
        let revise = judge.observe(assessment, None);
        let verdict = final_verdict(judge.decide(assessment), barred, turned);
        self.counts.threshold = verdict.threshold;
        (verdict, revise)
    }

    /// Gives every verdict again; returns those that changed sides.
    pub(crate) fn revise(&mut self) -> Result<Vec<(UrlId, Verdict)>, Problem> {
        let judge = self.parts.judge.read().unwrap_or_else(PoisonError::into_inner);
        let changes = self.roll.revise(judge.as_ref());
        drop(judge);
        if !changes.sides.is_empty() {
            self.count_pages();
        }
        if self.parts.rules.keep {
            self.parts.ledger.revise(&Revision::of(&changes.moved))?;
        }
        Ok(changes.sides)
    }

    /// The totals and the harvest curve, from what is thought of every page now.
    pub(crate) fn count_pages(&mut self) {
        (self.counts.pages, self.counts.relevant) = (0, 0);
        let mut curve = Curve::default();
        for page in &self.roll.judged {
            self.counts.pages += 1;
            self.counts.relevant += u64::from(self.roll.is_counted(page));
            curve.push(self.counts.pages, self.counts.relevant);
        }
        self.counts.curve = curve;
    }

    /// What the judge makes now of pages of which `before` knows another verdict.
    pub(crate) fn changed_since(&self, before: &HashMap<UrlId, bool>) -> Vec<(UrlId, Verdict)> {
        let judge = self.parts.judge.read().unwrap_or_else(PoisonError::into_inner);
        let pages = self.roll.judged.iter().enumerate();
        let changed = pages.filter(|(_, j)| before.get(&j.id).is_some_and(|b| *b != j.relevant));
        changed.filter_map(|(i, j)| Some((j.id, self.roll.verdict(judge.as_ref(), i)?))).collect()
    }

    /// Strategies that learnt from a verdict are told that it was another.
    pub(crate) fn tell_revised(
        &mut self,
        changed: &[(UrlId, Verdict)],
        by_user: bool,
    ) -> Result<(), Problem> {
        let reads = self.parts.strategy.reads();
        // All at once: of a shared crawl many of them may be in the database only.
        let ids: Vec<UrlId> = changed.iter().map(|c| c.0).collect();
        let ledger = &self.parts.ledger;
        let mut sources = if reads.sources { ledger.all_sources(&ids)? } else { HashMap::new() };
        let mut urls = ledger.urls(&ids)?;
        let mut known = Vec::with_capacity(changed.len());
        for (id, verdict) in changed {
            let Some(url) = urls.remove(id) else { continue };
            known.push((*id, *verdict, url, sources.remove(id).unwrap_or_default()));
        }
        let pages: Vec<Revised> = known
            .iter()
            .map(|(id, verdict, url, sources)| Revised { id: *id, url, verdict: *verdict, sources, by_user })
            .collect();
        if !pages.is_empty() {
            self.parts.strategy.revised(&pages);
        }
        Ok(())
    }

    pub(crate) fn by_score(&self) -> bool {
        self.parts.judge.read().unwrap_or_else(PoisonError::into_inner).by_score()
    }

    pub(crate) fn remembers_pages(&self) -> bool {
        self.parts.judge.read().unwrap_or_else(PoisonError::into_inner).remembers_pages()
    }

    pub(crate) fn rescores(&mut self, rescore: Rescore, cause: UrlId) -> Result<Vec<Rescored>, Problem> {
        let model = self.parts.strategy.model();
        let set = |id, priority| Rescored { id, priority, model, cause: Some(cause) };
        let mut out = match rescore {
            Rescore::Nothing | Rescore::Stale => Vec::new(),
            Rescore::Siblings(priority) => {
                self.parts.ledger.siblings(cause)?.into_iter().map(|id| set(id, priority)).collect()
            }
            Rescore::Urls(list) => list.into_iter().map(|(id, priority)| set(id, priority)).collect(),
            Rescore::Everything if self.sweep_later()? => return Ok(Vec::new()),
            Rescore::Everything => {
                let mut out = Vec::new();
                for id in self.pending_ids()? {
                    out.extend(self.rescored(id, None)?);
                }
                return Ok(out);
            }
        };
        if self.has_rules() {
            for r in &mut out {
                r.priority = self.with_rule(r.id, r.priority)?;
            }
        }
        Ok(out)
    }
}

/// The URL of a page's parent. A hub has many children, and its own record is large: it is not read for each of them.
fn parent_url(
    known: &mut HashMap<UrlId, Arc<str>>,
    ledger: &(impl store::Records + ?Sized),
    id: UrlId,
) -> Result<Arc<str>, Problem> {
    if let Some(url) = known.get(&id) {
        return Ok(url.clone());
    }
    if known.len() >= PARENTS_KEPT {
        known.clear();
    }
    let url: Arc<str> = ledger.url(id)?.as_str().into();
    known.insert(id, url.clone());
    Ok(url)
}

/// The judge's verdict on a page that was measured before.
pub(crate) fn decided(judge: &dyn Judge, j: &Judged, whole: Option<&Assessment>) -> Verdict {
    let verdict = match whole {
        Some(whole) => judge.decide(whole),
        None => judge.decide(&Assessment { score: j.score, ..Assessment::default() }),
    };
    final_verdict(verdict, j.barred, j.turned)
}

/// The judge's verdict after what rules a page out whatever its score, and after the noise of a backtest.
pub(crate) fn final_verdict(mut v: Verdict, barred: bool, turned: bool) -> Verdict {
    v.relevant &= !barred;
    if turned {
        v.relevant = !v.relevant;
        // The soft score must not give the truth away: it moves to the other side of the threshold.
        v.relevance = if v.relevant { (v.threshold + 1.0) / 2.0 } else { v.threshold / 2.0 };
    }
    v
}

/// A number in [0, 1) that depends on the URL and the seed only.
fn chance(url: &types::Url, rng: u64) -> f64 {
    (url.fingerprint((rng, 0x6e6f_6973)).0 >> 11) as f64 / (1u64 << 53) as f64
}

fn record(
    lease: &Lease,
    fetched: &Fetched,
    doc: &focus::text::Doc,
    assessment: &Assessment,
    verdict: Verdict,
    digest: [u8; 20],
) -> Record {
    let page = &doc.page;
    Record {
        id: lease.id,
        url: lease.url.to_string(),
        parent: lease.parent,
        kind: lease.kind,
        depth: lease.depth,
        status: fetched.status,
        media_type: fetched.media_type(),
        charset: page.charset.clone(),
        language: page.language.clone(),
        title: page.title.clone(),
        description: page.description.clone(),
        text: page.text.clone(),
        links: page.links.len() as u32,
        // As the archive dates it: a revisit record refers to its original by this time.
        fetched: fetched.started,
        elapsed_ms: fetched.elapsed.as_millis().min(u128::from(u32::MAX)) as u32,
        bytes: fetched.wire_bytes,
        truncated: fetched.truncated,
        assessment: assessment.clone(),
        verdict,
        digest: Digest(digest).hex(),
        simhash: page.simhash,
        duplicate_of: None,
        near_duplicate_of: None,
        archive: None,
        etag: fetched.header("etag").map(str::to_string),
        last_modified: fetched.header("last-modified").map(str::to_string),
        noindex: page.robots.noindex,
    }
}

/// No answer at all: of the host, or because there is no network.
fn is_silence(failure: &Failure) -> bool {
    matches!(failure, Failure::Dns(_) | Failure::Connect(_) | Failure::Timeout(_))
}

fn error_kind(fetched: &Fetched) -> String {
    match &fetched.failure {
        Some(failure) => failure.kind().to_string(),
        None if fetched.status >= 400 => format!("http-{}", fetched.status),
        None => "unreadable".to_string(),
    }
}
