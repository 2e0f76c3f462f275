//! `report.html` of a collection: what came of a crawl, on one self-contained page. Everything that came from the Web is
//! text here, never markup.

use crate::text::{count, shorten};
use crawl::reader::{PathStep, Reader};
use eval::plot::{self, Bar, BarChart, Format, LineChart, Look, Series, escape};
use eval::report::{SCRIPT, STYLE};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use types::{Problem, UrlId};

const TOP_PAGES: usize = 50;
const TOP_HOSTS: usize = 25;
const PATHS: usize = 8;
const BINS: usize = 20;

#[derive(Default)]
struct Host {
    pages: u64,
    relevant: u64,
}

/// What the report keeps of a page: no text, so that a large collection fits.
struct Top {
    score: f64,
    url: String,
    title: String,
    language: String,
    path: Vec<PathStep>,
}

/// The page as HTML.
pub fn html(reader: &Reader) -> Result<String, Problem> {
    let summary = reader.summary()?;
    let mut by_host: BTreeMap<u32, Host> = BTreeMap::new();
    let mut relevant_bins = [0u64; BINS];
    let mut other_bins = [0u64; BINS];
    let mut top: Vec<(f64, UrlId)> = Vec::new();
    // Records hold the pages' texts: only those that are shown are read.
    for (id, relevant, score) in reader.verdicts() {
        if let Some(host) = reader.ledger().entry(id)?.and_then(|e| e.host) {
            let host = by_host.entry(host).or_default();
            host.pages += 1;
            host.relevant += u64::from(relevant);
        }
        let bin = ((score * BINS as f64) as usize).min(BINS - 1);
        if relevant {
            relevant_bins[bin] += 1;
            top.push((score, id));
            if top.len() > 4 * TOP_PAGES {
                keep_best(&mut top);
            }
        } else {
            other_bins[bin] += 1;
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
        pages.push(Top { score, url: r.url, title: r.title, language: r.language, path });
    }

    let title = escape(&summary.name);
    let mut out = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>{title}</title>\n<style>{}{STYLE}\
         .path{{list-style:none;padding:0}}.path li{{margin:.1rem 0;overflow-wrap:anywhere}}.path ol{{margin:.2rem 0 .8rem 1rem;padding-left:1rem;border-left:2px solid var(--line);list-style:none}}\
         td.url{{white-space:normal;overflow-wrap:anywhere;text-align:left}}</style>\n</head>\n<body>\n<header>\n<h1>{title}</h1>\n<p class=\"soft\">A focused crawl by Gleaner</p>\n</header>\n<main>\n",
        plot::STYLE
    );
    cards(&mut out, &summary, hosts.len());
    harvest(&mut out, &summary.curve);
    scores(&mut out, &relevant_bins, &other_bins, summary.threshold);
    best_hosts(&mut out, hosts);
    best_pages(&mut out, &pages);
    paths(&mut out, &pages);
    rest(&mut out, &summary);
    let _ = write!(out, "</main>\n<script>{SCRIPT}</script>\n</body>\n</html>\n");
    Ok(out)
}

fn keep_best(top: &mut Vec<(f64, UrlId)>) {
    top.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    top.truncate(TOP_PAGES);
}

fn cards(out: &mut String, s: &crawl::reader::Summary, hosts: usize) {
    let mut cards = vec![
        (count(s.relevant), "relevant pages"),
        (count(s.pages), "pages fetched"),
        (format!("{:.1} %", 100.0 * s.harvest()), "harvest rate"),
        (count(hosts as u64), "hosts with pages"),
        (count(s.pending), "URLs still pending"),
        (format!("{:.2}", s.threshold), "threshold of the judge"),
    ];
    if let Some(precision) = s.labels.and_then(|q| q.precision) {
        let text = format!("{:.0} %", 100.0 * precision.value);
        cards.push((text, "precision on the pages you labelled"));
    }
    out.push_str("<div class=\"cards\">\n");
    for (value, name) in cards {
        let _ = writeln!(out, "<div class=\"card\"><b>{}</b><span>{name}</span></div>", escape(&value));
    }
    out.push_str("</div>\n");
}

