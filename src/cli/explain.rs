//! `gleaner explain DIR URL`: why was this page fetched, and how was it judged?

use super::judge::explain_verdict;
use super::text::{shorten, strip_controls};
use clap::Args as ClapArgs;
use console::style;
use crawl::labels::Who;
use std::path::Path;
use std::process::ExitCode;
use types::{Canon, Priority, Problem};

#[derive(ClapArgs, Debug)]
#[command(after_help = "Examples:\n  gleaner explain db https://www.example.edu/courses/db101/")]
pub struct Args {
    /// Collection folder (with --store: the URL)
    dir: String,
    /// A URL that was seen, fetched or not
    #[arg(required_unless_present = "store")]
    url: Option<String>,
    #[command(flatten)]
    shared: super::setup::StoreArgs,
    /// Everything, as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: Args) -> Result<ExitCode, Problem> {
    let reader = super::setup::read_from(Some(Path::new(&args.dir)), &args.shared)?;
    let text = args.url.as_ref().filter(|_| args.shared.store.is_none()).unwrap_or(&args.dir);
    let url = Canon::default().parse_typed(text).map_err(|e| Problem::usage(format!("`{text}`: {e}")))?;
    let e = reader.explain(&url)?.ok_or_else(|| {
        Problem::nothing(format!("{url} was never seen by this crawl"))
            .hint("check the spelling; `gleaner search` and `gleaner export --all` list what was fetched")
    })?;
    if args.json {
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
        println!(
            "  seen on   {} as \"{}\", priority {}",
            s.parent,
            strip_controls(&s.anchor),
            show_priority(s.priority)
        );
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
            explain_verdict(&r.assessment, r.verdict);
            if let Some(label) = e.label {
                let by = if e.label_by == Some(Who::Model) { "the teacher's model" } else { "you" };
                println!("  labelled {} by {by}", if label { "relevant" } else { "not relevant" });
            }
            println!("\n{}", style("what was kept").bold());
            println!(
                "  status {}, {}, {} bytes, language {}, {} links",
                r.status, r.media_type, r.bytes, r.language, r.links
            );
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

fn show_priority(p: Priority) -> String {
    if p.lane == 0 { format!("{:.4}", p.key()) } else { format!("{:.4} in lane {}", p.key(), p.lane) }
}
