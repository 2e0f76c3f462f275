//! `report.html` of a collection: what came of a crawl, on one self-contained page. Everything that came from
//! the Web is text here, never markup.

use crate::text::{count, outlook, shorten, things, time};
use crawl::reader::{PathStep, Reader, Summary};
use look::{Bin, Chart, Histogram, Lines, Page, Series, Unit, escape};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use store::Which;
use types::{ArchiveRef, Millis, Problem, UrlId};

const TOP_PAGES: usize = 50;
const TOP_HOSTS: usize = 25;
/// Of them, those that are seen at once.
const SHOWN: usize = 20;
const PATHS: usize = 6;
const SEEDS: usize = 50;
const BINS: usize = 20;

/// Parts of the settings that say what is wanted.
const TOPIC: &[&str] = &["name", "description", "query", "genre", "content", "url", "exclude", "examples"];
/// Parts that say how it is looked for.
const SETTINGS: &[&str] = &["judge", "strategy", "scope", "limits", "fetch", "text", "archive"];
/// These may hold a password, or concern one machine only.
const UNTOLD: &[&str] = &["proxy", "resolve"];

#[derive(Default)]
struct Host {
    pages: u64,
    relevant: u64,
}

/// What the report keeps of a page: no text, so that a large collection fits.
struct TopPage {
    score: f64,
    url: String,
    title: String,
    language: String,
    archive: Option<ArchiveRef>,
    path: Vec<PathStep>,
}

/// The page as HTML. `beside`: it is written into the folder of the collection, so links lead to the archive.
pub fn html(reader: &Reader, beside: bool) -> Result<String, Problem> {
    let summary = reader.summary()?;
    let mut by_host: BTreeMap<u32, Host> = BTreeMap::new();
    let mut bins = [(0u64, 0u64); BINS];
    let mut top: Vec<(f64, UrlId)> = Vec::new();
    let (mut first, mut last) = (None, None);
    // Records hold the pages' texts: only those that are shown are read.
    for (id, _, score) in reader.verdicts() {
        // Copies count once, here as everywhere.
        let relevant = reader.is_counted(id);
        first.get_or_insert(id);
        last = Some(id);
        if let Some(host) = reader.ledger().entry(id)?.and_then(|e| e.host) {
            let host = by_host.entry(host).or_default();
            host.pages += 1;
            host.relevant += u64::from(relevant);
        }
        let bin = ((score * BINS as f64) as usize).min(BINS - 1);
        if let Some((pages, found)) = bins.get_mut(bin) {
            *pages += 1;
            *found += u64::from(relevant);
        }
        if relevant {
            top.push((score, id));
            if top.len() > 4 * TOP_PAGES {
                keep_best(&mut top);
            }
        }
    }
    keep_best(&mut top);
    let mut hosts: BTreeMap<String, Host> = BTreeMap::new();
    for (i, host) in reader.ledger().hosts()?.into_iter().enumerate() {
        if let Some(counted) = by_host.remove(&(i as u32)) {
            hosts.insert(host.name, counted);
        }
    }
    let mut pages = Vec::new();
    for (i, (score, id)) in top.into_iter().enumerate() {
        let Some(r) = reader.record(id)? else { continue };
        let path = if i < PATHS { reader.path(id)? } else { Vec::new() };
        pages.push(TopPage {
            score,
            url: r.url,
            title: r.title,
            language: r.language,
            archive: r.archive,
            path,
        });
    }
    let mut fetched = [Millis(0); 2];
    for (at, id) in fetched.iter_mut().zip([first, last]) {
        *at = id.map(|id| reader.record(id)).transpose()?.flatten().map_or(Millis(0), |r| r.fetched);
    }

    let mut out = Page::new(&summary.name);
    out.header(&format!("A focused crawl by Gleaner {} · {}", env!("CARGO_PKG_VERSION"), when(fetched)));
    numbers(&mut out, &summary, hosts.len());
    curves(&mut out, &summary);
    best_pages(&mut out, &pages, reader, beside);
    scores(&mut out, &bins, summary.threshold);
    best_hosts(&mut out, hosts);
    paths(&mut out, &pages, summary.threshold);
    crawl(&mut out, reader, &summary, fetched)?;
    outcomes(&mut out, &summary);
    Ok(out.finish())
}

fn keep_best(top: &mut Vec<(f64, UrlId)>) {
    top.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    top.truncate(TOP_PAGES);
}

