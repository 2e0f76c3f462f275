//! What URLs came to, and those that gave no page.

use super::Reader;
use frontier::State;
use serde::Serialize;
use store::Which;
use types::{Outcome, Problem, UrlId};

/// A URL that was asked for, or would have been, and gave no page.
#[derive(Clone, Debug, Serialize)]
pub struct Miss {
    /// The URL.
    pub id: UrlId,
    /// Canonical address.
    pub url: String,
    /// The outcome's name, as in [`super::Summary::outcomes`].
    pub kind: &'static str,
    /// What happened, for people.
    pub what: String,
    /// Tries that failed.
    pub attempts: u8,
    /// Links from the seed.
    pub depth: u16,
    /// The page on which the link stands; `None` for seeds.
    pub parent: Option<String>,
    /// The link's text there.
    pub anchor: String,
}

impl Reader {
    /// URLs that gave no page, in the order they were found: all, or those of one outcome. `skip` of them are
    /// left out.
    pub fn misses(&self, kind: Option<&str>, skip: usize, most: usize) -> Result<Vec<Miss>, Problem> {
        let mut out = Vec::new();
        let mut left = skip;
        for entry in self.kept.entries(Which::All) {
            let entry = entry?;
            let State::Settled(outcome) = entry.state else { continue };
            let name = store::ledger::outcome_name(outcome);
            if !kind.map_or(!matches!(name, "fetched" | "redirected"), |kind| kind == name) {
                continue;
            }
            if left > 0 {
                left -= 1;
                continue;
            }
            if out.len() == most {
                break;
            }
            let sources = self.kept.sources(entry.id)?;
            out.push(Miss {
                id: entry.id,
                url: self.url(entry.id).unwrap_or_default(),
                kind: name,
                what: describe(outcome),
                attempts: entry.attempts,
                depth: entry.depth,
                parent: entry.parent.and_then(|id| self.url(id)),
                anchor: sources.first().map_or(String::new(), |s| s.anchor.to_string()),
            });
        }
        Ok(out)
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
        Crashed => "given up: the crawler died twice while it read this page".into(),
    }
}
