//! TLS, HTTP/2 and proxies.

mod common;

use bytes::Bytes;
use common::*;
use gleaner_fetch::{Class, Settings, classify};
use http_body_util::Full;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use types::{Failure, Truncation};

struct Secure {
    address: SocketAddr,
    /// DER of its certificate, valid for `secure.example`.
    root: Vec<u8>,
    connections: Arc<AtomicUsize>,
    heads: Arc<Mutex<Vec<String>>>,
}

/// A TLS server that speaks what `alpn` says; `/gzip` is compressed, `/big` is long, `/video` unwanted, the
/// rest echoes the path.
async fn secure(alpn: &[&str]) -> Secure {
    let made = rcgen::generate_simple_self_signed(vec!["secure.example".into(), "127.0.0.1".into()]).unwrap();
    let root = made.cert.der().to_vec();
    let key = rustls::pki_types::PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    config.alpn_protocols = alpn.iter().map(|p| p.as_bytes().to_vec()).collect();
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let connections = Arc::new(AtomicUsize::new(0));
    let heads = Arc::new(Mutex::new(Vec::new()));
    let (counter, seen) = (connections.clone(), heads.clone());
    tokio::spawn(async move {
        while let Ok((tcp, _)) = listener.accept().await {
            counter.fetch_add(1, Ordering::SeqCst);
            let (acceptor, seen) = (acceptor.clone(), seen.clone());
            tokio::spawn(async move {
                let Ok(tls) = acceptor.accept(tcp).await else { return };
                let http2 = tls.get_ref().1.alpn_protocol() == Some(b"h2");
                let service = service_fn(move |request: hyper::Request<hyper::body::Incoming>| {
                    let seen = seen.clone();
                    async move {
                        let mut head =
                            format!("{:?} {} {}", request.version(), request.method(), request.uri());
                        for (name, value) in request.headers() {
                            head.push_str(&format!(
                                "\n{name}: {}",
                                String::from_utf8_lossy(value.as_bytes())
                            ));
                        }
                        seen.lock().unwrap().push(head);
                        Ok::<_, Infallible>(page(request.uri().path()))
                    }
                });
                let io = TokioIo::new(tls);
                if http2 {
                    let _ = hyper::server::conn::http2::Builder::new(TokioExecutor::new())
                        .serve_connection(io, service)
                        .await;
                } else {
                    let _ = hyper::server::conn::http1::Builder::new().serve_connection(io, service).await;
                }
            });
        }
    });
    Secure { address, root, connections, heads }
}

fn page(path: &str) -> hyper::Response<Full<Bytes>> {
    let response = hyper::Response::builder().header("content-type", "text/html");
    let response = match path {
        "/video" => {
            hyper::Response::builder().header("content-type", "video/mp4").body(vec![0; 50 << 20].into())
        }
        "/big" => response.body(vec![b'x'; 20 << 20].into()),
        "/gzip" => {
            use std::io::Write;
            let mut e = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
            e.write_all(b"<p>squeezed</p>").unwrap();
            response.header("content-encoding", "gzip").body(e.finish().unwrap().into())
        }
        "/moved" => response.status(301).header("location", "/there").body(Full::default()),
        "/headers" => response.header("x-long", "a".repeat(100 << 10)).body(Full::default()),
        _ => response.body(path.to_string().into()),
    };
    response.unwrap()
}

fn trusting(server: &Secure) -> Settings {
    let rule = format!("secure.example:443:{}", server.address).parse().unwrap();
    Settings { resolve: vec![rule], extra_roots: vec![server.root.clone()], allow_private: false, ..local() }
}

