//! One walk over the tree that writes the text and finds everything in it.
//!
//! The walk is iterative (a hostile tree may be deep), visits each node once and copies nothing but visible text.

use crate::Options;
use crate::class::{self, BLOCK, CELL, Class, HEADING, HIDDEN, OPAQUE, PRE, REGION, SECTION, SPECIAL};
use crate::dom::{DOCUMENT, Data, Dom, Element, NONE};
use crate::meta;
use crate::paths::{Identity, Paths, hash};
use crate::text::{Gap, Text, collapsed, is_blank};
use html5ever::{local_name, ns};
use std::collections::HashMap;
use types::{Block, Heading, Leaf, Link, LinkKind, Page, Region, Rel, Span, Url};

/// Longest title, description or label kept, in bytes.
const MAX_TITLE: usize = 1_000;
const MAX_LABEL: usize = 300;
/// Longest anchor: nested tables can put a whole page into every link.
const MAX_ANCHOR: usize = 1_000;

/// An element whose children are being walked.
struct Frame {
    node: u32,
    class: Class,
    /// State to return to.
    inside: Class,
    region: Region,
    /// Leaves before it: if there are no more when it ends, it is a leaf itself.
    leaves: u32,
    /// The link or heading it is, or [`NONE`].
    link: u32,
    heading: u32,
    /// Length of the text before it.
    text: u32,
}

pub struct Walk<'a> {
    dom: &'a Dom,
    url: &'a Url,
    /// What relative links are relative to.
    base: Url,
    options: &'a Options,
    page: Page,
    text: Text,
    paths: Paths,
    frames: Vec<Frame>,
    /// Properties in force here: HIDDEN, PRE, SECTION.
    inside: Class,
    region: Region,
    /// Innermost open link.
    link: u32,
    /// Labels of links, while they grow.
    label: String,
    /// Links by hash of their `href`, to resolve a repeated one only once.
    resolved: HashMap<u64, u32, Identity>,
    hrefs: Vec<&'a str>,
    lang_meta: String,
}

/// Fills in what the markup says. Contexts, language detection and the like come after it.
pub fn walk(dom: &Dom, url: &Url, options: &Options, source_len: usize, page: Page) -> Page {
    let base_href = dom.base.and_then(|b| dom.element(b)).and_then(|e| e.attr(&local_name!("href")));
    let base = base_href.and_then(|href| options.canon.join(url, href).ok()).unwrap_or_else(|| url.clone());
    let mut walk = Walk {
        dom,
        url,
        base,
        options,
        page,
        text: Text::new(options.max_text),
        paths: Paths::default(),
        frames: Vec::with_capacity(32),
        inside: 0,
        region: Region::Body,
        link: NONE,
        label: String::new(),
        resolved: HashMap::default(),
        hrefs: Vec::new(),
        lang_meta: String::new(),
    };
    walk.text.reserve(source_len / 3);
    walk.page.leaves.reserve(dom.nodes.len() / 2);
    walk.run();
    walk.finish()
}

impl<'a> Walk<'a> {
    fn run(&mut self) {
        let mut at = self.dom.node(DOCUMENT).map_or(NONE, |n| n.first);
        loop {
            let Some(node) = self.dom.node(at) else {
                // No more siblings: back to the parent, which ends here.
                let Some(frame) = self.frames.pop() else { return };
                at = self.dom.node(frame.node).map_or(NONE, |n| n.next);
                self.leave(frame);
                continue;
            };
            at = match &node.data {
                Data::Text(s) => {
                    self.text_node(s);
                    node.next
                }
                Data::Comment => {
                    self.leaf(Span::default());
                    node.next
                }
                Data::Document => node.next,
                Data::Element(e) => {
                    self.enter(at, e);
                    // A script holds text, but nothing of it is ours; a template's contents are elsewhere.
                    if self.frames.last().is_some_and(|f| f.class & OPAQUE != 0) { NONE } else { node.first }
                }
            };
        }
    }

