//! A page as bytes and back: compact, and quick to read (the whole point of the cache).
//!
//! Numbers are varints, spans of leaves are kept as differences (they follow each other), URLs in the parsed
//! form of [`types::Trusted`]. Reading checks every length, so missing bytes give `None`, never a huge
//! allocation; changed bytes are the business of the checksum around every record (a parsed URL is believed).

use types::{
    About, Block, Heading, Leaf, Link, LinkKind, MetaRobots, Page, PageKind, Region, Rel, Span, Trusted, Url,
};

/// Adds a page to what is written already.
pub fn write(page: &Page, out: &mut Vec<u8>) {
    out.reserve(page.text.len() + page.links.len() * 96 + page.leaves.len() * 2 + 256);
    let mut w = Writer(out);
    w.url(page.url.as_ref());
    w.byte(kind_code(page.kind));
    for s in [&page.charset, &page.title, &page.description, &page.language, &page.text] {
        w.text(s);
    }
    w.number(page.blocks.len() as u64);
    for b in &page.blocks {
        w.byte(region_code(b.region));
        w.span(b.span);
    }
    w.number(page.headings.len() as u64);
    for h in &page.headings {
        w.byte(h.level);
        w.span(h.span);
    }
    w.number(page.leaves.len() as u64);
    let mut at = 0;
    for l in &page.leaves {
        w.signed(l.span.start as i64 - at);
        w.signed(l.span.end as i64 - l.span.start as i64);
        at = l.span.end as i64;
    }
    w.number(page.paths.len() as u64);
    for p in &page.paths {
        w.text(p);
    }
    w.number(page.links.len() as u64);
    for l in &page.links {
        w.link(l);
    }
    w.url(page.canonical.as_ref());
    w.url(page.refresh.as_ref());
    w.byte(
        page.robots.noindex as u8 | (page.robots.nofollow as u8) << 1 | (page.robots.noarchive as u8) << 2,
    );
    w.0.extend_from_slice(&page.simhash.to_le_bytes());
    w.byte(page.cut as u8);
    w.number(page.about.authors.len() as u64);
    let about = &page.about;
    for s in about.authors.iter().chain([&about.published, &about.modified, &about.kind, &about.publisher]) {
        w.text(s);
    }
}

pub fn read(bytes: &[u8]) -> Option<Page> {
    let mut r = Reader(bytes);
    let url = r.url()?;
    let kind = kind_of(r.byte()?)?;
    let (charset, title, description) = (r.text()?.into(), r.text()?.into(), r.text()?.into());
    let (language, text) = (r.text()?.into(), r.text()?.into());
    let blocks = r.list(3, |r| Some(Block { region: region_of(r.byte()?)?, span: r.span()? }))?;
    let headings = r.list(3, |r| Some(Heading { level: r.byte()?, span: r.span()? }))?;
    let mut at = 0i64;
    let leaves = r.list(2, |r| {
        let start = at.checked_add(r.signed()?)?;
        let end = start.checked_add(r.signed()?)?;
        at = end;
        Some(Leaf { span: Span { start: u32::try_from(start).ok()?, end: u32::try_from(end).ok()? } })
    })?;
    let paths = r.list(1, |r| r.text().map(Box::from))?;
    let links = r.list(12, Reader::link)?;
    let (canonical, refresh) = (r.url()?, r.url()?);
    let bits = r.byte()?;
    let robots = MetaRobots { noindex: bits & 1 != 0, nofollow: bits & 2 != 0, noarchive: bits & 4 != 0 };
    let simhash = u64::from_le_bytes(r.take(8)?.try_into().ok()?);
    let cut = r.byte()? != 0;
    let authors = r.list(1, |r| r.text().map(String::from))?;
    let (published, modified) = (r.text()?.into(), r.text()?.into());
    let about = About { authors, published, modified, kind: r.text()?.into(), publisher: r.text()?.into() };
    Some(Page {
        url,
        kind,
        charset,
        title,
        description,
        language,
        text,
        blocks,
        headings,
        leaves,
        links,
        paths,
        canonical,
        refresh,
        robots,
        simhash,
        cut,
        // What is not read is not kept.
        no_text: None,
        about,
    })
}

