//! What judge `relevance` keeps of a page: how often each term of the topic stands in which field, and the page's words
//! as buckets. Half a kilobyte a page, enough to judge it again without reading it again.

use super::terms::TopicTerms;
use crate::text::{Doc, Language, Token};
use learn::bytes::{Reader, Writer};
use std::collections::HashMap;
use types::Problem;

/// Words of all fields are hashed into so many buckets.
pub(super) const BUCKETS: usize = 1 << 18;
/// Words of the text that are kept; those that occur most often, and of these the first, go first.
const MOST_WORDS: usize = 200;
/// Set in the byte of the list when the number of topical words follows. Pages kept by versions before 0.2 lack it.
const HAS_TOPICAL: u8 = 0x80;
/// Set in the same byte when words of links to the page follow. Pages kept by versions before 0.4 lack them.
const HAS_IN_LINKS: u8 = 0x40;
/// Set in the same byte when it is known where on the page each term stands. Pages kept by versions before 0.5 lack it.
const HAS_PLACES: u8 = 0x20;
/// Words of title, headings and URL that are kept.
const MOST_SHORT: usize = 40;
/// Headings that are read. One of more words is text whose heading was never closed.
const MOST_HEADINGS: usize = 10;
const MOST_HEADING_WORDS: usize = 30;
/// Links to the page that are read, the first that were found.
const MOST_IN_LINKS: usize = 8;
/// The beginning of a page: its lines until so many words were read.
const BEGINNING: usize = 60;
/// Terms, and words of a field, that are read back: more is damage.
const MOST_READ: u64 = 4096;

/// The fields of a page whose words are told apart.
pub(super) const FIELDS: usize = 7;
/// Of these are on the page itself.
const ON_PAGE: usize = 4;
pub(super) const BODY: usize = 0;
const TITLE: usize = 1;
const HEADINGS: usize = 2;
const URL: usize = 3;
/// Texts of links to the page.
const ANCHORS: usize = 4;
/// Title, headings and URL of the pages that link to it.
const SOURCES: usize = 5;
/// Its shape in steps: how long it is, how many links it has and how many lead to it.
const SHAPE: usize = 6;

/// A term of the topic on a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct TermCount {
    pub term: u32,
    /// In own text, title and headings together.
    pub count: u32,
    pub in_title: bool,
    pub in_url: bool,
    /// At the beginning of the own text.
    pub in_beginning: bool,
    pub in_heading: bool,
    /// In the text of a link to the page.
    pub in_link: bool,
}

impl TermCount {
    fn packed(self) -> u64 {
        let TermCount { in_title, in_url, in_beginning, in_heading, in_link, .. } = self;
        let flags = [in_link, in_heading, in_beginning, in_title, in_url];
        flags.iter().fold(u64::from(self.term), |all, flag| all << 1 | u64::from(*flag))
    }
}

/// The texts on a page, and of the links to it, in which the topic's terms are looked for.
pub(super) struct Places<'a> {
    pub own: &'a [&'a [Token]],
    pub title: &'a [Token],
    pub headings: &'a [&'a [Token]],
    pub url: &'a [Token],
    pub links: &'a [Vec<Token>],
    pub language: Option<Language>,
}

impl Places<'_> {
    /// Lines at the beginning.
    pub fn beginning(&self) -> usize {
        let mut words = 0;
        let goes_on = |line: &&[Token]| {
            let so_far = words;
            words += line.len();
            so_far <= BEGINNING
        };
        self.own.iter().copied().take_while(goes_on).count()
    }
}

/// What is measured on one page.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Features {
    /// Words of the page's own text.
    pub length: u32,
    /// Those of them that belong to a term of the topic.
    pub topical: u32,
    pub links: u32,
    pub headings: u32,
    /// Folders of the URL's path.
    pub depth: u32,
    /// The list of presets that counts on this page, as an index into the languages; 0 = none.
    pub list: u8,
    /// Is it known where on the page each term stands?
    pub has_places: bool,
    pub terms: Vec<TermCount>,
    /// Bucket and how often, by field, sorted by bucket.
    pub words: [Vec<(u32, u8)>; FIELDS],
}

