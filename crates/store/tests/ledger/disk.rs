//! Real files: locks, readers beside a writer, checkpoints, messages.

use crate::harness::*;
use frontier::{Frontier, State};
use gleaner_store::ledger::{Durability, FileLog, Ledger, Options};
use gleaner_store::{Journal, Records};
use std::fs;
use std::path::Path;
use types::{Millis, Outcome};

fn open_dir(dir: &Path, now: u64) -> Ledger<FileLog> {
    Ledger::open(dir, options(quick()), Millis(now)).unwrap()
}

fn checkpoints(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(dir).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.retain(|n| n.starts_with("checkpoint"));
    names
}

#[test]
fn a_second_writer_is_told_who_holds_it() {
    let dir = tempfile::tempdir().unwrap();
    let first = open_dir(dir.path(), 0);
    let Err(e) = Ledger::open(dir.path(), options(quick()), Millis(0)) else { panic!("two writers") };
    let text = e.to_string();
    assert!(text.starts_with("another gleaner process holds "), "{text}");
    assert!(text.contains("hint: "), "{text}");
    drop(first);
    open_dir(dir.path(), 0);
}

#[test]
fn a_reader_follows_a_writer_and_never_sees_half_a_commit() {
    let dir = tempfile::tempdir().unwrap();
    let mut w = open_dir(dir.path(), 0);
    w.seed(seed("http://a/", 1.0), Millis(0)).unwrap();
    w.commit().unwrap();
    let mut r = Ledger::open_read(dir.path()).unwrap();
    assert_eq!(r.stats().unwrap().urls, 1);
    assert!(!r.refresh().unwrap());
    let (a, _) = w.visit(0, &[link("http://b/", 0.5), link("http://c/", 0.4)]);
    assert!(!r.refresh().unwrap(), "not committed");
    assert_eq!(r.entry(a.id).unwrap().unwrap().state, State::Pending);
    w.commit().unwrap();
    assert!(r.refresh().unwrap());
    assert_eq!((r.stats().unwrap().urls, r.stats().unwrap().pending, r.stats().unwrap().pages), (3, 2, 1));
    assert_eq!(r.find(&url("http://c/")).unwrap(), w.find(&url("http://c/")).unwrap());
    assert_eq!(r.pages(0).next().unwrap().unwrap().0, record(a.id, "http://a/"));
    r.check().unwrap();
    // Half a frame at the end is not there yet.
    w.visit(0, &[link("http://d/", 0.5)]);
    w.commit().unwrap();
    let path = dir.path().join("ledger.log");
    let whole = fs::read(&path).unwrap();
    drop(w);
    fs::write(&path, &whole[..whole.len() - 3]).unwrap();
    assert!(!r.refresh().unwrap());
    assert_eq!(r.stats().unwrap().urls, 3);
    fs::write(&path, &whole).unwrap();
    assert!(r.refresh().unwrap());
    assert_eq!(r.stats().unwrap().urls, 4);
}

#[test]
fn a_reader_starts_from_a_checkpoint_too() {
    let dir = tempfile::tempdir().unwrap();
    let mut w = open_dir(dir.path(), 0);
    w.seed(seed("http://a/", 1.0), Millis(0)).unwrap();
    w.checkpoint().unwrap();
    w.seed(seed("http://b/", 1.0), Millis(0)).unwrap();
    w.commit().unwrap();
    let r = Ledger::open_read(dir.path()).unwrap();
    assert_eq!((r.stats().unwrap().urls, r.url(types::UrlId(1)).unwrap().as_str()), (2, "http://b/"));
    let Err(e) = Ledger::open_read(&dir.path().join("nothing")) else { panic!() };
    assert!(e.to_string().contains("nothing is there"), "{e}");
}

#[test]
fn a_reader_of_a_damaged_file_gets_what_is_before_the_damage() {
    let dir = tempfile::tempdir().unwrap();
    let always = Options { durability: Durability::Always, ..options(quick()) };
    let mut w = Ledger::open(dir.path(), always, Millis(0)).unwrap();
    for i in 0..9 {
        w.seed(seed(&format!("http://a/{i}"), 1.0), Millis(0)).unwrap();
        w.commit().unwrap();
    }
    let at = w.stats().unwrap().log_bytes / 2;
    drop(w);
    let path = dir.path().join("ledger.log");
    let mut bytes = fs::read(&path).unwrap();
    bytes[at as usize] ^= 1;
    fs::write(&path, bytes).unwrap();
    let Err(e) = Ledger::open(dir.path(), options(quick()), Millis(0)) else { panic!("not noticed") };
    assert!(e.to_string().contains("ledger.log is damaged at byte"), "{e}");
    let r = Ledger::open_read(dir.path()).unwrap();
    assert!(r.damage().is_some_and(|d| d.at <= at));
    assert!((1..9).contains(&r.stats().unwrap().urls));
}

