//! Office files, books, rich text and Markdown, made here by hand: what is read of them, and what they cannot
//! do to the reader.

use flate2::Compression;
use flate2::write::DeflateEncoder;
use gleaner_extract::{Options, extract};
use proptest::prelude::*;
use std::io::Write;
use types::{Canon, FORMATS, Formats, NoText, Page, PageKind};

fn read_as(content_type: &str, body: &[u8]) -> Page {
    let url = Canon::default().parse("http://example.org/some/file").unwrap();
    extract(&url, Some(content_type), None, body, &Options::default())
}

/// With the type that servers give to files they do not know: the bytes have to tell.
fn read(body: &[u8]) -> Page {
    read_as("application/octet-stream", body)
}

fn hrefs(page: &Page) -> Vec<(&str, &str)> {
    page.links.iter().map(|l| (l.url.as_str(), page.anchor(l))).collect()
}

/// A ZIP file with these parts, compressed.
fn zip(parts: &[(&str, &str)]) -> Vec<u8> {
    let parts: Vec<(&str, Vec<u8>)> = parts.iter().map(|p| (p.0, p.1.as_bytes().to_vec())).collect();
    zip_of(&parts, 0)
}

fn zip_of(parts: &[(&str, Vec<u8>)], flags: u16) -> Vec<u8> {
    let (mut out, mut directory) = (Vec::new(), Vec::new());
    for (name, contents) in parts {
        let mut packed = DeflateEncoder::new(Vec::new(), Compression::fast());
        packed.write_all(contents).unwrap();
        let packed = packed.finish().unwrap();
        // Books and OpenDocument want their type to be readable at the beginning of the file.
        let (method, packed) = if *name == "mimetype" { (0u16, contents.clone()) } else { (8, packed) };
        let offset = out.len() as u32;
        let mut head = Vec::new();
        [20u16, flags, method, 0, 33].iter().for_each(|n| head.extend(n.to_le_bytes()));
        [0u32, packed.len() as u32, contents.len() as u32].iter().for_each(|n| head.extend(n.to_le_bytes()));
        [name.len() as u16, 0].iter().for_each(|n| head.extend(n.to_le_bytes()));
        out.extend(b"PK\x03\x04");
        out.extend(&head);
        out.extend(name.bytes());
        out.extend(&packed);
        directory.extend(b"PK\x01\x02\x14\x00");
        directory.extend(&head);
        directory.extend([0; 10]);
        directory.extend(offset.to_le_bytes());
        directory.extend(name.bytes());
    }
    let start = out.len() as u32;
    out.extend(&directory);
    out.extend(b"PK\x05\x06\0\0\0\0");
    let count = parts.len() as u16;
    [count, count].iter().for_each(|n| out.extend(n.to_le_bytes()));
    [directory.len() as u32, start].iter().for_each(|n| out.extend(n.to_le_bytes()));
    out.extend([0, 0]);
    out
}

const PROPERTIES: &str = "<cp:coreProperties><dc:title>The syllabus</dc:title><dc:creator>Ada \
                          Lovelace</dc:creator>\
    <dcterms:created>2026-11-16T10:00:00Z</dcterms:created><dcterms:modified>2026-12-01</dcterms:modified></cp:coreProperties>";

fn relations(all: &[(&str, &str, &str)]) -> String {
    let one = |(id, kind, target): &(&str, &str, &str)| {
        let outside = if target.starts_with("http") { " TargetMode='External'" } else { "" };
        format!("<Relationship Id='{id}' Type='http://x/relationships/{kind}' Target='{target}'{outside}/>")
    };
    format!("<Relationships>{}</Relationships>", all.iter().map(one).collect::<String>())
}

