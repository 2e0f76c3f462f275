//! Office documents and books: ZIP files of XML → HTML → [`Page`].
//!
//! ```text
//!  zip ─► parts ─► word · slides · sheet · opendocument · epub ─► HTML ─► as any page
//! ```
//! What is unpacked, what is written and how much is looked at are bounded (`zip.rs`, `markup.rs`); nothing
//! recurses, and no entity that a file defines is looked up.

mod epub;
pub mod markup;
mod opendocument;
mod sheet;
mod slides;
pub mod word;
mod zip;

use crate::text::collapsed;
use crate::{Options, charset, html, meta, parse};
use markup::{Html, Piece, pieces};
use std::collections::HashMap;
use types::{NoText, Page, PageKind, Url};
use zip::Zip;

const MAX_TITLE: usize = 1_000;
const MAX_AUTHORS: usize = 50;
const MAX_NAME: usize = 200;
/// Relations of a part that are looked at.
const MAX_RELATIONS: usize = 50_000;
/// Markup for each byte of text that is kept, at most.
const MARKUP: usize = 4;

/// A page in a body that is a ZIP file. One that is no document is opaque.
pub fn office(url: &Url, body: &[u8], options: &Options, mut page: Page) -> Page {
    let source = Source { zip: Zip::open(body) };
    let mut out = Html::new(markup_limit(options));
    let Some(document) = source.read(&mut out) else {
        if is_encrypted_package(body) {
            return Page { kind: PageKind::Docx, no_text: Some(NoText::Encrypted), ..page };
        }
        return Page { kind: PageKind::Opaque, ..page };
    };
    page.kind = document.kind;
    page.cut |= !document.whole || out.full;
    if document.encrypted {
        page.no_text = Some(NoText::Encrypted);
    }
    document.properties.give(&mut page);
    from_markup(&out.finish(), url, options, page)
}

/// Markup that is enough for the text that is kept.
pub fn markup_limit(options: &Options) -> usize {
    options.max_text.saturating_mul(MARKUP).clamp(1 << 16, parse::MAX_INPUT / 2)
}

/// A page from the HTML that a document was rewritten as. What the document says of itself is in `page`.
pub fn from_markup(markup: &str, url: &Url, options: &Options, page: Page) -> Page {
    let (kind, title, language) = (page.kind, page.title.clone(), page.language.clone());
    let mut page = html::read_markup(markup, url, options, page);
    page.kind = kind;
    if !title.is_empty() {
        page.title = title;
    }
    if page.title.is_empty() {
        let heading = page.headings.iter().map(|h| h.span.of(&page.text)).find(|h| !h.is_empty());
        let line = heading.unwrap_or_else(|| page.text.lines().next().unwrap_or(""));
        page.title = collapsed(line, MAX_NAME);
    }
    if !language.is_empty() {
        page.language = language;
    }
    html::finish(&mut page, options);
    page
}

/// What Word, Excel and PowerPoint make of a document with a password: no ZIP file, but an older container
/// with one of this name (in UTF-16) in it.
fn is_encrypted_package(body: &[u8]) -> bool {
    const NAME: &[u8] = b"E\0n\0c\0r\0y\0p\0t\0e\0d\0P\0a\0c\0k\0a\0g\0e\0";
    body.starts_with(OLD_CONTAINER) && memchr::memmem::find(body, NAME).is_some()
}

/// First bytes of the container of Word, Excel and PowerPoint before 2007.
pub const OLD_CONTAINER: &[u8] = &[0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1];

/// The parts of a document.
pub struct Source<'a> {
    zip: Zip<'a>,
}

struct Document {
    kind: PageKind,
    properties: Properties,
    whole: bool,
    encrypted: bool,
}

impl Source<'_> {
    /// A part as text.
    pub fn text(&self, part: &str) -> Option<String> {
        let (bytes, _) = self.zip.read(part)?;
        Some(charset::decode(&bytes, Some("application/xml; charset=utf-8"), "").0.into_owned())
    }

    pub fn relations(&self, part: &str) -> Relations {
        let (folder, name) = part.rsplit_once('/').unwrap_or(("", part));
        let place = if folder.is_empty() {
            format!("_rels/{name}.rels")
        } else {
            format!("{folder}/_rels/{name}.rels")
        };
        Relations::read(part, &self.text(&place).unwrap_or_default())
    }

    /// Reads whatever it is.
    fn read(&self, out: &mut Html) -> Option<Document> {
        if self.zip.has("META-INF/container.xml") {
            let book = epub::read(self, out)?;
            let encrypted = book.encrypted;
            return Some(Document {
                kind: PageKind::Epub,
                properties: book.properties,
                whole: book.whole,
                encrypted,
            });
        }
        if self.zip.has("content.xml") {
            return self.opendocument(out);
        }
        let main = self.relations("").of_kind("officeDocument");
        let usual = ["word/document.xml", "ppt/presentation.xml", "xl/workbook.xml"];
        let main = main.or_else(|| usual.iter().find(|p| self.zip.has(p)).map(|p| p.to_string()))?;
        let (kind, read): (PageKind, fn(&Source, &str, &mut Html) -> bool) = match main.split('/').next()? {
            "word" => (PageKind::Docx, word::read),
            "ppt" => (PageKind::Pptx, slides::read),
            "xl" => (PageKind::Xlsx, sheet::read),
            _ => return None,
        };
        let encrypted = self.zip.is_encrypted(&main);
        let core = self.relations("").of_kind("core-properties");
        let core = core.unwrap_or_else(|| "docProps/core.xml".into());
        let properties = Properties::read(&self.text(&core).unwrap_or_default());
        let whole = read(self, &main, out);
        Some(Document { kind, properties, whole, encrypted })
    }

    fn opendocument(&self, out: &mut Html) -> Option<Document> {
        let manifest = self.text("META-INF/manifest.xml").unwrap_or_default();
        let properties = Properties::read(&self.text("meta.xml").unwrap_or_default());
        if manifest.contains("encryption-data") || self.zip.is_encrypted("content.xml") {
            let kind = match self.text("mimetype").unwrap_or_default() {
                m if m.contains("presentation") => PageKind::Odp,
                m if m.contains("spreadsheet") => PageKind::Ods,
                _ => PageKind::Odt,
            };
            return Some(Document { kind, properties, whole: true, encrypted: true });
        }
        let (kind, whole) = opendocument::read(self, out)?;
        Some(Document { kind, properties, whole, encrypted: false })
    }
}

