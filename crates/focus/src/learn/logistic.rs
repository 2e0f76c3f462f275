//! The online model of `adaptive` (spec/adaptive.md §6.4): logistic regression over hashed features, two heads that
//! share their features, AdaGrad steps, and a prior that is never forgotten.
//!
//! `z_h = w0·x + d_h·x + Σ w_h[i]·v_i` for the heads h = relevant and similar. `w0·x` (dense features, prior weights) is
//! a fixed offset; only the residuals `d` and `w` are learnt, so with no data the model *is* its prior.
//! A row holds [w_rel, w_sim, G_rel, G_sim]: 16 bytes, one cache line per feature for both heads and their step sizes.

use super::sigmoid;
use crate::bytes::{Reader, Writer, damaged};
use std::collections::BTreeMap;
use types::Problem;

/// Constants of the steps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rates {
    /// Step and damping of the hashed weights: `w −= step·g / (√G + damp)`.
    pub step: f32,
    pub damp: f32,
    /// The same for the dense residuals, which also are drawn to 0.
    pub dense_step: f64,
    pub dense_damp: f64,
    pub dense_l2: f64,
}

impl Default for Rates {
    fn default() -> Rates {
        Rates { step: 0.3, damp: 0.1, dense_step: 0.15, dense_damp: 0.5, dense_l2: 0.002 }
    }
}

/// Slots by default: 2^20, 16 MiB.
pub const BITS: u32 = 20;

/// Which head.
pub const RELEVANT: usize = 0;
pub const SIMILAR: usize = 1;

type Row = [f32; 4];
/// A dense feature's residuals and squared gradients, as a row.
type DenseRow = [f64; 4];

/// Slot and sign of a feature: two features that share a slot cancel as often as they add.
#[inline]
pub fn slot(hash: u64, bits: u32) -> (u32, f32) {
    let h = hash.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let slot = (h >> (64 - bits.clamp(1, 31))) as u32;
    (slot, if h & (1 << 20) == 0 { 1.0 } else { -1.0 })
}

/// What is known about a link when it is scored.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// (slot, value with its sign), as made by [`slot`].
    pub hashed: &'a [(u32, f32)],
    /// As many as there are prior weights.
    pub dense: &'a [f64],
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prediction {
    /// Log odds of the two heads.
    pub z: [f64; 2],
    pub relevant: f64,
    pub similar: f64,
}

#[derive(Clone, Debug)]
pub struct Logistic {
    bits: u32,
    rates: Rates,
    prior: Vec<f64>,
    dense: Vec<DenseRow>,
    rows: Vec<Row>,
    /// Updates so far.
    updates: u64,
    /// Updates at the last save.
    saved: u64,
    /// Slots changed since the last save.
    unsaved: Touched,
    /// Values at the last delta of what changed since; `None` = nobody asked for deltas yet.
    shared: Option<Shared>,
}

#[derive(Clone, Debug, Default)]
struct Touched {
    marks: Vec<u64>,
    slots: Vec<u32>,
}

#[derive(Clone, Debug, Default)]
struct Shared {
    rows: BTreeMap<u32, Row>,
    dense: Vec<DenseRow>,
}

impl Touched {
    fn mark(&mut self, slot: u32, slots: usize) {
        if self.marks.is_empty() {
            self.marks = vec![0; slots.div_ceil(64)];
        }
        if let Some(word) = self.marks.get_mut(slot as usize / 64) {
            let bit = 1 << (slot % 64);
            if *word & bit == 0 {
                *word |= bit;
                self.slots.push(slot);
            }
        }
    }
    fn take(&mut self) -> Vec<u32> {
        let mut slots = std::mem::take(&mut self.slots);
        for s in &slots {
            self.marks.get_mut(*s as usize / 64).into_iter().for_each(|w| *w = 0);
        }
        slots.sort_unstable();
        slots
    }
}

/// Beyond this the sigmoid is 0 or 1 anyway; keeps every sum finite.
const MOST_Z: f64 = 30.0;

fn finite(x: f64) -> f64 {
    if x.is_finite() { x } else { 0.0 }
}
/// A feature: far larger than any real one, but its square is still a number.
fn tame(x: f64) -> f64 {
    finite(x).clamp(-1e6, 1e6)
}

