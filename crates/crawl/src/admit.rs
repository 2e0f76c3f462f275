//! Takes in a page that was fetched before, or by someone else, as if it had just come: for repairs and
//! imports.

use crate::crawl::{Crawl, Ledger};
use frontier::{Limits, State};
use std::time::Duration;
use store::archive::{Exchange, HttpMessage, parse_rfc3339};
use types::{
    Candidate, Fetched, Lease, LinkKind, Millis, Outcome, Payload, Problem, Task, Truncation, Url, UrlId,
};

/// How a page was found.
pub(crate) struct Origin {
    pub parent: Option<UrlId>,
    pub kind: LinkKind,
    pub depth: u16,
}

/// The answer that an archive has. A revisit has no payload of its own.
pub(crate) fn answer_of(exchange: &Exchange, url: Url, message: &HttpMessage) -> Fetched {
    let response = &exchange.response;
    let started = response.header("WARC-Date").and_then(parse_rfc3339).unwrap_or_default();
    let mut fetched = Fetched::empty(url, started);
    fetched.status = message.status;
    fetched.headers = message.headers.clone();
    fetched.request_head = exchange.request.clone();
    let took = exchange.noted("fetchTimeMs").and_then(|v| v.parse().ok()).unwrap_or(0);
    fetched.elapsed = Duration::from_millis(took);
    fetched.truncated = match response.header("WARC-Truncated") {
        Some("length") => Some(Truncation::Length),
        Some("time") => Some(Truncation::Time),
        Some("disconnect") => Some(Truncation::Disconnect),
        _ => None,
    };
    fetched.ip = response.header("WARC-IP-Address").and_then(|ip| ip.parse().ok());
    fetched.wire_bytes = message.wire.len() as u64;
    fetched.payload =
        Payload::Bytes { wire: message.wire.as_ref().into(), decoded: message.body.as_ref().into() };
    fetched.rendered = exchange.rendered.clone().map(crate::stored::rendered_from);
    fetched
}

/// Is there a page of this URL?
pub(crate) fn is_page(crawl: &Crawl, url: &Url) -> Result<bool, Problem> {
    let ledger = &crawl.parts.ledger;
    match ledger.look_up(url)?.filter(|e| e.state == State::Settled(Outcome::Fetched)) {
        Some(entry) => Ok(ledger.record(entry.id)?.is_some()),
        None => Ok(false),
    }
}

/// The URL as the loop would have leased it. `None`: it ended otherwise before. `limits` hold again
/// afterwards.
pub(crate) fn lease(
    crawl: &mut Crawl,
    limits: &Limits,
    url: &Url,
    origin: &Origin,
) -> Result<Option<Lease>, Problem> {
    if crawl.parts.scope.is_removed(url) {
        return Ok(None);
    }
    let now = Millis::now();
    let open = |ledger: &dyn Ledger| {
        let entry = ledger.look_up(url)?;
        Ok::<_, Problem>(entry.filter(|e| !matches!(e.state, State::Settled(_))))
    };
    if open(crawl.parts.ledger.as_ref())?.is_none() {
        let candidate =
            Candidate { parent: origin.parent, kind: origin.kind, depth: origin.depth, ..crawl.as_seed(url) };
        // It was fetched, so it was wanted, whatever is full by now.
        crawl.parts.ledger.set_limits(boundless());
        let seeded = crawl.parts.ledger.seed(candidate, now);
        crawl.parts.ledger.set_limits(limits.clone());
        seeded?;
    }
    let Some(entry) = open(crawl.parts.ledger.as_ref())? else { return Ok(None) };
    let sources = crawl.parts.ledger.sources(entry.id)?;
    let evidence = sources.into_iter().max_by_key(|s| s.priority).map(|s| s.evidence);
    Ok(Some(Lease {
        revisit: None,
        id: entry.id,
        number: 0,
        url: url.clone(),
        task: Task::Page,
        kind: origin.kind,
        parent: entry.parent,
        depth: entry.depth,
        site_depth: entry.site_depth,
        hops: entry.hops,
        attempt: entry.attempts,
        priority: entry.priority,
        evidence: evidence.unwrap_or_default(),
        expires: Millis::NEVER,
    }))
}

fn boundless() -> Limits {
    Limits {
        pages_per_host: None,
        hosts_per_domain: None,
        depth: None,
        site_depth: None,
        url_length: usize::MAX,
        path_repeat: None,
        query_variants: None,
        calendar_pages: None,
        max_pending: None,
        closed_ms: 0,
        ..Limits::default()
    }
}
