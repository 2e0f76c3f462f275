//! A bucket of S3-compatible storage, as blocking calls: put an object that was not there before, read a
//! piece of one.
//!
//! No more than that is needed, so no more is here; why this and not a library is in
//! `docs/adr/0013-archives-in-buckets.md`. What may pass by itself (no connection, an overloaded server) is
//! tried again with growing pauses, for as long as the bucket's patience; everything else is told at once,
//! with the next step.

mod address;
mod http;
mod sign;

pub use address::{Account, Address};

use address::Endpoint;
use bytes::Bytes;
use http::{Answer, Client};
use http_body_util::Full;
use hyper::Request;
use sign::{Unsigned, escaped, escaped_path, query, sha256, sign};
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use types::{Millis, Problem};

/// An answer that is not an object: errors, lists.
const SHORT: usize = 256 << 10;
/// For a request to be answered, and for each so many bytes of its body in either direction.
const ANSWER: Duration = Duration::from_secs(20);
const BYTES_PER_SECOND: u64 = 256 << 10;
const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// Before a crawl begins someone sits in front of it: a server that is not there is not waited for as long as
/// later.
const FIRST_LOOK: Duration = Duration::from_secs(15);
/// Tells our own object from another's.
const MARK: &str = "x-amz-meta-gleaner";

/// A connection to one place in a bucket of an S3-compatible server.
pub struct Bucket {
    address: Address,
    account: Account,
    endpoint: Endpoint,
    client: Client,
    patience: Duration,
    /// The server understands "only if there is none".
    conditional: AtomicBool,
}

/// A request that can be made again.
struct Ask<'a> {
    method: &'a str,
    /// `None`: of the bucket itself.
    key: Option<&'a str>,
    query: &'a [(&'a str, &'a str)],
    headers: Vec<(&'a str, String)>,
    body: Bytes,
    payload: &'a str,
    /// Most bytes of an answer.
    most: usize,
}

impl<'a> Ask<'a> {
    fn new(method: &'a str, key: Option<&'a str>, nothing: &'a str) -> Ask<'a> {
        Ask {
            method,
            key,
            query: &[],
            headers: Vec::new(),
            body: Bytes::new(),
            payload: nothing,
            most: SHORT,
        }
    }
}

/// What an error answer says.
struct ErrorAnswer {
    status: u16,
    code: String,
    message: String,
    region: Option<String>,
}

impl Bucket {
    /// `patience`: how long a server that is away is waited for.
    pub fn new(address: Address, account: Account, patience: Duration) -> Result<Bucket, Problem> {
        let endpoint = account.endpoint(&address.bucket);
        let client = Client::new(endpoint.clone(), account.authorities.as_deref())?;
        Ok(Bucket { address, account, endpoint, client, patience, conditional: AtomicBool::new(true) })
    }

    /// The bucket and the prefix of every key.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Is there such a bucket, and are the keys good? Whether they may write shows when something is written.
    pub fn check(&self) -> Result<(), Problem> {
        let (prefix, nothing) = (self.address.key(""), sha256(b""));
        let query = [("list-type", "2"), ("max-keys", "1"), ("prefix", prefix.as_str())];
        let ask = Ask { query: &query, ..Ask::new("GET", None, &nothing) };
        let (answer, _) = self.patiently_for(self.patience.min(FIRST_LOOK), "reach", &ask)?;
        match said(&answer) {
            None => Ok(()),
            // Keys that may only put and get are good enough.
            Some(s) if s.status == 403 && s.code == "AccessDenied" => Ok(()),
            Some(s) => Err(self.problem("reach", &s)),
        }
    }

    /// Puts an object of this name into the bucket. When it returns, the bucket has it. One that is there
    /// already is left alone, and that is an error, unless an earlier try of this very call put it there.
    pub fn put_new(&self, name: &str, bytes: Bytes) -> Result<(), Problem> {
        let key = self.address.key(name);
        let payload = sha256(&bytes);
        let mark = format!("{:016x}", RandomState::new().hash_one(name));
        loop {
            let conditional = self.conditional.load(Ordering::SeqCst);
            let mut headers = vec![("content-type", "application/warc".to_string()), (MARK, mark.clone())];
            if conditional {
                headers.push(("if-none-match", "*".into()));
            }
            let ask = Ask { headers, body: bytes.clone(), ..Ask::new("PUT", Some(&key), &payload) };
            let (answer, tries) = self.patiently("write to", &ask)?;
            match said(&answer) {
                None => return Ok(()),
                // The names are unique without it.
                Some(s) if s.status == 501 && conditional => self.conditional.store(false, Ordering::SeqCst),
                Some(s) if s.status == 412 => {
                    // The answer to an earlier try may have been lost.
                    if tries > 1 && self.mark_of(&key)?.as_deref() == Some(mark.as_str()) {
                        return Ok(());
                    }
                    return Err(Problem::new(format!("{}/{name} is there already", self.address))
                        .because("another program writes objects of the same name")
                        .hint("give each crawl a prefix of its own"));
                }
                Some(s) => return Err(self.problem("write to", &s)),
            }
        }
    }

