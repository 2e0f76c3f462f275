//! How much more a term is of the example pages than of others: what terms are ranked by when there is a
//! background.
//!
//! Counted are pages, not occurrences: five examples say little about how often a word is repeated. A term's
//! weight is the logarithm of the odds of finding it on an example over those of finding it elsewhere
//! (Robertson and Sparck Jones 1976). Five pages also share much by chance, above all what every page of
//! their kind says. So the background is asked a second question: how much likelier is the term on pages that
//! name the subject than on those that do not? `Lisp` is on two of five pages about artificial intelligence
//! and so is `appointment`; on a thousand other pages only one of them goes with the subject. Both logarithms
//! are added; the share of the examples that have the term counts with its square root. Measured against
//! other rankings in `docs/results.md`.

use super::generate::{LONGEST, each_phrase, hash_of, hashed};
use crate::text::Doc;
use std::collections::{HashMap, HashSet};

/// A term must be so many times as common on the examples as elsewhere.
const LEAST_RATIO: f64 = 3.0;

/// From so many pages on, a phrase of one example that none of them has is that example's own: it would find
/// nothing.
const MANY: u32 = 50;

/// Fewer pages with (or without) the subject say nothing of what goes with it.
const FEW: u32 = 5;

/// The background, counted.
pub struct Contrast {
    pages: u32,
    /// Pages that name the subject; 0 when that is not known well enough.
    about: u32,
    /// By phrase: pages that have it, and those of them that name the subject.
    on: HashMap<u64, (u32, u32)>,
    /// The subject's phrases, and how many pages have each.
    subject: Vec<(u64, u32)>,
}

impl Contrast {
    /// Counts the phrases that `wanted` asks for. The subject's words count as far as fewer than half of the
    /// pages have them.
    pub fn new(background: &[&Doc], subject: &[String], wanted: impl Fn(u64) -> bool) -> Contrast {
        let subject: Vec<u64> = subject.iter().filter_map(|s| hash_of(s)).collect();
        let mut named: HashMap<u64, u32> = HashMap::new();
        let mut pages: Vec<(HashSet<u64>, Vec<u64>)> = Vec::with_capacity(background.len());
        let none = HashSet::new();
        for doc in background {
            let mut here = HashSet::new();
            let mut names = Vec::new();
            each_phrase(doc, LONGEST, &none, |_, tokens| {
                let (_, hash) = hashed(tokens);
                if wanted(hash) {
                    here.insert(hash);
                }
                if subject.contains(&hash) && !names.contains(&hash) {
                    names.push(hash);
                }
            });
            names.iter().for_each(|n| *named.entry(*n).or_default() += 1);
            pages.push((here, names));
        }
        let all = pages.len() as u32;
        let telling = |hash: &u64| named.get(hash).is_some_and(|n| 2 * n < all);
        let counted = subject.iter().map(|h| (*h, named.get(h).copied().unwrap_or(0))).collect();
        let mut out = Contrast { pages: all, about: 0, on: HashMap::new(), subject: counted };
        for (here, names) in &pages {
            let about = u32::from(names.iter().any(telling));
            out.about += about;
            for hash in here {
                let n = out.on.entry(*hash).or_default();
                n.0 += 1;
                n.1 += about;
            }
        }
        if out.about < FEW || all - out.about < FEW {
            out.about = 0;
        }
        out
    }

    /// How well a term that `has` of `examples` pages have tells them from the background, whatever it has to
    /// do with the subject.
    pub fn apart(&self, hash: u64, has: u32, examples: usize) -> f64 {
        self.telling(has, examples, self.on.get(&hash).map_or(0, |n| n.0))
    }

    fn telling(&self, has: u32, examples: usize, on: u32) -> f64 {
        let (has, examples) = (f64::from(has), examples.max(1) as f64);
        log_odds(has, examples, on, self.pages) * libm::sqrt(has / examples)
    }

    /// The same of the subject's own phrases: the best of them; 0 when none of the examples has any.
    pub fn of_subject(&self, examples: &[&Doc]) -> f64 {
        let mut has = vec![0u32; self.subject.len()];
        let none = HashSet::new();
        for doc in examples {
            let mut here = HashSet::new();
            each_phrase(doc, LONGEST, &none, |_, tokens| {
                let (_, hash) = hashed(tokens);
                if self.subject.iter().any(|s| s.0 == hash) {
                    here.insert(hash);
                }
            });
            for (n, (hash, _)) in has.iter_mut().zip(&self.subject) {
                *n += u32::from(here.contains(hash));
            }
        }
        let value = |(has, (_, on)): (&u32, &(u64, u32))| self.telling(*has, examples.len(), *on);
        has.iter().zip(&self.subject).map(value).fold(0.0, f64::max)
    }

