//! A folder web: `HOST[:PORT]/PATH…`, with lists beside the hosts that say what exists.
//!
//! | file | says |
//! |---|---|
//! | `urls.tsv` | `url <TAB> file <TAB> content type`: the canonical URLs, and all there is. Without it the tree is the list |
//! | `redirects.tsv` | `from <TAB> to`, answered 302 |
//! | `prefix_redirects.tsv` | `from <TAB> to`, 302, when the URL itself does not exist and the target does; longest prefix first; applied once |
//! | `clean_urls` | `/x` is another spelling of `/x.html` |
//!
//! How a request is answered, first match wins:
//! 1. the canonical URL itself: 200;
//! 2. another spelling of a canonical URL — other scheme, `/dir`, `/dir/`, `/dir/index.html`, clean URL: 301
//!    to it. (Answering 200 under two names would count one page twice.)
//! 3. `redirects.tsv`, also for those spellings of its left side: 302;
//! 4. `prefix_redirects.tsv`: 302 if the target is an answer of kind 1 or 2;
//! 5. 404.
//!
//! The index is one string and three numbers per page, sorted; bodies are read from disk when asked for.

use super::{Identity, Recorded, bare, page, redirect};
use crate::Tally;
use std::collections::HashSet;
use std::fs;
use std::path::{Component, Path, PathBuf};
use types::{Canon, FetchFuture, Fetched, Format, Problem, Request, Url, Web};
use xxhash_rust::xxh3::Xxh3;

/// A folder of pages with a list of their URLs.
pub struct FolderWeb {
    root: PathBuf,
    /// Keys (URL without scheme) and files, one after the other.
    arena: String,
    /// Sorted by key.
    entries: Vec<Entry>,
    /// Content types, few and often repeated.
    types: Vec<String>,
    /// From key to absolute URL, sorted by key.
    redirects: Vec<(String, String)>,
    /// From prefix (without scheme) to absolute URL, longest first.
    prefixes: Vec<(String, String)>,
    clean_urls: bool,
    /// Hosts with a page or a redirect. Most links of a recorded web lead to others, and there are many
    /// spellings to try.
    hosts: HashSet<Box<str>>,
    identity: Identity,
    notes: Tally,
}

#[derive(Clone, Copy)]
struct Entry {
    start: u32,
    key: u32,
    /// Length of the file's path after the key in the arena; 0 = same as the key.
    file: u32,
    kind: u16,
    https: bool,
}

impl FolderWeb {
    /// Reads the lists; pages are read when they are asked for.
    pub fn open(root: &Path) -> Result<FolderWeb, Problem> {
        let meta = fs::metadata(root).map_err(|e| Problem::io("open the web", root, &e))?;
        if !meta.is_dir() {
            return Err(Problem::usage(format!("{} is not a folder", root.display()))
                .hint("--web takes a folder web, WARC files, a folder of them, or sim:NAME"));
        }
        let mut web = Builder { hash: Xxh3::new(), ..Builder::default() };
        let list = root.join("urls.tsv");
        if list.is_file() {
            web.read_list(root, &list)?;
        } else {
            web.walk_hosts(root)?;
        }
        let redirects = web.read_pairs(&root.join("redirects.tsv"), "bad line in redirects.tsv")?;
        let mut redirects: Vec<(String, String)> = redirects
            .into_iter()
            .map(|(from, to)| (from.without_scheme().to_string(), to.to_string()))
            .collect();
        // The first line wins, as in a list of rules.
        redirects.sort_by(|a, b| a.0.cmp(&b.0));
        redirects.dedup_by(|later, first| later.0 == first.0);
        let prefixes =
            web.read_pairs(&root.join("prefix_redirects.tsv"), "bad line in prefix_redirects.tsv")?;
        let mut prefixes: Vec<(String, String)> = prefixes
            .into_iter()
            .map(|(from, to)| (from.without_scheme().to_string(), to.to_string()))
            .collect();
        prefixes.sort_by_key(|(from, _)| std::cmp::Reverse(from.len()));
        let clean_urls = root.join("clean_urls").exists();
        web.hash.update(&[clean_urls as u8]);
        web.sort();
        let keys = web.entries.iter().map(|e| key_in(&web.arena, *e));
        let keys = keys.chain(redirects.iter().chain(&prefixes).map(|(from, _)| from.as_str()));
        let mut hosts = HashSet::new();
        for host in keys.map(host_of) {
            if !hosts.contains(host) {
                hosts.insert(Box::from(host));
            }
        }
        let place = fs::canonicalize(root).unwrap_or_else(|_| root.to_path_buf());
        Ok(FolderWeb {
            root: root.to_path_buf(),
            identity: Identity { place: place.display().to_string(), state: web.hash.digest() },
            arena: web.arena,
            entries: web.entries,
            types: web.types,
            redirects,
            prefixes,
            clean_urls,
            hosts,
            notes: web.notes,
        })
    }

