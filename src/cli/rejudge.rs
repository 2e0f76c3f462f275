//! `gleaner rejudge DIR [TOPIC.toml]`: a changed topic or new labels applied to a collection, without
//! fetching.

use super::setup::{self, FetchFlags};
use crate::pages::{PageSourceArgs, Pages};
use crate::text::{count, quality, shorten, strip_controls};
use clap::Args as ClapArgs;
use console::style;
use crawl::collection::Collection;
use crawl::reader::Reader;
use crawl::rejudge::{Change, Rejudged, rejudge};
use std::path::PathBuf;
use std::process::ExitCode;
use types::Problem;

const EXAMPLES: &str = "\
Examples:
  gleaner rejudge db better.toml --dry-run     what would change?
  gleaner rejudge db better.toml               the new topic becomes the collection's
  gleaner rejudge db                           the same topic, with what was labelled since

Every page is read again from the archive and judged in the order it was fetched; nothing is fetched. The place of
pending URLs in the queue stays as it was: a crawl that goes on learns from the new verdicts as it meets new pages.";

#[derive(ClapArgs, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Collection folder
    dir: PathBuf,
    /// The new topic (default: the collection's own)
    #[arg(value_name = "TOPIC.toml")]
    topic: Option<PathBuf>,
    /// Say what would change, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Changed pages shown of each kind
    #[arg(long, value_name = "N", default_value_t = 10)]
    show: usize,
    /// How example pages that the collection does not have are fetched
    #[command(flatten)]
    fetch: FetchFlags,
    /// Seed of all chance
    #[arg(long, value_name = "N", default_value_t = 0)]
    rng: u64,
    /// Everything that changed, as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: Args) -> Result<ExitCode, Problem> {
    // First, because it says best what is wrong with the folder.
    Reader::open(&args.dir)?;
    let own = Collection::topic_file(&args.dir);
    let topic = args.topic.as_ref().unwrap_or(&own);
    let mut flags = toml::Table::new();
    args.fetch.lay(&mut flags);
    let loaded = setup::load(Some(topic), flags)?;
    let from = PageSourceArgs { collection: Some(args.dir.clone()), web: None };
    let pages = Pages::open(&from, &loaded.config)?;
    let answer = |url: &types::Url| pages.answer_or_fetch(url);
    let result = rejudge(&args.dir, &loaded, &answer, args.rng, !args.dry_run)?;
    if !args.dry_run {
        crate::report::write(&args.dir)?;
    }
    if args.json {
        let json = serde_json::to_string_pretty(&result)
            .map_err(|e| Problem::new("cannot write JSON").because(e))?;
        println!("{json}");
    } else {
        show(&result, &args);
    }
    Ok(ExitCode::SUCCESS)
}

fn show(r: &Rejudged, args: &Args) {
    println!(
        "{} pages {}: {} relevant, before {}",
        count(r.pages as u64),
        if args.dry_run { "judged on trial" } else { "judged again" },
        style(count(r.relevant_after as u64)).green().bold(),
        count(r.relevant_before as u64)
    );
    if r.without_archive > 0 {
        println!("  {} were not in the archive; their kept text was judged", count(r.without_archive as u64));
    }
    if let (Some(a), Some(b)) = (r.threshold_before, r.threshold_after) {
        println!("  threshold {a:.3} → {b:.3}");
    }
    if let Some(why) = &r.why {
        println!("  {why}");
    }
    list("became relevant", &r.gained, args.show);
    list("are relevant no more", &r.lost, args.show);
    if let (Some(before), Some(after)) = (&r.labels_before, &r.labels_after) {
        println!("\n{}", style("on the pages you labelled").bold());
        println!("  before  {}", quality(before));
        println!("  now     {}", quality(after));
    }
    if args.dry_run {
        println!("\nnothing was changed; leave --dry-run out to keep this");
    }
}

fn list(what: &str, changes: &[Change], most: usize) {
    if changes.is_empty() {
        println!("  0 {what}");
        return;
    }
    println!("\n{}", style(format!("{} {what}", count(changes.len() as u64))).bold());
    for c in changes.iter().take(most) {
        let title = shorten(&strip_controls(&c.title), 60);
        println!("  {:.3} → {:.3}  {}  {}", c.before, c.after, style(&c.url).cyan(), style(title).dim());
    }
    if changes.len() > most {
        println!("  … and {} more", count((changes.len() - most) as u64));
    }
}
