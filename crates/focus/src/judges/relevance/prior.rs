//! What the topic alone says of a page: log-odds from the terms it has.
//!
//! The terms of genre and content are measured apart, by BM25 with the idf of the pages crawled so far, as a share of
//! what a page with all of them would have; a page needs both (their geometric mean and the smaller of the two count,
//! not their mean). Where the words stand adds to it: in the title, the URL, at the beginning, in headings, in the links
//! that lead to the page. Length takes away, because a long page has every word. The weights are constants, fitted by
//! logistic regression to 20 labelled topics of two webs (12 on 1997 university pages, 8 on modern documentation) and
//! checked by leaving a topic, and a web, out: docs/adr/0053-where-the-words-stand.md has the table.
//!
//! A page that is stuffed with the topic's words loses what they gave it ([`stuffing`]).

use super::features::{Features, TermCount};
use super::terms::{CONTENT, GENRE, TopicTerms, URL, WISH};

/// How many measures there are.
pub(super) const MEASURES: usize = 13;

/// Their names, for people.
pub(super) const NAMES: [&str; MEASURES] = [
    "genre and subject",
    "the weaker of the two",
    "words of the address",
    "length",
    "subject in the title",
    "words of the topic's name",
    "name in the title",
    "name in the address",
    "genre at the beginning",
    "subject at the beginning",
    "name at the beginning",
    "name in headings",
    "subject in links to it",
];

/// Weights of the measures, and the constant.
struct Weights {
    of: [f64; MEASURES],
    constant: f64,
}

const WEIGHTS: Weights = Weights {
    of: [1.162, 1.79, 1.329, -0.269, 0.646, 0.813, 0.78, 1.524, 0.615, 0.15, 0.944, 0.364, 1.041],
    constant: 7.384,
};
/// For topics whose name says no more than their content terms, or whose words stand on no page.
const WITHOUT_NAME: Weights = Weights {
    of: [1.675, 1.775, 2.296, -0.316, 0.953, 0.0, 0.0, 0.0, 0.584, 0.45, 0.0, 0.0, 1.161],
    constant: 9.259,
};
/// The same for pages of which nobody knows where the words stand, because a version before 0.5 kept them.
const WITHOUT_PLACES: Weights = Weights {
    of: [1.147, 2.15, 2.781, -0.348, 1.371, 1.425, 1.934, 1.524, 0.0, 0.0, 0.0, 0.0, 0.0],
    constant: 8.636,
};
const WITHOUT_NAME_AND_PLACES: Weights = Weights {
    of: [1.65, 2.206, 4.794, -0.335, 2.175, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
    constant: 10.296,
};

/// BM25's constants.
const K: f64 = 1.2;
const B: f64 = 0.5;
/// Keeps the logarithm of nothing finite: a page without any term of a set.
const NOTHING: f64 = 0.05;
/// Pages that are imagined before the first one is seen, each term on one of them: the first idf is no accident.
const IMAGINED: f64 = 50.0;

/// Pages people write have less of the topic's words than this: their share of the page's own words, times the share of the
/// topic's terms that occur at all.
const FULLEST: f64 = 0.12;
/// Short pages vary more: so much is allowed on top, divided by the square root of their length. A syllabus of 230 words
/// that names all that it teaches has 0.16, and may have 0.18.
const FULLEST_SHORT: f64 = 0.85;
/// A topic of few terms is soon complete: it is taken for one with so many more.
const MORE_TERMS: f64 = 6.0;
/// No text is by half the topic's words, unless it is short, or a list in which every line says `syllabus`.
const HALF: f64 = 0.5;
const FEWEST_WORDS: u32 = 40;
const FEWEST_TERMS: f64 = 3.0;
/// What it costs to be fuller, in log-odds.
const STUFFED: f64 = 60.0;

/// What was seen of the crawl: on how many pages each term stands, and how long pages are.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Background {
    pages: u32,
    words: u64,
    /// By term: pages whose own text, title or headings have it; whose URLs have it.
    with: Vec<(u32, u32)>,
}

impl Background {
    pub fn new(terms: &TopicTerms) -> Background {
        Background { with: vec![(0, 0); terms.len()], ..Background::default() }
    }

