//! Bad neighbours: hosts that hang or drip must not cost others their pages, nor keep a crawl from stopping;
//! and whoever sets the machine's clock must not make it rude.

use crate::common::{Ran, Running, file, finish, folder, gleaner, until};
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// How a host behaves.
#[derive(Clone, Copy, PartialEq)]
enum Manner {
    /// Answers at once; every page leads to three more.
    Good,
    /// Answers robots.txt and one page (with links to more of its own), then takes requests and says nothing.
    HangsLater,
    /// Never answers anything.
    Hangs,
    /// Answers robots.txt, and sends pages a byte at a time.
    Drips,
    /// Good over http; its pages lead to https, where the first word is never answered.
    NoTls,
}

fn manner(host: &str) -> Manner {
    match host.split('.').next().unwrap_or("").trim_end_matches(|c: char| c.is_ascii_digit()) {
        "later" => Manner::HangsLater,
        "hangs" => Manner::Hangs,
        "drips" => Manner::Drips,
        "notls" => Manner::NoTls,
        _ => Manner::Good,
    }
}

/// A request as it arrived.
#[derive(Clone, Debug)]
struct Asked {
    at: Instant,
    host: String,
    path: String,
}

/// All hosts at one address, each with its manner. Keeps a log.
struct Street {
    addr: SocketAddr,
    log: Arc<Mutex<Vec<Asked>>>,
}

impl Street {
    fn open() -> Street {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let addr = listener.local_addr().unwrap();
        let log = Arc::new(Mutex::new(Vec::new()));
        let kept = log.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let log = kept.clone();
                // A connection ends with whoever asked: nothing to be said when it breaks.
                std::thread::spawn(move || drop(talk(stream, &log)));
            }
        });
        Street { addr, log }
    }

    fn resolve(&self) -> String {
        format!("*:{}", self.addr)
    }

    fn log(&self) -> Vec<Asked> {
        self.log.lock().unwrap().clone()
    }

    /// Pages that hosts with this manner were asked for.
    fn pages(&self, of: Manner) -> usize {
        self.log().iter().filter(|a| manner(&a.host) == of && a.path != "/robots.txt").count()
    }
}

fn talk(stream: TcpStream, log: &Mutex<Vec<Asked>>) -> std::io::Result<()> {
    let mut out = stream.try_clone()?;
    let mut input = BufReader::new(stream);
    // The first byte of TLS. Nobody is at that door.
    if input.fill_buf()?.first() == Some(&0x16) {
        std::thread::sleep(Duration::from_secs(120));
        return Ok(());
    }
    loop {
        let (mut path, mut host, mut line) = (String::new(), String::new(), String::new());
        while input.read_line(&mut line)? > 0 && line.trim_end() != "" {
            if let Some(rest) = line.strip_prefix("GET ") {
                path = rest.split(' ').next().unwrap_or("/").to_string();
            } else if let Some((name, value)) = line.split_once(':')
                && name.eq_ignore_ascii_case("host")
            {
                host = value.trim().to_string();
            }
            line.clear();
        }
        if path.is_empty() {
            return Ok(());
        }
        let mut all = log.lock().unwrap();
        all.push(Asked { at: Instant::now(), host: host.clone(), path: path.clone() });
        let earlier = all.iter().filter(|a| a.host == host).count() - 1;
        drop(all);
        let manner = manner(&host);
        if manner == Manner::Hangs || (manner == Manner::HangsLater && earlier >= 2) {
            std::thread::sleep(Duration::from_secs(120));
            return Ok(());
        }
        if path == "/robots.txt" {
            out.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")?;
            continue;
        }
        let n: u64 = path.trim_start_matches('/').parse().unwrap_or(0);
        let scheme = if manner == Manner::NoTls { "https:" } else { "" };
        let mut body =
            format!("<!doctype html><title>Page {n} of {host}</title><p>A page about page {n}.</p>");
        for k in 1..=3 {
            body += &format!("<a href='/{}'>page</a> ", n * 3 + k);
            if manner == Manner::NoTls {
                body += &format!("<a href='{scheme}//{host}/{}'>page</a> ", n * 3 + k + 1_000_000);
            }
        }
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        out.write_all(head.as_bytes())?;
        if manner == Manner::Drips {
            for byte in body.bytes() {
                out.write_all(&[byte])?;
                std::thread::sleep(Duration::from_millis(200));
            }
            continue;
        }
        out.write_all(body.as_bytes())?;
    }
}

/// A topic that wants every page; one host gives at most three pages a second.
const TOPIC: &str =
    "name = 'All'\nquery = 'page'\n[fetch]\ndelay = '300ms'\n[archive]\nwarc = false\nindex = false\n";

struct Scene {
    dir: tempfile::TempDir,
    street: Street,
}

