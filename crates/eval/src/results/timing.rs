//! `timing.json`: what a backtest took. It differs from run to run.

use serde::{Deserialize, Serialize};

/// What was measured with a clock: differs from run to run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Timing {
    /// The web that was crawled, as the user named it.
    pub web: String,
    /// Crawls that ran at once.
    pub threads: usize,
    /// Wall time of everything.
    pub seconds: f64,
    /// In the order of the results.
    pub runs: Vec<RunTiming>,
}

/// Cost of one run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunTiming {
    /// Name of the topic.
    pub topic: String,
    /// Name of the strategy.
    pub strategy: String,
    /// Number of the draw of the seeds.
    pub rng: u64,
    /// Pages fetched.
    pub pages: usize,
    /// Links scored.
    pub links: usize,
    /// Wall time of this run.
    pub seconds: f64,
    /// Wall time per page, in microseconds.
    pub us_per_page: f64,
    /// Scoring a link when it is found, reading its evidence off the page included.
    pub us_per_link: f64,
    /// The same, 99th percentile.
    #[serde(default)]
    pub us_per_link_p99: f64,
    /// Scoring a pending link again from its evidence.
    #[serde(default)]
    pub us_per_rescore: f64,
    /// The same, 99th percentile.
    #[serde(default)]
    pub us_per_rescore_p99: f64,
    /// How long the crawl would have taken with its pauses and answer times.
    #[serde(default)]
    pub virtual_seconds: f64,
    /// How long until half of the relevant pages were found; `None` when they never were.
    #[serde(default)]
    pub virtual_seconds_50: Option<f64>,
}

impl Timing {
    /// The file's text.
    pub fn json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }
}
