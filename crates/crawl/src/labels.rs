//! What the user said of pages: relevant or not. Kept in the ledger as state, beside the judge's own verdicts, and
//! stronger than those.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use store::Store;
use types::{Problem, UrlId};

const STATE: &str = "labels";

/// The labels of a collection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Labels(BTreeMap<UrlId, bool>);

impl Labels {
    pub fn read(store: &(impl Store + ?Sized)) -> Result<Labels, Problem> {
        let mut labels = Labels::default();
        for line in store.state(STATE)? {
            // Each change is an id and what was said of it.
            for &[a, b, c, d, said] in line.as_chunks::<5>().0 {
                labels.note(UrlId(u32::from_le_bytes([a, b, c, d])), (said < 2).then_some(said == 1));
            }
        }
        Ok(labels)
    }

    /// Says something of a page (`None` takes back what was said); part of the store's next commit.
    pub fn say(
        &mut self,
        store: &mut (impl Store + ?Sized),
        id: UrlId,
        label: Option<bool>,
    ) -> Result<(), Problem> {
        self.say_all(store, &[(id, label)])
    }

    /// As `say`, of many pages at once.
    pub fn say_all(
        &mut self,
        store: &mut (impl Store + ?Sized),
        said: &[(UrlId, Option<bool>)],
    ) -> Result<(), Problem> {
        let mut line = Vec::with_capacity(5 * said.len());
        for (id, label) in said {
            line.extend(id.0.to_le_bytes());
            line.push(label.map_or(2, u8::from));
        }
        store.put_state(STATE, true, &line)?;
        said.iter().for_each(|(id, label)| self.note(*id, *label));
        Ok(())
    }

    fn note(&mut self, id: UrlId, label: Option<bool>) {
        match label {
            Some(l) => self.0.insert(id, l),
            None => self.0.remove(&id),
        };
    }

    pub fn get(&self, id: UrlId) -> Option<bool> {
        self.0.get(&id).copied()
    }
    /// In the order the URLs were found.
    pub fn iter(&self) -> impl Iterator<Item = (UrlId, bool)> + '_ {
        self.0.iter().map(|(id, l)| (*id, *l))
    }
    pub fn len(&self) -> usize {
        self.0.len()
    }
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// How the judge does on the labelled pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Quality {
    /// Labelled pages: relevant and judged so, not relevant but judged so, relevant but not judged so, neither.
    pub true_relevant: u64,
    pub false_relevant: u64,
    pub missed: u64,
    pub true_other: u64,
    pub precision: Option<Share>,
    pub recall: Option<Share>,
    pub f1: Option<f64>,
}

/// A share with its 95 % interval (Wilson).
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Share {
    pub value: f64,
    pub low: f64,
    pub high: f64,
}

impl Share {
    pub fn of(part: u64, whole: u64) -> Option<Share> {
        if whole == 0 {
            return None;
        }
        const Z: f64 = 1.959_963_984_540_054;
        let n = whole as f64;
        let p = part.min(whole) as f64 / n;
        let middle = (p + Z * Z / (2.0 * n)) / (1.0 + Z * Z / n);
        let reach = Z / (1.0 + Z * Z / n) * libm::sqrt(p * (1.0 - p) / n + Z * Z / (4.0 * n * n));
        Some(Share { value: p, low: (middle - reach).max(0.0), high: (middle + reach).min(1.0) })
    }
}

impl Quality {
    /// From pairs of (label, the judge's verdict).
    pub fn of(pairs: impl IntoIterator<Item = (bool, bool)>) -> Quality {
        let mut q = Quality::default();
        for (label, verdict) in pairs {
            match (label, verdict) {
                (true, true) => q.true_relevant += 1,
                (false, true) => q.false_relevant += 1,
                (true, false) => q.missed += 1,
                (false, false) => q.true_other += 1,
            }
        }
        q.precision = Share::of(q.true_relevant, q.true_relevant + q.false_relevant);
        q.recall = Share::of(q.true_relevant, q.true_relevant + q.missed);
        let all = 2 * q.true_relevant + q.false_relevant + q.missed;
        q.f1 = (all > 0).then(|| 2.0 * q.true_relevant as f64 / all as f64);
        q
    }

    pub fn labelled(&self) -> u64 {
        self.true_relevant + self.false_relevant + self.missed + self.true_other
    }
}

/// The ledger's state of [`Choice`]s.
pub(crate) const CHOICES: &str = "thresholds";

/// A threshold the judge chose by itself, and why.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Choice {
    /// After so many pages.
    pub pages: u64,
    pub threshold: f64,
    pub why: String,
}

impl Choice {
    /// As it is kept; `None` when the judge has nothing to tell.
    pub(crate) fn line(pages: u64, threshold: f64, why: Option<String>) -> Option<Vec<u8>> {
        serde_json::to_vec(&Choice { pages, threshold, why: why? }).ok()
    }
    /// All of them, in the order they were made.
    pub fn read(store: &(impl Store + ?Sized)) -> Result<Vec<Choice>, Problem> {
        Ok(store.state(CHOICES)?.iter().filter_map(|line| serde_json::from_slice(line).ok()).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use store::Ledger;

    #[test]
    fn what_was_said_last_counts() {
        let mut ledger = Ledger::in_memory(frontier::Limits::default());
        let mut labels = Labels::default();
        for (id, said) in [(1, Some(true)), (2, Some(false)), (1, Some(false)), (3, Some(true)), (3, None)] {
            labels.say(&mut ledger, UrlId(id), said).unwrap();
        }
        labels
            .say_all(&mut ledger, &[(UrlId(4), Some(true)), (UrlId(5), Some(true)), (UrlId(4), None)])
            .unwrap();
        labels.say(&mut ledger, UrlId(5), None).unwrap();
        let expected = [(UrlId(1), false), (UrlId(2), false)];
        assert_eq!(labels.iter().collect::<Vec<_>>(), expected);
        assert_eq!(Labels::read(&ledger).unwrap(), labels);
    }

    #[test]
    fn quality_by_hand() {
        let pairs = [(true, true), (true, true), (true, false), (false, true), (false, false)];
        let q = Quality::of(pairs);
        assert_eq!((q.true_relevant, q.false_relevant, q.missed, q.true_other), (2, 1, 1, 1));
        assert!((q.precision.unwrap().value - 2.0 / 3.0).abs() < 1e-12);
        assert!((q.f1.unwrap() - 2.0 / 3.0).abs() < 1e-12);
        assert_eq!(q.labelled(), 5);
        assert_eq!(Quality::of([]).precision, None);
        // Wilson's interval for 8 of 10, from the literature: 0.490 to 0.943.
        let s = Share::of(8, 10).unwrap();
        assert!((s.low - 0.490).abs() < 1e-3 && (s.high - 0.943).abs() < 1e-3, "{s:?}");
        assert_eq!(Share::of(0, 0), None);
        assert!(Share::of(0, 3).unwrap().low.abs() < 1e-12);
    }
}
