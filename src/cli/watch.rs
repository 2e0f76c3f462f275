//! `gleaner watch topic.toml|DIR`: rounds of visits and discovery, until a time or Ctrl-C.

use super::crawl::{Args as CrawlArgs, default_folder, refuse_another_topic};
use super::progress::{Display, Mode};
use super::serve::{BoundPort, ListenFlags};
use super::setup::{self, FetchFlags, TopicArgs, number, set};
use crate::dashboard::{CRAWLS, Job, Server, Shelf};
use crate::text::{count, duration, things, time};
use clap::Args as ClapArgs;
use console::style;
use crawl::collection::{Collection, SharedStore};
use crawl::config::LoadedConfig;
use crawl::marks::Marks;
use crawl::reader::Reader;
use crawl::steer::{Command, Order};
use crawl::units::{Size, Span};
use crawl::{Event, Round, Stop, WatchPlan, live};
use serde_json::json;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use toml::Table;
use types::{Millis, Problem};

const EXAMPLES: &str = "\
Examples:
  gleaner watch topic.toml --every 6h --for 30d        crawl, and come back every six hours for a month
  gleaner watch db --pages 2000                        look after the collection in db, 2,000 pages a round
  gleaner watch db --rounds 1                          one round (from cron or a systemd timer)
  gleaner watch db --serve                             with the dashboard
  gleaner watch db.toml --store postgres://… --crawl db   a shared crawl: one worker looks after it
  gleaner changes db --since 1d                        what came of it

A round visits known pages again and fetches new ones, out of one budget: what is worth most comes first.
That is a hub or feed that brings new relevant pages, a relevant page that has probably changed, a promising
link. How often pages change is learnt from few visits of each. Robots rules, pauses and Retry-After hold.
Between rounds nothing runs: search, export, label the collection as you like. The same command goes on with
a watch that was stopped or killed.";

