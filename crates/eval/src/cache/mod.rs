//! A cache of extracted pages: the second backtest of a web does not read HTML any more.
//!
//! One file per web in the cache folder (`$XDG_CACHE_HOME/gleaner`), named after the web's identity (paths,
//! sizes, times), the version and the options of the extractor: when any of these changes it is another file,
//! and the old one is removed. The file is a log of records, each with a checksum; whoever holds its lock
//! appends while the first backtest runs (or [`CachedWeb::build`] does it beforehand on all cores). Losing it
//! costs time, nothing else.

mod codec;

use crate::Tally;
use crate::graph::in_parallel;
use crate::webs::{Identity, Recorded};
use crawl::documents::Documents;
use lz4_flex::block::{compress_into, get_maximum_output_size};
use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, SeekFrom};
use std::num::NonZeroUsize;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use types::{Canon, Failure, FetchFuture, Fetched, Fingerprint, Page, Payload, Problem, Request, Url, Web};
use xxhash_rust::xxh3::xxh3_64;

const MAGIC: &[u8; 16] = b"gleaner pages 1\n";
const MARK: u32 = 0x6770_6167;
/// Mark, packed length, raw length, fingerprint, checksum.
const HEAD: usize = 4 + 4 + 4 + 16 + 8;
const KEY: (u64, u64) = (0x7061_6765_7321, 0x6576_616c);
/// A record larger than this is not kept: no page is, and a damaged length must not cost memory.
const LARGEST: usize = 256 << 20;

/// How much of a web is kept where.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Folder of cache files; `None` = in memory only.
    pub folder: Option<PathBuf>,
    /// Bytes of pages kept in memory, about.
    pub memory: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Settings { folder: default_folder(), memory: 512 << 20 }
    }
}

/// `$XDG_CACHE_HOME/gleaner`, else `~/.cache/gleaner`.
pub fn default_folder() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    set("XDG_CACHE_HOME").or_else(|| set("HOME").map(|h| h.join(".cache"))).map(|d| d.join("gleaner"))
}

/// A recorded web that answers with extracted pages.
pub struct CachedWeb {
    inner: Arc<dyn Recorded>,
    options: extract::Options,
    disk: Option<Disk>,
    memory: Memory,
    /// Documents that cannot be read, and why: tried once per process.
    unreadable: Mutex<HashMap<Fingerprint, String>>,
}

struct Disk {
    path: PathBuf,
    file: File,
    index: RwLock<HashMap<Fingerprint, Place>>,
    /// End of the log; `None` when somebody else writes it, or writing failed.
    end: Mutex<Option<u64>>,
}

#[derive(Clone, Copy)]
struct Place {
    offset: u64,
    packed: u32,
    raw: u32,
}

impl CachedWeb {
    /// A cache that cannot be opened is no reason to fail: then pages are kept in memory only, and `notes`
    /// says why.
    pub fn open(
        inner: Arc<dyn Recorded>,
        options: extract::Options,
        settings: &Settings,
        notes: &mut Tally,
    ) -> CachedWeb {
        let disk = settings.folder.as_deref().and_then(|folder| {
            let name = file_name(&inner.identity(), &options);
            Disk::open(folder, &name).map_err(|e| notes.add("cache of pages that cannot be used", e)).ok()
        });
        let memory = Memory::new(settings.memory);
        CachedWeb { inner, options, disk, memory, unreadable: Mutex::default() }
    }

    /// Where the cache is.
    pub fn path(&self) -> Option<&Path> {
        self.disk.as_ref().map(|d| d.path.as_path())
    }

    /// Pages on disk.
    pub fn cached(&self) -> usize {
        self.disk.as_ref().map_or(0, |d| d.index.read().unwrap_or_else(PoisonError::into_inner).len())
    }

    /// Extracts every page that is not cached yet. `progress` is told how many of how many are done.
    pub fn build(&self, threads: NonZeroUsize, progress: impl Fn(usize, usize)) -> usize {
        let all = self.inner.pages();
        let mut done = 0;
        let mut fresh = 0;
        while done < all {
            let part: Vec<usize> = (done..all.min(done + 2048)).collect();
            let new = in_parallel(&part, threads, |&n| {
                let Some(url) = self.inner.page(n) else { return 0 };
                let print = url.fingerprint(KEY);
                if self.disk.as_ref().is_some_and(|d| d.has(print)) {
                    return 0;
                }
                self.extract(&url, print);
                1
            });
            fresh += new.iter().sum::<usize>();
            done += part.len();
            progress(done, all);
        }
        fresh
    }

