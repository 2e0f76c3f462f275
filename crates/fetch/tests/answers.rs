//! Ordinary and conditional answers over real sockets.

mod common;

use common::*;
use gleaner_fetch::{Class, Settings, classify};
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use types::{Failure, Payload, Request, Truncation, Web};

#[tokio::test]
async fn a_page_and_the_request_as_sent() {
    let settings = Settings {
        contact: Some("https://example.org/crawl".into()),
        languages: vec!["en".into(), "de".into()],
        ..local()
    };
    let server = Server::start(|_| html("<p>hello</p>")).await;
    let got = get(&web(settings), server.url("/a%20b?c=d")).await;
    assert_eq!((got.status, &got.failure, got.truncated), (200, &None, None));
    assert_eq!(got.payload.decoded(), b"<p>hello</p>");
    assert_eq!(got.ip, Some("127.0.0.1".parse().unwrap()));
    assert_eq!((got.protocol, got.wire_bytes), ("HTTP/1.1", 12));
    assert!(got.started.0 > 1_600_000_000_000 && got.elapsed > Duration::ZERO);
    assert_eq!(got.media_type(), "text/html");
    // Byte for byte what the server received, names in their usual case.
    assert_eq!(server.heads().concat(), got.request_head);
    let expected = format!(
        "GET /a%20b?c=d HTTP/1.1\r\nHost: {}\r\nUser-Agent: Gleaner/0.1 (+https://example.org/crawl)\r\n\
         Accept: text/html,",
        server.address
    );
    assert!(got.request_head.starts_with(&expected), "{}", got.request_head);
    assert!(got.request_head.contains("\r\nAccept-Encoding: gzip, br, zstd, deflate\r\n"));
    assert!(got.request_head.contains("\r\nAccept-Language: en,de;q=0.9,*;q=0.1\r\n"));
    assert!(!got.request_head.contains("ookie"));
    assert_eq!(classify(&got), Class::Page);
    // Without an encoding, one allocation is both.
    let Payload::Bytes { wire, decoded } = &got.payload else { panic!() };
    assert!(Arc::ptr_eq(wire, decoded));
}

/// A host that has an IPv6 address and no other.
struct OnlySix;

impl gleaner_fetch::Resolve for OnlySix {
    fn resolve<'a>(&'a self, _host: &'a str) -> gleaner_fetch::ResolveFuture<'a> {
        Box::pin(async { Ok(vec!["::1".parse().unwrap()]) })
    }
}

#[tokio::test]
async fn a_host_that_has_ipv6_only() {
    let Ok(listener) = std::net::TcpListener::bind("[::1]:0") else {
        eprintln!("left out: this machine has no IPv6");
        return;
    };
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            use std::io::BufRead;
            let lines = std::io::BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
            let host =
                lines.take_while(|l| !l.is_empty()).find(|l| l.starts_with("Host: ")).unwrap_or_default();
            let head = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\nContent-Length";
            let _ = write!(stream, "{head}: {}\r\n\r\n{host}", host.len());
        }
    });
    let web = gleaner_fetch::Http::with_resolver(local(), Arc::new(OnlySix)).unwrap();
    for host in ["six.example", "[::1]"] {
        let got = get(&web, url(&format!("http://{host}:{port}/"))).await;
        assert_eq!((got.status, &got.failure), (200, &None), "{host}");
        assert_eq!(got.ip, Some("::1".parse().unwrap()));
        assert_eq!(got.payload.decoded(), format!("Host: {host}:{port}").as_bytes());
    }
    // The guard holds for such addresses, too.
    let guarded = Settings { allow_private: false, ..local() };
    let web = gleaner_fetch::Http::with_resolver(guarded, Arc::new(OnlySix)).unwrap();
    let got = get(&web, url(&format!("http://six.example:{port}/"))).await;
    assert!(matches!(got.failure, Some(Failure::Guarded(_))), "{:?}", got.failure);
}

