//! `gleaner new`: writes a commented topic file, from flags or in a conversation.

use super::draft::Draft;
use super::guide::{self, Reply, Step, Talk};
use super::picker::PickResult;
use super::setup::{self, FetchFlags, TeacherFlags, TopicFlags};
use super::terms::{self, Readers, known, with_preset_words};
use super::trial::Trial;
use crate::pages::{PageSourceArgs, Pages};
use crate::text::{shorten, strip_controls};
use clap::Args as ClapArgs;
use console::style;
use crawl::Config;
use focus::judges::JudgeSetup;
use focus::text::Doc;
use focus::topic::generate::{Known, Options, Rank, SHOWN, Suggestion, TAKEN, generate};
use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;
use types::Problem;

const EXAMPLES: &str = "\
Examples:
  gleaner new                                   asks a few questions
  gleaner new \"syllabi of database courses, not tutorials\"             drafts a topic from a sentence
  gleaner new \"…\" --teacher-url http://localhost:11434/v1 --teacher-model qwen3:8b    a language model drafts it
  gleaner new --subject \"sql, relational model\" --genre syllabus -o db.toml
  gleaner new --genre syllabus --examples good1.html good2.html --background other/   terms from example pages
  gleaner new --subject \"operating systems\" --genre syllabus --engine searxng:http://localhost:8888 -o os.toml";

#[derive(ClapArgs, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// What you want, in a sentence, as in "syllabi of database courses, not tutorials"
    sentence: Option<String>,
    #[command(flatten)]
    topic: TopicFlags,
    /// What the collection is called
    #[arg(long)]
    name: Option<String>,
    /// Where to start (may be repeated)
    #[arg(long, value_name = "URL")]
    seed: Vec<String>,
    /// Find seeds with a search engine (see `gleaner seeds --help`)
    #[arg(long, value_name = "ENGINE")]
    engine: Option<String>,
    /// Pages that are like what you want (URLs or files): terms are taken from them
    #[arg(long, visible_alias = "example", value_name = "URL|FILE", num_args = 1..)]
    examples: Vec<String>,
    /// Pages that are not wanted, to compare the examples with: URLs, files or folders of files
    #[arg(long, value_name = "URL|FILE|DIR", num_args = 1..)]
    background: Vec<String>,
    /// Most terms taken from the examples (default: 8; shown to pick from: 12)
    #[arg(long, value_name = "N")]
    terms: Option<usize>,
    /// Ask even when some is said with flags, or when nobody sits at a terminal
    #[arg(long)]
    guided: bool,
    #[command(flatten)]
    from: PageSourceArgs,
    #[command(flatten)]
    fetch: FetchFlags,
    #[command(flatten)]
    teacher: TeacherFlags,
    /// File to write (default: named after the topic; `-` for standard output)
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace the file if it exists
    #[arg(long)]
    force: bool,
}

/// What goes into a topic file.
#[derive(Clone, Default)]
pub struct Answers {
    pub name: String,
    pub subject: Vec<String>,
    pub genre: Option<String>,
    pub query: Option<String>,
    pub seeds: Vec<String>,
    pub engine: Option<String>,
    pub examples: Vec<String>,
    /// Pages like those that are not wanted.
    pub unlike: Vec<String>,
    pub url: Vec<String>,
    pub description: String,
    pub exclude: Vec<String>,
    /// Said not to be wanted, but no term to drop pages by.
    pub not: Vec<String>,
    /// For a search engine.
    pub queries: Vec<String>,
    /// A language model to ask: address and name.
    pub teacher: Option<(String, String)>,
    /// Of genre and content, when the usual ones do not fit the examples.
    pub weights: Option<(u32, u32)>,
    pub judge: Option<String>,
    pub strategy: Option<String>,
}

/// Seeds taken from a search engine.
const SEEDS: usize = 20;

/// Pages fetched to compare the examples with.
const BACKGROUND: u64 = 36;
/// Pages of the crawl for trial, and of those asked about.
const TRIAL: u64 = 60;
const DOUBTFUL: usize = 10;