fn docx(body: &str) -> Vec<u8> {
    let root = relations(&[
        ("r1", "officeDocument", "word/document2.xml"),
        ("r2", "core-properties", "docProps/core.xml"),
    ]);
    let own = relations(&[
        ("s", "styles", "styles.xml"),
        ("n", "footnotes", "footnotes.xml"),
        ("l", "hyperlink", "http://example.org/handbook?a=1&amp;b=2"),
    ]);
    zip(&[
        ("[Content_Types].xml", "<Types/>"),
        ("_rels/.rels", &root),
        ("docProps/core.xml", PROPERTIES),
        ("word/document2.xml", &format!("<w:document><w:body>{body}</w:body></w:document>")),
        ("word/_rels/document2.xml.rels", &own),
        (
            "word/styles.xml",
            "<w:styles><w:style w:styleId='berschrift2'><w:name w:val='heading 2'/></w:style></w:styles>",
        ),
        (
            "word/footnotes.xml",
            "<w:footnotes><w:footnote w:type='separator'><w:p><w:r><w:t>no \
             note</w:t></w:r></w:p></w:footnote>\
             <w:footnote w:id='2'><w:p><w:r><w:t>A note of \
             indexes.</w:t></w:r></w:p></w:footnote></w:footnotes>",
        ),
    ])
}

const WORDS: &str = "<w:p><w:pPr><w:pStyle \
                     w:val='berschrift2'/></w:pPr><w:r><w:t>Data</w:t></w:r><w:r><w:t>bases</w:t></w:r></w:p>\
    <w:p><w:r><w:t xml:space='preserve'>See </w:t></w:r><w:hyperlink r:id='l'><w:r><w:t>the \
    handbook</w:t></w:r></w:hyperlink>\
    <w:r><w:t> &amp; more.</w:t></w:r><w:del><w:r><w:delText>gone</w:delText></w:r></w:del>\
    <w:r><w:rPr><w:vanish/></w:rPr><w:t>unseen</w:t></w:r></w:p>\
    <w:p><w:r><w:fldChar w:fldCharType='begin'/></w:r><w:r><w:instrText> HYPERLINK \"https://e.org/f\" \
    </w:instrText></w:r>\
    <w:r><w:fldChar w:fldCharType='separate'/></w:r><w:r><w:t>field</w:t></w:r><w:r><w:fldChar \
    w:fldCharType='end'/></w:r></w:p>\
    <mc:AlternateContent><mc:Choice><w:p><w:r><w:t>In a box</w:t></w:r></w:p></mc:Choice>\
    <mc:Fallback><w:p><w:r><w:t>In a box</w:t></w:r></w:p></mc:Fallback></mc:AlternateContent>\
    <w:tbl><w:tr><w:tc><w:p><w:r><w:t>Week</w:t></w:r></w:p></w:tc><w:tc><w:p><w:r><w:t>Subject</w:t></w:r></w:p></w:tc></w:tr></w:tbl>";

#[test]
fn word() {
    let p = read(&docx(WORDS));
    assert_eq!((p.kind, p.title.as_str()), (PageKind::Docx, "The syllabus"));
    assert_eq!(p.about.authors, ["Ada Lovelace"]);
    assert_eq!((p.about.published.as_str(), p.about.modified.as_str()), ("2026-11-16", "2026-12-01"));
    let words: Vec<&str> = p.text.split_whitespace().collect();
    assert_eq!(
        words.join(" "),
        "Databases See the handbook & more. field In a box Week Subject A note of indexes."
    );
    assert_eq!(
        hrefs(&p),
        [("http://example.org/handbook?a=1&b=2", "the handbook"), ("https://e.org/f", "field")]
    );
    assert_eq!(p.heading(&p.links[0]), "Databases");
    assert_eq!(p.context(&p.links[0]), "See the handbook & more.");
    assert_eq!(p.headings[0].level, 2);
    assert!(!p.cut && p.no_text.is_none());
}

