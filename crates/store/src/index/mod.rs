//! Which kept pages say these words? A full-text index over the ledger's records.
//!
//! The index holds no truth: every document can be made again from its record. So it is committed rarely and
//! lazily; after a crash the ledger's ids are compared with [`Index::contains`] and what is missing is added
//! again. Texts are not stored in it: snippets are cut from the record's text by [`snippet`].

mod guard;
mod query;
mod segment;
mod snippet;
mod words;
mod worker;

#[cfg(test)]
mod tests;

pub use snippet::{Segment, snippet};

use crate::files;
use guard::caught;
use segment::Document;
use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tantivy::collector::TopDocs;
use tantivy::indexer::IndexWriterOptions;
use tantivy::query::Query;
use tantivy::schema::{
    FAST, Field, INDEXED, IndexRecordOption, STRING, Schema, TextFieldIndexing, TextOptions,
};
use tantivy::tokenizer::{AsciiFoldingFilter, TextAnalyzer};
use tantivy::{IndexReader, IndexWriter, ReloadPolicy, TantivyError, Term};
use types::{Millis, Problem, Record, UrlId};
use worker::Worker;

/// Name of the tokenizer in the schema. Change it when tokens change: an index made with another is rebuilt.
const TOKENIZER: &str = "words-1";

/// Memory for documents that are not written yet. The crawl's memory stays flat because this is fixed; less
/// of it makes more and smaller segments, each of which is written (and later merged) with all its words.
const HEAP: usize = 40 << 20;

/// What tantivy's own writer may use. It is given no page, but makes do with no less.
const WRITER_HEAP: usize = 15 << 20;

/// Pages are given to the thread that indexes them so many at a time: waking it for each costs more than it
/// does.
const BATCH: usize = 32;
const BATCH_BYTES: usize = 2 << 20;

/// Before a second look at an index that another process changes.
const PAUSE: Duration = Duration::from_millis(30);

/// When [`Index::commit_if_due`] commits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CommitPolicy {
    /// So many pages wait.
    pub documents: usize,
    /// The first of them has waited so long.
    pub after: Duration,
}

impl Default for CommitPolicy {
    fn default() -> Self {
        CommitPolicy { documents: 5_000, after: Duration::from_secs(60) }
    }
}

/// A page that was found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IndexHit {
    /// The page.
    pub id: UrlId,
    /// BM25; higher is better, comparable within one search only.
    pub score: f32,
}

#[derive(Clone, Copy)]
struct Fields {
    id: Field,
    url: Field,
    host: Field,
    title: Field,
    text: Field,
    language: Field,
}

/// The full-text index of a collection's pages. Searching works while a crawl adds to it.
pub struct Index {
    dir: PathBuf,
    index: tantivy::Index,
    fields: Fields,
    reader: IndexReader,
    /// Made at the first change, because it locks the folder: searching must work while a crawl runs.
    writing: Option<Writing>,
    ids: Ids,
    /// Pages that were added since the last commit.
    fresh: HashSet<UrlId>,
    policy: CommitPolicy,
    /// Pages that the worker does not know yet, and about how large they are.
    waiting: Vec<Document>,
    waiting_bytes: usize,
    pending: usize,
    /// Time of the first change that is not committed.
    pending_since: Option<Millis>,
    reset: Option<String>,
}

/// Who changes the index: the worker makes segments of pages, the writer takes them in.
struct Writing {
    worker: Worker,
    writer: IndexWriter,
    /// Pages were taken out since the last commit.
    deleted: bool,
}

impl Writing {
    fn commit(&mut self) -> Result<(), TantivyError> {
        let segments = self.worker.finish()?;
        if std::mem::take(&mut self.deleted) {
            // First: the writer would look for what is deleted in the new segments, too. After a crash in
            // between, what was to be replaced is missing, and is added again.
            self.writer.commit()?;
        }
        for segment in segments {
            self.writer.add_segment(segment)?;
        }
        self.writer.commit().map(drop)
    }
}

impl Index {
    /// Opens the index of a collection for adding and searching, and creates it when there is none. One that
    /// cannot be read is emptied; [`Index::was_reset`] then says why, and every record is to be added again.
    pub fn open_or_create(dir: &Path) -> Result<Index, Problem> {
        files::make_folder(dir)?;
        if files::has_link(dir) {
            return Err(Problem::new(format!("there are links in the search index {}", dir.display()))
                .hint("delete that folder; it is made again from the collection"));
        }
        if !dir.join("meta.json").exists() {
            // Also after a crash in the middle of `wipe`.
            wipe(dir)?;
            return Index::create(dir);
        }
        match Index::open(dir) {
            Ok(index) => Ok(index),
            Err(problem) => {
                wipe(dir)?;
                let mut index = Index::create(dir)?;
                index.reset = Some(in_short(&problem));
                Ok(index)
            }
        }
    }

