//! What the learning crawlers of Batsakis (`hmm` and its hybrids, `context-graph`) are trained on: pages in
//! the order they were visited, with the page each was reached from, its links, its words, and whether it was
//! what the user wants.
//!
//! Batsakis records a user who browses. Here the record is the example pages when they tell enough (relevant
//! ones, and pages that lead to them), else the first pages of the crawl itself, ordered by best-first
//! (ours): see [`Warmup`].

use super::query_vector::QueryVector;
use super::{Because, Lesson, Model, Revised, Scored, StrategySetup, Training, Visit};
use crate::judges::ExampleKind;
use crate::text::{Counts, Doc, Token};
use learn::bytes::{Reader, Writer, damaged};
use std::collections::HashMap;
use types::{Fingerprint, Priority, Problem, Url};

/// Words and links remembered of one page: a hostile page must not fill the memory.
const MOST_WORDS: usize = 2_000;
const MOST_LINKS: usize = 1_000;
/// Pages of a record: neighbours are looked for among all of them.
const MOST_PAGES: usize = 5_000;
/// Words of an anchor kept with a link.
const MOST_ANCHOR: usize = 24;
/// Seeds come first.
pub(super) const SEED: u8 = u8::MAX;
/// Layout version of what is saved.
const STATE: u8 = 1;

/// One page of the record.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Recorded {
    /// Its number in the crawl; nothing for examples.
    id: u32,
    url: u64,
    /// Index in the record of the page it was reached from.
    pub parent: Option<u32>,
    pub relevant: bool,
    relevance: f64,
    links: Vec<u64>,
    pub words: Counts,
}

fn name(url: &Url) -> u64 {
    Fingerprint::of(url.as_str(), (0x7265, 0x636f)).0
}

fn links_of(doc: &Doc) -> Vec<u64> {
    let mut links: Vec<u64> = doc.page.links.iter().take(MOST_LINKS).map(|l| name(&l.url)).collect();
    links.sort_unstable();
    links.dedup();
    links
}

fn words_of(doc: &Doc) -> Counts {
    if doc.counts().len() <= MOST_WORDS {
        return doc.counts().clone();
    }
    let mut pairs: Vec<(u64, u32)> = doc.counts().iter().collect();
    pairs.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
    pairs.truncate(MOST_WORDS);
    Counts::from_pairs(pairs)
}

/// Which pages are the targets: the relevant ones; when there are none, the twentieth with the highest
/// relevance.
pub(super) fn targets(pages: &[Recorded]) -> Vec<bool> {
    let mut out: Vec<bool> = pages.iter().map(|p| p.relevant).collect();
    if out.contains(&true) {
        return out;
    }
    let mut order: Vec<usize> = (0..pages.len()).collect();
    let relevance = |i: &usize| pages.get(*i).map_or(0.0, |p| p.relevance);
    order.sort_by(|a, b| relevance(b).total_cmp(&relevance(a)).then(a.cmp(b)));
    for i in order.into_iter().take(pages.len().div_ceil(20)) {
        out.get_mut(i).into_iter().for_each(|t| *t = true);
    }
    out
}

/// Links to the nearest target along the links of the record; `None` when none can be reached.
pub(super) fn distances(pages: &[Recorded], targets: &[bool]) -> Vec<Option<usize>> {
    let mut sources: HashMap<u64, Vec<usize>> = HashMap::new();
    for (i, page) in pages.iter().enumerate() {
        for link in &page.links {
            sources.entry(*link).or_default().push(i);
        }
    }
    let mut out: Vec<Option<usize>> = targets.iter().map(|t| t.then_some(0)).collect();
    out.resize(pages.len(), None);
    let mut edge: Vec<usize> = (0..pages.len()).filter(|i| out.get(*i) == Some(&Some(0))).collect();
    let mut far = 0;
    while !edge.is_empty() {
        far += 1;
        let mut next = Vec::new();
        for i in edge {
            for source in pages.get(i).and_then(|p| sources.get(&p.url)).into_iter().flatten() {
                if let Some(d) = out.get_mut(*source).filter(|d| d.is_none()) {
                    *d = Some(far);
                    next.push(*source);
                }
            }
        }
        edge = next;
    }
    out
}

