//! Care of a collection: is it whole, what must go, what takes the space?

use super::damage::{Harm, PAGES, Small, contents, harm, on};
use crate::common::dashboard::Dashboard;
use crate::common::{Ran, Rng, Running, crawl, file, finish, folder, gleaner, long, run, serve, until};
use crate::support::postgres;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

fn json(ran: &Ran) -> Value {
    serde_json::from_str(&ran.out).unwrap_or_else(|e| panic!("{e}\n{ran}"))
}

fn faults(found: &Value) -> Vec<String> {
    let text = |f: &Value| format!("{} {}: {}", f["part"], f["place"], f["what"]);
    found["faults"].as_array().unwrap().iter().map(text).collect()
}

/// Every page is sound, or it is said which are not.
#[track_caller]
fn adds_up(found: &Value, what: &str) {
    let n = |key: &str| found[key].as_u64().unwrap();
    assert_eq!(n("before"), n("sound") + n("damaged") + n("missing"), "{what}: {found:#}");
}

/// What an archive file says, whatever it is packed with: the time in the head of a gzip member and the last
/// bits of its data are covered by no checksum.
fn unpacked(path: &Path) -> Vec<Result<store::archive::WarcRecord, store::archive::WarcError>> {
    store::archive::Scan::open(path, 0, store::archive::Limits::default()).unwrap().collect()
}

#[test]
fn a_byte_that_changed_anywhere_is_told_and_the_counts_add_up() {
    let small = Small::crawled();
    let checked = on("check", &small.whole(), &[]);
    checked.ok().shows(&["24 pages", "nothing is wrong"]);
    let found = json(on("check", &small.whole(), &["--json"]).ok());
    adds_up(&found, "whole");
    assert_eq!((&found["sound"], &found["indexed"]), (&(PAGES as u64).into(), &(PAGES as u64).into()));
    let mut rng = Rng(20_261_117);
    let (mut told, mut mended) = (0, 0);
    for (path, bytes) in contents(&small.whole()) {
        let part = ["ledger.log", "checkpoint-", "warc/", "index/"];
        let is_part = part.iter().any(|p| path.to_str().unwrap().starts_with(p));
        if !is_part || bytes.is_empty() || path.to_str().unwrap().ends_with(".json") {
            continue;
        }
        let times = if long() { 12 } else { 2 };
        for _ in 0..if path.starts_with("index") { times / 2 } else { times } {
            let at = rng.below(bytes.len() as u64) as usize;
            let what = format!("{} at byte {at}", path.display());
            let out = small.copy("flipped");
            let mut flipped = bytes.clone();
            flipped[at] ^= 1 << rng.below(8);
            fs::write(out.join(&path), flipped).unwrap();
            let says =
                |dir: &Path| unpacked(&dir.join(&path)).into_iter().map(Result::ok).collect::<Vec<_>>();
            if path.starts_with("warc") && says(&out) == says(&small.whole()) {
                continue;
            }
            let before = contents(&out);
            let ran = on("check", &out, &["--json"]);
            assert_eq!(ran.code, Some(1), "{what} is not told\n{ran}");
            let found = json(&ran);
            adds_up(&found, &what);
            assert!(!faults(&found).is_empty(), "{what}\n{ran}");
            assert!(contents(&out) == before, "{what}: a check changes nothing");
            told += 1;
            // Repaired, or not: what is left is said again, and nothing that can be repaired is left.
            let ran = on("check", &out, &["--repair", "--json"]);
            let now = json(&ran);
            adds_up(&now, &what);
            let left = now["faults"].as_array().unwrap();
            assert!(left.iter().all(|f| f["repairable"] == false), "{what}: {:#?}", faults(&now));
            assert_eq!(ran.code, Some(i32::from(!left.is_empty())), "{what}\n{ran}");
            if path.starts_with("index") || path.to_str().unwrap().starts_with("checkpoint") {
                assert!(left.is_empty(), "{what}: nothing is lost with it\n{ran}");
            }
            mended += usize::from(left.is_empty());
            let found = on("search", &out, &["sql", "--all", "--json", "--limit", "100"]);
            let pages = now["pages"].as_u64().unwrap() as usize;
            assert_eq!(found.ok().out.lines().count(), pages, "{what}\n{found}");
        }
    }
    assert!(told > 10 && mended > 4, "{told} told, {mended} mended");
}

