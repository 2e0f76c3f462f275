//! `gleaner demo`: a small built-in web on loopback, crawled exactly as a real one, and breadth-first beside
//! it.

use super::crawl::{Args as CrawlArgs, FinishedCrawl, crawl_into};
use super::plot::{Curve, plot};
use super::progress::Mode;
use super::serve::ListenFlags;
use super::setup::{self, FetchFlags, number, set};
use crate::text::{count, duration, things, why_missed};
use clap::Args as ClapArgs;
use console::style;
use crawl::collection::Collection;
use crawl::config::{Config, LoadedConfig};
use crawl::reader::Reader;
use crawl::steer::{Command, Order};
use crawl::units::Span;
use crawl::{Progress, Stop, live};
use madeup::sim::{Clock, DAY};
use madeup::{Log, SEEDS, Server, SimWeb, Site, Size, TOPIC};
use std::collections::{HashMap, HashSet};
use std::io::IsTerminal;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use types::{Millis, Problem};

#[derive(ClapArgs, Debug)]
#[command(
    after_help = "Examples:\n  gleaner demo\n  gleaner demo --dashboard\n  gleaner demo --out /tmp/demo && \
                  gleaner search /tmp/demo \"query optimization\"\n  gleaner demo --serve-only --web \
                  'sim:campus?change=0.3&born=0.3&die=0.1' --day 1m"
)]
pub struct Args {
    /// Collection folder
    #[arg(long, short, value_name = "DIR", default_value = "gleaner-demo")]
    out: PathBuf,
    /// Stop after N pages (default: a third of the web)
    #[arg(long, value_name = "N")]
    pages: Option<u64>,
    /// Order links with this strategy
    #[arg(long, value_name = "NAME")]
    strategy: Option<String>,
    /// Seed of the generated web and of the crawl
    #[arg(long, value_name = "N", default_value_t = 1)]
    rng: u64,
    /// Pages of the generated web, about (default: some 2,000)
    #[arg(long, value_name = "N")]
    web_pages: Option<usize>,
    /// Open the dashboard: watch the crawl in the browser, until Ctrl-C
    #[arg(long, conflicts_with_all = ["json", "serve_only"])]
    dashboard: bool,
    /// Print events as JSON lines
    #[arg(long)]
    json: bool,
    /// Only serve the web, for a crawl of your own
    #[arg(long)]
    serve_only: bool,
    /// With --serve-only: serve this generated web instead, as it changes (sim:NAME?change=…&born=…&die=…)
    #[arg(long, value_name = "sim:NAME?…", requires = "serve_only")]
    web: Option<String>,
    /// With --web: how long one of its days takes, as in 1m
    #[arg(long, value_name = "TIME", value_parser = setup::span, requires = "web", default_value = "1d")]
    day: Span,
    /// Where to serve it
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:0", value_parser = setup::address)]
    listen: SocketAddr,
    /// Append every request to this file
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
    /// Begin again if the folder exists
    #[arg(long)]
    fresh: bool,
}

/// The right answer: every wanted URL, and the page it counts as (copies count once).
type Wanted = HashMap<String, String>;