/// The number of a kind is its place here.
const KINDS: [PageKind; 15] = {
    use PageKind::*;
    [Html, Text, Pdf, Sitemap, Feed, Opaque, Markdown, Docx, Pptx, Xlsx, Odt, Odp, Ods, Epub, Rtf]
};

fn kind_code(kind: PageKind) -> u8 {
    KINDS.iter().position(|k| *k == kind).unwrap_or(0) as u8
}

fn kind_of(code: u8) -> Option<PageKind> {
    KINDS.get(code as usize).copied()
}

fn region_code(r: Region) -> u8 {
    match r {
        Region::Body => 0,
        Region::Nav => 1,
        Region::Header => 2,
        Region::Footer => 3,
        Region::Aside => 4,
    }
}

fn region_of(code: u8) -> Option<Region> {
    use Region::*;
    [Body, Nav, Header, Footer, Aside].get(code as usize).copied()
}

fn link_code(k: LinkKind) -> u8 {
    match k {
        LinkKind::Anchor => 0,
        LinkKind::Area => 1,
        LinkKind::Frame => 2,
        LinkKind::Refresh => 3,
        LinkKind::Canonical => 4,
        LinkKind::Redirect => 5,
        LinkKind::Sitemap => 6,
        LinkKind::Feed => 7,
        LinkKind::Seed => 8,
    }
}

fn link_of(code: u8) -> Option<LinkKind> {
    use LinkKind::*;
    [Anchor, Area, Frame, Refresh, Canonical, Redirect, Sitemap, Feed, Seed].get(code as usize).copied()
}

struct Writer<'a>(&'a mut Vec<u8>);

impl Writer<'_> {
    fn byte(&mut self, b: u8) {
        self.0.push(b);
    }
    fn number(&mut self, mut n: u64) {
        while n >= 0x80 {
            self.0.push(n as u8 | 0x80);
            n >>= 7;
        }
        self.0.push(n as u8);
    }
    fn signed(&mut self, n: i64) {
        self.number((n << 1 ^ n >> 63) as u64);
    }
    fn text(&mut self, s: &str) {
        self.number(s.len() as u64);
        self.0.extend_from_slice(s.as_bytes());
    }
    fn span(&mut self, s: Span) {
        self.number(s.start as u64);
        self.signed(s.end as i64 - s.start as i64);
    }
    fn url(&mut self, url: Option<&Url>) {
        let Some(url) = url else { return self.byte(0) };
        let start = self.0.len();
        self.byte(1);
        // Writing to memory does not fail; if it did, the link would be left out rather than the page lost.
        if postcard::serialize_with_flavor(&Trusted(url), &mut *self).is_err() {
            self.0.truncate(start);
            self.byte(0);
        }
    }
    fn link(&mut self, l: &Link) {
        self.url(Some(&l.url));
        self.byte(link_code(l.kind) << 4 | region_code(l.region));
        let r = &l.rel;
        let bits = [r.nofollow, r.ugc, r.sponsored, r.next, r.alternate, l.heading.is_some()];
        self.byte(bits.iter().enumerate().fold(0, |all, (i, b)| all | (*b as u8) << i));
        self.span(l.anchor);
        self.text(&l.label);
        self.span(l.context);
        if let Some(h) = l.heading {
            self.number(h as u64);
        }
        for n in [l.path, l.first_leaf, l.last_leaf] {
            self.number(n as u64);
        }
    }
}

