//! `gleaner backtest` as other programs see it: files, determinism, hand-computed numbers, WARC files of
//! other crawlers, and bad input.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

fn gleaner(args: &[&str], cache: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_gleaner")).args(args).env("XDG_CACHE_HOME", cache).output().unwrap()
}

fn ok(out: &Output) {
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
}

fn fails(out: &Output, code: i32, says: &[&str]) {
    let text = String::from_utf8_lossy(&out.stderr);
    assert_eq!(out.status.code(), Some(code), "{text}");
    for s in says {
        assert!(text.contains(s), "{s:?} is not in: {text}");
    }
}

fn page(dir: &Path, path: &str, html: &str) {
    let file = dir.join(path);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, html).unwrap();
}

/// Seed `/` links to 1, 2, 3; 2 links to 4. Pages 3 and 4 are wanted.
fn tiny(dir: &Path) {
    page(
        dir,
        "a.org/index.html",
        "<a href=/1.html>one</a> <a href=/2.html>two</a> <a href=/3.html>three sql</a>",
    );
    page(dir, "a.org/1.html", "<p>soup</p>");
    page(dir, "a.org/2.html", "<p>stew</p><a href=/4.html>four</a>");
    page(dir, "a.org/3.html", "<p>sql sql</p>");
    page(dir, "a.org/4.html", "<p>sql and joins</p>");
    fs::write(
        dir.join("labels.tsv"),
        "http://a.org/3.html\tyes\nhttp://a.org/4.html\tyes\nhttp://a.org/1.html\tno\n",
    )
    .unwrap();
    fs::write(dir.join("seeds.tsv"), "all\thttp://a.org/\n").unwrap();
}

fn topic(dir: &Path) -> String {
    let file = dir.join("sql.toml");
    fs::write(
        &file,
        "name = 'sql'\n[content]\nterms = ['sql', 'joins']\n[judge]\nkind = 'genre'\nthreshold = 0.5\n",
    )
    .unwrap();
    file.display().to_string()
}

#[test]
fn numbers_worked_out_on_paper() {
    let dir = tempfile::tempdir().unwrap();
    let web = dir.path().join("web");
    tiny(&web);
    let out = dir.path().join("out");
    let topic = topic(dir.path());
    let args = [
        "backtest",
        "--web",
        web.to_str().unwrap(),
        "--topic",
        &topic,
        "--strategies",
        "breadth-first,best-first-anchor",
        "--out",
        out.to_str().unwrap(),
    ];
    ok(&gleaner(&args, dir.path()));
    let results: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(out.join("results.json")).unwrap()).unwrap();
    let run = |strategy: &str| {
        results["runs"].as_array().unwrap().iter().find(|r| r["strategy"] == strategy).unwrap().clone()
    };
    let r = run("breadth-first");
    // Order: / 1 2 3 4. R = 5, M = 2, hits at p = 4 and 5: auc = ((5−4+½) + (5−5+½)) / (5·2) = 0.2.
    assert_eq!((r["reachable"].as_u64(), r["relevant_reachable"].as_u64()), (Some(5), Some(2)));
    assert_eq!(r["auc"], 0.2);
    assert_eq!(r["random_auc"], 0.5);
    // Best possible: / 3 2 4 1: hits at 2 and 4: ((5−2+½) + (5−4+½)) / 10 = 0.5.
    assert_eq!(r["oracle_auc"], 0.5);
    assert_eq!(r["harvest"], 0.4);
    // The crawl ends after 5 pages: what it has then.
    assert_eq!((&r["found"]["100"], &r["found"]["2000"]), (&2.into(), &2.into()));
    assert_eq!((r["search_length"]["50"].as_u64(), r["search_length"]["90"].as_u64()), (Some(4), Some(5)));
    // The judge: page 3 has one of two terms, cos = 1/√2 ≥ ½; page 4 both. Nothing else has any.
    assert_eq!((r["judge"]["precision"].as_f64(), r["judge"]["recall"].as_f64()), (Some(1.0), Some(1.0)));
    // The anchor of 3 says sql: / 3 1 2 4, hits at 2 and 5: (3.5 + 0.5) / 10.
    assert_eq!(run("best-first-anchor")["auc"], 0.4);
    let order = fs::read_to_string(out.join("order-sql-best-first-anchor-0.tsv")).unwrap();
    let urls: Vec<&str> = order.lines().map(|l| l.split('\t').nth(1).unwrap()).collect();
    assert_eq!(
        urls,
        [
            "http://a.org/",
            "http://a.org/3.html",
            "http://a.org/1.html",
            "http://a.org/2.html",
            "http://a.org/4.html"
        ]
    );
    assert!(order.lines().nth(1).unwrap().starts_with("2\thttp://a.org/3.html\t0.707107\tyes"), "{order}");
    assert!(fs::read_to_string(out.join("report.html")).unwrap().contains("best-first-anchor"));
    assert!(out.join("timing.json").is_file());
}

