//! An HTTP proxy: absolute-form requests for http, a CONNECT tunnel for https.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use types::{Failure, Problem};

/// Largest head of a proxy's answer to CONNECT.
const MAX_HEAD: usize = 16 << 10;

pub(crate) struct Proxy {
    pub host: String,
    pub port: u16,
    /// Value of `Proxy-Authorization`.
    pub authorization: Option<String>,
}

impl Proxy {
    pub fn parse(text: &str) -> Result<Proxy, Problem> {
        let bad = |why: &str| {
            // Not the text itself: it may hold a password.
            Problem::usage("cannot use the proxy")
                .because(why)
                .hint("write http://host:port, or http://user:password@host:port")
        };
        let with_scheme = if text.contains("://") { text.to_string() } else { format!("http://{text}") };
        let url = url::Url::parse(&with_scheme).map_err(|e| bad(&e.to_string()))?;
        if url.scheme() != "http" {
            return Err(bad(&format!("`{}` proxies are not supported", url.scheme())));
        }
        let host = url.host_str().filter(|h| !h.is_empty()).ok_or_else(|| bad("it has no host"))?.to_string();
        let authorization = (!url.username().is_empty()).then(|| {
            let mut pair = percent_decode(url.username());
            pair.push(b':');
            pair.extend(percent_decode(url.password().unwrap_or("")));
            format!("Basic {}", base64(&pair))
        });
        Ok(Proxy { host, port: url.port().unwrap_or(80), authorization })
    }
}

/// Asks the proxy for a tunnel to `host:port`.
pub(crate) async fn tunnel(
    mut tcp: TcpStream,
    proxy: &Proxy,
    host: &str,
    port: u16,
) -> Result<TcpStream, Failure> {
    let mut head = format!("CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n");
    if let Some(authorization) = &proxy.authorization {
        head.push_str(&format!("Proxy-Authorization: {authorization}\r\n"));
    }
    head.push_str("\r\n");
    let broken = |e: std::io::Error| Failure::Connect(format!("proxy, asked for a tunnel: {e}"));
    tcp.write_all(head.as_bytes()).await.map_err(broken)?;

    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\n") {
        if answer.len() >= MAX_HEAD {
            return Err(Failure::Connect("proxy: its answer to CONNECT never ends".into()));
        }
        // Byte by byte, so that not one byte of the tunnel is taken; heads are short and connections rare.
        answer.push(tcp.read_u8().await.map_err(broken)?);
    }
    let line = String::from_utf8_lossy(&answer);
    let line = line.lines().next().unwrap_or("");
    match line.split_whitespace().nth(1) {
        Some(status) if status.len() == 3 && status.starts_with('2') => Ok(tcp),
        Some("407") => Err(Failure::Connect("the proxy wants a user name and password (407)".into())),
        _ => Err(Failure::Connect(format!(
            "the proxy refused the tunnel: {}",
            line.chars().take(100).collect::<String>()
        ))),
    }
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
        assert!(Proxy::parse("socks5://x:1").err().unwrap().to_string().contains("not supported"));
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