fn pptx() -> Vec<u8> {
    let slide = |kind: &str, text: &str| {
        format!(
            "<p:sp><p:nvSpPr><p:nvPr><p:ph \
             type='{kind}'/></p:nvPr></p:nvSpPr><p:txBody>{text}</p:txBody></p:sp>"
        )
    };
    let first = format!(
        "<p:sld>{}{}{}</p:sld>",
        slide("title", "<a:p><a:r><a:t>Joins</a:t></a:r></a:p>"),
        slide(
            "body",
            "<a:p><a:r><a:rPr><a:hlinkClick r:id='l'/></a:rPr><a:t>inner and outer</a:t></a:r></a:p>"
        ),
        slide("sldNum", "<a:p><a:fld><a:t>7</a:t></a:fld></a:p>"),
    );
    zip(&[
        ("[Content_Types].xml", "<Types/>"),
        ("_rels/.rels", &relations(&[("r1", "officeDocument", "/ppt/presentation.xml")])),
        (
            "ppt/presentation.xml",
            "<p:presentation><p:sldIdLst><p:sldId id='256' r:id='b'/><p:sldId id='257' r:id='a'/>\
             <p:sldId id='258' r:id='c'/></p:sldIdLst></p:presentation>",
        ),
        (
            "ppt/_rels/presentation.xml.rels",
            &relations(&[
                ("a", "slide", "slides/slide1.xml"),
                ("b", "slide", "slides/slide2.xml"),
                ("c", "slide", "slides/slide3.xml"),
            ]),
        ),
        ("ppt/slides/slide1.xml", "<p:sld><p:sp><a:p><a:r><a:t>Thanks</a:t></a:r></a:p></p:sp></p:sld>"),
        ("ppt/slides/slide2.xml", &first),
        (
            "ppt/slides/slide3.xml",
            "<p:sld show='0'><p:sp><a:p><a:r><a:t>Hidden</a:t></a:r></a:p></p:sp></p:sld>",
        ),
        (
            "ppt/slides/_rels/slide2.xml.rels",
            &relations(&[("l", "hyperlink", "http://e.org/j"), ("n", "notesSlide", "../notesSlides/n1.xml")]),
        ),
        (
            "ppt/notesSlides/n1.xml",
            "<p:notes><p:sp><a:p><a:r><a:t>Say hello</a:t></a:r></a:p></p:sp></p:notes>",
        ),
    ])
}

#[test]
fn slides_in_their_order() {
    let p = read(&pptx());
    assert_eq!((p.kind, p.title.as_str()), (PageKind::Pptx, "Joins"));
    assert_eq!(p.text, "Joins\ninner and outer\nSay hello\nThanks");
    assert_eq!(hrefs(&p), [("http://e.org/j", "inner and outer")]);
}

fn xlsx() -> Vec<u8> {
    zip(&[
        ("[Content_Types].xml", "<Types/>"),
        (
            "xl/workbook.xml",
            "<workbook><sheets><sheet name='Marks' r:id='a'/><sheet name='Old' state='hidden' \
             r:id='a'/></sheets></workbook>",
        ),
        (
            "xl/_rels/workbook.xml.rels",
            &relations(&[
                ("a", "worksheet", "worksheets/sheet1.xml"),
                ("s", "sharedStrings", "sharedStrings.xml"),
            ]),
        ),
        (
            "xl/sharedStrings.xml",
            "<sst><si><t>Name</t></si><si><r><t>Ada </t></r><r><t>L.</t></r><rPh><t>say</t></rPh></si></sst>",
        ),
        (
            "xl/worksheets/sheet1.xml",
            "<worksheet><sheetData><row r='1'><c r='A1' t='s'><v>0</v></c><c r='B1' \
             t='inlineStr'><is><t>Mark</t></is></c></row>\
             <row r='2'><c r='A2' t='s'><v>1</v></c><c r='B2'><f>SUM(1,2)</f><v>3.5</v></c><c r='C2' \
             t='s'><v>99</v></c></row></sheetData>\
             <hyperlinks><hyperlink ref='A2' r:id='l'/></hyperlinks></worksheet>",
        ),
        ("xl/worksheets/_rels/sheet1.xml.rels", &relations(&[("l", "hyperlink", "http://e.org/ada")])),
    ])
}

#[test]
fn sheets() {
    let p = read(&xlsx());
    assert_eq!((p.kind, p.title.as_str()), (PageKind::Xlsx, "Marks"));
    assert_eq!(p.text.split_whitespace().collect::<Vec<_>>(), ["Marks", "Name", "Mark", "Ada", "L.", "3.5"]);
    assert_eq!(hrefs(&p), [("http://e.org/ada", "Ada L.")]);
}

fn odf(kind: &str, body: &str) -> Vec<u8> {
    zip(&[
        ("mimetype", &format!("application/vnd.oasis.opendocument.{kind}")),
        (
            "content.xml",
            &format!(
                "<office:document-content><office:body><office:{kind}>{body}</office:{kind}></office:body></office:document-content>"
            ),
        ),
        (
            "meta.xml",
            "<office:document-meta><office:meta><dc:title>Notes</dc:title><meta:initial-creator>Ada</meta:initial-creator>\
             <dc:creator>Bob</dc:creator><meta:creation-date>2020-01-02T03:04:05</meta:creation-date><dc:date>2021-01-01T00:00:00</dc:date>\
             </office:meta></office:document-meta>",
        ),
    ])
}

