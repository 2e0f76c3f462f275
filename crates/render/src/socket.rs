//! The line to a browser that somebody else started: a WebSocket to its DevTools address (RFC 6455, as far as
//! DevTools use it: text, in pieces or whole, no extensions, no encryption).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use url::Url;

/// Longest that the other side may take to be reached and to say that it is one.
const HELLO: Duration = Duration::from_secs(15);
/// No head of an answer, and no list of what a browser has, is longer.
const LONGEST_HELLO: u64 = 64 << 10;

const CONTINUED: u8 = 0;
const TEXT: u8 = 1;
const BINARY: u8 = 2;
const CLOSE: u8 = 8;
const PING: u8 = 9;
const PONG: u8 = 10;

/// Where a browser answers: `ws://host:port/devtools/browser/…`, or `http://host:port`, which is asked for
/// it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remote(Url);

impl Remote {
    /// `None`: it is no address of a browser, but a program's name, perhaps. The error is for people.
    pub fn parse(text: &str) -> Option<Result<Remote, String>> {
        let (scheme, _) = text.split_once("://")?;
        let parse = || {
            if !matches!(scheme, "ws" | "http") {
                return Err(format!("it is reached with ws:// or http://, not with {scheme}://"));
            }
            let url = Url::parse(text).map_err(|e| e.to_string())?;
            let is_whole = url.scheme() == "http" || url.path().len() > 1;
            match url.host_str() {
                Some(_) if url.username().is_empty() && url.password().is_none() && is_whole => {
                    Ok(Remote(url))
                }
                _ => {
                    Err("it looks like http://127.0.0.1:9222, or ws://127.0.0.1:9222/devtools/browser/…"
                        .into())
                }
            }
        };
        Some(parse())
    }

    /// Is it on this machine, so that nobody on the way reads along?
    pub fn is_here(&self) -> bool {
        match self.0.host() {
            Some(url::Host::Ipv4(ip)) => ip.is_loopback(),
            Some(url::Host::Ipv6(ip)) => ip.is_loopback(),
            Some(url::Host::Domain(name)) => name == "localhost",
            None => false,
        }
    }

    /// Takes up the line. Blocks.
    pub fn connect(&self) -> io::Result<(Sender, Receiver)> {
        let whole = match self.0.scheme() {
            "ws" => self.0.clone(),
            _ => self.ask()?,
        };
        let stream = self.dial()?;
        let host = authority(&self.0);
        let key = STANDARD.encode([noise().to_le_bytes(), noise().to_le_bytes()].concat());
        let path = whole.path();
        write!(
            &stream,
            "GET {path} HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
             Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n"
        )?;
        let mut from = BufReader::with_capacity(256 << 10, stream.try_clone()?);
        let (status, _) = head(&mut from)?;
        if status != 101 {
            return Err(io::Error::other(format!("it answers {status}, and is no DevTools address")));
        }
        stream.set_read_timeout(None)?;
        let stream = Arc::new(Mutex::new(stream));
        Ok((Sender(stream.clone()), Receiver { from, answers: Sender(stream) }))
    }

    fn dial(&self) -> io::Result<TcpStream> {
        let host = self.0.host_str().unwrap_or_default().trim_matches(['[', ']']);
        let port = self.0.port_or_known_default().unwrap_or(80);
        let all: Vec<SocketAddr> = match host.parse::<IpAddr>() {
            Ok(ip) => vec![(ip, port).into()],
            // Whatever the name means elsewhere, this is this machine.
            Err(_) if host == "localhost" => {
                vec![([127, 0, 0, 1], port).into(), (IpAddr::from([0u16, 0, 0, 0, 0, 0, 0, 1]), port).into()]
            }
            Err(_) => (host, port).to_socket_addrs()?.collect(),
        };
        let mut problem = io::Error::from(io::ErrorKind::NotFound);
        for address in all {
            match TcpStream::connect_timeout(&address, HELLO) {
                Ok(stream) => {
                    stream.set_nodelay(true)?;
                    stream.set_read_timeout(Some(HELLO))?;
                    return Ok(stream);
                }
                Err(e) => problem = e,
            }
        }
        Err(problem)
    }

