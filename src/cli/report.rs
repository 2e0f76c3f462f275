//! `gleaner report`: a crawl's report.html, or two backtest results compared.

use clap::Args as ClapArgs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use types::Problem;

#[derive(ClapArgs, Debug)]
#[command(
    after_help = "Examples:\n  gleaner report db                       writes db/report.html again\n  gleaner report old/results.json new/results.json   exit code 1 when something got worse"
)]
pub struct Args {
    /// Collection folder, or the first results.json
    a: PathBuf,
    /// The second results.json
    b: Option<PathBuf>,
}

pub fn run(args: Args) -> Result<ExitCode, Problem> {
    match args.b {
        None => {
            write_crawl_report(&args.a)?;
            eprintln!("wrote {}", args.a.join("report.html").display());
            Ok(ExitCode::SUCCESS)
        }
        Some(b) => compare(&args.a, &b),
    }
}

fn compare(_a: &Path, _b: &Path) -> Result<ExitCode, Problem> {
    Err(Problem::new("not yet"))
}

/// Writes `report.html` of a collection.
pub fn write_crawl_report(_dir: &Path) -> Result<(), Problem> {
    Ok(())
}
