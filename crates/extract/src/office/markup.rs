//! From the XML of a document to HTML.
//!
//! Every format is rewritten as plain HTML and read like any page: so text, headings, links with their
//! surroundings and all else are found in one way, by one piece of code.

use crate::source;
use crate::xml::{local, unescaped};
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

/// HTML that is being written. It stops growing at a limit.
pub struct Html {
    out: String,
    limit: usize,
    /// Something was left out.
    pub full: bool,
    /// Links that are open: whether each was written.
    links: Vec<bool>,
}

/// Links within links deeper than this are not counted.
const MAX_OPEN: usize = 64;

impl Html {
    pub fn new(limit: usize) -> Html {
        Html { out: String::new(), limit, full: false, links: Vec::new() }
    }

    /// Markup, written as it is.
    pub fn markup(&mut self, markup: &str) {
        if self.out.len() + markup.len() > self.limit {
            self.full = true;
        } else {
            self.out.push_str(markup);
        }
    }

    pub fn text(&mut self, text: &str) {
        let room = self.limit.saturating_sub(self.out.len());
        let kept = &text[..text.floor_char_boundary(room)];
        self.full |= kept.len() < text.len();
        for c in kept.chars() {
            match c {
                '<' => self.out.push_str("&lt;"),
                '>' => self.out.push_str("&gt;"),
                '&' => self.out.push_str("&amp;"),
                '"' => self.out.push_str("&quot;"),
                c => self.out.push(c),
            }
        }
    }

    /// A link begins, if it leads to the Web: what is relative is so to a place inside the document.
    pub fn open_link(&mut self, target: Option<&str>) {
        let web = |t: &&str| {
            let start = |s: &str| t.get(..s.len()).is_some_and(|t| t.eq_ignore_ascii_case(s));
            start("http://") || start("https://")
        };
        let target = target.map(str::trim).filter(web).filter(|_| self.links.len() < MAX_OPEN);
        // HTML has no links inside links.
        let open = target.is_some() && !self.links.contains(&true);
        if let Some(target) = target.filter(|_| open) {
            self.markup("<a href=\"");
            self.text(target);
            self.markup("\">");
        }
        self.links.push(open);
    }

    pub fn close_link(&mut self) {
        if self.links.pop() == Some(true) {
            self.markup("</a>");
        }
    }

    pub fn finish(self) -> String {
        self.out
    }
}

/// What comes next in a piece of XML. Names are local, without their prefix.
pub enum Piece<'a> {
    Open(&'a str, &'a Tag<'a>),
    Close(&'a str),
    Text(&'a str),
}

/// A start tag.
pub struct Tag<'a>(&'a BytesStart<'a>);

/// Attributes of a tag that are looked at.
const MAX_ATTRIBUTES: usize = 64;

impl Tag<'_> {
    /// The value of an attribute, by its local name.
    pub fn get(&self, name: &str) -> Option<String> {
        self.find(|key| local(key) == name)
    }

    /// The value of an attribute, by its name as it is written, prefix and all.
    pub fn get_prefixed(&self, name: &str) -> Option<String> {
        self.find(|key| key == name)
    }

    fn find(&self, is: impl Fn(&str) -> bool) -> Option<String> {
        let mut all = self.0.attributes();
        // Without the check for duplicates, which is quadratic.
        let mut all = all.with_checks(false).take(MAX_ATTRIBUTES).flatten();
        all.find(|a| is(a.key.0)).map(|a| unescaped(&a.value))
    }

    pub fn is(&self, name: &str, value: &str) -> bool {
        self.get(name).is_some_and(|v| v == value)
    }
}

/// Reads XML leniently, piece by piece, until `each` says `false`; false when it broke off. Entities that
/// the file defines itself are not looked up.
pub fn pieces(xml: &str, mut each: impl FnMut(Piece) -> bool) -> bool {
    let mut reader = Reader::from_str(xml);
    let config = reader.config_mut();
    config.check_end_names = false;
    config.allow_unmatched_ends = true;
    config.allow_dangling_amp = true;
    loop {
        let more = match reader.read_event() {
            Ok(Event::Start(tag)) => each(Piece::Open(local(tag.name().0), &Tag(&tag))),
            Ok(Event::Empty(tag)) => {
                let name = tag.name().0;
                each(Piece::Open(local(name), &Tag(&tag))) && each(Piece::Close(local(name)))
            }
            Ok(Event::End(tag)) => each(Piece::Close(local(tag.name().0))),
            Ok(Event::Text(text)) => each(Piece::Text(&text)),
            Ok(Event::CData(text)) => each(Piece::Text(&text)),
            Ok(Event::GeneralRef(name)) => match name.resolve_char_ref() {
                Ok(Some(c)) => each(Piece::Text(c.encode_utf8(&mut [0; 4]))),
                _ => each(Piece::Text(&source::decoded(&format!("&{};", &*name), false))),
            },
            Ok(Event::Eof) => return true,
            Ok(_) => true,
            Err(_) => return false,
        };
        if !more {
            return true;
        }
    }
}

/// Leaves out what is inside some elements.
#[derive(Default)]
pub struct Skip(usize);

impl Skip {
    /// Is this piece inside an element that is left out? `out` says which elements are.
    pub fn skips(&mut self, piece: &Piece, out: impl Fn(&str, &Tag) -> bool) -> bool {
        match piece {
            Piece::Open(name, tag) if self.0 > 0 || out(name, tag) => self.0 += 1,
            Piece::Close(_) if self.0 > 0 => self.0 -= 1,
            _ => return self.0 > 0,
        }
        true
    }
}
