//! Politeness, as the servers see it: the log of a web on loopback is the witness. (The same across `kill -9`
//! is in `crash.rs`; that the best URL goes first is in `crates/store`.)

use crate::common::{Running, crawl, file, finish, folder, serve, until};
use madeup::{Entry, max_in_flight};

/// Both clocks count whole milliseconds.
const GRAIN_MS: u64 = 2;

const TOPIC: &str = "name = \"Anything\"\nquery = \"syllabus\"\n";

fn of<'a>(log: &'a [Entry], host: &str) -> Vec<&'a Entry> {
    let mut all: Vec<&Entry> = log.iter().filter(|e| e.host == host).collect();
    all.sort_by_key(|e| (e.arrived, e.finished));
    all
}

fn paths<'a>(log: &'a [Entry], host: &str) -> Vec<&'a str> {
    of(log, host).iter().map(|e| e.path.as_str()).collect()
}

/// Robots first, one at a time, and at least `delay` between the end of one request and the start of the
/// next.
#[track_caller]
fn polite(log: &[Entry], host: &str, delay: u64) {
    let all = of(log, host);
    assert!(all.len() > 1, "{host} was asked {} times", all.len());
    assert_eq!(all[0].path, "/robots.txt", "{host}: the first request");
    assert!(max_in_flight(log, host) <= 1, "{host}: requests at once");
    for pair in all.windows(2) {
        let gap = pair[1].arrived as i64 - pair[0].finished as i64;
        assert!(
            gap + GRAIN_MS as i64 >= delay as i64,
            "{host}: {gap} ms between {} and {}, {delay} asked for",
            pair[0].path,
            pair[1].path
        );
    }
}

#[test]
fn one_at_a_time_with_a_pause_robots_first_also_for_redirects_and_the_next_run() {
    // Two hosts full of links to each other and of redirects to each other, so that both are wanted all the
    // time.
    let mut web = String::new();
    let links: String = (0..8)
        .map(|n| format!("<a href='http://b.example/{n}'>b{n}</a> <a href='/hop/{n}'>hop</a> "))
        .collect();
    web += &format!("== http://a.example/\n<title>Start</title>{links}\n");
    for n in 0..8 {
        web += &format!("== http://a.example/hop/{n} 302 location: http://b.example/moved/{n}\n");
        web += &format!("== http://b.example/{n} !delay=20ms\n<title>b{n}</title>page {n}\n");
        web += &format!("== http://b.example/moved/{n} 301 location: http://c.example/{n}\n");
        web += &format!("== http://c.example/{n}\n<title>c{n}</title>page {n} on c\n");
    }
    let server = serve(&web);
    let dir = folder();
    let topic = file(dir.path(), "t.toml", TOPIC);
    let out = dir.path().join("out");
    let start = [
        "--seed",
        "http://a.example/",
        "--delay",
        "80ms",
        "--concurrency",
        "16",
        "--contact",
        "me@example.org",
    ];
    // In three runs: what a run leaves behind binds the next one.
    finish(crawl(&server, &topic, &out).args(start).args(["--pages", "4"])).ok();
    finish(crawl(&server, &topic, &out).args(start).args(["--pages", "9"])).ok();
    finish(crawl(&server, &topic, &out).args(start)).ok();
    let log = server.log().entries();
    for host in ["a.example", "b.example", "c.example"] {
        polite(&log, host, 80);
    }
    // Everything was had, once.
    for host in ["a.example", "b.example", "c.example"] {
        let mut seen = paths(&log, host);
        let n = seen.len();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), n, "{host}: something was asked for twice: {seen:?}");
    }
    assert_eq!((paths(&log, "a.example").len(), paths(&log, "b.example").len()), (1 + 1 + 8, 1 + 8 + 8));
    assert_eq!(paths(&log, "c.example").len(), 1 + 8);
    // They know who it was.
    assert!(
        log.iter().all(|e| e.agent.contains("Gleaner/") && e.agent.contains("me@example.org")),
        "{:?}",
        log[0]
    );
}

#[test]
fn waiting_for_one_host_does_not_hold_up_the_others() {
    let hosts = ["p.example", "q.example", "r.example", "s.example"];
    let mut web = String::new();
    for host in hosts {
        web += &format!(
            "== http://{host}/ !delay=250ms\n<title>Home</title><a href='/1'>1</a> <a href='/2'>2</a>\n"
        );
        for n in 1..=2 {
            web += &format!("== http://{host}/{n} !delay=250ms\n<title>{n}</title>text\n");
        }
    }
    let server = serve(&web);
    let dir = folder();
    let topic = file(dir.path(), "t.toml", TOPIC);
    let mut command = crawl(&server, &topic, &dir.path().join("out"));
    for host in hosts {
        command.args(["--seed", &format!("http://{host}/")]);
    }
    finish(command.args(["--delay", "200ms"])).ok();
    let log = server.log().entries();
    for host in hosts {
        polite(&log, host, 200);
    }
    // All four at once, for as long as a page takes.
    let together: Vec<Entry> = log.iter().map(|e| Entry { host: "all".into(), ..e.clone() }).collect();
    assert_eq!(max_in_flight(&together, "all"), 4, "hosts were not fetched from in parallel");
}

