//! From a page to the evidence of its links. Reads each link once; nothing is allocated per feature.

use super::options::Parts;
use super::sight::{DIRS, Groups, Sight, Sim, Space};
use crate::judges::{Example, ExampleKind};
use crate::strategies::{StrategySetup, Visit};
use crate::text::vector::Plain;
use crate::text::{Doc, DocFreq, Token};
use std::collections::{BTreeMap, HashMap};
use types::{Link, Page, Region, Span, Url};

/// Words of the topic's three lists.
const GENRE: usize = 0;
const CONTENT: usize = 1;
const URL: usize = 2;
const LISTS: usize = 3;

/// Leaves to the left and right of a link that count as its surroundings.
const WINDOW: u32 = 5;
/// Words kept on each side.
const SIDE: usize = 12;
/// Words taken from example pages when the topic names none.
const FROM_EXAMPLES: usize = 30;
/// Words of a sentence that are compared with the topic.
const SENTENCE: usize = 60;

/// The topic as vectors over words, with the idf of the crawl so far (or of a background collection).
pub(super) struct Query {
    /// How often each word is in each list.
    words: HashMap<u64, [f32; LISTS], Plain>,
    /// The same in a fixed order, for sums.
    order: Vec<u64>,
    norms: [f64; LISTS],
    /// Length of genre and content together.
    both: f64,
    pub df: DocFreq,
    pub online: bool,
    /// Which of the genre and content lists have terms.
    pub has: [bool; 2],
}

/// Cosines of some words with the three lists.
type Cosines = [f64; LISTS];

impl Query {
    pub fn new(setup: &StrategySetup) -> Query {
        let topic = setup.topic;
        let o = setup.text();
        let mut words: HashMap<u64, [f32; LISTS], Plain> = HashMap::default();
        let mut tokens: Vec<Token> = Vec::new();
        let [genre, content] = topic.counts();
        let lists =
            [(GENRE, &topic.genre, genre), (CONTENT, &topic.content, content), (URL, &topic.url, true)];
        for (list, terms, _) in lists.into_iter().filter(|l| l.2) {
            tokens.clear();
            for term in terms.for_language(None, o) {
                o.tokenise(&term, None, &mut tokens);
            }
            for t in tokens.iter().filter(|t| !t.is_stop()) {
                words.entry(t.hash).or_default()[list] += 1.0;
            }
        }
        // A topic may be told by example instead of by terms.
        let by_example = [
            (GENRE, topic.genre.is_empty(), ExampleKind::Genre),
            (CONTENT, topic.content.is_empty(), ExampleKind::Relevant),
        ];
        let mut has = [genre, content];
        for (list, missing, kind) in by_example {
            for hash in if missing { characteristic(setup.examples, kind) } else { Vec::new() } {
                words.entry(hash).or_default()[list] += 1.0;
                has[list] = true;
            }
        }
        let mut order: Vec<u64> = words.keys().copied().collect();
        order.sort_unstable();
        let mut query = Query {
            words,
            order,
            norms: [0.0; LISTS],
            both: 0.0,
            df: setup.idf.cloned().unwrap_or_default(),
            online: setup.idf.is_none(),
            has,
        };
        query.weigh();
        query
    }

    /// Lengths of the lists' vectors under the present idf.
    pub fn weigh(&mut self) {
        let (mut sums, mut both) = ([0.0; LISTS], 0.0);
        for h in &self.order {
            let idf = self.df.idf(*h);
            let tf = self.words.get(h).unwrap_or(&[0.0; LISTS]).map(f64::from);
            for (sum, tf) in sums.iter_mut().zip(tf) {
                *sum += (tf * idf) * (tf * idf);
            }
            let tf = tf[GENRE] + tf[CONTENT];
            both += (tf * idf) * (tf * idf);
        }
        self.norms = sums.map(f64::sqrt);
        self.both = both.sqrt();
    }

    pub fn learn(&mut self, doc: &Doc) {
        if self.online {
            self.df.add(doc.counts());
            self.weigh();
        }
    }

