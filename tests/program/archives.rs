//! Archives for others and from others: py-wacz, pywb and cdxj-indexer read what we export; what wget and
//! py-wacz wrote is imported.

use crate::common;
use crate::common::collection::Snapshot;
use crate::common::{crawl, file, finish, folder, gleaner, python, run, script, serve, warcs};
use crate::integrate::collection;
use crate::support::tools;
use madeup::Server;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

fn export(args: &[&str]) -> common::Ran {
    finish(gleaner().arg("export").arg(collection()).args(args))
}

#[test]
fn wacz_is_valid_and_is_replayed() {
    let Some(python) = python("py-wacz and pywb on a WACZ export") else { return };
    let dir = folder();
    for (name, args) in [("relevant", &[][..]), ("all", &["--all"])] {
        let wacz = dir.path().join(format!("{name}.wacz"));
        let pages = dir.path().join(format!("{name}.jsonl"));
        export(&[args, &["-o", wacz.to_str().unwrap()]].concat()).ok();
        export(&[args, &["-o", pages.to_str().unwrap()]].concat()).ok();
        let valid = finish(Command::new(&python).args(["-m", "wacz", "validate", "-f"]).arg(&wacz));
        valid.ok();
        assert!(format!("{valid}").to_lowercase().contains("valid"), "{valid}");
        script(&python, "check_wacz.py", ["wacz".as_ref(), wacz.as_os_str(), pages.as_os_str()]).ok();
        if name == "all" {
            replayed(&python, &wacz, &pages);
        }
    }
}

/// pywb answers for every page with the bytes whose digest we recorded.
fn replayed(python: &Path, wacz: &Path, pages: &Path) {
    let dir = folder();
    let wanted: BTreeMap<String, String> = std::fs::read_to_string(pages)
        .unwrap()
        .lines()
        .map(|l| serde_json::from_str::<serde_json::Value>(l).unwrap())
        .map(|p| (p["url"].as_str().unwrap().into(), p["digest"].as_str().unwrap().into()))
        .collect();
    let urls = file(dir.path(), "urls", &wanted.keys().map(|u| format!("{u}\n")).collect::<String>());
    let replay = finish(
        Command::new(python)
            .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/py/replay.py"))
            .arg(dir.path())
            .arg(wacz)
            .stdin(std::fs::File::open(urls).unwrap()),
    );
    let found: BTreeMap<String, String> = replay
        .ok()
        .out
        .lines()
        .map(|line| {
            let fields: Vec<&str> = line.split('\t').collect();
            assert_eq!(fields[1], "200", "{line}");
            (fields[0].to_string(), fields[2].to_string())
        })
        .collect();
    assert_eq!(found, wanted);
}

#[test]
fn the_index_is_the_one_that_others_make() {
    let Some(python) = python("cdxj-indexer on a crawl's archive") else { return };
    let dir = folder();
    let index = dir.path().join("index.cdxj");
    export(&["--all", "-o", index.to_str().unwrap()]).ok();
    let mut args = vec![PathBuf::from("cdxj"), index];
    args.extend(warcs(collection()));
    let ran = script(&python, "check_wacz.py", &args);
    let n: usize = ran.ok().out.split(' ').next().unwrap().parse().unwrap();
    assert!(n > 200, "{ran}");
}

const WEB: &str = "
    == http://a.example/
    <title>Start</title><p>Pages on databases. <a href=/sql>sql course</a> <a href=/art>art</a> <a href=/logo.png>logo</a>
    <a href=/moved>moved</a> <a href=/later>a later sql lecture</a>
    == http://a.example/sql
    <title>SQL</title><p>The sql language, sql joins and sql queries for relational databases. <a href=/more>more sql</a>
    == http://a.example/art
    <title>Art</title><p>Paintings and sculptures of the last century.
    == http://a.example/logo.png 200 image/png
    PNG
    == http://a.example/moved 301 location: /sql
    == http://a.example/later
    <title>Later</title><p>More sql, sql views and sql indexes.
    == http://a.example/more
    <title>More</title><p>More sql: sql triggers and sql procedures.
";

const TOPIC: &str = "name = \"sql\"\nquery = \"sql\"\n[judge]\nkind = \"genre\"\n";

/// A WARC file that wget made of a part of the web.
fn by_wget(server: &Server, dir: &Path) -> Option<PathBuf> {
    if Command::new("wget").arg("--version").output().is_err() {
        tools::missing("wget");
        return None;
    }
    let mut wget = Command::new("wget");
    wget.args(["--quiet", "--warc-file=wget", "--no-warc-keep-log", "--execute", "robots=off"]);
    wget.args(["--execute", &format!("http_proxy=http://{}/", server.addr())]);
    wget.args([
        "http://a.example/",
        "http://a.example/sql",
        "http://a.example/art",
        "http://a.example/logo.png",
    ]);
    wget.arg("http://a.example/moved").current_dir(dir).env_remove("no_proxy");
    finish(&mut wget).ok();
    Some(dir.join("wget.warc.gz"))
}

fn pages(out: &Path) -> BTreeSet<String> {
    Snapshot::take(out).pages.into_keys().collect()
}

