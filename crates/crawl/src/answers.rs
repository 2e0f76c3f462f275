//! What a user answered, and what the judge thought of each page *before* it was told. A judge agrees with
//! what it was taught; only what it thought before says how good it is on pages that nobody labelled.

use crate::crawl::JudgedPage;
use crate::labels::{Share, Z};
use learn::sigmoid;
use serde::Serialize;
use std::collections::HashMap;
use store::{Journal, Records};
use types::{Problem, StateKey, UrlId};

/// State of the ledger: one piece for every time something was said.
const STATE: StateKey = StateKey::Answers;
/// Id, what was said, the judge's side, its probability, pages that changed sides.
const ENTRY: usize = 14;

/// One answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Answer {
    /// The page that was asked about.
    pub id: UrlId,
    /// What was said: is it wanted?
    pub label: bool,
    /// What the judge thought before.
    pub relevance: f64,
    /// The judge's own verdict before.
    pub relevant: bool,
    /// Pages that changed sides because of it (and of those given with it).
    pub changed: u32,
}

/// The answers that count, in the order they were given.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answers(Vec<Answer>);

impl Answers {
    /// Reads the answers of a collection, first given first; those taken back are left out.
    pub fn read(store: &(impl Records + ?Sized)) -> Result<Answers, Problem> {
        let mut all: Vec<Option<Answer>> = Vec::new();
        let mut at: HashMap<UrlId, usize> = HashMap::new();
        for piece in store.state(STATE)? {
            for &[a, b, c, d, said, side, p0, p1, p2, p3, n0, n1, n2, n3] in piece.as_chunks::<ENTRY>().0 {
                let id = UrlId(u32::from_le_bytes([a, b, c, d]));
                let known = at.get(&id).and_then(|&i| all.get_mut(i));
                match (said, known) {
                    (0 | 1, None) => {
                        at.insert(id, all.len());
                        all.push(Some(Answer {
                            id,
                            label: said == 1,
                            relevance: f64::from(f32::from_le_bytes([p0, p1, p2, p3])),
                            relevant: side == 1,
                            changed: u32::from_le_bytes([n0, n1, n2, n3]),
                        }));
                    }
                    // Another word on the same page: the judge had learnt from the first one by then.
                    (0 | 1, Some(Some(answer))) => answer.label = said == 1,
                    (_, Some(answer)) => {
                        *answer = None;
                        at.remove(&id);
                    }
                    (_, None) => {}
                }
            }
        }
        Ok(Answers(all.into_iter().flatten().collect()))
    }

    /// Keeps what was said of pages (`None`: taken back); `before` is how they were judged. Part of the next
    /// commit.
    pub(crate) fn note(
        store: &mut (impl Journal + ?Sized),
        said: &[(UrlId, Option<bool>)],
        before: &[JudgedPage],
        changed: usize,
    ) -> Result<(), Problem> {
        let before: HashMap<UrlId, &JudgedPage> = before.iter().map(|j| (j.id, j)).collect();
        let mut piece = Vec::with_capacity(ENTRY * said.len());
        for (i, (id, label)) in said.iter().enumerate() {
            let Some(j) = before.get(id) else { continue };
            // What many labels changed together is counted once.
            let changed = if i + 1 == said.len() { u32::try_from(changed).unwrap_or(u32::MAX) } else { 0 };
            piece.extend(id.0.to_le_bytes());
            piece.push(label.map_or(2, u8::from));
            piece.push(u8::from(j.relevant));
            piece.extend((j.score as f32).to_le_bytes());
            piece.extend(changed.to_le_bytes());
        }
        if piece.is_empty() { Ok(()) } else { store.put_state(STATE, true, &piece) }
    }

    /// The same answers, with the sides that the judge would have taken at this line.
    pub fn at(&self, line: f64) -> Answers {
        Answers(self.0.iter().map(|a| Answer { relevant: a.relevance >= line, ..*a }).collect())
    }
    /// First given first.
    pub fn all(&self) -> &[Answer] {
        &self.0
    }
}

/// How good the collection is, as far as the answers tell: labelled pages by their labels, the others by what
/// was answered about pages that the judge thought as likely.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// Of the pages called relevant, so many are.
    pub precision: Share,
    /// Of the fetched pages that are relevant, so many are called so.
    pub recall: Share,
    /// Relevant pages among those fetched.
    pub relevant: f64,
}

/// A fetched page, as far as an estimate needs to know it.
#[derive(Clone, Copy, Debug)]
pub struct PageOpinion {
    /// The judge's probability that it is wanted, 0–1.
    pub relevance: f64,
    /// The judge's own verdict.
    pub relevant: bool,
    /// What was said of it.
    pub label: Option<bool>,
}

/// Pages are told apart by bands of probability, and by side. Most pages of a crawl are in the lowest ones.
const BANDS: [f64; 7] = [0.005, 0.02, 0.06, 0.15, 0.35, 0.6, 0.85];
/// In each band the judge's own probability counts as so many answers.
const JUDGE: f64 = 20.0;
/// Nothing is said before so many answers, with a yes and a no among them.
const FEWEST: usize = 10;

