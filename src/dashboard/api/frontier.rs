//! What waits: the best pending URLs, and the hosts.

use super::super::App;
use super::super::queue::host_state;
use super::super::reply::{Refusal, Reply};
use super::super::route::Call;
use super::{finite, page};
use serde_json::{Value, json};
use store::Which;

const USUAL: u64 = 50;

pub fn best(app: &App, call: &Call) -> Result<Reply, Refusal> {
    let volume = app.shelf.get(call.text("collection").unwrap_or(""))?;
    let view = volume.view()?;
    let limit = call.int("limit").unwrap_or(USUAL) as usize;
    let ledger = view.reader.ledger();
    let host = match call.words("host") {
        Some(name) => match ledger.find_host(&name.to_lowercase())? {
            Some(host) => Some(host),
            None => return Ok(Reply::json(&json!({ "urls": [], "pending": view.queue.pending }))),
        },
        None => None,
    };
    let mut ids = Vec::new();
    match host {
        // A host may have nothing among the best of all.
        Some(h) => {
            let mut all = Vec::new();
            for entry in ledger.entries(Which::Pending) {
                let entry = entry?;
                if entry.host == Some(h) {
                    all.push((entry.priority, entry.id));
                }
            }
            all.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
            ids.extend(all.into_iter().take(limit).map(|(_, id)| id));
        }
        None => ids.extend(view.queue.best.iter().take(limit).map(|(_, id)| *id)),
    }
    let mut urls = Vec::new();
    for id in ids {
        // It may have been fetched since the look at the queue.
        let Some(info) = ledger.entry(id)?.filter(|e| e.state == ::frontier::State::Pending) else {
            continue;
        };
        let Some(url) = view.reader.url(id) else { continue };
        let e = view.explain(|e| e.sources(&view.reader, id))?;
        let sources: Vec<Value> = e
            .iter()
            .take(3)
            .map(|s| {
                let reasons: Vec<Value> = s
                    .reasons
                    .iter()
                    .take(12)
                    .map(|r| json!({ "label": r.label, "value": finite(r.value) }))
                    .collect();
                json!({ "parent": s.parent, "anchor": s.anchor, "priority": page::priority(s.priority), "reasons": reasons })
            })
            .collect();
        urls.push(json!({
            "id": id, "url": url, "priority": page::priority(info.priority), "depth": info.depth,
            "attempts": info.attempts, "seen": e.len(), "sources": sources,
        }));
    }
    Ok(Reply::json(&json!({ "urls": urls, "pending": view.queue.pending })))
}

pub fn hosts(app: &App, call: &Call) -> Result<Reply, Refusal> {
    let volume = app.shelf.get(call.text("collection").unwrap_or(""))?;
    let view = volume.view()?;
    let limit = call.int("limit").unwrap_or(USUAL) as usize;
    let part = call.words("q").map(str::to_lowercase);
    let skip = call.skip()?;
    let now = types::Millis::steady();
    let limits = crawl::collection::Collection::limits(view.reader.config());
    let mut all: Vec<(u32, ::frontier::HostInfo)> = (view.reader.ledger().hosts()?.into_iter().enumerate())
        .map(|(i, h)| (i as u32, h))
        .filter(|(_, h)| part.as_ref().is_none_or(|p| h.name.contains(p.as_str())))
        .collect();
    let pending = |i: u32| view.queue.hosts.get(i as usize).copied().unwrap_or((0, f64::NEG_INFINITY));
    let share = |i: u32| {
        let t = view.rows.host(i);
        // Laplace: one page of one is no better sign than nine of ten.
        (f64::from(t.relevant) + 1.0) / (f64::from(t.pages) + 2.0)
    };
    let down = std::cmp::Reverse::<u64>;
    match call.text("sort").unwrap_or("relevant") {
        "pages" => all.sort_by_key(|(i, h)| (down(view.rows.host(*i).pages.into()), h.name.clone())),
        "pending" => all.sort_by_key(|(i, h)| (down(pending(*i).0.into()), h.name.clone())),
        "share" => all.sort_by(|a, b| share(b.0).total_cmp(&share(a.0)).then(a.1.name.cmp(&b.1.name))),
        "failures" => all.sort_by_key(|(_, h)| {
            (down(u64::from(h.clock.failures) + u64::from(h.clock.robots_failures)), h.name.clone())
        }),
        "name" => all.sort_by(|a, b| a.1.name.cmp(&b.1.name)),
        _ => all.sort_by_key(|(i, h)| (down(view.rows.host(*i).relevant.into()), h.name.clone())),
    }
    let total = all.len();
    let rendered = crawl::rendering::by_host(&**view.reader.ledger())?;
    let hosts: Vec<Value> = all
        .iter()
        .skip(skip)
        .take(limit)
        .map(|(i, h)| {
            let t = view.rows.host(*i);
            let (waiting, best) = pending(*i);
            let robots = if h.robots.expires == 0 {
                "unknown"
            } else if h.robots.failed() {
                "unavailable"
            } else if h.robots.status >= 400 {
                "none"
            } else {
                "read"
            };
            json!({
                "host": h.name,
                "state": host_state(h, waiting, now),
                "pages": t.pages,
                "relevant": t.relevant,
                "share": if t.pages == 0 { None } else { Some(f64::from(t.relevant) / f64::from(t.pages)) },
                "mean_score": if t.pages == 0 { None } else { finite(t.score / f64::from(t.pages)) },
                "pending": waiting,
                "best_pending": finite(best),
                "robots": robots,
                "robots_status": h.robots.status,
                "robots_expires": h.robots.expires,
                "delay_ms": h.clock.delay(&limits),
                "next_allowed": h.clock.next_allowed,
                "failures": h.clock.failures,
                "rule": view.reader.adjustments().rule_of(&h.name),
                "address": h.clock.ip.map(|ip| ip.to_string()),
                "rendered": rendered.get(h.name.as_str()),
            })
        })
        .collect();
    let next = (skip + hosts.len() < total && !hosts.is_empty()).then(|| (skip + hosts.len()).to_string());
    Ok(Reply::json(&json!({ "hosts": hosts, "next": next, "total": total })))
}
