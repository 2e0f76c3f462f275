//! Other people's programs read what we write: warcio and pywb the archives, pyarrow the Parquet files,
//! Python's own modules the CSV and the JSON lines. `./test` installs them; without them (`GLEANER_PY` not
//! set) these tests say so and skip.

use crate::common;
use crate::common::{finish, folder, gleaner, python, run, script, warcs};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// One crawl of the demo web for all tests here.
fn collection() -> &'static Path {
    static DEMO: OnceLock<tempfile::TempDir> = OnceLock::new();
    let dir = DEMO.get_or_init(|| {
        let dir = folder();
        let out = dir.path().join("demo");
        finish(gleaner().args(["demo", "--pages", "250", "--out"]).arg(&out)).ok();
        dir
    });
    // A static is never dropped; the folder is small and in the system's temporary place.
    static PATH: OnceLock<std::path::PathBuf> = OnceLock::new();
    PATH.get_or_init(|| dir.path().join("demo"))
}

fn export(args: &[&str]) -> common::Ran {
    finish(gleaner().arg("export").arg(collection()).args(args))
}

fn urls(all: bool) -> BTreeSet<String> {
    common::endurance::urls(&export(if all { &["--all"] } else { &[] }))
}

#[test]
fn warcio_checks_the_archive_and_finds_every_page() {
    let Some(python) = python("warcio on a crawl's archive") else { return };
    let files = warcs(collection());
    assert!(!files.is_empty());
    script(&python, "check_warc.py", &files).ok();
    // A second reader's index: each page is where our ledger says, with its status and type.
    let index = finish(
        Command::new(&python)
            .args(["-m", "warcio.cli", "index", "-f", "warc-type,warc-target-uri,offset,http:status"])
            .args(&files),
    );
    let mut found = BTreeSet::new();
    for line in index.ok().out.lines() {
        let row: serde_json::Value = serde_json::from_str(line).unwrap();
        if matches!(row["warc-type"].as_str(), Some("response" | "revisit")) {
            assert_eq!(row["http:status"], "200", "{line}");
            assert!(found.insert(row["warc-target-uri"].as_str().unwrap().to_string()), "twice: {line}");
        }
    }
    let missing: Vec<String> = urls(true).difference(&found).cloned().collect();
    assert!(missing.is_empty(), "not in the archive: {missing:?}");
}

#[test]
fn pywb_replays_every_page_byte_for_byte() {
    let Some(python) = python("pywb on a crawl's archive") else { return };
    let rows = export(&["--all"]);
    let pages: BTreeSet<(String, String)> = rows
        .ok()
        .out
        .lines()
        .map(|l| serde_json::from_str::<serde_json::Value>(l).unwrap())
        .map(|page| {
            let text = |field: &str| page[field].as_str().unwrap().to_string();
            (text("url"), text("digest"))
        })
        .collect();
    let dir = folder();
    let asked = common::file(
        dir.path(),
        "urls",
        &pages.iter().map(|(url, _)| format!("{url}\n")).collect::<String>(),
    );
    let replay = finish(
        Command::new(&python)
            .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/py/replay.py"))
            .arg(dir.path())
            .args(warcs(collection()))
            .stdin(std::fs::File::open(asked).unwrap()),
    );
    let replayed: BTreeSet<(String, String)> = replay
        .ok()
        .out
        .lines()
        .map(|line| {
            let fields: Vec<&str> = line.split('\t').collect();
            assert_eq!(fields[1], "200", "{line}");
            (fields[0].to_string(), fields[2].to_string())
        })
        .collect();
    assert!(pages.len() > 100, "{} pages", pages.len());
    assert_eq!(replayed, pages);
}

