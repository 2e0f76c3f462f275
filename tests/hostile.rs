//! Servers that mean harm, against the whole program. The server's own count is the witness.

mod common;

use ::crawl::collection::Collection;
use ::crawl::config::Config;
use ::crawl::{Event, live};
use common::{Ran, Running, file, finish, folder, gleaner};
use fetch::{Http, Resolve, ResolveFuture, Settings};
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};
use types::{Canon, Millis, Url};

const TOPIC: &str =
    "name = 'All'\nquery = 'page'\n[fetch]\ndelay = '5ms'\n[archive]\nwarc = false\nindex = false\n";

/// What one request asks for.
struct Asked {
    line: String,
    host: String,
}

/// A server that does with each request what the test says.
struct Server {
    addr: SocketAddr,
    sent: Arc<AtomicU64>,
    log: Arc<Mutex<Vec<String>>>,
}

/// The answer's side of a connection.
struct Out {
    stream: TcpStream,
    sent: Arc<AtomicU64>,
}

impl Out {
    fn send(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.stream.write_all(bytes)?;
        self.sent.fetch_add(bytes.len() as u64, Ordering::SeqCst);
        Ok(())
    }

    fn answer(&mut self, head: &str, body: &str) -> std::io::Result<()> {
        let length = body.len();
        self.send(format!("HTTP/1.1 {head}\r\nContent-Length: {length}\r\n\r\n{body}").as_bytes())
    }

    fn html(&mut self, body: &str) -> std::io::Result<()> {
        self.answer("200 OK\r\nContent-Type: text/html", body)
    }
}

