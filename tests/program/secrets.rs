//! Secrets of the environment (a proxy's password, logins, tokens, cookies) are sent to whom they are meant
//! for, and are in nothing that stays or is shown: every file, every answer and every line is searched byte
//! by byte.

use crate::common::dashboard::Dashboard;
use crate::common::{Ran, file, finish, folder, gleaner, warcs};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};

/// What must not be found, as it is and as it is sent.
const SECRETS: &[&str] = &[
    "pr0xy-s3cret",
    "b4sic-s3cret",
    "t0ken-s3cret",
    "h3ader-s3cret",
    "c00kie-s3cret",
    // walker:pr0xy-s3cret and ada:b4sic-s3cret in base64, without what depends on where they end.
    "d2Fsa2VyOnByMHh5LXMzY3JldA",
    "YWRhOmI0c2ljLXMzY3JldA",
];

const TOPIC: &str = "
name = 'members'
query = 'database course'
[seeds]
urls = ['http://members.example/', 'http://api.example/', 'http://broken.example/', 'http://silent.example/']
[fetch]
contact = 'me@example.org'
proxy = '$GLEANER_TEST_PROXY'
cookies_file = 'COOKIES'
attempts = 1
[fetch.logins.'members.example']
basic = 'GLEANER_TEST_BASIC'
[fetch.logins.'api.example']
bearer = 'GLEANER_TEST_BEARER'
headers = { X-Key = 'GLEANER_TEST_HEADER' }
";

/// A proxy through which all of the Web is one server, and the heads of all requests.
fn proxy() -> (u16, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let heads = Arc::new(Mutex::new(Vec::new()));
    let seen = heads.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let seen = seen.clone();
            std::thread::spawn(move || {
                let lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
                let head = lines.take_while(|line| !line.is_empty()).collect::<Vec<_>>().join("\n");
                let target = head.split(' ').nth(1).unwrap_or("").to_string();
                seen.lock().unwrap().push(head);
                let (status, body) = match target.as_str() {
                    // No answer at all: the crawl says what it tried.
                    t if t.contains("silent.example") => return,
                    t if t.contains("broken.example") => ("500 Broken", "broken".to_string()),
                    t if t.ends_with("/robots.txt") => ("404 Not Found", String::new()),
                    t => (
                        "200 OK",
                        format!(
                            "<html lang=en><title>Course</title><p>A database course at {t}, for members. \
                             <a href='/more?{n}'>more</a>",
                            n = t.len() % 5
                        ),
                    ),
                };
                let answer = format!(
                    "HTTP/1.1 {status}\r\ncontent-type: text/html\r\ncontent-length: {}\r\n\
                     connection: close\r\n\r\n{body}",
                    body.len()
                );
                let _ = (&stream).write_all(answer.as_bytes());
            });
        }
    });
    (port, heads)
}

#[track_caller]
fn has_none(what: &str, bytes: &[u8]) {
    for secret in SECRETS {
        let found = bytes.windows(secret.len()).any(|w| w.eq_ignore_ascii_case(secret.as_bytes()));
        assert!(!found, "{secret} is in {what}");
    }
}

/// Every file below a folder; what is packed, unpacked.
fn has_none_in_files(dir: &Path) -> usize {
    let mut searched = 0;
    for entry in walk(dir) {
        let name = entry.display().to_string();
        let bytes = std::fs::read(&entry).unwrap();
        has_none(&name, &bytes);
        if name.ends_with(".gz") || name.ends_with(".wacz") {
            let tool: &[&str] = if name.ends_with(".gz") { &["gzip", "-dc"] } else { &["unzip", "-p"] };
            let unpacked = Command::new(tool[0]).args(&tool[1..]).arg(&entry).output();
            if let Ok(unpacked) = unpacked {
                has_none(&name, &unpacked.stdout);
            }
        }
        searched += 1;
    }
    searched
}

fn walk(dir: &Path) -> Vec<std::path::PathBuf> {
    let mut out = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() { out.extend(walk(&path)) } else { out.push(path) }
    }
    out
}

