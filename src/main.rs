//! `gleaner`: the command line. Only this crate prints.

mod cli;
mod dashboard;
mod engines;
mod highlight;
mod labelling;
mod pages;
mod report;
mod text;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::main()
}
