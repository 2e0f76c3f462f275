//! A whole web in one string, for tests.
//!
//! ```text
//! == http://a.example/ seed
//! A page in short form: see [`crate::markup`], with a [link](/old).
//! == /old 301 location: /new
//! == /new
//! <title>New</title>
//! == /robots.txt
//! User-agent: *
//! Disallow: /private
//! == http://b.example/data 200 application/json etag: "x" | cache-control: no-cache
//! {}
//! == http://b.example/sick !cut=10 !delay=300ms
//! <p>This will arrive late and in part.</p>
//! ```
//!
//! A line that starts with `== ` begins an answer: the URL, then, each optional and in this order: `seed`,
//! the status (200), the media type (guessed from the path's ending, else HTML), marks, and headers separated
//! by ` | `. A URL may be given by its path on the first one's host. Without any `seed` the first URL is it.
//! Marks: `!delay=300ms` waits before answering, `!cut=N` breaks the connection after N bytes of the body,
//! `!drop` closes it without an answer, `!gzip` compresses for clients that accept it. The lines up to the
//! next `== ` are the body, without the indentation they share. An HTML body without a tag is in short form.
//! A URL given several times answers in turn; the last answer repeats. What is not there is a 404.
//!
//! The string is a web for the server ([`Answer`]) and for the loop without a server ([`Web`]).

use crate::fetched::bare;
use crate::markup;
use crate::reply::{Answer, Ask, Behaviour, Reply};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use types::{Canon, FetchFuture, Fetched, Millis, Page, Payload, Problem, Request, Url, Web};

const HTML: &str = "text/html; charset=utf-8";

/// A whole web in one string; the grammar is at the top of this file.
#[derive(Clone, Debug, Default)]
pub struct WebString {
    /// Answers by `host/path?query`, in turn.
    answers: HashMap<String, Vec<Reply>>,
    /// The pages in short form.
    pub pages: BTreeMap<Url, Arc<Page>>,
    /// Pages marked as seeds, in order; the first page when none is marked.
    pub seeds: Vec<Url>,
    /// How long an answer takes on a virtual clock.
    pub latency: Millis,
    /// The first URL.
    base: Option<Url>,
}

/// An answer that is being read.
struct Open<'a> {
    url: Url,
    key: String,
    reply: Reply,
    lines: Vec<&'a str>,
}

impl WebString {
    /// Reads a web of a test: a mistake in it is a mistake of the test.
    pub fn new(text: &str) -> WebString {
        WebString::parse(text).unwrap_or_else(|problem| panic!("{problem}"))
    }

    /// Reads a web; the problem names the line.
    pub fn parse(text: &str) -> Result<WebString, Problem> {
        let mut web = WebString::default();
        let mut current: Option<Open> = None;
        for (i, line) in text.lines().enumerate() {
            if let Some(head) = line.trim_start().strip_prefix("== ") {
                web.finish(current.take());
                current = Some(web.begin(head.trim()).map_err(|why| {
                    Problem::usage(format!("line {}: {why}: `{}`", i + 1, line.trim())).hint(
                        "write `== http://host/path [seed] [status] [type/subtype] [!mark…] [name: value | \
                         …]`",
                    )
                })?);
            } else if let Some(open) = &mut current {
                open.lines.push(line);
            } else if !line.trim().is_empty() {
                return Err(Problem::usage(format!("line {}: text before the first answer", i + 1))
                    .hint("begin with a line `== http://host/path`"));
            }
        }
        web.finish(current);
        if web.seeds.is_empty() {
            web.seeds.extend(web.base.clone());
        }
        Ok(web)
    }

