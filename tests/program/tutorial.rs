//! The README and the tutorial work: every `sh` block of a page is run, one after the other, as a reader
//! would.

use crate::common::{finish, folder, python};
use crate::support::tools;
use std::path::Path;
use std::process::Command;

fn read(page: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(page)).unwrap()
}

/// Runs the blocks of a page. Each page has a loopback address of its own, so that its fixed ports are free.
fn follow(page: &str, address: &str) {
    if Command::new("curl").arg("--version").output().is_err() {
        return tools::missing("curl");
    }
    let text = read(page).replace("127.0.0.1", address);
    let mut script =
        String::from("set -euo pipefail\ntrap 'kill $(jobs -p) 2>/dev/null || true; wait' EXIT\n");
    let mut inside = false;
    for line in text.lines() {
        match line {
            "```sh" => inside = true,
            "```" => inside = false,
            // Of a fresh clone: whoever runs this has the program.
            _ if inside && (line.starts_with("cargo ") || line.starts_with("./test")) => {}
            _ if inside => script += &format!("{line}\n"),
            _ => {}
        }
    }
    assert!(script.matches("gleaner ").count() > 5, "{page} has too few commands:\n{script}");
    let dir = folder();
    let bin = Path::new(env!("CARGO_BIN_EXE_gleaner")).parent().unwrap();
    let mut path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    // Recipes in Python find the packages of other people there.
    if let Some(bin) = std::env::var_os("GLEANER_PY").as_ref().and_then(|py| Path::new(py).parent()) {
        path = format!("{}:{path}", bin.display());
    }
    // `timeout` ends what the script left in the background, too.
    let mut bash = Command::new("timeout");
    bash.args(["140", "bash", "-c"]).arg(&script).current_dir(dir.path()).env("PATH", path);
    bash.env("XDG_CACHE_HOME", dir.path().join("cache"));
    bash.env("GLEANER_PYTHON", Path::new(env!("CARGO_MANIFEST_DIR")).join("python/src"));
    finish(&mut bash).ok();
}

#[test]
fn the_librarian() {
    follow("docs/tutorial/librarian.md", "127.85.1.1");
}

#[test]
fn the_researcher() {
    follow("docs/tutorial/researcher.md", "127.85.1.2");
}

#[test]
fn the_analyst() {
    follow("docs/tutorial/analyst.md", "127.85.1.3");
}

#[test]
fn the_first_hour_of_the_readme() {
    follow("README.md", "127.85.1.4");
}

#[test]
fn the_recipes_for_other_tools() {
    if python("the packages that docs/integrate.md reads our files with").is_some() {
        follow("docs/integrate.md", "127.85.1.5");
    }
}

/// Two screens: how to get it first, the first hour in order, pictures that are there.
#[test]
fn the_readme_is_short_and_complete() {
    let text = read("README.md");
    assert!(text.lines().count() <= 100, "{} lines", text.lines().count());
    let mut from = text.find("cargo install").expect("how to install it comes first");
    for step in ["demo", "new", "crawl", "label", "search", "export", "crawl"] {
        let command = format!("\ngleaner {step}");
        from += 1 + text[from..].find(&command).unwrap_or_else(|| panic!("no {command} after {from}"));
    }
    let pictures: Vec<&str> =
        text.split("](docs/pictures/").skip(1).filter_map(|rest| rest.split(')').next()).collect();
    assert_eq!(pictures.len(), 3, "{pictures:?}");
    for name in pictures {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/pictures").join(name);
        assert!(path.is_file(), "{} is not there", path.display());
    }
}
