//! Labels in a running crawl: the judge learns, verdicts are given again, the strategy is told, what is
//! pending is scored again.

use super::command::Effect;
use crate::crawl::Crawl;
use crate::events::Event;
use crate::roll::LabelRequest;
use crate::stored;
use focus::strategies::Because;
use focus::strategies::Rescore;
use std::sync::PoisonError;
use types::{Assessment, Problem, Record, UrlId, Who};

impl Crawl {
    /// Keeps what was said of pages, those of other workers too; the judge is not told yet.
    pub(crate) fn note_labels(&mut self, who: Who, said: &[(UrlId, Option<bool>)]) -> Result<(), Problem> {
        let mut heard = self.hear(who, said)?;
        self.judging.roll.note(self.parts.ledger.as_mut(), &mut heard)
    }

    fn hear(&self, who: Who, said: &[(UrlId, Option<bool>)]) -> Result<LabelRequest, Problem> {
        self.judging.roll.hear(self.parts.ledger.as_ref(), who, said, &|record| self.lesson(record))
    }

    /// A labelled page of another worker, as the judge sees it. Its features are not in its record.
    pub(crate) fn lesson(&self, record: Record) -> Result<Assessment, Problem> {
        let Some(steering) = self.steer.collection.as_ref().filter(|_| self.remembers_pages()) else {
            return Ok(record.assessment);
        };
        let answer = stored::answer(&steering.archive, self.parts.ledger.as_ref(), &record)?;
        let doc = steering.analyst.read(&answer.fetched).map(|(doc, _)| doc);
        Ok(doc.map_or(record.assessment, |doc| steering.analyst.assess_alone(&doc)))
    }

    /// A judge that has seen every page, and every label that counts now. Verdicts that it changes are kept.
    pub(crate) fn judge_anew(&mut self) -> Result<(), Problem> {
        let mut judge = self.new_judge()?;
        self.judging.roll.judge_anew(self.parts.ledger.as_mut(), judge.as_mut())?;
        *self.parts.judge.write().unwrap_or_else(PoisonError::into_inner) = judge;
        self.recount()
    }

    /// What the user says of pages. Those of other workers teach the judge as well as one's own.
    pub(crate) fn label(&mut self, who: Who, said: &[(UrlId, Option<bool>)]) -> Result<Effect, Problem> {
        let mut heard = self.hear(who, said)?;
        let mut judge = self.new_judge()?;
        let changes = self.judging.roll.learn(self.parts.ledger.as_mut(), &mut heard, judge.as_mut())?;
        *self.parts.judge.write().unwrap_or_else(PoisonError::into_inner) = judge;
        self.recount()?;
        self.tell_revised(&changes.sides, Because::Labels)?;
        self.tell_labels()?;
        self.score_again()?;
        if !changes.sides.is_empty() {
            self.announce_revised(changes.sides.len());
        }
        Ok(self.judging.roll.effect(&heard.said, &changes, self.counts.threshold))
    }

    /// The strategy learnt something about old pages: what is pending is scored by it.
    pub(crate) fn score_again(&mut self) -> Result<(), Problem> {
        let moved = self.rescores(&Rescore::Everything, UrlId(0))?;
        self.parts.ledger.rescore(&moved)?;
        self.save_strategy_now()
    }

    /// The totals and the judge's state after verdicts changed outside a turn.
    pub(crate) fn recount(&mut self) -> Result<(), Problem> {
        let judge = self.parts.judge.read().unwrap_or_else(PoisonError::into_inner);
        self.counts.threshold = judge.decide(&Assessment::default()).threshold;
        self.judging.roll.keep(self.parts.ledger.as_mut(), judge.as_ref())?;
        drop(judge);
        self.count_pages();
        if let Some(fleet) = self.parts.ledger.fleet_mut() {
            fleet.recount(self.counts.relevant);
        }
        Ok(())
    }

    pub(crate) fn announce_revised(&mut self, pages: usize) {
        let (relevant, threshold) = (self.counts.relevant, self.counts.threshold);
        self.emit(Event::Revised { pages, relevant, threshold });
    }
}
