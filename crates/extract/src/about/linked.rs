//! JSON-LD → items.
//!
//! The data is walked with a list of what is yet to be looked at, not by recursion, and only so much of it.

use super::{Found, MAX_AUTHORS, kind_of, name_of, short_date, title_of};
use crate::meta;
use serde_json::{Map, Value};
use std::collections::HashMap;

/// Objects and lists of a block that are looked at.
const MAX_NODES: usize = 2_000;
/// Items of a page.
const MAX_ITEMS: usize = 100;

type Object = Map<String, Value>;

/// Adds the items of a block.
pub fn read(text: &str, items: &mut Vec<Found>) {
    let Some(value) = parse(text) else { return };
    let mut objects: Vec<&Object> = Vec::new();
    let mut waiting: Vec<&Value> = vec![&value];
    let mut looked = 0;
    while let Some(next) = waiting.pop() {
        looked += 1;
        if looked > MAX_NODES {
            break;
        }
        match next {
            // The first is to come off first.
            Value::Array(list) => waiting.extend(list.iter().take(MAX_NODES).rev()),
            Value::Object(object) => {
                objects.push(object);
                let inside = ["mainEntityOfPage", "mainEntity", "@graph"];
                waiting.extend(inside.iter().filter_map(|key| object.get(*key)));
            }
            _ => {}
        }
    }
    let named = objects.iter().filter_map(|o| Some((o.get("@id")?.as_str()?, *o)));
    let mut by_id: HashMap<&str, &Object> = HashMap::new();
    for (id, object) in named {
        // A reference has nothing but its name.
        if object.len() > 1 {
            by_id.entry(id).or_insert(object);
        }
    }
    for object in objects {
        if items.len() < MAX_ITEMS && object.contains_key("@type") {
            items.push(item(object, &by_id));
        }
    }
}

fn parse(text: &str) -> Option<Value> {
    let text = text.trim().trim_start_matches("<!--").trim_end_matches("-->").trim();
    let text = text.trim_start_matches("//").trim_start_matches("<![CDATA[").trim();
    let text = text.trim_end_matches("]]>").trim_end_matches("//").trim_end_matches(';').trim();
    // Deeper than 128 levels is an error.
    serde_json::from_str(text).ok().or_else(|| {
        // Line ends inside strings are the most usual mistake.
        let blank = text.contains(|c: char| c.is_control());
        blank.then(|| serde_json::from_str(&text.replace(|c: char| c.is_control(), " ")).ok())?
    })
}

fn item(object: &Object, by_id: &HashMap<&str, &Object>) -> Found {
    let text = |keys: &[&str]| keys.iter().find_map(|key| first_text(object.get(*key)?)).unwrap_or("");
    let date = |keys: &[&str]| keys.iter().map(|key| short_date(text(&[key]))).find(|d| !d.is_empty());
    let mut found = Found {
        title: title_of(text(&["headline", "name"])),
        url: address(object, by_id),
        ..Found::default()
    };
    found.about.kind = kind(object);
    found.about.published =
        date(&["datePublished", "datePosted", "uploadDate", "dateCreated"]).unwrap_or_default();
    found.about.modified = date(&["dateModified"]).unwrap_or_default();
    for key in ["author", "creator"] {
        if found.about.authors.is_empty() {
            let names = object.get(key).map(|value| names(value, by_id)).unwrap_or_default();
            names.iter().for_each(|name| found.add_author(name));
        }
    }
    let publisher = ["publisher", "provider", "hiringOrganization"].iter().find_map(|key| object.get(*key));
    let publisher = publisher.map(|value| names(value, by_id)).unwrap_or_default();
    found.about.publisher = publisher.into_iter().next().unwrap_or_default();
    let language =
        object.get("inLanguage").and_then(|l| first_text(l).or_else(|| first_text(l.get("alternateName")?)));
    found.language = language.map(meta::language_tag).unwrap_or_default();
    found
}

/// The text, or the first of several.
fn first_text(value: &Value) -> Option<&str> {
    match value {
        Value::String(text) => Some(text),
        Value::Array(list) => list.iter().find_map(Value::as_str),
        Value::Object(object) => object.get("@value").and_then(Value::as_str),
        _ => None,
    }
}

/// The first type of several is the one that is meant.
fn kind(object: &Object) -> String {
    object.get("@type").and_then(first_text).map(kind_of).unwrap_or_default()
}

fn address(object: &Object, _by_id: &HashMap<&str, &Object>) -> String {
    let of = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Object(o) => o.get("@id").or_else(|| o.get("url")).and_then(Value::as_str).map(str::to_string),
        _ => None,
    };
    ["url", "mainEntityOfPage", "@id"].iter().find_map(|key| of(object.get(*key)?)).unwrap_or_default()
}

/// Names of people or organisations, which may be described elsewhere in the block.
fn names(value: &Value, by_id: &HashMap<&str, &Object>) -> Vec<String> {
    let all = match value {
        Value::Array(list) => list.iter().take(MAX_AUTHORS).collect(),
        one => vec![one],
    };
    let name = |value: &Value| match value {
        Value::String(text) => Some(name_of(text)),
        Value::Object(object) => {
            let described = || by_id.get(object.get("@id")?.as_str()?).copied();
            name_in(object).or_else(|| name_in(described()?))
        }
        _ => None,
    };
    all.into_iter().filter_map(name).filter(|name| !name.is_empty()).collect()
}

fn name_in(object: &Object) -> Option<String> {
    let text = |key: &str| object.get(key).and_then(first_text);
    if let Some(name) = text("name").or_else(|| text("legalName")) {
        return Some(name_of(name));
    }
    let whole = [text("givenName"), text("familyName")];
    let whole = whole.iter().flatten().copied().collect::<Vec<_>>().join(" ");
    (!whole.is_empty()).then(|| name_of(&whole))
}
