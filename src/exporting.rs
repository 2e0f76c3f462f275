//! Writing a collection's pages in a format others read: for `gleaner export` and for the dashboard.

use crate::markdown::Writer;
use crate::text::host_of;
use crawl::reader::Reader;
use crawl::remove::Selector;
use crawl::units::Span;
use std::collections::HashSet;
use std::path::PathBuf;
use store::archive::parse_rfc3339;
use store::export::{Exporter, Row};
use types::{About, Canon, Millis, Problem, Record, UrlId};

/// Which pages are written.
#[derive(Clone, Debug, Default)]
pub struct PageFilter {
    /// Also pages that were judged not relevant.
    pub all: bool,
    /// Also copies and near-copies of pages that are written.
    pub copies: bool,
    /// A page that cannot be read does not cost those behind it.
    pub skip_unreadable: bool,
    /// All of these must hold.
    pub conditions: Vec<Condition>,
    /// With [`Row::markdown`].
    pub markdown: bool,
    /// The folder of archive files, if this machine has it.
    pub archive: Option<PathBuf>,
}

/// What a page must be like, as `gleaner export --where` says it.
#[derive(Clone, Debug, PartialEq)]
pub enum Condition {
    /// `host=www.example.org`, or `host=*.example.org` with everything below it.
    Host(String),
    /// `language=en`
    Language(String),
    /// `type=application/pdf`
    MediaType(String),
    /// `label=yes`, `no`, `any` or `none`
    Label(Labelled),
    /// `score>=0.8` and the like.
    Score(Order, f64),
    /// `fetched>=2026-11-01`, as milliseconds.
    Fetched(Order, u64),
    /// `relevant=yes` or `no`: as it stands, with what was said of it.
    Relevant(bool),
    /// `url=www.example.org/docs/*`, as `gleaner remove` reads it.
    Url(Selector),
    /// `author=lovelace`: one of the names contains it.
    Author(String),
    /// `kind=Course`, as the page says of itself.
    Kind(String),
    /// `publisher=university`: its name contains it.
    Publisher(String),
    /// `published>=2026-01` or `2026` or a day, as the page says.
    Published(Order, String),
    /// `modified>=2026-01`, likewise.
    Modified(Order, String),
}

/// What was said of a page.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Labelled {
    Yes,
    No,
    Any,
    None,
}

/// How a number is compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Order {
    AtLeast,
    Above,
    AtMost,
    Below,
}

impl Order {
    fn holds<T: PartialOrd>(self, a: T, b: T) -> bool {
        match self {
            Order::AtLeast => a >= b,
            Order::Above => a > b,
            Order::AtMost => a <= b,
            Order::Below => a < b,
        }
    }
}

impl std::str::FromStr for Condition {
    type Err = Problem;

    fn from_str(text: &str) -> Result<Condition, Problem> {
        let bad = || {
            Problem::usage(format!("`{text}` is no condition")).hint(
                "conditions: host=www.example.org, host=*.example.org, language=en, type=application/pdf, \
                 label=yes|no|any|none, relevant=yes|no, url=www.example.org/docs/*, score>=0.8, \
                 fetched>=2026-11-01, \
                 author=lovelace, kind=Course, publisher=university, published>=2026, modified>=2026-11-01",
            )
        };
        let at = text.find(['=', '<', '>']).ok_or_else(bad)?;
        let (key, rest) = text.split_at(at);
        let signs = rest.chars().take_while(|c| ['=', '<', '>'].contains(c)).count();
        let (sign, value) = rest.split_at(signs);
        let (key, value) = (key.trim(), value.trim());
        let order = match sign {
            ">=" => Some(Order::AtLeast),
            ">" => Some(Order::Above),
            "<=" => Some(Order::AtMost),
            "<" => Some(Order::Below),
            _ => None,
        };
        Ok(match (key, sign, order) {
            (_, _, _) if value.is_empty() => return Err(bad()),
            ("host", "=", _) => Condition::Host(value.to_lowercase()),
            ("language", "=", _) => Condition::Language(value.to_lowercase()),
            ("type", "=", _) => Condition::MediaType(value.to_lowercase()),
            ("author", "=", _) => Condition::Author(value.to_lowercase()),
            ("kind", "=", _) => Condition::Kind(value.to_string()),
            ("publisher", "=", _) => Condition::Publisher(value.to_lowercase()),
            ("published", _, Some(order)) => {
                Condition::Published(order, part_of_date(value).ok_or_else(bad)?)
            }
            ("modified", _, Some(order)) => Condition::Modified(order, part_of_date(value).ok_or_else(bad)?),
            ("label", "=", _) => Condition::Label(match value {
                "yes" => Labelled::Yes,
                "no" => Labelled::No,
                "any" => Labelled::Any,
                "none" => Labelled::None,
                _ => return Err(bad()),
            }),
            ("relevant", "=", _) => match value {
                "yes" => Condition::Relevant(true),
                "no" => Condition::Relevant(false),
                _ => return Err(bad()),
            },
            ("url", "=", _) => Condition::Url(Selector::parse(value, &Canon::default())?),
            ("score", _, Some(order)) => Condition::Score(order, value.parse().map_err(|_| bad())?),
            ("fetched", _, Some(order)) => Condition::Fetched(order, day(value).ok_or_else(bad)?),
            _ => return Err(bad()),
        })
    }
}

