//! Asks an OpenAI-compatible `/chat/completions`, and says in plain words what went wrong. Blocking: for a
//! thread of its own.

use super::answer::{self, TeacherAnswer};
use super::prompt::Prompt;
use super::{KEY, address};
use crate::config::TeacherSection;
use fetch::post::{Endpoint, Reply};
use fetch::retry::backoff;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use types::{Failure, Problem};

/// An answer of a few hundred tokens is a few kilobytes; whatever sends more is no answer.
const MOST_BYTES: usize = 1 << 20;
/// Tokens that an answer may have. Models that think aloud need some.
pub(super) const ANSWER_TOKENS: u64 = 1_500;
/// Requests for one question.
const TRIES: u32 = 3;
/// A server that wants a longer pause is left alone, and asked again another time.
const PATIENCE: Duration = Duration::from_secs(30);

/// Speaks to a chat-completions endpoint.
pub struct Client {
    endpoint: Endpoint,
    model: String,
    timeout: Duration,
    runtime: tokio::runtime::Runtime,
    /// The server takes neither a schema nor limits: only what every one understands is sent.
    plain: AtomicBool,
    /// Whoever waits has given up.
    stop: AtomicBool,
    /// Of the pauses between tries; shorter in tests.
    pub(super) pause: fn(u32) -> Duration,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failed {
    /// For people.
    pub why: String,
    /// It will not be better the next time: a wrong key, a wrong address.
    pub for_good: bool,
    /// It wants to be left alone for so long.
    pub wait: Option<Duration>,
}

/// What a question cost, whatever came of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Requests that reached the server.
    pub calls: u64,
    /// Tokens sent and received; an estimate where the server does not say.
    pub tokens: u64,
    /// Calls without a usable answer.
    pub failed: u64,
}

