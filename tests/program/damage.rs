//! A collection that something happened to: whatever file is cut, zeroed, changed or gone, no command panics
//! or hangs, no page is gone without a word, no byte of the archive is deleted, and `gleaner repair` brings
//! back what is there.
//!
//! The short form damages every file of a small real collection once or twice; `GLEANER_LONG=1` (`./test
//! long`) tries every kind of damage on each, many times.

use crate::common;
use crate::common::{Ran, Rng, crawl, file, finish, folder, gleaner, long, run, serve, warcs};
use madeup::Server;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const TOPIC: &str = "name = \"courses\"\nquery = \"sql\"\n[archive]\nfile_size = \"6KB\"\n";
pub const PAGES: usize = 24;

/// A small web on three hosts, with a redirect, a page that is missing, a duplicate and one that is
/// compressed.
fn web() -> String {
    let url = |n: usize| format!("http://h{}.example/{n}", n % 3);
    let mut web = String::new();
    for n in 0..PAGES {
        let mark = if n == 5 { " !gzip" } else { "" };
        // The last page is the same as the one before.
        let text = if n == PAGES - 1 { n - 1 } else { n };
        web += &format!("== {}{mark}\n<title>Course {text}</title>\n", url(n));
        for next in [n * 2 + 1, n * 2 + 2].into_iter().filter(|m| *m < PAGES) {
            web += &format!("<a href='{}'>sql {next}</a>\n", url(next));
        }
        if n == 3 {
            web += "<a href='/gone'>sql that is gone</a>\n";
        }
        web += "<p>All about sql ";
        // Words that do not compress well, so that there are several files.
        let mut words = Rng(text as u64);
        for _ in 0..60 {
            web += &format!("{:x} ", words.below(1 << 28));
        }
        web += "\n";
    }
    web
}

pub struct Small {
    server: Server,
    dir: tempfile::TempDir,
    topic: PathBuf,
}

impl Small {
    /// The web and its whole collection, in `whole`.
    pub fn crawled() -> Small {
        let dir = folder();
        let topic = file(dir.path(), "t.toml", TOPIC);
        let small = Small { server: serve(&web()), dir, topic };
        finish(&mut small.crawl(&small.whole())).ok();
        assert_eq!(pages(&small.whole()), PAGES);
        assert!(warcs(&small.whole()).len() > 1, "several files");
        small
    }

    pub fn whole(&self) -> PathBuf {
        self.dir.path().join("whole")
    }

    /// A copy that may be damaged.
    pub fn copy(&self, name: &str) -> PathBuf {
        let to = self.dir.path().join(name);
        let _ = fs::remove_dir_all(&to);
        copy(&self.whole(), &to);
        to
    }

    /// What was asked for after so many requests.
    pub fn log_from(&self, first: usize) -> Vec<String> {
        let url = |e: &madeup::Entry| format!("http://{}{}", e.host, e.path);
        self.server.log().entries().iter().skip(first).map(url).collect()
    }

    pub fn crawl(&self, out: &Path) -> Command {
        let mut command = crawl(&self.server, &self.topic, out);
        command.args(["--seed", "http://h0.example/0", "--delay", "1ms"]);
        command
    }

    pub fn resolve(&self) -> String {
        self.server.resolve()
    }

    /// Requests so far.
    pub fn asked(&self) -> usize {
        self.server.log().entries().len()
    }
}

pub fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// Every file of a folder with its bytes, by its path in it.
pub fn contents(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut out = BTreeMap::new();
    let mut folders = vec![dir.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else {
                out.insert(path.strip_prefix(dir).unwrap().to_path_buf(), fs::read(&path).unwrap());
            }
        }
    }
    out
}

pub fn on(command: &str, dir: &Path, args: &[&str]) -> Ran {
    finish(gleaner().arg(command).arg(dir).args(args))
}

