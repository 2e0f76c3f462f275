//! The tutorial works: every `sh` block of a journey is run, one after the other, as a reader would.

use crate::common::{finish, folder};
use crate::support::tools;
use std::path::Path;
use std::process::Command;

/// Runs the blocks of a page. Each page has a loopback address of its own, so that its fixed ports are free.
fn follow(page: &str, address: &str) {
    if Command::new("curl").arg("--version").output().is_err() {
        return tools::missing("curl");
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/tutorial").join(page);
    let text = std::fs::read_to_string(path).unwrap().replace("127.0.0.1", address);
    let mut script = String::from("set -euo pipefail\ntrap 'kill $(jobs -p) 2>/dev/null; wait' EXIT\n");
    let mut inside = false;
    for line in text.lines() {
        match line {
            "```sh" => inside = true,
            "```" => inside = false,
            _ if inside => script += &format!("{line}\n"),
            _ => {}
        }
    }
    assert!(script.matches("gleaner ").count() > 5, "{page} has too few commands:\n{script}");
    let dir = folder();
    let bin = Path::new(env!("CARGO_BIN_EXE_gleaner")).parent().unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    // `timeout` ends what the script left in the background, too.
    let mut bash = Command::new("timeout");
    bash.args(["140", "bash", "-c"]).arg(&script).current_dir(dir.path()).env("PATH", path);
    bash.env("XDG_CACHE_HOME", dir.path().join("cache"));
    finish(&mut bash).ok();
}

#[test]
fn the_librarian() {
    follow("librarian.md", "127.85.1.1");
}

#[test]
fn the_researcher() {
    follow("researcher.md", "127.85.1.2");
}

#[test]
fn the_analyst() {
    follow("analyst.md", "127.85.1.3");
}
