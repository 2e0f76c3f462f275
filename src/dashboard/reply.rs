//! What a handler answers.

use bytes::Bytes;
use serde::Serialize;
use serde_json::json;
use std::sync::Arc;
use tokio::sync::{mpsc, watch};
use types::{Problem, ProblemKind};

/// An answer: bytes, or a stream of live messages.
pub struct Reply {
    pub status: u16,
    pub content_type: &'static str,
    pub headers: Vec<(&'static str, String)>,
    pub body: Content,
}

pub enum Content {
    Bytes(Bytes),
    /// Server-sent events: the newest message whenever it changes. A slow reader misses the ones between.
    Live(watch::Receiver<Arc<str>>),
    /// Pieces as they are made. An error breaks the connection, so nobody takes a part for the whole.
    Stream(mpsc::Receiver<std::io::Result<Bytes>>),
}

impl Reply {
    pub fn new(status: u16, content_type: &'static str, body: impl Into<Bytes>) -> Reply {
        Reply { status, content_type, headers: Vec::new(), body: Content::Bytes(body.into()) }
    }
    pub fn json(value: &impl Serialize) -> Reply {
        // Only a map with keys that are no strings could fail, and there is none.
        Reply::new(200, "application/json", serde_json::to_vec(value).unwrap_or_default())
    }
    pub fn text(text: impl Into<Bytes>) -> Reply {
        Reply::new(200, "text/plain; charset=utf-8", text)
    }
    pub fn live(messages: watch::Receiver<Arc<str>>) -> Reply {
        Reply {
            status: 200,
            content_type: "text/event-stream",
            headers: Vec::new(),
            body: Content::Live(messages),
        }
    }
    /// A file to be saved under this name.
    pub fn download(
        name: &str,
        content_type: &'static str,
        pieces: mpsc::Receiver<std::io::Result<Bytes>>,
    ) -> Reply {
        let body = Content::Stream(pieces);
        let reply = Reply { status: 200, content_type, headers: Vec::new(), body };
        reply.with("content-disposition", format!("attachment; filename=\"{name}\""))
    }
    pub fn with(mut self, name: &'static str, value: impl Into<String>) -> Reply {
        self.headers.push((name, value.into()));
        self
    }
}

/// Why a request is not answered as it wished.
#[derive(Debug)]
pub struct Refusal {
    pub status: u16,
    pub problem: Problem,
    pub headers: Vec<(&'static str, String)>,
}

impl Refusal {
    pub fn new(status: u16, problem: Problem) -> Refusal {
        Refusal { status, problem, headers: Vec::new() }
    }
    pub fn bad(what: impl Into<String>) -> Refusal {
        Refusal::new(400, Problem::usage(what))
    }
    pub fn not_found(what: impl Into<String>) -> Refusal {
        Refusal::new(404, Problem::nothing(what))
    }
    /// It cannot be done to this collection as it is now.
    pub fn conflict(problem: Problem) -> Refusal {
        Refusal::new(409, problem)
    }
    pub fn with(mut self, name: &'static str, value: impl Into<String>) -> Refusal {
        self.headers.push((name, value.into()));
        self
    }
    pub fn reply(self) -> Reply {
        let p = &self.problem;
        let error = json!({ "error": { "what": p.what(), "because": p.cause(), "hint": p.next_step() } });
        let mut reply = Reply::json(&error);
        reply.status = self.status;
        reply.headers = self.headers;
        reply
    }
}

impl From<Problem> for Refusal {
    fn from(problem: Problem) -> Refusal {
        let status = match problem.kind() {
            ProblemKind::Usage => 400,
            ProblemKind::Nothing => 404,
            ProblemKind::Failed => 500,
        };
        Refusal::new(status, problem)
    }
}
