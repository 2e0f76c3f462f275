//! GenerateTerms (Assis 2008, Alg. 3): terms suggested from example pages.
//!
//! A term is a sequence of up to three consecutive words. The NG best of the pages of the wanted kind become
//! genre terms; the NC best of the relevant pages, the genre terms taken away, become content terms. The
//! paper ranks by frequency, which suggests much that stands on every page; [`Rank::LogOdds`] asks what
//! stands on these pages rather than on a background, and what goes with the subject there (`contrast.rs`).
//!
//! What is never suggested: terms that begin or end with a stopword, numbers, what every web page says
//! (`click here`), text of navigation, headers, footers and asides, and lines that several pages of one host
//! share.

use super::addresses::url_words;
use super::contrast::Contrast;
use crate::text::vector::phrase_hash;
use crate::text::{Doc, Token};
use std::collections::{BTreeMap, HashMap, HashSet};
use types::Region;

/// Words of a term, at most (Assis 2008).
pub const LONGEST: usize = 3;

/// Content terms suggested to somebody who picks, and taken when nobody does: every term that is not as good
/// as the others makes a page that has the good ones less like the topic.
pub const SHOWN: usize = 12;
/// See [`SHOWN`].
pub const TAKEN: usize = 8;

/// Words read of one page: more than any page people read has, and a bound on memory.
const WORDS_PER_PAGE: usize = 30_000;

/// A line of at least this many words that pages of one host share is no content. Shorter ones are often
/// headings.
const SHARED_LINE: usize = 4;

/// With so many terms that most of the pages have, others are not suggested.
const ENOUGH: usize = 6;

/// Words and phrases of the Web itself.
const WEB_WORDS: &str = "home page; homepage; web page; web site; website; site map; sitemap; click; click \
                         here; menu; \
    login; log in; sign in; sign up; logout; cookie; cookies; privacy policy; terms of use; terms of \
    service; \
    copyright; all rights reserved; rights reserved; last modified; last updated; updated; back to top; \
    previous; \
    next; read more; skip to content; main content; powered by; http; https; www; html; htm; com; org; edu; \
    gif; \
    jpg; mailto; email; e mail; javascript; search; share; tweet; facebook; twitter; rss; toggle navigation; \
    startseite; impressum; datenschutz; weiterlesen; anmelden; suche; zurück; pagina inicial; página \
    inicial; \
    ler mais; leia mais; pesquisar; busca; direitos reservados; inicio; leer más; buscar; iniciar sesión; \
    derechos reservados; prev; up; prev up; up next; prev up next; last update; mon; tue; wed; thu; fri; \
    sat; sun; \
    monday; tuesday; wednesday; thursday; friday; saturday; sunday; january; february; march; april; june; \
    july; \
    august; september; october; november; december; jan; feb; mar; apr; jun; jul; aug; sep; sept; oct; nov; \
    dec; accueil; lire la suite; rechercher; mentions légales; droits réservés";

/// How suggestions are ranked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rank {
    /// By number of occurrences: the paper's.
    Frequency,
    /// By log-odds against the background.
    LogOdds,
}

/// What is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// How terms are compared.
    pub rank: Rank,
    /// NG: genre terms wanted.
    pub genre: usize,
    /// NC: content terms wanted.
    pub content: usize,
    /// Words of the pages' addresses wanted (ours; not with the paper's frequency).
    pub url: usize,
    /// Words of a term, 1 to 3.
    pub words: usize,
    /// Leave out terms of one page only (of three or more) and those that stand in one longer term only.
    /// Always so by log-odds; the paper's frequency does without.
    pub tidy: bool,
    /// By log-odds: leave out what only waters a list down. That is, after the first, a term that tells the
    /// examples from other pages worse than the subject's own words do, and one that contains a better term
    /// or is part of it. For terms that nobody looks at before they are taken.
    pub sure: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            rank: Rank::LogOdds,
            genre: 20,
            content: SHOWN,
            url: 6,
            words: LONGEST,
            tidy: false,
            sure: false,
        }
    }
}

