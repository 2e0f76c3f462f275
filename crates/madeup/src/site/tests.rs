//! The generated web is what it says it is: every phenomenon is there, and the ground truth is what an
//! independent polite walk over the HTML finds.

use super::oddities::*;
use super::text::Genre;
use super::words::DATABASES;
use super::{SEEDS, STRICT, Site, Size, TOPIC};
use crate::reply::{Answer, Ask, Behaviour, Reply};
use focus::judges::{self, JudgeSetup};
use focus::text::Doc;
use focus::topic::Topic;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use types::{Canon, Url};

fn small() -> Site {
    Site::new(1, Size::Small)
}

fn text(reply: &Reply) -> String {
    String::from_utf8_lossy(&reply.body).into_owned()
}

/// Path and query.
fn path_of(url: &Url) -> &str {
    let rest = url.without_scheme();
    rest.find('/').map_or("/", |slash| &rest[slash..])
}

/// The value of an attribute in the inside of a tag.
fn attribute<'t>(tag: &'t str, name: &str) -> Option<&'t str> {
    let start = tag.find(&format!("{name}=\""))? + name.len() + 2;
    tag.get(start..)?.split('"').next()
}

struct Seen {
    links: Vec<String>,
    nofollow: bool,
}

/// A reader of links that knows nothing of how the pages are made.
fn links(html: &str, url: &Url) -> Seen {
    let mut seen = Seen { links: Vec::new(), nofollow: false };
    let canon = Canon::default();
    let mut base = url.clone();
    for tag in html.split('<').skip(1).filter_map(|t| t.split('>').next()) {
        let name = tag.split_whitespace().next().unwrap_or("").to_ascii_lowercase();
        let href = match name.as_str() {
            "a" if attribute(tag, "rel") == Some("nofollow") => None,
            "a" => attribute(tag, "href"),
            "frame" => attribute(tag, "src"),
            "base" => {
                base = canon.join(url, attribute(tag, "href").unwrap()).unwrap();
                None
            }
            "meta" if attribute(tag, "http-equiv") == Some("refresh") => {
                attribute(tag, "content").and_then(|c| c.split("url=").nth(1))
            }
            "meta" if attribute(tag, "name") == Some("robots") => {
                seen.nofollow |= attribute(tag, "content").is_some_and(|c| c.contains("nofollow"));
                None
            }
            _ => None,
        };
        if let Some(href) = href
            && let Ok(to) = canon.join(&base, &href.replace("&amp;", "&"))
        {
            seen.links.push(to.to_string());
        }
    }
    seen
}

/// What `robots.txt` says, read from its text.
fn allowed(site: &Site, url: &Url) -> bool {
    let robots = site.answer(url.host(), "/robots.txt");
    match robots.status {
        404 => return true,
        503 => return false,
        _ => {}
    }
    let (mut ours, mut best) = (false, (0, true));
    for line in text(&robots).lines() {
        match line.split_once(": ") {
            Some(("User-agent", agent)) => ours = agent == "*",
            Some((kind @ ("Allow" | "Disallow"), prefix)) if ours && url.path().starts_with(prefix) => {
                let rule = (prefix.len(), kind == "Allow");
                best = if best.0 == 0 { rule } else { best.max(rule) };
            }
            _ => {}
        }
    }
    best.1
}

/// A polite walk: every page answered 200, by URL.
fn walk(site: &Site) -> BTreeMap<String, Reply> {
    let canon = Canon::default();
    let mut pages = BTreeMap::new();
    let mut seen: BTreeSet<String> = BTreeSet::new();
    let mut per_host: BTreeMap<String, usize> = BTreeMap::new();
    let mut queue: VecDeque<(String, usize)> = SEEDS.iter().map(|s| (s.to_string(), 0)).collect();
    while let Some((link, hops)) = queue.pop_front() {
        let Ok(url) = canon.parse(&link) else { continue };
        if !seen.insert(url.to_string()) || !allowed(site, &url) {
            continue;
        }
        let host_pages = per_host.entry(url.host().to_string()).or_default();
        let trap = [CALENDAR, SESSIONS, DEPTHS].contains(&url.host());
        *host_pages += 1;
        if *host_pages == 1 {
            let robots = text(&site.answer(url.host(), "/robots.txt"));
            for sitemap in robots.lines().filter_map(|l| l.strip_prefix("Sitemap: ")) {
                let sitemap = canon.parse(sitemap).unwrap();
                let xml = text(&site.answer(sitemap.host(), sitemap.path()));
                queue.extend(
                    xml.split("<loc>").skip(1).map(|l| (l.split('<').next().unwrap().to_string(), 0)),
                );
            }
        }
        if trap && *host_pages > 40 {
            continue;
        }
        let reply = site.answer(url.host(), path_of(&url));
        if let (Some(to), 300..=399) = (reply.header("location"), reply.status) {
            if hops < 8
                && let Ok(to) = canon.join(&url, to)
            {
                queue.push_back((to.to_string(), hops + 1));
            }
            continue;
        }
        if reply.status != 200 || reply.behaviour != Behaviour::Whole {
            continue;
        }
        if reply.header("content-type").is_some_and(|t| t.starts_with("text/html")) {
            let found = links(&text(&reply), &url);
            if !found.nofollow {
                queue.extend(found.links.into_iter().map(|l| (l, 0)));
            }
        }
        pages.insert(url.to_string(), reply);
    }
    pages
}

