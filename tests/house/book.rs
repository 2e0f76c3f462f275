//! The book: every page is in its table of contents, and every link leads somewhere.

use super::{markdown_files, root};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Targets of Markdown links and images outside code, with the line they stand on.
fn links(text: &str) -> Vec<(usize, String)> {
    let mut out = Vec::new();
    for (n, line) in outside_code(text) {
        let mut rest = line.as_str();
        while let Some((_, after)) = rest.split_once("](") {
            let Some((target, more)) = after.split_once(')') else { break };
            out.push((n, target.to_string()));
            rest = more;
        }
    }
    out
}

/// Lines that are not in a fenced block, without what stands in backticks.
fn outside_code(text: &str) -> Vec<(usize, String)> {
    let mut fenced = false;
    let mut out = Vec::new();
    for (i, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if !fenced {
            // A link's text may be code; only what is between backticks goes.
            out.push((i + 1, line.split('`').step_by(2).collect::<Vec<_>>().join("`")));
        }
    }
    out
}

/// The anchors mdBook and GitHub make of headings.
fn anchors(text: &str) -> BTreeSet<String> {
    let headings = text.lines().filter(|l| l.starts_with('#'));
    let slug = |heading: &str| {
        let lower = heading.trim_start_matches('#').trim().to_lowercase();
        let kept = lower.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect()
    };
    headings.map(slug).collect()
}

#[test]
fn every_page_is_in_the_table_of_contents() {
    let docs = root().join("docs");
    let summary = fs::read_to_string(docs.join("SUMMARY.md")).unwrap();
    let named: BTreeSet<PathBuf> = links(&summary).into_iter().map(|(_, t)| docs.join(t)).collect();
    let pages: BTreeSet<PathBuf> =
        markdown_files().into_iter().filter(|p| p.starts_with(&docs) && !p.ends_with("SUMMARY.md")).collect();
    let forgotten: Vec<_> = pages.difference(&named).collect();
    assert!(forgotten.is_empty(), "docs/SUMMARY.md does not name {forgotten:?}");
    assert_eq!(links(&summary).len(), named.len(), "docs/SUMMARY.md names a page twice");
    // The list of decisions has the same ones.
    let list = fs::read_to_string(docs.join("adr/README.md")).unwrap();
    let listed: BTreeSet<PathBuf> = links(&list).into_iter().map(|(_, t)| docs.join("adr").join(t)).collect();
    let decisions: BTreeSet<PathBuf> = pages
        .into_iter()
        .filter(|p| p.parent().is_some_and(|d| d.ends_with("adr")) && !p.ends_with("README.md"))
        .collect();
    assert_eq!(listed, decisions, "docs/adr/README.md");
}

#[test]
fn every_link_leads_somewhere() {
    let mut wrong = Vec::new();
    for file in markdown_files() {
        let text = fs::read_to_string(&file).unwrap();
        let folder = file.parent().unwrap_or(Path::new("."));
        for (line, target) in links(&text) {
            if target.starts_with("http://") || target.starts_with("https://") {
                continue;
            }
            let (path, anchor) = target.split_once('#').unwrap_or((&target, ""));
            let to = if path.is_empty() { file.clone() } else { folder.join(path) };
            let there = match fs::read_to_string(&to) {
                Ok(other) => anchor.is_empty() || anchors(&other).contains(anchor),
                Err(_) => to.exists() && anchor.is_empty(),
            };
            if !there {
                wrong.push(format!("{}:{line}: {target}", file.strip_prefix(root()).unwrap().display()));
            }
        }
    }
    assert!(wrong.is_empty(), "links that lead nowhere:\n{}", wrong.join("\n"));
}

#[test]
fn links_and_anchors_are_found() {
    let text =
        "a [b](c.md#d) `[not](this)`\n```\n[nor](that)\n```\n![e](f.png) [`g`](h.md)\n# On paper: `x` a_b\n";
    let found: Vec<String> = links(text).into_iter().map(|(_, t)| t).collect();
    assert_eq!(found, ["c.md#d", "f.png", "h.md"]);
    assert!(anchors(text).contains("on-paper-x-a_b"));
}
