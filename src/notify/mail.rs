//! An e-mail through the user's SMTP server (RFC 5321). The line is encrypted (`smtps`, or STARTTLS on
//! `smtp`), unless the server is on this machine; user and password are in the environment only, and are sent
//! on such a line only.

use super::{Failed, Letter};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use crawl::config::NotifySection;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{IpAddr, TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use store::archive::rfc3339;
use types::{Millis, Problem};

const USER: &str = "GLEANER_SMTP_USER";
const PASSWORD: &str = "GLEANER_SMTP_PASSWORD";
/// Longest line of an answer, and most lines.
const LINE: u64 = 4 << 10;
const LINES: usize = 100;

pub struct Mail {
    host: String,
    port: u16,
    tls: Tls,
    timeout: Duration,
    login: Option<(String, String)>,
    from: Mailbox,
    to: Vec<Mailbox>,
}

/// When the line is encrypted.
#[derive(Clone, Copy, PartialEq)]
enum Tls {
    /// From the beginning.
    AtOnce,
    /// After STARTTLS, or nothing is sent.
    Asked,
    /// The server is on this machine.
    Never,
}

impl Mail {
    /// `None`: the topic names no server.
    pub fn of(section: &NotifySection) -> Result<Option<Mail>, Problem> {
        let Some(address) = &section.mail else { return Ok(None) };
        let url = url::Url::parse(address)
            .map_err(|e| Problem::usage(format!("[notify] mail = \"{address}\"")).because(e))?;
        let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']).to_string();
        let is_here = host == "localhost" || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback());
        let (port, tls) = match url.scheme() {
            "smtps" => (465, Tls::AtOnce),
            _ if is_here => (25, Tls::Never),
            _ => (587, Tls::Asked),
        };
        let named = |name: &str| std::env::var(name).ok().filter(|v| !v.is_empty());
        let login = match (named(USER), named(PASSWORD)) {
            (Some(user), Some(password)) => Some((user, password)),
            (None, None) => None,
            _ => return Err(Problem::usage(format!("of {USER} and {PASSWORD} one is not set"))),
        };
        let from = Mailbox::parse(section.from.as_deref().unwrap_or_default())?;
        let to = section.to.iter().map(|to| Mailbox::parse(to)).collect::<Result<_, _>>()?;
        let port = url.port().unwrap_or(port);
        Ok(Some(Mail { host, port, tls, timeout: section.timeout.0, login, from, to }))
    }

    pub fn send(&self, letter: &Letter) -> Result<(), Failed> {
        let mut line = self.connect().map_err(Failed::from)?;
        line.expect(220)?;
        let mut can = line.hello()?;
        if self.tls == Tls::Asked {
            if !can.iter().any(|c| c == "STARTTLS") {
                let why = "the server offers no encryption (STARTTLS): nothing was sent".into();
                return Err(Failed { why, for_good: true, wait: None });
            }
            line.say("STARTTLS", 220)?;
            line = line.encrypted(&self.host).map_err(Failed::from)?;
            can = line.hello()?;
        }
        if let Some((user, password)) = &self.login {
            let offered = can.iter().find_map(|c| c.strip_prefix("AUTH ")).unwrap_or_default();
            if offered.split(' ').any(|m| m == "PLAIN") {
                let token = STANDARD.encode(format!("\0{user}\0{password}"));
                line.say_secret(&format!("AUTH PLAIN {token}"), 235)?;
            } else {
                line.say("AUTH LOGIN", 334)?;
                line.say_secret(&STANDARD.encode(user), 334)?;
                line.say_secret(&STANDARD.encode(password), 235)?;
            }
        }
        line.say(&format!("MAIL FROM:<{}>", self.from.address), 250)?;
        for to in &self.to {
            line.say(&format!("RCPT TO:<{}>", to.address), 250)?;
        }
        line.say("DATA", 354)?;
        line.write(self.message(letter).as_bytes()).map_err(Failed::from)?;
        line.say(".", 250)?;
        // It was taken; whatever the server says now is no matter.
        let _ = line.say("QUIT", 221);
        Ok(())
    }

    fn connect(&self) -> io::Result<SmtpConnection> {
        let mut last = io::Error::new(io::ErrorKind::NotFound, format!("{} has no address", self.host));
        for address in (self.host.as_str(), self.port).to_socket_addrs()? {
            match TcpStream::connect_timeout(&address, self.timeout) {
                Ok(tcp) => {
                    tcp.set_read_timeout(Some(self.timeout))?;
                    tcp.set_write_timeout(Some(self.timeout))?;
                    let line = SmtpConnection(BufReader::new(Wire::Plain(tcp)));
                    return if self.tls == Tls::AtOnce { line.encrypted(&self.host) } else { Ok(line) };
                }
                Err(e) => last = e,
            }
        }
        Err(last)
    }

    /// Head and body, lines ended by CRLF. The body is base64, so that no line of it is long or begins with a
    /// dot.
    fn message(&self, letter: &Letter) -> String {
        let bounds = format!("=_{}", letter.id);
        let domain = self.from.address.rsplit('@').next().unwrap_or_default();
        let to: Vec<String> = self.to.iter().map(Mailbox::field).collect();
        let mut out = format!(
            "Date: {}\r\nFrom: {}\r\nTo: {}\r\nMessage-ID: <{}@{domain}>\r\nSubject: {}\r\n\
             MIME-Version: 1.0\r\n\
             Auto-Submitted: auto-generated\r\nContent-Type: multipart/alternative; \
             boundary=\"{bounds}\"\r\n\r\n",
            date(SystemTime::now()),
            self.from.field(),
            to.join(",\r\n "),
            letter.id,
            encoded(&letter.subject),
        );
        for (kind, text) in [("plain", &letter.text), ("html", &letter.html)] {
            out += &format!(
                "--{bounds}\r\nContent-Type: text/{kind}; charset=utf-8\r\n\
                 Content-Transfer-Encoding: base64\r\n\r\n"
            );
            let body = STANDARD.encode(text);
            for piece in body.as_bytes().chunks(76) {
                out += std::str::from_utf8(piece).unwrap_or_default();
                out += "\r\n";
            }
        }
        out + &format!("--{bounds}--\r\n")
    }
}