    /// Opens an existing index for searching; changes nothing on disk until something is added. Every file is
    /// compared with its checksum first: a damaged index would find less and say nothing.
    pub fn open(dir: &Path) -> Result<Index, Problem> {
        let mut tries = 0;
        loop {
            tries += 1;
            match caught(dir, "read", || Index::try_open(dir)) {
                // A crawl that merges files may have removed one that was just named.
                Err(_) if tries < 3 && dir.join("meta.json").is_file() => std::thread::sleep(PAUSE),
                opened => return opened,
            }
        }
    }

    fn try_open(dir: &Path) -> Result<Index, Problem> {
        let unreadable = |why: String| {
            Problem::new(format!("cannot read the search index {}", dir.display()))
                .because(why)
                .hint("delete that folder; it is made again from the collection at the next crawl")
        };
        if !dir.join("meta.json").is_file() {
            return Err(unreadable("there is no index".into()));
        }
        let index = tantivy::Index::open_in_dir(dir).map_err(|e| unreadable(e.to_string()))?;
        if index.schema() != schema().0 {
            return Err(unreadable("it was made by another version".into()));
        }
        verified(dir, &index)?;
        Index::with(dir, index).map_err(|e| unreadable(e.to_string()))
    }

    /// Removes the index in a folder, and nothing else.
    pub fn remove_all(dir: &Path) -> Result<(), Problem> {
        if dir.is_dir() { wipe(dir) } else { Ok(()) }
    }

    fn create(dir: &Path) -> Result<Index, Problem> {
        tantivy::Index::create_in_dir(dir, schema().0)
            .and_then(|index| Index::with(dir, index))
            .map_err(|e| failed("create", dir, &e))
    }

    fn with(dir: &Path, index: tantivy::Index) -> Result<Index, TantivyError> {
        index.tokenizers().register(TOKENIZER, analyzer());
        let reader = index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into()?;
        let mut opened = Index {
            dir: dir.to_path_buf(),
            fields: schema().1,
            reader,
            index,
            writing: None,
            ids: Ids::default(),
            fresh: HashSet::new(),
            policy: CommitPolicy::default(),
            waiting: Vec::new(),
            waiting_bytes: 0,
            pending: 0,
            pending_since: None,
            reset: None,
        };
        opened.ids = opened.read_ids()?;
        Ok(opened)
    }

    /// Says of an index that was just made that it takes the place of a damaged one.
    pub fn made_again(mut self, why: &Problem) -> Index {
        self.reset = Some(in_short(why));
        self
    }

    #[cfg(test)]
    pub(crate) fn with_policy(mut self, policy: CommitPolicy) -> Index {
        self.policy = policy;
        self
    }

    /// Why the index was emptied on opening: everything has to be added again.
    pub fn was_reset(&self) -> Option<&str> {
        self.reset.as_deref()
    }

    /// Compares every file with its checksum. Reads the whole index.
    pub fn verify(&self) -> Result<(), Problem> {
        caught(&self.dir, "verify", || verified(&self.dir, &self.index))
    }

    /// Adds a page, or replaces it. It is found after the next commit.
    pub fn add(&mut self, record: &Record) -> Result<(), Problem> {
        // Made now, though the page is handed over later: whoever may not write is told at once.
        self.writing()?;
        self.take_out(record.id)?;
        self.waiting.push(Document {
            id: u64::from(record.id.0),
            url: record.url.split_once("://").map_or(record.url.as_str(), |(_, rest)| rest).into(),
            host: host(&record.url).into(),
            title: record.title.clone(),
            text: record.text.clone(),
            language: record.language.clone(),
        });
        self.waiting_bytes += record.text.len();
        self.ids.insert(record.id);
        self.fresh.insert(record.id);
        self.pending += 1;
        if self.waiting.len() >= BATCH || self.waiting_bytes >= BATCH_BYTES {
            self.hand_over()?;
        }
        Ok(())
    }