    /// The address of the whole browser, which is new with every start of it.
    fn ask(&self) -> io::Result<Url> {
        let stream = self.dial()?;
        let host = authority(&self.0);
        write!(&stream, "GET /json/version HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n")?;
        let mut from = BufReader::new(stream);
        let (status, length) = head(&mut from)?;
        let mut body = Vec::new();
        from.take(length.unwrap_or(LONGEST_HELLO).min(LONGEST_HELLO)).read_to_end(&mut body)?;
        let known: Option<Value> = serde_json::from_slice(&body).ok();
        let address = known.as_ref().and_then(|v| v.get("webSocketDebuggerUrl")).and_then(Value::as_str);
        address
            .and_then(|a| Url::parse(a).ok())
            .ok_or_else(|| io::Error::other(format!("it answers {status}, and is no DevTools address")))
    }
}

impl std::fmt::Display for Remote {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0.as_str())
    }
}

fn authority(url: &Url) -> &str {
    &url[url::Position::BeforeHost..url::Position::AfterPort]
}

/// Nobody has to be unable to guess it: it only has to differ.
fn noise() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// Status, and the length that is announced.
fn head(from: &mut impl BufRead) -> io::Result<(u16, Option<u64>)> {
    let mut from = from.take(LONGEST_HELLO);
    let (mut status, mut length) = (0, None);
    for n in 0.. {
        let mut line = String::new();
        if from.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let line = line.trim_end();
        if n == 0 {
            status = line.split(' ').nth(1).and_then(|s| s.parse().ok()).unwrap_or(0);
        } else if line.is_empty() {
            break;
        } else if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().ok();
        }
    }
    Ok((status, length))
}

/// The way there. Cheap to clone.
#[derive(Clone)]
pub struct Sender(Arc<Mutex<TcpStream>>);

impl Sender {
    pub fn send(&self, message: &[u8]) -> io::Result<()> {
        self.frame(TEXT, message)
    }

    /// Ends the line, both ways.
    pub fn close(&self) {
        let _ = self.frame(CLOSE, &[]);
        let _ = self.stream().shutdown(std::net::Shutdown::Both);
    }

    fn stream(&self) -> MutexGuard<'_, TcpStream> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn frame(&self, kind: u8, message: &[u8]) -> io::Result<()> {
        let mut bytes = vec![0x80 | kind];
        match message.len() {
            n @ 0..126 => bytes.push(0x80 | n as u8),
            n @ 126..=0xffff => {
                bytes.push(0x80 | 126);
                bytes.extend((n as u16).to_be_bytes());
            }
            n => {
                bytes.push(0x80 | 127);
                bytes.extend((n as u64).to_be_bytes());
            }
        }
        // Clients hide what they send from simple-minded proxies.
        let mask = (noise() as u32).to_le_bytes();
        bytes.extend(mask);
        bytes.extend(message.iter().zip(mask.iter().cycle()).map(|(b, m)| b ^ m));
        self.stream().write_all(&bytes)
    }
}

/// The way back.
pub struct Receiver {
    from: BufReader<TcpStream>,
    answers: Sender,
}

impl Receiver {
    /// The next message, of at most `longest` bytes. `None`: there will be no more.
    pub fn next(&mut self, longest: u64) -> Option<Vec<u8>> {
        let mut message = Vec::new();
        loop {
            let mut head = [0; 2];
            self.from.read_exact(&mut head).ok()?;
            let [first, second] = head;
            let length = match second & 0x7f {
                126 => u64::from(u16::from_be_bytes(self.bytes()?)),
                127 => u64::from_be_bytes(self.bytes()?),
                n => u64::from(n),
            };
            // A server hides nothing.
            if second & 0x80 != 0 || first & 0x70 != 0 || length + message.len() as u64 > longest {
                return None;
            }
            let mut control = Vec::new();
            let kind = first & 0x0f;
            let is_piece = matches!(kind, CONTINUED | TEXT | BINARY);
            let into = if is_piece { &mut message } else { &mut control };
            let got = (&mut self.from).take(length).read_to_end(into).ok()?;
            if got as u64 != length {
                return None;
            }
            match kind {
                PING => self.answers.frame(PONG, &control).ok()?,
                CLOSE => return None,
                _ if is_piece && first & 0x80 != 0 => return Some(message),
                _ => {}
            }
        }
    }

