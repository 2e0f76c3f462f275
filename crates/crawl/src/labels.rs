//! Labels: which pages were called relevant or not, and by whom. The ledger keeps them as state, beside the
//! judge's own verdicts; where a page has a label, the label counts. A person's label counts before a
//! model's. The model's is kept, and counts again when the person takes theirs back.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use store::formats::LabelChange;
use store::{Journal, Records};
use types::{Label, Problem, StateKey, UrlId, Who};

pub(crate) const STATE: StateKey = StateKey::Labels;

/// What each said of one page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct PageLabels {
    person: Option<bool>,
    model: Option<bool>,
}

impl PageLabels {
    fn label(self) -> Option<Label> {
        let person = self.person.map(|relevant| Label { relevant, who: Who::Person });
        person.or(self.model.map(|relevant| Label { relevant, who: Who::Model }))
    }
}

/// One change of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    pub id: UrlId,
    pub who: Who,
    pub said: Option<bool>,
}

impl Change {
    pub fn encode(self) -> [u8; 5] {
        LabelChange { id: self.id, by_model: self.who == Who::Model, said: self.said }.to_bytes()
    }

    /// All changes of an entry of the state.
    pub fn all(entry: &[u8]) -> impl Iterator<Item = Change> + '_ {
        LabelChange::all(entry).map(|LabelChange { id, by_model, said }| Change {
            id,
            who: if by_model { Who::Model } else { Who::Person },
            said,
        })
    }
}

/// The labels of a collection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Labels(BTreeMap<UrlId, PageLabels>);

impl Labels {
    /// Reads the labels of a collection.
    pub fn read(store: &(impl Records + ?Sized)) -> Result<Labels, Problem> {
        let mut labels = Labels::default();
        for line in store.state(STATE)? {
            Change::all(&line).for_each(|change| labels.note(change));
        }
        Ok(labels)
    }

    /// A person says something of a page (`None` takes back what counts); part of the store's next commit.
    pub fn say(
        &mut self,
        store: &mut (impl Journal + ?Sized),
        id: UrlId,
        label: Option<bool>,
    ) -> Result<(), Problem> {
        self.say_all(store, &[(id, label)])
    }

    /// As `say`, of many pages at once.
    pub fn say_all(
        &mut self,
        store: &mut (impl Journal + ?Sized),
        said: &[(UrlId, Option<bool>)],
    ) -> Result<(), Problem> {
        self.say_as(Who::Person, store, said)
    }

    /// As `say_all`, by a person or a model. Whatever a model says, a person's word counts. When a person
    /// takes back what they did not say, it is the model's word that goes.
    pub fn say_as(
        &mut self,
        who: Who,
        store: &mut (impl Journal + ?Sized),
        said: &[(UrlId, Option<bool>)],
    ) -> Result<(), Problem> {
        let changes: Vec<Change> = said.iter().map(|&(id, said)| Change { id, who, said }).collect();
        self.apply(store, &changes)
    }

    pub(crate) fn apply(
        &mut self,
        store: &mut (impl Journal + ?Sized),
        changes: &[Change],
    ) -> Result<(), Problem> {
        let line: Vec<u8> = changes.iter().flat_map(|change| change.encode()).collect();
        store.put_state(STATE, true, &line)?;
        changes.iter().for_each(|change| self.note(*change));
        Ok(())
    }

    fn note(&mut self, Change { id, who, said }: Change) {
        let both = self.0.entry(id).or_default();
        match who {
            Who::Person if said.is_none() && both.person.is_none() => both.model = None,
            Who::Person => both.person = said,
            Who::Model => both.model = said,
        }
        if *both == PageLabels::default() {
            self.0.remove(&id);
        }
    }

    /// What counts of a page.
    pub fn get(&self, id: UrlId) -> Option<bool> {
        self.label(id).map(|l| l.relevant)
    }
    /// What a person said of a page stands in place of the judge's verdict.
    pub fn decides(&self, id: UrlId) -> Option<bool> {
        self.label(id).and_then(Label::decides)
    }
    /// What counts of a page, and who said it.
    pub fn label(&self, id: UrlId) -> Option<Label> {
        self.0.get(&id).and_then(|both| both.label())
    }
    /// In the order the URLs were found.
    pub fn iter(&self) -> impl Iterator<Item = (UrlId, bool)> + '_ {
        self.all().map(|(id, l)| (id, l.relevant))
    }
    /// As `iter`, with who said it.
    pub fn all(&self) -> impl Iterator<Item = (UrlId, Label)> + '_ {
        self.0.iter().filter_map(|(id, both)| Some((*id, both.label()?)))
    }
    /// What makes this table of an empty one.
    pub(crate) fn changes(&self) -> impl Iterator<Item = Change> + '_ {
        self.0.iter().flat_map(|(&id, both)| {
            let model = both.model.map(|said| Change { id, who: Who::Model, said: Some(said) });
            model.into_iter().chain(both.person.map(|said| Change { id, who: Who::Person, said: Some(said) }))
        })
    }
    /// Pages of which a model said something, whether it counts or not.
    pub fn by_model(&self) -> impl Iterator<Item = UrlId> + '_ {
        self.by(Who::Model).map(|(id, _)| id)
    }
    /// What one of them said, whether it counts or not.
    pub fn by(&self, who: Who) -> impl Iterator<Item = (UrlId, bool)> + '_ {
        let said = move |both: &PageLabels| match who {
            Who::Person => both.person,
            Who::Model => both.model,
        };
        self.0.iter().filter_map(move |(id, both)| Some((*id, said(both)?)))
    }
    /// Number of labelled pages.
    pub fn len(&self) -> usize {
        self.0.len()
    }
    /// Nothing was labelled.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// How the judge does on the labelled pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Quality {
    /// Labelled relevant, and judged so.
    pub true_relevant: u64,
    /// Labelled not relevant, and judged relevant.
    pub false_relevant: u64,
    /// Labelled relevant, and not judged so.
    pub missed: u64,
    /// Labelled not relevant, and judged so.
    pub true_other: u64,
    /// Share of the pages judged relevant that are.
    pub precision: Option<Share>,
    /// Share of the relevant pages that are judged so.
    pub recall: Option<Share>,
    /// Harmonic mean of both.
    pub f1: Option<f64>,
}

