//! docs/security.md names the test that witnesses each promise: those tests are there.

use crate::{root, rust_files};
use std::collections::BTreeSet;
use std::fs;

/// Names of all functions that are tests.
fn tests() -> BTreeSet<String> {
    let mut out = BTreeSet::new();
    for file in rust_files() {
        let text = fs::read_to_string(file).unwrap();
        let mut marked = false;
        for line in text.lines().map(str::trim) {
            if let Some((_, rest)) = line.split_once("fn ").filter(|_| marked) {
                out.extend(rest.split(['(', '<']).next().map(String::from));
                marked = false;
            }
            marked |= line.starts_with("#[test]");
        }
    }
    out
}

#[test]
fn every_witness_of_a_promise_is_a_test() {
    let there = tests();
    let page = fs::read_to_string(root().join("docs/security.md")).unwrap();
    // The last cell of the rows of the tables with witnesses.
    let mut named = 0;
    let mut witnesses = false;
    for line in page.lines() {
        if line.ends_with("| witness |") {
            witnesses = true;
        } else if !line.starts_with('|') {
            witnesses = false;
        } else if witnesses && !line.starts_with("|---") {
            let cell = line.trim_end_matches('|').rsplit('|').next().unwrap_or("");
            let names: Vec<&str> = cell.split('`').skip(1).step_by(2).collect();
            assert!(!names.is_empty(), "no witness: {line}");
            for name in names {
                assert!(there.contains(name), "docs/security.md names a test that is not there: {name}");
                named += 1;
            }
        }
    }
    assert!(named > 30, "{named}");
}