impl Features {
    pub fn of(doc: &Doc, topic: &TopicTerms) -> Features {
        let own: Vec<&[Token]> = doc.own_lines().map(|line| doc.within(line.span)).collect();
        let shown: Vec<&types::Heading> = {
            let lines: Vec<_> = doc.own_lines().map(|l| l.span).collect();
            let on_own = |start: u32| {
                let at = lines.partition_point(|s| s.end <= start);
                lines.get(at).is_some_and(|s| s.start <= start)
            };
            let short = |h: &types::Heading| doc.within(h.span).len() <= MOST_HEADING_WORDS;
            let headings = doc.page.headings.iter().filter(|h| on_own(h.span.start) && short(h));
            headings.take(MOST_HEADINGS).collect()
        };
        let headings: Vec<&[Token]> = shown.iter().map(|h| doc.within(h.span)).collect();
        let path = path_tokens(doc);
        let mut f = Features {
            length: own.iter().map(|l| l.len() as u32).sum(),
            links: doc.page.links.len() as u32,
            headings: doc.page.headings.len() as u32,
            depth: doc
                .page
                .url
                .as_ref()
                .map_or(0, |u| u.as_str().matches('/').count().saturating_sub(2) as u32),
            ..Features::default()
        };
        let links: Vec<Vec<Token>> =
            doc.in_links().anchors.iter().take(MOST_IN_LINKS).map(|text| doc.tokens(text)).collect();
        let places = Places {
            own: &own,
            title: doc.title(),
            headings: &headings,
            url: path,
            links: &links,
            language: doc.language(),
        };
        f.has_places = true;
        (f.list, f.terms, f.topical) = topic.count(&places);
        f.words = [
            body_words(&own, f.length as usize),
            words(TITLE, doc.title().iter(), MOST_SHORT),
            words(HEADINGS, headings.iter().flat_map(|h| h.iter()), MOST_SHORT),
            words(URL, path.iter(), MOST_SHORT),
            words(ANCHORS, links.iter().flatten(), MOST_SHORT),
            sources(&doc.in_links().pages),
            Vec::new(),
        ];
        f.words[SHAPE] = shape(&f, doc);
        f
    }

    pub fn encode(&self) -> Vec<u8> {
        let mut w = Writer(Vec::with_capacity(640));
        for n in [self.length, self.links, self.headings, self.depth] {
            w.var(u64::from(n));
        }
        let places = if self.has_places { HAS_PLACES } else { 0 };
        w.u8(self.list | HAS_TOPICAL | HAS_IN_LINKS | places)
            .var(u64::from(self.topical))
            .var(self.terms.len() as u64);
        for t in &self.terms {
            let few = u64::from(t.term) << 2 | u64::from(t.in_title) << 1 | u64::from(t.in_url);
            w.var(if self.has_places { t.packed() } else { few });
            w.var(u64::from(t.count));
        }
        for field in &self.words {
            w.var(field.len() as u64);
            let mut last = 0;
            for (bucket, n) in field {
                w.var(u64::from(bucket - last) << 3 | u64::from(*n));
                last = *bucket;
            }
        }
        w.0
    }

    pub fn decode(bytes: &[u8]) -> Result<Features, Problem> {
        Features::read(bytes, true)
    }

    /// Without its words: all that the topic alone needs.
    pub fn decode_terms(bytes: &[u8]) -> Result<Features, Problem> {
        Features::read(bytes, false)
    }

    fn read(bytes: &[u8], words: bool) -> Result<Features, Problem> {
        let mut r = Reader(bytes);
        let (mut f, fields) = Features::read_terms(&mut r)?;
        if !words {
            return Ok(f);
        }
        for field in f.words.iter_mut().take(fields) {
            let n = r.var()?.min(MOST_READ) as usize;
            field.reserve_exact(n);
            each_word(&mut r, n, |bucket, count| field.push((bucket, count)))?;
        }
        r.end()?;
        Ok(f)
    }

    /// Calls `word(field, bucket)` for every word. What is damaged is an error, maybe after some words.
    fn read_words(bytes: &[u8], mut word: impl FnMut(usize, u32)) -> Result<(), Problem> {
        let mut r = Reader(bytes);
        let (_, fields) = Features::read_terms(&mut r)?;
        for field in 0..fields {
            let n = r.var()?.min(MOST_READ) as usize;
            each_word(&mut r, n, |bucket, _| word(field, bucket))?;
        }
        r.end()
    }

    /// All but the words, and in how many fields they are.
    fn read_terms(r: &mut Reader) -> Result<(Features, usize), Problem> {
        let mut number = || r.var().map(|n| n as u32);
        let mut f = Features {
            length: number()?,
            links: number()?,
            headings: number()?,
            depth: number()?,
            ..Features::default()
        };
        f.list = r.u8()?;
        let fields = if f.list & HAS_IN_LINKS != 0 { FIELDS } else { ON_PAGE };
        f.has_places = f.list & HAS_PLACES != 0;
        f.list &= !(HAS_IN_LINKS | HAS_PLACES);
        if f.list & HAS_TOPICAL != 0 {
            f.list &= !HAS_TOPICAL;
            f.topical = r.var()? as u32;
        }
        for _ in 0..r.var()?.min(MOST_READ) {
            let packed = r.var()?;
            let (in_title, in_url) = (packed & 2 != 0, packed & 1 != 0);
            let mut t = TermCount { count: r.var()? as u32, in_title, in_url, ..TermCount::default() };
            if f.has_places {
                t.term = (packed >> 5) as u32;
                (t.in_link, t.in_heading, t.in_beginning) =
                    (packed & 16 != 0, packed & 8 != 0, packed & 4 != 0);
            } else {
                t.term = (packed >> 2) as u32;
            }
            f.terms.push(t);
        }
        Ok((f, fields))
    }

