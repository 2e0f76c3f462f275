//! Three logistic regressions over the same features, learnt one example at a time. Strategy `adaptive` asks
//! them: is a page relevant, how similar is it, and is it a way to relevant ones?
//!
//! An example has a few dense features and many hashed ones. A fixed prior weight per dense feature is an
//! offset that is never forgotten; only the difference from it is learnt (AdaGrad). With nothing seen the
//! model *is* its prior.

use crate::bytes::{Reader, Writer, damaged};
use std::collections::BTreeMap;
use types::Problem;

/// How many regressions there are.
pub const HEADS: usize = 3;
/// The largest slot of a hashed feature.
pub const SLOT_MASK: u32 = (1 << 20) - 1;

/// The hashed features of an example.
pub trait Hashed {
    /// Calls `f` with the slot and the value of each. Slots above [`SLOT_MASK`] are ignored.
    fn each(&self, f: impl FnMut(usize, f32));
}

/// Weights of the heads and their squared gradients.
type Row = [f32; 2 * HEADS];
const EMPTY: Row = [0.0; 2 * HEADS];

/// The rows of the hashed features. Weights are asked for a hundred times per link, squared gradients only to
/// learn: they are apart. The weights of a feature are four numbers, one of them always zero: one step for
/// the processor, and never across two cache lines.
struct Rows {
    weights: Vec<[f32; 4]>,
    squares: Vec<[f32; HEADS]>,
    /// A bit for each row that may hold anything: most rows that a new link asks for do not, and these bits
    /// are always at hand while the rows are not.
    in_use: Vec<u64>,
}

impl Rows {
    fn new() -> Rows {
        let n = SLOT_MASK as usize + 1;
        Rows { weights: vec![[0.0; 4]; n], squares: vec![[0.0; HEADS]; n], in_use: vec![0; n / 64] }
    }
    fn clear(&mut self) {
        *self = Rows::new();
    }
    /// The weights, if there are any.
    #[inline]
    fn weights(&self, slot: usize) -> Option<&[f32; 4]> {
        let in_use = self.in_use.get(slot / 64).is_some_and(|word| word >> (slot % 64) & 1 == 1);
        if in_use { self.weights.get(slot) } else { None }
    }
    fn get(&self, slot: usize) -> Row {
        let (Some([a, b, c, _]), Some([d, e, f])) = (self.weights.get(slot), self.squares.get(slot)) else {
            return EMPTY;
        };
        [*a, *b, *c, *d, *e, *f]
    }
    #[inline]
    fn change(&mut self, slot: usize) -> Option<(&mut [f32; 4], &mut [f32; HEADS])> {
        *self.in_use.get_mut(slot / 64)? |= 1 << (slot % 64);
        Some((self.weights.get_mut(slot)?, self.squares.get_mut(slot)?))
    }
    /// Is there such a slot?
    fn set(&mut self, slot: usize, [a, b, c, d, e, f]: Row) -> Option<()> {
        let (weights, squares) = self.change(slot)?;
        (*weights, *squares) = ([a, b, c, 0.0], [d, e, f]);
        Some(())
    }
    /// The slots that hold anything, in order.
    fn used(&self) -> impl Iterator<Item = u32> + '_ {
        (0..=SLOT_MASK).filter(|slot| self.get(*slot as usize) != EMPTY)
    }
}

/// How quickly the weights follow examples (AdaGrad).
#[derive(Clone, Copy, Debug)]
pub struct Rates {
    /// Step of hashed features.
    pub step: f32,
    /// Added to the root of the squared gradients of hashed features: keeps first steps small.
    pub damp: f32,
    /// Step of dense features.
    pub dense_step: f32,
    /// As `damp`, of dense features.
    pub dense_damp: f32,
    /// Pulls the dense weights back to their prior with every example.
    pub dense_l2: f32,
    /// Step of the level (dense feature 0), which is learnt before all others.
    pub level: f32,
}

