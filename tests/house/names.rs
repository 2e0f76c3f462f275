//! Code that the docs name exists: files, Rust paths, functions and types, environment variables, options of
//! the program.

use super::{markdown_files, root, rust_files};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// What stands in backticks outside fenced blocks, with its line.
fn code_words(text: &str) -> Vec<(usize, String)> {
    let mut fenced = false;
    let mut out = Vec::new();
    for (i, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if !fenced {
            out.extend(line.split('`').skip(1).step_by(2).map(|w| (i + 1, w.to_string())));
        }
    }
    out
}

/// Folders of the repository: a word that begins with one and a slash is a path.
const FOLDERS: [&str; 10] =
    ["crates/", "src/", "tests/", "docs/", "lab/", "fuzz/", "benches/", "examples/", "target/", ".github/"];

fn is_plain(word: &str, more: &[char]) -> bool {
    !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || more.contains(&c))
}

/// Dated notes and decisions tell of code as it was on their day.
fn is_dated(file: &Path) -> bool {
    file.starts_with(root().join("lab/notes"))
        || file.starts_with(root().join("docs/adr"))
        || file.ends_with("CHANGELOG.md")
}

#[test]
fn files_exist() {
    let mut wrong = Vec::new();
    for file in markdown_files().into_iter().filter(|f| !is_dated(f)) {
        for (line, word) in code_words(&fs::read_to_string(&file).unwrap()) {
            // The first word of a command is a file, too: `lab/golden OLD NEW`.
            let path = word.split([' ', ':']).next().unwrap_or("").trim_end_matches(',');
            let is_path = FOLDERS.iter().any(|f| path.starts_with(f)) && !path.starts_with("target/");
            if is_path
                && !path.contains(['<', '*', '…', '{'])
                && !path.contains("NNNN")
                && !root().join(path).exists()
            {
                wrong.push(format!("{}:{line}: `{word}`", file.strip_prefix(root()).unwrap().display()));
            }
        }
    }
    assert!(wrong.is_empty(), "files that do not exist:\n{}", wrong.join("\n"));
}

#[test]
fn rust_names_exist() {
    let mut known = BTreeSet::new();
    for file in rust_files() {
        let text = fs::read_to_string(&file).unwrap();
        let word = |c: char| !(c.is_ascii_alphanumeric() || c == '_');
        known.extend(text.split(word).map(str::to_string));
        known.extend(file.file_stem().map(|s| s.to_string_lossy().into_owned()));
    }
    for e in fs::read_dir(root().join("crates")).unwrap().flatten() {
        known.insert(e.file_name().to_string_lossy().into_owned());
    }
    let mut wrong = Vec::new();
    for file in markdown_files().into_iter().filter(|f| !is_dated(f)) {
        for (line, word) in code_words(&fs::read_to_string(&file).unwrap()) {
            let name = word.trim_end_matches("()").trim_end_matches('!');
            let is_rust = name.contains("::") && is_plain(name, &[':'])
                || name.starts_with("GLEANER_") && is_plain(name, &[])
                || word.ends_with("()") && is_plain(name, &['.']);
            let missing = name.split([':', '.']).find(|part| !part.is_empty() && !known.contains(*part));
            if let (true, Some(part)) = (is_rust, missing) {
                wrong.push(format!(
                    "{}:{line}: `{word}` ({part})",
                    file.strip_prefix(root()).unwrap().display()
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "names that are not in the code:\n{}", wrong.join("\n"));
}

/// No test, lab command or default may name a folder of somebody's machine, nor the recorded webs beside the
/// repository.
#[test]
fn no_machine_is_named() {
    let mut files = rust_files();
    for folder in ["lab", "benches", "tests/py"] {
        let mut all = Vec::new();
        super::walk(&root().join(folder), &mut all);
        files.extend(all.into_iter().filter(|f| f.extension().is_none_or(|e| e == "py" || e == "toml")));
    }
    let named = [["/wo", "rk/"].concat(), ["../sha", "red"].concat(), ["/ho", "me/"].concat()];
    let mut wrong = Vec::new();
    for file in files {
        let text = fs::read_to_string(&file).unwrap_or_default();
        for (n, line) in
            text.lines().enumerate().filter(|(_, l)| named.iter().any(|w| l.contains(w.as_str())))
        {
            wrong.push(format!("{}:{}: {line}", file.display(), n + 1));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
