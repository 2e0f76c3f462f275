//! Preparing a topic with the real program: seeds from search engines, the conversation of `gleaner new`, the
//! picker, and the whole way from an idea to a crawl. Loopback only.

use crate::common::campus::*;
use crate::common::terminal::Terminal;
use std::io::Write;
use std::process::{Command, Stdio};

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
    let added = "[\"http://campus.example/db0\", \"http://campus.example/db1\", \
                 \"http://campus.example/db2\", \"http://campus.example/db3\"] # known";
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
        let body = "<?xml version=\"1.0\"?><rss \
                    version=\"2.0\"><channel><title>r</title><link>http://f.example/</link>\
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

#[test]
fn without_a_background_nothing_is_taken_unseen() {
    let dir = tempfile::tempdir().unwrap();
    let d = dir.path();
    folder_web(d);
    let files: Vec<String> = (0..3).map(|i| format!("web/campus.example/db{i}.html")).collect();
    let made = |flags: &[&str]| {
        let mut args = vec!["new", "--name", "Databases", "-o", "new.toml", "--force"];
        args.extend(flags);
        args.push("--examples");
        args.extend(files.iter().map(String::as_str));
        let ran = fine(d, &args);
        let text = std::fs::read_to_string(d.join("new.toml")).unwrap();
        let terms = text.lines().skip_while(|l| !l.starts_with("[content]")).nth(1).unwrap().to_string();
        assert!(text.contains("db0.html"), "the examples are kept: {text}");
        (terms, ran.err)
    };
    let (terms, err) = made(&["--subject", "databases"]);
    assert_eq!(terms, "terms = [\"databases\"]");
    assert!(err.contains("no terms taken from the examples") && err.contains("--background"), "{err}");
    // Who asks for them, or says nothing else of the subject, gets what is there.
    assert!(made(&["--subject", "databases", "--terms", "5"]).0.matches(',').count() == 5);
    let (terms, err) = made(&[]);
    assert!(terms.contains("relational model") && err.contains("terms by frequency"), "{terms} {err}");
}

