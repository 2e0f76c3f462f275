//! The case table: RFC 9309 and the shape of Google's public test list.

use super::*;
use types::Canon;

fn allows(txt: impl AsRef<[u8]>, agent: &str, path: &str) -> bool {
    let url = Canon::exact().parse(&format!("http://foo.bar{path}")).unwrap();
    Robots::from_answer(200, txt.as_ref(), agent).allows(&url)
}

/// Path and whether it is allowed, for user agent `FooBot`, over one file.
fn check(txt: &str, cases: &[(&str, bool)]) {
    for (path, expected) in cases {
        assert_eq!(allows(txt, "FooBot", path), *expected, "{path} under\n{txt}");
    }
}

#[test]
fn lines_and_keys() {
    check("user-agent: FooBot\ndisallow: /\n", &[("/x/y", false)]);
    check("foo: FooBot\nbar: /\n", &[("/x/y", true)]);
    check("user-agent FooBot\ndisallow /\n", &[("/x/y", false)]);
    check("user-agent FooBot extra\ndisallow /\n", &[("/x/y", true)]);
    check("USER-AGENT: FooBot\nDISALLOW: /\n", &[("/x", false)]);
    check(
        "useragent: FooBot\ndisalow: /a\ndissallow: /b\ndiasllow: /c\n",
        &[("/a", false), ("/b", false), ("/c", false)],
    );
    check("  user-agent :  FooBot  # us\n\tdisallow:\t/a #b\n", &[("/a", false), ("/b", true)]);
    check(
        "user-agent: FooBot\ndisallow: /a\rdisallow: /b\r\ndisallow: /c\n\n\ndisallow: /d",
        &[("/a", false), ("/b", false), ("/c", false), ("/d", false), ("/e", true)],
    );
    check("\u{feff}user-agent: FooBot\ndisallow: /\n", &[("/x", false)]);
    check("<html><body>Not found</body></html>", &[("/x", true)]);
    check("", &[("/x", true)]);
    check("#user-agent: *\n#disallow: /\n", &[("/x", true)]);
    // A zero byte or bad UTF-8 in a line spoils that line only.
    assert!(!allows(b"user-agent: *\n\xff\xfe\x00junk\ndisallow: /a\xe9\ndisallow: /b\n", "FooBot", "/b"));
    assert!(!allows(b"user-agent: *\ndisallow: /a\xe9\n", "FooBot", "/a%E9"));
}

#[test]
fn groups() {
    let txt = "allow: /foo/bar/\n\nuser-agent: FooBot\ndisallow: /\nallow: /x/\nuser-agent: BarBot\n\
               disallow: /\n\
               allow: /y/\n\n\nallow: /w/\nuser-agent: BazBot\n\nuser-agent: FooBot\nallow: /z/\n\
               disallow: /\n";
    for (agent, path, expected) in [
        ("FooBot", "/x/b", true),
        ("FooBot", "/z/d", true),
        ("FooBot", "/y/c", false),
        ("BarBot", "/y/c", true),
        ("BarBot", "/w/a", true),
        ("BarBot", "/z/d", false),
        ("BazBot", "/z/d", true),
        // Rules before any user-agent belong to nobody.
        ("FooBot", "/foo/bar/", false),
        ("BarBot", "/foo/bar/", false),
        ("BazBot", "/foo/bar/", false),
        ("Other", "/anything", true),
    ] {
        assert_eq!(allows(txt, agent, path), expected, "{agent} {path}");
    }
    // Several agents share a group; unknown lines, sitemaps and crawl delays do not split it.
    for between in ["", "\n\n", "Sitemap: http://foo.bar/s.xml\n", "Crawl-delay: 3\n", "Host: foo.bar\n"] {
        let txt = format!("User-agent: BarBot\n{between}User-agent: FooBot\n{between}Disallow: /x\n");
        assert!(!allows(&txt, "FooBot", "/x") && !allows(&txt, "BarBot", "/x"), "{txt}");
    }
}