/// A suggested term.
#[derive(Clone, Debug, PartialEq)]
pub struct Suggestion {
    /// As it is first written, in lower case.
    pub term: String,
    /// Occurrences on the example pages.
    pub count: u32,
    /// Example pages it is on.
    pub pages: u32,
    /// What it was ranked by.
    pub score: f64,
}

/// The lists.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Generated {
    /// Terms of the kind of page, best first.
    pub genre: Vec<Suggestion>,
    /// Terms of the subject, best first.
    pub content: Vec<Suggestion>,
    /// Words in the addresses of the relevant pages.
    pub url: Vec<Suggestion>,
}

/// What the topic says already.
#[derive(Clone, Copy, Debug, Default)]
pub struct Known<'a> {
    /// What it is about, in the user's words: terms that go with it are preferred.
    pub subject: &'a [String],
    /// All its terms (its own, a preset's): they are not suggested again.
    pub terms: &'a [String],
}

/// GenerateTerms. Pages of the kind but of any subject tell content from genre, so they are background to the
/// content terms.
pub fn generate(
    genre: &[&Doc],
    relevant: &[&Doc],
    background: &[&Doc],
    known: Known,
    options: &Options,
) -> Generated {
    let mut taken = ExistingTerms::default();
    known.terms.iter().for_each(|t| taken.add(t));
    let first = suggest(genre, background, &[], &taken, options.genre, options);
    first.iter().for_each(|s| taken.add(&s.term));
    let mut others = background.to_vec();
    others.extend(genre.iter().filter(|g| !relevant.iter().any(|r| std::ptr::eq(**g, *r))));
    let content = suggest(relevant, &others, known.subject, &taken, options.content, options);
    let tidy = options.tidy || options.rank == Rank::LogOdds;
    let url = if tidy { url_words(relevant, background, options.url) } else { Vec::new() };
    Generated { genre: first, content, url }
}

/// The `n` best terms of these pages.
fn suggest(
    pages: &[&Doc],
    background: &[&Doc],
    subject: &[String],
    taken: &ExistingTerms,
    n: usize,
    o: &Options,
) -> Vec<Suggestion> {
    if n == 0 || pages.is_empty() {
        return Vec::new();
    }
    let found = Found::read(pages, o.words.clamp(1, LONGEST));
    let tidy = o.tidy || o.rank == Rank::LogOdds;
    // One page's hobby-horse is not the topic: at least two of three pages have a term.
    let least = if tidy && pages.len() >= 3 { 2 } else { 1 };
    let nested = if tidy { found.nested() } else { HashSet::new() };
    let is_candidate = |hash: u64| found.entries.get(&hash).is_some_and(|e| e.pages >= least);
    let contrast = (o.rank == Rank::LogOdds).then(|| Contrast::new(background, subject, is_candidate));
    let mut list: Vec<(u64, Suggestion)> = Vec::new();
    for (hash, e) in found.entries.iter().filter(|(h, e)| e.pages >= least && !nested.contains(h)) {
        if tidy && (e.extends(taken) || (!o.sure && taken.say(e))) {
            continue;
        }
        let score = match &contrast {
            None => f64::from(e.count),
            Some(c) => c.value(*hash, e.pages, pages.len()).unwrap_or(0.0),
        };
        if score > 0.0 {
            list.push((*hash, found.suggestion(e, pages, score)));
        }
    }
    list.retain(|(h, s)| !taken.phrases.contains(h) && !s.term.is_empty());
    list.sort_by(|(_, a), (_, b)| {
        let counts = b.pages.cmp(&a.pages).then(b.count.cmp(&a.count));
        b.score.total_cmp(&a.score).then(counts).then_with(|| a.term.cmp(&b.term))
    });
    if tidy && contrast.is_none() {
        // Few terms suffice (Assis 2008, Tab. 5.1). With nothing to compare with, what most of the pages have
        // is the best guess: terms of fewer only make up for missing ones.
        let most = pages.len().div_ceil(2) as u32;
        let common = list.iter().filter(|(_, s)| s.pages >= most).count();
        if common >= ENOUGH {
            list.retain(|(_, s)| s.pages >= most);
        }
    }
    match &contrast {
        Some(c) if o.sure => found.choose(list, c, pages, n),
        _ => list.into_iter().map(|(_, s)| s).take(n).collect(),
    }
}

