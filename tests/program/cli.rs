//! The commands as a newcomer meets them: help, the demo, and everything one can ask of a collection.

use crate::common::browser::Browser;
use crate::common::dashboard::Dashboard;
use crate::common::{Ran, crawl, file, finish, folder, gleaner, run, serve};
use crate::support::postgres;
use madeup::{Site, Size};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// The demo, run once exactly as a newcomer runs it.
struct Demo {
    out: PathBuf,
    ran: Ran,
    took: Duration,
    _dir: tempfile::TempDir,
}

fn demo() -> &'static Demo {
    static DEMO: OnceLock<Demo> = OnceLock::new();
    DEMO.get_or_init(|| {
        let dir = folder();
        let out = dir.path().join("demo");
        let started = Instant::now();
        let ran = finish(gleaner().args(["demo", "--out"]).arg(&out));
        Demo { out, ran, took: started.elapsed(), _dir: dir }
    })
}

fn on_demo(command: &str, args: &[&str]) -> Ran {
    finish(gleaner().arg(command).arg(&demo().out).args(args))
}

#[test]
fn every_command_has_help_with_an_example() {
    let help = run(["--help"]);
    help.ok().shows(&["Examples:", "gleaner demo", "Exit codes:"]);
    // The list of commands in the help is the list of commands.
    let list = help.out.split("Commands:").nth(1).unwrap().split("Options:").next().unwrap();
    let names: Vec<&str> = list
        .lines()
        .filter(|l| l.starts_with("  ") && !l.starts_with("   "))
        .filter_map(|l| l.split_whitespace().next())
        .filter(|n| *n != "help")
        .collect();
    assert!(names.len() >= 15, "{names:?}");
    for name in names {
        let ran = run([name, "--help"]);
        ran.ok().shows(&["Usage: gleaner", "Examples:", &format!("gleaner {name}")]);
        // Every option says what it does.
        let lines: Vec<&str> = ran.out.lines().collect();
        for (i, line) in lines.iter().enumerate() {
            let text = line.trim_start();
            let is_option = text.starts_with("--") || (text.starts_with('-') && text.contains(", --"));
            if is_option && line.starts_with("  ") {
                let told = text.split_once("  ").is_some_and(|(_, t)| !t.trim().is_empty())
                    || lines.get(i + 1).is_some_and(|next| next.starts_with("          "));
                assert!(told, "{name}: `{text}` is not explained");
            }
        }
    }
    run(["--version"]).ok().shows(&["gleaner 0."]);
}

/// The numbers of the demo's sentence: found, wanted, pages fetched, pages of the web, found breadth-first.
fn sentence() -> [usize; 5] {
    let err = &demo().ran.err;
    let line = err.lines().find(|l| l.starts_with("Gleaner found ")).unwrap_or_else(|| panic!("{err}"));
    let numbers: Vec<usize> = line
        .split_whitespace()
        .filter_map(|w| w.trim_end_matches(['.', ';']).replace(',', "").parse().ok())
        .collect();
    let [found, wanted, fetched, web, other, with] = numbers[..] else { panic!("{line}") };
    assert!(with.abs_diff(fetched) <= 40, "as many pages for both: {line}");
    [found, wanted, fetched, web, other]
}

