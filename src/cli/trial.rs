//! A short crawl for trial, in a folder that goes away: pages to compare examples with, and pages whose
//! verdict is doubtful.

use crawl::collection::Collection;
use crawl::config::{Config, LoadedConfig};
use crawl::live;
use crawl::reader::Reader;
use learn::rng::Rng;
use std::path::PathBuf;
use std::sync::mpsc;
use types::{Problem, Record, Url};

/// A collection that goes away.
pub struct Trial {
    dir: PathBuf,
    reader: Option<Reader>,
}

impl Trial {
    /// Crawls at most so many pages from these, as politely as any crawl.
    pub fn crawl(text: &str, mut flags: toml::Table, seeds: &[String], pages: u64) -> Result<Trial, Problem> {
        use super::setup::{number, set};
        set(&mut flags, "limits", "pages", number(pages));
        set(&mut flags, "limits", "time", "90s");
        set(&mut flags, "archive", "warc", false);
        set(&mut flags, "archive", "index", false);
        let own = |f: &toml::Value| {
            let every = |r: &toml::Value| r.as_str().is_some_and(|r| r.starts_with("*:"));
            let resolve = f.get("resolve").and_then(|r| r.as_array());
            f.get("allow_private").is_some() && resolve.is_some_and(|rules| rules.iter().any(every))
        };
        // Where every host is a server of the user's own, nobody needs a pause.
        if flags.get("fetch").is_some_and(own) {
            set(&mut flags, "fetch", "delay", "0s");
        }
        let loaded: LoadedConfig = Config::load(text, "the new topic", flags)?;
        let canon = Collection::canon(&loaded.config);
        let urls: Vec<Url> = seeds.iter().filter_map(|s| canon.parse_typed(s).ok()).collect();
        if urls.is_empty() {
            return Err(Problem::nothing("there is no address to start a trial from"));
        }
        let name = format!("gleaner-trial-{}-{:08x}", std::process::id(), random());
        let mut trial = Trial { dir: std::env::temp_dir().join(name), reader: None };
        let mut open = Collection::open(&trial.dir, &loaded, &urls, 0)?;
        // Nobody steers it.
        let (_orders, taken) = mpsc::channel();
        open.start(&urls, types::Millis::steady())?;
        live::run(&mut open.crawl, open.web.clone(), open.analyst.clone(), &taken)?;
        drop(open);
        trial.reader = Some(Reader::open(&trial.dir)?);
        Ok(trial)
    }

    pub fn pages(&self) -> Vec<Record> {
        self.reader.iter().flat_map(|r| r.records(true)).flatten().collect()
    }

    /// The pages nearest to the line between relevant and not, but none of these; pages with nearly the same
    /// text count once.
    pub fn borderline(&self, most: usize, but: &[String]) -> Vec<Record> {
        let mut pages = self.pages();
        pages.retain(|r| !but.contains(&r.url) && r.duplicate_of.is_none() && r.near_duplicate_of.is_none());
        let distance = |r: &Record| (r.verdict.relevance - r.verdict.threshold).abs();
        pages.sort_by(|a, b| distance(a).total_cmp(&distance(b)).then_with(|| a.url.cmp(&b.url)));
        pages.truncate(most);
        pages
    }
}

impl Drop for Trial {
    fn drop(&mut self) {
        self.reader = None;
        // A folder of our own making, in the place for such.
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

fn random() -> u32 {
    use std::hash::{BuildHasher, RandomState};
    Rng(RandomState::new().hash_one(std::process::id())).draw() as u32
}
