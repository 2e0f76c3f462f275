//! The browser's copy of a document (`DOMSnapshot.captureSnapshot`) → HTML.
//!
//! The copy is flat (a list of nodes, each with its parent), so no page is too deep, and the browser has put
//! shadow trees where they are seen. Frames of the same site are written as part of the page; links with
//! their whole address, because a script may have changed what they are relative to. Scripts, styles and
//! comments are left out.

use serde::Deserialize;
use std::collections::HashMap;
use url::Url;

#[derive(Deserialize)]
pub struct Captured {
    documents: Vec<Document>,
    strings: Vec<String>,
}

#[derive(Deserialize)]
struct Document {
    #[serde(rename = "documentURL", default = "none")]
    url: i64,
    #[serde(rename = "baseURL", default = "none")]
    base: i64,
    nodes: Nodes,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Nodes {
    #[serde(default)]
    parent_index: Vec<i64>,
    #[serde(default)]
    node_type: Vec<u8>,
    #[serde(default)]
    node_name: Vec<i64>,
    #[serde(default)]
    node_value: Vec<i64>,
    #[serde(default)]
    attributes: Vec<Vec<i64>>,
    #[serde(default)]
    content_document_index: Rare,
}

/// What only few nodes have.
#[derive(Deserialize, Default)]
struct Rare {
    index: Vec<usize>,
    value: Vec<i64>,
}

impl Rare {
    fn map(&self) -> HashMap<usize, i64> {
        self.index.iter().copied().zip(self.value.iter().copied()).collect()
    }
}

fn none() -> i64 {
    -1
}

/// A place that scripts lead to, with the words that lead there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    pub url: String,
    pub text: String,
}

const ELEMENT: u8 = 1;
const TEXT: u8 = 3;
const DOCUMENT: u8 = 9;
const FRAGMENT: u8 = 11;
const VOID: &[&str] = &[
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track",
    "wbr",
];
/// Elements that say nothing to a reader, or nothing that is true once scripts have run.
const LEFT_OUT: &[&str] = &["style", "noscript", "template", "base"];
/// Frames within frames, at most.
const FRAMES: usize = 4;

/// At most `most` bytes of HTML. `None`: there is no document.
pub fn html(captured: &Captured, routes: &[Route], most: usize) -> Option<Vec<u8>> {
    captured.documents.first()?;
    let mut writer = Writer { captured, out: String::from("<!DOCTYPE html>\n"), most };
    let tree = Tree::new(captured, 0)?;
    writer.write(&tree, tree.roots.clone(), 0);
    if !routes.is_empty() {
        writer.out.push_str("\n<nav data-gleaner=\"routes\">");
        for route in routes {
            writer.out.push_str("<a");
            writer.attribute("href", &route.url);
            writer.attribute("aria-label", &route.text);
            writer.out.push_str("></a>");
        }
        writer.out.push_str("</nav>\n");
    }
    Some(writer.out.into_bytes())
}

/// A document with its nodes in order.
struct Tree<'a> {
    nodes: &'a Nodes,
    base: Option<Url>,
    children: Vec<Vec<usize>>,
    frames: HashMap<usize, i64>,
    roots: Vec<usize>,
}

impl<'a> Tree<'a> {
    fn new(captured: &'a Captured, document: usize) -> Option<Tree<'a>> {
        let Document { url, base, nodes } = captured.documents.get(document)?;
        let text = |i: i64| usize::try_from(i).ok().and_then(|i| captured.strings.get(i)).map(String::as_str);
        if text(*url).is_some_and(|url| url.starts_with("chrome")) {
            // The browser's own page that says what went wrong.
            return None;
        }
        let count = nodes.parent_index.len();
        let mut tree = Tree {
            nodes,
            base: text(*base).and_then(|b| Url::parse(b).ok()),
            children: vec![Vec::new(); count],
            frames: nodes.content_document_index.map(),
            roots: Vec::new(),
        };
        for (node, parent) in nodes.parent_index.iter().enumerate() {
            // A parent comes before its children; anything else is not to be followed.
            match usize::try_from(*parent).ok().filter(|p| *p < node) {
                Some(parent) => tree.children.get_mut(parent)?.push(node),
                None => tree.roots.push(node),
            }
        }
        Some(tree)
    }

    fn children(&self, node: usize) -> &[usize] {
        self.children.get(node).map_or(&[], Vec::as_slice)
    }
}

enum Step {
    Open(usize),
    Close(String),
}

struct Writer<'a> {
    captured: &'a Captured,
    out: String,
    most: usize,
}

