//! A web of WARC files, of any crawler: answers are replayed as they were recorded, redirects and errors
//! included.
//!
//! Files (`.warc`, `.warc.gz`, `.warc.zst`, also inside folders — a Gleaner collection is such a folder) are
//! read once; the index (URL → file and place) is kept in a cache file and used again until a file changes.
//! Bodies are read when asked for.
//!
//! * A URL captured several times has its **last** answer (by `WARC-Date`, then by place in the files),
//!   except that a failure (4xx, 5xx) never replaces an answer that was had.
//! * `response` records are answers. A `revisit` of an identical payload answers with its own headers and the
//!   body it refers to (by URI and date, else by payload digest); a revisit because of "not modified" adds
//!   nothing to the capture it confirms.
//! * What cannot be read — a cut file, damaged records, records that share a compressed block beyond what
//!   fits in memory — is counted.

use super::{Identity, Recorded, bare};
use crate::Tally;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use store::archive::{HttpLimits, Limits, WarcReader, WarcRecord, http_message, read_at};
use types::{Canon, FetchFuture, Fetched, Payload, Problem, Request, Truncation, Url, Web};
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

/// Raise when the index is made differently.
const INDEX: u32 = 1;
/// Bytes of records kept in memory because they cannot be read by address.
const HELD: usize = 256 << 20;

/// The pages of WARC files.
pub struct WarcWeb {
    files: Vec<PathBuf>,
    index: Index,
    identity: Identity,
    notes: Tally,
}

