//! The rules of a crawl (budgets, redirects, pauses), what its driver should do next ([`Step`]), and why it
//! ended ([`Stop`]).

use crate::listings::ListingLimits;
use std::time::Duration;
use types::{Lease, Millis};

/// Settings of the loop itself; the rest belongs to the parts.
#[derive(Clone, Debug)]
pub struct Rules {
    /// The crawl ends after this many pages.
    pub pages: Option<u64>,
    /// The crawl ends after this many relevant pages.
    pub relevant: Option<u64>,
    /// Requests of any kind: pages, robots.txt, sitemaps, redirects, errors.
    pub requests: Option<u64>,
    /// The run ends after this long.
    pub time: Option<Duration>,
    /// The run ends before the collection's folder takes more bytes.
    pub disk: Option<u64>,
    /// The run ends while so many bytes of the disk are free.
    pub disk_free: u64,
    /// Redirects in a row that are followed.
    pub redirects: u8,
    /// Links of one page that are followed, best first.
    pub links_per_page: usize,
    /// Links of pages with a lower relevance are not followed.
    pub expand_min: f64,
    /// Leave out links and pages marked `nofollow`.
    pub obey_nofollow: bool,
    /// Fetch the sitemaps that robots.txt names.
    pub use_sitemaps: bool,
    /// Follow no links but those of sitemaps and feeds.
    pub listed_only: bool,
    /// What sitemaps and feeds may cost.
    pub listings: ListingLimits,
    /// Tries per URL.
    pub attempts: u8,
    /// Requests at once.
    pub concurrency: usize,
    /// Group hosts by the address that answered (off when addresses are made up by `--resolve`).
    pub group_by_ip: bool,
    /// When no host answers any more, wait for the network.
    pub watch_network: bool,
    /// How long a crawl that has to stop waits for what is in flight (`None`: for all of it).
    pub grace: Option<Duration>,
    /// When nothing can be fetched for longer than this, the crawl ends; `None` = it waits.
    pub max_wait: Option<Duration>,
    /// Archive relevant pages only.
    pub only_relevant_archived: bool,
    /// Keep records and learnt state in the ledger. Off in a backtest, which is never taken up again.
    pub keep: bool,
    /// Share of verdicts that are turned around, to see how a strategy copes with a poor judge. For
    /// backtests.
    pub noise: f64,
    /// The name that robots.txt rules are looked up by.
    pub user_agent: String,
    /// Seed of all chance in the loop.
    pub rng: u64,
    /// With more pending URLs than this, a new model is applied to them in the background (`None`: always at
    /// once, as order that can be repeated needs it).
    pub sweep_above: Option<u64>,
}

impl Default for Rules {
    fn default() -> Self {
        Rules {
            pages: None,
            relevant: None,
            requests: None,
            time: None,
            disk: None,
            disk_free: 0,
            redirects: 8,
            links_per_page: 500,
            expand_min: 0.0,
            obey_nofollow: true,
            use_sitemaps: true,
            listed_only: false,
            listings: ListingLimits::none(),
            attempts: 3,
            concurrency: 1,
            group_by_ip: false,
            watch_network: false,
            grace: None,
            max_wait: None,
            only_relevant_archived: false,
            keep: true,
            noise: 0.0,
            user_agent: "Gleaner".into(),
            rng: 0,
            sweep_above: None,
        }
    }
}

/// What the driver should do now.
pub enum Step {
    /// Send this request, and hand its answer to `arrived`.
    Fetch(Box<Lease>),
    /// Nothing may be fetched before `until`; an arrival may change that.
    Wait {
        /// When to ask again.
        until: Millis,
        /// Why, for people.
        idle: String,
    },
    /// As much as may be is in flight: wait for an arrival.
    Busy,
    /// It is over but for what is in flight: wait for that, not for long.
    Ending,
    /// It is over and saved.
    Done(Stop),
}

/// Why a crawl ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stop {
    /// Nothing is left to fetch.
    Exhausted,
    /// `limits.pages` is reached.
    Pages,
    /// `limits.relevant` is reached.
    Relevant,
    /// `limits.requests` is reached.
    Requests,
    /// `limits.time` is reached.
    Time,
    /// `limits.disk` is nearly reached.
    Disk,
    /// The disk is nearly full (`limits.disk_free`).
    DiskFull,
    /// The user ended it.
    User,
    /// All that is left is on hosts that asked for a long pause.
    Pauses,
    /// Every page that was to be visited again was.
    Refreshed,
}

impl Stop {
    /// For people.
    pub fn reason(self) -> &'static str {
        match self {
            Stop::Exhausted => "nothing left to fetch",
            Stop::Pages => "page limit reached",
            Stop::Relevant => "limit of relevant pages reached",
            Stop::Requests => "request limit reached ([limits] requests)",
            Stop::Time => "time limit reached",
            Stop::Disk => "disk limit reached",
            Stop::DiskFull => "the disk is nearly full",
            Stop::User => "stopped by the user",
            Stop::Refreshed => "everything was visited again",
            Stop::Pauses => "only hosts that want a long pause are left",
        }
    }
}
