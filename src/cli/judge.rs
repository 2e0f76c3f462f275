//! `gleaner judge TOPIC URL|FILE…`: a dry run of a topic on pages, with reasons.

use super::setup::{self, FetchFlags};
use super::source;
use super::text::{shorten, strip_controls};
use clap::Args as ClapArgs;
use console::style;
use crawl::collection::Collection;
use std::path::PathBuf;
use std::process::ExitCode;
use types::{Assessment, Problem, Verdict};

#[derive(ClapArgs, Debug)]
#[command(after_help = "Examples:\n  gleaner judge topic.toml https://www.example.edu/cs101/ page.html")]
pub struct Args {
    /// Topic file (TOML)
    topic: PathBuf,
    /// Files or URLs
    #[arg(required = true)]
    pages: Vec<String>,
    /// Judge with this one instead of the topic's
    #[arg(long, value_name = "NAME")]
    judge: Option<String>,
    /// A judge trained with `gleaner train`
    #[arg(long, value_name = "FILE")]
    model: Option<PathBuf>,
    #[command(flatten)]
    fetch: FetchFlags,
    /// One JSON object per page
    #[arg(long)]
    json: bool,
}

pub fn run(args: Args) -> Result<ExitCode, Problem> {
    let mut table = toml::Table::new();
    args.fetch.lay(&mut table);
    if let Some(judge) = &args.judge {
        setup::set(&mut table, "judge", "kind", judge.as_str());
    }
    if let Some(file) = &args.model {
        super::train::lay_model(file, true, false, &mut table)?;
    }
    let loaded = setup::load(Some(&args.topic), table)?;
    let analyst = Collection::analyst(&loaded.config)?;
    let mut failed = false;
    // All are measured first: an automatic threshold is estimated from all of them.
    let mut pages = Vec::new();
    for text in &args.pages {
        match source::page(text, &args.fetch, Some(&loaded.config)) {
            Ok(fetched) => match analyst.analyse(&fetched) {
                Some(analysis) => pages.push((text, fetched, analysis)),
                None => {
                    failed = true;
                    eprintln!("{text}: not a page that can be read ({})", fetched.media_type());
                }
            },
            Err(problem) => {
                failed = true;
                eprintln!("{} {problem}", style("error:").red().for_stderr());
            }
        }
    }
    let mut judge = analyst.judge.write().unwrap_or_else(|e| e.into_inner());
    for (.., analysis) in &pages {
        judge.observe(&analysis.assessment, None);
    }
    for (text, fetched, analysis) in &pages {
        let verdict = judge.decide(&analysis.assessment);
        if args.json {
            let line = serde_json::json!({
                "source": text, "url": fetched.url.as_str(), "title": analysis.doc.page.title,
                "language": analysis.doc.page.language, "assessment": analysis.assessment, "verdict": verdict,
            });
            println!("{line}");
        } else {
            show(text, &analysis.doc.page, &analysis.assessment, verdict);
        }
    }
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// The verdict, its parts and its evidence.
pub fn show(name: &str, page: &types::Page, a: &Assessment, v: Verdict) {
    println!(
        "{}  {}",
        style(strip_controls(name)).bold(),
        style(shorten(&strip_controls(&page.title), 80)).dim()
    );
    explain_verdict(a, v);
    if let Some(line) = highlighted(&page.text, a) {
        println!("  {line}");
    }
    println!();
}

pub fn explain_verdict(a: &Assessment, v: Verdict) {
    let word = if v.relevant { style("relevant").green().bold() } else { style("not relevant").yellow() };
    println!("  {word}: score {:.3}, threshold {:.3}", a.score, v.threshold);
    if let Some(term) = &a.excluded {
        println!("  {} contains the excluded term `{term}`", style("ruled out:").red());
    }
    if !a.parts.is_empty() {
        let parts: Vec<String> = a.parts.iter().map(|p| format!("{} {:.3}", p.name, p.value)).collect();
        println!("  parts    {}", parts.join("   "));
    }
    let mut sets: Vec<&str> = a.hits.iter().map(|h| h.set.as_str()).collect();
    sets.dedup();
    for set in sets {
        let hits: Vec<String> =
            a.hits.iter().filter(|h| h.set == set).map(|h| format!("{} ×{}", h.term, h.count)).collect();
        println!("  {set:<8} {}", hits.join(", "));
    }
}

/// The stretch of text where most of the matched terms stand together, terms highlighted.
fn highlighted(text: &str, a: &Assessment) -> Option<String> {
    let query: Vec<String> = a.hits.iter().map(|h| format!("\"{}\"", h.term)).collect();
    let segments = store::index::snippet(&query.join(" OR "), text);
    if segments.is_empty() {
        return None;
    }
    Some(segments.iter().map(|s| super::search::segment(s, text)).collect())
}
