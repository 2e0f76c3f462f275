//! The pages, styles and scripts, compiled in. Nothing is read from disk and nothing is loaded from
//! elsewhere.

use super::reply::Reply;
use super::route::RawRequest;
use std::hash::{DefaultHasher, Hasher};
use std::sync::LazyLock;

struct Asset {
    path: &'static str,
    content_type: &'static str,
    bytes: &'static [u8],
}

macro_rules! asset {
    ($path:literal, $file:literal, $kind:literal) => {
        Asset { path: $path, content_type: $kind, bytes: include_bytes!(concat!("assets/", $file)) }
    };
    // Reports have it too.
    ($path:literal, look::$file:ident, $kind:literal) => {
        Asset { path: $path, content_type: $kind, bytes: look::$file.as_bytes() }
    };
}

const ASSETS: &[Asset] = &[
    asset!("/", "index.html", "text/html; charset=utf-8"),
    asset!("/assets/app.css", look::APP_CSS, "text/css; charset=utf-8"),
    asset!("/assets/chart.css", look::CHART_CSS, "text/css; charset=utf-8"),
    asset!("/assets/icon.svg", look::ICON, "image/svg+xml"),
    asset!("/assets/app.js", "app.js", "text/javascript; charset=utf-8"),
    asset!("/assets/api.js", "api.js", "text/javascript; charset=utf-8"),
    asset!("/assets/dom.js", "dom.js", "text/javascript; charset=utf-8"),
    asset!("/assets/chart.js", look::CHART_JS, "text/javascript; charset=utf-8"),
    asset!("/assets/table.js", "table.js", "text/javascript; charset=utf-8"),
    asset!("/assets/label.js", "label.js", "text/javascript; charset=utf-8"),
    asset!("/assets/control.js", "control.js", "text/javascript; charset=utf-8"),
    asset!("/assets/home.js", "home.js", "text/javascript; charset=utf-8"),
    asset!("/assets/overview.js", "overview.js", "text/javascript; charset=utf-8"),
    asset!("/assets/pages.js", "pages.js", "text/javascript; charset=utf-8"),
    asset!("/assets/page.js", "page.js", "text/javascript; charset=utf-8"),
    asset!("/assets/frontier.js", "frontier.js", "text/javascript; charset=utf-8"),
    asset!("/assets/hosts.js", "hosts.js", "text/javascript; charset=utf-8"),
    asset!("/assets/teach.js", "teach.js", "text/javascript; charset=utf-8"),
    asset!("/assets/search.js", "search.js", "text/javascript; charset=utf-8"),
    asset!("/assets/compare.js", "compare.js", "text/javascript; charset=utf-8"),
    asset!("/assets/words.js", "words.js", "text/javascript; charset=utf-8"),
    asset!("/assets/glossary.js", "glossary.js", "text/javascript; charset=utf-8"),
    asset!("/assets/exports.js", "exports.js", "text/javascript; charset=utf-8"),
    asset!("/assets/changes.js", "changes.js", "text/javascript; charset=utf-8"),
    asset!("/assets/errors.js", "errors.js", "text/javascript; charset=utf-8"),
    asset!("/assets/toml.js", "toml.js", "text/javascript; charset=utf-8"),
    asset!("/assets/create.js", "create.js", "text/javascript; charset=utf-8"),
    asset!("/assets/glossary.md", "../../../docs/glossary.md", "text/markdown; charset=utf-8"),
];

/// For visitors without the token.
pub const UNKNOWN_VISITOR: &str = "<!DOCTYPE html><html lang=\"en\"><head><meta charset=\"utf-8\">\
<title>Gleaner: a token is needed</title>\
<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\"><link rel=\"icon\" \
href=\"data:,\"></head><body><main><h1>A token is needed</h1>\
<p>Open the address that <code>gleaner serve</code> printed when it started; it ends in \
<code>?token=…</code></p></main></body></html>";

/// Changes with every build that changes an asset.
static ETAGS: LazyLock<Vec<String>> = LazyLock::new(|| {
    (ASSETS.iter())
        .map(|a| {
            let mut h = DefaultHasher::new();
            h.write(a.bytes);
            format!("\"{:016x}\"", h.finish())
        })
        .collect()
});

/// The asset a request asks for, if it asks for one.
pub fn find(asked: &RawRequest) -> Option<Reply> {
    if !matches!(asked.method.as_str(), "GET" | "HEAD") {
        return None;
    }
    let at = ASSETS.iter().position(|a| a.path == asked.path)?;
    let (asset, etag) = (ASSETS.get(at)?, ETAGS.get(at)?);
    let same = asked.etag.as_deref() == Some(etag.as_str());
    let bytes: &'static [u8] = if same { b"" } else { asset.bytes };
    // Asked for again each time, sent only when changed: an update shows at once.
    let reply = Reply::new(if same { 304 } else { 200 }, asset.content_type, bytes);
    Some(reply.with("etag", etag.clone()).with("cache-control", "no-cache"))
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_menu_and_the_help_name_every_export_format() {
        let menu = include_str!("assets/exports.js");
        let help = include_str!("../cli/export.rs").split("format: Option<String>").next().unwrap_or("");
        for name in store::export::NAMES {
            assert!(menu.contains(&format!("['{name}', ")), "exports.js does not name `{name}`");
            assert!(help.contains(name), "the help of --format does not name `{name}`");
        }
    }
}
