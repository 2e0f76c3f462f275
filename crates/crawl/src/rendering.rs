//! Which pages are worth a browser? Live crawls only: recorded webs are read as they were recorded.
//!
//! ```text
//!  answer ─► runs scripts? ─► a shell, or like pages that were worth it? ─► render ─► what changed? ─► learnt
//! ```
//!
//! With `render = "auto"` a page is shown in a browser when its own HTML is a shell ([`render::shell`]), and
//! from then on where it was worth while on that host: pages whose addresses have the same *shape* get the
//! same treatment, and one page of each other shape is tried. Where it was not worth while three times, it is
//! left. What came of each page ([`Attempt`]) is a line of state `rendered`, so a crawl that is taken up
//! again knows what it knew, and `gleaner explain` can tell.

use crate::config::{Config, Limits, Render};
use crate::crawl::Ledger;
use extract::{Kind, Options, sniff};
use fetch::Http;
use render::{Remote, Renderer, Settings, Unrendered, Which, shell};
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use store::Records;
use types::{Fetched, Page, Problem, StateKey, Url, UrlId};

/// Longer pages say enough without their scripts.
const LONGEST: usize = 1 << 20;
/// So many failures, or so many pages that it changed nothing on, are enough for one shape.
const ENOUGH: u32 = 3;
/// Parts of a path that its shape has, at most.
const PARTS: usize = 5;
/// Shapes that are remembered.
const MOST_SHAPES: usize = 100_000;

static BROWSER: OnceLock<(PathBuf, bool)> = OnceLock::new();

/// From now on this is the browser: a program, or the DevTools address of one that runs. Said once, by
/// whoever reads the command line: a program to be run is no setting of a topic, which may come from anyone.
/// `elsewhere`: it may run on another machine.
pub fn use_browser(named: PathBuf, elsewhere: bool) {
    let _ = BROWSER.set((named, elsewhere));
}

/// The browser: the one that was named, or the first that is installed.
pub fn browser() -> Result<Option<Which>, Problem> {
    let Some((named, elsewhere)) = BROWSER.get() else { return Ok(render::find().map(Which::Program)) };
    match named.to_str().and_then(Remote::parse) {
        Some(Ok(remote)) if remote.is_here() || *elsewhere => Ok(Some(Which::Remote(remote))),
        Some(Ok(remote)) => Err(Problem::usage(format!("the browser at {remote} is on another machine"))
            .because("what pages say, and who may drive it, goes over the network unencrypted")
            .hint("--browser-elsewhere allows it; an SSH tunnel to it needs no permission")),
        Some(Err(why)) => Err(Problem::usage(format!("{} is no address of a browser", named.display()))
            .because(why)
            .hint("start one with chromium --headless --remote-debugging-port=9222 and say --browser http://127.0.0.1:9222")),
        None if named.is_file() => Ok(Some(Which::Program(named.clone()))),
        None => Err(Problem::usage(format!("there is no browser at {}", named.display())).hint(
            "--browser names the program of Chromium or Chrome, as in /usr/bin/chromium, or where one runs, as in http://127.0.0.1:9222",
        )),
    }
}

/// A renderer for these settings. `None`: no browser is installed. `private`: a folder that is none of the
/// browser's business.
pub fn renderer(
    config: &Config,
    http: &Arc<Http>,
    private: Option<&Path>,
) -> Result<Option<Renderer>, Problem> {
    let Some(browser) = browser()? else { return Ok(None) };
    let settings = crate::collection::Collection::fetch_settings(config)?;
    let limits = &config.limits;
    let settings = Settings {
        browser,
        tabs: limits.render_tabs,
        time: limits.render_time.0,
        memory: limits.render_memory.0,
        scroll: config.fetch.scroll,
        max_html: settings.max_body,
        robots: config.fetch.robots,
        signature: settings.user_agent_sent(),
        user_agent: settings.user_agent,
        private: private.map(Path::to_path_buf),
    };
    Ok(Some(Renderer::new(settings, http.clone())))
}

/// What came of showing one page in a browser.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    /// The page's number.
    pub page: u32,
    /// Host and shape of its address; empty when there was no browser.
    pub shape: String,
    /// Why it was tried, for people.
    pub why: String,
    /// Words of its text, before and after.
    pub words: [usize; 2],
    /// Addresses it links to, before and after.
    pub links: [usize; 2],
    /// Addresses that only scripts brought.
    pub new_links: usize,
    /// How long it took.
    pub ms: u64,
    /// Why it came to nothing: the page was read as it was sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
}

