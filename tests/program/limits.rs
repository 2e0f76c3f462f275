//! Servers and visitors that want too much: rules without end, sitemaps without end, sockets without end. The
//! log of a web on loopback is the witness.

use crate::common;
use crate::common::dashboard::Dashboard;
use crate::common::{Ran, crawl, file, finish, folder, run, serve};
use madeup::{Ask, Entry, Log, Reply, Server};
use serde_json::json;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

const TOPIC: &str = "name = \"Anything\"\nquery = \"syllabus\"\n[fetch]\ndelay = '0ms'\n";

fn web(answer: impl Fn(&Ask) -> Reply + Send + Sync + 'static) -> Server {
    Server::start(answer, "127.0.0.1:0".parse().unwrap(), Log::in_memory()).unwrap()
}

fn xml(body: String) -> Reply {
    Reply::new(200, "application/xml", body)
}

fn count(log: &[Entry], what: impl Fn(&Entry) -> bool) -> usize {
    log.iter().filter(|e| what(e)).count()
}

/// Bytes of everything in a folder.
fn size(dir: &Path) -> u64 {
    files(dir).iter().map(|p| p.symlink_metadata().unwrap().len()).sum()
}

fn files(dir: &Path) -> Vec<PathBuf> {
    let mut out = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap().flatten() {
        match entry.file_type().unwrap().is_dir() {
            true => out.extend(files(&entry.path())),
            false => out.push(entry.path()),
        }
    }
    out
}

/// Half a megabyte of rules: most for others, many for us.
fn endless_rules() -> String {
    let mut txt = String::new();
    for n in 0..4_000 {
        txt.push_str(&format!("User-agent: bot{n}\nDisallow: /somebody/elses/rule/{n}\n"));
    }
    txt.push_str("User-agent: *\n");
    for n in 0..7_000 {
        txt.push_str(&format!("Disallow: /catalogue/{:02}/of/things/{n}\n", n % 50));
    }
    assert!((450_000..500 << 10).contains(&txt.len()), "{}", txt.len());
    txt
}

#[test]
fn robots_of_half_a_megabyte_cost_little_and_are_obeyed() {
    const HOSTS: usize = 40;
    let txt = endless_rules();
    let server = web(move |ask: &Ask| match ask.path {
        "/robots.txt" => Reply::text(200, txt.clone()),
        "/" => {
            let hosts: String =
                (0..HOSTS).map(|n| format!("<a href='http://h{n}.example/'>h{n}</a> ")).collect();
            Reply::html(format!(
                "<title>Hosts</title>{hosts} <a href='/catalogue/07/of/things/6957'>forbidden</a> <a \
                 href='/about'>about</a>"
            ))
        }
        _ => Reply::html("<title>A page</title>text"),
    });
    let dir = folder();
    let topic = file(dir.path(), "t.toml", TOPIC);
    let out = dir.path().join("out");
    let seed = ["--seed", "http://h0.example/", "--no-archive", "--no-index", "--quiet"];
    // In two runs: the second reads the rules from the ledger.
    finish(crawl(&server, &topic, &out).args(seed).args(["--pages", "30"])).ok();
    finish(crawl(&server, &topic, &out).args(seed)).ok();
    let log = server.log().entries();
    assert_eq!(count(&log, |e| e.path == "/robots.txt"), HOSTS, "each host was asked once");
    assert_eq!(count(&log, |e| e.path == "/about"), HOSTS, "what is allowed was had");
    assert_eq!(count(&log, |e| e.path.starts_with("/catalogue")), 0, "what is forbidden was not");
    let per_host = std::fs::metadata(out.join("ledger.log")).unwrap().len() / HOSTS as u64;
    assert!(per_host < 70_000, "{per_host} bytes of ledger per host");
}

#[test]
fn rules_for_another_user_agent_are_asked_for_again() {
    let server = serve(
        "
        == http://a.example/robots.txt
        User-agent: first
        Disallow: /b
        User-agent: second
        Disallow: /a
        == http://a.example/
        <title>Start</title><a href='/a'>a</a> <a href='/b'>b</a>
        == http://a.example/a
        a
        == http://a.example/b
        b
        ",
    );
    let dir = folder();
    let topic = file(dir.path(), "t.toml", TOPIC);
    let out = dir.path().join("out");
    let with = |agent: &str, pages: &str| {
        let args = ["--seed", "http://a.example/", "--user-agent", agent, "--pages", pages, "--quiet"];
        finish(crawl(&server, &topic, &out).args(args)).ok();
        let log = server.log().entries();
        log.iter().map(|e| e.path.clone()).collect::<Vec<_>>()
    };
    assert_eq!(with("first/1.0", "1"), ["/robots.txt", "/"]);
    let mut all = with("second/1.0", "9");
    assert_eq!(all.remove(2), "/robots.txt", "{all:?}");
    assert_eq!(all, ["/robots.txt", "/", "/b"]);
}

