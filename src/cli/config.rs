//! `gleaner config`: every setting, its value and where it came from. Takes what `gleaner crawl` takes.

use super::crawl::Args;
use std::process::ExitCode;
use types::Problem;

pub fn run(args: Args) -> Result<ExitCode, Problem> {
    let loaded = super::setup::load(args.topic.topic.as_deref(), args.table()?)?;
    print!("{}", loaded.describe());
    Ok(ExitCode::SUCCESS)
}
