//! What a judge that learns keeps of pages, in a form of its own. Of a long crawl most of it is in a file: in
//! memory stays where each page's part is.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

/// Features of one page. Clones share them.
#[derive(Clone, Default)]
pub struct Features(Option<Place>);

/// A page's part of a block.
#[derive(Clone)]
struct Place {
    block: Arc<RwLock<Block>>,
    nth: u32,
}

/// Features of some pages in a row.
struct Block {
    /// Where each page's part ends.
    ends: Vec<u32>,
    bytes: Bytes,
}

enum Bytes {
    Here(Vec<u8>),
    /// In the file, from there on.
    Filed(Arc<Mutex<File>>, u64),
}

impl Features {
    /// Those of a page alone.
    pub fn of(bytes: &[u8]) -> Features {
        if bytes.is_empty() {
            return Features::default();
        }
        let block = Block { ends: vec![bytes.len() as u32], bytes: Bytes::Here(bytes.to_vec()) };
        Features(Some(Place { block: Arc::new(RwLock::new(block)), nth: 0 }))
    }

    /// The judge kept nothing of this page.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Are these the features of one and the same page?
    pub fn is(&self, other: &Features) -> bool {
        match (&self.0, &other.0) {
            (Some(a), Some(b)) => Arc::ptr_eq(&a.block, &b.block) && a.nth == b.nth,
            _ => false,
        }
    }

    /// Nothing when the file cannot be read: judges pass over such a page, as over a damaged one.
    pub fn read(&self) -> Vec<u8> {
        let Some(place) = &self.0 else { return Vec::new() };
        let block = place.block.read().unwrap_or_else(PoisonError::into_inner);
        let (start, end) = block.range(place.nth);
        block.read(start, end)
    }
}

impl PartialEq for Features {
    fn eq(&self, other: &Features) -> bool {
        self.is(other) || self.read() == other.read()
    }
}

impl std::fmt::Debug for Features {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.read().fmt(f)
    }
}

impl Block {
    fn range(&self, nth: u32) -> (usize, usize) {
        let end = |n: usize| self.ends.get(n).map_or(0, |e| *e as usize);
        let nth = nth as usize;
        (nth.checked_sub(1).map_or(0, end), end(nth))
    }

    fn read(&self, start: usize, end: usize) -> Vec<u8> {
        match &self.bytes {
            Bytes::Here(bytes) => bytes.get(start..end).unwrap_or(&[]).to_vec(),
            Bytes::Filed(file, at) => {
                let mut out = vec![0; end.saturating_sub(start)];
                let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
                let read =
                    file.seek(SeekFrom::Start(at + start as u64)).and_then(|_| file.read_exact(&mut out));
                read.map_or(Vec::new(), |()| out)
            }
        }
    }
}

/// Reads features of pages that were kept one after the other: each block once.
#[derive(Default)]
pub struct Cursor {
    block: Option<Arc<RwLock<Block>>>,
    ends: Vec<u32>,
    bytes: Vec<u8>,
}

impl Cursor {
    /// The features of a page; nothing when they cannot be read.
    pub fn read(&mut self, features: &Features) -> &[u8] {
        let Some(place) = &features.0 else { return &[] };
        let is_here = self.block.as_ref().is_some_and(|b| Arc::ptr_eq(b, &place.block));
        let nth = place.nth as usize;
        if !is_here || nth >= self.ends.len() {
            let block = place.block.read().unwrap_or_else(PoisonError::into_inner);
            self.ends.clone_from(&block.ends);
            self.bytes = block.read(0, self.ends.last().map_or(0, |e| *e as usize));
            self.block = Some(place.block.clone());
        }
        let end = |n: usize| self.ends.get(n).map_or(0, |e| *e as usize);
        self.bytes.get(nth.checked_sub(1).map_or(0, end)..end(nth)).unwrap_or(&[])
    }
}

/// A block has about so many bytes: some hundred pages.
const BLOCK: usize = 64 << 10;

/// Where features of a crawl's pages are kept: the first in memory, all others in a file without a name.
#[derive(Default)]
pub struct Shelf {
    open: Option<Arc<RwLock<Block>>>,
    /// Bytes that may still be kept in memory.
    room: usize,
    /// Of the file; `None`: everything stays in memory.
    path: Option<PathBuf>,
    file: Option<Arc<Mutex<File>>>,
    written: u64,
}