    fn extract(&self, url: &Url, print: Fingerprint) -> Fetched {
        let mut fetched = self.inner.answer(url);
        if fetched.status != 200 {
            return fetched;
        }
        let known = self.unreadable.lock().unwrap_or_else(PoisonError::into_inner).get(&print).cloned();
        if let Some(why) = known {
            return unread(fetched, &why);
        }
        if let Payload::Bytes { decoded, .. } = &fetched.payload {
            let page = Documents::usual().read(
                url,
                fetched.header("content-type"),
                fetched.header("x-robots-tag"),
                decoded,
                &self.options,
            );
            let page = match page {
                Ok(page) => Arc::new(page),
                Err(why) => {
                    // Never kept on disk: with more memory or time it may be read after all.
                    let mut unreadable = self.unreadable.lock().unwrap_or_else(PoisonError::into_inner);
                    unreadable.insert(print, why.to_string());
                    return unread(fetched, &why.to_string());
                }
            };
            if let Some(disk) = &self.disk {
                disk.append(print, &entry(&fetched, &page));
            }
            let kept = CachedAnswer {
                content_type: fetched.header("content-type").map(String::from),
                bytes: fetched.wire_bytes,
                page: page.clone(),
            };
            self.memory.put(print, kept);
            fetched.payload = Payload::Page(page);
        }
        fetched
    }
}

impl Recorded for CachedWeb {
    fn answer(&self, url: &Url) -> Fetched {
        let print = url.fingerprint(KEY);
        let hit = self.memory.get(print).or_else(|| {
            let kept = self.disk.as_ref()?.read(print)?;
            self.memory.put(print, kept.clone());
            Some(kept)
        });
        match hit {
            Some(kept) => kept.answer(url),
            None => self.extract(url, print),
        }
    }
    fn resolve(&self, url: &Url) -> Option<Url> {
        self.inner.resolve(url)
    }
    fn pages(&self) -> usize {
        self.inner.pages()
    }
    fn page(&self, n: usize) -> Option<Url> {
        self.inner.page(n)
    }
    fn identity(&self) -> Identity {
        self.inner.identity()
    }
    fn is_trap(&self, url: &Url) -> bool {
        self.inner.is_trap(url)
    }
    fn is_endless(&self) -> bool {
        self.inner.is_endless()
    }
    fn notes(&self) -> &Tally {
        self.inner.notes()
    }
}

impl Web for CachedWeb {
    fn fetch<'a>(&'a self, request: &'a Request) -> FetchFuture<'a> {
        Box::pin(async move { self.answer(&request.url) })
    }
}

/// An answer whose document cannot be read.
fn unread(fetched: Fetched, why: &str) -> Fetched {
    Fetched { payload: Payload::None, failure: Some(Failure::Unreadable(why.to_string())), ..fetched }
}

/// `pages-WEB-STATE-EXTRACTOR`: the first part finds old files of the same web.
fn file_name(web: &Identity, options: &extract::Options) -> (String, String) {
    let Canon { drop_params, max_length } = &options.canon;
    let how = format!(
        "{} {drop_params:?} {max_length} {} {} {} {}",
        extract::VERSION,
        options.max_links,
        options.max_text,
        options.detect_language,
        options.detect_simhash
    );
    let place = format!("pages-{:016x}-", xxh3_64(web.place.as_bytes()));
    let name = format!("{place}{:016x}-{:016x}", web.state, xxh3_64(how.as_bytes()));
    (place, name)
}

/// What is kept of an answer besides the page.
#[derive(Clone)]
struct CachedAnswer {
    content_type: Option<String>,
    bytes: u64,
    page: Arc<Page>,
}

impl CachedAnswer {
    fn answer(self, url: &Url) -> Fetched {
        let mut f = Fetched::empty(url.clone(), types::Millis(0));
        f.status = 200;
        f.wire_bytes = self.bytes;
        f.headers.extend(self.content_type.map(|t| ("content-type".to_string(), t)));
        f.payload = Payload::Page(self.page);
        f
    }
}