impl Scene {
    /// The hosts, as seeds in this order.
    fn new(topic: &str, hosts: &[String]) -> Scene {
        let dir = folder();
        file(dir.path(), "all.toml", topic);
        let seeds: Vec<String> = hosts.iter().map(|h| format!("http://{h}/\n")).collect();
        file(dir.path(), "seeds.txt", &seeds.concat());
        Scene { dir, street: Street::open() }
    }

    fn path(&self) -> &Path {
        self.dir.path()
    }

    fn crawl(&self, more: &[&str]) -> Command {
        let mut command = gleaner();
        command.args(["crawl", "all.toml", "--out", "all", "--strategy", "breadth-first", "--allow-private"]);
        command.args(["--seeds", "seeds.txt", "--resolve", &self.street.resolve()]);
        command.args(more).current_dir(self.path());
        command
    }
}

fn hosts(n: usize, name: impl Fn(usize) -> String) -> Vec<String> {
    (0..n).map(name).collect()
}

fn good(n: usize) -> Vec<String> {
    hosts(n, |i| format!("good{i}.test"))
}

/// Pages of the good hosts within a time: without and with bad ones, at the same time, so that whatever else
/// this machine has to do slows both.
fn beside(mixed: &[String], seconds: u64) -> (usize, usize, Scene) {
    let alone = Scene::new(TOPIC, &good(20));
    let mixed = Scene::new(TOPIC, mixed);
    let time = format!("{seconds}s");
    let runs = [&alone, &mixed].map(|s| Running::start(&mut s.crawl(&["--time", &time])));
    for run in runs {
        run.wait().ok();
    }
    (alone.street.pages(Manner::Good), mixed.street.pages(Manner::Good), mixed)
}

#[track_caller]
fn assert_undisturbed(alone: usize, mixed: usize) {
    eprintln!("{mixed} pages of the good hosts beside bad ones, {alone} without");
    assert!(alone >= 100, "{alone} pages alone: too few to compare");
    assert!(mixed * 10 >= alone * 8, "{mixed} pages beside bad hosts, {alone} without");
}

#[test]
fn a_domain_whose_hosts_hang_costs_others_nothing() {
    let (alone, mixed, _) = beside(&[hosts(60, |i| format!("later{i}.bad.test")), good(20)].concat(), 8);
    assert_undisturbed(alone, mixed);
}

#[test]
fn hosts_of_many_domains_that_never_answer_cost_others_nothing() {
    let (alone, mixed, scene) = beside(&[good(20), hosts(60, |i| format!("hangs{i}.test"))].concat(), 8);
    assert_undisturbed(alone, mixed);
    let asked = scene.street.log().iter().filter(|a| manner(&a.host) == Manner::Hangs).count();
    assert!((8..=16).contains(&asked), "{asked} requests to hosts that hang, of 32");
}

#[test]
fn a_domain_whose_hosts_drip_costs_others_nothing() {
    let (alone, mixed, scene) = beside(&[hosts(60, |i| format!("drips{i}.bad.test")), good(20)].concat(), 8);
    assert_undisturbed(alone, mixed);
    assert!(scene.street.pages(Manner::Drips) >= 4, "they have their share");
}

#[test]
fn a_host_without_an_answer_over_https_goes_on_over_http() {
    let scene = Scene::new(TOPIC, &hosts(6, |i| format!("notls{i}.test")));
    finish(&mut scene.crawl(&["--time", "14s"])).ok();
    let log = scene.street.log();
    let first = log.first().unwrap().at;
    // Over https one request of each host is silent for ten seconds; what comes after that is what is looked
    // for.
    let late = log.iter().filter(|a| a.at > first + Duration::from_secs(11)).count();
    assert!(late >= 12, "{late} pages over http after https fell silent: {}", log.len());
}

/// How long a crawl ran on after the moment it had to stop.
fn seconds_to_stop(scene: &Scene, more: &[&str], stop: impl FnOnce(&Running) -> Instant) -> f64 {
    let running = Running::start(&mut scene.crawl(more));
    let asked = stop(&running);
    let ran = running.wait();
    // Stopped by a limit, or by hand.
    assert!(matches!(ran.code, Some(0 | 3)), "{ran}");
    asked.elapsed().as_secs_f64()
}

