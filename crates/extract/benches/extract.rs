//! Extraction against bare tree construction on the same real pages, and hostile shapes at growing sizes.
//!
//! ```text
//! cargo bench -p gleaner-extract                       # pages under $GLEANER_WEBS
//! cargo bench -p gleaner-extract -- DIR [ROUNDS]
//! ```
//!
//! Every page is measured with every variant in turn, `ROUNDS` times; the best time of each page and variant
//! counts, so that other work on the machine disturbs little. "bare" is html5ever filling a plain arena with
//! nothing else: no guard, no counting, no extraction.

use gleaner_extract::{Kind, Options, extract, sniff};
use html5ever::interface::{ElemName, ElementFlags, NodeOrText, QuirksMode, TreeSink};
use html5ever::tendril::{StrTendril, TendrilSink};
use html5ever::tree_builder::TreeBuilderOpts;
use html5ever::{Attribute, LocalName, Namespace, ParseOpts, QualName, parse_document};
use std::borrow::Cow;
use std::cell::{Ref, RefCell};
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use types::Canon;

/// Pages beyond this many bytes in all are left out (evenly, so that every site stays in).
const SAMPLE: u64 = 48 << 20;

fn main() {
    let mut args = std::env::args().skip(1).filter(|a| !a.starts_with("--"));
    let Some(root) = args.next().or_else(|| std::env::var("GLEANER_WEBS").ok()) else {
        return eprintln!("no pages: name a folder of HTML files, or set GLEANER_WEBS");
    };
    let rounds = args.next().and_then(|r| r.parse().ok()).unwrap_or(5);
    println!("| pages | n | MB | variant | MB/s | against bare |\n|---|---|---|---|---|---|");
    for web in folders(Path::new(&root)) {
        real_pages(&web, rounds);
    }
    hostile();
}

/// The webs under `root`, or `root` itself when it is one.
fn folders(root: &Path) -> Vec<PathBuf> {
    if root.join("urls.tsv").exists() {
        return vec![root.into()];
    }
    let Ok(entries) = std::fs::read_dir(root) else {
        eprintln!("no pages: cannot read {}; name a folder of HTML files", root.display());
        return Vec::new();
    };
    let mut all: Vec<PathBuf> = entries.flatten().map(|e| e.path()).filter(|p| p.is_dir()).collect();
    all.sort();
    all
}

fn files(root: &Path) -> Vec<(PathBuf, u64)> {
    let mut out = Vec::new();
    let mut todo = vec![root.to_path_buf()];
    while let Some(dir) = todo.pop() {
        for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
            match entry.metadata() {
                Ok(m) if m.is_dir() => todo.push(entry.path()),
                Ok(m) if m.is_file() && entry.path().extension().is_none_or(|e| e != "tsv") => {
                    out.push((entry.path(), m.len()));
                }
                _ => {}
            }
        }
    }
    out.sort();
    out
}

