//! What most judges have of their own: a number per page. [`super::Thresholded`] makes a judge of it.

use crate::text::Doc;
use types::{Assessment, Problem};

/// Where the line usually is on the scale of a measure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Usual {
    /// The threshold to begin with, and to lean towards.
    pub prior: f64,
    /// An automatic threshold stays within these.
    pub low: f64,
    pub high: f64,
}

/// Measures how much a page is like the wanted ones.
pub trait Measure: Send + Sync {
    fn assess(&self, doc: &Doc) -> Assessment;

    /// The score of an assessment under what is known now; differs from `assessment.score` when weights are learnt
    /// during the crawl.
    fn relevance(&self, assessment: &Assessment) -> f64 {
        assessment.score
    }

    /// For `threshold = "auto"`.
    fn usual(&self) -> Usual {
        Usual { prior: 0.5, low: 0.1, high: 0.9 }
    }

    /// Told of every page in arrival order. True when `relevance` of earlier pages has changed enough to matter.
    fn observe(&mut self, _assessment: &Assessment) -> bool {
        false
    }

    /// How it was made, when that was not by the user ("RBF kernel, γ = …"), for reports.
    fn explain(&self) -> Option<String> {
        None
    }

    /// See [`super::Judge::by_score`].
    fn by_score(&self) -> bool {
        true
    }

    /// See [`super::Judge::trained`].
    fn trained(&self) -> Option<Vec<u8>> {
        None
    }

    fn save(&self) -> Vec<u8> {
        Vec::new()
    }
    fn load(&mut self, _bytes: &[u8]) -> Result<(), Problem> {
        Ok(())
    }
}
