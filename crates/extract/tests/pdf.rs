//! PDF text, through the same [`types::Page`].
#![cfg(feature = "pdf")]

use gleaner_extract::{Options, extract};
use types::{Canon, Page, PageKind};

fn read(body: &[u8]) -> Page {
    let url = Canon::default().parse("http://example.org/a.pdf").unwrap();
    extract(&url, Some("application/pdf"), None, body, &Options::default())
}

/// A file with these objects, numbered from 1, and a correct cross-reference table.
fn pdf(objects: &[String]) -> Vec<u8> {
    let mut out = b"%PDF-1.4\n".to_vec();
    let mut offsets = Vec::new();
    for (i, object) in objects.iter().enumerate() {
        offsets.push(out.len());
        out.extend(format!("{} 0 obj\n{object}\nendobj\n", i + 1).bytes());
    }
    let xref = out.len();
    out.extend(format!("xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1).bytes());
    for offset in offsets {
        out.extend(format!("{offset:010} 00000 n \n").bytes());
    }
    let size = objects.len() + 1;
    out.extend(
        format!("trailer\n<< /Size {size} /Root 1 0 R /Info 6 0 R >>\nstartxref\n{xref}\n%%EOF").bytes(),
    );
    out
}

fn two_lines() -> Vec<u8> {
    let content = "BT /F1 12 Tf 72 720 Td (Course syllabus) Tj 0 -14 Td (Office hours: Monday) Tj ET";
    pdf(&[
        "<< /Type /Catalog /Pages 2 0 R >>".into(),
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>".into(),
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R \
         /Resources << /Font << /F1 5 0 R >> >> >>"
            .into(),
        format!("<< /Length {} >>\nstream\n{content}\nendstream", content.len()),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>".into(),
        "<< /Title (The syllabus) >>".into(),
    ])
}

#[test]
fn text_and_title() {
    let p = read(&two_lines());
    assert_eq!((p.kind, p.title.as_str()), (PageKind::Pdf, "The syllabus"));
    assert!(p.text.contains("Course syllabus") && p.text.contains("Office hours: Monday"), "{:?}", p.text);
    assert!(!p.cut);
    assert_eq!((p.leaves.len(), p.blocks.len()), (1, 1));
}

/// A page whose font tells its widths: every character is half as wide as the font is high.
fn with_content(content: &str) -> Page {
    let widths = "500 ".repeat(96);
    read(&pdf(&[
        "<< /Type /Catalog /Pages 2 0 R >>".into(),
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>".into(),
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R \
         /Resources << /Font << /F1 5 0 R >> /XObject << /X 7 0 R >> >> >>"
            .into(),
        format!("<< /Length {} >>\nstream\n{content}\nendstream", content.len()),
        format!(
            "<< /Type /Font /Subtype /Type1 /BaseFont /X /Encoding /WinAnsiEncoding /FirstChar 32 /LastChar \
             127 /Widths [{widths}] >>"
        ),
        "<< /Title (x) >>".into(),
        "<< /Type /XObject /Subtype /Form /Matrix [1 0 0 1 0 -50] /Length 41 >>\nstream\n\
         BT /F1 10 Tf 0 700 Td (in a form) Tj ET   \nendstream"
            .into(),
    ]))
}

#[test]
fn blanks_and_lines_are_where_the_pen_moves() {
    for (content, text) in [
        // Blanks as numbers, whole or not; kerning is none.
        ("BT /F1 10 Tf 0 700 Td [(data)-333.25(base)-250( )(T)83.3(o)-28(p)] TJ ET", "data base Top"),
        // The next piece goes on where the last one ended: 4 characters of 5 units.
        ("BT /F1 10 Tf 0 700 Td (data) Tj 20 0 Td (base) Tj 23 0 Td (course) Tj ET", "database course"),
        ("BT /F1 10 Tf 1 0 0 1 0 700 Tm (data) Tj 1 0 0 1 20 700 Tm (base) Tj ET", "database"),
        // Indices stay in their line, another baseline is another line.
        (
            "BT /F1 10 Tf 0 700 Td (H) Tj /F1 7 Tf 5 -2 Td (2) Tj /F1 10 Tf 3.5 2 Td (O) Tj 0 -12 Td (next) \
             Tj ET",
            "H2O\nnext",
        ),
        ("BT /F1 10 Tf 12 TL 0 700 Td (one) Tj T* (two) Tj (three) ' ET", "one\ntwo\nthree"),
        // The mark of a note before its text.
        (
            "BT /F1 7 Tf 0 704 Td (12) Tj /F1 10 Tf 7 -4 Td (See below) Tj /F1 7 Tf 45 4 Td (2) Tj ET",
            "12 See below2",
        ),
        // A page may be turned, and drawn to any scale.
        ("q 0 0.1 -0.1 0 300 300 cm BT /F1 100 Tf 0 0 Td (up) Tj 130 0 Td (wards) Tj ET Q", "up wards"),
        ("BT /F1 10 Tf 0 700 Td (before) Tj ET q /X Do Q", "before\nin a form"),
        ("Q Q q BT (no font) Tj /F9 1 Tf (no such font) Tj ET", ""),
    ] {
        assert_eq!(with_content(content).text.trim(), text, "{content}");
    }
}

/// What a font says of its characters: a map of its own, with a name in its head that has blanks; the names
/// in its file.
#[test]
fn fonts_know_their_characters() {
    let stream =
        |dict: &str, body: &str| format!("<< {dict} /Length {} >>\nstream\n{body}\nendstream", body.len());
    let with_font = |font: &str, more: &[String], shown: &str| {
        let content = format!("BT /F1 10 Tf 72 720 Td {shown} Tj ET");
        let page = "<< /Type /Page /Parent 2 0 R /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>";
        let mut objects: Vec<String> = vec![
            "<< /Type /Catalog /Pages 2 0 R >>".into(),
            "<< /Type /Pages /Kids [3 0 R] /Count 1 >>".into(),
            page.into(),
            stream("", &content),
            font.into(),
            "<< /Title (x) >>".into(),
        ];
        objects.extend_from_slice(more);
        read(&pdf(&objects)).text.trim().to_string()
    };
    let below = "<< /Type /Font /Subtype /CIDFontType2 /BaseFont /X /DW 500 >>".to_string();
    let wide = "<< /Type /Font /Subtype /Type0 /BaseFont /X /Encoding /Identity-H /DescendantFonts [7 0 R] /ToUnicode 8 0 R >>";
    let map = "/CMapName //fonts/Sabon LT Std/Sabon.otf,000 def 1 begincodespacerange <0000> <FFFF> endcodespacerange\n\
               1 beginbfchar <0022> <0054> endbfchar 2 beginbfrange <0041> <0042> <0068> <0050> <0051> [<0065> <00660069>] endbfrange";
    let more = [below.clone(), stream("", map)];
    assert_eq!(with_font(wide, &more, "<00220041005000510999>"), "Thefi");
    // Hebrew is shown from the left, and read from the right.
    let map = "1 beginbfrange <0001> <0004> [<05DD> <05D5> <05DC> <05E9>] endbfrange";
    let more = [below, stream("", map)];
    assert_eq!(with_font(wide, &more, "<0001000200030004>"), "\u{5e9}\u{5dc}\u{5d5}\u{5dd}");
    let named = "<< /Type /Font /Subtype /Type1 /BaseFont /CMR10 /FontDescriptor 7 0 R >>";
    let head = "%!PS-AdobeFont\n/Encoding 256 array dup 12 /fi put dup 104 /angbracketleft put readonly def\ncurrentfile eexec";
    let more = ["<< /Type /FontDescriptor /FontFile 8 0 R >>".into(), stream("", head)];
    let text = with_font(named, &more, "(de\\014ne h)");
    assert!(text == "de\u{fb01}ne \u{2329}" || text == "de\u{fb01}ne \u{27e8}", "{text}");
}

#[test]
fn damaged_files_give_poorer_pages() {
    let whole = two_lines();
    for n in (0..whole.len()).step_by(7) {
        assert_eq!(read(&whole[..n.max(5)]).kind, PageKind::Pdf);
        let mut damaged = whole.clone();
        damaged[n] ^= 0x15;
        read(&damaged);
    }
    assert!(read(b"%PDF-1.4 nothing here").cut);
}

#[test]
fn a_page_tree_that_bites_its_tail() {
    let p = read(&pdf(&[
        "<< /Type /Catalog /Pages 2 0 R >>".into(),
        "<< /Type /Pages /Kids [2 0 R 2 0 R] /Count 2 /Parent 2 0 R >>".into(),
    ]));
    assert_eq!(p.text, "");
}