fn real_pages(web: &Path, rounds: usize) {
    let files = files(web);
    let total: u64 = files.iter().map(|f| f.1).sum();
    let every = (total / SAMPLE + 1) as usize;
    let url = Canon::default().parse("http://example.org/some/dir/page.html").expect("a URL");
    let pages: Vec<Vec<u8>> = files
        .iter()
        .step_by(every)
        .filter_map(|(path, _)| std::fs::read(path).ok())
        .filter(|body| sniff(&url, None, body) == Kind::Html || body.starts_with(b"<"))
        .collect();
    let plain = Options { detect_language: false, detect_simhash: false, ..Options::default() };
    let language = Options { detect_language: true, ..plain.clone() };
    let simhash = Options { detect_simhash: true, ..plain.clone() };
    let all = Options::default();
    let run = |i: usize, o: &Options| drop(black_box(extract(&url, Some("text/html"), None, &pages[i], o)));
    let decoded: Vec<Cow<str>> = pages.iter().map(|p| String::from_utf8_lossy(p)).collect();
    let variants: [(&str, &dyn Fn(usize)); 6] = [
        ("bare tree construction", &|i| drop(black_box(bare(&decoded[i])))),
        ("guarded tree construction", &|i| {
            drop(black_box(gleaner_extract::parse::parse(&decoded[i], false)))
        }),
        ("extraction: text, leaves, links, contexts", &|i| run(i, &plain)),
        ("… and language", &|i| run(i, &language)),
        ("… and simhash", &|i| run(i, &simhash)),
        ("extraction, everything", &|i| run(i, &all)),
    ];
    let mut best = vec![[Duration::MAX; 6]; pages.len()];
    for _ in 0..rounds {
        for (i, best) in best.iter_mut().enumerate() {
            for ((_, run), best) in variants.iter().zip(best.iter_mut()) {
                let start = Instant::now();
                run(i);
                *best = start.elapsed().min(*best);
            }
        }
    }
    let bytes: usize = pages.iter().map(Vec::len).sum();
    let sums: Vec<f64> = (0..6).map(|v| best.iter().map(|b| b[v].as_secs_f64()).sum()).collect();
    let name = web.file_name().unwrap_or_default().to_string_lossy();
    for (v, (variant, _)) in variants.iter().enumerate() {
        let (mb, ratio) = (bytes as f64 / 1e6, sums[0] / sums[v]);
        println!("| {name} | {} | {mb:.1} | {variant} | {:.1} | {ratio:.3} |", pages.len(), mb / sums[v]);
    }
    let page_list: Vec<types::Page> =
        pages.iter().map(|p| extract(&url, Some("text/html"), None, p, &plain)).collect();
    let links: usize = page_list.iter().map(|p| p.links.len()).sum();
    let cut = page_list.iter().filter(|p| p.cut).count();
    let differ =
        decoded.iter().filter(|d| !same_tree(&bare(d), &gleaner_extract::parse::parse(d, false))).count();
    let worst = decoded
        .iter()
        .map(|d| gleaner_extract::parse::parse(d, false))
        .zip(&decoded)
        .map(|(dom, d)| {
            (dom.steps as f64 / d.len().max(1) as f64, dom.nodes.len() as f64 / d.len().max(1) as f64)
        })
        .fold((0f64, 0f64), |a, b| (a.0.max(b.0), a.1.max(b.1)));
    println!(
        "\n{name}: {links} links; {cut} pages cut by a guard; {differ} trees differ from the bare one; at \
         most {:.1} steps and {:.2} nodes per byte\n",
        worst.0, worst.1
    );
    two_ways(&name, &decoded);
}

/// How many pages need no tree, why the others do, and whether both ways agree.
fn two_ways(name: &str, pages: &[Cow<str>]) {
    let url = Canon::default().parse("http://example.org/some/dir/page.html").expect("a URL");
    let options = Options::default();
    let mut reasons: std::collections::BTreeMap<&str, usize> = Default::default();
    let mut differ = 0;
    for page in pages {
        match gleaner_extract::ways::quick(page, &url, &options) {
            Ok(quick) => differ += usize::from(quick != gleaner_extract::ways::tree(page, &url, &options)),
            Err(why) => *reasons.entry(why).or_default() += 1,
        }
    }
    let left: usize = reasons.values().sum();
    let mut reasons: Vec<_> = reasons.into_iter().collect();
    reasons.sort_by_key(|r| std::cmp::Reverse(r.1));
    let reasons: Vec<String> = reasons.iter().map(|(why, n)| format!("{why} {n}")).collect();
    println!(
        "{name}: {} of {} pages read without a tree, {differ} of them differ from the tree's; the others: \
         {}\n",
        pages.len() - left,
        pages.len(),
        reasons.join(", ")
    );
}

/// The guard must not change what a page is: same elements, same text, same order. (Contents of templates are
/// kept apart in one of the trees only, and left out.)
fn same_tree(bare: &[Plain], ours: &gleaner_extract::dom::Dom) -> bool {
    use gleaner_extract::dom::Data;
    let (mut a, mut b) = (0usize, gleaner_extract::dom::DOCUMENT);
    loop {
        let (x, y) = (&bare[a], &ours.nodes[b as usize]);
        let template = match (&x.data, &y.data) {
            (PlainData::Text(s), Data::Text(t)) if s == t => false,
            (PlainData::Other, Data::Comment | Data::Document) => false,
            (PlainData::Element(n, p), Data::Element(e)) if *n == e.name && p.len() == e.attrs.len() => {
                &*n.local == "template"
            }
            _ => return false,
        };
        let (mut up_a, mut up_b) =
            (if template { NONE } else { x.first }, if template { u32::MAX } else { y.first });
        if (up_a == NONE) != (up_b == u32::MAX) {
            return false;
        }
        // No children: the next sibling of the nearest ancestor that has one.
        let (mut i, mut j) = (a, b);
        while up_a == NONE {
            if i == 0 || j == 0 {
                return i == 0 && j == 0;
            }
            (up_a, up_b) = (bare[i].next, ours.nodes[j as usize].next);
            if (up_a == NONE) != (up_b == u32::MAX) {
                return false;
            }
            (i, j) = (bare[i].parent, ours.nodes[j as usize].parent);
        }
        (a, b) = (up_a, up_b);
    }
}