    fn word(&self, hash: u64) -> Word {
        Word::new(hash, self.df.idf(hash), self.words.get(&hash))
    }

    /// Cosines of a whole page (log tf · idf over its whole vocabulary) with the genre terms, the content
    /// terms, and both together. What was looked up for it is noted for the page's links.
    pub fn page(&self, doc: &Doc, memo: &mut Memo) -> [f64; 3] {
        memo.next_page();
        let (mut dot, mut length, mut both) = ([0.0; 2], 0.0, 0.0);
        for (hash, n) in doc.counts().iter() {
            let idf = self.df.idf(hash);
            let w = (1.0 + libm::log(f64::from(n))) * idf;
            length += w * w;
            let tf = self.words.get(&hash);
            memo.note(Word::new(hash, idf, tf));
            if let Some(tf) = tf {
                let (g, c) = (f64::from(tf[GENRE]), f64::from(tf[CONTENT]));
                dot[GENRE] += w * g * idf;
                dot[CONTENT] += w * c * idf;
                both += w * (g + c) * idf;
            }
        }
        let length = length.sqrt();
        let cosine = |d: f64, n: f64| if length > 0.0 && n > 0.0 { (d / (length * n)).min(1.0) } else { 0.0 };
        [
            cosine(dot[GENRE], self.norms[GENRE]),
            cosine(dot[CONTENT], self.norms[CONTENT]),
            cosine(both, self.both),
        ]
    }

    /// Cosines of some words with the lists; each word counts once where it stands.
    fn cosines<'a>(&self, memo: &mut Memo, tokens: impl Iterator<Item = &'a Token>) -> Cosines {
        let mut dot = [0.0; LISTS];
        let mut length = 0.0;
        for t in tokens.filter(|t| !t.is_stop()) {
            let word = memo.of(self, t.hash);
            length += word.weight;
            if word.listed {
                for (d, part) in dot.iter_mut().zip(word.parts) {
                    *d += part;
                }
            }
        }
        let mut out = [0.0; LISTS];
        if length > 0.0 {
            let length = length.sqrt();
            for ((o, d), n) in out.iter_mut().zip(dot).zip(self.norms) {
                *o = if n > 0.0 { (d / (length * n)).min(1.0) } else { 0.0 };
            }
        }
        out
    }
}

/// The words that stand out in the examples of a kind beside those that are not wanted; the first of them.
fn characteristic(examples: &[Example], kind: ExampleKind) -> Vec<u64> {
    let mean = |kind: ExampleKind, sums: &mut BTreeMap<u64, f64>, sign: f64| {
        let docs: Vec<&Doc> = examples.iter().filter(|e| e.kind == kind).map(|e| e.doc.as_ref()).collect();
        for doc in &docs {
            let words: Vec<(u64, f64)> =
                doc.counts().iter().map(|(h, n)| (h, 1.0 + libm::log(f64::from(n)))).collect();
            let length = words.iter().map(|(_, w)| w * w).sum::<f64>().sqrt();
            for (hash, w) in words {
                *sums.entry(hash).or_default() += sign * w / (length * docs.len() as f64);
            }
        }
    };
    let mut sums = BTreeMap::new();
    mean(kind, &mut sums, 1.0);
    mean(ExampleKind::Irrelevant, &mut sums, -1.0);
    let mut best: Vec<(u64, f64)> = sums.into_iter().filter(|(_, v)| *v > 0.0).collect();
    best.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    best.into_iter().take(FROM_EXAMPLES).map(|(hash, _)| hash).collect()
}

/// What a word adds to a cosine.
#[derive(Clone, Copy, Default)]
struct Word {
    hash: u64,
    /// Its squared idf, and that times how often it is in each list.
    weight: f64,
    parts: [f64; LISTS],
    listed: bool,
}

