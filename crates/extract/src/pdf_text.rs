//! The text of a PDF page, with blanks and lines where a reader sees them.
//!
//! A page says where each piece of text goes, seldom that there is a blank: it is there because the next piece
//! begins further to the right than the last one ended. So this follows the pen: where it is, how wide the
//! characters are, how far it moved. A move to another baseline is a line, a gap on the same one a blank.

use crate::pdf_names;
use lopdf::content::Content;
use lopdf::{Dictionary, Document, Encoding, Object, ObjectId};
use std::collections::HashMap;

/// Gap that is a blank, in heights of the font. Kerning is less, the narrowest blank of a justified line more.
const BLANK: f64 = 0.13;
/// Move away from the baseline that is another line. Indices and exponents move less.
const LINE: f64 = 0.55;
/// Move that makes digits before a text the mark of a note.
const RAISED: f64 = 0.15;
/// Graphics states that are remembered, forms within forms, forms of a page, operations of a page.
const MAX_STATES: usize = 64;
const MAX_DEPTH: usize = 4;
const MAX_FORMS: usize = 200;
const MAX_OPERATIONS: usize = 2_000_000;
/// Characters of a font whose widths are kept.
const MAX_WIDTHS: usize = 70_000;
/// Width of a character that a font does not tell, in heights.
const USUAL_WIDTH: f64 = 0.5;

type Matrix = [f64; 6];
const UNIT: Matrix = [1.0, 0.0, 0.0, 1.0, 0.0, 0.0];

/// First `a`, then `b`.
fn times(a: &Matrix, b: &Matrix) -> Matrix {
    [
        a[0] * b[0] + a[1] * b[2],
        a[0] * b[1] + a[1] * b[3],
        a[2] * b[0] + a[3] * b[2],
        a[2] * b[1] + a[3] * b[3],
        a[4] * b[0] + a[5] * b[2] + b[4],
        a[4] * b[1] + a[5] * b[3] + b[5],
    ]
}

struct Font<'a> {
    encoding: Encoding<'a>,
    /// What the font itself says of its characters; it is believed first.
    meanings: HashMap<u32, String>,
    /// It says so of all of them.
    mapped: bool,
    /// Codes have two bytes.
    wide: bool,
    widths: HashMap<u32, f64>,
    usual: f64,
    /// The font tells its widths.
    known: bool,
}

/// Appends the text of a page. `Err`: something of it cannot be read.
pub fn page(
    document: &Document,
    id: ObjectId,
    content: &[u8],
    limit: usize,
    out: &mut String,
) -> Result<(), ()> {
    let (direct, inherited) = document.get_page_resources(id).map_err(drop)?;
    let mut resources: Vec<&Dictionary> = direct.into_iter().collect();
    resources.extend(inherited.into_iter().filter_map(|id| document.get_dictionary(id).ok()));
    let line = Line { begins: out.len(), ..Line::default() };
    let mut pen = Pen { document, limit, out, last: None, line, forms: 0, operations: 0, whole: true };
    pen.run(content, &resources, UNIT, 0);
    pen.end_line();
    if pen.whole { Ok(()) } else { Err(()) }
}

struct Pen<'a, 'o> {
    document: &'a Document,
    /// Most bytes of a stream.
    limit: usize,
    out: &'o mut String,
    /// Where the last piece of text ended, and the height of its font.
    last: Option<(f64, f64, f64)>,
    line: Line,
    forms: usize,
    operations: usize,
    whole: bool,
}

/// The line that is being written.
#[derive(Default)]
struct Line {
    /// Where it begins in the text.
    begins: usize,
    /// It is only the mark of a note so far: digits.
    is_mark: bool,
    /// Steps between letters that are read from the right: how many went to the right, and to the left.
    right: usize,
    left: usize,
}

/// What `q` keeps and `Q` brings back.
#[derive(Clone, Copy)]
struct State<'f, 'a> {
    page: Matrix,
    font: Option<&'f Font<'a>>,
    size: f64,
    between: f64,
    word: f64,
    stretch: f64,
    leading: f64,
}

