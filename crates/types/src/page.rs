use crate::{LinkKind, Url};
use serde::{Deserialize, Serialize};

/// Path of a link from a sitemap to another sitemap.
pub const NESTED_SITEMAP: &str = "sitemapindex>sitemap>loc";

/// A range of bytes of [`Page::text`], on character boundaries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// From byte `start` to before byte `end`.
    pub fn new(start: usize, end: usize) -> Span {
        Span { start: start as u32, end: end as u32 }
    }
    /// It holds no byte.
    pub fn is_empty(self) -> bool {
        self.start >= self.end
    }
    /// Bytes, not characters.
    pub fn len(self) -> usize {
        self.end.saturating_sub(self.start) as usize
    }
    /// The text it stands for; empty when it does not fit `text`.
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
    /// Where the page came from; `None` only in pages made without one.
    pub url: Option<Url>,
    /// What was read: HTML, plain text, a PDF file …
    pub kind: PageKind,
    /// Name of the encoding the bytes were decoded with (WHATWG name).
    pub charset: String,
    /// Text of `<title>`, blanks collapsed.
    pub title: String,
    /// `<meta name=description>`.
    pub description: String,
    /// ISO 639-1 code (`en`), from the markup when it says so, else detected; empty when unknown.
    pub language: String,
    /// The visible text, one line per block.
    pub text: String,
    /// Regions of the text by role, in order, covering it without gaps.
    pub blocks: Vec<Block>,
    /// Headings `h1`–`h6` in document order.
    pub headings: Vec<Heading>,
    /// DOM leaves numbered left to right (Chakrabarti et al. 2002). The index is the leaf number; leaves
    /// without visible text (comments, `img`, `script`…) have an empty span.
    pub leaves: Vec<Leaf>,
    /// Links in document order.
    pub links: Vec<Link>,
    /// Distinct tag paths of links (`html>body>div.main>ul>li>a`), referred to by [`Link::path`].
    pub paths: Vec<Box<str>>,
    /// `<link rel=canonical>`, made absolute.
    pub canonical: Option<Url>,
    /// Target of `<meta http-equiv=refresh>`, made absolute.
    pub refresh: Option<Url>,
    /// What `<meta name=robots>` and `X-Robots-Tag` ask for.
    pub robots: MetaRobots,
    /// 64-bit SimHash of the word shingles of the body text, for near-duplicates; 0 when there is too little
    /// text.
    pub simhash: u64,
    /// The parser stopped early (depth, steps or size guard): the page is what was read until then.
    pub cut: bool,
    /// Why a document has no text.
    pub no_text: Option<NoText>,
    /// What the page says of itself.
    pub about: About,
}

/// What a page or document says of itself, in fields for catalogues. Empty: it does not say.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    /// Names of those who wrote it.
    pub authors: Vec<String>,
    /// When it was published, as `2026-11-16`, `2026-11` or `2026`.
    pub published: String,
    /// When it was changed last, in the same form.
    pub modified: String,
    /// What it is, in the words of schema.org: `Article`, `Course`, `Book` …
    pub kind: String,
    /// Who published it.
    pub publisher: String,
}

impl About {
    /// It says nothing.
    pub fn is_empty(&self) -> bool {
        *self == About::default()
    }
}

/// Why there is no text in a document that is whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum NoText {
    /// A password opens it.
    Encrypted,
    /// Its pages are pictures.
    Scanned,
}

impl std::fmt::Display for NoText {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            NoText::Encrypted => "it is encrypted, and only a password opens it",
            NoText::Scanned => "its pages are scanned pictures without text",
        })
    }
}