/// One after another, each as it ended.
fn every_reader(dir: &Path) -> Vec<(&'static str, Ran)> {
    let scratch = dir.with_extension("scratch");
    let to = scratch.to_str().unwrap();
    let all: &[(&str, &[&str])] = &[
        ("status", &["--json"]),
        ("export", &["--all"]),
        ("search", &["sql", "--all", "--json", "--limit", "100"]),
        ("explain", &["http://h1.example/4"]),
        ("label", &[]),
        ("errors", &[]),
        ("changes", &["--since", "1d"]),
        ("report", &[]),
        ("export", &["--all", "--format", "warc", "-o", to]),
        ("export", &["--all", "--format", "markdown"]),
        ("check", &["--json"]),
        ("remove", &["http://nowhere.example/", "--dry-run"]),
    ];
    let ran = all.iter().map(|(command, args)| (*command, on(command, dir, args))).collect();
    let _ = fs::remove_file(scratch);
    ran
}

/// Ends well or with a message, whatever it met.
#[track_caller]
fn sane(ran: &Ran, what: &str) {
    assert!(matches!(ran.code, Some(0..=4)), "{what}\n{ran}");
    assert!(!ran.err.contains("panicked"), "{what}\n{ran}");
    if ran.code != Some(0) {
        assert!(ran.err.contains("hint:"), "{what}: nothing says what to do\n{ran}");
    }
}

fn pages(dir: &Path) -> usize {
    let status = on("status", dir, &["--json"]);
    let json: serde_json::Value = serde_json::from_str(&status.ok().out).unwrap();
    json["pages"].as_u64().unwrap() as usize
}

fn urls(export: &Ran) -> BTreeSet<String> {
    let url = |line: &str| {
        serde_json::from_str::<serde_json::Value>(line).unwrap()["url"].as_str().unwrap().to_string()
    };
    export.out.lines().map(url).collect()
}

/// Every byte of every archive file that was there is there, in its place or set aside.
#[track_caller]
fn no_byte_is_gone(before: &BTreeMap<PathBuf, Vec<u8>>, dir: &Path, what: &str) {
    let after = contents(dir);
    let aside = || after.iter().filter(|(p, _)| p.starts_with("damaged")).map(|(_, b)| b);
    for (path, was) in before.iter().filter(|(p, _)| p.starts_with("warc")) {
        let empty = Vec::new();
        let is = after.get(path).unwrap_or(&empty);
        // Its end may be elsewhere, and something new behind its beginning.
        let cut = |end: &Vec<u8>| was.strip_suffix(end.as_slice()).is_some_and(|begin| is.starts_with(begin));
        assert!(is.starts_with(was) || aside().any(cut), "{what}: bytes of {} are gone", path.display());
    }
}

// ---- every file, every damage -----------------------------------------------------------------------------

#[derive(Clone, Copy, Debug)]
pub enum Harm {
    Cut(u64),
    Zero,
    ZeroEnd,
    Flip(u64),
    Remove,
    /// A folder stands there instead, with the file in it.
    Folder,
}

pub fn harm(path: &Path, harm: Harm) {
    let mut bytes = fs::read(path).unwrap();
    let len = bytes.len();
    match harm {
        Harm::Cut(percent) => bytes.truncate((len as u64 * percent / 100) as usize),
        Harm::Zero => bytes.fill(0),
        Harm::ZeroEnd => bytes[len - len.min(300)..].fill(0),
        Harm::Flip(seed) => {
            let mut rng = Rng(seed);
            for _ in 0..3 {
                let at = rng.below(len as u64) as usize;
                bytes[at] ^= 1 << rng.below(8);
            }
        }
        Harm::Remove => return fs::remove_file(path).unwrap(),
        Harm::Folder => {
            fs::remove_file(path).unwrap();
            fs::create_dir(path).unwrap();
            return fs::write(path.join("inside"), bytes).unwrap();
        }
    }
    fs::write(path, bytes).unwrap();
}

