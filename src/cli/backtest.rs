//! `gleaner backtest`: strategies on a recorded web, measured.

use super::setup::{self, set};
use super::train::lay_model;
use crate::text::count;
use clap::Args as ClapArgs;
use console::style;
use crawl::collection::TopicParts;
use crawl::config::Config;
use crawl::units::Span;
use eval::Tally;
use eval::cache::{self, CachedWeb};
use eval::labels::{Labels, Rules, Seeds};
use eval::report::{Report, StrategyCurve, TopicCurve};
use eval::results::{OrderLine, Results, Timing, order_file, order_tsv};
use eval::teach::Teach;
use eval::tournament::{Outcome, Plan};
use eval::webs::{self, Opened, Recorded, SimWeb};
use focus::model::Role;
use std::fs;
use std::io::IsTerminal;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};
use toml::Table;
use types::{Canon, Problem, Url};

const EXAMPLES: &str = "\
Examples:
  gleaner backtest --web sim:campus --strategies all --out results
  gleaner backtest --web webs/webkb --topic course.toml --labels webs/webkb/labels.tsv --relevant-label course \\
          --ignore-label course_subpage --seeds webs/webkb/seeds.tsv#four_departments --strategies \
          best-first,genre --rng 0..4 --out results
  gleaner backtest --web sim:campus --strategies adaptive --teach 0,10,20,40 --wrong 0.05 --out taught";

#[derive(ClapArgs, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// A folder web, WARC files or a folder of them, or sim:NAME[?options]
    #[arg(long, value_name = "PATH")]
    web: String,
    /// Topic files (a generated web brings its own)
    #[arg(long, value_name = "TOPIC.toml", num_args = 1..)]
    topic: Vec<PathBuf>,
    /// url<TAB>labels: who is really relevant (default: the web's own labels.tsv). `examples`: pages like the
    /// topic's example pages
    #[arg(long, value_name = "FILE.tsv|examples")]
    labels: Option<PathBuf>,
    /// With `--labels examples`: how similar (cosine) a relevant page is to one of them, more than
    #[arg(long, value_name = "S", default_value_t = eval::metrics::SIMILAR)]
    similar: f64,
    /// Labels of relevant pages, separated by commas
    #[arg(long, value_name = "a,b", default_value = "1,relevant,yes")]
    relevant_label: String,
    /// Labels of pages that count neither way
    #[arg(long, value_name = "c,d", default_value = "")]
    ignore_label: String,
    /// Strategies to compare, separated by commas, or `all`
    #[arg(long, value_name = "a,b|all")]
    strategies: Option<String>,
    /// Judge with this one instead of the topics' own
    #[arg(long, value_name = "NAME")]
    judge: Option<String>,
    /// A file of `gleaner train`: a judge for all topics, or what the strategy it is for knows from the start
    #[arg(long, value_name = "FILE")]
    model: Option<PathBuf>,
    /// Turn this share of the verdicts around
    #[arg(long, value_name = "P", default_value_t = 0.0)]
    judge_noise: f64,
    /// Let the labels answer questions while a crawl runs, one crawl for each number of answers: how good do
    /// verdicts get?
    #[arg(long, value_name = "0,10,20", allow_hyphen_values = true)]
    teach: Option<String>,
    /// With --teach: give this share of the answers wrong
    #[arg(long, value_name = "P", requires = "teach", allow_hyphen_values = true)]
    wrong: Option<f64>,
    /// Pages per run (default: everything reachable; on a web with endless traps, as many as the web has
    /// pages)
    #[arg(long, value_name = "N")]
    pages: Option<u64>,
    /// Where to start (default: the topics' own seeds, or the web's)
    #[arg(long, value_name = "FILE[#SET]")]
    seeds: Vec<String>,
    /// Random numbers, one run each: N or N..M (both included). Each draws 75 % of the seeds
    #[arg(long, value_name = "N[..M]")]
    rng: Option<String>,
    /// Requests in flight
    #[arg(long, value_name = "N", default_value_t = 1)]
    concurrency: usize,
    /// Pause per host, on the virtual clock
    #[arg(long, value_name = "TIME", value_parser = setup::span, default_value = "0")]
    delay: Span,
    /// Most pages per host
    #[arg(long, value_name = "N")]
    per_host: Option<u64>,
    /// Threads (default: all cores)
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,
    /// Folder for the cache of extracted pages (default: the user's cache folder)
    #[arg(long, value_name = "DIR")]
    cache: Option<PathBuf>,
    /// Keep each crawl's ledger on disk while it runs, as a live crawl does (slower; the order is the same)
    #[arg(long)]
    on_disk: bool,
    /// Largest part of the web taken into account
    #[arg(long, value_name = "N", default_value_t = 2_000_000)]
    max_pages: usize,
    /// Folder for report.html, results.json, timing.json and the orders
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

