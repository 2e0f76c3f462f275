//! Writing a collection's pages in a format others read: for `gleaner export` and for the dashboard.

use crawl::reader::Reader;
use store::export::{Exporter, Row};
use types::Problem;

/// Which pages are written.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// Also pages that were judged not relevant.
    pub all: bool,
    /// Also copies and near-copies of pages that are written.
    pub copies: bool,
    /// A page that cannot be read does not cost those behind it.
    pub skip_unreadable: bool,
}

/// What came of it.
#[derive(Debug, Default)]
pub struct Written {
    pub pages: u64,
    /// Left out: they ask not to be indexed.
    pub noindex: u64,
    /// Left out: copies of others in it.
    pub copies: u64,
    pub unreadable: Vec<Problem>,
}

/// Writes the pages and ends the file.
pub fn write(reader: &Reader, mut exporter: Box<dyn Exporter>, wanted: Wanted) -> Result<Written, Problem> {
    let mut written = Written::default();
    for record in reader.records(wanted.all) {
        let record = match record {
            Err(problem) if wanted.skip_unreadable => {
                written.unreadable.push(problem);
                continue;
            }
            record => record?,
        };
        if !wanted.all && !wanted.copies && !reader.is_counted(record.id) {
            written.copies += 1;
            continue;
        }
        if record.noindex {
            written.noindex += 1;
            continue;
        }
        let parent = record.parent.and_then(|id| reader.url(id));
        let duplicate_of = record.duplicate_of.and_then(|id| reader.url(id));
        let near_duplicate_of = record.near_duplicate_of.and_then(|id| reader.url(id));
        let original = match record.duplicate_of {
            Some(id) => reader.record(id).ok().flatten().and_then(|r| r.archive),
            None => None,
        };
        exporter.write(&Row {
            record: &record,
            parent: parent.as_deref(),
            duplicate_of: duplicate_of.as_deref(),
            near_duplicate_of: near_duplicate_of.as_deref(),
            label: reader.labels().label(record.id).map(|l| (l.relevant, l.who.name())),
            original: original.as_ref(),
        })?;
        written.pages += 1;
    }
    exporter.finish()?;
    Ok(written)
}
