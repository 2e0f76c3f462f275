//! How a label reaches a collection. If nobody crawls into the folder, the judge is taught here and now. If
//! another process crawls, the label goes into the folder's inbox. If workers share the crawl, it goes to
//! them through their database. The command line and the dashboard use the same routes.

use crate::pages::{PageSourceArgs, Pages};
use crawl::collection::Collection;
use crawl::config::Config;
use crawl::reader::Reader;
use crawl::steer::fleet::{Address, FleetCommand};
use crawl::steer::inbox::Inbox;
use crawl::steer::stopped::StoppedCollection;
use crawl::steer::{Command, Effect};
use std::cell::OnceCell;
use std::path::{Path, PathBuf};
use std::time::Duration;
use types::{Fetched, Problem, Url, UrlId};

/// How long a running crawl is waited for: it may be reading a large page.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long the workers of a shared crawl are waited for.
const WORKERS: Duration = Duration::from_secs(10);
/// Labels in one command to them.
const AT_ONCE: usize = 10_000;

/// What is said of pages; `None` takes it back.
pub type LabelList = [(UrlId, Option<bool>)];

pub enum LabelRoute {
    /// Nobody crawls into the folder: it is open here. `dirty`: its report is older than its labels.
    Folder { teaching: Box<StoppedCollection>, dir: PathBuf, dirty: bool },
    /// Another process does.
    Inbox { dir: PathBuf },
    /// Workers share it.
    Shared { store: String, crawl: String, who: String },
}

impl LabelRoute {
    /// To the collection in a folder.
    pub fn to_folder(dir: &Path) -> Result<LabelRoute, Problem> {
        if !store::ledger::is_locked(dir) {
            match open(dir) {
                Ok(teaching) => {
                    let dir = dir.to_path_buf();
                    return Ok(LabelRoute::Folder { teaching: Box::new(teaching), dir, dirty: false });
                }
                // A crawl may have begun just now.
                Err(problem) if !store::ledger::is_locked(dir) => return Err(problem),
                Err(_) => {}
            }
        }
        Ok(LabelRoute::Inbox { dir: dir.to_path_buf() })
    }

    pub fn to_shared(store: &str, crawl: &str, who: String) -> LabelRoute {
        LabelRoute::Shared { store: store.into(), crawl: crawl.into(), who }
    }

    /// For people.
    pub fn describe(&self) -> &'static str {
        match self {
            LabelRoute::Folder { .. } => {
                "nobody crawls into this folder: each answer is obeyed here, at once"
            }
            LabelRoute::Inbox { .. } => {
                "a crawl is running here: answers go through its folder's inbox, and it obeys at once"
            }
            LabelRoute::Shared { .. } => "a shared crawl: answers go to its workers through the database",
        }
    }

    /// Is the folder locked by this very process?
    pub fn holds_folder(&self) -> bool {
        matches!(self, LabelRoute::Folder { .. })
    }

    /// Says something of pages and waits for what comes of it. `reader` knows the collection.
    pub fn say(&mut self, reader: &Reader, said: &LabelList) -> Result<Effect, Problem> {
        match self {
            LabelRoute::Shared { store, crawl, who } => {
                let to = Address { store, crawl, who, patience: WORKERS };
                let mut last = Effect::says("nothing was said");
                for some in said.chunks(AT_ONCE) {
                    last = FleetCommand::new(reader, Command::Labels(some.to_vec()))?.give(&to)?;
                }
                Ok(last)
            }
            LabelRoute::Folder { .. } | LabelRoute::Inbox { .. } => self.say_in_folder(said),
        }
    }

    /// As `say`, to the collection in a folder.
    pub fn say_in_folder(&mut self, said: &LabelList) -> Result<Effect, Problem> {
        match self {
            LabelRoute::Folder { teaching, dirty, .. } => {
                teaching.read_inbox();
                *dirty = true;
                teaching.label(said)
            }
            LabelRoute::Inbox { dir } => {
                let command = Command::Labels(said.to_vec());
                let running = || store::ledger::is_locked(dir);
                match Inbox::of(dir).ask(&command, PATIENCE, &running)? {
                    Some(effect) => Ok(effect),
                    // It has ended: then it is ours.
                    None => {
                        let mut teaching = Box::new(open(dir)?);
                        let effect = teaching.label(said)?;
                        *self = LabelRoute::Folder { teaching, dir: std::mem::take(dir), dirty: true };
                        Ok(effect)
                    }
                }
            }
            LabelRoute::Shared { .. } => Err(Problem::new("a shared crawl has no folder")),
        }
    }

    /// Obeys what other processes left in the inbox of a folder that is open here.
    pub fn read_inbox(&mut self) {
        if let LabelRoute::Folder { teaching, .. } = self {
            teaching.read_inbox();
        }
    }

    /// Lets go of the collection. Its report tells of the labels.
    pub fn close(self) -> Result<(), Problem> {
        match self {
            LabelRoute::Folder { teaching, dir, dirty } => {
                teaching.close()?;
                if dirty { crate::report::write(&dir) } else { Ok(()) }
            }
            LabelRoute::Inbox { .. } | LabelRoute::Shared { .. } => Ok(()),
        }
    }
}

/// Who gives a command, for those who look later: by what, and from where.
pub fn who(by: &str) -> String {
    let user = ["USER", "LOGNAME"].iter().find_map(|name| std::env::var(name).ok()).unwrap_or_default();
    let host = std::fs::read_to_string("/etc/hostname").unwrap_or_default();
    match (user.trim(), host.trim()) {
        ("", "") => by.to_string(),
        (user, "") => format!("{by} of {user}"),
        ("", host) => format!("{by} on {host}"),
        (user, host) => format!("{by} of {user} on {host}"),
    }
}

fn open(dir: &Path) -> Result<StoppedCollection, Problem> {
    let loaded = Config::read(&Collection::topic_file(dir), toml::Table::new())?;
    let answer = examples(Some(dir), &loaded.config);
    StoppedCollection::open(dir, &loaded, &answer)
}

/// Brings example pages of a topic: from the collection in a folder, or else from the Web. Most topics have
/// none: nothing is opened before the first.
pub fn examples(dir: Option<&Path>, config: &Config) -> impl Fn(&Url) -> Result<Fetched, Problem> {
    let pages: OnceCell<Pages> = OnceCell::new();
    let (dir, config) = (dir.map(Path::to_path_buf), config.clone());
    move |url| {
        if pages.get().is_none() {
            let from = PageSourceArgs { collection: dir.clone(), web: None };
            let _ = pages.set(Pages::open(&from, &config)?);
        }
        match pages.get() {
            Some(pages) => pages.answer_or_fetch(url),
            None => Err(Problem::new("the example pages cannot be read")),
        }
    }
}