    /// Forgets a page, if it is there.
    pub fn remove(&mut self, id: UrlId) -> Result<(), Problem> {
        if self.ids.contains(id) {
            self.take_out(id)?;
            self.ids.remove(id);
            self.pending += 1;
        }
        Ok(())
    }

    /// Has the writer delete what it knows of a page, if it is there. Only then: every deletion is looked up
    /// in every segment.
    fn take_out(&mut self, id: UrlId) -> Result<(), Problem> {
        if self.fresh.contains(&id) {
            // A deletion is for segments that the writer knows.
            self.commit()?;
        }
        if self.ids.contains(id) {
            let term = Term::from_field_u64(self.fields.id, u64::from(id.0));
            let writing = self.writing()?;
            writing.writer.delete_term(term);
            writing.deleted = true;
        }
        Ok(())
    }

    /// Makes everything added so far durable and searchable.
    pub fn commit(&mut self) -> Result<(), Problem> {
        if self.pending == 0 {
            return Ok(());
        }
        self.hand_over()?;
        self.writing()?;
        let (dir, reader, writing) = (&self.dir, &self.reader, self.writing.as_mut());
        let committed = caught(dir, "commit", || {
            let committed = writing.map_or(Ok(()), Writing::commit).and_then(|()| reader.reload());
            committed.map_err(|e| failed("commit", dir, &e))
        });
        if let Err(problem) = committed {
            self.fall_back();
            return Err(problem);
        }
        self.pending = 0;
        self.pending_since = None;
        self.fresh.clear();
        files::share_like_folder(&self.dir);
        Ok(())
    }

    /// Gives the gathered pages to the worker, in order.
    fn hand_over(&mut self) -> Result<(), Problem> {
        let waiting = std::mem::take(&mut self.waiting);
        self.waiting_bytes = 0;
        if let Err(e) = self.writing()?.worker.add(waiting) {
            let problem = failed("write to", &self.dir, &e);
            self.fall_back();
            return Err(problem);
        }
        Ok(())
    }

    /// A writer that failed (full disk) refuses everything from then on. It is given up, and with it what was
    /// not committed: `contains` says so, and the caller adds it again when there is space.
    fn fall_back(&mut self) {
        self.writing = None;
        self.fresh.clear();
        self.waiting.clear();
        self.waiting_bytes = 0;
        self.pending = 0;
        self.pending_since = None;
        let read = caught(&self.dir, "read", || {
            let _ = self.reader.reload();
            self.read_ids().map_err(|e| failed("read", &self.dir, &e))
        });
        // When not even that can be read, everything counts as missing.
        self.ids = read.unwrap_or_default();
    }

    /// Commits when enough has gathered (or waited long enough); true when it did.
    pub fn commit_if_due(&mut self, now: Millis) -> Result<bool, Problem> {
        if self.pending == 0 {
            return Ok(false);
        }
        let since = *self.pending_since.get_or_insert(now);
        if self.pending < self.policy.documents && now.since(since) < self.policy.after {
            return Ok(false);
        }
        self.commit().map(|()| true)
    }

    /// Commits, and waits for merges in the background to end.
    pub fn close(mut self) -> Result<(), Problem> {
        self.commit()?;
        match self.writing.take() {
            Some(Writing { writer, .. }) => {
                writer.wait_merging_threads().map_err(|e| failed("close", &self.dir, &e))
            }
            None => Ok(()),
        }
    }

    /// Reads on in an index another process writes.
    pub fn refresh(&mut self) -> Result<(), Problem> {
        if self.writing.is_none() {
            self.ids = caught(&self.dir, "read", || {
                let read = self.reader.reload().and_then(|()| self.read_ids());
                read.map_err(|e| failed("read", &self.dir, &e))
            })?;
        }
        Ok(())
    }

    /// Is this page in the index? (Additions count before they are committed.)
    pub fn contains(&self, id: UrlId) -> bool {
        self.ids.contains(id)
    }

