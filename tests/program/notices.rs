//! What is new is told to others: signed webhooks to a server that fails first, mails to a server that speaks
//! SMTP.

use super::damage::on;
use crate::common::{Ran, crawl, file, finish, folder, gleaner, serve};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::hmac;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

pub const SECRET: &str = "marmalade-secret";
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A request as it came.
pub struct Got {
    head: String,
    pub body: String,
}

impl Got {
    fn header(&self, name: &str) -> &str {
        let line =
            self.head.lines().find_map(|l| l.split_once(": ").filter(|(n, _)| n.eq_ignore_ascii_case(name)));
        line.unwrap_or_else(|| panic!("no {name} in {}", self.head)).1
    }

    /// Checks it as a receiver does.
    fn is_signed(&self, secret: &[u8]) -> bool {
        let text =
            format!("{}.{}.{}", self.header("webhook-id"), self.header("webhook-timestamp"), self.body);
        let said = self.header("webhook-signature").strip_prefix("v1,").unwrap();
        let key = hmac::Key::new(hmac::HMAC_SHA256, secret);
        hmac::verify(&key, text.as_bytes(), &STANDARD.decode(said).unwrap()).is_ok()
    }
}

fn read_request(stream: &mut TcpStream) -> Option<Got> {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if line.trim().is_empty() {
            break;
        }
        head += &line.replace('\r', "");
    }
    let got = Got { head, body: String::new() };
    let mut body = vec![0; got.header("content-length").parse().ok()?];
    reader.read_exact(&mut body).ok()?;
    Some(Got { body: String::from_utf8(body).ok()?, ..got })
}

