//! How often words occur, and the weights of the literature: tf·idf over the whole vocabulary (Batsakis) and
//! the weighted log tf (Pappas et al. 2012).

use super::Token;
use learn::SparseVec;
use learn::bytes::{Reader, Writer, damaged};
use std::collections::HashMap;
use types::Problem;

/// How often each word occurs: sorted by hash, stopwords left out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counts(Vec<(u64, u32)>);

/// So many words are sorted as fast as they are counted.
const FEW: usize = 64;

impl Counts {
    /// Of some pieces of text together.
    pub fn of(pieces: &[&[Token]]) -> Counts {
        let words = || pieces.iter().flat_map(|p| p.iter()).filter(|t| !t.is_stop()).map(|t| t.hash);
        let total: usize = pieces.iter().map(|p| p.len()).sum();
        if total <= FEW {
            return Counts::from_pairs(words().map(|hash| (hash, 1)).collect());
        }
        // A page says most of its words several times: counted first, a third is left to sort.
        let mut counts: HashMap<u64, u32, Plain> = HashMap::with_capacity_and_hasher(total / 2, Plain);
        words().for_each(|hash| *counts.entry(hash).or_default() += 1);
        let mut out: Vec<(u64, u32)> = counts.into_iter().collect();
        out.sort_unstable();
        Counts(out)
    }
    /// From pairs of word and count, as saved; counts of one word add up.
    pub(crate) fn from_pairs(mut pairs: Vec<(u64, u32)>) -> Counts {
        pairs.sort_unstable();
        pairs.dedup_by(|later, kept| {
            let same = later.0 == kept.0;
            if same {
                kept.1 = kept.1.saturating_add(later.1);
            }
            same
        });
        Counts(pairs)
    }
    /// How often the word of this hash was counted.
    pub fn get(&self, hash: u64) -> u32 {
        self.0.binary_search_by_key(&hash, |e| e.0).ok().and_then(|i| self.0.get(i)).map_or(0, |e| e.1)
    }
    /// Hashes with their counts, hashes ascending.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (u64, u32)> + '_ {
        self.0.iter().copied()
    }
    /// Number of different words.
    pub fn len(&self) -> usize {
        self.0.len()
    }
    /// No word was counted.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
    /// The largest count; 0 when empty.
    pub fn max(&self) -> u32 {
        self.0.iter().map(|e| e.1).max().unwrap_or(0)
    }

    /// Batsakis: `w = tf·idf`, `tf = f / max f`.
    pub fn tf_idf(&self, df: &DocFreq) -> SparseVec {
        let max = f64::from(self.max().max(1));
        SparseVec::from_sorted(self.iter().map(|(h, f)| (h, f64::from(f) / max * df.idf(h))).collect())
    }
    /// Pappas et al. 2012: `TFW = 1 + ln(1 + ln tf)`, times a weight of the word (its idf, or 1).
    pub fn log_tf(&self, weight: impl Fn(u64) -> f64) -> SparseVec {
        SparseVec::from_sorted(self.iter().map(|(h, f)| (h, log_tf(f) * weight(h))).collect())
    }
    /// `tf = f / max f` alone.
    pub fn tf(&self) -> SparseVec {
        let max = f64::from(self.max().max(1));
        SparseVec::from_sorted(self.iter().map(|(h, f)| (h, f64::from(f) / max)).collect())
    }
}

/// Pappas's weighted log term frequency: 0 if tf = 0, else `1 + ln(1 + ln tf)`.
pub fn log_tf(tf: u32) -> f64 {
    if tf == 0 { 0.0 } else { 1.0 + libm::log(1.0 + libm::log(f64::from(tf))) }
}

/// How many documents contain each word: a background collection, or the crawl so far.
///
/// Keys are the lower half of the word hash: a collision in four billion only blurs an idf. Bounded: when
/// more than a million words are known, the rarest are forgotten.
#[derive(Clone, Debug, Default)]
pub struct DocFreq {
    documents: u32,
    words: HashMap<u32, u32, Plain>,
    /// Words changed since the last `save`, in any order and maybe more than once; `None` = all of it must be
    /// saved.
    changed: Option<Vec<u32>>,
    /// Anything is new since then, be it only one more document without words.
    dirty: bool,
}

/// The keys are hashes already.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Plain;
#[derive(Default)]
pub(crate) struct PlainHasher(u64);
impl std::hash::BuildHasher for Plain {
    type Hasher = PlainHasher;
    fn build_hasher(&self) -> PlainHasher {
        PlainHasher::default()
    }
}
impl std::hash::Hasher for PlainHasher {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&b| self.0 = self.0.rotate_left(8) ^ u64::from(b));
    }
    fn write_u32(&mut self, v: u32) {
        // The table takes its control bits from the top.
        self.0 = u64::from(v).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
    fn write_u64(&mut self, v: u64) {
        self.0 = v;
    }
}

