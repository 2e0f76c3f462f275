//! The ledger at size, against a plain hash map and heap doing the same operations in the same run.
//!
//! ```sh
//! cargo bench -p gleaner-store --bench ledger                  # one million URLs
//! cargo bench -p gleaner-store --bench ledger -- --size 10M    # the target of issue 2
//! ```
//! `--dir PATH` puts the ledger elsewhere than the temporary folder; `--always` syncs each commit.
//!
//! CPU time is that of the one thread that works; wall time includes waiting for the disk and for other
//! processes.

use frontier::{Frontier, Limits, Next, Pick};
use gleaner_store::ledger::{Durability, FileLog, Ledger, Options};
use gleaner_store::{Records, Stats};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;
use types::{Candidate, Canon, HostUpdate, LinkKind, Millis, Outcome, Priority, Settle, Turn, UrlId};

const LINKS: usize = 50;
const TURNS_PER_COMMIT: usize = 20;
const REOPENED: usize = 4;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let value = |name: &str| args.iter().position(|a| a == name).and_then(|i| args.get(i + 1)).cloned();
    let size = value("--size").map_or(1_000_000, |s| number(&s));
    let cycles = (size / 10).clamp(1, 1_000_000);
    let temp = tempfile::tempdir().expect("a temporary folder");
    let dir = value("--dir").map_or(temp.path().to_path_buf(), |d| Path::new(&d).join("ledger-bench"));
    let always = args.iter().any(|a| a == "--always");
    let durability = if always { Durability::Always } else { Durability::default() };
    println!("{size} URLs on {} hosts, {cycles} lease+settle cycles, {durability:?}", hosts(size));

    let before = resident();
    let (ledger_admit, ledger_cycle, data, stats) = ledger(&dir, size, cycles, durability, before);
    // Whoever else uses the machine only ever makes it slower: the least of several counts.
    for _ in 0..REOPENED {
        reopen(&dir, durability, "after a crash, with the last checkpoint");
    }
    for entry in std::fs::read_dir(&dir).expect("the ledger's folder").flatten() {
        if entry.file_name().to_string_lossy().starts_with("checkpoint") {
            std::fs::remove_file(entry.path()).expect("a removable checkpoint");
        }
    }
    reopen(&dir, durability, "after a crash, without any checkpoint");
    let (floor_admit, floor_cycle) = floor(size, cycles);

    println!(
        "\n| operation | ledger/s (CPU) | ledger/s (wall) | map+heap/s (CPU) | ratio (CPU) |\n\
         |---|---|---|---|---|"
    );
    for (name, l, f, n) in
        [("admission", ledger_admit, floor_admit, size), ("lease+settle", ledger_cycle, floor_cycle, cycles)]
    {
        let rate = |s: f64| n as f64 / s;
        println!(
            "| {name} | {:.0} | {:.0} | {:.0} | 1/{:.1} |",
            rate(l.cpu),
            rate(l.wall),
            rate(f.cpu),
            l.cpu / f.cpu
        );
    }
    let times = stats.bytes_written as f64 / data as f64;
    println!(
        "\nwritten {} for {} of URLs, anchors and evidence: {times:.2}x (log {})",
        mib(stats.bytes_written),
        mib(data),
        mib(stats.log_bytes)
    );
    let _ = std::fs::remove_dir_all(&dir);
}