impl Word {
    fn new(hash: u64, idf: f64, tf: Option<&[f32; LISTS]>) -> Word {
        let weight = idf * idf;
        let parts = tf.map_or([0.0; LISTS], |tf| tf.map(|n| weight * f64::from(n)));
        Word { hash, weight, parts, listed: tf.is_some() }
    }
}

/// The words of one page that were looked up already: the same ones stand in many anchors, sentences and
/// URLs. Kept from page to page only to spare the memory: what was looked up for another page does not count.
#[derive(Default)]
pub(super) struct Memo {
    places: Vec<(u32, Word)>,
    page: u32,
}

impl Memo {
    const SIZE: usize = 1024;
    fn next_page(&mut self) {
        self.page = self.page.wrapping_add(1);
        if self.places.is_empty() || self.page == 0 {
            self.places = vec![(0, Word::default()); Memo::SIZE];
            self.page = 1;
        }
    }
    #[inline]
    fn of(&mut self, query: &Query, hash: u64) -> Word {
        let Some((page, word)) = self.places.get_mut(hash as usize % Memo::SIZE) else {
            return query.word(hash);
        };
        if *page != self.page || word.hash != hash {
            (*page, *word) = (self.page, query.word(hash));
        }
        *word
    }
    #[inline]
    fn note(&mut self, word: Word) {
        if let Some(place) = self.places.get_mut(word.hash as usize % Memo::SIZE) {
            *place = (self.page, word);
        }
    }
}

