//! A dry run: a topic on pages the user names, fetched through the same guard as a crawl's, before a budget
//! is spent.

use super::super::App;
use super::super::reply::{Refusal, Reply};
use super::super::route::Call;
use super::finite;
use super::topic::read;
use crawl::collection::Collection;
use crawl::config::Config;
use focus::judges::Judge;
use focus::text::Doc;
use focus::topic::Topic;
use focus::topic::generate::{Known, Options, Rank, generate};
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use types::{Assessment, Fetched, Problem, Request, Web};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Trial {
    topic: String,
    urls: Vec<String>,
}

/// Pages in one dry run, fetched so many at a time, in so long.
const TRIED: usize = 30;
const AT_ONCE: usize = 6;
/// Terms suggested.
const SUGGESTED: usize = 12;
const TRIAL: Duration = Duration::from_secs(60);

/// Fetches pages and judges them, without keeping anything.
pub fn dry_run(app: &App, call: &Call) -> Result<Reply, Refusal> {
    let Trial { topic, urls } = call.body()?;
    if urls.len() > TRIED {
        return Err(Refusal::bad(format!("at most {TRIED} pages at once")));
    }
    let text = topic;
    let (_, topic) = read(&text)?;
    let config = Config::load(&text, "topic.toml", app.flags.clone())?.config;
    // One at a time: these are fetches of other people's servers.
    let Ok(_turn) = app.trial.try_lock() else {
        return Err(Refusal::conflict(
            Problem::new("another dry run is under way").hint("wait for it to end"),
        ));
    };
    let analyst = Collection::analyst(&config)?;
    let until = Instant::now() + TRIAL;
    let next = AtomicUsize::new(0);
    let fetched: Vec<Mutex<Option<Result<Fetched, Problem>>>> =
        urls.iter().map(|_| Mutex::new(None)).collect();
    std::thread::scope(|s| {
        for _ in 0..AT_ONCE.min(urls.len()) {
            s.spawn(|| {
                loop {
                    let i = next.fetch_add(1, Ordering::Relaxed);
                    let (Some(url), Some(place)) = (urls.get(i), fetched.get(i)) else { return };
                    let got = match Instant::now() < until {
                        true => page_at(url, &config),
                        false => Err(Problem::new("no time was left for it")),
                    };
                    *place.lock().unwrap_or_else(PoisonError::into_inner) = Some(got);
                }
            });
        }
    });
    let mut judge = analyst.judge.write().unwrap_or_else(PoisonError::into_inner);
    let mut pages = Vec::new();
    for (url, place) in urls.iter().zip(fetched) {
        let got = place.into_inner().unwrap_or_else(PoisonError::into_inner);
        let read = match got {
            Some(Ok(f)) => match analyst.read(&f) {
                Some((doc, _)) => Ok((f.url.to_string(), judge.assess(&doc), doc)),
                None => Err(format!("not a page that can be read ({})", f.media_type())),
            },
            Some(Err(p)) => Err(p.cause().map_or(p.what().to_string(), |c| format!("{}: {c}", p.what()))),
            None => Err("it was not fetched".into()),
        };
        pages.push((url, read));
    }
    // All are measured first: an automatic threshold is estimated from all of them.
    for (_, read) in &pages {
        if let Ok((_, assessment, _)) = read {
            judge.observe(assessment, None);
        }
    }
    let mut threshold = None;
    let suggestions = suggest(&pages, judge.as_ref(), &topic);
    let out: Vec<Value> = pages
        .iter()
        .map(|(url, read)| match read {
            Ok((at, a, doc)) => {
                let v = judge.decide(a);
                threshold = finite(v.threshold);
                let parts: Vec<Value> =
                    a.parts.iter().map(|p| json!({ "name": p.name, "value": finite(p.value) })).collect();
                json!({
                    "url": at, "title": doc.page.title, "score": finite(a.score),
                    "relevant": v.relevant && a.excluded.is_none(), "parts": parts, "hits": a.hits, "problem": null,
                })
            }
            Err(why) => json!({
                "url": url, "title": "", "score": null, "relevant": null, "parts": [], "hits": [], "problem": why,
            }),
        })
        .collect();
    Ok(Reply::json(&json!({
        "pages": out, "threshold": threshold, "why": judge.explain(), "suggestions": suggestions,
    })))
}

/// A page that was tried: its address, what was made of it and its text; or why there is none.
type Tried<'a> = (&'a String, Result<(String, Assessment, Doc), String>);

/// Terms of the relevant pages that the topic does not have, compared with the others.
fn suggest(pages: &[Tried], judge: &dyn Judge, topic: &Topic) -> Vec<String> {
    let read = pages.iter().filter_map(|(_, read)| read.as_ref().ok());
    let is_relevant = |a: &Assessment| judge.decide(a).relevant && a.excluded.is_none();
    let (mut relevant, mut others) = (Vec::new(), Vec::new());
    for (_, assessment, doc) in read {
        if is_relevant(assessment) { relevant.push(doc) } else { others.push(doc) }
    }
    // Without something to compare with, what every page says would come first.
    if relevant.is_empty() || others.is_empty() {
        return Vec::new();
    }
    let lists = [&topic.genre, &topic.content, &topic.url];
    let known: Vec<String> =
        lists.iter().flat_map(|list| list.for_language(None, &topic.text.options)).collect();
    let options = Options {
        rank: Rank::LogOdds,
        genre: 0,
        content: SUGGESTED,
        tidy: true,
        sure: true,
        ..Options::default()
    };
    let known = Known { subject: &topic.content.own, terms: &known };
    let found = generate(&[], &relevant, &others, known, &options);
    found.content.into_iter().map(|s| s.term).collect()
}

/// The page at a URL, redirects followed hop by hop; each hop passes the guard. Never a file.
fn page_at(text: &str, config: &Config) -> Result<Fetched, Problem> {
    let canon = Collection::canon(config);
    let mut url = canon.parse_typed(text).map_err(|e| Problem::usage("not a URL").because(e))?;
    let web = fetch::Http::new(Collection::fetch_settings(config)?)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|e| Problem::new("cannot start the network").because(e))?;
    for _ in 0..=config.limits.redirects {
        let fetched = runtime.block_on(web.fetch(&Request::page(url.clone())));
        if let Some(failure) = &fetched.failure {
            return Err(Problem::new("it cannot be fetched").because(failure));
        }
        match fetched.location.as_deref().filter(|_| fetched.is_redirect()).map(|l| canon.join(&url, l)) {
            Some(Ok(target)) => url = target,
            _ if (200..300).contains(&fetched.status) => return Ok(fetched),
            _ => return Err(Problem::new(format!("it answered with status {}", fetched.status))),
        }
    }
    Err(Problem::new("it redirects without end"))
}
