//! A loopback server whose every byte the test decides.

#![allow(dead_code)]

use gleaner_fetch::{Http, ResolveRule, Settings};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use types::{Canon, Fetched, Request, Task, Url, Web};

/// What a server saw.
#[derive(Default)]
pub struct Seen {
    pub connections: AtomicUsize,
    /// Connections open now.
    pub open: AtomicUsize,
    /// Request heads, in order.
    pub heads: Mutex<Vec<String>>,
    /// Body bytes it managed to send before the client went away.
    pub sent: AtomicUsize,
}

pub struct Server {
    pub address: SocketAddr,
    pub seen: Arc<Seen>,
}

/// One step of a scripted answer.
#[derive(Clone)]
pub enum Step {
    Send(Vec<u8>),
    Sleep(Duration),
    /// Keep sending this for ever (until the client goes away).
    Flood(Vec<u8>),
    /// Send the bytes again and again with a pause between (until the client goes away).
    Drip(Vec<u8>, Duration),
    Close,
}

pub fn send(bytes: impl AsRef<[u8]>) -> Step {
    Step::Send(bytes.as_ref().to_vec())
}

pub fn html(body: &str) -> Vec<Step> {
    vec![send(format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    ))]
}

/// Head and body as one answer; `Content-Length` is added.
pub fn answer(head: &str, body: &[u8]) -> Vec<Step> {
    let mut bytes = format!("HTTP/1.1 {head}\r\nContent-Length: {}\r\n\r\n", body.len()).into_bytes();
    bytes.extend_from_slice(body);
    vec![Step::Send(bytes)]
}

impl Server {
    /// Answers each request head by a script.
    pub async fn start(script: impl Fn(&str) -> Vec<Step> + Send + Sync + 'static) -> Server {
        Server::start_at("127.0.0.1:0", script).await
    }

    pub async fn start_at(
        address: &str,
        script: impl Fn(&str) -> Vec<Step> + Send + Sync + 'static,
    ) -> Server {
        let listener = TcpListener::bind(address).await.unwrap();
        let address = listener.local_addr().unwrap();
        let seen = Arc::new(Seen::default());
        let (shared, script) = (seen.clone(), Arc::new(script));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                shared.connections.fetch_add(1, Ordering::SeqCst);
                let (seen, script) = (shared.clone(), script.clone());
                tokio::spawn(async move {
                    seen.open.fetch_add(1, Ordering::SeqCst);
                    let _ = serve(stream, &seen, &*script).await;
                    seen.open.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        Server { address, seen }
    }

    pub fn url(&self, path: &str) -> Url {
        url(&format!("http://{}{path}", self.address))
    }

    pub fn connections(&self) -> usize {
        self.seen.connections.load(Ordering::SeqCst)
    }

    pub fn open(&self) -> usize {
        self.seen.open.load(Ordering::SeqCst)
    }

    pub fn heads(&self) -> Vec<String> {
        self.seen.heads.lock().unwrap().clone()
    }

    pub fn sent(&self) -> usize {
        self.seen.sent.load(Ordering::SeqCst)
    }

    /// A rule that sends every host here.
    pub fn rule(&self) -> ResolveRule {
        ResolveRule::Every { to: self.address }
    }
}

async fn serve(
    mut stream: TcpStream,
    seen: &Seen,
    script: &(impl Fn(&str) -> Vec<Step> + ?Sized),
) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    loop {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await?);
        }
        let head = String::from_utf8_lossy(&head).into_owned();
        seen.heads.lock().unwrap().push(head.clone());
        for step in script(&head) {
            match step {
                Step::Send(bytes) => {
                    stream.write_all(&bytes).await?;
                    seen.sent.fetch_add(bytes.len(), Ordering::SeqCst);
                }
                Step::Sleep(time) => tokio::time::sleep(time).await,
                Step::Flood(bytes) => loop {
                    stream.write_all(&bytes).await?;
                    seen.sent.fetch_add(bytes.len(), Ordering::SeqCst);
                },
                Step::Drip(bytes, pause) => loop {
                    stream.write_all(&bytes).await?;
                    seen.sent.fetch_add(bytes.len(), Ordering::SeqCst);
                    tokio::time::sleep(pause).await;
                },
                Step::Close => return Ok(()),
            }
        }
    }
}

pub fn url(text: &str) -> Url {
    Canon::exact().parse(text).unwrap()
}

/// Settings for loopback, with limits that let tests end soon.
pub fn local() -> Settings {
    Settings {
        allow_private: true,
        timeout: Duration::from_secs(5),
        connect_timeout: Duration::from_secs(5),
        idle_timeout: Duration::from_secs(5),
        ..Settings::default()
    }
}

pub fn web(settings: Settings) -> Http {
    Http::new(settings).unwrap()
}

pub async fn get(web: &Http, url: Url) -> Fetched {
    let request = Request::page(url);
    tokio::time::timeout(Duration::from_secs(20), web.fetch(&request))
        .await
        .expect("a fetch must end by itself")
}

pub async fn get_robots(web: &Http, url: Url) -> Fetched {
    let request = Request { task: Task::Robots, ..Request::page(url) };
    tokio::time::timeout(Duration::from_secs(20), web.fetch(&request))
        .await
        .expect("a fetch must end by itself")
}

/// Starts a server with this script, fetches `/` from it.
pub async fn one(settings: Settings, steps: Vec<Step>) -> (Fetched, Server) {
    let server = Server::start(move |_| steps.clone()).await;
    let fetched = get(&web(settings), server.url("/")).await;
    (fetched, server)
}
