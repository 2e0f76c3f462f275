//! The reference says what the program says: commands and API are written by it, keys of topic files are
//! compared with it. `UPDATE_DOCS=1 cargo test --test program reference` writes `docs/cli.md` and
//! `docs/api.md` anew.

use crate::common::dashboard::Dashboard;
use crate::common::{file, finish, folder, gleaner, run};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

const MADE: &str =
    "<!-- Made by `UPDATE_DOCS=1 cargo test --test program reference`; edit the source. -->\n\n";

fn docs(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("docs").join(name)
}

fn check(name: &str, text: &str) {
    if std::env::var_os("UPDATE_DOCS").is_some() {
        return fs::write(docs(name), text).unwrap();
    }
    let there = fs::read_to_string(docs(name)).unwrap_or_default();
    let hint = "run `UPDATE_DOCS=1 cargo test --test program reference` and commit the change";
    assert!(there == text, "docs/{name} is out of date: {hint}");
}

fn help(command: &[&str]) -> String {
    // The width that clap takes when there is no terminal.
    let ran = finish(gleaner().args(command).arg("--help").env("COLUMNS", "110"));
    ran.ok().out.lines().map(str::trim_end).collect::<Vec<_>>().join("\n").trim_end().to_string()
}

#[test]
fn commands() {
    let all = help(&[]);
    let list = all.split("Commands:\n").nth(1).and_then(|l| l.split("\n\n").next()).unwrap();
    let names: Vec<&str> = list
        .lines()
        .filter(|l| l.starts_with("  ") && !l.starts_with("   "))
        .filter_map(|l| l.split_whitespace().next())
        .filter(|n| *n != "help")
        .collect();
    assert!(names.len() > 20, "{names:?}");
    let mut text = format!("{MADE}# Commands\n\n```text\n{all}\n```\n");
    for name in names {
        let _ = write!(text, "\n## `gleaner {name}`\n\n```text\n{}\n```\n", help(&[name]));
    }
    check("cli.md", &text);
}

fn parameter(p: &Value) -> String {
    let text = |key: &str| p[key].as_str().unwrap_or_default().to_string();
    let need = if p["required"] == true && p["in"] != "path" { ", required" } else { "" };
    format!("`{}` ({}{need}): {}", text("name"), text("in"), text("description"))
}

#[test]
fn api() {
    let dir = folder();
    let dashboard = Dashboard::start(dir.path(), &[]);
    let api = dashboard.get("/api/v1/openapi.json").json();
    let mut text = format!(
        "{MADE}# REST API\n\nServed by `gleaner serve` and `gleaner crawl --serve` \
         ([dashboard](dashboard.md)). Every request needs the token, \
         as `Authorization: Bearer TOKEN`.\nThe schemas of bodies and answers are in \
         `/api/v1/openapi.json`.\n\n| request | what |\n|---|---|\n"
    );
    let mut more = String::new();
    for (path, methods) in api["paths"].as_object().unwrap() {
        for (method, route) in methods.as_object().unwrap() {
            let name = format!("{} {path}", method.to_uppercase());
            let summary = route["summary"].as_str().unwrap_or_default();
            let _ = writeln!(text, "| `{name}` | {} |", summary.replace('|', "\\|"));
            let parameters: Vec<String> =
                route["parameters"].as_array().into_iter().flatten().map(parameter).collect();
            let body = &route["requestBody"]["content"]["application/json"]["schema"]["$ref"];
            let answer = &route["responses"]["200"]["content"]["application/json"]["schema"]["$ref"];
            let _ = write!(more, "\n## `{name}`\n\n{summary}.\n\n");
            for p in parameters {
                let _ = writeln!(more, "* {p}");
            }
            for (what, schema) in [("body", body), ("answer", answer)] {
                if let Some(name) = schema.as_str().and_then(|s| s.rsplit('/').next()) {
                    let _ = writeln!(more, "* {what}: `{name}`");
                }
            }
        }
    }
    check("api.md", &(text + &more));
}

/// The keys a section of a topic file may have, as the message about a wrong one names them.
fn known_keys(section: &str) -> Option<Vec<String>> {
    let dir = folder();
    let header = if section.is_empty() { String::new() } else { format!("[{section}]\n") };
    let topic = file(dir.path(), "t.toml", &format!("{header}qqqqqqqqqqqq = 1\n"));
    let ran = run(["config".as_ref(), topic.as_os_str()]);
    let list = ran.err.split("known keys here: ").nth(1)?.lines().next()?.to_string();
    Some(list.split(", ").map(str::to_string).collect())
}

/// `section.key` of every row of the tables.
fn documented(text: &str) -> BTreeSet<String> {
    let mut out = BTreeSet::new();
    let mut section = String::new();
    for line in text.lines() {
        if let Some(heading) = line.strip_prefix("## ") {
            let named = heading.split("`[").nth(1).and_then(|s| s.split(']').next());
            section = named.unwrap_or_default().to_string();
        }
        let Some(cell) = line.strip_prefix("| `").map(|l| l.split(" | ").next().unwrap_or(l)) else {
            continue;
        };
        let mut of = section.clone();
        for word in format!("`{cell}").split('`').skip(1).step_by(2) {
            let key = match word.strip_prefix('[').and_then(|w| w.split_once("] ")) {
                Some((own, key)) => {
                    of = own.to_string();
                    key
                }
                None => word,
            };
            if key.chars().all(|c| c.is_ascii_lowercase() || c == '_') {
                out.insert(if of.is_empty() { key.to_string() } else { format!("{of}.{key}") });
            }
        }
    }
    out
}

#[test]
fn every_key_of_a_topic_file_is_documented() {
    let top = known_keys("").unwrap();
    let mut known = BTreeSet::new();
    // Judges and strategies check their own options.
    let open = ["judge", "strategy"];
    for name in top {
        match known_keys(&name).filter(|_| !open.contains(&name.as_str())) {
            Some(keys) => known.extend(keys.iter().map(|k| format!("{name}.{k}"))),
            None => _ = known.insert(name),
        }
    }
    assert!(known.len() > 60, "{known:?}");
    let documented = documented(&fs::read_to_string(docs("topic.md")).unwrap());
    let is_open =
        |key: &&String| open.iter().any(|o| key.as_str() == *o || key.starts_with(&format!("{o}.")));
    let forgotten: Vec<_> = known.difference(&documented).filter(|k| !is_open(k)).collect();
    let gone: Vec<_> = documented.difference(&known).filter(|k| !is_open(k)).collect();
    assert!(forgotten.is_empty() && gone.is_empty(), "docs/topic.md lacks {forgotten:?} and names {gone:?}");
}
