//! Steps 4–7 for one page: judge it, learn from it and score its links, record it, settle its lease.

use crate::analyse::{Analysis, is_soft_404};
use crate::crawl::{Crawl, JudgedPage};
use crate::events::Event;
use crate::links::links;
use crate::measured::{FEATURES, Measured, in_links};
use crate::mirrors::last;
use crate::steer::plain;
use crate::teacher::UNARCHIVED;
use crate::timings::Stage;
use crate::verdicts::final_verdict;
use focus::strategies::{Rescore, Visit};
use focus::text::Doc;
use std::collections::HashMap;
use std::sync::{Arc, PoisonError};
use store::archive::{Digest, Original, PageNote};
use types::{
    ArchiveRef, Assessment, Candidate, Fetched, Lease, LinkKind, Millis, PageKind, Problem, Record, Rescored,
    Source, Target, Turn, UrlId, Verdict,
};

/// URLs of parents remembered for the archive.
const PARENTS_KEPT: usize = 4096;

/// A page that was judged.
struct ArrivedPage {
    lease: Lease,
    /// Its sightings, when the judge or the strategy wants them.
    sources: Vec<Source>,
    fetched: Fetched,
    doc: Doc,
    digest: [u8; 20],
    assessment: Assessment,
    verdict: Verdict,
    judged: JudgedPage,
    measured: Option<Measured>,
    /// The judge changed its mind on earlier pages because of it.
    revised: bool,
    duplicate_of: Option<UrlId>,
    near_duplicate_of: Option<UrlId>,
}

impl ArrivedPage {
    /// Nothing can be learnt from where it was found: the same came before, there is nothing on it, or it
    /// wants to please.
    fn is_worthless(&self) -> bool {
        self.duplicate_of.is_some()
            || self.near_duplicate_of.is_some()
            || is_soft_404(&self.doc)
            || self.assessment.stuffed
    }
}

impl Crawl {
    pub(crate) fn page(
        &mut self,
        lease: Lease,
        fetched: Fetched,
        analysis: Analysis,
        mut turn: Turn,
        now: Millis,
    ) -> Result<(), Problem> {
        if matches!(analysis.doc.page.kind, PageKind::Sitemap | PageKind::Feed) {
            return self.listing(lease, analysis.doc, fetched.payload.decoded().len(), turn, now);
        }
        let seen = self.judge(lease, fetched, analysis, &mut turn, now)?;
        let rescore = self.learn_from(&seen, &mut turn)?;
        self.record(&seen, &mut turn)?;
        let revised = turn.revised.len();
        let admitted = self.settle_page(&seen, turn, &rescore, now)?;
        self.announce_page(&seen, admitted, revised, now);
        Ok(())
    }

    /// Step 4: what the judge makes of it. Counts it.
    fn judge(
        &mut self,
        lease: Lease,
        fetched: Fetched,
        Analysis { doc, assessment, digest }: Analysis,
        turn: &mut Turn,
        now: Millis,
    ) -> Result<ArrivedPage, Problem> {
        let sources = self.sources(&lease)?;
        let _timed = self.pace.timings.begin(Stage::Judge);
        let (mut assessment, measured) = self.measure(&lease, &sources, &doc, assessment);
        self.judging.roll.shelve(&mut assessment);
        let (same, near) = self.judging.duplicates.meet(lease.id, digest, doc.page.simhash);
        let (duplicate_of, near_duplicate_of) = (same.map(|e| e.id), near.map(|e| e.id));
        let barred = assessment.excluded.is_some() || !self.parts.scope.speaks(&doc.page.language);
        let turned =
            self.parts.rules.noise > 0.0 && chance(&lease.url, self.parts.rules.rng) < self.parts.rules.noise;
        let (verdict, revised) = self.decide(&assessment, barred, turned);
        if measured.is_some() {
            // Its score is the probability it was judged by.
            assessment.score = verdict.relevance;
        }
        self.counts.pages += 1;
        self.counts.duplicates += u64::from(duplicate_of.is_some());
        self.counts.near_duplicates += u64::from(near_duplicate_of.is_some() && duplicate_of.is_none());
        self.watch_for_mirrors(&lease.url, duplicate_of.or(near_duplicate_of))?;
        let judged = JudgedPage {
            id: lease.id,
            score: assessment.score,
            barred,
            turned,
            relevant: verdict.relevant,
            label: None,
            copy_of: same.or(near),
            simhash: doc.page.simhash,
        };
        let judge = self.parts.judge.read().unwrap_or_else(PoisonError::into_inner);
        self.judging.roll.push(judge.as_ref(), judged, &assessment);
        drop(judge);
        self.counts.relevant += u64::from(self.judging.roll.is_counted(&judged));
        if revised {
            turn.revised = self.revise()?;
            self.tell_revised(&turn.revised, self.judging.roll.because())?;
        }
        self.tick(now);
        self.counts.curve.push(self.counts.pages, self.counts.relevant);
        Ok(ArrivedPage {
            sources,
            lease,
            fetched,
            doc,
            digest,
            assessment,
            verdict,
            judged,
            measured,
            revised,
            duplicate_of,
            near_duplicate_of,
        })
    }

