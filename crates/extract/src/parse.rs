//! Tree building with a guard: linear in the input, whatever the input.
//!
//! html5ever follows the standard, and the standard is quadratic in nesting depth (every `<div>` looks for an
//! open `<p>` through the whole stack), in attributes per tag and, through the list of active formatting
//! elements, in tree size. A guard sits between tokenizer and tree builder and
//!
//! * *flattens*: past [`MAX_DEPTH`] open elements, containers are dropped and their contents stay in the
//!   innermost element, as browsers do; links, images and text go on being read;
//! * *shortens* tags with absurdly many attributes;
//! * *stops* when the work exceeds a budget that is proportional to the input. It counts steps, never time,
//!   so the same bytes give the same page on every machine.

use crate::dom::{Dom, Sink};
use html5ever::buffer_queue::BufferQueue;
use html5ever::interface::Tracer;
use html5ever::tendril::StrTendril;
use html5ever::tokenizer::{
    CharacterTokens, EndTag, StartTag, Tag, TagToken, Token, TokenSink, TokenSinkResult, Tokenizer,
    TokenizerOpts,
};
use html5ever::tree_builder::{TreeBuilder, TreeBuilderOpts};
use html5ever::{LocalName, TokenizerResult, local_name};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;

/// Open (and active formatting) elements beyond which containers are flattened. Browsers use 512, too.
pub const MAX_DEPTH: u32 = 512;
/// Beyond this even links are no longer nested (they can only nest in foreign content).
const HARD_DEPTH: u32 = MAX_DEPTH + 64;
/// Longest input that is looked at; the rest is cut.
pub const MAX_INPUT: usize = 32 << 20;
/// Most nodes of a tree.
const MAX_NODES: usize = 4_000_000;
/// Input is fed in pieces, so that stopping is possible in between.
const PIECE: usize = 8 << 10;
/// Attributes kept of one tag.
const MAX_ATTRS: usize = 256;

/// Budget of tree-builder operations for an input of `len` bytes. Real pages need 1–3 per byte.
fn step_budget(len: usize) -> u64 {
    1_000_000 + 100 * len as u64
}

/// Budget of nodes: a page has at most about one per three bytes; misnested formatting multiplies them.
fn node_budget(len: usize) -> usize {
    (4_096 + 2 * len).min(MAX_NODES)
}

/// The tree of `text`. With `xhtml`, `<x/>` closes any element and CDATA sections are text.
pub fn parse(text: &str, xhtml: bool) -> Dom {
    let whole = text.len();
    let text = &text[..text.floor_char_boundary(MAX_INPUT)];
    let sink = Sink::new((text.len() / 24).clamp(16, 1 << 20));
    let options = TreeBuilderOpts { scripting_enabled: false, drop_doctype: true, ..Default::default() };
    let guard = Guard {
        builder: TreeBuilder::new(sink, options),
        queue: BufferQueue::default(),
        xhtml,
        steps: step_budget(text.len()),
        nodes: node_budget(text.len()),
        depth: Cell::new(0),
        next_look: Cell::new(64),
        swallowed: RefCell::default(),
        any_swallowed: Cell::new(false),
        cut: Cell::new(text.len() < whole),
        stopped: Cell::new(false),
        piece_end: Cell::new(0),
        last_token: Cell::new(0),
        text: RefCell::default(),
    };
    let tokenizer = Tokenizer::new(guard, TokenizerOpts::default());
    feed(&tokenizer, text);
    let guard = tokenizer.sink;
    guard.builder.sink.into_dom(guard.cut.get())
}

fn feed(tokenizer: &Tokenizer<Guard>, text: &str) {
    let guard = &tokenizer.sink;
    let push = |piece: &str| {
        guard.queue.push_back(StrTendril::from_slice(piece));
        while !matches!(tokenizer.feed(&guard.queue), TokenizerResult::Done) {}
    };
    let mut at = 0;
    let mut scan: Option<AttrScan> = None;
    while at < text.len() {
        let end = text.ceil_char_boundary(at + PIECE);
        guard.piece_end.set(end);
        push(&text[at..end]);
        at = end;
        if guard.stopped.get() {
            return;
        }
        // Nothing came out of a whole piece: the tokenizer is inside one very long tag or comment.
        let start = guard.last_token.get();
        if end - start < PIECE {
            scan = None;
            continue;
        }
        let s = scan.get_or_insert_with(|| AttrScan::new(text, start));
        if s.start != start {
            *s = AttrScan::new(text, start);
        }
        s.advance(text, end);
        if s.attrs > MAX_ATTRS {
            if s.is_tag {
                // Skip the rest of the tag and close it where it is.
                guard.cut.set(true);
                let close = s.close();
                s.advance(text, text.len());
                at = s.at;
                guard.piece_end.set(at);
                push(close);
                scan = None;
            } else if s.attrs > 100 * MAX_ATTRS {
                // Cannot tell a tag from a long comment here; stop before it becomes expensive.
                guard.cut.set(true);
                return;
            }
        }
    }
    tokenizer.end();
}

