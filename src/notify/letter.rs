//! What is told: the same for every way.

use crate::changes;
use crawl::reader::{Change, ChangeKind, Changes};
use serde::{Deserialize, Serialize};
use serde_json::json;
use store::archive::rfc3339;
use types::{Millis, Problem};

/// Changes of one letter.
const MOST: usize = 200;
/// Lines of a difference.
const LINES: usize = 40;

/// Written once: whoever gets it twice gets the same bytes under the same number.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Letter {
    /// Chosen at random.
    pub id: String,
    /// `db: 3 new, 1 gone`
    pub subject: String,
    /// JSON, for programs.
    pub body: String,
    /// For people.
    pub text: String,
    pub html: String,
}

impl Letter {
    /// As many letters as it takes.
    pub fn of(name: &str, since: Millis, changes: &[Change]) -> Result<Vec<Letter>, Problem> {
        changes.chunks(MOST).map(|part| Letter::one(name, since, part)).collect()
    }

    fn one(name: &str, since: Millis, part: &[Change]) -> Result<Letter, Problem> {
        let id = format!("msg_{}", random()?);
        let told = Changes { name: name.to_string(), since, changes: part.to_vec() };
        let counts: serde_json::Map<String, serde_json::Value> = ChangeKind::ALL
            .iter()
            .map(|kind| (kind.name().to_string(), part.iter().filter(|c| c.kind == *kind).count().into()))
            .collect();
        let body = json!({
            "id": id,
            "type": "gleaner.changes",
            "collection": name,
            "since": rfc3339(since),
            "counts": counts,
            "changes": part.iter().map(one).collect::<Vec<_>>(),
        });
        Ok(Letter {
            id,
            subject: format!("{}: {}", one_line(name), changes::totals(&told)),
            body: body.to_string(),
            text: uncoloured(&changes::terminal(&told, MOST)),
            html: changes::html(&told),
        })
    }
}

fn one(change: &Change) -> serde_json::Value {
    let lines = change.diff.iter().filter(|l| l.mark != '@').take(LINES);
    let diff: Vec<String> = lines.map(|l| format!("{}{}", l.mark, l.text)).collect();
    let mut out = json!({
        "kind": change.kind.name(),
        "url": change.url,
        "title": change.title,
        "at": rfc3339(change.at),
        "in_collection_since": rfc3339(change.since),
        "score": change.score,
        "added_words": change.added,
        "removed_words": change.removed,
        "diff": diff,
    });
    if let Some(to) = &change.to {
        out["to"] = to.as_str().into();
    }
    if !change.begins.is_empty() {
        out["begins"] = change.begins.as_str().into();
    }
    out
}

/// Without the codes that colour a terminal; whatever a page says was stripped of them before.
fn uncoloured(text: &str) -> String {
    let mut pieces = text.split('\u{1b}');
    let first = pieces.next().unwrap_or_default().to_string();
    pieces.fold(first, |out, piece| out + piece.split_once('m').map_or("", |(_, rest)| rest))
}

/// A subject is one line.
fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

fn random() -> Result<String, Problem> {
    let mut bytes = [0; 12];
    getrandom::fill(&mut bytes).map_err(|e| Problem::new("this machine gives no chance").because(e))?;
    Ok(bytes.iter().map(|b| format!("{b:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_go_and_words_stay() {
        assert_eq!(uncoloured("a \u{1b}[1mme\u{1b}[0m b"), "a me b");
        assert_eq!(one_line("a\r\nBcc: b"), "a  Bcc: b");
    }
}
