//! `gleaner`: the command line. Only this crate prints.

mod cli;
mod dashboard;
mod engines;
mod labelling;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::main()
}