/// When its pages were fetched.
fn when([first, last]: [Millis; 2]) -> String {
    match (time(first), time(last)) {
        _ if first == Millis(0) => "no page yet".into(),
        (a, b) if a == b => a,
        (a, b) if a.get(..10) == b.get(..10) => {
            format!("{} to {}", a.trim_end_matches(" UTC"), b.get(11..).unwrap_or(""))
        }
        (a, b) => format!("{a} to {b}"),
    }
}

/// Why nothing is fetched any more. The crawl that writes this at its end still holds its collection.
fn ending(reader: &Reader, s: &Summary) -> String {
    let ended = reader.session().and_then(|run| run.ended.as_ref());
    match ended {
        Some(end) => format!("{}: {}", time(Millis(end.at)), end.reason()),
        None if s.running => "it was running when this was written".into(),
        None => reader.why_stopped().unwrap_or_else(|| "not known".into()),
    }
}

fn numbers(out: &mut Page, s: &Summary, hosts: usize) {
    let recall = s.outlook.as_ref().and_then(|o| o.recall);
    let percent = |v: f64| format!("{:.0} %", 100.0 * v);
    let cards = [
        (count(s.relevant), "relevant pages", String::new()),
        (count(s.pages), "pages fetched", String::new()),
        (format!("{:.1} %", 100.0 * s.harvest()), "harvest rate", String::new()),
        (
            recall.map_or("–".into(), |r| percent(r.value)),
            "recall (estimate)",
            recall
                .map_or("too early to tell".into(), |r| format!("{} to {}", percent(r.low), percent(r.high))),
        ),
        (count(hosts as u64), "hosts with pages", String::new()),
        (count(s.pending), "URLs pending", String::new()),
    ];
    out.cards(&cards);
}

fn curves(out: &mut Page, s: &Summary) {
    let curve = &s.curve;
    if curve.len() < 2 {
        return;
    }
    let found: Vec<(f64, f64)> = curve.iter().map(|(n, r)| (*n as f64, *r as f64)).collect();
    // The rate over the last tenth of the crawl so far.
    let window = (curve.len() / 10).max(1);
    let rate = |(i, (n1, r1)): (usize, &(u64, u64))| {
        let (n0, r0) = i.checked_sub(window).and_then(|i| curve.get(i)).copied().unwrap_or((0, 0));
        let rate = if *n1 > n0 { r1.saturating_sub(r0) as f64 / (n1 - n0) as f64 } else { 0.0 };
        (*n1 as f64, rate.clamp(0.0, 1.0))
    };
    let rate = curve.iter().enumerate().map(rate).collect();
    let mut series = vec![Series::new("relevant", found, 0).filled()];
    let left = s.outlook.as_ref().filter(|o| o.recall.is_some()).and_then(|o| o.remaining);
    if let (Some(left), Some((last, _))) = (left.filter(|l| *l > 0.0), curve.last()) {
        let total = (s.relevant as f64 + left).round();
        series.push(Series::new("estimated total", vec![(0.0, total), (*last as f64, total)], 1).dashed());
    }
    out.open("Relevant pages found");
    out.chart(Chart::Lines(Lines {
        label: "Relevant pages found against pages fetched".into(),
        x: "pages fetched".into(),
        y: "relevant pages".into(),
        key: true,
        series,
        ..Lines::default()
    }));
    out.close("The steeper, the better aimed: every step up is a page you asked for.");
    out.open("Harvest rate");
    out.chart(Chart::Lines(Lines {
        label: "Harvest rate: share of relevant pages among those just fetched, against pages fetched".into(),
        x: "pages fetched".into(),
        y: "relevant share of the pages just fetched".into(),
        unit: Unit::Percent,
        top: Some(1.0),
        key: true,
        series: vec![Series::new("harvest rate", rate, 0)],
        ..Lines::default()
    }));
    out.close("When it stays near zero, most of what can be found has been.");
}

fn scores(out: &mut Page, bins: &[(u64, u64); BINS], threshold: f64) {
    let at = |i: usize| i as f64 / BINS as f64;
    let bin = |(i, &(count, part)): (usize, &(u64, u64))| Bin { from: at(i), to: at(i + 1), count, part };
    out.open("Scores of the judge");
    out.chart(Chart::Histogram(Histogram {
        label: "Pages by the judge’s score".into(),
        x: "score".into(),
        y: "pages".into(),
        part: "relevant".into(),
        mark: Some((threshold * 1e3).round() / 1e3),
        bins: bins.iter().enumerate().map(bin).collect(),
    }));
    out.close(
        "How many pages the judge gave which score, the relevant ones in green (copies count once). \
         Look at the pages near the threshold with `gleaner threshold` or `gleaner explain`.",
    );
}

