//! `gleaner report`: a crawl's report.html, or two backtest results compared.

use super::crawl_report;
use clap::Args as ClapArgs;
use crawl::reader::Reader;
use eval::results::{Results, compare};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use types::Problem;

#[derive(ClapArgs, Debug)]
#[command(
    after_help = "Examples:\n  gleaner report db                       writes db/report.html again\n  gleaner report old/results.json new/results.json   exit code 1 when something got worse"
)]
pub struct Args {
    /// Collection folder, or the first results.json (or its folder)
    a: PathBuf,
    /// The second results.json (or its folder)
    b: Option<PathBuf>,
    /// Differences of the mean area under recall below this are no change
    #[arg(long, value_name = "X", default_value_t = 0.005)]
    tolerance: f64,
}

pub fn run(args: Args) -> Result<ExitCode, Problem> {
    let Some(b) = &args.b else {
        write_crawl_report(&args.a)?;
        eprintln!("wrote {}", args.a.join("report.html").display());
        return Ok(ExitCode::SUCCESS);
    };
    let file = |p: &Path| if p.is_dir() { p.join("results.json") } else { p.to_path_buf() };
    let comparison = compare(&Results::load(&file(&args.a))?, &Results::load(&file(b))?, args.tolerance);
    print!("{}", comparison.table());
    match comparison.regressions() {
        0 => Ok(ExitCode::SUCCESS),
        n => {
            eprintln!("{n} got worse");
            Ok(ExitCode::FAILURE)
        }
    }
}

/// Writes `report.html` of a collection.
pub fn write_crawl_report(dir: &Path) -> Result<(), Problem> {
    let html = crawl_report::html(&Reader::open(dir)?)?;
    let path = dir.join("report.html");
    std::fs::write(&path, html).map_err(|e| Problem::io("write", &path, &e))
}
