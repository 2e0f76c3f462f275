//! Counters of the server itself, and everything as Prometheus reads it. Labels are collection names and
//! short fixed words only, and of collections at most [`MOST`], so the number of series is bounded.

use super::App;
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};

/// Collections that get series of their own.
const MOST: usize = 50;

#[derive(Default)]
pub struct Counters {
    classes: [AtomicU64; 5],
}

impl Counters {
    pub fn answered(&self, status: u16) {
        let class = usize::from(status / 100).clamp(1, 5) - 1;
        self.classes[class].fetch_add(1, Ordering::Relaxed);
    }
}

struct Family {
    name: &'static str,
    kind: &'static str,
    help: &'static str,
    lines: String,
}

impl Family {
    fn new(name: &'static str, kind: &'static str, help: &'static str) -> Family {
        Family { name, kind, help, lines: String::new() }
    }
    fn add(&mut self, labels: &[(&str, &str)], value: f64) {
        let labels: Vec<String> = labels.iter().map(|(k, v)| format!("{k}=\"{}\"", escape(v))).collect();
        let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
        let _ = writeln!(self.lines, "{}{labels} {value}", self.name);
    }
}

fn escape(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// The text of `/metrics`.
pub fn text(app: &App) -> String {
    let mut requests =
        Family::new("gleaner_dashboard_requests_total", "counter", "Requests answered, by class of status.");
    for (i, n) in app.counters.classes.iter().enumerate() {
        requests.add(&[("class", &format!("{}xx", i + 1))], n.load(Ordering::Relaxed) as f64);
    }
    let mut listeners =
        Family::new("gleaner_dashboard_live_listeners", "gauge", "Clients on live streams, by collection.");
    let mut pages = Family::new("gleaner_pages_total", "counter", "Pages fetched and judged.");
    let mut relevant = Family::new("gleaner_relevant_pages", "gauge", "Pages that are relevant now.");
    let mut urls = Family::new("gleaner_urls", "gauge", "URLs known, by state.");
    let mut hosts = Family::new("gleaner_hosts", "gauge", "Hosts, by state.");
    let mut outcomes = Family::new("gleaner_outcomes_total", "counter", "Settled URLs, by outcome.");
    let mut bytes = Family::new("gleaner_disk_bytes", "gauge", "Bytes on disk, by what.");
    let mut running = Family::new("gleaner_running", "gauge", "1 while a crawl writes to the collection.");
    for volume in app.shelf.all().iter().take(MOST) {
        let c = ("collection", volume.name.as_str());
        listeners.add(&[c], volume.hub.listeners() as f64);
        let Ok(view) = volume.view() else { continue };
        let Ok(s) = view.reader.summary() else { continue };
        pages.add(&[c], s.pages as f64);
        relevant.add(&[c], view.rows.relevant as f64);
        urls.add(&[c, ("state", "pending")], s.pending as f64);
        urls.add(&[c, ("state", "settled")], s.urls.saturating_sub(s.pending) as f64);
        let h = view.queue.states;
        for (state, n) in
            [("active", h.active), ("waiting", h.waiting), ("blocked", h.blocked), ("idle", h.idle)]
        {
            hosts.add(&[c, ("state", state)], n as f64);
        }
        for (outcome, n) in &s.outcomes {
            outcomes.add(&[c, ("outcome", outcome)], *n as f64);
        }
        for (what, n) in [("ledger", s.ledger_bytes), ("archive", s.archive_bytes), ("index", s.index_bytes)]
        {
            bytes.add(&[c, ("what", what)], n as f64);
        }
        running.add(&[c], f64::from(u8::from(s.running)));
    }
    let mut up =
        Family::new("gleaner_dashboard_uptime_seconds", "gauge", "Seconds since the dashboard started.");
    up.add(&[], app.started.elapsed().as_secs_f64().floor());
    let mut out = String::new();
    for f in [up, requests, listeners, pages, relevant, urls, hosts, outcomes, bytes, running] {
        let _ = write!(out, "# HELP {} {}\n# TYPE {} {}\n{}", f.name, f.help, f.name, f.kind, f.lines);
    }
    out
}
