//! Microdata → items: `itemscope` begins one, `itemprop` says something of the one it stands in.

use super::{Found, kind_of, name_of, short_date, title_of};
use crate::meta;
use crate::names::Attr;
use crate::source::{Source, decoded};
use crate::walk::Attrs;

/// Open elements that are known; items and properties of a page; bytes of source that a value may take.
const MAX_OPEN: usize = 512;
const MAX_ITEMS: usize = 200;
const MAX_PROPERTIES: usize = 2_000;
const MAX_VALUE: usize = 2_000;
/// An end tag ends one of so many elements, or none.
const NEAR: usize = 64;

const VOID: &[&str] = &[
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track",
    "wbr",
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Property {
    Title,
    Author,
    Published,
    Created,
    Modified,
    Publisher,
    Language,
    Url,
}

fn property(name: &str) -> Option<Property> {
    Some(match name {
        "headline" | "name" => Property::Title,
        "author" | "creator" => Property::Author,
        "datePublished" | "datePosted" | "uploadDate" => Property::Published,
        "dateCreated" => Property::Created,
        "dateModified" => Property::Modified,
        "publisher" | "provider" | "hiringOrganization" => Property::Publisher,
        "inLanguage" => Property::Language,
        "url" | "mainEntityOfPage" => Property::Url,
        _ => return None,
    })
}

#[derive(Default)]
struct Item {
    found: Found,
    created: String,
    /// The item that it belongs to, and as what.
    within: Option<(usize, Option<Property>)>,
}

struct Open<'s> {
    name: &'s str,
    /// The item that begins with it.
    item: Option<usize>,
    /// What its text is, of which item.
    says: Option<(usize, Property)>,
    /// Where its text begins in the source.
    text: usize,
}

#[derive(Default)]
pub struct Micro<'s> {
    items: Vec<Item>,
    open: Vec<Open<'s>>,
    properties: usize,
}

impl<'s> Micro<'s> {
    pub fn open(&mut self, name: &'s str, self_closing: bool, attrs: &Attrs<'s>, source: &Source<'s>) {
        let current = self.open.iter().rev().take(NEAR).find_map(|open| open.item);
        let said = attrs.get(Attr::Itemprop).and_then(|all| all.split_ascii_whitespace().find_map(property));
        let mut item = None;
        let mut says = None;
        if attrs.has(Attr::Itemscope) {
            if self.items.len() < MAX_ITEMS {
                let is_inside = current.filter(|_| attrs.has(Attr::Itemprop));
                let mut new = Item { within: is_inside.map(|outer| (outer, said)), ..Item::default() };
                new.found.about.kind = attrs.get(Attr::Itemtype).map(kind_of).unwrap_or_default();
                item = Some(self.items.len());
                self.items.push(new);
            }
        } else if let (Some(current), Some(said)) = (current, said)
            && self.properties < MAX_PROPERTIES
        {
            self.properties += 1;
            let href = attrs.get(Attr::Href).filter(|_| said == Property::Url);
            match attrs.get(Attr::Content).or_else(|| attrs.get(Attr::Datetime)).or(href) {
                Some(value) => self.set(current, said, value),
                None => says = Some((current, said)),
            }
        }
        let is_void = self_closing || VOID.iter().any(|void| name.eq_ignore_ascii_case(void));
        if !is_void && self.open.len() < MAX_OPEN {
            self.open.push(Open { name, item, says, text: source.at });
        }
    }

    /// An end tag, whose `<` has been read.
    pub fn close(&mut self, name: &str, source: &Source<'s>) {
        let near = self.open.iter().rev().take(NEAR).position(|open| open.name.eq_ignore_ascii_case(name));
        for _ in 0..near.map_or(0, |n| n + 1) {
            self.end(source);
        }
    }

    fn end(&mut self, source: &Source<'s>) {
        let Some(open) = self.open.pop() else { return };
        if let Some((item, said)) = open.says {
            let end = source.at.saturating_sub(1).min(open.text + MAX_VALUE);
            let end = source.text.floor_char_boundary(end);
            let value = text_of(source.slice(open.text.min(end), end));
            self.set(item, said, &value);
        }
    }

    fn set(&mut self, item: usize, said: Property, value: &str) {
        let value = value.get(..value.floor_char_boundary(MAX_VALUE)).unwrap_or(value);
        let Some(item) = self.items.get_mut(item) else { return };
        let found = &mut item.found;
        match said {
            Property::Title => Found::set(&mut found.title, title_of(value)),
            Property::Author => found.add_author(value),
            Property::Published => Found::set(&mut found.about.published, short_date(value)),
            Property::Created => Found::set(&mut item.created, short_date(value)),
            Property::Modified => Found::set(&mut found.about.modified, short_date(value)),
            Property::Publisher => Found::set(&mut found.about.publisher, name_of(value)),
            Property::Language => Found::set(&mut found.language, meta::language_tag(value)),
            Property::Url => Found::set(&mut found.url, value.trim().to_string()),
        }
    }

    /// The items that are part of no other.
    pub fn finish(mut self, source: &Source<'s>) -> Vec<Found> {
        while !self.open.is_empty() {
            self.end(source);
        }
        for n in 0..self.items.len() {
            // A person or an organisation is known by its name.
            let Some(Item {
                within: Some((outer, Some(said @ (Property::Author | Property::Publisher)))),
                found,
                ..
            }) = self.items.get(n)
            else {
                continue;
            };
            let (outer, said, name) = (*outer, *said, found.title.clone());
            self.set(outer, said, &name);
        }
        let whole = |mut item: Item| {
            Found::set(&mut item.found.about.published, item.created);
            item.found
        };
        self.items.into_iter().filter(|item| item.within.is_none()).map(whole).collect()
    }
}

/// The text of a short piece of markup.
fn text_of(markup: &str) -> String {
    let mut out = String::new();
    let mut rest = markup;
    while let Some((text, tag)) = rest.split_once('<') {
        out.push_str(text);
        // Words of different elements are different words, unless a tag is inside one.
        match tag.split_once('>') {
            Some((_, after)) => rest = after,
            None => {
                rest = "";
                break;
            }
        }
        out.push(' ');
    }
    out.push_str(rest);
    decoded(&out, false).into_owned()
}