pub fn run(args: Args) -> Result<ExitCode, Problem> {
    let split =
        |s: &str| s.split(',').map(|t| t.trim().to_string()).filter(|t| !t.is_empty()).collect::<Vec<_>>();
    let mut answers = Answers {
        name: args.name.clone().unwrap_or_default(),
        subject: args.topic.subject.as_deref().map(split).unwrap_or_default(),
        genre: args.topic.genre.clone(),
        query: args.topic.query.clone(),
        seeds: args.seed.clone(),
        engine: args.engine.clone(),
        examples: args.examples.clone(),
        judge: args.topic.judge.clone(),
        strategy: args.topic.strategy.clone(),
        teacher: args.teacher.teacher_url.clone().zip(args.teacher.teacher_model.clone()),
        ..Answers::default()
    };
    let mut flags = toml::Table::new();
    args.fetch.lay(&mut flags);
    args.teacher.lay(&mut flags);
    // What is wrong with the flags is said before anything is asked.
    let settings = Config::load("", "the command line", flags)?.config;
    if let Some(sentence) = args.sentence.as_deref().map(str::trim).filter(|s| !s.is_empty()) {
        draft(sentence, &settings, &mut answers);
    }
    let said = !answers.subject.is_empty()
        || answers.genre.is_some()
        || answers.query.is_some()
        || !answers.examples.is_empty();
    let mut talk = None;
    if args.guided || !said {
        if !args.guided && !std::io::stdin().is_terminal() {
            return Err(Problem::usage("there is nobody to ask (standard input is not a terminal)")
                .hint("say it with flags: gleaner new --subject \"a, b\" --genre syllabus"));
        }
        talk = Some(Talk::new());
    }
    let steps = Step::open(&answers);
    let mut wizard = Wizard { args: &args, talk, steps, suggested: None, picked: Default::default() };
    let answers = wizard.run(answers)?;
    let text = render(&answers);
    // What we write must be what we read.
    config(&answers, &args)?.topic()?;
    write(&args, &answers, &text)
}

/// A sentence becomes a draft: by the model when one is named, else by rules.
fn draft(sentence: &str, settings: &Config, answers: &mut Answers) {
    let drafted = match Draft::by_model(sentence, settings) {
        Ok(Some(draft)) => draft,
        Ok(None) => Draft::by_rules(sentence),
        Err(problem) => {
            eprintln!(
                "{problem}\n{} the topic is drafted by rules instead",
                style("note:").cyan().for_stderr()
            );
            Draft::by_rules(sentence)
        }
    };
    eprintln!("{}", style("A draft of the topic:").bold().for_stderr());
    for line in drafted.lines() {
        eprintln!("  {}", strip_controls(&line));
    }
    if answers.name.is_empty() {
        answers.name = shorten(&strip_controls(sentence), 80);
    }
    drafted.lay(answers);
}

/// The way from answers to a topic, in steps. With somebody to ask, each step can be gone back from, and
/// nothing said is lost.
struct Wizard<'a> {
    args: &'a Args,
    talk: Option<Talk>,
    steps: Vec<Step>,
    /// What the examples say, and for which answers.
    suggested: Option<(Answers, Option<ExampleTerms>)>,
    /// What was picked in a step that was gone back from.
    picked: [Option<Vec<usize>>; 2],
}

enum StepResult {
    On,
    Back,
}

