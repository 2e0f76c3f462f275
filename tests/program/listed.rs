//! Sitemaps and feeds as seeds: what they list is crawled, with `only` nothing else; `lastmod` spares a
//! refresh the pages that have not changed. The log of the servers is the witness.

use crate::common::{Ran, crawl, file, finish, folder, gleaner, serve};
use madeup::Server;
use std::collections::BTreeSet;
use std::path::Path;

fn topic(dir: &Path, more: &str) -> std::path::PathBuf {
    file(dir, "t.toml", &format!("name = 'Listed'\nquery = 'course'\n[fetch]\ndelay = '0s'\n{more}"))
}

fn web(lastmod: &str, third: &str) -> String {
    format!(
        "== http://a.example/index.xml.txt 200 application/xml\n\
         <sitemapindex><sitemap><loc>http://a.example/part.xml.txt</loc></sitemap></sitemapindex>\n\
         == http://a.example/part.xml.txt 200 application/xml\n\
         <urlset><url><loc>http://a.example/1</loc><lastmod>{lastmod}</lastmod></url>\
         <url><loc>http://a.example/2</loc></url>\
         <url><loc>http://a.example/3</loc><lastmod>2999-01-01</lastmod></url></urlset>\n\
         == http://b.example/feed 200 application/rss+xml\n\
         <rss><channel><title>News</title><item><title>Four</title><link>http://b.example/4</link></item></channel></rss>\n\
         == http://a.example/1\n<title>One</title>a course <a href='/beyond'>beyond</a>\n\
         == http://a.example/2\n<title>Two</title>a course <a href='http://c.example/'>c</a>\n\
         == http://a.example/3\n<title>Three</title>{third}\n\
         == http://b.example/4\n<title>Four</title>a course <a href='/beyond'>beyond</a>\n\
         == http://a.example/beyond\n<title>Beyond</title>a course\n\
         == http://b.example/beyond\n<title>Beyond</title>a course\n\
         == http://c.example/\n<title>C</title>a course\n\
         == http://a.example/robots.txt\nSitemap: http://a.example/other.xml.txt\n\
         == http://a.example/other.xml.txt 200 application/xml\n\
         <urlset><url><loc>http://a.example/beyond</loc></url></urlset>\n"
    )
}

const SEEDS: &str =
    "[seeds]\nsitemaps = ['http://a.example/index.xml.txt']\nfeeds = ['http://b.example/feed']\n";

fn pages(out: &Path) -> BTreeSet<String> {
    let ran = finish(gleaner().args(["export", "--all", "--copies", "--columns", "url"]).arg(out));
    let url = |line: &str| {
        serde_json::from_str::<serde_json::Value>(line).unwrap()["url"].as_str().unwrap().to_string()
    };
    ran.ok().out.lines().map(url).collect()
}

fn asked(server: &Server) -> Vec<String> {
    let all = server.log().entries().iter().map(|e| format!("{}{}", e.host, e.path)).collect::<Vec<_>>();
    all.into_iter().filter(|p| !p.ends_with("/robots.txt")).collect()
}

fn set(all: &[&str]) -> BTreeSet<String> {
    all.iter().map(|p| format!("http://{p}")).collect()
}

#[test]
fn what_is_listed_is_crawled_and_with_only_nothing_else() {
    let listed = ["a.example/1", "a.example/2", "a.example/3", "b.example/4"];
    let beyond = ["a.example/beyond", "b.example/beyond", "c.example/"];
    for (only, wanted) in [(true, listed.to_vec()), (false, [&listed[..], &beyond].concat())] {
        let dir = folder();
        let server = serve(&web("2026-01-01", "a course"));
        let topic = topic(dir.path(), &format!("{SEEDS}only = {only}\n"));
        let out = dir.path().join("out");
        finish(&mut crawl(&server, &topic, &out)).ok();
        assert_eq!(pages(&out), set(&wanted), "only = {only}");
        let asked = asked(&server);
        assert_eq!(
            asked.iter().any(|p| p.ends_with("other.xml.txt")),
            !only,
            "the sitemap of robots.txt: {asked:?}"
        );
        // Taken up again, it asks for nothing twice.
        let again = asked.len();
        finish(&mut crawl(&server, &topic, &out));
        assert_eq!(server.log().entries().iter().filter(|e| !e.path.ends_with("robots.txt")).count(), again);
    }
    // With seeds of its own, these are fetched too, and lead nowhere.
    let dir = folder();
    let server = serve(&web("2026-01-01", "a course"));
    let topic = topic(dir.path(), &format!("{SEEDS}only = true\n"));
    let out = dir.path().join("out");
    finish(crawl(&server, &topic, &out).args(["--seed", "http://a.example/beyond"])).ok();
    assert_eq!(pages(&out), set(&[&listed[..], &["a.example/beyond"]].concat()));
}

#[test]
fn a_list_that_is_none_is_said() {
    let dir = folder();
    let run = |more: &str| -> Ran {
        let topic = topic(dir.path(), more);
        finish(gleaner().arg("crawl").arg(topic).arg("--out").arg(dir.path().join("out")))
    };
    run("[seeds]\nonly = true\n").fails(4, &["nowhere to start", "hint:"]);
    run("[seeds]\nsitemaps = ['not an address']\n").fails(2, &["[seeds] sitemaps", "not an address"]);
    run("[seeds]\nsitmaps = []\n").fails(2, &["did you mean `sitemaps`?"]);
}

#[test]
fn pages_that_have_not_changed_are_not_asked_for_again() {
    let dir = folder();
    let topic = topic(dir.path(), &format!("{SEEDS}only = true\n"));
    let out = dir.path().join("out");
    finish(&mut crawl(&serve(&web("2026-01-01", "a course")), &topic, &out)).ok();
    let refresh = |lastmod: &str, third: &str| {
        let server = serve(&web(lastmod, third));
        let mut command = gleaner();
        command.arg("refresh").arg(&out).args([
            "--allow-private",
            "--delay",
            "0s",
            "--resolve",
            &server.resolve(),
        ]);
        let ran = finish(&mut command);
        ran.ok();
        (asked(&server), ran)
    };
    // The first is as it was, of the second nothing is said, the third says that it has changed.
    let (seen, ran) = refresh("2026-01-01", "another course, with joins and normal forms");
    assert!(!seen.contains(&"a.example/1".to_string()), "{seen:?}");
    for page in ["a.example/2", "a.example/3", "b.example/4"] {
        assert!(seen.contains(&page.to_string()), "{page} is not in {seen:?}");
    }
    assert!(
        ran.out.contains("1 unchanged, as their sitemaps say")
            || ran.err.contains("1 unchanged, as their sitemaps say"),
        "{ran}"
    );
    assert!(ran.out.contains("1 changed") || ran.err.contains("1 changed"), "{ran}");
    let (seen, _) = refresh("2998-01-01", "a course");
    assert!(seen.contains(&"a.example/1".to_string()), "it says that it has changed: {seen:?}");
}
