//! `gleaner label DIR URL… --yes|--no`: what the user says of pages.

use super::setup::{self, StoreArgs};
use super::text::{count, shorten, strip_controls, things};
use clap::Args as ClapArgs;
use console::style;
use crawl::collection::Collection;
use crawl::control::Command;
use crawl::helm::{Address, Asked};
use crawl::labels::{Label, Labels, Quality, Share, Who};
use crawl::reader::Reader;
use eval::labels::{Class, Rules};
use focus::rng::Rng;
use frontier::Frontier;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;
use store::Store;
use types::{Problem, UrlId};

/// How long the workers of a shared crawl are waited for.
const WORKERS: Duration = Duration::from_secs(10);
/// Labels in one command to them.
const AT_ONCE: usize = 10_000;

const EXAMPLES: &str = "\
Examples:
  gleaner label db https://www.example.edu/db101/ --yes
  gleaner label db https://www.example.edu/news/ https://www.example.edu/jobs/ --no
  gleaner label db --from labels.tsv          lines of url<TAB>label, as in url<TAB>yes
  gleaner label db                            list the labels and how the judge does on them
  gleaner label db --sample 20                pages to look at next, drawn at random from the relevant ones
  gleaner label --store postgres://… https://www.example.edu/db101/ --yes    a crawl that workers share, while it runs

A label counts at once: the page is (or is no longer) one of the collection's relevant pages, whatever the judge says.
`gleaner rejudge db` also lets the judge learn from labels; of a shared crawl the workers do so by themselves. The estimate of precision is honest when the labelled
pages were drawn at random (--sample), not picked.";

#[derive(ClapArgs, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Collection folder (with --store: a page of the crawl)
    #[arg(required_unless_present = "store")]
    dir: Option<PathBuf>,
    /// Pages of the collection
    urls: Vec<String>,
    #[command(flatten)]
    shared: StoreArgs,
    /// These pages are relevant
    #[arg(long, conflicts_with_all = ["no", "clear"])]
    yes: bool,
    /// These pages are not relevant
    #[arg(long, conflicts_with = "clear")]
    no: bool,
    /// Take the labels of these pages back
    #[arg(long)]
    clear: bool,
    /// Read labels from a file of url<TAB>labels
    #[arg(long, value_name = "FILE.tsv", conflicts_with_all = ["yes", "no", "clear", "urls"])]
    from: Option<PathBuf>,
    /// Labels in the file that mean relevant, separated by commas; every other one means not relevant
    #[arg(long, value_name = "a,b", default_value = "1,relevant,yes")]
    relevant_label: String,
    /// Labels in the file whose pages are left out
    #[arg(long, value_name = "c,d", default_value = "")]
    ignore_label: String,
    /// Show N pages without a label, drawn at random from the relevant ones
    #[arg(long, value_name = "N", conflicts_with_all = ["yes", "no", "clear", "from", "urls"])]
    sample: Option<usize>,
    /// Draw from all pages, not only the relevant ones
    #[arg(long, requires = "sample")]
    all: bool,
    /// Seed of the draw
    #[arg(long, value_name = "N", default_value_t = 0)]
    rng: u64,
    /// One JSON object per page
    #[arg(long)]
    json: bool,
}

impl Args {
    fn open(&self) -> Result<Reader, Problem> {
        match (&self.shared.store, &self.dir) {
            (None, Some(dir)) => Reader::open(dir),
            _ => setup::read_from(None, &self.shared),
        }
    }

    /// As the command line names it.
    fn collection(&self) -> String {
        match (&self.shared.store, &self.dir) {
            (None, Some(dir)) => dir.display().to_string(),
            _ => "--store …".into(),
        }
    }
}