/// Follows the tag the tokenizer is in, counting attributes.
struct AttrScan {
    start: usize,
    at: usize,
    is_tag: bool,
    is_comment: bool,
    state: InTag,
    attrs: usize,
}

#[derive(Clone, Copy, PartialEq)]
enum InTag {
    Between,
    Name,
    AfterName,
    BeforeValue,
    Double,
    Single,
    Bare,
    Done,
}

impl AttrScan {
    fn new(text: &str, start: usize) -> AttrScan {
        let head = text.as_bytes().get(start..).unwrap_or_default();
        let is_tag = match head {
            [b'<', b'/', c, ..] | [b'<', c, ..] => c.is_ascii_alphabetic(),
            _ => false,
        };
        let is_comment = matches!(head, [b'<', b'!' | b'?', ..]);
        AttrScan { start, at: start, is_tag, is_comment, state: InTag::Name, attrs: 0 }
    }

    fn advance(&mut self, text: &str, to: usize) {
        if self.is_comment {
            self.at = to;
            return;
        }
        let bytes = text.as_bytes();
        while self.at < to && self.state != InTag::Done {
            let Some(&b) = bytes.get(self.at) else { break };
            self.at += 1;
            let space = b.is_ascii_whitespace() || b == b'/';
            self.state = match (self.state, b) {
                (InTag::Double, b'"') | (InTag::Single, b'\'') => InTag::Between,
                (InTag::Double | InTag::Single, _) => self.state,
                // What is not known to be a tag is only measured.
                (_, b'>') if self.is_tag => InTag::Done,
                (InTag::Between, _) if space => InTag::Between,
                (InTag::AfterName, b'=') => InTag::BeforeValue,
                (InTag::AfterName, _) if b.is_ascii_whitespace() => InTag::AfterName,
                (InTag::AfterName, b'/') => InTag::Between,
                (InTag::Between | InTag::AfterName, _) => {
                    self.attrs += 1;
                    InTag::Name
                }
                (InTag::Name, b'=') if self.attrs > 0 => InTag::BeforeValue,
                (InTag::Name, _) if space && (b == b'/' || self.attrs == 0) => InTag::Between,
                (InTag::Name, _) if space => InTag::AfterName,
                (InTag::Name, _) => InTag::Name,
                (InTag::BeforeValue, b'"') => InTag::Double,
                (InTag::BeforeValue, b'\'') => InTag::Single,
                (InTag::BeforeValue, _) if b.is_ascii_whitespace() => InTag::BeforeValue,
                (InTag::BeforeValue, _) => InTag::Bare,
                (InTag::Bare, _) if b.is_ascii_whitespace() => InTag::Between,
                (InTag::Bare, _) => InTag::Bare,
                (InTag::Done, _) => InTag::Done,
            };
        }
    }

    /// What ends the tag from the present state.
    fn close(&self) -> &'static str {
        match self.state {
            InTag::Double => "\">",
            InTag::Single => "'>",
            _ => ">",
        }
    }
}

/// Between tokenizer and tree builder.
struct Guard {
    builder: TreeBuilder<u32, Sink>,
    queue: BufferQueue,
    xhtml: bool,
    steps: u64,
    nodes: usize,
    /// Open elements and active formatting elements, when last looked at.
    depth: Cell<u32>,
    /// Tokens until the depth is looked at again.
    next_look: Cell<u32>,
    /// Start tags that were dropped, so that their end tags are, too.
    swallowed: RefCell<HashMap<LocalName, u32>>,
    any_swallowed: Cell<bool>,
    cut: Cell<bool>,
    stopped: Cell<bool>,
    /// Where the piece being tokenized ends in the input, and where the last token did.
    piece_end: Cell<usize>,
    last_token: Cell<usize>,
    /// Text that is not handed on yet: it comes in small pieces (`a &lt; b` is three), and one is as good as
    /// three.
    text: RefCell<StrTendril>,
}

struct Count(Cell<u32>);
impl Tracer for Count {
    type Handle = u32;
    fn trace_handle(&self, _: &u32) {
        self.0.set(self.0.get() + 1);
    }
}

impl Guard {
    #[inline]
    fn flush(&self, line: u64) {
        if !self.text.borrow().is_empty() {
            let text = self.text.take();
            // Text never changes what the tokenizer does next.
            let _ = self.builder.process_token(CharacterTokens(text), line);
        }
    }