#[test]
fn what_was_cut_off_or_is_gone_is_counted() {
    let small = Small::crawled();
    // The last file may hold no more than a robots.txt: the largest one holds pages.
    let size = |path: &PathBuf| fs::metadata(path).unwrap().len();
    let largest = crate::common::warcs(&small.whole()).into_iter().max_by_key(size).unwrap();
    let largest = PathBuf::from("warc").join(largest.file_name().unwrap());
    for (path, h) in [
        (PathBuf::from("ledger.log"), Harm::Cut(50)),
        (PathBuf::from("ledger.log"), Harm::Remove),
        (largest.clone(), Harm::Cut(50)),
        (largest, Harm::Remove),
    ] {
        let what = format!("{} {h:?}", path.display());
        let out = small.copy("cut");
        harm(&out.join(&path), h);
        let ran = on("check", &out, &["--json"]);
        assert_eq!(ran.code, Some(1), "{what}\n{ran}");
        let found = json(&ran);
        adds_up(&found, &what);
        assert_eq!(found["before"], PAGES, "{what}: {found:#}");
        let shown = on("check", &out, &[]);
        assert!(shown.out.contains("what is wrong") && shown.out.contains("24 pages known"), "{shown}");
        let now = json(&on("check", &out, &["--repair", "--json"]));
        adds_up(&now, &what);
        assert_eq!((&now["before"], &now["pages"]), (&PAGES.into(), &PAGES.into()), "{what}: {now:#}");
        // The bytes of the archive are gone for good, and that is said; the ledger came back from it.
        assert_eq!(faults(&now).is_empty(), path.ends_with("ledger.log"), "{what}: {:#?}", faults(&now));
    }
}

#[test]
fn a_check_needs_a_collection_and_can_be_made_while_it_is_crawled() {
    let dir = folder();
    let topic = file(dir.path(), "t.toml", "name = \"c\"\nquery = \"sql\"\n[fetch]\ndelay = '0s'\n");
    let nowhere = dir.path().join("nowhere");
    on("check", &nowhere, &[]).fails(2, &["is not a collection"]);
    on("check", dir.path(), &["--repair"]).fails(2, &["is not a collection"]);
    run(["check"]).fails(2, &["required"]);
    // Nothing was fetched yet.
    let web = "== http://a.example/ !delay=3000ms\n<title>Slow</title>sql\n<a href='/b'>b</a>\n\
               == http://a.example/b 404\nno\n";
    let server = serve(web);
    let out = dir.path().join("out");
    let running = Running::start(crawl(&server, &topic, &out).args(["--seed", "http://a.example/"]));
    until("it is there", || out.join("ledger.log").is_file() && store::ledger::is_locked(&out));
    on("check", &out, &[]).ok().shows(&["0 pages", "a crawl is running", "nothing is wrong"]);
    on("check", &out, &["--repair"]).fails(1, &["another gleaner process holds"]);
    running.signal("KILL");
    drop(running);
    // What a crash leaves is no fault.
    on("check", &out, &[]).ok().shows(&["nothing is wrong"]);
    on("check", &out, &["--repair"]).ok().shows(&["nothing is wrong"]);
    finish(crawl(&server, &topic, &out).args(["--seed", "http://a.example/"])).ok();
    on("check", &out, &[]).ok().shows(&["1 page ", "nothing is wrong"]);
    // A topic file that cannot be read is said, and the rest is checked.
    fs::write(out.join("topic.toml"), "nonsense").unwrap();
    assert!(on("check", &out, &[]).ok().out.contains("note:"));
}

#[test]
fn a_shared_crawl_is_checked_with_its_workers_archives() {
    let Some(server) = postgres::server() else { return };
    let database = server.url();
    let dir = folder();
    let topic = file(dir.path(), "t.toml", "name = \"c\"\nquery = \"sql\"\n[fetch]\ndelay = '0s'\n");
    let web = serve(
        "== http://a.example/\n<title>A</title>sql <a href='/b'>b</a>\n== http://a.example/b\n\
         <title>B</title>more sql\n",
    );
    let worker = dir.path().join("w");
    let shared = ["--store", &database, "--crawl", "checked"];
    let mut command = crawl(&web, &topic, &worker);
    finish(command.args(["--seed", "http://a.example/", "--time", "20s"]).args(shared)).ok();
    let check = |args: &[&str]| finish(gleaner().arg("check").args(shared).args(args));
    check(&[]).ok().shows(&["2 pages", "were not looked at", "nothing is wrong"]);
    let warc = worker.join("warc");
    let warc = warc.to_str().unwrap();
    check(&["--warc", warc]).ok().shows(&["2 pages (2 versions)", "nothing is wrong"]);
    let path = crate::common::warcs(&worker).pop().unwrap();
    let mut bytes = fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle..].fill(0);
    fs::write(&path, bytes).unwrap();
    let ran = check(&["--warc", warc, "--json"]);
    assert_eq!(ran.code, Some(1), "{ran}");
    adds_up(&json(&ran), "an archive of a worker");
    check(&["--repair"]).fails(2, &["cannot be used with"]);
}