/// FNV-1a with a salt, finished with a mix.
#[derive(Clone, Copy)]
struct Hash(u64);
impl Hash {
    fn new(salt: u8) -> Hash {
        Hash(0xcbf2_9ce4_8422_2325).byte(salt)
    }
    #[inline]
    fn byte(self, b: u8) -> Hash {
        Hash((self.0 ^ u64::from(b)).wrapping_mul(0x100_0000_01b3))
    }
    fn text(self, text: &str) -> Hash {
        text.bytes().fold(self, Hash::byte)
    }
    fn number(self, n: u64) -> Hash {
        n.to_le_bytes().into_iter().fold(self, Hash::byte)
    }
    fn done(self) -> u64 {
        let h = self.0;
        (h ^ (h >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }
    fn key(self) -> u32 {
        (self.done() >> 32) as u32
    }
}

/// Salts of the keys of groups.
mod salt {
    pub const HOST: u8 = 1;
    pub const DIRECTORY: u8 = 2;
    pub const SHAPE: u8 = 3;
    pub const TAG_PATH: u8 = 4;
    pub const HOST_PATH: u8 = 5;
    pub const PARENT: u8 = 6;
    pub const LIST: u8 = 7;
    pub const PLACE: u8 = 8;
    pub const EXTENSION: u8 = 9;
    pub const PAIR: u8 = 10;
}

/// Where the hashes of a URL's groups are after its host: most links of a page stay on one.
#[derive(Clone, Copy)]
struct HostHashes {
    host: Hash,
    directory: Hash,
    shape: Hash,
}

impl HostHashes {
    fn of(url: &Url) -> HostHashes {
        let hash = |salt| Hash::new(salt).text(url.host_key());
        HostHashes { host: hash(salt::HOST), directory: hash(salt::DIRECTORY), shape: hash(salt::SHAPE) }
    }
}

/// The groups that are the URL's own: host, directories, shape.
pub(super) fn own_groups(url: &Url) -> Groups {
    groups_on(HostHashes::of(url), url)
}

fn groups_on(on: HostHashes, url: &Url) -> Groups {
    let mut g = Groups { host: on.host.key(), ..Groups::default() };
    let (mut dir, mut shape) = (on.directory, on.shape);
    let path = url.path();
    let file = path.rfind('/').map_or(0, |i| i + 1);
    for (i, b) in path.bytes().enumerate().take(file) {
        dir = dir.byte(b);
        let digit = b.is_ascii_digit();
        // A run of digits is one sign: /cs415/ and /cs52/ have one shape.
        if !(digit && i > 0 && path.as_bytes().get(i - 1).is_some_and(u8::is_ascii_digit)) {
            shape = shape.byte(if digit { b'#' } else { b });
        }
        if b == b'/' && i > 0 && usize::from(g.depth) < DIRS {
            g.dirs[usize::from(g.depth)] = dir.key();
            g.depth += 1;
        }
    }
    let name = path.get(file..).unwrap_or("");
    shape = match name.rsplit_once('.') {
        Some((_, extension)) => shape.text("*.").text(extension),
        None if name.is_empty() => shape,
        None => shape.byte(b'*'),
    };
    if let Some(query) = url.query() {
        // Which parameters, not their values.
        for pair in query.split('&').take(8) {
            shape = shape.byte(b'?').text(pair.split('=').next().unwrap_or(""));
        }
    }
    g.shape = shape.key();
    g
}

/// What a page is like, on the scale of this crawl.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Taste {
    /// How much it is what is wanted, 0–1: the judge's score and our own similarities, each against the best
    /// hundredth of the pages so far.
    pub soft: f64,
    pub relevant: bool,
    /// Cosines with the genre terms, the content terms and both.
    pub page: [f64; 3],
    /// Measures the scale is made of.
    pub measures: [f64; 3],
}

/// What a page adds to each of its links, whatever the link: made once, when the page is learnt.
#[derive(Clone)]
pub(super) struct Common {
    base: Sight,
    parent: u64,
    on_host: HostHashes,
}

impl Common {
    pub fn of(query: &Query, parts: &Parts, memo: &mut Memo, visit: &Visit, taste: &Taste) -> Common {
        let doc = visit.doc;
        let mut base = Sight::default();
        base.set(Sim::Parent, taste.soft);
        base.set(Sim::PageGenre, taste.page[GENRE]);
        base.set(Sim::PageContent, taste.page[CONTENT]);
        let title = query.cosines(memo, doc.title().iter().take(SENTENCE));
        base.set(Sim::Title, title[GENRE] + title[CONTENT]);
        if parts.reads(Space::Title) {
            for t in doc.title().iter().filter(|t| !t.is_stop()) {
                base.add(Space::Title, t.hash);
            }
        }
        let parent = Hash::new(salt::PARENT).text(visit.url.as_str());
        base.groups.parent = parent.key();
        Common { base, parent: parent.done(), on_host: HostHashes::of(visit.url) }
    }
}

/// The page whose links are read one after the other.
pub(super) struct PageSide<'a> {
    query: &'a Query,
    parts: &'a Parts,
    doc: &'a Doc,
    page: &'a Page,
    url: &'a Url,
    base: Sight,
    parent: u64,
    /// The tag path `base` holds at the moment.
    path: Option<u32>,
    heading: Option<u32>,
    heading_sim: f64,
    /// The sentence that was compared with the topic last, and how it was.
    sentence: Option<(Span, Cosines)>,
    on_host: HostHashes,
    memo: &'a mut Memo,
}

impl<'a> PageSide<'a> {
    /// `steps`: links since the last relevant page.
    pub fn new(
        query: &'a Query,
        parts: &'a Parts,
        memo: &'a mut Memo,
        visit: &'a Visit,
        common: Common,
        steps: u8,
    ) -> Self {
        let base = Sight {
            parent_relevant: visit.verdict.relevant && !visit.worthless,
            steps,
            depth: u8::try_from(visit.depth.saturating_add(1)).unwrap_or(u8::MAX),
            ..common.base
        };
        PageSide {
            query,
            parts,
            doc: visit.doc,
            page: &visit.doc.page,
            url: visit.url,
            base,
            parent: common.parent,
            path: None,
            heading: None,
            heading_sim: 0.0,
            sentence: None,
            on_host: common.on_host,
            memo,
        }
    }

