//! Names of elements and attributes as small numbers, with what the standard and the extraction know about
//! each.

use crate::class::*;

/// An element's name: its number ([`UNKNOWN`] for names that mean nothing special) and its text.
#[derive(Clone, Copy, Debug)]
pub struct Name<'s> {
    pub id: Tag,
    pub text: &'s str,
}

pub type Tag = u8;
pub const UNKNOWN: Tag = 0;

/// What the standard's tree construction asks of an element.
pub type Rules = u16;
/// "Special" (§13.2.4.2); as html5ever has it, which is what decides when this parser cannot.
pub const SPECIAL_TAG: Rules = 1;
/// A formatting element.
pub const FORMAT: Rules = 1 << 1;
/// Its end may be implied.
pub const IMPLIED: Rules = 1 << 2;
/// Ends a search for an element "in scope".
pub const SCOPE: Rules = 1 << 3;
/// Closes an open paragraph and is closed by its own end tag: `div` and its like.
pub const CONTAINER: Rules = 1 << 4;
pub const HEADING_TAG: Rules = 1 << 5;
/// Belongs to the structure of a table; ignored outside one.
pub const TABLE_PART: Rules = 1 << 6;
/// Leaves foreign content when it is met there.
pub const BREAKS_OUT: Rules = 1 << 7;

struct Known {
    name: &'static str,
    class: Class,
    rules: Rules,
}