// ---- what must go
// -------------------------------------------------------------------------------------------------------

/// Words that stand on one page only: in its title, its text, its links, and what it said before.
const SECRETS: [&str; 4] = ["quokkatitle", "quokkatext marmalade", "quokkaanchor", "quokkabefore"];
const SECRET: &str = "http://b.example/secret";

fn secret_web(second: bool) -> String {
    let said = if second { "quokkatext marmalade" } else { "quokkabefore" };
    let filler = |n: usize| {
        let mut rng = Rng(n as u64 + 7);
        (0..60).map(|_| format!("{:x} ", rng.below(1 << 28))).collect::<String>()
    };
    let mut web = String::from("== http://a.example/\n<title>Start</title>\n<p>sql\n");
    for n in 0..8 {
        web += &format!("<a href='/{n}'>page {n}</a>\n");
    }
    web += "<a href='http://b.example/secret'>to b</a>\n";
    for n in 0..8 {
        web += &format!("== http://a.example/{n}\n<title>Page {n}</title>\n<p>sql {}\n", filler(n));
    }
    web += &format!(
        "== {SECRET}\n<title>quokkatitle</title>\n<p>sql {said} and more of it {}\n\
         <a href='http://a.example/3'>quokkaanchor</a> <a href='/only'>quokkaanchor too</a>\n",
        filler(99)
    );
    web + &format!("== http://b.example/only\n<title>Only</title>\n<p>sql {}\n", filler(98))
}

/// Two visits to a web on which one page is to go.
fn with_secret(dir: &Path) -> PathBuf {
    let topic = "name = \"c\"\nquery = \"sql\"\n[fetch]\ndelay = '0s'\nsitemaps = false\n[archive]\n\
                 file_size = \"6KB\"\n";
    let (topic, out) = (file(dir, "t.toml", topic), dir.join("out"));
    let server = serve(&secret_web(false));
    finish(crawl(&server, &topic, &out).args(["--seed", "http://a.example/"])).ok();
    drop(server);
    let server = serve(&secret_web(true));
    let mut refresh = gleaner();
    refresh.arg("refresh").arg(&out).args(["--allow-private", "--resolve", &server.resolve()]);
    finish(refresh.args(["--confirm", "10ms"])).ok();
    out
}

/// Files of a collection in which these words stand; archive files are unpacked.
fn holds(dir: &Path, words: &str) -> Vec<PathBuf> {
    let has = |bytes: &[u8]| bytes.windows(words.len()).any(|w| w == words.as_bytes());
    let inside = |path: &Path| unpacked(path).into_iter().flatten().any(|r| has(&r.block));
    let all = contents(dir).into_iter();
    let found = all.filter(|(path, bytes)| {
        has(bytes) || (path.extension().is_some_and(|e| e == "gz") && inside(&dir.join(path)))
    });
    found.map(|(path, _)| path).collect()
}

fn urls(dir: &Path) -> Vec<String> {
    let export = on("export", dir, &["--all"]);
    let url = |line: &str| json_line(line)["url"].as_str().unwrap().to_string();
    let mut urls: Vec<String> = export.ok().out.lines().map(url).collect();
    urls.sort();
    urls
}

fn json_line(line: &str) -> Value {
    serde_json::from_str(line).unwrap()
}