fn hostile() {
    let shapes: [(&str, fn(usize) -> String); 20] = [
        ("<div> nested", |n| "<div>".repeat(n / 5)),
        ("<div>x nested, closed", |n| format!("{}{}", "<div>x".repeat(n / 12), "</div>".repeat(n / 12))),
        ("<ul><li> nested", |n| "<ul><li>".repeat(n / 8)),
        ("<p> unclosed", |n| "<p>x".repeat(n / 4)),
        ("<a> unclosed", |n| "<a href=x>y".repeat(n / 11)),
        ("<a><div> unclosed", |n| "<a href=x><div>".repeat(n / 15)),
        ("<font></p>", |n| "<font></p>".repeat(n / 10)),
        ("<b id=i></p><p>x", |n| (0..n / 20).map(|i| format!("<p><b id={i}>x</p>")).collect()),
        ("<i><b> misnested", |n| "<i><b></i>x</b>".repeat(n / 15)),
        ("tables nested", |n| "<table><tr><td>".repeat(n / 15)),
        ("<a><table> nested", |n| "<a href=x><table><tr><td>".repeat(n / 25)),
        ("<table> foster", |n| format!("<table>{}", "x<b>".repeat(n / 4))),
        ("<svg><a> nested", |n| format!("<svg>{}", "<a href=x>".repeat(n / 10))),
        ("one tag, many attributes", |n| {
            format!("<a {}>x", (0..n / 8).map(|i| format!("a{i}=1 ")).collect::<String>())
        }),
        ("quoted floods", |n| {
            format!("<a {}>x", (0..n / 12).map(|i| format!("a{i}='><b' ")).collect::<String>())
        }),
        ("many tags, many attributes", |n| {
            let tag = format!("<p {}>", (0..300).map(|i| format!("a{i}=1 ")).collect::<String>());
            tag.repeat(n / tag.len())
        }),
        ("<body a=…> repeated", |n| (0..n / 12).map(|i| format!("<body a{i}=1>")).collect()),
        ("<x1></x1> distinct names", |n| (0..n / 16).map(|i| format!("<x{i}></x{i}>")).collect()),
        ("<<<<", |n| "<".repeat(n)),
        ("<!-- unclosed, words", |n| format!("<!--{}", " word".repeat(n / 5))),
    ];
    println!(
        "\n| shape | bytes | steps | nodes | ms | steps ×2 | steps ×4 | time ×2 | time ×4 |\n\
         |---|---|---|---|---|---|---|---|---|"
    );
    let url = Canon::default().parse("http://example.org/").expect("a URL");
    for (name, shape) in shapes {
        let n = 512 << 10;
        let runs: Vec<(u64, usize, f64)> = [n, 2 * n, 4 * n]
            .iter()
            .map(|&n| {
                let text = shape(n);
                let dom = gleaner_extract::parse::parse(&text, false);
                let (steps, nodes) = (dom.steps, dom.nodes.len());
                drop(dom);
                let time = (0..3)
                    .map(|_| {
                        let start = Instant::now();
                        black_box(extract(
                            &url,
                            Some("text/html"),
                            None,
                            text.as_bytes(),
                            &Options::default(),
                        ));
                        start.elapsed().as_secs_f64()
                    })
                    .fold(f64::MAX, f64::min);
                (steps, nodes, time)
            })
            .collect();
        let ratio = |a: f64, b: f64| a / b.max(1e-9);
        println!(
            "| {name} | {n} | {} | {} | {:.1} | {:.2} | {:.2} | {:.2} | {:.2} |",
            runs[0].0,
            runs[0].1,
            runs[0].2 * 1e3,
            ratio(runs[1].0 as f64, runs[0].0 as f64),
            ratio(runs[2].0 as f64, runs[0].0 as f64),
            ratio(runs[1].2, runs[0].2),
            ratio(runs[2].2, runs[0].2),
        );
    }
}

// The yardstick: html5ever filling the plainest arena.

const NONE: usize = usize::MAX;

struct Plain {
    parent: usize,
    first: usize,
    last: usize,
    prev: usize,
    next: usize,
    data: PlainData,
}

enum PlainData {
    Other,
    Text(StrTendril),
    Element(QualName, Vec<Attribute>),
}

struct Arena(RefCell<Vec<Plain>>);

#[derive(Debug)]
struct Name<'a>(Ref<'a, QualName>);
impl ElemName for Name<'_> {
    fn ns(&self) -> &Namespace {
        &self.0.ns
    }
    fn local_name(&self) -> &LocalName {
        &self.0.local
    }
}

fn bare(text: &str) -> Vec<Plain> {
    let tree_builder = TreeBuilderOpts { scripting_enabled: false, ..Default::default() };
    let arena = Arena(RefCell::new(vec![plain(PlainData::Other)]));
    parse_document(arena, ParseOpts { tree_builder, ..Default::default() }).one(text)
}

