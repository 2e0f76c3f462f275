//! A crawl beside names that nobody answers for: real sockets, a real clock, and name servers that the test plays.

use crawl::Event;
use crawl::collection::Collection;
use crawl::config::Config;
use crawl::live;
use fetch::{Http, Resolve, ResolveFuture, Settings};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};
use types::{Canon, Millis, Url};

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

/// A web server whose every host has a home page with links to `pages` others. Notes who was asked.
fn serve(pages: usize) -> (u16, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let log: Arc<Mutex<Vec<String>>> = Arc::default();
    let seen = log.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let seen = seen.clone();
            std::thread::spawn(move || -> std::io::Result<()> {
                let (mut reader, mut writer) = (BufReader::new(stream.try_clone()?), stream);
                loop {
                    let (mut line, mut host) = (String::new(), String::new());
                    if reader.read_line(&mut line)? == 0 {
                        return Ok(());
                    }
                    loop {
                        let mut header = String::new();
                        reader.read_line(&mut header)?;
                        if let Some(h) = header.strip_prefix("Host: ") {
                            host = h.trim().to_string();
                        }
                        if header.trim().is_empty() {
                            break;
                        }
                    }
                    let path = line.split(' ').nth(1).unwrap_or("/").to_string();
                    seen.lock().unwrap().push(format!("{host}{path}"));
                    let (status, body) = match path.as_str() {
                        "/robots.txt" => ("404 Not Found", String::new()),
                        "/" => ("200 OK", (0..pages).map(|n| format!("<a href='/{n}'>page {n}</a> ")).collect()),
                        _ => ("200 OK", format!("<title>{path}</title>a page of {host} at {path}")),
                    };
                    let head = format!(
                        "HTTP/1.1 {status}\r\nContent-Type: text/html\r\nContent-Length: {}\r\n\r\n{body}",
                        body.len()
                    );
                    writer.write_all(head.as_bytes())?;
                }
            });
        }
    });
    (port, log)
}

struct Outcome {
    pages: u64,
    took: Duration,
    /// Why URLs got no answer, by host.
    misses: Vec<(String, String)>,
}

/// Crawls these hosts until `pages` were had.
fn crawl(hosts: &[String], port: u16, pages: u64, names: Arc<NameServers>) -> Outcome {
    let dir = tempfile::tempdir().unwrap();
    let topic = format!(
        "query = 'page'\n[limits]\npages = {pages}\ntime = '60s'\n[fetch]\ndelay = '1ms'\nallow_private = true\n\
         connect_timeout = '2s'\ncontact = 'a@b.example'\n[strategy]\nkind = 'breadth-first'\n\
         [archive]\nwarc = false\nindex = false\n"
    );
    let loaded = Config::load(&topic, "t", toml::Table::new()).unwrap();
    let canon = Canon::default();
    let seeds: Vec<Url> =
        hosts.iter().map(|h| canon.parse(&format!("http://{h}:{port}/")).unwrap()).collect();
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
    let (_, progress) = live::run(&mut open.crawl, open.web.clone(), open.analyst.clone(), &receiver).unwrap();
    let misses = misses.lock().unwrap().clone();
    Outcome { pages: progress.pages, took: began.elapsed(), misses }
}

#[test]
fn names_that_nobody_answers_for_hold_nobody_up() {
    let (port, log) = serve(40);
    let good: Vec<String> = (0..20).map(|n| format!("www.good{n}.example")).collect();
    let names = Arc::new(NameServers::default());
    let without = crawl(&good, port, 600, names.clone());
    assert_eq!((without.pages, names.asked_in_vain.load(Ordering::SeqCst)), (600, 0));

    // Three hundred names of one wildcard domain and a hundred domains of their own, all before the good ones.
    let wildcard = (0..300).map(|n| format!("x{n}.dead.example"));
    let others = (0..100).map(|n| format!("www.dead{n}.example"));
    let hosts: Vec<String> = wildcard.chain(others).chain(good.iter().cloned()).collect();
    log.lock().unwrap().clear();
    let names = Arc::new(NameServers::default());
    let beside = crawl(&hosts, port, 600, names.clone());
    assert_eq!(beside.pages, 600, "all there is of the good hosts, in {:?}", beside.took);
    assert!(names.asked_in_vain.load(Ordering::SeqCst) >= 50);
    // No time is asserted on but what would show that the good ones waited for the dead ones: those alone are 400 names
    // of two seconds each, on 32 slots 25 seconds.
    let extra = beside.took.saturating_sub(without.took);
    assert!(extra < Duration::from_secs(15), "{:?} instead of {:?}", beside.took, without.took);
    let innocent: Vec<_> = beside.misses.iter().filter(|(url, _)| !url.contains("dead")).collect();
    assert!(innocent.is_empty(), "good hosts were blamed: {innocent:?}");
    assert!(beside.misses.iter().all(|(_, kind)| kind == "dns"), "{:?}", beside.misses);
    let log = log.lock().unwrap();
    assert!(log.iter().all(|asked| !asked.contains("dead")));
    // Each page was asked for once, whatever was put off meanwhile.
    let mut once = log.clone();
    once.sort();
    once.dedup();
    assert_eq!(once.len(), log.len());
}