/// The hash of a term's words; `None` when it has none.
pub(super) fn hash_of(term: &str) -> Option<u64> {
    let words: Vec<u64> = crate::text::TextOptions::default().tokens(term).iter().map(|t| t.hash).collect();
    (!words.is_empty()).then(|| phrase_hash(&words))
}

/// The words of a phrase of [`each_phrase`], and the phrase.
pub(super) fn hashed(tokens: &[Token]) -> ([u64; LONGEST], u64) {
    let mut words = [0; LONGEST];
    words.iter_mut().zip(tokens).for_each(|(w, t)| *w = t.hash);
    (words, phrase_hash(words.get(..tokens.len()).unwrap_or(&[])))
}

/// What is known of one sequence of words.
struct Entry {
    count: u32,
    pages: u32,
    words: [u64; LONGEST],
    len: u8,
    /// Where it first stands: page, text piece (0 = title, 1 = body) and bytes.
    at: (u32, u8, u32, u32),
}

impl Entry {
    fn words(&self) -> &[u64] {
        self.words.get(..usize::from(self.len)).unwrap_or(&[])
    }

    /// Is one of the two part of the other?
    fn overlaps(&self, other: &Entry) -> bool {
        let (a, b) = (self.words(), other.words());
        let (short, long) = if a.len() < b.len() { (a, b) } else { (b, a) };
        long.windows(short.len().max(1)).any(|part| part == short)
    }

    /// Is a phrase that is taken part of it? `relational model` says all that `relational model comes` does.
    fn extends(&self, taken: &ExistingTerms) -> bool {
        let words = self.words();
        (2..words.len()).any(|n| words.windows(n).any(|part| taken.phrases.contains(&phrase_hash(part))))
    }
}

/// The terms a topic has.
#[derive(Default)]
struct ExistingTerms {
    phrases: HashSet<u64>,
    words: HashSet<u64>,
}

impl ExistingTerms {
    fn add(&mut self, term: &str) {
        self.phrases.extend(hash_of(term));
        self.words.extend(crate::text::TextOptions::default().tokens(term).iter().map(|t| t.hash));
    }

    /// Is every word one of theirs? With `sql` and `syllabus`, `sql syllabus` says nothing new; with
    /// `relational model`, neither does `relational`.
    fn say(&self, e: &Entry) -> bool {
        e.words().iter().all(|word| self.words.contains(word))
    }
}

/// The term table of the algorithm.
struct Found {
    /// By phrase hash; ordered, so that sums are the same everywhere.
    entries: BTreeMap<u64, Entry>,
}

impl Found {
    fn read(pages: &[&Doc], longest: usize) -> Found {
        let shared = shared_lines(pages);
        let banned: HashSet<u64> = WEB_WORDS.split(';').filter_map(hash_of).collect();
        let mut entries: BTreeMap<u64, Entry> = BTreeMap::new();
        let mut on_page: HashMap<u64, u32> = HashMap::new();
        for (number, doc) in pages.iter().enumerate() {
            on_page.clear();
            each_phrase(doc, longest, &shared, |piece, tokens| {
                if !is_term(doc, piece, tokens) {
                    return;
                }
                let (words, hash) = hashed(tokens);
                if banned.contains(&hash) {
                    return;
                }
                *on_page.entry(hash).or_default() += 1;
                let (start, end) =
                    (tokens.first().map_or(0, |t| t.start), tokens.last().map_or(0, |t| t.end()));
                entries.entry(hash).or_insert(Entry {
                    count: 0,
                    pages: 0,
                    words,
                    len: tokens.len() as u8,
                    at: (number as u32, piece, start, end),
                });
            });
            for (hash, n) in &on_page {
                if let Some(e) = entries.get_mut(hash) {
                    e.count += n;
                    e.pages += 1;
                }
            }
        }
        Found { entries }
    }

