//! An RSS 2.0 feed of the newest pages, the newest first.

use super::{Exporter, Format, Options, Output, Row, cannot_write};
use crate::archive::rfc3339;
use std::collections::VecDeque;
use std::fmt::Write as _;
use std::io::Write;
use types::{Millis, Problem};

/// Readers of feeds want what is new.
const NEWEST: usize = 200;
/// Of the text, when a page has no description; in bytes.
const EXCERPT: usize = 500;

pub const FORMAT: Format = Format {
    name: "rss",
    summary: "a feed of the newest 200 pages (RSS 2.0)",
    extension: "rss",
    binary: false,
    needs_markdown: false,
    folder: None,
    beside: None,
    open: |out, options| Ok(Box::new(Feed { out, head: head(options), items: VecDeque::new() })),
};

struct Feed {
    out: Output,
    head: String,
    /// By time, the newest last.
    items: VecDeque<(Millis, String)>,
}

impl Exporter for Feed {
    fn write(&mut self, row: &Row) -> Result<(), Problem> {
        let at = self.items.partition_point(|(fetched, _)| *fetched <= row.record.fetched);
        if at == 0 && self.items.len() == NEWEST {
            return Ok(());
        }
        self.items.insert(at, (row.record.fetched, item(row)));
        if self.items.len() > NEWEST {
            self.items.pop_front();
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<(), Problem> {
        let items: String = self.items.iter().rev().map(|(_, item)| item.as_str()).collect();
        let feed = format!("{}{items}</channel>\n</rss>\n", self.head);
        self.out.write_all(feed.as_bytes()).and_then(|()| self.out.flush()).map_err(cannot_write)
    }
}

fn head(options: &Options) -> String {
    let title = escaped(if options.title.is_empty() { "A collection" } else { &options.title });
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<rss version=\"2.0\">\n<channel>\n\
         <title>{title}</title>\n\
         <link>about:blank</link>\n<description>Pages that a crawl found relevant: {title}</description>\n\
         <generator>gleaner {}</generator>\n<lastBuildDate>{}</lastBuildDate>\n",
        env!("CARGO_PKG_VERSION"),
        rfc822(options.now)
    )
}

fn item(row: &Row) -> String {
    let r = row.record;
    let title = if r.title.is_empty() { &r.url } else { &r.title };
    let about = match r.description.is_empty() {
        true => r.text.get(..r.text.floor_char_boundary(EXCERPT)).unwrap_or(""),
        false => &r.description,
    };
    let mut out = String::from("<item>\n");
    for (name, value) in [("title", title.as_str()), ("link", &r.url), ("description", about)] {
        let _ = writeln!(out, "<{name}>{}</{name}>", escaped(value));
    }
    let _ = writeln!(out, "<guid isPermaLink=\"true\">{}</guid>", escaped(&r.url));
    let _ = writeln!(out, "<pubDate>{}</pubDate>\n</item>", rfc822(r.fetched));
    out
}

/// Text in XML 1.0, which has no control characters.
fn escaped(s: &str) -> String {
    let mut out = String::with_capacity(s.len());
    for c in s.chars() {
        match c {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '\n' | '\t' => out.push(c),
            '\u{fffe}' | '\u{ffff}' => {}
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

/// `Mon, 16 Nov 2026 18:20:53 +0000`
fn rfc822(at: Millis) -> String {
    const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let text = rfc3339(at);
    let part = |from: usize, to: usize| text.get(from..to).unwrap_or("");
    let day = DAYS[(at.0 / 86_400_000 % 7) as usize];
    let month = part(5, 7).parse::<usize>().ok().and_then(|m| MONTHS.get(m.checked_sub(1)?)).unwrap_or(&"");
    format!("{day}, {} {month} {} {} +0000", part(8, 10), part(0, 4), part(11, 19))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_and_letters() {
        // `date -u -d 2026-11-16T18:20:53 +%s`
        assert_eq!(rfc822(Millis(1_794_853_253_000)), "Mon, 16 Nov 2026 18:20:53 +0000");
        assert_eq!(escaped("a<b>&\u{1}c\u{ffff}"), "a&lt;b&gt;&amp; c");
    }
}
