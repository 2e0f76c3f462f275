//! HTTP on one port: takes connections, reads requests within limits, hands them to the routes, sends
//! replies.

use super::reply::{Content, Refusal, Reply};
use super::route::{self, RawRequest};
use super::visitors::{Visitor, Visitors};
use super::{App, assets};
use bytes::Bytes;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::header::{HeaderName, HeaderValue};
use hyper::service::service_fn;
use hyper::{HeaderMap, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::future::Future;
use std::net::{SocketAddr, TcpListener};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, watch};
use types::Problem;

/// Largest request body: a topic file with a list of seeds.
const LARGEST_BODY: usize = 1 << 20;
/// Larger bodies are not even read to their end.
const DROPPED: u64 = 8 << 20;
/// Handlers read from disk, so each has a thread; more wait.
const THREADS: usize = 8;
/// For reading the head of a request.
const HEAD: Duration = Duration::from_secs(5);
/// For reading its body.
const PATIENCE: Duration = Duration::from_secs(15);
/// A stream with nothing to say says so, or proxies and browsers take it for dead.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// How long answers may take to finish when the server is stopped.
const GRACE: Duration = Duration::from_millis(500);

/// A running server. Stops when dropped.
pub struct Server {
    addr: SocketAddr,
    app: Arc<App>,
    stop: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
}

/// Listens before anything else is done, so that a port in use is known at once.
pub fn listen(addr: SocketAddr) -> Result<(TcpListener, SocketAddr), Problem> {
    let problem = |e: std::io::Error| {
        let p = Problem::new(format!("cannot listen on {addr}")).because(&e);
        match e.kind() {
            std::io::ErrorKind::AddrInUse => p.hint(
                "another program uses this port; choose one with --listen 127.0.0.1:PORT (0 takes a \
                        free one)",
            ),
            _ => p.hint("choose another address with --listen"),
        }
    };
    let listener = TcpListener::bind(addr).map_err(problem)?;
    listener.set_nonblocking(true).map_err(problem)?;
    let addr = listener.local_addr().map_err(problem)?;
    Ok((listener, addr))
}

impl Server {
    pub fn start(listener: TcpListener, app: Arc<App>) -> Result<Server, Problem> {
        let problem = |e: std::io::Error| Problem::new("cannot start the dashboard").because(e);
        let addr = listener.local_addr().map_err(problem)?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .max_blocking_threads(THREADS)
            .thread_name("dashboard")
            .enable_io()
            .enable_time()
            .build()
            .map_err(problem)?;
        let (stop, stopped) = watch::channel(false);
        let shared = app.clone();
        let thread = std::thread::Builder::new()
            .name("dashboard".into())
            .spawn(move || {
                runtime.block_on(accept(listener, shared, stopped));
                runtime.shutdown_background();
            })
            .map_err(problem)?;
        Ok(Server { addr, app, stop, thread: Some(thread) })
    }

    pub fn app(&self) -> Arc<App> {
        self.app.clone()
    }

    /// The address to open, token included.
    pub fn url(&self) -> String {
        let mut addr = self.addr;
        if addr.ip().is_unspecified() {
            // Nobody can open 0.0.0.0; from this machine, this works.
            addr.set_ip(if addr.is_ipv4() {
                [127, 0, 0, 1].into()
            } else {
                std::net::Ipv6Addr::LOCALHOST.into()
            });
        }
        format!("http://{addr}/?token={}", self.app.guard.token())
    }

    /// Serves until the process ends.
    pub fn run_forever(mut self) {
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.stop.send(true);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

async fn accept(listener: TcpListener, app: Arc<App>, mut stopped: watch::Receiver<bool>) {
    let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
    let visitors = Arc::new(Visitors::default());
    let mut connections = tokio::task::JoinSet::new();
    loop {
        tokio::select! {
            _ = stopped.changed() => break,
            Some(_) = connections.join_next(), if !connections.is_empty() => {}
            accepted = listener.accept() => match accepted {
                Ok((stream, peer)) => {
                    // Not let in: closed at once.
                    let Some(visitor) = visitors.enter(peer.ip(), Instant::now()) else { continue };
                    let visitor = Arc::new(visitor);
                    let _ = stream.set_nodelay(true);
                    let (app, mut stopped) = (app.clone(), stopped.clone());
                    connections.spawn(async move {
                        let asking = visitor.clone();
                        let service = service_fn(move |request| answer(request, app.clone(), asking.clone()));
                        let served = hyper::server::conn::http1::Builder::new()
                            .timer(TokioTimer::new())
                            .header_read_timeout(HEAD)
                            .max_headers(64)
                            .max_buf_size(64 << 10)
                            .serve_connection(TokioIo::new(stream), service);
                        // An error here is a client that went away.
                        tokio::select! {
                            _ = served => {}
                            _ = visitor.must_leave() => {}
                            _ = stopped.changed() => tokio::time::sleep(GRACE).await,
                        }
                    });
                }
                // Out of file descriptors, most likely: others must close first.
                Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
            },
        }
    }
    drop(listener);
    let finish = async { while connections.join_next().await.is_some() {} };
    let _ = tokio::time::timeout(2 * GRACE, finish).await;
}

/// The connection is closed without an answer.
#[derive(Debug)]
struct HangUp;

impl std::fmt::Display for HangUp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("too many wrong tokens")
    }
}

