//! A WARC file of the chosen pages alone: the records are copied from the collection's archive byte for byte.
//!
//! A page that is archived as a revisit brings the page it refers to along, so the subset can be replayed by itself.

use super::{Exporter, Format, Options, Output, Row, cannot_write};
use crate::archive::{Composer, ComposerSettings, Limits, WarcReader};
use std::collections::HashSet;
use std::fs::File;
use std::io::{BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use types::{ArchiveRef, Problem};

pub const FORMAT: Format = Format {
    name: "warc",
    summary: "the archived requests and responses of the chosen pages (.warc.gz)",
    extension: "warc.gz",
    binary: true,
    open: |out, options| Ok(Box::new(Subset::new(out, options)?)),
};

struct Subset {
    out: BufWriter<Output>,
    archive: PathBuf,
    /// What was copied: several revisits may bring the same original.
    copied: HashSet<(String, u64)>,
}

impl Subset {
    fn new(out: Output, options: &Options) -> Result<Subset, Problem> {
        let Some(archive) = options.archive.clone() else {
            return Err(Problem::usage("a WARC export needs the collection's archive")
                .hint("this collection was crawled without one; export to jsonl, csv or parquet instead"));
        };
        let mut info = options.info.clone();
        info.push(("description".into(), "a subset of a collection".into()));
        // The record's id comes from what is named here; the export itself may be a pipe and have no name.
        let name = format!("subset of {}", archive.display());
        let warcinfo =
            Composer::new(ComposerSettings::default()).warcinfo(&name, None, options.now, &info)?;
        let mut out = BufWriter::new(out);
        out.write_all(&warcinfo).map_err(cannot_write)?;
        Ok(Subset { out, archive, copied: HashSet::new() })
    }

    /// Copies the record at this address and those that belong to it.
    fn copy(&mut self, at: &ArchiveRef) -> Result<(), Problem> {
        if !self.copied.insert((at.file.clone(), at.offset)) {
            return Ok(());
        }
        // The name comes from the ledger; it must not lead out of the folder.
        if at.file.contains(['/', '\\']) || at.file.starts_with("..") {
            return Err(Problem::new(format!("`{}` is not the name of an archive file", at.file))
                .hint("the ledger is damaged"));
        }
        let path = self.archive.join(&at.file);
        let end = end_of_exchange(&path, at.offset)?;
        let mut file = File::open(&path).map_err(|e| Problem::io("open", &path, &e))?;
        file.seek(SeekFrom::Start(at.offset)).map_err(|e| Problem::io("read", &path, &e))?;
        std::io::copy(&mut file.take(end - at.offset), &mut self.out).map_err(cannot_write)?;
        Ok(())
    }
}

/// Where the records of the exchange that starts at `offset` end.
fn end_of_exchange(path: &Path, offset: u64) -> Result<u64, Problem> {
    let damaged = |why: String| {
        Problem::new(format!("cannot copy a page from {}", path.display()))
            .because(why)
            .hint("the archive is damaged or was changed since the crawl")
    };
    // Only heads matter here, so blocks may be passed over.
    let limits = Limits { block: 0, ..Limits::default() };
    let mut records = WarcReader::open_at(path, offset, limits)?;
    let first = match records.next() {
        Some(Ok(record)) => record,
        Some(Err(e)) => return Err(damaged(e.to_string())),
        None => return Err(damaged(format!("there is no record at byte {offset}"))),
    };
    if !matches!(first.kind().as_str(), "response" | "revisit") || !first.addressable {
        return Err(damaged(format!("at byte {offset} is no response of its own")));
    }
    let id = first.header("WARC-Record-ID");
    let mut end = first.offset + first.length;
    // An error here lies behind the page: someone else's, or a record being written just now.
    for record in records.map_while(Result::ok) {
        if record.header("WARC-Concurrent-To") != id || !record.addressable {
            break;
        }
        end = record.offset + record.length;
    }
    Ok(end)
}

impl Exporter for Subset {
    fn write(&mut self, row: &Row) -> Result<(), Problem> {
        let Some(at) = &row.record.archive else { return Ok(()) };
        if let Some(original) = row.original {
            self.copy(original)?;
        }
        self.copy(at)
    }

    fn finish(mut self: Box<Self>) -> Result<(), Problem> {
        self.out.flush().map_err(cannot_write)
    }
}
