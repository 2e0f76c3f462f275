//! What can be wrong with what people give us, and what they are told: the thing, the place, the next step,
//! and the exit code (1 failure, 2 usage or configuration, 3 stopped by the user, 4 nothing to do).

use crate::common::collection::Snapshot;
use crate::common::dashboard::Dashboard;
use crate::common::{Ran, Running, crawl, file, finish, folder, gleaner, run, serve};
use madeup::Server;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

const TOPIC: &str = "name = \"Syllabi\"\n[content]\nterms = [\"sql\"]\n";

/// Runs `gleaner crawl` on a topic of this text, with `args`; nothing is ever fetched.
fn crawl_topic(text: &str, args: &[&str]) -> Ran {
    let dir = folder();
    let topic = file(dir.path(), "topic.toml", text);
    finish(gleaner().current_dir(dir.path()).arg("crawl").arg(topic).args(args))
}

const LOCAL: &[&str] = &["--seed", "http://a.example/", "--resolve", "*:127.0.0.1:9", "--allow-private"];

#[test]
fn a_topic_file_with_a_mistake() {
    for (text, says) in [
        // A typo names the nearest key, with its place.
        (
            "name = \"x\"\n[limits]\npagse = 10\n",
            &["topic.toml:3:1: unknown key `pagse`", "hint: did you mean `pages`?"][..],
        ),
        (
            "name = \"x\"\n[lmits]\npages = 10\n",
            &["topic.toml:2:2: unknown key `lmits`", "did you mean `limits`?"],
        ),
        // A wrong type, a missing unit, broken TOML.
        ("name = \"x\"\n[limits]\npages = \"many\"\n", &["topic.toml:3:9", "string \"many\""]),
        ("name = \"x\"\n[fetch]\ndelay = 5\n", &["topic.toml:3:9", "with a unit"]),
        ("name = \"x\"\n[fetch\n", &["topic.toml:2:"]),
        ("name = \"x\nquery = \"y\"\n", &["topic.toml:1:"]),
        // Settings that contradict themselves, or each other.
        (
            "name = \"x\"\nquery = \"y\"\n[fetch]\nconcurrency = 0\n",
            &["concurrency = 0 would fetch nothing", "use 1 or more"],
        ),
        (
            "name = \"x\"\nquery = \"y\"\n[limits]\npages = 0\n",
            &["a limit of 0 pages", "leave the limit out"],
        ),
        ("name = \"x\"\nquery = \"y\"\n[limits]\nexpand_min = 2\n", &["expand_min must be between 0 and 1"]),
        ("name = \"x\"\nquery = \"y\"\n[scope]\npatterns = [\"(\"]\n", &["pattern", "("]),
        ("name = \"x\"\nquery = \"y\"\n[limits]\nper_host = 0\n", &["per_host = 0 would fetch nothing"]),
        // A typo beside the options of a judge.
        (
            "name = \"x\"\nquery = \"y\"\n[judge]\ntreshold = 0.5\n",
            &["`treshold`", "did you mean `threshold`?"],
        ),
        // Nothing says what is wanted.
        (
            "# mine\nname = \"x\"\n",
            &["topic.toml:2:1: topic \"x\" does not say what is wanted", "hint: give at least one"],
        ),
        ("", &["the topic has no name", "hint:"]),
        // Twice the same.
        (
            "name = \"x\"\n[content]\nterms = [\"a\"]\n[content]\nterms = [\"b\"]\n",
            &["topic.toml:4:", "is there twice", "hint: put what belongs together into one"],
        ),
        (
            "name = \"x\"\nquery = \"y\"\n[judge]\nthreshold = 1.5\n",
            &["topic.toml:4:1: the threshold 1.5 is not between 0 and 1", "hint: write threshold = \"auto\""],
        ),
        // Names that do not exist.
        (
            "name = \"x\"\n[genre]\npreset = \"sylabus\"\n",
            &["topic.toml:3:1: [genre] preset: there is no genre `sylabus`", "did you mean `syllabus`?"],
        ),
        (
            "name = \"x\"\nquery = \"y\"\n[judge]\nkind = \"gendre\"\n",
            &["there is no judge `gendre`", "genre"],
        ),
        (
            "name = \"x\"\nquery = \"y\"\n[strategy]\nkind = \"breath-first\"\n",
            &["there is no strategy `breath-first`", "breadth-first"],
        ),
        (
            "name = \"x\"\nquery = \"y\"\n[strategy]\nkind = \"breadth-first\"\ndepht = 3\n",
            &["strategy `breadth-first` has no option `depht`"],
        ),
        // Seeds that are not URLs.
        (
            "name = \"x\"\nquery = \"y\"\n[seeds]\nurls = [\"http://\"]\n",
            &["seed `http://`", "seeds are whole URLs"],
        ),
    ] {
        let ran = crawl_topic(text, LOCAL);
        println!("{text}\n{ran}\n");
        ran.fails(2, says);
        assert!(ran.err.starts_with("error: "), "{ran}");
    }
}

