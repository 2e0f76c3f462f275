//! From a planned page to the bytes of its answer: layouts, broken markup, charsets, PDF and pictures.

use super::plan::{CopyOf, Host, Layout, LinkTarget, Node, NodeId, OutLink, Plan, Quirk};
use super::text::{Genre, Part, Rng, Subjects, write};
use super::words::LANGUAGES;
use crate::reply::{Reply, escape};
use std::fmt::Write;

/// Size of the huge page in bytes, at least.
pub const HUGE: usize = 3 << 20;

/// The answer for a page when all is well (delays and passing failures are the site's business).
pub fn page(plan: &Plan, id: NodeId) -> Reply {
    let Some(node) = plan.nodes.get(id as usize) else { return Reply::not_found() };
    if let CopyOf::Exactly(original) = node.copy {
        return page(plan, original);
    }
    let Some(host) = plan.hosts.get(node.host as usize) else { return Reply::not_found() };
    match &node.quirk {
        Quirk::Redirect(status, Some(location)) => return Reply::redirect(*status, location),
        Quirk::Redirect(status, None) => return Reply { status: *status, ..Reply::html("Moved.") },
        Quirk::Status(status) => {
            return Reply {
                status: *status,
                ..Reply::html(format!("<h1>Error {status}</h1><p>Try again later.</p>"))
            };
        }
        Quirk::Empty => return Reply::html(""),
        Quirk::Image => return Reply::new(200, "image/png", PIXEL),
        Quirk::LyingType => return Reply::html(PIXEL),
        Quirk::Pdf => return Reply::new(200, "application/pdf", pdf(&lines(plan, node, id))),
        _ => {}
    }
    let html = html(plan, host, node, id);
    let reply = match node.quirk {
        Quirk::Latin1 => Reply::new(200, "text/html", latin1(&html)),
        Quirk::Latin1AsUtf8 => Reply::html(latin1(&html)),
        Quirk::Utf8AsLatin1 => Reply::new(200, "text/html", html),
        _ => Reply::html(html),
    };
    let tag = Rng::named(plan.seed, &format!("{} {}", plan.url(id), reply.body.len())).next();
    let reply =
        reply.with("etag", format!("\"{tag:016x}\"")).with("last-modified", "Sun, 01 Nov 2026 08:00:00 GMT");
    Reply { gzip: host.gzip, ..reply }
}

fn parts(plan: &Plan, node: &Node, id: NodeId) -> Vec<Part> {
    let (source, near) = match node.copy {
        CopyOf::Nearly(original) => (original, true),
        _ => (id, false),
    };
    let Some(of) = plan.nodes.get(source as usize) else { return Vec::new() };
    let institution = plan.hosts.get(of.host as usize).map_or("", |h| h.institution.as_str());
    let what = Subjects { genre: of.genre, subject: of.subject, language: of.language, institution };
    let mut parts = write(what, &mut Rng::named(plan.seed, &plan.url(source)));
    if near {
        parts.push(Part::Paragraph(format!(
            "This is an earlier edition, kept for reference: {}.",
            node.title
        )));
    }
    parts
}

fn lines(plan: &Plan, node: &Node, id: NodeId) -> Vec<String> {
    let mut out = vec![node.title.clone()];
    for part in parts(plan, node, id) {
        match part {
            Part::Heading(s) | Part::Paragraph(s) => out.push(s),
            Part::Items(items) => out.extend(items),
        }
    }
    out
}