impl Attempt {
    const STATE: StateKey = StateKey::Rendered;

    /// Did scripts bring text or links that were not there?
    pub fn was_worthwhile(&self) -> bool {
        let [before, after] = self.words;
        let more_text = after >= before + 10 && after * 5 >= before * 6;
        let more_links = self.new_links > 0 && self.new_links * 10 >= self.links[0];
        self.failed.is_none() && (more_text || more_links)
    }

    /// The line of state that keeps it.
    pub(crate) fn line(mut self, page: UrlId) -> (StateKey, bool, Vec<u8>) {
        self.page = page.0;
        (Self::STATE, true, serde_json::to_vec(&self).unwrap_or_default())
    }

    /// All that are kept, oldest first.
    pub fn all(store: &(impl Records + ?Sized)) -> Result<impl Iterator<Item = Attempt>, Problem> {
        let lines = store.state(Self::STATE)?;
        Ok(lines.into_iter().filter_map(|line| serde_json::from_slice(&line).ok()))
    }
}

/// What showing pages of one host in a browser came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct HostRendering {
    /// Pages that were tried.
    pub tried: u32,
    /// … on which it brought text or links.
    pub worthwhile: u32,
    /// … that could not be rendered.
    pub failed: u32,
    /// How long all of it took, in milliseconds.
    pub ms: u64,
}

/// What was learnt of each host whose pages were tried.
pub fn by_host(store: &(impl Records + ?Sized)) -> Result<HashMap<String, HostRendering>, Problem> {
    let mut hosts: HashMap<String, HostRendering> = HashMap::new();
    for attempt in Attempt::all(store)?.filter(|a| !a.shape.is_empty()) {
        let host = hosts.entry(attempt.shape.split('/').next().unwrap_or("").to_string()).or_default();
        host.tried += 1;
        host.worthwhile += u32::from(attempt.was_worthwhile());
        host.failed += u32::from(attempt.failed.is_some());
        host.ms = host.ms.saturating_add(attempt.ms);
    }
    Ok(hosts)
}

/// The crawl ends before the page was rendered.
pub struct Stopped;

/// How much of a run may go to the browser. Some pages are always free: a budget must not keep anything from
/// being learnt.
struct Budget {
    /// Share of the HTML pages.
    pages: f64,
    /// Share of the time that has passed, of each tab.
    time: f64,
    tabs: f64,
    read: AtomicU64,
    shown: AtomicU64,
    spent: AtomicU64,
    said: AtomicBool,
}

/// Pages that no budget counts.
const FREE: u64 = 20;

impl Budget {
    fn new(limits: &Limits) -> Budget {
        let (pages, time, tabs) = (limits.render_share, limits.render_time_share, limits.render_tabs as f64);
        let [read, shown, spent] = [(); 3].map(|()| AtomicU64::new(0));
        Budget { pages, time, tabs, read, shown, spent, said: AtomicBool::new(false) }
    }

    /// May one more page be shown, so long after the run began?
    fn allows(&self, since: Duration) -> bool {
        let [read, shown, spent] =
            [&self.read, &self.shown, &self.spent].map(|n| n.load(Ordering::Relaxed) as f64);
        let free = FREE as f64;
        let pages = self.pages >= 1.0 || shown < free + self.pages * read;
        let time =
            self.time >= 1.0 || shown < free || spent < self.time * self.tabs * since.as_millis() as f64;
        let allowed = pages && time;
        if !allowed && !self.said.swap(true, Ordering::SeqCst) {
            tracing::info!(
                pages,
                time,
                "the budget for rendering is spent: pages wait until it grows, or are read as sent"
            );
        }
        allowed
    }
}

/// See the module.
pub struct Rendering {
    always: bool,
    budget: Budget,
    began: Instant,
    /// `None`: no browser is installed, which is said when one is missed.
    renderer: Option<Renderer>,
    learnt: Mutex<Learnt>,
    said: AtomicBool,
}

