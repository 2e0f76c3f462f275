//! The topic as a vector over words, and the cosine of texts with it (Batsakis, §2.3, §3.2): shared by the
//! best-first family.

use super::StrategySetup;
use crate::text::vector::DocFreq;
use crate::text::{Counts, Doc, SparseVec, Token};
use types::Problem;

/// `cos(x, q)` over the whole vocabulary with tf·idf weights. The idf is that of a background collection when
/// there is one, else of the pages so far.
pub(crate) struct QueryVector {
    words: Counts,
    df: DocFreq,
    /// Learns from the crawl.
    online: bool,
    vector: SparseVec,
}

impl QueryVector {
    /// The topic's genre and content terms, as far as they count ([`crate::topic::Topic::counts`]), as words;
    /// phrases contribute each of their words.
    pub fn new(setup: &StrategySetup) -> QueryVector {
        let o = setup.text();
        let mut tokens: Vec<Token> = Vec::new();
        for term in setup.topic.counted().flat_map(|l| l.for_language(None, o)) {
            o.tokenise(&term, None, &mut tokens);
        }
        let words = Counts::of(&[&tokens]);
        let df = setup.idf.cloned().unwrap_or_default();
        let vector = words.tf_idf(&df);
        QueryVector { words, df, online: setup.idf.is_none(), vector }
    }

    /// One more page is known.
    pub fn learn(&mut self, doc: &Doc) {
        if self.online {
            self.df.add(doc.counts());
            self.vector = self.words.tf_idf(&self.df);
        }
    }

    /// tf·idf weights of some words under what is known now.
    pub fn weights(&self, counts: &Counts) -> SparseVec {
        counts.tf_idf(&self.df)
    }

    /// The topic's words with their weights.
    pub fn vector(&self) -> &SparseVec {
        &self.vector
    }

    /// `cos(u, q)` of a whole page.
    pub fn page(&self, doc: &Doc) -> f64 {
        self.of(doc.counts())
    }

    /// `cos(a, q)` of some words.
    pub fn words(&self, tokens: &[Token]) -> f64 {
        // Most anchors share no word with the topic, and there are hundreds on a page: nothing is counted for
        // those.
        let shares = tokens.iter().any(|t| !t.is_stop() && self.words.get(t.hash) > 0);
        if shares { self.of(&Counts::of(&[tokens])) } else { 0.0 }
    }

    fn of(&self, counts: &Counts) -> f64 {
        counts.tf_idf(&self.df).cosine(&self.vector).max(0.0)
    }

    pub fn save(&mut self, full: bool) -> Option<Vec<u8>> {
        if self.online { self.df.save(full) } else { None }
    }

    pub fn load(&mut self, bytes: &[u8]) -> Result<(), Problem> {
        if self.online {
            self.df.load(bytes)?;
            self.vector = self.words.tf_idf(&self.df);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topic::Topic;

    #[test]
    fn terms_without_weight_are_no_part_of_the_query() {
        let text = |weights: &str| {
            format!(
                "name = 't'\n[genre]\nterms = ['manual']\n[content]\nterms = ['query plan']\n[judge]\n\
                 {weights}"
            )
        };
        let words = |text: String| {
            QueryVector::new(&StrategySetup::new(&Topic::from_toml(&text).unwrap())).words.len()
        };
        assert_eq!(words(text("")), 3);
        assert_eq!(words(text("weights = { genre = 0, content = 10 }")), 2);
    }

    #[test]
    fn words_that_share_nothing_with_the_topic_are_worth_nothing() {
        let t = Topic::from_toml("query = 'query plan index'").unwrap();
        let setup = StrategySetup::new(&t);
        let mut q = QueryVector::new(&setup);
        let tokens = |text: &str| {
            let mut out = Vec::new();
            setup.text().tokenise(text, None, &mut out);
            out
        };
        let page = types::Page { text: "an index and a plan".into(), ..Default::default() };
        q.learn(&Doc::new(page.into(), setup.text()));
        for text in ["", "the", "nothing of it", "an index", "the plan of a query, the index", "index fund"] {
            let tokens = tokens(text);
            // The shortcut gives what the whole sum gives.
            assert_eq!(q.words(&tokens), q.of(&Counts::of(&[&tokens])), "{text}");
        }
        assert!(q.words(&tokens("an index")) > 0.0);
    }
}