#[derive(Clone, Copy, Default)]
struct Band {
    pages: f64,
    likely: f64,
    yes: f64,
    answers: f64,
}

impl Band {
    /// Share of relevant pages in it, and how uncertain that is (variance).
    fn share(&self) -> (f64, f64) {
        let own = if self.pages > 0.0 { self.likely / self.pages } else { 0.0 };
        let n = self.answers + JUDGE;
        let share = ((self.yes + JUDGE * own) / n).clamp(1e-6, 1.0 - 1e-6);
        (share, share * (1.0 - share) / (n + 1.0))
    }
}

fn band(p: f64) -> usize {
    BANDS.iter().filter(|b| p >= **b).count()
}

impl Estimate {
    /// `None`: too little was answered.
    pub fn of(pages: impl Iterator<Item = PageOpinion>, answers: &Answers) -> Option<Estimate> {
        let all = answers.all();
        let yes = all.iter().filter(|a| a.label).count();
        if all.len() < FEWEST || yes == 0 || yes == all.len() {
            return None;
        }
        let mut bands = [[Band::default(); BANDS.len() + 1]; 2];
        let place =
            |bands: &mut [[Band; BANDS.len() + 1]; 2], side: bool, p: f64, with: &dyn Fn(&mut Band)| {
                if let Some(b) = bands.get_mut(usize::from(side)).and_then(|s| s.get_mut(band(p))) {
                    with(b);
                }
            };
        let mut sure = 0.0;
        for page in pages {
            match page.label {
                Some(label) => sure += f64::from(u8::from(label)),
                None => place(&mut bands, page.relevant, page.relevance, &|b| {
                    b.pages += 1.0;
                    b.likely += page.relevance;
                }),
            }
        }
        for a in all {
            place(&mut bands, a.relevant, a.relevance, &|b| {
                b.answers += 1.0;
                b.yes += f64::from(u8::from(a.label));
            });
        }
        let sum = |side: usize| {
            let mut out = (0.0, 0.0, 0.0);
            for b in bands.get(side).into_iter().flatten() {
                let (share, spread) = b.share();
                out.0 += b.pages;
                out.1 += b.pages * share;
                out.2 += b.pages * b.pages * spread;
            }
            out
        };
        let ((_, missed, missed_spread), (called, right, right_spread)) = (sum(0), sum(1));
        let (taken, right) = (called + sure, right + sure);
        let precision =
            interval(if taken > 0.0 { right / taken } else { 0.0 }, spread_of(right_spread, taken));
        let all = right + missed;
        let both = missed * missed * right_spread + right * right * missed_spread;
        let recall = interval(if all > 0.0 { right / all } else { 0.0 }, spread_of(both, all * all));
        Some(Estimate { precision, recall, relevant: right + missed })
    }
}

fn spread_of(variance: f64, by: f64) -> f64 {
    if by > 0.0 { libm::sqrt(variance) / by } else { 0.0 }
}

/// On the scale of log-odds an interval stays between 0 and 1. Near the ends, where a straight line says
/// little about log-odds, it reaches about twice as far.
fn interval(value: f64, spread: f64) -> Share {
    let p = value.clamp(1e-4, 1.0 - 1e-4);
    let odds = libm::log(p / (1.0 - p));
    let reach = if spread > 0.0 { Z * spread / f64::max(p * (1.0 - p), spread) } else { 0.0 };
    Share { value, low: sigmoid(odds - reach).min(value), high: sigmoid(odds + reach).max(value) }
}

/// Would more labels change much? Judged by what the last ones changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct LabelStability {
    /// The last so many answers …
    pub answers: usize,
    /// … made so many pages change sides.
    pub changed: u64,
    /// Of the pages among the last ones that the judge was sure of, so many …
    pub sure: usize,
    /// … were what it thought.
    pub right: usize,
    /// More labels would change little now.
    pub settled: bool,
}

/// So many answers are looked back at; fewer say nothing.
const LAST: usize = 10;
/// And so many, for what the judge was sure of.
const LAST_SURE: usize = 30;
const FEWEST_SURE: usize = 5;
/// It is sure of a page from here on, and below here.
const SURELY: f64 = 0.8;
const SURELY_NOT: f64 = 0.1;
/// Little is this share of the relevant pages.
const LITTLE: f64 = 0.02;

