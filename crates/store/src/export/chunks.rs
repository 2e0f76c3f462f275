//! Pieces of pages for language models: JSON lines, each a stretch of a page's Markdown that fits a size.
//!
//! A piece ends where a block or a section ends, if it can. Its name is made from the page's address and its
//! number; `start` and `end` are characters of the page's Markdown (`--columns markdown`), so a piece can be
//! found again and put together with its neighbours.

use super::{Column, Exporter, Format, Output, Row, cannot_write, page_id};
use serde_json::{Value as Json, json};
use std::io::{BufWriter, Write};
use types::Problem;

/// What is said of the page in each piece, unless columns are named.
const ABOUT: &[&str] = &["url", "title", "language", "relevant", "score", "fetched", "digest", "label"];
/// Names of fields of the piece itself.
const OWN: &[&str] = &["text", "markdown"];

pub const FORMAT: Format = Format {
    name: "chunks",
    summary: "pieces of pages for language models, with stable names and offsets (JSON lines)",
    extension: "chunks.jsonl",
    binary: false,
    needs_markdown: true,
    folder: None,
    beside: None,
    open: |out, options| {
        options.chunk.check()?;
        let columns = options.columns_or(ABOUT, OWN);
        Ok(Box::new(Chunks { out: BufWriter::new(out), columns, size: options.chunk }))
    },
};

/// How large pieces are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkSize {
    /// Most characters of a piece, what it shares with the one before included.
    pub size: usize,
    /// Characters that a piece shares with the one before it, at most.
    pub overlap: usize,
}

impl Default for ChunkSize {
    fn default() -> ChunkSize {
        ChunkSize { size: 2_000, overlap: 0 }
    }
}

impl ChunkSize {
    /// Sizes that make no sense are refused.
    pub fn check(&self) -> Result<(), Problem> {
        const SMALLEST: usize = 50;
        if self.size < SMALLEST {
            return Err(Problem::usage(format!("chunks of {} characters are too small", self.size))
                .hint(format!("--chunk-size is at least {SMALLEST}")));
        }
        if self.overlap * 2 > self.size {
            return Err(Problem::usage("chunks overlap by more than half of their size")
                .hint("choose a smaller --chunk-overlap, or a larger --chunk-size"));
        }
        Ok(())
    }
}

struct Chunks {
    out: BufWriter<Output>,
    columns: Vec<&'static Column>,
    size: ChunkSize,
}

impl Exporter for Chunks {
    fn write(&mut self, row: &Row) -> Result<(), Problem> {
        let markdown = row.markdown.unwrap_or(&row.record.text);
        let page = page_id(&row.record.url);
        let about: Vec<(&str, Json)> =
            self.columns.iter().map(|c| (c.name, (c.get)(row).to_json())).collect();
        let pieces = cut(markdown, self.size);
        let mut counted = Counted { text: markdown, byte: 0, chars: 0 };
        for (n, piece) in pieces.iter().enumerate() {
            let text = markdown.get(piece.start..piece.end).unwrap_or("");
            let start = counted.to(piece.start);
            let own = [
                ("id", json!(format!("{page}-{n}"))),
                ("page", json!(page)),
                ("chunk", json!(n)),
                ("chunks", json!(pieces.len())),
                ("start", json!(start)),
                ("end", json!(start + text.chars().count())),
                ("headings", json!(piece.headings)),
                ("text", json!(text)),
            ];
            let mut separator = "{";
            for (name, value) in own.iter().chain(&about) {
                write!(self.out, "{separator}\"{name}\":{value}").map_err(cannot_write)?;
                separator = ",";
            }
            self.out.write_all(b"}\n").map_err(cannot_write)?;
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<(), Problem> {
        self.out.flush().map_err(cannot_write)
    }
}

/// Counts characters up to a byte, going on from the byte asked for last.
struct Counted<'t> {
    text: &'t str,
    byte: usize,
    chars: usize,
}

impl Counted<'_> {
    fn to(&mut self, byte: usize) -> usize {
        self.chars += self.text.get(self.byte..byte).map_or(0, |s| s.chars().count());
        self.byte = byte;
        self.chars
    }
}