/// A site whose sitemaps name sitemaps for ever, and which has some pages.
fn endless_sitemaps() -> Server {
    web(|ask: &Ask| {
        let at = |path: String| format!("<loc>http://{}{path}</loc>", ask.host);
        let pages = |n: usize| -> String {
            (0..n).map(|n| format!("<a href='/page/{n}'>syllabus {n}</a> ")).collect()
        };
        match ask.path {
            "/robots.txt" => {
                let maps = (0..300).map(|n| format!("Sitemap: http://{}/map/{n}.xml\n", ask.host));
                Reply::text(200, format!("User-agent: *\nAllow: /\n{}", maps.collect::<String>()))
            }
            p if p.starts_with("/map/") => {
                let under = p.trim_end_matches(".xml");
                let maps: String = (0..400)
                    .map(|n| format!("<sitemap>{}</sitemap>", at(format!("{under}/{n}.xml"))))
                    .collect();
                xml(format!("<sitemapindex>{maps}</sitemapindex>"))
            }
            "/" => Reply::html(format!("<title>Start</title>{}", pages(60))),
            p => Reply::html(format!("<title>{p}</title>syllabus {p}")),
        }
    })
}

fn is_map(e: &Entry) -> bool {
    e.path.starts_with("/map/")
}

#[test]
fn sitemaps_without_end_take_turns_with_pages_and_are_few() {
    let server = endless_sitemaps();
    let dir = folder();
    let topic = file(dir.path(), "t.toml", TOPIC);
    let out = dir.path().join("out");
    let args = ["--seed", "http://a.example/", "--no-index", "--quiet"];
    finish(crawl(&server, &topic, &out).args(args).args(["--pages", "40"])).ok();
    let log = server.log().entries();
    assert_eq!(count(&log, |e| e.path == "/" || e.path.starts_with("/page/")), 40, "the pages were had");
    // Every fourth request, after the first two.
    let maps = count(&log, is_map);
    assert!(maps <= 3 + log.len() / 4, "{maps} of {} requests", log.len());
    // In a second run, and with nothing else to fetch: no more than the host's budget, and not too deep.
    finish(crawl(&server, &topic, &out).args(args)).ok();
    let log = server.log().entries();
    assert_eq!(count(&log, |e| e.path == "/" || e.path.starts_with("/page/")), 61);
    assert!(count(&log, is_map) <= 50, "{} sitemaps", count(&log, is_map));
    let deepest = log.iter().filter(|e| is_map(e)).map(|e| e.path.matches('/').count() - 1).max();
    assert!(deepest <= Some(3), "{deepest:?} levels");
    assert!(size(&out) < 2_000_000, "{} bytes", size(&out));
    // Many, but none that another one names.
    let flat = file(dir.path(), "f.toml", &format!("{TOPIC}[limits]\nsitemaps = 500\nsitemap_nesting = 0\n"));
    let out = dir.path().join("flat");
    finish(crawl(&server, &flat, &out).args(["--seed", "http://b.example/", "--no-index", "--quiet"])).ok();
    let log = server.log().entries();
    let maps: Vec<&Entry> = log.iter().filter(|e| is_map(e) && e.host == "b.example").collect();
    assert_eq!(maps.len(), 100, "as many as robots.txt may name");
    assert!(maps.iter().all(|e| e.path.matches('/').count() == 2));
}

#[test]
fn pages_that_turn_out_to_be_sitemaps_have_a_budget_too() {
    // Everything a sitemap names as a page is another sitemap.
    let server = web(|ask: &Ask| match ask.path {
        "/robots.txt" => Reply::text(200, format!("Sitemap: http://{}/m\n", ask.host)),
        "/" => Reply::html("<title>Start</title>syllabus"),
        p => {
            let urls: String =
                (0..300).map(|n| format!("<url><loc>http://{}{p}/{n}</loc></url>", ask.host)).collect();
            xml(format!("<urlset>{urls}</urlset>"))
        }
    });
    let dir = folder();
    let topic = file(dir.path(), "t.toml", &format!("{TOPIC}[limits]\nsitemaps = 5\n"));
    let out = dir.path().join("out");
    let args = ["--seed", "http://a.example/", "--no-index", "--pages", "9", "--requests", "120"];
    let ran = finish(crawl(&server, &topic, &out).args(args));
    ran.ok();
    assert!(ran.err.contains("request limit reached"), "{ran}");
    let log = server.log().entries();
    assert_eq!(log.len(), 120, "all requests count");
    // Five were read, none after that: 1,500 URLs and no more.
    let known = common::collection::Snapshot::take(&out).urls.len();
    assert!(known <= 5 * 300 + 2, "{known} URLs");
    // The budget holds for the next run too.
    finish(crawl(&server, &topic, &out).args(args)).ok();
    assert_eq!(server.log().entries().len(), 120);
    let bad = file(dir.path(), "bad.toml", &format!("{TOPIC}[limits]\nsitemap_share = 2.0\n"));
    finish(&mut crawl(&server, &bad, &out)).fails(2, &["sitemap_share", "between 0 and 1"]);
}