fn html(plan: &Plan, host: &Host, node: &Node, id: NodeId) -> String {
    let mut out = String::with_capacity(4096);
    let language = node.language.and_then(|l| LANGUAGES.get(l)).map_or("en", |l| l.code);
    let old = host.layout == Layout::Nineties;
    if old {
        out.push_str("<HTML><HEAD>\n");
    } else {
        let _ = write!(out, "<!DOCTYPE html>\n<html lang=\"{language}\">\n<head>\n");
    }
    match node.quirk {
        Quirk::Latin1 | Quirk::Utf8AsLatin1 => {
            out.push_str("<meta http-equiv=\"Content-Type\" content=\"text/html; charset=iso-8859-1\">\n");
        }
        Quirk::Latin1AsUtf8 => {}
        _ => out.push_str("<meta charset=\"utf-8\">\n"),
    }
    let _ = writeln!(out, "<title>{}</title>", escape(&node.title));
    let robots = match (node.noindex, node.nofollow) {
        (true, true) => "noindex, nofollow",
        (true, false) => "noindex",
        (false, true) => "nofollow",
        _ => "",
    };
    if !robots.is_empty() {
        let _ = writeln!(out, "<meta name=\"robots\" content=\"{robots}\">");
    }
    if node.quirk == Quirk::Refresh
        && let Some(to) = node.links.first().and_then(|l| l.to.node())
    {
        let _ = writeln!(out, "<meta http-equiv=\"refresh\" content=\"0; url={}\">", escape(&plan.url(to)));
    }
    let base = match (&node.quirk, node.links.first().and_then(|l| l.to.node())) {
        (Quirk::Base, Some(to)) => {
            let url = plan.url(to);
            let folder = url.rsplit_once('/').map_or("", |(folder, _)| folder).to_string();
            let _ = writeln!(out, "<base href=\"{}/\">", escape(&folder));
            Some(folder)
        }
        _ => None,
    };
    if node.quirk == Quirk::Frames {
        let _ = writeln!(out, "</head><frameset cols=\"20%,80%\">");
        for link in &node.links {
            let _ = writeln!(
                out,
                "<frame name=\"{}\" src=\"{}\">",
                escape(&link.anchor),
                escape(&href(plan, node, &link.to, None))
            );
        }
        out.push_str("<noframes>Your browser does not show frames.</noframes></frameset></html>\n");
        return out;
    }
    out.push_str(if old {
        "</HEAD><BODY BGCOLOR=white>\n"
    } else {
        "<style>nav{float:left}</style>\n</head>\n<body>\n"
    });
    navigation(&mut out, plan, host, node, base.as_deref());
    out.push_str(match host.layout {
        Layout::Modern => "<main>\n",
        Layout::Divs => "<div id=\"content\" class=\"main\">\n",
        Layout::Nineties => "<TD VALIGN=top>\n",
    });
    content(&mut out, plan, node, id, base.as_deref());
    let year = 2026;
    let _ = match host.layout {
        Layout::Modern => writeln!(
            out,
            "</main>\n<footer>&copy; {year} {} &middot; All rights reserved</footer>",
            escape(&host.institution)
        ),
        Layout::Divs => {
            writeln!(out, "</div>\n<div class=\"footer\">&copy; {year} {}</div>", escape(&host.institution))
        }
        Layout::Nineties => {
            writeln!(out, "</TD></TR></TABLE>\n<HR><I>Last changed {year}, {}</I>", escape(&host.institution))
        }
    };
    out.push_str(if old { "</BODY></HTML>\n" } else { "</body>\n</html>\n" });
    if node.quirk == Quirk::WrongNesting {
        // A form around everything, closed too early; bold and italics crossed.
        out = out
            .replace("<main>", "<form action=\"/search\"><b><main><i>")
            .replace("<p>", "<p><table><b><i>")
            .replace("</p>", "</b></i></p>");
        out = out.replace("<ul>", "</form><ul><div>").replace("</h2>", "</h3>");
    }
    out
}

fn navigation(out: &mut String, plan: &Plan, host: &Host, node: &Node, base: Option<&str>) {
    let (open, item, close_item, close) = match host.layout {
        Layout::Modern => {
            let _ = writeln!(out, "<header><p>{}</p></header>", escape(&host.institution));
            ("<nav><ul>", "<li>", "</li>", "</ul></nav>")
        }
        Layout::Divs => ("<div class=\"nav\">", "<span>", "</span> | ", "</div>"),
        Layout::Nineties => ("<TABLE WIDTH=100%><TR><TD WIDTH=120 VALIGN=top>", "<LI>", "", "</TD>"),
    };
    out.push_str(open);
    for link in &host.nav {
        out.push_str(item);
        anchor(out, plan, node, link, base);
        out.push_str(close_item);
    }
    out.push_str(close);
    out.push('\n');
}