#[test]
fn what_is_removed_is_in_no_file_and_never_comes_back() {
    let dir = folder();
    let out = with_secret(dir.path());
    for words in SECRETS {
        assert!(holds(&out, words).iter().any(|p| p.ends_with("ledger.log")), "{words} was there");
    }
    assert!(holds(&out, SECRETS[1]).iter().any(|p| p.starts_with("warc")), "in the archive, too");
    let before = urls(&out);
    let archive = dir.path().join("before.warc.gz");
    on("export", &out, &["--all", "--format", "warc", "-o", archive.to_str().unwrap()]).ok();
    on("label", &out, &[SECRET, "--yes"]).ok();
    // Someone looks at it in the browser meanwhile.
    let dashboard = Dashboard::start(&out, &[]);
    let shown = || dashboard.json("/api/v1/collections/out/pages?limit=100").to_string();
    assert!(shown().contains("quokkatitle"), "{}", shown());
    // Looked at, then done.
    let would = on("remove", &out, &[SECRET, "--dry-run"]);
    would.ok().shows(&["would go: 1 page (2 versions, 2 archived answers)", SECRET]);
    assert_eq!(urls(&out), before);
    let gone = on("remove", &out, &[SECRET, "--because", "its author asked", "--by", "Ada"]);
    gone.ok().shows(&["gone: 1 page (2 versions, 2 archived answers)", "--list"]);
    for words in SECRETS {
        assert_eq!(holds(&out, words), Vec::<PathBuf>::new(), "{words}\n{gone}");
    }
    until("the dashboard does not show it", || !shown().contains("quokka"));
    assert!(shown().contains("a.example/3"), "{}", shown());
    drop(dashboard);
    let rest: Vec<String> = before.iter().filter(|u| *u != SECRET).cloned().collect();
    assert_eq!(urls(&out), rest, "and nothing else went");
    on("check", &out, &[]).ok().shows(&["nothing is wrong"]);
    super::crash::warcio_checks(&crate::common::warcs(&out));
    on("explain", &out, &[SECRET]).ok().shows(&["removed at 2", "because: its author asked"]);
    on("errors", &out, &[]).ok().shows(&["nothing failed"]);
    assert!(!on("search", &out, &["sql", "--all", "--json", "--limit", "100"]).ok().out.contains("secret"));
    assert_eq!(on("search", &out, &["quokkatitle", "--json"]).out, "");
    let subset = dir.path().join("after.warc.gz");
    on("export", &out, &["--all", "-o", subset.to_str().unwrap()]).ok();
    on("changes", &out, &["--since", "1d", "--all"]).ok();
    assert!(!on("changes", &out, &["--since", "1d", "--all"]).out.contains("quokka"));
    // The list.
    on("remove", &out, &["--list"]).ok().shows(&[SECRET, "by Ada, because: its author asked", "1 page"]);
    let list = json(&on("remove", &out, &["--list", "--json"]));
    assert_eq!((&list[0]["by"], &list[0]["versions"]), (&"Ada".into(), &2.into()), "{list:#}");
    // Once more there is nothing to do.
    on("remove", &out, &[SECRET, "--because", "again"]).fails(4, &["was removed at"]);
    // A link, a seed, a retry, a refresh and an import do not bring it back.
    let server = serve(&secret_web(true));
    let topic = dir.path().join("t.toml");
    finish(crawl(&server, &topic, &out).args(["--seed", SECRET, "--seed", "http://a.example/"])).ok();
    on("errors", &out, &["--retry"]).ok();
    finish(&mut crawl(&server, &topic, &out)).ok();
    run(["import", "--out", out.to_str().unwrap(), archive.to_str().unwrap()]).ok();
    assert!(server.log().entries().iter().all(|e| e.path != "/secret"), "{:#?}", server.log().entries());
    assert_eq!(urls(&out), rest);
    for words in SECRETS {
        assert_eq!(holds(&out, words), Vec::<PathBuf>::new(), "{words}: it came back");
    }
    on("check", &out, &[]).ok();
}

