//! The one list of what can be asked. Parameters are declared here, checked before any handler runs, and
//! described in the OpenAPI document, which is made from this list.

use super::reply::{Refusal, Reply};
use super::{App, api, assets, schemas};
use bytes::Bytes;
use percent_encoding::percent_decode_str;
use serde::de::DeserializeOwned;
use types::{Problem, UrlId};

/// A request as it came.
pub struct RawRequest {
    pub method: String,
    pub path: String,
    pub query: Vec<(String, String)>,
    pub json: bool,
    pub etag: Option<String>,
    pub body: Bytes,
}

pub struct Route {
    pub method: &'static str,
    pub path: &'static str,
    pub summary: &'static str,
    pub params: &'static [Param],
    /// Name of the schema of the JSON body it wants.
    pub body: Option<&'static str>,
    pub answer: Answer,
    /// It may find that the collection is in no state for it (409).
    pub conflicts: bool,
    pub handler: fn(&App, &Call) -> Result<Reply, Refusal>,
}

/// What comes back when all is well.
#[derive(Clone, Copy)]
pub enum Answer {
    /// JSON of this schema.
    Json(&'static str),
    /// JSON of this schema under a content type of its own.
    JsonAs(&'static str, &'static str),
    /// Something of this content type.
    Other(&'static str),
}

#[derive(Clone, Copy)]
pub struct Param {
    pub name: &'static str,
    pub about: &'static str,
    pub kind: Kind,
}

#[derive(Clone, Copy)]
pub enum Kind {
    /// At most so many characters.
    Text(usize),
    /// From, to.
    Int(u64, u64),
    Number(f64, f64),
    Flag,
    OneOf(&'static [&'static str]),
}

pub const fn param(name: &'static str, kind: Kind, about: &'static str) -> Param {
    Param { name, about, kind }
}

/// A request whose parameters are what they were declared to be.
pub struct Call<'a> {
    params: Vec<(&'static str, String)>,
    asked: &'a RawRequest,
}

impl Call<'_> {
    pub fn text(&self, name: &str) -> Option<&str> {
        self.params.iter().find(|(k, _)| *k == name).map(|(_, v)| v.as_str())
    }
    /// A text that says something.
    pub fn words(&self, name: &str) -> Option<&str> {
        self.text(name).map(str::trim).filter(|t| !t.is_empty())
    }
    pub fn int(&self, name: &str) -> Option<u64> {
        self.text(name).and_then(|v| v.parse().ok())
    }
    pub fn number(&self, name: &str) -> Option<f64> {
        self.text(name).and_then(|v| v.parse().ok())
    }
    pub fn flag(&self, name: &str) -> Option<bool> {
        self.text(name).map(is_true)
    }
    /// How many entries of a list were given before; its cursor is that number.
    pub fn skip(&self) -> Result<usize, Refusal> {
        let number =
            |c: &str| c.parse().map_err(|_| Refusal::bad("`cursor` must be `next` of the page before"));
        self.text("cursor").map_or(Ok(0), number)
    }
    pub fn id(&self) -> UrlId {
        UrlId(self.int("id").and_then(|n| u32::try_from(n).ok()).unwrap_or(u32::MAX))
    }
    /// The JSON body.
    pub fn body<T: DeserializeOwned>(&self) -> Result<T, Refusal> {
        serde_json::from_slice(&self.asked.body).map_err(|e| {
            Refusal::new(400, Problem::usage("the body is not what this request takes").because(e))
        })
    }
}

fn is_true(text: &str) -> bool {
    matches!(text, "true" | "1")
}

/// The first segments of a path that take part in a route; more than any route has is no route.
const LONGEST: usize = 12;

