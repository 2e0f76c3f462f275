//! A page of a collection read again, as if it had just been fetched: from the archive byte for byte, or,
//! when there is none of it, from the text that was kept.

use std::sync::Arc;
use store::Records;
use store::archive::{HttpLimits, Limits, Stacks, http_message};
use types::{
    Block, Canon, Fetched, Format, Page, PageKind, Payload, Problem, Record, Region, Rendered, Span,
};

/// The answer that made this record. `from_archive` is false when only the kept text could be had.
pub struct Answer {
    /// As it was answered, or an answer made from the kept text.
    pub fetched: Fetched,
    /// The bytes are those of the archive.
    pub from_archive: bool,
}

type Headers = Vec<(String, String)>;

/// A rendered document as an archive has it: what the page asked for is kept beside it.
pub(crate) fn rendered_from(html: Vec<u8>) -> Arc<Rendered> {
    Arc::new(Rendered { html: html.into(), resources: Vec::new() })
}

/// Reads a record's page again. `archive`: where the collection's pages are.
pub fn answer(archive: &Stacks, store: &(impl Records + ?Sized), record: &Record) -> Result<Answer, Problem> {
    let url = Canon { drop_params: Vec::new(), max_length: usize::MAX }
        .parse(&record.url)
        .map_err(|e| Problem::new(format!("the ledger has a bad URL: {}", record.url)).because(e))?;
    let mut fetched = Fetched::empty(url.clone(), record.fetched);
    fetched.status = record.status;
    // A duplicate's own record in the archive has no body: its original's has.
    let originals = record.duplicate_of.map(|id| store.versions(id)).transpose()?.unwrap_or_default();
    let original = originals.into_iter().find(|version| version.digest == record.digest);
    let mut headers = None;
    for r in std::iter::once(record).chain(original.as_ref()) {
        let Some((head, body, rendered)) = from_archive(archive, r) else { continue };
        let headers = headers.get_or_insert(head);
        if !body.is_empty() {
            fetched.headers = headers.clone();
            fetched.wire_bytes = body.len() as u64;
            fetched.payload = Payload::plain(body);
            fetched.rendered = rendered;
            return Ok(Answer { fetched, from_archive: true });
        }
    }
    fetched.headers.push(("content-type".into(), record.media_type.clone()));
    fetched.payload = Payload::Page(Arc::new(Page { url: Some(url), ..page_of(record) }));
    Ok(Answer { fetched, from_archive: false })
}

/// A page as far as its record tells: its text, without links and without knowing what is a menu.
pub fn kept_page(record: &Record) -> Arc<Page> {
    let url = Canon { drop_params: Vec::new(), max_length: usize::MAX }.parse(&record.url).ok();
    Arc::new(Page { url, ..page_of(record) })
}

fn page_of(record: &Record) -> Page {
    Page {
        kind: Format::of_media_type(&record.media_type).map_or(PageKind::Html, |f| f.kind),
        charset: record.charset.clone(),
        title: record.title.clone(),
        description: record.description.clone(),
        language: record.language.clone(),
        blocks: vec![Block { span: Span::new(0, record.text.len()), region: Region::Body }],
        text: record.text.clone(),
        simhash: record.simhash,
        ..Page::default()
    }
}

/// Headers and decoded body of the record's response, and its rendered document. An archive that was moved
/// away or damaged is not fatal: the kept text stands in.
fn from_archive(archive: &Stacks, record: &Record) -> Option<(Headers, Vec<u8>, Option<Arc<Rendered>>)> {
    let at = record.archive.as_ref()?;
    let warc = archive.record(at, Limits::default()).ok()?;
    let message = http_message(&warc.block, &HttpLimits::default())?;
    let body = message.body.to_vec();
    let rendered = archive.rendered(at, &warc, Limits::default()).map(rendered_from);
    Some((message.headers, body, rendered))
}
