//! A page record as bytes: its fields by serde, its text compressed.

use super::codec::{In, Out};
use types::{Assessment, Problem, Record, UrlId};

/// Of the layout below and of `Record`'s fields; a new field needs a new version and a reader for the old
/// one.
pub const VERSION: u8 = 2;
/// Its records end before `about`: one that says nothing (an empty list and four empty texts) is put behind.
const BEFORE_ABOUT: u8 = 1;
const NO_ABOUT: [u8; 5] = [0; 5];

/// Everything but the id and the chain, which are known later.
pub fn page_body(mut record: Record) -> Result<Vec<u8>, String> {
    let text = std::mem::take(&mut record.text);
    let mut body = Vec::with_capacity(512 + text.len() / 2);
    let mut o = Out::new(&mut body);
    o.u8(VERSION);
    o.bytes(&postcard::to_allocvec(&record).map_err(|e| e.to_string())?);
    o.var(text.len() as u64);
    o.rest(&lz4_flex::block::compress(text.as_bytes()));
    Ok(body)
}

/// An assessment that is kept beside a later verdict.
pub fn assessment_bytes(assessment: &Assessment) -> Result<Vec<u8>, Problem> {
    postcard::to_allocvec(assessment).map_err(|e| Problem::new("an assessment cannot be kept").because(e))
}

pub fn put_page(o: &mut Out, id: UrlId, prev: u64, body: &[u8]) {
    o.u32(id.0);
    o.var(prev);
    o.rest(body);
}

/// The URL and the offset of its record before this one.
pub fn page_head(bytes: &[u8]) -> Option<(UrlId, u64)> {
    let mut r = In(bytes);
    Some((r.url_id()?, r.var()?))
}

pub fn get_page(bytes: &[u8]) -> Option<Record> {
    get_body(after_head(bytes)?)
}

/// What `page_body` made.
pub fn after_head(bytes: &[u8]) -> Option<&[u8]> {
    let mut r = In(bytes);
    let (_, _) = (r.url_id()?, r.var()?);
    Some(r.0)
}

pub fn get_body(bytes: &[u8]) -> Option<Record> {
    let (mut record, mut r) = fields(bytes)?;
    let len = usize::try_from(r.var()?).ok()?;
    // LZ4 cannot grow its input by more than 255 times: a wrong length reserves no memory.
    if len > r.0.len().saturating_mul(255).saturating_add(64) {
        return None;
    }
    record.text = String::from_utf8(lz4_flex::block::decompress(r.0, len).ok()?).ok()?;
    Some(record)
}

/// Other fields before the text of a page that is kept, which `fields` left.
pub fn with_fields(record: &Record, text: In<'_>) -> Result<Vec<u8>, String> {
    let mut body = Vec::with_capacity(512 + text.0.len());
    let mut o = Out::new(&mut body);
    o.u8(VERSION);
    o.bytes(&postcard::to_allocvec(record).map_err(|e| e.to_string())?);
    o.rest(text.0);
    Ok(body)
}

/// The record without its text, and what follows.
pub fn fields(bytes: &[u8]) -> Option<(Record, In<'_>)> {
    let mut r = In(bytes);
    let record: Record = match r.u8()? {
        VERSION => postcard::from_bytes(r.bytes()?).ok()?,
        BEFORE_ABOUT => postcard::from_bytes(&[r.bytes()?, &NO_ABOUT].concat()).ok()?,
        _ => return None,
    };
    Some((record, r))
}
