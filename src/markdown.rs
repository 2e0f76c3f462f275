//! Pages of a collection as Markdown: read again from the archive, without what is not theirs.

use crawl::documents::Documents;
use crawl::reader::Reader;
use crawl::stored;
use focus::text::{Doc, Repeats, TextOptions, word_hash};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use store::archive::Stacks;
use types::{Canon, Fetched, Page, Payload, Problem, Record, Span};

/// A menu is known from so many pages of a host.
const PAGES_PER_HOST: u32 = 50;

/// What many pages share is no menu if less than one part in so many would be left of a page.
const MENUS_AT_MOST: usize = 3;

/// Makes Markdown of a collection's pages.
pub struct Writer<'r> {
    reader: &'r Reader,
    archive: Stacks,
    /// What stands on many pages of a host.
    repeats: Repeats,
}

impl<'r> Writer<'r> {
    /// `archive`: the folder of archive files, if this machine has it.
    pub fn new(reader: &'r Reader, archive: Option<PathBuf>) -> Writer<'r> {
        let mut repeats = Repeats::default();
        let mut met: HashMap<u64, u32> = HashMap::new();
        let canon = Canon { drop_params: Vec::new(), max_length: usize::MAX };
        // A page that cannot be read is told of by whoever writes pages.
        for record in reader.records(true).flatten() {
            // The lines of a copy are those of its original, no menu.
            if record.duplicate_of.or(record.near_duplicate_of).or(reader.copy_of(record.id)).is_some() {
                continue;
            }
            let Ok(url) = canon.parse(&record.url) else { continue };
            let host = word_hash(url.host_key());
            let pages = met.entry(host).or_default();
            if *pages < PAGES_PER_HOST {
                *pages += 1;
                repeats.meet(host, Doc::new(stored::kept_page(&record), &TextOptions::default()).lines());
            }
        }
        Writer { reader, archive: Stacks::new(archive).reading_on(), repeats }
    }

    /// The page's own text. One that is not in the archive has the lines that were kept of it.
    pub fn markdown(&self, record: &Record) -> Result<String, Problem> {
        of_record(&self.archive, self.reader, record, Some(&self.repeats))
    }
}

/// As [`of_page`], of a page that was kept.
pub fn of_record(
    archive: &Stacks,
    reader: &Reader,
    record: &Record,
    repeats: Option<&Repeats>,
) -> Result<String, Problem> {
    let answer = stored::answer(archive, &**reader.ledger(), record)?;
    let page = match &answer.fetched.payload {
        Payload::Page(page) => page.clone(),
        _ => read(&answer.fetched).unwrap_or_else(|| stored::kept_page(record)),
    };
    Ok(of_page(page, &answer.fetched, repeats))
}

fn read(fetched: &Fetched) -> Option<Arc<Page>> {
    let (media, robots) = (fetched.header("content-type"), fetched.header("x-robots-tag"));
    let options = extract::Options::default();
    let page = Documents::usual().read(&fetched.url, media, robots, fetched.payload.decoded(), &options);
    page.ok().map(Arc::new)
}

/// The Markdown of a page's own lines. `repeats`: what other pages of its host have in common.
pub fn of_page(page: Arc<Page>, fetched: &Fetched, repeats: Option<&Repeats>) -> String {
    let own_lines = |doc: &Doc| doc.own_lines().map(|line| line.span).collect::<Vec<Span>>();
    let size = |lines: &[Span]| lines.iter().map(|l| l.len()).sum::<usize>();
    let doc = Doc::new(page, &TextOptions::default());
    let mut own = own_lines(&doc);
    if let Some(repeats) = repeats {
        let strict = Doc::new(doc.page.clone(), &TextOptions::default());
        strict.leave_out(repeats, word_hash(fetched.url.host_key()));
        let fewer = own_lines(&strict);
        // Pages that are nearly alike share more than menus.
        if MENUS_AT_MOST * size(&fewer) >= size(&own) {
            own = fewer;
        }
    }
    let body = fetched.payload.decoded();
    extract::markdown(&doc.page, fetched.header("content-type"), body, &own, &extract::Options::default())
}
