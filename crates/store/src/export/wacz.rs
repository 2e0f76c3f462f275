//! WACZ 1.1.1: the archived pages with an index and a list of pages in one ZIP file, as replay tools open
//! them.
//!
//! ```text
//!  archive/data.warc.gz │ indexes/index.cdx.gz │ indexes/index.idx │ pages/pages.jsonl │ datapackage.json │ …
//! ```

use super::cdxj::HEAD;
use super::warc::{Subset, warcinfo};
use super::{Exporter, Format, Options, Output, Row, cannot_write, page_id};
use crate::archive::{CdxLine, rfc3339};
use crate::zip::ZipWriter;
use flate2::Compression;
use flate2::write::GzEncoder;
use ring::digest::{SHA256, digest};
use serde_json::json;
use std::io::{BufWriter, Write};
use types::{ArchiveRef, Problem};

const WARC: &str = "data.warc.gz";
const INDEX: &str = "index.cdx.gz";
/// Lines of the index that are compressed together.
const BLOCK: usize = 3_000;

pub const FORMAT: Format = Format {
    name: "wacz",
    summary: "the archived pages with an index, for replay in a browser (WACZ)",
    extension: "wacz",
    binary: true,
    needs_markdown: false,
    folder: None,
    beside: None,
    open: |out, options| Ok(Box::new(Wacz::new(out, options).map_err(cannot_write)??)),
};

struct Wacz {
    warc: Subset<ZipWriter<BufWriter<Output>>>,
    lines: Vec<CdxLine>,
    /// Lines of `pages.jsonl`.
    pages: String,
    title: String,
    created: String,
}

impl Wacz {
    fn new(out: Output, options: &Options) -> std::io::Result<Result<Wacz, Problem>> {
        let mut zip = ZipWriter::new(BufWriter::new(out));
        zip.begin(&format!("archive/{WARC}"))?;
        let info = match warcinfo(options) {
            Ok(info) => info,
            Err(problem) => return Ok(Err(problem)),
        };
        zip.write_all(&info)?;
        let head = json!({ "format": "json-pages-1.0", "id": "pages", "title": "All pages" });
        let title = if options.title.is_empty() { "A collection" } else { &options.title };
        Ok(Ok(Wacz {
            warc: Subset::new(zip, options),
            lines: Vec::new(),
            pages: format!("{head}\n"),
            title: title.into(),
            created: rfc3339(options.now),
        }))
    }

    /// Copies one archived answer and notes where it is. `false`: it is lost.
    fn copy(&mut self, at: &ArchiveRef) -> Result<bool, Problem> {
        if self.warc.has(at) {
            return Ok(true);
        }
        let record = match self.warc.archive.record(at, HEAD) {
            Ok(record) => record,
            Err(problem) => return self.warc.losses.take(at, problem).map(|()| false),
        };
        let offset = self.warc.out.position();
        let copied = self.warc.copy(at)?;
        if copied {
            self.lines.extend(CdxLine::of(&record, WARC, offset, at.length));
        }
        Ok(copied)
    }

    fn write_rest(self) -> std::io::Result<()> {
        let Wacz { warc, mut lines, pages, title, created } = self;
        let Subset { out: mut zip, .. } = warc;
        zip.end()?;
        lines.sort();
        let (index, parts) = compressed(&lines)?;
        zip.entry(&format!("indexes/{INDEX}"), &index)?;
        zip.entry("indexes/index.idx", parts.as_bytes())?;
        zip.entry("pages/pages.jsonl", pages.as_bytes())?;
        let resources: Vec<_> = zip
            .entries()
            .iter()
            .map(|e| {
                let name = e.name.rsplit('/').next().unwrap_or(&e.name);
                json!({ "name": name, "path": e.name, "hash": e.hash, "bytes": e.bytes })
            })
            .collect();
        let package = json!({
            "profile": "data-package",
            "wacz_version": "1.1.1",
            "title": title,
            "created": created,
            "software": concat!("gleaner ", env!("CARGO_PKG_VERSION")),
            "resources": resources,
        });
        zip.entry("datapackage.json", format!("{package:#}\n").as_bytes())?;
        let hash = zip.entries().last().map_or(String::new(), |e| e.hash.clone());
        let seal = json!({ "path": "datapackage.json", "hash": hash });
        zip.entry("datapackage-digest.json", format!("{seal:#}\n").as_bytes())?;
        zip.finish()
    }
}

/// The index in pieces that can be read alone, and the list of the pieces.
fn compressed(lines: &[CdxLine]) -> std::io::Result<(Vec<u8>, String)> {
    let meta = json!({ "format": "cdxj-gzip-1.0", "filename": INDEX });
    let (mut index, mut parts) = (Vec::new(), format!("!meta 0 {meta}\n"));
    for block in lines.chunks(BLOCK) {
        let mut member = GzEncoder::new(Vec::new(), Compression::default());
        for line in block {
            writeln!(member, "{line}")?;
        }
        let member = member.finish()?;
        let sha = crate::archive::digest::hex(digest(&SHA256, &member).as_ref());
        let place = json!({
            "offset": index.len(),
            "length": member.len(),
            "digest": format!("sha256:{sha}"),
            "filename": INDEX,
        });
        if let Some(first) = block.first() {
            parts += &format!("{} {} {place}\n", first.key, first.time);
        }
        index.extend(member);
    }
    if index.is_empty() {
        index = GzEncoder::new(Vec::new(), Compression::default()).finish()?;
    }
    Ok((index, parts))
}

impl Exporter for Wacz {
    fn write(&mut self, row: &Row) -> Result<(), Problem> {
        let Some(at) = &row.record.archive else { return Ok(()) };
        for at in row.original.into_iter().chain([at]) {
            if !self.copy(at)? {
                return Ok(());
            }
        }
        let r = row.record;
        let page = json!({
            "id": page_id(&r.url),
            "url": r.url,
            "ts": rfc3339(r.fetched),
            "title": if r.title.is_empty() { &r.url } else { &r.title },
        });
        self.pages += &format!("{page}\n");
        Ok(())
    }

    fn missing(&self) -> Option<Problem> {
        self.warc.losses.told()
    }

    fn finish(self: Box<Self>) -> Result<(), Problem> {
        self.write_rest().map_err(cannot_write)
    }
}