pub fn run(args: Args) -> Result<ExitCode, Problem> {
    let started = Instant::now();
    let threads =
        args.threads.unwrap_or_else(|| std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN));
    let teach = match &args.teach {
        Some(list) => Some(Teach::parse(list, args.wrong.unwrap_or(0.0))?),
        None => None,
    };
    let mut notes = Tally::default();
    let folder = args.cache.clone().or_else(cache::default_folder);
    let Opened { web, sim } = webs::open_named(&args.web, folder.as_deref())?;
    notes.merge(web.notes());
    if web.pages() == 0 {
        return Err(Problem::nothing(format!("{} has no pages", args.web))
            .hint("see `gleaner backtest --help` for what a web is"));
    }
    let topics = topics(&args, sim.as_deref())?;
    let strategies = strategies(&args, &topics)?;
    let label_rules = Rules::new(&args.relevant_label, &args.ignore_label);
    let from_examples = args.labels.as_deref() == Some(Path::new("examples"));
    let mut labels = if from_examples { None } else { read_labels(&args, web.as_ref(), sim.as_deref())? };
    let mut seeds = read_seeds(&args, &topics, sim.as_deref())?.inside(web.as_ref())?;
    notes.merge(&seeds.notes);
    if let Some(labels) = &labels {
        notes.merge(&labels.notes);
        if sim.is_none() {
            labels.check(&label_rules)?;
        }
    }
    let rngs = eval::tournament::parse_rngs(args.rng.as_deref())?;
    let strategy_model = match &args.model {
        Some(file) => taught_strategy(file, &strategies)?,
        None => None,
    };
    let settings = cache::Settings { folder, ..cache::Settings::default() };
    let extract = extract::Options { canon: Canon::exact(), ..extract::Options::default() };
    let cached = match sim {
        // A generated page costs about as much to make as to read back.
        Some(_) => None,
        None => Some(CachedWeb::open(web.clone(), extract, &settings, &mut notes)),
    };
    if let Some(c) = &cached
        && c.cached() < web.pages()
    {
        let fresh = c.build(threads, |done, of| {
            line(&format!("reading the web: {} of {} pages", count(done as u64), count(of as u64)))
        });
        line("");
        eprintln!(
            "read {} pages of {} once; they are kept in {}",
            count(fresh as u64),
            args.web,
            c.path().map_or("memory".into(), |p| p.display().to_string())
        );
    }
    if from_examples {
        let web = cached.as_ref().map_or(web.as_ref(), |c| c as &dyn Recorded);
        labels = Some(like_examples(web, &topics, args.similar)?);
    }
    let mut plan = Plan {
        web: cached.as_ref().map_or(web.as_ref(), |c| c as &dyn Recorded),
        topics,
        strategies,
        labels: labels.as_ref(),
        label_rules,
        seeds: std::mem::take(&mut seeds.urls),
        rngs,
        pages: args.pages,
        judge_noise: args.judge_noise,
        concurrency: args.concurrency.max(1),
        delay: args.delay.0,
        per_host: args.per_host,
        threads,
        max_pages: args.max_pages,
        strategy_model,
        on_disk: args.on_disk.then(|| args.out.clone()),
        teach,
        own: None,
        graph: None,
        best_order: true,
    };
    if plan.labels.is_none() && plan.teach.is_some() {
        return Err(Problem::usage("--teach needs labels: they give the answers")
            .hint("name a file of url<TAB>label lines with --labels"));
    }
    if plan.labels.is_none() {
        eprintln!(
            "{} no labels: the judge that guides also measures, so these numbers show how well a strategy \
             pleases its judge, not how well it finds what you want",
            style("warning:").yellow().for_stderr()
        );
    }
    if let (None, Some(limit)) = (args.pages, plan.limit()) {
        eprintln!(
            "{} {} has spider traps, which have no end: each run ends after {} pages, as many as the web \
             has (--pages sets another limit)",
            style("note:").yellow().for_stderr(),
            args.web,
            count(limit)
        );
    }
    let mut told = if args.strategies.as_deref() == Some("all") { leave_out(&mut plan)? } else { Vec::new() };
    let tell = |done: usize, of: usize, run: &eval::tournament::Run| {
        let r = &run.result;
        let taught = r.teach.last().filter(|l| l.labels > 0);
        let taught = taught.map_or(String::new(), |l| format!(" with {} labels", l.labels));
        let auc = show(r.auc);
        line(&format!("{done} of {of} runs: {} {} rng {}{taught}: auc {auc}", r.topic, r.strategy, r.rng));
    };
    if crawl::collection::Collection::exists(&args.out) {
        return Err(Problem::usage(format!("{} holds a collection", args.out.display()))
            .hint("name another folder for the results with --out"));
    }
    let outcome = plan.run(&tell)?;
    line("");
    let seconds = started.elapsed();
    if let Some(labels) = plan.labels.filter(|_| from_examples) {
        let lines = against_examples(labels, &outcome, args.similar);
        lines.iter().for_each(|l| eprintln!("{l}"));
        told.extend(lines);
    }
    let results = write(&args, &plan, outcome, threads, seconds, &notes, told)?;
    print_table(&results);
    print_taught(&results);
    for entry in notes.entries() {
        eprintln!("note: {} × {} (first: {})", entry.count, entry.what, entry.first);
    }
    eprintln!(
        "{} runs in {:.1} s; look at {}",
        results.runs.len(),
        seconds.as_secs_f64(),
        args.out.join("report.html").display()
    );
    Ok(ExitCode::SUCCESS)
}