macro_rules! tags {
    ($($id:ident $name:literal $class:expr, $rules:expr;)*) => {
        #[allow(non_camel_case_types, clippy::upper_case_acronyms, dead_code)]
        #[repr(u8)]
        enum Numbers { _UNKNOWN, $($id,)* }
        // Some are only ever looked up.
        $(#[allow(dead_code)] pub const $id: Tag = Numbers::$id as Tag;)*
        const KNOWN: &[Known] = &[
            Known { name: "", class: 0, rules: 0 },
            $(Known { name: $name, class: $class, rules: $rules },)*
        ];
    };
}

const S: Rules = SPECIAL_TAG;
const C: Rules = SPECIAL_TAG | CONTAINER;
const B: Rules = BREAKS_OUT;
const H: Class = BLOCK | HEADING;

tags! {
    A "a" SPECIAL, FORMAT;
    ADDRESS "address" BLOCK, C;
    APPLET "applet" 0, S | SCOPE;
    AREA "area" SPECIAL, S;
    ARTICLE "article" BLOCK | SECTION, C;
    ASIDE "aside" BLOCK | REGION | SECTION, C;
    BOLD "b" 0, FORMAT | B;
    BASE "base" 0, S;
    BASEFONT "basefont" 0, S;
    BGSOUND "bgsound" 0, S;
    BIG "big" 0, FORMAT | B;
    BLOCKQUOTE "blockquote" BLOCK, C | B;
    BODY "body" BLOCK, S | B;
    BR "br" BLOCK, S | B;
    BUTTON "button" CELL, S;
    CAPTION "caption" BLOCK, S | SCOPE | TABLE_PART;
    CENTER "center" BLOCK, C | B;
    CODE "code" 0, FORMAT | B;
    COL "col" 0, S | TABLE_PART;
    COLGROUP "colgroup" 0, S | TABLE_PART;
    DATALIST "datalist" HIDDEN, 0;
    DD "dd" BLOCK, S | IMPLIED | B;
    DETAILS "details" BLOCK, C;
    DIALOG "dialog" BLOCK, CONTAINER;
    DIR "dir" BLOCK, C;
    DIV "div" BLOCK, C | B;
    DL "dl" BLOCK, C | B;
    DT "dt" BLOCK, S | IMPLIED | B;
    EM "em" 0, FORMAT | B;
    EMBED "embed" 0, S | B;
    FIELDSET "fieldset" BLOCK, C;
    FIGCAPTION "figcaption" BLOCK, C;
    FIGURE "figure" BLOCK, C;
    FONT "font" 0, FORMAT | B;
    FOOTER "footer" BLOCK | REGION, C;
    FORM "form" BLOCK, S;
    FRAME "frame" SPECIAL, S;
    FRAMESET "frameset" BLOCK, S;
    H1 "h1" H, S | HEADING_TAG | B;
    H2 "h2" H, S | HEADING_TAG | B;
    H3 "h3" H, S | HEADING_TAG | B;
    H4 "h4" H, S | HEADING_TAG | B;
    H5 "h5" H, S | HEADING_TAG | B;
    H6 "h6" H, S | HEADING_TAG | B;
    HEAD "head" HIDDEN, S | B;
    HEADER "header" BLOCK | REGION, C;
    HGROUP "hgroup" BLOCK, C;
    HR "hr" BLOCK, S | B;
    HTML "html" BLOCK, S | SCOPE;
    I "i" 0, FORMAT | B;
    IFRAME "iframe" HIDDEN | SPECIAL, S;
    IMAGE "image" 0, 0;
    IMG "img" SPECIAL, S | B;
    INPUT "input" SPECIAL, S;
    ISINDEX "isindex" 0, S;
    KEYGEN "keygen" 0, 0;
    LEGEND "legend" BLOCK, 0;
    LI "li" BLOCK, S | IMPLIED | B;
    LINK "link" SPECIAL, S;
    LISTING "listing" BLOCK | PRE, S | B;
    MAIN "main" BLOCK | REGION | SECTION, C;
    MARQUEE "marquee" 0, S | SCOPE;
    MENU "menu" BLOCK, C | B;
    META "meta" SPECIAL, S | B;
    NAV "nav" BLOCK | REGION | SECTION, C;
    NOBR "nobr" 0, FORMAT | B;
    NOEMBED "noembed" HIDDEN, S;
    NOFRAMES "noframes" HIDDEN, S;
    NOSCRIPT "noscript" 0, S;
    OBJECT "object" 0, S | SCOPE;
    OL "ol" BLOCK, C | B;
    OPTGROUP "optgroup" BLOCK, IMPLIED;
    OPTION "option" BLOCK, IMPLIED;
    P "p" BLOCK, S | IMPLIED | B;
    PARAM "param" 0, S;
    PLAINTEXT "plaintext" BLOCK | PRE, S;
    PREFORMATTED "pre" BLOCK | PRE, S | B;
    RB "rb" 0, IMPLIED;
    RP "rp" 0, IMPLIED;
    RT "rt" 0, IMPLIED;
    RTC "rtc" 0, IMPLIED;
    RUBY "ruby" 0, B;
    STRUCK "s" 0, FORMAT | B;
    SCRIPT "script" HIDDEN | OPAQUE, S;
    SEARCH "search" BLOCK, CONTAINER;
    SECTION_TAG "section" BLOCK | SECTION, C;
    SELECT "select" BLOCK, S | SCOPE;
    SMALL "small" 0, FORMAT | B;
    SOURCE "source" 0, S;
    SPAN "span" 0, B;
    STRIKE "strike" 0, FORMAT | B;
    STRONG "strong" 0, FORMAT | B;
    STYLE "style" HIDDEN | OPAQUE, S;
    SUB "sub" 0, B;
    SUMMARY "summary" BLOCK, C;
    SUP "sup" 0, B;
    TABLE "table" BLOCK, S | SCOPE | B;
    TBODY "tbody" BLOCK, S | TABLE_PART;
    TD "td" CELL, S | SCOPE | TABLE_PART;
    TEMPLATE "template" 0, S | SCOPE;
    TEXTAREA "textarea" CELL | PRE, S;
    TFOOT "tfoot" BLOCK, S | TABLE_PART;
    TH "th" CELL, S | SCOPE | TABLE_PART;
    THEAD "thead" BLOCK, S | TABLE_PART;
    TITLE "title" HIDDEN | SPECIAL, S;
    TR "tr" BLOCK, S | TABLE_PART;
    TRACK "track" 0, S;
    TT "tt" 0, FORMAT | B;
    U "u" 0, FORMAT | B;
    UL "ul" BLOCK, C | B;
    VAR "var" 0, B;
    WBR "wbr" 0, S;
    XMP "xmp" BLOCK | PRE, S;
    // Nothing special, but often written in capitals.
    ABBR "abbr" 0, 0;
    ACRONYM "acronym" 0, 0;
    BLINK "blink" 0, 0;
    CITE "cite" 0, 0;
    DEL "del" 0, 0;
    DFN "dfn" 0, 0;
    INS "ins" 0, 0;
    KBD "kbd" 0, 0;
    LABEL "label" 0, 0;
    MAP "map" 0, 0;
    NEXTID "nextid" 0, 0;
    QUOTE "q" 0, 0;
    SAMP "samp" 0, 0;
    SPACER "spacer" 0, 0;
    // Roots and some elements of foreign content.
    SVG "svg" 0, 0;
    MATH "math" 0, 0;
    ANNOTATION "annotation" 0, 0;
    ANNOTATION_XML "annotation-xml" 0, 0;
    DEFS "defs" 0, 0;
    DESC "desc" 0, 0;
    FOREIGN_OBJECT "foreignobject" 0, 0;
    METADATA "metadata" 0, 0;
    SVG_TEXT "text" 0, 0;
    MI "mi" 0, 0;
    MO "mo" 0, 0;
    MN "mn" 0, 0;
    MS "ms" 0, 0;
    MTEXT "mtext" 0, 0;
}

const _: () = assert!(KNOWN.len() < 256);

#[inline]
pub fn rules(tag: Tag) -> Rules {
    KNOWN.get(tag as usize).map_or(0, |k| k.rules)
}

/// What an element of the HTML namespace means for extraction.
#[inline]
pub fn html_class(tag: Tag) -> Class {
    KNOWN.get(tag as usize).map_or(0, |k| k.class)
}

/// The same for elements of SVG and MathML.
pub fn foreign_class(tag: Tag) -> Class {
    match tag {
        A => SPECIAL,
        SCRIPT | STYLE => HIDDEN | OPAQUE,
        TITLE | DESC | METADATA | ANNOTATION | ANNOTATION_XML | DEFS => HIDDEN,
        SVG_TEXT => CELL,
        _ => 0,
    }
}

/// Names of up to this many bytes are looked up; no known one is longer.
pub const LONGEST: usize = 16;

/// Packs a name, byte by byte; the name must be in lower case.
#[inline]
pub const fn pack(key: u128, byte: u8) -> u128 {
    key << 8 | byte as u128
}

const fn packed(name: &str) -> u128 {
    let bytes = name.as_bytes();
    let mut key = 0;
    let mut i = 0;
    while i < bytes.len() {
        key = pack(key, bytes[i]);
        i += 1;
    }
    key
}

const SLOTS: usize = 512;

#[inline]
const fn slot(key: u128) -> usize {
    let folded = key as u64 ^ ((key >> 64) as u64).rotate_left(17);
    (folded.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 55) as usize
}

const TABLE_OF_TAGS: [(u128, Tag); SLOTS] = {
    let mut table = [(0, UNKNOWN); SLOTS];
    let mut id = 1;
    while id < KNOWN.len() {
        let key = packed(KNOWN[id].name);
        let mut at = slot(key);
        while table[at].0 != 0 {
            at = (at + 1) % SLOTS;
        }
        table[at] = (key, id as Tag);
        id += 1;
    }
    table
};
static TAGS: [(u128, Tag); SLOTS] = TABLE_OF_TAGS;

/// The number of a packed name.
#[inline]
pub fn tag_of(key: u128) -> Tag {
    let mut at = slot(key);
    loop {
        match TAGS.get(at) {
            Some((k, id)) if *k == key => return *id,
            Some((0, _)) | None => return UNKNOWN,
            _ => at = (at + 1) % SLOTS,
        }
    }
}

/// The text of a known name.
pub fn text_of(tag: Tag) -> &'static str {
    KNOWN.get(tag as usize).map_or("", |k| k.name)
}

