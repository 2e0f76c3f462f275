//! The links of a page as candidates for the frontier.

use crate::crawl::{Counts, Parts};
use focus::strategies::Visit;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use types::{Candidate, Lease, Link, PageKind, Priority};

/// Anchor texts are kept for people; longer ones are cut.
const ANCHOR_KEPT: usize = 120;

/// The page's links as candidates: in scope, each target once with its best score, the best ones when there
/// are more than the limit, in page order.
pub(crate) fn links(parts: &mut Parts, counts: &mut Counts, visit: &Visit, lease: &Lease) -> Vec<Candidate> {
    let page = &visit.doc.page;
    if parts.rules.listed_only && !matches!(page.kind, PageKind::Sitemap | PageKind::Feed) {
        return Vec::new();
    }
    let scores = parts.strategy.score(visit);
    let model = parts.strategy.version();
    let mut out: Vec<Candidate> = Vec::with_capacity(page.links.len().min(parts.rules.links_per_page));
    let mut at: HashMap<&types::Url, usize> = HashMap::with_capacity(page.links.len());
    let mut refused = RefusedLinks::default();
    for (link, scored) in page.links.iter().zip(scores) {
        let Some(scored) = scored else { continue };
        if link.url == lease.url {
            continue;
        }
        if parts.rules.obey_nofollow && link.rel.nofollow {
            refused.add("nofollow");
            continue;
        }
        match at.entry(&link.url) {
            Entry::Occupied(e) => {
                let old = &mut out[*e.get()];
                if scored.priority > old.priority {
                    old.priority = scored.priority;
                    old.evidence = scored.evidence;
                    old.anchor = anchor(visit, link);
                }
            }
            Entry::Vacant(e) => {
                let checked = match page.names_sitemap(link) {
                    true => parts.scope.check_listing(&link.url),
                    false => parts.scope.check(&link.url),
                };
                if let Err(why) = checked {
                    refused.add(why.kind());
                    continue;
                }
                e.insert(out.len());
                let same_host = link.url.host_key() == lease.url.host_key();
                out.push(Candidate {
                    url: link.url.clone(),
                    parent: Some(lease.id),
                    kind: link.kind,
                    depth: lease.depth.saturating_add(1),
                    site_depth: if same_host { lease.site_depth.saturating_add(1) } else { 0 },
                    hops: 0,
                    priority: scored.priority,
                    evidence: scored.evidence,
                    model,
                    ttl: scored.ttl,
                    anchor: anchor(visit, link),
                });
            }
        }
    }
    for (kind, n) in refused.0 {
        match kind {
            "nofollow" => counts.refuse(kind, n),
            _ => counts.refuse(&format!("scope: {kind}"), n),
        }
    }
    let most = parts.rules.links_per_page;
    if out.len() > most {
        counts.refuse("links per page", (out.len() - most) as u64);
        let mut keys: Vec<Priority> = out.iter().map(|c| c.priority).collect();
        keys.sort_unstable_by(|a, b| b.cmp(a));
        let floor = keys[most - 1];
        let mut ties = keys[..most].iter().filter(|k| **k == floor).count();
        out.retain(|c| {
            let tie = c.priority == floor && ties > 0;
            ties -= usize::from(tie);
            c.priority > floor || tie
        });
    }
    out
}

/// Why links of one page were left out, how often each: there may be hundreds, and few reasons.
#[derive(Default)]
struct RefusedLinks(Vec<(&'static str, u64)>);

impl RefusedLinks {
    fn add(&mut self, kind: &'static str) {
        match self.0.iter_mut().find(|(k, _)| *k == kind) {
            Some((_, n)) => *n += 1,
            None => self.0.push((kind, 1)),
        }
    }
}

fn anchor(visit: &Visit, link: &Link) -> Box<str> {
    let text = visit.doc.page.anchor(link);
    let text = if text.is_empty() { &link.label } else { text };
    let end = text.char_indices().nth(ANCHOR_KEPT).map_or(text.len(), |(i, _)| i);
    text[..end].into()
}
