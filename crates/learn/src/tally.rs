//! Counts per feature and class in an open-addressing table: what naive Bayes is made of.
//!
//! A lookup touches one cache line of keys and one of counts. Few classes: the counts of a feature lie side
//! by side. Many classes (a taxonomy of hundreds): only those that are not zero are kept, since
//! `ln(1 + 0) = 0` adds nothing.

use crate::bytes::{Reader, Writer, damaged};
use types::Problem;

/// Up to so many classes the counts are kept side by side.
const FEW: usize = 8;

#[derive(Clone, Debug)]
enum Rows {
    Few(Vec<u32>),
    Many(Vec<Vec<(u32, u32)>>),
}

/// Documents and features counted per class. Keys are hashes of the features.
#[derive(Clone, Debug)]
pub(super) struct Tally {
    classes: usize,
    /// Documents per class.
    pub documents: Vec<u64>,
    /// Sum of the counts of all features, per class.
    pub tokens: Vec<u64>,
    /// Slot → key; 0 = free.
    keys: Vec<u64>,
    rows: Rows,
    len: usize,
}

/// Key 0 means a free slot, so the feature with hash 0 goes by another name.
fn key_of(hash: u64) -> u64 {
    if hash == 0 { 0x9e37_79b9_7f4a_7c15 } else { hash }
}

impl Tally {
    pub fn new(classes: usize) -> Tally {
        let rows = if classes <= FEW { Rows::Few(Vec::new()) } else { Rows::Many(Vec::new()) };
        Tally {
            classes,
            documents: vec![0; classes],
            tokens: vec![0; classes],
            keys: Vec::new(),
            rows,
            len: 0,
        }
    }
    pub fn len(&self) -> usize {
        self.len
    }
    pub fn is_empty(&self) -> bool {
        self.len == 0 && self.documents.iter().all(|d| *d == 0)
    }

