//! Search engines, to find seed pages with: SearXNG, Brave, Google's programmable search, anything that
//! answers with a feed, and a collection's own index.

mod brave;
mod client;
mod collection;
mod feed;
mod google;
mod searxng;

use crawl::config::Config;
use std::collections::HashSet;
use types::{Canon, Problem, Url};

/// One result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hit {
    pub url: Url,
    pub title: String,
    /// Place among the results, from 1.
    pub rank: usize,
}

/// The results of one query: each page once, and only what can be crawled.
pub struct Hits {
    canon: Canon,
    want: usize,
    given: usize,
    seen: HashSet<Url>,
    list: Vec<Hit>,
}

impl Hits {
    pub fn new(want: usize, canon: Canon) -> Hits {
        Hits { canon, want, given: 0, seen: HashSet::new(), list: Vec::new() }
    }
    /// The engine's next result.
    pub fn push(&mut self, url: &str, title: &str) {
        self.given += 1;
        let Ok(url) = self.canon.parse(url) else { return };
        if !self.is_full() && self.seen.insert(url.clone()) {
            self.list.push(Hit { url, title: title.to_string(), rank: self.given });
        }
    }
    pub fn is_full(&self) -> bool {
        self.list.len() >= self.want
    }
    /// How many so far.
    pub fn count(&self) -> usize {
        self.list.len()
    }
    pub fn want(&self) -> usize {
        self.want
    }
    pub fn into_vec(self) -> Vec<Hit> {
        self.list
    }
}

/// Anything that answers a query with pages.
pub trait SearchEngine {
    /// For people.
    fn name(&self) -> String;

    /// Pushes results, best first, until there are enough or no more. `section` is one of
    /// [`SearchEngine::sections`].
    fn search(&self, query: &str, section: &str, hits: &mut Hits) -> Result<(), Problem>;

    /// Kinds of results that it keeps apart, by our names; the first is what it usually gives.
    fn sections(&self) -> &'static [&'static str] {
        &[WEB]
    }

    /// Are its results on the network, so that it makes sense to see whether they can be had?
    fn live(&self) -> bool {
        true
    }

    /// Longest query it takes, in characters.
    fn longest_query(&self) -> usize {
        2_000
    }
}

/// The section every engine has.
pub const WEB: &str = "web";

/// All that some engine keeps apart.
pub const SECTIONS: &[&str] = &[WEB, "news", "discussions", "papers", "software"];

/// The section in which an engine would keep pages of a built-in genre.
pub fn section_of(preset: &str) -> Option<&'static str> {
    match preset {
        "news" => Some("news"),
        "discussion" => Some("discussions"),
        "research-paper" => Some("papers"),
        "software-documentation" => Some("software"),
        _ => None,
    }
}

/// A text of a JSON object.
fn text<'a>(object: &'a serde_json::Value, name: &str) -> &'a str {
    object.get(name).and_then(|v| v.as_str()).unwrap_or("")
}

/// What an engine's name begins with.
pub const NAMES: &[&str] = &["searxng", "brave", "google", "rss", "atom", "feed", "opensearch", "collection"];

/// What `--engine` can say, for help and errors.
pub const KINDS: &str = "searxng:URL, brave, google, rss:URL-with-{searchTerms} or collection:DIR";

/// The engine that `--engine` names.
pub fn open(spec: &str, config: &Config) -> Result<Box<dyn SearchEngine>, Problem> {
    let (kind, rest) = spec.split_once(':').unwrap_or((spec, ""));
    let engine: Box<dyn SearchEngine> = match kind {
        "searxng" => Box::new(searxng::Searxng::new(rest, config)?),
        "brave" => Box::new(brave::Brave::new(rest, config)?),
        "google" => Box::new(google::Google::new(rest, config)?),
        "rss" | "atom" | "feed" | "opensearch" => Box::new(feed::Feed::new(rest, config)?),
        "collection" => Box::new(collection::Index::new(rest)?),
        _ => {
            return Err(Problem::usage(format!("--engine {spec}: there is no such search engine"))
                .hint(format!("one of {KINDS}")));
        }
    };
    Ok(engine)
}

/// A key from the environment.
fn key(names: &[&str], what: &str, where_from: &str) -> Result<String, Problem> {
    let found = names.iter().find_map(|n| std::env::var(n).ok().filter(|v| !v.trim().is_empty()));
    found.map(|v| v.trim().to_string()).ok_or_else(|| {
        Problem::usage(format!("{what} needs a key: {} is not set", names.first().unwrap_or(&""))).hint(
            format!("get one at {where_from} and set it with: export {}=…", names.first().unwrap_or(&"")),
        )
    })
}