/// A share with its 95 % interval (Wilson).
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Share {
    /// The share itself, 0–1.
    pub value: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
}

/// Of a 95 % interval.
pub(crate) const Z: f64 = 1.959_963_984_540_054;

impl Share {
    /// `part / whole`; `None` when `whole` is 0.
    pub fn of(part: u64, whole: u64) -> Option<Share> {
        if whole == 0 {
            return None;
        }
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

    /// Pages behind these numbers.
    pub fn labelled(&self) -> u64 {
        self.true_relevant + self.false_relevant + self.missed + self.true_other
    }
}

/// The ledger's state of [`Choice`]s.
pub(crate) const CHOICES: StateKey = StateKey::Thresholds;

/// A threshold the judge chose by itself, and why.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Choice {
    /// After so many pages.
    pub pages: u64,
    /// Pages with at least this score are relevant.
    pub threshold: f64,
    /// For people.
    pub why: String,
}

impl Choice {
    /// As it is kept; `None` when the judge has nothing to tell.
    pub(crate) fn line(pages: u64, threshold: f64, why: Option<String>) -> Option<Vec<u8>> {
        serde_json::to_vec(&Choice { pages, threshold, why: why? }).ok()
    }
    /// All of them, in the order they were made.
    pub fn read(store: &(impl Records + ?Sized)) -> Result<Vec<Choice>, Problem> {
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
    fn a_person_stands_above_a_model() {
        let mut ledger = Ledger::in_memory(frontier::Limits::default());
        let mut labels = Labels::default();
        let id = UrlId;
        let mut said = |who, id, said| labels.say_as(who, &mut ledger, &[(id, said)]).unwrap();
        // The model first, the model last, the model alone, taken back by a person, each taking theirs back.
        said(Who::Model, id(1), Some(true));
        said(Who::Person, id(1), Some(false));
        said(Who::Person, id(2), Some(true));
        said(Who::Model, id(2), Some(false));
        said(Who::Model, id(3), Some(true));
        said(Who::Model, id(4), Some(true));
        said(Who::Person, id(4), None);
        said(Who::Model, id(5), Some(true));
        said(Who::Person, id(5), Some(false));
        said(Who::Person, id(5), None);
        said(Who::Person, id(6), Some(true));
        said(Who::Model, id(6), None);
        let is = |relevant, who| Label { relevant, who };
        let expected = [
            (id(1), is(false, Who::Person)),
            (id(2), is(true, Who::Person)),
            (id(3), is(true, Who::Model)),
            (id(5), is(true, Who::Model)),
            (id(6), is(true, Who::Person)),
        ];
        assert_eq!(labels.all().collect::<Vec<_>>(), expected);
        assert_eq!(labels.by_model().collect::<Vec<_>>(), [id(1), id(2), id(3), id(5)]);
        assert_eq!(Labels::read(&ledger).unwrap(), labels);
    }

    #[test]
    fn labels_of_before_are_a_person_s() {
        let mut ledger = Ledger::in_memory(frontier::Limits::default());
        // As it was written: id, 0 no, 1 yes, 2 taken back.
        let old = [1, 0, 0, 0, 1, 2, 0, 0, 0, 0, 3, 0, 0, 0, 1, 3, 0, 0, 0, 2];
        ledger.put_state(STATE, true, &old).unwrap();
        let labels = Labels::read(&ledger).unwrap();
        let person = |relevant| Label { relevant, who: Who::Person };
        assert_eq!(labels.all().collect::<Vec<_>>(), [(UrlId(1), person(true)), (UrlId(2), person(false))]);
        // What is said by a person is written as before.
        let mut ledger = Ledger::in_memory(frontier::Limits::default());
        let said =
            [(UrlId(1), Some(true)), (UrlId(2), Some(false)), (UrlId(3), Some(true)), (UrlId(3), None)];
        Labels::default().say_all(&mut ledger, &said).unwrap();
        assert_eq!(ledger.state(STATE).unwrap().concat(), old);
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
