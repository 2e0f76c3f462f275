//! The archive as a whole: written, cut, read back.

use super::*;
use proptest::prelude::*;
use std::fs;
use std::io::{BufReader, Cursor, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use types::{Assessment, Canon, Fetched, LinkKind, Millis, Part, Payload, Truncation, Verdict};

fn fetched(url: &str, at: u64, body: &str) -> Fetched {
    let url = Canon::exact().parse(url).unwrap();
    Fetched {
        status: 200,
        headers: vec![
            ("content-type".into(), "text/html; charset=utf-8".into()),
            ("transfer-encoding".into(), "chunked".into()),
            ("x-odd".into(), "a\r\nWARC/1.1".into()),
        ],
        payload: Payload::plain(body.as_bytes()),
        ip: Some("192.0.2.7".parse().unwrap()),
        elapsed: Duration::from_millis(42),
        request_head: format!("GET {} HTTP/1.1\r\nhost: {}\r\n\r\n", url.path(), url.host()),
        protocol: "HTTP/2",
        ..Fetched::empty(url, Millis(at))
    }
}

fn note(assessment: &Assessment) -> PageNote<'_> {
    PageNote {
        parent: Some("http://example.org/"),
        depth: 3,
        kind: LinkKind::Anchor,
        assessment: Some(assessment),
        verdict: Some(Verdict { relevant: true, relevance: 0.75, threshold: 0.5, version: 2 }),
        ..PageNote::default()
    }
}

fn assessment() -> Assessment {
    Assessment {
        score: 0.75,
        parts: vec![Part { name: "genre".into(), value: 0.5 }],
        ..Assessment::default()
    }
}

fn records(path: &Path) -> (Vec<WarcRecord>, Vec<WarcError>) {
    let mut good = Vec::new();
    let mut bad = Vec::new();
    for r in WarcReader::open(path, Limits::default()).unwrap() {
        match r {
            Ok(r) => good.push(r),
            Err(e) => bad.push(e),
        }
    }
    (good, bad)
}

