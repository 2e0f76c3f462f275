//! `gleaner experiment [NAME]`: the findings of the source documents, looked into on recorded or generated webs.

use super::backtest::{line, open_web, parse_rngs};
use clap::Args as ClapArgs;
use console::style;
use crawl::config::Config;
use eval::Tally;
use eval::cache::{self, CachedWeb};
use eval::experiments::{self, Experiment, Finding, Kept, Lab, Outcome, Site};
use eval::labels::{Labels, Rules, Seeds};
use eval::webs::{Opened, Recorded};
use serde::Deserialize;
use std::fmt::Write;
use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use types::{Canon, Problem};

const EXAMPLES: &str = "\
Examples:
  gleaner experiment                                   list them
  gleaner experiment policies                          on small generated webs
  gleaner experiment all --suite suite.toml --webs webs --topics topics --out results

A suite file lists topics on webs:
  [[site]]
  web = \"webkb\"                    # below --webs: a folder web, WARC files, a collection; or sim:NAME
  topic = \"webkb-course.toml\"      # below --topics; a generated web brings its own
  relevant = \"course\"              # labels of relevant pages
  ignore = \"course_subpage\"
  labels = \"labels.tsv\"           # below --topics; else the web's own
  seeds = \"four_departments\"       # the set of the web's seeds.tsv";

