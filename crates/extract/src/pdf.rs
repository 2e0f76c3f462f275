//! PDF → [`Page`], through a library.

use crate::Options;
#[cfg(feature = "pdf")]
use crate::plain;
use types::{Page, PageKind};

/// A page in a body that is a PDF. Without the `pdf` feature: the kind, and nothing else.
#[cfg(not(feature = "pdf"))]
pub fn pdf(_body: &[u8], _options: &Options, page: Page) -> Page {
    Page { kind: PageKind::Pdf, cut: true, ..page }
}

/// Largest file that is read, pages of it, bytes any one of its streams may unfold to, and the contents of
/// all pages together (a thousand pages may share one huge stream).
#[cfg(feature = "pdf")]
const MAX_FILE: usize = 32 << 20;
#[cfg(feature = "pdf")]
const MAX_PAGES: usize = 500;
#[cfg(feature = "pdf")]
const MAX_STREAM: usize = 8 << 20;
#[cfg(feature = "pdf")]
const MAX_CONTENT: usize = 32 << 20;

#[cfg(feature = "pdf")]
pub fn pdf(body: &[u8], options: &Options, page: Page) -> Page {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    let mut page = Page { kind: PageKind::Pdf, ..page };
    if body.len() > MAX_FILE {
        page.cut = true;
        return page;
    }
    // The library may meet a file its authors did not think of.
    let read = catch_unwind(AssertUnwindSafe(|| read(body, options.max_text)));
    match read {
        Ok(Some(document)) => {
            page.title = document.title;
            page.cut |= document.cut;
            plain::from_text(&document.text, options, page)
        }
        _ => {
            page.cut = true;
            page
        }
    }
}

#[cfg(feature = "pdf")]
struct Document {
    title: String,
    text: String,
    cut: bool,
}

#[cfg(feature = "pdf")]
fn read(body: &[u8], max_text: usize) -> Option<Document> {
    let options = lopdf::LoadOptions { max_decompressed_size: Some(MAX_STREAM), ..Default::default() };
    let document = lopdf::Document::load_mem_with_options(body, options).ok()?;
    let title = document
        .trailer
        .get(b"Info")
        .and_then(|info| document.dereference(info))
        .and_then(|(_, info)| info.as_dict())
        .and_then(|info| info.get(b"Title"))
        .and_then(lopdf::decode_text_string)
        .map(|t| crate::text::collapsed(&t, 1_000))
        .unwrap_or_default();
    let pages = document.get_pages();
    let mut out = Document { title, text: String::new(), cut: pages.len() > MAX_PAGES };
    let mut room = MAX_CONTENT;
    for (&number, &id) in pages.iter().take(MAX_PAGES) {
        let Ok(content) = document.get_page_content_with_limit(id, MAX_STREAM.min(room)) else {
            out.cut = true;
            continue;
        };
        room = room.saturating_sub(content.len());
        for chunk in document.extract_text_chunks_with_limit(&[number], MAX_STREAM) {
            match chunk {
                Ok(text) => out.text.push_str(&text),
                Err(_) => out.cut = true,
            }
        }
        out.text.push('\n');
        if out.text.len() > max_text {
            out.cut = true;
            break;
        }
    }
    Some(out)
}