fn harvest(out: &mut String, curve: &[(u64, u64)]) {
    if curve.len() < 2 {
        return;
    }
    let points =
        |f: &dyn Fn(usize) -> f64| (0..curve.len()).map(|i| (curve[i].0 as f64, f(i))).collect::<Vec<_>>();
    let found = points(&|i| curve[i].1 as f64);
    // The rate over the last tenth of the crawl so far.
    let window = (curve.len() / 10).max(1);
    let rate = points(&|i| {
        let (n0, r0) = if i >= window { curve[i - window] } else { (0, 0) };
        let (n1, r1) = curve[i];
        if n1 > n0 { (r1.saturating_sub(r0)) as f64 / (n1 - n0) as f64 } else { 0.0 }
    });
    let mut chart =
        LineChart::new("found", "Relevant pages found", "Relevant pages found against pages fetched");
    chart.x_label = "pages fetched".into();
    chart.y_label = "relevant pages".into();
    chart.series = vec![Series::new("relevant", found, Look::Colour(0))];
    figure(
        out,
        "Relevant pages found",
        &chart.svg(),
        "The steeper, the better aimed: every step up is a page you asked for.",
    );
    let mut chart = LineChart::new(
        "rate",
        "Harvest rate",
        "Share of relevant pages among those just fetched, against pages fetched",
    );
    chart.x_label = "pages fetched".into();
    chart.y_label = "harvest rate".into();
    chart.y_format = Format::Percent;
    chart.series = vec![Series::new("harvest rate", rate, Look::Colour(2))];
    figure(
        out,
        "Harvest rate",
        &chart.svg(),
        "Share of relevant pages among those just fetched. When it stays near zero, most of what can be found has been.",
    );
}

fn figure(out: &mut String, heading: &str, svg: &str, caption: &str) {
    let _ = writeln!(out, "<h2>{heading}</h2>\n<figure>{svg}<figcaption>{caption}</figcaption></figure>");
}

fn scores(out: &mut String, relevant: &[u64; BINS], other: &[u64; BINS], threshold: f64) {
    let bars = (0..BINS)
        .filter(|&i| relevant[i] + other[i] > 0)
        .map(|i| Bar {
            label: format!("{:.2} – {:.2}", i as f64 / BINS as f64, (i + 1) as f64 / BINS as f64),
            value: (relevant[i] + other[i]) as f64,
            interval: None,
            colour: if relevant[i] >= other[i] { 2 } else { 7 },
            note: Some(format!("{} ({} relevant)", count(relevant[i] + other[i]), count(relevant[i]))),
        })
        .collect();
    let chart = BarChart {
        id: "scores".into(),
        title: "Scores".into(),
        desc: "How many pages the judge gave which score".into(),
        format: Format::Plain,
        // Room for the text after the longest bar.
        max: (0..BINS).map(|i| 1.25 * (relevant[i] + other[i]) as f64).max_by(f64::total_cmp),
        bars,
    };
    let caption = format!(
        "How many pages the judge gave which score. The threshold is {threshold:.3}; look at the pages near it with <code>gleaner explain</code>."
    );
    figure(out, "Scores of the judge", &chart.svg(), &caption);
}

fn best_hosts(out: &mut String, hosts: BTreeMap<String, Host>) {
    let mut list: Vec<(String, Host)> = hosts.into_iter().collect();
    list.sort_by(|a, b| b.1.relevant.cmp(&a.1.relevant).then(b.1.pages.cmp(&a.1.pages)).then(a.0.cmp(&b.0)));
    out.push_str("<h2>Hosts</h2>\n<div class=\"scroll\"><table class=\"sort\"><thead><tr><th class=\"left\"><button>host</button></th><th><button>relevant</button></th><th><button>pages</button></th><th><button>harvest</button></th></tr></thead><tbody>\n");
    for (name, h) in list.iter().take(TOP_HOSTS) {
        let share = h.relevant as f64 / h.pages.max(1) as f64;
        let _ = writeln!(
            out,
            "<tr><td class=\"url\">{}</td><td>{}</td><td>{}</td><td data-v=\"{share:.4}\">{:.0} %</td></tr>",
            escape(name),
            h.relevant,
            h.pages,
            100.0 * share
        );
    }
    out.push_str("</tbody></table></div>\n");
    if list.len() > TOP_HOSTS {
        let _ = writeln!(out, "<p class=\"soft\">and {} more</p>", count((list.len() - TOP_HOSTS) as u64));
    }
}

