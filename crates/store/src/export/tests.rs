//! Three records through every exporter.

use super::*;
use crate::archive::{Archive, ArchiveSettings, Limits, Original, PageNote, WarcReader};
use std::sync::{Arc, Mutex};
use types::{Assessment, Canon, Fetched, LinkKind, Part, Payload, UrlId, Verdict};

/// An output whose bytes can be looked at afterwards.
#[derive(Clone, Default)]
struct Sink(Arc<Mutex<Vec<u8>>>);

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn record(id: u32, title: &str, text: &str) -> Record {
    Record {
        id: UrlId(id),
        url: format!("http://example.org/{id}"),
        parent: None,
        kind: LinkKind::Anchor,
        depth: 2,
        status: 200,
        media_type: "text/html".into(),
        charset: "UTF-8".into(),
        language: "en".into(),
        title: title.into(),
        description: String::new(),
        text: text.into(),
        links: 0,
        fetched: Millis(1_000_000_000_123),
        elapsed_ms: 1,
        bytes: 512,
        truncated: None,
        assessment: Assessment {
            score: 0.5,
            parts: vec![
                Part { name: "genre".into(), value: 0.25 },
                Part { name: "content".into(), value: 0.75 },
            ],
            ..Assessment::default()
        },
        verdict: Verdict { relevant: true, relevance: 0.5, threshold: 0.25, version: 1 },
        digest: "da39a3ee5e6b4b0d3255bfef95601890afd80709".into(),
        simhash: 0xfeed_0000_0000_0001,
        duplicate_of: None,
        near_duplicate_of: None,
        archive: Some(ArchiveRef { file: "a.warc.gz".into(), offset: 7, length: 9 }),
        etag: None,
        last_modified: None,
        noindex: false,
        about: types::About::default(),
    }
}

fn three() -> Vec<Record> {
    let mut odd = record(2, "=1+1, \"quoted\"", "line one\nline two\u{2028}\0end");
    odd.assessment.parts.clear();
    odd.archive = None;
    odd.verdict.relevance = f64::NAN;
    vec![record(1, "Databases", "plain text"), odd, record(3, "数据库", " spaces ")]
}

fn rows(records: &[Record]) -> Vec<Row<'_>> {
    let row = |record| Row {
        record,
        parent: Some("http://example.org/"),
        duplicate_of: None,
        label: Some((true, "model")),
        near_duplicate_of: None,
        markdown: None,
        original: None,
    };
    records.iter().map(row).collect()
}

fn export(name: &str, options: &Options, rows: &[Row]) -> Vec<u8> {
    let sink = Sink::default();
    let mut exporter = (find(name).unwrap().open)(Box::new(sink.clone()), options).unwrap();
    for row in rows {
        exporter.write(row).unwrap();
    }
    exporter.finish().unwrap();
    let bytes = sink.0.lock().unwrap();
    bytes.clone()
}

#[test]
fn the_list() {
    for (i, format) in ALL.iter().enumerate() {
        assert!(ALL.iter().skip(i + 1).all(|f| f.name != format.name && f.extension != format.extension));
        assert!(!format.summary.is_empty());
    }
    let problem = find("xlsx").err().unwrap();
    assert_eq!(problem.exit_code(), 2);
    assert!(problem.to_string().contains("jsonl, csv, parquet, warc"));
}