    /// Step 5: the strategy learns from it and scores its links, and pending ones again where it wants to.
    fn learn_from(&mut self, seen: &ArrivedPage, turn: &mut Turn) -> Result<Rescore, Problem> {
        let ArrivedPage { lease, doc, assessment, verdict, .. } = seen;
        let wants = self.parts.strategy.wants();
        let targets: Vec<Target> = if wants.targets {
            doc.page.links.iter().map(|l| self.parts.ledger.target(&l.url)).collect()
        } else {
            Vec::new()
        };
        let visit = Visit {
            id: lease.id,
            url: &lease.url,
            kind: lease.kind,
            doc,
            assessment,
            verdict: *verdict,
            parent: lease.parent,
            depth: lease.depth,
            site_depth: lease.site_depth,
            priority: lease.priority,
            evidence: &lease.evidence,
            sources: if wants.sources { &seen.sources } else { &[] },
            targets: &targets,
            n: self.counts.pages,
            worthless: seen.is_worthless(),
        };
        let timed = self.pace.timings.begin(Stage::Learn);
        let rescore = self.parts.strategy.learn(&visit);
        drop(timed);
        let _timed = self.pace.timings.begin(Stage::Score);
        self.learning.unsaved += 1;
        if let Some(term) = &assessment.excluded {
            self.counts.refuse(&format!("excluded by `{term}`"), 1);
        } else if verdict.relevance >= self.parts.rules.expand_min
            && !(self.parts.rules.obey_nofollow && doc.page.robots.nofollow)
        {
            turn.add = links(&mut self.parts, &mut self.counts, &visit, lease);
            self.rule_links(&mut turn.add);
            if assessment.stuffed && wants.lookahead == 0 {
                // What it recommends can wait, unless somebody else does too. (A strategy that scores again
                // before a fetch has learnt that the page was worthless.)
                turn.add.iter_mut().for_each(|c| c.priority = last(c.priority));
            }
            turn.add.extend(self.refresh_target(lease, doc));
        }
        turn.rescore = self.rescores(&rescore, lease.id)?;
        Ok(rescore)
    }

    /// Where the page sends its readers after a moment.
    fn refresh_target(&mut self, lease: &Lease, doc: &Doc) -> Option<Candidate> {
        let target = doc.page.refresh.as_ref().filter(|target| **target != lease.url)?;
        if lease.hops >= self.parts.rules.redirects || self.parts.scope.check(target).is_err() {
            return None;
        }
        let candidate = self.inherit(lease, target.clone(), LinkKind::Refresh);
        Some(Candidate { hops: lease.hops + 1, ..candidate })
    }

    /// Step 6: archive, index, record, and the state that goes with it.
    fn record(&mut self, seen: &ArrivedPage, turn: &mut Turn) -> Result<(), Problem> {
        if !self.parts.rules.keep {
            return Ok(());
        }
        let mut record = record(seen);
        let noarchive = seen.doc.page.robots.noarchive;
        let timed = self.pace.timings.begin(Stage::Archive);
        record.archive = self.archive(&seen.fetched, &record, noarchive)?;
        drop(timed);
        if let Some(index) = &mut self.parts.index
            && !record.noindex
        {
            let _timed = self.pace.timings.begin(Stage::Index);
            index.add(&record)?;
        }
        if record.archive.is_none() && !noarchive {
            turn.state.push((UNARCHIVED, true, record.id.0.to_le_bytes().to_vec()));
        }
        turn.record = Some(record);
        self.page_state(turn, seen.judged, seen.digest, seen.revised);
        self.note_find(&seen.lease, seen.verdict.relevant && seen.judged.copy_of.is_none(), turn);
        turn.state.extend(seen.measured.as_ref().map(|m| (FEATURES, true, m.encode())));
        Ok(())
    }

    /// Step 7: all of it is applied as one. How many links were new.
    fn settle_page(
        &mut self,
        seen: &ArrivedPage,
        turn: Turn,
        rescore: &Rescore,
        now: Millis,
    ) -> Result<usize, Problem> {
        let applied = self.apply(turn)?;
        if let (Rescore::Siblings(priority), Some(fleet)) = (rescore, self.parts.ledger.fleet_mut()) {
            fleet.rescore_far_siblings(seen.lease.id, plain(*priority), self.parts.strategy.version())?;
        }
        self.count_applied(&applied);
        if let Some(index) = &mut self.parts.index
            && {
                let _timed = self.pace.timings.begin(Stage::Index);
                index.commit_if_due(now)?
            }
        {
            self.note_indexed()?;
        }
        Ok(applied.admitted as usize)
    }

    fn announce_page(&mut self, seen: &ArrivedPage, new_links: usize, revised: usize, now: Millis) {
        self.emit(Event::Page {
            id: seen.lease.id,
            n: self.counts.pages,
            url: seen.lease.url.to_string(),
            title: seen.doc.page.title.clone(),
            score: seen.assessment.score,
            relevant: seen.verdict.relevant,
            depth: seen.lease.depth,
            priority: seen.lease.priority.key(),
            new_links,
            at: now,
            simhash: seen.doc.page.simhash,
        });
        if revised > 0 {
            self.announce_revised(revised);
        }
    }

