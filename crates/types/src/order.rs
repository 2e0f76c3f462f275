use crate::{Millis, Record, StateKey, Url, Verdict};
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::net::IpAddr;

/// A URL of one collection: dense, in order of discovery, never reused. First found = smallest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct UrlId(pub u32);

/// Orders the frontier: higher lane first, then higher key, then first found first.
///
/// FIFO (all keys equal), LIFO (key = a counter), sums above 1, layers (lanes) and bonuses all fit. The key
/// is never NaN.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Priority {
    /// Every URL of a higher lane goes before every URL of a lower one.
    pub lane: u8,
    key: f64,
}

impl Priority {
    /// Nothing comes after it.
    pub const LOWEST: Priority = Priority { lane: 0, key: f64::NEG_INFINITY };
    /// A lane above what strategies use: what the user wants first.
    pub const BOOSTED: u8 = 240;
    /// A lane above all others: pages that are visited again, and where they moved to.
    pub const REVISIT: u8 = 250;

    /// NaN, which no strategy should produce, is the lowest key rather than a poisoned order.
    pub fn new(lane: u8, key: f64) -> Priority {
        let key = if key.is_nan() { f64::NEG_INFINITY } else { key + 0.0 };
        Priority { lane, key }
    }
    /// Lane 0.
    pub fn key_only(key: f64) -> Priority {
        Priority::new(0, key)
    }
    /// The number that orders URLs of one lane; never NaN.
    pub fn key(self) -> f64 {
        self.key
    }
}

impl Eq for Priority {}
impl Ord for Priority {
    fn cmp(&self, other: &Self) -> Ordering {
        self.lane.cmp(&other.lane).then_with(|| self.key.total_cmp(&other.key))
    }
}
impl PartialOrd for Priority {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// How a URL was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub enum LinkKind {
    /// `<a href>`.
    #[default]
    Anchor,
    /// `<area href>` of an image map.
    Area,
    /// The source of a frame or inline frame.
    Frame,
    /// The target of `<meta http-equiv=refresh>`.
    Refresh,
    /// `<link rel=canonical>` names it as the page's own address.
    Canonical,
    /// A 3xx answer led here.
    Redirect,
    /// A sitemap lists it, or robots.txt names it as a sitemap.
    Sitemap,
    /// An entry of an RSS or Atom feed, or the feed that a page names.
    Feed,
    /// The user gave it.
    Seed,
}

/// What a lease asks to be fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub enum Task {
    /// The URL itself.
    #[default]
    Page,
    /// The host's robots.txt, before anything else of it.
    Robots,
}

/// A URL offered to the frontier: a scored sighting.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// Canonical address.
    pub url: Url,
    /// The page it stands on; `None` for seeds.
    pub parent: Option<UrlId>,
    /// How that page refers to it.
    pub kind: LinkKind,
    /// Links from the seed.
    pub depth: u16,
    /// Links since the host was entered.
    pub site_depth: u16,
    /// Redirects followed to get here; of a sitemap file, how many sitemaps led to it, itself included.
    pub hops: u8,
    /// The strategy's score.
    pub priority: Priority,
    /// Opaque, versioned bytes of the strategy (at most 1 KB), enough to score again under a newer model.
    pub evidence: Vec<u8>,
    /// Version of the model that scored it.
    pub model: u32,
    /// Steps (leases) after which the frontier forgets it, if still pending; a forgotten URL may be found
    /// again.
    pub ttl: Option<u32>,
    /// The anchor text, shortened, for people.
    pub anchor: Box<str>,
}

/// What is known of a link's target before the link is scored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Target {
    /// Nothing.
    #[default]
    New,
    /// It was sighted before and may be fetched one day.
    Open,
    /// It was fetched, or will not be: what a link to it is worth changes nothing.
    Closed,
}

/// One sighting of a URL, as the frontier remembers it.
#[derive(Clone, Debug, PartialEq)]
pub struct Source {
    /// The page it was seen on; `None` for seeds.
    pub parent: Option<UrlId>,
    /// How that page refers to it.
    pub kind: LinkKind,
    /// The strategy's score of this sighting.
    pub priority: Priority,
    /// The strategy's bytes, as in [`Candidate::evidence`].
    pub evidence: Vec<u8>,
    /// The anchor text, shortened, for people.
    pub anchor: Box<str>,
}

