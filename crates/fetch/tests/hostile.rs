//! Servers that misbehave.

mod common;

use common::*;
use gleaner_fetch::{Class, Settings, classify};
use std::time::{Duration, Instant};
use types::{Failure, Truncation};

fn short() -> Settings {
    Settings { timeout: Duration::from_millis(2000), idle_timeout: Duration::from_millis(1000), ..local() }
}

const HEAD: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n";

#[tokio::test]
async fn too_long_a_body_is_cut() {
    let settings = Settings { max_body: 10_000, ..local() };
    let steps = vec![send(format!("{HEAD}Content-Length: 100000000\r\n\r\n")), Step::Flood(vec![b'x'; 4096])];
    let (got, server) = one(settings.clone(), steps).await;
    assert_eq!((got.status, got.truncated, got.wire_bytes), (200, Some(Truncation::Length), 10_000));
    assert_eq!((got.payload.decoded().len(), classify(&got)), (10_000, Class::Page));
    tokio::time::sleep(Duration::from_millis(200)).await;
    let sent = server.sent();
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(server.sent(), sent, "the connection was closed, the server could not go on");
    assert!(sent < 20 << 20, "{sent}");

    // Chunked without end.
    let chunk = [b"1000\r\n".to_vec(), vec![b'x'; 4096], b"\r\n".to_vec()].concat();
    let steps = vec![send(format!("{HEAD}Transfer-Encoding: chunked\r\n\r\n")), Step::Flood(chunk)];
    let (got, _) = one(settings.clone(), steps).await;
    assert_eq!((got.truncated, got.wire_bytes), (Some(Truncation::Length), 10_000));

    // Exactly the limit is whole.
    let (got, _) = one(settings, answer("200 OK\r\nContent-Type: text/html", &[b'x'; 10_000])).await;
    assert_eq!((got.truncated, got.wire_bytes), (None, 10_000));
}

#[tokio::test]
async fn error_pages_are_kept_short() {
    let (got, _) =
        one(local(), answer("404 Not Found\r\nContent-Type: text/html", &vec![b'x'; 1 << 20])).await;
    assert_eq!((got.status, got.wire_bytes, got.truncated), (404, 64 << 10, Some(Truncation::Length)));
}

#[tokio::test]
async fn silence_and_slowness() {
    // Never answers.
    let start = Instant::now();
    let (got, _) = one(short(), vec![Step::Sleep(Duration::from_secs(60))]).await;
    assert!(matches!(&got.failure, Some(Failure::Timeout(why)) if why.contains("silent")), "{got:?}");
    assert!(start.elapsed() < Duration::from_secs(15));
    assert_eq!(classify(&got), Class::Retry { after: None, host: true });

    // Headers, then silence.
    let (got, _) =
        one(short(), vec![send(format!("{HEAD}\r\n")), Step::Sleep(Duration::from_secs(60))]).await;
    assert!(matches!(got.failure, Some(Failure::Timeout(_))), "{got:?}");
    assert_eq!((got.status, got.truncated), (200, Some(Truncation::Time)));

    // Half a page, then silence: half a page.
    let (got, _) =
        one(short(), vec![send(format!("{HEAD}\r\n<p>half")), Step::Sleep(Duration::from_secs(60))]).await;
    assert_eq!((&got.failure, got.truncated), (&None, Some(Truncation::Time)));
    assert_eq!((got.payload.decoded(), classify(&got)), (&b"<p>half"[..], Class::Page));

    // A slow drip never trips the idle limit, but the total one.
    let start = Instant::now();
    let (got, _) = one(
        short(),
        vec![send(format!("{HEAD}\r\n")), Step::Drip(b"drip ".to_vec(), Duration::from_millis(20))],
    )
    .await;
    assert_eq!(got.truncated, Some(Truncation::Time));
    assert!(got.wire_bytes >= 20 && start.elapsed() >= Duration::from_millis(1900), "{got:?}");
    assert!(start.elapsed() < Duration::from_secs(15));
}