pub fn run(args: Args) -> Result<ExitCode, Problem> {
    let log = match &args.log {
        Some(path) => Log::to_file(path)?,
        None => Log::off(),
    };
    if let Some(spec) = &args.web {
        return serve_generated(spec, &args, log);
    }
    let size = args.web_pages.map_or(Size::Full, |n| Size::Pages(n.min(1_000_000)));
    let site = Site::new(args.rng, size);
    let copies: HashMap<String, String> = site.mirrored().into_iter().collect();
    let original = |url: String| (url.clone(), copies.get(&url).cloned().unwrap_or(url));
    let wanted: Wanted = site.relevant().into_iter().map(original).collect();
    let web = Web { pages: site.pages() as u64, hosts: site.hosts().len() as u64 };
    let server = Server::start(site, args.listen, log)?;
    if args.serve_only {
        println!("{}", server.addr());
        eprintln!(
            "serving {} pages on {} hosts; crawl it with --resolve '{}' --allow-private",
            web.pages,
            web.hosts,
            server.resolve()
        );
        server.run_forever();
        return Ok(ExitCode::SUCCESS);
    }
    refuse_other_collections(&args.out)?;
    if args.fresh && Collection::exists(&args.out) {
        std::fs::remove_dir_all(&args.out).map_err(|e| Problem::io("remove", &args.out, &e))?;
    }
    if !args.json {
        eprintln!(
            "A made-up web of {} pages on {} hosts is served on {} and crawled as if it were the real one; \
             breadth-first beside it.\nWanted: {}\n",
            count(web.pages),
            count(web.hosts),
            server.addr(),
            style("syllabi of database courses").bold()
        );
    }
    let pages = args.pages.unwrap_or(web.pages / 3);
    let mut flags = settings(&server, pages);
    // A web of its own: hosts that fail at first remember who came.
    let beside = match args.json {
        true => None,
        false => Some(BreadthFirst::start(Site::new(args.rng, size), pages, args.rng)?),
    };
    // With 42 hosts there is always one that may be asked, mostly for something poor. Here pages are scarce,
    // not time.
    set(&mut flags, "limits", "patience", "1s");
    set(&mut flags, "limits", "patience_share", 0.25);
    if let Some(s) = &args.strategy {
        set(&mut flags, "strategy", "kind", s.as_str());
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
        serve: args.dashboard,
        listen: ListenFlags { listen: Some(([127, 0, 0, 1], 0).into()), ..ListenFlags::default() },
        fetch: FetchFlags { resolve: vec![server.resolve()], allow_private: true, ..FetchFlags::default() },
        ..CrawlArgs::default()
    };
    let ran = match crawl_into(&args.out, &loaded, &crawl, mode) {
        Ok(ran) => ran,
        Err(problem) => {
            beside.into_iter().for_each(BreadthFirst::cancel);
            return Err(problem);
        }
    };
    if let Some(beside) = beside {
        match ran.stop {
            Stop::User => {
                beside.cancel();
                super::crawl::summary(&args.out, false, ran.stop, &ran.reason, &ran.progress);
            }
            _ => {
                let focused = CrawlFindings::read(&args.out, &wanted)?;
                let reference = beside.finish(&wanted)?;
                tell(&args.out, &web, &ran, &focused, &reference, &wanted);
            }
        }
    }
    let code = super::crawl::exit_code(ran.stop, &ran.progress);
    ran.serve_on();
    server.stop();
    Ok(code)
}

/// A generated web behind a server, at the pace that was asked for, until Ctrl-C.
fn serve_generated(spec: &str, args: &Args, log: Log) -> Result<ExitCode, Problem> {
    let clock = Clock::default();
    let web = SimWeb::open(spec)?.at_time_of(&clock);
    let (pages, seeds, topic) = (web.options().pages, web.seeds(), web.topic_toml());
    let server = Server::start(web, args.listen, log)?;
    println!("{}", server.addr());
    let seeds: Vec<String> = seeds.iter().map(ToString::to_string).collect();
    eprintln!(
        "serving {} of {spec} from {}; crawl it with --resolve '{}' --allow-private\n\n{topic}",
        things(u64::from(pages), "page"),
        seeds.join(" "),
        server.resolve()
    );
    let (began, a_day) = (Instant::now(), args.day.0.as_secs_f64().max(1e-3));
    let tick = move || loop {
        clock.set(Millis((began.elapsed().as_secs_f64() / a_day * DAY as f64) as u64));
        std::thread::sleep(Duration::from_millis(50));
    };
    let ticking = std::thread::Builder::new().name("clock".into()).spawn(tick);
    ticking.map_err(|e| Problem::new("cannot start the clock").because(e))?;
    server.run_forever();
    Ok(ExitCode::SUCCESS)
}

/// How large the made-up web is.
struct Web {
    pages: u64,
    hosts: u64,
}