/// What a link found before the training keeps: which page of the record it stands on, and its anchor.
#[derive(Debug, PartialEq)]
pub(super) struct Early {
    pub page: u32,
    pub anchor: Vec<u64>,
}

const EARLY: u8 = 1;

impl Early {
    fn write(page: u32, anchor: &[Token]) -> Vec<u8> {
        let mut w = Writer::default();
        w.u8(EARLY).u32(page);
        for t in anchor.iter().filter(|t| !t.is_stop()).take(MOST_ANCHOR) {
            w.u64(t.hash);
        }
        w.0
    }
    pub fn read(evidence: &[u8]) -> Option<Early> {
        let mut r = Reader(evidence);
        if r.u8().ok()? != EARLY {
            return None;
        }
        let page = r.u32().ok()?;
        let mut anchor = Vec::new();
        while !r.0.is_empty() && anchor.len() < MOST_ANCHOR {
            anchor.push(r.u64().ok()?);
        }
        Some(Early { page, anchor })
    }
    pub fn anchor(&self) -> Counts {
        Counts::from_pairs(self.anchor.iter().map(|h| (*h, 1)).collect())
    }
}

/// The first part of a crawl: best-first, and recorded.
pub(super) struct Warmup {
    baseline: QueryVector,
    pages: u64,
    pub record: Vec<Recorded>,
    index: HashMap<u32, u32>,
    /// How much of the record has been saved; `None` = a page that was saved has changed.
    saved: Option<usize>,
    /// Words of the relevant examples.
    pub examples: Vec<Counts>,
    /// The examples alone are the record: nothing to save, nothing to wait for.
    told: bool,
    /// Something was recorded or corrected since the last save.
    changed: bool,
}

impl Warmup {
    /// `pages`: how many pages to record. The examples are the record when relevant ones and others are among
    /// them.
    pub fn new(setup: &StrategySetup, pages: u64) -> Warmup {
        let mut w = Warmup {
            baseline: QueryVector::new(setup),
            pages,
            record: Vec::new(),
            index: HashMap::new(),
            saved: Some(0),
            examples: Vec::new(),
            told: false,
            changed: false,
        };
        let shown = setup.examples.iter().filter(|e| e.kind != ExampleKind::Genre);
        for (i, e) in shown.enumerate() {
            let relevant = e.kind == ExampleKind::Relevant;
            if relevant {
                w.examples.push(words_of(&e.doc));
            }
            w.record.push(Recorded {
                id: u32::MAX,
                url: e.doc.page.url.as_ref().map_or(0, name),
                parent: (i as u32).checked_sub(1),
                relevant,
                relevance: f64::from(u8::from(relevant)),
                links: links_of(&e.doc),
                words: words_of(&e.doc),
            });
        }
        // Some are relevant, and some others lead to them.
        let targets: Vec<bool> = w.record.iter().map(|p| p.relevant).collect();
        w.told = distances(&w.record, &targets).iter().any(|d| d.is_some_and(|d| d > 0));
        if !w.told {
            w.record.clear();
        }
        w
    }

    pub fn told(&self) -> bool {
        self.told
    }

    /// Relevant examples that are not in the record: they are targets too.
    pub fn beside(&self) -> &[Counts] {
        if self.told { &[] } else { &self.examples }
    }

    /// Records a page; true when that was the last one.
    pub fn learn(&mut self, visit: &Visit) -> bool {
        self.changed = true;
        self.baseline.learn(visit.doc);
        let index = self.record.len() as u32;
        self.index.insert(visit.id.0, index);
        let relevance = visit.verdict.relevance;
        self.record.push(Recorded {
            id: visit.id.0,
            url: name(visit.url),
            parent: visit.parent.and_then(|p| self.index.get(&p.0)).copied(),
            relevant: visit.verdict.relevant,
            relevance: if relevance.is_finite() { relevance } else { 0.0 },
            links: links_of(visit.doc),
            words: words_of(visit.doc),
        });
        visit.n >= self.pages
    }

