//! `gleaner repair DIR`: brings back what a damaged collection still has.

use super::setup;
use crate::text::{count, things};
use clap::Args as ClapArgs;
use console::style;
use crawl::collection::Collection;
use crawl::repair::{Repaired, repair};
use std::path::PathBuf;
use std::process::ExitCode;
use types::Problem;

const EXAMPLES: &str = "\
Examples:
  gleaner repair db                  the ledger was cut off, damaged or lost: pages come back from it and from the archive
  gleaner repair db db.toml          the collection's topic.toml is gone, too

Nothing is fetched and nothing is deleted: what does not fit is set aside in DIR/damaged. Pages that come back are judged
again. URLs that brought no page (errors, redirects) behind the damage are asked for again when the crawl goes on.";

#[derive(ClapArgs, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Collection folder
    dir: PathBuf,
    /// The topic (default: the collection's own)
    #[arg(value_name = "TOPIC.toml")]
    topic: Option<PathBuf>,
    /// Seed of all chance
    #[arg(long, value_name = "N", default_value_t = 0)]
    rng: u64,
    /// What was found and what came back, as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: Args) -> Result<ExitCode, Problem> {
    let dir = &args.dir;
    let remains = !Collection::exists(dir) && Collection::check_remains(dir).is_err();
    if !Collection::exists(dir) && !remains {
        return Err(Problem::usage(format!("{} is not a collection", dir.display()))
            .hint("name the folder that `gleaner crawl` wrote (--out)"));
    }
    let own = Collection::topic_file(dir);
    let topic = args.topic.as_ref().unwrap_or(&own);
    let loaded = setup::load(Some(topic), toml::Table::new())?;
    let result = repair(dir, &loaded, args.rng)?;
    if !result.found.is_empty() {
        crate::report::write(dir)?;
    }
    if args.json {
        let json = serde_json::to_string_pretty(&result)
            .map_err(|e| Problem::new("cannot write JSON").because(e))?;
        println!("{json}");
    } else {
        show(&result, &args);
    }
    Ok(if result.lost() > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn show(r: &Repaired, args: &Args) {
    if r.found.is_empty() {
        println!("nothing to repair: {}", things(r.pages, "page"));
        return;
    }
    println!("{}", style("what was wrong").bold());
    for found in &r.found {
        println!("  {found}");
    }
    println!("{}", style("what is there now").bold());
    println!("  {}, {} URLs pending", things(r.pages, "page"), count(r.pending));
    println!("  {} were not touched by the damage", count(r.kept));
    println!("  {} came back from the ledger behind it", count(r.from_ledger));
    println!("  {} came back from the archive", count(r.from_archive));
    if r.labels > 0 {
        println!("  {} came back", things(r.labels, "label"));
    }
    match (r.before, r.lost()) {
        (Some(n), 0) => println!("  none is missing: there were {}", things(n, "page")),
        (None, 0) => {}
        (_, lost) => println!(
            "  {} could not be brought back; those whose addresses are known are fetched again when the \
             crawl goes on",
            style(things(lost, "page")).red()
        ),
    }
    if let Some(aside) = &r.aside {
        println!("  the old ledger is in {}", aside.display());
    }
    println!("go on with   gleaner crawl --out {}", args.dir.display());
}
