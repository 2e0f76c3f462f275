//! URLs that gave no page, and asking for them again.

use super::super::App;
use super::super::reply::{Refusal, Reply};
use super::super::route::Call;
use super::control::command;
use crawl::reader::MissFilter;
use crawl::steer::Command;
use serde::Deserialize;
use serde_json::json;
use types::UrlId;

const USUAL: u64 = 50;
/// URLs named in one request.
const MOST: usize = 10_000;

pub fn list(app: &App, call: &Call) -> Result<Reply, Refusal> {
    let volume = app.shelf.get(call.text("collection").unwrap_or(""))?;
    let view = volume.view()?;
    let limit = call.int("limit").unwrap_or(USUAL) as usize;
    let skip = call.skip()?;
    let filter = MissFilter { kind: call.words("kind"), host: call.words("host") };
    let mut misses = view.reader.misses(filter, skip, limit + 1)?;
    let more = misses.len() > limit;
    misses.truncate(limit);
    let next = more.then(|| (skip + limit).to_string());
    Ok(Reply::json(&json!({ "misses": misses, "next": next })))
}

/// Either the URLs themselves, or those that the list would show.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Retry {
    #[serde(default)]
    ids: Vec<u32>,
    kind: Option<String>,
    host: Option<String>,
}

pub fn retry(app: &App, call: &Call) -> Result<Reply, Refusal> {
    let volume = app.shelf.get(call.text("collection").unwrap_or(""))?;
    let Retry { ids, kind, host } = call.body()?;
    if ids.len() > MOST {
        return Err(Refusal::bad(format!("at most {MOST} URLs at once")));
    }
    let ids: Vec<UrlId> = if ids.is_empty() {
        let filled = |text: &Option<String>| {
            text.as_deref().map(str::trim).filter(|t| !t.is_empty()).map(String::from)
        };
        let (kind, host) = (filled(&kind), filled(&host));
        let filter = MissFilter { kind: kind.as_deref(), host: host.as_deref() };
        volume.view()?.reader.missed_ids(filter)?
    } else {
        let view = volume.view()?;
        let ids: Vec<UrlId> = ids.into_iter().map(UrlId).collect();
        for id in &ids {
            if view.reader.ledger().entry(*id)?.is_none() {
                return Err(Refusal::not_found(format!("there is no URL with number {}", id.0)));
            }
        }
        ids
    };
    command(app, &volume, Command::Retry(ids), true)
}