fn encoded(coding: &str, data: &[u8]) -> Vec<u8> {
    let level = flate2::Compression::default();
    let mut out = Vec::new();
    match coding {
        "gzip" => flate2::write::GzEncoder::new(&mut out, level).write_all(data).unwrap(),
        "deflate" => flate2::write::ZlibEncoder::new(&mut out, level).write_all(data).unwrap(),
        "br" => brotli::CompressorWriter::new(&mut out, 4096, 5, 22).write_all(data).unwrap(),
        "zstd" => out = zstd::encode_all(data, 3).unwrap(),
        _ => unreachable!(),
    }
    out
}

#[tokio::test]
async fn every_encoding() {
    let page = "<html><p>once upon a time</p></html>".repeat(500);
    for coding in ["gzip", "deflate", "br", "zstd"] {
        let wire_bytes = encoded(coding, page.as_bytes());
        let head = format!("200 OK\r\nContent-Type: text/html\r\nContent-Encoding: {coding}");
        let (got, _) = one(local(), answer(&head, &wire_bytes)).await;
        let Payload::Bytes { wire, decoded } = &got.payload else { panic!("{coding}: {got:?}") };
        assert_eq!(**wire, *wire_bytes, "{coding}: the archive gets what was sent");
        assert_eq!(**decoded, *page.as_bytes(), "{coding}");
        assert_eq!((got.truncated, got.wire_bytes), (None, wire_bytes.len() as u64));
    }
}

#[tokio::test]
async fn a_bomb_and_a_cut_stream() {
    let bomb = encoded("gzip", &vec![b' '; 30 << 20]);
    let head = "200 OK\r\nContent-Type: text/html\r\nContent-Encoding: gzip";
    let (got, _) = one(Settings { max_body: 1 << 20, ..local() }, answer(head, &bomb)).await;
    assert_eq!((got.truncated, got.payload.decoded().len()), (Some(Truncation::Length), 1 << 20));

    let page = "<p>some words that repeat</p>".repeat(2000);
    let cut = encoded("gzip", page.as_bytes());
    let (got, _) = one(local(), answer(head, &cut[..cut.len() * 2 / 3])).await;
    assert_eq!(got.truncated, Some(Truncation::Disconnect));
    assert!(!got.payload.decoded().is_empty() && page.as_bytes().starts_with(got.payload.decoded()));
}

#[tokio::test]
async fn compressed_sitemap_files_are_opened() {
    let xml = b"<?xml version=\"1.0\"?><urlset></urlset>";
    for media_type in ["application/gzip", "application/x-gzip", "application/octet-stream"] {
        let head = format!("200 OK\r\nContent-Type: {media_type}");
        let (got, _) = one(local(), answer(&head, &encoded("gzip", xml))).await;
        assert_eq!(got.payload.decoded(), xml, "{media_type}: {:?}", got.failure);
    }
    let (got, _) =
        one(local(), answer("200 OK\r\nContent-Type: application/gzip", &encoded("gzip", b"file\0\0tar")))
            .await;
    assert!(matches!(got.failure, Some(Failure::Unwanted(_))), "{got:?}");
}

#[tokio::test]
async fn redirects_are_answers() {
    let table = [
        ("301 Moved\r\nLocation: /there", Some("/there")),
        ("302 Found\r\nLocation: there?x", Some("/a/there?x")),
        ("308 Permanent\r\nLocation: http://other.example/z#f", None),
    ];
    for (head, path) in table {
        let server = Server::start(move |_| answer(head, b"moved")).await;
        let got = get(&web(local()), server.url("/a/b")).await;
        let expected =
            path.map_or("http://other.example/z#f".to_string(), |p| format!("http://{}{p}", server.address));
        assert_eq!(got.location, Some(expected));
        assert_eq!(classify(&got), Class::Redirect);
        assert_eq!(got.payload.decoded(), b"moved");
        assert_eq!(server.heads().len(), 1, "not followed");
    }
    let (got, _) = one(local(), answer("200 OK\r\nContent-Type: text/html\r\nLocation: /x", b"x")).await;
    assert_eq!(got.location, None, "only redirects have a target");
}

