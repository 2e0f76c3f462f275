//! The quick way through the source gives the page that the full parser's tree gives, or says that it cannot.

use gleaner_extract::{Options, ways};
use proptest::prelude::*;
use types::{Canon, Page, Url};

fn url() -> Url {
    Canon::default().parse("http://example.org/dir/page.html").unwrap()
}

/// Fails when both ways give a page and it is not the same. `true` when the quick way did.
fn same(html: &str) -> Result<bool, String> {
    let options = Options::default();
    let quick = match ways::quick(html, &url(), &options) {
        Ok(page) => page,
        Err(_) => return Ok(false),
    };
    let tree = ways::tree(html, &url(), &options);
    if quick == tree {
        return Ok(true);
    }
    let show = |p: &Page| {
        let links: Vec<String> = p
            .links
            .iter()
            .map(|l| format!("{} {:?} {}..{}", p.path(l), p.anchor(l), l.first_leaf, l.last_leaf))
            .collect();
        format!(
            "text {:?}\ntitle {:?} headings {:?}\nblocks {:?}\nleaves {:?}\nlinks {links:#?}\nrest {:?}",
            p.text,
            p.title,
            p.headings,
            p.blocks,
            p.leaves.iter().map(|l| l.span).collect::<Vec<_>>(),
            (&p.language, &p.description, &p.canonical, &p.refresh, p.robots, p.cut)
        )
    };
    Err(format!("{html:?}\n--- quick\n{}\n--- tree\n{}", show(&quick), show(&tree)))
}

#[track_caller]
fn read_quickly(html: &str) {
    assert!(same(html).unwrap_or_else(|e| panic!("{e}")), "left to the full parser: {html}");
}

#[test]
fn markup_that_needs_no_tree() {
    for html in [
        "",
        "  \n ",
        "plain text",
        "<p>one<p>two<li>three<li>four",
        "<!doctype html><html lang=de><head><title>T &amp; \
         t</title></head><body><h1>H</h1><p>x</p></body></html>\n<!-- end -->",
        "<!-- a --><!doctype html><!-- b --><html><!-- c --><head><!-- d --></head><!-- e \
         --><body>f</body><!-- g --></html><!-- h -->text after",
        "<title>no head</title><p>but text<br>and more<hr>end",
        "<p><b>bold<p>still bold</b> not <i>it<u>both</i>under</u>",
        "<a href=1>one<a href=2>two</a> three",
        "<table><tr><td><b>x<td>y<tr><th>z</table>after",
        "<table>\n <caption>c</caption><colgroup><col><col></colgroup><thead><tr><th>h</thead><tbody><tr><td>d<table><tr><td>in</table>out</table>",
        "<form><div><input type=text></form>inside</div>outside<form>again</form>",
        "<ul><li>a<ul><li>b</ul><li>c</ul><dl><dt>t<dd>d<dt>t</dl>",
        "<script>var a = '<p>';</script><style>p{}</style><textarea>\n<b>&lt;</textarea><pre>\n x\n y</pre>",
        "<svg viewBox='0 0 1 1'><title>t</title><path d='M0 0'/><g><circle/></g></svg> after \
         <math><mi>x</mi><mo>=</mo></math>",
        "<svg><linearGradient id=g><stop/></linearGradient><clipPath><path/></CLIPPATH><defs>x</defs></svg>y",
        "<select><option>a<option selected>b<optgroup \
         label=x><option>c</select><button>ok<button>no</button>",
        "a < b && c &lt; d &copy &notit; &#x41; &#128; </ x> <? pi ?> <!x> </>",
        "<p>unfinished <a href='x",
        "<noscript><img src=x></noscript><head><noscript><link rel=next href=y></noscript></head>",
        "<object><b>x</object>y</b><marquee>z</marquee>",
        "<ruby>a<rt>b<rp>c</ruby><nobr>x<nobr>y",
        "<P CLASS=Big ID=\"x&amp;y\">caps<DIV>in</DIV></P>",
        "<a href=x title='t' title='u'>dup</a><a href = \"y\" rel=\"nofollow \
         next\">q</a><a/href=z/>slash</a>",
        "<head><base href=/other/><meta name=description content='d'></head><a href=rel>x</a>",
        "line\r\nends\rare\none",
        "\u{feff}<p>mark",
        "<h1>a<h2>b</h1>c</h3>d",
        "<p>x</p></p></div></br>y",
        "<head><title>a</title></head>\n<link rel=next href=x><script>s</script><body>late",
        "<head></head><!-- c --><body bgcolor=white><p>x<body text=black><CITE>y</CITE>",
        "<head>text<body id=i class='c d'><p><a href=x>y</a>",
        "<head><link rel=next href=n>text<body class=c><a href=x>y</a><body class=d>z",
        "<body id=i><a href=x>y</a><body id=j>z",
        "<x-one><x-two>own</x-one>names</x-two>",
    ] {
        read_quickly(html);
    }
}

