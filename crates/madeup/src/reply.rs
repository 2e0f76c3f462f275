//! What a web on loopback answers: plain values, made by the generated site or by a web in a string, sent by
//! the server.

/// One request, as far as an answer may depend on it.
#[derive(Clone, Copy, Debug)]
pub struct Ask<'a> {
    /// Host name without port, lower case.
    pub host: &'a str,
    /// Path and query as sent; starts with `/`.
    pub path: &'a str,
    /// How many requests this URL has had before. Kept by the server, so that answers stay pure functions.
    pub earlier: u32,
    /// How many requests this host has had before, `robots.txt` not counted.
    pub earlier_on_host: u32,
}

impl<'a> Ask<'a> {
    /// The first request ever for a URL of a host.
    pub fn first(host: &'a str, path: &'a str) -> Ask<'a> {
        Ask { host, path, earlier: 0, earlier_on_host: 0 }
    }
}

/// How the answer is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Behaviour {
    /// All of it, at once.
    #[default]
    Whole,
    /// `Content-Length` promises everything; the connection breaks after this many bytes of the body.
    Cut(usize),
    /// The connection is closed without any answer.
    Drop,
}

/// What a made-up web answers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reply {
    /// HTTP status.
    pub status: u16,
    /// Lower-case names; `content-length` and `content-encoding` are the server's business.
    pub headers: Vec<(String, String)>,
    /// Before content encoding.
    pub body: Vec<u8>,
    /// Wait this long before the first byte of the answer.
    pub delay_ms: u64,
    /// How it is sent.
    pub behaviour: Behaviour,
    /// Send gzip-encoded to clients that accept it.
    pub gzip: bool,
}

impl Reply {
    /// An answer of this type, sent whole.
    pub fn new(status: u16, media_type: &str, body: impl Into<Vec<u8>>) -> Reply {
        Reply { status, body: body.into(), ..Reply::default() }.with("content-type", media_type)
    }
    /// Status 200.
    pub fn html(body: impl Into<Vec<u8>>) -> Reply {
        Reply::new(200, "text/html; charset=utf-8", body)
    }
    /// Plain text, for robots.txt and errors.
    pub fn text(status: u16, body: impl Into<Vec<u8>>) -> Reply {
        Reply::new(status, "text/plain; charset=utf-8", body)
    }
    /// Leads to `location`, which may be relative.
    pub fn redirect(status: u16, location: &str) -> Reply {
        let body = format!("<html><body>Moved <a href=\"{}\">here</a>.</body></html>", escape(location));
        Reply { status, ..Reply::html(body) }.with("location", location)
    }
    /// Status 404 with a page that says so.
    pub fn not_found() -> Reply {
        Reply { status: 404, ..Reply::html("<html><title>404</title><body><h1>Not found</h1></body></html>") }
    }

    /// Adds a header, or replaces the one of this name.
    pub fn with(mut self, name: &str, value: impl Into<String>) -> Reply {
        self.headers.retain(|(n, _)| n != name);
        self.headers.push((name.to_string(), value.into()));
        self
    }
    /// The first header of this name, which is given in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str())
    }
}

/// Anything that can stand behind the server: the generated site, a web in a string, a closure of a test.
pub trait Answer: Send + Sync + 'static {
    /// The same request gets the same answer, unless the web counts its visitors.
    fn answer(&self, ask: &Ask) -> Reply;
}

impl<F: Fn(&Ask) -> Reply + Send + Sync + 'static> Answer for F {
    fn answer(&self, ask: &Ask) -> Reply {
        self(ask)
    }
}

/// Text as it may stand in HTML or XML, between tags or in a quoted attribute.
pub fn escape(s: &str) -> String {
    let mut out = String::with_capacity(s.len());
    for c in s.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c => out.push(c),
        }
    }
    out
}
