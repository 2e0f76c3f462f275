//! The topic's words, compiled: genre terms, content terms, URL terms, and the words of the wish (the topic's name and
//! description). A term also matches with its last word in the plural or the singular.

use super::features::{Places, TermCount};
use crate::text::{Language, Terms, TermsBuilder, TextOptions, Token};
use crate::topic::Topic;
use std::collections::BTreeMap;
use std::ops::Range;

pub(super) const GENRE: usize = 0;
pub(super) const CONTENT: usize = 1;
pub(super) const URL: usize = 2;
pub(super) const WISH: usize = 3;
const SETS: [&str; 4] = ["genre", "content", "url", "wish"];

/// Words of a wish that say nothing of a page.
const EMPTY_WORDS: &[&str] = &[
    "home",
    "homepage",
    "homepages",
    "page",
    "pages",
    "site",
    "sites",
    "web",
    "website",
    "websites",
    "find",
    "want",
    "documents",
    "document",
    "all",
    "crawl",
    "topic",
    "collection",
    "about",
    "test",
];

pub(super) struct TopicTerms {
    /// Every term and its other spellings.
    compiled: Terms,
    /// By number in `compiled`: the term it is a spelling of.
    spelling_of: Vec<u32>,
    /// Numbers in `compiled` whose words make a page the topic's.
    topical: Range<usize>,
    /// The topic's name says more than the content terms do.
    name_says_more: bool,
}

impl TopicTerms {
    pub fn new(topic: &Topic) -> TopicTerms {
        let options = &topic.text.options;
        let own = [&topic.genre, &topic.content, &topic.url]
            .map(|list| list.add_to(TermsBuilder::new(options).set("list")).build());
        let wish = wish_words(topic, options);
        let mut builder = TermsBuilder::new(options);
        let mut from: Vec<u32> = Vec::new();
        for (set, name) in SETS.iter().enumerate() {
            builder = builder.set(name);
            let words: Vec<(String, Option<Language>)> = match own.get(set) {
                Some(terms) => {
                    (0..terms.len()).map(|t| (terms.text(t).to_string(), terms.language_of(t))).collect()
                }
                None => wish.iter().map(|w| (w.clone(), None)).collect(),
            };
            let first = from.len() as u32;
            // All terms first: a spelling that is a term of its own counts for itself.
            for (text, language) in &words {
                let before = builder.len();
                builder = builder.term(text, *language);
                if builder.len() > before {
                    from.push(before as u32);
                }
            }
            let firsts: Vec<u32> = (first..from.len() as u32).collect();
            for (number, (text, language)) in firsts.iter().zip(words_added(&builder, first)) {
                for spelling in other_spellings(&text) {
                    let before = builder.len();
                    builder = builder.term(&spelling, language);
                    if builder.len() > before {
                        from.push(*number);
                    }
                }
            }
        }
        let said: Vec<Vec<String>> = own
            .get(CONTENT)
            .map_or(Vec::new(), |content| (0..content.len()).map(|t| spellings(content.text(t))).collect());
        let name_says_more = wish.iter().any(|w| !said.iter().flatten().any(|s| s == w));
        let compiled = builder.build();
        let topical = match compiled.set_is_empty(GENRE) && compiled.set_is_empty(CONTENT) {
            true => compiled.terms_of(WISH),
            false => compiled.terms_of(GENRE).start..compiled.terms_of(CONTENT).end,
        };
        TopicTerms { compiled, spelling_of: from, topical, name_says_more }
    }

    /// The terms of a set that count on a page of this list.
    pub fn active(&self, set: usize, list: u8) -> impl Iterator<Item = u32> + '_ {
        let list = language(list);
        let number = |t: usize| (self.spelling_of.get(t) == Some(&(t as u32))).then_some(t as u32);
        self.compiled.active(set, list).filter_map(number)
    }
    /// Does the topic's name say more than the content terms? If it only repeats them, it must not count them twice.
    pub fn name_says_more(&self) -> bool {
        self.name_says_more
    }
    pub fn set_is_empty(&self, set: usize) -> bool {
        self.compiled.set_is_empty(set)
    }
    pub fn len(&self) -> usize {
        self.compiled.len()
    }
    pub fn text(&self, term: u32) -> &str {
        self.compiled.text(term as usize)
    }
    pub fn set_name(&self, set: usize) -> &'static str {
        self.compiled.set_name(set)
    }

    /// Counts the terms on a page, field by field. Returns which list of presets counts there, too, and how many words of its
    /// own text belong to a term of genre or content (of the wish, if there are no such terms).
    pub fn count(&self, page: &Places) -> (u8, Vec<TermCount>, u32) {
        let mut found: BTreeMap<u32, TermCount> = BTreeMap::new();
        // Words of topical terms, each once, however many terms it belongs to.
        let mut note = |tokens: &[Token], field: fn(&mut TermCount)| -> usize {
            let (mut words, mut until) = (0, 0);
            self.compiled.each(tokens, |t, at| {
                let term = self.spelling_of.get(t).copied().unwrap_or(t as u32);
                field(found.entry(term).or_insert(TermCount { term, ..TermCount::default() }));
                if self.topical.contains(&t) {
                    let end = at + self.compiled.words_of(t);
                    words += end.saturating_sub(at.max(until));
                    until = until.max(end);
                }
                true
            });
            words
        };
        let (beginning, rest) = page.own.split_at(page.beginning());
        let first = |t: &mut TermCount| (t.count, t.in_beginning) = (t.count + 1, true);
        let topical: usize = beginning.iter().map(|line| note(line, first)).sum::<usize>()
            + rest.iter().map(|line| note(line, |t| t.count += 1)).sum::<usize>();
        for heading in page.headings {
            note(heading, |t| (t.count, t.in_heading) = (t.count + 1, true));
        }
        note(page.title, |t| (t.count, t.in_title) = (t.count + 1, true));
        note(page.url, |t| t.in_url = true);
        for link in page.links {
            note(link, |t| t.in_link = true);
        }
        let list = self.compiled.list_for(page.language).map_or(0, number);
        (list, found.into_values().collect(), topical as u32)
    }
}