/// `Name <name@example.org>`
struct Mailbox {
    name: String,
    address: String,
}

impl Mailbox {
    fn parse(text: &str) -> Result<Mailbox, Problem> {
        let (name, address) = match text.trim().strip_suffix('>').and_then(|t| t.rsplit_once('<')) {
            Some((name, address)) => (name.trim().trim_matches('"'), address),
            None => ("", text.trim()),
        };
        let odd = |c: char| c.is_whitespace() || c.is_control() || "<>,;\"".contains(c) || !c.is_ascii();
        let sides = address.split_once('@');
        let right = sides.is_some_and(|(a, b)| !a.is_empty() && !b.is_empty() && !b.contains('@'));
        if !right || address.contains(odd) || name.contains(char::is_control) {
            return Err(Problem::usage(format!("[notify] `{}` is no mail address", text.escape_debug()))
                .hint("as in you@example.org or Gleaner <gleaner@example.org>"));
        }
        Ok(Mailbox { name: name.to_string(), address: address.to_string() })
    }

    fn field(&self) -> String {
        match self.name.is_empty() {
            true => self.address.clone(),
            false => format!("{} <{}>", encoded(&self.name), self.address),
        }
    }
}

/// Words of a head (RFC 2047): whatever is not plain is in pieces of base64, none of which cuts a letter.
fn encoded(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || " -_.:+".contains(c);
    if text.chars().all(plain) && text.len() < 60 {
        return text.to_string();
    }
    let mut words: Vec<String> = vec![String::new()];
    for c in text.chars() {
        if words.last().is_some_and(|w| w.len() + c.len_utf8() > 42) {
            words.push(String::new());
        }
        words.last_mut().into_iter().for_each(|w| w.push(c));
    }
    let words: Vec<String> = words.iter().map(|w| format!("=?utf-8?B?{}?=", STANDARD.encode(w))).collect();
    words.join("\r\n ")
}

/// `Wed, 18 Nov 2026 20:00:00 +0000`
fn date(now: SystemTime) -> String {
    const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let since = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
    let text = rfc3339(Millis(since * 1_000));
    let number = |range| text.get(range).and_then(|t: &str| t.parse::<usize>().ok()).unwrap_or(1);
    let month = MONTHS.get(number(5..7) - 1).unwrap_or(&"Jan");
    let day = DAYS.get((since / 86_400 % 7) as usize).unwrap_or(&"Thu");
    let (year, time) = (text.get(..4).unwrap_or_default(), text.get(11..19).unwrap_or_default());
    format!("{day}, {:02} {month} {year} {time} +0000", number(8..10))
}

/// A connection, encrypted or not.
enum Wire {
    Plain(TcpStream),
    Encrypted(Box<StreamOwned<ClientConnection, TcpStream>>),
}

impl Read for Wire {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        match self {
            Wire::Plain(tcp) => tcp.read(buf),
            Wire::Encrypted(tls) => tls.read(buf),
        }
    }
}