    /// Every page in the index, first found first.
    pub fn ids(&self) -> impl Iterator<Item = UrlId> + '_ {
        self.ids.iter()
    }

    /// The largest id in the index.
    pub fn last_id(&self) -> Option<UrlId> {
        self.ids.last()
    }

    /// Number of pages in the index.
    pub fn len(&self) -> usize {
        self.ids.count
    }
    /// No page is in the index.
    pub fn is_empty(&self) -> bool {
        self.ids.count == 0
    }

    /// The best pages for a query, best first, after skipping `offset` of them.
    ///
    /// All words must occur; when no page has them all, any will do. Phrases (`"query plan"`), `OR`, `-word`
    /// and `title:word`, `host:example.org`, `language:de` work; whatever cannot be understood is searched as
    /// plain words. Only pages that `keep` accepts are returned and counted: verdicts change, the index does
    /// not know them.
    pub fn search(
        &self,
        query: &str,
        limit: usize,
        offset: usize,
        keep: &dyn Fn(UrlId) -> bool,
    ) -> Result<Vec<IndexHit>, Problem> {
        let fields =
            query::SearchFields { title: self.fields.title, text: self.fields.text, url: self.fields.url };
        caught(&self.dir, "search", || {
            for query in query::readings(&self.index, fields, query) {
                match self.run(query.as_ref(), limit, offset, keep) {
                    Ok(Some(found)) => return Ok(found),
                    // `x:*` asks for a field that there is not; nothing is wrong with the index.
                    Ok(None) | Err(TantivyError::FieldNotFound(_) | TantivyError::SchemaError(_)) => {}
                    Err(e) => return Err(failed("search", &self.dir, &e)),
                }
            }
            Ok(Vec::new())
        })
    }

    /// `None` when nothing at all matches.
    fn run(
        &self,
        query: &dyn Query,
        limit: usize,
        offset: usize,
        keep: &dyn Fn(UrlId) -> bool,
    ) -> Result<Option<Vec<IndexHit>>, TantivyError> {
        let searcher = self.reader.searcher();
        let total = searcher.num_docs() as usize;
        let wanted = offset.saturating_add(limit);
        if total == 0 || limit == 0 {
            return Ok(None);
        }
        let columns: Result<Vec<_>, _> =
            searcher.segment_readers().iter().map(|s| s.fast_fields().u64("id")).collect();
        let columns = columns?;
        // The filter cannot be asked inside the search, so the window grows until enough of it passed.
        let mut window = wanted.saturating_mul(2).clamp(16, total.max(16));
        loop {
            let hits = searcher.search(query, &TopDocs::with_limit(window).order_by_score())?;
            let exhausted = hits.len() < window || window >= total;
            let mut kept: Vec<IndexHit> = hits
                .iter()
                .filter_map(|(score, at)| {
                    let id = columns.get(at.segment_ord as usize)?.first(at.doc_id)?;
                    Some(IndexHit { id: UrlId(u32::try_from(id).ok()?), score: *score })
                })
                .filter(|found| keep(found.id))
                .collect();
            if kept.len() >= wanted || exhausted {
                // Equal scores in order of discovery: how documents lie in segments must not show.
                kept.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.id.cmp(&b.id)));
                let nothing = kept.is_empty();
                let page = kept.into_iter().skip(offset).take(limit).collect();
                return Ok((!nothing).then_some(page));
            }
            window = window.saturating_mul(4).min(total);
        }
    }

    fn writing(&mut self) -> Result<&mut Writing, Problem> {
        if self.writing.is_none() {
            let options = IndexWriterOptions::builder()
                .memory_budget_per_thread(WRITER_HEAP)
                .num_worker_threads(1)
                .num_merge_threads(1)
                .build();
            let writing = caught(&self.dir, "write to", || {
                let writer = self.index.writer_with_options(options);
                let writing = writer.and_then(|writer| {
                    let worker = Worker::start(self.index.clone(), self.fields, HEAP)?;
                    Ok(Writing { worker, writer, deleted: false })
                });
                writing.map_err(|e| failed("write to", &self.dir, &e))
            })?;
            self.writing = Some(writing);
        }
        self.writing.as_mut().ok_or_else(|| Problem::new("the search index has no writer"))
    }

    fn read_ids(&self) -> Result<Ids, TantivyError> {
        let mut ids = Ids::default();
        for segment in self.reader.searcher().segment_readers() {
            let column = segment.fast_fields().u64("id")?;
            for doc in segment.doc_ids_alive() {
                if let Some(id) = column.first(doc).and_then(|id| u32::try_from(id).ok()) {
                    ids.insert(UrlId(id));
                }
            }
        }
        Ok(ids)
    }
}

fn verified(dir: &Path, index: &tantivy::Index) -> Result<(), Problem> {
    let damaged = index.validate_checksum().map_err(|e| failed("verify", dir, &e))?;
    let mut damaged: Vec<String> = damaged.iter().map(|p| p.display().to_string()).collect();
    damaged.sort();
    if damaged.is_empty() {
        return Ok(());
    }
    Err(Problem::new(format!("the search index {} is damaged", dir.display()))
        .because(format!("wrong checksum: {}", damaged.join(", ")))
        .hint("delete that folder; it is made again from the collection at the next crawl"))
}