#[derive(ClapArgs, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Topic file, or the folder of a collection
    #[arg(value_name = "TOPIC|DIR", required_unless_present = "store")]
    what: Option<PathBuf>,
    /// Collection folder; of a shared crawl, this worker's own (default: named after the topic file)
    #[arg(long, short, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    shared: setup::WorkerArgs,
    /// Where to start, if the collection is new (may be repeated)
    #[arg(long, value_name = "URL")]
    seed: Vec<String>,
    /// File with one URL per line, or `FILE#SET` of a seeds.tsv
    #[arg(long, value_name = "FILE[#SET]")]
    seeds: Vec<String>,
    /// From the beginning of a round to that of the next, as in 30m, 6h or 1d
    #[arg(long, value_name = "TIME", value_parser = setup::span, default_value = "6h")]
    every: Span,
    /// How long it lasts, from the first round on, as in 30d (default: until it is stopped)
    #[arg(long = "for", value_name = "TIME", value_parser = setup::span)]
    lasts: Option<Span>,
    /// Pages of a round, known and new ones together
    #[arg(long, value_name = "N", default_value_t = 500, value_parser = clap::value_parser!(u64).range(1..))]
    pages: u64,
    /// Stop after N rounds; the same command goes on later
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    rounds: Option<u64>,
    /// How long to wait before a page that is not there is asked for once more
    #[arg(long, value_name = "TIME", value_parser = setup::span, default_value = "10s")]
    confirm: Span,
    /// Stop before the collection takes more of the disk, as in 20GB
    #[arg(long, value_name = "SIZE", value_parser = setup::size)]
    max_disk: Option<Size>,
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
    /// Open the dashboard: see each round in the browser, and what it found
    #[arg(long, conflicts_with = "store")]
    serve: bool,
    #[command(flatten)]
    listen: ListenFlags,
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
        if let Some(d) = self.delay {
            set(&mut t, "fetch", "delay", d.to_string());
        }
        if let Some(most) = self.max_disk {
            set(&mut t, "limits", "disk", most.to_string());
        }
        t
    }

    fn plan(&self) -> WatchPlan {
        WatchPlan {
            pages: self.pages,
            every: self.every.0,
            lasts: self.lasts.map(|t| t.0),
            confirm: self.confirm.0,
        }
    }

    fn mode(&self) -> Mode {
        match (self.json, self.quiet, std::io::stderr().is_terminal()) {
            (true, ..) => Mode::Json,
            (_, true, _) => Mode::Quiet,
            (_, _, true) => Mode::Panel,
            _ => Mode::Lines,
        }
    }

    /// The topic, the folder of the collection, and the shared crawl if it is one.
    fn collection(&self) -> Result<(LoadedConfig, PathBuf, Option<SharedStore>), Problem> {
        if self.every.0 < Duration::from_secs(1) {
            return Err(Problem::usage("--every is too short").hint("a second at least; 6h is a good choice"));
        }
        if let Some(url) = &self.shared.store {
            return self.shared_crawl(url);
        }
        let what = self.what.clone().unwrap_or_default();
        if what.is_dir() {
            Collection::check_remains(&what)?;
            if !Collection::exists(&what) {
                return Err(Problem::usage(format!("{} is not a collection", what.display()))
                    .hint("name a topic file (`gleaner new` writes one), or the folder of a collection"));
            }
            if self.out.is_some() {
                return Err(Problem::usage("--out names a folder, and so does DIR")
                    .hint("leave --out away, or name a topic file instead of DIR"));
            }
            return Ok((
                setup::load(Some(&Collection::topic_file(&what)), self.table())?,
                what.clone(),
                None,
            ));
        }
        let loaded = setup::load(Some(&what), self.table())?;
        let out = self.out.clone().unwrap_or_else(|| default_folder(Some(&what), &loaded));
        if Collection::exists(&out) {
            let topic = TopicArgs { topic: Some(what.clone()), ..TopicArgs::default() };
            let args = CrawlArgs { topic, ..CrawlArgs::default() };
            refuse_another_topic(&out, &loaded, &args, self.mode())?;
        }
        Ok((loaded, out, None))
    }

    /// One that was begun, or the one that a topic file begins.
    fn shared_crawl(&self, url: &str) -> Result<(LoadedConfig, PathBuf, Option<SharedStore>), Problem> {
        store::check_address(url)?;
        let Some(topic) = &self.what else {
            let worker = self.shared.begun(self.out.as_deref(), self.table())?;
            let worker = worker.ok_or_else(|| Problem::usage("--store names no database"))?;
            return Ok((worker.loaded, worker.dir, Some(worker.store)));
        };
        if topic.is_dir() {
            return Err(Problem::usage("--store names a database, and DIR a folder")
                .hint("name a topic file, or leave it out for a crawl that was begun (--crawl NAME)"));
        }
        let loaded = setup::load(Some(topic), self.table())?;
        let out = self.out.clone().unwrap_or_else(|| default_folder(Some(topic), &loaded));
        let folder = out.file_name().and_then(|name| name.to_str()).unwrap_or("crawl").to_string();
        let crawl = self.shared.crawl.clone().unwrap_or(folder);
        Ok((loaded, out, Some(self.shared.store_of(url, &crawl))))
    }
}

pub fn run(args: Args) -> Result<ExitCode, Problem> {
    let (loaded, dir, shared) = args.collection()?;
    let mode = args.mode();
    let door = args.serve.then(|| args.listen.open()).transpose()?;
    if mode != Mode::Json && mode != Mode::Quiet {
        setup::say_what_a_proxy_hides(&loaded.config);
    }
    let bell = Arc::new(Bell::default());
    bell.ring_on_ctrl_c()?;
    let mut watch = Watch { args: &args, loaded, dir, shared, mode, bell, door, server: None };
    let mut done = 0;
    let mut due = watch.due()?;
    loop {
        if let Some(due) = due
            && !watch.wait(due)
        {
            return Ok(ExitCode::from(3));
        }
        let ran = watch.round()?;
        done += 1;
        watch.say(&ran);
        match ran.stop {
            Stop::User => return Ok(ExitCode::from(3)),
            Stop::Disk | Stop::DiskFull => {
                if watch.talks() && watch.shared.is_none() {
                    super::crawl::say_space(&watch.dir);
                }
                return Ok(ExitCode::FAILURE);
            }
            _ => {}
        }
        due = ran.due;
        if due.is_none() || args.rounds.is_some_and(|most| done >= most) {
            return Ok(ExitCode::SUCCESS);
        }
    }
}

/// A round that has ended.
struct Ran {
    stop: Stop,
    reason: String,
    /// `None`: it was broken off, and the next one goes on with it.
    round: Option<Round>,
    due: Option<Millis>,
}