/// `gleaner new --guided` without a terminal: all answers at once. Its exit code and what it said.
fn talk(dir: &std::path::Path, more: &[&str], said: &str) -> (Option<i32>, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_gleaner"))
        .args(["new", "--guided"])
        .args(more)
        .current_dir(dir)
        .env("NO_COLOR", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(said.as_bytes()).unwrap();
    let ran = child.wait_with_output().unwrap();
    (ran.status.code(), String::from_utf8(ran.stderr).unwrap())
}

/// Runs the program in a terminal (of `script`) and types `answers`: each when its text has been shown.
fn in_a_terminal(dir: &std::path::Path, command: &str, answers: &[(&str, &str)]) -> (i32, String) {
    // Keys may come before the program reads them: the terminal is not to edit or echo them meanwhile.
    let mut terminal = Terminal::start(dir, "stty -icanon -echo;", command);
    for (prompt, keys) in answers {
        terminal.wait(prompt);
        terminal.press(keys);
    }
    terminal.end()
}

#[test]
fn terms_are_ticked_in_a_terminal() {
    let dir = tempfile::tempdir().unwrap();
    let d = dir.path();
    folder_web(d);
    std::fs::write(d.join("t.toml"), TOPIC).unwrap();
    let pages = db_urls(3).join(" ");
    let command = format!("terms --web web --into t.toml {pages}");
    // None, then the first, done.
    let (code, screen) = in_a_terminal(d, &command, &[("Which content terms?", "n \r")]);
    assert_eq!(code, 0, "{screen}");
    assert!(screen.contains("added 1 term to t.toml"), "{screen}");
    let text = std::fs::read_to_string(d.join("t.toml")).unwrap();
    assert_eq!(text.lines().count(), TOPIC.lines().count() + 1, "{text}");
    // Giving up changes nothing.
    let (code, screen) = in_a_terminal(d, &command, &[("Which content terms?", "q")]);
    assert_eq!(code, 2, "{screen}");
    assert_eq!(std::fs::read_to_string(d.join("t.toml")).unwrap(), text);
}

#[test]
fn a_conversation_makes_a_topic() {
    let dir = tempfile::tempdir().unwrap();
    let d = dir.path();
    folder_web(d);
    let results: Vec<(String, String)> =
        (4..8).map(|i| (format!("http://campus.example/db{i}.html"), format!("Databases {i}"))).collect();
    let engine = searxng(results);
    // About what, what kind (misspelt, then right), examples, an engine, a name; then which terms and which
    // seeds.
    let web = serve(|_, target, _| match page(target.trim_end_matches(".html")) {
        Some(body) => (200, String::new(), "text/html; charset=utf-8", body),
        None => (404, String::new(), "text/html", "no".into()),
    });
    let said = format!(
        "query optimization\nsylabus\nsyllabus\n{}\nsearxng:http://{engine}\nMy databases\nall\n1-3\n",
        db_urls(3).join(" ")
    );
    let resolve = format!("campus.example:80:{web}");
    let (code, err) = talk(d, &["--web", "web", "--allow-private", "--resolve", &resolve], &said);
    assert_eq!(code, Some(0), "{err}");
    assert!(err.contains("did you mean `syllabus`?"), "{err}");
    assert!(err.contains("These pages, by the new topic:") && err.contains("threshold 0."), "{err}");
    let text = std::fs::read_to_string(d.join("my-databases.toml")).unwrap();
    for part in ["query optimization", "relational model", "preset = \"syllabus\"", "db0.html", "db6.html"] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    assert!(!text.contains("db7.html"), "only three seeds were taken: {text}");
    fine(d, &["config", "my-databases.toml"]);
    // Without a terminal and without flags nobody is asked.
    let ran = gleaner(d, &["new"]);
    assert!(ran.code == 2 && ran.err.contains("nobody to ask"), "{}", ran.err);
}

#[test]
fn a_server_with_a_token() {
    let dir = tempfile::tempdir().unwrap();
    let d = dir.path();
    std::fs::write(
        d.join("x.toml"),
        "name = 'x'\n[content]\nterms = ['b-trees']\n[genre]\npreset = 'news'\n",
    )
    .unwrap();
    // What `gleaner serve` answers: a token in the header, never in the address; a category only where it is
    // asked for.
    let server = serve_with_headers(|head, target| {
        if !head.to_lowercase().contains("authorization: bearer t0ken") || target.contains("t0ken") {
            let body = r#"{"error":{"what":"a token is needed","because":null,"hint":null}}"#;
            return (401, String::new(), "application/json", body.into());
        }
        let kind = if target.contains("categories=news") { "news" } else { "web" };
        let found = target.contains("all=1") && target.contains("pageno=1");
        let body =
            if found { format!(r#"[{{"url":"http://{kind}.example/","title":"t"}}]"#) } else { "[]".into() };
        (200, String::new(), "application/json", format!(r#"{{"results":{body}}}"#))
    });
    let engine = format!("searxng:http://{server}/?token=t0ken&all=1");
    let ran = fine(d, &["seeds", "x.toml", "--no-check", "--engine", &engine]);
    let lines: Vec<Vec<&str>> = ran.out.lines().map(|l| l.split('\t').collect()).collect();
    assert_eq!((lines[0][0], lines[0][3], lines[0][4]), ("http://web.example/", "news", "web"));
    assert_eq!((lines[1][0], lines[1][3], lines[1][4]), ("http://news.example/", "news", "news"));
    // Only the section that is named.
    let ran = fine(d, &["seeds", "x.toml", "--no-check", "--engine", &engine, "--sections", "news"]);
    assert_eq!(ran.out.lines().count(), 1, "{}", ran.out);
    let ran = gleaner(d, &["seeds", "x.toml", "--engine", &engine, "--sections", "recipes"]);
    assert!(ran.code == 2 && ran.err.contains("does not keep that apart"), "{}", ran.err);
    let ran =
        gleaner(d, &["seeds", "x.toml", "--no-check", "--engine", &format!("searxng:http://{server}/")]);
    assert!(ran.code == 1 && ran.err.contains("a token is needed"), "{}", ran.err);
}

#[test]
fn results_that_robots_txt_forbids_are_left_out() {
    let dir = tempfile::tempdir().unwrap();
    let d = dir.path();
    std::fs::write(d.join("x.toml"), "name = 'x'\n[content]\nterms = ['b-trees']\n[fetch]\ndelay = '0s'\n")
        .unwrap();
    let web = serve(|_, target, _| match target {
        "/robots.txt" => (200, String::new(), "text/plain", "User-agent: *\nDisallow: /private".into()),
        "/private" => panic!("fetched what robots.txt forbids"),
        _ => (200, String::new(), "text/html", "<p>b-trees</p>".into()),
    });
    let engine = searxng(vec![
        ("http://campus.example/private".into(), "no".into()),
        ("http://campus.example/open".into(), "yes".into()),
    ]);
    let resolve = format!("campus.example:80:{web}");
    let engine = format!("searxng:http://{engine}");
    let ran = fine(d, &["seeds", "x.toml", "--engine", &engine, "--resolve", &resolve, "--allow-private"]);
    assert_eq!(ran.out.lines().count(), 1, "{}", ran.out);
    assert!(ran.err.contains("campus.example/private: robots.txt forbids it"), "{}", ran.err);
}

#[test]
fn from_an_idea_to_a_crawl() {
    let dir = tempfile::tempdir().unwrap();
    let d = dir.path();
    let web = crawled(d);
    // The collection answers as a search engine would; with three example pages and a phrase it makes a
    // topic.
    let resolve = format!("*:{web}");
    let examples: Vec<String> = (0..3).map(|i| format!("http://campus.example/art{i}")).collect();
    let mut args = vec!["new", "--subject", "marble sculpture", "--genre", "syllabus", "--name", "Art"];
    args.extend(["--collection", "c", "--engine", "collection:c", "-o", "art.toml", "--examples"]);
    args.extend(examples.iter().map(String::as_str));
    fine(d, &args);
    let text = std::fs::read_to_string(d.join("art.toml")).unwrap();
    assert!(text.contains("oil paintings") && text.contains("campus.example/art5"), "{text}");
    let judged = fine(
        d,
        &[
            "judge",
            "art.toml",
            "--collection",
            "c",
            "http://campus.example/art7",
            "http://campus.example/news1",
        ],
    );
    assert!(judged.out.contains("oil paintings ×1") && judged.out.contains("not relevant"), "{}", judged.out);
    assert!(judged.out.contains("threshold 0."), "{}", judged.out);
    fine(d, &["crawl", "art.toml", "--out", "art", "--resolve", &resolve, "--allow-private", "--quiet"]);
    let found = fine(d, &["export", "art", "--format", "jsonl", "--copies"]).out;
    for i in 0..10 {
        assert!(found.contains(&format!("\"http://campus.example/art{i}\"")), "art{i}: {found}");
    }
    assert!(!found.contains("/news"), "{found}");
    // What was chosen and why is kept.
    let status = fine(d, &["status", "art"]).out;
    assert!(status.contains("threshold  0.") && status.contains("3 labelled pages"), "{status}");
}

#[test]
fn a_conversation_survives_a_wrong_address() {
    let dir = tempfile::tempdir().unwrap();
    let d = dir.path();
    let (code, err) = talk(d, &[], "query optimization\n?\nsyllabus\nhttp://127.0.0.1:1/nosuch\n\nMine\n");
    assert_eq!(code, Some(0), "{err}");
    assert!(err.contains("the page of a course: what is taught"), "{err}");
    assert!(err.contains("no example page could be read") && err.contains("made without them"), "{err}");
    let text = std::fs::read_to_string(d.join("mine.toml")).unwrap();
    assert!(text.contains("query optimization") && !text.contains("nosuch"), "{text}");
    // Nothing but such an example is no topic.
    let (code, err) = talk(d, &[], "\n\nhttp://127.0.0.1:1/nosuch\n\nOther\n");
    assert!(code != Some(0) && err.contains("no example page could be read"), "{err}");
    assert!(!d.join("other.toml").exists());
}

#[test]
fn a_sentence_becomes_a_topic() {
    let dir = tempfile::tempdir().unwrap();
    let d = dir.path();
    let ran = fine(d, &["new", "syllabi of database courses, not tutorials", "-o", "s.toml"]);
    assert!(
        ran.err.contains("A draft of the topic") && ran.err.contains("syllabi database -tutorials"),
        "{}",
        ran.err
    );
    let text = std::fs::read_to_string(d.join("s.toml")).unwrap();
    for part in [
        "name = \"syllabi of database courses, not tutorials\"",
        "description = \"syllabi of database courses, not tutorials\"",
        "preset = \"syllabus\"",
        "terms = [\"database\"]",
        "# search: syllabi database -tutorials",
        "wanted pages may have these words, too: tutorials",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    fine(d, &["config", "s.toml"]);
    // A model that drafts, one that talks nonsense, one that is not there.
    let draft = r#"{"description": "Pages of courses on databases.", "genre": "syllabus", "subject": ["sql", "normal forms"], "exclude": ["video course"], "queries": ["sql course syllabus"]}"#;
    let reply =
        |content: &str| serde_json::json!({ "choices": [{ "message": { "content": content } }] }).to_string();
    let (good, bad) = (reply(draft), reply("I would rather not."));
    let good = serve(move |_, _, _| (200, String::new(), "application/json", good.clone()));
    let bad = serve(move |_, _, _| (200, String::new(), "application/json", bad.clone()));
    let made = |url: &str| {
        let args = [
            "new",
            "syllabi of database courses, not tutorials",
            "--teacher-url",
            url,
            "--teacher-model",
            "m",
            "-o",
            "m.toml",
            "--force",
        ];
        let ran = fine(d, &args);
        (std::fs::read_to_string(d.join("m.toml")).unwrap(), ran.err)
    };
    let (text, _) = made(&format!("http://{good}/v1"));
    for part in [
        "sql\", \"normal forms",
        "terms = [\"video course\"]",
        "# search: sql course syllabus",
        "[teacher]",
        "Pages of courses on databases.",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    let (text, err) = made(&format!("http://{bad}/v1"));
    assert!(
        err.contains("gives no draft") && err.contains("by rules instead") && text.contains("[\"database\"]"),
        "{err}"
    );
}

#[test]
fn a_conversation_fetches_what_to_compare_with_and_asks_about_a_trial() {
    let dir = tempfile::tempdir().unwrap();
    let d = dir.path();
    let resolve = format!("*:{}", campus());
    let examples = "http://campus.example/db0 http://campus.example/db1 http://campus.example/db2";
    // Without pages to compare with nothing is ticked: an empty answer takes nothing.
    let said = format!("databases\nsyllabus\n{examples}\nhttp://campus.example/\nFirst\nn\n\nn\n");
    let flags = ["--resolve", &resolve, "--allow-private"];
    let (code, err) = talk(d, &flags, &said);
    assert_eq!(code, Some(0), "{err}");
    assert!(
        err.contains("There are no pages to compare with. Fetch some?") && err.contains("or none [none]"),
        "{err}"
    );
    let text = std::fs::read_to_string(d.join("first.toml")).unwrap();
    assert!(text.contains("terms = [\"databases\"]"), "{text}");
    // With them: what is special is ticked. A trial, and what is said of its pages.
    let said = format!(
        "databases\nsyllabus\n{examples}\nhttp://campus.example/\nSecond\ny\n\ny\ny\nn\ns\n\u{1b}\nn\nq\n"
    );
    let (code, err) = talk(d, &flags, &said);
    assert_eq!(code, Some(0), "{err}");
    assert!(err.contains("pages to compare with") && err.contains("or none [all]"), "{err}");
    assert!(err.contains("Try the topic in a short crawl?") && err.contains("1 of 10"), "{err}");
    let text = std::fs::read_to_string(d.join("second.toml")).unwrap();
    let config: toml::Table = text.parse().unwrap();
    assert!(text.contains("relational model"), "{text}");
    let list = |key: &str| config["examples"][key].as_array().unwrap().len();
    assert_eq!((list("relevant"), list("irrelevant")), (4, 2), "yes; no, skip taken back, no: {text}");
    // Words of the kind of page, numbers and single words of a phrase are not offered as the subject.
    let subject: Vec<&str> =
        config["content"]["terms"].as_array().unwrap().iter().map(|t| t.as_str().unwrap()).collect();
    for word in ["office hours", "syllabus", "grading", "optimization", "relational", "model"] {
        assert!(!subject.contains(&word), "{word}: {subject:?}");
    }
    // Nothing of the trial is left.
    let left = std::fs::read_dir(std::env::temp_dir()).unwrap().flatten();
    let left = left.filter(|e| e.file_name().to_string_lossy().starts_with("gleaner-trial-")).count();
    assert_eq!(left, 0);
}

#[test]
fn escape_goes_back_one_step_and_loses_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let d = dir.path();
    folder_web(d);
    let typed = format!("{}\r", db_urls(3).join(" "));
    // Back from the name to the start, from the terms to the name; what was typed is still there to be
    // changed.
    let answers = [
        ("What are the pages about?", "databases\r"),
        ("What kind of page?", "news\r"),
        ("Do you know pages", "\u{1b}"),
        ("What kind of page?", "\u{7f}\u{7f}\u{7f}\u{7f}syllabus\r"),
        ("Do you know pages", typed.as_str()),
        ("Where to start?", "\r"),
        ("What shall the collection be called?", "Mine"),
        ("Mine", "\r"),
        ("Which terms", "\u{1b}"),
        ("What shall the collection be called?", " too\r"),
        ("Which terms", "n \r"),
        ("Try the topic", "n"),
    ];
    let (code, screen) = in_a_terminal(d, "new --web web", &answers);
    assert_eq!(code, 0, "{screen}");
    let text = std::fs::read_to_string(d.join("mine-too.toml")).unwrap_or_else(|_| panic!("{screen}"));
    assert!(text.contains("preset = \"syllabus\"") && text.contains("\"databases\", "), "{text}");
    assert!(text.contains("db2.html"), "{text}");
}
