//! The piece of a page's text that shows best why it was found.

use super::{analyzer, query::wanted_words};
use std::collections::HashMap;
use std::ops::Range;

/// Bytes of text a snippet should have, about.
const WIDTH: usize = 240;
/// Of these, before the first word that matched.
const LEAD: usize = 60;

/// A piece of the text: a word that was looked for, or what stands between.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Bytes of the snippet's text.
    pub range: Range<usize>,
    /// It is a word that was looked for.
    pub highlighted: bool,
}

/// Cuts the text to the window with the most different words of the query, then the most of them. The
/// segments are adjacent ranges of `text`, on character boundaries; without a match they are its beginning.
pub fn snippet(query: &str, text: &str) -> Vec<Segment> {
    let mut analyzer = analyzer();
    let mut words: HashMap<String, usize> = HashMap::new();
    let wanted = wanted_words(query);
    let mut tokens = analyzer.token_stream(&wanted);
    while tokens.advance() {
        let next = words.len();
        words.entry(tokens.token().text.clone()).or_insert(next);
    }
    drop(tokens);

    let mut hits: Vec<(Range<usize>, usize)> = Vec::new();
    let mut tokens = analyzer.token_stream(text);
    while tokens.advance() {
        let token = tokens.token();
        if let Some(&word) = words.get(&token.text) {
            hits.push((token.offset_from..token.offset_to, word));
        }
    }
    drop(tokens);

    let shown = best_window(&hits, words.len());
    let start = match hits.get(shown.start) {
        Some((first, _)) if first.start > LEAD => word_start(text, first.start - LEAD, first.start),
        _ => 0,
    };
    let end = word_end(
        text,
        start.saturating_add(WIDTH),
        hits.get(shown.clone()).and_then(|h| h.last()).map_or(0, |h| h.0.end),
    );
    let mut segments = Vec::new();
    let mut at = start;
    for (hit, _) in hits.iter().skip(shown.start).take_while(|(hit, _)| hit.end <= end) {
        if hit.start > at {
            segments.push(Segment { range: at..hit.start, highlighted: false });
        }
        segments.push(Segment { range: hit.clone(), highlighted: true });
        at = hit.end;
    }
    if at < end {
        segments.push(Segment { range: at..end, highlighted: false });
    }
    segments
}

/// Indices of the hits in the best window; two pointers, linear.
fn best_window(hits: &[(Range<usize>, usize)], words: usize) -> Range<usize> {
    let mut counts = vec![0usize; words];
    let mut distinct = 0;
    let mut from = 0;
    let mut best = (0, 0, 0..0);
    for (to, (hit, word)) in hits.iter().enumerate() {
        if let Some(count) = counts.get_mut(*word) {
            *count += 1;
            distinct += usize::from(*count == 1);
        }
        while let Some((first, word)) =
            hits.get(from).filter(|(first, _)| hit.end - first.start > WIDTH - LEAD && from < to)
        {
            debug_assert!(first.start <= hit.start);
            if let Some(count) = counts.get_mut(*word) {
                *count -= 1;
                distinct -= usize::from(*count == 0);
            }
            from += 1;
        }
        let here = (distinct, to + 1 - from, from..to + 1);
        if (here.0, here.1) > (best.0, best.1) {
            best = here;
        }
    }
    best.2
}

/// The first beginning of a word in `at..limit`, or the character boundary at or before `limit`.
fn word_start(text: &str, at: usize, limit: usize) -> usize {
    let at = boundary(text, at);
    let skipped = text.get(at..limit).and_then(|t| t.find(char::is_whitespace).map(|i| at + i + 1));
    boundary(text, skipped.unwrap_or(at))
}

/// The last end of a word at or before `at`, but not before `least`.
fn word_end(text: &str, at: usize, least: usize) -> usize {
    if at >= text.len() {
        return text.len();
    }
    let at = boundary(text, at.max(least));
    match text.get(least..at).and_then(|t| t.rfind(char::is_whitespace)) {
        Some(blank) if least + blank > least => least + blank,
        _ => at,
    }
}

fn boundary(text: &str, mut at: usize) -> usize {
    at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}
