//! What an element means for extraction.

use crate::names::{ASIDE, FOOTER, H1, HEADER, MAIN, NAV, Tag};
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

/// The level of `h1`…`h6`.
pub fn level(tag: Tag) -> u8 {
    tag.saturating_sub(H1).min(5) + 1
}

/// The region an element opens by its name. `header` and `footer` count only as the page's own.
pub fn region(tag: Tag, in_section: bool) -> Option<Region> {
    match tag {
        NAV => Some(Region::Nav),
        ASIDE => Some(Region::Aside),
        MAIN => Some(Region::Body),
        HEADER if !in_section => Some(Region::Header),
        FOOTER if !in_section => Some(Region::Footer),
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
