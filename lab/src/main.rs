//! `cargo run -p lab -- --help`: what each mechanism of `adaptive` is worth, and what the policy of revisits
//! is.

mod ablation;
mod difference;
mod kept;
mod revisits;

use clap::{Parser, Subcommand};
use eval::experiments::Experiment;
use eval::experiments::suite::Setting;
use kept::Kept;
use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use types::Problem;

const EXAMPLES: &str = "\
Examples:
  cargo run --release -p lab -- --out results               on small generated webs
  cargo run --release -p lab -- --suite lab/held-out.toml --webs WEBS --topics TOPICS --rng 0..4 --out results
  cargo run --release -p lab -- revisits                    the policy of `gleaner watch` on changing webs

`gleaner experiment --help` shows what a suite file looks like.";

/// Leaves out one mechanism of `adaptive` at a time, adds one at a time to the bare prior, and compares over
/// topics.
#[derive(Parser, Debug)]
#[command(name = "lab", after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
struct Args {
    #[command(subcommand)]
    other: Option<Other>,
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
    /// Folder for ablation.md and the figures. Topics that are done are kept there and not run again
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

#[derive(Subcommand, Debug)]
enum Other {
    /// Compares policies of visiting pages again on changing generated webs
    Revisits(revisits::Args),
}

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(markdown) => {
            println!("{markdown}");
            ExitCode::SUCCESS
        }
        Err(problem) => {
            eprintln!("{problem}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &Args) -> Result<String, Problem> {
    if let Some(Other::Revisits(args)) = &args.other {
        return Ok(revisits::markdown(&revisits::compare(args)?));
    }
    let setting = Setting {
        suite: args.suite.as_deref(),
        webs: &args.webs,
        topics: &args.topics,
        rng: &args.rng,
        pages: args.pages,
        threads: args.threads,
        crawls: None,
        progress: &|text| eprintln!("{text}"),
    };
    let (lab, _scratch) = setting.open()?;
    let kept = args.out.as_deref().map(Kept::in_folder);
    let (finding, figures) = ablation::run(&lab, kept.as_ref())?;
    let experiment = Experiment {
        name: "ablation",
        claim: "every mechanism of `adaptive` earns its place",
        source: "ours; docs/adaptive.md",
        turn: 1,
        run: |_| Err(Problem::new("this one is run by `lab`")),
    };
    let markdown = experiment.markdown(&finding);
    if let Some(dir) = &args.out {
        fs::create_dir_all(dir).map_err(|e| Problem::io("create", dir, &e))?;
        put(dir, "ablation.md", &markdown)?;
        for figure in figures {
            put(dir, &format!("{}.svg", figure.name), &figure.svg)?;
        }
    }
    Ok(markdown)
}

fn put(dir: &Path, name: &str, text: &str) -> Result<(), Problem> {
    let path = dir.join(name);
    fs::write(&path, text).map_err(|e| Problem::io("write", &path, &e))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ablation_leaves_a_table_and_figures() {
        let dir = tempfile::tempdir().unwrap();
        let suite = dir.path().join("suite.toml");
        fs::write(&suite, "[[site]]\nname = 'here'\nweb = 'sim:campus?pages=150'\n").unwrap();
        let out = dir.path().join("out");
        let with = |rng: &str| {
            let args =
                ["lab", "--suite", suite.to_str().unwrap(), "--out", out.to_str().unwrap(), "--rng", rng];
            run(&Args::try_parse_from(args).unwrap()).unwrap()
        };
        let shown = with("0");
        for part in ["without learning", "prior and groups", "Wilcoxon p", "Fewer than six topics"] {
            assert!(shown.contains(part), "{part} is not in {shown}");
        }
        let markdown = fs::read_to_string(out.join("ablation.md")).unwrap();
        assert!(markdown.contains("| adaptive |") && markdown.contains("| prior alone |"), "{markdown}");
        for figure in ["ablation-without.svg", "ablation-with.svg"] {
            let svg = fs::read_to_string(out.join(figure)).unwrap();
            assert!(svg.starts_with("<svg xmlns=") && svg.contains("host bonus"), "{svg}");
        }
        // What is done is not done again, unless something else is asked for.
        let kept = out.join("ablation-here.json");
        let mut numbers: serde_json::Value = serde_json::from_slice(&fs::read(&kept).unwrap()).unwrap();
        let all = numbers["numbers"].as_array_mut().unwrap();
        all.iter_mut().for_each(|n| *n = serde_json::json!([0.99123, 0.5]));
        fs::write(&kept, numbers.to_string()).unwrap();
        assert!(with("0").contains("0.991"));
        let other = with("1");
        assert!(!other.contains("0.991"), "{other}");
        // A file that is damaged is as good as none.
        fs::write(&kept, "{").unwrap();
        assert!(with("1").contains("without learning"));
    }
}
