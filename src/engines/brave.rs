//! Brave's web search API. The key is in `BRAVE_API_KEY`.

use super::client::Client;
use super::{Hits, SearchEngine, WEB, key, text};
use crawl::config::Config;
use types::Problem;

const ADDRESS: &str = "https://api.search.brave.com/res/v1/web/search";
/// Results of one request, and requests of one query, that the API allows.
const COUNT: usize = 20;
const OFFSETS: usize = 10;

pub struct Brave {
    client: Client,
}

impl Brave {
    /// `address` replaces the API's own, for a proxy of it.
    pub fn new(address: &str, config: &Config) -> Result<Brave, Problem> {
        let key = key(&["BRAVE_API_KEY", "BRAVE_SEARCH_API_KEY"], "Brave", "https://brave.com/search/api/")?;
        let address = if address.is_empty() { ADDRESS } else { address };
        let headers = vec![("x-subscription-token".to_string(), key)];
        Ok(Brave { client: Client::new("Brave", address, headers, config)? })
    }
}

impl SearchEngine for Brave {
    fn name(&self) -> String {
        "Brave".into()
    }

    fn longest_query(&self) -> usize {
        400
    }

    fn sections(&self) -> &'static [&'static str] {
        &[WEB, "news", "discussions"]
    }

    fn search(&self, query: &str, section: &str, hits: &mut Hits) -> Result<(), Problem> {
        let list = format!("/{section}/results");
        for offset in 0..OFFSETS {
            let (count, at) = (COUNT.to_string(), offset.to_string());
            let asked = [("q", query), ("count", &count), ("offset", &at), ("result_filter", section)];
            let answer = self.client.get(&asked)?;
            let json = self.client.json(&answer)?;
            let results = json.pointer(&list).and_then(|r| r.as_array());
            let before = hits.count();
            for result in results.into_iter().flatten() {
                hits.push(text(result, "url"), text(result, "title"));
            }
            let more =
                json.pointer("/query/more_results_available").and_then(|m| m.as_bool()).unwrap_or(false);
            if hits.is_full() || hits.count() == before || !more {
                break;
            }
        }
        Ok(())
    }
}
