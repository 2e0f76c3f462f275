//! Multinomial naive Bayes (Chakrabarti et al. 2002, §2.1), learnt as the pages come.
//!
//! `θ_{c,τ} = (1 + Σ_{u∈V_c} n(u,τ)) / (|T| + Σ_{τ'} Σ_{u∈V_c} n(u,τ'))` and
//! `Pr(c|u) ∝ Pr(c) Π θ_{c,τ}^{n(u,τ)}`, in log space; `Pr(c)` is the share of training documents. Since all
//! θ of a class have one denominator, `ln Pr(c,u) = ln Pr(c) + Σ n·ln(1 + count) − (Σ n)·ln(|T| + total)`:
//! one table lookup per feature.
//!
//! What Chakrabarti et al. 2002 leave open, decided here:
//! * features never seen in training are not in T and say nothing;
//! * a class without documents has probability 0; with no documents at all every class is equally likely;
//! * a document without known features gets the prior.

use crate::bytes::{Reader, Writer};
use crate::softmax;
use crate::tally::Tally;
use std::sync::LazyLock;
use types::Problem;

/// More features than this and the rarest are forgotten: a hostile site can make up words for ever.
pub const MOST_FEATURES: usize = 2_000_000;

/// `ln(1 + n)` of the counts that occur all the time.
static LOG1P: LazyLock<Vec<f64>> =
    LazyLock::new(|| (0..1024u32).map(|n| libm::log(f64::from(n) + 1.0)).collect());

#[inline]
fn log1p(table: &[f64], n: u32) -> f64 {
    match table.get(n as usize) {
        Some(v) => *v,
        None => libm::log(f64::from(n) + 1.0),
    }
}

/// Multinomial naive Bayes: counts of features per class, and what follows from them.
#[derive(Clone, Debug)]
pub struct Bayes {
    all: Tally,
    most: usize,
    /// Learnt since the last save; `None` = the next save must hold everything.
    unsaved: Option<Tally>,
    /// Learnt here since the last `delta`; `None` = everything (nobody asked yet).
    unshared: Option<Tally>,
    /// `ln Pr(c)` and `ln(|T| + total)` of each class, brought up to date by every change.
    priors: Vec<f64>,
    totals: Vec<f64>,
}

impl Bayes {
    /// Nothing learnt yet; keeps at most [`MOST_FEATURES`] features.
    pub fn new(classes: usize) -> Bayes {
        let mut b = Bayes {
            all: Tally::new(classes),
            most: MOST_FEATURES,
            unsaved: Some(Tally::new(classes)),
            unshared: None,
            priors: Vec::new(),
            totals: Vec::new(),
        };
        b.refresh();
        b
    }
    /// With another bound on the number of features.
    pub fn bounded(classes: usize, most_features: usize) -> Bayes {
        Bayes { most: most_features.max(2), ..Bayes::new(classes) }
    }

    fn refresh(&mut self) {
        let n: u64 = self.all.documents.iter().fold(0, |a, b| a.saturating_add(*b));
        let vocabulary = self.all.len() as f64;
        self.priors = self
            .all
            .documents
            .iter()
            .map(|d| if n == 0 { 0.0 } else { libm::log(*d as f64 / n as f64) })
            .collect();
        self.totals = self.all.tokens.iter().map(|t| libm::log((vocabulary + *t as f64).max(1.0))).collect();
    }

    /// How many classes there are, learnt or not.
    pub fn classes(&self) -> usize {
        self.all.documents.len()
    }
    /// Documents learnt of a class.
    pub fn documents(&self, class: usize) -> u64 {
        self.all.documents.get(class).copied().unwrap_or(0)
    }
    /// |T|: distinct features seen.
    pub fn vocabulary(&self) -> usize {
        self.all.len()
    }
    /// How often the feature was seen in the class.
    pub fn count(&self, class: usize, feature: u64) -> u32 {
        let mut n = 0;
        self.all.of(feature, |c, count| {
            if c == class {
                n = count;
            }
        });
        n
    }
    /// θ of a feature in a class; `None` for features that are not in T.
    pub fn theta(&self, class: usize, feature: u64) -> Option<f64> {
        let mut n = 0;
        let known = self.all.of(feature, |c, count| {
            if c == class {
                n = count;
            }
        });
        let total = self.all.tokens.get(class)?;
        known.then(|| (1.0 + f64::from(n)) / (self.all.len() as f64 + *total as f64))
    }

