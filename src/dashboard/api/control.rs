//! Steering: start, pause, resume, stop, settings, seeds, hosts, labels, new crawls.

use super::super::App;
use super::super::jobs::{Job, Phase, Task};
use super::super::reply::{Refusal, Reply};
use super::super::route::Call;
use super::super::shelf::{View, Volume};
use super::topic;
use crawl::collection::Collection;
use crawl::config::Config;
use crawl::steer::fleet::{Address, FleetCommand};
use crawl::steer::{Command, Effect, HostRule, Limits, Pace, Settings};
use serde::Deserialize;
use serde_json::json;
use std::sync::Arc;
use std::time::{Duration, Instant};
use types::{Problem, ProblemKind, Url};

/// Seeds in one request.
const MOST_SEEDS: usize = 10_000;
/// How long the workers of a shared crawl are waited for before the answer is "asked".
const WORKERS: Duration = Duration::from_secs(3);
/// How long a crawl may take to open its collection before the answer is "starting".
const OPENING: Duration = Duration::from_secs(20);

/// The crawl of this collection in this process, or why there is none.
fn running(volume: &Volume) -> Result<Arc<Job>, Refusal> {
    match volume.job().filter(|j| !j.is_over() && !j.is_editing()) {
        Some(job) => Ok(job),
        None if volume.is_locked() => Err(Refusal::conflict(
            Problem::new("another process runs this crawl")
                .hint("steer it there: `gleaner crawl --serve` gives it a dashboard of its own"),
        )),
        None => Err(Refusal::conflict(Problem::new("this crawl is not running").hint("start it first"))),
    }
}

/// The running crawl, or the collection opened for corrections.
fn editable(app: &App, volume: &Volume) -> Result<Arc<Job>, Refusal> {
    if let Some(job) = volume.job().filter(|j| !j.is_over() && j.now().phase != Phase::Stopping) {
        return Ok(job);
    }
    volume.stop_teaching();
    wait_for_lock(volume);
    if volume.is_locked() {
        return running(volume);
    }
    let mut flags = app.flags.clone();
    // Nothing is fetched: nobody needs to be reached.
    let fetch = flags.entry("fetch").or_insert_with(|| toml::Table::new().into());
    if let Some(t) = fetch.as_table_mut() {
        t.entry("contact").or_insert_with(|| "https://localhost/".into());
    }
    let loaded = Config::read(&Collection::topic_file(&volume.dir), flags).map_err(Refusal::conflict)?;
    let job = app.shelf.jobs().start(&volume.name, volume.dir.clone(), loaded, Task::Edit)?;
    opened(&job)?;
    Ok(job)
}

/// Gives a command to whoever runs the crawl: this process, or the workers of a shared one, wherever they
/// are. `edits`: it can be done to a crawl that is not running.
pub(super) fn command(app: &App, volume: &Volume, command: Command, edits: bool) -> Result<Reply, Refusal> {
    let done = match &volume.shared {
        Some(shared) => {
            // The view is not held while the workers are waited for.
            let asked = FleetCommand::new(&volume.view()?.reader, command).map_err(refused)?;
            let who = crate::labelling::who("dashboard");
            let (store, crawl) = (shared.store.as_str(), volume.name.as_str());
            asked.give(&Address { store, crawl, who: &who, patience: WORKERS })
        }
        None if edits => editable(app, volume)?.ask(command),
        None => running(volume)?.ask(command),
    };
    let done = match edits {
        true => done.map_err(refused)?,
        false => done.map_err(Refusal::conflict)?,
    };
    volume.look_again();
    Ok(Reply::json(&done))
}

