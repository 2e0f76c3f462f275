//! What most judges have of their own: a number per page. [`super::Thresholded`] makes a judge of it.

use super::Needs;
use crate::text::Doc;
use types::{Assessment, Problem};

/// Measures how much a page is like the wanted ones.
pub trait Measure: Send + Sync {
    /// Measures a page. Pure: many threads call it at once.
    fn assess(&self, doc: &Doc) -> Assessment;

    /// The score of an assessment under what is known now; differs from `assessment.score` when weights are
    /// learnt during the crawl.
    fn relevance(&self, assessment: &Assessment) -> f64 {
        assessment.score
    }

    /// Where the line usually is on this measure's scale, for `threshold = "auto"`.
    fn usual(&self) -> f64 {
        0.5
    }

    /// The scores of the user's example pages as if the topic's terms had not been taken from them; `None`
    /// when this measure cannot tell.
    fn held_out(&self, _examples: &[&Doc]) -> Option<Vec<f64>> {
        None
    }

    /// Told of every page in arrival order. True when `relevance` of earlier pages has changed enough to
    /// matter.
    fn observe(&mut self, _assessment: &Assessment) -> bool {
        false
    }

    /// How it was made, when that was not by the user ("RBF kernel, γ = …"), for reports.
    fn explain(&self) -> Option<String> {
        None
    }

    /// See [`super::Judge::needs`].
    fn needs(&self) -> Needs {
        Needs::default()
    }

    /// See [`super::Judge::trained`].
    fn trained(&self) -> Option<Vec<u8>> {
        None
    }

    /// State to be kept with the collection; empty when there is none.
    fn save(&self) -> Vec<u8> {
        Vec::new()
    }
    /// Takes back what `save` gave.
    fn load(&mut self, _bytes: &[u8]) -> Result<(), Problem> {
        Ok(())
    }
}
