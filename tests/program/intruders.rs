//! Somebody who speaks to the dashboard by hand, and texts from the Web wherever they are printed.

use crate::common::dashboard::Dashboard;
use crate::common::{crawl, file, finish, folder, gleaner, serve};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::symlink;
use std::path::Path;

const TOPIC: &str = "name = \"c\"\nquery = \"sql\"\n[fetch]\ndelay = '0s'\nsitemaps = false\n";

fn collection(dir: &Path) {
    let server = serve(
        "== http://a.example/\n<title>One</title><p>sql <a href='/2'>sql</a>\n== http://a.example/2\n<title>Two</title><p>more sql\n",
    );
    let topic = file(dir, "t.toml", TOPIC);
    finish(crawl(&server, &topic, &dir.join("db")).args(["--seed", "http://a.example/"])).ok();
}

/// Sends bytes as they are, and a last request behind them, and reads until the server closes.
fn say(d: &Dashboard, bytes: &[u8]) -> String {
    let last = format!(
        "GET /healthz HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nConnection: close\r\n\r\n",
        d.addr, d.token
    );
    let bytes = [bytes, last.as_bytes()].concat();
    let mut stream = TcpStream::connect(&d.addr).unwrap();
    stream.set_read_timeout(Some(std::time::Duration::from_secs(60))).unwrap();
    // It may have closed before all was sent.
    let _ = stream.write_all(&bytes);
    let mut out = Vec::new();
    let _ = stream.read_to_end(&mut out);
    String::from_utf8_lossy(&out).into_owned()
}

fn answers(text: &str) -> Vec<u16> {
    let starts = text.match_indices("HTTP/1.1 ").map(|(at, _)| &text[at + 9..]);
    starts.filter_map(|rest| rest.get(..3)?.parse().ok()).collect()
}

/// Requests whose end a proxy in front may see elsewhere than we do: nothing behind the first of them is
/// obeyed.
#[test]
fn no_request_hides_in_another() {
    let dir = folder();
    collection(dir.path());
    let d = Dashboard::start(dir.path(), &[]);
    let head = format!(
        "POST /api/v1/topics/check HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\n",
        d.addr, d.token
    );
    let body = "{\"topic\":\"query = 'sql'\"}";
    let page = d.json("/api/v1/collections/db/pages")["pages"][0]["id"].clone();
    let hidden = format!(
        "PUT /api/v1/collections/db/pages/{page}/label HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\n\
         Content-Length: 15\r\n\r\n{{\"label\":false}}",
        d.addr, d.token
    );
    // That it would be obeyed if it came openly.
    let length = body.len();
    let openly = say(&d, format!("{head}Content-Length: {length}\r\n\r\n{body}").as_bytes());
    assert_eq!(answers(&openly), [200, 200], "{openly}");
    let chunked = format!("{length:x}\r\n{body}\r\n0\r\n\r\n");
    let whole = chunked.len() + hidden.len();
    let framings = [
        (
            "length, then chunks",
            format!("Content-Length: {whole}\r\nTransfer-Encoding: chunked\r\n\r\n{chunked}"),
        ),
        (
            "chunks, then length",
            format!("Transfer-Encoding: chunked\r\nContent-Length: {whole}\r\n\r\n{chunked}"),
        ),
        ("chunks by themselves", format!("Transfer-Encoding: chunked\r\n\r\n{chunked}")),
        (
            "two lengths",
            format!("Content-Length: {length}\r\nContent-Length: {}\r\n\r\n{body}", length + hidden.len()),
        ),
        ("a list of lengths", format!("Content-Length: {length}, {}\r\n\r\n{body}", length + hidden.len())),
        ("a length with a sign", format!("Content-Length: +{length}\r\n\r\n{body}")),
        ("a length in hex", format!("Content-Length: 0x{length:x}\r\n\r\n{body}")),
        ("a negative length", format!("Content-Length: -1\r\n\r\n{body}")),
        ("another coding last", format!("Transfer-Encoding: chunked, identity\r\n\r\n{chunked}")),
        (
            "a coding nobody knows",
            format!("Transfer-Encoding: xchunked\r\nContent-Length: {length}\r\n\r\n{body}"),
        ),
        ("two codings", format!("Transfer-Encoding: x\r\nTransfer-Encoding: chunked\r\n\r\n{chunked}")),
        (
            "a blank before the colon",
            format!("Transfer-Encoding : chunked\r\nContent-Length: {length}\r\n\r\n{body}"),
        ),
        (
            "a tab before the value",
            format!("Transfer-Encoding:\tchunked\r\nContent-Length: {whole}\r\n\r\n{chunked}"),
        ),
        (
            "a folded header",
            format!("X: y\r\n Transfer-Encoding: chunked\r\nContent-Length: {length}\r\n\r\n{body}"),
        ),
        ("a null in a header", format!("X: y\0\r\nContent-Length: {length}\r\n\r\n{body}")),
        ("a size with a sign", format!("Transfer-Encoding: chunked\r\n\r\n+{chunked}")),
        ("a size that overflows", "Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n".to_string()),
    ];
    for (what, framing) in framings {
        let said = say(&d, format!("{head}{framing}{hidden}").as_bytes());
        let answers = answers(&said);
        assert!(
            answers.len() <= 1 && answers.iter().all(|a| (400..500).contains(a)),
            "{what}: {answers:?}\n{said}"
        );
        assert!(
            d.get("/api/v1/collections/db/pages?label=no").text().contains("\"pages\":[]"),
            "{what}: it was obeyed"
        );
    }
    assert_eq!(answers(&say(&d, hidden.as_bytes())), [200, 200]);
    assert!(
        !d.get("/api/v1/collections/db/pages?label=no").text().contains("\"pages\":[]"),
        "it would have been"
    );
}

