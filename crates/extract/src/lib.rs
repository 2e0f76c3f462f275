//! Extraction: the bytes of an answer → a [`Page`].
//!
//! ```text
//!  bytes ─sniff─► kind ─charset─► text ─parse─► tree ─walk─► text, leaves, links ─finish─► Page
//! ```
//!
//! Pure: no network, no clock, no randomness; the same bytes give the same page on every machine. It never
//! fails: bad input gives a poorer page, and `page.cut` says when a guard stopped reading. Time and memory
//! are bounded by the size of the input, whatever is in it (see `parse.rs` for how); of a document
//! ([`Kind::is_document`]) they are not, which is why a crawler has it read in a process of its own.
//!
//! ```
//! use gleaner_extract::{Options, extract};
//! use types::Canon;
//! let url = Canon::default().parse("http://example.org/courses/").unwrap();
//! let html = b"<title>Courses</title><h1>Autumn</h1><p>See the <a href=db.html>database course</a>.";
//! let page = extract(&url, Some("text/html"), None, html, &Options::default());
//! assert_eq!(page.title, "Courses");
//! let link = &page.links[0];
//! assert_eq!(link.url.as_str(), "http://example.org/courses/db.html");
//! assert_eq!(page.anchor(link), "database course");
//! assert_eq!(page.context(link), "See the database course.");
//! assert_eq!(page.heading(link), "Autumn");
//! assert_eq!(page.path(link), "html>body>p>a");
//! ```

#![warn(missing_docs)]

mod about;
mod charset;
mod class;
mod context;
#[doc(hidden)]
pub mod dom;
mod html;
mod language;
mod markdown;
mod meta;
mod names;
mod office;
#[doc(hidden)]
pub mod parse;
mod paths;
mod pdf;
#[cfg(feature = "pdf")]
mod pdf_names;
#[cfg(feature = "pdf")]
mod pdf_text;
mod plain;
mod quick;
mod rtf;
mod simhash;
mod sniff;
mod source;
mod text;
mod walk;
mod xml;

pub use markdown::markdown;
pub use sniff::{Kind, sniff};
use std::borrow::Cow;
use types::{Canon, Fetched, Formats, Page, PageKind, Url, UrlError};
pub use xml::sitemap_dates;

/// Changes whenever the same bytes may give another page, so that caches of pages know.
pub const VERSION: u32 = 5;

/// How much of a page is kept, and how its links are read.
#[derive(Clone, Debug)]
pub struct Options {
    /// How links are made canonical.
    pub canon: Canon,
    /// Most links of a page that are kept. Sitemaps may hold more.
    pub max_links: usize,
    /// Most bytes of text that are kept.
    pub max_text: usize,
    /// Guess the language when the markup does not say.
    pub detect_language: bool,
    /// Compute [`Page::simhash`].
    pub detect_simhash: bool,
    /// Documents that are read; others are opaque.
    pub documents: Formats,
    /// Links to routes of applications (`#/courses`) lead to pages of their own: in a document that a browser
    /// made, where such an address shows another page. Anywhere else they are places on a page.
    pub routes: bool,
}

impl Options {
    /// These, for what is read of that answer.
    pub fn for_answer(&self, answer: &Fetched) -> Cow<'_, Options> {
        match answer.rendered.is_some() && !self.routes {
            true => Cow::Owned(Options { routes: true, ..self.clone() }),
            false => Cow::Borrowed(self),
        }
    }

    /// Where a reference on a page leads.
    pub(crate) fn join(&self, base: &Url, href: &str) -> Result<Url, UrlError> {
        let url = self.canon.join(base, href)?;
        Ok(if self.routes || url.route().is_none() { url } else { url.without_route() })
    }
}

impl Default for Options {
    fn default() -> Options {
        Options {
            canon: Canon::default(),
            max_links: 2_000,
            max_text: 2 << 20,
            detect_language: true,
            detect_simhash: true,
            documents: Formats::all(),
            routes: false,
        }
    }
}

/// The two ways of reading HTML, before anything is computed from the text: for tests and benchmarks that
/// compare them.
#[doc(hidden)]
pub mod ways {
    use super::{Options, parse, quick, walk};
    use types::{Page, Url};

    /// On the way through the source; the error says why it cannot be done.
    pub fn quick(text: &str, url: &Url, options: &Options) -> Result<Page, &'static str> {
        quick::page(text, url, options, Page::default()).map_err(|odd| odd.0)
    }
    /// With a tree.
    pub fn tree(text: &str, url: &Url, options: &Options) -> Page {
        walk::dom(&parse::parse(text, false), url, options, text.len(), Page::default())
    }
}

/// The page an answer brings. `body` is decoded (no content encoding); a gzip file in it is unpacked.
pub fn extract(
    url: &Url,
    content_type: Option<&str>,
    x_robots_tag: Option<&str>,
    body: &[u8],
    options: &Options,
) -> Page {
    extract_as(sniff(url, content_type, body), url, content_type, x_robots_tag, body, options)
}

/// As [`extract()`], when it is known already what [`sniff`] makes of the body.
pub fn extract_as(
    kind: Kind,
    url: &Url,
    content_type: Option<&str>,
    x_robots_tag: Option<&str>,
    body: &[u8],
    options: &Options,
) -> Page {
    let (content_type, body) = sniff::unzipped(content_type, body);
    let page = html::with_header(x_robots_tag);
    let page = match kind {
        Kind::Html => html::html(url, content_type, &body, false, options, page),
        Kind::Xhtml => html::html(url, content_type, &body, true, options, page),
        Kind::Text => plain::plain(url, content_type, &body, options, page),
        Kind::Markdown => plain::markdown(url, content_type, &body, options, page),
        Kind::Pdf => pdf::pdf(url, &body, options, page),
        Kind::Office => office::office(url, &body, options, page),
        Kind::Rtf => rtf::rtf(url, &body, options, page),
        Kind::Sitemap => xml::sitemap(url, content_type, &body, options, page),
        Kind::Feed => xml::feed(url, content_type, &body, options, page),
        Kind::Opaque => Page { kind: PageKind::Opaque, ..page },
    };
    if !options.documents.has(page.kind) {
        return Page { url: Some(url.clone()), kind: PageKind::Opaque, ..html::with_header(x_robots_tag) };
    }
    Page { url: Some(url.clone()), ..page }
}