    /// The folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    fn key(&self, e: Entry) -> &str {
        key_in(&self.arena, e)
    }

    fn file(&self, e: Entry) -> &str {
        if e.file == 0 {
            return self.key(e);
        }
        let start = (e.start + e.key) as usize;
        self.arena.get(start..start + e.file as usize).unwrap_or("")
    }

    fn address(&self, e: Entry) -> String {
        format!("{}://{}", if e.https { "https" } else { "http" }, self.key(e))
    }

    fn find(&self, key: &str) -> Option<Entry> {
        let i = self.entries.binary_search_by(|&e| self.key(e).cmp(key)).ok()?;
        self.entries.get(i).copied()
    }

    /// The canonical page `key` is a spelling of (itself first).
    fn resolve_key(&self, key: &str) -> Option<Entry> {
        self.find(key).or_else(|| self.spellings(key).find_map(|s| self.find(&s)))
    }

    /// Other spellings of the same page. A query belongs to the page's name, so it has no other spelling.
    fn spellings<'a>(&'a self, key: &'a str) -> impl Iterator<Item = String> + 'a {
        let query = key.contains('?');
        let in_path = |rest: &str| rest.contains('/');
        let dir = key.strip_suffix('/');
        let index = key.strip_suffix("/index.html");
        let plain = !query && dir.is_none() && index.is_none() && in_path(key);
        let stem = key.strip_suffix(".html").filter(|_| self.clean_urls && plain);
        let list = [
            // /dir/ → /dir/index.html, /dir
            dir.map(|d| format!("{d}/index.html")),
            dir.filter(|d| in_path(d)).map(str::to_string),
            // /dir/index.html → /dir/, /dir
            index.map(|d| format!("{d}/")),
            index.filter(|d| in_path(d)).map(str::to_string),
            // /dir → /dir/, /dir/index.html; /x → /x.html; /x.html → /x
            plain.then(|| format!("{key}/")),
            plain.then(|| format!("{key}/index.html")),
            (plain && self.clean_urls).then(|| format!("{key}.html")),
            stem.map(str::to_string),
        ];
        list.into_iter().flatten().filter(move |_| !query)
    }

    fn redirect_of(&self, key: &str) -> Option<&str> {
        let i = self.redirects.binary_search_by(|(from, _)| from.as_str().cmp(key)).ok()?;
        self.redirects.get(i).map(|(_, to)| to.as_str())
    }

    fn prefix_redirect(&self, key: &str) -> Option<String> {
        self.prefixes.iter().find_map(|(from, to)| {
            let target = format!("{to}{}", key.strip_prefix(from.as_str())?);
            let parsed = Canon::exact().parse(&target).ok()?;
            self.resolve_key(parsed.without_scheme()).map(|_| target)
        })
    }
}

impl Recorded for FolderWeb {
    fn answer(&self, url: &Url) -> Fetched {
        let key = url.without_scheme();
        if !self.hosts.contains(host_of(key)) {
            return bare(url, 404);
        }
        if let Some(e) = self.resolve_key(key) {
            if self.key(e) != key || e.https != (url.scheme() == "https") {
                return redirect(url, 301, &self.address(e));
            }
            let kind = self.types.get(e.kind as usize).map_or("", |t| t);
            return match fs::read(self.root.join(self.file(e))) {
                Ok(body) => page(url, kind, body),
                // Listed, but the file is gone: as for any server, the page is not there.
                Err(_) => bare(url, 404),
            };
        }
        let to = self.redirect_of(key).or_else(|| self.spellings(key).find_map(|s| self.redirect_of(&s)));
        if let Some(to) = to {
            return redirect(url, 302, to);
        }
        if let Some(to) = self.prefix_redirect(key) {
            return redirect(url, 302, &to);
        }
        bare(url, 404)
    }