pub fn run(mut args: Args) -> Result<ExitCode, Problem> {
    if args.shared.store.is_some()
        && let Some(first) = args.dir.take()
    {
        // No folder: what stands in its place is a page.
        args.urls.insert(0, first.to_string_lossy().into_owned());
        if args.from.is_some() || args.sample.is_some() {
            return Err(Problem::usage(format!("what is `{}`?", first.display()))
                .hint("with --store no folder is named"));
        }
    }
    if let Some(n) = args.sample {
        return sample(&args, n);
    }
    let wanted = match &args.from {
        Some(path) => read(path, &Rules::new(&args.relevant_label, &args.ignore_label))?,
        None if args.urls.is_empty() => return list(&args),
        None => {
            let label = match (args.yes, args.no, args.clear) {
                (true, ..) => Some(true),
                (_, true, _) => Some(false),
                (.., true) => None,
                _ => {
                    return Err(Problem::usage("is the page relevant or not?")
                        .hint("say --yes or --no (or --clear to take a label back)"));
                }
            };
            args.urls.iter().map(|u| (u.clone(), label)).collect()
        }
    };
    match (&args.shared.store, &args.dir) {
        (None, Some(dir)) => store_labels(&args, dir, &wanted),
        (Some(store), _) => give_labels(&args, store, &wanted),
        (None, None) => {
            Err(Problem::usage("which collection?").hint("name a folder, or a database with --store"))
        }
    }
}

/// `url<TAB>labels` lines; `#` comments.
fn read(path: &Path, rules: &Rules) -> Result<Vec<(String, Option<bool>)>, Problem> {
    let text = std::fs::read(path).map_err(|e| Problem::io("read the labels", path, &e))?;
    let text = String::from_utf8_lossy(&text);
    let mut out = Vec::new();
    // Some editors begin every file with a mark of its encoding.
    for (n, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
        let line = line.trim_end_matches(' ');
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        let Some((url, rest)) = line.split_once('\t') else {
            return Err(Problem::usage(format!("{}:{}: no tab after the URL", path.display(), n + 1))
                .hint("each line is url<TAB>label"));
        };
        let label = rest.split('\t').next().unwrap_or(rest);
        if label.trim().is_empty() {
            return Err(Problem::usage(format!("{}:{}: no label after the tab", path.display(), n + 1))
                .hint("each line is url<TAB>label"));
        }
        match rules.class(label) {
            Class::Relevant => out.push((url.to_string(), Some(true))),
            Class::Neutral => {}
            Class::Irrelevant => out.push((url.to_string(), Some(false))),
        }
    }
    if out.is_empty() {
        return Err(
            Problem::nothing(format!("no label in {}", path.display())).hint("each line is url<TAB>label")
        );
    }
    Ok(out)
}

/// To the workers of a shared crawl, running or not.
fn give_labels(args: &Args, store: &str, wanted: &[(String, Option<bool>)]) -> Result<ExitCode, Problem> {
    let reader = args.open()?;
    let canon = Collection::canon(reader.config());
    let (mut said, mut same, mut strange) = (Vec::new(), 0, Vec::new());
    for (text, label) in wanted {
        match find(reader.ledger(), &canon, text) {
            Ok(id) if reader.labels().get(id) == *label => same += 1,
            Ok(id) => said.push((id, *label)),
            Err(why) => strange.push(format!("{text}: {why}")),
        }
    }
    let who = setup::who("gleaner label");
    let name = reader.shared_name().unwrap_or_default().to_string();
    let to = Address { store, crawl: &name, who: &who, patience: WORKERS };
    for some in said.chunks(AT_ONCE) {
        let effect = Asked::new(&reader, Command::Labels(some.to_vec()))?.give(&to)?;
        eprintln!("{}", effect.text);
    }
    drop(reader);
    told(args, said.len(), same, &strange)
}

fn store_labels(args: &Args, dir: &Path, wanted: &[(String, Option<bool>)]) -> Result<ExitCode, Problem> {
    // The settings tell how URLs are made canonical and which limits hold for the ledger.
    let config = Reader::open(dir)?.config().clone();
    let options = store::Options::new(Collection::limits(&config));
    let mut ledger = store::Ledger::open(dir, options, types::Millis::steady())?;
    let canon = Collection::canon(&config);
    let mut labels = Labels::read(&ledger)?;
    let (mut changed, mut same, mut strange) = (0, 0, Vec::new());
    for (text, label) in wanted {
        match find(&ledger, &canon, text) {
            // What a model said is said again by a person.
            Ok(id) if labels.get(id) == *label && labels.label(id).is_none_or(|l| l.who == Who::Person) => {
                same += 1;
            }
            Ok(id) => {
                labels.say(&mut ledger, id, *label)?;
                changed += 1;
            }
            Err(why) => strange.push(format!("{text}: {why}")),
        }
    }
    ledger.commit()?;
    ledger.close()?;
    drop(ledger);
    let done = told(args, changed, same, &strange)?;
    if changed > 0 {
        eprintln!("`gleaner rejudge {}` lets the judge learn from them", dir.display());
    }
    Ok(done)
}

