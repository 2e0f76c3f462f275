//! What the program uses, made from what the user wrote: settings of the fetcher, limits of the frontier,
//! rules of the loop.

use super::Collection;
use crate::config::{Config, Fetch};
use crate::documents::{DocumentLimits, Documents};
use crate::listings::ListingLimits;
use crate::rules::Rules;
use fetch::{ResolveRule, Settings};
use frontier::{Limits, Patience, Shares};
use std::time::Duration;
use types::{Canon, Format, Formats, LinkKind, PageKind, Problem, Url};

/// How long a crawl that has to stop waits for the pages that are being read.
const GRACE: Duration = Duration::from_secs(4);

impl Collection {
    /// How the collection spells URLs.
    pub fn canon(config: &Config) -> Canon {
        let mut canon = Canon::default();
        canon.drop_params.extend(config.scope.drop_params.iter().map(|p| p.to_lowercase()));
        canon
    }

    /// What the fetcher needs to know.
    pub fn fetch_settings(config: &Config) -> Result<Settings, Problem> {
        let f = &config.fetch;
        let resolve = f.resolve.iter().map(|r| r.parse::<ResolveRule>()).collect::<Result<Vec<_>, _>>()?;
        let defaults = Settings::default();
        Ok(Settings {
            user_agent: f.user_agent.clone().unwrap_or(defaults.user_agent.clone()),
            contact: f.contact.clone(),
            timeout: f.timeout.0,
            connect_timeout: f.connect_timeout.0,
            min_rate: f.min_rate.0,
            max_body: usize::try_from(config.limits.page_size.0).unwrap_or(usize::MAX),
            allow_private: f.allow_private,
            proxies: crate::logins::proxies(f)?,
            logins: crate::logins::logins(f)?,
            cookie_lines: crate::logins::cookies(f)?,
            resolve,
            languages: f.languages.clone(),
            cookies: f.cookies,
            accept: accept(Formats::named(&config.scope.documents)?),
            max_idle: defaults.max_idle.max(f.concurrency),
            max_idle_per_origin: defaults.max_idle_per_origin.max(f.per_host_in_flight as usize),
            ..defaults
        })
    }

    /// A polite crawl's limits.
    pub fn limits(config: &Config) -> Limits {
        let (l, f) = (&config.limits, &config.fetch);
        let ms = |d: Duration| d.as_millis() as u64;
        Limits {
            delay_ms: ms(f.delay.0),
            max_delay_ms: ms(f.max_delay.0).max(ms(f.delay.0)),
            per_host_in_flight: f.per_host_in_flight,
            per_ip_in_flight: Some(f.per_address_in_flight.unwrap_or(2).max(f.per_host_in_flight)),
            per_ip_delay_ms: 0,
            pages_per_host: l.per_host,
            depth: l.depth,
            site_depth: l.site_depth,
            max_attempts: f.attempts,
            query_variants: Some(l.query_variants),
            floor: l.floor,
            patience: (!l.patience.0.is_zero())
                .then_some(Patience { wait_ms: ms(l.patience.0), share: l.patience_share }),
            use_robots: f.robots,
            max_pending: l.max_pending,
            shares: Some(shares(f)),
            // As long as an answer takes, and documents that wait for one another to be read.
            lease_ms: 2 * ms(f.timeout.0)
                + 60_000
                + ms(l.document_time.0) * (f.concurrency / l.document_readers.max(1) + 1) as u64
                + ms(l.render_time.0) * (f.concurrency / l.render_tabs.max(1) + 1) as u64,
            ..Limits::default()
        }
    }

    /// Who reads documents, within the limits of the settings.
    pub fn documents(config: &Config) -> Documents {
        let l = &config.limits;
        Documents::new(DocumentLimits {
            time: l.document_time.0,
            memory: l.document_memory.0,
            readers: l.document_readers,
        })
    }

    /// Does the crawl end after so many pages?
    pub(crate) fn has_budget(config: &Config) -> bool {
        config.limits.pages.is_some() || config.limits.relevant.is_some()
    }

    /// The sitemaps and feeds that a topic begins with.
    pub fn listings(config: &Config, canon: &Canon) -> Result<Vec<(Url, LinkKind)>, Problem> {
        let seeds = &config.seeds;
        let sitemaps = seeds.sitemaps.iter().map(|text| ("sitemaps", text, LinkKind::Sitemap));
        let feeds = seeds.feeds.iter().map(|text| ("feeds", text, LinkKind::Feed));
        let parse = |(key, text, kind): (&str, &String, LinkKind)| match canon.parse_typed(text) {
            Ok(url) => Ok((url, kind)),
            Err(e) => Err(Problem::usage(format!("[seeds] {key}: `{text}`: {e}"))
                .hint("these are whole addresses, as in https://www.example.org/sitemap.xml")),
        };
        sitemaps.chain(feeds).map(parse).collect()
    }

    /// What the loop needs to know. `rng` is the seed of all chance.
    pub fn rules(config: &Config, rng: u64) -> Rules {
        let (l, f) = (&config.limits, &config.fetch);
        Rules {
            pages: l.pages,
            relevant: l.relevant,
            requests: l.most_requests(),
            time: l.time.map(|t| t.0),
            disk: l.disk.map(|most| most.0),
            disk_free: l.disk_free.0,
            redirects: l.redirects,
            links_per_page: l.links_per_page,
            expand_min: l.expand_min,
            obey_nofollow: f.nofollow,
            use_sitemaps: f.sitemaps && !config.seeds.only,
            listed_only: config.seeds.only,
            listings: ListingLimits {
                files: l.sitemaps,
                nesting: l.sitemap_nesting,
                bytes: l.sitemap_bytes.0,
                urls: l.sitemap_urls,
                share: l.sitemap_share,
            },
            attempts: f.attempts,
            concurrency: f.concurrency,
            // Addresses that the user made up say nothing about who shares a server; nor does a proxy's.
            group_by_ip: f.resolve.is_empty() && f.proxy.0.is_empty(),
            watch_network: true,
            grace: Some(GRACE),
            // Pauses that the user chose are waited for.
            max_wait: Some(l.max_wait.0.max(f.delay.0).max(f.max_delay.0)),
            only_relevant_archived: config.archive.only_relevant,
            keep: true,
            noise: 0.0,
            user_agent: f.user_agent.clone().unwrap_or_else(|| Settings::default().user_agent),
            rng,
            sweep_above: Some(20_000),
        }
    }
}

/// How the requests in flight are shared out.
pub(super) fn shares(f: &Fetch) -> Shares {
    let slots = u32::try_from(f.concurrency).unwrap_or(u32::MAX);
    Shares {
        slots,
        per_domain: f.per_domain_in_flight.unwrap_or((slots / 4).max(8)),
        for_quick: (f64::from(slots) * f.quick_share) as u32,
        quick_ms: f.quick.0.as_millis() as u64,
    }
}

/// The media types of pages, and of the documents that are wanted. Text is asked for in any case: lists of
/// URLs are.
pub(super) fn accept(documents: Formats) -> Vec<String> {
    let wanted = |media: &String| {
        Format::of_media_type(media).is_none_or(|f| f.kind == PageKind::Text || documents.has(f.kind))
    };
    Settings::default().accept.into_iter().filter(wanted).collect()
}