#[test]
fn whatever_happens_to_a_file_nothing_is_lost_without_a_word() {
    let small = Small::crawled();
    let all: Vec<PathBuf> = contents(&small.whole())
        .into_iter()
        .filter(|(p, bytes)| !bytes.is_empty() && !p.ends_with("report.html") && !p.ends_with("lock"))
        .map(|(p, _)| p)
        .collect();
    let mut rng = Rng(20_261_116);
    let mut cases: Vec<(PathBuf, Harm)> = Vec::new();
    for path in &all {
        let mut harms = vec![Harm::Remove, Harm::Zero, Harm::ZeroEnd, Harm::Folder];
        harms.extend([0, 10, 33, 50, 90, 99].map(Harm::Cut));
        harms.extend((0..if long() { 8 } else { 3 }).map(|_| Harm::Flip(rng.next())));
        if !long() {
            // One of these for a file that can be made again, a few for the others.
            let most = if path.starts_with("index") { 1 } else { 3 };
            while harms.len() > most {
                harms.swap_remove(rng.below(harms.len() as u64) as usize);
            }
        }
        cases.extend(harms.into_iter().map(|h| (path.clone(), h)));
    }
    // What happened to people.
    cases.push(("ledger.log".into(), Harm::Cut(50)));
    let last = all.iter().rfind(|p| p.starts_with("warc")).unwrap().clone();
    cases.extend([Harm::Cut(0), Harm::Cut(2)].map(|h| (last.clone(), h)));
    let (mut said, mut repaired) = (0, 0);
    for (path, h) in &cases {
        let what = format!("{} {h:?}", path.display());
        let out = small.copy("damaged");
        harm(&out.join(path), *h);
        let before = contents(&out);
        let topic = path.ends_with("topic.toml");

        let status = on("status", &out, &["--json"]);
        sane(&status, &what);
        if status.code == Some(0) {
            let json: serde_json::Value = serde_json::from_str(&status.out).unwrap();
            assert_eq!(json["pages"], PAGES, "{what}: pages are gone without a word\n{status}");
        }
        let export = on("export", &out, &["--all"]);
        sane(&export, &what);
        if export.code == Some(0) {
            assert_eq!(urls(&export).len(), PAGES, "{what}\n{export}");
        }
        let search = on("search", &out, &["sql", "--all", "--json", "--limit", "100"]);
        sane(&search, &what);
        if search.code == Some(0) {
            assert_eq!(search.out.lines().count(), PAGES, "{what}\n{search}");
        }
        if long() {
            sane(&on("explain", &out, &["http://h1.example/4"]), &what);
            sane(&on("report", &out, &[]), &what);
            sane(&on("export", &out, &["--all", "--format", "warc", "-o", "/dev/null"]), &what);
        }
        let ran = finish(&mut small.crawl(&out));
        sane(&ran, &what);
        no_byte_is_gone(&before, &out, &what);
        if ran.code == Some(0) {
            assert_eq!(pages(&out), PAGES, "{what}: after the crawl\n{ran}");
            continue;
        }
        said += 1;
        assert!(topic || ran.err.contains("gleaner repair"), "{what}: no way on\n{ran}");
        let mut repair = gleaner();
        repair.arg("repair").arg(&out).arg(&small.topic).arg("--json");
        let fixed = finish(&mut repair);
        assert!(matches!(fixed.code, Some(0 | 1)) && !fixed.err.contains("panicked"), "{what}\n{fixed}");
        no_byte_is_gone(&before, &out, &what);
        let r: serde_json::Value =
            serde_json::from_str(&fixed.out).unwrap_or_else(|e| panic!("{what}: {e}\n{fixed}"));
        let now = r["pages"].as_u64().unwrap();
        let lost =
            r["before"].as_u64().map_or(0, |b| b.saturating_sub(now)).max(r["failed"].as_u64().unwrap());
        assert!(now + lost >= PAGES as u64, "{what}: {now} pages, {lost} said to be lost\n{fixed}");
        finish(&mut small.crawl(&out)).ok();
        assert_eq!(pages(&out), PAGES, "{what}: after the repair and the next crawl");
        no_byte_is_gone(&before, &out, &what);
        repaired += 1;
    }
    println!("{} cases, {said} refused, {repaired} repaired", cases.len());
    assert!(repaired > 2, "the damage was too small: {repaired} repairs");
}

