//! One page from anywhere: a file, or a URL fetched hop by hop.

use super::setup::FetchFlags;
use super::text::strip_controls;
use crawl::collection::Collection;
use crawl::config::Config;
use std::path::Path;
use types::{Canon, Fetched, Millis, Payload, Problem, Request, Task, Url, Web};

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
    let web = fetch::Http::new(Collection::fetch_settings(&config)?)?;
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
            _ => return Ok(out),
        }
    }
}

/// What is meant to be a file and is none must not be looked for on the Web.
pub fn not_a_missing_file(text: &str) -> Result<(), Problem> {
    let path = Path::new(text);
    if text.contains("://") || !(looks_like_a_path(text) || path.exists()) {
        return Ok(());
    }
    let what = match path.is_dir() {
        true => format!("`{text}` is a folder"),
        false if path.exists() => format!("`{text}` is not an ordinary file"),
        false => format!("there is no file `{text}`"),
    };
    Err(Problem::usage(what).hint("check the path; a URL begins with http:// or https://"))
}

/// `example.org/page.html` may be either; nobody means a host by `/tmp/page.html`, `./page` or `page.html`.
fn looks_like_a_path(text: &str) -> bool {
    const ENDINGS: &[&str] = &["html", "htm", "xhtml", "xml", "pdf", "txt", "md"];
    let ending = Path::new(text).extension().and_then(|e| e.to_str()).unwrap_or("").to_ascii_lowercase();
    let bare = !text.contains(['/', ':']) && ENDINGS.contains(&ending.as_str());
    bare || ["/", "./", "../", "~"].iter().any(|start| text.starts_with(start))
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

pub fn guard_hint(failure: &types::Failure) -> &'static str {
    match failure {
        types::Failure::Guarded(_) => {
            "this address is not on the public internet; --allow-private lifts the guard"
        }
        types::Failure::Dns(_) => "check the spelling of the host name and your connection",
        _ => "`gleaner fetch URL` shows every hop and header",
    }
}

pub fn file(path: &Path) -> Result<Fetched, Problem> {
    let bytes = std::fs::read(path).map_err(|e| Problem::io("read", path, &e))?;
    let name = path.file_name().map_or_else(|| "file".into(), |n| n.to_string_lossy());
    let url: Url = Canon::default()
        .parse("http://localhost/")
        .and_then(|base| Canon::default().join(&base, &name.replace(['?', '#', '%', ':'], "-")))
        .map_err(|e| Problem::new(format!("cannot name {}", path.display())).because(e))?;
    let content_type =
        match path.extension().and_then(|e| e.to_str()).unwrap_or("").to_ascii_lowercase().as_str() {
            "html" | "htm" => "text/html",
            "xhtml" => "application/xhtml+xml",
            "pdf" => "application/pdf",
            "xml" => "application/xml",
            "txt" | "md" => "text/plain",
            _ => "",
        };
    let mut fetched = Fetched::empty(url, Millis(0));
    fetched.status = 200;
    if !content_type.is_empty() {
        fetched.headers.push(("content-type".into(), content_type.into()));
    }
    fetched.wire_bytes = bytes.len() as u64;
    fetched.payload = Payload::plain(bytes);
    Ok(fetched)
}