    /// One more document of a class. A class that does not exist is ignored.
    pub fn add(&mut self, class: usize, features: impl IntoIterator<Item = (u64, u32)>) {
        if class >= self.classes() {
            return;
        }
        let logs = [self.unsaved.as_mut(), self.unshared.as_mut()];
        let mut tallies: Vec<&mut Tally> = logs.into_iter().flatten().collect();
        tallies.push(&mut self.all);
        for t in &mut tallies {
            if let Some(d) = t.documents.get_mut(class) {
                *d = d.saturating_add(1);
            }
        }
        for (feature, count) in features {
            for t in &mut tallies {
                t.add(class, feature, count);
            }
        }
        self.bound();
        self.refresh();
    }

    /// A document that was counted in one class belongs to another. What was never counted is not moved.
    /// Other workers, to whom only sums can be told, hear of the new class alone.
    pub fn relabel(&mut self, from: usize, to: usize, features: impl IntoIterator<Item = (u64, u32)>) {
        if from == to || to >= self.classes() || self.documents(from) == 0 {
            return;
        }
        for t in [Some(&mut self.all), self.unshared.as_mut()].into_iter().flatten() {
            if let Some(d) = t.documents.get_mut(from) {
                *d = d.saturating_sub(1);
            }
            if let Some(d) = t.documents.get_mut(to) {
                *d = d.saturating_add(1);
            }
        }
        for (feature, count) in features {
            let moved = self.all.take(from, feature, count);
            self.all.add(to, feature, moved);
            if let Some(t) = &mut self.unshared {
                t.take(from, feature, moved);
                t.add(to, feature, moved);
            }
        }
        // A change can only add: the next save holds everything.
        self.unsaved = None;
        self.bound();
        self.refresh();
    }

    fn bound(&mut self) {
        if self.all.bound(self.most) {
            self.unsaved = None;
        }
        // Deltas nobody collects must not grow for ever either.
        if let Some(t) = &mut self.unshared {
            t.bound(self.most);
        }
    }

    /// `ln Pr(c, u)` of each class, up to a constant.
    pub fn log_joint(&self, features: impl IntoIterator<Item = (u64, u32)>) -> Vec<f64> {
        let mut logs = vec![0.0; self.classes()];
        let table: &[f64] = &LOG1P;
        let mut n = 0u64;
        for (feature, times) in features {
            let t = f64::from(times);
            let known = self.all.of(feature, |class, count| {
                if let Some(sum) = logs.get_mut(class) {
                    *sum += t * log1p(table, count);
                }
            });
            if known {
                n += u64::from(times);
            }
        }
        for ((sum, prior), total) in logs.iter_mut().zip(&self.priors).zip(&self.totals) {
            *sum += prior - n as f64 * total;
        }
        logs
    }

    /// `Pr(c|u)` of each class; they sum to 1.
    pub fn posteriors(&self, features: impl IntoIterator<Item = (u64, u32)>) -> Vec<f64> {
        let mut p = self.log_joint(features);
        softmax(&mut p);
        p
    }
    /// `Pr(class|u)`; 0 for a class that does not exist.
    pub fn posterior(&self, class: usize, features: impl IntoIterator<Item = (u64, u32)>) -> f64 {
        self.posteriors(features).get(class).copied().unwrap_or(0.0)
    }

