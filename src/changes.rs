//! What is new in a collection, for people: on a terminal, as a page, as Atom and as JSON Feed.

use crate::text::{count, shorten, strip_controls, things, time};
use console::style;
use crawl::reader::{Change, ChangeKind, Changes, DiffLine};
use look::{Page, escape};
use serde_json::json;
use std::fmt::Write;
use store::archive::rfc3339;
use types::Millis;

/// Lines of one difference that are shown on a terminal.
const DIFF_SHOWN: usize = 12;
/// Entries of a feed.
pub const FEED: usize = 100;

fn title(change: &Change) -> &str {
    if change.title.trim().is_empty() { &change.url } else { &change.title }
}

/// `3 new, 2 changed, 1 gone`
pub fn totals(changes: &Changes) -> String {
    let each = ChangeKind::ALL.iter().map(|kind| (*kind, changes.of(*kind).count()));
    let parts: Vec<String> = each
        .filter(|(_, n)| *n > 0)
        .map(|(kind, n)| format!("{} {}", count(n as u64), kind.name()))
        .collect();
    if parts.is_empty() { "nothing new".into() } else { parts.join(", ") }
}

/// What a change is about, in a few words.
fn about(change: &Change) -> String {
    match (change.kind, &change.to) {
        (ChangeKind::Changed | ChangeKind::Back, _) if change.times > 0 => {
            let times = if change.times > 1 { format!(", {} times", change.times) } else { String::new() };
            format!("+{} −{} words{times}", change.added, change.removed)
        }
        (ChangeKind::Moved, Some(to)) => format!("to {to}"),
        _ => String::new(),
    }
}

/// For a terminal, safe and coloured.
pub fn terminal(changes: &Changes, most: usize) -> String {
    let mut out = format!("since {}: {}\n", time(changes.since), totals(changes));
    let mut left = most;
    for kind in ChangeKind::ALL {
        let all: Vec<&Change> = changes.of(kind).collect();
        if all.is_empty() || left == 0 {
            continue;
        }
        let _ = writeln!(out, "\n{}", style(kind.name()).bold());
        for change in all.iter().take(left) {
            let about = strip_controls(&about(change));
            let about = if about.is_empty() { about } else { format!("  {}", style(about).dim()) };
            let _ = writeln!(out, "  {}{about}", strip_controls(title(change)));
            let (url, when) = (strip_controls(&change.url), time(change.at));
            let _ = writeln!(out, "  {}  {}", style(url).cyan(), style(when).dim());
            let shown = change.diff.iter().filter(|l| l.mark != '@').take(DIFF_SHOWN);
            for line in shown {
                let text = format!("{} {}", line.mark, shorten(&strip_controls(&line.text), 160));
                let text = match line.mark {
                    '+' => style(text).green(),
                    '-' => style(text).red(),
                    _ => style(text).dim(),
                };
                let _ = writeln!(out, "      {text}");
            }
            let lines = change.diff.iter().filter(|l| l.mark != '@').count();
            if lines > DIFF_SHOWN {
                let _ = writeln!(
                    out,
                    "      … {} (--json, --html)",
                    things((lines - DIFF_SHOWN) as u64, "more line")
                );
            }
        }
        left = left.saturating_sub(all.len());
    }
    if changes.changes.len() > most {
        let _ = writeln!(out, "\nand {} more (--limit N)", count((changes.changes.len() - most) as u64));
    }
    out
}

/// A difference as markup.
fn diff_html(diff: &[DiffLine]) -> String {
    let mut out = String::new();
    for line in diff {
        let text = escape(&line.text);
        let _ = match line.mark {
            '+' => writeln!(out, "<ins>{text}</ins>"),
            '-' => writeln!(out, "<del>{text}</del>"),
            '@' => writeln!(out, "<span class=\"soft\">…</span>"),
            _ => writeln!(out, "<span>{text}</span>"),
        };
    }
    out
}