#[test]
fn hosts_and_patterns_go_copies_keep_their_bytes_and_bad_orders_change_nothing() {
    let small = Small::crawled();
    let out = small.copy("removed");
    let before = contents(&out);
    for (args, code, says) in [
        (vec!["*", "--because", "x"], 2, "it would match everything"),
        (vec!["http://h0.example/0"], 2, "--because"),
        (vec!["http://h0.example/0", "--because", " "], 2, "--because is empty"),
        (vec!["nowhere.example", "--because", "x"], 4, "no URL of"),
    ] {
        on("remove", &out, &args).fails(code, &[says]);
    }
    on("remove", &out, &["--list"]).ok().shows(&["nothing was removed"]);
    assert!(contents(&out) == before, "nothing was changed");
    // The last page is a copy of the one before, and has no payload of its own in the archive.
    let answers = |dir: &Path| -> Vec<store::archive::WarcRecord> {
        crate::common::warcs(dir).iter().flat_map(|p| unpacked(p)).map(Result::unwrap).collect()
    };
    let revisit = answers(&out).into_iter().find(|r| r.kind() == "revisit").expect("there is a copy");
    let copy = revisit.target().unwrap();
    let original = revisit.header("WARC-Refers-To-Target-URI").unwrap();
    let gone = on("remove", &out, &[original, "--because", "x"]);
    gone.ok().shows(&["1 page with the same or nearly the same text stays", copy]);
    on("check", &out, &[]).ok().shows(&["23 pages", "nothing is wrong"]);
    let has = |r: &store::archive::WarcRecord| r.kind() == "response" && r.target() == Some(copy);
    let answer = answers(&out).into_iter().find(has).expect("it is archived");
    super::crash::warcio_checks(&crate::common::warcs(&out));
    assert!(String::from_utf8_lossy(&answer.block).contains("<title>Course 22</title>"), "with its payload");
    // A host, then a pattern.
    on("remove", &out, &["h0.example", "--because", "x"]).ok().shows(&["gone: 8 pages"]);
    assert!(urls(&out).iter().all(|u| !u.contains("h0.example")));
    on("remove", &out, &["h1.example/1*", "--because", "x"]).ok();
    on("check", &out, &[]).ok().shows(&["nothing is wrong"]);
    let left = urls(&out);
    assert!(left.iter().all(|u| !u.contains("h0.example") && !u.contains("h1.example/1")), "{left:#?}");
    // A page that is missing is not fetched again, and a damaged archive is not rewritten blindly.
    let asked = small.asked();
    finish(&mut small.crawl(&out)).ok();
    assert!(small.log_from(asked).iter().all(|url| !url.contains("h0.example")));
    assert_eq!(urls(&out), left);
    let path = crate::common::warcs(&out).pop().unwrap();
    let mut bytes = fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle..middle + 20].fill(0);
    fs::write(&path, bytes).unwrap();
    let refused = on("remove", &out, &["h2.example", "--because", "x"]);
    refused.fails(1, &["the archive is damaged", "--with-damaged"]);
    assert_eq!(urls(&out), left);
    on("remove", &out, &["h2.example", "--because", "x", "--with-damaged"]).ok();
    assert!(urls(&out).iter().all(|u| !u.contains("h2.example")));
}

#[test]
fn killed_at_any_moment_a_removal_is_not_begun_or_finished() {
    let dir = folder();
    let whole = with_secret(dir.path());
    let before = urls(&whole);
    let rest: Vec<String> = before.iter().filter(|u| *u != SECRET).cloned().collect();
    let order = |out: &Path| {
        let mut command = gleaner();
        command.arg("remove").arg(out).args([SECRET, "--because", "privacy"]);
        command
    };
    // How long it takes, undisturbed.
    let out = dir.path().join("timed");
    super::damage::copy(&whole, &out);
    let began = std::time::Instant::now();
    finish(&mut order(&out)).ok();
    let takes = began.elapsed().as_micros() as u64;
    let mut rng = Rng(42);
    let (mut old, mut new, mut between) = (0, 0, 0);
    for n in 0..if long() { 250 } else { 25 } {
        let out = dir.path().join("killed");
        let _ = fs::remove_dir_all(&out);
        super::damage::copy(&whole, &out);
        let running = Running::start(&mut order(&out));
        std::thread::sleep(std::time::Duration::from_micros(rng.below(takes)));
        running.signal("KILL");
        drop(running);
        between += usize::from(store::swap::is_unfinished(&out));
        // Readers see all of it or none of it.
        let seen = urls(&out);
        assert!(seen == before || seen == rest, "kill {n}: {seen:#?}");
        if seen == rest {
            new += 1;
        } else {
            old += 1;
        }
        // Whoever writes next finishes what was decided; the same command does what was not.
        let again = finish(&mut order(&out));
        assert!(matches!(again.code, Some(0 | 4)), "kill {n}\n{again}");
        assert_eq!(urls(&out), rest, "kill {n}");
        for words in SECRETS {
            assert_eq!(holds(&out, words), Vec::<PathBuf>::new(), "kill {n}: {words}");
        }
        on("check", &out, &["--repair"]).ok();
        assert_eq!(
            on("search", &out, &["sql", "--all", "--json", "--limit", "100"]).out.lines().count(),
            rest.len()
        );
    }
    println!("{old} not begun, {new} done, {between} between");
    assert!(old > 0, "the moments were too late");
}