    /// Which row of weights a word of some field has.
    pub fn bucket(field: usize, hash: u64) -> u32 {
        let mixed = (hash ^ (field as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
            .wrapping_mul(0xff51_afd7_ed55_8ccd);
        (mixed >> 40) as u32 % BUCKETS as u32
    }
}

/// Reads the words of one field.
fn each_word(r: &mut Reader, n: usize, mut word: impl FnMut(u32, u8)) -> Result<(), Problem> {
    let mut last = 0u64;
    for _ in 0..n {
        let packed = r.var()?;
        last += packed >> 3;
        word((last as usize % BUCKETS) as u32, (packed & 7) as u8);
    }
    Ok(())
}

/// Fields by name, for people.
pub(super) const FIELD_NAMES: [&str; FIELDS] =
    ["text", "title", "headings", "address", "links to it", "pages that link to it", "shape"];

/// Every word of a page with its bucket, its field and how it is written; more than were kept, because menus are among
/// them.
pub(super) fn named(doc: &Doc) -> HashMap<u32, (usize, String)> {
    let mut out = HashMap::new();
    let mut add = |field: usize, text: &str, tokens: &mut dyn Iterator<Item = &Token>| {
        for t in tokens.filter(|t| !t.is_stop()) {
            let bucket = match field {
                SOURCES => of_source(Features::bucket(TITLE, t.hash)),
                _ => Features::bucket(field, t.hash),
            };
            out.entry(bucket).or_insert_with(|| (field, t.span().of(text).to_lowercase()));
        }
    };
    let headings = || doc.page.headings.iter().flat_map(|h| doc.within(h.span));
    add(BODY, &doc.page.text, &mut doc.body().iter());
    add(TITLE, &doc.page.title, &mut doc.title().iter());
    add(HEADINGS, &doc.page.text, &mut headings());
    add(URL, doc.page.url.as_ref().map_or("", |u| u.as_str()), &mut path_tokens(doc).iter());
    for (field, texts) in [(ANCHORS, &doc.in_links().anchors), (SOURCES, &doc.in_links().titles)] {
        texts.iter().for_each(|text| add(field, text, &mut doc.tokens(text).iter()));
    }
    out
}

/// The short words of the pages that link to a page: on how many of them each stands.
fn sources(pages: &[types::Features]) -> Vec<(u32, u8)> {
    let mut all = Vec::new();
    for page in pages.iter().take(MOST_IN_LINKS) {
        let before = all.len();
        let read = Features::read_words(&page.read(), |field, bucket| {
            if matches!(field, TITLE | HEADINGS | URL) {
                all.push(of_source(bucket));
            }
        });
        if read.is_err() {
            all.truncate(before);
        }
    }
    most_frequent(all.into_iter(), MOST_SHORT)
}

/// A word of a source has a row of weights of its own.
fn of_source(bucket: u32) -> u32 {
    Features::bucket(SOURCES, u64::from(bucket).wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

/// What a page looks like from afar, as words. Of an example nobody knows the links to it: that says nothing.
fn shape(page: &Features, doc: &Doc) -> Vec<(u32, u8)> {
    let step = |n: u32| u64::from(32 - n.leading_zeros()).min(12);
    let is_folder = doc.page.url.as_ref().is_some_and(|u| u.as_str().ends_with('/'));
    let in_links = doc.in_links().pages.len() as u32;
    let mut seen = vec![(0, step(page.length)), (1, step(page.links)), (2, u64::from(is_folder))];
    seen.extend((in_links > 0).then(|| (3, step(in_links))));
    let word = |(kind, value): (u64, u64)| Features::bucket(SHAPE, kind << 8 | value);
    most_frequent(seen.into_iter().map(word), MOST_SHORT)
}

/// Tokens of the URL after its host.
fn path_tokens(doc: &Doc) -> &[Token] {
    let Some(url) = &doc.page.url else { return &[] };
    let text = url.as_str();
    let host = text.find("://").map_or(0, |i| i + 3);
    let path = text.get(host..).and_then(|t| t.find('/')).map_or(text.len(), |i| host + i) as u32;
    let from = doc.url().iter().position(|t| t.start >= path).unwrap_or(doc.url().len());
    doc.url().get(from..).unwrap_or(&[])
}

/// The most frequent words of a field.
fn words<'a>(field: usize, tokens: impl Iterator<Item = &'a Token>, most: usize) -> Vec<(u32, u8)> {
    most_frequent(tokens.filter(|t| !t.is_stop()).map(|t| Features::bucket(field, t.hash)), most)
}

/// Those of the page's own text: as [`words`], of lines.
fn body_words(own: &[&[Token]], length: usize) -> Vec<(u32, u8)> {
    let mut buckets: Vec<u32> = Vec::with_capacity(length);
    let tokens = own.iter().flat_map(|line| line.iter()).filter(|t| !t.is_stop());
    buckets.extend(tokens.map(|t| Features::bucket(BODY, t.hash)));
    most_frequent(buckets.into_iter(), MOST_WORDS)
}

/// The most frequent buckets, sorted; how often is kept in steps of doubling: 1, 2, 3–4, 5–8 …
fn most_frequent(buckets: impl Iterator<Item = u32>, most: usize) -> Vec<(u32, u8)> {
    let mut all = counted(&buckets.collect::<Vec<u32>>());
    if all.len() > most {
        // No two stand at the same place first: which ones are kept is certain.
        all.select_nth_unstable_by(most, |a, b| b.times.cmp(&a.times).then(a.first.cmp(&b.first)));
        all.truncate(most);
    }
    all.sort_unstable_by_key(|c| c.bucket);
    let step = |times: u32| (32 - (times - 1).leading_zeros()).min(7) as u8;
    all.iter().map(|c| (c.bucket, step(c.times))).collect()
}

/// How often a bucket occurs, and where first.
#[derive(Clone, Copy, Default)]
struct Count {
    bucket: u32,
    times: u32,
    first: u32,
}

/// Each different bucket, in no order. A page has a thousand words: they are counted where they are hashed to.
fn counted(buckets: &[u32]) -> Vec<Count> {
    let mask = (2 * buckets.len()).next_power_of_two() - 1;
    let mut counts = vec![Count::default(); mask + 1];
    for (first, &bucket) in (0..).zip(buckets) {
        let mut at = (bucket.wrapping_mul(0x9e37_79b9) >> 14) as usize & mask;
        while let Some(count) = counts.get_mut(at) {
            if count.times == 0 {
                *count = Count { bucket, times: 1, first };
                break;
            }
            if count.bucket == bucket {
                count.times += 1;
                break;
            }
            at = (at + 1) & mask;
        }
    }
    counts.retain(|c| c.times > 0);
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_comes_back() {
        let f = Features {
            length: 700,
            topical: 31,
            links: 3,
            headings: 2,
            depth: 4,
            list: 1,
            has_places: true,
            terms: vec![TermCount {
                term: 9,
                count: 300,
                in_title: true,
                in_link: true,
                ..TermCount::default()
            }],
            words: [
                vec![(0, 0), (262_143, 7)],
                vec![],
                vec![(77, 1)],
                vec![(5, 0), (6, 2)],
                vec![(8, 0)],
                vec![(9, 1)],
                vec![(1, 0)],
            ],
        };
        assert_eq!(Features::decode(&f.encode()).unwrap(), f);
        for place in 0..5 {
            let mut f = f.clone();
            let is = |nth| nth == place;
            f.terms = vec![TermCount {
                term: 9,
                count: 1,
                in_title: is(0),
                in_url: is(1),
                in_beginning: is(2),
                in_heading: is(3),
                in_link: is(4),
            }];
            assert_eq!(Features::decode(&f.encode()).unwrap(), f);
        }
        // As it was kept before 0.5.
        let mut old = f.clone();
        (old.has_places, old.terms[0].in_link) = (false, false);
        assert_eq!(Features::decode(&old.encode()).unwrap(), old);
        let bytes = f.encode();
        for end in 0..bytes.len() {
            assert!(Features::decode(&bytes[..end]).is_err());
        }
    }

    #[test]
    fn counts_are_kept_in_steps() {
        let token = |n: u64| Token::new(n, 0, 0, false);
        let many = |n: usize| words(BODY, std::iter::repeat_n(&token(5), n), 10)[0].1;
        assert_eq!([many(1), many(2), many(3), many(4), many(5), many(500)], [0, 1, 2, 2, 3, 7]);
        let tokens: Vec<Token> = (0..9).map(token).collect();
        assert_eq!(words(TITLE, tokens.iter(), 4).len(), 4, "the first of those that occur as often");
    }
}