#[test]
fn the_demo_finds_most_of_what_is_wanted_in_a_third_of_the_web() {
    let demo = demo();
    demo.ran.ok();
    assert!(demo.took < Duration::from_secs(60), "it took {:?}", demo.took);
    let [found, wanted, fetched, web, other] = sentence();
    assert!(fetched * 3 <= web, "{fetched} of {web}");
    assert!(found * 10 >= wanted * 8, "found {found} of {wanted}");
    assert!(other * 2 <= found * 3 / 2, "breadth-first is no match: {other} against {found}");
    // A plot of both, every count explained, and a way on.
    for text in [
        &format!("● Gleaner {found}"),
        &format!("· breadth-first {other}"),
        "pages fetched",
        "What the numbers mean",
        "kept as relevant by the judge",
        "left in the queue",
        "requests without a page",
        "report.html",
    ] {
        assert!(demo.ran.err.contains(text), "{text}: {}", demo.ran);
    }
    // The demo does not flatter itself: the same from the collection and the web.
    let site = Site::new(1, Size::Full);
    assert_eq!(site.pages(), web);
    let copies: BTreeMap<String, String> = site.mirrored().into_iter().collect();
    let original = |url: &str| copies.get(url).map_or(url, |o| o.as_str()).to_string();
    let truth: BTreeSet<String> = site.relevant().iter().map(|u| original(u)).collect();
    assert_eq!(truth.len(), wanted);
    let urls = |args: &[&str]| -> BTreeSet<String> {
        let ran = on_demo("export", args);
        let url =
            |l: &str| serde_json::from_str::<serde_json::Value>(l).unwrap()["url"].as_str().map(original);
        ran.ok().out.lines().filter_map(url).collect()
    };
    assert_eq!(urls(&["--all"]).intersection(&truth).count(), found);
    // The default judge, without a label.
    let kept = urls(&[]);
    let right = kept.intersection(&truth).count();
    assert!(right * 10 >= kept.len() * 8, "{right} of {} that were kept are right", kept.len());
    let status: serde_json::Value = serde_json::from_str(&on_demo("status", &["--json"]).out).unwrap();
    assert_eq!(status["pages"], fetched);
    let relevant = format!("{:>9}  of them kept as relevant", status["relevant"].as_u64().unwrap());
    assert!(demo.ran.err.contains(relevant.trim_start()), "{relevant}: {}", demo.ran);
}

#[test]
fn what_the_demo_suggests_works_as_printed() {
    let next = demo().ran.err.split("Try next").nth(1).unwrap_or_else(|| panic!("{}", demo().ran));
    // By its name, or by its path where the name leads nowhere.
    let named =
        |l: &'static str| l.strip_prefix("  ")?.split_once(' ').filter(|(me, _)| me.ends_with("gleaner"));
    let commands: Vec<&str> = next.lines().filter_map(named).map(|(_, rest)| rest).collect();
    assert_eq!(commands.len(), 3, "{next}");
    let dir = folder();
    for command in commands {
        let mut shell = std::process::Command::new("bash");
        shell.args(["-c", &format!("\"$0\" {command}"), env!("CARGO_BIN_EXE_gleaner")]);
        let ran = finish(shell.current_dir(dir.path()));
        ran.ok();
        assert!(!ran.out.is_empty() || dir.path().join("syllabi.csv").is_file(), "{command}: {ran}");
    }
    assert!(dir.path().join("syllabi.csv").is_file());
}

#[test]
fn the_demo_shows_itself_in_the_browser_until_ctrl_c() {
    use std::io::{BufRead, BufReader};
    let dir = folder();
    let mut command = gleaner();
    command.args(["demo", "--dashboard", "--web-pages", "550", "--pages", "40", "--out", "d"]);
    let mut child = command.current_dir(dir.path()).stderr(std::process::Stdio::piped()).spawn().unwrap();
    let mut err = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
    let url = err.find_map(|l| l.strip_prefix("dashboard: ").map(str::to_string)).expect("its address");
    let rest = std::thread::spawn(move || err.find(|l| l.contains("(Ctrl-C ends it)")).is_some());
    let mut d = Dashboard::at(child, &url);
    assert_eq!(d.get("/api/v1/collections/d").status, 200);
    assert!(rest.join().unwrap(), "it says how to end it");
    assert_eq!(d.json("/api/v1/collections/d")["pages"], 40, "it is there after the end");
    let pid = d.child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    assert_eq!(d.child.wait().unwrap().code(), Some(0));
}

