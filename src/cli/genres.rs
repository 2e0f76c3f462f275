//! `gleaner genres`: the built-in lists of what kinds of page say.

use clap::Args as ClapArgs;
use console::style;
use focus::topic::presets;
use std::process::ExitCode;
use types::Problem;

#[derive(ClapArgs, Debug)]
#[command(after_help = "Examples:\n  gleaner genres\n  gleaner genres syllabus")]
pub struct Args {
    /// Show the terms of this one
    name: Option<String>,
}

pub fn run(args: Args) -> Result<ExitCode, Problem> {
    match args.name {
        None => {
            for p in presets::all() {
                println!("{}  {}", style(format!("{:<14}", p.name)).bold(), p.summary);
            }
        }
        Some(name) => {
            let found = presets::find_all(std::slice::from_ref(&name))?;
            for p in found {
                println!("{}: {}", style(p.name).bold(), p.summary);
                for (language, terms) in &p.terms {
                    println!("\n[{}]\n{}", language.code(), terms.join(", "));
                }
                println!("\n[url]\n{}", p.url.join(", "));
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}
