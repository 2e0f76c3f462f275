//! `gleaner copy DIR INTO`: a collection once more.

use super::gathered;
use clap::Args as ClapArgs;
use std::path::PathBuf;
use std::process::ExitCode;
use types::Problem;

const EXAMPLES: &str = "\
Examples:
  gleaner copy db db-2026-11         a copy that can be crawled, searched and changed by itself

Everything comes along: pages, versions, archive, labels, what waits, what was learnt. The copy is written beside INTO and gets
its name when it is whole; killed before, run the same command again. DIR is only read: it may be crawled meanwhile, and what
was committed when the copy began is in it. To back a collection up, `cp -a DIR` of one that is not crawled does as well.";

#[derive(ClapArgs, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Collection folder
    dir: PathBuf,
    /// The new folder
    into: PathBuf,
    /// What came of it, as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: Args) -> Result<ExitCode, Problem> {
    let made = crawl::gather::copy(&args.dir, &args.into)?;
    gathered::show(&[&made], args.json)?;
    Ok(ExitCode::SUCCESS)
}
