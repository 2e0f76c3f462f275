//! Traps: URLs a server can make for ever. Each guard is a pure function of the URL's text.

use types::Fingerprint;

/// Where the parts of a canonical `http(s)://host/path?query` are.
struct Parts<'a> {
    /// `https://example.org`
    origin: &'a str,
    path: &'a str,
    query: Option<&'a str>,
}

fn parts(url: &str) -> Parts<'_> {
    let host = url.find("://").map_or(0, |p| p + 3);
    let path = url[host..].find('/').map_or(url.len(), |p| p + host);
    let (front, query) = match url[path..].find('?') {
        Some(q) => (path + q, Some(&url[path + q + 1..])),
        None => (url.len(), None),
    };
    Parts { origin: &url[..path], path: &url[path..front], query }
}

/// The `host[:port]` of a canonical URL, as [`types::Url::host_key`] gives it.
pub fn host_key(url: &str) -> &str {
    let origin = parts(url).origin;
    origin.find("://").map_or(origin, |p| &origin[p + 3..])
}

/// Does one segment occur more than `limit` times in the path? `/a/b/a/b/a/b/a` is what a relative link that
/// climbs the wrong way makes, for ever.
pub fn repeats(url: &str, limit: u32) -> bool {
    let path = parts(url).path;
    // Fewer slashes than that cannot repeat anything often enough; this is nearly every URL.
    if path.bytes().filter(|&b| b == b'/').count() <= limit as usize {
        return false;
    }
    let mut segments: Vec<&str> = path.trim_matches('/').split('/').collect();
    segments.sort_unstable();
    segments.chunk_by(|a, b| a == b).any(|run| run.len() > limit as usize)
}

/// What query variants are counted under: the URL up to its query. `None` when it has none.
pub fn query_group(url: &str, key: (u64, u64)) -> Option<u64> {
    let p = parts(url);
    p.query.map(|_| Fingerprint::of(&url[..p.origin.len() + p.path.len()], key).0)
}

/// What calendar pages are counted under: the host. `None` when the URL does not look like a calendar's.
pub fn calendar_group(url: &str, key: (u64, u64)) -> Option<u64> {
    let p = parts(url);
    let (path, query) = (p.path, p.query.unwrap_or(""));
    // The word first: it is the cheaper question, and nearly every URL fails it.
    if !names_calendar(path, query) || !has_date(path, query) {
        return None;
    }
    // The other half of the hash: a host's calendars and the queries of its root page must not share a
    // counter.
    Some(Fingerprint::of(p.origin, key).1)
}

/// What a host is counted under: its registrable domain. Apart from the groups of URLs, which begin with a
/// scheme.
pub fn domain_group(host_key: &str, key: (u64, u64)) -> u64 {
    Fingerprint::of(types::domain_of(host_key), key).0
}

/// What a host's requests in flight are counted under: its registrable domain. Loopback is nobody's domain:
/// each port there is a host of its own.
pub fn share_group(host_key: &str, key: (u64, u64)) -> u64 {
    let domain = types::domain_of(host_key);
    let loopback = domain == "localhost"
        || domain.trim_matches(['[', ']']).parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback());
    Fingerprint::of(if loopback { host_key } else { domain }, key).0
}

const CALENDAR_WORDS: [&str; 13] = [
    "calendar",
    "calendars",
    "cal",
    "kalender",
    "calendario",
    "calendrier",
    "agenda",
    "month",
    "week",
    "day",
    "events",
    "termine",
    "ical",
];
const DATE_PARAMS: [&str; 9] = ["year", "month", "day", "week", "date", "yr", "mo", "y", "m"];

fn words(s: &str) -> impl Iterator<Item = &str> {
    s.split(|c: char| !c.is_ascii_alphanumeric()).filter(|w| !w.is_empty())
}

fn names_calendar(path: &str, query: &str) -> bool {
    words(path).chain(words(query)).any(|w| CALENDAR_WORDS.iter().any(|c| w.eq_ignore_ascii_case(c)))
}

