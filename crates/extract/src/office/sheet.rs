//! Excel: the sheets of `xl/workbook.xml`, each a heading and a table.

use super::Source;
use super::markup::{Html, Piece, Skip, pieces};
use std::collections::HashMap;

const MAX_SHEETS: usize = 500;
/// Links of a sheet that are kept.
const MAX_LINKS: usize = 5_000;

/// The strings that all sheets share, one after the other.
#[derive(Default)]
struct Strings {
    text: String,
    ends: Vec<usize>,
}

impl Strings {
    fn read(xml: &str) -> Strings {
        let mut strings = Strings::default();
        let mut skip = Skip::default();
        let mut in_text = false;
        pieces(xml, |piece| {
            // How to pronounce a name is no part of it.
            if skip.skips(&piece, |name, _| name == "rPh") {
                return true;
            }
            match piece {
                Piece::Open("t", _) => in_text = true,
                Piece::Close("t") => in_text = false,
                Piece::Close("si") => strings.ends.push(strings.text.len()),
                Piece::Text(text) if in_text => strings.text.push_str(text),
                _ => {}
            }
            true
        });
        strings
    }

    fn get(&self, index: &str) -> Option<&str> {
        let index: usize = index.trim().parse().ok()?;
        let from = index.checked_sub(1).map_or(Some(0), |before| self.ends.get(before).copied())?;
        self.text.get(from..*self.ends.get(index)?)
    }
}

pub fn read(source: &Source, part: &str, out: &mut Html) -> bool {
    let relations = source.relations(part);
    let Some(xml) = source.text(part) else { return false };
    let mut sheets: Vec<(String, String)> = Vec::new();
    let mut whole = pieces(&xml, |piece| {
        if let Piece::Open("sheet", tag) = piece
            && tag.get("state").is_none_or(|state| state == "visible")
            && let Some(part) = tag.get_prefixed("r:id").and_then(|id| relations.part(&id))
        {
            sheets.push((tag.get("name").unwrap_or_default(), part));
        }
        sheets.len() < MAX_SHEETS
    });
    let strings = relations.of_kind("sharedStrings").and_then(|p| source.text(&p));
    let strings = strings.map(|xml| Strings::read(&xml)).unwrap_or_default();
    for (name, part) in sheets {
        let Some(xml) = source.text(&part) else {
            whole = false;
            continue;
        };
        out.markup("<h2>");
        out.text(&name);
        out.markup("</h2>\n<table>");
        whole &= table(&xml, &strings, &links(source, &part, &xml), out);
        out.markup("</table>\n");
        if out.full {
            break;
        }
    }
    whole && !out.full
}

/// Where the cells of a sheet lead to.
fn links(source: &Source, part: &str, xml: &str) -> HashMap<String, String> {
    let mut found = HashMap::new();
    // They stand behind all cells; most sheets have none.
    let Some(at) = memchr::memmem::find(xml.as_bytes(), b"<hyperlink") else { return found };
    let relations = source.relations(part);
    pieces(xml.get(at..).unwrap_or_default(), |piece| {
        if let Piece::Open("hyperlink", tag) = piece
            && let Some(cell) = tag.get("ref")
            && let Some(target) = tag.get_prefixed("r:id").and_then(|id| relations.target(&id))
        {
            found.insert(cell, target);
        }
        found.len() < MAX_LINKS
    });
    found
}

fn table(xml: &str, strings: &Strings, links: &HashMap<String, String>, out: &mut Html) -> bool {
    let mut skip = Skip::default();
    let (mut in_value, mut shared) = (false, false);
    let mut value = String::new();
    pieces(xml, |piece| {
        // A formula is not seen, and pronunciation is no part of a name.
        if skip.skips(&piece, |name, _| matches!(name, "f" | "rPh")) {
            return true;
        }
        match piece {
            Piece::Open("row", _) => out.markup("<tr>"),
            Piece::Close("row") => out.markup("</tr>\n"),
            Piece::Open("c", tag) => {
                shared = tag.is("t", "s");
                out.markup("<td>");
                out.open_link(tag.get("r").and_then(|cell| links.get(&cell)).map(String::as_str));
            }
            Piece::Close("c") => {
                let text = if shared { strings.get(&value).unwrap_or_default() } else { &value };
                out.text(text);
                out.close_link();
                out.markup("</td>");
                value.clear();
            }
            Piece::Open("v" | "t", _) => in_value = true,
            Piece::Close("v" | "t") => in_value = false,
            Piece::Text(text) if in_value => value.push_str(text),
            _ => {}
        }
        !out.full
    })
}