    /// How deep are we? Asked rarely enough to cost nothing, often enough not to overshoot by much.
    fn look(&self) {
        let count = Count(Cell::new(0));
        self.builder.trace_handles(&count);
        let depth = count.0.get();
        self.depth.set(depth);
        self.next_look.set((MAX_DEPTH.saturating_sub(depth) / 2).clamp(16, 64));
        let sink = &self.builder.sink;
        sink.spend(u64::from(depth / 8));
        if sink.steps() > self.steps || sink.node_count() > self.nodes {
            self.stopped.set(true);
            self.cut.set(true);
        }
    }

    /// Drops the tag if it would nest too deeply.
    fn flatten(&self, tag: &Tag) -> bool {
        if tag.kind == StartTag {
            let depth = self.depth.get();
            if depth < MAX_DEPTH || passes(&tag.name) || (tag.name == local_name!("a") && depth < HARD_DEPTH)
            {
                return false;
            }
            *self.swallowed.borrow_mut().entry(tag.name.clone()).or_default() += 1;
            self.any_swallowed.set(true);
            self.cut.set(true);
            return true;
        }
        if !self.any_swallowed.get() {
            return false;
        }
        match self.swallowed.borrow_mut().get_mut(&tag.name) {
            Some(n) if *n > 0 => {
                *n -= 1;
                true
            }
            _ => false,
        }
    }
}

/// Elements that cannot hold others (so they do not nest), or that switch the tokenizer and so must not be
/// dropped.
fn passes(name: &LocalName) -> bool {
    matches!(
        *name,
        local_name!("area")
            | local_name!("base")
            | local_name!("br")
            | local_name!("col")
            | local_name!("embed")
            | local_name!("frame")
            | local_name!("hr")
            | local_name!("iframe")
            | local_name!("img")
            | local_name!("input")
            | local_name!("link")
            | local_name!("meta")
            | local_name!("noembed")
            | local_name!("noframes")
            | local_name!("param")
            | local_name!("plaintext")
            | local_name!("script")
            | local_name!("source")
            | local_name!("style")
            | local_name!("textarea")
            | local_name!("title")
            | local_name!("track")
            | local_name!("wbr")
            | local_name!("xmp")
    )
}

impl TokenSink for Guard {
    type Handle = u32;

    fn process_token(&self, mut token: Token, line: u64) -> TokenSinkResult<u32> {
        if matches!(token, Token::ParseError(_)) || self.stopped.get() {
            return TokenSinkResult::Continue;
        }
        let rest = self.queue.peek_front_chunk_mut().map_or(0, |chunk| chunk.len32() as usize);
        self.last_token.set(self.piece_end.get().saturating_sub(rest));
        match self.next_look.get() {
            0 => self.look(),
            n => self.next_look.set(n - 1),
        }
        if let CharacterTokens(more) = token {
            let mut text = self.text.borrow_mut();
            if text.is_empty() {
                *text = more;
            } else {
                text.push_tendril(&more);
            }
            return TokenSinkResult::Continue;
        }
        self.flush(line);
        let mut close = None;
        if let TagToken(tag) = &mut token {
            if tag.attrs.len() > MAX_ATTRS {
                // The tokenizer compared every attribute with every earlier one.
                self.builder.sink.spend((tag.attrs.len() * tag.attrs.len() / 4) as u64);
                tag.attrs.truncate(MAX_ATTRS);
                self.cut.set(true);
            }
            if self.flatten(tag) {
                return TokenSinkResult::Continue;
            }
            if self.xhtml && tag.self_closing && tag.kind == StartTag && !is_void(&tag.name) {
                close = Some(Tag {
                    kind: EndTag,
                    name: tag.name.clone(),
                    self_closing: false,
                    attrs: Vec::new(),
                    had_duplicate_attributes: false,
                });
            }
        }
        let result = self.builder.process_token(token, line);
        let Some(close) = close else { return result };
        // `<script/>` in XHTML has no contents: the tokenizer must not wait for `</script>`. Scripts do not
        // run.
        let _ = self.builder.process_token(TagToken(close), line);
        TokenSinkResult::Continue
    }

    fn end(&self) {
        self.builder.end();
    }

    fn adjusted_current_node_present_but_not_in_html_namespace(&self) -> bool {
        self.xhtml || self.builder.adjusted_current_node_present_but_not_in_html_namespace()
    }
}

fn is_void(name: &LocalName) -> bool {
    matches!(
        *name,
        local_name!("area")
            | local_name!("base")
            | local_name!("br")
            | local_name!("col")
            | local_name!("embed")
            | local_name!("frame")
            | local_name!("hr")
            | local_name!("img")
            | local_name!("input")
            | local_name!("link")
            | local_name!("meta")
            | local_name!("param")
            | local_name!("source")
            | local_name!("track")
            | local_name!("wbr")
    )
}
