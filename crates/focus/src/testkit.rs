//! For tests: webs in a string, their pages as documents, and crawls of them with the real loop.
//!
//! The loop is built on the crate as everybody else sees it, not on the one under test here: it takes webs,
//! topics and names, never a strategy or a judge of ours.

use crate::text::{Doc, TextOptions};
pub use crawl::testkit::{CrawlLog as Crawl, Options, check, judged_by_genre, run, run_with};
pub use madeup::{WebString as Web, small_wordnet};

/// Pages of a web as documents.
pub trait Docs {
    fn doc(&self, path: &str, options: &TextOptions) -> Doc;
}

impl Docs for Web {
    fn doc(&self, path: &str, options: &TextOptions) -> Doc {
        Doc::new(self.page(path), options)
    }
}
