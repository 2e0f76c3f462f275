//! The bytes under HTTP: TCP, or TLS over it, and how many of them a server may send for nothing.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

pub(crate) enum Transport {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
    /// To a host, inside of that to a proxy.
    TlsInTls(Box<TlsStream<TlsStream<TcpStream>>>),
}

/// A transport whose bytes are counted.
pub(crate) struct Stream {
    transport: Transport,
    allowance: Arc<Allowance>,
}

impl Stream {
    pub fn new(transport: Transport, allowance: Arc<Allowance>) -> Stream {
        Stream { transport, allowance }
    }
}

/// How many bytes a server may still send before it must bring something of use. Interim answers (1xx),
/// padding, pings and chunk sizes that never end use it up; the head of an answer renews it, the body's bytes
/// earn a multiple of themselves. Used up, reading fails with [`Flood`]: neither hyper nor h2 bounds such
/// things, and a server that always has something to read keeps timers from being looked at.
pub(crate) struct Allowance {
    left: AtomicUsize,
    most: usize,
}

/// The error of a stream whose allowance is used up.
#[derive(Debug)]
pub(crate) struct Flood;

impl std::fmt::Display for Flood {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the server sends and sends, but no answer")
    }
}

impl std::error::Error for Flood {}

impl Allowance {
    /// What a byte of body is worth: a server that sends one-byte chunks spends six bytes on each.
    const PER_BYTE: usize = 8;
    /// What a piece of body is worth besides: its frame.
    const PER_PIECE: usize = 16;

    pub fn new(most: usize) -> Arc<Allowance> {
        Arc::new(Allowance { left: AtomicUsize::new(most), most })
    }

    /// A request begins, or the head of its answer came.
    pub fn renew(&self) {
        self.left.store(self.most, Ordering::Relaxed);
    }

    /// A piece of body came.
    pub fn earn(&self, bytes: usize) {
        let earned = bytes.saturating_mul(Allowance::PER_BYTE).saturating_add(Allowance::PER_PIECE);
        self.set(|left| left.saturating_add(earned).min(self.most));
    }

    fn spend(&self, bytes: usize) {
        self.set(|left| left.saturating_sub(bytes));
    }

    fn set(&self, change: impl Fn(usize) -> usize) {
        let _ = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| Some(change(left)));
    }
}

/// Calls the same method of whichever transport it is.
macro_rules! either {
    ($stream:expr, $inner:ident => $call:expr) => {
        match &mut $stream.transport {
            Transport::Plain(s) => {
                let $inner = Pin::new(s);
                $call
            }
            Transport::Tls(s) => {
                let $inner = Pin::new(s.as_mut());
                $call
            }
            Transport::TlsInTls(s) => {
                let $inner = Pin::new(s.as_mut());
                $call
            }
        }
    };
}

impl AsyncRead for Stream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.allowance.left.load(Ordering::Relaxed) == 0 {
            return Poll::Ready(Err(io::Error::other(Flood)));
        }
        let before = buf.filled().len();
        let read = either!(this, s => s.poll_read(cx, buf));
        this.allowance.spend(buf.filled().len() - before);
        read
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        either!(self.get_mut(), s => s.poll_write(cx, buf))
    }
    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        either!(self.get_mut(), s => s.poll_flush(cx))
    }
    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        either!(self.get_mut(), s => s.poll_shutdown(cx))
    }
}
