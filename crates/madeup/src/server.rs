//! A real HTTP/1.1 server on loopback with virtual hosts by the `Host` header, for the demo and for tests.
//! The crawler is pointed at it with `--resolve '*:127.0.0.1:PORT'` (or `--proxy http://127.0.0.1:PORT`:
//! absolute request targets work too).

use crate::log::{Entry, Log};
use crate::reply::{Answer, Ask, Behaviour, Reply};
use bytes::Bytes;
use flate2::{Compression, write::GzEncoder};
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::header::{HeaderName, HeaderValue};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::collections::HashMap;
use std::future::Future;
use std::io::Write;
use std::net::{SocketAddr, TcpListener};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::watch;
use types::Problem;

/// How long open answers may take to finish when the server is stopped.
const GRACE: Duration = Duration::from_secs(2);

/// A running server. Stops when dropped.
pub struct Server {
    addr: SocketAddr,
    log: Log,
    stop: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Listens and answers on a thread of its own. Port 0 takes a free port; see [`Server::addr`].
    pub fn start(web: impl Answer, addr: SocketAddr, log: Log) -> Result<Server, Problem> {
        let problem = |e: std::io::Error| {
            let p = Problem::new(format!("cannot listen on {addr}")).because(&e);
            match e.kind() {
                std::io::ErrorKind::AddrInUse => {
                    p.hint("another program uses this port; take port 0 for any free one")
                }
                _ => p,
            }
        };
        let listener = TcpListener::bind(addr).map_err(problem)?;
        listener.set_nonblocking(true).map_err(problem)?;
        let addr = listener.local_addr().map_err(problem)?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .build()
            .map_err(problem)?;
        let (stop, stopped) = watch::channel(false);
        let shared = Arc::new(Shared { web: Box::new(web), log: log.clone(), counts: Mutex::default() });
        let thread = std::thread::Builder::new()
            .name("demo-web".into())
            .spawn(move || runtime.block_on(accept(listener, shared, stopped)))
            .map_err(problem)?;
        Ok(Server { addr, log, stop, thread: Some(thread) })
    }

    /// Where it listens.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// The value for the crawler's `--resolve`.
    pub fn resolve(&self) -> String {
        format!("*:{}", self.addr)
    }

    /// The requests so far.
    pub fn log(&self) -> &Log {
        &self.log
    }

    /// Serves until the process ends.
    pub fn run_forever(mut self) {
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }

    /// Takes no more connections, lets answers under way finish (for two seconds at most), and returns.
    pub fn stop(mut self) {
        self.shut();
    }

    fn shut(&mut self) {
        let _ = self.stop.send(true);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shut();
    }
}

struct Shared {
    web: Box<dyn Answer>,
    log: Log,
    /// Requests so far, by host and by URL.
    counts: Mutex<HashMap<String, u32>>,
}

impl Shared {
    fn count(&self, key: &str) -> u32 {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        match counts.get_mut(key) {
            Some(n) => {
                *n = n.saturating_add(1);
                *n - 1
            }
            None => {
                counts.insert(key.to_string(), 1);
                0
            }
        }
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>, mut stopped: watch::Receiver<bool>) {
    let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
    let mut connections = tokio::task::JoinSet::new();
    loop {
        tokio::select! {
            _ = stopped.changed() => break,
            Some(_) = connections.join_next(), if !connections.is_empty() => {}
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    let _ = stream.set_nodelay(true);
                    connections.spawn(connection(stream, shared.clone(), stopped.clone()));
                }
                // Out of file descriptors, most likely: others must close first.
                Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
            },
        }
    }
    drop(listener);
    let finish = async { while connections.join_next().await.is_some() {} };
    let _ = tokio::time::timeout(GRACE, finish).await;
}

async fn connection(stream: tokio::net::TcpStream, shared: Arc<Shared>, mut stopped: watch::Receiver<bool>) {
    let service = service_fn(move |request| {
        let shared = shared.clone();
        async move { respond(&shared, request).await }
    });
    let served = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .serve_connection(TokioIo::new(stream), service);
    let mut served = std::pin::pin!(served);
    tokio::select! {
        _ = served.as_mut() => return,
        _ = stopped.changed() => served.as_mut().graceful_shutdown(),
    }
    // An error here is a client that went away; the log has it.
    let _ = served.await;
}

/// The connection is closed on purpose.
#[derive(Debug)]
struct Closed;
impl std::fmt::Display for Closed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("closed on purpose")
    }
}
impl std::error::Error for Closed {}