    /// Everything, or (`full = false`) what was learnt since the last call; `None` when nothing was.
    pub fn save(&mut self, full: bool) -> Option<Vec<u8>> {
        let unsaved = self.unsaved.replace(Tally::new(self.classes()));
        let change = unsaved.as_ref().filter(|_| !full);
        if change.is_some_and(Tally::is_empty) {
            return None;
        }
        let mut w = Writer::default();
        w.u8(u8::from(change.is_none()));
        change.unwrap_or(&self.all).write(&mut w);
        Some(w.0)
    }
    /// A full save replaces what is here; a change is added to it. On an error nothing has changed. What was
    /// loaded was told to other workers before (or is theirs), so the next delta starts from here.
    pub fn load(&mut self, bytes: &[u8]) -> Result<(), Problem> {
        let mut r = Reader(bytes);
        let whole = r.u8()? == 1;
        let t = Tally::read(&mut r, self.classes())?;
        r.end()?;
        if whole {
            self.all = t;
        } else {
            self.all.merge(&t);
        }
        self.unsaved = Some(Tally::new(self.classes()));
        self.unshared = Some(Tally::new(self.classes()));
        self.refresh();
        Ok(())
    }

    /// What was learnt here since the last call or load, for other workers to add.
    pub fn delta(&mut self) -> Option<Vec<u8>> {
        let fresh = self.unshared.replace(Tally::new(self.classes())).unwrap_or_else(|| self.all.clone());
        if fresh.is_empty() {
            return None;
        }
        let mut w = Writer::default();
        fresh.write(&mut w);
        Some(w.0)
    }
    /// Adds what another worker learnt; it is not shared again.
    pub fn apply(&mut self, delta: &[u8]) -> Result<(), Problem> {
        let mut r = Reader(delta);
        let t = Tally::read(&mut r, self.classes())?;
        r.end()?;
        // Sharing starts with the first delta either way: what came from others is never ours to tell.
        if self.unshared.is_none() {
            self.unshared = Some(self.all.clone());
        }
        self.all.merge(&t);
        if let Some(unsaved) = &mut self.unsaved {
            unsaved.merge(&t);
        }
        self.bound();
        self.refresh();
        Ok(())
    }
}

