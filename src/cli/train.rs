//! `gleaner train`: teach a judge from examples, or a strategy from a finished crawl; the result is a model
//! file.

use super::setup::{self, FetchFlags, set};
use crate::text::{count, strip_controls};
use clap::Args as ClapArgs;
use console::style;
use crawl::collection::{Collection, TopicParts, TrainingMaterial, live_answer};
use crawl::config::{Config, LoadedConfig};
use crawl::reader::Reader;
use crawl::train::{TrainingCounts, TrainingPage, teach};
use crawl::{Analyst, resources};
use eval::labels::{Class, Rules};
use eval::webs::{self, Recorded};
use focus::judges::{self, Example, ExampleKind};
use focus::model::{ModelFile, Part, Role};
use focus::strategies;
use focus::text::Doc;
use focus::topic::Topic;
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use toml::{Table, Value};
use types::{Canon, Fetched, LinkKind, Problem, Url, UrlId};

const EXAMPLES: &str = "\
Examples:
  gleaner train --judge svm --relevant good/ https://a.org/one --irrelevant bad/ -o courses.model
  gleaner train --judge bayes --taxonomy topics/ --focus Science/Biology
  gleaner train topic.toml --from db --judge bayes            learn to judge from what a crawl found (and you labelled)
  gleaner train --from db                                     what the crawl's strategy learnt
  gleaner train --from db --strategy apprentice               teach another strategy from the same crawl
  gleaner train topic.toml --strategy hmm --browse visited.tsv --web webs/mine

  gleaner crawl other.toml --model apprentice.model           use it; also for `judge` and `backtest`";

#[derive(ClapArgs, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Topic file (TOML); a collection has its own
    topic: Option<PathBuf>,
    /// Train this judge: bayes or svm
    #[arg(long, value_name = "NAME")]
    judge: Option<String>,
    /// Train this strategy
    #[arg(long, value_name = "NAME", conflicts_with = "judge")]
    strategy: Option<String>,
    /// Pages that are wanted: URLs, files, folders
    #[arg(long, value_name = "PAGE", num_args = 1..)]
    relevant: Vec<String>,
    /// Pages that are not wanted
    #[arg(long, value_name = "PAGE", num_args = 1..)]
    irrelevant: Vec<String>,
    /// A folder whose sub-folders are topics and whose files are pages (judge bayes)
    #[arg(long, value_name = "DIR")]
    taxonomy: Option<PathBuf>,
    /// The wanted topics of the taxonomy, as Science/Biology
    #[arg(long, value_name = "TOPIC", num_args = 1..)]
    focus: Vec<String>,
    /// Learn from the pages of this collection
    #[arg(long, value_name = "COLLECTION", conflicts_with = "browse")]
    from: Option<PathBuf>,
    /// Show the collection's pages to the strategy again, even if it made the crawl itself
    #[arg(long, requires = "from")]
    replay: bool,
    /// Learn from pages visited in this order: lines url<TAB>label, or an order-*.tsv of a backtest
    #[arg(long, value_name = "FILE")]
    browse: Option<PathBuf>,
    /// Where the visited pages are (default: the Web)
    #[arg(long, value_name = "PATH", requires = "browse")]
    web: Option<String>,
    /// Labels of wanted pages in the file, separated by commas
    #[arg(long, value_name = "a,b", default_value = "1,relevant,yes")]
    relevant_label: String,
    /// Most pages of each kind taken from a collection to train a judge
    #[arg(long, value_name = "N", default_value_t = 500)]
    most: usize,
    /// Seed of all chance
    #[arg(long, value_name = "N", default_value_t = 0)]
    rng: u64,
    /// The model file (default: named after what was trained)
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    fetch: FetchFlags,
}

/// More files of a folder are not taken.
const MOST_FILES: usize = 20_000;
/// Parts that examples are left out in, one after the other.
const FOLDS: usize = 5;