/// The regressions, with `D` dense features each.
pub struct Logistic<const D: usize> {
    rates: Rates,
    prior: [[f64; D]; HEADS],
    dense: [Row; D],
    rows: Rows,
    /// Slots changed since the last save; `None` = nobody saves.
    unsaved: Option<Touched>,
    /// Value at the last delta of every row that changed since; `None` = nobody asked for deltas.
    told: Option<LearntRows<D>>,
    /// All that is known was learnt here: nothing was loaded.
    own: bool,
}

/// What is saved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Saving {
    /// What changed since the last save.
    Changes,
    /// All rows, in one go.
    Everything,
    /// Everything too, but its rows come in pieces, as changes.
    Start,
    /// The next rows of a `Start`.
    Piece,
}

/// Rows in a piece: two to three megabytes.
const PIECE: usize = 100_000;

/// Which slots were touched: a bit each, and a list.
struct Touched {
    bits: Vec<u64>,
    slots: Vec<u32>,
}

impl Touched {
    fn new() -> Touched {
        Touched { bits: vec![0; (SLOT_MASK as usize + 1) / 64], slots: Vec::new() }
    }
    #[inline]
    fn mark(&mut self, slot: u32) {
        if let Some(word) = self.bits.get_mut(slot as usize / 64) {
            let bit = 1 << (slot % 64);
            if *word & bit == 0 {
                *word |= bit;
                self.slots.push(slot);
            }
        }
    }
    /// Up to `most` slots, sorted; they are not touched any more.
    fn take(&mut self, most: usize) -> Vec<u32> {
        // From the end: the others stay where they are.
        let mut slots = match self.slots.len() > most {
            true => self.slots.split_off(self.slots.len() - most),
            false => std::mem::take(&mut self.slots),
        };
        for s in &slots {
            self.bits.get_mut(*s as usize / 64).into_iter().for_each(|w| *w &= !(1 << (s % 64)));
        }
        slots.sort_unstable();
        slots
    }
}

struct LearntRows<const D: usize> {
    rows: BTreeMap<u32, Row>,
    dense: [Row; D],
}

/// The logistic function; its argument is held within ±30.
pub fn sigmoid(z: f64) -> f64 {
    1.0 / (1.0 + libm::exp(-z.clamp(-30.0, 30.0)))
}

impl<const D: usize> Logistic<D> {
    /// A model that knows its prior only.
    pub fn new(prior: [[f64; D]; HEADS], rates: Rates) -> Self {
        Logistic { rates, prior, dense: [EMPTY; D], rows: Rows::new(), unsaved: None, told: None, own: true }
    }

    /// Log odds of the heads.
    pub fn z(&self, hashed: &impl Hashed, x: &[f64; D]) -> [f64; HEADS] {
        let mut z = [0.0f64; HEADS];
        for (i, (row, x)) in self.dense.iter().zip(x).enumerate() {
            for h in 0..HEADS {
                z[h] += (self.prior[h][i] + f64::from(row[h])) * x;
            }
        }
        let mut h = [0.0f32; 4];
        hashed.each(|slot, value| {
            if let Some(weights) = self.rows.weights(slot) {
                for (h, w) in h.iter_mut().zip(weights) {
                    *h += w * value;
                }
            }
        });
        for (z, h) in z.iter_mut().zip(h) {
            *z += f64::from(h);
        }
        z
    }

    /// What was learnt of a hashed feature, per head.
    pub fn row(&self, slot: usize) -> [f32; HEADS] {
        self.rows.weights(slot).map_or([0.0; HEADS], |[a, b, c, _]| [*a, *b, *c])
    }
    /// Weight of a dense feature: its prior and what was learnt.
    pub fn dense_weight(&self, head: usize, feature: usize) -> f64 {
        let (Some(p), Some(d)) = (self.prior[head].get(feature), self.dense.get(feature)) else { return 0.0 };
        p + f64::from(d[head])
    }

