//! `gleaner merge A B … --into D`: several collections become one.

use super::gathered;
use clap::Args as ClapArgs;
use std::path::PathBuf;
use std::process::ExitCode;
use types::Problem;

const EXAMPLES: &str = "\
Examples:
  gleaner merge north south --into both
  gleaner merge north south east --into all --json

A page that several have is one page with their versions; the newest stands. Labels of all count; where they differ, those of
the collection that is named first stand, and each is named. What was removed from one stays out of all. The topic, what the
strategy learnt and changes by `gleaner steer` are the first one's; `gleaner rejudge` judges all pages by one topic. The
collections are only read. Killed before it is whole, there is no new collection: run the same command again.";

#[derive(ClapArgs, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Collection folders, two or more
    #[arg(value_name = "DIR", required = true, num_args = 2..)]
    dirs: Vec<PathBuf>,
    /// The new folder
    #[arg(long, value_name = "DIR")]
    into: PathBuf,
    /// What came of it, as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: Args) -> Result<ExitCode, Problem> {
    let made = crawl::gather::merge(&args.dirs, &args.into)?;
    gathered::show(&[&made], args.json)?;
    Ok(ExitCode::SUCCESS)
}