impl Rendering {
    /// `None`: the settings want no browser.
    pub fn open(
        config: &Config,
        http: &Arc<Http>,
        ledger: &dyn Ledger,
        dir: &Path,
    ) -> Result<Option<Rendering>, Problem> {
        let always = config.fetch.render == Render::Always;
        if config.fetch.render == Render::Never {
            return Ok(None);
        }
        let renderer = renderer(config, http, Some(dir))?;
        if always && renderer.is_none() {
            return Err(no_browser("[fetch] render = \"always\" needs a browser, and none is installed"));
        }
        let mut learnt = Learnt::default();
        Attempt::all(ledger)?.for_each(|attempt| learnt.learn(&attempt));
        let (budget, began) = (Budget::new(&config.limits), Instant::now());
        let (learnt, said) = (Mutex::new(learnt), AtomicBool::new(false));
        Ok(Some(Rendering { always, budget, began, renderer, learnt, said }))
    }

    /// Are pages with such an address known to be worth it?
    pub fn is_worthwhile(&self, url: &Url) -> bool {
        self.always || self.learnt().of(url).is_some_and(Tally::is_worthwhile)
    }

    /// Shows the page in a browser if that is likely to be worth while, and reads it. `None`: there is
    /// nothing to be shown, and it was not read.
    pub async fn visit(
        &self,
        fetched: &mut Fetched,
        options: &Arc<Options>,
    ) -> Result<(Option<Arc<Page>>, Option<Attempt>), Stopped> {
        let Some((before, why)) = self.decide(fetched, options) else { return Ok((None, None)) };
        self.budget.read.fetch_add(1, Ordering::Relaxed);
        let Some(why) = why.filter(|_| self.budget.allows(self.began.elapsed())) else {
            return Ok((Some(before), None));
        };
        let Some(renderer) = &self.renderer else {
            self.miss_the_browser(&fetched.url, "none is installed (Debian's package is `chromium`)");
            return Ok((Some(before), None));
        };
        let began = Instant::now();
        let rendered = renderer.render(fetched).await;
        let mut attempt = Attempt {
            shape: shape(&fetched.url),
            why: why.to_string(),
            words: [words(&before); 2],
            links: [targets(&before).len(); 2],
            ms: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
            ..Attempt::default()
        };
        self.budget.shown.fetch_add(1, Ordering::Relaxed);
        self.budget.spent.fetch_add(attempt.ms, Ordering::Relaxed);
        let mut page = before.clone();
        match rendered {
            Ok(rendered) => {
                fetched.rendered = Some(Arc::new(rendered));
                match read(fetched, options) {
                    Some(after) => {
                        let (old, new) = (targets(&before), targets(&after));
                        attempt.words[1] = words(&after);
                        attempt.links[1] = new.len();
                        attempt.new_links = new.difference(&old).count();
                        page = after;
                    }
                    None => {
                        fetched.rendered = None;
                        attempt.failed = Some("its rendered document cannot be read".into());
                    }
                }
            }
            Err(Unrendered::Stopped) => return Err(Stopped),
            Err(Unrendered::NoBrowser(why)) => {
                self.miss_the_browser(&fetched.url, &why);
                // That says nothing of pages like it.
                attempt.shape.clear();
                attempt.failed = Some(why);
            }
            Err(Unrendered::Page(why)) => {
                tracing::info!(url = %fetched.url, why, "read as it was sent: it cannot be rendered");
                attempt.failed = Some(why);
            }
        }
        self.learnt().learn(&attempt);
        Ok((Some(page), Some(attempt)))
    }

    /// The page as it was sent, and why it should be rendered. `None`: it is no page that scripts run on.
    fn decide(&self, fetched: &Fetched, options: &Options) -> Option<(Arc<Page>, Option<&'static str>)> {
        let (content_type, html) = fetched.readable();
        let is_page = (200..300).contains(&fetched.status)
            && fetched.failure.is_none()
            && !html.is_empty()
            && html.len() <= LONGEST
            && sniff(&fetched.url, content_type, html) == Kind::Html;
        if !is_page || !(self.always || shell::has_scripts(html)) {
            return None;
        }
        let page = read(fetched, options)?;
        if self.always {
            return Some((page, Some("every page is")));
        }
        let looks_empty = shell::reason(html, words(&page), page.links.len());
        let why = self.learnt().decide(&fetched.url, looks_empty);
        Some((page, why))
    }

