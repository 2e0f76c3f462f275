//! `gleaner mcp [DIR]`: collections as tools of language models.

use super::serve;
use super::setup::{self, FetchFlags, StoreArgs};
use crate::dashboard::{App, Guard, SharedShelf, Shelf};
use crate::mcp::{Budget, Permissions, Server};
use clap::Args as ClapArgs;
use crawl::units::Span;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use types::Problem;

const EXAMPLES: &str = "\
Examples:
  gleaner mcp ~/crawls                             search, read and explain the collections in a folder
  gleaner mcp db --allow-label                     one collection, and labels
  gleaner mcp ~/crawls --allow-crawl --pages 200 --time 10m --contact you@example.org
  gleaner mcp --store postgres://user@db.example.org/crawls
  claude mcp add gleaner -- gleaner mcp ~/crawls   or as JSON: {\"command\": \"gleaner\", \"args\": [\"mcp\", \"/srv/crawls\"]}

It speaks the Model Context Protocol on standard input and output; a client starts it. Without --allow-label and --allow-crawl
nothing is written and nothing is fetched. Crawls that a client began end, in order, with the conversation.";

#[derive(ClapArgs, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// A collection, or a folder of collections
    #[arg(default_value = ".", conflicts_with_all = ["collections", "store"])]
    dir: PathBuf,
    /// A folder of collections (the same as naming it without this flag)
    #[arg(long, value_name = "DIR", conflicts_with = "store")]
    collections: Option<PathBuf>,
    #[command(flatten)]
    shared: StoreArgs,
    /// With --store: the folder with the workers' archive files (not needed for those in a bucket)
    #[arg(long, value_name = "DIR", requires = "store")]
    warc: Option<PathBuf>,
    /// Clients may say of pages whether they are relevant
    #[arg(long)]
    allow_label: bool,
    /// Clients may start, go on with and stop crawls
    #[arg(long)]
    allow_crawl: bool,
    /// With --allow-crawl: pages that all crawls of this server may fetch together
    #[arg(long, value_name = "N", default_value_t = 500, value_parser = clap::value_parser!(u64).range(1..))]
    pages: u64,
    /// With --allow-crawl: how long one crawl may run, as in 30m
    #[arg(long, value_name = "TIME", value_parser = setup::span, default_value = "30m")]
    time: Span,
    /// With --allow-crawl: crawls that may run at once
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    crawls: u32,
    /// How crawls that are started here fetch
    #[command(flatten)]
    fetch: FetchFlags,
}

pub fn run(args: Args) -> Result<ExitCode, Problem> {
    let shelf = match args.shared.store {
        Some(store) => {
            let crawl = args.shared.crawl;
            let shared = SharedShelf { store, crawl, cache: setup::cache_folder(), warc: args.warc };
            serve::check(&shared)?;
            Shelf::shared(shared)
        }
        None => serve::folder(args.collections.unwrap_or(args.dir))?,
    };
    let mut flags = toml::Table::new();
    args.fetch.lay(&mut flags);
    // Nobody asks over the network: the guard is never opened.
    let guard = Guard::new(([127, 0, 0, 1], 0).into(), None, Vec::new(), 1.0)?;
    let server = Arc::new(Server {
        app: App::new(shelf, guard, flags, args.crawls as usize),
        allowed: Permissions { label: args.allow_label, crawl: args.allow_crawl },
        budget: Budget::new(args.pages, args.time.0),
    });
    let closing = server.clone();
    ctrlc::set_handler(move || {
        closing.app.close();
        std::process::exit(0);
    })
    .map_err(|e| Problem::new("cannot listen for Ctrl-C").because(e))?;
    if std::io::stdin().is_terminal() {
        eprintln!(
            "{} this speaks the Model Context Protocol, line by line; a client is meant to start it \
             (`gleaner mcp --help`)",
            console::style("note:").cyan().for_stderr()
        );
    }
    let ran = server.run(std::io::stdin().lock(), std::io::stdout());
    server.app.close();
    ran.map(|()| ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;
    use std::time::Duration;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    #[test]
    fn nothing_is_allowed_unless_it_is_said() {
        let args = Line::try_parse_from(["mcp"]).unwrap().args;
        assert!(!args.allow_label && !args.allow_crawl);
        assert_eq!((args.pages, args.time.0, args.crawls), (500, Duration::from_secs(1800), 1));
        assert!(Line::try_parse_from(["mcp", "a", "--collections", "b"]).is_err());
    }
}