    /// One step towards what was found.
    pub fn learn(&mut self, hashed: &impl Hashed, x: &[f64; D], y: [Option<f64>; HEADS], weight: f64) {
        let mut z = self.z(hashed, x);
        let r = self.rates;
        // The level first, and fast: most links lead to nothing, and if the features had to learn that,
        // whatever is like the pages seen so far would look bad beside what is unknown.
        for h in 0..HEADS {
            let Some(y) = y[h] else { continue };
            let step = f64::from(r.level) * weight * (sigmoid(z[h]) - y);
            self.dense[0][h] -= step as f32;
            z[h] -= step * x[0];
        }
        let mut e = [0.0f32; HEADS];
        for h in 0..HEADS {
            e[h] = y[h].map_or(0.0, |y| (weight * (sigmoid(z[h]) - y)) as f32);
        }
        let told_of = y.map(|y| y.is_some());
        for (row, x) in self.dense.iter_mut().zip(x).skip(1) {
            let x = *x as f32;
            for h in (0..HEADS).filter(|h| told_of[*h]) {
                let g = e[h] * x + r.dense_l2 * row[h];
                row[h + HEADS] += g * g;
                row[h] -= r.dense_step * g / (row[h + HEADS].sqrt() + r.dense_damp);
            }
        }
        let (rows, unsaved, told) = (&mut self.rows, &mut self.unsaved, &mut self.told);
        hashed.each(|slot, value| {
            if let Some(u) = unsaved {
                u.mark(slot as u32);
            }
            if let Some(t) = told {
                t.rows.entry(slot as u32).or_insert_with(|| rows.get(slot));
            }
            let Some((weights, squares)) = rows.change(slot) else { return };
            for h in (0..HEADS).filter(|h| told_of[*h]) {
                let g = e[h] * value;
                squares[h] += g * g;
                weights[h] -= r.step * g / (squares[h].sqrt() + r.damp);
            }
        });
    }

    /// The first save is of everything, whatever is asked for.
    pub fn save(&mut self, what: Saving, w: &mut Writer) {
        let first = self.unsaved.is_none();
        let touched = self.unsaved.get_or_insert_with(Touched::new);
        let full = first || matches!(what, Saving::Everything | Saving::Start);
        let slots = match what {
            Saving::Piece => touched.take(PIECE),
            Saving::Changes if !first => touched.take(usize::MAX),
            Saving::Changes | Saving::Everything => {
                touched.take(usize::MAX);
                self.rows.used().collect()
            }
            Saving::Start => {
                self.rows.used().for_each(|slot| touched.mark(slot));
                Vec::new()
            }
        };
        w.u8(u8::from(full));
        self.dense.iter().for_each(|row| write_row(row, w));
        // Many megabytes in a long crawl: room for all of them at once, instead of twice as much in the end.
        w.0.reserve_exact(slots.len() * (2 + size_of::<Row>()) + 16);
        w.var(slots.len() as u64);
        let mut last = 0;
        for slot in slots {
            w.var(u64::from(slot - last));
            write_row(&self.rows.get(slot as usize), w);
            last = slot;
        }
    }

    /// Are there changes that were not saved?
    pub fn is_unsaved(&self) -> bool {
        self.unsaved.as_ref().is_some_and(|u| !u.slots.is_empty())
    }

    /// Reads what `save` wrote: a full save replaces the rows, a change or a piece is laid over them.
    pub fn load(&mut self, r: &mut Reader) -> Result<(), Problem> {
        let full = r.u8()? == 1;
        for row in &mut self.dense {
            *row = read_row(r)?;
        }
        if full {
            self.rows.clear();
        }
        let n = r.var()?;
        let mut slot = 0usize;
        for _ in 0..n {
            slot = usize::try_from(r.var()?).ok().and_then(|s| slot.checked_add(s)).ok_or_else(damaged)?;
            let row = read_row(r)?;
            self.rows.set(slot, row).ok_or_else(damaged)?;
        }
        self.unsaved = Some(Touched::new());
        self.own = false;
        Ok(())
    }