/// The pictures of the README. `UPDATE_PICTURES=1` writes them to docs/pictures.
#[test]
fn the_pictures_of_the_readme() {
    let Some(mut b) = Browser::start() else { return };
    let dir = match std::env::var_os("UPDATE_PICTURES") {
        Some(_) => PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("docs/pictures"),
        None => PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("pictures"),
    };
    std::fs::create_dir_all(&dir).unwrap();
    let d = Dashboard::start(&demo().out, &["--rate", "1000"]);
    let first = on_demo("search", &["relational", "--json", "--limit", "1"]);
    let hit: serde_json::Value = serde_json::from_str(first.ok().out.lines().next().unwrap()).unwrap();
    let found = d.json("/api/v1/collections/demo/pages?relevant=true&limit=200");
    let page = found["pages"].as_array().unwrap().iter().find(|p| p["url"] == hit["url"]);
    let id = page.unwrap_or_else(|| panic!("{hit} is not among {found}"))["id"].clone();
    b.size(1280, 900);
    b.open(&d.url);
    for (name, at, until) in [
        ("overview", "#/c/demo".to_string(), "document.querySelector('svg')"),
        ("page", format!("#/c/demo/pages/{id}"), "document.querySelector('mark')"),
    ] {
        b.eval(&format!("location.hash = '{at}'"));
        b.wait(until);
        b.screen(&dir.join(format!("{name}.png")));
    }
    b.open(&format!("file://{}", demo().out.join("report.html").display()));
    b.wait("document.querySelector('svg')");
    b.screen(&dir.join("report.png"));
    for name in ["overview", "page", "report"] {
        let size = std::fs::metadata(dir.join(format!("{name}.png"))).unwrap().len();
        assert!((20_000..2_000_000).contains(&size), "{name}: {size} bytes");
    }
}

#[test]
fn a_worker_says_which_crawl_it_joined() {
    let Some(store) = postgres::server() else { return };
    let web = serve("== http://a.example/\n<title>A</title>sql\n");
    let dir = folder();
    let topic = file(dir.path(), "t.toml", "name = \"x\"\nquery = \"sql\"\n");
    let work = |out: &str, more: &[&str]| {
        let mut command = crawl(&web, &topic, &dir.path().join(out));
        command.args(["--seed", "http://a.example/", "--delay", "1ms", "--store", &store.url()]);
        finish(command.args(more))
    };
    let began = work("spring", &[]);
    assert!(began.ok().err.contains("began the crawl `spring`, named after the folder"), "{began}");
    let other = work("autumn", &[]);
    assert!(other.ok().err.contains("began the crawl `autumn`") && other.err.contains("spring"), "{other}");
    assert!(work("spring", &[]).ok().err.contains("joined the crawl `spring`"));
    let named = work("winter", &["--crawl", "spring"]);
    assert!(!named.ok().err.contains("named after the folder"), "{named}");
}

#[test]
fn status_says_how_it_stands() {
    let ran = on_demo("status", &[]);
    ran.ok().shows(&[
        "Syllabi of database courses",
        "relevant (",
        "harvest",
        "pending on",
        "threshold",
        "MB archive",
        "not running",
    ]);
    let json: serde_json::Value = serde_json::from_str(&on_demo("status", &["--json"]).out).unwrap();
    let n = |key: &str| json[key].as_u64().unwrap();
    assert!(n("pages") > 100 && n("relevant") > 10 && n("relevant") < n("pages"), "{json}");
    let settled: u64 = json["outcomes"].as_array().unwrap().iter().map(|o| o[1].as_u64().unwrap()).sum();
    assert_eq!(settled + n("pending"), n("urls"), "{json}");
    assert!(n("ledger_bytes") > 0 && n("archive_bytes") > 0 && n("index_bytes") > 0, "{json}");
    assert_eq!(json["running"], false);
}

#[test]
fn search_ranks_and_shows_why() {
    let ran = on_demo("search", &["query optimization"]);
    ran.ok().shows(&["http://", "judge 0."]);
    assert!(ran.out.to_lowercase().contains("optimization"), "{ran}");
    let json = on_demo("search", &["title:syllabus", "relational", "--json", "--limit", "5"]);
    let hits: Vec<serde_json::Value> =
        json.ok().out.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    assert_eq!(hits.len(), 5, "{json}");
    assert!(hits.iter().all(|h| h["relevant"] == true), "only relevant pages unless --all");
    assert!(
        hits.windows(2).all(|w| w[0]["rank_score"].as_f64() >= w[1]["rank_score"].as_f64()),
        "best first"
    );
    let all = on_demo("search", &["zebra xylophone quux", "--all"]);
    assert!(all.ok().err.contains("nothing found among"), "{all}");
}