    /// What the user wants of hosts, applied to links just found.
    pub(crate) fn rule_links(&mut self, links: &mut Vec<Candidate>) {
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

    pub(crate) fn count_applied(&mut self, applied: &frontier::Applied) {
        for (reason, n) in &applied.refused {
            self.counts.refuse(reason.name(), u64::from(*n));
        }
    }

    /// Where the page was seen, when the judge or the strategy wants to know.
    pub(crate) fn sources(&self, lease: &Lease) -> Result<Vec<Source>, Problem> {
        let judge = self.parts.judge.read().unwrap_or_else(PoisonError::into_inner);
        let wanted = judge.needs().own_text || self.parts.strategy.wants().sources;
        if wanted { self.parts.ledger.sources(lease.id) } else { Ok(Vec::new()) }
    }

    /// Step 4a where it was not done before: the judge reads pages in order of arrival, or it was another
    /// judge then.
    fn measure(
        &mut self,
        lease: &Lease,
        sources: &[Source],
        doc: &focus::text::Doc,
        assessment: Option<Assessment>,
    ) -> (Assessment, Option<Measured>) {
        let stale = self.judging.measured_before.remove(&lease.number);
        let judge = self.parts.judge.read().unwrap_or_else(PoisonError::into_inner);
        match assessment {
            Some(assessment) if !stale && !judge.needs().own_text => (assessment, None),
            _ if judge.needs().own_text => {
                let links = in_links(sources, |id| self.judging.roll.features_of(id));
                let page = (lease.id, &lease.url);
                let (a, m) = self.judging.measurer.measure(judge.as_ref(), page, doc, links);
                (a, Some(m))
            }
            _ => (judge.assess(doc), None),
        }
    }

    pub(crate) fn archive(
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
            // It may be another by now.
            Some(id) => {
                let same = |r: &Record| r.archive.is_some() && r.digest == record.digest;
                self.parts.ledger.record(id)?.filter(same)
            }
            None => None,
        };
        let parent =
            record.parent.map(|id| parent_url(&mut self.learning.parents, self.parts.ledger.as_ref(), id));
        let parent = parent.transpose()?;
        let note = PageNote {
            parent: parent.as_deref(),
            depth: record.depth,
            kind: record.kind,
            assessment: Some(&record.assessment),
            verdict: Some(record.verdict),
            duplicate_of: original.as_ref().map(|r| Original { url: &r.url, fetched: r.fetched }),
            digest: Digest::from_hex(&record.digest),
            resource: false,
        };
        for resource in fetched.rendered.iter().flat_map(|rendered| &rendered.resources) {
            let parent = Some(fetched.url.as_str());
            let note = PageNote { parent, depth: record.depth, resource: true, ..PageNote::default() };
            archive.write(resource, &note)?;
        }
        Ok(archive.write(fetched, &note)?.map(|w| w.at))
    }

    /// The verdict, and whether earlier ones have to be given again.
    fn decide(&mut self, assessment: &Assessment, barred: bool, turned: bool) -> (Verdict, bool) {
        let mut judge = self.parts.judge.write().unwrap_or_else(PoisonError::into_inner);
        let revise = judge.observe(assessment, None);
        let verdict = final_verdict(judge.decide(assessment), barred, turned);
        self.counts.threshold = verdict.threshold;
        (verdict, revise)
    }

    pub(crate) fn rescores(&mut self, rescore: &Rescore, cause: UrlId) -> Result<Vec<Rescored>, Problem> {
        let model = self.parts.strategy.version();
        let set = |id, priority| Rescored { id, priority, model, cause: Some(cause) };
        let mut out = match rescore {
            Rescore::Nothing | Rescore::Stale => Vec::new(),
            Rescore::Siblings(priority) => {
                self.parts.ledger.siblings(cause)?.into_iter().map(|id| set(id, *priority)).collect()
            }
            Rescore::Urls(list) => list.iter().map(|(id, priority)| set(*id, *priority)).collect(),
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

/// The URL of a page's parent. A hub has many children, and its own record is large: it is not read for each
/// of them.
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

/// A number in [0, 1) that depends on the URL and the seed only.
fn chance(url: &types::Url, rng: u64) -> f64 {
    (url.fingerprint((rng, 0x6e6f_6973)).0 >> 11) as f64 / (1u64 << 53) as f64
}

fn record(seen: &ArrivedPage) -> Record {
    let ArrivedPage { lease, fetched, doc, assessment, verdict, digest, .. } = seen;
    Record {
        duplicate_of: seen.duplicate_of,
        near_duplicate_of: seen.near_duplicate_of,
        ..record_of(lease, fetched, doc, assessment, *verdict, *digest)
    }
}

/// A page as it is kept, before it is known what it is a copy of and where it is archived.
pub(crate) fn record_of(
    lease: &Lease,
    fetched: &Fetched,
    doc: &Doc,
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
        about: page.about.clone(),
    }
}
