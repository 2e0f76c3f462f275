//! `gleaner strategies` and `gleaner judges`: the lists everything else reads.

use clap::Args as ClapArgs;
use console::style;
use focus::topic::nearest;
use std::process::ExitCode;
use types::Problem;

#[derive(ClapArgs, Debug)]
pub struct Args {
    /// Explain this one
    pub name: Option<String>,
}

struct Item {
    name: &'static str,
    summary: &'static str,
    doc: &'static str,
}

pub fn strategies(args: Args) -> Result<ExitCode, Problem> {
    let items: Vec<Item> = focus::strategies::ALL
        .iter()
        .map(|e| Item { name: e.name, summary: e.summary, doc: e.doc })
        .collect();
    show("strategy", &items, args.name)
}

pub fn judges(args: Args) -> Result<ExitCode, Problem> {
    let items: Vec<Item> =
        focus::judges::ALL.iter().map(|e| Item { name: e.name, summary: e.summary, doc: e.doc }).collect();
    show("judge", &items, args.name)
}

fn show(what: &str, items: &[Item], name: Option<String>) -> Result<ExitCode, Problem> {
    match name {
        None => {
            let width = items.iter().map(|i| i.name.len()).max().unwrap_or(0);
            for item in items {
                println!("{}  {}", style(format!("{:<width$}", item.name)).bold(), item.summary);
            }
        }
        Some(name) => {
            let item = items.iter().find(|i| i.name == name).ok_or_else(|| {
                let p = Problem::usage(format!("there is no {what} `{name}`"));
                match nearest(&name, items.iter().map(|i| i.name)) {
                    Some(near) => p.hint(format!("did you mean `{near}`?")),
                    None => {
                        let names: Vec<&str> = items.iter().map(|i| i.name).collect();
                        p.hint(format!("there are {}", names.join(", ")))
                    }
                }
            })?;
            println!("{}: {}\n\n{}", style(item.name).bold(), item.summary, item.doc.trim());
        }
    }
    Ok(ExitCode::SUCCESS)
}