// ---- what takes the space
// -----------------------------------------------------------------------------------------------

fn bytes(dir: &Path) -> u64 {
    contents(dir).values().map(|b| b.len() as u64).sum()
}

#[test]
fn a_crawl_ends_before_its_folder_or_its_disk_is_full_and_compact_gives_space_back() {
    let dir = folder();
    let topic = "name = \"c\"\nquery = \"sql\"\n[fetch]\ndelay = '0s'\nsitemaps = false\n";
    let (topic, out) = (file(dir.path(), "t.toml", topic), dir.path().join("out"));
    // Pages that do not compress: some 4 MB in the ledger, the archive and the index each.
    let mut web = String::from("== http://a.example/\n<title>Start</title>\n<p>sql\n");
    for n in 0..400 {
        web += &format!("<a href='/{n}'>sql {n}</a>\n");
    }
    for n in 0..400 {
        let mut rng = Rng(n);
        let words: String = (0..1_000).map(|_| format!("{:x} ", rng.next())).collect();
        web += &format!("== http://a.example/{n}\n<title>Page {n}</title>\n<p>sql {words}\n");
    }
    let server = serve(&web);
    let mut limited = crawl(&server, &topic, &out);
    let ran = finish(limited.args(["--seed", "http://a.example/", "--max-disk", "9MB"]));
    ran.ok();
    for says in ["disk limit reached (9MB)", "it takes", "archive", "gleaner compact"] {
        assert!(ran.err.contains(says), "`{says}` is missing\n{ran}");
    }
    let (used, pages) = (bytes(&out), urls(&out).len());
    assert!(used <= 9_000_000 && used > 2_000_000, "{used} bytes, {pages} pages");
    assert!(pages > 20 && pages < 400, "{pages}");
    on("check", &out, &[]).ok();
    on("status", &out, &[]).ok().shows(&["disk limit reached (9MB)"]);
    // The disk itself: more is to be kept free than it has.
    let mut full = crawl(&server, &topic, &out);
    let text = fs::read_to_string(&topic).unwrap() + "[limits]\ndisk_free = \"90000GB\"\n";
    fs::write(&topic, text).unwrap();
    let ran = finish(&mut full);
    assert!(ran.err.contains("the disk is nearly full") && ran.err.contains("are free"), "{ran}");
    assert_eq!(urls(&out).len(), pages, "nothing was fetched");
    // States that were replaced go; nothing else does.
    let before = urls(&out);
    let labelled = before.last().unwrap().as_str();
    on("label", &out, &[labelled, "--no"]).ok();
    let small = json(&on("compact", &out, &["--json"]));
    assert!(small["after"]["ledger"].as_u64() <= small["before"]["ledger"].as_u64(), "{small:#}");
    assert_eq!(urls(&out), before);
    assert!(on("label", &out, &[]).ok().out.contains(labelled));
    on("check", &out, &[]).ok().shows(&["nothing is wrong"]);
    let found = on("search", &out, &["sql", "--all", "--json", "--limit", "1000"]);
    assert_eq!(found.ok().out.lines().count(), before.len());
    on("compact", &out, &[]).ok().shows(&["before: it takes", "now:"]);
    // It goes on where it was.
    fs::write(&topic, fs::read_to_string(&topic).unwrap().replace("90000GB", "0")).unwrap();
    finish(&mut crawl(&server, &topic, &out)).ok();
    assert_eq!(urls(&out).len(), 401);
    on("check", &out, &[]).ok();
    on("compact", &dir.path().join("nowhere"), &[]).fails(2, &["is not a collection"]);
    finish(crawl(&server, &topic, &dir.path().join("tiny")).args(["--max-disk", "1KB"]))
        .fails(2, &["[limits] disk"]);
    run(["crawl", "t.toml", "--max-disk", "much"]).fails(2, &["--max-disk cannot be `much`"]);
}