#[test]
fn jsonl() {
    let records = three();
    let out = String::from_utf8(export("jsonl", &Options::default(), &rows(&records))).unwrap();
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines.len(), 3);
    assert_eq!(
        lines[0],
        r#"{"url":"http://example.org/1","title":"Databases","description":"","text":"plain text","language":"en","relevant":true,"relevance":0.5,"threshold":0.25,"score":0.5,"score_parts":{"content":0.75,"genre":0.25},"parent":"http://example.org/","depth":2,"fetched":"2001-09-09T01:46:40.123Z","status":200,"media_type":"text/html","bytes":512,"digest":"da39a3ee5e6b4b0d3255bfef95601890afd80709","simhash":"feed000000000001","duplicate_of":null,"near_duplicate_of":null,"archive_file":"a.warc.gz","archive_offset":7,"label":true,"label_by":"model","authors":null,"published":null,"modified":null,"kind":null,"publisher":null}"#
    );
    for (line, record) in lines.iter().zip(&records) {
        let value: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!(value["text"], record.text.as_str());
        assert_eq!(value.as_object().unwrap().len(), COLUMNS.len() - ON_REQUEST.len());
    }
    assert!(lines[1].contains(r#""relevance":null"#) && lines[1].contains(r#""score_parts":{}"#));
}

#[test]
fn csv() {
    let records = three();
    let raw = Options { raw: true, ..Options::default() };
    let out = String::from_utf8(export("csv", &raw, &rows(&records))).unwrap();
    let mut lines = out.split("\r\n");
    assert_eq!(
        lines.next(),
        Some(
            "url,title,description,text,language,relevant,relevance,threshold,score,score_parts,parent,depth,fetched,status,media_type,bytes,digest,simhash,duplicate_of,near_duplicate_of,archive_file,archive_offset,label,label_by,authors,published,modified,kind,publisher"
        )
    );
    assert_eq!(
        lines.next(),
        Some(
            "http://example.org/1,Databases,,plain \
             text,en,true,0.5,0.25,0.5,\"{\"\"content\"\":0.75,\"\"genre\"\":0.25}\",http://example.org/,2,2001-09-09T01:46:40.123Z,200,text/html,512,da39a3ee5e6b4b0d3255bfef95601890afd80709,feed000000000001,,,a.warc.gz,7,true,model,,,,,"
        )
    );
    let odd = lines.next().unwrap();
    assert!(
        odd.starts_with(
            "http://example.org/2,\"=1+1, \"\"quoted\"\"\",,\"line one\nline two\u{2028}end\",en,true,NaN,"
        ),
        "{odd}"
    );
    assert!(lines.next().unwrap().contains(",\" spaces \","));
    assert_eq!((lines.next(), lines.next()), (Some(""), None));

    let safe = String::from_utf8(export("csv", &Options::default(), &rows(&records))).unwrap();
    assert!(safe.contains(",\"'=1+1, \"\"quoted\"\"\","), "safe unless told otherwise");
}

#[test]
fn parquet_reads_back() {
    use ::parquet::file::reader::{FileReader, SerializedFileReader};
    use ::parquet::record::Field;
    let records = three();
    let file = tempfile::NamedTempFile::new().unwrap();
    let out = Box::new(file.reopen().unwrap());
    // Two rows per group, so that the third is in another.
    let mut exporter: Box<dyn Exporter> =
        Box::new(super::parquet::Parquet::new(out, COLUMNS.iter().collect(), 2, usize::MAX).unwrap());
    for row in rows(&records) {
        exporter.write(&row).unwrap();
    }
    exporter.finish().unwrap();
    let reader = SerializedFileReader::new(file.reopen().unwrap()).unwrap();
    assert_eq!(reader.metadata().num_row_groups(), 2);
    let read: Vec<_> = reader.get_row_iter(None).unwrap().map(Result::unwrap).collect();
    assert_eq!(read.len(), 3);
    for (row, record) in read.iter().zip(&records) {
        let fields: Vec<(&String, &Field)> = row.get_column_iter().collect();
        let names: Vec<&str> = fields.iter().map(|(n, _)| n.as_str()).collect();
        assert_eq!(names, COLUMNS.iter().map(|c| c.name).collect::<Vec<_>>());
        let get = |name: &str| fields.iter().find(|(n, _)| *n == name).unwrap().1;
        assert_eq!(get("text"), &Field::Str(record.text.clone()));
        assert_eq!(get("fetched"), &Field::TimestampMillis(1_000_000_000_123));
        assert_eq!(get("relevant"), &Field::Bool(true));
        assert_eq!(get("duplicate_of"), &Field::Null);
        match (get("score_parts"), get("archive_offset")) {
            (Field::MapInternal(map), offset) => {
                assert_eq!(map.len(), record.assessment.parts.len());
                assert_eq!(offset == &Field::Null, record.archive.is_none());
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn an_empty_export_is_valid() {
    let archive = tempfile::tempdir().unwrap();
    let options = Options { archive: Some(archive.path().into()), ..Options::default() };
    for format in ALL {
        let bytes = export(format.name, &options, &[]);
        // Lines and documents have neither beginning nor end.
        let bare = ["jsonl", "markdown", "chunks", "bulk", "cdxj"];
        assert_eq!(bytes.is_empty(), bare.contains(&format.name), "{}", format.name);
    }
}

#[test]
fn a_warc_subset_brings_originals_along() {
    let dir = tempfile::tempdir().unwrap();
    let mut archive = Archive::open(dir.path(), ArchiveSettings::default(), None).unwrap();
    let mut records = three();
    for (i, record) in records.iter_mut().enumerate() {
        let url = Canon::exact().parse(&record.url).unwrap();
        let mut f = Fetched::empty(url, Millis(1_000 + i as u64));
        f.status = 200;
        // Pages 1 and 3 are the same; 2 has no request.
        f.payload = Payload::plain(if i == 1 { "two" } else { "one" }.as_bytes());
        f.request_head = if i == 1 { String::new() } else { "GET / HTTP/1.1\r\n\r\n".into() };
        let original = Original { url: "http://example.org/1", fetched: Millis(1_000) };
        let note = PageNote { duplicate_of: (i == 2).then_some(original), ..PageNote::default() };
        record.archive = Some(archive.write(&f, &note).unwrap().unwrap().at);
    }
    archive.flush().unwrap();
    let source = std::fs::read(dir.path().join(archive.position().unwrap().file)).unwrap();
    let options = Options { archive: Some(dir.path().into()), ..Options::default() };

    let original = records[0].archive.clone();
    let mut chosen = rows(&records);
    chosen[2].original = original.as_ref();
    let out = export("warc", &options, &[chosen[2], chosen[2], chosen[1]]);
    let kinds: Vec<String> = WarcReader::new(out.as_slice(), "subset", Limits::default())
        .unwrap()
        .map(|r| r.unwrap().kind())
        .collect();
    assert_eq!(
        kinds,
        [
            "warcinfo", "response", "request", "metadata", "revisit", "request", "metadata", "response",
            "metadata"
        ]
    );
    let at = records[1].archive.clone().unwrap();
    let (from, to) = (at.offset as usize, records[2].archive.clone().unwrap().offset as usize);
    assert!(out.ends_with(&source[from..to]), "byte for byte");

    // Damage is a message, not a broken export.
    let mut wrong = records[1].clone();
    wrong.archive = Some(ArchiveRef { offset: at.offset + 1, ..at.clone() });
    let mut exporter = (find("warc").unwrap().open)(Box::<Sink>::default(), &options).unwrap();
    exporter.write(&rows(&[wrong.clone()])[0]).unwrap();
    wrong.archive = Some(ArchiveRef { file: "../x".into(), ..at });
    exporter.write(&rows(&[wrong])[0]).unwrap();
    let said = exporter.missing().unwrap().to_string();
    exporter.finish().unwrap();
    assert!(said.contains("2 pages are not in the export") && said.contains("damaged"), "{said}");
    // Without the folder only what is in a bucket can be had.
    let mut elsewhere = (find("warc").unwrap().open)(Box::<Sink>::default(), &Options::default()).unwrap();
    let said = elsewhere.write(&rows(&records)[0]).unwrap_err().to_string();
    assert!(said.contains("--warc"), "{said}");
}

#[test]
fn a_closed_pipe_is_a_problem() {
    struct Closed;
    impl Write for Closed {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::BrokenPipe.into())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Err(std::io::ErrorKind::BrokenPipe.into())
        }
    }
    let records = three();
    for name in ["jsonl", "csv", "parquet"] {
        let opened = (find(name).unwrap().open)(Box::new(Closed), &Options::default());
        let result = opened.and_then(|mut e| e.write(&rows(&records)[0]).and_then(|()| e.finish()));
        assert!(result.unwrap_err().to_string().contains("cannot write the export"), "{name}");
    }
}
