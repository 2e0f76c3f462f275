//! `gleaner experiment [NAME]`: the findings of the source documents, tested on recorded or generated webs.

use super::backtest::line;
use clap::Args as ClapArgs;
use console::style;
use eval::experiments::kept::Kept;
use eval::experiments::suite::Setting;
use eval::experiments::{self, Experiment, Finding, Verdict, claims_table, runs_table};
use std::fmt::Write;
use std::fs;
use std::io::IsTerminal;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use types::Problem;

const EXAMPLES: &str = "\
Examples:
  gleaner experiment                                   list them
  gleaner experiment policies                          on small generated webs
  gleaner experiment all --suite suite.toml --webs webs --topics topics --rng 2..6 --out results

With --out every result is kept in a file of its own, and every crawl in DIR/crawls: stopped and started again, only what is
missing is run. DIR/claims.md is the one table: claim, source's figure, ours, verdict, why they differ. A file that is deleted is
run again. The experiments that the sources stand on come first.

A suite file lists topics on webs:
  [[site]]
  web = \"webkb\"                    # below --webs: a folder web, WARC files, a collection; or sim:NAME
  topic = \"webkb-course.toml\"      # below --topics; a generated web brings its own
  relevant = \"course\"              # labels of relevant pages
  ignore = \"course_subpage\"
  labels = \"labels.tsv\"           # below --topics; else the web's own
  seeds = \"four_departments\"       # the set of the web's seeds.tsv
  narrow = true                    # a genre and a subject: experiments of Assis and Siqueira et al. take only these, if there are any";

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
    /// Folder for the results. What is there already, of the same settings, is not run again
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

pub fn run(args: Args) -> Result<ExitCode, Problem> {
    let Some(name) = &args.name else {
        list();
        return Ok(ExitCode::SUCCESS);
    };
    let chosen: Vec<&'static Experiment> =
        if name == "all" { experiments::in_turn() } else { vec![experiments::find(name)?] };
    let started = Instant::now();
    let many = chosen.len() > 1;
    let steps = Steps::default();
    let setting = Setting {
        suite: args.suite.as_deref(),
        webs: &args.webs,
        topics: &args.topics,
        rng: &args.rng,
        pages: args.pages,
        threads: args.threads,
        crawls: args.out.as_ref().map(|dir| dir.join("crawls")),
        progress: &|text| steps.tell(text),
    };
    let (lab, _scratch) = setting.open()?;
    let kept = args.out.as_deref().map(|dir| Kept::open(dir, lab.settings()?)).transpose()?;
    let mut results: Results = Vec::new();
    for (n, &experiment) in chosen.iter().enumerate() {
        let before = kept.as_ref().and_then(|k| k.find(experiment.name));
        let again = before.is_some();
        let begun = Instant::now();
        let finding = match before {
            Some(done) => Ok(done.finding),
            None => {
                line(&format!("{}…", experiment.name));
                (experiment.run)(&lab)
            }
        };
        line("");
        // On a terminal steps replace each other; this one stays, in a log too.
        if many {
            let word = finding.as_ref().map_or("could not be run", |f| f.outcome.words());
            let how = if again { "kept".into() } else { minutes(begun) };
            eprintln!(
                "{} of {}: {} – {word} ({how}; {} so far)",
                n + 1,
                chosen.len(),
                experiment.name,
                minutes(started)
            );
        }
        match &finding {
            Ok(f) => {
                if let Some(kept) = kept.as_ref().filter(|_| !again) {
                    kept.keep(experiment.name, f, begun.elapsed().as_secs_f64())?;
                }
                println!("{}", experiment.markdown(f));
            }
            // One that lacks its data (WordNet) must not stop the others.
            Err(problem) if many => println!("## `{}`: could not be run\n\n{problem}\n", experiment.name),
            Err(problem) => return Err(problem.clone()),
        }
        results.push((experiment, finding));
        if let Some(dir) = &args.out {
            write(dir, &results, kept.as_ref(), lab.rngs.len())?;
        }
    }
    if many {
        summary(&results);
    }
    if let Some(dir) = &args.out {
        eprintln!("wrote {} and {}", dir.join("claims.md").display(), dir.join("experiments.md").display());
    }
    Ok(ExitCode::SUCCESS)
}