impl Condition {
    /// What a command line or a request says of the pages it wants.
    pub fn all<'a>(
        texts: impl Iterator<Item = &'a str>,
        since: Option<&str>,
        now: Millis,
    ) -> Result<Vec<Condition>, Problem> {
        let said = texts.map(str::parse).chain(since.map(|since| Condition::since(since, now)));
        said.collect()
    }

    /// Pages of the last while (`7d`, `12h`), or since a day (`2026-11-01`).
    fn since(text: &str, now: Millis) -> Result<Condition, Problem> {
        let bad = || {
            Problem::usage(format!("`{text}` is neither a time span nor a day"))
                .hint("write it as in 7d, 12h or 2026-11-01")
        };
        let span = || text.parse::<Span>().ok().map(|s| now.0.saturating_sub(s.0.as_millis() as u64));
        let from = day(text).or_else(span).ok_or_else(bad)?;
        Ok(Condition::Fetched(Order::AtLeast, from))
    }

    fn admits(&self, page: &PageFacts) -> bool {
        let label = page.label;
        match self {
            Condition::Host(name) => {
                let host = host_of(page.url);
                match name.strip_prefix("*.") {
                    Some(domain) => {
                        host == domain || host.strip_suffix(domain).is_some_and(|h| h.ends_with('.'))
                    }
                    None => host == *name,
                }
            }
            Condition::Language(code) => page.language == code,
            Condition::MediaType(name) => page.media_type.eq_ignore_ascii_case(name),
            Condition::Label(Labelled::Yes) => label == Some(true),
            Condition::Label(Labelled::No) => label == Some(false),
            Condition::Label(Labelled::Any) => label.is_some(),
            Condition::Label(Labelled::None) => label.is_none(),
            Condition::Score(order, value) => order.holds(page.score, *value),
            Condition::Fetched(order, at) => order.holds(page.fetched, *at),
            Condition::Relevant(yes) => page.relevant == *yes,
            Condition::Url(what) => {
                let canon = Canon { drop_params: Vec::new(), max_length: usize::MAX };
                canon.parse(page.url).is_ok_and(|url| what.matches(&url))
            }
            Condition::Author(name) => page.about.authors.iter().any(|a| a.to_lowercase().contains(name)),
            Condition::Kind(name) => page.about.kind.eq_ignore_ascii_case(name),
            Condition::Publisher(name) => page.about.publisher.to_lowercase().contains(name),
            Condition::Published(order, date) => holds_for_date(*order, &page.about.published, date),
            Condition::Modified(order, date) => holds_for_date(*order, &page.about.modified, date),
        }
    }
}

/// Pages of a collection for which all conditions hold.
pub fn select(reader: &Reader, conditions: &[Condition]) -> Result<HashSet<UrlId>, Problem> {
    let mut out = HashSet::new();
    for record in reader.records(true) {
        let record = record?;
        let facts = PageFacts::of(reader, &record);
        if conditions.iter().all(|c| c.admits(&facts)) {
            out.insert(record.id);
        }
    }
    Ok(out)
}

/// What conditions look at.
struct PageFacts<'a> {
    url: &'a str,
    language: &'a str,
    media_type: &'a str,
    score: f64,
    fetched: u64,
    label: Option<bool>,
    relevant: bool,
    about: &'a About,
}

