//! Collections of every version open: `tests/data/collection-1` was made by version 0.4 with format 1 of the
//! ledger, and stays what it is. A newer format is refused by name. (Made anew, for a new format, with
//! GLEANER_MAKE=DIR.)

use super::damage::{contents, copy, on};
use crate::common::{crawl, file, finish, folder, gleaner, serve};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

const TOPIC: &str =
    "name = \"kept\"\nquery = \"sql\"\n[fetch]\ndelay = '0s'\nsitemaps = false\nattempts = 1\n";
const BEFORE: &str = "\
== http://a.example/
<title>Start</title>sql <a href='/news'>news</a> <a href='/away'>away</a> <a href='/none'>none</a> <a href='/copy'>copy</a>
== http://a.example/news
<title>News</title><p>sql is taught on Monday.</p>
== http://a.example/away
<title>Away</title><p>sql that is to go.</p>
== http://a.example/copy
<title>News</title><p>sql is taught on Monday.</p>
== http://a.example/none 404
no
";
const AFTER: &str = "\
== http://a.example/
<title>Start</title>sql <a href='/news'>news</a> <a href='/fresh'>fresh</a> <a href='/copy'>copy</a>
== http://a.example/news
<title>News</title><p>sql is taught on Friday.</p>
== http://a.example/copy
<title>News</title><p>sql is taught on Monday.</p>
== http://a.example/fresh
<title>Fresh</title><p>sql that is new.</p>
";

fn kept() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/collection-1")
}

/// Two visits, a label, a removal, a page that is missing and one that waits.
fn make(out: &Path) {
    let dir = folder();
    let topic = file(dir.path(), "t.toml", TOPIC);
    finish(crawl(&serve(BEFORE), &topic, out).args(["--seed", "http://a.example/"])).ok();
    let mut refresh = gleaner();
    let server = serve(AFTER);
    refresh.arg("refresh").arg(out).args([
        "--allow-private",
        "--resolve",
        &server.resolve(),
        "--confirm",
        "10ms",
    ]);
    finish(&mut refresh).ok();
    on("label", out, &["http://a.example/news", "--yes"]).ok();
    on("remove", out, &["http://a.example/away", "--because", "asked for"]).ok();
    for name in ["index", "report.html", "lock", "features.tmp"] {
        let path = out.join(name);
        let _ = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    }
}

#[test]
fn a_collection_of_format_1_opens_and_goes_on() {
    if let Some(to) = std::env::var_os("GLEANER_MAKE") {
        make(Path::new(&to));
    }
    let dir = folder();
    let out = dir.path().join("kept");
    copy(&kept(), &out);
    let before = contents(&out);
    let lines = |command: &str, args: &[&str]| -> Vec<Value> {
        let ran = on(command, &out, args);
        ran.ok().out.lines().map(|l| serde_json::from_str(l).unwrap()).collect()
    };
    let mut urls: Vec<String> = lines("export", &["--all"])
        .iter()
        .map(|p| p["url"].as_str().unwrap().replace("http://a.example", ""))
        .collect();
    urls.sort();
    assert_eq!(urls, ["/", "/copy", "/news"]);
    on("label", &out, &[]).ok().shows(&["http://a.example/news"]);
    on("remove", &out, &["--list"]).ok().shows(&["http://a.example/away", "asked for"]);
    assert_eq!(lines("errors", &["--json"]).len(), 1);
    let checked: Value = serde_json::from_str(&on("check", &out, &["--json"]).out).unwrap();
    assert_eq!((&checked["pages"], &checked["versions"]), (&3.into(), &5.into()), "{checked:#}");
    assert!(contents(&out) == before, "it was only read");
    // The index is made again by whoever searches.
    assert_eq!(lines("search", &["friday", "--json"]).len(), 1);
    on("check", &out, &[]).ok().shows(&["3 pages", "nothing is wrong"]);
    // It is crawled on, copied and compacted.
    let topic = file(dir.path(), "t.toml", TOPIC);
    finish(&mut crawl(&serve(AFTER), &topic, &out)).ok();
    assert_eq!(lines("export", &["--all"]).len(), 4);
    on("copy", &out, &[dir.path().join("copied").to_str().unwrap()]).ok();
    on("compact", &out, &[]).ok();
    for dir in [&out, &dir.path().join("copied")] {
        on("check", dir, &[]).ok().shows(&["4 pages", "nothing is wrong"]);
    }
}

/// As zip and gzip have it.
fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc, b| {
        (0..8).fold(crc ^ u32::from(*b), |c, _| if c & 1 == 1 { c >> 1 ^ 0xedb8_8320 } else { c >> 1 })
    })
}

#[test]
fn a_newer_format_is_refused_by_name_and_nothing_is_changed() {
    let dir = folder();
    let out = dir.path().join("newer");
    copy(&kept(), &out);
    // The first record of the first frame: crc, kind, length, then the format.
    let mut ledger = fs::read(out.join("ledger.log")).unwrap();
    let record = &mut ledger[16..];
    let length = u32::from_le_bytes(record[5..9].try_into().unwrap()) as usize;
    assert_eq!((record[4], &record[9..13]), (1, &1u32.to_le_bytes()[..]));
    record[9..13].copy_from_slice(&7u32.to_le_bytes());
    let crc = crc32(&record[4..9 + length]);
    record[..4].copy_from_slice(&crc.to_le_bytes());
    fs::write(out.join("ledger.log"), ledger).unwrap();
    let before = contents(&out);
    for (command, args) in [
        ("export", &[][..]),
        ("search", &["sql"]),
        ("status", &[]),
        ("compact", &[]),
        ("remove", &["http://a.example/", "--because", "x"]),
        ("copy", &[dir.path().join("copied").to_str().unwrap()]),
    ] {
        let ran = on(command, &out, args);
        ran.fails(1, &["was written by a newer version", "format 7", "update gleaner"]);
    }
    let (topic, server) = (file(dir.path(), "t.toml", TOPIC), serve(AFTER));
    finish(&mut crawl(&server, &topic, &out)).fails(1, &["was written by a newer version"]);
    let now = contents(&out);
    let same = before.iter().all(|(path, bytes)| now.get(path) == Some(bytes));
    assert!(same, "nothing was changed");
    assert!(server.log().entries().is_empty() && !dir.path().join("copied").exists());
}