#[test]
fn flags_with_a_mistake() {
    for (args, says) in [
        (&["--strategy", "best-frist"][..], &["there is no strategy `best-frist`", "best-first"][..]),
        (&["--judge", "jury"], &["there is no judge `jury`", "hint:"]),
        (&["--genre", "sylabus"], &["there is no genre `sylabus`", "did you mean `syllabus`?"]),
        (&["--delay", "5"], &["--delay", "500ms"]),
        (&["--time", "soon"], &["--time", "soon", "2h"]),
        (&["--pages", "many"], &["--pages", "many"]),
        (&["--pages", "0"], &["a limit of 0 pages", "use 1 or more"]),
        (
            &["--resolve", "example.org"],
            &["cannot read the resolve rule `example.org`", "HOST:PORT:ADDR:PORT"],
        ),
        (&["--resolve", "*:localhost:80"], &["cannot read the resolve rule `*:localhost:80`", "*:ADDR:PORT"]),
        (
            &["--proxy", "http://127.0.0.1:3128"],
            &["--proxy and --resolve contradict each other", "leave one of them out"],
        ),
        (&["--seed", "mailto:me@example.org"], &["seed `mailto:me@example.org`", "seeds are whole URLs"]),
        (&["--seed", "not a url at all"], &["seed `not a url at all`"]),
        (
            &["--seeds", "/nonexistent/seeds.txt"],
            &["cannot read the seeds /nonexistent/seeds.txt", "check the path"],
        ),
        (&["--store", "mysql://x"], &["--store is not the address", "postgres://USER"]),
        (&["--pagse", "3"], &["--pagse", "--pages"]),
    ] {
        let ran = crawl_topic(TOPIC, &[LOCAL, args].concat());
        println!("{args:?}\n{ran}\n");
        // A file that cannot be read is a failure, everything else is a usage error.
        ran.fails(if says[0].starts_with("cannot read the seeds") { 1 } else { 2 }, says);
    }
    // A folder instead of a file, and bytes that are not text.
    let dir = folder();
    let topic = file(dir.path(), "t.toml", TOPIC);
    let ran = run(["crawl".as_ref(), topic.as_os_str(), "--seeds".as_ref(), dir.path().as_os_str()]);
    ran.fails(1, &["cannot read the seeds"]);
    fs::write(dir.path().join("bytes.toml"), [0xff, 0xfe, 0x00]).unwrap();
    run(["crawl".as_ref(), dir.path().join("bytes.toml").as_os_str()])
        .fails(1, &["cannot read the topic file", "UTF-8"]);
    run(["crawl", "/nonexistent/topic.toml"])
        .fails(1, &["cannot read the topic file /nonexistent/topic.toml", "`gleaner new`"]);
}