async fn respond(shared: &Shared, request: Request<Incoming>) -> Result<Response<AnswerBody>, Closed> {
    let arrived = shared.log.now();
    let header = |name: &str| request.headers().get(name).and_then(|v| v.to_str().ok()).unwrap_or("");
    let host = request
        .uri()
        .host()
        .unwrap_or_else(|| without_port(header("host")))
        .trim_end_matches('.')
        .to_ascii_lowercase();
    let path = request.uri().path_and_query().map_or("/", |p| p.as_str());
    let entry = Entry {
        arrived,
        host: host.clone(),
        path: path.to_string(),
        agent: header("user-agent").to_string(),
        ..Entry::default()
    };
    let mut ticket = LogTicket { log: shared.log.clone(), entry };

    let ask = Ask {
        host: &host,
        path,
        earlier: shared.count(&format!("{host}{path}")),
        earlier_on_host: if path == "/robots.txt" { 0 } else { shared.count(&host) },
    };
    let mut reply = match request.method().as_str() {
        "GET" | "HEAD" => shared.web.answer(&ask),
        _ => Reply::text(405, "only GET and HEAD\n").with("allow", "GET, HEAD"),
    };
    if reply.status == 200
        && reply.header("etag").is_some_and(|tag| header("if-none-match").split(',').any(|t| t.trim() == tag))
    {
        reply.status = 304;
        reply.body.clear();
    }
    if reply.gzip && !reply.body.is_empty() && accepts_gzip(header("accept-encoding")) {
        let mut encoder = GzEncoder::new(Vec::with_capacity(reply.body.len() / 3), Compression::fast());
        if let Ok(packed) = encoder.write_all(&reply.body).and_then(|()| encoder.finish()) {
            reply.body = packed;
            reply.headers.push(("content-encoding".into(), "gzip".into()));
        }
    }
    if reply.delay_ms > 0 {
        tokio::time::sleep(Duration::from_millis(reply.delay_ms)).await;
    }
    if reply.behaviour == Behaviour::Drop {
        return Err(Closed);
    }
    ticket.entry.status = reply.status;
    let mut response = Response::new(());
    *response.status_mut() =
        hyper::StatusCode::from_u16(reply.status).unwrap_or(hyper::StatusCode::INTERNAL_SERVER_ERROR);
    for (name, value) in &reply.headers {
        // A header that HTTP cannot carry is left out, rather than the whole answer.
        if let (Ok(name), Ok(value)) =
            (HeaderName::from_bytes(name.as_bytes()), HeaderValue::from_bytes(value.as_bytes()))
        {
            response.headers_mut().append(name, value);
        }
    }
    let bodiless = matches!(reply.status, 204 | 304);
    if !bodiless {
        response.headers_mut().insert("content-length", HeaderValue::from(reply.body.len()));
    }
    let silent = bodiless || request.method() == hyper::Method::HEAD;
    let data = Bytes::from(if silent { Vec::new() } else { reply.body });
    let cut = match reply.behaviour {
        Behaviour::Cut(after) if !silent => Some(data.slice(..after.min(data.len()))),
        _ => None,
    };
    let state = match cut {
        Some(data) => {
            Sending::Cut { data: Some(data), pause: Box::pin(tokio::time::sleep(Duration::from_millis(30))) }
        }
        None if data.is_empty() => {
            ticket.entry.whole = true;
            Sending::Done
        }
        None => Sending::Whole(data),
    };
    Ok(response.map(|()| AnswerBody { state, ticket }))
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => host,
    }
}

fn accepts_gzip(header: &str) -> bool {
    header.split(',').any(|coding| {
        let mut parts = coding.split(';').map(str::trim);
        let name = parts.next().unwrap_or("");
        let refused = parts.any(|p| p.strip_prefix("q=").is_some_and(|q| q.parse().unwrap_or(1.0) <= 0.0));
        (name.eq_ignore_ascii_case("gzip") || name == "*") && !refused
    })
}

/// Writes the log entry when the answer is over, however that comes about.
struct LogTicket {
    log: Log,
    entry: Entry,
}

impl Drop for LogTicket {
    fn drop(&mut self) {
        self.entry.finished = self.log.now();
        self.log.push(std::mem::take(&mut self.entry));
    }
}

/// The body of an answer.
struct AnswerBody {
    state: Sending,
    ticket: LogTicket,
}

enum Sending {
    Whole(Bytes),
    /// The pause lets what was sent leave the machine before the connection breaks.
    Cut {
        data: Option<Bytes>,
        pause: Pin<Box<tokio::time::Sleep>>,
    },
    Done,
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = Closed;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Closed>>> {
        match std::mem::replace(&mut self.state, Sending::Done) {
            Sending::Done => Poll::Ready(None),
            Sending::Whole(data) => {
                self.ticket.entry.bytes = data.len() as u64;
                self.ticket.entry.whole = true;
                Poll::Ready(Some(Ok(Frame::data(data))))
            }
            Sending::Cut { data: Some(data), pause } => {
                self.ticket.entry.bytes = data.len() as u64;
                self.state = Sending::Cut { data: None, pause };
                Poll::Ready(Some(Ok(Frame::data(data))))
            }
            Sending::Cut { data: None, mut pause } => match pause.as_mut().poll(cx) {
                Poll::Ready(()) => Poll::Ready(Some(Err(Closed))),
                Poll::Pending => {
                    self.state = Sending::Cut { data: None, pause };
                    Poll::Pending
                }
            },
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self.state, Sending::Done)
    }

    fn size_hint(&self) -> SizeHint {
        match &self.state {
            Sending::Whole(data) => SizeHint::with_exact(data.len() as u64),
            Sending::Done => SizeHint::with_exact(0),
            Sending::Cut { .. } => SizeHint::default(),
        }
    }
}