// ---- anywhere, several at once ----------------------------------------------------------------------------

/// What can happen to a file that another one, or an older one, is there for.
#[derive(Clone, Debug)]
enum Blow {
    Harm(Harm),
    /// The two files change places.
    Swap(PathBuf),
    /// As it was when the crawl was half done.
    Older,
    /// Bytes of something else follow.
    Longer(u64),
}

fn strike(out: &Path, path: &Path, blow: &Blow, older: &Path) {
    let at = out.join(path);
    match blow {
        Blow::Harm(h) => harm(&at, *h),
        Blow::Swap(other) => {
            let (mine, theirs) = (fs::read(&at).unwrap(), fs::read(out.join(other)).unwrap());
            fs::write(&at, theirs).unwrap();
            fs::write(out.join(other), mine).unwrap();
        }
        Blow::Older => match fs::read(older.join(path)) {
            Ok(bytes) => fs::write(&at, bytes).unwrap(),
            Err(_) => fs::remove_file(&at).unwrap(),
        },
        Blow::Longer(seed) => {
            let mut rng = Rng(*seed);
            let mut bytes = fs::read(&at).unwrap();
            bytes.extend((0..rng.between(1, 5_000)).map(|_| rng.next() as u8));
            fs::write(&at, bytes).unwrap();
        }
    }
}

/// One to three blows on a collection that was crawled in two runs, labelled and judged again.
/// `GLEANER_LONG=1` tries a thousand (`GLEANER_CASES` says how many, `GLEANER_SEED` which).
#[test]
fn damage_anywhere_of_any_kind_is_survived_or_said() {
    let small = Small::crawled();
    let older = small.dir.path().join("older");
    finish(small.crawl(&older).args(["--pages", "10"])).ok();
    let whole = small.dir.path().join("lived");
    copy(&older, &whole);
    finish(&mut small.crawl(&whole)).ok();
    for (page, said) in [("http://h0.example/12", "--no"), ("http://h1.example/4", "--yes")] {
        on("label", &whole, &[page, said]).ok();
    }
    on("rejudge", &whole, &[]).ok();
    finish(&mut small.crawl(&whole)).ok();
    assert_eq!(pages(&whole), PAGES);
    let number = |name: &str| std::env::var(name).ok().and_then(|n| n.parse::<u64>().ok());
    let cases = number("GLEANER_CASES").unwrap_or(if long() { 1_000 } else { 12 });
    let first = number("GLEANER_SEED").unwrap_or(1);
    let files: Vec<PathBuf> = contents(&whole)
        .into_iter()
        .filter(|(p, bytes)| !bytes.is_empty() && !p.ends_with("report.html") && !p.ends_with("lock"))
        .map(|(p, _)| p)
        .collect();
    let (part, rest): (Vec<&PathBuf>, Vec<&PathBuf>) = files.iter().partition(|p| p.starts_with("index"));
    let (mut silent, mut said, mut broken) = (0, 0, Vec::new());
    for case in first..first + cases {
        let mut rng = Rng(case * 7919);
        let out = small.dir.path().join("struck");
        let _ = fs::remove_dir_all(&out);
        copy(&whole, &out);
        let mut blows = Vec::new();
        for _ in 0..[1, 1, 1, 2, 3][rng.below(5) as usize] {
            // The index has most of the files and least of what cannot be made again.
            let from = if rng.below(5) == 0 { &part } else { &rest };
            let path = from[rng.below(from.len() as u64) as usize].clone();
            let blow = match rng.below(11) {
                0 => Blow::Harm(Harm::Remove),
                1 => Blow::Harm(Harm::Zero),
                2 => Blow::Harm(Harm::ZeroEnd),
                3 => Blow::Harm(Harm::Cut(rng.below(100))),
                4 => Blow::Swap(files[rng.below(files.len() as u64) as usize].clone()),
                5 => Blow::Older,
                6 => Blow::Longer(rng.next()),
                7 => Blow::Harm(Harm::Folder),
                _ => Blow::Harm(Harm::Flip(rng.next())),
            };
            // What is gone already cannot be struck again.
            let there = |p: &Path| fs::metadata(out.join(p)).is_ok_and(|m| m.is_file() && m.len() > 0);
            if there(&path) && !matches!(&blow, Blow::Swap(other) if !there(other)) {
                strike(&out, &path, &blow, &older);
                blows.push((path, blow));
            }
        }
        let what = format!("GLEANER_SEED={case} GLEANER_CASES=1: {blows:?}");
        let judged =
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| struck(&small, &out, &blows, &what)));
        match judged {
            Ok(true) => said += 1,
            Ok(false) => silent += 1,
            Err(_) => broken.push(what),
        }
    }
    println!("{cases} cases: {silent} cost nothing, {said} were said, {} were wrong", broken.len());
    assert!(broken.is_empty(), "{broken:#?}");
}

