//! `gleaner check DIR`: is every record, reference and index entry of a collection what it was?

use super::setup;
use crate::text::{count, strip_controls, things};
use clap::Args as ClapArgs;
use console::style;
use crawl::check::{CheckReport, Fault, RepairReport, check, check_and_repair, check_shared};
use crawl::collection::Collection;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use store::archive::Stacks;
use types::Problem;

const EXAMPLES: &str = "\
Examples:
  gleaner check db                   read everything and compare it with its checksums; changes nothing
  gleaner check db --repair          and set right what can be without loss
  gleaner check db --json            every fault, for programs
  gleaner check --store postgres://user@db.example.org/crawls --crawl db --warc archive/

It compares every record of the ledger and of the archive with its checksums, every page with its place in the archive, and
the search index with the pages. What is damaged and cannot be brought back is named; nothing is deleted. A collection that
is being crawled can be checked, not repaired. Exit codes: 0 nothing is wrong (or all of it was repaired), 1 something is.";

#[derive(ClapArgs, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Collection folder
    #[arg(required_unless_present = "store")]
    dir: Option<PathBuf>,
    #[command(flatten)]
    shared: setup::StoreArgs,
    /// With --store: the folder with the workers' archive files (not needed for those in a bucket)
    #[arg(long, value_name = "DIR", requires = "store")]
    warc: Option<PathBuf>,
    /// Set right what can be set right without loss
    #[arg(long, conflicts_with = "store")]
    repair: bool,
    /// What was found, as JSON
    #[arg(long)]
    json: bool,
}

/// Faults of one part that are shown to people.
const SHOWN: usize = 20;

pub fn run(args: Args) -> Result<ExitCode, Problem> {
    let mended = match (&args.dir, &args.shared.store) {
        (Some(dir), None) if args.repair => repair(dir)?,
        (Some(dir), None) => looked_at(check_folder(dir)?),
        _ => looked_at(database(&args)?),
    };
    if args.json {
        let json = match args.repair {
            true => serde_json::to_string_pretty(&mended),
            false => serde_json::to_string_pretty(&mended.now),
        };
        println!("{}", json.map_err(|e| Problem::new("cannot write JSON").because(e))?);
    } else {
        show(&mended, &args);
    }
    Ok(if mended.now.faults.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Nothing was changed.
fn looked_at(now: CheckReport) -> RepairReport {
    RepairReport { found: now.clone(), repaired: Vec::new(), now }
}

fn check_folder(dir: &Path) -> Result<CheckReport, Problem> {
    known(dir)?;
    // A topic file that cannot be read is no reason not to look at the rest.
    let loaded = setup::load(Some(&Collection::topic_file(dir)), toml::Table::new());
    let mut found = check(dir, loaded.as_ref().map_or(true, |l| l.config.archive.index))?;
    if let Err(problem) = loaded {
        found.notes.push(problem.what().to_string());
    }
    Ok(found)
}

fn repair(dir: &Path) -> Result<RepairReport, Problem> {
    known(dir)?;
    let loaded = setup::load(Some(&Collection::topic_file(dir)), toml::Table::new())?;
    let mended = check_and_repair(dir, &loaded, 0)?;
    if !mended.repaired.is_empty() {
        crate::report::write(dir)?;
    }
    Ok(mended)
}

fn known(dir: &Path) -> Result<(), Problem> {
    if Collection::exists(dir) || Collection::check_remains(dir).is_err() {
        return Ok(());
    }
    Err(Problem::usage(format!("{} is not a collection", dir.display()))
        .hint("name the folder that `gleaner crawl` wrote (--out)"))
}

fn database(args: &Args) -> Result<CheckReport, Problem> {
    let reader = setup::read_from(None, &args.shared)?;
    // Records in a bucket are found without a folder.
    let in_bucket = reader.config().archive.to.is_some();
    let archive = (args.warc.is_some() || in_bucket).then(|| Stacks::new(args.warc.clone()).reading_on());
    check_shared(&**reader.ledger(), archive.as_ref())
}

fn show(mended: &RepairReport, args: &Args) {
    let now = &mended.now;
    println!(
        "looked at {} ({}), {}, {}, {} in the search index",
        things(now.pages, "page"),
        things(now.versions, "version"),
        things(now.urls, "URL"),
        things(now.archive_records, "archive record"),
        count(now.indexed)
    );
    if now.running {
        println!("a crawl is running here: what it has not committed was left out");
    }
    for note in &now.notes {
        println!("{} {}", style("note:").yellow(), strip_controls(note));
    }
    if !mended.repaired.is_empty() {
        println!("{}", style("repaired").green().bold());
        list(&mended.repaired);
    }
    if now.faults.is_empty() {
        let end = if mended.repaired.is_empty() { "nothing is wrong" } else { "nothing is wrong any more" };
        println!("{}", style(end).green());
        return;
    }
    println!("{}", style("what is wrong").red().bold());
    list(&now.faults);
    println!(
        "{} known: {} sound, {} damaged, {} missing",
        things(now.before, "page"),
        count(now.sound),
        count(now.damaged),
        count(now.missing)
    );
    let repairable = now.faults.iter().filter(|f| f.repairable).count() as u64;
    if let Some(dir) = args.dir.as_ref().filter(|_| repairable > 0 && !args.repair) {
        println!(
            "{} can be repaired without loss: gleaner check {} --repair",
            things(repairable, "fault"),
            dir.display()
        );
    }
}

fn list(faults: &[Fault]) {
    for of_part in faults.chunk_by(|a, b| a.part == b.part) {
        for fault in of_part.iter().take(SHOWN) {
            let place = strip_controls(&fault.place);
            println!("  {:9}  {place}: {}", fault.part.name(), strip_controls(&fault.what));
        }
        if of_part.len() > SHOWN {
            println!("  {:9}  and {} more (--json)", "", count((of_part.len() - SHOWN) as u64));
        }
    }
}
