//! The document tree: a flat arena that html5ever's tree builder fills.
//!
//! Nodes are numbered by creation and linked by index; nothing is reference-counted, nothing recurses. The
//! sink counts the work it is asked for, so that the guard in [`crate::parse`] can bound it without looking
//! at a clock.

use html5ever::interface::{ElemName, ElementFlags, NodeOrText, QuirksMode, TreeSink};
use html5ever::tendril::StrTendril;
use html5ever::{Attribute, LocalName, Namespace, QualName, local_name, ns};
use std::borrow::Cow;
use std::cell::{Cell, Ref, RefCell};

/// "No node" in the links of a [`Node`].
pub const NONE: u32 = u32::MAX;
/// The document itself is the first node.
pub const DOCUMENT: u32 = 0;
/// A repeated `<body …>` adds the attributes the first one lacks; more than this is an attack, not a page.
const MAX_ADDED_ATTRS: usize = 256;

pub struct Node {
    pub parent: u32,
    pub first: u32,
    pub last: u32,
    pub prev: u32,
    pub next: u32,
    pub data: Data,
}

pub enum Data {
    Document,
    Comment,
    Text(StrTendril),
    Element(Element),
}

pub struct Element {
    pub name: QualName,
    pub attrs: Vec<Attribute>,
    /// The fragment that holds a template's contents (never rendered), or [`NONE`].
    pub template: u32,
    mathml_integration: bool,
}

impl Element {
    /// The value of an attribute without namespace.
    #[inline]
    pub fn attr(&self, name: &LocalName) -> Option<&str> {
        self.attrs.iter().find(|a| a.name.local == *name).map(|a| &*a.value)
    }
}

/// What the tree builder made of the bytes.
pub struct Dom {
    pub nodes: Vec<Node>,
    /// The first `<base>` with an `href`.
    pub base: Option<u32>,
    /// Operations the tree builder asked for: a measure of work that is the same on every machine.
    pub steps: u64,
    /// The guard flattened or stopped the document.
    pub cut: bool,
}

impl Dom {
    pub fn node(&self, id: u32) -> Option<&Node> {
        self.nodes.get(id as usize)
    }
    pub fn element(&self, id: u32) -> Option<&Element> {
        match &self.nodes.get(id as usize)?.data {
            Data::Element(e) => Some(e),
            _ => None,
        }
    }
}

/// The arena while it is being filled. html5ever hands out `&self` only, hence the cells.
pub struct Sink {
    nodes: RefCell<Vec<Node>>,
    base: Cell<Option<u32>>,
    steps: Cell<u64>,
    /// What the name of something that is not an element is (the tree builder never asks, but must not
    /// panic).
    nameless: RefCell<QualName>,
}

#[derive(Debug)]
pub struct Name<'a>(Ref<'a, QualName>);

impl ElemName for Name<'_> {
    #[inline]
    fn ns(&self) -> &Namespace {
        &self.0.ns
    }
    #[inline]
    fn local_name(&self) -> &LocalName {
        &self.0.local
    }
}

impl Sink {
    /// `expect` = how many nodes to make room for.
    pub fn new(expect: usize) -> Sink {
        let mut nodes = Vec::with_capacity(expect);
        nodes.push(Node::new(Data::Document));
        Sink {
            nodes: RefCell::new(nodes),
            base: Cell::new(None),
            steps: Cell::new(0),
            nameless: RefCell::new(QualName::new(None, ns!(), local_name!(""))),
        }
    }

    #[inline]
    pub fn steps(&self) -> u64 {
        self.steps.get()
    }
    #[inline]
    pub fn spend(&self, steps: u64) {
        self.steps.set(self.steps.get() + steps);
    }
    pub fn node_count(&self) -> usize {
        self.nodes.borrow().len()
    }

    pub fn into_dom(self, cut: bool) -> Dom {
        Dom { nodes: self.nodes.into_inner(), base: self.base.get(), steps: self.steps.get(), cut }
    }

