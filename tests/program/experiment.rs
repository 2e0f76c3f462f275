//! `gleaner experiment` through the real program.

use crate::common::{Ran, file, folder, run};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

#[test]
fn they_are_listed() {
    let list = run(["experiment"]);
    list.ok().shows(&["policies", "Assis 2008, Fig. 4.3", "recall-mode", "gleaner experiment NAME"]);
    for e in eval::experiments::ALL {
        assert!(list.out.contains(e.name), "{}", e.name);
    }
    run(["experiment", "polices"]).fails(2, &["did you mean `policies`"]);
}

/// Two small generated webs.
const SUITE: &str = "[[site]]\nname = 'campus'\nweb = 'sim:campus?pages=150&hosts=4'\n[[site]]\n\
                     name = 'hubs'\nweb = 'sim:hubs?pages=150&hosts=4'\n";

fn experiment(name: &str, suite: &Path, out: &Path, rng: &str) -> Ran {
    let args = ["experiment", name, "--rng", rng, "--suite"].map(OsStr::new);
    run(args.into_iter().chain([suite.as_os_str(), OsStr::new("--out"), out.as_os_str()]))
}

fn json(path: &Path) -> serde_json::Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// Every one of them runs to its end on small generated webs; every claim has a verdict, and one that is not
/// tested says why.
#[test]
fn all_of_them_run() {
    let dir = folder();
    let suite = file(dir.path(), "suite.toml", SUITE);
    let out = dir.path().join("out");
    experiment("all", &suite, &out, "0").ok().shows(&["campus", "hubs", "mean"]);
    let all = json(&out.join("experiments.json"));
    let list = all["experiments"].as_array().unwrap();
    assert_eq!(list.len(), eval::experiments::ALL.len());
    let table = fs::read_to_string(out.join("claims.md")).unwrap();
    let (mut tested, mut claims) = (0, 0);
    for e in list {
        // Only the database of words may be missing.
        if e["name"] == "wordnet" && e["problem"].as_str().is_some_and(|p| p.contains("wordnet")) {
            continue;
        }
        assert!(e["finding"]["how"].as_str().is_some_and(|w| w.len() > 20), "{e}");
        for c in e["finding"]["claims"].as_array().unwrap_or_else(|| panic!("{e}")) {
            claims += 1;
            match c["verdict"].as_str().unwrap() {
                "not-tested" => assert!(c["why"].as_str().unwrap().len() > 20, "{c}"),
                _ => {
                    tested += 1;
                    assert!(c["ours"].as_str().unwrap().contains(|x: char| x.is_ascii_digit()), "{c}");
                }
            }
            let what = c["what"].as_str().unwrap();
            assert!(table.contains(&format!("| {what} (`{}`) |", e["name"].as_str().unwrap())), "{what}");
        }
    }
    assert!(tested > 40, "{tested} of {claims}");
    // Head and line of both tables, an empty line between them.
    assert_eq!(
        table.lines().count(),
        claims + 2 + 1 + 2 + list.iter().filter(|e| e["finding"].is_object()).count()
    );
    let markdown = fs::read_to_string(out.join("experiments.md")).unwrap();
    assert!(markdown.contains("| FS-2 |") && markdown.contains("| mean | from | to |"), "{markdown}");
}

/// Some links of these webs redirect. Kept to the pages of the baseline, the apprentice fetches all of them.
/// The webs are large enough that some hosts can be left to train the critic on.
#[test]
fn recall_mode_loses_nothing() {
    let dir = folder();
    let webs = SUITE.replace("pages=150&hosts=4", "pages=900&hosts=24");
    let (suite, out) = (file(dir.path(), "suite.toml", &webs), dir.path().join("out"));
    experiment("recall-mode", &suite, &out, "0").ok();
    let finding = json(&out.join("recall-mode.json"));
    let tables = finding["finding"]["tables"].as_array().unwrap();
    let same =
        tables.iter().find(|t| t["title"].as_str().unwrap().contains("that recall mode fetched")).unwrap();
    let shares: Vec<f64> = same["rows"][0][1].as_array().unwrap().iter().filter_map(|v| v.as_f64()).collect();
    assert!(!shares.is_empty() && shares.iter().all(|s| *s == 1.0), "{same}");
}

/// What is there, of the same settings, is not run again; with others it is.
#[test]
fn a_run_goes_on_where_it_was_stopped() {
    let dir = folder();
    let suite = file(dir.path(), "suite.toml", SUITE);
    let out = dir.path().join("out");
    experiment("link-context", &suite, &out, "0").ok();
    let kept = out.join("link-context.json");
    let first = fs::read_to_string(&kept).unwrap();
    // A number that no run gives shows whether the file was used.
    let marked = first.replacen("\"mean\"", "\"mean of before\"", 1);
    assert_ne!(first, marked);
    fs::write(&kept, &marked).unwrap();
    experiment("link-context", &suite, &out, "0").ok().shows(&["mean of before"]);
    assert_eq!(fs::read_to_string(&kept).unwrap(), marked);
    // Its result is gone, its crawls are there: it is the same result, and nothing is crawled.
    let crawls = files(&out.join("crawls"));
    assert!(!crawls.is_empty());
    fs::remove_file(&kept).unwrap();
    for file in &crawls {
        fs::set_permissions(file, fs::Permissions::from_mode(0o444)).unwrap();
    }
    experiment("link-context", &suite, &out, "0").ok();
    assert_eq!(json(&kept)["finding"], serde_json::from_str::<serde_json::Value>(&first).unwrap()["finding"]);
    assert_eq!(files(&out.join("crawls")), crawls);
    let untouched = |file: &PathBuf| fs::metadata(file).unwrap().permissions().readonly();
    assert!(crawls.iter().all(untouched), "a crawl was run again");
    // Another one beside it: the table has both.
    experiment("idf", &suite, &out, "0").ok();
    let table = fs::read_to_string(out.join("claims.md")).unwrap();
    assert!(table.contains("(`idf`)") && table.contains("(`link-context`)"), "{table}");
    // Other draws: what was kept does not count.
    let other = experiment("link-context", &suite, &out, "1");
    other.ok();
    assert!(!other.out.contains("mean of before"), "{}", other.out);
    // A file where the folder should be.
    let blocked = file(dir.path(), "blocked", "");
    experiment("idf", &suite, &blocked, "0").fails(1, &["blocked"]);
}

fn files(dir: &Path) -> Vec<PathBuf> {
    let below = |p: PathBuf| if p.is_dir() { files(&p) } else { vec![p] };
    let mut all: Vec<PathBuf> = fs::read_dir(dir).unwrap().flat_map(|e| below(e.unwrap().path())).collect();
    all.sort();
    all
}

#[test]
fn bad_suites_are_explained() {
    let dir = folder();
    let try_with = |text: &str| {
        let suite = file(dir.path(), "suite.toml", text);
        run(["experiment".as_ref(), "idf".as_ref(), "--suite".as_ref(), suite.as_os_str()])
    };
    try_with("site = 3").fails(2, &["suite.toml", "hint"]);
    try_with("[[site]]\nwebs = 'x'").fails(2, &["webs"]);
    try_with("[[site]]\nweb = 'nowhere'\ntopic = 'x.toml'").fails(2, &["nowhere"]);
    try_with("site = []").fails(2, &["names no site"]);
    run(["experiment", "idf", "--suite", "/no/such/file"]).fails(1, &["/no/such/file"]);
}
