//! The dashboard in a real browser, on a real running crawl of the demo web: curves move, a label changes
//! verdicts, pause and resume work, search finds, a hostile page executes nothing. Pictures of every page go
//! to `$GLEANER_PICTURES` (default: `target/tmp/dashboard`).

use crate::common;
use crate::common::browser::{Browser, pictures};
use crate::common::dashboard::Dashboard;
use crate::common::{crawl, file, finish, folder, run, serve};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

fn pages(b: &mut Browser) -> u64 {
    let text = b.eval("document.querySelectorAll('.kpi b')[1]?.textContent ?? '0'");
    text.as_str().unwrap_or("0").replace(',', "").parse().unwrap_or(0)
}

/// Everything a person does with a crawl, in one session: a browser is slow to start.
#[test]
fn a_crawl_is_started_watched_corrected_and_searched() {
    let Some(mut b) = Browser::start() else { return };
    let dir = folder();
    let shots = pictures("dashboard");
    let web = common::DemoServer::start(&dir.path().join("log"), None);
    let d = Dashboard::start(dir.path(), &["--resolve", &web.resolve(), "--allow-private", "--rate", "1000"]);

    // Nobody gets in without the token; with it, the address is cleaned.
    b.open(&format!("http://{}/", d.addr));
    b.wait("document.body.innerText.includes('A token is needed')");
    b.complaints.clear();
    b.open(&d.url);
    b.wait("document.body.innerText.includes('No collections yet')");
    assert_eq!(b.eval("location.search"), "");

    // New crawl: a mistake is named at once, then a dry run, then the start.
    b.eval("location.hash = '#/new'");
    b.wait("document.querySelector('#checked')?.innerText.includes('Say what you want')");
    b.eval("document.querySelector('#advanced').open = true");
    b.fill("topic", "name = 'x'\n[content]\nterm = ['y']\n");
    b.wait("document.querySelector('#checked').innerText.includes('topic.toml:3:1')");
    assert!(b.text().contains("did you mean `terms`?"), "{}", b.text());
    let topic = format!(
        "{}\n[limits]\npages = 1100\n[fetch]\ndelay = '2s'\nconcurrency = 12\n",
        format!("{}{}", madeup::TOPIC, madeup::STRICT).replace("0.47", "'auto'")
    );
    b.fill("topic", &topic);
    b.wait("document.querySelector('#checked').innerText.includes('Understood')");
    b.fill("trial", &format!("{}\nhttp://127.0.0.1:1/inner", madeup::SEEDS[0]));
    b.click("#try");
    b.wait("document.querySelectorAll('#tried tr').length === 2");
    b.picture(&shots.join("new.png"));
    b.fill("seeds", &madeup::SEEDS.join("\n"));
    b.fill("name", "../../Demo Crawl");
    b.click("#start");
    b.wait("location.hash.includes('/c/demo-crawl/overview')");
    assert!(dir.path().join("demo-crawl/ledger.log").is_file(), "the folder is inside ours");

    // Curves move by themselves.
    b.wait("document.querySelector('#state')?.innerText === 'running'");
    b.wait("+document.querySelectorAll('.kpi b')[1].textContent.replace(',', '') > 20");
    let (first, curve) = (pages(&mut b), b.eval("document.querySelector('.chart .c0').getAttribute('d')"));
    b.wait(&format!("+document.querySelectorAll('.kpi b')[1].textContent.replace(',', '') > {first} + 10"));
    assert_ne!(
        b.eval("document.querySelector('.chart .c0').getAttribute('d')"),
        curve,
        "the curve stands still"
    );

    // Pause holds, resume goes on.
    b.click("#do-pause");
    b.wait("document.querySelector('#state').innerText === 'paused'");
    std::thread::sleep(Duration::from_millis(1_200));
    let before = pages(&mut b);
    std::thread::sleep(Duration::from_millis(1_500));
    assert_eq!(pages(&mut b), before, "a paused crawl fetches nothing");

    // Settings: other limits, a muted term, a new seed; kept in the ledger.
    b.click("#change");
    b.wait("document.querySelector('#settings')?.open");
    b.fill("set-pages", "1050");
    b.fill("add-term", "data modelling");
    b.fill("add-seeds", "http://www.kingsmere.example/brand-new");
    b.picture(&shots.join("settings.png"));
    b.click("#save");
    b.wait("!document.querySelector('#settings')");
    b.click("#do-resume");
    b.wait("document.querySelector('#state').innerText === 'running'");
    b.wait(&format!("+document.querySelectorAll('.kpi b')[1].textContent.replace(',', '') > {before}"));
    b.picture(&shots.join("overview.png"));
    let settings = d.json("/api/v1/collections/demo-crawl/topic");
    assert_eq!(settings["meaning"]["limits"]["pages"], 1050);
    assert!(settings["meaning"]["content"]["own"].as_array().unwrap().contains(&json!("data modelling")));

    b.wait("+document.querySelectorAll('.kpi b')[1].textContent.replace(',', '') > 180");
    // Labels from the keyboard: three of each kind move the threshold, and other verdicts with it.
    let best = d.json("/api/v1/collections/demo-crawl/pages?sort=best&limit=200");
    let scores: Vec<f64> =
        best["pages"].as_array().unwrap().iter().map(|p| p["score"].as_f64().unwrap()).collect();
    assert!(scores.len() > 20, "{}", scores.len());
    b.eval("location.hash = '#/c/demo-crawl/pages?sort=best'");
    b.wait("document.querySelectorAll('tbody tr').length > 20");
    b.key("j");
    for row in 0..3 {
        b.key("y");
        b.wait(&format!("document.querySelectorAll('tbody tr')[{row}].innerText.includes('you: yes')"));
    }
    b.picture(&shots.join("pages.png"));
    // Most of what was judged relevant is called irrelevant: the threshold has to rise.
    let relevant = d.json("/api/v1/collections/demo-crawl/pages?relevant=true&sort=worst&limit=200");
    let list = relevant["pages"].as_array().unwrap();
    let mut said = Vec::new();
    for p in list.iter().take((list.len() / 2).clamp(3, 12)) {
        let done = d.send(
            "PUT",
            &format!("/api/v1/collections/demo-crawl/pages/{}/label", p["id"]),
            &json!({ "label": false }),
        );
        assert_eq!(done.status, 200, "{}", done.text());
        said.push(done.json());
    }
    let changed: u64 = said.iter().map(|e| e["changed"].as_u64().unwrap()).sum();
    assert!(changed > 0 || list.len() < 8, "no verdict changed: {said:?}");
    assert!(said.iter().all(|e| e["relevant"] == false), "{said:?}");

    // One page: terms marked, why-path, label with its effect shown.
    let id = best["pages"][0]["id"].to_string();
    b.eval(&format!("location.hash = '#/c/demo-crawl/pages/{id}'"));
    b.wait(
        "document.querySelectorAll('.path li').length > 0 && document.querySelectorAll('mark').length > 0",
    );
    b.key("n");
    b.wait("!document.querySelector('#effect').hidden");
    b.key("y");
    b.wait("document.querySelector('#effect').innerText.includes('labelled relevant')");
    b.picture(&shots.join("page.png"));

    // A host is blocked and another goes first.
    b.eval("location.hash = '#/c/demo-crawl/hosts'");
    b.wait("document.querySelectorAll('tbody tr').length > 5");
    b.eval("document.querySelectorAll('tbody tr')[0].querySelectorAll('button')[0].click()");
    b.wait("document.querySelector('tbody tr button[aria-pressed=true]')");
    b.eval("[...document.querySelectorAll('tbody tr')].at(-1).querySelectorAll('button')[1].click()");
    b.wait("document.body.innerText.includes('blocked by you')");
    b.picture(&shots.join("hosts.png"));

    b.eval("location.hash = '#/c/demo-crawl/frontier'");
    b.wait(
        "document.querySelectorAll('tbody tr').length > 3 || document.body.innerText.includes('Nothing \
            is waiting')",
    );
    b.picture(&shots.join("frontier.png"));

    // Stop; what was changed is there when it goes on.
    b.eval("location.hash = '#/c/demo-crawl/overview'");
    b.click("#do-stop");
    b.wait("document.querySelector('#state').innerText === 'stopped'");
    let stopped = d.json("/api/v1/collections/demo-crawl");
    let labelled = stopped["labelled"].as_u64().unwrap();
    assert!(labelled >= 6, "{labelled}");
    assert_eq!(stopped["budget"]["pages"], 1050);
    // Correcting goes on without a crawl.
    let done = d.send(
        "PUT",
        &format!("/api/v1/collections/demo-crawl/pages/{id}/label"),
        &json!({ "label": false }),
    );
    assert_eq!((done.status, &done.json()["relevant"]), (200, &json!(false)), "{}", done.text());
    b.click("#do-start");
    b.wait("document.querySelector('#state').innerText === 'running'");
    b.click("#do-stop");
    b.wait("document.querySelector('#state').innerText === 'stopped'");

    // Search finds, with facets.
    b.eval("location.hash = '#/c/demo-crawl/search'");
    b.wait("document.querySelector('input[name=q]')");
    b.eval(
        "document.querySelector('input[name=q]').value = 'syllabus'; \
            document.querySelector('form.searchbox').requestSubmit()",
    );
    b.wait(
        "document.querySelectorAll('.result').length > 0 && document.querySelectorAll('.facets \
            li').length > 0",
    );
    assert!(b.eval("document.querySelectorAll('.result mark').length").as_u64() > Some(0));
    b.picture(&shots.join("search.png"));

    // The crawl beside a backtest that was left in the folder.
    let tried = dir.path().join("tried");
    let strategies = ["breadth-first", "best-first", "adaptive"];
    let list = strategies.join(",");
    run([
        "backtest",
        "--web",
        "sim:campus?pages=200",
        "--strategies",
        &list,
        "--out",
        tried.to_str().unwrap(),
    ])
    .ok();
    b.eval("location.hash = '#/compare'");
    b.wait(
        "document.querySelectorAll('.chart').length === 2 && document.querySelectorAll('.chart \
            .c2').length > 0",
    );
    let text = b.text();
    assert!(strategies.iter().all(|s| text.contains(s)) && text.contains("sim:campus"), "{text}");
    assert_eq!(b.eval("document.querySelectorAll('.card:last-child tbody tr').length"), 3);
    b.picture(&shots.join("compare.png"));

    // Dark, and on a phone: nothing is wider than the screen.
    b.dark(true);
    b.eval("location.hash = '#/c/demo-crawl/overview'");
    b.wait("document.querySelector('.chart .c0')");
    b.wait("document.documentElement.dataset.theme === 'dark'");
    b.picture(&shots.join("overview-dark.png"));
    b.dark(false);
    b.size(390, 844);
    for view in ["overview", "pages", "frontier", "hosts", "search"] {
        b.eval(&format!("location.hash = '#/c/demo-crawl/{view}'"));
        b.wait("!document.querySelector('main > .loading')");
        std::thread::sleep(Duration::from_millis(200));
        assert_eq!(b.eval("document.documentElement.scrollWidth"), 390, "{view} is too wide for a phone");
    }
    b.eval("location.hash = '#/c/demo-crawl/overview'");
    b.wait("document.querySelector('.chart .c0')");
    b.picture(&shots.join("overview-phone.png"));
    assert!(b.complaints.is_empty(), "{:#?}", b.complaints);
}