pub fn run(args: Args) -> Result<ExitCode, Problem> {
    let trained = match (&args.from, &args.browse, &args.judge) {
        (Some(dir), _, Some(judge)) => judge_of_collection(&args, dir, judge)?,
        (Some(dir), _, None) => strategy_of_collection(&args, dir)?,
        (None, Some(file), _) => strategy_of_visits(&args, file)?,
        (None, None, _) => judge_of_examples(&args)?,
    };
    let Some(part) = trained else { return Ok(ExitCode::from(4)) };
    let path = args.out.clone().unwrap_or_else(|| PathBuf::from(format!("{}.model", part.kind)));
    let (role, kind, note) = (part.role.name(), part.kind.clone(), part.note.clone());
    let bytes = ModelFile { parts: vec![part] }.write();
    fs::write(&path, &bytes).map_err(|e| Problem::io("write", &path, &e))?;
    println!("{role} `{kind}`: {note}");
    println!("wrote {} ({:.1} kB)", path.display(), bytes.len() as f64 / 1e3);
    println!("use it: gleaner crawl TOPIC.toml --{role} {kind} --model {}", path.display());
    Ok(ExitCode::SUCCESS)
}

/// `--model FILE` on other commands: the file becomes the model of the judge, the strategy or both; what the
/// user does not name otherwise is what the model is for.
pub fn lay_model(file: &Path, judge: bool, strategy: bool, table: &mut Table) -> Result<ModelFile, Problem> {
    let text = file.display().to_string();
    let model = resources::model(&text)?;
    for part in &model.parts {
        let section = part.role.name();
        let asked = if part.role == Role::Judge { judge } else { strategy };
        if !asked {
            continue;
        }
        set(table, section, "model", text.as_str());
        let named = table.get(section).and_then(|s| s.get("kind")).is_some();
        if !named {
            set(table, section, "kind", part.kind.as_str());
        }
    }
    Ok(model)
}

/// The settings of the topic file, with the flags laid over it.
fn load(args: &Args) -> Result<LoadedConfig, Problem> {
    let mut table = Table::new();
    args.fetch.lay(&mut table);
    for (key, list) in [("relevant", &args.relevant), ("irrelevant", &args.irrelevant)] {
        if !list.is_empty() {
            let mut pages = Vec::new();
            for item in list {
                expand(item, &mut pages)?;
            }
            set(&mut table, "examples", key, pages.into_iter().map(Value::String).collect::<Vec<_>>());
        }
    }
    if let Some(dir) = &args.taxonomy {
        set(&mut table, "judge", "taxonomy", dir.display().to_string());
    }
    if !args.focus.is_empty() {
        set(&mut table, "judge", "focus", args.focus.iter().cloned().map(Value::String).collect::<Vec<_>>());
    }
    if let Some(judge) = &args.judge {
        set(&mut table, "judge", "kind", judge.as_str());
    }
    if let Some(strategy) = &args.strategy {
        set(&mut table, "strategy", "kind", strategy.as_str());
    }
    if args.topic.is_none() {
        table.insert("name".into(), "trained".into());
    }
    setup::load(args.topic.as_deref(), table)
}

/// A folder stands for the files in it, as deep as they lie.
fn expand(item: &str, out: &mut Vec<String>) -> Result<(), Problem> {
    let path = Path::new(item);
    if item.contains("://") || !path.is_dir() {
        out.push(item.to_string());
        return Ok(());
    }
    let before = out.len();
    let mut waiting = vec![path.to_path_buf()];
    while let Some(dir) = waiting.pop() {
        let entries = fs::read_dir(&dir).map_err(|e| Problem::io("read", &dir, &e))?;
        let mut entries: Vec<fs::DirEntry> = entries.flatten().collect();
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            // Symbolic links are not followed: there are no circles.
            let Ok(kind) = entry.file_type() else { continue };
            if entry.file_name().to_string_lossy().starts_with('.') || out.len() >= MOST_FILES {
                continue;
            }
            if kind.is_dir() {
                waiting.push(entry.path());
            } else if kind.is_file() {
                out.push(entry.path().display().to_string());
            }
        }
    }
    if out.len() == before {
        return Err(Problem::usage(format!("there are no files in {item}")).hint("name a folder of pages"));
    }
    Ok(())
}

fn judge_of_examples(args: &Args) -> Result<Option<Part>, Problem> {
    let loaded = load(args)?;
    trained_kind(loaded.config.judge.kind.as_deref().unwrap_or(judges::DEFAULT))?;
    let topic = loaded.config.topic()?;
    let web = fetch::Http::new(Collection::fetch_settings(&loaded.config)?)?;
    let book = TrainingMaterial::read(&topic, &Collection::canon(&loaded.config), &live_answer(&web))?;
    train_judge(args, &topic, &book)
}

