//! The lines of a robots.txt.

use super::pattern::Pattern;
use super::rules::Rules;
use super::{Access, Robots};
use std::time::Duration;

/// A longer line is cut (Google's limit; browsers' longest URLs fit eight times).
const MAX_LINE: usize = 2083 * 8;
/// Sitemaps that are kept, and their bytes together: the file is the host's own, and may name thousands.
const MAX_SITEMAPS: usize = 100;
const MAX_SITEMAP_BYTES: usize = 16 << 10;
const MAX_DELAY: f64 = 24.0 * 3600.0;

/// What one kind of group (the named one, or `*`) says, over all groups of that kind.
#[derive(Default)]
struct Group {
    /// Some group names it.
    named: bool,
    /// The rules now read belong to it.
    open: bool,
    /// The crawl delay now read belongs to it.
    paced: bool,
    rules: Vec<(bool, Pattern)>,
    delay: Option<Duration>,
}

pub(super) fn parse(body: &[u8], user_agent: &str) -> Robots {
    let us = product(user_agent.as_bytes());
    let mut ours = Group::default();
    let mut everyone = Group::default();
    let (mut sitemaps, mut sitemap_bytes) = (Vec::<String>::new(), 0);
    // A user-agent line after rules starts a new group; other lines do not end one. A crawl delay ends it as
    // far as delays go: files with one delay per agent and nothing else in between are common, and mean it.
    let (mut rules_seen, mut delay_seen) = (false, false);
    for (key, value) in lines(body).filter_map(directive) {
        match key {
            Key::UserAgent => {
                if rules_seen {
                    (ours.open, everyone.open) = (false, false);
                }
                if rules_seen || delay_seen {
                    (ours.paced, everyone.paced) = (false, false);
                }
                (rules_seen, delay_seen) = (false, false);
                let group = match value {
                    [b'*'] | [b'*', b' ' | b'\t', ..] => &mut everyone,
                    _ if !us.is_empty() && product(value).eq_ignore_ascii_case(us) => &mut ours,
                    _ => continue,
                };
                (group.named, group.open, group.paced) = (true, true, true);
            }
            Key::Allow | Key::Disallow => {
                rules_seen = true;
                let Some(pattern) = Pattern::new(value) else { continue };
                let rule = (key == Key::Allow, pattern);
                for group in [&mut ours, &mut everyone].into_iter().filter(|g| g.open) {
                    group.rules.push(rule.clone());
                }
            }
            Key::CrawlDelay => {
                delay_seen = true;
                let Some(delay) = seconds(value) else { continue };
                for group in [&mut ours, &mut everyone].into_iter().filter(|g| g.paced) {
                    // Several groups may apply; the most careful one wins.
                    group.delay = group.delay.max(Some(delay));
                }
            }
            Key::Sitemap => {
                let url = String::from_utf8_lossy(value).into_owned();
                let fits = sitemaps.len() < MAX_SITEMAPS && sitemap_bytes + url.len() <= MAX_SITEMAP_BYTES;
                if fits && !url.is_empty() && !sitemaps.contains(&url) {
                    sitemap_bytes += url.len();
                    sitemaps.push(url);
                }
            }
        }
    }
    let Group { rules, delay, .. } = if ours.named { ours } else { everyone };
    Robots { access: Access::Rules(Rules::new(rules)), delay, sitemaps }
}

/// The product token of a user agent or of a `User-agent` line: letters, `_` and `-` (RFC 9309 §2.2.1), so
/// that `Gleaner/0.1 (+…)` and `gleaner` meet.
pub(super) fn product(text: &[u8]) -> &[u8] {
    let end = text.iter().position(|b| !b.is_ascii_alphabetic() && !matches!(b, b'_' | b'-'));
    text.get(..end.unwrap_or(text.len())).unwrap_or(text)
}

/// Lines end with LF, CR or both; a byte order mark is skipped.
fn lines(body: &[u8]) -> impl Iterator<Item = &[u8]> {
    let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
    body.split(|b| matches!(b, b'\n' | b'\r')).map(|line| line.get(..MAX_LINE).unwrap_or(line))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Key {
    UserAgent,
    Allow,
    Disallow,
    CrawlDelay,
    Sitemap,
}

/// Spellings found in the wild, after Google's parser.
const KEYS: &[(&[u8], Key)] = &[
    (b"user-agent", Key::UserAgent),
    (b"useragent", Key::UserAgent),
    (b"user agent", Key::UserAgent),
    (b"allow", Key::Allow),
    (b"disallow", Key::Disallow),
    (b"dissallow", Key::Disallow),
    (b"dissalow", Key::Disallow),
    (b"disalow", Key::Disallow),
    (b"diasllow", Key::Disallow),
    (b"disallaw", Key::Disallow),
    (b"crawl-delay", Key::CrawlDelay),
    (b"crawldelay", Key::CrawlDelay),
    (b"crawl delay", Key::CrawlDelay),
    (b"sitemap", Key::Sitemap),
    (b"site-map", Key::Sitemap),
];

fn directive(line: &[u8]) -> Option<(Key, &[u8])> {
    let line = match line.iter().position(|&b| b == b'#') {
        Some(comment) => line.get(..comment)?,
        None => line,
    };
    let line = line.trim_ascii();
    let colon = line.iter().position(|&b| b == b':');
    let (key, value) = match colon {
        Some(at) => (line.get(..at)?, line.get(at + 1..)?),
        // `disallow /x`: the colon forgotten, which only counts when there are exactly two words.
        None => {
            let space = line.iter().position(u8::is_ascii_whitespace)?;
            let (key, value) = (line.get(..space)?, line.get(space..)?.trim_ascii());
            if value.iter().any(u8::is_ascii_whitespace) {
                return None;
            }
            (key, value)
        }
    };
    let key = key.trim_ascii();
    let (_, key) = KEYS.iter().find(|(name, _)| name.eq_ignore_ascii_case(key))?;
    Some((*key, value.trim_ascii()))
}

fn seconds(value: &[u8]) -> Option<Duration> {
    // `10 seconds` and `1,5` are found too; the number is what counts.
    let number = std::str::from_utf8(value).ok()?.split_whitespace().next()?.replace(',', ".");
    let seconds: f64 = number.trim_end_matches(['s', 'S']).parse().ok()?;
    (seconds.is_finite() && seconds >= 0.0).then(|| Duration::from_secs_f64(seconds.min(MAX_DELAY)))
}
