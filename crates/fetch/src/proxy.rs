//! Ways out: HTTP proxies (absolute-form requests for http, a CONNECT tunnel for https), the same over TLS,
//! and SOCKS5 (RFC 1928).

use std::net::SocketAddr;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use types::{Failure, Problem};

/// Largest head of a proxy's answer to CONNECT.
const MAX_HEAD: usize = 16 << 10;

/// How a proxy is spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Http,
    /// HTTP over TLS.
    Https,
    /// The names of hosts are looked up here.
    Socks,
    /// The names of hosts are looked up by the proxy.
    SocksWithNames,
}

pub(crate) struct Proxy {
    pub way: Way,
    pub host: String,
    pub port: u16,
    /// Value of `Proxy-Authorization`.
    pub authorization: Option<String>,
    /// User name and password, for SOCKS.
    login: Option<(Vec<u8>, Vec<u8>)>,
    /// Connections to it that serve any host are kept under this name.
    pub origin: String,
}

impl Proxy {
    pub fn parse(text: &str) -> Result<Proxy, Problem> {
        let bad = |why: &str| {
            // Not the text itself: it may hold a password.
            Problem::usage("cannot use the proxy").because(why).hint(
                "write http://host:port, https://…, socks5://… or socks5h://…, with user:password@ \
                       before the host if need be",
            )
        };
        let with_scheme = if text.contains("://") { text.to_string() } else { format!("http://{text}") };
        let url = url::Url::parse(&with_scheme).map_err(|e| bad(&e.to_string()))?;
        let (way, port) = match url.scheme() {
            "http" => (Way::Http, 80),
            "https" => (Way::Https, 443),
            "socks5" => (Way::Socks, 1080),
            "socks5h" => (Way::SocksWithNames, 1080),
            other => return Err(bad(&format!("`{other}` proxies are not supported"))),
        };
        let host = url.host_str().filter(|h| !h.is_empty()).ok_or_else(|| bad("it has no host"))?.to_string();
        let login = (!url.username().is_empty())
            .then(|| (percent_decode(url.username()), percent_decode(url.password().unwrap_or(""))));
        if login.as_ref().is_some_and(|(user, password)| user.len() > 255 || password.len() > 255) {
            return Err(bad("its user name or password is too long"));
        }
        let authorization = login.as_ref().map(|(user, password)| basic(user, password));
        let port = url.port().unwrap_or(port);
        let origin = format!("proxy {}://{host}:{port}", url.scheme());
        Ok(Proxy { way, host, port, authorization, login, origin })
    }

    /// Is a request for an `http` URL sent to the proxy itself?
    pub fn forwards(&self) -> bool {
        matches!(self.way, Way::Http | Way::Https)
    }

    /// Does the proxy look up the names, so that nobody here sees the addresses behind them?
    pub fn looks_up(&self) -> bool {
        self.way != Way::Socks
    }
}

/// The value of `Authorization` for a user name and password.
pub(crate) fn basic(user: &[u8], password: &[u8]) -> String {
    format!("Basic {}", base64(&[user, b":", password].concat()))
}

/// Asks the proxy for a tunnel to `host:port`.
pub(crate) async fn tunnel<S: AsyncRead + AsyncWrite + Unpin>(
    mut stream: S,
    proxy: &Proxy,
    host: &str,
    port: u16,
) -> Result<S, Failure> {
    let mut head = format!("CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n");
    if let Some(authorization) = &proxy.authorization {
        head.push_str(&format!("Proxy-Authorization: {authorization}\r\n"));
    }
    head.push_str("\r\n");
    let broken = |e: std::io::Error| Failure::Connect(format!("proxy, asked for a tunnel: {e}"));
    stream.write_all(head.as_bytes()).await.map_err(broken)?;
    stream.flush().await.map_err(broken)?;

    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\n") {
        if answer.len() >= MAX_HEAD {
            return Err(Failure::Connect("proxy: its answer to CONNECT never ends".into()));
        }
        // Byte by byte, so that not one byte of the tunnel is taken; heads are short and connections rare.
        answer.push(stream.read_u8().await.map_err(broken)?);
    }
    let line = String::from_utf8_lossy(&answer);
    let line = line.lines().next().unwrap_or("");
    match line.split_whitespace().nth(1) {
        Some(status) if status.len() == 3 && status.starts_with('2') => Ok(stream),
        Some("407") => Err(Failure::Connect("the proxy wants a user name and password (407)".into())),
        _ => Err(Failure::Connect(format!(
            "the proxy refused the tunnel: {}",
            line.chars().take(100).collect::<String>()
        ))),
    }
}

/// Where a SOCKS proxy is to connect to.
pub(crate) enum Target<'a> {
    Address(SocketAddr),
    Name(&'a str, u16),
}

