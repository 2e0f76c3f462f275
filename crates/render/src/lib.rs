//! What does a page say once its scripts have run?
//!
//! [`Renderer`] shows a page in a browser (Chromium, from the system) and reads the document that its scripts
//! made. The browser fetches nothing itself: it asks for everything through the DevTools protocol, and
//! [`fetch::Http`] answers, with the guard, the limits and the manners of any other request. Whatever escapes
//! that (WebSocket, WebRTC, service workers) meets a proxy that does not exist.
//!
//! ```text
//!  static page ──► tab ──► requestPaused ──► errands ──► fetch::Http ──► fulfillRequest ──► tab
//!                   └──── quiet ──► scroll ──► DOM snapshot ──► HTML ──► types::Rendered
//! ```
//!
//! | file | what |
//! |---|---|
//! | `shell` | does a page need its scripts to say anything? Pure |
//! | `process` | the browser as a process: how it is started, watched and ended |
//! | `user` | as whom it runs: never as root |
//! | `protocol` | questions and events, over its pipe or a socket |
//! | `socket` | the line to a browser that somebody else started |
//! | `tab` | one page, from its beginning to its snapshot |
//! | `errands` | which of a page's requests are answered, and by whom |
//! | `snapshot` | the browser's copy of the document → HTML |

#![warn(missing_docs)]

mod errands;
mod process;
mod protocol;
pub mod shell;
mod snapshot;
mod socket;
mod tab;
mod user;

pub use process::find;
pub use socket::Remote;

use errands::Errands;
use fetch::Http;
use process::Browser;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Mutex, Semaphore, watch};
use tokio::time::Instant;
use types::{Fetched, Rendered};

/// A browser that does not start so many times in a row is not tried again.
const STARTS: u32 = 3;
/// A browser is replaced after so many pages: whatever it has piled up goes with it.
const PAGES_PER_BROWSER: u32 = 200;

/// The browser that pages are shown in.
#[derive(Clone, Debug)]
pub enum Which {
    /// One of our own, of this program.
    Program(PathBuf),
    /// One that runs already.
    Remote(Remote),
}

impl fmt::Display for Which {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Which::Program(program) => write!(f, "{}", program.display()),
            Which::Remote(remote) => write!(f, "{remote}"),
        }
    }
}

/// How pages are rendered.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The browser.
    pub browser: Which,
    /// Pages at the same time, at most.
    pub tabs: usize,
    /// Longest that one page may take, by the clock on the wall.
    pub time: Duration,
    /// Most memory of one page's process, in bytes.
    pub memory: u64,
    /// How often a page is scrolled to its end, at most.
    pub scroll: u32,
    /// Longest document that is taken, in bytes of HTML.
    pub max_html: usize,
    /// Obey robots.txt, for everything that a page asks for.
    pub robots: bool,
    /// The token that robots.txt is read for.
    pub user_agent: String,
    /// What scripts are told of us, after the browser's own name.
    pub signature: String,
    /// A folder that a browser of root's does not see, whatever it can read: the collection.
    pub private: Option<PathBuf>,
}

/// Why a page was not rendered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unrendered {
    /// The crawl ends.
    Stopped,
    /// There is no browser that works. For people.
    NoBrowser(String),
    /// The page did not let itself be rendered. For people.
    Page(String),
}

/// Renders pages. The browser is started with the first one and ends with this value.
pub struct Renderer {
    settings: Settings,
    errands: Arc<Errands>,
    tabs: Semaphore,
    browser: Mutex<Slot>,
    /// When everything that is under way is given up.
    stop_at: watch::Sender<Option<Instant>>,
}

#[derive(Default)]
struct Slot {
    browser: Option<Arc<Browser>>,
    pages: u32,
    failed_starts: u32,
    why: String,
}

