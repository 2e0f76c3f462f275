//! A long crawl of a web that never ends and always has faults: memory, file descriptors and disk grow with
//! the pages and not with time, and the last hour is as polite as the first.
//!
//! Time runs 32 times as fast: a pause that is a second in life takes 31 ms here, so that fifteen minutes are
//! eight hours. The short form takes a few seconds. `GLEANER_LONG=1` takes fifteen minutes;
//! `GLEANER_SOAK=SECONDS` as long as it says. The table it prints is that of docs/hostile.md.

use crate::common::endurance::polite;
use crate::common::{Running, crawl, file, finish, folder, gleaner, long};
use madeup::{Ask, Behaviour, Entry, Log, Reply, Server};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

const SPEED: u64 = 32;
/// A second between two requests to a host.
const DELAY_MS: u64 = 1_000 / SPEED;
const HOSTS: u64 = 8;
/// Rows of the table.
const SAMPLES: u32 = 16;

fn chance(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z ^ (z >> 27)
}

fn url(n: u64) -> String {
    format!("http://host{0}.site{0}.example/{n}", n % HOSTS)
}

/// Page `n` leads to two new ones and some old ones. Twelve of a hundred requests meet a fault; most of them
/// pass.
fn web(ask: &Ask) -> Reply {
    if ask.path == "/robots.txt" {
        return Reply::text(200, "User-agent: *\nDisallow: /private\n");
    }
    let n: u64 = ask.path.trim_start_matches('/').parse().unwrap_or(0);
    let dice = chance(n);
    let first = ask.earlier == 0;
    match dice % 100 {
        0 if first => return Reply::text(503, "not now"),
        1 if first => return Reply { behaviour: Behaviour::Drop, ..Reply::html("") },
        2 | 3 if n > 0 => return Reply::not_found(),
        4 if n > 0 => return Reply::redirect(302, &url(n / 2)),
        5 if n > 0 => return Reply::text(500, "broken for ever"),
        _ => {}
    }
    let words = [
        "river", "garden", "sql", "joins", "house", "street", "index", "paper", "tables", "music", "window",
        "query",
    ];
    let mut text = format!("<title>Page {n}</title><p>");
    for i in 0..150 {
        text += words[(chance(n * 1_000 + i) % words.len() as u64) as usize];
        text += if i % 12 == 11 { ". " } else { " " };
    }
    text += &format!("{dice:x} <a href='/private/{n}'>hidden</a> ");
    for next in [2 * n + 1, 2 * n + 2, n / 2, n / 3, n + HOSTS] {
        text += &format!("<a href='{}'>page {next}</a> ", url(next));
    }
    let reply = Reply { gzip: dice.is_multiple_of(3), ..Reply::html(text) };
    match dice % 100 {
        6 if first => Reply { behaviour: Behaviour::Cut(300), ..reply },
        7..=9 => Reply { delay_ms: 200, ..reply },
        10 | 11 => reply.with("content-type", "text/html; charset=no-such-charset"),
        _ => reply,
    }
}

/// How the program stands at a moment.
#[derive(Clone, Copy, Default)]
struct Sample {
    at: Duration,
    answers: u64,
    megabytes: f64,
    files: usize,
    ledger: u64,
    archive: u64,
    index: u64,
}

impl Sample {
    fn disk(&self) -> u64 {
        self.ledger + self.archive + self.index
    }
}

fn bytes(path: &Path) -> u64 {
    let Ok(found) = path.symlink_metadata() else { return 0 };
    match found.is_dir() {
        true => fs::read_dir(path).into_iter().flatten().flatten().map(|e| bytes(&e.path())).sum(),
        false => found.len(),
    }
}

fn look(pid: u32, out: &Path, at: Duration, answers: u64) -> Option<Sample> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let kilobytes: f64 =
        status.lines().find_map(|l| l.strip_prefix("VmRSS:"))?.trim().split(' ').next()?.parse().ok()?;
    let files = fs::read_dir(format!("/proc/{pid}/fd")).ok()?.count();
    let all = bytes(out);
    let (archive, index) = (bytes(&out.join("warc")), bytes(&out.join("index")));
    Some(Sample {
        at,
        answers,
        megabytes: kilobytes / 1024.0,
        files,
        ledger: all - archive - index,
        archive,
        index,
    })
}

/// Pauses between the end of an answer and the next request to the same host, in milliseconds, in order.
fn pauses(log: &[Entry]) -> Vec<u64> {
    let mut last: BTreeMap<&str, (u64, bool)> = BTreeMap::new();
    let mut all = Vec::new();
    let mut log: Vec<&Entry> = log.iter().collect();
    log.sort_by_key(|e| e.arrived);
    for e in log {
        let closed = e.status == 0;
        if let Some((end, false)) = last.insert(&e.host, (e.finished, closed)) {
            all.push(e.arrived.saturating_sub(end));
        }
    }
    all.sort_unstable();
    all
}