#[test]
fn the_ground_truth_is_what_a_polite_walk_finds() {
    for size in [Size::Small, Size::Full] {
        let site = Site::new(3, size);
        let pages = walk(&site);
        let found: Vec<String> = (0..site.pages() as u32)
            .filter(|&id| site.is_relevant(id))
            .map(|id| site.plan.url(id))
            .filter(|url| pages.contains_key(url))
            .collect::<BTreeSet<_>>()
            .into_iter()
            .collect();
        let truth = site.relevant();
        assert_eq!(found, truth);
        assert!(
            SEEDS
                .iter()
                .all(|s| TOPIC.contains(s) && pages.contains_key(*s) && !truth.iter().any(|t| t == s))
        );
        let planted = (0..site.pages() as u32).filter(|&id| site.is_relevant(id)).count();
        assert!(truth.len() < planted, "some relevant pages are out of polite reach");
    }
}

#[test]
fn the_sizes_are_as_announced() {
    let (small, full) = (small(), Site::new(1, Size::Full));
    assert!((500..600).contains(&small.pages()), "{}", small.pages());
    assert!((1500..2500).contains(&full.pages()), "{}", full.pages());
    assert!((28..50).contains(&full.hosts().len()), "{}", full.hosts().len());
    assert!((40..110).contains(&full.relevant().len()), "{}", full.relevant().len());
    for n in [1_000, 5_000, 40_000] {
        let pages = Site::new(1, Size::Pages(n)).pages();
        assert!(pages.abs_diff(n) * 10 < n, "asked for {n}, got {pages}");
    }
    assert!(Site::new(1, Size::Pages(0)).pages() > 500);
}

#[test]
fn the_same_seed_is_the_same_web() {
    let (a, b, c) = (small(), small(), Site::new(2, Size::Small));
    let mut differs = 0;
    for id in 0..a.pages() as u32 {
        let url = a.plan.url(id);
        assert_eq!(url, b.plan.url(id));
        let (host, path) = url.strip_prefix("http://").map(|r| r.split_at(r.find('/').unwrap())).unwrap();
        assert_eq!(a.answer(host, path), b.answer(host, path), "{url}");
        differs += usize::from(a.answer(host, path) != c.answer(host, path));
    }
    assert!(differs > a.pages() / 2, "another seed, another web");
    assert_eq!(a.relevant(), b.relevant());
    let trap = "/s/00000001/topic/2";
    assert_eq!(a.answer(SESSIONS, trap), b.answer(SESSIONS, trap));
}

#[test]
fn every_page_has_a_title_and_its_hosts_navigation() {
    let site = small();
    let mut checked = 0;
    for (url, reply) in walk(&site) {
        let html = text(&reply);
        let url = Canon::default().parse(&url).unwrap();
        let host = site.plan.find_host(url.host()).unwrap();
        let path = path_of(&url);
        // Traps, soft 404s, pictures and framesets have no template.
        let planned = site.plan.find(host, path);
        if planned.is_none() || !html.contains("</h1>") {
            continue;
        }
        assert!(html.contains("<title>"), "{url}");
        if url.host() != MIRROR {
            for link in &site.plan.hosts[host as usize].nav {
                assert!(
                    html.contains(&format!(">{}</a>", crate::reply::escape(&link.anchor))),
                    "{url}: {}",
                    link.anchor
                );
            }
        }
        checked += 1;
    }
    assert!(checked > 400, "{checked}");
}

