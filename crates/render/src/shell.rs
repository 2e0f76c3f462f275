//! Does a page need its scripts to say anything?
//!
//! A *shell* is a page whose own HTML holds a place for the content and a script that will bring it. It is
//! told by what is there (a script, a mount point that is empty, a plea to turn JavaScript on) and by what is
//! not (text, links). A page without scripts is never one.

use std::borrow::Cow;

/// Elements that frameworks fill in: React, Vue, Next, Nuxt, Gatsby, Svelte, Ember, Docusaurus …
const MOUNT_POINTS: &[&str] = &[
    "root",
    "app",
    "__next",
    "__nuxt",
    "___gatsby",
    "svelte",
    "react-root",
    "app-root",
    "main-app",
    "ember-app",
    "__docusaurus",
    "mount",
    "application",
    "q-app",
    "single-spa-application",
];
/// Tags that only exist where a script defines them.
const ROOT_TAGS: &[&str] = &["<app-root", "<my-app", "<polymer-app", "<ion-app"];
/// A page with fewer words has as good as no text.
const FEW_WORDS: usize = 25;
/// A page with a mount point and fewer words waits for its content.
const SOME_WORDS: usize = 80;
/// A page that pleads for JavaScript and has more words says what it has to say all the same.
const MANY_WORDS: usize = 200;
const FEW_LINKS: usize = 3;

/// Why a page is a shell, for people; `None` when it is none. `words` and `links` are those of its text as it
/// was sent.
pub fn reason(html: &[u8], words: usize, links: usize) -> Option<&'static str> {
    let html = lower(html);
    if !has_script(&html) {
        return None;
    }
    match mount_point(&html) {
        Some(Mount::Empty) => return Some("its mount point is empty"),
        Some(Mount::Filled) if words < SOME_WORDS => return Some("it has a mount point and little text"),
        _ => {}
    }
    if words < MANY_WORDS && pleads(&html) {
        return Some("it asks for JavaScript");
    }
    (words < FEW_WORDS && links < FEW_LINKS).then_some("it has scripts and hardly any text")
}

/// Does it run scripts at all?
pub fn has_scripts(html: &[u8]) -> bool {
    has_script(&lower(html))
}

fn lower(html: &[u8]) -> Cow<'_, [u8]> {
    if html.iter().any(u8::is_ascii_uppercase) {
        Cow::Owned(html.to_ascii_lowercase())
    } else {
        Cow::Borrowed(html)
    }
}

fn has_script(html: &[u8]) -> bool {
    tags(html, b"<script").any(|tag| {
        // Data in a script element runs nothing.
        let kind = attribute(tag, b"type").unwrap_or_default();
        kind.is_empty()
            || kind == b"module"
            || kind.windows(10).any(|w| w == b"javascript")
            || kind.windows(10).any(|w| w == b"ecmascript")
    })
}

enum Mount {
    Empty,
    Filled,
}

fn mount_point(html: &[u8]) -> Option<Mount> {
    let mut found = None;
    let mut at = 0;
    while let Some(start) = find(html.get(at..)?, b"<").map(|i| at + i) {
        let Some(tag) = whole_tag(html.get(start..)?) else { break };
        at = start + tag.len();
        let named = attribute(tag, b"id").is_some_and(|id| MOUNT_POINTS.iter().any(|m| m.as_bytes() == id))
            || attribute(tag, b"data-reactroot").is_some()
            || ROOT_TAGS.iter().any(|r| is_tag(tag, r.as_bytes()));
        if !named || is_tag(tag, b"<script") {
            continue;
        }
        if is_blank_until_end(html.get(at..)?) {
            return Some(Mount::Empty);
        }
        found = Some(Mount::Filled);
    }
    found
}

/// Blanks and comments, then an end tag.
fn is_blank_until_end(mut html: &[u8]) -> bool {
    loop {
        html = html.trim_ascii_start();
        if let Some(rest) = html.strip_prefix(b"<!--") {
            let Some(end) = find(rest, b"-->") else { return false };
            html = rest.get(end + 3..).unwrap_or_default();
        } else {
            return html.starts_with(b"</");
        }
    }
}

/// `<noscript>` that asks for JavaScript.
fn pleads(html: &[u8]) -> bool {
    let mut at = html;
    while let Some(start) = find(at, b"<noscript") {
        let rest = at.get(start..).unwrap_or_default();
        let end = find(rest, b"</noscript").unwrap_or(rest.len().min(2_000));
        let inside = rest.get(..end).unwrap_or_default();
        if find(inside, b"javascript").is_some() {
            return true;
        }
        at = rest.get(end.max(1)..).unwrap_or_default();
    }
    false
}

/// The tags of a name, each with its brackets.
fn tags<'a>(html: &'a [u8], name: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
    let mut rest = html;
    std::iter::from_fn(move || {
        loop {
            let start = find(rest, name)?;
            let here = rest.get(start..)?;
            let tag = whole_tag(here).unwrap_or(here);
            rest = here.get(tag.len().max(1)..)?;
            if is_tag(tag, name) {
                return Some(tag);
            }
        }
    })
}