    pub fn add(&mut self, page: &Features) {
        self.pages += 1;
        self.words += u64::from(page.length);
        for t in &page.terms {
            if let Some(n) = self.with.get_mut(t.term as usize) {
                n.0 += u32::from(t.count > 0);
                n.1 += u32::from(t.in_url);
            }
        }
    }

    /// Takes in what was seen elsewhere.
    pub fn merge(&mut self, other: &Background) {
        self.pages += other.pages;
        self.words += other.words;
        for (mine, theirs) in self.with.iter_mut().zip(&other.with) {
            mine.0 += theirs.0;
            mine.1 += theirs.1;
        }
    }

    fn idf_of(&self, df: u32) -> f64 {
        let (n, df) = (f64::from(self.pages) + IMAGINED, f64::from(df) + 1.0);
        libm::log(1.0 + (n - df + 0.5).max(0.5) / (df + 0.5))
    }
    fn idf(&self, term: u32) -> f64 {
        self.idf_of(self.with.get(term as usize).map_or(0, |w| w.0))
    }
    fn url_idf(&self, term: u32) -> f64 {
        self.idf_of(self.with.get(term as usize).map_or(0, |w| w.1))
    }
    /// Does the word stand anywhere, or is it too early to tell?
    fn is_met(&self, term: u32) -> bool {
        self.pages < 50 || self.with.get(term as usize).is_some_and(|w| w.0 > 0)
    }
    fn usual_length(&self) -> f64 {
        (self.words as f64 + 300.0 * IMAGINED) / (f64::from(self.pages) + IMAGINED)
    }
}

/// The prior of a topic after some pages.
#[derive(Clone, Debug)]
pub(super) struct Prior {
    background: Background,
    /// Does the topic's name count?
    named: bool,
}

/// What the topic alone sees of a page.
#[derive(Clone, Debug)]
pub(super) struct Measured {
    pub of: [f64; MEASURES],
    has_places: bool,
}

impl Prior {
    pub fn new(terms: &TopicTerms, background: Background) -> Prior {
        let named = terms.name_says_more() && terms.active(WISH, 0).any(|t| background.is_met(t));
        Prior { background, named }
    }

