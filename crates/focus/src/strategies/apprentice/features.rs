//! What the apprentice sees of a link: ⟨token, DOM offset⟩ pairs around it (Chakrabarti et al. 2002, §2.2),
//! the topics of its page and the judged links beside it. Kept with the link as a few hundred bytes, so that
//! it can be scored again, and learnt from when its target has been judged.

use super::super::Visit;
use crate::text::{Doc, Token};
use learn::bytes::{Reader, Writer};
use std::collections::HashMap;
use types::{Fingerprint, Link, Url};

/// Most pairs kept of one link, nearest first: with the rest of the evidence they stay below 1 KB.
const MOST_PAIRS: usize = 128;
/// Links beside it that are remembered for co-citation, nearest first.
const MOST_BESIDE: usize = 24;
/// Topics of the page that count, and the levels of a class path.
const MOST_TOPICS: usize = 3;
const MOST_PREFIXES: usize = 8;

const VERSION: u8 = 1;

/// The evidence of one link.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Evidence {
    /// The critic's relevance of the page it stands on.
    pub relevance: f64,
    /// Hashes of pairs and topic names, sorted; one that occurs twice stands twice.
    pub features: Vec<u32>,
    /// Links within the window: hash of the target and its offset.
    pub beside: Vec<(u32, i8)>,
}

impl Evidence {
    pub fn write(&self) -> Vec<u8> {
        let mut w = Writer(Vec::with_capacity(16 + 4 * self.features.len() + 6 * self.beside.len()));
        w.u8(VERSION).f64(self.relevance).var(self.features.len() as u64);
        let mut last = 0;
        for f in &self.features {
            w.var(u64::from(f - last));
            last = *f;
        }
        for (hash, d) in &self.beside {
            w.u32(*hash).u8(*d as u8);
        }
        w.0
    }

    /// `None` for what is not ours.
    pub fn read(bytes: &[u8]) -> Option<Evidence> {
        let mut r = Reader(bytes);
        if r.u8().ok()? != VERSION {
            return None;
        }
        let relevance = r.f64().ok()?;
        let n = usize::try_from(r.var().ok()?).ok().filter(|n| *n <= bytes.len())?;
        let mut features = Vec::with_capacity(n);
        let mut last = 0u32;
        for _ in 0..n {
            last = last.checked_add(u32::try_from(r.var().ok()?).ok()?)?;
            features.push(last);
        }
        let mut beside = Vec::with_capacity(r.0.len() / 5);
        while !r.0.is_empty() {
            beside.push((r.u32().ok()?, r.u8().ok()? as i8));
        }
        Some(Evidence { relevance, features, beside })
    }

    /// Features with their counts, as the learner wants them; those of co-citation as far as the targets are
    /// judged.
    pub fn counted(&self, judged: &HashMap<u32, bool>) -> Vec<(u64, u32)> {
        let mut out: Vec<(u64, u32)> = Vec::with_capacity(self.features.len() + self.beside.len());
        for f in &self.features {
            match out.last_mut() {
                Some(last) if last.0 == u64::from(*f) => last.1 += 1,
                _ => out.push((u64::from(*f), 1)),
            }
        }
        for (target, d) in &self.beside {
            if let Some(high) = judged.get(target) {
                out.push((u64::from(mix(if *high { HIGH } else { LOW }, i64::from(*d))), 1));
            }
        }
        out
    }
}

const HIGH: u64 = 0x4849_4748;
const LOW: u64 = 0x4c4f_5721;
const TOPIC: i64 = 1 << 32;