#[tokio::test]
async fn headers_without_end() {
    let start = Instant::now();
    let (got, _) = one(
        local(),
        vec![send("HTTP/1.1 200 OK\r\n"), Step::Flood(b"X-Filler: aaaaaaaaaaaaaaaaaaaaaaaa\r\n".to_vec())],
    )
    .await;
    assert!(matches!(got.failure, Some(Failure::TooLarge(_))), "{got:?}");
    let (got, _) = one(local(), vec![send("HTTP/1.1 200 OK\r\nX: "), Step::Flood(vec![b'a'; 4096])]).await;
    assert!(matches!(got.failure, Some(Failure::TooLarge(_))), "{got:?}");
    assert_eq!(classify(&got), Class::Unreachable);
    assert!(start.elapsed() < Duration::from_secs(15));
    // Slowly, too.
    let (got, _) = one(
        short(),
        vec![send("HTTP/1.1 200 OK\r\n"), Step::Drip(b"X: y\r\n".to_vec(), Duration::from_millis(20))],
    )
    .await;
    assert!(matches!(got.failure, Some(Failure::Timeout(_))), "{got:?}");
    // One header of 40 KiB is within the default limit of 64, and beyond one of 16.
    let steps =
        || answer(&format!("200 OK\r\nContent-Type: text/html\r\nX-Long: {}", "a".repeat(40 << 10)), b"x");
    let (got, _) = one(local(), steps()).await;
    assert_eq!(got.status, 200, "{:?}", got.failure);
    let (got, _) = one(Settings { max_headers: 16 << 10, ..local() }, steps()).await;
    assert!(matches!(got.failure, Some(Failure::TooLarge(_))), "{got:?}");
}

/// Interim answers in a flood keep the task busy for ever: neither a timer nor the length of a head stops
/// them.
#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_interim_answers_is_cut_off() {
    let hints = b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n".repeat(400);
    let start = Instant::now();
    let (got, server) = one(short(), vec![Step::Flood(hints)]).await;
    assert!(matches!(&got.failure, Some(Failure::TooLarge(_))), "{got:?}");
    assert_eq!(classify(&got), Class::Unreachable, "not asked again");
    assert!(start.elapsed() < Duration::from_secs(15), "{:?}", start.elapsed());
    tokio::time::sleep(Duration::from_millis(200)).await;
    // What fits into the sockets' buffers on the way, besides the little that was read.
    assert!(server.sent() < 16 << 20, "{} bytes", server.sent());
    // A few are fine.
    let few = "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n".repeat(20);
    let page = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 5\r\n\r\n<p>hi";
    let (got, _) = one(short(), vec![send(few + page)]).await;
    assert_eq!((got.status, got.payload.decoded()), (200, &b"<p>hi"[..]), "{got:?}");
    // A chunk size that never ends.
    let (got, server) = one(
        short(),
        vec![send(format!("{HEAD}Transfer-Encoding: chunked\r\n\r\n")), Step::Flood(vec![b'0'; 64 << 10])],
    )
    .await;
    assert!(got.failure.is_some(), "{got:?}");
    assert!(server.sent() < 16 << 20, "{} bytes", server.sent());
}

/// Chunks of one byte cost a server six bytes each. Clumsy, but no flood.
#[tokio::test]
async fn small_chunks_are_no_flood() {
    let mut body = format!("{HEAD}Transfer-Encoding: chunked\r\n\r\n").into_bytes();
    body.extend(b"1\r\nx\r\n".repeat(200_000));
    body.extend(b"0\r\n\r\n");
    let (got, _) =
        one(Settings { timeout: Duration::from_secs(15), ..local() }, vec![Step::Send(body)]).await;
    assert_eq!((got.wire_bytes, got.truncated, &got.failure), (200_000, None, &None));
}

