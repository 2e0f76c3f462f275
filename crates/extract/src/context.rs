//! What stands around a link: the sentence it is in, and the heading above it.

use types::{Heading, Link, Span};

/// Longest context, in bytes (a longer anchor is its own context).
const MAX_CONTEXT: usize = 300;

/// The sentence(s) around `anchor`, within its line.
pub fn around(text: &str, anchor: Span) -> Span {
    let bytes = text.as_bytes();
    let (start, end) = ((anchor.start as usize).min(bytes.len()), (anchor.end as usize).min(bytes.len()));
    if end < start || end - start >= MAX_CONTEXT {
        return anchor;
    }
    let room = MAX_CONTEXT - (end - start);
    let low = start.saturating_sub(room);
    let high = (end + room).min(bytes.len());
    let left = left_edge(bytes, low, start);
    let right = right_edge(bytes, start, end, high);
    let (left, right) = fit(start, end, left, right, room);
    let left = if left < start { word_start(bytes, left, start) } else { start };
    let right = if right > end { word_end(bytes, end, right) } else { end };
    Span::new(left, right)
}

/// Where the sentence that holds `start` begins, not before `low`.
fn left_edge(bytes: &[u8], low: usize, start: usize) -> usize {
    let mut i = start;
    while i > low {
        match bytes[i - 1] {
            b'\n' => return i,
            // One sentence ends before the blank at i - 1, another begins after it.
            b' ' | b'\t' if ends_sentence(bytes, i - 1) => return i,
            0x82 | 0x81 | 0x9f if is_cjk_stop(bytes, i) => return i,
            _ => i -= 1,
        }
    }
    low
}

/// Where the sentence that holds the end of the anchor ends, not after `high`.
fn right_edge(bytes: &[u8], start: usize, end: usize, high: usize) -> usize {
    // The anchor's own full stop ends the sentence, too.
    let mut i = end;
    while i < high {
        match bytes[i] {
            b'\n' => return i,
            b' ' | b'\t' if i > start && ends_sentence(bytes, i) => return i,
            _ if i > end && is_cjk_stop(bytes, i) => return i,
            _ => i += 1,
        }
    }
    high
}

/// Shares the room between both sides, giving one side what the other does not need.
fn fit(start: usize, end: usize, left: usize, right: usize, room: usize) -> (usize, usize) {
    let (before, after) = (start - left, right - end);
    if before + after <= room {
        return (left, right);
    }
    let before = before.min((room / 2).max(room.saturating_sub(after)));
    (start - before, end + after.min(room - before))
}

/// Moves a cut to where a word begins (and so to a character's first byte).
fn word_start(bytes: &[u8], left: usize, start: usize) -> usize {
    if left == 0 || bytes[left - 1].is_ascii_whitespace() || is_cjk_stop(bytes, left) {
        return left;
    }
    // No blank in sight (a long word, a script without spaces): a character boundary must do.
    match bytes[left..start].iter().position(|b| b.is_ascii_whitespace()) {
        Some(i) => (left + i + 1).min(start),
        None => (left..start).find(|&i| is_boundary(bytes, i)).unwrap_or(start),
    }
}

fn word_end(bytes: &[u8], end: usize, right: usize) -> usize {
    if right == bytes.len() || bytes[right].is_ascii_whitespace() || is_cjk_stop(bytes, right) {
        return right;
    }
    match bytes[end..right].iter().rposition(|b| b.is_ascii_whitespace()) {
        Some(i) => end + i,
        None => (end..=right).rev().find(|&i| is_boundary(bytes, i)).unwrap_or(end),
    }
}

fn is_boundary(bytes: &[u8], i: usize) -> bool {
    bytes.get(i).is_none_or(|b| !(0x80..0xc0).contains(b))
}

/// Does an ideographic full stop (。！？) end at `i`?
fn is_cjk_stop(bytes: &[u8], i: usize) -> bool {
    i >= 3 && matches!(bytes[i - 3..i], [0xe3, 0x80, 0x82] | [0xef, 0xbc, 0x81 | 0x9f])
}

