//! `gleaner crawl`: the main job.

use super::progress::{Display, Mode};
use super::serve::{BoundPort, ListenFlags};
use super::setup::{self, FetchFlags, TeacherFlags, TopicArgs, number, set};
use crate::dashboard::{App, CRAWLS, Job, Server, SharedShelf, Shelf};
use crate::text::{count, duration, host_of, is_silence, outlook, size, space, things, why_missed};
use clap::Args as ClapArgs;
use console::style;
use crawl::collection::{Collection, SharedStore};
use crawl::config::LoadedConfig;
use crawl::live;
use crawl::marks::Marks;
use crawl::steer::{Command, Order};
use crawl::units::{Size, Span};
use crawl::{Event, Progress, Stop, Threads};
use std::collections::HashMap;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use toml::Table;
use types::{Problem, Url};

const EXAMPLES: &str = "\
Examples:
  gleaner crawl topic.toml --seed https://www.example.edu/ --pages 500 --contact you@example.org
  gleaner crawl topic.toml --seeds seeds.txt --relevant 100 --time 2h
  gleaner crawl --subject \"sql, relational model\" --genre syllabus --seed https://www.example.edu/
  gleaner crawl topic.toml --serve        # watch and steer it in the browser
  gleaner crawl topic.toml                # the same folder again: goes on where it stopped
  gleaner crawl topic.toml --store postgres://user:password@db.example.org/crawls   # on as many machines as you like
  gleaner crawl topic.toml --store postgres://… --archive s3://bucket/crawls          # pages go to S3-compatible storage";

#[derive(ClapArgs, Debug, Default, Clone)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    pub topic: TopicArgs,
    /// Collection folder (default: named after the topic file). The same folder again resumes
    #[arg(long, short, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Where to start (may be repeated)
    #[arg(long, value_name = "URL")]
    pub seed: Vec<String>,
    /// File with one URL per line, or `FILE#SET` of a seeds.tsv
    #[arg(long, value_name = "FILE[#SET]")]
    pub seeds: Vec<String>,
    /// Stop after N pages
    #[arg(long, value_name = "N")]
    pub pages: Option<u64>,
    /// Stop after N relevant pages
    #[arg(long, value_name = "N")]
    pub relevant: Option<u64>,
    /// Stop after N requests of any kind (default: with --pages ten for each page, and a thousand)
    #[arg(long, value_name = "N")]
    pub requests: Option<u64>,
    /// Stop after this long, as in 30m or 2h
    #[arg(long, value_name = "TIME", value_parser = setup::span)]
    pub time: Option<Span>,
    /// Stop before the collection takes more of the disk, as in 20GB
    #[arg(long, value_name = "SIZE", value_parser = setup::size)]
    pub max_disk: Option<Size>,
    /// Requests in flight, over all hosts
    #[arg(long, value_name = "N")]
    pub concurrency: Option<u64>,
    /// Pause between two requests to one host, as in 500ms
    #[arg(long, value_name = "TIME", value_parser = setup::span)]
    pub delay: Option<Span>,
    /// Most pages per host
    #[arg(long, value_name = "N")]
    pub per_host: Option<u64>,
    #[command(flatten)]
    pub fetch: FetchFlags,
    #[command(flatten)]
    pub teacher: TeacherFlags,
    /// Start from what `gleaner train` taught a judge or a strategy
    #[arg(long, value_name = "FILE")]
    pub model: Option<PathBuf>,
    /// Keep the collection in a shared PostgreSQL instead (postgres://…): every machine that says the same
    /// joins in
    #[arg(long, value_name = "URL")]
    pub store: Option<String>,
    /// With --store: the crawl's name (default: as the folder)
    #[arg(long, value_name = "NAME", requires = "store")]
    pub crawl: Option<String>,
    /// Go on in a collection that was begun with another topic
    #[arg(long, conflicts_with = "store")]
    pub change_topic: bool,
    /// Ask once more for what gave no answer in earlier runs
    #[arg(long, conflicts_with = "store")]
    pub retry: bool,
    /// With --store: a worker that is silent for this long has lost its hosts to the others [default: 30s]
    #[arg(long, value_name = "TIME", value_parser = setup::span, requires = "store")]
    pub lease: Option<Span>,
    /// With --store: of more URLs than this the best are loaded first, the rest while it crawls [default:
    /// 100000]
    #[arg(long, value_name = "N", requires = "store")]
    pub load_at_once: Option<u32>,
    /// With --store: write WARC files into a bucket of S3-compatible storage (credentials: AWS_… in the
    /// environment)
    #[arg(long, value_name = "s3://BUCKET/PREFIX")]
    pub archive: Option<String>,
    /// Write no WARC files
    #[arg(long, conflicts_with = "archive")]
    pub no_archive: bool,
    /// Keep no full-text index
    #[arg(long)]
    pub no_index: bool,
    /// Seed of all chance
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub rng: u64,
    /// Print events as JSON lines on standard output
    #[arg(long)]
    pub json: bool,
    /// Open the dashboard: watch and steer this crawl in the browser; on a terminal also after its end, until
    /// Ctrl-C
    #[arg(long)]
    pub serve: bool,
    #[command(flatten)]
    pub listen: ListenFlags,
    /// Say at the end where the time went, by stage
    #[arg(long)]
    pub timings: bool,
    /// Show nothing but errors
    #[arg(long, short)]
    pub quiet: bool,
}

