//! Preparing a topic with the real program: terms, thresholds, seeds, labels, and judging again. Loopback only.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Command, Output};
use std::sync::Arc;

struct Ran {
    code: i32,
    out: String,
    err: String,
}

fn gleaner(dir: &Path, args: &[&str]) -> Ran {
    gleaner_with(dir, args, &[])
}

fn gleaner_with(dir: &Path, args: &[&str], env: &[(&str, &str)]) -> Ran {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gleaner"));
    command.current_dir(dir).args(args).env("NO_COLOR", "1").stdin(std::process::Stdio::null());
    for name in ["BRAVE_API_KEY", "BRAVE_SEARCH_API_KEY", "GOOGLE_API_KEY", "GOOGLE_CX", "GOOGLE_CSE_ID"] {
        command.env_remove(name);
    }
    let Output { status, stdout, stderr } = command.envs(env.iter().copied()).output().unwrap();
    let text = |b: Vec<u8>| String::from_utf8(b).unwrap();
    Ran { code: status.code().unwrap_or(-1), out: text(stdout), err: text(stderr) }
}

/// Runs and must succeed.
fn fine(dir: &Path, args: &[&str]) -> Ran {
    let ran = gleaner(dir, args);
    assert_eq!(ran.code, 0, "{args:?}\nout: {}\nerr: {}", ran.out, ran.err);
    ran
}

/// An answer: status, further header lines, type, body.
type Reply = (u16, String, &'static str, String);

/// A server that answers `host`, `target` with what the function says. It lives as long as the test process.
fn serve(answer: impl Fn(&str, &str, &str) -> Reply + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = listener.local_addr().unwrap();
    let answer = Arc::new(answer);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let answer = answer.clone();
            std::thread::spawn(move || {
                let mut reader = BufReader::new(stream.try_clone().unwrap());
                let mut stream = stream;
                loop {
                    let (mut head, mut line) = (String::new(), String::new());
                    while reader.read_line(&mut line).unwrap_or(0) > 0 && line != "\r\n" {
                        head.push_str(&line);
                        line.clear();
                    }
                    if head.is_empty() {
                        return;
                    }
                    let target = head.split(' ').nth(1).unwrap_or("/").to_string();
                    let find = |name: &str| {
                        let line = head.lines().find(|l| l.to_lowercase().starts_with(name));
                        line.and_then(|l| l.split_once(':'))
                            .map_or(String::new(), |(_, v)| v.trim().to_string())
                    };
                    let (status, headers, kind, body) =
                        answer(&find("host:"), &target, &find("x-subscription-token:"));
                    let reply = format!(
                        "HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n{headers}\r\n{body}",
                        body.len()
                    );
                    if stream.write_all(reply.as_bytes()).is_err() {
                        return;
                    }
                }
            });
        }
    });
    addr
}

fn html(title: &str, body: &str) -> String {
    format!(
        "<html lang=en><head><title>{title}</title></head><body><nav>Campus portal directory</nav><main>{body}</main>\
         <footer>Some Department of Example Things</footer></body></html>"
    )
}

/// Ten database syllabi, ten syllabi of other courses, ten pages of news, and an entry page that links to all.
fn page(path: &str) -> Option<String> {
    let number =
        |prefix: &str| path.strip_prefix(prefix).and_then(|n| n.parse::<u32>().ok()).filter(|n| *n < 10);
    if path == "/" {
        let links: String = (0..10)
            .flat_map(|i| {
                ["db", "art", "news"].map(|k| format!("<p><a href=\"/{k}{i}\">{k} number {i}</a></p>"))
            })
            .collect();
        return Some(html("Welcome", &links));
    }
    let syllabus = "<h1>Course syllabus</h1><p>Office hours on demand. Grading by homework.</p>";
    if let Some(i) = number("/db") {
        let text = format!(
            "{syllabus}<p>In year {i} we study the relational model, query optimization and transaction processing.</p>\
             <p>The relational model comes first, query optimization later, in part {i}.</p>"
        );
        return Some(html(&format!("Databases {i}"), &text));
    }
    if let Some(i) = number("/art") {
        let text = format!("{syllabus}<p>We look at oil paintings and marble sculpture of epoch {i}.</p>");
        return Some(html(&format!("Art {i}"), &text));
    }
    number("/news").map(|i| html("News", &format!("<p>The football team won again, {i} to nothing.</p>")))
}

fn campus() -> SocketAddr {
    serve(|_, target, _| match page(target) {
        Some(body) => (200, String::new(), "text/html; charset=utf-8", body),
        None => (404, String::new(), "text/html", "no".into()),
    })
}

