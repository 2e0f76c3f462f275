//! Judges `query` (Boolean: words, phrases, AND, OR, NOT, parentheses, `title:`, `url:`, `text:`) and
//! `regex`.

use super::{Judge, JudgeEntry, JudgeSetup};
use crate::options;
use crate::text::{Doc, TextOptions, Token};
use serde::Deserialize;
use types::{Assessment, Hit, Problem, Verdict};

pub(super) const QUERY: JudgeEntry = JudgeEntry {
    name: "query",
    summary: "a page is relevant if it satisfies a Boolean query",
    doc: "\
## What it does
Relevant = the query holds. Words next to each other must all occur (AND); `OR`, `NOT`, `-word`, parentheses and
\"phrases in quotes\" as in search engines; `title:`, `url:` and `text:` look in one field only. Whole words, without
regard to case and accents. The score is the share of the query's positive words that occur; it is at least 0.5 exactly
when the query holds.

## When it helps
When the wanted pages are known by exact words, and to measure precision as Pappas et al. 2012 do.

## When it hurts
It is all or nothing: a strategy learns little from it, and synonyms are missed.

## Options
`query` = the query; default: the topic's own `query`, else any of its content terms.

## Source
Judging by \"contains the query\", Pappas et al. 2012, §IV; the syntax is ours.",
    build: build_query,
};

pub(super) const REGEX: JudgeEntry = JudgeEntry {
    name: "regex",
    summary: "a page is relevant if regular expressions match its title, URL or text",
    doc: "\
## What it does
Relevant = every pattern that is given matches. Case does not matter unless the pattern says `(?-i)`.

## When it helps
Numbers, codes, URL shapes: things that are patterns rather than words.

## When it hurts
All or nothing, as `query`; accents are not folded.

## Options
`title`, `url`, `text` = a pattern for that field · `any` = a pattern for any of the three.

## Source
Ours.",
    build: build_regex,
};

/// A parsed query.
#[derive(Clone, Debug, PartialEq)]
pub enum Query {
    /// `a b`, `a AND b`: a page must match each.
    All(Vec<Query>),
    /// `a OR b`: a page must match one.
    Any(Vec<Query>),
    /// `NOT a`: a page must not match it.
    Not(Box<Query>),
    /// A word or phrase, in one field or anywhere.
    Term {
        /// Where it must stand.
        field: Field,
        /// As it was typed, without quotes.
        text: String,
    },
}

/// A part of a page that a term can be bound to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// No field was named: title, text or address.
    Anywhere,
    /// `title:`
    Title,
    /// `url:`
    Url,
    /// `text:`
    Text,
}

#[derive(Clone, Debug, PartialEq)]
enum Piece {
    Open,
    Close,
    Or,
    And,
    Not,
    Term(Field, String),
}

const DEEPEST: usize = 32;

impl Query {
    /// Reads a query.
    pub fn parse(text: &str) -> Result<Query, Problem> {
        let pieces = pieces(text)?;
        let mut at = 0;
        let query = any(&pieces, &mut at, 0)?;
        if at < pieces.len() {
            return Err(bad(text, "a `)` has no `(`"));
        }
        query.ok_or_else(|| bad(text, "it has no words"))
    }

    fn positive<'a>(&'a self, out: &mut Vec<(Field, &'a str)>) {
        match self {
            Query::All(qs) | Query::Any(qs) => qs.iter().for_each(|q| q.positive(out)),
            Query::Not(_) => {}
            Query::Term { field, text } => out.push((*field, text)),
        }
    }
}

fn bad(text: &str, why: &str) -> Problem {
    Problem::usage(format!("the query `{text}` cannot be read: {why}"))
        .hint("words, \"phrases\", AND, OR, NOT, ( ) and title: url: text: are understood")
}

