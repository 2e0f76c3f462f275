//! Questions to a server that the user named (a language model): POST of JSON, and a bounded answer.
//!
//! This is not how pages are fetched. The address is the user's own, so it may be on this machine or inside
//! their network; no redirect is followed, so neither a key nor a page's text is carried anywhere else.

use crate::connect::{Connector, NoPlace};
use crate::dns::System;
use crate::exchange::failure;
use crate::stream::{Allowance, Stream};
use crate::{Settings, guard, headers};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1;
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, header};
use hyper_util::rt::TokioIo;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio::time::timeout;
use types::{Failure, Problem, Url};
use url::Position;

/// Largest head of an answer.
const HEAD: usize = 64 << 10;

/// Where questions go. One connection per question: they are rare, and take seconds each.
pub struct Endpoint {
    connector: Connector,
    url: Url,
    headers: HeaderMap,
}

/// What the server says to one question.
#[derive(Clone, Debug, Default)]
pub struct Reply {
    /// HTTP status.
    pub status: u16,
    /// It asks to be left alone for so long.
    pub retry_after: Option<Duration>,
    /// `Content-Type` without parameters, lower-case.
    pub media_type: String,
    /// The body, at most as long as was asked for.
    pub body: Vec<u8>,
    /// There was more than was wanted; the rest was not read.
    pub cut: bool,
}

impl Endpoint {
    /// `key` goes into the header `Authorization`, and into no message. Of the settings the user agent, the
    /// proxy and further certificates count.
    pub fn new(url: Url, settings: &Settings, key: Option<&str>) -> Result<Endpoint, Problem> {
        let own = Settings {
            allow_private: true,
            http2: false,
            // A proxy is for the world; what is here is asked directly.
            proxies: if guard::is_near(&url) { Vec::new() } else { settings.proxies.clone() },
            resolve: Vec::new(),
            name_patience: None,
            connect_timeout: settings.connect_timeout,
            extra_roots: settings.extra_roots.clone(),
            ..Settings::default()
        };
        let mut headers = HeaderMap::new();
        let mut add = |name: HeaderName, value: &str, what: &str, secret: bool| {
            let mut value = HeaderValue::try_from(value)
                .map_err(|_| Problem::usage(format!("{what} cannot be sent in an HTTP header")))?;
            value.set_sensitive(secret);
            headers.insert(name, value);
            Ok::<(), Problem>(())
        };
        add(
            header::HOST,
            &url.as_url()[Position::BeforeHost..Position::AfterPort],
            "the host's name",
            false,
        )?;
        // Without the contact: that is for owners of pages.
        add(header::USER_AGENT, &settings.user_agent, "the user agent", false)?;
        add(header::ACCEPT, "application/json", "", false)?;
        add(header::CONTENT_TYPE, "application/json", "", false)?;
        if let Some(key) = key {
            add(header::AUTHORIZATION, &format!("Bearer {key}"), "the key", true)?;
        }
        let connector = Connector::new(&own, Arc::new(System))?;
        if url.scheme() == "http"
            && let Some(proxy) = connector.proxy(&url).filter(|p| p.forwards())
            && let Some(secret) = proxy.authorization.as_deref()
        {
            add(header::PROXY_AUTHORIZATION, secret, "the proxy's password", true)?;
        }
        Ok(Endpoint { connector, url, headers })
    }

    /// Where questions go.
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// One question. Of the answer no more than `most` bytes are read; all of it takes no longer than
    /// `limit`.
    pub async fn post(&self, body: Vec<u8>, most: usize, limit: Duration) -> Result<Reply, Failure> {
        self.post_with(body, &[], most, limit).await
    }

    /// As `post`, with headers of this question alone (a signature of its body).
    pub async fn post_with(
        &self,
        body: Vec<u8>,
        more: &[(&'static str, String)],
        most: usize,
        limit: Duration,
    ) -> Result<Reply, Failure> {
        let late = || Failure::Timeout(format!("no whole answer within {} s", limit.as_secs_f64()));
        timeout(limit, self.exchange(body, more, most)).await.map_err(|_| late())?
    }

    async fn exchange(
        &self,
        body: Vec<u8>,
        more: &[(&'static str, String)],
        most: usize,
    ) -> Result<Reply, Failure> {
        let place = self.connector.locate(&self.url).await.map_err(|e| match e {
            NoPlace::Failed(failure) => failure,
            NoPlace::Later(_) => Failure::Dns(format!("{}: no answer yet", self.url.host())),
        })?;
        let connected = self.connector.connect(&self.url, &place).await?;
        // No more than the answer may have, whatever it is made of: one-byte chunks cost six bytes each.
        let allowance = Allowance::new(most.saturating_mul(8).saturating_add(4 * HEAD));
        let io = TokioIo::new(Stream::new(connected.transport, allowance));
        let mut builder = http1::Builder::new();
        builder.title_case_headers(true).max_buf_size(2 * HEAD).max_header_size(HEAD);
        let (mut sender, connection) = builder.handshake(io).await.map_err(|e| failure(&e))?;
        let mut request = hyper::Request::new(Full::new(Bytes::from(body)));
        *request.method_mut() = Method::POST;
        let target = match self.connector.is_forwarded(&self.url) {
            true => self.url.as_str().split('#').next().unwrap_or_default(),
            false => &self.url.as_url()[Position::BeforePath..Position::AfterQuery],
        };
        *request.uri_mut() =
            target.parse().map_err(|e| Failure::Unsupported(format!("{target} cannot be asked for: {e}")))?;
        *request.headers_mut() = self.headers.clone();
        for (name, value) in more {
            let bad = |_| Failure::Unsupported(format!("the header {name} cannot be sent"));
            let value = HeaderValue::try_from(value).map_err(bad)?;
            request.headers_mut().insert(HeaderName::from_static(name), value);
        }
        // The connection is driven here, so that dropping the question closes it.
        let talk = async {
            let answer = sender.send_request(request).await.map_err(|e| failure(&e))?;
            let (head, mut incoming) = answer.into_parts();
            let text = |name: HeaderName| head.headers.get(name).map(headers::text).unwrap_or_default();
            let (wait, date) = (text(header::RETRY_AFTER), text(header::DATE));
            let date = Some(date.as_str()).filter(|d| !d.is_empty());
            let mut reply = Reply {
                status: head.status.as_u16(),
                retry_after: headers::retry_after(&wait, date, SystemTime::now()),
                media_type: text(header::CONTENT_TYPE),
                ..Reply::default()
            };
            while let Some(frame) = incoming.frame().await {
                let Ok(data) = frame.map_err(|e| failure(&e))?.into_data() else { continue };
                let room = most - reply.body.len();
                reply.body.extend(data.iter().take(room));
                if data.len() > room {
                    reply.cut = true;
                    break;
                }
            }
            Ok(reply)
        };
        tokio::pin!(connection);
        tokio::pin!(talk);
        tokio::select! {
            biased;
            done = &mut talk => done,
            ended = &mut connection => match ended {
                // What came before the end may still be an answer.
                Ok(()) => talk.await,
                Err(e) => talk.await.map_err(|_: Failure| failure(&e)),
            },
        }
    }
}