/// A stretch of the text that is not cut further, in bytes.
#[derive(Clone, Copy, Debug)]
struct Atom {
    start: usize,
    end: usize,
    chars: usize,
    /// Level of a heading, else 0.
    heading: usize,
}

#[derive(Debug, PartialEq)]
struct Chunk {
    start: usize,
    end: usize,
    /// The headings it stands under, the outermost first.
    headings: Vec<String>,
}

fn cut(text: &str, ChunkSize { size, overlap }: ChunkSize) -> Vec<Chunk> {
    let room = size - overlap;
    let atoms = atoms(text, room);
    let mut out: Vec<Chunk> = Vec::new();
    let mut path: Vec<(usize, String)> = Vec::new();
    let mut rest = atoms.as_slice();
    while !rest.is_empty() {
        let n = fitting(text, rest, room);
        let (these, later) = rest.split_at(n);
        let mut headings = None;
        for atom in these {
            if atom.heading > 0 {
                path.retain(|(level, _)| *level < atom.heading);
                path.push((atom.heading, heading(text, atom)));
            }
            // Those that hold where the piece begins.
            headings.get_or_insert_with(|| path.iter().map(|(_, h)| h.clone()).collect::<Vec<_>>());
        }
        if let (Some(first), Some(last)) = (these.first(), these.last()) {
            let start = match out.last() {
                Some(before) if overlap > 0 => earlier(text, before.start, first.start, overlap),
                _ => first.start,
            };
            out.push(Chunk { start, end: last.end, headings: headings.unwrap_or_default() });
        }
        rest = later;
    }
    out
}

/// How many of the atoms make the next piece: at least one.
fn fitting(text: &str, atoms: &[Atom], room: usize) -> usize {
    let mut chars = 0;
    let mut end = None;
    let mut n = 0;
    for atom in atoms {
        // Blank lines between blocks are part of the piece.
        let gap = end.and_then(|end| text.get(end..atom.start)).map_or(0, |s| s.chars().count());
        if n > 0 && (chars + gap + atom.chars > room || (atom.heading > 0 && chars * 4 >= room)) {
            break;
        }
        chars += gap + atom.chars;
        end = Some(atom.end);
        n += 1;
    }
    // A heading goes with what follows it.
    let headings = atoms.get(..n).unwrap_or_default().iter().rev().take_while(|a| a.heading > 0).count();
    if n < atoms.len() && headings < n { n - headings } else { n.max(1) }
}

/// Where a piece begins that shares up to `overlap` characters with the one before it.
fn earlier(text: &str, from: usize, to: usize, overlap: usize) -> usize {
    let before = text.get(from..to).unwrap_or("");
    let back = before.char_indices().rev().take(overlap).last().map_or(0, |(i, _)| i);
    if back == 0 {
        return from;
    }
    // At the beginning of a word.
    let word = before.get(back..).and_then(|s| s.find(char::is_whitespace).map(|i| back + i));
    let word = word.and_then(|i| before.get(i..)?.find(|c: char| !c.is_whitespace()).map(|n| i + n));
    word.map_or(to, |i| from + i)
}

fn heading(text: &str, atom: &Atom) -> String {
    let line = text.get(atom.start..atom.end).unwrap_or("").trim_start_matches('#').trim();
    // Escapes are for readers of Markdown.
    let mut out = String::with_capacity(line.len());
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '\\' || !chars.peek().is_some_and(char::is_ascii_punctuation) {
            out.push(c);
        } else if let Some(next) = chars.next() {
            out.push(next);
        }
    }
    out
}