/// Every command copes with it, and a crawl, after a repair if it asks for one, has all pages again. `true`:
/// it asked.
fn struck(small: &Small, out: &Path, blows: &[(PathBuf, Blow)], what: &str) -> bool {
    let before = contents(out);
    // A ledger that is as it was once, and all that knew better is gone: nobody can tell.
    let touched = |name: &str| {
        blows.iter().any(|(p, b)| p.starts_with(name) || matches!(b, Blow::Swap(o) if o.starts_with(name)))
    };
    let unknowable = touched("ledger.log") && touched("ledger.mark");
    for (command, ran) in every_reader(out) {
        let what = format!(
            "{what}
{command}"
        );
        assert!(
            matches!(ran.code, Some(0..=4)),
            "{what}
{ran}"
        );
        assert!(
            !ran.err.contains("panicked") && !ran.err.contains("RUST_BACKTRACE"),
            "{what}
{ran}"
        );
        if ran.code != Some(0) && command != "check" {
            assert!(
                ran.err.contains("hint:") || ran.err.contains("could not be read"),
                "{what}: no way on
{ran}"
            );
        }
        if ran.code == Some(0) && !unknowable && ran.err.is_empty() {
            match command {
                "status" => {
                    let json: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
                    assert_eq!(
                        json["pages"], PAGES,
                        "{what}: pages are gone without a word
{ran}"
                    );
                }
                "search" => assert_eq!(
                    ran.out.lines().count(),
                    PAGES,
                    "{what}
{ran}"
                ),
                _ => {}
            }
        }
    }
    no_byte_is_gone(&before, out, what);
    let ran = finish(&mut small.crawl(out));
    sane(&ran, what);
    let asked = ran.code != Some(0);
    if asked {
        let mut repair = gleaner();
        repair.arg("repair").arg(out).arg(&small.topic).arg("--json");
        let fixed = finish(&mut repair);
        assert!(
            matches!(fixed.code, Some(0 | 1)) && !fixed.err.contains("panicked"),
            "{what}
{ran}
{fixed}"
        );
        finish(&mut small.crawl(out)).ok();
    }
    no_byte_is_gone(&before, out, what);
    assert_eq!(
        pages(out),
        PAGES,
        "{what}
{ran}"
    );
    let found = on("search", out, &["sql", "--all", "--json", "--limit", "100"]);
    assert_eq!(
        found.ok().out.lines().count(),
        PAGES,
        "{what}
{found}"
    );
    asked
}

// ---- the ledger is shorter than it was --------------------------------------------------------------------

