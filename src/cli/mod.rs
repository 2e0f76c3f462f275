//! One file per command. Each has `Args` (what clap reads) and `run` (what it does).

// The standard macros panic when the reader of a pipe has gone (`gleaner search … | head -1`). In every
// command below these take their place: a closed standard output is a quiet end, a closed standard error is
// no matter.
macro_rules! print {
    ($($arg:tt)*) => { $crate::cli::output::print(format_args!($($arg)*), "") };
}
macro_rules! println {
    () => { $crate::cli::output::print(format_args!(""), "\n") };
    ($($arg:tt)*) => { $crate::cli::output::print(format_args!($($arg)*), "\n") };
}
macro_rules! eprint {
    ($($arg:tt)*) => { $crate::cli::output::complain(format_args!($($arg)*), "") };
}
macro_rules! eprintln {
    () => { $crate::cli::output::complain(format_args!(""), "\n") };
    ($($arg:tt)*) => { $crate::cli::output::complain(format_args!($($arg)*), "\n") };
}

mod backtest;
mod changes;
mod check;
mod compact;
mod config;
mod conversation;
mod copy;
mod crawl;
mod demo;
mod doctor;
mod draft;
mod errors;
mod experiment;
mod explain;
mod export;
mod extract;
mod fetch;
mod gathered;
mod genres;
mod guide;
mod import;
mod judge;
mod label;
mod lines;
mod lists;
mod mcp;
mod merge;
mod new;
mod output;
mod picker;
mod plot;
mod progress;
mod reach;
mod read_document;
mod refresh;
mod rejudge;
mod remove;
mod repair;
mod report;
mod search;
mod seeds;
mod serve;
mod setup;
mod source;
mod split;
mod status;
mod steer;
mod teach;
mod terms;
mod threshold;
mod train;
mod trial;
mod watch;

pub use setup::TopicFlags;

use ::crawl::documents::{self as crawl_documents, Program};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, Parser, Subcommand};
use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;
use types::Problem;

const EXAMPLES: &str = "\
Examples:
  gleaner demo                                     see it work, without internet
  gleaner new --subject \"relational databases\" --genre syllabus -o db.toml
  gleaner crawl db.toml --seed https://www.example.edu/courses/ --pages 1000 --contact you@example.org
  gleaner search db \"query optimization\"            search what was found
  gleaner explain db https://www.example.edu/db101  why was this page fetched?
  gleaner export db --format jsonl -o db.jsonl
  gleaner backtest --web DIR --topic db.toml --strategies all --out results

Exit codes: 0 done, 1 failure, 2 usage or configuration, 3 stopped by the user, 4 nothing to do.";

/// A focused web crawler: say what you want, get those pages, fetch little else.
#[derive(Parser)]
#[command(name = "gleaner", version, about, after_help = EXAMPLES, max_term_width = 110)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    /// Say more on standard error (-v: warnings, -vv: everything)
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    verbose: u8,
}

