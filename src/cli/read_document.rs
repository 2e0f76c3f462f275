//! `gleaner read-document`: what a crawler starts to have documents read in a process of their own. Not for
//! people.

use clap::Args as ClapArgs;
use std::process::ExitCode;
use std::time::Duration;
use types::Problem;

#[derive(ClapArgs, Debug)]
pub struct Args {
    /// Most memory, in bytes
    memory: u64,
    /// Most processor time for each document, in milliseconds
    time: u64,
}

pub fn run(args: &Args) -> Result<ExitCode, Problem> {
    crawl::documents::serve(args.memory, Duration::from_millis(args.time))?;
    Ok(ExitCode::SUCCESS)
}