    fn suggestion(&self, e: &Entry, pages: &[&Doc], score: f64) -> Suggestion {
        let (page, piece, start, end) = e.at;
        let text = pages.get(page as usize).map_or("", |d| piece_text(d, piece));
        let spelt = text.get(start as usize..end as usize).unwrap_or("");
        let term = spelt.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
        Suggestion { term, count: e.count, pages: e.pages, score }
    }

    /// The best of a ranking that are worth taking unseen ([`Options::sure`]).
    fn choose(
        &self,
        list: Vec<(u64, Suggestion)>,
        c: &Contrast,
        pages: &[&Doc],
        n: usize,
    ) -> Vec<Suggestion> {
        let least = c.of_subject(pages);
        let mut chosen: Vec<(&Entry, Suggestion)> = Vec::new();
        for (hash, suggestion) in list {
            let Some(entry) = self.entries.get(&hash).filter(|_| chosen.len() < n) else { continue };
            let good = chosen.is_empty() || c.apart(hash, entry.pages, pages.len()) >= least;
            if good && !chosen.iter().any(|(e, _)| e.overlaps(entry)) {
                chosen.push((entry, suggestion));
            }
        }
        chosen.into_iter().map(|(_, s)| s).collect()
    }

    /// Terms that hardly ever stand outside one longer term: `relational` beside `relational model`.
    fn nested(&self) -> HashSet<u64> {
        let mut out = HashSet::new();
        for e in self.entries.values().filter(|e| e.len > 1 && e.count > 1) {
            let words = e.words();
            for n in 1..words.len() {
                for part in words.windows(n) {
                    let hash = phrase_hash(part);
                    if self
                        .entries
                        .get(&hash)
                        .is_some_and(|p| u64::from(e.count) * 5 >= u64::from(p.count) * 4)
                    {
                        out.insert(hash);
                    }
                }
            }
        }
        out
    }
}

fn piece_text(doc: &Doc, piece: u8) -> &str {
    if piece == 0 { &doc.page.title } else { &doc.page.text }
}

/// Calls `each` with every sequence of 1 to `longest` words that stand together: on one line, with nothing
/// but a blank or a hyphen between them, outside boilerplate.
pub(super) fn each_phrase(
    doc: &Doc,
    longest: usize,
    shared: &HashSet<u64>,
    mut each: impl FnMut(u8, &[Token]),
) {
    let title = doc.title();
    runs(title, &doc.page.title, |run| windows(run, longest, |w| each(0, w)));
    let body = doc.body();
    let body = body.get(..body.len().min(WORDS_PER_PAGE)).unwrap_or(&[]);
    let text = &doc.page.text;
    let mut blocks = doc.page.blocks.iter().peekable();
    lines(body, text, |line| {
        let at = line.first().map_or(0, |t| t.start);
        while blocks.peek().is_some_and(|b| b.span.end <= at) {
            blocks.next();
        }
        let region = blocks.peek().map_or(Region::Body, |b| b.region);
        let is_shared = line.len() >= SHARED_LINE && shared.contains(&line_hash(line));
        if region == Region::Body && !is_shared {
            runs(line, text, |run| windows(run, longest, |w| each(1, w)));
        }
    });
}

fn windows(run: &[Token], longest: usize, mut each: impl FnMut(&[Token])) {
    for n in 1..=longest {
        run.windows(n).for_each(&mut each);
    }
}

/// The tokens line by line.
fn lines(tokens: &[Token], text: &str, mut each: impl FnMut(&[Token])) {
    let broken = |a: &Token, b: &Token| between(a, b, text).contains('\n');
    tokens.chunk_by(|a, b| !broken(a, b)).for_each(&mut each);
}

