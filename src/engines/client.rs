//! Asks an engine over HTTP, and says in plain words what went wrong.

use crawl::collection::Collection;
use crawl::config::Config;
use fetch::Http;
use std::cell::Cell;
use std::time::{Duration, Instant};
use types::{Canon, Failure, Fetched, Problem, Request, Url, Web};

/// Between two requests to the same engine.
const PAUSE: Duration = Duration::from_secs(1);
/// An engine that asks for a longer wait is not waited for.
const PATIENCE: Duration = Duration::from_secs(10);
const REDIRECTS: usize = 3;

pub struct Client {
    web: Http,
    runtime: tokio::runtime::Runtime,
    engine: String,
    base: Url,
    pause: Duration,
    last: Cell<Option<Instant>>,
}

impl Client {
    /// `base` is the engine's address as the user gave it, so it may be on this machine.
    pub fn new(
        engine: &str,
        base: &str,
        headers: Vec<(String, String)>,
        config: &Config,
    ) -> Result<Client, Problem> {
        let url = Canon::exact().parse(base).map_err(|e| {
            Problem::usage(format!("the address of {engine}, `{base}`, is not a URL")).because(e)
        })?;
        let mut settings = Collection::fetch_settings(config)?;
        let local = fetch::guard::is_near(&url);
        settings.allow_private |= local;
        if local {
            // `--resolve '*:ADDR'` is about the web the results are in; an engine on this machine is where it
            // says.
            settings.resolve.retain(|rule| !matches!(rule, fetch::ResolveRule::Every { .. }));
        }
        settings.accept = vec!["application/json".into(), "*/*".into()];
        settings.headers = headers;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|e| Problem::new("cannot start the network").because(e))?;
        Ok(Client {
            web: Http::new(settings)?,
            runtime,
            engine: engine.to_string(),
            base: url,
            pause: if local { Duration::ZERO } else { PAUSE },
            last: Cell::new(None),
        })
    }

    pub fn base(&self) -> &Url {
        &self.base
    }

    /// GET of the base address with these parameters added.
    pub fn get(&self, parameters: &[(&str, &str)]) -> Result<Fetched, Problem> {
        let mut url = self.base.as_url().clone();
        url.query_pairs_mut().extend_pairs(parameters);
        let url = Canon::exact()
            .parse(url.as_str())
            .map_err(|e| self.problem("the query is too long").because(e))?;
        self.fetch(url)
    }

    /// GET of a whole address.
    pub fn fetch(&self, mut url: Url) -> Result<Fetched, Problem> {
        let mut waited = false;
        for _ in 0..=REDIRECTS {
            self.rest();
            let fetched = self.runtime.block_on(self.web.fetch(&Request::page(url.clone())));
            self.last.set(Some(Instant::now()));
            if fetched.is_redirect()
                && let Some(Ok(to)) = fetched.location.as_deref().map(|l| Canon::exact().join(&url, l))
            {
                // A key must not be carried to another host.
                if to.host() != url.host() {
                    return Err(self
                        .problem("its address leads to another host")
                        .because(format!("{url} redirects to {to}"))
                        .hint("use the other address, if you trust it"));
                }
                url = to;
                continue;
            }
            if fetched.status == 429 && !waited {
                match fetched.retry_after {
                    Some(wait) if wait <= PATIENCE => {
                        tracing::warn!(
                            engine = self.engine,
                            seconds = wait.as_secs(),
                            "a pause was asked for"
                        );
                        std::thread::sleep(wait);
                        waited = true;
                        continue;
                    }
                    _ => {}
                }
            }
            return self.checked(fetched);
        }
        Err(self.problem("its address redirects without end"))
    }

    fn rest(&self) {
        if let Some(past) = self.last.get().map(|t| t.elapsed())
            && past < self.pause
        {
            std::thread::sleep(self.pause - past);
        }
    }

    fn checked(&self, fetched: Fetched) -> Result<Fetched, Problem> {
        if let Some(failure) = &fetched.failure {
            let p = self.problem("it cannot be reached").because(failure);
            return Err(match failure {
                Failure::Guarded(_) => {
                    p.hint("it is not on the public internet; --allow-private lets it be asked")
                }
                Failure::Connect(_) => p.hint("is it running, and is the port right?"),
                Failure::Dns(_) => p.hint("check the spelling of its address and your connection"),
                _ => p.hint("try again later"),
            });
        }
        // The engine's own words, when it has any.
        let said = said(&fetched);
        let p =
            |what: &str| if said.is_empty() { self.problem(what) } else { self.problem(what).because(&said) };
        match fetched.status {
            200..300 => Ok(fetched),
            401 => Err(p("it does not accept the key (status 401)").hint("check the key in the environment; `gleaner serve` wants its token: searxng:http://…/?token=…")),
            403 => Err(p("it refuses the request (status 403)")
                .hint("the key may be wrong or its quota used up; a SearXNG needs `json` in search.formats \
                       of its settings.yml")),
            404 => Err(p("there is no search at this address (status 404)").hint("check the URL")),
            422 => Err(p("it does not understand the query (status 422)").hint("try another --builder, or fewer terms")),
            429 => {
                let wait = fetched.retry_after.map_or(String::new(), |w| format!(" in {} s", w.as_secs()));
                Err(p("too many requests (status 429)").hint(format!("try again{wait}, with a lower --limit \
                                                                      or fewer builders")))
            }
            status => Err(p(&format!("it answered with status {status}")).hint("try again later")),
        }
    }

    pub fn problem(&self, what: &str) -> Problem {
        Problem::new(format!("{}: {what}", self.engine))
    }

    /// The body as JSON.
    pub fn json(&self, fetched: &Fetched) -> Result<serde_json::Value, Problem> {
        serde_json::from_slice(fetched.payload.decoded()).map_err(|e| {
            self.problem("the answer is not JSON")
                .because(format!("{e} (it is {})", fetched.media_type()))
                .hint(
                    "is this the address of a search API? A SearXNG needs `json` in search.formats of its \
                       settings.yml",
                )
        })
    }
}

/// What an error's body says, in one line.
fn said(fetched: &Fetched) -> String {
    let Ok(json) = serde_json::from_slice::<serde_json::Value>(fetched.payload.decoded()) else {
        return String::new();
    };
    let text = ["/error/message", "/error/detail", "/error/what", "/message", "/error"]
        .iter()
        .find_map(|at| json.pointer(at).and_then(|v| v.as_str()));
    text.map_or(String::new(), |t| t.chars().filter(|c| !c.is_control()).take(300).collect())
}