#[tokio::test]
async fn http2_over_tls() {
    let server = secure(&["h2", "http/1.1"]).await;
    let w = web(Settings { contact: Some("https://example.org/c".into()), ..trusting(&server) });
    let at = |path: &str| url(&format!("https://secure.example{path}"));

    let got = get(&w, at("/a?b=c")).await;
    assert_eq!((got.status, got.protocol), (200, "HTTP/2"), "{:?}", got.failure);
    assert_eq!(got.payload.decoded(), b"/a");
    assert_eq!(got.ip, Some(server.address.ip()));
    assert!(
        got.request_head
            .starts_with("GET /a?b=c HTTP/2\r\nHost: secure.example\r\nUser-Agent: Gleaner/0.1 (+"),
        "{}",
        got.request_head
    );
    let head = server.heads.lock().unwrap()[0].clone();
    assert!(
        head.starts_with(
            "HTTP/2.0 GET https://secure.example/a?b=c\nuser-agent: Gleaner/0.1 (+https://example.org/c)"
        ),
        "{head}"
    );
    assert!(!head.contains("\nhost:"), "{head}");

    assert_eq!(get(&w, at("/gzip")).await.payload.decoded(), b"<p>squeezed</p>");
    let got = get(&w, at("/moved")).await;
    assert_eq!(got.location.as_deref(), Some("https://secure.example/there"));

    // Limits hold, and giving up one stream leaves the connection to the others.
    let got = get(&w, at("/video")).await;
    assert!(matches!(got.failure, Some(Failure::Unwanted(_))), "{got:?}");
    let got = get(&w, at("/big")).await;
    assert_eq!((got.wire_bytes, got.truncated), (5 << 20, Some(Truncation::Length)));
    let got = get(&w, at("/headers")).await;
    assert!(matches!(got.failure, Some(Failure::Protocol(_) | Failure::TooLarge(_))), "{got:?}");
    assert_eq!(get(&w, at("/after")).await.payload.decoded(), b"/after");

    let shared = server.connections.load(Ordering::SeqCst);
    assert!(shared <= 4, "{shared}");
    let w = Arc::new(w);
    let mut tasks = tokio::task::JoinSet::new();
    for n in 0..50 {
        let (w, u) = (w.clone(), at(&format!("/many/{n}")));
        tasks.spawn(async move { get(&w, u).await.payload.decoded().to_vec() });
    }
    let mut bodies: Vec<String> = Vec::new();
    while let Some(body) = tasks.join_next().await {
        bodies.push(String::from_utf8(body.unwrap()).unwrap());
    }
    bodies.sort();
    let mut expected: Vec<String> = (0..50).map(|n| format!("/many/{n}")).collect();
    expected.sort();
    assert_eq!(bodies, expected);
    assert_eq!(server.connections.load(Ordering::SeqCst), shared, "one connection for all of them");
}

#[tokio::test]
async fn http1_over_tls() {
    let server = secure(&["h2", "http/1.1"]).await;
    let w = web(Settings { http2: false, ..trusting(&server) });
    for path in ["/1", "/2", "/3"] {
        let got = get(&w, url(&format!("https://secure.example{path}"))).await;
        assert_eq!((got.payload.decoded(), got.protocol), (path.as_bytes(), "HTTP/1.1"), "{:?}", got.failure);
    }
    assert_eq!(server.connections.load(Ordering::SeqCst), 1);
    // A server without ALPN.
    let server = secure(&[]).await;
    let got = get(&web(trusting(&server)), url("https://secure.example/x")).await;
    assert_eq!((got.status, got.protocol), (200, "HTTP/1.1"));
    // An IP address in the URL.
    let w = web(Settings { allow_private: true, ..trusting(&server) });
    assert_eq!(get(&w, url(&format!("https://{}/ip", server.address))).await.payload.decoded(), b"/ip");
}

#[tokio::test]
async fn certificates_are_checked() {
    let server = secure(&["http/1.1"]).await;
    // Not a certificate anybody vouches for.
    let got =
        get(&web(Settings { extra_roots: Vec::new(), ..trusting(&server) }), url("https://secure.example/"))
            .await;
    assert!(matches!(got.failure, Some(Failure::Tls(_))), "{got:?}");
    assert_eq!(classify(&got), Class::Unreachable);
    assert!(server.heads.lock().unwrap().is_empty());
    // For another name.
    let w = web(Settings {
        resolve: vec![format!("*:{}", server.address).parse().unwrap()],
        ..trusting(&server)
    });
    let got = get(&w, url("https://other.example/")).await;
    assert!(matches!(got.failure, Some(Failure::Tls(_))), "{got:?}");
    // Not TLS at all, and one that hangs in the handshake.
    let plain = Server::start(|_| html("x")).await;
    let w =
        web(Settings { resolve: vec![plain.rule()], connect_timeout: Duration::from_millis(300), ..local() });
    let got = get(&w, url("https://secure.example/")).await;
    assert!(
        matches!(got.failure, Some(Failure::Tls(_) | Failure::Timeout(_) | Failure::Connect(_))),
        "{got:?}"
    );
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let rule = format!("*:{}", silent.local_addr().unwrap()).parse().unwrap();
    let w = web(Settings { resolve: vec![rule], connect_timeout: Duration::from_millis(300), ..local() });
    let got = get(&w, url("https://secure.example/")).await;
    assert!(matches!(&got.failure, Some(Failure::Timeout(why)) if why.contains("no connection")), "{got:?}");
}