#[test]
fn robots_rules() {
    let site = small();
    let robots = |host: &str| site.answer(host, "/robots.txt");
    assert_eq!(robots(CLOSED).status, 503);
    assert_eq!(robots(OPEN).status, 404);
    assert!(text(&robots(GENTLE)).contains("\nCrawl-delay: 1\n"));
    let north = text(&robots("cs.northfield.example"));
    assert!(
        north.contains("Disallow: /private/\n") && north.contains("Allow: /private/public/\n"),
        "{north}"
    );
    assert!(text(&robots("jobs.careerhall.example")).contains("Disallow: /apply\n"));
    let truth = site.relevant();
    let has = |part: &str| truth.iter().any(|u| u.contains(part));
    assert!(!has(CLOSED) && has(OPEN) && has(GENTLE));
    assert!(!has("/private/cs299") && has("/private/public/cs298"));
    assert!(!has("cs297") && !has("cs296") && !has("cs295"), "noindex, nofollow page, nofollow link");
    assert!(
        text(&site.answer("cs.northfield.example", "/drafts/cs297.html")).contains("content=\"noindex\"")
    );
    assert!(text(&site.answer("cs.northfield.example", "/links.html")).contains("content=\"nofollow\""));
    assert!(text(&site.answer("cs.northfield.example", "/")).contains("rel=\"nofollow\""));
}

#[test]
fn sitemap_pages_are_linked_from_nowhere() {
    let site = small();
    assert!(
        text(&site.answer(SITEMAP, "/robots.txt"))
            .contains(&format!("Sitemap: http://{SITEMAP}/sitemap.xml"))
    );
    let xml = text(&site.answer(SITEMAP, "/sitemap.xml"));
    let outlines: Vec<&str> = xml
        .split("<loc>")
        .skip(1)
        .filter_map(|l| l.split('<').next())
        .filter(|l| l.contains("/outlines/"))
        .collect();
    assert_eq!(outlines.len(), 6);
    for (url, reply) in walk(&site) {
        let canonical = Canon::default().parse(&url).unwrap();
        assert!(
            !links(&text(&reply), &canonical).links.iter().any(|l| outlines.contains(&l.as_str())),
            "{url}"
        );
    }
    assert_eq!(site.relevant().iter().filter(|u| u.contains(SITEMAP)).count(), 2);
}

#[test]
fn redirects() {
    let site = small();
    let hop = |path: &str| {
        let r = site.answer(REDIRECTS, path);
        (r.status, r.header("location").unwrap_or("-").to_string())
    };
    assert_eq!(hop("/a"), (301, "/b".into()));
    assert_eq!(hop("/b"), (302, format!("http://{REDIRECTS}/c")));
    assert_eq!(hop("/c"), (301, "http://cs.northfield.example/moved/cs281/syllabus.html".into()));
    assert_eq!(hop("/relative"), (302, "landing/page.html".into()));
    assert_eq!((hop("/loop1").1, hop("/loop2").1), ("/loop2".into(), "/loop1".into()));
    assert_eq!(hop("/self"), (301, "/self".into()));
    assert_eq!(hop("/nowhere"), (301, "-".into()));
    assert_eq!(hop("/mail").1, "mailto:staff@shortcut.example");
    assert_eq!(hop("/chain/25").1, "/chain/end.html");
    let refresh = text(&site.answer(REDIRECTS, "/refresh.html"));
    assert!(
        refresh.contains("http-equiv=\"refresh\" content=\"0; url=http://cs.northfield.example/moved/cs283/"),
        "{refresh}"
    );
    let truth = site.relevant();
    for part in ["cs281", "cs283", "/landing/page.html"] {
        assert!(truth.iter().any(|u| u.contains(part)), "{part}");
    }
    let folder = site.answer("cs.northfield.example", "/people?x=1");
    assert_eq!((folder.status, folder.header("location")), (301, Some("/people/?x=1")));
}

#[test]
fn broken_pages() {
    let site = small();
    let get = |path: &str| site.answer(LEGACY, path);
    let header = |path: &str| get(path).header("content-type").unwrap().to_string();
    let unclosed = text(&get("/unclosed.html"));
    assert!(
        unclosed.contains("<li>")
            && !unclosed
                .replace("<nav>", "\0")
                .split('\0')
                .nth(1)
                .unwrap()
                .split("</nav>")
                .nth(1)
                .unwrap()
                .contains("</li>")
    );
    assert!(unclosed.contains("if a < b"));
    assert!(
        text(&get("/nesting.html")).contains("<p><table><b><i>")
            && text(&get("/nesting.html")).contains("</b></i></p>")
    );
    let invalid = |path: &str| std::str::from_utf8(&get(path).body).is_err();
    assert!(
        invalid("/latin1.html")
            && header("/latin1.html") == "text/html"
            && text(&get("/latin1.html")).contains("iso-8859-1")
    );
    assert!(invalid("/wrong-charset.html") && header("/wrong-charset.html").contains("utf-8"));
    assert!(
        !invalid("/utf8-as-latin1.html")
            && text(&get("/utf8-as-latin1.html")).contains("iso-8859-1")
            && text(&get("/utf8-as-latin1.html")).contains('Ü')
    );
    assert!(get("/empty.html").body.is_empty() && get("/empty.html").status == 200);
    assert!(get("/huge.html").body.len() > 3_000_000);
    assert!(
        get("/lying.html").body.starts_with(b"\x89PNG") && header("/lying.html").starts_with("text/html")
    );
    assert_eq!(header("/logo.png"), "image/png");
    assert!(
        text(&get("/base.html")).contains("<base href=\"http://legacy.westbrook.example/attic/notes/\">")
    );
    assert!(text(&get("/base.html")).contains("href=\"db.html\""));
    assert!(text(&get("/frames.html")).contains("<frame name=\"main\" src=\"/frames/main.html\">"));
    assert_eq!(get("/does-not-exist.html").status, 404);
}

