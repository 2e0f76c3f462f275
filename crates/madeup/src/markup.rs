//! Pages in short form, for webs in a string: one block per line, links as in Markdown.
//!
//! ```text
//! title: All courses
//! lang: en
//! # A heading
//! Text with a [link](/os "its label").
//! nav| [home](/)                 a line of a region: nav, header, footer, aside
//! ```
//!
//! [`page`] is what a reader of HTML would make of it, [`html`] the same as HTML.

use crate::reply::escape;
use std::fmt::Write;
use types::{Block, Canon, Heading, Leaf, Link, LinkKind, Page, Region, Rel, Span, Url};

/// A line of a page.
enum Line<'a> {
    Title(&'a str),
    Language(&'a str),
    Block { region: Region, heading: bool, pieces: Vec<Piece<'a>> },
}

enum Piece<'a> {
    Text(&'a str),
    Link { anchor: &'a str, href: &'a str, label: &'a str },
}

const REGIONS: [(&str, Region); 4] = [
    ("nav|", Region::Nav),
    ("header|", Region::Header),
    ("footer|", Region::Footer),
    ("aside|", Region::Aside),
];

fn lines(body: &str) -> impl Iterator<Item = Line<'_>> {
    body.lines().map(str::trim).filter(|l| !l.is_empty()).map(|line| {
        if let Some(title) = line.strip_prefix("title:") {
            return Line::Title(title.trim());
        }
        if let Some(language) = line.strip_prefix("lang:") {
            return Line::Language(language.trim());
        }
        let of = |(prefix, region): &(&str, Region)| Some((*region, line.strip_prefix(prefix)?.trim()));
        let (region, line) = REGIONS.iter().find_map(of).unwrap_or((Region::Body, line));
        let (heading, line) = line.strip_prefix("# ").map_or((false, line), |l| (true, l));
        Line::Block { region, heading, pieces: pieces(line) }
    })
}

fn pieces(line: &str) -> Vec<Piece<'_>> {
    let (mut out, mut rest) = (Vec::new(), line);
    while let Some((before, anchor, target, after)) = next_link(rest) {
        let (href, label) =
            target.split_once(' ').map_or((target, ""), |(h, l)| (h, l.trim().trim_matches('"')));
        out.extend([Piece::Text(before), Piece::Link { anchor, href, label }]);
        rest = after;
    }
    out.push(Piece::Text(rest));
    out
}

/// `before [anchor](target) after`.
fn next_link(text: &str) -> Option<(&str, &str, &str, &str)> {
    let (before, rest) = text.split_once('[')?;
    let (anchor, rest) = rest.split_once("](")?;
    let (target, after) = rest.split_once(')')?;
    Some((before, anchor, target, after))
}

/// The page at `url`. Links that are no URLs are left out.
pub fn page(url: &Url, body: &str) -> Page {
    let mut p = Page { url: Some(url.clone()), paths: vec!["html>body>a".into()], ..Page::default() };
    for line in lines(body) {
        let (region, heading, pieces) = match line {
            Line::Title(title) => {
                p.title = title.into();
                continue;
            }
            Line::Language(language) => {
                p.language = language.into();
                continue;
            }
            Line::Block { region, heading, pieces } => (region, heading, pieces),
        };
        if !p.text.is_empty() {
            p.text.push('\n');
        }
        let (start, first_link) = (p.text.len(), p.links.len());
        for piece in pieces {
            match piece {
                Piece::Text(text) => {
                    leaf(&mut p, text);
                }
                Piece::Link { anchor, href, label } => link(&mut p, url, region, anchor, href, label),
            }
        }
        let span = Span::new(start, p.text.len());
        p.links.iter_mut().skip(first_link).for_each(|link| link.context = span);
        if heading {
            p.headings.push(Heading { level: 1, span });
        }
        p.blocks.push(Block { span, region });
    }
    p
}

fn link(p: &mut Page, base: &Url, region: Region, anchor: &str, href: &str, label: &str) {
    let number = p.leaves.len() as u32;
    let anchor = leaf(p, anchor).unwrap_or_else(|| {
        // An empty link counts as a leaf of its own.
        p.leaves.push(Leaf::default());
        Span::new(p.text.len(), p.text.len())
    });
    let Ok(url) = Canon::exact().join(base, href) else { return };
    p.links.push(Link {
        url,
        kind: LinkKind::Anchor,
        anchor,
        label: label.into(),
        rel: Rel::default(),
        region,
        context: Span::default(),
        heading: p.headings.len().checked_sub(1).map(|h| h as u32),
        path: 0,
        first_leaf: number,
        last_leaf: number,
    });
}

fn leaf(p: &mut Page, text: &str) -> Option<Span> {
    let start = p.text.len();
    p.text.push_str(text);
    if text.trim().is_empty() {
        return None;
    }
    let span = Span::new(start, p.text.len());
    p.leaves.push(Leaf { span });
    Some(span)
}

/// The same page as HTML.
pub fn html(body: &str) -> String {
    let (mut title, mut language, mut out) = ("", "", String::new());
    for line in lines(body) {
        let (region, heading, pieces) = match line {
            Line::Title(t) => {
                title = t;
                continue;
            }
            Line::Language(l) => {
                language = l;
                continue;
            }
            Line::Block { region, heading, pieces } => (region, heading, pieces),
        };
        let tag = REGIONS.iter().find(|(_, r)| *r == region).map(|(prefix, _)| prefix.trim_end_matches('|'));
        let tag = tag.unwrap_or(if heading { "h1" } else { "p" });
        let _ = write!(out, "<{tag}>");
        for piece in pieces {
            let _ = match piece {
                Piece::Text(text) => write!(out, "{}", escape(text)),
                Piece::Link { anchor, href, label } => {
                    let label = match label {
                        "" => String::new(),
                        label => format!(" title=\"{}\"", escape(label)),
                    };
                    write!(out, "<a href=\"{}\"{label}>{}</a>", escape(href), escape(anchor))
                }
            };
        }
        let _ = writeln!(out, "</{tag}>");
    }
    format!("<html lang=\"{}\"><title>{}</title>\n{out}", escape(language), escape(title))
}

#[cfg(test)]
mod tests {
    use super::*;

    const BODY: &str =
        "title: T\nlang: pt\n# Head\nSee [this one](/y \"the label\") and [](http://b/).\nnav| [up](/)\n";

    #[test]
    fn a_page_in_a_few_lines() {
        let p = page(&Canon::exact().parse("http://a/x").unwrap(), BODY);
        assert_eq!(p.text, "Head\nSee this one and .\nup");
        assert_eq!((p.title.as_str(), p.language.as_str()), ("T", "pt"));
        assert_eq!(p.links.len(), 3);
        assert_eq!((p.anchor(&p.links[0]), p.context(&p.links[0])), ("this one", "See this one and ."));
        assert_eq!((&*p.links[0].label, p.heading(&p.links[0])), ("the label", "Head"));
        assert!(p.links[1].anchor.is_empty() && p.links[1].url.host() == "b");
        assert_eq!(p.links[2].region, Region::Nav);
        // Leaves: Head, See, this one, and, (empty link), ., up.
        assert_eq!(p.leaves.len(), 7);
        assert_eq!((p.links[0].first_leaf, p.links[1].first_leaf, p.links[2].first_leaf), (2, 4, 6));
    }

    /// Both ways of reading it see the same text and the same links.
    #[test]
    fn as_html_it_says_the_same() {
        let url = Canon::exact().parse("http://a/x").unwrap();
        let short = page(&url, BODY);
        let options = extract::Options { canon: Canon::exact(), ..extract::Options::default() };
        let kind = Some("text/html; charset=utf-8");
        let read = extract::extract(&url, kind, None, html(BODY).as_bytes(), &options);
        assert_eq!((&read.title, &read.language), (&short.title, &short.language));
        let links = |p: &Page| -> Vec<(Url, String, String, Region)> {
            p.links
                .iter()
                .map(|l| (l.url.clone(), p.anchor(l).into(), l.label.to_string(), l.region))
                .collect()
        };
        assert_eq!(links(&read), links(&short));
        assert_eq!(read.text, short.text);
    }
}
