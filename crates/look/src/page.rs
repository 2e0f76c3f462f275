//! A report: one file that needs no other.

use crate::chart::Chart;
use crate::{APP_CSS, CHART_CSS, CHART_JS, ICON};
use base64::Engine;
use sha2::{Digest, Sha256};
use std::fmt::{self, Write};

const REPORT_CSS: &str = include_str!("../assets/report.css");
const REPORT_JS: &str = include_str!("../assets/report.js");
const THEME_JS: &str = include_str!("../assets/theme.js");

/// A report as it is written from top to bottom: markup with [`fmt::Write`], charts with [`Page::chart`].
pub struct Page {
    title: String,
    body: String,
    charts: Vec<Chart>,
}

impl Page {
    /// An empty report. The title is also that of the browser's tab.
    pub fn new(title: impl Into<String>) -> Page {
        Page { title: title.into(), body: String::new(), charts: Vec::new() }
    }

    /// The title, and a line below it.
    pub fn header(&mut self, line: &str) {
        let title = escape(&self.title);
        let _ =
            write!(self, "<header>\n<h1>{title}</h1>\n<p class=\"soft\">{}</p>\n</header>\n", escape(line));
    }

    /// The most important numbers: value, name, more of it. The first is what was wanted.
    pub fn cards(&mut self, cards: &[(String, &str, String)]) {
        let _ = self.write_str("<section class=\"card kpis\" aria-label=\"Numbers\">\n");
        for (i, (value, name, more)) in cards.iter().enumerate() {
            let class = if i == 0 { "kpi good" } else { "kpi" };
            let (value, name, more) = (escape(value), escape(name), escape(more));
            let _ = writeln!(
                self,
                "<div class=\"{class}\"><b>{value}</b><span>{name}</span>\
                 <small title=\"{more}\">{more}</small></div>"
            );
        }
        let _ = self.write_str("</section>\n");
    }

    /// A section with its heading.
    pub fn open(&mut self, heading: &str) {
        let name: String = heading.chars().filter(char::is_ascii_alphanumeric).collect();
        let _ = writeln!(
            self,
            "<section class=\"card\" id=\"{}\"><h2>{}</h2>",
            name.to_lowercase(),
            escape(heading)
        );
    }

    /// Ends a section, with a few words on what is seen in it.
    pub fn close(&mut self, why: &str) {
        self.why(why);
        let _ = self.write_str("</section>\n");
    }

    /// What is seen in a chart; `…` is code.
    pub fn why(&mut self, text: &str) {
        if !text.is_empty() {
            let _ = writeln!(self, "<p class=\"why\">{}</p>", with_code(text));
        }
    }

    /// Names and values.
    pub fn list(&mut self, items: &[(String, String)]) {
        let _ = self.write_str("<dl>\n");
        for (name, value) in items {
            let _ = writeln!(self, "<dt>{}</dt><dd>{}</dd>", escape(name), escape(value));
        }
        let _ = self.write_str("</dl>\n");
    }

    /// The head of a table that can be sorted; all columns but the first have numbers.
    pub fn table(&mut self, heads: &[impl AsRef<str>]) {
        self.head("scroll", heads);
    }

    /// As [`Page::table`]; on a phone each row is a card, so the cells say what they are (`data-name`).
    pub fn rows(&mut self, heads: &[impl AsRef<str>]) {
        self.head("scroll rows", heads);
    }

    fn head(&mut self, class: &str, heads: &[impl AsRef<str>]) {
        let _ = write!(self, "<div class=\"{class}\"><table class=\"sort\"><thead><tr>");
        for (i, head) in heads.iter().enumerate() {
            let class = if i > 0 { " class=\"n\"" } else { "" };
            let _ = write!(self, "<th scope=\"col\"{class}><button>{}</button></th>", escape(head.as_ref()));
        }
        let _ = self.write_str("</tr></thead><tbody>\n");
    }

    /// Ends what [`Page::table`] or [`Page::rows`] began; rows are written in between.
    pub fn end_table(&mut self) {
        let _ = self.write_str("</tbody></table></div>\n");
    }

    /// A chart, and its numbers for readers without one.
    pub fn chart(&mut self, chart: Chart) {
        let (n, table) = (self.charts.len(), chart.table());
        self.body.push_str(&format!(
            "<div data-chart=\"{n}\"><details open><summary>The numbers</summary>{table}</details></div>\n"
        ));
        self.charts.push(chart);
    }