impl Wizard<'_> {
    fn run(&mut self, answers: Answers) -> Result<Answers, Problem> {
        // The answers as each step found them.
        let mut found: Vec<Answers> = vec![answers];
        let mut back = false;
        while let Some(mut answers) = found.last().cloned() {
            let went = match found.len() {
                1 => {
                    let at = if back { self.steps.len().saturating_sub(1) } else { 0 };
                    self.ask(&mut answers, at)?
                }
                2 => self.terms(&mut answers)?,
                3 => self.seeds(&mut answers)?,
                4 => self.trial(&mut answers)?,
                _ => return Ok(answers),
            };
            back = matches!(went, StepResult::Back);
            match went {
                StepResult::On => {
                    if found.len() == 1 {
                        // Whoever comes back finds what they said.
                        found[0] = answers.clone();
                        name(&mut answers);
                    }
                    found.push(answers);
                }
                StepResult::Back if found.len() > 1 => {
                    found.pop();
                }
                StepResult::Back => {}
            }
        }
        Err(Problem::usage("no answer").hint("nothing was written"))
    }

    fn ask(&mut self, answers: &mut Answers, at: usize) -> Result<StepResult, Problem> {
        if let Some(talk) = &mut self.talk {
            guide::ask(answers, &self.steps, at, talk)?;
        }
        Ok(StepResult::On)
    }

    /// Terms of the example pages.
    fn terms(&mut self, answers: &mut Answers) -> Result<StepResult, Problem> {
        let args = self.args;
        let same = |a: &Answers, b: &Answers| {
            (&a.subject, &a.genre, &a.query, &a.examples, &a.seeds)
                == (&b.subject, &b.genre, &b.query, &b.examples, &b.seeds)
        };
        if self.suggested.as_ref().is_none_or(|(of, _)| !same(of, answers)) {
            let suggested = match suggest(answers, args, self.talk.as_mut()) {
                // A conversation is not lost because of an address with a mistake.
                Err(problem)
                    if self.talk.is_some()
                        && config(&Answers { examples: Vec::new(), ..answers.clone() }, args)?
                            .topic()
                            .is_ok() =>
                {
                    eprintln!(
                        "{problem}\n{} the topic is made without them",
                        style("note:").cyan().for_stderr()
                    );
                    answers.examples.clear();
                    None
                }
                other => match other? {
                    ExamplesOrBack::Back => return Ok(StepResult::Back),
                    ExamplesOrBack::At(suggested) => suggested,
                },
            };
            self.suggested = Some((answers.clone(), suggested));
            self.picked[0] = None;
        }
        let Some((_, Some(s))) = &self.suggested else { return Ok(StepResult::On) };
        let mut terms = s.terms.clone();
        if s.background.is_empty() {
            let how =
                if terms.is_empty() { "no terms taken from the examples" } else { "terms by frequency" };
            eprintln!(
                "{} {how}, for want of pages to compare with; --background, --collection or --web name some",
                style("note:").cyan().for_stderr()
            );
        }
        if let Some(talk) = &mut self.talk {
            let shown: Vec<String> = terms.iter().map(terms::line).collect();
            // Without pages to compare with nobody knows what is special: nothing is ticked.
            let usual = !s.background.is_empty();
            let ticked = ticks(self.picked[0].as_deref(), usual, shown.len());
            match talk.pick("terms of your example pages", &shown, &ticked)? {
                PickResult::Back => return Ok(StepResult::Back),
                PickResult::These(chosen) => {
                    terms = chosen.iter().filter_map(|i| terms.get(*i).cloned()).collect();
                    self.picked[0] = Some(chosen);
                }
            }
        }
        answers.subject.extend(terms.into_iter().map(|s| s.term));
        let words = s.url.iter().map(|s| s.term.clone()).collect();
        answers.url = with_preset_words(&config(answers, args)?, words);
        answers.weights = weights(&config(answers, args)?, &s.examples, &s.background)?;
        Ok(StepResult::On)
    }

    /// Pages to start from, of a search engine.
    fn seeds(&mut self, answers: &mut Answers) -> Result<StepResult, Problem> {
        let Some(engine) = &answers.engine else { return Ok(StepResult::On) };
        let found = super::seeds::usual(engine, &config(answers, self.args)?, &answers.queries, SEEDS);
        let mut found = match (found, &self.talk) {
            (Ok(found), _) => found,
            // A conversation is not lost because an engine is down.
            (Err(problem), Some(_)) => {
                eprintln!("{problem}\n");
                Vec::new()
            }
            (Err(problem), None) => return Err(problem),
        };
        if let Some(talk) = &mut self.talk {
            let shown: Vec<String> =
                found.iter().map(|(url, title)| strip_controls(&format!("{url}  {title}"))).collect();
            let ticked = ticks(self.picked[1].as_deref(), true, shown.len());
            match talk.pick("pages to start from", &shown, &ticked)? {
                PickResult::Back => return Ok(StepResult::Back),
                PickResult::These(chosen) => {
                    found = chosen.iter().filter_map(|i| found.get(*i).cloned()).collect();
                    self.picked[1] = Some(chosen);
                }
            }
        }
        answers.seeds.extend(found.into_iter().map(|(url, _)| url));
        Ok(StepResult::On)
    }

    /// The topic is tried on its examples and seeds; then a short crawl, and what is doubtful in it is asked
    /// about.
    fn trial(&mut self, answers: &mut Answers) -> Result<StepResult, Problem> {
        let args = self.args;
        let Some(talk) = &mut self.talk else { return Ok(StepResult::On) };
        let config = config(answers, args)?;
        config.topic()?;
        let names: Vec<String> =
            answers.examples.iter().chain(answers.seeds.iter().take(10)).cloned().collect();
        guide::try_out(&config, &Pages::open(&args.from, &config)?, &names);
        let start: Vec<String> = names.into_iter().filter(|n| n.contains("://")).collect();
        if start.is_empty() {
            return Ok(StepResult::On);
        }
        let help = format!(
            "{TRIAL} pages around your examples and seeds; you are then asked about {DOUBTFUL} that are \
             doubtful"
        );
        match talk.offer("Try the topic in a short crawl?", &help)? {
            Reply::Back => return Ok(StepResult::Back),
            Reply::Yes => {}
            _ => return Ok(StepResult::On),
        }
        let mut flags = toml::Table::new();
        args.fetch.lay(&mut flags);
        // Examples that are files cannot be followed, but they teach all the same.
        let trial = match Trial::crawl(
            &render(&Answers { teacher: None, ..answers.clone() }),
            flags,
            &start,
            TRIAL,
        ) {
            Ok(trial) => trial,
            Err(problem) => {
                talk.say(&format!("the trial could not be made: {problem}"));
                return Ok(StepResult::On);
            }
        };
        let pages = trial.borderline(DOUBTFUL, &[answers.examples.clone(), answers.unlike.clone()].concat());
        talk.say(&format!("{} pages were fetched", trial.pages().len()));
        let mut said: Vec<Reply> = Vec::new();
        while let Some(page) = pages.get(said.len()) {
            let lines = [
                style(shorten(&strip_controls(&page.title), 90)).bold().for_stderr().to_string(),
                style(strip_controls(&page.url)).cyan().for_stderr().to_string(),
                format!("probability {:.2}, line {:.2}", page.verdict.relevance, page.verdict.threshold),
                style(shorten(&strip_controls(&page.text), 300)).dim().for_stderr().to_string(),
            ];
            match talk.is_wanted(said.len() + 1, pages.len(), &lines)? {
                Reply::Back if said.pop().is_none() => return Ok(StepResult::Back),
                Reply::Back => {}
                Reply::Enough => break,
                word => said.push(word),
            }
        }
        for (page, said) in pages.iter().zip(&said) {
            match said {
                Reply::Yes => answers.examples.push(page.url.clone()),
                Reply::No => answers.unlike.push(page.url.clone()),
                _ => {}
            }
        }
        Ok(StepResult::On)
    }
}

