//! What one agent knows (Pappas et al. 2012, §III-A): how often it has met each word, and from that the topic
//! table.

use super::links::Sets;
use crate::text::vector::{Plain, log_tf};
use crate::text::{Counts, DocFreq, SparseVec};
use learn::bytes::{Reader, Writer, damaged};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use types::{Problem, UrlId};

/// Most words of a table, and of all words whose weights are summed.
pub const MOST_TABLE: usize = 2_000;
const MOST_SUMS: usize = 200_000;

#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TableKind {
    Static,
    Dynamic,
}

pub struct Agent {
    kind: TableKind,
    size: usize,
    add: f64,
    similarity: f64,
    /// Seeds it was given, and how many of them are done with.
    dealt: u32,
    done: u32,
    df: DocFreq,
    /// `Σ_docs TFW` of each word; times its idf that is `w`. A static table, once made, needs only its own
    /// words.
    sums: BTreeMap<u64, f64>,
    /// Changed since the last save; `None` = all of it must be saved.
    touched: Option<BTreeSet<u64>>,
    table: Option<Table>,
    /// The pages fetched before there was a table.
    first: Vec<(u32, Counts)>,
    first_saved: usize,
}

/// The words that stand for the topic.
#[derive(Default)]
struct Table {
    words: BTreeSet<u64>,
    /// `W` by the lower half of the word's hash: links keep no more of it.
    weights: HashMap<u32, f64, Plain>,
    vector: SparseVec,
    saved: bool,
}

impl Agent {
    pub fn new(kind: TableKind, size: usize, add: f64, similarity: f64) -> Agent {
        Agent {
            kind,
            size,
            add,
            similarity,
            dealt: 0,
            done: 0,
            df: DocFreq::default(),
            sums: BTreeMap::new(),
            touched: Some(BTreeSet::new()),
            table: None,
            first: Vec::new(),
            first_saved: 0,
        }
    }

    /// It is given one more seed.
    pub fn deal(&mut self) {
        self.dealt = self.dealt.saturating_add(1);
    }

    pub fn idf(&self, hash: u64) -> f64 {
        // Phrases are not counted among the words of pages: they weigh 1.
        if self.df.of(hash) > 0 { self.df.idf(hash) } else { 1.0 }
    }

    /// `TFW·idf` of a page's words.
    pub fn vector(&self, words: &Counts) -> SparseVec {
        words.log_tf(|h| self.df.idf(h))
    }

    /// One more page. True when that made the table: its last seed, or its first other page, has come.
    pub fn learn(&mut self, id: UrlId, seed: bool, words: &Counts) -> bool {
        self.df.add(words);
        for (hash, n) in words.iter() {
            let known = self.sums.contains_key(&hash);
            let wanted = self.table.is_none() || self.kind == TableKind::Dynamic;
            if known || (wanted && self.sums.len() < MOST_SUMS) {
                *self.sums.entry(hash).or_insert(0.0) += log_tf(n);
                if let Some(t) = &mut self.touched {
                    t.insert(hash);
                }
            }
        }
        if self.table.is_some() {
            self.refresh();
            self.grow(words);
            return false;
        }
        self.first.push((id.0, words.clone()));
        self.done = self.done.saturating_add(u32::from(seed));
        if seed && self.done < self.dealt {
            return false;
        }
        self.make();
        true
    }

    /// A seed brought nothing. True when that made the table.
    pub fn seed_lost(&mut self) -> bool {
        self.done = self.done.saturating_add(1);
        let ready = self.table.is_none() && self.done >= self.dealt && !self.first.is_empty();
        if ready {
            self.make();
        }
        ready
    }

    fn weight(&self, hash: u64) -> f64 {
        self.sums.get(&hash).map_or(0.0, |s| s * self.df.idf(hash))
    }

    fn make(&mut self) {
        let all = SparseVec::new(self.sums.keys().map(|h| (*h, self.weight(*h))).collect());
        let words: BTreeSet<u64> = all.top(self.size).iter().map(|e| e.0).collect();
        if self.kind == TableKind::Static {
            self.sums.retain(|h, _| words.contains(h));
            self.touched = None;
        }
        self.table = Some(Table { words, ..Table::default() });
        self.refresh();
    }

    /// `W = w / w_max` of the table's words.
    fn refresh(&mut self) {
        let Some(mut table) = self.table.take() else { return };
        let weights: Vec<(u64, f64)> = table.words.iter().map(|h| (*h, self.weight(*h))).collect();
        let max = weights.iter().map(|e| e.1).fold(0.0, f64::max);
        let scale = if max > 0.0 { 1.0 / max } else { 0.0 };
        table.vector = SparseVec::new(weights.into_iter().map(|(h, w)| (h, w * scale)).collect());
        table.weights = table.vector.iter().map(|(h, w)| (h as u32, w)).collect();
        self.table = Some(table);
    }

    /// Dynamic: a page like the table gives it the heaviest of its own words.
    fn grow(&mut self, words: &Counts) {
        if self.kind == TableKind::Static || words.is_empty() {
            return;
        }
        if self.similarity(words).is_none_or(|s| s < self.similarity) {
            return;
        }
        let vector = self.vector(words);
        let n = (vector.len() as f64 * self.add / 100.0) as usize;
        let heaviest = vector.top(n);
        let Some(table) = &mut self.table else { return };
        for (hash, _) in heaviest.iter() {
            if table.words.len() < MOST_TABLE && table.words.insert(hash) {
                table.saved = false;
            }
        }
        self.refresh();
    }