/// The stretches without punctuation in between.
fn runs(tokens: &[Token], text: &str, mut each: impl FnMut(&[Token])) {
    let joined = |a: &Token, b: &Token| {
        between(a, b, text)
            .chars()
            .all(|c| matches!(c, ' ' | '\t' | '\u{a0}' | '-' | '\u{2010}' | '\'' | '\u{2019}'))
    };
    tokens.chunk_by(joined).for_each(&mut each);
}

fn between<'a>(a: &Token, b: &Token, text: &'a str) -> &'a str {
    text.get(a.end() as usize..b.start as usize).unwrap_or("\n")
}

fn line_hash(line: &[Token]) -> u64 {
    let words: Vec<u64> = line.iter().map(|t| t.hash).collect();
    phrase_hash(&words)
}

/// Lines that stand on at least half of a host's pages, of hosts with three pages or more.
fn shared_lines(pages: &[&Doc]) -> HashSet<u64> {
    let mut hosts: BTreeMap<&str, Vec<&Doc>> = BTreeMap::new();
    for doc in pages {
        if let Some(url) = &doc.page.url {
            hosts.entry(url.host()).or_default().push(doc);
        }
    }
    let mut out = HashSet::new();
    for docs in hosts.values().filter(|d| d.len() >= 3) {
        let mut on: HashMap<u64, usize> = HashMap::new();
        for doc in docs {
            let mut here = HashSet::new();
            let body = doc.body();
            lines(body.get(..body.len().min(WORDS_PER_PAGE)).unwrap_or(&[]), &doc.page.text, |line| {
                if line.len() >= SHARED_LINE {
                    here.insert(line_hash(line));
                }
            });
            here.into_iter().for_each(|h| *on.entry(h).or_default() += 1);
        }
        out.extend(on.into_iter().filter(|(_, n)| 2 * n >= docs.len()).map(|(h, _)| h));
    }
    out
}

/// Words that join two terms: `model and query` is none.
const JOINING: [&str; 12] = ["and", "or", "und", "oder", "et", "ou", "e", "y", "o", "en", "ed", "oppure"];

