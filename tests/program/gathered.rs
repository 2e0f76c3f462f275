//! Collections made of others: `copy`, `merge`, `split`; and a collection as it was at a date.

use super::crash::warcio_checks;
use super::damage::{contents, copy as copy_folder, on};
use crate::common::{
    Ran, Rng, Running, crawl, file, finish, folder, gleaner, long, run, serve, until, warcs,
};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const TOPIC: &str = "name = \"c\"\nquery = \"sql\"\n[fetch]\ndelay = '0s'\nsitemaps = false\nattempts = 1\n\
                     [archive]\nfile_size = \"6KB\"\n";

fn json(ran: &Ran) -> Value {
    serde_json::from_str(&ran.ok().out).unwrap_or_else(|e| panic!("{e}\n{ran}"))
}

/// Every page with its text.
fn pages(dir: &Path, more: &[&str]) -> BTreeMap<String, Value> {
    let export = on("export", dir, &[&["--all", "--copies"], more].concat());
    let lines = export.ok().out.lines().map(|l| serde_json::from_str::<Value>(l).unwrap());
    lines.map(|page| (page["url"].as_str().unwrap().to_string(), page)).collect()
}

fn filler(n: u64) -> String {
    let mut rng = Rng(n + 7);
    (0..40).map(|_| format!("{:x} ", rng.below(1 << 28))).collect()
}

/// Two webs that share the host a.example, of which one page says another thing in each. Each page leads to
/// the next one only, so that a crawl comes by in this order.
fn web(north: bool) -> String {
    let own = if north { "north.example" } else { "south.example" };
    let mut web =
        String::from("== http://a.example/\n<title>Start</title>\n<p>sql <a href='/0'>page 0</a>\n");
    for n in 0..5 {
        let said = match (n, north) {
            (1, true) => "sql is taught on Monday.",
            (1, false) => "sql is taught on Friday. Bring a pen.",
            _ => "sql is taught.",
        };
        let next = match n {
            4 => format!("<a href='http://{own}/'>on</a>"),
            _ => format!("<a href='/{0}'>page {0}</a>", n + 1),
        };
        let filler = filler(n);
        web += &format!(
            "== http://a.example/{n}\n<title>Page {n}</title>\n<p>{said}</p>\n<p>{filler}</p>{next}\n"
        );
    }
    web += &format!(
        "== http://{own}/missing 404\nno\n== http://{own}/\n<title>{own}</title>\n<p>sql {}\n",
        filler(50)
    );
    web += "<a href='/later'>later</a> <a href='/missing'>sql no more</a>\n";
    web + &format!("== http://{own}/later\n<title>Later</title>\n<p>sql {}\n", filler(60))
}

/// Two collections, the second made after the first.
fn two(dir: &Path) -> (PathBuf, PathBuf) {
    let topic = file(dir, "t.toml", TOPIC);
    let made = [true, false].map(|north| {
        let out = dir.join(if north { "north" } else { "south" });
        let server = serve(&web(north));
        // The last page waits, and one that is missing.
        finish(crawl(&server, &topic, &out).args(["--seed", "http://a.example/", "--pages", "7"])).ok();
        assert_eq!(pages(&out, &[]).len(), 7);
        out
    });
    let [north, south] = made;
    (north, south)
}

fn merge(dirs: &[&Path], into: &Path) -> Command {
    let mut command = gleaner();
    command.env("NO_COLOR", "1").arg("merge").args(dirs).arg("--into").arg(into);
    command
}

