//! Documents that mean harm: they cost their limits and nothing else. Every page is served over loopback to
//! the real program, which reads documents in processes of its own.

use crate::common;
use crate::common::collection::Snapshot;
use crate::common::{Ran, Running, file, finish, folder, gleaner};
use flate2::Compression;
use flate2::write::ZlibEncoder;
use frontier::State;
use madeup::{Ask, Log, Reply, Server};
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};
use types::Outcome;

// ---- files ------------------------------------------------------------------------------------------------

/// A file with these objects, numbered from 1, and a correct cross-reference table. The first is the
/// catalogue.
fn pdf(objects: &[Vec<u8>]) -> Vec<u8> {
    let mut out = b"%PDF-1.5\n".to_vec();
    let mut offsets = Vec::new();
    for (i, object) in objects.iter().enumerate() {
        offsets.push(out.len());
        out.extend(format!("{} 0 obj\n", i + 1).bytes());
        out.extend(object);
        out.extend(b"\nendobj\n");
    }
    let xref = out.len();
    let size = objects.len() + 1;
    out.extend(format!("xref\n0 {size}\n0000000000 65535 f \n").bytes());
    for offset in offsets {
        out.extend(format!("{offset:010} 00000 n \n").bytes());
    }
    out.extend(format!("trailer\n<< /Size {size} /Root 1 0 R >>\nstartxref\n{xref}\n%%EOF").bytes());
    out
}

fn stream(entries: &str, plain: &[u8]) -> Vec<u8> {
    let mut zip = ZlibEncoder::new(Vec::new(), Compression::best());
    zip.write_all(plain).unwrap();
    let bytes = zip.finish().unwrap();
    let mut out =
        format!("<< {entries} /Filter /FlateDecode /Length {} >>\nstream\n", bytes.len()).into_bytes();
    out.extend(bytes);
    out.extend(b"\nendstream");
    out
}

const CATALOGUE: &[u8] = b"<< /Type /Catalog /Pages 2 0 R >>";
const ONE_PAGE: &[u8] = b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>";
const PAGE: &[u8] = b"<< /Type /Page /Parent 2 0 R /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>";
const FONT: &[u8] = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>";

fn good() -> Vec<u8> {
    let text = stream("", b"BT /F1 12 Tf 72 720 Td (sql in a good document) Tj ET");
    pdf(&[CATALOGUE.to_vec(), ONE_PAGE.to_vec(), PAGE.to_vec(), text, FONT.to_vec()])
}

/// An object stream that names one array of a million numbers two hundred times. Each name is a copy of 100
/// MB.
fn memory_bomb() -> Vec<u8> {
    let mut names = String::new();
    for n in 0..200 {
        names += &format!("{} 0 ", 10 + n);
    }
    let plain = format!("{names}[{}]", "0 ".repeat(1_000_000));
    let objects = stream(&format!("/Type /ObjStm /N 200 /First {}", names.len()), plain.as_bytes());
    let text = stream("", b"BT /F1 12 Tf (sql) Tj ET");
    let bomb = pdf(&[CATALOGUE.to_vec(), ONE_PAGE.to_vec(), PAGE.to_vec(), text, FONT.to_vec(), objects]);
    assert!(bomb.len() < 8_000, "{} bytes", bomb.len());
    bomb
}

