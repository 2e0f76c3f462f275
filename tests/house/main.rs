//! Does what is written about the code match the code? Needs no network and does not run the program.

mod architecture;
mod book;
mod docs;
mod names;
mod promises;
mod width;

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Every file below a folder.
fn walk(dir: &Path, out: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> = fs::read_dir(dir).unwrap().flatten().map(|e| e.path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            walk(&path, out);
        } else {
            out.push(path);
        }
    }
}

fn with_extension(folders: &[&str], extension: &str) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for folder in folders {
        walk(&root().join(folder), &mut all);
    }
    all.retain(|p| p.extension().is_some_and(|e| e == extension));
    all
}

/// Every page that people read.
fn markdown_files() -> Vec<PathBuf> {
    let mut files = with_extension(&["docs", "lab", "benches"], "md");
    for name in ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"] {
        files.push(root().join(name));
    }
    files
}

fn rust_files() -> Vec<PathBuf> {
    with_extension(&["crates", "src", "tests", "lab", "fuzz", "benches", "examples"], "rs")
}