    #[inline]
    fn probe(&self, key: u64) -> Result<usize, usize> {
        let mask = self.keys.len().wrapping_sub(1);
        // The top bits after a multiplication, whatever the quality of the hash.
        let mut slot = (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize & mask;
        loop {
            match self.keys.get(slot) {
                Some(k) if *k == key => return Ok(slot),
                Some(0) | None => return Err(slot),
                _ => slot = (slot + 1) & mask,
            }
        }
    }

    fn slot_for(&mut self, hash: u64) -> usize {
        let key = key_of(hash);
        if !self.keys.is_empty()
            && let Ok(slot) = self.probe(key)
        {
            return slot;
        }
        if (self.len + 1) * 10 > self.keys.len() * 6 {
            self.grow((self.keys.len() * 2).max(64));
        }
        match self.probe(key) {
            Ok(slot) => slot,
            Err(slot) => {
                if let Some(k) = self.keys.get_mut(slot) {
                    *k = key;
                }
                self.len += 1;
                slot
            }
        }
    }

    fn grow(&mut self, slots: usize) {
        let old = std::mem::replace(&mut self.keys, vec![0; slots]);
        let empty = match &self.rows {
            Rows::Few(_) => Rows::Few(vec![0; slots * self.classes]),
            Rows::Many(_) => Rows::Many(vec![Vec::new(); slots]),
        };
        let mut rows = std::mem::replace(&mut self.rows, empty);
        for (from, key) in old.into_iter().enumerate().filter(|e| e.1 != 0) {
            let Err(to) = self.probe(key) else { continue };
            if let Some(k) = self.keys.get_mut(to) {
                *k = key;
            }
            match (&mut rows, &mut self.rows) {
                (Rows::Few(old), Rows::Few(new)) => {
                    let n = self.classes;
                    if let (Some(a), Some(b)) =
                        (old.get(from * n..(from + 1) * n), new.get_mut(to * n..(to + 1) * n))
                    {
                        b.copy_from_slice(a);
                    }
                }
                (Rows::Many(old), Rows::Many(new)) => {
                    if let (Some(a), Some(b)) = (old.get_mut(from), new.get_mut(to)) {
                        std::mem::swap(a, b);
                    }
                }
                _ => {}
            }
        }
    }

    pub fn add(&mut self, class: usize, hash: u64, count: u32) {
        if class >= self.classes || count == 0 {
            return;
        }
        let slot = self.slot_for(hash);
        if let Some(t) = self.tokens.get_mut(class) {
            *t = t.saturating_add(u64::from(count));
        }
        match &mut self.rows {
            Rows::Few(counts) => {
                if let Some(c) = counts.get_mut(slot * self.classes + class) {
                    *c = c.saturating_add(count);
                }
            }
            Rows::Many(rows) => {
                let Some(row) = rows.get_mut(slot) else { return };
                match row.binary_search_by_key(&(class as u32), |e| e.0) {
                    Ok(i) => row.get_mut(i).into_iter().for_each(|e| e.1 = e.1.saturating_add(count)),
                    Err(i) => row.insert(i, (class as u32, count)),
                }
            }
        }
    }

    /// Takes up to `count` of a feature out of a class; how many there were to take.
    pub fn take(&mut self, class: usize, hash: u64, count: u32) -> u32 {
        if class >= self.classes || self.keys.is_empty() {
            return 0;
        }
        let Ok(slot) = self.probe(key_of(hash)) else { return 0 };
        let place = match &mut self.rows {
            Rows::Few(counts) => counts.get_mut(slot * self.classes + class),
            Rows::Many(rows) => {
                let row = rows.get_mut(slot).map_or(&mut [][..], |r| r);
                row.iter_mut().find(|e| e.0 == class as u32).map(|e| &mut e.1)
            }
        };
        let Some(place) = place else { return 0 };
        let taken = count.min(*place);
        *place -= taken;
        if let Some(t) = self.tokens.get_mut(class) {
            *t = t.saturating_sub(u64::from(taken));
        }
        taken
    }

    /// Calls `each(class, count)` for every class in which the feature was counted, in order; false if it is
    /// unknown.
    #[inline]
    pub fn of(&self, hash: u64, mut each: impl FnMut(usize, u32)) -> bool {
        if self.keys.is_empty() {
            return false;
        }
        let Ok(slot) = self.probe(key_of(hash)) else { return false };
        match &self.rows {
            Rows::Few(counts) => {
                let n = self.classes;
                for (class, count) in counts.get(slot * n..(slot + 1) * n).unwrap_or(&[]).iter().enumerate() {
                    each(class, *count);
                }
            }
            Rows::Many(rows) => {
                for (class, count) in rows.get(slot).map_or(&[][..], |r| r).iter().filter(|e| e.1 > 0) {
                    each(*class as usize, *count);
                }
            }
        }
        true
    }

    fn sorted_keys(&self) -> Vec<u64> {
        let mut keys: Vec<u64> = self.keys.iter().copied().filter(|k| *k != 0).collect();
        keys.sort_unstable();
        keys
    }

    /// Adds everything another one counted.
    pub fn merge(&mut self, other: &Tally) {
        for (mine, theirs) in self.documents.iter_mut().zip(&other.documents) {
            *mine = mine.saturating_add(*theirs);
        }
        for key in other.sorted_keys() {
            other.of(key, |class, count| self.add(class, key, count));
        }
    }

    /// Forgets the rarest features until at most `most` are left. True if anything was forgotten.
    pub fn bound(&mut self, most: usize) -> bool {
        if self.len <= most {
            return false;
        }
        let mut totals: Vec<u64> = Vec::with_capacity(self.len);
        let keys = self.sorted_keys();
        for key in &keys {
            let mut sum = 0;
            self.of(*key, |_, c| sum += u64::from(c));
            totals.push(sum);
        }
        // Half of the room, so that this does not happen at every step from now on.
        let keep = most / 2;
        let mut by_total = totals.clone();
        by_total.sort_unstable_by(|a, b| b.cmp(a));
        let limit = by_total.get(keep).copied().unwrap_or(0);
        let mut kept = Tally::new(self.classes);
        kept.documents.clone_from(&self.documents);
        for (key, total) in keys.iter().zip(totals) {
            if total > limit {
                self.of(*key, |class, count| kept.add(class, *key, count));
            }
        }
        *self = kept;
        true
    }

    pub fn write(&self, w: &mut Writer) {
        w.var(self.classes as u64);
        for d in &self.documents {
            w.var(*d);
        }
        w.var(self.len as u64);
        let mut last = 0;
        for key in self.sorted_keys() {
            let mut row: Vec<(usize, u32)> = Vec::new();
            self.of(key, |class, count| {
                if count > 0 {
                    row.push((class, count));
                }
            });
            // Hashes are spread evenly: the gaps of a few thousand sorted ones are a byte or two shorter.
            w.var(key - last).var(row.len() as u64);
            for (class, count) in row {
                w.var(class as u64).var(u64::from(count));
            }
            last = key;
        }
    }

    /// `classes` as the reader expects them; another number is a damaged or foreign state.
    pub fn read(r: &mut Reader, classes: usize) -> Result<Tally, Problem> {
        if r.var()? != classes as u64 {
            return Err(damaged());
        }
        let mut t = Tally::new(classes);
        for d in &mut t.documents {
            *d = r.var()?;
        }
        let mut key = 0u64;
        for _ in 0..r.var()? {
            key = key.checked_add(r.var()?).ok_or_else(damaged)?;
            for _ in 0..r.var()? {
                let class = usize::try_from(r.var()?).map_err(|_| damaged())?;
                let count = u32::try_from(r.var()?).map_err(|_| damaged())?;
                if class >= classes || count == 0 {
                    return Err(damaged());
                }
                t.add(class, key, count);
            }
        }
        Ok(t)
    }
}

impl PartialEq for Tally {
    /// Same counts, wherever they lie in the table.
    fn eq(&self, other: &Tally) -> bool {
        let bytes = |t: &Tally| {
            let mut w = Writer::default();
            t.write(&mut w);
            w.0
        };
        bytes(self) == bytes(other)
    }
}