/// Comes in time for the limit on silence each time, and would for the whole time limit.
#[tokio::test]
async fn an_answer_that_only_drips_ends_as_slow() {
    let slow = Settings { min_rate: 1_000, rate_window: Duration::from_millis(800), ..local() };
    let drip = |start: &str| {
        let head = send(format!("{HEAD}\r\n{start}"));
        vec![head, Step::Drip(b"drip ".to_vec(), Duration::from_millis(50))]
    };
    let start = Instant::now();
    let (got, server) = one(slow.clone(), drip("")).await;
    assert!(matches!(&got.failure, Some(Failure::Slow(why)) if why.contains("1000 bytes")), "{got:?}");
    assert_eq!(classify(&got), Class::Retry { after: None, host: true });
    assert!(start.elapsed() < Duration::from_secs(4), "{:?}: before the time limit", start.elapsed());
    assert_eq!(got.status, 200);
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(server.open(), 0, "the connection was closed");
    // A page that stalls towards its end is half a page, as one that falls silent is.
    let page = format!("<p>{}</p>", "word ".repeat(2_000));
    let (got, _) = one(slow.clone(), drip(&page)).await;
    assert_eq!((&got.failure, got.truncated), (&None, Some(Truncation::Time)));
    assert_eq!(classify(&got), Class::Page);
    // Slow, but fast enough.
    let fair = vec![
        send(format!("{HEAD}Content-Length: 6000\r\n\r\n")),
        send("x".repeat(2_000)),
        Step::Sleep(Duration::from_millis(700)),
        send("x".repeat(2_000)),
        Step::Sleep(Duration::from_millis(700)),
        send("x".repeat(2_000)),
    ];
    let (got, _) = one(slow.clone(), fair).await;
    assert_eq!((got.wire_bytes, got.truncated), (6_000, None));
    // And nobody asks for a pace.
    let any = Settings { min_rate: 0, timeout: Duration::from_millis(1500), ..slow };
    let (got, _) = one(any, drip("")).await;
    assert_eq!((&got.failure, got.truncated), (&None, Some(Truncation::Time)));
}

/// Names under `dead.example` get no answer; all others are on loopback.
struct SomeDead;

impl gleaner_fetch::Resolve for SomeDead {
    fn resolve<'a>(&'a self, host: &'a str) -> gleaner_fetch::ResolveFuture<'a> {
        Box::pin(async move {
            if host.ends_with(".dead.example") {
                std::future::pending::<()>().await;
            }
            Ok(vec!["127.0.0.1".parse().unwrap()])
        })
    }
}

#[tokio::test]
async fn a_name_that_nobody_answers_for_is_late_by_its_own_clock_only() {
    let server = Server::start(|_| html("<p>hi")).await;
    let port = server.address.port();
    let settings = Settings {
        connect_timeout: Duration::from_millis(300),
        timeout: Duration::from_millis(1500),
        ..local()
    };
    let web = |settings| gleaner_fetch::Http::with_resolver(settings, std::sync::Arc::new(SomeDead)).unwrap();
    let patient = web(settings.clone());
    let got = get(&patient, url(&format!("http://a.dead.example:{port}/"))).await;
    assert!(matches!(&got.failure, Some(Failure::Dns(why)) if why.contains("300ms")), "{got:?}");
    assert_eq!(classify(&got), Class::Retry { after: None, host: true });
    // In a crawl it is put off, and costs nobody a try, until its own time is over.
    let crawling = web(Settings { name_patience: Some(Duration::from_millis(50)), ..settings });
    let dead = url(&format!("http://b.dead.example:{port}/"));
    let got = get(&crawling, dead.clone()).await;
    assert!(matches!(got.failure, Some(Failure::Postponed(_))), "{got:?}");
    assert!(matches!(classify(&got), Class::Postponed { .. }));
    assert_eq!(get(&crawling, url(&format!("http://good.example:{port}/"))).await.status, 200);
    tokio::time::sleep(Duration::from_millis(600)).await;
    assert!(matches!(get(&crawling, dead).await.failure, Some(Failure::Dns(_))));
}

