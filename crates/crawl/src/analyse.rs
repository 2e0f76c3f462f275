//! Steps 3 and 4a: bytes to page to assessment. Pure, so it runs anywhere: on the thread pool of a live crawl, on
//! the cores of a tournament.

use extract::Options;
use focus::judges::Judge;
use focus::text::{Doc, Parts, TextOptions};
use std::sync::{Arc, RwLock};
use types::{Assessment, Fetched, PageKind, Payload};

/// What is known of an answer before anything is decided.
pub struct Analysis {
    pub doc: Doc,
    /// `None`: the judge reads a page without the menus of its host, which are known only when its turn comes.
    pub assessment: Option<Assessment>,
    /// SHA-1 of the payload; zero for pages that come already extracted.
    pub digest: [u8; 20],
}

/// Reads and assesses answers. Cheap to clone: one per thread.
#[derive(Clone)]
pub struct Analyst {
    pub extract: Arc<Options>,
    pub text: Arc<TextOptions>,
    pub judge: Arc<RwLock<Box<dyn Judge>>>,
    /// What the strategy will ask of a page: made here, where there are threads for it.
    pub parts: Parts,
}

impl Analyst {
    /// `None` when the answer is not a page (an error, a redirect, nothing we can read).
    pub fn analyse(&self, fetched: &Fetched) -> Option<Analysis> {
        let (doc, digest) = self.read(fetched)?;
        doc.prepare(self.parts);
        // A poisoned lock means another thread panicked while judging; the judge itself is still sound to read.
        let judge = self.judge.read().unwrap_or_else(|e| e.into_inner());
        let assessment = (!judge.reads_own_text()).then(|| judge.assess(&doc));
        Some(Analysis { doc, assessment, digest })
    }

    /// Measures a page by itself, whatever its host's other pages have.
    pub fn assess(&self, doc: &Doc) -> Assessment {
        self.judge.read().unwrap_or_else(|e| e.into_inner()).assess(doc)
    }

    /// Step 3 alone: the page, and the SHA-1 of its payload.
    pub fn read(&self, fetched: &Fetched) -> Option<(Doc, [u8; 20])> {
        if !(200..300).contains(&fetched.status) || fetched.failure.is_some() {
            return None;
        }
        let (page, digest) = match &fetched.payload {
            Payload::None => return None,
            Payload::Page(page) => (page.clone(), [0; 20]),
            Payload::Bytes { wire, decoded } => {
                let page = extract::extract(
                    &fetched.url,
                    fetched.header("content-type"),
                    fetched.header("x-robots-tag"),
                    decoded,
                    &self.extract,
                );
                (Arc::new(page), store::archive::payload_digest(wire).0)
            }
        };
        if page.kind == PageKind::Opaque {
            return None;
        }
        Some((Doc::new(page, &self.text), digest))
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
