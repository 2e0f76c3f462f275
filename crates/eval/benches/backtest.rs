//! How fast a backtest is: the first one of a web against bare extraction of its pages, later ones from the
//! cache, and a large generated web.
//!
//! ```sh
//! cargo bench -p gleaner-eval --bench backtest                                   # $GLEANER_WEBS/docs and webkb
//! cargo bench -p gleaner-eval --bench backtest -- --sim 1000000                  # a generated web of so many pages, too
//! cargo bench -p gleaner-eval --bench backtest -- --webs DIR --topics DIR --strategy genre
//! ```
//! Rates are pages per second of CPU time (user + system of the process) on one thread, so that a busy
//! machine does not decide them; wall time is shown beside them. The first backtest is also run as users run
//! it, on all cores, and there wall time is compared: what a user waits for against what bare extraction on
//! one core would take.

use gleaner_eval::Tally;
use gleaner_eval::cache::{CachedWeb, Settings};
use gleaner_eval::labels::{Labels, Rules, Seeds};
use gleaner_eval::tournament::Plan;
use gleaner_eval::webs::{self, Opened, Recorded};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Instant;
use types::{Canon, Problem};

/// The recorded webs, a topic of each, its label and its seeds.
const RUNS: [(&str, &str, &str, &str); 2] = [
    ("docs", "docs-planning", "pg_sqlite_planning", "general"),
    ("webkb", "webkb-course", "course", "four_departments"),
];

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let value = |name: &str| args.iter().position(|a| a == name).and_then(|i| args.get(i + 1)).cloned();
    let folder = |flag: &str, variable: &str| {
        PathBuf::from(value(flag).or_else(|| std::env::var(variable).ok()).unwrap_or_else(|| ".".into()))
    };
    let webs = folder("--webs", "GLEANER_WEBS");
    let topics = folder("--topics", "GLEANER_TOPICS");
    let strategy = value("--strategy").unwrap_or_else(|| "genre".into());
    println!("backtest: strategy {strategy}, one thread; pages per second of CPU time (of wall time)\n");
    println!(
        "| web | pages | bare extraction | first backtest | of bare | first, all cores | of bare (wall) | \
         later, whole | later, the run alone | peak MB |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|");
    for (web, topic, label, seeds) in RUNS {
        if let Err(problem) = recorded(&webs.join(web), &topics, topic, label, seeds, &strategy) {
            println!("| {web} | not measured: {problem} |");
        }
    }
    if let Some(pages) = value("--sim")
        && let Err(problem) = generated(&pages, &strategy)
    {
        println!("| sim | not measured: {problem} |");
    }
}

fn recorded(
    path: &Path,
    topics: &Path,
    topic: &str,
    label: &str,
    set: &str,
    strategy: &str,
) -> Result<(), Problem> {
    let temp = tempfile::tempdir().map_err(|e| Problem::new("no temporary folder").because(e))?;
    let options = extract::Options { canon: Canon::exact(), ..extract::Options::default() };
    let open = || webs::open(&path.display().to_string(), Some(temp.path()));
    let Opened { web, .. } = open()?;
    let labels = Labels::open(&path.join("labels.tsv"), web.as_ref())?;
    let seeds = Seeds::open(&format!("{}#{set}", path.join("seeds.tsv").display()))?.inside(web.as_ref())?;
    let config = crawl::Config::read(&topics.join(format!("{topic}.toml")), toml::Table::new())?.config;
    let cores = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);

    // Some hundred pages at a time, so that reading files is not in it and the clock's ticks do not matter.
    let (mut bare, mut pages) = (Cost::default(), 0);
    let all: Vec<usize> = (0..web.pages()).collect();
    for some in all.chunks(500) {
        let read = some.iter().filter_map(|n| web.page(*n)).map(|url| web.answer(&url));
        let answers: Vec<types::Fetched> = read.filter(|f| !f.payload.decoded().is_empty()).collect();
        pages += answers.len();
        bare.add(|| {
            for f in &answers {
                drop(extract::extract(&f.url, f.header("content-type"), None, f.payload.decoded(), &options));
            }
        });
    }
    let backtest = |cost: &mut Cost, cache: &str, threads: NonZeroUsize| -> Result<(usize, f64), Problem> {
        let settings = Settings { folder: Some(temp.path().join(cache)), ..Settings::default() };
        let mut ran = (0, 0.0);
        let mut failed = None;
        cost.add(|| {
            let run = || -> Result<(usize, f64), Problem> {
                let mut notes = Tally::default();
                let cached = CachedWeb::open(open()?.web, options.clone(), &settings, &mut notes);
                if cached.cached() < cached.pages() {
                    cached.build(threads, |_, _| {});
                }
                let plan = plan(&cached, topic, &config, strategy, Some(&labels), label, &seeds.urls);
                let plan = Plan { threads, ..plan };
                let outcome = plan.run(&|_, _, _| {})?;
                let timing = &outcome.runs[0].timing;
                Ok((timing.pages, timing.seconds))
            };
            match run() {
                Ok(done) => ran = done,
                Err(e) => failed = Some(e),
            }
        });
        failed.map_or(Ok(ran), Err)
    };
    let (mut first, mut wide, mut later) = (Cost::default(), Cost::default(), Cost::default());
    backtest(&mut first, "one", NonZeroUsize::MIN)?;
    backtest(&mut wide, "all", cores)?;
    let (run_pages, _) = backtest(&mut later, "one", NonZeroUsize::MIN)?;
    // The run alone, on a web that is open already: what each further strategy of a tournament costs.
    let mut notes = Tally::default();
    let settings = Settings { folder: Some(temp.path().join("one")), ..Settings::default() };
    let cached = CachedWeb::open(open()?.web, options.clone(), &settings, &mut notes);
    let one = plan(&cached, topic, &config, strategy, Some(&labels), label, &seeds.urls);
    let (mut with_graph, mut twice) = (Cost::default(), Cost::default());
    with_graph.add(|| drop(one.run(&|_, _, _| {})));
    let both = Plan { rngs: vec![None, None], ..one };
    twice.add(|| drop(both.run(&|_, _, _| {})));
    let alone =
        Cost { cpu: (twice.cpu - with_graph.cpu).max(1e-9), wall: (twice.wall - with_graph.wall).max(1e-9) };
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    println!(
        "| {name} | {pages} | {} | {} | {:.2} | {} | {:.2} | {} | {} | {:.0} |",
        bare.rate(pages),
        first.rate(pages),
        bare.cpu / first.cpu,
        wide.rate(pages),
        bare.wall / wide.wall,
        later.rate(run_pages),
        alone.rate(run_pages),
        memory("VmHWM:")
    );
    Ok(())
}

