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