/// What was ticked before, or the usual.
fn ticks(before: Option<&[usize]>, usual: bool, n: usize) -> Vec<bool> {
    (0..n).map(|i| before.map_or(usual, |chosen| chosen.contains(&i))).collect()
}

fn name(answers: &mut Answers) {
    if answers.name.is_empty() {
        let parts: Vec<String> =
            [answers.genre.clone(), Some(answers.subject.join(", ")), answers.query.clone()]
                .into_iter()
                .flatten()
                .filter(|s| !s.is_empty())
                .collect();
        answers.name = if parts.is_empty() { "My topic".into() } else { parts.join(": ") };
    }
}

fn config(answers: &Answers, args: &Args) -> Result<Config, Problem> {
    let mut flags = toml::Table::new();
    args.fetch.lay(&mut flags);
    Ok(Config::load(&render(answers), "the new topic file", flags)?.config)
}

fn write(args: &Args, answers: &Answers, text: &str) -> Result<ExitCode, Problem> {
    if args.output.as_ref().is_some_and(|p| p.as_os_str() == "-") {
        print!("{text}");
        return Ok(ExitCode::SUCCESS);
    }
    let path = args
        .output
        .clone()
        .unwrap_or_else(|| PathBuf::from(format!("{}.toml", crate::text::slug(&answers.name))));
    if path.exists() && !args.force {
        return Err(Problem::usage(format!("{} exists already", path.display()))
            .hint("choose another name with -o, or --force to replace it"));
    }
    std::fs::write(&path, text).map_err(|e| Problem::io("write", &path, &e))?;
    let path = path.display();
    eprintln!("wrote {path}");
    eprintln!("try it on a page:  gleaner judge {path} URL");
    if answers.seeds.is_empty() {
        eprintln!(
            "find seeds:        gleaner seeds {path} --engine searxng:http://localhost:8888 --into {path}"
        );
    }
    let seed = if answers.seeds.is_empty() { " --seed URL" } else { "" };
    eprintln!("crawl:             gleaner crawl {path}{seed} --pages 500 --contact you@example.org");
    Ok(ExitCode::SUCCESS)
}

