//! The last mile for people: a finished crawl says why it stopped and goes on from the browser, results come
//! first, the form and the topic file say the same, numbers agree everywhere, and nothing shuts anyone out
//! (axe-core).

use crate::common::browser::{Browser, pictures};
use crate::common::dashboard::Dashboard;
use crate::common::terminal::Terminal;
use crate::common::{self, DemoServer, file, finish, folder, run};
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;

/// A crawl of the demo's web that ended after so many pages.
fn crawled(dir: &Path, web: &DemoServer, pages: u32) {
    let topic = file(dir, "topic.toml", madeup::TOPIC);
    let mut command = common::gleaner();
    command.arg("crawl").arg(&topic).arg("--out").arg(dir.join("db"));
    command.args(["--resolve", &web.resolve(), "--allow-private", "--delay", "1ms", "--quiet"]);
    command.args(["--pages", &pages.to_string()]);
    for seed in madeup::SEEDS {
        command.args(["--seed", seed]);
    }
    finish(&mut command).ok();
}

fn setting<'a>(overview: &'a Value, name: &str) -> &'a Value {
    let all = overview["settings"].as_array().unwrap();
    all.iter().find(|s| s["name"] == name).unwrap_or_else(|| panic!("no `{name}` in {all:?}"))
}

#[test]
fn a_finished_crawl_says_why_and_goes_on_from_the_browser() {
    let Some(mut b) = Browser::start() else { return };
    let dir = folder();
    let web = DemoServer::start(&dir.path().join("log"), None);
    crawled(dir.path(), &web, 120);
    let d = Dashboard::start(dir.path(), &["--resolve", &web.resolve(), "--allow-private", "--rate", "1000"]);

    // What is in force, and where it came from: the command line of a process that is gone.
    let overview = d.json("/api/v1/collections/db");
    assert_eq!(overview["stopped"], "page limit reached (120)");
    assert_eq!(
        setting(&overview, "page limit"),
        &json!({ "name": "page limit", "value": "120", "from": "command line" })
    );
    assert_eq!(setting(&overview, "pause per host")["value"], "1ms");
    assert_eq!(overview["budget"]["pages"], 120);
    run(["status", dir.path().join("db").to_str().unwrap()]).ok().shows(&[
        "page limit 120 (command line)",
        "stopped    page limit reached (120)",
        "--pages 620",
    ]);

    // Cards say the same.
    b.open(&d.url);
    b.wait("document.querySelector('#stopped')?.innerText.includes('page limit reached (120)')");
    b.eval("location.hash = '#/'");
    b.wait("document.querySelector('.shelf .card')?.innerText.includes('page limit reached (120)')");
    assert_eq!(b.eval("document.querySelectorAll('.shelf .spark').length"), 1);

    // Results come first, copies are folded.
    b.eval("location.hash = '#/c/db/overview'");
    b.wait(
        "document.querySelectorAll('#latest .title').length > 2 && document.querySelectorAll('#best \
            .title').length > 2",
    );
    let above = "document.querySelector('#latest').getBoundingClientRect().top < \
                 document.querySelector('.chart').getBoundingClientRect().top";
    assert_eq!(b.eval(above), true);
    let best: Vec<f64> =
        overview["best"].as_array().unwrap().iter().map(|p| p["score"].as_f64().unwrap()).collect();
    assert!(best.is_sorted_by(|a, b| a >= b), "{best:?}");
    b.eval("location.hash = '#/c/db/pages'");
    b.wait("document.querySelectorAll('tbody tr').length > 2");
    let listed =
        b.eval("[...document.querySelectorAll('tbody tr')].every((r) => r.querySelector('.badge.yes'))");
    assert_eq!(listed, true, "pages open on the relevant ones");
    let relevant = overview["relevant"].as_u64().unwrap();
    assert_eq!(
        b.eval("document.querySelector('.head [role=status]').innerText"),
        format!("{relevant} pages")
    );
    assert!(b.text().contains("Syllabi of database courses"), "every view names its collection");

    // One step further, from the button; the end of that is an end as well.
    b.eval("location.hash = '#/c/db/overview'");
    b.wait("document.querySelector('#do-start')?.innerText === '+500 pages'");
    b.click("#do-start");
    b.wait("+document.querySelectorAll('.kpi b')[1].textContent.replace(',', '') > 150");
    let overview = d.json("/api/v1/collections/db");
    assert_eq!(
        setting(&overview, "page limit"),
        &json!({ "name": "page limit", "value": "620", "from": "changed here" })
    );
    // It may be through already; while it runs it has not stopped for anything.
    assert!(overview["stopped"].is_null() || overview["state"] == "stopped", "{}", overview["stopped"]);
    // The pace of the command line goes on, too.
    assert_eq!(setting(&overview, "pause per host")["value"], "1ms");
    b.wait("document.querySelector('#stopped')?.innerText.includes('(620)')");

    // Changed while it stands, then gone on with.
    b.click("#change");
    b.wait("document.querySelector('#settings')?.open");
    b.eval("document.querySelector('#set-pages').value = '700'");
    b.click("#save-start");
    b.wait("document.querySelector('#stopped')?.innerText.includes('(700)')");

    // A browser's export is the program's.
    let exported = d.get("/api/v1/collections/db/export?format=jsonl");
    assert_eq!(exported.status, 200);
    let own = run(["export", dir.path().join("db").to_str().unwrap(), "--format", "jsonl"]).ok().out.clone();
    assert!(exported.text() == own && own.lines().count() > 10, "{}", exported.text().len());

    // Every bar opens its list.
    b.wait("document.querySelector('#errors a.barrow')");
    b.eval("document.querySelector('#errors a.barrow').click()");
    b.wait("location.hash.includes('/errors?kind=') && document.querySelectorAll('tbody tr').length > 0");
    assert!(b.complaints.is_empty(), "{:#?}", b.complaints);
}

