//! Which answers we want, from what they say they are and, where that says nothing, from their first bytes.

use crate::decode::{Coding, decode};

/// What the first bytes look like (after the WHATWG MIME Sniffing Standard, reduced to what a crawler of text
/// needs).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sniffed {
    Html,
    Xml,
    Pdf,
    Gzip,
    /// A ZIP file that begins as documents do.
    Office,
    Text,
    Binary,
}

impl Sniffed {
    fn media_type(self) -> &'static str {
        match self {
            Sniffed::Html => "text/html",
            Sniffed::Xml => "application/xml",
            Sniffed::Pdf => "application/pdf",
            Sniffed::Gzip => "application/gzip",
            Sniffed::Office => "application/zip",
            Sniffed::Text => "text/plain",
            Sniffed::Binary => "application/octet-stream",
        }
    }
}

/// How many decoded bytes are looked at.
const LOOK: usize = 512;
/// How many wire bytes must have come before looking (or the end of the body): enough to decode [`LOOK`] of.
pub const ENOUGH: usize = 1024;

pub fn sniff(bytes: &[u8]) -> Sniffed {
    let bytes = bytes.get(..LOOK).unwrap_or(bytes);
    if bytes.starts_with(&[0x1f, 0x8b]) {
        return Sniffed::Gzip;
    }
    if bytes.starts_with(b"PK\x03\x04") && begins_as_document(bytes) {
        return Sniffed::Office;
    }
    // UTF-16 text is full of zero bytes, but it says what it is.
    if bytes.starts_with(&[0xfe, 0xff]) || bytes.starts_with(&[0xff, 0xfe]) {
        return Sniffed::Text;
    }
    let body = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).trim_ascii_start();
    if body.starts_with(b"%PDF-") {
        return Sniffed::Pdf;
    }
    if body.starts_with(b"<?xml") {
        // XHTML is served like this too: the root element tells, when it is in sight.
        let is_html = find(body, b"<html").is_some() || find(body, b"<!doctype html").is_some();
        return if is_html { Sniffed::Html } else { Sniffed::Xml };
    }
    const XML: [&[u8]; 5] = [b"<rss", b"<feed", b"<urlset", b"<sitemapindex", b"<rdf:rdf"];
    if XML.iter().any(|tag| starts_with(body, tag)) {
        return Sniffed::Xml;
    }
    const HTML: [&[u8]; 19] = [
        b"<!doctype html",
        b"<html",
        b"<head",
        b"<script",
        b"<iframe",
        b"<h1",
        b"<div",
        b"<font",
        b"<table",
        b"<a ",
        b"<style",
        b"<title",
        b"<b>",
        b"<body",
        b"<br",
        b"<p",
        b"<!--",
        b"<meta",
        b"<link",
    ];
    if HTML.iter().any(|tag| starts_with(body, tag)) {
        return Sniffed::Html;
    }
    // "Binary data byte" of the standard: control characters that no text encoding for the web uses.
    let binary = |b: &u8| matches!(b, 0x00..=0x08 | 0x0b | 0x0e..=0x1a | 0x1c..=0x1f);
    if bytes.iter().any(binary) { Sniffed::Binary } else { Sniffed::Text }
}

/// Is the first part of this ZIP file one that documents begin with? Other archives do not.
fn begins_as_document(bytes: &[u8]) -> bool {
    const FIRST: [&[u8]; 9] = [
        b"mimetypeapplication/epub",
        b"mimetypeapplication/vnd.oasis.opendocument",
        b"[Content_Types].xml",
        b"_rels/",
        b"docProps/",
        b"customXml/",
        b"word/",
        b"ppt/",
        b"xl/",
    ];
    let name = bytes.get(30..).unwrap_or_default();
    FIRST.iter().any(|first| name.starts_with(first))
}

fn starts_with(bytes: &[u8], tag: &[u8]) -> bool {
    bytes.get(..tag.len()).is_some_and(|start| start.eq_ignore_ascii_case(tag))
}