fn generated(pages: &str, strategy: &str) -> Result<(), Problem> {
    let spec = format!("sim:mixed?pages={pages}");
    let Opened { web, sim } = webs::open(&spec, None)?;
    let Some(sim) = sim else { return Err(Problem::new("not a generated web")) };
    let config = crawl::Config::load(&sim.topic_toml(), "the generated topic", toml::Table::new())?.config;
    let labels = Labels::parse(&sim.labels_tsv(false), web.as_ref());
    let seeds = sim.seeds();
    let mut cost = Cost::default();
    let mut done = Ok(0);
    cost.add(|| {
        let plan = plan(web.as_ref(), "sim", &config, strategy, Some(&labels), "1,relevant,yes", &seeds);
        done = plan.run(&|_, _, _| {}).map(|o| o.runs[0].timing.pages);
    });
    let ran = done?;
    println!(
        "\n{spec}: {ran} pages in {:.0} s of CPU time on one thread ({:.0} s wall), {} pages/s, peak {:.0} \
         MB",
        cost.cpu,
        cost.wall,
        cost.rate(ran),
        memory("VmHWM:")
    );
    Ok(())
}

fn plan<'a>(
    web: &'a dyn Recorded,
    topic: &str,
    config: &crawl::Config,
    strategy: &str,
    labels: Option<&'a Labels>,
    label: &str,
    seeds: &[types::Url],
) -> Plan<'a> {
    Plan {
        topics: vec![(topic.to_string(), config.clone())],
        strategies: vec![strategy.to_string()],
        labels,
        label_rules: Rules::new(label, ""),
        seeds: seeds.to_vec(),
        ..Plan::on(web)
    }
}

#[derive(Clone, Copy, Default)]
struct Cost {
    cpu: f64,
    wall: f64,
}

impl Cost {
    fn add(&mut self, work: impl FnOnce()) {
        let (cpu, wall) = (cpu_seconds(), Instant::now());
        work();
        self.cpu += cpu_seconds() - cpu;
        self.wall += wall.elapsed().as_secs_f64();
    }

    fn rate(&self, pages: usize) -> String {
        format!("{:.0} ({:.0})", pages as f64 / self.cpu, pages as f64 / self.wall)
    }
}

/// Of all threads of this process, in ticks of 10 ms.
fn cpu_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let mut fields = text.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace().skip(11);
    let mut ticks = || fields.next().and_then(|t| t.parse::<f64>().ok()).unwrap_or(0.0);
    (ticks() + ticks()) / 100.0
}

fn memory(line: &str) -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let kb = status.lines().find(|l| l.starts_with(line)).and_then(|l| l.split_whitespace().nth(1));
    kb.and_then(|n| n.parse::<f64>().ok()).unwrap_or(0.0) / 1024.0
}
