//! One page in the browser, from its beginning to its snapshot.
//!
//! A page gets a profile of its own that ends with it. Its clock is the browser's virtual one: it stands still
//! while the page waits for an answer and runs ahead while nothing happens, so that a page is as far as it
//! will get after seconds of its own time and milliseconds of ours, on a busy machine as on an idle one. What
//! never ends is ended by the clock on the wall.

use crate::Settings;
use crate::errands::{Errand, Errands, Kind};
use crate::process::{Browser, Contexts};
use crate::protocol::{Event, Line};
use crate::snapshot::{self, Captured, Route};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::JoinSet;
use tokio::time::Instant;
use types::{Canon, Fetched, Rendered, Url};

/// How long a page may go on by its own clock: at first, after each scroll, after each click.
const FIRST: u32 = 5_000;
const AFTER_SCROLL: u32 = 1_500;
const AFTER_CLICK: u32 = 300;
/// One frame.
const FRAME: u32 = 16;
/// Longest that opening and closing a tab may take.
const SETUP: Duration = Duration::from_secs(20);
/// A page whose time is over still has so long to be read.
const LAST_LOOK: Duration = Duration::from_secs(3);
/// Answers that are fetched for one page at the same time.
const AT_ONCE: usize = 4;
/// Requests that one page may make; more than that is no page.
const MOST_ASKED: usize = 2_000;
/// Requests of one page that are answered, and the bytes they may bring.
const MOST_ANSWERED: usize = 200;
const MOST_BYTES: usize = 40 << 20;
const MOST_ROUTES: usize = 200;
/// Elements that are clicked because they look like links and have no address.
const MOST_CLICKS: u32 = 20;

/// A picture of one point, for pages that wait for their pictures.
const PIXEL: &[u8] =
    b"GIF89a\x01\x00\x01\x00\x80\x00\x00\x00\x00\x00\xff\xff\xff!\xf9\x04\x01\x00\x00\x00\x00,\
    \x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00;";

/// Scrolls to the end, presses "load more", and says how many elements there are.
const SCROLL: &str = r"(() => {
  const more = /^\s*(\+\s*)?((load|show|see|view) more|more results|more)\b|mehr (laden|anzeigen)|weitere .*(laden|anzeigen)|(voir|afficher|charger) plus|(cargar|ver|mostrar) más|carregar mais|carica altr/i;
  const isMore = e => more.test((e.innerText || e.value || '').slice(0, 80)) && !e.disabled && e.getClientRects().length;
  const button = [...document.querySelectorAll('button,[role=button],input[type=button],a:not([href]),a[href^=\x22#\x22]')].find(isMore);
  if (button) button.click();
  for (const e of [...document.querySelectorAll('main,section,div,ul,ol')].slice(0, 3000)) {
    if (e.scrollHeight > e.clientHeight + 50 && /auto|scroll/.test(getComputedStyle(e).overflowY)) e.scrollTop = e.scrollHeight;
  }
  scrollTo(0, (document.scrollingElement || document.body || {}).scrollHeight || 0);
  return document.getElementsByTagName('*').length;
})()";

/// Takes the n-th element that looks like a link and has no address: clicks it, or says its words (null: there
/// is none).
const CLICK: &str = r"((n, click) => {
  const all = document.querySelectorAll('a:not([href]),[role=link]:not(a[href]),[data-href]:not(a[href]),[routerlink]:not(a[href])');
  const e = all[n];
  if (!e) return null;
  if (click) e.click();
  return (e.innerText || e.getAttribute('aria-label') || '').trim().slice(0, 200);
})";

/// The network of a profile in a browser that has one: nothing leads anywhere, not even to its own machine.
const NO_NETWORK: [(&str, &str); 2] =
    [("proxyServer", "socks5://gleaner.invalid:1"), ("proxyBypassList", "<-loopback>")];
