//! Requests that are nearly right: real ones of the dashboard's API and of `gleaner mcp`, changed here and
//! there. Each gets an answer of the kinds that are documented, never a failure of our own, and both are
//! alive afterwards.
//!
//! `GLEANER_LONG=1` (`./test long`) sends 40,000 instead of 400.

use crate::common::dashboard::Dashboard;
use crate::common::{Rng, folder, gleaner, long};
use crate::damage::{PAGES, Small, copy, on};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

/// Requests as people send them: method, path, body.
fn requests() -> Vec<(&'static str, String, Value)> {
    let c = "/api/v1/collections/whole";
    let get = |path: String| ("GET", path, Value::Null);
    vec![
        get("/api/v1/collections".into()),
        get(c.into()),
        get(format!("{c}/pages?limit=3&sort=newest&host=h1.example")),
        get(format!("{c}/pages/4")),
        get(format!("{c}/pages/4/reasons")),
        get(format!("{c}/pages/4/warc")),
        get(format!("{c}/explain?url=http://h1.example/4")),
        get(format!("{c}/changes?since=1d")),
        get(format!("{c}/feed.atom?since=7d")),
        get(format!("{c}/errors?kind=404")),
        get(format!("{c}/export?format=csv&columns=url,title&where=score>=0.1")),
        get(format!("{c}/frontier?limit=5")),
        get(format!("{c}/hosts?sort=pages")),
        get(format!("{c}/search?q=sql%20-title:x&limit=5")),
        get(format!("{c}/questions?n=2")),
        ("POST", "/api/v1/topics/check".into(), json!({ "topic": "query = \"x\"\n[limits]\npages = 3\n" })),
        ("POST", "/api/v1/topics/draft".into(), json!({ "sentence": "syllabi about databases, not exams" })),
        ("PUT", format!("{c}/pages/4/label"), json!({ "label": true })),
        ("PATCH", format!("{c}/settings"), json!({ "limits": { "pages": 30 }, "fetch": { "delay": "2s" } })),
        ("POST", format!("{c}/seeds"), json!({ "urls": ["http://h1.example/9"] })),
        ("POST", format!("{c}/errors/retry"), json!({ "kind": "404" })),
        ("PUT", format!("{c}/hosts/h1.example"), json!({ "rule": "block" })),
        ("POST", format!("{c}/control"), json!({ "action": "pause" })),
    ]
}

/// Values that mean harm wherever they stand.
fn evil(rng: &mut Rng) -> Value {
    let values = [
        json!(null),
        json!(-1),
        json!(18_446_744_073_709_551_615u64),
        json!(1e308),
        json!(""),
        json!("\u{0}\u{1b}[2J\u{202e}"),
        json!("../../../../etc/passwd"),
        json!("<script>alert(1)</script>"),
        json!("x".repeat(70_000)),
        json!([[[[[[[[[[[[]]]]]]]]]]]]),
        json!({ "__proto__": { "a": 1 } }),
        json!(vec![json!("http://h.example/"); 300]),
        json!("http://169.254.169.254/"),
        json!("file:///etc/passwd"),
        json!(true),
        json!("é".repeat(300)),
    ];
    values[rng.below(values.len() as u64) as usize].clone()
}

/// One value somewhere inside is another, or a name is.
fn change(value: &mut Value, rng: &mut Rng) {
    match value {
        Value::Object(map) if !map.is_empty() && rng.below(4) > 0 => {
            let key = map.keys().nth(rng.below(map.len() as u64) as usize).unwrap().clone();
            match rng.below(5) {
                0 => drop(map.remove(&key)),
                1 => drop(map.insert(format!("{key}x"), evil(rng))),
                _ => change(map.get_mut(&key).unwrap(), rng),
            }
        }
        Value::Array(all) if !all.is_empty() && rng.below(4) > 0 => {
            let n = rng.below(all.len() as u64) as usize;
            change(&mut all[n], rng);
        }
        other => *other = evil(rng),
    }
}

/// A few characters of a text are others.
fn scramble(text: &str, rng: &mut Rng) -> String {
    let pieces = [
        "%00",
        "%ff",
        "..",
        "/",
        "?",
        "&",
        "=",
        "%",
        "+",
        "99999999999999999999",
        "-1",
        "é",
        "'",
        "\"",
        "{",
        "[",
        "e",
        "0",
    ];
    let mut chars: Vec<String> = text.chars().map(String::from).collect();
    for _ in 0..rng.between(1, 3) {
        let at = rng.below(chars.len().max(1) as u64) as usize;
        let piece = pieces[rng.below(pieces.len() as u64) as usize].to_string();
        match rng.below(3) {
            0 => chars.insert(at, piece),
            1 if at < chars.len() => drop(chars.remove(at)),
            _ if at < chars.len() => chars[at] = piece,
            _ => chars.push(piece),
        }
    }
    chars.concat()
}

fn tries() -> u64 {
    if long() { 40_000 } else { 400 }
}

