//! Writes the text and finds everything in it, while elements begin and end.
//!
//! Two readers drive it: [`crate::quick`] straight from the source, and [`dom`] over the tree that the full
//! parser built. Nothing recurses (a hostile tree may be deep), each node is visited once, and nothing is
//! copied but visible text.

use crate::Options;
use crate::class::{self, BLOCK, CELL, Class, HEADING, HIDDEN, OPAQUE, PRE, REGION, SECTION, SPECIAL};
use crate::dom::{DOCUMENT, Data, Dom, Element, NONE};
use crate::meta;
use crate::names::{self, Attr, Name};
use crate::paths::{Identity, Paths, hash};
use crate::text::{Gap, Text, collapsed, is_blank};
use html5ever::ns;
use std::borrow::Cow;
use std::collections::HashMap;
use types::{Block, Heading, Leaf, Link, LinkKind, Page, Region, Rel, Span, Url};

/// Longest title, description or label kept, in bytes.
const MAX_TITLE: usize = 1_000;
const MAX_LABEL: usize = 300;
/// Longest anchor: nested tables can put a whole page into every link.
const MAX_ANCHOR: usize = 1_000;

/// The attributes of an element that mean something, in order, each name once.
#[derive(Clone, Debug, Default)]
pub struct Attrs<'s>(Vec<(Attr, Cow<'s, str>)>);

impl<'s> Attrs<'s> {
    pub fn clear(&mut self) {
        self.0.clear();
    }
    #[inline]
    pub fn has(&self, name: Attr) -> bool {
        self.0.iter().any(|(n, _)| *n == name)
    }
    #[inline]
    pub fn push(&mut self, name: Attr, value: Cow<'s, str>) {
        self.0.push((name, value));
    }
    #[inline]
    pub fn get(&self, name: Attr) -> Option<&str> {
        self.0.iter().find(|(n, _)| *n == name).map(|(_, v)| &**v)
    }
    fn take(&mut self, name: Attr) -> Option<Cow<'s, str>> {
        self.0.iter_mut().find(|(n, _)| *n == name).map(|(_, v)| std::mem::take(v))
    }
}

/// An element whose children are being walked.
pub struct Frame<'s> {
    pub name: Name<'s>,
    /// For the paths of links inside it.
    pub id: Option<Cow<'s, str>>,
    pub classes: Option<Cow<'s, str>>,
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

pub struct Walk<'s, 'o> {
    url: &'o Url,
    /// What relative links are relative to.
    base: Url,
    /// Something was made with it.
    base_used: bool,
    options: &'o Options,
    page: Page,
    text: Text,
    paths: Paths,
    frames: Vec<Frame<'s>>,
    /// Properties in force here: HIDDEN, PRE, SECTION.
    inside: Class,
    region: Region,
    /// Innermost open link.
    link: u32,
    /// Labels of links, while they grow.
    label: String,
    /// Links by hash of their `href`, to resolve a repeated one only once.
    resolved: HashMap<u64, u32, Identity>,
    hrefs: Vec<Cow<'s, str>>,
    /// A title began, and its text has not come yet.
    in_title: bool,
    lang_html: Option<String>,
    lang_meta: String,
    cut: bool,
}

/// Walks over a tree. Contexts, language detection and the like come after it.
pub fn dom(dom: &Dom, url: &Url, options: &Options, source_len: usize, page: Page) -> Page {
    let mut walk = Walk::new(url, options, source_len, page);
    let href = dom.base.and_then(|b| dom.element(b)).and_then(|e| e.attr(&html5ever::local_name!("href")));
    if let Some(href) = href {
        walk.set_base(href);
    }
    walk.page.leaves.reserve(dom.nodes.len() / 2);
    walk.cut = dom.cut;
    let mut open: Vec<u32> = Vec::with_capacity(32);
    let mut attrs = Attrs::default();
    let mut at = dom.node(DOCUMENT).map_or(NONE, |n| n.first);
    loop {
        let Some(node) = dom.node(at) else {
            // No more siblings: back to the parent, which ends here.
            let Some(parent) = open.pop() else { return walk.finish() };
            at = dom.node(parent).map_or(NONE, |n| n.next);
            walk.leave();
            continue;
        };
        at = match &node.data {
            Data::Text(s) => {
                walk.text(s);
                node.next
            }
            Data::Comment => {
                walk.comment();
                node.next
            }
            Data::Document => node.next,
            Data::Element(e) => {
                fill(&mut attrs, e);
                walk.enter(Name::of(&e.name.local), e.name.ns == ns!(html), &mut attrs);
                open.push(at);
                // A script holds text, but nothing of it is ours; a template's contents are elsewhere.
                if walk.is_opaque() { NONE } else { node.first }
            }
        };
    }
}