impl Server {
    fn start(act: impl Fn(&Asked, &mut Out) -> std::io::Result<()> + Send + Sync + 'static) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let addr = listener.local_addr().unwrap();
        let (sent, log): (Arc<AtomicU64>, Arc<Mutex<Vec<String>>>) = Default::default();
        let (count, seen, act) = (sent.clone(), log.clone(), Arc::new(act));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (sent, seen, act) = (count.clone(), seen.clone(), act.clone());
                std::thread::spawn(move || -> std::io::Result<()> {
                    let mut reader = BufReader::new(stream.try_clone()?);
                    let mut out = Out { stream, sent };
                    loop {
                        let mut asked = Asked { line: String::new(), host: String::new() };
                        if reader.read_line(&mut asked.line)? == 0 {
                            return Ok(());
                        }
                        loop {
                            let mut header = String::new();
                            if reader.read_line(&mut header)? == 0 || header.trim().is_empty() {
                                break;
                            }
                            if let Some(host) = header.strip_prefix("Host: ") {
                                asked.host = host.trim().into();
                            }
                        }
                        let target = asked.line.split(' ').nth(1).unwrap_or("").to_string();
                        seen.lock().unwrap().push(format!("{} {target}", asked.host));
                        act(&asked, &mut out)?;
                    }
                });
            }
        });
        Server { addr, sent, log }
    }

    fn log(&self) -> Vec<String> {
        self.log.lock().unwrap().clone()
    }

    fn sent(&self) -> u64 {
        self.sent.load(Ordering::SeqCst)
    }

    fn wait_for(&self, requests: usize) {
        let end = Instant::now() + Duration::from_secs(60);
        while self.log().len() < requests {
            assert!(Instant::now() < end, "{:?}", self.log());
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Asked {
    fn is_for(&self, path: &str) -> bool {
        self.line.split(' ').nth(1).is_some_and(|target| target == path || target.ends_with(path))
    }
}

fn crawl(dir: &Path, server: &Server) -> Command {
    file(dir, "all.toml", TOPIC);
    let mut command = gleaner();
    command.args(["crawl", "all.toml", "--out", "all", "--allow-private", "--resolve"]);
    command.arg(format!("*:{}", server.addr)).current_dir(dir);
    command
}

/// A flood of interim answers and, beside it, a host that never answers: neither the time limit nor Ctrl-C
/// wait for them.
#[test]
fn a_crawl_stops_in_time_whatever_servers_do() {
    let server = Server::start(|asked, out| {
        if asked.is_for("/robots.txt") {
            return out.answer("404 Not Found", "");
        }
        match asked.host.as_str() {
            "flood.example" => loop {
                out.send(&b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n".repeat(400))?;
            },
            _ => {
                // Never an answer, always a sign of life.
                out.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n")?;
                loop {
                    out.send(b"<p>")?;
                    std::thread::sleep(Duration::from_millis(500));
                }
            }
        }
    });
    let dir = folder();
    let seeds = ["--seed", "http://flood.example/", "--seed", "http://drip.example/"];
    let began = Instant::now();
    let ran = finish(crawl(dir.path(), &server).args(seeds).args(["--time", "3s"]));
    let took = began.elapsed();
    assert!(ran.err.contains("time limit reached"), "{ran}");
    assert!(ran.err.contains("too-large 1"), "the flood is a failure of its own kind: {ran}");
    // Three seconds, at most five to stop, and some for a busy machine.
    assert!(took < Duration::from_secs(14), "{took:?}");
    assert!(server.sent() < 32 << 20, "{} bytes were taken", server.sent());

    let dir = folder();
    let before = server.log().len();
    let running = Running::start(crawl(dir.path(), &server).args(["--seed", "http://drip.example/"]));
    server.wait_for(before + 2);
    let began = Instant::now();
    running.signal("INT");
    let ran = running.wait();
    assert_eq!(ran.code, Some(3), "{ran}");
    assert!(began.elapsed() < Duration::from_secs(9), "{:?}", began.elapsed());
}

/// A host that asks to be left alone for longer than the crawl waits is left alone, and the crawl ends around
/// it.
#[test]
fn a_pause_without_end_does_not_hold_a_crawl_open() {
    let server = Server::start(|asked, out| match asked.host.as_str() {
        _ if asked.is_for("/robots.txt") => out.answer("404 Not Found", ""),
        "slow.example" => out.answer("503 Later\r\nRetry-After: 1000000000000000000", ""),
        _ => out.html("<title>Good</title>a page"),
    });
    let dir = folder();
    let once = || -> (Ran, Duration) {
        let began = Instant::now();
        let mut command = crawl(dir.path(), &server);
        let ran = finish(command.args(["--seed", "http://good.example/", "--seed", "http://slow.example/"]));
        (ran, began.elapsed())
    };
    let (ran, took) = once();
    ran.ok();
    for says in ["long pause", "slow.example asked for a pause", "of it are left", "the same command"] {
        assert!(ran.err.contains(says), "`{says}` is missing: {ran}");
    }
    assert!(took < Duration::from_secs(30), "{took:?}");
    // The next run keeps to it, and says so.
    let asked = server.log();
    let (ran, _) = once();
    assert!(ran.err.contains("slow.example asked for a pause"), "{ran}");
    assert_eq!(server.log(), asked, "nobody was asked");
    let status = finish(gleaner().args(["status", "all"]).current_dir(dir.path()));
    assert!(status.ok().out.contains('1'), "{status}");
}

/// Through a proxy the guard goes by what URLs look like, for links and redirects too.
#[test]
fn a_proxy_is_not_asked_for_what_is_inner() {
    let inner = [
        "http://10.0.0.1/",
        "http://0x7f000001/",
        "http://[::1]/",
        "http://localhost/",
        "http://router/",
        "http://wiki.corp/",
        "http://metadata.google.internal/",
        "http://169.254.169.254/latest/meta-data/",
        "http://10.0.0.1.nip.io/",
        "https://intranet/",
    ];
    let server = Server::start(move |asked, out| match asked.host.as_str() {
        _ if asked.is_for("/robots.txt") => out.answer("404 Not Found", ""),
        _ if asked.is_for("/away") => out.answer("302 Away\r\nLocation: http://printer.local/", ""),
        "www.example.org" => {
            let links: String = inner.iter().map(|url| format!("<a href='{url}'>page</a> ")).collect();
            out.html(&format!("{links}<a href='/away'>page</a> <a href='http://ok.example.net/'>page</a>"))
        }
        _ => out.html("<title>Reached</title>a page"),
    });
    let dir = folder();
    file(dir.path(), "all.toml", TOPIC);
    let proxy = format!("http://{}", server.addr);
    let mut command = gleaner();
    command.args(["crawl", "all.toml", "--out", "all", "--proxy", &proxy, "--contact", "a@b.example"]);
    let ran = finish(command.args(["--seed", "http://www.example.org/"]).current_dir(dir.path()));
    ran.ok();
    assert_eq!(ran.err.matches("the proxy looks up the names").count(), 1, "said once: {ran}");
    let mut hosts: Vec<String> =
        server.log().iter().map(|l| l.split(' ').next().unwrap_or("").to_string()).collect();
    hosts.sort();
    hosts.dedup();
    assert_eq!(hosts, ["ok.example.net", "www.example.org"]);
    let one = finish(gleaner().args(["fetch", "http://router/", "--proxy", &proxy]));
    one.fails(1, &["guard", "router", "the proxy looks up the names"]);
}

/// Names of domains that begin with `dead` get no answer; all others are on loopback.
#[derive(Default)]
struct NameServers {
    asked_in_vain: AtomicUsize,
}

impl Resolve for NameServers {
    fn resolve<'a>(&'a self, host: &'a str) -> ResolveFuture<'a> {
        Box::pin(async move {
            if types::domain_of(host).starts_with("dead") {
                self.asked_in_vain.fetch_add(1, Ordering::SeqCst);
                std::future::pending::<()>().await;
            }
            Ok(vec!["127.0.0.1".parse().unwrap()])
        })
    }
}

struct Outcome {
    pages: u64,
    took: Duration,
    /// URLs that got no page, and why.
    misses: Vec<(String, String)>,
}

/// Crawls these hosts, within this process, until `pages` were had.
fn crawl_by_name(hosts: &[String], port: u16, pages: u64, names: Arc<NameServers>) -> Outcome {
    let dir = folder();
    let topic = format!(
        "query = 'page'\n[limits]\npages = {pages}\ntime = '60s'\n[fetch]\ndelay = '1ms'\nallow_private = true\n\
         connect_timeout = '2s'\ncontact = 'a@b.example'\n[strategy]\nkind = 'breadth-first'\n\
         [archive]\nwarc = false\nindex = false\n"
    );
    let loaded = Config::load(&topic, "t", toml::Table::new()).unwrap();
    let parse = |host: &String| Canon::default().parse(&format!("http://{host}:{port}/")).unwrap();
    let seeds: Vec<Url> = hosts.iter().map(parse).collect();
    let mut open = Collection::open(dir.path(), &loaded, &seeds, 0).unwrap();
    let settings = Settings {
        name_patience: Some(Duration::from_secs(1)),
        ..Collection::fetch_settings(&loaded.config).unwrap()
    };
    open.web = Arc::new(Http::with_resolver(settings, names).unwrap());
    let misses: Arc<Mutex<Vec<(String, String)>>> = Arc::default();
    let told = misses.clone();
    open.crawl.on_event(move |e| {
        if let Event::Miss { url, kind, .. } = e {
            told.lock().unwrap().push((url.clone(), kind.clone()));
        }
    });
    open.start(&seeds, Millis::now()).unwrap();
    let (_orders, receiver) = mpsc::channel();
    let began = Instant::now();
    let (_, progress) =
        live::run(&mut open.crawl, open.web.clone(), open.analyst.clone(), &receiver).unwrap();
    let misses = misses.lock().unwrap().clone();
    Outcome { pages: progress.pages, took: began.elapsed(), misses }
}

#[test]
fn names_that_nobody_answers_for_hold_nobody_up() {
    let server = Server::start(|asked, out| {
        if asked.is_for("/robots.txt") {
            return out.answer("404 Not Found", "");
        }
        let links: String = (0..40).map(|n| format!("<a href='/{n}'>page {n}</a> ")).collect();
        let links = if asked.is_for("/") { links } else { String::new() };
        out.html(&format!("<title>{}</title>{links} a page of {}", asked.line.trim(), asked.host))
    });
    let port = server.addr.port();
    let good: Vec<String> = (0..20).map(|n| format!("www.good{n}.example")).collect();
    let names = Arc::new(NameServers::default());
    let without = crawl_by_name(&good, port, 600, names.clone());
    assert_eq!((without.pages, names.asked_in_vain.load(Ordering::SeqCst)), (600, 0));

    // Three hundred names of one wildcard domain and a hundred domains of their own, all before the good
    // ones.
    let wildcard = (0..300).map(|n| format!("x{n}.dead.example"));
    let others = (0..100).map(|n| format!("www.dead{n}.example"));
    let hosts: Vec<String> = wildcard.chain(others).chain(good.iter().cloned()).collect();
    server.log.lock().unwrap().clear();
    let names = Arc::new(NameServers::default());
    let beside = crawl_by_name(&hosts, port, 600, names.clone());
    assert_eq!(beside.pages, 600, "all there is of the good hosts, in {:?}", beside.took);
    assert!(names.asked_in_vain.load(Ordering::SeqCst) >= 50);
    // The dead ones alone are 400 names of two seconds each: on 32 slots 25 seconds.
    let extra = beside.took.saturating_sub(without.took);
    assert!(extra < Duration::from_secs(15), "{:?} instead of {:?}", beside.took, without.took);
    let innocent: Vec<_> = beside.misses.iter().filter(|(url, _)| !url.contains("dead")).collect();
    assert!(innocent.is_empty(), "good hosts were blamed: {innocent:?}");
    assert!(beside.misses.iter().all(|(_, kind)| kind == "dns"), "{:?}", beside.misses);
    let mut log = server.log();
    assert!(log.iter().all(|asked| !asked.contains("dead")));
    // Each page was asked for once, whatever was put off meanwhile.
    let all = log.len();
    log.sort();
    log.dedup();
    assert_eq!(log.len(), all);
}