    /// `cos(P, TSWT)`; nothing while there is no table.
    pub fn similarity(&self, words: &Counts) -> Option<f64> {
        self.like_table(&self.vector(words))
    }
    pub fn like_table(&self, vector: &SparseVec) -> Option<f64> {
        let table = self.table.as_ref()?;
        Some(vector.cosine(&table.vector).max(0.0))
    }

    /// `Σ_{i ∈ X∩T} W_i / |TSWT|` of a set of words.
    pub fn words_score(&self, words: &[u32]) -> f64 {
        let Some(table) = self.table.as_ref().filter(|t| !t.words.is_empty()) else { return 0.0 };
        let sum: f64 = words.iter().filter_map(|h| table.weights.get(h)).sum();
        sum / table.words.len() as f64
    }

    /// `LS_T` without the pages it was found on: anchor, URL and the text around it.
    pub fn own_score(&self, sets: &Sets) -> f64 {
        self.words_score(&sets.anchor) + self.words_score(&sets.url) + self.words_score(&sets.text)
    }

    /// The pages fetched before the table was made, with their cosines; they are not needed after that.
    pub fn first_pages(&mut self) -> Vec<(u32, f64)> {
        let first = std::mem::take(&mut self.first);
        self.first_saved = 0;
        first.iter().map(|(id, words)| (*id, self.similarity(words).unwrap_or(0.0))).collect()
    }

    pub fn save(&mut self, full: bool, w: &mut Writer) {
        w.u32(self.dealt).u32(self.done).bytes(&self.df.save(full).unwrap_or_default());
        let touched = self.touched.replace(BTreeSet::new());
        let changed: Option<Vec<u64>> = touched.filter(|_| !full).map(|t| t.into_iter().collect());
        w.u8(u8::from(changed.is_none()));
        let keys = changed.unwrap_or_else(|| self.sums.keys().copied().collect());
        w.var(keys.len() as u64);
        for key in keys {
            w.u64(key).f64(self.sums.get(&key).copied().unwrap_or(0.0));
        }
        // 0 = no table, 1 = as it was, 2 = its words follow.
        match &mut self.table {
            None => {
                w.u8(0);
            }
            Some(t) if t.saved && !full => {
                w.u8(1);
            }
            Some(t) => {
                t.saved = true;
                w.u8(2).var(t.words.len() as u64);
                t.words.iter().for_each(|h| {
                    w.u64(*h);
                });
            }
        }
        let from = if full { 0 } else { self.first_saved.min(self.first.len()) };
        self.first_saved = self.first.len();
        w.u8(u8::from(full)).var((self.first.len() - from) as u64);
        for (id, words) in self.first.iter().skip(from) {
            w.u32(*id).var(words.len() as u64);
            words.iter().for_each(|(h, n)| {
                w.u64(h).var(u64::from(n));
            });
        }
    }

    /// It has a table.
    pub fn knows(&self) -> bool {
        self.table.is_some()
    }

    /// Everything but the seeds it was dealt and the pages it waits for.
    pub fn export(&mut self, w: &mut Writer) {
        let (dealt, done) = (std::mem::take(&mut self.dealt), std::mem::take(&mut self.done));
        let first = std::mem::take(&mut self.first);
        self.save(true, w);
        (self.dealt, self.done, self.first) = (dealt, done, first);
        // What was written went elsewhere: the next save of this crawl holds everything.
        self.touched = None;
    }

    pub fn load(&mut self, r: &mut Reader) -> Result<(), Problem> {
        (self.dealt, self.done) = (r.u32()?, r.u32()?);
        let df = r.bytes()?;
        if !df.is_empty() {
            self.df.load(df)?;
        }
        if r.u8()? == 1 {
            self.sums.clear();
        }
        for _ in 0..r.var()? {
            let key = r.u64()?;
            self.sums.insert(key, r.f64()?);
        }
        self.touched = Some(BTreeSet::new());
        match r.u8()? {
            0 => self.table = None,
            1 if self.table.is_some() => {}
            2 => {
                let mut words = BTreeSet::new();
                for _ in 0..r.var()? {
                    words.insert(r.u64()?);
                }
                self.table = Some(Table { words, saved: true, ..Table::default() });
            }
            _ => return Err(damaged()),
        }
        if r.u8()? == 1 {
            self.first.clear();
        }
        for _ in 0..r.var()? {
            let id = r.u32()?;
            let mut words = Vec::new();
            for _ in 0..r.var()? {
                words.push((r.u64()?, u32::try_from(r.var()?).map_err(|_| damaged())?));
            }
            self.first.push((id, Counts::from_pairs(words)));
        }
        if self.table.is_some() {
            self.first.clear();
        }
        self.first_saved = self.first.len();
        self.refresh();
        Ok(())
    }

    #[cfg(test)]
    pub fn weights(&self) -> Vec<(u64, f64)> {
        self.table.as_ref().map(|t| t.vector.iter().collect()).unwrap_or_default()
    }
}