fn fill<'a>(attrs: &mut Attrs<'a>, e: &'a Element) {
    attrs.clear();
    for a in &e.attrs {
        // In SVG the name may be `xlink:href`; its local part is the same.
        if let Some(name) = Attr::of(&a.name.local)
            && !attrs.has(name)
        {
            attrs.push(name, Cow::Borrowed(&*a.value));
        }
    }
}

impl<'s, 'o> Walk<'s, 'o> {
    pub fn new(url: &'o Url, options: &'o Options, source_len: usize, page: Page) -> Walk<'s, 'o> {
        let mut text = Text::new(options.max_text);
        text.reserve(source_len / 3);
        Walk {
            url,
            base: url.clone(),
            base_used: false,
            options,
            page,
            text,
            paths: Paths::default(),
            frames: Vec::with_capacity(32),
            inside: 0,
            region: Region::Body,
            link: NONE,
            label: String::new(),
            resolved: HashMap::default(),
            hrefs: Vec::new(),
            in_title: false,
            lang_html: None,
            lang_meta: String::new(),
            cut: false,
        }
    }

    /// What relative links are relative to; `false` when it is too late to say so.
    pub fn set_base(&mut self, href: &str) -> bool {
        if let Ok(base) = self.options.join(self.url, href) {
            self.base = base;
        }
        !self.base_used
    }

    /// Nothing inside the innermost element is looked at.
    #[inline]
    pub fn is_opaque(&self) -> bool {
        self.frames.last().is_some_and(|f| f.class & OPAQUE != 0)
    }

