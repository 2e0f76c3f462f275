//! Every mechanism of `adaptive` can be switched off, so that its worth can be measured.

use super::model::Rates;
use super::tally::Kind;
use serde::Deserialize;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Options {
    /// Learn weights (off: the prior alone, with running statistics).
    pub learn: bool,
    /// The second head: similarity as a surrogate reward while relevant pages are few.
    pub similar: bool,
    /// The prior weights of the dense features.
    pub prior: bool,
    // Hashed features.
    pub anchor: bool,
    pub pairs: bool,
    pub url: bool,
    pub context: bool,
    pub offsets: bool,
    pub heading: bool,
    pub title: bool,
    pub tags: bool,
    pub place: bool,
    // Statistics of groups.
    pub host: bool,
    pub directory: bool,
    pub tag_path: bool,
    pub host_path: bool,
    pub shape: bool,
    pub siblings: bool,
    pub near: bool,
    pub list: bool,
    /// Weight of the bonus for hosts of which little is known.
    pub host_bonus: f64,
    /// Relevant pages after which the second head counts half.
    pub beta: f64,
    /// How the sightings of one URL are combined: their best, their mean, or as independent chances.
    pub sources: Combine,
    /// Learn from fetches that brought no page.
    pub misses: bool,
    /// Learn from the judge's soft score, not only its verdict.
    pub soft: f64,
    /// All pending links are scored again every so many pages.
    pub refresh: u64,
    /// So many of the best are scored again before each fetch.
    pub lookahead: usize,
    pub step: f64,
    pub dense_step: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Combine {
    Max,
    Mean,
    NoisyOr,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            learn: true,
            similar: true,
            prior: true,
            anchor: true,
            pairs: true,
            url: true,
            context: true,
            offsets: true,
            heading: true,
            title: true,
            tags: true,
            place: true,
            host: true,
            directory: true,
            tag_path: true,
            host_path: true,
            shape: true,
            siblings: true,
            near: true,
            list: true,
            host_bonus: 0.1,
            beta: 10.0,
            sources: Combine::Max,
            misses: true,
            soft: 0.0,
            refresh: 64,
            lookahead: 16,
            step: 0.3,
            dense_step: 0.15,
        }
    }
}

impl Options {
    pub fn rates(&self) -> Rates {
        Rates {
            step: self.step as f32,
            damp: 0.1,
            dense_step: self.dense_step as f32,
            dense_damp: 0.5,
            dense_l2: 0.002,
        }
    }

    pub fn counts(&self, kind: Kind) -> bool {
        match kind {
            Kind::Host => self.host,
            Kind::Directory => self.directory,
            Kind::TagPath => self.tag_path,
            Kind::HostPath => self.host_path,
            Kind::Shape => self.shape,
            Kind::Siblings => self.siblings,
            Kind::Near => self.near,
            Kind::List => self.list,
        }
    }
}

impl Options {
    pub fn check(&self) -> Result<(), types::Problem> {
        let finite = [self.host_bonus, self.beta, self.soft, self.step, self.dense_step];
        if finite.iter().any(|v| !(0.0..=1000.0).contains(v)) {
            return Err(types::Problem::usage("an option of strategy `adaptive` is out of range")
                .hint("host_bonus, beta, soft, step and dense_step are numbers from 0 up"));
        }
        Ok(())
    }
}
