//! The text nodes of a tree, each with its place in the page's text and in its structure.

use crate::Options;
use crate::class::{self, BLOCK, CELL, HEADING, HIDDEN, OPAQUE, PRE};
use crate::dom::{DOCUMENT, Data, Dom, Element, NONE};
use crate::names::{self, Name};
use crate::text::{Gap, Text};
use html5ever::{local_name, ns};
use types::{Span, Url};

/// Quotes and lists nested deeper than this are no deeper.
const MAX_NESTING: u8 = 8;
/// Cells that one may span.
const MAX_SPAN: u16 = 40;

/// Where a text node stands. Numbers are indices, [`NONE`] without one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Place {
    /// The innermost block element, by its number on the page.
    pub block: u32,
    /// The innermost quote or list item, in [`Found::containers`].
    pub container: u32,
    /// The innermost list, by its number on the page.
    pub list: u32,
    /// The outermost list.
    pub outer_list: u32,
    /// 1–6 inside a heading, else 0.
    pub heading: u8,
    /// In [`Found::preformatted`].
    pub pre: u32,
    pub table: u32,
    pub row: u32,
    /// Column within the row.
    pub cell: u16,
    /// In [`Found::links`].
    pub link: u32,
    pub code: bool,
    nesting: u8,
}

/// A text node.
#[derive(Clone, Copy, Debug)]
pub struct Piece {
    pub span: Span,
    pub place: Place,
}

/// What puts something in front of each of its lines.
#[derive(Clone, Copy, Debug)]
pub struct Container {
    pub outer: u32,
    pub mark: Mark,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mark {
    Quote,
    /// Of a list; the number is that of a numbered one.
    Item(Option<u32>),
}

/// What the walk found.
pub struct Found {
    pub text: String,
    pub pieces: Vec<Piece>,
    pub containers: Vec<Container>,
    pub links: Vec<Url>,
    /// What stands in each `pre`, with its blanks.
    pub preformatted: Vec<String>,
    /// Of each table: it holds another, so it is there for the layout.
    pub nests: Vec<bool>,
}

/// An open element: what to return to.
struct Frame {
    class: class::Class,
    inside: class::Class,
    place: Place,
}

struct Walk<'o> {
    base: Url,
    url: &'o Url,
    options: &'o Options,
    text: Text,
    found: Found,
    /// Number of the next item of each list; `None` for bullets.
    lists: Vec<Option<u32>>,
    place: Place,
    inside: class::Class,
    blocks: u32,
    rows: u32,
    /// Next column of the innermost open row; that of outer rows waits in the stack.
    columns: Vec<u16>,
}

/// Walks over a tree. Nothing recurses: a hostile tree may be deep.
pub fn read(dom: &Dom, url: &Url, options: &Options) -> Found {
    let mut walk = Walk::new(url, options);
    let href = dom.base.and_then(|b| dom.element(b)).and_then(|e| e.attr(&local_name!("href")));
    if let Some(base) = href.and_then(|href| options.join(url, href).ok()) {
        walk.base = base;
    }
    let mut open: Vec<(u32, Frame)> = Vec::with_capacity(32);
    let mut at = dom.node(DOCUMENT).map_or(NONE, |n| n.first);
    loop {
        let Some(node) = dom.node(at) else {
            let Some((parent, frame)) = open.pop() else { break };
            at = dom.node(parent).map_or(NONE, |n| n.next);
            walk.leave(&frame);
            continue;
        };
        at = match &node.data {
            Data::Text(s) => {
                walk.text(s);
                node.next
            }
            Data::Comment | Data::Document => node.next,
            Data::Element(e) => {
                let frame = walk.enter(e);
                let opaque = frame.class & OPAQUE != 0;
                open.push((at, frame));
                if opaque { NONE } else { node.first }
            }
        };
    }
    walk.found.text = walk.text.finish();
    walk.found
}