/// Is the blank at `i` between two sentences?
fn ends_sentence(bytes: &[u8], i: usize) -> bool {
    let mut stop = i;
    while stop > 0 && matches!(bytes[stop - 1], b')' | b'"' | b'\'' | b']') {
        stop -= 1;
    }
    let Some(mark) = stop.checked_sub(1).map(|s| bytes[s]) else { return false };
    if !matches!(mark, b'.' | b'!' | b'?') {
        return false;
    }
    // A sentence does not begin with a small letter.
    let next = bytes.get(i + 1).copied().unwrap_or(b' ');
    if next.is_ascii_lowercase() {
        return false;
    }
    if mark != b'.' {
        return true;
    }
    // `Prof. Smith`, `J. Smith`, `U.S. Army`, `vol. 3`.
    let end = stop - 1;
    let begin = bytes[end.saturating_sub(12)..end]
        .iter()
        .rposition(|b| !b.is_ascii_alphabetic())
        .map_or(end.saturating_sub(12), |p| end.saturating_sub(12) + p + 1);
    let word = &bytes[begin..end];
    const SHORT: [&[u8]; 22] = [
        b"prof", b"dr", b"mr", b"mrs", b"ms", b"st", b"vs", b"etc", b"eg", b"ie", b"no", b"fig", b"pp",
        b"vol", b"ed", b"eds", b"al", b"cf", b"dept", b"univ", b"sec", b"ch",
    ];
    let initial = word.len() == 1 && word[0].is_ascii_uppercase();
    !(initial || SHORT.iter().any(|s| word.eq_ignore_ascii_case(s)))
}

/// Gives each link the nearest heading before it. Both are in document order.
pub fn headings(headings: &[Heading], links: &mut [Link]) {
    let mut next = 0;
    for link in links {
        while headings.get(next).is_some_and(|h| {
            // An empty link at the very place where a heading starts stands before it.
            h.span.start < link.anchor.start || (h.span.start == link.anchor.start && !link.anchor.is_empty())
        }) {
            next += 1;
        }
        link.heading = next.checked_sub(1).map(|h| h as u32);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(text: &str) -> String {
        let start = text.find('[').unwrap();
        let end = text.find(']').unwrap() - 1;
        let plain = text.replace(['[', ']'], "");
        around(&plain, Span::new(start, end)).of(&plain).to_string()
    }

    #[test]
    fn sentences() {
        assert_eq!(of("First one. See the [notes] for more. Last."), "See the notes for more.");
        assert_eq!(of("[Notes] come first. Then others."), "Notes come first.");
        assert_eq!(of("Before. All [here.] After."), "All here.");
        assert_eq!(
            of("Taught by Prof. [J. Smith] in room 3. Bring books."),
            "Taught by Prof. J. Smith in room 3."
        );
        assert_eq!(of("One line\nthe [link] line\nthird"), "the link line");
        assert_eq!(of("これは一。次の[リンク]です。終わり"), "次のリンクです。");
        assert_eq!(of("What? [Yes] (really!) No."), "Yes (really!)");
        assert_eq!(of("[]"), "");
        assert_eq!(of("Text around [] an image. More."), "Text around  an image.");
        assert_eq!(of("see e.g. the [notes] there"), "see e.g. the notes there");
    }

    #[test]
    fn long_sentences_are_cut_at_words() {
        let long = format!("{}[link]{}", "before ".repeat(100), " after".repeat(100));
        let c = of(&long);
        assert!(c.len() <= MAX_CONTEXT && c.len() > MAX_CONTEXT - 20, "{}", c.len());
        assert!(c.starts_with("before ") && c.ends_with(" after") && c.contains("link"));
        let one_side = of(&format!("[link]{}", " after".repeat(100)));
        assert!(one_side.len() > MAX_CONTEXT - 20);
    }

    proptest! {
        #[test]
        fn always_on_boundaries_and_around(text in "[a-zé。. \n]{0,900}", a in 0usize..900, n in 0usize..200) {
            let start = text.floor_char_boundary(a.min(text.len()));
            let end = text.ceil_char_boundary((start + n).min(text.len()));
            let c = around(&text, Span::new(start, end));
            prop_assert!(text.get(c.start as usize..c.end as usize).is_some());
            prop_assert!(c.start as usize <= start && c.end as usize >= end);
            prop_assert!(c.len() <= MAX_CONTEXT.max(end - start));
        }
    }
}
