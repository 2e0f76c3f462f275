//! `gleaner new`: writes a commented topic file, from flags or in a conversation.

use super::guide::{self, Talk};
use super::pages::{From, Pages};
use super::setup::{self, FetchFlags, TopicFlags};
use super::terms::{self, Readers, known, with_preset_words};
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
  gleaner new --subject \"sql, relational model\" --genre syllabus -o db.toml
  gleaner new --genre syllabus --examples good1.html good2.html --background other/   terms from example pages
  gleaner new --subject \"operating systems\" --genre syllabus --engine searxng:http://localhost:8888 -o os.toml";

#[derive(ClapArgs, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
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
    from: From,
    #[command(flatten)]
    fetch: FetchFlags,
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
    pub url: Vec<String>,
    /// Of genre and content, when the usual ones do not fit the examples.
    pub weights: Option<(u32, u32)>,
    pub judge: Option<String>,
    pub strategy: Option<String>,
}

/// Seeds taken from a search engine.
const SEEDS: usize = 20;

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
        url: Vec::new(),
        weights: None,
        judge: args.topic.judge.clone(),
        strategy: args.topic.strategy.clone(),
    };
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
        let talk = talk.insert(Talk::new());
        guide::ask(&mut answers, talk)?;
    }
    if answers.name.is_empty() {
        let parts: Vec<String> =
            [answers.genre.clone(), Some(answers.subject.join(", ")), answers.query.clone()]
                .into_iter()
                .flatten()
                .filter(|s| !s.is_empty())
                .collect();
        answers.name = if parts.is_empty() { "My topic".into() } else { parts.join(": ") };
    }
    let suggested = match suggest(&answers, &args, talk.is_some()) {
        // A conversation is not lost because of an address with a mistake.
        Err(problem)
            if talk.is_some()
                && config(&Answers { examples: Vec::new(), ..answers.clone() }, &args)?.topic().is_ok() =>
        {
            eprintln!("{problem}\n{} the topic is made without them", style("note:").cyan().for_stderr());
            answers.examples.clear();
            None
        }
        other => other?,
    };
    if let Some(Suggested { mut terms, url, examples, background }) = suggested {
        if background.is_empty() {
            let how =
                if terms.is_empty() { "no terms taken from the examples" } else { "terms by frequency" };
            eprintln!(
                "{} {how}, for want of pages to compare with; --background, --collection or --web name some",
                style("note:").cyan().for_stderr()
            );
        }
        if let Some(talk) = &mut talk {
            let shown: Vec<String> = terms.iter().map(terms::line).collect();
            let chosen = talk.pick("terms of your example pages", &shown)?;
            terms = chosen.into_iter().filter_map(|i| terms.get(i).cloned()).collect();
        }
        answers.subject.extend(terms.into_iter().map(|s| s.term));
        let words = url.into_iter().map(|s| s.term).collect();
        answers.url = with_preset_words(&config(&answers, &args)?, words);
        answers.weights = weights(&config(&answers, &args)?, &examples, &background)?;
    }
    if let Some(engine) = &answers.engine {
        let found = super::seeds::usual(engine, &config(&answers, &args)?, SEEDS);
        let mut found = match (found, &talk) {
            (Ok(found), _) => found,
            // A conversation is not lost because an engine is down.
            (Err(problem), Some(_)) => {
                eprintln!("{problem}\n");
                Vec::new()
            }
            (Err(problem), None) => return Err(problem),
        };
        if let Some(talk) = &mut talk {
            let shown: Vec<String> = found.iter().map(|(url, title)| format!("{url}  {title}")).collect();
            let chosen = talk.pick("pages to start from", &shown)?;
            found = chosen.into_iter().filter_map(|i| found.get(i).cloned()).collect();
        }
        answers.seeds.extend(found.into_iter().map(|(url, _)| url));
    }
    let text = render(&answers);
    // What we write must be what we read.
    let config = config(&answers, &args)?;
    config.topic()?;
    if talk.is_some() {
        let names: Vec<String> =
            answers.examples.iter().chain(answers.seeds.iter().take(10)).cloned().collect();
        guide::try_out(&config, &Pages::open(&args.from, &config)?, &names);
    }
    write(&args, &answers, &text)
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
    let path =
        args.output.clone().unwrap_or_else(|| PathBuf::from(format!("{}.toml", setup::slug(&answers.name))));
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
struct Suggested {
    terms: Vec<Suggestion>,
    /// Words of their addresses.
    url: Vec<Suggestion>,
    examples: Vec<Doc>,
    background: Vec<Doc>,
}

