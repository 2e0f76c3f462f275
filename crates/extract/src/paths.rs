//! Tag paths of links (`html>body>div.main>ul>li>a`), interned.
//!
//! The path of the element being walked is kept as one string that grows and shrinks with the walk, and only
//! as far as links need it: a list of a hundred links shares everything up to its `<ul>`.

use crate::walk::Frame;
use std::collections::HashMap;

/// Longest path kept; of a longer one the inner end, which says more about the link.
const MAX_PATH: usize = 320;
/// Longest class or id kept.
const MAX_NAME: usize = 24;

#[derive(Default)]
pub struct Paths {
    list: Vec<Box<str>>,
    /// Hash of a path → its numbers. Collisions are told apart by the text.
    by_hash: HashMap<u64, Vec<u32>, Identity>,
    /// The present path, and for each element in it where it ends, with the hash up to there.
    text: String,
    ends: Vec<(u32, u64)>,
}

impl Paths {
    /// The walk left the element at this depth (0 = the root).
    #[inline]
    pub fn leave(&mut self, depth: usize) {
        if self.ends.len() > depth {
            self.ends.truncate(depth);
            self.text.truncate(self.ends.last().map_or(0, |e| e.0 as usize));
        }
    }

    /// Did a path already go through the open element at this depth?
    pub fn through(&self, depth: usize) -> bool {
        self.ends.len() > depth
    }

    /// The number of the path made of these elements, outermost first.
    pub fn intern(&mut self, open: &[Frame<'_>]) -> u32 {
        for frame in open.iter().skip(self.ends.len()) {
            let start = self.text.len();
            if start > 0 {
                self.text.push('>');
            }
            segment(&mut self.text, frame);
            let before = self.ends.last().map_or(0, |e| e.1);
            let added = self.text.as_bytes().get(start..).unwrap_or_default();
            self.ends.push((self.text.len() as u32, hash(before, added)));
        }
        let mut path = self.text.as_str();
        let mut key = self.ends.last().map_or(0, |e| e.1);
        if path.len() > MAX_PATH {
            let from = path.floor_char_boundary(path.len() - MAX_PATH);
            path = path[from..].find('>').map_or("", |i| &path[from + i..]);
            key = hash(1, path.as_bytes());
        }
        let same = self.by_hash.entry(key).or_default();
        if let Some(&n) = same.iter().find(|&&n| self.list.get(n as usize).is_some_and(|p| **p == *path)) {
            return n;
        }
        let n = self.list.len() as u32;
        same.push(n);
        self.list.push(path.into());
        n
    }

    pub fn finish(self) -> Vec<Box<str>> {
        self.list
    }
}

/// `div#id.class`: the id and the first class, as far as they are plain names.
fn segment(out: &mut String, frame: &Frame<'_>) {
    out.push_str(frame.name.text);
    if let Some(id) = &frame.id {
        name(out, '#', id);
    }
    if let Some(class) = &frame.classes {
        name(out, '.', class);
    }
}

fn name(out: &mut String, mark: char, value: &str) {
    let value = value.trim_ascii_start();
    // The path's own punctuation must not come from a page.
    let end = value.find(|c: char| c.is_whitespace() || matches!(c, '>' | '.' | '#')).unwrap_or(value.len());
    let value = &value[..value.floor_char_boundary(end.min(MAX_NAME))];
    if !value.is_empty() {
        out.push(mark);
        out.push_str(value);
    }
}

/// Eight bytes at a time; only ever compared within one page, and collisions are checked.
pub fn hash(seed: u64, bytes: &[u8]) -> u64 {
    const K: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut h = seed ^ (bytes.len() as u64).wrapping_mul(K);
    let mut chunks = bytes.chunks_exact(8);
    for c in &mut chunks {
        let mut word = [0; 8];
        word.copy_from_slice(c);
        h = (h.rotate_left(23) ^ u64::from_le_bytes(word)).wrapping_mul(K);
    }
    let mut word = [0; 8];
    for (to, from) in word.iter_mut().zip(chunks.remainder()) {
        *to = *from;
    }
    h = (h.rotate_left(23) ^ u64::from_le_bytes(word)).wrapping_mul(K);
    h ^ (h >> 29)
}

/// The keys are hashes already.
#[derive(Default, Clone, Copy)]
pub struct Identity;
pub struct IdentityHasher(u64);
impl std::hash::BuildHasher for Identity {
    type Hasher = IdentityHasher;
    fn build_hasher(&self) -> IdentityHasher {
        IdentityHasher(0)
    }
}
impl std::hash::Hasher for IdentityHasher {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        self.0 = hash(self.0, bytes);
    }
    fn write_u64(&mut self, n: u64) {
        self.0 = n;
    }
}