impl<'a> Writer<'a> {
    fn text(&self, i: Option<&i64>) -> &'a str {
        let i = i.and_then(|i| usize::try_from(*i).ok());
        i.and_then(|i| self.captured.strings.get(i)).map_or("", String::as_str)
    }

    fn write(&mut self, tree: &Tree<'a>, from: Vec<usize>, level: usize) {
        let mut steps: Vec<Step> = from.into_iter().rev().map(Step::Open).collect();
        while let Some(step) = steps.pop() {
            let node = match step {
                Step::Open(node) => node,
                Step::Close(name) => {
                    self.out.extend(["</", &name, ">"]);
                    continue;
                }
            };
            if self.out.len() > self.most {
                // What is open is closed all the same.
                continue;
            }
            match tree.nodes.node_type.get(node) {
                Some(&TEXT) => escape(self.text(tree.nodes.node_value.get(node)), false, &mut self.out),
                Some(&ELEMENT) => self.element(tree, node, level, &mut steps),
                Some(&(DOCUMENT | FRAGMENT)) => open(tree.children(node), &mut steps),
                _ => {}
            }
        }
    }

    fn element(&mut self, tree: &Tree<'a>, node: usize, level: usize, steps: &mut Vec<Step>) {
        let name = self.text(tree.nodes.node_name.get(node)).to_ascii_lowercase();
        let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ':'));
        if !is_name || LEFT_OUT.contains(&name.as_str()) {
            return;
        }
        let attributes = self.attributes(tree, node);
        let get = |wanted: &str| attributes.iter().find(|(n, _)| *n == wanted).map(|(_, v)| *v);
        match name.as_str() {
            "script" => {
                if get("type").is_some_and(|t| t.eq_ignore_ascii_case("application/ld+json")) {
                    let texts = tree.children(node).iter().map(|c| self.text(tree.nodes.node_value.get(*c)));
                    let data: String = texts.collect::<String>().replace("</", "<\\/");
                    self.out.extend(["<script type=\"application/ld+json\">", &data, "</script>"]);
                }
                return;
            }
            "meta" if get("charset").is_some() || get("http-equiv").is_some_and(is_content_type) => {
                // This text is in another encoding than the page was.
                return;
            }
            // What is slotted into it stands in it.
            "slot" => return open(tree.children(node), steps),
            "iframe" | "frame" => {
                if let Some(document) = tree.frames.get(&node)
                    && level < FRAMES
                    && let Some(frame) =
                        usize::try_from(*document).ok().and_then(|d| Tree::new(self.captured, d))
                {
                    self.out.push_str("<div");
                    self.attribute("data-frame", get("src").unwrap_or(""));
                    self.out.push('>');
                    let body = self.body_of(&frame);
                    self.write(&frame, body, level + 1);
                    self.out.push_str("</div>");
                }
                return;
            }
            _ => {}
        }
        self.out.extend(["<", &name]);
        for (key, value) in &attributes {
            let is_link = matches!((*key, name.as_str()), ("href", "a" | "area" | "link"));
            match is_link.then(|| tree.base.as_ref()?.join(value).ok()).flatten() {
                Some(whole) => self.attribute(key, whole.as_str()),
                None => self.attribute(key, value),
            }
        }
        self.out.push('>');
        if name == "head" {
            self.out.push_str("<meta charset=\"utf-8\">");
        }
        if VOID.contains(&name.as_str()) {
            return;
        }
        steps.push(Step::Close(name));
        open(tree.children(node), steps);
    }

    /// What stands in the body of a frame.
    fn body_of(&self, frame: &Tree<'a>) -> Vec<usize> {
        let name = |node: usize| self.text(frame.nodes.node_name.get(node));
        let body = (0..frame.children.len()).find(|n| name(*n).eq_ignore_ascii_case("body"));
        body.map_or_else(Vec::new, |body| frame.children(body).to_vec())
    }

    fn attributes(&self, tree: &Tree<'a>, node: usize) -> Vec<(&'a str, &'a str)> {
        let pairs = tree.nodes.attributes.get(node).map_or(&[][..], Vec::as_slice);
        pairs.as_chunks::<2>().0.iter().map(|[n, v]| (self.text(Some(n)), self.text(Some(v)))).collect()
    }

    fn attribute(&mut self, name: &str, value: &str) {
        if name.is_empty()
            || name.contains(|c: char| c.is_whitespace() || c.is_control() || "\"'<>/=".contains(c))
        {
            return;
        }
        self.out.extend([" ", name, "=\""]);
        escape(value, true, &mut self.out);
        self.out.push('"');
    }
}

fn open(nodes: &[usize], steps: &mut Vec<Step>) {
    steps.extend(nodes.iter().rev().map(|n| Step::Open(*n)));
}

fn is_content_type(value: &str) -> bool {
    value.eq_ignore_ascii_case("content-type")
}

