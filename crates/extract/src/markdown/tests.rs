use super::*;
use crate::extract;
use proptest::prelude::*;
use types::Canon;

fn read(html: &str) -> (Page, String) {
    let url = Canon::default().parse("http://example.org/a/").unwrap();
    let page = extract(&url, Some("text/html; charset=utf-8"), None, html.as_bytes(), &Options::default());
    let whole = [Span::new(0, page.text.len())];
    let md = markdown(&page, Some("text/html; charset=utf-8"), html.as_bytes(), &whole, &Options::default());
    (page, md)
}

fn check(html: &str, expected: &str) {
    assert_eq!(read(html).1, expected, "{html}");
}

#[test]
fn blocks_and_links() {
    check(
        "<title>x</title><h1>Data<br>bases</h1><p>See <a href='b.html'>the <b>course</b></a>, \
         <a href='javascript:x'>not</a> <code>a*b</code>.<p>Two<br>lines",
        "# Data bases\n\nSee [the course](http://example.org/a/b.html), not `a*b`.\n\nTwo  \nlines",
    );
    check("<blockquote><p>a<p>b</blockquote>c", "> a\n>\n> b\n\nc");
    check("<pre>\nfn main() {\n    x\n}\n</pre><p>y", "```\nfn main() {\n    x\n}\n```\n\ny");
}

#[test]
fn lists() {
    check(
        "<p>Topics:<ul><li>sql<li>joins<ul><li>hash</ul><li>plans<p>more</ul><ol start=3><li>c<li>d</ol>",
        "Topics:\n\n- sql\n- joins\n  - hash\n- plans\n\n  more\n\n3. c\n4. d",
    );
    check("<ul><li><ul><li>deep</ul></ul>", "- - deep");
}

#[test]
fn tables_for_data_and_tables_for_layout() {
    check(
        "<table><tr><th>Week<th>Topic<tr><td>1<td>a|b<tr><td><td>exam</table>",
        "| Week | Topic |\n| --- | --- |\n| 1 | a\\|b |\n|  | exam |",
    );
    // One row only, and one with another table inside: there for the layout.
    check("<table><tr><td>a<td>b</table>", "a | b");
    check(
        "<table><tr><td><table><tr><td>a<td>b<tr><td>c<td>d</table><tr><td>e<td>f</table>",
        "| a | b |\n| --- | --- |\n| c | d |\n\ne | f",
    );
}

#[test]
fn text_is_not_taken_for_markup() {
    check(
        "<p># no heading<p>1. no item<p>- none<p>a_b _c_ [x](y) &lt;b> &amp;amp;<p>---",
        "\\# no heading\n\n1\\. no item\n\n\\- none\n\na_b \\_c\\_ \\[x\\](y) \\<b> \\&amp;\n\n\\---",
    );
}

#[test]
fn only_the_lines_asked_for() {
    let html = "<nav><ul><li><a href=x>Home</a></ul></nav><main><p>one<p>two</main>";
    let (page, _) = read(html);
    let from = page.text.find("two").unwrap();
    let md = markdown(
        &page,
        Some("text/html"),
        html.as_bytes(),
        &[Span::new(from, page.text.len())],
        &Options::default(),
    );
    assert_eq!(md, "two");
    // Without the bytes there are the lines.
    let md = markdown(&page, None, b"", &[Span::new(0, page.text.len())], &Options::default());
    assert_eq!(md, "Home\n\none\n\ntwo");
}

proptest! {
    /// Whatever comes, the walk finds the same text as extraction does, and no prefix grows without bound.
    #[test]
    fn any_markup(parts in proptest::collection::vec(
        prop_oneof![
            "<(ul|ol|li|p|blockquote|table|tr|td|th|pre|code|h2|br|a href=x|div|b)>",
            "</(ul|ol|li|p|table|tr|td|pre|a|div)>",
            "[a-z*_#>|`\\[\\]]{1,4} ?"
        ],
        0..60
    )) {
        let html = parts.concat();
        let (page, md) = read(&html);
        let words = |s: &str| s.chars().filter(|c| c.is_ascii_lowercase()).count();
        prop_assert!(words(&md) >= words(&page.text), "{html}\n{md}");
        prop_assert!(md.len() <= 40 * html.len() + 100);
    }
}

#[test]
fn deep_nesting_costs_little() {
    for tag in ["<blockquote>", "<ul><li>", "<table><tr><td>"] {
        let html = format!("{}{}", tag.repeat(3_000), "<p>x".repeat(3_000));
        let (_, md) = read(&html);
        assert!(md.len() < 400_000, "{tag}: {} bytes", md.len());
    }
}