#[test]
fn a_long_crawl_grows_with_its_pages_and_stays_polite() {
    let asked = std::env::var("GLEANER_SOAK").ok().and_then(|n| n.parse().ok());
    let seconds = asked.unwrap_or(if long() { 900 } else { 8 });
    let dir = folder();
    let out = dir.path().join("out");
    let answers: Arc<AtomicU64> = Arc::default();
    let counted = {
        let answers = answers.clone();
        move |ask: &Ask| {
            let reply = web(ask);
            answers.fetch_add(u64::from(reply.status == 200), Ordering::SeqCst);
            reply
        }
    };
    let server = Server::start(counted, "127.0.0.1:0".parse().unwrap(), Log::in_memory()).unwrap();
    // Retries and rests are as much faster as everything else.
    let topic = format!(
        "name = \"soak\"\nquery = \"sql joins tables\"\n[fetch]\ndelay = \"{DELAY_MS}ms\"\nattempts = 3\nsitemaps = false\n\
         [limits]\ntime = \"{seconds}s\"\n[archive]\nfile_size = \"4MB\"\n"
    );
    let topic = file(dir.path(), "t.toml", &topic);
    let mut command = crawl(&server, &topic, &out);
    command.args(["--seed", &url(0), "--concurrency", &HOSTS.to_string()]);
    let began = Instant::now();
    let mut running = Running::start(&mut command);
    let (pid, every) = (running.child.id(), Duration::from_secs(seconds) / SAMPLES);
    let mut samples: Vec<Sample> = Vec::new();
    while running.child.try_wait().unwrap().is_none() {
        std::thread::sleep(every.min(Duration::from_millis(200)));
        let due = samples.last().map_or(every, |s: &Sample| s.at + every);
        if began.elapsed() >= due {
            samples.extend(look(pid, &out, began.elapsed(), answers.load(Ordering::SeqCst)));
        }
    }
    let ran = running.wait();
    ran.ok();
    finish(gleaner().arg("check").arg(&out)).ok().shows(&["nothing is wrong"]);

    let log = server.log().entries();
    // A kept line that is closed as it is used, without an answer: the request is sent once more at once.
    polite(&log, DELAY_MS, |a, b| if a.status == 0 && a.path == b.path { 0 } else { a.finished });
    let row = |s: &Sample| {
        let kb = |n: u64| n as f64 / 1e3 / s.answers.max(1) as f64;
        println!(
            "| {:.1} h | {} | {:.0} MB | {} | {:.1} | {:.1} | {:.1} |",
            s.at.as_secs_f64() * SPEED as f64 / 3600.0,
            s.answers,
            s.megabytes,
            s.files,
            kb(s.ledger),
            kb(s.archive),
            kb(s.index)
        );
    };
    println!(
        "| after | pages | memory | open files | KB of ledger a page | of archive | of index |\n|---|---|---|---|---|---|---|"
    );
    samples.iter().for_each(row);
    println!(
        "\n| quarter | requests | pause of one host, least | median | 99 of 100 |\n|---|---|---|---|---|"
    );
    let (start, end) =
        (log.iter().map(|e| e.arrived).min().unwrap(), log.iter().map(|e| e.arrived).max().unwrap());
    for quarter in 0..4 {
        let edge = |n: u64| start + (end + 1 - start) * n / 4;
        let part: Vec<Entry> =
            log.iter().filter(|e| (edge(quarter)..edge(quarter + 1)).contains(&e.arrived)).cloned().collect();
        let all = pauses(&part);
        let at = |share: usize| all.get(all.len().saturating_sub(1) * share / 100).copied().unwrap_or(0);
        println!("| {} | {} | {} ms | {} ms | {} ms |", quarter + 1, part.len(), at(0), at(50), at(99));
    }
    let faults = log.iter().filter(|e| e.status != 200 || !e.whole).count();
    println!("\n{} requests, {faults} of them met a fault", log.len());

    // Of a machine that was too busy to crawl nothing can be said.
    let (half, last) = (samples[samples.len() / 2], samples[samples.len() - 1]);
    let more = last.answers.saturating_sub(half.answers) as f64;
    assert!(last.answers > 50 && faults > 0, "{} pages, {faults} faults", last.answers);
    let files = |all: &[Sample]| all.iter().map(|s| s.files).max().unwrap_or(0);
    let (early, late) = samples.split_at(samples.len() / 2);
    assert!(files(late) <= files(early) + 16, "open files: {} then {}", files(early), files(late));
    // The order of what waits and the features of what was judged are in memory: some kilobytes a page, and
    // what is noise.
    let grown = last.megabytes - half.megabytes;
    assert!(grown <= 48.0 + more * 6.0 / 1024.0, "{grown:.0} MB more for {more} pages");
    // An index merges now and then: it may be twice as large for a moment.
    let (then, now) =
        (half.disk() as f64 / half.answers.max(1) as f64, last.disk() as f64 / last.answers as f64);
    assert!(now <= 2.0 * then, "{then:.0} bytes a page at half-time, {now:.0} at the end");
}
