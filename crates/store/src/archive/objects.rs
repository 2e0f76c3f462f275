//! An archive in a bucket. A bucket has no append, so the archive is a row of objects, each a WARC file of
//! its own that is put there once and whole.
//!
//! ```text
//!  crawl's loop ── append ──► open object ── seal ──► queue ── a thread of its own ──► bucket
//!  ledger       ── seal: everything so far gets a ticket; commit only when the ticket is safe
//! ```
//! So a page is in the bucket before the ledger says so, and a killed worker leaves at most objects behind
//! that nothing refers to.

use super::compose::{Composed, Composer, PageNote};
use super::date::compact;
use super::writer::{ArchiveSettings, Archiver, Position, WrittenRecord, check_names};
use bytes::Bytes;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use types::{ArchiveRef, Fetched, Problem};

/// Where objects go.
pub trait Depot: Send + Sync {
    /// When it returns, the object is safe. It may take as long as it must, and tries again by itself what is
    /// worth it.
    fn put_new(&self, name: &str, bytes: Bytes) -> Result<(), Problem>;
    /// What records call an object of this name, so that any machine can find it.
    fn address(&self, name: &str) -> String;
}

impl Depot for crate::s3::Bucket {
    fn put_new(&self, name: &str, bytes: Bytes) -> Result<(), Problem> {
        crate::s3::Bucket::put_new(self, name, bytes)
    }
    fn address(&self, name: &str) -> String {
        format!("{}/{name}", crate::s3::Bucket::address(self))
    }
}

/// Bytes that are sealed but not safe: beyond this whoever appends has to wait.
const MOST_UNDER_WAY: usize = 64 << 20;

/// What is on its way to the bucket. The archive fills it, the ledger waits for it, a thread empties it.
pub struct Uploads {
    state: Mutex<State>,
    changed: Condvar,
    /// An object of this size is sealed.
    size: usize,
}

#[derive(Default)]
struct State {
    open: Option<OpenObject>,
    queue: VecDeque<(String, Bytes)>,
    /// Bytes in the queue and in the hands of the thread.
    under_way: usize,
    /// Objects sealed so far, and how many of them are safe.
    sealed: u64,
    safe: u64,
    /// Why nothing more will be.
    failed: Option<Problem>,
    over: bool,
}

struct OpenObject {
    name: String,
    bytes: Vec<u8>,
    since: Instant,
}

impl State {
    fn seal(&mut self) {
        if let Some(open) = self.open.take() {
            self.under_way += open.bytes.len();
            self.queue.push_back((open.name, open.bytes.into()));
            self.sealed += 1;
        }
    }
    fn check(&self) -> Result<(), Problem> {
        self.failed.clone().map_or(Ok(()), Err)
    }
}

impl Uploads {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }

    /// Everything appended so far is sent off. The ticket to ask for it by.
    pub fn seal(&self) -> u64 {
        let mut state = self.lock();
        state.seal();
        self.changed.notify_all();
        state.sealed
    }

    /// Is everything up to this ticket safe? An error says why it never will be.
    pub fn is_safe(&self, ticket: u64) -> Result<bool, Problem> {
        let state = self.lock();
        if state.safe >= ticket { Ok(true) } else { state.check().map(|()| false) }
    }

    /// An error when nothing more will be safe.
    pub fn check(&self) -> Result<(), Problem> {
        self.lock().check()
    }

    /// Waits until it is; no longer than the bucket's patience.
    pub fn wait_for(&self, ticket: u64) -> Result<(), Problem> {
        let mut state = self.lock();
        while state.safe < ticket {
            state.check()?;
            state = self.wait(state);
        }
        Ok(())
    }

    /// Is there something that is not safe yet?
    pub fn is_busy(&self) -> bool {
        let state = self.lock();
        state.open.is_some() || state.safe < state.sealed
    }

    /// Since when something waits to be sealed.
    pub fn waiting(&self) -> Option<Duration> {
        self.lock().open.as_ref().map(|open| open.since.elapsed())
    }

    /// Sends one object after another.
    fn run(&self, depot: &dyn Depot) {
        loop {
            let (name, bytes) = {
                let mut state = self.lock();
                loop {
                    if let Some(next) = state.queue.pop_front() {
                        break next;
                    }
                    if state.over {
                        return;
                    }
                    state = self.wait(state);
                }
            };
            let size = bytes.len();
            // Whoever waits must hear of it, even if that is a bug.
            let put = catch_unwind(AssertUnwindSafe(|| depot.put_new(&name, bytes)))
                .unwrap_or_else(|_| Err(Problem::new("the thread that uploads has failed")));
            let mut state = self.lock();
            state.under_way -= size;
            match put {
                Ok(()) => state.safe += 1,
                Err(problem) => {
                    // What comes after it must not count as safe: nobody would miss the hole.
                    state.failed = Some(problem);
                    state.queue.clear();
                    state.over = true;
                }
            }
            self.changed.notify_all();
        }
    }
}