#[test]
fn nowhere_to_start() {
    let dir = folder();
    let topic = file(dir.path(), "t.toml", TOPIC);
    let out = dir.path().join("out");
    let resolve = ["--resolve", "*:127.0.0.1:9", "--allow-private"];
    let ran = finish(gleaner().arg("crawl").arg(&topic).arg("--out").arg(&out).args(resolve));
    ran.fails(4, &["there is nowhere to start: no seeds", "--seed URL or --seeds FILE"]);
    assert!(!out.exists(), "nothing was made");
    let empty = file(dir.path(), "seeds.txt", "# no seed here\n\n");
    let ran = finish(
        gleaner().arg("crawl").arg(&topic).arg("--out").arg(&out).args(resolve).arg("--seeds").arg(&empty),
    );
    ran.fails(4, &["no seed in", "seeds.txt"]);
}

#[test]
fn no_seed_can_be_reached() {
    let dir = folder();
    let topic = file(dir.path(), "t.toml", &format!("{TOPIC}[fetch]\nattempts = 1\n"));
    // Nobody listens there, and nobody is given that port by chance.
    let free = "127.0.0.1:1";
    let mut command = gleaner();
    command.arg("crawl").arg(&topic).arg("--out").arg(dir.path().join("out"));
    command.args(["--seed", "http://a.example/", "--resolve", &format!("*:{free}"), "--allow-private"]);
    let ran = finish(&mut command);
    ran.fails(
        4,
        &[
            "none of your 1 seeds answered: http://a.example/ (no connection)",
            "`gleaner fetch http://a.example/`",
        ],
    );
    assert!(ran.err.contains("no answer from a.example"), "said when it happens: {ran}");
    assert!(
        !ran.err.contains("gleaner search") && !ran.err.contains("report.html"),
        "no use for an empty collection: {ran}"
    );
    // Nor is a 404 a page.
    let server = serve("== http://b.example/\nunreached\n");
    let mut command = crawl(&server, &topic, &dir.path().join("out2"));
    finish(command.args(["--seed", "http://a.example/nothing"]))
        .fails(4, &["none of your 1 seeds gave a page", "status 404"]);
    // The guard: loopback without --allow-private.
    let mut command = gleaner();
    command.arg("crawl").arg(&topic).arg("--out").arg(dir.path().join("out3"));
    command.args(["--seed", &format!("http://{}/", server.addr()), "--contact", "me@example.org"]);
    finish(&mut command).fails(4, &["none of your 1 seeds gave a page", "--allow-private"]);
    assert!(server.log().entries().iter().all(|e| e.host == "a.example"), "the guard let something through");
}

#[test]
fn the_public_web_wants_to_know_who_crawls_it() {
    let ran = crawl_topic(TOPIC, &["--seed", "https://www.example.org/"]);
    ran.fails(2, &["no contact is set", "--contact"]);
    let ran = crawl_topic(TOPIC, &["--seed", "https://www.example.org/", "--contact", "me"]);
    ran.fails(2, &["the contact `me` is neither a URL nor a mail address", "hint:"]);
    // Sending one host elsewhere still leaves the others on the public web.
    let one = ["--resolve", "a.example:80:127.0.0.1:9", "--allow-private"];
    let ran = crawl_topic(TOPIC, &[&["--seed", "http://a.example/"], &one[..]].concat());
    ran.fails(2, &["no contact is set"]);
}

#[test]
fn commands_that_need_a_collection() {
    let dir = folder();
    let nothing = dir.path().to_str().unwrap();
    for args in [
        vec!["status", nothing],
        vec!["search", nothing, "words"],
        vec!["explain", nothing, "http://a.example/"],
        vec!["export", nothing],
        vec!["status", "/nonexistent"],
    ] {
        run(&args).fails(2, &["is not a collection", "the folder that `gleaner crawl` wrote"]);
    }
    run(["crawl"]).fails(2, &["nothing says which pages are wanted", "`gleaner new`", "--query"]);
    run(["frobnicate"]).fails(2, &["frobnicate", "--help"]);
    run(["strategies", "breath-first"])
        .fails(2, &["there is no strategy `breath-first`", "did you mean `breadth-first`?"]);
    run(["judges", "gendre"]).fails(2, &["there is no judge `gendre`", "did you mean `genre`?"]);
    run(["genres", "sylabus"]).fails(2, &["there is no genre `sylabus`", "syllabus"]);
    run(["fetch", "http://127.0.0.1:9/"]).fails(1, &["--allow-private"]);
    run(["fetch", "ftp://example.org/"]).fails(2, &["ftp://example.org/"]);
    run(["extract", "nonexistent.html"]).fails(2, &["there is no file `nonexistent.html`"]);
    run(["extract", "http://"]).fails(2, &["`http://` is neither a file nor a URL", "hint:"]);
    run(["extract", "/nonexistent.html"])
        .fails(2, &["there is no file `/nonexistent.html`", "check the path"]);
    run(["new"]).fails(2, &["there is nobody to ask", "--subject"]);
    let topic = file(dir.path(), "t.toml", TOPIC);
    run(["new".as_ref(), "--query".as_ref(), "x".as_ref(), "-o".as_ref(), topic.as_os_str()])
        .fails(2, &["exists already", "--force"]);
}