impl Args {
    /// The flags as a table of settings.
    pub fn table(&self) -> Result<Table, Problem> {
        let mut t = Table::new();
        self.topic.flags.lay(&mut t);
        self.fetch.lay(&mut t);
        self.teacher.lay(&mut t);
        for (section, key, value) in [
            ("limits", "pages", self.pages),
            ("limits", "relevant", self.relevant),
            ("limits", "requests", self.requests),
            ("limits", "per_host", self.per_host),
            ("fetch", "concurrency", self.concurrency),
        ] {
            if let Some(n) = value {
                set(&mut t, section, key, number(n));
            }
        }
        for (section, key, value) in [("limits", "time", self.time), ("fetch", "delay", self.delay)] {
            if let Some(d) = value {
                set(&mut t, section, key, d.to_string());
            }
        }
        if let Some(most) = self.max_disk {
            set(&mut t, "limits", "disk", most.to_string());
        }
        if let Some(to) = &self.archive {
            set(&mut t, "archive", "to", to.as_str());
            set(&mut t, "archive", "warc", true);
        }
        if self.no_archive {
            set(&mut t, "archive", "warc", false);
        }
        if self.no_index {
            set(&mut t, "archive", "index", false);
        }
        if let Some(file) = &self.model {
            super::train::lay_model(file, true, true, &mut t)?;
        }
        Ok(t)
    }
}

pub fn run(args: Args) -> Result<ExitCode, Problem> {
    if args.store.is_none()
        && let Some(dir) = &args.out
    {
        Collection::check_remains(dir)?;
    }
    let mut topic = args.topic.topic.clone();
    // Resuming with `--out DIR` alone: the collection knows its own topic.
    if topic.is_none()
        && let Some(dir) = &args.out
        && Collection::exists(dir)
    {
        topic = Some(Collection::topic_file(dir));
    }
    let flags = &args.topic.flags;
    if topic.is_none() && flags.subject.is_none() && flags.genre.is_none() && flags.query.is_none() {
        return Err(Problem::usage("nothing says which pages are wanted").hint(
            "name a topic file (`gleaner new` writes one), or say it with --subject, --genre or --query; \
             --out DIR alone goes on with a crawl",
        ));
    }
    let loaded = setup::load(topic.as_deref(), args.table()?)?;
    let out = args.out.clone().unwrap_or_else(|| default_folder(args.topic.topic.as_deref(), &loaded));
    let mode = match (args.json, args.quiet, std::io::stderr().is_terminal()) {
        (true, ..) => Mode::Json,
        (_, true, _) => Mode::Quiet,
        (_, _, true) => Mode::Panel,
        _ => Mode::Lines,
    };
    let ran = crawl_into(&out, &loaded, &args, mode)?;
    let FinishedCrawl { stop, reason, progress, seeds, .. } = &ran;
    let stop = *stop;
    // A collection with nothing in it needs no hints on how to use it.
    if progress.pages == 0 && !matches!(stop, Stop::User | Stop::Pauses) && args.store.is_none() {
        return Err(no_page(seeds, stop, reason));
    }
    if mode == Mode::Panel || mode == Mode::Lines {
        summary(&out, args.store.is_some(), stop, reason, progress);
    }
    if args.timings && !args.json {
        say_timings(progress);
    }
    let code = exit_code(stop, progress);
    // A script is not kept waiting.
    if mode == Mode::Panel {
        ran.serve_on();
    }
    // A worker that came when the others had done everything is no failure.
    if args.store.is_some() && stop != Stop::User {
        return Ok(ExitCode::SUCCESS);
    }
    Ok(code)
}

