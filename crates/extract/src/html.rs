//! HTML and XHTML → [`Page`].

use crate::{Options, about, charset, context, language, meta, parse, quick, simhash, walk};
use std::panic::{AssertUnwindSafe, catch_unwind};
use types::{Page, PageKind, Region, Url};

pub fn html(
    url: &Url,
    content_type: Option<&str>,
    body: &[u8],
    xhtml: bool,
    options: &Options,
    page: Page,
) -> Page {
    let body_whole = body.len();
    let body = body.get(..parse::MAX_INPUT).unwrap_or(body);
    let (text, charset) = charset::decode(body, content_type, url.host());
    let mut page =
        Page { kind: PageKind::Html, charset: charset.into(), cut: body.len() < body_whole, ..page };
    page = read_safely(&text, url, xhtml, options, page);
    if page.text.len() < LITTLE
        && let Some(inner) = without_frames(&text)
    {
        let read_inner = || read(inner, url, false, options, &Page::default());
        if let Ok(inner) = catch_unwind(AssertUnwindSafe(read_inner)) {
            take_text(&mut page, inner);
        }
    }
    let found = about::read(&text, url);
    page.about = found.about;
    if page.title.is_empty() {
        page.title = found.title;
    }
    finish(&mut page, options);
    // What the text shows is believed more than what is said of it, which is the same on all pages of a site.
    if page.language.is_empty() {
        page.language = found.language;
    }
    page
}

/// Text, links and all else of a piece of HTML of our own; [`finish`] is yet to come.
pub fn read_markup(markup: &str, url: &Url, options: &Options, page: Page) -> Page {
    read_safely(markup, url, false, options, page)
}

/// The parser is not ours and asserts its own invariants; a page must not be able to stop a crawl with one.
fn read_safely(text: &str, url: &Url, xhtml: bool, options: &Options, page: Page) -> Page {
    match catch_unwind(AssertUnwindSafe(|| read(text, url, xhtml, options, &page))) {
        Ok(walked) => walked,
        Err(_) => Page { cut: true, ..page },
    }
}

/// A page with less text than this, in bytes, has nothing else to read than what it says to browsers without
/// frames.
const LITTLE: usize = 40;

/// What a page of frames says to browsers that show none. (What stands in `noscript` is read on every page.)
fn without_frames(html: &str) -> Option<&str> {
    let find = |from: usize, tag: &str| {
        let rest = html.as_bytes().get(from..)?;
        let at = rest.windows(tag.len()).position(|w| w.eq_ignore_ascii_case(tag.as_bytes()))?;
        Some(from + at)
    };
    let open = find(0, "<noframes")?;
    let start = open + html.get(open..)?.find('>')? + 1;
    let end = find(start, "</noframes").unwrap_or(html.len());
    html.get(start..end)
}

/// The text of a page within the page, with its links after those of the frames.
fn take_text(page: &mut Page, inner: Page) {
    if inner.text.len() <= page.text.len() {
        return;
    }
    page.text = inner.text;
    page.blocks = inner.blocks;
    page.headings = inner.headings;
    page.leaves = inner.leaves;
    // Frames have no anchors.
    for link in &mut page.links {
        (link.anchor, link.heading, link.first_leaf, link.last_leaf) = (types::Span::default(), None, 0, 0);
    }
    let more = page.paths.len() as u32;
    page.paths.extend(inner.paths);
    page.links.extend(inner.links.into_iter().map(|l| types::Link { path: l.path + more, ..l }));
}

/// Most pages can be read on the way; the others need a tree.
fn read(text: &str, url: &Url, xhtml: bool, options: &Options, page: &Page) -> Page {
    if !xhtml && let Ok(page) = quick::page(text, url, options, page.clone()) {
        return page;
    }
    let dom = parse::parse(text, xhtml);
    walk::dom(&dom, url, options, text.len(), page.clone())
}

/// What is computed from the text once it is whole.
pub fn finish(page: &mut Page, options: &Options) {
    page.headings.retain(|h| !h.span.is_empty());
    context::headings(&page.headings, &mut page.links);
    for link in &mut page.links {
        link.context = context::around(&page.text, link.anchor);
        link.rel.nofollow |= page.robots.nofollow;
    }
    let text = &page.text;
    let body = || page.blocks.iter().filter(|b| b.region == Region::Body).map(|b| b.span.of(text));
    if options.detect_language && page.language.is_empty() {
        // A page that is all navigation has a language, too.
        let whole = [page.title.as_str(), text.as_str()];
        let little = body().map(str::len).sum::<usize>() < 200;
        let code = if little { language::detect(whole.into_iter()) } else { language::detect(body()) };
        page.language = code.into();
    }
    if options.detect_simhash {
        page.simhash = simhash::simhash(body());
    }
}

/// The visible text of a piece of HTML, as one line (feeds carry such pieces).
pub fn text_of(fragment: &str, url: &Url, options: &Options) -> String {
    if !fragment.contains(['<', '&']) {
        return crate::text::collapsed(fragment, options.max_text);
    }
    let bare = Options { max_links: 0, detect_language: false, detect_simhash: false, ..options.clone() };
    let walked = catch_unwind(AssertUnwindSafe(|| read(fragment, url, false, &bare, &Page::default())));
    let text = walked.map(|page| page.text).unwrap_or_default();
    text.replace(['\n', '\t'], " ")
}

/// The header's word on robots, before the markup adds its own.
pub fn with_header(x_robots_tag: Option<&str>) -> Page {
    let mut page = Page::default();
    if let Some(value) = x_robots_tag {
        meta::robots_header(&mut page.robots, value);
    }
    page
}
