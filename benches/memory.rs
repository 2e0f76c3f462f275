//! Is the memory of a long crawl flat? A generated web through the real loop: extraction, judge, strategy,
//! ledger on disk, archive, search index; only the network and the clock are made up.
//!
//! ```text
//! cargo bench --bench memory                        # 200,000 pages; resident size at 50,000 and at the end
//! cargo bench --bench memory -- --pages 40k --dir /tmp/x --strategy best-first
//! ```
//!
//! "Frontier aside": the ledger of the same moment is opened alone, in a process of its own, and what that
//! process needs for it is subtracted. Both numbers are printed.
//!
//! The search index gathers pages in memory and writes them out now and then, so that one look says little:
//! what counts is the mean of all looks (one per 500 pages) since 10,000 pages ago, and the highest of them
//! is printed beside it.

use crawl::collection::Collection;
use crawl::{Arrival, Config, Step};
use eval::webs::SimWeb;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Instant;
use types::{Millis, Problem};

/// As often as a live crawl would at some hundred pages a second.
const SYNC_EVERY: u64 = 500;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let value = |name: &str| args.iter().position(|a| a == name).and_then(|i| args.get(i + 1)).cloned();
    let done = match value("--ledger") {
        Some(dir) => ledger_alone(Path::new(&dir)),
        None => long_crawl(
            value("--pages").map_or(200_000, |n| number(&n)),
            value("--dir").map(PathBuf::from),
            value("--strategy"),
        ),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("{problem}");
            ExitCode::FAILURE
        }
    }
}

fn number(text: &str) -> u64 {
    let (digits, factor) = match text.strip_suffix(['k', 'K']) {
        Some(d) => (d, 1000),
        None => (text, 1),
    };
    digits.parse::<u64>().map_or(200_000, |n| n * factor)
}

/// Looks that count for one moment.
const LOOKS: usize = 20;

/// What the crawl needed lately.
struct Moment {
    pages: u64,
    urls: u64,
    /// Mean and highest.
    resident: f64,
    peak: f64,
    /// Without mapped files (the search index's, which the system may drop at any time).
    anonymous: f64,
    ledger: f64,
}

/// Resident and anonymous size, most recent last.
#[derive(Default)]
struct Looks(VecDeque<[f64; 2]>);

impl Looks {
    fn look(&mut self) {
        self.0.push_back([memory("VmRSS:"), memory("RssAnon:")]);
        if self.0.len() > LOOKS {
            self.0.pop_front();
        }
    }
    fn mean(&self, i: usize) -> f64 {
        self.0.iter().map(|l| l[i]).sum::<f64>() / self.0.len().max(1) as f64
    }
    fn peak(&self) -> f64 {
        self.0.iter().map(|l| l[0]).fold(0.0, f64::max)
    }
}