fn escape(text: &str, quoted: bool, out: &mut String) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' if quoted => out.push_str("&quot;"),
            _ => out.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Nodes as `(parent, type, name, value, attributes)`.
    fn captured(documents: &[&[(i64, u8, &str, &str, &[&str])]], frames: &[(usize, i64)]) -> Captured {
        let mut strings = vec!["http://a.test/x/y".to_string()];
        let mut put = |text: &str| {
            strings.push(text.to_string());
            strings.len() as i64 - 1
        };
        let documents: Vec<_> = documents.iter().enumerate().map(|(i, nodes)| {
            let first = i == 0;
            json!({
                "baseURL": 0,
                "nodes": {
                    "parentIndex": nodes.iter().map(|n| n.0).collect::<Vec<_>>(),
                    "nodeType": nodes.iter().map(|n| n.1).collect::<Vec<_>>(),
                    "nodeName": nodes.iter().map(|n| put(n.2)).collect::<Vec<_>>(),
                    "nodeValue": nodes.iter().map(|n| put(n.3)).collect::<Vec<_>>(),
                    "attributes": nodes.iter().map(|n| n.4.iter().map(|a| put(a)).collect::<Vec<_>>()).collect::<Vec<_>>(),
                    "contentDocumentIndex": {
                        "index": frames.iter().filter(|_| first).map(|f| f.0).collect::<Vec<_>>(),
                        "value": frames.iter().filter(|_| first).map(|f| f.1).collect::<Vec<_>>(),
                    },
                },
            })
        }).collect();
        serde_json::from_value(json!({ "documents": documents, "strings": strings })).unwrap()
    }

    fn written(captured: &Captured, routes: &[Route]) -> String {
        String::from_utf8(html(captured, routes, 1 << 20).unwrap()).unwrap().replace("<!DOCTYPE html>\n", "")
    }

    #[test]
    fn text_links_and_what_is_left_out() {
        let page = captured(
            &[&[
                (-1, 9, "#document", "", &[]),
                (0, 1, "BODY", "", &[]),
                (1, 1, "A", "", &["href", "../z?q=\"1\"&b"]),
                (2, 3, "#text", "1 < 2 & 3", &[]),
                (1, 1, "SCRIPT", "", &[]),
                (4, 3, "#text", "evil()", &[]),
                (1, 1, "SCRIPT", "", &["type", "application/ld+json"]),
                (6, 3, "#text", "{\"a\":\"</script>\"}", &[]),
                (1, 1, "NOSCRIPT", "", &[]),
                (8, 3, "#text", "turn it on", &[]),
                (1, 8, "#comment", "x", &[]),
                (1, 1, "BR", "", &[]),
                (1, 1, "SLOT", "", &["name", "title"]),
                (12, 3, "#text", "slotted", &[]),
            ]],
            &[],
        );
        assert_eq!(
            written(&page, &[]),
            "<body><a href=\"http://a.test/z?q=%221%22&amp;b\">1 &lt; 2 &amp; 3</a>\
             <script type=\"application/ld+json\">{\"a\":\"<\\/script>\"}</script><br>slotted</body>"
        );
    }

    #[test]
    fn frames_and_routes() {
        let page = captured(
            &[
                &[(-1, 1, "IFRAME", "", &["src", "/f"])],
                &[(-1, 1, "HTML", "", &[]), (0, 1, "BODY", "", &[]), (1, 3, "#text", "inside", &[])],
            ],
            &[(0, 1)],
        );
        let routes = [Route { url: "http://a.test/r".into(), text: "Go \"there\"".into() }];
        assert_eq!(
            written(&page, &routes),
            "<div data-frame=\"/f\">inside</div>\n<nav data-gleaner=\"routes\">\
             <a href=\"http://a.test/r\" aria-label=\"Go &quot;there&quot;\"></a></nav>\n"
        );
    }

    #[test]
    fn depth_size_and_nonsense() {
        let deep: Vec<(i64, u8, &str, &str, &[&str])> =
            (0..200_000).map(|i| (i - 1, 1, "DIV", "", &[][..])).collect();
        assert!(html(&captured(&[&deep], &[]), &[], 1 << 20).unwrap().len() < 4 << 20);
        // Indexes that lead nowhere, and a frame that holds itself.
        let odd = captured(&[&[(7, 1, "IFRAME", "", &[]), (1, 1, "P", "", &["x"])]], &[(0, 0), (1, 55)]);
        assert!(html(&odd, &[], 1 << 20).is_some());
        let empty: Captured = serde_json::from_str("{\"documents\":[],\"strings\":[]}").unwrap();
        assert_eq!(html(&empty, &[], 100), None);
    }
}