/// Names and paths that lead out of the folder that is served.
#[test]
fn no_path_leads_out() {
    let dir = folder();
    let (inside, outside) = (dir.path().join("served"), dir.path().join("elsewhere"));
    for folder in [&inside, &outside] {
        std::fs::create_dir(folder).unwrap();
        collection(folder);
    }
    file(dir.path(), "secret.txt", "quokka");
    symlink(dir.path().join("secret.txt"), inside.join("db/warc/secret.txt")).unwrap();
    symlink("/etc", inside.join("etc")).unwrap();
    // The record of a page is read from the file that its ledger names: here a link to somebody else's.
    let d = Dashboard::start(&inside, &[]);
    assert_eq!(d.json("/api/v1/collections")["collections"].as_array().unwrap().len(), 1);
    let ways = [
        "..",
        "%2e%2e",
        "..%2felsewhere%2fdb",
        "%2e%2e%2felsewhere%2fdb",
        "..%5celsewhere%5cdb",
        "....//elsewhere/db",
        "db%2f..%2f..%2felsewhere%2fdb",
        "db%00",
        "%00",
        "/etc",
        "%2fetc",
        "etc",
        ".",
        "%2e",
        "db/.",
        "db%2fwarc",
        "~",
        "%252e%252e",
        "..;/elsewhere",
        "\u{ff0e}\u{ff0e}",
    ];
    for way in ways {
        for path in [
            format!("/api/v1/collections/{way}"),
            format!("/api/v1/collections/{way}/pages"),
            format!("/api/v1/collections/{way}/topic"),
            format!("/api/v1/backtests/{way}"),
            format!("/assets/{way}"),
            format!("/assets/{way}/secret.txt"),
            format!("/{way}/etc/passwd"),
        ] {
            let answer = d.get(&path);
            assert!((400..500).contains(&answer.status), "{path}: {} {}", answer.status, answer.text());
            assert!(!answer.text().contains("quokka") && !answer.text().contains("root:"), "{path}");
        }
    }
    // As a proxy is asked, and by other names.
    for target in [
        "http://evil.example/api/v1/collections",
        "//evil.example/",
        "*",
        "api/v1/collections",
        "/\\evil.example",
    ] {
        let answer = d.get(target);
        assert!(
            answer.status == 0 || (400..500).contains(&answer.status),
            "{target}: {} {}",
            answer.status,
            answer.text()
        );
    }
    let seeds = serde_json::json!({ "name": "../out", "topic": TOPIC, "seeds": ["http://a.example/"] });
    for name in ["../out", "..", "/tmp/out", "a/b", "a\\b", "", ".hidden", "x\0y", "etc"] {
        let mut body = seeds.clone();
        body["name"] = name.into();
        let answer = d.send("POST", "/api/v1/collections", &body);
        assert!((400..500).contains(&answer.status), "`{name}`: {} {}", answer.status, answer.text());
    }
    assert!(!dir.path().join("out").exists() && !Path::new("/tmp/out").exists());
}