#[test]
fn a_ledger_that_was_cut_is_told_and_comes_back() {
    let small = Small::crawled();
    let all = urls(on("export", &small.whole(), &["--all"]).ok());
    let relevant = urls(on("export", &small.whole(), &[]).ok());
    let length = fs::metadata(small.whole().join("ledger.log")).unwrap().len();
    let cuts = if long() { vec![0, 1, 10, 30, 50, 80, 99] } else { vec![0, 40, 95] };
    for percent in cuts {
        let out = small.copy("cut");
        let ledger = fs::OpenOptions::new().write(true).open(out.join("ledger.log")).unwrap();
        ledger.set_len(length * percent / 100).unwrap();
        let before = contents(&out);
        let asked = small.asked();
        // Whoever looks is told, and a script notices.
        for command in ["status", "export"] {
            let ran = on(command, &out, &[]);
            ran.fails(1, &["ledger.log is ", "24 pages", "gleaner repair"]);
        }
        let ran = finish(&mut small.crawl(&out));
        ran.fails(1, &["ledger.log is ", "gleaner repair"]);
        assert_eq!(small.asked(), asked, "nothing was fetched");
        let after = contents(&out);
        for (path, bytes) in before.iter().filter(|(p, _)| !p.ends_with("report.html")) {
            assert!(after.get(path) == Some(bytes), "{} was changed by a crawl that refused", path.display());
        }
        let repair = on("repair", &out, &[]);
        repair.ok().shows(&["24 pages", "none is missing"]);
        assert_eq!(urls(on("export", &out, &["--all"]).ok()), all, "cut at {percent} %");
        assert_eq!(urls(on("export", &out, &[]).ok()), relevant, "judged as before");
        let found = on("search", &out, &["sql", "--all", "--json", "--limit", "100"]);
        assert_eq!(found.ok().out.lines().count(), PAGES, "{found}");
        no_byte_is_gone(&before, &out, "repaired");
        // The crawl goes on; of what came back nothing is fetched again.
        finish(&mut small.crawl(&out)).ok();
        for e in &small.server.log().entries()[asked..] {
            let url = format!("http://{}{}", e.host, e.path);
            assert!(!all.contains(&url), "{url} came back and was fetched again");
        }
        common::collection::Snapshot::take(&out).check_archive(&out, &small.dir.path().join("archive"));
        on("repair", &out, &[]).ok().shows(&["nothing to repair: 24 pages"]);
    }
}

#[test]
fn what_is_behind_damage_in_the_middle_comes_back_with_its_labels() {
    let small = Small::crawled();
    let out = small.copy("middle");
    let dir = out.to_str().unwrap();
    run(["label", dir, "http://h0.example/12", "--no"]).ok();
    let all = urls(on("export", &out, &["--all"]).ok());
    // Without the archive only the ledger has the pages.
    fs::remove_dir_all(out.join("warc")).unwrap();
    let path = out.join("ledger.log");
    let mut bytes = fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x10;
    fs::write(&path, &bytes).unwrap();
    let repair = on("repair", &out, &["--json"]);
    let r: serde_json::Value = serde_json::from_str(&repair.out).unwrap_or_else(|e| panic!("{e}\n{repair}"));
    let back = r["from_ledger"].as_u64().unwrap();
    let lost = PAGES as u64 - r["pages"].as_u64().unwrap();
    assert!(back > 3 && lost <= 1, "{repair}");
    assert_eq!(repair.code, Some(i32::from(lost > 0)), "{repair}");
    assert_eq!(r["labels"], 1, "{repair}");
    let now = urls(on("export", &out, &["--all"]).ok());
    assert!(now.is_subset(&all) && now.len() + lost as usize == PAGES);
    // The old ledger is there, byte for byte.
    assert!(contents(&out.join("damaged")).values().any(|b| *b == bytes));
    finish(&mut small.crawl(&out)).ok();
    assert_eq!(pages(&out), PAGES);
    // It may have been the labelled page that was lost and fetched again.
    assert!(on("label", &out, &[]).ok().out.contains("h0.example/12"));
}