#[test]
fn killed_at_any_moment_a_compaction_loses_nothing() {
    let small = Small::crawled();
    let before = urls(&small.whole());
    let began = std::time::Instant::now();
    on("compact", &small.copy("timed"), &[]).ok();
    let takes = began.elapsed().as_micros() as u64;
    let mut rng = Rng(43);
    for n in 0..if long() { 200 } else { 12 } {
        let out = small.copy("killed");
        let running = Running::start(gleaner().arg("compact").arg(&out));
        std::thread::sleep(std::time::Duration::from_micros(rng.below(takes)));
        running.signal("KILL");
        drop(running);
        assert_eq!(urls(&out), before, "kill {n}");
        on("compact", &out, &[]).ok();
        assert_eq!(urls(&out), before, "kill {n}");
        on("check", &out, &[]).ok().shows(&["nothing is wrong"]);
        assert!(!out.join("rewrite.tmp").exists(), "kill {n}");
    }
}

// ---- what is new
// --------------------------------------------------------------------------------------------------------

#[test]
fn a_new_page_is_shown_by_its_own_words_not_by_its_menu() {
    let dir = folder();
    let topic = "name = \"c\"\nquery = \"sql\"\n[fetch]\ndelay = '0s'\nsitemaps = false\n";
    let (topic, out) = (file(dir.path(), "t.toml", topic), dir.path().join("out"));
    // One menu is marked as such, the other stands on every page of its host.
    let menu =
        "<div>Home</div><div>Products and prices</div><div>About the whole company</div><div>Imprint</div>";
    let mut web =
        String::from("== http://a.example/\n<title>Start</title>\n<p>sql\n<a href='/own'>own</a>\n");
    for n in 0..12 {
        web += &format!("<a href='http://b.example/{n}'>sql {n}</a>\n");
    }
    web += "== http://a.example/own\n<title>Own</title>\n<nav><ul><li>Menu of the site<li>Other \
            menu</ul></nav>\
            <main><p>Relations are sets of tuples, says the sql standard of this page.</p></main>\n";
    let words = [
        "joins", "views", "keys", "locks", "logs", "rows", "types", "plans", "trees", "hashes", "sorts",
        "sets",
    ];
    for (n, word) in words.iter().enumerate() {
        web += &format!(
            "== http://b.example/{n}\n<title>B {n}</title>\n{menu}<p>Chapter on {word}: what sql says of \
             {word}.</p>\n"
        );
    }
    let server = serve(&web);
    finish(crawl(&server, &topic, &out).args(["--seed", "http://a.example/"])).ok();
    let ran = on("changes", &out, &["--since", "1d", "--all", "--json"]);
    let begins = |url: &str| {
        let found = json(ran.ok())["changes"].as_array().unwrap().iter().find(|c| c["url"] == url).cloned();
        found.unwrap_or_else(|| panic!("{url}\n{ran}"))["begins"].as_str().unwrap().to_string()
    };
    let own = begins("http://a.example/own");
    assert!(own.starts_with("Relations are sets of tuples"), "{own}");
    // Whichever page came last has seen the others' menus.
    let last = (0..12).map(|n| begins(&format!("http://b.example/{n}")));
    assert!(last.into_iter().all(|text| text.starts_with("Chapter")), "{ran}");
}

// ---- killed, whatever it was doing
// --------------------------------------------------------------------------------------