impl std::error::Error for HangUp {}

async fn answer(
    request: Request<Incoming>,
    app: Arc<App>,
    visitor: Arc<Visitor>,
) -> Result<Response<ReplyBody>, HangUp> {
    let api = request.uri().path().starts_with("/api/");
    visitor.set_busy(true);
    let done = respond(request, &app, &visitor).await;
    visitor.set_busy(false);
    let reply = match done {
        Ok(reply) => reply,
        Err(Denial::HangUp) => return Err(HangUp),
        // People who forgot the token get a page; programs get JSON.
        Err(Denial::Refused(r)) if r.status == 401 && !api => {
            let mut page = Reply::new(401, "text/html; charset=utf-8", assets::UNKNOWN_VISITOR);
            page.headers = r.headers;
            page
        }
        Err(Denial::Refused(refusal)) => refusal.reply(),
    };
    app.counters.answered(reply.status);
    Ok(response(reply))
}

/// Why there is no reply.
enum Denial {
    Refused(Refusal),
    HangUp,
}

impl From<Refusal> for Denial {
    fn from(refusal: Refusal) -> Denial {
        Denial::Refused(refusal)
    }
}

async fn respond(request: Request<Incoming>, app: &Arc<App>, visitor: &Visitor) -> Result<Reply, Denial> {
    let (head, body) = request.into_parts();
    // Where such a body ends a proxy in front of us may see elsewhere than we do, and what follows would be a
    // request that it never saw.
    if head.headers.contains_key("transfer-encoding") {
        let problem = Problem::new("a request must say how long it is")
            .hint("send Content-Length, not Transfer-Encoding");
        return Err(Refusal::new(411, problem).with("connection", "close").into());
    }
    // As one asks a proxy: the host in it would count, and nobody looks at it.
    if head.uri.authority().is_some() {
        return Err(Refusal::bad("the dashboard is no proxy: ask for a path")
            .with("connection", "close")
            .into());
    }
    let query: Vec<(String, String)> =
        form_urlencoded::parse(head.uri.query().unwrap_or("").as_bytes()).into_owned().collect();
    let token = query.iter().find(|(k, _)| k == "token").map(|(_, v)| v.as_str());
    let changes = !matches!(head.method.as_str(), "GET" | "HEAD");
    if let Err(refusal) = app.guard.admit(&head.headers, token, changes) {
        if refusal.status == 401 && app.guard.has_token(&head.headers, token) {
            // Whoever guesses waits for each answer, and gets none when too many wait already.
            let wait = app.guard.wrong_token(visitor.ip()).ok_or(Denial::HangUp)?;
            tokio::time::sleep(wait).await;
        }
        return Err(refusal.into());
    }
    visitor.recognised();
    let first_use = token.is_some();
    let body = read(&head.headers, body).await?;
    let asked = RawRequest {
        method: head.method.as_str().to_string(),
        path: head.uri.path().to_string(),
        query: query.into_iter().filter(|(k, _)| k != "token").collect(),
        json: head.headers.get("content-type").is_some_and(is_json),
        etag: head.headers.get("if-none-match").and_then(|v| v.to_str().ok()).map(String::from),
        body,
    };
    let shared = app.clone();
    let done = tokio::task::spawn_blocking(move || route::dispatch(&shared, &asked)).await;
    let mut reply = match done {
        Ok(result) => result?,
        Err(e) => {
            // A panic is a bug; the server goes on.
            tracing::error!(error = %e, "a request failed");
            let problem = Problem::new("this request failed inside the dashboard");
            return Err(Refusal::new(500, problem).into());
        }
    };
    if first_use {
        reply.headers.push(("set-cookie", app.guard.cookie()));
    }
    Ok(reply)
}

fn is_json(content_type: &HeaderValue) -> bool {
    let text = content_type.to_str().unwrap_or("");
    text.split(';').next().unwrap_or("").trim().eq_ignore_ascii_case("application/json")
}

