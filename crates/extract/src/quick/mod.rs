//! The quick way from source to page, for pages whose markup needs no repair that moves anything.
//!
//! The standard's tree construction (§13.2.6) mostly puts each thing after the one before it. As long as it
//! does, no tree is needed: elements begin and end in the order of the source, and [`Walk`] is told as they
//! do. Implied tags, unclosed elements, forgotten end tags, reopened formatting elements, tables, SVG and
//! MathML are all of this kind.
//!
//! What is not (content that a table throws out in front of itself, formatting that has to be torn apart
//! around a block, framesets, templates, nesting without end …) makes it give up: [`page`] returns `None`,
//! and the full parser ([`crate::parse`]) does it all again. So the quick way never has to guess, and it has
//! to be right: it gives the page that the full parser gives. `tests/quick.rs` compares the two on tag soup,
//! `benches/extract.rs` on real pages.

mod end;
mod stack;
mod start;

use crate::names::*;
use crate::source::{Declared, Quirks, Source, decoded, is_blank};
use crate::walk::{Attrs, Walk};
use crate::{Options, parse};
use memchr::memchr;
use std::borrow::Cow;
use types::{Page, Url};

/// Why a page is left to the full parser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Odd(pub &'static str);

type Done = Result<(), Odd>;

/// Deeper trees are left to the parser that flattens them.
const MAX_DEPTH: usize = 200;
/// More formatting that is never closed is copied into every paragraph: the full parser counts such work.
const MAX_FORMATTING: usize = 24;

