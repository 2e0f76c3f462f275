//! Genre presets: built-in lists of words and phrases by which pages of a kind are known, in five languages.
//!
//! The terms were chosen to discriminate: what pages of the kind say and others rarely do, rather than what
//! is frequent everywhere. The page's language selects the list; a page of unknown language is read with the
//! English one.

use super::did_you_mean;
use crate::text::Language;
use std::sync::LazyLock;
use types::Problem;

/// One genre.
#[derive(Debug, Default, PartialEq)]
pub struct Preset {
    /// The name in `[genre] preset`.
    pub name: &'static str,
    /// Other names people type.
    pub aliases: Vec<&'static str>,
    /// What pages of this kind are, in one line.
    pub summary: &'static str,
    /// Terms by language, English first.
    pub terms: Vec<(Language, Vec<&'static str>)>,
    /// Words in their URLs, of all languages.
    pub url: Vec<&'static str>,
}

impl Preset {
    /// The list for a language; the English one when there is none.
    pub fn list(&self, language: Option<Language>) -> &[&'static str] {
        let of = |l: Language| self.terms.iter().find(|t| t.0 == l).map(|t| t.1.as_slice());
        language.and_then(of).or_else(|| of(Language::English)).unwrap_or(&[])
    }
}

/// Every built-in genre.
pub fn all() -> &'static [Preset] {
    static PRESETS: LazyLock<Vec<Preset>> = LazyLock::new(|| read(include_str!("presets.txt")));
    &PRESETS
}

/// Reads the list: see the head of `presets.txt`.
fn read(text: &'static str) -> Vec<Preset> {
    let mut out: Vec<Preset> = Vec::new();
    let mut key = "";
    for line in text.lines().filter(|l| !l.starts_with('#') && !l.trim().is_empty()) {
        if let Some(name) = line.strip_prefix('[') {
            out.push(Preset { name: name.trim_end_matches(']'), ..Preset::default() });
            continue;
        }
        let Some(preset) = out.last_mut() else { continue };
        let mut rest = line;
        if !line.starts_with(' ')
            && let Some((k, r)) = line.split_once(':')
        {
            (key, rest) = (k, r);
        }
        let items = rest.split(';').map(str::trim).filter(|i| !i.is_empty());
        match key {
            "also" => preset.aliases.extend(items),
            "what" => preset.summary = rest.trim(),
            "url" => preset.url.extend(items),
            code => {
                let Some(language) = Language::from_code(code) else { continue };
                match preset.terms.iter_mut().find(|t| t.0 == language) {
                    Some(list) => list.1.extend(items),
                    None => preset.terms.push((language, items.collect())),
                }
            }
        }
    }
    out
}

/// A preset by name or alias, however it is spelt: `Job Offer` = `job-offer`.
pub fn find(name: &str) -> Option<&'static Preset> {
    let name = name.trim().to_lowercase().replace(['_', ' '], "-");
    all().iter().find(|p| p.name == name || p.aliases.contains(&name.as_str()))
}

/// The presets of these names; a Problem that names the nearest one when there is no such genre.
pub fn find_all(names: &[String]) -> Result<Vec<&'static Preset>, Problem> {
    let mut out: Vec<&'static Preset> = Vec::new();
    for name in names.iter().filter(|n| !n.trim().is_empty()) {
        let preset = find(name).ok_or_else(|| {
            let known: Vec<&str> =
                all().iter().flat_map(|p| std::iter::once(&p.name).chain(&p.aliases)).copied().collect();
            let names: Vec<&str> = all().iter().map(|p| p.name).collect();
            let near = super::nearest(name, known);
            let hint = near.map_or_else(|| did_you_mean(name, &names), |n| format!("did you mean `{n}`?"));
            Problem::usage(format!("[genre] preset: there is no genre `{name}`"))
                .hint(format!("{hint} `gleaner genres` shows them all; `[genre] terms` takes your own words"))
        })?;
        if !out.contains(&preset) {
            out.push(preset);
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::TextOptions;
    use std::collections::HashSet;

    #[test]
    fn names_are_unique_and_found_however_spelt() {
        let mut seen = HashSet::new();
        for p in all() {
            for name in std::iter::once(&p.name).chain(&p.aliases) {
                assert!(seen.insert(*name), "{name} twice");
                assert_eq!(find(name), Some(p));
                assert_eq!(find(&name.to_uppercase().replace('-', " ")), Some(p), "{name}");
            }
        }
        assert_eq!(find("sylabus"), None);
    }

    #[test]
    fn every_list_is_good_enough_to_use() {
        assert_eq!(all().len(), 16);
        let five = ["en", "pt", "es", "de", "fr"];
        let o = TextOptions::default();
        for p in all() {
            assert!(!p.summary.is_empty() && p.url.len() >= 4, "{}", p.name);
            let languages: Vec<&str> = p.terms.iter().map(|t| t.0.code()).collect();
            assert_eq!(languages, five, "{}", p.name);
            for (l, terms) in &p.terms {
                assert!(terms.len() >= 12, "{} {}: only {} terms", p.name, l.code(), terms.len());
                let mut seen = HashSet::new();
                for t in terms {
                    let hashes: Vec<u64> = o.tokens(t).iter().map(|t| t.hash).collect();
                    assert!(!hashes.is_empty() && hashes.len() <= 5, "{} {t}", p.name);
                    assert!(seen.insert(hashes), "{} {}: `{t}` twice", p.name, l.code());
                    // A term that is one stopword says nothing.
                    let mut tokens = Vec::new();
                    o.tokenise(t, Some(*l), &mut tokens);
                    assert!(tokens.len() > 1 || tokens.iter().any(|t| !t.is_stop()), "{} {t}", p.name);
                }
            }
        }
    }
}