    fn miss_the_browser(&self, url: &Url, why: &str) {
        if !self.said.swap(true, Ordering::SeqCst) {
            tracing::warn!(%url, why, "pages that need a browser are read as they are sent");
        }
    }

    fn learnt(&self) -> MutexGuard<'_, Learnt> {
        self.learnt.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The crawl ends: what is not rendered after `grace` is given up.
    pub fn stop_within(&self, grace: Duration) {
        self.renderer.iter().for_each(|r| r.stop_within(grace));
    }

    /// The crawl goes on after all.
    pub fn go_on(&self) {
        self.renderer.iter().for_each(Renderer::go_on);
    }
}

/// For whoever needs a browser.
pub fn no_browser(what: &str) -> Problem {
    Problem::usage(what)
        .hint("install Chromium (Debian: apt install chromium), or name one with --browser PATH")
}

/// Reading cannot fail; if it does all the same, the page counts as one that cannot be read.
fn read(fetched: &Fetched, options: &Options) -> Option<Arc<Page>> {
    let (content_type, html) = fetched.readable();
    let x_robots_tag = fetched.header("x-robots-tag");
    let options = options.for_answer(fetched);
    let read = || extract::extract(&fetched.url, content_type, x_robots_tag, html, &options);
    catch_unwind(AssertUnwindSafe(read)).ok().map(Arc::new)
}

fn words(page: &Page) -> usize {
    page.text.split_whitespace().count()
}

fn targets(page: &Page) -> HashSet<&Url> {
    page.links.iter().map(|l| &l.url).collect()
}

/// What is known of addresses of one shape.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    tried: u32,
    worthwhile: u32,
    failed: u32,
}

impl Tally {
    fn is_worthwhile(&self) -> bool {
        self.worthwhile * 2 >= self.tried && self.worthwhile > 0
    }

    fn is_hopeless(&self) -> bool {
        self.worthwhile == 0 && self.tried >= ENOUGH || self.failed >= ENOUGH && self.failed > self.worthwhile
    }
}

#[derive(Default)]
struct Learnt {
    shapes: HashMap<String, Tally>,
    /// Hosts where it was worth while.
    hosts: HashSet<String>,
}

impl Learnt {
    fn of(&self, url: &Url) -> Option<&Tally> {
        // Nothing is known of most crawls' hosts.
        if self.shapes.is_empty() { None } else { self.shapes.get(&shape(url)) }
    }

