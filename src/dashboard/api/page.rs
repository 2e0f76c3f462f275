//! One page: its text with the topic's terms marked, how it was judged, how it was found, its archive record.

use super::super::App;
use super::super::reply::{Refusal, Reply};
use super::super::route::Call;
use super::super::shelf::View;
use super::finite;
use crate::highlight::pieces;
use crawl::collection::Collection;
use crawl::reader::Explanation;
use serde_json::{Value, json};
use types::{Canon, Priority, Problem, UrlId};

/// Bytes of a page's text that are shown.
const TEXT_SHOWN: usize = 60_000;
/// Links of a page that are listed.
const LINKS_SHOWN: usize = 100;
/// Largest archive record that is sent.
const LARGEST_RECORD: u64 = 256 << 20;

fn no_such_page(id: UrlId) -> Refusal {
    Refusal::not_found(format!("there is no page with number {}", id.0))
}

pub fn one(app: &App, call: &Call) -> Result<Reply, Refusal> {
    let volume = app.shelf.get(call.text("collection").unwrap_or(""))?;
    let view = volume.view()?;
    let id = call.id();
    let record = view.reader.record(id)?.ok_or_else(|| no_such_page(id))?;
    let url = view.reader.ledger().url(id)?;
    let e = view.explain(|e| view.reader.explain_with(e, &url))?.ok_or_else(|| no_such_page(id))?;
    let shown = cut(&record.text, TEXT_SHOWN);
    let children = view.reader.ledger().children(id)?;
    let links = children.iter().take(LINKS_SHOWN).filter_map(|c| link(&view, *c).transpose());
    let links: Vec<Value> = links.collect::<Result<_, _>>()?;
    let a = &record.assessment;
    Ok(Reply::json(&json!({
        "id": id,
        "url": record.url,
        "title": record.title,
        "description": record.description,
        "language": record.language,
        "about": record.about,
        "media_type": record.media_type,
        "charset": record.charset,
        "status": record.status,
        "fetched": record.fetched,
        "elapsed_ms": record.elapsed_ms,
        "bytes": record.bytes,
        "depth": record.depth,
        "links_found": record.links,
        "links": links,
        "text": pieces(shown, &a.hits),
        "text_cut": shown.len() < record.text.len(),
        "relevant": record.verdict.relevant,
        "label": view.rows.get(id).and_then(|r| r.label),
        "score": finite(a.score),
        "threshold": finite(record.verdict.threshold),
        "parts": a.parts.iter().map(|p| json!({ "name": p.name, "value": finite(p.value) })).collect::<Vec<_>>(),
        "hits": a.hits,
        "excluded": a.excluded,
        "archived": record.archive.is_some(),
        "explanation": explanation(&e),
    })))
}

/// What speaks for and against a page, and the labelled page that is most like it.
pub fn reasons(app: &App, call: &Call) -> Result<Reply, Refusal> {
    let volume = app.shelf.get(call.text("collection").unwrap_or(""))?;
    let view = volume.view()?;
    let id = call.id();
    view.reader.ledger().record(id)?.ok_or_else(|| no_such_page(id))?;
    let dir = volume.shared.is_none().then_some(volume.dir.as_path());
    let answer = crate::labelling::examples(dir, view.reader.config());
    let found = crawl::steer::stopped::reasons(&view.reader, &answer, id)?;
    let Some(r) = found else {
        return Ok(Reply::json(&json!({ "parts": [], "words_for": [], "words_against": [], "like": null })));
    };
    let words = |list: &[focus::judges::WordReason]| -> Vec<Value> {
        let word = |w: &focus::judges::WordReason| json!({ "word": w.word, "field": w.field, "value": finite(w.value) });
        list.iter().map(word).collect()
    };
    let part = |(name, value): &(String, f64)| json!({ "name": name, "value": finite(*value) });
    let like = r.reasons.like.map(|l| {
        json!({
            "label": l.label, "similarity": finite(l.similarity), "id": r.like_id, "url": r.like_url, "title": r.like_title,
        })
    });
    Ok(Reply::json(&json!({
        "parts": r.reasons.parts.iter().map(part).collect::<Vec<_>>(),
        "words_for": words(&r.reasons.words_for),
        "words_against": words(&r.reasons.words_against),
        "like": like,
    })))
}