#[derive(Default, Serialize, Deserialize)]
struct Index {
    /// Sorted by URL.
    captures: Vec<Capture>,
    /// Blocks of records that have no address of their own.
    held: Vec<Vec<u8>>,
    /// What was skipped: kind and example.
    skipped: Vec<(u8, String)>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Capture {
    url: String,
    date: String,
    status: u16,
    head: Place,
    /// Where the body is, when elsewhere (a revisit).
    body: Option<Place>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
enum Place {
    At { file: u32, offset: u64 },
    Held(u32),
}

/// What can be wrong with a file; the number is kept in the index.
const SKIPPED: &[&str] = &[
    "damaged record",
    "file that ends in the middle of a record",
    "record whose target is no http URL",
    "response that is no HTTP message",
    "revisit of something that is not in the files",
    "record without an address of its own, and no memory left for it",
    "file that cannot be opened",
];

impl WarcWeb {
    /// Files and folders; `cache` is where the index is kept (`None` = nowhere).
    pub fn open(places: &[PathBuf], cache: Option<&Path>) -> Result<WarcWeb, Problem> {
        let mut files = Vec::new();
        for p in places {
            collect(p, &mut files, 0)?;
        }
        files.sort();
        files.dedup();
        if files.is_empty() {
            let names = places.iter().map(|p| p.display().to_string()).collect::<Vec<_>>().join(", ");
            return Err(Problem::usage(format!("no WARC file in {names}"))
                .hint("files are found by their names: .warc, .warc.gz or .warc.zst"));
        }
        let identity = identify(places, &files)?;
        let kept = cache.map(|c| {
            c.join(format!("warc-{:016x}-{:016x}", xxh3_64(identity.place.as_bytes()), identity.state))
        });
        let index = match kept.as_deref().and_then(load) {
            Some(index) => index,
            None => {
                let index = Reading::new(&files).run();
                // An index that cannot be kept is made again next time.
                if let Some(path) = kept {
                    save(&path, &index);
                }
                index
            }
        };
        let mut notes = Tally::default();
        for (kind, example) in &index.skipped {
            notes.add(SKIPPED.get(*kind as usize).copied().unwrap_or("damaged record"), example);
        }
        Ok(WarcWeb { files, index, identity, notes })
    }

    fn find(&self, url: &str) -> Option<&Capture> {
        let i = self.index.captures.binary_search_by(|c| c.url.as_str().cmp(url)).ok()?;
        self.index.captures.get(i)
    }

    fn block(&self, place: Place) -> Option<(Arc<[u8]>, bool)> {
        match place {
            Place::Held(n) => self.index.held.get(n as usize).map(|b| (b.as_slice().into(), false)),
            Place::At { file, offset } => {
                let record = read_at(self.files.get(file as usize)?, offset, Limits::default()).ok()?;
                let cut = record.cut || record.header("WARC-Truncated").is_some();
                Some((record.block.into(), cut))
            }
        }
    }

    fn replay(&self, url: &Url, capture: &Capture) -> Option<Fetched> {
        let (block, cut) = self.block(capture.head)?;
        let head = http_message(&block, &HttpLimits::default())?;
        let mut f = bare(url, head.status);
        f.headers = head.headers.clone();
        f.protocol = "HTTP/1.1";
        let put = |f: &mut Fetched, m: &store::archive::HttpMessage, cut: bool| {
            let wire: Arc<[u8]> = m.wire.as_ref().into();
            let decoded: Arc<[u8]> = if m.wire == m.body { wire.clone() } else { m.body.as_ref().into() };
            f.wire_bytes = wire.len() as u64;
            f.payload = Payload::Bytes { wire, decoded };
            f.truncated = (cut || m.cut).then_some(Truncation::Length);
        };
        match capture.body {
            Some(place) => {
                let (block, cut) = self.block(place)?;
                put(&mut f, &http_message(&block, &HttpLimits::default())?, cut);
            }
            None => put(&mut f, &head, cut),
        }
        if (300..400).contains(&f.status)
            && let Some(to) = head.header("location")
        {
            f.location = Canon::exact().join(url, to).ok().map(|u| u.to_string());
        }
        Some(f)
    }
}

impl Recorded for WarcWeb {
    fn answer(&self, url: &Url) -> Fetched {
        self.find(url.as_str()).and_then(|c| self.replay(url, c)).unwrap_or_else(|| bare(url, 404))
    }

    fn pages(&self) -> usize {
        self.index.captures.len()
    }

    fn page(&self, n: usize) -> Option<Url> {
        Canon::exact().parse(&self.index.captures.get(n)?.url).ok()
    }

    fn identity(&self) -> Identity {
        self.identity.clone()
    }

    fn notes(&self) -> &Tally {
        &self.notes
    }
}

impl Web for WarcWeb {
    fn fetch<'a>(&'a self, request: &'a Request) -> FetchFuture<'a> {
        Box::pin(async move { self.answer(&request.url) })
    }
}

fn is_warc(path: &Path) -> bool {
    let name = path.file_name().and_then(|n| n.to_str()).unwrap_or("").to_ascii_lowercase();
    [".warc", ".warc.gz", ".warc.zst"].iter().any(|s| name.ends_with(s))
}

/// Is there a WARC file here, at most a few folders down?
pub fn has_warcs(folder: &Path) -> bool {
    let mut files = Vec::new();
    collect(folder, &mut files, 0).is_ok() && !files.is_empty()
}

fn collect(path: &Path, files: &mut Vec<PathBuf>, depth: usize) -> Result<(), Problem> {
    let meta = fs::metadata(path).map_err(|e| Problem::io("open", path, &e))?;
    if meta.is_file() {
        // Named by the user: whatever its name. Found in a folder: only by name.
        if depth == 0 || is_warc(path) {
            files.push(path.to_path_buf());
        }
        return Ok(());
    }
    if depth > 4 {
        return Ok(());
    }
    let list = fs::read_dir(path).map_err(|e| Problem::io("read the folder", path, &e))?;
    for entry in list.flatten() {
        let below = entry.path();
        if below.is_dir() || is_warc(&below) {
            collect(&below, files, depth + 1)?;
        }
    }
    Ok(())
}

fn identify(places: &[PathBuf], files: &[PathBuf]) -> Result<Identity, Problem> {
    let mut hash = Xxh3::new();
    hash.update(&INDEX.to_le_bytes());
    for f in files {
        let meta = fs::metadata(f).map_err(|e| Problem::io("open", f, &e))?;
        let modified = meta.modified().ok().and_then(|t| t.duration_since(std::time::UNIX_EPOCH).ok());
        hash.update(f.to_string_lossy().as_bytes());
        hash.update(&meta.len().to_le_bytes());
        hash.update(&modified.map_or(0, |d| d.as_nanos() as u64).to_le_bytes());
    }
    let whole = |p: &PathBuf| fs::canonicalize(p).unwrap_or_else(|_| p.clone()).display().to_string();
    Ok(Identity { place: places.iter().map(whole).collect::<Vec<_>>().join(" "), state: hash.digest() })
}

/// A kept index: checksum, then the index.
fn load(path: &Path) -> Option<Index> {
    let bytes = fs::read(path).ok()?;
    let (sum, body) = bytes.split_at_checked(8)?;
    (xxh3_64(body).to_le_bytes() == sum).then(|| postcard::from_bytes(body).ok())?
}

fn save(path: &Path, index: &Index) {
    let Ok(body) = postcard::to_allocvec(index) else { return };
    let mut bytes = xxh3_64(&body).to_le_bytes().to_vec();
    bytes.extend_from_slice(&body);
    // Written aside and renamed: nobody ever reads half of it.
    let aside = path.with_extension(format!("new{}", std::process::id()));
    let _ = path.parent().map(fs::create_dir_all);
    if fs::write(&aside, bytes).and_then(|()| fs::rename(&aside, path)).is_err() {
        let _ = fs::remove_file(aside);
    }
}

/// Reads the files once.
struct Reading<'a> {
    files: &'a [PathBuf],
    index: Index,
    held: usize,
    by_url: HashMap<String, Capture>,
    /// Payload digest and (URL, date) → where the payload is, for revisits.
    by_digest: HashMap<String, Place>,
    by_date: HashMap<(String, String), Place>,
    revisits: Vec<Revisit>,
}

struct Revisit {
    capture: Capture,
    digest: Option<String>,
    refers: Option<(String, String)>,
    example: String,
}

impl<'a> Reading<'a> {
    fn new(files: &'a [PathBuf]) -> Self {
        Reading {
            files,
            index: Index::default(),
            held: 0,
            by_url: HashMap::new(),
            by_digest: HashMap::new(),
            by_date: HashMap::new(),
            revisits: Vec::new(),
        }
    }

