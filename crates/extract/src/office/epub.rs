//! Electronic books: the chapters in the order of the spine.

use super::markup::{Html, Piece, Skip, pieces};
use super::{Properties, Source, beside};
use std::collections::HashMap;

const MAX_CHAPTERS: usize = 2_000;

/// What is read of a book.
pub struct Book {
    pub properties: Properties,
    pub whole: bool,
    /// Chapters cannot be read without the seller's key.
    pub encrypted: bool,
}

pub fn read(source: &Source, out: &mut Html) -> Option<Book> {
    let container = source.text("META-INF/container.xml")?;
    let mut package = None;
    pieces(&container, |piece| {
        if let Piece::Open("rootfile", tag) = piece {
            package = tag.get("full-path");
        }
        package.is_none()
    });
    let package = package?;
    let xml = source.text(&package)?;
    let mut items: HashMap<String, String> = HashMap::new();
    let mut spine: Vec<String> = Vec::new();
    let mut whole = pieces(&xml, |piece| {
        match piece {
            Piece::Open("item", tag) if items.len() < 10 * MAX_CHAPTERS => {
                if let (Some(id), Some(href)) = (tag.get("id"), tag.get("href")) {
                    items.insert(id, beside(&package, &href));
                }
            }
            Piece::Open("itemref", tag) => spine.extend(tag.get("idref")),
            _ => {}
        }
        spine.len() < MAX_CHAPTERS
    });
    let locked = source.text("META-INF/encryption.xml").unwrap_or_default();
    let mut encrypted = false;
    for part in spine.iter().filter_map(|id| items.get(id)) {
        // Fonts are often made unreadable, which is no matter; chapters are by sellers.
        if !locked.is_empty() && locked.contains(part.as_str()) {
            encrypted = true;
            continue;
        }
        match source.text(part) {
            Some(xml) => whole &= chapter(&xml, out),
            None => whole = false,
        }
        if out.full {
            break;
        }
    }
    Some(Book { properties: Properties::read(&xml), whole: whole && !out.full, encrypted })
}

/// Elements that are written as they are.
const KEPT: [&str; 31] = [
    "p",
    "div",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "ul",
    "ol",
    "li",
    "dl",
    "dt",
    "dd",
    "table",
    "tr",
    "td",
    "th",
    "caption",
    "blockquote",
    "pre",
    "section",
    "article",
    "aside",
    "nav",
    "figure",
    "figcaption",
    "em",
    "strong",
    "code",
    "span",
];

fn chapter(xml: &str, out: &mut Html) -> bool {
    let mut skip = Skip::default();
    let mut in_body = false;
    pieces(xml, |piece| {
        if skip.skips(&piece, |name, _| matches!(name, "script" | "style" | "head" | "svg" | "rt" | "rp")) {
            return true;
        }
        match piece {
            Piece::Open("body", _) => in_body = true,
            Piece::Open("a", tag) => out.open_link(tag.get("href").as_deref()),
            Piece::Close("a") => out.close_link(),
            Piece::Open("br", _) => out.markup("<br>"),
            Piece::Open(name, _) if KEPT.contains(&name) => out.markup(&format!("<{name}>")),
            Piece::Close(name) if KEPT.contains(&name) => out.markup(&format!("</{name}>")),
            Piece::Text(text) if in_body => out.text(text),
            _ => {}
        }
        !out.full
    })
}
