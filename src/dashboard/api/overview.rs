//! How collections stand, once and live.

use super::super::App;
use super::super::jobs::Phase;
use super::super::live::Hub;
use super::super::reply::{Refusal, Reply};
use super::super::route::Call;
use super::super::shelf::{View, Volume};
use super::finite;
use serde_json::{Value, json};
use std::time::Duration;
use types::Problem;

/// The pace is measured over this long.
const PACE: Duration = Duration::from_secs(30);
/// Newest pages told with the progress.
const NEWEST: usize = 8;
/// Commands shown.
const COMMANDS: usize = 12;

pub fn list(app: &App, _: &Call) -> Result<Reply, Refusal> {
    let mut out = Vec::new();
    for volume in app.shelf.all() {
        // One that cannot be read must not hide the others.
        out.push(match volume.view() {
            Ok(view) => json!({
                "name": volume.name,
                "title": view.reader.config().title(),
                "pages": view.rows.len(),
                "relevant": view.rows.relevant,
                "pending": view.queue.pending,
                "running": !matches!(state(&volume, &view).0, "stopped" | "paused"),
                "problem": null,
            }),
            Err(refusal) => json!({
                "name": volume.name, "title": volume.name, "pages": 0, "relevant": 0, "pending": 0, "running": false,
                "problem": refusal.problem.what(),
            }),
        });
    }
    Ok(Reply::json(&json!({ "collections": out })))
}

pub fn one(app: &App, call: &Call) -> Result<Reply, Refusal> {
    let volume = app.shelf.get(call.text("collection").unwrap_or(""))?;
    let view = volume.view()?;
    let s = view.reader.summary()?;
    let mut out = progress(&volume, &view)?;
    let config = view.reader.config();
    let bars: Vec<Value> = (view.queue.bars.iter())
        .map(|b| json!({ "from": finite(b.from), "to": finite(b.to), "urls": b.urls }))
        .collect();
    let outcomes: Vec<Value> =
        s.outcomes.iter().map(|(name, n)| json!({ "name": name, "count": n })).collect();
    let extra = json!({
        "title": config.title(),
        "urls": s.urls,
        "curve": s.curve,
        "frontier": bars,
        "outcomes": outcomes,
        "errors": counts(&s.errors),
        "refused": counts(&s.refused),
        "disk": { "ledger": s.ledger_bytes, "archive": s.archive_bytes, "index": s.index_bytes },
        "strategy": config.strategy.kind.as_deref().unwrap_or(focus::strategies::DEFAULT),
        "judge": config.judge.kind.as_deref().unwrap_or(focus::judges::DEFAULT),
        "workers": s.workers,
        "commands": commands(&view)?,
        "damage": view.reader.damage().map(|p| p.what().to_string()),
    });
    if let (Some(out), Value::Object(extra)) = (out.as_object_mut(), extra) {
        out.extend(extra);
    }
    Ok(Reply::json(&out))
}

/// What was asked of the workers of a shared crawl of late, and how many have done it.
fn commands(view: &View) -> Result<Vec<Value>, Refusal> {
    let shared = view.reader.ledger().shared();
    let asked = shared.map_or(Ok(Vec::new()), |shared| shared.commands(COMMANDS))?;
    let line = |c: store::CommandInfo| {
        json!({
            "n": c.n, "kind": c.kind, "what": crawl::steer::fleet::in_words(&c.kind, &c.payload), "who": c.who,
            "given": c.given, "applied": c.applied, "of": c.of, "changed": c.changed, "failure": c.failure,
        })
    };
    Ok(asked.into_iter().map(line).collect())
}

pub fn live(app: &App, call: &Call) -> Result<Reply, Refusal> {
    let volume = app.shelf.get(call.text("collection").unwrap_or(""))?;
    volume.view()?;
    let messages = Hub::listen(&volume, |volume| {
        let view = volume.view().ok()?;
        let data = serde_json::to_string(&progress(volume, &view).ok()?).ok()?;
        Some(format!("event: progress\ndata: {data}\n\n"))
    });
    Ok(Reply::live(messages))
}

fn counts(map: &std::collections::BTreeMap<String, u64>) -> Vec<Value> {
    let mut list: Vec<(&String, &u64)> = map.iter().collect();
    list.sort_by_key(|(name, n)| (std::cmp::Reverse(**n), name.to_string()));
    // Names of refusals hold words of the topic: bounded all the same.
    list.into_iter().take(40).map(|(name, n)| json!({ "name": name, "count": n })).collect()
}

