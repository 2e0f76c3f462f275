//! How long until a label is obeyed in a large collection that nobody crawls into: the judge has learnt,
//! every page is judged again, and it is on the disk.
//!
//! ```text
//! cargo bench --bench memory -- --pages 200k --dir /tmp/large     # makes a collection of 200,000 pages (three minutes)
//! cargo bench --bench label -- /tmp/large
//! ```
//!
//! The labels are taken back at the end: the collection is as it was.

use crawl::collection::Collection;
use crawl::config::Config;
use crawl::quiz::{QuestionKind, Quiz};
use crawl::reader::Reader;
use crawl::steer::stopped::StoppedCollection;
use std::collections::HashSet;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;
use types::{Problem, UrlId};

/// Labels given one after the other.
const LABELS: usize = 12;
/// A label takes no longer.
const TARGET: f64 = 1.0;

fn main() -> ExitCode {
    // Cargo passes `--bench`.
    let Some(dir) = std::env::args().skip(1).find(|a| !a.starts_with("--")) else {
        eprintln!(
            "usage: cargo bench --bench label -- DIR   (`cargo bench --bench memory -- --dir DIR` makes one)"
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

fn measure(dir: &Path) -> Result<(), Problem> {
    let timed = Instant::now();
    let loaded = Config::read(&Collection::topic_file(dir), toml::Table::new())?;
    let none = |_: &types::Url| Err(Problem::new("no example pages here"));
    let mut teaching = StoppedCollection::open(dir, &loaded, &none)?;
    let opened = timed.elapsed().as_secs_f64();
    let mut reader = Reader::open(dir)?;
    let mut quiz = Quiz::default();
    println!("label: {} pages, open for labels after {opened:.2} s\n", teaching.pages());
    println!("| label | pages on another side | obeyed after s | read again, next question after s |");
    println!("|---|---:|---:|---:|");
    let mut given: Vec<(UrlId, Option<bool>)> = Vec::new();
    let mut slowest = 0.0f64;
    for i in 0..LABELS {
        let timed = Instant::now();
        reader.refresh()?;
        quiz.update(&reader)?;
        let Some(question) = quiz.questions(QuestionKind::Best, 1, 0, &HashSet::new()).pop() else { break };
        let asked = timed.elapsed().as_secs_f64();
        let before = reader.labels().get(question.id);
        let label = i % 3 != 2;
        let timed = Instant::now();
        let effect = teaching.label(&[(question.id, Some(label))])?;
        let obeyed = timed.elapsed().as_secs_f64();
        slowest = slowest.max(obeyed);
        given.push((question.id, before));
        println!("| {} | {} | {obeyed:.3} | {asked:.3} |", if label { "yes" } else { "no" }, effect.changed);
    }
    while let Some(last) = given.pop() {
        let timed = Instant::now();
        let effect = teaching.label(&[last])?;
        let obeyed = timed.elapsed().as_secs_f64();
        slowest = slowest.max(obeyed);
        println!("| undo | {} | {obeyed:.3} | |", effect.changed);
    }
    teaching.close()?;
    let met = if slowest < TARGET { "met" } else { "MISSED" };
    println!("\nslowest {slowest:.3} s (target < {TARGET} s {met})");
    Ok(())
}