fn trained_kind(kind: &str) -> Result<(), Problem> {
    judges::find(kind)?;
    if judges::TRAINED.contains(&kind) {
        return Ok(());
    }
    Err(Problem::usage(format!("judge `{kind}` is not trained")).hint(format!(
        "--judge {}; or train a strategy: --from COLLECTION, --browse FILE",
        judges::TRAINED.join(" or --judge ")
    )))
}

fn train_judge(args: &Args, topic: &Topic, book: &TrainingMaterial) -> Result<Option<Part>, Problem> {
    let setup = book.setup(topic, args.rng);
    let judge = judges::build(&setup)?;
    let Some(body) = judge.trained() else {
        return Err(Problem::new(format!("judge `{}` has nothing to keep", topic.judge.kind)));
    };
    let mut note = judge.explain().unwrap_or_default();
    // The support vector machine has left examples out already, to choose its parameters.
    if topic.judge.kind == "bayes" {
        let focus: Vec<String> = match topic.judge.options.get("focus") {
            Some(Value::Array(list)) => list.iter().filter_map(|v| v.as_str().map(String::from)).collect(),
            Some(Value::String(one)) => vec![one.clone()],
            _ => Vec::new(),
        };
        match judges::validate(&setup, FOLDS, &focus) {
            Ok(Some(accuracy)) => note = format!("{note}; {accuracy}"),
            Ok(None) => note = format!("{note}; too few examples to leave any out"),
            // With a fold left out a topic may be too small: nothing is wrong with the whole.
            Err(_) => note = format!("{note}; the topics are too small to leave examples out"),
        }
    }
    Ok(Some(Part::new(Role::Judge, &topic.judge.kind, note, &topic.text.options, body)))
}

/// The pages of a collection, and how their texts are had again.
struct CollectionPages {
    reader: Reader,
    web: Arc<dyn Recorded>,
}

impl CollectionPages {
    fn open(dir: &Path) -> Result<CollectionPages, Problem> {
        let reader = setup::read(dir)?;
        let warcs = Collection::warc_dir(dir);
        let none = || {
            Problem::usage(format!("{} keeps no archive of its pages", dir.display()))
                .hint("crawl without --no-archive ([archive] warc = true) to be able to learn from the pages")
        };
        if !webs::warc::has_warcs(&warcs) {
            return Err(none());
        }
        let web = webs::open(&warcs.display().to_string(), eval::cache::default_folder().as_deref())?.web;
        Ok(CollectionPages { reader, web })
    }

    /// In the order they were fetched, with the newest verdicts.
    fn pages(&self) -> Result<Vec<TrainingPage>, Problem> {
        let canon = Canon::exact();
        let mut at: HashMap<UrlId, usize> = HashMap::new();
        let mut out = Vec::new();
        for record in self.reader.records(true) {
            let record = record?;
            let Ok(url) = canon.parse(&record.url) else { continue };
            let parent = record.parent.and_then(|p| at.get(&p)).copied();
            at.insert(record.id, out.len());
            let mut verdict = record.verdict;
            verdict.relevant = self.reader.is_relevant(record.id);
            out.push(TrainingPage {
                url,
                kind: record.kind,
                parent,
                depth: record.depth,
                assessment: record.assessment,
                verdict,
                worthless: record.duplicate_of.is_some() || record.near_duplicate_of.is_some(),
            });
        }
        if out.is_empty() {
            return Err(Problem::nothing(format!("{} has no pages", self.reader.dir().display()))
                .hint("crawl first: there is nothing to learn from"));
        }
        Ok(out)
    }
}

fn doc(analyst: &Analyst, fetched: &Fetched) -> Option<Doc> {
    analyst.analyse(fetched).map(|a| a.doc)
}