fn entry(fetched: &Fetched, page: &Page) -> Vec<u8> {
    let kind = fetched.header("content-type").unwrap_or("");
    let kind = kind.get(..kind.len().min(255)).unwrap_or("");
    let mut out = Vec::with_capacity(page.text.len() * 2 + 512);
    out.extend_from_slice(&fetched.wire_bytes.to_le_bytes());
    out.push(fetched.header("content-type").is_some() as u8);
    out.push(kind.len() as u8);
    out.extend_from_slice(kind.as_bytes());
    codec::write(page, &mut out);
    out
}

fn parse_entry(bytes: &[u8]) -> Option<CachedAnswer> {
    let (size, rest) = bytes.split_at_checked(8)?;
    let (head, rest) = rest.split_at_checked(2)?;
    let (kind, rest) = rest.split_at_checked(head[1] as usize)?;
    let kind = std::str::from_utf8(kind).ok()?;
    Some(CachedAnswer {
        content_type: (head[0] != 0).then(|| kind.to_string()),
        bytes: u64::from_le_bytes(size.try_into().ok()?),
        page: Arc::new(codec::read(rest)?),
    })
}

impl Disk {
    fn open(folder: &Path, (place, name): &(String, String)) -> Result<Disk, Problem> {
        fs::create_dir_all(folder).map_err(|e| Problem::io("make the cache folder", folder, &e))?;
        let path = folder.join(name);
        let io = |e: &std::io::Error| Problem::io("open the cache", &path, e);
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(|e| io(&e))?;
        let writer = file.try_lock().is_ok();
        if writer {
            remove_stale(folder, place, name);
        }
        let length = file.metadata().map_err(|e| io(&e))?.len();
        let mut magic = [0; MAGIC.len()];
        let good =
            length >= MAGIC.len() as u64 && file.read_exact_at(&mut magic, 0).is_ok() && &magic == MAGIC;
        let mut index = HashMap::new();
        let mut end = MAGIC.len() as u64;
        if good {
            end = scan(&mut file, length, &mut index).map_err(|e| io(&e))?;
        }
        if writer && (!good || end < length) {
            // A new file, somebody else's bytes, or a record cut by a crash: start (again) after the last
            // good one.
            file.set_len(end.min(length)).map_err(|e| io(&e))?;
            file.write_all_at(MAGIC, 0).map_err(|e| io(&e))?;
        }
        Ok(Disk { path, file, index: RwLock::new(index), end: Mutex::new(writer.then_some(end)) })
    }

    fn has(&self, print: Fingerprint) -> bool {
        self.index.read().unwrap_or_else(PoisonError::into_inner).contains_key(&print)
    }

    fn read(&self, print: Fingerprint) -> Option<CachedAnswer> {
        let place = *self.index.read().unwrap_or_else(PoisonError::into_inner).get(&print)?;
        let mut bytes = vec![0; HEAD + place.packed as usize];
        self.file.read_exact_at(&mut bytes, place.offset).ok()?;
        let (head, packed) = bytes.split_at_checked(HEAD)?;
        let checksum = u64::from_le_bytes(head.get(HEAD - 8..)?.try_into().ok()?);
        if xxh3_64(packed) != checksum {
            return None;
        }
        let raw = lz4_flex::block::decompress(packed, place.raw as usize).ok()?;
        parse_entry(&raw)
    }

    fn append(&self, print: Fingerprint, raw: &[u8]) {
        if raw.len() > LARGEST || self.has(print) {
            return;
        }
        let mut record = vec![0; HEAD + get_maximum_output_size(raw.len())];
        let (head, body) = record.split_at_mut(HEAD);
        let Ok(packed) = compress_into(raw, body) else { return };
        let checksum = xxh3_64(&body[..packed]);
        head[..4].copy_from_slice(&MARK.to_le_bytes());
        head[4..8].copy_from_slice(&(packed as u32).to_le_bytes());
        head[8..12].copy_from_slice(&(raw.len() as u32).to_le_bytes());
        head[12..20].copy_from_slice(&print.0.to_le_bytes());
        head[20..28].copy_from_slice(&print.1.to_le_bytes());
        head[28..].copy_from_slice(&checksum.to_le_bytes());
        record.truncate(HEAD + packed);
        let mut end = self.end.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(offset) = *end else { return };
        if self.has(print) {
            return;
        }
        if self.file.write_all_at(&record, offset).is_err() {
            // A full disk: the backtest goes on without it. What was half written is cut at the next opening.
            *end = None;
            return;
        }
        *end = Some(offset + record.len() as u64);
        let place = Place { offset, packed: packed as u32, raw: raw.len() as u32 };
        self.index.write().unwrap_or_else(PoisonError::into_inner).insert(print, place);
    }
}

