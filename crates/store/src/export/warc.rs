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
    needs_markdown: false,
    folder: None,
    beside: None,
    binary: true,
    open: |out, options| {
        let mut out = BufWriter::new(out);
        out.write_all(&warcinfo(options)?).map_err(cannot_write)?;
        Ok(Box::new(Subset::new(out, options)))
    },
};

/// The record that a file of chosen pages begins with.
pub(super) fn warcinfo(options: &Options) -> Result<Vec<u8>, Problem> {
    let mut info = options.info.clone();
    info.push(("description".into(), "a subset of a collection".into()));
    // The record's id comes from what is named here; the export itself may be a pipe and have no name.
    let name = match &options.archive {
        Some(archive) => format!("subset of {}", archive.display()),
        None => "subset of a shared crawl".into(),
    };
    Composer::new(ComposerSettings::default()).warcinfo(&name, None, options.now, &info)
}

/// Pages whose records cannot be read.
#[derive(Default)]
pub(super) struct Losses {
    pages: u64,
    /// Why the first of them cannot.
    why: Option<Problem>,
}

impl Losses {
    /// A file that is damaged or gone costs the pages it had, not those behind them. A bucket that is away is
    /// another matter.
    pub fn take(&mut self, at: &ArchiveRef, problem: Problem) -> Result<(), Problem> {
        if Address::is_one(&at.file) || problem.kind() != ProblemKind::Failed {
            return Err(problem);
        }
        self.pages += 1;
        self.why.get_or_insert(problem);
        Ok(())
    }

    /// What is missing.
    pub fn told(&self) -> Option<Problem> {
        let why = self.why.as_ref()?;
        let pages = if self.pages == 1 { "1 page is" } else { &format!("{} pages are", self.pages) };
        let problem = Problem::new(format!("{pages} not in the export"));
        let problem = problem.because(why.to_string().replace("\n\nhint: ", "; "));
        Some(
            problem.hint(
                "the others were written; the text of every page is in the other formats (--format jsonl)",
            ),
        )
    }
}

/// Copies archived answers into one file.
pub(super) struct Subset<W: Write> {
    pub out: W,
    pub archive: Stacks,
    /// What was copied: several revisits may bring the same original.
    copied: HashSet<(String, u64)>,
    pub losses: Losses,
}

impl<W: Write> Subset<W> {
    pub fn new(out: W, options: &Options) -> Subset<W> {
        let archive = Stacks::new(options.archive.clone()).reading_on();
        Subset { out, archive, copied: HashSet::new(), losses: Losses::default() }
    }

    /// Was this record copied?
    pub fn has(&self, at: &ArchiveRef) -> bool {
        self.copied.contains(&(at.file.clone(), at.offset))
    }

    /// Copies the record at this address and those that belong to it. `false`: it is lost.
    pub fn copy(&mut self, at: &ArchiveRef) -> Result<bool, Problem> {
        if !self.copied.insert((at.file.clone(), at.offset)) {
            return Ok(true);
        }
        match self.archive.copy_exchange(at, &mut self.out) {
            Ok(copied) => copied.map(|()| true).map_err(cannot_write),
            Err(unreadable) => self.losses.take(at, unreadable).map(|()| false),
        }
    }
}

impl Exporter for Subset<BufWriter<Output>> {
    fn write(&mut self, row: &Row) -> Result<(), Problem> {
        let Some(at) = &row.record.archive else { return Ok(()) };
        for at in row.original.into_iter().chain([at]) {
            if !self.copy(at)? {
                break;
            }
        }
        Ok(())
    }

    fn missing(&self) -> Option<Problem> {
        self.losses.told()
    }

    fn finish(mut self: Box<Self>) -> Result<(), Problem> {
        self.out.flush().map_err(cannot_write)
    }
}
