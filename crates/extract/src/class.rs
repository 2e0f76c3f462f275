//! What an element means for extraction.

use html5ever::{LocalName, local_name};
use types::Region;

/// Properties of an element, as bits.
pub type Class = u16;

/// Starts and ends a line.
pub const BLOCK: Class = 1;
/// Separated from its neighbours, on the same line.
pub const CELL: Class = 1 << 1;
/// Its text is not shown.
pub const HIDDEN: Class = 1 << 2;
/// Line breaks inside it are shown.
pub const PRE: Class = 1 << 3;
pub const HEADING: Class = 1 << 4;
/// Has something to be looked at when it is entered (links, metadata, labels).
pub const SPECIAL: Class = 1 << 5;
/// One leaf without tokens, whatever it holds.
pub const OPAQUE: Class = 1 << 6;
/// Marks a region by its name.
pub const REGION: Class = 1 << 7;
/// `header` and `footer` inside it belong to it, not to the page.
pub const SECTION: Class = 1 << 8;

/// Elements of the HTML namespace.
pub fn html(name: &LocalName) -> Class {
    match *name {
        local_name!("a") | local_name!("img") => SPECIAL,
        local_name!("p")
        | local_name!("div")
        | local_name!("li")
        | local_name!("ul")
        | local_name!("ol")
        | local_name!("dl")
        | local_name!("dt")
        | local_name!("dd")
        | local_name!("table")
        | local_name!("tr")
        | local_name!("tbody")
        | local_name!("thead")
        | local_name!("tfoot")
        | local_name!("caption")
        | local_name!("form")
        | local_name!("fieldset")
        | local_name!("legend")
        | local_name!("blockquote")
        | local_name!("center")
        | local_name!("address")
        | local_name!("figure")
        | local_name!("figcaption")
        | local_name!("details")
        | local_name!("summary")
        | local_name!("dialog")
        | local_name!("menu")
        | local_name!("dir")
        | local_name!("hgroup")
        | local_name!("search")
        | local_name!("body")
        | local_name!("html")
        | local_name!("hr")
        | local_name!("br")
        | local_name!("option")
        | local_name!("optgroup")
        | local_name!("select")
        | local_name!("frameset") => BLOCK,
        local_name!("td") | local_name!("th") | local_name!("button") => CELL,
        local_name!("h1")
        | local_name!("h2")
        | local_name!("h3")
        | local_name!("h4")
        | local_name!("h5")
        | local_name!("h6") => BLOCK | HEADING,
        local_name!("pre") | local_name!("listing") | local_name!("xmp") | local_name!("plaintext") => {
            BLOCK | PRE
        }
        local_name!("textarea") => CELL | PRE,
        local_name!("nav") | local_name!("aside") => BLOCK | REGION | SECTION,
        local_name!("main") => BLOCK | REGION | SECTION,
        local_name!("header") | local_name!("footer") => BLOCK | REGION,
        local_name!("article") | local_name!("section") => BLOCK | SECTION,
        local_name!("script") | local_name!("style") => HIDDEN | OPAQUE,
        local_name!("head") | local_name!("datalist") => HIDDEN,
        local_name!("noframes") | local_name!("noembed") => HIDDEN,
        local_name!("title") | local_name!("iframe") => HIDDEN | SPECIAL,
        local_name!("meta")
        | local_name!("link")
        | local_name!("area")
        | local_name!("frame")
        | local_name!("input") => SPECIAL,
        _ => 0,
    }
}

/// Elements of SVG and MathML.
pub fn foreign(name: &LocalName) -> Class {
    match *name {
        local_name!("a") => SPECIAL,
        local_name!("script") | local_name!("style") => HIDDEN | OPAQUE,
        local_name!("title")
        | local_name!("desc")
        | local_name!("metadata")
        | local_name!("annotation")
        | local_name!("annotation-xml")
        | local_name!("defs") => HIDDEN,
        local_name!("text") => CELL,
        _ => 0,
    }
}

/// The level of `h1`…`h6`.
pub fn level(name: &LocalName) -> u8 {
    match *name {
        local_name!("h1") => 1,
        local_name!("h2") => 2,
        local_name!("h3") => 3,
        local_name!("h4") => 4,
        local_name!("h5") => 5,
        _ => 6,
    }
}

/// The region an element opens by its name. `header` and `footer` count only as the page's own.
pub fn region(name: &LocalName, in_section: bool) -> Option<Region> {
    match *name {
        local_name!("nav") => Some(Region::Nav),
        local_name!("aside") => Some(Region::Aside),
        local_name!("main") => Some(Region::Body),
        local_name!("header") if !in_section => Some(Region::Header),
        local_name!("footer") if !in_section => Some(Region::Footer),
        _ => None,
    }
}

/// The region an ARIA role opens.
pub fn role(value: &str) -> Option<Region> {
    // The first role that is understood counts; in practice there is one.
    value.split_ascii_whitespace().find_map(|role| {
        const ROLES: [(&str, Region); 5] = [
            ("navigation", Region::Nav),
            ("banner", Region::Header),
            ("contentinfo", Region::Footer),
            ("complementary", Region::Aside),
            ("main", Region::Body),
        ];
        ROLES.iter().find(|(name, _)| role.eq_ignore_ascii_case(name)).map(|(_, region)| *region)
    })
}