/// Finds the route, checks what was sent, and asks the handler.
pub fn dispatch(app: &App, asked: &RawRequest) -> Result<Reply, Refusal> {
    if let Some(reply) = assets::find(asked) {
        return Ok(reply);
    }
    let segments: Vec<&str> = asked.path.trim_start_matches('/').splitn(LONGEST, '/').collect();
    let mut allowed: Vec<&str> = Vec::new();
    for route in ROUTES {
        let Some(found) = matches(route.path, &segments) else { continue };
        if route.method != asked.method && !(asked.method == "HEAD" && route.method == "GET") {
            allowed.push(route.method);
            continue;
        }
        let mut params = Vec::new();
        for (name, value) in found {
            let Some(p) = route.params.iter().find(|p| p.name == name) else { continue };
            let value = percent_decode_str(value)
                .decode_utf8()
                .map_err(|_| Refusal::not_found("there is nothing at this address"))?;
            params.push((p.name, checked(p, &value)?));
        }
        for (name, value) in &asked.query {
            let known = route.params.iter().find(|p| p.name == name && !in_path(route.path, p.name));
            match known {
                Some(p) if params.iter().any(|(n, _)| n == name) => {
                    return Err(Refusal::bad(format!("`{}` is given twice", p.name)));
                }
                Some(p) => params.push((p.name, checked(p, value)?)),
                // Programs made for other search engines send options of those.
                None if route.path == "/search" => {}
                None => return Err(unknown(route, name)),
            }
        }
        if route.body.is_some() && !asked.json {
            return Err(Refusal::new(415, Problem::usage("the body must be application/json")));
        }
        let call = Call { params, asked };
        if let Some(schema) = route.body {
            let body: serde_json::Value = call.body()?;
            schemas::fits(&body, &schemas::all()[schema], "the body").map_err(Refusal::bad)?;
        }
        return (route.handler)(app, &call);
    }
    if allowed.is_empty() {
        return Err(Refusal::not_found("there is nothing at this address"));
    }
    Err(Refusal::new(405, Problem::usage("this address does not take that method"))
        .with("allow", allowed.join(", ")))
}

fn unknown(route: &Route, name: &str) -> Refusal {
    let names: Vec<&str> = route.params.iter().map(|p| p.name).filter(|n| !in_path(route.path, n)).collect();
    let problem = Problem::usage(format!("unknown parameter `{name}`"));
    Refusal::new(400, problem.hint(focus::topic::did_you_mean(name, &names)))
}

/// The parts of the path that the template leaves open.
fn matches<'a>(template: &'static str, segments: &[&'a str]) -> Option<Vec<(&'static str, &'a str)>> {
    let mut out = Vec::new();
    let mut rest = segments.iter();
    for part in template.trim_start_matches('/').split('/') {
        let segment = rest.next()?;
        match part.strip_prefix('{').and_then(|p| p.strip_suffix('}')) {
            Some(_) if segment.is_empty() => return None,
            Some(name) => out.push((name, *segment)),
            None if part == *segment => {}
            None => return None,
        }
    }
    rest.next().is_none().then_some(out)
}

pub fn in_path(template: &str, name: &str) -> bool {
    template.split('/').any(|p| p.strip_prefix('{').and_then(|p| p.strip_suffix('}')) == Some(name))
}

fn checked(p: &Param, value: &str) -> Result<String, Refusal> {
    let wrong = |wants: String| Err(Refusal::bad(format!("`{}` must be {wants}", p.name)));
    match p.kind {
        Kind::Text(most) if value.chars().count() > most || value.contains('\0') => {
            wrong(format!("a text of at most {most} characters"))
        }
        Kind::Int(from, to) => match value.parse::<u64>() {
            Ok(n) if (from..=to).contains(&n) && value.bytes().all(|b| b.is_ascii_digit()) => {
                Ok(value.to_string())
            }
            _ => wrong(format!("a whole number from {from} to {to}")),
        },
        Kind::Number(from, to) => match value.parse::<f64>() {
            Ok(n) if n.is_finite() && (from..=to).contains(&n) => Ok(value.to_string()),
            _ => wrong(format!("a number from {from} to {to}")),
        },
        Kind::Flag if !matches!(value, "true" | "false" | "1" | "0") => wrong("true or false".into()),
        Kind::OneOf(list) if !list.contains(&value) => wrong(format!("one of {}", list.join(", "))),
        _ => Ok(value.to_string()),
    }
}

const COLLECTION: Param =
    param("collection", Kind::Text(200), "Name of a collection, as /collections lists it");
const ID: Param = param("id", Kind::Int(0, u32::MAX as u64), "Number of a URL in its collection");
const LIMIT: Param = param("limit", Kind::Int(1, 200), "Most entries to give (default 50)");
const SINCE: Param = param("since", Kind::Text(40), "So long ago (7d, 6h), or a date (2026-11-01)");
const CURSOR: Param = param("cursor", Kind::Text(60), "Where to go on: `next` of the page before");
const QUERY: Param = param("q", Kind::Text(400), "Words, \"phrases\", -not, title:word");
const HOST: Param = param("host", Kind::Text(255), "Only this host");
const LANGUAGE: Param = param("language", Kind::Text(12), "Only pages in this language (ISO 639-1)");

const fn get(
    path: &'static str,
    summary: &'static str,
    params: &'static [Param],
    schema: &'static str,
    handler: fn(&App, &Call) -> Result<Reply, Refusal>,
) -> Route {
    asked(path, summary, params, Answer::Json(schema), handler)
}