impl Logistic {
    /// `prior`: a weight per dense feature. `bits` between 1 and 28.
    pub fn new(bits: u32, prior: &[f64], rates: Rates) -> Logistic {
        let bits = bits.clamp(1, 28);
        Logistic {
            bits,
            rates,
            prior: prior.iter().copied().map(finite).collect(),
            dense: vec![[0.0; 4]; prior.len()],
            rows: vec![[0.0; 4]; 1 << bits],
            updates: 0,
            saved: 0,
            unsaved: Touched::default(),
            shared: None,
        }
    }
    pub fn bits(&self) -> u32 {
        self.bits
    }
    pub fn updates(&self) -> u64 {
        self.updates
    }
    pub fn slot(&self, hash: u64) -> (u32, f32) {
        slot(hash, self.bits)
    }
    /// Learnt weight of a slot for a head, without its sign.
    pub fn weight(&self, slot: u32, head: usize) -> f64 {
        self.rows.get(slot as usize).and_then(|r| r.get(head.min(1))).map_or(0.0, |w| f64::from(*w))
    }
    /// Prior plus residual of a dense feature.
    pub fn dense_weight(&self, feature: usize, head: usize) -> f64 {
        let learnt = self.dense.get(feature).and_then(|r| r.get(head.min(1))).copied().unwrap_or(0.0);
        self.prior.get(feature).copied().unwrap_or(0.0) + learnt
    }

    pub fn predict(&self, input: &Input) -> Prediction {
        let (mut rel, mut sim) = (0.0, 0.0);
        for ((x, w0), d) in input.dense.iter().zip(&self.prior).zip(&self.dense) {
            let x = tame(*x);
            rel += (w0 + d[RELEVANT]) * x;
            sim += (w0 + d[SIMILAR]) * x;
        }
        for (slot, value) in input.hashed {
            if let Some(row) = self.rows.get(*slot as usize) {
                let value = tame(f64::from(*value));
                rel += f64::from(row[RELEVANT]) * value;
                sim += f64::from(row[SIMILAR]) * value;
            }
        }
        let z = [finite(rel).clamp(-MOST_Z, MOST_Z), finite(sim).clamp(-MOST_Z, MOST_Z)];
        Prediction { z, relevant: sigmoid(z[RELEVANT]), similar: sigmoid(z[SIMILAR]) }
    }

    /// One step towards what was found: labels in [0, 1], `weight` the importance of this source.
    pub fn learn(&mut self, input: &Input, relevant: f64, similar: f64, weight: f64) {
        let p = self.predict(input);
        let weight = finite(weight).clamp(0.0, 1e3);
        let error = |p: f64, y: f64| weight * (p - finite(y).clamp(0.0, 1.0));
        let errors = [error(p.relevant, relevant), error(p.similar, similar)];
        if weight == 0.0 {
            return;
        }
        self.updates += 1;
        let r = self.rates;
        for (row, x) in self.dense.iter_mut().zip(input.dense) {
            let x = tame(*x);
            let [w0, w1, g0, g1] = row;
            for (w, total, e) in [(w0, g0, errors[RELEVANT]), (w1, g1, errors[SIMILAR])] {
                let g = e * x + r.dense_l2 * *w;
                *total = (*total + g * g).min(1e300);
                *w = finite(*w - r.dense_step * g / (total.sqrt() + r.dense_damp));
            }
        }
        let slots = self.rows.len();
        for (slot, value) in input.hashed {
            let Some(row) = self.rows.get_mut(*slot as usize) else { continue };
            let value = tame(f64::from(*value)) as f32;
            self.unsaved.mark(*slot, slots);
            if let Some(s) = &mut self.shared {
                s.rows.entry(*slot).or_insert(*row);
            }
            let [w0, w1, g0, g1] = row;
            for (w, total, e) in [(w0, g0, errors[RELEVANT]), (w1, g1, errors[SIMILAR])] {
                let g = e as f32 * value;
                *total = (*total + g * g).min(f32::MAX);
                *w = (*w - r.step * g / (total.sqrt() + r.damp)).clamp(-1e6, 1e6);
            }
        }
    }

    /// Everything, or (`full = false`) what changed since the last call; `None` when nothing did.
    pub fn save(&mut self, full: bool) -> Option<Vec<u8>> {
        let touched = self.unsaved.take();
        // A step over dense features alone changes no slot, but counts.
        if !full && touched.is_empty() && self.saved == self.updates {
            return None;
        }
        let slots = Some(touched).filter(|_| !full);
        let mut w = Writer::default();
        w.u8(u8::from(slots.is_none())).u8(self.bits as u8).var(self.updates);
        w.var(self.dense.len() as u64);
        self.dense.iter().flatten().for_each(|v| {
            w.f64(*v);
        });
        let slots = slots.unwrap_or_else(|| {
            (0..self.rows.len() as u32)
                .filter(|s| self.rows.get(*s as usize).is_some_and(|r| *r != [0.0; 4]))
                .collect()
        });
        write_rows(&mut w, slots.iter().filter_map(|s| self.rows.get(*s as usize).map(|r| (*s, *r))));
        self.saved = self.updates;
        Some(w.0)
    }