impl<'a> Pen<'a, '_> {
    fn run(&mut self, content: &[u8], resources: &[&'a Dictionary], page: Matrix, depth: usize) {
        let fonts = self.fonts(resources);
        let (mut text, mut line) = (UNIT, UNIT);
        let mut state =
            State { page, font: None, size: 1.0, between: 0.0, word: 0.0, stretch: 1.0, leading: 0.0 };
        let mut states = Vec::new();
        for operation in Content::decode_iter(content) {
            self.operations += 1;
            let Ok(operation) = operation else {
                self.whole = false;
                return;
            };
            if self.operations > MAX_OPERATIONS {
                self.whole = false;
                return;
            }
            let operands = &operation.operands;
            let number = |n: usize| operands.get(n).and_then(|o| o.as_float().ok()).map_or(0.0, f64::from);
            let matrix = || [0, 1, 2, 3, 4, 5].map(number);
            let moved = |line: &mut Matrix, x: f64, y: f64| *line = times(&[1.0, 0.0, 0.0, 1.0, x, y], line);
            match operation.operator.as_str() {
                "q" if states.len() < MAX_STATES => states.push(state),
                "Q" => state = states.pop().unwrap_or(state),
                "cm" => state.page = times(&matrix(), &state.page),
                "BT" => (text, line) = (UNIT, UNIT),
                "Tf" => {
                    let name = operands.first().and_then(|o| o.as_name().ok());
                    state.font = name.and_then(|name| fonts.get(name));
                    state.size = number(1);
                }
                "Tc" => state.between = number(0),
                "Tw" => state.word = number(0),
                "Tz" => state.stretch = number(0) / 100.0,
                "TL" => state.leading = number(0),
                "Td" | "TD" => {
                    if operation.operator == "TD" {
                        state.leading = -number(1);
                    }
                    moved(&mut line, number(0), number(1));
                    text = line;
                }
                "Tm" => (text, line) = (matrix(), matrix()),
                "T*" | "'" | "\"" => {
                    moved(&mut line, 0.0, -state.leading);
                    text = line;
                    if operation.operator == "\"" {
                        (state.word, state.between) = (number(0), number(1));
                    }
                    if let Some(Object::String(bytes, _)) = operands.last() {
                        self.show(bytes, &state, &mut text);
                    }
                }
                "Tj" => {
                    if let Some(Object::String(bytes, _)) = operands.first() {
                        self.show(bytes, &state, &mut text);
                    }
                }
                "TJ" => {
                    let Some(Object::Array(pieces)) = operands.first() else { continue };
                    for piece in pieces {
                        match piece {
                            Object::String(bytes, _) => self.show(bytes, &state, &mut text),
                            other => {
                                let back = other.as_float().map_or(0.0, f64::from) / 1000.0;
                                advance(&mut text, -back * state.size * state.stretch);
                            }
                        }
                    }
                }
                "Do" if depth < MAX_DEPTH && self.forms < MAX_FORMS => {
                    if let Some(name) = operands.first().and_then(|o| o.as_name().ok()) {
                        self.form(name, resources, &state.page, depth);
                    }
                }
                _ => {}
            }
        }
    }

    /// A piece of page that is described elsewhere.
    fn form(&mut self, name: &[u8], resources: &[&'a Dictionary], page: &Matrix, depth: usize) {
        let document = self.document;
        let found =
            resources.iter().find_map(|r| document.get_dict_in_dict(r, b"XObject").ok()?.get(name).ok());
        let Some(Ok(stream)) = found.and_then(|o| document.dereference(o).ok()).map(|(_, o)| o.as_stream())
        else {
            return;
        };
        if !stream.dict.get(b"Subtype").and_then(Object::as_name).is_ok_and(|kind| kind == b"Form") {
            return;
        }
        self.forms += 1;
        let Ok(content) = stream.decompressed_content_with_limit(self.limit) else {
            self.whole = false;
            return;
        };
        let own = document.get_dict_in_dict(&stream.dict, b"Resources").ok();
        let matrix = stream.dict.get(b"Matrix").and_then(Object::as_array).ok().filter(|m| m.len() == 6);
        let matrix = matrix.map_or(UNIT, |m| {
            let mut out = UNIT;
            for (to, from) in out.iter_mut().zip(m) {
                *to = from.as_float().map_or(0.0, f64::from);
            }
            out
        });
        let resources: Vec<&Dictionary> = own.map_or_else(|| resources.to_vec(), |own| vec![own]);
        self.run(&content, &resources, times(&matrix, page), depth + 1);
    }

    fn fonts(&self, resources: &[&'a Dictionary]) -> HashMap<Vec<u8>, Font<'a>> {
        let mut fonts = HashMap::new();
        for resources in resources {
            let Ok(named) = self.document.get_dict_in_dict(resources, b"Font") else { continue };
            for (name, font) in named.iter().take(1_000) {
                let font = self.document.dereference(font).ok().and_then(|(_, font)| font.as_dict().ok());
                if let Some(font) = font
                    && !fonts.contains_key(name)
                    && let Ok(encoding) = font.get_font_encoding_with_limit(self.document, self.limit)
                {
                    fonts.insert(name.clone(), Font::new(self.document, font, encoding, self.limit));
                }
            }
        }
        fonts
    }

    /// Writes a piece of text at the pen, which goes on behind it.
    fn show(&mut self, bytes: &[u8], state: &State, text: &mut Matrix) {
        let Some(font) = state.font else { return };
        let at = times(text, &state.page);
        // The direction of writing, and the height of the font, as they are on the page.
        let length = at[0].hypot(at[1]);
        let height = (state.size * at[2].hypot(at[3])).abs().max(1e-6);
        let (x, y) = (at[4], at[5]);
        let width = font.width(bytes, state);
        advance(text, width);
        let end = times(text, &state.page);
        let Some(piece) = font.text(bytes) else {
            self.whole = false;
            return;
        };
        if piece.is_empty() {
            return;
        }
        let from_right = piece.chars().filter(|c| is_from_right(*c)).count();
        self.line.right += from_right.saturating_sub(1);
        if let Some((last_x, last_y, last_height)) = self.last
            && length > 1e-9
        {
            let is_mark = self.line.is_mark && last_height < 0.85 * height;
            let (along_x, along_y) = (at[0] / length, at[1] / length);
            let (dx, dy) = (x - last_x, y - last_y);
            let (along, across) = (dx * along_x + dy * along_y, dy * along_x - dx * along_y);
            let height = height.max(last_height);
            // What a font does not tell is guessed, and a guess is no reason to join words.
            let gap = if font.known { BLANK } else { 0.02 };
            if across.abs() > LINE * height || along < -2.0 * height {
                self.separate('\n');
            } else if along > gap * height || is_mark && across.abs() > RAISED * height {
                self.separate(' ');
            }
            if from_right > 0 && along < -0.3 * height {
                self.line.left += 1;
            } else if from_right > 0 {
                self.line.right += 1;
            }
        }
        let is_first = self.out.len() == self.line.begins;
        self.line.is_mark = (is_first || self.line.is_mark) && piece.chars().all(|c| c.is_ascii_digit());
        self.out.push_str(&piece);
        self.last = Some((end[4], end[5], height));
    }

    fn separate(&mut self, with: char) {
        if with == '\n' {
            self.end_line();
            self.out.truncate(self.out.trim_end_matches(' ').len());
        }
        if !self.out.is_empty() && !self.out.ends_with(['\n', ' ']) {
            self.out.push(with);
        }
        if with == '\n' {
            self.line.begins = self.out.len();
        }
    }

    /// A page shows letters from the left to the right; those that are read from the right are turned around.
    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        if line.right > line.left
            && let Some(seen) = self.out.get(line.begins..)
        {
            let read = as_read(seen);
            self.out.truncate(line.begins);
            self.out.push_str(&read);
        }
        self.line.begins = self.out.len();
    }
}

/// Hebrew, Arabic, Syriac and their like.
fn is_from_right(c: char) -> bool {
    matches!(c, '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}')
        && !matches!(c, '\u{660}'..='\u{669}' | '\u{6f0}'..='\u{6f9}')
}

/// A line as it is seen, from the left to the right → as it is read. Words from the left keep their order
/// within those from the right, and the other way round.
fn as_read(seen: &str) -> String {
    let mut letters: Vec<char> = seen.chars().collect();
    let count = |f: fn(char) -> bool| letters.iter().filter(|c| f(**c)).count();
    let from_right = count(is_from_right) > count(|c| c.is_alphabetic() && !is_from_right(c));
    if from_right {
        letters.reverse();
        letters.iter_mut().for_each(|c| *c = mirrored(*c));
    }
    // Now the others are the wrong way round: runs from the first of them to the last.
    let is_other = |c: char| match from_right {
        true => c.is_alphanumeric() && !is_from_right(c),
        false => is_from_right(c),
    };
    let is_main = |c: char| c.is_alphanumeric() && !is_other(c);
    let mut at = 0;
    while let Some(first) = letters.iter().skip(at).position(|c| is_other(*c)).map(|n| n + at) {
        let end = letters.iter().skip(first).position(|c| is_main(*c)).map_or(letters.len(), |n| n + first);
        let last =
            (first..end).rev().find(|n| letters.get(*n).is_some_and(|c| is_other(*c))).unwrap_or(first);
        if let Some(run) = letters.get_mut(first..=last) {
            run.reverse();
            run.iter_mut().for_each(|c| *c = mirrored(*c));
        }
        at = end.max(last + 1);
    }
    letters.into_iter().collect()
}

/// Brackets open where they are read first.
fn mirrored(c: char) -> char {
    match c {
        '(' => ')',
        ')' => '(',
        '[' => ']',
        ']' => '[',
        '{' => '}',
        '}' => '{',
        '«' => '»',
        '»' => '«',
        _ => c,
    }
}

fn advance(text: &mut Matrix, by: f64) {
    *text = times(&[1.0, 0.0, 0.0, 1.0, by, 0.0], text);
}

impl<'a> Font<'a> {
    fn new(document: &'a Document, font: &'a Dictionary, encoding: Encoding<'a>, limit: usize) -> Font<'a> {
        let name =
            |dict: &Dictionary, key: &[u8]| dict.get(key).and_then(Object::as_name).map(<[u8]>::to_vec);
        let list = |dict: &'a Dictionary, key: &[u8]| {
            let value = dict.get(key).ok().and_then(|o| document.dereference(o).ok());
            value.and_then(|(_, o)| o.as_array().ok())
        };
        let float =
            |o: &Object| document.dereference(o).ok().and_then(|(_, o)| o.as_float().ok()).map(f64::from);
        let kind = name(font, b"Subtype").unwrap_or_default();
        let stream = |dict: &'a Dictionary, key: &[u8]| {
            let found = document.dereference(dict.get(key).ok()?).ok()?.1.as_stream().ok()?;
            found.decompressed_content_with_limit(limit).ok()
        };
        let mut meanings = HashMap::new();
        // A font's own names hold where the file says nothing else.
        let described = font.get(b"FontDescriptor").ok().and_then(|d| document.dereference(d).ok());
        if !font.has(b"Encoding")
            && let Some(file) = described.and_then(|(_, d)| stream(d.as_dict().ok()?, b"FontFile"))
        {
            meanings = pdf_names::built_in(&file);
        }
        let map = stream(font, b"ToUnicode").map(|map| pdf_names::unicode(&map)).unwrap_or_default();
        let mapped = !map.is_empty();
        meanings.extend(map);
        let mut out = Font {
            encoding,
            meanings,
            mapped,
            wide: false,
            widths: HashMap::new(),
            usual: USUAL_WIDTH,
            known: false,
        };
        if kind == b"Type0" {
            out.wide = true;
            let below = list(font, b"DescendantFonts").and_then(|l| document.dereference(l.first()?).ok());
            let Some(below) = below.and_then(|(_, o)| o.as_dict().ok()) else { return out };
            out.known = true;
            out.usual = below.get(b"DW").ok().and_then(float).unwrap_or(1000.0) / 1000.0;
            out.read_wide(list(below, b"W").map_or(&[], Vec::as_slice), document);
            return out;
        }
        // Type 3 measures in units of its own.
        let unit = match list(font, b"FontMatrix").filter(|_| kind == b"Type3") {
            Some(matrix) => matrix.first().and_then(float).unwrap_or(0.001),
            None => 0.001,
        };
        let first = font.get(b"FirstChar").and_then(Object::as_i64).unwrap_or(0);
        if let Some(widths) = list(font, b"Widths") {
            out.known = true;
            for (n, width) in widths.iter().take(256).enumerate() {
                let code = u32::try_from(first).unwrap_or(0).saturating_add(n as u32);
                out.widths.insert(code, float(width).unwrap_or(0.0) * unit);
            }
        } else if name(font, b"BaseFont").is_ok_and(|name| name.starts_with(b"Courier")) {
            (out.known, out.usual) = (true, 0.6);
        }
        out
    }

    /// `c [w w …]` or `first last w`.
    fn read_wide(&mut self, list: &[Object], document: &Document) {
        let deref = |o: &'_ Object| document.dereference(o).map(|(_, o)| o.clone()).ok();
        let mut rest = list.iter();
        while let Some(first) = rest.next().and_then(|o| o.as_i64().ok()) {
            let first = u32::try_from(first).unwrap_or(0);
            match rest.next().and_then(deref) {
                Some(Object::Array(widths)) => {
                    for (n, width) in widths.iter().enumerate() {
                        self.set(first.saturating_add(n as u32), width.as_float().map_or(0.0, f64::from));
                    }
                }
                Some(last) => {
                    let last = last.as_i64().ok().and_then(|l| u32::try_from(l).ok()).unwrap_or(0);
                    let width = rest.next().and_then(|o| o.as_float().ok()).map_or(0.0, f64::from);
                    for code in (first..=last).take(MAX_WIDTHS) {
                        self.set(code, width);
                    }
                }
                None => return,
            }
            if self.widths.len() >= MAX_WIDTHS {
                return;
            }
        }
    }

    fn set(&mut self, code: u32, width: f64) {
        if self.widths.len() < MAX_WIDTHS {
            self.widths.insert(code, width / 1000.0);
        }
    }

    /// What is written there. `None`: nobody knows.
    fn text(&self, bytes: &[u8]) -> Option<String> {
        if self.meanings.is_empty() {
            return Document::decode_text(&self.encoding, bytes).ok();
        }
        let mut out = String::new();
        for code in bytes.chunks(if self.wide { 2 } else { 1 }) {
            match self.meanings.get(&code.iter().fold(0, |n, b| n << 8 | u32::from(*b))) {
                // Several letters are in the order that they are read in; the line will be turned around.
                Some(text) if text.chars().nth(1).is_some() && text.chars().any(is_from_right) => {
                    out.extend(text.chars().rev());
                }
                Some(text) => out.push_str(text),
                // A map of wide codes is whole; one of bytes may leave out what needs none.
                None if self.mapped && self.wide => {}
                None => out.push_str(&Document::decode_text(&self.encoding, code).ok()?),
            }
        }
        Some(out)
    }

    /// How far the pen goes, in the units of the text.
    fn width(&self, bytes: &[u8], state: &State) -> f64 {
        let one = |code: u32, is_blank: bool| {
            let width = self.widths.get(&code).copied().unwrap_or(self.usual);
            width * state.size + state.between + if is_blank { state.word } else { 0.0 }
        };
        let sum: f64 = match self.wide {
            true => {
                bytes.chunks(2).map(|c| one(c.iter().fold(0, |n, b| n << 8 | u32::from(*b)), false)).sum()
            }
            false => bytes.iter().map(|b| one(u32::from(*b), *b == b' ')).sum(),
        };
        sum * state.stretch
    }
}

#[cfg(test)]
mod tests {
    use super::as_read;

    #[test]
    fn lines_that_are_read_from_the_right() {
        for (seen, read) in [
            ("plain (text) 12", "plain (text) 12"),
            // \u{5e9}\u{5dc}\u{5d5}\u{5dd} is "shalom", as it is read.
            ("\u{5dd}\u{5d5}\u{5dc}\u{5e9}", "\u{5e9}\u{5dc}\u{5d5}\u{5dd}"),
            ("the word \u{5d1} \u{5d0} is two", "the word \u{5d0} \u{5d1} is two"),
            (".\u{5d3} abc 12 \u{5d2}\u{5d1} (\u{5d0})", "(\u{5d0}) \u{5d1}\u{5d2} abc 12 \u{5d3}."),
            ("", ""),
        ] {
            assert_eq!(as_read(seen), read, "{seen}");
        }
    }
}
