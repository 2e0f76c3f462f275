//! A topic's terms, compiled once: words and phrases of several named sets, counted in one pass over the
//! tokens, and the similarity of Assis 2008, §3.1.

use super::vector::{DocFreq, Plain, phrase_hash};
use super::{Language, TextOptions, Token};
use std::collections::HashMap;

/// Compiled terms of several sets (`genre`, `content` …).
#[derive(Clone, Debug, Default)]
pub struct Terms {
    terms: Vec<Term>,
    sets: Vec<Set>,
    /// The words of all phrases after their first, end to end.
    rest: Vec<u64>,
    /// First word → range of `starts`.
    first: HashMap<u64, (u32, u32), Plain>,
    /// Terms by first word.
    starts: Vec<u32>,
    /// One bit per first word: most words of a page begin no term, and one test says so.
    sieve: Vec<u64>,
    /// Which lists of presets exist.
    languages: Vec<Language>,
}

#[derive(Clone, Debug)]
struct Term {
    text: String,
    /// Counts only on pages of this language (a preset's list); `None` = always (the user's own).
    language: Option<Language>,
    rest: (u32, u32),
    hash: u64,
}

#[derive(Clone, Debug)]
struct Set {
    name: &'static str,
    terms: (u32, u32),
}

const SIEVE_BITS: u64 = 4096;

/// Collects sets of terms, then compiles them.
pub struct TermsBuilder<'a> {
    options: &'a TextOptions,
    terms: Terms,
    words: Vec<(u64, u32)>,
    seen: Vec<(Vec<u64>, Option<Language>)>,
}

impl<'a> TermsBuilder<'a> {
    /// No sets yet; `options` says how terms are read.
    pub fn new(options: &'a TextOptions) -> Self {
        TermsBuilder { options, terms: Terms::default(), words: Vec::new(), seen: Vec::new() }
    }

    /// Starts a set; the terms that follow belong to it.
    pub fn set(mut self, name: &'static str) -> Self {
        let n = self.terms.terms.len() as u32;
        self.terms.sets.push(Set { name, terms: (n, n) });
        self.seen.clear();
        self
    }

    /// Adds a term, a word or a phrase. One that says the same as an earlier one of the set is not added
    /// twice, nor is one without any word. Give the user's own terms (`None`) before those of presets.
    pub fn term(mut self, text: &str, language: Option<Language>) -> Self {
        let hashes: Vec<u64> = self.options.tokens(text).iter().map(|t| t.hash).collect();
        let Some((&head, tail)) = hashes.split_first() else { return self };
        if self.seen.iter().any(|(h, l)| *h == hashes && (l.is_none() || *l == language)) {
            return self;
        }
        let n = self.terms.terms.len() as u32;
        let from = self.terms.rest.len() as u32;
        self.terms.rest.extend_from_slice(tail);
        let rest = (from, self.terms.rest.len() as u32);
        self.terms.terms.push(Term {
            text: text.trim().to_string(),
            language,
            rest,
            hash: phrase_hash(&hashes),
        });
        self.words.push((head, n));
        self.seen.push((hashes, language));
        if let Some(set) = self.terms.sets.last_mut() {
            set.terms.1 = n + 1;
        }
        if let Some(l) = language
            && !self.terms.languages.contains(&l)
        {
            self.terms.languages.push(l);
        }
        self
    }

    /// How many terms there are so far.
    pub(crate) fn len(&self) -> usize {
        self.terms.terms.len()
    }
    /// A term that was added, with the language of its list.
    pub(crate) fn get(&self, term: usize) -> Option<(&str, Option<Language>)> {
        self.terms.terms.get(term).map(|t| (t.text.as_str(), t.language))
    }

    /// Adds terms that count on pages of every language.
    pub fn terms<S: AsRef<str>>(self, texts: &[S]) -> Self {
        texts.iter().fold(self, |b, t| b.term(t.as_ref(), None))
    }

