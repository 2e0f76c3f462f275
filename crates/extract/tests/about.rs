//! What pages say of themselves, and who is believed when they say it more than once.

use gleaner_extract::{Options, extract};
use proptest::prelude::*;
use types::{About, Canon, Page};

fn page(html: &str) -> Page {
    let url = Canon::default().parse("http://example.org/dir/page.html").unwrap();
    extract(&url, Some("text/html; charset=utf-8"), None, html.as_bytes(), &Options::default())
}

fn about(html: &str) -> About {
    page(html).about
}

fn said(authors: &[&str], published: &str, modified: &str, kind: &str, publisher: &str) -> About {
    About {
        authors: authors.iter().map(|a| a.to_string()).collect(),
        published: published.into(),
        modified: modified.into(),
        kind: kind.into(),
        publisher: publisher.into(),
    }
}

fn json(data: &str) -> String {
    format!("<script type='application/ld+json'>{data}</script><p>text")
}

#[test]
fn json_ld() {
    let plain = r#"{"@context":"https://schema.org","@type":"NewsArticle","headline":"Joins","inLanguage":"fr-CA",
        "author":[{"@type":"Person","name":"Ada  Lovelace"},"Charles Babbage",{"givenName":"Grace","familyName":"Hopper"}],
        "datePublished":"2026-11-16T08:00:00+01:00","dateModified":"2026-12-01",
        "publisher":{"@type":"Organization","name":"The Times"}}"#;
    let p = page(&json(plain));
    let authors = ["Ada Lovelace", "Charles Babbage", "Grace Hopper"];
    assert_eq!(p.about, said(&authors, "2026-11-16", "2026-12-01", "NewsArticle", "The Times"));
    assert_eq!((p.title.as_str(), p.language.as_str()), ("Joins", "fr"), "nothing else says it");
    let titled = page(&format!("<html lang=en><title>Own</title>{}", json(plain)));
    assert_eq!(
        (titled.title.as_str(), titled.language.as_str()),
        ("Own", "en"),
        "the page itself is believed"
    );
    // A graph, with the people described once and referred to.
    let graph = r##"{"@graph":[{"@type":"WebSite","name":"Site"},{"@type":"BreadcrumbList"},
        {"@type":"WebPage","@id":"#page","dateModified":"2026-02-03","datePublished":"2025-01-01"},
        {"@type":["Course","Thing"],"name":"Databases","provider":{"@id":"#uni"},"author":{"@id":"#ada"}},
        {"@type":"Person","@id":"#ada","name":"Ada"},{"@type":"CollegeOrUniversity","@id":"#uni","name":"Uni"}]}"##;
    assert_eq!(about(&json(graph)), said(&["Ada"], "2025-01-01", "2026-02-03", "Course", "Uni"));
    // What pages do wrong: comments around it, line ends in strings, addresses for names.
    let odd = "<!-- {\"@type\":\"http://schema.org/Article\",\"author\":\"https://e.org/ada\",\"description\":\"a\nb\",\
               \"datePublished\":\"16 November 2026\"} -->";
    assert_eq!(about(&json(odd)), said(&[], "2026-11-16", "", "Article", ""));
    for nothing in
        ["{", "[]", "null", "{\"@type\":\"Person\",\"name\":\"Ada\"}", "{\"@type\":7,\"author\":{}}", ""]
    {
        assert_eq!(about(&json(nothing)), About::default(), "{nothing}");
    }
}

#[test]
fn a_list_of_things_is_none_of_them() {
    let article = |n: u32, url: &str| {
        json(&format!(
            r#"{{"@type":"Article","url":"{url}","author":"A{n}","datePublished":"2026-01-0{n}"}}"#
        ))
    };
    let list = [1, 2, 3].map(|n| article(n, &format!("http://example.org/{n}"))).concat();
    assert_eq!(about(&list), About::default());
    // Unless one of them says that it is this page.
    let own = format!("{list}{}", article(4, "http://example.org/dir/page.html#top"));
    assert_eq!(about(&own), said(&["A4"], "2026-01-04", "", "Article", ""));
    let times = "<time datetime=2026-01-01>a</time><time datetime=2026-01-02>b</time>";
    assert_eq!(about(times), About::default());
}

#[test]
fn microdata() {
    let html = "<article itemscope itemtype=http://schema.org/BlogPosting><h1 itemprop=headline>On \
                <b>joins</b></h1>\
        by <span itemprop=author itemscope itemtype=https://schema.org/Person><a href=/ada itemprop=url>\
        <span itemprop=name>Ada &amp; Co</span></a></span>\
        <time itemprop=datePublished datetime=2026-11-16>yesterday</time><meta itemprop=dateModified \
        content=2026-11-17>\
        <div itemprop=publisher itemscope><meta itemprop=name content='The Press'></div>\
        <div itemprop=comment itemscope itemtype=http://schema.org/Comment><b \
        itemprop=author>Troll</b></div></article>";
    let p = page(html);
    assert_eq!(p.about, said(&["Ada & Co"], "2026-11-16", "2026-11-17", "BlogPosting", "The Press"));
    assert_eq!(p.title, "On joins");
    // Unclosed, crossed and void elements.
    let odd = "<div itemscope itemtype=http://schema.org/Course><img><br><p \
               itemprop=name>Databases<div>x</p></b>\
               <i itemprop=creator>Ada</div>";
    assert_eq!(about(odd).authors, ["Ada"]);
    assert_eq!(about("<p itemprop=author>nobody's").authors.len(), 0, "it says so of nothing");
}

