//! What `extract` makes of bytes.

use crate::choice;
use extract::{Options, ways};
use std::io::Write;
use types::{Canon, Page, Span, Url};

fn url() -> Url {
    Canon::default().parse("http://example.org/dir/page.html").expect("a URL")
}

/// Both ways of reading HTML give the same page, or the quick one says that it cannot.
pub fn html(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let options = Options::default();
    if let Ok(quick) = ways::quick(&text, &url(), &options) {
        let tree = ways::tree(&text, &url(), &options);
        assert_eq!(quick, tree, "quick (left) and tree (right) differ");
    }
}

/// The first byte chooses what the server says it is.
pub fn page(data: &[u8]) {
    const TYPES: [Option<&str>; 8] = [
        None,
        Some("text/html"),
        Some("text/html; charset=shift_jis"),
        Some("application/xhtml+xml"),
        Some("text/plain; charset=utf-16"),
        Some("text/markdown"),
        Some("application/rtf"),
        Some("application/octet-stream"),
    ];
    let (kind, body) = choice(data);
    read(TYPES[usize::from(kind) % TYPES.len()], body);
}

pub fn feed(data: &[u8]) {
    let (kind, body) = choice(data);
    read(
        ["application/xml", "application/rss+xml", "application/atom+xml"]
            .get(usize::from(kind) % 4)
            .copied(),
        body,
    );
}

pub fn pdf(data: &[u8]) {
    read(Some("application/pdf"), data);
}

/// A container of the parts that the input names: `=== name` on a line of its own, then its contents.
pub fn office(data: &[u8]) {
    let mut zipped = Vec::new();
    let mut zip = store::zip::ZipWriter::new(&mut zipped);
    let text = String::from_utf8_lossy(data);
    for part in text.split("=== ").filter(|p| !p.is_empty()).take(64) {
        let (name, contents) = part.split_once('\n').unwrap_or((part, ""));
        if name.len() > 200 || zip.begin(name).is_err() {
            continue;
        }
        zip.write_all(contents.as_bytes()).and_then(|()| zip.end()).expect("memory does not fail");
    }
    zip.finish().expect("memory does not fail");
    read(None, &zipped);
}

fn read(content_type: Option<&str>, body: &[u8]) {
    let options = Options { max_links: 50, max_text: 4096, ..Options::default() };
    let page = extract::extract(&url(), content_type, None, body, &options);
    fits(&page, &options);
    let again = extract::extract(&url(), content_type, None, body, &options);
    assert_eq!(page, again, "the same bytes give the same page");
    let whole = [Span::new(0, page.text.len())];
    extract::markdown(&page, content_type, body, &whole, &options);
}

/// Every part of a page is a part of its text, and no limit is passed.
fn fits(page: &Page, options: &Options) {
    let text = page.text.as_str();
    let within = |what: &str, span: Span| {
        let ok = text.get(span.start as usize..span.end as usize).is_some();
        assert!(ok, "{what} {span:?} is no part of {} bytes", text.len());
    };
    // A sitemap may hold more links than a page.
    assert!(page.links.len() <= options.max_links.max(50_000), "{} links", page.links.len());
    assert!(text.len() <= options.max_text + 4, "{} bytes of text", text.len());
    page.blocks.iter().for_each(|b| within("block", b.span));
    page.headings.iter().for_each(|h| within("heading", h.span));
    page.leaves.iter().for_each(|l| within("leaf", l.span));
    let mut at = 0;
    for block in &page.blocks {
        assert_eq!(block.span.start, at, "blocks cover the text without gaps");
        at = block.span.end;
    }
    for link in &page.links {
        within("anchor", link.anchor);
        within("context", link.context);
        assert!((link.path as usize) < page.paths.len(), "a link without a path");
        let (first, last) = (link.first_leaf as usize, link.last_leaf as usize);
        assert!(page.leaves.is_empty() || first.max(last) <= page.leaves.len(), "leaves {first}..{last}");
        let again = Canon::default().parse(link.url.as_str());
        assert_eq!(again.as_ref(), Ok(&link.url), "links are canonical");
    }
}