    /// The finished sets, ready to be looked for.
    pub fn build(mut self) -> Terms {
        self.words.sort_unstable();
        let mut t = self.terms;
        t.sieve = vec![0; (SIEVE_BITS / 64) as usize];
        for (head, n) in self.words {
            let at = t.starts.len() as u32;
            t.starts.push(n);
            let range = t.first.entry(head).or_insert((at, at));
            range.1 = at + 1;
            if let Some(word) = t.sieve.get_mut((head % SIEVE_BITS / 64) as usize) {
                *word |= 1 << (head % 64);
            }
        }
        t
    }
}

/// How often each term of each set was found, on a page of some language.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    counts: Vec<u32>,
    language: Option<Language>,
}

impl Found {
    pub(crate) fn new(counts: Vec<u32>, language: Option<Language>) -> Found {
        Found { counts, language }
    }
    /// How often the term of this number was found.
    pub fn count(&self, term: usize) -> u32 {
        self.counts.get(term).copied().unwrap_or(0)
    }
    /// Which list of presets was used.
    pub fn language(&self) -> Option<Language> {
        self.language
    }
}

impl Terms {
    /// One set of plain terms.
    pub fn of<S: AsRef<str>>(name: &'static str, terms: &[S], options: &TextOptions) -> Terms {
        TermsBuilder::new(options).set(name).terms(terms).build()
    }

