//! Sitemaps and feeds → links.

use crate::text::{Gap, Text, collapsed};
use crate::{Options, charset, html, meta, parse};
use quick_xml::Reader;
use quick_xml::events::{BytesRef, BytesStart, Event};
use types::{Block, Leaf, Link, LinkKind, Page, PageKind, Region, Rel, Span, Url};

/// The sitemap protocol's own limit; the caps on links of a page are not meant for it.
const SITEMAP_LINKS: usize = 50_000;
/// Longest value of an element that is kept.
const MAX_VALUE: usize = 64 << 10;
const MAX_TITLE: usize = 1_000;
const MAX_LABEL: usize = 300;
/// Resolves to nothing.
const NOT_AN_ADDRESS: &str = "urn:x";

/// Something with a link: an item, an entry, a `<url>`.
#[derive(Default)]
struct Item {
    href: String,
    guid: String,
    title: String,
    summary: String,
    /// Another sitemap.
    nested: bool,
}

/// Collects links and their text in order.
struct Collector<'a> {
    url: &'a Url,
    options: &'a Options,
    kind: LinkKind,
    max_links: usize,
    page: Page,
    text: Text,
}

impl<'a> Collector<'a> {
    fn new(url: &'a Url, options: &'a Options, kind: LinkKind, mut page: Page) -> Self {
        let path = if kind == LinkKind::Sitemap { "urlset>url>loc" } else { "feed>entry>link" };
        page.paths.push(path.into());
        if kind == LinkKind::Sitemap {
            page.paths.push(types::NESTED_SITEMAP.into());
        }
        let max_links =
            if kind == LinkKind::Sitemap { options.max_links.max(SITEMAP_LINKS) } else { options.max_links };
        Collector { url, options, kind, max_links, page, text: Text::new(options.max_text) }
    }

    fn leaf(&mut self, value: &str) -> Span {
        self.text.gap(Gap::Line);
        let span = self.text.push(value, false);
        self.page.leaves.push(Leaf { span });
        span
    }

    fn add(&mut self, item: &Item) {
        let first = self.text.len();
        let leaf = self.page.leaves.len() as u32;
        let title = html::text_of(&item.title, self.url, self.options);
        let anchor = if title.is_empty() {
            self.page.leaves.push(Leaf::default());
            Span::new(first, first)
        } else {
            self.leaf(&title)
        };
        let mut context = anchor;
        if !item.summary.is_empty() {
            let summary = html::text_of(&item.summary, self.url, self.options);
            let span = self.leaf(&summary);
            if !span.is_empty() {
                let end =
                    self.text.as_str().floor_char_boundary(span.start as usize + 300).min(span.end as usize);
                context = Span::new(if anchor.is_empty() { span.start } else { anchor.start } as usize, end);
            }
        }
        let href = if item.href.is_empty() { &item.guid } else { &item.href };
        if self.page.links.len() >= self.max_links {
            return;
        }
        let Ok(url) = self.options.join(self.url, href) else { return };
        self.page.links.push(Link {
            url,
            kind: self.kind,
            anchor,
            label: collapsed(&title, MAX_LABEL).into(),
            rel: Rel::default(),
            region: Region::Body,
            context,
            heading: None,
            path: u32::from(item.nested),
            first_leaf: leaf,
            last_leaf: leaf,
        });
    }

    fn finish(mut self) -> Page {
        self.page.cut |= self.text.full;
        self.page.text = self.text.finish();
        if !self.page.text.is_empty() {
            let span = Span::new(0, self.page.text.len());
            self.page.blocks.push(Block { span, region: Region::Body });
        }
        // Contexts are known better here than sentences would tell.
        let contexts: Vec<Span> = self.page.links.iter().map(|l| l.context).collect();
        html::finish(&mut self.page, self.options);
        for (link, context) in self.page.links.iter_mut().zip(contexts) {
            link.context = context;
        }
        self.page
    }
}

pub fn sitemap(url: &Url, content_type: Option<&str>, body: &[u8], options: &Options, page: Page) -> Page {
    let part = body.get(..parse::MAX_INPUT).unwrap_or(body);
    let (text, charset) = charset::decode(part, content_type, url.host());
    let page =
        Page { kind: PageKind::Sitemap, charset: charset.into(), cut: part.len() < body.len(), ..page };
    let mut to = Collector::new(url, options, LinkKind::Sitemap, page);
    if !text.trim_start().starts_with('<') {
        for line in text.lines().map(str::trim).filter(|l| !l.is_empty()).take(SITEMAP_LINKS) {
            to.add(&Item { href: line.into(), ..Item::default() });
        }
        return to.finish();
    }
    let mut item = Item::default();
    let whole = events(&text, |what| match what {
        Found::Start(name @ ("url" | "sitemap"), _) => {
            item = Item { nested: name == "sitemap", ..Item::default() }
        }
        Found::End("loc", value) if item.href.is_empty() => item.href = value.trim().into(),
        // News and video sitemaps name their pages.
        Found::End("title", value) if item.title.is_empty() => item.title = value.trim().into(),
        Found::End("url" | "sitemap", _) if !item.href.is_empty() => to.add(&std::mem::take(&mut item)),
        _ => {}
    });
    to.page.cut |= !whole;
    to.finish()
}