    fn weights(&self, has_places: bool) -> &'static Weights {
        match (self.named, has_places) {
            (true, true) => &WEIGHTS,
            (false, true) => &WITHOUT_NAME,
            (true, false) => &WITHOUT_PLACES,
            (false, false) => &WITHOUT_NAME_AND_PLACES,
        }
    }

    pub fn log_odds(&self, page: &Measured, stuffing: f64) -> f64 {
        let weights = self.weights(page.has_places);
        weights.constant + page.of.iter().zip(weights.of).map(|(m, w)| m * w).sum::<f64>() + cost(stuffing)
    }

    /// The measures of a page of the usual length that has no word of the topic: what people compare with.
    fn of_any_page(&self) -> [f64; MEASURES] {
        let mut any = [0.0; MEASURES];
        let nothing = libm::log(NOTHING);
        (any[0], any[1], any[3]) = (nothing, nothing, libm::log1p(self.background.usual_length()));
        any
    }

    /// The log-odds of any page, and what each measure of this one adds to them.
    pub fn parts(&self, page: &Measured) -> (f64, [f64; MEASURES]) {
        let any = Measured { of: self.of_any_page(), has_places: page.has_places };
        let weights = self.weights(page.has_places);
        let mut added = [0.0; MEASURES];
        for (((a, w), m), any) in added.iter_mut().zip(weights.of).zip(page.of).zip(any.of) {
            *a = w * (m - any);
        }
        (self.log_odds(&any, 0.0), added)
    }

    /// The measures of a page. A topic without terms has only its name.
    pub fn measure(&self, terms: &TopicTerms, page: &Features) -> Measured {
        let sets = [GENRE, CONTENT].map(|set| self.matched(terms, set, page));
        // A topic with one set asks for that set.
        let (genre, content) = match sets {
            [Some(g), Some(c)] => (g, c),
            [Some(one), None] | [None, Some(one)] => (one, one),
            [None, None] => (0.0, 0.0),
        };
        let content_set = if terms.set_is_empty(CONTENT) { GENRE } else { CONTENT };
        let genre_set = if terms.set_is_empty(GENRE) { CONTENT } else { GENRE };
        let (wish, wish_title, wish_url) = self.wish(terms, page);
        let beginning = |set| self.share(terms, set, page, |t| t.in_beginning);
        let of = [
            0.5 * (libm::log(genre + NOTHING) + libm::log(content + NOTHING)),
            libm::log(genre.min(content) + NOTHING),
            self.url(terms, page),
            libm::log1p(f64::from(page.length)),
            self.rarest(terms, content_set, page, |t| t.in_title),
            wish,
            wish_title,
            wish_url,
            beginning(genre_set),
            beginning(content_set),
            beginning(WISH),
            self.share(terms, WISH, page, |t| t.in_heading),
            self.rarest(terms, content_set, page, |t| t.in_link),
        ];
        Measured { of, has_places: page.has_places }
    }

    /// BM25 of a set's terms, as a share of what a page full of all of them has. `None` for an empty set.
    fn matched(&self, terms: &TopicTerms, set: usize, page: &Features) -> Option<f64> {
        let slow = K * (1.0 - B + B * f64::from(page.length) / self.background.usual_length());
        let (mut sum, mut most) = (0.0, 0.0);
        for term in terms.active(set, page.list) {
            let idf = self.background.idf(term);
            let n = f64::from(count(page, term).count);
            sum += idf * n * (K + 1.0) / (n + slow);
            most += idf * (K + 1.0);
        }
        (most > 0.0).then(|| sum / most)
    }

    /// The rarest URL term in the address, by its idf as a share of the largest there can be.
    fn url(&self, terms: &TopicTerms, page: &Features) -> f64 {
        let found = terms.active(URL, page.list).filter(|t| count(page, *t).in_url);
        let best = found.map(|t| self.background.url_idf(t)).fold(0.0, f64::max);
        best / libm::log(1.0 + f64::from(self.background.pages) + IMAGINED)
    }

    /// The rarest of a set's terms that stand in a place, as a share of the rarest of the set.
    fn rarest(&self, terms: &TopicTerms, set: usize, page: &Features, place: fn(TermCount) -> bool) -> f64 {
        let (mut best, mut most) = (0.0, 0.0f64);
        for term in terms.active(set, page.list) {
            let idf = self.background.idf(term);
            most = most.max(idf);
            if place(count(page, term)) {
                best = f64::max(best, idf);
            }
        }
        if most > 0.0 { best / most } else { 0.0 }
    }

    /// Those of a set's terms that stand in a place, by idf. Of the name only words that stand anywhere count.
    fn share(&self, terms: &TopicTerms, set: usize, page: &Features, place: fn(TermCount) -> bool) -> f64 {
        let (mut here, mut all) = (0.0, 0.0);
        for term in terms.active(set, page.list).filter(|t| set != WISH || self.background.is_met(*t)) {
            let idf = self.background.idf(term);
            all += idf;
            here += if place(count(page, term)) { idf } else { 0.0 };
        }
        if all > 0.0 { here / all } else { 0.0 }
    }

    /// The words of the topic's name on the page and in its title, by idf; the rarest of them in the address.
    fn wish(&self, terms: &TopicTerms, page: &Features) -> (f64, f64, f64) {
        let (mut here, mut title, mut all, mut url, mut most) = (0.0, 0.0, 0.0, 0.0f64, 0.0f64);
        for term in terms.active(WISH, page.list).filter(|t| self.background.is_met(*t)) {
            let idf = self.background.idf(term);
            let found = count(page, term);
            all += idf;
            most = most.max(idf);
            here += if found.count > 0 { idf } else { 0.0 };
            title += if found.in_title { idf } else { 0.0 };
            url = if found.in_url { url.max(idf) } else { url };
        }
        if all > 0.0 { (here / all, title / all, url / most) } else { (0.0, 0.0, 0.0) }
    }
}