#[test]
fn the_same_bytes_whatever_the_number_of_threads() {
    let dir = tempfile::tempdir().unwrap();
    let run = |threads: &str, name: &str| -> BTreeMap<String, Vec<u8>> {
        let out = dir.path().join(name);
        let args = [
            "backtest",
            "--web",
            "sim:campus?pages=400&hosts=8",
            "--strategies",
            "all",
            "--rng",
            "0..1",
            "--threads",
            threads,
            "--out",
            out.to_str().unwrap(),
        ];
        ok(&gleaner(&args, dir.path()));
        let files = fs::read_dir(&out).unwrap().flatten();
        let kept = files.filter(|e| {
            let n = e.file_name().into_string().unwrap();
            n == "results.json" || n.starts_with("order-")
        });
        kept.map(|e| (e.file_name().into_string().unwrap(), fs::read(e.path()).unwrap())).collect()
    };
    let (one, four) = (run("1", "one"), run("4", "four"));
    assert!(one.len() > 10);
    assert_eq!(one.keys().collect::<Vec<_>>(), four.keys().collect::<Vec<_>>());
    for (name, bytes) in &one {
        assert!(bytes == &four[name], "{name} differs");
    }
}

/// Labels play the person: the crawl without labels is as ever, those with labels are the same on any number
/// of threads.
#[test]
fn crawls_that_are_taught() {
    let dir = tempfile::tempdir().unwrap();
    let run = |name: &str, more: &[&str]| -> (String, String) {
        let out = dir.path().join(name);
        let mut args = vec!["backtest", "--web", "sim:campus?pages=400&hosts=8", "--strategies", "adaptive"];
        args.extend(["--rng", "1..2", "--out", out.to_str().unwrap()]);
        args.extend(more);
        let done = gleaner(&args, dir.path());
        ok(&done);
        let table = String::from_utf8(done.stdout).unwrap();
        (fs::read_to_string(out.join("results.json")).unwrap(), table)
    };
    let one = run("one", &["--teach", "0,7,20", "--threads", "1"]);
    let three = run("three", &["--teach", "7,20", "--threads", "3"]);
    assert!(one == three);
    let json = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
    let (taught, plain) = (json(&one.0), json(&run("plain", &[]).0));
    for (with, without) in taught["runs"].as_array().unwrap().iter().zip(plain["runs"].as_array().unwrap()) {
        let mut rest = with.clone();
        let lessons = rest.as_object_mut().unwrap().remove("teach").unwrap();
        assert_eq!(rest, *without, "what is not about labels is without labels");
        let lessons = lessons.as_array().unwrap();
        let numbers = |key: &str| lessons.iter().map(|l| l[key].as_u64().unwrap()).collect::<Vec<_>>();
        assert_eq!((numbers("labels"), numbers("given")), (vec![0, 7, 20], vec![0, 7, 20]));
        assert_eq!(lessons[0]["found"], with["found"]);
        assert!(
            lessons[0]["f1_all"] == with["judge"]["f1"],
            "without labels all pages have the judge's verdict"
        );
        assert!(
            lessons.iter().all(|l| l["brier"].as_f64().unwrap() < 0.5 && l["calibration"]["pages"].is_u64())
        );
        assert_ne!(lessons[0]["brier"], lessons[2]["brier"], "labels teach");
    }
    assert_eq!(taught["teaching"]["labels"], serde_json::json!([0, 7, 20]));
    assert!(taught["teaching"]["how"].as_str().unwrap().contains("the other half"));
    assert!(
        one.1.contains("F1 all") && one.1.lines().any(|l| l.starts_with("campus") && l.contains(" 20 ")),
        "{}",
        one.1
    );
    let html = fs::read_to_string(dir.path().join("one/report.html")).unwrap();
    assert!(html.contains("Verdicts by number of labels") && html.contains("adaptive, with labels"));
    // Answers that are all wrong do harm; the crawl without any is the same.
    let wrong = json(&run("wrong", &["--teach", "20", "--wrong", "1"]).0);
    assert_eq!(wrong["teaching"]["wrong"], 1.0);
    let all = |of: &serde_json::Value, i: usize| of["summary"][0]["teach"][i]["f1_all"].as_f64().unwrap();
    assert_eq!(all(&wrong, 0), all(&taught, 0));
    assert!(all(&wrong, 1) < all(&taught, 2), "{} {}", all(&wrong, 1), all(&taught, 2));
}