#[test]
fn agents() {
    for line in ["FooBot", "foobot", "FOOBOT", "FooBot/1.0", "FooBot * foo", "foobot (comment)"] {
        assert!(
            !allows(format!("User-agent: {line}\nDisallow: /\n"), "FooBot/2.1 (+http://x)", "/x"),
            "{line}"
        );
    }
    for line in ["Foo", "FooBotNews", "FooBot-News", "Foo Bot", "", "Mozilla/5.0 FooBot", "*bot"] {
        assert!(allows(format!("User-agent: {line}\nDisallow: /\n"), "FooBot/2.1", "/x"), "{line}");
    }
    // A group of our own hides `*`, also when it is empty or comes first.
    check("user-agent: *\ndisallow: /\nuser-agent: FooBot\nallow: /\n", &[("/x", true)]);
    check("user-agent: FooBot\nallow: /\nuser-agent: *\ndisallow: /\n", &[("/x", true)]);
    check("user-agent: FooBot\ndisallow:\n\nuser-agent: *\ndisallow: /\n", &[("/x", true)]);
    check("user-agent: *\ndisallow: /\nuser-agent: FooBot\n", &[("/x", true)]);
    check("user-agent: *\ndisallow: /x\nuser-agent: BarBot\ndisallow: /\n", &[("/x", false), ("/y", true)]);
    check("user-agent: * extra\ndisallow: /x\n", &[("/x", false)]);
    // Groups for `*` are merged as well.
    check(
        "user-agent: *\ndisallow: /a\n\nuser-agent: *\ndisallow: /b\n",
        &[("/a", false), ("/b", false), ("/c", true)],
    );
    // An agent without a product token has only `*`.
    assert!(!allows("user-agent: *\ndisallow: /\n", "", "/x"));
    assert!(!allows("user-agent: *\ndisallow: /\n", "(none)", "/x"));
}

#[test]
fn longest_match_and_ties() {
    let us = "user-agent: FooBot\n";
    let with = |rules: &str| format!("{us}{rules}");
    check(&with("disallow: /x/page.html\nallow: /x/\n"), &[("/x/page.html", false), ("/x/", true)]);
    check(&with("allow: /x/page.html\ndisallow: /x/\n"), &[("/x/page.html", true), ("/x/", false)]);
    check(&with("disallow: \nallow: \n"), &[("/x/page.html", true)]);
    check(&with("disallow: /\nallow: /\n"), &[("/x/page.html", true)]);
    check(&with("disallow: /x\nallow: /x/\n"), &[("/x", false), ("/x/", true)]);
    check(&with("disallow: /x/page.html\nallow: /x/page.html\n"), &[("/x/page.html", true)]);
    check(&with("allow: /page\ndisallow: /*.html\n"), &[("/page.html", false), ("/page", true)]);
    check(&with("allow: /x/page.\ndisallow: /*.html\n"), &[("/x/page.html", true), ("/x/y.html", false)]);
    check(&with("disallow: /x/page.html\nallow: /X/\n"), &[("/X/page.html", true), ("/x/page.html", false)]);
    check(&with("allow: /p\ndisallow: /\n"), &[("/page", true), ("/x", false)]);
    check(&with("allow: /folder\ndisallow: /folder\n"), &[("/folder/page", true)]);
    check(&with("allow: /$\ndisallow: /\n"), &[("/", true), ("/page.html", false)]);
    check(&with("allow: /page\ndisallow: /*.ph\n"), &[("/page.php5", true)]);
    check(&with("allow: /\ndisallow: /cgi-bin\ndisallow:\n"), &[("/cgi-bin/x", false), ("/y", true)]);
}

#[test]
fn wildcards_and_escapes() {
    let with = |rule: &str| format!("user-agent: FooBot\ndisallow: {rule}\n");
    check(&with("/foo/bar/quz*"), &[("/foo/bar/quz", false), ("/foo/quz", true), ("/foo/bar//quz", true)]);
    check(&with("/foo/bar*quz"), &[("/foo/bar/quz", false), ("/foo/bar/x/quzzz", false), ("/foo/quz", true)]);
    check(
        &with("/foo/bar/quz$"),
        &[("/foo/bar/quz", false), ("/foo/bar/quz?x", true), ("/foo/bar/quz/", true)],
    );
    check(
        &with("/foo/bar?qux=taz&baz=http://foo.bar?tar&par"),
        &[("/foo/bar?qux=taz&baz=http://foo.bar?tar&par", false), ("/foo/bar", true)],
    );
    check(&with("/foo/bar/ツ"), &[("/foo/bar/%E3%83%84", false), ("/foo/bar/ツ", false)]);
    check(&with("/foo/bar/%E3%83%84"), &[("/foo/bar/%E3%83%84", false), ("/foo/bar/ツ", false)]);
    check(&with("/foo/bar/%62%61%7A"), &[("/foo/bar/baz", false), ("/foo/bar/%62%61%7A", false)]);
    check(&with("/*?"), &[("/x?y", false), ("/x", true)]);
    check(&with("http://foo.bar/x"), &[("/x", true)]);
}