#[test]
fn pages_of_others_are_imported_and_the_crawl_goes_on_from_them() {
    let Some(python) = python("py-wacz makes a file") else { return };
    let server = serve(WEB);
    let dir = folder();
    let topic = file(dir.path(), "sql.toml", TOPIC);
    let Some(warc) = by_wget(&server, dir.path()) else { return };
    let out = dir.path().join("db");
    let import = |args: &[&Path]| {
        finish(gleaner().arg("import").args(args).args([Path::new("--out"), &out, Path::new("--json")]))
    };
    let ran = import(&[&warc, Path::new("--topic"), &topic]);
    let done: serde_json::Value = serde_json::from_str(&ran.ok().out).unwrap_or_else(|e| panic!("{e} {ran}"));
    assert_eq!(done["pages"], 3, "{done}");
    // wget followed the redirect and has that page twice.
    assert_eq!((&done["known"], &done["damaged"]), (&1.into(), &0.into()), "{done}");
    assert!(done["relevant"].as_u64().is_some_and(|n| (1..=2).contains(&n)), "{done}");
    assert!(done["passed_over"].as_u64().is_some_and(|n| n >= 2), "the picture and the redirect: {done}");
    let there: BTreeSet<String> =
        ["http://a.example/", "http://a.example/sql", "http://a.example/art"].map(String::from).into();
    assert_eq!(pages(&out), there);
    // Searched, exported with the day they were fetched, archived for others.
    run(["search", out.to_str().unwrap(), "joins"]).ok().shows(&["http://a.example/sql"]);
    script(&python, "check_warc.py", warcs(&out)).ok();
    run(["status", out.to_str().unwrap()]).ok();

    // Again, and as WACZ of py-wacz: everything is known.
    let again = import(&[&warc]);
    again.ok().shows(&["\"pages\": 0", "\"known\": 4"]);
    let wacz = dir.path().join("theirs.wacz");
    let mut create = Command::new(&python);
    create.args(["-m", "wacz", "create", "--detect-pages", "-o"]).arg(&wacz).arg("-f").arg(&warc);
    finish(&mut create).ok();
    import(&[&wacz]).ok().shows(&["\"pages\": 0", "\"known\": 4"]);
    let other = dir.path().join("other");
    let ran = finish(gleaner().arg("import").arg(&wacz).args(["--query", "sql", "--out"]).arg(&other));
    ran.ok().shows(&["3 pages imported", "wait to be fetched"]);
    assert_eq!(pages(&other), there);
    assert!(!other.join("import.tmp").exists());

    // The crawl goes on with the links of the imported pages, and asks for none of those again.
    let before = server.log().entries().len();
    finish(crawl(&server, &out.join("topic.toml"), &out).args(["--delay", "1ms"])).ok();
    let asked: Vec<String> =
        server.log().entries().iter().skip(before).map(|e| format!("http://{}{}", e.host, e.path)).collect();
    assert!(asked.iter().any(|u| u.ends_with("/more")), "{asked:?}");
    assert!(!asked.iter().any(|u| there.contains(u)), "{asked:?}");
    assert!(pages(&out).len() >= 5, "{:?}", pages(&out));
    // What we export is imported, too.
    let ours = dir.path().join("ours.wacz");
    run(["export", out.to_str().unwrap(), "--all", "-o", ours.to_str().unwrap()]).ok();
    let third = dir.path().join("third");
    let args = ["--topic".as_ref(), topic.as_os_str(), "--out".as_ref(), third.as_os_str()];
    finish(gleaner().arg("import").arg(&ours).args(args)).ok();
    assert_eq!(pages(&third), pages(&out));
}

#[test]
fn what_cannot_be_imported_is_said() {
    let dir = folder();
    let topic = file(dir.path(), "sql.toml", TOPIC);
    let out = dir.path().join("db");
    let import = |name: &Path, more: &[&str]| {
        let mut command = gleaner();
        command.arg("import").arg(name).arg("--out").arg(&out).args(more);
        finish(&mut command)
    };
    let with_topic = ["--topic", topic.to_str().unwrap()];
    import(Path::new("/nowhere.warc.gz"), &with_topic).fails(1, &["cannot open /nowhere.warc.gz"]);
    import(dir.path(), &with_topic).fails(2, &["holds no archive", ".wacz"]);
    let text = file(dir.path(), "text.warc.gz", "no archive at all");
    let whole = warcs(collection()).remove(0);
    import(&whole, &[]).fails(2, &["is not a collection yet", "--topic"]);
    import(&text, &with_topic).fails(1, &["is not a WARC file"]);
    let zip = file(dir.path(), "text.wacz", "no archive at all");
    import(&zip, &with_topic).fails(1, &["is not a sound ZIP file"]);
    assert!(!out.exists(), "nothing is left behind");
    // A file that is cut off brings what is whole.
    let bytes = std::fs::read(&whole).unwrap();
    let cut = dir.path().join("cut.warc.gz");
    std::fs::write(&cut, &bytes[..bytes.len() / 2]).unwrap();
    let ran = import(&cut, &with_topic);
    ran.ok().shows(&["pages imported"]);
    assert!(ran.err.contains("could not be read"), "{ran}");
    // Another topic is not mixed in by accident.
    let other = file(dir.path(), "other.toml", "name = \"art\"\nquery = \"art\"\n");
    import(&cut, &["--topic", other.to_str().unwrap()]).fails(2, &["has a topic of its own", "rejudge"]);
}
