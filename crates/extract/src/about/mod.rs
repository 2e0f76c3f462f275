//! What a page says of itself, for catalogues: who wrote it, when, what it is, who published it.
//!
//! Pages say it in many ways, and in several at once. Each field comes from the first of these that has it
//! (ADR 52):
//!
//! | | |
//! |---|---|
//! | JSON-LD | the item that the page is about (`linked.rs`) |
//! | microdata | the same, written into the markup (`micro.rs`) |
//! | `citation_…` | of journals and repositories |
//! | Dublin Core | of libraries and offices |
//! | Open Graph | for those who share the page |
//! | `<meta name=author>` and the like | |
//! | `<time>` | if the page shows one date only |
//!
//! One pass over the source, in time proportional to it, with bounds on everything that is kept.

mod linked;
mod micro;

use crate::meta;
use crate::names::{self, Attr};
use crate::source::Source;
use crate::text::collapsed;
use crate::walk::Attrs;
use memchr::{memchr, memmem};
use std::borrow::Cow;
use types::{About, Url};

/// Authors of a page that are kept; bytes of a name, of a title, of a kind.
const MAX_AUTHORS: usize = 50;
const MAX_NAME: usize = 200;
const MAX_TITLE: usize = 1_000;
const MAX_KIND: usize = 64;
/// Blocks of JSON-LD that are read, and the longest that is.
const MAX_BLOCKS: usize = 20;
const MAX_BLOCK: usize = 512 << 10;

/// What was found; empty fields are not said.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Found {
    pub title: String,
    /// ISO 639-1.
    pub language: String,
    pub about: About,
    /// Where the thing that is spoken of is. Of an item only.
    url: String,
}

impl Found {
    /// Takes what is not known yet from somebody who is believed less.
    fn or(&mut self, other: Found) {
        let take = |mine: &mut String, other: String| {
            if mine.is_empty() {
                *mine = other;
            }
        };
        take(&mut self.title, other.title);
        take(&mut self.language, other.language);
        take(&mut self.about.published, other.about.published);
        take(&mut self.about.modified, other.about.modified);
        take(&mut self.about.kind, other.about.kind);
        take(&mut self.about.publisher, other.about.publisher);
        if self.about.authors.is_empty() {
            self.about.authors = other.about.authors;
        }
    }

    fn add_author(&mut self, name: &str) {
        let name = name_of(name);
        let authors = &mut self.about.authors;
        if !name.is_empty() && authors.len() < MAX_AUTHORS && !authors.contains(&name) {
            authors.push(name);
        }
    }

    fn set(field: &mut String, value: String) {
        if field.is_empty() {
            *field = value;
        }
    }
}

/// A name in one line; empty when it is an address.
fn name_of(text: &str) -> String {
    let name = collapsed(text.get(..text.floor_char_boundary(4 * MAX_NAME)).unwrap_or(text), MAX_NAME);
    if name.contains("://") || name.starts_with("www.") { String::new() } else { name }
}

/// The name of a type, without the address of its dictionary; empty when it is none.
fn kind_of(text: &str) -> String {
    let name = text.trim().trim_end_matches('/');
    let name = name.rsplit(['/', '#', ':']).next().unwrap_or(name);
    let is_word =
        !name.is_empty() && name.len() <= MAX_KIND && name.bytes().all(|b| b.is_ascii_alphanumeric());
    if is_word { name.to_string() } else { String::new() }
}

/// Reads it from the source of a page.
pub fn read(html: &str, url: &Url) -> Found {
    let text = match memchr(b'\r', html.as_bytes()) {
        // A tag's name ends at a line end, too.
        Some(_) => Cow::Owned(html.replace('\r', "\n")),
        None => Cow::Borrowed(html),
    };
    let mut scan = Scan::new(&text);
    scan.run();
    scan.finish(url)
}

struct Scan<'s> {
    source: Source<'s>,
    attrs: Attrs<'s>,
    linked: Vec<Found>,
    blocks: usize,
    /// `None`: there is no microdata, and most tags need no look.
    micro: Option<micro::Micro<'s>>,
    citation: Found,
    dublin_core: Found,
    open_graph: Found,
    plain: Found,
    published: Dates,
    modified: Dates,
    unmarked: Dates,
}