#[test]
fn a_lost_ledger_is_made_again_from_the_archive_alone() {
    let small = Small::crawled();
    let out = small.copy("lost");
    let dir = out.to_str().unwrap();
    for entry in fs::read_dir(&out).unwrap().flatten() {
        let name = entry.file_name().into_string().unwrap();
        if name.starts_with("ledger") || name.starts_with("checkpoint") {
            fs::remove_file(entry.path()).unwrap();
        }
    }
    let before = contents(&out);
    run(["status", dir]).fails(1, &["ledger.log is missing", "gleaner repair"]);
    finish(&mut small.crawl(&out)).fails(1, &["ledger.log is missing", "gleaner repair"]);
    run(["repair", dir]).ok().shows(&["24 came back from the archive"]);
    assert_eq!(pages(&out), PAGES);
    no_byte_is_gone(&before, &out, "made again");
    finish(&mut small.crawl(&out)).ok();
    assert_eq!(pages(&out), PAGES);
}

#[test]
fn an_old_ledger_beside_a_newer_archive_costs_no_byte() {
    let small = Small::crawled();
    let out = small.copy("old");
    // Nothing but the archive knows that there was more: as after a crash, and few enough for one.
    for entry in fs::read_dir(&out).unwrap().flatten() {
        let name = entry.file_name().into_string().unwrap();
        if name.starts_with("ledger.mark") || name.starts_with("checkpoint") {
            fs::remove_file(entry.path()).unwrap();
        }
    }
    let ledger = fs::OpenOptions::new().write(true).open(out.join("ledger.log")).unwrap();
    ledger.set_len(ledger.metadata().unwrap().len() / 2).unwrap();
    let before = contents(&out);
    let again = small.dir.path().join("again");
    copy(&out, &again);
    let ran = finish(&mut small.crawl(&out));
    assert!(ran.ok().err.contains("never committed") && ran.err.contains("set aside"), "{ran}");
    assert_eq!(pages(&out), PAGES);
    no_byte_is_gone(&before, &out, "set aside");
    assert!(fs::read_to_string(out.join("damaged/README.txt")).unwrap().contains("whole pages"));
    // Whoever knows better repairs first, and nothing is fetched again.
    let asked = small.asked();
    on("repair", &again, &[]).ok().shows(&["24 pages", "pages that the ledger does not know of"]);
    assert_eq!((pages(&again), small.asked()), (PAGES, asked));
}

#[test]
fn an_archive_that_was_cut_or_lost_is_told_and_the_crawl_can_go_on() {
    let small = Small::crawled();
    for gone in [false, true] {
        let out = small.copy("archive");
        let last = warcs(&out).pop().unwrap();
        if gone {
            fs::remove_file(&last).unwrap();
        } else {
            let file = fs::OpenOptions::new().write(true).open(&last).unwrap();
            file.set_len(file.metadata().unwrap().len() * 2 / 3).unwrap();
        }
        let before = contents(&out);
        let ran = finish(&mut small.crawl(&out));
        ran.fails(
            1,
            &[if gone { "is missing" } else { "is shorter than the ledger says" }, "gleaner repair"],
        );
        // The text of every page is there; what cannot be copied is counted, and the rest is written.
        assert_eq!(urls(on("export", &out, &["--all"]).ok()).len(), PAGES);
        // The last file may hold no more than a robots.txt: the largest one holds pages.
        let size = |path: &PathBuf| fs::metadata(path).unwrap().len();
        let poorer = small.copy("poorer");
        let largest = warcs(&poorer).into_iter().max_by_key(size).unwrap();
        if gone {
            fs::remove_file(&largest).unwrap();
        } else {
            let file = fs::OpenOptions::new().write(true).open(&largest).unwrap();
            file.set_len(size(&largest) * 2 / 3).unwrap();
        }
        let subset = small.dir.path().join("subset.warc.gz");
        let ran = on("export", &poorer, &["--all", "-o", subset.to_str().unwrap()]);
        ran.fails(1, &["not in the export", "the others were written"]);
        assert!(fs::metadata(&subset).unwrap().len() > 2_000);
        on("repair", &out, &[]);
        no_byte_is_gone(&before, &out, "repaired");
        assert_eq!(pages(&out), PAGES);
        finish(&mut small.crawl(&out)).ok();
        assert_eq!(pages(&out), PAGES);
    }
}