/// Labels made of the topic's relevant example pages (the measure of Batsakis).
fn like_examples(web: &dyn Recorded, topics: &[(String, Config)], similar: f64) -> Result<Labels, Problem> {
    let [(name, config)] = topics else {
        return Err(Problem::usage("--labels examples measures one topic: each has examples of its own")
            .hint("name one topic file with --topic"));
    };
    if !(0.0..1.0).contains(&similar) {
        return Err(Problem::usage(format!("--similar {similar}: must be from 0 to below 1")));
    }
    let mut config = config.clone();
    config.judge = focus::topic::JudgeSection { kind: Some("centroid".into()), ..Default::default() };
    config.strategy =
        focus::topic::StrategySection { kind: Some("breadth-first".into()), ..Default::default() };
    let topic = config.topic()?;
    if topic.examples.relevant.is_empty() {
        return Err(Problem::usage(format!("--labels examples: topic `{name}` has no example pages"))
            .hint("add [examples] relevant = [\"https://…\"]: pages of the web, or files"));
    }
    let analyst = TopicParts::new(&topic, &Canon::exact(), &|url| Ok(web.answer(url)), 0, 0)?.analyst;
    let all = web.pages();
    let pages = (0..all).filter_map(|n| {
        if n % 256 == 0 {
            line(&format!("comparing with the examples: {} of {} pages", count(n as u64), count(all as u64)));
        }
        let url = web.page(n)?;
        let similarity = analyst.assess_alone(&analyst.analyse(&web.answer(&url))?.doc).score;
        Some((url, similarity))
    });
    let labels = Labels::like_examples(pages, similar);
    line("");
    Ok(labels)
}

