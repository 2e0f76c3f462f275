//! Full-text search: for the dashboard (with facets), and as SearXNG answers, for other programs.

use super::super::App;
use super::super::reply::{Refusal, Reply};
use super::super::route::Call;
use super::super::rows::{Filter, Row};
use super::super::shelf::View;
use super::finite;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use store::archive::rfc3339;
use store::index::snippet;
use types::{Millis, Problem, Record, UrlId};

const USUAL: u64 = 20;
/// Facets count the best so many.
const COUNTED: usize = 1_000;
/// Values shown of each facet.
const VALUES: usize = 12;
const PER_PAGE: usize = 10;

pub fn one(app: &App, call: &Call) -> Result<Reply, Refusal> {
    let volume = app.shelf.get(call.text("collection").unwrap_or(""))?;
    let view = volume.view()?;
    let limit = call.int("limit").unwrap_or(USUAL) as usize;
    let offset = call.int("offset").unwrap_or(0) as usize;
    let filter = Filter {
        folded: true,
        relevant: (!call.flag("all").unwrap_or(false)).then_some(true),
        host: call.words("host").map(str::to_lowercase),
        language: call.words("language").map(String::from),
        genre: call.words("genre").map(String::from),
        kind: call.words("kind").map(String::from),
        year: call.words("year").map(String::from),
        fetched: match call.words("month") {
            Some(m) => Some(month(m).ok_or_else(|| Refusal::bad("`month` must be like 2026-11"))?),
            None => None,
        },
        ..Filter::default()
    };
    let nothing = || json!({ "results": [], "facets": [], "counted": 0, "more": false, "indexed": 0 });
    let (Some(q), Some(index)) = (call.words("q"), &view.index) else { return Ok(Reply::json(&nothing())) };
    let Some(pass) = view.rows.pass(filter, &view.reader)? else { return Ok(Reply::json(&nothing())) };
    let all = call.flag("all").unwrap_or(false);
    let is_there = |id: UrlId| all || view.reader.away(id).is_none();
    let keep = |id: UrlId| is_there(id) && view.rows.get(id).is_some_and(|r| pass.admits(r));
    let found = index.search(q, COUNTED.max(offset + limit), 0, &keep)?;
    let rows: Vec<&Row> = found.iter().take(COUNTED).filter_map(|f| view.rows.get(f.id)).collect();
    let facets = facets(&view, &rows)?;
    let mut results = Vec::new();
    for hit in found.iter().skip(offset).take(limit) {
        let Some(record) = view.reader.record(hit.id)? else { continue };
        results.push(json!({
            "id": hit.id, "url": record.url, "title": record.title, "rank": f64::from(hit.score),
            "score": finite(record.assessment.score), "relevant": record.verdict.relevant,
            "language": record.language, "fetched": record.fetched, "snippet": marked(q, &record),
        }));
    }
    Ok(Reply::json(&json!({
        "results": results, "facets": facets, "counted": rows.len(), "more": found.len() > offset + limit,
        "indexed": index.len(),
    })))
}

/// The snippet as pieces of text, some of them marked.
fn marked(q: &str, record: &Record) -> Vec<Value> {
    snippet(q, &record.text)
        .into_iter()
        .filter_map(|s| {
            let text = record.text.get(s.range)?;
            Some(if s.highlighted {
                json!({ "text": text, "set": "query" })
            } else {
                json!({ "text": text })
            })
        })
        .collect()
}

fn facets(view: &View, rows: &[&Row]) -> Result<Vec<Value>, Problem> {
    let mut hosts: BTreeMap<u32, u64> = BTreeMap::new();
    let (mut languages, mut genres) = (BTreeMap::new(), BTreeMap::new());
    let (mut kinds, mut years) = (BTreeMap::new(), BTreeMap::new());
    let mut months: BTreeMap<String, u64> = BTreeMap::new();
    for row in rows {
        *hosts.entry(row.host).or_default() += 1;
        *languages.entry(row.language).or_default() += 1;
        *kinds.entry(row.kind).or_default() += 1;
        *years.entry(row.year).or_default() += 1;
        for g in &row.genre {
            *genres.entry(*g).or_default() += 1;
        }
        *months.entry(rfc3339(Millis(row.fetched)).chars().take(7).collect()).or_default() += 1;
    }
    let ledger = view.reader.ledger();
    let hosts = hosts.into_iter().map(|(h, n)| Ok((ledger.host_name(h)?.unwrap_or_default(), n)));
    let words = |m: BTreeMap<u16, u64>| m.into_iter().map(|(w, n)| (view.rows.word(w).to_string(), n));
    Ok([
        facet("host", hosts.collect::<Result<_, Problem>>()?),
        facet("language", words(languages).collect()),
        facet("genre", words(genres).collect()),
        facet("kind", words(kinds).collect()),
        facet("year", words(years).collect()),
        facet("month", months.into_iter().collect()),
    ]
    .into())
}

