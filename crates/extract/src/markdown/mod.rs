//! The text of a page as Markdown: headings, lists, quotes, tables, code and links, as far as the markup has
//! them.
//!
//! ```text
//!  tree ─pieces─► text nodes, each with its place in the structure ─lines─► lines ─render─► Markdown
//! ```
//!
//! The tree is walked by the rules of [`crate::walk`], so every piece has the place in [`Page::text`] that it
//! has there: whoever knows which lines are the page's own gets the Markdown of those.

mod escape;
mod pieces;
mod render;

use crate::{Kind, Options, charset, parse, sniff};
use std::panic::{AssertUnwindSafe, catch_unwind};
use types::{Page, PageKind, Span};

/// The Markdown of the lines `own` (ascending spans of the page's text). `page` is what [`crate::extract()`]
/// made of `body` with these options; without the body, or when it does not fit, there are the lines alone.
pub fn markdown(
    page: &Page,
    content_type: Option<&str>,
    body: &[u8],
    own: &[Span],
    options: &Options,
) -> String {
    let (content_type, body) = sniff::unzipped(content_type, body);
    let Some(url) = page.url.as_ref().filter(|_| !page.text.is_empty()) else { return plain(page, own) };
    let xhtml = match sniff(url, content_type, &body) {
        Kind::Html => false,
        Kind::Xhtml => true,
        _ => return plain(page, own),
    };
    let body = body.get(..parse::MAX_INPUT).unwrap_or(&body);
    let (source, _) = charset::decode(body, content_type, url.host());
    // The parser is not ours and asserts its own invariants.
    let read = || pieces::read(&parse::parse(&source, xhtml), url, options);
    match catch_unwind(AssertUnwindSafe(read)) {
        // A page of frames is read otherwise.
        Ok(found) if found.text == page.text => render::render(&found, own),
        _ => plain(page, own),
    }
}

/// Lines without structure.
fn plain(page: &Page, own: &[Span]) -> String {
    // A line of plain text is a line, one of anything else a block.
    let gap = if matches!(page.kind, PageKind::Text | PageKind::Pdf) { "\n" } else { "\n\n" };
    let lines = own.iter().flat_map(|span| span.of(&page.text).lines());
    let lines = lines.map(|line| escape::start_of_line(&escape::text(line.trim())));
    lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join(gap)
}

#[cfg(test)]
mod tests;
