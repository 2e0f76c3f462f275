//! A CDXJ index of the chosen pages: where each is in the collection's own archive files. pywb and its like
//! serve the files with it.

use super::warc::Losses;
use super::{Exporter, Format, Output, Row, cannot_write};
use crate::archive::{CdxLine, Limits, Stacks};
use std::collections::HashSet;
use std::io::Write;
use types::Problem;

/// Of an archived answer as much as its head may take.
pub(super) const HEAD: Limits = Limits { head: 256 << 10, block: 256 << 10 };

pub const FORMAT: Format = Format {
    name: "cdxj",
    summary: "an index of the collection's archive files, for pywb and other replay tools",
    extension: "cdxj",
    binary: false,
    needs_markdown: false,
    folder: None,
    beside: None,
    open: |out, options| {
        let archive = Stacks::new(options.archive.clone()).reading_on();
        Ok(Box::new(Index {
            out,
            archive,
            lines: Vec::new(),
            seen: HashSet::new(),
            losses: Losses::default(),
        }))
    },
};

struct Index {
    out: Output,
    archive: Stacks,
    lines: Vec<CdxLine>,
    seen: HashSet<(String, u64)>,
    losses: Losses,
}

impl Exporter for Index {
    fn write(&mut self, row: &Row) -> Result<(), Problem> {
        let Some(at) = &row.record.archive else { return Ok(()) };
        for at in row.original.into_iter().chain([at]) {
            if !self.seen.insert((at.file.clone(), at.offset)) {
                continue;
            }
            match self.archive.record(at, HEAD) {
                Ok(record) => self.lines.extend(CdxLine::of(&record, &at.file, at.offset, at.length)),
                Err(problem) => return self.losses.take(at, problem),
            }
        }
        Ok(())
    }

    fn missing(&self) -> Option<Problem> {
        self.losses.told()
    }

    fn finish(mut self: Box<Self>) -> Result<(), Problem> {
        self.lines.sort();
        for line in &self.lines {
            writeln!(self.out, "{line}").map_err(cannot_write)?;
        }
        self.out.flush().map_err(cannot_write)
    }
}