fn ledger(
    dir: &Path,
    size: usize,
    cycles: usize,
    durability: Durability,
    before: u64,
) -> (Cost, Cost, u64, Stats) {
    let limits = Limits { delay_ms: 0, use_robots: false, query_variants: None, ..Limits::default() };
    let options = Options { key: Some((1, 2)), durability, ..Options::new(limits) };
    let mut l = Ledger::open(dir, options, Millis(0)).expect("a ledger");
    let merge = |a: Priority, b: Priority| a.max(b);
    let mut web = Web::new(size);
    let (mut admit, mut cycle) = (Cost::default(), Cost::default());
    l.seed(web.candidate(0), Millis(0)).expect("a seed");
    let mut now = 0;
    while web.made < size {
        // Pages arrive already extracted; what is timed is what the ledger does with them.
        let turns: Vec<Vec<Candidate>> = (0..TURNS_PER_COMMIT).map(|_| web.links(size)).collect();
        admit.add(|| {
            for add in turns {
                // A page whose URL is already settled: links are taken in, nothing else changes.
                let turn = Turn { add, ..Turn::new(Settle::Return { id: UrlId(0) }) };
                l.apply(turn, &merge).expect("applied");
            }
            l.commit().expect("committed");
        });
    }
    let stats = l.stats().unwrap();
    println!(
        "admitted {} ({} pending): {}, resident {} (start {})",
        stats.urls,
        stats.pending,
        admit,
        mib(resident()),
        mib(before)
    );
    cycle.add(|| {
        for i in 0..cycles {
            now += 1;
            let Next::Lease(lease) = l.lease(Millis(now), Pick::Best).expect("an answer") else {
                panic!("nothing to lease")
            };
            let finished = Millis(now);
            let host = HostUpdate { contacted: true, finished, failed: Some(false), ..HostUpdate::default() };
            let turn = Turn { host, ..Turn::new(Settle::Done { id: lease.id, outcome: Outcome::Fetched }) };
            l.apply(turn, &merge).expect("applied");
            if i % TURNS_PER_COMMIT == 0 {
                l.commit().expect("committed");
            }
        }
        l.commit().expect("committed");
    });
    println!("leased and settled {cycles}: {cycle}, resident {}", mib(resident()));
    let stats = l.stats().unwrap();
    (admit, cycle, web.bytes, stats)
    // Dropped without `close`: the next start finds what a crash leaves.
}

fn reopen(dir: &Path, durability: Durability, what: &str) {
    let limits = Limits { delay_ms: 1_000, use_robots: false, ..Limits::default() };
    let options = Options { durability, ..Options::new(limits) };
    let (start, cpu) = (Instant::now(), cpu_seconds());
    let mut l: Ledger<FileLog> = Ledger::open(dir, options, Millis(1_000_000_000)).expect("opened again");
    let opened = start.elapsed();
    // The delay of the unclean start is over.
    let Next::Lease(_) = l.lease(Millis(1_000_001_000), Pick::Best).expect("an answer") else {
        panic!("nothing to lease")
    };
    println!(
        "reopened {what}: {:.2} s, first lease after {:.2} s wall, {:.2} s CPU ({} pending), resident {}",
        opened.as_secs_f64(),
        start.elapsed().as_secs_f64(),
        cpu_seconds() - cpu,
        l.stats().unwrap().pending,
        mib(resident())
    );
}

/// The same operations with nothing kept on disk and no politeness.
fn floor(size: usize, cycles: usize) -> (Cost, Cost) {
    struct Entry {
        key: u64,
        done: bool,
    }
    let mut map: HashMap<Arc<str>, Entry> = HashMap::new();
    let mut heap: BinaryHeap<(u64, Reverse<u32>, Arc<str>)> = BinaryHeap::new();
    let mut web = Web::new(size);
    let (mut admit, mut cycle) = (Cost::default(), Cost::default());
    // Keys are positive, so their bits order like they do.
    let bits = |c: &Candidate| c.priority.key().to_bits();
    web.candidate(0);
    while web.made < size {
        let turns: Vec<Vec<Candidate>> = (0..TURNS_PER_COMMIT).map(|_| web.links(size)).collect();
        admit.add(|| {
            for c in turns.iter().flatten() {
                match map.get_mut(c.url.as_str()) {
                    Some(e) if !e.done && bits(c) > e.key => e.key = bits(c),
                    Some(_) => {}
                    None => {
                        let url: Arc<str> = c.url.as_str().into();
                        heap.push((bits(c), Reverse(map.len() as u32), url.clone()));
                        map.insert(url, Entry { key: bits(c), done: false });
                    }
                }
            }
        });
    }
    cycle.add(|| {
        for _ in 0..cycles {
            let Some((_, _, url)) = heap.pop() else { break };
            if let Some(e) = map.get_mut(&url) {
                e.done = true;
            }
        }
    });
    println!("map + heap: admitted {} {admit}; popped {cycles} {cycle}", map.len());
    (admit, cycle)
}

