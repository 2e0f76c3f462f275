//! Webs that can be crawled again and again: a folder of pages, WARC files, a generated web.
//!
//! They all answer [`types::Web`] with futures that are ready at once, and [`Recorded`], the same thing
//! without the future plus the little the backtest needs to know of a web: which pages it has, and whether it
//! changed.

mod folder;
pub mod warc;

use crawl::collection::Collection;
use madeup::fetched::{bare, page, redirect};
use std::path::Path;
use std::sync::Arc;
use types::{Canon, Fetched, Problem, Url, Web};

pub use folder::FolderWeb;
pub use madeup::SimWeb;
pub use warc::WarcWeb;

/// A web that holds still.
pub trait Recorded: Web {
    /// The answer to one request: the same as `fetch`, at once.
    fn answer(&self, url: &Url) -> Fetched;

    /// The page a URL ends at, redirects followed; `None` when it ends nowhere.
    fn resolve(&self, url: &Url) -> Option<Url> {
        let mut url = url.clone();
        for _ in 0..=crate::graph::MAX_HOPS {
            let f = self.answer(&url);
            if f.status == 200 {
                return Some(url);
            }
            url = Canon::exact().join(&f.url, f.location.as_deref()?).ok()?;
        }
        None
    }

    /// How many pages the web lists (whatever their type).
    fn pages(&self) -> usize;

    /// The `n`-th of them, in a fixed order.
    fn page(&self, n: usize) -> Option<Url>;

    /// Tells this state of this web from any other, for caches.
    fn identity(&self) -> Identity;

    /// A page of a spider trap: there are endlessly many, so they are no part of what is reachable.
    fn is_trap(&self, _url: &Url) -> bool {
        false
    }

    /// Has it spider traps, so that a crawl of it never ends by itself?
    fn is_endless(&self) -> bool {
        false
    }

    /// What was skipped while reading the web's lists.
    fn notes(&self) -> &crate::Tally;
}

/// A web and, when it is generated, what only the generator knows (labels, topic, seeds).
pub struct Opened {
    /// The web itself.
    pub web: Arc<dyn Recorded>,
    /// The same web with its generator; `None` for recorded webs.
    pub sim: Option<Arc<SimWeb>>,
}

/// Opens what `--web` names: a folder web, a WARC file or a folder of them, or `sim:NAME[?options]`. `cache`
/// is the folder for indexes of WARC files.
pub fn open(place: &str, cache: Option<&Path>) -> Result<Opened, Problem> {
    if place.starts_with("sim:") {
        let sim = Arc::new(SimWeb::open(place)?);
        return Ok(Opened { web: sim.clone(), sim: Some(sim) });
    }
    let path = Path::new(place);
    let is_list = ["urls.tsv", "redirects.tsv", "labels.tsv"].iter().any(|f| path.join(f).exists());
    let web: Arc<dyn Recorded> = if path.is_file() || (!is_list && warc::has_warcs(path)) {
        Arc::new(WarcWeb::open(&[path.to_path_buf()], cache)?)
    } else {
        Arc::new(FolderWeb::open(path)?)
    };
    Ok(Opened { web, sim: None })
}

/// The same for a name that a user gave: it must be there, and a collection stands for its archive.
pub fn open_named(place: &str, cache: Option<&Path>) -> Result<Opened, Problem> {
    let path = Path::new(place);
    if !place.starts_with("sim:") && !path.exists() {
        return Err(Problem::usage(format!("there is no web at {place}"))
            .hint("name a folder HOST/PATH…, WARC files, a collection, or sim:NAME"));
    }
    if Collection::exists(path) {
        return open(&Collection::warc_dir(path).display().to_string(), cache);
    }
    open(place, cache)
}

/// Names one state of one web.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Which web (its path or its `sim:` name).
    pub place: String,
    /// A hash of everything that, when changed, makes it another web (sizes, times, lists).
    pub state: u64,
}

impl Recorded for SimWeb {
    fn answer(&self, url: &Url) -> Fetched {
        SimWeb::answer(self, url)
    }
    fn resolve(&self, url: &Url) -> Option<Url> {
        SimWeb::resolve(self, url)
    }
    fn pages(&self) -> usize {
        self.options().pages as usize
    }
    fn page(&self, n: usize) -> Option<Url> {
        self.url_of(u32::try_from(n).ok()?)
    }
    fn identity(&self) -> Identity {
        let place = format!("sim:{}", self.options().name);
        Identity { place, state: xxhash_rust::xxh3::xxh3_64(self.recipe().as_bytes()) }
    }
    fn is_trap(&self, url: &Url) -> bool {
        SimWeb::is_trap(self, url)
    }
    fn is_endless(&self) -> bool {
        SimWeb::is_endless(self)
    }
    fn notes(&self) -> &crate::Tally {
        static NOTHING: crate::Tally = crate::Tally::new();
        &NOTHING
    }
}