    fn add(&self, data: Data) -> u32 {
        let mut nodes = self.nodes.borrow_mut();
        nodes.push(Node::new(data));
        (nodes.len() - 1) as u32
    }
}

impl Node {
    fn new(data: Data) -> Node {
        Node { parent: NONE, first: NONE, last: NONE, prev: NONE, next: NONE, data }
    }
}

/// Takes `id` out of its parent's list of children.
fn detach(nodes: &mut [Node], id: u32) {
    let Some(n) = nodes.get_mut(id as usize) else { return };
    let (parent, prev, next) = (n.parent, n.prev, n.next);
    (n.parent, n.prev, n.next) = (NONE, NONE, NONE);
    match nodes.get_mut(prev as usize) {
        Some(p) => p.next = next,
        None => {
            if let Some(p) = nodes.get_mut(parent as usize) {
                p.first = next;
            }
        }
    }
    match nodes.get_mut(next as usize) {
        Some(n) => n.prev = prev,
        None => {
            if let Some(p) = nodes.get_mut(parent as usize) {
                p.last = prev;
            }
        }
    }
}

/// Puts the detached `id` at the end of `parent`'s children.
fn append(nodes: &mut [Node], parent: u32, id: u32) {
    let Some(p) = nodes.get_mut(parent as usize) else { return };
    let last = std::mem::replace(&mut p.last, id);
    if last == NONE {
        p.first = id;
    } else if let Some(l) = nodes.get_mut(last as usize) {
        l.next = id;
    }
    if let Some(n) = nodes.get_mut(id as usize) {
        (n.parent, n.prev, n.next) = (parent, last, NONE);
    }
}

/// Puts the detached `id` before `sibling`.
fn insert_before(nodes: &mut [Node], sibling: u32, id: u32) {
    let Some(s) = nodes.get_mut(sibling as usize) else { return };
    let parent = s.parent;
    let prev = std::mem::replace(&mut s.prev, id);
    if let Some(p) = nodes.get_mut(prev as usize) {
        p.next = id;
    } else if let Some(p) = nodes.get_mut(parent as usize) {
        p.first = id;
    }
    if let Some(n) = nodes.get_mut(id as usize) {
        (n.parent, n.prev, n.next) = (parent, prev, sibling);
    }
}

/// The child as a node that stands nowhere; `None` if it is text that was added to the text `before` it.
fn loose(nodes: &mut Vec<Node>, before: u32, child: NodeOrText<u32>) -> Option<u32> {
    match child {
        NodeOrText::AppendNode(id) => {
            detach(nodes, id);
            Some(id)
        }
        NodeOrText::AppendText(text) => {
            let text = merge_text(nodes, before, text)?;
            nodes.push(Node::new(Data::Text(text)));
            Some((nodes.len() - 1) as u32)
        }
    }
}

/// Adjacent text is one node; returns the text when there is no node to add it to.
#[inline]
fn merge_text(nodes: &mut [Node], before: u32, text: StrTendril) -> Option<StrTendril> {
    if let Some(Node { data: Data::Text(t), .. }) = nodes.get_mut(before as usize) {
        t.push_tendril(&text);
        return None;
    }
    Some(text)
}

impl TreeSink for Sink {
    type Handle = u32;
    type Output = Sink;
    type ElemName<'a> = Name<'a>;

