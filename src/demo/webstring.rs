//! A whole web in one string, for tests.
//!
//! ```text
//! //- http://a.example/
//! <a href="/old">old</a>
//! //- http://a.example/old 301 location: /new
//! //- http://a.example/new
//! <title>New</title>
//! //- http://a.example/robots.txt
//! User-agent: *
//! Disallow: /private
//! //- http://b.example/data 200 application/json etag: "x" | cache-control: no-cache
//! {}
//! //- http://b.example/sick !cut=10 !delay=300ms
//! This will arrive late and in part.
//! ```
//!
//! A line that starts with `//- ` begins an answer: the URL, then, each optional and in this order: the status (200), the
//! media type (guessed from the path's ending, else HTML), marks, and headers separated by ` | `. Marks: `!delay=300ms`
//! waits before answering, `!cut=N` breaks the connection after N bytes of the body, `!drop` closes it without an answer,
//! `!gzip` compresses for clients that accept it. The lines up to the next `//- ` are the body, without the indentation
//! they share. A URL given several times answers in turn; the last answer repeats. What is not there is a 404.

use super::reply::{Answer, Ask, Behaviour, Reply};
use std::collections::HashMap;
use types::Problem;

#[derive(Clone, Debug, Default)]
pub struct WebString {
    /// Answers by `host/path?query`, in turn.
    answers: HashMap<String, Vec<Reply>>,
}

impl WebString {
    pub fn parse(text: &str) -> Result<WebString, Problem> {
        let mut web = WebString::default();
        let mut current: Option<(String, Reply, Vec<&str>)> = None;
        for (i, line) in text.lines().enumerate() {
            if let Some(head) = line.trim_start().strip_prefix("//- ") {
                web.finish(current.take());
                let (key, reply) = answer_line(head.trim()).map_err(|why| {
                    Problem::usage(format!("line {}: {why}: `{}`", i + 1, line.trim())).hint(
                        "write `//- http://host/path [status] [type/subtype] [!mark…] [name: value | …]`",
                    )
                })?;
                current = Some((key, reply, Vec::new()));
            } else if let Some((_, _, body)) = &mut current {
                body.push(line);
            } else if !line.trim().is_empty() {
                return Err(Problem::usage(format!("line {}: text before the first answer", i + 1))
                    .hint("begin with a line `//- http://host/path`"));
            }
        }
        web.finish(current);
        Ok(web)
    }

    fn finish(&mut self, done: Option<(String, Reply, Vec<&str>)>) {
        let Some((key, mut reply, lines)) = done else { return };
        let indent = lines
            .iter()
            .filter(|l| !l.trim().is_empty())
            .map(|l| l.len() - l.trim_start().len())
            .min()
            .unwrap_or(0);
        let body: Vec<&str> = lines.iter().map(|l| l.get(indent..).unwrap_or("")).collect();
        reply.body = body.join("\n").trim_end().as_bytes().to_vec();
        if !reply.body.is_empty() {
            reply.body.push(b'\n');
        }
        self.answers.entry(key).or_default().push(reply);
    }

    /// All URLs, sorted.
    pub fn urls(&self) -> Vec<String> {
        let mut urls: Vec<String> = self.answers.keys().map(|key| format!("http://{key}")).collect();
        urls.sort();
        urls
    }
}

impl Answer for WebString {
    fn answer(&self, ask: &Ask) -> Reply {
        let Some(answers) = self.answers.get(&format!("{}{}", ask.host, ask.path)) else {
            return Reply::not_found();
        };
        answers.get(ask.earlier as usize).or(answers.last()).cloned().unwrap_or_else(Reply::not_found)
    }
}

fn answer_line(head: &str) -> Result<(String, Reply), &'static str> {
    let (url, mut rest) = head.split_once(' ').unwrap_or((head, ""));
    let key = url.strip_prefix("http://").ok_or("the URL must start with http://")?;
    let (host, path) = key.split_once('/').unwrap_or((key, ""));
    if host.is_empty() {
        return Err("the URL has no host");
    }
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
    Ok((format!("{}/{path}", host.to_ascii_lowercase()), reply))
}

fn guess_type(path: &str) -> &'static str {
    let path = path.split('?').next().unwrap_or("");
    match path.rsplit_once('.').map_or("", |(_, ending)| ending) {
        "txt" => "text/plain; charset=utf-8",
        "xml" => "application/xml",
        "json" => "application/json",
        "pdf" => "application/pdf",
        "png" => "image/png",
        _ => "text/html; charset=utf-8",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(reply: &Reply) -> &str {
        std::str::from_utf8(&reply.body).unwrap()
    }

    const WEB: &str = "
        //- http://a.example
        <h1>Home</h1>
          <p>indented</p>

        //- http://A.example/old 301 location: /new
        //- http://a.example/robots.txt
        User-agent: *
        //- http://a.example/data 404 application/json etag: \"x\" | cache-control: a, b
        {}
        //- http://a.example/l text/html; charset=latin1 !gzip x-robots-tag: noindex
        //- http://a.example/sick !cut=10 !delay=300ms
        late
        //- http://a.example/again 503 retry-after: 1
        //- http://a.example/again
        fine
        //- http://a.example/gone 500 !drop
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
        assert_eq!((nth(1).status, body(&nth(1))), (200, "fine\n"));
        assert_eq!(nth(7).status, 200);
    }

    #[test]
    fn mistakes_name_the_line() {
        for (text, says) in [
            ("hello", "line 1: text before"),
            ("\n//- https://a/", "line 2: the URL must start with http://"),
            ("//- http:///x", "no host"),
            ("//- http://a/ !fly", "unknown mark"),
            ("//- http://a/ !cut=x", "!cut needs"),
            ("//- http://a/ 99999", "not a status"),
            ("//- http://a/ nonsense", "colon"),
        ] {
            let problem = WebString::parse(text).unwrap_err();
            assert!(problem.to_string().contains(says), "{text}: {problem}");
            assert_eq!(problem.exit_code(), 2);
        }
        assert!(WebString::parse("").unwrap().urls().is_empty());
    }
}