fn text(record: &WarcRecord) -> String {
    String::from_utf8_lossy(&record.block).into_owned()
}

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(dir).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn round_trip() {
    let dir = tempfile::tempdir().unwrap();
    let mut archive = Archive::open(dir.path(), ArchiveSettings::default(), None).unwrap();
    assert_eq!(archive.position(), None);
    let a = assessment();
    let first =
        archive.write(&fetched("http://example.org/a", 1_000, "<p>hello</p>"), &note(&a)).unwrap().unwrap();
    let original = Original { url: "http://example.org/a", fetched: Millis(1_000) };
    let again = PageNote { duplicate_of: Some(original), ..note(&a) };
    let second =
        archive.write(&fetched("http://example.org/b", 2_000, "<p>hello</p>"), &again).unwrap().unwrap();
    assert!(second.revisit && !first.revisit);
    assert_eq!(first.digest, payload_digest(b"<p>hello</p>"));
    archive.sync().unwrap();
    let position = archive.position().unwrap();
    let path = dir.path().join(&position.file);
    assert_eq!(position.file, "gleaner-19700101000001000-00000-0.warc.gz");
    assert_eq!(fs::metadata(&path).unwrap().len(), position.length);

    let (good, bad) = records(&path);
    assert!(bad.is_empty(), "{bad:?}");
    let kinds: Vec<String> = good.iter().map(|r| r.kind()).collect();
    assert_eq!(kinds, ["warcinfo", "response", "request", "metadata", "revisit", "request", "metadata"]);
    assert!(good.iter().all(|r| r.addressable && r.version == "1.1"));
    assert!(good.windows(2).all(|w| w[0].offset + w[0].length == w[1].offset), "records are adjacent");
    let ids: std::collections::HashSet<_> =
        good.iter().map(|r| r.header("WARC-Record-ID").unwrap()).collect();
    assert_eq!(ids.len(), good.len(), "record ids are unique");
    for r in &good {
        let digest = format!("sha1:{}", Digest::of(&[&r.block]).base32());
        assert_eq!(r.header("WARC-Block-Digest"), Some(digest.as_str()));
    }

    let response = &good[1];
    assert_eq!((response.offset, response.length), (first.at.offset, first.at.length));
    assert_eq!(response.target(), Some("http://example.org/a"));
    assert_eq!(response.header("warc-ip-address"), Some("192.0.2.7"));
    assert_eq!(response.header("WARC-Date"), Some("1970-01-01T00:00:01.000Z"));
    assert_eq!(
        text(response),
        "HTTP/1.1 200 OK\r\ncontent-type: text/html; charset=utf-8\r\nx-odd: a  WARC/1.1\r\n\
         content-length: 12\r\n\r\n<p>hello</p>"
    );
    let message = http_message(&response.block, &HttpLimits::default()).unwrap();
    assert_eq!((message.status, &*message.body), (200, &b"<p>hello</p>"[..]));
    let payload = format!("sha1:{}", payload_digest(&message.wire).base32());
    assert_eq!(response.header("WARC-Payload-Digest"), Some(payload.as_str()));

    assert_eq!(good[2].header("WARC-Concurrent-To"), response.header("WARC-Record-ID"));
    assert_eq!(text(&good[2]), "GET /a HTTP/1.1\r\nhost: example.org\r\n\r\n");
    assert_eq!(
        text(&good[3]),
        "via: http://example.org/\r\nfetchTimeMs: 42\r\ndepth: 3\r\nfoundAs: anchor\r\nrelevant: true\r\n\
         relevance: 0.75\r\n\
         threshold: 0.5\r\nverdictVersion: 2\r\nscore: 0.75\r\nscorePart: genre=0.5\r\n"
    );
    let revisit = &good[4];
    assert_eq!(revisit.header("WARC-Refers-To-Target-URI"), Some("http://example.org/a"));
    assert_eq!(revisit.header("WARC-Refers-To-Date"), response.header("WARC-Date"));
    assert_eq!(revisit.header("WARC-Payload-Digest"), Some(payload.as_str()));
    assert!(text(revisit).ends_with("content-length: 12\r\n\r\n"));

    let read = read_at(&path, second.at.offset, Limits::default()).unwrap();
    assert_eq!(&read, revisit);
    assert!(read_at(&path, position.length, Limits::default()).unwrap_err().to_string().contains("hint:"));
    assert!(read_at(&path, first.at.offset + 1, Limits::default()).is_err());
}

#[test]
fn heads_are_made_true() {
    let mut composer = Composer::new(ComposerSettings::default());
    let head = |f: &Fetched, composer: &mut Composer| {
        let composed = composer.exchange(f, &PageNote::default()).unwrap().unwrap();
        let mut reader = WarcReader::new(Cursor::new(composed.bytes), "x", Limits::default()).unwrap();
        reader.next().unwrap().unwrap()
    };
    let mut f = fetched("http://e.org/", 1, "0123456789");
    f.headers = vec![("content-length".into(), "99".into()), ("content-length".into(), "98".into())];
    f.truncated = Some(Truncation::Length);
    let r = head(&f, &mut composer);
    assert_eq!(text(&r), "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n0123456789");
    assert_eq!(r.header("WARC-Truncated"), Some("length"));
    assert_eq!(r.header("WARC-Protocol"), Some("h2"));

    f.status = 304;
    f.payload = Payload::None;
    assert_eq!(text(&head(&f, &mut composer)), "HTTP/1.1 304 Not Modified\r\n\r\n");
    f.status = 301;
    assert_eq!(text(&head(&f, &mut composer)), "HTTP/1.1 301 Moved Permanently\r\ncontent-length: 0\r\n\r\n");

    // A body that is compressed already is kept as it was sent, and not deflated again.
    let wire: Arc<[u8]> = zstd::bulk::compress("words and ".repeat(500).as_bytes(), 3).unwrap().into();
    f.status = 200;
    f.headers = vec![("content-encoding".into(), "zstd".into())];
    f.payload = Payload::Bytes { wire: wire.clone(), decoded: "words and ".repeat(500).into_bytes().into() };
    let r = head(&f, &mut composer);
    let m = http_message(&r.block, &HttpLimits::default()).unwrap();
    assert_eq!(&*m.wire, &*wire);
    assert_eq!(m.body.len(), 5_000);

    f.status = 0;
    assert!(composer.exchange(&f, &PageNote::default()).unwrap().is_none(), "no answer, nothing to archive");
}