/// The demo's folder holds nothing but the demo.
fn refuse_other_collections(out: &Path) -> Result<(), Problem> {
    let title = |c: LoadedConfig| c.config.title().to_string();
    let own = title(Config::load(TOPIC, "the demo topic", toml::Table::new())?);
    let there = Config::read(&Collection::topic_file(out), toml::Table::new()).map(title);
    if Collection::exists(out) && there.is_ok_and(|t| t != own) {
        return Err(Problem::usage(format!("{} holds a collection of another topic", out.display()))
            .hint("name a folder for the demo with --out"));
    }
    Ok(())
}

/// What both crawls are told.
fn settings(server: &Server, pages: u64) -> toml::Table {
    let mut flags = toml::Table::new();
    set(&mut flags, "fetch", "resolve", vec![toml::Value::String(server.resolve())]);
    set(&mut flags, "fetch", "allow_private", true);
    set(&mut flags, "fetch", "delay", "100ms");
    set(&mut flags, "fetch", "attempts", 2);
    set(&mut flags, "limits", "pages", number(pages));
    set(&mut flags, "limits", "time", "50s");
    flags
}

/// A crawl of the same web with as many pages that takes links as they come, on a thread of its own.
struct BreadthFirst {
    dir: PathBuf,
    orders: mpsc::Sender<Order>,
    thread: JoinHandle<Result<(), Problem>>,
}

impl BreadthFirst {
    fn start(site: Site, pages: u64, rng: u64) -> Result<BreadthFirst, Problem> {
        let server = Server::start(site, ([127, 0, 0, 1], 0).into(), Log::off())?;
        let mut flags = settings(&server, pages);
        set(&mut flags, "strategy", "kind", "breadth-first");
        set(&mut flags, "archive", "warc", false);
        set(&mut flags, "archive", "index", false);
        let loaded = Config::load(TOPIC, "the demo topic", flags)?;
        let seeds = setup::seeds(&loaded.config, &[], &[], &Collection::canon(&loaded.config))?;
        let dir = std::env::temp_dir().join(format!("gleaner-breadth-first-{}", std::process::id()));
        let (orders, taken) = mpsc::channel();
        let into = dir.clone();
        let crawl = move || {
            let _server = server;
            let mut open = Collection::open_in(&into, None, &loaded, &seeds, rng)?;
            open.start(&seeds, types::Millis::steady())?;
            live::run(&mut open.crawl, open.web.clone(), open.analyst.clone(), &taken).map(|_| ())
        };
        let thread = std::thread::Builder::new()
            .name("breadth-first".into())
            .spawn(crawl)
            .map_err(|e| Problem::new("cannot start the crawl to compare with").because(e))?;
        Ok(BreadthFirst { dir, orders, thread })
    }

    fn finish(self, wanted: &Wanted) -> Result<CrawlFindings, Problem> {
        let ended =
            self.thread.join().unwrap_or_else(|_| Err(Problem::new("the crawl to compare with broke")));
        let found = ended.and_then(|()| CrawlFindings::read(&self.dir, wanted));
        let _ = std::fs::remove_dir_all(&self.dir);
        found
    }

