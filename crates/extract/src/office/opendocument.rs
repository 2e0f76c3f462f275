//! OpenDocument text, slides and tables: `content.xml`.

use super::Source;
use super::markup::{Html, Piece, Skip, Tag, pieces};
use types::PageKind;

/// Reads it; the kind is what its body says it is.
pub fn read(source: &Source, out: &mut Html) -> Option<(PageKind, bool)> {
    let xml = source.text("content.xml")?;
    let mut kind = None;
    let mut skip = Skip::default();
    // Footnotes stand in the middle of the sentence that refers to them: they are read after the text.
    let mut notes = Html::new(1 << 20);
    let mut in_note = false;
    // Paragraphs that are open; text outside of them is not seen.
    let mut paragraphs = 0u32;
    let left_out = |name: &str, _: &Tag| {
        matches!(
            name,
            "tracked-changes"
                | "annotation"
                | "note-citation"
                | "forms"
                | "automatic-styles"
                | "font-face-decls"
                | "desc"
                | "settings"
                | "sequence-decls"
                | "hidden-text"
        )
    };
    let whole = pieces(&xml, |piece| {
        if skip.skips(&piece, left_out) {
            return true;
        }
        let to = if in_note { &mut notes } else { &mut *out };
        match piece {
            Piece::Open(name, tag) => match name {
                "text" if kind.is_none() => kind = Some(PageKind::Odt),
                "presentation" if kind.is_none() => kind = Some(PageKind::Odp),
                "spreadsheet" if kind.is_none() => kind = Some(PageKind::Ods),
                "p" => {
                    paragraphs += 1;
                    to.markup("<p>");
                }
                "h" => {
                    paragraphs += 1;
                    to.markup(&format!("<h{}>", level(tag)));
                }
                "a" => to.open_link(tag.get("href").as_deref()),
                "s" | "tab" => to.text(" "),
                "line-break" => to.markup("<br>"),
                "note-body" => in_note = true,
                "table" if kind == Some(PageKind::Ods) => {
                    to.markup("<h2>");
                    to.text(&tag.get("name").unwrap_or_default());
                    to.markup("</h2>\n<table>");
                }
                "table" => to.markup("<table>"),
                "table-row" => to.markup("<tr>"),
                "table-cell" => to.markup("<td>"),
                _ => {}
            },
            Piece::Close(name) => match name {
                "p" => {
                    paragraphs = paragraphs.saturating_sub(1);
                    to.markup("</p>\n");
                }
                "h" => {
                    paragraphs = paragraphs.saturating_sub(1);
                    // Whatever its level: an end tag of a heading ends the one that is open.
                    to.markup("</h1>\n");
                }
                "a" => to.close_link(),
                "note-body" => in_note = false,
                "table" => to.markup("</table>\n"),
                "table-row" => to.markup("</tr>\n"),
                "table-cell" => to.markup("</td>"),
                _ => {}
            },
            Piece::Text(text) if paragraphs > 0 => to.text(text),
            Piece::Text(_) => {}
        }
        !out.full
    });
    out.markup(&notes.finish());
    Some((kind?, whole))
}

fn level(tag: &Tag) -> u8 {
    tag.get("outline-level").and_then(|level| level.parse().ok()).unwrap_or(1u8).clamp(1, 6)
}