#[tokio::test]
async fn conditional_requests() {
    let server = Server::start(|head| {
        if head.contains("If-None-Match: \"v1\"\r\n")
            && head.contains("If-Modified-Since: Tue, 14 Nov 2023 22:13:20 GMT\r\n")
        {
            vec![send("HTTP/1.1 304 Not Modified\r\nETag: \"v1\"\r\n\r\n")]
        } else {
            html("<p>new</p>")
        }
    })
    .await;
    let web = web(local());
    let request = Request {
        etag: Some("\"v1\"".into()),
        last_modified: Some("Tue, 14 Nov 2023 22:13:20 GMT".into()),
        ..Request::page(server.url("/"))
    };
    let got = web.fetch(&request).await;
    assert_eq!((got.status, classify(&got)), (304, Class::NotModified));
    assert_eq!(server.heads().concat(), got.request_head);
    // A validator that cannot stand in a header is left out, not fatal, and cannot smuggle one in.
    let evil = Request { etag: Some("x\r\nEvil: 1".into()), ..Request::page(server.url("/")) };
    let got = web.fetch(&evil).await;
    assert_eq!(got.status, 200);
    assert!(!got.request_head.contains("Evil") && !server.heads()[1].contains("Evil"));
    assert_eq!(server.connections(), 1, "a 304 keeps the connection");
}

#[tokio::test]
async fn retry_after_reaches_the_class() {
    let (got, _) = one(local(), answer("503 Busy\r\nRetry-After: 120", b"later")).await;
    assert_eq!(classify(&got), Class::Retry { after: Some(Duration::from_secs(120)), host: true });
    let dated =
        "429 Slow down\r\nDate: Tue, 14 Nov 2023 22:13:20 GMT\r\nRetry-After: Tue, 14 Nov 2023 22:13:50 GMT";
    let (got, _) = one(local(), answer(dated, b"")).await;
    assert_eq!(classify(&got), Class::Retry { after: Some(Duration::from_secs(30)), host: true });
    let (got, _) = one(local(), answer("404 Not Found\r\nContent-Type: text/html", b"<p>no</p>")).await;
    assert_eq!(classify(&got), Class::Error(404));
}

#[tokio::test]
async fn headers_keep_their_order_and_their_accents() {
    let mut bytes =
        b"HTTP/1.1 200 OK\r\nX-B: 1\r\nContent-Type: text/html\r\nX-A: caf\xe9\r\nX-B: 2\r\n".to_vec();
    bytes.extend(b"Content-Length: 0\r\n\r\n");
    let (got, _) = one(local(), vec![Step::Send(bytes)]).await;
    let names: Vec<&str> = got.headers.iter().map(|(n, _)| n.as_str()).collect();
    assert_eq!(names, ["x-b", "x-b", "content-type", "x-a", "content-length"]);
    assert_eq!(got.header("x-a"), Some("café"));
}

#[tokio::test]
async fn connections_are_kept_and_stale_ones_replaced() {
    let server = Server::start(|head| {
        let mut steps = html("<p>x</p>");
        if head.contains("GET /last ") {
            steps.push(Step::Close); // without saying so
        }
        steps
    })
    .await;
    let web = web(local());
    for path in ["/1", "/2", "/3", "/last"] {
        assert_eq!(get(&web, server.url(path)).await.status, 200, "{path}");
    }
    assert_eq!(server.connections(), 1);
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(get(&web, server.url("/after")).await.status, 200);
    assert_eq!(server.connections(), 2);

    // Closed in answer to a second request: asked again on a fresh connection, once.
    let count = Arc::new(AtomicUsize::new(0));
    let counter = count.clone();
    let server = Server::start(move |_| match counter.fetch_add(1, Ordering::SeqCst) {
        0 => html("<p>first</p>"),
        1 => vec![Step::Close],
        _ => html("<p>again</p>"),
    })
    .await;
    assert_eq!(get(&web, server.url("/")).await.payload.decoded(), b"<p>first</p>");
    assert_eq!(get(&web, server.url("/")).await.payload.decoded(), b"<p>again</p>");
    assert_eq!((server.connections(), count.load(Ordering::SeqCst)), (2, 3));
}

