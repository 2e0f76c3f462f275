//! How URLs ended, and the list of those that gave no page.

use super::Reader;
use crate::failures::{Failures, Tries};
use crate::refresh::is_of_host;
use crate::remove::Removal;
use frontier::{Info, State};
use serde::Serialize;
use std::collections::{BTreeMap, HashMap, HashSet};
use store::Which;
use types::{Millis, Outcome, Problem, UrlId};

/// A URL that was asked for, or would have been, and gave no page.
#[derive(Clone, Debug, Serialize)]
pub struct Miss {
    /// The URL.
    pub id: UrlId,
    /// Canonical address.
    pub url: String,
    /// The outcome's name, as in [`super::Summary::outcomes`].
    pub kind: &'static str,
    /// The last try's own word, such as `timeout` or `http-404`; as `kind` when it is not known.
    pub error: String,
    /// What happened, for people.
    pub what: String,
    /// When the last try failed, in milliseconds since 1970; `None` in collections of earlier versions.
    pub at: Option<Millis>,
    /// The first one.
    pub since: Option<Millis>,
    /// Tries that failed.
    pub attempts: u32,
    /// Links from the seed.
    pub depth: u16,
    /// The page on which the link stands; `None` for seeds.
    pub parent: Option<String>,
    /// The link's text there.
    pub anchor: String,
}

/// Which of the URLs that gave no page are meant; the default is all of them.
#[derive(Clone, Copy, Debug, Default)]
pub struct MissFilter<'a> {
    /// An outcome (`http-error`), or the word of a try (`http-404`, `timeout`).
    pub kind: Option<&'a str>,
    /// A host key; hosts below it, and other ports, count too.
    pub host: Option<&'a str>,
}

/// URLs that gave no page, by what went wrong.
#[derive(Clone, Debug, Serialize)]
pub struct MissCount {
    /// As [`Miss::kind`].
    pub kind: &'static str,
    /// As [`Miss::error`].
    pub error: String,
    /// So many URLs.
    pub urls: u64,
    /// On so many hosts.
    pub hosts: u64,
}

/// The URLs that gave no page, and why, as far as it is known.
struct Misses<'a> {
    reader: &'a Reader,
    failures: Failures,
    /// Per host, the try that failed last: URLs that were given up with their host had none of their own.
    of_host: HashMap<u32, UrlId>,
    kind: Option<&'a str>,
    hosts: Option<HashSet<u32>>,
    /// What was removed is no failure.
    removed: Vec<Removal>,
}

impl<'a> Misses<'a> {
    fn new(reader: &'a Reader, filter: MissFilter<'a>) -> Result<Misses<'a>, Problem> {
        let failures = Failures::read(&*reader.source)?;
        let mut of_host: HashMap<u32, (Millis, UrlId)> = HashMap::new();
        for entry in reader.source.entries(Which::All).filter(|_| !failures.is_empty()) {
            let entry = entry?;
            if let (Some(host), Some(tries)) = (entry.host, failures.of(entry.id)) {
                let this = (tries.last.at, entry.id);
                let newest = of_host.entry(host).or_insert(this);
                *newest = (*newest).max(this);
            }
        }
        let of_host = of_host.into_iter().map(|(host, (_, id))| (host, id)).collect();
        let hosts = filter.host.map(|name| reader.hosts_named(name)).transpose()?;
        let removed = Removal::list(&*reader.source)?;
        Ok(Misses { reader, failures, of_host, kind: filter.kind, hosts, removed })
    }

    /// Each of them in the order it was found, with its outcome and its tries.
    fn each(&self) -> impl Iterator<Item = Result<(Info, Outcome, Option<&Tries>), Problem>> + '_ {
        self.reader.source.entries(Which::All).filter_map(|entry| {
            let entry = match entry {
                Ok(entry) => entry,
                Err(problem) => return Some(Err(problem)),
            };
            let State::Settled(outcome) = entry.state else { return None };
            let tries = self.failures.of(entry.id);
            let name = store::ledger::outcome_name(outcome);
            let is_meant = match self.kind {
                Some(kind) => kind == name || kind == self.error(&entry, outcome, tries),
                None => outcome.is_failure(),
            };
            let on_host = self.hosts.as_ref().is_none_or(|all| entry.host.is_some_and(|h| all.contains(&h)));
            let counts =
                is_meant && on_host && !(outcome == Outcome::OutOfScope && self.is_removed(entry.id));
            counts.then_some(Ok((entry, outcome, tries)))
        })
    }

    fn is_removed(&self, id: UrlId) -> bool {
        let url = |_: &_| self.reader.source.url(id).ok();
        self.removed
            .first()
            .and_then(url)
            .is_some_and(|url| self.removed.iter().any(|r| r.what.matches(&url)))
    }

    /// The try that says why: its own, or the last of its host when it was given up with that.
    fn why<'b>(&'b self, entry: &Info, outcome: Outcome, own: Option<&'b Tries>) -> Option<&'b Tries> {
        let with_host = matches!(outcome, Outcome::Unreachable | Outcome::RobotsDenied);
        let hosts = || self.failures.of(*self.of_host.get(&entry.host?)?);
        own.or_else(|| if with_host { hosts() } else { None })
    }

    fn error(&self, entry: &Info, outcome: Outcome, own: Option<&Tries>) -> String {
        match self.why(entry, outcome, own) {
            Some(tries) if outcome.is_failure() => tries.last.kind.clone(),
            _ => match outcome {
                Outcome::HttpError(status) => format!("http-{status}"),
                outcome => store::ledger::outcome_name(outcome).to_string(),
            },
        }
    }
}

