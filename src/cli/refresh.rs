//! `gleaner refresh DIR`: visits known pages again.

use super::crawl::{Interrupts, stop_on_ctrl_c};
use super::progress::{Display, Mode};
use super::setup::{self, FetchFlags, number, set};
use crate::dashboard::Job;
use crate::text::{count, duration, things, time};
use clap::Args as ClapArgs;
use console::style;
use crawl::collection::Collection;
use crawl::config::LoadedConfig;
use crawl::units::Span;
use crawl::{Event, Progress, RefreshPlan, Refreshed, Stop, live};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use toml::Table;
use types::{Millis, Problem};

const EXAMPLES: &str = "\
Examples:
  gleaner refresh db                                   visit every page again
  gleaner refresh db --relevant --older-than 1d        relevant pages that were not visited for a day
  gleaner refresh db --pages 200                       as many as you have time for: what has most likely changed
  gleaner refresh db --new 50                          and fetch up to 50 new pages beside
  gleaner changes db --since 1d                        what was new, changed, gone or moved
  gleaner refresh --store postgres://… --crawl db      a shared crawl: pages of the hosts this worker gets

The server is asked whether a page changed (ETag, Last-Modified). An unchanged page costs a `revisit` record in the archive;
a changed one becomes a new version, is judged again, and its links are looked at. A page that is not there is asked for
once more before it is called gone. Robots rules and pauses hold as for a crawl. The same command goes on with a refresh
that was stopped or killed.";

#[derive(ClapArgs, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Collection folder; of a shared crawl, this worker's own (default: named after the crawl)
    #[arg(required_unless_present = "store")]
    dir: Option<PathBuf>,
    #[command(flatten)]
    shared: setup::WorkerArgs,
    /// Relevant pages only
    #[arg(long)]
    relevant: bool,
    /// Pages of this host only, and of hosts below it
    #[arg(long, value_name = "HOST")]
    host: Option<String>,
    /// Pages that were not visited for this long, as in 6h or 7d
    #[arg(long, value_name = "TIME", value_parser = setup::span)]
    older_than: Option<Span>,
    /// At most N pages: relevant ones that have most likely changed, by how often they (and pages beside
    /// them) did before
    #[arg(long, value_name = "N")]
    pages: Option<usize>,
    /// Also fetch up to N pages that are not in the collection yet
    #[arg(long, value_name = "N", default_value_t = 0)]
    new: u64,
    /// Also ask for pages that were gone, or had moved
    #[arg(long)]
    gone: bool,
    /// How long to wait before a page that is not there is asked for once more
    #[arg(long, value_name = "TIME", value_parser = setup::span, default_value = "10s")]
    confirm: Span,
    /// Do not go on with a refresh that was stopped: begin anew
    #[arg(long)]
    anew: bool,
    /// Stop after this long
    #[arg(long, value_name = "TIME", value_parser = setup::span)]
    time: Option<Span>,
    /// Requests in flight, over all hosts
    #[arg(long, value_name = "N")]
    concurrency: Option<u64>,
    /// Pause between two requests to one host, as in 500ms
    #[arg(long, value_name = "TIME", value_parser = setup::span)]
    delay: Option<Span>,
    #[command(flatten)]
    fetch: FetchFlags,
    /// Print events as JSON lines on standard output
    #[arg(long)]
    json: bool,
    /// Show nothing but errors
    #[arg(long, short)]
    quiet: bool,
}

impl Args {
    fn table(&self) -> Table {
        let mut t = Table::new();
        self.shared.lay(&mut t);
        self.fetch.lay(&mut t);
        if let Some(n) = self.concurrency {
            set(&mut t, "fetch", "concurrency", number(n));
        }
        for (section, key, value) in [("limits", "time", self.time), ("fetch", "delay", self.delay)] {
            if let Some(d) = value {
                set(&mut t, section, key, d.to_string());
            }
        }
        t
    }

    fn plan(&self) -> RefreshPlan {
        RefreshPlan {
            relevant: self.relevant,
            host: self.host.clone(),
            older_than: self.older_than.map(|t| t.0),
            pages: self.pages,
            new_pages: self.new,
            confirm: self.confirm.0,
            gone: self.gone,
            anew: self.anew,
        }
    }
}

