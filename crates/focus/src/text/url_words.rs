//! Words of a URL: host and path, split at every sign, at changes of case and between letters and digits.

use super::words::{Token, WordHash};
use types::Url;

/// Parts that say nothing of any page.
const IGNORED: &[&str] =
    &["www", "http", "https", "html", "htm", "shtml", "xhtml", "php", "asp", "aspx", "jsp", "cgi"];

/// The tokens of a URL, in order. `CS415` gives `cs415`, `cs` and `415`; `ReleaseNotes` gives `releasenotes`,
/// `release` and `notes`, so that both spellings of a term match. The scheme, `www`, file extensions of pages
/// and a directory's index file are left out. Spans refer to the URL's text.
pub fn url_tokens(url: &Url, out: &mut Vec<Token>) {
    let text = url.as_str();
    let start = text.find("://").map_or(0, |i| i + 3);
    let path_end = text.find(['?', '#']).unwrap_or(text.len());
    let last = text.get(start..path_end).and_then(|t| t.rfind('/')).map_or(path_end, |i| start + i + 1);
    let end = if is_index(text.get(last..path_end).unwrap_or("")) { last } else { path_end };
    pieces(text, start, end, out);
    pieces(text, path_end, text.len(), out);
}

/// `index.html`, `Default.aspx`: the directory's page under another name.
fn is_index(file: &str) -> bool {
    let mut parts = file.split('.');
    let stem = parts.next().unwrap_or("");
    let extension = parts.next().unwrap_or("");
    let names = ["index", "default", "welcome", "home"];
    parts.next().is_none()
        && names.iter().any(|n| stem.eq_ignore_ascii_case(n))
        && IGNORED.iter().any(|e| extension.eq_ignore_ascii_case(e))
}

fn pieces(text: &str, start: usize, end: usize, out: &mut Vec<Token>) {
    let bytes = text.as_bytes();
    let mut i = start;
    while i < end {
        // Escapes are not decoded: canonical URLs escape only what is not a plain letter, and `%C3%A9` says
        // little.
        if bytes.get(i) == Some(&b'%') {
            i += 3;
            continue;
        }
        let word = |i: usize| bytes.get(i).is_some_and(u8::is_ascii_alphanumeric);
        if !word(i) {
            i += 1;
            continue;
        }
        let first = i;
        while i < end && word(i) && i - first < 64 {
            i += 1;
        }
        push(text, first, i, out);
        parts(text, first, i, out);
    }
}

fn push(text: &str, start: usize, end: usize, out: &mut Vec<Token>) {
    let Some(word) = text.get(start..end) else { return };
    if IGNORED.iter().any(|w| word.eq_ignore_ascii_case(w)) {
        return;
    }
    let mut hash = WordHash::new();
    word.bytes().for_each(|b| hash.byte(b.to_ascii_lowercase()));
    out.push(Token::new(hash.finish(), start, end, false));
}

/// The parts of `start..end`, when there is more than one.
fn parts(text: &str, start: usize, end: usize, out: &mut Vec<Token>) {
    let bytes = text.as_bytes().get(start..end).unwrap_or(&[]);
    let breaks = |i: usize| {
        let (Some(&a), Some(&b)) = (bytes.get(i - 1), bytes.get(i)) else { return false };
        a.is_ascii_digit() != b.is_ascii_digit()
            || (a.is_ascii_lowercase() && b.is_ascii_uppercase())
            // HTMLParser = HTML + Parser
            || (a.is_ascii_uppercase()
                && b.is_ascii_uppercase()
                && bytes.get(i + 1).is_some_and(u8::is_ascii_lowercase))
    };
    let mut from = 0;
    for i in 1..bytes.len() {
        if breaks(i) {
            push(text, start + from, start + i, out);
            from = i;
        }
    }
    if from > 0 {
        push(text, start + from, end, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::Canon;

    fn words(url: &str) -> Vec<String> {
        let url = Canon::exact().parse(url).unwrap();
        let mut out = Vec::new();
        url_tokens(&url, &mut out);
        out.iter().map(|t| t.span().of(url.as_str()).to_lowercase()).collect()
    }

    #[test]
    fn spellings() {
        let table: &[(&str, &[&str])] = &[
            (
                "http://www.cs.cornell.edu/Info/Courses/CS415.html",
                &["cs", "cornell", "edu", "info", "courses", "cs415", "cs", "415"],
            ),
            (
                "https://e.org/docs/ReleaseNotes-v2/index.html",
                &["e", "org", "docs", "releasenotes", "release", "notes", "v2", "v", "2"],
            ),
            ("https://e.org/index", &["e", "org", "index"]),
            ("https://e.org/a?page=news&id=7", &["e", "org", "a", "page", "news", "id", "7"]),
            ("https://e.org/%C3%A9t", &["e", "org", "t"]),
        ];
        for (url, expected) in table {
            assert_eq!(words(url), *expected, "{url}");
        }
    }
}
