//! `gleaner serve [DIR]`: the dashboard and the REST API.

use super::setup::{self, FetchFlags, StoreArgs};
use crate::dashboard::{App, CRAWLS, Guard, Server, SharedShelf, Shelf, listen};
use clap::Args as ClapArgs;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use types::Problem;

const EXAMPLES: &str = "\
Examples:
  gleaner serve                                   the collections in this folder
  gleaner serve ~/crawls --listen 127.0.0.1:8080
  gleaner serve --store postgres://user@db.example.org/crawls   the crawls that workers share there
  curl -H 'Authorization: Bearer TOKEN' 'http://127.0.0.1:7700/search?q=joins&format=json'

The address that is printed holds a token; without it every request is answered 401. It works while crawls run.
The API is described at /api/v1/openapi.json; numbers for Prometheus are at /metrics.";

#[derive(ClapArgs, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// A collection, or a folder of collections
    #[arg(default_value = ".")]
    dir: PathBuf,
    #[command(flatten)]
    shared: StoreArgs,
    /// With --store: the folder with the workers' archive files (not needed for those in a bucket)
    #[arg(long, value_name = "DIR", requires = "store")]
    warc: Option<PathBuf>,
    #[command(flatten)]
    listen: ListenFlags,
    /// Crawls that may run here at once
    #[arg(long, value_name = "N", default_value_t = CRAWLS as u32, value_parser = clap::value_parser!(u32).range(1..))]
    crawls: u32,
    /// How crawls that are started here fetch
    #[command(flatten)]
    fetch: FetchFlags,
}

/// Where and to whom the dashboard answers.
#[derive(ClapArgs, Debug, Default, Clone)]
pub struct ListenFlags {
    /// Where the dashboard listens (default: 127.0.0.1:7700)
    #[arg(long, value_name = "ADDR", value_parser = setup::address)]
    pub listen: Option<SocketAddr>,
    /// What every request must bring (default: GLEANER_TOKEN, else chosen at random; needed when others can reach the address)
    #[arg(long, value_name = "T")]
    pub token: Option<String>,
    /// A further host name under which it is reached
    #[arg(long, value_name = "NAME")]
    pub allow_host: Vec<String>,
    /// Requests per second that are answered (default: 200)
    #[arg(long, value_name = "N")]
    pub rate: Option<u32>,
}

/// A port that is taken, and whom it lets in.
pub struct Door {
    listener: TcpListener,
    guard: Guard,
}

impl ListenFlags {
    /// Takes the port, before anything else is done: one that is in use leaves nothing behind.
    pub fn open(&self) -> Result<Door, Problem> {
        let address = self.listen.unwrap_or_else(|| ([127, 0, 0, 1], 7700).into());
        let rate = f64::from(self.rate.unwrap_or(200).max(1));
        // On the command line others on this machine can see it; in the environment they cannot.
        let from_environment = || std::env::var("GLEANER_TOKEN").ok().filter(|t| !t.is_empty());
        let token = self.token.clone().or_else(from_environment);
        let mut guard = Guard::new(address, token, self.allow_host.clone(), rate)?;
        let (listener, addr) = listen(address)?;
        guard.listens_on(addr);
        Ok(Door { listener, guard })
    }
}

pub fn run(args: Args) -> Result<ExitCode, Problem> {
    let shelf = match args.shared.store {
        Some(store) => {
            let shared = SharedShelf {
                store,
                crawl: args.shared.crawl,
                cache: setup::cache_folder(),
                warc: args.warc,
            };
            // What is wrong with it is said now, not with the first request.
            match &shared.crawl {
                Some(name) => {
                    drop(crawl::reader::Reader::open_shared(&shared.store, Some(name), &shared.cache)?)
                }
                None => drop(store::SharedReader::crawls(&shared.store)?),
            }
            Shelf::shared(shared)
        }
        None => folder(args.dir)?,
    };
    let mut flags = toml::Table::new();
    args.fetch.lay(&mut flags);
    let server = start(shelf, args.listen.open()?, flags, args.crawls as usize)?;
    println!("{}", server.url());
    let app = server.app();
    let presses = AtomicU32::new(0);
    ctrlc::set_handler(move || {
        if presses.fetch_add(1, Ordering::SeqCst) == 0 {
            // Nothing is lost either way.
            app.close();
        }
        std::process::exit(0);
    })
    .map_err(|e| Problem::new("cannot listen for Ctrl-C").because(e))?;
    server.run_forever();
    Ok(ExitCode::SUCCESS)
}

fn folder(dir: PathBuf) -> Result<Shelf, Problem> {
    if !dir.is_dir() {
        return Err(Problem::usage(format!("{} is not a folder", dir.display()))
            .hint("name a collection, or the folder that holds your collections"));
    }
    Ok(Shelf::new(dir))
}

/// Starts the dashboard.
pub fn start(shelf: Shelf, door: Door, settings: toml::Table, crawls: usize) -> Result<Server, Problem> {
    Server::start(door.listener, Arc::new(App::new(shelf, door.guard, settings, crawls)))
}
