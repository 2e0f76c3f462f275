//! Judges all pages again when the topic has changed, a slice at a time, while the crawl goes on.

use crate::crawl::{Crawl, JudgedPage};
use crate::measured::{self, Measured, Measurer, NewFeatures};
use crate::state::PageLine;
use crate::stored;
use focus::judges::Judge;
use focus::strategies::Because;
use std::sync::PoisonError;
use std::time::{Duration, Instant};
use store::Revision;
use types::{Assessment, Problem, StateKey, UrlId};

/// All pages being judged again by a changed topic, a few at a time. The old judge goes on until the new one
/// has seen everything.
pub(crate) struct Rejudging {
    judge: Box<dyn Judge>,
    measurer: Measurer,
    again: NewFeatures,
    /// In fetch order, as far as it got.
    done: Vec<NewAssessment>,
}

impl Rejudging {
    pub fn by(judge: Box<dyn Judge>) -> Rejudging {
        Rejudging { judge, measurer: Measurer::default(), again: NewFeatures::default(), done: Vec::new() }
    }
}

struct NewAssessment {
    id: UrlId,
    assessment: Assessment,
    measured: Option<Measured>,
    barred: bool,
    digest: [u8; 20],
}

/// Judging again takes at most this much of the loop's time at once.
const SLICE: Duration = Duration::from_millis(40);

/// State in the ledger: 1 while pages wait to be judged again, so that a crawl that was stopped meanwhile
/// goes on with it.
pub(crate) const REJUDGING: StateKey = StateKey::Rejudging;

impl Crawl {
    /// Are pages waiting to be judged again, by what is kept?
    pub(crate) fn is_rejudging(&self) -> Result<bool, Problem> {
        Ok(self.parts.ledger.state(REJUDGING)?.pop().as_deref() == Some(&[1]))
    }

    /// Every page is judged again, from the first one on.
    pub(crate) fn begin_rejudging(&mut self) -> Result<(), Problem> {
        let judge = self.new_judge()?;
        self.parts.ledger.put_state(REJUDGING, false, &[1])?;
        self.judging.rejudging = Some(Rejudging::by(judge));
        Ok(())
    }

    /// Goes on judging pages again, for a moment. `true` while there is more to do.
    pub fn rejudge_some(&mut self) -> Result<bool, Problem> {
        let Some(mut r) = self.judging.rejudging.take() else { return Ok(false) };
        let Some(steering) = &self.steer.collection else { return Ok(false) };
        let begun = Instant::now();
        while r.done.len() < self.judging.roll.judged.len() {
            if begun.elapsed() >= SLICE {
                self.judging.rejudging = Some(r);
                return Ok(true);
            }
            let old = self.judging.roll.judged[r.done.len()];
            let record = self.parts.ledger.record(old.id)?;
            let Some(record) = record else {
                return Err(Problem::new(format!("the record of URL number {} is gone", old.id.0)));
            };
            let answer = stored::answer(&steering.archive, self.parts.ledger.as_ref(), &record)?;
            let doc = steering.analyst.read(&answer.fetched).map(|(doc, _)| doc);
            // A page that can no longer be read keeps what was known of it.
            let (assessment, measured, language) = match &doc {
                Some(doc) if r.judge.needs().own_text => {
                    let links = r.again.in_links(self.parts.ledger.as_ref(), old.id)?;
                    let page = (old.id, &answer.fetched.url);
                    let (a, m) = r.measurer.measure(r.judge.as_ref(), page, doc, links);
                    r.again.add(old.id, &a);
                    (a, Some(m), doc.page.language.as_str())
                }
                Some(doc) => (r.judge.assess(doc), None, doc.page.language.as_str()),
                None => (record.assessment.clone(), None, record.language.as_str()),
            };
            let barred = assessment.excluded.is_some() || !self.parts.scope.speaks(language);
            let digest = store::archive::Digest::from_hex(&record.digest).map_or([0; 20], |d| d.0);
            r.done.push(NewAssessment { id: old.id, assessment, measured, barred, digest });
        }
        self.take_over(r)?;
        Ok(false)
    }

    /// The new judge has seen everything: its verdicts count from here on.
    fn take_over(&mut self, mut r: Rejudging) -> Result<(), Problem> {
        r.done.iter_mut().for_each(|new| self.judging.roll.shelve(&mut new.assessment));
        for (j, new) in self.judging.roll.judged.iter().zip(&r.done) {
            r.judge.observe(&new.assessment, j.label);
        }
        self.read_lessons_again(r.judge.as_mut())?;
        let (mut changed, mut told) = (0, Vec::new());
        let mut items = Vec::with_capacity(r.done.len());
        let mut lines = Vec::with_capacity(r.done.len());
        let mut features = Vec::new();
        let adopted = std::mem::take(&mut self.judging.roll.adopted);
        for (j, mut new) in self.judging.roll.judged.iter_mut().zip(r.done) {
            let own = r.judge.decide(&new.assessment);
            let verdict =
                JudgedPage { barred: new.barred, turned: false, ..*j }.verdict(r.judge.as_ref(), own);
            if new.measured.is_some() {
                new.assessment.score = verdict.relevance;
            }
            features.extend(new.measured);
            let before = j.wanted();
            (j.score, j.barred, j.turned, j.relevant) =
                (new.assessment.score, new.barred, false, verdict.relevant);
            if j.wanted() != before {
                changed += 1;
                told.push((j.id, verdict));
            }
            let (judged, copy_of) = (*j, j.copy_of.map(|e| e.id));
            let adopted = adopted.contains(&j.id);
            lines.push(PageLine { judged, digest: new.digest, copy_of, adopted }.write());
            items.push(Revision { id: new.id, verdict, assessment: Some(new.assessment) });
        }
        self.judging.roll.adopted = adopted;
        self.parts.ledger.revise(&items)?;
        self.parts.ledger.put_state(StateKey::Pages, false, &[])?;
        for line in &lines {
            self.parts.ledger.put_state(StateKey::Pages, true, line)?;
        }
        measured::write_all(self.parts.ledger.as_mut(), features.into_iter())?;
        self.judging.measurer = r.measurer;
        self.parts.ledger.put_state(REJUDGING, false, &[0])?;
        let measured = items.iter().filter_map(|r| r.assessment.as_ref());
        self.judging.roll.measured_again(r.judge.as_ref(), measured);
        *self.parts.judge.write().unwrap_or_else(PoisonError::into_inner) = r.judge;
        self.tell_revised(&told, Because::Judge)?;
        self.save_strategy_now()?;
        // What is being read just now was measured by the old one.
        self.judging.measured_before = self.in_flight_numbers();
        self.recount()?;
        self.commit()?;
        self.announce_revised(changed);
        Ok(())
    }

    /// Labelled pages of other workers, measured by another judge.
    fn read_lessons_again(&mut self, judge: &mut dyn Judge) -> Result<(), Problem> {
        let Some(steering) = &self.steer.collection else { return Ok(()) };
        let ledger = self.parts.ledger.as_ref();
        let ids: Vec<UrlId> = self.judging.roll.lessons.keys().copied().collect();
        let lessons = &mut self.judging.roll.lessons;
        for record in ledger.records_of(ids) {
            let record = record?;
            let answer = stored::answer(&steering.archive, ledger, &record)?;
            let doc = steering.analyst.read(&answer.fetched).map(|(doc, _)| doc);
            if let Some((assessment, _)) = lessons.get_mut(&record.id) {
                *assessment = doc.map_or(record.assessment, |doc| judge.assess(&doc));
            }
        }
        self.judging.roll.show_lessons(judge);
        Ok(())
    }
}