/// Titles, anchors, URLs and texts that would run if anything took them for markup.
const HOSTILE: &str = "\
== http://a.test/
<title>&lt;img src=x onerror=\"alert('title')\"&gt;</title>
<meta name=description content='\"><script>alert(1)</script>'>
<p>syllabus sql &lt;script&gt;alert('text')&lt;/script&gt; &lt;img src=x onerror=alert(2)&gt; {{constructor.constructor('alert(3)')()}}</p>
<a href='/b?q=&quot;&gt;&lt;script&gt;alert(4)&lt;/script&gt;'>&lt;svg onload=alert('anchor')&gt; sql syllabus</a>
<a href='javascript:alert(5)'>sql syllabus</a> <a href='data:text/html,<script>alert(6)</script>'>sql</a>
<a href='/c'>\u{202e}sql syllabus\u{0007}</a>
== http://a.test/b?q=%22%3E%3Cscript%3Ealert(4)%3C/script%3E
<title></title><p>sql syllabus &lt;/textarea&gt;&lt;script&gt;alert(7)&lt;/script&gt;</p>
== http://a.test/c
<title>'-alert(8)-' `${alert(9)}`</title><p>sql</p><a href='/d'>&lt;iframe srcdoc='&lt;script&gt;alert(10)&lt;/script&gt;'&gt;</a>
";

