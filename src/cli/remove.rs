//! `gleaner remove DIR URL|HOST|PATTERN --because …`: takes pages out of a collection for good.

use super::setup;
use crate::text::{count, size, strip_controls, things, time};
use clap::Args as ClapArgs;
use console::style;
use crawl::collection::Collection;
use crawl::config::Config;
use crawl::remove::{Order, Removal, Removed, Selector, remove};
use crawl::remove_shared::{SharedCrawl, remove_shared};
use std::path::PathBuf;
use std::process::ExitCode;
use types::Problem;

const EXAMPLES: &str = "\
Examples:
  gleaner remove db http://www.example.org/page --because \"asked for by its author\"
  gleaner remove db www.example.org --because \"court order 12/26\"         a host, and all hosts below it
  gleaner remove db 'www.example.org/private/*' --because privacy          a pattern: * stands for anything
  gleaner remove db www.example.org --dry-run                              what would go
  gleaner remove db --list                                                 what went, when, by whom and why
  gleaner remove --store postgres://… --crawl db --warc w1/warc www.example.org --because privacy

Text, title, links' words and every version go from the archive (WARC files are written again), the ledger, the search index,
the report and whatever was learnt of the page. Its address stays, so that it is never fetched or imported again. Exports that
were made before are not touched; new ones do not have it. A crawl that is running must be stopped first. Killed at any
moment, the collection is as it was, or the next command that writes finishes the removal.";

#[derive(ClapArgs, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Collection folder (left out with --store)
    #[arg(required_unless_present = "store")]
    dir: Option<PathBuf>,
    /// An address, a host, or a pattern with *
    #[arg(value_name = "URL|HOST|PATTERN", required_unless_present_any = ["list", "store"])]
    what: Option<String>,
    #[command(flatten)]
    shared: setup::StoreArgs,
    /// With --store: a folder with archive files of its workers (may be repeated)
    #[arg(long, value_name = "DIR", requires = "store")]
    warc: Vec<PathBuf>,
    /// Why; stands in the list
    #[arg(long, value_name = "REASON", required_unless_present_any = ["list", "dry_run"])]
    because: Option<String>,
    /// Who says so (default: the user of this machine)
    #[arg(long, value_name = "NAME")]
    by: Option<String>,
    /// Only show what would go
    #[arg(long)]
    dry_run: bool,
    /// Also delete DIR/damaged, and leave out bytes of the archive that cannot be read
    #[arg(long)]
    with_damaged: bool,
    /// Show what was removed
    #[arg(long, conflicts_with_all = ["what", "because", "dry_run"])]
    list: bool,
    /// As JSON
    #[arg(long)]
    json: bool,
}

/// Addresses that are shown to people.
const SHOWN: usize = 20;

pub fn run(args: Args) -> Result<ExitCode, Problem> {
    if args.list {
        return list(&args);
    }
    if let Some(store) = &args.shared.store {
        return run_shared(&args, store);
    }
    let (Some(dir), Some(what)) = (&args.dir, args.what.as_deref()) else { return list(&args) };
    Collection::check_remains(dir)?;
    if !Collection::exists(dir) {
        return Err(Problem::usage(format!("{} is not a collection", dir.display()))
            .hint("name the folder that `gleaner crawl` wrote (--out)"));
    }
    let because = because(&args)?;
    let loaded = setup::load(Some(&Collection::topic_file(dir)), toml::Table::new())?;
    let by = args.by.clone().unwrap_or_else(user);
    let order = Order {
        what: Selector::parse(what, &Collection::canon(&loaded.config))?,
        by: &by,
        because,
        with_damaged: args.with_damaged,
        dry_run: args.dry_run,
    };
    let removed = remove(dir, &loaded, &order)?;
    if !args.dry_run {
        crate::report::write(dir)?;
    }
    if args.json {
        println!("{}", json(&removed)?);
    } else {
        show(&removed, args.dry_run, &dir.display().to_string());
    }
    Ok(ExitCode::SUCCESS)
}

fn because(args: &Args) -> Result<&str, Problem> {
    let because = args.because.as_deref().unwrap_or_default().trim();
    if because.is_empty() && !args.dry_run {
        return Err(
            Problem::usage("--because is empty").hint("say why: it stands in the list of what was removed")
        );
    }
    Ok(because)
}

