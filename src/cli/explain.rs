//! `gleaner explain DIR URL`: why was this page fetched, and how was it judged?

use super::judge::explain_verdict;
use crate::text::{shorten, strip_controls, things};
use clap::Args as ClapArgs;
use console::style;
use crawl::reader::Reader;
use crawl::rendering::Attempt;
use crawl::steer::stopped::{self, PageReasons};
use focus::judges::WordReason;
use std::path::Path;
use std::process::ExitCode;
use types::{Canon, Part, Priority, Problem, UrlId, Who};

#[derive(ClapArgs, Debug)]
#[command(
    after_help = "Examples:\n  gleaner explain db https://www.example.edu/courses/db101/\n  gleaner explain \
                  db https://www.example.edu/ --at 2026-11-01        as it was then"
)]
pub struct Args {
    /// Collection folder (with --store: the URL)
    dir: String,
    /// A URL that was seen, fetched or not
    #[arg(required_unless_present = "store")]
    url: Option<String>,
    #[command(flatten)]
    shared: super::setup::StoreArgs,
    #[command(flatten)]
    date: super::setup::DateArgs,
    /// Everything, as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: Args) -> Result<ExitCode, Problem> {
    let reader = args.date.view(super::setup::read_from(Some(Path::new(&args.dir)), &args.shared)?)?;
    let text = args.url.as_ref().filter(|_| args.shared.store.is_none()).unwrap_or(&args.dir);
    let url = Canon::default().parse_typed(text).map_err(|e| Problem::usage(format!("`{text}`: {e}")))?;
    let e = reader.explain(&url)?.ok_or_else(|| {
        Problem::nothing(format!("{url} was never seen by this crawl"))
            .hint("check the spelling; `gleaner search` and `gleaner export --all` list what was fetched")
    })?;
    if args.json {
        let mut e = serde_json::to_value(&e).map_err(|e| Problem::new("cannot write JSON").because(e))?;
        if let Some(id) = reader.ledger().find(&url)? {
            e["reasons"] = serde_json::to_value(reasons(&args, &reader, id)).unwrap_or_default();
        }
        let json =
            serde_json::to_string_pretty(&e).map_err(|e| Problem::new("cannot write JSON").because(e))?;
        println!("{json}");
        return Ok(super::setup::exit_code(&reader));
    }
    println!("{}", style(url.as_str()).bold());
    println!("  state     {}", e.state);
    println!("\n{}", style("how it was found").bold());
    for (i, step) in e.path.iter().enumerate() {
        let arrow = if i == 0 { "seed  " } else { "  ↳   " };
        let title = shorten(&strip_controls(&step.title), 60);
        println!("  {arrow}{}  {}", style(&step.url).cyan(), style(title).dim());
        if i > 0 && !step.anchor.is_empty() {
            println!("        by the link \"{}\"", strip_controls(&step.anchor));
        }
        if let Some(score) = step.score {
            println!("        judged {score:.3}");
        }
    }
    println!("\n{}", style("why it had its place in the queue").bold());
    println!("  priority  {} (strategy {})", show_priority(e.priority), e.strategy);
    for s in &e.sources {
        let anchor = match strip_controls(&s.anchor) {
            none if none.trim().is_empty() => String::new(),
            text => format!(" as \"{text}\""),
        };
        println!("  seen on   {}{anchor}, priority {}", s.parent, show_priority(s.priority));
        for r in &s.reasons {
            println!("            {} {:+.3}", r.label, r.value);
        }
    }
    if let Some(cause) = &e.rescored_by {
        println!("  re-scored because of {cause}");
    }
    match &e.record {
        Some(r) => {
            println!("\n{}", style("how it was judged").bold());
            let reasons = reasons(&args, &reader, r.id);
            let mut assessment = r.assessment.clone();
            if let Some(now) = &reasons {
                // Those that are kept are of the day the page came.
                let part = |(name, value): &(String, f64)| Part { name: name.clone(), value: *value };
                assessment.parts = now.reasons.parts.iter().map(part).collect();
            }
            explain_verdict(&assessment, r.verdict);
            reasons.iter().for_each(show_reasons);
            if let Some(label) = e.label {
                let by = if e.label_by == Some(Who::Model) { "the teacher's model" } else { "you" };
                println!("  labelled {} by {by}", if label { "relevant" } else { "not relevant" });
            }
            println!("\n{}", style("what was kept").bold());
            println!(
                "  status {}, {}, {}, language {}, {}",
                r.status,
                r.media_type,
                things(r.bytes, "byte"),
                r.language,
                things(r.links as u64, "link")
            );
            super::extract::about_lines(&r.about).for_each(|(name, value)| println!("  {name:<9} {value}"));
            if let Some(rendered) = &e.rendered {
                show_attempt(rendered);
            }
            if let Some(a) = &r.archive {
                println!("  archived in {} at {}", a.file, a.offset);
            }
            if r.noindex {
                println!("  asks not to be indexed (noindex): it is left out of searches and exports");
            }
            if let Some(url) = &e.duplicate_of {
                println!("  same content as {url}");
            }
            if let Some(url) = &e.near_duplicate_of {
                println!("  nearly the same text as {url}");
            }
        }
        None => println!("\nno page was kept: {}", e.state),
    }
    Ok(super::setup::exit_code(&reader))
}

