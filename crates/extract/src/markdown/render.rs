//! Pieces to lines, lines to Markdown.

use super::escape;
use super::pieces::{Found, Mark, Piece, Place};
use crate::dom::NONE;
use std::collections::HashMap;
use types::Span;

/// Columns that a table may have; what has more is not for reading.
const MAX_COLUMNS: u16 = 40;

/// One line of the page.
struct Line {
    place: Place,
    /// Column and contents.
    cells: Vec<(u16, String)>,
}

impl Line {
    fn text(&self) -> String {
        self.cells.iter().map(|(_, s)| s.as_str()).collect::<Vec<_>>().join(" | ")
    }
}

/// The Markdown of the pieces that stand in `own`.
pub fn render(found: &Found, own: &[Span]) -> String {
    let lines = lines(found, own);
    let tables = Tables::of(&lines, found);
    let mut out = Out { found, text: String::new(), begun: vec![false; found.containers.len()], last: None };
    let mut rest = lines.as_slice();
    while let Some(line) = rest.first() {
        let place = line.place;
        let together = |same: &dyn Fn(&Place) -> bool| rest.iter().take_while(|l| same(&l.place)).count();
        let n = if place.pre != NONE {
            out.fence(line);
            together(&|p| p.pre == place.pre)
        } else if let Some(columns) = tables.columns(&place) {
            let n = together(&|p| p.table == place.table && p.row != NONE);
            out.table(rest.get(..n).unwrap_or(rest), columns);
            n
        } else {
            out.line(line);
            1
        };
        rest = rest.get(n.max(1)..).unwrap_or_default();
    }
    out.text
}

fn lines(found: &Found, own: &[Span]) -> Vec<Line> {
    let mut out: Vec<Line> = Vec::new();
    let mut end = 0;
    let mut style = Style::default();
    for Piece { span, place } in &found.pieces {
        let after = own.partition_point(|o| o.end <= span.start);
        if own.get(after).is_none_or(|o| o.start > span.start) {
            continue;
        }
        let gap = Span { start: end, end: span.start }.of(&found.text);
        end = span.end;
        let same_heading =
            |l: &Line| place.heading > 0 && l.place.heading > 0 && l.place.block == place.block;
        let new_line = gap.contains('\n') && !out.last().is_some_and(same_heading);
        if out.is_empty() || new_line {
            style.end(&mut out, found);
            out.push(Line { place: *place, cells: vec![(place.cell, String::new())] });
        } else if gap.contains('\t') {
            style.end(&mut out, found);
            if let Some(line) = out.last_mut() {
                line.cells.push((place.cell, String::new()));
            }
        } else if !gap.is_empty() {
            style.gap = true;
        }
        style.add(&mut out, found, span.of(&found.text), place);
    }
    style.end(&mut out, found);
    out
}

/// A stretch of text with one link and one kind of letters, before it is written.
#[derive(Default)]
struct Style {
    text: String,
    link: Option<u32>,
    code: bool,
    /// A blank comes before what is added next.
    gap: bool,
}

impl Style {
    fn add(&mut self, out: &mut [Line], found: &Found, s: &str, place: &Place) {
        let link = (place.link != NONE).then_some(place.link);
        let code = place.code && place.pre == NONE;
        if (link, code) != (self.link, self.code) && !self.text.is_empty() {
            let gap = self.gap;
            self.end(out, found);
            if gap && let Some((_, cell)) = out.last_mut().and_then(|l| l.cells.last_mut()) {
                cell.push(' ');
            }
        } else if self.gap && !self.text.is_empty() {
            self.text.push(' ');
        }
        self.gap = false;
        (self.link, self.code) = (link, code);
        // A line inside code or a text area is a blank here.
        self.text.push_str(&s.replace(['\n', '\t'], " "));
    }

    fn end(&mut self, out: &mut [Line], found: &Found) {
        let style = std::mem::take(self);
        let Some((_, cell)) = out.last_mut().and_then(|l| l.cells.last_mut()) else { return };
        if style.text.is_empty() {
            return;
        }
        let shown = if style.code { escape::code(&style.text) } else { escape::text(&style.text) };
        match style.link.and_then(|n| found.links.get(n as usize)) {
            Some(url) => {
                cell.push_str(&format!("[{shown}]({})", escape::target(url.as_str())));
            }
            None => cell.push_str(&shown),
        }
    }
}

/// The tables that are one: each row is one line, and there are several columns.
struct Tables {
    columns: HashMap<u32, u16>,
}

impl Tables {
    fn of(lines: &[Line], found: &Found) -> Tables {
        struct Seen {
            rows: u32,
            last: u32,
            columns: u16,
            container: u32,
            fit: bool,
        }
        let mut seen: HashMap<u32, Seen> = HashMap::new();
        for line in lines {
            let p = line.place;
            if p.table == NONE || p.row == NONE {
                continue;
            }
            let nests = found.nests.get(p.table as usize).copied().unwrap_or(true);
            let container = p.container;
            let s = seen.entry(p.table).or_insert(Seen {
                rows: 0,
                last: NONE,
                columns: 0,
                container,
                fit: !nests,
            });
            // A list or a quote in a cell does not fit, nor do two lines.
            s.fit &= p.row != s.last && s.container == container && p.heading == 0 && p.pre == NONE;
            (s.rows, s.last) = (s.rows + 1, p.row);
            s.columns = s.columns.max(line.cells.iter().map(|(n, _)| n.saturating_add(1)).max().unwrap_or(1));
        }
        let fits = |s: &Seen| s.fit && s.rows >= 2 && (2..=MAX_COLUMNS).contains(&s.columns);
        Tables { columns: seen.iter().filter(|(_, s)| fits(s)).map(|(t, s)| (*t, s.columns)).collect() }
    }

