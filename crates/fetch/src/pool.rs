//! Open connections and the pool of idle ones.
//!
//! An HTTP/1.1 connection is driven by whoever uses it, inside the same task as the request: no background
//! task per connection, no hand-over between tasks for every piece of a body, and dropping the fetch closes
//! the socket. An HTTP/2 connection is shared, so it has a task of its own.

use crate::connect::Connected;
use crate::stream::{Allowance, Stream};
use bytes::Bytes;
use http_body_util::Empty;
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use std::collections::HashMap;
use std::future::{Future, poll_fn};
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::Instant;
use types::Failure;

pub(crate) type NoBody = Empty<Bytes>;

/// A connection somebody may send a request on.
pub(crate) struct Conn {
    pub sender: Sender,
    pub ip: Option<IpAddr>,
    /// It answered a request before, so the server may have closed it meanwhile.
    pub reused: bool,
    /// What the server may still send for nothing; of an HTTP/2 connection, over all its answers.
    pub allowance: Arc<Allowance>,
}

pub(crate) enum Sender {
    H1 { sender: http1::SendRequest<NoBody>, driver: Driver },
    H2 { sender: http2::SendRequest<NoBody> },
}

/// The half of an HTTP/1.1 connection that moves bytes when polled; gone once the connection ended.
pub(crate) struct Driver(Option<Box<http1::Connection<TokioIo<Stream>, NoBody>>>);

impl Driver {
    /// Moves whatever can be moved. How the connection ended is told to the request, not here.
    pub fn poll(&mut self, cx: &mut Context<'_>) {
        if let Some(connection) = &mut self.0
            && Pin::new(connection).poll(cx).is_ready()
        {
            self.0 = None;
        }
    }

    pub fn is_open(&self) -> bool {
        self.0.is_some()
    }
}

/// Limits of the HTTP parsers.
#[derive(Clone, Copy)]
pub(crate) struct Limits {
    pub max_headers: usize,
}

impl Conn {
    pub async fn open(connected: Connected, limits: Limits) -> Result<Conn, Failure> {
        // hyper reads ahead by a buffer as large as the largest head.
        let heads = 4 * limits.max_headers.max(64 << 10);
        let allowance = Allowance::new(if connected.http2 { heads + (2 << 20) } else { heads });
        let io = TokioIo::new(Stream::new(connected.transport, allowance.clone()));
        let failed = |e: hyper::Error| Failure::Protocol(format!("no HTTP connection: {e}"));
        let sender = if connected.http2 {
            let mut builder = http2::Builder::new(TokioExecutor::new());
            // Small windows: a server must not have sent megabytes before it learns that we do not want them.
            builder
                .initial_stream_window_size(256 << 10)
                .initial_connection_window_size(1 << 20)
                .max_header_list_size(limits.max_headers.min(u32::MAX as usize) as u32);
            let (sender, connection) = builder.handshake(io).await.map_err(failed)?;
            tokio::spawn(async move {
                let _ = connection.await;
            });
            Sender::H2 { sender }
        } else {
            let mut builder = http1::Builder::new();
            // What real servers get wrong without meaning harm.
            builder
                .title_case_headers(true)
                .allow_spaces_after_header_name_in_responses(true)
                .allow_obsolete_multiline_headers_in_responses(true)
                .ignore_invalid_headers_in_responses(true)
                .max_buf_size(limits.max_headers.max(MIN_BUFFER))
                .max_header_size(limits.max_headers);
            let (sender, connection) = builder.handshake(io).await.map_err(failed)?;
            Sender::H1 { sender, driver: Driver(Some(Box::new(connection))) }
        };
        Ok(Conn { sender, ip: connected.ip, reused: false, allowance })
    }

    pub fn protocol(&self) -> &'static str {
        match self.sender {
            Sender::H1 { .. } => "HTTP/1.1",
            Sender::H2 { .. } => "HTTP/2",
        }
    }

    /// Can a request be sent now? Notices a server that closed the idle connection, or sent what nobody asked
    /// for.
    pub async fn is_usable(&mut self) -> bool {
        match &mut self.sender {
            Sender::H2 { sender } => !sender.is_closed(),
            Sender::H1 { sender, driver } => {
                poll_fn(|cx| {
                    driver.poll(cx);
                    Poll::Ready(())
                })
                .await;
                driver.is_open() && sender.is_ready()
            }
        }
    }
}