const fn other(
    path: &'static str,
    summary: &'static str,
    params: &'static [Param],
    content_type: &'static str,
    handler: fn(&App, &Call) -> Result<Reply, Refusal>,
) -> Route {
    asked(path, summary, params, Answer::Other(content_type), handler)
}

/// A question: nothing is sent, nothing changes.
const fn asked(
    path: &'static str,
    summary: &'static str,
    params: &'static [Param],
    answer: Answer,
    handler: fn(&App, &Call) -> Result<Reply, Refusal>,
) -> Route {
    Route { method: "GET", path, summary, params, body: None, answer, conflicts: false, handler }
}

const fn change(
    method: &'static str,
    path: &'static str,
    summary: &'static str,
    params: &'static [Param],
    body: &'static str,
    schema: &'static str,
    handler: fn(&App, &Call) -> Result<Reply, Refusal>,
) -> Route {
    Route {
        method,
        path,
        summary,
        params,
        body: Some(body),
        answer: Answer::Json(schema),
        conflicts: true,
        handler,
    }
}

pub const ROUTES: &[Route] = &[
    get("/api/v1/collections", "The collections that are there", &[], "Collections", api::overview::list),
    get(
        "/api/v1/collections/{collection}",
        "How a collection stands: progress, curves, frontier, hosts, errors, disk",
        &[COLLECTION],
        "Overview",
        api::overview::one,
    ),
    other(
        "/api/v1/collections/{collection}/live",
        "How a collection stands, again and again (server-sent events named `progress`, data as of Progress)",
        &[COLLECTION],
        "text/event-stream",
        api::overview::live,
    ),
    get(
        "/api/v1/collections/{collection}/pages",
        "Fetched pages, filtered, in pieces",
        &[
            COLLECTION,
            param("relevant", Kind::Flag, "Only pages that are (or are not) relevant"),
            HOST,
            LANGUAGE,
            param("min_score", Kind::Number(0.0, 1.0), "Lowest score"),
            param("max_score", Kind::Number(0.0, 1.0), "Highest score"),
            param("label", Kind::OneOf(&["yes", "no", "any", "none"]), "By what you said of them"),
            param("copies", Kind::Flag, "Also copies of relevant pages (default true)"),
            QUERY,
            param(
                "sort",
                Kind::OneOf(&["newest", "oldest", "best", "worst", "unsure"]),
                "Order (default newest)",
            ),
            CURSOR,
            LIMIT,
        ],
        "Pages",
        api::pages::list,
    ),
    get(
        "/api/v1/collections/{collection}/pages/{id}",
        "One page: text with its terms marked, score, how it was found, link evidence",
        &[COLLECTION, ID],
        "Page",
        api::page::one,
    ),
    get(
        "/api/v1/collections/{collection}/pages/{id}/reasons",
        "What speaks for and against a page, and the labelled page that is most like it (empty for judges \
         that cannot tell)",
        &[COLLECTION, ID],
        "Reasons",
        api::page::reasons,
    ),
    other(
        "/api/v1/collections/{collection}/pages/{id}/warc",
        "The page's archive record, compressed",
        &[COLLECTION, ID],
        "application/warc",
        api::page::warc,
    ),
    get(
        "/api/v1/collections/{collection}/explain",
        "Why a URL was fetched, or why not yet",
        &[COLLECTION, param("url", Kind::Text(4000), "A URL the crawl has seen")],
        "Explanation",
        api::page::explain,
    ),
    get(
        "/api/v1/collections/{collection}/changes",
        "What is new: pages that came, changed (with the difference), went away, moved or came back",
        &[
            COLLECTION,
            SINCE,
            param("kind", Kind::OneOf(&["new", "changed", "back", "gone", "moved"]), "Only this kind"),
            param("all", Kind::Flag, "Also pages judged not relevant"),
            CURSOR,
            LIMIT,
        ],
        "Changes",
        api::changes::list,
    ),
    other(
        "/api/v1/collections/{collection}/feed.atom",
        "New and changed relevant pages as an Atom feed",
        &[COLLECTION, SINCE, param("all", Kind::Flag, "Also pages judged not relevant")],
        "application/atom+xml",
        api::changes::atom,
    ),
    asked(
        "/api/v1/collections/{collection}/feed.json",
        "New and changed relevant pages as a JSON Feed",
        &[COLLECTION, SINCE, param("all", Kind::Flag, "Also pages judged not relevant")],
        Answer::JsonAs("application/feed+json", "JsonFeed"),
        api::changes::json_feed,
    ),
    get(
        "/api/v1/collections/{collection}/errors",
        "URLs that gave no page: what happened and when, how often it was tried, where the link stands",
        &[
            COLLECTION,
            param(
                "kind",
                Kind::Text(40),
                "Only this outcome, as the overview names it, or this word of a try",
            ),
            param("host", Kind::Text(255), "Only URLs of this host, and of hosts below it"),
            CURSOR,
            LIMIT,
        ],
        "Misses",
        api::errors::list,
    ),
    other(
        "/api/v1/collections/{collection}/export",
        "The collection as a file; copies of pages in it, and pages that ask not to be indexed, are left out",
        &[
            COLLECTION,
            param("format", Kind::OneOf(store::export::NAMES), "Default jsonl"),
            param("all", Kind::Flag, "Also pages that were judged not relevant"),
            param("copies", Kind::Flag, "Also copies"),
            param(
                "where",
                Kind::Text(1000),
                "Only pages like this; several conditions separated by `;`, as of `gleaner export --where`",
            ),
            param("since", Kind::Text(40), "Only pages fetched since then, as in 7d or 2026-11-01"),
            param("columns", Kind::Text(400), "Which columns, in this order, separated by commas"),
        ],
        "application/octet-stream",
        api::export::file,
    ),
    get(
        "/api/v1/collections/{collection}/frontier",
        "The best pending URLs and why they are there",
        &[COLLECTION, HOST, LIMIT],
        "Frontier",
        api::frontier::best,
    ),
    get(
        "/api/v1/collections/{collection}/hosts",
        "Hosts with what they gave, their robots rules and when they may be asked again",
        &[
            COLLECTION,
            param("q", Kind::Text(255), "Part of the name"),
            param(
                "sort",
                Kind::OneOf(&["relevant", "pages", "pending", "share", "failures", "name"]),
                "Order (default relevant)",
            ),
            CURSOR,
            LIMIT,
        ],
        "Hosts",
        api::frontier::hosts,
    ),
    get(
        "/api/v1/collections/{collection}/search",
        "Ranked full-text search with snippets and facets",
        &[
            COLLECTION,
            QUERY,
            HOST,
            LANGUAGE,
            param("genre", Kind::Text(200), "Only pages with this genre term of the topic"),
            param("kind", Kind::Text(64), "Only pages that say they are this, as Course"),
            param("year", Kind::Text(4), "Only pages that say they were published in this year"),
            param("month", Kind::Text(7), "Only pages fetched in this month, as 2026-11"),
            param("all", Kind::Flag, "Also pages judged not relevant"),
            param("offset", Kind::Int(0, 10_000), "Results to leave out at the top"),
            LIMIT,
        ],
        "Found",
        api::search::one,
    ),
    get(
        "/api/v1/collections/{collection}/topic",
        "The topic file, its terms and the settings",
        &[COLLECTION],
        "Topic",
        api::topic::of_collection,
    ),
    get("/api/v1/backtests", "Backtest results that are there", &[], "Backtests", api::compare::list),
    get(
        "/api/v1/backtests/{backtest}",
        "One backtest: summary and recall curves",
        &[param("backtest", Kind::Text(200), "Name, as /backtests lists it")],
        "Backtest",
        api::compare::one,
    ),
    get("/api/v1/strategies", "Every strategy", &[], "Choices", api::topic::strategies),
    get("/api/v1/judges", "Every judge", &[], "Choices", api::topic::judges),
    get("/api/v1/genres", "Every built-in genre", &[], "Choices", api::topic::genres),
    Route {
        method: "POST",
        path: "/api/v1/topics/check",
        summary: "Reads a topic file and says what is wrong with it, or what it means",
        params: &[],
        body: Some("TopicText"),
        answer: Answer::Json("TopicChecked"),
        conflicts: false,
        handler: api::topic::check,
    },
    Route {
        method: "POST",
        path: "/api/v1/topics/draft",
        summary: "Reads a sentence: which kind of page, about what, and what not",
        params: &[],
        body: Some("Wish"),
        answer: Answer::Json("Drafted"),
        conflicts: false,
        handler: api::topic::draft,
    },
    change(
        "POST",
        "/api/v1/topics/try",
        "Dry run: fetches a few pages and judges them by a topic, keeping nothing",
        &[],
        "Trial",
        "Tried",
        api::trial::dry_run,
    ),
    change(
        "POST",
        "/api/v1/collections",
        "Starts a new crawl",
        &[],
        "NewCrawl",
        "Started",
        api::control::create,
    ),
    change(
        "POST",
        "/api/v1/collections/{collection}/control",
        "Starts, pauses, resumes or stops a crawl",
        &[COLLECTION],
        "Action",
        "Effect",
        api::control::act,
    ),
    change(
        "PATCH",
        "/api/v1/collections/{collection}/settings",
        "Changes limits, pace, terms and options of the strategy, while it runs or before it goes on",
        &[COLLECTION],
        "Settings",
        "Effect",
        api::control::settings,
    ),
    change(
        "POST",
        "/api/v1/collections/{collection}/seeds",
        "Adds URLs to start from",
        &[COLLECTION],
        "Seeds",
        "Effect",
        api::control::seeds,
    ),
    change(
        "POST",
        "/api/v1/collections/{collection}/errors/retry",
        "Asks again for URLs that gave no page: these, or all of a kind or host; at once or when the crawl \
         goes on",
        &[COLLECTION],
        "Retry",
        "Effect",
        api::errors::retry,
    ),
    change(
        "PUT",
        "/api/v1/collections/{collection}/hosts/{host}",
        "Blocks a host, lets it go first, or neither",
        &[COLLECTION, param("host", Kind::Text(255), "Name of a host of this crawl")],
        "Rule",
        "Effect",
        api::control::host,
    ),
    change(
        "PUT",
        "/api/v1/collections/{collection}/pages/{id}/label",
        "Says that a page is relevant, that it is not, or takes that back (null); the judge and the \
         strategy learn from it",
        &[COLLECTION, ID],
        "Label",
        "Effect",
        api::control::label,
    ),
    get(
        "/api/v1/collections/{collection}/questions",
        "Pages to label next, why each is asked about, and what the labels so far let expect of the others",
        &[
            COLLECTION,
            param("n", Kind::Int(1, 20), "Most questions to give (default 1)"),
            param(
                "which",
                Kind::OneOf(&["best", "near", "top", "relevant", "any"]),
                "What teaches most (default), what is closest to the line, the best, or drawn at random \
                 from relevant or all pages",
            ),
            param("skip", Kind::Text(4000), "Numbers of pages not to ask about, separated by commas"),
            param("id", Kind::Int(0, u32::MAX as u64), "Ask about this page (again)"),
        ],
        "Questions",
        api::teach::questions,
    ),
    get("/api/v1/openapi.json", "This document", &[], "Any", api::document),
    get(
        "/search",
        "Search over every collection, as SearXNG answers",
        &[
            QUERY,
            param("format", Kind::OneOf(&["json"]), "json"),
            param("pageno", Kind::Int(1, 1000), "Page of ten results (default 1)"),
            LANGUAGE,
            param("collection", Kind::Text(200), "Only this collection"),
            param("all", Kind::Flag, "Also pages judged not relevant"),
        ],
        "SearxResults",
        api::search::searx,
    ),
    other("/metrics", "Numbers for Prometheus", &[], "text/plain; version=0.0.4", api::metrics),
    get("/healthz", "Is it alive?", &[], "Health", api::health),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_take_whole_segments() {
        let found = matches("/api/{a}/x/{b}", &["api", "one", "x", "two"]).unwrap();
        assert_eq!(found, [("a", "one"), ("b", "two")]);
        assert!(matches("/api/{a}", &["api", ""]).is_none());
        assert!(matches("/api/{a}", &["api", "one", "two"]).is_none());
        assert!(matches("/api/{a}/x", &["api", "one"]).is_none());
    }

    #[test]
    fn values_are_checked() {
        let int = param("n", Kind::Int(1, 9), "");
        let fine = |p: &Param, v: &str| checked(p, v).is_ok();
        assert!(
            fine(&int, "9") && !fine(&int, "10") && !fine(&int, "+3") && !fine(&int, "x") && !fine(&int, "")
        );
        let number = param("x", Kind::Number(0.0, 1.0), "");
        assert!(
            fine(&number, "0.5") && !fine(&number, "NaN") && !fine(&number, "1.1") && !fine(&number, "inf")
        );
        let text = param("t", Kind::Text(3), "");
        assert!(fine(&text, "äöü") && !fine(&text, "abcd") && !fine(&text, "a\0"));
        assert!(!fine(&param("f", Kind::Flag, ""), "maybe"));
    }

    #[test]
    fn every_open_part_of_a_path_is_declared_once() {
        for route in ROUTES {
            for part in route.path.split('/').filter_map(|p| p.strip_prefix('{')) {
                let name = part.trim_end_matches('}');
                assert_eq!(
                    route.params.iter().filter(|p| p.name == name).count(),
                    1,
                    "{} {name}",
                    route.path
                );
            }
            let same = ROUTES.iter().filter(|r| r.method == route.method && r.path == route.path);
            assert_eq!(same.count(), 1, "{} {}", route.method, route.path);
        }
    }
}
