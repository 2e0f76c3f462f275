//! The roll: every judged page with what is needed to judge it again, that is its features and its label. The
//! running loop, a stopped collection ([`crate::steer::stopped`]) and each worker of a shared crawl have a
//! roll and use this code, so a label means the same everywhere. Nothing is read from the archive.

use crate::answers::Answers;
use crate::crawl::{JudgedPage, Ledger};
use crate::duplicates::EarlierPage;
use crate::labels::{CHOICES, Choice, Labels};
use crate::measured::{FEATURES, Measured};
use crate::state::PageLine;
use crate::steer::{Effect, labelled, verdicts_changed};
use focus::judges::Judge;
use focus::strategies::Because;
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;
use store::{Journal, Records, Revision};
use types::{Assessment, Features, Label, Problem, Record, Shelf, StateKey, UrlId, Verdict, Who};

/// A kept probability that is off by less is left as it is: a label moves most of them a little.
const NOTICEABLE: f64 = 0.02;
/// Labels that can be taken back exactly, the newest first; and pages that they may have changed in all.
const STEPS: usize = 200;
const STEPS_PAGES: usize = 2_000_000;
/// Features of the first pages stay in memory: most crawls need no file.
const FEATURES_IN_MEMORY: usize = 4 << 20;
pub(crate) const FEATURES_FILE: &str = "features.tmp";

#[derive(Default)]
pub(crate) struct Roll {
    /// In fetch order.
    pub judged: Vec<JudgedPage>,
    /// Where each is in that order, for judges that remember pages.
    at: HashMap<UrlId, u32>,
    /// What a judge that remembers pages keeps of them.
    features: Vec<Features>,
    /// Where that is.
    shelf: Shelf,
    /// Their assessments, for other judges that decide by more than the score.
    assessed: Vec<Assessment>,
    /// Of a shared crawl: pages that others fetched and the user labelled. The judge learns from those too.
    pub lessons: BTreeMap<UrlId, (Assessment, Label)>,
    /// What the last labels changed.
    steps: Vec<Step>,
    /// Pages that took the place of an earlier version: the judge was shown that one.
    replaced: usize,
    /// Pages of other workers that this one visited again and found to be others: they are no new pages.
    pub adopted: HashSet<UrlId>,
}

/// What some labels changed, so that taking them back restores exactly what was.
struct Step {
    /// What says the opposite.
    back: Vec<(UrlId, Option<bool>)>,
    /// With so many pages.
    pages: usize,
    /// What was kept of the pages that were written: side and probability.
    was: HashMap<UrlId, (bool, f64)>,
}

/// Verdicts that are others now.
#[derive(Default)]
pub(crate) struct Changes {
    /// Pages that changed sides.
    pub sides: Vec<(UrlId, Verdict)>,
    /// Pages whose probability is noticeably another, on the same side.
    pub moved: Vec<(UrlId, Verdict)>,
    /// What was kept of both before.
    was: HashMap<UrlId, (bool, f64)>,
}

/// What the user says, as far as it is about pages there are.
pub(crate) struct LabelRequest {
    who: Who,
    pub said: Vec<(UrlId, Option<bool>)>,
    /// Where they are on the roll.
    at: BTreeMap<UrlId, usize>,
    /// Pages that others fetched.
    lessons: BTreeMap<UrlId, Option<Assessment>>,
}

/// Makes of a record what the judge sees.
pub(crate) type Lesson<'a> = &'a dyn Fn(Record) -> Result<Assessment, Problem>;

impl Roll {
    /// An empty one that keeps features in this folder when there are many.
    pub fn at(dir: &Path) -> Roll {
        Roll { shelf: Shelf::at(dir.join(FEATURES_FILE), FEATURES_IN_MEMORY), ..Roll::default() }
    }

