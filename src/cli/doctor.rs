//! `gleaner doctor`: what is wrong on this machine, and what to do about it.
//!
//! Each check is a function that says what it saw. To add one, write it and name it in [`look()`].

use super::setup::{self, FetchFlags};
use super::source;
use crate::text::{strip_controls, things};
use clap::Args as ClapArgs;
use console::style;
use crawl::collection::Collection;
use crawl::documents::Documents;
use crawl::reader::Reader;
use serde::Serialize;
use std::fs;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::mpsc;
use std::time::Duration;
use store::SharedReader;
use types::{Canon, Failure, Fetched, Millis, PageKind, Problem, Url};

const EXAMPLES: &str = "\
Examples:
  gleaner doctor                                    this machine and this folder
  gleaner doctor db                                 and the collection in it
  gleaner doctor --store postgres://user@db.example.org/crawls
  gleaner doctor --offline --json                   without a look at the network, for a script

Exit codes: 0 all is well (warnings count as well), 1 something is wrong.";

#[derive(ClapArgs, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// A collection, or the folder where collections are to be
    #[arg(default_value = ".")]
    dir: PathBuf,
    /// A shared database (postgres://…) that is to be reached
    #[arg(long, value_name = "URL")]
    store: Option<String>,
    /// A page that is fetched to try names, network and certificates
    #[arg(long, value_name = "URL", default_value = "https://example.com/", conflicts_with = "offline")]
    url: String,
    /// Fetch nothing
    #[arg(long)]
    offline: bool,
    /// Where the dashboard is to listen
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:7700", value_parser = setup::address)]
    listen: SocketAddr,
    #[command(flatten)]
    fetch: FetchFlags,
    /// Everything, as JSON
    #[arg(long)]
    json: bool,
}

/// How grave it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum State {
    Fine,
    Warning,
    Wrong,
}

