//! WordNet: what words mean, which mean the same, and how far apart two meanings are.
//!
//! The database is read from the files of a WordNet 3.x folder ([`WordNet::from_files`], Debian's
//! `wordnet-base`) or from WN-LMF XML ([`WordNet::from_lmf`]) into a few flat tables of about ten megabytes:
//! words sorted by spelling, senses and hypernyms as ranges of numbers. This crate opens no files: the caller
//! hands in their contents.
//!
//! * Words are found as they stand, by the lists of exceptions and by WordNet's own endings (`morphy.rs`).
//! * The path between two words is the shortest over all their senses, through a common hypernym
//!   (`relation.rs`). Words that are absent or not connected have none; strategies then take 1 if they are
//!   identical, else 0.

mod files;
mod lmf;
mod morphy;
mod relation;
mod synonyms;

pub use relation::{Relation, Relations};
pub use synonyms::Synonyms;

use std::collections::BTreeMap;
use types::Problem;

/// Part of speech. Nouns and verbs have hypernyms; adjectives and adverbs only synonyms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Pos {
    /// A hypernym of a noun is a wider kind: dog → animal.
    Noun,
    /// A hypernym of a verb is a wider act: walk → move.
    Verb,
    /// Has synonyms only.
    Adjective,
    /// Has synonyms only.
    Adverb,
}

impl Pos {
    /// In the order of WordNet's files.
    pub const ALL: [Pos; 4] = [Pos::Noun, Pos::Verb, Pos::Adjective, Pos::Adverb];

    fn index(self) -> usize {
        self as usize
    }
    /// `n`, `v`, `a` and `s` (an adjective near to another), `r`.
    fn of(letter: &str) -> Option<Pos> {
        match letter {
            "n" => Some(Pos::Noun),
            "v" => Some(Pos::Verb),
            "a" | "s" => Some(Pos::Adjective),
            "r" => Some(Pos::Adverb),
            _ => None,
        }
    }
}

/// A meaning: the number of a synset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Synset(pub u32);

/// Lists of lists without a vector each: item i holds `values[starts[i]..starts[i + 1]]`.
#[derive(Debug, Default)]
struct Lists {
    starts: Vec<u32>,
    values: Vec<u32>,
}

impl Lists {
    fn of(lists: &[Vec<u32>]) -> Lists {
        let mut out = Lists { starts: vec![0], values: Vec::new() };
        for list in lists {
            out.values.extend_from_slice(list);
            out.starts.push(out.values.len() as u32);
        }
        out
    }
    fn get(&self, i: u32) -> &[u32] {
        match (self.starts.get(i as usize), self.starts.get(i as usize + 1)) {
            (Some(a), Some(b)) => self.values.get(*a as usize..*b as usize).unwrap_or(&[]),
            _ => &[],
        }
    }
}

/// The database in memory.
#[derive(Debug, Default)]
pub struct WordNet {
    /// All words one after another, ascending; a blank between the words of a phrase.
    spelling: String,
    /// Word → start in `spelling`; one more than there are words.
    words: Vec<u32>,
    /// For each part of speech: word → synsets, most frequent first.
    senses: [Lists; 4],
    /// Synset → words.
    members: Lists,
    /// Synset → hypernyms (also of instances).
    hypernyms: Lists,
    /// Synset → steps to the nearest root.
    depths: Vec<u8>,
    pos: Vec<Pos>,
    /// For each part of speech: (irregular form, its base forms).
    exceptions: [BTreeMap<Box<str>, Vec<Box<str>>>; 4],
}

/// How to get it.
pub fn missing(what: &str) -> Problem {
    Problem::new(format!("WordNet is not complete: {what} is missing"))
        .because("the strategies ehrig, ssrm and synset look words up in it")
        .hint(
            "run `apt-get install wordnet-base` and put `wordnet = \"/usr/share/wordnet\"` under \
               `[text]`, or name any WordNet 3.x folder or WN-LMF file there",
        )
}

