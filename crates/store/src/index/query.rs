//! What a person typed → queries to try, best reading first. There is no wrong input: the last reading is
//! plain words.

use tantivy::Index;
use tantivy::query::{Query, QueryParser};
use tantivy::schema::Field;

/// Longer queries are cut: nobody types them, and each word costs a search.
const MAX_QUERY: usize = 1_000;
/// The parser recurses (and back-tracks) on nested parentheses.
const MAX_NESTING: usize = 4;

#[derive(Clone, Copy)]
pub(super) struct SearchFields {
    pub title: Field,
    pub text: Field,
    pub url: Field,
}

/// Readings of the query, to be tried until one finds something: as written with all words, the plain words
/// all together, any of the words.
pub(super) fn readings(index: &Index, fields: SearchFields, query: &str) -> Vec<Box<dyn Query>> {
    let query = cut(query.trim(), MAX_QUERY);
    let mut parser = QueryParser::for_index(index, vec![fields.title, fields.text, fields.url]);
    parser.set_field_boost(fields.title, 3.0);
    parser.set_field_boost(fields.url, 1.5);
    let any = parser.clone();
    parser.set_conjunction_by_default();

    let mut readings = Vec::new();
    let mut understood = false;
    if is_parseable(query)
        && let Ok(parsed) = parser.parse_query(query)
    {
        readings.push(parsed);
        understood = true;
    }
    let plain = plain_words(query);
    if plain.is_empty() {
        return readings;
    }
    if !understood {
        readings.extend(parser.parse_query(&plain));
    }
    // Someone who wrote an operator meant it; loosening `-word` or `host:…` would answer another question.
    if !(understood && has_operators(query)) {
        readings.extend(any.parse_query(&plain));
    }
    readings
}

fn cut(text: &str, max: usize) -> &str {
    let mut end = text.len().min(max);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or("")
}

/// Nested deeper than the parser should be given, or of parts it cannot make sense of?
fn is_parseable(query: &str) -> bool {
    let opened = query.bytes().filter(|b| matches!(b, b'(' | b'[' | b'{')).count();
    opened <= MAX_NESTING
        && query.matches(" NOT ").count() <= MAX_NESTING
        && !query.contains("://")
        && !query.contains('/')
}

fn has_operators(query: &str) -> bool {
    query
        .split_whitespace()
        .any(|w| matches!(w, "AND" | "OR" | "NOT") || w.starts_with(['-', '+', '"', '(']) || w.contains(':'))
}

/// Letters and digits only, lower-case so that `AND` and the like are words too.
fn plain_words(query: &str) -> String {
    let mut plain = String::with_capacity(query.len());
    for word in query.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty()) {
        if !plain.is_empty() {
            plain.push(' ');
        }
        plain.extend(word.chars().flat_map(char::to_lowercase));
    }
    plain
}

/// The words a snippet should show: without operators, field names and excluded words.
pub(super) fn wanted_words(query: &str) -> String {
    let mut out = String::new();
    for word in cut(query, MAX_QUERY).split_whitespace() {
        let word = word.trim_start_matches(['(', '+']);
        if matches!(word, "AND" | "OR" | "NOT") || word.starts_with('-') {
            continue;
        }
        let (field, rest) = word.split_once(':').unwrap_or(("", word));
        let word = match field {
            "host" | "language" => continue,
            "title" | "text" | "url" => rest,
            _ => word,
        };
        out.push_str(word);
        out.push(' ');
    }
    out
}