    /// Best-first: `(cos(u, q) + cos(a, q)) / 2`.
    pub fn score(&self, visit: &Visit) -> Vec<Option<Scored>> {
        let page = self.baseline.page(visit.doc);
        let index = self.index.get(&visit.id.0).copied().unwrap_or(u32::MAX);
        let one = |link: &types::Link| {
            let anchor = visit.doc.anchor(link);
            let key = (page + self.baseline.words(anchor)) / 2.0;
            let evidence = Early::write(index, anchor);
            Some(Scored { priority: Priority::key_only(key), evidence, ttl: None })
        };
        visit.doc.page.links.iter().map(one).collect()
    }

    /// Everything, or what is new; the baseline only as long as it is used: until a model was `trained`.
    pub fn save(&mut self, full: bool, trained: bool) -> Option<Vec<u8>> {
        if self.told || (!full && !self.changed) {
            return None;
        }
        self.changed = false;
        let mut w = Writer::default();
        w.u8(STATE).u8(u8::from(trained));
        let (full_record, from) = match self.saved {
            Some(saved) if !full => (false, saved),
            _ => (true, 0),
        };
        self.saved = Some(self.record.len());
        w.u8(u8::from(full_record));
        let fresh = self.record.get(from..).unwrap_or(&[]);
        write_pages(fresh.iter().cloned(), fresh.len(), &mut w);
        let baseline = if trained { None } else { self.baseline.save(full) };
        w.bytes(&baseline.unwrap_or_default());
        Some(w.0)
    }

    /// Takes back what was saved; true when a model had been trained: the same record gives the same one
    /// again.
    pub fn load(&mut self, bytes: &[u8]) -> Result<bool, Problem> {
        let mut r = Reader(bytes);
        if r.u8()? != STATE {
            return Err(damaged());
        }
        let trained = r.u8()? == 1;
        let full = r.u8()? == 1;
        let fresh = read_pages(&mut r)?;
        let baseline = r.bytes()?;
        r.end()?;
        if !baseline.is_empty() {
            self.baseline.load(baseline)?;
        }
        if full {
            self.record.clear();
            self.index.clear();
        }
        for page in fresh {
            if page.id != u32::MAX {
                self.index.insert(page.id, self.record.len() as u32);
            }
            self.record.push(page);
        }
        self.saved = Some(self.record.len());
        self.told = false;
        Ok(trained)
    }

    /// A page of the record was not what it seemed.
    pub fn revise(&mut self, pages: &[Revised]) {
        self.changed = true;
        for page in pages.iter().filter(|p| p.because == Because::User) {
            let at = self.index.get(&page.id.0).and_then(|i| self.record.get_mut(*i as usize));
            if let Some(p) = at.filter(|p| p.relevant != page.verdict.relevant) {
                p.relevant = page.verdict.relevant;
                self.saved = None;
            }
        }
    }

    /// A finished crawl of so many pages is the record.
    pub fn expect(&mut self, pages: usize) {
        self.told = false;
        self.record.clear();
        self.index.clear();
        self.pages = pages.clamp(1, MOST_PAGES) as u64;
    }

    /// The record for another crawl, in which its pages have other numbers; `None` when it is empty.
    pub fn export(&self) -> Option<Vec<u8>> {
        if self.record.is_empty() {
            return None;
        }
        let mut w = Writer::default();
        let nameless = |p: &Recorded| Recorded { id: u32::MAX, ..p.clone() };
        write_pages(self.record.iter().map(nameless), self.record.len(), &mut w);
        Some(w.0)
    }
    pub fn import(&mut self, bytes: &[u8]) -> Result<(), Problem> {
        let mut r = Reader(bytes);
        let record = read_pages(&mut r)?;
        r.end()?;
        if record.is_empty() {
            return Err(damaged());
        }
        self.record = record;
        self.index.clear();
        (self.told, self.changed, self.saved) = (false, true, None);
        Ok(())
    }
}

fn write_pages(pages: impl Iterator<Item = Recorded>, n: usize, w: &mut Writer) {
    w.var(n as u64);
    for p in pages {
        w.u32(p.id).u64(p.url).var(p.parent.map_or(0, |p| u64::from(p) + 1));
        w.u8(u8::from(p.relevant)).f64(p.relevance).var(p.links.len() as u64);
        p.links.iter().for_each(|l| {
            w.u64(*l);
        });
        w.var(p.words.len() as u64);
        p.words.iter().for_each(|(h, n)| {
            w.u64(h).var(u64::from(n));
        });
    }
}

