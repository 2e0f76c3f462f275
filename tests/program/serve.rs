//! `gleaner serve` as programs see it: the token, the API, and what a stranger cannot do.

use crate::common;
use crate::common::dashboard::Dashboard;
use crate::common::{crawl, file, finish, folder, gleaner, run, serve};
use serde_json::{Value, json};
use std::path::Path;

const TOPIC: &str = "name = 'Databases'\n[genre]\nterms = ['syllabus']\n[content]\nterms = ['sql', 'joins']\n\
     [judge]\nthreshold = 0.2\n[fetch]\ndelay = '1ms'\n";

/// A small web with a hostile page.
const WEB: &str = "\
== http://a.test/
<title>Courses</title><h1>Courses</h1><a href='/db'>the syllabus of databases, with sql</a>
<a href='/news'>news</a> <a href='http://evil.test/x'><b>\"><img src=x onerror=alert(1)></b></a>
== http://a.test/db
<title>Databases syllabus</title><p>This is the syllabus: sql and joins, every week. Syllabus, sql, joins.</p>
<a href='/news'>news of sql</a>
== http://a.test/news
<title>News</title><p>Nothing of interest was said today about anything at all.</p>
== http://evil.test/x
<title>&lt;script&gt;alert('title')&lt;/script&gt;</title><p>syllabus sql joins &lt;img src=x onerror=alert('text')&gt; syllabus sql</p>
";

/// A folder with one collection, `db`.
fn collection() -> tempfile::TempDir {
    let dir = folder();
    let server = serve(WEB);
    let topic = file(dir.path(), "topic.toml", TOPIC);
    let out = dir.path().join("db");
    finish(crawl(&server, &topic, &out).args(["--seed", "http://a.test/", "--quiet"])).ok();
    dir
}

