//! What can be asked of a crawl. A [`Command`] is a plain value; the loop takes them between turns, in the
//! order they came, and answers with an [`Effect`].

use serde::{Deserialize, Serialize};
use std::sync::mpsc::Sender;
use types::{Problem, Url, UrlId};

/// What can be asked of a running crawl.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "payload", rename_all = "kebab-case")]
pub enum Command {
    /// Finish what is in flight, save, and return.
    Stop,
    /// Send no new request until `Resume`.
    Pause,
    /// Go on.
    Resume,
    /// More URLs to start from.
    Seeds(Vec<Url>),
    /// Other limits, another pace, other terms, other options of the strategy.
    Settings(Box<Settings>),
    /// What the user wants of a host.
    Host {
        /// Its host key.
        host: String,
        /// What is wanted of it.
        rule: HostRule,
    },
    /// What the user says of pages; `None` takes it back.
    Labels(Vec<(UrlId, Option<bool>)>),
    /// What the language model says of pages; a person's word stands above it.
    Lessons(Vec<(UrlId, Option<bool>)>),
    /// Exactly these URLs, which gave no page, are asked for again.
    Retry(Vec<UrlId>),
}

/// A command, and where the answer goes if anyone waits for it.
pub struct Order {
    /// What is asked.
    pub command: Command,
    /// Gets one answer when the command is done.
    pub reply: Option<Sender<Result<Effect, Problem>>>,
}

impl From<Command> for Order {
    fn from(command: Command) -> Order {
        Order { command, reply: None }
    }
}

/// What a command did.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Effect {
    /// For people: "37 pages changed verdict".
    pub text: String,
    /// Pages whose verdict changed, URLs that were added or moved.
    pub changed: usize,
    /// The page's verdict now, after a label.
    pub relevant: Option<bool>,
    /// Of a shared crawl: how many of its workers have done it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workers: Option<Workers>,
}

/// How far a command has come in a shared crawl.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Workers {
    /// Workers that have done it.
    pub applied: usize,
    /// Workers that are alive.
    pub of: usize,
}

impl Effect {
    /// An effect that changed nothing.
    pub fn says(text: impl Into<String>) -> Effect {
        Effect { text: text.into(), ..Effect::default() }
    }
}

/// What the user wants of a host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HostRule {
    /// As any other.
    #[default]
    None,
    /// Nothing more is fetched from it.
    Block,
    /// Its URLs go first, as fast as politeness allows.
    Boost,
}

impl HostRule {
    /// What came of it for `n` pending URLs.
    pub(crate) fn told(self, host: &str, n: u64) -> String {
        match self {
            // Each is given up when its turn comes; no request is made for it.
            HostRule::Block => format!("{host} is blocked; {n} pending URLs of it are given up"),
            HostRule::Boost => format!("{host} goes first: {n} pending URLs moved up"),
            HostRule::None => format!("{host} is as any other again"),
        }
    }
}

/// What came of asking again for `all` URLs, of which `n` had failed.
pub(crate) fn retried(n: usize, all: usize) -> Effect {
    let text = match (n, all) {
        (0, _) => "none of these URLs ended without a page: nothing is asked again".into(),
        (1, 1) => "1 URL is asked for again".into(),
        (n, all) if n == all => format!("{n} URLs are asked for again"),
        (n, all) => format!("{n} of {all} URLs are asked for again; the others are pending, or gave a page"),
    };
    Effect { text, changed: n, ..Effect::default() }
}

/// What the user said of pages, in a few words.
pub(crate) fn labelled(said: &[(UrlId, Option<bool>)]) -> String {
    match said {
        [(_, Some(true))] => "labelled relevant".into(),
        [(_, Some(false))] => "labelled not relevant".into(),
        [(_, None)] => "label taken back".into(),
        all => format!("{} pages labelled", all.len()),
    }
}

/// What it did to the verdicts of other pages.
pub(crate) fn verdicts_changed(n: u64) -> String {
    match n {
        0 => "no other verdict changed".into(),
        1 => "1 page changed verdict".into(),
        n => format!("{n} pages changed verdict"),
    }
}

/// New values; what is `None` stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// When to stop.
    pub limits: Option<Limits>,
    /// How fast.
    pub fetch: Option<Pace>,
    /// Terms that count from now on.
    pub add_terms: Vec<NewTerm>,
    /// Terms that count no more.
    pub mute_terms: Vec<String>,
    /// The strategy's own options, as TOML.
    pub strategy: Option<String>,
}

/// When to stop; `None` = no such limit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Pages fetched.
    pub pages: Option<u64>,
    /// Relevant pages.
    pub relevant: Option<u64>,
    /// Milliseconds.
    pub time_ms: Option<u64>,
}

/// How fast; `None` = as before.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Pace {
    /// Requests at once.
    pub concurrency: Option<usize>,
    /// Milliseconds between two requests of one host.
    pub delay_ms: Option<u64>,
}

/// A term that the user adds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewTerm {
    /// Where it belongs.
    pub set: TermSet,
    /// A word or phrase.
    pub term: String,
}

/// The lists of terms of a topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TermSet {
    /// Words of the wanted kind of page.
    Genre,
    /// Words of the subject.
    Content,
    /// Words of addresses.
    Url,
    /// Words that rule a page out.
    Exclude,
}