/// A crawl that is just closing lets go of the ledger soon.
fn wait_for_lock(volume: &Volume) {
    let until = Instant::now() + Duration::from_secs(5);
    while volume.job().is_some_and(|j| !j.is_over() || volume.is_locked()) && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Waits until the crawl has opened its collection, so that what is wrong with it is said at once.
fn opened(job: &Job) -> Result<(), Refusal> {
    let until = Instant::now() + OPENING;
    while Instant::now() < until {
        match job.now().phase {
            Phase::Starting => std::thread::sleep(Duration::from_millis(20)),
            Phase::Failed(problem) => return Err(Refusal::conflict(problem)),
            _ => return Ok(()),
        }
    }
    Ok(())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Action {
    action: Do,
    /// With `start`: to go by.
    #[serde(default)]
    settings: Option<Settings>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Do {
    Start,
    Pause,
    Resume,
    Stop,
}

pub fn act(app: &App, call: &Call) -> Result<Reply, Refusal> {
    let volume = app.shelf.get(call.text("collection").unwrap_or(""))?;
    let Action { action, settings } = call.body()?;
    match action {
        Do::Pause => command(app, &volume, Command::Pause, false),
        Do::Resume => command(app, &volume, Command::Resume, false),
        Do::Stop => command(app, &volume, Command::Stop, false),
        Do::Start if volume.shared.is_some() => Err(Refusal::conflict(
            Problem::new("the workers of a shared crawl are not started from here").hint(
                "`gleaner crawl topic.toml --store …` on each machine that shall work; a paused crawl is \
                 resumed",
            ),
        )),
        Do::Start => {
            if let Some(job) = volume.job().filter(|j| !j.is_over() && j.is_editing()) {
                let _ = job.ask(Command::Stop);
            }
            volume.stop_teaching();
            wait_for_lock(&volume);
            if volume.is_locked() {
                return Err(Refusal::conflict(Problem::new("this crawl is running already")));
            }
            let loaded = Config::read(&Collection::topic_file(&volume.dir), app.flags.clone())
                .map_err(Refusal::conflict)?;
            let canon = Collection::canon(&loaded.config);
            let seeds = loaded.config.seeds.urls.iter().filter_map(|u| canon.parse_typed(u).ok()).collect();
            let before = as_before(&*volume.view()?);
            let given = settings.unwrap_or_default();
            let settings = Settings {
                limits: given.limits.or(before.limits),
                fetch: given.fetch.or(before.fetch),
                ..given
            };
            let task = Task::Crawl { seeds, settings: Some(Box::new(settings)) };
            opened(&*app.shelf.jobs().start(&volume.name, volume.dir.clone(), loaded, task)?)?;
            volume.look_again();
            Ok(Reply::json(&Effect::says("going on")))
        }
    }
}

/// Limits and pace of the last run's command line, as settings of the next: what people see is what goes on.
/// A limit that is reached already would end it at once, and is none.
fn as_before(view: &View) -> Settings {
    let reader = &view.reader;
    let Some(flags) = reader.session().map(|s| s.flags()) else { return Settings::default() };
    let (limits, fetch) = (&reader.config().limits, &reader.config().fetch);
    let pages = view.rows.len() as u64;
    let limits = flags.contains_key("limits").then(|| Limits {
        pages: limits.pages.filter(|most| *most > pages),
        relevant: limits.relevant.filter(|most| *most > view.rows.relevant),
        time_ms: limits.time.map(|t| t.0.as_millis() as u64),
    });
    let fetch = flags.contains_key("fetch").then_some(Pace {
        concurrency: Some(fetch.concurrency),
        delay_ms: Some(fetch.delay.0.as_millis() as u64),
    });
    Settings { limits, fetch, ..Settings::default() }
}

pub fn settings(app: &App, call: &Call) -> Result<Reply, Refusal> {
    let volume = app.shelf.get(call.text("collection").unwrap_or(""))?;
    let settings: Settings = call.body()?;
    if let Some(text) = &settings.strategy {
        toml::from_str::<toml::Table>(text).map_err(|e| {
            Refusal::new(400, Problem::usage("the strategy's options are not TOML").because(e.message()))
        })?;
    }
    command(app, &volume, Command::Settings(Box::new(settings)), true)
}

/// What the user asked for makes no sense: 400; it cannot be done now: 409.
fn refused(problem: Problem) -> Refusal {
    match problem.kind() {
        ProblemKind::Usage | ProblemKind::Nothing => problem.into(),
        ProblemKind::Failed => Refusal::conflict(problem),
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Seeds {
    urls: Vec<String>,
}

fn seed_urls(texts: &[String], config: &Config) -> Result<Vec<Url>, Refusal> {
    if texts.len() > MOST_SEEDS {
        return Err(Refusal::bad(format!("at most {MOST_SEEDS} seeds at once")));
    }
    let canon = Collection::canon(config);
    let parse = |t: &String| {
        canon.parse_typed(t).map_err(|e| {
            let shown: String = t.chars().take(200).collect();
            Refusal::new(400, Problem::usage(format!("seed `{shown}`: {e}")).hint("seeds are whole URLs"))
        })
    };
    texts.iter().filter(|t| !t.trim().is_empty()).map(parse).collect()
}

pub fn seeds(app: &App, call: &Call) -> Result<Reply, Refusal> {
    let volume = app.shelf.get(call.text("collection").unwrap_or(""))?;
    let Seeds { urls } = call.body()?;
    let urls = seed_urls(&urls, volume.view()?.reader.config())?;
    command(app, &volume, Command::Seeds(urls), true)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    rule: HostRule,
}

pub fn host(app: &App, call: &Call) -> Result<Reply, Refusal> {
    let volume = app.shelf.get(call.text("collection").unwrap_or(""))?;
    let Rule { rule } = call.body()?;
    let host = call.text("host").unwrap_or("").to_lowercase();
    if volume.view()?.reader.ledger().find_host(&host)?.is_none() {
        return Err(Refusal::not_found("this crawl knows no such host"));
    }
    command(app, &volume, Command::Host { host, rule }, true)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Label {
    /// Must be there, be it null: nothing is taken back by mistake.
    #[serde(deserialize_with = "Option::deserialize")]
    label: Option<bool>,
}

pub fn label(app: &App, call: &Call) -> Result<Reply, Refusal> {
    let volume = app.shelf.get(call.text("collection").unwrap_or(""))?;
    let Label { label } = call.body()?;
    let id = call.id();
    if volume.view()?.reader.ledger().record(id)?.is_none() {
        return Err(Refusal::not_found(format!("there is no page with number {}", id.0)));
    }
    let said = vec![(id, label)];
    // A crawl of this process is asked, and so are the workers of a shared one. Any other folder needs no
    // crawl.
    let asked = volume.job().is_some_and(|j| !j.is_over() && j.now().phase != Phase::Stopping);
    if asked || volume.shared.is_some() {
        return command(app, &volume, Command::Labels(said), true);
    }
    wait_for_lock(&volume);
    let done = volume.say(&said).map_err(refused)?;
    volume.look_again();
    Ok(Reply::json(&done))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewCrawl {
    name: Option<String>,
    topic: String,
    #[serde(default)]
    seeds: Vec<String>,
    /// To go by, from the first page on.
    #[serde(default)]
    settings: Option<Settings>,
}

pub fn create(app: &App, call: &Call) -> Result<Reply, Refusal> {
    let NewCrawl { name, topic, seeds, settings } = call.body()?;
    if app.shelf.is_shared() {
        return Err(Refusal::conflict(
            Problem::new("crawls in a shared database are not begun from here")
                .hint("`gleaner crawl topic.toml --store …` on the machine that shall work"),
        ));
    }
    topic::read(&topic)?;
    let loaded = Config::load(&topic, "topic.toml", app.flags.clone())?;
    let mut urls = seed_urls(&loaded.config.seeds.urls, &loaded.config)?;
    urls.extend(seed_urls(&seeds, &loaded.config)?);
    if urls.is_empty() {
        return Err(Refusal::new(
            400,
            Problem::usage("there is nowhere to start: no seeds").hint("give at least one URL"),
        ));
    }
    // Letters and digits with hyphens between: a name in our folder, never a path.
    let name = crate::text::slug(name.as_deref().unwrap_or(loaded.config.title()));
    let dir = app.shelf.root().join(&name);
    if dir.exists() {
        return Err(Refusal::conflict(
            Problem::new(format!("there is a folder `{name}` already")).hint("choose another name"),
        ));
    }
    let task = Task::Crawl { seeds: urls, settings: settings.map(Box::new) };
    let job = app.shelf.jobs().start(&name, dir, loaded, task)?;
    opened(&job)?;
    Ok(Reply::json(&json!({ "name": name })))
}