#[test]
fn rotation() {
    let dir = tempfile::tempdir().unwrap();
    let settings = ArchiveSettings { max_size: 2_000, worker: "w-1".into(), ..ArchiveSettings::default() };
    let mut archive = Archive::open(dir.path(), settings.clone(), None).unwrap();
    let a = assessment();
    let mut at = Vec::new();
    for i in 0..10 {
        let page = fetched(&format!("http://e.org/{i}"), 1_000 + i, &format!("page {i}"));
        at.push(archive.write(&page, &note(&a)).unwrap().unwrap().at);
    }
    archive.flush().unwrap();
    let files = names(dir.path());
    assert!(files.len() > 2, "{files:?}");
    assert_eq!(files[1].split('-').nth(2), Some("00001"));
    for file in &files {
        let (good, bad) = records(&dir.path().join(file));
        assert!(bad.is_empty());
        assert_eq!(good[0].kind(), "warcinfo");
        assert_eq!(good[0].header("WARC-Filename"), Some(file.as_str()));
        assert_eq!((good.len() - 1) % 3, 0, "a page's records stay together");
    }
    for (i, at) in at.iter().enumerate() {
        let r = read_at(&dir.path().join(&at.file), at.offset, Limits::default()).unwrap();
        assert_eq!(r.target().unwrap(), format!("http://e.org/{i}"));
    }
    // Another worker in the same folder: its files are its own.
    let other = ArchiveSettings { worker: "w-2".into(), ..settings };
    let mut second = Archive::open(dir.path(), other, None).unwrap();
    second.write(&fetched("http://e.org/x", 5, "x"), &note(&a)).unwrap();
    second.flush().unwrap();
    assert_eq!(names(dir.path()).len(), files.len() + 1);
}

/// A killed process may leave any prefix of what it was writing behind the committed position.
#[test]
fn what_was_not_committed_is_cut_at_every_byte() {
    let a = assessment();
    let dir = tempfile::tempdir().unwrap();
    let mut archive = Archive::open(dir.path(), ArchiveSettings::default(), None).unwrap();
    archive.write(&fetched("http://e.org/1", 1_000, "one"), &note(&a)).unwrap();
    archive.flush().unwrap();
    let committed = archive.position().unwrap();
    let path = dir.path().join(&committed.file);
    let before = fs::read(&path).unwrap();
    archive.write(&fetched("http://e.org/2", 2_000, "two"), &note(&a)).unwrap();
    archive.flush().unwrap();
    drop(archive);
    let after = fs::read(&path).unwrap();
    assert!(after.len() > before.len() && after.starts_with(&before));

    for cut in before.len()..=after.len() {
        fs::write(&path, &after[..cut]).unwrap();
        // And a later file that was begun.
        let later = dir.path().join("gleaner-20200101000000000-00001-0.warc.gz");
        fs::write(&later, &after[..cut / 2]).unwrap();
        let mut archive =
            Archive::open(dir.path(), ArchiveSettings::default(), Some(committed.clone())).unwrap();
        assert!(!later.exists());
        assert_eq!(fs::read(&path).unwrap(), before, "cut at {cut}");
        assert_eq!(archive.position(), Some(committed.clone()));
        archive.write(&fetched("http://e.org/2", 2_000, "two"), &note(&a)).unwrap();
        archive.flush().unwrap();
        assert_eq!(fs::read(&path).unwrap(), after, "the same page again gives the same bytes");
    }
}