impl Wire {
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Wire::Plain(tcp) => tcp.write_all(bytes),
            Wire::Encrypted(tls) => tls.write_all(bytes).and_then(|()| tls.flush()),
        }
    }
}

/// A talk with the server: what is said, and what it answers.
struct SmtpConnection(BufReader<Wire>);

impl SmtpConnection {
    /// What the server said before (RFC 3207) is forgotten.
    fn encrypted(self, host: &str) -> io::Result<SmtpConnection> {
        let Wire::Plain(tcp) = self.0.into_inner() else { return Err(io::ErrorKind::InvalidInput.into()) };
        let roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(io::Error::other)?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let name = ServerName::try_from(host.to_string()).map_err(io::Error::other)?;
        let tls = ClientConnection::new(Arc::new(config), name).map_err(io::Error::other)?;
        Ok(SmtpConnection(BufReader::new(Wire::Encrypted(Box::new(StreamOwned::new(tls, tcp))))))
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.get_mut().write_all(bytes)
    }

    /// What the server can do.
    fn hello(&mut self) -> Result<Vec<String>, Failed> {
        let said = self.say("EHLO localhost", 250)?;
        Ok(said.iter().map(|line| line.to_ascii_uppercase()).collect())
    }

    fn say(&mut self, text: &str, wanted: u16) -> Result<Vec<String>, Failed> {
        self.write(format!("{text}\r\n").as_bytes()).map_err(Failed::from)?;
        self.expect(wanted)
    }

    /// What is said is in no message.
    fn say_secret(&mut self, text: &str, wanted: u16) -> Result<Vec<String>, Failed> {
        self.say(text, wanted).map_err(|f| Failed { why: format!("user and password: {}", f.why), ..f })
    }

    /// The lines of an answer, without their numbers.
    fn expect(&mut self, wanted: u16) -> Result<Vec<String>, Failed> {
        let mut out = Vec::new();
        while out.len() < LINES {
            let mut line = Vec::new();
            Read::by_ref(&mut self.0).take(LINE).read_until(b'\n', &mut line).map_err(Failed::from)?;
            let line = String::from_utf8_lossy(&line).trim_end().to_string();
            let code = line.get(..3).and_then(|c| c.parse::<u16>().ok());
            let Some(code) = code else {
                let why =
                    if line.is_empty() { "the server hung up".into() } else { format!("it says `{line}`") };
                return Err(Failed { why, for_good: false, wait: None });
            };
            out.push(line.get(4..).unwrap_or_default().to_string());
            if line.as_bytes().get(3) == Some(&b'-') {
                continue;
            }
            // 251: it is forwarded. A 5 in front: do not try again.
            return match code == wanted || (wanted == 250 && code == 251) {
                true => Ok(out),
                false => Err(Failed { why: format!("it says `{line}`"), for_good: code >= 500, wait: None }),
            };
        }
        Err(Failed { why: "its answer has no end".into(), for_good: false, wait: None })
    }
}

impl From<io::Error> for Failed {
    fn from(e: io::Error) -> Failed {
        Failed { why: types::with_causes(&e), for_good: false, wait: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_one_line_of_plain_letters() {
        assert_eq!(encoded("db: 3 new"), "db: 3 new");
        let long = encoded(&"Vögel, ".repeat(20));
        assert!(long.is_ascii() && long.lines().all(|l| l.len() <= 76), "{long}");
        let pieces = long.split("\r\n ").map(|w| w.trim_start_matches("=?utf-8?B?").trim_end_matches("?="));
        let bytes: Vec<u8> = pieces.flat_map(|p| STANDARD.decode(p).unwrap()).collect();
        assert_eq!(String::from_utf8(bytes).unwrap(), "Vögel, ".repeat(20));
        assert!(!encoded("a\r\nBcc: x@y").contains("\nBcc"));
        assert_eq!(date(SystemTime::UNIX_EPOCH), "Thu, 01 Jan 1970 00:00:00 +0000");
        let later = SystemTime::UNIX_EPOCH + Duration::from_secs(1_794_787_200);
        assert_eq!(date(later), "Mon, 16 Nov 2026 00:00:00 +0000");
    }

    #[test]
    fn an_address_is_one_address() {
        let is = |text: &str| Mailbox::parse(text).ok().map(|m| m.address);
        assert_eq!(is("a@b.example").as_deref(), Some("a@b.example"));
        assert_eq!(is("\"A, B\" <a@b.example>").as_deref(), Some("a@b.example"));
        for wrong in ["", "a", "a@", "@b", "a@b@c", "a b@c", "a@b>\r\nRCPT TO:<x@y", "a@b, c@d", "<a@b"] {
            assert_eq!(is(wrong), None, "{wrong}");
        }
    }
}