/// `db.toml` is crawled into `db`; without a file the folder is named after the topic.
pub fn default_folder(topic: Option<&Path>, loaded: &LoadedConfig) -> PathBuf {
    let stem = topic.and_then(|p| p.file_stem()).and_then(|s| s.to_str());
    PathBuf::from(crate::text::slug(stem.unwrap_or(loaded.config.title())))
}

/// A crawl that has ended.
pub struct FinishedCrawl {
    pub stop: Stop,
    /// Why it ended, for people.
    pub reason: String,
    pub progress: Progress,
    /// The dashboard, which can go on with it.
    pub server: Option<Server>,
    /// By Ctrl-C.
    pub interrupted: bool,
    /// The seeds, and what went wrong with their hosts last.
    pub seeds: Vec<(Url, Option<String>)>,
}

impl FinishedCrawl {
    /// Whoever watches in a browser sees the end, and may go on from there, until Ctrl-C.
    pub fn serve_on(self) {
        if let Some(server) = self.server.filter(|_| !self.interrupted) {
            eprintln!("  dashboard {} (Ctrl-C ends it)", server.url());
            server.run_forever();
        }
    }
}

/// Crawls into a folder, showing progress, until it is done or the user stops it.
pub fn crawl_into(
    out: &Path,
    loaded: &LoadedConfig,
    args: &Args,
    mode: Mode,
) -> Result<FinishedCrawl, Problem> {
    let config = &loaded.config;
    let canon = Collection::canon(config);
    let seeds = setup::seeds(config, &args.seed, &args.seeds, &canon)?;
    let is_listed = !Collection::listings(config, &canon)?.is_empty();
    let shared = shared_store(out, args)?;
    if shared.is_none() {
        Collection::check_remains(out)?;
    }
    let begun = match &shared {
        Some(s) => seeds.is_empty() && store::SharedReader::exists(&s.url, &s.crawl),
        None => Collection::exists(out),
    };
    if seeds.is_empty() && !is_listed && !begun {
        return Err(Problem::nothing("there is nowhere to start: no seeds").hint(
            "give --seed URL or --seeds FILE, or put urls (or sitemaps, feeds) = [\"…\"] under \
                   [seeds] in the topic file",
        ));
    }
    if shared.is_none() && begun {
        refuse_another_topic(out, loaded, args, mode)?;
    }
    let door = args.serve.then(|| args.listen.open()).transpose()?;
    if mode != Mode::Json && mode != Mode::Quiet {
        setup::say_what_a_proxy_hides(config);
    }
    let mut open = Collection::open_in(out, shared.as_ref(), loaded, &seeds, args.rng)?;
    for note in &open.notes {
        setup::warn(note);
    }
    if let Some(s) = shared.as_ref().filter(|_| args.crawl.is_none() && mode != Mode::Quiet) {
        say_which_crawl(s, open.resumed)?;
    }
    let display = Arc::new(Mutex::new(Display::new(mode, config)));
    let shown = display.clone();
    let (job, orders) = Job::new(false);
    let told = job.clone();
    let misses: Arc<Mutex<HashMap<String, String>>> = Arc::default();
    let missed = misses.clone();
    open.crawl.on_event(move |event: &Event| {
        told.event(event);
        if let (Event::Miss { url, kind, .. }, Ok(mut missed)) = (event, missed.lock())
            && missed.len() < MISSES
        {
            missed.insert(host_of(url).to_string(), kind.clone());
        }
        if let Ok(mut d) = shown.lock() {
            d.event(event);
        }
    });
    let server = door.map(|d| dashboard(out, shared.as_ref(), args, d, job.clone())).transpose()?;
    let keys = Arc::new(Interrupts::default());
    stop_on_ctrl_c(&keys, job.orders(), open.crawl.marks(), server.as_ref().map(|s| s.app()))?;
    open.start(&seeds, types::Millis::steady())?;
    if args.retry {
        let again = open.crawl.retry_unanswered(types::Millis::steady())?;
        tracing::info!(again, "tried once more");
    }
    let (stop, progress) = live::run(&mut open.crawl, open.web.clone(), open.analyst.clone(), &orders)?;
    let reason = open.crawl.ended().map_or_else(|| stop.reason().to_string(), |ended| ended.reason());
    drop(open);
    // What this worker saw of a shared crawl is no report of it.
    if shared.is_none() {
        crate::report::write(out)?;
    }
    job.end();
    keys.over.store(true, Ordering::SeqCst);
    let misses = misses.lock().map(|m| m.clone()).unwrap_or_default();
    let seeds = seeds.into_iter().map(|u| (u.clone(), misses.get(u.host()).cloned())).collect();
    let interrupted = keys.presses.load(Ordering::SeqCst) > 0;
    Ok(FinishedCrawl { stop, reason, progress, server, interrupted, seeds })
}

