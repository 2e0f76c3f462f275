//! A crawl that is killed again and again loses nothing, repeats nothing and stays polite.
//!
//! The web is the one of `gleaner demo`, served by a process of its own whose log is the witness.
//! `GLEANER_LONG=1` (`./test long`) kills 200 times instead of 25.

use crate::common;
use crate::common::collection::Snapshot;
use crate::common::endurance::{self, now_ms, topic};
use crate::common::{DemoServer, Rng, Running, file, finish, folder, long, python, script};
use madeup::{Entry, Site, Size, read_log};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use types::Outcome;

const DELAY_MS: u64 = 30;
/// What a busy server sees so soon after a start may have been sent before it.
const STARTING_MS: u64 = 300;

fn crawl(server: &DemoServer, topic: &Path, out: &Path) -> Command {
    endurance::crawl(server, topic, out, DELAY_MS, 24)
}

/// One run of the crawler that ended by SIGKILL.
struct Leg {
    spawned: u64,
    killed: u64,
}

/// When to kill: after so many pages or misses and a little more, or after so long, whichever comes first.
struct Moment {
    events: u64,
    more: Duration,
    time: Duration,
}

/// Starts the crawler and kills it at the moment. `None`: it was done before.
fn leg(mut command: Command, moment: Moment) -> Option<Leg> {
    let spawned = now_ms();
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let events = Arc::new(AtomicU64::new(0));
    let (counter, out) = (events.clone(), child.stdout.take().unwrap());
    let reader = std::thread::spawn(move || {
        for line in BufReader::new(out).lines().map_while(Result::ok) {
            if line.contains("\"event\":\"page\"") || line.contains("\"event\":\"miss\"") {
                counter.fetch_add(1, Ordering::SeqCst);
            }
        }
    });
    let started = Instant::now();
    while events.load(Ordering::SeqCst) < moment.events && started.elapsed() < moment.time {
        if child.try_wait().unwrap().is_some() {
            break;
        }
        std::thread::sleep(Duration::from_micros(300));
    }
    std::thread::sleep(moment.more);
    let ended = child.try_wait().unwrap();
    child.kill().unwrap();
    let killed = now_ms();
    let status = child.wait().unwrap();
    reader.join().unwrap();
    match ended {
        None => {
            // Killed it was, not ended a moment before.
            assert_eq!(status.code(), None, "{status}");
            Some(Leg { spawned, killed })
        }
        Some(status) if status.success() => None,
        Some(status) => {
            let mut text = String::new();
            let mut err = child.stderr.take().unwrap();
            std::io::Read::read_to_string(&mut err, &mut text).unwrap();
            panic!("the crawler ended with {status}\n{text}");
        }
    }
}