    #[inline]
    fn text_node(&mut self, s: &str) {
        if self.inside & HIDDEN == 0 {
            let before = self.text.len();
            let span = self.text.push(s, self.inside & PRE != 0);
            if !span.is_empty() {
                self.mark_region(before);
                self.page.leaves.push(Leaf { span });
                return;
            }
            if !self.text.full {
                return;
            }
        }
        // Text that is not shown is still a leaf of the tree.
        if !is_blank(s) {
            self.leaf(Span::default());
        }
    }

    #[inline]
    fn leaf(&mut self, span: Span) {
        self.page.leaves.push(Leaf { span });
    }

    /// Text from `before` on belongs to the present region.
    #[inline]
    fn mark_region(&mut self, before: usize) {
        match self.page.blocks.last_mut() {
            Some(b) if b.region == self.region => b.span.end = self.text.len() as u32,
            _ => self.new_region(before),
        }
    }

    #[cold]
    fn new_region(&mut self, before: usize) {
        // The gap belongs to the region before it, so that there is none between the regions.
        let start = self.text.since(before).start;
        if let Some(b) = self.page.blocks.last_mut() {
            b.span.end = start;
        }
        let span =
            Span { start: if self.page.blocks.is_empty() { 0 } else { start }, end: self.text.len() as u32 };
        self.page.blocks.push(Block { span, region: self.region });
    }

    #[inline]
    fn enter(&mut self, node: u32, e: &'a Element) {
        let is_html = e.name.ns == ns!(html);
        let class = if is_html { class::html(&e.name.local) } else { class::foreign(&e.name.local) };
        if class & BLOCK != 0 {
            self.text.gap(Gap::Line);
        } else if class & CELL != 0 {
            self.text.gap(Gap::Cell);
        }
        let mut frame = Frame {
            node,
            class,
            inside: self.inside,
            region: self.region,
            leaves: self.page.leaves.len() as u32,
            link: self.link,
            heading: NONE,
            text: self.text.len() as u32,
        };
        if class & REGION != 0
            && let Some(region) = class::region(&e.name.local, self.inside & SECTION != 0)
        {
            self.region = region;
        }
        if !e.attrs.is_empty()
            && let Some(region) = e.attr(&local_name!("role")).and_then(class::role)
        {
            self.region = region;
        }
        self.inside |= class & (HIDDEN | PRE | SECTION);
        if class & HEADING != 0 {
            frame.heading = self.page.headings.len() as u32;
            self.page.headings.push(Heading { level: class::level(&e.name.local), span: Span::default() });
        }
        self.frames.push(frame);
        if class & SPECIAL != 0 {
            self.special(e, is_html);
        }
    }

    #[inline]
    fn leave(&mut self, frame: Frame) {
        if frame.class & BLOCK != 0 {
            self.text.gap(Gap::Line);
        } else if frame.class & CELL != 0 {
            self.text.gap(Gap::Cell);
        }
        if self.page.leaves.len() as u32 == frame.leaves {
            self.leaf(Span::default());
        }
        if frame.heading != NONE
            && let Some(h) = self.page.headings.get_mut(frame.heading as usize)
        {
            h.span = self.text.since(frame.text as usize);
        }
        if self.link != frame.link {
            self.close_link(&frame);
        }
        self.inside = frame.inside;
        self.region = frame.region;
        self.paths.leave(self.frames.len());
    }

    fn close_link(&mut self, frame: &Frame) {
        let last_leaf = (self.page.leaves.len() as u32).saturating_sub(1);
        let mut anchor = self.text.since(frame.text as usize);
        if anchor.len() > MAX_ANCHOR {
            let end = self.text.as_str().floor_char_boundary(anchor.start as usize + MAX_ANCHOR);
            anchor.end = end as u32;
        }
        if let Some(link) = self.page.links.get_mut(self.link as usize) {
            link.anchor = anchor;
            link.first_leaf = frame.leaves;
            link.last_leaf = last_leaf;
            // What a link inside this one parked comes first.
            let label = std::mem::take(&mut self.label);
            link.label = match (link.label.is_empty(), label.is_empty()) {
                (true, _) => label.into(),
                (false, true) => std::mem::take(&mut link.label),
                (false, false) => format!("{} {label}", link.label).into(),
            };
        }
        self.link = frame.link;
    }