#[test]
fn two_collections_become_one_and_the_counts_add_up() {
    let dir = folder();
    let (north, south) = two(dir.path());
    on("label", &north, &["http://a.example/1", "--yes"]).ok();
    on("label", &north, &["http://a.example/3", "--yes"]).ok();
    on("label", &south, &["http://a.example/1", "--no"]).ok();
    on("label", &south, &["http://south.example/", "--no"]).ok();
    on("remove", &north, &["http://a.example/2", "--because", "asked for"]).ok();
    let before = (contents(&north), contents(&south));
    let both = dir.path().join("both");
    let made = json(&finish(merge(&[&north, &south], &both).arg("--json")));
    assert!(before == (contents(&north), contents(&south)), "the sources are not changed");
    // 6 of the first and 7 − 1 of the second; 5 are in both.
    let taken: Vec<u64> =
        made["from"].as_array().unwrap().iter().map(|f| f["taken"].as_u64().unwrap()).collect();
    assert_eq!(taken, [6, 6], "{made:#}");
    assert_eq!(
        (&made["pages"], &made["twice"], &made["versions"]),
        (&json!(7), &json!(5), &json!(12)),
        "{made:#}"
    );
    assert_eq!(made["removed"], 1, "{made:#}");
    assert_eq!((&made["labels"], &made["disagreements"]), (&json!(3), &json!(1)), "{made:#}");
    let conflict = &made["conflicts"][0];
    assert_eq!((&conflict["url"], &conflict["stands"]), (&json!("http://a.example/1"), &json!(true)));

    on("check", &both, &[]).ok().shows(&["7 pages", "nothing is wrong"]);
    let all = pages(&both, &[]);
    assert!(!all.contains_key("http://a.example/2"), "what was removed from one stays out");
    assert!(all["http://a.example/1"]["text"].as_str().unwrap().contains("Friday"), "the newest stands");
    // And stays out when it is crawled on: the pages that waited come, it does not.
    let server = serve(
        &(web(true)
            + &web(false).split_once("== http://south").map(|(_, s)| format!("== http://south{s}")).unwrap()),
    );
    finish(&mut crawl(&server, &dir.path().join("t.toml"), &both)).ok();
    let now = pages(&both, &[]);
    assert_eq!(now.len(), 9, "{:?}", now.keys());
    assert!(now.contains_key("http://north.example/later") && now.contains_key("http://south.example/later"));
    assert!(!now.contains_key("http://a.example/2"));
    assert!(server.log().entries().iter().all(|e| e.path != "/2"), "it is not asked for");
    on("check", &both, &[]).ok().shows(&["9 pages", "nothing is wrong"]);
    on("remove", &both, &["--list"]).ok().shows(&["http://a.example/2", "asked for"]);
    // The word of the first stands; the other labels are there.
    let labels = on("label", &both, &[]);
    labels.ok().shows(&["http://a.example/1", "http://a.example/3", "http://south.example/"]);
    // What both have is one page with its history.
    let changed = json(&on("changes", &both, &["--since", "1d", "--all", "--json"]));
    let one =
        changed["changes"].as_array().unwrap().iter().find(|c| c["url"] == "http://a.example/1").unwrap();
    assert!(one["diff"].to_string().contains("Friday") || one["kind"] == "new", "{one:#}");
    let found = on("search", &both, &["friday", "--all", "--json"]);
    assert_eq!(found.ok().out.lines().count(), 1, "{found}");
    let failed = on("errors", &both, &["--json"]);
    assert_eq!(failed.ok().out.lines().count(), 2, "{failed}");
    let why = on("explain", &both, &["http://south.example/"]);
    why.ok().shows(&["http://a.example/", "by the link \"on\""]);
    warcio_checks(&warcs(&both));
    // Shown to people; a copy brings nothing new.
    let again = dir.path().join("again");
    let shown = finish(&mut merge(&[&both, &south], &again));
    shown.ok().shows(&["9 pages", "in more than one", "= 9 pages"]);
    assert_eq!(pages(&again, &[]).keys().collect::<Vec<_>>(), now.keys().collect::<Vec<_>>());
    on("check", &again, &[]).ok().shows(&["nothing is wrong"]);
}