/// URLs are written in place, without a buffer of their own.
impl postcard::ser_flavors::Flavor for &mut Writer<'_> {
    type Output = ();

    fn try_push(&mut self, byte: u8) -> postcard::Result<()> {
        self.0.push(byte);
        Ok(())
    }
    fn try_extend(&mut self, bytes: &[u8]) -> postcard::Result<()> {
        self.0.extend_from_slice(bytes);
        Ok(())
    }
    fn finalize(self) -> postcard::Result<()> {
        Ok(())
    }
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }
    fn take(&mut self, n: usize) -> Option<&'a [u8]> {
        let (head, rest) = self.0.split_at_checked(n)?;
        self.0 = rest;
        Some(head)
    }
    fn number(&mut self) -> Option<u64> {
        let mut n = 0u64;
        for shift in (0..64).step_by(7) {
            let b = self.byte()?;
            n |= ((b & 0x7f) as u64) << shift;
            if b < 0x80 {
                return Some(n);
            }
        }
        None
    }
    fn small(&mut self) -> Option<u32> {
        self.number().and_then(|n| u32::try_from(n).ok())
    }
    fn signed(&mut self) -> Option<i64> {
        let n = self.number()?;
        Some((n >> 1) as i64 ^ -((n & 1) as i64))
    }
    fn text(&mut self) -> Option<&'a str> {
        let n = self.number()?;
        std::str::from_utf8(self.take(usize::try_from(n).ok()?)?).ok()
    }
    fn span(&mut self) -> Option<Span> {
        let start = self.small()?;
        let end = (start as i64).checked_add(self.signed()?)?;
        Some(Span { start, end: u32::try_from(end).ok()? })
    }
    fn url(&mut self) -> Option<Option<Url>> {
        if self.byte()? == 0 {
            return Some(None);
        }
        let (Trusted(url), rest) = postcard::take_from_bytes(self.0).ok()?;
        self.0 = rest;
        Some(Some(url))
    }
    fn link(&mut self) -> Option<Link> {
        let url = self.url()??;
        let codes = self.byte()?;
        let bits = self.byte()?;
        let bit = |i: u8| bits >> i & 1 != 0;
        let anchor = self.span()?;
        let label = self.text()?.into();
        let context = self.span()?;
        let heading = if bit(5) { Some(self.small()?) } else { None };
        Some(Link {
            url,
            kind: link_of(codes >> 4)?,
            anchor,
            label,
            rel: Rel { nofollow: bit(0), ugc: bit(1), sponsored: bit(2), next: bit(3), alternate: bit(4) },
            region: region_of(codes & 15)?,
            context,
            heading,
            path: self.small()?,
            first_leaf: self.small()?,
            last_leaf: self.small()?,
        })
    }
    /// A counted list; an item takes at least `least` bytes, so a false count cannot ask for much memory.
    fn list<T>(&mut self, least: usize, mut item: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let n = usize::try_from(self.number()?).ok()?;
        if n > self.0.len() / least.max(1) + 1 {
            return None;
        }
        let mut out = Vec::with_capacity(n);
        for _ in 0..n {
            out.push(item(self)?);
        }
        Some(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::Canon;

    fn sample() -> Page {
        let url = Canon::exact().parse("http://a.org/x/?q=%E9").unwrap();
        let html = "<html lang=de><title>Tïtle</title><meta name=robots content='noindex,nofollow'><link \
                    rel=canonical href=/c>\
            <meta http-equiv=refresh content='3;url=/r'><nav><a href=/n rel='nofollow next' \
            title=lab>N</a></nav><h1>Head</h1><!-- c -->\
            <p>Some <b>text</b> with <a href='http://b.org:8080/ü'>a link</a> and <a href=//[::1]/>six</a>. \
            <img src=x>";
        extract::extract(
            &url,
            Some("text/html; charset=utf-8"),
            None,
            html.as_bytes(),
            &extract::Options::default(),
        )
    }

    fn written(page: &Page) -> Vec<u8> {
        let mut out = Vec::new();
        write(page, &mut out);
        out
    }

    #[test]
    fn there_and_back() {
        let page = sample();
        assert!(page.links.len() >= 3 && page.headings.len() == 1 && page.leaves.len() > 3, "{page:#?}");
        assert_eq!(read(&written(&page)).as_ref(), Some(&page));
        assert_eq!(read(&written(&Page::default())), Some(Page::default()));
    }

    #[test]
    fn damaged_bytes_give_nothing() {
        let bytes = written(&sample());
        for cut in 0..bytes.len() {
            assert_eq!(read(&bytes[..cut]), None, "{cut}");
        }
        assert_eq!(read(&[0xff; 40]), None);
    }
}