#[tokio::test]
async fn lengths_that_lie() {
    // Longer than what comes: kept, and said to be cut.
    let (got, _) =
        one(local(), vec![send(format!("{HEAD}Content-Length: 100\r\n\r\n<p>short")), Step::Close]).await;
    assert_eq!((got.payload.decoded(), got.truncated), (&b"<p>short"[..], Some(Truncation::Disconnect)));
    assert_eq!(classify(&got), Class::Page);
    // Shorter than what comes: the rest is not ours.
    let (got, _) =
        one(local(), vec![send(format!("{HEAD}Content-Length: 5\r\n\r\n<p>long and longer"))]).await;
    assert_eq!((got.payload.decoded(), got.truncated), (&b"<p>lo"[..], None));
    // Nothing at all comes.
    let (got, _) = one(local(), vec![send(format!("{HEAD}Content-Length: 100\r\n\r\n")), Step::Close]).await;
    assert!(matches!(got.failure, Some(Failure::Protocol(_))), "{got:?}");
    assert_eq!(classify(&got), Class::Retry { after: None, host: false });
    // No length, closed: that is how it is done without one.
    let (got, _) =
        one(local(), vec![send(format!("{HEAD}Connection: close\r\n\r\n<p>all")), Step::Close]).await;
    assert_eq!((got.payload.decoded(), got.truncated), (&b"<p>all"[..], None));
    let (got, _) =
        one(local(), vec![send("HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\n<p>old"), Step::Close])
            .await;
    assert_eq!((got.payload.decoded(), got.truncated), (&b"<p>old"[..], None));
    // Nonsense.
    for length in ["-1", "abc", "5, 6", "99999999999999999999999"] {
        let (got, _) =
            one(local(), vec![send(format!("{HEAD}Content-Length: {length}\r\n\r\n<p>x")), Step::Close])
                .await;
        assert!(matches!(got.failure, Some(Failure::Protocol(_))), "{length}: {got:?}");
    }
    // A huge length alone reserves no memory and breaks nothing.
    let (got, _) = one(
        local(),
        vec![send(format!("{HEAD}Content-Length: 9000000000000000000\r\n\r\n<p>x")), Step::Close],
    )
    .await;
    assert_eq!((got.payload.decoded(), got.truncated), (&b"<p>x"[..], Some(Truncation::Disconnect)));
}

#[tokio::test]
async fn broken_chunks() {
    let chunked = format!("{HEAD}Transfer-Encoding: chunked\r\n\r\n");
    let (got, _) = one(local(), vec![send(format!("{chunked}6\r\n<p>one\r\nzzz\r\n")), Step::Close]).await;
    assert_eq!((got.payload.decoded(), got.truncated), (&b"<p>one"[..], Some(Truncation::Disconnect)));
    let (got, _) = one(local(), vec![send(format!("{chunked}garbage")), Step::Close]).await;
    assert!(matches!(got.failure, Some(Failure::Protocol(_))), "{got:?}");
    let (got, _) = one(local(), vec![send(format!("{chunked}ffffffffffffffffff\r\n<p>")), Step::Close]).await;
    assert!(got.failure.is_some(), "{got:?}");
    let (got, _) = one(
        local(),
        vec![send(format!("{chunked}6;{}\r\n<p>one\r\n0\r\n\r\n", "x".repeat(100_000))), Step::Close],
    )
    .await;
    assert!(got.failure.is_some() || got.payload.decoded() == b"<p>one", "{got:?}");
    // Endless trailers.
    let steps =
        vec![send(format!("{chunked}6\r\n<p>one\r\n0\r\n")), Step::Flood(b"X-T: aaaaaaaaaaaa\r\n".to_vec())];
    let (got, _) = one(local(), steps).await;
    assert_eq!((got.payload.decoded(), got.truncated), (&b"<p>one"[..], Some(Truncation::Disconnect)));
}