#[test]
fn failing_busy_slow_and_soft() {
    let site = small();
    let ask = |host: &'static str, path: &'static str, earlier, earlier_on_host| {
        Answer::answer(&site, &Ask { host, path, earlier, earlier_on_host })
    };
    for n in 0..3 {
        let r = ask(BUSY, "/", n, n);
        assert_eq!((r.status, r.header("retry-after")), (429, Some("1")));
    }
    assert_eq!(ask(BUSY, "/", 3, 3).status, 200);
    assert_eq!(ask(BUSY, "/robots.txt", 0, 0).status, 200);
    assert_eq!(
        (ask(FLAKY, "/lab/retry.html", 0, 9).status, ask(FLAKY, "/lab/retry.html", 1, 9).status),
        (503, 200)
    );
    for (path, status) in [
        ("/lab/error.html", 500),
        ("/lab/unavailable.html", 503),
        ("/lab/forbidden.html", 403),
        ("/lab/gone.html", 410),
    ] {
        assert_eq!(ask(FLAKY, path, 5, 9).status, status);
    }
    let cut = site.answer(FLAKY, "/lab/cut.html");
    assert!(matches!(cut.behaviour, Behaviour::Cut(n) if n > 100 && n < cut.body.len()));
    assert_eq!(site.answer(FLAKY, "/lab/dropped.html").behaviour, Behaviour::Drop);
    for (path, _) in [("/", 0), ("/people/", 0), ("/robots.txt", 0)] {
        assert!((300..=800).contains(&site.answer(SLOW, path).delay_ms), "{path}");
    }
    assert_eq!(site.answer(OPEN, "/").delay_ms, 0);
    let soft = site.answer(SOFT_404, "/databases/syllabus-2019.html");
    assert!(soft.status == 200 && text(&soft).contains("may have been moved"));
    assert!(text(&site.answer(SOFT_404, "/")).contains("/databases/syllabus-2019.html"));
    assert_eq!(site.answer("unknown.nowhere.example", "/").status, 421);
}

#[test]
fn traps_have_no_end() {
    let site = small();
    let canon = Canon::default();
    for (host, start) in [(CALENDAR, "/2026/11/"), (SESSIONS, "/"), (DEPTHS, "/data/")] {
        let mut url = canon.parse(&format!("http://{host}{start}")).unwrap();
        let mut seen = BTreeSet::new();
        for _ in 0..200 {
            assert!(seen.insert(url.to_string()), "{url} comes back");
            let reply = site.answer(host, url.path());
            assert_eq!(reply.status, 200);
            let found = links(&text(&reply), &url);
            url = found
                .links
                .iter()
                .filter_map(|l| canon.parse(l).ok())
                .find(|u| !seen.contains(u.as_str()))
                .unwrap();
        }
    }
    // Nonsense in a trap's path is survived.
    for path in ["/", "//", "/99999999999999999999/77/", "/-5/0/", "/é/%%/?", "/99999/12/"] {
        assert_eq!(site.answer(CALENDAR, path).status, 200);
        assert_eq!(site.answer(DEPTHS, path).status, 200);
    }
}

