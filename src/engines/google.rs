//! Google's programmable search (Custom Search JSON API). The key is in `GOOGLE_API_KEY`, the engine's id in
//! `GOOGLE_CX`.

use super::client::Client;
use super::{Hits, SearchEngine, key, text};
use crawl::config::Config;
use types::Problem;

const ADDRESS: &str = "https://www.googleapis.com/customsearch/v1";
/// Results of one request, and the last result, that the API allows.
const COUNT: usize = 10;
const LAST: usize = 100;

pub struct Google {
    client: Client,
    cx: String,
}

impl Google {
    /// `address` replaces the API's own, for a proxy of it.
    pub fn new(address: &str, config: &Config) -> Result<Google, Problem> {
        let place = "https://programmablesearchengine.google.com/";
        let api = key(&["GOOGLE_API_KEY"], "Google", place)?;
        let cx = key(&["GOOGLE_CX", "GOOGLE_CSE_ID"], "Google (the id of your search engine)", place)?;
        let address = if address.is_empty() { ADDRESS } else { address };
        // In a header, not in the URL: URLs end up in messages and logs.
        let headers = vec![("x-goog-api-key".to_string(), api)];
        Ok(Google { client: Client::new("Google", address, headers, config)?, cx })
    }
}

impl SearchEngine for Google {
    fn name(&self) -> String {
        "Google".into()
    }

    fn search(&self, query: &str, _section: &str, hits: &mut Hits) -> Result<(), Problem> {
        for start in (1..=LAST).step_by(COUNT) {
            let (count, at) = (COUNT.to_string(), start.to_string());
            let answer =
                self.client.get(&[("cx", &self.cx), ("q", query), ("num", &count), ("start", &at)])?;
            let json = self.client.json(&answer)?;
            let before = hits.count();
            for item in json.get("items").and_then(|i| i.as_array()).into_iter().flatten() {
                hits.push(text(item, "link"), text(item, "title"));
            }
            if hits.is_full() || hits.count() == before || json.pointer("/queries/nextPage").is_none() {
                break;
            }
        }
        Ok(())
    }
}