#[test]
fn a_copy_is_the_same_also_of_a_crawl_that_runs() {
    let dir = folder();
    let (north, _) = two(dir.path());
    on("label", &north, &["http://a.example/1", "--yes"]).ok();
    let before = contents(&north);
    let copied = dir.path().join("copied");
    let made = json(&on("copy", &north, &[copied.to_str().unwrap(), "--json"]));
    assert_eq!(
        (&made["pages"], &made["pending"], &made["labels"]),
        (&json!(7), &json!(2), &json!(1)),
        "{made:#}"
    );
    assert!(contents(&north) == before, "the source is not changed");
    on("check", &copied, &[]).ok().shows(&["7 pages", "nothing is wrong"]);
    let lines = |dir: &Path| on("export", dir, &["--all"]).ok().out.clone();
    let but_places = |text: String| -> Vec<Value> {
        let mut rows: Vec<Value> = text.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
        rows.iter_mut().for_each(|r| r.as_object_mut().unwrap().retain(|k, _| !k.starts_with("archive")));
        rows
    };
    assert_eq!(but_places(lines(&copied)), but_places(lines(&north)));
    // Both go on by themselves.
    let (server, topic) = (serve(&web(true)), dir.path().join("t.toml"));
    finish(&mut crawl(&server, &topic, &copied)).ok();
    assert_eq!((pages(&copied, &[]).len(), pages(&north, &[]).len()), (8, 7));
    on("check", &copied, &[]).ok().shows(&["8 pages", "nothing is wrong"]);

    // One that is being crawled.
    let slow = format!("{}== http://north.example/slow !delay=5000ms\n<title>Slow</title>sql\n", web(true))
        .replace("<a href='/later'>", "<a href='/slow'>slow</a> <a href='/later'>");
    let (server, out) = (serve(&slow), dir.path().join("running"));
    let running = Running::start(crawl(&server, &topic, &out).args(["--seed", "http://a.example/"]));
    until("it waits for the slow page", || server.log().entries().iter().any(|e| e.path == "/slow"));
    let snapshot = dir.path().join("snapshot");
    let made = json(&on("copy", &out, &[snapshot.to_str().unwrap(), "--json"]));
    running.signal("KILL");
    drop(running);
    on("check", &snapshot, &[]).ok().shows(&["nothing is wrong"]);
    assert_eq!(pages(&snapshot, &[]).len() as u64, made["pages"].as_u64().unwrap());
}

#[test]
fn a_collection_is_split_and_every_page_is_in_one_of_them() {
    let dir = folder();
    let (north, _) = two(dir.path());
    on("label", &north, &["http://a.example/2", "--no"]).ok();
    let before = contents(&north);
    let all = pages(&north, &[]);
    let split = |name: &str, args: &[&str]| {
        let (into, rest) = (dir.path().join(name), dir.path().join(format!("{name}-rest")));
        let mut command = gleaner();
        command.arg("split").arg(&north).args(args).arg("--into").arg(&into).arg("--rest").arg(&rest);
        let made = json(&finish(command.arg("--json")));
        let (one, other) = (pages(&into, &[]), pages(&rest, &[]));
        assert_eq!(
            (&made[0]["pages"], &made[1]["pages"]),
            (&json!(one.len()), &json!(other.len())),
            "{made:#}"
        );
        let mut sum: Vec<&String> = one.keys().chain(other.keys()).collect();
        sum.sort();
        assert_eq!(sum, all.keys().collect::<Vec<_>>(), "{name}: {made:#}");
        for dir in [&into, &rest] {
            on("check", dir, &[]).ok().shows(&["nothing is wrong"]);
            warcio_checks(&warcs(dir));
        }
        for (url, page) in one.iter().chain(&other) {
            assert_eq!(page["text"], all[url]["text"], "{url}");
        }
        (one.into_keys().collect::<Vec<_>>(), into)
    };
    let (hosts, own) = split("host", &["--where", "host=north.example"]);
    assert_eq!(hosts, ["http://north.example/"]);
    let (patterns, _) = split("pattern", &["--where", "url=a.example/*", "--where", "relevant=yes"]);
    assert_eq!(patterns.len(), 5, "all of that host but the one that is labelled no: {patterns:?}");
    let (no, labelled) = split("label", &["--where", "relevant=no"]);
    assert_eq!(no, ["http://a.example/2"]);
    on("label", &labelled, &[]).ok().shows(&["http://a.example/2"]);
    split("date", &["--since", "1d", "--where", "label=none"]);
    assert!(contents(&north) == before, "the source is not changed");
    // What waits behind a page comes along, and is crawled.
    finish(&mut crawl(&serve(&web(true)), &dir.path().join("t.toml"), &own)).ok();
    let now = pages(&own, &[]);
    assert_eq!(now.keys().collect::<Vec<_>>(), ["http://north.example/", "http://north.example/later"]);
    on("check", &own, &[]).ok().shows(&["2 pages", "nothing is wrong"]);
    // And put together again.
    let whole = dir.path().join("whole");
    finish(&mut merge(&[&dir.path().join("label"), &dir.path().join("label-rest")], &whole)).ok();
    assert_eq!(pages(&whole, &[]).keys().collect::<Vec<_>>(), all.keys().collect::<Vec<_>>());
    on("check", &whole, &[]).ok().shows(&["7 pages", "nothing is wrong"]);
}