#[test]
fn a_host_that_asks_for_more_time_gets_it() {
    let web = "
        == http://gentle.example/robots.txt
        User-agent: *
        Crawl-delay: 1
        == http://gentle.example/
        <title>Gentle</title><a href='/1'>1</a> <a href='/2'>2</a>
        == http://gentle.example/1
        one
        == http://gentle.example/2
        two
        == http://busy.example/ 429 retry-after: 2
        == http://busy.example/
        <title>Busy</title><a href='/next'>next</a>
        == http://busy.example/next 503 retry-after: 1
        == http://busy.example/next
        <title>Next</title>at last
    ";
    let server = serve(web);
    let dir = folder();
    let topic = file(dir.path(), "t.toml", TOPIC);
    let out = dir.path().join("out");
    let seeds = ["--seed", "http://gentle.example/", "--seed", "http://busy.example/", "--delay", "10ms"];
    // Stopped in the middle of the waiting, once; the next run waits on.
    let running = Running::start(crawl(&server, &topic, &out).args(seeds));
    until("the busy host asks for a pause", || of(&server.log().entries(), "busy.example").len() > 1);
    running.signal("INT");
    let stopped = running.wait();
    assert_eq!(stopped.code, Some(3), "{stopped}");
    finish(crawl(&server, &topic, &out).args(seeds)).ok();
    let log = server.log().entries();
    polite(&log, "gentle.example", 1000);
    polite(&log, "busy.example", 10);
    let busy = of(&log, "busy.example");
    let told: Vec<(&str, u16)> = busy.iter().map(|e| (e.path.as_str(), e.status)).collect();
    assert_eq!(told, [("/robots.txt", 404), ("/", 429), ("/", 200), ("/next", 503), ("/next", 200)]);
    for (refused, wait) in [(1, 2000), (3, 1000)] {
        let gap = busy[refused + 1].arrived - busy[refused].finished;
        assert!(gap + GRAIN_MS >= wait, "told to wait {wait} ms, came back after {gap}");
    }
}

#[test]
fn robots_rules_hold_for_links_redirects_and_refreshes() {
    let web = "
        == http://a.example/robots.txt
        User-agent: *
        Disallow: /private
        Allow: /private/open
        Sitemap: http://a.example/map.xml
        == http://a.example/map.xml
        <urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>
          <url><loc>http://a.example/private/mapped</loc></url><url><loc>http://a.example/mapped</loc></url></urlset>
        == http://a.example/mapped
        <title>Only in the sitemap</title>text
        == http://a.example/
        <title>Start</title> <a href='/private/1'>no</a> <a href='/private/open'>yes</a> <a href='/jump'>jump</a>
        <a href='/away'>away</a> <a rel='nofollow' href='/unvouched'>unvouched</a> <a href='/turn'>turn</a>
        == http://a.example/private/1
        secret
        == http://a.example/private/open
        <title>Open</title>open
        == http://a.example/jump 302 location: /private/2
        == http://a.example/private/2
        secret
        == http://a.example/turn
        <meta http-equiv='refresh' content='0; url=/private/3'> <title>Turn</title>
        == http://a.example/private/3
        secret
        == http://a.example/away 301 location: http://b.example/secret/x
        == http://b.example/robots.txt
        User-agent: gleaner
        Disallow: /secret
        == http://b.example/secret/x
        secret
    ";
    let server = serve(web);
    let dir = folder();
    let topic = file(dir.path(), "t.toml", TOPIC);
    finish(crawl(&server, &topic, &dir.path().join("out")).args([
        "--seed",
        "http://a.example/",
        "--delay",
        "5ms",
    ]))
    .ok();
    let log = server.log().entries();
    let mut asked = paths(&log, "a.example");
    asked.sort_unstable();
    assert_eq!(
        asked,
        ["/", "/away", "/jump", "/map.xml", "/mapped", "/private/open", "/robots.txt", "/turn"]
    );
    assert_eq!(paths(&log, "b.example"), ["/robots.txt"], "a redirect is a request like any other");
}

#[test]
fn without_robots_rules_nothing_is_fetched() {
    // A server error says "not now", a missing file says "all is allowed".
    let web = "
        == http://sick.example/robots.txt 503
        == http://sick.example/
        <title>Sick</title>
        == http://free.example/
        <title>Free</title>text
    ";
    let server = serve(web);
    let dir = folder();
    let topic = file(dir.path(), "t.toml", TOPIC);
    let seeds = [
        "--seed",
        "http://sick.example/",
        "--seed",
        "http://free.example/",
        "--delay",
        "5ms",
        "--time",
        "3s",
    ];
    finish(crawl(&server, &topic, &dir.path().join("out")).args(seeds)).ok();
    let log = server.log().entries();
    assert!(
        paths(&log, "sick.example").iter().all(|p| *p == "/robots.txt"),
        "{:?}",
        paths(&log, "sick.example")
    );
    assert_eq!(paths(&log, "free.example"), ["/robots.txt", "/"]);
}