fn facet(name: &str, mut values: Vec<(String, u64)>) -> Value {
    values.retain(|(v, _)| !v.is_empty());
    values.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
    let values: Vec<Value> =
        values.iter().take(VALUES).map(|(v, n)| json!({ "value": v, "count": n })).collect();
    json!({ "name": name, "values": values })
}

/// First moment of a month and of the next.
fn month(text: &str) -> Option<(u64, u64)> {
    let (y, m) = text.split_once('-')?;
    let (y, m): (u32, u32) = (y.parse().ok()?, m.parse().ok()?);
    ((1970..=9998).contains(&y) && (1..=12).contains(&m)).then_some(())?;
    let start =
        |y: u32, m: u32| store::archive::parse_rfc3339(&format!("{y:04}-{m:02}-01T00:00:00Z")).map(|t| t.0);
    Some((start(y, m)?, if m == 12 { start(y + 1, 1)? } else { start(y, m + 1)? }))
}

/// As SearXNG answers `/search?format=json`.
pub fn searx(app: &App, call: &Call) -> Result<Reply, Refusal> {
    let q = call.words("q").unwrap_or("");
    let all = call.flag("all").unwrap_or(false);
    let page = call.int("pageno").unwrap_or(1) as usize;
    let language = call.words("language").filter(|l| !matches!(*l, "all" | "auto"));
    // `en-US` is `en` here.
    let language = language.map(|l| l.split(['-', '_']).next().unwrap_or(l).to_lowercase());
    let volumes = match call.words("collection") {
        Some(name) => vec![app.shelf.get(name)?],
        None => app.shelf.all(),
    };
    let wanted = page * PER_PAGE;
    let mut hits: Vec<(f32, String, UrlId, usize)> = Vec::new();
    for (v, volume) in volumes.iter().enumerate() {
        let Ok(view) = volume.view() else { continue };
        let filter =
            Filter { relevant: (!all).then_some(true), language: language.clone(), ..Filter::default() };
        let (Some(index), Some(pass)) = (&view.index, view.rows.pass(filter, &view.reader)?) else {
            continue;
        };
        let is_there = |id: UrlId| all || view.reader.away(id).is_none();
        let keep = |id: UrlId| is_there(id) && view.rows.get(id).is_some_and(|r| pass.admits(r));
        if q.is_empty() {
            continue;
        }
        for hit in index.search(q, wanted, 0, &keep)? {
            hits.push((hit.score, volume.name.clone(), hit.id, v));
        }
    }
    hits.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)).then(a.2.cmp(&b.2)));
    let mut results = Vec::new();
    let mut met = std::collections::HashSet::new();
    let mut place = 0;
    for (score, name, id, v) in &hits {
        let Some(view) = volumes.get(*v).and_then(|v| v.view().ok()) else { continue };
        let Some(record) = view.reader.record(*id)? else { continue };
        // Two collections may have the same page.
        if !met.insert(record.url.clone()) {
            continue;
        }
        place += 1;
        if place <= wanted - PER_PAGE || results.len() >= PER_PAGE {
            continue;
        }
        let content: String =
            snippet(q, &record.text).into_iter().filter_map(|s| record.text.get(s.range)).collect();
        results.push(json!({
            "url": record.url, "title": record.title, "content": content, "engine": "gleaner",
            "engines": ["gleaner"], "score": f64::from(*score), "category": "general",
            "template": "default.html", "positions": [place], "parsed_url": parsed(&record.url),
            "publishedDate": null, "collection": name, "relevance": finite(record.assessment.score),
        }));
    }
    Ok(Reply::json(&json!({
        "query": q, "number_of_results": place, "results": results, "answers": [], "corrections": [],
        "infoboxes": [], "suggestions": [], "unresponsive_engines": [],
    })))
}

/// Scheme, host, path, parameters, query, fragment: as Python's `urlparse` has them.
fn parsed(url: &str) -> [String; 6] {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (host, path) = match rest.find('/') {
        Some(i) => rest.split_at(i),
        None => (rest, ""),
    };
    [scheme.into(), host.into(), path.into(), String::new(), query.into(), String::new()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn months_have_ends() {
        let (a, b) = month("2026-02").unwrap();
        assert_eq!((b - a) / 86_400_000, 28);
        let (a, b) = month("2026-12").unwrap();
        assert_eq!((b - a) / 86_400_000, 31);
        for bad in ["", "2026", "2026-13", "2026-0", "x-1", "99999-1"] {
            assert!(month(bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn urls_in_six_parts() {
        assert_eq!(parsed("http://e.org/a/b?c=d"), ["http", "e.org", "/a/b", "", "c=d", ""]);
        assert_eq!(parsed("http://e.org"), ["http", "e.org", "", "", "", ""]);
    }
}
