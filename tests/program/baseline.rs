//! What is found, and how soon, on two generated webs: compared by `gleaner report` with what was found when
//! the baseline was committed. A change that finds other pages on purpose writes it anew:
//!
//! `UPDATE_BASELINE=1 cargo test -p gleaner --test program baseline`

use crate::common::gleaner;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

const WEBS: [(&str, &str); 2] = [("campus", "sim:campus?pages=4000"), ("tunnel", "sim:tunnel?pages=3000")];

fn committed(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/program/baseline").join(format!("{name}.json"))
}

fn backtest(web: &str, dir: &Path) -> String {
    let out = dir.join("out");
    let ran = gleaner()
        .args(["backtest", "--web", web, "--strategies", "adaptive,best-first", "--rng", "0..2"])
        .args(["--pages", "1000", "--out"])
        .arg(&out)
        .env("XDG_CACHE_HOME", dir)
        .output()
        .unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    fs::read_to_string(out.join("results.json")).unwrap()
}

fn report(before: &Path, after: &Path) -> Output {
    gleaner().arg("report").args([before, after]).output().unwrap()
}

/// Without the curves, which nobody compares: they are most of the file.
fn without_curves(results: &str) -> serde_json::Value {
    let mut value: serde_json::Value = serde_json::from_str(results).unwrap();
    for run in value["runs"].as_array_mut().unwrap() {
        run["recall"] = serde_json::Value::Array(Vec::new());
    }
    value
}

#[test]
fn no_fewer_pages_are_found_than_by_the_baseline() {
    let mut worse = String::new();
    for (name, web) in WEBS {
        let dir = tempfile::tempdir().unwrap();
        let results = without_curves(&backtest(web, dir.path()));
        let now = dir.path().join("now.json");
        fs::write(&now, format!("{results:#}\n")).unwrap();
        if std::env::var_os("UPDATE_BASELINE").is_some() {
            fs::create_dir_all(committed(name).parent().unwrap()).unwrap();
            fs::copy(&now, committed(name)).unwrap();
        }
        let compared = report(&committed(name), &now);
        if !compared.status.success() {
            worse.push_str(&String::from_utf8_lossy(&compared.stdout));
            worse.push_str(&String::from_utf8_lossy(&compared.stderr));
        }
        // The gate can close: had a tenth more been found before, this would be a fall.
        let mut better = results.clone();
        for run in better["runs"].as_array_mut().unwrap() {
            for (_, n) in run["found"].as_object_mut().unwrap() {
                *n = (n.as_u64().unwrap() * 11 / 10 + 1).into();
            }
        }
        let before = dir.path().join("better.json");
        fs::write(&before, better.to_string()).unwrap();
        let compared = report(&before, &now);
        let table = String::from_utf8_lossy(&compared.stdout);
        assert!(compared.status.code() == Some(1) && table.contains("FEWER"), "{table}");
    }
    assert!(
        worse.is_empty(),
        "{worse}\nIf that is meant: UPDATE_BASELINE=1 cargo test -p gleaner --test program baseline"
    );
}