/// A page of its own, in the common look.
pub fn html(changes: &Changes) -> String {
    let mut page = Page::new(format!("What is new in {}", changes.name));
    page.header(&format!("Since {} · written {}", time(changes.since), time(Millis::now())));
    let cards: Vec<(String, &str, String)> = ChangeKind::ALL
        .iter()
        .map(|kind| (count(changes.of(*kind).count() as u64), kind.name(), String::new()))
        .filter(|(n, name, _)| n != "0" || matches!(*name, "new" | "changed" | "gone"))
        .collect();
    page.cards(&cards);
    for kind in ChangeKind::ALL {
        let all: Vec<&Change> = changes.of(kind).collect();
        if all.is_empty() {
            continue;
        }
        let mut heading = kind.name().to_string();
        heading[..1].make_ascii_uppercase();
        page.open(&heading);
        for change in all {
            let _ = writeln!(
                page,
                "<details{}><summary>{} <span class=\"soft\">{} · {}</span></summary><p class=\"url\">{}</p>",
                if change.diff.is_empty() { "" } else { " open" },
                escape(&shorten(title(change), 160)),
                escape(&about(change)),
                time(change.at),
                link(&change.url)
            );
            if !change.diff.is_empty() {
                let _ = writeln!(page, "<div class=\"diff\">{}</div>", diff_html(&change.diff));
            }
            if !change.begins.is_empty() {
                let _ = writeln!(page, "<p>{}…</p>", escape(&change.begins));
            }
            if let Some(to) = &change.to {
                let _ = writeln!(page, "<p class=\"url\">{}</p>", link(to));
            }
            let _ = page.write_str("</details>\n");
        }
        page.close("");
    }
    if changes.changes.is_empty() {
        page.open("Nothing new");
        page.close("`gleaner refresh` visits known pages again; `gleaner crawl` finds new ones.");
    }
    page.finish()
}

/// A link, if the address is one that a browser may follow.
fn link(url: &str) -> String {
    let text = escape(url);
    match url.starts_with("http://") || url.starts_with("https://") {
        true => format!("<a href=\"{text}\" rel=\"noreferrer nofollow\">{text}</a>"),
        false => text,
    }
}

/// New and changed pages, the newest first.
fn entries(changes: &Changes) -> impl Iterator<Item = &Change> {
    let news = |c: &&Change| matches!(c.kind, ChangeKind::New | ChangeKind::Changed | ChangeKind::Back);
    changes.changes.iter().filter(news).take(FEED)
}

/// A name of an entry that stays the same as long as its page does not change again.
fn entry_id(change: &Change) -> String {
    format!("{}#{}", change.url.split('#').next().unwrap_or(""), rfc3339(change.at))
}

/// What an entry says, as markup.
fn content(change: &Change) -> String {
    match change.kind {
        ChangeKind::New => format!("<p>{}</p>", escape(&change.begins)),
        _ => format!("<p>{}</p><pre>{}</pre>", escape(&about(change)), diff_html(&change.diff)),
    }
}

/// Characters that XML can carry, escaped.
fn xml(text: &str) -> String {
    escape(&text.chars().filter(|c| !matches!(c, '\u{fffe}' | '\u{ffff}')).collect::<String>())
}

/// RFC 4287.
pub fn atom(changes: &Changes) -> String {
    let newest = entries(changes).map(|c| c.at).max().unwrap_or(changes.since);
    let name = xml(&changes.name);
    let slug = crate::text::slug(&changes.name);
    let mut out = format!(
        "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<feed xmlns=\"http://www.w3.org/2005/Atom\">\n\
         <title>{name}: new and changed pages</title>\n<id>urn:gleaner:{slug}</id>\n<updated>{}</updated>\n\
         <generator version=\"{}\">Gleaner</generator>\n<author><name>Gleaner</name></author>\n",
        rfc3339(newest),
        env!("CARGO_PKG_VERSION")
    );
    for change in entries(changes) {
        let _ = write!(
            out,
            "<entry>\n<title>{}</title>\n<id>{}</id>\n<link href=\"{}\"/>\n<updated>{}</updated>\n\
             <published>{}</published>\n<category term=\"{}\"/>\n<content type=\"html\">{}</content>\n\
             </entry>\n",
            xml(title(change)),
            xml(&entry_id(change)),
            xml(&change.url),
            rfc3339(change.at),
            rfc3339(change.since),
            change.kind.name(),
            xml(&content(change))
        );
    }
    out.push_str("</feed>\n");
    out
}

/// JSON Feed 1.1.
pub fn json_feed(changes: &Changes) -> String {
    let item = |change: &Change| {
        json!({
            "id": entry_id(change), "url": change.url, "title": title(change), "content_html": content(change),
            "date_published": rfc3339(change.since), "date_modified": rfc3339(change.at),
            "tags": [change.kind.name()],
        })
    };
    let feed = json!({
        "version": "https://jsonfeed.org/version/1.1",
        "title": format!("{}: new and changed pages", changes.name),
        "items": entries(changes).map(item).collect::<Vec<_>>(),
    });
    serde_json::to_string_pretty(&feed).unwrap_or_default()
}