#[test]
fn meta_elements() {
    let thesis = "<meta name=citation_author content='Lovelace, Ada'><META NAME=Citation_Author \
                  CONTENT='Babbage, C.'>\
        <meta name=citation_publication_date content=2026/11><meta name=citation_online_date content=2025>\
        <meta name=citation_dissertation_institution content='Uni of X'>";
    assert_eq!(about(thesis), said(&["Lovelace, Ada", "Babbage, C."], "2026-11", "", "Thesis", "Uni of X"));
    let dublin = "<meta name=DC.creator content=Ada><meta name=DCTERMS.issued content=2026-11-16>\
        <meta name=dcterms.modified content=2026-12><meta name=DC.type content=Dataset><meta \
        name=DC.publisher content=Press>";
    assert_eq!(about(dublin), said(&["Ada"], "2026-11-16", "2026-12", "Dataset", "Press"));
    let graph = "<meta property=og:type content=article><meta property=og:site_name content=Site>\
        <meta property=og:title content=T><meta property=article:author content=https://facebook.com/ada>\
        <meta property=article:published_time content=2026-11-16T00:00Z>";
    assert_eq!(about(graph), said(&[], "2026-11-16", "", "Article", "Site"));
    assert_eq!(page(graph).title, "T");
    let plain = "<meta name=author content='Ada; Charles'><meta name=date content='Nov 16, 2026'>";
    assert_eq!(about(plain), said(&["Ada", "Charles"], "2026-11-16", "", "", ""));
    let times = "<time class='entry-date published' datetime=2026-11-16T10:00>x</time>\r\n\
                 <time\r\nclass=updated datetime=2026-11-18>y</time><time datetime=2020-01-01>z</time>";
    assert_eq!(about(times), said(&[], "2026-11-16", "2026-11-18", "", ""));
}

#[test]
fn the_first_who_knows_is_believed() {
    let all = [
        "<time datetime=2001-01-01>x</time>",
        "<meta name=author content=plain><meta name=date content=2002>",
        "<meta property=article:author content=graph><meta property=article:published_time content=2003>",
        "<meta name=DC.creator content=dublin><meta name=DC.date content=2004>",
        "<meta name=citation_author content=citation><meta name=citation_date content=2005>",
        "<div itemscope itemtype=http://schema.org/Book><b itemprop=author>micro</b><meta \
         itemprop=datePublished content=2006></div>",
        "<script type=application/ld+json>{\"@type\":\"Article\",\"author\":\"linked\",\"datePublished\":\"2007\"}</script>",
    ];
    let expected = [
        ("", "2001-01-01"),
        ("plain", "2002"),
        ("graph", "2003"),
        ("dublin", "2004"),
        ("citation", "2005"),
        ("micro", "2006"),
        ("linked", "2007"),
    ];
    for (n, (author, date)) in expected.iter().enumerate() {
        // Whatever stands first on the page.
        for html in [all[..=n].concat(), all[..=n].iter().rev().copied().collect()] {
            let found = about(&html);
            assert_eq!(
                (found.authors.join(";").as_str(), found.published.as_str()),
                (*author, *date),
                "{html}"
            );
        }
    }
}

#[test]
fn what_is_no_markup_says_nothing() {
    let meta = "<meta name=author content=Ada>";
    for html in [
        format!("<!-- {meta} -->"),
        format!("<script>var x = '{meta}'</script>"),
        format!("<style>{meta}</style>"),
        format!("<textarea>{meta}</textarea>"),
        format!("<title>{meta}</title>"),
        "<meta name=author>".into(),
        "<meta name=author content='".into(),
    ] {
        assert_eq!(about(&html), About::default(), "{html}");
    }
}

#[test]
fn hostile_pages_are_bounded() {
    let name = "x".repeat(1 << 20);
    let a = about(&format!("<meta name=author content='{name}'><meta name=publisher content='{name}'>"));
    assert!(a.authors[0].len() <= 200 && a.publisher.len() <= 200);
    let many: String = (0..10_000).map(|n| format!("<meta name=author content=a{n}>")).collect();
    assert_eq!(about(&many).authors.len(), 50);
    // Deep, wide and unfinished data; each in time proportional to its size.
    let wide = format!("[{}]", vec!["{\"@type\":\"Article\",\"author\":\"a\"}"; 10_000].join(","));
    let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    let nested: String = "<div itemscope itemprop=author itemtype=http://schema.org/Article>".repeat(20_000);
    let texts: String = "<p itemscope><b itemprop=name>".repeat(20_000);
    let closed: String = "<i itemprop=name>".repeat(1_000) + &"</b>".repeat(200_000);
    let comments = "<!--".repeat(200_000);
    let scripts = "<script type=application/ld+json>{".repeat(50_000);
    let blocks = json("{\"@type\":\"Article\"}").repeat(10_000);
    for html in [json(&wide), json(&deep), nested, texts, closed, comments, scripts, blocks] {
        let a = about(&html);
        assert!(a.authors.len() <= 50 && a.kind.len() <= 64);
    }
}

proptest! {
    #[test]
    fn any_soup_is_read(pieces in proptest::collection::vec(prop_oneof![
        Just("<div itemscope itemtype=http://schema.org/Article>"), Just("<b itemprop=author>"), Just("</b>"), Just("</div>"),
        Just("<script \
              type=application/ld+json>"), Just("{\"@type\":"), Just("\"Article\"}"), Just("</script>"), Just("<!--"),
        Just("-->"), Just("<meta name=author content="), Just("'é"), Just("'>"), Just("<time datetime=2026-01-01"), Just(">"),
        Just("<"), Just("\r"), Just("&amp"), Just("ü"), Just("<meta itemprop=name content=x>"),
    ], 0..60)) {
        let html = pieces.concat();
        let found = about(&html);
        prop_assert!(found.authors.iter().all(|a| !a.is_empty() && a.len() <= 200));
        prop_assert!(found.published.is_empty() || found.published.starts_with("2026"));
    }
}
