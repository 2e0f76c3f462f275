//! Rich text → HTML → [`Page`].
//!
//! A file is groups in braces, control words (`\b`, `\u8364`) and text. A group inherits the state of the one
//! around it and gives it back when it ends. Only what is text, a link or a property is looked at; groups
//! that begin with `\*` or are known to hold something else are passed over.

use crate::office::markup::Html;
use crate::office::{from_markup, markup_limit, word};
use crate::text::collapsed;
use crate::{Options, meta};
use encoding_rs::{Encoding, WINDOWS_1252};
use std::collections::HashMap;
use types::{Page, PageKind, Url};

/// Groups within groups; what is deeper is passed over.
const MAX_DEPTH: usize = 1_000;
/// Longest property or field that is kept.
const MAX_VALUE: usize = 4_096;
const MAX_FONTS: usize = 1_000;

/// Where the text of a group goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum To {
    Page,
    Title,
    Author,
    /// What a field is; its result follows.
    Instruction,
    Fonts,
    Created,
    Changed,
    Nowhere,
}

#[derive(Clone, Copy)]
struct Group {
    to: To,
    /// Bytes that stand in for a `\u` in readers that do not know it.
    stand_in: usize,
    encoding: &'static Encoding,
    hidden: bool,
    /// A link was opened when it began.
    link: bool,
}

struct Reader<'a> {
    rest: &'a [u8],
    out: Html,
    group: Group,
    around: Vec<Group>,
    /// Groups beyond [`MAX_DEPTH`].
    deeper: usize,
    /// Bytes of text that wait for their end, as characters may be of several.
    bytes: Vec<u8>,
    /// Bytes that are still to be passed over after a `\u`.
    pass: usize,
    /// A paragraph is open.
    paragraph: bool,
    fonts: HashMap<i32, &'static Encoding>,
    font: i32,
    usual: &'static Encoding,
    instruction: String,
    title: String,
    author: String,
    created: [i32; 3],
    changed: [i32; 3],
    /// The first half of a character beyond 16 bits.
    high: Option<u16>,
}

pub fn rtf(url: &Url, body: &[u8], options: &Options, mut page: Page) -> Page {
    let group = Group { to: To::Page, stand_in: 1, encoding: WINDOWS_1252, hidden: false, link: false };
    let mut reader = Reader {
        rest: body,
        out: Html::new(markup_limit(options)),
        group,
        around: Vec::new(),
        deeper: 0,
        bytes: Vec::new(),
        pass: 0,
        paragraph: false,
        fonts: HashMap::new(),
        font: 0,
        usual: WINDOWS_1252,
        instruction: String::new(),
        title: String::new(),
        author: String::new(),
        created: [0; 3],
        changed: [0; 3],
        high: None,
    };
    let whole = reader.read();
    page.kind = PageKind::Rtf;
    page.cut |= !whole || reader.out.full;
    page.charset = reader.usual.name().into();
    page.title = collapsed(&reader.title, 1_000);
    let author = collapsed(&reader.author, 200);
    page.about.authors = if author.is_empty() { Vec::new() } else { vec![author] };
    let date = |[y, m, d]: [i32; 3]| meta::date(&format!("{y:04}-{m:02}-{d:02}"));
    (page.about.published, page.about.modified) = (date(reader.created), date(reader.changed));
    from_markup(&reader.out.finish(), url, options, page)
}

