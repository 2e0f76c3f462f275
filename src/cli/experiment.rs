//! `gleaner experiment [NAME]`: the findings of the source documents, looked into on recorded or generated webs.

use super::backtest::line;
use clap::Args as ClapArgs;
use console::style;
use eval::experiments::suite::Setting;
use eval::experiments::{self, Experiment, Finding, Lab, Outcome};
use std::fmt::Write;
use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use types::Problem;

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
    /// Folder for the tables (experiments.md) and numbers (experiments.json)
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

pub fn run(args: Args) -> Result<ExitCode, Problem> {
    let Some(name) = &args.name else {
        list();
        return Ok(ExitCode::SUCCESS);
    };
    let chosen: Vec<&Experiment> =
        if name == "all" { experiments::ALL.iter().collect() } else { vec![experiments::find(name)?] };
    let setting = Setting {
        suite: args.suite.as_deref(),
        webs: &args.webs,
        topics: &args.topics,
        rng: &args.rng,
        pages: args.pages,
        threads: args.threads,
        progress: &|text| line(text),
    };
    let (lab, _scratch) = setting.open()?;
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
    for e in experiments::ALL {
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
    eprintln!("wrote {}", dir.join("experiments.md").display());
    Ok(())
}
