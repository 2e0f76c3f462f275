//! A WARC file of the chosen pages alone: the records are copied from the collection's archive byte for byte.
//!
//! A page that is archived as a revisit brings the page it refers to along, so the subset can be replayed by
//! itself.

use super::{Exporter, Format, Options, Output, Row, cannot_write};
use crate::archive::{Composer, ComposerSettings, Stacks};
use crate::s3::Address;
use std::collections::HashSet;
use std::io::{BufWriter, Write};
use types::{ArchiveRef, Problem, ProblemKind};

pub const FORMAT: Format = Format {
    name: "warc",
    summary: "the archived requests and responses of the chosen pages (.warc.gz)",
    extension: "warc.gz",
    binary: true,
    open: |out, options| Ok(Box::new(Subset::new(out, options)?)),
};

struct Subset {
    out: BufWriter<Output>,
    archive: Stacks,
    /// What was copied: several revisits may bring the same original.
    copied: HashSet<(String, u64)>,
    /// Pages whose records could not be copied, and why the first of them.
    lost: u64,
    why: Option<Problem>,
}

impl Subset {
    fn new(out: Output, options: &Options) -> Result<Subset, Problem> {
        let mut info = options.info.clone();
        info.push(("description".into(), "a subset of a collection".into()));
        // The record's id comes from what is named here; the export itself may be a pipe and have no name.
        let name = match &options.archive {
            Some(archive) => format!("subset of {}", archive.display()),
            None => "subset of a shared crawl".into(),
        };
        let warcinfo =
            Composer::new(ComposerSettings::default()).warcinfo(&name, None, options.now, &info)?;
        let mut out = BufWriter::new(out);
        out.write_all(&warcinfo).map_err(cannot_write)?;
        let archive = Stacks::new(options.archive.clone()).reading_on();
        Ok(Subset { out, archive, copied: HashSet::new(), lost: 0, why: None })
    }

    /// Copies the record at this address and those that belong to it.
    /// `Ok(Err(_))`: it cannot be read.
    fn copy(&mut self, at: &ArchiveRef) -> Result<Result<(), Problem>, Problem> {
        if !self.copied.insert((at.file.clone(), at.offset)) {
            return Ok(Ok(()));
        }
        match self.archive.copy_exchange(at, &mut self.out) {
            Ok(copied) => copied.map(Ok).map_err(cannot_write),
            Err(unreadable) => Ok(Err(unreadable)),
        }
    }
}

impl Exporter for Subset {
    fn write(&mut self, row: &Row) -> Result<(), Problem> {
        let Some(at) = &row.record.archive else { return Ok(()) };
        for at in row.original.into_iter().chain([at]) {
            match self.copy(at)? {
                Ok(()) => {}
                // A file that is damaged or gone costs the pages it had, not those behind them. A bucket that
                // is away is another matter.
                Err(problem) if !Address::is_one(&at.file) && problem.kind() == ProblemKind::Failed => {
                    self.lost += 1;
                    self.why.get_or_insert(problem);
                    return Ok(());
                }
                Err(problem) => return Err(problem),
            }
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<(), Problem> {
        self.out.flush().map_err(cannot_write)?;
        let Some(why) = self.why else { return Ok(()) };
        let pages = if self.lost == 1 { "1 page is" } else { &format!("{} pages are", self.lost) };
        Err(Problem::new(format!("{pages} not in the export"))
            .because(why.to_string().replace("\n\nhint: ", "; "))
            .hint("the others were written; the text of every page is in the other formats (--format jsonl)"))
    }
}