/// May this be a term? Not when it begins or ends with a stopword, a number or a single letter, or joins two
/// terms.
fn is_term(doc: &Doc, piece: u8, tokens: &[Token]) -> bool {
    let text = piece_text(doc, piece);
    let good = |t: &Token| {
        let word = t.span().of(text);
        !t.is_stop() && word.chars().any(char::is_alphabetic) && word.chars().nth(1).is_some()
    };
    let joins = |t: &Token| JOINING.iter().any(|j| t.span().of(text).eq_ignore_ascii_case(j));
    let inner = tokens.get(1..tokens.len().saturating_sub(1)).unwrap_or(&[]);
    tokens.first().is_some_and(good) && tokens.last().is_some_and(good) && !inner.iter().any(joins)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::TextOptions;
    use std::sync::Arc;
    use types::{Block, Canon, Page, Span};

    fn doc(url: &str, text: &str) -> Doc {
        let page = Page {
            url: Canon::default().parse(url).ok(),
            language: "en".into(),
            text: text.into(),
            blocks: vec![Block { span: Span::new(0, text.len()), region: Region::Body }],
            ..Page::default()
        };
        Doc::new(Arc::new(page), &TextOptions::default())
    }
    fn names(list: &[Suggestion]) -> Vec<&str> {
        list.iter().map(|s| s.term.as_str()).collect()
    }
    fn options(rank: Rank) -> Options {
        Options { rank, ..Options::default() }
    }

    #[test]
    fn the_algorithm_of_the_paper_by_hand() {
        let genre = [
            doc("http://a.org/1", "Syllabus. Office hours. Syllabus."),
            doc("http://b.org/2", "office hours"),
        ];
        let relevant =
            [doc("http://a.org/3", "Syllabus of the relational model. Relational model, SQL. Office hours.")];
        let o = Options { genre: 2, content: 3, ..options(Rank::Frequency) };
        let g = generate(&[&genre[0], &genre[1]], &[&relevant[0]], &[], Known::default(), &o);
        // Each of these stands twice; the two pages of `hours`, `office` and `office hours` go first, then
        // the alphabet.
        assert_eq!(names(&g.genre), ["hours", "office"]);
        assert_eq!((g.genre[0].count, g.genre[0].pages, g.genre[0].score), (2, 2, 2.0));
        // `hours` and `office` are taken away. `syllabus of the` ends with a stopword and is none.
        assert_eq!(names(&g.content), ["model", "relational", "relational model"]);
        let all = generate(&[], &[&relevant[0]], &[], Known::default(), &options(Rank::Frequency));
        assert_eq!(
            names(&all.content),
            ["model", "relational", "relational model", "hours", "office", "office hours", "sql", "syllabus"]
        );
    }

    #[test]
    fn phrases_do_not_cross_lines_or_punctuation() {
        let d = doc("http://a.org/", "query optimization\nhash, joins; b-tree (index)");
        let g = generate(&[], &[&d], &[], Known::default(), &options(Rank::Frequency));
        let all = names(&g.content);
        assert!(all.contains(&"query optimization"), "{all:?}");
        for wrong in ["optimization hash", "hash joins", "joins b", "tree index", "b-tree"] {
            assert!(!all.contains(&wrong), "{wrong} in {all:?}");
        }
    }

    #[test]
    fn boilerplate_is_left_out() {
        let text = "Main menu courses\nThe relational model\nSome Department of Things\n";
        let at = |s: &str| text.find(s).unwrap();
        let block = |from: usize, to: usize, region| Block { span: Span::new(from, to), region };
        let page = |n: u32| {
            let page = Page {
                url: Canon::default().parse(&format!("http://a.org/{n}")).ok(),
                text: text.replace("model", &format!("model x{n}z")),
                blocks: vec![
                    block(0, at("The"), Region::Nav),
                    block(at("The"), text.len() + 4, Region::Body),
                ],
                ..Page::default()
            };
            Doc::new(Arc::new(page), &TextOptions::default())
        };
        let docs = [page(1), page(2), page(3)];
        let refs: Vec<&Doc> = docs.iter().collect();
        let g = generate(&[], &refs, &[], Known::default(), &options(Rank::Frequency));
        let all = names(&g.content);
        assert!(all.contains(&"relational model"));
        assert!(!all.contains(&"courses") && !all.contains(&"department"), "{all:?}");
        // The shared line is dropped only where it is shared.
        let one = generate(&[], &refs[..1], &[], Known::default(), &options(Rank::Frequency));
        assert!(names(&one.content).contains(&"department"));
        let web = doc("http://a.org/", "Click here. Home page. Copyright 2020 b 42");
        let g = generate(&[], &[&web], &[], Known::default(), &options(Rank::Frequency));
        assert_eq!(names(&g.content), ["home", "page"]);
    }

    #[test]
    fn log_odds_prefer_what_is_special_here() {
        let relevant: Vec<Doc> = (0..4)
            .map(|i| {
                doc(
                    &format!("http://h{i}.org/"),
                    "Welcome students. The relational model and query optimization. Welcome.",
                )
            })
            .collect();
        let other: Vec<Doc> = (0..20)
            .map(|i| {
                doc(
                    &format!("http://o{i}.org/"),
                    "Welcome students. Campus news of the week. Welcome. Sports.",
                )
            })
            .collect();
        let r: Vec<&Doc> = relevant.iter().collect();
        let o: Vec<&Doc> = other.iter().collect();
        let g = generate(&[], &r, &o, Known::default(), &options(Rank::LogOdds));
        // Words that only stand in one phrase give way to it; what stands everywhere is not suggested.
        assert_eq!(names(&g.content), ["query optimization", "relational model"]);
        let f = generate(&[], &r, &o, Known::default(), &options(Rank::Frequency));
        assert_eq!(names(&f.content).first(), Some(&"welcome"));
        let terms = ["Relational MODEL".to_string()];
        let known = Known { terms: &terms, ..Known::default() };
        let known = generate(&[], &r, &o, known, &options(Rank::LogOdds));
        assert_eq!(names(&known.content), ["query optimization"]);
        // Nor is what only puts words of other terms together; whoever takes terms unseen weighs them
        // otherwise.
        let terms = ["query plans".to_string(), "Optimization".to_string()];
        let known = Known { terms: &terms, ..Known::default() };
        let known = generate(&[], &r, &o, known, &options(Rank::LogOdds));
        assert_eq!(names(&known.content), ["relational model"]);
        // Genre pages are background to the content.
        let g = generate(&o, &r, &[], Known::default(), &options(Rank::LogOdds));
        assert_eq!(names(&g.content), ["query optimization", "relational model"]);
    }

    #[test]
    fn sure_terms_are_as_telling_as_the_subject_and_say_nothing_twice() {
        let relevant: Vec<Doc> = (0..4)
            .map(|i| {
                let more = if i < 2 { "Hash join costs. Hash joins. Welcome." } else { "Query plans." };
                doc(&format!("http://h{i}.org/"), &format!("Databases. Relational algebra. {more}"))
            })
            .collect();
        let other: Vec<Doc> = (0..60)
            .map(|i| {
                let text = match i {
                    0 => "Databases of plants",
                    1..5 => "Welcome to hash browns",
                    5..9 => "Travel plans, query letters",
                    _ => "Campus news",
                };
                doc(&format!("http://o{i}.org/"), text)
            })
            .collect();
        let (r, o): (Vec<&Doc>, Vec<&Doc>) = (relevant.iter().collect(), other.iter().collect());
        let of = |subject: &[&str], sure| {
            let subject: Vec<String> = subject.iter().map(|s| s.to_string()).collect();
            let known = Known { subject: &subject, terms: &subject };
            let g = generate(&[], &r, &o, known, &Options { sure, ..options(Rank::LogOdds) });
            g.content.iter().map(|s| s.term.clone()).collect::<Vec<_>>()
        };
        let shown = of(&["databases"], false);
        assert!(
            ["hash", "query plans", "welcome"].iter().all(|t| shown.contains(&t.to_string())),
            "{shown:?}"
        );
        // `databases` is on all examples and one other page: what only two of them have is not as telling.
        assert_eq!(of(&["databases"], true), ["relational algebra"]);
        // A subject that nobody names is no measure; what repeats a better term is left out all the same.
        let sure = of(&["unheard of"], true);
        assert!(
            sure.len() > 2 && !(sure.contains(&"hash".into()) && sure.contains(&"hash join".into())),
            "{sure:?}"
        );
    }

    #[test]
    fn words_of_addresses() {
        let relevant = [
            doc("http://a.org/courses/os/", "x"),
            doc("http://b.org/courses/os1/index.html", "x"),
            doc("http://c.org/os/2020", "x"),
        ];
        let other: Vec<Doc> = (0..20)
            .map(|i| doc(&format!("http://o.org/{}/{i}.html", if i % 2 == 0 { "courses" } else { "x" }), "x"))
            .collect();
        let r: Vec<&Doc> = relevant.iter().collect();
        let o: Vec<&Doc> = other.iter().collect();
        // `courses` is on two of three, but on half of the others too: less than three times the odds.
        let g = generate(&[], &r, &o, Known::default(), &options(Rank::LogOdds));
        assert_eq!(names(&g.url), ["os"]);
        assert_eq!(g.url[0].pages, 2);
        assert!(generate(&[], &r, &o, Known::default(), &options(Rank::Frequency)).url.is_empty());
    }

    #[test]
    fn nothing_gives_nothing() {
        let empty = doc("http://a.org/", "");
        for rank in [Rank::Frequency, Rank::LogOdds] {
            let o = Options { rank, words: 99, ..Options::default() };
            assert_eq!(generate(&[], &[], &[], Known::default(), &o), Generated::default());
            assert_eq!(generate(&[&empty], &[&empty], &[&empty], Known::default(), &o), Generated::default());
        }
    }
}
