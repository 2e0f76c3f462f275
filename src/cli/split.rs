//! `gleaner split DIR --where … --into D`: some pages of a collection become one of their own.

use super::{gathered, setup};
use crate::exporting::{Condition, select};
use clap::Args as ClapArgs;
use std::path::PathBuf;
use std::process::ExitCode;
use types::{Millis, Problem};

const EXAMPLES: &str = "\
Examples:
  gleaner split db --where 'host=*.example.org' --into example
  gleaner split db --where relevant=yes --into good --rest others      two collections: every page is in one of them
  gleaner split db --where 'url=www.example.org/docs/*' --where language=en --into docs
  gleaner split db --since 30d --into recent

Pages come with all their versions, labels and archived bytes, and with the links that wait on them. DIR is only read. Killed
before it is whole, there is no new collection: run the same command again.";

#[derive(ClapArgs, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Collection folder
    dir: PathBuf,
    /// Pages like this (may be repeated; all must hold): host=www.example.org, host=*.example.org,
    /// url=www.example.org/docs/*, relevant=yes|no, label=yes|no|any|none, language=en, type=application/pdf,
    /// score>=0.8, fetched>=2026-11-01
    #[arg(long = "where", value_name = "CONDITION", required_unless_present = "since")]
    conditions: Vec<String>,
    /// Pages fetched since then, as in 7d, 12h or 2026-11-01
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// The new folder
    #[arg(long, value_name = "DIR")]
    into: PathBuf,
    /// Another new folder, for all other pages
    #[arg(long, value_name = "DIR")]
    rest: Option<PathBuf>,
    /// What came of it, as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: Args) -> Result<ExitCode, Problem> {
    let texts = args.conditions.iter().map(String::as_str);
    let conditions = Condition::all(texts, args.since.as_deref(), Millis::now())?;
    if args.rest.as_deref() == Some(args.into.as_path()) {
        return Err(Problem::usage("--into and --rest are the same folder"));
    }
    let pages = select(&setup::read(&args.dir)?, &conditions)?;
    if pages.is_empty() {
        return Err(Problem::nothing(format!("no page of {} is like that", args.dir.display()))
            .hint("`gleaner export DIR --all --where …` shows which pages a condition holds for"));
    }
    let (made, rest) = crawl::gather::split(&args.dir, &pages, &args.into, args.rest.as_deref())?;
    let all: Vec<_> = std::iter::once(&made).chain(&rest).collect();
    gathered::show(&all, args.json)?;
    Ok(ExitCode::SUCCESS)
}