#[test]
fn a_crawl_stops_soon_whoever_hangs() {
    let scene = || Scene::new(TOPIC, &[good(5), hosts(40, |i| format!("hangs{i}.test"))].concat());
    // Five seconds, and a little for a machine that has much else to do.
    let most = 7.0;
    let began = Instant::now();
    let by_time = seconds_to_stop(&scene(), &["--time", "2s"], |_| began + Duration::from_secs(2));
    assert!(by_time < most, "{by_time:.1} s after --time");

    let pages = scene();
    let street = &pages.street;
    let by_pages = seconds_to_stop(&pages, &["--pages", "20"], |_| {
        let end = Instant::now() + Duration::from_secs(60);
        while street.pages(Manner::Good) < 20 && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(20));
        }
        Instant::now()
    });
    assert!(by_pages < most, "{by_pages:.1} s after --pages");
    let status = finish(gleaner().args(["status", "all", "--json"]).current_dir(pages.path()));
    let status: serde_json::Value = serde_json::from_str(&status.ok().out).unwrap();
    assert_eq!(status["pages"], 20, "{status}");

    let hand = scene();
    let by_hand = seconds_to_stop(&hand, &[], |running| {
        until("the crawl is under way", || hand.street.pages(Manner::Good) > 5);
        running.signal("INT");
        Instant::now()
    });
    assert!(by_hand < most, "{by_hand:.1} s after Ctrl-C");
}

/// A library that adds what a file says to the machine's clock, for one program.
const CLOCK: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t id, struct timespec *t) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int done = real(id, t);
    const char *name = getenv("CLOCK_OFFSET");
    if (id != CLOCK_REALTIME || !name) return done;
    int file = open(name, O_RDONLY);
    if (file < 0) return done;
    char text[32] = {0};
    if (read(file, text, sizeof text - 1) > 0) t->tv_sec += atoll(text);
    close(file);
    return done;
}
"#;

/// The machine's clock, as one program sees it.
struct FakeClock {
    library: PathBuf,
    offset: PathBuf,
}

impl FakeClock {
    fn new(dir: &Path) -> FakeClock {
        let (source, library) = (file(dir, "clock.c", CLOCK), dir.join("clock.so"));
        let mut cc = Command::new("cc");
        cc.args(["-shared", "-fPIC", "-o"]).arg(&library).arg(source).arg("-ldl");
        assert!(cc.status().unwrap().success(), "cannot compile: {cc:?}");
        let clock = FakeClock { library, offset: dir.join("offset") };
        clock.set(0);
        clock
    }

    /// Seconds from now on, in one step.
    fn set(&self, seconds: i64) {
        let new = self.offset.with_extension("new");
        std::fs::write(&new, seconds.to_string()).unwrap();
        std::fs::rename(new, &self.offset).unwrap();
    }

    fn show_to<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command.env("LD_PRELOAD", &self.library).env("CLOCK_OFFSET", &self.offset)
    }
}

/// One host, five requests a second.
const SLOWLY: &str =
    "name = 'All'\nquery = 'page'\n[fetch]\ndelay = '200ms'\n[archive]\nwarc = false\nindex = false\n";

/// The most requests within a second that any host got.
fn most_in_a_second(log: &[Asked]) -> usize {
    let mut by_host: HashMap<&str, Vec<Instant>> = HashMap::new();
    for a in log {
        by_host.entry(&a.host).or_default().push(a.at);
    }
    let within = |all: &[Instant], i: usize| {
        all[i..].iter().take_while(|at| at.duration_since(all[i]) < Duration::from_secs(1)).count()
    };
    by_host.values().flat_map(|all| (0..all.len()).map(move |i| within(all, i))).max().unwrap_or(0)
}

#[track_caller]
fn assert_polite_and_under_way(log: &[Asked], after: Instant, ran: &Ran) {
    let rate = most_in_a_second(log);
    assert!(rate <= 6, "{rate} requests within a second to one host\n{ran}");
    let later = log.iter().filter(|a| a.at > after).count();
    assert!(later >= 6, "{later} requests after the clock was set\n{ran}");
}

#[test]
fn a_clock_that_is_set_while_crawling_changes_nothing() {
    for seconds in [-3_600, 86_400 * 365] {
        let scene = Scene::new(SLOWLY, &good(2));
        let clock = FakeClock::new(scene.path());
        let running = Running::start(clock.show_to(&mut scene.crawl(&["--time", "6s"])));
        until("the crawl is under way", || scene.street.log().len() > 3);
        clock.set(seconds);
        let set = Instant::now();
        let ran = running.wait();
        assert_polite_and_under_way(&scene.street.log(), set + Duration::from_millis(300), ran.ok());
        assert!(set.elapsed() < Duration::from_secs(20), "--time counts by the clock on the wall");
    }
}

#[test]
fn a_clock_that_is_set_between_two_runs_changes_nothing() {
    let scene = Scene::new(SLOWLY, &good(2));
    let clock = FakeClock::new(scene.path());
    // Ten years ahead, back to now, a day ahead.
    for seconds in [86_400 * 3_650, 0, 86_400] {
        clock.set(seconds);
        let began = Instant::now();
        let ran = finish(clock.show_to(&mut scene.crawl(&["--time", "3s"])));
        assert_polite_and_under_way(&scene.street.log(), began, ran.ok());
    }
}
