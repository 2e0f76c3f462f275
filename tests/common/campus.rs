//! A small campus on the loopback interface, a search engine that knows it, and the program run on them.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Command, Output};
use std::sync::Arc;

pub struct Ran {
    pub code: i32,
    pub out: String,
    pub err: String,
}

pub fn gleaner(dir: &Path, args: &[&str]) -> Ran {
    gleaner_with(dir, args, &[])
}

pub fn gleaner_with(dir: &Path, args: &[&str], env: &[(&str, &str)]) -> Ran {
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
pub fn fine(dir: &Path, args: &[&str]) -> Ran {
    let ran = gleaner(dir, args);
    assert_eq!(ran.code, 0, "{args:?}\nout: {}\nerr: {}", ran.out, ran.err);
    ran
}

/// An answer: status, further header lines, type, body.
pub type Reply = (u16, String, &'static str, String);

/// A server that answers `host`, `target` and Brave's key with what the function says.
pub fn serve(answer: impl Fn(&str, &str, &str) -> Reply + Send + Sync + 'static) -> SocketAddr {
    serve_with_headers(move |head, target| {
        let find = |name: &str| {
            let line = head.lines().find(|l| l.to_lowercase().starts_with(name));
            line.and_then(|l| l.split_once(':')).map_or(String::new(), |(_, v)| v.trim().to_string())
        };
        answer(&find("host:"), target, &find("x-subscription-token:"))
    })
}

/// A server that answers a request's head and target with what the function says. It lives as long as the
/// test process.
pub fn serve_with_headers(answer: impl Fn(&str, &str) -> Reply + Send + Sync + 'static) -> SocketAddr {
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
                    let (status, headers, kind, body) = answer(&head, &target);
                    let reply = format!(
                        "HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n{headers}\r\n\
                         {body}",
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

pub fn html(title: &str, body: &str) -> String {
    format!(
        "<html lang=en><head><title>{title}</title></head><body><nav>Campus portal \
         directory</nav><main>{body}</main>\
         <footer>Some Department of Example Things</footer></body></html>"
    )
}

/// Ten database syllabi, ten syllabi of other courses, ten pages of news, and an entry page that links to
/// all.
pub fn page(path: &str) -> Option<String> {
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
            "{syllabus}<p>In year {i} we study the relational model, query optimization and transaction \
             processing.</p>\
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

pub fn campus() -> SocketAddr {
    serve(|_, target, _| match page(target) {
        Some(body) => (200, String::new(), "text/html; charset=utf-8", body),
        None => (404, String::new(), "text/html", "no".into()),
    })
}

pub const TOPIC: &str = "# What I want.
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
pub fn crawled(dir: &Path) -> SocketAddr {
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
pub fn folder_web(dir: &Path) {
    let host = dir.join("web/campus.example");
    std::fs::create_dir_all(&host).unwrap();
    for kind in ["db", "art", "news"] {
        for i in 0..10 {
            let name = format!("{kind}{i}");
            std::fs::write(host.join(format!("{name}.html")), page(&format!("/{name}")).unwrap()).unwrap();
        }
    }
}

pub fn db_urls(n: usize) -> Vec<String> {
    (0..n).map(|i| format!("http://campus.example/db{i}.html")).collect()
}

pub fn status(dir: &Path) -> serde_json::Value {
    serde_json::from_str(&fine(dir, &["status", "c", "--json"]).out).unwrap()
}

/// A server that speaks SearXNG's JSON: pages of three results, of which one is always new.
pub fn searxng(results: Vec<(String, String)>) -> SocketAddr {
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
