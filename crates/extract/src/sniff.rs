//! What kind of thing the bytes are: the declared type first, the bytes where it says too little.

use crate::office::OLD_CONTAINER;
use memchr::memmem;
use std::borrow::Cow;
use std::io::Read;
use types::{Format, PageKind, Url};

/// What the bytes of an answer are, by the server's word and their beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// HTML, by the rules of browsers.
    Html,
    /// Markup by XML's rules: `<script/>` is closed, CDATA is text.
    Xhtml,
    /// Plain text.
    Text,
    /// Text that its type or its name calls Markdown.
    Markdown,
    /// Begins with `%PDF-`, or the server says so.
    Pdf,
    /// A ZIP file that holds a document: of Word, Excel, PowerPoint or OpenDocument, or a book.
    Office,
    /// Begins with `{\\rtf`.
    Rtf,
    /// A list of URLs for crawlers, or a list of such lists.
    Sitemap,
    /// RSS or Atom.
    Feed,
    /// Nothing we can read.
    Opaque,
}

impl Kind {
    /// Is it read by a library that was made for files one trusts? Nothing bounds the time and memory it
    /// takes, so a crawler reads it in a process of its own.
    pub fn is_document(self) -> bool {
        matches!(self, Kind::Pdf | Kind::Office | Kind::Rtf | Kind::Markdown)
    }
}

/// Most that a compressed body may unfold to.
pub const MAX_UNZIPPED: u64 = 64 << 20;
/// How much is looked at.
const LOOK: usize = 2_048;

/// The kind of an answer, from its first bytes, its `Content-Type` and the name in its URL.
pub fn sniff(url: &Url, content_type: Option<&str>, body: &[u8]) -> Kind {
    if is_gzip(body) {
        return sniff_plain(url, inner_type(content_type), &unzip(body, LOOK as u64));
    }
    sniff_plain(url, content_type, body)
}

/// The body, unzipped if it is a gzip file (sitemaps often are), and the type that then holds.
pub fn unzipped<'a, 't>(content_type: Option<&'t str>, body: &'a [u8]) -> (Option<&'t str>, Cow<'a, [u8]>) {
    if is_gzip(body) {
        return (inner_type(content_type), Cow::Owned(unzip(body, MAX_UNZIPPED)));
    }
    (content_type, Cow::Borrowed(body))
}

fn is_gzip(body: &[u8]) -> bool {
    body.starts_with(&[0x1f, 0x8b, 0x08])
}

/// The declared type of a gzip file says nothing about what is in it.
fn inner_type(content_type: Option<&str>) -> Option<&str> {
    content_type.filter(|t| !media_type(t).contains("zip") && media_type(t) != "application/octet-stream")
}

fn unzip(body: &[u8], limit: u64) -> Vec<u8> {
    let mut out = Vec::new();
    // What could be read before an error is kept: a poorer page.
    let _ = flate2::read::MultiGzDecoder::new(body).take(limit).read_to_end(&mut out);
    out
}

fn media_type(content_type: &str) -> String {
    content_type.split(';').next().unwrap_or("").trim().to_ascii_lowercase()
}

fn sniff_plain(url: &Url, content_type: Option<&str>, body: &[u8]) -> Kind {
    let media = content_type.map(media_type).unwrap_or_default();
    let head = body.get(..LOOK).unwrap_or(body);
    if head.starts_with(b"%PDF-") {
        return Kind::Pdf;
    }
    if head.starts_with(b"{\\rtf") {
        return Kind::Rtf;
    }
    if head.starts_with(b"PK\x03\x04") {
        return if is_office(body) { Kind::Office } else { Kind::Opaque };
    }
    let named = || Format::of_path(url.path()).map(|f| f.kind);
    match media.as_str() {
        // Sitemaps and feeds are often served as HTML; an XML declaration is asked what it declares.
        "text/html" => match xml_root(head) {
            Some(kind @ (Kind::Sitemap | Kind::Feed)) => kind,
            _ => Kind::Html,
        },
        "application/xhtml+xml" => Kind::Xhtml,
        "application/rss+xml" | "application/atom+xml" | "application/rdf+xml" => Kind::Feed,
        "text/xml" | "application/xml" => xml_root(head).unwrap_or(Kind::Opaque),
        "application/pdf" | "application/x-pdf" => Kind::Pdf,
        "text/plain" | "text/x-rst" | "text/rtf" | "text/x-tex" => match text(head) {
            Kind::Text if named() == Some(PageKind::Markdown) => Kind::Markdown,
            kind => kind,
        },
        "text/markdown" | "text/x-markdown" => match text(head) {
            Kind::Text => Kind::Markdown,
            kind => kind,
        },
        "" | "*/*" | "unknown/unknown" | "application/unknown" => unknown(head),
        // "Some bytes": a page under a wrong name is known by its markup. What is only text (notebooks,
        // sources, data) was not meant to be read as a page, unless its name says so.
        "application/octet-stream" => match (unknown(head), named()) {
            (Kind::Text, Some(PageKind::Markdown)) => Kind::Markdown,
            (Kind::Text, Some(PageKind::Text)) => Kind::Text,
            (Kind::Text, _) => Kind::Opaque,
            (kind, _) => kind,
        },
        // With a password, Word and its like make something else of their files.
        _ if head.starts_with(OLD_CONTAINER) && Format::of_media_type(&media).is_some() => Kind::Office,
        _ => Kind::Opaque,
    }
}

