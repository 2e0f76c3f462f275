//! What is new in a collection, and the same as feeds.

use super::super::App;
use super::super::reply::{Refusal, Reply};
use super::super::route::Call;
use crate::changes;
use crawl::reader::{ChangeKind, Changes};
use crawl::units::Span;
use serde_json::json;
use std::time::Duration;
use store::archive::parse_rfc3339;
use types::Millis;

const USUAL: u64 = 50;
/// So far back unless somebody asks for more.
const WEEK: Duration = Duration::from_secs(7 * 86_400);
/// The same of a feed: readers come now and then.
const MONTH: Duration = Duration::from_secs(30 * 86_400);

fn found(app: &App, call: &Call, usual: Duration) -> Result<Changes, Refusal> {
    let volume = app.shelf.get(call.text("collection").unwrap_or(""))?;
    let ago = |d: Duration| Millis(Millis::now().0.saturating_sub(d.as_millis() as u64));
    let since = match call.words("since") {
        None => ago(usual),
        Some(text) => match (text.parse::<Span>(), parse_rfc3339(text)) {
            (Ok(span), _) => ago(span.0),
            (_, Some(at)) => at,
            _ => return Err(Refusal::bad("`since` is a duration (7d) or a date (2026-11-01)")),
        },
    };
    Ok(volume.view()?.reader.changes(since, call.flag("all").unwrap_or(false))?)
}

pub fn list(app: &App, call: &Call) -> Result<Reply, Refusal> {
    let changes = found(app, call, WEEK)?;
    let totals: serde_json::Map<String, serde_json::Value> =
        ChangeKind::ALL.iter().map(|k| (k.name().to_string(), json!(changes.of(*k).count()))).collect();
    let kind = call.words("kind");
    let limit = call.int("limit").unwrap_or(USUAL) as usize;
    let skip = call.skip()?;
    let wanted = changes.changes.iter().filter(|c| kind.is_none_or(|kind| c.kind.name() == kind));
    let mut shown: Vec<_> = wanted.skip(skip).take(limit + 1).collect();
    let next = (shown.len() > limit).then(|| (skip + limit).to_string());
    shown.truncate(limit);
    Ok(Reply::json(&json!({ "since": changes.since, "totals": totals, "changes": shown, "next": next })))
}

pub fn atom(app: &App, call: &Call) -> Result<Reply, Refusal> {
    let feed = changes::atom(&found(app, call, MONTH)?);
    Ok(Reply::new(200, "application/atom+xml; charset=utf-8", feed.into_bytes()))
}

pub fn json_feed(app: &App, call: &Call) -> Result<Reply, Refusal> {
    let feed = changes::json_feed(&found(app, call, MONTH)?);
    Ok(Reply::new(200, "application/feed+json; charset=utf-8", feed.into_bytes()))
}