// ---- a collection that something happened to
// --------------------------------------------------------------------------

/// A web of one host with `n` pages, and its crawl settings.
struct Small {
    server: Server,
    _dir: tempfile::TempDir,
    topic: PathBuf,
    out: PathBuf,
    pages: usize,
}

impl Small {
    fn new(pages: usize, mark: &str) -> Small {
        let mut web = String::from("== http://a.example/\n<title>Start</title>\n");
        for n in 1..pages {
            web += &format!("<a href='/{n}'>course {n}</a>\n");
        }
        for n in 1..pages {
            web += &format!(
                "== http://a.example/{n} {mark}\n<title>Course {n}</title>All about sql, part {n}.\n"
            );
        }
        let dir = folder();
        let topic = file(dir.path(), "t.toml", TOPIC);
        let out = dir.path().join("out");
        Small { server: serve(&web), _dir: dir, topic, out, pages }
    }

    fn crawl(&self) -> Command {
        let mut command = crawl(&self.server, &self.topic, &self.out);
        command.args(["--seed", "http://a.example/", "--delay", "1ms"]);
        command
    }

    fn done(pages: usize) -> Small {
        let small = Small::new(pages, "");
        finish(&mut small.crawl()).ok();
        assert_eq!(Snapshot::take(&small.out).pages.len(), pages);
        small
    }

    /// Goes on to the end; everything is there, nothing was fetched twice since `before`.
    fn ends_well(&self) {
        finish(&mut self.crawl()).ok();
        assert_eq!(Snapshot::take(&self.out).pages.len(), self.pages);
    }

    fn checkpoints(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(&self.out).unwrap().flatten().map(|e| e.path());
        entries.filter(|p| p.file_name().unwrap().to_str().unwrap().starts_with("checkpoint-")).collect()
    }
}

#[test]
fn an_unknown_format_or_url() {
    let small = Small::done(3);
    let out = small.out.to_str().unwrap();
    run(["export", out, "--format", "xls"])
        .fails(2, &["unknown export format `xls`", "choose one of: jsonl, csv, parquet, warc"]);
    run(["export", out, "-o", "/nonexistent/pages.jsonl"])
        .fails(1, &["cannot write /nonexistent/pages.jsonl", "check the path"]);
    run(["explain", out, "http://a.example/nowhere"])
        .fails(4, &["http://a.example/nowhere was never seen by this crawl", "check the spelling"]);
    run(["explain", out, "::"]).fails(2, &["`::`"]);
    run(["search", out, "\"unclosed phrase"]).ok();
}

#[test]
fn a_ledger_cut_off_at_any_place_is_repaired_and_goes_on() {
    for part in [0, 5, 9] {
        let small = Small::done(12);
        let path = small.out.join("ledger.log");
        let whole = fs::read(&path).unwrap();
        // At 0 even the first commit is gone.
        fs::write(&path, &whole[..whole.len() * part / 10]).unwrap();
        finish(&mut small.crawl()).fails(1, &["ledger.log is ", "12 pages", "gleaner repair"]);
        run(["repair", small.out.to_str().unwrap()]).ok();
        small.ends_well();
        // Each page is in the archive once.
        Snapshot::take(&small.out).check_archive(&small.out, &small.out.with_extension("archive"));
    }
}