/// The right to fetch one URL now.
#[derive(Clone, Debug)]
pub struct Lease {
    /// Number of the leased URL. A robots lease has that of the page that waits for it.
    pub id: UrlId,
    /// Counts leases; with the finish time it orders arrivals.
    pub number: u64,
    /// What to fetch: the page, or its host's robots.txt.
    pub url: Url,
    /// Whether it is a page or robots.txt.
    pub task: Task,
    /// How the URL was found.
    pub kind: LinkKind,
    /// The page it was found on; `None` for seeds.
    pub parent: Option<UrlId>,
    /// Links from the seed.
    pub depth: u16,
    /// Links since the host was entered.
    pub site_depth: u16,
    /// As in [`Candidate::hops`].
    pub hops: u8,
    /// 0 at the first try.
    pub attempt: u8,
    /// The priority it was chosen by.
    pub priority: Priority,
    /// Evidence of the sighting with the best priority.
    pub evidence: Vec<u8>,
    /// When the frontier takes the lease back, unless it is settled first.
    pub expires: Millis,
    /// It was fetched before; this is what to ask with whether it changed. `None`: the first visit.
    pub revisit: Option<Version>,
}

/// Which version of a page is known, for asking whether it changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Version {
    /// `ETag` of its answer.
    pub etag: Option<String>,
    /// `Last-Modified` of its answer.
    pub last_modified: Option<String>,
    /// SHA-1 of its payload, lower-case hex.
    pub digest: String,
}

/// How a URL ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Outcome {
    /// Answered with a page that was read and judged.
    Fetched,
    /// Answered with a redirect; its target became a URL of its own.
    Redirected,
    /// 4xx/5xx that will not be tried again.
    HttpError(u16),
    /// No answer after all retries.
    Unreachable,
    /// robots.txt forbids it, or could not be had.
    RobotsDenied,
    /// A type we do not want.
    Unwanted,
    /// Refused by the SSRF guard, or not fetchable at all.
    Refused,
    /// Out of scope (found after admission, e.g. settings changed on resume).
    OutOfScope,
    /// Forgotten: time-to-live over, or a cap reached.
    Dropped,
    /// A document that cannot be read within the limits on time and memory.
    Unreadable,
    /// Given up: the crawler died while it read this page, twice.
    Crashed,
    /// A document that only a password opens.
    Encrypted,
    /// A document whose pages are pictures.
    Scanned,
}

impl Outcome {
    /// It ended without a page, and leads to none.
    pub fn is_failure(self) -> bool {
        !matches!(self, Outcome::Fetched | Outcome::Redirected)
    }

    /// Nobody answered: that says nothing of the page. It may be asked for again when the user wants it.
    pub fn is_no_answer(self) -> bool {
        matches!(self, Outcome::Unreachable | Outcome::Refused)
    }
}

/// Which of two URLs with the same priority goes first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ties {
    /// The one that was found first.
    #[default]
    First,
    /// The one that was found last.
    Last,
    /// Either, by chance; the number makes it repeatable.
    Random(u32),
}

impl Ties {
    /// The place of URL number `id` among its equals: the lowest goes first. No two have the same.
    pub fn place(self, id: u32) -> u32 {
        match self {
            Ties::First => id,
            Ties::Last => !id,
            Ties::Random(seed) => mix(id ^ seed),
        }
    }

    /// The URL at this place.
    pub fn url(self, place: u32) -> u32 {
        match self {
            Ties::First => place,
            Ties::Last => !place,
            Ties::Random(seed) => unmix(place) ^ seed,
        }
    }
}

/// Shuffles all numbers: every one comes out once.
fn mix(mut x: u32) -> u32 {
    x ^= x >> 16;
    x = x.wrapping_mul(0x7feb_352d);
    x ^= x >> 15;
    x = x.wrapping_mul(0x846c_a68b);
    x ^ (x >> 16)
}

/// Takes [`mix`] back: each step by its inverse.
fn unmix(mut x: u32) -> u32 {
    x ^= x >> 16;
    x = x.wrapping_mul(0x4302_1123);
    x ^= (x >> 15) ^ (x >> 30);
    x = x.wrapping_mul(0x1d69_e2a5);
    x ^ (x >> 16)
}

/// What a robots.txt request brought, to be kept with the host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RobotsAnswer {
    /// HTTP status; 0 when nobody answered.
    pub status: u16,
    /// What concerns us of the body; empty unless 2xx. Ledgers of earlier versions have whole bodies.
    pub body: Vec<u8>,
    /// When the answer came.
    pub fetched: Millis,
    /// When it must be asked for again.
    pub expires: Millis,
}

