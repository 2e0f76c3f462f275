//! A report: one file that needs no other.

use crate::chart::Chart;
use crate::{APP_CSS, CHART_CSS, CHART_JS, ICON};
use base64::Engine;
use sha2::{Digest, Sha256};
use std::fmt;

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
    pub fn new(title: impl Into<String>) -> Page {
        Page { title: title.into(), body: String::new(), charts: Vec::new() }
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
            "default-src 'none'; style-src 'unsafe-inline'; script-src {} {}; base-uri 'none'; form-action 'none'",
            hash(THEME_JS),
            hash(&script)
        );
        // Plain data with text keys: writing it cannot fail.
        let data = in_script(&serde_json::to_string(&charts).unwrap_or_default());
        format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
             <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"referrer\" content=\"no-referrer\">\n\
             <title>{title}</title>\n<style>\n{APP_CSS}{CHART_CSS}{REPORT_CSS}</style>\n<script>{THEME_JS}</script>\n\
             </head>\n<body>\n<div class=\"top\"><span class=\"brand\">{}<span>Gleaner</span></span></div>\n\
             <main class=\"report\">\n{body}</main>\n<script type=\"application/json\" id=\"data\">{data}</script>\n\
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
    use std::fmt::Write;

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