/// What the example pages say.
struct ExampleTerms {
    terms: Vec<Suggestion>,
    /// Words of their addresses.
    url: Vec<Suggestion>,
    examples: Vec<Doc>,
    background: Vec<Doc>,
}

/// What came of the look at the examples; or whoever was asked wants to go back.
enum ExamplesOrBack {
    At(Option<ExampleTerms>),
    Back,
}

/// Terms of the example pages that the answers do not have; nothing when there are no examples or no terms
/// are wanted. `talk`: somebody will choose among them.
fn suggest(answers: &Answers, args: &Args, talk: Option<&mut Talk>) -> Result<ExamplesOrBack, Problem> {
    let picked = talk.is_some();
    let most = args.terms.unwrap_or(if picked { SHOWN } else { TAKEN });
    if answers.examples.is_empty() || most == 0 {
        return Ok(ExamplesOrBack::At(None));
    }
    let config = config(answers, args)?;
    let source = Pages::open(&args.from, &config)?;
    let reader = Readers::new(&source);
    let mut failed = 0;
    let examples = reader.docs(&answers.examples, &mut failed);
    if examples.is_empty() {
        return Err(
            Problem::nothing("no example page could be read").hint("check the addresses of the examples")
        );
    }
    let mut background = reader.background(&args.background, &answers.examples, &[], &mut failed)?;
    let addresses: Vec<String> =
        answers.seeds.iter().chain(&answers.examples).filter(|n| n.contains("://")).cloned().collect();
    if background.is_empty()
        && !addresses.is_empty()
        && let Some(talk) = talk
    {
        let help = format!(
            "{BACKGROUND} pages around your seeds and examples tell what is special about the examples"
        );
        match talk.offer("There are no pages to compare with. Fetch some?", &help)? {
            Reply::Back => return Ok(ExamplesOrBack::Back),
            Reply::Yes => background = around(answers, args, &addresses, talk),
            _ => {}
        }
    }
    let rank = if background.is_empty() { Rank::Frequency } else { Rank::LogOdds };
    // What the examples say most often is what every page says: it hides the subject. Nobody looks at it, so
    // none is taken.
    let about = !answers.subject.is_empty() || answers.query.is_some();
    let unseen = rank == Rank::Frequency && !picked && args.terms.is_none();
    let most = if unseen && about { 0 } else { most };
    let options = Options { rank, genre: 0, content: most, tidy: true, sure: !picked, ..Options::default() };
    let found = generate(
        &[],
        &examples.iter().collect::<Vec<_>>(),
        &background.iter().collect::<Vec<_>>(),
        Known { subject: &answers.subject, terms: &known(&config) },
        &options,
    );
    let terms = match picked {
        true => offered(found.content, &answers.subject, &known(&config), &examples),
        false => found.content,
    };
    Ok(ExamplesOrBack::At(Some(ExampleTerms { terms, url: found.url, examples, background })))
}

