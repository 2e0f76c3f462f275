//! Questions for the view "Teach": which pages to label next, and what the labels so far let expect.

use super::super::App;
use super::super::reply::{Refusal, Reply};
use super::super::route::Call;
use super::finite;
use crate::highlight::{passage, pieces};
use crawl::quiz::{QuestionKind, why};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::sync::PoisonError;
use types::UrlId;

/// Bytes of the passage that is shown.
const PASSAGE: usize = 700;

pub fn questions(app: &App, call: &Call) -> Result<Reply, Refusal> {
    let volume = app.shelf.get(call.text("collection").unwrap_or(""))?;
    let view = volume.view()?;
    let n = call.int("n").unwrap_or(1) as usize;
    let which = match call.text("which") {
        Some("near") => QuestionKind::Near,
        Some("top") => QuestionKind::Top,
        Some("relevant") => QuestionKind::Relevant,
        Some("any") => QuestionKind::Any,
        _ => QuestionKind::Best,
    };
    let skipped: HashSet<UrlId> = (call.text("skip").unwrap_or(""))
        .split(',')
        .filter(|t| !t.is_empty())
        .map(|t| t.parse().map(UrlId))
        .collect::<Result<_, _>>()
        .map_err(|_| Refusal::bad("`skip` must be numbers of pages, separated by commas"))?;
    let mut asked: Vec<(UrlId, &str, &str)> = Vec::new();
    match call.int("id").and_then(|id| u32::try_from(id).ok()).map(UrlId) {
        Some(id) => asked.push((id, "asked", "you asked for it")),
        None => {
            let mut quiz = view.quiz.lock().unwrap_or_else(PoisonError::into_inner);
            quiz.update(&view.reader)?;
            let found = quiz.questions(which, n, 0, &skipped);
            asked.extend(found.into_iter().map(|q| (q.id, q.reason.name(), why(q.reason))));
        }
    }
    let mut out: Vec<Value> = Vec::new();
    for (id, reason, why) in asked {
        let Some(r) = view.reader.record(id)? else {
            return Err(Refusal::not_found(format!("there is no page with number {}", id.0)));
        };
        let hits = &r.assessment.hits;
        out.push(json!({
            "id": id, "url": r.url, "title": r.title, "passage": pieces(passage(&r.text, hits, PASSAGE), hits),
            "score": finite(r.assessment.score), "relevant": r.verdict.relevant,
            "label": view.reader.labels().get(id), "reason": reason, "why": why,
        }));
    }
    Ok(Reply::json(&json!({
        "questions": out,
        "pages": view.rows.len(),
        "threshold": finite(view.reader.threshold()?),
        "taught": view.reader.taught()?,
    })))
}