/// A tiny forward proxy: tunnels every CONNECT to `target`, answers absolute-form requests itself with what
/// it was asked.
async fn proxy(target: SocketAddr) -> (SocketAddr, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let heads = Arc::new(Mutex::new(Vec::new()));
    let seen = heads.clone();
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            let seen = seen.clone();
            tokio::spawn(async move {
                loop {
                    let mut head = Vec::new();
                    while !head.ends_with(b"\r\n\r\n") {
                        match client.read_u8().await {
                            Ok(b) => head.push(b),
                            Err(_) => return,
                        }
                    }
                    let head = String::from_utf8(head).unwrap();
                    seen.lock().unwrap().push(head.clone());
                    let line = head.lines().next().unwrap_or("").to_string();
                    if line.starts_with("CONNECT refused.example") {
                        let _ =
                            client.write_all(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n").await;
                    } else if line.starts_with("CONNECT endless.example") {
                        while client.write_all(b"X: y\r\n").await.is_ok() {}
                        return;
                    } else if line.starts_with("CONNECT") {
                        let mut server = TcpStream::connect(target).await.unwrap();
                        client
                            .write_all(b"HTTP/1.1 200 Connection established\r\nVia: test\r\n\r\n")
                            .await
                            .unwrap();
                        let _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
                        return;
                    } else {
                        let answer = format!(
                            "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\n\r\n{line}",
                            line.len()
                        );
                        client.write_all(answer.as_bytes()).await.unwrap();
                    }
                }
            });
        }
    });
    (address, heads)
}

#[tokio::test]
async fn through_a_proxy() {
    let server = secure(&["h2", "http/1.1"]).await;
    let (address, heads) = proxy(server.address).await;
    let settings = Settings {
        proxies: vec![format!("http://me:s3cret@{address}")],
        extra_roots: vec![server.root.clone()],
        allow_private: false,
        ..local()
    };
    let w = web(settings.clone());

    let got = get(&w, url("http://one.example/x?y")).await;
    assert_eq!(got.payload.decoded(), b"GET http://one.example/x?y HTTP/1.1", "{:?}", got.failure);
    assert!(heads.lock().unwrap()[0].contains("\r\nHost: one.example\r\n"));
    assert!(heads.lock().unwrap()[0].contains("\r\nProxy-Authorization: Basic bWU6czNjcmV0\r\n"));
    assert!(!got.request_head.contains("bWU6czNjcmV0"), "no password in the archive");
    assert!(got.request_head.starts_with("GET http://one.example/x?y HTTP/1.1\r\n"));
    assert_eq!(got.ip, None, "nobody here knows the server's address");
    assert_eq!(
        get(&w, url("http://two.example:81/")).await.payload.decoded(),
        b"GET http://two.example:81/ HTTP/1.1"
    );

    let got = get(&w, url("https://secure.example/tunnelled")).await;
    assert_eq!((got.payload.decoded(), got.protocol), (&b"/tunnelled"[..], "HTTP/2"), "{:?}", got.failure);
    assert!(heads.lock().unwrap().iter().any(|h| h.starts_with("CONNECT secure.example:443 HTTP/1.1\r\n")));
    assert!(
        !server.heads.lock().unwrap()[0].contains("proxy-authorization"),
        "the password is the proxy's alone"
    );

    for host in ["refused.example", "endless.example"] {
        let got = get(&w, url(&format!("https://{host}/"))).await;
        assert!(matches!(got.failure, Some(Failure::Connect(_))), "{host}: {got:?}");
    }

    // What the proxy would happily reach for us is still refused.
    let before = heads.lock().unwrap().len();
    let list = "http://127.0.0.1/ http://10.0.0.1/ https://[::1]/ http://localhost:8080/ http://a.localhost/
        http://printer.local/ http://metadata.google.internal/ http://169.254.169.254/latest/";
    for u in list.split_whitespace() {
        let got = get(&w, url(u)).await;
        assert!(matches!(got.failure, Some(Failure::Guarded(_))), "{u}: {got:?}");
    }
    assert_eq!(heads.lock().unwrap().len(), before, "the proxy was not even asked");
    let w = web(Settings { allow_private: true, ..settings });
    assert_eq!(get(&w, url("http://localhost:8080/")).await.status, 200);
}