fn find(bytes: &[u8], tag: &[u8]) -> Option<usize> {
    bytes.windows(tag.len()).position(|w| w.eq_ignore_ascii_case(tag))
}

/// What the headers alone decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    Wanted,
    Unwanted,
    /// The first bytes have to be looked at.
    Look,
}

/// The media types a crawl wants.
#[derive(Clone, Debug)]
pub struct WantedTypes(Vec<String>);

impl WantedTypes {
    pub fn new(types: &[String]) -> WantedTypes {
        WantedTypes(types.iter().map(|t| t.trim().to_ascii_lowercase()).collect())
    }

    fn has(&self, media_type: &str) -> bool {
        let kind = media_type.split('/').next().unwrap_or("");
        self.0.iter().any(|w| {
            w == media_type
                || w == "*/*"
                || w.strip_suffix("/*").is_some_and(|k| k == kind)
                || (w == "application/xml" && media_type.ends_with("+xml") && media_type != "image/svg+xml")
        })
    }

    /// Is any document wanted that is a ZIP file?
    fn has_office(&self) -> bool {
        self.0.iter().any(|w| {
            w.starts_with("application/vnd.openxmlformats")
                || w.starts_with("application/vnd.oasis")
                || w == "application/epub+zip"
                || w == "*/*"
        })
    }

    /// `media_type` is lower-case and without parameters.
    pub fn check(&self, media_type: &str) -> Check {
        match media_type {
            "application/octet-stream"
            | "binary/octet-stream"
            | "application/unknown"
            | "unknown/unknown"
            | "*/*" => Check::Look,
            t if !t.contains('/') => Check::Look,
            // Servers call anything text/plain that they do not know: binary bytes say otherwise.
            "text/plain" if self.has("text/plain") => Check::Look,
            // Documents are ZIP files; so is much else.
            "application/zip" | "application/x-zip-compressed" if self.has_office() => Check::Look,
            // Compressed sitemaps are files of this type; so are software archives.
            "application/gzip" | "application/x-gzip" if self.has("application/gzip") => Check::Look,
            t if self.has(t) => Check::Wanted,
            _ => Check::Unwanted,
        }
    }

