//! `gleaner serve [DIR]`: the dashboard and the REST API.

use super::setup::{self, FetchFlags, StoreArgs};
use crate::dashboard::{App, CRAWLS, Guard, Server, SharedShelf, Shelf, listen};
use crate::text::strip_controls;
use clap::Args as ClapArgs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
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
    /// Start nothing: is a dashboard alive at --listen? The exit code says it, for health checks
    #[arg(long)]
    check: bool,
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
    /// What every request must bring (default: GLEANER_TOKEN, else chosen at random; needed when others can
    /// reach the address)
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
pub struct BoundPort {
    listener: TcpListener,
    guard: Guard,
}

/// How long a dashboard may take to say that it is alive.
const ALIVE: Duration = Duration::from_secs(5);

impl ListenFlags {
    fn address(&self) -> SocketAddr {
        self.listen.unwrap_or_else(|| ([127, 0, 0, 1], 7700).into())
    }

    fn token(&self) -> Option<String> {
        // On the command line others on this machine can see it; in the environment they cannot.
        let from_environment = || std::env::var("GLEANER_TOKEN").ok().filter(|t| !t.is_empty());
        self.token.clone().or_else(from_environment)
    }

    /// Asks the dashboard that listens there how it is.
    fn check(&self) -> Result<(), Problem> {
        let mut address = self.address();
        // One that listens everywhere is asked from here.
        if address.ip().is_unspecified() {
            address.set_ip(if address.is_ipv4() {
                Ipv4Addr::LOCALHOST.into()
            } else {
                Ipv6Addr::LOCALHOST.into()
            });
        }
        let failed =
            |e: std::io::Error| Problem::new(format!("no dashboard answers at {address}")).because(e);
        let mut stream = TcpStream::connect_timeout(&address, ALIVE).map_err(failed)?;
        stream.set_read_timeout(Some(ALIVE)).map_err(failed)?;
        let token = self.token().unwrap_or_default();
        let request = format!(
            "GET /healthz HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n\
             Connection: close\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).map_err(failed)?;
        let mut answer = Vec::new();
        stream.take(1_000).read_to_end(&mut answer).map_err(failed)?;
        let answer = String::from_utf8_lossy(&answer);
        match answer.split(' ').nth(1) {
            Some("200") => Ok(()),
            Some("401") => Err(Problem::new("the dashboard does not know this token")
                .hint("set GLEANER_TOKEN as the dashboard has it")),
            Some(status) => {
                Err(Problem::new(format!("the dashboard answers with status {}", strip_controls(status))))
            }
            None => Err(Problem::new(format!("what listens at {address} is no dashboard"))),
        }
    }

    /// Takes the port, before anything else is done: one that is in use leaves nothing behind.
    pub fn open(&self) -> Result<BoundPort, Problem> {
        let address = self.address();
        let rate = f64::from(self.rate.unwrap_or(200).max(1));
        let mut guard = Guard::new(address, self.token(), self.allow_host.clone(), rate)?;
        let (listener, addr) = listen(address)?;
        guard.listens_on(addr);
        Ok(BoundPort { listener, guard })
    }
}

pub fn run(args: Args) -> Result<ExitCode, Problem> {
    if args.check {
        return args.listen.check().map(|()| ExitCode::SUCCESS);
    }
    let shelf = match args.shared.store {
        Some(store) => {
            let shared = SharedShelf {
                store,
                crawl: args.shared.crawl,
                cache: setup::cache_folder(),
                warc: args.warc,
            };
            check(&shared)?;
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

/// What is wrong with a database is said now, not with the first request.
pub fn check(shared: &SharedShelf) -> Result<(), Problem> {
    match &shared.crawl {
        Some(name) => drop(crawl::reader::Reader::open_shared(&shared.store, Some(name), &shared.cache)?),
        None => drop(store::SharedReader::crawls(&shared.store)?),
    }
    Ok(())
}

pub fn folder(dir: PathBuf) -> Result<Shelf, Problem> {
    if !dir.is_dir() {
        return Err(Problem::usage(format!("{} is not a folder", dir.display()))
            .hint("name a collection, or the folder that holds your collections"));
    }
    Ok(Shelf::new(dir))
}

/// Starts the dashboard.
pub fn start(shelf: Shelf, door: BoundPort, settings: toml::Table, crawls: usize) -> Result<Server, Problem> {
    Server::start(door.listener, Arc::new(App::new(shelf, door.guard, settings, crawls)))
}