#[tokio::test]
async fn a_proxy_that_is_not_there() {
    // Nobody listens there, and nobody is given that port by chance.
    let w = web(Settings { proxies: vec!["127.0.0.1:1".into()], ..local() });
    let got = get(&w, url("http://one.example/")).await;
    assert!(
        matches!(&got.failure, Some(Failure::Connect(why)) if why.contains("proxy 127.0.0.1")),
        "{got:?}"
    );
}

/// A SOCKS5 proxy that connects everything to `target` and remembers what it was asked: `me:s3cret
/// name:port`.
async fn socks(target: SocketAddr, login: bool) -> (SocketAddr, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let asked = Arc::new(Mutex::new(Vec::new()));
    let seen = asked.clone();
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            let seen = seen.clone();
            let serve = async move {
                let mut said = String::new();
                let count = {
                    let mut head = [0; 2];
                    client.read_exact(&mut head).await?;
                    head[1]
                };
                let mut methods = vec![0; usize::from(count)];
                client.read_exact(&mut methods).await?;
                let method = if login { 2 } else { 0 };
                if !methods.contains(&method) {
                    client.write_all(&[5, 255]).await?;
                    return Ok(());
                }
                client.write_all(&[5, method]).await?;
                if login {
                    client.read_u8().await?;
                    for _ in 0..2 {
                        let mut text = vec![0; usize::from(client.read_u8().await?)];
                        client.read_exact(&mut text).await?;
                        said.push_str(&String::from_utf8(text).unwrap());
                        said.push(':');
                    }
                    client.write_all(&[1, u8::from(said != "me:s3cret:")]).await?;
                }
                let mut head = [0; 4];
                client.read_exact(&mut head).await?;
                let host = match head[3] {
                    1 => {
                        let mut ip = [0; 4];
                        client.read_exact(&mut ip).await?;
                        std::net::Ipv4Addr::from(ip).to_string()
                    }
                    _ => {
                        let mut name = vec![0; usize::from(client.read_u8().await?)];
                        client.read_exact(&mut name).await?;
                        String::from_utf8(name).unwrap()
                    }
                };
                let port = client.read_u16().await?;
                seen.lock().unwrap().push(format!("{said}{host}:{port}"));
                if host.starts_with("refused") {
                    client.write_all(&[5, 5, 0, 1, 0, 0, 0, 0, 0, 0]).await?;
                    return Ok(());
                }
                let mut server = TcpStream::connect(target).await?;
                client.write_all(&[5, 0, 0, 3, 3, b'a', b'.', b'b', 0, 1]).await?;
                tokio::io::copy_bidirectional(&mut client, &mut server).await.map(drop)
            };
            tokio::spawn(async move { drop::<std::io::Result<()>>(serve.await) });
        }
    });
    (address, asked)
}

