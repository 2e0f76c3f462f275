//! Indexing the pages of a collection, beside tantivy's own writer given the same texts in the same run.
//!
//! ```sh
//! cargo bench -p gleaner-store --bench index -- COLLECTION
//! ```
//! CPU time of all threads, per page, best of five rounds in turn. Ours also has fields for address, host and
//! language; tantivy's writer cuts texts into words in its usual way.

use gleaner_store::Records;
use gleaner_store::index::Index;
use gleaner_store::ledger::Ledger;
use std::path::Path;
use tantivy::schema::{Schema, TEXT};
use tantivy::{IndexWriter, TantivyDocument};
use types::Record;

const ROUNDS: usize = 5;
/// What our writer takes, too.
const HEAP: usize = 40 << 20;

fn main() {
    let Some(dir) = std::env::args().skip(1).find(|a| !a.starts_with('-')) else {
        println!("index: give the folder of a collection");
        return;
    };
    let ledger = Ledger::open_read(Path::new(&dir)).expect("a collection");
    let pages: Vec<Record> = ledger.pages(0).flatten().map(|(record, _)| record).collect();
    let bytes: usize = pages.iter().map(|p| p.text.len()).sum();
    println!(
        "{} pages, {:.1} KB of text each",
        pages.len(),
        bytes as f64 / 1000.0 / pages.len().max(1) as f64
    );
    let (mut best_ours, mut best_theirs) = (f64::INFINITY, f64::INFINITY);
    for _ in 0..ROUNDS {
        best_ours = best_ours.min(cost(|at| ours(at, &pages)));
        best_theirs = best_theirs.min(cost(|at| theirs(at, &pages)));
    }
    let each = |seconds: f64| seconds * 1e6 / pages.len().max(1) as f64;
    println!("| | CPU µs/page |\n|---|---:|\n| ours | {:.0} |", each(best_ours));
    println!(
        "| tantivy's writer | {:.0} |\n\nours / tantivy's: {:.2}",
        each(best_theirs),
        best_ours / best_theirs
    );
}

fn ours(dir: &Path, pages: &[Record]) {
    let mut index = Index::open_or_create(dir).expect("an index");
    pages.iter().for_each(|page| index.add(page).expect("room"));
    index.close().expect("room");
}

fn theirs(dir: &Path, pages: &[Record]) {
    let mut schema = Schema::builder();
    let (title, text) = (schema.add_text_field("title", TEXT), schema.add_text_field("text", TEXT));
    let index = tantivy::Index::create_in_dir(dir, schema.build()).expect("an index");
    let mut writer: IndexWriter = index.writer_with_num_threads(1, HEAP).expect("a writer");
    for page in pages {
        let mut doc = TantivyDocument::new();
        doc.add_text(title, &page.title);
        doc.add_text(text, &page.text);
        writer.add_document(doc).expect("room");
    }
    writer.commit().expect("room");
    writer.wait_merging_threads().expect("merged");
}

fn cost(run: impl FnOnce(&Path)) -> f64 {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let before = cpu_seconds();
    run(dir.path());
    cpu_seconds() - before
}

/// Of all threads, those that have ended included: in hundredths of a second.
fn cpu_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = text.rsplit(')').next().unwrap_or("").split_whitespace();
    let ticks: Vec<f64> = fields.skip(11).take(2).filter_map(|n| n.parse().ok()).collect();
    ticks.iter().sum::<f64>() / 100.0
}