    fn special(&mut self, e: &'a Element, is_html: bool) {
        match e.name.local {
            local_name!("a") => self.anchor(e),
            local_name!("img") => self.label_of(e, false),
            local_name!("input") => {
                if e.attr(&local_name!("type")).is_some_and(|t| t.eq_ignore_ascii_case("image")) {
                    self.label_of(e, false);
                }
            }
            local_name!("area") => {
                if let Some(href) = e.attr(&local_name!("href")) {
                    self.childless(e, href, LinkKind::Area);
                }
            }
            local_name!("frame") | local_name!("iframe") => {
                if let Some(src) = e.attr(&local_name!("src")) {
                    self.childless(e, src, LinkKind::Frame);
                }
            }
            local_name!("title") if is_html => self.title(),
            local_name!("meta") => self.meta(e),
            local_name!("link") => self.link_element(e),
            _ => {}
        }
    }

    fn anchor(&mut self, e: &'a Element) {
        // In SVG the name may be `xlink:href`; its local part is the same.
        let Some(href) = e.attr(&local_name!("href")) else { return };
        let Some(n) = self.add_link(e, href, LinkKind::Anchor) else { return };
        // A link inside a link (tables, foreign content): the outer one keeps the label it has so far.
        if self.link != NONE
            && let Some(outer) = self.page.links.get_mut(self.link as usize)
        {
            outer.label = std::mem::take(&mut self.label).into();
        }
        self.label.clear();
        self.link = n;
        self.label_of(e, true);
    }

    /// Adds what is said of a link without being shown: `title` and `aria-label` of itself, `alt` of images inside.
    fn label_of(&mut self, e: &Element, is_link: bool) {
        if self.link == NONE || e.attrs.is_empty() {
            return;
        }
        for a in &e.attrs {
            let wanted = match a.name.local {
                local_name!("title") => true,
                local_name!("aria-label") => is_link,
                local_name!("alt") => !is_link,
                _ => false,
            };
            if wanted {
                add_label(&mut self.label, &a.value);
            }
        }
    }

    /// A link from an element that has no text of its own.
    fn childless(&mut self, e: &'a Element, href: &'a str, kind: LinkKind) {
        let Some(n) = self.add_link(e, href, kind) else { return };
        let mut label = String::new();
        for a in &e.attrs {
            if matches!(a.name.local, local_name!("title") | local_name!("alt") | local_name!("aria-label")) {
                add_label(&mut label, &a.value);
            }
        }
        let leaf = self.page.leaves.len() as u32;
        let at = self.text.len();
        if let Some(link) = self.page.links.get_mut(n as usize) {
            link.label = label.into();
            (link.first_leaf, link.last_leaf) = (leaf, leaf);
            link.anchor = Span::new(at, at);
        }
    }

    fn add_link(&mut self, e: &'a Element, href: &'a str, kind: LinkKind) -> Option<u32> {
        if self.page.links.len() >= self.options.max_links {
            return None;
        }
        let href = href.trim_ascii();
        // A place on this page is not a link to anywhere else.
        if href.starts_with('#') && self.base == *self.url {
            return None;
        }
        let n = self.page.links.len() as u32;
        let key = hash(0, href.as_bytes());
        let url = match self.resolved.get(&key) {
            Some(&old) if self.hrefs.get(old as usize) == Some(&href) => {
                self.page.links.get(old as usize)?.url.clone()
            }
            _ => {
                let url = self.options.canon.join(&self.base, href).ok()?;
                self.resolved.insert(key, n);
                url
            }
        };
        self.hrefs.push(href);
        let path = self.paths.intern(self.dom, self.frames.iter().map(|f| f.node));
        self.page.links.push(Link {
            url,
            kind,
            anchor: Span::default(),
            label: "".into(),
            rel: e.attr(&local_name!("rel")).map_or(Rel::default(), meta::rel),
            region: self.region,
            context: Span::default(),
            heading: None,
            path,
            first_leaf: 0,
            last_leaf: 0,
        });
        Some(n)
    }

