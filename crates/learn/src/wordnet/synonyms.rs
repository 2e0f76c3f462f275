//! Synonyms, remembered: looking a word up in all its forms costs ten microseconds, and a crawl asks for the
//! same words all the time.

use super::WordNet;
use std::collections::HashMap;
use std::sync::Arc;

/// Synonyms of words, kept after the first look-up.
pub struct Synonyms {
    net: Arc<WordNet>,
    known: HashMap<Box<str>, Arc<[Box<str>]>>,
    most: usize,
}

impl Synonyms {
    /// `most` words are remembered; then it starts afresh, so that hostile pages cannot fill the memory.
    pub fn new(net: Arc<WordNet>, most: usize) -> Synonyms {
        Synonyms { net, known: HashMap::new(), most: most.max(1) }
    }
    /// As [`WordNet::synonyms`].
    pub fn of(&mut self, word: &str) -> Arc<[Box<str>]> {
        if let Some(known) = self.known.get(word) {
            return known.clone();
        }
        let found: Arc<[Box<str>]> = self.net.synonyms(word).into_iter().map(Box::from).collect();
        if self.known.len() >= self.most {
            self.known.clear();
        }
        self.known.insert(word.into(), found.clone());
        found
    }
}
