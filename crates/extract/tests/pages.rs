//! Whole pages in strings, one feature each.

use gleaner_extract::{Options, extract};
use types::{Canon, LinkKind, Page, PageKind, Region, Url};

fn url(s: &str) -> Url {
    Canon::default().parse(s).unwrap()
}

fn page(html: &str) -> Page {
    extract(
        &url("http://example.org/dir/page.html"),
        Some("text/html"),
        None,
        html.as_bytes(),
        &Options::default(),
    )
}

fn typed(content_type: &str, body: &[u8]) -> Page {
    extract(&url("http://example.org/dir/page.html"), Some(content_type), None, body, &Options::default())
}

fn hrefs(page: &Page) -> Vec<&str> {
    page.links.iter().map(|l| l.url.as_str()).collect()
}

/// The text of each leaf, in order.
fn leaves(page: &Page) -> Vec<&str> {
    page.leaves.iter().map(|l| l.span.of(&page.text)).collect()
}

#[test]
fn text_title_headings_description() {
    let p = page(
        "<!DOCTYPE html><html lang=en-GB><head><title> A &amp; B\n  page </title>\
         <meta name=Description content='About  it'><style>p{}</style></head>\
         <body><h1>Top <em>level</em></h1><p>One\n two<b>three</b> four.</p><script>var x = \
         '<p>no</p>';</script>\
         <ul><li>a<li>b</ul>line<br>break<h2></h2><h3>Deep</h3>",
    );
    assert_eq!(p.kind, PageKind::Html);
    assert_eq!(p.title, "A & B page");
    assert_eq!(p.description, "About it");
    assert_eq!(p.language, "en");
    assert_eq!(p.text, "Top level\nOne twothree four.\na\nb\nline\nbreak\nDeep");
    let headings: Vec<_> = p.headings.iter().map(|h| (h.level, h.span.of(&p.text))).collect();
    assert_eq!(headings, [(1, "Top level"), (3, "Deep")]);
    assert!(!p.cut);
}

#[test]
fn tables_keep_rows_on_a_line() {
    let p = page("<table><tr><th>Date<th>Topic<tr><td>Mon <td> <a href=sql>SQL</a></table>after");
    assert_eq!(p.text, "Date\tTopic\nMon\tSQL\nafter");
    assert_eq!(p.context(&p.links[0]), "Mon\tSQL");
}

#[test]
fn preformatted_lines_stay() {
    let p = page("<pre>one  two\nthree\n\n</pre>x");
    assert_eq!(p.text, "one two\nthree\nx");
}

#[test]
fn unseen_text_is_left_out() {
    let p = page(
        "<body>a<script>s</script><style>t</style><template>u<a href=x>v</a></template><iframe>w</iframe>\
         <noscript>n <a \
         href=y>o</a></noscript><svg><title>q</title><text>r</text></svg><datalist><option>z</datalist>",
    );
    assert_eq!(p.text, "an o\tr");
    assert_eq!(hrefs(&p), ["http://example.org/dir/y"]);
}

#[test]
fn shadow_roots_are_shown() {
    let p = page("<div><template shadowrootmode=open><p>inside <a href=x>link</a></template></div>");
    assert_eq!(p.text, "inside link");
    assert_eq!(p.links.len(), 1);
}

#[test]
fn regions() {
    let p = page(
        "<body><header>Site</header><nav>Menu <a href=m>m</a></nav><main><article><header>Head</header>Story\
         <footer>by me</footer></article><aside>See also</aside></main><div role=navigation>more</div>\
         <div role=' Banner '>ad</div><footer>Imprint <a href=i>i</a></footer>",
    );
    let blocks: Vec<_> = p.blocks.iter().map(|b| (b.region, b.span.of(&p.text).trim())).collect();
    assert_eq!(
        blocks,
        [
            (Region::Header, "Site"),
            (Region::Nav, "Menu m"),
            (Region::Body, "Head\nStory\nby me"),
            (Region::Aside, "See also"),
            (Region::Nav, "more"),
            (Region::Header, "ad"),
            (Region::Footer, "Imprint i"),
        ]
    );
    assert_eq!(p.links[0].region, Region::Nav);
    assert_eq!(p.links[1].region, Region::Footer);
    // No gaps.
    let mut at = 0;
    for b in &p.blocks {
        assert_eq!(b.span.start, at);
        at = b.span.end;
    }
    assert_eq!(at as usize, p.text.len());
}

