//! `gleaner experiment` through the real program.

use crate::common::{file, folder, run};
use std::fs;

#[test]
fn they_are_listed() {
    let list = run(["experiment"]);
    list.ok().shows(&["policies", "Assis 2008, Fig. 4.3", "recall-mode", "gleaner experiment NAME"]);
    for e in eval::experiments::ALL {
        assert!(list.out.contains(e.name), "{}", e.name);
    }
    run(["experiment", "polices"]).fails(2, &["did you mean `policies`"]);
}

/// Every one of them runs to its end on small generated webs and says one of the four things.
#[test]
fn all_of_them_run() {
    let dir = folder();
    let suite = file(
        dir.path(),
        "suite.toml",
        "[[site]]\nname = 'campus'\nweb = 'sim:campus?pages=150&hosts=4'\n[[site]]\nname = 'hubs'\nweb = 'sim:hubs?pages=150&hosts=4'\n",
    );
    let out = dir.path().join("out");
    let ran = run([
        "experiment".as_ref(),
        "all".as_ref(),
        "--suite".as_ref(),
        suite.as_os_str(),
        "--out".as_ref(),
        out.as_os_str(),
    ]);
    ran.ok().shows(&["campus", "hubs", "mean"]);
    let text = fs::read_to_string(out.join("experiments.json")).unwrap();
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    let list = json["experiments"].as_array().unwrap();
    assert_eq!(list.len(), eval::experiments::ALL.len());
    for e in list {
        // Only the database of words may be missing.
        if e["name"] == "wordnet" && e["problem"].as_str().is_some_and(|p| p.contains("wordnet")) {
            continue;
        }
        let outcome = e["finding"]["outcome"].as_str().unwrap_or_else(|| panic!("{e}"));
        let testable = outcome != "not-testable";
        assert_eq!(e["finding"]["claims"].as_array().is_some_and(|c| !c.is_empty()), testable, "{e}");
        assert!(e["finding"]["why"].as_str().is_some_and(|w| w.len() > 20), "{e}");
    }
    let markdown = fs::read_to_string(out.join("experiments.md")).unwrap();
    assert!(markdown.contains("| FS-2 |"), "{markdown}");
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