    /// After a full save and each later change, in order, the state is exactly what it was.
    pub fn load(&mut self, bytes: &[u8]) -> Result<(), Problem> {
        let mut r = Reader(bytes);
        let (whole, bits, updates) = (r.u8()? == 1, r.u8()?, r.var()?);
        if u32::from(bits) != self.bits || r.var()? != self.dense.len() as u64 {
            return Err(damaged());
        }
        let dense = read_dense(&mut r, self.dense.len())?;
        let rows = read_rows(&mut r, self.rows.len())?;
        r.end()?;
        if whole {
            self.rows.fill([0.0; 4]);
        }
        for (slot, row) in rows {
            self.rows.get_mut(slot as usize).into_iter().for_each(|place| *place = row);
        }
        self.updates = updates;
        self.dense = dense;
        self.unsaved = Touched::default();
        // Told to other workers before, or theirs.
        self.shared = Some(Shared { rows: BTreeMap::new(), dense: self.dense.clone() });
        self.saved = self.updates;
        Ok(())
    }

    /// What was learnt here since the last call or load, as differences for other workers to add.
    pub fn delta(&mut self) -> Option<Vec<u8>> {
        let fresh = Shared { rows: BTreeMap::new(), dense: self.dense.clone() };
        let before = self.shared.replace(fresh);
        let zero = vec![[0.0; 4]; self.dense.len()];
        let (slots, dense): (Vec<(u32, Row)>, &[DenseRow]) = match &before {
            Some(s) => (s.rows.iter().map(|(slot, row)| (*slot, *row)).collect(), &s.dense),
            None => {
                let touched = self.rows.iter().enumerate().filter(|r| *r.1 != [0.0; 4]);
                (touched.map(|(i, _)| (i as u32, [0.0; 4])).collect(), &zero)
            }
        };
        if slots.is_empty() && self.dense == dense {
            return None;
        }
        let mut w = Writer::default();
        w.u8(self.bits as u8).var(self.dense.len() as u64);
        for (now, then) in self.dense.iter().flatten().zip(dense.iter().flatten()) {
            w.f64(now - then);
        }
        let change = slots.iter().filter_map(|(slot, then)| {
            let now = self.rows.get(*slot as usize)?;
            let mut d = *now;
            d.iter_mut().zip(then).for_each(|(n, t)| *n -= t);
            Some((*slot, d))
        });
        write_rows(&mut w, change);
        Some(w.0)
    }

    /// Adds another worker's differences; they are not shared again.
    pub fn apply(&mut self, delta: &[u8]) -> Result<(), Problem> {
        let mut r = Reader(delta);
        if u32::from(r.u8()?) != self.bits || r.var()? != self.dense.len() as u64 {
            return Err(damaged());
        }
        let dense = read_dense(&mut r, self.dense.len())?;
        let rows = read_rows(&mut r, self.rows.len())?;
        r.end()?;
        let slots = self.rows.len();
        if self.shared.is_none() {
            // Ours to tell is everything so far: it started from nothing.
            let ours =
                self.rows.iter().enumerate().filter(|r| *r.1 != [0.0; 4]).map(|(i, _)| (i as u32, [0.0; 4]));
            self.shared = Some(Shared { rows: ours.collect(), dense: vec![[0.0; 4]; self.dense.len()] });
        }
        let Some(shared) = &mut self.shared else { return Ok(()) };
        for ((mine, theirs), base) in self.dense.iter_mut().zip(dense).zip(&mut shared.dense) {
            add64(mine, &theirs);
            add64(base, &theirs);
        }
        for (slot, theirs) in rows {
            let Some(mine) = self.rows.get_mut(slot as usize) else { continue };
            add32(mine, &theirs);
            if let Some(base) = shared.rows.get_mut(&slot) {
                add32(base, &theirs);
            }
            self.unsaved.mark(slot, slots);
        }
        self.updates += 1;
        Ok(())
    }
}

