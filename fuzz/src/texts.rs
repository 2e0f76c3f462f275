//! Text in grammars: robots.txt, URLs, topic files, queries, and small values that people type.

use crate::choice;
use crawl::units::{Size, Span};
use fetch::robots::Robots;
use std::cell::RefCell;
use std::str::FromStr;
use std::time::Duration;
use store::index::Index;
use types::{Assessment, Canon, LinkKind, Millis, Record, UrlId, Verdict};

const AGENT: &str = "Gleaner/0.1";

/// Any bytes: a decision, and what is kept of the file decides the same. A file of lines that everybody reads
/// alike: the same as Google's parser decides.
pub fn robots(data: &[u8]) {
    let (plain, rest) = choice(data);
    let (paths, body) = rest.split_at(rest.len().min(16));
    let paths: Vec<String> = paths.chunks(4).map(path).collect();
    let text = if plain % 2 == 0 { lines(body) } else { String::from_utf8_lossy(body).into_owned() };
    let robots = Robots::from_answer(200, text.as_bytes(), AGENT);
    let reduced = robots.reduced(AGENT);
    let again = Robots::from_answer(200, &reduced, AGENT);
    assert!(!Robots::is_for_another(&reduced, AGENT));
    assert_eq!(again.crawl_delay(), robots.crawl_delay());
    assert_eq!(again.sitemaps(), robots.sitemaps());
    for path in &paths {
        let Ok(url) = Canon::exact().parse(&format!("http://example.org{path}")) else { continue };
        let allowed = robots.allows(&url);
        assert_eq!(
            again.allows(&url),
            allowed,
            "{path} by the reduced file {:?}",
            String::from_utf8_lossy(&reduced)
        );
        assert!(allowed || robots.rule_for(&url).is_some(), "{path}: what forbids it can be named");
        if plain % 2 == 0 && url.path() != "/robots.txt" {
            let theirs = robotstxt::DefaultMatcher::default().one_agent_allowed_by_robots(
                &text,
                "Gleaner",
                url.as_str(),
            );
            assert_eq!(allowed, theirs, "{path} (left: ours, right: Google's) by\n{text}");
        }
    }
}

/// Letters that mean something in a pattern, and few others, so that rules and paths meet.
const LETTERS: &[u8] = b"aab/*$?.";

/// A pattern that is as long for everybody: we take `**` for `*`, and count a `$` that is not the end as its
/// escape.
fn pattern(bytes: &[u8]) -> String {
    let all = path(bytes);
    let mut inner = all.replace('$', "");
    while inner.contains("**") {
        inner = inner.replace("**", "*");
    }
    if all.ends_with('$') { inner + "$" } else { inner }
}

fn path(bytes: &[u8]) -> String {
    let letter = |b: &u8| char::from(LETTERS[usize::from(*b) % LETTERS.len()]);
    let path: String = bytes.iter().map(letter).collect();
    format!("/{}", path.replace("//", "/a"))
}

/// One line for each byte, its words from those that follow.
fn lines(mut bytes: &[u8]) -> String {
    let mut out = String::new();
    while let Some((first, rest)) = bytes.split_first() {
        let (word, rest) = rest.split_at(rest.len().min(usize::from(first >> 4)));
        let pattern = pattern(word);
        out += &match first % 8 {
            0 => format!("User-agent: {}\n", ["*", "gleaner", "Gleaner", "other", "GLEANER"][word.len() % 5]),
            1..=3 => format!("Disallow: {pattern}\n"),
            4 | 5 => format!("Allow: {pattern}\n"),
            6 => ["Disallow:\n", "\n", "Crawl-delay: 3\n", "# allow: /\n", "Sitemap: http://example.org/s\n"]
                [word.len() % 5]
                .into(),
            _ => format!("  disallow :{pattern} # {pattern}\n"),
        };
        bytes = rest;
    }
    out
}

pub fn url(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let base = Canon::default().parse("http://example.org/a/b?c").expect("a URL");
    for canon in [Canon::default(), Canon::exact()] {
        for parsed in
            [canon.parse(&text), canon.join(&base, &text), canon.parse_typed(&text)].into_iter().flatten()
        {
            let again = canon.parse(parsed.as_str());
            assert_eq!(again.as_ref(), Ok(&parsed), "canonical is canonical");
            assert_eq!(
                canon.join(&base, parsed.as_str()).as_ref(),
                Ok(&parsed),
                "whole URLs join to themselves"
            );
            let u = parsed.as_url();
            assert!(matches!(u.scheme(), "http" | "https") && !parsed.host().is_empty());
            assert!(u.fragment().is_none() && u.username().is_empty() && u.password().is_none());
            assert!(
                parsed.host_key().ends_with(parsed.domain()) || parsed.host_key().contains(parsed.domain())
            );
            assert_eq!(parsed.robots_txt().host_key(), parsed.host_key());
            fetch::guard::is_near(&parsed);
            store::archive::surt(parsed.as_str());
        }
    }
    // Nothing but the fragment, credentials, dots behind the host and the way of writing escapes is changed.
    let (Ok(ours), Ok(mut theirs)) = (Canon::exact().parse(&text), url::Url::parse(text.trim())) else {
        return;
    };
    theirs.set_fragment(None);
    let unescaped = |s: &str| percent_encoding::percent_decode_str(s).collect::<Vec<u8>>();
    assert_eq!(ours.scheme(), theirs.scheme());
    assert_eq!(ours.host(), theirs.host_str().unwrap_or("").trim_end_matches('.'));
    assert_eq!(ours.as_url().port(), theirs.port());
    // An escaped dot may make a segment go away.
    if !theirs.path().to_ascii_lowercase().contains("%2e") {
        assert_eq!(unescaped(ours.path()), unescaped(theirs.path()), "path of {theirs}");
    }
    // Parameters without a name or a value go.
    let parameters = |query: Option<&str>| -> Vec<Vec<u8>> {
        query.unwrap_or("").split('&').filter(|p| !p.is_empty()).map(unescaped).collect()
    };
    assert_eq!(parameters(ours.query()), parameters(theirs.query()), "query of {theirs}");
}