#[test]
fn bad_input_is_explained() {
    let dir = tempfile::tempdir().unwrap();
    let web = dir.path().join("web");
    tiny(&web);
    let topic = topic(dir.path());
    let w = web.to_str().unwrap();
    let out = dir.path().join("out");
    let o = out.to_str().unwrap();
    let run = |more: &[&str]| {
        let mut args = vec!["backtest", "--topic", &topic, "--out", o];
        args.extend(more);
        gleaner(&args, dir.path())
    };
    fails(&run(&["--web", "/no/such/web"]), 2, &["/no/such/web", "hint"]);
    fails(&run(&["--web", w, "--strategies", "best-frist"]), 2, &["best-frist", "best-first"]);
    fails(&run(&["--web", w, "--relevant-label", "maybe"]), 2, &["maybe", "yes"]);
    fails(&run(&["--web", w, "--rng", "x"]), 2, &["--rng"]);
    fails(&run(&["--web", w, "--teach", "ten"]), 2, &["--teach ten", "`ten` is not a number", "hint"]);
    fails(&run(&["--web", w, "--teach", "20,10"]), 2, &["10 comes after 20", "fewest first"]);
    fails(&run(&["--web", w, "--teach", "-3"]), 2, &["--teach -3"]);
    fails(&run(&["--web", w, "--teach", "10", "--wrong", "2"]), 2, &["--wrong 2", "from 0 to 1"]);
    fails(&run(&["--web", w, "--wrong", "0.1"]), 2, &["--teach"]);
    let bare = dir.path().join("bare");
    tiny(&bare);
    fs::remove_file(bare.join("labels.tsv")).unwrap();
    fails(
        &run(&["--web", bare.to_str().unwrap(), "--teach", "10"]),
        2,
        &["--teach needs labels", "--labels"],
    );
    fails(&run(&["--web", w, "--seeds", "/no/such/file"]), 1, &["/no/such/file"]);
    let outside = dir.path().join("outside.txt");
    fs::write(&outside, "http://elsewhere.org/\n").unwrap();
    fails(&run(&["--web", w, "--seeds", outside.to_str().unwrap()]), 4, &["none of the 1 seeds"]);
    let empty = dir.path().join("empty");
    fs::create_dir_all(&empty).unwrap();
    fails(&run(&["--web", empty.to_str().unwrap()]), 4, &["has no pages", "hint"]);
    let damaged = dir.path().join("cut.warc");
    let whole = warc(&["http://a.org/", "http://a.org/3.html"]);
    fs::write(&damaged, &whole[..whole.len() - 60]).unwrap();
    let seeds = dir.path().join("a.txt");
    fs::write(&seeds, "http://a.org/\nhttp://elsewhere.org/\n").unwrap();
    let (d, s) = (damaged.to_str().unwrap(), seeds.to_str().unwrap());
    // A truncated archive is used as far as it goes, and so are the seeds that are there; both are said.
    let done = run(&["--web", d, "--seeds", s, "--strategies", "breadth-first"]);
    ok(&done);
    let said = String::from_utf8_lossy(&done.stderr).to_string();
    assert!(said.contains("elsewhere.org") && said.contains("cut.warc"), "{said}");
    let results: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(out.join("results.json")).unwrap()).unwrap();
    assert_eq!(results["runs"][0]["pages"], 1, "the page before the damage");
    // Labels of pages that are not there, twice the same, and nonsense: counted, not fatal.
    let labels = dir.path().join("labels.tsv");
    fs::write(
        &labels,
        "http://a.org/3.html\tyes\nhttp://a.org/3.html\tyes\nhttp://a.org/gone.html\tyes\nnonsense\n",
    )
    .unwrap();
    let done = run(&["--web", w, "--labels", labels.to_str().unwrap()]);
    ok(&done);
    let said = String::from_utf8_lossy(&done.stderr).to_string();
    for what in
        ["note:", "gone.html", "not in the web", "labelled twice, with the same labels", "without a tab"]
    {
        assert!(said.contains(what), "{what}: {said}");
    }
    // Nothing usable at all is fatal, and says so.
    fs::write(&labels, "http://a.org/gone.html\tyes\n").unwrap();
    fails(
        &run(&["--web", w, "--labels", labels.to_str().unwrap()]),
        2,
        &["no usable label", "not in the web"],
    );
}