#[test]
fn requests_that_are_nearly_right_are_answered() {
    let small = Small::crawled();
    let dir = folder();
    copy(&small.whole(), &dir.path().join("whole"));
    let mut dashboard = Dashboard::start(dir.path(), &[]);
    let bearer = format!("Bearer {}", dashboard.token);
    let mut rng = Rng(51);
    let all = requests();
    let mut counts = std::collections::BTreeMap::<u16, u64>::new();
    for n in 0..tries() {
        let (method, path, body) = &all[rng.below(all.len() as u64) as usize];
        let (mut path, mut body) = (path.clone(), body.clone());
        let mut text = String::new();
        match rng.below(4) {
            // As people send it.
            3 if body.is_null() => {}
            3 => text = body.to_string(),
            0 => path = scramble(&path, &mut rng),
            _ if body.is_null() => path = scramble(&path, &mut rng),
            1 => {
                change(&mut body, &mut rng);
                text = body.to_string();
            }
            _ => text = scramble(&body.to_string(), &mut rng),
        }
        // A blank would end the path.
        let path: String = path.chars().filter(|c| !c.is_whitespace()).collect();
        let headers = [("Authorization", bearer.as_str()), ("Content-Type", "application/json")];
        let answer = dashboard.raw(method, &path, &headers, &text);
        let what = format!(
            "{n}: {method} {path} {}\n{}\n{}",
            text.get(..300).unwrap_or(&text),
            answer.head,
            answer.text()
        );
        // 0: the path was none, and the connection is closed. 503: too many at once.
        assert!(matches!(answer.status, 200..=499 | 503), "{what}");
        if answer.status >= 400 && path.starts_with("/api/") && answer.head.contains("application/json") {
            assert!(answer.json().is_object(), "{what}");
        }
        *counts.entry(answer.status).or_default() += 1;
    }
    println!("{counts:?}");
    assert!(counts.get(&200).is_some_and(|n| *n > 10), "{counts:?}");
    assert!(dashboard.child.try_wait().unwrap().is_none(), "it is alive");
    assert_eq!(dashboard.get("/healthz").status, 200);
    // Nothing of all that took a page away.
    let status = on("status", &dir.path().join("whole"), &["--json"]);
    let status: Value = serde_json::from_str(&status.ok().out).unwrap();
    assert_eq!(status["pages"], PAGES);
}

#[test]
fn calls_of_tools_that_are_nearly_right_are_answered() {
    let small = Small::crawled();
    let dir = folder();
    copy(&small.whole(), &dir.path().join("whole"));
    let mut child = gleaner()
        .arg("mcp")
        .arg(dir.path())
        .arg("--allow-label")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut to = child.stdin.take().unwrap();
    let mut from = BufReader::new(child.stdout.take().unwrap()).lines();
    let call = |name: &str, arguments: Value| json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": { "name": name, "arguments": arguments } });
    let all = [
        json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/list" }),
        call("collections", json!({})),
        call("status", json!({ "collection": "whole" })),
        call("search", json!({ "collection": "whole", "query": "sql", "limit": 3 })),
        call("pages", json!({ "collection": "whole", "limit": 3, "sort": "newest" })),
        call("read_page", json!({ "collection": "whole", "url": "http://h1.example/4" })),
        call("explain", json!({ "collection": "whole", "url": "http://h1.example/4" })),
        call("label", json!({ "collection": "whole", "url": "http://h1.example/4", "relevant": true })),
        call("judge", json!({ "collection": "whole", "text": "sql course" })),
    ];
    let mut ask = |line: &str| -> Value {
        to.write_all(line.as_bytes()).and_then(|()| to.write_all(b"\n")).expect("it listens");
        let said = from.next().unwrap_or_else(|| panic!("it is gone after {line}")).unwrap();
        serde_json::from_str(&said).unwrap_or_else(|e| panic!("{e}: {said}"))
    };
    ask(&json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": { "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } } }).to_string());
    let mut rng = Rng(52);
    let (mut fine, mut refused) = (0u64, 0u64);
    for n in 0..tries() {
        let mut request = all[rng.below(all.len() as u64) as usize].clone();
        // The envelope stays, so that an answer is due.
        match rng.below(4) {
            0 => {}
            _ => {
                if let Some(arguments) = request.pointer_mut("/params/arguments") {
                    change(arguments, &mut rng);
                }
            }
        }
        let said = ask(&request.to_string());
        let error = said.get("error").is_some() || said["result"]["isError"] == true;
        assert!(error || said.get("result").is_some(), "{n}: {request}\n{said}");
        assert!(!said.to_string().contains("panicked"), "{n}: {request}\n{said}");
        *if error { &mut refused } else { &mut fine } += 1;
    }
    println!("{fine} answered, {refused} refused");
    assert!(fine > 10 && refused > 10, "{fine} answered, {refused} refused");
    drop(to);
    let _ = child.wait();
}