#[test]
fn killed_at_random_moments() {
    let (kills, size): (u64, _) = if long() { (200, Some(5000)) } else { (25, Some(1100)) };
    let web = Site::new(1, size.map_or(Size::Full, Size::Pages)).pages() as u64;
    let dir = folder();
    let topic = file(dir.path(), "topic.toml", &topic());

    // The undisturbed run, at the same time, on a web of its own (hosts that fail at first remember who
    // came).
    let calm_dir = dir.path().join("calm");
    let calm_server = DemoServer::start(&dir.path().join("calm.log"), size);
    let calm = Running::start(&mut crawl(&calm_server, &topic, &calm_dir));

    let out = dir.path().join("killed");
    let server = DemoServer::start(&dir.path().join("killed.log"), size);
    let mut rng = Rng(20_261_115);
    let mut legs: Vec<Leg> = Vec::new();
    let mut snapshots: Vec<Snapshot> = vec![Snapshot::default()];
    for n in 0..kills {
        // What is left of the web, shared out among the kills that are left, so that the last one comes
        // before the end.
        let done = snapshots[n as usize].settled().count() as u64;
        let quota = ((web * 9 / 10).saturating_sub(done) / (kills - n)).max(1);
        let moment = match n % 5 {
            // Perhaps before there is anything, or while the collection is being opened.
            1 => Moment {
                events: 3 * quota,
                more: Duration::ZERO,
                time: Duration::from_micros(rng.below(400_000)),
            },
            _ => Moment {
                events: rng.between(1, 2 * quota),
                more: Duration::from_micros(rng.below(20_000)),
                time: Duration::from_secs(30),
            },
        };
        let Some(leg) = leg(crawl(&server, &topic, &out), moment) else {
            panic!("the crawl was done after {n} kills: the web is too small for {kills}")
        };
        legs.push(leg);
        let snapshot = Snapshot::take(&out);
        snapshot.has_all_of(&snapshots[n as usize]);
        let archive = snapshot.check_archive(&out, &dir.path().join("archive"));
        if n % 5 == 0 && !archive.is_empty() {
            warcio_checks(&archive);
        }
        if n % 5 == 3 {
            leave_half_written(&out);
        }
        snapshots.push(snapshot);
    }
    let pages: Vec<usize> = snapshots.iter().map(|s| s.pages.len()).collect();
    println!("pages at each kill: {pages:?}");
    assert!(
        pages.windows(2).filter(|w| w[1] > w[0]).count() as u64 > kills / 2,
        "the kills came too soon: {pages:?}"
    );

    let spawned = now_ms();
    finish(&mut crawl(&server, &topic, &out)).ok();
    legs.push(Leg { spawned, killed: u64::MAX });
    let last = Snapshot::take(&out);
    last.has_all_of(&snapshots[kills as usize]);
    assert_eq!(last.pending(), 0, "crawled to the end");
    assert!(last.pages.len() > pages[kills as usize], "something was left for the last run");
    warcio_checks(&last.check_archive(&out, &dir.path().join("archive")));

    // What a settled URL had to give was had: it is never asked for again. And every page really came from
    // the server.
    let log = read_log(&server.log).unwrap_or_else(|p| panic!("{p}"));
    let mut requests: BTreeMap<String, Vec<&Entry>> = BTreeMap::new();
    for e in &log {
        requests.entry(format!("http://{}{}", e.host, e.path)).or_default().push(e);
    }
    for (leg, snapshot) in legs.iter().zip(&snapshots[1..]) {
        for (url, outcome) in snapshot.settled().filter(|(_, o)| *o != Outcome::Dropped) {
            let again = requests.get(url).and_then(|all| all.iter().find(|e| e.arrived > leg.killed));
            assert!(again.is_none(), "{url} was settled ({outcome:?}), then asked for again: {again:?}");
        }
    }
    for url in last.pages.keys() {
        let whole = requests.get(url).is_some_and(|all| all.iter().any(|e| e.status == 200));
        assert!(whole, "{url} has a record but was never served");
    }
    polite(&log, &legs);

    calm.wait().ok();
    let undisturbed = Snapshot::take(&calm_dir);
    assert_eq!(undisturbed.pending(), 0);
    polite(&read_log(&calm_server.log).unwrap(), &[]);
    let (a, b) = (undisturbed.relevant(), last.relevant());
    assert!(a.len() > 40, "the undisturbed run found {} relevant pages", a.len());
    let missing: Vec<_> = a.difference(&b).collect();
    let extra: Vec<_> = b.difference(&a).collect();
    assert!(missing.is_empty() && extra.is_empty(), "killed: missing {missing:?}, extra {extra:?}");
    // Hosts that refuse or fail at first are in both.
    for url in ["http://busy.hillcrest.example/", "http://flaky.lakeside.example/lab/retry.html"] {
        assert!(undisturbed.pages.contains_key(url) && last.pages.contains_key(url), "{url}");
    }
}

/// What a kill between the archive's write and the ledger's commit leaves behind. The moment is so short that
/// chance hardly ever finds it: pages at the end of the archive that the ledger does not know, and half a
/// commit.
fn leave_half_written(collection: &Path) {
    let archive = common::warcs(collection).pop();
    for (path, most) in [(archive, usize::MAX), (Some(collection.join("ledger.log")), 999)] {
        let Some(path) = path.filter(|p| p.is_file()) else { continue };
        let bytes = std::fs::read(&path).unwrap();
        let mut file = std::fs::File::options().append(true).open(&path).unwrap();
        std::io::Write::write_all(&mut file, &bytes[..(bytes.len() * 2 / 3).min(most)]).unwrap();
    }
}

pub fn warcio_checks(files: &[std::path::PathBuf]) {
    if let Some(python) = python("warcio's check of a killed crawl's archive") {
        script(&python, "check_warc.py", files).ok();
    }
}

/// The server's own log: one request at a time per host, and a pause between the end of one and the start of
/// the next, robots.txt included and across restarts.
fn polite(log: &[Entry], legs: &[Leg]) {
    let hosts = endurance::polite(log, DELAY_MS, |a, b| {
        // A request of a killed crawler ends for the server when it notices (and a busy server may even see
        // it only then), but it was sent before the kill.
        match legs.iter().rposition(|l| l.spawned <= a.arrived) {
            Some(i) if a.finished >= legs[i].killed => a.arrived.min(legs[i].killed),
            // Right after a start, what is asked for twice may have been sent by the one before, and only now
            // be seen.
            Some(i) if i > 0 && a.path == b.path && a.arrived < legs[i].spawned + STARTING_MS => {
                a.arrived.min(legs[i - 1].killed)
            }
            _ => a.finished,
        }
    });
    assert!(hosts > 20, "only {hosts} hosts were visited");
}

// ---- a full disk
// ------------------------------------------------------------------------------------------------------