/// A WARC of pages that say little.
fn warc(urls: &[&str]) -> String {
    let mut out = String::new();
    for url in urls {
        let body = "<p>sql</p><a href=/3.html>three</a>";
        let http = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        out += &format!(
            "WARC/1.0\r\nWARC-Type: response\r\nWARC-Record-ID: \
             <urn:uuid:00000000-0000-0000-0000-{:012}>\r\nWARC-Date: 2024-01-01T00:00:00Z\r\n\
             WARC-Target-URI: {url}\r\nContent-Type: application/http; msgtype=response\r\n\
             Content-Length: {}\r\n\r\n{http}\r\n\r\n",
            url.len(),
            http.len()
        );
    }
    out
}

/// A ledger on disk, records and all, orders the crawl as the one in memory does.
#[test]
fn the_order_is_the_same_on_disk() {
    let dir = tempfile::tempdir().unwrap();
    let run = |name: &str, more: &[&str]| -> BTreeMap<String, Vec<u8>> {
        let out = dir.path().join(name);
        let mut args = vec![
            "backtest",
            "--web",
            "sim:campus?pages=250&hosts=5",
            "--strategies",
            "adaptive,genre,pagerank,apprentice,agents,infospiders,intelligent",
            "--rng",
            "3",
            "--concurrency",
            "4",
            "--out",
            out.to_str().unwrap(),
        ];
        args.extend(more);
        ok(&gleaner(&args, dir.path()));
        let entries: Vec<_> = fs::read_dir(&out).unwrap().flatten().collect();
        assert!(entries.iter().all(|e| !e.path().is_dir()), "nothing is left behind");
        let orders = entries.iter().filter(|e| {
            let name = e.file_name().into_string().unwrap();
            name.starts_with("order-") || name == "results.json"
        });
        orders.map(|e| (e.file_name().into_string().unwrap(), fs::read(e.path()).unwrap())).collect()
    };
    let (memory, disk) = (run("memory", &[]), run("disk", &["--on-disk"]));
    assert_eq!(memory.len(), 8);
    for (name, bytes) in &memory {
        assert!(Some(bytes) == disk.get(name), "{name} differs");
    }
}

/// S3's measure: relevant is what is like an example page.
#[test]
fn labels_from_example_pages() {
    let dir = tempfile::tempdir().unwrap();
    let web = dir.path().join("web");
    tiny(&web);
    let (w, out) = (web.to_str().unwrap(), dir.path().join("out"));
    let with = dir.path().join("with.toml");
    fs::write(
        &with,
        "name = 'x'\n[content]\nterms = ['sql']\n[examples]\nrelevant = ['http://a.org/3.html']\n",
    )
    .unwrap();
    let run = |topics: &[&str], more: &[&str]| {
        let mut args = vec!["backtest", "--web", w, "--labels", "examples", "--strategies", "breadth-first"];
        args.extend(["--out", out.to_str().unwrap()]);
        for t in topics {
            args.extend(["--topic", t]);
        }
        args.extend(more);
        gleaner(&args, dir.path())
    };
    let with = with.to_str().unwrap();
    let done = run(&[with], &[]);
    ok(&done);
    let results: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(out.join("results.json")).unwrap()).unwrap();
    // Of 3 (sql) itself the cosine is 1; of 4 (sql, joins; "and" is a stopword) 1/√2 = 0.707; of / (one, two,
    // three, sql) 1/2; others 0. More than 0.75: one page.
    assert_eq!(results["runs"][0]["relevant_reachable"], 1);
    let said = String::from_utf8_lossy(&done.stderr);
    // Five pages: (1 + 0.7071 + 0.5) / 5 = 0.441.
    assert!(
        said.contains("1 of 5 pages are like an example, harvest ratio 0.200, mean similarity 0.441"),
        "{said}"
    );
    ok(&run(&[with], &["--similar", "0.7"]));
    let results: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(out.join("results.json")).unwrap()).unwrap();
    assert_eq!(results["runs"][0]["relevant_reachable"], 2);
    assert!(fs::read_to_string(out.join("report.html")).unwrap().contains("<h2>Loss</h2>"));
    fails(&run(&[&topic(dir.path())], &[]), 2, &["no example pages", "[examples]"]);
    fails(&run(&[with, &topic(dir.path())], &[]), 2, &["one topic"]);
    fails(&run(&[with], &["--similar", "2"]), 2, &["--similar 2"]);
}