#[test]
fn what_needs_a_tree_is_left_to_it() {
    for html in [
        "<table>text</table>",
        "<table><p>x</table>",
        "<b><p>x</b>y",
        "<frameset><frame src=x></frameset>",
        "<template><p>x</template>",
        "<svg><p>x</svg>",
        "<p>a\0b",
        "<a href=x>1</a><base href=/late/><a href=y>2</a>",
        "<html lang=en><p><html lang=de>",
        "<p>text<a href=x>y</a><body class=late>",
        "<p>text<body role=navigation>",
        "<plaintext>x",
        "<svg><a href=x>y</a></svg>",
        "<head></head><!-- c --><link rel=next href=x><body>",
    ] {
        assert_eq!(same(html), Ok(false), "{html}");
    }
    assert_eq!(same(&"<div>".repeat(500)), Ok(false));
    assert_eq!(same(&(0..100).map(|i| format!("<p><b id={i}>x</p>")).collect::<String>()), Ok(false));
}

const TAGS: &[&str] = &[
    "body id=i",
    "a",
    "a href=u",
    "a href='v#w'",
    "b",
    "i",
    "font",
    "nobr",
    "p",
    "div",
    "span",
    "ul",
    "ol",
    "li",
    "dl",
    "dt",
    "dd",
    "table",
    "tbody",
    "thead",
    "tr",
    "td",
    "th",
    "caption",
    "colgroup",
    "col",
    "form",
    "input",
    "input type=hidden",
    "button",
    "select",
    "option",
    "optgroup",
    "h1",
    "h2",
    "pre",
    "br",
    "hr",
    "img alt=i",
    "body",
    "html",
    "head",
    "title",
    "script",
    "style",
    "textarea",
    "noscript",
    "svg",
    "path /",
    "g",
    "desc",
    "math",
    "mi",
    "object",
    "nav",
    "header",
    "section",
    "iframe src=f",
    "meta name=robots content=nofollow",
    "link rel=next href=n",
    "base href=/b/",
    "x-y",
    "code",
    "center",
    "address",
    "ruby",
    "rt",
    "body class=c",
    "frameset",
    "template",
    "image",
    "area href=r",
    "xmp",
    "label",
    "summary",
];

fn piece() -> impl Strategy<Value = String> {
    let tag = || proptest::sample::select(TAGS).prop_map(|t| t.to_string());
    let name = |t: String| t.split(' ').next().unwrap_or("").to_string();
    prop_oneof![
        6 => tag().prop_map(|t| format!("<{t}>")),
        5 => tag().prop_map(move |t| format!("</{}>", name(t))),
        4 => proptest::sample::select(&["x", "some words", " ", "\n", "a &amp; b", "&lt", "<", "e\u{301}é", "\t"][..])
            .prop_map(String::from),
        1 => proptest::sample::select(&["<!-- c -->", "<!doctype html>", "<!-->", "</ >", "<?x>", "<![CDATA[y]]>", "--><!-- "][..])
            .prop_map(String::from),
    ]
}

/// `PROPTEST_CASES=1000000` looks longer.
fn cases() -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(4_000)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn tag_soup(pieces in proptest::collection::vec(piece(), 0..14)) {
        let html = pieces.concat();
        if let Err(e) = same(&html) {
            return Err(TestCaseError::fail(e));
        }
    }

    #[test]
    fn soup_in_a_body(pieces in proptest::collection::vec(piece(), 0..20), inside in 0usize..4) {
        let open = ["<body>", "<body><div><p>", "<body><table><tr><td>", "<body><ul><li><a href=x>"][inside];
        let html = format!("<!doctype html><title>t</title>{open}{}", pieces.concat());
        if let Err(e) = same(&html) {
            return Err(TestCaseError::fail(e));
        }
    }

    #[test]
    fn noise(html in "[<>/!a-b='\" &;#x\n-]{0,60}") {
        if let Err(e) = same(&html) {
            return Err(TestCaseError::fail(e));
        }
    }
}