/// A server that answers with these, one after the other, and then with the last one.
pub fn receiver(answers: &'static [&'static str]) -> (String, Receiver<Got>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    let (send, got) = channel();
    std::thread::spawn(move || {
        for (n, stream) in listener.incoming().enumerate() {
            let Ok(mut stream) = stream else { return };
            let Some(request) = read_request(&mut stream) else { continue };
            let answer = answers[n.min(answers.len() - 1)];
            let _ = write!(stream, "HTTP/1.1 {answer}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
            if send.send(request).is_err() {
                return;
            }
        }
    });
    (url, got)
}

const WEB: &str = "== http://a.example/\n<title>Start</title>sql <a href='/news'>news</a>\n\
                   == http://a.example/news\n<title>Vögel & News</title><p>sql on Monday</p>\n";
const NEXT: &str = "== http://a.example/\n<title>Start</title>sql <a href='/news'>news</a>\n\
                    == http://a.example/news\n<title>Vögel & News</title><p>sql on Friday</p>\n";

/// A collection whose topic says who is told.
fn collection(dir: &Path, notify: &str) -> PathBuf {
    let topic =
        format!("name = \"Bücher\"\nquery = \"sql\"\n[fetch]\ndelay = '0s'\nsitemaps = false\n{notify}\n");
    let (topic, out) = (file(dir, "t.toml", &topic), dir.join("out"));
    finish(crawl(&serve(WEB), &topic, &out).args(["--seed", "http://a.example/"])).ok();
    out
}

fn changes(out: &Path, args: &[&str]) -> Ran {
    let mut command = gleaner();
    command.env("NO_COLOR", "1").env("GLEANER_WEBHOOK_SECRET", SECRET);
    finish(command.arg("changes").arg(out).args(args))
}

fn changed(out: &Path) {
    let server = serve(NEXT);
    let mut again = gleaner();
    finish(again.arg("refresh").arg(out).args(["--allow-private", "--resolve", &server.resolve()])).ok();
}

#[test]
fn a_webhook_is_signed_tried_again_and_tells_nothing_twice() {
    let dir = folder();
    let (url, got) = receiver(&["500 no", "503 no\r\nretry-after: 0", "204 thanks"]);
    let out = collection(dir.path(), &format!("[notify]\nwebhook = \"{url}\"\npause = '10ms'"));
    changes(&out, &["--notify"]).ok().shows(&["2 changes since", "1 letter delivered, 0 not"]);
    let tries: Vec<Got> = (0..3).map(|_| got.recv_timeout(PATIENCE).unwrap()).collect();
    let ids: Vec<&str> = tries.iter().map(|t| t.header("webhook-id")).collect();
    assert!(ids[0].starts_with("msg_") && ids.iter().all(|id| *id == ids[0]), "{ids:?}");
    for t in &tries {
        assert!(t.is_signed(SECRET.as_bytes()) && !t.is_signed(b"another"), "{}", t.head);
        assert!(!t.head.contains(SECRET) && t.header("content-type") == "application/json");
    }
    let body: Value = serde_json::from_str(&tries[2].body).unwrap();
    assert_eq!((&body["collection"], &body["counts"]["new"]), (&json!("Bücher"), &json!(2)), "{body:#}");
    let news = body["changes"].as_array().unwrap().iter().find(|c| c["title"] == "Vögel & News").unwrap();
    assert_eq!((&news["kind"], &news["url"]), (&json!("new"), &json!("http://a.example/news")));
    // Nothing new: nothing is sent.
    changes(&out, &["--notify"]).ok().shows(&["0 changes since", "0 letters delivered"]);
    changed(&out);
    changes(&out, &["--notify"]).ok().shows(&["1 change since", "1 letter delivered"]);
    let one = got.recv_timeout(PATIENCE).unwrap();
    let body: Value = serde_json::from_str(&one.body).unwrap();
    assert_eq!((&body["counts"]["changed"], &body["counts"]["new"]), (&json!(1), &json!(0)), "{body:#}");
    assert!(body["changes"][0]["diff"].to_string().contains("+sql on Friday"), "{body:#}");
    assert!(one.is_signed(SECRET.as_bytes()));
    assert!(got.try_recv().is_err(), "nothing else was sent");
    on("check", &out, &[]).ok().shows(&["nothing is wrong"]);
}

#[test]
fn what_is_not_taken_is_kept_shown_and_sent_again() {
    let dir = folder();
    let (elsewhere, stray) = receiver(&["200 ok"]);
    let moved: &'static str = format!("302 moved\r\nlocation: {elsewhere}").leak();
    let answers: &'static [&'static str] = vec![moved, "404 no", "200 ok"].leak();
    let (url, got) = receiver(answers);
    let out = collection(dir.path(), &format!("[notify]\nwebhook = \"{url}\"\npause = '10ms'\ntries = 2"));
    changes(&out, &["--undelivered"]).ok().shows(&["everything was delivered"]);
    changes(&out, &["--notify"]).fails(1, &["redirects are not followed", "--resend"]);
    let first = got.recv_timeout(PATIENCE).unwrap();
    assert!(stray.try_recv().is_err(), "no redirect is followed");
    changes(&out, &["--undelivered"]).ok().shows(&["webhook", "Bücher: 2 new", "1 attempt", "status 302"]);
    let kept: Value = serde_json::from_str(&changes(&out, &["--undelivered", "--json"]).ok().out).unwrap();
    assert_eq!(kept[0]["letter"]["id"], first.header("webhook-id"), "{kept:#}");
    // It is not told again by itself, and not forgotten.
    changes(&out, &["--notify"]).ok().shows(&["0 changes", "0 letters delivered, 0 not"]);
    changes(&out, &["--resend"]).fails(1, &["status 404"]);
    changes(&out, &["--undelivered"]).ok().shows(&["2 attempts", "status 404"]);
    changes(&out, &["--resend"]).ok().shows(&["1 letter delivered, 0 not"]);
    got.recv_timeout(PATIENCE).unwrap();
    let last = got.recv_timeout(PATIENCE).unwrap();
    assert_eq!((last.header("webhook-id"), &last.body), (first.header("webhook-id"), &first.body));
    assert!(last.is_signed(SECRET.as_bytes()));
    changes(&out, &["--undelivered"]).ok().shows(&["everything was delivered"]);

    // Nobody answers; then it is forgotten.
    drop(got);
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let topic = std::fs::read_to_string(out.join("topic.toml")).unwrap();
    std::fs::write(out.join("topic.toml"), topic.replace(&url, &format!("http://{nobody}/"))).unwrap();
    changed(&out);
    changes(&out, &["--notify"]).fails(1, &["not delivered"]);
    changes(&out, &["--undelivered"]).ok().shows(&["2 attempts"]);
    changes(&out, &["--forget-undelivered"]).ok().shows(&["1 letter forgotten"]);
    changes(&out, &["--undelivered"]).ok().shows(&["everything was delivered"]);
}

