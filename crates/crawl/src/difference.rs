//! Did a page change? By its own text: not by a menu, a clock, a counter or an advert.

use focus::text::Doc;

/// More pairs of lines than this are not compared one by one: what is on one side only is the difference.
const MOST_PAIRS: usize = 4_000_000;
/// Bytes of a difference that are kept.
const KEPT: usize = 8 << 10;
/// Lines around a change that are shown with it.
const CONTEXT: usize = 1;

/// A line says that what follows was paid for.
const ADVERT: &[&str] = &[
    "ad",
    "ads",
    "advert",
    "advertisement",
    "sponsored",
    "anzeige",
    "werbung",
    "publicité",
    "publicidad",
    "pubblicità",
];
/// A line with one of these is about the moment or the readers, if only its numbers are others.
const PASSING: &[&str] = &[
    "ago",
    "copyright",
    "counter",
    "generated",
    "hits",
    "loaded",
    "modified",
    "now",
    "online",
    "rendered",
    "seconds",
    "served",
    "today",
    "updated",
    "users",
    "views",
    "visitors",
    "visits",
    "©",
];
/// Words that are as good as one another in such a line.
const UNITS: &[&str] = &[
    "second",
    "minute",
    "hour",
    "day",
    "week",
    "month",
    "year",
    "mon",
    "tue",
    "wed",
    "thu",
    "fri",
    "sat",
    "sun",
    "monday",
    "tuesday",
    "wednesday",
    "thursday",
    "friday",
    "saturday",
    "sunday",
    "jan",
    "feb",
    "mar",
    "apr",
    "may",
    "jun",
    "jul",
    "aug",
    "sep",
    "oct",
    "nov",
    "dec",
    "january",
    "february",
    "march",
    "april",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
    "am",
    "pm",
    "a",
    "an",
];

/// What changed in a page's own text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Difference {
    /// Words that are new.
    pub added: u32,
    /// Words that are gone.
    pub removed: u32,
    /// Lines that begin with `+`, `-` or a blank, each change with its surroundings; `@` where lines are left
    /// out.
    pub text: String,
}

/// A page's own lines: its title, and its text without menus and adverts.
pub(crate) fn own_lines(doc: &Doc) -> Vec<String> {
    let mut lines = Vec::new();
    let clean = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let title = clean(&doc.page.title);
    if !title.is_empty() {
        lines.push(title);
    }
    let mut paid = false;
    for line in doc.own_lines() {
        let text = clean(line.span.of(&doc.page.text));
        let label = text.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
        if std::mem::replace(&mut paid, ADVERT.contains(&label.as_str())) || paid {
            continue;
        }
        lines.push(text);
    }
    lines
}

/// `None`: it says the same.
pub(crate) fn difference(old: &[String], new: &[String]) -> Option<Difference> {
    let mut steps = compare(old, new);
    forget_passing(&mut steps);
    let words = |mark: char| -> u32 {
        let of = |(_, line): &(char, &str)| line.split_whitespace().count() as u32;
        steps.iter().filter(|(m, _)| *m == mark).map(of).sum()
    };
    let (added, removed) = (words('+'), words('-'));
    (added + removed > 0).then(|| Difference { added, removed, text: shown(&steps) })
}

/// Every line of both, in order: `+` new, `-` gone, blank kept.
fn compare<'a>(old: &'a [String], new: &'a [String]) -> Vec<(char, &'a str)> {
    let front = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let (a, b) = (&old[front..], &new[front..]);
    let back = a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count();
    let (a, b) = (&a[..a.len() - back], &b[..b.len() - back]);
    let mut steps: Vec<(char, &str)> = old[..front].iter().map(|l| (' ', l.as_str())).collect();
    if a.len().saturating_mul(b.len()) > MOST_PAIRS {
        let known = |lines: &'a [String]| {
            lines.iter().map(String::as_str).collect::<std::collections::HashSet<&str>>()
        };
        let (in_old, in_new) = (known(a), known(b));
        steps.extend(a.iter().filter(|l| !in_new.contains(l.as_str())).map(|l| ('-', l.as_str())));
        steps.extend(b.iter().filter(|l| !in_old.contains(l.as_str())).map(|l| ('+', l.as_str())));
    } else {
        longest_common(a, b, &mut steps);
    }
    steps.extend(old[old.len() - back..].iter().map(|l| (' ', l.as_str())));
    steps
}