impl Reader {
    /// URLs that gave no page, in the order they were found. `skip` of them are left out.
    pub fn misses(&self, filter: MissFilter, skip: usize, most: usize) -> Result<Vec<Miss>, Problem> {
        let misses = Misses::new(self, filter)?;
        let mut out = Vec::new();
        for miss in misses.each().skip(skip).take(most) {
            let (entry, outcome, own) = miss?;
            let why = misses.why(&entry, outcome, own);
            let mut what = describe(outcome);
            if let Some(why) = why.filter(|w| !w.last.why.is_empty()) {
                what += &format!(" ({})", why.last.why);
            }
            if own.is_none() && why.is_some() {
                what += "; given up with its host";
            }
            let sources = self.source.sources(entry.id)?;
            out.push(Miss {
                id: entry.id,
                url: self.url(entry.id).unwrap_or_default(),
                kind: store::ledger::outcome_name(outcome),
                error: misses.error(&entry, outcome, own),
                what,
                at: why.map(|w| w.last.at),
                since: why.map(|w| w.first),
                attempts: own.map_or(u32::from(entry.attempts), |tries| tries.count),
                depth: entry.depth,
                parent: entry.parent.and_then(|id| self.url(id)),
                anchor: sources.first().map_or(String::new(), |s| s.anchor.to_string()),
            });
        }
        Ok(out)
    }

    /// How many URLs gave no page, by what went wrong, the most first.
    pub fn count_misses(&self, filter: MissFilter) -> Result<Vec<MissCount>, Problem> {
        let misses = Misses::new(self, filter)?;
        let mut by: BTreeMap<(&'static str, String), (u64, HashSet<Option<u32>>)> = BTreeMap::new();
        for miss in misses.each() {
            let (entry, outcome, own) = miss?;
            let key = (store::ledger::outcome_name(outcome), misses.error(&entry, outcome, own));
            let (urls, hosts) = by.entry(key).or_default();
            *urls += 1;
            hosts.insert(entry.host);
        }
        let one = |((kind, error), (urls, hosts)): (_, (u64, HashSet<Option<u32>>))| MissCount {
            kind,
            error,
            urls,
            hosts: hosts.len() as u64,
        };
        let mut all: Vec<MissCount> = by.into_iter().map(one).collect();
        all.sort_by_key(|c| std::cmp::Reverse(c.urls));
        Ok(all)
    }

    /// The numbers of all URLs that gave no page.
    pub fn missed_ids(&self, filter: MissFilter) -> Result<Vec<UrlId>, Problem> {
        Misses::new(self, filter)?.each().map(|miss| miss.map(|(entry, ..)| entry.id)).collect()
    }

    /// The numbers of a host, of hosts below it, and of its other ports.
    fn hosts_named(&self, name: &str) -> Result<HashSet<u32>, Problem> {
        let mut found = HashSet::new();
        for host in self.source.hosts()?.iter().filter(|h| is_of_host(&h.name, name)) {
            found.extend(self.source.find_host(&host.name)?);
        }
        Ok(found)
    }
}

/// What URLs came to. Sitemaps and feeds are fetched as well, and are no pages.
pub(super) fn outcomes(all: Vec<(&'static str, u64)>, pages: u64) -> Vec<(&'static str, u64)> {
    let fetched = all.iter().find(|(name, _)| *name == "fetched").map_or(0, |(_, n)| *n);
    let split = [("fetched", fetched.min(pages)), ("sitemap", fetched.saturating_sub(pages))];
    let rest = all.into_iter().filter(|(name, _)| *name != "fetched");
    split.into_iter().chain(rest).filter(|(_, n)| *n > 0).collect()
}

/// An outcome, for people.
pub(super) fn describe(outcome: Outcome) -> String {
    use Outcome::*;
    match outcome {
        Fetched => "fetched".into(),
        Redirected => "it redirects to another URL".into(),
        HttpError(status) => format!("the server answered with status {status}"),
        Unreachable => "no answer after all tries".into(),
        RobotsDenied => "robots.txt forbids it".into(),
        Unwanted => "not a type of document that is read".into(),
        Refused => "refused by the guard, or not fetchable".into(),
        OutOfScope => "out of the topic's scope".into(),
        Dropped => "dropped: a cap was reached or it was forgotten".into(),
        Unreadable => "its document cannot be read within the limits on time and memory".into(),
        Encrypted => "its document is encrypted: only a password opens it".into(),
        Scanned => "its document has no text: its pages are scanned pictures".into(),
        Crashed => "given up: the crawler died twice while it read this page".into(),
    }
}
