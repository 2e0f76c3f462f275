//! Questions and events: JSON messages, over the pipe of a browser of our own (each ended by a zero byte), or
//! over a WebSocket to another one.

use crate::socket;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{ChildStdin, ChildStdout};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;

/// No message is longer: the snapshot of a page, the body of a request.
const LONGEST: u64 = 128 << 20;

/// Something happened in a tab.
#[derive(Debug)]
pub struct Event {
    pub method: String,
    pub params: Value,
}

/// What came back: a result, or what the browser says is wrong.
pub type Answer = Result<Value, String>;

/// The line to one browser. Cheap to clone.
#[derive(Clone)]
pub struct Line {
    to: mpsc::Sender<Vec<u8>>,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    next: AtomicU64,
    dead: AtomicBool,
    waiting: Mutex<HashMap<u64, oneshot::Sender<Answer>>>,
    tabs: Mutex<HashMap<String, UnboundedSender<Event>>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Line {
    /// To a browser of our own.
    pub fn piped(mut to: ChildStdin, from: ChildStdout) -> std::io::Result<Line> {
        let mut from = BufReader::with_capacity(256 << 10, from);
        let send = move |message: &mut Vec<u8>| {
            message.push(0);
            to.write_all(message).and_then(|()| to.flush()).is_ok()
        };
        let receive = move |bytes: &mut Vec<u8>| {
            bytes.clear();
            let read = (&mut from).take(LONGEST).read_until(0, bytes);
            read.is_ok_and(|n| n > 0) && bytes.pop() == Some(0)
        };
        Line::new(send, receive)
    }

    /// To a browser that somebody else started.
    pub fn far(to: socket::Sender, mut from: socket::Receiver) -> std::io::Result<Line> {
        let send = move |message: &mut Vec<u8>| to.send(message).is_ok();
        let receive = move |bytes: &mut Vec<u8>| match from.next(LONGEST) {
            Some(message) => {
                *bytes = message;
                true
            }
            None => false,
        };
        Line::new(send, receive)
    }

    /// Two threads carry the messages until the browser ends.
    fn new(
        mut give: impl FnMut(&mut Vec<u8>) -> bool + Send + 'static,
        take: impl FnMut(&mut Vec<u8>) -> bool + Send + 'static,
    ) -> std::io::Result<Line> {
        let (send, messages) = mpsc::channel::<Vec<u8>>();
        let shared = Arc::new(Shared::default());
        let spawn = |name: &str| std::thread::Builder::new().name(name.into());
        spawn("gleaner-browser-in").spawn(move || {
            for mut message in messages {
                if !give(&mut message) {
                    return;
                }
            }
        })?;
        let reading = Line { to: send.clone(), shared: shared.clone() };
        spawn("gleaner-browser-out").spawn(move || reading.read(take))?;
        Ok(Line { to: send, shared })
    }

    pub fn is_alive(&self) -> bool {
        !self.shared.dead.load(Ordering::SeqCst)
    }

    fn read(self, mut take: impl FnMut(&mut Vec<u8>) -> bool) {
        // The other end of the questions must not be kept open by whoever reads the answers.
        let Line { to, shared } = self;
        drop(to);
        let mut bytes = Vec::new();
        while take(&mut bytes) {
            if let Ok(message) = serde_json::from_slice::<Value>(&bytes) {
                shared.deliver(message);
            }
        }
        shared.dead.store(true, Ordering::SeqCst);
        // Whoever waits learns that there will be no answer.
        lock(&shared.waiting).clear();
        lock(&shared.tabs).clear();
    }

    /// Sends a question. The receiver ends without an answer when the browser ends.
    pub fn ask(&self, session: Option<&str>, method: &str, params: Value) -> oneshot::Receiver<Answer> {
        let (send, receive) = oneshot::channel();
        let id = self.shared.next.fetch_add(1, Ordering::SeqCst);
        lock(&self.shared.waiting).insert(id, send);
        if !self.send(id, session, method, params) || !self.is_alive() {
            lock(&self.shared.waiting).remove(&id);
        }
        receive
    }

    /// Sends something whose answer nobody waits for.
    pub fn tell(&self, session: Option<&str>, method: &str, params: Value) {
        let id = self.shared.next.fetch_add(1, Ordering::SeqCst);
        self.send(id, session, method, params);
    }

    fn send(&self, id: u64, session: Option<&str>, method: &str, params: Value) -> bool {
        let mut message = json!({ "id": id, "method": method, "params": params });
        if let (Some(session), Some(map)) = (session, message.as_object_mut()) {
            map.insert("sessionId".into(), session.into());
        }
        let Ok(bytes) = serde_json::to_vec(&message) else { return false };
        self.to.send(bytes).is_ok()
    }

    /// The events of a session, or (with an empty name) of the browser itself.
    pub fn events(&self, session: &str) -> UnboundedReceiver<Event> {
        let (send, receive) = unbounded_channel();
        if self.is_alive() {
            lock(&self.shared.tabs).insert(session.to_string(), send);
        }
        receive
    }

    pub fn forget(&self, session: &str) {
        lock(&self.shared.tabs).remove(session);
    }
}

impl Shared {
    fn deliver(&self, mut message: Value) {
        let take = |message: &mut Value, key: &str| message.get_mut(key).map(Value::take);
        if let Some(id) = message.get("id").and_then(Value::as_u64) {
            let answer = match take(&mut message, "error") {
                Some(error) => {
                    Err(error.get("message").and_then(Value::as_str).unwrap_or("an error").to_string())
                }
                None => Ok(take(&mut message, "result").unwrap_or_default()),
            };
            if let Some(waiting) = lock(&self.waiting).remove(&id) {
                let _ = waiting.send(answer);
            }
            return;
        }
        let Some(method) = message.get("method").and_then(Value::as_str).map(str::to_string) else { return };
        let session = message.get("sessionId").and_then(Value::as_str).unwrap_or("").to_string();
        let params = take(&mut message, "params").unwrap_or_default();
        if let Some(tab) = lock(&self.tabs).get(&session) {
            let _ = tab.send(Event { method, params });
        }
    }
}
