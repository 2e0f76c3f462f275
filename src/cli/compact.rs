//! `gleaner compact DIR`: gives space back.

use super::setup;
use crate::text::{size, space};
use clap::Args as ClapArgs;
use crawl::collection::Collection;
use crawl::compact::compact;
use std::path::PathBuf;
use std::process::ExitCode;
use types::Problem;

const EXAMPLES: &str = "\
Examples:
  gleaner compact db                      the ledger without what was replaced since, the search index made again
  gleaner compact db --with-damaged       and without what repairs set aside in DIR/damaged

No page, version, visit or label goes, and the archive is left as it is: every record in it is a page or a visit
(`gleaner remove` takes pages out). A crawl that is running must be stopped first. Killed at any moment, nothing is lost.";

#[derive(ClapArgs, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Collection folder
    dir: PathBuf,
    /// Also delete DIR/damaged: what did not fit the collection and was set aside
    #[arg(long)]
    with_damaged: bool,
    /// What took the space before and what takes it now, as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: Args) -> Result<ExitCode, Problem> {
    let dir = &args.dir;
    Collection::check_remains(dir)?;
    if !Collection::exists(dir) {
        return Err(Problem::usage(format!("{} is not a collection", dir.display()))
            .hint("name the folder that `gleaner crawl` wrote (--out)"));
    }
    let loaded = setup::load(Some(&Collection::topic_file(dir)), toml::Table::new())?;
    let done = compact(dir, &loaded, args.with_damaged)?;
    if args.json {
        let json =
            serde_json::to_string_pretty(&done).map_err(|e| Problem::new("cannot write JSON").because(e))?;
        println!("{json}");
        return Ok(ExitCode::SUCCESS);
    }
    println!("before: {}", space(&done.before));
    println!("now:    {}", space(&done.after));
    match done.before.total().checked_sub(done.after.total()) {
        Some(freed) if freed > 0 => println!("{} are free", size(freed)),
        _ => println!("there was nothing to give back"),
    }
    Ok(ExitCode::SUCCESS)
}