/// The page, with everything but what is computed from its text; `Err` when the full parser has to read it.
pub fn page(text: &str, url: &Url, options: &Options, page: Page) -> Result<Page, Odd> {
    if text.len() > parse::MAX_INPUT {
        return Err(Odd("too long"));
    }
    if memchr(0, text.as_bytes()).is_some() {
        return Err(Odd("a NUL"));
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let text = match memchr(b'\r', text.as_bytes()) {
        None => Cow::Borrowed(text),
        Some(_) => Cow::Owned(text.replace("\r\n", "\n").replace('\r', "\n")),
    };
    let mut builder = Builder {
        source: Source { text: &text, at: 0 },
        walk: Walk::new(url, options, text.len(), page),
        attrs: Attrs::default(),
        mode: Mode::Initial,
        open: Vec::with_capacity(32),
        formatting: Vec::new(),
        quirks: Quirks::Yes,
        form: Form::None,
        base_set: false,
        skip_newline: false,
        pending: Pending::Nothing,
        buffer: String::new(),
        after_body: 0,
        after_html: 0,
    };
    builder.run()?;
    Ok(builder.walk.finish())
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mode {
    Initial,
    BeforeHtml,
    BeforeHead,
    InHead,
    InHeadNoscript,
    AfterHead,
    InBody,
    InTable,
    InCaption,
    InColumnGroup,
    InTableBody,
    InRow,
    InCell,
    AfterBody,
    AfterAfterBody,
}

/// An open element.
#[derive(Clone, Copy, Debug)]
struct Open<'s> {
    name: Name<'s>,
    html: bool,
    /// If not: SVG (or MathML).
    svg: bool,
    /// Taken off the stack while elements inside it were open (`</form>`): it ends with the innermost of
    /// those.
    ghost: bool,
    /// It is in the list of active formatting elements.
    listed: bool,
}

/// An entry of the list of active formatting elements.
#[derive(Clone, Copy, Debug)]
enum Formatting {
    Marker,
    /// Its tag's place in the source (to open it again), and where it is on the stack, if it is.
    Element {
        tag: Tag,
        at: usize,
        open: Option<usize>,
    },
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    None,
    /// The form element pointer, by place on the stack.
    Open(usize),
    /// It points to an element that was closed otherwise.
    Gone,
}

/// Text that is not handed on yet: a tag that is ignored does not end a text node.
enum Pending<'s> {
    Nothing,
    Slice(&'s str),
    Buffer,
}

struct Builder<'s, 'o> {
    source: Source<'s>,
    walk: Walk<'s, 'o>,
    attrs: Attrs<'s>,
    mode: Mode,
    open: Vec<Open<'s>>,
    formatting: Vec<Formatting>,
    quirks: Quirks,
    form: Form,
    base_set: bool,
    skip_newline: bool,
    pending: Pending<'s>,
    buffer: String,
    /// Comments after the end tags of body and html: they go behind those elements, wherever the rest goes.
    after_body: u32,
    after_html: u32,
}

impl<'s> Builder<'s, '_> {
    fn run(&mut self) -> Done {
        loop {
            let from = self.source.at;
            let Some(n) = memchr(b'<', self.source.rest()) else {
                let end = self.source.text.len();
                self.source.at = end;
                self.characters(self.source.slice(from, end))?;
                return self.end_of_file();
            };
            if n > 0 {
                self.source.at += n;
                self.characters(self.source.slice(from, from + n))?;
            }
            self.markup()?;
        }
    }

    /// At a `<`.
    fn markup(&mut self) -> Done {
        let start = self.source.at;
        match self.source.peek(1) {
            Some(b) if b.is_ascii_alphabetic() => {
                self.source.at += 1;
                let mut attrs = std::mem::take(&mut self.attrs);
                let foreign = self.open.last().is_some_and(|o| !o.html);
                let token = self.source.tag(&mut attrs, foreign)?;
                self.attrs = attrs;
                match token {
                    Some(token) => {
                        self.skip_newline = false;
                        self.start_tag(&token, start)
                    }
                    None => Ok(()),
                }
            }
            Some(b'/') => match self.source.peek(2) {
                Some(b) if b.is_ascii_alphabetic() => {
                    self.source.at += 2;
                    let mut attrs = std::mem::take(&mut self.attrs);
                    let token = self.source.tag(&mut attrs, self.open.last().is_some_and(|o| !o.html))?;
                    self.attrs = attrs;
                    match token {
                        Some(token) => {
                            self.skip_newline = false;
                            self.end_tag(token.name)
                        }
                        None => Ok(()),
                    }
                }
                Some(b'>') => {
                    self.source.at += 3;
                    Ok(())
                }
                Some(_) => {
                    self.source.at += 2;
                    self.source.bogus();
                    self.comment()
                }
                None => self.literal(2),
            },
            Some(b'!') => {
                self.source.at += 1;
                let foreign = self.open.last().is_some_and(|o| !o.html);
                match self.source.declaration(foreign)? {
                    Declared::Comment => self.comment(),
                    Declared::Doctype(quirks) => {
                        if self.mode == Mode::Initial {
                            self.quirks = quirks;
                            self.mode = Mode::BeforeHtml;
                        }
                        // As a token it ends the wait for a newline, too.
                        self.skip_newline = false;
                        Ok(())
                    }
                    Declared::Text(text) => {
                        self.push_text(text);
                        Ok(())
                    }
                }
            }
            Some(b'?') => {
                self.source.at += 1;
                self.source.bogus();
                self.comment()
            }
            _ => self.literal(1),
        }
    }

    /// So many bytes of markup that are text after all.
    fn literal(&mut self, n: usize) -> Done {
        let from = self.source.at;
        self.source.at += n;
        self.characters(self.source.slice(from, from + n))
    }

    // ---- text ---------------------------------------------------------------------------------------------

    fn characters(&mut self, text: &'s str) -> Done {
        if text.is_empty() {
            return Ok(());
        }
        if memchr(b'&', text.as_bytes()).is_some() {
            let text = decoded(text, false);
            return match self.place_text(&text)? {
                Some(from) => {
                    let text = text.get(from..).unwrap_or_default();
                    self.move_to_buffer();
                    self.buffer.push_str(text);
                    Ok(())
                }
                None => Ok(()),
            };
        }
        if let Some(from) = self.place_text(text)? {
            self.push_text(text.get(from..).unwrap_or_default());
        }
        Ok(())
    }

    /// Brings the tree to where this text belongs. From which byte on it is inserted; `None`: not at all.
    fn place_text(&mut self, text: &str) -> Result<Option<usize>, Odd> {
        let mut skipped = 0;
        if std::mem::take(&mut self.skip_newline) && text.starts_with('\n') {
            skipped = 1;
            if text.len() == 1 {
                return Ok(None);
            }
        }
        if let Some(current) = self.open.last()
            && !current.html
            && !is_integration_point(current)
        {
            return Ok(Some(skipped));
        }
        match self.mode {
            Mode::InBody | Mode::InCell | Mode::InCaption => {
                self.reconstruct()?;
                Ok(Some(skipped))
            }
            Mode::InTable | Mode::InTableBody | Mode::InRow => {
                if is_blank(text) {
                    Ok(Some(skipped))
                } else {
                    Err(Odd("text in a table"))
                }
            }
            Mode::InColumnGroup => {
                if is_blank(text) {
                    Ok(Some(skipped))
                } else {
                    Err(Odd("text among columns"))
                }
            }
            Mode::AfterBody | Mode::AfterAfterBody => {
                if !is_blank(text) {
                    self.mode = Mode::InBody;
                }
                self.reconstruct()?;
                Ok(Some(skipped))
            }
            // Blanks here are dropped, or are inside elements that show nothing.
            _ => {
                let rest = text.trim_start_matches([' ', '\n', '\t', '\u{c}']);
                if rest.is_empty() {
                    return Ok(None);
                }
                self.begin_body();
                self.reconstruct()?;
                Ok(Some(text.len() - rest.len()))
            }
        }
    }

    fn push_text(&mut self, text: &'s str) {
        if text.is_empty() {
            return;
        }
        match self.pending {
            Pending::Nothing => self.pending = Pending::Slice(text),
            _ => {
                self.move_to_buffer();
                self.buffer.push_str(text);
            }
        }
    }

    fn move_to_buffer(&mut self) {
        match std::mem::replace(&mut self.pending, Pending::Buffer) {
            Pending::Nothing => self.buffer.clear(),
            Pending::Slice(text) => {
                self.buffer.clear();
                self.buffer.push_str(text);
            }
            Pending::Buffer => {}
        }
    }

    /// The text node ends here.
    #[inline]
    fn flush(&mut self) {
        match std::mem::replace(&mut self.pending, Pending::Nothing) {
            Pending::Nothing => {}
            _ if self.walk.is_opaque() => {}
            Pending::Slice(text) => self.walk.text(text),
            Pending::Buffer => self.walk.text(&self.buffer),
        }
    }

    fn comment(&mut self) -> Done {
        self.skip_newline = false;
        let foreign = self.open.last().is_some_and(|o| !o.html);
        match self.mode {
            Mode::AfterBody if !foreign => self.after_body += 1,
            Mode::AfterAfterBody if !foreign => self.after_html += 1,
            _ => {
                self.flush();
                if self.mode == Mode::AfterHead {
                    self.leave_head();
                }
                if !self.walk.is_opaque() {
                    self.walk.comment();
                }
            }
        }
        Ok(())
    }

    // ---- the end ------------------------------------------------------------------------------------------

    fn end_of_file(&mut self) -> Done {
        self.begin_body();
        // Everything that is open ends; what came after the end tags of body and html goes where it belongs.
        self.flush();
        while self.open.len() > 1 {
            self.pop_one();
        }
        for _ in 0..self.after_body {
            self.walk.comment();
        }
        self.pop_one();
        for _ in 0..self.after_html {
            self.walk.comment();
        }
        Ok(())
    }
}

/// Ends a search for an element in scope.
#[inline]
fn scope(o: &Open<'_>) -> bool {
    if o.html { rules(o.name.id) & SCOPE != 0 } else { is_integration_point(o) }
}

/// HTML goes on inside it.
#[inline]
fn is_integration_point(o: &Open<'_>) -> bool {
    match (o.html, o.svg) {
        (true, _) => false,
        (false, true) => matches!(o.name.id, TITLE | DESC | FOREIGN_OBJECT),
        (false, false) => matches!(o.name.id, MI | MO | MN | MS | MTEXT),
    }
}