/// A topic file is read or refused in words; what was read can be described, and an edited file is a topic
/// file.
pub fn topic(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    if let Ok(mut file) = focus::topic::edit::TopicFile::parse(&text, "t.toml") {
        let _ = file.add_terms("content", "terms", &["relational \"model\"".into()]);
        let _ = file.set("limits", "pages", 7i64);
        let edited = file.text();
        assert!(toml::from_str::<toml::Table>(&edited).is_ok(), "an edited file is TOML:\n{edited}");
    }
    match crawl::Config::load(&text, "t.toml", toml::Table::new()) {
        Ok(loaded) => {
            loaded.describe();
            if let Ok(topic) = loaded.config.topic() {
                topic.terms();
                topic.merged_terms();
                topic.url_terms();
                if let Ok(judge) = focus::judges::build(&focus::judges::JudgeSetup::new(&topic)) {
                    drop(judge);
                }
                let _ = focus::strategies::build(&focus::strategies::StrategySetup::new(&topic));
            }
        }
        Err(problem) => assert!(!problem.to_string().is_empty()),
    }
}

/// Small values: what is read, written and read again is the same.
pub fn words(data: &[u8]) {
    let (kind, rest) = choice(data);
    let text = String::from_utf8_lossy(rest);
    match kind % 10 {
        0 => {
            if let Ok(span) = Span::from_str(&text) {
                let again = Span::from_str(&span.to_string()).expect("what is printed is read");
                let (a, b) = (span.0, again.0);
                assert!(a.abs_diff(b) <= a / 10 + Duration::from_millis(1), "{a:?} is printed as {span}");
            }
        }
        1 => {
            if let Ok(size) = Size::from_str(&text) {
                let again = Size::from_str(&size.to_string()).expect("what is printed is read");
                assert!(size.0.abs_diff(again.0) <= size.0 / 10 + 1, "{} is printed as {size}", size.0);
            }
        }
        2 => {
            if let Some(at) = store::archive::parse_rfc3339(&text) {
                let again = store::archive::parse_rfc3339(&store::archive::rfc3339(at));
                assert!(again.is_some_and(|b| b.0 / 1000 == at.0 / 1000), "{at:?}, then {again:?}");
            }
        }
        3 => {
            if let Some(digest) = store::archive::Digest::from_header(&text) {
                assert_eq!(store::archive::Digest::from_hex(&digest.hex()), Some(digest));
            }
        }
        4 => drop(eval::labels::Seeds::parse(&text, None, "seeds")),
        5 => drop(focus::topic::sentence::Sentence::read(&text).unwanted()),
        6 => drop(fetch::ResolveRule::from_str(&text).map(|rule| rule.address_for("a.example", 80))),
        7 => drop(crawl::teacher::object(&crawl::teacher::clean(&text, 200), "answers")),
        8 => drop(crawl::teacher::address(&text)),
        _ => {
            let web = eval::webs::SimWeb::open("sim:campus?pages=20&seed=1").expect("a made-up web");
            let labels = eval::labels::Labels::parse(&text, &web);
            let _ = labels.check(&eval::labels::Rules::default());
        }
    }
}

thread_local! {
    static INDEX: RefCell<Option<(tempfile::TempDir, Index)>> = const { RefCell::new(None) };
}

/// Queries at an index of three pages.
pub fn query(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    INDEX.with_borrow_mut(|kept| {
        let (_, index) = kept.get_or_insert_with(small_index);
        let found = index.search(&text, 10, 0, &|_| true);
        let found = found.unwrap_or_else(|p| panic!("{p}"));
        assert!(found.len() <= 3);
    });
    store::index::snippet(&text, "Databases: the relational model and query optimization. Café, 数据库.");
    store::index::snippet("café model", &text);
}

fn small_index() -> (tempfile::TempDir, Index) {
    let dir = tempfile::tempdir().expect("a folder");
    let mut index = Index::open_or_create(dir.path()).expect("an index");
    let pages = [
        ("http://db.example.org/syllabus", "Database course", "The relational model and query optimization."),
        (
            "http://cs.example.org/~ann/",
            "Ann",
            "I teach query languages; the plan of a query is a tree. Café.",
        ),
        ("http://zh.example.org/x", "数据库", "关系数据库的查询优化"),
    ];
    for (n, (url, title, text)) in pages.into_iter().enumerate() {
        index.add(&record(n as u32 + 1, url, title, text)).expect("added");
    }
    index.commit().expect("committed");
    (dir, index)
}

/// A page that was fetched.
pub fn record(id: u32, url: &str, title: &str, text: &str) -> Record {
    Record {
        id: UrlId(id),
        url: url.into(),
        parent: None,
        kind: LinkKind::Anchor,
        depth: 1,
        status: 200,
        media_type: "text/html".into(),
        charset: "UTF-8".into(),
        language: "en".into(),
        title: title.into(),
        description: String::new(),
        text: text.into(),
        links: 0,
        fetched: Millis(1),
        elapsed_ms: 1,
        bytes: 1,
        truncated: None,
        assessment: Assessment::default(),
        verdict: Verdict::default(),
        digest: String::new(),
        simhash: 0,
        duplicate_of: None,
        near_duplicate_of: None,
        archive: None,
        etag: None,
        last_modified: None,
        noindex: false,
        about: types::About::default(),
    }
}