/// What the bytes of an answer are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum PageKind {
    /// HTML or XHTML.
    #[default]
    Html,
    /// Plain text.
    Text,
    /// Text with the marks of Markdown.
    Markdown,
    /// A PDF file; read only with the feature `pdf` of `extract`.
    Pdf,
    /// Word's format since 2007.
    Docx,
    /// PowerPoint's format since 2007.
    Pptx,
    /// Excel's format since 2007.
    Xlsx,
    /// OpenDocument text.
    Odt,
    /// OpenDocument slides.
    Odp,
    /// OpenDocument tables.
    Ods,
    /// An electronic book.
    Epub,
    /// Rich text.
    Rtf,
    /// A sitemap or an index of sitemaps.
    Sitemap,
    /// An RSS or Atom feed.
    Feed,
    /// A type we cannot read: no text, no links.
    Opaque,
}

/// The role of a part of a page, from its elements and ARIA roles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Region {
    /// The page's own content.
    #[default]
    Body,
    /// Menus and other navigation.
    Nav,
    /// The head of the site or page.
    Header,
    /// The foot of the site or page.
    Footer,
    /// Beside the content: side bars, advertisements.
    Aside,
}

/// A stretch of text of one role.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Block {
    /// Where it is in the text.
    pub span: Span,
    /// Its role.
    pub region: Region,
}

/// A heading of the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Heading {
    /// 1–6.
    pub level: u8,
    /// Its text.
    pub span: Span,
}

/// A leaf of the element tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Leaf {
    /// Its visible text; empty when it has none.
    pub span: Span,
}

/// What `rel` and the robots directives say of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rel {
    /// `nofollow`: the page does not vouch for the target.
    pub nofollow: bool,
    /// `ugc`: users of the site wrote it.
    pub ugc: bool,
    /// `sponsored`: somebody paid for it.
    pub sponsored: bool,
    /// `next`: the next page of a series.
    pub next: bool,
    /// `alternate`: the same content in another form or language.
    pub alternate: bool,
}

/// What a page asks of crawlers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MetaRobots {
    /// Keep it out of search and export.
    pub noindex: bool,
    /// Do not follow its links.
    pub nofollow: bool,
    /// Do not keep a copy of it.
    pub noarchive: bool,
}

/// A link as it stands on a page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Link {
    /// Canonical target.
    pub url: Url,
    /// The element that makes the link.
    pub kind: LinkKind,
    /// Visible text of the link (a span of the page's text).
    pub anchor: Span,
    /// Text that is not visible: `title`, `aria-label`, `alt` of images inside, joined by blanks.
    pub label: Box<str>,
    /// What its `rel` says.
    pub rel: Rel,
    /// Role of the part of the page it stands in.
    pub region: Region,
    /// The sentence(s) around the anchor, the anchor included.
    pub context: Span,
    /// Index of the nearest heading before it in [`Page::headings`].
    pub heading: Option<u32>,
    /// Index into [`Page::paths`].
    pub path: u32,
    /// First and last DOM leaf inside the `<a>` subtree; an empty link counts as a leaf of its own.
    pub first_leaf: u32,
    /// The last leaf inside; equal to `first_leaf` when there is one only.
    pub last_leaf: u32,
}

impl Page {
    /// The link's visible text.
    pub fn anchor(&self, link: &Link) -> &str {
        link.anchor.of(&self.text)
    }
    /// The sentences around the link, its own text included.
    pub fn context(&self, link: &Link) -> &str {
        link.context.of(&self.text)
    }
    /// Tags from the root to the link, as `html>body>p>a`.
    pub fn path(&self, link: &Link) -> &str {
        self.paths.get(link.path as usize).map_or("", |p| p)
    }
    /// Does a sitemap name another sitemap with this link?
    pub fn names_sitemap(&self, link: &Link) -> bool {
        self.kind == PageKind::Sitemap && self.path(link) == NESTED_SITEMAP
    }
    /// Text of the nearest heading before the link; empty when there is none.
    pub fn heading(&self, link: &Link) -> &str {
        link.heading.and_then(|h| self.headings.get(h as usize)).map_or("", |h| h.span.of(&self.text))
    }
}
