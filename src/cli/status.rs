//! `gleaner status DIR`: how a collection stands.

use super::setup;
use crate::text::{bar_curve, count, outlook, things};
use clap::Args as ClapArgs;
use console::style;
use crawl::Stop;
use crawl::reader::Summary;
use std::path::PathBuf;
use std::process::ExitCode;
use types::{Millis, Problem};

#[derive(ClapArgs, Debug)]
#[command(
    after_help = "Examples:\n  gleaner status db\n  gleaner status db --json\n  gleaner status --store \
                  postgres://user@db.example.org/crawls --crawl db"
)]
pub struct Args {
    /// Collection folder
    #[arg(required_unless_present = "store")]
    dir: Option<PathBuf>,
    #[command(flatten)]
    shared: super::setup::StoreArgs,
    /// Everything, as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: Args) -> Result<ExitCode, Problem> {
    let reader = super::setup::read_from(args.dir.as_deref(), &args.shared)?;
    if let Some(damage) = reader.archive_damage() {
        setup::warn(&damage);
    }
    let s = reader.summary()?;
    if args.json {
        let json =
            serde_json::to_string_pretty(&s).map_err(|e| Problem::new("cannot write JSON").because(e))?;
        println!("{json}");
        return Ok(setup::exit_code(&reader));
    }
    println!("{}", style(&s.name).bold());
    println!(
        "  pages      {} fetched, {} relevant ({:.1} %)",
        count(s.pages),
        count(s.relevant),
        100.0 * s.harvest()
    );
    println!("  harvest    {}", style(bar_curve(&s.curve, 60)).green());
    println!("  frontier   {} URLs pending on {}", count(s.pending), things(s.hosts as u64, "host"));
    let outcomes: Vec<String> = s.outcomes.iter().map(|(kind, n)| format!("{kind} {}", count(*n))).collect();
    println!("  settled    {}", outcomes.join(", "));
    if let Some(o) = &s.outlook {
        println!("  outlook    {}", outlook(o));
    }
    match s.choices.last() {
        Some(c) => {
            let why = c.why.strip_prefix("threshold ").unwrap_or(&c.why);
            println!("  threshold  {why} (after {})", things(c.pages, "page"));
        }
        None => println!("  threshold  {:.3}", s.threshold),
    }
    if let Some(q) = &s.labels {
        println!("  labels     {}", crate::text::quality(q));
    }
    if let Some(teacher) = &s.teacher {
        println!("  teacher    {}", crate::text::teacher(teacher));
    }
    if !s.errors.is_empty() {
        let kinds = s.errors.iter().map(|(kind, n)| (kind.as_str(), *n));
        println!("  no page    {}", crate::text::misses(kinds));
    }
    if !s.refused.is_empty() {
        let refused: Vec<String> =
            s.refused.iter().map(|(kind, n)| format!("{kind} {}", count(*n))).collect();
        println!("  not taken  {}", refused.join(", "));
    }
    println!(
        "  on disk    {:.1} MB ledger, {:.1} MB archive, {:.1} MB index",
        mb(s.ledger_bytes),
        mb(s.archive_bytes),
        mb(s.index_bytes)
    );
    let settings: Vec<String> =
        s.settings.iter().map(|set| format!("{} {} ({})", set.name, set.value, set.from.name())).collect();
    println!("  in force   {}", settings.join(", "));
    if let Some(watch) = &s.watch {
        println!("  watched    {}", crate::text::watched(watch, s.running, Millis::now()));
    }
    if let Some(why) = &s.stopped {
        println!("  stopped    {why}");
    }
    println!(
        "  state      {}",
        match (s.running, reader.adjustments().paused) {
            (true, false) => "a crawl is running".into(),
            (true, true) => "paused".into(),
            (false, false) => format!("not running; {} goes on with it", go_on(&args, &s)),
            (false, true) => "not running, and paused: workers that join wait until it is resumed".into(),
        }
    );
    for w in &s.workers {
        println!("  worker     {}: {} of 256 shards, {} pages", w.name, w.shards, count(w.pages));
    }
    Ok(setup::exit_code(&reader))
}

/// The command that goes on, with a higher limit where one was reached.
fn go_on(args: &Args, s: &Summary) -> String {
    let Some(dir) = &args.dir else { return "`gleaner crawl … --store …`".into() };
    let ended = s.session.as_ref().and_then(|run| run.ended.as_ref());
    let more = match ended.map(|end| end.stop) {
        Some(Stop::Pages) => format!(" --pages {}", s.pages + 500),
        Some(Stop::Relevant) => format!(" --relevant {}", s.relevant + 100),
        Some(Stop::Time) => " --time 30m".into(),
        _ => String::new(),
    };
    format!("`gleaner crawl --out {}{more}`", dir.display())
}

fn mb(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}
