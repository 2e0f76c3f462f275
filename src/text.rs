//! Small things about showing numbers and text to people.

use crawl::labels::{Quality, Share};
use crawl::teacher::Usage;
use crawl::{Outlook, Refreshed, Watched};
use std::path::Path;
use std::time::Duration;
use store::archive::rfc3339;
use types::{Millis, Problem};

/// `12,345`
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

/// `1 page`, `1,200 pages`
pub fn things(n: u64, name: &str) -> String {
    format!("{} {name}{}", count(n), if n == 1 { "" } else { "s" })
}

/// `512 bytes`, `3.4 MB`
pub fn size(bytes: u64) -> String {
    match bytes {
        0..1_000 => things(bytes, "byte"),
        1_000..1_000_000 => format!("{:.1} KB", bytes as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", bytes as f64 / 1e6),
        _ => format!("{:.1} GB", bytes as f64 / 1e9),
    }
}

/// `it takes 3.4 MB: 2.0 MB archive, 1.4 MB ledger`
pub fn space(used: &crawl::space::SpaceUsed) -> String {
    let parts = used.parts().into_iter().filter(|(_, bytes)| *bytes > 0);
    let parts: Vec<String> = parts.map(|(name, bytes)| format!("{} {name}", size(bytes))).collect();
    format!("it takes {}: {}", size(used.total()), parts.join(", "))
}

/// `2026-11-16 18:20 UTC`
pub fn time(at: Millis) -> String {
    let text = rfc3339(at);
    format!("{} {} UTC", text.get(..10).unwrap_or(""), text.get(11..16).unwrap_or(""))
}

/// `0:42`, `1:02:03`, `3 d 4 h`
pub fn duration(d: Duration) -> String {
    let s = d.as_secs();
    let (days, h, m, sec) = (s / 86400, s / 3600 % 24, s / 60 % 60, s % 60);
    if days > 0 {
        format!("{days} d {h} h")
    } else if h > 0 {
        format!("{h}:{m:02}:{sec:02}")
    } else {
        format!("{m}:{sec:02}")
    }
}

/// `found about 85 % (60–98 %) of what can be reached; about 1 in 40 of the next pages is relevant`
pub fn outlook(o: &Outlook) -> String {
    let rate = match o.next {
        _ if o.remaining == Some(0.0) => return "all that can be reached was fetched".to_string(),
        n if n >= 0.5 => format!("about {:.0} % of the next pages are relevant", 100.0 * n),
        n if n > 1e-6 => {
            format!("about 1 in {} of the next pages is relevant", count((1.0 / n).round() as u64))
        }
        _ => "nothing promising is left".to_string(),
    };
    match o.recall {
        None => format!("too early to tell how much is left; {rate}"),
        Some(r) => format!(
            "found about {:.0} % ({:.0}–{:.0} %) of what can be reached; {rate}",
            100.0 * r.value,
            100.0 * r.low,
            100.0 * r.high
        ),
    }
}

/// `0.90 (0.60–0.98)`
pub fn share(s: &Share) -> String {
    format!("{:.2} ({:.2}–{:.2})", s.value, s.low, s.high)
}

/// `12 labelled (9 relevant): on these pages the judge's precision is 0.90 (0.60–0.98), its recall 1.00
/// (0.70–1.00)`
pub fn quality(q: &Quality) -> String {
    let labelled =
        format!("{} labelled ({} relevant)", count(q.labelled()), count(q.true_relevant + q.missed));
    let shares = [("precision", q.precision), ("recall", q.recall)];
    let known = shares.iter().filter_map(|(name, s)| Some(format!("{name} {}", share(&(*s)?))));
    match known.collect::<Vec<String>>().join(", ") {
        none if none.is_empty() => labelled,
        known => format!("{labelled}: on these pages the judge has {known}"),
    }
}

/// `status 429 (1), no connection (12)`
pub fn misses<'a>(kinds: impl IntoIterator<Item = (&'a str, u64)>) -> String {
    let each = kinds.into_iter().map(|(kind, n)| format!("{} ({})", why_missed(kind), count(n)));
    each.collect::<Vec<String>>().join(", ")
}

/// `120 pages visited again: 97 unchanged, 12 changed, 3 gone, 2 moved, 6 without an answer`
pub fn refreshed(r: &Refreshed) -> String {
    let parts = [
        (r.unchanged(), "unchanged"),
        (r.changed, "changed"),
        (r.gone, "gone"),
        (r.moved, "moved"),
        (r.no_answer, "without an answer"),
        (r.denied, "not allowed any more"),
    ];
    let parts: Vec<String> =
        parts.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{} {what}", count(*n))).collect();
    let colon = if parts.is_empty() { "" } else { ": " };
    let spared = match r.spared {
        0 => String::new(),
        n => format!("; {} unchanged, as their sitemaps say, and not asked for", count(n)),
    };
    format!("{} visited again{colon}{}{spared}", things(r.visited, "page"), parts.join(", "))
}