/// What Batsakis reports of each run: pages like the examples, their share, and the mean similarity.
fn against_examples(labels: &Labels, outcome: &Outcome, similar: f64) -> Vec<String> {
    let mut out = Vec::new();
    for run in &outcome.runs {
        let of = |l: &eval::tournament::Line| labels.similarity(&Canon::exact().parse(&l.url).ok()?);
        let similarities: Vec<f64> = run.order.iter().filter_map(of).collect();
        let m = eval::metrics::against_examples(&similarities, similar);
        out.push(format!(
            "{} rng {}: {} of {} pages are like an example, harvest ratio {}, mean similarity {}",
            run.result.strategy,
            run.result.rng,
            count(m.count as u64),
            count(similarities.len() as u64),
            show(m.ratio),
            show(m.average)
        ));
    }
    out
}

/// Which of the strategies a model is for. One for none of them is a mistake, unless it is a judge's.
fn taught_strategy(file: &Path, strategies: &[String]) -> Result<Option<(String, String)>, Problem> {
    let name = file.display().to_string();
    let model = crawl::resources::model(&name)?;
    let Some(part) = model.parts.iter().find(|p| p.role == Role::Strategy) else { return Ok(None) };
    if !strategies.contains(&part.kind) {
        return Err(Problem::usage(format!("{name} is for strategy `{}`, which does not run", part.kind))
            .hint(format!("add it: --strategies {},{}", part.kind, strategies.join(","))));
    }
    Ok(Some((part.kind.clone(), name)))
}

/// Of `all` strategies, those that lack their data are left out, visibly. One that was named must work.
fn leave_out(plan: &mut Plan) -> Result<Vec<String>, Problem> {
    let mut told = Vec::new();
    for (name, problem) in plan.impossible()? {
        eprintln!("{} strategy `{name}`: {problem}\n", style("left out:").yellow().for_stderr());
        told.push(format!("strategy `{name}` was left out: {}", problem.what()));
        plan.strategies.retain(|s| *s != name);
    }
    Ok(told)
}

/// A line that replaces the one before on a terminal; nothing elsewhere.
pub fn line(text: &str) {
    if std::io::stderr().is_terminal() {
        eprint!("\r\x1b[2K{text}");
    }
}

fn topics(args: &Args, sim: Option<&SimWeb>) -> Result<Vec<(String, Config)>, Problem> {
    let mut flags = Table::new();
    if let Some(judge) = &args.judge {
        set(&mut flags, "judge", "kind", judge.as_str());
    }
    if let Some(file) = &args.model {
        lay_model(file, true, false, &mut flags)?;
    }
    let mut out: Vec<(String, Config)> = Vec::new();
    for path in &args.topic {
        let config = Config::read(path, flags.clone())?.config;
        config.topic()?;
        let name = path.file_stem().map_or_else(|| "topic".into(), |s| s.to_string_lossy().into_owned());
        if out.iter().any(|(n, _)| *n == name) {
            return Err(Problem::usage(format!("two topics are called `{name}`"))
                .hint("results are named after the files; rename one"));
        }
        out.push((name, config));
    }
    if let (true, Some(sim)) = (out.is_empty(), sim) {
        let config = Config::load(&sim.topic_toml(), "the generated web's topic", flags)?.config;
        out.push((sim.options().name.to_string(), config));
    }
    if out.is_empty() {
        return Err(Problem::usage("no topic").hint("name one or more topic files with --topic"));
    }
    Ok(out)
}

fn strategies(args: &Args, topics: &[(String, Config)]) -> Result<Vec<String>, Problem> {
    let names: Vec<String> = match args.strategies.as_deref() {
        Some("all") => focus::strategies::ALL.iter().map(|e| e.name.to_string()).collect(),
        Some(list) => list.split(',').map(|s| s.trim().to_string()).filter(|s| !s.is_empty()).collect(),
        None => vec![topics[0].1.strategy.kind.clone().unwrap_or_else(|| focus::strategies::DEFAULT.into())],
    };
    for name in &names {
        focus::strategies::find(name)?;
    }
    Ok(names)
}

fn read_labels(args: &Args, web: &dyn Recorded, sim: Option<&SimWeb>) -> Result<Option<Labels>, Problem> {
    if let Some(path) = &args.labels {
        return Labels::open(path, web).map(Some);
    }
    if let Some(sim) = sim {
        return Ok(Some(Labels::parse(&sim.labels_tsv(false), web)));
    }
    let own = Path::new(&args.web).join("labels.tsv");
    if own.is_file() { Labels::open(&own, web).map(Some) } else { Ok(None) }
}

