//! `gleaner steer --store …`: what is asked of all workers of a shared crawl, without a browser.

use super::setup::{self, StoreArgs};
use clap::{Args as ClapArgs, Subcommand};
use crawl::collection::Collection;
use crawl::reader::Reader;
use crawl::steer::fleet::{Address, FleetCommand};
use crawl::steer::{Command, HostRule, Limits, Pace, Settings};
use crawl::units::Span;
use std::process::ExitCode;
use std::time::Duration;
use types::Problem;

/// How long the workers are waited for.
const WORKERS: Duration = Duration::from_secs(10);

const EXAMPLES: &str = "\
Examples:
  gleaner steer --store postgres://… pause
  gleaner steer --store postgres://… resume
  gleaner steer --store postgres://… limit --pages 100000
  gleaner steer --store postgres://… pace --delay 5s
  gleaner steer --store postgres://… block ads.example.org
  gleaner steer --store postgres://… seed https://www.example.edu/
  gleaner steer --store postgres://… --crawl db stop

Every worker follows within a second or so, and one that joins later starts with it. Labels: `gleaner label --store …`. Terms and
options of the strategy: in the dashboard (`gleaner serve --store …`). A crawl in a folder is steered in the dashboard of its own
process (`gleaner crawl … --serve`); Ctrl-C stops it.";

#[derive(ClapArgs, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The database of the crawl (postgres://…)
    #[arg(long, value_name = "URL", global = true)]
    store: Option<String>,
    /// Which crawl, when the database has several
    #[arg(long, value_name = "NAME", global = true)]
    crawl: Option<String>,
    #[command(subcommand)]
    what: SteerCommand,
}

#[derive(Subcommand, Debug)]
enum SteerCommand {
    /// Fetch nothing more until someone resumes, whoever joins meanwhile
    Pause,
    /// Go on
    Resume,
    /// End every worker that is there; who is started afterwards goes on
    Stop,
    /// Change when the crawl ends; what is not named stays, 0 = no such limit
    #[command(arg_required_else_help = true)]
    Limit {
        /// After so many pages, of all workers
        #[arg(long, value_name = "N")]
        pages: Option<u64>,
        /// After so many relevant pages
        #[arg(long, value_name = "N")]
        relevant: Option<u64>,
        /// After this long, of each worker
        #[arg(long, value_name = "TIME")]
        time: Option<Span>,
    },
    /// Change how fast each worker goes
    #[command(arg_required_else_help = true)]
    Pace {
        /// Requests in flight at the same time
        #[arg(long, value_name = "N")]
        concurrency: Option<usize>,
        /// Pause between two requests to one host
        #[arg(long, value_name = "TIME")]
        delay: Option<Span>,
    },
    /// Fetch nothing more from these hosts
    Block {
        #[arg(required = true)]
        hosts: Vec<String>,
    },
    /// Fetch from these hosts first
    Boost {
        #[arg(required = true)]
        hosts: Vec<String>,
    },
    /// These hosts are as any other again
    Free {
        #[arg(required = true)]
        hosts: Vec<String>,
    },
    /// More pages to start from
    Seed {
        #[arg(required = true)]
        urls: Vec<String>,
    },
}

pub fn run(args: Args) -> Result<ExitCode, Problem> {
    let shared = StoreArgs { store: args.store, crawl: args.crawl };
    let Some(store) = &shared.store else {
        return Err(Problem::usage("which crawl?").hint(
            "name its database with --store; a crawl in a folder is steered in its dashboard \
                   (`gleaner crawl … --serve`)",
        ));
    };
    let reader = setup::read_from(None, &shared)?;
    let name = reader.shared_name().unwrap_or_default().to_string();
    let who = crate::labelling::who("gleaner steer");
    let to = Address { store, crawl: &name, who: &who, patience: WORKERS };
    for command in commands(&args.what, &reader)? {
        let effect = FleetCommand::new(&reader, command)?.give(&to)?;
        println!("{}", effect.text);
    }
    Ok(ExitCode::SUCCESS)
}

fn commands(what: &SteerCommand, reader: &Reader) -> Result<Vec<Command>, Problem> {
    let hosts = |hosts: &[String], rule| {
        let one = |host: &String| match reader.ledger().find_host(host)? {
            Some(_) => Ok(Command::Host { host: host.clone(), rule }),
            None => Err(Problem::nothing(format!("the crawl knows no host `{host}`"))
                .hint("write it as in its URLs: www.example.org, or with a port www.example.org:8080")),
        };
        hosts.iter().map(one).collect::<Result<Vec<_>, _>>()
    };
    let settings = |s| vec![Command::Settings(Box::new(s))];
    let millis = |span: Span| u64::try_from(span.0.as_millis()).unwrap_or(u64::MAX);
    Ok(match what {
        SteerCommand::Pause => vec![Command::Pause],
        SteerCommand::Resume => vec![Command::Resume],
        SteerCommand::Stop => vec![Command::Stop],
        SteerCommand::Limit { pages, relevant, time } => {
            let now = &reader.config().limits;
            let changed =
                |new: Option<u64>, old: Option<u64>| new.map_or(old, |n| Some(n).filter(|n| *n > 0));
            let limits = Limits {
                pages: changed(*pages, now.pages),
                relevant: changed(*relevant, now.relevant),
                time_ms: changed(time.map(millis), now.time.map(millis)),
            };
            settings(Settings { limits: Some(limits), ..Settings::default() })
        }
        SteerCommand::Pace { concurrency, delay } => {
            let pace = Pace { concurrency: *concurrency, delay_ms: delay.map(millis) };
            settings(Settings { fetch: Some(pace), ..Settings::default() })
        }
        SteerCommand::Block { hosts: all } => hosts(all, HostRule::Block)?,
        SteerCommand::Boost { hosts: all } => hosts(all, HostRule::Boost)?,
        SteerCommand::Free { hosts: all } => hosts(all, HostRule::None)?,
        SteerCommand::Seed { urls } => {
            let canon = Collection::canon(reader.config());
            let urls = urls.iter().map(|text| setup::seed(text, &canon));
            vec![Command::Seeds(urls.collect::<Result<_, _>>()?)]
        }
    })
}
