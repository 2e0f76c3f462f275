//! Writes a small collection's files, to be looked at with other tools:
//!
//! ```text
//! cargo run -p gleaner-store --example write_warc -- /tmp/sample
//! python tests/py/check_warc.py /tmp/sample/warc/*.warc.gz /tmp/sample/subset.warc.gz
//! python tests/py/check_parquet.py /tmp/sample/pages.parquet 30
//! ```
//!
//! Thirty pages in several WARC files: plain, compressed, empty, truncated, redirected and repeated ones.

use gleaner_store::archive::{Archive, ArchiveSettings, Digest, Original, PageNote};
use gleaner_store::export::{self, Options, Row};
use std::collections::HashMap;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use types::{
    ArchiveRef, Assessment, Canon, Fetched, LinkKind, Millis, Part, Payload, Problem, Record, Truncation,
    UrlId, Verdict,
};

const PAGES: u32 = 30;

fn main() -> Result<(), Problem> {
    let Some(out) = std::env::args_os().nth(1).map(PathBuf::from) else {
        return Err(Problem::usage("name a folder to write to"));
    };
    let warc = out.join("warc");
    let settings = ArchiveSettings { max_size: 12_000, ..ArchiveSettings::default() };
    let mut archive = Archive::open(&warc, settings, None)?;
    let mut records: Vec<Record> = Vec::new();
    let mut first: HashMap<Digest, u32> = HashMap::new();
    for id in 0..PAGES {
        let fetched = page(id)?;
        let assessment = Assessment {
            score: f64::from(id) / f64::from(PAGES),
            parts: (0..id % 3)
                .map(|i| Part { name: format!("part{i}"), value: f64::from(i) / 4.0 })
                .collect(),
            ..Assessment::default()
        };
        let verdict = Verdict { relevant: id >= 10, relevance: assessment.score, threshold: 0.5, version: 1 };
        let digest = match &fetched.payload {
            Payload::Bytes { wire, .. } => gleaner_store::archive::payload_digest(wire),
            _ => gleaner_store::archive::payload_digest(&[]),
        };
        let twin =
            (fetched.status == 200).then(|| *first.entry(digest).or_insert(id)).filter(|twin| *twin != id);
        let original = twin.and_then(|t| records.get(t as usize));
        let note = PageNote {
            parent: (id > 0).then_some("http://example.org/page/0"),
            depth: id as u16,
            kind: LinkKind::Anchor,
            assessment: Some(&assessment),
            verdict: Some(verdict),
            duplicate_of: original.map(|o| Original { url: &o.url, fetched: o.fetched }),
            digest: Some(digest),
            resource: false,
        };
        let written = archive.write(&fetched, &note)?.ok_or_else(|| Problem::new("nothing was archived"))?;
        records.push(record(id, &fetched, assessment, verdict, digest, twin.map(UrlId), written.at));
    }
    archive.sync()?;

    for format in export::ALL {
        let path = match format.name {
            "warc" => out.join("subset.warc.gz"),
            _ => out.join(format!("pages.{}", format.extension)),
        };
        let chosen = |r: &&Record| format.name != "warc" || r.verdict.relevant;
        export_to(&path, format, &warc, &records, records.iter().filter(chosen))?;
        println!("{}", path.display());
    }
    Ok(())
}

fn export_to<'a>(
    path: &Path,
    format: &export::Format,
    warc: &Path,
    all: &'a [Record],
    chosen: impl Iterator<Item = &'a Record>,
) -> Result<(), Problem> {
    let file = File::create(path).map_err(|e| Problem::io("create", path, &e))?;
    let options =
        Options { archive: Some(warc.to_path_buf()), now: Millis(1_800_000_000_000), ..Options::default() };
    let mut exporter = (format.open)(Box::new(file), &options)?;
    for record in chosen {
        let original = record.duplicate_of.and_then(|id| all.get(id.0 as usize));
        exporter.write(&Row {
            record,
            parent: Some("http://example.org/page/0"),
            duplicate_of: original.map(|o| o.url.as_str()),
            label: None,
            near_duplicate_of: None,
            markdown: None,
            original: original.and_then(|o| o.archive.as_ref()),
        })?;
    }
    exporter.finish()
}

fn page(id: u32) -> Result<Fetched, Problem> {
    let bad = |e| Problem::new("cannot make a page").because(e);
    let url = format!("http://example.org/page/{id}?ü={id}");
    let url = Canon::exact().parse(&url).map_err(|e| Problem::new(e.to_string()))?;
    let mut f = Fetched::empty(url, Millis(1_700_000_000_000 + u64::from(id) * 1_234));
    f.status = 200;
    f.protocol = if id.is_multiple_of(2) { "HTTP/1.1" } else { "HTTP/2" };
    f.ip = format!("192.0.2.{id}").parse().ok();
    f.request_head =
        format!("GET {} HTTP/1.1\r\nhost: example.org\r\nuser-agent: example\r\n\r\n", f.url.path());
    f.headers = vec![
        ("content-type".into(), "text/html; charset=utf-8".into()),
        ("transfer-encoding".into(), "chunked".into()),
    ];
    // Every tenth page says the same.
    let words = if id % 10 == 9 {
        "the same page again ".repeat(40)
    } else {
        format!("words of page {id}, ").repeat(40)
    };
    let html = format!("<html><title>é</title><p>{words}</html>").into_bytes();
    match id % 6 {
        1 => {
            let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            gz.write_all(&html).map_err(bad)?;
            let wire: Arc<[u8]> = gz.finish().map_err(bad)?.into();
            f.headers.push(("content-encoding".into(), "gzip".into()));
            f.payload = Payload::Bytes { wire, decoded: html.into() };
        }
        2 => {
            f.truncated = Some(Truncation::Length);
            f.headers.push(("content-length".into(), "999999".into()));
            f.payload = Payload::plain(html);
        }
        4 => {
            f.status = 301;
            f.headers.push(("location".into(), "http://example.org/elsewhere".into()));
        }
        _ => f.payload = Payload::plain(html),
    }
    Ok(f)
}

fn record(
    id: u32,
    f: &Fetched,
    assessment: Assessment,
    verdict: Verdict,
    digest: Digest,
    twin: Option<UrlId>,
    at: ArchiveRef,
) -> Record {
    Record {
        id: UrlId(id),
        url: f.url.to_string(),
        parent: Some(UrlId(0)),
        kind: LinkKind::Anchor,
        depth: 1,
        status: f.status,
        media_type: f.media_type(),
        charset: "UTF-8".into(),
        language: "en".into(),
        title: format!("Page {id}: \"quoted\", 数据库"),
        description: String::new(),
        text: String::from_utf8_lossy(f.payload.decoded()).into_owned(),
        links: 0,
        fetched: f.started,
        elapsed_ms: 1,
        bytes: f.wire_bytes,
        truncated: f.truncated,
        assessment,
        verdict,
        digest: digest.hex(),
        simhash: u64::MAX - u64::from(id),
        duplicate_of: twin,
        near_duplicate_of: None,
        archive: Some(at),
        etag: None,
        last_modified: None,
        noindex: false,
        about: types::About::default(),
    }
}