#[test]
fn a_ledger_damaged_in_the_middle_is_named_not_guessed_at() {
    let small = Small::done(30);
    let path = small.out.join("ledger.log");
    let whole = fs::read(&path).unwrap();
    let mut bytes = whole.clone();
    let middle = bytes.len() / 2;
    bytes[middle..middle + 16].iter_mut().for_each(|b| *b ^= 0x55);
    fs::write(&path, &bytes).unwrap();
    for checkpoint in small.checkpoints() {
        fs::remove_file(checkpoint).unwrap();
    }
    let ran = finish(&mut small.crawl());
    ran.fails(1, &["ledger.log is damaged at byte", "restore the folder from a backup", "`gleaner export`"]);
    assert_eq!(fs::read(&path).unwrap(), bytes, "a damaged ledger is left as it is");
    // What is before the damage can be had, and it is said that there was more.
    let out = small.out.to_str().unwrap();
    let export = run(["export", out, "--all"]);
    export.fails(1, &["damaged at byte"]);
    let n = export.out.lines().count();
    assert!(n > 0 && n < 30, "{n} pages");
    run(["status", out]).fails(1, &["damaged at byte", "gleaner repair"]);
    // From the backup all is well.
    fs::write(&path, &whole).unwrap();
    small.ends_well();
}

#[test]
fn a_damaged_checkpoint_costs_only_time() {
    let small = Small::done(10);
    let checkpoints = small.checkpoints();
    assert!(!checkpoints.is_empty(), "a finished crawl leaves a checkpoint");
    for path in &checkpoints {
        let mut bytes = fs::read(path).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 0xff;
        fs::write(path, bytes).unwrap();
    }
    small.ends_well();
    for path in small.checkpoints() {
        fs::write(path, b"short").unwrap();
    }
    small.ends_well();
    let asked = small.server.log().entries().len();
    assert_eq!(asked, 1 + 10, "nothing was fetched again");
}

#[test]
fn a_lost_index_or_topic_is_made_again() {
    let small = Small::done(10);
    fs::remove_dir_all(small.out.join("index")).unwrap();
    fs::remove_file(small.out.join("topic.toml")).unwrap();
    let out = small.out.to_str().unwrap();
    run(["status", out]).fails(1, &["topic.toml", "hint:"]);
    small.ends_well();
    let found = run(["search", out, "course", "--limit", "50", "--all", "--json"]);
    assert_eq!(found.ok().out.lines().count(), 10, "{found}");
}

#[test]
fn another_process_holds_the_collection() {
    let small = Small::new(40, "!delay=100ms");
    let running = Running::start(&mut small.crawl());
    let until = Instant::now() + Duration::from_secs(60);
    while !small.server.log().entries().iter().any(|e| e.path == "/1") {
        assert!(Instant::now() < until, "the crawl does not begin");
        std::thread::sleep(Duration::from_millis(10));
    }
    let second = finish(&mut small.crawl());
    second.fails(1, &["another gleaner process holds", "out", "wait for it to end or stop it"]);
    // Looking is allowed meanwhile.
    let out = small.out.to_str().unwrap();
    run(["status", out]).ok().shows(&["a crawl is running"]);
    run(["export", out, "--all"]).ok();
    run(["search", out, "sql"]).ok();
    assert_eq!(running.wait().code, Some(0));
    run(["status", out]).ok().shows(&["not running"]);
}