    /// The verdict of the first bytes: the type they look like when it is not wanted.
    pub fn look(&self, codings: &[Coding], wire: &[u8]) -> Result<(), &'static str> {
        let decoded = decode(codings, wire, LOOK).bytes;
        let bytes = decoded.as_deref().unwrap_or(wire);
        let mut seen = sniff(bytes);
        if seen == Sniffed::Gzip && self.has("application/gzip") {
            let inside = decode(&[Coding::Gzip], bytes, LOOK).bytes.unwrap_or_default();
            seen = match sniff(&inside) {
                // Only documents; a compressed archive, PDF or another layer is not a page.
                s @ (Sniffed::Html | Sniffed::Xml | Sniffed::Text) => s,
                _ => Sniffed::Binary,
            };
        }
        if seen == Sniffed::Office && self.has_office() {
            return Ok(());
        }
        if seen != Sniffed::Binary && self.has(seen.media_type()) { Ok(()) } else { Err(seen.media_type()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted() -> WantedTypes {
        WantedTypes::new(&crate::Settings::default().accept)
    }

    #[test]
    fn declared_types() {
        let table = [
            ("text/html", Check::Wanted),
            ("application/xhtml+xml", Check::Wanted),
            ("application/pdf", Check::Wanted),
            ("text/xml", Check::Wanted),
            ("application/xml", Check::Wanted),
            ("application/rss+xml", Check::Wanted),
            ("application/atom+xml", Check::Wanted),
            ("application/rdf+xml", Check::Wanted),
            ("text/plain", Check::Look),
            ("", Check::Look),
            ("html", Check::Look),
            ("application/octet-stream", Check::Look),
            ("application/x-gzip", Check::Look),
            ("image/png", Check::Unwanted),
            ("image/svg+xml", Check::Unwanted),
            ("video/mp4", Check::Unwanted),
            ("application/json", Check::Unwanted),
            ("application/zip", Check::Look),
            ("application/epub+zip", Check::Wanted),
            ("application/msword", Check::Unwanted),
            ("text/css", Check::Unwanted),
            ("text/javascript", Check::Unwanted),
        ];
        for (media_type, check) in table {
            assert_eq!(wanted().check(media_type), check, "{media_type}");
        }
        assert_eq!(WantedTypes::new(&["text/*".into()]).check("text/css"), Check::Wanted);
        assert_eq!(WantedTypes::new(&["*/*".into()]).check("video/mp4"), Check::Wanted);
        assert_eq!(WantedTypes::new(&["text/html".into()]).check("text/plain"), Check::Unwanted);
        assert_eq!(WantedTypes::new(&["text/html".into()]).check("application/zip"), Check::Unwanted);
    }

    #[test]
    fn first_bytes() {
        let table: [(&[u8], Sniffed); 22] = [
            (b"<!DOCTYPE html><html>", Sniffed::Html),
            (b"\xef\xbb\xbf \r\n<HTML lang=en>", Sniffed::Html),
            (b"<!-- saved from --><html>", Sniffed::Html),
            (b"<?xml version=\"1.0\"?>\n<!DOCTYPE html PUBLIC \"-//W3C//DTD XHTML 1.0\">", Sniffed::Html),
            (b"<?xml version=\"1.0\"?><urlset>", Sniffed::Xml),
            (b"<rss version=\"2.0\">", Sniffed::Xml),
            (b"%PDF-1.7\n\x00\x01", Sniffed::Pdf),
            (b"\x1f\x8b\x08\x00", Sniffed::Gzip),
            (b"just words", Sniffed::Text),
            (b"", Sniffed::Text),
            (b"caf\xe9 latin-1", Sniffed::Text),
            (b"\xff\xfeh\x00i\x00", Sniffed::Text),
            (b"esc \x1b[0m", Sniffed::Text),
            (b"\x89PNG\r\n\x1a\n\x00\x00", Sniffed::Binary),
            (b"GIF89a\x01\x00", Sniffed::Binary),
            (b"PK\x03\x04\x14\x00", Sniffed::Binary),
            (b"PK\x03\x04\x14\x00\x06\x00\x08\x00____________________[Content_Types].xml", Sniffed::Office),
            (b"PK\x03\x04\x14\x00\x06\x00\x08\x00____________________holiday.jpg", Sniffed::Binary),
            (b"\x00\x00\x00\x18ftypmp42", Sniffed::Binary),
            (b"\x7fELF\x02\x01\x01\x00", Sniffed::Binary),
            (b"\xff\xd8\xff\xe0\x00\x10JFIF", Sniffed::Binary),
            (b"ustar\x0000", Sniffed::Binary),
        ];
        for (bytes, kind) in table {
            assert_eq!(sniff(bytes), kind, "{:?}", String::from_utf8_lossy(bytes));
        }
    }

    #[test]
    fn looking_through_compression() {
        use std::io::Write;
        let gzip = |data: &[u8]| {
            let mut e = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
            e.write_all(data).unwrap();
            e.finish().unwrap()
        };
        let w = wanted();
        assert_eq!(w.look(&[Coding::Gzip], &gzip(b"<html>")), Ok(()));
        assert_eq!(w.look(&[Coding::Gzip], &gzip(b"\x89PNG\x00")), Err("application/octet-stream"));
        assert_eq!(w.look(&[], &gzip(b"<?xml version='1.0'?><urlset/>")), Ok(()));
        assert_eq!(w.look(&[], &gzip(b"name.txt\x00\x00\x00\x00ustar")), Err("application/octet-stream"));
        assert_eq!(w.look(&[], &gzip(&gzip(b"<html>"))), Err("application/octet-stream"));
        assert_eq!(WantedTypes::new(&["text/html".into()]).look(&[], b"words"), Err("text/plain"));
    }
}