#[tokio::test]
async fn bytes_nobody_asked_for_are_not_the_next_answer() {
    // A second answer behind the first one would otherwise be taken for the answer to another URL. (One that
    // comes only after the next request was sent cannot be told apart; it can only be of the same server.)
    let server = Server::start(|head| {
        let mut steps = html("<p>good</p>");
        if head.contains("GET /poison ") {
            steps.extend(html("<p>poison</p>"));
        }
        steps
    })
    .await;
    let web = web(local());
    for _ in 0..5 {
        assert_eq!(get(&web, server.url("/poison")).await.payload.decoded(), b"<p>good</p>");
        tokio::time::sleep(Duration::from_millis(20)).await;
        assert_eq!(get(&web, server.url("/next")).await.payload.decoded(), b"<p>good</p>");
    }
}

#[tokio::test]
async fn many_at_once_on_one_runtime() {
    let server = Server::start(|head| {
        let path = head.split(' ').nth(1).unwrap_or("").to_string();
        vec![Step::Sleep(Duration::from_millis(5)), html(&path).remove(0)]
    })
    .await;
    let web = Arc::new(web(local()));
    let mut tasks = tokio::task::JoinSet::new();
    for n in 0..200 {
        let (web, url) = (web.clone(), server.url(&format!("/page/{n}")));
        tasks.spawn(async move { (n, get(&web, url).await) });
    }
    while let Some(done) = tasks.join_next().await {
        let (n, got) = done.unwrap();
        assert_eq!(got.payload.decoded(), format!("/page/{n}").as_bytes());
    }
    tokio::time::sleep(Duration::from_millis(50)).await;
    let open = server.open();
    assert!((1..=4).contains(&open), "{open} idle connections to one server");
}

#[tokio::test]
async fn few_idle_connections_are_kept() {
    let mut servers = Vec::new();
    let w = web(Settings { max_idle: 3, ..local() });
    for _ in 0..8 {
        let server = Server::start(|_| html("x")).await;
        assert_eq!(get(&w, server.url("/")).await.status, 200);
        servers.push(server);
    }
    tokio::time::sleep(Duration::from_millis(50)).await;
    let open: Vec<usize> = servers.iter().map(Server::open).collect();
    assert_eq!(open, [0, 0, 0, 0, 0, 1, 1, 1], "the oldest go first");
    let w = web(Settings { max_idle: 0, ..local() });
    get(&w, servers[0].url("/")).await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(servers[0].open(), 0);
}

#[tokio::test]
async fn empty_answers_are_answers() {
    let (got, _) = one(local(), answer("200 OK\r\nContent-Type: text/html", b"")).await;
    assert_eq!((classify(&got), got.payload.decoded()), (Class::Page, &b""[..]));
    assert!(matches!(got.payload, Payload::Bytes { .. }), "something to archive");
    let (got, _) = one(local(), vec![send("HTTP/1.1 204 No Content\r\n\r\n")]).await;
    assert_eq!((classify(&got), &got.failure), (Class::Error(204), &None));
    let (got, _) = one(local(), answer("301 Moved\r\nLocation: /x", b"")).await;
    assert!(matches!(got.payload, Payload::Bytes { .. }));
}