#[test]
fn a_folder_that_cannot_be_written() {
    let dir = folder();
    let topic = file(dir.path(), "t.toml", TOPIC);
    let crawl_to = |out: &Path| finish(gleaner().arg("crawl").arg(&topic).arg("--out").arg(out).args(LOCAL));
    // A file is in the way.
    let ran = crawl_to(&topic.join("out"));
    ran.fails(1, &["cannot create the collection folder", "t.toml/out"]);
    // No right to write. The superuser has every right, so for them it is a disk mounted read-only.
    let place = dir.path().join("locked");
    fs::create_dir(&place).unwrap();
    let mut right = fs::metadata(&place).unwrap().permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut right, 0o555);
    fs::set_permissions(&place, right).unwrap();
    if fs::write(place.join("probe"), b"").is_err() {
        crawl_to(&place.join("out")).fails(1, &["cannot create the collection folder", "check who owns it"]);
        return;
    }
    let mount =
        Command::new("mount").args(["-t", "tmpfs", "-o", "ro,size=1m", "gleaner-test"]).arg(&place).output();
    if !mount.is_ok_and(|m| m.status.success()) {
        use std::io::Write;
        let _ = writeln!(std::io::stderr(), "SKIPPED: a read-only disk: mounting is not permitted here");
        return;
    }
    let ran = crawl_to(&place.join("out"));
    let _ = Command::new("umount").arg(&place).status();
    ran.fails(1, &["cannot create the collection folder", "mounted read-only", "--out"]);
}

#[test]
fn a_clock_that_went_backwards_blocks_nobody() {
    use frontier::{Frontier, Next, Pick};
    use types::{Candidate, Canon, HostUpdate, LinkKind, Millis, Priority, RobotsAnswer, Settle, Turn};
    let small = Small::new(5, "");
    // A run at a time when the clock was ten days ahead: it asked for robots.txt, and the host wanted to
    // rest.
    let future = Millis(Millis::now().0 + 10 * 24 * 3_600_000);
    fs::create_dir_all(&small.out).unwrap();
    {
        let limits = frontier::Limits { delay_ms: 1000, ..frontier::Limits::default() };
        let mut ledger = store::Ledger::open(&small.out, store::Options::new(limits), future).unwrap();
        let seed = Candidate {
            url: Canon::default().parse("http://a.example/").unwrap(),
            parent: None,
            kind: LinkKind::Seed,
            depth: 0,
            site_depth: 0,
            hops: 0,
            priority: Priority::key_only(1.0),
            evidence: Vec::new(),
            model: 0,
            ttl: None,
            anchor: "".into(),
        };
        ledger.seed(seed, future).unwrap();
        let Next::Lease(lease) = ledger.lease(future, Pick::Best).unwrap() else { panic!("no lease") };
        let answer = RobotsAnswer {
            status: 404,
            body: Vec::new(),
            fetched: future,
            expires: Millis(future.0 + 86_400_000),
        };
        let mut turn = Turn::new(Settle::Robots { id: lease.id, answer });
        turn.host =
            HostUpdate { contacted: true, finished: future, failed: Some(false), ..HostUpdate::default() };
        ledger.apply(turn, &|old, _| old).unwrap();
        ledger.commit().unwrap();
    }
    let started = Instant::now();
    small.ends_well();
    assert!(started.elapsed() < Duration::from_secs(60), "it waited for a future that is gone");
}

// ---- Ctrl-C
// ---------------------------------------------------------------------------------------------------------