#[test]
fn nobody_is_told_without_a_secret_and_no_secret_is_in_a_file() {
    let dir = folder();
    let out = collection(dir.path(), "");
    changes(&out, &["--notify"]).fails(2, &["nobody is to be told", "[notify]"]);
    let (topic, hook) = (out.join("topic.toml"), "[notify]\nwebhook = \"http://127.0.0.1:9/\"\n");
    let text = std::fs::read_to_string(&topic).unwrap();
    std::fs::write(&topic, format!("{text}{hook}")).unwrap();
    let mut bare = gleaner();
    finish(bare.env_remove("GLEANER_WEBHOOK_SECRET").arg("changes").arg(&out).arg("--notify"))
        .fails(2, &["GLEANER_WEBHOOK_SECRET is not set"]);
    for (wrong, says) in [
        ("webhook = 'ftp://x.example/'", "not an address of http"),
        ("webhook = 'https://me:pw@x.example/'", "does not belong into a file"),
        (
            "mail = 'smtp://me:pw@x.example/'\nfrom = 'a@b.example'\nto = ['c@d.example']",
            "GLEANER_SMTP_PASSWORD",
        ),
        ("mail = 'smtp://x.example/'", "`from` and `to`"),
        ("mail = 'smtp://x.example/'\nfrom = 'nobody'\nto = ['c@d.example']", "no mail address"),
        ("tries = 0", "1–20"),
        ("hook = 'x'", "webhook"),
    ] {
        std::fs::write(&topic, format!("{text}[notify]\n{wrong}\n")).unwrap();
        let ran = changes(&out, &["--notify"]);
        ran.fails(2, &[says]);
        assert!(!ran.err.contains("me:pw"), "{ran}");
    }
}

/// A mail as a server took it.
struct Mail {
    login: Option<String>,
    from: String,
    to: Vec<String>,
    text: String,
}

/// Speaks SMTP (RFC 5321, AUTH PLAIN) with one client after another. The first `busy` are sent away at DATA.
fn post_office(busy: usize) -> (u16, Receiver<Mail>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (send, got) = channel();
    std::thread::spawn(move || {
        for (n, stream) in listener.incoming().enumerate() {
            let Ok(stream) = stream else { return };
            if let Some(mail) = talk(stream, n < busy)
                && send.send(mail).is_err()
            {
                return;
            }
        }
    });
    (port, got)
}

fn talk(stream: TcpStream, busy: bool) -> Option<Mail> {
    let mut out = stream.try_clone().ok()?;
    let mut say = |text: &str| out.write_all(format!("{text}\r\n").as_bytes()).ok();
    let mut lines = BufReader::new(stream).lines();
    let mut mail = Mail { login: None, from: String::new(), to: Vec::new(), text: String::new() };
    say("220-office.example\r\n220 ready")?;
    loop {
        let line = lines.next()?.ok()?;
        if line.starts_with("EHLO ") {
            say("250-office.example\r\n250-8BITMIME\r\n250 AUTH LOGIN PLAIN")?;
        } else if let Some(token) = line.strip_prefix("AUTH PLAIN ") {
            mail.login = String::from_utf8(STANDARD.decode(token).ok()?).ok();
            say("235 welcome")?;
        } else if let Some(from) = line.strip_prefix("MAIL FROM:") {
            mail.from = from.to_string();
            say("250 ok")?;
        } else if let Some(to) = line.strip_prefix("RCPT TO:") {
            if to.contains("nobody@") {
                say("550 no such user")?;
                continue;
            }
            mail.to.push(to.to_string());
            say("250 ok")?;
        } else if line == "DATA" {
            if busy {
                say("451 later")?;
                return None;
            }
            say("354 go on")?;
            loop {
                let line = lines.next()?.ok()?;
                if line == "." {
                    break;
                }
                assert!(line.len() <= 998 && line.is_ascii(), "{line}");
                mail.text += &(line.strip_prefix('.').unwrap_or(&line).to_string() + "\n");
            }
            say("250 taken")?;
            return Some(mail);
        } else {
            say("502 what?")?;
        }
    }
}