#[tokio::test]
async fn resolve_rules_are_beyond_the_guard() {
    let server = Server::start(|head| {
        let host = head.lines().find_map(|l| l.strip_prefix("Host: ")).unwrap_or("").to_string();
        html(&host)
    })
    .await;
    let guarded = Settings { allow_private: false, ..local() };
    let every = Settings { resolve: vec![server.rule()], ..guarded.clone() };
    let w = web(every);
    for (u, host) in [
        ("http://example.org/", "example.org"),
        ("http://other.example:8080/x", "other.example:8080"),
        ("http://10.0.0.1/", "10.0.0.1"),
        ("http://localhost/", "localhost"),
    ] {
        let got = get(&w, url(u)).await;
        assert_eq!(got.payload.decoded(), host.as_bytes(), "{u}: {:?}", got.failure);
        assert_eq!(got.ip, Some(server.address.ip()));
    }
    // A rule for one host opens nothing else.
    let rule = format!("example.org:80:{}", server.address).parse().unwrap();
    let w = web(Settings { resolve: vec![rule], ..guarded.clone() });
    assert_eq!(get(&w, url("http://example.org/")).await.status, 200);
    let before = server.connections();
    for u in [server.url("/"), url("http://localhost/"), url("http://169.254.169.254/")] {
        let got = get(&w, u.clone()).await;
        assert!(matches!(got.failure, Some(Failure::Guarded(_))), "{u}: {got:?}");
        assert_eq!(classify(&got), Class::Refused);
        assert!(got.request_head.is_empty(), "nothing was sent");
    }
    assert_eq!(server.connections(), before);
}

#[tokio::test]
async fn robots_follows_redirects_and_checks_each() {
    let server = Server::start(|head| {
        let path = head.split(' ').nth(1).unwrap_or("");
        match path {
            "/robots.txt" => answer("301 Moved\r\nLocation: /r/1", b""),
            "/r/5" => answer("200 OK\r\nContent-Type: image/png", b"User-agent: *\nDisallow: /x\n"),
            "/inside" => answer("302 Found\r\nLocation: http://169.254.169.254/robots.txt", b""),
            _ => match path.strip_prefix("/r/").and_then(|n| n.parse::<u32>().ok()) {
                Some(n) => answer(&format!("302 Found\r\nLocation: /r/{}", n + 1), b""),
                None => answer("404 Not Found", b""),
            },
        }
    })
    .await;
    let w = web(local());
    let got = get_robots(&w, server.url("/robots.txt")).await;
    assert_eq!((got.status, got.url.path()), (200, "/robots.txt"), "five hops, whatever the type says");
    assert_eq!(got.payload.decoded(), b"User-agent: *\nDisallow: /x\n");
    let got = get_robots(&w, server.url("/r/6")).await;
    assert_eq!(got.status, 302, "and no further");
    assert_eq!(server.heads().iter().filter(|h| h.starts_with("GET /r/1")).count(), 3, "/r/1, /r/10, /r/11");

    let rule = format!("example.org:80:{}", server.address).parse().unwrap();
    let w = web(Settings { allow_private: false, resolve: vec![rule], ..local() });
    let got = get_robots(&w, url("http://example.org/inside")).await;
    assert!(matches!(got.failure, Some(Failure::Guarded(_))), "each hop is guarded: {got:?}");
}

#[tokio::test]
async fn robots_is_cut_at_500_kib() {
    let big = vec![b'#'; 700 << 10];
    let (_, server) = (0, Server::start(move |_| answer("200 OK\r\nContent-Type: text/plain", &big)).await);
    let got = get_robots(&web(local()), server.url("/robots.txt")).await;
    assert_eq!((got.payload.decoded().len(), got.truncated), (500 << 10, Some(Truncation::Length)));
}

