//! PDF → [`Page`], through a library.

use crate::Options;
#[cfg(feature = "pdf")]
use crate::plain;
#[cfg(feature = "pdf")]
use types::{About, Link, LinkKind, NoText, Region, Rel, Span};
use types::{Page, PageKind, Url};

/// A page in a body that is a PDF. Without the `pdf` feature: the kind, and nothing else.
#[cfg(not(feature = "pdf"))]
pub fn pdf(_url: &Url, _body: &[u8], _options: &Options, page: Page) -> Page {
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

/// A file with fewer characters for each page than this, whose pages show pictures, is scanned.
#[cfg(feature = "pdf")]
const SCANNED: usize = 20;
#[cfg(feature = "pdf")]
const MAX_LINKS: usize = 2_000;

#[cfg(feature = "pdf")]
pub fn pdf(url: &Url, body: &[u8], options: &Options, page: Page) -> Page {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    let mut page = Page { kind: PageKind::Pdf, ..page };
    if body.len() > MAX_FILE {
        page.cut = true;
        return page;
    }
    // The library may meet a file its authors did not think of.
    let read = catch_unwind(AssertUnwindSafe(|| read(body, options.max_text)));
    let Ok(Ok(document)) = read else {
        page.no_text = matches!(read, Ok(Err(Broken::Encrypted))).then_some(NoText::Encrypted);
        page.cut = true;
        return page;
    };
    page.title = document.title;
    page.about = document.about;
    page.cut |= document.cut;
    page.no_text = document.scanned.then_some(NoText::Scanned);
    let mut page = plain::from_text(&document.text, options, page);
    add_links(url, &document.links, options, &mut page);
    page
}

/// Links of a PDF lie over its pages: which words are below is not known.
#[cfg(feature = "pdf")]
fn add_links(url: &Url, targets: &[String], options: &Options, page: &mut Page) {
    page.paths.push("pdf>a".into());
    for target in targets.iter().take(options.max_links) {
        let Ok(target) = options.join(url, target) else { continue };
        if page.links.iter().any(|l| l.url == target) {
            continue;
        }
        page.links.push(Link {
            url: target,
            kind: LinkKind::Anchor,
            anchor: Span::default(),
            label: "".into(),
            rel: Rel { nofollow: page.robots.nofollow, ..Rel::default() },
            region: Region::Body,
            context: Span::default(),
            heading: None,
            path: 0,
            first_leaf: 0,
            last_leaf: 0,
        });
    }
}

#[cfg(feature = "pdf")]
struct Document {
    title: String,
    about: About,
    text: String,
    links: Vec<String>,
    scanned: bool,
    cut: bool,
}

#[cfg(feature = "pdf")]
enum Broken {
    /// It opens with a password only.
    Encrypted,
    /// Nothing can be made of it.
    Damaged,
}

#[cfg(feature = "pdf")]
fn read(body: &[u8], max_text: usize) -> Result<Document, Broken> {
    let options = lopdf::LoadOptions { max_decompressed_size: Some(MAX_STREAM), ..Default::default() };
    let document = lopdf::Document::load_mem_with_options(body, options).map_err(|e| match e {
        lopdf::Error::Decryption(_)
        | lopdf::Error::InvalidPassword
        | lopdf::Error::UnsupportedSecurityHandler(_) => Broken::Encrypted,
        _ => Broken::Damaged,
    })?;
    // Files that only forbid to print or copy open without a password; the library has done so.
    if document.is_encrypted() && !document.was_encrypted() {
        return Err(Broken::Encrypted);
    }
    let pages = document.get_pages();
    let mut out = Document {
        title: info(&document, b"Title", 1_000),
        about: about(&document),
        text: String::new(),
        links: Vec::new(),
        scanned: false,
        cut: pages.len() > MAX_PAGES,
    };
    let mut room = MAX_CONTENT;
    let mut pictures = 0;
    for &id in pages.values().take(MAX_PAGES) {
        links(&document, id, &mut out.links);
        let Ok(content) = document.get_page_content_with_limit(id, MAX_STREAM.min(room)) else {
            out.cut = true;
            continue;
        };
        room = room.saturating_sub(content.len());
        pictures += usize::from(shows_picture(&document, id));
        out.cut |= crate::pdf_text::page(&document, id, &content, MAX_STREAM, &mut out.text).is_err();
        out.text.push('\n');
        if out.text.len() > max_text {
            out.cut = true;
            break;
        }
    }
    let letters = out.text.chars().filter(|c| c.is_alphanumeric()).take(SCANNED * MAX_PAGES).count();
    let read = pages.len().min(MAX_PAGES);
    out.scanned = read > 0 && letters < SCANNED * read && pictures * 2 >= read;
    Ok(out)
}

/// A text of the document's own description.
#[cfg(feature = "pdf")]
fn info(document: &lopdf::Document, key: &[u8], limit: usize) -> String {
    let info = document.trailer.get(b"Info").and_then(|info| document.dereference(info));
    let value = info.and_then(|(_, info)| info.as_dict()).and_then(|info| info.get(key));
    let value =
        value.and_then(|value| document.dereference(value)).and_then(|(_, v)| lopdf::decode_text_string(v));
    value.map(|text| crate::text::collapsed(&text, limit)).unwrap_or_default()
}

#[cfg(feature = "pdf")]
fn about(document: &lopdf::Document) -> About {
    let author = info(document, b"Author", 500);
    let authors = author.split([';', ',']).map(str::trim).filter(|name| !name.is_empty());
    About {
        authors: authors.map(String::from).collect(),
        published: crate::meta::date(&info(document, b"CreationDate", 40)),
        modified: crate::meta::date(&info(document, b"ModDate", 40)),
        ..About::default()
    }
}

#[cfg(feature = "pdf")]
fn links(document: &lopdf::Document, page: lopdf::ObjectId, links: &mut Vec<String>) {
    let Ok(annotations) = document.get_page_annotations(page) else { return };
    for annotation in annotations {
        let action = document.get_dict_in_dict(annotation, b"A");
        let target = action.and_then(|a| a.get(b"URI")).and_then(|uri| document.dereference(uri));
        let Ok((_, lopdf::Object::String(target, _))) = target else { continue };
        let target = String::from_utf8_lossy(target).trim().to_string();
        let web = target.starts_with("http://") || target.starts_with("https://");
        if web && links.len() < MAX_LINKS {
            links.push(target);
        }
    }
}

/// Is there a picture among what the page may show?
#[cfg(feature = "pdf")]
fn shows_picture(document: &lopdf::Document, page: lopdf::ObjectId) -> bool {
    let Ok((direct, inherited)) = document.get_page_resources(page) else { return false };
    let inherited = inherited.into_iter().filter_map(|id| document.get_dictionary(id).ok());
    direct.into_iter().chain(inherited).any(|resources| {
        let Ok(objects) = document.get_dict_in_dict(resources, b"XObject") else { return false };
        objects.iter().take(100).any(|(_, object)| {
            let stream = document.dereference(object).and_then(|(_, o)| o.as_stream());
            stream.is_ok_and(|s| {
                s.dict.get(b"Subtype").and_then(lopdf::Object::as_name).is_ok_and(|n| n == b"Image")
            })
        })
    })
}
