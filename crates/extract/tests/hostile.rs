//! Input that means harm: bounded work (counted in steps, never in time), nothing lost that could be kept, no
//! panic.

use gleaner_extract::dom::Dom;
use gleaner_extract::{Options, extract};
use proptest::prelude::*;
use types::{Canon, Page};

fn page(html: &[u8]) -> Page {
    let url = Canon::default().parse("http://example.org/").unwrap();
    extract(&url, Some("text/html"), None, html, &Options::default())
}

fn dom(html: &str) -> Dom {
    gleaner_extract::parse::parse(html, false)
}

/// The shapes html5ever alone is quadratic on, and a few more.
const SHAPES: [(&str, fn(usize) -> String); 20] = [
    ("nested div", |n| "<div>".repeat(n)),
    ("nested div with text, closed", |n| format!("{}{}", "<div>x".repeat(n), "</div>".repeat(n))),
    ("nested lists", |n| "<ul><li>".repeat(n)),
    ("unclosed p", |n| "<p>x".repeat(n)),
    ("unclosed a", |n| "<a href=x>y".repeat(n)),
    ("unclosed a and div", |n| "<a href=x><div>".repeat(n)),
    ("font and stray </p>", |n| "<font></p>".repeat(n)),
    ("formatting that is never closed", |n| (0..n).map(|i| format!("<p><b id={i}>x</p>")).collect()),
    ("misnested formatting", |n| "<i><b></i>x</b>".repeat(n)),
    ("nested tables", |n| "<table><tr><td>".repeat(n)),
    ("links in nested tables", |n| "<a href=x><table><tr><td>".repeat(n)),
    ("foster parenting", |n| format!("<table>{}", "x<b>".repeat(n))),
    ("links in svg", |n| format!("<svg>{}", "<a href=x>".repeat(n))),
    ("one tag with many attributes", |n| {
        format!("<a {}>x", (0..n).map(|i| format!("a{i}=1 ")).collect::<String>())
    }),
    ("attributes with quoted brackets", |n| {
        format!("<a {}>x", (0..n).map(|i| format!("a{i}='><b' ")).collect::<String>())
    }),
    ("attributes of an end tag", |n| {
        format!("<script>1<2</script {}>x", (0..n).map(|i| format!("a{i} = \"1\" ")).collect::<String>())
    }),
    ("repeated body", |n| (0..n).map(|i| format!("<body a{i}=1>")).collect()),
    ("distinct names", |n| (0..n).map(|i| format!("<x{i}></x{i}>")).collect()),
    ("angle brackets", |n| "<".repeat(8 * n)),
    ("templates", |n| "<template><select><option>".repeat(n)),
];

#[test]
fn work_is_linear() {
    for (name, shape) in SHAPES {
        let (small, large) = (shape(8_000), shape(32_000));
        let (a, b) = (dom(&small), dom(&large));
        let growth = large.len() as f64 / small.len() as f64;
        // A fixed part (filling the stack once) makes small inputs dearer per byte, never cheaper.
        assert!(
            b.steps as f64 <= 1.15 * growth * a.steps as f64 + 10_000.0,
            "{name}: {} → {}",
            a.steps,
            b.steps
        );
        assert!(b.nodes.len() as f64 <= 1.15 * growth * a.nodes.len() as f64 + 2_000.0, "{name}: nodes");
        assert!(b.steps <= 1_100_000 + 110 * large.len() as u64, "{name}: {} steps", b.steps);
        assert!(b.nodes.len() <= 8_000 + 2 * large.len(), "{name}: {} nodes", b.nodes.len());
    }
}

#[test]
fn a_million_nested_tags() {
    let mut html = "<div>".repeat(1_000_000);
    html.push_str("<p>still <a href=x>here</a></p>");
    html.push_str(&"</div>".repeat(1_000_000));
    html.push_str("<p>and <a href=y>after</a>");
    let p = page(html.as_bytes());
    assert!(p.cut);
    assert_eq!(p.links.len(), 2, "links inside and after the flattened part are found");
    assert!(p.text.contains("still here") && p.text.contains("and after"));
    assert!(p.paths.iter().all(|path| path.len() <= 400));
}

#[test]
fn a_hundred_megabytes_of_brackets() {
    // What is beyond the largest input that is looked at is cut, not read.
    let p = page(&vec![b'<'; 100 << 20]);
    assert!(p.cut);
    assert!(p.text.len() <= 2 << 20);
}

#[test]
fn absurd_tags_are_shortened_and_reading_goes_on() {
    let attributes: String = (0..100_000).map(|i| format!(" a{i}=\"<b>'>\"")).collect();
    let html = format!("<p>before <a href=x{attributes}>in</a> after <a href=y>end</a>");
    let p = page(html.as_bytes());
    assert!(p.cut);
    assert_eq!(p.text, "before in after end");
    assert_eq!(p.links.iter().map(|l| l.url.path()).collect::<Vec<_>>(), ["/x", "/y"]);
}