/// Dates that a page shows: a page about one thing has one.
#[derive(Default)]
enum Dates {
    #[default]
    None,
    One(String),
    Several,
}

impl Dates {
    fn add(&mut self, date: String) {
        match self {
            _ if date.is_empty() => {}
            Dates::None => *self = Dates::One(date),
            Dates::One(first) if *first == date => {}
            _ => *self = Dates::Several,
        }
    }

    fn one(self) -> String {
        if let Dates::One(date) = self { date } else { String::new() }
    }
}

impl<'s> Scan<'s> {
    fn new(text: &'s str) -> Scan<'s> {
        let has_micro = memmem::find(text.as_bytes(), b"itemprop").is_some();
        Scan {
            source: Source { text, at: 0 },
            attrs: Attrs::default(),
            linked: Vec::new(),
            blocks: 0,
            micro: has_micro.then(micro::Micro::default),
            citation: Found::default(),
            dublin_core: Found::default(),
            open_graph: Found::default(),
            plain: Found::default(),
            published: Dates::None,
            modified: Dates::None,
            unmarked: Dates::None,
        }
    }

    fn run(&mut self) {
        while let Some(n) = memchr(b'<', self.source.rest()) {
            self.source.at += n + 1;
            let rest = self.source.rest();
            match rest.first() {
                Some(b'!') if rest.starts_with(b"!--") => {
                    // `<!-->` is one, too.
                    self.source.at += 1;
                    let Some(n) = memmem::find(self.source.rest(), b"-->") else { return };
                    self.source.at += n;
                }
                Some(b'/') => {
                    if let Some(micro) = &mut self.micro {
                        micro.close(name_at(rest.get(1..).unwrap_or_default()), &self.source);
                    }
                }
                Some(b) if b.is_ascii_alphabetic() && (self.micro.is_some() || is_wanted(rest)) => {
                    let mut attrs = std::mem::take(&mut self.attrs);
                    match self.source.tag(&mut attrs, true) {
                        Ok(Some(tag)) => self.tag(tag.name.text, tag.self_closing, &attrs),
                        Ok(None) => return,
                        // What is no usual tag says nothing.
                        Err(_) => {}
                    }
                    self.attrs = attrs;
                }
                _ => {}
            }
        }
    }

    fn tag(&mut self, name: &'s str, self_closing: bool, attrs: &Attrs<'s>) {
        let is = |other: &str| name.eq_ignore_ascii_case(other);
        if is("meta") {
            self.meta(attrs);
        } else if is("time") {
            self.time(attrs);
        } else if is("script") {
            let is_linked = attrs.get(Attr::Type).is_some_and(is_json_ld);
            let text = self.source.raw("script");
            if is_linked && self.blocks < MAX_BLOCKS && text.len() <= MAX_BLOCK {
                self.blocks += 1;
                linked::read(text, &mut self.linked);
            }
            return;
        } else if is("style") || is("title") || is("textarea") {
            self.source.raw(name);
            return;
        }
        if let Some(micro) = &mut self.micro {
            micro.open(name, self_closing, attrs, &self.source);
        }
    }

    fn time(&mut self, attrs: &Attrs<'s>) {
        let Some(date) = attrs.get(Attr::Datetime).map(short_date).filter(|d| d.len() == 10) else { return };
        let class = attrs.get(Attr::Class).unwrap_or("").to_ascii_lowercase();
        if class.contains("publish") || attrs.has(Attr::Pubdate) {
            self.published.add(date);
        } else if class.contains("updated") || class.contains("modified") {
            self.modified.add(date);
        } else {
            self.unmarked.add(date);
        }
    }

    fn meta(&mut self, attrs: &Attrs<'s>) {
        let Some(content) = attrs.get(Attr::Content).filter(|c| !c.trim().is_empty()) else { return };
        let Some(name) = attrs.get(Attr::Property).or_else(|| attrs.get(Attr::Name)) else { return };
        if name.len() > MAX_KIND {
            return;
        }
        let name = name.trim().to_ascii_lowercase();
        if let Some(field) = name.strip_prefix("citation_") {
            citation(&mut self.citation, field, content);
        } else if let Some(field) =
            ["dc.", "dcterms.", "dc:", "dcterms:"].iter().find_map(|p| name.strip_prefix(p))
        {
            dublin_core(&mut self.dublin_core, field, content);
        } else if name.starts_with("og:") || name.starts_with("article:") || name.starts_with("book:") {
            open_graph(&mut self.open_graph, &name, content);
        } else {
            plain(&mut self.plain, &name, content);
        }
    }

    fn finish(mut self, url: &Url) -> Found {
        let mut found = chosen(self.linked, url);
        if let Some(micro) = self.micro.take() {
            found.or(chosen(micro.finish(&self.source), url));
        }
        for less in [self.citation, self.dublin_core, self.open_graph, self.plain] {
            found.or(less);
        }
        let mut shown = Found::default();
        shown.about.published = match self.published.one() {
            marked if marked.is_empty() => self.unmarked.one(),
            marked => marked,
        };
        shown.about.modified = self.modified.one();
        found.or(shown);
        found
    }
}

fn is_json_ld(kind: &str) -> bool {
    kind.split(';').next().unwrap_or("").trim().eq_ignore_ascii_case("application/ld+json")
}

/// Is this the name of a tag that says something by itself, or whose text is none of ours?
fn is_wanted(after: &[u8]) -> bool {
    ["meta", "script", "time", "style", "title", "textarea"]
        .iter()
        .any(|name| after.get(..name.len()).is_some_and(|a| a.eq_ignore_ascii_case(name.as_bytes())))
}

/// The tag name that begins here.
fn name_at(rest: &[u8]) -> &str {
    let rest = rest.get(..names::LONGEST.min(rest.len())).unwrap_or_default();
    let end = rest.iter().position(|b| !b.is_ascii_alphanumeric() && *b != b'-').unwrap_or(rest.len());
    rest.get(..end).and_then(|name| std::str::from_utf8(name).ok()).unwrap_or("")
}

fn short_date(text: &str) -> String {
    meta::date(text.get(..text.floor_char_boundary(100)).unwrap_or(text))
}

fn title_of(text: &str) -> String {
    collapsed(text, MAX_TITLE)
}

fn citation(found: &mut Found, field: &str, content: &str) {
    let about = &mut found.about;
    let kind = match field {
        "author" => return found.add_author(content),
        "authors" => return content.split(';').for_each(|name| found.add_author(name)),
        "publication_date" => {
            // It is the word of the publisher; others are of a printed or of an early form.
            about.published = short_date(content);
            return;
        }
        "date" | "online_date" | "cover_date" | "year" => {
            return Found::set(&mut about.published, short_date(content));
        }
        "publisher" => return Found::set(&mut about.publisher, name_of(content)),
        "title" => return Found::set(&mut found.title, title_of(content)),
        "language" => return Found::set(&mut found.language, meta::language_tag(content)),
        "dissertation_institution" => "Thesis",
        "technical_report_institution" => "Report",
        "journal_title" | "conference_title" => "ScholarlyArticle",
        "isbn" => "Book",
        _ => return,
    };
    if field.ends_with("_institution") {
        Found::set(&mut about.publisher, name_of(content));
    }
    Found::set(&mut about.kind, kind.to_string());
}

fn dublin_core(found: &mut Found, field: &str, content: &str) {
    let about = &mut found.about;
    match field {
        "creator" | "creator.personalname" => found.add_author(content),
        "date" | "issued" | "date.issued" | "created" | "date.created" | "date.publication" => {
            Found::set(&mut about.published, short_date(content));
        }
        "modified" | "date.modified" => Found::set(&mut about.modified, short_date(content)),
        "publisher" => Found::set(&mut about.publisher, name_of(content)),
        // "Text" is nearly everything.
        "type" if !content.trim().eq_ignore_ascii_case("text") => {
            Found::set(&mut about.kind, kind_of(content))
        }
        "title" => Found::set(&mut found.title, title_of(content)),
        "language" => Found::set(&mut found.language, meta::language_tag(content)),
        _ => {}
    }
}

fn open_graph(found: &mut Found, name: &str, content: &str) {
    let about = &mut found.about;
    match name {
        "article:author" | "book:author" => found.add_author(content),
        "article:published_time" | "book:release_date" => {
            Found::set(&mut about.published, short_date(content))
        }
        "article:modified_time" | "og:updated_time" => Found::set(&mut about.modified, short_date(content)),
        "og:site_name" => Found::set(&mut about.publisher, name_of(content)),
        "og:title" => Found::set(&mut found.title, title_of(content)),
        "og:type" => {
            let kind = match content.trim() {
                "article" => "Article",
                "book" => "Book",
                "profile" => "ProfilePage",
                "product" => "Product",
                video if video.starts_with("video") => "VideoObject",
                music if music.starts_with("music") => "MusicRecording",
                // `website` is said of everything.
                _ => return,
            };
            Found::set(&mut about.kind, kind.to_string());
        }
        _ => {}
    }
}

fn plain(found: &mut Found, name: &str, content: &str) {
    let about = &mut found.about;
    match name {
        "author" | "authors" | "parsely-author" | "sailthru.author" => {
            content.split(';').for_each(|name| found.add_author(name));
        }
        "date" | "pubdate" | "publishdate" | "publish-date" | "publish_date" | "publication_date"
        | "parsely-pub-date" | "sailthru.date" => Found::set(&mut about.published, short_date(content)),
        "last-modified" | "last_modified" | "lastmod" | "revised" => {
            Found::set(&mut about.modified, short_date(content));
        }
        "publisher" => Found::set(&mut about.publisher, name_of(content)),
        _ => {}
    }
}

/// Things that stand on a page without being what it is about; `None`: it never is.
fn rank(kind: &str) -> Option<u8> {
    Some(match kind {
        ""
        | "Person"
        | "Organization"
        | "NewsMediaOrganization"
        | "CollegeOrUniversity"
        | "EducationalOrganization"
        | "Corporation"
        | "LocalBusiness"
        | "WebSite"
        | "BreadcrumbList"
        | "ItemList"
        | "ListItem"
        | "ImageObject"
        | "SearchAction"
        | "ReadAction"
        | "SiteNavigationElement"
        | "WPHeader"
        | "WPFooter"
        | "WPSideBar"
        | "PostalAddress"
        | "ContactPoint"
        | "Offer"
        | "AggregateRating"
        | "Rating"
        | "Comment"
        | "Brand" => return None,
        page if page.ends_with("Page") => 1,
        "Thing" | "CreativeWork" | "Blog" | "Table" | "WebPageElement" | "WebApplication" => 2,
        _ => 3,
    })
}

/// The item that the page is about, completed by those that are about the page.
fn chosen(items: Vec<Found>, url: &Url) -> Found {
    let here = |item: &Found| {
        let address = item.url.split('#').next().unwrap_or("").trim_end_matches('/');
        !address.is_empty() && address == url.as_str().trim_end_matches('/')
    };
    let mut ranked: Vec<(u8, bool, Found)> =
        items.into_iter().filter_map(|item| Some((rank(&item.about.kind)?, here(&item), item))).collect();
    // Stable: of equals the first on the page.
    ranked.sort_by_key(|(rank, here, _)| (std::cmp::Reverse(*rank), !*here));
    let mut found = Found::default();
    let mut kinds: Vec<(String, bool)> = Vec::new();
    for (rank, here, item) in &ranked {
        // Two of a kind are a list of them, and the page is about none, unless one says that it is here.
        let others = ranked.iter().filter(|(_, _, o)| o.about.kind == item.about.kind).count();
        if *rank > 1 && others > 1 && !here {
            continue;
        }
        if kinds.iter().any(|(kind, _)| *kind == item.about.kind) {
            continue;
        }
        kinds.push((item.about.kind.clone(), *here));
        found.or(item.clone());
    }
    found
}