impl Reader<'_> {
    /// False when a group was not closed.
    fn read(&mut self) -> bool {
        while let [first, rest @ ..] = self.rest {
            if self.out.full {
                return false;
            }
            self.rest = rest;
            match first {
                b'{' => self.begin(),
                b'}' => self.end(),
                b'\\' => self.control(),
                b'\r' | b'\n' => {}
                byte => self.byte(*byte),
            }
        }
        self.flush();
        self.end_paragraph();
        self.around.is_empty()
    }

    fn begin(&mut self) {
        self.flush();
        self.pass = 0;
        if self.around.len() >= MAX_DEPTH {
            self.deeper += 1;
            return;
        }
        self.around.push(self.group);
        self.group.link = false;
    }

    fn end(&mut self) {
        self.flush();
        self.pass = 0;
        if self.deeper > 0 {
            self.deeper -= 1;
            return;
        }
        if self.group.link {
            self.out.close_link();
        }
        if let Some(around) = self.around.pop() {
            self.group = around;
        }
    }

    fn control(&mut self) {
        let Some((&first, after)) = self.rest.split_first() else { return };
        if !first.is_ascii_alphabetic() {
            self.rest = after;
            return self.symbol(first);
        }
        let letters = self.rest.iter().take_while(|b| b.is_ascii_alphabetic()).count();
        let word = self.rest.get(..letters).unwrap_or_default();
        let mut rest = self.rest.get(letters..).unwrap_or_default();
        let negative = rest.first() == Some(&b'-');
        let from = usize::from(negative);
        let digits = rest.iter().skip(from).take_while(|b| b.is_ascii_digit()).count();
        let mut number = None;
        if digits > 0 {
            let digit = |n: i32, b: &u8| n.saturating_mul(10).saturating_add(i32::from(b - b'0'));
            let value = rest.iter().skip(from).take(digits).fold(0, digit);
            number = Some(if negative { -value } else { value });
            rest = rest.get(from + digits..).unwrap_or_default();
        }
        // A blank ends the word and is no text.
        self.rest = rest.strip_prefix(b" ").unwrap_or(rest);
        if word == b"bin" {
            let length = usize::try_from(number.unwrap_or(0)).unwrap_or(0);
            self.rest = self.rest.get(length..).unwrap_or_default();
            return;
        }
        self.word(word, number);
    }

    fn symbol(&mut self, symbol: u8) {
        match symbol {
            b'\'' => {
                let hex = |b: Option<&u8>| b.and_then(|b| (*b as char).to_digit(16));
                if let (Some(high), Some(low)) = (hex(self.rest.first()), hex(self.rest.get(1))) {
                    self.rest = self.rest.get(2..).unwrap_or_default();
                    self.byte((high * 16 + low) as u8);
                }
            }
            // Groups that only some readers know. Of these a field's instruction is read.
            b'*' => {
                let known: [&[u8]; 2] = [b"\\fldinst", b"\\shppict"];
                let known = known.iter().any(|k| self.rest.trim_ascii_start().starts_with(k));
                if !known {
                    self.group.to = To::Nowhere;
                }
            }
            b'~' => self.put(" "),
            b'_' => self.put("-"),
            b'\\' | b'{' | b'}' => self.byte(symbol),
            b'\r' | b'\n' => self.new_paragraph(),
            _ => {}
        }
    }

    fn word(&mut self, word: &[u8], number: Option<i32>) {
        self.pass_over_words(word);
        match word {
            b"par" | b"sect" | b"page" => self.new_paragraph(),
            b"line" => self.line(),
            b"tab" | b"emspace" | b"enspace" | b"qmspace" => self.put(" "),
            b"emdash" => self.put("—"),
            b"endash" => self.put("–"),
            b"lquote" => self.put("‘"),
            b"rquote" => self.put("’"),
            b"ldblquote" => self.put("“"),
            b"rdblquote" => self.put("”"),
            b"bullet" => self.put("•"),
            b"cell" | b"nestcell" => self.put(" "),
            b"row" | b"nestrow" => self.new_paragraph(),
            b"u" => self.unicode(number.unwrap_or(0)),
            b"uc" => self.group.stand_in = usize::try_from(number.unwrap_or(1)).unwrap_or(1).min(16),
            b"v" => self.group.hidden = number != Some(0),
            b"plain" => self.group.hidden = false,
            b"ansicpg" => {
                self.usual = code_page(number.unwrap_or(0)).unwrap_or(self.usual);
                self.group.encoding = self.usual;
            }
            b"f" if self.group.to == To::Fonts => self.font = number.unwrap_or(0),
            b"f" => {
                self.flush();
                let font = number.unwrap_or(0);
                self.group.encoding = self.fonts.get(&font).copied().unwrap_or(self.usual);
            }
            b"fcharset" if self.group.to == To::Fonts && self.fonts.len() < MAX_FONTS => {
                if let Some(encoding) = charset(number.unwrap_or(0)) {
                    self.fonts.insert(self.font, encoding);
                }
            }
            b"fldinst" => {
                self.instruction.clear();
                self.group.to = To::Instruction;
            }
            b"fldrslt" => {
                self.flush();
                let target = word::link_of(&self.instruction).map(str::to_string);
                self.begin_paragraph();
                self.out.open_link(target.as_deref());
                self.group.link = true;
            }
            b"fonttbl" => self.group.to = To::Fonts,
            b"info" => self.group.to = To::Nowhere,
            b"title" => self.group.to = To::Title,
            b"author" => self.group.to = To::Author,
            b"creatim" => self.group.to = To::Created,
            b"revtim" => self.group.to = To::Changed,
            b"yr" => self.date(0, number),
            b"mo" => self.date(1, number),
            b"dy" => self.date(2, number),
            b"colortbl" | b"stylesheet" | b"listtable" | b"listoverridetable" | b"pict" | b"object"
            | b"header" | b"headerl" | b"headerr" | b"headerf" | b"footer" | b"footerl" | b"footerr"
            | b"footerf" | b"filetbl" | b"revtbl" | b"rsidtbl" | b"generator" | b"xmlnstbl"
            | b"themedata" | b"datastore" | b"annotation" | b"atnid" | b"atnauthor" | b"bkmkstart"
            | b"bkmkend" | b"xe" | b"tc" | b"nonshppict" | b"pntext" | b"listtext" | b"operator"
            | b"comment" | b"subject" | b"keywords" | b"doccomm" | b"company" | b"manager" | b"category" => {
                self.flush();
                self.group.to = To::Nowhere;
            }
            _ => {}
        }
    }

    /// A control word is one of what stands in for a `\u`.
    fn pass_over_words(&mut self, word: &[u8]) {
        if self.pass > 0 && word != b"u" && word != b"uc" {
            self.pass -= 1;
        }
    }

    fn date(&mut self, at: usize, number: Option<i32>) {
        let date = match self.group.to {
            To::Created => &mut self.created,
            To::Changed => &mut self.changed,
            _ => return,
        };
        if let Some(part) = date.get_mut(at) {
            *part = number.unwrap_or(0).clamp(0, 9_999);
        }
    }

    /// A character by its number, as 16 bits with a sign.
    fn unicode(&mut self, number: i32) {
        self.flush();
        let unit = number as u16;
        match (self.high.take(), unit) {
            (_, 0xd800..=0xdbff) => self.high = Some(unit),
            (Some(high), 0xdc00..=0xdfff) => {
                let c = char::decode_utf16([high, unit]).next().and_then(Result::ok);
                self.put(c.unwrap_or('\u{fffd}').encode_utf8(&mut [0; 4]));
            }
            _ => self.put(char::from_u32(u32::from(unit)).unwrap_or('\u{fffd}').encode_utf8(&mut [0; 4])),
        }
        self.pass = self.group.stand_in;
    }

    fn byte(&mut self, byte: u8) {
        if self.pass > 0 {
            self.pass -= 1;
        } else if self.group.to != To::Nowhere {
            self.bytes.push(byte);
        }
    }

    /// What was collected becomes text.
    fn flush(&mut self) {
        if self.bytes.is_empty() {
            return;
        }
        let bytes = std::mem::take(&mut self.bytes);
        let text = self.group.encoding.decode_without_bom_handling(&bytes).0;
        self.write(&text);
        self.bytes = bytes;
        self.bytes.clear();
    }

    fn put(&mut self, text: &str) {
        self.flush();
        self.write(text);
    }

    fn write(&mut self, text: &str) {
        if self.deeper > 0 || self.group.hidden {
            return;
        }
        let value = match self.group.to {
            To::Page => {
                self.begin_paragraph();
                return self.out.text(text);
            }
            To::Title => &mut self.title,
            To::Author => &mut self.author,
            To::Instruction => &mut self.instruction,
            To::Fonts | To::Created | To::Changed | To::Nowhere => return,
        };
        if value.len() < MAX_VALUE {
            value.push_str(text);
        }
    }

    fn begin_paragraph(&mut self) {
        if !self.paragraph && self.group.to == To::Page {
            self.out.markup("<p>");
            self.paragraph = true;
        }
    }

    fn end_paragraph(&mut self) {
        if self.paragraph {
            self.out.markup("</p>\n");
            self.paragraph = false;
        }
    }

    fn new_paragraph(&mut self) {
        self.flush();
        if self.group.to == To::Page {
            self.end_paragraph();
        }
    }

    fn line(&mut self) {
        self.flush();
        if self.group.to == To::Page {
            self.out.markup("<br>");
        }
    }
}

fn code_page(number: i32) -> Option<&'static Encoding> {
    let label = match number {
        437 | 850 | 1252 => "windows-1252",
        874 => "windows-874",
        932 => "shift_jis",
        936 => "gbk",
        949 => "euc-kr",
        950 => "big5",
        10_000 => "macintosh",
        65_001 => "utf-8",
        1250..=1258 => return Encoding::for_label(format!("windows-{number}").as_bytes()),
        _ => return None,
    };
    Encoding::for_label(label.as_bytes())
}

/// The encoding of a font's character set.
fn charset(number: i32) -> Option<&'static Encoding> {
    code_page(match number {
        0 | 1 => return None,
        77 => 10_000,
        128 => 932,
        129 => 949,
        134 => 936,
        136 => 950,
        161 => 1253,
        162 => 1254,
        163 => 1258,
        177 => 1255,
        178 => 1256,
        186 => 1257,
        204 => 1251,
        222 => 874,
        238 => 1250,
        _ => return None,
    })
}
