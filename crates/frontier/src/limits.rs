//! How polite and how far: the knobs of the frontier, with their defaults.

use std::fmt;

/// Caps, clocks and guards. Decisions read them; what is in the ledger never depends on them, so they may
/// change between two runs of one crawl.
#[derive(Clone, Debug, PartialEq)]
pub struct Limits {
    /// Pause between two requests to one host, from the end of one to the start of the next.
    pub delay_ms: u64,
    /// A `Crawl-delay` longer than this counts as this.
    pub max_delay_ms: u64,
    /// Requests to one host at the same time.
    pub per_host_in_flight: u32,
    /// Requests to one address at the same time, over all hosts that share it. `None` = no such limit.
    pub per_ip_in_flight: Option<u32>,
    /// Pause between two requests to one address; needs `per_ip_in_flight`.
    pub per_ip_delay_ms: u64,
    /// First pause after a failure; doubles with each further one.
    pub backoff_ms: u64,
    /// Longest pause after failures.
    pub max_backoff_ms: u64,
    /// Failures in a row after which a host is given up.
    pub host_failures: u32,
    /// How long a host that was given up gets no new URLs.
    pub closed_ms: u64,
    /// Pages fetched of one host; then its other URLs are dropped.
    pub pages_per_host: Option<u64>,
    /// Hosts of one registrable domain: a wildcard in the DNS can make them for ever.
    pub hosts_per_domain: Option<u32>,
    /// Links from the seed.
    pub depth: Option<u16>,
    /// Links since the host was entered.
    pub site_depth: Option<u16>,
    /// Links followed of one page, the first ones in page order.
    pub links_per_page: Option<u32>,
    /// Bytes of a URL.
    pub url_length: usize,
    /// Tries of one URL, and of one host's robots.txt.
    pub max_attempts: u8,
    /// A lease not settled after this long returns.
    pub lease_ms: u64,
    /// How often one path segment may occur in a path (`/a/b/a/b/a/b`).
    pub path_repeat: Option<u32>,
    /// Different queries of one host and path.
    pub query_variants: Option<u32>,
    /// Date pages of one host's calendars.
    pub calendar_pages: Option<u32>,
    /// Nothing with a lower key is leased.
    pub floor: Option<f64>,
    /// Rather wait for a better URL than fetch a poor one.
    pub patience: Option<Patience>,
    /// Ask for robots.txt before anything else of a host.
    pub use_robots: bool,
    /// More pending URLs than this: the worst tenth is dropped.
    pub max_pending: Option<u64>,
    /// How the requests in flight are shared out. `None` where nobody can hang: in a backtest.
    pub shares: Option<Shares>,
}

/// Nobody gets all requests: a domain whose hosts hang must not stop the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shares {
    /// Requests in flight, over all hosts.
    pub slots: u32,
    /// Of those, how many one registrable domain may have. While few domains have anything to fetch, each may
    /// have its equal part of the slots, so that none lies idle.
    pub per_domain: u32,
    /// Of those, how many are kept free for hosts that are quick (at most one per such host).
    pub for_quick: u32,
    /// A host whose last answer took no longer than this is quick.
    pub quick_ms: u64,
}

/// If the best that could be fetched now is worth less than `share` of the best URL of a host that becomes
/// free within `wait_ms` (or is in a lower lane), nothing is leased until then. A host with a request in
/// flight counts as free one delay from now. Keys of 0 and less are never waited for: strategies that only
/// number their URLs (breadth-first) use them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Patience {
    /// Milliseconds; the longest wait for a better URL.
    pub wait_ms: u64,
    /// 0–1.
    pub share: f64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            delay_ms: 1_000,
            max_delay_ms: 30_000,
            per_host_in_flight: 1,
            per_ip_in_flight: None,
            per_ip_delay_ms: 0,
            backoff_ms: 2_000,
            max_backoff_ms: 600_000,
            host_failures: 10,
            closed_ms: 24 * 3_600_000,
            pages_per_host: None,
            hosts_per_domain: Some(2_000),
            depth: None,
            site_depth: None,
            links_per_page: Some(5_000),
            url_length: 2_000,
            max_attempts: 3,
            lease_ms: 300_000,
            path_repeat: Some(3),
            query_variants: Some(500),
            calendar_pages: Some(200),
            floor: None,
            patience: None,
            use_robots: true,
            max_pending: None,
            shares: None,
        }
    }
}

impl Limits {
    /// No cap, no delay, no robots: strategies compared in themselves, on a recorded web.
    pub fn none() -> Limits {
        Limits {
            delay_ms: 0,
            max_delay_ms: 0,
            per_host_in_flight: u32::MAX,
            backoff_ms: 0,
            max_backoff_ms: 0,
            host_failures: u32::MAX,
            hosts_per_domain: None,
            links_per_page: None,
            url_length: 8_000,
            lease_ms: u64::MAX,
            path_repeat: None,
            query_variants: None,
            calendar_pages: None,
            use_robots: false,
            ..Limits::default()
        }
    }
}

/// Why a URL was not admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Refusal {
    /// More links from its seed than `depth` allows.
    Depth,
    /// More links since its host was entered than `site_depth` allows.
    SiteDepth,
    /// The page had its `links_per_page` already.
    LinksPerPage,
    /// Longer than `url_length` bytes.
    UrlLength,
    /// A part of its path occurs more than `path_repeat` times.
    PathRepeat,
    /// The path has `query_variants` different queries already.
    QueryVariants,
    /// The host has `calendar_pages` pages with a date in their URL already.
    Calendar,
    /// A new host of a domain that has too many already.
    HostsPerDomain,
    /// The host has had its pages.
    HostFull,
    /// The host was given up: unreachable, or its robots.txt could not be had.
    HostClosed,
    /// There are no more ids (four billion URLs).
    Full,
}

impl Refusal {
    /// In the order in which reports list them.
    pub const ALL: [Refusal; 11] = [
        Refusal::Depth,
        Refusal::SiteDepth,
        Refusal::LinksPerPage,
        Refusal::UrlLength,
        Refusal::PathRepeat,
        Refusal::QueryVariants,
        Refusal::Calendar,
        Refusal::HostsPerDomain,
        Refusal::HostFull,
        Refusal::HostClosed,
        Refusal::Full,
    ];

    /// A short, stable name for counters.
    pub fn name(self) -> &'static str {
        match self {
            Refusal::Depth => "depth",
            Refusal::SiteDepth => "site-depth",
            Refusal::LinksPerPage => "links-per-page",
            Refusal::UrlLength => "url-length",
            Refusal::PathRepeat => "path-repeat",
            Refusal::QueryVariants => "query-variants",
            Refusal::Calendar => "calendar",
            Refusal::HostsPerDomain => "hosts-per-domain",
            Refusal::HostFull => "host-full",
            Refusal::HostClosed => "host-closed",
            Refusal::Full => "full",
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_refusal_is_listed_in_its_place() {
        for (i, r) in Refusal::ALL.into_iter().enumerate() {
            assert_eq!(r as usize, i, "{r}");
        }
    }
}