fn read_pages(r: &mut Reader) -> Result<Vec<Recorded>, Problem> {
    let mut out = Vec::new();
    for _ in 0..r.var()? {
        let (id, url) = (r.u32()?, r.u64()?);
        let parent = r.var()?.checked_sub(1).map(|p| u32::try_from(p).map_err(|_| damaged())).transpose()?;
        let (relevant, relevance) = (r.u8()? == 1, r.f64()?);
        let mut links = Vec::new();
        for _ in 0..r.var()? {
            links.push(r.u64()?);
        }
        let mut words = Vec::new();
        for _ in 0..r.var()? {
            words.push((r.u64()?, u32::try_from(r.var()?).map_err(|_| damaged())?));
        }
        out.push(Recorded { id, url, parent, relevant, relevance, links, words: Counts::from_pairs(words) });
    }
    Ok(out)
}

/// A strategy that is trained once, when its record is long enough. The record alone is kept: it makes the
/// same model again.
pub(super) trait TrainedOnce {
    fn warmup(&mut self) -> &mut Warmup;
    fn is_trained(&self) -> bool;
    /// Makes the model from the record.
    fn train(&mut self);
    /// The model goes, the record stays.
    fn forget(&mut self);
}

impl<S: TrainedOnce> Model for S {
    fn version(&self) -> u32 {
        u32::from(self.is_trained())
    }

    fn revise(&mut self, pages: &[Revised]) {
        if !self.is_trained() {
            self.warmup().revise(pages);
        }
    }

    fn save(&mut self, full: bool) -> Option<Vec<u8>> {
        let trained = self.is_trained();
        self.warmup().save(full, trained)
    }

    fn load(&mut self, bytes: &[u8]) -> Result<(), Problem> {
        let trained = self.warmup().load(bytes)?;
        self.forget();
        if trained {
            self.train();
        }
        Ok(())
    }

    fn export(&mut self) -> Option<Vec<u8>> {
        self.warmup().export()
    }

    fn import(&mut self, bytes: &[u8]) -> Result<(), Problem> {
        self.warmup().import(bytes)?;
        self.train();
        Ok(())
    }

    fn begin_training(&mut self, lessons: &[Lesson]) -> Training {
        self.forget();
        self.warmup().expect(lessons.len());
        Training::Replay
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(url: u64, links: &[u64], relevant: bool, relevance: f64) -> Recorded {
        let words = Counts::default();
        Recorded { id: url as u32, url, parent: None, relevant, relevance, links: links.to_vec(), words }
    }

    #[test]
    fn distances_by_hand() {
        // 1 → 2 → 3 (relevant), 4 → 1, 5 → nothing, 6 → 3 and a page never visited.
        let pages = [
            page(1, &[2], false, 0.0),
            page(2, &[3], false, 0.0),
            page(3, &[1], true, 1.0),
            page(4, &[1, 4], false, 0.0),
            page(5, &[], false, 0.0),
            page(6, &[3, 99], false, 0.0),
        ];
        let t = targets(&pages);
        assert_eq!(t, [false, false, true, false, false, false]);
        assert_eq!(distances(&pages, &t), [Some(2), Some(1), Some(0), Some(3), None, Some(1)]);
        assert!(distances(&[], &[]).is_empty());
    }

    #[test]
    fn without_relevant_pages_the_best_are_the_targets() {
        let pages: Vec<Recorded> = (0..21).map(|i| page(i, &[], false, f64::from(i == 7) + 0.1)).collect();
        let t = targets(&pages);
        // A twentieth of 21, rounded up: two; of the equal ones the first.
        assert_eq!((t.iter().filter(|t| **t).count(), t[7], t[0]), (2, true, true));
        assert!(targets(&[]).is_empty());
    }

    #[test]
    fn early_links() {
        let e = Early { page: 3, anchor: vec![5, 9] };
        let mut w = Writer::default();
        w.u8(EARLY).u32(3).u64(5).u64(9);
        assert_eq!(Early::read(&w.0), Some(e));
        assert_eq!(Early::read(&w.0[..8]), None);
        assert_eq!(Early::read(&[]), None);
    }
}