/// hyper's own lower limit for its buffer.
const MIN_BUFFER: usize = 8 << 10;

struct Idle {
    conn: Conn,
    since: Instant,
}

/// Idle connections by origin, bounded in number, per origin and in age.
pub(crate) struct Pool {
    idle: Mutex<Shelves>,
    max_total: usize,
    per_origin: usize,
}

#[derive(Default)]
struct Shelves {
    by_origin: HashMap<Box<str>, Vec<Idle>>,
    total: usize,
    swept: Option<Instant>,
}

impl Pool {
    const MAX_AGE: Duration = Duration::from_secs(60);
    const SWEEP_EVERY: Duration = Duration::from_secs(5);

    pub fn new(max_total: usize, per_origin: usize) -> Pool {
        Pool { idle: Mutex::default(), max_total, per_origin }
    }

    /// A usable idle connection. HTTP/2 ones stay in the pool and are shared.
    pub async fn take(&self, origin: &str) -> Option<Conn> {
        loop {
            let mut conn = self.pop(origin)?;
            if !conn.is_usable().await {
                continue;
            }
            conn.reused = true;
            if let Sender::H2 { sender } = &conn.sender {
                let sender = Sender::H2 { sender: sender.clone() };
                let allowance = conn.allowance.clone();
                let shared = Conn { sender, ip: conn.ip, reused: true, allowance };
                self.put(origin, conn);
                return Some(shared);
            }
            return Some(conn);
        }
    }

    fn pop(&self, origin: &str) -> Option<Conn> {
        let mut shelves = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let shelf = shelves.by_origin.get_mut(origin)?;
        // The one used last is the least likely to have been closed.
        let idle = shelf.pop()?;
        if shelf.is_empty() {
            shelves.by_origin.remove(origin);
        }
        shelves.total -= 1;
        (idle.since.elapsed() < Pool::MAX_AGE).then_some(idle.conn)
    }

    /// Keeps a connection whose answer was read to the end.
    pub fn put(&self, origin: &str, conn: Conn) {
        let now = Instant::now();
        let mut shelves = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if shelves.swept.is_none_or(|at| now - at >= Pool::SWEEP_EVERY) {
            shelves.sweep(now);
        }
        if self.max_total == 0 {
            return;
        }
        if shelves.total >= self.max_total {
            shelves.drop_oldest();
        }
        let shelf = match shelves.by_origin.get_mut(origin) {
            Some(shelf) => shelf,
            None => shelves.by_origin.entry(origin.into()).or_default(),
        };
        // One HTTP/2 connection is enough for any number of requests.
        let shared = matches!(conn.sender, Sender::H2 { .. });
        if shelf.len() >= if shared { 1 } else { self.per_origin } {
            return;
        }
        shelf.push(Idle { conn, since: now });
        shelves.total += 1;
    }
}

impl Shelves {
    fn sweep(&mut self, now: Instant) {
        self.by_origin.retain(|_, shelf| {
            shelf.retain(|idle| now - idle.since < Pool::MAX_AGE);
            !shelf.is_empty()
        });
        self.total = self.by_origin.values().map(Vec::len).sum();
        self.swept = Some(now);
    }

    fn drop_oldest(&mut self) {
        let ages = self.by_origin.iter().filter_map(|(origin, shelf)| Some((shelf.first()?.since, origin)));
        let Some(origin) = ages.min_by_key(|(since, _)| *since).map(|(_, origin)| origin.clone()) else {
            return;
        };
        if let Some(shelf) = self.by_origin.get_mut(&origin) {
            if !shelf.is_empty() {
                shelf.remove(0);
                self.total -= 1;
            }
            if shelf.is_empty() {
                self.by_origin.remove(&origin);
            }
        }
    }
}
