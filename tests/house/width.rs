//! Lines have at most 110 columns. What is longer than that today may only get less.

use super::{root, rust_files};
use std::fs;
use std::path::Path;

const WIDTH: usize = 110;
/// Comments outside tables and drawings: files that several people worked on when the others were wrapped.
const LONG_COMMENTS: usize = 100;
/// All lines: mostly one string each (data of tests, SQL, texts that are shown as they stand).
const LONG_LINES: usize = 750;

/// Lines that are too long: comments of prose, and all.
fn long(text: &str) -> (usize, usize) {
    let (mut comments, mut all, mut fenced) = (0, 0, false);
    for line in text.lines() {
        let comment =
            line.trim_start().strip_prefix("//").map(|c| c.trim_start_matches(['/', '!']).trim_start());
        fenced = comment.is_some_and(|c| if c.starts_with("```") { !fenced } else { fenced });
        if line.chars().count() > WIDTH {
            all += 1;
            comments += usize::from(comment.is_some_and(|c| !fenced && !c.starts_with('|')));
        }
    }
    (comments, all)
}

#[test]
fn lines_are_not_too_long() {
    let mut files = Vec::new();
    for file in rust_files() {
        let found = long(&fs::read_to_string(&file).unwrap());
        files.push((found, file.strip_prefix(root()).map(Path::to_path_buf).unwrap()));
    }
    files.sort();
    let worst: Vec<_> = files.iter().rev().take(10).collect();
    let sum = |of: fn(&(usize, usize)) -> usize| files.iter().map(|(n, _)| of(n)).sum::<usize>();
    let (comments, all) = (sum(|n| n.0), sum(|n| n.1));
    assert!(comments <= LONG_COMMENTS, "{comments} comments are longer than {WIDTH}: {worst:?}");
    assert!(all <= LONG_LINES, "{all} lines are longer than {WIDTH}: {worst:?}");
}

#[test]
fn tables_and_drawings_may_be_wide() {
    let wide = "x".repeat(WIDTH);
    assert_eq!(long(&format!("/// {wide}\nlet a = \"{wide}\";\n//! | {wide} |\n")), (1, 3));
    assert_eq!(long(&format!("//! ```text\n//! {wide}\n//! ```\n    // {wide}\nok\n")), (1, 2));
}