/// What does not care about proxies is taken from the page before it begins, and windows are given no opener,
/// who could find it there.
const NO_DATAGRAMS: &str = r"(() => {
  for (const name of ['RTCPeerConnection', 'webkitRTCPeerConnection', 'RTCIceTransport', 'WebTransport', 'UDPSocket', 'TCPSocket', 'TCPServerSocket']) delete globalThis[name];
  const open = globalThis.open;
  if (open) globalThis.open = (url, name) => { open.call(globalThis, url ?? '', name ?? '', 'noopener'); return null; };
})()";

/// Why there is no rendered page.
pub enum Trouble {
    BrowserGone,
    /// It does not come to an end, and does not even let itself be read.
    Hangs,
    Page(String),
}

/// Shows a page and reads it.
pub async fn render(
    browser: &Browser,
    page: &Fetched,
    errands: &Arc<Errands>,
    settings: &Settings,
) -> Result<Rendered, Trouble> {
    let mut tab = Tab::open(browser, page, errands).await?;
    let until = Instant::now() + settings.time;
    tab.show(page.url.as_str(), until).await?;
    tab.paint(until).await?;
    let mut elements = 0;
    for _ in 0..settings.scroll {
        if Instant::now() >= until {
            break;
        }
        let now = tab.evaluate(SCROLL, until).await.and_then(|v| v.as_u64()).unwrap_or(0);
        if now <= elements {
            break;
        }
        elements = now;
        tab.paint(until).await?;
        tab.go_on(AFTER_SCROLL, until).await?;
    }
    let captured = tab.capture(until.max(Instant::now() + LAST_LOOK)).await?;
    tab.explore(until).await?;
    tab.ids.done = true;
    let html = snapshot::html(&captured, &tab.routes, settings.max_html);
    let html = html.ok_or_else(|| Trouble::Page("it has no document".into()))?;
    Ok(Rendered { html: html.into(), resources: std::mem::take(&mut tab.resources) })
}

struct Tab<'a> {
    line: Line,
    ids: Ids,
    page: &'a Fetched,
    /// The site that frames have to be of.
    site: String,
    events: UnboundedReceiver<Event>,
    errands: &'a Arc<Errands>,
    answers: JoinSet<(String, Kind, Errand)>,
    at_once: Arc<Semaphore>,
    /// The page itself was given to the browser.
    served: bool,
    /// Its time is up, by its own clock.
    quiet: bool,
    crashed: bool,
    asked: usize,
    answered: usize,
    bytes: usize,
    routes: Vec<Route>,
    /// Words of the element that was clicked last.
    clicked: String,
    /// A route was taken by the last click.
    moved: bool,
    resources: Vec<Fetched>,
    /// What was answered, for a page that is left by a click and comes back.
    answers_given: HashMap<String, Arc<Fetched>>,
    /// The page was read: nothing more is fetched for it.
    is_read: bool,
}

/// What the browser calls the tab. It is closed with this value, whatever happens.
struct Ids {
    line: Line,
    contexts: Contexts,
    context: String,
    target: String,
    session: String,
    /// The page let itself be read to the end.
    done: bool,
}

impl Drop for Ids {
    fn drop(&mut self) {
        self.line.forget(&self.session);
        if !self.done {
            // Scripts that do not end would keep the tab.
            self.line.tell(Some(&self.session), "Page.crash", json!({}));
        }
        self.line.tell(None, "Target.closeTarget", json!({ "targetId": self.target }));
        self.line.tell(None, "Target.disposeBrowserContext", json!({ "browserContextId": self.context }));
        contexts(&self.contexts).remove(&self.context);
    }
}

