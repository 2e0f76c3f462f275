//! Other people's tools read our files, and we read theirs.
//!
//! Needs a Python with `warcio` and `pyarrow`, named by `GLEANER_PY` (the project's test command sets it).

#[path = "../../../tests/support/tools.rs"]
mod tools;

use gleaner_store::archive::{HttpLimits, Limits, WarcReader, http_message, read_at};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The Python to use, or `None` after saying loudly that the test does not run.
fn python(test: &str) -> Option<PathBuf> {
    let python = std::env::var_os("GLEANER_PY").filter(|p| !p.is_empty());
    if python.is_none() {
        tools::missing(&format!("{test}: GLEANER_PY is not set (a Python with warcio and pyarrow)"));
    }
    python.map(PathBuf::from)
}

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/py").join(name)
}

fn run(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|e| panic!("cannot run {command:?}: {e}"));
    let text =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?} failed:\n{text}");
    text
}

#[test]
fn warcio_files_are_read() {
    let Some(python) = python("warcio_files_are_read") else { return };
    let dir = tempfile::tempdir().unwrap();
    run(Command::new(&python).arg(script("make_warc.py")).arg(dir.path()));
    for name in ["chunked.warc.gz", "plain.warc", "old.warc.gz"] {
        let path = dir.path().join(name);
        let mut seen = Vec::new();
        for record in WarcReader::open(&path, Limits::default()).unwrap() {
            let record = record.unwrap_or_else(|e| panic!("{e}"));
            assert!(record.addressable);
            assert_eq!(read_at(&path, record.offset, Limits::default()).unwrap(), record);
            if record.kind() == "response" {
                let message = http_message(&record.block, &HttpLimits::default()).unwrap();
                assert!(!message.cut, "{name}");
                seen.push((
                    record.target().unwrap().to_string(),
                    message.status,
                    String::from_utf8(message.body.into_owned()).unwrap(),
                ));
            } else {
                seen.push((record.kind(), 0, String::new()));
            }
        }
        let body = "<p>words words words words</p>".to_string();
        let expected = [
            ("warcinfo".into(), 0, String::new()),
            ("http://example.org/plain".into(), 200, body.clone()),
            ("http://example.org/chunked".into(), 200, body.clone()),
            ("http://example.org/gzip".into(), 200, body.clone()),
            ("http://example.org/chunked-gzip".into(), 200, body),
            ("revisit".to_string(), 0, String::new()),
        ];
        assert_eq!(seen, expected, "{name}");
    }
}

#[test]
fn warcio_and_pyarrow_read_ours() {
    let Some(python) = python("warcio_and_pyarrow_read_ours") else { return };
    let dir = tempfile::tempdir().unwrap();
    // The example is the sample's only maker; cargo built it together with this test.
    let test = std::env::current_exe().unwrap();
    let example = test.parent().and_then(Path::parent).unwrap().join("examples/write_warc");
    run(Command::new(example).arg(dir.path()));
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(dir.path().join("warc")).unwrap().map(|e| e.unwrap().path()).collect();
    files.sort();
    assert!(files.len() > 1, "the sample rotates");
    let text = run(Command::new(&python).arg(script("check_warc.py")).args(&files));
    assert!(text.contains("29 response") && text.contains("1 revisit"), "{text}");
    let text = run(Command::new(&python).arg(script("check_warc.py")).arg(dir.path().join("subset.warc.gz")));
    assert!(
        text.contains("20 response") && text.contains("1 revisit"),
        "20 chosen, and the original of one: {text}"
    );
    run(Command::new(&python)
        .arg(script("check_parquet.py"))
        .arg(dir.path().join("pages.parquet"))
        .arg("30"));
}