/// On one line, without what to do: that is done.
fn in_short(problem: &Problem) -> String {
    let why = problem.cause().map_or(String::new(), |why| format!(": {why}"));
    format!("{}{why}", problem.what()).replace('\n', " ")
}

fn failed(doing: &str, dir: &Path, e: &TantivyError) -> Problem {
    let problem = Problem::new(format!("cannot {doing} the search index {}", dir.display())).because(e);
    match e {
        TantivyError::LockFailure(..) => {
            problem.hint("another process is writing to this collection; wait for it or stop it")
        }
        _ => problem.hint("the index can be deleted: it is made again from the collection"),
    }
}

fn host(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split(['/', '?', '#']).next().unwrap_or("")
}

fn analyzer() -> TextAnalyzer {
    TextAnalyzer::builder(words::Words::default()).filter(AsciiFoldingFilter).build()
}

fn schema() -> (Schema, Fields) {
    let words = |option| {
        let indexing = TextFieldIndexing::default().set_tokenizer(TOKENIZER).set_index_option(option);
        TextOptions::default().set_indexing_options(indexing)
    };
    let mut schema = Schema::builder();
    let fields = Fields {
        id: schema.add_u64_field("id", INDEXED | FAST),
        url: schema.add_text_field("url", words(IndexRecordOption::WithFreqsAndPositions)),
        host: schema.add_text_field("host", STRING),
        title: schema.add_text_field("title", words(IndexRecordOption::WithFreqsAndPositions)),
        text: schema.add_text_field("text", words(IndexRecordOption::WithFreqsAndPositions)),
        language: schema.add_text_field("language", STRING),
    };
    (schema.build(), fields)
}

impl Drop for Index {
    /// What merges in the background wrote after the last commit.
    fn drop(&mut self) {
        if self.writing.take().is_some() {
            files::share_like_folder(&self.dir);
        }
    }
}

/// Removes an index's files and nothing else.
fn wipe(dir: &Path) -> Result<(), Problem> {
    const ENDINGS: &[&str] = &["idx", "pos", "term", "store", "fast", "fieldnorm", "del", "temp", "lock"];
    for entry in fs::read_dir(dir).map_err(|e| Problem::io("read", dir, &e))? {
        let path = entry.map_err(|e| Problem::io("read", dir, &e))?.path();
        let ending = path.extension().and_then(|e| e.to_str()).unwrap_or("");
        let name = path.file_name().and_then(|n| n.to_str()).unwrap_or("");
        if path.is_file() && (ENDINGS.contains(&ending) || matches!(name, "meta.json" | ".managed.json")) {
            fs::remove_file(&path).map_err(|e| Problem::io("remove", &path, &e))?;
        }
    }
    Ok(())
}

/// The ids in the index, one bit each (ids are dense).
#[derive(Default)]
struct Ids {
    bits: Vec<u64>,
    count: usize,
}

impl Ids {
    fn contains(&self, id: UrlId) -> bool {
        self.bits.get(id.0 as usize / 64).is_some_and(|w| w >> (id.0 % 64) & 1 == 1)
    }
    fn insert(&mut self, id: UrlId) {
        let word = id.0 as usize / 64;
        if word >= self.bits.len() {
            self.bits.resize(word + 1, 0);
        }
        if !self.contains(id) {
            self.bits[word] |= 1 << (id.0 % 64);
            self.count += 1;
        }
    }
    fn remove(&mut self, id: UrlId) {
        if self.contains(id) {
            self.bits[id.0 as usize / 64] &= !(1 << (id.0 % 64));
            self.count -= 1;
        }
    }
    fn iter(&self) -> impl Iterator<Item = UrlId> + '_ {
        let bits = self.bits.iter().enumerate().filter(|(_, w)| **w != 0);
        bits.flat_map(|(i, w)| {
            (0..64).filter(move |b| w >> b & 1 == 1).map(move |b| UrlId(i as u32 * 64 + b))
        })
    }
    fn last(&self) -> Option<UrlId> {
        let word = self.bits.iter().rposition(|w| *w != 0)?;
        Some(UrlId(word as u32 * 64 + 63 - self.bits.get(word)?.leading_zeros()))
    }
}