/// What the readers gather before the tables are made.
#[derive(Default)]
struct Builder {
    /// Synsets in order: part of speech, spellings.
    synsets: Vec<(Pos, Vec<String>)>,
    hypernyms: Vec<Vec<u32>>,
    /// (spelling, part of speech) → synsets in the order of the source.
    senses: BTreeMap<(String, Pos), Vec<u32>>,
    exceptions: [BTreeMap<Box<str>, Vec<Box<str>>>; 4],
}

impl Builder {
    fn build(self) -> WordNet {
        let mut spellings: Vec<&str> = self.senses.keys().map(|k| k.0.as_str()).collect();
        spellings.extend(self.synsets.iter().flat_map(|s| s.1.iter().map(String::as_str)));
        spellings.sort_unstable();
        spellings.dedup();
        let mut net = WordNet { words: vec![0], ..WordNet::default() };
        for s in &spellings {
            net.spelling.push_str(s);
            net.words.push(net.spelling.len() as u32);
        }
        let mut lists: [Vec<Vec<u32>>; 4] = std::array::from_fn(|_| vec![Vec::new(); spellings.len()]);
        for ((word, pos), synsets) in &self.senses {
            if let Ok(at) = spellings.binary_search(&word.as_str())
                && let Some(place) = lists.get_mut(pos.index()).and_then(|l| l.get_mut(at))
            {
                place.clone_from(synsets);
            }
        }
        net.senses = lists.map(|l| Lists::of(&l));
        let number = |w: &String| spellings.binary_search(&w.as_str()).ok().map(|n| n as u32);
        let members: Vec<Vec<u32>> =
            self.synsets.iter().map(|s| s.1.iter().filter_map(number).collect()).collect();
        net.members = Lists::of(&members);
        net.pos = self.synsets.iter().map(|s| s.0).collect();
        net.depths = depths(&self.hypernyms);
        net.hypernyms = Lists::of(&self.hypernyms);
        net.exceptions = self.exceptions;
        net
    }
}

/// Steps to the nearest root, by breadth-first search downwards. WordNet 3.0 has a pair of verbs that are
/// each other's hypernym: of what no root reaches, the first counts as a root.
fn depths(hypernyms: &[Vec<u32>]) -> Vec<u8> {
    let mut below: Vec<Vec<u32>> = vec![Vec::new(); hypernyms.len()];
    for (i, up) in hypernyms.iter().enumerate() {
        for u in up {
            below.get_mut(*u as usize).into_iter().for_each(|b| b.push(i as u32));
        }
    }
    let mut depth: Vec<Option<u8>> = vec![None; hypernyms.len()];
    let mut level: Vec<u32> = (0..hypernyms.len())
        .filter(|i| hypernyms.get(*i).is_none_or(Vec::is_empty))
        .map(|i| i as u32)
        .collect();
    let mut unreached = 0;
    loop {
        level.iter().for_each(|i| depth.get_mut(*i as usize).into_iter().for_each(|d| *d = Some(0)));
        let mut d = 0u8;
        while !level.is_empty() {
            d = d.saturating_add(1);
            let mut next = Vec::new();
            for child in level.iter().flat_map(|i| below.get(*i as usize)).flatten() {
                if let Some(place) = depth.get_mut(*child as usize).filter(|d| d.is_none()) {
                    *place = Some(d);
                    next.push(*child);
                }
            }
            level = next;
        }
        match depth.iter().skip(unreached).position(Option::is_none) {
            None => return depth.into_iter().map(|d| d.unwrap_or(0)).collect(),
            Some(at) => {
                unreached += at;
                level.push(unreached as u32);
            }
        }
    }
}

/// Lower case, blanks between words.
fn spelled(word: &str) -> String {
    word.trim().replace('_', " ").to_lowercase()
}