/// Steps as they are made: on a terminal one replaces the other, in a log there is one a minute.
#[derive(Default)]
struct Steps(Mutex<Option<Instant>>);

impl Steps {
    fn tell(&self, text: &str) {
        if std::io::stderr().is_terminal() {
            return line(text);
        }
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if last.is_none_or(|at| at.elapsed() >= Duration::from_secs(60)) {
            *last = Some(Instant::now());
            eprintln!("  {text}");
        }
    }
}

type Results = Vec<(&'static Experiment, Result<Finding, Problem>)>;

fn minutes(since: Instant) -> String {
    let seconds = since.elapsed().as_secs();
    if seconds < 60 { format!("{seconds} s") } else { format!("{} min {:02} s", seconds / 60, seconds % 60) }
}

fn list() {
    for e in experiments::ALL {
        println!("{:<16} {} {}", style(e.name).bold(), e.claim, style(format!("({})", e.source)).dim());
    }
    println!("\nrun one: gleaner experiment NAME; all of them: gleaner experiment all");
}

fn summary(results: &Results) {
    for (e, finding) in results {
        let word = finding.as_ref().map_or("could not be run", |f| f.outcome.words());
        let colour = match finding.as_ref().map(|f| f.outcome) {
            Ok(Verdict::Holds) => style(word).green(),
            Ok(Verdict::Partly) => style(word).yellow(),
            Ok(Verdict::DoesNotHold) => style(word).red(),
            _ => style(word).dim(),
        };
        println!("{:<16} {colour}", e.name);
    }
}

/// The table of all claims, the sections with the numbers, and everything for programs. Results of
/// experiments that were not asked for now are in, too, when the folder has them.
fn write(dir: &Path, results: &Results, kept: Option<&Kept>, draws: usize) -> Result<(), Problem> {
    let put = |name: &str, text: &str| {
        let path = dir.join(name);
        fs::write(&path, text).map_err(|e| Problem::io("write", &path, &e))
    };
    let mut done: Vec<(&Experiment, Finding)> = Vec::new();
    let mut text = String::from("# Findings of the sources, tested\n\n");
    let mut json = Vec::new();
    for e in experiments::ALL {
        let now = results.iter().find(|r| r.0.name == e.name).map(|r| r.1.clone());
        let before = || kept.and_then(|k| k.find(e.name)).map(|d| Ok(d.finding));
        let Some(finding) = now.or_else(before) else { continue };
        let mut value = serde_json::json!({ "name": e.name, "claim": e.claim, "source": e.source });
        match finding {
            Ok(f) => {
                text.push_str(&e.markdown(&f));
                value["finding"] = serde_json::to_value(&f).unwrap_or_default();
                done.push((e, f));
            }
            Err(p) => {
                let _ = writeln!(text, "## `{}`: could not be run\n\n{p}\n", e.name);
                value["problem"] = p.to_string().into();
            }
        }
        json.push(value);
    }
    let table: Vec<(&Experiment, &Finding)> = done.iter().map(|(e, f)| (*e, f)).collect();
    let runs: Vec<(&Experiment, &Finding, Option<f64>)> =
        done.iter().map(|(e, f)| (*e, f, kept.and_then(|k| k.find(e.name)).map(|d| d.seconds))).collect();
    put("claims.md", &format!("{}\n{}", claims_table(&table), runs_table(&runs, draws)))?;
    put("experiments.md", &text)?;
    put("experiments.json", &format!("{:#}\n", serde_json::json!({ "experiments": json })))
}
