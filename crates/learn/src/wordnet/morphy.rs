//! WordNet's own morphology (morphy(7WN)): exceptions first, then endings, and only forms that are in the
//! database.

use super::{Pos, WordNet};

const NOUN: &[(&str, &str)] = &[
    ("s", ""),
    ("ses", "s"),
    ("ves", "f"),
    ("xes", "x"),
    ("zes", "z"),
    ("ches", "ch"),
    ("shes", "sh"),
    ("men", "man"),
    ("ies", "y"),
];
const VERB: &[(&str, &str)] =
    &[("s", ""), ("ies", "y"), ("es", "e"), ("es", ""), ("ed", "e"), ("ed", ""), ("ing", "e"), ("ing", "")];
const ADJECTIVE: &[(&str, &str)] = &[("er", ""), ("est", ""), ("er", "e"), ("est", "e")];

/// Longer than any word of a database: a megabyte of letters is not looked up.
const LONGEST: usize = 100;

/// Known base forms of a word as it is spelled here (lower case, blanks), itself first.
pub(super) fn base_forms(net: &WordNet, word: &str, pos: Pos) -> Vec<String> {
    let mut out = Vec::new();
    if word.is_empty() || word.len() > LONGEST {
        return out;
    }
    for form in candidates(net, word, pos) {
        if !out.contains(&form) && !net.exact(&form, pos).is_empty() {
            out.push(form);
        }
    }
    if out.is_empty() && word.contains(' ') {
        // A phrase that is not known as it stands: each of its words in its base form (`attorneys general`).
        let parts = word.split(' ').map(|w| base_forms(net, w, pos).pop().unwrap_or_else(|| w.to_owned()));
        let whole = parts.collect::<Vec<_>>().join(" ");
        if !net.exact(&whole, pos).is_empty() {
            out.push(whole);
        }
    }
    out
}

fn candidates(net: &WordNet, word: &str, pos: Pos) -> Vec<String> {
    let mut out = vec![word.to_owned()];
    let exceptions = net.exceptions.get(pos.index()).and_then(|e| e.get(word));
    out.extend(exceptions.into_iter().flatten().map(|b| b.to_string()));
    let rules = match pos {
        Pos::Noun => NOUN,
        Pos::Verb => VERB,
        Pos::Adjective => ADJECTIVE,
        Pos::Adverb => &[],
    };
    // `boxesful` is `boxful`; `ss` is no plural; two letters are no inflection.
    let (stem, after) = match word.strip_suffix("ful") {
        Some(stem) if pos == Pos::Noun => (stem, "ful"),
        _ => (word, ""),
    };
    if pos == Pos::Noun && (stem.ends_with("ss") || stem.len() <= 2) {
        return out;
    }
    for (ending, base) in rules {
        if let Some(start) = stem.strip_suffix(ending).filter(|s| !s.is_empty()) {
            out.push(format!("{start}{base}{after}"));
        }
    }
    out
}