#[test]
fn a_hostile_page_executes_nothing() {
    let Some(mut b) = Browser::start() else { return };
    let dir = folder();
    let server = serve(HOSTILE);
    let name = "<img src=x onerror=alert(11)>";
    let topic = format!(
        "name = \"{name}\"\n[genre]\nterms = ['syllabus']\n[content]\n\
         terms = ['sql', '<b onclick=alert(12)>']\n[judge]\nthreshold = 0.1\n[fetch]\ndelay = '1ms'\n"
    );
    let topic = file(dir.path(), "topic.toml", &topic);
    finish(crawl(&server, &topic, &dir.path().join("db")).args([
        "--seed",
        "http://a.test/",
        "--quiet",
        "--pages",
        "2",
    ]))
    .ok();
    let d = Dashboard::start(dir.path(), &[]);
    b.open(&d.url);
    b.wait("document.querySelector('.chart')");
    let ids = d.json("/api/v1/collections/db/pages?sort=oldest");
    let mut views: Vec<String> =
        ["overview", "pages", "frontier", "hosts", "search?q=sql&all=true", "changes", "errors", "teach"]
            .map(String::from)
            .to_vec();
    views.extend(ids["pages"].as_array().unwrap().iter().map(|p: &Value| format!("pages/{}", p["id"])));
    for view in &views {
        b.eval(&format!("location.hash = '#/c/db/{view}'"));
        b.wait("!document.querySelector('.loading')");
        std::thread::sleep(Duration::from_millis(150));
        // What was text in the page is text here, and nothing of it became an element.
        let strange = b.eval(
            "document.querySelectorAll('main img, main script, main iframe, main \
                              svg:not(.chart), main [onerror], main [onclick], main [onload]').length",
        );
        assert_eq!(strange, 0, "{view}");
        let links = b.eval(
            "[...document.querySelectorAll('a')].map((a) => a.protocol).filter((p) => \
                            !['http:', 'https:'].includes(p)).length",
        );
        assert_eq!(links, 0, "{view}");
    }
    b.eval("location.hash = '#/c/db/pages?relevant='");
    b.wait("document.querySelectorAll('tbody tr').length === 2");
    assert!(b.text().contains("<img src=x onerror=\"alert('title')\">"), "{}", b.text());
    b.picture(&pictures("dashboard").join("hostile.png"));
    // The policy itself holds: even code of ours could not make markup of a string.
    assert_eq!(
        b.eval(
            "(() => { try { document.body.innerHTML = '<b>x</b>'; return 'made'; } catch (e) { \
                       return e.name; } })()"
        ),
        "TypeError"
    );
    b.complaints.retain(|c| !c.contains("TrustedHTML"));
    assert!(b.complaints.is_empty(), "{:#?}", b.complaints);
}