/// `every 6:00:00, 3 rounds so far; the next is due 2026-11-18 20:00 UTC`
pub fn watched(w: &Watched, running: bool, now: Millis) -> String {
    let every = duration(Duration::from_millis(w.every_ms));
    let rounds = w.last.as_ref().map_or(0, |r| r.number);
    let next = match (&w.now, w.due) {
        (Some(round), _) if running => format!("round {} runs", round.number),
        (Some(round), _) => format!("round {} was broken off: `gleaner watch` goes on with it", round.number),
        (None, Some(due)) if due < now => {
            format!("the next was due {}: `gleaner watch` goes on", time(due))
        }
        (None, Some(due)) => format!("the next is due {}", time(due)),
        (None, None) => "over".into(),
    };
    format!("every {every}, {} so far; {next}", things(rounds, "round"))
}

/// `12 of 60 requests, 34,120 of 300,000 tokens`
pub fn spent(u: &Usage) -> String {
    let s = &u.spent;
    format!(
        "{} of {} requests, {} of {} tokens",
        count(s.calls),
        count(u.calls),
        count(s.tokens),
        count(u.tokens)
    )
}

/// For people: whom was asked what, and what it cost.
pub fn teacher(u: &Usage) -> String {
    let s = &u.spent;
    let trouble = u.trouble.as_ref().map_or(String::new(), |t| format!("; {}", strip_controls(t)));
    format!(
        "{} at {}: {} asked, {} yes, {} no, {} unsure; {}{trouble}",
        strip_controls(&u.model),
        u.host,
        things(s.questions, "page"),
        count(s.yes),
        count(s.no),
        count(s.unsure),
        spent(u)
    )
}

/// The host of a URL, without its port.
pub fn host_of(url: &str) -> &str {
    let name = url.split('/').nth(2).unwrap_or(url);
    name.rsplit_once(':')
        .filter(|(_, port)| port.bytes().all(|b| b.is_ascii_digit()))
        .map_or(name, |(name, _)| name)
}

/// Nobody answered, as far as the kind of a miss can tell.
pub fn is_silence(kind: &str) -> bool {
    ["dns", "connect", "tls", "timeout"].contains(&kind)
}

/// The kind of a miss in words.
pub fn why_missed(kind: &str) -> String {
    match kind {
        "dns" => "its name cannot be looked up".into(),
        "connect" => "no connection".into(),
        "tls" => "no secure connection".into(),
        "timeout" => "too slow".into(),
        "guarded" => "refused by the guard: no public address; --allow-private allows it".into(),
        "robots-denied" => "robots.txt forbids it".into(),
        "robots-unavailable" => "its robots.txt cannot be read".into(),
        "unwanted" => "not a type of document that is read".into(),
        "redirect-loop" => "redirects in a circle".into(),
        "bad-redirect" => "a redirect to nowhere".into(),
        "unreadable" => "a page that cannot be read".into(),
        "protocol" => "not proper HTTP".into(),
        _ => match kind.strip_prefix("http-") {
            Some(status) => format!("status {status}"),
            None => kind.to_string(),
        },
    }
}

/// At most `width` characters, with an ellipsis when cut.
pub fn shorten(s: &str, width: usize) -> String {
    if s.chars().count() <= width {
        return s.to_string();
    }
    let mut out: String = s.chars().take(width.saturating_sub(1)).collect();
    out.push('…');
    out
}

/// Text from the Web must not move the cursor, ring the bell, recolour a terminal or turn its lines around.
pub fn strip_controls(s: &str) -> String {
    s.chars().map(|c| if c.is_control() || drives_a_terminal(c) { ' ' } else { c }).collect()
}

/// Characters that we never print ourselves and that make a terminal show something else than what is there:
/// the C1 controls (U+009B begins a command as ESC [ does), marks, embeddings, overrides and isolates of
/// writing direction, line and paragraph separators, annotations, and the invisible tags.
fn drives_a_terminal(c: char) -> bool {
    matches!(c, '\u{80}'..='\u{9f}' | '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2066}'..='\u{206f}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// The last look at whatever is printed, in case a place forgot [`strip_controls`]. JSON keeps its values:
/// there the characters are escaped.
pub fn harmless(text: String) -> String {
    if !text.chars().any(drives_a_terminal) {
        return text;
    }
    let json = text.starts_with(['{', '[']);
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match drives_a_terminal(c) {
            false => out.push(c),
            true if json => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    out.push_str(&format!("\\u{unit:04x}"));
                }
            }
            true => out.push(' '),
        }
    }
    out
}

