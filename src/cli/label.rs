//! `gleaner label DIR`: what the user says of pages, in a conversation ([`super::conversation`]), page by
//! page or from a file.

use super::conversation::{self, QuizOptions};
use super::setup::{self, FetchFlags, StoreArgs};
use crate::labelling::LabelRoute;
use crate::text::{count, shorten, strip_controls, things};
use clap::Args as ClapArgs;
use console::style;
use crawl::collection::Collection;
use crawl::quiz::{QuestionKind, Quiz};
use crawl::reader::Reader;
use eval::labels::{Class, Rules};
use learn::rng::Rng;
use std::collections::{BTreeMap, HashSet};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use store::Records;
use types::{Label, Problem, UrlId, Who};

const EXAMPLES: &str = "\
Examples:
  gleaner label db                            a conversation: one page at a time, y or n, and what that changes
  gleaner label db --near                     only pages closest to the line
  gleaner label db --top                      only the best
  gleaner label db https://www.example.edu/db101/ --yes
  gleaner label db https://www.example.edu/news/ https://www.example.edu/jobs/ --no
  gleaner label db --from labels.tsv          lines of url<TAB>label, as in url<TAB>yes
  gleaner label db --list                     list the labels and how the judge does on them
  gleaner label db --sample 20 --list         pages to look at next, drawn at random from the relevant ones
  gleaner label db --topic db.toml --urls found.txt    before a crawl: fetches these pages first, then asks
  gleaner label --store postgres://…          a crawl that workers share, while it runs