struct Watch<'a> {
    args: &'a Args,
    loaded: LoadedConfig,
    dir: PathBuf,
    shared: Option<SharedStore>,
    mode: Mode,
    bell: Arc<Bell>,
    /// Where the dashboard will be, until there is something to show.
    door: Option<BoundPort>,
    server: Option<Server>,
}

impl Watch<'_> {
    fn talks(&self) -> bool {
        self.mode == Mode::Panel || self.mode == Mode::Lines
    }

    /// When the next round of an earlier run is due.
    fn due(&self) -> Result<Option<Millis>, Problem> {
        let watched = match &self.shared {
            Some(s) if !store::SharedReader::exists(&s.url, &s.crawl) => return Ok(None),
            Some(s) => Reader::open_shared(&s.url, Some(&s.crawl), &setup::cache_folder())?.watched()?,
            None if !Collection::exists(&self.dir) => return Ok(None),
            None => Reader::open(&self.dir)?.watched()?,
        };
        Ok(watched.filter(|w| w.until.is_none_or(|until| Millis::now() < until)).and_then(|w| w.due))
    }

    /// Until then, and until nobody else writes to the collection. `false`: the user ends it.
    fn wait(&self, due: Millis) -> bool {
        let asked = Millis::now();
        if due > asked && self.talks() {
            eprintln!(
                "the next round begins {} (Ctrl-C ends the watch; the same command goes on)",
                time(due)
            );
        }
        // A clock that is put back does not make it longer than it was to be.
        let most = due.since(asked).min(self.args.every.0);
        let is_due = |slept: Duration| Millis::now() >= due || slept >= most;
        // A shared crawl is shared with whoever works on it.
        let is_free = |_| self.shared.is_some() || !store::ledger::is_locked(&self.dir);
        self.bell.sleep_until(is_due) && self.bell.sleep_until(is_free)
    }

    fn round(&mut self) -> Result<Ran, Problem> {
        let canon = Collection::canon(&self.loaded.config);
        let seeds = setup::seeds(&self.loaded.config, &self.args.seed, &self.args.seeds, &canon)?;
        let begun = match &self.shared {
            Some(s) => seeds.is_empty() && store::SharedReader::exists(&s.url, &s.crawl),
            None => {
                Collection::check_remains(&self.dir)?;
                Collection::exists(&self.dir)
            }
        };
        if seeds.is_empty() && !begun {
            return Err(Problem::nothing("there is nowhere to start: no seeds").hint(
                "give --seed URL or --seeds FILE, or put urls = [\"…\"] under [seeds] in the topic file",
            ));
        }
        let mut open = Collection::open_in(&self.dir, self.shared.as_ref(), &self.loaded, &seeds, 0)?;
        for note in &open.notes {
            setup::warn(note);
        }
        let display = Arc::new(Mutex::new(Display::new(self.mode, &self.loaded.config)));
        let (job, orders) = Job::new(false);
        self.show(&job)?;
        let (told, shown) = (job.clone(), display);
        open.crawl.on_event(move |event: &Event| {
            told.event(event);
            if let Ok(mut display) = shown.lock() {
                display.event(event);
            }
        });
        self.bell.goes_to(job.orders(), open.crawl.marks());
        open.start(&seeds, Millis::steady())?;
        let round = open.crawl.begin_round(&self.args.plan(), Millis::steady())?;
        self.announce(&round);
        let (stop, _) = live::run(&mut open.crawl, open.web.clone(), open.analyst.clone(), &orders)?;
        let reason = open.crawl.ended().map_or_else(|| stop.reason().to_string(), |ended| ended.reason());
        let watched = open.crawl.watched().cloned().unwrap_or_default();
        let (round, due) = (watched.last.filter(|_| watched.now.is_none()), watched.due);
        drop(open);
        self.bell.goes_nowhere();
        if self.shared.is_none() {
            crate::report::write(&self.dir)?;
        }
        job.end();
        Ok(Ran { stop, reason, round, due })
    }

    /// In the dashboard, which is opened with the first round: then there is something to show.
    fn show(&mut self, job: &Arc<Job>) -> Result<(), Problem> {
        if let Some(door) = self.door.take() {
            let mut flags = Table::new();
            self.args.fetch.lay(&mut flags);
            let server = super::serve::start(Shelf::new(self.dir.clone()), door, flags, CRAWLS)?;
            eprintln!("dashboard: {}", server.url());
            self.server = Some(server);
        }
        if let Some(server) = &self.server {
            for (name, _) in server.app().shelf.list() {
                server.app().jobs().add(&name, job.clone());
            }
        }
        Ok(())
    }

    fn announce(&self, round: &Round) {
        let again = round.visits.visited + round.new > 0;
        match self.mode {
            Mode::Json => println!(
                "{}",
                json!({ "event": "round", "number": round.number, "began": round.began, "goes_on": again,
                        "pages": self.args.pages })
            ),
            Mode::Panel | Mode::Lines => {
                let goes_on = if again { ", which was broken off," } else { "" };
                let title = self.loaded.config.title();
                eprintln!(
                    "{} round {}{goes_on} of up to {}",
                    style(title).bold(),
                    round.number,
                    things(self.args.pages, "page")
                );
            }
            Mode::Quiet => {}
        }
    }

    fn say(&self, ran: &Ran) {
        if self.mode == Mode::Json {
            let round = ran.round.as_ref().map(|r| json!(r));
            let stop = ran.stop.reason();
            println!("{}", json!({ "event": "round-ended", "reason": stop, "round": round, "due": ran.due }));
            return;
        }
        if !self.talks() {
            return;
        }
        match &ran.round {
            Some(round) => eprintln!(
                "round {}, after {}: {} new ({} relevant); {}",
                round.number,
                duration(round.ended.since(round.began)),
                things(round.new, "page"),
                count(round.relevant),
                crate::text::refreshed(&round.visits)
            ),
            None => eprintln!("{}; the same command goes on with this round", style(&ran.reason).bold()),
        }
        if ran.round.is_some() {
            let folder = || self.dir.display().to_string();
            let which = self.shared.as_ref().map_or_else(folder, setup::store_flags);
            let next = match ran.due {
                Some(due) => format!("the next round is due {}", time(due)),
                None => "the watch is over".into(),
            };
            eprintln!("  {next}; what came of it: gleaner changes {which} --since 1d");
        }
    }
}