fn judge_of_collection(args: &Args, dir: &Path, kind: &str) -> Result<Option<Part>, Problem> {
    trained_kind(kind)?;
    let shelf = CollectionPages::open(dir)?;
    let mut config = match &args.topic {
        Some(_) => load(args)?.config,
        None => shelf.reader.config().clone(),
    };
    config.judge.kind = Some(kind.into());
    config.judge.model = None;
    if args.topic.is_none() {
        // The options in the collection's topic are those of the judge it was crawled with.
        config.judge.options = Table::new();
    }
    let topic = config.topic()?;
    let analyst = reading_analyst(&topic, &Collection::canon(&config), shelf.web.as_ref())?;
    let mut rng = learn::rng::Rng(args.rng);
    let pages = shelf.pages()?;
    let mut examples = Vec::new();
    for (kind, relevant) in [(ExampleKind::Relevant, true), (ExampleKind::Irrelevant, false)] {
        let mut some: Vec<&TrainingPage> =
            pages.iter().filter(|p| p.verdict.relevant == relevant && !p.worthless).collect();
        rng.shuffle(&mut some);
        for page in some.into_iter().take(args.most) {
            if let Some(doc) = doc(&analyst, &shelf.web.answer(&page.url)) {
                examples.push(Example { doc: Arc::new(doc), kind });
            }
        }
    }
    let none = |kind| !examples.iter().any(|e: &Example| e.kind == kind);
    for (kind, what) in [(ExampleKind::Relevant, "relevant"), (ExampleKind::Irrelevant, "irrelevant")] {
        if none(kind) {
            return Err(Problem::nothing(format!("{} has no {what} pages to learn from", dir.display()))
                .hint("crawl more, or say which pages are relevant with `gleaner label`"));
        }
    }
    let book = TrainingMaterial { examples, taxonomy: Vec::new(), idf: None };
    train_judge(args, &topic, &book)
}

/// Reads pages; what they are judged to be does not matter.
fn reading_analyst(topic: &Topic, canon: &Canon, web: &dyn Recorded) -> Result<Analyst, Problem> {
    let mut plain = topic.clone();
    plain.judge.kind = judges::DEFAULT.into();
    plain.judge.options = Table::new();
    plain.judge.model = None;
    plain.examples = Default::default();
    plain.strategy.kind = "breadth-first".into();
    plain.strategy.options = Table::new();
    plain.strategy.model = None;
    Ok(TopicParts::new(&plain, canon, &|url| Ok(web.answer(url)), 0, 0)?.analyst)
}

fn strategy_of_collection(args: &Args, dir: &Path) -> Result<Option<Part>, Problem> {
    let reader = setup::read(dir)?;
    let own = reader.strategy()?;
    let kind = args.strategy.clone().unwrap_or_else(|| own.clone());
    strategies::find(&kind)?;
    let mut config = reader.config().clone();
    if config.strategy.kind.as_deref() != Some(kind.as_str()) {
        config.strategy.kind = Some(kind.clone());
        config.strategy.options = Table::new();
    }
    config.strategy.model = None;
    if let Some(topic) = &args.topic {
        config.strategy = Config::read(topic, strategy_flag(&kind))?.config.strategy;
    }
    let topic = config.topic()?;
    let canon = Collection::canon(&config);
    let states = reader.ledger().state(types::StateKey::Strategy)?;
    if kind == own && !args.replay && !states.is_empty() {
        let web = fetch::Http::new(Collection::fetch_settings(&config)?)?;
        let mut strategy = TopicParts::new(&topic, &canon, &live_answer(&web), 0, args.rng)?.strategy;
        for bytes in states {
            strategy.model().map_or(Ok(()), |m| m.load(&bytes))?;
        }
        let pages = reader.summary()?.pages;
        let note = format!("as it learnt from {} pages of {}", count(pages), dir.display());
        return Ok(part(&topic, &kind, note, exported(&mut strategy)));
    }
    drop(reader);
    let shelf = CollectionPages::open(dir)?;
    let web = shelf.web.as_ref();
    let mut made = TopicParts::new(&topic, &canon, &|url| Ok(web.answer(url)), 0, args.rng)?;
    let analyst = reading_analyst(&topic, &canon, web)?;
    let pages = shelf.pages()?;
    let taught =
        teach(made.strategy.as_mut(), &pages, &mut |page| Ok(doc(&analyst, &web.answer(&page.url))))?;
    Ok(part(&topic, &kind, told(&taught, &dir.display().to_string()), exported(&mut made.strategy)))
}

fn strategy_flag(kind: &str) -> Table {
    let mut table = Table::new();
    set(&mut table, "strategy", "kind", kind);
    table
}

fn told(t: &TrainingCounts, from: &str) -> String {
    let missing = match t.missing {
        0 => String::new(),
        n => format!(", {} pages could not be read again", count(n as u64)),
    };
    format!(
        "taught with {} pages of {from}, {} of them relevant, {} links between them{missing}",
        count(t.pages as u64),
        count(t.relevant as u64),
        count(t.links as u64)
    )
}

fn exported(strategy: &mut Box<dyn strategies::Strategy>) -> Option<Vec<u8>> {
    strategy.model()?.export()
}