fn contexts(all: &Contexts) -> MutexGuard<'_, HashSet<String>> {
    all.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<'a> Tab<'a> {
    async fn open(
        browser: &Browser,
        page: &'a Fetched,
        errands: &'a Arc<Errands>,
    ) -> Result<Tab<'a>, Trouble> {
        let line = browser.line.clone();
        let text = |value: Value, key: &str| {
            let id = value.get(key).and_then(Value::as_str).map(str::to_string);
            id.ok_or(Trouble::BrowserGone)
        };
        let ask = async |method: &str, params: Value| {
            browser.ask(SETUP, method, params).await.ok_or(Trouble::BrowserGone)
        };
        let mut profile = json!({ "disposeOnDetach": true });
        if let Some(profile) = profile.as_object_mut().filter(|_| browser.is_far) {
            profile.extend(NO_NETWORK.map(|(key, value)| (key.to_string(), value.into())));
        }
        let context = text(ask("Target.createBrowserContext", profile).await?, "browserContextId")?;
        contexts(&browser.contexts).insert(context.clone());
        let mut ids = Ids {
            line: line.clone(),
            contexts: browser.contexts.clone(),
            context,
            target: String::new(),
            session: String::new(),
            done: false,
        };
        let deny = json!({ "behavior": "deny", "browserContextId": ids.context });
        ask("Browser.setDownloadBehavior", deny).await?;
        let blank = json!({ "url": "about:blank", "browserContextId": ids.context });
        ids.target = text(ask("Target.createTarget", blank).await?, "targetId")?;
        let attach = json!({ "targetId": ids.target, "flatten": true });
        ids.session = text(ask("Target.attachToTarget", attach).await?, "sessionId")?;
        let events = line.events(&ids.session);
        let size = json!({ "width": 1280, "height": 2000, "deviceScaleFactor": 1, "mobile": false });
        let setup = [
            ("Inspector.enable", json!({})),
            ("Page.enable", json!({})),
            ("Fetch.enable", json!({ "patterns": [{ "urlPattern": "*" }] })),
            ("Emulation.setDeviceMetricsOverride", size),
            ("Emulation.setUserAgentOverride", json!({ "userAgent": browser.user_agent })),
            ("Emulation.setVirtualTimePolicy", json!({ "policy": "pause" })),
        ];
        let apart = (
            "Page.addScriptToEvaluateOnNewDocument",
            json!({ "source": NO_DATAGRAMS, "runImmediately": true }),
        );
        for (method, params) in setup.into_iter().chain(browser.is_far.then_some(apart)) {
            let answer = line.ask(Some(&ids.session), method, params);
            let answer = tokio::time::timeout(SETUP, answer).await;
            let answer = answer.ok().and_then(Result::ok).ok_or(Trouble::BrowserGone)?;
            answer.map_err(|e| Trouble::Page(format!("the browser refuses {method}: {e}")))?;
        }
        Ok(Tab {
            line,
            ids,
            page,
            site: page.url.domain().to_string(),
            events,
            errands,
            answers: JoinSet::new(),
            at_once: Arc::new(Semaphore::new(AT_ONCE)),
            served: false,
            quiet: false,
            crashed: false,
            asked: 0,
            answered: 0,
            bytes: 0,
            routes: Vec::new(),
            clicked: String::new(),
            moved: false,
            resources: Vec::new(),
            answers_given: HashMap::new(),
            is_read: false,
        })
    }

    fn tell(&self, method: &str, params: Value) {
        self.line.tell(Some(&self.ids.session), method, params);
    }

    /// Opens the page and waits until nothing more happens on it, or its time is over.
    async fn show(&mut self, url: &str, until: Instant) -> Result<(), Trouble> {
        // The clock runs as soon as the document has begun (`Page.frameNavigated`).
        let shown = self.ask("Page.navigate", json!({ "url": url }), until).await?;
        if let Some(why) = shown.as_ref().and_then(|s| s.get("errorText")).and_then(Value::as_str) {
            return Err(Trouble::Page(format!("the browser cannot show it: {why}")));
        }
        self.wait(until).await
    }

    /// Lets the page go on for so many milliseconds of its own.
    async fn go_on(&mut self, budget: u32, until: Instant) -> Result<(), Trouble> {
        self.run_clock(budget);
        self.wait(until).await
    }

    fn run_clock(&mut self, budget: u32) {
        self.quiet = false;
        let policy = json!({
            "policy": "pauseIfNetworkFetchesPending", "budget": budget, "maxVirtualTimeTaskStarvationCount": 10_000,
        });
        self.tell("Emulation.setVirtualTimePolicy", policy);
    }

    async fn wait(&mut self, until: Instant) -> Result<(), Trouble> {
        while !self.quiet && self.step(until).await? {}
        Ok(())
    }

    /// Deals with one event or one answer; `false` when the time is over.
    async fn step(&mut self, until: Instant) -> Result<bool, Trouble> {
        tokio::select! {
            event = self.events.recv() => match event {
                Some(event) => self.event(&event),
                None => return Err(Trouble::BrowserGone),
            },
            Some(done) = self.answers.join_next() => {
                if let Ok((id, kind, errand)) = done {
                    self.reply(&id, kind, errand);
                }
            }
            () = tokio::time::sleep_until(until) => return Ok(false),
        }
        if self.crashed {
            // A browser that breaks down takes its tabs along.
            return Err(if self.line.is_alive() {
                Trouble::Page("its tab broke down, for want of memory perhaps".into())
            } else {
                Trouble::BrowserGone
            });
        }
        if self.asked > MOST_ASKED {
            return Err(Trouble::Page(format!("it makes more than {MOST_ASKED} requests")));
        }
        Ok(true)
    }

    /// A question to the page; events are dealt with meanwhile. `None`: no answer in time, or an error.
    async fn ask(&mut self, method: &str, params: Value, until: Instant) -> Result<Option<Value>, Trouble> {
        let mut answer = self.line.ask(Some(&self.ids.session), method, params);
        loop {
            tokio::select! {
                answer = &mut answer => return match answer {
                    Ok(answer) => Ok(answer.ok()),
                    Err(_) => Err(Trouble::BrowserGone),
                },
                more = self.step(until) => if !more? { return Ok(None) },
            }
        }
    }

    /// Waits until the page was painted twice: what is waited for until it can be seen is known only then.
    /// Frames go by the clock on the wall, so the page's own clock goes on in small steps meanwhile.
    async fn paint(&mut self, until: Instant) -> Result<(), Trouble> {
        let painted =
            "new Promise(r => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(r))))";
        let params = json!({ "expression": painted, "awaitPromise": true });
        let mut answer = self.line.ask(Some(&self.ids.session), "Runtime.evaluate", params);
        let until = until.min(Instant::now() + LAST_LOOK);
        self.run_clock(FRAME);
        loop {
            tokio::select! {
                _ = &mut answer => return self.wait(until).await,
                more = self.step(until) => if !more? { return Ok(()) },
            }
            if self.quiet {
                self.run_clock(FRAME);
            }
        }
    }

    async fn evaluate(&mut self, script: &str, until: Instant) -> Option<Value> {
        let params =
            json!({ "expression": script, "returnByValue": true, "userGesture": false, "timeout": 2_000 });
        let answer = self.ask("Runtime.evaluate", params, until).await.ok()??;
        answer.get("result")?.get("value").cloned()
    }

    async fn capture(&mut self, until: Instant) -> Result<Captured, Trouble> {
        let params = json!({ "computedStyles": [] });
        let captured = self.ask("DOMSnapshot.captureSnapshot", params, until).await?;
        let Some(captured) = captured else { return Err(Trouble::Hangs) };
        serde_json::from_value(captured)
            .map_err(|e| Trouble::Page(format!("the browser's copy of it makes no sense: {e}")))
    }

    /// Clicks what looks like a link and has no address, to learn where it leads. The page was read before.
    async fn explore(&mut self, until: Instant) -> Result<(), Trouble> {
        self.is_read = true;
        for n in 0..MOST_CLICKS {
            if Instant::now() >= until || self.routes.len() >= MOST_ROUTES {
                break;
            }
            self.moved = false;
            let text = self.evaluate(&format!("{CLICK}({n}, false)"), until).await;
            let Some(text) = text.as_ref().and_then(Value::as_str) else { break };
            self.clicked = text.to_string();
            self.evaluate(&format!("{CLICK}({n}, true)"), until).await;
            self.go_on(AFTER_CLICK, until).await?;
            if self.moved {
                self.clicked.clear();
                self.evaluate("history.back()", until).await;
                self.go_on(AFTER_CLICK, until).await?;
            }
        }
        Ok(())
    }

    fn event(&mut self, event: &Event) {
        let text = |key: &str| event.params.get(key).and_then(Value::as_str).unwrap_or("");
        match event.method.as_str() {
            "Fetch.requestPaused" => self.paused(&event.params),
            "Page.frameNavigated" => {
                let parent = event.params.get("frame").and_then(|f| f.get("parentId"));
                if parent.is_none() && self.served {
                    self.run_clock(FIRST);
                }
            }
            "Page.navigatedWithinDocument" if text("frameId") == self.ids.target => {
                self.moved = true;
                self.route(text("url"));
            }
            "Page.windowOpen" => self.route(text("url")),
            "Page.javascriptDialogOpening" => {
                self.tell("Page.handleJavaScriptDialog", json!({ "accept": false }));
            }
            "Emulation.virtualTimeBudgetExpired" => self.quiet = true,
            "Inspector.targetCrashed" | "Inspector.detached" => self.crashed = true,
            _ => {}
        }
    }

    /// Scripts lead there.
    fn route(&mut self, url: &str) {
        let known = url == self.page.url.as_str() || self.routes.iter().any(|r| r.url == url);
        if !known && self.routes.len() < MOST_ROUTES && url.starts_with("http") && url.len() < 2_000 {
            self.routes.push(Route { url: url.to_string(), text: self.clicked.clone() });
        }
    }

    /// The browser wants something and waits.
    fn paused(&mut self, params: &Value) {
        self.asked += 1;
        let text = |key: &str| params.get(key).and_then(Value::as_str).unwrap_or("");
        let request = params.get("request").unwrap_or(&Value::Null);
        let asked = |key: &str| request.get(key).and_then(Value::as_str).unwrap_or("");
        let header = |name: &str| {
            let all = request.get("headers").and_then(Value::as_object).into_iter().flatten();
            all.filter(|(n, _)| n.eq_ignore_ascii_case(name)).find_map(|(_, v)| v.as_str())
        };
        let (id, kind, url) = (text("requestId"), Kind::of(text("resourceType")), asked("url"));
        let is_page = kind == Kind::Frame && text("frameId") == self.ids.target;
        if is_page && !self.served {
            self.served = true;
            return self.fulfil(id, self.page);
        }
        if is_page {
            // A script wants to go elsewhere: that is a link, and this page stays.
            self.route(url);
            return self.refuse(id, "Aborted");
        }
        if url.starts_with("data:") || url.starts_with("blob:") || url.starts_with("about:") {
            return self.tell("Fetch.continueRequest", json!({ "requestId": id }));
        }
        if kind == Kind::Picture {
            return self.picture(id);
        }
        if asked("method") == "OPTIONS" {
            return self.preflight(id, header("origin"), header("access-control-request-headers"));
        }
        if header("accept").is_some_and(|a| a.contains("event-stream")) {
            // It has no end.
            return self.refuse(id, "BlockedByClient");
        }
        if self.is_read {
            return match self.answers_given.get(url) {
                Some(answer) => self.fulfil(id, answer),
                None => self.refuse(id, "BlockedByClient"),
            };
        }
        let wanted = Canon::exact().parse(url).ok().filter(|url| self.is_wanted(kind, asked("method"), url));
        let Some(url) = wanted else { return self.refuse(id, "BlockedByClient") };
        self.answered += 1;
        let accept = match kind {
            Kind::Frame => "text/html,application/xhtml+xml;q=0.9,*/*;q=0.1".to_string(),
            Kind::Style => "text/css,*/*;q=0.1".to_string(),
            _ => header("accept").filter(|a| a.len() < 200).unwrap_or("*/*").to_string(),
        };
        let (id, errands, at_once) = (id.to_string(), self.errands.clone(), self.at_once.clone());
        self.answers.spawn(async move {
            let _turn = at_once.acquire().await;
            let errand = errands.fetch(&url, kind, &accept).await;
            (id, kind, errand)
        });
    }

    fn is_wanted(&self, kind: Kind, method: &str, url: &Url) -> bool {
        let needed = match kind {
            Kind::Script | Kind::Style | Kind::Data => true,
            Kind::Frame => url.domain() == self.site,
            Kind::Picture | Kind::Other => false,
        };
        // Reading never changes anything on a server; the other methods may.
        needed
            && matches!(method, "GET" | "HEAD")
            && !Errands::is_tracker(url)
            && self.answered < MOST_ANSWERED
            && self.bytes < MOST_BYTES
    }

    fn reply(&mut self, id: &str, kind: Kind, errand: Errand) {
        let Errand::Done { answer, fresh } = errand else { return self.refuse(id, "BlockedByClient") };
        self.bytes += answer.payload.decoded().len();
        let download = |v: &str| v.trim_start().to_ascii_lowercase().starts_with("attachment");
        let is_file = kind == Kind::Frame && answer.header("content-disposition").is_some_and(download);
        if answer.status == 0 || answer.failure.is_some() || is_file {
            self.refuse(id, "Failed");
        } else {
            self.fulfil(id, &answer);
            self.answers_given.insert(answer.url.as_str().to_string(), answer.clone());
        }
        if fresh && answer.status > 0 {
            self.resources.push(Arc::unwrap_or_clone(answer));
        }
    }

    fn refuse(&self, id: &str, why: &str) {
        self.tell("Fetch.failRequest", json!({ "requestId": id, "errorReason": why }));
    }

    fn fulfil(&self, id: &str, answer: &Fetched) {
        let mut headers: Vec<Value> = Vec::new();
        for (name, value) in &answer.headers {
            let gone = matches!(
                name.as_str(),
                "content-encoding"
                    | "content-length"
                    | "transfer-encoding"
                    | "set-cookie"
                    | "link"
                    | "refresh"
                    | "connection"
                    | "keep-alive"
                    | "alt-svc"
                    | "report-to"
                    | "nel"
                    | "service-worker-allowed"
            );
            let plain = name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'));
            if !gone && plain && !name.is_empty() && value.bytes().all(|b| (0x20..0x7f).contains(&b)) {
                headers.push(json!({ "name": name, "value": value }));
            }
        }
        let body = STANDARD.encode(answer.payload.decoded());
        let params = json!({
            "requestId": id, "responseCode": answer.status, "responseHeaders": headers, "body": body,
        });
        self.tell("Fetch.fulfillRequest", params);
    }

    fn picture(&self, id: &str) {
        let headers = json!([{ "name": "content-type", "value": "image/gif" }]);
        let params = json!({
            "requestId": id, "responseCode": 200, "responseHeaders": headers, "body": STANDARD.encode(PIXEL),
        });
        self.tell("Fetch.fulfillRequest", params);
    }

    /// May a script ask another host? The answer itself will say; nobody is asked twice.
    fn preflight(&self, id: &str, origin: Option<&str>, names: Option<&str>) {
        let headers = json!([
            { "name": "access-control-allow-origin", "value": origin.unwrap_or("*") },
            { "name": "access-control-allow-credentials", "value": "true" },
            { "name": "access-control-allow-methods", "value": "GET, HEAD" },
            { "name": "access-control-allow-headers", "value": names.unwrap_or("") },
        ]);
        let params = json!({ "requestId": id, "responseCode": 204, "responseHeaders": headers });
        self.tell("Fetch.fulfillRequest", params);
    }
}