/// Beyond this the rarest are forgotten. (A table of more than 917,000 takes twice as much.)
const MOST_WORDS: usize = 900_000;

impl DocFreq {
    /// Counts the words of one more document.
    pub fn add(&mut self, counts: &Counts) {
        self.documents = self.documents.saturating_add(1);
        self.dirty = true;
        for (hash, _) in counts.iter() {
            let key = hash as u32;
            *self.words.entry(key).or_insert(0) += 1;
            if let Some(changed) = &mut self.changed {
                changed.push(key);
            }
        }
        if self.changed.as_ref().is_some_and(|c| c.len() > MOST_WORDS) {
            // Nobody saves: what changed is no shorter than everything.
            self.changed = None;
        }
        self.bound();
    }

    fn bound(&mut self) {
        let mut least = 1;
        while self.words.len() > MOST_WORDS {
            self.words.retain(|_, n| *n > least);
            least += 1;
            self.changed = None;
        }
    }

    /// Number of documents counted.
    pub fn documents(&self) -> u32 {
        self.documents
    }
    /// Documents that contain the word.
    pub fn of(&self, hash: u64) -> u32 {
        self.words.get(&(hash as u32)).copied().unwrap_or(0)
    }
    /// `ln((N+1)/(n+1)) + 1`: finite for words never seen, 1 when nothing is known.
    pub fn idf(&self, hash: u64) -> f64 {
        idf(self.documents, self.of(hash))
    }

    /// A background collection as text: a line `documents<TAB>N`, then
    /// `word or phrase<TAB>documents with it`. Lines that start with `#` are comments.
    pub fn from_text(text: &str, options: &super::TextOptions) -> Result<DocFreq, Problem> {
        let mut df = DocFreq::default();
        let bad = |n: usize, why: &str| {
            Problem::usage(format!("idf file, line {}: {why}", n + 1)).hint(
                "each line is a word or phrase, a tab, and how many documents contain it; the first \
                       line is `documents`, a tab, and how many documents there are",
            )
        };
        let mut told = false;
        for (n, line) in text.lines().enumerate() {
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            let (word, count) = line.rsplit_once('\t').ok_or_else(|| bad(n, "there is no tab"))?;
            let count: u32 = count.trim().parse().map_err(|_| bad(n, "the count is not a whole number"))?;
            if !told {
                if word.trim() != "documents" {
                    return Err(bad(n, "the number of documents is missing"));
                }
                df.documents = count;
                told = true;
                continue;
            }
            let hashes: Vec<u64> = options.tokens(word).iter().map(|t| t.hash).collect();
            if !hashes.is_empty() {
                // Words that fold or stem to one: at least as many documents as the commonest of them.
                let known = df.words.entry(phrase_hash(&hashes) as u32).or_insert(0);
                *known = count.min(df.documents).max(*known);
            }
        }
        if !told {
            return Err(bad(0, "the file is empty"));
        }
        Ok(df)
    }

    /// Everything, or (`full = false`) what changed since the last call; `None` when nothing did.
    pub fn save(&mut self, full: bool) -> Option<Vec<u8>> {
        if !full && !self.dirty {
            return None;
        }
        self.dirty = false;
        let changed = self.changed.replace(Vec::new());
        let mut keys: Vec<u32> = match changed {
            Some(keys) if !full => keys,
            _ => self.words.keys().copied().collect(),
        };
        keys.sort_unstable();
        keys.dedup();
        // A change says what is new; everything replaces what was there.
        let whole = keys.len() == self.words.len();
        let mut w = Writer::default();
        w.u8(u8::from(whole)).u32(self.documents).var(keys.len() as u64);
        let mut last = 0;
        for key in keys {
            w.var(u64::from(key - last)).var(u64::from(self.words.get(&key).copied().unwrap_or(0)));
            last = key;
        }
        Some(w.0)
    }

    /// Reads what `save` wrote: a full save replaces the counts, a change is laid over them.
    pub fn load(&mut self, bytes: &[u8]) -> Result<(), Problem> {
        let mut r = Reader(bytes);
        let whole = r.u8()? == 1;
        self.documents = r.u32()?;
        if whole {
            self.words.clear();
        }
        let n = r.var()?;
        let mut key = 0u32;
        for _ in 0..n {
            let step = u32::try_from(r.var()?).map_err(|_| damaged())?;
            key = key.checked_add(step).ok_or_else(damaged)?;
            let count = u32::try_from(r.var()?).map_err(|_| damaged())?;
            if count == 0 {
                self.words.remove(&key);
            } else {
                self.words.insert(key, count);
            }
        }
        self.changed = Some(Vec::new());
        self.dirty = false;
        r.end()
    }
}