#[test]
fn open_document() {
    let text = "<text:tracked-changes><text:p>deleted</text:p></text:tracked-changes><text:h \
                text:outline-level='3'>Keys</text:h>\
        <text:p>One<text:s/>two<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>a note</text:p>\
        </text:note-body></text:note> <text:a \
        xlink:href='http://e.org/x'>here</text:a><text:line-break/>end</text:p>";
    let p = read(&odf("text", text));
    assert_eq!((p.kind, p.title.as_str()), (PageKind::Odt, "Notes"));
    assert_eq!(p.text.split_whitespace().collect::<Vec<_>>().join(" "), "Keys One two here end a note");
    assert_eq!((hrefs(&p), p.headings[0].level), (vec![("http://e.org/x", "here")], 3));
    assert_eq!(
        (p.about.authors, p.about.published, p.about.modified),
        (vec!["Ada".into()], "2020-01-02".into(), "2021-01-01".into())
    );
    let p = read(&odf(
        "presentation",
        "<draw:page><draw:text-box><text:p>Slide</text:p></draw:text-box></draw:page>",
    ));
    assert_eq!((p.kind, p.text.as_str()), (PageKind::Odp, "Slide"));
    let cells = "<table:table \
                 table:name='T'><table:table-row><table:table-cell><text:p>1</text:p></table:table-cell>\
        <table:table-cell><text:p>2</text:p></table:table-cell></table:table-row></table:table>";
    let p = read(&odf("spreadsheet", cells));
    assert_eq!((p.kind, p.text.split_whitespace().count()), (PageKind::Ods, 3), "{}", p.text);
}

fn epub() -> Vec<u8> {
    zip(&[
        ("mimetype", "application/epub+zip"),
        (
            "META-INF/container.xml",
            "<container><rootfiles><rootfile full-path='OEBPS/book.opf'/></rootfiles></container>",
        ),
        (
            "OEBPS/book.opf",
            "<package><metadata><dc:title>A \
             book</dc:title><dc:creator>Ada</dc:creator><dc:creator>Bob</dc:creator><dc:language>de-AT</dc:language>\
             <dc:publisher>Press</dc:publisher><dc:date>1999</dc:date></metadata><manifest><item id='a' \
             href='ch%201.xhtml'/><item id='b' href='../two.xhtml'/>\
             </manifest><spine><itemref idref='b'/><itemref idref='a'/></spine></package>",
        ),
        (
            "OEBPS/ch 1.xhtml",
            "<html><head><title>no</title></head><body><p>Second&nbsp;chapter <a \
             href='ch2.xhtml'>inside</a></p></body></html>",
        ),
        (
            "two.xhtml",
            "<html><body><h1>First</h1><script>no</script><p>and <a \
             href='http://e.org/'>outside</a></p></body></html>",
        ),
    ])
}

#[test]
fn books() {
    let p = read(&epub());
    assert_eq!((p.kind, p.title.as_str(), p.language.as_str()), (PageKind::Epub, "A book", "de"));
    assert_eq!(
        p.text.split_whitespace().collect::<Vec<_>>().join(" "),
        "First and outside Second chapter inside"
    );
    assert_eq!(hrefs(&p), [("http://e.org/", "outside")], "a place inside the book is no address");
    assert_eq!(
        (p.about.authors.len(), p.about.publisher.as_str(), p.about.published.as_str()),
        (2, "Press", "1999")
    );
}