    fn mark_of(&self, key: &str) -> Result<Option<String>, Problem> {
        let nothing = sha256(b"");
        let (answer, _) = self.patiently("read from", &Ask::new("HEAD", Some(key), &nothing))?;
        match said(&answer) {
            None => Ok(answer.header(MARK).map(str::to_string)),
            Some(s) => Err(self.problem("read from", &s)),
        }
    }

    /// A piece of an object, by its whole key; shorter than asked for when the object ends before.
    pub fn get(&self, key: &str, from: u64, length: u64) -> Result<Vec<u8>, Problem> {
        let nothing = sha256(b"");
        let last = from.saturating_add(length.max(1)) - 1;
        let ask = Ask {
            headers: vec![("range", format!("bytes={from}-{last}"))],
            most: usize::try_from(length).unwrap_or(usize::MAX).max(SHORT),
            ..Ask::new("GET", Some(key), &nothing)
        };
        let (answer, _) = self.patiently("read from", &ask)?;
        match said(&answer) {
            None if answer.status == 206 => Ok(answer.body),
            None => Err(Problem::new(format!("cannot read a piece of s3://{}/{key}", self.address.bucket))
                .because(format!("the server answered with status {}, not with a piece", answer.status))
                .hint("the storage must understand `Range`")),
            // Nothing lies so far behind.
            Some(s) if s.status == 416 => Ok(Vec::new()),
            Some(s) if s.status == 404 && s.code != "NoSuchBucket" => {
                Err(Problem::nothing(format!("there is no object s3://{}/{key}", self.address.bucket))
                    .because(format!("{} has none of this name", self.endpoint))
                    .hint(
                        "it was moved or deleted, or AWS_ENDPOINT_URL names another server than the crawl's",
                    ))
            }
            Some(s) => Err(self.problem("read from", &s)),
        }
    }

    fn patiently(&self, doing: &str, ask: &Ask<'_>) -> Result<(Answer, u32), Problem> {
        self.patiently_for(self.patience, doing, ask)
    }