    /// A text node.
    #[inline]
    pub fn text(&mut self, s: &str) {
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
        } else if self.in_title {
            self.in_title = false;
            self.page.title = collapsed(s, MAX_TITLE);
        }
        // Text that is not shown is still a leaf of the tree.
        if !is_blank(s) {
            self.leaf(Span::default());
        }
    }

    pub fn comment(&mut self) {
        self.leaf(Span::default());
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

    /// An element begins.
    #[inline]
    pub fn enter(&mut self, name: Name<'s>, is_html: bool, attrs: &mut Attrs<'s>) {
        let class = if is_html { names::html_class(name.id) } else { names::foreign_class(name.id) };
        self.in_title = false;
        if class & BLOCK != 0 {
            self.text.gap(Gap::Line);
        } else if class & CELL != 0 {
            self.text.gap(Gap::Cell);
        }
        let mut frame = Frame {
            name,
            id: None,
            classes: None,
            class,
            inside: self.inside,
            region: self.region,
            leaves: self.page.leaves.len() as u32,
            link: self.link,
            heading: NONE,
            text: self.text.len() as u32,
        };
        if class & REGION != 0
            && let Some(region) = class::region(name.id, self.inside & SECTION != 0)
        {
            self.region = region;
        }
        if !attrs.0.is_empty() {
            if let Some(region) = attrs.get(Attr::Role).and_then(class::role) {
                self.region = region;
            }
            frame.id = attrs.take(Attr::Id);
            frame.classes = attrs.take(Attr::Class);
        }
        self.inside |= class & (HIDDEN | PRE | SECTION);
        if class & HEADING != 0 {
            frame.heading = self.page.headings.len() as u32;
            self.page.headings.push(Heading { level: class::level(name.id), span: Span::default() });
        }
        self.frames.push(frame);
        if class & SPECIAL != 0 {
            self.special(name, is_html, attrs);
        } else if name.id == names::HTML && self.lang_html.is_none() {
            // `xml:lang` arrives under its whole name outside foreign content.
            let lang = attrs.get(Attr::Lang).or_else(|| attrs.get(Attr::XmlLang));
            self.lang_html = Some(lang.unwrap_or_default().into());
        }
    }

    /// The body began without its tag, and here it comes: the attributes it lacks are added. `false` when
    /// that is too late, because the paths of links have been through it.
    pub fn body_again(&mut self, attrs: &mut Attrs<'s>) -> bool {
        const BODY: usize = 1;
        let late = self.paths.through(BODY);
        let Some(body) = self.frames.get_mut(BODY).filter(|f| f.name.id == names::BODY) else { return false };
        for (own, attr) in [(&mut body.id, Attr::Id), (&mut body.classes, Attr::Class)] {
            if own.is_none() && attrs.has(attr) {
                if late {
                    return false;
                }
                *own = attrs.take(attr);
            }
        }
        true
    }

    /// The innermost element ends.
    #[inline]
    pub fn leave(&mut self) {
        let Some(frame) = self.frames.pop() else { return };
        self.in_title = false;
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

    fn close_link(&mut self, frame: &Frame<'s>) {
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

    fn special(&mut self, name: Name<'s>, is_html: bool, attrs: &mut Attrs<'s>) {
        match name.id {
            names::A => self.anchor(attrs),
            names::IMG => self.label_of(attrs, false),
            names::INPUT if attrs.get(Attr::Type).is_some_and(|t| t.eq_ignore_ascii_case("image")) => {
                self.label_of(attrs, false);
            }
            names::AREA => {
                if let Some(href) = attrs.take(Attr::Href) {
                    self.childless(attrs, href, LinkKind::Area);
                }
            }
            names::FRAME | names::IFRAME => {
                if let Some(src) = attrs.take(Attr::Src) {
                    self.childless(attrs, src, LinkKind::Frame);
                }
            }
            names::TITLE => self.in_title = is_html && self.page.title.is_empty(),
            names::META => self.meta(attrs),
            names::LINK => self.link_element(attrs),
            _ => {}
        }
    }

    fn anchor(&mut self, attrs: &mut Attrs<'s>) {
        let Some(href) = attrs.take(Attr::Href) else { return };
        let Some(n) = self.add_link(attrs, href, LinkKind::Anchor) else { return };
        // A link inside a link (tables, foreign content): the outer one keeps the label it has so far.
        if self.link != NONE
            && let Some(outer) = self.page.links.get_mut(self.link as usize)
        {
            outer.label = std::mem::take(&mut self.label).into();
        }
        self.label.clear();
        self.link = n;
        self.label_of(attrs, true);
    }

    /// Adds what is said of a link without being shown: `title` and `aria-label` of itself, `alt` of images
    /// inside.
    fn label_of(&mut self, attrs: &Attrs<'s>, is_link: bool) {
        if self.link == NONE {
            return;
        }
        for (name, value) in &attrs.0 {
            let wanted = match name {
                Attr::Title => true,
                Attr::AriaLabel => is_link,
                Attr::Alt => !is_link,
                _ => false,
            };
            if wanted {
                add_label(&mut self.label, value);
            }
        }
    }

    /// A link from an element that has no text of its own.
    fn childless(&mut self, attrs: &Attrs<'s>, href: Cow<'s, str>, kind: LinkKind) {
        let Some(n) = self.add_link(attrs, href, kind) else { return };
        let mut label = String::new();
        for (name, value) in &attrs.0 {
            if matches!(name, Attr::Title | Attr::Alt | Attr::AriaLabel) {
                add_label(&mut label, value);
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

    fn add_link(&mut self, attrs: &Attrs<'s>, href: Cow<'s, str>, kind: LinkKind) -> Option<u32> {
        if self.page.links.len() >= self.options.max_links {
            return None;
        }
        let href = match href {
            Cow::Borrowed(h) => Cow::Borrowed(h.trim_ascii()),
            Cow::Owned(h) => Cow::Owned(h.trim_ascii().to_string()),
        };
        self.base_used = true;
        // A place on this page is not a link to anywhere else.
        if href.starts_with('#') && self.base == *self.url && !self.options.routes {
            return None;
        }
        let n = self.page.links.len() as u32;
        let key = hash(0, href.as_bytes());
        let url = match self.resolved.get(&key) {
            Some(&old) if self.hrefs.get(old as usize) == Some(&href) => {
                self.page.links.get(old as usize)?.url.clone()
            }
            _ => {
                let url = self.options.join(&self.base, &href).ok()?;
                self.resolved.insert(key, n);
                url
            }
        };
        self.hrefs.push(href);
        let path = self.paths.intern(&self.frames);
        self.page.links.push(Link {
            url,
            kind,
            anchor: Span::default(),
            label: "".into(),
            rel: attrs.get(Attr::Rel).map_or(Rel::default(), meta::rel),
            region: self.region,
            context: Span::default(),
            heading: None,
            path,
            first_leaf: 0,
            last_leaf: 0,
        });
        Some(n)
    }

    fn meta(&mut self, attrs: &Attrs<'s>) {
        let Some(content) = attrs.get(Attr::Content) else { return };
        let name = attrs.get(Attr::Name).or_else(|| attrs.get(Attr::Property));
        if let Some(name) = name {
            if name.eq_ignore_ascii_case("robots") {
                meta::robots(&mut self.page.robots, content);
            } else if name.eq_ignore_ascii_case("description")
                || (name.eq_ignore_ascii_case("og:description") && self.page.description.is_empty())
            {
                self.page.description = collapsed(content, MAX_TITLE);
            }
        } else if let Some(header) = attrs.get(Attr::HttpEquiv) {
            if header.eq_ignore_ascii_case("refresh") && self.page.refresh.is_none() {
                self.base_used = true;
                self.page.refresh =
                    meta::refresh(content).and_then(|target| self.options.join(&self.base, target).ok());
            } else if header.eq_ignore_ascii_case("content-language") && self.lang_meta.is_empty() {
                self.lang_meta = meta::language_tag(content);
            }
        }
    }

    fn link_element(&mut self, attrs: &mut Attrs<'s>) {
        let Some(rel) = attrs.get(Attr::Rel) else { return };
        let has = |name: &str| rel.split_ascii_whitespace().any(|r| r.eq_ignore_ascii_case(name));
        if has("stylesheet") {
            return;
        }
        let (canonical, alternate) = (has("canonical"), has("alternate"));
        // Pages of a series: it may be entered in its middle.
        let series = has("next") || has("prev") || has("previous");
        if !(canonical || series || alternate) {
            return;
        }
        let Some(href) = attrs.take(Attr::Href) else { return };
        if canonical && self.page.canonical.is_none() {
            self.base_used = true;
            self.page.canonical = self.options.join(&self.base, &href).ok();
        }
        if series {
            self.childless(attrs, href, LinkKind::Anchor);
        } else if alternate {
            let media = attrs.get(Attr::Type).unwrap_or("").trim_ascii();
            if meta::is_feed_type(media) {
                self.childless(attrs, href, LinkKind::Feed);
            } else if (media.is_empty() || media.eq_ignore_ascii_case("text/html"))
                && attrs.has(Attr::Hreflang)
            {
                self.childless(attrs, href, LinkKind::Anchor);
            }
        }
    }

    pub fn finish(mut self) -> Page {
        self.page.language = self.lang_html.as_deref().map(meta::language_tag).unwrap_or_default();
        if self.page.language.is_empty() {
            self.page.language = self.lang_meta;
        }
        self.page.cut |= self.text.full || self.cut;
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
