//! `gleaner search DIR "words"`: ranked pages with snippets.

use super::setup;
use crate::text::strip_controls;
use clap::Args as ClapArgs;
use console::style;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use store::index::{Index, Segment, snippet};
use types::Problem;

#[derive(ClapArgs, Debug)]
#[command(after_help = "Examples:\n  gleaner search db \"query optimization\"\n  gleaner search db \
                  'title:syllabus +joins -oracle' --all --limit 50\n  gleaner search db joins --at \
                  2026-11-01             as it was then\n  gleaner search --store \
                  postgres://user@db.example.org/crawls \"query optimization\"")]
pub struct Args {
    /// Collection folder (with --store: the first word)
    dir: String,
    /// Words, \"phrases\", +must, -not, title:word
    #[arg(required_unless_present = "store")]
    query: Vec<String>,
    #[command(flatten)]
    shared: setup::StoreArgs,
    /// Also pages that were judged not relevant, and pages that are gone
    #[arg(long)]
    all: bool,
    /// Most pages shown
    #[arg(long, default_value_t = 10, value_name = "N")]
    limit: usize,
    /// Pages left out at the top, to read on
    #[arg(long, default_value_t = 0, value_name = "N")]
    offset: usize,
    #[command(flatten)]
    date: setup::DateArgs,
    /// One JSON object per page
    #[arg(long)]
    json: bool,
}

fn tell_if_made_again(index: &Index) {
    if let Some(why) = index.was_reset() {
        setup::warn(&format!("{why}; it was made again from the ledger: {} pages", index.len()));
    }
}

pub fn run(args: Args) -> Result<ExitCode, Problem> {
    let reader = args.date.view(setup::read_from(Some(Path::new(&args.dir)), &args.shared)?)?;
    let then = reader.date().map(|_| Scratch::new()).transpose()?;
    let mut index = match &then {
        Some(scratch) => reader.index_then(&scratch.0)?,
        None => reader.index()?,
    };
    tell_if_made_again(&index);
    let mut query = args.query.join(" ");
    if args.shared.store.is_some() {
        query = format!("{} {query}", args.dir).trim().to_string();
    }
    // Nobody wants to be led to a page that is gone.
    let keep = |id| args.all || (reader.is_relevant(id) && reader.away(id).is_none());
    let found = match index.search(&query, args.limit, args.offset, &keep) {
        Err(why) if then.is_none() => {
            drop(index);
            index = reader.index_again(why)?;
            tell_if_made_again(&index);
            index.search(&query, args.limit, args.offset, &keep)?
        }
        found => found?,
    };
    if found.is_empty() && !args.json {
        let pages = match reader.date() {
            Some(_) => index.len() as u64,
            None => reader.ledger().stats()?.pages,
        };
        eprintln!("nothing found among {} pages", index.len());
        if let Some(more) = pages.checked_sub(index.len() as u64).filter(|n| *n > 0) {
            eprintln!(
                "{} more were fetched and are not in the index, which is brought up to date while the crawl \
                 runs and when it goes on \
                 (pages that ask not to be indexed stay out)",
                crate::text::count(more)
            );
        }
        if !args.all {
            eprintln!("hint: --all also searches pages that were judged not relevant");
        }
        return Ok(setup::exit_code(&reader));
    }
    for hit in found {
        let Some(record) = reader.record(hit.id)? else { continue };
        let segments = snippet(&query, &record.text);
        if args.json {
            let text: String = segments.iter().map(|s| &record.text[s.range.clone()]).collect();
            let line = serde_json::json!({
                "url": record.url, "title": record.title, "rank_score": hit.score, "score": record.assessment.score,
                "relevant": record.verdict.relevant, "language": record.language, "snippet": text,
            });
            println!("{line}");
            continue;
        }
        let title = if record.title.is_empty() { "(no title)" } else { &record.title };
        println!("{}", style(strip_controls(title)).bold());
        println!(
            "{}  {}",
            style(strip_controls(&record.url)).cyan(),
            style(format!("judge {:.2}", record.assessment.score)).dim()
        );
        println!("  {}\n", segments.iter().map(|s| segment(s, &record.text)).collect::<String>());
    }
    Ok(setup::exit_code(&reader))
}

/// A folder for an index that is used once.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Result<Scratch, Problem> {
        let dir = setup::cache_folder().join(format!("then-{}", std::process::id()));
        store::files::make_collection(&dir, store::files::Mode::Private)?;
        Ok(Scratch(dir))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A piece of a snippet, safe for a terminal.
pub fn segment(s: &Segment, text: &str) -> String {
    let piece = strip_controls(text.get(s.range.clone()).unwrap_or(""));
    if s.highlighted { style(piece).green().bold().to_string() } else { piece }
}