fn content(out: &mut String, plan: &Plan, node: &Node, id: NodeId, base: Option<&str>) {
    let unclosed = node.quirk == Quirk::Unclosed;
    let (end_p, end_li, end_ul) = if unclosed { ("", "", "") } else { ("</p>", "</li>", "</ul>") };
    let _ = writeln!(out, "<h1>{}</h1>", escape(&node.title));
    for part in parts(plan, node, id) {
        let _ = match part {
            Part::Heading(s) if unclosed => writeln!(out, "<h2 class=\"x>{}", escape(&s))
                .and_then(|()| writeln!(out, "\"><b>{}", escape(&s))),
            Part::Heading(s) => writeln!(out, "<h2>{}</h2>", escape(&s)),
            Part::Paragraph(s) if unclosed => writeln!(out, "<p>if a < b & c > d<p>{s}"),
            Part::Paragraph(s) => writeln!(out, "<p>{}{end_p}", escape(&s)),
            Part::Items(items) => {
                out.push_str("<ul>\n");
                for item in items {
                    let _ = writeln!(out, "<li>{}{end_li}", escape(&item));
                }
                writeln!(out, "{end_ul}")
            }
        };
    }
    if node.quirk == Quirk::Huge {
        let mut rng = Rng::named(plan.seed, "huge");
        let mut n = 0;
        while out.len() < HUGE {
            n += 1;
            let (a, b, year) = (rng.person(), rng.person(), 1970 + rng.below(56));
            let _ = writeln!(
                out,
                "<p id=\"e{n}\">[{n}] {a} and {b}: On the matter of item {}, {year}.</p>",
                rng.below(100_000)
            );
        }
    }
    if node.links.is_empty() {
        return;
    }
    if node.genre == Genre::Hub {
        out.push_str("<ul>\n");
        for link in &node.links {
            out.push_str("<li>");
            anchor(out, plan, node, link, base);
            let _ = writeln!(out, "{end_li}");
        }
        let _ = writeln!(out, "{end_ul}");
    } else {
        for link in &node.links {
            out.push_str("<p>See: ");
            anchor(out, plan, node, link, base);
            let _ = writeln!(out, ".{end_p}");
        }
    }
}

fn anchor(out: &mut String, plan: &Plan, node: &Node, link: &OutLink, base: Option<&str>) {
    let rel = if link.nofollow { " rel=\"nofollow\"" } else { "" };
    let _ = write!(
        out,
        "<a href=\"{}\"{rel}>{}</a>",
        escape(&href(plan, node, &link.to, base)),
        escape(&link.anchor)
    );
}

/// How a link is written: short inside a folder, from the root inside a host, absolute elsewhere.
fn href(plan: &Plan, from: &Node, to: &LinkTarget, base: Option<&str>) -> String {
    let (id, query) = match to {
        LinkTarget::Raw(href) => return href.clone(),
        LinkTarget::Node(id) => (*id, ""),
        LinkTarget::Tracked(id) => (*id, "utm_source=related&utm_medium=web"),
    };
    let url = plan.url(id);
    let query = match (query, url.contains('?')) {
        ("", _) => String::new(),
        (q, true) => format!("&{q}"),
        (q, false) => format!("?{q}"),
    };
    let Some(target) = plan.nodes.get(id as usize) else { return url };
    if let Some(base) = base {
        return url.strip_prefix(base).map_or(url.clone(), |rest| rest.trim_start_matches('/').to_string());
    }
    if target.host != from.host {
        return url + &query;
    }
    let folder = from.path.rsplit_once('/').map_or("", |(folder, _)| folder);
    match target.path.strip_prefix(folder).and_then(|rest| rest.strip_prefix('/')) {
        // The root's folder is empty: `/x` is as short as `x`, and an empty href would mean the page itself.
        Some(rest) if !folder.is_empty() && !rest.is_empty() => format!("{rest}{query}"),
        _ => format!("{}{query}", target.path),
    }
}

/// Latin-1 bytes; what does not fit becomes `?`.
fn latin1(s: &str) -> Vec<u8> {
    s.chars().map(|c| u8::try_from(u32::from(c)).unwrap_or(b'?')).collect()
}