fn read_seeds(args: &Args, topics: &[(String, Config)], sim: Option<&SimWeb>) -> Result<Seeds, Problem> {
    if !args.seeds.is_empty() {
        let mut all = Seeds::default();
        for spec in &args.seeds {
            let some = Seeds::open(spec)?;
            all.notes.merge(&some.notes);
            all.urls.extend(some.urls);
        }
        return Ok(all);
    }
    let mut urls: Vec<Url> = Vec::new();
    for (_, config) in topics {
        for text in &config.seeds.urls {
            let url = Canon::exact()
                .parse_typed(text)
                .map_err(|e| Problem::usage(format!("seed `{text}`: {e}")))?;
            if !urls.contains(&url) {
                urls.push(url);
            }
        }
    }
    if let (true, Some(sim)) = (urls.is_empty(), sim) {
        urls = sim.seeds();
    }
    if urls.is_empty() {
        let own = Path::new(&args.web).join("seeds.tsv");
        if own.is_file() {
            return Seeds::open(&own.display().to_string());
        }
        return Err(Problem::nothing("there is nowhere to start: no seeds").hint("give --seeds FILE[#SET]"));
    }
    Ok(Seeds { urls, ..Seeds::default() })
}

fn write(
    args: &Args,
    plan: &Plan,
    outcome: Outcome,
    threads: NonZeroUsize,
    elapsed: Duration,
    notes: &Tally,
    told: Vec<String>,
) -> Result<Results, Problem> {
    let dir = &args.out;
    fs::create_dir_all(dir).map_err(|e| Problem::io("create", dir, &e))?;
    let put = |name: &str, text: &str| {
        let path = dir.join(name);
        fs::write(&path, text).map_err(|e| Problem::io("write", &path, &e))
    };
    let web = Path::new(&args.web).file_name().map_or(args.web.clone(), |n| n.to_string_lossy().into_owned());
    let mut runs = Vec::new();
    let mut timings = Vec::new();
    let mut report = Report { title: format!("Backtest on {web}"), ..Report::default() };
    for run in outcome.runs {
        let r = &run.result;
        let lines = run.order.iter().map(|l| OrderLine { url: &l.url, score: l.score, labels: &l.labels });
        put(&order_file(&r.topic, &r.strategy, r.rng), &order_tsv(lines))?;
        let known = |c: &StrategyCurve| c.topic == r.topic && c.strategy == r.strategy;
        if !report.harvest_rate.iter().any(known) {
            let curve = StrategyCurve {
                topic: r.topic.clone(),
                strategy: r.strategy.clone(),
                points: run.harvest_rate,
            };
            report.harvest_rate.push(curve);
            report.loss.push(StrategyCurve {
                topic: r.topic.clone(),
                strategy: r.strategy.clone(),
                points: run.loss,
            });
        }
        if !report.sweeps.iter().any(|(t, _)| *t == r.topic) {
            report.sweeps.push((r.topic.clone(), run.sweep));
            report.oracle.push(TopicCurve { topic: r.topic.clone(), points: outcome.oracle_curve.clone() });
        }
        timings.push(run.timing);
        runs.push(run.result);
    }
    let mut results = Results::new(web.clone(), runs);
    results.teaching = plan.teach.as_ref().map(Teach::told);
    put("results.json", &results.json())?;
    let timing = Timing { web, threads: threads.get(), seconds: elapsed.as_secs_f64(), runs: timings };
    put("timing.json", &timing.json())?;
    report.timing = Some(timing);
    report.results = results.clone();
    report.settings = vec![
        (
            "web".into(),
            format!(
                "{}: {} pages, {} links reachable from any seed",
                args.web,
                count(outcome.graph_pages as u64),
                count(outcome.graph_links as u64)
            ),
        ),
        ("seeds".into(), format!("{}", plan.seeds.len())),
        (
            "labels".into(),
            if args.labels.as_deref() == Some(Path::new("examples")) {
                format!("pages whose cosine with an example page is more than {}", args.similar)
            } else {
                format!("relevant: {}; ignored: {}", args.relevant_label, args.ignore_label)
            },
        ),
        ("concurrency".into(), plan.concurrency.to_string()),
        ("delay per host".into(), args.delay.to_string()),
        ("pages per run".into(), plan.limit().map_or("all".into(), count)),
        ("judge noise".into(), args.judge_noise.to_string()),
    ];
    if let Some(teaching) = &report.results.teaching {
        let how = format!("{}; wrong answers: {} %", teaching.how, 100.0 * teaching.wrong);
        report.settings.push(("labels given".into(), how));
    }
    if outcome.graph_cut {
        report.notes.push(format!(
            "the web has more than {} pages; the rest was not taken into account",
            args.max_pages
        ));
    }
    if plan.labels.is_none() {
        report.notes.push("no labels: the judge that guides also measures".into());
    }
    report.notes.extend(told);
    report
        .notes
        .extend(notes.entries().iter().map(|e| format!("{} × {} (first: {})", e.count, e.what, e.first)));
    put("report.html", &report.html())?;
    Ok(results)
}

