//! PowerPoint: the slides of `ppt/presentation.xml` in their order, with their notes and diagrams.

use super::markup::{Html, Piece, Skip, pieces};
use super::{Relations, Source};

const MAX_SLIDES: usize = 2_000;

pub fn read(source: &Source, part: &str, out: &mut Html) -> bool {
    let relations = source.relations(part);
    let Some(xml) = source.text(part) else { return false };
    let mut slides = Vec::new();
    let mut whole = pieces(&xml, |piece| {
        if let Piece::Open("sldId", tag) = piece {
            // `id` is both the slide's number and, with a prefix, its relation.
            slides.extend(tag.get_prefixed("r:id").and_then(|id| relations.part(&id)));
        }
        slides.len() < MAX_SLIDES
    });
    for slide in slides {
        let Some(xml) = source.text(&slide) else {
            whole = false;
            continue;
        };
        let relations = source.relations(&slide);
        whole &= texts(&xml, &relations, out);
        for kind in ["diagramData", "notesSlide"] {
            if let Some(xml) = relations.of_kind(kind).and_then(|p| source.text(&p)) {
                whole &= texts(&xml, &relations, out);
            }
        }
        if out.full {
            break;
        }
    }
    whole && !out.full
}

/// The paragraphs of a slide; its title is a heading.
fn texts(xml: &str, relations: &Relations, out: &mut Html) -> bool {
    let mut skip = Skip::default();
    let (mut in_text, mut title, mut aside, mut hidden) = (false, false, false, false);
    // The link of a run is named before its text.
    let mut link: Option<String> = None;
    pieces(xml, |piece| {
        if skip.skips(&piece, |name, _| name == "Fallback") {
            return true;
        }
        match piece {
            Piece::Open(name, tag) => match name {
                "sld" => hidden = tag.is("show", "0"),
                "sp" => (title, aside) = (false, false),
                // Numbers of slides, dates and footers are not its text.
                "ph" => match tag.get("type").as_deref() {
                    Some("title" | "ctrTitle") => title = true,
                    Some("sldNum" | "dt" | "ftr" | "sldImg" | "hdr") => aside = true,
                    _ => {}
                },
                "p" => out.markup(if title { "<h2>" } else { "<p>" }),
                "r" | "fld" => link = None,
                "hlinkClick" => link = tag.get("id").and_then(|id| relations.target(&id)),
                "t" => {
                    in_text = true;
                    out.open_link(link.as_deref());
                }
                "br" => out.markup("<br>"),
                "tbl" => out.markup("<table>"),
                "tr" => out.markup("<tr>"),
                "tc" => out.markup("<td>"),
                _ => {}
            },
            Piece::Close(name) => match name {
                "p" => out.markup(if title { "</h2>\n" } else { "</p>\n" }),
                "t" => {
                    in_text = false;
                    out.close_link();
                }
                "tbl" => out.markup("</table>\n"),
                "tr" => out.markup("</tr>\n"),
                "tc" => out.markup("</td>"),
                _ => {}
            },
            Piece::Text(text) if in_text && !aside => out.text(text),
            Piece::Text(_) => {}
        }
        !out.full && !hidden
    })
}