A label counts at once: the page is (or is no longer) one of the collection's relevant pages, whatever the judge says, and
the judge learns from it and judges all pages again. That works after a crawl, while one runs (through the folder's inbox) and
on a shared crawl. Without a terminal, `gleaner label db` lists.";

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
    /// Ask only about pages closest to the line
    #[arg(long, conflicts_with_all = ["yes", "no", "clear", "from", "urls", "sample", "top", "list"])]
    near: bool,
    /// Ask only about what the judge likes best
    #[arg(long, conflicts_with_all = ["yes", "no", "clear", "from", "urls", "sample", "list"])]
    top: bool,
    /// List what was labelled (with --sample: the pages drawn) instead of asking
    #[arg(long, conflicts_with_all = ["yes", "no", "clear", "from", "urls"])]
    list: bool,
    /// Before a crawl: begin the collection with the pages of this file (one URL per line), then ask
    #[arg(long = "urls", value_name = "FILE", id = "before", conflicts_with_all = ["yes", "no", "clear", "from", "urls", "store"])]
    before: Option<PathBuf>,
    /// Before a crawl: the topic of the new collection; its seeds are fetched, too
    #[arg(long, value_name = "TOPIC.toml", conflicts_with_all = ["yes", "no", "clear", "from", "urls", "store"])]
    topic: Option<PathBuf>,
    /// Before a crawl: how many pages to fetch (default: as many as there are URLs and seeds)
    #[arg(long, value_name = "N", requires = "topic")]
    pages: Option<u64>,
    #[command(flatten)]
    fetch: FetchFlags,
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
    if args.topic.is_some() || args.before.is_some() {
        begin(&args)?;
    }
    let talks = !args.list && !args.json && talks();
    if let Some(n) = args.sample
        && !talks
    {
        return sample(&args, n);
    }
    let wanted = match &args.from {
        Some(path) => read(path, &Rules::new(&args.relevant_label, &args.ignore_label))?,
        None if args.urls.is_empty() && (args.yes || args.no || args.clear) => {
            return Err(Problem::usage("which pages?").hint("name their URLs after the folder"));
        }
        None if args.urls.is_empty() && talks => return converse(&args),
        None if args.urls.is_empty() && (args.near || args.top) => return questions(&args),
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
    give_labels(&args, &wanted)
}

/// Is there someone to talk to?
fn talks() -> bool {
    std::io::stdin().is_terminal()
        && std::io::stdout().is_terminal()
        && std::env::var("TERM").as_deref() != Ok("dumb")
}

/// How labels reach the collection.
fn way(args: &Args, reader: &Reader) -> Result<LabelRoute, Problem> {
    match (&args.shared.store, &args.dir) {
        (Some(store), _) => {
            let name = reader.shared_name().unwrap_or_default();
            Ok(LabelRoute::to_shared(store, name, crate::labelling::who("gleaner label")))
        }
        (None, Some(dir)) => LabelRoute::to_folder(dir),
        (None, None) => {
            Err(Problem::usage("which collection?").hint("name a folder, or a database with --store"))
        }
    }
}

fn which(args: &Args) -> QuestionKind {
    match (args.near, args.top, args.sample) {
        (true, ..) => QuestionKind::Near,
        (_, true, _) => QuestionKind::Top,
        (.., Some(_)) if args.all => QuestionKind::Any,
        (.., Some(_)) => QuestionKind::Relevant,
        _ => QuestionKind::Best,
    }
}

fn converse(args: &Args) -> Result<ExitCode, Problem> {
    let mut reader = args.open()?;
    let way = way(args, &reader)?;
    // What was left in the inbox has been taken in meanwhile.
    reader.refresh()?;
    conversation::converse(reader, way, QuizOptions { which: which(args), most: args.sample, rng: args.rng })
}

/// Without a terminal: the pages that would be asked about.
fn questions(args: &Args) -> Result<ExitCode, Problem> {
    const SHOWN: usize = 20;
    let reader = args.open()?;
    let mut quiz = Quiz::default();
    quiz.update(&reader)?;
    for q in quiz.questions(which(args), SHOWN, args.rng, &HashSet::new()) {
        let Some(record) = reader.record(q.id)? else { continue };
        let (url, score, title) = (&record.url, record.assessment.score, &record.title);
        if args.json {
            let line =
                serde_json::json!({ "url": url, "title": title, "score": score, "why": q.reason.name() });
            println!("{line}");
        } else {
            println!("{url}\t{score:.3}\t{}", shorten(&strip_controls(title), 80));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Before a crawl: an ordinary one that ends when the named pages were fetched. What it found waits for the
/// crawl proper.
fn begin(args: &Args) -> Result<(), Problem> {
    let (Some(dir), Some(topic)) = (&args.dir, &args.topic) else {
        return Err(Problem::usage("which topic?").hint("name its file with --topic"));
    };
    if Collection::exists(dir) {
        eprintln!("{} has been begun already: its pages are asked about", dir.display());
        return Ok(());
    }
    let loaded = setup::load(Some(topic), toml::Table::new())?;
    let mut crawl = super::crawl::Args {
        out: Some(dir.clone()),
        fetch: args.fetch.clone(),
        rng: args.rng,
        quiet: !std::io::stderr().is_terminal(),
        ..super::crawl::Args::default()
    };
    crawl.topic.topic = Some(topic.clone());
    if let Some(file) = &args.before {
        let name = file.to_string_lossy().into_owned();
        crawl.seeds = vec![name];
    }
    let canon = Collection::canon(&loaded.config);
    let urls = setup::seeds(&loaded.config, &[], &crawl.seeds, &canon)?.len() as u64;
    if urls == 0 {
        return Err(Problem::usage("there is nothing to fetch").hint("name a file of URLs with --urls"));
    }
    crawl.pages = Some(args.pages.unwrap_or(urls));
    eprintln!("fetching {} first, as a crawl would", things(crawl.pages.unwrap_or(urls), "page"));
    super::crawl::run(crawl)?;
    Ok(())
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

/// Gives labels to whoever has the collection.
fn give_labels(args: &Args, wanted: &[(String, Option<bool>)]) -> Result<ExitCode, Problem> {
    let mut reader = args.open()?;
    let canon = Collection::canon(reader.config());
    let mut heard: BTreeMap<UrlId, (Option<bool>, &str)> = BTreeMap::new();
    let (mut said, mut same, mut strange) = (Vec::new(), 0, Vec::new());
    // What a model said is said again by a person.
    let by_model = |id: UrlId| reader.labels().label(id).is_some_and(|l| l.who == Who::Model);
    for (text, label) in wanted {
        match find(&**reader.ledger(), &canon, text) {
            Ok(id) => {
                if let Some((other, earlier)) = heard.insert(id, (*label, text)) {
                    if other != *label {
                        return Err(contradiction(args, earlier, text));
                    }
                    // Said twice.
                } else if reader.labels().get(id) == *label && !by_model(id) {
                    same += 1;
                } else {
                    said.push((id, *label));
                }
            }
            Err(why) => strange.push(format!("{text}: {why}")),
        }
    }
    if !said.is_empty() {
        let mut way = way(args, &reader)?;
        let effect = way.say(&reader, &said)?;
        eprintln!("{}", effect.text);
        if let LabelRoute::Inbox { .. } = way {
            eprintln!("{}", style(way.describe()).dim().for_stderr());
        }
        way.close()?;
    }
    reader.refresh()?;
    told(args, &reader, said.len(), same, &strange)
}

fn contradiction(args: &Args, one: &str, other: &str) -> Problem {
    let place = args.from.as_ref().map_or(String::new(), |f| format!("{}: ", f.display()));
    let pages = match one == other {
        true => strip_controls(one),
        false => format!("{} (also written {})", strip_controls(one), strip_controls(other)),
    };
    Problem::usage(format!("{place}{pages} is called relevant and not relevant"))
        .because("which of the two is meant cannot be told")
        .hint("keep one of the lines; nothing was labelled")
}

/// What came of it, and how the judge does now.
fn told(
    args: &Args,
    reader: &Reader,
    changed: usize,
    same: usize,
    strange: &[String],
) -> Result<ExitCode, Problem> {
    for s in strange.iter().take(10) {
        eprintln!("{} {}", style("not labelled:").yellow().for_stderr(), strip_controls(s));
    }
    if strange.len() > 10 {
        eprintln!("… and {} more", strange.len() - 10);
    }
    if changed + same == 0
        && let Some(file) = args.from.as_ref().filter(|_| !strange.is_empty())
    {
        eprintln!(
            "none of the {} in {} is in this collection: are these the labels of another one?",
            things(strange.len() as u64, "page"),
            file.display()
        );
    }
    let (thing, done) = if args.clear { ("label", "taken back") } else { ("page", "labelled") };
    let what = format!("{} {done}", things(changed as u64, thing));
    eprintln!("{what}{}", if same > 0 { format!(", {same} as before") } else { String::new() });
    if let Some(q) = reader.quality()? {
        eprintln!("{}", crate::text::quality(&q));
        eprintln!("{}", conversation::estimate(&reader.taught()?));
    }
    // A file made for a whole web names pages that were never fetched: that is no failure.
    let failed = !strange.is_empty() && (args.from.is_none() || changed + same == 0);
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn find(store: &dyn Records, canon: &types::Canon, text: &str) -> Result<UrlId, String> {
    let url = canon.parse_typed(text).map_err(|e| e.to_string())?;
    let id = store.find(&url).map_err(|problem| problem.to_string())?;
    let id = id.ok_or("this crawl never saw it; check the spelling")?;
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
                "score": reader.score(id), "title": record.title,
            });
            println!("{line}");
        } else {
            println!(
                "{}\t{}\t{}\t{:.3}\t{}\t{}",
                record.url,
                word(label),
                word(record.verdict.relevant),
                reader.score(id).unwrap_or(record.assessment.score),
                shorten(&strip_controls(&record.title), 80),
                who.name()
            );
        }
    }
    match reader.quality()? {
        Some(q) => eprintln!("{}", crate::text::quality(&q)),
        None => eprintln!(
            "no labels yet; `gleaner label {}` in a terminal asks about pages, `--sample 20` shows some to \
             begin with",
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