/// A folder name made from a title: `syllabi-of-database-courses`.
pub fn slug(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars().flat_map(char::to_lowercase) {
        if c.is_alphanumeric() {
            out.push(c);
        } else if !out.is_empty() && !out.ends_with('-') {
            out.push('-');
        }
        if out.len() > 60 {
            break;
        }
    }
    let out = out.trim_end_matches('-').to_string();
    if out.is_empty() { "collection".into() } else { out }
}

/// Replaces a topic file, all of it or nothing, once it is known that it can be read.
pub fn save(path: &Path, text: &str) -> Result<(), Problem> {
    crawl::Config::load(text, &path.display().to_string(), toml::Table::new())?;
    // The user's own link stays a link: what it points to is replaced. A link in a collection may be somebody
    // else's.
    let of_collection = path.parent().is_some_and(crawl::collection::Collection::exists);
    let target = if of_collection { None } else { path.canonicalize().ok() };
    let path = target.as_deref().unwrap_or(path);
    let old = path.symlink_metadata().ok().filter(|m| m.is_file()).map(|m| m.permissions());
    let written = store::files::replace(path, text.as_bytes())
        .and_then(|()| old.map_or(Ok(()), |old| std::fs::set_permissions(path, old)));
    written.map_err(|e| Problem::io("write", path, &e))
}

/// Harvest rate over time as a row of block characters: each shows the share of relevant pages in its
/// stretch.
pub fn bar_curve(curve: &[(u64, u64)], width: usize) -> String {
    const BARS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let Some(&(last, _)) = curve.last() else { return String::new() };
    let width = width.min(curve.len()).max(1);
    let at = |n: u64| {
        let i = curve.partition_point(|&(pages, _)| pages <= n);
        if i == 0 { (0, 0) } else { curve[i - 1] }
    };
    let mut out = String::new();
    for w in 0..width as u64 {
        let (n0, r0) = at(last * w / width as u64);
        let (n1, r1) = at(last * (w + 1) / width as u64);
        // Revised verdicts can make the curve fall; a stretch is never below zero.
        let share = if n1 > n0 { r1.saturating_sub(r0) as f64 / (n1 - n0) as f64 } else { 0.0 };
        out.push(BARS[(share * 8.0).ceil().clamp(0.0, 8.0) as usize]);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misses_are_told_in_words() {
        assert!(why_missed("dns").contains("looked up") && is_silence("dns"));
        assert_eq!(why_missed("http-404"), "status 404");
        assert!(!is_silence("http-404") && !is_silence("robots-denied"));
        assert_eq!(why_missed("anything-new"), "anything-new");
        assert_eq!(host_of("http://a.example:8080/x:1"), "a.example");
        assert_eq!((host_of("https://b.example/"), host_of("http://[::1]/")), ("b.example", "[::1]"));
    }

    #[test]
    fn slugs() {
        assert_eq!(slug("Syllabi of database courses"), "syllabi-of-database-courses");
        assert_eq!(slug("../../etc/passwd"), "etc-passwd");
        assert_eq!(slug("  "), "collection");
    }

    #[test]
    fn numbers() {
        assert_eq!(count(0), "0");
        assert_eq!(count(999), "999");
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(duration(Duration::from_secs(62)), "1:02");
        assert_eq!(duration(Duration::from_secs(3723)), "1:02:03");
        assert_eq!(shorten("abcdef", 4), "abc…");
    }

    #[test]
    fn the_web_cannot_drive_the_terminal() {
        assert_eq!(strip_controls("a\x1b[2Jb\u{202e}c\n"), "a [2Jb c ");
        assert_eq!(strip_controls("a\u{9b}2Jb\u{2066}c\u{2069}\u{85}\u{2028}\u{e0041}d"), "a 2Jb c    d");
        assert_eq!(strip_controls("naïve שלום 👩\u{200d}💻"), "naïve שלום 👩\u{200d}💻");
        assert_eq!(harmless("\x1b[1mour own\x1b[0m \u{9b}31m\n".into()), "\x1b[1mour own\x1b[0m  31m\n");
        let json = serde_json::json!({ "title": "a\u{2067}b\u{e0041}\u{9b}" }).to_string();
        let shown = harmless(json.clone());
        assert!(shown.is_ascii(), "{shown}");
        let read = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
        assert_eq!(read(&shown), read(&json), "nothing is lost");
    }

    #[test]
    fn curve_shows_where_the_good_pages_were() {
        let curve: Vec<(u64, u64)> = (1..=100).map(|n| (n, n.min(50))).collect();
        let bars = bar_curve(&curve, 10);
        assert_eq!(bars, "█████     ");
        assert_eq!(bar_curve(&[], 10), "");
    }
}