/// Links as a crawl finds them: many hosts of very different sizes, one in ten seen before, one in five with
/// a query.
struct Web {
    state: u64,
    made: usize,
    hosts: u64,
    canon: Canon,
    /// Of URLs, anchors and evidence, sightings of known URLs included.
    bytes: u64,
}

impl Web {
    fn new(size: usize) -> Web {
        Web { state: 7, made: 0, hosts: hosts(size), canon: Canon::exact(), bytes: 0 }
    }

    fn random(&mut self) -> u64 {
        // SplitMix64: the same web for both sides.
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.state)
    }

    fn candidate(&mut self, i: u64) -> Candidate {
        let r = mix(i);
        // The square of a uniform number: a few large hosts, many small ones.
        let u = (r >> 40) as f64 / (1u64 << 24) as f64;
        let host = (u * u * self.hosts as f64) as u64;
        let section = ["courses", "people", "research/groups", "news/archive", "docs/api"][(r % 5) as usize];
        let url = match r % 10 {
            0 | 1 => format!("https://www.site-{host}.example/{section}/view?item={i}"),
            _ => format!("https://www.site-{host}.example/{section}/{}/page-{i}.html", r % 97),
        };
        let key = self.random() as f64 / u64::MAX as f64;
        let c = Candidate {
            url: self.canon.parse(&url).expect("a URL"),
            parent: (i > 0).then_some(UrlId((i / LINKS as u64) as u32)),
            kind: LinkKind::Anchor,
            depth: 3,
            site_depth: 2,
            hops: 0,
            priority: Priority::key_only(key),
            evidence: vec![r as u8; 48],
            model: 1,
            ttl: None,
            anchor: "Lecture notes, week 4".into(),
        };
        self.made += usize::from(i == self.made as u64);
        self.bytes += (c.url.as_str().len() + c.evidence.len() + c.anchor.len()) as u64;
        c
    }

    fn links(&mut self, size: usize) -> Vec<Candidate> {
        let mut out = Vec::with_capacity(LINKS);
        while out.len() < LINKS && self.made < size {
            let again = self.random().is_multiple_of(10);
            let i = if again { self.random() % self.made as u64 } else { self.made as u64 };
            out.push(self.candidate(i));
        }
        out
    }
}

fn hosts(size: usize) -> u64 {
    (size as u64 / 100).max(1)
}

fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[derive(Clone, Copy, Default)]
struct Cost {
    cpu: f64,
    wall: f64,
}

impl Cost {
    fn add(&mut self, work: impl FnOnce()) {
        let (cpu, wall) = (cpu_seconds(), Instant::now());
        work();
        self.cpu += cpu_seconds() - cpu;
        self.wall += wall.elapsed().as_secs_f64();
    }
}

impl std::fmt::Display for Cost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:.2} s CPU, {:.2} s wall", self.cpu, self.wall)
    }
}

/// Of this thread: a shared machine must not decide a ratio.
fn cpu_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split(' ').next().and_then(|ns| ns.parse::<f64>().ok()).unwrap_or(0.0) / 1e9
}

fn resident() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find(|l| l.starts_with("VmRSS:")).unwrap_or("");
    line.split_whitespace().nth(1).and_then(|kb| kb.parse::<u64>().ok()).unwrap_or(0) * 1024
}

fn mib(bytes: u64) -> String {
    format!("{:.0} MiB", bytes as f64 / (1 << 20) as f64)
}

fn number(text: &str) -> usize {
    let (digits, unit) = text.split_at(text.trim_end_matches(|c: char| c.is_ascii_alphabetic()).len());
    let n: usize =
        digits.parse().unwrap_or_else(|_| panic!("--size takes a number like 500k or 10M, not {text}"));
    match unit {
        "k" | "K" => n * 1_000,
        "M" => n * 1_000_000,
        _ => n,
    }
}
