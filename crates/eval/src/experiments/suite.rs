//! The topics and webs of an experiment: read from a suite file, or small generated webs.

use super::crawled::Folder;
use super::lab::Graphs;
use super::{Lab, Site};
use crate::Tally;
use crate::cache::{self, CachedWeb};
use crate::labels::{Labels, Rules, Seeds};
use crate::webs::{self, Opened, Recorded};
use crawl::config::Config;
use serde::Deserialize;
use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use types::{Canon, Problem};

/// What an experiment runs on.
pub struct Setting<'a> {
    /// A suite file; `None`: generated webs.
    pub suite: Option<&'a Path>,
    /// Folder of the suite's webs.
    pub webs: &'a Path,
    /// Folders of the suite's topic and label files; they are looked through in this order.
    pub topics: &'a [PathBuf],
    /// Draws of the seeds: `N` or `N..M`.
    pub rng: &'a str,
    /// Pages of each generated web.
    pub pages: u32,
    /// `None`: all cores.
    pub threads: Option<NonZeroUsize>,
    /// Where crawls are kept; `None`: as long as the experiments run.
    pub crawls: Option<PathBuf>,
    /// Called with a line for people before each step.
    pub progress: super::lab::Progress<'a>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Suite {
    site: Vec<SiteEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
struct SiteEntry {
    name: Option<String>,
    web: String,
    topic: Option<String>,
    relevant: String,
    ignore: String,
    /// Below the folders of topics; else the web's own.
    labels: Option<String>,
    seeds: Option<String>,
    narrow: bool,
}

impl Default for SiteEntry {
    fn default() -> Self {
        SiteEntry {
            name: None,
            web: String::new(),
            topic: None,
            relevant: "1,relevant,yes".into(),
            ignore: String::new(),
            labels: None,
            seeds: None,
            narrow: false,
        }
    }
}

/// Generated webs that differ in what the sources' findings depend on. None has endless pages: crawls run to
/// their end.
const GENERATED: [&str; 4] = ["campus", "hubs", "tunnel", "drift"];

impl<'a> Setting<'a> {
    /// Opens the webs. The folder for model files is removed when the second value is dropped.
    pub fn open(&self) -> Result<(Lab<'a>, Scratch), Problem> {
        let all = || std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        let threads = self.threads.unwrap_or_else(all);
        let scratch = Scratch::new()?;
        let lab = Lab {
            sites: self.sites(threads)?,
            rngs: crate::tournament::parse_rngs(Some(self.rng))?,
            threads,
            scratch: scratch.0.clone(),
            crawls: Folder::new(self.crawls.as_deref().unwrap_or(&scratch.0.join("crawls"))),
            graphs: Graphs::default(),
            progress: self.progress,
        };
        Ok((lab, scratch))
    }

    fn sites(&self, threads: NonZeroUsize) -> Result<Vec<Site>, Problem> {
        let entries = match self.suite {
            Some(path) => read(path)?,
            None => generated(self.pages),
        };
        if entries.is_empty() {
            return Err(Problem::usage("the suite names no site").hint("add a [[site]]"));
        }
        // Several topics of one web share its pages.
        let mut opened: Vec<(String, Arc<dyn Recorded>)> = Vec::new();
        entries.iter().map(|e| self.site(e, threads, &mut opened)).collect()
    }

    fn site(
        &self,
        entry: &SiteEntry,
        threads: NonZeroUsize,
        opened: &mut Vec<(String, Arc<dyn Recorded>)>,
    ) -> Result<Site, Problem> {
        let generated = entry.web.starts_with("sim:");
        let place =
            if generated { entry.web.clone() } else { self.webs.join(&entry.web).display().to_string() };
        let folder = cache::default_folder();
        let Opened { web, sim } = webs::open_named(&place, folder.as_deref())?;
        let config = match (&entry.topic, &sim) {
            (Some(topic), _) => Config::read(&below(self.topics, topic), toml::Table::new())?.config,
            (None, Some(sim)) => {
                Config::load(&sim.topic_toml(), "the generated web's topic", toml::Table::new())?.config
            }
            (None, None) => {
                let problem = Problem::usage(format!("{}: no topic", entry.web));
                return Err(problem.hint("add topic = \"FILE.toml\""));
            }
        };
        let labels = match &sim {
            Some(sim) => Labels::parse(&sim.labels_tsv(false), web.as_ref()),
            None => {
                let own = Path::new(&place).join("labels.tsv");
                let file = entry.labels.as_ref().map_or(own, |labels| below(self.topics, labels));
                Labels::open(&file, web.as_ref())?
            }
        };
        let rules = Rules::new(&entry.relevant, &entry.ignore);
        if sim.is_none() {
            labels.check(&rules)?;
        }
        let seeds = match (&sim, &entry.seeds) {
            (Some(sim), _) => Seeds { urls: sim.seeds(), ..Seeds::default() },
            (None, set) => {
                let file = Path::new(&place).join("seeds.tsv").display().to_string();
                Seeds::open(&set.as_ref().map_or(file.clone(), |s| format!("{file}#{s}")))?
            }
        };
        let seeds = seeds.inside(web.as_ref())?.urls;
        let web = if generated {
            web
        } else if let Some((_, web)) = opened.iter().find(|o| o.0 == place) {
            web.clone()
        } else {
            let settings = cache::Settings { folder, ..cache::Settings::default() };
            let extract = extract::Options { canon: Canon::exact(), ..extract::Options::default() };
            let cached = CachedWeb::open(web, extract, &settings, &mut Tally::default());
            let tell = |done, of| (self.progress)(&format!("reading {place}: {done} of {of} pages"));
            cached.build(threads, tell);
            let web: Arc<dyn Recorded> = Arc::new(cached);
            opened.push((place, web.clone()));
            web
        };
        let own = entry.topic.as_deref().map_or(entry.web.as_str(), |t| t.trim_end_matches(".toml"));
        let name = entry.name.clone().unwrap_or_else(|| own.to_string());
        Ok(Site { name, web, config, labels: Arc::new(labels), rules, narrow: entry.narrow, seeds })
    }
}

fn read(path: &Path) -> Result<Vec<SiteEntry>, Problem> {
    let text = fs::read_to_string(path).map_err(|e| Problem::io("read the suite", path, &e))?;
    let suite: Suite = toml::from_str(&text).map_err(|e| {
        Problem::usage(format!("{}: {}", path.display(), e.message()))
            .hint("`gleaner experiment --help` shows what a suite file looks like")
    })?;
    Ok(suite.site)
}

fn generated(pages: u32) -> Vec<SiteEntry> {
    let pages = pages.clamp(100, 1_000_000);
    let entry = |name: &&str| SiteEntry {
        name: Some((*name).to_string()),
        web: format!("sim:{name}?pages={pages}"),
        ..SiteEntry::default()
    };
    GENERATED.iter().map(entry).collect()
}

/// The file in the first folder that has it; if none has, the first folder's, for the message.
fn below(folders: &[PathBuf], file: &str) -> PathBuf {
    let mut all = folders.iter().map(|f| f.join(file));
    all.clone().find(|f| f.exists()).or_else(|| all.next()).unwrap_or_else(|| file.into())
}

/// A folder for as long as the experiments run.
pub struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Result<Scratch, Problem> {
        let dir = std::env::temp_dir().join(format!("gleaner-experiment-{}", std::process::id()));
        fs::create_dir_all(&dir).map_err(|e| Problem::io("create", &dir, &e))?;
        Ok(Scratch(dir))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
