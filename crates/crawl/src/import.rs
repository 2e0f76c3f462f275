//! Takes pages of other people's archives into a collection: each is judged, indexed and archived, and its
//! links wait to be fetched, as if the crawl had come by.
//!
//! Nothing is fetched. What is no page (pictures, redirects, errors) is passed over, and a page that is there
//! already stays as it is, so an import that was interrupted is done again from the beginning.

use crate::admit::{Origin, answer_of, is_page, lease};
use crate::analyse::Analyst;
use crate::collection::Collection;
use crate::config::LoadedConfig;
use crate::crawl::{Arrival, Crawl};
use crate::rules::Stop;
use crate::stored;
use frontier::Limits;
use serde::Serialize;
use std::fs::{self, File};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use store::archive::{Exchange, Exchanges, HttpLimits, Stacks, http_message};
use store::zip::{Member, ZipReader};
use types::{Canon, LinkKind, Millis, Payload, Problem, Url};

/// Archives inside a WACZ file are unpacked here, one at a time.
const UNPACKED: &str = "import.tmp";
/// Pages between two commits.
const BATCH: u64 = 64;
/// Largest page that is read.
const LARGEST: usize = 64 << 20;
/// Largest archive inside a WACZ file.
const LARGEST_ARCHIVE: u64 = 1 << 40;

/// What came of an import.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Imported {
    /// Pages that are in the collection now and were not before.
    pub pages: u64,
    /// Of those, how many are relevant.
    pub relevant: u64,
    /// Pages that were there already.
    pub known: u64,
    /// Answers that are no pages: pictures, scripts, redirects, errors.
    pub passed_over: u64,
    /// Places in the files that cannot be read.
    pub damaged: u64,
    /// URLs that wait to be fetched now.
    pub pending: u64,
}

/// The files that are meant: a folder stands for the archives in it. What is no archive is refused here,
/// before anything is made.
pub fn files(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Problem> {
    let mut out = Vec::new();
    for path in paths {
        if !path.is_dir() {
            File::open(path).map_err(|e| Problem::io("open", path, &e))?;
            out.push(path.clone());
            continue;
        }
        let entries = fs::read_dir(path).map_err(|e| Problem::io("read", path, &e))?;
        let mut inside: Vec<PathBuf> =
            entries.flatten().map(|e| e.path()).filter(|p| is_archive(p)).collect();
        if inside.is_empty() {
            return Err(Problem::usage(format!("{} holds no archive", path.display()))
                .hint("name files or folders with .warc, .warc.gz, .warc.zst or .wacz files"));
        }
        inside.sort();
        out.append(&mut inside);
    }
    out.iter().try_for_each(|path| check(path))?;
    Ok(out)
}

fn check(path: &Path) -> Result<(), Problem> {
    if is_wacz(path) {
        return archives(&ZipReader::open(path)?, path).map(|_| ());
    }
    let mut exchanges = Exchanges::open(path, 0, 0)?;
    if exchanges.next().is_none() && exchanges.end() == 0 {
        return Err(Problem::new(format!("{} is not a WARC file", path.display()))
            .hint("files of this kind end in .warc, .warc.gz or .wacz and hold `response` records"));
    }
    Ok(())
}

/// The archives inside a WACZ file.
fn archives(zip: &ZipReader, path: &Path) -> Result<Vec<Member>, Problem> {
    let inside = |m: &&Member| m.name.starts_with("archive/") && is_warc(&m.name.to_ascii_lowercase());
    let found: Vec<Member> = zip.members().iter().filter(inside).cloned().collect();
    match found.is_empty() {
        false => Ok(found),
        true => Err(Problem::new(format!("{} holds no archive", path.display()))
            .hint("a WACZ file has WARC files in its folder archive/")),
    }
}

fn is_wacz(path: &Path) -> bool {
    path.extension().is_some_and(|e| e.eq_ignore_ascii_case("wacz"))
}

fn is_archive(path: &Path) -> bool {
    let name = path.file_name().and_then(|n| n.to_str()).unwrap_or("").to_ascii_lowercase();
    is_warc(&name) || is_wacz(path)
}

fn is_warc(name: &str) -> bool {
    [".warc", ".warc.gz", ".warc.zst"].iter().any(|ending| name.ends_with(ending))
}

/// Imports the files into the collection in `dir`, which is made if it is not there. `tell` hears how it
/// goes.
pub fn import(
    dir: &Path,
    loaded: &LoadedConfig,
    files: &[PathBuf],
    rng: u64,
    tell: &dyn Fn(&Path, &Imported),
) -> Result<Imported, Problem> {
    let mut open = Collection::open_without_fetching(dir, loaded, rng)?;
    // Answers of an archive say nothing of this machine's network.
    open.crawl.parts.rules.watch_network = false;
    open.crawl.seed(&[], Millis::now())?;
    let before = open.crawl.relevant();
    let mut import = Import {
        crawl: &mut open.crawl,
        analyst: open.analyst,
        limits: Collection::limits(&loaded.config),
        canon: Collection::canon(&loaded.config),
        stacks: Stacks::new(Some(Collection::warc_dir(dir))),
        done: Imported::default(),
    };
    let unpacked = dir.join(UNPACKED);
    for path in files {
        let told = |done: &Imported| tell(path, done);
        if is_wacz(path) {
            let ended = import.wacz(path, &unpacked, &told);
            let _ = fs::remove_dir_all(&unpacked);
            ended?;
        } else {
            import.warc(path, &told)?;
        }
    }
    let mut done = import.done;
    open.crawl.commit()?;
    done.relevant = open.crawl.relevant().saturating_sub(before);
    done.pending = open.crawl.parts.ledger.stats()?.pending;
    open.crawl.close(Stop::User, Millis::now())?;
    Ok(done)
}

struct Import<'a> {
    crawl: &'a mut Crawl,
    analyst: Analyst,
    limits: Limits,
    canon: Canon,
    stacks: Stacks,
    done: Imported,
}