    /// The value of a term that `has` of `examples` pages have; `None` when it is hardly commoner there than
    /// elsewhere.
    pub fn value(&self, hash: u64, has: u32, examples: usize) -> Option<f64> {
        let (on, on_about) = self.on.get(&hash).copied().unwrap_or((0, 0));
        if has < 2 && on == 0 && self.pages >= MANY {
            return None;
        }
        let (has, examples) = (f64::from(has), examples as f64);
        let here = (has + 0.25) / (examples + 0.5);
        let there = (f64::from(on) + 0.5) / (f64::from(self.pages) + 1.0);
        if self.pages > 0 && here < LEAST_RATIO * there {
            return None;
        }
        let mut value = log_odds(has, examples, on, self.pages);
        if self.about > 0 {
            let about = f64::from(self.about);
            value += log_odds(f64::from(on_about), about, on - on_about, self.pages - self.about);
        }
        Some(value * libm::sqrt(has / examples))
    }
}

/// ln of the odds of `k` in `n` over those of `other` in `others`; half a page more of each keeps it finite.
fn log_odds(k: f64, n: f64, other: u32, others: u32) -> f64 {
    let (other, others) = (f64::from(other), f64::from(others));
    libm::log((k + 0.5) / (n - k + 0.5) * (others - other + 0.5) / (other + 0.5))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::TextOptions;
    use std::sync::Arc;
    use types::{Block, Page, Region, Span};

    fn docs(texts: &[&str]) -> Vec<Doc> {
        let doc = |text: &&str| {
            let blocks = vec![Block { span: Span::new(0, text.len()), region: Region::Body }];
            let page = Page { language: "en".into(), text: text.to_string(), blocks, ..Page::default() };
            Doc::new(Arc::new(page), &TextOptions::default())
        };
        texts.iter().map(doc).collect()
    }
    fn value(texts: &[&str], subject: &str, term: &str, has: u32) -> Option<f64> {
        let docs = docs(texts);
        let refs: Vec<&Doc> = docs.iter().collect();
        Contrast::new(&refs, &[subject.to_string()], |_| true).value(hash_of(term).unwrap(), has, 4)
    }

    #[test]
    fn by_hand() {
        // On three of four examples, on one of nine others: ln(3.5/1.5 · 8.5/1.5), times √¾.
        let mut others = vec!["nothing of note"; 8];
        others.push("lisp");
        let v = value(&others, "intelligence", "lisp", 3).unwrap();
        assert!((v - libm::log(3.5 / 1.5 * 8.5 / 1.5) * libm::sqrt(0.75)).abs() < 1e-12, "{v}");
        // As common elsewhere as here.
        assert_eq!(value(&["lisp"; 9], "intelligence", "lisp", 4), None);
        // Seen once, and on none of many others.
        assert_eq!(value(&["nothing of note"; 60], "", "lisp", 1), None);
        assert!(value(&["nothing of note"; 60], "", "lisp", 2).is_some());
        // With nothing to compare with, only how many of the examples have it.
        assert!(value(&[], "", "lisp", 4) > value(&[], "", "lisp", 3));
    }

    #[test]
    fn how_well_the_subject_itself_tells() {
        let background = docs(&["intelligence", "nothing of note", "nothing", "of note"]);
        let refs: Vec<&Doc> = background.iter().collect();
        let subject = ["machine intelligence".to_string(), "intelligence".to_string(), "!".to_string()];
        let c = Contrast::new(&refs, &subject, |_| true);
        let examples = docs(&["Machine intelligence", "intelligence", "lisp"]);
        let examples: Vec<&Doc> = examples.iter().collect();
        // The phrase is on one of three and none of four, the word on two and one: the better of the two.
        let phrase = libm::log(1.5 / 2.5 * 4.5 / 0.5) * libm::sqrt(1.0 / 3.0);
        let word = libm::log(2.5 / 1.5 * 3.5 / 1.5) * libm::sqrt(2.0 / 3.0);
        assert!((c.of_subject(&examples) - phrase.max(word)).abs() < 1e-12);
        assert_eq!(c.of_subject(&examples[2..]), 0.0, "no example names it");
        assert_eq!(c.of_subject(&[]), 0.0);
        let lisp = c.apart(hash_of("lisp").unwrap(), 1, 3);
        assert!((lisp - phrase).abs() < 1e-12, "as common as the phrase");
    }

    #[test]
    fn what_goes_with_the_subject_counts_more() {
        let mut others = vec!["nothing of note"; 20];
        others.extend(["machine intelligence and lisp"; 3]);
        others.extend(["machine intelligence"; 3]);
        others.extend(["appointment"; 3]);
        let lisp = value(&others, "machine intelligence", "lisp", 2).unwrap();
        let appointment = value(&others, "machine intelligence", "appointment", 2).unwrap();
        assert!(lisp > appointment + 1.0, "{lisp} {appointment}");
        // A subject that nobody names, or everybody, tells nothing.
        for subject in ["unheard of", "nothing"] {
            let both = ["lisp", "appointment"].map(|t| value(&others, subject, t, 2).unwrap());
            assert_eq!(both[0], both[1], "{subject}");
        }
    }
}