    /// The pages as the ledger has them, with what was last said of them. `each` sees their digests and
    /// SimHashes, `kept` what is kept of each for judges that learn.
    pub fn read(
        mut self,
        ledger: &(impl Records + ?Sized),
        judge: &dyn Judge,
        lesson: Lesson,
        each: &mut dyn FnMut(&PageLine),
        kept: &mut dyn FnMut(&Measured),
    ) -> Result<Roll, Problem> {
        let roll = &mut self;
        let mut at: HashMap<UrlId, usize> = HashMap::new();
        for line in ledger.state(StateKey::Pages)? {
            let Some(page) = PageLine::read(&line) else { continue };
            let mut judged = page.judged;
            if page.adopted {
                roll.adopted.insert(judged.id);
            }
            let original = page.copy_of.and_then(|id| Some((id, *at.get(&id)?)));
            judged.copy_of = original.map(|(id, at)| EarlierPage { id, at: at as u32 });
            // A later version takes the place of the earlier one.
            if let Some(earlier) = at.get(&judged.id).and_then(|&i| roll.judged.get_mut(i)) {
                *earlier = judged;
                continue;
            }
            each(&page);
            at.insert(judged.id, roll.judged.len());
            roll.judged.push(judged);
        }
        let remembers = judge.needs().pages;
        for (id, verdict) in ledger.revised()? {
            if let Some(j) = at.get(&id).and_then(|&i| roll.judged.get_mut(i)) {
                j.relevant = verdict.relevant;
                if remembers {
                    j.score = verdict.relevance;
                }
            }
        }
        let labels = Labels::read(ledger)?;
        let mut others = Vec::new();
        for (id, label) in labels.all() {
            match at.get(&id).and_then(|&i| roll.judged.get_mut(i)) {
                Some(j) => j.label = Some(label),
                None => others.push(id),
            }
        }
        for record in ledger.records_of(others) {
            let record = record?;
            let id = record.id;
            if let Some(label) = labels.label(id) {
                roll.lessons.insert(id, (lesson(record)?, label));
            }
        }
        if remembers {
            roll.at = at.iter().map(|(id, i)| (*id, *i as u32)).collect();
            roll.features = vec![Features::default(); roll.judged.len()];
            let mut met = vec![false; roll.judged.len()];
            for entry in ledger.each_state(FEATURES) {
                let Some(page) = Measured::decode(&entry?) else { continue };
                let i = at.get(&page.id).copied();
                if !i.and_then(|i| met.get_mut(i)).is_some_and(|met| std::mem::replace(met, true)) {
                    kept(&page);
                }
                if let Some(f) = i.and_then(|i| roll.features.get_mut(i)) {
                    *f = roll.shelf.put(&page.features);
                }
            }
        } else if judge.needs().assessments {
            let ids: Vec<UrlId> = roll.judged.iter().map(|j| j.id).collect();
            let mut kept: HashMap<UrlId, Assessment> = HashMap::with_capacity(ids.len());
            for record in ledger.records_of(ids) {
                let record = record?;
                kept.insert(record.id, record.assessment);
            }
            for j in &roll.judged {
                let known = kept.remove(&j.id);
                let score_only = || Assessment { score: j.score, ..Assessment::default() };
                roll.assessed.push(known.unwrap_or_else(score_only));
            }
        }
        Ok(self)
    }

    /// Pages that were read again.
    pub fn of(judged: Vec<JudgedPage>, assessed: Vec<Assessment>) -> Roll {
        Roll { judged, assessed, ..Roll::default() }
    }
    pub fn into_assessed(self) -> Vec<Assessment> {
        self.assessed
    }

