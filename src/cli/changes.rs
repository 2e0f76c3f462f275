//! `gleaner changes DIR`: what is new, changed, gone or moved since a time.

use super::setup;
use crate::text::{strip_controls, things, time};
use crate::{changes, notify};
use clap::Args as ClapArgs;
use crawl::reader::{ChangeKind, Reader};
use crawl::units::Span;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use store::archive::parse_rfc3339;
use types::{Millis, Problem};

const EXAMPLES: &str = "\
Examples:
  gleaner changes db --since 7d                       relevant pages that came, changed, went away or moved
  gleaner changes db --since 2026-11-01 --kind gone   one kind only
  gleaner changes db --since 1d --json                for programs
  gleaner changes db --since 7d --html new.html       to read in a browser
  gleaner changes db --since 30d --atom new.atom --json-feed new.json    new and changed pages as feeds

  gleaner changes db --notify                         tell whom [notify] names what is new since they were told
  gleaner changes db --undelivered                    what could not be delivered, and why; --resend tries again

`gleaner refresh` visits known pages again; without it only new pages are known. A change is a change of a page's own text,
not of a menu, a clock or an advert.";

#[derive(ClapArgs, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Collection folder
    #[arg(required_unless_present = "store")]
    dir: Option<PathBuf>,
    #[command(flatten)]
    shared: setup::StoreArgs,
    /// Since when: so long ago (7d, 6h), or a date (2026-11-01, 2026-11-01T12:00:00Z)
    #[arg(long, value_name = "TIME|DATE", default_value = "7d", value_parser = since)]
    since: Since,
    /// Only this kind
    #[arg(long, value_name = "KIND", value_parser = ["new", "changed", "back", "gone", "moved"])]
    kind: Option<String>,
    /// Also pages that were judged not relevant
    #[arg(long)]
    all: bool,
    /// Most pages shown on a terminal
    #[arg(long, value_name = "N", default_value_t = 50)]
    limit: usize,
    /// Everything, as one JSON object
    #[arg(long)]
    json: bool,
    /// Write a page for a browser (`-`: to standard output)
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Write new and changed pages as an Atom feed
    #[arg(long, value_name = "FILE")]
    atom: Option<PathBuf>,
    /// Write new and changed pages as a JSON Feed
    #[arg(long, value_name = "FILE")]
    json_feed: Option<PathBuf>,
    /// Tell whom [notify] in the collection's topic names (a webhook, a mail) what is new since they were
    /// last told
    #[arg(long, conflicts_with_all = ["kind", "all", "html", "atom", "json_feed"])]
    notify: bool,
    /// Show what could not be delivered
    #[arg(long, conflicts_with_all = ["notify", "kind", "all", "html", "atom", "json_feed"])]
    undelivered: bool,
    /// Send again what could not be delivered
    #[arg(long, conflicts_with_all = ["notify", "undelivered", "kind", "all", "html", "atom", "json_feed"])]
    resend: bool,
    /// Forget what could not be delivered
    #[arg(long, conflicts_with_all = ["notify", "undelivered", "resend", "kind", "all", "html", "atom", "json_feed"])]
    forget_undelivered: bool,
}

/// A moment, or so long ago.
#[derive(Clone, Copy, Debug)]
enum Since {
    Ago(Span),
    At(Millis),
}

fn since(text: &str) -> Result<Since, String> {
    if let Ok(span) = text.parse() {
        return Ok(Since::Ago(span));
    }
    parse_rfc3339(text).map(Since::At).ok_or_else(|| {
        format!("`{text}` is neither a duration (7d, 6h) nor a date (2026-11-01, 2026-11-01T12:00:00Z)")
    })
}

impl Since {
    fn time(self) -> Millis {
        match self {
            Since::At(at) => at,
            Since::Ago(span) => {
                Millis(Millis::now().0.saturating_sub(span.0.as_millis().min(u128::from(u64::MAX)) as u64))
            }
        }
    }
}

