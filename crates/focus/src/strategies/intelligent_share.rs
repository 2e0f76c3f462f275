//! What `intelligent` tells others: other workers (sums of counts), another crawl (the counts without this
//! crawl's pages), and itself, when a verdict turns out to have been wrong.

use super::{Intelligent, Knowledge, Revised, Seen, Table, parents_of, read_evidence, read_seen};
use learn::bytes::{Reader, Writer};
use types::Problem;

/// Counts that can be added up.
#[derive(Clone, Debug, Default)]
pub(super) struct Sums {
    pages: Seen,
    links: [Seen; 2],
    words: Table,
    tokens: Table,
}

impl Seen {
    fn plus(&mut self, other: Seen) {
        self.all = self.all.saturating_add(other.all);
        self.relevant = self.relevant.saturating_add(other.relevant);
    }
    fn minus(&mut self, other: Seen) {
        self.all = self.all.saturating_sub(other.all);
        self.relevant = self.relevant.saturating_sub(other.relevant).min(self.all);
    }
    /// One that was counted is (not) relevant after all.
    fn turn(&mut self, relevant: bool) {
        let moved = if relevant { self.relevant.saturating_add(1) } else { self.relevant.saturating_sub(1) };
        self.relevant = moved.min(self.all);
    }
}

impl Table {
    fn plus(&mut self, other: &Table) {
        for (k, s) in &other.0 {
            self.0.entry(*k).or_default().plus(*s);
        }
        self.bound();
    }
    fn minus(&mut self, other: &Table) {
        for (k, s) in &other.0 {
            if let Some(mine) = self.0.get_mut(k) {
                mine.minus(*s);
            }
        }
        self.0.retain(|_, s| s.all > 0);
    }
    fn turn(&mut self, property: u32, relevant: bool) {
        if let Some(s) = self.0.get_mut(&property) {
            s.turn(relevant);
        }
    }
}

impl Sums {
    fn of(k: &Knowledge) -> Sums {
        Sums { pages: k.pages, links: k.links, words: k.words.clone(), tokens: k.tokens.clone() }
    }
    fn minus(&mut self, other: &Sums) {
        self.pages.minus(other.pages);
        self.links.iter_mut().zip(other.links).for_each(|(a, b)| a.minus(b));
        self.words.minus(&other.words);
        self.tokens.minus(&other.tokens);
    }
    fn write(&self) -> Vec<u8> {
        let mut w = Writer::default();
        for s in [self.pages, self.links[0], self.links[1]] {
            w.var(u64::from(s.all)).var(u64::from(s.relevant));
        }
        self.words.write(&mut w);
        self.tokens.write(&mut w);
        w.0
    }
    fn read(bytes: &[u8]) -> Result<Sums, Problem> {
        let mut r = Reader(bytes);
        let pages = read_seen(&mut r)?;
        let links = [read_seen(&mut r)?, read_seen(&mut r)?];
        let sums = Sums { pages, links, words: Table::read(&mut r)?, tokens: Table::read(&mut r)? };
        r.end()?;
        Ok(sums)
    }
}

impl Intelligent {
    /// The counts; the pages they were made of are this crawl's.
    pub(super) fn write_model(&self) -> Option<Vec<u8>> {
        (self.known.pages.all > 0).then(|| Sums::of(&self.known).write())
    }

    pub(super) fn read_model(&mut self, bytes: &[u8]) -> Result<(), Problem> {
        let Sums { pages, links, words, tokens } = Sums::read(bytes)?;
        self.known = Knowledge { pages, links, words, tokens, ..Knowledge::default() };
        self.log = None;
        self.told = Some(Sums::of(&self.known));
        Ok(())
    }

    /// What is known now and was not when this was asked last, nor told by others.
    pub(super) fn write_delta(&mut self) -> Option<Vec<u8>> {
        let now = Sums::of(&self.known);
        let mut fresh = now.clone();
        if let Some(told) = self.told.replace(now) {
            fresh.minus(&told);
        }
        (fresh.pages.all > 0).then(|| fresh.write())
    }

    pub(super) fn read_delta(&mut self, bytes: &[u8]) -> Result<(), Problem> {
        let theirs = Sums::read(bytes)?;
        let told = self.told.get_or_insert_with(Sums::default);
        for (pages, links, words, tokens) in [
            (&mut self.known.pages, &mut self.known.links, &mut self.known.words, &mut self.known.tokens),
            (&mut told.pages, &mut told.links, &mut told.words, &mut told.tokens),
        ] {
            pages.plus(theirs.pages);
            links.iter_mut().zip(theirs.links).for_each(|(a, b)| a.plus(b));
            words.plus(&theirs.words);
            tokens.plus(&theirs.tokens);
        }
        // What is saved are observations of our own: only everything can hold theirs.
        self.log = None;
        Ok(())
    }

    /// Counts a page the other way, as far as it and the pages that link to it are remembered.
    pub(super) fn turn(&mut self, page: &Revised) {
        let relevant = page.verdict.relevant;
        let k = &mut self.known;
        if k.parents.get(&page.id.0).is_none_or(|p| p.relevant == relevant) {
            return;
        }
        k.pages.turn(relevant);
        let mut words: Vec<u32> = Vec::new();
        for id in parents_of(page.sources) {
            let Some(parent) = k.parents.get_mut(&id) else { continue };
            parent.children.turn(relevant);
            if let Some(s) = k.links.get_mut(usize::from(parent.relevant)) {
                s.turn(relevant);
            }
            words.extend(parent.words.iter());
        }
        words.sort_unstable();
        words.dedup();
        words.into_iter().for_each(|w| k.words.turn(w, relevant));
        let tokens = page.sources.iter().find_map(|s| read_evidence(&s.evidence));
        tokens.into_iter().flatten().for_each(|t| k.tokens.turn(t, relevant));
        if let Some(p) = k.parents.get_mut(&page.id.0) {
            p.relevant = relevant;
        }
        self.log = None;
    }
}