/// What a part refers to.
pub struct Relations {
    part: String,
    /// Kind, target, and whether it is outside of the document; by number.
    all: HashMap<String, (String, String, bool)>,
}

impl Relations {
    fn read(part: &str, xml: &str) -> Relations {
        let mut all = HashMap::new();
        pieces(xml, |piece| {
            if let Piece::Open("Relationship", tag) = piece
                && let (Some(id), Some(kind), Some(target)) =
                    (tag.get("Id"), tag.get("Type"), tag.get("Target"))
            {
                all.insert(id, (kind, target, tag.is("TargetMode", "External")));
            }
            all.len() < MAX_RELATIONS
        });
        Relations { part: part.into(), all }
    }

    /// The address outside of the document.
    pub fn target(&self, id: &str) -> Option<String> {
        self.all.get(id).filter(|r| r.2).map(|r| r.1.clone())
    }

    /// The part of the document.
    pub fn part(&self, id: &str) -> Option<String> {
        self.all.get(id).filter(|r| !r.2).map(|r| beside(&self.part, &r.1))
    }

    /// The part of this kind; the first by name, should there be several.
    pub fn of_kind(&self, kind: &str) -> Option<String> {
        let is = |r: &&(String, String, bool)| !r.2 && r.0.rsplit('/').next() == Some(kind);
        self.all.values().filter(is).map(|r| beside(&self.part, &r.1)).min()
    }
}

/// The name of a part that another one refers to.
fn beside(part: &str, target: &str) -> String {
    let target = target.split('#').next().unwrap_or("");
    let folder = part.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut names: Vec<&str> = Vec::new();
    let inside = if target.starts_with('/') { "" } else { folder };
    for name in inside.split('/').chain(target.split('/')) {
        match name {
            "" | "." => {}
            ".." => drop(names.pop()),
            name => names.push(name),
        }
    }
    let name = names.join("/");
    // Books write their names as in addresses.
    if name.contains('%') { unquoted(&name) } else { name }
}

fn unquoted(name: &str) -> String {
    let mut bytes = Vec::with_capacity(name.len());
    let mut rest = name.as_bytes();
    while let [first, after @ ..] = rest {
        let hex = |b: Option<&u8>| b.and_then(|b| (*b as char).to_digit(16));
        rest = after;
        match (first, hex(after.first()), hex(after.get(1))) {
            (b'%', Some(high), Some(low)) => {
                bytes.push((high * 16 + low) as u8);
                rest = after.get(2..).unwrap_or_default();
            }
            _ => bytes.push(*first),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// What a document says of itself, in the words of Dublin Core, which all these formats use.
#[derive(Default)]
pub struct Properties {
    title: String,
    language: String,
    about: types::About,
}

impl Properties {
    fn read(xml: &str) -> Properties {
        let mut found = Properties::default();
        let mut value = String::new();
        let (mut creator, mut date) = (String::new(), String::new());
        pieces(xml, |piece| {
            match piece {
                Piece::Open("manifest" | "spine", _) => return false,
                Piece::Open(..) => value.clear(),
                Piece::Text(text) if value.len() < MAX_TITLE => value.push_str(text),
                Piece::Text(_) => {}
                Piece::Close(name) => {
                    let text = collapsed(&value, MAX_TITLE);
                    let about = &mut found.about;
                    match name {
                        "title" if found.title.is_empty() => found.title = text,
                        "language" if found.language.is_empty() => found.language = meta::language_tag(&text),
                        "creator" if about.authors.len() < MAX_AUTHORS && !text.is_empty() => {
                            about.authors.push(collapsed(&text, MAX_NAME));
                        }
                        "initial-creator" => creator = collapsed(&text, MAX_NAME),
                        "publisher" if about.publisher.is_empty() => {
                            about.publisher = collapsed(&text, MAX_NAME)
                        }
                        "created" | "creation-date" => about.published = meta::date(&text),
                        "date" if date.is_empty() => date = meta::date(&text),
                        "modified" => about.modified = meta::date(&text),
                        _ => {}
                    }
                    value.clear();
                }
            }
            true
        });
        // OpenDocument: `creator` is who saved it last, `date` when that was. In a book they are its own.
        if !creator.is_empty() {
            found.about.authors = vec![creator];
        }
        let about = &mut found.about;
        let unsaid = if about.published.is_empty() { &mut about.published } else { &mut about.modified };
        if unsaid.is_empty() {
            *unsaid = date;
        }
        found
    }

    fn give(self, page: &mut Page) {
        page.title = self.title;
        page.language = self.language;
        page.about = self.about;
    }
}