#[test]
fn what_cannot_be_meant_is_refused_and_makes_nothing() {
    let dir = folder();
    let (north, south) = two(dir.path());
    let (n, into) = (north.to_str().unwrap(), dir.path().join("new"));
    let new = into.to_str().unwrap();
    run(["merge", n, "--into", new]).fails(2, &["2 values required"]);
    run(["merge", n, n, "--into", new]).fails(2, &["is named twice"]);
    run(["merge", n, dir.path().join("nowhere").to_str().unwrap(), "--into", new])
        .fails(2, &["is not a collection"]);
    run(["merge", n, south.to_str().unwrap(), "--into", n]).fails(2, &["is there already"]);
    run(["copy", n, &format!("{n}/inside")]).fails(2, &["is inside"]);
    run(["split", n, "--into", new]).fails(2, &["--where"]);
    run(["split", n, "--where", "size>3", "--into", new]).fails(2, &["is no condition", "host="]);
    run(["split", n, "--where", "host=no.example", "--into", new]).fails(4, &["no page"]);
    run(["split", n, "--where", "relevant=yes", "--into", new, "--rest", new]).fails(2, &["the same folder"]);
    assert!(!into.exists());
    // A folder of somebody else's in the way is left alone.
    fs::create_dir(dir.path().join("new.making")).unwrap();
    fs::write(dir.path().join("new.making/mine"), "mine").unwrap();
    run(["copy", n, new]).fails(1, &["is in the way"]);
    assert_eq!(fs::read_to_string(dir.path().join("new.making/mine")).unwrap(), "mine");
    fs::remove_dir_all(dir.path().join("new.making")).unwrap();
    // Damage is told, not copied.
    let harmed = dir.path().join("harmed");
    copy_folder(&north, &harmed);
    let mut bytes = fs::read(harmed.join("ledger.log")).unwrap();
    let at = bytes.len() / 2;
    bytes[at] ^= 8;
    fs::write(harmed.join("ledger.log"), bytes).unwrap();
    run(["copy", harmed.to_str().unwrap(), new]).fails(1, &["damaged"]);
    assert!(!into.exists());
    run(["copy", n, new]).ok();
}

#[test]
fn killed_at_any_moment_there_is_a_whole_new_collection_or_none() {
    let dir = folder();
    let (north, south) = two(dir.path());
    let before = (contents(&north), contents(&south));
    let began = std::time::Instant::now();
    let timed = dir.path().join("timed");
    finish(&mut merge(&[&north, &south], &timed)).ok();
    let takes = began.elapsed().as_micros() as u64;
    let whole: Vec<String> = pages(&timed, &[]).into_keys().collect();
    let (mut rng, mut none, mut done) = (Rng(44), 0, 0);
    let into = dir.path().join("both");
    for n in 0..if long() { 220 } else { 12 } {
        let _ = fs::remove_dir_all(&into);
        let mut command = match n % 3 {
            0 => {
                let mut copy = gleaner();
                copy.arg("copy").arg(&timed).arg(&into);
                copy
            }
            1 => {
                let mut split = gleaner();
                split.arg("split").arg(&timed).args(["--where", "score>=0", "--into"]).arg(&into);
                split
            }
            _ => merge(&[&north, &south], &into),
        };
        let running = Running::start(&mut command);
        std::thread::sleep(std::time::Duration::from_micros(rng.below(takes)));
        running.signal("KILL");
        drop(running);
        if into.exists() {
            done += 1;
        } else {
            none += 1;
            // The same command again is all it takes.
            finish(&mut command).ok();
        }
        on("check", &into, &[]).ok().shows(&["nothing is wrong"]);
        assert_eq!(pages(&into, &[]).into_keys().collect::<Vec<_>>(), whole, "kill {n}");
        assert!(!dir.path().join("both.making").exists(), "kill {n}: scraps");
    }
    assert!(before == (contents(&north), contents(&south)), "the sources are not changed");
    println!("{none} not made, {done} whole");
    assert!(none > 0, "the moments were too late");
}