#[test]
fn secrets_are_sent_and_kept_nowhere() {
    let (port, heads) = proxy();
    let dir = folder();
    // The jar is the user's own file: everything else here is the program's.
    let jar = folder();
    let cookies = file(
        jar.path(),
        "cookies.txt",
        "# Netscape HTTP Cookie File\n.members.example\tTRUE\t/\tFALSE\t4102444800\tsid\tc00kie-s3cret\n",
    );
    let topic = file(dir.path(), "t.toml", &TOPIC.replace("COOKIES", cookies.to_str().unwrap()));
    let out = dir.path().join("db");
    let environment = [
        ("GLEANER_TEST_PROXY", format!("http://walker:pr0xy-s3cret@127.0.0.1:{port}")),
        ("GLEANER_TEST_BASIC", "ada:b4sic-s3cret".to_string()),
        ("GLEANER_TEST_BEARER", "t0ken-s3cret".to_string()),
        ("GLEANER_TEST_HEADER", "h3ader-s3cret".to_string()),
    ];
    let run = |args: &[&str]| -> Ran {
        let mut command = gleaner();
        command.current_dir(dir.path()).args(args).envs(environment.iter().map(|(k, v)| (k, v)));
        let ran = finish(&mut command);
        has_none(&format!("what `{}` says", args.join(" ")), format!("{}{}", ran.out, ran.err).as_bytes());
        ran
    };
    let (topic, db) = (topic.display().to_string(), out.display().to_string());
    run(&["crawl", &topic, "--out", &db, "--allow-private", "--delay", "1ms", "--render=never", "-vv"]).ok();
    // They were sent, each to whom it is meant for.
    let sent = heads.lock().unwrap().join("\n\n").to_lowercase();
    for secret in ["c00kie-s3cret", "t0ken-s3cret", "h3ader-s3cret"] {
        assert!(sent.contains(secret), "{secret} was not sent:\n{sent}");
    }
    for encoded in &SECRETS[5..] {
        assert!(sent.contains(&encoded.to_lowercase()), "{encoded} was not sent:\n{sent}");
    }
    let files = warcs(&out);
    assert!(!files.is_empty());
    let requests =
        files.iter().flat_map(|f| store::archive::WarcReader::open(f, Default::default()).unwrap());
    let requests = requests.map(Result::unwrap).filter(|r| r.kind() == "request").inspect(|r| {
        has_none("a request in the archive", &r.block);
    });
    assert!(requests.count() >= 4, "the archive has the requests, without the secrets");
    // Whatever else is written or said of the collection.
    run(&["refresh", &db, "--allow-private", "-vv"]);
    run(&["rejudge", &db]);
    run(&["report", &db]);
    for args in [
        &["status", &db, "--json"][..],
        &["errors", &db],
        &["errors", &db, "--json"],
        &["config", &topic],
        &["explain", &db, "http://members.example/", "--json"],
        &["check", &db],
        &["doctor", &db, "--offline"],
    ] {
        run(args);
    }
    for format in store::export::ALL {
        let to = dir.path().join(format!("export.{}.{}", format.name, format.extension));
        run(&["export", &db, "--all", "--format", format.name, "-o", to.to_str().unwrap()]);
    }
    let searched = has_none_in_files(dir.path());
    assert!(searched > 12, "only {searched} files");
    // Nor does the dashboard tell, which knows the environment, too.
    let mut command = gleaner();
    command.arg("serve").arg(dir.path()).args(["--listen", "127.0.0.1:0"]);
    let d = Dashboard::run(command.envs(environment.iter().map(|(k, v)| (k, v))));
    let document = d.json("/api/v1/openapi.json");
    let mut asked = 0;
    for (path, methods) in document["paths"].as_object().unwrap() {
        if methods["get"].is_null() || path.ends_with("/live") {
            continue;
        }
        let path = path.replace("{collection}", "db").replace("{id}", "0");
        if path.contains('{') {
            continue;
        }
        let answer = d.get(&path);
        has_none(&format!("the answer to {path}"), &answer.body);
        has_none(&format!("the head of the answer to {path}"), answer.head.as_bytes());
        asked += usize::from(answer.status == 200);
    }
    assert!(asked >= 10, "only {asked} answers");
    has_none_in_files(dir.path());
}