#[test]
fn the_form_and_the_topic_file_say_the_same() {
    let Some(mut b) = Browser::start() else { return };
    let dir = folder();
    let d = Dashboard::start(dir.path(), &["--rate", "1000"]);
    b.open(&d.url);
    b.eval("location.hash = '#/new'");
    b.wait("document.querySelector('#checked')?.innerText.includes('Say what you want')");
    // A sentence fills the form in.
    b.eval("document.querySelector('#wish').value = 'syllabi of database courses, not job offers'");
    b.eval("document.querySelector('.form form').requestSubmit()");
    b.wait("document.querySelector('#genre').value === 'syllabus'");
    b.wait("document.querySelector('#checked').innerText.includes('Understood')");
    let topic =
        |b: &mut Browser| b.eval("document.querySelector('#topic').value").as_str().unwrap().to_string();
    let text = topic(&mut b);
    assert!(
        text.contains("preset = \"syllabus\"") && text.contains("name = \"Syllabi of database courses\""),
        "{text}"
    );
    assert!(text.contains("job offers"), "{text}");
    // The form writes the file and keeps what it has no field for.
    b.fill("topic", &format!("{text}\n[strategy]\nkind = \"best-first\"  # mine\n"));
    b.fill("subject", "sql, relational model\nthird normal form");
    b.fill("seeds", "https://a.example/\nhttps://b.example/x");
    b.fill("limit-pages", "77");
    b.wait("document.querySelector('#checked').innerText.includes('strategy best-first')");
    let parsed: toml::Table = topic(&mut b).parse().unwrap();
    assert_eq!(parsed["content"]["terms"].as_array().unwrap().len(), 3, "{parsed}");
    assert_eq!(parsed["seeds"]["urls"].as_array().unwrap().len(), 2);
    assert_eq!(parsed["limits"]["pages"].as_integer(), Some(77));
    assert!(topic(&mut b).contains("# mine"));
    // The file fills in the form, lists over several lines included.
    let longer = topic(&mut b).replace("pages = 77", "pages = 88").replace(
        "terms = [\"sql\", \"relational model\", \"third normal form\"]",
        "terms = [ # two\n  \"a # b\",\n  \"c\",\n]",
    );
    b.fill("topic", &longer);
    b.wait("document.querySelector('#limit-pages').value === '88'");
    b.wait("document.querySelector('#subject').value === 'a # b, c'");
    b.fill("subject", "d");
    b.wait("document.querySelector('#checked').innerText.includes('Understood')");
    let parsed: toml::Table = topic(&mut b).parse().unwrap();
    assert_eq!(parsed["content"]["terms"], toml::Value::from(vec!["d"]));
    assert!(b.complaints.is_empty(), "{:#?}", b.complaints);
}