/// Composes exchanges and hands them to [`Uploads`].
pub struct Objects {
    uploads: Arc<Uploads>,
    depot: Arc<dyn Depot>,
    settings: ArchiveSettings,
    composer: Composer,
    next_serial: u64,
}

impl Objects {
    /// `settings.worker` must be a name that no other run of any worker has.
    pub fn new(depot: Arc<dyn Depot>, settings: ArchiveSettings) -> Result<Objects, Problem> {
        check_names(&settings)?;
        let size = usize::try_from(settings.max_size).unwrap_or(usize::MAX).max(1);
        let uploads = Arc::new(Uploads { state: Mutex::default(), changed: Condvar::new(), size });
        let (sending, to) = (uploads.clone(), depot.clone());
        std::thread::Builder::new()
            .name("gleaner-upload".into())
            .spawn(move || sending.run(to.as_ref()))
            .map_err(|e| Problem::new("cannot start the thread that uploads").because(e))?;
        let composer = Composer::new(settings.composer.clone());
        Ok(Objects { uploads, depot, settings, composer, next_serial: 0 })
    }

    /// For the ledger that must wait for it.
    pub fn uploads(&self) -> Arc<Uploads> {
        self.uploads.clone()
    }

    /// Appends one exchange composed elsewhere.
    pub fn append(&mut self, exchange: &Composed) -> Result<WrittenRecord, Problem> {
        let mut state = self.uploads.lock();
        // Memory is bounded, whatever the bucket does.
        while state.under_way > MOST_UNDER_WAY {
            state.check()?;
            state = self.uploads.wait(state);
        }
        state.check()?;
        if state.open.is_none() {
            let (prefix, worker) = (&self.settings.prefix, &self.settings.worker);
            let name = format!("{prefix}-{}-{:05}-{worker}.warc.gz", compact(exchange.at), self.next_serial);
            let bytes = self.composer.warcinfo(&name, Some(&name), exchange.at, &self.settings.info)?;
            self.next_serial += 1;
            state.open = Some(OpenObject { name, bytes, since: Instant::now() });
        }
        let Some(open) = &mut state.open else { return Err(Problem::new("the archive has no open object")) };
        let offset = open.bytes.len() as u64;
        open.bytes.extend_from_slice(&exchange.bytes);
        let at =
            ArchiveRef { file: self.depot.address(&open.name), offset, length: exchange.response as u64 };
        if open.bytes.len() >= self.uploads.size {
            state.seal();
            self.uploads.changed.notify_all();
        }
        Ok(WrittenRecord { at, digest: exchange.digest, revisit: exchange.revisit })
    }
}

impl Archiver for Objects {
    fn write(&mut self, fetched: &Fetched, note: &PageNote) -> Result<Option<WrittenRecord>, Problem> {
        match self.composer.exchange(fetched, note)? {
            Some(composed) => self.append(&composed).map(Some),
            None => Ok(None),
        }
    }
    // The ledger sees to it that what it commits is safe.
    fn flush(&mut self) -> Result<(), Problem> {
        Ok(())
    }
    fn sync(&mut self) -> Result<(), Problem> {
        Ok(())
    }
    /// There is nothing to be cut back to: objects are whole or not there.
    fn position(&self) -> Option<Position> {
        None
    }
}

