//! The server over real sockets, spoken to by hand: no HTTP client hides what is on the wire.

use crate::log::{Log, max_in_flight, min_gap, read_log};
use crate::reply::{Ask, Behaviour, Reply};
use crate::server::Server;
use crate::site::{Site, Size};
use crate::string::WebString;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

const ANY: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 0);

fn serve(web: &str) -> Server {
    Server::start(WebString::parse(web).unwrap(), ANY, Log::in_memory()).unwrap()
}

struct Got {
    status: u16,
    headers: String,
    body: Vec<u8>,
    /// The promised length was received.
    whole: bool,
}

impl Got {
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// One request on a connection; `None` when it was closed without an answer.
fn ask(stream: &mut BufReader<TcpStream>, request: &str) -> Option<Got> {
    stream.get_mut().write_all(request.as_bytes()).unwrap();
    let mut headers = String::new();
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).unwrap_or(0) == 0 {
            return None;
        }
        if line == "\r\n" {
            break;
        }
        headers.push_str(&line.to_ascii_lowercase());
    }
    let status = headers.split(' ').nth(1).unwrap().parse().unwrap();
    let length = headers
        .lines()
        .find_map(|l| l.strip_prefix("content-length: "))
        .map_or(0, |n| n.trim().parse().unwrap());
    let mut body = Vec::new();
    if !request.starts_with("HEAD") {
        let _ = stream.take(length).read_to_end(&mut body);
    }
    Some(Got { status, headers, whole: body.len() as u64 == length, body })
}

