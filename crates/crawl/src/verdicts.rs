//! Changes verdicts on pages that were fetched before, counts them, and tells the strategy.

use crate::crawl::{Crawl, JudgedPage};
use crate::events::Curve;
use focus::judges::Judge;
use focus::strategies::{Because, Revised};
use std::collections::HashMap;
use std::sync::PoisonError;
use store::Revision;
use types::{Problem, UrlId, Verdict, Who};

impl Crawl {
    /// Gives every verdict again; returns those that changed sides.
    pub(crate) fn revise(&mut self) -> Result<Vec<(UrlId, Verdict)>, Problem> {
        let judge = self.parts.judge.read().unwrap_or_else(PoisonError::into_inner);
        let changes = self.judging.roll.revise(judge.as_ref());
        drop(judge);
        if !changes.sides.is_empty() {
            self.count_pages();
        }
        if self.parts.rules.keep {
            self.parts.ledger.revise(&Revision::of(&changes.moved))?;
        }
        Ok(changes.sides)
    }

    /// The totals and the harvest curve, from what is thought of every page now.
    pub(crate) fn count_pages(&mut self) {
        (self.counts.pages, self.counts.relevant) = (0, 0);
        let mut curve = Curve::default();
        for page in &self.judging.roll.judged {
            self.counts.pages += 1;
            self.counts.relevant += u64::from(self.judging.roll.is_counted(page));
            curve.push(self.counts.pages, self.counts.relevant);
        }
        self.counts.curve = curve;
    }

    /// What the judge makes now of pages of which `before` knows another verdict.
    pub(crate) fn changed_since(&self, before: &HashMap<UrlId, bool>) -> Vec<(UrlId, Verdict)> {
        let judge = self.parts.judge.read().unwrap_or_else(PoisonError::into_inner);
        let pages = self.judging.roll.judged.iter().enumerate();
        let changed = pages.filter(|(_, j)| before.get(&j.id).is_some_and(|b| *b != j.relevant));
        changed.filter_map(|(i, j)| Some((j.id, self.judging.roll.verdict(judge.as_ref(), i)?))).collect()
    }

    /// Strategies that learnt from a verdict are told that it was another.
    pub(crate) fn tell_revised(
        &mut self,
        changed: &[(UrlId, Verdict)],
        because: Because,
    ) -> Result<(), Problem> {
        let wants = self.parts.strategy.wants();
        // All at once: of a shared crawl many of them may be in the database only.
        let ids: Vec<UrlId> = changed.iter().map(|c| c.0).collect();
        let ledger = &self.parts.ledger;
        let mut sources = if wants.sources { ledger.all_sources(&ids)? } else { HashMap::new() };
        let mut urls = ledger.urls(&ids)?;
        let mut known = Vec::with_capacity(changed.len());
        for (id, verdict) in changed {
            let Some(url) = urls.remove(id) else { continue };
            known.push((*id, *verdict, url, sources.remove(id).unwrap_or_default()));
        }
        let pages: Vec<Revised> = known
            .iter()
            .map(|(id, verdict, url, sources)| Revised { id: *id, url, verdict: *verdict, sources, because })
            .collect();
        if !pages.is_empty()
            && let Some(model) = self.parts.strategy.model()
        {
            model.revise(&pages);
        }
        Ok(())
    }

    pub(crate) fn remembers_pages(&self) -> bool {
        self.parts.judge.read().unwrap_or_else(PoisonError::into_inner).needs().pages
    }
}

/// The judge's verdict after what rules a page out whatever its score, and after the noise of a backtest.
pub(crate) fn final_verdict(mut v: Verdict, barred: bool, turned: bool) -> Verdict {
    v.relevant &= !barred;
    if turned {
        v.relevant = !v.relevant;
        // The soft score must not give the truth away: it moves to the other side of the threshold.
        v.relevance = if v.relevant { (v.threshold + 1.0) / 2.0 } else { v.threshold / 2.0 };
    }
    v
}

impl JudgedPage {
    /// The judge's verdict on this page, after all that counts beside it. A judge that learns has weighed
    /// what a model said of the page; in place of another's verdict it stands.
    pub(crate) fn verdict(&self, judge: &dyn Judge, v: Verdict) -> Verdict {
        let mut v = final_verdict(v, self.barred, self.turned);
        if let Some(label) = self.label.filter(|l| l.who == Who::Model && !judge.needs().pages) {
            v.relevant = label.relevant;
        }
        v
    }
}