impl Drop for Objects {
    fn drop(&mut self) {
        // The thread ends by itself; it is not waited for, because the bucket may be away for long.
        self.uploads.lock().over = true;
        self.uploads.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::archive::{Limits, WarcReader};
    use types::{Canon, Millis, Payload};

    #[derive(Default)]
    struct Shed {
        objects: Mutex<Vec<(String, Bytes)>>,
        /// How many it takes.
        room: usize,
    }

    impl Depot for Shed {
        fn put_new(&self, name: &str, bytes: Bytes) -> Result<(), Problem> {
            let mut objects = self.objects.lock().unwrap();
            if objects.len() >= self.room {
                return Err(Problem::new("the shed is full"));
            }
            objects.push((name.to_string(), bytes));
            Ok(())
        }
        fn address(&self, name: &str) -> String {
            format!("s3://shed/{name}")
        }
    }

    fn page(n: u64) -> Fetched {
        let url = Canon::exact().parse(&format!("http://example.org/{n}")).unwrap();
        let mut f = Fetched::empty(url, Millis(1_000 + n));
        f.status = 200;
        f.payload = Payload::plain(vec![b'a' + (n % 26) as u8; 2_000]);
        f
    }

    fn objects(room: usize, max_size: u64) -> (Arc<Shed>, Objects) {
        let shed = Arc::new(Shed { room, ..Shed::default() });
        let settings = ArchiveSettings { worker: "w.1".into(), max_size, ..ArchiveSettings::default() };
        (shed.clone(), Objects::new(shed, settings).unwrap())
    }

    #[test]
    fn every_object_is_a_file_and_every_page_is_where_it_was_said() {
        let (shed, mut objects) = objects(usize::MAX, 4_000);
        let uploads = objects.uploads();
        assert!(!uploads.is_busy() && uploads.waiting().is_none());
        assert!(uploads.is_safe(uploads.seal()).unwrap(), "nothing is safe by itself");
        let mut places = Vec::new();
        for n in 0..40 {
            places.push(objects.write(&page(n), &PageNote::default()).unwrap().unwrap().at);
            if n % 7 == 0 {
                uploads.wait_for(uploads.seal()).unwrap();
                assert!(!uploads.is_busy());
            }
        }
        let ticket = uploads.seal();
        uploads.wait_for(ticket).unwrap();
        let there = shed.objects.lock().unwrap().clone();
        assert_eq!(there.len() as u64, ticket);
        assert!(there.len() > 7, "the size seals too: {}", there.len());
        let mut names: Vec<&String> = there.iter().map(|(n, _)| n).collect();
        names.dedup();
        assert!(names.is_sorted() && names.len() == there.len(), "{names:?}");
        for (n, at) in places.iter().enumerate() {
            let (_, bytes) = there.iter().find(|(name, _)| at.file == format!("s3://shed/{name}")).unwrap();
            let piece = &bytes[at.offset as usize..(at.offset + at.length) as usize];
            let record = WarcReader::new(piece, "piece", Limits::default()).unwrap().next().unwrap().unwrap();
            assert_eq!(record.target(), Some(format!("http://example.org/{n}").as_str()));
        }
        for (name, bytes) in &there {
            let records: Vec<_> = WarcReader::new(&bytes[..], name.as_str(), Limits::default())
                .unwrap()
                .map(|r| r.unwrap().kind())
                .collect();
            assert_eq!(records[0], "warcinfo");
            assert_eq!(records.iter().filter(|k| *k == "warcinfo").count(), 1);
        }
    }

    #[test]
    fn after_a_failure_nothing_more_counts_as_safe() {
        let (shed, mut objects) = objects(1, 1 << 20);
        let uploads = objects.uploads();
        objects.write(&page(0), &PageNote::default()).unwrap();
        let first = uploads.seal();
        uploads.wait_for(first).unwrap();
        objects.write(&page(1), &PageNote::default()).unwrap();
        let second = uploads.seal();
        let failed = Err(Problem::new("the shed is full"));
        assert_eq!(uploads.wait_for(second), failed);
        assert_eq!(uploads.is_safe(second), failed.clone().map(|()| true));
        assert_eq!(uploads.is_safe(first), Ok(true), "what is there is there");
        assert_eq!(uploads.check(), failed);
        assert!(objects.write(&page(2), &PageNote::default()).is_err(), "who goes on writing is told");
        assert!(uploads.is_busy());
        assert_eq!(shed.objects.lock().unwrap().len(), 1);
    }
}