impl Import<'_> {
    fn wacz(&mut self, path: &Path, unpacked: &Path, tell: &dyn Fn(&Imported)) -> Result<(), Problem> {
        let mut zip = ZipReader::open(path)?;
        let archives = archives(&zip, path)?;
        fs::create_dir_all(unpacked).map_err(|e| Problem::io("create", unpacked, &e))?;
        for (n, member) in archives.iter().enumerate() {
            // Its name comes from outside; the ending is all that matters.
            let ending =
                if member.name.to_ascii_lowercase().ends_with(".zst") { "warc.zst" } else { "warc.gz" };
            let plain = member.name.to_ascii_lowercase().ends_with(".warc");
            let copy = unpacked.join(format!("{n}.{}", if plain { "warc" } else { ending }));
            let mut out = File::create(&copy).map_err(|e| Problem::io("write", &copy, &e))?;
            let mut contents = io::Read::take(zip.contents(member)?, LARGEST_ARCHIVE);
            io::copy(&mut contents, &mut out).map_err(|e| Problem::io("unpack", path, &e))?;
            drop(out);
            self.warc(&copy, tell)?;
            fs::remove_file(&copy).map_err(|e| Problem::io("remove", &copy, &e))?;
        }
        Ok(())
    }

    fn warc(&mut self, path: &Path, tell: &dyn Fn(&Imported)) -> Result<(), Problem> {
        let mut exchanges = Exchanges::open(path, 0, LARGEST)?;
        for exchange in &mut exchanges {
            self.exchange(&exchange)?;
            tell(&self.done);
        }
        self.done.damaged += exchanges.damaged();
        Ok(())
    }

    fn exchange(&mut self, exchange: &Exchange) -> Result<(), Problem> {
        let response = &exchange.response;
        let message = http_message(&response.block, &HttpLimits::default());
        let url = response.target().and_then(|u| self.canon.parse(u).ok());
        let (Some(url), Some(message)) = (url, message) else { return self.pass_over() };
        if is_page(self.crawl, &url)? {
            self.done.known += 1;
            return Ok(());
        }
        let mut fetched = answer_of(exchange, url.clone(), &message);
        if response.kind() == "revisit" {
            match self.original(response.header("WARC-Refers-To-Target-URI"))? {
                Some(payload) => fetched.payload = payload,
                None => return self.pass_over(),
            }
        }
        let read = catch_unwind(AssertUnwindSafe(|| self.analyst.analyse(&fetched)));
        let Ok(Some(analysis)) = read else { return self.pass_over() };
        let origin = self.origin(exchange)?;
        // A URL that ended otherwise (forbidden, gone) stays as it is.
        let Some(lease) = lease(self.crawl, &self.limits, &url, &origin)? else { return self.pass_over() };
        self.crawl
            .visit(Arrival { lease, fetched, analysis: Some(analysis), attempt: None }, Millis::now())?;
        match is_page(self.crawl, &url)? {
            true => self.done.pages += 1,
            false => self.done.passed_over += 1,
        }
        if (self.done.pages + self.done.passed_over).is_multiple_of(BATCH) {
            self.crawl.commit()?;
        }
        Ok(())
    }

    fn pass_over(&mut self) -> Result<(), Problem> {
        self.done.passed_over += 1;
        Ok(())
    }

    /// Where the page was found: archives of ours say so, those of others may name the page before it.
    fn origin(&self, exchange: &Exchange) -> Result<Origin, Problem> {
        let via = exchange.noted("via").and_then(|u| self.canon.parse(u).ok());
        let parent = via.map_or(Ok(None), |u: Url| self.crawl.parts.ledger.find(&u))?;
        let noted = exchange.noted("depth").and_then(|v| v.parse().ok());
        let kind = if parent.is_some() { LinkKind::Anchor } else { LinkKind::Seed };
        Ok(Origin { parent, kind, depth: noted.filter(|_| parent.is_some()).unwrap_or(0) })
    }

    /// The body of the page that a revisit refers to, if it was imported before.
    fn original(&mut self, url: Option<&str>) -> Result<Option<Payload>, Problem> {
        let Some(url) = url.and_then(|u| self.canon.parse(u).ok()) else { return Ok(None) };
        let Some(id) = self.crawl.parts.ledger.find(&url)? else { return Ok(None) };
        let Some(record) = self.crawl.parts.ledger.record(id)? else { return Ok(None) };
        // What was written last must be in the file before it is read there.
        self.crawl.commit()?;
        let answer = stored::answer(&self.stacks, self.crawl.parts.ledger.as_ref(), &record)?;
        Ok(answer.from_archive.then_some(answer.fetched.payload))
    }
}