pub fn run(args: Args) -> Result<ExitCode, Problem> {
    let (dir, loaded, shared) = match args.shared.begun(args.dir.as_deref(), args.table())? {
        Some(worker) => (worker.dir, worker.loaded, Some(worker.store)),
        None => {
            let dir = args.dir.clone().unwrap_or_default();
            (dir.clone(), collection(&dir, &args)?, None)
        }
    };
    let dir = &dir;
    let mode = match (args.json, args.quiet, std::io::stderr().is_terminal()) {
        (true, ..) => Mode::Json,
        (_, true, _) => Mode::Quiet,
        (_, _, true) => Mode::Panel,
        _ => Mode::Lines,
    };
    let mut open = Collection::open_in(dir, shared.as_ref(), &loaded, &[], 0)?;
    for note in &open.notes {
        setup::warn(note);
    }
    let display = Arc::new(Mutex::new(Display::new(mode, &loaded.config)));
    let (job, orders) = Job::new(false);
    let (told, shown) = (job.clone(), display.clone());
    open.crawl.on_event(move |event: &Event| {
        told.event(event);
        if let Ok(mut d) = shown.lock() {
            d.event(event);
        }
    });
    let keys = Arc::new(Interrupts::default());
    stop_on_ctrl_c(&keys, job.orders(), open.crawl.marks(), None)?;
    open.start(&[], Millis::steady())?;
    let plan = open.crawl.begin_refresh(&args.plan(), Millis::steady())?;
    let talks = mode == Mode::Panel || mode == Mode::Lines;
    if talks {
        begin(&plan);
    }
    let (stop, progress) = live::run(&mut open.crawl, open.web.clone(), open.analyst.clone(), &orders)?;
    let reason = open.crawl.ended().map_or_else(|| stop.reason().to_string(), |ended| ended.reason());
    drop(open);
    if shared.is_none() {
        crate::report::write(dir)?;
    }
    job.end();
    if talks {
        let which = shared.as_ref().map_or_else(|| dir.display().to_string(), setup::store_flags);
        summary(&args, (dir, &which), &plan, stop, &reason, &progress);
    }
    Ok(match stop {
        Stop::User => ExitCode::from(3),
        _ if plan.planned == 0 && progress.refreshed.as_ref().is_none_or(|r| r.visited == 0) => {
            ExitCode::from(4)
        }
        _ => ExitCode::SUCCESS,
    })
}

fn collection(dir: &Path, args: &Args) -> Result<LoadedConfig, Problem> {
    Collection::check_remains(dir)?;
    if !Collection::exists(dir) {
        return Err(Problem::usage(format!("{} is not a collection", dir.display()))
            .hint("name the folder that `gleaner crawl` wrote (--out)"));
    }
    setup::load(Some(&Collection::topic_file(dir)), args.table())
}

fn begin(plan: &Refreshed) {
    if let Some(at) = plan.goes_on {
        eprintln!("goes on with the refresh that began at {}", time(at));
    }
    eprintln!("{} to visit again", things(plan.planned, "page"));
    if plan.elsewhere > 0 {
        eprintln!("{} on hosts that other workers have: left to them", things(plan.elsewhere, "page"));
    }
}

fn summary(
    args: &Args,
    (dir, which): (&Path, &str),
    plan: &Refreshed,
    stop: Stop,
    reason: &str,
    p: &Progress,
) {
    let r = p.refreshed.clone().unwrap_or_default();
    let elapsed = duration(Duration::from_millis(p.elapsed_ms));
    eprintln!(
        "{}, after {elapsed}",
        style(if plan.planned == 0 { "nothing to visit again" } else { reason }).bold()
    );
    eprintln!("  {}", crate::text::refreshed(&r));
    if r.new_links > 0 {
        let how = match args.new {
            0 if args.shared.store.is_some() => {
                "; `gleaner crawl --store …` (or --new N here) fetches them".into()
            }
            0 => format!("; `gleaner crawl --out {}` (or --new N here) fetches them", dir.display()),
            _ => String::new(),
        };
        eprintln!("  {} found{how}", things(r.new_links, "new link"));
    }
    if matches!(stop, Stop::Disk | Stop::DiskFull) {
        super::crawl::say_space(dir);
    }
    if r.elsewhere > 0 {
        eprintln!("  {} on hosts that other workers have", things(r.elsewhere, "page"));
    }
    if stop != Stop::Refreshed && plan.planned > r.visited {
        eprintln!("  {} left; the same command goes on", count(plan.planned - r.visited));
    }
    eprintln!("  what changed   gleaner changes {which} --since 1d");
}