const TOPIC: &str = "# What I want.
name = \"Database courses\"   # a name

[genre]                # what kind
terms = [\"syllabus\", \"office hours\", \"grading\"]

# The subject.
[content]
terms = [
    \"relational model\",   # the basics
    \"query optimization\", # the hard part
]

[judge]
kind = \"genre\"
threshold = \"auto\"     # or a number

[fetch]
delay = \"0s\"
";

/// A collection of the campus, crawled whole, with its topic file beside it.
fn crawled(dir: &Path) -> SocketAddr {
    let addr = campus();
    std::fs::write(dir.join("t.toml"), TOPIC).unwrap();
    let resolve = format!("*:{addr}");
    fine(
        dir,
        &[
            "crawl",
            "t.toml",
            "--seed",
            "http://campus.example/",
            "--out",
            "c",
            "--resolve",
            &resolve,
            "--allow-private",
            "--quiet",
        ],
    );
    addr
}

/// The campus as files of a folder web.
fn folder_web(dir: &Path) {
    let host = dir.join("web/campus.example");
    std::fs::create_dir_all(&host).unwrap();
    for kind in ["db", "art", "news"] {
        for i in 0..10 {
            let name = format!("{kind}{i}");
            std::fs::write(host.join(format!("{name}.html")), page(&format!("/{name}")).unwrap()).unwrap();
        }
    }
}

fn db_urls(n: usize) -> Vec<String> {
    (0..n).map(|i| format!("http://campus.example/db{i}.html")).collect()
}

#[test]
fn thresholds_of_a_recorded_web() {
    let dir = tempfile::tempdir().unwrap();
    let d = dir.path();
    folder_web(d);
    std::fs::write(d.join("t.toml"), TOPIC).unwrap();
    let mut seeds = db_urls(10).join("\n");
    seeds += "\nhttp://campus.example/news1.html\n";
    std::fs::write(d.join("seeds.txt"), &seeds).unwrap();
    let ran = fine(d, &["threshold", "t.toml", "--web", "web", "--seeds", "seeds.txt", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(json["pages"].as_array().unwrap().len(), 11);
    // 11 ways to choose seeds, 5 estimators.
    let estimates = json["estimates"].as_array().unwrap();
    assert_eq!(estimates.len(), 55);
    let of = |seeds: &str, estimator: &str| {
        let found = estimates.iter().find(|e| e["seeds"] == seeds && e["estimator"] == estimator).unwrap();
        found["threshold"].as_f64().unwrap()
    };
    let best = json["pages"][0]["similarity"].as_f64().unwrap();
    assert!(best > 0.3, "{best}");
    // Ten pages alike and one of nothing: two-means finds the ten.
    assert!((of("all", "kmeans") - best).abs() < 0.1);
    assert!(of("last 25 %", "mean") <= of("first 25 %", "mean"));
    let auto = json["auto"]["threshold"].as_f64().unwrap();
    assert!((0.05..0.95).contains(&auto), "{auto}");

    // For people: bars, a plot, the table, what auto does and why.
    let ran = fine(d, &["threshold", "t.toml", "--web", "web", "--seeds", "seeds.txt"]);
    for part in [
        "11 seed pages",
        "silhouette",
        "iqr",
        "random 75 %",
        "▲",
        "auto would choose",
        "http://campus.example/db0.html",
    ] {
        assert!(ran.out.contains(part), "{part}\n{}", ran.out);
    }
    // Entry pages say nothing, and that is said.
    let news: Vec<String> = (0..4).map(|i| format!("http://campus.example/news{i}.html")).collect();
    let mut args = vec!["threshold", "t.toml", "--web", "web", "--seeds"];
    args.extend(news.iter().map(String::as_str));
    let ran = fine(d, &args);
    assert!(ran.out.contains("anything in common"), "{}", ran.out);
}

#[test]
fn a_threshold_is_written_and_nothing_else_changes() {
    let dir = tempfile::tempdir().unwrap();
    let d = dir.path();
    folder_web(d);
    std::fs::write(d.join("t.toml"), TOPIC).unwrap();
    let mut args = vec!["threshold", "t.toml", "--web", "web", "--write", "kmeans", "--seeds"];
    let urls = db_urls(5);
    args.extend(urls.iter().map(String::as_str));
    fine(d, &args);
    let text = std::fs::read_to_string(d.join("t.toml")).unwrap();
    let number: f64 = text
        .lines()
        .find_map(|l| l.strip_prefix("threshold = "))
        .and_then(|l| l.split_whitespace().next())
        .unwrap()
        .parse()
        .unwrap();
    assert_eq!(text, TOPIC.replace("\"auto\"", &format!("{number:?}")));
    fine(d, &["config", "t.toml"]);
}

#[test]
fn threshold_errors_tell_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    let d = dir.path();
    std::fs::write(d.join("t.toml"), TOPIC).unwrap();
    let ran = gleaner(d, &["threshold", "t.toml"]);
    assert_eq!(ran.code, 4, "{}", ran.err);
    assert!(ran.err.contains("no seeds") && ran.err.contains("--seeds"), "{}", ran.err);
    let ran = gleaner(d, &["threshold", "t.toml", "--seeds", "http://x.example/", "--write", "kmean"]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("did you mean `kmeans`"), "{}", ran.err);
    let ran = gleaner(d, &["threshold", "t.toml", "--web", "nowhere"]);
    assert!(ran.code == 2 && ran.err.contains("there is no web at nowhere"), "{}", ran.err);
    let ran = gleaner(d, &["threshold", "missing.toml"]);
    assert!(ran.code != 0 && ran.err.contains("missing.toml"), "{}", ran.err);
}

#[test]
fn terms_from_files_into_a_topic_with_its_comments_kept() {
    let dir = tempfile::tempdir().unwrap();
    let d = dir.path();
    folder_web(d);
    std::fs::write(d.join("t.toml"), TOPIC).unwrap();
    let file = |k: &str, i: u32| format!("web/campus.example/{k}{i}.html");
    let (a, b, c) = (file("db", 0), file("db", 1), file("db", 2));
    std::fs::create_dir(d.join("other")).unwrap();
    for i in 0..10 {
        std::fs::copy(d.join(file("news", i)), d.join(format!("other/{i}.html"))).unwrap();
        std::fs::copy(d.join(file("art", i)), d.join(format!("other/art{i}.html"))).unwrap();
    }
    let ran = fine(d, &["terms", &a, &b, &c, "--background", "other", "--into", "t.toml"]);
    // Into a pipe: tabs. What the topic has is not suggested again; nor are menus, footers and what others say too.
    let terms: Vec<&str> = ran.out.lines().map(|l| l.split('\t').nth(1).unwrap()).collect();
    assert!(terms.contains(&"transaction processing"), "{}", ran.out);
    for wrong in
        ["relational model", "campus portal", "portal", "department", "office hours", "the", "syllabus"]
    {
        assert!(!terms.contains(&wrong), "{wrong}: {}", ran.out);
    }
    assert!(ran.out.lines().all(|l| l.starts_with("content\t") && l.split('\t').count() == 5), "{}", ran.out);
    let text = std::fs::read_to_string(d.join("t.toml")).unwrap();
    let mut old = TOPIC.lines();
    // Every old line is there, in order.
    let mut wanted = old.next();
    for line in text.lines() {
        if Some(line) == wanted {
            wanted = old.next();
        }
    }
    assert_eq!(wanted, None, "{text}");
    assert!(text.contains("    \"transaction processing\",\n"), "{text}");
    // Again: nothing new.
    let again = fine(d, &["terms", &a, &b, &c, "--background", "other", "--into", "t.toml"]);
    let after = std::fs::read_to_string(d.join("t.toml")).unwrap();
    assert!(!again.out.contains("transaction processing"), "{}", again.out);
    assert!(after.starts_with(text.split("\"transaction processing\"").next().unwrap()));
}

#[test]
fn terms_by_the_papers_frequency() {
    let dir = tempfile::tempdir().unwrap();
    let d = dir.path();
    folder_web(d);
    let urls = db_urls(3);
    let mut args =
        vec!["terms", "--web", "web", "--rank", "frequency", "--content-terms", "6", "--genre-terms", "3"];
    args.extend([
        "--genre-pages",
        "http://campus.example/art1.html",
        "http://campus.example/art2.html",
        "--json",
    ]);
    args.push("--");
    args.extend(urls.iter().map(String::as_str));
    let ran = fine(d, &args);
    let json: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    let list = |set: &str| -> Vec<String> {
        json[set].as_array().unwrap().iter().map(|t| t["term"].as_str().unwrap().to_string()).collect()
    };
    let (genre, content) = (list("genre"), list("content"));
    assert_eq!((genre.len(), content.len()), (3, 6));
    assert!(content.contains(&"relational model".to_string()), "{content:?}");
    assert!(genre.iter().all(|g| !content.contains(g)), "{genre:?} {content:?}");
    let counts: Vec<u64> =
        json["content"].as_array().unwrap().iter().map(|t| t["count"].as_u64().unwrap()).collect();
    assert!(counts.is_sorted_by(|a, b| a >= b), "{counts:?}");
}

#[test]
fn terms_errors_tell_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    let d = dir.path();
    let ran = gleaner(d, &["terms"]);
    assert!(ran.code == 2 && ran.err.contains("no pages to take terms from"), "{}", ran.err);
    std::fs::write(d.join("a.html"), "<p>the relational model</p>").unwrap();
    let ran = gleaner(d, &["terms", "a.html", "--rank", "log-odds"]);
    assert!(ran.code == 2 && ran.err.contains("--background"), "{}", ran.err);
    let ran = gleaner(d, &["terms", "a.html", "--rank", "best"]);
    assert!(ran.code == 2 && ran.err.contains("frequency"), "{}", ran.err);
    let ran = gleaner(d, &["terms", "a.html", "--into", "none.toml"]);
    assert!(ran.code != 0 && ran.err.contains("gleaner new"), "{}", ran.err);
    let ran = gleaner(d, &["terms", "missing.html"]);
    assert!(ran.code != 0 && ran.err.contains("missing.html"), "{}", ran.err);
    // Without a background, by frequency, and it says so.
    let ran = fine(d, &["terms", "a.html"]);
    assert!(
        ran.err.contains("--background") && ran.out.contains("relational model"),
        "{}{}",
        ran.out,
        ran.err
    );
}

fn status(dir: &Path) -> serde_json::Value {
    serde_json::from_str(&fine(dir, &["status", "c", "--json"]).out).unwrap()
}

#[test]
fn labels_are_kept_and_count_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let d = dir.path();
    crawled(d);
    let before = status(d);
    assert_eq!(before["pages"], 31);
    assert!(before["labels"].is_null());
    let relevant = before["relevant"].as_u64().unwrap();

    fine(d, &["label", "c", "http://campus.example/news1", "http://campus.example/news2", "--yes"]);
    fine(d, &["label", "c", "http://campus.example/db1", "--no"]);
    let after = status(d);
    assert_eq!(after["relevant"].as_u64().unwrap(), relevant + 2 - 1);
    assert_eq!(after["labels"]["missed"], 2);
    assert_eq!(after["labels"]["false_relevant"], 1);
    let shown = fine(d, &["status", "c"]);
    assert!(shown.out.contains("3 labelled (2 relevant)"), "{}", shown.out);
    let exported = fine(d, &["export", "c", "--format", "jsonl"]);
    assert!(
        exported.out.contains("/news1") && !exported.out.contains("campus.example/db1\""),
        "{}",
        exported.out
    );

    // The list shows the label and the judge's own word.
    let list = fine(d, &["label", "c"]);
    assert!(list.out.contains("http://campus.example/db1\tno\tyes\t"), "{}", list.out);
    assert!(list.out.contains("http://campus.example/news1\tyes\tno\t"), "{}", list.out);
    fine(d, &["label", "c", "http://campus.example/db1", "--clear"]);
    assert_eq!(status(d)["relevant"].as_u64().unwrap(), relevant + 2);
    let explained = fine(d, &["explain", "c", "http://campus.example/news1"]);
    assert!(explained.out.contains("labelled relevant by you"), "{}", explained.out);

    // A crawl that goes on keeps them.
    let ran =
        gleaner(d, &["crawl", "--out", "c", "--allow-private", "--resolve", "*:127.0.0.1:1", "--quiet"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(status(d)["relevant"].as_u64().unwrap(), relevant + 2);

    let sample = fine(d, &["label", "c", "--sample", "5"]);
    assert_eq!(sample.out.lines().count(), 5);
    assert!(!sample.out.contains("/news1\t"), "labelled pages are not drawn: {}", sample.out);
}

#[test]
fn labels_from_a_file_and_their_errors() {
    let dir = tempfile::tempdir().unwrap();
    let d = dir.path();
    crawled(d);
    std::fs::write(
        d.join("l.tsv"),
        "# mine\nhttp://campus.example/db1\tyes\nhttp://campus.example/news1\tother\nhttp://elsewhere.example/\tyes\n",
    )
    .unwrap();
    let ran = fine(d, &["label", "c", "--from", "l.tsv"]);
    assert!(ran.err.contains("2 pages labelled") && ran.err.contains("elsewhere.example"), "{}", ran.err);
    assert_eq!(status(d)["labels"]["true_relevant"], 1);

    let ran = gleaner(d, &["label", "c", "http://campus.example/db1"]);
    assert!(ran.code == 2 && ran.err.contains("--yes or --no"), "{}", ran.err);
    let ran = gleaner(d, &["label", "c", "http://campus.example/nowhere", "--yes"]);
    assert!(ran.code == 1 && ran.err.contains("never saw it"), "{}", ran.err);
    let ran = gleaner(d, &["label", "nothere", "http://campus.example/", "--yes"]);
    assert!(ran.code == 2 && ran.err.contains("is not a collection"), "{}", ran.err);
    std::fs::write(d.join("bad.tsv"), "http://campus.example/db1 yes\n").unwrap();
    let ran = gleaner(d, &["label", "c", "--from", "bad.tsv"]);
    assert!(ran.code == 2 && ran.err.contains("bad.tsv:1"), "{}", ran.err);
}

#[test]
fn a_changed_topic_judges_the_collection_again_without_fetching() {
    let dir = tempfile::tempdir().unwrap();
    let d = dir.path();
    crawled(d);
    let before = status(d);
    let art =
        TOPIC.replace("relational model", "oil paintings").replace("query optimization", "marble sculpture");
    // Of the right kind alone is not enough.
    let art = art.replace("\"auto\"", "0.6");
    std::fs::write(d.join("art.toml"), &art).unwrap();
    fine(d, &["label", "c", "http://campus.example/art1", "--yes"]);
    fine(d, &["label", "c", "http://campus.example/db1", "--no"]);

    let trial = fine(d, &["rejudge", "c", "art.toml", "--dry-run", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&trial.out).unwrap();
    assert_eq!((&json["pages"], &json["without_archive"]), (&31.into(), &0.into()));
    assert_eq!(std::fs::read_to_string(d.join("c/topic.toml")).unwrap(), TOPIC);
    assert_eq!(status(d)["threshold"], before["threshold"], "a trial changes nothing");

    // The server is asked nothing: there is none at this address.
    let ran = fine(d, &["rejudge", "c", "art.toml"]);
    assert!(ran.out.contains("became relevant") && ran.out.contains("relevant no more"), "{}", ran.out);
    assert!(ran.out.contains("on the pages you labelled"), "{}", ran.out);
    assert_eq!(std::fs::read_to_string(d.join("c/topic.toml")).unwrap(), art);
    let urls = |all: &str| -> Vec<String> {
        let mut list: Vec<String> = all
            .lines()
            .map(|l| {
                serde_json::from_str::<serde_json::Value>(l).unwrap()["url"].as_str().unwrap().to_string()
            })
            .collect();
        list.sort();
        list
    };
    let found = urls(&fine(d, &["export", "c", "--format", "jsonl"]).out);
    let expected: Vec<String> = (0..10).map(|i| format!("http://campus.example/art{i}")).collect();
    assert_eq!(found, expected);
    // Reasons are the new ones.
    let explained = fine(d, &["explain", "c", "http://campus.example/art3"]);
    assert!(
        explained.out.contains("oil paintings") && !explained.out.contains("relational"),
        "{}",
        explained.out
    );
    let quality = &status(d)["labels"];
    assert_eq!((&quality["true_relevant"], &quality["true_other"]), (&1.into(), &1.into()));

    // Judging again by the same topic changes nothing, and the crawl goes on from there.
    let again: serde_json::Value = serde_json::from_str(&fine(d, &["rejudge", "c", "--json"]).out).unwrap();
    assert_eq!((again["gained"].as_array().unwrap().len(), again["lost"].as_array().unwrap().len()), (0, 0));
    let ran =
        gleaner(d, &["crawl", "--out", "c", "--allow-private", "--resolve", "*:127.0.0.1:1", "--quiet"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(status(d)["relevant"], 10);

    // Without the archive the kept text is judged.
    std::fs::rename(d.join("c/warc"), d.join("gone")).unwrap();
    let bare: serde_json::Value =
        serde_json::from_str(&fine(d, &["rejudge", "c", "t.toml", "--json"]).out).unwrap();
    assert_eq!(bare["without_archive"], 31);
    let found = urls(&fine(d, &["export", "c", "--format", "jsonl"]).out);
    assert!(found.contains(&"http://campus.example/db3".to_string()), "{found:?}");
}

/// A server that speaks SearXNG's JSON: pages of three results, of which one is always new.
fn searxng(results: Vec<(String, String)>) -> SocketAddr {
    serve(move |_, target, _| {
        let get = |name: &str| {
            let query = target.split_once('?').map_or("", |(_, q)| q);
            let pair = query.split('&').find_map(|p| p.strip_prefix(name)?.strip_prefix('='));
            pair.unwrap_or("").replace('+', " ").replace("%22", "\"")
        };
        if !target.starts_with("/search?") || get("format") != "json" {
            return (403, String::new(), "text/html", "no".into());
        }
        let query = get("q");
        if query.contains("limited") {
            return (429, "Retry-After: 3600\r\n".into(), "text/plain", "slow down".into());
        }
        if query.contains("broken") {
            let body =
                r#"{"results": [], "unresponsive_engines": [["google", "timeout"], ["bing", "CAPTCHA"]]}"#;
            return (200, String::new(), "application/json", body.into());
        }
        let page: usize = get("pageno").parse().unwrap_or(1);
        let list: Vec<_> = results
            .iter()
            .skip(3 * (page - 1))
            .take(if query.contains("nothing") { 0 } else { 3 })
            .map(|(url, title)| serde_json::json!({ "url": url, "title": format!("{title} {query}") }))
            .collect();
        let body = serde_json::json!({ "query": query, "results": list, "unresponsive_engines": [] });
        (200, String::new(), "application/json", body.to_string())
    })
}

#[test]
fn seeds_from_a_searxng() {
    let dir = tempfile::tempdir().unwrap();
    let d = dir.path();
    let topic = format!(
        "{TOPIC}\n[seeds]            # where to start\nurls = [\"http://campus.example/db0\"] # known\n"
    );
    std::fs::write(d.join("t.toml"), &topic).unwrap();
    let web = campus();
    let mut results: Vec<(String, String)> =
        (0..4).map(|i| (format!("http://campus.example/db{i}"), format!("Databases {i}"))).collect();
    // The same page twice, one that is not there, and one that is no page.
    results.insert(1, ("http://campus.example/db0#top".into(), "again".into()));
    results.insert(2, ("http://campus.example/gone".into(), "gone".into()));
    results.push(("mailto:me@campus.example".into(), "mail".into()));
    let engine = format!("searxng:http://{}/", searxng(results));
    let resolve = format!("campus.example:80:{web}");
    let ran = fine(
        d,
        &[
            "seeds",
            "t.toml",
            "--engine",
            &engine,
            "--resolve",
            &resolve,
            "--allow-private",
            "--into",
            "t.toml",
        ],
    );
    let lines: Vec<Vec<&str>> = ran.out.lines().map(|l| l.split('\t').collect()).collect();
    let urls: Vec<&str> = lines.iter().map(|l| l[0]).collect();
    let expected: Vec<String> = (0..4).map(|i| format!("http://campus.example/db{i}")).collect();
    assert_eq!(urls, expected);
    // Rank, status, builder and query that found it.
    assert_eq!(lines[0][1..7], ["1", "200", "", "web", "unionFirst", "syllabus \"relational model\""]);
    assert_eq!(lines[1][1], "4");
    assert!(ran.err.contains("left out: http://campus.example/gone: status 404"), "{}", ran.err);
    let text = std::fs::read_to_string(d.join("t.toml")).unwrap();
    let added = "[\"http://campus.example/db0\", \"http://campus.example/db1\", \"http://campus.example/db2\", \"http://campus.example/db3\"] # known";
    assert_eq!(text, topic.replace("[\"http://campus.example/db0\"] # known", added));

    // What was written to a file can be crawled from.
    std::fs::write(d.join("found.tsv"), &ran.out).unwrap();
    let all = format!("*:{web}");
    fine(
        d,
        &[
            "crawl",
            "t.toml",
            "--seeds",
            "found.tsv",
            "--out",
            "c",
            "--resolve",
            &all,
            "--allow-private",
            "--quiet",
            "--pages",
            "4",
        ],
    );
    assert_eq!(status(d)["pages"], 4);

    // Every builder: the best of each first, each page once.
    let ran = fine(
        d,
        &["seeds", "t.toml", "--engine", &engine, "--builder", "all", "--limit", "3", "--json", "--no-check"],
    );
    assert_eq!(ran.out.lines().count(), 3);
    let queries = fine(d, &["seeds", "t.toml", "--queries", "--builder", "all"]);
    assert_eq!(queries.out.lines().count(), 10);
    assert!(queries.out.contains("justGenreOR\tsyllabus OR \"office hours\" OR grading"), "{}", queries.out);
}

#[test]
fn what_goes_wrong_with_an_engine_is_explained() {
    let dir = tempfile::tempdir().unwrap();
    let d = dir.path();
    let engine = format!("searxng:http://{}", searxng(vec![("http://a.example/".into(), "a".into())]));
    let ask = |subject: &str, engine: &str| {
        std::fs::write(d.join("x.toml"), format!("name = 'x'\n[content]\nterms = ['{subject}']\n")).unwrap();
        gleaner(d, &["seeds", "x.toml", "--no-check", "--engine", engine])
    };
    let ran = ask("limited", &engine);
    assert!(
        ran.code == 1 && ran.err.contains("too many requests") && ran.err.contains("3600 s"),
        "{}",
        ran.err
    );
    let ran = ask("broken", &engine);
    assert!(ran.code == 1 && ran.err.contains("2 of them did not respond"), "{}", ran.err);
    let ran = ask("nothing", &engine);
    assert!(
        ran.code == 4 && ran.err.contains("found nothing") && ran.err.contains("--builder"),
        "{}",
        ran.err
    );
    // A web server that is no search engine; nobody; nonsense.
    let ran = ask("x", &format!("searxng:http://{}", campus()));
    assert!(ran.code == 1 && ran.err.contains("no search at this address"), "{}", ran.err);
    let page = serve(|_, _, _| (200, String::new(), "text/html", "<p>hello</p>".into()));
    let ran = ask("x", &format!("searxng:http://{page}"));
    assert!(ran.code == 1 && ran.err.contains("not JSON") && ran.err.contains("settings.yml"), "{}", ran.err);
    let ran = ask("x", "searxng:http://127.0.0.1:1");
    assert!(ran.code == 1 && ran.err.contains("cannot be reached"), "{}", ran.err);
    let ran = ask("x", "altavista");
    assert!(ran.code == 2 && ran.err.contains("searxng:URL"), "{}", ran.err);
    for (engine, variable) in [("brave", "BRAVE_API_KEY"), ("google", "GOOGLE_API_KEY")] {
        let ran = ask("x", engine);
        assert!(ran.code == 2 && ran.err.contains(variable), "{}", ran.err);
    }
    let ran = gleaner(d, &["seeds", "x.toml", "--engine", &engine, "--builder", "justGenre"]);
    assert!(ran.code == 4 && ran.err.contains("no terms for justGenre"), "{}", ran.err);
    let ran = gleaner(d, &["seeds", "x.toml", "--engine", &engine, "--builder", "unionFrist"]);
    assert!(ran.code == 2 && ran.err.contains("unionFirst"), "{}", ran.err);
}

#[test]
fn other_engines() {
    let dir = tempfile::tempdir().unwrap();
    let d = dir.path();
    std::fs::write(d.join("x.toml"), "name = 'x'\n[content]\nterms = ['b-trees']\n").unwrap();
    // Brave: the key in a header; two pages of results.
    let brave = serve(|_, target, key| {
        if key != "secret" {
            return (401, String::new(), "application/json", r#"{"error": {"detail": "bad token"}}"#.into());
        }
        let (first, more) = if target.contains("offset=0") { (0, true) } else { (20, false) };
        let results: Vec<_> = (first..first + 20)
            .map(|i| serde_json::json!({ "url": format!("http://r{i}.example/"), "title": "t" }))
            .collect();
        let body =
            serde_json::json!({ "query": { "more_results_available": more }, "web": { "results": results } });
        (200, String::new(), "application/json", body.to_string())
    });
    let engine = format!("brave:http://{brave}/res");
    let args = ["seeds", "x.toml", "--no-check", "--engine", engine.as_str(), "--limit", "30"];
    let ran = gleaner_with(d, &args, &[("BRAVE_API_KEY", "secret")]);
    assert_eq!((ran.code, ran.out.lines().count()), (0, 30), "{}", ran.err);
    let ran = gleaner_with(d, &args, &[("BRAVE_API_KEY", "hunter2")]);
    assert!(
        ran.code == 1 && ran.err.contains("does not accept the key") && ran.err.contains("bad token"),
        "{}",
        ran.err
    );
    assert!(!ran.err.contains("hunter2"), "a key is never shown: {}", ran.err);
    // Google: items, and the end of them.
    let google = serve(|_, target, _| {
        let items = if target.contains("start=1&") || target.ends_with("start=1") {
            serde_json::json!({ "items": [{ "link": "http://g.example/1", "title": "one" }], "queries": { "nextPage": [{}] } })
        } else {
            serde_json::json!({ "queries": {} })
        };
        (200, String::new(), "application/json", items.to_string())
    });
    let engine = format!("google:http://{google}/v1");
    let keys = [("GOOGLE_API_KEY", "k"), ("GOOGLE_CX", "c")];
    let ran = gleaner_with(d, &["seeds", "x.toml", "--no-check", "--engine", &engine], &keys);
    assert!(ran.code == 0 && ran.out.starts_with("http://g.example/1\t1\t"), "{}{}", ran.out, ran.err);
    // A feed.
    let feed = serve(|_, target, _| {
        assert!(target.contains("q=b-trees") || target.contains("q=b%2Dtrees"), "{target}");
        let body = "<?xml version=\"1.0\"?><rss version=\"2.0\"><channel><title>r</title><link>http://f.example/</link>\
                    <item><title>One</title><link>http://f.example/one</link></item>\
                    <item><title>Two</title><link>http://f.example/two</link></item></channel></rss>";
        (200, String::new(), "application/rss+xml", body.into())
    });
    let engine = format!("rss:http://{feed}/find?q={{searchTerms}}&n={{count?}}");
    let ran = fine(d, &["seeds", "x.toml", "--no-check", "--engine", &engine]);
    let urls: Vec<&str> = ran.out.lines().map(|l| l.split('\t').next().unwrap()).collect();
    assert_eq!(urls, ["http://f.example/one", "http://f.example/two"], "{}", ran.out);
    let ran = gleaner(d, &["seeds", "x.toml", "--engine", "rss:http://x.example/"]);
    assert!(ran.code == 2 && ran.err.contains("{searchTerms}"), "{}", ran.err);
}

#[test]
fn a_collection_finds_seeds_terms_and_thresholds_for_a_topic() {
    let dir = tempfile::tempdir().unwrap();
    let d = dir.path();
    crawled(d);
    // Its own index as the engine.
    let ran = fine(d, &["seeds", "t.toml", "--engine", "collection:c", "--limit", "10"]);
    let urls: Vec<&str> = ran.out.lines().map(|l| l.split('\t').next().unwrap()).collect();
    assert_eq!(urls.len(), 10);
    assert!(urls.iter().all(|u| u.starts_with("http://campus.example/db")), "{urls:?}");
    // Its labelled pages as examples, the others as background.
    let ran = gleaner(d, &["terms", "--collection", "c"]);
    assert!(ran.code == 4 && ran.err.contains("gleaner label"), "{}", ran.err);
    fine(
        d,
        &[
            "label",
            "c",
            "http://campus.example/art1",
            "http://campus.example/art2",
            "http://campus.example/art3",
            "--yes",
        ],
    );
    let ran = fine(d, &["terms", "--collection", "c"]);
    assert!(ran.out.contains("\tepoch\t") || ran.out.contains("epoch"), "{}", ran.out);
    assert!(!ran.out.contains("football") && !ran.out.contains("portal"), "{}", ran.out);
    // Its pages for the threshold.
    let ran = fine(d, &["threshold", "t.toml", "--collection", "c", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(json["auto"]["pages"], 31);
    assert_eq!(json["pages"].as_array().unwrap().len(), 1);
}

#[test]
fn help_has_examples() {
    let dir = tempfile::tempdir().unwrap();
    for command in ["terms", "seeds", "threshold", "label", "rejudge", "new"] {
        let ran = fine(dir.path(), &[command, "--help"]);
        assert!(
            ran.out.contains("Examples:") && ran.out.contains(&format!("gleaner {command} ")),
            "{}",
            ran.out
        );
    }
}

#[test]
fn a_new_topic_from_examples_alone() {
    let dir = tempfile::tempdir().unwrap();
    let d = dir.path();
    folder_web(d);
    let urls = db_urls(3);
    let mut args = vec![
        "new",
        "--name",
        "Databases",
        "--genre",
        "syllabus",
        "--web",
        "web",
        "-o",
        "new.toml",
        "--examples",
    ];
    args.extend(urls.iter().map(String::as_str));
    fine(d, &args);
    let text = std::fs::read_to_string(d.join("new.toml")).unwrap();
    for part in
        ["relational model", "query optimization", "preset = \"syllabus\"", "http://campus.example/db0.html"]
    {
        assert!(text.contains(part), "{part}\n{text}");
    }
    // Terms of the preset and of every other page are not the subject.
    let subject = text.lines().skip_while(|l| !l.starts_with("[content]")).nth(1).unwrap();
    assert!(!subject.contains("office hours") && !subject.contains("football"), "{subject}");
    // It knows its examples: all of them reach a threshold estimated with them.
    let mut args = vec!["threshold", "new.toml", "--web", "web", "--json", "--seeds"];
    args.extend(urls.iter().map(String::as_str));
    let json: serde_json::Value = serde_json::from_str(&fine(d, &args).out).unwrap();
    let auto = json["auto"]["threshold"].as_f64().unwrap();
    for page in json["pages"].as_array().unwrap() {
        assert!(page["similarity"].as_f64().unwrap() >= auto, "{json}");
    }
}
