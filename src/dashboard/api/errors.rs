//! URLs that gave no page.

use super::super::App;
use super::super::reply::{Refusal, Reply};
use super::super::route::Call;
use serde_json::json;

const USUAL: u64 = 50;

pub fn list(app: &App, call: &Call) -> Result<Reply, Refusal> {
    let volume = app.shelf.get(call.text("collection").unwrap_or(""))?;
    let view = volume.view()?;
    let limit = call.int("limit").unwrap_or(USUAL) as usize;
    let skip = call.skip()?;
    let mut misses = view.reader.misses(call.words("kind"), skip, limit + 1)?;
    let more = misses.len() > limit;
    misses.truncate(limit);
    let next = more.then(|| (skip + limit).to_string());
    Ok(Reply::json(&json!({ "misses": misses, "next": next })))
}