    /// Without reading the page.
    fn resolve(&self, url: &Url) -> Option<Url> {
        let mut url = url.clone();
        for _ in 0..=crate::graph::MAX_HOPS {
            if let Some(e) = self.resolve_key(url.without_scheme()) {
                return Canon::exact().parse(&self.address(e)).ok();
            }
            let f = self.answer(&url);
            url = Canon::exact().join(&f.url, f.location.as_deref()?).ok()?;
        }
        None
    }

    fn pages(&self) -> usize {
        self.entries.len()
    }

    fn page(&self, n: usize) -> Option<Url> {
        let e = self.entries.get(n)?;
        Canon::exact().parse(&self.address(*e)).ok()
    }

    fn identity(&self) -> Identity {
        self.identity.clone()
    }

    fn notes(&self) -> &Tally {
        &self.notes
    }
}

impl Web for FolderWeb {
    fn fetch<'a>(&'a self, request: &'a Request) -> FetchFuture<'a> {
        Box::pin(async move { self.answer(&request.url) })
    }
}

fn key_in(arena: &str, e: Entry) -> &str {
    arena.get(e.start as usize..(e.start + e.key) as usize).unwrap_or("")
}

/// The part of a key that names the server.
fn host_of(key: &str) -> &str {
    key.split(['/', '?']).next().unwrap_or(key)
}

/// Reads the lists; what it cannot use it counts.
#[derive(Default)]
struct Builder {
    arena: String,
    entries: Vec<Entry>,
    types: Vec<String>,
    notes: Tally,
    hash: Xxh3,
}

impl Builder {
    fn read_list(&mut self, root: &Path, list: &Path) -> Result<(), Problem> {
        let text = fs::read(list).map_err(|e| Problem::io("read", list, &e))?;
        let text = String::from_utf8_lossy(&text);
        for line in text.lines().filter(|l| !l.trim().is_empty()) {
            let mut columns = line.split('\t');
            let (Some(url), Some(file)) = (columns.next(), columns.next()) else {
                self.notes.add("line of urls.tsv without a file", line);
                continue;
            };
            let Ok(url) = Canon::exact().parse(url) else {
                self.notes.add("line of urls.tsv that is no URL", line);
                continue;
            };
            if !is_inside(file) {
                self.notes.add("file of urls.tsv outside the web", line);
                continue;
            }
            let kind = match columns.next().map(str::trim).filter(|t| !t.is_empty()) {
                Some(kind) => kind,
                None => content_type(file),
            };
            match fs::metadata(root.join(file)) {
                Ok(meta) => self.stamp(file, &meta),
                Err(_) => {
                    self.notes.add("page of urls.tsv whose file is missing", file);
                    continue;
                }
            }
            self.add(&url, file, kind);
        }
        Ok(())
    }

    /// Every folder beside the lists is a host.
    fn walk_hosts(&mut self, root: &Path) -> Result<(), Problem> {
        for (name, path, meta) in sorted_dir(root)? {
            if !meta.is_dir() {
                continue;
            }
            if Canon::exact().parse(&format!("http://{name}/")).is_err() {
                self.notes.add("folder whose name is no host", &name);
                continue;
            }
            self.walk(root, &path, &name, 0)?;
        }
        Ok(())
    }

    fn walk(&mut self, root: &Path, folder: &Path, address: &str, depth: usize) -> Result<(), Problem> {
        if depth > 100 {
            self.notes.add("folder nested too deeply", folder.display());
            return Ok(());
        }
        for (name, path, meta) in sorted_dir(folder)? {
            let escaped = escape(&name);
            if meta.is_dir() {
                self.walk(root, &path, &format!("{address}/{escaped}"), depth + 1)?;
                continue;
            }
            let Some(file) = path.strip_prefix(root).ok().and_then(Path::to_str) else {
                self.notes.add("file whose name is not UTF-8", path.display());
                continue;
            };
            let address =
                if name == "index.html" { format!("{address}/") } else { format!("{address}/{escaped}") };
            match Canon::exact().parse(&format!("http://{address}")) {
                Ok(url) => {
                    self.stamp(file, &meta);
                    self.add(&url, file, content_type(&name));
                }
                Err(_) => self.notes.add("file whose name makes no URL", file),
            }
        }
        Ok(())
    }