fn show(v: Option<f64>) -> String {
    v.map_or("–".into(), |v| format!("{v:.3}"))
}

/// Budgets in the table, and the columns it takes with them.
const SHOWN: [usize; 4] = [250, 500, 1000, 2000];
const WIDE: u16 = 136;

fn print_table(results: &Results) {
    let terminal = console::Term::stdout();
    let wide = !terminal.is_term() || terminal.size().1 >= WIDE;
    let found = |cell: &dyn Fn(usize) -> String| -> String {
        if wide { SHOWN.iter().map(|n| format!(" {:>5}", cell(*n))).collect() } else { String::new() }
    };
    println!(
        "{:<24} {:<20} {:>7} {:>15}{} {:>7} {:>7} {:>8} {:>8} {:>6}",
        "topic",
        "strategy",
        "auc",
        "95 % interval",
        found(&|n| format!("@{n}")),
        "norm.",
        "recall",
        "harvest",
        "judge F1",
        "runs"
    );
    for s in &results.summary {
        println!(
            "{:<24} {:<20} {:>7} {:>15}{} {:>7} {:>7} {:>8} {:>8} {:>6}",
            crate::text::shorten(&s.topic, 24),
            s.strategy,
            show(s.auc_mean),
            // Of one run, or of runs that went alike, nothing can be said.
            if s.auc_low == s.auc_high {
                "–".into()
            } else {
                format!("{} – {}", show(s.auc_low), show(s.auc_high))
            },
            found(&|n| s.found_mean.get(&n).map_or("–".into(), |v| format!("{v:.0}"))),
            show(s.normalised_auc_mean),
            show(s.recall_mean),
            show(s.harvest_mean),
            show(s.judge_f1_mean),
            s.runs
        );
    }
}

/// What labels make of the verdicts.
fn print_taught(results: &Results) {
    if results.teaching.is_none() {
        return;
    }
    println!(
        "\n{:<24} {:<20} {:>6} {:>6} {:>6} {:>9} {:>6} {:>6} {:>5}{}",
        "topic",
        "strategy",
        "labels",
        "F1",
        "F1 all",
        "precision",
        "recall",
        "brier",
        "p≥.8",
        SHOWN.iter().map(|n| format!(" {:>6}", format!("@{n}"))).collect::<String>()
    );
    for s in &results.summary {
        for l in &s.teach {
            let found = |n: &usize| l.found.get(n).map_or("–".into(), |v| format!("{v:.0}"));
            println!(
                "{:<24} {:<20} {:>6} {:>6} {:>6} {:>9} {:>6} {:>6} {:>5}{}",
                crate::text::shorten(&s.topic, 24),
                s.strategy,
                l.labels,
                show(l.f1),
                show(l.f1_all),
                show(l.precision),
                show(l.recall),
                show(l.brier),
                l.sure.map_or("–".into(), |v| format!("{v:.2}")),
                SHOWN.iter().map(|n| format!(" {:>6}", found(n))).collect::<String>()
            );
        }
    }
}