/// What one look found.
#[derive(Debug, Serialize)]
struct Finding {
    name: &'static str,
    state: State,
    /// What was seen.
    text: String,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

impl Finding {
    fn fine(name: &'static str, text: impl Into<String>) -> Finding {
        Finding { name, state: State::Fine, text: text.into(), hint: None }
    }
    fn warning(name: &'static str, text: impl Into<String>, hint: impl Into<String>) -> Finding {
        Finding { name, state: State::Warning, text: text.into(), hint: Some(hint.into()) }
    }
    fn wrong(name: &'static str, text: impl Into<String>, hint: impl Into<String>) -> Finding {
        Finding { name, state: State::Wrong, text: text.into(), hint: Some(hint.into()) }
    }
    fn problem(name: &'static str, problem: &Problem) -> Finding {
        let because = problem.cause().map_or(String::new(), |why| format!(": {why}"));
        let hint = problem.to_string().split_once("hint: ").map(|(_, hint)| hint.to_string());
        let text = format!("{}{because}", problem.what());
        Finding { name, state: State::Wrong, text, hint }
    }
}

pub fn run(args: Args) -> Result<ExitCode, Problem> {
    let url = Canon::default()
        .parse_typed(&args.url)
        .map_err(|e| Problem::usage(format!("--url cannot be `{}`", args.url)).because(e))?;
    if let Some(store) = &args.store {
        store::check_address(store)?;
    }
    let findings = look(&args, &url);
    let wrong = findings.iter().filter(|f| f.state == State::Wrong).count();
    if args.json {
        let json =
            serde_json::json!({ "version": env!("CARGO_PKG_VERSION"), "wrong": wrong, "findings": findings });
        println!("{json:#}");
    } else {
        findings.iter().for_each(show);
        match wrong {
            0 => println!("\nnothing is wrong"),
            n => println!("\n{} wrong", if n == 1 { "1 thing is".into() } else { format!("{n} things are") }),
        }
    }
    Ok(if wrong == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn show(f: &Finding) {
    let mark = match f.state {
        State::Fine => style("✓").green(),
        State::Warning => style("!").yellow(),
        State::Wrong => style("✗").red().bold(),
    };
    println!("{mark} {:<11} {}", f.name, strip_controls(&f.text));
    if let Some(hint) = &f.hint {
        println!("  {:<11} {}", "", style(strip_controls(hint)).dim());
    }
}

fn look(args: &Args, url: &Url) -> Vec<Finding> {
    let mut found = vec![Finding::fine("program", format!("gleaner {}", env!("CARGO_PKG_VERSION")))];
    found.push(clock());
    if !args.offline {
        if args.fetch.proxy.is_none() && args.fetch.resolve.is_empty() {
            found.push(names(url.host()));
        }
        found.extend(network(url, &args.fetch));
    }
    found.push(folder(&args.dir));
    found.extend(disk(&args.dir));
    found.extend(open_files());
    found.push(documents());
    found.push(rendering(&args.fetch));
    found.push(port(args.listen));
    found.push(browser());
    if let Some(store) = &args.store {
        found.push(database(store));
    }
    if Collection::exists(&args.dir) || Collection::check_remains(&args.dir).is_err() {
        found.extend(collection(&args.dir));
    }
    found
}

/// A clock that is far off makes certificates invalid, and says nonsense in archives.
fn clock() -> Finding {
    // The day this check was written.
    const EARLIEST: Millis = Millis(1_794_787_200_000);
    let now = Millis::now();
    let text = format!("it is {}", store::archive::rfc3339(now));
    match now < EARLIEST {
        true => Finding::wrong("clock", text, "the clock is behind; set it (timedatectl set-ntp true)"),
        false => Finding::fine("clock", text),
    }
}

fn names(host: &str) -> Finding {
    const PATIENCE: Duration = Duration::from_secs(10);
    if host.parse::<std::net::IpAddr>().is_ok() || host.starts_with('[') {
        return Finding::fine("names", format!("{host} is an address already"));
    }
    let (tell, told) = mpsc::channel();
    let name = host.to_string();
    std::thread::spawn(move || {
        let found = (name.as_str(), 0u16).to_socket_addrs().map(|a| a.count());
        let _ = tell.send(found.map_err(|e| e.to_string()));
    });
    let hint = "check /etc/resolv.conf and the network, or use a proxy that looks names up (--proxy)";
    match told.recv_timeout(PATIENCE) {
        Ok(Ok(n)) if n > 0 => Finding::fine("names", format!("{host} has {}", things(n as u64, "address"))),
        Ok(Ok(_)) => Finding::wrong("names", format!("{host} has no address"), hint),
        Ok(Err(why)) => Finding::wrong("names", format!("{host} cannot be looked up: {why}"), hint),
        Err(_) => Finding::wrong("names", format!("nobody says what {host} is, after {PATIENCE:?}"), hint),
    }
}

/// One page, hop by hop, by the same code that crawls; and what its server says of the time.
fn network(url: &Url, flags: &FetchFlags) -> Vec<Finding> {
    let hops = match source::hops(url.as_str(), flags, None) {
        Ok(hops) => hops,
        Err(problem) => return vec![Finding::problem("network", &problem)],
    };
    let Some(last) = hops.last() else { return Vec::new() };
    if let Some(failure) = &last.failure {
        let why = failure.to_string();
        let certificate = matches!(failure, Failure::Tls(_));
        let hint = match certificate {
            true => {
                "check the clock; Mozilla's roots are built in, and the certificates of a proxy that opens \
                 TLS are not \
                 among them: let it pass this program's connections unopened"
                    .to_string()
            }
            false => crate::pages::guard_hint(failure).to_string(),
        };
        let name = if certificate { "certificates" } else { "network" };
        return vec![Finding::wrong(name, format!("{} cannot be fetched: {why}", last.url), hint)];
    }
    let kind = if last.url.as_str().starts_with("https:") {
        "over TLS, its certificate is trusted"
    } else {
        "without TLS"
    };
    let took = last.elapsed.as_millis();
    let mut found =
        vec![Finding::fine("network", format!("{} answered {} {kind} ({took} ms)", last.url, last.status))];
    found.extend(skew(last));
    found
}

/// How far this clock is from a server's.
fn skew(answer: &Fetched) -> Option<Finding> {
    const TOO_FAR: u64 = 5 * 60;
    let theirs = http_date(answer.header("date")?)?;
    let ours = Millis::now().0 / 1000;
    let apart = ours.abs_diff(theirs);
    (apart > TOO_FAR).then(|| {
        let text = format!("this clock and that of {} are {apart} seconds apart", answer.url.host());
        Finding::wrong("clock", text, "set the clock (timedatectl set-ntp true)")
    })
}

/// `Mon, 16 Nov 2026 18:20:53 GMT` in seconds since 1970.
fn http_date(text: &str) -> Option<u64> {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let mut words = text.split_ascii_whitespace().skip(1);
    let day: u8 = words.next()?.parse().ok()?;
    let month = words.next()?;
    let month = MONTHS.iter().position(|m| *m == month)? + 1;
    let (year, time) = (words.next()?, words.next()?);
    store::archive::parse_rfc3339(&format!("{year}-{month:02}-{day:02}T{time}Z")).map(|at| at.0 / 1000)
}

/// Can a collection be written there?
fn folder(dir: &Path) -> Finding {
    let shown = dir.display();
    if !dir.is_dir() {
        return Finding::wrong("folder", format!("{shown} is not a folder"), "make it, or name another");
    }
    let path = dir.join(format!(".gleaner-doctor-{}", std::process::id()));
    let tried = fs::write(&path, b"x").and_then(|()| fs::File::open(&path)?.sync_all());
    let _ = fs::remove_file(&path);
    match tried {
        Ok(()) => Finding::fine("folder", format!("{shown} can be written")),
        Err(e) => Finding::wrong(
            "folder",
            format!("{shown} cannot be written: {e}"),
            "choose another folder with --out, or see whose it is (ls -ld)",
        ),
    }
}

fn disk(dir: &Path) -> Option<Finding> {
    const FEW: u64 = 100 << 20;
    const SOME: u64 = 2 << 30;
    let free = crawl::space::free(dir)?;
    let text = format!("{:.1} GB free in {}", free as f64 / 1e9, dir.display());
    let hint =
        "100,000 pages take about 3 GB with their archive; make room, or crawl into another disk (--out)";
    Some(match free {
        free if free < FEW => Finding::wrong("disk", text, hint),
        free if free < SOME => Finding::warning("disk", text, hint),
        _ => Finding::fine("disk", text),
    })
}

/// A connection is a file, too.
fn open_files() -> Option<Finding> {
    let limits = fs::read_to_string("/proc/self/limits").ok()?;
    let line = limits.lines().find(|l| l.starts_with("Max open files"))?;
    let soft: u64 = line.split_ascii_whitespace().nth(3)?.parse().ok()?;
    let text = format!("{soft} may be open at once");
    Some(match soft < 512 {
        true => Finding::warning("files", text, "a crawl of many hosts needs more: ulimit -n 4096"),
        false => Finding::fine("files", text),
    })
}

/// Documents are read by a child process with limits; a container may forbid that.
fn documents() -> Finding {
    let read = || -> Result<PageKind, String> {
        let url = Canon::default().parse("http://localhost/doctor.pdf").map_err(|e| e.to_string())?;
        let options = extract::Options::default();
        let page = Documents::usual().read(&url, Some("application/pdf"), None, PDF.as_bytes(), &options);
        Ok(page.map_err(|e| e.to_string())?.kind)
    };
    match read() {
        Ok(PageKind::Pdf) => {
            Finding::fine("documents", "PDF and office files are read, in a process of their own")
        }
        Ok(kind) => Finding::wrong("documents", format!("a PDF file was read as {kind:?}"), REPORT),
        Err(why) => Finding::wrong(
            "documents",
            format!("PDF files cannot be read: {why}"),
            "this program starts itself to read them; see whether the container allows processes and limits",
        ),
    }
}

/// Pages that scripts write need a browser.
fn rendering(flags: &FetchFlags) -> Finding {
    flags.name_browser();
    match crawl::rendering::browser() {
        Ok(Some(browser)) => {
            Finding::fine("rendering", format!("pages that need a browser are shown in {browser}"))
        }
        Ok(None) => Finding::warning(
            "rendering",
            "no browser is installed: pages that scripts write are read as they are sent",
            "install Chromium (Debian: apt install chromium)",
        ),
        Err(problem) => Finding::problem("rendering", &problem),
    }
}

const REPORT: &str = "this is a bug in Gleaner; please report it";
/// The smallest file that is one.
const PDF: &str = "%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n\
                   2 0 obj<</Type/Pages/Kids[]/Count 0>>endobj\n\
                   xref\n0 3\n0000000000 65535 f \n0000000009 00000 n \n0000000052 00000 n \n\
                   trailer<</Size 3/Root 1 0 R>>\nstartxref\n96\n%%EOF\n";

fn port(listen: SocketAddr) -> Finding {
    match TcpListener::bind(listen) {
        Ok(_) => Finding::fine("port", format!("{listen} is free for the dashboard")),
        Err(e) => Finding::warning(
            "port",
            format!("the dashboard cannot listen on {listen}: {e}"),
            "another dashboard may run there; choose another port with --listen",
        ),
    }
}

/// Nothing but the dashboard needs one, and that may be on another machine.
fn browser() -> Finding {
    const NAMES: [&str; 7] =
        ["xdg-open", "chromium", "google-chrome", "firefox", "brave-browser", "microsoft-edge", "open"];
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_there = |name: &&&str| std::env::split_paths(&path).any(|dir| dir.join(name).is_file());
    match NAMES.iter().find(is_there) {
        Some(name) => Finding::fine("browser", format!("{name} opens the dashboard")),
        None => Finding::warning(
            "browser",
            "none is found here",
            "crawls need none; open the dashboard from another machine: ssh -L 7700:127.0.0.1:7700 HOST",
        ),
    }
}

fn database(url: &str) -> Finding {
    match SharedReader::crawls(url) {
        Ok(crawls) if crawls.is_empty() => {
            Finding::fine("database", "it answers; there is no crawl in it yet")
        }
        Ok(crawls) => Finding::fine("database", format!("it answers; crawls: {}", crawls.join(", "))),
        Err(problem) => Finding::problem("database", &problem),
    }
}

fn collection(dir: &Path) -> Vec<Finding> {
    let reader = match Reader::open(dir) {
        Ok(reader) => reader,
        Err(problem) => return vec![Finding::problem("collection", &problem)],
    };
    let mut found = Vec::new();
    match reader.damage() {
        Some(problem) => found.push(Finding::problem("collection", &problem)),
        None => {
            let pages = things(reader.verdicts().count() as u64, "page");
            let now = if reader.is_running() { ", a crawl is running" } else { "" };
            found.push(Finding::fine("collection", format!("{}: {pages}{now}", reader.config().title())));
        }
    }
    if let Some(damage) = reader.archive_damage() {
        found.push(Finding::wrong(
            "archive",
            damage,
            "`gleaner repair DIR` brings the collection back in order",
        ));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_of_servers() {
        assert_eq!(http_date("Mon, 16 Nov 2026 18:20:53 GMT"), Some(1_794_853_253));
        assert_eq!(http_date("yesterday"), None);
    }
}