#[test]
fn checkpoints_come_as_the_log_grows_and_the_last_one_stays() {
    let dir = tempfile::tempdir().unwrap();
    let small = || Options { checkpoint_bytes: 10_000, ..options(quick()) };
    let mut w = Ledger::open(dir.path(), small(), Millis(0)).unwrap();
    for i in 0..3_000 {
        w.seed(seed(&format!("http://h{}/{i}", i % 50), 0.5), Millis(0)).unwrap();
        w.commit().unwrap();
    }
    let stats = w.stats().unwrap();
    assert!(stats.bytes_written < 3 * stats.log_bytes, "{} of {}", stats.bytes_written, stats.log_bytes);
    drop(w);
    assert_eq!(checkpoints(dir.path()).len(), 1);
    let before = Ledger::open_read(dir.path()).unwrap();
    for name in checkpoints(dir.path()) {
        fs::remove_file(dir.path().join(name)).unwrap();
    }
    let without = Ledger::open_read(dir.path()).unwrap();
    let all = |l: &Ledger<FileLog>| (0..3_000).map(|i| l.entry(types::UrlId(i)).unwrap()).collect::<Vec<_>>();
    assert_eq!(all(&before), all(&without));
    let mut w = Ledger::open(dir.path(), small(), Millis(0)).unwrap();
    w.close().unwrap();
    drop(w);
    assert_eq!(checkpoints(dir.path()).len(), 1, "a clean end leaves one");
    // What a process that died left half-written is removed.
    fs::write(dir.path().join("checkpoint-00000000000000000007.tmp"), b"half").unwrap();
    open_dir(dir.path(), 0);
    assert_eq!(checkpoints(dir.path()).len(), 1);
}

#[test]
fn a_killed_process_loses_nothing_it_committed() {
    let dir = tempfile::tempdir().unwrap();
    for round in 0..20u64 {
        let mut w = open_dir(dir.path(), round * 1_000);
        w.check().unwrap();
        assert_eq!(w.stats().unwrap().urls, round * 2);
        w.seed(seed(&format!("http://a{round}/"), 1.0), Millis(0)).unwrap();
        let lease = w.lease_at(round * 1_000).unwrap();
        let add = vec![link(&format!("http://b{round}/"), 0.5)];
        w.apply(types::Turn { add, ..done(lease.id, Outcome::Fetched, round * 1_000) }, &best).unwrap();
        w.commit().unwrap();
        w.seed(seed("http://never-committed/", 1.0), Millis(0)).unwrap();
        // Dropped without closing: like a kill, as far as the file is concerned.
    }
    let r = Ledger::open_read(dir.path()).unwrap();
    assert_eq!(r.find(&url("http://never-committed/")).unwrap(), None);
    assert_eq!((r.stats().unwrap().urls, r.stats().unwrap().settled), (40, 20));
}

#[test]
fn a_folder_that_cannot_be_written_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    fs::write(&file, b"x").unwrap();
    let Err(e) = Ledger::open(&file.join("ledger"), options(quick()), Millis(0)) else { panic!() };
    assert!(e.to_string().contains("cannot create the collection folder"), "{e}");
    let Err(e) = Ledger::open_read(dir.path()) else { panic!() };
    assert!(e.to_string().contains("ledger.log"), "{e}");
}

#[test]
fn a_ledger_of_an_earlier_version_is_read_and_goes_on() {
    // Two pages, crawled and kept by version 0.4.0 (commit 5437b52), before records had `about`.
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/ledger-0.4");
    let dir = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(&kept).unwrap().flatten() {
        fs::copy(entry.path(), dir.path().join(entry.file_name())).unwrap();
    }
    let titles = |r: &Ledger<FileLog>| {
        let pages = r.pages(0).map(|p| p.unwrap().0);
        pages.map(|p| (p.title, p.text.len() > 20, p.about)).collect::<Vec<_>>()
    };
    let old = Ledger::open_read(dir.path()).unwrap();
    let nothing = types::About::default;
    let expected = [("Old page".to_string(), true, nothing()), ("Second".to_string(), true, nothing())];
    assert_eq!(titles(&old), expected);
    old.check().unwrap();
    drop(old);
    let mut new = Ledger::open(dir.path(), options(quick()), Millis(0)).unwrap();
    new.seed(seed("http://new.example/", 1.0), Millis(0)).unwrap();
    let lease = leased(new.lease(Millis(1_000_000), frontier::Pick::Best).unwrap());
    let about = types::About { authors: vec!["Ada".into()], published: "2026-11".into(), ..nothing() };
    let page = types::Record { about: about.clone(), ..record(lease.id, "http://new.example/") };
    let turn = types::Turn { record: Some(page), ..done(lease.id, Outcome::Fetched, 1) };
    new.apply(turn, &best).unwrap();
    new.commit().unwrap();
    drop(new);
    let both = Ledger::open_read(dir.path()).unwrap();
    assert_eq!(titles(&both).iter().map(|t| t.2.clone()).collect::<Vec<_>>(), [nothing(), nothing(), about]);
}