#[derive(Subcommand)]
enum Command {
    /// Crawl the Web (or go on with a crawl) for the pages of a topic
    Crawl(Box<crawl::Args>),
    /// Visit the pages of a collection again: what changed, what is gone, what moved?
    Refresh(Box<refresh::Args>),
    /// Look after a collection: come back for what is new and what has changed, in rounds
    Watch(Box<watch::Args>),
    /// See everything work on a small built-in web, without internet
    Demo(demo::Args),
    /// Write a topic file
    New(new::Args),
    /// Show the built-in genres
    Genres(genres::Args),
    /// Suggest terms from example pages
    Terms(terms::Args),
    /// Find seed pages with a search engine
    Seeds(seeds::Args),
    /// Where to draw the line between relevant and not
    Threshold(threshold::Args),
    /// How a collection stands
    Status(status::Args),
    /// What is new, changed, gone or moved since a time; as text, JSON, a page, Atom or JSON Feed
    Changes(changes::Args),
    /// Which URLs gave no page, why and when; ask for exactly these again
    Errors(errors::Args),
    /// Search the pages of a collection
    Search(search::Args),
    /// Dashboard and REST API in the browser: watch, search, explain
    Serve(serve::Args),
    /// Collections as tools of language models (Model Context Protocol)
    Mcp(mcp::Args),
    /// Why was this page fetched, and how was it judged?
    Explain(explain::Args),
    /// Say of pages whether they are relevant
    Label(label::Args),
    /// Ask a language model about pages of a collection, within a budget
    Teach(teach::Args),
    /// Pause, resume, stop or change a crawl that workers share
    Steer(steer::Args),
    /// Apply a changed topic or new labels to a collection, without fetching
    Rejudge(rejudge::Args),
    /// Take pages out of a collection for good: archive, ledger, index, text
    Remove(remove::Args),
    /// Give space back: the ledger without what was replaced, the search index made again
    Compact(compact::Args),
    /// Copy a collection, also one that is being crawled
    Copy(copy::Args),
    /// Make one collection of several
    Merge(merge::Args),
    /// Make a collection of some pages of another
    Split(split::Args),
    /// Is every record, reference and index entry of a collection what it was?
    Check(check::Args),
    /// Bring back what a damaged collection still has
    Repair(repair::Args),
    /// Write a collection's pages for others: JSON lines, CSV, Parquet, WARC, Markdown, feeds …
    Export(export::Args),
    /// Take pages of WARC and WACZ files into a collection, without fetching
    Import(import::Args),
    /// Write a crawl's report.html, or compare two backtest results
    Report(report::Args),
    /// Run strategies on a recorded or generated web and compare them
    Backtest(Box<backtest::Args>),
    /// Look into the findings of the literature on recorded or generated webs
    Experiment(experiment::Args),
    /// Teach a judge from examples, or a strategy from a finished crawl
    Train(Box<train::Args>),
    /// Fetch one URL and show every hop
    Fetch(fetch::Args),
    /// Show what is read from a page: text, links, language
    Extract(extract::Args),
    /// Judge pages by a topic, with reasons, before spending a budget
    Judge(judge::Args),
    /// List the strategies, or explain one
    #[command(after_help = "Examples:\n  gleaner strategies\n  gleaner strategies best-first")]
    Strategies(lists::Args),
    /// List the judges, or explain one
    #[command(after_help = "Examples:\n  gleaner judges\n  gleaner judges genre")]
    Judges(lists::Args),
    /// Show every setting, its value and where it came from
    #[command(
        after_help = "Examples:\n  gleaner config topic.toml\n  gleaner config topic.toml --pages 100 \
                      --delay 2s"
    )]
    Config(Box<crawl::Args>),
    /// Read documents for a crawler (started by it)
    #[command(hide = true)]
    ReadDocument(read_document::Args),
    /// Look at this machine, and say what is wrong and what to do
    Doctor(doctor::Args),
    /// Print completions for a shell
    #[command(after_help = "Examples:\n  gleaner completions bash > \
                      ~/.local/share/bash-completion/completions/gleaner")]
    Completions {
        /// For which shell
        shell: clap_complete::Shell,
    },
    /// Write the manual pages into a folder (for those who make packages)
    #[command(hide = true)]
    Man {
        /// Folder for gleaner.1, gleaner-crawl.1 and so on
        dir: PathBuf,
    },
}

pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(e) => match unfit(&e) {
            Some(problem) => return complain(&problem),
            None => e.exit(),
        },
    };
    if let Some(program) = Program::this(&["read-document"]) {
        crawl_documents::read_apart(program);
    }
    let level = match cli.verbose {
        0 => tracing::Level::ERROR,
        1 => tracing::Level::WARN,
        _ => tracing::Level::DEBUG,
    };
    tracing_subscriber::fmt().with_max_level(level).with_writer(std::io::stderr).init();
    match run(cli.command) {
        Ok(code) => code,
        Err(problem) => complain(&problem),
    }
}