/// Terms of the example pages that the answers do not have; `None` when there are no examples or no terms are wanted.
/// `picked`: somebody will choose among them.
fn suggest(answers: &Answers, args: &Args, picked: bool) -> Result<Option<Suggested>, Problem> {
    let most = args.terms.unwrap_or(if picked { SHOWN } else { TAKEN });
    if answers.examples.is_empty() || most == 0 {
        return Ok(None);
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
    let background = reader.background(&args.background, &answers.examples, &[], &mut failed)?;
    let rank = if background.is_empty() { Rank::Frequency } else { Rank::LogOdds };
    // What the examples say most often is what every page says: it hides the subject. Nobody looks at it, so none is taken.
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
    Ok(Some(Suggested { terms: found.content, url: found.url, examples, background }))
}

/// Fewer pages say nothing about weights.
const LEAST_EXAMPLES: usize = 3;
const LEAST_BACKGROUND: usize = 50;

/// How much kind and subject should count. A genre that the examples share with every other page (documentation among
/// documentation) tells nothing apart: it counts as much as it ranks the examples above the others, from nothing at
/// chance to the usual half at nine pairs in ten. `None`: the usual weights.
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
    t += "\n[exclude]                    # contexts that are not meant; such pages are dropped\nterms = []\n";
    t += &format!(
        "\n[examples]                   # pages (URLs or files) that show what you mean\nrelevant = [{}]\n",
        list(&a.examples)
    );
    t += "\n[judge]\n";
    match &a.judge {
        Some(j) => t += &format!("kind = {}               # see `gleaner judges`\n", quoted(j)),
        None => t += "# kind = \"relevance\"         # see `gleaner judges`\n",
    }
    t += "threshold = \"auto\"           # or a number from 0 to 1\n";
    if let Some((genre, content)) = a.weights {
        t += "# Kind and subject count 5 and 5 unless said otherwise; your examples differ from other pages more by subject.\n";
        t += &format!("weights = {{ genre = {genre}, content = {content} }}\n");
    }
    t += "\n[strategy]\n";
    match &a.strategy {
        Some(s) => t += &format!("kind = {}            # see `gleaner strategies`\n", quoted(s)),
        None => t += "# kind = \"adaptive\"          # see `gleaner strategies`\n",
    }
    t += &format!("\n[seeds]                      # where to start\nurls = [{}]\n", list(&a.seeds));
    t += "\n[scope]                      # where it may go; empty = everywhere\n# domains = [\"edu\"]\n# hosts = { deny = [\"ads.example.com\"] }\n# languages = [\"en\"]\n";
    t += "\n[limits]\npages = 1000                 # stop after so many pages\n# relevant = 200\n# time = \"2h\"\n";
    t += "\n[fetch]\n# contact = \"you@example.org\" # needed on the public web: where site owners can reach you\ndelay = \"1s\"                 # pause per host\n";
    t
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
            ..Answers::default()
        };
        let l = crawl::Config::load(&render(&a), "t", toml::Table::new()).unwrap();
        assert_eq!(l.config.name.as_deref(), Some("A \"quoted\" name"));
        assert_eq!(l.config.content.terms[1], "b-tree \\ index");
        assert_eq!(l.config.seeds.urls, ["https://e.org/"]);
        let topic = l.config.topic().unwrap();
        assert_eq!((topic.judge.weights.genre, topic.judge.weights.content), (2.0, 8.0));
        assert_eq!(topic.url.own, ["courses"]);
    }

    #[test]
    fn shares_of_pairs() {
        assert_eq!(share_below(&[0.9, 0.1], &[0.5, 0.1]), 2.5 / 4.0);
        assert_eq!(share_below(&[], &[0.5]), 0.0);
        assert_eq!(share_below(&[0.2], &[0.2, 0.2]), 0.5);
    }
}