/// A few dozen pages around the seeds and examples. That there are none is no failure.
fn around(answers: &Answers, args: &Args, from: &[String], talk: &mut Talk) -> Vec<Doc> {
    let mut flags = toml::Table::new();
    args.fetch.lay(&mut flags);
    // In order of discovery: what is near, whatever it is about.
    setup::set(&mut flags, "strategy", "kind", "breadth-first");
    let topic = render(&Answers {
        examples: Vec::new(),
        teacher: None,
        name: "background".into(),
        ..answers.clone()
    });
    let topic = match Config::load(&topic, "the new topic", toml::Table::new()).and_then(|l| l.config.topic())
    {
        Ok(_) => topic,
        // Nothing but examples was said.
        Err(_) => "name = \"background\"\nquery = \"page\"\n".into(),
    };
    let trial = match Trial::crawl(&topic, flags, from, BACKGROUND) {
        Ok(trial) => trial,
        Err(problem) => {
            talk.say(&format!("no pages to compare with: {problem}"));
            return Vec::new();
        }
    };
    let text = focus::text::TextOptions::default();
    let pages = trial.pages().into_iter().filter(|r| !answers.examples.contains(&r.url));
    let docs: Vec<Doc> = pages.map(|r| Doc::new(crawl::stored::kept_page(&r), &text)).collect();
    talk.say(&format!("{} pages to compare with", docs.len()));
    docs
}

/// What a person would tick: no words of the kind of page, no single words inside a phrase that is there, no
/// numbers, no names.
fn offered(all: Vec<Suggestion>, subject: &[String], known: &[String], examples: &[Doc]) -> Vec<Suggestion> {
    let lower = |t: &str| t.to_lowercase();
    let taken: Vec<String> = subject.iter().chain(known).map(|t| lower(t)).collect();
    let phrases: Vec<String> = all.iter().map(|s| lower(&s.term)).chain(taken.iter().cloned()).collect();
    let inside = |word: &str| phrases.iter().any(|p| p.contains(' ') && p.split(' ').any(|w| w == word));
    all.into_iter()
        .filter(|s| {
            let term = lower(&s.term);
            let single = !term.contains(' ');
            let of_kind = taken.contains(&term) || (single && taken.iter().any(|t| is_form(&term, t)));
            let number = term.chars().any(|c| c.is_ascii_digit()) && !term.chars().any(char::is_alphabetic);
            let part = single && inside(&term);
            !(of_kind || number || part || is_name(&s.term, s.pages as usize, examples))
        })
        .collect()
}

/// Singular and plural of one word.
fn is_form(a: &str, b: &str) -> bool {
    a == b || a.strip_suffix('s') == Some(b) || b.strip_suffix('s') == Some(a)
}

/// The name of somebody or something: every word of it begins with a capital wherever it stands in a
/// sentence, and no more than one example in three has it. (What most of them share is what they are about,
/// whatever its spelling.)
fn is_name(term: &str, pages: usize, examples: &[Doc]) -> bool {
    if examples.len() > 1 && 3 * pages > examples.len() {
        return false;
    }
    let words: Vec<String> = term.to_lowercase().split(' ').map(str::to_string).collect();
    let (mut capital, mut small) = (0, 0);
    for doc in examples {
        let text: Vec<&str> = doc
            .page
            .text
            .split(|c: char| !c.is_alphanumeric() && c != '\'' && c != '-')
            .filter(|w| !w.is_empty())
            .collect();
        for window in text.windows(words.len()) {
            if window.iter().zip(&words).all(|(w, word)| w.to_lowercase() == *word) {
                // All capitals are an abbreviation or a heading, and say nothing.
                let is_shout = |w: &&str| w.chars().count() > 1 && w.chars().all(|c| !c.is_lowercase());
                let begins = |w: &&str| w.chars().next().is_some_and(char::is_uppercase);
                match () {
                    () if window.iter().all(is_shout) => small += 1,
                    () if window.iter().all(begins) => capital += 1,
                    () => small += 1,
                }
            }
        }
    }
    capital > 0 && small == 0
}

/// Fewer pages say nothing about weights.
const LEAST_EXAMPLES: usize = 3;
const LEAST_BACKGROUND: usize = 50;