    fn skip(&mut self, what: &str, example: String) {
        let kind = SKIPPED.iter().position(|s| *s == what).unwrap_or(0) as u8;
        self.index.skipped.push((kind, example));
    }

    fn run(mut self) -> Index {
        for (n, path) in self.files.iter().enumerate() {
            let reader = match WarcReader::open(path, Limits::default()) {
                Ok(r) => r,
                Err(e) => {
                    self.skip("file that cannot be opened", e.to_string());
                    continue;
                }
            };
            for record in reader {
                match record {
                    Ok(r) => self.take(n as u32, r),
                    Err(e) if e.fatal => self.skip("file that ends in the middle of a record", e.to_string()),
                    Err(e) => self.skip("damaged record", e.to_string()),
                }
            }
        }
        // Revisits last: what they refer to may come later in another file.
        for r in std::mem::take(&mut self.revisits) {
            let by_date = r.refers.as_ref().and_then(|k| self.by_date.get(k));
            let place = by_date.or_else(|| r.digest.as_ref().and_then(|d| self.by_digest.get(d))).copied();
            match place {
                Some(body) => self.keep(Capture { body: Some(body), ..r.capture }),
                None => self.skip("revisit of something that is not in the files", r.example),
            }
        }
        let mut captures: Vec<Capture> = self.by_url.into_values().collect();
        captures.sort_by(|a, b| a.url.cmp(&b.url));
        self.index.captures = captures;
        self.index
    }