#[test]
fn copies() {
    let site = Site::new(1, Size::Full);
    let get = |url: &str| {
        let rest = url.strip_prefix("http://").unwrap();
        let (host, path) = rest.split_at(rest.find('/').unwrap());
        site.answer(host, path)
    };
    let mirrored = site.mirrored();
    assert!(mirrored.len() > 20, "{}", mirrored.len());
    for (copy, original) in &mirrored {
        assert_eq!(get(copy).body, get(original).body, "{copy}");
        assert!(copy.contains(MIRROR));
    }
    let editions = site.editions();
    assert!(editions.len() >= 6);
    let truth = site.relevant();
    for (old, new) in &editions {
        let (a, b) = (text(&get(old)), text(&get(new)));
        let lines = |s: &str| s.lines().map(str::to_string).collect::<BTreeSet<_>>();
        let (a, b) = (lines(&a), lines(&b));
        let shared = a.intersection(&b).count();
        assert!(a != b && shared * 10 > b.len() * 6, "{old}: {shared} of {}", b.len());
    }
    assert!(
        truth.iter().any(|u| mirrored.iter().any(|(copy, _)| copy == u)),
        "a mirrored syllabus is a syllabus"
    );
}

#[test]
fn tunnels_languages_and_link_kinds() {
    let site = small();
    let album = text(&site.answer(TUNNEL, "/igor/album2.html")).to_lowercase();
    assert!(album.contains("db101.html") && !album.contains("sql") && !album.contains("syllabus"));
    let truth = site.relevant();
    assert_eq!(truth.iter().filter(|u| u.contains(TUNNEL)).count(), 2);
    for (host, word) in [
        ("dcc.portoclaro.example", "Ementa"),
        ("informatik.gruenwald.example", "Sprechstunde"),
        ("informatica.valdenero.example", "Tutorías"),
        ("info.montclair.example", "Plan du cours"),
    ] {
        assert!(text(&site.answer(host, "/cursos/db-1/")).contains(word), "{host}");
        assert_eq!(truth.iter().filter(|u| u.contains(host)).count(), 3);
    }
    let all: String = walk(&site).values().map(text).collect();
    for href in [
        "href=\"mailto:",
        "href=\"javascript:",
        "href=\"tel:",
        "href=\"#top\"",
        "href=\"ftp:",
        "href=\"//files",
        "utm_source=",
        "?sort=price",
        ".ppt\"",
    ] {
        assert!(all.contains(href), "{href}");
    }
    let pdf = site.answer("cs.northfield.example", "/handouts/cs294.pdf");
    assert!(pdf.header("content-type") == Some("application/pdf") && pdf.body.starts_with(b"%PDF-1.4"));
    assert!(text(&pdf).contains("Grading") && text(&pdf).trim_end().ends_with("%%EOF"));
    let page = site.answer("shop.bytebarn.example", "/p/db/1000");
    assert_eq!(page, site.answer("shop.bytebarn.example", "/p/db/1000?utm_source=x&utm_medium=y"));
    assert_eq!(page.status, 200);
    let job = site.answer("jobs.careerhall.example", "/job?id=1007");
    assert!(job.status == 200 && job == site.answer("jobs.careerhall.example", "/job?id=1007&utm_source=x"));
    assert!(site.plan.hosts.iter().any(|h| h.gzip) && site.plan.hosts.iter().any(|h| !h.gzip));
}

#[test]
fn the_topic_separates_the_right_pages_from_the_others() {
    let site = Site::new(1, Size::Full);
    let topic = Topic::from_toml(&format!("{TOPIC}{STRICT}")).unwrap();
    let judge = judges::build(&JudgeSetup::new(&topic)).unwrap();
    let truth: BTreeSet<String> = site.relevant().into_iter().collect();
    let (mut found, mut wrong, mut missed) = (0, Vec::new(), Vec::new());
    for (url, reply) in walk(&site) {
        let url = Canon::default().parse(&url).unwrap();
        let options = extract::Options::default();
        let page = extract::extract(&url, reply.header("content-type"), None, &reply.body, &options);
        let noindex = page.robots.noindex;
        let assessment = judge.assess(&Doc::new(page.into(), &topic.text.options));
        match (judge.decide(&assessment).relevant, truth.contains(url.as_str())) {
            (true, true) => found += 1,
            (true, false) if !noindex => wrong.push((url, assessment.score)),
            (false, true) => missed.push((url, assessment.score)),
            _ => {}
        }
    }
    assert!(found * 100 >= truth.len() * 92, "found {found} of {}; missed {missed:?}", truth.len());
    assert!(wrong.is_empty(), "{wrong:?}");
    // Genre and subject both matter: there are many pages with only one of them.
    let count = |f: &dyn Fn(&super::plan::Node) -> bool| site.plan.nodes.iter().filter(|n| f(n)).count();
    assert!(count(&|n| n.genre == Genre::Syllabus && n.subject != DATABASES) > truth.len());
    assert!(
        count(&|n| n.genre != Genre::Syllabus && n.subject == DATABASES && n.language.is_none())
            > truth.len()
    );
}
