//! A topic in a sentence: what is wanted and what is not, as in "syllabi of database courses, not tutorials".
//! Pure.

use super::presets::{self, Preset};

/// Where what is not wanted begins.
const NOT: &[&str] = &[
    ", but not ",
    " but not ",
    ", and not ",
    " and not ",
    ", not ",
    " not ",
    ", except ",
    " except ",
    ", without ",
    " without ",
    ", rather than ",
    " rather than ",
    ", no ",
    "; not ",
];

/// What a sentence wants, and what it does not.
pub fn halves(text: &str) -> (&str, &str) {
    // Of the same length, or the places would not fit.
    let lower = text.to_ascii_lowercase();
    let first = NOT.iter().filter_map(|not| Some((lower.find(not)?, not.len()))).min();
    match first {
        Some((at, length)) => (text.get(..at).unwrap_or(text), text.get(at + length..).unwrap_or("")),
        None => (text, ""),
    }
}

/// What can be read from a sentence without anybody's help.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sentence {
    /// Name of the preset for the kind of page, when one was named.
    pub genre: Option<&'static str>,
    /// The words that named the kind of page, as they were typed.
    pub kind: String,
    /// Phrases of what it is about.
    pub subject: Vec<String>,
    /// Phrases after "not", "without", "no" and the like.
    pub not: Vec<String>,
}

impl Sentence {
    /// What is not wanted: phrases with which a page can be dropped, and single words, which may stand on
    /// wanted pages, too.
    pub fn unwanted(&self) -> (Vec<String>, Vec<String>) {
        self.not.iter().cloned().partition(|n| n.contains(' '))
    }
}

/// Words that say nothing about a page, at the edges of a phrase.
const FILLERS: &[&str] = &[
    "a",
    "about",
    "all",
    "an",
    "and",
    "any",
    "are",
    "at",
    "by",
    "collect",
    "concerning",
    "every",
    "find",
    "for",
    "from",
    "good",
    "i",
    "in",
    "into",
    "is",
    "like",
    "looking",
    "many",
    "me",
    "my",
    "need",
    "of",
    "on",
    "or",
    "our",
    "over",
    "page",
    "pages",
    "please",
    "regarding",
    "show",
    "site",
    "sites",
    "some",
    "such",
    "that",
    "the",
    "their",
    "there",
    "these",
    "this",
    "those",
    "to",
    "want",
    "web",
    "website",
    "websites",
    "which",
    "with",
    "would",
    "nor",
    "not",
    "only",
];
/// Words between two phrases.
const BETWEEN: &[&str] = &[
    "about",
    "and",
    "at",
    "by",
    "concerning",
    "for",
    "from",
    "in",
    "of",
    "on",
    "or",
    "over",
    "regarding",
    "that",
    "to",
    "which",
    "with",
    "nor",
];