    /// What another judge measured on the pages, shelved before.
    pub fn measured_again<'a>(&mut self, judge: &dyn Judge, pages: impl Iterator<Item = &'a Assessment>) {
        (self.at, self.features, self.assessed) = (HashMap::new(), Vec::new(), Vec::new());
        pages.for_each(|assessment| self.keep_of(judge, assessment));
    }

    /// Puts the features of a page where those of the others are.
    pub fn shelve(&mut self, assessment: &mut Assessment) {
        assessment.features = self.shelf.put(&assessment.features.read());
    }

    /// A page was judged.
    pub fn push(&mut self, judge: &dyn Judge, judged: JudgedPage, assessment: &Assessment) {
        self.judged.push(judged);
        self.keep_of(judge, assessment);
    }

    /// A page that was read again takes the place of its earlier version.
    pub fn replace(&mut self, i: usize, judge: &dyn Judge, judged: JudgedPage, assessment: &Assessment) {
        let Some(page) = self.judged.get_mut(i) else { return };
        *page = judged;
        self.replaced += 1;
        let is_meant = assessment.excluded.is_none();
        if let Some(f) = self.features.get_mut(i).filter(|_| judge.needs().pages) {
            *f = if is_meant { assessment.features.clone() } else { Features::default() };
        } else if let Some(a) = self.assessed.get_mut(i) {
            *a = assessment.clone();
        }
    }

    /// What this judge will need of it.
    fn keep_of(&mut self, judge: &dyn Judge, assessment: &Assessment) {
        if judge.needs().pages {
            let n = self.features.len();
            self.at.extend(self.judged.get(n).map(|j| (j.id, n as u32)));
            // A page of a context that is not meant is ruled out whatever is kept of it.
            let is_meant = assessment.excluded.is_none();
            self.features.push(if is_meant { assessment.features.clone() } else { Features::default() });
        } else if judge.needs().assessments {
            self.assessed.push(assessment.clone());
        }
    }

    /// What a judge that remembers pages kept of one.
    pub fn features_of(&self, id: UrlId) -> Option<Features> {
        self.features.get(*self.at.get(&id)? as usize).filter(|f| !f.is_empty()).cloned()
    }

    /// The `i`th page as the judge sees it.
    pub fn assessment(&self, i: usize) -> Option<Cow<'_, Assessment>> {
        let score = self.judged.get(i)?.score;
        Some(match (self.assessed.get(i), self.features.get(i)) {
            (Some(whole), _) => Cow::Borrowed(whole),
            (_, features) => {
                let features = features.cloned().unwrap_or_default();
                Cow::Owned(Assessment { score, features, ..Assessment::default() })
            }
        })
    }

    /// A judge is shown the pages from the `from`th on, with what the user said of them.
    pub fn show(&self, judge: &mut dyn Judge, from: usize) {
        for (i, j) in self.judged.iter().enumerate().skip(from) {
            if let Some(assessment) = self.assessment(i) {
                judge.observe(&assessment, j.label);
            }
        }
    }

    /// And those of others that the user labelled.
    pub fn show_lessons(&self, judge: &mut dyn Judge) {
        for (assessment, label) in self.lessons.values() {
            judge.observe(assessment, Some(*label));
        }
    }

    /// Why the judge changes its mind now, when nobody spoke just now.
    pub fn because(&self) -> Because {
        match self.lessons.is_empty() && self.judged.iter().all(|j| j.label.is_none()) {
            true => Because::Judge,
            false => Because::Labels,
        }
    }

    /// Is it one of the wanted pages, and not a copy of one? Near-duplicates count once.
    pub fn is_counted(&self, page: &JudgedPage) -> bool {
        let original = page.copy_of.and_then(|e| self.judged.get(e.at as usize));
        page.wanted() && original.is_none_or(|o| !o.wanted())
    }

    /// The judge's verdict on the `i`th page now.
    pub fn verdict(&self, judge: &dyn Judge, i: usize) -> Option<Verdict> {
        let j = self.judged.get(i)?;
        Some(j.verdict(judge, judge.decide(self.assessment(i)?.as_ref())))
    }

    /// The judge's verdicts on all pages now, in order.
    pub fn verdicts(&self, judge: &dyn Judge) -> Vec<Verdict> {
        // A judge that remembers pages has looked at most of them already. What it was shown between them
        // (pages of other workers) is passed over.
        let shown = judge.decide_shown();
        let mut left = shown.as_slice();
        let between = self.lessons.len() + self.replaced;
        let mut out = Vec::with_capacity(self.judged.len());
        for (i, j) in self.judged.iter().enumerate() {
            let own = self.features.get(i).or(self.assessed.get(i).map(|a| &a.features));
            let at = own
                .filter(|own| !own.is_empty())
                .and_then(|own| left.iter().take(between + 1).position(|(features, _)| features.is(own)));
            let known = at.and_then(|at| left.split_off(..=at)).and_then(|part| part.last());
            out.push(match known {
                Some((_, verdict)) => j.verdict(judge, *verdict),
                None => self.verdict(judge, i).unwrap_or_default(),
            });
        }
        out
    }

    /// Gives every verdict again; says which are others than those kept.
    pub fn revise(&mut self, judge: &dyn Judge) -> Changes {
        self.revise_to(judge, None)
    }

    /// As `revise`. After labels were taken back, what was kept before they were given is kept again.
    fn revise_to(&mut self, judge: &dyn Judge, step: Option<&Step>) -> Changes {
        let probabilities = judge.needs().pages;
        let verdicts = self.verdicts(judge);
        let mut changes = Changes::default();
        for (j, mut verdict) in self.judged.iter_mut().zip(verdicts) {
            let was = step.and_then(|s| s.was.get(&j.id));
            if let Some((_, p)) = was.filter(|(side, _)| *side == verdict.relevant) {
                verdict.relevance = *p;
            }
            let turned = verdict.relevant != j.relevant;
            let off = (verdict.relevance - j.score).abs();
            let moved = probabilities && (off >= NOTICEABLE || (was.is_some() && off > 0.0));
            let is_written = turned || (moved && step.is_none_or(|_| was.is_some()));
            if !is_written {
                continue;
            }
            changes.was.insert(j.id, (j.relevant, j.score));
            j.relevant = verdict.relevant;
            if probabilities {
                j.score = verdict.relevance;
            }
            if turned { changes.sides.push((j.id, verdict)) } else { changes.moved.push((j.id, verdict)) }
        }
        changes
    }

    /// What of it is about pages there are. `lesson` makes of another's page what the judge sees.
    pub fn hear(
        &self,
        ledger: &(impl Records + ?Sized),
        who: Who,
        said: &[(UrlId, Option<bool>)],
        lesson: Lesson,
    ) -> Result<LabelRequest, Problem> {
        let said: BTreeMap<UrlId, Option<bool>> = said.iter().copied().collect();
        let mut at = BTreeMap::new();
        for (i, j) in self.judged.iter().enumerate().filter(|(_, j)| said.contains_key(&j.id)) {
            at.insert(j.id, i);
        }
        let mut lessons = BTreeMap::new();
        let others: Vec<UrlId> = said.keys().copied().filter(|id| !at.contains_key(id)).collect();
        for record in ledger.records_of(others) {
            let record = record?;
            let id = record.id;
            let is_said = said.get(&id).copied().flatten().is_some();
            lessons.insert(id, is_said.then(|| lesson(record)).transpose()?);
        }
        let known: Vec<(UrlId, Option<bool>)> = (said.iter())
            .filter(|(id, _)| at.contains_key(id) || lessons.contains_key(id))
            .map(|(id, label)| (*id, *label))
            .collect();
        if known.is_empty() {
            let ids: Vec<String> = said.keys().take(5).map(|id| id.0.to_string()).collect();
            let what = format!("URL number {} is not a page of this collection", ids.join(", "));
            return Err(Problem::nothing(what));
        }
        Ok(LabelRequest { who, said: known, at, lessons })
    }

    /// Keeps what the user says.
    pub fn note(&mut self, ledger: &mut dyn Ledger, heard: &mut LabelRequest) -> Result<(), Problem> {
        let mut labels = Labels::read(ledger)?;
        self.note_in(&mut labels, ledger, heard)
    }

    fn note_in(
        &mut self,
        labels: &mut Labels,
        ledger: &mut (impl Journal + ?Sized),
        heard: &mut LabelRequest,
    ) -> Result<(), Problem> {
        labels.say_as(heard.who, ledger, &heard.said)?;
        // What counts now: a person's word stands above a model's.
        for (id, i) in &heard.at {
            if let Some(j) = self.judged.get_mut(*i) {
                j.label = labels.label(*id);
            }
        }
        for (id, lesson) in std::mem::take(&mut heard.lessons) {
            match (lesson, labels.label(id)) {
                (Some(assessment), Some(label)) => self.lessons.insert(id, (assessment, label)),
                _ => self.lessons.remove(&id),
            };
        }
        Ok(())
    }

    /// A judge that has seen no page yet sees all of them, with every label that counts now: it cannot forget
    /// a label that was taken back. What its verdicts change is kept.
    pub fn judge_anew(&mut self, ledger: &mut dyn Ledger, judge: &mut dyn Judge) -> Result<Changes, Problem> {
        self.judge_to(ledger, judge, None)
    }

    fn judge_to(
        &mut self,
        ledger: &mut dyn Ledger,
        judge: &mut dyn Judge,
        step: Option<&Step>,
    ) -> Result<Changes, Problem> {
        self.show(judge, 0);
        self.show_lessons(judge);
        let changes = self.revise_to(judge, step);
        ledger.revise(&Revision::of(&changes.sides))?;
        ledger.revise(&Revision::of(&changes.moved))?;
        Ok(changes)
    }

    /// The user says something of pages, and `judge`, which has seen none yet, learns from it. Part of the
    /// next commit.
    pub fn learn(
        &mut self,
        ledger: &mut dyn Ledger,
        heard: &mut LabelRequest,
        judge: &mut dyn Judge,
    ) -> Result<Changes, Problem> {
        let mut labels = Labels::read(ledger)?;
        let back: Vec<(UrlId, Option<bool>)> =
            heard.said.iter().map(|(id, _)| (*id, labels.get(*id))).collect();
        let before: Vec<JudgedPage> =
            heard.at.values().filter_map(|i| self.judged.get(*i)).copied().collect();
        self.note_in(&mut labels, ledger, heard)?;
        let pages = self.judged.len();
        self.steps.retain(|s| s.pages == pages);
        let step = self.steps.pop_if(|s| s.back == heard.said);
        let mut changes = self.judge_to(ledger, judge, step.as_ref())?;
        if step.is_none() {
            self.steps.push(Step { back, pages, was: std::mem::take(&mut changes.was) });
            let mut all: usize = self.steps.iter().map(|s| s.was.len()).sum();
            while self.steps.len() > STEPS || (all > STEPS_PAGES && self.steps.len() > 1) {
                all -= self.steps.remove(0).was.len();
            }
        }
        if heard.who == Who::Person {
            Answers::note(ledger, &heard.said, &before, changes.sides.len())?;
        }
        let threshold = judge.decide(&Assessment::default()).threshold;
        if let Some(line) = Choice::line(pages as u64, threshold, judge.explain()) {
            ledger.put_state(CHOICES, true, &line)?;
        }
        self.keep(ledger, judge)?;
        Ok(changes)
    }

    /// What came of it, for people.
    pub fn effect(&self, said: &[(UrlId, Option<bool>)], changes: &Changes, threshold: f64) -> Effect {
        let ids: HashMap<UrlId, Option<bool>> = said.iter().copied().collect();
        let others = changes.sides.iter().filter(|(id, _)| !ids.contains_key(id)).count();
        let (what, change) = (labelled(said), verdicts_changed(others as u64));
        let now = if others == 0 { "" } else { "now " };
        let text = format!("{what}; {change} (threshold {now}{threshold:.2})");
        let first = said.first();
        let own = first.and_then(|(id, _)| self.judged.iter().find(|j| j.id == *id));
        let relevant = own.map(JudgedPage::wanted).or(first.and_then(|f| f.1));
        Effect { text, changed: others, relevant, ..Effect::default() }
    }

    /// The judge's own state.
    pub fn keep(&self, ledger: &mut (impl Journal + ?Sized), judge: &dyn Judge) -> Result<(), Problem> {
        let Some(bytes) = judge.save() else { return Ok(()) };
        let mut whole = (self.judged.len() as u64).to_le_bytes().to_vec();
        whole.extend(bytes);
        ledger.put_state(StateKey::Judge, false, &whole)
    }
}
