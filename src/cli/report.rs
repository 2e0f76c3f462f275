//! `gleaner report`: a crawl's report.html, or two backtest results compared.

use super::setup::{self, StoreArgs};
use crate::report;
use clap::Args as ClapArgs;
use eval::results::{Results, compare};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use types::Problem;

#[derive(ClapArgs, Debug)]
#[command(
    after_help = "Examples:\n  gleaner report db                       writes db/report.html again\n  \
                  gleaner report old/results.json new/results.json   exit code 1 when something got \
                  worse\n  gleaner report --store postgres://user@db.example.org/crawls -o report.html"
)]
pub struct Args {
    /// Collection folder, or the first results.json (or its folder)
    #[arg(required_unless_present = "store", conflicts_with = "store")]
    a: Option<PathBuf>,
    #[command(flatten)]
    shared: StoreArgs,
    /// With --store: where to write it
    #[arg(short, long, value_name = "FILE", requires = "store", default_value = "report.html")]
    output: PathBuf,
    /// The second results.json (or its folder)
    b: Option<PathBuf>,
    /// Differences of the mean area under recall below this are no change
    #[arg(long, value_name = "X", default_value_t = 0.005)]
    tolerance: f64,
}

pub fn run(args: Args) -> Result<ExitCode, Problem> {
    let Some(a) = &args.a else {
        let html = report::html(&setup::read_from(None, &args.shared)?, false)?;
        std::fs::write(&args.output, html).map_err(|e| Problem::io("write", &args.output, &e))?;
        eprintln!("wrote {}", args.output.display());
        return Ok(ExitCode::SUCCESS);
    };
    let Some(b) = &args.b else {
        let reader = setup::read(a)?;
        report::write_to(&reader, &a.join("report.html"))?;
        eprintln!("wrote {}", a.join("report.html").display());
        return Ok(setup::exit_code(&reader));
    };
    let file = |p: &Path| if p.is_dir() { p.join("results.json") } else { p.to_path_buf() };
    let comparison = compare(&Results::load(&file(a))?, &Results::load(&file(b))?, args.tolerance);
    print!("{}", comparison.table());
    match comparison.regressions() {
        0 => Ok(ExitCode::SUCCESS),
        n => {
            eprintln!("{n} got worse");
            Ok(ExitCode::FAILURE)
        }
    }
}
