//! A whole web in one string, and a small crawl over it: tests of strategies and judges read
//! `check(web, topic, expected order)`. No HTML, no network, no store.
//!
//! ```text
//! == http://a/ seed              a page; later ones may be given by path; without any `seed` the first page is it
//! title: All courses
//! lang: en
//! # A heading
//! Text with a [link](/os "its label"), one block per line.
//! nav| [home](/)                 a line of a region: nav, header, footer, aside
//! == /os
//! ```

mod crawl;
mod wordnet;

pub use crawl::{Crawl, Options, Step, crawl};
pub use wordnet::small_wordnet;

use crate::judges::{self, JudgeSetup};
use crate::strategies::{self, StrategySetup};
use crate::text::{Doc, TextOptions};
use crate::topic::Topic;
use std::collections::BTreeMap;
use std::sync::Arc;
use types::{Block, Canon, Heading, Leaf, Link, LinkKind, Page, Region, Rel, Span, Url};

/// Pages by URL.
pub struct Web {
    pub pages: BTreeMap<Url, Arc<Page>>,
    pub seeds: Vec<Url>,
    base: Url,
}

impl Web {
    /// Reads a web; a mistake in it is a mistake in the test, so it panics.
    pub fn new(text: &str) -> Web {
        let canon = Canon::exact();
        let mut web: Option<Web> = None;
        let mut first = None;
        for chunk in text.split("== ").skip(1) {
            let (head, body) = chunk.split_once('\n').unwrap_or((chunk, ""));
            let mut words = head.split_whitespace();
            let address = words.next().expect("a page has a URL");
            let url = match &web {
                None => canon.parse(address).expect("the first page has a whole URL"),
                Some(w) => canon.join(&w.base, address).expect("a URL or a path"),
            };
            let w = web.get_or_insert_with(|| Web {
                pages: BTreeMap::new(),
                seeds: Vec::new(),
                base: url.clone(),
            });
            first.get_or_insert_with(|| url.clone());
            if words.next() == Some("seed") {
                w.seeds.push(url.clone());
            }
            w.pages.insert(url.clone(), Arc::new(page(&url, body)));
        }
        let mut web = web.expect("a web has a page");
        if web.seeds.is_empty() {
            web.seeds.extend(first);
        }
        web
    }

    /// A URL by path.
    pub fn url(&self, path: &str) -> Url {
        Canon::exact().join(&self.base, path).expect("a URL or a path")
    }
    pub fn page(&self, path: &str) -> Arc<Page> {
        self.pages.get(&self.url(path)).expect("a page of the web").clone()
    }
    pub fn doc(&self, path: &str, options: &TextOptions) -> Doc {
        Doc::new(self.page(path), options)
    }
    /// How the tests write a URL: by its path on the first page's host.
    pub fn short(&self, url: &Url) -> String {
        if url.host_key() == self.base.host_key() {
            url.query().map_or_else(|| url.path().to_string(), |q| format!("{}?{q}", url.path()))
        } else {
            url.without_scheme().to_string()
        }
    }
}

