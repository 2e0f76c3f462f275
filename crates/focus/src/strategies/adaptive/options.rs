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
    /// A host that gave all that was found keeps e to the minus this of its links' value.
    pub crowd: f64,
    /// Relevant pages after which the second head counts half.
    pub beta: f64,
    /// How the sightings of one URL are combined: their best, their mean, or as independent chances.
    pub sources: Combine,
    /// Learn from fetches that brought no page.
    pub misses: bool,
    /// How much of the first head's target is the soft score, raised to `power`, and how much the verdict.
    pub soft: f64,
    pub power: f64,
    /// Least weight of the second head, however many relevant pages are known.
    pub floor: f64,
    /// Factors of the prior weights: of the page the link stands on, of words, of groups.
    pub page_prior: f64,
    pub word_prior: f64,
    pub group_prior: f64,
    /// All pending links are scored again every so many pages.
    pub refresh: u64,
    /// So many of the best are scored again before each fetch.
    pub lookahead: usize,
    pub step: f64,
    pub dense_step: f64,
    /// Step of the overall level, which is learnt before and faster than anything else.
    pub level: f64,
    /// How much a link's worth as a way to others counts beside its own chance.
    pub ahead: f64,
    /// How much of that worth is in turn its links' worth as a way to others.
    pub far: f64,
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
            host_bonus: 0.2,
            crowd: 7.0,
            beta: 10.0,
            sources: Combine::Max,
            misses: false,
            soft: 0.5,
            power: 2.0,
            floor: 0.0,
            page_prior: 1.0,
            word_prior: 1.0,
            group_prior: 1.0,
            refresh: 64,
            lookahead: 16,
            step: 0.3,
            dense_step: 0.15,
            level: 0.5,
            ahead: 0.5,
            far: 0.5,
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
            level: self.level as f32,
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
        let finite = [
            self.host_bonus,
            self.crowd,
            self.beta,
            self.soft,
            self.power,
            self.floor,
            self.page_prior,
            self.word_prior,
            self.group_prior,
            self.step,
            self.ahead,
            self.far,
            self.dense_step,
        ];
        if finite.iter().any(|v| !(0.0..=1000.0).contains(v)) {
            return Err(types::Problem::usage("an option of strategy `adaptive` is out of range")
                .hint("host_bonus, beta, soft, step and dense_step are numbers from 0 up"));
        }
        Ok(())
    }
}
