//! Which URLs are being read right now, in a small file beside the ledger: what is in it when a crawl is
//! opened was being read when the process died.
//!
//! ```text
//! DIR/reading = run u64 · slot u64…          a slot is a URL's number + 1, or 0
//! ```
//! A mark is a write of eight bytes that nobody waits for: it survives the death of the process (a kill, an
//! abort, the end of memory), and a power cut only once the system has written it out, which takes it up to
//! half a minute. That is enough: an ordinary page is read in a millisecond, so the pages found here are few
//! and likely to blame.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use types::{Problem, UrlId};

const FILE: &str = "reading";
/// Slots there is room for from the start: a full disk must not hide who is to blame.
const SLOTS: usize = 64;
/// A file with more is not ours.
const MOST: u64 = 1 << 20;

/// The marks of one crawl. Cheap to clone.
#[derive(Clone)]
pub struct Marks {
    slots: Arc<Mutex<Slots>>,
}

struct Slots {
    file: File,
    taken: Vec<bool>,
    /// The run ended in order: nothing is marked any more.
    closed: bool,
}

/// What an earlier run was reading when it died.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InterruptedRun {
    /// Names that run.
    pub run: u64,
    /// Pages that were being read; one of them may be the cause.
    pub urls: Vec<UrlId>,
}

impl Marks {
    /// Opens the file, and says what is left in it. It stays as it is until [`Marks::start`].
    pub fn open(dir: &Path) -> Result<(Marks, InterruptedRun), Problem> {
        let path = dir.join(FILE);
        let mut file = store::files::open_or_create(&path)?;
        let left = read(&mut file).map_err(|e| Problem::io("read", &path, &e))?;
        let slots = Slots { file, taken: vec![false; SLOTS], closed: true };
        Ok((Marks { slots: Arc::new(Mutex::new(slots)) }, left))
    }

    /// Forgets what is left: it was taken note of. From here on marks are made, under the name of this run.
    pub fn start(&self, run: u64) -> Result<(), Problem> {
        let mut slots = self.slots();
        slots.closed = false;
        let mut bytes = run.to_le_bytes().to_vec();
        bytes.resize(8 + 8 * slots.taken.len(), 0);
        let written = slots.file.set_len(0).and_then(|()| slots.write(0, &bytes));
        written.map_err(|e| Problem::io("write", Path::new(FILE), &e))
    }

    /// A URL is being read until the mark is dropped.
    pub fn mark(&self, id: UrlId) -> Mark {
        let mut slots = self.slots();
        let slot = slots.taken.iter().position(|t| !t).unwrap_or_else(|| {
            slots.taken.push(false);
            slots.taken.len() - 1
        });
        slots.taken[slot] = true;
        slots.set(slot, u64::from(id.0) + 1);
        Mark { slots: self.slots.clone(), slot }
    }

    /// The run ends in order (or with an error that is said): nobody is to blame.
    pub fn close(&self) {
        let mut slots = self.slots();
        if !slots.closed {
            slots.closed = true;
            let _ = slots.file.set_len(0);
        }
    }

    fn slots(&self) -> MutexGuard<'_, Slots> {
        lock(&self.slots)
    }
}

fn lock(slots: &Mutex<Slots>) -> MutexGuard<'_, Slots> {
    slots.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Slots {
    /// A mark that cannot be written is no reason to stop.
    fn set(&mut self, slot: usize, value: u64) {
        if !self.closed {
            let _ = self.write(8 + 8 * slot as u64, &value.to_le_bytes());
        }
    }

    fn write(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        self.file.seek(SeekFrom::Start(at))?;
        self.file.write_all(bytes)
    }
}

fn read(file: &mut File) -> io::Result<InterruptedRun> {
    let mut bytes = Vec::new();
    file.take(MOST).read_to_end(&mut bytes)?;
    let (words, _) = bytes.as_chunks::<8>();
    let mut words = words.iter().map(|w| u64::from_le_bytes(*w));
    let run = words.next().unwrap_or(0);
    let ids = words.filter_map(|w| u32::try_from(w.checked_sub(1)?).ok());
    let mut urls: Vec<UrlId> = ids.map(UrlId).collect();
    urls.sort_unstable();
    urls.dedup();
    Ok(InterruptedRun { run, urls })
}

/// A URL is being read as long as this lives.
pub struct Mark {
    slots: Arc<Mutex<Slots>>,
    slot: usize,
}

impl Drop for Mark {
    fn drop(&mut self) {
        // A panic that ends the process is a way to die like any other.
        if std::thread::panicking() {
            return;
        }
        let mut slots = lock(&self.slots);
        slots.set(self.slot, 0);
        if let Some(taken) = slots.taken.get_mut(self.slot) {
            *taken = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left(dir: &Path) -> (u64, Vec<u32>) {
        let left = Marks::open(dir).unwrap().1;
        (left.run, left.urls.into_iter().map(|u| u.0).collect())
    }

    #[test]
    fn what_is_being_read_is_left_behind_and_an_orderly_end_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let (marks, before) = Marks::open(dir.path()).unwrap();
        assert_eq!(before, InterruptedRun::default());
        marks.start(7).unwrap();
        let all: Vec<Mark> = (0..100).map(|n| marks.mark(UrlId(n))).collect();
        assert_eq!(left(dir.path()), (7, (0..100).collect()), "more than there was room for at first");
        drop(all);
        let one = marks.mark(UrlId(3));
        assert_eq!(left(dir.path()), (7, vec![3]));
        marks.close();
        assert_eq!(left(dir.path()), (0, vec![]));
        drop(one);
        drop(marks.mark(UrlId(4)));
        assert_eq!(left(dir.path()), (0, vec![]), "nothing is marked after the end");
    }

    #[test]
    fn what_others_wrote_is_no_mark() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join(FILE), b"abc").unwrap();
        assert_eq!(left(dir.path()), (0, vec![]));
        std::fs::write(dir.path().join(FILE), [0xff; 20]).unwrap();
        assert_eq!(left(dir.path()), (u64::MAX, vec![]));
    }
}