/// `crawl --serve` on a terminal stays after its end, and Ctrl-C is a good end.
#[test]
fn the_dashboard_of_a_crawl_stays_until_ctrl_c() {
    let dir = folder();
    let web = DemoServer::start(&dir.path().join("log"), None);
    file(dir.path(), "topic.toml", madeup::TOPIC);
    let seeds: Vec<String> = madeup::SEEDS.iter().map(|s| format!("--seed {s}")).collect();
    let command = format!(
        "crawl topic.toml --out db --resolve '{}' --allow-private --delay 1ms --pages 40 --serve --listen \
         127.0.0.1:0 --token t {}",
        web.resolve(),
        seeds.join(" ")
    );
    let mut t = Terminal::start(dir.path(), "stty cols 140 rows 40;", &command);
    let shown = t.wait("(Ctrl-C ends it)");
    assert!(shown.contains("page limit reached (40)"), "{shown}");
    let url = shown.split_whitespace().rfind(|w| w.starts_with("http://127.0.0.1")).unwrap().to_string();
    let addr = url.trim_start_matches("http://").split('/').next().unwrap().to_string();
    let client = Dashboard {
        url,
        addr,
        token: "t".into(),
        child: std::process::Command::new("true").spawn().unwrap(),
    };
    let overview = client.json("/api/v1/collections/db");
    assert_eq!((&overview["state"], &overview["pages"]), (&json!("stopped"), &json!(40)), "{overview}");
    let more = json!({ "action": "start", "settings": { "limits": { "pages": 60 } } });
    assert_eq!(client.send("POST", "/api/v1/collections/db/control", &more).status, 200);
    common::until("the crawl that went on has ended", || {
        client.json("/api/v1/collections/db")["stopped"] == "page limit reached (60)"
    });
    t.press("\u{3}");
    assert_eq!(t.end().0, 0);
}

/// The same number for the same thing: terminal, status, API, dashboard and report.
#[test]
fn numbers_agree_everywhere() {
    let Some(mut b) = Browser::start() else { return };
    let dir = folder();
    let web = DemoServer::start(&dir.path().join("log"), None);
    crawled(dir.path(), &web, 400);
    let db = dir.path().join("db");
    let status: Value =
        serde_json::from_str(&run(["status", db.to_str().unwrap(), "--json"]).ok().out).unwrap();
    let shown = run(["status", db.to_str().unwrap()]).ok().out.clone();
    let d = Dashboard::start(dir.path(), &[]);
    let api = d.json("/api/v1/collections/db");
    for key in ["pages", "relevant", "pending", "urls"] {
        assert_eq!(status[key], api[key], "{key}");
    }
    assert_eq!(status["settings"], api["settings"]);
    assert_eq!(status["stopped"], api["stopped"]);
    assert_eq!(status["threshold"], api["threshold"]);
    assert_eq!(status["outlook"]["recall"]["value"], api["recall"]);
    let (pages, relevant) = (api["pages"].as_u64().unwrap(), api["relevant"].as_u64().unwrap());
    let harvest = format!("{:.1} %", 100.0 * relevant as f64 / pages as f64);
    assert!(shown.contains(&format!("{pages} fetched, {relevant} relevant ({harvest})")), "{shown}");
    let fetched =
        status["outcomes"].as_array().unwrap().iter().find(|o| o[0] == "fetched").unwrap()[1].clone();
    assert_eq!(fetched, pages, "pages that were fetched are pages");
    b.open(&d.url);
    b.wait("document.querySelectorAll('.kpi b')[0].textContent !== '–'");
    let kpis = b.eval("[...document.querySelectorAll('.kpi b')].map((e) => e.textContent)");
    let said = |i: usize| kpis[i].as_str().unwrap().replace(',', "");
    assert_eq!((said(0), said(1), said(2)), (relevant.to_string(), pages.to_string(), harvest.clone()));
    assert_eq!(said(5), api["pending"].to_string());
    let recall = api["recall"].as_f64().map_or("–".into(), |r| format!("{:.0} %", 100.0 * r));
    assert_eq!(said(3), recall);
    let report = std::fs::read_to_string(db.join("report.html")).unwrap();
    for text in [relevant.to_string(), harvest, api["stopped"].as_str().unwrap().to_string()] {
        assert!(report.contains(&text), "the report does not say `{text}`");
    }
    assert!(b.complaints.is_empty(), "{:#?}", b.complaints);
}

