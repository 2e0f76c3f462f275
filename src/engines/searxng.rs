//! SearXNG's JSON API (<https://docs.searxng.org/dev/search_api.html>), which `gleaner serve` speaks too.

use super::client::Client;
use super::{Hits, SearchEngine, WEB, text};
use crawl::config::Config;
use types::Problem;

/// An instance shows some ten results a page; more pages than this are not asked for.
const PAGES: usize = 10;

pub struct Searxng {
    client: Client,
}

impl Searxng {
    /// The address may carry parameters of its own: those stay, except `token`, which is a secret and goes
    /// into a header (the address that `gleaner serve` prints can be given as it is).
    pub fn new(address: &str, config: &Config) -> Result<Searxng, Problem> {
        if address.is_empty() {
            return Err(Problem::usage("--engine searxng: which one?")
                .hint("give its address: --engine searxng:http://localhost:8888"));
        }
        let address = if address.contains("://") { address.to_string() } else { format!("http://{address}") };
        let address = address.split('#').next().unwrap_or(&address);
        let (path, query) = address.split_once('?').unwrap_or((address, ""));
        let path = path.trim_end_matches('/');
        let mut base = if path.ends_with("/search") { path.to_string() } else { format!("{path}/search") };
        let (mut headers, mut kept) = (Vec::new(), Vec::new());
        for pair in query.split('&').filter(|p| !p.is_empty()) {
            match pair.split_once('=') {
                Some(("token", token)) => headers.push(("authorization".into(), format!("Bearer {token}"))),
                Some(("q" | "format" | "pageno", _)) => {}
                _ => kept.push(pair),
            }
        }
        if !kept.is_empty() {
            base = format!("{base}?{}", kept.join("&"));
        }
        Ok(Searxng { client: Client::new("SearXNG", &base, headers, config)? })
    }
}

impl SearchEngine for Searxng {
    fn name(&self) -> String {
        format!("SearXNG at {}", self.client.base().host_key())
    }

    fn sections(&self) -> &'static [&'static str] {
        super::SECTIONS
    }

    fn search(&self, query: &str, section: &str, hits: &mut Hits) -> Result<(), Problem> {
        // What an instance calls its categories unless its owner has changed them.
        let category = match section {
            "news" => "news",
            "discussions" => "social media",
            "papers" => "science",
            "software" => "it",
            _ => "general",
        };
        for page in 1..=PAGES {
            let number = page.to_string();
            let mut asked = vec![("q", query), ("format", "json"), ("pageno", &number)];
            if section != WEB {
                asked.push(("categories", category));
            }
            let answer = self.client.get(&asked)?;
            let json = self.client.json(&answer)?;
            let Some(results) = json.get("results").and_then(|r| r.as_array()) else {
                return Err(self.client.problem("the answer has no list of results"));
            };
            let before = hits.count();
            for result in results {
                hits.push(text(result, "url"), text(result, "title"));
            }
            if page == 1 && results.is_empty() && unresponsive(&json) > 0 {
                return Err(self
                    .client
                    .problem("none of the engines behind it answered")
                    .because(format!("{} of them did not respond", unresponsive(&json)))
                    .hint("try again later, or enable other engines in its settings"));
            }
            // An instance that knows no pages gives the first one again.
            if hits.is_full() || hits.count() == before {
                break;
            }
        }
        Ok(())
    }
}

fn unresponsive(json: &serde_json::Value) -> usize {
    json.get("unresponsive_engines").and_then(|u| u.as_array()).map_or(0, Vec::len)
}