fn run_shared(args: &Args, store: &str) -> Result<ExitCode, Problem> {
    // With --store there is no folder: what is named first is what goes.
    let (None, Some(what)) = (&args.what, args.dir.as_ref().and_then(|what| what.to_str())) else {
        return Err(Problem::usage("--store names a database: name one address, host or pattern beside it")
            .hint("gleaner remove --store postgres://… www.example.org --because \"…\""));
    };
    let because = because(args)?;
    let reader = store::SharedReader::open(store, args.shared.crawl.as_deref())?;
    let loaded = Config::load(reader.topic(), "the topic in the database", toml::Table::new())?;
    let by = args.by.clone().unwrap_or_else(user);
    let order = Order {
        what: Selector::parse(what, &Collection::canon(&loaded.config))?,
        by: &by,
        because,
        with_damaged: args.with_damaged,
        dry_run: args.dry_run,
    };
    let name = reader.name().to_string();
    drop(reader);
    let removed = remove_shared(&SharedCrawl { store, crawl: Some(&name), warc: &args.warc }, &order)?;
    if args.json {
        println!("{}", json(&removed)?);
        return Ok(ExitCode::SUCCESS);
    }
    show(&removed, args.dry_run, &format!("--store … --crawl {name}"));
    let left = &removed.removal.left;
    if !left.is_empty() {
        println!(
            "{} {} of it in archive files that were not named with --warc (file offset+length):",
            style("note:").yellow(),
            things(left.len() as u64, "answer")
        );
        for place in left.iter().take(SHOWN) {
            println!("  {}", strip_controls(place));
        }
        if left.len() > SHOWN {
            println!("  and {} more (--json, --list --json)", count((left.len() - SHOWN) as u64));
        }
    }
    if !args.dry_run {
        println!(
            "PostgreSQL overwrites deleted rows in its files when it needs the room; `VACUUM FULL` of the \
             tables in the schema gleaner does it now"
        );
    }
    Ok(ExitCode::SUCCESS)
}

fn json(value: &impl serde::Serialize) -> Result<String, Problem> {
    serde_json::to_string_pretty(value).map_err(|e| Problem::new("cannot write JSON").because(e))
}

/// The user of this machine, for the list.
fn user() -> String {
    let named = |name: &str| std::env::var(name).ok().filter(|v| !v.trim().is_empty());
    let user = named("USER").or_else(|| named("LOGNAME")).unwrap_or_else(|| "unknown".into());
    match std::fs::read_to_string("/etc/hostname") {
        Ok(host) if !host.trim().is_empty() => format!("{user}@{}", host.trim()),
        _ => user,
    }
}

fn show(removed: &Removed, dry_run: bool, which: &str) {
    let r = &removed.removal;
    for url in removed.gone.iter().take(SHOWN) {
        println!("  {}", style(strip_controls(url)).cyan());
    }
    if removed.gone.len() > SHOWN {
        println!("  and {} more (--json)", count(r.pages - SHOWN as u64));
    }
    let (pages, versions) = (things(r.pages, "page"), things(r.versions, "version"));
    let (answers, urls) = (things(r.answers, "archived answer"), things(r.urls, "URL"));
    match dry_run {
        true => println!("would go: {pages} ({versions}, {answers}); {urls} would never be fetched again"),
        false => {
            println!(
                "{}: {pages} ({versions}, {answers}); {urls} will never be fetched again",
                style("gone").bold()
            );
            if removed.freed > 0 {
                println!("{} are free", size(removed.freed as u64));
            }
            println!("it stands in the list: gleaner remove {which} --list");
        }
    }
    if !removed.copies.is_empty() {
        let stay = if removed.copies.len() == 1 { "stays" } else { "stay" };
        println!(
            "{} {} with the same or nearly the same text {stay}:",
            style("note:").yellow(),
            things(removed.copies.len() as u64, "page")
        );
        for url in removed.copies.iter().take(SHOWN) {
            println!("  {}", strip_controls(url));
        }
    }
}

fn list(args: &Args) -> Result<ExitCode, Problem> {
    let reader = setup::read_from(args.dir.as_deref(), &args.shared)?;
    let removals = Removal::list(&**reader.ledger())?;
    if args.json {
        println!("{}", json(&removals)?);
        return Ok(setup::exit_code(&reader));
    }
    if removals.is_empty() {
        println!("nothing was removed from this collection");
    }
    for r in &removals {
        println!("{}  {}", time(r.at), style(strip_controls(r.what.text())).cyan());
        println!("  by {}, because: {}", strip_controls(&r.by), strip_controls(&r.because));
        let (pages, urls) = (things(r.pages, "page"), things(r.urls, "URL"));
        println!("  {pages} ({}), {urls}", things(r.versions, "version"));
    }
    Ok(setup::exit_code(&reader))
}
