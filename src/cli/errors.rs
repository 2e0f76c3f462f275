//! `gleaner errors DIR`: which URLs gave no page, why, when, how often, and on which page the link stands.

use super::setup;
use crate::text::{count, strip_controls, things, time};
use clap::Args as ClapArgs;
use console::style;
use crawl::reader::{Miss, MissFilter, Reader};
use crawl::steer::inbox::Inbox;
use crawl::steer::{Command, Effect, stopped};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;
use types::Problem;

const EXAMPLES: &str = "\
Examples:
  gleaner errors db                                  what failed, by kind, and the first 20 URLs
  gleaner errors db --kind timeout --limit 100       one kind: an outcome (http-error) or a word of the list (http-503)
  gleaner errors db --host www.example.org --json    one JSON object per URL
  gleaner errors db --kind http-503 --retry          exactly these are asked for again: now by a crawl that runs, or by the next";

#[derive(ClapArgs, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Collection folder
    #[arg(required_unless_present = "store")]
    dir: Option<PathBuf>,
    #[command(flatten)]
    shared: setup::StoreArgs,
    /// Only this kind: an outcome such as `http-error`, or the word of a try such as `http-404` or `timeout`
    #[arg(long, value_name = "KIND")]
    kind: Option<String>,
    /// Only URLs of this host, and of hosts below it
    #[arg(long, value_name = "HOST")]
    host: Option<String>,
    /// Most URLs shown [default: 20; with --json: all]
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// URLs left out at the top, to read on
    #[arg(long, default_value_t = 0, value_name = "N")]
    offset: usize,
    /// One JSON object per URL
    #[arg(long)]
    json: bool,
    /// Ask for all of these again: at once if a crawl is running here, else when it goes on
    #[arg(long, conflicts_with_all = ["limit", "offset"])]
    retry: bool,
}

/// How long a crawl that is running may take to obey.
const PATIENCE: Duration = Duration::from_secs(20);
/// URLs that are shown to people unless they ask for more.
const SHOWN: usize = 20;

pub fn run(args: Args) -> Result<ExitCode, Problem> {
    let reader = setup::read_from(args.dir.as_deref(), &args.shared)?;
    let filter = MissFilter { kind: args.kind.as_deref(), host: args.host.as_deref() };
    if args.retry {
        return retry(&args, &reader, filter);
    }
    if args.json {
        let misses = reader.misses(filter, args.offset, args.limit.unwrap_or(usize::MAX))?;
        for miss in &misses {
            let line =
                serde_json::to_string(miss).map_err(|e| Problem::new("cannot write JSON").because(e))?;
            println!("{line}");
        }
        return Ok(setup::exit_code(&reader));
    }
    let kinds = reader.count_misses(filter)?;
    if kinds.is_empty() {
        println!("{}", nothing(filter));
        return Ok(setup::exit_code(&reader));
    }
    let wide = kinds.iter().map(|k| k.error.chars().count()).max().unwrap_or(0);
    for k in &kinds {
        let of = if k.error.starts_with("http-") || k.error == k.kind { "" } else { k.kind };
        let (urls, hosts) = (things(k.urls, "URL"), things(k.hosts, "host"));
        let error = strip_controls(&k.error);
        let of = if of.is_empty() { String::new() } else { format!("  {}", style(of).dim()) };
        println!("  {}  {urls} on {hosts}{of}", style(format!("{error:wide$}")).bold());
    }
    let total: u64 = kinds.iter().map(|k| k.urls).sum();
    let misses = reader.misses(filter, args.offset, args.limit.unwrap_or(SHOWN))?;
    println!();
    misses.iter().for_each(show);
    let more = total.saturating_sub((args.offset + misses.len()) as u64);
    if more > 0 {
        println!("and {} more (--limit N, --kind, --host, --json)", count(more));
    }
    Ok(setup::exit_code(&reader))
}

fn nothing(filter: MissFilter) -> &'static str {
    match filter.kind.or(filter.host) {
        Some(_) => "no such URL failed (`gleaner errors DIR` shows all that did)",
        None => {
            "nothing failed: every URL that was asked for gave a page or a redirect, or waits to be asked \
             again"
        }
    }
}

fn show(miss: &Miss) {
    println!("{}", style(strip_controls(&miss.url)).cyan());
    let when = miss.at.map_or_else(String::new, |at| format!(" · {}", time(at)));
    let tries = match miss.attempts {
        0 | 1 => String::new(),
        n => format!(" · {n} tries"),
    };
    println!("  {} · {}{when}{tries}", miss.error, strip_controls(&miss.what));
    let anchor = strip_controls(&miss.anchor);
    let on = match (&miss.parent, anchor.is_empty()) {
        (None, _) => "given as a seed".to_string(),
        (Some(parent), true) => format!("link on {}", strip_controls(parent)),
        (Some(parent), false) => format!("link “{anchor}” on {}", strip_controls(parent)),
    };
    println!("  {}", style(on).dim());
}

fn retry(args: &Args, reader: &Reader, filter: MissFilter) -> Result<ExitCode, Problem> {
    let Some(dir) = args.dir.as_deref().filter(|_| args.shared.store.is_none()) else {
        return Err(Problem::usage("--retry is for a collection in a folder")
            .hint("`gleaner steer --store … seed URL` asks again for one that gave no answer"));
    };
    let ids = reader.missed_ids(filter)?;
    if ids.is_empty() {
        println!("{}", nothing(filter));
        return Ok(ExitCode::SUCCESS);
    }
    let (effect, at_once) = ask(dir, reader, ids)?;
    if args.json {
        let json = serde_json::json!({ "text": effect.text, "changed": effect.changed, "running": at_once });
        println!("{json}");
    } else if at_once || effect.changed == 0 {
        println!("{}", effect.text);
    } else {
        println!("{}: `gleaner crawl --out {}` does it", effect.text, dir.display());
    }
    Ok(ExitCode::SUCCESS)
}

/// Whether a running crawl was asked, and what came of it.
fn ask(dir: &Path, reader: &Reader, ids: Vec<types::UrlId>) -> Result<(Effect, bool), Problem> {
    let running = || store::ledger::is_locked(dir);
    if running() {
        let command = Command::Retry(ids.clone());
        if let Some(effect) = Inbox::of(dir).ask(&command, PATIENCE, &running)? {
            return Ok((effect, true));
        }
        // It has ended meanwhile.
    }
    Ok((stopped::retry(dir, reader.config(), &ids)?, false))
}