/// One page from its lines.
pub fn page(url: &Url, body: &str) -> Page {
    let canon = Canon::exact();
    let mut p = Page { url: Some(url.clone()), paths: vec!["html>body>a".into()], ..Page::default() };
    for line in body.lines().map(str::trim).filter(|l| !l.is_empty()) {
        if let Some(t) = line.strip_prefix("title:") {
            p.title = t.trim().into();
            continue;
        }
        if let Some(l) = line.strip_prefix("lang:") {
            p.language = l.trim().into();
            continue;
        }
        let regions = [
            ("nav|", Region::Nav),
            ("header|", Region::Header),
            ("footer|", Region::Footer),
            ("aside|", Region::Aside),
        ];
        let (region, line) = regions
            .iter()
            .find_map(|(prefix, r)| Some((*r, line.strip_prefix(prefix)?.trim())))
            .unwrap_or((Region::Body, line));
        let (heading, line) = line.strip_prefix("# ").map_or((false, line), |l| (true, l));
        if !p.text.is_empty() {
            p.text.push('\n');
        }
        let start = p.text.len();
        let first_link = p.links.len();
        let mut rest = line;
        while let Some((before, anchor, target, after)) = next_link(rest) {
            leaf(&mut p, before);
            let (href, label) =
                target.split_once(' ').map_or((target, ""), |(h, l)| (h, l.trim().trim_matches('"')));
            let number = p.leaves.len() as u32;
            let span = leaf(&mut p, anchor).unwrap_or_else(|| {
                // An empty link counts as a leaf of its own.
                p.leaves.push(Leaf::default());
                Span::new(p.text.len(), p.text.len())
            });
            p.links.push(Link {
                url: canon.join(url, href).expect("a link's URL"),
                kind: LinkKind::Anchor,
                anchor: span,
                label: label.into(),
                rel: Rel::default(),
                region,
                context: Span::default(),
                heading: p.headings.len().checked_sub(1).map(|h| h as u32),
                path: 0,
                first_leaf: number,
                last_leaf: number,
            });
            rest = after;
        }
        leaf(&mut p, rest);
        let span = Span::new(start, p.text.len());
        for link in p.links.iter_mut().skip(first_link) {
            link.context = span;
        }
        if heading {
            p.headings.push(Heading { level: 1, span });
        }
        p.blocks.push(Block { span, region });
    }
    p
}

/// `before [anchor](target) after`.
fn next_link(text: &str) -> Option<(&str, &str, &str, &str)> {
    let open = text.find('[')?;
    let middle = open + text.get(open..)?.find("](")?;
    let close = middle + text.get(middle..)?.find(')')?;
    Some((&text[..open], &text[open + 1..middle], &text[middle + 2..close], &text[close + 1..]))
}

fn leaf(p: &mut Page, text: &str) -> Option<Span> {
    if text.trim().is_empty() {
        p.text.push_str(text);
        return None;
    }
    let start = p.text.len();
    p.text.push_str(text);
    let span = Span::new(start, p.text.len());
    p.leaves.push(Leaf { span });
    Some(span)
}

/// Crawls the whole web with the topic's judge and strategy.
pub fn run(web: &str, topic: &str) -> Crawl {
    run_with(web, topic, Options::default())
}

pub fn run_with(web: &str, topic: &str, options: Options) -> Crawl {
    let web = Web::new(web);
    let topic = Topic::from_toml(&judged_by_genre(&named(topic))).unwrap_or_else(|p| panic!("{p}"));
    let judge = || {
        judges::build(&JudgeSetup { seeds: web.seeds.len(), ..JudgeSetup::new(&topic) })
            .unwrap_or_else(|p| panic!("{p}"))
    };
    let net = small_wordnet();
    let strategy = || {
        let setup = StrategySetup { rng: options.rng, wordnet: Some(&net), ..StrategySetup::new(&topic) };
        strategies::build(&setup).unwrap_or_else(|p| panic!("{p}"))
    };
    crawl(&web, &topic.text.options, &judge, &strategy, &options)
}

/// Crawls, and compares the order: paths with blanks between.
pub fn check(web: &str, topic: &str, expected: &str) {
    assert_eq!(run(web, topic).order(), expected.split_whitespace().collect::<Vec<_>>().join(" "), "{topic}");
}

/// The same topic, judged by `genre` unless it names a judge: its scores can be worked out by hand.
pub fn judged_by_genre(topic: &str) -> String {
    let Ok(mut table) = topic.parse::<toml::Table>() else { return topic.to_string() };
    let judge = table.entry("judge").or_insert(toml::Value::Table(toml::Table::new()));
    if let Some(judge) = judge.as_table_mut() {
        judge.entry("kind").or_insert("genre".into());
    }
    toml::to_string(&table).unwrap_or_else(|_| topic.to_string())
}

fn named(topic: &str) -> String {
    let has =
        topic.lines().any(|l| l.trim_start().starts_with("name") || l.trim_start().starts_with("query"));
    if has { topic.to_string() } else { format!("name = 'test'\n{topic}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_in_a_few_lines() {
        let web = Web::new(
            "== http://a/x seed\ntitle: T\nlang: pt\n# Head\nSee [this one](/y \"the label\") and [](http://b/).\nnav| [up](/)\n",
        );
        let p = web.page("/x");
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
}
