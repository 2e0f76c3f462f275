//! How long does the dashboard take for each view of a large collection, beside what the store itself takes
//! for the same?
//!
//! ```text
//! cargo bench --bench memory -- --pages 200k --dir /tmp/large     # makes a collection of 200,000 pages (three minutes)
//! cargo bench --bench views -- /tmp/large
//! ```
//!
//! `gleaner serve` answers over loopback, a connection per request. Raw is what the view needs of the store
//! (records, index, sightings, hosts), asked in this process: no server, no JSON, no explanations. Both in
//! turn, so that other work on the machine hits both.

#[path = "../tests/common/mod.rs"]
mod common;

use common::dashboard::Dashboard;
use crawl::reader::Reader;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;
use types::{Problem, UrlId};

/// Rows of a table, and results of a search.
const ROWS: usize = 50;
const RESULTS: usize = 20;
/// Hits a search counts its facets over.
const COUNTED: usize = 1_000;
const ROUNDS: usize = 30;

fn main() -> ExitCode {
    // Cargo passes `--bench`.
    let Some(dir) = std::env::args().skip(1).find(|a| !a.starts_with("--")) else {
        eprintln!(
            "usage: cargo bench --bench views -- DIR   (a collection; `cargo bench --bench memory -- --dir \
             DIR` makes one)"
        );
        return ExitCode::FAILURE;
    };
    match measure(Path::new(&dir)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("{problem}");
            ExitCode::FAILURE
        }
    }
}

/// What a view needs of the store; the number is only there so that nothing is left out as unused.
type Raw<'a> = Box<dyn Fn() -> Result<usize, Problem> + 'a>;

fn measure(dir: &Path) -> Result<(), Problem> {
    let begun = Instant::now();
    let reader = Reader::open(dir)?;
    let index = reader.index()?;
    let opened = begun.elapsed().as_secs_f64();
    let store = reader.ledger();
    let all: Vec<(UrlId, bool, f64)> = reader.verdicts().collect();
    let records = |ids: Vec<UrlId>| -> Result<usize, Problem> {
        store.records_of(ids).try_fold(0, |n, record| Ok(n + record?.text.len()))
    };
    let best = |relevant: bool| -> Vec<UrlId> {
        let mut ids: Vec<&(UrlId, bool, f64)> = all.iter().filter(|v| v.1 || !relevant).collect();
        ids.sort_by(|a, b| b.2.total_cmp(&a.2));
        ids.into_iter().take(ROWS).map(|v| v.0).collect()
    };
    let search = |words: &str, hits: usize, shown: usize, all: bool| -> Result<usize, Problem> {
        let found = index.search(words, hits, 0, &|id| all || reader.is_relevant(id))?;
        records(found.iter().take(shown).map(|f| f.id).collect())
    };
    let mut waiting: Vec<(types::Priority, UrlId)> =
        store.entries(store::Which::Pending).map_while(Result::ok).map(|e| (e.priority, e.id)).collect();
    waiting.sort_by_key(|w| std::cmp::Reverse(w.0));
    let waiting: Vec<UrlId> = waiting.into_iter().take(ROWS).map(|w| w.1).collect();
    let page = best(true).first().or(best(false).first()).copied().unwrap_or(UrlId(0));

    let c = "/api/v1/collections/C";
    let views: Vec<(String, Raw)> = vec![
        (c.into(), Box::new(|| reader.summary().map(|s| s.hosts))),
        (format!("{c}/pages"), Box::new(|| records(all.iter().rev().take(ROWS).map(|v| v.0).collect()))),
        (format!("{c}/pages?sort=best&relevant=true"), Box::new(|| records(best(true)))),
        (format!("{c}/pages?q=syllabus"), Box::new(|| search("syllabus", ROWS + 1, ROWS, true))),
        (
            format!("{c}/frontier"),
            Box::new(|| {
                waiting.iter().try_fold(0, |n, id| {
                    let url = reader.url(*id).map_or(0, |u| u.len());
                    Ok(n + url + store.sources(*id)?.len())
                })
            }),
        ),
        (
            format!("{c}/hosts"),
            Box::new(|| {
                let mut hosts = store.hosts()?;
                hosts.sort_by(|a, b| a.name.cmp(&b.name));
                Ok(hosts.len())
            }),
        ),
        (
            format!("{c}/search?q=relational+model"),
            Box::new(|| search("relational model", COUNTED, RESULTS, false)),
        ),
        (format!("{c}/search?q=syllabus&all=true"), Box::new(|| search("syllabus", COUNTED, RESULTS, true))),
        (
            format!("{c}/pages/{}", page.0),
            Box::new(|| {
                let record = reader.record(page)?.map_or(0, |r| r.text.len());
                let around = store.sources(page)?.len() + store.children(page)?.len();
                Ok(record + around + reader.path(page)?.len())
            }),
        ),
    ];

    let server = Dashboard::start(dir, &["--rate", "100000"]);
    let begun = Instant::now();
    let name = server.json("/api/v1/collections")["collections"][0]["name"].clone();
    let name = name.as_str().unwrap_or_default();
    println!(
        "{}: {} pages; opened in {opened:.1} s, by the dashboard in {:.1} s; {ROUNDS} rounds\n",
        dir.display(),
        all.len(),
        begun.elapsed().as_secs_f64()
    );
    println!("| view | median ms | worst ms | store alone, median ms | ratio |");
    println!("|---|---:|---:|---:|---:|");
    let (mut everything, mut ratios) = (Vec::new(), Vec::new());
    for (path, raw) in &views {
        let path = path.replace("/C", &format!("/{name}"));
        let (mut seen, mut alone) = (Vec::new(), Vec::new());
        // The first look at a view loads what the later ones use (what the strategy learnt, the index's
        // files).
        server.json(&path);
        raw()?;
        for _ in 0..ROUNDS {
            seen.push(time(|| Ok(server.get(&path).body.len()))?);
            alone.push(time(raw)?);
        }
        let ratio = middle(&mut seen) / middle(&mut alone);
        println!(
            "| {} | {:.2} | {:.2} | {:.2} | {ratio:.1} |",
            path.trim_start_matches("/api/v1"),
            middle(&mut seen),
            seen.last().copied().unwrap_or(0.0),
            middle(&mut alone),
        );
        everything.extend(seen);
        ratios.push(ratio);
    }
    everything.sort_by(f64::total_cmp);
    println!(
        "\nall views: median {:.1} ms, 99th percentile {:.1} ms (asked: 200); median ratio {:.1}",
        middle(&mut everything),
        everything.get(everything.len() * 99 / 100).copied().unwrap_or(0.0),
        middle(&mut ratios)
    );
    Ok(())
}

/// Milliseconds.
fn time(work: impl FnOnce() -> Result<usize, Problem>) -> Result<f64, Problem> {
    let begun = Instant::now();
    std::hint::black_box(work()?);
    Ok(1e3 * begun.elapsed().as_secs_f64())
}

/// The median; the numbers are sorted afterwards.
fn middle(numbers: &mut [f64]) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers.get(numbers.len() / 2).copied().unwrap_or(0.0)
}