/// One hash of a token and its offset.
pub fn mix(token: u64, d: i64) -> u32 {
    let h = (token ^ (d as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    ((h ^ (h >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53) >> 32) as u32
}

/// Name of a URL among judged targets.
pub fn target(url: &Url) -> u32 {
    Fingerprint::of(url.as_str(), (0x6772_6565, 0x6e21)).0 as u32
}

/// What is looked at.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    pub d_max: u32,
    /// Without, all tokens of the window count as if they were at offset 0 (Chakrabarti et al. 2002, Fig. 7).
    pub offsets: bool,
    pub topic: bool,
    pub cocitation: bool,
}

/// Reads the links of one page.
pub struct Reading<'a> {
    window: Window,
    doc: &'a Doc,
    /// Leaf of each token, ascending.
    leaves: &'a [u32],
    topics: Vec<u32>,
    /// Hash of each link's target, for co-citation.
    targets: Vec<u32>,
    relevance: f64,
}

impl<'a> Reading<'a> {
    pub fn of_visit(window: Window, visit: &Visit<'a>) -> Reading<'a> {
        let mut reading = Reading::of_doc(window, visit.doc, visit.verdict.relevance);
        if window.topic {
            reading.topics = topics(visit);
        }
        reading
    }

    pub fn of_doc(window: Window, doc: &'a Doc, relevance: f64) -> Reading<'a> {
        let targets = if window.cocitation {
            doc.page.links.iter().map(|l| target(&l.url)).collect()
        } else {
            Vec::new()
        };
        let relevance = if relevance.is_finite() { relevance } else { 0.0 };
        Reading { window, doc, leaves: doc.leaves(), topics: Vec::new(), targets, relevance }
    }

    /// The evidence of the `i`th link.
    pub fn link(&self, i: usize, link: &Link) -> Evidence {
        let (first, last) = (link.first_leaf, link.last_leaf.max(link.first_leaf));
        let mut features = self.topics.clone();
        // Tokens of the link itself, then outwards on both sides, the nearer side first.
        let at = |leaf: u32| self.leaves.partition_point(|l| *l < leaf);
        let (inside_from, inside_to) = (at(first), at(last.saturating_add(1)));
        let (from, to) = (
            at(first.saturating_sub(self.window.d_max)),
            at(last.saturating_add(self.window.d_max).saturating_add(1)),
        );
        let most = MOST_PAIRS + self.topics.len();
        for n in inside_from..inside_to.min(inside_from + MOST_PAIRS) {
            self.pair(n, 0, &mut features);
        }
        let (mut left, mut right) = (inside_from, inside_to);
        while features.len() < most && (left > from || right < to) {
            let before = (left > from).then(|| first.saturating_sub(self.leaf(left - 1)));
            let after = (right < to).then(|| self.leaf(right).saturating_sub(last));
            // At the same distance the two sides take turns: a long paragraph before it must not hide what
            // follows.
            let left_first = match (before, after) {
                (Some(b), Some(a)) => (b, inside_from - left) <= (a, right - inside_to),
                (b, _) => b.is_some(),
            };
            if left_first {
                left -= 1;
                self.pair(left, -i64::from(before.unwrap_or(0)), &mut features);
            } else {
                self.pair(right, i64::from(after.unwrap_or(0)), &mut features);
                right += 1;
            }
        }
        features.sort_unstable();
        Evidence { relevance: self.relevance, features, beside: self.beside(i, first, last) }
    }

    fn leaf(&self, token: usize) -> u32 {
        self.leaves.get(token).copied().unwrap_or(0)
    }

    fn pair(&self, token: usize, d: i64, features: &mut Vec<u32>) {
        if let Some(t) = self.doc.body().get(token).filter(|t: &&Token| !t.is_stop()) {
            features.push(mix(t.hash, if self.window.offsets { d } else { 0 }));
        }
    }

    /// Other links within the window, nearest first. A second link to the same target says nothing new of it.
    fn beside(&self, i: usize, first: u32, last: u32) -> Vec<(u32, i8)> {
        let mut out: Vec<(u32, i8)> = Vec::new();
        if !self.window.cocitation {
            return out;
        }
        let own = self.targets.get(i).copied().unwrap_or(0);
        let links = &self.doc.page.links;
        // Links stand in page order: look a bounded way to both sides.
        let near = i.saturating_sub(MOST_BESIDE)..links.len().min(i + MOST_BESIDE + 1);
        for j in near.filter(|j| *j != i) {
            let (Some(other), Some(hash)) = (links.get(j), self.targets.get(j)) else { continue };
            let d = if other.last_leaf < first {
                i64::from(other.last_leaf) - i64::from(first)
            } else if other.first_leaf > last {
                i64::from(other.first_leaf) - i64::from(last)
            } else {
                0
            };
            if d.unsigned_abs() <= u64::from(self.window.d_max) && *hash != own {
                out.push((*hash, d.clamp(-127, 127) as i8));
            }
        }
        out.sort_by_key(|(hash, d)| (d.unsigned_abs(), *d, *hash));
        out.truncate(MOST_BESIDE);
        out
    }
}

/// The page's top classes as the judge names them, each with all prefixes of its path:
/// `Sports/Hockey` also counts as `Sports`.
fn topics(visit: &Visit) -> Vec<u32> {
    let mut parts: Vec<(&str, f64)> =
        visit.assessment.parts.iter().filter(|p| p.value > 0.0).map(|p| (p.name.as_str(), p.value)).collect();
    parts.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(b.0)));
    let mut out = Vec::new();
    for (name, _) in parts.into_iter().take(MOST_TOPICS) {
        // A class goes by its path, not by `Pr(path)`: the parent of `Pr(a/b)` is `a`, as is that of
        // `Pr(a/c)`.
        let name = name.strip_prefix("Pr(").and_then(|n| n.strip_suffix(')')).unwrap_or(name);
        let ends = name.char_indices().filter(|(i, c)| *c == '/' && *i > 0).map(|e| e.0);
        for end in ends.take(MOST_PREFIXES).chain([name.len()]) {
            let prefix = name.get(..end).unwrap_or(name);
            out.push(mix(Fingerprint::of(prefix, (7, 7)).0, TOPIC));
        }
    }
    out.sort_unstable();
    out.dedup();
    out
}