/// Weights may be of either sign; sums of squares never fall below 0.
fn add64(to: &mut DenseRow, by: &DenseRow) {
    for (i, (t, b)) in to.iter_mut().zip(by).enumerate() {
        *t = finite(*t + b);
        if i >= 2 {
            *t = t.max(0.0);
        }
    }
}
fn add32(to: &mut Row, by: &Row) {
    for (i, (t, b)) in to.iter_mut().zip(by).enumerate() {
        *t = (*t + b).clamp(if i >= 2 { 0.0 } else { -1e6 }, if i >= 2 { f32::MAX } else { 1e6 });
    }
}

fn write_rows(w: &mut Writer, rows: impl Iterator<Item = (u32, Row)>) {
    let rows: Vec<(u32, Row)> = rows.collect();
    w.var(rows.len() as u64);
    let mut last = 0;
    for (slot, row) in rows {
        w.var(u64::from(slot - last));
        for v in row {
            w.u32(v.to_bits());
        }
        last = slot;
    }
}

fn read_rows(r: &mut Reader, slots: usize) -> Result<Vec<(u32, Row)>, Problem> {
    let mut out = Vec::new();
    let mut slot = 0u32;
    for _ in 0..r.var()? {
        slot = slot.checked_add(u32::try_from(r.var()?).map_err(|_| damaged())?).ok_or_else(damaged)?;
        let mut row = [0.0; 4];
        for v in &mut row {
            *v = f32::from_bits(r.u32()?);
        }
        if slot as usize >= slots || !row.iter().all(|v| v.is_finite()) {
            return Err(damaged());
        }
        out.push((slot, row));
    }
    Ok(out)
}

fn read_dense(r: &mut Reader, n: usize) -> Result<Vec<DenseRow>, Problem> {
    let mut out = vec![[0.0; 4]; n];
    for v in out.iter_mut().flatten() {
        *v = r.f64()?;
        if !v.is_finite() {
            return Err(damaged());
        }
    }
    Ok(out)
}