impl<'o> Walk<'o> {
    fn new(url: &'o Url, options: &'o Options) -> Walk<'o> {
        Walk {
            base: url.clone(),
            url,
            options,
            text: Text::new(options.max_text),
            found: Found {
                text: String::new(),
                pieces: Vec::new(),
                containers: Vec::new(),
                links: Vec::new(),
                preformatted: Vec::new(),
                nests: Vec::new(),
            },
            lists: Vec::new(),
            place: Place {
                block: 0,
                container: NONE,
                list: NONE,
                outer_list: NONE,
                heading: 0,
                pre: NONE,
                table: NONE,
                row: NONE,
                cell: 0,
                link: NONE,
                code: false,
                nesting: 0,
            },
            inside: 0,
            blocks: 0,
            rows: 0,
            columns: Vec::new(),
        }
    }

    fn text(&mut self, s: &str) {
        if self.inside & HIDDEN != 0 {
            return;
        }
        let span = self.text.push(s, self.inside & PRE != 0);
        if let Some(raw) = self.found.preformatted.get_mut(self.place.pre as usize) {
            raw.push_str(s);
        }
        if !span.is_empty() {
            self.found.pieces.push(Piece { span, place: self.place });
        }
    }

    fn gap(&mut self, class: class::Class) {
        if class & BLOCK != 0 {
            self.text.gap(Gap::Line);
        } else if class & CELL != 0 {
            self.text.gap(Gap::Cell);
        }
    }

    fn enter(&mut self, e: &Element) -> Frame {
        let name = Name::of(&e.name.local);
        let is_html = e.name.ns == ns!(html);
        let class = if is_html { names::html_class(name.id) } else { names::foreign_class(name.id) };
        self.gap(class);
        let frame = Frame { class, inside: self.inside, place: self.place };
        self.inside |= class & (HIDDEN | PRE);
        if class & BLOCK != 0 && name.id != names::BR {
            self.blocks += 1;
            self.place.block = self.blocks;
        }
        if class & HEADING != 0 {
            self.place.heading = class::level(name.id);
        }
        if class & PRE != 0 && class & BLOCK != 0 && self.place.pre == NONE {
            self.place.pre = self.found.preformatted.len() as u32;
            self.found.preformatted.push(String::new());
        }
        if is_html {
            self.structure(name, e);
        }
        if name.id == names::A {
            self.link(e);
        }
        frame
    }

    fn structure(&mut self, name: Name<'_>, e: &Element) {
        match name.id {
            names::BR => {
                if let Some(raw) = self.found.preformatted.get_mut(self.place.pre as usize) {
                    raw.push('\n');
                }
            }
            names::BLOCKQUOTE => self.contain(Mark::Quote),
            names::UL | names::OL | names::MENU | names::DIR => {
                let start = e.attr(&local_name!("start")).and_then(|s| s.trim().parse().ok());
                let first = (name.id == names::OL).then(|| start.unwrap_or(1));
                self.place.list = self.lists.len() as u32;
                if self.place.outer_list == NONE {
                    self.place.outer_list = self.place.list;
                }
                self.lists.push(first);
            }
            names::LI => {
                let next = self.lists.get_mut(self.place.list as usize).and_then(Option::as_mut);
                let number = next.map(|next| {
                    let number = *next;
                    // Markdown has nine digits.
                    *next = next.saturating_add(1).min(999_999_999);
                    number.min(999_999_999)
                });
                self.contain(Mark::Item(number));
            }
            names::TABLE => {
                if let Some(outer) = self.found.nests.get_mut(self.place.table as usize) {
                    *outer = true;
                }
                self.place.table = self.found.nests.len() as u32;
                self.place.row = NONE;
                self.found.nests.push(false);
            }
            names::TR => {
                self.place.row = self.rows;
                self.rows += 1;
                self.columns.push(0);
            }
            names::TD | names::TH => {
                let wide = e.attr(&local_name!("colspan")).and_then(|s| s.trim().parse().ok());
                if let Some(next) = self.columns.last_mut() {
                    self.place.cell = *next;
                    *next = next.saturating_add(wide.unwrap_or(1).clamp(1, MAX_SPAN));
                }
            }
            names::CODE | names::TT | names::KBD | names::SAMP => self.place.code = true,
            _ => {}
        }
    }

    fn contain(&mut self, mark: Mark) {
        if self.place.nesting >= MAX_NESTING {
            return;
        }
        self.place.nesting += 1;
        self.found.containers.push(Container { outer: self.place.container, mark });
        self.place.container = self.found.containers.len() as u32 - 1;
    }

    fn link(&mut self, e: &Element) {
        let Some(href) = e.attr(&local_name!("href")).map(str::trim_ascii) else { return };
        if href.starts_with('#') && self.base == *self.url {
            return;
        }
        if let Ok(url) = self.options.join(&self.base, href) {
            self.place.link = self.found.links.len() as u32;
            self.found.links.push(url);
        }
    }

    fn leave(&mut self, frame: &Frame) {
        self.gap(frame.class);
        if self.place.row != frame.place.row && self.place.table == frame.place.table {
            self.columns.pop();
        }
        self.inside = frame.inside;
        self.place = frame.place;
    }
}