pub fn run(args: Args) -> Result<ExitCode, Problem> {
    let reader = setup::read_from(args.dir.as_deref(), &args.shared)?;
    if args.notify || args.undelivered || args.resend || args.forget_undelivered {
        return post(&args, &reader);
    }
    let mut found = reader.changes(args.since.time(), args.all)?;
    if let Some(kind) = ChangeKind::ALL.iter().find(|k| Some(k.name()) == args.kind.as_deref()) {
        found.changes.retain(|c| c.kind == *kind);
    }
    let files = [
        (&args.html, changes::html as fn(&_) -> String),
        (&args.atom, changes::atom),
        (&args.json_feed, changes::json_feed),
    ];
    let mut wrote = false;
    for (path, make) in files {
        let Some(path) = path else { continue };
        write(path, &make(&found), args.json)?;
        wrote = true;
    }
    if args.json {
        let json =
            serde_json::to_string_pretty(&found).map_err(|e| Problem::new("cannot write JSON").because(e))?;
        println!("{json}");
    } else if !wrote {
        print!("{}", changes::terminal(&found, args.limit));
        if found.changes.is_empty() {
            let dir = args.dir.as_ref().map_or("DIR".into(), |d| d.display().to_string());
            eprintln!(
                "hint: `gleaner refresh {dir}` visits known pages again; --since takes a longer time; --all \
                 shows pages that are not relevant"
            );
        }
    } else {
        eprintln!("since {}: {}", time(found.since), changes::totals(&found));
    }
    Ok(setup::exit_code(&reader))
}

/// Letters to whom `[notify]` names.
fn post(args: &Args, reader: &Reader) -> Result<ExitCode, Problem> {
    // What others were told of a shared crawl is remembered on this machine.
    let dir = &match &args.shared.store {
        Some(url) => setup::notes_folder(url, reader.ledger().shared_name().unwrap_or("crawl"))?,
        None => reader.dir().to_path_buf(),
    };
    let print = |value: &serde_json::Value| println!("{value:#}");
    if args.undelivered {
        let letters = notify::undelivered(dir)?;
        if args.json {
            print(&serde_json::to_value(&letters).unwrap_or_default());
            return Ok(ExitCode::SUCCESS);
        }
        for d in &letters {
            let why = d.why.as_deref().unwrap_or("it was on its way when the process ended");
            println!("{}  {}  {}", time(d.at), d.way.name(), strip_controls(&d.letter.subject));
            println!("  {}, {}: {}", d.letter.id, things(u64::from(d.tries), "attempt"), strip_controls(why));
        }
        if letters.is_empty() {
            println!("everything was delivered");
        }
        return Ok(ExitCode::SUCCESS);
    }
    let mut post = notify::Outbox::open(dir)?;
    if args.forget_undelivered {
        println!("{} forgotten", things(post.forget()? as u64, "letter"));
        return Ok(ExitCode::SUCCESS);
    }
    let told = match args.resend {
        true => post.resend(reader.config())?,
        false => post.tell(reader, args.since.time(), Millis::now())?,
    };
    if args.json {
        print(&serde_json::to_value(&told).unwrap_or_default());
    } else {
        if args.notify {
            println!("{} since the last notice", things(told.changes, "change"));
        }
        println!("{} delivered, {} not", things(told.delivered, "letter"), told.failed);
    }
    if let Some(why) = &told.why {
        setup::warn(&format!(
            "not delivered: {}; `gleaner changes {} --undelivered` shows what is kept, --resend tries again",
            strip_controls(why),
            args.dir.as_ref().map_or_else(|| "--store …".to_string(), |dir| dir.display().to_string())
        ));
        return Ok(ExitCode::FAILURE);
    }
    Ok(setup::exit_code(reader))
}

fn write(path: &Path, text: &str, json: bool) -> Result<(), Problem> {
    if path == Path::new("-") {
        if json {
            return Err(Problem::usage("--json has standard output").hint("name a file instead of `-`"));
        }
        print!("{text}");
        return Ok(());
    }
    store::files::replace(path, text.as_bytes()).map_err(|e| Problem::io("write", path, &e))
}
