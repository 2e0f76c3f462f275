//! What other people's programs make of what we hand over: readers of Markdown, feeds and bulk lines. The
//! recipes of `docs/integrate.md` are run as they stand there.

use crate::common;
use crate::common::{finish, folder, gleaner, python, run, script};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// One crawl of the demo web for all tests here.
pub fn collection() -> &'static Path {
    static DEMO: OnceLock<(tempfile::TempDir, PathBuf)> = OnceLock::new();
    let made = DEMO.get_or_init(|| {
        let dir = folder();
        let out = dir.path().join("demo");
        finish(gleaner().args(["demo", "--pages", "250", "--out"]).arg(&out)).ok();
        (dir, out)
    });
    &made.1
}

fn export(args: &[&str]) -> common::Ran {
    finish(gleaner().arg("export").arg(collection()).args(args))
}

/// All columns and the Markdown of the pages that an export writes.
fn whole_pages(dir: &Path) -> PathBuf {
    let path = dir.join("whole.jsonl");
    let columns: Vec<&str> = store::export::COLUMNS.iter().map(|c| c.name).collect();
    export(&["--columns", &columns.join(","), "-o", path.to_str().unwrap()]).ok();
    path
}

#[test]
fn markdown_is_read_by_others_and_is_the_pages_own_text() {
    let Some(python) = python("markdown-it and PyYAML on a Markdown export") else { return };
    let dir = folder();
    let pages = whole_pages(dir.path());
    let out = dir.path().join("pages");
    let ran = export(&["--format", "markdown", "-o", out.to_str().unwrap()]);
    assert!(ran.ok().err.contains("pages as markdown"), "{ran}");
    script(&python, "check_handover.py", ["markdown".as_ref(), out.as_os_str(), pages.as_os_str()]).ok();
    // Menus that no element marks as such stand on many pages of a host, and are left out.
    let stream = export(&["--format", "markdown"]);
    assert!(!stream.ok().out.contains("Department of Computer Science\n\nHome"), "{stream}");
    let lines = dir.path().join("pages.jsonl");
    export(&["--format", "markdown", "-o", lines.to_str().unwrap()]).ok();
    let first = std::fs::read_to_string(lines).unwrap().lines().next().unwrap().to_string();
    let first: serde_json::Value = serde_json::from_str(&first).unwrap();
    assert!(first["markdown"].as_str().is_some_and(|m| !m.is_empty()) && first["text"].is_null(), "{first}");
}

#[test]
fn chunks_have_names_that_stay_and_offsets_that_fit() {
    let Some(python) = python("Python on chunks") else { return };
    let dir = folder();
    let pages = whole_pages(dir.path());
    let sizes: [&[&str]; 2] = [&["--chunk-size", "300"], &["--chunk-size", "300", "--chunk-overlap", "60"]];
    for (n, args) in sizes.into_iter().enumerate() {
        let path = dir.path().join(format!("{n}.chunks.jsonl"));
        export(&[args, &["-o", path.to_str().unwrap()][..]].concat()).ok();
        let again = export(&[args, &["--format", "chunks"][..]].concat());
        assert_eq!(again.ok().out, std::fs::read_to_string(&path).unwrap(), "the same again");
        let args = ["chunks".as_ref(), path.as_os_str(), pages.as_os_str(), "300".as_ref()];
        script(&python, "check_handover.py", args).ok();
    }
}

#[test]
fn bulk_lines_fit_their_mapping_and_feeds_are_read() {
    let Some(python) = python("feedparser on a feed") else { return };
    let dir = folder();
    let pages = whole_pages(dir.path());
    let (lines, feed) = (dir.path().join("pages.ndjson"), dir.path().join("pages.rss"));
    export(&["-o", lines.to_str().unwrap()]).ok();
    let mapping = dir.path().join("pages.mapping.json");
    let args = ["bulk".as_ref(), lines.as_os_str(), mapping.as_os_str(), pages.as_os_str()];
    script(&python, "check_handover.py", args).ok();
    export(&["-o", feed.to_str().unwrap()]).ok();
    script(&python, "check_handover.py", ["rss".as_ref(), feed.as_os_str(), pages.as_os_str()]).ok();
}

/// Every notebook of the docs, with a kernel of Jupyter's own.
#[test]
fn the_notebooks_run() {
    let Some(python) = python("nbclient on the notebooks") else { return };
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let books = std::fs::read_dir(root.join("docs/notebooks")).unwrap().flatten().map(|e| e.path());
    let books: Vec<PathBuf> = books.filter(|p| p.extension().is_some_and(|e| e == "ipynb")).collect();
    assert!(!books.is_empty());
    for book in books {
        let dir = folder();
        let mut command = std::process::Command::new(&python);
        command.arg(root.join("tests/py/notebook.py")).arg(&book).arg(dir.path());
        // Nothing of whoever runs this is read or written.
        command
            .env("HOME", dir.path())
            .env("JUPYTER_PLATFORM_DIRS", "1")
            .env("IPYTHONDIR", dir.path().join("ipython"));
        command.env("GLEANER", env!("CARGO_BIN_EXE_gleaner")).env("PYTHONPATH", root.join("python/src"));
        finish(&mut command).ok().shows(&["cells:", "execute_result"]);
    }
}

#[test]
fn bad_sizes_and_empty_collections() {
    let out = collection().to_str().unwrap();
    for (args, says) in [
        (&["--format", "chunks", "--chunk-size", "10"][..], &["too small", "at least 50"][..]),
        (&["--format", "chunks", "--chunk-size", "100", "--chunk-overlap", "80"], &["more than half"]),
        (&["--format", "chunks", "--chunk-size", "x"], &["--chunk-size cannot be `x`"]),
        (&["--columns", "url,markup"], &["no column `markup`", "markdown"]),
    ] {
        finish(gleaner().args(["export", out]).args(args)).fails(2, says);
    }
    // A folder that cannot be one.
    let dir = folder();
    let taken = common::file(dir.path(), "taken", "");
    run(["export", out, "--format", "markdown", "-o", taken.join("x").to_str().unwrap()])
        .fails(1, &["cannot write"]);
    // No page fits: every format has a sound end all the same.
    for format in store::export::ALL {
        let path = dir.path().join(format!("none.{}", format.extension));
        let args = ["export", out, "--where", "host=nowhere.example", "--format", format.name, "-o"];
        finish(gleaner().args(args).arg(&path)).ok();
    }
    assert!(std::fs::read_to_string(dir.path().join("none.rss")).unwrap().ends_with("</rss>\n"));
}
