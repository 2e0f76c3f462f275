//! `gleaner judge TOPIC URL|FILE…`: a dry run of a topic on pages, with reasons.

use super::setup::{self, FetchFlags};
use crate::pages::{PageSourceArgs, Pages, doc};
use crate::text::{shorten, strip_controls};
use clap::Args as ClapArgs;
use console::style;
use crawl::collection::TopicParts;
use std::path::PathBuf;
use std::process::ExitCode;
use types::{Assessment, Problem, Url, Verdict};

#[derive(ClapArgs, Debug)]
#[command(
    after_help = "Examples:\n  gleaner judge topic.toml https://www.example.edu/cs101/ page.html\n  gleaner \
                  judge topic.toml --collection db https://www.example.edu/cs101/      without the network"
)]
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
    from: PageSourceArgs,
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
    let source = Pages::open(&args.from, &loaded.config)?;
    let answer = |url: &Url| source.answer_or_fetch(url);
    let analyst =
        TopicParts::new(&loaded.config.topic()?, source.canon(), &answer, args.pages.len(), 0)?.analyst;
    let mut failed = false;
    // All are measured first: an automatic threshold is estimated from all of them.
    let mut pages = Vec::new();
    for text in &args.pages {
        match source.page(text).and_then(|f| Ok((doc(&f, &analyst.extract, &analyst.text)?, f))) {
            Ok((doc, fetched)) => {
                let judge = analyst.judge.read().unwrap_or_else(|e| e.into_inner());
                let assessment = judge.assess(&doc);
                pages.push((text, fetched, doc, assessment));
            }
            Err(problem) => {
                failed = true;
                eprintln!("{} {problem}", style("error:").red().for_stderr());
            }
        }
    }
    let mut judge = analyst.judge.write().unwrap_or_else(|e| e.into_inner());
    for (.., assessment) in &pages {
        judge.observe(assessment, None);
    }
    for (text, fetched, doc, assessment) in &pages {
        let verdict = judge.decide(assessment);
        if args.json {
            let line = serde_json::json!({
                "source": text, "url": fetched.url.as_str(), "title": doc.page.title,
                "language": doc.page.language, "assessment": assessment, "verdict": verdict,
            });
            println!("{line}");
        } else {
            show(text, &doc.page, assessment, verdict);
        }
    }
    if !args.json
        && !pages.is_empty()
        && let Some(why) = judge.explain()
    {
        println!("{}", style(why).dim());
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
    for line in highlighted(page, a) {
        println!("  {line}");
    }
    println!();
}

/// So many parts are all shown.
const FEW_PARTS: usize = 6;

pub fn explain_verdict(a: &Assessment, v: Verdict) {
    let word = if v.relevant { style("relevant").green().bold() } else { style("not relevant").yellow() };
    println!("  {word}: score {:.3}, threshold {:.3}", a.score, v.threshold);
    if let Some(term) = &a.excluded {
        println!("  {} contains the excluded term `{term}`", style("ruled out:").red());
    }
    if !a.parts.is_empty() {
        // A long list is read for what counted: parts that are nothing are left out.
        let counts = |value: f64| a.parts.len() <= FEW_PARTS || value.abs() >= 0.0005;
        let counted = a.parts.iter().filter(|p| counts(p.value));
        let parts: Vec<String> = counted.map(|p| format!("{} {:.3}", p.name, p.value)).collect();
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

/// Stretches of text shown for a page, at most.
const STRETCHES: usize = 3;

/// The title and the stretches of text where most of the matched terms stand together, terms highlighted;
/// each stretch shows terms that those before it do not.
fn highlighted(page: &types::Page, a: &Assessment) -> Vec<String> {
    let mut left: Vec<&str> = a.hits.iter().filter(|h| h.set != "url").map(|h| h.term.as_str()).collect();
    let all = query(&left);
    let mut out = Vec::new();
    while out.len() < STRETCHES && !left.is_empty() {
        let found = store::index::snippet(&query(&left), &page.text);
        let marked = found.iter().filter(|s| s.highlighted).filter_map(|s| page.text.get(s.range.clone()));
        let shown: Vec<String> = marked.flat_map(str::split_whitespace).map(str::to_lowercase).collect();
        let (from, to) =
            (found.first().map_or(0, |s| s.range.start), found.last().map_or(0, |s| s.range.end));
        let before = left.len();
        left.retain(|t| !t.split_whitespace().all(|w| shown.contains(&w.to_lowercase())));
        if left.len() == before || from >= to {
            break;
        }
        // Once more for this stretch alone, so that terms shown before are marked here too.
        let stretch = page.text.get(from..to).unwrap_or("");
        let marked = store::index::snippet(&all, stretch);
        let line: String = marked.iter().map(|s| super::search::segment(s, stretch)).collect();
        out.push(format!("… {line} …"));
    }
    out
}

fn query(terms: &[&str]) -> String {
    terms.iter().map(|t| format!("\"{t}\"")).collect::<Vec<_>>().join(" OR ")
}