    /// What was learnt since the last call, as differences. The first call tells everything, unless the model
    /// was loaded: then others know it already.
    pub fn delta(&mut self, w: &mut Writer) {
        if self.told.is_none() {
            let mut told = LearntRows { rows: BTreeMap::new(), dense: self.dense };
            if self.own {
                told.dense = [EMPTY; D];
                told.rows = self.rows.used().map(|slot| (slot, EMPTY)).collect();
            }
            self.told = Some(told);
        }
        let Some(told) = &mut self.told else { return };
        for (now, then) in self.dense.iter().zip(&told.dense) {
            write_row(&difference(now, then), w);
        }
        told.dense = self.dense;
        w.var(told.rows.len() as u64);
        for (slot, then) in std::mem::take(&mut told.rows) {
            w.u32(slot);
            write_row(&difference(&self.rows.get(slot as usize), &then), w);
        }
    }

    /// Adds what another worker's `delta` says.
    pub fn apply(&mut self, r: &mut Reader) -> Result<(), Problem> {
        let mut dense = [EMPTY; D];
        for row in &mut dense {
            *row = read_row(r)?;
        }
        let n = r.var()?;
        let mut rows = Vec::new();
        for _ in 0..n {
            let slot = r.u32()?;
            if slot > SLOT_MASK {
                return Err(damaged());
            }
            rows.push((slot, read_row(r)?));
        }
        for (row, more) in self.dense.iter_mut().zip(&dense) {
            add(row, more);
        }
        if let Some(told) = &mut self.told {
            // What others taught is not ours to tell again.
            for (row, more) in told.dense.iter_mut().zip(&dense) {
                add(row, more);
            }
        }
        for (slot, more) in rows {
            let mut row = self.rows.get(slot as usize);
            add(&mut row, &more);
            self.rows.set(slot as usize, row).ok_or_else(damaged)?;
            self.unsaved.iter_mut().for_each(|u| u.mark(slot));
            if let Some(then) = self.told.as_mut().and_then(|t| t.rows.get_mut(&slot)) {
                add(then, &more);
            }
        }
        Ok(())
    }
}

fn difference(now: &Row, then: &Row) -> Row {
    let mut out = *now;
    for (o, t) in out.iter_mut().zip(then) {
        *o -= t;
    }
    out
}

fn add(row: &mut Row, more: &Row) {
    for (a, b) in row.iter_mut().zip(more) {
        *a += *b;
    }
    // Squared gradients only grow; a rounding error must not make one negative.
    for v in row.iter_mut().skip(HEADS) {
        *v = v.max(0.0);
    }
}

fn write_row(row: &Row, w: &mut Writer) {
    row.iter().for_each(|v| {
        w.u32(v.to_bits());
    });
}

fn read_row(r: &mut Reader) -> Result<Row, Problem> {
    let mut row = EMPTY;
    for v in &mut row {
        *v = f32::from_bits(r.u32()?);
        if !v.is_finite() {
            return Err(damaged());
        }
    }
    Ok(row)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_over_of_a_piece_comes_with_the_next() {
        let mut t = Touched::new();
        (0..10).rev().for_each(|slot| t.mark(slot * 7));
        let mut all = t.take(4);
        assert_eq!(all, [0, 7, 14, 21]);
        // Touched again after it was saved; those that wait wait once.
        t.mark(0);
        t.mark(63);
        all.extend(t.take(4));
        all.extend(t.take(usize::MAX));
        assert!(t.take(4).is_empty());
        all.sort_unstable();
        assert_eq!(all, [0, 0, 7, 14, 21, 28, 35, 42, 49, 56, 63]);
    }
}