#[test]
fn a_collection_is_shown_as_it_was_at_a_date() {
    let dir = folder();
    let topic = file(dir.path(), "t.toml", TOPIC);
    let out = dir.path().join("out");
    let first = "== http://a.example/\n<title>Start</title>sql <a href='/news'>news</a> <a \
                 href='/old'>old</a>\n\
                 == http://a.example/news\n<title>News</title><p>sql on Monday</p>\n\
                 == http://a.example/old\n<title>Old</title><p>sql of yore</p>\n";
    let second = "== http://a.example/\n<title>Start</title>sql <a href='/news'>news</a> <a \
                  href='/fresh'>fresh</a>\n\
                  == http://a.example/news\n<title>News</title><p>sql on Friday</p>\n\
                  == http://a.example/old 404\nno\n== http://a.example/fresh\n\
                  <title>Fresh</title><p>sql that is new</p>\n";
    finish(crawl(&serve(first), &topic, &out).args(["--seed", "http://a.example/"])).ok();
    let then = store::archive::rfc3339(types::Millis::now());
    let server = serve(second);
    let mut again = gleaner();
    again.arg("refresh").arg(&out).args(["--allow-private", "--resolve", &server.resolve()]);
    finish(again.args(["--confirm", "10ms", "--new", "5"])).ok();

    let now = pages(&out, &[]);
    let was = pages(&out, &["--at", &then]);
    assert!(now.contains_key("http://a.example/fresh") && !was.contains_key("http://a.example/fresh"));
    let text = |pages: &BTreeMap<String, Value>| {
        pages["http://a.example/news"]["text"].as_str().unwrap().to_string()
    };
    assert!(text(&now).contains("Friday") && text(&was).contains("Monday"));
    // A page that is gone by now was there.
    let relevant = |more: &[&str]| on("export", &out, more).ok().out.contains("http://a.example/old");
    assert!(relevant(&["--at", &then]) && !relevant(&[]));
    let found = |words: &str, more: &[&str]| {
        let ran = on("search", &out, &[&[words, "--json"], more].concat());
        ran.ok().out.lines().count()
    };
    assert_eq!((found("friday", &[]), found("monday", &[])), (1, 0));
    assert_eq!((found("friday", &["--at", &then]), found("monday", &["--at", &then])), (0, 1));
    assert_eq!((found("yore", &[]), found("yore", &["--at", &then])), (0, 1));
    let why = on("explain", &out, &["http://a.example/news", "--at", &then, "--json"]);
    assert!(json(&why)["record"]["text"].as_str().unwrap().contains("Monday"), "{why}");
    on("explain", &out, &["http://a.example/fresh", "--at", &then]).ok().shows(&["not fetched at that date"]);
    // Its bytes are those of that version.
    let warc = dir.path().join("then.warc");
    on("export", &out, &["--at", &then, "--all", "--format", "warc", "-o", warc.to_str().unwrap()]).ok();
    let said = fs::read(&warc).unwrap();
    let holds = |words: &str| {
        let records = store::archive::Scan::open(&warc, 0, store::archive::Limits::default()).unwrap();
        records.flatten().any(|r| r.block.windows(words.len()).any(|w| w == words.as_bytes()))
    };
    assert!(!said.is_empty() && holds("Monday") && !holds("Friday"));
    // A day means its end; a time before everything is empty; nonsense is refused.
    assert_eq!(pages(&out, &["--at", &then[..10]]).len(), now.len());
    assert_eq!(pages(&out, &["--at", "2001-01-01"]).len(), 0);
    on("export", &out, &["--at", "soon"]).fails(2, &["neither a date"]);
    on("search", &out, &["sql", "--at", "2199-01-01T00:00:00Z"]).fails(2, &["a time to come"]);
}