    fn take(&mut self, file: u32, r: WarcRecord) {
        let kind = r.kind();
        if kind != "response" && kind != "revisit" {
            return;
        }
        let target = r.target().unwrap_or("").to_string();
        // Not only pages have records: `dns:` and the like are nobody's concern here.
        let Ok(url) = Canon::exact().parse(&target) else {
            if target.starts_with("http") {
                self.skip("record whose target is no http URL", target);
            }
            return;
        };
        let Some(status) = status_of(&r.block) else {
            let not_modified = r.header("WARC-Profile").is_some_and(|p| p.contains("server-not-modified"));
            if !not_modified {
                self.skip("response that is no HTTP message", target);
            }
            return;
        };
        let date = r.header("WARC-Date").unwrap_or("").to_string();
        let digest = r.header("WARC-Payload-Digest").map(str::to_string);
        let refers = r.header("WARC-Refers-To-Target-URI").zip(r.header("WARC-Refers-To-Date"));
        let refers = refers.and_then(|(u, d)| {
            let u = u.trim_start_matches('<').trim_end_matches('>');
            Canon::exact().parse(u).ok().map(|u| (u.to_string(), d.to_string()))
        });
        let not_modified =
            status == 304 || r.header("WARC-Profile").is_some_and(|p| p.contains("server-not-modified"));
        if kind == "revisit" && not_modified {
            return;
        }
        let place = if r.addressable {
            Place::At { file, offset: r.offset }
        } else if self.held + r.block.len() <= HELD {
            self.held += r.block.len();
            self.index.held.push(r.block);
            Place::Held(self.index.held.len() as u32 - 1)
        } else {
            self.skip("record without an address of its own, and no memory left for it", target);
            return;
        };
        let capture = Capture { url: url.to_string(), date: date.clone(), status, head: place, body: None };
        if kind == "revisit" {
            self.revisits.push(Revisit { capture, digest, refers, example: target });
            return;
        }
        if let Some(d) = digest {
            self.by_digest.insert(d, place);
        }
        self.by_date.insert((url.to_string(), date), place);
        self.keep(capture);
    }