impl WordNet {
    /// From the contents of `index.noun`, `data.noun` and so on, as `read` hands them out by name.
    pub fn from_files(read: impl FnMut(&str) -> Option<Vec<u8>>) -> Result<WordNet, Problem> {
        files::read(read).map(Builder::build)
    }
    /// From a WN-LMF XML file.
    pub fn from_lmf(xml: &[u8]) -> Result<WordNet, Problem> {
        lmf::read(xml).map(Builder::build)
    }

    /// Distinct words and phrases.
    pub fn words(&self) -> usize {
        self.words.len().saturating_sub(1)
    }
    /// Number of synsets of all parts of speech.
    pub fn synsets(&self) -> usize {
        self.pos.len()
    }

    fn word(&self, number: u32) -> &str {
        match (self.words.get(number as usize), self.words.get(number as usize + 1)) {
            (Some(a), Some(b)) => self.spelling.get(*a as usize..*b as usize).unwrap_or(""),
            _ => "",
        }
    }
    fn number(&self, word: &str) -> Option<u32> {
        let (mut low, mut high) = (0u32, self.words() as u32);
        while low < high {
            let middle = low + (high - low) / 2;
            match self.word(middle).cmp(word) {
                std::cmp::Ordering::Equal => return Some(middle),
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        None
    }
    fn exact(&self, word: &str, pos: Pos) -> &[u32] {
        let lists = self.senses.get(pos.index());
        self.number(word).and_then(|n| lists.map(|l| l.get(n))).unwrap_or(&[])
    }

    /// The base forms of a word that WordNet knows as this part of speech, the word itself first.
    pub fn base_forms(&self, word: &str, pos: Pos) -> Vec<String> {
        morphy::base_forms(self, &spelled(word), pos)
    }

    /// The meanings of a word or phrase in any form, nouns first, most frequent first.
    pub fn lookup(&self, word: &str) -> Vec<Synset> {
        let mut out: Vec<Synset> = Vec::new();
        let word = spelled(word);
        for pos in Pos::ALL {
            for form in morphy::base_forms(self, &word, pos) {
                out.extend(self.exact(&form, pos).iter().map(|s| Synset(*s)));
            }
        }
        let mut seen = std::collections::BTreeSet::new();
        out.retain(|s| seen.insert(*s));
        out
    }

    /// Part of speech of a synset; `None` for one that does not exist.
    pub fn pos(&self, synset: Synset) -> Option<Pos> {
        self.pos.get(synset.0 as usize).copied()
    }
    /// The words of a synset.
    pub fn members(&self, synset: Synset) -> impl Iterator<Item = &str> {
        self.members.get(synset.0).iter().map(|w| self.word(*w))
    }
    /// The direct hypernyms of a synset.
    pub fn hypernyms(&self, synset: Synset) -> impl Iterator<Item = Synset> + '_ {
        self.hypernyms.get(synset.0).iter().map(|s| Synset(*s))
    }
    /// Steps to the nearest root; 0 for a root.
    pub fn depth(&self, synset: Synset) -> u32 {
        self.depths.get(synset.0 as usize).map_or(0, |d| u32::from(*d))
    }

    /// Words that share a meaning with this one, without the word itself and its base forms; ascending.
    pub fn synonyms(&self, word: &str) -> Vec<&str> {
        let spelled = spelled(word);
        let mut own: Vec<String> =
            Pos::ALL.iter().flat_map(|p| morphy::base_forms(self, &spelled, *p)).collect();
        own.push(spelled);
        let mut out: Vec<&str> =
            self.lookup(word).into_iter().flat_map(|s| self.members(s).collect::<Vec<_>>()).collect();
        out.sort_unstable();
        out.dedup();
        out.retain(|w| !own.iter().any(|o| o == w));
        out
    }

    /// How near two words are; `None` when one is absent or they are not connected.
    pub fn relation(&self, a: &str, b: &str) -> Option<Relation> {
        relation::between(
            self,
            &relation::above(self, &self.lookup(a)),
            &relation::above(self, &self.lookup(b)),
        )
    }
}

#[cfg(test)]
mod tests;
