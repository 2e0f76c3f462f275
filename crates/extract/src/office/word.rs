//! Word: `word/document.xml`, with the styles that are headings, and the notes.

use super::markup::{Html, Piece, Skip, Tag, pieces};
use super::{Relations, Source};
use std::collections::HashMap;

/// Fields within fields deeper than this are not counted.
const MAX_FIELDS: usize = 64;

pub fn read(source: &Source, part: &str, out: &mut Html) -> bool {
    let relations = source.relations(part);
    let styles = relations.of_kind("styles").and_then(|p| source.text(&p)).map(|x| heading_styles(&x));
    let styles = styles.unwrap_or_default();
    let Some(xml) = source.text(part) else { return false };
    let mut whole = body(&xml, &relations, &styles, out);
    for kind in ["footnotes", "endnotes"] {
        if let Some(notes) = relations.of_kind(kind)
            && let Some(xml) = source.text(&notes)
        {
            whole &= body(&xml, &source.relations(&notes), &styles, out);
        }
    }
    whole
}

/// Levels of the styles that are headings, by the styles' own names: `Heading 1` is called so in every
/// language, its number in the file is not.
fn heading_styles(xml: &str) -> HashMap<String, u8> {
    let mut found = HashMap::new();
    let mut id = String::new();
    pieces(xml, |piece| {
        if let Piece::Open(name, tag) = piece {
            match name {
                "style" => id = tag.get("styleId").unwrap_or_default(),
                "name" => {
                    let name = tag.get("val").unwrap_or_default().to_ascii_lowercase();
                    let level = match name.strip_prefix("heading ") {
                        Some(level) => level.trim().parse().ok(),
                        None => (name == "title").then_some(1),
                    };
                    if let Some(level) = level {
                        found.insert(id.clone(), level);
                    }
                }
                "outlineLvl" => {
                    if let Some(level) = outline(tag) {
                        found.entry(id.clone()).or_insert(level);
                    }
                }
                _ => {}
            }
        }
        found.len() < 1_000
    });
    found
}

/// Levels in the file begin with 0; 9 means text.
fn outline(tag: &Tag) -> Option<u8> {
    tag.get("val")?.parse::<u8>().ok().filter(|level| *level < 9).map(|level| level + 1)
}

/// A paragraph, whose kind is known before its first text.
#[derive(Default)]
struct Paragraph {
    level: Option<u8>,
    /// The tag that closes it, once it is open.
    open: Option<String>,
}

impl Paragraph {
    fn begin(&mut self, out: &mut Html) {
        if self.open.is_none() {
            let name = self.level.map_or("p".into(), |level| format!("h{}", level.clamp(1, 6)));
            out.markup(&format!("<{name}>"));
            self.open = Some(format!("</{name}>\n"));
        }
    }
    fn end(&mut self, out: &mut Html) {
        if let Some(tag) = std::mem::take(self).open {
            out.markup(&tag);
        }
    }
}

fn body(xml: &str, relations: &Relations, styles: &HashMap<String, u8>, out: &mut Html) -> bool {
    let mut skip = Skip::default();
    let mut paragraph = Paragraph::default();
    let (mut in_text, mut in_instruction, mut hidden) = (false, false, false);
    let mut instruction = String::new();
    // Fields that are open: whether each is a link that was opened.
    let mut fields: Vec<bool> = Vec::new();
    let left_out = |name: &str, tag: &Tag| match name {
        // The second form of a text box, the old version of a change, and what refers to pictures.
        "Fallback" | "del" | "moveFrom" | "delText" | "docPr" => true,
        // Lines that separate notes from the text.
        "footnote" | "endnote" => tag.get("type").is_some_and(|t| t != "normal"),
        _ => false,
    };
    let whole = pieces(xml, |piece| {
        if skip.skips(&piece, left_out) {
            return true;
        }
        match piece {
            Piece::Open(name, tag) => match name {
                "p" => paragraph.end(out),
                "pStyle" => {
                    let level = tag.get("val").and_then(|id| styles.get(&id).copied());
                    paragraph.level = level.or(paragraph.level);
                }
                "outlineLvl" => paragraph.level = outline(tag).or(paragraph.level),
                "r" => hidden = false,
                "vanish" => hidden = !tag.get("val").is_some_and(|v| v == "0" || v == "false"),
                "t" => in_text = true,
                "instrText" => in_instruction = true,
                "tab" | "ptab" => out.text(" "),
                "br" | "cr" => out.markup("<br>"),
                "noBreakHyphen" => out.text("-"),
                "hyperlink" => {
                    paragraph.begin(out);
                    out.open_link(tag.get("id").and_then(|id| relations.target(&id)).as_deref());
                }
                "fldSimple" => {
                    paragraph.begin(out);
                    out.open_link(tag.get("instr").as_deref().and_then(link_of));
                }
                "fldChar" => match tag.get("fldCharType").as_deref() {
                    Some("begin") if fields.len() < MAX_FIELDS => {
                        instruction.clear();
                        fields.push(false);
                    }
                    Some("separate") => {
                        if let (Some(field @ false), Some(link)) = (fields.last_mut(), link_of(&instruction))
                        {
                            *field = true;
                            paragraph.begin(out);
                            out.open_link(Some(link));
                        }
                    }
                    Some("end") if fields.pop() == Some(true) => out.close_link(),
                    _ => {}
                },
                "tbl" => out.markup("<table>"),
                "tr" => out.markup("<tr>"),
                "tc" => out.markup("<td>"),
                _ => {}
            },
            Piece::Close(name) => match name {
                "p" => paragraph.end(out),
                "t" => in_text = false,
                "instrText" => in_instruction = false,
                "hyperlink" | "fldSimple" => out.close_link(),
                "tbl" => out.markup("</table>\n"),
                "tr" => out.markup("</tr>\n"),
                "tc" => out.markup("</td>"),
                _ => {}
            },
            Piece::Text(text) if in_text && !hidden => {
                paragraph.begin(out);
                out.text(text);
            }
            Piece::Text(text) if in_instruction && instruction.len() < 4_096 => instruction.push_str(text),
            Piece::Text(_) => {}
        }
        !out.full
    });
    paragraph.end(out);
    whole
}

/// The target in `HYPERLINK "http://…"`.
pub fn link_of(instruction: &str) -> Option<&str> {
    let rest = instruction.trim().strip_prefix("HYPERLINK")?.trim_start();
    match rest.strip_prefix('"') {
        Some(quoted) => quoted.split('"').next(),
        None => rest.split_whitespace().next(),
    }
}
