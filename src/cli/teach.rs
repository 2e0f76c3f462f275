//! `gleaner teach DIR`: a language model is asked about pages of a collection that nobody is crawling.

use super::setup::{self, TeacherFlags, set};
use crate::text::{strip_controls, things};
use clap::Args as ClapArgs;
use console::style;
use crawl::collection::Collection;
use crawl::reader::Reader;
use crawl::teacher::{AskResult, KEY, Lesson, Usage};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;
use types::Problem;

const EXAMPLES: &str = "\
Examples:
  gleaner teach db --show                     what would be sent now; nothing is sent
  gleaner teach db --questions 20             by the [teacher] of the collection's topic
  gleaner teach db --teacher-url http://localhost:11434/v1 --teacher-model qwen3:8b
  gleaner teach db --forget                   takes back what a model said, so that another can be asked

The key, if the server wants one, is taken from GLEANER_TEACHER_KEY in the environment and from nowhere else. The model is asked
about the pages that a person would be asked about; its answers are labels marked as the model's (`gleaner label DIR` lists them),
and a person's label always counts more. Answers and the budget ([teacher] calls, tokens) are kept with the collection.";

#[derive(ClapArgs, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Collection folder
    dir: PathBuf,
    /// Most pages to ask about (default: until the budget is used up)
    #[arg(long, value_name = "N")]
    questions: Option<usize>,
    /// Print the next request and send nothing
    #[arg(long, conflicts_with_all = ["forget", "questions"])]
    show: bool,
    /// Take back everything that a model said of the pages
    #[arg(long, conflicts_with = "questions")]
    forget: bool,
    #[command(flatten)]
    teacher: TeacherFlags,
    /// Seed of all chance
    #[arg(long, value_name = "N", default_value_t = 0)]
    rng: u64,
    /// One JSON object per batch
    #[arg(long)]
    json: bool,
}

/// Between two looks whether an answer came.
const LOOK: Duration = Duration::from_millis(500);

pub fn run(args: Args) -> Result<ExitCode, Problem> {
    // First, because it says best what is wrong with the folder.
    let reader = Reader::open(&args.dir)?;
    if reader.is_running() {
        return Err(Problem::new(format!("a crawl is running in {}", args.dir.display()))
            .hint("it asks the teacher of its topic itself; stop it first to ask here"));
    }
    drop(reader);
    let mut flags = toml::Table::new();
    args.teacher.lay(&mut flags);
    // Nothing is fetched: nobody needs to be reached.
    set(&mut flags, "fetch", "contact", "https://localhost/");
    let mut loaded = setup::load(Some(&Collection::topic_file(&args.dir)), flags)?;
    if loaded.config.teacher.url.is_none() {
        if !args.forget {
            return Err(Problem::usage("no teacher is named").hint(format!(
                "put [teacher] url and model into {}, or say --teacher-url and --teacher-model",
                Collection::topic_file(&args.dir).display()
            )));
        }
        // To forget, nobody is asked.
        (loaded.config.teacher.url, loaded.config.teacher.model) =
            (Some("http://localhost/v1".into()), Some("none".into()));
    }
    let mut open = Collection::open(&args.dir, &loaded, &[], args.rng)?;
    let crawl = &mut open.crawl;
    if args.forget {
        let n = crawl.forget_teacher()?;
        crawl.finish_corrections()?;
        eprintln!("{} of a model taken back", things(n as u64, "label"));
        return written(&args);
    }
    if args.show {
        match crawl.preview_teacher()? {
            Some(prompt) => println!(
                "{}\n{}\n\n{}\n{}",
                style("system").bold(),
                strip(&prompt.system),
                style("user").bold(),
                strip(&prompt.user)
            ),
            None => eprintln!("nothing would be sent: no page is left to ask about"),
        }
        eprintln!("nothing was sent");
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(t) = crawl.teaching()
        && !args.json
    {
        eprintln!("{} {}", style("teacher:").cyan().for_stderr(), t.announcement());
    }
    let most = args.questions.unwrap_or(usize::MAX);
    let (mut asked, mut failed) = (0, None);
    while asked < most {
        match crawl.ask_teacher()? {
            AskResult::Pages(_) => {}
            AskResult::Known(lesson) => {
                show(&args, &lesson, None);
                continue;
            }
            AskResult::Nothing | AskResult::Waiting => {
                eprintln!("no page is left to ask about");
                break;
            }
            AskResult::Spent => {
                eprintln!("the budget is used up ([teacher] calls, tokens)");
                break;
            }
            AskResult::Trouble(why) => {
                failed = Some(why);
                break;
            }
        }
        let lesson = loop {
            if let Some(lesson) = crawl.take_lesson(LOOK)? {
                break lesson;
            }
        };
        if let Some(why) = &lesson.failed {
            // It was tried several times, with pauses.
            failed = Some(why.clone());
            break;
        }
        asked += lesson.questions.max(1);
        show(&args, &lesson, crawl.teaching().map(|t| t.usage()).as_ref());
    }
    crawl.finish_corrections()?;
    if let Some(why) = failed {
        drop(open);
        written(&args)?;
        let problem = Problem::new("the teacher gives no answer").because(strip_controls(&why));
        return Err(problem.hint(format!(
            "what it said so far is kept; check [teacher] url and model, and the key in {KEY}"
        )));
    }
    drop(open);
    written(&args)
}

/// The report follows.
fn written(args: &Args) -> Result<ExitCode, Problem> {
    crate::report::write(&args.dir)?;
    Ok(ExitCode::SUCCESS)
}

fn show(args: &Args, l: &Lesson, usage: Option<&Usage>) {
    if args.json {
        let line = serde_json::json!({
            "questions": l.questions, "yes": l.yes, "no": l.no, "unsure": l.unsure, "text": l.text, "teacher": usage,
        });
        println!("{line}");
        return;
    }
    let spent = usage.map_or("known before".to_string(), crate::text::spent);
    let what = if l.text.is_empty() { "nothing learnt" } else { &l.text };
    println!("{} yes, {} no, {} unsure; {what} ({spent})", l.yes, l.no, l.unsure);
}

/// Line by line, because line ends are wanted here.
fn strip(text: &str) -> String {
    text.lines().map(strip_controls).collect::<Vec<_>>().join("\n")
}