#[test]
fn explain_tells_the_whole_story() {
    let first = on_demo("search", &["relational", "--json", "--limit", "1"]);
    let hit: serde_json::Value = serde_json::from_str(first.ok().out.lines().next().unwrap()).unwrap();
    let url = hit["url"].as_str().unwrap();
    let ran = on_demo("explain", &[url]);
    ran.ok().shows(&[
        url,
        "settled: fetched",
        "how it was found",
        "seed  ",
        "by the link",
        "why it had its place in the queue",
        "seen on",
        "how it was judged",
        "relevant: score",
        "threshold",
        "archived in",
    ]);
    let json: serde_json::Value = serde_json::from_str(&on_demo("explain", &[url, "--json"]).out).unwrap();
    assert_eq!(json["url"], url);
    let path = json["path"].as_array().unwrap();
    assert!(path.len() >= 2 && path.last().unwrap()["url"] == url, "{json}");
}

#[test]
fn explain_says_why_a_page_was_not_fetched() {
    let web = "
        == http://a.example/robots.txt
        User-agent: *
        Disallow: /private
        == http://a.example/
        <title>Start</title><a href='/private'>sql</a> <a href='/gone'>sql</a> <a href='/old'>sql</a>
        <a href='/picture'>sql</a>
        == http://a.example/gone 410
        == http://a.example/old 301 location: /new
        == http://a.example/new
        <title>New</title>sql
        == http://a.example/picture 200 image/png
    ";
    let server = serve(web);
    let dir = folder();
    let topic = file(dir.path(), "t.toml", "name = \"x\"\nquery = \"sql\"\n");
    let out = dir.path().join("out");
    let seed = ["--seed", "http://a.example/", "--delay", "1ms", "--strategy", "breadth-first"];
    finish(crawl(&server, &topic, &out).args(seed)).ok();
    for (path, says) in [
        ("private", "robots.txt forbids it"),
        ("gone", "the server answered with status 410"),
        ("old", "it redirects to another URL"),
        ("picture", "not a type of document that is read"),
    ] {
        let ran = run(["explain", out.to_str().unwrap(), &format!("http://a.example/{path}")]);
        // The strategy is the one of the command line, not the topic's.
        ran.ok().shows(&[
            says,
            "no page was kept",
            "seen on   http://a.example/ as \"sql\"",
            "(strategy breadth-first)",
        ]);
    }
}

#[test]
fn export_writes_each_format() {
    let dir = folder();
    for (name, starts) in [
        ("p.jsonl", &b"{\"url\":"[..]),
        ("p.csv", b"url,"),
        ("p.parquet", b"PAR1"),
        ("p.warc.gz", &[0x1f, 0x8b]),
    ] {
        let path = dir.path().join(name);
        let ran = on_demo("export", &["-o", path.to_str().unwrap()]);
        assert!(ran.ok().err.contains("pages as "), "{ran}");
        let bytes = std::fs::read(&path).unwrap();
        assert!(bytes.starts_with(starts), "{name} begins with {:?}", &bytes[..8.min(bytes.len())]);
    }
    let lines = |args: &[&str]| on_demo("export", args).ok().out.lines().count();
    assert!(lines(&["--all"]) > lines(&[]), "--all gives more");
}

#[test]
fn the_report_is_written() {
    let ran = on_demo("report", &[]);
    assert!(ran.ok().err.contains("report.html"), "{ran}");
    let html = std::fs::read_to_string(demo().out.join("report.html")).expect("report.html is there");
    assert!(html.contains("Syllabi of database courses"), "it names the topic");
    assert!(!html.contains("src=\"http") && !html.contains("@import"), "it needs nothing from elsewhere");
}

