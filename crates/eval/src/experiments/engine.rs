//! The search engine of the sources: our own full-text index over all pages of a web.

use super::lab::{Lab, Site};
use store::index::Index;
use types::{Assessment, LinkKind, Millis, Problem, Record, Url, UrlId, Verdict};

/// An index over a whole web, and the address of each of its pages.
pub(super) struct Engine {
    index: Index,
    urls: Vec<Option<Url>>,
}

impl Engine {
    /// One index per web: topics share it.
    pub fn of(lab: &Lab, site: &Site) -> Result<Engine, Problem> {
        let urls: Vec<Option<Url>> = (0..site.web.pages()).map(|n| site.web.page(n)).collect();
        let dir = lab.scratch.join(format!("index-{:016x}", site.web.identity().state));
        if dir.join("meta.json").exists() {
            return Ok(Engine { index: Index::open(&dir)?, urls });
        }
        (lab.progress)(&format!("indexing {} pages for {}", urls.len(), site.name));
        let mut index = Index::open_or_create(&dir)?;
        let analyst = lab.analyst(site, &site.config)?;
        for (n, url) in urls.iter().enumerate() {
            let Some((doc, _)) = url.as_ref().and_then(|u| analyst.read(&site.web.answer(u))) else {
                continue;
            };
            index.add(&record(n, doc.page.url.as_ref().or(url.as_ref()), &doc.page))?;
        }
        index.commit()?;
        Ok(Engine { index, urls })
    }

    /// The first `n` results, best first.
    pub fn search(&self, query: &str, n: usize) -> Result<Vec<Url>, Problem> {
        let found = self.index.search(query, n, 0, &|_| true)?;
        Ok(found.iter().filter_map(|f| self.urls.get(f.id.0 as usize)?.clone()).collect())
    }
}

fn record(n: usize, url: Option<&Url>, page: &types::Page) -> Record {
    Record {
        id: UrlId(u32::try_from(n).unwrap_or(u32::MAX)),
        url: url.map(Url::to_string).unwrap_or_default(),
        parent: None,
        kind: LinkKind::Seed,
        depth: 0,
        status: 200,
        media_type: String::new(),
        charset: String::new(),
        language: String::new(),
        title: page.title.to_string(),
        description: String::new(),
        text: page.text.to_string(),
        links: 0,
        fetched: Millis(0),
        elapsed_ms: 0,
        bytes: 0,
        truncated: None,
        assessment: Assessment::default(),
        verdict: Verdict::default(),
        digest: String::new(),
        simhash: 0,
        duplicate_of: None,
        near_duplicate_of: None,
        archive: None,
        etag: None,
        last_modified: None,
        noindex: false,
        about: types::About::default(),
    }
}