/// What changes from moment to moment: small, because hundreds may listen.
pub fn progress(volume: &Volume, view: &View) -> Result<Value, Problem> {
    let rows = view.rows.all();
    let (pages, relevant) = (rows.len() as u64, view.rows.relevant);
    let now = types::Millis::now();
    let (state, controlled, told, problem) = state(volume, view);
    let running = !matches!(state, "stopped" | "paused");
    let since = now.0.saturating_sub(PACE.as_millis() as u64);
    let recent = rows.iter().rev().take_while(|r| r.fetched >= since).count();
    let first = rows.first().map_or(now.0, |r| r.fetched);
    let last = rows.last().map_or(first, |r| r.fetched);
    let window = (now.0.saturating_sub(first) as f64 / 1000.0).clamp(1.0, PACE.as_secs_f64());
    let rate = match &told {
        Some(p) if running => p.rate,
        _ if running => recent as f64 / window,
        _ => 0.0,
    };
    let elapsed = told.as_ref().filter(|_| running).map_or(last.saturating_sub(first), |p| p.elapsed_ms);
    let lately = rows.len().min(100);
    let lately_relevant = rows.iter().rev().take(lately).filter(|r| r.relevant).count();
    let harvest = if pages == 0 { 0.0 } else { relevant as f64 / pages as f64 };
    let outlook = view.outlook()?;
    let recall = outlook.and_then(|o| o.recall);
    let limits = &view.reader.config().limits;
    let newest: Vec<Value> = rows
        .iter()
        .rev()
        .take(NEWEST)
        .filter_map(|r| {
            let record = view.reader.record(r.id).ok().flatten()?;
            Some(json!({
                "id": r.id, "url": record.url, "title": record.title, "score": finite(record.assessment.score),
                "relevant": r.relevant,
            }))
        })
        .collect();
    let eta = running.then(|| eta(limits, pages, relevant, rate, harvest)).flatten();
    let h = view.queue.states;
    Ok(json!({
        "name": volume.name,
        "state": state,
        "controlled": controlled,
        "shared": volume.shared.is_some(),
        "paused": state == "paused" || view.reader.adjustments().paused,
        "problem": problem,
        "pages": pages,
        "relevant": relevant,
        "harvest": harvest,
        "recent_harvest": if lately == 0 { 0.0 } else { lately_relevant as f64 / lately as f64 },
        "recall": recall.map(|r| r.value),
        "recall_low": recall.map(|r| r.low),
        "recall_high": recall.map(|r| r.high),
        "expected": outlook.and_then(|o| o.remaining),
        "rate": rate,
        "pending": view.queue.pending,
        "hosts": { "active": h.active, "waiting": h.waiting, "blocked": h.blocked, "idle": h.idle },
        "threshold": threshold(view),
        "labelled": view.rows.labelled,
        "elapsed_ms": elapsed,
        "eta_ms": eta,
        "idle": told.filter(|p| !p.idle.is_empty() && state != "stopped").map(|p| p.idle),
        "budget": {
            "pages": limits.pages, "relevant": limits.relevant,
            "time_ms": limits.time.map(|t| t.0.as_millis() as u64),
        },
        "newest": newest,
    }))
}

/// One word for how it stands, whether it can be steered from here, what it tells of itself, and why it failed.
fn state(volume: &Volume, view: &View) -> (&'static str, bool, Option<crawl::Progress>, Option<String>) {
    if volume.shared.is_some() {
        return match (view.reader.is_running(), view.reader.adjustments().paused) {
            (false, _) => ("stopped", false, None, None),
            (true, paused) => (if paused { "paused" } else { "running" }, true, None, None),
        };
    }
    let locked = volume.is_locked();
    let Some(job) = volume.job() else {
        return (if locked { "running" } else { "stopped" }, false, None, None);
    };
    let now = job.now();
    match now.phase {
        // Open for corrections, fetching nothing.
        _ if job.is_editing() => ("stopped", true, None, None),
        Phase::Starting => ("starting", true, now.progress, None),
        Phase::Running => ("running", true, now.progress, None),
        Phase::Paused => ("paused", true, now.progress, None),
        Phase::Stopping => ("stopping", true, now.progress, None),
        Phase::Ended | Phase::Failed(_) if locked => ("running", false, None, None),
        Phase::Ended => ("stopped", true, None, None),
        Phase::Failed(p) => ("stopped", true, None, Some(p.to_string())),
    }
}

fn threshold(view: &View) -> Option<f64> {
    view.rows.all().last()?;
    view.reader.threshold().ok().and_then(finite)
}

/// Milliseconds to the nearest limit at the present pace.
fn eta(limits: &crawl::config::Limits, pages: u64, relevant: u64, rate: f64, harvest: f64) -> Option<u64> {
    if rate <= 0.0 {
        return None;
    }
    let by_pages = limits.pages.map(|most| most.saturating_sub(pages) as f64 / rate);
    let by_relevant = limits
        .relevant
        .filter(|_| harvest > 0.0)
        .map(|most| most.saturating_sub(relevant) as f64 / (rate * harvest));
    let least = [by_pages, by_relevant].into_iter().flatten().min_by(f64::total_cmp)?;
    Some((least.clamp(0.0, 1e9) * 1000.0) as u64)
}
