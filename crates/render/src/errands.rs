//! Which of a page's requests are answered, and by whom.
//!
//! Pages ask for scripts, style sheets, data and frames, and these are fetched as pages are: by the same
//! [`Http`], if robots.txt allows it. Scripts and style sheets are kept for the pages to come, so that a site
//! is not asked for its program with every page. Everything else is not needed to know what a page says.

use fetch::Http;
use fetch::robots::Robots;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::OnceCell;
use types::{Fetched, Request, Task, Url, Web};

/// Bytes of scripts and style sheets kept for later pages.
const KEPT_BYTES: usize = 64 << 20;
/// A kept answer is asked for again after this.
const KEPT_FOR: Duration = Duration::from_secs(3600);
/// Hosts whose robots.txt is remembered.
const MOST_ROBOTS: usize = 2_000;

/// Hosts that watch visitors and show nothing.
const TRACKERS: &[&str] = &[
    "google-analytics.com",
    "googletagmanager.com",
    "googletagservices.com",
    "googlesyndication.com",
    "googleadservices.com",
    "doubleclick.net",
    "facebook.net",
    "hotjar.com",
    "clarity.ms",
    "segment.com",
    "segment.io",
    "mixpanel.com",
    "amplitude.com",
    "fullstory.com",
    "newrelic.com",
    "nr-data.net",
    "sentry.io",
    "scorecardresearch.com",
    "quantserve.com",
    "criteo.com",
    "criteo.net",
    "taboola.com",
    "outbrain.com",
    "adnxs.com",
    "bat.bing.com",
    "mc.yandex.ru",
    "matomo.cloud",
    "plausible.io",
    "cookielaw.org",
    "onetrust.com",
];

/// What a page asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Frame,
    Script,
    Style,
    Data,
    Picture,
    /// Fonts, films, streams, reports: never answered.
    Other,
}

impl Kind {
    /// From the protocol's resource type.
    pub fn of(text: &str) -> Kind {
        match text {
            "Document" => Kind::Frame,
            "Script" => Kind::Script,
            "Stylesheet" => Kind::Style,
            "XHR" | "Fetch" => Kind::Data,
            "Image" => Kind::Picture,
            _ => Kind::Other,
        }
    }

    fn is_kept(self) -> bool {
        matches!(self, Kind::Script | Kind::Style)
    }
}

/// What came of a request.
pub enum Errand {
    /// `fresh`: it was asked for just now.
    Done {
        answer: Arc<Fetched>,
        fresh: bool,
    },
    Refused,
}

pub struct Errands {
    http: Arc<Http>,
    /// The token that robots.txt is read for; `None`: it is not obeyed.
    agent: Option<String>,
    robots: Mutex<HashMap<String, Arc<OnceCell<Robots>>>>,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    answers: HashMap<Url, (Instant, Arc<Fetched>)>,
    order: VecDeque<Url>,
    bytes: usize,
}

impl Errands {
    pub fn new(http: Arc<Http>, agent: Option<String>) -> Errands {
        Errands { http, agent, robots: Mutex::default(), kept: Mutex::default() }
    }

    /// Is this host there to watch visitors?
    pub fn is_tracker(url: &Url) -> bool {
        let host = url.host();
        let is = |t: &str| host.strip_suffix(t).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
        TRACKERS.iter().any(|t| is(t))
    }

    pub async fn fetch(&self, url: &Url, kind: Kind, accept: &str) -> Errand {
        if kind.is_kept()
            && let Some(answer) = self.kept(url)
        {
            return Errand::Done { answer, fresh: false };
        }
        if !self.allowed(url).await {
            return Errand::Refused;
        }
        let answer = Arc::new(self.http.resource(url, accept).await);
        if kind.is_kept() && answer.status == 200 && answer.failure.is_none() && answer.truncated.is_none() {
            self.keep(url, &answer);
        }
        Errand::Done { answer, fresh: true }
    }

    async fn allowed(&self, url: &Url) -> bool {
        let Some(agent) = &self.agent else { return true };
        let cell = {
            let mut robots = self.robots.lock().unwrap_or_else(PoisonError::into_inner);
            if robots.len() >= MOST_ROBOTS {
                robots.clear();
            }
            robots.entry(url.robots_txt().as_str().to_string()).or_default().clone()
        };
        let ask = || async {
            let request =
                Request { url: url.robots_txt(), task: Task::Robots, etag: None, last_modified: None };
            let answer = self.http.fetch(&request).await;
            let status = if answer.failure.is_some() { 0 } else { answer.status };
            Robots::from_answer(status, answer.payload.decoded(), agent)
        };
        cell.get_or_init(ask).await.allows(url)
    }

    fn kept(&self, url: &Url) -> Option<Arc<Fetched>> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let (since, answer) = kept.answers.get(url)?;
        (since.elapsed() < KEPT_FOR).then(|| answer.clone())
    }

    fn keep(&self, url: &Url, answer: &Arc<Fetched>) {
        let control = answer.header("cache-control").unwrap_or("").to_ascii_lowercase();
        let size = answer.payload.decoded().len();
        if control.contains("no-store") || size > KEPT_BYTES / 4 {
            return;
        }
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, old)) = kept.answers.insert(url.clone(), (Instant::now(), answer.clone())) {
            kept.bytes = kept.bytes.saturating_sub(old.payload.decoded().len());
        } else {
            kept.order.push_back(url.clone());
        }
        kept.bytes += size;
        while kept.bytes > KEPT_BYTES
            && let Some(oldest) = kept.order.pop_front()
        {
            if let Some((_, old)) = kept.answers.remove(&oldest) {
                kept.bytes = kept.bytes.saturating_sub(old.payload.decoded().len());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::Canon;

    #[test]
    fn trackers_by_their_whole_name() {
        let tracker = |text: &str| Errands::is_tracker(&Canon::exact().parse(text).unwrap());
        assert!(tracker("https://www.google-analytics.com/ga.js"));
        assert!(tracker("https://doubleclick.net/"));
        assert!(!tracker("https://notdoubleclick.net/"));
        assert!(!tracker("https://www.example.org/doubleclick.net"));
    }
}