/// One client cannot make the server keep much.
#[test]
fn what_is_too_large_is_refused() {
    let dir = folder();
    let d = Dashboard::start(dir.path(), &[]);
    let auth = format!("Bearer {}", d.token);
    let large = "x".repeat(200_000);
    let many: Vec<(String, String)> = (0..200).map(|n| (format!("X-{n}"), "y".to_string())).collect();
    let mut headers: Vec<(&str, &str)> = many.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
    headers.push(("Authorization", &auth));
    for (what, answer) in [
        ("many headers", d.raw("GET", "/healthz", &headers, "")),
        ("a long header", d.raw("GET", "/healthz", &[("Authorization", &auth), ("X", &large)], "")),
        ("a long address", d.raw("GET", &format!("/search?q={large}"), &[("Authorization", &auth)], "")),
        ("a long query", d.get(&format!("/api/v1/collections/x/search?q={}", "x".repeat(20_000)))),
        (
            "a large body",
            d.send("POST", "/api/v1/topics/check", &serde_json::json!({ "topic": "x".repeat(3 << 20) })),
        ),
    ] {
        // 0: it hung up while the rest was being sent.
        assert!(answer.status == 0 || (400..500).contains(&answer.status), "{what}: {}", answer.status);
    }
    assert_eq!(d.get("/healthz").status, 200);
}

/// Escape sequences of both kinds, a bell, a change of direction, a backspace and a carriage return, wherever
/// a page can put them.
#[test]
fn nothing_that_is_printed_moves_the_cursor() {
    let dir = folder();
    let evil = "\u{1b}[2J\u{1b}]0;owned\u{7}\u{9b}31m\u{202e}\u{8}\rquokka";
    let server = serve(&format!(
        "== http://a.example/\n<title>{evil}</title><meta name=description content='{evil}'><meta name=author content='{evil}'><p>sql {evil}\n\
         <a href='/2'>sql {evil}</a> <a href='/gone%1b[2J'>sql {evil}</a> <a href='/q?x=%1b]0;%07'>sql</a>\n\
         == http://a.example/2\n<title>sql {evil} two</title><h1>{evil}</h1><p>{evil} sql and sql of {evil}\n\
         == http://a.example/gone%1b[2J 404\n<title>{evil}</title>\n"
    ));
    let topic = file(dir.path(), "t.toml", TOPIC);
    let out = dir.path().join("db");
    let mut ran = vec![("crawl", finish(crawl(&server, &topic, &out).args(["--seed", "http://a.example/"])))];
    let page = "http://a.example/2";
    let orders: &[(&str, &[&str])] = &[
        ("status", &[]),
        ("search", &["sql", "--all"]),
        ("search", &[evil, "--all"]),
        ("explain", &[page]),
        ("explain", &[evil]),
        ("label", &[page, "--yes"]),
        ("label", &[]),
        ("errors", &[]),
        ("changes", &["--since", "1d", "--all"]),
        ("threshold", &[]),
        ("check", &[]),
        ("remove", &[page, "--dry-run"]),
        ("remove", &[page, "--because", evil, "--by", evil]),
        ("remove", &["--list"]),
        ("report", &[]),
    ];
    for (command, args) in orders {
        ran.push((command, finish(gleaner().arg(command).arg(&out).args(*args))));
    }
    // Straight from a file and from the server.
    let html = file(
        dir.path(),
        "page.html",
        &format!("<title>{evil}</title><p>{evil} sql <a href='/{evil}'>{evil}</a>"),
    );
    ran.push(("extract", finish(gleaner().arg("extract").arg(&html))));
    let mut fetch = gleaner();
    fetch.args(["fetch", "http://a.example/", "--allow-private", "--resolve", &server.resolve()]);
    ran.push(("fetch", finish(&mut fetch)));
    let mut shown = 0;
    for (command, ran) in ran {
        let bad = |text: &str| {
            let bad = |c: char| {
                (c.is_control() && !matches!(c, '\n' | '\t'))
                    || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
            };
            text.chars().find(|c| bad(*c))
        };
        assert_eq!(bad(&ran.out).or(bad(&ran.err)), None, "{command}\n{ran:?}");
        assert!(!ran.err.contains("panicked"), "{command}\n{ran}");
        shown += usize::from(ran.out.contains("quokka") || ran.err.contains("quokka"));
    }
    assert!(shown >= 5, "the texts were shown {shown} times");
}