/// What went wrong is kept for so many hosts: enough for the seeds of a crawl that never got going.
const MISSES: usize = 1_000;

/// Nothing was fetched: what became of the seeds is all there is to say.
fn no_page(seeds: &[(Url, Option<String>)], stop: Stop, reason: &str) -> Problem {
    const SHOWN: usize = 5;
    if matches!(stop, Stop::Disk | Stop::DiskFull) {
        return Problem::new(format!("nothing was fetched: {reason}")).hint(
            "free some space and run the same command again, or change [limits] disk (--max-disk) or \
             disk_free",
        );
    }
    let silent = |kind: &Option<String>| kind.as_deref().is_some_and(is_silence);
    let what = match (seeds.len(), seeds.iter().all(|(_, kind)| silent(kind))) {
        (0, _) => "no seed could be fetched".to_string(),
        (n, true) => format!("none of your {} seeds answered", count(n as u64)),
        (n, false) => format!("none of your {} seeds gave a page", count(n as u64)),
    };
    let each = seeds.iter().take(SHOWN).map(|(url, kind)| match kind {
        Some(kind) => format!("{url} ({})", why_missed(kind)),
        None => url.to_string(),
    });
    let more = if seeds.len() > SHOWN { ", …" } else { "" };
    let list = each.collect::<Vec<_>>().join(", ");
    let colon = if list.is_empty() { "" } else { ": " };
    let one = seeds.first().map_or("URL".to_string(), |(url, _)| url.to_string());
    let problem = Problem::nothing(format!("{what}{colon}{list}{more}")).hint(format!(
        "check the spelling; `gleaner fetch {one}` shows what happens, and the same command with --retry \
         asks once more"
    ));
    // Whether there was time to wait for an answer matters.
    if stop == Stop::Exhausted { problem } else { problem.because(reason) }
}

/// Refuses to mix what two topics want in one collection, unless that is wanted.
pub fn refuse_another_topic(
    out: &Path,
    loaded: &LoadedConfig,
    args: &Args,
    mode: Mode,
) -> Result<(), Problem> {
    // One that was lost is made again.
    let old = std::fs::read_to_string(Collection::topic_file(out)).ok().and_then(|text| text.parse().ok());
    let Some(old) = old else { return Ok(()) };
    let mut new: Table = loaded.text.parse().unwrap_or_default();
    if args.topic.topic.is_none() {
        args.topic.flags.lay(&mut new);
    }
    let differs = differences(&old, &new);
    if differs.is_empty() {
        return Ok(());
    }
    let (dir, differs) = (out.display(), differs.join(", "));
    if !args.change_topic {
        return Err(Problem::usage(format!("{dir} was crawled for another topic"))
            .because(format!("these are not what they were: {differs}"))
            .hint(format!(
                "--out OTHER begins a collection of its own; --change-topic goes on in {dir} (its pages \
                 keep their \
                 verdicts until `gleaner rejudge {dir}`)"
            )));
    }
    if mode != Mode::Json && mode != Mode::Quiet {
        eprintln!(
            "{} the topic has changed ({differs}): pages judged so far keep their verdicts; `gleaner \
             rejudge {dir}` judges \
             them again",
            style("note:").yellow().for_stderr()
        );
    }
    Ok(())
}