/// Asks a SOCKS5 proxy for a connection.
pub(crate) async fn socks<S: AsyncRead + AsyncWrite + Unpin>(
    mut stream: S,
    proxy: &Proxy,
    target: Target<'_>,
) -> Result<S, Failure> {
    let broken = |e: std::io::Error| Failure::Connect(format!("SOCKS proxy: {e}"));
    let refused = |why: &str| Failure::Connect(format!("the SOCKS proxy {why}"));
    // Without a password, and with one if there is one.
    let methods: &[u8] = if proxy.login.is_some() { &[5, 2, 0, 2] } else { &[5, 1, 0] };
    stream.write_all(methods).await.map_err(broken)?;
    let mut chosen = [0; 2];
    stream.read_exact(&mut chosen).await.map_err(broken)?;
    match (chosen, &proxy.login) {
        ([5, 0], _) => {}
        ([5, 2], Some((user, password))) => {
            let mut login = vec![1, user.len() as u8];
            login.extend(user);
            login.push(password.len() as u8);
            login.extend(password);
            stream.write_all(&login).await.map_err(broken)?;
            let mut said = [0; 2];
            stream.read_exact(&mut said).await.map_err(broken)?;
            if said[1] != 0 {
                return Err(refused("does not accept the user name and password"));
            }
        }
        ([5, _], _) => return Err(refused("wants a user name and password")),
        _ => return Err(refused("does not speak SOCKS5")),
    }
    let mut ask = vec![5, 1, 0];
    let port = match target {
        Target::Address(SocketAddr::V4(to)) => {
            ask.push(1);
            ask.extend(to.ip().octets());
            to.port()
        }
        Target::Address(SocketAddr::V6(to)) => {
            ask.push(4);
            ask.extend(to.ip().octets());
            to.port()
        }
        Target::Name(name, port) => {
            let length = u8::try_from(name.len()).map_err(|_| refused("cannot take so long a name"))?;
            ask.extend([3, length]);
            ask.extend(name.bytes());
            port
        }
    };
    ask.extend(port.to_be_bytes());
    stream.write_all(&ask).await.map_err(broken)?;
    let mut head = [0; 4];
    stream.read_exact(&mut head).await.map_err(broken)?;
    let why = match head[1] {
        0 => None,
        2 => Some("does not allow it"),
        3 => Some("cannot reach the network"),
        4 => Some("cannot reach the host"),
        5 => Some("was refused the connection"),
        6 => Some("waited too long"),
        _ => Some("cannot connect"),
    };
    if let Some(why) = why {
        return Err(refused(why));
    }
    // The address it uses itself, which nobody needs.
    let length = match head[3] {
        1 => 4,
        4 => 16,
        3 => usize::from(stream.read_u8().await.map_err(broken)?),
        _ => return Err(refused("gives an answer that makes no sense")),
    };
    let mut address = vec![0; length + 2];
    stream.read_exact(&mut address).await.map_err(broken)?;
    Ok(stream)
}

fn percent_decode(text: &str) -> Vec<u8> {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut i = 0;
    while let Some(&b) = bytes.get(i) {
        let hex = bytes.get(i + 1..i + 3).and_then(|h| std::str::from_utf8(h).ok());
        match hex.filter(|_| b == b'%').and_then(|h| u8::from_str_radix(h, 16).ok()) {
            Some(value) => {
                out.push(value);
                i += 3;
            }
            None => {
                out.push(b);
                i += 1;
            }
        }
    }
    out
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for group in bytes.chunks(3) {
        let n = group.iter().fold(0u32, |n, b| n << 8 | u32::from(*b)) << (8 * (3 - group.len()));
        for i in 0..4 {
            let digit = DIGITS[(n >> (18 - 6 * i) & 63) as usize];
            out.push(if i <= group.len() { char::from(digit) } else { '=' });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms() {
        let p = Proxy::parse("http://us%40er:p%3Ass@proxy.example:3128").unwrap();
        assert_eq!((p.host.as_str(), p.port), ("proxy.example", 3128));
        assert_eq!(p.authorization.as_deref(), Some("Basic dXNAZXI6cDpzcw=="));
        let p = Proxy::parse("127.0.0.1:8080").unwrap();
        assert_eq!((p.host.as_str(), p.port, p.authorization), ("127.0.0.1", 8080, None));
        for (text, way, port) in [
            ("https://x", Way::Https, 443),
            ("socks5://x", Way::Socks, 1080),
            ("socks5h://x:9050", Way::SocksWithNames, 9050),
        ] {
            let p = Proxy::parse(text).unwrap();
            assert_eq!((p.way, p.port), (way, port), "{text}");
        }
        assert!(Proxy::parse("socks4://x:1").err().unwrap().to_string().contains("not supported"));
        assert!(Proxy::parse("http://").is_err());
        let secret = Proxy::parse("ftp://user:hunter2@x").err().unwrap();
        assert!(!secret.to_string().contains("hunter2"), "{secret}");
    }

    #[test]
    fn base64_of_every_length() {
        for (from, to) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("\u{ff}", "w78="),
        ] {
            assert_eq!(base64(from.as_bytes()), to);
        }
    }
}