fn pieces(text: &str) -> Result<Vec<Piece>, Problem> {
    let mut out = Vec::new();
    let mut rest = text.trim_start();
    while let Some(c) = rest.chars().next() {
        let single = match c {
            '(' => Some(Piece::Open),
            ')' => Some(Piece::Close),
            '-' if out_is_apart(text, rest)
                && rest.len() > 1
                && !rest[1..].starts_with(char::is_whitespace) =>
            {
                Some(Piece::Not)
            }
            ',' => Some(Piece::Or),
            _ => None,
        };
        if let Some(p) = single {
            out.push(p);
            rest = rest[c.len_utf8()..].trim_start();
            continue;
        }
        let (field, tail) = field_of(rest);
        if let Some(quoted) = tail.strip_prefix('"') {
            let (phrase, after) =
                quoted.split_once('"').ok_or_else(|| bad(text, "a `\"` is never closed"))?;
            out.push(Piece::Term(field, phrase.trim().to_string()));
            rest = after.trim_start();
            continue;
        }
        let end = tail
            .find(|c: char| c.is_whitespace() || matches!(c, '(' | ')' | '"' | ','))
            .unwrap_or(tail.len());
        // A field without a word: nothing to look for.
        let (word, after) = tail.split_at(end);
        out.push(match word {
            "AND" | "&&" if field == Field::Anywhere => Piece::And,
            "OR" | "||" if field == Field::Anywhere => Piece::Or,
            "NOT" if field == Field::Anywhere => Piece::Not,
            _ => Piece::Term(field, word.to_string()),
        });
        rest = after.trim_start();
    }
    // Terms without a letter or digit (`&`, `""`) ask for nothing.
    out.retain(|p| !matches!(p, Piece::Term(_, t) if TextOptions::default().tokens(t).is_empty()));
    Ok(out)
}

/// `-` negates at the start of a word, not inside one.
fn out_is_apart(text: &str, rest: &str) -> bool {
    let before = text.len() - rest.len();
    text.get(..before).is_none_or(|b| b.is_empty() || b.ends_with(|c: char| c.is_whitespace() || c == '('))
}

fn field_of(rest: &str) -> (Field, &str) {
    for (name, field) in [("title:", Field::Title), ("url:", Field::Url), ("text:", Field::Text)] {
        if let Some(head) = rest.get(..name.len())
            && head.eq_ignore_ascii_case(name)
        {
            return (field, &rest[name.len()..]);
        }
    }
    (Field::Anywhere, rest)
}

fn any(pieces: &[Piece], at: &mut usize, depth: usize) -> Result<Option<Query>, Problem> {
    if depth > DEEPEST {
        return Err(Problem::usage("the query is nested too deeply"));
    }
    let mut out = Vec::new();
    out.extend(all(pieces, at, depth)?);
    while pieces.get(*at) == Some(&Piece::Or) {
        *at += 1;
        out.extend(all(pieces, at, depth)?);
    }
    Ok(if out.len() > 1 { Some(Query::Any(out)) } else { out.pop() })
}

fn all(pieces: &[Piece], at: &mut usize, depth: usize) -> Result<Option<Query>, Problem> {
    let mut out = Vec::new();
    while let Some(piece) = pieces.get(*at) {
        let mut negated = false;
        match piece {
            Piece::Or | Piece::Close => break,
            Piece::And => {
                *at += 1;
                continue;
            }
            Piece::Not => {
                *at += 1;
                negated = true;
            }
            _ => {}
        }
        let one = match pieces.get(*at) {
            Some(Piece::Open) => {
                *at += 1;
                let inner = any(pieces, at, depth + 1)?;
                if pieces.get(*at) != Some(&Piece::Close) {
                    return Err(
                        Problem::usage("a `(` of the query is never closed").hint("add the missing `)`")
                    );
                }
                *at += 1;
                inner
            }
            Some(Piece::Term(field, text)) => {
                *at += 1;
                Some(Query::Term { field: *field, text: text.clone() })
            }
            // NOT NOT, NOT ), NOT at the end: nothing is negated.
            _ => None,
        };
        if let Some(q) = one {
            out.push(if negated { Query::Not(Box::new(q)) } else { q });
        }
    }
    Ok(if out.len() > 1 { Some(Query::All(out)) } else { out.pop() })
}

/// What a query contributes to a topic: its positive words and phrases.
pub struct QueryTerms {
    /// Terms of the page's words.
    pub content: Vec<String>,
    /// Terms bound to `url:`.
    pub url: Vec<String>,
}