    fn finish(self) -> Sink {
        self
    }
    fn parse_error(&self, _: Cow<'static, str>) {}
    fn get_document(&self) -> u32 {
        DOCUMENT
    }
    fn set_quirks_mode(&self, _: QuirksMode) {}

    #[inline]
    fn elem_name<'a>(&'a self, target: &'a u32) -> Name<'a> {
        self.steps.set(self.steps.get() + 1);
        let named = Ref::filter_map(self.nodes.borrow(), |nodes| match nodes.get(*target as usize) {
            Some(Node { data: Data::Element(e), .. }) => Some(&e.name),
            _ => None,
        });
        Name(named.unwrap_or_else(|_| self.nameless.borrow()))
    }

    #[inline]
    fn same_node(&self, x: &u32, y: &u32) -> bool {
        self.steps.set(self.steps.get() + 1);
        x == y
    }

    fn create_element(&self, name: QualName, attrs: Vec<Attribute>, flags: ElementFlags) -> u32 {
        self.steps.set(self.steps.get() + 1);
        let is_base = name.local == local_name!("base") && name.ns == ns!(html);
        // A declarative shadow root is rendered; its contents stay where they are. Other templates are not.
        let has_contents = flags.template && !attrs.iter().any(|a| &*a.name.local == "shadowrootmode");
        let template = if has_contents { self.add(Data::Document) } else { NONE };
        let is_base =
            is_base && self.base.get().is_none() && attrs.iter().any(|a| a.name.local == local_name!("href"));
        let mathml_integration = flags.mathml_annotation_xml_integration_point;
        let id = self.add(Data::Element(Element { name, attrs, template, mathml_integration }));
        if is_base {
            self.base.set(Some(id));
        }
        id
    }

    fn create_comment(&self, _: StrTendril) -> u32 {
        self.add(Data::Comment)
    }
    fn create_pi(&self, _: StrTendril, _: StrTendril) -> u32 {
        self.add(Data::Comment)
    }

    fn append(&self, parent: &u32, child: NodeOrText<u32>) {
        self.steps.set(self.steps.get() + 1);
        let nodes = &mut *self.nodes.borrow_mut();
        let last = nodes.get(*parent as usize).map_or(NONE, |p| p.last);
        if let Some(id) = loose(nodes, last, child) {
            append(nodes, *parent, id);
        }
    }

    fn append_before_sibling(&self, sibling: &u32, child: NodeOrText<u32>) {
        self.steps.set(self.steps.get() + 1);
        let nodes = &mut *self.nodes.borrow_mut();
        let before = nodes.get(*sibling as usize).map_or(NONE, |s| s.prev);
        if let Some(id) = loose(nodes, before, child) {
            insert_before(nodes, *sibling, id);
        }
    }

    fn append_based_on_parent_node(&self, element: &u32, prev_element: &u32, child: NodeOrText<u32>) {
        let has_parent = self.nodes.borrow().get(*element as usize).is_some_and(|n| n.parent != NONE);
        if has_parent {
            self.append_before_sibling(element, child);
        } else {
            self.append(prev_element, child);
        }
    }

    fn append_doctype_to_document(&self, _: StrTendril, _: StrTendril, _: StrTendril) {}

    fn get_template_contents(&self, target: &u32) -> u32 {
        match self.nodes.borrow().get(*target as usize) {
            Some(Node { data: Data::Element(e), .. }) if e.template != NONE => e.template,
            _ => *target,
        }
    }

    fn add_attrs_if_missing(&self, target: &u32, attrs: Vec<Attribute>) {
        let nodes = &mut *self.nodes.borrow_mut();
        let Some(Node { data: Data::Element(e), .. }) = nodes.get_mut(*target as usize) else { return };
        for a in attrs {
            self.steps.set(self.steps.get() + e.attrs.len() as u64);
            if e.attrs.len() < MAX_ADDED_ATTRS && !e.attrs.iter().any(|old| old.name == a.name) {
                e.attrs.push(a);
            }
        }
    }

    fn remove_from_parent(&self, target: &u32) {
        self.steps.set(self.steps.get() + 1);
        detach(&mut self.nodes.borrow_mut(), *target);
    }

    fn reparent_children(&self, node: &u32, new_parent: &u32) {
        let nodes = &mut *self.nodes.borrow_mut();
        while let Some(child) = nodes.get(*node as usize).map(|n| n.first).filter(|&c| c != NONE) {
            self.steps.set(self.steps.get() + 1);
            detach(nodes, child);
            append(nodes, *new_parent, child);
        }
    }

    fn is_mathml_annotation_xml_integration_point(&self, handle: &u32) -> bool {
        match self.nodes.borrow().get(*handle as usize) {
            Some(Node { data: Data::Element(e), .. }) => e.mathml_integration,
            _ => false,
        }
    }
}
