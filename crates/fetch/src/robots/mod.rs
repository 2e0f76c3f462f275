//! robots.txt by RFC 9309: what a host lets us fetch.
//!
//! A parser of our own because the crates at hand lack something we need (the best of them drops
//! `Crawl-delay`), and because it is small. Where the RFC leaves room this follows Google's open-source
//! parser, whose public test list is the shape of our case table. Matching is linear in the length of the
//! path for each rule, whatever wildcards the rules have.
//!
//! Of a file only what concerns us is kept: one group's rules, its crawl delay, the first sitemaps.
//! [`Robots::reduced`] writes that down as a small robots.txt, which is what the ledger stores; reading it
//! again gives the same rules.

mod parse;
mod pattern;
mod rules;

use rules::Rules;
use std::fmt::Write;
use std::time::Duration;
use types::Url;

/// robots.txt files are read up to here (RFC 9309 §2.5 asks for at least 500 KiB).
pub const MAX_SIZE: usize = 500 << 10;
/// The first line of a reduced file; the agent follows that it was reduced for.
const REDUCED: &str = "# reduced by gleaner, for ";

/// What one host's robots.txt means for one user agent.
///
/// ```
/// use gleaner_fetch::robots::Robots;
/// let txt = b"User-agent: *\nDisallow: /private/\nCrawl-delay: 2\n";
/// let robots = Robots::from_answer(200, txt, "Gleaner/0.1");
/// let canon = types::Canon::default();
/// assert!(robots.allows(&canon.parse("http://example.org/public").unwrap()));
/// assert!(!robots.allows(&canon.parse("http://example.org/private/x").unwrap()));
/// ```
#[derive(Clone, Debug)]
pub struct Robots {
    access: Access,
    delay: Option<Duration>,
    sitemaps: Vec<String>,
}

#[derive(Clone, Debug)]
enum Access {
    /// The longest matching rule decides.
    Rules(Rules),
    /// There is no robots.txt.
    All,
    /// The server could not say, so we must not.
    Nothing,
}

impl Robots {
    /// From the answer to a robots.txt request (RFC 9309 §2.3.1). `status` 0 = no answer at all.
    ///
    /// 2xx: its rules. 4xx, and redirects that lead nowhere: there is none, everything is allowed. 5xx or no
    /// answer: unreachable, nothing is allowed until it can be had; so too 429, which says "not now", not "no
    /// such file".
    pub fn from_answer(status: u16, body: &[u8], user_agent: &str) -> Robots {
        let access = match status {
            200..=299 => return parse::parse(body.get(..MAX_SIZE).unwrap_or(body), user_agent),
            429 => Access::Nothing,
            300..=499 => Access::All,
            _ => Access::Nothing,
        };
        Robots { access, delay: None, sitemaps: Vec::new() }
    }

    /// May this URL of the host be fetched?
    pub fn allows(&self, url: &Url) -> bool {
        match &self.access {
            Access::All => true,
            // robots.txt itself may always be asked for.
            _ if url.path() == "/robots.txt" => true,
            Access::Nothing => false,
            Access::Rules(rules) => rules.deciding(url).is_none_or(|rule| rule.allow),
        }
    }

    /// The rule that decides about this URL, as text: `Disallow: /private/`. `None` = no rule speaks of it.
    pub fn rule_for(&self, url: &Url) -> Option<String> {
        let Access::Rules(rules) = &self.access else { return None };
        rules.deciding(url).map(|rule| rule.to_string())
    }

    /// What has to be kept of a 2xx answer: a robots.txt with nothing but the rules for `user_agent`.
    pub fn reduced(&self, user_agent: &str) -> Vec<u8> {
        let Access::Rules(rules) = &self.access else { return Vec::new() };
        let mut out = format!("{REDUCED}{}\nUser-agent: *\n", agent(user_agent));
        for rule in rules.iter() {
            let _ = writeln!(out, "{rule}");
        }
        if let Some(delay) = self.delay {
            let _ = writeln!(out, "Crawl-delay: {}", delay.as_secs_f64());
        }
        for url in &self.sitemaps {
            let _ = writeln!(out, "Sitemap: {url}");
        }
        out.into_bytes()
    }

    /// Was this text reduced for another user agent? Then it does not say what the host wants of this one.
    pub fn is_for_another(body: &[u8], user_agent: &str) -> bool {
        let Some(rest) = body.strip_prefix(REDUCED.as_bytes()) else { return false };
        let end = rest.iter().position(|b| *b == b'\n').unwrap_or(rest.len());
        !rest.get(..end).unwrap_or(rest).eq_ignore_ascii_case(agent(user_agent).as_bytes())
    }

    /// Bytes of memory that this takes.
    pub fn size(&self) -> usize {
        let rules = match &self.access {
            Access::Rules(rules) => rules.size(),
            Access::All | Access::Nothing => 0,
        };
        let sitemaps: usize = self.sitemaps.iter().map(|s| s.capacity() + size_of::<String>()).sum();
        size_of::<Robots>() + rules + sitemaps
    }

    /// Seconds between requests that the host asks for.
    pub fn crawl_delay(&self) -> Option<Duration> {
        self.delay
    }

    /// Sitemaps named in the file, as written.
    pub fn sitemaps(&self) -> Vec<String> {
        self.sitemaps.clone()
    }

    /// How long this may be relied on: a day at most (RFC 9309 §2.4), less when the host could not say.
    pub fn keep_for(&self) -> Duration {
        match self.access {
            Access::Nothing => Duration::from_secs(15 * 60),
            Access::All | Access::Rules(_) => Duration::from_secs(24 * 3600),
        }
    }
}

/// The product token of a user agent.
fn agent(user_agent: &str) -> String {
    String::from_utf8_lossy(parse::product(user_agent.as_bytes())).into_owned()
}

#[cfg(test)]
mod tests;