/// A year with a month beside it (`2031/05`, `2031-05-17`, `203105`), or a year given to a date parameter.
fn has_date(path: &str, query: &str) -> bool {
    let year = |w: &str| {
        w.len() == 4 && w.bytes().all(|b| b.is_ascii_digit()) && matches!(&w[..2], "18" | "19" | "20" | "21")
    };
    let small = |w: &str| w.len() <= 2 && w.parse::<u8>().is_ok_and(|n| (1..=53).contains(&n));
    let month_name = |w: &str| {
        const MONTHS: [&str; 12] =
            ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
        w.get(..3).is_some_and(|w| MONTHS.iter().any(|m| w.eq_ignore_ascii_case(m)))
    };
    let joined = |w: &str| {
        matches!(w.len(), 6 | 8) && w.bytes().all(|b| b.is_ascii_digit()) && year(&w[..4]) && small(&w[4..6])
    };
    let dated = |s: &str| {
        let mut before = "";
        words(s).any(|w| {
            let hit = joined(w)
                || (year(before) && (small(w) || month_name(w)))
                || (year(w) && (small(before) || month_name(before)));
            before = w;
            hit
        })
    };
    let by_parameter = || {
        query.split('&').filter_map(|pair| pair.split_once('=')).any(|(name, value)| {
            DATE_PARAMS.iter().any(|p| name.eq_ignore_ascii_case(p))
                && value.bytes().any(|b| b.is_ascii_digit())
        })
    };
    dated(path) || dated(query) || by_parameter()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn climbing_paths_repeat() {
        assert!(repeats("http://e.org/a/b/a/b/a/b/a/", 3));
        assert!(!repeats("http://e.org/a/b/a/b/a/b/", 3));
        assert!(repeats("http://e.org/x/x", 1));
        assert!(!repeats("http://e.org/", 1));
        assert!(!repeats("http://e.org/docs/v1/guide/v1?x=/a/a/a/a/a/", 3));
    }

    #[test]
    fn queries_are_grouped_by_path() {
        let g = |u| query_group(u, (1, 2));
        assert_eq!(g("http://e.org/a"), None);
        assert_eq!(g("http://e.org/a?x=1"), g("http://e.org/a?x=2&y"));
        assert_ne!(g("http://e.org/a?x=1"), g("http://e.org/b?x=1"));
        assert_ne!(g("http://e.org/a?x=1"), g("http://f.org/a?x=1"));
    }

    #[test]
    fn calendars_are_dates_with_a_word_that_says_so() {
        let c = |u: &str| calendar_group(u, (1, 2)).is_some();
        for trap in [
            "http://e.org/calendar/2031/05",
            "http://e.org/events/2031-05-17",
            "http://e.org/cal.php?month=5&year=2031",
            "http://e.org/calendar.php?date=203105",
            "http://e.org/kalender/mai?y=2031&m=5",
            "http://e.org/events/month/2040-01/",
            "http://e.org/agenda/20310517",
            "http://e.org/Calendar/May/2031",
        ] {
            assert!(c(trap), "{trap}");
        }
        for page in [
            "http://e.org/2023/05/12/how-we-did-it",
            "http://e.org/news/2023-05-12",
            "http://e.org/calendar/",
            "http://e.org/academic-calendar",
            "http://e.org/events/42",
            "http://e.org/paper-2019.pdf",
        ] {
            assert!(!c(page), "{page}");
        }
        assert_ne!(
            calendar_group("http://e.org/calendar/2031/05", (1, 2)),
            query_group("http://e.org/?", (1, 2))
        );
    }

    #[test]
    fn host_keys_agree_with_the_url_type() {
        for u in ["http://e.org/", "https://e.org:8443/a?b://c/", "http://[::1]:81/x", "http://127.0.0.1/?q"]
        {
            let parsed = types::Canon::exact().parse(u).unwrap();
            assert_eq!(host_key(parsed.as_str()), parsed.host_key());
        }
    }

    proptest! {
        #[test]
        fn no_text_is_too_strange(s in "\\PC{0,80}") {
            let _ = (repeats(&s, 3), query_group(&s, (0, 0)), calendar_group(&s, (0, 0)), host_key(&s).len());
        }
    }
}