    fn keep(&mut self, new: Capture) {
        match self.by_url.get_mut(&new.url) {
            Some(old) => {
                let good = |c: &Capture| c.status < 400;
                if (good(&new), &new.date) >= (good(old), &old.date) {
                    *old = new;
                }
            }
            None => {
                self.by_url.insert(new.url.clone(), new);
            }
        }
    }
}

/// The status in an HTTP message's first line.
fn status_of(block: &[u8]) -> Option<u16> {
    let line = block.split(|b| *b == b'\n').next()?;
    let line = std::str::from_utf8(line.get(..line.len().min(200))?).ok()?;
    let mut words = line.split_whitespace();
    words.next().filter(|p| p.starts_with("HTTP"))?;
    words.next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use store::archive::{Archive, ArchiveSettings, PageNote};
    use types::Millis;

    fn record(kind: &str, url: &str, date: &str, more: &str, block: &str) -> String {
        format!(
            "WARC/1.1\r\nWARC-Type: {kind}\r\nWARC-Target-URI: {url}\r\nWARC-Date: {date}\r\n\
             WARC-Record-ID: <urn:uuid:1>\r\n{more}\
             Content-Type: application/http; msgtype=response\r\nContent-Length: {}\r\n\r\n{block}\r\n\r\n",
            block.len()
        )
    }

    fn ok(body: &str) -> String {
        format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n{body}")
    }

    fn write(text: &str) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("a.warc"), text).unwrap();
        dir
    }

    fn open(dir: &Path) -> WarcWeb {
        WarcWeb::open(&[dir.to_path_buf()], None).unwrap()
    }

    fn ask(web: &WarcWeb, url: &str) -> String {
        let f = web.answer(&Canon::exact().parse(url).unwrap());
        match &f.location {
            Some(to) => format!("{} → {to}", f.status),
            None => format!("{} {}", f.status, String::from_utf8_lossy(f.payload.decoded())),
        }
    }

    #[test]
    fn answers_are_replayed() {
        let gone = "HTTP/1.1 404 Not Found\r\n\r\ngone";
        let moved = "HTTP/1.1 302 Found\r\nLocation: /x?y=1\r\n\r\n";
        let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Type: text/html\r\n\r\n4\r\n\
                       Wiki\r\n5\r\npedia\r\n0\r\n\r\n";
        let text = [
            record("warcinfo", "", "2024-01-01T00:00:00Z", "", "software: x"),
            record("response", "http://a.org/", "2024-01-01T00:00:01Z", "", &ok("old")),
            record("response", "<http://a.org/>", "2024-01-01T00:00:03Z", "", &ok("new")),
            record("response", "http://a.org/", "2024-01-01T00:00:02Z", "", &ok("between")),
            record("response", "http://a.org/", "2024-01-01T00:00:09Z", "", gone),
            record("response", "http://a.org/moved", "2024-01-01T00:00:02Z", "", moved),
            record("response", "http://a.org/chunked", "2024-01-01T00:00:02Z", "", chunked),
            record("response", "http://a.org/404", "2024-01-01T00:00:02Z", "", gone),
            record("response", "dns:a.org", "2024-01-01T00:00:02Z", "", "x"),
            record("request", "http://a.org/none", "2024-01-01T00:00:02Z", "", "GET / HTTP/1.1\r\n\r\n"),
            record("response", "http://a.org/bad", "2024-01-01T00:00:02Z", "", "not http"),
        ];
        let dir = write(&text.concat());
        let web = open(dir.path());
        for (url, answer) in [
            ("http://a.org/", "200 new"),
            ("http://a.org/moved", "302 → http://a.org/x?y=1"),
            ("http://a.org/chunked", "200 Wikipedia"),
            ("http://a.org/404", "404 gone"),
            ("http://a.org/none", "404 "),
            ("https://a.org/", "404 "),
        ] {
            assert_eq!(ask(&web, url), answer, "{url}");
        }
        assert_eq!(web.pages(), 4);
        assert_eq!(web.notes().count("response that is no HTTP message"), 1);
        assert_eq!(web.answer(&web.page(0).unwrap()).media_type(), "text/html");
    }

    #[test]
    fn revisits_have_the_body_they_refer_to() {
        let same = "WARC-Profile: http://netpreserve.org/warc/1.1/revisit/identical-payload-digest\r\n";
        let not = "WARC-Profile: http://netpreserve.org/warc/1.1/revisit/server-not-modified\r\n";
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nX-Mine: 1\r\n\r\n";
        let refers = format!(
            "{same}WARC-Refers-To-Target-URI: http://a.org/\r\nWARC-Refers-To-Date: 2024-01-01T00:00:01Z\r\n"
        );
        let text = [
            // Refers to what comes later in the file.
            record("revisit", "http://a.org/copy", "2024-01-02T00:00:00Z", &refers, head),
            record(
                "response",
                "http://a.org/",
                "2024-01-01T00:00:01Z",
                "WARC-Payload-Digest: sha1:AAA\r\n",
                &ok("body"),
            ),
            record(
                "revisit",
                "http://a.org/digest",
                "2024-01-02T00:00:00Z",
                &format!("{same}WARC-Payload-Digest: sha1:AAA\r\n"),
                head,
            ),
            record(
                "revisit",
                "http://a.org/lost",
                "2024-01-02T00:00:00Z",
                &format!("{same}WARC-Payload-Digest: sha1:BBB\r\n"),
                head,
            ),
            record(
                "revisit",
                "http://a.org/",
                "2024-01-03T00:00:00Z",
                not,
                "HTTP/1.1 304 Not Modified\r\n\r\n",
            ),
        ];
        let dir = write(&text.concat());
        let web = open(dir.path());
        assert_eq!(ask(&web, "http://a.org/copy"), "200 body");
        assert_eq!(ask(&web, "http://a.org/digest"), "200 body");
        assert_eq!(ask(&web, "http://a.org/"), "200 body");
        assert_eq!(ask(&web, "http://a.org/lost"), "404 ");
        assert_eq!(
            web.answer(&Canon::exact().parse("http://a.org/copy").unwrap()).header("x-mine"),
            Some("1")
        );
        assert_eq!(web.notes().count("revisit of something that is not in the files"), 1);
    }

    #[test]
    fn a_cut_file_gives_what_it_has() {
        let one = record("response", "http://a.org/1", "2024-01-01T00:00:01Z", "", &ok("one"));
        let two = record("response", "http://a.org/2", "2024-01-01T00:00:01Z", "", &ok("two"));
        let whole = format!("{one}{two}");
        for cut in (0..whole.len()).step_by(7) {
            let dir = write(&whole[..cut]);
            let web = open(dir.path());
            if cut > one.len() + 10 {
                assert_eq!(ask(&web, "http://a.org/1"), "200 one");
                // The second record is whole but for the line ends after it in the very last bytes.
                if cut + 4 < whole.len() {
                    assert_eq!(ask(&web, "http://a.org/2"), "404 ", "{cut}");
                    assert!(!web.notes().is_empty(), "{cut} of {}", whole.len());
                }
            }
        }
        let dir = write("no warc at all, but some text\nof two lines\n");
        let web = open(dir.path());
        assert_eq!(web.pages(), 0);
        assert!(!web.notes().is_empty());
    }

    #[test]
    fn our_own_archive_and_a_kept_index() {
        let dir = tempfile::tempdir().unwrap();
        let cache = tempfile::tempdir().unwrap();
        let warcs = dir.path().join("warc");
        fs::create_dir(&warcs).unwrap();
        let mut archive = Archive::open(&warcs, ArchiveSettings::default(), None).unwrap();
        for n in 0..40 {
            let mut f = Fetched::empty(
                Canon::exact().parse(&format!("http://a.org/{n}")).unwrap(),
                Millis(1_700_000_000_000 + n),
            );
            f.status = 200;
            f.protocol = "HTTP/1.1";
            f.headers = vec![("content-type".into(), "text/plain".into())];
            f.payload = Payload::plain(format!("page {n}").into_bytes());
            f.request_head = format!("GET /{n} HTTP/1.1\r\nHost: a.org\r\n\r\n");
            archive.write(&f, &PageNote::default()).unwrap();
        }
        archive.sync().unwrap();
        let places = [dir.path().to_path_buf()];
        for round in 0..2 {
            let web = WarcWeb::open(&places, Some(cache.path())).unwrap();
            assert_eq!(web.pages(), 40, "round {round}");
            assert_eq!(ask(&web, "http://a.org/17"), "200 page 17");
        }
        let kept: Vec<_> = fs::read_dir(cache.path()).unwrap().flatten().collect();
        assert_eq!(kept.len(), 1);
        // A damaged index is made again.
        fs::write(kept[0].path(), b"nonsense").unwrap();
        assert_eq!(WarcWeb::open(&places, Some(cache.path())).unwrap().pages(), 40);
    }

    #[test]
    fn nothing_there() {
        let dir = tempfile::tempdir().unwrap();
        let e = WarcWeb::open(&[dir.path().to_path_buf()], None).err().unwrap();
        assert!(e.exit_code() == 2 && e.to_string().contains("hint:"), "{e}");
        assert!(WarcWeb::open(&[dir.path().join("x.warc")], None).is_err());
    }
}
