//! Any engine that answers with RSS or Atom, given its OpenSearch URL template.

use super::client::Client;
use super::{Hits, SearchEngine};
use crawl::config::Config;
use types::{Canon, PageKind, Problem};

pub struct Feed {
    template: String,
    client: Client,
}

impl Feed {
    pub fn new(template: &str, config: &Config) -> Result<Feed, Problem> {
        if !template.contains("{searchTerms}") {
            return Err(Problem::usage(format!("--engine rss:{template}: no place for the query")).hint(
                "write {searchTerms} where it goes, as in \
                       rss:https://example.org/search?q={searchTerms}&format=rss",
            ));
        }
        let base = template.split(['?', '{']).next().unwrap_or(template);
        Ok(Feed {
            client: Client::new("the feed", base, Vec::new(), config)?,
            template: template.to_string(),
        })
    }

    /// The template filled in; optional parameters (`{startPage?}`) are left empty.
    fn address(&self, query: &str, want: usize) -> String {
        let mut out = self.template.replace("{searchTerms}", &percent(query));
        for (name, value) in
            [("count", want.to_string()), ("startPage", "1".into()), ("startIndex", "1".into())]
        {
            out = out.replace(&format!("{{{name}}}"), &value).replace(&format!("{{{name}?}}"), &value);
        }
        while let (Some(from), Some(to)) = (out.find('{'), out.find('}'))
            && from < to
        {
            out.replace_range(from..=to, "");
        }
        out
    }
}

impl SearchEngine for Feed {
    fn name(&self) -> String {
        format!("the feed of {}", self.client.base().host_key())
    }

    fn search(&self, query: &str, _section: &str, hits: &mut Hits) -> Result<(), Problem> {
        let url = Canon::exact()
            .parse(&self.address(query, hits.want()))
            .map_err(|e| self.client.problem("the template makes no URL").because(e))?;
        let fetched = self.client.fetch(url)?;
        let options = extract::Options { canon: Canon::exact(), ..extract::Options::default() };
        let body = fetched.payload.decoded();
        let page = extract::extract(&fetched.url, fetched.header("content-type"), None, body, &options);
        if page.kind != PageKind::Feed {
            return Err(self
                .client
                .problem("the answer is not a feed")
                .because(format!("it is {}", fetched.media_type()))
                .hint("the address must answer with RSS or Atom"));
        }
        for link in &page.links {
            let title = page.anchor(link);
            hits.push(link.url.as_str(), if title.is_empty() { &link.label } else { title });
        }
        Ok(())
    }
}

/// Percent-encoded, everything but letters and digits.
fn percent(text: &str) -> String {
    percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates() {
        let config = Config::default();
        let feed = |t: &str| Feed::new(t, &config).map(|f| f.address("a \"b c\"&d", 20));
        let address =
            feed("https://e.org/s?q={searchTerms}&n={count?}&p={startPage?}&l={language?}&f=rss").unwrap();
        assert_eq!(address, "https://e.org/s?q=a%20%22b%20c%22%26d&n=20&p=1&l=&f=rss");
        assert!(feed("https://e.org/s?q=x").is_err());
        assert!(feed("nonsense{searchTerms}").is_err());
    }
}
