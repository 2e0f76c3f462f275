//! Backtest results in the folder, for side-by-side views.

use super::super::App;
use super::super::reply::{Refusal, Reply};
use super::super::route::Call;
use eval::results::{ALL, Results};
use serde_json::{Value, json};
use std::path::PathBuf;
use types::Problem;

/// Largest results.json that is read.
const LARGEST: u64 = 64 << 20;

/// Folders with a results.json: the folder itself, and those in it.
fn found(app: &App) -> Vec<(String, PathBuf)> {
    let shelf = &app.shelf;
    let mut out = Vec::new();
    let own = shelf.root().join("results.json");
    if own.is_file() {
        out.push(("results".to_string(), own));
    }
    for (name, dir) in shelf.folders() {
        let file = dir.join("results.json");
        if file.is_file() {
            out.push((name, file));
        }
    }
    out
}

pub fn list(app: &App, _: &Call) -> Result<Reply, Refusal> {
    let names: Vec<String> = found(app).into_iter().map(|(name, _)| name).collect();
    Ok(Reply::json(&json!({ "backtests": names })))
}

pub fn one(app: &App, call: &Call) -> Result<Reply, Refusal> {
    let name = call.text("backtest").unwrap_or("");
    let (_, file) = found(app)
        .into_iter()
        .find(|(n, _)| n == name)
        .ok_or_else(|| Refusal::not_found(format!("there is no backtest `{name}`")))?;
    if std::fs::metadata(&file).map_or(0, |m| m.len()) > LARGEST {
        return Err(Refusal::conflict(Problem::new("this results.json is too large to show")));
    }
    let results = Results::load(&file).map_err(Refusal::conflict)?;
    let summary: Vec<Value> = (results.summary.iter())
        .map(|s| {
            json!({
                "topic": s.topic, "all": s.topic == ALL, "strategy": s.strategy, "auc": s.auc_mean, "low": s.auc_low,
                "high": s.auc_high, "normalised": s.normalised_auc_mean, "harvest": s.harvest_mean, "runs": s.runs,
            })
        })
        .collect();
    // One curve per topic and strategy: the first run's.
    let mut met = std::collections::HashSet::new();
    let curves: Vec<Value> = (results.runs.iter())
        .filter(|r| met.insert((r.topic.clone(), r.strategy.clone())))
        .map(|r| {
            json!({
                "topic": r.topic, "strategy": r.strategy, "recall": r.recall, "reachable": r.reachable,
                "relevant": r.relevant_reachable,
            })
        })
        .collect();
    Ok(Reply::json(&json!({ "name": name, "web": results.web, "summary": summary, "curves": curves })))
}