const RTF: &[u8] = br#"{\rtf1\ansi\ansicpg1252\uc1{\fonttbl{\f0\fswiss Arial;}{\f1\fcharset204 Times;}}{\stylesheet{\s1 Heading;}}
{\info{\title Rich \'fc text}{\author Ada}{\creatim\yr2020\mo3\dy4\hr5}}\f0 Gr\'fc\'dfe \u8364? \u-10179?\u-8704? {\b bold} \{x\}\par
{\field{\*\fldinst HYPERLINK "http://e.org/r"}{\fldrslt a link}} next\line row\cell two\row {\f1 \'cf\'f0}{\v hidden}{\*\secret no}{\pict 00ff}{\bin4 }}}}end\par}"#;

#[test]
fn rich_text() {
    let p = read(RTF);
    assert_eq!(
        (p.kind, p.title.as_str(), p.about.published.as_str()),
        (PageKind::Rtf, "Rich ü text", "2020-03-04")
    );
    assert_eq!(
        p.text.split_whitespace().collect::<Vec<_>>().join(" "),
        "Grüße € 😀 bold {x} a link next row two Прend"
    );
    assert_eq!(hrefs(&p), [("http://e.org/r", "a link")]);
    assert_eq!(p.about.authors, ["Ada"]);
}

#[test]
fn markdown() {
    let text = "---\ntitle: \"From the front\"\n---\n\n# One *thing*\n\n\
                See [this](other.md) and <http://e.org/>.\n\n\
                | a | b |\n|---|---|\n| 1 | 2 |\n\n```\ncode <b>\n```\n";
    let p = read_as("text/markdown", text.as_bytes());
    assert_eq!((p.kind, p.title.as_str()), (PageKind::Markdown, "From the front"));
    assert!(p.text.starts_with("One thing\nSee this and http://e.org/."), "{:?}", p.text);
    assert!(p.text.contains("code <b>") && !p.text.contains("From"), "{:?}", p.text);
    assert_eq!(hrefs(&p), [("http://example.org/some/other.md", "this"), ("http://e.org/", "http://e.org/")]);
    assert_eq!(read_as("text/markdown", b"# Heading\ntext").title, "Heading");
}

#[test]
fn locked_documents_say_so() {
    let locked =
        zip_of(&[("[Content_Types].xml", b"<Types/>".to_vec()), ("word/document.xml", b"??".to_vec())], 1);
    assert_eq!(read(&locked).no_text, Some(NoText::Encrypted));
    let mut old = vec![0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1, 0, 0];
    let word = "application/vnd.openxmlformats-officedocument.wordprocessingml.document";
    assert_eq!(read_as(word, &old).kind, PageKind::Opaque, "an old file under a new name");
    old.extend("EncryptedPackage".encode_utf16().flat_map(u16::to_le_bytes));
    assert_eq!(read_as(word, &old).no_text, Some(NoText::Encrypted));
    let manifest = "<manifest:manifest><manifest:file-entry><manifest:encryption-data/></manifest:file-entry></manifest:manifest>";
    let odt = zip(&[
        ("mimetype", "application/vnd.oasis.opendocument.text"),
        ("content.xml", "?"),
        ("META-INF/manifest.xml", manifest),
    ]);
    assert_eq!(read(&odt).no_text, Some(NoText::Encrypted));
    assert_eq!(read(&zip(&[("holiday.jpg", "x"), ("a.docx", "y")])).kind, PageKind::Opaque);
}

#[test]
fn what_is_switched_off_is_opaque() {
    let url = Canon::default().parse("http://example.org/x").unwrap();
    let all =
        [("docx", docx(WORDS)), ("pptx", pptx()), ("xlsx", xlsx()), ("epub", epub()), ("rtf", RTF.to_vec())];
    for (name, body) in all {
        let kind = FORMATS.iter().find(|f| f.name == name).unwrap().kind;
        let only =
            |names: &[&str]| Options { documents: Formats::named(names).unwrap(), ..Options::default() };
        assert_eq!(extract(&url, None, None, &body, &only(&[name])).kind, kind);
        let off = extract(&url, None, None, &body, &only(&["pdf"]));
        assert_eq!((off.kind, off.text.as_str(), off.title.as_str()), (PageKind::Opaque, "", ""));
    }
}

#[test]
fn a_file_that_breaks_off_gives_what_was_there() {
    let mut parts = vec![("word/document.xml", format!("<w:document>{WORDS}</w:document>").into_bytes())];
    parts.push(("word/media/picture", vec![7; 9_000]));
    let whole = zip_of(&parts, 0);
    let p = read_as("application/zip", &whole);
    assert_eq!(p.kind, PageKind::Opaque, "nothing in it says that it is a document");
    parts.insert(0, ("[Content_Types].xml", b"<Types/>".to_vec()));
    let whole = zip_of(&parts, 0);
    assert!(read(&whole).text.contains("In a box"));
    assert!(read(&whole[..whole.len() - 150]).text.contains("In a box"), "without its directory");
}

#[test]
fn bombs_cost_little() {
    // A hundred megabytes of blanks in a part, ten parts like it, and a table that repeats one long string.
    let blanks = format!("<w:document><w:p><w:r><w:t>first{}</w:t></w:r></w:p>", " ".repeat(100 << 20));
    let p = read(&docx_with(blanks.into_bytes()));
    assert!(p.cut && p.text == "first", "{} bytes", p.text.len());
    let row = "<row><c t='s'><v>0</v></c></row>".repeat(100_000);
    let long = "word ".repeat(100_000);
    let p = read(&zip(&[
        ("[Content_Types].xml", "<Types/>"),
        ("xl/workbook.xml", "<workbook><sheet name='x' r:id='a'/></workbook>"),
        (
            "xl/_rels/workbook.xml.rels",
            &relations(&[("a", "worksheet", "s.xml"), ("s", "sharedStrings", "t.xml")]),
        ),
        ("xl/s.xml", &format!("<worksheet>{row}</worksheet>")),
        ("xl/t.xml", &format!("<sst><si><t>{long}</t></si></sst>")),
    ]));
    assert!(p.cut && p.text.len() <= Options::default().max_text, "{}", p.text.len());
    // Entities of entities are not looked up; depth is not recursion.
    let lol = "<!DOCTYPE x [<!ENTITY a 'lol'><!ENTITY b \
               '&a;&a;&a;&a;&a;&a;&a;&a;'>]><w:document><w:p><w:r><w:t>x&b;y</w:t></w:r></w:p></w:document>";
    assert!(read(&docx_with(lol.into())).text.len() < 20);
    let deep = format!("<w:document>{}<w:p><w:r><w:t>deep", "<w:sdt>".repeat(300_000));
    assert_eq!(read(&docx_with(deep.into_bytes())).text, "deep");
    let nested = format!("{{\\rtf1 {}deep", "{".repeat(1_000_000));
    assert_eq!(read(nested.as_bytes()).kind, PageKind::Rtf);
    let many: Vec<(String, Vec<u8>)> = (0..60_000).map(|i| (format!("p{i}"), Vec::new())).collect();
    let mut many: Vec<(&str, Vec<u8>)> = many.iter().map(|(n, b)| (n.as_str(), b.clone())).collect();
    many.insert(0, ("[Content_Types].xml", Vec::new()));
    assert_eq!(read(&zip_of(&many, 0)).kind, PageKind::Opaque);
}

fn docx_with(document: Vec<u8>) -> Vec<u8> {
    zip_of(&[("[Content_Types].xml", b"<Types/>".to_vec()), ("word/document.xml", document)], 0)
}

/// Files that are damaged in some places: nothing panics, nothing grows. `GLEANER_LONG=1` tries many more.
#[test]
fn damaged_files_give_poorer_pages() {
    let text = "<text:h>Keys</text:h><text:p>One <text:a xlink:href='http://e.org/x'>here</text:a></text:p>";
    let files = [
        docx(WORDS),
        pptx(),
        xlsx(),
        odf("text", text),
        epub(),
        RTF.to_vec(),
        b"# a\n\n*b* [c](d)\n".to_vec(),
    ];
    let cases = if std::env::var_os("GLEANER_LONG").is_some() { 5_000 } else { 300 };
    let mut runner = proptest::test_runner::TestRunner::new_with_rng(
        ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() },
        proptest::test_runner::TestRng::deterministic_rng(proptest::test_runner::RngAlgorithm::ChaCha),
    );
    let edits = proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..4u8), 1..8);
    let check = runner.run(&(0..files.len(), edits), |(which, edits)| {
        let mut body = files[which].clone();
        for (at, byte, how) in edits {
            let at = at.index(body.len().max(1));
            match how {
                0 => body.truncate(at),
                1 => drop(body.splice(at..at, [byte])),
                2 if at < body.len() => body[at] = byte,
                _ if at < body.len() => drop(body.remove(at)),
                _ => {}
            }
        }
        let content_type = if which == 6 { "text/markdown" } else { "application/octet-stream" };
        let page = read_as(content_type, &body);
        prop_assert!(page.text.len() <= Options::default().max_text);
        for link in &page.links {
            prop_assert!(link.url.as_str().starts_with("http"));
        }
        Ok(())
    });
    check.unwrap();
}