    fn cancel(self) {
        let _ = self.orders.send(Command::Stop.into());
        let _ = self.thread.join();
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

/// What a crawl found of what is wanted.
struct CrawlFindings {
    /// Wanted pages after each page that was fetched.
    curve: Vec<usize>,
    /// Pages that the judge kept and that are wanted.
    right: u64,
    /// One of them, to be looked at.
    example: Option<String>,
}

impl CrawlFindings {
    fn read(dir: &Path, wanted: &Wanted) -> Result<CrawlFindings, Problem> {
        let reader = Reader::open(dir)?;
        let mut seen: HashSet<&String> = HashSet::new();
        let mut found = CrawlFindings { curve: Vec::new(), right: 0, example: None };
        for record in reader.records(true) {
            let record = record?;
            if let Some(page) = wanted.get(&record.url) {
                seen.insert(page);
                if reader.is_counted(record.id) {
                    found.right += 1;
                    found.example.get_or_insert(record.url);
                }
            }
            found.curve.push(seen.len());
        }
        Ok(found)
    }

    fn pages(&self) -> usize {
        self.curve.last().copied().unwrap_or(0)
    }
}

/// One sentence, one plot, what each number means, and what to try next.
fn tell(
    out: &Path,
    web: &Web,
    ran: &FinishedCrawl,
    focused: &CrawlFindings,
    reference: &CrawlFindings,
    wanted: &Wanted,
) {
    let p = &ran.progress;
    let all = wanted.values().collect::<HashSet<_>>().len();
    let (found, other) = (focused.pages(), reference.pages());
    eprintln!(
        "Gleaner found {} of the {all} syllabi of database courses with {} of the web's {} pages; \
         breadth-first found {} with {}.\n",
        style(found).green().bold(),
        count(p.pages),
        count(web.pages),
        style(other).yellow().bold(),
        count(reference.curve.len() as u64),
    );
    let curves = [
        Curve { values: &reference.curve, mark: '·', name: "breadth-first" },
        Curve { values: &focused.curve, mark: '●', name: "Gleaner" },
    ];
    for line in plot(&curves, all, "pages fetched") {
        eprintln!("  {line}");
    }
    eprintln!("\n{}", style("What the numbers mean").bold());
    for (number, meaning) in meanings(web, p, focused, all, &ran.reason) {
        eprintln!("  {number:>7}  {meaning}");
    }
    let dir = out.display();
    let example = focused.example.as_deref().unwrap_or(SEEDS.first().copied().unwrap_or(""));
    eprintln!("\n{} (and look at {})", style("Try next").bold(), out.join("report.html").display());
    let gleaner = program();
    eprintln!("  {gleaner} search {dir} \"query optimization\"");
    eprintln!("  {gleaner} explain {dir} {example}");
    eprintln!("  {gleaner} export {dir} -o syllabi.csv");
    eprintln!("and in the browser: {gleaner} demo --dashboard");
}

/// How a shell here starts this program: by its name if that leads to it, else by its path (after `cargo
/// run`).
fn program() -> String {
    let name = "gleaner".to_string();
    let Ok(me) = std::env::current_exe().and_then(|me| me.canonicalize()) else { return name };
    let path = std::env::var_os("PATH").unwrap_or_default();
    let first = std::env::split_paths(&path).map(|dir| dir.join(&name)).find(|file| file.is_file());
    if first.and_then(|file| file.canonicalize().ok()).is_some_and(|file| file == me) {
        return name;
    }
    let here = std::env::current_dir().and_then(|dir| dir.canonicalize()).unwrap_or_default();
    me.strip_prefix(&here).unwrap_or(&me).display().to_string()
}

/// Every count of the demo, and what it counts.
fn meanings(
    web: &Web,
    p: &Progress,
    found: &CrawlFindings,
    all: usize,
    reason: &str,
) -> Vec<(String, String)> {
    let errors: u64 = p.errors.values().sum();
    let kinds = p.errors.iter().map(|(kind, n)| format!("{} ({n})", why_missed(kind)));
    let mut told = vec![
        (
            count(web.pages),
            format!("pages in this web, on {} hosts; its traps, which have no end, not counted", web.hosts),
        ),
        (
            count(all as u64),
            "wanted: syllabi of database courses that a polite crawler can reach; copies count once".into(),
        ),
        (
            count(p.pages),
            format!("pages fetched in {}: {reason}", duration(Duration::from_millis(p.elapsed_ms))),
        ),
        (
            count(p.relevant),
            format!(
                "of them kept as relevant by the judge, who was shown no example; {} are wanted",
                found.right
            ),
        ),
        (count(p.pending), "links found and left in the queue: the least promising".into()),
    ];
    if errors > 0 {
        let text = kinds.collect::<Vec<_>>().join(", ");
        told.push((count(errors), format!("requests without a page, planted to be met: {text}")));
    }
    told
}