pub fn explain(app: &App, call: &Call) -> Result<Reply, Refusal> {
    let volume = app.shelf.get(call.text("collection").unwrap_or(""))?;
    let view = volume.view()?;
    let text = call.words("url").ok_or_else(|| Refusal::bad("`url` is missing"))?;
    let canon = Collection::canon(view.reader.config());
    let url = canon
        .parse_typed(text)
        .or_else(|_| Canon::default().parse_typed(text))
        .map_err(|e| Refusal::new(400, Problem::usage("`url` is not a URL").because(e)))?;
    let e = view.explain(|e| view.reader.explain_with(e, &url))?.ok_or_else(|| {
        Refusal::new(
            404,
            Problem::nothing("this URL was never seen by this crawl").hint("check the spelling"),
        )
    })?;
    Ok(Reply::json(&explanation(&e)))
}

fn cut(text: &str, most: usize) -> &str {
    let mut end = text.len().min(most);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

fn link(view: &View, id: UrlId) -> Result<Option<Value>, Problem> {
    let Some(info) = view.reader.ledger().entry(id)? else { return Ok(None) };
    let row = view.rows.get(id);
    Ok(Some(json!({
        "id": id,
        "url": view.reader.ledger().url(id)?,
        "state": super::super::rows::state_name(info.state),
        "page": row.is_some(),
        "relevant": row.map(|r| r.relevant),
    })))
}

pub fn priority(p: Priority) -> Value {
    json!({ "lane": p.lane, "key": finite(p.key()) })
}

/// Why a URL is where it is, as JSON.
pub fn explanation(e: &Explanation) -> Value {
    let path: Vec<Value> = (e.path.iter())
        .map(|s| {
            json!({ "url": s.url, "title": s.title, "anchor": s.anchor, "score": s.score.and_then(finite) })
        })
        .collect();
    let sources: Vec<Value> = (e.sources.iter().take(50))
        .map(|s| {
            let reasons: Vec<Value> =
                s.reasons.iter().map(|r| json!({ "label": r.label, "value": finite(r.value) })).collect();
            json!({
                "parent": s.parent, "anchor": s.anchor, "priority": priority(s.priority), "reasons": reasons,
            })
        })
        .collect();
    json!({
        "url": e.url,
        "state": e.state,
        "strategy": e.strategy,
        "priority": priority(e.priority),
        "path": path,
        "sources": sources,
        "rescored_by": e.rescored_by,
        "duplicate_of": e.duplicate_of,
        "near_duplicate_of": e.near_duplicate_of,
    })
}

pub fn warc(app: &App, call: &Call) -> Result<Reply, Refusal> {
    let volume = app.shelf.get(call.text("collection").unwrap_or(""))?;
    let view = volume.view()?;
    let id = call.id();
    let record = view.reader.record(id)?.ok_or_else(|| no_such_page(id))?;
    let at = record.archive.ok_or_else(|| Refusal::not_found("this page is not in the archive"))?;
    if at.length > LARGEST_RECORD {
        return Err(Refusal::conflict(Problem::new("this record is too large to send")));
    }
    // A bucket may take its time: nobody else should have to wait for this view.
    drop(view);
    let bytes = volume.archive.bytes(&at).map_err(|e| {
        let why = e.cause().map_or(e.what().to_string(), |cause| format!("{}: {cause}", e.what()));
        Refusal::new(404, Problem::nothing("the archive of this page cannot be read").because(why))
    })?;
    Ok(Reply::new(200, "application/warc", bytes)
        .with("content-disposition", format!("attachment; filename=\"page-{}.warc.gz\"", id.0)))
}