#[test]
fn lists_and_settings() {
    run(["strategies"]).ok().shows(&["breadth-first", "best-first", "genre"]);
    run(["strategies", "genre"]).ok().shows(&["genre:", "When it helps"]);
    run(["judges"]).ok().shows(&["genre"]);
    run(["judges", "genre"]).ok().shows(&["genre:"]);
    run(["genres"]).ok().shows(&["syllabus"]);
    run(["genres", "syllabus"]).ok().shows(&["office hours", "[en]", "[pt]", "[url]"]);
    for shell in ["bash", "zsh", "fish"] {
        run(["completions", shell]).ok().shows(&["gleaner"]);
    }
    let dir = folder();
    let topic = file(dir.path(), "t.toml", "name = \"x\"\nquery = \"y\"\n[limits]\npages = 7\n");
    let ran = finish(gleaner().arg("config").arg(topic).args(["--delay", "2s"]));
    let origin =
        |key: &str| ran.out.lines().find(|l| l.starts_with(key)).unwrap_or_else(|| panic!("{key}: {ran}"));
    assert!(origin("pages =").contains("7") && origin("pages =").ends_with("# topic file"));
    assert!(origin("delay =").contains("2s") && origin("delay =").ends_with("# command line"));
    assert!(origin("timeout =").ends_with("# default"));
}

#[test]
fn a_new_topic_can_be_judged_with() {
    let dir = folder();
    let ran = finish(gleaner().current_dir(dir.path()).args([
        "new",
        "--subject",
        "relational model, sql",
        "--genre",
        "syllabus",
        "-o",
        "db.toml",
    ]));
    assert!(ran.ok().err.contains("wrote db.toml") && ran.err.contains("gleaner crawl db.toml"), "{ran}");
    let text = std::fs::read_to_string(dir.path().join("db.toml")).unwrap();
    assert!(text.contains("relational model") && text.contains('#'), "commented: {text}");
    let page = "<title>CS 564: Databases - Syllabus</title><h1>Syllabus</h1><p>Office hours, grading, \
                textbook, \
                prerequisites. The relational model, SQL. Homework and exams. Schedule. Relational model \
                and sql.</p>";
    let page = file(dir.path(), "page.html", page);
    let topic = dir.path().join("db.toml");
    let ran = finish(gleaner().arg("judge").arg(&topic).arg(&page));
    ran.ok().shows(&["page.html", "score", "threshold", "office hours ×1", "sql ×2"]);
    let json = finish(gleaner().arg("judge").arg(&topic).arg(&page).arg("--json"));
    let line: serde_json::Value = serde_json::from_str(json.ok().out.trim()).unwrap();
    assert!(line["assessment"]["score"].as_f64().unwrap() > 0.3, "{line}");
    let ran = finish(gleaner().arg("extract").arg(&page));
    ran.ok().shows(&["CS 564: Databases - Syllabus", "headings", "Syllabus", "Office hours"]);
}

#[test]
fn fetch_shows_every_hop() {
    let web = "
        == http://a.example/old 301 location: http://b.example/new
        == http://b.example/new 200 x-note: hello
        <title>New</title>the body
    ";
    let server = serve(web);
    let args = ["fetch", "http://a.example/old", "--allow-private", "--body", "--resolve", &server.resolve()];
    let ran = run(args);
    assert_eq!(ran.ok().out.trim(), "<title>New</title>the body");
    for text in [
        "http://a.example/old",
        "301",
        "location: http://b.example/new",
        "http://b.example/new",
        "200",
        "x-note: hello",
    ] {
        assert!(ran.err.contains(text), "{text}: {ran}");
    }
    let args = ["fetch", "http://a.example/none", "--allow-private", "--resolve", &server.resolve()];
    run(args).fails(1, &["404"]);
}