/// Many pages of much text on ten hosts, each linking to the next few.
fn wordy_web(pages: usize) -> String {
    let mut rng = Rng(7);
    let url = |n: usize| format!("http://h{}.example/{n}", n % 10);
    let mut web = String::new();
    for n in 0..pages {
        web += &format!("== {}\n<title>Page {n}</title>\n", url(n));
        for next in [n * 2 + 1, n * 2 + 2].into_iter().filter(|m| *m < pages) {
            web += &format!("<a href='{}'>sql {next}</a>\n", url(next));
        }
        web += "<p>sql ";
        for _ in 0..1200 {
            // Words that do not compress well.
            web += &format!("{:x} ", rng.below(1 << 24));
        }
        web += "\n";
    }
    web
}

const WORDY: usize = 240;

fn crawl_wordy(server: &madeup::Server, topic: &Path, out: &Path) -> Command {
    let mut command = common::crawl(server, topic, out);
    command.args(["--seed", "http://h0.example/0", "--delay", "1ms"]);
    command
}

/// The crawl failed for want of room; with room again it goes on, and nothing is lost or fetched twice.
fn goes_on(server: &madeup::Server, topic: &Path, out: &Path, failed: &common::Ran, scratch: &Path) {
    // (On a slow machine a line of progress may come before it.)
    assert!(failed.err.lines().any(|line| line.starts_with("error: cannot ")), "{failed}");
    let stopped = Snapshot::take(out);
    assert!(stopped.pages.len() > 10 && stopped.pages.len() < WORDY, "{} pages", stopped.pages.len());
    stopped.check_archive(out, scratch);
    let asked = server.log().entries().len();
    finish(&mut crawl_wordy(server, topic, out)).ok();
    let whole = Snapshot::take(out);
    whole.has_all_of(&stopped);
    assert_eq!((whole.pages.len(), whole.pending()), (WORDY, 0));
    warcio_checks(&whole.check_archive(out, scratch));
    for e in &server.log().entries()[asked..] {
        let url = format!("http://{}{}", e.host, e.path);
        let was = stopped.urls.get(&url).map(|u| u.1);
        assert!(!matches!(was, Some(frontier::State::Settled(_))), "{url} was settled, then asked for again");
    }
    // The index has them all, too.
    let found = common::run(["search", out.to_str().unwrap(), "sql", "--all", "--json", "--limit", "1000"]);
    assert_eq!(found.ok().out.lines().count(), WORDY, "{found}");
}

#[test]
fn a_full_disk_stops_the_crawl_and_costs_nothing() {
    let dir = folder();
    // By default a crawl stops before.
    let whatever = file(dir.path(), "t.toml", "name = \"x\"\nquery = \"sql\"\n[limits]\ndisk_free = 0\n");
    let careful = file(dir.path(), "careful.toml", "name = \"x\"\nquery = \"sql\"\n");
    let disk = dir.path().join("disk");
    std::fs::create_dir(&disk).unwrap();
    let mount = |options: &str| {
        let done =
            Command::new("mount").args(["-t", "tmpfs", "-o", options, "gleaner-test"]).arg(&disk).output();
        done.is_ok_and(|m| m.status.success())
    };
    if !mount("size=2m") {
        use std::io::Write;
        let _ = writeln!(
            std::io::stderr(),
            "SKIPPED: a full disk: mounting is not permitted here (a file size limit is tried)"
        );
        return;
    }
    struct Unmount<'a>(&'a Path);
    impl Drop for Unmount<'_> {
        fn drop(&mut self) {
            let _ = Command::new("umount").arg(self.0).status();
        }
    }
    let _unmount = Unmount(&disk);
    let server = common::serve(&wordy_web(WORDY));
    let (topic, out) = (whatever, disk.join("out"));
    let stopped = finish(&mut crawl_wordy(&server, &careful, &disk.join("careful")));
    stopped.fails(1, &["nothing was fetched: the disk is nearly full", "disk_free"]);
    std::fs::remove_dir_all(disk.join("careful")).unwrap();
    let failed = finish(&mut crawl_wordy(&server, &topic, &out));
    failed.fails(
        1,
        &["No space left on device", "free some space and run the same command again; nothing is lost"],
    );
    assert!(mount("remount,size=100m"));
    goes_on(&server, &topic, &out, &failed, &dir.path().join("archive"));
}

#[test]
fn a_file_that_may_not_grow_stops_the_crawl_and_costs_nothing() {
    let dir = folder();
    let topic = file(dir.path(), "t.toml", "name = \"x\"\nquery = \"sql\"\n");
    let server = common::serve(&wordy_web(WORDY));
    let out = dir.path().join("out");
    let free = crawl_wordy(&server, &topic, &out);
    // Files of at most 512 or 1024 times this many bytes, as the shell counts; an ignored signal stays
    // ignored.
    let mut limited = Command::new("sh");
    limited
        .args(["-c", "trap '' XFSZ; ulimit -f 700; exec \"$0\" \"$@\""])
        .arg(free.get_program())
        .args(free.get_args());
    let failed = finish(&mut limited);
    failed.fails(1, &["File too large", "lift the limit", "nothing is lost"]);
    goes_on(&server, &topic, &out, &failed, &dir.path().join("archive"));
}
