//! `gleaner config`: every setting, its value and where it came from.

use clap::Args as ClapArgs;
use std::process::ExitCode;
use types::Problem;

#[derive(ClapArgs, Debug)]
#[command(
    after_help = "Examples:\n  gleaner config topic.toml\n  gleaner config topic.toml --pages 100 --delay 2s"
)]
pub struct Args {
    #[command(flatten)]
    crawl: super::crawl::Args,
}

pub fn run(args: Args) -> Result<ExitCode, Problem> {
    let loaded = super::setup::load(args.crawl.topic.topic.as_deref(), args.crawl.table())?;
    print!("{}", loaded.describe());
    Ok(ExitCode::SUCCESS)
}
