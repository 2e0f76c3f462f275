//! Where a topic's terms stand in a text, as data: pieces of the text, some with the name of the set their
//! term is of.

use serde::Serialize;
use std::collections::HashMap;
use types::Hit;

/// A piece of text; `set` when it is a term of the topic.
#[derive(Debug, PartialEq, Serialize)]
pub struct Piece<'a> {
    pub text: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub set: Option<&'a str>,
}

/// Words with their place and their lower-case form.
fn words(text: &str) -> impl Iterator<Item = (usize, usize, String)> + '_ {
    let mut rest = text.char_indices().peekable();
    std::iter::from_fn(move || {
        let (start, _) = rest.find(|(_, c)| c.is_alphanumeric())?;
        let mut end = text.len();
        while let Some(&(i, c)) = rest.peek() {
            if !c.is_alphanumeric() {
                end = i;
                break;
            }
            rest.next();
        }
        Some((start, end, text.get(start..end)?.to_lowercase()))
    })
}

/// Cuts the text at every term that was hit; the longest term wins where several begin.
pub fn pieces<'a>(text: &'a str, hits: &'a [Hit]) -> Vec<Piece<'a>> {
    let mut by_first: HashMap<String, Vec<(Vec<String>, &str)>> = HashMap::new();
    for hit in hits {
        let term: Vec<String> = words(&hit.term).map(|w| w.2).collect();
        if let Some(first) = term.first() {
            by_first.entry(first.clone()).or_default().push((term, &hit.set));
        }
    }
    for list in by_first.values_mut() {
        list.sort_by_key(|(term, _)| std::cmp::Reverse(term.len()));
    }
    let found: Vec<(usize, usize, String)> = words(text).collect();
    let mut out = Vec::new();
    let (mut at, mut i) = (0, 0);
    while let Some((start, _, word)) = found.get(i) {
        let fits = |term: &[String]| {
            found.get(i..i + term.len()).filter(|w| w.iter().zip(term).all(|(w, t)| w.2 == *t))
        };
        let hit = by_first.get(word).and_then(|list| {
            list.iter()
                .find_map(|(term, set)| fits(term).and_then(|w| w.last()).map(|w| (term.len(), w.1, *set)))
        });
        match hit {
            Some((len, end, set)) => {
                if *start > at {
                    out.push(Piece { text: &text[at..*start], set: None });
                }
                out.push(Piece { text: &text[*start..end], set: Some(set) });
                (at, i) = (end, i + len);
            }
            None => i += 1,
        }
    }
    if at < text.len() {
        out.push(Piece { text: &text[at..], set: None });
    }
    out
}

/// The stretch of at most `most` bytes that says most of why a page is what it is: the one with the most
/// different terms, and of these the first. Without any term, the beginning.
pub fn passage<'a>(text: &'a str, hits: &[Hit], most: usize) -> &'a str {
    let marked = pieces(text, hits);
    // Where each term stands.
    let mut found: Vec<(usize, usize, String)> = Vec::new();
    let mut at = 0;
    for piece in &marked {
        if piece.set.is_some() {
            found.push((at, at + piece.text.len(), piece.text.to_lowercase()));
        }
        at += piece.text.len();
    }
    let reach = most / 2;
    let mut counts: HashMap<&str, usize> = HashMap::new();
    let (mut best, mut first) = ((0, 0, 0), 0);
    for (from, to, term) in &found {
        *counts.entry(term).or_default() += 1;
        while let Some((_, _, left)) = found.get(first).filter(|f| to - f.0 > reach && f.0 < *from) {
            if let Some(n) = counts.get_mut(left.as_str()) {
                *n -= 1;
                if *n == 0 {
                    counts.remove(left.as_str());
                }
            }
            first += 1;
        }
        if counts.len() > best.0 {
            best = (counts.len(), found.get(first).map_or(0, |f| f.0), *to);
        }
    }
    let (_, from, to) = best;
    // As much around it as fits, whole words.
    let room = most.saturating_sub(to - from) / 2;
    let mut from = from.saturating_sub(room);
    let mut to = (to + room).max(from + most).min(text.len());
    while !text.is_char_boundary(from) {
        from -= 1;
    }
    while !text.is_char_boundary(to) {
        to -= 1;
    }
    if from > 0 {
        from += text.get(from..to).and_then(|t| t.find(char::is_whitespace)).unwrap_or(0);
    }
    if to < text.len() {
        to = from + text.get(from..to).and_then(|t| t.rfind(char::is_whitespace)).unwrap_or(to - from);
    }
    text.get(from..to).unwrap_or("").trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_passage_has_most_terms() {
        let hit = |term: &str| Hit { set: "content".into(), term: term.into(), count: 1 };
        let hits = [hit("sql"), hit("joins"), hit("b-trees")];
        let filler = "menu news staff über ".repeat(30);
        let text = format!(
            "{filler} sql sql sql {filler} learn SQL, joins and b-trees here {filler} joins {filler}"
        );
        let best = passage(&text, &hits, 120);
        assert!(best.contains("learn SQL, joins and b-trees here"), "{best}");
        assert!(best.len() <= 120);
        assert_eq!(passage("short text", &hits, 120), "short text");
        assert_eq!(passage("", &hits, 120), "");
        // Nothing to find: the beginning. Words are whole, characters too.
        let dull = passage(&filler, &hits, 50);
        assert!(filler.starts_with(dull) && dull.len() <= 50 && dull.ends_with(|c: char| c.is_alphabetic()));
        assert!(passage(&"ü".repeat(200), &hits, 51).len() <= 51);
        for most in 0..40 {
            passage(&text, &hits, most);
        }
    }

    #[test]
    fn terms_are_marked_where_they_stand() {
        let hit = |set: &str, term: &str| Hit { set: set.into(), term: term.into(), count: 1 };
        let hits = [hit("genre", "office"), hit("genre", "office hours"), hit("content", "sql")];
        let text = "Öffice OFFICE  hours: SQL, mysql & office";
        let marked: Vec<_> =
            pieces(text, &hits).iter().map(|p| (p.text.to_string(), p.set.map(String::from))).collect();
        let some = |s: &str| Some(s.to_string());
        assert_eq!(
            marked,
            [
                ("Öffice ".to_string(), None),
                ("OFFICE  hours".to_string(), some("genre")),
                (": ".to_string(), None),
                ("SQL".to_string(), some("content")),
                (", mysql & ".to_string(), None),
                ("office".to_string(), some("genre")),
            ]
        );
        let all: String = pieces(text, &hits).iter().map(|p| p.text).collect();
        assert_eq!(all, text);
        assert_eq!(pieces("", &hits).len(), 0);
        assert_eq!(pieces("plain", &[]).len(), 1);
    }
}