/// What two topics want differently. Limits, pace, judge and the like may change from run to run.
fn differences(old: &Table, new: &Table) -> Vec<String> {
    let parts = ["query", "genre", "content", "url", "exclude", "examples"];
    parts.iter().filter(|k| old.get(**k) != new.get(**k)).map(|k| format!("`{k}`")).collect()
}

/// Without `--crawl` the folder names the crawl. Whoever meant to join another one sees it at once.
fn say_which_crawl(shared: &SharedStore, joined: bool) -> Result<(), Problem> {
    let others: Vec<String> =
        store::SharedReader::crawls(&shared.url)?.into_iter().filter(|c| *c != shared.crawl).collect();
    let did = if joined { "joined" } else { "began" };
    let also = match others.as_slice() {
        [] => String::new(),
        some => format!("; the database also has {} (--crawl NAME joins one)", some.join(", ")),
    };
    eprintln!(
        "{} {did} the crawl `{}`, named after the folder{also}",
        style("note:").cyan().for_stderr(),
        shared.crawl
    );
    Ok(())
}

/// The database that `--store` names.
fn shared_store(out: &Path, args: &Args) -> Result<Option<SharedStore>, Problem> {
    let Some(url) = &args.store else { return Ok(None) };
    store::check_address(url)?;
    let folder = out.file_name().and_then(|n| n.to_str()).unwrap_or("crawl");
    let lease = args.lease.map_or(Duration::from_secs(30), |l| l.0);
    if lease < Duration::from_secs(1) {
        return Err(Problem::usage("--lease is too short").hint("a second at least; 30s is a good choice"));
    }
    let crawl = args.crawl.clone().unwrap_or_else(|| folder.to_string());
    let load_at_once = args.load_at_once.unwrap_or(store::LOAD_AT_ONCE);
    Ok(Some(SharedStore { url: url.clone(), crawl, lease, load_at_once }))
}

/// The dashboard of this one crawl.
fn dashboard(
    out: &Path,
    shared: Option<&SharedStore>,
    args: &Args,
    door: BoundPort,
    job: Arc<Job>,
) -> Result<Server, Problem> {
    let mut flags = Table::new();
    args.fetch.lay(&mut flags);
    let shelf = match shared {
        // The whole crawl is shown; the commands are this worker's.
        Some(s) => Shelf::shared(SharedShelf {
            store: s.url.clone(),
            crawl: Some(s.crawl.clone()),
            cache: setup::cache_folder(),
            warc: Some(Collection::warc_dir(out)),
        }),
        None => Shelf::new(out.to_path_buf()),
    };
    let server = super::serve::start(shelf, door, flags, CRAWLS)?;
    for (name, _) in server.app().shelf.list() {
        server.app().jobs().add(&name, job.clone());
    }
    eprintln!("dashboard: {}", server.url());
    Ok(server)
}

/// What Ctrl-C has done so far.
#[derive(Default)]
pub struct Interrupts {
    pub presses: AtomicU32,
    /// The crawl has ended; only the dashboard is left.
    pub over: AtomicBool,
}

/// Once: finish cleanly. Twice: leave at once (nothing committed is lost). When only the dashboard is left:
/// the end.
pub fn stop_on_ctrl_c(
    keys: &Arc<Interrupts>,
    sender: mpsc::Sender<Order>,
    marks: Option<Marks>,
    app: Option<Arc<App>>,
) -> Result<(), Problem> {
    let keys = keys.clone();
    ctrlc::set_handler(move || {
        if keys.over.load(Ordering::SeqCst) {
            if let Some(app) = &app {
                app.close();
            }
            std::process::exit(0);
        }
        if keys.presses.fetch_add(1, Ordering::SeqCst) > 0 {
            // Whoever leaves does not blame the pages that are being read.
            if let Some(marks) = &marks {
                marks.close();
            }
            std::process::exit(3);
        }
        eprintln!(
            "\nstopping; press Ctrl-C again to leave at once (nothing is lost; the same command goes on)"
        );
        let _ = sender.send(Command::Stop.into());
    })
    .map_err(|e| Problem::new("cannot listen for Ctrl-C").because(e))
}

