//! Files of others: archives, containers, models.

use crate::choice;
use focus::model::{ModelFile, Part, Role};
use focus::text::TextOptions;
use std::fs;
use std::io::{BufReader, Read};
use std::path::PathBuf;
use store::archive::{
    Composer, ComposerSettings, Exchanges, HttpLimits, Limits, PageNote, WarcReader, http_message,
};
use store::zip::{ZipReader, ZipWriter};
use types::{Canon, Fetched, Fingerprint, Millis, Payload};

const LIMITS: Limits = Limits { head: 4 << 10, block: 64 << 10 };
const HTTP: HttpLimits = HttpLimits { body: 64 << 10, headers: 100 };

/// A file of this process with these bytes, for readers that want one.
fn file(name: &str, bytes: &[u8]) -> PathBuf {
    let shm = PathBuf::from("/dev/shm");
    let folder = if shm.is_dir() { shm } else { std::env::temp_dir() };
    let thread = std::thread::current().id();
    let path = folder.join(format!("gleaner-fuzz-{}-{thread:?}-{name}", std::process::id()));
    fs::write(&path, bytes).expect("a file");
    path
}

/// Reading comes to an end, passes over what is damaged, and takes HTTP answers apart.
pub fn warc(data: &[u8]) {
    let mut records = 0usize;
    let reader = WarcReader::new(BufReader::new(data), "x.warc", LIMITS);
    for record in reader.into_iter().flatten() {
        records += 1;
        assert!(records <= data.len() + 1, "no end");
        let Ok(record) = record else { continue };
        assert!(record.block.len() <= LIMITS.block);
        record.target();
        if let Some(message) = http_message(&record.block, &HTTP) {
            assert!(message.body.len() <= HTTP.body + 1, "{} bytes of body", message.body.len());
        }
    }
    let path = file("x.warc", data);
    if let Ok(exchanges) = Exchanges::open(&path, 0, LIMITS.block) {
        assert!(exchanges.take(data.len() + 2).count() <= data.len() + 1, "no end");
    }
    let _ = fs::remove_file(path);
}

/// What is written of an answer is what is read of it: status, headers, body.
pub fn exchange(data: &[u8]) {
    let (kind, rest) = choice(data);
    let (head, body) = rest.split_at(rest.len().min(usize::from(kind)));
    let head = String::from_utf8_lossy(head);
    let headers: Vec<(String, String)> = head
        .lines()
        .filter_map(|l| l.split_once(':'))
        // As hyper gives them: names are tokens in lower case, values have no controls and no blanks around.
        .map(|(n, v)| {
            (
                n.to_ascii_lowercase(),
                v.replace(|c: char| c.is_control() && c != '\t', "").trim_matches([' ', '\t']).to_string(),
            )
        })
        .filter(|(n, _)| {
            !n.is_empty() && n.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b))
        })
        .filter(|(n, _)| !["content-encoding", "transfer-encoding", "content-length"].contains(&n.as_str()))
        .collect();
    let status = 200 + u16::from(kind);
    let composed = archived(status, &headers, body);
    let records: Vec<_> = WarcReader::new(BufReader::new(composed.as_slice()), "x", Limits::default())
        .expect("it is an archive")
        .map(|r| r.unwrap_or_else(|e| panic!("{e}")))
        .collect();
    let kinds: Vec<String> = records.iter().map(|r| r.kind()).collect();
    assert_eq!(kinds, ["response", "request", "metadata"]);
    assert_eq!(records[0].target(), Some("http://example.org/x"));
    let message = http_message(&records[0].block, &HttpLimits::default()).expect("an answer");
    assert_eq!((message.status, &*message.body, message.cut), (status, body, false));
    let kept: Vec<_> = message.headers.iter().filter(|(n, _)| n != "content-length").cloned().collect();
    assert_eq!(kept, headers);
}

pub fn zip(data: &[u8]) {
    let path = file("x.zip", data);
    if let Ok(mut zip) = ZipReader::open(&path) {
        let members: Vec<_> = zip.members().iter().take(8).cloned().collect();
        for member in members {
            if let Ok(contents) = zip.contents(&member) {
                let _ = contents.take(1 << 20).read_to_end(&mut Vec::new());
            }
        }
    }
    let _ = fs::remove_file(path);
}

/// Bytes as they are, and with the sum that makes them whole.
pub fn model(data: &[u8]) {
    let _ = ModelFile::read(data, "x");
    let body = data.get(..data.len().saturating_sub(8)).unwrap_or(&[]);
    let mut whole = body.to_vec();
    whole.extend(checksum(body).to_le_bytes());
    if let Ok(read) = ModelFile::read(&whole, "x") {
        let again = ModelFile::read(&read.write(), "x").unwrap_or_else(|p| panic!("{p}"));
        assert_eq!(again.parts.len(), read.parts.len());
        for (a, b) in read.parts.iter().zip(&again.parts) {
            assert_eq!((&a.kind, &a.note, &a.text, &a.body), (&b.kind, &b.note, &b.text, &b.body));
        }
    }
}

/// One exchange as our archives have it.
fn archived(status: u16, headers: &[(String, String)], body: &[u8]) -> Vec<u8> {
    let url = Canon::default().parse("http://example.org/x").expect("a URL");
    let fetched = Fetched {
        status,
        headers: headers.to_vec(),
        payload: Payload::plain(body.to_vec()),
        request_head: "GET /x HTTP/1.1\r\nHost: example.org\r\n\r\n".into(),
        protocol: "HTTP/1.1",
        ..Fetched::empty(url, Millis(1_763_000_000_000))
    };
    let mut composer = Composer::new(ComposerSettings::default());
    let note = PageNote { parent: Some("http://example.org/"), ..PageNote::default() };
    let composed = composer.exchange(&fetched, &note).unwrap_or_else(|p| panic!("{p}"));
    composed.expect("there is an answer").bytes().to_vec()
}

/// The key of the sums of model files.
fn checksum(bytes: &[u8]) -> u64 {
    Fingerprint::of_bytes(bytes, (0x006d_6f64_656c, 0x0067_6c65_616e_6572)).0
}

/// Files as our own writers make them.
pub fn examples() -> Vec<(&'static str, Vec<u8>)> {
    let headers = [("content-type".to_string(), "text/html".to_string())];
    let warc = archived(200, &headers, b"<p>All about the relational model.</p>");
    let text = TextOptions::default();
    let part = |role, kind: &str| Part::new(role, kind, "12 pages".into(), &text, vec![1, 2, 3]);
    let model = ModelFile { parts: vec![part(Role::Judge, "bayes"), part(Role::Strategy, "apprentice")] };
    let mut zipped = Vec::new();
    let mut zip = ZipWriter::new(&mut zipped);
    zip.entry("datapackage.json", b"{}")
        .and_then(|()| zip.entry("archive/x.warc.gz", &warc))
        .expect("memory does not fail");
    zip.finish().expect("memory does not fail");
    vec![("warc", warc), ("model", model.write()), ("zip", zipped)]
}
