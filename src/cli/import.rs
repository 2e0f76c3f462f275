//! `gleaner import FILE… --out DIR`: pages of other people's archives, taken into a collection.

use super::setup::{self, TopicFlags};
use crate::text::{count, things};
use clap::Args as ClapArgs;
use crawl::collection::Collection;
use crawl::config::Config;
use crawl::import::{Imported, files, import};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use toml::Table;
use types::Problem;

const EXAMPLES: &str = "\
Examples:
  gleaner import crawl.wacz --topic db.toml --out db        a new collection of a WACZ file's pages
  gleaner import warcs/ more.warc.gz --out db               more pages for a collection that is there
  gleaner crawl db/topic.toml --out db --contact you@example.org   go on from the links of those pages

Nothing is fetched. Every page is judged by the topic, archived and indexed as if the crawl had fetched it; its links wait
to be fetched. Pictures, redirects and errors are passed over, pages that are there already stay as they are.";

#[derive(ClapArgs, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// WARC and WACZ files, or folders of them
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Collection folder
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Topic file (default: the collection's own)
    #[arg(long, value_name = "TOPIC.toml")]
    topic: Option<PathBuf>,
    #[command(flatten)]
    flags: TopicFlags,
    /// Seed of all chance
    #[arg(long, value_name = "N", default_value_t = 0)]
    rng: u64,
    /// What came of it, as JSON
    #[arg(long)]
    json: bool,
}

/// Between two lines of progress.
const TOLD_EVERY: u64 = 100;

pub fn run(args: Args) -> Result<ExitCode, Problem> {
    let dir = &args.out;
    let files = files(&args.files)?;
    let mut table = Table::new();
    args.flags.lay(&mut table);
    let own = Collection::topic_file(dir);
    let loaded = match &args.topic {
        Some(topic) if Collection::exists(dir) && !same_text(topic, &own) => {
            return Err(Problem::usage(format!("{} has a topic of its own", dir.display())).hint(
                "leave --topic out to import by that one; `gleaner rejudge DIR TOPIC.toml` changes it \
                 afterwards",
            ));
        }
        Some(topic) => setup::load(Some(topic), table)?,
        None if Collection::exists(dir) => Config::read(&own, Table::new())?,
        None if table.is_empty() => {
            return Err(Problem::usage(format!("{} is not a collection yet", dir.display()))
                .hint("say what is wanted with --topic TOPIC.toml, or with --subject, --genre or --query"));
        }
        None => setup::load(None, table)?,
    };
    let shown = std::io::stderr().is_terminal() && !args.json;
    let tell = |path: &Path, so_far: &Imported| {
        if shown && (so_far.pages + so_far.passed_over).is_multiple_of(TOLD_EVERY) {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            eprint!("\r{name}: {} pages, {} passed over ", count(so_far.pages), count(so_far.passed_over));
        }
    };
    let done = import(dir, &loaded, &files, args.rng, &tell)?;
    if shown {
        eprintln!();
    }
    if args.json {
        let json = serde_json::to_value(&done).map_err(|e| Problem::new("cannot write JSON").because(e))?;
        println!("{json:#}");
    } else {
        say(dir, &done);
    }
    // Files without a single page: whoever runs this by a script must notice.
    Ok(if done.pages + done.known == 0 { ExitCode::from(4) } else { ExitCode::SUCCESS })
}

fn same_text(a: &Path, b: &Path) -> bool {
    std::fs::read(a).ok().zip(std::fs::read(b).ok()).is_some_and(|(a, b)| a == b)
}

fn say(dir: &Path, done: &Imported) {
    println!("{} imported, {} of them relevant", things(done.pages, "page"), count(done.relevant));
    if done.known > 0 {
        println!("{} were there already", things(done.known, "page"));
    }
    if done.passed_over > 0 {
        println!(
            "{} passed over: no pages (pictures, redirects, errors …)",
            things(done.passed_over, "answer")
        );
    }
    if done.damaged > 0 {
        setup::warn(&format!("{} in the files could not be read", things(done.damaged, "place")));
    }
    let dir = dir.display();
    println!(
        "{} wait to be fetched: gleaner crawl {dir}/topic.toml --out {dir}",
        things(done.pending, "URL")
    );
}