impl Shelf {
    /// Keeps about `room` bytes in memory and what is more in a file of this name, which it has alone.
    pub fn at(path: PathBuf, room: usize) -> Shelf {
        Shelf { room, path: Some(path), ..Shelf::default() }
    }

    /// Keeps the features of one more page.
    pub fn put(&mut self, bytes: &[u8]) -> Features {
        if bytes.is_empty() {
            return Features::default();
        }
        let block = self.open.get_or_insert_with(|| {
            Arc::new(RwLock::new(Block { ends: Vec::new(), bytes: Bytes::Here(Vec::new()) }))
        });
        let block = block.clone();
        let mut open = block.write().unwrap_or_else(PoisonError::into_inner);
        let nth = open.ends.len() as u32;
        let Block { ends, bytes: Bytes::Here(here) } = &mut *open else { return Features::of(bytes) };
        here.extend_from_slice(bytes);
        ends.push(here.len() as u32);
        if here.len() >= BLOCK {
            here.shrink_to_fit();
            ends.shrink_to_fit();
            self.open = None;
            if let Some(filed) = self.filed(here) {
                open.bytes = filed;
            }
        }
        drop(open);
        Features(Some(Place { block, nth }))
    }

    /// Writes a full block, if it does not fit into memory. One that cannot be written stays there.
    fn filed(&mut self, block: &[u8]) -> Option<Bytes> {
        let path = self.path.as_ref()?;
        if let Some(room) = self.room.checked_sub(block.len()) {
            self.room = room;
            return None;
        }
        if self.file.is_none() {
            let made =
                OpenOptions::new().read(true).write(true).create(true).truncate(true).open(path).ok()?;
            // Without a name nobody finds it after a crash. Where an open file keeps its name, the next crawl
            // empties it.
            let _ = std::fs::remove_file(path);
            self.file = Some(Arc::new(Mutex::new(made)));
        }
        let shared = self.file.clone()?;
        let mut file = shared.lock().unwrap_or_else(PoisonError::into_inner);
        file.seek(SeekFrom::Start(self.written)).and_then(|_| file.write_all(block)).ok()?;
        drop(file);
        let at = self.written;
        self.written += block.len() as u64;
        Some(Bytes::Filed(shared, at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(n: usize) -> Vec<u8> {
        (0..1 + n % 700).map(|i| (i * 7 + n) as u8).collect()
    }

    #[test]
    fn what_is_kept_comes_back_from_memory_and_from_the_file() {
        let dir = std::env::temp_dir().join(format!("gleaner-features-{}", std::process::id()));
        let mut shelf = Shelf::at(dir.clone(), 3 * BLOCK);
        let kept: Vec<Features> = (0..2_000).map(|n| shelf.put(&page(n))).collect();
        assert!(shelf.written > 5 * BLOCK as u64, "{}", shelf.written);
        assert!(!dir.exists() || cfg!(windows));
        let mut cursor = Cursor::default();
        for (n, features) in kept.iter().enumerate() {
            assert_eq!(cursor.read(features), page(n), "{n}");
        }
        for n in [0, 1_999, 5, 1_000] {
            assert_eq!((kept[n].read(), cursor.read(&kept[n])), (page(n), &page(n)[..]));
        }
        assert!(kept[3].is(&kept[3].clone()) && !kept[3].is(&kept[4]));
        assert!(!kept[3].is(&Features::of(&page(3))) && kept[3] == Features::of(&page(3)));
        assert!(shelf.put(&[]).is_empty() && Features::default().read().is_empty());
    }

    #[test]
    fn a_block_that_cannot_be_written_stays_in_memory() {
        let nowhere = std::env::temp_dir().join("gleaner-no-such-folder").join("features");
        for mut shelf in [Shelf::at(nowhere, 0), Shelf::default()] {
            let kept: Vec<Features> = (0..500).map(|n| shelf.put(&page(n))).collect();
            assert!(kept.iter().enumerate().all(|(n, f)| f.read() == page(n)));
        }
    }

    /// A cursor that has read a block sees the pages that came to it since.
    #[test]
    fn a_block_that_grows() {
        let (mut shelf, mut cursor) = (Shelf::default(), Cursor::default());
        for n in 0..20 {
            let features = shelf.put(&page(n));
            assert_eq!(cursor.read(&features), page(n));
        }
    }
}