    /// The evidence of the `i`th link.
    pub fn link(&mut self, i: usize, link: &Link) -> Sight {
        if self.path != Some(link.path) {
            self.read_path(link);
        }
        if self.heading != link.heading {
            self.read_heading(link);
        }
        let mut s = self.base.clone();
        s.same_host = link.url.host_key() == self.url.host_key();
        let on = if s.same_host { self.on_host } else { HostHashes::of(&link.url) };
        let g = groups_on(on, &link.url);
        s.groups = Groups { host: g.host, dirs: g.dirs, depth: g.depth, shape: g.shape, ..s.groups };
        s.groups.position = u16::try_from(i).unwrap_or(u16::MAX);
        s.set(Sim::Heading, if link.heading.is_some() { self.heading_sim } else { 0.0 });
        self.words(i, link, &mut s);
        if self.parts.reads(Space::Place) {
            self.place(link, &mut s);
        }
        s
    }

    fn words(&mut self, i: usize, link: &Link, s: &mut Sight) {
        let (o, q, doc) = (self.parts, self.query, self.doc);
        let (anchor, label) = (doc.anchor(link), doc.label(i));
        let memo = &mut *self.memo;
        let said = q.cosines(memo, anchor.iter().chain(label).take(SENTENCE));
        s.set(Sim::AnchorGenre, said[GENRE]);
        s.set(Sim::AnchorContent, said[CONTENT]);
        let sentence = match self.sentence {
            Some((span, cosines)) if span == link.context => cosines,
            _ => q.cosines(memo, doc.context(link).iter().take(SENTENCE)),
        };
        self.sentence = Some((link.context, sentence));
        s.set(Sim::ContextGenre, sentence[GENRE]);
        s.set(Sim::ContextContent, sentence[CONTENT]);
        // Of the URL only what is this page's own: the host is a group already.
        let own = path_start(&link.url);
        let url = || doc.link_url(i).iter().filter(|t| t.start >= own);
        let in_url = q.cosines(memo, url());
        s.set(Sim::UrlTerms, in_url[URL]);
        s.set(Sim::UrlWords, in_url[GENRE] + in_url[CONTENT]);
        if o.reads(Space::Anchor) {
            for t in anchor.iter().chain(label).filter(|t| !t.is_stop()) {
                s.add(Space::Anchor, t.hash);
            }
        }
        if o.reads(Space::Pair) {
            for pair in anchor.windows(2).take(Space::Pair.most()) {
                let h = Hash::new(salt::PAIR).number(pair[0].hash).number(pair[1].hash);
                s.add(Space::Pair, h.done());
            }
        }
        if o.reads(Space::Url) {
            for t in url() {
                s.add(Space::Url, t.hash);
            }
            let file = link.url.path().rsplit('/').next().unwrap_or("");
            let extension = file.rsplit_once('.').map_or("", |(_, e)| e);
            s.add(Space::Url, Hash::new(salt::EXTENSION).text(extension).done());
        }
        if o.reads(Space::Context) || o.reads(Space::Offset) {
            self.window(link, s);
        }
    }

    /// The words of the leaves around the link, nearest first.
    fn window(&self, link: &Link, s: &mut Sight) {
        let (body, leaves) = (self.doc.body(), self.doc.leaves());
        let before = leaves.partition_point(|l| *l < link.first_leaf);
        let after = leaves.partition_point(|l| *l <= link.last_leaf);
        let mut put = |token: &Token, bucket: u8| {
            if self.parts.reads(Space::Context) {
                s.add(Space::Context, token.hash);
            }
            if self.parts.reads(Space::Offset) {
                s.add(Space::Offset, token.hash ^ (u64::from(bucket) << 48));
            }
        };
        let bucket = |away: u32| away.min(3) as u8;
        let mut n = 0;
        // Slices, not `take` and `skip`: those would walk over the whole page for every link.
        let left = body.get(..before).unwrap_or(&[]).iter().zip(leaves.get(..before).unwrap_or(&[]));
        for (t, leaf) in left.rev() {
            let away = link.first_leaf.saturating_sub(*leaf);
            if away > WINDOW || n >= SIDE {
                break;
            }
            if !t.is_stop() {
                put(t, bucket(away));
                n += 1;
            }
        }
        n = 0;
        let right = body.get(after..).unwrap_or(&[]).iter().zip(leaves.get(after..).unwrap_or(&[]));
        for (t, leaf) in right {
            let away = leaf.saturating_sub(link.last_leaf);
            if away > WINDOW || n >= SIDE {
                break;
            }
            if !t.is_stop() {
                put(t, 4 + bucket(away));
                n += 1;
            }
        }
    }