fn plain(data: PlainData) -> Plain {
    Plain { parent: NONE, first: NONE, last: NONE, prev: NONE, next: NONE, data }
}

impl Arena {
    fn add(&self, data: PlainData) -> usize {
        let mut nodes = self.0.borrow_mut();
        nodes.push(plain(data));
        nodes.len() - 1
    }
    fn detach(nodes: &mut [Plain], id: usize) {
        let (parent, prev, next) = (nodes[id].parent, nodes[id].prev, nodes[id].next);
        match prev {
            NONE if parent != NONE => nodes[parent].first = next,
            NONE => {}
            p => nodes[p].next = next,
        }
        match next {
            NONE if parent != NONE => nodes[parent].last = prev,
            NONE => {}
            n => nodes[n].prev = prev,
        }
        (nodes[id].parent, nodes[id].prev, nodes[id].next) = (NONE, NONE, NONE);
    }
    fn put(&self, parent: usize, before: usize, child: NodeOrText<usize>) {
        let nodes = &mut *self.0.borrow_mut();
        let prev = if before == NONE { nodes[parent].last } else { nodes[before].prev };
        let id = match child {
            NodeOrText::AppendNode(id) => {
                Self::detach(nodes, id);
                id
            }
            NodeOrText::AppendText(text) => {
                if prev != NONE
                    && let PlainData::Text(t) = &mut nodes[prev].data
                {
                    return t.push_tendril(&text);
                }
                nodes.push(plain(PlainData::Text(text)));
                nodes.len() - 1
            }
        };
        let prev = if before == NONE { nodes[parent].last } else { nodes[before].prev };
        (nodes[id].parent, nodes[id].prev, nodes[id].next) = (parent, prev, before);
        match prev {
            NONE => nodes[parent].first = id,
            p => nodes[p].next = id,
        }
        match before {
            NONE => nodes[parent].last = id,
            b => nodes[b].prev = id,
        }
    }
}

impl TreeSink for Arena {
    type Handle = usize;
    type Output = Vec<Plain>;
    type ElemName<'a> = Name<'a>;
    fn finish(self) -> Vec<Plain> {
        self.0.into_inner()
    }
    fn parse_error(&self, _: Cow<'static, str>) {}
    fn get_document(&self) -> usize {
        0
    }
    fn set_quirks_mode(&self, _: QuirksMode) {}
    fn elem_name<'a>(&'a self, target: &'a usize) -> Name<'a> {
        Name(Ref::map(self.0.borrow(), |nodes| match &nodes[*target].data {
            PlainData::Element(name, _) => name,
            _ => panic!("not an element"),
        }))
    }
    fn same_node(&self, x: &usize, y: &usize) -> bool {
        x == y
    }
    fn create_element(&self, name: QualName, attrs: Vec<Attribute>, _: ElementFlags) -> usize {
        self.add(PlainData::Element(name, attrs))
    }
    fn create_comment(&self, _: StrTendril) -> usize {
        self.add(PlainData::Other)
    }
    fn create_pi(&self, _: StrTendril, _: StrTendril) -> usize {
        self.add(PlainData::Other)
    }
    fn append(&self, parent: &usize, child: NodeOrText<usize>) {
        self.put(*parent, NONE, child);
    }
    fn append_before_sibling(&self, sibling: &usize, child: NodeOrText<usize>) {
        let parent = self.0.borrow()[*sibling].parent;
        self.put(parent, *sibling, child);
    }
    fn append_based_on_parent_node(&self, element: &usize, prev: &usize, child: NodeOrText<usize>) {
        if self.0.borrow()[*element].parent != NONE {
            self.append_before_sibling(element, child);
        } else {
            self.append(prev, child);
        }
    }
    fn append_doctype_to_document(&self, _: StrTendril, _: StrTendril, _: StrTendril) {}
    fn get_template_contents(&self, target: &usize) -> usize {
        *target
    }
    fn add_attrs_if_missing(&self, target: &usize, attrs: Vec<Attribute>) {
        if let PlainData::Element(_, old) = &mut self.0.borrow_mut()[*target].data {
            for a in attrs {
                if !old.iter().any(|o| o.name == a.name) {
                    old.push(a);
                }
            }
        }
    }
    fn remove_from_parent(&self, target: &usize) {
        Self::detach(&mut self.0.borrow_mut(), *target);
    }
    fn reparent_children(&self, node: &usize, new_parent: &usize) {
        loop {
            let child = self.0.borrow()[*node].first;
            if child == NONE {
                return;
            }
            self.put(*new_parent, NONE, NodeOrText::AppendNode(child));
        }
    }
}