/// Two thousand fonts on each of five hundred pages. The map of each is decoded again for each page.
fn time_bomb() -> Vec<u8> {
    let mut map = "/CIDInit /ProcSet findresource begin 12 dict begin begincmap\n\
                   1 begincodespacerange <0000> <FFFF> endcodespacerange\n"
        .to_string();
    for block in 0..50u32 {
        map += "100 beginbfchar\n";
        for n in 0..100u32 {
            let code = block * 100 + n;
            map += &format!("<{code:04X}> <{:04X}>\n", 0x4e00 + code);
        }
        map += "endbfchar\n";
    }
    map += "endcmap end end";
    let fonts: String = (0..2_000).map(|n| format!("/F{n} 5 0 R ")).collect();
    let mut objects = vec![
        CATALOGUE.to_vec(),
        Vec::new(),
        format!("<< /Font << {fonts} >> >>").into_bytes(),
        stream("", b"BT /F1 12 Tf <0001> Tj ET"),
        b"<< /Type /Font /Subtype /Type0 /BaseFont /X /Encoding /Identity-H /ToUnicode 6 0 R >>".to_vec(),
        stream("", map.as_bytes()),
    ];
    let kids: String = (0..500).map(|n| format!("{} 0 R ", 7 + n)).collect();
    objects[1] = format!("<< /Type /Pages /Kids [{kids}] /Count 500 >>").into_bytes();
    for _ in 0..500 {
        objects.push(b"<< /Type /Page /Parent 2 0 R /Contents 4 0 R /Resources 3 0 R >>".to_vec());
    }
    let bomb = pdf(&objects);
    assert!(bomb.len() < 150_000, "{} bytes", bomb.len());
    bomb
}

// ---- a web, a crawl, its children -------------------------------------------------------------------------

const HOME: &str = "http://docs.test/";

