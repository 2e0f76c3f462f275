//! The table of pages: filters, orders, and a cursor to go on with.

use super::super::App;
use super::super::reply::{Refusal, Reply};
use super::super::route::Call;
use super::super::rows::{Filter, Label, Row};
use super::super::shelf::View;
use super::finite;
use serde_json::{Value, json};
use types::UrlId;

const USUAL: u64 = 50;

pub fn list(app: &App, call: &Call) -> Result<Reply, Refusal> {
    let volume = app.shelf.get(call.text("collection").unwrap_or(""))?;
    let view = volume.view()?;
    let limit = call.int("limit").unwrap_or(USUAL) as usize;
    let filter = Filter {
        relevant: call.flag("relevant"),
        host: call.words("host").map(str::to_lowercase),
        language: call.words("language").map(String::from),
        genre: None,
        kind: None,
        year: None,
        min_score: call.number("min_score"),
        max_score: call.number("max_score"),
        label: call.text("label").map(|l| match l {
            "yes" => Label::Is(true),
            "no" => Label::Is(false),
            "any" => Label::Any,
            _ => Label::None,
        }),
        folded: call.flag("copies") == Some(false),
        fetched: None,
    };
    let sort = call.text("sort").unwrap_or("newest");
    let cursor = call.text("cursor").map(|c| Cursor::read(c).ok_or_else(bad_cursor)).transpose()?;
    let Some(pass) = view.rows.pass(filter, &view.reader)? else {
        return Ok(Reply::json(&json!({ "pages": [], "next": null, "matching": 0 })));
    };
    let (rows, next, matching) = match call.words("q") {
        // By rank: the index knows the order, the cursor is how far we are.
        Some(q) => {
            let Some(index) = &view.index else {
                return Ok(Reply::json(&json!({ "pages": [], "next": null, "matching": 0 })));
            };
            let skip = cursor.map_or(0, |c| c.place as usize).min(10_000);
            let keep = |id: UrlId| view.rows.get(id).is_some_and(|r| pass.admits(r));
            let found = index.search(q, limit + 1, skip, &keep)?;
            let more = found.len() > limit;
            let rows: Vec<&Row> = found.iter().take(limit).filter_map(|f| view.rows.get(f.id)).collect();
            let next = more.then(|| Cursor { place: (skip + limit) as u64, id: 0 }.write());
            (rows, next, None)
        }
        None => {
            let key = key_of(sort, &view);
            let mut places: Vec<(u64, u32, usize)> = Vec::new();
            let mut matching = 0u64;
            for (i, row) in view.rows.all().iter().enumerate() {
                if !pass.admits(row) {
                    continue;
                }
                matching += 1;
                let place = (key(row, i), row.id.0, i);
                if cursor.is_none_or(|c| (place.0, place.1) > (c.place, c.id)) {
                    places.push(place);
                }
            }
            let more = places.len() > limit;
            if more {
                places.select_nth_unstable(limit - 1);
                places.truncate(limit);
            }
            places.sort_unstable();
            let next = places.last().filter(|_| more).map(|p| Cursor { place: p.0, id: p.1 }.write());
            let rows: Vec<&Row> = places.iter().filter_map(|p| view.rows.all().get(p.2)).collect();
            (rows, next, Some(matching))
        }
    };
    let mut pages = Vec::with_capacity(rows.len());
    for row in rows {
        if let Some(p) = entry(&view, row)? {
            pages.push(p);
        }
    }
    Ok(Reply::json(&json!({ "pages": pages, "next": next, "matching": matching })))
}

fn bad_cursor() -> Refusal {
    Refusal::bad("`cursor` must be `next` of the page before")
}

/// A row with what is on disk.
fn entry(view: &View, row: &Row) -> Result<Option<Value>, Refusal> {
    let Some(r) = view.reader.record(row.id)? else { return Ok(None) };
    Ok(Some(json!({
        "id": row.id, "url": r.url, "title": r.title, "score": finite(r.assessment.score), "relevant": row.relevant,
        "label": row.label, "language": r.language, "depth": r.depth, "fetched": r.fetched, "status": r.status,
        "media_type": r.media_type, "links": r.links, "bytes": r.bytes,
        "duplicate": r.duplicate_of.is_some() || r.near_duplicate_of.is_some(),
        "copies": view.rows.copies(row.id),
    })))
}

/// Rows in ascending order of this are in the order wanted.
fn key_of(sort: &str, view: &View) -> Box<dyn Fn(&Row, usize) -> u64> {
    let threshold = view
        .rows
        .all()
        .last()
        .and_then(|r| view.reader.record(r.id).ok().flatten())
        .map_or(0.5, |r| r.verdict.threshold);
    // Scores are from 0 to 1; their order as whole numbers is exact enough to page by.
    let fixed = |x: f64| (x.clamp(0.0, 4.0) * (1u64 << 40) as f64) as u64;
    match sort {
        "oldest" => Box::new(|_, i| i as u64),
        "best" => Box::new(move |r, _| fixed(2.0 - f64::from(r.score))),
        "worst" => Box::new(move |r, _| fixed(f64::from(r.score))),
        // Where a label teaches most.
        "unsure" => Box::new(move |r, _| fixed((f64::from(r.score) - threshold).abs())),
        _ => Box::new(|_, i| u64::MAX - i as u64),
    }
}

/// Where a table was left: the sort key and the id of the last entry.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Cursor {
    place: u64,
    id: u32,
}

impl Cursor {
    fn write(self) -> String {
        format!("{:x}-{:x}", self.place, self.id)
    }
    fn read(text: &str) -> Option<Cursor> {
        let (place, id) = text.split_once('-')?;
        let hex = |t: &str| !t.is_empty() && t.bytes().all(|b| b.is_ascii_hexdigit());
        (hex(place) && hex(id)).then_some(())?;
        Some(Cursor { place: u64::from_str_radix(place, 16).ok()?, id: u32::from_str_radix(id, 16).ok()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursors_read_what_they_wrote() {
        for c in [Cursor { place: u64::MAX, id: u32::MAX }, Cursor { place: 0, id: 0 }] {
            assert_eq!(Cursor::read(&c.write()), Some(c));
        }
        for bad in ["", "-", "1-", "x-1", "1-+2", "1-2-3", "11111111111111111-1"] {
            assert_eq!(Cursor::read(bad), None, "{bad}");
        }
    }
}