/// How much kind and subject should count. A genre that the examples share with every other page
/// (documentation among documentation) tells nothing apart: it counts as much as it ranks the examples above
/// the others, from nothing at chance to the usual half at nine pairs in ten. `None`: the usual weights.
fn weights(config: &Config, examples: &[Doc], background: &[Doc]) -> Result<Option<(u32, u32)>, Problem> {
    let topic = config.topic()?;
    let both =
        !topic.genre.is_empty() && !topic.content.is_empty() && topic.judge.kind == focus::judges::DEFAULT;
    if !both || examples.len() < LEAST_EXAMPLES || background.len() < LEAST_BACKGROUND {
        return Ok(None);
    }
    let judge = focus::judges::build(&JudgeSetup::new(&topic))?;
    let genre = |docs: &[Doc]| -> Vec<f64> {
        docs.iter().map(|d| judge.assess(d).part("genre").unwrap_or(0.0)).collect()
    };
    let genre = share_below(&genre(examples), &genre(background));
    let genre = (10.0 * (genre - 0.5) / 0.8).clamp(0.0, 5.0).round() as u32;
    Ok((genre < 5).then_some((genre, 10 - genre)))
}

/// The share of pairs in which the first is higher; equal ones count half.
fn share_below(high: &[f64], low: &[f64]) -> f64 {
    let pairs = (high.len() * low.len()).max(1) as f64;
    let wins = |h: &f64| -> f64 {
        low.iter()
            .map(|l| {
                if h > l {
                    1.0
                } else if h == l {
                    0.5
                } else {
                    0.0
                }
            })
            .sum()
    };
    high.iter().map(wins).sum::<f64>() / pairs
}

fn render(a: &Answers) -> String {
    let quoted = |s: &str| toml::Value::String(s.to_string()).to_string();
    let list = |items: &[String]| items.iter().map(|s| quoted(s)).collect::<Vec<_>>().join(", ");
    let mut t = format!(
        "# A topic for `gleaner crawl`. Everything after a # is a comment.\nname = {}\n",
        quoted(&a.name)
    );
    if !a.description.is_empty() {
        t += &format!("# What is wanted, in a sentence.\ndescription = {}\n", quoted(&a.description));
    }
    if let Some(query) = &a.query {
        t += &format!("# Words and \"phrases\" a wanted page contains.\nquery = {}\n", quoted(query));
    }
    t += "\n[genre]                      # what kind of page\n";
    match &a.genre {
        Some(g) => {
            t += &format!("preset = {}          # a built-in list: `gleaner genres` shows them\n", quoted(g))
        }
        None => t += "# preset = \"syllabus\"        # a built-in list: `gleaner genres` shows them\n",
    }
    t += "terms = []                   # your own terms, e.g. \"office hours\"\n";
    t += &format!("\n[content]                    # what it is about\nterms = [{}]\n", list(&a.subject));
    t += &format!(
        "\n[url]                        # words in the addresses of wanted pages\nterms = [{}]\n",
        list(&a.url)
    );
    t += &format!(
        "\n[exclude]                    # contexts that are not meant; such pages are dropped\n\
         terms = [{}]\n",
        list(&a.exclude)
    );
    if !a.not.is_empty() {
        t += &format!(
            "# Not wanted, but wanted pages may have these words, too: {}\n",
            comment(&a.not.join(", "))
        );
    }
    t += &format!(
        "\n[examples]                   # pages (URLs or files) that show what you mean\nrelevant = [{}]\n",
        list(&a.examples)
    );
    if !a.unlike.is_empty() {
        t += &format!("irrelevant = [{}]\n", list(&a.unlike));
    }
    t += "\n[judge]\n";
    match &a.judge {
        Some(j) => t += &format!("kind = {}               # see `gleaner judges`\n", quoted(j)),
        None => t += "# kind = \"relevance\"         # see `gleaner judges`\n",
    }
    t += "threshold = \"auto\"           # or a number from 0 to 1\n";
    if let Some((genre, content)) = a.weights {
        t += "# Kind and subject count 5 and 5 unless said otherwise; your examples differ from other pages \
              more by subject.\n";
        t += &format!("weights = {{ genre = {genre}, content = {content} }}\n");
    }
    t += "\n[strategy]\n";
    match &a.strategy {
        Some(s) => t += &format!("kind = {}            # see `gleaner strategies`\n", quoted(s)),
        None => t += "# kind = \"adaptive\"          # see `gleaner strategies`\n",
    }
    t += &format!("\n[seeds]                      # where to start\nurls = [{}]\n", list(&a.seeds));
    for query in &a.queries {
        t += &format!("# search: {}\n", comment(query));
    }
    t += "\n[scope]                      # where it may go; empty = everywhere\n# domains = [\"edu\"]\n\
          # hosts = { deny = [\"ads.example.com\"] }\n# languages = [\"en\"]\n";
    t += "\n[limits]\npages = 1000                 # stop after so many pages\n# relevant = 200\n\
          # time = \"2h\"\n";
    if let Some((url, model)) = &a.teacher {
        t += "\n[teacher]                    # a language model that is asked about pages; its key: \
              GLEANER_TEACHER_KEY\n";
        t += &format!("url = {}\nmodel = {}\n", quoted(url), quoted(model));
    }
    t += "\n[fetch]\n# contact = \"you@example.org\" # needed on the public web: where site owners can \
          reach you\ndelay = \"1s\"                 # pause per host\n";
    t
}