/// Whatever is killed leaves a sound collection with all its pages, and can be done again.
#[test]
fn killed_at_any_moment_whatever_was_being_done_can_be_done_again() {
    let small = Small::crawled();
    let before = urls(&small.whole());
    let dir = folder();
    let result = |name: &str| dir.path().join(name).to_str().unwrap().to_string();
    let better = file(dir.path(), "better.toml", "name = \"courses\"\nquery = \"sql course\"\n");
    let archive: Vec<String> =
        crate::common::warcs(&small.whole()).iter().map(|p| p.to_str().unwrap().to_string()).collect();
    let words = |all: &[&str]| all.iter().map(|a| a.to_string()).collect::<Vec<String>>();
    // What asks the web again.
    let resolve = small.resolve();
    let again = |more: &[&str]| {
        words(&[&["--allow-private", "--delay", "1ms", "--resolve", &resolve], more].concat())
    };
    // What is done, and what happened to the collection before.
    let whole: fn(&Path) = |_| ();
    let orders: Vec<(&str, Vec<String>, fn(&Path))> = vec![
        ("label", words(&["http://h0.example/12", "--no"]), whole),
        ("rejudge", words(&[better.to_str().unwrap()]), whole),
        ("export", words(&["--all", "-o", &result("pages.jsonl")]), whole),
        ("export", words(&["--all", "-o", &result("pages.warc.gz")]), whole),
        ("export", words(&["--all", "-o", &result("pages.wacz")]), whole),
        ("search", words(&["sql", "--all"]), |out| fs::remove_dir_all(out.join("index")).unwrap()),
        ("repair", words(&[]), |out| {
            let ledger = fs::OpenOptions::new().write(true).open(out.join("ledger.log")).unwrap();
            ledger.set_len(ledger.metadata().unwrap().len() / 2).unwrap();
        }),
        ("check", words(&["--repair"]), |out| {
            harm(&out.join("index/meta.json"), Harm::Cut(50));
        }),
        ("import", archive, whole),
        ("report", words(&[]), whole),
        ("refresh", again(&["--confirm", "1ms"]), whole),
        ("watch", again(&["--rounds", "1", "--every", "1s", "--confirm", "1ms"]), whole),
        ("compact", words(&[]), whole),
    ];
    let mut rng = Rng(44);
    let (mut kills, mut ended) = (0, 0);
    for (command, args, prepare) in &orders {
        let fresh = || {
            let out = small.copy("killed");
            prepare(&out);
            out
        };
        let order = |out: &Path| {
            let mut order = gleaner();
            match *command {
                // Into the collection that has these pages.
                "import" => order.arg("import").args(args).arg("--out").arg(out),
                _ => order.arg(command).arg(out).args(args),
            };
            order
        };
        let exported = args.iter().find(|a| a.contains("pages.")).map(PathBuf::from);
        let began = std::time::Instant::now();
        let ran = finish(&mut order(&fresh()));
        assert!(matches!(ran.code, Some(0 | 1)), "{command} {args:?}\n{ran}");
        let takes = began.elapsed().as_micros() as u64;
        let result = exported.as_ref().map(|path| fs::read(path).unwrap());
        for n in 0..if long() { 60 } else { 2 } {
            let what = format!("{command} {args:?}, kill {n}");
            let out = fresh();
            let mut running = Running::start(&mut order(&out));
            std::thread::sleep(std::time::Duration::from_micros(rng.below(takes)));
            ended += usize::from(running.child.try_wait().unwrap().is_some());
            let _ = running.child.kill();
            drop(running);
            kills += 1;
            if let Some(path) = &exported {
                // What has the name is whole: what was there before is the same as what would be.
                let is = fs::read(path).unwrap();
                let whole = result.as_ref().unwrap().len();
                assert!(is.len() * 100 > whole * 95, "{what}: {} of {whole} bytes under its name", is.len());
            }
            let again = finish(&mut order(&out));
            assert!(matches!(again.code, Some(0 | 1)), "{what}\n{again}");
            assert_eq!(urls(&out), before, "{what}");
            let check = on("check", &out, &[]);
            assert_eq!(check.code, Some(0), "{what}\n{check}");
        }
    }
    println!("{kills} kills, {ended} of them too late");
    // How long something takes is known from one time: on a busy machine the next may be much quicker.
    assert!(ended < kills, "the moments were too late");
}

/// Sitemaps and feeds were read and are no pages; judging again begins the state of pages anew. Neither is
/// damage.
#[test]
fn a_sitemap_and_judging_again_are_no_damage() {
    let dir = folder();
    let (topic, out) =
        (file(dir.path(), "t.toml", "query = \"sql\"\n[fetch]\ndelay = '0s'\n"), dir.path().join("out"));
    let server = serve(
        "== http://a.example/robots.txt\nSitemap: http://a.example/map.xml\n\
         == http://a.example/map.xml 200 \
         application/xml\n<urlset><url><loc>http://a.example/2</loc></url></urlset>\n\
         == http://a.example/\n<title>One</title><p>sql\n== http://a.example/2\n\
         <title>Two</title><p>sql too\n",
    );
    finish(crawl(&server, &topic, &out).args(["--seed", "http://a.example/"])).ok();
    assert!(server.log().entries().iter().any(|e| e.path == "/map.xml"), "the sitemap was read");
    on("check", &out, &[]).ok().shows(&["looked at 2 pages", "nothing is wrong"]);
    on("rejudge", &out, &[]).ok();
    on("check", &out, &[]).ok().shows(&["nothing is wrong"]);
}