/// `ln((N+1)/(n+1)) + 1`.
pub fn idf(documents: u32, with: u32) -> f64 {
    // A word cannot be in more documents than there are; a damaged count must not make the weight negative.
    let with = with.min(documents);
    libm::log((f64::from(documents) + 1.0) / (f64::from(with) + 1.0)) + 1.0
}

/// The name of a phrase among words: that of its only word, or a mix of them in order.
pub fn phrase_hash(hashes: &[u64]) -> u64 {
    match hashes {
        [one] => *one,
        many => many
            .iter()
            .fold(0x51_7cc1_b727_2202u64, |h, w| (h.rotate_left(23) ^ w).wrapping_mul(0x9e37_79b9_7f4a_7c15)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::{TextOptions, word_hash};
    use proptest::prelude::*;

    fn counts(text: &str) -> Counts {
        Counts::of(&[&TextOptions::default().tokens(text)])
    }

    #[test]
    fn tf_idf_by_hand() {
        let mut df = DocFreq::default();
        for text in ["index scan", "index", "planner"] {
            df.add(&counts(text));
        }
        // N = 3: index in 2, scan in 1, vacuum in none.
        let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-12, "{a} {b}");
        close(df.idf(word_hash("index")), (4.0f64 / 3.0).ln() + 1.0);
        close(df.idf(word_hash("vacuum")), 4.0f64.ln() + 1.0);
        let v = counts("index index scan the").tf_idf(&df);
        assert_eq!(v.len(), 2);
        close(v.get(word_hash("index")), (4.0f64 / 3.0).ln() + 1.0);
        close(v.get(word_hash("scan")), 0.5 * ((4.0f64 / 2.0).ln() + 1.0));
        // Cosine with the query {scan: 1}.
        let q = SparseVec::new(vec![(word_hash("scan"), 1.0)]);
        let (a, b) = ((4.0f64 / 3.0).ln() + 1.0, 0.5 * (2.0f64.ln() + 1.0));
        close(v.cosine(&q), b / (a * a + b * b).sqrt());
        assert_eq!(v.cosine(&SparseVec::default()), 0.0);
    }

    #[test]
    fn weighted_log_tf_by_hand() {
        assert_eq!(log_tf(0), 0.0);
        assert_eq!(log_tf(1), 1.0);
        assert!((log_tf(3) - (1.0 + (1.0 + 3.0f64.ln()).ln())).abs() < 1e-12);
    }

    #[test]
    fn nothing_known_weighs_one() {
        assert_eq!(DocFreq::default().idf(7), 1.0);
        assert_eq!(idf(2, 9), 1.0);
    }

    #[test]
    fn document_counts_survive_changes_and_a_restart() {
        let mut live = DocFreq::default();
        assert!(live.save(false).is_none());
        live.add(&counts("one two"));
        let full = live.save(true).unwrap();
        live.add(&counts("two three"));
        let change = live.save(false).unwrap();
        assert!(live.save(false).is_none());
        let mut back = DocFreq::default();
        back.load(&full).unwrap();
        back.load(&change).unwrap();
        assert_eq!(back.documents(), 2);
        for (w, n) in [("one", 1), ("two", 2), ("three", 1), ("four", 0)] {
            assert_eq!(back.of(word_hash(w)), n, "{w}");
        }
        assert_eq!(back.save(true), live.save(true));
        assert!(back.load(&full[..full.len() - 1]).is_err());
    }

    #[test]
    fn a_background_file() {
        let df = DocFreq::from_text(
            "# mine\ndocuments\t10\nSyllabus\t3\noffice hours\t2\n",
            &TextOptions::default(),
        )
        .unwrap();
        assert_eq!((df.documents(), df.of(word_hash("syllabus"))), (10, 3));
        assert_eq!(df.of(phrase_hash(&[word_hash("office"), word_hash("hours")])), 2);
        for bad in ["", "syllabus\t3\n", "documents\tten\n", "documents 10\n"] {
            assert!(DocFreq::from_text(bad, &TextOptions::default()).is_err(), "{bad:?}");
        }
    }

    proptest! {
        #[test]
        fn a_damaged_state_is_a_message(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
            let _ = DocFreq::default().load(&bytes);
        }
    }
}