fn is_tag(tag: &[u8], name: &[u8]) -> bool {
    let after = tag.strip_prefix(name).map(|rest| rest.first());
    matches!(after, Some(None | Some(b'>' | b'/' | b' ' | b'\t' | b'\n' | b'\r' | 0x0c)))
}

/// From `<` to the `>` that ends the tag; quotes may hold another.
fn whole_tag(html: &[u8]) -> Option<&[u8]> {
    let mut quote = None;
    for (i, b) in html.iter().enumerate() {
        match (quote, b) {
            (Some(q), b) if q == *b => quote = None,
            (None, b'"' | b'\'') => quote = Some(*b),
            (None, b'>') => return html.get(..=i),
            _ => {}
        }
    }
    None
}

/// The value of an attribute of a tag, without quotes; empty when it has none.
fn attribute<'a>(tag: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let mut at = 0;
    while let Some(i) = find(tag.get(at..)?, name) {
        let (start, end) = (at + i, at + i + name.len());
        at = end;
        let before = start.checked_sub(1).and_then(|b| tag.get(b))?;
        if !before.is_ascii_whitespace() && !matches!(before, b'"' | b'\'') {
            continue;
        }
        let rest = tag.get(end..)?.trim_ascii_start();
        return match rest.strip_prefix(b"=").map(<[u8]>::trim_ascii_start) {
            Some(value) => Some(match value.first() {
                Some(q @ (b'"' | b'\'')) => value.get(1..)?.split(|b| b == q).next()?,
                _ => value.split(|b| b.is_ascii_whitespace() || *b == b'>').next()?,
            }),
            None if rest.first().is_none_or(|b| b.is_ascii_whitespace() || matches!(b, b'>' | b'/')) => {
                Some(&[])
            }
            None => continue,
        };
    }
    None
}

fn find(text: &[u8], what: &[u8]) -> Option<usize> {
    let first = *what.first()?;
    let mut at = 0;
    loop {
        let i = at + text.get(at..)?.iter().position(|b| *b == first)?;
        if text.get(i..)?.starts_with(what) {
            return Some(i);
        }
        at = i + 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_shell(html: &str, words: usize, links: usize) -> bool {
        reason(html.as_bytes(), words, links).is_some()
    }

    #[test]
    fn shells() {
        let vite = "<!doctype html><html><head><script type=\"module\" src=\"/assets/index.js\"></script></head>\
                    <body><div id=\"root\"></div></body></html>";
        assert!(is_shell(vite, 0, 0));
        let cra = "<body><noscript>You need to enable JavaScript to run this app.</noscript><div id=root>\n</div>\
                   <script src=main.js></script>";
        assert!(is_shell(cra, 9, 0));
        assert!(is_shell("<DIV ID='app'><!-- filled later --></DIV><SCRIPT SRC=a.js></SCRIPT>", 300, 40));
        assert!(is_shell("<app-root></app-root><script src=a.js></script>", 0, 0));
        assert!(is_shell("<div id=app><p>Loading</p></div><script>go()</script>", 1, 0));
        assert!(is_shell("<p>Please wait</p><script>go()</script>", 2, 0));
        let plea = "<noscript>Bitte JavaScript aktivieren</noscript><nav>…</nav><script src=a.js></script>";
        assert!(is_shell(plea, 120, 30));
    }

    #[test]
    fn pages_that_speak_for_themselves() {
        assert!(!is_shell("<div id=root></div>", 0, 0), "without a script nobody will fill it");
        assert!(!is_shell("<p>Gone</p>", 1, 0));
        assert!(
            !is_shell("<script type=\"application/ld+json\">{}</script><p>Short</p>", 1, 0),
            "data is no script"
        );
        assert!(
            !is_shell("<div id=app><p>…</p></div><script src=a.js></script>", 400, 20),
            "rendered by the server"
        );
        assert!(!is_shell("<p>…</p><script src=analytics.js></script>", 300, 10));
        assert!(!is_shell("<ul>…</ul><script src=menu.js></script>", 10, 40), "a list of links");
        assert!(
            !is_shell("<noscript><img src=pixel></noscript><script>t()</script>", 150, 9),
            "a tracker's pixel"
        );
        assert!(!is_shell("<p data-id=\"root\"></p><script src=a.js></script>", 90, 9));
        assert!(!is_shell("<div id=\"rooted\"></div><script src=a.js></script>", 90, 9));
    }

    #[test]
    fn nothing_breaks_it() {
        for html in [
            "",
            "<",
            "<script",
            "<script type",
            "<div id=",
            "<div id='root",
            "<noscript",
            "<!--<div id=root>",
        ] {
            let _ = (reason(html.as_bytes(), 0, 0), has_scripts(html.as_bytes()));
        }
        let many = "<noscript>".repeat(20_000);
        let _ = reason(format!("<script>{many}").as_bytes(), 0, 0);
    }
}