/// By the longest common subsequence; what is gone comes before what is new.
fn longest_common<'a>(a: &'a [String], b: &'a [String], steps: &mut Vec<(char, &'a str)>) {
    let wide = b.len() + 1;
    let mut common = vec![0u32; (a.len() + 1) * wide];
    for i in (0..a.len()).rev() {
        for j in (0..b.len()).rev() {
            common[i * wide + j] = if a[i] == b[j] {
                common[(i + 1) * wide + j + 1] + 1
            } else {
                common[(i + 1) * wide + j].max(common[i * wide + j + 1])
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    while i < a.len() || j < b.len() {
        if i < a.len() && j < b.len() && a[i] == b[j] {
            steps.push((' ', &a[i]));
            (i, j) = (i + 1, j + 1);
        } else if i < a.len() && (j == b.len() || common[(i + 1) * wide + j] >= common[i * wide + j + 1]) {
            steps.push(('-', &a[i]));
            i += 1;
        } else {
            steps.push(('+', &b[j]));
            j += 1;
        }
    }
}

/// Pairs of a line that is gone and one that is new, which differ in passing things only, count as kept.
fn forget_passing(steps: &mut Vec<(char, &str)>) {
    let mut out = Vec::with_capacity(steps.len());
    for run in steps.chunk_by(|a, b| (a.0 == ' ') == (b.0 == ' ')) {
        let gone: Vec<&str> = run.iter().filter(|s| s.0 == '-').map(|s| s.1).collect();
        let come: Vec<&str> = run.iter().filter(|s| s.0 == '+').map(|s| s.1).collect();
        if run.first().is_none_or(|s| s.0 == ' ') {
            out.extend_from_slice(run);
            continue;
        }
        let mut paired = vec![false; come.len()];
        for old in gone {
            match come.iter().enumerate().find(|(i, new)| !paired[*i] && is_passing(old, new)) {
                Some((i, new)) => {
                    paired[i] = true;
                    out.push((' ', *new));
                }
                None => out.push(('-', old)),
            }
        }
        out.extend(come.iter().zip(paired).filter(|(_, paired)| !paired).map(|(new, _)| ('+', *new)));
    }
    *steps = out;
}

/// Do two lines differ only in what passes: a time of day, how long ago something was, how many looked at it?
fn is_passing(old: &str, new: &str) -> bool {
    let (a, b) = (words(old), words(new));
    if a.iter().map(|w| mask(w)).ne(b.iter().map(|w| mask(w))) {
        return false;
    }
    let has_clock = |text: &str| {
        let digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
        let pair = |(at, _): (usize, &str)| {
            digit(text[..at].chars().next_back())
                && text[at + 1..].chars().take(2).filter(char::is_ascii_digit).count() == 2
        };
        text.match_indices(':').any(pair)
    };
    let says = |words: &[String]| words.iter().any(|w| PASSING.contains(&w.as_str()));
    (has_clock(old) && has_clock(new)) || (says(&a) && says(&b))
}

fn words(line: &str) -> Vec<String> {
    let split = |c: char| !(c.is_alphanumeric() || c == '©');
    line.split(split).filter(|w| !w.is_empty()).map(str::to_lowercase).collect()
}

/// Numbers are as good as one another, and so are units of time, months and weekdays.
fn mask(word: &str) -> &str {
    let unit = word.strip_suffix('s').unwrap_or(word);
    if word.starts_with(|c: char| c.is_ascii_digit()) || UNITS.contains(&word) || UNITS.contains(&unit) {
        "#"
    } else {
        word
    }
}

/// The changes with a little around them.
fn shown(steps: &[(char, &str)]) -> String {
    let near = |i: usize| {
        let around = i.saturating_sub(CONTEXT)..(i + CONTEXT + 1).min(steps.len());
        steps[around].iter().any(|(mark, _)| *mark != ' ')
    };
    let (mut text, mut gap) = (String::new(), false);
    for (i, (mark, line)) in steps.iter().enumerate() {
        if !near(i) {
            gap = true;
            continue;
        }
        if std::mem::take(&mut gap) {
            text.push_str("@\n");
        }
        text.push(*mark);
        text.push_str(line);
        text.push('\n');
        if text.len() > KEPT {
            text.truncate(text.floor_char_boundary(KEPT));
            text.push_str("…\n@\n");
            break;
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(str::to_string).collect()
    }

    #[test]
    fn what_is_new_and_what_is_gone_with_a_little_around_it() {
        let old = lines("Title\none\ntwo\nthree\nfour\nfive\nsix\nseven");
        let new = lines("Title\none\ntwo\nthree and a half\nfour\nfive\nsix\nseven\neight nine");
        let d = difference(&old, &new).unwrap();
        assert_eq!((d.added, d.removed), (6, 1));
        assert_eq!(d.text, "@\n two\n-three\n+three and a half\n four\n@\n seven\n+eight nine\n");
        assert_eq!(difference(&old, &old), None);
        assert_eq!(difference(&[], &lines("a b")).unwrap().text, "+a b\n");
        assert_eq!(difference(&lines("a b"), &[]).unwrap().removed, 2);
    }

    #[test]
    fn clocks_and_counters_are_no_change_but_dates_and_prices_are() {
        let same = |a: &str, b: &str| difference(&lines(a), &lines(b)).is_none();
        assert!(same("Home\nIt is 12:03:55 in Berlin", "Home\nIt is 18:40:01 in Berlin"));
        assert!(
            same("posted 3 minutes ago", "posted an hour ago")
                || same("posted 3 minutes ago", "posted 5 hours ago")
        );
        assert!(same("1,204 visitors so far", "1,399 visitors so far"));
        assert!(same("Last updated: Mon, 3 May 2026", "Last updated: Tue, 4 May 2026"));
        assert!(same("© 2025 Example", "© 2026 Example"));
        assert!(!same("The exam is on 3 May 2026", "The exam is on 5 May 2026"));
        assert!(!same("Price: 10 Euro", "Price: 12 Euro"));
        assert!(!same("Lecture at 12:00 in hall A", "Lecture at 12:00 in hall B"));
        // Of several lines the pairs are found.
        assert!(same("a\n5 views\n12:01 now", "a\n7 views\n12:09 now"));
    }

    #[test]
    fn huge_texts_are_compared_in_bounded_time() {
        let old: Vec<String> = (0..5_000).map(|n| format!("line {n}")).collect();
        let mut new: Vec<String> = old.iter().rev().cloned().collect();
        new.push("something else".into());
        let d = difference(&old, &new).unwrap();
        assert_eq!((d.added, d.removed), (2, 0), "another order is no other text");
        let long = vec!["x ".repeat(20_000)];
        assert!(difference(&[], &long).unwrap().text.len() < KEPT + 10);
    }
}