struct Served(Child, String);

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn serve() -> Served {
    use std::io::BufRead;
    let mut child = Command::new(env!("CARGO_BIN_EXE_gleaner"))
        .args(["demo", "--serve-only"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut line = String::new();
    std::io::BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    Served(child, line.trim().to_string())
}

/// A WARC that wget wrote replays: the same pages get the same scores as in a live crawl of ours.
#[test]
fn a_warc_of_wget_replays() {
    if Command::new("wget").arg("--version").output().is_err() {
        return crate::support::tools::missing("wget (./test installs it)");
    }
    let dir = tempfile::tempdir().unwrap();
    let server = serve();
    let base = dir.path().join("wget");
    let proxy = format!("http_proxy=http://{}", server.1);
    let status = Command::new("wget")
        .args([
            "-q",
            "-r",
            "-l",
            "2",
            "-e",
            "robots=off",
            "-e",
            "use_proxy=yes",
            "-e",
            &proxy,
            "--delete-after",
            "--tries=1",
            "--timeout=10",
        ])
        .arg(format!("--warc-file={}", base.display()))
        .args(["-P", dir.path().join("files").to_str().unwrap(), "http://cs.northfield.example/"])
        .status()
        .unwrap();
    // wget exits with 8 when some URL answered with an error; the demo web has such URLs on purpose.
    assert!(matches!(status.code(), Some(0 | 8)), "{status}");
    let topic = dir.path().join("demo.toml");
    fs::write(
        &topic,
        "name = 'db'\n[genre]\npreset = 'syllabus'\n[content]\n\
                       terms = ['sql', 'relational model', 'normalization']\n[judge]\nkind = 'genre'\n\
                       threshold = 0.4\n[scope]\nhosts = ['cs.northfield.example']\n",
    )
    .unwrap();
    let seeds = dir.path().join("seeds.txt");
    fs::write(&seeds, "http://cs.northfield.example/\n").unwrap();
    let live = dir.path().join("live");
    let resolve = format!("*:{}", server.1);
    let args = [
        "crawl",
        topic.to_str().unwrap(),
        "--out",
        live.to_str().unwrap(),
        "--seeds",
        seeds.to_str().unwrap(),
        "--resolve",
        &resolve,
        "--allow-private",
        "--delay",
        "0",
        "--strategy",
        "breadth-first",
        "--quiet",
        "--pages",
        "60",
    ];
    ok(&gleaner(&args, dir.path()));
    let scores = |web: &str, name: &str| -> BTreeMap<String, String> {
        let out = dir.path().join(name);
        let args = [
            "backtest",
            "--web",
            web,
            "--topic",
            topic.to_str().unwrap(),
            "--seeds",
            seeds.to_str().unwrap(),
            "--strategies",
            "breadth-first",
            "--out",
            out.to_str().unwrap(),
        ];
        ok(&gleaner(&args, dir.path()));
        let order = fs::read_to_string(out.join("order-demo-breadth-first-0.tsv")).unwrap();
        order
            .lines()
            .map(|l| {
                let f: Vec<&str> = l.split('\t').collect();
                (f[1].to_string(), f[2].to_string())
            })
            .collect()
    };
    let wget = scores(&format!("{}.warc.gz", base.display()), "from-wget");
    let ours = scores(live.to_str().unwrap(), "from-ours");
    let common: Vec<&String> = wget.keys().filter(|u| ours.contains_key(*u)).collect();
    assert!(common.len() >= 10, "{} of {} and {} pages in common", common.len(), wget.len(), ours.len());
    for url in common {
        assert_eq!(wget[url], ours[url], "{url}");
    }
}