impl Client {
    /// `None` when no teacher is named.
    pub fn new(section: &TeacherSection, settings: &fetch::Settings) -> Result<Option<Client>, Problem> {
        let (Some(url), Some(model)) = (&section.url, &section.model) else { return Ok(None) };
        let key = std::env::var(KEY).ok().map(|k| k.trim().to_string()).filter(|k| !k.is_empty());
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|e| Problem::new("cannot start the network").because(e))?;
        Ok(Some(Client {
            endpoint: Endpoint::new(address(url)?, settings, key.as_deref())?,
            model: model.clone(),
            timeout: section.timeout.0,
            runtime,
            plain: AtomicBool::new(false),
            stop: AtomicBool::new(false),
            pause: |tries| backoff(tries, u64::from(std::process::id())).min(PATIENCE),
        }))
    }

    /// Ends pauses: nobody waits for the answer any more.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// What the model says of the pages of a prompt.
    pub fn ask(
        &self,
        prompt: &Prompt,
        calls: u32,
        cost: &mut Cost,
    ) -> Result<Vec<Option<TeacherAnswer>>, Failed> {
        let schema = answer::schema(prompt.pages);
        self.chat(&prompt.system, &prompt.user, ("answers", &schema), calls, cost, &|text| {
            answer::read(text, prompt.pages)
        })
    }

    /// One conversation of one question: tried again after a pause when that may help, with at most `calls`
    /// requests. `read` says whether the text will do.
    pub fn chat<T>(
        &self,
        system: &str,
        user: &str,
        schema: (&str, &Value),
        calls: u32,
        cost: &mut Cost,
        read: &dyn Fn(&str) -> Result<T, String>,
    ) -> Result<T, Failed> {
        let mut tries = 0;
        loop {
            tries += 1;
            let plain = self.plain.load(Ordering::Relaxed);
            let failed = match self.once(system, user, schema, plain, cost, read) {
                Ok(said) => return Ok(said),
                Err(failed) => failed,
            };
            let stopped = self.stop.load(Ordering::Relaxed);
            // A server that does not know the schema is asked once more without it.
            let simpler = !plain && self.plain.load(Ordering::Relaxed);
            let over = tries >= calls || (!simpler && (failed.for_good || tries >= TRIES));
            if stopped || over {
                return Err(failed);
            }
            let pause = match failed.wait {
                _ if simpler => Duration::ZERO,
                Some(wait) if wait > PATIENCE => return Err(failed),
                Some(wait) => wait.max((self.pause)(tries)),
                None => (self.pause)(tries),
            };
            self.rest(pause);
        }
    }

    /// Sleeps, unless nobody waits any more.
    fn rest(&self, pause: Duration) {
        let until = Instant::now() + pause;
        while !self.stop.load(Ordering::Relaxed) {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            std::thread::sleep(left.min(Duration::from_millis(50)));
        }
    }

    fn once<T>(
        &self,
        system: &str,
        user: &str,
        schema: (&str, &Value),
        plain: bool,
        cost: &mut Cost,
        read: &dyn Fn(&str) -> Result<T, String>,
    ) -> Result<T, Failed> {
        let mut body = json!({
            "model": self.model,
            "messages": [{ "role": "system", "content": system }, { "role": "user", "content": user }],
            "stream": false,
        });
        if !plain {
            let (name, schema) = schema;
            body["temperature"] = 0.into();
            body["max_tokens"] = ANSWER_TOKENS.into();
            body["response_format"] = json!({
                "type": "json_schema",
                "json_schema": { "name": name, "strict": true, "schema": schema },
            });
        }
        let sent = (system.len() + user.len()) as u64 / 3;
        let reply = self.runtime.block_on(self.endpoint.post(
            body.to_string().into_bytes(),
            MOST_BYTES,
            self.timeout,
        ));
        let reply = match reply {
            Ok(reply) => reply,
            Err(failure) => {
                // Who was never reached has not worked.
                if !matches!(failure, Failure::Dns(_) | Failure::Connect(_) | Failure::Tls(_)) {
                    cost.calls += 1;
                    cost.tokens += sent;
                    cost.failed += 1;
                }
                return Err(self.unreachable(&failure));
            }
        };
        cost.calls += 1;
        let (text, tokens) = match self.checked(&reply, plain) {
            Ok(good) => good,
            Err(failed) => {
                // What was refused was not worked on; a broken answer was.
                cost.tokens += if reply.status == 200 { sent } else { 0 };
                cost.failed += 1;
                return Err(failed);
            }
        };
        cost.tokens += tokens.unwrap_or(sent + text.len() as u64 / 3);
        read(&text).map_err(|why| {
            cost.failed += 1;
            Failed { why: format!("the answer cannot be used: {why}"), for_good: false, wait: None }
        })
    }

    fn unreachable(&self, failure: &Failure) -> Failed {
        Failed { why: format!("no answer: {failure}"), for_good: false, wait: None }
    }

    /// The text of a good reply, and its tokens.
    fn checked(&self, reply: &Reply, plain: bool) -> Result<(String, Option<u64>), Failed> {
        let said = serde_json::from_slice::<Value>(&reply.body).ok();
        let said = said
            .as_ref()
            .and_then(|v| v.get("error").or_else(|| v.get("detail")).or_else(|| v.get("message")));
        let said = said.map_or(String::new(), |e| format!(": {}", answer::error_text(e)));
        let failed = |why: String, for_good| Failed { why, for_good, wait: reply.retry_after };
        match reply.status {
            200..300 => {}
            401 | 403 => {
                let why = format!("it does not accept the key of {KEY} (status {}){said}", reply.status);
                return Err(failed(why, true));
            }
            404 => return Err(failed(format!("no such model or address (status 404){said}"), true)),
            // A server that does not know `response_format`, or a model that takes no limits.
            400 | 415 | 422 | 500 | 501 if !plain => {
                self.plain.store(true, Ordering::Relaxed);
                return Err(failed(format!("it answers with status {}{said}", reply.status), false));
            }
            429 => {
                return Err(failed(
                    format!("too many requests, or the quota is used up (status 429){said}"),
                    false,
                ));
            }
            408 | 409 | 425 | 500.. => {
                return Err(failed(format!("it answers with status {}{said}", reply.status), false));
            }
            300..400 => {
                return Err(failed("it redirects to another address, which is not followed".into(), true));
            }
            status => return Err(failed(format!("it answers with status {status}{said}"), true)),
        }
        if reply.cut {
            return Err(failed(format!("its answer is longer than {} KB", MOST_BYTES >> 10), false));
        }
        answer::content(&reply.body).map_err(|why| {
            let html = if reply.media_type.contains("html") { " but a Web page" } else { "" };
            failed(format!("the answer cannot be used: {why}{html}"), false)
        })
    }
}