#[test]
fn delays_and_sitemaps() {
    let delay =
        |txt: &str| Robots::from_answer(200, txt.as_bytes(), "FooBot").crawl_delay().map(|d| d.as_secs_f64());
    for (txt, expected) in [
        ("user-agent: *\ncrawl-delay: 5\n", Some(5.0)),
        ("user-agent: *\nCrawl-Delay: 0.5\n", Some(0.5)),
        ("user-agent: *\ncrawl-delay: 1,5\n", Some(1.5)),
        ("user-agent: *\ncrawl-delay: 10 seconds\n", Some(10.0)),
        ("user-agent: *\ncrawl-delay: 5\nuser-agent: FooBot\nallow: /\n", None),
        ("user-agent: *\ncrawl-delay: 5\ndisallow:\nuser-agent: FooBot\nallow: /\n", None),
        ("user-agent: FooBot\ncrawl-delay: 2\n\nuser-agent: *\ncrawl-delay: 7\nallow: /\n", Some(2.0)),
        ("user-agent: FooBot\nuser-agent: *\ncrawl-delay: 7\n", Some(7.0)),
        (
            "user-agent: FooBot\ndisallow: /a\ncrawl-delay: 2\n\nuser-agent: FooBot\ncrawl-delay: 3\n",
            Some(3.0),
        ),
        ("user-agent: FooBot\ncrawl-delay: 2\ndisallow:\n\nuser-agent: *\ncrawl-delay: 7\n", Some(2.0)),
        ("user-agent: *\ncrawl-delay: -1\n", None),
        ("user-agent: *\ncrawl-delay: NaN\n", None),
        ("user-agent: *\ncrawl-delay: inf\n", None),
        ("user-agent: *\ncrawl-delay: 1e300\n", Some(86400.0)),
        ("user-agent: *\ncrawl-delay:\n", None),
        ("crawl-delay: 9\n", None),
    ] {
        assert_eq!(delay(txt), expected, "{txt}");
    }
    let txt = "Sitemap: http://foo.bar/1.xml\nuser-agent: x\nsite-map: http://foo.bar/2.xml # two\n\
               disallow: /\n\
               SITEMAP:http://foo.bar/3.xml\nSitemap: http://foo.bar/1.xml\nSitemap:\n";
    let found = Robots::from_answer(200, txt.as_bytes(), "FooBot").sitemaps();
    assert_eq!(found, ["http://foo.bar/1.xml", "http://foo.bar/2.xml", "http://foo.bar/3.xml"]);
}

#[test]
fn answers_that_are_not_a_file() {
    let url = Canon::default().parse("http://foo.bar/x").unwrap();
    let robots_txt = url.robots_txt();
    let deny = b"user-agent: *\ndisallow: /\n";
    for (status, expected) in [
        (200, false),
        (203, false),
        (301, true),
        (307, true),
        (400, true),
        (401, true),
        (403, true),
        (404, true),
        (410, true),
        (451, true),
        (429, false),
        (500, false),
        (503, false),
        (599, false),
        (0, false),
    ] {
        let robots = Robots::from_answer(status, deny, "FooBot");
        assert_eq!(robots.allows(&url), expected, "{status}");
        assert!(robots.allows(&robots_txt), "{status}: robots.txt itself is always allowed");
        assert!(robots.keep_for() <= Duration::from_secs(24 * 3600));
    }
    let hour = Duration::from_secs(3600);
    assert!(Robots::from_answer(503, b"", "x").keep_for() < hour);
    assert!(Robots::from_answer(404, b"", "x").keep_for() > hour);
}

#[test]
fn it_says_which_rule() {
    let robots = Robots::from_answer(200, b"user-agent: *\ndisallow: /a*b$\nallow: /c\n", "FooBot");
    let rule = |path: &str| robots.rule_for(&Canon::exact().parse(&format!("http://foo.bar{path}")).unwrap());
    assert_eq!(rule("/axb").as_deref(), Some("Disallow: /a*b$"));
    assert_eq!(rule("/cat").as_deref(), Some("Allow: /c"));
    assert_eq!(rule("/other"), None);
}

#[test]
fn large_and_hostile_files() {
    // Rules within the first 500 KiB count, what comes after does not.
    let filler = format!("disallow: /{}\n", "f".repeat(89));
    let mut txt = "user-agent: FooBot\n".to_string() + &filler.repeat(4000);
    txt.push_str("disallow: /early\n");
    txt.push_str(&filler.repeat(2000));
    assert!(txt.len() > MAX_SIZE);
    txt.push_str("disallow: /late\n");
    check(&txt, &[("/early", false), ("/late", true)]);
    // A line longer than the limit is cut, not fatal.
    let long = format!("user-agent: FooBot\ndisallow: /{}\nallow: /a\n", "x".repeat(20_000));
    check(&long, &[("/a", true), ("/xx", true)]);
    // Wildcard floods: 40,000 rules of the worst kind against a long path.
    let mut flood = "user-agent: *\n".to_string();
    for i in 0..40_000 {
        flood.push_str(&format!("disallow:*a*b*{i}\n"));
    }
    let url = Canon::exact().parse(&format!("http://foo.bar/{}", "a".repeat(2_000))).unwrap();
    let start = std::time::Instant::now();
    let robots = Robots::from_answer(200, flood.as_bytes(), "FooBot");
    assert!(robots.allows(&url));
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
}