/// A small, correct PDF 1.4 file with these lines of text on its pages.
pub fn pdf(lines: &[String]) -> Vec<u8> {
    // Lines wrapped at 90 characters, 48 lines to a page, so that everything is on the paper.
    let mut wrapped: Vec<String> = Vec::new();
    for line in lines {
        let mut current = String::new();
        for word in line.split_whitespace() {
            if !current.is_empty() && current.chars().count() + 1 + word.chars().count() > 90 {
                wrapped.push(std::mem::take(&mut current));
            }
            if !current.is_empty() {
                current.push(' ');
            }
            current.push_str(word);
        }
        wrapped.push(current);
    }
    let pages: Vec<&[String]> = if wrapped.is_empty() { vec![&[]] } else { wrapped.chunks(48).collect() };
    let mut out = b"%PDF-1.4\n".to_vec();
    let mut offsets = Vec::new();
    let mut object = |out: &mut Vec<u8>, body: &[u8]| {
        offsets.push(out.len());
        out.extend_from_slice(format!("{} 0 obj\n", offsets.len()).as_bytes());
        out.extend_from_slice(body);
        out.extend_from_slice(b"\nendobj\n");
    };
    let kids: Vec<String> = (0..pages.len()).map(|i| format!("{} 0 R", 4 + 2 * i)).collect();
    object(&mut out, b"<< /Type /Catalog /Pages 2 0 R >>");
    object(
        &mut out,
        format!("<< /Type /Pages /Kids [{}] /Count {} >>", kids.join(" "), pages.len()).as_bytes(),
    );
    object(&mut out, b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>");
    for (i, page) in pages.iter().enumerate() {
        let head = format!(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Resources << /Font << /F1 3 0 R >> >> \
             /Contents {} 0 R >>",
            5 + 2 * i
        );
        object(&mut out, head.as_bytes());
        let mut text = b"BT /F1 10 Tf 14 TL 50 790 Td\n".to_vec();
        for line in *page {
            text.push(b'(');
            for byte in latin1(line) {
                if matches!(byte, b'(' | b')' | b'\\') {
                    text.push(b'\\');
                }
                text.push(byte);
            }
            text.extend_from_slice(b") Tj T*\n");
        }
        text.extend_from_slice(b"ET");
        let mut stream = format!("<< /Length {} >>\nstream\n", text.len()).into_bytes();
        stream.extend_from_slice(&text);
        stream.extend_from_slice(b"\nendstream");
        object(&mut out, &stream);
    }
    let start = out.len();
    out.extend_from_slice(format!("xref\n0 {}\n0000000000 65535 f \n", offsets.len() + 1).as_bytes());
    for offset in &offsets {
        out.extend_from_slice(format!("{offset:010} 00000 n \n").as_bytes());
    }
    let trailer =
        format!("trailer\n<< /Size {} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n", offsets.len() + 1);
    out.extend_from_slice(trailer.as_bytes());
    out
}

/// A picture of one grey point.
pub const PIXEL: &[u8] =
    b"\x89\x50\x4e\x47\x0d\x0a\x1a\x0a\x00\x00\x00\x0d\x49\x48\x44\x52\x00\x00\x00\x01\x00\x00\
    \x00\x01\x08\x00\x00\x00\x00\x3a\x7e\x9b\x55\x00\x00\x00\x0a\x49\x44\x41\x54\x78\xda\x63\
    \x68\x00\x00\x00\x82\x00\x81\xda\x45\x08\x3b\x00\x00\x00\x00\x49\x45\x4e\x44\xae\x42\x60\
    \x82";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pdf_is_well_formed() {
        let text: Vec<String> = (0..200)
            .map(|i| format!("Line {i} (with brackets) and a back\\slash, {}", "word ".repeat(i % 40)))
            .collect();
        let file = pdf(&text);
        let body = String::from_utf8_lossy(&file);
        let start: usize =
            body.rsplit("startxref\n").next().unwrap().lines().next().unwrap().parse().unwrap();
        let table = &body[start..];
        assert!(table.starts_with("xref\n0 "));
        let offsets: Vec<usize> =
            table.lines().filter(|l| l.ends_with(" n ")).map(|l| l[..10].parse().unwrap()).collect();
        assert!(offsets.len() > 8, "several pages");
        for (i, &offset) in offsets.iter().enumerate() {
            assert!(file[offset..].starts_with(format!("{} 0 obj\n", i + 1).as_bytes()), "object {}", i + 1);
        }
        for part in body.split("/Length ").skip(1) {
            let length: usize = part.split(' ').next().unwrap().parse().unwrap();
            let stream = part.split_once("stream\n").unwrap().1;
            assert_eq!(&stream[length..length + 10], "\nendstream");
        }
        assert!(body.contains("\\(with brackets\\)") && body.contains("back\\\\slash"));
        assert!(pdf(&[]).ends_with(b"%%EOF\n"));
    }
}