#[test]
fn a_mail_goes_through_the_users_server() {
    let dir = folder();
    let (port, got) = post_office(1);
    let notify = format!(
        "[notify]\nmail = \"smtp://127.0.0.1:{port}\"\nfrom = \"Gleaner der Bücher <gleaner@example.org>\"\n\
         to = [\"you@example.org\", \"Else <else@example.org>\"]\npause = '10ms'"
    );
    let out = collection(dir.path(), &notify);
    let mut command = gleaner();
    command.env("GLEANER_SMTP_USER", "me").env("GLEANER_SMTP_PASSWORD", "marmalade");
    finish(command.arg("changes").arg(&out).arg("--notify")).ok().shows(&["2 changes", "1 letter delivered"]);
    let mail = got.recv_timeout(PATIENCE).unwrap();
    assert_eq!(mail.login.as_deref(), Some("\0me\0marmalade"));
    assert_eq!(mail.from, "<gleaner@example.org>");
    assert_eq!(mail.to, ["<you@example.org>", "<else@example.org>"]);
    let (head, body) = mail.text.split_once("\n\n").unwrap();
    for says in ["Message-ID: <msg_", "Subject: =?utf-8?B?", "To: you@example.org,", "multipart/alternative"]
    {
        assert!(head.contains(says), "`{says}` is missing in\n{head}");
    }
    let part = body.split("base64\n\n").nth(1).unwrap().split("--=_").next().unwrap();
    let plain = String::from_utf8(STANDARD.decode(part.replace('\n', "")).unwrap()).unwrap();
    assert!(
        plain.contains("2 new") && plain.contains("Vögel & News") && !plain.contains('\u{1b}'),
        "{plain}"
    );
    // A receiver that is not there is told at once, not tried again and again.
    let topic = std::fs::read_to_string(out.join("topic.toml")).unwrap();
    std::fs::write(out.join("topic.toml"), topic.replace("you@", "nobody@")).unwrap();
    changed(&out);
    changes(&out, &["--notify"]).fails(1, &["550 no such user"]);
    changes(&out, &["--undelivered"]).ok().shows(&["mail", "1 attempt"]);
    std::fs::write(out.join("topic.toml"), topic).unwrap();
    changes(&out, &["--resend"]).ok().shows(&["1 letter delivered"]);
    let mail = got.recv_timeout(PATIENCE).unwrap();
    assert!(mail.login.is_none() && mail.text.contains("Message-ID: <msg_"));
}

#[test]
fn a_mail_is_not_sent_on_a_line_that_others_can_read() {
    // An address that nobody but this machine knows to be its own: STARTTLS is wanted, and not offered.
    let (port, got) = post_office(0);
    let dir = folder();
    let notify = format!(
        "[notify]\nmail = \"smtp://0.0.0.0:{port}\"\nfrom = 'a@b.example'\nto = ['c@d.example']\n\
         pause = '1ms'"
    );
    let out = collection(dir.path(), &notify);
    changes(&out, &["--notify"]).fails(1, &["STARTTLS", "nothing was sent"]);
    assert!(got.try_recv().is_err());
}