fn complain(problem: &Problem) -> ExitCode {
    // It may quote what a page, a file or somebody else's message says.
    let quiet = |c: char| if c.is_control() && c != '\n' { ' ' } else { c };
    let problem_text: String = problem.to_string().chars().map(quiet).collect();
    eprintln!("{} {problem_text}", console::style("error:").red().bold().for_stderr());
    ExitCode::from(problem.exit_code())
}

/// A value that its option does not take, said as every other problem is. The rest clap says well enough.
fn unfit(e: &clap::Error) -> Option<Problem> {
    let text = |kind| match e.get(kind) {
        Some(ContextValue::String(s)) => Some(s.as_str()),
        _ => None,
    };
    if e.kind() != ErrorKind::ValueValidation {
        return None;
    }
    let option = text(ContextKind::InvalidArg)?.split(' ').next()?;
    let value = text(ContextKind::InvalidValue)?;
    let cause = e.source().map_or_else(String::new, ToString::to_string);
    let (cause, example) = match cause.starts_with("invalid digit") {
        true => (format!("`{value}` is not a whole number"), format!("write digits, as in {option} 500; ")),
        false => (cause, String::new()),
    };
    let command = std::env::args().nth(1).unwrap_or_default();
    Some(
        Problem::usage(format!("{option} cannot be `{value}`"))
            .because(cause)
            .hint(format!("{example}`gleaner {command} --help` explains every option")),
    )
}

fn run(command: Command) -> Result<ExitCode, Problem> {
    match command {
        Command::Crawl(args) => crawl::run(*args),
        Command::Refresh(args) => refresh::run(*args),
        Command::Watch(args) => watch::run(*args),
        Command::Demo(args) => demo::run(args),
        Command::New(args) => new::run(args),
        Command::Genres(args) => genres::run(args),
        Command::Terms(args) => terms::run(args),
        Command::Seeds(args) => seeds::run(args),
        Command::Threshold(args) => threshold::run(args),
        Command::Status(args) => status::run(args),
        Command::Changes(args) => changes::run(args),
        Command::Errors(args) => errors::run(args),
        Command::Search(args) => search::run(args),
        Command::Serve(args) => serve::run(args),
        Command::Mcp(args) => mcp::run(args),
        Command::Explain(args) => explain::run(args),
        Command::Label(args) => label::run(args),
        Command::Teach(args) => teach::run(args),
        Command::Steer(args) => steer::run(args),
        Command::Rejudge(args) => rejudge::run(args),
        Command::Remove(args) => remove::run(args),
        Command::Compact(args) => compact::run(args),
        Command::Copy(args) => copy::run(args),
        Command::Merge(args) => merge::run(args),
        Command::Split(args) => split::run(args),
        Command::Check(args) => check::run(args),
        Command::Repair(args) => repair::run(args),
        Command::Export(args) => export::run(args),
        Command::Import(args) => import::run(args),
        Command::Report(args) => report::run(args),
        Command::Backtest(args) => backtest::run(*args),
        Command::Experiment(args) => experiment::run(args),
        Command::Train(args) => train::run(*args),
        Command::Fetch(args) => fetch::run(args),
        Command::Extract(args) => extract::run(args),
        Command::Judge(args) => judge::run(args),
        Command::Strategies(args) => lists::strategies(args),
        Command::Judges(args) => lists::judges(args),
        Command::Config(args) => config::run(*args),
        Command::Doctor(args) => doctor::run(args),
        Command::ReadDocument(args) => read_document::run(&args),
        Command::Completions { shell } => {
            clap_complete::generate(shell, &mut Cli::command(), "gleaner", &mut output::Stdout);
            Ok(ExitCode::SUCCESS)
        }
        Command::Man { dir } => {
            let written = clap_mangen::generate_to(Cli::command(), &dir);
            written.map_err(|e| Problem::io("write the manual", &dir, &e))?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }
}