#[derive(ClapArgs, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Which one; `all` for all of them; nothing to list them
    name: Option<String>,
    /// Topics and webs to run on (default: generated webs)
    #[arg(long, value_name = "FILE")]
    suite: Option<PathBuf>,
    /// Folder of the suite's webs
    #[arg(long, value_name = "DIR", default_value = ".")]
    webs: PathBuf,
    /// Folder of the suite's topic and label files; several are looked through in this order
    #[arg(long, value_name = "DIR", default_value = ".")]
    topics: Vec<PathBuf>,
    /// Random numbers, one run each: N or N..M (both included). Each draws 75 % of the seeds
    #[arg(long, value_name = "N[..M]", default_value = "0")]
    rng: String,
    /// Pages of each generated web
    #[arg(long, value_name = "N", default_value_t = 1500)]
    pages: u32,
    /// Threads (default: all cores)
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,
    /// Folder for the tables (experiments.md) and numbers (experiments.json). A long experiment keeps what it has there, and
    /// goes on when it is run again
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Suite {
    site: Vec<SiteEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
struct SiteEntry {
    name: Option<String>,
    web: String,
    topic: Option<String>,
    relevant: String,
    ignore: String,
    /// Below the folders of topics; else the web's own.
    labels: Option<String>,
    seeds: Option<String>,
}

impl Default for SiteEntry {
    fn default() -> Self {
        SiteEntry {
            name: None,
            web: String::new(),
            topic: None,
            relevant: "1,relevant,yes".into(),
            ignore: String::new(),
            labels: None,
            seeds: None,
        }
    }
}

/// Generated webs that differ in what the sources' findings depend on. None with endless pages: crawls run to their end.
const GENERATED: [&str; 4] = ["campus", "hubs", "tunnel", "drift"];

pub fn run(args: Args) -> Result<ExitCode, Problem> {
    let Some(name) = &args.name else {
        list();
        return Ok(ExitCode::SUCCESS);
    };
    let chosen: Vec<&Experiment> =
        if name == "all" { experiments::ALL.iter().collect() } else { vec![experiments::find(name)?] };
    let threads =
        args.threads.unwrap_or_else(|| std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN));
    let scratch = Scratch::new()?;
    let lab = Lab {
        sites: sites(&args, threads)?,
        rngs: parse_rngs(Some(&args.rng))?,
        threads,
        scratch: scratch.0.clone(),
        kept: args.out.as_deref().map(Kept::in_folder),
        progress: &|text| line(text),
    };
    let mut text = String::from("# Findings of the sources, looked into\n\n");
    let mut results: Vec<(&Experiment, Result<Finding, Problem>)> = Vec::new();
    for experiment in chosen {
        line(&format!("{}…", experiment.name));
        let finding = (experiment.run)(&lab);
        line("");
        match &finding {
            Ok(finding) => {
                let markdown = experiment.markdown(finding);
                println!("{markdown}");
                text.push_str(&markdown);
            }
            // One that lacks its data (WordNet) must not stop the others.
            Err(problem) if name == "all" => {
                println!("## `{}`: could not be run\n\n{problem}\n", experiment.name);
                let _ = writeln!(text, "## `{}`: could not be run\n\n{problem}\n", experiment.name);
            }
            Err(_) => {}
        }
        if name != "all" {
            finding.as_ref().map_err(Clone::clone)?;
        }
        results.push((experiment, finding));
    }
    summary(&results);
    if let Some(dir) = &args.out {
        write(dir, &lab, &text, &results)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn list() {
    for e in experiments::ALL.iter().chain(experiments::OWN) {
        println!("{:<16} {} {}", style(e.name).bold(), e.claim, style(format!("({})", e.source)).dim());
    }
    println!("\nrun one: gleaner experiment NAME; all of them: gleaner experiment all");
}

fn summary(results: &[(&Experiment, Result<Finding, Problem>)]) {
    if results.len() < 2 {
        return;
    }
    for (e, finding) in results {
        let word = finding.as_ref().map_or("could not be run", |f| f.outcome.words());
        let colour = match finding.as_ref().map(|f| f.outcome) {
            Ok(Outcome::Holds) => style(word).green(),
            Ok(Outcome::Partly) => style(word).yellow(),
            Ok(Outcome::DoesNotHold) => style(word).red(),
            _ => style(word).dim(),
        };
        println!("{:<16} {colour}", e.name);
    }
}

fn write(
    dir: &Path,
    lab: &Lab,
    text: &str,
    results: &[(&Experiment, Result<Finding, Problem>)],
) -> Result<(), Problem> {
    fs::create_dir_all(dir).map_err(|e| Problem::io("create", dir, &e))?;
    let put = |name: &str, text: &str| {
        let path = dir.join(name);
        fs::write(&path, text).map_err(|e| Problem::io("write", &path, &e))
    };
    put("experiments.md", text)?;
    let one = |(e, finding): &(&Experiment, Result<Finding, Problem>)| {
        let mut value = serde_json::json!({ "name": e.name, "claim": e.claim, "source": e.source });
        match finding {
            Ok(f) => value["finding"] = serde_json::to_value(f).unwrap_or_default(),
            Err(p) => value["problem"] = p.to_string().into(),
        }
        value
    };
    let json = serde_json::json!({
        "sites": lab.sites.iter().map(|s| s.name.as_str()).collect::<Vec<_>>(),
        "experiments": results.iter().map(one).collect::<Vec<_>>(),
    });
    put("experiments.json", &format!("{json:#}\n"))?;
    for figure in results.iter().filter_map(|r| r.1.as_ref().ok()).flat_map(|f| &f.figures) {
        put(&format!("{}.svg", figure.name), &figure.svg)?;
    }
    eprintln!("wrote {}", dir.join("experiments.md").display());
    Ok(())
}

fn sites(args: &Args, threads: NonZeroUsize) -> Result<Vec<Site>, Problem> {
    let entries = match &args.suite {
        Some(path) => {
            let text = fs::read_to_string(path).map_err(|e| Problem::io("read the suite", path, &e))?;
            let suite: Suite = toml::from_str(&text).map_err(|e| {
                Problem::usage(format!("{}: {}", path.display(), e.message()))
                    .hint("`gleaner experiment --help` shows what a suite file looks like")
            })?;
            suite.site
        }
        None => {
            let pages = args.pages.clamp(100, 1_000_000);
            GENERATED
                .iter()
                .map(|n| SiteEntry {
                    name: Some((*n).to_string()),
                    web: format!("sim:{n}?pages={pages}"),
                    ..SiteEntry::default()
                })
                .collect()
        }
    };
    if entries.is_empty() {
        return Err(Problem::usage("the suite names no site").hint("add a [[site]]"));
    }
    // Several topics of one web share its pages.
    let mut opened: Vec<(String, Arc<dyn Recorded>)> = Vec::new();
    entries.iter().map(|e| site(args, e, threads, &mut opened)).collect()
}

fn site(
    args: &Args,
    entry: &SiteEntry,
    threads: NonZeroUsize,
    opened: &mut Vec<(String, Arc<dyn Recorded>)>,
) -> Result<Site, Problem> {
    let generated = entry.web.starts_with("sim:");
    let place = if generated { entry.web.clone() } else { args.webs.join(&entry.web).display().to_string() };
    let folder = cache::default_folder();
    let Opened { web, sim } = open_web(&place, folder.as_deref())?;
    let config = match (&entry.topic, &sim) {
        (Some(topic), _) => Config::read(&below(&args.topics, topic), toml::Table::new())?.config,
        (None, Some(sim)) => {
            Config::load(&sim.topic_toml(), "the generated web's topic", toml::Table::new())?.config
        }
        (None, None) => {
            return Err(Problem::usage(format!("{}: no topic", entry.web)).hint("add topic = \"FILE.toml\""));
        }
    };
    let labels = match &sim {
        Some(sim) => Labels::parse(&sim.labels_tsv(false), web.as_ref()),
        None => {
            let own = Path::new(&place).join("labels.tsv");
            let file = entry.labels.as_ref().map_or(own, |labels| below(&args.topics, labels));
            Labels::open(&file, web.as_ref())?
        }
    };
    let rules = Rules::new(&entry.relevant, &entry.ignore);
    if sim.is_none() {
        labels.check(&rules)?;
    }
    let seeds = match (&sim, &entry.seeds) {
        (Some(sim), _) => Seeds { urls: sim.seeds(), ..Seeds::default() },
        (None, set) => {
            let file = Path::new(&place).join("seeds.tsv").display().to_string();
            Seeds::open(&set.as_ref().map_or(file.clone(), |s| format!("{file}#{s}")))?
        }
    };
    let seeds = seeds.inside(web.as_ref())?.urls;
    let web = if generated {
        web
    } else if let Some((_, web)) = opened.iter().find(|o| o.0 == place) {
        web.clone()
    } else {
        let settings = cache::Settings { folder, ..cache::Settings::default() };
        let extract = extract::Options { canon: Canon::exact(), ..extract::Options::default() };
        let cached = CachedWeb::open(web, extract, &settings, &mut Tally::default());
        cached.build(threads, |done, of| line(&format!("reading {place}: {done} of {of} pages")));
        let web: Arc<dyn Recorded> = Arc::new(cached);
        opened.push((place, web.clone()));
        web
    };
    let own = entry.topic.as_deref().map_or(entry.web.as_str(), |t| t.trim_end_matches(".toml"));
    let name = entry.name.clone().unwrap_or_else(|| own.to_string());
    Ok(Site { name, web, config, labels, rules, seeds })
}

/// The file in the first folder that has it; if none has, the first folder's, for the message.
fn below(folders: &[PathBuf], file: &str) -> PathBuf {
    let mut all = folders.iter().map(|f| f.join(file));
    all.clone().find(|f| f.exists()).or_else(|| all.next()).unwrap_or_else(|| file.into())
}

/// A folder for as long as the experiments run.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Result<Scratch, Problem> {
        let dir = std::env::temp_dir().join(format!("gleaner-experiment-{}", std::process::id()));
        fs::create_dir_all(&dir).map_err(|e| Problem::io("create", &dir, &e))?;
        Ok(Scratch(dir))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