/// Is there a part in this ZIP file that only documents have? Names are not compressed.
fn is_office(body: &[u8]) -> bool {
    let parts: [&[u8]; 4] = [
        b"[Content_Types].xml",
        b"META-INF/container.xml",
        b"META-INF/manifest.xml",
        b"mimetypeapplication/",
    ];
    parts.iter().any(|part| memmem::find(body, part).is_some())
}

/// No usable type: markup, XML, text, or something else.
fn unknown(head: &[u8]) -> Kind {
    if let Some(kind) = xml_root(head) {
        return kind;
    }
    let text_head = skip_bom_and_space(head);
    const TAGS: [&[u8]; 17] = [
        b"<!doctype html",
        b"<html",
        b"<head",
        b"<script",
        b"<iframe",
        b"<h1",
        b"<div",
        b"<font",
        b"<table",
        b"<a",
        b"<style",
        b"<title",
        b"<b",
        b"<body",
        b"<br",
        b"<p",
        b"<!--",
    ];
    let looks_like = |tag: &&[u8]| {
        text_head.get(..tag.len()).is_some_and(|h| h.eq_ignore_ascii_case(tag))
            && (**tag == *b"<!--"
                || text_head.get(tag.len()).is_none_or(|b| b.is_ascii_whitespace() || *b == b'>'))
    };
    if TAGS.iter().any(looks_like) { Kind::Html } else { text(head) }
}

/// Text, a list of URLs (a sitemap), or binary data under a wrong name.
fn text(head: &[u8]) -> Kind {
    let utf16 = head.starts_with(&[0xff, 0xfe]) || head.starts_with(&[0xfe, 0xff]);
    let binary = |b: &u8| matches!(b, 0..=8 | 0x0b | 0x0e..=0x1a | 0x1c..=0x1f);
    if !utf16 && head.iter().any(binary) {
        return Kind::Opaque;
    }
    let mut lines = 0;
    let mut all = head.split(|&b| b == b'\n').peekable();
    while let Some(line) = all.next() {
        let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line).trim_ascii();
        if line.is_empty() {
            continue;
        }
        let last = all.peek().is_none();
        let url = line.starts_with(b"http://") || line.starts_with(b"https://");
        if !url || line.iter().any(|b| b.is_ascii_whitespace()) {
            // The last line may be cut off.
            if last && head.len() == LOOK && lines >= 2 {
                break;
            }
            return Kind::Text;
        }
        lines += 1;
    }
    if lines >= 2 { Kind::Sitemap } else { Kind::Text }
}

fn skip_bom_and_space(head: &[u8]) -> &[u8] {
    head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start()
}