/// The terms from `first` on that are in the builder already, with their languages.
fn words_added(builder: &TermsBuilder, first: u32) -> Vec<(String, Option<Language>)> {
    (first as usize..builder.len()).filter_map(|t| builder.get(t)).map(|(t, l)| (t.to_string(), l)).collect()
}

fn number(language: Language) -> u8 {
    Language::ALL.iter().position(|l| *l == language).map_or(0, |i| i as u8 + 1)
}
fn language(number: u8) -> Option<Language> {
    Language::ALL.get(usize::from(number).checked_sub(1)?).copied()
}

/// The words of name and description that say something.
fn wish_words(topic: &Topic, options: &TextOptions) -> Vec<String> {
    let said = [Some(topic.name.as_str()), topic.description.as_deref()];
    let mut out: Vec<String> = Vec::new();
    for text in said.into_iter().flatten() {
        // "…, not tutorials" does not wish for tutorials.
        let text = crate::topic::sentence::halves(text).0.replace(['_', '-'], " ");
        for token in options.tokens(&text) {
            let word = crate::text::normalise(token.span().of(&text));
            if !token.is_stop() && !EMPTY_WORDS.contains(&word.as_str()) && !out.contains(&word) {
                out.push(word);
            }
        }
    }
    out.truncate(40);
    out
}

/// A term as it is compared, in all its spellings.
fn spellings(term: &str) -> Vec<String> {
    let mut all = other_spellings(term);
    all.push(term.to_string());
    all.iter().map(|t| crate::text::normalise(t)).collect()
}

/// Singular and plural of the last word, by the rules of English; of others they match nothing.
fn other_spellings(term: &str) -> Vec<String> {
    let t = term.trim_end();
    let last = t.rsplit([' ', '-']).next().unwrap_or(t);
    if last.chars().count() < 3 || !last.chars().all(char::is_alphabetic) {
        return Vec::new();
    }
    let cut = |n: usize| t.get(..t.len() - n).unwrap_or(t).to_string();
    if let Some(stem) = t.strip_suffix("ies") {
        vec![format!("{stem}y")]
    } else if t.ends_with("ss") || t.ends_with("us") || t.ends_with("is") {
        vec![format!("{t}es")]
    } else if t.ends_with("ches") || t.ends_with("shes") || t.ends_with("sses") || t.ends_with("xes") {
        vec![cut(2), cut(1)]
    } else if t.ends_with('s') {
        vec![cut(1)]
    } else if t.ends_with('y') && !t.ends_with("ay") && !t.ends_with("ey") && !t.ends_with("oy") {
        vec![format!("{}ies", cut(1))]
    } else if t.ends_with("ch") || t.ends_with("sh") || t.ends_with('x') {
        vec![format!("{t}es")]
    } else {
        vec![format!("{t}s")]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn topic() -> Topic {
        Topic::from_toml(
            "name = 'Home pages of database courses'\n[genre]\nterms = ['syllabus', 'office hours']\n\
             [content]\nterms = ['query', 'queries', 'index']\n[url]\nterms = ['course']",
        )
        .unwrap()
    }

    #[test]
    fn a_term_matches_in_the_plural_and_counts_once() {
        let t = TopicTerms::new(&topic());
        let text = TextOptions::default();
        let tokens = |s: &str| text.tokens(s);
        let lines = [tokens("office hour office hours"), tokens("indexes queries query")];
        let own: Vec<&[Token]> = lines.iter().map(|l| l.as_slice()).collect();
        let links = [tokens("an office hour")];
        let page = Places {
            own: &own,
            title: &tokens("syllabi"),
            headings: &[],
            url: &tokens("courses"),
            links: &links,
            language: None,
        };
        let (list, found, topical) = t.count(&page);
        assert_eq!(
            found.iter().filter(|f| f.in_link).map(|f| t.text(f.term)).collect::<Vec<_>>(),
            ["office hours"]
        );
        assert!(found.iter().all(|f| f.in_beginning == (f.count > 0) && !f.in_heading));
        let said: Vec<(&str, u32, bool)> =
            found.iter().map(|f| (t.text(f.term), f.count, f.in_url)).collect();
        assert_eq!((list, topical), (0, 7));
        // `query` and `queries` are both terms: each counts for itself.
        assert_eq!(
            said,
            [
                ("office hours", 2, false),
                ("query", 1, false),
                ("queries", 1, false),
                ("index", 1, false),
                ("course", 0, true),
                ("courses", 0, true)
            ]
        );
        assert_eq!(t.active(WISH, 0).map(|w| t.text(w)).collect::<Vec<_>>(), ["database", "courses"]);
        assert_eq!(t.active(GENRE, 0).count(), 2, "spellings are not terms of their own");
        let line = tokens("office hours of the index course");
        let (_, _, topical) = t.count(&Places { own: &[&line], title: &[], url: &[], links: &[], ..page });
        assert_eq!(topical, 3, "a course is only in the address");
    }
}