    /// The file. Scripts other than these run nowhere in it, even if text became markup by mistake.
    pub fn finish(self) -> String {
        let Page { title, body, charts } = self;
        let title = escape(&title);
        let script = format!("{CHART_JS}\n{REPORT_JS}");
        let policy = format!(
            "default-src 'none'; style-src 'unsafe-inline'; script-src {} {}; base-uri 'none'; \
             form-action 'none'",
            hash(THEME_JS),
            hash(&script)
        );
        // Plain data with text keys: writing it cannot fail.
        let data = in_script(&serde_json::to_string(&charts).unwrap_or_default());
        format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
             <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n\
             <meta name=\"referrer\" content=\"no-referrer\">\n\
             <title>{title}</title>\n<style>\n{APP_CSS}{CHART_CSS}{REPORT_CSS}</style>\n\
             <script>{THEME_JS}</script>\n\
             </head>\n<body>\n<div class=\"top\"><span class=\"brand\">{}<span>Gleaner</span></span></div>\n\
             <main class=\"report\">\n{body}</main>\n\
             <script type=\"application/json\" id=\"data\">{data}</script>\n\
             <script type=\"module\">{script}</script>\n</body>\n</html>\n",
            ICON.trim().replacen("<svg ", "<svg width=\"28\" height=\"28\" aria-hidden=\"true\" ", 1)
        )
    }
}

impl fmt::Write for Page {
    fn write_str(&mut self, markup: &str) -> fmt::Result {
        self.body.push_str(markup);
        Ok(())
    }
}

/// A script's name in a policy.
fn hash(script: &str) -> String {
    let digest = Sha256::digest(script.as_bytes());
    format!("'sha256-{}'", base64::engine::general_purpose::STANDARD.encode(digest))
}

/// Text in which `…` is code, as markup.
pub fn with_code(text: &str) -> String {
    let part = |(i, s): (usize, &str)| {
        if i % 2 == 1 { format!("<code>{}</code>", escape(s)) } else { escape(s) }
    };
    text.split('`').enumerate().map(part).collect()
}

/// JSON that stays inside its script element: no tag and no comment can begin in it.
fn in_script(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => out.push_str(&format!("\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
    out
}

/// Text for HTML, in content and in quoted attributes.
pub fn escape(s: &str) -> String {
    let mut out = String::with_capacity(s.len());
    for c in s.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // Nothing to see, and marks of direction turn what follows around.
            c if c.is_control() && !matches!(c, '\n' | '\t') => {}
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {}
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Lines, Series};

    const HOSTILE: &str = "</script><!--<script>alert(1)</script>&\u{2028}\"'\u{202e}";

    #[test]
    fn text_never_becomes_markup_or_script() {
        let mut page = Page::new(HOSTILE);
        let _ = write!(page, "<h1>{}</h1>", escape(HOSTILE));
        let series = vec![Series::new(HOSTILE, vec![(0.0, 1.0), (f64::INFINITY, 2.0)], 0)];
        page.chart(Chart::Lines(Lines {
            label: HOSTILE.into(),
            x: HOSTILE.into(),
            series,
            ..Lines::default()
        }));
        let html = page.finish();
        assert!(!html.contains("<script>alert") && !html.contains("<!--"), "{html}");
        // Three scripts of ours: the theme, the data, the charts.
        assert_eq!((html.matches("<script").count(), html.matches("</script").count()), (3, 3));
        let data = html.split("id=\"data\">").nth(1).and_then(|s| s.split("</script>").next()).unwrap();
        let read: serde_json::Value = serde_json::from_str(data).unwrap();
        assert_eq!(read[0]["label"], HOSTILE, "the text itself is kept");
        assert_eq!(read[0]["values"][0]["points"], serde_json::json!([[0.0, 1.0]]));
        assert!(!html.contains('\u{202e}') || data.contains('\u{202e}'));
    }

    #[test]
    fn nothing_is_loaded_from_elsewhere() {
        let html = Page::new("t").finish();
        for strange in [" src=", "@import", "url(", "<link"] {
            assert!(!html.contains(strange), "{strange}");
        }
        assert!(!CHART_JS.contains("innerHTML") && !REPORT_JS.contains("innerHTML"));
        // A script cannot end early.
        assert!(!CHART_JS.contains("</script") && !REPORT_JS.contains("</script"));
    }

    #[test]
    fn scripts_are_named_by_their_digest() {
        // printf 'alert(1)' | openssl dgst -sha256 -binary | base64
        assert_eq!(hash("alert(1)"), "'sha256-bhHHL3z2vDgxUt0W3dWQOrprscmda2Y5pLsLg4GF+pI='");
    }
}
