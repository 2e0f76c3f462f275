//! What each address answers. One file per area; each handler is a function from a request to a reply.

pub mod changes;
pub mod compare;
pub mod control;
pub mod errors;
pub mod export;
pub mod frontier;
pub mod overview;
pub mod page;
pub mod pages;
pub mod search;
pub mod teach;
pub mod topic;
pub mod trial;

use super::App;
use super::reply::{Refusal, Reply};
use super::route::Call;
use serde_json::json;

pub fn document(_: &App, _: &Call) -> Result<Reply, Refusal> {
    Ok(Reply::json(&super::openapi::document()))
}

pub fn metrics(app: &App, _: &Call) -> Result<Reply, Refusal> {
    let mut reply = Reply::text(super::metrics::text(app));
    reply.content_type = "text/plain; version=0.0.4";
    Ok(reply)
}

pub fn health(app: &App, _: &Call) -> Result<Reply, Refusal> {
    // Alive means: it can still see its folder.
    if !app.shelf.is_shared() && std::fs::read_dir(app.shelf.root()).is_err() {
        let problem = types::Problem::new("the folder of collections cannot be read");
        return Err(Refusal::new(503, problem));
    }
    Ok(Reply::json(&json!({ "status": "ok", "version": env!("CARGO_PKG_VERSION") })))
}

/// A number that JSON can hold.
pub fn finite(x: f64) -> Option<f64> {
    x.is_finite().then_some(x)
}
