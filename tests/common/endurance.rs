//! What the tests that disturb a crawl share: the demo's web crawled to its end, and whether it was done
//! politely by the server's own log.

use super::{DemoServer, Ran, gleaner};
use madeup::{Entry, STRICT, TOPIC};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

/// Both clocks, the crawler's and the server's, count whole milliseconds.
const GRAIN_MS: u64 = 2;

/// The demo's topic, to be crawled to the end. What never ends (a host whose robots.txt cannot be had, pages
/// that fail for ever) is left out, so that the end comes soon; what fails at first stays in.
pub fn topic() -> String {
    format!(
        r#"{TOPIC}{STRICT}
[scope]
hosts = {{ deny = ["closed.stonewall.example"] }}
patterns = {{ deny = ["/lab/(error|unavailable|cut|dropped)"] }}
[limits]
per_host = 150
[fetch]
attempts = 6
"#
    )
}

pub fn crawl(server: &DemoServer, topic: &Path, out: &Path, delay_ms: u64, concurrency: u64) -> Command {
    let mut command = gleaner();
    command.arg("crawl").arg(topic).arg("--out").arg(out);
    command.args(["--resolve", &server.resolve(), "--allow-private", "--json"]);
    command.args(["--delay", &format!("{delay_ms}ms"), "--concurrency", &concurrency.to_string()]);
    command
}

pub fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as u64
}

/// One request at a time per host, and a pause between the end of one and the start of the next, robots.txt
/// included. `end` says when the first of two requests was over, which for one that was cut short the server
/// cannot know. Returns how many hosts were visited.
pub fn polite(log: &[Entry], delay_ms: u64, end: impl Fn(&Entry, &Entry) -> u64) -> usize {
    let mut hosts: BTreeMap<&str, Vec<&Entry>> = BTreeMap::new();
    for e in log {
        hosts.entry(&e.host).or_default().push(e);
    }
    let visited = hosts.len();
    for (host, mut all) in hosts {
        all.sort_by_key(|e| e.arrived);
        assert_eq!(all[0].path, "/robots.txt", "{host}: the first request");
        let delay = if host == "gentle.brookside.example" { 1000 } else { delay_ms };
        for pair in all.windows(2) {
            let [a, b] = pair else { unreachable!() };
            // Until the answer to robots.txt is kept, nobody can know its Crawl-delay.
            let delay = if b.path == "/robots.txt" { delay_ms } else { delay };
            let from = end(a, b);
            assert!(
                b.arrived + GRAIN_MS >= from + delay,
                "{host}: {} ms between {} of {} (arrived {}, finished {}) and {} of {} ({})",
                b.arrived as i64 - from as i64,
                a.path,
                a.agent,
                a.arrived,
                a.finished,
                b.path,
                b.agent,
                b.arrived
            );
        }
    }
    visited
}

/// The URLs of an export as JSON lines.
pub fn urls(exported: &Ran) -> BTreeSet<String> {
    let url = |line: &str| {
        let v: serde_json::Value = serde_json::from_str(line).unwrap();
        v["url"].as_str().unwrap().to_string()
    };
    exported.ok().out.lines().map(url).collect()
}
