//! An OpenAI-compatible `/chat/completions` on the loopback interface: real sockets, the real protocol, and
//! whatever answer (or trouble) the test wants.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A page as the model sees it: what stands between the boundaries.
#[derive(Clone, Debug)]
pub struct Page {
    pub number: u64,
    pub url: String,
    pub title: String,
    pub text: String,
}

/// One request.
#[derive(Clone, Debug)]
pub struct Asked {
    /// How many came before.
    pub n: usize,
    pub target: String,
    pub authorization: String,
    pub body: Value,
    pub pages: Vec<Page>,
    /// What stands outside of the quotes: all that a model should obey.
    pub spoken: String,
}

impl Asked {
    /// An answer for each page.
    pub fn each(&self, of: impl Fn(&Page) -> &'static str) -> String {
        let answers: Vec<Value> =
            self.pages.iter().map(|p| json!({ "page": p.number, "relevant": of(p) })).collect();
        json!({ "answers": answers }).to_string()
    }
}

/// What the server does.
pub enum Does {
    /// A completion with this text, and what it says that it cost.
    Says(String),
    /// Status, further header lines, media type, body.
    Replies(u16, &'static str, &'static str, String),
    /// Nothing, for so long.
    Waits(Duration),
    /// Bytes of JSON without end.
    Floods,
}

pub struct Endpoint {
    pub addr: SocketAddr,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Endpoint {
    pub fn start(answer: impl Fn(&Asked) -> Does + Send + Sync + 'static) -> Endpoint {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let addr = listener.local_addr().unwrap();
        let (asked, answer) = (Arc::new(Mutex::new(Vec::new())), Arc::new(answer));
        let log = asked.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (answer, log) = (answer.clone(), log.clone());
                std::thread::spawn(move || {
                    let Some(mut one) = read(&stream) else { return };
                    {
                        let mut log = log.lock().unwrap();
                        one.n = log.len();
                        log.push(one.clone());
                    }
                    reply(stream, answer(&one));
                });
            }
        });
        Endpoint { addr, asked }
    }

    pub fn url(&self) -> String {
        format!("http://{}/v1", self.addr)
    }

    /// Every request so far.
    pub fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    /// The addresses of all pages that were asked about, in order.
    pub fn urls(&self) -> Vec<String> {
        self.asked().iter().flat_map(|a| a.pages.iter().map(|p| p.url.clone())).collect()
    }

    /// Everything that was sent, as one text.
    pub fn sent(&self) -> String {
        self.asked().iter().map(|a| a.body.to_string()).collect()
    }
}

fn read(stream: &TcpStream) -> Option<Asked> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let (mut head, mut line) = (String::new(), String::new());
    while reader.read_line(&mut line).ok()? > 0 && line != "\r\n" {
        head.push_str(&line);
        line.clear();
    }
    let find = |name: &str| {
        let line = head.lines().find(|l| l.to_lowercase().starts_with(name))?;
        line.split_once(':').map(|(_, v)| v.trim().to_string())
    };
    let mut body = vec![0; find("content-length:")?.parse().ok()?];
    reader.read_exact(&mut body).ok()?;
    let body: Value = serde_json::from_slice(&body).ok()?;
    let text = |i: usize| body["messages"][i]["content"].as_str().unwrap_or_default().to_string();
    let (pages, outside) = unquote(&text(0), &text(1));
    Some(Asked {
        n: 0,
        target: head.split(' ').nth(1)?.to_string(),
        authorization: find("authorization:").unwrap_or_default(),
        spoken: format!("{}\n{outside}", text(0)),
        body,
        pages,
    })
}

/// Reads the pages as a careful model would: by the key that the first message names, and by nothing else.
fn unquote(system: &str, user: &str) -> (Vec<Page>, String) {
    let key = system.split("<end ").nth(1).and_then(|rest| rest.split('>').next()).unwrap_or("no key");
    let (begin, end) = (" ".to_string() + key + ">", format!("<end {key}>"));
    let (mut pages, mut outside, mut inside): (Vec<Page>, String, Option<Page>) =
        (Vec::new(), String::new(), None);
    for line in user.lines() {
        match &mut inside {
            None => match line.strip_prefix("<page ").and_then(|l| l.strip_suffix(&begin)) {
                Some(n) => {
                    let number = n.parse().unwrap_or(0);
                    let [url, title, text] = [String::new(), String::new(), String::new()];
                    inside = Some(Page { number, url, title, text });
                }
                None => outside += &format!("{line}\n"),
            },
            Some(_) if line == end => pages.extend(inside.take()),
            Some(page) => match (line.strip_prefix("Address: "), line.strip_prefix("Title: ")) {
                (Some(url), _) if page.url.is_empty() => page.url = url.into(),
                (_, Some(title)) if page.text.is_empty() => page.title = title.into(),
                _ => page.text += &format!("{line}\n"),
            },
        }
    }
    (pages, outside)
}

fn reply(mut stream: TcpStream, does: Does) {
    let (status, headers, kind, body) = match does {
        Does::Says(text) => {
            let usage = json!({ "prompt_tokens": 90, "completion_tokens": 10, "total_tokens": 100 });
            let message = json!({ "role": "assistant", "content": text });
            let choices = json!([{ "index": 0, "finish_reason": "stop", "message": message }]);
            let body = json!({ "object": "chat.completion", "choices": choices, "usage": usage });
            (200, "", "application/json", body.to_string())
        }
        Does::Replies(status, headers, kind, body) => (status, headers, kind, body),
        Does::Waits(time) => {
            std::thread::sleep(time);
            return;
        }
        Does::Floods => {
            let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{\"choices\": [\"";
            let _ = stream.write_all(head.as_bytes());
            let some = [b'x'; 64 << 10];
            while stream.write_all(&some).is_ok() {}
            return;
        }
    };
    let head = format!(
        "HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n{headers}\r\n",
        body.len()
    );
    let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body.as_bytes()));
}