#[test]
fn a_damaged_index_is_made_again_by_whoever_searches() {
    let small = Small::crawled();
    let files: Vec<PathBuf> = contents(&small.whole().join("index")).into_keys().collect();
    let mut rng = Rng(9);
    for path in files.iter().filter(|p| p.extension().is_some_and(|e| e != "lock")) {
        let out = small.copy("index");
        let path = out.join("index").join(path);
        let mut bytes = fs::read(&path).unwrap();
        if bytes.is_empty() {
            continue;
        }
        for _ in 0..4 {
            let at = rng.below(bytes.len() as u64) as usize;
            bytes[at] ^= 0x41;
        }
        fs::write(&path, bytes).unwrap();
        let found = on("search", &out, &["sql", "--all", "--json", "--limit", "100"]);
        assert_eq!(found.ok().out.lines().count(), PAGES, "{}\n{found}", path.display());
    }
}

// ---- something else in its place --------------------------------------------------------------------------

#[test]
fn a_folder_where_a_file_belongs_is_told_and_set_aside() {
    let small = Small::crawled();
    let files: Vec<PathBuf> = contents(&small.whole()).into_keys().collect();
    let one = |begin: &str| files.iter().find(|p| p.to_str().unwrap().starts_with(begin)).unwrap().clone();
    let last = files.iter().rfind(|p| p.starts_with("warc")).unwrap().clone();
    let parts =
        [one("warc/"), last, one("index/meta.json"), one("ledger.log"), one("ledger.mark"), one("lock")];
    for path in parts {
        let what = path.display().to_string();
        let out = small.copy("folder");
        harm(&out.join(&path), Harm::Folder);
        told_and_set_aside(&small, &out, &what);
        let name = path.file_name().unwrap().to_str().unwrap();
        let note = fs::read_to_string(out.join("damaged/README.txt")).unwrap();
        assert!(
            out.join("damaged").join(name).join("inside").is_file() && note.contains(name),
            "{what}: {note}"
        );
    }
    // The reverse.
    for part in ["warc", "index", "damaged"] {
        let out = small.copy("folder");
        if out.join(part).exists() {
            fs::remove_dir_all(out.join(part)).unwrap();
        }
        fs::write(out.join(part), "a file").unwrap();
        told_and_set_aside(&small, &out, part);
        assert_eq!(fs::read_to_string(out.join("damaged").join(part)).unwrap(), "a file", "{part}");
    }
}

fn told_and_set_aside(small: &Small, out: &Path, what: &str) {
    let before = contents(out);
    let crawled = finish(&mut small.crawl(out));
    crawled.fails(1, &["gleaner repair"]);
    assert!(contents(out) == before, "{what}: a crawl that refuses changes nothing");
    let check = on("check", out, &["--json"]);
    assert_eq!(check.code, Some(1), "{what}\n{check}");
    // The reader of the ledger has its own words for one that is not there.
    assert!(check.out.contains("belongs there") || what == "ledger.log", "{what}\n{check}");
    let repair = on("repair", out, &["--json"]);
    assert!(matches!(repair.code, Some(0 | 1)) && repair.out.contains("belongs there"), "{what}\n{repair}");
    finish(&mut small.crawl(out)).ok();
    assert_eq!(pages(out), PAGES, "{what}");
    let found = on("search", out, &["sql", "--all", "--json", "--limit", "100"]);
    assert_eq!(found.ok().out.lines().count(), PAGES, "{what}\n{found}");
    let again = on("repair", out, &["--json"]);
    assert!(!again.ok().out.contains("belongs there"), "{what}\n{again}");
}