#[test]
fn links_of_every_kind() {
    let p = page(
        "<head><link rel=alternate type='application/rss+xml' title='News' href=/feed>\
         <link rel=stylesheet href=s.css><link rel=next href=page2.html><link rel=alternate hreflang=de \
         href=/de/>\
         <link rel='alternate' type='application/json+oembed' href=/oembed></head>\
         <body><a href=a.html title='Go there' rel='nofollow UGC'>An <b>a</b></a>\
         <map><area href=b.html alt=Area></map><iframe src=c.html></iframe>\
         <a href='mailto:x@y'>mail</a><a name=here>no</a><a href='#top'>top</a><a href='javascript:x'>js</a>\
         <a href='d.html'><img src=i.png alt='Picture of d'></a><a href=a.html>again</a>",
    );
    let all: Vec<_> = p.links.iter().map(|l| (l.kind, l.url.path(), p.anchor(l), &*l.label)).collect();
    assert_eq!(
        all,
        [
            (LinkKind::Feed, "/feed", "", "News"),
            (LinkKind::Anchor, "/dir/page2.html", "", ""),
            (LinkKind::Anchor, "/de/", "", ""),
            (LinkKind::Anchor, "/dir/a.html", "An a", "Go there"),
            (LinkKind::Area, "/dir/b.html", "", "Area"),
            (LinkKind::Frame, "/dir/c.html", "", ""),
            (LinkKind::Anchor, "/dir/d.html", "", "Picture of d"),
            (LinkKind::Anchor, "/dir/a.html", "again", ""),
        ]
    );
    assert!(p.links[0].rel.alternate && p.links[1].rel.next);
    assert!(p.links[3].rel.nofollow && p.links[3].rel.ugc && !p.links[3].rel.sponsored);
    assert!(!p.links[7].rel.nofollow);
}

#[test]
fn frames() {
    let p = page("<frameset cols='1,2'><frame src=a.html><frame src=b.html></frameset>");
    assert_eq!(hrefs(&p), ["http://example.org/dir/a.html", "http://example.org/dir/b.html"]);
    assert_eq!(p.links[0].kind, LinkKind::Frame);
    assert_eq!(p.path(&p.links[0]), "html>frameset>frame");
}

#[test]
fn base_canonical_refresh_robots() {
    let p = page(
        "<base href='/other/'><base href=/ignored/><link rel=canonical href=c.html>\
         <meta http-equiv=Refresh content='0; URL=next.html'><meta name=ROBOTS content='NoIndex, nofollow'>\
         <a href=x>x</a><a href='#f'>f</a>",
    );
    assert_eq!(hrefs(&p), ["http://example.org/other/x", "http://example.org/other/"]);
    assert_eq!(p.canonical.as_ref().unwrap().as_str(), "http://example.org/other/c.html");
    assert_eq!(p.refresh.as_ref().unwrap().as_str(), "http://example.org/other/next.html");
    assert!(p.robots.noindex && p.robots.nofollow && !p.robots.noarchive);
    assert!(p.links.iter().all(|l| l.rel.nofollow));
}

#[test]
fn robots_header_counts_too() {
    let p =
        extract(&url("http://e.org/"), Some("text/html"), Some("noarchive"), b"<p>x", &Options::default());
    assert!(p.robots.noarchive && !p.robots.noindex);
}

#[test]
fn context_heading_and_path() {
    let p = page(
        "<body><a href=0>zero</a><div class='main wide' id=top><h2>Week 1</h2><ul class=notes>\
         <li>Read this first. Then the <a href=1>first <i>notes</i></a> on SQL. Done.\
         <li><a href=2>second</a></ul></div><h2><a href=3>Week 2</a></h2><p class='a>b'><a href=4>x</a>",
    );
    let got: Vec<_> = p.links.iter().map(|l| (p.context(l), p.heading(l), p.path(l))).collect();
    assert_eq!(
        got,
        [
            ("zero", "", "html>body>a"),
            ("Then the first notes on SQL.", "Week 1", "html>body>div#top.main>ul.notes>li>a"),
            ("second", "Week 1", "html>body>div#top.main>ul.notes>li>a"),
            ("Week 2", "Week 2", "html>body>h2>a"),
            ("x", "Week 2", "html>body>p.a>a"),
        ]
    );
    assert_eq!(p.paths.len(), 4);
}

