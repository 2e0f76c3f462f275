//! `gleaner serve` as a process of its own, and a plain HTTP client for it.

use super::gleaner;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

pub struct Dashboard {
    pub child: Child,
    /// As it was printed, token included.
    pub url: String,
    pub addr: String,
    pub token: String,
}

pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|e| panic!("{e}: {}", self.text()))
    }
    pub fn header(&self, name: &str) -> Option<String> {
        let lines = self.head.lines().filter_map(|l| l.split_once(':'));
        lines.filter(|(k, _)| k.eq_ignore_ascii_case(name)).map(|(_, v)| v.trim().to_string()).next()
    }
}

impl Dashboard {
    pub fn start(dir: &Path, more: &[&str]) -> Dashboard {
        let mut command = gleaner();
        command.arg("serve").arg(dir).args(["--listen", "127.0.0.1:0"]).args(more);
        Dashboard::run(&mut command)
    }

    /// One that this command starts.
    pub fn run(command: &mut Command) -> Dashboard {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut url = String::new();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        out.read_line(&mut url).unwrap();
        Dashboard::at(child, url.trim())
    }

    /// One that is there already.
    pub fn at(child: Child, url: &str) -> Dashboard {
        let rest = url.strip_prefix("http://").unwrap_or_else(|| panic!("no address: `{url}`"));
        let (addr, token) = rest.split_once("/?token=").unwrap_or_else(|| panic!("no token: `{url}`"));
        Dashboard { child, url: url.to_string(), addr: addr.into(), token: token.into() }
    }

    /// One request with exactly these header lines (and `Host`, unless one is given).
    pub fn raw(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let mut stream = TcpStream::connect(&self.addr).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let mut text = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
        if !headers.iter().any(|(k, _)| k.eq_ignore_ascii_case("host")) {
            text += &format!("Host: {}\r\n", self.addr);
        }
        for (k, v) in headers {
            text += &format!("{k}: {v}\r\n");
        }
        text += &format!("Content-Length: {}\r\n\r\n{body}", body.len());
        stream.write_all(text.as_bytes()).unwrap();
        let mut bytes = Vec::new();
        // A server that closes early (a body that is too large) may reset the line after its answer.
        let _ = stream.read_to_end(&mut bytes);
        let end = bytes.windows(4).position(|w| w == b"\r\n\r\n").unwrap_or(bytes.len());
        let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
        let status = head.split(' ').nth(1).and_then(|s| s.parse().ok()).unwrap_or(0);
        let mut body = bytes.get(end + 4..).unwrap_or_default().to_vec();
        if head.to_lowercase().contains("transfer-encoding: chunked") {
            body = unchunk(&body);
        }
        Answer { status, head, body }
    }

    fn bearer(&self) -> String {
        format!("Bearer {}", self.token)
    }

    pub fn get(&self, path: &str) -> Answer {
        self.raw("GET", path, &[("Authorization", &self.bearer())], "")
    }

    #[track_caller]
    pub fn json(&self, path: &str) -> Value {
        let answer = self.get(path);
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        answer.json()
    }

    pub fn send(&self, method: &str, path: &str, body: &Value) -> Answer {
        let headers = [("Authorization", self.bearer()), ("Content-Type", "application/json".into())];
        let headers: Vec<(&str, &str)> = headers.iter().map(|(k, v)| (*k, v.as_str())).collect();
        self.raw(method, path, &headers, &body.to_string())
    }
}

fn unchunk(mut bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    while let Some(end) = bytes.windows(2).position(|w| w == b"\r\n") {
        let size =
            std::str::from_utf8(&bytes[..end]).ok().and_then(|s| usize::from_str_radix(s.trim(), 16).ok());
        let Some(size) = size.filter(|n| *n > 0) else { break };
        let from = end + 2;
        out.extend_from_slice(bytes.get(from..from + size).unwrap_or_default());
        bytes = bytes.get(from + size + 2..).unwrap_or_default();
    }
    out
}

impl Drop for Dashboard {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