/// How a lease ends.
#[derive(Clone, Debug)]
pub enum Settle {
    /// The URL is finished and will not be leased again.
    Done {
        /// The leased URL.
        id: UrlId,
        /// How it ended.
        outcome: Outcome,
    },
    /// Goes back to pending, not before the given time. Counts an attempt.
    Retry {
        /// The leased URL.
        id: UrlId,
        /// The earliest time of the next attempt.
        not_before: Millis,
    },
    /// A robots lease: the URL itself stays pending.
    Robots {
        /// The page that waited for the rules.
        id: UrlId,
        /// The rules and how long they hold.
        answer: RobotsAnswer,
    },
    /// Goes back to pending untouched (the loop is stopping).
    Return {
        /// The leased URL.
        id: UrlId,
    },
    /// As `Return`, but it is not leased again before the given time in this run.
    Defer {
        /// The leased URL.
        id: UrlId,
        /// The earliest time of the next lease.
        until: Millis,
    },
    /// A page that was visited again is settled as it was before: nothing of it changed, or nobody knows.
    AsBefore {
        /// The leased URL.
        id: UrlId,
    },
}

impl Settle {
    /// The URL whose lease ends.
    pub fn id(&self) -> UrlId {
        match *self {
            Settle::Done { id, .. }
            | Settle::Retry { id, .. }
            | Settle::Robots { id, .. }
            | Settle::Defer { id, .. }
            | Settle::AsBefore { id }
            | Settle::Return { id } => id,
        }
    }
}

/// What a fetch taught about its host. The frontier turns it into clocks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostUpdate {
    /// Was the host contacted at all? (A URL denied by cached robots rules costs no politeness.)
    pub contacted: bool,
    /// When the last byte came; politeness counts from here.
    pub finished: Millis,
    /// `Crawl-delay` of robots.txt, in milliseconds.
    pub crawl_delay: Option<u64>,
    /// Do not come back before (429/503 with `Retry-After`).
    pub not_before: Option<Millis>,
    /// The host failed (connection, time-out, 5xx, 429): back off. `Some(false)` resets the back-off.
    pub failed: Option<bool>,
    /// The address that answered; hosts of one address share a clock.
    pub ip: Option<IpAddr>,
}

/// A new priority for a pending URL.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rescored {
    /// The pending URL.
    pub id: UrlId,
    /// Replaces the old priority.
    pub priority: Priority,
    /// Version of the model that scored it.
    pub model: u32,
    /// The page that caused it, for `explain`.
    pub cause: Option<UrlId>,
}

/// Everything one visit changes. Applied at once, committed with its batch: all of it or nothing.
#[derive(Clone, Debug)]
pub struct Turn {
    /// How the lease ends.
    pub settle: Settle,
    /// What was learnt about the host.
    pub host: HostUpdate,
    /// Offered to the frontier, in page order.
    pub add: Vec<Candidate>,
    /// New priorities of URLs that wait.
    pub rescore: Vec<Rescored>,
    /// The page, when one was read.
    pub record: Option<Record>,
    /// Verdicts given earlier that changed.
    pub revised: Vec<(UrlId, Verdict)>,
    /// Pieces of state (strategy, judge, counters): `(key, is a change to be appended, bytes)`.
    pub state: Vec<(StateKey, bool, Vec<u8>)>,
}

impl Turn {
    /// A turn that settles a lease and changes nothing else.
    pub fn new(settle: Settle) -> Turn {
        Turn {
            settle,
            host: HostUpdate::default(),
            add: Vec::new(),
            rescore: Vec::new(),
            record: None,
            revised: Vec::new(),
            state: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lane_beats_key_and_nan_is_lowest() {
        assert!(Priority::new(1, 0.0) > Priority::new(0, 9.0));
        assert!(Priority::new(0, 2.0) > Priority::new(0, 1.0));
        assert_eq!(Priority::new(0, f64::NAN), Priority::LOWEST);
        assert_eq!(Priority::key_only(-0.0), Priority::key_only(0.0));
    }

    #[test]
    fn ties_give_every_url_a_place_of_its_own() {
        for ties in [Ties::First, Ties::Last, Ties::Random(0), Ties::Random(7)] {
            let mut places: Vec<u32> =
                (0..5_000).chain(u32::MAX - 5_000..=u32::MAX).map(|id| ties.place(id)).collect();
            assert!((0..5_000).all(|id| ties.url(ties.place(id)) == id), "{ties:?}");
            places.sort_unstable();
            places.dedup();
            assert_eq!(places.len(), 10_001, "{ties:?}");
        }
        assert!(Ties::Last.place(3) < Ties::Last.place(2));
        assert_ne!(Ties::Random(1).place(5), Ties::Random(2).place(5));
    }
}