/// What came of it, and how the judge does now.
fn told(args: &Args, changed: usize, same: usize, strange: &[String]) -> Result<ExitCode, Problem> {
    for s in strange.iter().take(10) {
        eprintln!("{} {}", style("not labelled:").yellow().for_stderr(), strip_controls(s));
    }
    if strange.len() > 10 {
        eprintln!("… and {} more", strange.len() - 10);
    }
    let (thing, done) = if args.clear { ("label", "taken back") } else { ("page", "labelled") };
    let what = format!("{} {done}", things(changed as u64, thing));
    eprintln!("{what}{}", if same > 0 { format!(", {same} as before") } else { String::new() });
    if let Some(q) = args.open()?.quality()? {
        eprintln!("{}", describe(&q));
    }
    // A file made for a whole web names pages that were never fetched: that is no failure.
    let failed = !strange.is_empty() && (args.from.is_none() || changed + same == 0);
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn find(store: &dyn Store, canon: &types::Canon, text: &str) -> Result<UrlId, String> {
    let url = canon.parse_typed(text).map_err(|e| e.to_string())?;
    let id = store.find(&url).ok_or("this crawl never saw it; check the spelling")?;
    match store.record(id) {
        Ok(Some(_)) => Ok(id),
        Ok(None) => Err("it was not fetched as a page (`gleaner explain` tells why)".into()),
        Err(problem) => Err(problem.to_string()),
    }
}

fn list(args: &Args) -> Result<ExitCode, Problem> {
    let reader = args.open()?;
    for (id, Label { relevant: label, who }) in reader.labels().all() {
        // The judge's own word, not the label that overrules it.
        let Some(record) = reader.ledger().record(id)? else { continue };
        let word = |yes: bool| if yes { "yes" } else { "no" };
        if args.json {
            let line = serde_json::json!({
                "url": record.url, "label": label, "by": who, "judged": record.verdict.relevant,
                "score": record.assessment.score, "title": record.title,
            });
            println!("{line}");
        } else {
            println!(
                "{}\t{}\t{}\t{:.3}\t{}\t{}",
                record.url,
                word(label),
                word(record.verdict.relevant),
                record.assessment.score,
                shorten(&strip_controls(&record.title), 80),
                who.name()
            );
        }
    }
    match reader.quality()? {
        Some(q) => eprintln!("{}", describe(&q)),
        None => eprintln!(
            "no labels yet; `gleaner label {} --sample 20` shows pages to begin with",
            args.collection()
        ),
    }
    Ok(ExitCode::SUCCESS)
}

fn sample(args: &Args, n: usize) -> Result<ExitCode, Problem> {
    let reader = args.open()?;
    let mut pages: Vec<(String, String, f64)> = Vec::new();
    for record in reader.records(args.all) {
        let record = record?;
        if reader.labels().get(record.id).is_none() {
            pages.push((record.url, record.title, record.assessment.score));
        }
    }
    if pages.is_empty() {
        eprintln!("no page without a label is left");
        return Ok(ExitCode::SUCCESS);
    }
    Rng(args.rng).shuffle(&mut pages);
    for (url, title, score) in pages.iter().take(n) {
        if args.json {
            println!("{}", serde_json::json!({ "url": url, "title": title, "score": score }));
        } else {
            println!("{url}\t{score:.3}\t{}", shorten(&strip_controls(title), 80));
        }
    }
    eprintln!("{} of {} pages without a label", count(n.min(pages.len()) as u64), count(pages.len() as u64));
    Ok(ExitCode::SUCCESS)
}

/// `12 labelled (9 relevant): precision 0.90 (0.60–0.98), recall 1.00 (0.70–1.00)`
pub fn describe(q: &Quality) -> String {
    let share = |s: Option<Share>| {
        s.map_or_else(|| "unknown".into(), |s| format!("{:.2} ({:.2}–{:.2})", s.value, s.low, s.high))
    };
    format!(
        "{} labelled ({} relevant): the judge's precision {}, recall {}",
        count(q.labelled()),
        count(q.true_relevant + q.missed),
        share(q.precision),
        share(q.recall)
    )
}