/// What the root element says. `None` when this is not XML.
fn xml_root(head: &[u8]) -> Option<Kind> {
    let mut rest = skip_bom_and_space(head);
    let declared = rest.starts_with(b"<?xml");
    loop {
        rest = rest.trim_ascii_start();
        let end: &[u8] = match rest {
            [b'<', b'?', ..] => b"?>",
            [b'<', b'!', b'-', b'-', ..] => b"-->",
            [b'<', b'!', ..] => b">",
            _ => break,
        };
        let Some(at) = rest.windows(end.len()).position(|w| w == end) else { break };
        rest = rest.get(at + end.len()..)?;
    }
    let name = rest.strip_prefix(b"<")?;
    let end = name.iter().position(|b| !(b.is_ascii_alphanumeric() || matches!(b, b':' | b'-' | b'_')))?;
    let name = name.get(..end)?;
    let local = name.rsplit(|&b| b == b':').next().unwrap_or(name);
    match local {
        b"urlset" | b"sitemapindex" => Some(Kind::Sitemap),
        b"rss" | b"feed" | b"RDF" => Some(Kind::Feed),
        _ if declared && local.eq_ignore_ascii_case(b"html") => Some(Kind::Xhtml),
        _ if declared => Some(Kind::Opaque),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        types::Canon::default().parse(text).unwrap()
    }

    #[test]
    fn by_name() {
        for (name, content_type, kind) in [
            ("http://a.org/README.md", "text/plain", Kind::Markdown),
            ("http://a.org/README.md", "application/octet-stream", Kind::Markdown),
            ("http://a.org/notes.TXT", "application/octet-stream", Kind::Text),
            ("http://a.org/data.ipynb", "application/octet-stream", Kind::Opaque),
            ("http://a.org/README.md", "text/html", Kind::Html),
        ] {
            assert_eq!(sniff(&url(name), Some(content_type), b"# words"), kind, "{name} {content_type}");
        }
    }

    #[test]
    fn by_type_and_by_bytes() {
        let urlset = "<?xml version='1.0'?><!-- made --><urlset xmlns='x'>";
        let table: [(Option<&str>, &[u8], Kind); 32] = [
            (Some("text/html; charset=x"), b"hello", Kind::Html),
            (Some("TEXT/HTML"), b"", Kind::Html),
            (Some("application/xhtml+xml"), b"<html/>", Kind::Xhtml),
            (Some("text/html"), urlset.as_bytes(), Kind::Sitemap),
            (Some("text/html"), b"<?xml version='1.0'?><!DOCTYPE html><html>", Kind::Html),
            (Some("application/xml"), urlset.as_bytes(), Kind::Sitemap),
            (Some("text/xml"), b"<rss version='2.0'>", Kind::Feed),
            (Some("text/xml"), b"<?xml version='1.0'?><rdf:RDF>", Kind::Feed),
            (Some("text/xml"), b"<?xml version='1.0'?><html xmlns='x'>", Kind::Xhtml),
            (Some("text/xml"), b"<?xml version='1.0'?><note>", Kind::Opaque),
            (Some("text/plain"), b"just text", Kind::Text),
            (Some("text/plain"), b"http://a/\nhttp://b/\n", Kind::Sitemap),
            (Some("text/plain"), b"http://a/\nand more\n", Kind::Text),
            (Some("text/plain"), b"\0\x01\x02", Kind::Opaque),
            (Some("text/css"), b"a{}", Kind::Opaque),
            (Some("image/png"), b"<html>", Kind::Opaque),
            (Some("application/pdf"), b"garbage", Kind::Pdf),
            (Some("application/octet-stream"), b"%PDF-1.4", Kind::Pdf),
            (Some("text/markdown"), b"# x", Kind::Markdown),
            (Some("application/msword"), b"{\\rtf1 x}", Kind::Rtf),
            (Some("application/zip"), b"PK\x03\x04 mimetypeapplication/epub+zip", Kind::Office),
            (Some("application/zip"), b"PK\x03\x04 holiday.jpg", Kind::Opaque),
            (Some("application/vnd.oasis.opendocument.text"), b"holiday", Kind::Opaque),
            (Some("application/octet-stream"), b"<!doctype html><p>x", Kind::Html),
            (Some("application/octet-stream"), b"{ \"cells\": [] }", Kind::Opaque),
            (Some("application/octet-stream"), b"just text", Kind::Opaque),
            (None, b"\n <!DOCTYPE HTML>", Kind::Html),
            (None, b"<p>x", Kind::Html),
            (None, b"<pre>x", Kind::Text),
            (None, b"plain", Kind::Text),
            (None, b"\x89PNG\r\n\x1a\n\0\0", Kind::Opaque),
            (None, b"", Kind::Text),
        ];
        for (content_type, body, kind) in table {
            assert_eq!(
                sniff(&url("http://a.org/x"), content_type, body),
                kind,
                "{content_type:?} {:?}",
                String::from_utf8_lossy(body)
            );
        }
    }
}
