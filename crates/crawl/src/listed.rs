//! Reads sitemaps and feeds. They are sources of links and no pages of the collection. `listings.rs` has the
//! budget that a host has for them.

use crate::analyse::Analysis;
use crate::crawl::Crawl;
use crate::events::Event;
use crate::failures::Reason;
use crate::links::links;
use crate::listings::is_sitemap_file;
use crate::refresh::{Ending, reason_text};
use crate::state::LISTINGS;
use crate::visits::Found;
use fetch::{Class, classify};
use focus::strategies::Visit;
use focus::text::Doc;
use std::collections::HashSet;
use types::{
    Assessment, Candidate, Fetched, Lease, LinkKind, Millis, Outcome, Page, PageKind, Problem, Target, Turn,
    Verdict,
};

impl Crawl {
    /// A sitemap or feed: a source of links, not a page of the collection.
    pub(crate) fn listing(
        &mut self,
        lease: Lease,
        doc: Doc,
        bytes: usize,
        mut turn: Turn,
        now: Millis,
    ) -> Result<(), Problem> {
        let (host, limits) = (lease.url.host_key(), &self.parts.rules.listings);
        let Some(room) = self.hosts.listings.read(host, bytes, is_sitemap_file(&lease), limits) else {
            self.note_listings(&mut turn, &lease.url);
            self.counts.refuse("sitemaps of the host", 1);
            self.apply(turn)?;
            return self.miss(&lease, Reason::named("sitemap-limit"), Some(Outcome::Fetched), now);
        };
        turn.add = self.links_of_listing(&lease, &doc);
        self.bound_listing(&lease, &doc.page, room, &mut turn.add);
        let found = turn.add.len();
        self.hosts.listings.took(host, found);
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

    /// A sitemap or feed that was read before: its links are looked at, which costs nothing of the host's
    /// budget.
    pub(crate) fn list_again(
        &mut self,
        lease: Lease,
        fetched: Fetched,
        analysis: Option<Analysis>,
        mut turn: Turn,
        now: Millis,
    ) -> Result<(), Problem> {
        let listing = analysis.filter(|a| matches!(a.doc.page.kind, PageKind::Sitemap | PageKind::Feed));
        let ending = match (classify(&fetched), listing) {
            (Class::Page, Some(Analysis { doc, .. })) => {
                turn.add = self.links_of_listing(&lease, &doc);
                let room = usize::try_from(self.parts.rules.listings.urls).unwrap_or(usize::MAX);
                self.bound_listing(&lease, &doc.page, room, &mut turn.add);
                Ending::new(Found::SameText)
            }
            (Class::Error(404 | 410), _) => return self.missed(&lease, &fetched, turn, now),
            _ => Ending::because(Found::NoAnswer, reason_text(&Reason::of(&fetched))),
        };
        self.end_visit(&lease, &fetched, turn, ending, now)
    }

    fn links_of_listing(&mut self, lease: &Lease, doc: &Doc) -> Vec<Candidate> {
        let visit = Visit {
            id: lease.id,
            url: &lease.url,
            kind: lease.kind,
            doc,
            assessment: &Assessment::default(),
            verdict: Verdict::default(),
            parent: lease.parent,
            depth: lease.depth,
            site_depth: lease.site_depth,
            priority: lease.priority,
            evidence: &lease.evidence,
            sources: &[],
            targets: &[],
            n: self.counts.pages,
            worthless: true,
        };
        let mut found = links(&mut self.parts, &mut self.counts, &visit, lease);
        self.rule_links(&mut found);
        found
    }

    /// Leaves out what the host's budget for sitemaps does not cover: sitemaps that are nested too deeply,
    /// are too many, or are somebody else's, and URLs beyond `room`.
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
    pub(crate) fn admit_sitemap(&mut self, url: &types::Url) -> bool {
        self.parts.ledger.target(url) != Target::New
            || self.hosts.listings.admit_file(url.host_key(), &self.parts.rules.listings)
    }

    /// Keeps what the host has spent on sitemaps.
    pub(crate) fn note_listings(&self, turn: &mut Turn, url: &types::Url) {
        if self.parts.rules.keep
            && let Some(line) = self.hosts.listings.line(url.host_key())
        {
            turn.state.push((LISTINGS, true, line));
        }
    }
}