impl<'a> PageFacts<'a> {
    fn of(reader: &Reader, record: &'a Record) -> PageFacts<'a> {
        PageFacts {
            url: &record.url,
            language: &record.language,
            media_type: &record.media_type,
            score: record.assessment.score,
            fetched: record.fetched.0,
            label: reader.labels().label(record.id).map(|l| l.relevant),
            relevant: reader.is_relevant(record.id),
            about: &record.about,
        }
    }
}

/// A day, a month or a year.
fn part_of_date(text: &str) -> Option<String> {
    let whole = match text.len() {
        4 => format!("{text}-01-01"),
        7 => format!("{text}-01"),
        _ => text.to_string(),
    };
    day(&whole).map(|_| text.to_string())
}

/// Dates that are known less exactly are compared as exactly as both are. A page without a date passes
/// nothing.
fn holds_for_date(order: Order, said: &str, wanted: &str) -> bool {
    let exact = said.len().min(wanted.len());
    !said.is_empty() && order.holds(said.get(..exact), wanted.get(..exact))
}

/// The beginning of a day in UTC, in milliseconds since 1970.
fn day(text: &str) -> Option<u64> {
    // A whole day, as in 2026-11-01: a year or a month alone is none.
    parse_rfc3339(text).filter(|_| text.len() == 10).map(|at| at.0)
}

/// What came of it.
#[derive(Debug, Default)]
pub struct ExportCounts {
    pub pages: u64,
    /// Left out: they ask not to be indexed.
    pub noindex: u64,
    /// Left out: copies of others in it.
    pub copies: u64,
    /// Left out: a condition does not hold.
    pub filtered: u64,
    pub unreadable: Vec<Problem>,
    /// Pages of the export whose archived records are damaged or gone.
    pub missing: Option<Problem>,
}

/// Writes the pages and ends the file.
pub fn write(
    reader: &Reader,
    mut exporter: Box<dyn Exporter>,
    wanted: &PageFilter,
    tell: &dyn Fn(&ExportCounts),
) -> Result<ExportCounts, Problem> {
    let mut written = ExportCounts::default();
    let markdown = wanted.markdown.then(|| Writer::new(reader, wanted.archive.clone()));
    for record in reader.records(wanted.all) {
        let record = match record {
            Err(problem) if wanted.skip_unreadable => {
                written.unreadable.push(problem);
                continue;
            }
            record => record?,
        };
        if !wanted.all && !wanted.copies && !reader.is_counted(record.id) {
            written.copies += 1;
            continue;
        }
        if record.noindex {
            written.noindex += 1;
            continue;
        }
        let label = reader.labels().label(record.id);
        let facts = PageFacts::of(reader, &record);
        if !wanted.conditions.iter().all(|c| c.admits(&facts)) {
            written.filtered += 1;
            continue;
        }
        let parent = record.parent.and_then(|id| reader.url(id));
        let duplicate_of = record.duplicate_of.and_then(|id| reader.url(id));
        let near_duplicate_of = record.near_duplicate_of.and_then(|id| reader.url(id));
        let original = match record.duplicate_of {
            // The version that has the payload: it may be another by now.
            Some(id) => {
                let versions = reader.ledger().versions(id).unwrap_or_default();
                versions.into_iter().find(|v| v.digest == record.digest).and_then(|v| v.archive)
            }
            None => None,
        };
        let markdown = markdown.as_ref().map(|m| m.markdown(&record)).transpose()?;
        exporter.write(&Row {
            record: &record,
            parent: parent.as_deref(),
            duplicate_of: duplicate_of.as_deref(),
            near_duplicate_of: near_duplicate_of.as_deref(),
            label: label.map(|l| (l.relevant, l.who.name())),
            markdown: markdown.as_deref(),
            original: original.as_ref(),
        })?;
        written.pages += 1;
        tell(&written);
    }
    written.missing = exporter.missing();
    exporter.finish()?;
    Ok(written)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_read_and_hold() {
        let says = |text: &str| text.parse::<Condition>().unwrap();
        assert_eq!(says("score>=0.8"), Condition::Score(Order::AtLeast, 0.8));
        assert_eq!(says("fetched < 1970-01-02"), Condition::Fetched(Order::Below, 86_400_000));
        for bad in [
            "",
            "host",
            "host=",
            "score=1",
            "score>=x",
            "label=maybe",
            "size>1",
            "fetched>2026-13-01",
            "published>=2026-13",
            "published=2026",
            "author>x",
        ] {
            assert!(bad.parse::<Condition>().is_err(), "{bad}");
        }
        let about = About {
            authors: vec!["Lovelace, Ada".into()],
            published: "2026-03".into(),
            kind: "Course".into(),
            ..About::default()
        };
        let page = PageFacts {
            url: "http://www.example.org/x",
            language: "en",
            media_type: "text/html",
            score: 0.0,
            fetched: 86_400_000,
            label: None,
            relevant: false,
            about: &about,
        };
        for (text, holds) in [
            ("host=www.example.org", true),
            ("host=*.example.org", true),
            ("host=example.org", false),
            ("host=*.ample.org", false),
            ("language=en", true),
            ("label=none", true),
            ("label=any", false),
            ("fetched>=1970-01-02", true),
            ("fetched>1970-01-02", false),
            ("score>0", false),
            ("relevant=no", true),
            ("relevant=yes", false),
            ("url=www.example.org/*", true),
            ("url=www.example.org/y*", false),
            ("author=lovelace", true),
            ("author=babbage", false),
            ("kind=course", true),
            ("publisher=x", false),
            ("published>=2026", true),
            ("published>=2026-03-15", true),
            ("published>2026-03", false),
            ("published<2026-04-01", true),
            ("published<=2025", false),
            ("modified>=1990", false),
        ] {
            assert_eq!(says(text).admits(&page), holds, "{text}");
        }
        // 2026-11-16 is day 20,773.
        assert_eq!(day("2026-11-16"), Some(20_773 * 86_400_000));
        assert_eq!(day("2000-02-29"), Some(11_016 * 86_400_000));
        let week = Condition::since("7d", Millis(8 * 86_400_000)).unwrap();
        assert_eq!(week, Condition::Fetched(Order::AtLeast, 86_400_000));
        assert!(Condition::since("soon", Millis(0)).is_err());
    }
}