impl Sentence {
    /// Reads a sentence in English.
    pub fn read(text: &str) -> Sentence {
        let (wanted, not) = halves(text.trim().trim_end_matches(['.', '!', '?']));
        let words: Vec<&str> = wanted.split_whitespace().collect();
        let mut taken = vec![false; words.len()];
        let mut genre: Option<(&'static Preset, usize, usize)> = None;
        // The longest name of a kind; of equals the first, because the kind is said first.
        for preset in presets::all() {
            for name in std::iter::once(&preset.name).chain(&preset.aliases) {
                let parts: Vec<&str> = name.split('-').collect();
                for (at, window) in words.windows(parts.len()).enumerate() {
                    let same = window.iter().zip(&parts).enumerate().all(|(i, (word, part))| {
                        let word = bare(word);
                        word == *part || (i + 1 == parts.len() && is_plural(&word, part))
                    });
                    if same
                        && genre
                            .is_none_or(|(_, b, n)| (parts.len(), words.len() - at) > (n, words.len() - b))
                    {
                        genre = Some((preset, at, parts.len()));
                    }
                }
            }
        }
        let mut kind = String::new();
        if let Some((preset, at, n)) = genre {
            kind = words[at..at + n].iter().map(|w| bare(w)).collect::<Vec<_>>().join(" ");
            taken[at..at + n].fill(true);
            // Other names of the same kind say nothing new: "syllabi of … courses".
            for (i, word) in words.iter().enumerate() {
                let word = bare(word);
                let known = |name: &&str| word == **name || is_plural(&word, name);
                taken[i] |= std::iter::once(&preset.name).chain(&preset.aliases).any(known);
            }
        }
        let mut subject = Vec::new();
        let mut phrase: Vec<&str> = Vec::new();
        let mut end = |phrase: &mut Vec<&str>| {
            subject.extend(tidy(phrase));
            phrase.clear();
        };
        for (word, taken) in words.iter().zip(taken) {
            if taken || BETWEEN.contains(&bare(word).as_str()) {
                end(&mut phrase);
                continue;
            }
            phrase.push(word);
            if word.ends_with([',', ';', ':']) {
                end(&mut phrase);
            }
        }
        end(&mut phrase);
        let mut seen: Vec<String> = Vec::new();
        subject.retain(|s| {
            let new = !seen.contains(s);
            seen.push(s.clone());
            new
        });
        let not = not.split([',', ';']).flat_map(|part| split_words(part, &["and", "or", "nor"]));
        let not = not.filter_map(|words| tidy(&words)).collect();
        Sentence { genre: genre.map(|(p, ..)| p.name), kind, subject, not }
    }
}

fn split_words<'a>(text: &'a str, at: &[&str]) -> Vec<Vec<&'a str>> {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.split(|w| at.contains(&w.to_lowercase().as_str())).map(<[&str]>::to_vec).collect()
}

/// A word as it is compared.
fn bare(word: &str) -> String {
    word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase()
}

fn is_plural(word: &str, of: &str) -> bool {
    let ies = of.strip_suffix('y').is_some_and(|stem| word.strip_suffix("ies") == Some(stem));
    let i = of.strip_suffix("us").is_some_and(|stem| word.strip_suffix('i') == Some(stem));
    ies || i || word.strip_suffix('s') == Some(of) || word.strip_suffix("es") == Some(of)
}

/// A phrase without fillers at its edges; `None` when nothing is left.
fn tidy(words: &[&str]) -> Option<String> {
    let mut words: Vec<&str> =
        words.iter().map(|w| w.trim_matches(['"', '“', '”', ',', ';', ':', '(', ')', '.'])).collect();
    let filler =
        |w: Option<&&str>| w.is_some_and(|w| w.is_empty() || FILLERS.contains(&w.to_lowercase().as_str()));
    while filler(words.first()) {
        words.remove(0);
    }
    while filler(words.last()) {
        words.pop();
    }
    let text = words.join(" ").to_lowercase();
    text.chars().any(char::is_alphanumeric).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (Option<&'static str>, Vec<String>, Vec<String>) {
        let s = Sentence::read(text);
        (s.genre, s.subject, s.not)
    }

    #[test]
    fn sentences() {
        let list = |items: &[&str]| items.iter().map(|s| s.to_string()).collect::<Vec<_>>();
        for (text, genre, subject, not) in [
            (
                "syllabi of database courses, not tutorials",
                Some("syllabus"),
                &["database"][..],
                &["tutorials"][..],
            ),
            (
                "Recipes with lentils and red cabbage, but not desserts or soups.",
                Some("recipe"),
                &["lentils", "red cabbage"],
                &["desserts", "soups"],
            ),
            (
                "job offers for Rust developers in Berlin",
                Some("job-offer"),
                &["rust developers", "berlin"],
                &[],
            ),
            ("I want all pages about query optimization", None, &["query optimization"], &[]),
            (
                "research papers on graph databases, without surveys",
                Some("research-paper"),
                &["graph databases"],
                &["surveys"],
            ),
            ("course pages of operating systems", Some("syllabus"), &["operating systems"], &[]),
            ("Vorlesungen über Datenbanken", None, &["vorlesungen über datenbanken"], &[]),
            ("not", None, &[], &[]),
            ("", None, &[], &[]),
            (", not ", None, &[], &[]),
        ] {
            assert_eq!(read(text), (genre, list(subject), list(not)), "{text}");
        }
        assert_eq!(Sentence::read("syllabi of database courses").kind, "syllabi");
        assert_eq!(halves("İstanbul courses, not İzmir"), ("İstanbul courses", "İzmir"));
    }
}