const SMALL: &str = "
    == http://a.example/
    <title>=HYPERLINK(\"http://evil.example\")</title>syllabus <a href='/1'>1</a>
    == http://a.example/1
    <title>One</title>syllabus of one
    ";

fn small_crawl(dir: &Path, topic: &str, out: &Path) -> Ran {
    let server = serve(SMALL);
    let topic = file(dir, "t.toml", topic);
    finish(crawl(&server, &topic, out).args(["--seed", "http://a.example/", "--quiet"]))
}

#[track_caller]
fn all_have(dir: &Path, folders: u32, all_files: u32) {
    let bits = |p: &Path| p.symlink_metadata().unwrap().permissions().mode() & 0o777;
    for path in files(dir) {
        assert_eq!(bits(&path), all_files, "{} has {:o}", path.display(), bits(&path));
        assert_eq!(bits(path.parent().unwrap()), folders, "{}", path.display());
    }
}

#[test]
fn a_new_collection_is_its_owners_own() {
    let dir = folder();
    let out = dir.path().join("mine");
    small_crawl(dir.path(), TOPIC, &out).ok();
    assert!(files(&out).len() > 5);
    all_have(&out, 0o700, 0o600);
    // For a group; and one that is there keeps its mode, whatever the settings say now.
    let out = dir.path().join("ours");
    small_crawl(dir.path(), &format!("{TOPIC}[archive]\nmode = '0770'\n"), &out).ok();
    all_have(&out, 0o770, 0o660);
    small_crawl(dir.path(), TOPIC, &out).ok();
    all_have(&out, 0o770, 0o660);
    small_crawl(dir.path(), &format!("{TOPIC}[archive]\nmode = 'rwx'\n"), &out)
        .fails(2, &["t.toml:", "0750"]);
}

#[test]
fn nothing_is_written_through_a_link_of_somebody_elses_collection() {
    let dir = folder();
    let out = dir.path().join("received");
    small_crawl(dir.path(), TOPIC, &out).ok();
    let mine = file(dir.path(), "precious", "mine");
    for name in ["report.html", "topic.toml"] {
        let kept = std::fs::read(out.join(name)).unwrap();
        std::fs::remove_file(out.join(name)).unwrap();
        symlink(&mine, out.join(name)).unwrap();
        if name == "report.html" {
            run(["report", out.to_str().unwrap()]).ok();
        } else {
            small_crawl(dir.path(), TOPIC, &out).ok();
        }
        assert!(!out.join(name).is_symlink(), "{name} is a file again");
        assert_eq!(std::fs::read(out.join(name)).unwrap().is_empty(), kept.is_empty());
    }
    // Of an archive the end is cut off when a crawl goes on: a link to a file of the user would be cut.
    let warc = common::warcs(&out).remove(0);
    let long = dir.path().join("long");
    std::fs::write(&long, [std::fs::read(&warc).unwrap(), vec![7; 10_000]].concat()).unwrap();
    let before = std::fs::metadata(&long).unwrap().len();
    std::fs::remove_file(&warc).unwrap();
    symlink(&long, &warc).unwrap();
    small_crawl(dir.path(), TOPIC, &out).fails(1, &["is a link"]);
    assert_eq!(std::fs::metadata(&long).unwrap().len(), before);
    // A folder that leads elsewhere.
    let elsewhere = dir.path().join("elsewhere");
    std::fs::rename(out.join("warc"), &elsewhere).unwrap();
    symlink(&elsewhere, out.join("warc")).unwrap();
    small_crawl(dir.path(), TOPIC, &out).fails(1, &["is a link"]);
    assert_eq!(std::fs::read_to_string(&mine).unwrap(), "mine");
}

#[test]
fn csv_cells_are_no_formulas() {
    let dir = folder();
    let out = dir.path().join("out");
    small_crawl(dir.path(), TOPIC, &out).ok();
    let export = |more: &[&str]| {
        let args = [&["export", out.to_str().unwrap(), "--all", "--format", "csv"], more].concat();
        run(args).ok().out.clone()
    };
    let guarded = ",\"'=HYPERLINK(";
    assert!(export(&[]).contains(guarded) && export(&["--formula-safe"]).contains(guarded));
    assert!(export(&["--raw"]).contains(",\"=HYPERLINK("));
}

#[test]
fn only_so_many_crawls_run_at_once() {
    let server = web(|ask: &Ask| match ask.path {
        "/robots.txt" => Reply::not_found(),
        // Never ends.
        p => {
            let n: u64 = p.trim_start_matches('/').parse().unwrap_or(0);
            let page = format!("<title>{n}</title>page {n} <a href='/{}'>next</a>", n + 1);
            Reply { delay_ms: 200, ..Reply::html(page) }
        }
    });
    let dir = folder();
    let resolve = server.resolve();
    let d = Dashboard::start(dir.path(), &["--crawls", "3", "--resolve", &resolve, "--allow-private"]);
    let new = |n: usize| {
        let body = json!({ "name": format!("c{n}"), "topic": TOPIC, "seeds": ["http://a.example/"] });
        d.send("POST", "/api/v1/collections", &body)
    };
    let answers: Vec<_> = (0..8).map(new).collect();
    let status: Vec<u16> = answers.iter().map(|a| a.status).collect();
    assert_eq!(status, [200, 200, 200, 429, 429, 429, 429, 429]);
    let error = answers[3].json();
    assert!(error["error"]["what"].as_str().unwrap().contains("3 crawls"), "{error}");
    assert!(error["error"]["hint"].as_str().unwrap().contains("--crawls"), "{error}");
    assert!(!dir.path().join("c3").exists(), "nothing is left of what was refused");
    // One ends: there is room again.
    let stop = d.send("POST", "/api/v1/collections/c0/control", &json!({ "action": "stop" }));
    assert_eq!(stop.status, 200, "{}", stop.text());
    let until = Instant::now() + Duration::from_secs(60);
    while new(9).status != 200 {
        assert!(Instant::now() < until, "no room after a crawl ended");
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn idle_sockets_and_wrong_tokens_keep_nobody_out() {
    let dir = folder();
    let d = Dashboard::start(dir.path(), &[]);
    // Sockets that say nothing, or half a request. More than the server has places for.
    let idle: Vec<TcpStream> = (0..1100)
        .map_while(|n| {
            let mut s = TcpStream::connect(&d.addr).ok()?;
            if n % 2 == 0 {
                s.write_all(b"GET / HTTP/1.1\r\nHost: 127").ok()?;
            }
            Some(s)
        })
        .collect();
    assert!(idle.len() > 600, "{} sockets", idle.len());
    // Of a process that may have no more.
    let idle = if idle.len() < 1100 { idle.into_iter().skip(50).collect() } else { idle };
    // A socket has a second to ask.
    std::thread::sleep(Duration::from_millis(1200));
    assert_eq!(d.get("/healthz").status, 200, "the token opens the door");
    // They are sent away soon.
    let mut oldest = &idle[0];
    oldest.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    // At most an answer that the request took too long, then the end.
    let _ = oldest.read_to_end(&mut Vec::new());
    drop(idle);

    // Guesses as fast as they go, from as many threads: answers come one per second.
    let (over, answered, sent) = (AtomicBool::new(false), AtomicUsize::new(0), AtomicUsize::new(0));
    let begun = Instant::now();
    let slowest = std::thread::scope(|threads| {
        for t in 0..8 {
            let (d, over, answered, sent) = (&d, &over, &answered, &sent);
            threads.spawn(move || {
                while !over.load(Ordering::Relaxed) {
                    let guess = format!("/?token={t}-{}", sent.fetch_add(1, Ordering::Relaxed));
                    let got = d.raw("GET", &guess, &[], "").status;
                    assert!(got == 401 || got == 0, "{got}");
                    answered.fetch_add(usize::from(got == 401), Ordering::Relaxed);
                }
            });
        }
        // The right token, from the same address, is not made to wait.
        let mut slowest = Duration::ZERO;
        for _ in 0..20 {
            let asked = Instant::now();
            assert_eq!(d.get("/healthz").status, 200);
            slowest = slowest.max(asked.elapsed());
            std::thread::sleep(Duration::from_millis(200));
        }
        over.store(true, Ordering::Relaxed);
        slowest
    });
    let (answered, sent) = (answered.into_inner(), sent.into_inner());
    let seconds = begun.elapsed().as_secs_f64();
    // Five at once, for people who mistype.
    assert!(answered as f64 <= seconds + 6.0, "{answered} answers to {sent} guesses in {seconds:.1} s");
    assert!(answered >= 5 && sent > 2 * answered, "{answered} of {sent}");
    assert!(slowest < Duration::from_secs(20), "{slowest:?}");
    // Two names: which one did the proxy in front of us look at?
    let bearer = format!("Bearer {}", d.token);
    let two = [("Host", d.addr.as_str()), ("Host", "evil.example"), ("Authorization", &bearer)];
    assert_eq!(d.raw("GET", "/healthz", &two, "").status, 400);
}
