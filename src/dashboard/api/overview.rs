//! How collections stand, once and live.

use super::super::App;
use super::super::jobs::Phase;
use super::super::live::Hub;
use super::super::reply::{Refusal, Reply};
use super::super::route::Call;
use super::super::shelf::{View, Volume};
use super::finite;
use crawl::Stop;
use crawl::reader::Summary;
use serde_json::{Value, json};
use std::time::Duration;
use types::{Problem, UrlId};

/// The pace is measured over this long.
const PACE: Duration = Duration::from_secs(30);
/// Newest pages told with the progress.
const NEWEST: usize = 8;
/// Points of a card's curve.
const TREND: usize = 40;
/// Commands shown.
const COMMANDS: usize = 12;

pub fn list(app: &App, _: &Call) -> Result<Reply, Refusal> {
    let mut out = Vec::new();
    for volume in app.shelf.all() {
        // One that cannot be read must not hide the others.
        out.push(match volume.view() {
            Ok(view) => {
                let state = state(&volume, &view).0;
                json!({
                    "name": volume.name,
                    "title": view.reader.config().title(),
                    "pages": view.rows.len(),
                    "relevant": view.rows.relevant,
                    "pending": view.queue.pending,
                    "running": is_running(state),
                    "problem": null,
                    "stopped": why_stopped(&view, state),
                    "began": view.rows.all().first().map(|r| r.fetched),
                    "fetched": view.rows.all().last().map(|r| r.fetched),
                    "trend": trend(&view),
                })
            }
            Err(refusal) => json!({
                "name": volume.name, "title": volume.name, "pages": 0, "relevant": 0, "pending": 0, "running": false,
                "problem": refusal.problem.what(), "stopped": null, "began": null, "fetched": null, "trend": [],
            }),
        });
    }
    Ok(Reply::json(&json!({ "collections": out })))
}

/// A curve small enough for a card.
fn trend(view: &View) -> Vec<(u64, u64)> {
    let points = view.rows.curve.points();
    let step = points.len().div_ceil(TREND).max(1);
    let last = points.last().filter(|_| !(points.len() - 1).is_multiple_of(step));
    points.iter().step_by(step).chain(last).copied().collect()
}

fn is_running(state: &str) -> bool {
    !matches!(state, "stopped" | "paused")
}

/// Why nothing is fetched any more; of a crawl that runs, nothing.
fn why_stopped(view: &View, state: &str) -> Option<String> {
    view.reader.why_stopped().filter(|_| state == "stopped")
}

/// The limit that ended the last run: it can be raised.
fn reached(view: &View) -> Option<&'static str> {
    match view.reader.session()?.ended.as_ref()?.stop {
        Stop::Pages => Some("pages"),
        Stop::Relevant => Some("relevant"),
        Stop::Time => Some("time"),
        Stop::Requests => Some("requests"),
        Stop::Exhausted | Stop::User | Stop::Pauses | Stop::Refreshed | Stop::Disk | Stop::DiskFull => None,
    }
}

/// What a list of finds says of a page.
fn find(view: &View, id: UrlId) -> Option<Value> {
    let record = view.reader.record(id).ok().flatten()?;
    Some(json!({
        "id": id, "url": record.url, "title": record.title, "score": finite(record.assessment.score),
        "relevant": view.rows.get(id).is_some_and(|r| r.relevant),
    }))
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
        "strategy": set(&s, "strategy"),
        "judge": set(&s, "judge"),
        "settings": s.settings,
        "best": view.rows.best(NEWEST).into_iter().filter_map(|id| find(&view, id)).collect::<Vec<_>>(),
        "began": s.session.as_ref().map(|run| run.began),
        "ended": s.session.as_ref().and_then(|run| run.ended.as_ref()).map(|end| end.at),
        "version": s.session.as_ref().map(|run| run.version.clone()),
        "workers": s.workers,
        "commands": commands(&view)?,
        "timings": state(&volume, &view).2.map_or(Vec::new(), |p| p.timings),
        "damage": view.reader.damage().map(|p| p.what().to_string()),
    });
    if let (Some(out), Value::Object(extra)) = (out.as_object_mut(), extra) {
        out.extend(extra);
    }
    Ok(Reply::json(&out))
}

/// A setting that is in force.
fn set(summary: &Summary, name: &str) -> String {
    let found = summary.settings.iter().find(|s| s.name == name);
    found.map_or(String::new(), |s| s.value.clone())
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
    let running = is_running(state);
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
    let finds = |relevant: bool| -> Vec<Value> {
        let newest = rows.iter().rev().filter(|r| !relevant || (r.relevant && !r.folded));
        newest.take(NEWEST).filter_map(|r| find(view, r.id)).collect()
    };
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
        "newest": finds(false),
        "found": finds(true),
        "stopped": why_stopped(view, state),
        "limit": reached(view).filter(|_| state == "stopped"),
    }))
}

/// One word for how it stands, whether it can be steered from here, what it tells of itself, and why it
/// failed.
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