    fn read_path(&mut self, link: &Link) {
        self.path = Some(link.path);
        let path = self.page.path(link);
        self.base.clear(Space::TagPath);
        // Three hashes of the same bytes, side by side: each waits for itself only.
        let start = [salt::TAG_PATH, salt::HOST_PATH, salt::LIST].map(Hash::new);
        let [whole, on_host, list] = path.bytes().fold(start, |h, b| h.map(|h| h.byte(b)));
        let on_host = on_host.text(self.url.host_key());
        self.base.groups.tag_path = whole.key();
        self.base.groups.host_path = on_host.key();
        self.base.groups.list = list.number(self.parent).key();
        if self.parts.reads(Space::TagPath) {
            self.base.add(Space::TagPath, whole.done());
            self.base.add(Space::TagPath, on_host.done());
            let mut later = "";
            for tag in path.rsplit('>').take(7) {
                if !later.is_empty() {
                    self.base.add(
                        Space::TagPath,
                        Hash::new(salt::TAG_PATH).text(tag).byte(b'>').text(later).done(),
                    );
                }
                later = tag;
            }
        }
    }

    fn read_heading(&mut self, link: &Link) {
        self.heading = link.heading;
        self.base.clear(Space::Heading);
        let heading = self.doc.heading(link);
        let sim = self.query.cosines(self.memo, heading.iter().take(SENTENCE));
        self.heading_sim = sim[GENRE] + sim[CONTENT];
        if self.parts.reads(Space::Heading) {
            for t in heading.iter().filter(|t| !t.is_stop()) {
                self.base.add(Space::Heading, t.hash);
            }
        }
    }

    /// Where on the page and where to: region, kind, same host, up or down the directories.
    fn place(&self, link: &Link, s: &mut Sight) {
        let region = match link.region {
            Region::Body => 0u8,
            Region::Nav => 1,
            Region::Header => 2,
            Region::Footer => 3,
            Region::Aside => 4,
        };
        let to = direction(self.url, &link.url);
        let depth = s.depth.min(6);
        let slashes = link.url.path().bytes().filter(|b| *b == b'/').count().min(8) as u8;
        let put =
            |s: &mut Sight, a: u8, b: u8| s.add(Space::Place, Hash::new(salt::PLACE).byte(a).byte(b).done());
        put(s, 0, region);
        put(s, 1, link.kind as u8);
        put(s, 2, to);
        put(s, 3, depth);
        put(s, 4, slashes);
        put(s, 5, to * 8 + region);
    }
}

/// Where the path of a URL starts in its text.
fn path_start(url: &Url) -> u32 {
    let text = url.as_str();
    let host = url.scheme().len() + "://".len();
    text.get(host..).and_then(|t| t.find('/')).map_or(text.len(), |i| host + i) as u32
}

/// 0 another domain, 1 another host of the domain, 2 the same directory, 3 below it, 4 above it, 5 elsewhere
/// on the host.
fn direction(from: &Url, to: &Url) -> u8 {
    if from.host_key() != to.host_key() {
        return u8::from(from.domain() == to.domain());
    }
    let dir = |u: &Url| u.path().rfind('/').map_or(0, |i| i + 1);
    let (a, b) = (from.path().get(..dir(from)).unwrap_or(""), to.path().get(..dir(to)).unwrap_or(""));
    if a == b {
        2
    } else if b.starts_with(a) {
        3
    } else if a.starts_with(b) {
        4
    } else {
        5
    }
}
