//! Tools of other people that tests need.

use std::io::Write;

/// Says that a test does not run because a tool is missing. Under `./test`, which installs them all, that is
/// a failure: a check that never runs would look like one that passes.
#[track_caller]
pub fn missing(what: &str) {
    assert!(std::env::var_os("GLEANER_TOOLS").is_none_or(|v| v != "required"), "missing: {what}");
    // Not `eprintln!`, which the test harness swallows when a test passes.
    let _ = writeln!(std::io::stderr(), "SKIPPED: {what}");
}