#[tokio::test]
async fn not_http_at_all() {
    for junk in [
        "SSH-2.0-OpenSSH_9.6\r\n",
        "\r\n\r\n\r\n",
        "<html>no head</html>",
        "HTTP/9.9 200 OK\r\n\r\n",
        "\0\0\0\0\0\0",
    ] {
        let (got, _) = one(short(), vec![send(junk), Step::Close]).await;
        assert!(matches!(got.failure, Some(Failure::Protocol(_))), "{junk:?}: {got:?}");
        assert_eq!(got.status, 0);
    }
    let (got, _) = one(short(), vec![Step::Close]).await;
    assert!(matches!(got.failure, Some(Failure::Protocol(_))), "{got:?}");
}

#[tokio::test]
async fn what_we_do_not_want_is_not_read() {
    for head in [
        "HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\nContent-Length: 1000000000\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nContent-Length: 1000000000\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 1000000000\r\n\r\n",
    ] {
        let (got, server) = one(local(), vec![send(head), Step::Flood(vec![0; 16 << 10])]).await;
        assert!(matches!(got.failure, Some(Failure::Unwanted(_))), "{head}: {got:?}");
        assert_eq!((got.status, classify(&got)), (200, Class::Unwanted));
        assert!(got.payload.decoded().is_empty());
        assert!(got.header("content-length").is_some(), "the headers are kept for the record");
        tokio::time::sleep(Duration::from_millis(200)).await;
        let sent = server.sent();
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert_eq!(server.sent(), sent, "the server was told to stop");
        // What fits into the sockets' buffers on the way, no more.
        assert!(sent < 16 << 20, "{sent}");
    }
}

#[tokio::test]
async fn types_are_sniffed_when_nothing_is_said() {
    for (head, body, wanted) in [
        ("200 OK", &b"<!DOCTYPE html><p>x"[..], true),
        ("200 OK\r\nContent-Type: application/octet-stream", b"%PDF-1.4 ...", true),
        ("200 OK\r\nContent-Type: text/plain", b"words", true),
        ("200 OK\r\nContent-Type: nonsense", b"<html>", true),
        ("200 OK", b"\x89PNG\r\n\x1a\n\0\0\0", false),
        ("200 OK\r\nContent-Type: text/plain", b"PK\x03\x04\0\0", false),
        ("200 OK\r\nContent-Type: TEXT/HTML; charset=x", b"\0\0 whatever", true),
        ("200 OK\r\nContent-Type: application/json", b"{}", false),
    ] {
        let (got, _) = one(local(), answer(head, body)).await;
        assert_eq!(
            got.failure.is_none(),
            wanted,
            "{head} {:?}: {:?}",
            String::from_utf8_lossy(body),
            got.failure
        );
        assert_eq!(got.payload.decoded().is_empty(), !wanted);
    }
    // Errors are errors whatever their type.
    let (got, _) = one(local(), answer("404 Not Found\r\nContent-Type: application/json", b"{}")).await;
    assert_eq!(classify(&got), Class::Error(404));
}

#[tokio::test]
async fn nobody_there() {
    // A port that was just free.
    let port = {
        let l = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        l.local_addr().unwrap().port()
    };
    let got = get(&web(local()), url(&format!("http://127.0.0.1:{port}/"))).await;
    assert!(matches!(got.failure, Some(Failure::Connect(_))), "{got:?}");
    assert_eq!((got.status, got.request_head.as_str(), got.protocol), (0, "", ""));
}

#[tokio::test]
async fn dropping_a_fetch_closes_its_connection() {
    let server = Server::start(|_| vec![send(format!("{HEAD}\r\n")), Step::Flood(vec![b'x'; 1024])]).await;
    let w = web(Settings { max_body: usize::MAX >> 1, ..local() });
    let request = types::Request::page(server.url("/"));
    let dropped = tokio::time::timeout(Duration::from_millis(50), types::Web::fetch(&w, &request)).await;
    assert!(dropped.is_err());
    tokio::time::sleep(Duration::from_millis(200)).await;
    let sent = server.sent();
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(server.sent(), sent);
}