/// Blocks of the Markdown; those that are too long in pieces.
fn atoms(text: &str, room: usize) -> Vec<Atom> {
    let mut out = Vec::new();
    let mut open: Option<(usize, usize)> = None;
    let mut fence: Option<&str> = None;
    let mut at = 0;
    let close = |open: &mut Option<(usize, usize)>, out: &mut Vec<Atom>| {
        if let Some((start, end)) = open.take() {
            split(text, start, end, room, out);
        }
    };
    for line in text.split_inclusive('\n') {
        let (start, end) = (at, at + line.trim_end().len());
        at += line.len();
        let bare = line.trim();
        let ticks = bare.get(..bare.len() - bare.trim_start_matches('`').len()).unwrap_or("");
        if ticks.len() >= 3 {
            match fence {
                None => fence = Some(ticks),
                Some(open) if ticks.len() >= open.len() => fence = None,
                Some(_) => {}
            }
        } else if fence.is_none() {
            let level = line.bytes().take_while(|b| *b == b'#').count();
            if (1..=6).contains(&level) && line.as_bytes().get(level) == Some(&b' ') {
                close(&mut open, &mut out);
                let before = out.len();
                split(text, start, end, room, &mut out);
                out.get_mut(before..).into_iter().flatten().take(1).for_each(|a| a.heading = level);
                continue;
            }
            if bare.is_empty() || bare == ">" {
                close(&mut open, &mut out);
                continue;
            }
        }
        open = Some((open.map_or(start, |(from, _)| from), end));
    }
    close(&mut open, &mut out);
    out
}

/// Cuts a block at the end of a line, a sentence or a word, whichever comes last in the second half.
fn split(text: &str, mut start: usize, end: usize, room: usize, out: &mut Vec<Atom>) {
    while let Some(rest) = text.get(start..end).filter(|r| !r.is_empty()) {
        let Some((limit, _)) = rest.char_indices().nth(room) else {
            out.push(Atom { start, end, chars: rest.chars().count(), heading: 0 });
            return;
        };
        let window = rest.get(..limit).unwrap_or(rest);
        let late = |at: &usize| *at >= limit / 2;
        let at = window
            .rfind('\n')
            .filter(late)
            .or_else(|| window.rfind(". ").map(|i| i + 1).filter(late))
            .or_else(|| window.rfind(char::is_whitespace).filter(|i| *i > 0))
            .unwrap_or(limit);
        let piece = rest.get(..at).unwrap_or(rest);
        out.push(Atom { start, end: start + at, chars: piece.chars().count(), heading: 0 });
        let next = rest.get(at..).unwrap_or("");
        start += at + (next.len() - next.trim_start().len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn texts(text: &str, size: usize, overlap: usize) -> Vec<(&str, Vec<String>)> {
        let chunks = cut(text, ChunkSize { size, overlap });
        chunks.into_iter().map(|c| (&text[c.start..c.end], c.headings)).collect()
    }

    #[test]
    fn pieces_end_where_sections_end() {
        let text = "# A\n\nfirst words here\n\n## B\n\n- x\n- y\n\n# C\n\nlast";
        let found = texts(text, 30, 0);
        let path = |names: &[&str]| names.iter().map(|n| n.to_string()).collect::<Vec<_>>();
        assert_eq!(
            found,
            [
                ("# A\n\nfirst words here", path(&["A"])),
                ("## B\n\n- x\n- y", path(&["A", "B"])),
                ("# C\n\nlast", path(&["C"])),
            ]
        );
    }

    #[test]
    fn long_blocks_are_cut_at_words_and_fences_are_kept() {
        assert_eq!(texts("aaa bbb ccc", 8, 0).len(), 2);
        let code = "```\na\n\nb\n```";
        assert_eq!(texts(code, 100, 0), [(code, vec![])]);
        let shared = texts("one two three four five six seven", 20, 8);
        assert!(shared.windows(2).all(|w| w[0].0.contains(w[1].0.split(' ').next().unwrap())), "{shared:?}");
        assert!(texts("", 50, 0).is_empty());
    }

    proptest! {
        /// Nothing is lost, nothing is longer than it may be, and pieces go forward.
        #[test]
        fn every_word_is_in_a_piece(
            words in proptest::collection::vec("(# )?[a-zé]{1,12}[.]?( |\n|\n\n|\n```\n)", 0..80),
            size in 20usize..80,
            overlap in 0usize..10,
        ) {
            let text = words.concat();
            let text = text.trim();
            let chunks = cut(text, ChunkSize { size, overlap });
            let mut end = 0;
            for c in &chunks {
                let piece = &text[c.start..c.end];
                prop_assert!(piece.chars().count() <= size, "{piece:?}");
                prop_assert!(c.end > end && c.start <= c.end);
                prop_assert!(text[end.min(c.start)..c.start].trim().is_empty() || c.start < end);
                end = c.end;
            }
            prop_assert_eq!(end, text.len());
        }
    }
}
