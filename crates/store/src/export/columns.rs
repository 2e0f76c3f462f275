//! The columns of every tabular export, in order.

use super::Row;
use crate::archive::rfc3339;
use serde_json::{Map, Number, Value as Json};
use std::borrow::Cow;
use types::Millis;

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// UTF-8 text.
    Text,
    /// A whole number that fits 64 bits.
    Integer,
    /// A number with a fraction.
    Float,
    /// Yes or no.
    Flag,
    /// RFC 3339 in text formats, a native timestamp elsewhere.
    Time,
    /// Names with numbers: a JSON object in text formats, a native map elsewhere.
    Map,
}

/// One cell of an export.
#[derive(Clone, Debug, PartialEq)]
pub enum Value<'a> {
    /// Nothing is known: empty in CSV, `null` elsewhere.
    Missing,
    /// A cell of [`Kind::Text`].
    Text(Cow<'a, str>),
    /// A cell of [`Kind::Integer`].
    Integer(i64),
    /// A cell of [`Kind::Float`].
    Float(f64),
    /// A cell of [`Kind::Flag`].
    Flag(bool),
    /// A cell of [`Kind::Time`].
    Time(Millis),
    /// A cell of [`Kind::Map`], in the order given.
    Map(Vec<(&'a str, f64)>),
}

/// One column of every table that is exported.
#[derive(Debug)]
pub struct Column {
    /// As files and the API call it; never renamed.
    pub name: &'static str,
    /// What its cells hold, unless they are missing.
    pub kind: Kind,
    /// Takes the cell out of a row.
    pub get: for<'a> fn(&Row<'a>) -> Value<'a>,
}

const fn column(name: &'static str, kind: Kind, get: for<'a> fn(&Row<'a>) -> Value<'a>) -> Column {
    Column { name, kind, get }
}

/// All columns, in the order of the files.
pub const COLUMNS: &[Column] = &[
    column("url", Kind::Text, |r| text(&r.record.url)),
    column("title", Kind::Text, |r| text(&r.record.title)),
    column("description", Kind::Text, |r| text(&r.record.description)),
    column("text", Kind::Text, |r| text(&r.record.text)),
    column("language", Kind::Text, |r| text(&r.record.language)),
    column("relevant", Kind::Flag, |r| Value::Flag(r.record.verdict.relevant)),
    column("relevance", Kind::Float, |r| Value::Float(r.record.verdict.relevance)),
    column("threshold", Kind::Float, |r| Value::Float(r.record.verdict.threshold)),
    column("score", Kind::Float, |r| Value::Float(r.record.assessment.score)),
    column("score_parts", Kind::Map, |r| {
        Value::Map(r.record.assessment.parts.iter().map(|p| (p.name.as_str(), p.value)).collect())
    }),
    column("parent", Kind::Text, |r| optional(r.parent)),
    column("depth", Kind::Integer, |r| Value::Integer(i64::from(r.record.depth))),
    column("fetched", Kind::Time, |r| Value::Time(r.record.fetched)),
    column("status", Kind::Integer, |r| Value::Integer(i64::from(r.record.status))),
    column("media_type", Kind::Text, |r| text(&r.record.media_type)),
    column("bytes", Kind::Integer, |r| Value::Integer(integer(r.record.bytes))),
    column("digest", Kind::Text, |r| text(&r.record.digest)),
    // Hex, because 64 bits do not survive tools that read numbers as floating point.
    column("simhash", Kind::Text, |r| Value::Text(Cow::Owned(format!("{:016x}", r.record.simhash)))),
    column("duplicate_of", Kind::Text, |r| optional(r.duplicate_of)),
    column("near_duplicate_of", Kind::Text, |r| optional(r.near_duplicate_of)),
    column("archive_file", Kind::Text, |r| optional(r.record.archive.as_ref().map(|a| a.file.as_str()))),
    column("archive_offset", Kind::Integer, |r| match &r.record.archive {
        Some(a) => Value::Integer(integer(a.offset)),
        None => Value::Missing,
    }),
    // What was said of the page: it counts in `relevant`, whatever the judge thinks.
    column("label", Kind::Flag, |r| r.label.map_or(Value::Missing, |(relevant, _)| Value::Flag(relevant))),
    column("label_by", Kind::Text, |r| optional(r.label.map(|(_, who)| who))),
    // What the page says of itself; dates as `2026-11-16`, `2026-11` or `2026`.
    column("authors", Kind::Text, |r| said(Cow::Owned(r.record.about.authors.join("; ")))),
    column("published", Kind::Text, |r| said(Cow::Borrowed(&r.record.about.published))),
    column("modified", Kind::Text, |r| said(Cow::Borrowed(&r.record.about.modified))),
    column("kind", Kind::Text, |r| said(Cow::Borrowed(&r.record.about.kind))),
    column("publisher", Kind::Text, |r| said(Cow::Borrowed(&r.record.about.publisher))),
    // Read again from the archive: only when it is named (`ON_REQUEST`).
    column("markdown", Kind::Text, |r| optional(r.markdown)),
];

fn text(s: &str) -> Value<'_> {
    Value::Text(Cow::Borrowed(s))
}

fn optional(s: Option<&str>) -> Value<'_> {
    s.map_or(Value::Missing, text)
}

/// Nothing, if the page does not say.
fn said(s: Cow<'_, str>) -> Value<'_> {
    if s.is_empty() { Value::Missing } else { Value::Text(s) }
}

fn integer(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

impl Value<'_> {
    /// As JSON; numbers that JSON does not have are null.
    pub(crate) fn to_json(&self) -> Json {
        // JSON has no NaN or infinity: they become null.
        let number = |x: f64| Number::from_f64(x).map_or(Json::Null, Json::Number);
        match self {
            Value::Missing => Json::Null,
            Value::Text(s) => Json::String(s.to_string()),
            Value::Integer(n) => Json::from(*n),
            Value::Float(x) => number(*x),
            Value::Flag(b) => Json::Bool(*b),
            Value::Time(at) => Json::String(rfc3339(*at)),
            Value::Map(pairs) => {
                // Sorted here, because whether a JSON map sorts by itself depends on how the library was
                // built.
                let mut pairs = pairs.clone();
                pairs.sort_by_key(|(name, _)| *name);
                Json::Object(pairs.iter().map(|(k, v)| (k.to_string(), number(*v))).collect::<Map<_, _>>())
            }
        }
    }

    /// For a cell of a text table; a missing value is empty.
    pub fn to_cell(&self) -> Cow<'_, str> {
        match self {
            Value::Missing => Cow::Borrowed(""),
            Value::Text(s) => Cow::Borrowed(s),
            Value::Integer(n) => Cow::Owned(n.to_string()),
            Value::Float(x) => Cow::Owned(x.to_string()),
            Value::Flag(b) => Cow::Borrowed(if *b { "true" } else { "false" }),
            Value::Time(at) => Cow::Owned(rfc3339(*at)),
            Value::Map(_) => Cow::Owned(self.to_json().to_string()),
        }
    }
}