pub fn exit_code(stop: Stop, p: &Progress) -> ExitCode {
    match stop {
        Stop::User => ExitCode::from(3),
        _ if p.pages == 0 => ExitCode::from(4),
        _ => ExitCode::SUCCESS,
    }
}

/// Which hosts hold the rest up, and for how long.
fn say_pauses(p: &Progress) {
    const SHOWN: usize = 10;
    for pause in p.pauses.iter().take(SHOWN) {
        let left = duration(Duration::from_secs(pause.seconds));
        eprintln!("  {} asked for a pause; {left} of it are left", pause.host);
    }
    if let Some(more) = p.pauses.len().checked_sub(SHOWN).filter(|more| *more > 0) {
        eprintln!("  and {} did too", things(more as u64, "other host"));
    }
    eprintln!("  {}", p.idle);
    eprintln!(
        "  the same command goes on when they are over ([limits] max_wait says how long a crawl waits itself)"
    );
}

/// What takes the space, and what gives some back.
pub fn say_space(dir: &Path) {
    eprintln!("  {}", space(&crawl::space::used(dir)));
    if let Some(free) = crawl::space::free(dir) {
        eprintln!("  {} of its disk are free", size(free));
    }
    eprintln!("  compact   gleaner compact {} gives some of it back", dir.display());
    eprintln!("  go on     the same command goes on when there is room (--max-disk, [limits] disk_free)");
}

/// Where the time of a run went. The loop's shares add up to the run.
fn say_timings(p: &Progress) {
    let whole = (p.elapsed_ms as f64).max(1.0);
    let of = |on: Threads| match on {
        Threads::Loop => "one page after the other",
        Threads::Readers => "side by side",
        Threads::Network => "side by side, no work",
    };
    eprintln!("Where the time went");
    for t in &p.timings {
        let each = 1000.0 * t.ms / t.times.max(1) as f64;
        let share = match t.on {
            Threads::Loop => format!("{:>4.0} %", 100.0 * t.ms / whole),
            _ => "      ".into(),
        };
        eprintln!("  {:<20} {:>9.2} s {share} {each:>9.0} µs each, {}", t.stage, t.ms / 1000.0, of(t.on));
    }
}

pub fn summary(out: &Path, shared: bool, stop: Stop, reason: &str, p: &Progress) {
    let elapsed = duration(Duration::from_millis(p.elapsed_ms));
    eprintln!("{}, after {elapsed}", style(reason).bold());
    eprintln!(
        "  {} pages, {} relevant ({:.1} %), {:.1} MB, {} hosts, {} URLs pending",
        count(p.pages),
        style(count(p.relevant)).green(),
        100.0 * p.harvest(),
        p.bytes as f64 / 1e6,
        count(p.hosts as u64),
        count(p.pending),
    );
    if let Some(o) = &p.outlook {
        eprintln!("  {}", outlook(o));
    }
    if let Some(teacher) = &p.teacher {
        eprintln!("  teacher: {}", crate::text::teacher(teacher));
    }
    if !p.errors.is_empty() {
        let kinds = p.errors.iter().map(|(kind, n)| (kind.as_str(), *n));
        eprintln!("  requests without a page: {}", crate::text::misses(kinds));
    }
    if stop == Stop::Pauses {
        say_pauses(p);
    }
    if matches!(stop, Stop::Disk | Stop::DiskFull) {
        say_space(out);
    }
    if p.unanswered > 0 && !shared {
        eprintln!(
            "  {} URLs gave no answer; the same command with --retry asks once more",
            count(p.unanswered)
        );
    }
    if shared {
        eprintln!("  (this worker; `gleaner status --store …` shows all of them)");
        return;
    }
    let dir = out.display();
    if stop == Stop::User {
        eprintln!("  go on     the same command goes on where it stopped");
    }
    eprintln!("  look at   {}", out.join("report.html").display());
    eprintln!("  search    gleaner search {dir} \"words\"");
    eprintln!("  explain   gleaner explain {dir} URL");
    eprintln!("  export    gleaner export {dir} --format jsonl -o pages.jsonl");
}