/// The numbering of leaves, worked out by hand.
#[test]
fn leaves_by_hand() {
    let p = page(
        "<html><head><title>T</title><meta name=x></head><body><!-- note -->\n<p>one <b>two</b> three</p>  \
         <a href=x>fo<i>ur</i></a><br><a href=y></a><script>x()</script><p> <a href=z><img \
         alt=q></a></p>five</body>",
    );
    assert_eq!(
        leaves(&p),
        [
            "",      // 0 text of <title>: not visible, but a leaf
            "",      // 1 <meta>
            "",      // 2 comment
            "one",   // 3
            "two",   // 4
            "three", // 5
            "fo",    // 6
            "ur",    // 7
            "",      // 8 <br>
            "",      // 9 <a href=y></a>
            "",      // 10 <script>
            "",      // 11 <img>
            "five",  // 12
        ]
    );
    let spans: Vec<_> = p.links.iter().map(|l| (l.first_leaf, l.last_leaf)).collect();
    assert_eq!(spans, [(6, 7), (9, 9), (11, 11)]);
    assert_eq!(p.text, "one two three\nfour\nfive");
}

#[test]
fn whitespace_only_text_is_as_if_absent() {
    let p = page("<body><td> </td><p>\n</p><a href=x> </a><div><span>&nbsp;</span></div>");
    // <p>, <a>, <span>: each an element without children; <td> outside a table is not an element at all.
    assert_eq!(p.leaves.len(), 4, "head, p, a, span");
    assert_eq!((p.links[0].first_leaf, p.links[0].last_leaf), (2, 2));
}

#[test]
fn leaves_are_in_order_of_the_tree_not_of_the_source() {
    // Foster parenting: what is misplaced in a table comes before it.
    let p = page("<body><table><a href=x>out</a><tr><td>in</table>");
    assert_eq!(leaves(&p)[1..], ["out", "in"]);
    assert_eq!(p.links[0].first_leaf, 1);
}

#[test]
fn error_recovery() {
    for (html, text, links) in [
        // Misnested formatting: the link goes on inside the paragraph.
        ("<a href=x>one<p>two</a>three", "one\ntwothree", 2),
        ("<b><i>bold</b> still</i> plain", "bold still plain", 0),
        // A second <a> closes the first.
        ("<a href=x>one<a href=y>two", "onetwo", 2),
        // Unclosed and unopened things.
        ("<ul><li>a<li>b</li></li><p>c", "a\nb\nc", 0),
        ("</p>x</div></table>", "x", 0),
        ("<table><tr><td>a<td>b</tr><tr><td>c", "a\tb\nc", 0),
        ("text <!-- unclosed <a href=x>y</a>", "text", 0),
        ("<a href='x>never closed", "", 0),
        ("a &lt; b &amp c &copy2026 &bogus; &#x41;&#66;", "a < b & c ©2026 &bogus; AB", 0),
        ("a<b", "a", 0),
        ("1 < 2 <3", "1 < 2 <3", 0),
        ("<TITLE>x</TITLE><P>Y<A HREF=z>Z", "YZ", 1),
        ("<a href=\"x\"href='y'>twice</a>", "twice", 1),
        ("<svg><a xlink:href=x>s</a><p>out</svg>", "s\nout", 1),
    ] {
        let p = page(html);
        assert_eq!((p.text.as_str(), p.links.len()), (text, links), "{html}");
    }
}

#[test]
fn nested_links_keep_their_labels() {
    let p =
        page("<a href=x title=outer><table><tr><td><a href=y title=inner>in</a></table><img alt=after></a>");
    let labels: Vec<_> = p.links.iter().map(|l| (l.url.path(), &*l.label)).collect();
    assert_eq!(labels, [("/dir/x", "outer after"), ("/dir/y", "inner")]);
}

#[test]
fn charset_is_found() {
    let latin = typed("text/html", b"<meta charset=iso-8859-1><p>caf\xe9");
    assert_eq!((latin.charset.as_str(), latin.text.as_str()), ("windows-1252", "café"));
    let utf16: Vec<u8> = "\u{feff}<p>né".encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert_eq!(typed("text/html", &utf16).text, "né");
}