#[tokio::test]
async fn through_a_socks_proxy() {
    let server = secure(&["http/1.1"]).await;
    let plain = Server::start(|_| html("x")).await;
    let (address, asked) = socks(server.address, true).await;
    let extra_roots = vec![server.root.clone()];
    let proxies = vec![format!("socks5h://me:s3cret@{address}")];
    let w = web(Settings { proxies, extra_roots, allow_private: false, ..local() });
    let got = get(&w, url("https://secure.example/s")).await;
    assert_eq!(got.payload.decoded(), b"/s", "{:?}", got.failure);
    assert_eq!(*asked.lock().unwrap(), ["me:s3cret:secure.example:443"], "the proxy looks up the name");
    let got = get(&w, url("http://127.0.0.1/")).await;
    assert!(matches!(got.failure, Some(Failure::Guarded(_))), "{got:?}");
    let got = get(&w, url("http://refused.example/")).await;
    assert!(matches!(&got.failure, Some(Failure::Connect(why)) if why.contains("refused")), "{got:?}");
    // Wrong passwords, and none where one is wanted.
    for proxy in [format!("socks5h://me:wr0ng@{address}"), format!("socks5h://{address}")] {
        let got = get(&web(Settings { proxies: vec![proxy], ..local() }), url("http://one.example/")).await;
        let why = format!("{:?}", got.failure);
        assert!(why.contains("user name and password") && !why.contains("wr0ng"), "{why}");
    }
    // Hidden services, and only through such a proxy.
    let (address, asked) = socks(plain.address, false).await;
    let onion = "http://exampleexampleexample.onion/";
    let with = |scheme: &str| {
        web(Settings { proxies: vec![format!("{scheme}://{address}")], allow_private: false, ..local() })
    };
    assert_eq!(get(&with("socks5h"), url(onion)).await.status, 200);
    assert_eq!(asked.lock().unwrap().pop().as_deref(), Some("exampleexampleexample.onion:80"));
    for w in [with("http"), with("socks5"), web(Settings { allow_private: false, ..local() })] {
        let got = get(&w, url(onion)).await;
        assert!(
            matches!(&got.failure, Some(Failure::Unsupported(why)) if why.contains("socks5h")),
            "{got:?}"
        );
    }
    // With `socks5` names are looked up here, and the guard sees the addresses.
    let w = web(Settings { proxies: vec![format!("socks5://{address}")], allow_private: true, ..local() });
    assert_eq!(get(&w, url("http://localhost:81/")).await.status, 200);
    assert_eq!(asked.lock().unwrap().pop().as_deref(), Some("127.0.0.1:81"));
}

/// TLS to the proxy, TLS through it to the host.
#[tokio::test]
async fn through_a_proxy_over_tls() {
    let server = secure(&["h2", "http/1.1"]).await;
    let (inner, heads) = proxy(server.address).await;
    let made = rcgen::generate_simple_self_signed(vec!["127.0.0.1".into()]).unwrap();
    let key = rustls::pki_types::PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config =
        rustls::ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let config = config.with_no_client_auth().with_single_cert(vec![made.cert.der().clone()], key).unwrap();
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((tcp, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                let (Ok(mut tls), Ok(mut to)) = (acceptor.accept(tcp).await, TcpStream::connect(inner).await)
                else {
                    return;
                };
                let _ = tokio::io::copy_bidirectional(&mut tls, &mut to).await;
            });
        }
    });
    let extra_roots = vec![server.root.clone(), made.cert.der().to_vec()];
    let w = web(Settings { proxies: vec![format!("https://me:s3cret@{address}")], extra_roots, ..local() });
    let got = get(&w, url("http://one.example/x")).await;
    assert_eq!(got.payload.decoded(), b"GET http://one.example/x HTTP/1.1", "{:?}", got.failure);
    let got = get(&w, url("https://secure.example/tunnelled")).await;
    assert_eq!((got.payload.decoded(), got.protocol), (&b"/tunnelled"[..], "HTTP/2"), "{:?}", got.failure);
    assert!(heads.lock().unwrap().iter().all(|h| h.contains("Proxy-Authorization: Basic bWU6czNjcmV0")));
}

#[tokio::test]
async fn a_host_keeps_to_one_of_several_proxies() {
    let server = secure(&["http/1.1"]).await;
    let (one, two) = (proxy(server.address).await, proxy(server.address).await);
    let w = web(Settings { proxies: [&one, &two].map(|p| format!("http://{}", p.0)).to_vec(), ..local() });
    for round in 0..3 {
        for host in 0..8 {
            assert_eq!(get(&w, url(&format!("http://h{host}.example/{round}"))).await.status, 200);
        }
    }
    let hosts = |heads: &Arc<Mutex<Vec<String>>>| -> std::collections::BTreeMap<String, usize> {
        let mut count = std::collections::BTreeMap::new();
        for head in heads.lock().unwrap().iter() {
            let host = head.lines().find_map(|l| l.strip_prefix("Host: ")).unwrap();
            *count.entry(host.to_string()).or_insert(0) += 1;
        }
        count
    };
    let (first, second) = (hosts(&one.1), hosts(&two.1));
    assert!(!first.is_empty() && !second.is_empty(), "both are used");
    assert_eq!(first.len() + second.len(), 8, "and no host uses both: {first:?} {second:?}");
    assert!(first.values().chain(second.values()).all(|n| *n == 3));
}