    /// Asks again as long as it may pass by itself. Also says how often it was asked.
    fn patiently_for(
        &self,
        patience: Duration,
        doing: &str,
        ask: &Ask<'_>,
    ) -> Result<(Answer, u32), Problem> {
        let give_up = Instant::now() + patience;
        let mut pause = FIRST_PAUSE;
        for tries in 1.. {
            let problem = match self.once(ask) {
                Ok(answer) => match said(&answer).filter(ErrorAnswer::passes) {
                    None => return Ok((answer, tries)),
                    Some(s) => self.problem(doing, &s),
                },
                Err(why) => self.away(doing, &why),
            };
            if Instant::now() + pause >= give_up {
                return Err(problem);
            }
            tracing::warn!(%problem, "waiting for the bucket");
            // Workers that were turned away together should not come back together.
            let spread = RandomState::new().hash_one(tries) % 1_000;
            std::thread::sleep(pause.mul_f64(0.75 + spread as f64 / 2_000.0));
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
        Err(self.away(doing, "no answer"))
    }

    fn once(&self, ask: &Ask<'_>) -> Result<Answer, String> {
        let mut path = self.endpoint.path.clone();
        if self.endpoint.path_style {
            path.push('/');
            path.push_str(&escaped(&self.address.bucket));
        }
        path.push('/');
        path.push_str(&escaped_path(ask.key.unwrap_or_default()));
        // Some servers give a bucket without its slash, and with it, different signatures.
        if ask.key.is_none() && self.endpoint.path_style {
            path.pop();
        }
        let mut headers = ask.headers.clone();
        headers.push(("host", self.endpoint.authority()));
        let unsigned =
            Unsigned { method: ask.method, path: &path, query: ask.query, headers, payload: ask.payload };
        let signed = sign(unsigned, &self.account.keys, &self.account.region, Millis::now());
        let target = if ask.query.is_empty() { path } else { format!("{path}?{}", query(ask.query)) };
        let mut request = Request::builder().method(ask.method).uri(target);
        for (name, value) in signed {
            request = request.header(name, value);
        }
        let request = request.body(Full::new(ask.body.clone())).map_err(|e| e.to_string())?;
        let moved = (ask.body.len() as u64).max(if ask.most == SHORT { 0 } else { ask.most as u64 });
        let limit = ANSWER + Duration::from_secs(moved / BYTES_PER_SECOND);
        self.client.send(request, ask.most, limit)
    }

    fn away(&self, doing: &str, why: &str) -> Problem {
        Problem::new(format!("cannot {doing} {} at {}", self.address, self.endpoint)).because(why).hint(
            "is the server up, and may this machine reach it (AWS_ENDPOINT_URL)? Run the same command again \
             then; \
             nothing committed is lost",
        )
    }

    fn problem(&self, doing: &str, s: &ErrorAnswer) -> Problem {
        let mut why = format!("status {}", s.status);
        for part in [&s.code, &s.message] {
            if !part.is_empty() {
                why = format!("{why}, {part}");
            }
        }
        let bucket = &self.address.bucket;
        let hint = match s.code.as_str() {
            "NoSuchBucket" => format!(
                "make the bucket `{bucket}`, or name another one with --archive ([archive] to); \
                 AWS_ENDPOINT_URL says \
                 which server is asked"
            ),
            "InvalidAccessKeyId" | "SignatureDoesNotMatch" => {
                "check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY".into()
            }
            "ExpiredToken" | "InvalidToken" | "TokenRefreshRequired" => {
                "the session is over: get new credentials (AWS_SESSION_TOKEN belongs to them) and run the \
                 same command \
                 again; nothing committed is lost"
                    .into()
            }
            "RequestTimeTooSkewed" => "set this machine's clock".into(),
            "PermanentRedirect" | "AuthorizationHeaderMalformed" | "TemporaryRedirect" => match &s.region {
                Some(region) => format!("the bucket is elsewhere: set AWS_REGION={region}"),
                None => "set AWS_REGION to the region of the bucket".into(),
            },
            _ if s.status == 301 || s.status == 307 => "set AWS_REGION to the region of the bucket".into(),
            _ if s.status == 403 || s.status == 401 => format!(
                "these credentials may not do that: a crawl needs s3:PutObject on `{bucket}`, reading it \
                 s3:GetObject"
            ),
            _ => "when it is mended run the same command again; nothing committed is lost".into(),
        };
        Problem::new(format!("cannot {doing} {} at {}", self.address, self.endpoint)).because(why).hint(hint)
    }
}

impl ErrorAnswer {
    /// Will it perhaps go by itself?
    fn passes(&self) -> bool {
        match self.status {
            // Not understood: asking again does not help.
            501 => false,
            500.. | 408 | 429 => true,
            // Someone else is at the same object just now.
            409 => self.code == "ConditionalRequestConflict" || self.code == "OperationAborted",
            400 => self.code == "RequestTimeout",
            _ => false,
        }
    }
}

/// `None` when it is no error.
fn said(answer: &Answer) -> Option<ErrorAnswer> {
    if (200..300).contains(&answer.status) {
        return None;
    }
    let text = String::from_utf8_lossy(&answer.body);
    let part = |name: &str| {
        let from = text.split_once(&format!("<{name}>"))?.1;
        let inner = from.split_once(&format!("</{name}>"))?.0;
        // The server's words, not its control characters.
        Some(inner.chars().filter(|c| !c.is_control()).take(300).collect::<String>())
    };
    Some(ErrorAnswer {
        status: answer.status,
        code: part("Code").unwrap_or_default(),
        message: part("Message").unwrap_or_default(),
        region: answer.header("x-amz-bucket-region").map(str::to_string).or_else(|| part("Region")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};

    fn answer(status: u16, body: &str) -> Answer {
        Answer { status, headers: Default::default(), body: body.as_bytes().to_vec() }
    }

    fn bucket() -> Bucket {
        bucket_at(1, Duration::from_millis(600))
    }

    fn bucket_at(port: u16, patience: Duration) -> Bucket {
        let of = |name: &str| match name {
            "AWS_ACCESS_KEY_ID" | "AWS_SECRET_ACCESS_KEY" => Some("geheim".to_string()),
            "AWS_ENDPOINT_URL" => Some(format!("http://127.0.0.1:{port}")),
            _ => None,
        };
        let address = Address::parse("s3://crawls/a").unwrap();
        Bucket::new(address, Account::from(&of).unwrap(), patience).unwrap()
    }

    /// Takes one request per connection, and answers what `script` says; nothing at all when that is empty.
    fn server(script: Vec<fn(&str) -> String>) -> (u16, std::thread::JoinHandle<Vec<String>>) {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let thread = std::thread::spawn(move || {
            let mut first_mark = String::new();
            let mut asked = Vec::new();
            for answer in script {
                let (mut client, _) = listener.accept().unwrap();
                client.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
                let mut bytes = Vec::new();
                let mut buffer = [0; 4096];
                let head = loop {
                    let n = client.read(&mut buffer).unwrap();
                    assert!(n > 0, "the request ends early");
                    bytes.extend_from_slice(&buffer[..n]);
                    let text = String::from_utf8_lossy(&bytes).into_owned();
                    if let Some((head, body)) = text.split_once("\r\n\r\n")
                        && body.len() >= if head.starts_with("PUT") { "the body".len() } else { 0 }
                    {
                        break head.to_ascii_lowercase();
                    }
                };
                if first_mark.is_empty() {
                    first_mark = head.split_once(&format!("{MARK}: ")).unwrap().1[..16].to_string();
                }
                let text = answer(&first_mark);
                client.write_all(text.as_bytes()).unwrap();
                asked.push(head);
            }
            asked
        });
        (port, thread)
    }

    fn plain(status: &str, headers: &str) -> String {
        format!("HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: 0\r\n{headers}\r\n")
    }

    #[test]
    fn a_put_whose_answer_was_lost_counts_once_and_nothing_is_overwritten() {
        let body = || Bytes::from_static(b"the body");
        let patience = Duration::from_secs(20);
        // It worked, but the line was cut: the second try finds the object there, and it is ours.
        let (port, asked) =
            server(vec![|_| String::new(), |_| plain("412 Precondition Failed", ""), |mark| {
                plain("200 OK", &format!("{MARK}: {mark}\r\n"))
            }]);
        bucket_at(port, patience).put_new("x.warc.gz", body()).unwrap();
        let asked = asked.join().unwrap();
        assert!(asked[0].starts_with("put /crawls/a/x.warc.gz http/1.1"), "{}", asked[0]);
        assert!(asked[0].contains("if-none-match: *") && asked[1].contains("if-none-match: *"));
        assert!(asked[2].starts_with("head /crawls/a/x.warc.gz"), "{}", asked[2]);
        // Somebody else's: left alone.
        let (port, asked) = server(vec![|_| String::new(), |_| plain("412 Precondition Failed", ""), |_| {
            plain("200 OK", &format!("{MARK}: another\r\n"))
        }]);
        let said = bucket_at(port, patience).put_new("x", body()).unwrap_err().to_string();
        assert!(said.contains("s3://crawls/a/x is there already"), "{said}");
        asked.join().unwrap();
        // At the first try it cannot be ours.
        let (port, asked) = server(vec![|_| plain("412 Precondition Failed", "")]);
        assert!(bucket_at(port, patience).put_new("x", body()).is_err());
        asked.join().unwrap();
        // An overloaded server is asked again; one that does not know the condition is asked without it.
        let (port, asked) =
            server(vec![|_| plain("503 Slow Down", ""), |_| plain("501 Not Implemented", ""), |_| {
                plain("200 OK", "")
            }]);
        bucket_at(port, patience).put_new("x", body()).unwrap();
        assert!(!asked.join().unwrap()[2].contains("if-none-match"));
    }

    #[test]
    fn errors_say_what_where_and_what_next() {
        assert!(said(&answer(206, "")).is_none());
        let bucket = bucket();
        let xml = |code: &str| format!("<Error><Code>{code}</Code><Message>so\u{7} it is</Message></Error>");
        for (status, code, hint) in [
            (404, "NoSuchBucket", "make the bucket `crawls`"),
            (403, "AccessDenied", "s3:PutObject"),
            (403, "SignatureDoesNotMatch", "AWS_SECRET_ACCESS_KEY"),
            (400, "ExpiredToken", "AWS_SESSION_TOKEN"),
            (403, "RequestTimeTooSkewed", "clock"),
            (301, "PermanentRedirect", "AWS_REGION"),
            (500, "InternalError", "nothing committed is lost"),
        ] {
            let s = said(&answer(status, &xml(code))).unwrap();
            let text = bucket.problem("write to", &s).to_string();
            for part in ["cannot write to s3://crawls/a at http://127.0.0.1:1", code, "so it is", hint] {
                assert!(text.contains(part), "`{part}` is missing in {text}");
            }
            assert!(!text.contains("geheim"));
            assert_eq!(s.passes(), status == 500, "{code}");
        }
        // Whatever a server answers is no reason to panic.
        for body in ["", "<Code>", "</Code><Code>", "<Code>\u{fffd}</Code>", "{}"] {
            assert!(said(&answer(503, body)).is_some_and(|s| s.passes()));
        }
    }

    #[test]
    fn a_server_that_is_away_is_waited_for_and_not_for_ever() {
        let began = Instant::now();
        let text = bucket().put_new("x", Bytes::from_static(b"y")).unwrap_err().to_string();
        assert!(text.contains("refused") && text.contains("is the server up"), "{text}");
        let took = began.elapsed();
        assert!(took >= Duration::from_millis(150) && took < Duration::from_secs(5), "{took:?}");
    }
}