proptest::proptest! {
    #[test]
    fn any_file_is_survived(txt in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..300), lines in "((user-agent|allow|disallow|crawl-delay|sitemap):[ -~]{0,10}\r?\n){0,8}") {
        allows(&txt, "FooBot", "/x");
        allows(&lines, "FooBot", "/x?y");
    }
}

#[test]
fn what_is_kept_is_small_and_says_the_same() {
    // Half a megabyte for other agents, a little for us.
    let mut txt = String::new();
    for n in 0..6_000 {
        txt.push_str(&format!("User-agent: bot{n}\nDisallow: /of/another/agent/{n}\nAllow: /{n}$\n"));
    }
    txt.push_str("User-agent: FooBot\nDisallow: /private\nAllow: /private/a*b$\nCrawl-delay: 1.5\n");
    txt.push_str("Sitemap: http://foo.bar/s.xml\nUser-agent: *\nDisallow: /\n");
    assert!(txt.len() < MAX_SIZE);
    let whole = Robots::from_answer(200, txt.as_bytes(), "FooBot/1.0");
    let kept = whole.reduced("FooBot/1.0");
    assert!(kept.len() < 300, "{} bytes", kept.len());
    assert!(whole.size() < 1_000, "{} bytes of memory", whole.size());
    let again = Robots::from_answer(200, &kept, "FooBot/1.0");
    for path in ["/private", "/private/axb", "/private/axbc", "/of/another/agent/7", "/"] {
        let url = Canon::exact().parse(&format!("http://foo.bar{path}")).unwrap();
        assert_eq!(again.rule_for(&url), whole.rule_for(&url), "{path}");
    }
    assert_eq!((again.crawl_delay(), again.sitemaps()), (whole.crawl_delay(), whole.sitemaps()));
    assert_eq!(again.reduced("FooBot/1.0"), kept);
    // It is for this agent only; a whole file (of an older ledger) is for everybody.
    assert!(!Robots::is_for_another(&kept, "foobot/2 (+x)") && Robots::is_for_another(&kept, "BarBot"));
    assert!(!Robots::is_for_another(txt.as_bytes(), "BarBot"));
    // Half a megabyte for us: bounded, and nothing is allowed that was not.
    let mut txt = "User-agent: *\n".to_string();
    for n in 0..12_000 {
        txt.push_str(&format!("Disallow: /catalogue/of/{n}/things\n"));
    }
    for n in 0..2_000 {
        txt.push_str(&format!("Sitemap: http://foo.bar/sitemap-{n}-{}.xml\n", "x".repeat(200)));
    }
    let whole = Robots::from_answer(200, txt.as_bytes(), "FooBot");
    let kept = whole.reduced("FooBot");
    assert!(kept.len() <= 66 << 10 && whole.size() <= 66 << 10, "{} {}", kept.len(), whole.size());
    check(std::str::from_utf8(&kept).unwrap(), &[("/catalogue/of/11999/things", false), ("/about", true)]);
}

proptest::proptest! {
    #[test]
    fn a_reduced_file_reads_the_same(lines in "((user-agent: (\\*|FooBot|x)|allow:|disallow:|crawl-delay: \
                                               ?[0-9.]{0,3}|sitemap:)[ -~é]{0,9}\n\
                                               ){0,9}", path in "/[ -~é]{0,6}") {
        let whole = Robots::from_answer(200, lines.as_bytes(), "FooBot");
        let kept = whole.reduced("FooBot");
        let again = Robots::from_answer(200, &kept, "FooBot");
        proptest::prop_assert_eq!(again.reduced("FooBot"), kept);
        if let Ok(url) = Canon::exact().parse(&format!("http://foo.bar{path}")) {
            proptest::prop_assert_eq!(again.rule_for(&url), whole.rule_for(&url));
            proptest::prop_assert_eq!(again.allows(&url), whole.allows(&url));
        }
        proptest::prop_assert_eq!(again.crawl_delay(), whole.crawl_delay());
        proptest::prop_assert_eq!(again.sitemaps(), whole.sitemaps());
    }
}