/// How much fuller of the topic's words a page is than people write: 0 for almost every page.
pub(super) fn stuffing(terms: &TopicTerms, page: &Features) -> f64 {
    let sets: &[usize] = match [GENRE, CONTENT].iter().all(|s| terms.set_is_empty(*s)) {
        true => &[WISH],
        false => &[GENRE, CONTENT],
    };
    let (mut found, mut all) = (0.0, 0.0);
    for term in sets.iter().flat_map(|set| terms.active(*set, page.list)) {
        found += f64::from(u8::from(count(page, term).count > 0));
        all += 1.0;
    }
    if all == 0.0 || page.length < FEWEST_WORDS {
        return 0.0;
    }
    let length = f64::from(page.length);
    let share = f64::from(page.topical) / length;
    let most = FULLEST + FULLEST_SHORT / libm::sqrt(length);
    let beyond_half = if found >= FEWEST_TERMS { share - HALF } else { 0.0 };
    (share * found / (all + MORE_TERMS) - most).max(beyond_half).max(0.0)
}

/// In log-odds.
pub(super) fn cost(stuffing: f64) -> f64 {
    -STUFFED * stuffing
}

fn count(page: &Features, term: u32) -> TermCount {
    let found = page.terms.binary_search_by_key(&term, |t| t.term).ok();
    found.and_then(|i| page.terms.get(i)).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Doc;
    use crate::topic::Topic;
    use types::Page;

    const TERMS: [&str; 12] = [
        "syllabus",
        "instructor",
        "office hours",
        "grading",
        "homework",
        "midterm",
        "sql",
        "joins",
        "transactions",
        "relational algebra",
        "normalization",
        "query optimization",
    ];

    fn stuffing_of(text: &str) -> f64 {
        let list = |terms: &[&str]| terms.iter().map(|t| format!("'{t}'")).collect::<Vec<_>>().join(",");
        let (genre, content) = TERMS.split_at(6);
        let topic =
            format!("name = 'x'\n[genre]\nterms = [{}]\n[content]\nterms = [{}]", list(genre), list(content));
        let topic = Topic::from_toml(&topic).unwrap();
        let terms = TopicTerms::new(&topic);
        let page = Page { text: text.into(), ..Page::default() };
        let doc = Doc::new(std::sync::Arc::new(page), &topic.text.options);
        stuffing(&terms, &Features::of(&doc, &terms))
    }

    /// Each line of the page has `plain` ordinary words and a term, over and over.
    fn page(plain: usize) -> String {
        let ordinary =
            "the river and an old garden of quiet people who walked to a small yellow house ".repeat(9);
        let mut words = ordinary.split(' ').cycle();
        let line = |term: &&str| {
            let before: Vec<&str> = words.by_ref().take(plain).collect();
            format!("{} {term}.\n", before.join(" "))
        };
        TERMS.iter().cycle().take(60).map(line).collect()
    }

    #[test]
    fn a_page_that_names_all_it_is_about_is_not_stuffed_and_one_of_its_words_is() {
        // 16 words of terms in each 12 lines, and every term occurs: 16 / (16 + 12·plain) · 12 / (12 + 6).
        assert!(stuffing_of(&page(0)) > 0.4);
        assert!(stuffing_of(&page(2)) > 0.02);
        assert_eq!(stuffing_of(&page(4)), 0.0);
        // Half a page of one term is a list in which every line says it.
        assert_eq!(stuffing_of(&"syllabus of spring\n".repeat(50)), 0.0);
    }

    #[test]
    fn parts_add_up_and_what_speaks_for_a_page_is_positive() {
        let topic = "name = 'x'\n[genre]\nterms = ['syllabus']\n[content]\nterms = ['sql', 'joins']";
        let topic = Topic::from_toml(topic).unwrap();
        let terms = TopicTerms::new(&topic);
        let prior = Prior::new(&terms, Background::new(&terms));
        let page = Page { text: "syllabus of a course on sql, with joins".into(), ..Page::default() };
        let doc = Doc::new(std::sync::Arc::new(page), &topic.text.options);
        let measures = prior.measure(&terms, &Features::of(&doc, &terms));
        let (any, added) = prior.parts(&measures);
        assert!((any + added.iter().sum::<f64>() - prior.log_odds(&measures, 0.0)).abs() < 1e-9);
        assert!(any < 0.0 && added[0] > 1.0 && added[1] > 1.0 && added[3] > 0.0, "{any} {added:?}");
    }
}
