//! Judges decide whether a page is what the user wants. One file each; everything that needs the list reads `ALL`.

use crate::text::Doc;
use types::{Assessment, Problem, Verdict};

/// Decides a page's relevance, in two steps: `assess` measures (pure, parallel), `decide` applies what is known so
/// far (serial, versioned). A verdict can be revised later from its assessment, without the page.
pub trait Judge: Send + Sync {
    fn assess(&self, doc: &Doc) -> Assessment;

    fn decide(&self, assessment: &Assessment) -> Verdict;

    /// Told of every assessment in arrival order (`label`: what the user said of the page, if anything). Returns true
    /// when earlier decisions may have changed: then `decide` is asked again for all of them.
    fn observe(&mut self, _assessment: &Assessment, _label: Option<bool>) -> bool {
        false
    }

    /// State to be kept with the collection (an automatic threshold, online idf), and back.
    fn save(&self) -> Option<Vec<u8>> {
        None
    }
    fn load(&mut self, _bytes: &[u8]) -> Result<(), Problem> {
        Ok(())
    }
}