/// Waits until the server has answered so many requests.
fn answered(server: &Server, n: usize) {
    let until = Instant::now() + Duration::from_secs(60);
    while server.log().entries().len() < n {
        assert!(Instant::now() < until, "the crawl does not go on");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn ctrl_c_once_stops_cleanly_and_the_same_command_goes_on() {
    let small = Small::new(40, "!delay=30ms");
    let running = Running::start(&mut small.crawl());
    answered(&small.server, 8);
    running.signal("INT");
    let stopped = running.wait();
    stopped.fails(3, &["stopping; press Ctrl-C again to leave at once", "stopped by the user"]);
    stopped.fails(3, &["go on     the same command goes on where it stopped"]);
    let snapshot = Snapshot::take(&small.out);
    assert!(snapshot.pages.len() >= 6 && snapshot.pages.len() < 40, "{} pages", snapshot.pages.len());
    run(["status", small.out.to_str().unwrap()])
        .ok()
        .shows(&["not running; `gleaner crawl", "` goes on with it"]);
    small.ends_well();
    Snapshot::take(&small.out).has_all_of(&snapshot);
    let asked = small.server.log().entries();
    assert_eq!(asked.len(), 1 + 40, "what was in flight was finished, not fetched again");
}

#[test]
fn ctrl_c_twice_leaves_at_once() {
    // The second page never comes.
    let web = "
        == http://a.example/
        <title>Start</title><a href='/slow'>sql</a>
        == http://a.example/slow !delay=60000ms
        <title>Late</title>
    ";
    let server = serve(web);
    let dir = folder();
    let topic = file(dir.path(), "t.toml", TOPIC);
    let out = dir.path().join("out");
    let mut command = crawl(&server, &topic, &out);
    let running = Running::start(command.args(["--seed", "http://a.example/", "--delay", "1ms"]));
    answered(&server, 2);
    std::thread::sleep(Duration::from_millis(300));
    running.signal("INT");
    running.says("stopping; press Ctrl-C again");
    let pressed = Instant::now();
    running.signal("INT");
    let ran = running.wait();
    assert!(pressed.elapsed() < Duration::from_secs(5), "it took {:?}", pressed.elapsed());
    ran.fails(3, &["stopping; press Ctrl-C again"]);
    let snapshot = Snapshot::take(&out);
    assert_eq!(
        (snapshot.pages.len(), snapshot.pending()),
        (1, 1),
        "what was committed is there, the rest is pending"
    );
}

#[test]
fn seeds_in_a_file_that_are_none_are_named() {
    let web = serve("== http://a.test/\n<title>A</title><p>sql</p>\n");
    let dir = folder();
    let topic = file(dir.path(), "topic.toml", TOPIC);
    let seeds = "\u{feff}http://a.test/\nnot a url\nmailto:me@example.org\n";
    let seeds = file(dir.path(), "seeds.txt", seeds);
    let ran = finish(crawl(&web, &topic, &dir.path().join("out")).arg("--seeds").arg(&seeds));
    assert!(ran.ok().err.contains("left out:") && ran.err.contains("not a url"), "{ran}");
    assert!(web.log().entries().iter().any(|e| e.path == "/"), "the first line is a seed");
}

#[test]
fn what_is_there_is_not_written_over() {
    let web = serve("== http://a.test/\n<title>A</title><p>sql</p>\n");
    let dir = folder();
    let topic = file(dir.path(), "topic.toml", TOPIC);
    let out = dir.path().join("out");
    finish(crawl(&web, &topic, &out).args(["--seed", "http://a.test/"])).ok();
    let before = std::fs::read(out.join("report.html")).unwrap();
    // The demo and a backtest need folders of their own.
    for more in [&["--fresh"][..], &[]] {
        let ran = finish(gleaner().args(["demo", "--out"]).arg(&out).args(more));
        ran.fails(2, &["holds a collection of another topic", "--out"]);
    }
    let mut backtest = gleaner();
    backtest.args(["backtest", "--web", "sim:campus?pages=50", "--strategies", "breadth-first", "--out"]);
    finish(backtest.arg(&out)).fails(2, &["holds a collection", "--out"]);
    assert!(std::fs::read(out.join("report.html")).unwrap() == before, "and its report is its own");
}

/// What two topics want is not mixed by accident.
#[test]
fn another_topic_is_refused_unless_it_is_wanted() {
    let web = serve("== http://a.test/\n<title>A</title><p>sql</p>\n");
    let dir = folder();
    let topic = file(dir.path(), "topic.toml", TOPIC);
    let out = dir.path().join("out");
    let seed = ["--seed", "http://a.test/"];
    finish(crawl(&web, &topic, &out).args(seed)).ok();
    let kept = std::fs::read(out.join("topic.toml")).unwrap();
    let other = file(dir.path(), "other.toml", "name = \"Cooking\"\n[content]\nterms = [\"recipes\"]\n");
    let ran = finish(crawl(&web, &other, &out).args(seed));
    ran.fails(2, &["was crawled for another topic", "`content`", "--out OTHER", "--change-topic"]);
    assert_eq!(std::fs::read(out.join("topic.toml")).unwrap(), kept, "nothing was changed");
    // The same without a file.
    let mut command = gleaner();
    command.args(["crawl", "--subject", "recipes", "--out"]).arg(&out);
    finish(command.args(["--resolve", &web.resolve(), "--allow-private"])).fails(2, &["another topic"]);
    // Limits and pace are no topic.
    let slower = file(dir.path(), "slower.toml", &format!("{TOPIC}[limits]\npages = 7\n"));
    finish(crawl(&web, &slower, &out).args(seed)).ok();
    let ran = finish(crawl(&web, &other, &out).args(seed).arg("--change-topic"));
    assert!(ran.ok().err.contains("the topic has changed") && ran.err.contains("gleaner rejudge"), "{ran}");
    finish(crawl(&web, &other, &out).args(seed)).ok();
}

/// A value that does not fit: what, why, and what would.
#[test]
fn values_that_do_not_fit_are_explained() {
    let dir = folder();
    let topic = file(dir.path(), "t.toml", TOPIC);
    let topic = topic.to_str().unwrap();
    for (args, says) in [
        (
            &["crawl", topic, "--pages", "ten"][..],
            &["--pages cannot be `ten`", "whole number", "--pages 500"][..],
        ),
        (
            &["crawl", topic, "--delay", "soon"],
            &["--delay cannot be `soon`", "500ms", "gleaner crawl --help"],
        ),
        (&["serve", "--listen", "nowhere"], &["--listen cannot be `nowhere`", "localhost:7700"]),
        (
            &["crawl", topic, "--seed", "http://a.example/", "--store", "mysql://x/y"],
            &[
                "--store is not the address of a PostgreSQL database",
                "mysql://",
                "hint: write it as postgres://",
            ],
        ),
        (&["status", "--store", "crawls"], &["`crawls` has no postgres://", "hint: "]),
    ] {
        let ran = run(args);
        ran.fails(2, says);
        ran.fails(2, &["  because: ", "\n\nhint: "]);
    }
    for (text, says) in [
        ("name = \"x\nquery = 3\n", &["b.toml:1:", "this is not TOML", "`name = \"x`", "gleaner new"][..]),
        ("name = \"x\"\n[limits\npages = 3\n", &["b.toml:2:", "this is not TOML", "`[limits`"]),
        (
            "name = \"x\"\n[limits]\npages = \"ten\"\n",
            &["b.toml:3:", "does not fit", "`pages = \"ten\"`", "hint: "],
        ),
    ] {
        let broken = file(dir.path(), "b.toml", text);
        run(["config", broken.to_str().unwrap()]).fails(2, says);
    }
}

#[test]
fn a_port_in_use_leaves_nothing_behind_and_names_are_addresses() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let web = serve("== http://a.test/\n<title>A</title><p>sql</p>\n");
    let dir = folder();
    let topic = file(dir.path(), "topic.toml", TOPIC);
    let out = dir.path().join("out");
    let listen = format!("localhost:{port}");
    let serving = ["--seed", "http://a.test/", "--serve", "--listen"];
    let ran = finish(crawl(&web, &topic, &out).args(serving).arg(&listen));
    ran.fails(1, &["cannot listen on 127.0.0.1:", "another program uses this port"]);
    assert!(!out.exists(), "nothing was made");
    drop(taken);
    let ran = finish(crawl(&web, &topic, &out).args(serving).arg("localhost:0"));
    assert!(ran.ok().err.contains("dashboard: http://127.0.0.1:"), "{ran}");
    let d = Dashboard::run(gleaner().arg("serve").arg(&out).args(["--listen", "localhost:0"]));
    assert_eq!(d.get("/api/v1/collections").status, 200);
}

#[test]
fn a_file_that_is_missing_is_not_looked_for_on_the_web() {
    let dir = folder();
    let topic = file(dir.path(), "topic.toml", TOPIC);
    let at = |args: &[&str]| finish(gleaner().args(args).current_dir(dir.path()));
    for args in [&["judge", topic.to_str().unwrap(), "good1.html"][..], &["terms", "good1.html"]] {
        let ran = at(args);
        assert!(ran.code != Some(0) && ran.err.contains("there is no file `good1.html`"), "{ran}");
    }
    at(&["extract", "."]).fails(2, &["`.` is a folder"]);
}