/// Titles, anchors, headings and headers come from strangers. None of them may drive the terminal.
#[test]
fn the_web_cannot_drive_the_terminal() {
    const EVIL: &str =
        "\x1b]0;owned\x07\x1b[2J\u{9b}31m\u{202e}\u{2066}\u{2067}\u{2068}\u{2069}\u{202a}\u{200f}evil";
    let page = format!(
        "<title>{EVIL} sql</title><meta name=description content='{EVIL}'><h1>{EVIL}</h1>\
         <a href='/two' title='{EVIL}'>{EVIL} sql</a> sql sql {EVIL}"
    );
    let web = format!(
        "== http://a.example/\n{page}\n== http://a.example/two\n{page} two\n== http://a.example/x 404\n\
         {page}\n"
    );
    let server = serve(&web);
    let dir = folder();
    let topic = file(dir.path(), "t.toml", &format!("name = \"x {}\"\nquery = \"sql\"\n", "sql"));
    let out = dir.path().join("out");
    let mut all =
        vec![finish(crawl(&server, &topic, &out).args(["--seed", "http://a.example/", "--delay", "1ms"]))];
    let dir_arg = out.to_str().unwrap();
    let page_file = file(dir.path(), "evil.html", &page);
    all.push(run(["status", dir_arg]));
    all.push(run(["search", dir_arg, "sql", "--all"]));
    all.push(run(["explain", dir_arg, "http://a.example/two"]));
    all.push(run(["extract", page_file.to_str().unwrap()]));
    all.push(run(["judge", topic.to_str().unwrap(), page_file.to_str().unwrap()]));
    // JSON for programs is read on terminals too.
    all.push(run(["search", dir_arg, "sql", "--all", "--json"]));
    all.push(run(["extract", page_file.to_str().unwrap(), "--json"]));
    all.push(run(["explain", dir_arg, "http://a.example/two", "--json"]));
    all.push(run(["fetch", "http://a.example/", "--allow-private", "--resolve", &server.resolve()]));
    for ran in &all {
        ran.ok();
        for text in [&ran.out, &ran.err] {
            let turns = |c: char| matches!(c, '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
            let bad = text.chars().find(|c| (c.is_control() && *c != '\n' && *c != '\r') || turns(*c));
            assert!(bad.is_none(), "{bad:?} in\n{}", text.escape_debug());
        }
    }
    // The pages were found, all the same.
    assert!(all[2].out.contains("evil"), "{}", all[2]);
}

/// What a strategy or judge learnt is its own: a run with another one starts afresh and takes the rest as it
/// is.
#[test]
fn a_resumed_crawl_may_change_its_mind() {
    let mut web = String::from("== http://a.example/\n<title>Start</title>\n");
    for n in 1..24 {
        web += &format!("<a href='/{n}'>{} {n}</a>\n", if n % 3 == 0 { "sql joins" } else { "soup" });
    }
    for n in 1..24 {
        web += &format!("== http://a.example/{n}\n<title>Page {n}</title>sql and joins, page {n}\n");
    }
    let server = serve(&web);
    let dir = folder();
    let topic = file(
        dir.path(),
        "t.toml",
        "name = \"x\"\nquery = \"sql joins\"\n[content]\nterms = [\"sql\", \"joins\"]\n",
    );
    let out = dir.path().join("out");
    let strategies: Vec<&str> =
        ["genre", "best-first", "breadth-first", "best-first-anchor", "genre"].to_vec();
    let judges = ["query", "genre", "terms", "query", "genre"];
    for (i, (strategy, judge)) in strategies.iter().zip(judges).enumerate() {
        let pages = if i == 4 { 1000 } else { 4 * (i + 1) };
        let ran = finish(crawl(&server, &topic, &out).args([
            "--seed",
            "http://a.example/",
            "--delay",
            "1ms",
            "--strategy",
            strategy,
            "--judge",
            judge,
            "--pages",
            &pages.to_string(),
        ]));
        ran.ok();
    }
    let export = run(["export", out.to_str().unwrap(), "--all"]);
    assert_eq!(export.ok().out.lines().count(), 24);
    assert_eq!(server.log().entries().len(), 25, "robots.txt and every page once");
}