fn best_hosts(out: &mut Page, hosts: BTreeMap<String, Host>) {
    let mut list: Vec<(String, Host)> = hosts.into_iter().collect();
    list.sort_by(|a, b| b.1.relevant.cmp(&a.1.relevant).then(b.1.pages.cmp(&a.1.pages)).then(a.0.cmp(&b.0)));
    out.open("Hosts");
    out.table(&["host", "relevant", "pages", "harvest"]);
    for (name, h) in list.iter().take(TOP_HOSTS) {
        let share = h.relevant as f64 / h.pages.max(1) as f64;
        let _ = writeln!(
            out,
            "<tr><td class=\"wrap\">{}</td><td class=\"n\" data-v=\"{}\">{}</td>\
             <td class=\"n\" data-v=\"{}\">{}</td>\
             <td class=\"n\" data-v=\"{share:.4}\">{:.0} %</td></tr>",
            escape(name),
            h.relevant,
            count(h.relevant),
            h.pages,
            count(h.pages),
            100.0 * share
        );
    }
    out.end_table();
    let more = list.len().saturating_sub(TOP_HOSTS);
    out.close(&if more > 0 { format!("and {} more", count(more as u64)) } else { String::new() });
}

fn best_pages(out: &mut Page, pages: &[TopPage], reader: &Reader, beside: bool) {
    out.open("Best pages");
    if pages.is_empty() {
        let _ = out.write_str("<p>No page was judged relevant.</p>\n");
        out.close("");
        return;
    }
    let beside = beside && reader.shared_name().is_none();
    out.rows(&["page", "score", "language"]);
    for (i, p) in pages.iter().enumerate() {
        if i == SHOWN {
            let more = count((pages.len() - SHOWN) as u64);
            out.end_table();
            let _ = write!(out, "<details><summary>{more} more</summary>");
            out.rows(&["page", "score", "language"]);
        }
        let title = if p.title.trim().is_empty() { &p.url } else { &p.title };
        let copy = p.archive.as_ref().map_or(String::new(), |a| archived(a, beside));
        let _ = writeln!(
            out,
            "<tr><td class=\"wrap\"><b>{}</b><span class=\"url\">{}</span>{copy}</td>\
             <td class=\"n\" data-name=\"score\">{:.3}</td>\
             <td class=\"n\" data-name=\"language\">{}</td></tr>",
            escape(&shorten(title, 120)),
            link(&p.url),
            p.score,
            escape(&p.language)
        );
    }
    out.end_table();
    let _ = out.write_str(if pages.len() > SHOWN { "</details>\n" } else { "" });
    let dir = reader.dir().display();
    out.close(&format!(
        "To read an archived copy: `gleaner serve {dir}` shows each page with its text and its WARC record; \
             any WARC player opens the files."
    ));
}

/// Where the copy is. A link only to a plain name: the collection may be somebody else's.
fn archived(a: &ArchiveRef, beside: bool) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let (file, at) = (escape(&a.file), count(a.offset));
    let copy = if beside && a.file.chars().all(plain) && !a.file.starts_with('.') {
        format!("<a href=\"warc/{file}\" title=\"{file}\">archived copy</a>")
    } else {
        format!("archived copy in {file}")
    };
    format!("<span class=\"url\">{copy}, at byte {at}</span>")
}

/// A link only to what is a web address; anything else stays text.
fn link(url: &str) -> String {
    let text = escape(&shorten(url, 160));
    if url.starts_with("http://") || url.starts_with("https://") {
        format!("<a href=\"{}\" rel=\"noreferrer noopener nofollow\">{text}</a>", escape(url))
    } else {
        text
    }
}

fn paths(out: &mut Page, pages: &[TopPage], threshold: f64) {
    let with: Vec<&TopPage> = pages.iter().filter(|p| !p.path.is_empty()).collect();
    if with.is_empty() {
        return;
    }
    out.open("How the best were found");
    for (n, page) in with.into_iter().enumerate() {
        let title = if page.title.trim().is_empty() { &page.url } else { &page.title };
        let _ = writeln!(
            out,
            "<details{}><summary>{}</summary><ol class=\"path\">",
            if n == 0 { " open" } else { "" },
            escape(&shorten(title, 120))
        );
        for (i, step) in page.path.iter().enumerate() {
            let by = match (i, step.anchor.is_empty()) {
                (0, _) => "seed".to_string(),
                (_, true) => "by a link without text".to_string(),
                _ => format!("by the link “{}”", escape(&shorten(&step.anchor, 80))),
            };
            let class = if step.score.is_some_and(|s| s >= threshold) { " class=\"yes\"" } else { "" };
            let score = step.score.map_or(String::new(), |s| format!(" · judged {s:.2}"));
            let _ = writeln!(
                out,
                "<li{class}><div class=\"anchor\">{by}{score}</div><div class=\"url\">{}</div></li>",
                link(&step.url)
            );
        }
        let _ = out.write_str("</ol></details>\n");
    }
    out.close(
        "From the seed, link by link; green was judged relevant. `gleaner explain` does this for every page.",
    );
}