#[test]
fn crawl_serve_shows_and_steers_its_own_crawl() {
    use std::io::{BufRead, BufReader};
    let dir = folder();
    let web = common::DemoServer::start(&dir.path().join("log"), None);
    let topic = file(dir.path(), "topic.toml", &format!("{}{}", madeup::TOPIC, madeup::STRICT));
    let mut command = common::gleaner();
    command.arg("crawl").arg(&topic).arg("--out").arg(dir.path().join("mine"));
    command.args([
        "--resolve",
        &web.resolve(),
        "--allow-private",
        "--delay",
        "200ms",
        "--serve",
        "--listen",
        "127.0.0.1:0",
    ]);
    for seed in madeup::SEEDS {
        command.args(["--seed", seed]);
    }
    let mut child = command.stderr(std::process::Stdio::piped()).spawn().unwrap();
    let mut err = BufReader::new(child.stderr.take().unwrap()).lines();
    let url = loop {
        let line = err.next().unwrap().unwrap();
        if let Some(url) = line.strip_prefix("dashboard: ") {
            break url.to_string();
        }
    };
    let rest = std::thread::spawn(move || err.map_while(Result::ok).collect::<Vec<_>>().join("\n"));
    let mut d = Dashboard::at(child, &url);
    let until = Instant::now() + Duration::from_secs(30);
    let overview = |d: &Dashboard| d.json("/api/v1/collections/mine");
    while overview(&d)["state"] != "running" && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(overview(&d)["controlled"], true);
    let act = |d: &Dashboard, action: &str| {
        d.send("POST", "/api/v1/collections/mine/control", &json!({ "action": action })).status
    };
    assert_eq!(act(&d, "start"), 409);
    assert_eq!(act(&d, "pause"), 200);
    assert_eq!(overview(&d)["state"], "paused");
    assert_eq!(act(&d, "resume"), 200);
    // A limit that is reached already ends it, in order.
    let done = d.send("PATCH", "/api/v1/collections/mine/settings", &json!({ "limits": { "pages": 1 } }));
    assert_eq!(done.status, 200, "{}", done.text());
    // Nobody sits at a terminal: it ends.
    assert_eq!(d.child.wait().unwrap().code(), Some(0));
    let said = rest.join().unwrap();
    assert!(said.contains("page limit reached"), "{said}");
}