    /// Takes a file into the identity of the web.
    fn stamp(&mut self, file: &str, meta: &fs::Metadata) {
        let modified = meta.modified().ok().and_then(|t| t.duration_since(std::time::UNIX_EPOCH).ok());
        self.hash.update(file.as_bytes());
        self.hash.update(&meta.len().to_le_bytes());
        self.hash.update(&modified.map_or(0, |d| d.as_nanos() as u64).to_le_bytes());
    }

    fn add(&mut self, url: &Url, file: &str, kind: &str) {
        let key = url.without_scheme();
        if self.arena.len() + key.len() + file.len() > u32::MAX as usize {
            self.notes.add("page beyond the 4 GB of names a folder web may have", key);
            return;
        }
        let known = self.types.iter().position(|t| t == kind).or_else(|| {
            // Nobody has 65,536 content types; a list that does gets the last one's.
            (self.types.len() < u16::MAX as usize).then(|| {
                self.types.push(kind.to_string());
                self.types.len() - 1
            })
        });
        let start = self.arena.len() as u32;
        self.hash.update(key.as_bytes());
        self.hash.update(kind.as_bytes());
        self.arena.push_str(key);
        let same = file == key;
        if !same {
            self.arena.push_str(file);
        }
        self.entries.push(Entry {
            start,
            key: key.len() as u32,
            file: if same { 0 } else { file.len() as u32 },
            kind: known.unwrap_or(u16::MAX as usize - 1) as u16,
            https: url.scheme() == "https",
        });
    }

    fn sort(&mut self) {
        let arena = &self.arena;
        let key = |e: &Entry| arena.get(e.start as usize..(e.start + e.key) as usize).unwrap_or("");
        // Stable: of two lines for one URL the first stays.
        self.entries.sort_by(|a, b| key(a).cmp(key(b)));
        let mut doubles = Vec::new();
        self.entries.dedup_by(|later, first| {
            let same = key(later) == key(first);
            if same {
                doubles.push(key(later).to_string());
            }
            same
        });
        for d in doubles {
            self.notes.add("URL listed twice in urls.tsv (the first counts)", d);
        }
        self.arena.shrink_to_fit();
        self.entries.shrink_to_fit();
    }

    /// `from <TAB> to`; a missing file is an empty list.
    fn read_pairs(&mut self, path: &Path, bad: &'static str) -> Result<Vec<(Url, Url)>, Problem> {
        let text = match fs::read(path) {
            Ok(text) => text,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(e) => return Err(Problem::io("read", path, &e)),
        };
        self.hash.update(&text);
        let text = String::from_utf8_lossy(&text);
        let mut pairs = Vec::new();
        for line in text.lines().filter(|l| !l.trim().is_empty()) {
            let mut columns = line.split('\t').map(|c| Canon::exact().parse(c));
            match (columns.next(), columns.next()) {
                (Some(Ok(from)), Some(Ok(to))) => pairs.push((from, to)),
                _ => self.notes.add(bad, line),
            }
        }
        Ok(pairs)
    }
}

/// Entries of a folder in name order; links to elsewhere are followed, broken ones left out.
fn sorted_dir(folder: &Path) -> Result<Vec<(String, PathBuf, fs::Metadata)>, Problem> {
    let read = fs::read_dir(folder).map_err(|e| Problem::io("read the folder", folder, &e))?;
    let mut list = Vec::new();
    for entry in read {
        let entry = entry.map_err(|e| Problem::io("read the folder", folder, &e))?;
        let path = entry.path();
        if let (Ok(meta), Some(name)) = (fs::metadata(&path), entry.file_name().to_str()) {
            list.push((name.to_string(), path, meta));
        }
    }
    list.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(list)
}

/// A relative path that stays inside.
fn is_inside(file: &str) -> bool {
    !file.is_empty()
        && Path::new(file).components().all(|c| matches!(c, Component::Normal(_) | Component::CurDir))
}