    /// Reads the line that begins an answer.
    fn begin<'a>(&mut self, head: &str) -> Result<Open<'a>, &'static str> {
        let (address, rest) = head.split_once(' ').unwrap_or((head, ""));
        let url = match (&self.base, address.strip_prefix("http://")) {
            (_, Some(rest)) if rest.is_empty() || rest.starts_with('/') => return Err("the URL has no host"),
            (_, Some(_)) => Canon::exact().parse(address),
            (Some(base), None) if address.starts_with('/') => Canon::exact().join(base, address),
            _ => return Err("the URL must start with http://"),
        };
        let url = url.map_err(|_| "this is no URL")?;
        let (first, after) = rest.trim_start().split_once(' ').unwrap_or((rest.trim_start(), ""));
        let seed = first == "seed";
        // As it is written, because that is how a client asks for it.
        let (host, path) = match address.strip_prefix("http://") {
            Some(whole) => whole.split_once('/').unwrap_or((whole, "")),
            None => (url.host_key(), address.trim_start_matches('/')),
        };
        let key = format!("{}/{path}", host.to_ascii_lowercase());
        let reply = answer_line(url.path(), if seed { after } else { rest })?;
        self.base.get_or_insert_with(|| url.clone());
        if seed {
            self.seeds.push(url.clone());
        }
        Ok(Open { url, key, reply, lines: Vec::new() })
    }

    fn finish(&mut self, done: Option<Open>) {
        let Some(Open { url, key, mut reply, lines }) = done else { return };
        let indent = |l: &&str| l.len() - l.trim_start().len();
        let indent = lines.iter().filter(|l| !l.trim().is_empty()).map(indent).min().unwrap_or(0);
        let body: Vec<&str> = lines.iter().map(|l| l.get(indent..).unwrap_or("")).collect();
        let mut body = body.join("\n").trim_end().to_string();
        if reply.status == 200 && reply.header("content-type") == Some(HTML) && !body.contains('<') {
            self.pages.insert(url.clone(), Arc::new(markup::page(&url, &body)));
            if !body.is_empty() {
                body = markup::html(&body);
            }
        } else if !body.is_empty() {
            body.push('\n');
        }
        reply.body = body.into_bytes();
        self.answers.entry(key).or_default().push(reply);
    }

    /// All URLs, sorted.
    pub fn urls(&self) -> Vec<String> {
        let mut urls: Vec<String> = self.answers.keys().map(|key| format!("http://{key}")).collect();
        urls.sort();
        urls
    }

    /// A URL by its path on the first one's host, or by all of it.
    pub fn url(&self, path: &str) -> Url {
        let base = self.base.as_ref().expect("a web has a page");
        Canon::exact().join(base, path).expect("a URL or a path")
    }
    /// The page of a path. Panics when there is none: for tests.
    pub fn page(&self, path: &str) -> Arc<Page> {
        self.pages.get(&self.url(path)).expect("a page of the web").clone()
    }
    /// How tests write a URL: by its path on the first one's host.
    pub fn short(&self, url: &Url) -> String {
        if self.base.as_ref().is_some_and(|base| url.host_key() == base.host_key()) {
            url.query().map_or_else(|| url.path().to_string(), |q| format!("{}?{q}", url.path()))
        } else {
            url.without_scheme().to_string()
        }
    }
}

fn key(url: &Url) -> String {
    let query = url.query().map_or(String::new(), |q| format!("?{q}"));
    format!("{}{}{query}", url.host_key(), url.path())
}

impl Answer for WebString {
    fn answer(&self, ask: &Ask) -> Reply {
        let Some(answers) = self.answers.get(&format!("{}{}", ask.host, ask.path)) else {
            return Reply::not_found();
        };
        answers.get(ask.earlier as usize).or(answers.last()).cloned().unwrap_or_else(Reply::not_found)
    }
}

/// Pages in short form come already read; of other answers the first one counts.
impl Web for WebString {
    fn fetch<'a>(&'a self, request: &'a Request) -> FetchFuture<'a> {
        Box::pin(std::future::ready(self.fetched(&request.url)))
    }

    fn latency(&self, _: &Url, _: Millis) -> Millis {
        self.latency
    }
}

impl WebString {
    fn fetched(&self, url: &Url) -> Fetched {
        let Some(reply) = self.answers.get(&key(url)).and_then(|a| a.first()) else { return bare(url, 404) };
        let mut f = bare(url, reply.status);
        f.headers.clone_from(&reply.headers);
        f.location = reply.header("location").map(String::from);
        f.payload = match self.pages.get(url) {
            Some(page) => Payload::Page(page.clone()),
            None => Payload::plain(reply.body.clone()),
        };
        f
    }
}

/// What stands behind the URL.
fn answer_line(path: &str, mut rest: &str) -> Result<Reply, &'static str> {
    let mut reply = Reply { status: 200, ..Reply::default() };
    let mut media_type = guess_type(path).to_string();
    let mut may_be_status = true;
    loop {
        rest = rest.trim_start();
        let (word, after) = rest.split_once(' ').unwrap_or((rest, ""));
        if let Some(mark) = word.strip_prefix('!') {
            let (name, value) = mark.split_once('=').unwrap_or((mark, ""));
            match name {
                "delay" => {
                    reply.delay_ms =
                        value.trim_end_matches("ms").parse().map_err(|_| "!delay needs milliseconds")?
                }
                "cut" => {
                    reply.behaviour =
                        Behaviour::Cut(value.parse().map_err(|_| "!cut needs a number of bytes")?)
                }
                "drop" => reply.behaviour = Behaviour::Drop,
                "gzip" => reply.gzip = true,
                _ => return Err("unknown mark"),
            }
        } else if may_be_status && !word.is_empty() && word.bytes().all(|b| b.is_ascii_digit()) {
            reply.status = word.parse().ok().filter(|s| (100..=999).contains(s)).ok_or("not a status")?;
            may_be_status = false;
        } else if word.contains('/') && !word.contains(':') {
            // A parameter may follow: `text/html; charset=x`.
            let (parameter, more) = after.split_once(' ').unwrap_or((after, ""));
            if word.ends_with(';') {
                media_type = format!("{word} {parameter}");
                rest = more;
            } else {
                media_type = word.to_string();
                rest = after;
            }
            may_be_status = false;
            continue;
        } else {
            break;
        }
        rest = after;
    }
    reply = reply.with("content-type", media_type);
    for header in rest.split(" | ").filter(|h| !h.trim().is_empty()) {
        let (name, value) = header.split_once(':').ok_or("a header needs a colon")?;
        reply = reply.with(&name.trim().to_ascii_lowercase(), value.trim());
    }
    Ok(reply)
}