impl Renderer {
    /// `http` answers all that pages ask for.
    pub fn new(settings: Settings, http: Arc<Http>) -> Renderer {
        Renderer {
            errands: Arc::new(Errands::new(http, settings.robots.then(|| settings.user_agent.clone()))),
            tabs: Semaphore::new(settings.tabs.max(1)),
            browser: Mutex::default(),
            stop_at: watch::Sender::new(None),
            settings,
        }
    }

    /// Shows a page that has been fetched. Waits for a free tab first.
    pub async fn render(&self, page: &Fetched) -> Result<Rendered, Unrendered> {
        tokio::select! {
            rendered = self.render_unless_stopped(page) => rendered,
            () = self.stopped() => Err(Unrendered::Stopped),
        }
    }

    /// The crawl ends: what is not rendered by then is [`Unrendered::Stopped`].
    pub fn stop_within(&self, grace: Duration) {
        self.stop_at.send_replace(Some(Instant::now() + grace));
    }

    /// The crawl goes on after all.
    pub fn go_on(&self) {
        self.stop_at.send_replace(None);
    }

    async fn stopped(&self) {
        let mut stop_at = self.stop_at.subscribe();
        loop {
            let at = *stop_at.borrow_and_update();
            let moved = match at {
                Some(at) => tokio::time::timeout_at(at, stop_at.changed()).await,
                None => Ok(stop_at.changed().await),
            };
            if moved.is_err() {
                return;
            }
        }
    }

    async fn render_unless_stopped(&self, page: &Fetched) -> Result<Rendered, Unrendered> {
        let Ok(_tab) = self.tabs.acquire().await else { return Err(Unrendered::Stopped) };
        let mut tried = 0;
        loop {
            let browser = self.browser().await?;
            let got = tab::render(&browser, page, &self.errands, &self.settings).await;
            match got {
                Ok(rendered) => return Ok(rendered),
                // Another page may have brought it down.
                Err(tab::Trouble::BrowserGone) if tried == 0 => {
                    tried += 1;
                    self.forget(&browser).await;
                }
                Err(tab::Trouble::BrowserGone) => {
                    self.forget(&browser).await;
                    return Err(Unrendered::Page("the browser broke down over it".into()));
                }
                Err(tab::Trouble::Hangs) => {
                    // Its tab is told to crash; a browser that cannot even do that is replaced.
                    if !browser.answers().await {
                        self.forget(&browser).await;
                    }
                    let time = self.settings.time.as_secs();
                    return Err(Unrendered::Page(format!("its scripts do not end within {time} seconds")));
                }
                Err(tab::Trouble::Page(why)) => return Err(Unrendered::Page(why)),
            }
        }
    }

    async fn browser(&self) -> Result<Arc<Browser>, Unrendered> {
        let mut slot = self.browser.lock().await;
        if slot.pages >= PAGES_PER_BROWSER {
            // Pages that are under way keep the old one until they are done.
            (slot.browser, slot.pages) = (None, 0);
        }
        slot.pages += 1;
        if let Some(browser) = slot.browser.as_ref().filter(|b| b.is_alive()) {
            return Ok(browser.clone());
        }
        slot.browser = None;
        while slot.failed_starts < STARTS {
            match Browser::start(&self.settings).await {
                Ok(browser) => {
                    let browser = Arc::new(browser);
                    (slot.browser, slot.pages, slot.failed_starts) = (Some(browser.clone()), 1, 0);
                    return Ok(browser);
                }
                Err(e) => {
                    slot.failed_starts += 1;
                    slot.why = e.to_string();
                }
            }
        }
        let what = if matches!(self.settings.browser, Which::Program(_)) { "start" } else { "answer" };
        Err(Unrendered::NoBrowser(format!("{} does not {what}: {}", self.settings.browser, slot.why)))
    }

    /// Nobody else is given this browser.
    async fn forget(&self, browser: &Arc<Browser>) {
        let mut slot = self.browser.lock().await;
        if slot.browser.as_ref().is_some_and(|b| Arc::ptr_eq(b, browser)) {
            slot.browser = None;
        }
    }
}