impl<'s> Name<'s> {
    pub fn known(id: Tag) -> Name<'static> {
        Name { id, text: text_of(id) }
    }

    /// Of a name in any spelling (foreign names keep their capitals).
    pub fn of(text: &'s str) -> Name<'s> {
        let id = if text.is_empty() || text.len() > LONGEST {
            UNKNOWN
        } else {
            tag_of(text.bytes().fold(0, |key, b| pack(key, b.to_ascii_lowercase())))
        };
        Name { id, text }
    }
}

/// The attributes that mean something here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attr {
    Role,
    Href,
    Src,
    Type,
    Title,
    Alt,
    AriaLabel,
    Rel,
    Name,
    Property,
    Content,
    HttpEquiv,
    Hreflang,
    Lang,
    XmlLang,
    Id,
    Class,
    Itemscope,
    Itemprop,
    Itemtype,
    Datetime,
    Pubdate,
}

impl Attr {
    #[inline]
    pub fn of_packed(key: u128) -> Option<Attr> {
        const ROLE: u128 = packed("role");
        const HREF: u128 = packed("href");
        const SRC: u128 = packed("src");
        const TYPE: u128 = packed("type");
        const TITLE: u128 = packed("title");
        const ALT: u128 = packed("alt");
        const ARIA_LABEL: u128 = packed("aria-label");
        const REL: u128 = packed("rel");
        const NAME: u128 = packed("name");
        const PROPERTY: u128 = packed("property");
        const CONTENT: u128 = packed("content");
        const HTTP_EQUIV: u128 = packed("http-equiv");
        const HREFLANG: u128 = packed("hreflang");
        const LANG: u128 = packed("lang");
        const XML_LANG: u128 = packed("xml:lang");
        const ID: u128 = packed("id");
        const CLASS: u128 = packed("class");
        const ITEMSCOPE: u128 = packed("itemscope");
        const ITEMPROP: u128 = packed("itemprop");
        const ITEMTYPE: u128 = packed("itemtype");
        const DATETIME: u128 = packed("datetime");
        const PUBDATE: u128 = packed("pubdate");
        Some(match key {
            CLASS => Attr::Class,
            HREF => Attr::Href,
            ID => Attr::Id,
            TITLE => Attr::Title,
            REL => Attr::Rel,
            ROLE => Attr::Role,
            SRC => Attr::Src,
            TYPE => Attr::Type,
            ALT => Attr::Alt,
            ARIA_LABEL => Attr::AriaLabel,
            NAME => Attr::Name,
            PROPERTY => Attr::Property,
            CONTENT => Attr::Content,
            HTTP_EQUIV => Attr::HttpEquiv,
            HREFLANG => Attr::Hreflang,
            LANG => Attr::Lang,
            XML_LANG => Attr::XmlLang,
            ITEMSCOPE => Attr::Itemscope,
            ITEMPROP => Attr::Itemprop,
            ITEMTYPE => Attr::Itemtype,
            DATETIME => Attr::Datetime,
            PUBDATE => Attr::Pubdate,
            _ => return None,
        })
    }

    pub fn of(name: &str) -> Option<Attr> {
        (name.len() <= LONGEST).then(|| Attr::of_packed(packed(name))).flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_found() {
        for (id, known) in KNOWN.iter().enumerate().skip(1) {
            assert_eq!(Name::of(known.name).id as usize, id, "{}", known.name);
            assert_eq!(Name::of(&known.name.to_ascii_uppercase()).id as usize, id);
        }
        assert_eq!(Name::of("x-custom").id, UNKNOWN);
        assert_eq!(Name::of("").id, UNKNOWN);
        assert_eq!(Name::of("a-name-that-is-longer-than-any").id, UNKNOWN);
        assert_eq!(Name::known(BLOCKQUOTE).text, "blockquote");
        assert_eq!((Attr::of("http-equiv"), Attr::of("onclick")), (Some(Attr::HttpEquiv), None));
    }
}