/// A file name as one path segment of a URL. Names on disk may already be escaped (`%2F`): those stay.
fn escape(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for c in name.chars() {
        match c {
            '?' => out.push_str("%3F"),
            '#' => out.push_str("%23"),
            c => out.push(c),
        }
    }
    out
}

/// The type a server would send, from the file's name.
fn content_type(file: &str) -> &'static str {
    let name = file.rsplit('/').next().unwrap_or(file);
    let Some((_, extension)) = name.rsplit_once('.') else { return "text/html" };
    match extension.to_ascii_lowercase().as_str() {
        "html" | "htm" | "shtml" | "php" | "asp" | "aspx" | "jsp" | "cgi" => "text/html",
        "xhtml" => "application/xhtml+xml",
        "rst" | "log" => "text/plain",
        "xml" => "application/xml",
        "rss" => "application/rss+xml",
        "atom" => "application/atom+xml",
        "json" => "application/json",
        "css" => "text/css",
        "js" => "text/javascript",
        "csv" => "text/csv",
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "svg" => "image/svg+xml",
        "zip" => "application/zip",
        "gz" => "application/gzip",
        other => Format::of_extension(other)
            .and_then(|f| f.media_types.first())
            .unwrap_or(&"application/octet-stream"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder from `(path, content)`.
    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for (path, content) in files {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        dir
    }

    /// What the web answers: `200 body`, `301 → target`, `404`.
    fn ask(web: &FolderWeb, url: &str) -> String {
        let f = web.answer(&Canon::exact().parse(url).unwrap());
        match (&f.location, f.status) {
            (Some(to), s) => format!("{s} → {to}"),
            (None, 200) => format!("200 {}", String::from_utf8_lossy(f.payload.decoded())),
            (None, s) => s.to_string(),
        }
    }

    #[test]
    fn the_list_is_the_web() {
        let dir = folder(&[
            (
                "urls.tsv",
                "http://a.org/d/index.html\ta.org/d/index.html\ttext/html\n\
                 http://a.org/e/\ta.org/e/index.html\ttext/html\n\
                 http://a.org/x.html\ta.org/x.html\ttext/html; charset=utf-8\n\
                 http://b.org:81/\tb.org:81/index.html\ttext/html\n\
                 http://a.org/e/index.html\ta.org/e/other\ttext/html\n\
                 http://a.org/plain\ta.org/plain\ttext/plain\n",
            ),
            ("a.org/d/index.html", "D"),
            ("a.org/e/index.html", "E"),
            ("a.org/e/other", "E2"),
            ("a.org/x.html", "X"),
            ("a.org/plain", "P"),
            ("a.org/unlisted.html", "U"),
            ("b.org:81/index.html", "B"),
            (
                "redirects.tsv",
                "http://a.org/old.html\thttp://a.org/x.html\n\
                 http://a.org/gone/index.html\thttp://a.org/x.html\n",
            ),
            (
                "prefix_redirects.tsv",
                "http://c.org/\thttp://a.org/\nhttp://c.org/latest/\thttp://a.org/d/\n\
                 http://b.org:81/\thttp://c.org/\n",
            ),
            ("clean_urls", ""),
        ]);
        let web = FolderWeb::open(dir.path()).unwrap();
        let table = [
            ("http://a.org/d/index.html", "200 D"),
            ("http://a.org/d/", "301 → http://a.org/d/index.html"),
            ("http://a.org/d", "301 → http://a.org/d/index.html"),
            ("https://a.org/d/index.html", "301 → http://a.org/d/index.html"),
            ("http://a.org/e/", "200 E"),
            ("http://a.org/e/index.html", "200 E2"),
            ("http://a.org/e", "301 → http://a.org/e/"),
            ("http://a.org/x.html", "200 X"),
            ("http://a.org/x", "301 → http://a.org/x.html"),
            ("http://a.org/plain.html", "301 → http://a.org/plain"),
            ("http://a.org/x.html?a=1", "404"),
            ("http://a.org/d/?a=1", "404"),
            ("http://a.org/unlisted.html", "404"),
            ("http://b.org:81/", "200 B"),
            ("http://b.org:81/index.html", "301 → http://b.org:81/"),
            ("http://b.org/", "404"),
            ("http://a.org/old.html", "302 → http://a.org/x.html"),
            ("http://a.org/gone/", "302 → http://a.org/x.html"),
            ("http://c.org/x.html", "302 → http://a.org/x.html"),
            ("http://c.org/x", "302 → http://a.org/x"),
            ("http://c.org/latest/", "302 → http://a.org/d/"),
            // The longest prefix has no such target; the next one does not either.
            ("http://c.org/latest/no.html", "404"),
            // Once only: b.org:81 → c.org exists only by another prefix redirect.
            ("http://b.org:81/x.html", "404"),
            ("http://nowhere.org/", "404"),
        ];
        for (url, answer) in table {
            assert_eq!(ask(&web, url), answer, "{url}");
        }
        assert_eq!(web.pages(), 6);
        let f = web.answer(&Canon::exact().parse("http://a.org/x.html").unwrap());
        assert_eq!(f.header("content-type"), Some("text/html; charset=utf-8"));
    }

    #[test]
    fn the_tree_is_the_list_when_there_is_none() {
        let dir = folder(&[
            ("a.org/index.html", "A"),
            ("a.org/sub/p.txt", "P"),
            ("a.org/odd name?.html", "O"),
            ("labels.tsv", "no page"),
            ("b.org/deep/index.html", "B"),
        ]);
        let web = FolderWeb::open(dir.path()).unwrap();
        assert_eq!(ask(&web, "http://a.org/"), "200 A");
        assert_eq!(ask(&web, "http://a.org/index.html"), "301 → http://a.org/");
        assert_eq!(ask(&web, "https://a.org/sub/p.txt"), "301 → http://a.org/sub/p.txt");
        assert_eq!(ask(&web, "http://a.org/odd%20name%3F.html"), "200 O");
        assert_eq!(ask(&web, "http://b.org/deep"), "301 → http://b.org/deep/");
        assert_eq!(web.pages(), 4);
        let types: Vec<String> = (0..4)
            .map(|n| web.answer(&web.page(n).unwrap()).header("content-type").unwrap_or("").to_string())
            .collect();
        assert_eq!(types, ["text/html", "text/html", "text/plain", "text/html"]);
    }

    #[test]
    fn bad_lists_are_counted_not_fatal() {
        let dir = folder(&[
            (
                "urls.tsv",
                "http://a.org/\ta.org/index.html\ttext/html\nhttp://a.org/\ta.org/index.html\ttext/html\n\
                 no url\tx\ty\n\
                 http://a.org/escape\t../../etc/passwd\ttext/plain\n\
                 http://a.org/abs\t/etc/passwd\ttext/plain\n\
                 http://a.org/missing\ta.org/missing\ttext/html\nonly one column\n\n",
            ),
            ("a.org/index.html", "A"),
            ("redirects.tsv", "half a line\n"),
        ]);
        let web = FolderWeb::open(dir.path()).unwrap();
        assert_eq!(web.pages(), 1);
        let n = web.notes();
        assert_eq!(n.count("URL listed twice in urls.tsv (the first counts)"), 1);
        assert_eq!(n.count("line of urls.tsv that is no URL"), 1);
        assert_eq!(n.count("file of urls.tsv outside the web"), 2);
        assert_eq!(n.count("page of urls.tsv whose file is missing"), 1);
        assert_eq!(n.count("line of urls.tsv without a file"), 1);
        assert_eq!(n.count("bad line in redirects.tsv"), 1);
    }

    #[test]
    fn an_empty_web_and_no_web() {
        let dir = folder(&[]);
        assert_eq!(FolderWeb::open(dir.path()).unwrap().pages(), 0);
        let missing = FolderWeb::open(&dir.path().join("nothing")).err().unwrap();
        assert!(missing.to_string().contains("hint:"), "{missing}");
    }

    #[test]
    fn identity_follows_the_content() {
        let dir = folder(&[("a.org/index.html", "A")]);
        let one = FolderWeb::open(dir.path()).unwrap().identity();
        assert_eq!(one, FolderWeb::open(dir.path()).unwrap().identity());
        fs::write(dir.path().join("a.org/index.html"), "AB").unwrap();
        assert_ne!(one, FolderWeb::open(dir.path()).unwrap().identity());
    }
}