    fn columns(&self, place: &Place) -> Option<u16> {
        self.columns.get(&place.table).copied().filter(|_| place.row != NONE)
    }
}

struct Out<'f> {
    found: &'f Found,
    text: String,
    /// Of each container: its mark is written.
    begun: Vec<bool>,
    last: Option<Place>,
}

impl Out<'_> {
    fn line(&mut self, line: &Line) {
        self.separate(&line.place);
        let text = match line.place.heading {
            0 => escape::start_of_line(&line.text()),
            level => format!("{} {}", "#".repeat(usize::from(level)), line.text().trim_end_matches('#')),
        };
        self.text.push_str(&text);
    }

    fn fence(&mut self, line: &Line) {
        let Some(raw) = self.found.preformatted.get(line.place.pre as usize) else { return };
        let raw = raw.replace('\r', "");
        let fence = "`".repeat(escape::longest_run(&raw, '`').max(2) + 1);
        self.separate(&line.place);
        self.text.push_str(&fence);
        for code in raw.trim_end().trim_start_matches('\n').lines().chain([fence.as_str()]) {
            self.text.push('\n');
            let prefix = self.prefix(line.place.container);
            let whole = format!("{prefix}{code}");
            self.text.push_str(whole.trim_end());
        }
    }

    fn table(&mut self, rows: &[Line], columns: u16) {
        let Some(first) = rows.first() else { return };
        self.separate(&first.place);
        for (n, row) in rows.iter().enumerate() {
            if n > 0 {
                self.next_row(&first.place);
            }
            for column in 0..columns {
                let of = row.cells.iter().filter(|(c, _)| *c == column).map(|(_, s)| s.replace('|', "\\|"));
                self.text.push_str("| ");
                self.text.push_str(&of.collect::<Vec<_>>().join(" "));
                self.text.push(' ');
            }
            self.text.push('|');
            if n == 0 {
                self.next_row(&first.place);
                self.text.push('|');
                self.text.push_str(&" --- |".repeat(usize::from(columns)));
            }
        }
        self.last = rows.last().map(|r| r.place);
    }

    fn next_row(&mut self, place: &Place) {
        self.text.push('\n');
        let prefix = self.prefix(place.container);
        self.text.push_str(&prefix);
    }

    /// What stands between the line before and this one, and in front of this one.
    fn separate(&mut self, place: &Place) {
        let is_begun = |c: u32| self.begun.get(c as usize).copied().unwrap_or(true);
        let starts_item = place.container != NONE && !is_begun(place.container);
        let gap = match self.last {
            None => "",
            Some(last) if last.block == place.block && last.pre == NONE && last.row == place.row => "  \n",
            // Only a list that begins with 1 may follow a line without a blank one between them.
            Some(last)
                if starts_item
                    && last.outer_list != NONE
                    && last.outer_list == place.outer_list
                    && last.pre == NONE
                    && (last.list == place.list || self.may_interrupt(place)) =>
            {
                "\n"
            }
            Some(_) => "\n\n",
        };
        if gap == "\n\n" {
            self.text.push('\n');
            // An empty line inside a quote belongs to it.
            let common = self.last.map_or(NONE, |l| self.common(l.container, place.container));
            let prefix = self.prefix(common);
            self.text.push_str(prefix.trim_end());
            self.text.push('\n');
        } else {
            self.text.push_str(gap);
        }
        let prefix = self.prefix(place.container);
        self.text.push_str(&prefix);
        self.last = Some(*place);
    }

    /// May the item that begins here follow a line without a blank one? Not when its number is not 1.
    fn may_interrupt(&self, place: &Place) -> bool {
        let is_new = |c: &u32| self.begun.get(*c as usize) == Some(&false);
        let first_new = self.chain(place.container).into_iter().find(is_new);
        let mark = first_new.and_then(|c| self.found.containers.get(c as usize)).map(|c| c.mark);
        !matches!(mark, Some(Mark::Item(Some(n))) if n != 1)
    }

    /// From the outermost to this one.
    fn chain(&self, container: u32) -> Vec<u32> {
        let mut out = Vec::new();
        let mut at = container;
        while let Some(c) = self.found.containers.get(at as usize) {
            out.push(at);
            at = c.outer;
        }
        out.reverse();
        out
    }

    /// The innermost that both are in.
    fn common(&self, a: u32, b: u32) -> u32 {
        let (a, b) = (self.chain(a), self.chain(b));
        a.iter().zip(&b).take_while(|(a, b)| a == b).last().map_or(NONE, |(a, _)| *a)
    }

    /// What stands in front of the next line in this container. Marks are written once.
    fn prefix(&mut self, container: u32) -> String {
        let mut out = String::new();
        for c in self.chain(container) {
            let Some(mark) = self.found.containers.get(c as usize).map(|c| c.mark) else { continue };
            let begun = self.begun.get_mut(c as usize).map(|b| std::mem::replace(b, true)).unwrap_or(true);
            let mark = match mark {
                Mark::Quote => {
                    out.push_str("> ");
                    continue;
                }
                Mark::Item(None) => "- ".to_string(),
                Mark::Item(Some(n)) => format!("{n}. "),
            };
            if begun { out.push_str(&" ".repeat(mark.len())) } else { out.push_str(&mark) }
        }
        out
    }
}