    fn decide(&self, url: &Url, looks_empty: Option<&'static str>) -> Option<&'static str> {
        match self.of(url) {
            Some(known) if known.is_hopeless() => None,
            Some(known) if known.is_worthwhile() => Some("it was worth while on pages like it"),
            Some(_) => looks_empty,
            None if looks_empty.is_some() => looks_empty,
            None => {
                self.hosts.contains(url.host_key()).then_some("it was worth while on other pages of its host")
            }
        }
    }

    fn learn(&mut self, attempt: &Attempt) {
        if attempt.shape.is_empty() {
            return;
        }
        if self.shapes.len() >= MOST_SHAPES && !self.shapes.contains_key(&attempt.shape) {
            return;
        }
        let tally = self.shapes.entry(attempt.shape.clone()).or_default();
        tally.tried += 1;
        tally.failed += u32::from(attempt.failed.is_some());
        if attempt.was_worthwhile() {
            tally.worthwhile += 1;
            let host = attempt.shape.split('/').next().unwrap_or("");
            if !self.hosts.contains(host) {
                self.hosts.insert(host.to_string());
            }
        }
    }
}

/// The shape of an address: its host, the first part of its path if that is a word, and how many parts come
/// after it. `example.org/course/12` and `example.org/course/db101` have the same.
fn shape(url: &Url) -> String {
    let mut out = url.host_key().to_string();
    push_shape(url.path(), &mut out);
    if out.len() == url.host_key().len() {
        out.push('/');
    }
    if url.query().is_some() {
        out.push('?');
    }
    // A view of an application has a shape, as a path has.
    if let Some(route) = url.route() {
        out.push('#');
        push_shape(route, &mut out);
    }
    out
}

fn push_shape(path: &str, out: &mut String) {
    let parts = path.split(['/', '!']).filter(|p| !p.is_empty());
    for (i, part) in parts.take(PARTS).enumerate() {
        let is_word =
            i == 0 && part.len() <= 30 && !part.contains(|c: char| c.is_ascii_digit() || ".?=&".contains(c));
        out.push('/');
        out.push_str(if is_word { part } else { "*" });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::Canon;

    fn url(text: &str) -> Url {
        Canon::default().parse(text).unwrap()
    }

    fn attempt(address: &str, words: [usize; 2], links: [usize; 2]) -> Attempt {
        let new_links = links[1].saturating_sub(links[0]);
        Attempt { shape: shape(&url(address)), words, links, new_links, ..Attempt::default() }
    }

    #[test]
    fn shapes() {
        for (address, expected) in [
            ("http://a.org/", "a.org/"),
            ("http://a.org/course/12", "a.org/course/*"),
            ("http://a.org/course/db101/", "a.org/course/*"),
            ("http://a.org/2024/05/x", "a.org/*/*/*"),
            ("http://a.org/p?id=1", "a.org/p?"),
            ("http://a.org/#/course/12", "a.org/#/course/*"),
            ("http://a.org/app?x#!course", "a.org/app?#/course"),
            ("http://a.org/index.html", "a.org/*"),
            ("http://a.org:8080/a/b/c/d/e/f/g", "a.org:8080/a/*/*/*/*"),
        ] {
            assert_eq!(shape(&url(address)), expected, "{address}");
        }
    }

    #[test]
    fn a_budget_is_a_share_of_pages_and_of_time() {
        let limits = Limits { render_share: 0.1, render_time_share: 0.5, ..Limits::default() };
        let budget = Budget::new(&limits);
        let set = |read, shown, spent| {
            budget.read.store(read, Ordering::Relaxed);
            budget.shown.store(shown, Ordering::Relaxed);
            budget.spent.store(spent, Ordering::Relaxed);
            budget.allows(Duration::from_secs(100))
        };
        assert!(set(1, FREE - 1, 1_000_000), "the first ones are free");
        assert!(set(100, FREE + 9, 0) && !set(100, FREE + 10, 0), "a tenth of the pages");
        // Half of 100 seconds of two tabs.
        assert!(set(10_000, 100, 99_999) && !set(10_000, 100, 100_000));
        let whole = Budget::new(&Limits::default());
        whole.shown.store(1_000_000, Ordering::Relaxed);
        whole.spent.store(u64::MAX, Ordering::Relaxed);
        assert!(whole.allows(Duration::ZERO), "there is no budget unless one is set");
    }

    #[test]
    fn what_is_worth_while() {
        assert!(attempt("http://a.org/", [0, 50], [0, 0]).was_worthwhile());
        assert!(attempt("http://a.org/", [500, 500], [5, 9]).was_worthwhile());
        assert!(!attempt("http://a.org/", [500, 520], [50, 51]).was_worthwhile());
        assert!(!attempt("http://a.org/", [0, 3], [0, 0]).was_worthwhile(), "three words are no page");
        let failed = Attempt { failed: Some("hangs".into()), ..attempt("http://a.org/", [0, 50], [0, 9]) };
        assert!(!failed.was_worthwhile());
    }

    #[test]
    fn it_learns_by_host_and_shape() {
        let mut learnt = Learnt::default();
        let (course, about) = (url("http://a.org/course/1"), url("http://a.org/about"));
        assert_eq!(learnt.decide(&course, None), None);
        assert_eq!(learnt.decide(&course, Some("shell")), Some("shell"));
        learnt.learn(&attempt("http://a.org/course/7", [1, 300], [0, 20]));
        assert!(learnt.decide(&course, None).unwrap().contains("pages like it"));
        assert!(learnt.decide(&about, None).unwrap().contains("of its host"));
        assert_eq!(learnt.decide(&url("http://b.org/course/1"), None), None);
        // One page of another shape is tried; when it brings nothing, only shells are.
        learnt.learn(&attempt("http://a.org/about", [300, 300], [9, 9]));
        assert_eq!(learnt.decide(&about, None), None);
        assert_eq!(learnt.decide(&about, Some("shell")), Some("shell"));
        for _ in 0..2 {
            learnt.learn(&attempt("http://a.org/about", [0, 0], [0, 0]));
        }
        assert_eq!(learnt.decide(&about, Some("shell")), None, "three times in vain");
    }
}