fn connect(server: &Server) -> BufReader<TcpStream> {
    let stream = TcpStream::connect(server.addr()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    BufReader::new(stream)
}

fn get(server: &Server, host: &str, path: &str, more: &str) -> Option<Got> {
    ask(
        &mut connect(server),
        &format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: test/1\r\n{more}\r\n"),
    )
}

/// A request may be logged a moment after its last byte was read here.
fn wait_for_log(server: &Server, n: usize) -> Vec<crate::Entry> {
    let until = Instant::now() + Duration::from_secs(5);
    loop {
        let entries = server.log().entries();
        if entries.len() >= n || Instant::now() > until {
            return entries;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn virtual_hosts_on_one_port_and_one_connection() {
    let server = serve("== http://a.example/x?q=1\n<p>I am a\n== http://b.example/x?q=1\n<p>I am b");
    let mut stream = connect(&server);
    let mut say = |line: &str, host: &str| {
        ask(&mut stream, &format!("GET {line} HTTP/1.1\r\nHost: {host}\r\n\r\n")).unwrap()
    };
    assert_eq!(say("/x?q=1", "a.example").text(), "<p>I am a\n");
    assert_eq!(say("/x?q=1", "B.EXAMPLE.:8080").text(), "<p>I am b\n");
    assert_eq!(say("/x", "a.example").status, 404);
    // As a proxy is asked.
    assert_eq!(say("http://b.example/x?q=1", "ignored.example").text(), "<p>I am b\n");
    assert_eq!(server.resolve(), format!("*:127.0.0.1:{}", server.addr().port()));
}

#[test]
fn head_other_methods_and_conditional_get() {
    let server = serve("== http://a.example/ 200 text/plain etag: \"v1\"\nhello");
    let mut stream = connect(&server);
    let mut say =
        |request: &str| ask(&mut stream, &format!("{request} HTTP/1.1\r\nHost: a.example\r\n\r\n")).unwrap();
    let head = say("HEAD /");
    assert!(head.status == 200 && head.headers.contains("content-length: 6"), "{}", head.headers);
    assert_eq!(say("DELETE /").status, 405);
    assert_eq!(say("GET /").text(), "hello\n");
    let fresh = get(&server, "a.example", "/", "If-None-Match: \"v0\", \"v1\"\r\n").unwrap();
    assert!(
        fresh.status == 304 && fresh.body.is_empty() && fresh.headers.contains("etag: \"v1\""),
        "{}",
        fresh.headers
    );
    assert_eq!(get(&server, "a.example", "/", "If-None-Match: \"v2\"\r\n").unwrap().status, 200);
}

#[test]
fn gzip_only_for_those_who_accept_it() {
    let server = serve("== http://a.example/ text/plain !gzip\nhello hello hello hello");
    let plain = get(&server, "a.example", "/", "").unwrap();
    assert!(plain.text().starts_with("hello") && !plain.headers.contains("content-encoding"));
    let packed = get(&server, "a.example", "/", "Accept-Encoding: br, gzip;q=0.5\r\n").unwrap();
    assert!(packed.headers.contains("content-encoding: gzip"));
    let mut text = String::new();
    flate2::read::GzDecoder::new(&packed.body[..]).read_to_string(&mut text).unwrap();
    assert_eq!(text, "hello hello hello hello\n");
    assert!(
        !get(&server, "a.example", "/", "Accept-Encoding: gzip;q=0\r\n").unwrap().headers.contains("gzip")
    );
}

#[test]
fn answers_that_fail() {
    let server = serve(
        "== http://a.example/cut text/plain !cut=4\n0123456789\n== http://a.example/drop !drop\n\
         == http://a.example/turn 503\n== http://a.example/turn\nok",
    );
    let cut = get(&server, "a.example", "/cut", "").unwrap();
    assert_eq!((cut.status, cut.text().as_str(), cut.whole), (200, "0123", false));
    assert!(cut.headers.contains("content-length: 11"));
    assert!(get(&server, "a.example", "/drop", "").is_none());
    assert_eq!(get(&server, "a.example", "/turn", "").unwrap().status, 503);
    assert_eq!(get(&server, "a.example", "/turn", "").unwrap().status, 200);
    let log = wait_for_log(&server, 4);
    let of = |path: &str| log.iter().find(|e| e.path == path).unwrap();
    assert_eq!((of("/cut").whole, of("/cut").bytes, of("/cut").status), (false, 4, 200));
    assert_eq!((of("/drop").whole, of("/drop").status), (false, 0));
    assert!(of("/turn").whole);
}

#[test]
fn the_log_has_the_times_the_server_saw() {
    let web = |ask: &Ask| Reply {
        delay_ms: if ask.path == "/slow" { 150 } else { 0 },
        ..Reply::text(200, ask.host.to_string())
    };
    let server = Server::start(web, ANY, Log::in_memory()).unwrap();
    std::thread::scope(|s| {
        s.spawn(|| get(&server, "a.example", "/slow", ""));
        s.spawn(|| get(&server, "a.example", "/slow", ""));
    });
    std::thread::sleep(Duration::from_millis(60));
    get(&server, "a.example", "/fast", "").unwrap();
    let log = wait_for_log(&server, 3);
    assert_eq!(log.len(), 3);
    for e in &log {
        assert_eq!(
            (e.host.as_str(), e.agent.as_str(), e.status, e.bytes, e.whole),
            ("a.example", "test/1", 200, 9, true)
        );
        let took = e.finished - e.arrived;
        assert!(if e.path == "/slow" { (150..5000).contains(&took) } else { took < 150 }, "{e:?}");
    }
    assert_eq!(max_in_flight(&log, "a.example"), 2);
    let fast = log.iter().find(|e| e.path == "/fast").unwrap();
    assert!(log.iter().all(|e| e.path == "/fast" || fast.arrived >= e.finished + 59), "{log:?}");
    assert!(min_gap(&log, "a.example").unwrap() < 150);
}

#[test]
fn a_client_that_goes_away_is_in_the_log_too() {
    let web = |_: &Ask| Reply { delay_ms: 60_000, ..Reply::text(200, "late") };
    let server = Server::start(web, ANY, Log::in_memory()).unwrap();
    let mut stream = connect(&server);
    stream.get_mut().write_all(b"GET /never HTTP/1.1\r\nHost: a.example\r\n\r\n").unwrap();
    std::thread::sleep(Duration::from_millis(100));
    drop(stream);
    let log = wait_for_log(&server, 1);
    assert_eq!(log.len(), 1);
    assert!(!log[0].whole && log[0].path == "/never" && log[0].finished - log[0].arrived < 30_000);
}

#[test]
fn the_log_file_has_one_line_per_request_at_once() {
    let path = std::env::temp_dir().join(format!("gleaner-demo-log-{}.tsv", std::process::id()));
    let _ = std::fs::remove_file(&path);
    let web = WebString::parse("== http://a.example/\nhi").unwrap();
    let server = Server::start(web.clone(), ANY, Log::to_file(&path).unwrap()).unwrap();
    for _ in 0..3 {
        get(&server, "a.example", "/", "").unwrap();
    }
    // The server still runs: lines are not held back.
    let until = Instant::now() + Duration::from_secs(5);
    while read_log(&path).unwrap().len() < 3 && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(5));
    }
    let entries = read_log(&path).unwrap();
    assert_eq!(entries.len(), 3);
    assert!(
        entries.windows(2).all(|w| w[0].finished <= w[1].finished)
            && entries.iter().all(|e| e.arrived <= e.finished)
    );
    assert!(server.log().entries().is_empty(), "a log in a file does not fill the memory");
    server.stop();
    // Another server adds to it.
    let server = Server::start(web, ANY, Log::to_file(&path).unwrap()).unwrap();
    get(&server, "a.example", "/", "").unwrap();
    server.stop();
    assert_eq!(read_log(&path).unwrap().len(), 4);
    std::fs::remove_file(&path).unwrap();
    assert!(Log::to_file(std::path::Path::new("/nowhere/at/all")).is_err());
}

#[test]
fn stopping_lets_answers_finish_and_frees_the_port() {
    let web = |_: &Ask| Reply { delay_ms: 200, ..Reply::text(200, "done") };
    let server = Server::start(web, ANY, Log::in_memory()).unwrap();
    let addr = server.addr();
    let taken = Server::start(web, addr, Log::off()).err().unwrap();
    assert!(taken.to_string().contains("hint: another program uses this port"), "{taken}");
    let mut stream = connect(&server);
    let idle = connect(&server);
    let asking = std::thread::spawn(move || ask(&mut stream, "GET / HTTP/1.1\r\nHost: a.example\r\n\r\n"));
    std::thread::sleep(Duration::from_millis(80));
    let before = Instant::now();
    server.stop();
    assert!(before.elapsed() < Duration::from_secs(4));
    assert_eq!(asking.join().unwrap().unwrap().text(), "done");
    assert!(TcpStream::connect(addr).is_err());
    drop(idle);
}

#[test]
fn the_generated_web_over_the_wire() {
    let server = Server::start(Site::new(1, Size::Small), ANY, Log::in_memory()).unwrap();
    let busy = |n| {
        (0..n).map(|_| get(&server, "busy.hillcrest.example", "/", "").unwrap().status).collect::<Vec<_>>()
    };
    assert_eq!(get(&server, "busy.hillcrest.example", "/robots.txt", "").unwrap().status, 200);
    assert_eq!(busy(4), [429, 429, 429, 200]);
    assert!(get(&server, "flaky.lakeside.example", "/lab/dropped.html", "").is_none());
    assert!(!get(&server, "flaky.lakeside.example", "/lab/cut.html", "").unwrap().whole);
    let before = Instant::now();
    assert_eq!(get(&server, "slow.riverton.example", "/", "").unwrap().status, 200);
    assert!(before.elapsed() >= Duration::from_millis(300));
    let huge = get(&server, "legacy.westbrook.example", "/huge.html", "").unwrap();
    assert!(huge.whole && huge.body.len() > 3_000_000);
    let direct = Site::new(1, Size::Small).answer("cs.northfield.example", "/");
    assert_eq!(get(&server, "cs.northfield.example", "/", "").unwrap().body, direct.body);
    assert_eq!(direct.behaviour, Behaviour::Whole);
    assert_eq!(get(&server, "unknown.nowhere.example", "/", "").unwrap().status, 421);
}

#[test]
fn many_at_once() {
    let server = Server::start(Site::new(1, Size::Small), ANY, Log::in_memory()).unwrap();
    std::thread::scope(|s| {
        for _ in 0..16 {
            s.spawn(|| {
                let mut stream = connect(&server);
                for _ in 0..50 {
                    let got =
                        ask(&mut stream, "GET /people/ HTTP/1.1\r\nHost: cs.northfield.example\r\n\r\n")
                            .unwrap();
                    assert!(got.status == 200 && got.whole);
                }
            });
        }
    });
    assert_eq!(wait_for_log(&server, 800).len(), 800);
}