#[test]
fn language_is_detected_from_the_body() {
    let p = page(
        "<nav>Startseite Impressum</nav><p>This page is about the design of databases and the languages \
         that you \
         will use for querying them.",
    );
    assert_eq!(p.language, "en");
    let off = Options { detect_language: false, detect_simhash: false, ..Options::default() };
    let p = extract(&url("http://e.org/"), Some("text/html"), None, b"<p>the and of is this that with", &off);
    assert_eq!((p.language.as_str(), p.simhash), ("", 0));
    assert_eq!(page("<meta http-equiv=content-language content='fr-CA'><p>x").language, "fr");
    assert_eq!(page("<html xml:lang=de><p>x").language, "de");
}

#[test]
fn simhash_is_of_the_body_only() {
    let body =
        "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen";
    let a = page(&format!("<nav>menu one</nav><p>{body}"));
    let b = page(&format!("<nav>another menu altogether</nav><div><b>{body}</b></div>"));
    assert_ne!(a.simhash, 0);
    assert_eq!(a.simhash, b.simhash);
    assert_ne!(a.simhash, page(&format!("<p>{}", body.replace(' ', " and "))).simhash);
}

#[test]
fn limits_are_kept() {
    let options = Options { max_links: 3, max_text: 50, ..Options::default() };
    let html = "<p>some words <a href=x>link</a>".repeat(20);
    let p = extract(&url("http://e.org/"), Some("text/html"), None, html.as_bytes(), &options);
    assert_eq!(p.links.len(), 3);
    assert!(p.text.len() <= 50 && p.cut);
}

#[test]
fn xhtml() {
    let body = "<?xml version='1.0' encoding='utf-8'?><html xmlns='http://www.w3.org/1999/xhtml' \
                xml:lang='en'>\
        <head><title/><script src='x.js'/><style/></head><body><a id='n'/><p>text</p><div/><![CDATA[a < b]]>\
        <a href='x'>y</a><textarea/>end</body></html>";
    let p = typed("application/xhtml+xml", body.as_bytes());
    assert_eq!(p.text, "text\na < by\tend");
    assert_eq!(p.links.len(), 1);
    assert_eq!(p.language, "en");
}

#[test]
fn plain_text() {
    let p = typed("text/plain", b"Title line\r\n\r\n  some   words\r\nhttp://example.org/ is not a link\n");
    assert_eq!(p.kind, PageKind::Text);
    assert_eq!(p.text, "Title line\nsome words\nhttp://example.org/ is not a link");
    assert_eq!((p.title.as_str(), p.links.len(), p.leaves.len()), ("Title line", 0, 1));
}

#[test]
fn nothing_for_what_cannot_be_read() {
    let p = typed("image/png", b"\x89PNG");
    assert_eq!((p.kind, p.text.as_str(), p.links.len()), (PageKind::Opaque, "", 0));
    assert_eq!(p.url.unwrap().as_str(), "http://example.org/dir/page.html");
}

#[test]
fn a_page_of_frames_is_what_it_says_without_them() {
    let p = page(
        "<html><head><title>Course</title></head><frameset cols='1,2'><frame src=menu.html><frame \
         src=main.html>\
         <noframes><body><h1>Operating systems</h1><p>Read the <a href=/syllabus.html>syllabus</a> of this \
         course, \
         please.</p></body></NOFRAMES></frameset></html>",
    );
    assert_eq!(p.title, "Course");
    assert!(p.text.starts_with("Operating systems\nRead the syllabus of this course"), "{:?}", p.text);
    let links: Vec<(&str, &str)> = p.links.iter().map(|l| (l.url.path(), p.anchor(l))).collect();
    assert_eq!(links.len(), 3, "{links:?}");
    assert!(links.contains(&("/syllabus.html", "syllabus")), "{links:?}");
    assert_eq!(p.headings.len(), 1);
    // A page with a text of its own keeps it.
    let other = page(
        "<body><p>This page has enough to say for itself, so nothing else is \
         read.</p><noframes>frames</noframes>",
    );
    assert!(!other.text.contains("frames"), "{:?}", other.text);
    // What stands in `noscript` is read.
    assert!(page("<body><noscript><p>Without scripts</p></noscript>").text.contains("Without scripts"));
}