fn guess_type(path: &str) -> &'static str {
    match path.rsplit_once('.').map_or("", |(_, ending)| ending) {
        "txt" => "text/plain; charset=utf-8",
        "xml" => "application/xml",
        "json" => "application/json",
        "pdf" => "application/pdf",
        "png" => "image/png",
        _ => HTML,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(reply: &Reply) -> &str {
        std::str::from_utf8(&reply.body).unwrap()
    }

    const WEB: &str = "
        == http://a.example
        <h1>Home</h1>
          <p>indented</p>

        == http://A.example/old 301 location: /new
        == http://a.example/robots.txt
        User-agent: *
        == http://a.example/data 404 application/json etag: \"x\" | cache-control: a, b
        {}
        == http://a.example/l text/html; charset=latin1 !gzip x-robots-tag: noindex
        == http://a.example/sick !cut=10 !delay=300ms
        <p>late</p>
        == http://a.example/again 503 retry-after: 1
        == http://a.example/again
        <p>fine</p>
        == http://a.example/gone 500 !drop
    ";

    #[test]
    fn all_parts_of_an_answer() {
        let web = WebString::parse(WEB).unwrap();
        let get = |path: &str| web.answer(&Ask::first("a.example", path));
        assert_eq!(body(&get("/")), "<h1>Home</h1>\n  <p>indented</p>\n");
        assert_eq!(get("/").header("content-type"), Some("text/html; charset=utf-8"));
        assert_eq!((get("/old").status, get("/old").header("location")), (301, Some("/new")));
        assert_eq!(get("/robots.txt").header("content-type"), Some("text/plain; charset=utf-8"));
        let data = get("/data");
        assert_eq!(
            (data.status, data.header("etag"), data.header("cache-control")),
            (404, Some("\"x\""), Some("a, b"))
        );
        assert_eq!((data.header("content-type"), body(&data)), (Some("application/json"), "{}\n"));
        let l = get("/l");
        assert_eq!(
            (l.header("content-type"), l.gzip, l.header("x-robots-tag")),
            (Some("text/html; charset=latin1"), true, Some("noindex"))
        );
        assert_eq!((get("/sick").behaviour, get("/sick").delay_ms), (Behaviour::Cut(10), 300));
        assert_eq!(get("/gone").behaviour, Behaviour::Drop);
        assert_eq!(get("/nothing").status, 404);
        assert_eq!(web.answer(&Ask::first("b.example", "/")).status, 404);
        assert_eq!(web.urls().len(), 8);
        assert_eq!(web.urls()[0], "http://a.example/");
    }

    #[test]
    fn answers_in_turn_and_the_last_one_stays() {
        let web = WebString::parse(WEB).unwrap();
        let nth = |earlier| web.answer(&Ask { earlier, ..Ask::first("a.example", "/again") });
        assert_eq!((nth(0).status, nth(0).header("retry-after")), (503, Some("1")));
        assert_eq!((nth(1).status, body(&nth(1))), (200, "<p>fine</p>\n"));
        assert_eq!(nth(7).status, 200);
    }

    #[test]
    fn mistakes_name_the_line() {
        for (text, says) in [
            ("hello", "line 1: text before"),
            ("\n== https://a/", "line 2: the URL must start with http://"),
            ("== http:///x", "no host"),
            ("== http://a/ !fly", "unknown mark"),
            ("== http://a/ !cut=x", "!cut needs"),
            ("== http://a/ 99999", "not a status"),
            ("== http://a/ nonsense", "colon"),
        ] {
            let problem = WebString::parse(text).unwrap_err();
            assert!(problem.to_string().contains(says), "{text}: {problem}");
            assert_eq!(problem.exit_code(), 2);
        }
        assert!(WebString::parse("").unwrap().urls().is_empty());
    }

    #[test]
    fn pages_in_short_form_are_pages_for_everybody() {
        let web = WebString::new("== http://a/x\n[up](/) text\n== / seed\ntitle: T\n== http://b/?q=1\nb\n");
        assert_eq!(web.seeds, [web.url("/")]);
        assert_eq!(web.page("/x").links[0].url, web.url("/"));
        assert_eq!(
            (web.short(&web.url("/x")), web.short(&web.url("http://b/?q=1"))),
            ("/x".into(), "b/?q=1".into())
        );
        let reply = web.answer(&Ask::first("a", "/x"));
        assert!(body(&reply).contains("<a href=\"/\">up</a> text"), "{}", body(&reply));
        assert!(matches!(web.fetched(&web.url("/x")).payload, Payload::Page(_)));
        assert_eq!(web.fetched(&web.url("/nothing")).status, 404);
    }
}
