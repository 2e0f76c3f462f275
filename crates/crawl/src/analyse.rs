//! Steps 3 and 4a: bytes to page to assessment. The same input gives the same result, so it runs anywhere: on
//! the thread pool of a live crawl, on the cores of a tournament. Only documents leave the process
//! ([`crate::documents`]).

use crate::documents::{Documents, Unread};
use crate::rendering::Rendering;
use extract::Options;
use focus::judges::Judge;
use focus::text::{Doc, Parts, TextOptions};
use std::sync::{Arc, RwLock};
use types::{Assessment, Fetched, Page, PageKind, Payload};

/// What is known of an answer before anything is decided.
pub struct Analysis {
    /// The page with its words.
    pub doc: Doc,
    /// `None`: the judge reads a page without the menus of its host, which are known only when its turn
    /// comes.
    pub assessment: Option<Assessment>,
    /// SHA-1 of the payload; zero for pages that come already extracted.
    pub digest: [u8; 20],
}

/// Reads and assesses answers. Cheap to clone: one per thread.
#[derive(Clone)]
pub struct Analyst {
    /// How bytes become pages.
    pub extract: Arc<Options>,
    /// How pages become words.
    pub text: Arc<TextOptions>,
    /// The loop teaches it while threads ask it.
    pub judge: Arc<RwLock<Box<dyn Judge>>>,
    /// What the strategy will ask of a page: made here, where there are threads for it.
    pub parts: Parts,
    /// Who reads documents.
    pub documents: Documents,
    /// Who shows pages in a browser; `None`: nobody.
    pub rendering: Option<Arc<Rendering>>,
}

impl Analyst {
    /// `None` when the answer is not a page (an error, a redirect, nothing we can read).
    pub fn analyse(&self, fetched: &Fetched) -> Option<Analysis> {
        let (page, digest) = self.page(fetched).ok()??;
        self.assess(page, digest)
    }

    /// As `analyse`; an answer whose document cannot be read says why.
    pub fn read_answer(&self, fetched: &mut Fetched) -> Option<Analysis> {
        match self.page(fetched) {
            Ok(page) => page.and_then(|(page, digest)| self.assess(page, digest)),
            Err(why) => {
                fetched.failure = Some(why.failure());
                None
            }
        }
    }

    /// Step 4a: what the judge makes of a page. `None`: there is nothing in it that can be read.
    pub fn assess(&self, page: Arc<Page>, digest: [u8; 20]) -> Option<Analysis> {
        let doc = self.doc(page)?;
        doc.prepare(self.parts);
        // A poisoned lock means another thread panicked while judging; the judge itself is still sound to
        // read.
        let judge = self.judge.read().unwrap_or_else(|e| e.into_inner());
        let assessment = (!judge.needs().own_text).then(|| judge.assess(&doc));
        Some(Analysis { doc, assessment, digest })
    }

    /// Measures a page by itself, whatever its host's other pages have.
    pub fn assess_alone(&self, doc: &Doc) -> Assessment {
        self.judge.read().unwrap_or_else(|e| e.into_inner()).assess(doc)
    }

    /// Step 3 alone: the page with its words, and the SHA-1 of its payload.
    pub fn read(&self, fetched: &Fetched) -> Option<(Doc, [u8; 20])> {
        let (page, digest) = self.page(fetched).ok()??;
        Some((self.doc(page)?, digest))
    }

    fn doc(&self, page: Arc<Page>) -> Option<Doc> {
        (page.kind != PageKind::Opaque).then(|| Doc::new(page, &self.text))
    }

    /// The page of an answer, if it is one.
    fn page(&self, fetched: &Fetched) -> Result<Option<(Arc<Page>, [u8; 20])>, Unread> {
        if !(200..300).contains(&fetched.status) || fetched.failure.is_some() {
            return Ok(None);
        }
        Ok(match &fetched.payload {
            Payload::None => None,
            Payload::Page(page) => Some((page.clone(), [0; 20])),
            Payload::Bytes { .. } => {
                let (content_type, body) = fetched.readable();
                let x_robots_tag = fetched.header("x-robots-tag");
                let options = self.extract.for_answer(fetched);
                let page =
                    self.documents.read(&fetched.url, content_type, x_robots_tag, body, options.as_ref())?;
                Some((Arc::new(page), digest(fetched)))
            }
        })
    }
}

/// SHA-1 of the payload as it was sent; of a rendered page, of its document: every page of an application has
/// the same payload.
pub(crate) fn digest(fetched: &Fetched) -> [u8; 20] {
    match (&fetched.rendered, &fetched.payload) {
        (Some(rendered), _) => store::archive::payload_digest(&rendered.html).0,
        (None, Payload::Bytes { wire, .. }) => store::archive::payload_digest(wire).0,
        _ => [0; 20],
    }
}

/// A page that says "not found" with status 200. Short text and a telling title or first heading.
pub fn is_soft_404(doc: &Doc) -> bool {
    const SIGNS: &[&str] = &[
        "404",
        "not found",
        "page not found",
        "no longer available",
        "does not exist",
        "error 404",
        "nicht gefunden",
        "introuvable",
        "no encontrada",
        "nao encontrada",
        "não encontrada",
    ];
    let page = &doc.page;
    if page.text.len() > 1500 {
        return false;
    }
    let heading = page.headings.first().map_or("", |h| h.span.of(&page.text));
    let says = |s: &str| {
        let s = s.to_lowercase();
        SIGNS.iter().any(|sign| s.contains(sign))
    };
    says(&page.title) || says(heading)
}