#[test]
fn reopening_problems() {
    let a = assessment();
    let dir = tempfile::tempdir().unwrap();
    let open = |committed| Archive::open(dir.path(), ArchiveSettings::default(), committed);
    let mut archive = open(None).unwrap();
    archive.write(&fetched("http://e.org/1", 1_000, "one"), &note(&a)).unwrap();
    archive.flush().unwrap();
    let position = archive.position().unwrap();
    let mut longer = position.clone();
    longer.length += 1;
    assert!(open(Some(longer)).err().unwrap().to_string().contains("shorter than the ledger says"));
    let elsewhere = Position { file: "../../etc/passwd".into(), length: 0 };
    assert!(open(Some(elsewhere)).err().unwrap().to_string().contains("same archive prefix"));
    let gone = Position { file: "gleaner-19700101000001000-00009-0.warc.gz".into(), length: 1 };
    assert!(open(Some(gone)).is_err());
    let bad = ArchiveSettings { prefix: "a/b".into(), ..ArchiveSettings::default() };
    assert_eq!(Archive::open(dir.path(), bad, None).err().unwrap().exit_code(), 2);
    assert_eq!(
        fs::metadata(dir.path().join(&position.file)).unwrap().len(),
        position.length,
        "nothing was touched"
    );

    // A ledger that knows of no archive: the file is set aside, never deleted.
    let before = fs::read(dir.path().join(&position.file)).unwrap();
    let mut fresh = open(None).unwrap();
    assert_eq!(fresh.set_aside().map(|a| (a.pages, a.bytes)), Some((1, position.length)));
    assert_eq!(fs::read(dir.path().join("damaged").join(&position.file)).unwrap(), before);
    assert!(!dir.path().join(&position.file).exists());
    fresh.write(&fetched("http://e.org/1", 1_000, "one"), &note(&a)).unwrap();
    fresh.flush().unwrap();
    // The same name once more: neither takes the other's place.
    fs::write(dir.path().join(&position.file), &before).unwrap();
    let again = open(None).unwrap();
    assert_eq!(again.set_aside().map(|a| a.pages), Some(2));
    assert_eq!(names(&dir.path().join("damaged")).len(), 4, "all three, and a note");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_loses_nothing() {
    // /dev/full accepts seeks and refuses writes, like a full disk.
    let full = || fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let a = assessment();
    let page = |i: u64| fetched(&format!("http://e.org/{i}"), 1_000 + i, "text");
    let dir = tempfile::tempdir().unwrap();
    let settings = ArchiveSettings { buffer: 2_000, ..ArchiveSettings::default() };
    let mut archive = Archive::open(dir.path(), settings, None).unwrap();
    archive.write(&page(0), &note(&a)).unwrap();
    archive.flush().unwrap();
    let real = std::mem::replace(&mut archive.current.as_mut().unwrap().file, full());

    let mut kept = 1;
    let problem = loop {
        match archive.write(&page(kept), &note(&a)) {
            Ok(_) => kept += 1,
            Err(problem) => break problem.to_string(),
        }
    };
    assert!(problem.contains("free some space"), "{problem}");
    assert!(archive.flush().is_err() && archive.sync().is_err());
    assert!(archive.write(&page(kept), &note(&a)).is_err(), "memory stays bounded");

    // There is space again: what was accepted is written, what was refused is accepted now.
    archive.current.as_mut().unwrap().file = real;
    archive.write(&page(kept), &note(&a)).unwrap();
    archive.sync().unwrap();
    let (good, bad) = records(&dir.path().join(archive.position().unwrap().file));
    assert!(bad.is_empty(), "{bad:?}");
    let pages: Vec<_> =
        good.iter().filter(|r| r.kind() == "response").map(|r| r.target().unwrap().to_string()).collect();
    assert!(kept > 1);
    assert_eq!(pages, (0..=kept).map(|i| format!("http://e.org/{i}")).collect::<Vec<_>>());
}

// ── reading the files of others ──

const PLAIN: &str = "WARC/1.0\r\nWARC-Type: warcinfo\r\nContent-Length: 4\r\n\r\nabcd\r\n\r\n\
    WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: <http://e.org/>\r\nContent-Length: 5\r\n\
    X-Folded: one\r\n two\r\n\r\nhello\r\n\r\n";

fn read(bytes: &[u8]) -> (Vec<WarcRecord>, Vec<WarcError>) {
    // A tiny buffer, so that every boundary falls between two reads somewhere.
    let reader =
        WarcReader::new(BufReader::with_capacity(3, Cursor::new(bytes)), "test", Limits::default()).unwrap();
    let mut good = Vec::new();
    let mut bad = Vec::new();
    for r in reader.take(10_000) {
        match r {
            Ok(r) => good.push(r),
            Err(e) => bad.push(e),
        }
    }
    (good, bad)
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut e = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    e.write_all(bytes).unwrap();
    e.finish().unwrap()
}

fn check_two(bytes: &[u8], addressable: bool) -> Vec<WarcRecord> {
    let (good, bad) = read(bytes);
    assert!(bad.is_empty(), "{bad:?}");
    assert_eq!(good.iter().map(text).collect::<Vec<_>>(), ["abcd", "hello"]);
    assert_eq!(good[1].target(), Some("http://e.org/"));
    assert_eq!(good[1].header("x-folded"), Some("one two"));
    assert!(good.iter().all(|r| r.addressable == addressable));
    good
}

#[test]
fn plain_line_ends_and_versions() {
    let good = check_two(PLAIN.as_bytes(), true);
    assert_eq!(good[1].offset + good[1].length, PLAIN.len() as u64);
    check_two(PLAIN.replace("\r\n", "\n").as_bytes(), true);
    check_two(PLAIN.replace("WARC/1.0", "WARC/0.17").as_bytes(), true);
    check_two(PLAIN.replace("\r\n\r\nWARC", "\r\n\r\n\r\n\nWARC").as_bytes(), true);
    check_two(PLAIN.trim_end().as_bytes(), true);
}

#[test]
fn gzip_members() {
    let split = PLAIN.find("WARC/1.0\r\nWARC-Type: response").unwrap();
    let (a, b) = PLAIN.as_bytes().split_at(split);
    let per_record = [gzip(a), gzip(b)].concat();
    let good = check_two(&per_record, true);
    assert_eq!(good[1].offset, gzip(a).len() as u64);
    assert_eq!(good[1].offset + good[1].length, per_record.len() as u64);
    let one_member = gzip(PLAIN.as_bytes());
    let (good, bad) = read(&one_member);
    assert!(bad.is_empty());
    assert_eq!(good.len(), 2);
    assert!(good.iter().all(|r| !r.addressable));
    // Members that end anywhere, as block-compressing tools make them, and empty ones between.
    for cut in 1..PLAIN.len() {
        let (a, b) = PLAIN.as_bytes().split_at(cut);
        let (good, bad) = read(&[gzip(a), gzip(b""), gzip(b)].concat());
        assert!(bad.is_empty(), "cut at {cut}: {bad:?}");
        assert_eq!(good.iter().map(text).collect::<Vec<_>>(), ["abcd", "hello"]);
    }
}

#[test]
fn zstd_frames_and_dictionary() {
    let split = PLAIN.find("WARC/1.0\r\nWARC-Type: response").unwrap();
    let (a, b) = PLAIN.as_bytes().split_at(split);
    let frames = [zstd::bulk::compress(a, 3).unwrap(), zstd::bulk::compress(b, 3).unwrap()].concat();
    check_two(&frames, true);

    let dictionary = b"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: <http://e.org/>".to_vec();
    let mut with = zstd::bulk::Compressor::with_dictionary(3, &dictionary).unwrap();
    for packed in [dictionary.clone(), zstd::bulk::compress(&dictionary, 3).unwrap()] {
        let mut file = vec![0x5D, 0x2A, 0x4D, 0x18];
        file.extend((packed.len() as u32).to_le_bytes());
        file.extend(&packed);
        file.extend(with.compress(a).unwrap());
        file.extend([0x50, 0x2A, 0x4D, 0x18, 2, 0, 0, 0, 9, 9]); // a frame to skip
        file.extend(with.compress(b).unwrap());
        let good = check_two(&file, true);
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.warc.zst");
        fs::write(&path, &file).unwrap();
        assert_eq!(read_at(&path, good[1].offset, Limits::default()).unwrap(), good[1]);
    }
}

#[test]
fn truncated_files_yield_what_is_whole() {
    let split = PLAIN.find("WARC/1.0\r\nWARC-Type: response").unwrap();
    let (a, b) = PLAIN.as_bytes().split_at(split);
    let gz = [gzip(a), gzip(b)].concat();
    for (file, second) in [(PLAIN.as_bytes().to_vec(), split), (gz, gzip(a).len())] {
        for cut in second + 1..file.len() {
            let (good, bad) = read(&file[..cut]);
            assert_eq!(text(&good[0]), "abcd", "cut at {cut}");
            if good.len() == 1 {
                assert_eq!(bad.len(), 1, "cut at {cut}");
                assert!(bad[0].fatal);
                assert_eq!(bad[0].offset, second as u64);
                assert!(bad[0].to_string().starts_with(&format!("test at byte {second}: ")), "{}", bad[0]);
            } else {
                // Only the line ends after the block of a plain record can be missing.
                assert!(cut >= PLAIN.len() - 4 && bad.is_empty(), "cut at {cut}");
            }
        }
    }
}

#[test]
fn bad_records_are_passed_over() {
    let wrong_length = PLAIN.replace("Content-Length: 4", "Content-Length: 2");
    let no_length = PLAIN.replace("Content-Length: 4\r\n", "");
    let bad_number = PLAIN.replace("Content-Length: 4", "Content-Length: -4");
    let junk = format!("junk\r\n{PLAIN}");
    for (file, records) in [(wrong_length, 2), (no_length, 1), (bad_number, 1), (junk, 2)] {
        let (good, bad) = read(file.as_bytes());
        assert_eq!(good.len(), records, "{file}");
        assert_eq!(text(good.last().unwrap()), "hello");
        assert_eq!(bad.len(), 1);
        assert!(!bad[0].fatal);
    }
    let mut damaged =
        [gzip(b"WARC/1.0\r\nContent-Length: 1\r\n\r\nx\r\n\r\n"), gzip(PLAIN.as_bytes())].concat();
    damaged[20] ^= 0xff;
    let (_, bad) = read(&damaged);
    assert_eq!(bad.len(), 1, "a damaged member is reported");
    assert!(read(b"").0.is_empty() && read(b"").1.is_empty());
}

#[test]
fn huge_records_are_bounded() {
    let mut file = b"WARC/1.0\r\nContent-Length: 1000\r\n\r\n".to_vec();
    file.extend([b'x'; 1000]);
    file.extend(b"\r\n\r\n");
    file.extend(PLAIN.as_bytes());
    let limits = Limits { block: 10, head: 200 };
    let good: Vec<_> =
        WarcReader::new(Cursor::new(&file), "t", limits).unwrap().map(Result::unwrap).collect();
    assert_eq!(good.len(), 3);
    assert!(good[0].cut && good[0].block.len() == 10 && !good[1].cut);
    let lie = b"WARC/1.0\r\nContent-Length: 18446744073709551615\r\n\r\nshort";
    assert_eq!(read(lie).1.len(), 1);
    let head = format!("WARC/1.0\r\nX: {}\r\n{PLAIN}", "y".repeat(300));
    let all: Vec<_> = WarcReader::new(Cursor::new(head.as_bytes()), "t", limits).unwrap().collect();
    assert!(all[0].as_ref().is_err_and(|e| e.what.contains("too long")));
    assert!(all.len() >= 3, "and reading goes on");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Any bytes, and any damage to good files, end in time without a panic.
    #[test]
    fn hostile_files(damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8), form in 0..4, noise in prop::collection::vec(any::<u8>(), 0..200)) {
        let mut file = match form {
            0 => PLAIN.as_bytes().to_vec(),
            1 => gzip(PLAIN.as_bytes()),
            2 => [zstd::bulk::compress(PLAIN.as_bytes(), 1).unwrap(), gzip(b"x")].concat(),
            _ => noise,
        };
        for (at, byte) in damage {
            if !file.is_empty() {
                let at = at.index(file.len());
                file[at] = byte;
            }
        }
        let (good, bad) = read(&file);
        prop_assert!(good.len() + bad.len() < 100);
    }

    #[test]
    fn any_page_comes_back(body in prop::collection::vec(any::<u8>(), 0..5_000), name in "[ -~]{1,10}", value in "\\PC{0,30}") {
        let mut f = fetched("http://e.org/", 7, "");
        f.headers.push((name.to_lowercase(), value));
        f.payload = Payload::plain(body.clone());
        let composed = Composer::new(ComposerSettings::default()).exchange(&f, &PageNote::default()).unwrap().unwrap();
        let (good, bad) = read(&composed.bytes);
        prop_assert!(bad.is_empty());
        prop_assert_eq!(good.len(), 3);
        let m = http_message(&good[0].block, &HttpLimits::default()).unwrap();
        prop_assert_eq!(&*m.wire, &body[..]);
    }
}