/// What was asked for, from where, by which settings, and how it ended.
fn crawl(out: &mut Page, reader: &Reader, s: &Summary, fetched: [Millis; 2]) -> Result<(), Problem> {
    let config = reader.config();
    let mut items: Vec<(String, String)> = Vec::new();
    let mut item = |name: &str, value: String| items.push((name.into(), value));
    item("ended", ending(reader, s));
    item("pages fetched", when(fetched));
    item("report written", format!("{}, by Gleaner {}", time(Millis::now()), env!("CARGO_PKG_VERSION")));
    item("folder", reader.dir().display().to_string());
    if let Some(run) = reader.session().filter(|run| run.version != env!("CARGO_PKG_VERSION")) {
        item("crawled by", format!("Gleaner {}", run.version));
    }
    for set in &s.settings {
        item(set.name, format!("{} ({})", set.value, set.from.name()));
    }
    if let Some(o) = &s.outlook {
        item("outlook", outlook(o));
    }
    if let Some(q) = &s.labels {
        item("labels", crate::text::quality(q));
    }
    if let Some(teacher) = &s.teacher {
        item("teacher", crate::text::teacher(teacher));
    }
    out.open("This crawl");
    out.list(&items);
    if !s.choices.is_empty() {
        let _ = out.write_str("<details><summary>How the threshold was chosen</summary>\n");
        let choices = s.choices.iter().map(|c| (format!("after {}", things(c.pages, "page")), c.why.clone()));
        out.list(&choices.collect::<Vec<_>>());
        let _ = out.write_str("</details>\n");
    }
    let mut seeds = Vec::new();
    let mut more = 0;
    for entry in reader.ledger().entries(Which::All) {
        let entry = entry?;
        match entry.depth == 0 && entry.parent.is_none() {
            true if seeds.len() < SEEDS => seeds.extend(reader.url(entry.id)),
            true => more += 1,
            false => {}
        }
    }
    let _ =
        writeln!(out, "<details open><summary>{}</summary><ul>", things(seeds.len() as u64 + more, "seed"));
    for url in &seeds {
        let _ = writeln!(out, "<li class=\"wrap\">{}</li>", link(url));
    }
    let _ = out.write_str(if more > 0 { "<li>…</li></ul></details>\n" } else { "</ul></details>\n" });
    if let Ok(all) = toml::Table::try_from(config) {
        for (name, keys) in [("Topic", TOPIC), ("All settings", SETTINGS)] {
            let mut part = all.clone();
            part.retain(|key, value| {
                if let Some(section) = value.as_table_mut() {
                    section.retain(|key, _| !UNTOLD.contains(&key));
                }
                keys.contains(&key) && value.as_table().is_none_or(|t| !t.is_empty())
            });
            let _ = writeln!(
                out,
                "<details><summary>{name}</summary><pre><code>{}</code></pre></details>",
                escape(&part.to_string())
            );
        }
    }
    out.close("");
    Ok(())
}

fn outcomes(out: &mut Page, s: &Summary) {
    let mut items = vec![("known".to_string(), count(s.urls))];
    items.extend(s.outcomes.iter().map(|(name, n)| (name.to_string(), count(*n))));
    items.push(("pending".into(), count(s.pending)));
    let each = |m: &BTreeMap<String, u64>| {
        m.iter().map(|(k, n)| format!("{k} {}", count(*n))).collect::<Vec<_>>().join(", ")
    };
    for (name, kinds) in [("errors", &s.errors), ("links not taken", &s.refused)] {
        if !kinds.is_empty() {
            items.push((name.into(), each(kinds)));
        }
    }
    out.open("What became of the URLs");
    out.list(&items);
    out.close("");
}

/// Writes `report.html` of a collection.
pub fn write(dir: &Path) -> Result<(), Problem> {
    write_to(&Reader::open(dir)?, &dir.join("report.html"))
}

/// Beside the collection. It may be somebody else's: a link of that name is replaced, not followed.
pub fn write_to(reader: &Reader, path: &Path) -> Result<(), Problem> {
    let html = html(reader, true)?;
    store::files::replace(path, html.as_bytes()).map_err(|e| Problem::io("write", path, &e))
}