#[test]
fn a_warc_subset_is_an_archive_of_its_own() {
    let Some(python) = python("warcio on an exported subset") else { return };
    let dir = folder();
    for (args, all) in [(&[][..], false), (&["--all"], true)] {
        let path = dir.path().join(format!("subset-{all}.warc.gz"));
        export(&[args, &["--format", "warc", "-o", path.to_str().unwrap()]].concat()).ok();
        script(&python, "check_warc.py", [&path]).ok();
        let index = finish(
            Command::new(&python)
                .args(["-m", "warcio.cli", "index", "-f", "warc-type,warc-target-uri"])
                .arg(&path),
        );
        let found: BTreeSet<String> = index
            .ok()
            .out
            .lines()
            .map(|l| serde_json::from_str::<serde_json::Value>(l).unwrap())
            .filter(|r| matches!(r["warc-type"].as_str(), Some("response" | "revisit")))
            .map(|r| r["warc-target-uri"].as_str().unwrap().to_string())
            .collect();
        let missing: Vec<String> = urls(all).difference(&found).cloned().collect();
        assert!(missing.is_empty(), "not in the subset: {missing:?}");
    }
}

#[test]
fn pyarrow_reads_the_parquet_export() {
    let Some(python) = python("pyarrow on a Parquet export") else { return };
    let dir = folder();
    for (name, args) in [("relevant", &[][..]), ("all", &["--all"])] {
        let parquet = dir.path().join(format!("{name}.parquet"));
        let jsonl = dir.path().join(format!("{name}.jsonl"));
        export(&[args, &["-o", parquet.to_str().unwrap()]].concat()).ok();
        export(&[args, &["-o", jsonl.to_str().unwrap()]].concat()).ok();
        let rows = std::fs::read_to_string(&jsonl).unwrap().lines().count();
        assert!(rows >= 5, "{rows} rows");
        // The script compares every cell with the JSON lines beside it.
        let checked = script(&python, "check_parquet.py", [parquet.as_os_str(), rows.to_string().as_ref()]);
        checked.ok().shows(&[&format!("{rows} rows")]);
    }
}

#[test]
fn python_reads_the_csv_and_json_lines() {
    let Some(python) = python("Python's csv and json on exports") else { return };
    let dir = folder();
    let (csv, jsonl) = (dir.path().join("pages.csv"), dir.path().join("pages.jsonl"));
    export(&["--all", "--raw", "-o", csv.to_str().unwrap()]).ok();
    export(&["--all", "-o", jsonl.to_str().unwrap()]).ok();
    let rows = urls(true).len();
    script(&python, "check_text.py", [csv.as_os_str(), jsonl.as_os_str(), rows.to_string().as_ref()])
        .ok()
        .shows(&[&format!("{rows} rows")]);
}

/// `gleaner … | head -1`: whoever closes the pipe has what they wanted.
#[test]
fn a_reader_that_leaves_is_no_error() {
    let out = collection().to_str().unwrap();
    let every = [
        vec!["export", out, "--all"],
        vec!["export", out, "--all", "--format", "csv"],
        vec!["export", out, "--all", "--format", "parquet"],
        vec!["export", out, "--all", "--format", "warc"],
        vec!["search", out, "course", "--all", "--limit", "500"],
        vec!["search", out, "course", "--all", "--limit", "500", "--json"],
        vec!["strategies"],
        vec!["config", "--query", "x"],
        vec!["completions", "bash"],
        vec!["genres", "syllabus"],
    ];
    for args in every {
        let mut child = gleaner().args(&args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        // Closed before a byte was read: the hardest case.
        drop(child.stdout.take());
        let ended = child.wait_with_output().unwrap();
        let err = String::from_utf8_lossy(&ended.stderr);
        assert!(ended.status.success(), "{args:?}: {} {err}", ended.status);
        assert_eq!(err, "", "{args:?}");
    }
    // Nor is one that leaves in the middle.
    let head = Command::new("sh")
        .arg("-c")
        .arg(format!("'{}' export '{out}' --all | head -1", env!("CARGO_BIN_EXE_gleaner")))
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&head.stderr), "");
    assert_eq!(String::from_utf8_lossy(&head.stdout).lines().count(), 1);
    // A full disk is one.
    let full = Command::new("sh")
        .arg("-c")
        .arg(format!("'{}' export '{out}' --all > /dev/full", env!("CARGO_BIN_EXE_gleaner")))
        .output()
        .unwrap();
    if Path::new("/dev/full").exists() {
        assert_eq!(full.status.code(), Some(1));
        let err = String::from_utf8_lossy(&full.stderr);
        assert!(err.contains("cannot write the export") && err.contains("hint:"), "{err}");
    }
    run(["status", out]).ok();
}