fn best_pages(out: &mut String, pages: &[Top]) {
    if pages.is_empty() {
        out.push_str("<h2>Best pages</h2>\n<p>No page was judged relevant.</p>\n");
        return;
    }
    out.push_str("<h2>Best pages</h2>\n<div class=\"scroll\"><table class=\"sort\"><thead><tr><th class=\"left\"><button>page</button></th><th><button>score</button></th><th><button>language</button></th></tr></thead><tbody>\n");
    for p in pages {
        let title = if p.title.trim().is_empty() { &p.url } else { &p.title };
        let _ = writeln!(
            out,
            "<tr><td class=\"url\"><b>{}</b><br>{}</td><td>{:.3}</td><td>{}</td></tr>",
            escape(&shorten(title, 120)),
            link(&p.url),
            p.score,
            escape(&p.language)
        );
    }
    out.push_str("</tbody></table></div>\n");
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

fn paths(out: &mut String, pages: &[Top]) {
    let with: Vec<&Top> = pages.iter().filter(|p| !p.path.is_empty()).collect();
    if with.is_empty() {
        return;
    }
    out.push_str("<h2>How the best were found</h2>\n<p>From the seed, link by link. <code>gleaner explain</code> does this for every page.</p>\n<ul class=\"path\">\n");
    for page in with {
        let _ = write!(out, "<li><b>{}</b><ol>", escape(&shorten(&page.title, 120)));
        for (i, step) in page.path.iter().enumerate() {
            let by = match (i, step.anchor.is_empty()) {
                (0, _) => "seed".to_string(),
                (_, true) => "link".to_string(),
                _ => format!("“{}”", escape(&shorten(&step.anchor, 80))),
            };
            let score =
                step.score.map_or(String::new(), |s| format!(" <span class=\"soft\">judged {s:.2}</span>"));
            let _ = write!(out, "<li><span class=\"soft\">{by}</span> {}{score}</li>", link(&step.url));
        }
        out.push_str("</ol></li>\n");
    }
    out.push_str("</ul>\n");
}

fn rest(out: &mut String, s: &crawl::reader::Summary) {
    out.push_str("<h2>What became of the URLs</h2>\n<dl>\n");
    let mut item = |name: &str, value: &str| {
        let _ = writeln!(out, "<dt>{}</dt><dd>{}</dd>", escape(name), escape(value));
    };
    if let Some(q) = &s.labels {
        item("labels", &crate::text::quality(q));
    }
    if let Some(teacher) = &s.teacher {
        item("teacher", &crate::text::teacher(teacher));
    }
    for c in &s.choices {
        item(&format!("after {} pages", count(c.pages)), &c.why);
    }
    item("known", &count(s.urls));
    for (name, n) in &s.outcomes {
        item(name, &count(*n));
    }
    item("pending", &count(s.pending));
    let list = |m: &BTreeMap<String, u64>| {
        m.iter().map(|(k, n)| format!("{k} {}", count(*n))).collect::<Vec<_>>().join(", ")
    };
    if !s.errors.is_empty() {
        item("errors", &list(&s.errors));
    }
    if !s.refused.is_empty() {
        item("links not taken", &list(&s.refused));
    }
    out.push_str("</dl>\n");
}

/// Writes `report.html` of a collection.
pub fn write(dir: &Path) -> Result<(), Problem> {
    write_to(&Reader::open(dir)?, &dir.join("report.html"))
}

/// The collection may be somebody else's: a link of that name is replaced, not followed.
pub fn write_to(reader: &Reader, path: &Path) -> Result<(), Problem> {
    let html = html(reader)?;
    store::files::replace(path, html.as_bytes()).map_err(|e| Problem::io("write", path, &e))
}
