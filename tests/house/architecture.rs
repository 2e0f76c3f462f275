//! The map matches the country: `ARCHITECTURE.md` names every crate and folder that exists and no other, and
//! every crate depends only on what the map allows.

use super::root;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

fn map() -> String {
    fs::read_to_string(root().join("ARCHITECTURE.md")).expect("ARCHITECTURE.md exists")
}

/// Rows of the table of crates: name → crates it must not depend on.
fn table() -> BTreeMap<String, BTreeSet<String>> {
    let mut rows = BTreeMap::new();
    for line in map().lines() {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        if cells.len() >= 4
            && let Some(name) = cells[1].strip_prefix("[`").and_then(|s| s.split("`]").next())
        {
            let not: BTreeSet<String> = cells[3].split('`').skip(1).step_by(2).map(str::to_string).collect();
            rows.insert(name.to_string(), not);
        }
    }
    rows
}

fn crates() -> BTreeSet<String> {
    fs::read_dir(root().join("crates"))
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect()
}

/// Our own crates among the dependencies (not the dev-dependencies) of a manifest.
fn our_dependencies(manifest: &Path) -> BTreeSet<String> {
    let text = fs::read_to_string(manifest).unwrap();
    let parsed: toml::Table = toml::from_str(&text).unwrap();
    let crates = crates();
    let names =
        parsed.get("dependencies").and_then(|d| d.as_table()).into_iter().flat_map(|d| d.keys().cloned());
    names.filter(|n| crates.contains(n)).collect()
}

#[test]
fn every_crate_is_on_the_map_and_nothing_else() {
    let named: BTreeSet<String> = table().into_keys().collect();
    assert_eq!(named, crates());
}

#[test]
fn every_folder_named_exists() {
    for word in map().split('`').skip(1).step_by(2) {
        let is_path = word.contains('/') && !word.contains([' ', '<', '*', '…', ':']);
        if is_path {
            assert!(root().join(word).exists(), "ARCHITECTURE.md names `{word}`, which does not exist");
        }
    }
}

#[test]
fn dependencies_go_one_way() {
    for (name, forbidden) in table() {
        let deps = our_dependencies(&root().join("crates").join(&name).join("Cargo.toml"));
        let wrong: Vec<_> = deps.intersection(&forbidden).collect();
        assert!(wrong.is_empty(), "`{name}` must not depend on {wrong:?} (ARCHITECTURE.md)");
    }
}

#[test]
fn crates_can_be_published() {
    for name in crates() {
        let text = fs::read_to_string(root().join("crates").join(&name).join("Cargo.toml")).unwrap();
        let parsed: toml::Table = toml::from_str(&text).unwrap();
        let package = parsed["package"].as_table().unwrap();
        assert_eq!(package["name"].as_str(), Some(format!("gleaner-{name}").as_str()));
        assert!(!package.contains_key("publish"), "`{name}` is a library like the others");
        for key in
            ["description", "license", "repository", "rust-version", "readme", "keywords", "categories"]
        {
            assert!(package.contains_key(key), "crates/{name}/Cargo.toml has no `{key}`");
        }
        let lib = fs::read_to_string(root().join("crates").join(&name).join("src/lib.rs")).unwrap();
        assert!(lib.contains("#![warn(missing_docs)]"), "crates/{name} has public items that say nothing");
    }
}

#[test]
fn pure_crates_have_no_io_libraries() {
    let banned =
        ["tokio", "reqwest", "hyper", "tokio-postgres", "sqlx", "rand", "getrandom", "chrono", "time"];
    for name in ["types", "learn", "extract", "focus", "frontier"] {
        let text = fs::read_to_string(root().join("crates").join(name).join("Cargo.toml")).unwrap();
        let parsed: toml::Table = toml::from_str(&text).unwrap();
        let deps = parsed.get("dependencies").and_then(|d| d.as_table()).cloned().unwrap_or_default();
        for b in banned {
            assert!(!deps.contains_key(b), "`{name}` is pure and must not depend on `{b}`");
        }
    }
}

#[test]
fn only_the_app_prints() {
    let mut files = Vec::new();
    for name in crates() {
        super::walk(&root().join("crates").join(name).join("src"), &mut files);
    }
    for file in files.into_iter().filter(|f| f.extension().is_some_and(|e| e == "rs")) {
        let text = fs::read_to_string(&file).unwrap();
        let code = text.split("#[cfg(test)]").next().unwrap_or("");
        for (n, line) in code.lines().enumerate() {
            let code = line.split("//").next().unwrap_or("");
            assert!(
                !code.contains("println!(") && !code.contains("print!("),
                "{}:{}: only the app prints",
                file.display(),
                n + 1
            );
        }
    }
}

/// `unsafe` is denied in every crate of ours, and nobody takes it back.
#[test]
fn our_own_code_has_no_unsafe() {
    let read = |path: &Path| fs::read_to_string(path).unwrap();
    let all: toml::Table = toml::from_str(&read(&root().join("Cargo.toml"))).unwrap();
    assert_eq!(all["workspace"]["lints"]["rust"]["unsafe_code"].as_str(), Some("deny"));
    let mut manifests: Vec<_> = crates().iter().map(|n| root().join("crates").join(n)).collect();
    manifests.extend(["", "lab", "fuzz"].map(|n| root().join(n)));
    for folder in manifests {
        let parsed: toml::Table = toml::from_str(&read(&folder.join("Cargo.toml"))).unwrap();
        assert_eq!(parsed["lints"]["workspace"].as_bool(), Some(true), "{}", folder.display());
    }
    let taken_back = concat!("allow(", "unsafe_code");
    let who: Vec<_> = super::rust_files().into_iter().filter(|f| read(f).contains(taken_back)).collect();
    assert!(who.is_empty(), "{who:?}");
}