/// What Ctrl-C does: a round ends in order, a wait at once; twice, everything at once.
#[derive(Default)]
struct Bell {
    rung: Mutex<u32>,
    ring: Condvar,
    /// The loop that runs, and what it is reading.
    round: Mutex<Option<(Sender<Order>, Option<Marks>)>>,
}

impl Bell {
    fn ring_on_ctrl_c(self: &Arc<Self>) -> Result<(), Problem> {
        let bell = self.clone();
        ctrlc::set_handler(move || bell.press())
            .map_err(|e| Problem::new("cannot listen for Ctrl-C").because(e))
    }

    fn press(&self) {
        let mut rung = locked(&self.rung);
        *rung += 1;
        let round = locked(&self.round);
        if *rung > 1 {
            // Whoever leaves does not blame the pages that are being read.
            if let Some((_, Some(marks))) = round.as_ref() {
                marks.close();
            }
            std::process::exit(3);
        }
        if let Some((orders, _)) = round.as_ref() {
            eprintln!(
                "\nstopping; press Ctrl-C again to leave at once (nothing is lost; the same command goes on)"
            );
            let _ = orders.send(Command::Stop.into());
        }
        self.ring.notify_all();
    }

    fn goes_to(&self, orders: Sender<Order>, marks: Option<Marks>) {
        // Both under the first lock: a key that was pressed a moment ago is not lost.
        let rung = locked(&self.rung);
        if *rung > 0 {
            let _ = orders.send(Command::Stop.into());
        }
        *locked(&self.round) = Some((orders, marks));
    }

    fn goes_nowhere(&self) {
        *locked(&self.round) = None;
    }

    /// `false`: it rang before it was time.
    fn sleep_until(&self, is_time: impl Fn(Duration) -> bool) -> bool {
        let began = std::time::Instant::now();
        let mut rung = locked(&self.rung);
        while *rung == 0 {
            if is_time(began.elapsed()) {
                return true;
            }
            // Looks at the clock now and then: it may be put forward.
            rung = self.ring.wait_timeout(rung, LOOK_EVERY).unwrap_or_else(PoisonError::into_inner).0;
        }
        false
    }
}

/// Between two looks at the clock while a round is waited for.
const LOOK_EVERY: Duration = Duration::from_millis(250);

fn locked<T>(m: &Mutex<T>) -> MutexGuard<'_, T> {
    m.lock().unwrap_or_else(PoisonError::into_inner)
}