    /// Number of terms of all sets.
    pub fn len(&self) -> usize {
        self.terms.len()
    }
    /// There are no terms in any set.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }
    /// The number of the set called `name`.
    pub fn set(&self, name: &str) -> Option<usize> {
        self.sets.iter().position(|s| s.name == name)
    }
    pub(crate) fn set_name(&self, set: usize) -> &'static str {
        self.sets.get(set).map_or("", |s| s.name)
    }
    pub(crate) fn set_is_empty(&self, set: usize) -> bool {
        self.sets.get(set).is_none_or(|s| s.terms.0 >= s.terms.1)
    }
    /// A term as the user wrote it.
    pub fn text(&self, term: usize) -> &str {
        self.terms.get(term).map_or("", |t| &t.text)
    }
    /// The language of the preset's list that a term is from; `None` for the user's own.
    pub(crate) fn language_of(&self, term: usize) -> Option<Language> {
        self.terms.get(term).and_then(|t| t.language)
    }
    /// The numbers of a set's terms.
    pub(crate) fn terms_of(&self, set: usize) -> std::ops::Range<usize> {
        self.sets.get(set).map_or(0..0, |s| s.terms.0 as usize..s.terms.1 as usize)
    }
    /// How many words a term has.
    pub(crate) fn words_of(&self, term: usize) -> usize {
        self.terms.get(term).map_or(0, |t| 1 + (t.rest.1 - t.rest.0) as usize)
    }
    /// The term of a set by its text.
    pub fn find(&self, set: usize, text: &str, language: Option<Language>) -> Option<usize> {
        self.active(set, language).find(|&t| self.text(t) == text)
    }
    /// Name of the term in a [`DocFreq`].
    pub fn hash(&self, term: usize) -> u64 {
        self.terms.get(term).map_or(0, |t| t.hash)
    }

    /// Which list of presets to use for a page: its language's if there is one, else the English one.
    pub fn list_for(&self, language: Option<Language>) -> Option<Language> {
        match language {
            Some(l) if self.languages.contains(&l) => Some(l),
            _ if self.languages.contains(&Language::English) => Some(Language::English),
            _ => None,
        }
    }

    /// The terms of a set that count on a page: the user's own, and those of the chosen list.
    pub fn active(&self, set: usize, list: Option<Language>) -> impl Iterator<Item = usize> + Clone + '_ {
        let (from, to) = self.sets.get(set).map_or((0, 0), |s| s.terms);
        (from as usize..to as usize).filter(move |&i| {
            self.terms.get(i).is_some_and(|t| t.language.is_none() || (t.language == list && list.is_some()))
        })
    }

    /// Counts every term in some pieces of text. Every occurrence counts: `index` is also in `partial index`.
    pub fn count(&self, pieces: &[&[Token]], language: Option<Language>) -> Found {
        let mut counts = vec![0; self.terms.len()];
        for piece in pieces {
            self.each(piece, |term, _| {
                if let Some(n) = counts.get_mut(term) {
                    *n += 1;
                }
                true
            });
        }
        Found { counts, language: self.list_for(language) }
    }

    /// The first term found in the pieces.
    pub fn first_in(&self, pieces: &[&[Token]]) -> Option<usize> {
        let mut found = None;
        for piece in pieces {
            self.each(piece, |term, _| {
                found = Some(term);
                false
            });
            if found.is_some() {
                break;
            }
        }
        found
    }

    /// Calls `hit(term, index of its first token)` for every occurrence, until it says false.
    pub fn each(&self, tokens: &[Token], mut hit: impl FnMut(usize, usize) -> bool) {
        if self.terms.is_empty() {
            return;
        }
        for (i, token) in tokens.iter().enumerate() {
            let bits = self.sieve.get((token.hash % SIEVE_BITS / 64) as usize).copied().unwrap_or(0);
            if bits >> (token.hash % 64) & 1 == 0 {
                continue;
            }
            let Some(&(from, to)) = self.first.get(&token.hash) else { continue };
            for &n in self.starts.get(from as usize..to as usize).unwrap_or(&[]) {
                let (a, b) = self.terms.get(n as usize).map_or((0, 0), |t| t.rest);
                let rest = self.rest.get(a as usize..b as usize).unwrap_or(&[]);
                let next = tokens.get(i + 1..i + 1 + rest.len());
                if next.is_some_and(|next| next.iter().zip(rest).all(|(t, h)| t.hash == *h))
                    && !hit(n as usize, i)
                {
                    return;
                }
            }
        }
    }

    /// `sim(p, s)` of Assis 2008 for one set, with the idf of each term. 0 when none of its terms was found.
    pub fn sim(&self, set: usize, found: &Found, idf: impl Fn(usize) -> f64) -> f64 {
        let idf = &idf;
        sim(self.active(set, found.language).map(|t| (found.count(t), idf(t))))
    }

    /// The idf of every term from a background collection.
    pub fn idf_from(&self, df: &DocFreq) -> Vec<f64> {
        self.terms.iter().map(|t| df.idf(t.hash)).collect()
    }
}