#[test]
fn settings_that_cannot_work() {
    let table = [
        (Settings { user_agent: "Evil\r\nX: 1".into(), ..Settings::default() }, "the user agent"),
        (Settings { proxies: vec!["socks4://x".into()], ..Settings::default() }, "cannot use the proxy"),
        (Settings { extra_roots: vec![b"junk".to_vec()], ..Settings::default() }, "root certificate"),
        (Settings { timeout: Duration::ZERO, ..Settings::default() }, "timeout is zero"),
    ];
    for (settings, expected) in table {
        let problem = gleaner_fetch::Http::new(settings).err().expect(expected);
        assert!(problem.to_string().contains(expected), "{problem}");
        assert_eq!(problem.exit_code(), 2);
    }
}

#[tokio::test]
async fn cookies_only_when_asked_for() {
    let steps = answer("200 OK\r\nContent-Type: text/html\r\nSet-Cookie: id=7; Path=/", b"x");
    for cookies in [false, true] {
        let steps = steps.clone();
        let server = Server::start(move |_| steps.clone()).await;
        let w = web(Settings { cookies, ..local() });
        get(&w, server.url("/1")).await;
        let second = get(&w, server.url("/2")).await;
        assert_eq!(server.heads()[1].contains("\r\nCookie: id=7\r\n"), cookies);
        assert!(!second.request_head.contains("id=7"), "a session is not for the archive");
    }
}

/// Cookies of a file, passwords and tokens go to the hosts they are meant for, and into no copy.
#[tokio::test]
async fn sessions_are_for_their_hosts_and_for_nobody_else() {
    let server = Server::start(|_| html("x")).await;
    let cookies = "# Netscape HTTP Cookie File\n\n.members.example\tTRUE\t/\tFALSE\t4102444800\tsid\tc00kie\n\
                   #HttpOnly_one.example\tFALSE\t/in\tFALSE\t0\tx\tpath\n\
                   members.example\tFALSE\t/\tFALSE\t1\told\tgone\n\
                   members.example\tFALSE\t/\tTRUE\t0\tonly\tsecure\n";
    let w = web(Settings {
        resolve: vec![server.rule()],
        cookie_lines: cookies.into(),
        logins: vec![
            gleaner_fetch::Login::new("members.example").with_basic("ada", "<>"),
            gleaner_fetch::Login::new("*.api.example").with_bearer("t0ken").with_header("X-Key", "k3y"),
        ],
        ..local()
    });
    for (to, sent, kept_back) in [
        (
            "http://members.example/",
            &["authorization: basic ywrhojw+", "cookie: sid=c00kie\r"][..],
            &["k3y", "old="][..],
        ),
        ("http://www.members.example/", &["cookie: sid=c00kie"], &["authorization"]),
        ("http://v1.api.example/", &["authorization: bearer t0ken", "x-key: k3y"], &["cookie"]),
        ("http://one.example/in/side", &["cookie: x=path"], &["authorization"]),
        ("http://one.example/other", &[], &["cookie"]),
        ("http://evilmembers.example/", &[], &["cookie", "authorization"]),
    ] {
        let got = get(&w, url(to)).await;
        let head = server.heads().last().unwrap().to_lowercase();
        for sent in sent {
            assert!(head.contains(sent), "{to}: {sent} is not in {head}");
        }
        for kept in kept_back {
            assert!(!head.contains(kept), "{to}: {kept} is in {head}");
        }
        let copy = got.request_head.to_lowercase();
        for secret in ["c00kie", "t0ken", "k3y", "basic", "path="] {
            assert!(!copy.contains(secret), "{to}: {secret} would go to the archive");
        }
    }
    let secret = format!("{:?}", gleaner_fetch::Login::new("a").with_bearer("t0ken"));
    assert!(!secret.contains("t0ken"), "{secret}");
    for (lines, why) in [("one two", "line 1"), ("#x\na\tTRUE\t/\tFALSE\tnever\tn\ts3cret", "line 2")] {
        let e = gleaner_fetch::Http::new(Settings { cookie_lines: lines.into(), ..Settings::default() });
        let e = e.err().unwrap().to_string();
        assert!(e.contains(why) && !e.contains("s3cret"), "{e}");
    }
}