/// A page that links to these documents, and to ten ordinary pages of another host, which need not wait for
/// them.
fn serve(documents: &[(&'static str, Vec<u8>)]) -> Server {
    let documents = documents.to_vec();
    let answer = move |ask: &Ask| {
        let name = ask.path.trim_start_matches('/');
        if let Some((_, body)) = documents.iter().find(|d| d.0 == name) {
            return Reply::new(200, "application/pdf", body.clone());
        }
        let pages = (0..10).map(|n| format!("http://pages.test/page{n}"));
        match name {
            "" => {
                let names = documents.iter().map(|d| d.0.to_string()).chain(pages);
                let links: String = names.map(|n| format!("<p><a href='{n}'>sql {n}</a></p>")).collect();
                Reply::html(format!("<title>Home</title>{links}"))
            }
            _ if name.starts_with("page") => {
                Reply::html(format!("<title>{name}</title><p>sql of {name}</p>"))
            }
            _ => Reply::not_found(),
        }
    };
    Server::start(answer, "127.0.0.1:0".parse().unwrap(), Log::in_memory()).unwrap_or_else(|p| panic!("{p}"))
}

/// Ordinary pages of `serve`, the first one included.
const PAGES: usize = 11;

struct Scene {
    dir: tempfile::TempDir,
    server: Server,
}

impl Scene {
    fn new(documents: &[(&'static str, Vec<u8>)], time: &str) -> Scene {
        let dir = folder();
        let topic = format!(
            "name = 'docs'\nquery = 'sql'\n[strategy]\nkind = 'breadth-first'\n[limits]\n\
             document_time = '{time}'\n\
             [fetch]\ndelay = '20ms'\n"
        );
        file(dir.path(), "t.toml", &topic);
        Scene { dir, server: serve(documents) }
    }

    fn crawl(&self) -> Command {
        let mut command = common::crawl(&self.server, &self.dir.path().join("t.toml"), &self.out());
        command.args(["--seed", HOME, "-v"]);
        command
    }

    fn out(&self) -> std::path::PathBuf {
        self.dir.path().join("out")
    }

    /// How a document ended, and how many pages there are.
    fn ended(&self, name: &str) -> (Option<State>, usize) {
        let snapshot = Snapshot::take(&self.out());
        let state = snapshot.urls.get(&format!("{HOME}{name}")).map(|u| u.1);
        (state, snapshot.pages.len())
    }

    fn explain(&self, name: &str) -> Ran {
        finish(gleaner().arg("explain").arg(self.out()).arg(format!("{HOME}{name}")))
    }

    /// How often a URL was asked for, and what was asked for last.
    fn asked(&self, name: &str) -> (usize, String) {
        let log = self.server.log().entries();
        let path = format!("/{name}");
        (log.iter().filter(|e| e.path == path).count(), log.last().map_or(String::new(), |e| e.path.clone()))
    }
}

/// The processes that read documents for this one.
fn readers(of: u32) -> Vec<u32> {
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = all.filter_map(|e| e.file_name().to_str()?.parse::<u32>().ok());
    let reads = |pid: &u32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        // After the name, which may hold anything: state, parent.
        let parent = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(1)?.parse().ok());
        let said = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        parent == Some(of) && said.windows(13).any(|w| w == b"read-document")
    };
    pids.filter(reads).collect()
}

fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < end, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Waits until a document is being read, and says by whom.
fn reader(of: &Running) -> u32 {
    wait_for("a reader", || readers(of.child.id()).first().copied())
}

fn is_gone(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.is_empty() || stat.rsplit_once(')').is_some_and(|(_, rest)| rest.trim_start().starts_with('Z'))
}

fn kill(pid: u32) {
    let sent = Command::new("sh").args(["-c", &format!("kill -KILL {pid}")]).status().unwrap();
    assert!(sent.success());
}

const UNREADABLE: Option<State> = Some(State::Settled(Outcome::Unreadable));

// ---- tests ------------------------------------------------------------------------------------------------

#[test]
fn bombs_cost_their_limits_and_nothing_else() {
    let documents = [
        ("memory.pdf", memory_bomb()),
        ("time.pdf", time_bomb()),
        ("good.pdf", good()),
        ("cut.pdf", good()[..99].into()),
    ];
    let scene = Scene::new(&documents, "2s");
    // The crawler itself has to do with little: what a bomb takes would end it.
    let free = scene.crawl();
    let mut limited = Command::new("sh");
    limited
        .args(["-c", "ulimit -v 3000000; exec \"$0\" \"$@\""])
        .arg(free.get_program())
        .args(free.get_args());
    let ran = finish(&mut limited);
    assert!(ran.ok().err.contains("document-limits (2)"), "{ran}");
    for name in ["memory", "time"] {
        // On a busy machine time may be short for the other one, too.
        let said = ran.err.lines().find(|l| l.contains(&format!("{HOME}{name}.pdf"))).unwrap_or_default();
        assert!(said.contains("document_memory") || said.contains("document_time"), "{ran}");
    }
    assert_eq!(scene.ended("memory.pdf"), (UNREADABLE, PAGES + 2), "all others are there");
    assert_eq!(scene.ended("time.pdf").0, UNREADABLE);
    let snapshot = Snapshot::take(&scene.out());
    assert!(snapshot.pages[&format!("{HOME}good.pdf")].text.contains("sql in a good document"));
    assert!(
        snapshot.pages.contains_key(&format!("{HOME}cut.pdf")),
        "a broken file is a poor page, not a danger"
    );
    let why = scene.explain("time.pdf");
    assert!(why.ok().out.contains("within the limits"), "{why}");
    // It is settled: the same command does not ask again.
    finish(&mut scene.crawl()).ok();
    assert_eq!((scene.asked("memory.pdf").0, scene.asked("time.pdf").0), (1, 1));
    let status = finish(gleaner().arg("status").arg(scene.out()).arg("--json"));
    assert!(status.ok().out.contains("\"document-limits\""), "{status}");
}

#[test]
fn a_limit_and_the_user_end_a_crawl_while_a_document_is_read() {
    let scene = Scene::new(&[("time.pdf", time_bomb())], "10m");
    let began = Instant::now();
    let ran = finish(scene.crawl().args(["--time", "1s"]));
    assert!(ran.ok().err.contains("time limit reached"), "{ran}");
    assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
    assert_eq!(scene.ended("time.pdf").0, Some(State::Pending), "nobody's fault: it is pending again");

    let running = Running::start(&mut scene.crawl());
    let child = reader(&running);
    running.signal("INT");
    let began = Instant::now();
    let ran = running.wait();
    assert_eq!(ran.code, Some(3), "{ran}");
    assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
    wait_for("the reader's end", || is_gone(child).then_some(()));
    assert_eq!(scene.ended("time.pdf").0, Some(State::Pending));
    // Neither was a death: it is tried like any other page, not last and alone.
    let ran = finish(scene.crawl().args(["--time", "1s"]));
    assert!(!ran.ok().err.contains("an earlier run died"), "{ran}");
}

#[test]
fn a_reader_that_is_killed_is_replaced_and_its_document_tried_once_more() {
    let scene = Scene::new(&[("time.pdf", time_bomb()), ("good.pdf", good())], "10m");
    let topic = scene.dir.path().join("t.toml");
    let text = std::fs::read_to_string(&topic).unwrap();
    std::fs::write(&topic, text.replace("[limits]", "[limits]\ndocument_readers = 1")).unwrap();
    let running = Running::start(&mut scene.crawl());
    let first = reader(&running);
    let of_first = |file: &str| std::fs::read_to_string(format!("/proc/{first}/{file}")).unwrap_or_default();
    wait_for("the limits", || {
        let limits = of_first("limits");
        let is = |name: &str, value: &str| {
            let line = limits.lines().find(|l| l.starts_with(name)).unwrap_or_default();
            line.trim_start_matches(name).split_whitespace().take(2).all(|v| v == value)
        };
        (is("Max address space", &(512u64 << 20).to_string()) && is("Max core file size", "0")).then_some(())
    });
    assert_eq!(of_first("environ"), "", "it knows nothing of the crawler's environment");
    kill(first);
    let second =
        wait_for("another reader", || readers(running.child.id()).into_iter().find(|pid| *pid != first));
    kill(second);
    let ran = running.wait();
    assert!(ran.ok().err.contains("ended by something else"), "{ran}");
    assert_eq!(scene.ended("time.pdf"), (UNREADABLE, PAGES + 1), "the good one was read by a third");
}

#[test]
fn what_was_read_when_the_crawl_died_comes_last_and_alone_and_is_then_given_up() {
    let scene = Scene::new(&[("time.pdf", time_bomb())], "10m");
    let dies = |before: usize| {
        let running = Running::start(&mut scene.crawl());
        let child = reader(&running);
        assert_eq!(scene.asked("time.pdf").0, before + 1);
        let (_, last) = scene.asked("time.pdf");
        kill(running.child.id());
        let ran = running.wait();
        assert_eq!(ran.code, None, "{ran}");
        assert_eq!(ran.err.contains("an earlier run died"), before > 0, "{ran}");
        wait_for("the reader's end", || is_gone(child).then_some(()));
        last
    };
    dies(0);
    assert_eq!(scene.ended("time.pdf").0, Some(State::Pending));
    // A second run: everything else first.
    assert_eq!(dies(1), "/time.pdf", "it comes last");
    assert_eq!(scene.ended("time.pdf"), (Some(State::Pending), PAGES), "the others were not held up");
    // And a third: it is not even asked for.
    let ran = finish(&mut scene.crawl());
    assert!(ran.ok().err.contains("crashed (1)"), "{ran}");
    assert_eq!(scene.asked("time.pdf").0, 2);
    assert_eq!(scene.ended("time.pdf"), (Some(State::Settled(Outcome::Crashed)), PAGES));
    let why = scene.explain("time.pdf");
    assert!(why.ok().out.contains("died twice"), "{why}");
}

#[test]
fn one_page_at_a_time_is_read_with_the_same_care() {
    let dir = folder();
    let write = |name: &str, bytes: Vec<u8>| std::fs::write(dir.path().join(name), bytes).unwrap();
    write("good.pdf", good());
    write("bomb.pdf", memory_bomb());
    let extract = |name: &str| finish(gleaner().args(["extract", name, "--text"]).current_dir(dir.path()));
    extract("good.pdf").ok().shows(&["sql in a good document"]);
    extract("bomb.pdf").fails(1, &["cannot read bomb.pdf", "memory"]);
    backtest(dir.path());
}

/// A recorded web with a bomb in it.
fn backtest(dir: &Path) {
    let host = dir.join("web/docs.test");
    std::fs::create_dir_all(&host).unwrap();
    let links: String =
        ["bomb.pdf", "good.pdf", "a.html"].iter().map(|n| format!("<a href='{n}'>sql</a> ")).collect();
    std::fs::write(host.join("index.html"), format!("<title>sql</title>{links}")).unwrap();
    std::fs::write(host.join("a.html"), "<title>sql</title><p>sql</p>").unwrap();
    std::fs::copy(dir.join("good.pdf"), host.join("good.pdf")).unwrap();
    std::fs::copy(dir.join("bomb.pdf"), host.join("bomb.pdf")).unwrap();
    file(dir, "t.toml", "name = 'x'\nquery = 'sql'\n[seeds]\nurls = ['http://docs.test/index.html']\n");
    let mut command = gleaner();
    command.args(["backtest", "--web", "web", "--topic", "t.toml", "--strategies", "breadth-first"]);
    command.args(["--out", "results"]).current_dir(dir);
    let ran = finish(command.env("XDG_CACHE_HOME", dir.join("cache")));
    ran.ok();
}

// ---- other kinds of document ------------------------------------------------------------------------------

/// Words, without marks and capitals.
fn words(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect()
}

/// Length of the longest common subsequence of the words, as a share of the longer text.
fn likeness(one: &[String], other: &[String]) -> f64 {
    let mut row = vec![0u32; other.len() + 1];
    for a in one {
        let mut before = 0;
        for (at, b) in other.iter().enumerate() {
            let above = row[at + 1];
            row[at + 1] = if a == b { before + 1 } else { above.max(row[at]) };
            before = above;
        }
    }
    f64::from(row[other.len()]) / one.len().max(other.len()).max(1) as f64
}

fn pandoc(args: &[&str]) -> Option<String> {
    let ran = Command::new("pandoc").args(args).output().ok()?;
    assert!(ran.status.success(), "pandoc {args:?}: {}", String::from_utf8_lossy(&ran.stderr));
    Some(String::from_utf8(ran.stdout).unwrap())
}

/// The pages of our own documentation as office files: what we read of them is what pandoc reads. With
/// `GLEANER_LONG=1` all pages, more than two hundred files.
#[test]
fn office_files_are_read_as_pandoc_reads_them() {
    if pandoc(&["--version"]).is_none() {
        return common::tools::missing("pandoc (Debian: pandoc)");
    }
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs");
    let mut pages: Vec<_> = ["", "adr"]
        .iter()
        .flat_map(|folder| std::fs::read_dir(docs.join(folder)).unwrap().flatten())
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|e| e == "md"))
        .filter(|path| std::fs::metadata(path).is_ok_and(|m| (2_000..40_000).contains(&m.len())))
        .collect();
    pages.sort();
    if !common::long() {
        pages.truncate(2);
    }
    let dir = folder();
    let mut files = 0;
    for page in &pages {
        for ending in ["docx", "odt", "epub", "rtf"] {
            let name = format!("{}.{ending}", page.file_stem().unwrap().to_string_lossy());
            let path = dir.path().join(&name);
            pandoc(&[&page.to_string_lossy(), "-s", "-o", &path.to_string_lossy()]);
            let theirs = pandoc(&[&path.to_string_lossy(), "-t", "plain", "--wrap=none"]).unwrap();
            let ours = finish(gleaner().arg("extract").arg(&path).arg("--text"));
            let like = likeness(&words(&theirs), &words(&ours.ok().out));
            assert!(like >= 0.95, "{name}: {like:.3}\n--- pandoc\n{theirs}\n--- gleaner\n{}", ours.out);
            files += 1;
        }
    }
    assert!(files >= if common::long() { 200 } else { 8 }, "{files}");
}