fn part(topic: &Topic, kind: &str, note: String, body: Option<Vec<u8>>) -> Option<Part> {
    if body.is_none() {
        eprintln!(
            "{} strategy `{kind}` learns nothing that another crawl could use, so there is no model\n\n\
             hint: `gleaner strategies` says which ones learn",
            style("nothing to do:").yellow().for_stderr()
        );
    }
    body.map(|body| Part::new(Role::Strategy, kind, note, &topic.text.options, body))
}

/// A page somebody visited, and what was said of it.
struct VisitLine {
    url: Url,
    label: Option<String>,
}

/// Lines `url[<TAB>label]`, or `n<TAB>url<TAB>score<TAB>labels` as a backtest writes them.
fn read_visits(path: &Path) -> Result<Vec<VisitLine>, Problem> {
    let text = fs::read_to_string(path).map_err(|e| Problem::io("read the visits", path, &e))?;
    let mut out = Vec::new();
    for (n, line) in text.lines().enumerate().filter(|(_, l)| !l.trim().is_empty()) {
        let columns: Vec<&str> = line.split('\t').map(str::trim).collect();
        let (url, label) = match columns.as_slice() {
            [number, url, _, label @ ..] if number.parse::<u64>().is_ok() => (url, label.first()),
            [url, label @ ..] => (url, label.first()),
            [] => continue,
        };
        let url = Canon::exact().parse_typed(url).map_err(|e| {
            Problem::usage(format!("{}:{}: `{}` is not a URL", path.display(), n + 1, strip_controls(url)))
                .because(e)
                .hint("a line is url<TAB>label, or a line of a backtest's order-*.tsv")
        })?;
        out.push(VisitLine { url, label: label.filter(|l| !l.is_empty()).map(|l| l.to_string()) });
    }
    if out.is_empty() {
        return Err(Problem::usage(format!("there are no visits in {}", path.display())));
    }
    Ok(out)
}

fn strategy_of_visits(args: &Args, file: &Path) -> Result<Option<Part>, Problem> {
    if args.topic.is_none() {
        return Err(
            Problem::usage("--browse needs a topic file").hint("gleaner train topic.toml --browse FILE")
        );
    }
    let visits = read_visits(file)?;
    let config = load(args)?.config;
    let topic = config.topic()?;
    let canon = Canon::exact();
    let http = fetch::Http::new(Collection::fetch_settings(&config)?)?;
    let live = live_answer(&http);
    let recorded = match &args.web {
        Some(place) => Some(webs::open_named(place, eval::cache::default_folder().as_deref())?.web),
        None => None,
    };
    let ask = |url: &Url| match &recorded {
        Some(web) => Ok(web.answer(url)),
        None => live(url),
    };
    let mut made = TopicParts::new(&topic, &canon, &ask, 0, args.rng)?;
    let rules = Rules::new(&args.relevant_label, "");
    // Twice through the pages: verdicts first, for those without a label from the judge, then the lessons.
    let mut pages = Vec::new();
    let mut missing = 0;
    for visit in visits {
        let fetched = ask(&visit.url)?;
        let Some(analysis) = made.analyst.analyse(&fetched) else {
            missing += 1;
            continue;
        };
        let mut judge = made.analyst.judge.write().unwrap_or_else(|e| e.into_inner());
        let assessment = analysis.assessment.unwrap_or_else(|| judge.assess(&analysis.doc));
        judge.observe(&assessment, None);
        let mut verdict = judge.decide(&assessment);
        if let Some(label) = &visit.label {
            verdict.relevant = rules.class(label) == Class::Relevant;
            verdict.relevance = f64::from(u8::from(verdict.relevant));
        }
        let n = pages.len();
        pages.push(TrainingPage {
            url: visit.url,
            kind: if n == 0 { LinkKind::Seed } else { LinkKind::Anchor },
            parent: n.checked_sub(1),
            depth: u16::try_from(n).unwrap_or(u16::MAX),
            assessment,
            verdict,
            worthless: false,
        });
    }
    if pages.is_empty() {
        return Err(Problem::nothing(format!("none of the {missing} visited pages can be had"))
            .hint("name the web they are in with --web"));
    }
    let analyst = made.analyst.clone();
    let mut taught = teach(made.strategy.as_mut(), &pages, &mut |page| {
        Ok(analyst.analyse(&ask(&page.url)?).map(|a| a.doc))
    })?;
    taught.missing += missing;
    let kind = topic.strategy.kind.clone();
    Ok(part(&topic, &kind, told(&taught, &file.display().to_string()), exported(&mut made.strategy)))
}
