use crate::{LinkKind, Url};
use serde::{Deserialize, Serialize};

/// Path of a link from a sitemap to another sitemap.
pub const NESTED_SITEMAP: &str = "sitemapindex>sitemap>loc";

/// A range of bytes of [`Page::text`], on character boundaries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Span {
    pub start: u32,
    pub end: u32,
}

impl Span {
    pub fn new(start: usize, end: usize) -> Span {
        Span { start: start as u32, end: end as u32 }
    }
    pub fn is_empty(self) -> bool {
        self.start >= self.end
    }
    pub fn len(self) -> usize {
        self.end.saturating_sub(self.start) as usize
    }
    pub fn of(self, text: &str) -> &str {
        text.get(self.start as usize..self.end as usize).unwrap_or("")
    }
}

/// What extraction makes of the bytes of an answer. Extraction never fails: bad input gives a poorer page.
///
/// All text that is visible to a reader is in `text`, in document order, one line per block; blocks, leaves,
/// headings, anchors and contexts are spans of it, so that nothing is stored twice.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Page {
    pub url: Option<Url>,
    pub kind: PageKind,
    /// Name of the encoding the bytes were decoded with (WHATWG name).
    pub charset: String,
    pub title: String,
    pub description: String,
    /// ISO 639-1 code (`en`), from the markup when it says so, else detected; empty when unknown.
    pub language: String,
    pub text: String,
    /// Regions of the text by role, in order, covering it without gaps.
    pub blocks: Vec<Block>,
    pub headings: Vec<Heading>,
    /// DOM leaves numbered left to right (spec §4). The index is the leaf number; leaves without visible text
    /// (comments, `img`, `script`…) have an empty span.
    pub leaves: Vec<Leaf>,
    pub links: Vec<Link>,
    /// Distinct tag paths of links (`html>body>div.main>ul>li>a`), referred to by [`Link::path`].
    pub paths: Vec<Box<str>>,
    pub canonical: Option<Url>,
    pub refresh: Option<Url>,
    pub robots: MetaRobots,
    /// 64-bit SimHash of the word shingles of the body text, for near-duplicates; 0 when there is too little text.
    pub simhash: u64,
    /// The parser stopped early (depth, steps or size guard): the page is what was read until then.
    pub cut: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum PageKind {
    #[default]
    Html,
    Text,
    Pdf,
    Sitemap,
    Feed,
    /// A type we cannot read: no text, no links.
    Opaque,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Region {
    #[default]
    Body,
    Nav,
    Header,
    Footer,
    Aside,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Block {
    pub span: Span,
    pub region: Region,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Heading {
    pub level: u8,
    pub span: Span,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Leaf {
    pub span: Span,
}

/// What `rel` and the robots directives say of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rel {
    pub nofollow: bool,
    pub ugc: bool,
    pub sponsored: bool,
    pub next: bool,
    pub alternate: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MetaRobots {
    pub noindex: bool,
    pub nofollow: bool,
    pub noarchive: bool,
}

/// A link as it stands on a page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Link {
    pub url: Url,
    pub kind: LinkKind,
    /// Visible text of the link (a span of the page's text).
    pub anchor: Span,
    /// Text that is not visible: `title`, `aria-label`, `alt` of images inside, joined by blanks.
    pub label: Box<str>,
    pub rel: Rel,
    pub region: Region,
    /// The sentence(s) around the anchor, the anchor included.
    pub context: Span,
    /// Index of the nearest heading before it in [`Page::headings`].
    pub heading: Option<u32>,
    /// Index into [`Page::paths`].
    pub path: u32,
    /// First and last DOM leaf inside the `<a>` subtree; an empty link counts as a leaf of its own.
    pub first_leaf: u32,
    pub last_leaf: u32,
}

impl Page {
    pub fn anchor(&self, link: &Link) -> &str {
        link.anchor.of(&self.text)
    }
    pub fn context(&self, link: &Link) -> &str {
        link.context.of(&self.text)
    }
    pub fn path(&self, link: &Link) -> &str {
        self.paths.get(link.path as usize).map_or("", |p| p)
    }
    /// Does a sitemap name another sitemap with this link?
    pub fn names_sitemap(&self, link: &Link) -> bool {
        self.kind == PageKind::Sitemap && self.path(link) == NESTED_SITEMAP
    }
    pub fn heading(&self, link: &Link) -> &str {
        link.heading.and_then(|h| self.headings.get(h as usize)).map_or("", |h| h.span.of(&self.text))
    }
}