#[test]
fn long_attributes_and_comments_are_no_attack() {
    let words = "word ' \" = > ".repeat(20_000).replace('"', "");
    let html = format!(
        "<img src = \"data:image/png;base64,{}\"><p data-x=\"{words}\">text</p><!-- {words} -->more",
        "A".repeat(300_000)
    );
    let p = page(html.as_bytes());
    assert!(!p.cut);
    assert_eq!(p.text, "text\nmore");
}

#[test]
fn anchors_and_contexts_of_nested_links_are_bounded() {
    let html = format!("{}{}", "<a href=x><table><tr><td>".repeat(200), "word ".repeat(10_000));
    let p = page(html.as_bytes());
    assert!(p.links.len() > 50);
    assert!(p.links.iter().all(|l| l.anchor.len() <= 1_000 && l.context.len() <= 1_000));
}

#[test]
fn a_gzip_bomb_is_bounded() {
    use std::io::Write;
    let mut zip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    for _ in 0..200 {
        zip.write_all(&[b'a'; 1 << 20]).unwrap();
    }
    let p = page(&zip.finish().unwrap());
    assert!(p.text.len() <= 2 << 20);
}

/// Every span on character boundaries inside the text, every index in range.
fn check(p: &Page) {
    let inside = |s: types::Span| assert!(p.text.get(s.start as usize..s.end as usize).is_some(), "{s:?}");
    let mut at = 0;
    for b in &p.blocks {
        inside(b.span);
        assert_eq!(b.span.start, at);
        at = b.span.end;
    }
    assert_eq!(at as usize, p.text.len());
    p.headings.iter().for_each(|h| inside(h.span));
    let mut last = 0;
    for l in &p.leaves {
        inside(l.span);
        if !l.span.is_empty() {
            assert!(l.span.start >= last, "leaves in order");
            last = l.span.end;
        }
    }
    for l in &p.links {
        inside(l.anchor);
        inside(l.context);
        assert!(l.context.start <= l.anchor.start && l.context.end >= l.anchor.end);
        assert!(l.first_leaf <= l.last_leaf && (l.last_leaf as usize) < p.leaves.len());
        assert!((l.path as usize) < p.paths.len());
        assert!(l.heading.is_none_or(|h| (h as usize) < p.headings.len()));
    }
}

/// Pieces of markup, to be strung together in ways no one would.
fn soup() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("<a href=x>"),
        Just("</a>"),
        Just("<p>"),
        Just("</p>"),
        Just("<table>"),
        Just("<td>"),
        Just("</table>"),
        Just("<h2>"),
        Just("</h2>"),
        Just("<b>"),
        Just("</b>"),
        Just("<i class='a b'>"),
        Just("</i>"),
        Just("<ul><li>"),
        Just("text"),
        Just(" Ünï. "),
        Just("<nav>"),
        Just("</nav>"),
        Just("<svg>"),
        Just("</svg>"),
        Just("<template>"),
        Just("</template>"),
        Just("<!-- c -->"),
        Just("<script>x"),
        Just("</script>"),
        Just("<select><option>"),
        Just("</select>"),
        Just("<img alt=z>"),
        Just("<frameset>"),
        Just("<pre>\n"),
        Just("&amp;"),
        Just("<title>t"),
        Just("</title>"),
        Just("<math><mi>"),
        Just("<br>"),
        Just("<form>"),
        Just("</body>"),
        Just("<base href=/b/>"),
        Just("<noscript>"),
        Just("<iframe src=f>"),
        Just("</iframe>"),
        Just("\u{a0}"),
        Just("<a href=y title=q>"),
        Just("<button>"),
        Just("<footer role=main>"),
        Just("<object>"),
        Just("<![CDATA[x]]>"),
        Just("<textarea>"),
    ];
    proptest::collection::vec(piece, 0..60).prop_map(|v| v.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn any_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..600), kind in 0usize..8) {
        let types = [
            None, Some("text/html"), Some("application/xhtml+xml"), Some("text/plain"), Some("application/xml"),
            Some("application/rss+xml"), Some("application/pdf"), Some("text/html; charset=shift_jis"),
        ];
        let url = Canon::default().parse("http://example.org/").unwrap();
        check(&extract(&url, types[kind], Some("noindex"), &bytes, &Options::default()));
    }

    #[test]
    fn any_soup(html in soup(), xhtml: bool, max_text in 0usize..200) {
        let url = Canon::default().parse("http://example.org/").unwrap();
        let kind = if xhtml { "application/xhtml+xml" } else { "text/html" };
        let options = Options { max_text, ..Options::default() };
        let p = extract(&url, Some(kind), None, html.as_bytes(), &options);
        check(&p);
        // The same bytes give the same page.
        prop_assert_eq!(&p, &extract(&url, Some(kind), None, html.as_bytes(), &options));
        check(&page(html.as_bytes()));
    }

    #[test]
    fn any_feed(html in soup(), rss: bool) {
        let url = Canon::default().parse("http://example.org/").unwrap();
        let body = if rss {
            format!("<rss><channel><item><title>{html}</title><link>/x</link></item>{html}<item><title>y")
        } else {
            format!("<urlset><url><loc>http://e.org/a</loc>{html}</url></urlset>")
        };
        check(&extract(&url, Some("text/xml"), None, body.as_bytes(), &Options::default()));
    }
}