/// What speaks for and against the page now, with all labels; nothing for judges that cannot tell.
fn reasons(args: &Args, reader: &Reader, id: UrlId) -> Option<PageReasons> {
    let dir = args.shared.store.is_none().then(|| Path::new(&args.dir));
    let answer = crate::labelling::examples(dir, reader.config());
    match stopped::reasons(reader, &answer, id) {
        Ok(found) => found,
        Err(problem) => {
            eprintln!(
                "{} why it was judged so cannot be told: {problem}",
                style("note:").cyan().for_stderr()
            );
            None
        }
    }
}

/// What a browser brought.
fn show_attempt(attempt: &Attempt) {
    let why = strip_controls(&attempt.why);
    match &attempt.failed {
        Some(failed) => println!("  not rendered, though {why}: {}", strip_controls(failed)),
        None => println!(
            "  rendered, because {why}: {} → {} words, {} → {} links, {} ms",
            attempt.words[0], attempt.words[1], attempt.links[0], attempt.links[1], attempt.ms
        ),
    }
}

fn show_reasons(r: &PageReasons) {
    let words = |list: &[WordReason]| {
        let shown = list.iter().map(|w| match w.field {
            "text" => format!("{} {:+.3}", strip_controls(&w.word), w.value),
            field => format!("{} ({field}) {:+.3}", strip_controls(&w.word), w.value),
        });
        shown.collect::<Vec<_>>().join(", ")
    };
    if !r.reasons.words_for.is_empty() {
        println!("  {}      {}", style("for").green(), words(&r.reasons.words_for));
    }
    if !r.reasons.words_against.is_empty() {
        println!("  {}  {}", style("against").yellow(), words(&r.reasons.words_against));
    }
    if let Some(like) = &r.reasons.like {
        let said = if like.label { "yes" } else { "no" };
        let alike = format!("{:.0} % of their words' weight in common", 100.0 * like.similarity);
        match (&r.like_url, &r.like_title) {
            (Some(url), title) => println!(
                "  like     {url} \"{}\" that you said {said} to ({alike})",
                shorten(&strip_controls(title.as_deref().unwrap_or("")), 60)
            ),
            (None, _) => println!("  like     an example of the topic, {said} ({alike})"),
        }
    }
}

fn show_priority(p: Priority) -> String {
    if p.lane == 0 { format!("{:.4}", p.key()) } else { format!("{:.4} in lane {}", p.key(), p.lane) }
}