/// When the pages of a sitemap changed last, as it says: addresses and dates, both as they stand there.
pub fn sitemap_dates(url: &Url, content_type: Option<&str>, body: &[u8]) -> Vec<(String, String)> {
    let (content_type, body) = crate::sniff::unzipped(content_type, body);
    let part = body.get(..parse::MAX_INPUT).unwrap_or(&body);
    let (text, _) = charset::decode(part, content_type, url.host());
    let (mut all, mut href, mut date) = (Vec::new(), String::new(), String::new());
    events(&text, |what| match what {
        Found::Start("url", _) => (href, date) = Default::default(),
        Found::End("loc", value) if href.is_empty() => href = value.trim().into(),
        Found::End("lastmod", value) if date.is_empty() && value.len() < 64 => date = value.trim().into(),
        Found::End("url", _) if !href.is_empty() && !date.is_empty() && all.len() < SITEMAP_LINKS => {
            all.push((std::mem::take(&mut href), std::mem::take(&mut date)));
        }
        _ => {}
    });
    all
}

pub fn feed(url: &Url, content_type: Option<&str>, body: &[u8], options: &Options, page: Page) -> Page {
    let part = body.get(..parse::MAX_INPUT).unwrap_or(body);
    let (text, charset) = charset::decode(part, content_type, url.host());
    let page = Page { kind: PageKind::Feed, charset: charset.into(), cut: part.len() < body.len(), ..page };
    let mut to = Collector::new(url, options, LinkKind::Feed, page);
    let mut item: Option<Item> = None;
    let whole = events(&text, |what| match (what, &mut item) {
        (Found::Start("item" | "entry", _), _) => item = Some(Item::default()),
        (Found::End("item" | "entry", _), Some(_)) => {
            if let Some(done) = item.take() {
                to.add(&done);
            }
        }
        // Atom: the page is `rel="alternate"`, which is what no `rel` means.
        (Found::Start("link", tag), Some(item)) => {
            let rel = attribute(tag, "rel").unwrap_or_default();
            if let Some(href) = attribute(tag, "href")
                && item.href.is_empty()
                && (rel.is_empty() || rel == "alternate")
            {
                item.href = href;
            }
        }
        // An identifier that only looks like an address.
        (Found::Start("guid", tag), Some(item))
            if attribute(tag, "isPermaLink").is_some_and(|v| v == "false") =>
        {
            item.guid = NOT_AN_ADDRESS.into();
        }
        (Found::End("link", value), Some(item)) if item.href.is_empty() => item.href = value.trim().into(),
        (Found::End("guid", value), Some(item)) if item.guid.is_empty() => item.guid = value.trim().into(),
        (Found::End("title", value), Some(item)) if item.title.is_empty() => item.title = value.into(),
        (Found::End("description" | "summary" | "encoded" | "content", value), Some(item))
            if item.summary.is_empty() =>
        {
            item.summary = value.into();
        }
        (Found::End("title", value), None) if to.page.title.is_empty() => {
            to.page.title = collapsed(&html::text_of(value, url, options), MAX_TITLE);
        }
        (Found::End("description" | "subtitle", value), None) if to.page.description.is_empty() => {
            to.page.description = collapsed(&html::text_of(value, url, options), MAX_TITLE);
        }
        (Found::End("language", value), None) => to.page.language = meta::language_tag(value),
        _ => {}
    });
    to.page.cut |= !whole;
    to.finish()
}

/// What the reader came across. Names are local; the value of an element is the text directly inside it.
enum Found<'a> {
    Start(&'a str, &'a BytesStart<'a>),
    End(&'a str, &'a str),
}

/// Reads XML leniently; false when it broke off. Only the innermost element's text is kept, so memory is
/// bounded.
fn events(text: &str, mut found: impl FnMut(Found)) -> bool {
    let mut reader = Reader::from_str(text);
    let config = reader.config_mut();
    config.check_end_names = false;
    config.allow_unmatched_ends = true;
    config.allow_dangling_amp = true;
    let mut value = String::new();
    loop {
        let room = MAX_VALUE.saturating_sub(value.len());
        match reader.read_event() {
            Ok(Event::Start(tag)) => {
                value.clear();
                found(Found::Start(local(tag.name().0), &tag));
            }
            Ok(Event::Empty(tag)) => {
                value.clear();
                found(Found::Start(local(tag.name().0), &tag));
                found(Found::End(local(tag.name().0), ""));
            }
            Ok(Event::End(tag)) => {
                found(Found::End(local(tag.name().0), &value));
                value.clear();
            }
            Ok(Event::Text(t)) => value.push_str(&t[..t.floor_char_boundary(room)]),
            Ok(Event::CData(t)) => value.push_str(&t[..t.floor_char_boundary(room)]),
            Ok(Event::GeneralRef(r)) if room > 0 => reference(&mut value, &r),
            Ok(Event::Eof) => return true,
            Ok(_) => {}
            Err(_) => return false,
        }
    }
}

fn reference(value: &mut String, r: &BytesRef) {
    match &**r {
        "lt" => value.push('<'),
        "gt" => value.push('>'),
        "amp" => value.push('&'),
        "quot" => value.push('"'),
        "apos" => value.push('\''),
        // A named character of HTML: kept as it is, the text is read as HTML later.
        name => match r.resolve_char_ref() {
            Ok(Some(c)) => value.push(c),
            _ => {
                value.push('&');
                value.push_str(&name[..name.floor_char_boundary(16)]);
                value.push(';');
            }
        },
    }
}

pub fn local(name: &str) -> &str {
    name.rsplit(':').next().unwrap_or(name)
}

fn attribute(tag: &BytesStart, name: &str) -> Option<String> {
    let mut all = tag.attributes();
    // Without the check for duplicates, which is quadratic.
    let found = all.with_checks(false).take(64).flatten().find(|a| a.key.0 == name)?;
    Some(unescaped(&found.value))
}

/// The value of an attribute with its references resolved; as it is when it has one that is none.
pub fn unescaped(value: &str) -> String {
    quick_xml::escape::unescape(value).map_or_else(|_| value.to_string(), |v| v.into_owned())
}