async fn read(headers: &HeaderMap, body: Incoming) -> Result<Bytes, Refusal> {
    let too_large = || {
        Refusal::new(413, Problem::new(format!("a request may have {LARGEST_BODY} bytes at most")))
            .with("connection", "close")
    };
    let declared = headers.get("content-length").and_then(|v| v.to_str().ok()).and_then(|v| v.parse().ok());
    if let Some(n) = declared.filter(|n: &u64| *n > LARGEST_BODY as u64) {
        // A client that is still sending would not read the answer: what is only somewhat too large is read
        // and dropped.
        if n <= DROPPED {
            let _ = tokio::time::timeout(PATIENCE, drop_all(body)).await;
        }
        return Err(too_large());
    }
    match tokio::time::timeout(PATIENCE, Limited::new(body, LARGEST_BODY).collect()).await {
        Ok(Ok(all)) => Ok(all.to_bytes()),
        Ok(Err(e)) if e.is::<LengthLimitError>() => Err(too_large()),
        Ok(Err(_)) => Err(Refusal::bad("the request was cut off").with("connection", "close")),
        Err(_) => {
            Err(Refusal::new(408, Problem::new("the request took too long")).with("connection", "close"))
        }
    }
}

async fn drop_all(mut body: Incoming) {
    while let Some(Ok(_)) = body.frame().await {}
}

/// Nothing is loaded from elsewhere, nothing runs that is not ours, nobody frames us; text cannot become
/// markup at all.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
                      connect-src 'self'; \
     font-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'; \
     require-trusted-types-for 'script'; \
     trusted-types 'none'";

fn response(reply: Reply) -> Response<ReplyBody> {
    let body = match reply.body {
        Content::Bytes(bytes) => ReplyBody::Whole(Some(bytes)),
        Content::Live(messages) => ReplyBody::Live(Live::new(messages)),
        Content::Stream(pieces) => ReplyBody::Stream(pieces),
    };
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(reply.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    let fixed = [
        ("content-type", reply.content_type),
        ("content-security-policy", POLICY),
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "no-referrer"),
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
        ("cache-control", "no-store"),
    ];
    for (name, value) in fixed {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    for (name, value) in reply.headers {
        if let Ok(value) = HeaderValue::from_str(&value) {
            headers.insert(HeaderName::from_static(name), value);
        }
    }
    response
}

enum ReplyBody {
    Whole(Option<Bytes>),
    Live(Live),
    Stream(mpsc::Receiver<std::io::Result<Bytes>>),
}

impl Body for ReplyBody {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<std::io::Result<Frame<Bytes>>>> {
        match &mut *self {
            ReplyBody::Whole(bytes) => Poll::Ready(bytes.take().map(|b| Ok(Frame::data(b)))),
            ReplyBody::Live(live) => live.poll(cx).map(|b| b.map(|b| Ok(Frame::data(b)))),
            ReplyBody::Stream(pieces) => pieces.poll_recv(cx).map(|p| p.map(|p| p.map(Frame::data))),
        }
    }
    fn is_end_stream(&self) -> bool {
        matches!(self, ReplyBody::Whole(None))
    }
    fn size_hint(&self) -> SizeHint {
        match self {
            ReplyBody::Whole(b) => SizeHint::with_exact(b.as_ref().map_or(0, |b| b.len() as u64)),
            ReplyBody::Live(_) | ReplyBody::Stream(_) => SizeHint::default(),
        }
    }
}

/// The newest message, then each newer one; a comment when nothing comes.
struct Live {
    next: Pin<Box<dyn Future<Output = (watch::Receiver<Arc<str>>, Option<Arc<str>>)> + Send>>,
    ended: bool,
}

impl Live {
    fn new(messages: watch::Receiver<Arc<str>>) -> Live {
        let mut messages = messages;
        messages.mark_changed();
        Live { next: Box::pin(next(messages)), ended: false }
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if self.ended {
            return Poll::Ready(None);
        }
        let Poll::Ready((messages, text)) = self.next.as_mut().poll(cx) else { return Poll::Pending };
        match text {
            Some(text) => {
                self.next = Box::pin(next(messages));
                Poll::Ready(Some(Bytes::from(text.as_bytes().to_vec())))
            }
            None => {
                self.ended = true;
                Poll::Ready(None)
            }
        }
    }
}

async fn next(mut messages: watch::Receiver<Arc<str>>) -> (watch::Receiver<Arc<str>>, Option<Arc<str>>) {
    let text = match tokio::time::timeout(HEARTBEAT, messages.changed()).await {
        Ok(Ok(())) => Some(messages.borrow_and_update().clone()),
        Ok(Err(_)) => None,
        Err(_) => Some(": nothing new\n\n".into()),
    };
    (messages, text)
}
