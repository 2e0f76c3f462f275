//! One page from anywhere: a file, or a URL fetched hop by hop.

use super::setup::FetchFlags;
use crate::pages::{file, guard_hint, not_a_missing_file};
use crate::text::strip_controls;
use crawl::collection::Collection;
use crawl::config::Config;
use render::{Renderer, Unrendered};
use std::path::Path;
use std::sync::Arc;
use types::{Canon, Fetched, Problem, Request, Task, Web};

/// Every answer on the way to a page; the last one is not a redirect, or there were too many.
pub fn hops(text: &str, flags: &FetchFlags, config: Option<&Config>) -> Result<Vec<Fetched>, Problem> {
    let path = Path::new(text);
    if path.is_file() {
        return Ok(vec![file(path)?]);
    }
    not_a_missing_file(text)?;
    let canon = Canon::default();
    let mut url = canon.parse_typed(text).map_err(|e| {
        Problem::usage(format!("`{text}` is neither a file nor a URL"))
            .because(e)
            .hint("name a file, or a URL like https://www.example.org/")
    })?;
    let mut table = toml::Table::new();
    flags.lay(&mut table);
    let mut config = match config {
        Some(c) => c.clone(),
        None => Config::load("", "the command line", table)?.config,
    };
    config.fetch.allow_private |= flags.allow_private;
    config.fetch.resolve.extend(flags.resolve.iter().cloned());
    super::setup::say_what_a_proxy_hides(&config);
    let web = Arc::new(fetch::Http::new(Collection::fetch_settings(&config)?)?);
    let wanted = flags.render.as_deref().is_some_and(|when| when != "never");
    let renderer = if wanted { Some(renderer(&config, &web)?) } else { None };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|e| Problem::new("cannot start the network").because(e))?;
    let mut out = Vec::new();
    loop {
        let request = Request { url: url.clone(), task: Task::Page, etag: None, last_modified: None };
        let fetched = runtime.block_on(web.fetch(&request));
        let next = fetched.location.as_deref().filter(|_| fetched.is_redirect()).map(|l| canon.join(&url, l));
        out.push(fetched);
        match next {
            Some(Ok(target)) if out.len() <= usize::from(config.limits.redirects) => url = target,
            _ => break,
        }
    }
    if let (Some(renderer), Some(last)) = (renderer, out.last_mut()) {
        runtime.block_on(render(&renderer, last))?;
    }
    Ok(out)
}

fn renderer(config: &Config, web: &Arc<fetch::Http>) -> Result<Renderer, Problem> {
    crawl::rendering::renderer(config, web, None)?
        .ok_or_else(|| crawl::rendering::no_browser("--render needs a browser, and none is installed"))
}

/// Shows a page in a browser; what is no HTML page stays as it is.
async fn render(renderer: &Renderer, page: &mut Fetched) -> Result<(), Problem> {
    let (content_type, body) = page.readable();
    let is_page = (200..300).contains(&page.status)
        && page.failure.is_none()
        && extract::sniff(&page.url, content_type, body) == extract::Kind::Html;
    if !is_page {
        return Ok(());
    }
    let rendered = renderer.render(page).await.map_err(|why| {
        let (Unrendered::NoBrowser(why) | Unrendered::Page(why)) = why else {
            return Problem::new("stopped");
        };
        Problem::new(format!("cannot render {}", page.url))
            .because(strip_controls(&why))
            .hint("without --render the page is read as it is sent")
    })?;
    page.rendered = Some(Arc::new(rendered));
    Ok(())
}

/// The page itself: the last hop, if it is a page.
pub fn page(text: &str, flags: &FetchFlags, config: Option<&Config>) -> Result<Fetched, Problem> {
    let mut hops = hops(text, flags, config)?;
    let last = hops.pop().ok_or_else(|| Problem::new(format!("{text}: no answer")))?;
    if let Some(failure) = &last.failure {
        let why = strip_controls(&failure.to_string());
        return Err(Problem::new(format!("cannot fetch {}", last.url))
            .because(why)
            .hint(guard_hint(failure)));
    }
    if !(200..300).contains(&last.status) {
        return Err(Problem::new(format!("{} answered with status {}", last.url, last.status))
            .hint("`gleaner fetch URL` shows every hop and header"));
    }
    Ok(last)
}