impl PartialEq for Logistic {
    /// The same knowledge, saved or not.
    fn eq(&self, other: &Logistic) -> bool {
        self.bits == other.bits
            && self.prior == other.prior
            && self.dense == other.dense
            && self.updates == other.updates
            && self.rows == other.rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;
    use proptest::prelude::*;

    #[test]
    fn without_data_it_is_its_prior() {
        let m = Logistic::new(8, &[-1.0, 4.0], Rates::default());
        let p = m.predict(&Input { hashed: &[(3, 1.0)], dense: &[1.0, 0.5] });
        assert_eq!(p.z, [1.0, 1.0]);
        assert!((p.relevant - 1.0 / (1.0 + (-1f64).exp())).abs() < 1e-15 && p.similar == p.relevant);
        assert_eq!(
            (m.dense_weight(1, RELEVANT), m.dense_weight(9, SIMILAR), m.weight(99_999, 7)),
            (4.0, 0.0, 0.0)
        );
    }

    #[test]
    fn one_step_by_hand() {
        let mut m = Logistic::new(8, &[0.0], Rates::default());
        let x = Input { hashed: &[(5, 2.0)], dense: &[1.0] };
        m.learn(&x, 1.0, 0.25, 0.5);
        // p = ½: the errors are ½·(½−1) = −¼ and ½·(½−¼) = ⅛; times the value 2: −½ and ¼.
        let step = |g: f64| -0.3 * g / (g.abs() + 0.1);
        assert!((m.weight(5, RELEVANT) - step(-0.5)).abs() < 1e-6);
        assert!((m.weight(5, SIMILAR) - step(0.25)).abs() < 1e-6);
        let dense = |g: f64| -0.15 * g / (g.abs() + 0.5);
        assert!((m.dense_weight(0, RELEVANT) - dense(-0.25)).abs() < 1e-12);
        assert!((m.dense_weight(0, SIMILAR) - dense(0.125)).abs() < 1e-12);
        let z = m.predict(&x).z[RELEVANT];
        assert!((z - (2.0 * step(-0.5) + dense(-0.25))).abs() < 1e-6);
    }

    #[test]
    fn it_learns_which_word_matters() {
        let mut m = Logistic::new(BITS, &[-1.0], Rates::default());
        let (good, bad, both) = (m.slot(11), m.slot(22), m.slot(33));
        assert_eq!(m.slot(11), slot(11, BITS));
        for _ in 0..100 {
            m.learn(&Input { hashed: &[good, both], dense: &[1.0] }, 1.0, 0.9, 1.0);
            m.learn(&Input { hashed: &[bad, both], dense: &[1.0] }, 0.0, 0.1, 1.0);
        }
        assert!(m.predict(&Input { hashed: &[good, both], dense: &[1.0] }).relevant > 0.9);
        assert!(m.predict(&Input { hashed: &[bad, both], dense: &[1.0] }).relevant < 0.1);
        let similar = m.predict(&Input { hashed: &[good, both], dense: &[1.0] }).similar;
        assert!((similar - 0.9).abs() < 0.05, "{similar}");
    }

    #[test]
    fn strange_numbers_do_no_harm() {
        let mut m = Logistic::new(4, &[f64::NAN, 1.0], Rates::default());
        let nan = Input {
            hashed: &[(3, f32::NAN), (9_999, 1.0), (2, f32::MAX)],
            dense: &[f64::INFINITY, 1e300, 5.0],
        };
        for _ in 0..50 {
            m.learn(&nan, f64::NAN, 7.0, f64::INFINITY);
            m.learn(&nan, 1.0, -7.0, 2.0);
        }
        let p = m.predict(&nan);
        assert!((0.0..=1.0).contains(&p.relevant) && (0.0..=1.0).contains(&p.similar));
        let mut back = Logistic::new(4, &[0.0, 1.0], Rates::default());
        back.load(&m.save(true).unwrap()).unwrap();
        assert_eq!(back, m);
    }

    #[test]
    fn signs_and_slots_are_spread() {
        let (mut plus, mut used) = (0, std::collections::BTreeSet::new());
        for h in 0..10_000u64 {
            let (s, sign) = slot(crate::text::word_hash(&h.to_string()), 16);
            plus += usize::from(sign > 0.0);
            used.insert(s);
        }
        // 2^16 slots, 10,000 balls: 65,536·(1 − e^(−10,000/65,536)) ≈ 9,275 are used.
        assert!(
            (4_700..5_300).contains(&plus) && (9_150..9_400).contains(&used.len()),
            "{plus} {}",
            used.len()
        );
    }

    fn work(m: &mut Logistic, rng: &mut Rng, n: usize) {
        for _ in 0..n {
            let hashed: Vec<(u32, f32)> = (0..3).map(|_| m.slot(rng.below(50) as u64)).collect();
            m.learn(
                &Input { hashed: &hashed, dense: &[1.0, rng.unit()] },
                rng.unit().round(),
                rng.unit(),
                1.0,
            );
        }
    }

    proptest! {
        #[test]
        fn full_and_changes_restore_the_exact_state(seed in any::<u64>(), parts in proptest::collection::vec(0..6usize, 0..8)) {
            let mut rng = Rng(seed);
            let mut live = Logistic::new(10, &[0.5, -1.0], Rates::default());
            work(&mut live, &mut rng, 3);
            let mut back = Logistic::new(10, &[0.5, -1.0], Rates::default());
            back.load(&live.save(true).unwrap()).unwrap();
            for n in parts {
                work(&mut live, &mut rng, n);
                let change = live.save(false);
                prop_assert_eq!(change.is_some(), n > 0);
                if let Some(c) = change {
                    prop_assert!(c.len() < 100 + n * 3 * 20);
                    back.load(&c).unwrap();
                }
                prop_assert_eq!(&back, &live);
            }
            let bytes = live.save(true).unwrap();
            for n in 0..bytes.len() {
                prop_assert!(back.load(&bytes[..n]).is_err());
            }
            prop_assert_eq!(&back, &live);
        }

        #[test]
        fn workers_learn_from_each_other(seed in any::<u64>(), n in 1..20usize) {
            let mut rng = Rng(seed);
            let new = || Logistic::new(8, &[0.5, -1.0], Rates::default());
            let (mut a, mut b, mut c) = (new(), new(), new());
            work(&mut a, &mut rng, n);
            // What `a` learnt reaches `b` and `c` unchanged, and comes back to nobody.
            let d = a.delta().unwrap();
            b.apply(&d).unwrap();
            prop_assert!(b.delta().is_none());
            prop_assert!(a.delta().is_none());
            work(&mut b, &mut rng, n);
            let e = b.delta().unwrap();
            a.apply(&e).unwrap();
            c.apply(&d).unwrap();
            c.apply(&e).unwrap();
            prop_assert!(a.delta().is_none());
            for s in 0..256 {
                prop_assert!((a.weight(s, 0) - b.weight(s, 0)).abs() < 1e-5);
                prop_assert!((c.weight(s, 1) - b.weight(s, 1)).abs() < 1e-5);
            }
        }
    }
}
