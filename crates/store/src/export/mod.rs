//! How do pages leave a collection? One exporter per format, one list, one table of columns.
//!
//! CONTRIBUTING.md says how to add one. Whatever shows columns reads [`COLUMNS`], so a new column appears in
//! every format by itself.

mod bulk;
mod cdxj;
mod chunks;
mod columns;
mod csv;
mod jsonl;
mod markdown;
mod parquet;
mod rss;
mod wacz;
mod warc;

#[cfg(test)]
mod tests;

pub use chunks::ChunkSize;
pub use columns::{COLUMNS, Column, Kind, Value};
pub use markdown::FRONT_MATTER;

use std::io::Write;
use std::path::PathBuf;
use types::{ArchiveRef, Millis, Problem, Record};

/// One page, with the ids in its record resolved.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    /// The page itself.
    pub record: &'a Record,
    /// Address of the page it was found on.
    pub parent: Option<&'a str>,
    /// Address of an earlier page with the same payload.
    pub duplicate_of: Option<&'a str>,
    /// Address of an earlier page with nearly the same text.
    pub near_duplicate_of: Option<&'a str>,
    /// What was said of it, and by whom (`person`, `model`).
    pub label: Option<(bool, &'a str)>,
    /// The page's own text as Markdown; only when it is asked for, because the page is read again for it.
    pub markdown: Option<&'a str>,
    /// Where the page this one duplicates is archived: a revisit record is of no use without it.
    pub original: Option<&'a ArchiveRef>,
}

/// Writes pages in one format. `finish` must be called: some formats have an end.
pub trait Exporter: Send {
    /// Adds one page.
    fn write(&mut self, row: &Row) -> Result<(), Problem>;
    /// The pages that could not be copied: the export goes on without them.
    fn missing(&self) -> Option<Problem> {
        None
    }
    /// Writes what the format has at its end. A file that was not finished may be unreadable.
    fn finish(self: Box<Self>) -> Result<(), Problem>;
}

/// What an exporter may need besides the rows.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The collection's folder of WARC files, if this machine has it. What is in a bucket is read from there.
    pub archive: Option<PathBuf>,
    /// CSV: cells exactly as they are. Else those that a spreadsheet would take for a formula get a `'` in
    /// front.
    pub raw: bool,
    /// When the export is made, for formats that say so.
    pub now: Millis,
    /// Further fields of the WARC subset's `warcinfo` record.
    pub info: Vec<(String, String)>,
    /// Which columns, in this order; `None`: all of [`COLUMNS`] but [`ON_REQUEST`].
    pub columns: Option<Vec<&'static Column>>,
    /// What the collection is called, for formats that have a title.
    pub title: String,
    /// Of [`chunks`](ChunkSize).
    pub chunk: ChunkSize,
}

/// Columns that are written only when they are named: each costs a second look at the page.
pub const ON_REQUEST: &[&str] = &["markdown"];

impl Options {
    fn columns(&self) -> Vec<&'static Column> {
        let usual = || COLUMNS.iter().filter(|c| !ON_REQUEST.contains(&c.name)).collect();
        self.columns.clone().unwrap_or_else(usual)
    }

    /// The columns that are asked for, or these; without those in `never`.
    fn columns_or(&self, usual: &[&str], never: &[&str]) -> Vec<&'static Column> {
        let named = || COLUMNS.iter().filter(|c| usual.contains(&c.name)).collect();
        let mut chosen: Vec<&'static Column> = self.columns.clone().unwrap_or_else(named);
        chosen.retain(|c| !never.contains(&c.name));
        chosen
    }
}

/// The columns of these names, separated by commas.
pub fn columns(names: &str) -> Result<Vec<&'static Column>, Problem> {
    let all: Vec<&str> = COLUMNS.iter().map(|c| c.name).collect();
    let unknown = |name: &str| {
        Problem::usage(format!("there is no column `{name}`")).hint(format!("columns: {}", all.join(", ")))
    };
    let mut chosen: Vec<&'static Column> = Vec::new();
    for name in names.split(',').map(str::trim).filter(|n| !n.is_empty()) {
        let column = COLUMNS.iter().find(|c| c.name == name).ok_or_else(|| unknown(name))?;
        if chosen.iter().any(|c| c.name == name) {
            return Err(Problem::usage(format!("column `{name}` is named twice")));
        }
        chosen.push(column);
    }
    if chosen.is_empty() {
        return Err(Problem::usage("no column is named").hint(format!("columns: {}", all.join(", "))));
    }
    Ok(chosen)
}

/// Where an export goes: a file, or standard output.
pub type Output = Box<dyn Write + Send>;

/// An export format.
pub struct Format {
    /// As the user names it after `--format`.
    pub name: &'static str,
    /// One line for the help text.
    pub summary: &'static str,
    /// Ending of file names, without the dot.
    pub extension: &'static str,
    /// Bytes that a terminal should not be shown.
    pub binary: bool,
    /// [`Row::markdown`] must be there.
    pub needs_markdown: bool,
    /// Begins a folder with a file per page, if the format has such a form.
    pub folder: Option<fn(PathBuf, &Options) -> Result<Box<dyn Exporter>, Problem>>,
    /// A file that belongs beside the output: the ending of its name, and its text.
    pub beside: Option<(&'static str, fn(&Options) -> String)>,
    /// Begins a file.
    pub open: fn(Output, &Options) -> Result<Box<dyn Exporter>, Problem>,
}

impl Format {
    /// Does a file of this format with these columns need [`Row::markdown`]?
    pub fn wants_markdown(&self, columns: Option<&[&'static Column]>) -> bool {
        self.needs_markdown || columns.is_some_and(|c| c.iter().any(|c| c.name == "markdown"))
    }
}

/// Every export format there is.
pub const ALL: &[Format] = &[
    jsonl::FORMAT,
    csv::FORMAT,
    parquet::FORMAT,
    warc::FORMAT,
    markdown::FORMAT,
    chunks::FORMAT,
    bulk::FORMAT,
    rss::FORMAT,
    wacz::FORMAT,
    cdxj::FORMAT,
];

/// The names of all formats, in that order.
pub const NAMES: &[&str] = &{
    let mut names = [""; ALL.len()];
    let mut i = 0;
    while i < ALL.len() {
        names[i] = ALL[i].name;
        i += 1;
    }
    names
};

/// The format of this name.
pub fn find(name: &str) -> Result<&'static Format, Problem> {
    ALL.iter().find(|f| f.name == name).ok_or_else(|| {
        Problem::usage(format!("unknown export format `{name}`"))
            .hint(format!("choose one of: {}", NAMES.join(", ")))
    })
}

/// A name for a page that never changes: 16 hexadecimal digits made from its address.
fn page_id(url: &str) -> String {
    let mut id = crate::archive::Digest::of(&[url.as_bytes()]).hex();
    id.truncate(16);
    id
}

fn cannot_write(e: impl std::fmt::Display) -> Problem {
    Problem::new("cannot write the export")
        .because(e)
        .hint("check that the disk has space and the reader of the pipe is still there")
}
