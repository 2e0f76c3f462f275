//! `gleaner new`: writes a commented topic file, from flags or from a short conversation.

use super::setup::{self, TopicFlags};
use clap::Args as ClapArgs;
use std::io::{BufRead, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use types::Problem;

#[derive(ClapArgs, Debug)]
#[command(
    after_help = "Examples:\n  gleaner new                                   asks a few questions\n  gleaner new --subject \"sql, relational model\" --genre syllabus -o db.toml"
)]
pub struct Args {
    #[command(flatten)]
    topic: TopicFlags,
    /// What the collection is called
    #[arg(long)]
    name: Option<String>,
    /// Where to start (may be repeated)
    #[arg(long, value_name = "URL")]
    seed: Vec<String>,
    /// Pages that are like what you want (URLs or files; may be repeated)
    #[arg(long, value_name = "URL|FILE")]
    example: Vec<String>,
    /// File to write (default: named after the topic; `-` for standard output)
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace the file if it exists
    #[arg(long)]
    force: bool,
}

/// What goes into a topic file.
#[derive(Default)]
struct Answers {
    name: String,
    subject: Vec<String>,
    genre: Option<String>,
    query: Option<String>,
    seeds: Vec<String>,
    examples: Vec<String>,
    judge: Option<String>,
    strategy: Option<String>,
}

pub fn run(args: Args) -> Result<ExitCode, Problem> {
    let split =
        |s: &str| s.split(',').map(|t| t.trim().to_string()).filter(|t| !t.is_empty()).collect::<Vec<_>>();
    let mut answers = Answers {
        name: args.name.clone().unwrap_or_default(),
        subject: args.topic.subject.as_deref().map(split).unwrap_or_default(),
        genre: args.topic.genre.clone(),
        query: args.topic.query.clone(),
        seeds: args.seed.clone(),
        examples: args.example.clone(),
        judge: args.topic.judge.clone(),
        strategy: args.topic.strategy.clone(),
    };
    let silent = !answers.subject.is_empty()
        || answers.genre.is_some()
        || answers.query.is_some()
        || !answers.examples.is_empty();
    if !silent {
        if !std::io::stdin().is_terminal() {
            return Err(Problem::usage("there is nobody to ask (standard input is not a terminal)")
                .hint("say it with flags: gleaner new --subject \"a, b\" --genre syllabus"));
        }
        ask(&mut answers)?;
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
    let text = render(&answers);
    // What we write must be what we read.
    crawl::Config::load(&text, "the new topic file", toml::Table::new())?.config.topic()?;
    match args.output {
        Some(path) if path.as_os_str() == "-" => print!("{text}"),
        other => {
            let path = other.unwrap_or_else(|| PathBuf::from(format!("{}.toml", setup::slug(&answers.name))));
            if path.exists() && !args.force {
                return Err(Problem::usage(format!("{} exists already", path.display()))
                    .hint("choose another name with -o, or --force to replace it"));
            }
            std::fs::write(&path, text).map_err(|e| Problem::io("write", &path, &e))?;
            eprintln!("wrote {}", path.display());
            eprintln!("try it on a page:  gleaner judge {} URL", path.display());
            eprintln!(
                "crawl:             gleaner crawl {} --seed URL --pages 500 --contact you@example.org",
                path.display()
            );
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn ask(a: &mut Answers) -> Result<(), Problem> {
    let question = |text: &str, help: &str| -> Result<String, Problem> {
        eprintln!("{}\n  {}", console::style(text).bold(), console::style(help).dim());
        eprint!("> ");
        let _ = std::io::stderr().flush();
        let mut line = String::new();
        let n = std::io::stdin()
            .lock()
            .read_line(&mut line)
            .map_err(|e| Problem::new("cannot read your answer").because(e))?;
        if n == 0 {
            return Err(Problem::usage("no answer").hint("nothing was written"));
        }
        Ok(line.trim().to_string())
    };
    let list =
        |s: String| s.split(',').map(|t| t.trim().to_string()).filter(|t| !t.is_empty()).collect::<Vec<_>>();
    a.subject = list(question(
        "What are the pages about?",
        "words and phrases, separated by commas, e.g. relational model, sql, query optimization",
    )?);
    let genres: Vec<&str> = focus::topic::presets::all().iter().map(|p| p.name).collect();
    loop {
        let genre =
            question("What kind of page?", &format!("one of {}; empty for any kind", genres.join(", ")))?;
        if genre.is_empty() {
            break;
        }
        match focus::topic::presets::find_all(std::slice::from_ref(&genre)) {
            Ok(_) => {
                a.genre = Some(genre);
                break;
            }
            Err(problem) => eprintln!("{problem}"),
        }
    }
    if a.subject.is_empty() && a.genre.is_none() {
        return Err(Problem::usage("a topic needs a subject or a kind of page")
            .hint("nothing was written; run `gleaner new` again"));
    }
    a.seeds = list(question(
        "Where to start?",
        "URLs, separated by commas; pages that list or link to what you want are best",
    )?);
    a.name = question("What shall the collection be called?", "empty: made from your answers")?;
    Ok(())
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
    t += "\n[url]                        # words in the addresses of wanted pages\nterms = []\n";
    t += "\n[exclude]                    # contexts that are not meant; such pages are dropped\nterms = []\n";
    t += &format!(
        "\n[examples]                   # pages (URLs or files) that show what you mean\nrelevant = [{}]\n",
        list(&a.examples)
    );
    t += "\n[judge]\n";
    match &a.judge {
        Some(j) => t += &format!("kind = {}               # see `gleaner judges`\n", quoted(j)),
        None => t += "# kind = \"genre\"             # see `gleaner judges`\n",
    }
    t += "threshold = \"auto\"           # or a number from 0 to 1\n";
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
            ..Answers::default()
        };
        let l = crawl::Config::load(&render(&a), "t", toml::Table::new()).unwrap();
        assert_eq!(l.config.name.as_deref(), Some("A \"quoted\" name"));
        assert_eq!(l.config.content.terms[1], "b-tree \\ index");
        assert_eq!(l.config.seeds.urls, ["https://e.org/"]);
        assert!(l.config.topic().is_ok());
    }
}
