//! Can these pages be had? Each is fetched once, as robots.txt allows: hosts beside each other, the pages of
//! one host one after the other.

use crawl::collection::Collection;
use crawl::config::Config;
use fetch::Http;
use fetch::robots::Robots;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;
use types::{Canon, Problem, Request, Url, Web};

/// What became of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reach {
    /// It is there, with this status.
    Fine(u16),
    /// Why not.
    Failed(String),
}

/// Hosts asked at a time.
const HOSTS: usize = 8;

/// In the order given.
pub fn check(urls: &[Url], config: &Config) -> Result<Vec<Reach>, Problem> {
    let settings = Collection::fetch_settings(config)?;
    let agent = config.fetch.robots.then(|| settings.user_agent.clone());
    let web = Arc::new(Http::new(settings)?);
    let canon = Collection::canon(config);
    let (delay, redirects) = (config.fetch.delay.0, usize::from(config.limits.redirects));
    let mut hosts: BTreeMap<&str, Vec<(usize, Url)>> = BTreeMap::new();
    for (i, url) in urls.iter().enumerate() {
        hosts.entry(url.host_key()).or_default().push((i, url.clone()));
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|e| Problem::new("cannot start the network").because(e))?;
    let slots = Arc::new(Semaphore::new(HOSTS));
    let mut out = vec![Reach::Failed("not asked".into()); urls.len()];
    runtime.block_on(async {
        let tasks: Vec<_> = hosts
            .into_values()
            .map(|pages| {
                let (web, canon, slots, agent) = (web.clone(), canon.clone(), slots.clone(), agent.clone());
                tokio::spawn(async move {
                    let _slot = slots.acquire().await;
                    one_host(&web, &canon, pages, delay, redirects, agent.as_deref()).await
                })
            })
            .collect();
        for task in tasks {
            for (i, reach) in task.await.unwrap_or_default() {
                if let Some(slot) = out.get_mut(i) {
                    *slot = reach;
                }
            }
        }
    });
    Ok(out)
}

async fn one_host(
    web: &Http,
    canon: &Canon,
    pages: Vec<(usize, Url)>,
    delay: Duration,
    redirects: usize,
    robots: Option<&str>,
) -> Vec<(usize, Reach)> {
    let mut out = Vec::with_capacity(pages.len());
    let robots = match (pages.first(), robots) {
        (Some((_, first)), Some(agent)) => Some(rules(web, canon, first, agent).await),
        _ => None,
    };
    for (i, url) in pages {
        if let Some(robots) = &robots
            && !robots.allows(&url)
        {
            let rule = robots.rule_for(&url).unwrap_or_else(|| "robots.txt cannot be had".into());
            out.push((i, Reach::Failed(format!("robots.txt forbids it ({rule})"))));
            continue;
        }
        tokio::time::sleep(delay).await;
        out.push((i, one(web, canon, url, redirects).await));
    }
    out
}

/// What the host's robots.txt says to us.
async fn rules(web: &Http, canon: &Canon, page: &Url, agent: &str) -> Robots {
    let Ok(url) = canon.join(page, "/robots.txt") else { return Robots::from_answer(404, b"", agent) };
    let fetched = web.fetch(&Request::page(url)).await;
    let status = if fetched.failure.is_some() { 0 } else { fetched.status };
    Robots::from_answer(status, fetched.payload.decoded(), agent)
}

async fn one(web: &Http, canon: &Canon, mut url: Url, redirects: usize) -> Reach {
    for _ in 0..=redirects {
        let fetched = web.fetch(&Request::page(url.clone())).await;
        if let Some(failure) = &fetched.failure {
            return Reach::Failed(failure.to_string());
        }
        if fetched.is_redirect()
            && let Some(Ok(to)) = fetched.location.as_deref().map(|l| canon.join(&url, l))
        {
            url = to;
            continue;
        }
        return match fetched.status {
            200..300 => Reach::Fine(fetched.status),
            status => Reach::Failed(format!("status {status}")),
        };
    }
    Reach::Failed("redirects without end".into())
}
