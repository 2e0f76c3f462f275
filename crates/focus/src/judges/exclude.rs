//! `exclude` terms over any judge (Pappas et al. 2012, §III): a page that contains one, as whole words, is
//! not relevant.

use super::{Judge, JudgeSetup, Needs, Reasons};
use crate::text::{Doc, Terms};
use types::{Assessment, Features, Label, Problem, Verdict};

struct Excluding {
    inner: Box<dyn Judge>,
    terms: Terms,
}

/// The judge itself when the topic excludes nothing.
pub(super) fn over(inner: Box<dyn Judge>, setup: &JudgeSetup) -> Box<dyn Judge> {
    let terms = Terms::of("exclude", &setup.topic.exclude, setup.text());
    if terms.is_empty() { inner } else { Box::new(Excluding { inner, terms }) }
}

impl Judge for Excluding {
    fn assess(&self, doc: &Doc) -> Assessment {
        let mut a = self.inner.assess(doc);
        if let Some(term) = self.terms.first_in(&doc.page_words()) {
            a.excluded = Some(self.terms.text(term).to_string());
        }
        a
    }

    fn decide(&self, assessment: &Assessment) -> Verdict {
        let verdict = self.inner.decide(assessment);
        if assessment.excluded.is_some() {
            // Nothing is to be learnt from such a page but that it is not wanted.
            return Verdict { relevant: false, relevance: 0.0, ..verdict };
        }
        verdict
    }

    fn observe(&mut self, assessment: &Assessment, label: Option<Label>) -> bool {
        // A page of the wrong context says nothing about where the line is in the right one.
        if assessment.excluded.is_some() {
            return false;
        }
        self.inner.observe(assessment, label)
    }
    fn save(&self) -> Option<Vec<u8>> {
        self.inner.save()
    }
    fn load(&mut self, bytes: &[u8]) -> Result<(), Problem> {
        self.inner.load(bytes)
    }
    fn explain(&self) -> Option<String> {
        self.inner.explain()
    }
    fn needs(&self) -> Needs {
        self.inner.needs()
    }
    fn decide_shown(&self) -> Vec<(Features, Verdict)> {
        // Pages of the wrong context are not shown to it.
        self.inner.decide_shown()
    }
    fn reasons(&self, assessment: &Assessment, doc: &Doc) -> Option<Reasons> {
        self.inner.reasons(assessment, doc)
    }
    fn trained(&self) -> Option<Vec<u8>> {
        self.inner.trained()
    }
}