/// axe-core (from npm) finds nothing serious in any view, on a desk and on a phone, by day and by night.
#[test]
fn nobody_is_shut_out() {
    let Some(mut b) = Browser::start() else { return };
    let Some(axe) = std::env::var_os("GLEANER_AXE") else {
        common::tools::missing("accessibility: GLEANER_AXE is not set (axe-core's axe.min.js)");
        return;
    };
    let axe = std::fs::read_to_string(axe).unwrap();
    let dir = folder();
    let web = DemoServer::start(&dir.path().join("log"), None);
    crawled(dir.path(), &web, 150);
    let d = Dashboard::start(dir.path(), &["--rate", "1000"]);
    let page = d.json("/api/v1/collections/db/pages?limit=1&sort=best")["pages"][0]["id"].to_string();
    let page = format!("c/db/pages/{page}");
    let views = [
        "",
        "c/db/overview",
        "c/db/pages",
        &page,
        "c/db/frontier",
        "c/db/hosts",
        "c/db/errors",
        "c/db/changes",
        "c/db/search?q=sql",
        "c/db/teach",
        "compare",
        "new",
        "glossary",
    ];
    let shots = pictures("dashboard");
    let mut found = Vec::new();
    for (width, dark) in [(1400, false), (1400, true), (1024, false), (1024, true), (390, false), (390, true)]
    {
        b.dark(dark);
        b.size(width, 900);
        b.open(&d.url);
        b.wait("document.querySelector('main h1')");
        b.eval(&format!("{axe};1"));
        for view in views {
            b.eval(&format!("location.hash = '#/{view}'"));
            b.wait("!document.querySelector('main > .loading') && document.querySelector('main h1')");
            std::thread::sleep(Duration::from_millis(150));
            let wide = b.eval("document.documentElement.scrollWidth");
            assert!(wide.as_u64().unwrap() <= u64::from(width), "{view} is wider than the screen: {wide}");
            let name = view.split('?').next().unwrap().replace('/', "-");
            let night = if dark { "-dark" } else { "" };
            b.picture(&shots.join(format!(
                "view{}{name}-{width}{night}.png",
                if name.is_empty() { "-home" } else { "-" }
            )));
            let bad = b.eval(
                "axe.run(document).then((r) => r.violations.filter((v) => ['serious', \
                 'critical'].includes(v.impact)) \
                 .map((v) => v.id + ': ' + v.nodes.map((n) => n.target.join(' ')).join(', ')))",
            );
            found.extend(bad.as_array().unwrap().iter().map(|v| format!("{view} at {width}{night}: {v}")));
        }
    }
    assert!(found.is_empty(), "{found:#?}");
}

/// Columns, conditions and compression, in the terminal and over the API.
#[test]
fn an_export_has_what_was_asked_for() {
    let dir = folder();
    let web = DemoServer::start(&dir.path().join("log"), None);
    crawled(dir.path(), &web, 200);
    let db = dir.path().join("db");
    let db = db.to_str().unwrap();
    let export = |more: &[&str]| run([&["export", db][..], more].concat());
    let all = export(&["--all", "--format", "csv", "--columns", "url,language"]).ok().out.clone();
    let mut lines = all.lines();
    assert_eq!(lines.next(), Some("url,language"));
    let english = lines.clone().filter(|l| l.ends_with(",en")).count();
    let one = "http://cs.northfield.example/";
    let northfield = lines.clone().filter(|l| l.starts_with(one)).count();
    assert!(english > 5 && northfield > 2 && lines.count() > english.max(northfield), "{all}");
    let count = |conditions: &[&str]| {
        let mut args = vec!["--all", "--format", "jsonl"];
        conditions.iter().for_each(|c| args.extend(["--where", c]));
        export(&args).ok().out.lines().count()
    };
    assert_eq!(count(&["language=en"]), english);
    assert_eq!(count(&["host=cs.northfield.example"]), northfield);
    assert!(count(&["host=*.northfield.example", "fetched>=2000-01-01"]) >= northfield);
    assert_eq!(count(&["fetched<2000-01-01"]), 0);
    assert_eq!(count(&["score>=0.5"]) + count(&["score<0.5"]), count(&[]));
    export(&["--where", "size>1"]).fails(2, &["`size>1` is no condition", "host=www.example.org"]);
    export(&["--columns", "url,nothing"]).fails(2, &["there is no column `nothing`", "columns: url, title"]);
    export(&["--since", "soon"]).fails(2, &["neither a time span nor a day"]);
    let file = dir.path().join("new.csv.gz");
    export(&["--since", "1d", "-o", file.to_str().unwrap()]).ok();
    let unpacked = std::process::Command::new("gzip").arg("-dc").arg(&file).output().unwrap().stdout;
    assert_eq!(unpacked, export(&["--format", "csv"]).ok().out.as_bytes());

    let d = Dashboard::start(dir.path(), &[]);
    let get = |query: &str| d.get(&format!("/api/v1/collections/db/export?all=true&{query}"));
    let got = get("format=csv&columns=url&where=language%3Den%3B%20fetched%3E%3D2000-01-01");
    assert_eq!((got.status, got.text().lines().count()), (200, english + 1));
    assert_eq!(get("where=size%3E1").status, 400);
}