/// Assis 2008, §3.1: `w_ij = f_ij × idf_i` with `f_ij = freq_ij / max_l freq_lj`, `w_is = idf_i`,
/// `sim = Σ w_ij·w_is / (‖w_j‖·‖w_s‖)` over `(freq, idf)` of the set's terms.
pub fn sim(terms: impl Iterator<Item = (u32, f64)> + Clone) -> f64 {
    let max = terms.clone().map(|t| t.0).max().unwrap_or(0);
    if max == 0 {
        return 0.0;
    }
    let (mut dot, mut page, mut set) = (0.0, 0.0, 0.0);
    for (freq, idf) in terms {
        let w_j = f64::from(freq) / f64::from(max) * idf;
        dot += w_j * idf;
        page += w_j * w_j;
        set += idf * idf;
    }
    let length = libm::sqrt(page) * libm::sqrt(set);
    if length > 0.0 { (dot / length).clamp(0.0, 1.0) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn count(terms: &[&str], text: &str) -> Vec<u32> {
        let o = TextOptions::default();
        let t = Terms::of("content", terms, &o);
        let found = t.count(&[&o.tokens(text)], None);
        (0..t.len()).map(|i| found.count(i)).collect()
    }

    #[test]
    fn words_and_phrases() {
        let terms = [
            "index",
            "partial index",
            "b-tree",
            "what's new",
            "c++",
            "russell and norvig",
            "ph.d",
            "Index",
            "!",
        ];
        let text = "What’s new: a Partial\n INDEX and index; B–tree, C++. Russell and Norvig, PhD (Ph.D.)";
        // `Index` says the same as `index`, `!` says nothing: seven terms are left.
        assert_eq!(count(&terms, text), [2, 1, 1, 1, 1, 1, 2]);
        assert_eq!(count(&terms, ""), [0; 7]);
        assert_eq!(count(&["a b c"], "a b a b c a b"), [1]);
        assert_eq!(count(&["office hours"], "office"), [0]);
    }

    #[test]
    fn sim_by_hand() {
        // idf = 1, terms (freq 2, 1, 0): f = (1, 0.5, 0), w_s = (1, 1, 1).
        let expected = 1.5 / ((1.0f64 + 0.25).sqrt() * 3.0f64.sqrt());
        assert!((sim([(2, 1.0), (1, 1.0), (0, 1.0)].into_iter()) - expected).abs() < 1e-12);
        // idf = (2, 3): f = (1, 0.5): w_j = (2, 1.5), w_s = (2, 3).
        let expected = (4.0 + 4.5) / ((4.0f64 + 2.25).sqrt() * 13.0f64.sqrt());
        assert!((sim([(4, 2.0), (2, 3.0)].into_iter()) - expected).abs() < 1e-12);
        assert_eq!(sim([(0, 1.0)].into_iter()), 0.0);
        assert_eq!(sim([].into_iter()), 0.0);
        assert_eq!(sim([(3, 0.0)].into_iter()), 0.0);
        assert!((sim([(3, 1.0), (3, 1.0)].into_iter()) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn several_sets_and_languages_at_once() {
        let o = TextOptions::default();
        let t = TermsBuilder::new(&o)
            .set("genre")
            .term("exam", None)
            .term("exam", Some(Language::English))
            .term("grading", Some(Language::English))
            .term("avaliação", Some(Language::Portuguese))
            .set("content")
            .term("exam", None)
            .build();
        let tokens = o.tokens("Exam, grading, avaliacao");
        let found = t.count(&[&tokens], Some(Language::Portuguese));
        let of =
            |f: &Found, set| t.active(set, f.language()).map(|i| (t.text(i), f.count(i))).collect::<Vec<_>>();
        assert_eq!(of(&found, 0), [("exam", 1), ("avaliação", 1)]);
        assert_eq!(of(&found, 1), [("exam", 1)]);
        // No Italian list: the English one, and the user's own.
        let found = t.count(&[&tokens], Some(Language::Italian));
        assert_eq!(of(&found, 0), [("exam", 1), ("grading", 1)]);
        assert_eq!(of(&t.count(&[&tokens], None), 0).len(), 2);
        assert_eq!(t.first_in(&[&o.tokens("no"), &o.tokens("the grading")]), Some(1));
    }

    #[test]
    fn stems_meet_in_terms_too() {
        let o = TextOptions { stem: Some(Language::English) };
        let t = Terms::of("content", &["operating systems"], &o);
        assert_eq!(t.count(&[&o.tokens("An operating system")], None).count(0), 1);
    }

    proptest! {
        #[test]
        fn sim_is_bounded(terms in proptest::collection::vec((0u32..1000, 0.0f64..20.0), 0..30)) {
            let s = sim(terms.into_iter());
            prop_assert!((0.0..=1.0).contains(&s));
        }

        #[test]
        fn counting_agrees_with_looking(text in "[ab ]{0,40}", term in "[ab]( [ab]){0,2}") {
            let words: Vec<&str> = text.split_whitespace().collect();
            let phrase: Vec<&str> = term.split(' ').collect();
            let expected = words.windows(phrase.len()).filter(|w| *w == phrase).count() as u32;
            prop_assert_eq!(count(&[&term], &text), [expected]);
        }
    }
}
