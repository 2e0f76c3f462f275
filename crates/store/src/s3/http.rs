//! One request and its answer, as a blocking call: connections are kept for the next one, everything has a
//! time limit.
//!
//! This is not how pages are fetched (`fetch` does that, with its guard against private addresses): the
//! server here is one that the user named.

use super::address::Endpoint;
use crate::trust;
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::{self, SendRequest};
use hyper::{HeaderMap, Request};
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::runtime::{Builder, Runtime};
use tokio_rustls::TlsConnector;
use types::{Problem, with_causes};

const CONNECT: Duration = Duration::from_secs(10);

type Sender = SendRequest<Full<Bytes>>;

pub(super) struct Client {
    runtime: Runtime,
    tls: TlsConnector,
    to: Endpoint,
    kept: Mutex<Option<Sender>>,
}

pub(super) struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|v| v.to_str().ok())
    }
}

impl Client {
    pub fn new(to: Endpoint, authorities: Option<&str>) -> Result<Client, Problem> {
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|e| Problem::new("cannot start the network").because(e))?;
        let hint = "it names a PEM file with the certificates of the authorities to believe";
        let roots = trust::authorities(authorities, "AWS_CA_BUNDLE", hint)?;
        let config = trust::tls()?.with_root_certificates(roots).with_no_client_auth();
        Ok(Client { runtime, tls: TlsConnector::from(Arc::new(config)), to, kept: Mutex::new(None) })
    }

    /// What went wrong on the way is told in words. Of the answer's body no more than `most` bytes are taken.
    pub fn send(
        &self,
        request: Request<Full<Bytes>>,
        most: usize,
        limit: Duration,
    ) -> Result<Answer, String> {
        self.runtime.block_on(async {
            match tokio::time::timeout(limit, self.exchange(request, most)).await {
                Ok(done) => done,
                Err(_) => Err(format!("no whole answer within {} s", limit.as_secs())),
            }
        })
    }

    async fn exchange(&self, request: Request<Full<Bytes>>, most: usize) -> Result<Answer, String> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner).take();
        let mut sender = None;
        if let Some(mut old) = kept
            && old.ready().await.is_ok()
        {
            sender = Some(old);
        }
        let mut sender = match sender {
            Some(sender) => sender,
            None => self.connect().await?,
        };
        let answer = sender.send_request(request).await.map_err(|e| with_causes(&e))?;
        let (head, mut body) = answer.into_parts();
        let mut bytes = Vec::new();
        while let Some(frame) = body.frame().await {
            let Ok(data) = frame.map_err(|e| with_causes(&e))?.into_data() else { continue };
            if bytes.len() + data.len() > most {
                return Err(format!("the answer is longer than the {most} bytes that were asked for"));
            }
            bytes.extend_from_slice(&data);
        }
        if !sender.is_closed() {
            *self.kept.lock().unwrap_or_else(PoisonError::into_inner) = Some(sender);
        }
        Ok(Answer { status: head.status.as_u16(), headers: head.headers, body: bytes })
    }

    async fn connect(&self) -> Result<Sender, String> {
        match tokio::time::timeout(CONNECT, self.open()).await {
            Ok(opened) => opened,
            Err(_) => Err(format!("no connection within {} s", CONNECT.as_secs())),
        }
    }

    async fn open(&self) -> Result<Sender, String> {
        let name = self.to.host.trim_start_matches('[').trim_end_matches(']');
        let tcp = TcpStream::connect((name, self.to.port)).await.map_err(|e| with_causes(&e))?;
        let _ = tcp.set_nodelay(true);
        let stream: Box<dyn Duplex> = if self.to.https {
            let name = ServerName::try_from(name.to_string()).map_err(|e| with_causes(&e))?;
            Box::new(self.tls.connect(name, tcp).await.map_err(|e| with_causes(&e))?)
        } else {
            Box::new(tcp)
        };
        let (sender, connection) =
            http1::handshake(TokioIo::new(stream)).await.map_err(|e| with_causes(&e))?;
        tokio::spawn(async move {
            // Whoever uses the sender hears of its end.
            let _ = connection.await;
        });
        Ok(sender)
    }
}

trait Duplex: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Duplex for T {}