    fn title(&mut self) {
        if !self.page.title.is_empty() {
            return;
        }
        // The title's text is its only child (the tokenizer sees no tags in it).
        let child =
            self.frames.last().and_then(|f| self.dom.node(f.node)).and_then(|n| self.dom.node(n.first));
        if let Some(Data::Text(s)) = child.map(|c| &c.data) {
            self.page.title = collapsed(s, MAX_TITLE);
        }
    }

    fn meta(&mut self, e: &Element) {
        let Some(content) = e.attr(&local_name!("content")) else { return };
        let name = e.attr(&local_name!("name")).or_else(|| e.attr(&local_name!("property")));
        if let Some(name) = name {
            if name.eq_ignore_ascii_case("robots") {
                meta::robots(&mut self.page.robots, content);
            } else if name.eq_ignore_ascii_case("description")
                || (name.eq_ignore_ascii_case("og:description") && self.page.description.is_empty())
            {
                self.page.description = collapsed(content, MAX_TITLE);
            }
        } else if let Some(header) = e.attr(&local_name!("http-equiv")) {
            if header.eq_ignore_ascii_case("refresh") && self.page.refresh.is_none() {
                self.page.refresh = meta::refresh(content)
                    .and_then(|target| self.options.canon.join(&self.base, target).ok());
            } else if header.eq_ignore_ascii_case("content-language") && self.lang_meta.is_empty() {
                self.lang_meta = meta::language_tag(content);
            }
        }
    }

    fn link_element(&mut self, e: &'a Element) {
        let (Some(rel), Some(href)) = (e.attr(&local_name!("rel")), e.attr(&local_name!("href"))) else {
            return;
        };
        let has = |name: &str| rel.split_ascii_whitespace().any(|r| r.eq_ignore_ascii_case(name));
        if has("stylesheet") {
            return;
        }
        if has("canonical") && self.page.canonical.is_none() {
            self.page.canonical = self.options.canon.join(&self.base, href).ok();
        }
        if has("next") {
            self.childless(e, href, LinkKind::Anchor);
        } else if has("alternate") {
            let media = e.attr(&local_name!("type")).unwrap_or("").trim_ascii();
            if meta::is_feed_type(media) {
                self.childless(e, href, LinkKind::Feed);
            } else if (media.is_empty() || media.eq_ignore_ascii_case("text/html"))
                && e.attr(&local_name!("hreflang")).is_some()
            {
                self.childless(e, href, LinkKind::Anchor);
            }
        }
    }

    fn finish(mut self) -> Page {
        let html = self.dom.nodes.iter().find_map(|n| match &n.data {
            Data::Element(e) if e.name.local == local_name!("html") => Some(e),
            _ => None,
        });
        // `xml:lang` arrives under its whole name outside foreign content.
        let lang = html.and_then(|e| {
            e.attr(&local_name!("lang"))
                .or_else(|| e.attrs.iter().find(|a| &*a.name.local == "xml:lang").map(|a| &*a.value))
        });
        self.page.language = lang.map(meta::language_tag).unwrap_or_default();
        if self.page.language.is_empty() {
            self.page.language = self.lang_meta;
        }
        self.page.cut |= self.text.full || self.dom.cut;
        self.page.text = self.text.finish();
        // Room was made for more than most pages need, and pages are kept for a while.
        self.page.text.shrink_to_fit();
        self.page.leaves.shrink_to_fit();
        self.page.paths = self.paths.finish();
        if let Some(last) = self.page.blocks.last_mut() {
            last.span.end = self.page.text.len() as u32;
        }
        self.page
    }
}

fn add_label(label: &mut String, value: &str) {
    let room = MAX_LABEL.saturating_sub(label.len());
    // Long before the limit matters, most values are short: look at no more than can be kept.
    let value = collapsed(&value[..value.floor_char_boundary(4 * MAX_LABEL)], room);
    if value.is_empty() || label.contains(&value) {
        return;
    }
    if !label.is_empty() {
        label.push(' ');
    }
    label.push_str(&value);
}