/// Reads the heads of all records; returns the end of the last whole one.
fn scan(file: &mut File, length: u64, index: &mut HashMap<Fingerprint, Place>) -> std::io::Result<u64> {
    let mut offset = MAGIC.len() as u64;
    let mut head = [0u8; HEAD];
    file.seek(SeekFrom::Start(offset))?;
    let mut reader = std::io::BufReader::with_capacity(64 << 10, file);
    while offset + HEAD as u64 <= length {
        reader.read_exact(&mut head)?;
        let u32_at = |i: usize| u32::from_le_bytes([head[i], head[i + 1], head[i + 2], head[i + 3]]);
        let u64_at = |i: usize| (u32_at(i) as u64) | (u32_at(i + 4) as u64) << 32;
        let (packed, raw) = (u32_at(4), u32_at(8));
        let end = offset + HEAD as u64 + packed as u64;
        if u32_at(0) != MARK || raw as usize > LARGEST || end > length {
            break;
        }
        index.insert(Fingerprint(u64_at(12), u64_at(20)), Place { offset, packed, raw });
        reader.seek_relative(packed as i64)?;
        offset = end;
    }
    Ok(offset)
}

/// Older states of the same web are of no use to anybody, unless somebody is still reading one.
fn remove_stale(folder: &Path, place: &str, keep: &str) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some(name) = name.to_str().filter(|n| n.starts_with(place) && *n != keep) else { continue };
        let path = folder.join(name);
        if File::open(&path).is_ok_and(|f| f.try_lock().is_ok()) {
            let _ = fs::remove_file(path);
        }
    }
}

/// Pages in memory, bounded: two generations, the older is dropped when the younger is half of the budget.
struct Memory {
    shards: Vec<Mutex<Generations>>,
    half: usize,
}

#[derive(Default)]
struct Generations {
    young: HashMap<Fingerprint, CachedAnswer>,
    old: HashMap<Fingerprint, CachedAnswer>,
    size: usize,
}

const SHARDS: usize = 16;

impl Memory {
    fn new(bytes: usize) -> Memory {
        Memory { shards: (0..SHARDS).map(|_| Mutex::default()).collect(), half: bytes / 2 / SHARDS }
    }

    fn shard(&self, print: Fingerprint) -> std::sync::MutexGuard<'_, Generations> {
        let i = print.0 as usize % self.shards.len();
        self.shards[i].lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn get(&self, print: Fingerprint) -> Option<CachedAnswer> {
        let mut g = self.shard(print);
        if let Some(kept) = g.young.get(&print) {
            return Some(kept.clone());
        }
        let kept = g.old.remove(&print)?;
        self.insert(&mut g, print, kept.clone());
        Some(kept)
    }

    fn put(&self, print: Fingerprint, kept: CachedAnswer) {
        self.insert(&mut self.shard(print), print, kept);
    }

    fn insert(&self, g: &mut Generations, print: Fingerprint, kept: CachedAnswer) {
        let size = weight(&kept.page);
        if size > self.half {
            return;
        }
        if g.size + size > self.half {
            g.old = std::mem::take(&mut g.young);
            g.size = 0;
        }
        if g.young.insert(print, kept).is_none() {
            g.size += size;
        }
    }
}

/// Bytes a page takes in memory, about.
fn weight(p: &Page) -> usize {
    let texts = p.text.len() + p.title.len() + p.description.len() + 500;
    let links: usize =
        p.links.iter().map(|l| size_of_val(l) + l.url.as_str().len() + l.label.len() + 32).sum();
    let paths: usize = p.paths.iter().map(|x| x.len() + 32).sum();
    texts + links + paths + p.leaves.len() * 8 + p.blocks.len() * 12 + p.headings.len() * 12
}

#[cfg(test)]
mod tests;
