//! `gleaner`: the command line. Only this crate prints.

// Doc comments of arguments are the help that people read: `url<TAB>label`.
#![allow(rustdoc::invalid_html_tags)]

mod changes;
mod cli;
mod dashboard;
mod engines;
mod exporting;
mod highlight;
mod labelling;
mod markdown;
mod mcp;
mod notify;
mod pages;
mod report;
mod text;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::main()
}