    fn bytes<const N: usize>(&mut self) -> Option<[u8; N]> {
        let mut bytes = [0; N];
        self.from.read_exact(&mut bytes).ok()?;
        Some(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn addresses_of_browsers() {
        let parse = |text: &str| Remote::parse(text).map(|r| r.map(|r| r.is_here()));
        assert_eq!(parse("/usr/bin/chromium"), None);
        assert_eq!(parse("http://127.0.0.1:9222"), Some(Ok(true)));
        assert_eq!(parse("http://[::1]:9222/"), Some(Ok(true)));
        assert_eq!(parse("ws://localhost:9222/devtools/browser/a-b"), Some(Ok(true)));
        assert_eq!(parse("http://browser.example:9222"), Some(Ok(false)));
        for bad in
            ["ws://127.0.0.1:9222", "wss://a.example/devtools", "http://me:secret@127.0.0.1:1", "http://"]
        {
            assert!(parse(bad).unwrap().is_err(), "{bad}");
        }
    }

    /// Says these bytes to whoever comes, after the handshake; hands back all it was told.
    fn server(says: Vec<u8>) -> (String, std::thread::JoinHandle<Vec<u8>>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("ws://{}/devtools/browser/x", listener.local_addr().unwrap());
        let told = std::thread::spawn(move || {
            let (stream, _) = listener.accept().unwrap();
            let mut from = BufReader::new(stream.try_clone().unwrap());
            let mut line = String::new();
            while from.read_line(&mut line).unwrap() > 2 {
                line.clear();
            }
            (&stream).write_all(b"HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\n\r\n").unwrap();
            (&stream).write_all(&says).unwrap();
            let mut told = Vec::new();
            let _ = from.read_to_end(&mut told);
            told
        });
        (address, told)
    }

    #[test]
    fn messages_come_in_pieces_and_pings_are_answered() {
        let long = vec![b'x'; 70_000];
        let mut says = vec![0x01, 2, b'a', b'b', 0x89, 1, b'!', 0x80, 1, b'c'];
        says.extend([0x81, 126, 1, 0]);
        says.extend(&long[..256]);
        says.extend([0x81, 127, 0, 0, 0, 0, 0, 1, 0x11, 0x70]);
        says.extend(&long);
        says.extend([0x88, 0]);
        let (address, told) = server(says);
        let (to, mut from) = Remote::parse(&address).unwrap().unwrap().connect().unwrap();
        assert_eq!(from.next(1 << 20).unwrap(), b"abc");
        assert_eq!(from.next(1 << 20).unwrap(), &long[..256]);
        assert_eq!(from.next(1 << 20).unwrap(), long);
        assert_eq!(from.next(1 << 20), None, "it was closed");
        to.send(&long).unwrap();
        to.close();
        drop((to, from));
        let told = told.join().unwrap();
        let unmasked = |at: usize, n: usize| {
            let (mask, rest) = told[at..].split_at(4);
            rest[..n].iter().zip(mask.iter().cycle()).map(|(b, m)| b ^ m).collect::<Vec<_>>()
        };
        assert_eq!((&told[..2], unmasked(2, 1)), (&[0x8a, 0x81][..], vec![b'!']));
        assert_eq!(told[7..9], [0x81, 0xff]);
        assert_eq!(unmasked(17, long.len()), long);
    }

    #[test]
    fn nonsense_ends_the_line() {
        // Longer than allowed, a mask, an extension, the end in the middle.
        for says in [
            vec![0x81, 127, 0xff, 0, 0, 0, 0, 0, 0, 0],
            vec![0x81, 0x81, 1, 2, 3, 4, 5],
            vec![0xc1, 1, 9],
            vec![0x81, 5, 1],
        ] {
            let (address, told) = server(says.clone());
            let (to, mut from) = Remote::parse(&address).unwrap().unwrap().connect().unwrap();
            if says.len() == 3 && says[1] == 5 {
                to.close();
            }
            assert_eq!(from.next(1 << 20), None, "{says:?}");
            to.close();
            drop((to, from));
            told.join().unwrap();
        }
    }
}