/// Text that may stand behind a `#`.
fn comment(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_can_be_read() {
        let a = Answers {
            name: "A \"quoted\" name".into(),
            subject: vec!["sql".into(), "b-tree \\ index".into()],
            genre: Some("syllabus".into()),
            seeds: vec!["https://e.org/".into()],
            url: vec!["courses".into()],
            weights: Some((2, 8)),
            description: "what \"I\" want".into(),
            exclude: vec!["video tutorial".into()],
            not: vec!["tutorial\n[fetch]".into()],
            queries: vec!["a\n[limits]".into()],
            unlike: vec!["https://e.org/no".into()],
            teacher: Some(("http://localhost:1/v1".into(), "m".into())),
            ..Answers::default()
        };
        let l = crawl::Config::load(&render(&a), "t", toml::Table::new()).unwrap();
        assert_eq!(l.config.name.as_deref(), Some("A \"quoted\" name"));
        assert_eq!(l.config.content.terms[1], "b-tree \\ index");
        assert_eq!(l.config.seeds.urls, ["https://e.org/"]);
        let topic = l.config.topic().unwrap();
        assert_eq!((topic.judge.weights.genre, topic.judge.weights.content), (2.0, 8.0));
        assert_eq!(topic.url.own, ["courses"]);
        assert_eq!(
            (topic.description.as_deref(), topic.exclude.as_slice()),
            (Some("what \"I\" want"), &["video tutorial".to_string()][..])
        );
        assert_eq!(l.config.examples.irrelevant, ["https://e.org/no"]);
        assert_eq!(l.config.teacher.model.as_deref(), Some("m"));
    }

    #[test]
    fn what_a_person_would_not_tick_is_not_offered() {
        let doc = |text: &str| {
            let page = types::Page { text: text.into(), ..types::Page::default() };
            Doc::new(std::sync::Arc::new(page), &focus::text::TextOptions::default())
        };
        let docs = [
            doc("Taught by Ada Lovelace. We study query optimization and Prolog in 1995."),
            doc("We study query optimization, says Prolog Smith. SQL and transactions."),
            doc("About transactions and query optimization in SQL; lectures on Monday; Prolog."),
        ];
        let all = [
            "query optimization",
            "query",
            "lovelace",
            "ada lovelace",
            "1995",
            "prolog",
            "sql",
            "transactions",
            "lectures",
            "smith",
        ];
        let pages = [3, 3, 1, 1, 1, 3, 2, 2, 1, 1];
        let all = all
            .iter()
            .zip(pages)
            .map(|(t, pages)| Suggestion { term: t.to_string(), count: pages, pages, score: 1.0 })
            .collect();
        let left = offered(all, &["relational model".into()], &["lecture".into(), "course".into()], &docs);
        let left: Vec<&str> = left.iter().map(|s| s.term.as_str()).collect();
        assert_eq!(left, ["query optimization", "prolog", "sql", "transactions"]);
    }

    #[test]
    fn shares_of_pairs() {
        assert_eq!(share_below(&[0.9, 0.1], &[0.5, 0.1]), 2.5 / 4.0);
        assert_eq!(share_below(&[], &[0.5]), 0.0);
        assert_eq!(share_below(&[0.2], &[0.2, 0.2]), 0.5);
    }
}