/// A crawl finds documents of every kind, whatever the server calls them, judges and exports them like pages;
/// what `[scope] documents` leaves out is not asked for.
#[test]
fn documents_are_pages_of_a_crawl() {
    if pandoc(&["--version"]).is_none() {
        return common::tools::missing("pandoc (Debian: pandoc)");
    }
    let dir = folder();
    let source = "---\ntitle: A TITLE\nauthor: Ada Lovelace\n---\n\n# SQL\n\n\
                  sql joins, see [next](http://pages.test/page1).\n";
    let made = |ending: &str| {
        let (from, to) = (dir.path().join("a.md"), dir.path().join(format!("a.{ending}")));
        std::fs::write(&from, source).unwrap();
        pandoc(&[&from.to_string_lossy(), "-s", "-o", &to.to_string_lossy()]);
        std::fs::read(to).unwrap()
    };
    let zip_type =
        |ending: &str| if ending == "docx" { "application/zip" } else { "application/octet-stream" };
    let kinds = ["docx", "odt", "epub", "rtf", "pptx"];
    let all: Vec<(&str, Vec<u8>)> = kinds.iter().map(|k| (*k, made(k))).collect();
    let answer = move |ask: &Ask| {
        let name = ask.path.trim_start_matches('/');
        match all.iter().find(|(kind, _)| name == format!("file.{kind}") || name == format!("get-{kind}")) {
            Some((kind, body)) => Reply::new(200, zip_type(kind), body.clone()),
            None if name.is_empty() => {
                let links =
                    kinds.iter().map(|k| format!("<p><a href='file.{k}'>sql</a> <a href='get-{k}'>sql</a>"));
                Reply::html(format!("<title>Home</title>{}", links.collect::<String>()))
            }
            None if name == "page1" => Reply::html("<title>x</title><p>sql".to_string()),
            None => Reply::not_found(),
        }
    };
    let server = Server::start(answer, "127.0.0.1:0".parse().unwrap(), Log::in_memory())
        .unwrap_or_else(|p| panic!("{p}"));
    let crawl = |documents: &str, out: &Path| {
        let topic = format!(
            "name = 'docs'\nquery = 'sql'\n[scope]\n{documents}\n[strategy]\nkind = 'breadth-first'\n\
             [fetch]\ndelay = '1ms'\n"
        );
        file(dir.path(), "t.toml", &topic);
        let ran = finish(common::crawl(&server, &dir.path().join("t.toml"), out).args(["--seed", HOME]));
        ran.ok();
        Snapshot::take(out)
    };
    let out = dir.path().join("out");
    let snapshot = crawl("", &out);
    for kind in kinds {
        let page = snapshot.pages.get(&format!("{HOME}file.{kind}"));
        let page = page.unwrap_or_else(|| panic!("no {kind} among {:?}", snapshot.urls));
        assert!(page.title == "A TITLE" && page.text.contains("sql joins"), "{kind}: {page:?}");
        assert!(page.verdict.relevant, "{kind}");
    }
    assert!(snapshot.pages.contains_key("http://pages.test/page1"), "links in documents are followed");
    let exported = finish(gleaner().arg("export").arg(&out).args(["--format", "jsonl"]));
    assert!(exported.ok().out.contains("file.docx") && exported.out.contains("sql joins"), "{exported}");

    let before = server.log().entries().len();
    let snapshot = crawl("documents = ['odt']", &dir.path().join("less"));
    let pages: Vec<&String> =
        snapshot.pages.keys().filter(|u| u.contains("file.") || u.contains("get-")).collect();
    assert_eq!(pages, ["http://docs.test/file.odt", "http://docs.test/get-odt"], "no other kind is read");
    let asked: Vec<String> = server.log().entries().iter().skip(before).map(|e| e.path.clone()).collect();
    assert!(!asked.iter().any(|path| path == "/file.docx" || path == "/file.rtf"), "{asked:?}");
}