/// The terms of `query = "…"`. A list with commas and without other signs is a list of phrases; elsewhere
/// words stand for themselves, and stopwords are left out unless quoted.
pub fn terms_of(text: &str) -> Result<QueryTerms, Problem> {
    if text.contains(',')
        && !text.contains(['"', '(', ')', ':'])
        && !text.split_whitespace().any(|w| matches!(w, "AND" | "OR" | "NOT"))
    {
        let content = text.split(',').map(|p| p.trim().to_string()).filter(|p| !p.is_empty()).collect();
        return Ok(QueryTerms { content, url: Vec::new() });
    }
    let query = Query::parse(text)?;
    let mut terms = Vec::new();
    query.positive(&mut terms);
    let says_something = |t: &str| TextOptions::default().tokens(t).iter().any(|t| !t.is_stop());
    let mut out = QueryTerms { content: Vec::new(), url: Vec::new() };
    for (field, t) in terms.into_iter().filter(|(_, t)| says_something(t)) {
        let list = if field == Field::Url { &mut out.url } else { &mut out.content };
        if !list.iter().any(|known| known == t) {
            list.push(t.to_string());
        }
    }
    Ok(out)
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct QueryOptions {
    query: Option<String>,
}

fn build_query(setup: &JudgeSetup) -> Result<Box<dyn Judge>, Problem> {
    let o: QueryOptions = options::parse("judge `query`", setup.options)?;
    let topic = setup.topic;
    let query = match o.query.or_else(|| topic.query.clone()).filter(|q| !q.trim().is_empty()) {
        Some(text) => Query::parse(&text)?,
        None if !topic.content.own.is_empty() => Query::Any(
            topic
                .content
                .own
                .iter()
                .map(|t| Query::Term { field: Field::Anywhere, text: t.clone() })
                .collect(),
        ),
        None => {
            return Err(Problem::usage("judge `query` has no query")
                .hint("add `query = \"…\"` at the top of the topic file"));
        }
    };
    Ok(Box::new(QueryJudge { root: Compiled::of(&query, setup.text()) }))
}

struct QueryJudge {
    root: Compiled,
}

enum Compiled {
    All(Vec<Compiled>),
    Any(Vec<Compiled>),
    Not(Box<Compiled>),
    Term { field: Field, text: String, words: Vec<u64> },
}

impl Compiled {
    fn of(q: &Query, o: &TextOptions) -> Compiled {
        match q {
            Query::All(qs) => Compiled::All(qs.iter().map(|q| Compiled::of(q, o)).collect()),
            Query::Any(qs) => Compiled::Any(qs.iter().map(|q| Compiled::of(q, o)).collect()),
            Query::Not(q) => Compiled::Not(Box::new(Compiled::of(q, o))),
            Query::Term { field, text } => {
                let words = o.tokens(text).iter().map(|t| t.hash).collect();
                Compiled::Term { field: *field, text: text.clone(), words }
            }
        }
    }

    /// Does it hold? Positive terms that occur go to `hits`, how many there are to `asked`.
    fn holds(&self, doc: &Doc, negated: bool, hits: &mut Vec<Hit>, asked: &mut u32) -> bool {
        match self {
            // Every part is looked at: people want to see all that matched.
            Compiled::All(qs) => qs.iter().fold(true, |ok, q| q.holds(doc, negated, hits, asked) & ok),
            Compiled::Any(qs) => qs.iter().fold(false, |ok, q| q.holds(doc, negated, hits, asked) | ok),
            Compiled::Not(q) => !q.holds(doc, !negated, hits, asked),
            Compiled::Term { field, text, words } => {
                let fields: &[(&str, &[Token])] =
                    &[("title", doc.title()), ("text", doc.body()), ("url", doc.url())];
                let mut found = false;
                for (name, tokens) in fields {
                    let wanted = match field {
                        Field::Anywhere => true,
                        Field::Title => *name == "title",
                        Field::Text => *name == "text",
                        Field::Url => *name == "url",
                    };
                    let count = if wanted { occurrences(tokens, words) } else { 0 };
                    if count > 0 {
                        found = true;
                        if !negated {
                            hits.push(Hit { set: name.to_string(), term: text.clone(), count });
                        }
                    }
                }
                *asked += u32::from(!negated);
                found
            }
        }
    }
}

fn occurrences(tokens: &[Token], words: &[u64]) -> u32 {
    if words.is_empty() {
        return 0;
    }
    tokens.windows(words.len()).filter(|w| w.iter().zip(words).all(|(t, h)| t.hash == *h)).count() as u32
}

impl Judge for QueryJudge {
    fn assess(&self, doc: &Doc) -> Assessment {
        let (mut hits, mut asked) = (Vec::new(), 0);
        let holds = self.root.holds(doc, false, &mut hits, &mut asked);
        let mut terms: Vec<&str> = hits.iter().map(|h| h.term.as_str()).collect();
        terms.dedup();
        let share = if asked == 0 { 1.0 } else { (terms.len() as f64 / f64::from(asked)).min(1.0) };
        // Below one half as near as the words come; from one half on when it holds.
        let score = if holds { 0.5 + 0.5 * share } else { 0.49 * share };
        let parts = vec![types::Part { name: "query".into(), value: f64::from(u8::from(holds)) }];
        Assessment { score, parts, hits, ..Assessment::default() }
    }
    fn decide(&self, a: &Assessment) -> Verdict {
        Verdict { relevant: a.score >= 0.5, relevance: a.score, threshold: 0.5, version: 0 }
    }
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct RegexOptions {
    title: Option<String>,
    url: Option<String>,
    text: Option<String>,
    any: Option<String>,
}

struct RegexJudge {
    /// Field name (or `any`), pattern as written, compiled.
    patterns: Vec<(&'static str, String, regex::Regex)>,
}

fn build_regex(setup: &JudgeSetup) -> Result<Box<dyn Judge>, Problem> {
    let o: RegexOptions = options::parse("judge `regex`", setup.options)?;
    let mut patterns = Vec::new();
    for (field, pattern) in [("title", o.title), ("url", o.url), ("text", o.text), ("any", o.any)] {
        let Some(pattern) = pattern.filter(|p| !p.is_empty()) else { continue };
        let compiled = regex::RegexBuilder::new(&pattern)
            .case_insensitive(true)
            .size_limit(4 << 20)
            .build()
            .map_err(|e| {
                Problem::usage(format!("[judge] {field}: `{pattern}` is not a regular expression")).because(e)
            })?;
        patterns.push((field, pattern, compiled));
    }
    if patterns.is_empty() {
        return Err(Problem::usage("judge `regex` has no pattern")
            .hint("give at least one of `title`, `url`, `text`, `any` in [judge]"));
    }
    Ok(Box::new(RegexJudge { patterns }))
}

impl Judge for RegexJudge {
    fn assess(&self, doc: &Doc) -> Assessment {
        let page = &doc.page;
        let url = page.url.as_ref().map_or("", |u| u.as_str());
        let fields = [("title", page.title.as_str()), ("url", url), ("text", page.text.as_str())];
        let mut hits = Vec::new();
        let mut matched = 0;
        for (field, pattern, regex) in &self.patterns {
            let mut found = false;
            for (name, text) in fields {
                // Enough to show; a page can match a pattern at every letter.
                let count = if *field == name || *field == "any" {
                    regex.find_iter(text).take(1000).count()
                } else {
                    0
                };
                if count > 0 {
                    found = true;
                    hits.push(Hit { set: name.to_string(), term: pattern.clone(), count: count as u32 });
                }
            }
            matched += usize::from(found);
        }
        let share = matched as f64 / self.patterns.len().max(1) as f64;
        let score = if matched == self.patterns.len() { 1.0 } else { 0.49 * share };
        let parts = vec![types::Part { name: "regex".into(), value: share }];
        Assessment { score, parts, hits, ..Assessment::default() }
    }
    fn decide(&self, a: &Assessment) -> Verdict {
        Verdict { relevant: a.score >= 0.5, relevance: a.score, threshold: 0.5, version: 0 }
    }
}