impl PartialEq for Bayes {
    /// The same knowledge, saved or not.
    fn eq(&self, other: &Bayes) -> bool {
        self.all == other.all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn by_hand() {
        // T = {1, 2, 3}. Class 0: one document, 1 twice, 2 once. Class 1: three documents, 2 once, 3 three
        // times.
        let mut b = Bayes::new(2);
        b.add(0, [(1, 2), (2, 1)]);
        b.add(1, [(2, 1)]);
        b.add(1, [(3, 3)]);
        b.add(1, []);
        let (t0, t1) = (3.0 + 3.0, 3.0 + 4.0);
        assert_eq!(b.theta(0, 1), Some(3.0 / t0));
        assert_eq!(b.theta(1, 1), Some(1.0 / t1));
        assert_eq!(b.theta(0, 99), None);
        // The document {1: 1, 2: 2, 99: 5}: 99 is not in T.
        let (a, c) =
            (0.25 * (3.0 / t0) * (2.0 / t0) * (2.0 / t0), 0.75 * (1.0 / t1) * (2.0 / t1) * (2.0 / t1));
        let p = b.posteriors([(1, 1), (2, 2), (99, 5)]);
        assert!((p[0] - a / (a + c)).abs() < 1e-12 && (p[0] + p[1] - 1.0).abs() < 1e-12);
        // Nothing known about the document: the prior.
        assert!((b.posterior(1, [(99, 1)]) - 0.75).abs() < 1e-12);
        // A long document does not underflow.
        assert!((b.posterior(0, [(1, 1_000_000)]) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn degenerate_classes() {
        let none = Bayes::new(0);
        assert!(none.posteriors([(1, 1)]).is_empty());
        let mut b = Bayes::new(3);
        assert_eq!(b.posteriors([(1, 1)]), [1.0 / 3.0; 3]);
        b.add(7, [(1, 1)]);
        assert_eq!(b.vocabulary(), 0);
        b.add(1, [(0, 4), (5, 0)]);
        assert_eq!(b.posteriors([(9, 1)]), [0.0, 1.0, 0.0]);
        assert_eq!((b.count(1, 0), b.vocabulary(), b.posterior(8, [])), (4, 1, 0.0));
    }

    #[test]
    fn few_and_many_classes_agree() {
        let (mut few, mut many) = (Bayes::new(8), Bayes::new(9));
        for i in 0..200u64 {
            let doc = [(i * i % 37, 1 + (i % 5) as u32), (i % 11 + 100, 2)];
            few.add((i % 8) as usize, doc);
            many.add((i % 8) as usize, doc);
        }
        let doc = [(4, 2), (105, 1), (9, 1)];
        let (p, q) = (few.posteriors(doc), many.posteriors(doc));
        assert!(p.iter().zip(&q).all(|(a, b)| (a - b).abs() < 1e-12));
        assert_eq!(q[8], 0.0);
    }

    #[test]
    fn made_up_words_are_forgotten() {
        let mut b = Bayes::bounded(2, 100);
        for i in 0..5_000u64 {
            b.add((i % 2) as usize, [(1 + i % 2, 3), (1000 + i, 1)]);
        }
        assert!(b.vocabulary() <= 100);
        assert_eq!(b.count(0, 1), 7_500);
        let mut back = Bayes::new(2);
        back.load(&b.save(false).unwrap()).unwrap();
        assert_eq!(back, b);
    }

    #[test]
    fn damaged_states_are_told() {
        let mut b = Bayes::new(2);
        b.add(0, [(1, 2), (2, 1)]);
        let good = b.save(true).unwrap();
        let before = b.clone();
        for n in 0..good.len() {
            assert!(b.load(&good[..n]).is_err(), "{n}");
        }
        assert!(b.load(&[1, 3, 0, 0, 0, 0]).is_err() && b.apply(&[2, 0, 0, 1, 5, 1, 2, 1]).is_err());
        assert_eq!(b, before);
    }

    fn documents() -> impl Strategy<Value = Vec<(usize, Vec<(u64, u32)>)>> {
        proptest::collection::vec((0..3usize, proptest::collection::vec((0..50u64, 0..4u32), 0..8)), 0..30)
    }

    proptest! {
        #[test]
        fn saves_and_changes_restore_the_state(docs in documents(), cut in 0..30usize) {
            let mut live = Bayes::new(3);
            let mut back = Bayes::new(3);
            for (i, (class, features)) in docs.iter().enumerate() {
                live.add(*class, features.iter().copied());
                if i == cut {
                    back.load(&live.save(true).unwrap()).unwrap();
                } else if i > cut && i % 3 == 0 {
                    back.load(&live.save(false).unwrap()).unwrap();
                    prop_assert!(live.save(false).is_none());
                }
            }
            if let Some(change) = live.save(docs.len() <= cut) {
                back.load(&change).unwrap();
            }
            prop_assert_eq!(&back, &live);
            prop_assert_eq!(back.posteriors([(1, 1), (7, 2)]), live.posteriors([(1, 1), (7, 2)]));
        }

        #[test]
        fn workers_that_exchange_deltas_agree(docs in documents()) {
            let (mut a, mut b, mut alone) = (Bayes::new(3), Bayes::new(3), Bayes::new(3));
            for (i, (class, features)) in docs.iter().enumerate() {
                alone.add(*class, features.iter().copied());
                if i % 2 == 0 { &mut a } else { &mut b }.add(*class, features.iter().copied());
                if i % 5 == 4 {
                    let (da, db) = (a.delta(), b.delta());
                    if let Some(d) = da { b.apply(&d).unwrap(); }
                    if let Some(d) = db { a.apply(&d).unwrap(); }
                }
            }
            let (da, db) = (a.delta(), b.delta());
            if let Some(d) = da { b.apply(&d).unwrap(); }
            if let Some(d) = db { a.apply(&d).unwrap(); }
            prop_assert_eq!(&a, &alone);
            prop_assert_eq!(&b, &alone);
        }
    }
}