#[test]
fn nobody_gets_in_without_the_token() {
    let dir = collection();
    let d = Dashboard::start(dir.path(), &[]);
    assert!(d.token.len() >= 32, "{}", d.url);
    for path in [
        "/",
        "/assets/app.js",
        "/api/v1/collections",
        "/api/v1/openapi.json",
        "/metrics",
        "/healthz",
        "/search?q=x",
        "/no/such",
    ] {
        let answer = d.raw("GET", path, &[], "");
        assert_eq!(answer.status, 401, "{path}");
        assert!(!answer.text().contains(&d.token));
    }
    for path in ["/?token=wrong", "/search?q=x&token=wrong"] {
        assert_eq!(d.raw("GET", path, &[], "").status, 401, "{path}");
    }
    // The first use gives a cookie that scripts cannot read and other sites cannot send; it opens the door
    // from then on.
    let first = d.raw("GET", &format!("/?token={}", d.token), &[], "");
    assert_eq!(first.status, 200);
    let cookie = first.header("set-cookie").unwrap();
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
    let pair = cookie.split(';').next().unwrap();
    assert_eq!(d.raw("GET", "/api/v1/collections", &[("Cookie", pair)], "").status, 200);
    let policy = first.header("content-security-policy").unwrap();
    assert!(policy.contains("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
    // A name that someone pointed here, and a page of someone else.
    let auth = format!("Bearer {}", d.token);
    assert_eq!(d.raw("GET", "/healthz", &[("Host", "evil.test"), ("Authorization", &auth)], "").status, 403);
    let cross = [("Cookie", pair), ("Origin", "http://evil.test"), ("Content-Type", "application/json")];
    assert_eq!(d.raw("POST", "/api/v1/topics/check", &cross, "{\"topic\":\"\"}").status, 403);
    // Guessing is slow: five at once, then one per second.
    let begun = std::time::Instant::now();
    assert!((0..7).all(|i| d.raw("GET", &format!("/?token={i}"), &[], "").status == 401));
    assert!(begun.elapsed() > std::time::Duration::from_secs(2), "{:?}", begun.elapsed());
}

#[test]
fn an_address_that_others_reach_needs_a_token() {
    let dir = folder();
    let at = |more: &[&str]| run([&["serve", dir.path().to_str().unwrap()], more].concat());
    at(&["--listen", "0.0.0.0:0"]).fails(2, &["a token is needed", "--token"]);
    at(&["--listen", "0.0.0.0:0", "--token", "short"]).fails(2, &["short"]);
    at(&["--token", "a b"]).fails(2, &["token"]);
    run(["serve", "/no/such/folder"]).fails(2, &["not a folder"]);
}

/// Does a value fit a schema of the document? Enough of JSON Schema for ours.
fn fits(value: &Value, schema: &Value, doc: &Value, at: &str) {
    if let Some(name) = schema["$ref"].as_str() {
        let name = name.rsplit('/').next().unwrap();
        return fits(value, &doc["components"]["schemas"][name], doc, at);
    }
    if value.is_null() {
        assert_eq!(schema["nullable"], true, "{at} is null");
        return;
    }
    if let Some(all) = schema["allOf"].as_array() {
        return all.iter().for_each(|s| fits(value, s, doc, at));
    }
    match schema["type"].as_str().unwrap_or("") {
        "object" => {
            let object = value.as_object().unwrap_or_else(|| panic!("{at} is no object: {value}"));
            for name in schema["required"].as_array().into_iter().flatten() {
                assert!(object.contains_key(name.as_str().unwrap()), "{at} lacks {name}");
            }
            for (k, v) in object {
                match schema["properties"].get(k) {
                    Some(s) => fits(v, s, doc, &format!("{at}.{k}")),
                    None => {
                        assert_ne!(schema["additionalProperties"], false, "{at}.{k} is not in the document")
                    }
                }
            }
        }
        "array" => {
            let list = value.as_array().unwrap_or_else(|| panic!("{at} is no list: {value}"));
            list.iter().enumerate().for_each(|(i, v)| fits(v, &schema["items"], doc, &format!("{at}[{i}]")));
        }
        "string" => assert!(value.is_string(), "{at} is no text: {value}"),
        "integer" => assert!(value.is_u64() || value.is_i64(), "{at} is no whole number: {value}"),
        "number" => assert!(value.is_number(), "{at} is no number: {value}"),
        "boolean" => assert!(value.is_boolean(), "{at} is not true or false: {value}"),
        other => assert!(other.is_empty(), "{at}: {other}"),
    }
}

#[test]
fn every_answer_is_as_the_document_says() {
    let dir = collection();
    let d = Dashboard::start(dir.path(), &[]);
    let doc = d.json("/api/v1/openapi.json");
    let id = d.json("/api/v1/collections/db/pages")["pages"][0]["id"].to_string();
    let mut asked = 0;
    for (path, methods) in doc["paths"].as_object().unwrap() {
        let Some(operation) = methods.get("get") else { continue };
        let Some(schema) = operation["responses"]["200"]["content"].get("application/json") else { continue };
        let path = path.replace("{collection}", "db").replace("{id}", &id);
        let path = match path.as_str() {
            p if p.contains("{backtest}") => continue,
            p if p.ends_with("/explain") => format!("{p}?url=http://a.test/db"),
            p if p.ends_with("/search") => format!("{p}?q=sql"),
            p => p.to_string(),
        };
        fits(&d.json(&path), &schema["schema"], &doc, &path);
        asked += 1;
    }
    assert!(asked >= 14, "{asked}");
    let bad = [
        "/api/v1/collections/nope",
        "/api/v1/collections/db/pages/4000000",
        "/api/v1/collections/db/pages/x",
        "/api/v1/collections/db/pages?limit=0",
        "/api/v1/collections/db/pages?nope=1",
        "/api/v1/collections/db/pages?cursor=zz",
        "/api/v1/collections/db/explain",
        "/api/v1/collections/..%2f..%2fetc/pages",
        "/api/v1/collections/%00/pages",
        "/api/v1/collections/%ff/pages",
        "/api/v1/backtests/..",
        "/api/v1",
    ];
    for path in bad {
        let answer = d.get(path);
        assert!((400..500).contains(&answer.status), "{path}: {}", answer.status);
        fits(&answer.json(), &doc["components"]["schemas"]["Error"], &doc, path);
    }
    assert_eq!(d.send("DELETE", "/api/v1/collections", &json!({})).status, 405);
    assert_eq!(
        d.raw("POST", "/api/v1/topics/check", &[("Authorization", &format!("Bearer {}", d.token))], "{}")
            .status,
        415
    );
    let large = json!({ "topic": "x".repeat(2 << 20) });
    assert_eq!(d.send("POST", "/api/v1/topics/check", &large).status, 413);
}

#[test]
fn a_collection_is_shown_searched_and_explained() {
    let dir = collection();
    let d = Dashboard::start(dir.path(), &[]);
    let list = d.json("/api/v1/collections");
    assert_eq!(list["collections"].as_array().unwrap().len(), 1);
    let overview = d.json("/api/v1/collections/db");
    assert_eq!(
        (&overview["pages"], &overview["relevant"], &overview["state"]),
        (&json!(4), &json!(3), &json!("stopped"))
    );

    // Filters, order and cursor: every page once, best first.
    let mut scores = Vec::new();
    let mut next = String::new();
    loop {
        let page = d.json(&format!("/api/v1/collections/db/pages?limit=1&sort=best{next}"));
        scores.push(page["pages"][0]["score"].as_f64().unwrap());
        match page["next"].as_str() {
            Some(c) => next = format!("&cursor={c}"),
            None => break,
        }
    }
    assert_eq!(scores.len(), 4);
    assert!(scores.is_sorted_by(|a, b| a >= b), "{scores:?}");
    let count = |filter: &str| {
        d.json(&format!("/api/v1/collections/db/pages?{filter}"))["pages"].as_array().unwrap().len()
    };
    assert_eq!(count("relevant=true"), 3);
    assert_eq!(count("relevant=false&host=a.test"), 1);
    assert_eq!(count("host=no.test"), 0);
    assert_eq!(count("q=nothing+of+interest"), 1);
    assert_eq!(count(&format!("min_score={}", scores[0])), 1);

    // One page: terms marked, why-path, evidence, archive record.
    let found = d.json("/api/v1/collections/db/search?q=joins");
    let db = found["results"].as_array().unwrap().iter().find(|r| r["url"] == "http://a.test/db").unwrap();
    assert!(found["facets"].as_array().unwrap().iter().any(|f| f["name"] == "host"));
    let page = d.json(&format!("/api/v1/collections/db/pages/{}", db["id"]));
    let marked: Vec<&str> = page["text"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|p| p.get("set").is_some())
        .map(|p| p["text"].as_str().unwrap())
        .collect();
    assert!(marked.contains(&"syllabus") && marked.contains(&"sql"), "{marked:?}");
    assert_eq!(page["explanation"]["path"][0]["url"], "http://a.test/");
    assert_eq!(page["explanation"]["path"][1]["anchor"], "the syllabus of databases, with sql");
    let warc = d.get(&format!("/api/v1/collections/db/pages/{}/warc", db["id"]));
    assert_eq!((warc.status, warc.body.get(..2)), (200, Some(&[0x1f, 0x8b][..])));

    let hosts = d.json("/api/v1/collections/db/hosts?sort=name");
    assert_eq!(hosts["hosts"][0]["host"], "a.test");
    assert_eq!((&hosts["hosts"][0]["pages"], &hosts["hosts"][0]["relevant"]), (&json!(3), &json!(2)));

    // As SearXNG answers.
    let searx = d.json("/search?q=joins&format=json&categories=general&safesearch=1");
    assert_eq!(searx["results"][0]["engine"], "gleaner");
    assert!(searx["results"].as_array().unwrap().iter().any(|r| r["url"] == "http://a.test/db"));
    let metrics = d.get("/metrics").text();
    assert!(metrics.contains("gleaner_pages_total{collection=\"db\"} 4"), "{metrics}");
    assert_eq!(d.json("/healthz")["status"], "ok");
    // For health checks of containers, which have no other program.
    let check = |at: &str, token: &str| {
        finish(gleaner().args(["serve", "--check", "--listen", at]).env("GLEANER_TOKEN", token))
    };
    check(&d.addr, &d.token).ok();
    check(&d.addr, "another-token-of-16").fails(1, &["does not know this token", "GLEANER_TOKEN"]);
    check("127.0.0.1:1", &d.token).fails(1, &["no dashboard answers at 127.0.0.1:1"]);
}

#[test]
fn a_topic_is_checked_as_it_is_written() {
    let dir = folder();
    let d = Dashboard::start(dir.path(), &[]);
    let check = |text: &str| d.send("POST", "/api/v1/topics/check", &json!({ "topic": text })).json();
    let good = check(TOPIC);
    assert_eq!(good["ok"], true, "{good}");
    assert_eq!(good["meaning"]["content"]["own"], json!(["sql", "joins"]));
    let bad = check("name = 'x'\n[content]\nterm = ['y']\n");
    assert_eq!(bad["ok"], false);
    assert!(bad["problem"]["what"].as_str().unwrap().contains("topic.toml:3:1"), "{bad}");
    assert!(bad["problem"]["hint"].as_str().unwrap().contains("terms"), "{bad}");
    assert_eq!(d.send("POST", "/api/v1/topics/check", &json!({ "wrong": 1 })).status, 400);
}

#[test]
fn a_crawl_in_another_process_is_watched_live() {
    use std::io::{BufRead, BufReader, Write};
    let dir = folder();
    let server = common::DemoServer::start(&dir.path().join("log"), None);
    let topic = file(dir.path(), "topic.toml", &format!("{}{}", madeup::TOPIC, madeup::STRICT));
    let out = dir.path().join("demo");
    let mut command = common::gleaner();
    command.arg("crawl").arg(&topic).arg("--out").arg(&out).args([
        "--resolve",
        &server.resolve(),
        "--allow-private",
    ]);
    for seed in madeup::SEEDS {
        command.args(["--seed", seed]);
    }
    let crawl = common::Running::start(command.args(["--delay", "50ms", "--pages", "400", "--quiet"]));
    let d = Dashboard::start(dir.path(), &[]);
    while d.get("/api/v1/collections/demo").status != 200 {
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    let mut stream = std::net::TcpStream::connect(&d.addr).unwrap();
    write!(
        stream,
        "GET /api/v1/collections/demo/live HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n\r\n",
        d.addr, d.token
    )
    .unwrap();
    let mut seen: Vec<u64> = Vec::new();
    for line in BufReader::new(stream).lines() {
        let line = line.unwrap();
        if let Some(data) = line.strip_prefix("data: ") {
            let progress: Value = serde_json::from_str(data).unwrap();
            seen.push(progress["pages"].as_u64().unwrap());
            if seen.len() >= 4 {
                break;
            }
        }
    }
    assert!(seen.is_sorted() && seen.first() < seen.last(), "{seen:?}");
    crawl.signal("INT");
    crawl.wait();
    let now = d.json("/api/v1/collections/demo");
    assert!(Path::new(&out).join("report.html").exists());
    assert!(now["pages"].as_u64() >= seen.last().copied());
}

/// Generated questions, good and bad: no 5xx, nothing that the document does not allow.
#[test]
fn thousands_of_generated_requests_are_answered_as_documented() {
    let Some(python) = common::python("the API against its document (schemathesis)") else { return };
    let dir = collection();
    // Crawls that are started by chance reach nobody.
    let d =
        Dashboard::start(dir.path(), &["--rate", "5000", "--resolve", "*:127.0.0.1:9", "--allow-private"]);
    let id = d.json("/api/v1/collections/db/pages")["pages"][0]["id"].to_string();
    let examples = if common::long() { "200" } else { "70" };
    let args = [format!("http://{}", d.addr), d.token.clone(), "db".into(), id, examples.into()];
    // As long as it takes: thousands of requests on a busy machine take their time.
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/py/check_api.py");
    let ran = std::process::Command::new(python).arg(script).args(args).output().unwrap();
    let said = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success(), "{said}\n{}", String::from_utf8_lossy(&ran.stderr));
    let asked = said.lines().find_map(|l| l.strip_prefix("asked ")).and_then(|n| n.parse::<u32>().ok());
    assert!(asked >= Some(2_000), "{asked:?} questions are too few");
    assert_eq!(d.json("/healthz")["status"], "ok");
}

#[test]
fn a_topic_from_outside_opens_no_file_and_reaches_no_inner_address() {
    let dir = folder();
    let secret = file(dir.path(), "secret.html", "<title>secret</title><p>sql syllabus</p>");
    let d = Dashboard::start(dir.path(), &["--contact", "me@example.org"]);
    let base = "name = 'x'\n[content]\nterms = ['sql']\n";
    for more in [
        format!("[examples]\nrelevant = ['{}']\n", secret.display()),
        format!("[seeds]\nfiles = ['{}']\n", secret.display()),
        format!("[text]\nidf = '{}'\n", secret.display()),
        format!("[text]\nwordnet = '{}'\n", dir.path().display()),
        format!("[judge]\nkind = 'bayes'\ntaxonomy = '{}'\n", dir.path().display()),
        format!("[judge]\nkind = 'bayes'\nmodel = '{}'\n", secret.display()),
        format!("[strategy]\nkind = 'hmm'\nmodel = '{}'\n", secret.display()),
        "[judge]\nkind = 'any'\njudges = ['bayes']\n[judge.bayes]\ntaxonomy = 'x'\n".into(),
        "[judge]\nkind = 'any'\njudges = ['bayes']\n[judge.bayes]\nwhere = ['a', '/etc']\n".into(),
        "[fetch]\nallow_private = true\n".into(),
        "[fetch]\nresolve = ['*:127.0.0.1:80']\n".into(),
        "[fetch]\nproxy = 'http://127.0.0.1:80'\n".into(),
        "[fetch]\nrobots = false\n".into(),
        "[teacher]\nurl = 'http://127.0.0.1:80/v1'\nmodel = 'm'\n".into(),
    ] {
        let topic = format!("{base}{more}");
        let body = json!({ "topic": topic, "seeds": ["http://a.test/"], "urls": [] });
        for (path, fields) in
            [("/api/v1/collections", ["topic", "seeds"]), ("/api/v1/topics/try", ["topic", "urls"])]
        {
            let body: Value = fields.iter().map(|f| (f.to_string(), body[*f].clone())).collect();
            let answer = d.send("POST", path, &body);
            assert_eq!(answer.status, 400, "{more}: {}", answer.text());
        }
    }
    // The guard holds for a dry run: a loopback server of ours is not asked.
    let server = serve("== http://a.test/\n<title>inner</title><p>sql</p>\n");
    let port = server.resolve().rsplit(':').next().unwrap().to_string();
    let urls = [
        format!("http://127.0.0.1:{port}/"),
        "http://[::1]/".into(),
        "http://localhost/".into(),
        secret.display().to_string(),
    ];
    let tried = d.send("POST", "/api/v1/topics/try", &json!({ "topic": base, "urls": urls }));
    assert_eq!(tried.status, 200, "{}", tried.text());
    for page in tried.json()["pages"].as_array().unwrap() {
        assert!(page["score"].is_null() && page["problem"].is_string(), "{page}");
    }
    assert!(server.log().entries().is_empty(), "the guard let a request through");
    // A crawl of such an address fails politely; its folder is a name, not a path.
    let made = d.send(
        "POST",
        "/api/v1/collections",
        &json!({ "name": "../../evil/../x", "topic": base, "seeds": ["http://a.test/"] }),
    );
    assert_eq!(made.json()["name"], "evil-x", "{}", made.text());
    assert!(dir.path().join("evil-x").is_dir());
    let again = d.send(
        "POST",
        "/api/v1/collections",
        &json!({ "name": "evil x", "topic": base, "seeds": ["http://a.test/"] }),
    );
    assert_eq!(again.status, 409);
}

#[test]
fn a_crawl_is_steered_over_the_api_and_keeps_what_was_changed() {
    let dir = folder();
    let web = common::DemoServer::start(&dir.path().join("log"), None);
    let d = Dashboard::start(dir.path(), &["--resolve", &web.resolve(), "--allow-private"]);
    let topic = format!("{}{}\n[fetch]\ndelay = '1s'\n", madeup::TOPIC, madeup::STRICT);
    let made = d.send(
        "POST",
        "/api/v1/collections",
        &json!({ "name": "steered", "topic": topic, "seeds": madeup::SEEDS }),
    );
    assert_eq!(made.status, 200, "{}", made.text());
    let c = "/api/v1/collections/steered";
    let wait = |what: &str, fine: &dyn Fn(&Value) -> bool| {
        let until = std::time::Instant::now() + std::time::Duration::from_secs(60);
        loop {
            let now = d.json(c);
            if fine(&now) {
                return now;
            }
            assert!(std::time::Instant::now() < until, "{what}: {now}");
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
    };
    let send = |method: &str, path: &str, body: Value| {
        let answer = d.send(method, &format!("{c}{path}"), &body);
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        answer.json()
    };
    wait("pages come", &|o| o["pages"].as_u64() > Some(30));
    send("POST", "/control", json!({ "action": "pause" }));
    assert_eq!(wait("paused", &|o| o["state"] == "paused")["controlled"], true);
    assert_eq!(d.send("POST", &format!("{c}/control"), &json!({ "action": "start" })).status, 409);
    assert_eq!(d.send("POST", &format!("{c}/control"), &json!({ "action": "explode" })).status, 400);

    let hosts = d.json(&format!("{c}/hosts?sort=pending"));
    let (blocked, boosted) =
        (hosts["hosts"][0]["host"].as_str().unwrap(), hosts["hosts"][1]["host"].as_str().unwrap());
    send("PUT", &format!("/hosts/{blocked}"), json!({ "rule": "block" }));
    send("PUT", &format!("/hosts/{boosted}"), json!({ "rule": "boost" }));
    assert_eq!(d.send("PUT", &format!("{c}/hosts/no.such.host"), &json!({ "rule": "block" })).status, 404);
    let best = d.json(&format!("{c}/frontier?limit=1"));
    assert!(best["urls"][0]["url"].as_str().unwrap().contains(boosted), "{boosted} goes first: {best}");
    let seeds = send(
        "POST",
        "/seeds",
        json!({ "urls": ["http://www.kingsmere.example/brand-new", madeup::SEEDS[0]] }),
    );
    assert_eq!(seeds["changed"], 1, "{seeds}");
    let change = json!({ "limits": { "pages": 5000 }, "fetch": { "delay_ms": 900 }, "add_terms": [{ "set": "exclude", "term": "kernel" }], "mute_terms": ["syllabus"] });
    send("PATCH", "/settings", change);
    assert_eq!(d.send("PATCH", &format!("{c}/settings"), &json!({ "limits": { "pages": 0 } })).status, 400);
    let id = d.json(&format!("{c}/pages?limit=1"))["pages"][0]["id"].to_string();
    assert_eq!(send("PUT", &format!("/pages/{id}/label"), json!({ "label": true }))["relevant"], true);
    assert_eq!(d.send("PUT", &format!("{c}/pages/{id}/label"), &json!({})).status, 400);
    let asked =
        |host: &str| std::fs::read_to_string(&web.log).unwrap().lines().filter(|l| l.contains(host)).count();
    let before = asked(blocked);
    send("POST", "/control", json!({ "action": "resume" }));
    let pages = d.json(c)["pages"].as_u64();
    wait("it goes on", &|o| o["pages"].as_u64() > pages.map(|p| p + 30));
    assert_eq!(asked(blocked), before, "a blocked host is left alone");
    send("POST", "/control", json!({ "action": "stop" }));
    wait("stopped", &|o| o["state"] == "stopped");

    // Another process takes it up: everything that was changed is there.
    let status = run(["status", dir.path().join("steered").to_str().unwrap(), "--json"]);
    assert!(status.ok().out.contains("\"labels\""), "{status}");
    drop(d);
    let d = Dashboard::start(dir.path(), &["--resolve", &web.resolve(), "--allow-private"]);
    let topic = d.json(&format!("{c}/topic"));
    assert_eq!(topic["meaning"]["limits"]["pages"], 5000);
    assert_eq!(topic["meaning"]["fetch"]["delay_ms"], 900);
    assert!(topic["meaning"]["exclude"].as_array().unwrap().contains(&json!("kernel")));
    assert!(!topic["meaning"]["genre"]["all"].as_array().unwrap().contains(&json!("syllabus")));
    let host = d.json(&format!("{c}/hosts?q={blocked}"));
    assert_eq!(host["hosts"][0]["rule"], "block");
    assert_eq!(d.json(&format!("{c}/pages?label=yes"))["pages"].as_array().unwrap().len(), 1);
    let pages = d.json(c)["pages"].as_u64().unwrap();
    assert_eq!(d.send("POST", &format!("{c}/control"), &json!({ "action": "start" })).status, 200);
    let until = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while d.json(c)["pages"].as_u64().unwrap() < pages + 10 {
        assert!(std::time::Instant::now() < until, "it does not go on: {}", d.json(c));
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    assert_eq!(asked(blocked), before, "a blocked host is left alone after a restart, too");
}