fn long_crawl(pages: u64, dir: Option<PathBuf>, strategy: Option<String>) -> Result<(), Problem> {
    let temp = tempfile::tempdir().map_err(|e| Problem::new("no temporary folder").because(e))?;
    let dir = dir.unwrap_or_else(|| temp.path().join("collection"));
    // Some pages more than are wanted, so that there is a frontier to the end.
    let spec = format!("sim:mixed?pages={}&hosts={}", pages + pages / 4, (pages / 100).max(10));
    let web = SimWeb::open(&spec)?;
    let mut flags = toml::Table::new();
    let mut section = |name: &str, key: &str, value: toml::Value| {
        let entry = flags.entry(name).or_insert_with(|| toml::Table::new().into());
        if let Some(t) = entry.as_table_mut() {
            t.insert(key.into(), value);
        }
    };
    section("limits", "pages", toml::Value::Integer(pages as i64));
    section("fetch", "delay", "0ms".into());
    section("fetch", "robots", false.into());
    section("fetch", "allow_private", true.into());
    section("fetch", "resolve", vec!["*:127.0.0.1:9".to_string()].into());
    if let Some(strategy) = strategy {
        section("strategy", "kind", strategy.into());
    }
    let loaded = Config::load(&web.topic_toml(), "the generated topic", flags)?;
    let seeds = web.seeds();
    let mut open = Collection::open(&dir, &loaded, &seeds, 0)?;
    open.start(&seeds, Millis(0))?;
    println!(
        "memory: {spec}, strategy {}, judge {}, archive and index on\n",
        open.crawl.parts().strategy_name,
        open.crawl.parts().judge_name
    );
    println!(
        "| pages | URLs known | resident MB | highest | anonymous MB | ledger alone MB | frontier aside MB \
         | seconds |"
    );
    println!("|---:|---:|---:|---:|---:|---:|---:|---:|");

    let started = Instant::now();
    let marks = [pages / 8, pages / 4, pages / 2, pages * 3 / 4, pages];
    let mut moments: Vec<Moment> = Vec::new();
    let mut looks = Looks::default();
    let mut now = Millis(0);
    let mut synced = 0;
    loop {
        match open.crawl.next(now)? {
            Step::Fetch(lease) => {
                let mut fetched = web.answer(&lease.url);
                now = Millis(now.0 + 3);
                fetched.started = now;
                let analysis = open.analyst.analyse(&fetched);
                open.crawl.arrived(Arrival { lease: *lease, fetched, analysis, attempt: None }, now)?;
                open.crawl.commit()?;
                if open.crawl.pages() >= synced + SYNC_EVERY {
                    synced = open.crawl.pages();
                    open.crawl.sync()?;
                    looks.look();
                }
            }
            Step::Wait { until, .. } => now = now.max(until),
            Step::Busy | Step::Ending => return Err(Problem::new("the crawl waits for nothing")),
            Step::Done(_) => break,
        }
        if marks.get(moments.len()).is_some_and(|m| open.crawl.pages() >= *m) {
            moments.push(moment(&mut open.crawl, &looks, &dir, started)?);
        }
    }
    if moments.len() < marks.len() {
        moments.push(moment(&mut open.crawl, &looks, &dir, started)?);
    }
    let (Some(quarter), Some(end)) = (moments.get(1), moments.last()) else {
        return Err(Problem::new("the crawl ended before a quarter of the pages"));
    };
    let aside = |m: &Moment| m.resident - m.ledger;
    let ratio = aside(end) / aside(quarter);
    // A short run shows that it works; the target is about a long one.
    let target = match (end.pages >= 200_000, ratio <= 1.3) {
        (false, _) => "too short for the target",
        (true, true) => "target ≤ 1.30 met",
        (true, false) => "target ≤ 1.30 MISSED",
    };
    println!(
        "\nat {} pages against {}: {ratio:.2} × frontier aside ({target}), {:.2} × in all, {:.2} × by the \
         highest",
        end.pages,
        quarter.pages,
        end.resident / quarter.resident,
        (end.peak - end.ledger) / (quarter.peak - quarter.ledger)
    );
    Ok(())
}

fn moment(crawl: &mut crawl::Crawl, looks: &Looks, dir: &Path, started: Instant) -> Result<Moment, Problem> {
    crawl.sync()?;
    let m = Moment {
        pages: crawl.pages(),
        urls: crawl.parts().ledger.stats()?.urls,
        resident: looks.mean(0),
        peak: looks.peak(),
        anonymous: looks.mean(1),
        ledger: ask_child(dir)?,
    };
    println!(
        "| {} | {} | {:.1} | {:.1} | {:.1} | {:.1} | {:.1} | {:.0} |",
        m.pages,
        m.urls,
        m.resident,
        m.peak,
        m.anonymous,
        m.ledger,
        m.resident - m.ledger,
        started.elapsed().as_secs_f64()
    );
    Ok(m)
}

fn ask_child(dir: &Path) -> Result<f64, Problem> {
    let failed = |why: String| Problem::new("cannot measure the ledger alone").because(why);
    let me = std::env::current_exe().map_err(|e| failed(e.to_string()))?;
    let out = Command::new(me).arg("--ledger").arg(dir).output().map_err(|e| failed(e.to_string()))?;
    let text = String::from_utf8_lossy(&out.stdout);
    text.trim().parse().map_err(|_| failed(String::from_utf8_lossy(&out.stderr).into_owned()))
}

/// The child: what the ledger alone adds to a process.
fn ledger_alone(dir: &Path) -> Result<(), Problem> {
    let before = memory("VmRSS:");
    let ledger = store::Ledger::open_read(dir)?;
    println!("{:.3}", memory("VmRSS:") - before);
    drop(ledger);
    Ok(())
}

/// A line of /proc/self/status in MB.
fn memory(line: &str) -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let kb = status.lines().find(|l| l.starts_with(line)).and_then(|l| l.split_whitespace().nth(1));
    kb.and_then(|n| n.parse::<f64>().ok()).unwrap_or(0.0) / 1024.0
}
