//! Words, phrases and vectors.

mod doc;
mod language;
mod own;
mod terms;
mod url_words;
pub(crate) mod vector;
mod words;

pub use doc::{Doc, InLinks, Parts};
pub use language::{Language, stopwords};
pub use learn::SparseVec;
pub use own::{Line, Repeats};
pub use terms::{Found, Terms, TermsBuilder, sim};
pub use url_words::url_tokens;
pub use vector::{Counts, DocFreq};
pub(crate) use words::word_hash_of;
pub use words::{Token, normalise, word_hash};

/// How texts and terms become tokens. One per crawl: the same for pages and for the topic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TextOptions {
    /// Reduce words to their stems by the rules of this language. One language for all pages, so that a term
    /// and a word that meet on one page meet on every page.
    pub stem: Option<Language>,
}

impl TextOptions {
    /// Appends the tokens of `text`. Stopwords of `language` are marked, not dropped: phrases contain them
    /// (`what's new`). Of an unknown language the English ones are marked.
    pub fn tokenise(&self, text: &str, language: Option<Language>, out: &mut Vec<Token>) {
        let stop = language.unwrap_or(Language::English).stop();
        match self.stem {
            None => words::each_word(text, |start, end, hash| {
                out.push(Token::new(hash, start, end, stop.contains(hash)));
            }),
            Some(l) => words::each_word(text, |start, end, hash| {
                let stem = language::stem_hash(l, text.get(start..end).unwrap_or(""), hash);
                out.push(Token::new(stem, start, end, stop.contains(hash)));
            }),
        }
    }

    /// The tokens of `text`, of no particular language.
    pub fn tokens(&self, text: &str) -> Vec<Token> {
        let mut out = Vec::new();
        self.tokenise(text, None, &mut out);
        out
    }

    /// The tokens of a URL, stemmed as everything else.
    pub fn url_tokens(&self, url: &types::Url) -> Vec<Token> {
        let mut out = Vec::new();
        url_tokens(url, &mut out);
        self.stem_url(url.as_str(), &mut out);
        out
    }

    pub(crate) fn stem_url(&self, text: &str, tokens: &mut [Token]) {
        if let Some(l) = self.stem {
            for t in tokens {
                t.hash = language::stem_hash(l, t.span().of(text), t.hash);
            }
        }
    }
}
