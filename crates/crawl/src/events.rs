//! What a crawl tells the world while it runs. The progress display, `--json`, the dashboard and the tests
//! all read the same stream.

use crate::outlook::Outlook;
use crate::refresh::Refreshed;
use crate::teacher::Usage;
use crate::timings::StageTime;
use crate::visits::Found;
use serde::Serialize;
use std::collections::BTreeMap;
use types::{Millis, Outcome, UrlId};

/// What happens in a crawl, for people and programs that watch.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    /// The crawl begins, or goes on.
    Started {
        /// What the collection is called.
        name: String,
        /// The collection was there before.
        resumed: bool,
        /// Name of the strategy.
        strategy: String,
        /// Name of the judge.
        judge: String,
        /// URLs to start from.
        seeds: usize,
    },
    /// A page was fetched, judged and recorded.
    Page {
        /// The page.
        id: UrlId,
        /// Its number in order of arrival, from 1.
        n: u64,
        /// Canonical address.
        url: String,
        /// Text of `<title>`.
        title: String,
        /// The judge's score, 0–1.
        score: f64,
        /// The judge's verdict.
        relevant: bool,
        /// Links from the seed.
        depth: u16,
        /// The priority it was fetched with.
        priority: f64,
        /// URLs that were new to the crawl.
        new_links: usize,
        /// When it was recorded.
        at: Millis,
        /// Of its text; 0 = too short to tell. Larger than the numbers of JSON.
        #[serde(skip)]
        simhash: u64,
    },
    /// A URL ended without a page, or will be tried again.
    Miss {
        /// The URL.
        id: UrlId,
        /// Canonical address.
        url: String,
        /// A stable word for counters, such as `timeout` or `http-404`.
        kind: String,
        /// How it ended; `None` when it will be tried again.
        outcome: Option<Outcome>,
        /// When it was recorded.
        at: Millis,
    },
    /// A page that was known was visited again.
    Visit {
        /// The page.
        id: UrlId,
        /// Canonical address.
        url: String,
        /// Of a new version, its title.
        title: String,
        /// What was found.
        found: Found,
        /// HTTP status; 0 without an answer.
        status: u16,
        /// Is it one of the wanted pages?
        relevant: bool,
        /// Words that are new in its own text.
        added: u32,
        /// Words that are gone from its own text.
        removed: u32,
        /// Where it moved to, or why there was no answer.
        note: String,
        /// URLs that were new to the crawl.
        new_links: usize,
        /// Pages that are still to be visited.
        left: u64,
        /// When it was recorded.
        at: Millis,
    },
    /// Verdicts given earlier changed.
    Revised {
        /// How many verdicts changed.
        pages: usize,
        /// Relevant pages now.
        relevant: u64,
        /// Threshold of the judge now.
        threshold: f64,
    },
    /// Of the language model that is asked about pages: what is sent where, and when something is wrong with
    /// it.
    Teacher {
        /// A sentence for people.
        text: String,
    },
    /// Sent every now and then.
    Progress(Box<Progress>),
    /// The crawl ended in order.
    Finished {
        /// Why, for people.
        reason: String,
        /// How it stands at the end.
        progress: Box<Progress>,
    },
}

/// A host that asked for a pause (`Retry-After`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Pause {
    /// Its host key.
    pub host: String,
    /// How long it still is.
    pub seconds: u64,
}

/// The state of a crawl in numbers.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Progress {
    /// Pages fetched, over all runs.
    pub pages: u64,
    /// Relevant pages, over all runs; labels count, and copies count once.
    pub relevant: u64,
    /// URLs that wait.
    pub pending: u64,
    /// Requests that are out.
    pub in_flight: usize,
    /// URLs that ended, whatever the outcome.
    pub settled: u64,
    /// Hosts ever met.
    pub hosts: usize,
    /// Bytes of bodies on the wire, over all runs.
    pub bytes: u64,
    /// Pages per second over the last while.
    pub rate: f64,
    /// Length of this run.
    pub elapsed_ms: u64,
    /// What went wrong, by kind.
    pub errors: BTreeMap<String, u64>,
    /// Links that were not taken, by reason.
    pub refused: BTreeMap<String, u64>,
    /// Why nothing can be fetched right now; empty when something is.
    pub idle: String,
    /// Threshold of the judge.
    pub threshold: f64,
    /// Pages with the payload of an earlier one.
    pub duplicates: u64,
    /// Pages with nearly the text of an earlier one.
    pub near_duplicates: u64,
    /// Relevant pages after every so many pages: `(pages, relevant)`, at most a few hundred points.
    pub curve: Vec<(u64, u64)>,
    /// What is still to be found; `None` = too little is known.
    pub outlook: Option<Outlook>,
    /// URLs that ended without an answer.
    pub unanswered: u64,
    /// The language model that is asked about pages, and what it has cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub teacher: Option<Usage>,
    /// At the end of a crawl that ended because of them: hosts that want a long pause.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pauses: Vec<Pause>,
    /// Where the time of this run went, by stage.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub timings: Vec<StageTime>,
    /// When known pages are visited again: what has come of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refreshed: Option<Refreshed>,
}

impl Progress {
    /// Share of the fetched pages that are relevant.
    pub fn harvest(&self) -> f64 {
        if self.pages == 0 { 0.0 } else { self.relevant as f64 / self.pages as f64 }
    }
}

/// A curve of bounded size: when it gets too long, every other point is dropped and the step doubles.
#[derive(Clone, Debug)]
pub struct Curve {
    step: u64,
    points: Vec<(u64, u64)>,
}

impl Default for Curve {
    fn default() -> Self {
        Curve { step: 1, points: Vec::new() }
    }
}

impl Curve {
    const MOST: usize = 400;

    /// Adds a point; once there are many, only every second one is kept from then on.
    pub fn push(&mut self, pages: u64, relevant: u64) {
        if !pages.is_multiple_of(self.step) {
            return;
        }
        self.points.push((pages, relevant));
        if self.points.len() >= Self::MOST {
            self.step *= 2;
            let step = self.step;
            self.points.retain(|(n, _)| n % step == 0);
        }
    }

    /// `(pages, relevant)`, ascending.
    pub fn points(&self) -> &[(u64, u64)] {
        &self.points
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_stays_small_and_true() {
        let mut c = Curve::default();
        for n in 1..=100_000u64 {
            c.push(n, n / 3);
        }
        assert!(c.points().len() < Curve::MOST);
        assert!(c.points().len() > Curve::MOST / 4);
        assert!(c.points().iter().all(|&(n, r)| r == n / 3));
    }
}