impl LabelStability {
    /// `relevant`: how many pages are called so. `None` before there are enough answers to tell.
    pub fn of(answers: &Answers, relevant: u64) -> Option<LabelStability> {
        let all = answers.all();
        if all.len() < 2 * LAST || all.iter().all(|a| a.label) || !all.iter().any(|a| a.label) {
            return None;
        }
        let changed: u64 = all.iter().rev().take(LAST).map(|a| u64::from(a.changed)).sum();
        let sure = |a: &&Answer| a.relevance >= SURELY || a.relevance <= SURELY_NOT;
        let known: Vec<&Answer> = all.iter().rev().take(LAST_SURE).filter(sure).collect();
        let right = known.iter().filter(|a| a.label == (a.relevance >= SURELY)).count();
        let settled = changed as f64 <= (LITTLE * relevant as f64).max(1.0)
            && known.len() >= FEWEST_SURE
            && right * 10 >= known.len() * 9;
        Some(LabelStability { answers: LAST, changed, sure: known.len(), right, settled })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use store::Ledger;

    fn judged(id: u32, score: f64, relevant: bool) -> JudgedPage {
        JudgedPage {
            id: UrlId(id),
            score,
            barred: false,
            turned: false,
            relevant,
            label: None,
            copy_of: None,
            simhash: 0,
        }
    }

    fn answer(label: bool, relevance: f64, changed: u32) -> Answer {
        Answer { id: UrlId(0), label, relevance, relevant: relevance >= 0.5, changed }
    }

    #[test]
    fn what_was_thought_before_the_first_word_counts_and_what_was_taken_back_does_not() {
        let mut ledger = Ledger::in_memory(frontier::Limits::default());
        let pages = [judged(1, 0.9, true), judged(2, 0.25, false), judged(3, 0.5, true)];
        let mut note = |id: u32, said, changed| {
            let said = [(UrlId(id), said)];
            Answers::note(&mut ledger, &said, &pages[id as usize - 1..id as usize], changed).unwrap();
        };
        note(1, Some(true), 7);
        note(2, Some(true), 3);
        note(3, Some(false), 0);
        note(2, Some(false), 9);
        note(3, None, 0);
        let all = Answers::read(&ledger).unwrap();
        let shown: Vec<_> = all.all().iter().map(|a| (a.id.0, a.label, a.relevant, a.changed)).collect();
        assert_eq!(shown, [(1, true, true, 7), (2, false, false, 3)]);
        assert!((all.all()[0].relevance - 0.9).abs() < 1e-6);
    }

    #[test]
    fn an_estimate_follows_the_answers_and_gets_narrower() {
        // 100 pages called relevant with p = 0.9, 900 others with p = 0.01; the judge is right.
        let pages = || {
            (0..1000).map(|i| PageOpinion {
                relevance: if i < 100 { 0.9 } else { 0.01 },
                relevant: i < 100,
                label: None,
            })
        };
        let few: Vec<Answer> = (0..10).map(|i| answer(i < 9, if i < 9 { 0.9 } else { 0.01 }, 0)).collect();
        let one = Estimate::of(pages(), &Answers(few)).unwrap();
        assert!((0.85..0.97).contains(&one.precision.value), "{one:?}");
        assert!(one.precision.low < one.precision.value && one.precision.value < one.precision.high);
        assert!((0.85..=1.0).contains(&one.recall.value), "{one:?}");
        // Half of what it called relevant was not: the estimate goes there.
        let wrong: Vec<Answer> = (0..200).map(|i| answer(i % 2 == 0, 0.9, 0)).collect();
        let two = Estimate::of(pages(), &Answers(wrong)).unwrap();
        assert!((0.48..0.58).contains(&two.precision.value), "{two:?}");
        assert!(two.precision.high - two.precision.low < one.precision.high - one.precision.low + 0.1);
        // Yes among what it thought unlikely: recall falls.
        let missed: Vec<Answer> = (0..50).map(|i| answer(i % 5 == 0 || i == 1, 0.01, 0)).collect();
        let three = Estimate::of(pages(), &Answers(missed)).unwrap();
        assert!(three.recall.value < 0.55, "{three:?}");
    }

    #[test]
    fn little_is_said_of_little() {
        let none = std::iter::empty;
        assert_eq!(Estimate::of(none(), &Answers::default()), None);
        let all_yes: Vec<Answer> = (0..50).map(|_| answer(true, 0.9, 0)).collect();
        assert_eq!(Estimate::of(none(), &Answers(all_yes.clone())), None);
        assert_eq!(LabelStability::of(&Answers(all_yes), 10), None);
        let some: Vec<Answer> = (0..19).map(|i| answer(i % 2 == 0, 0.9, 0)).collect();
        assert_eq!(LabelStability::of(&Answers(some.clone()), 10), None);
        // Of nothing: finite numbers.
        let e = Estimate::of(none(), &Answers(some)).unwrap();
        assert!(e.precision.low.is_finite() && e.recall.high <= 1.0, "{e:?}");
    }

    #[test]
    fn settled_when_answers_change_little_and_do_not_surprise() {
        let agree = |changed| {
            let p = |i: usize| if i.is_multiple_of(2) { 0.9 } else { 0.02 };
            (0..30).map(|i| answer(p(i) > 0.5, p(i), changed)).collect::<Vec<_>>()
        };
        assert!(LabelStability::of(&Answers(agree(0)), 100).unwrap().settled);
        let much = LabelStability::of(&Answers(agree(3)), 100).unwrap();
        assert_eq!((much.settled, much.changed, much.sure, much.right), (false, 30, 30, 30));
        // It was sure, and wrong.
        let mut surprise = agree(0);
        surprise.iter_mut().take(8).for_each(|a| a.label = !a.label);
        assert!(!LabelStability::of(&Answers(surprise), 100).unwrap().settled);
    }
}
