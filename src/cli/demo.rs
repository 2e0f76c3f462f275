//! `gleaner demo`: a small built-in web on loopback, crawled exactly as a real one.

use super::crawl::{Args as CrawlArgs, Ran, crawl_into};
use super::progress::Mode;
use crate::text::count;
use clap::Args as ClapArgs;
use console::style;
use crawl::collection::Collection;
use crawl::config::Config;
use crawl::reader::Reader;
use madeup::{Log, SEEDS, Server, Site, Size, TOPIC};
use std::collections::HashSet;
use std::io::IsTerminal;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use types::Problem;

#[derive(ClapArgs, Debug)]
#[command(
    after_help = "Examples:\n  gleaner demo\n  gleaner demo --out /tmp/demo && gleaner search /tmp/demo \"query optimization\""
)]
pub struct Args {
    /// Collection folder
    #[arg(long, short, value_name = "DIR", default_value = "gleaner-demo")]
    out: PathBuf,
    /// Stop after N pages
    #[arg(long, value_name = "N", default_value_t = 500)]
    pages: u64,
    /// Order links with this strategy
    #[arg(long, value_name = "NAME")]
    strategy: Option<String>,
    /// Seed of the generated web and of the crawl
    #[arg(long, value_name = "N", default_value_t = 1)]
    rng: u64,
    /// Pages of the generated web, about (default: some 1,100)
    #[arg(long, value_name = "N")]
    web_pages: Option<usize>,
    /// Print events as JSON lines
    #[arg(long)]
    json: bool,
    /// Only serve the web, for a crawl of your own
    #[arg(long)]
    serve_only: bool,
    /// Where to serve it
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// Append every request to this file
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
    /// Begin again if the folder exists
    #[arg(long)]
    fresh: bool,
}

pub fn run(args: Args) -> Result<ExitCode, Problem> {
    let log = match &args.log {
        Some(path) => Log::to_file(path)?,
        None => Log::off(),
    };
    let size = args.web_pages.map_or(Size::Full, |n| Size::Pages(n.min(1_000_000)));
    let site = Site::new(args.rng, size);
    let relevant: HashSet<String> = site.relevant().into_iter().collect();
    let (pages, hosts) = (site.pages(), site.hosts().len());
    let server = Server::start(site, args.listen, log)?;
    if args.serve_only {
        println!("{}", server.addr());
        eprintln!(
            "serving {pages} pages on {hosts} hosts; crawl it with --resolve '{}' --allow-private",
            server.resolve()
        );
        server.run_forever();
        return Ok(ExitCode::SUCCESS);
    }
    let title = |c: crawl::config::Loaded| c.config.title().to_string();
    let own = title(Config::load(TOPIC, "the demo topic", toml::Table::new())?);
    let there = Config::read(&Collection::topic_file(&args.out), toml::Table::new()).map(title);
    if Collection::exists(&args.out) && there.is_ok_and(|t| t != own) {
        return Err(Problem::usage(format!("{} holds a collection of another topic", args.out.display()))
            .hint("name a folder for the demo with --out"));
    }
    if args.fresh && Collection::exists(&args.out) {
        std::fs::remove_dir_all(&args.out).map_err(|e| Problem::io("remove", &args.out, &e))?;
    }
    if !args.json {
        eprintln!(
            "A web of {} pages on {hosts} hosts is served on {} and crawled as if it were the real one.\nWanted: {}\n",
            count(pages as u64),
            server.addr(),
            style("syllabi of database courses").bold()
        );
    }
    let mut flags = toml::Table::new();
    let resolve = vec![toml::Value::String(server.resolve())];
    super::setup::set(&mut flags, "fetch", "resolve", resolve);
    super::setup::set(&mut flags, "fetch", "allow_private", true);
    super::setup::set(&mut flags, "fetch", "delay", "100ms");
    super::setup::set(&mut flags, "fetch", "attempts", 2);
    // With 42 hosts there is always one that may be asked, mostly for something poor. Here pages are scarce, not time.
    super::setup::set(&mut flags, "limits", "patience", "1s");
    super::setup::set(&mut flags, "limits", "patience_share", 0.25);
    super::setup::set(&mut flags, "limits", "pages", super::setup::number(args.pages));
    super::setup::set(&mut flags, "limits", "time", "50s");
    if let Some(s) = &args.strategy {
        super::setup::set(&mut flags, "strategy", "kind", s.as_str());
    }
    let loaded = Config::load(TOPIC, "the demo topic", flags)?;
    let mode = match (args.json, std::io::stderr().is_terminal()) {
        (true, _) => Mode::Json,
        (_, true) => Mode::Panel,
        _ => Mode::Lines,
    };
    let crawl = CrawlArgs {
        seed: SEEDS.iter().map(|s| s.to_string()).collect(),
        rng: args.rng,
        ..CrawlArgs::default()
    };
    let Ran { stop, reason, progress, .. } = crawl_into(&args.out, &loaded, &crawl, mode)?;
    server.stop();
    if !args.json {
        super::crawl::summary(&args.out, false, stop, &reason, &progress);
        let reader = Reader::open(&args.out)?;
        let mut found = 0;
        for record in reader.records(false) {
            found += u64::from(relevant.contains(&record?.url));
        }
        eprintln!(
            "\n{} of the {} syllabi of database courses in this web were found, with {} pages fetched. (It has {}, and traps that have no end.)",
            style(count(found)).green().bold(),
            relevant.len(),
            count(progress.pages),
            count(pages as u64)
        );
    }
    Ok(super::crawl::exit_code(stop, &progress))
}
