//! The records of the log and how they are written: little-endian, variable-length numbers, nothing that
//! needs a schema.
//!
//! ```text
//! frame   = length u32 · check u32 · synced u64 · record…      one per commit: all of it or nothing
//! record  = crc u32 · kind u8 · length u32 · payload
//! ```
//! `check` covers the frame's own offset, so that bytes of another place or time are never taken for a frame;
//! `synced` says up to where the log was durable when the frame was written, which tells damage from a crash.

use frontier::Clock;
use types::{LinkKind, Outcome, Priority, Rescored, RobotsAnswer, Source, UrlId, Verdict};

pub const FORMAT: u32 = 1;
pub const FRAME_HEAD: usize = 16;
pub const RECORD_HEAD: usize = 9;
/// "None" for an optional id.
const NO_ID: u32 = u32::MAX;

/// What a record is about. Numbers are part of the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Meta = 1,
    Host = 2,
    Admit = 3,
    Sight = 4,
    Settle = 5,
    Retry = 6,
    Clock = 7,
    Robots = 8,
    Rescore = 9,
    Page = 10,
    Revise = 11,
    State = 12,
    Drop = 13,
    Opened = 14,
    Closed = 15,
}

impl Kind {
    pub fn of(byte: u8) -> Option<Kind> {
        use Kind::*;
        [
            Meta, Host, Admit, Sight, Settle, Retry, Clock, Robots, Rescore, Page, Revise, State, Drop,
            Opened, Closed,
        ]
        .into_iter()
        .find(|k| *k as u8 == byte)
    }
}

// ---- writing ----------------------------------------------------------------------------------------------

/// Appends one record to a batch; returns where in the batch it begins.
pub fn record(batch: &mut Vec<u8>, kind: Kind, write: impl FnOnce(&mut Out)) -> usize {
    let start = batch.len();
    batch.extend_from_slice(&[0; RECORD_HEAD]);
    write(&mut Out(batch));
    let len = (batch.len() - start - RECORD_HEAD) as u32;
    batch[start + 4] = kind as u8;
    batch[start + 5..start + 9].copy_from_slice(&len.to_le_bytes());
    let crc = crc32fast::hash(&batch[start + 4..]);
    batch[start..start + 4].copy_from_slice(&crc.to_le_bytes());
    start
}

/// Fills in the head of a frame that is to be written at `offset`.
pub fn seal(frame: &mut [u8], offset: u64, synced: u64) {
    if frame.len() >= FRAME_HEAD {
        let len = (frame.len() - FRAME_HEAD) as u32;
        frame[0..4].copy_from_slice(&len.to_le_bytes());
        frame[4..8].copy_from_slice(&head_check(offset, len, synced).to_le_bytes());
        frame[8..16].copy_from_slice(&synced.to_le_bytes());
    }
}

fn head_check(offset: u64, len: u32, synced: u64) -> u32 {
    let mut h = crc32fast::Hasher::new();
    h.update(&offset.to_le_bytes());
    h.update(&len.to_le_bytes());
    h.update(&synced.to_le_bytes());
    // Zeros must not check: a file system may leave a hole of them.
    h.finalize() ^ 0x6c65_6467
}

pub struct Out<'a>(&'a mut Vec<u8>);

impl<'a> Out<'a> {
    pub fn new(bytes: &'a mut Vec<u8>) -> Out<'a> {
        Out(bytes)
    }
    pub fn u8(&mut self, v: u8) {
        self.0.push(v);
    }
    pub fn u32(&mut self, v: u32) {
        self.0.extend_from_slice(&v.to_le_bytes());
    }
    pub fn u64(&mut self, v: u64) {
        self.0.extend_from_slice(&v.to_le_bytes());
    }
    pub fn f64(&mut self, v: f64) {
        self.u64(v.to_bits());
    }
    /// Small numbers in few bytes.
    pub fn var(&mut self, mut v: u64) {
        while v >= 0x80 {
            self.0.push(v as u8 | 0x80);
            v >>= 7;
        }
        self.0.push(v as u8);
    }
    pub fn id(&mut self, id: Option<UrlId>) {
        self.u32(id.map_or(NO_ID, |id| id.0));
    }
    pub fn bytes(&mut self, b: &[u8]) {
        self.var(b.len() as u64);
        self.0.extend_from_slice(b);
    }
    /// Without a length: the last thing in a record.
    pub fn rest(&mut self, b: &[u8]) {
        self.0.extend_from_slice(b);
    }
    pub fn priority(&mut self, p: Priority) {
        self.u8(p.lane);
        self.f64(p.key());
    }
    /// Ids near each other in few bytes.
    pub fn ids(&mut self, ids: &[UrlId]) {
        self.var(ids.len() as u64);
        let mut last = 0i64;
        for id in ids {
            let d = i64::from(id.0) - last;
            self.var(((d << 1) ^ (d >> 63)) as u64);
            last = i64::from(id.0);
        }
    }
}

// ---- reading ----------------------------------------------------------------------------------------------

/// The head of a frame at `offset`: its length and how far the log was durable. `None` when it is not one.
pub fn frame_head(bytes: &[u8], offset: u64) -> Option<(usize, u64)> {
    let head: &[u8; FRAME_HEAD] = bytes.first_chunk()?;
    let mut r = In(head);
    let (len, check, synced) = (r.u32()?, r.u32()?, r.u64()?);
    (check == head_check(offset, len, synced)).then_some((len as usize, synced))
}

/// The first record of `bytes`: its kind byte, its payload, and all its bytes. `None` when it is not whole
/// and right.
pub fn next_record(bytes: &[u8]) -> Option<(u8, &[u8], usize)> {
    let mut r = In(bytes);
    let (crc, kind, len) = (r.u32()?, r.u8()?, r.u32()? as usize);
    let payload = r.0.get(..len)?;
    (crc32fast::hash(&bytes[4..RECORD_HEAD + len]) == crc).then_some((kind, payload, RECORD_HEAD + len))
}

/// The same of a frame that is known to be whole.
pub fn next_record_unchecked(bytes: &[u8]) -> Option<(u8, &[u8], usize)> {
    let mut r = In(bytes);
    let (_, kind, len) = (r.u32()?, r.u8()?, r.u32()? as usize);
    Some((kind, r.0.get(..len)?, RECORD_HEAD + len))
}

/// Is every byte of a frame's body part of a whole record?
pub fn body_is_whole(mut body: &[u8]) -> bool {
    while !body.is_empty() {
        match next_record(body) {
            Some((_, _, n)) => body = &body[n..],
            None => return false,
        }
    }
    true
}

#[derive(Clone, Copy)]
pub struct In<'a>(pub &'a [u8]);

impl<'a> In<'a> {
    pub fn take(&mut self, n: usize) -> Option<&'a [u8]> {
        let (a, b) = self.0.split_at_checked(n)?;
        self.0 = b;
        Some(a)
    }
    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (a, b) = self.0.split_first_chunk()?;
        self.0 = b;
        Some(*a)
    }
    pub fn u8(&mut self) -> Option<u8> {
        self.array::<1>().map(|b| b[0])
    }
    pub fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }
    pub fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }
    pub fn f64(&mut self) -> Option<f64> {
        self.u64().map(f64::from_bits)
    }
    pub fn var(&mut self) -> Option<u64> {
        let mut v = 0;
        for shift in (0..64).step_by(7) {
            let b = self.u8()?;
            v |= u64::from(b & 0x7f) << shift;
            if b < 0x80 {
                return Some(v);
            }
        }
        None
    }
    pub fn id(&mut self) -> Option<Option<UrlId>> {
        self.u32().map(|id| (id != NO_ID).then_some(UrlId(id)))
    }
    pub fn url_id(&mut self) -> Option<UrlId> {
        self.u32().map(UrlId)
    }
    pub fn bytes(&mut self) -> Option<&'a [u8]> {
        let n = self.var()?;
        self.take(usize::try_from(n).ok()?)
    }
    pub fn text(&mut self) -> Option<&'a str> {
        std::str::from_utf8(self.bytes()?).ok()
    }
    pub fn priority(&mut self) -> Option<Priority> {
        Some(Priority::new(self.u8()?, self.f64()?))
    }
    pub fn ids(&mut self) -> Option<Vec<UrlId>> {
        let n = self.var()?;
        // Each takes a byte at least, so a wrong count cannot reserve more than is there.
        let mut out = Vec::with_capacity(usize::try_from(n).ok()?.min(self.0.len()));
        let mut last = 0i64;
        for _ in 0..n {
            let z = self.var()?;
            last = last.wrapping_add((z >> 1) as i64 ^ -((z & 1) as i64));
            out.push(UrlId(u32::try_from(last).ok()?));
        }
        Some(out)
    }
}

// ---- the records ------------------------------------------------------------------------------------------

pub fn kind_code(kind: LinkKind) -> u8 {
    match kind {
        LinkKind::Anchor => 0,
        LinkKind::Area => 1,
        LinkKind::Frame => 2,
        LinkKind::Refresh => 3,
        LinkKind::Canonical => 4,
        LinkKind::Redirect => 5,
        LinkKind::Sitemap => 6,
        LinkKind::Feed => 7,
        LinkKind::Seed => 8,
    }
}
pub fn kind_of(code: u8) -> LinkKind {
    match code {
        1 => LinkKind::Area,
        2 => LinkKind::Frame,
        3 => LinkKind::Refresh,
        4 => LinkKind::Canonical,
        5 => LinkKind::Redirect,
        6 => LinkKind::Sitemap,
        7 => LinkKind::Feed,
        8 => LinkKind::Seed,
        _ => LinkKind::Anchor,
    }
}

/// An outcome as two numbers, the second the status of an `HttpError`.
pub fn outcome_code(outcome: Outcome) -> (u8, u16) {
    match outcome {
        Outcome::Fetched => (0, 0),
        Outcome::Redirected => (1, 0),
        Outcome::HttpError(status) => (2, status),
        Outcome::Unreachable => (3, 0),
        Outcome::RobotsDenied => (4, 0),
        Outcome::Unwanted => (5, 0),
        Outcome::Refused => (6, 0),
        Outcome::OutOfScope => (7, 0),
        Outcome::Dropped => (8, 0),
        Outcome::Unreadable => (9, 0),
        Outcome::Crashed => (10, 0),
        Outcome::Encrypted => (11, 0),
        Outcome::Scanned => (12, 0),
    }
}
pub fn outcome_of(code: u8, status: u16) -> Option<Outcome> {
    Some(match code {
        0 => Outcome::Fetched,
        1 => Outcome::Redirected,
        2 => Outcome::HttpError(status),
        3 => Outcome::Unreachable,
        4 => Outcome::RobotsDenied,
        5 => Outcome::Unwanted,
        6 => Outcome::Refused,
        7 => Outcome::OutOfScope,
        8 => Outcome::Dropped,
        9 => Outcome::Unreadable,
        10 => Outcome::Crashed,
        11 => Outcome::Encrypted,
        12 => Outcome::Scanned,
        _ => return None,
    })
}

fn put_outcome(o: &mut Out, outcome: Outcome) {
    let (code, status) = outcome_code(outcome);
    o.u8(code);
    o.var(u64::from(status));
}
fn get_outcome(r: &mut In) -> Option<Outcome> {
    let (code, status) = (r.u8()?, r.var()?);
    outcome_of(code, u16::try_from(status).ok()?)
}

/// A URL enters (or, when its id is known, enters again after it was forgotten).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Admit<'a> {
    pub id: UrlId,
    pub host: u32,
    pub depth: u16,
    pub site_depth: u16,
    pub hops: u8,
    pub model: u32,
    pub expires: Option<u64>,
    pub url: &'a str,
    pub seen: Seen<'a>,
}

/// One sighting: what `Source` holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seen<'a> {
    pub parent: Option<UrlId>,
    pub kind: LinkKind,
    pub priority: Priority,
    pub anchor: &'a str,
    pub evidence: &'a [u8],
}

impl<'a> Seen<'a> {
    pub fn source(&self) -> Source {
        Source {
            parent: self.parent,
            kind: self.kind,
            priority: self.priority,
            evidence: self.evidence.to_vec(),
            anchor: self.anchor.into(),
        }
    }
    /// The last thing in a record.
    fn put(&self, o: &mut Out) {
        o.id(self.parent);
        o.u8(kind_code(self.kind));
        o.priority(self.priority);
        o.bytes(self.anchor.as_bytes());
        o.rest(self.evidence);
    }
    fn get(r: &mut In<'a>) -> Option<Seen<'a>> {
        let (parent, kind, priority, anchor) = (r.id()?, kind_of(r.u8()?), r.priority()?, r.text()?);
        Some(Seen { parent, kind, priority, anchor, evidence: r.0 })
    }
}

fn put_expires(o: &mut Out, expires: Option<u64>) {
    o.var(expires.map_or(0, |e| e.saturating_add(1)));
}
fn get_expires(r: &mut In) -> Option<Option<u64>> {
    r.var().map(|e| e.checked_sub(1))
}

impl<'a> Admit<'a> {
    pub fn put(&self, o: &mut Out) {
        o.u32(self.id.0);
        o.var(u64::from(self.host));
        o.var(u64::from(self.depth));
        o.var(u64::from(self.site_depth));
        o.u8(self.hops);
        o.var(u64::from(self.model));
        put_expires(o, self.expires);
        o.bytes(self.url.as_bytes());
        self.seen.put(o);
    }
    pub fn get(bytes: &'a [u8]) -> Option<Admit<'a>> {
        let mut r = In(bytes);
        Some(Admit {
            id: r.url_id()?,
            host: u32::try_from(r.var()?).ok()?,
            depth: u16::try_from(r.var()?).ok()?,
            site_depth: u16::try_from(r.var()?).ok()?,
            hops: r.u8()?,
            model: u32::try_from(r.var()?).ok()?,
            expires: get_expires(&mut r)?,
            url: r.text()?,
            seen: Seen::get(&mut r)?,
        })
    }
}

/// A known URL was seen again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sight<'a> {
    pub id: UrlId,
    /// The record of this URL before this one.
    pub prev: u64,
    /// The priority the URL has now.
    pub merged: Priority,
    pub model: u32,
    pub expires: Option<u64>,
    pub seen: Seen<'a>,
}

impl<'a> Sight<'a> {
    pub fn put(&self, o: &mut Out) {
        o.u32(self.id.0);
        o.var(self.prev);
        o.priority(self.merged);
        o.var(u64::from(self.model));
        put_expires(o, self.expires);
        self.seen.put(o);
    }
    pub fn get(bytes: &'a [u8]) -> Option<Sight<'a>> {
        let mut r = In(bytes);
        Some(Sight {
            id: r.url_id()?,
            prev: r.var()?,
            merged: r.priority()?,
            model: u32::try_from(r.var()?).ok()?,
            expires: get_expires(&mut r)?,
            seen: Seen::get(&mut r)?,
        })
    }
}

/// A URL ended; with it, which URLs its page links to.
#[derive(Clone, Debug, PartialEq)]
pub struct Settled {
    pub id: UrlId,
    pub prev: u64,
    pub outcome: Outcome,
    /// Leases so far.
    pub step: u64,
    pub children: Vec<UrlId>,
}

impl Settled {
    pub fn put(&self, o: &mut Out) {
        o.u32(self.id.0);
        o.var(self.prev);
        put_outcome(o, self.outcome);
        o.var(self.step);
        o.ids(&self.children);
    }
    pub fn get(bytes: &[u8]) -> Option<Settled> {
        let mut r = In(bytes);
        Some(Settled {
            id: r.url_id()?,
            prev: r.var()?,
            outcome: get_outcome(&mut r)?,
            step: r.var()?,
            children: r.ids()?,
        })
    }
}

pub fn put_drop(o: &mut Out, outcome: Outcome, ids: &[UrlId]) {
    put_outcome(o, outcome);
    o.ids(ids);
}
pub fn get_drop(bytes: &[u8]) -> Option<(Outcome, Vec<UrlId>)> {
    let mut r = In(bytes);
    Some((get_outcome(&mut r)?, r.ids()?))
}

/// Back to pending. `anew`: as if it had never been tried (earlier versions count a try more).
pub fn put_retry(o: &mut Out, id: UrlId, not_before: types::Millis, step: u64, anew: bool) {
    o.u32(id.0);
    o.var(not_before.0);
    o.var(step);
    if anew {
        o.u8(1);
    }
}
/// `(URL, not before, leases so far, anew)`
pub fn get_retry(bytes: &[u8]) -> Option<(UrlId, u64, u64, bool)> {
    let mut r = In(bytes);
    Some((r.url_id()?, r.var()?, r.var()?, r.u8() == Some(1)))
}

pub fn put_clock(o: &mut Out, host: u32, c: &Clock) {
    o.var(u64::from(host));
    o.rest(&c.to_bytes());
}
pub fn get_clock(bytes: &[u8]) -> Option<(u32, Clock)> {
    let mut r = In(bytes);
    let host = u32::try_from(r.var()?).ok()?;
    Some((host, Clock::from_bytes(&r.array()?)))
}

pub fn put_robots(o: &mut Out, host: u32, a: &RobotsAnswer) {
    o.var(u64::from(host));
    o.var(u64::from(a.status));
    o.var(a.fetched.0);
    o.var(a.expires.0);
    o.rest(&a.body);
}
pub fn get_robots(bytes: &[u8]) -> Option<(u32, RobotsAnswer)> {
    let mut r = In(bytes);
    let host = u32::try_from(r.var()?).ok()?;
    let status = u16::try_from(r.var()?).ok()?;
    let (fetched, expires) = (types::Millis(r.var()?), types::Millis(r.var()?));
    Some((host, RobotsAnswer { status, body: r.0.to_vec(), fetched, expires }))
}

/// Neighbours with the same priority, model and cause (siblings, mostly) share them.
pub fn put_rescored(o: &mut Out, all: &[Rescored]) {
    let same =
        |a: &Rescored, b: &Rescored| a.priority == b.priority && a.model == b.model && a.cause == b.cause;
    for run in all.chunk_by(same) {
        if let Some(first) = run.first() {
            o.priority(first.priority);
            o.var(u64::from(first.model));
            o.id(first.cause);
            o.ids(&run.iter().map(|r| r.id).collect::<Vec<_>>());
        }
    }
}
pub fn get_rescored(bytes: &[u8], mut each: impl FnMut(Rescored)) -> Option<()> {
    let mut r = In(bytes);
    while !r.0.is_empty() {
        let (priority, model, cause) = (r.priority()?, u32::try_from(r.var()?).ok()?, r.id()?);
        for id in r.ids()? {
            each(Rescored { id, priority, model, cause });
        }
    }
    Some(())
}

pub fn put_revise(o: &mut Out, id: UrlId, prev: u64, v: &Verdict) {
    o.u32(id.0);
    o.var(prev);
    o.u8(u8::from(v.relevant));
    o.f64(v.relevance);
    o.f64(v.threshold);
    o.u32(v.version);
}
/// What follows a verdict in the log: the assessment it rests on, when that changed too.
pub fn get_revise_rest(bytes: &[u8]) -> Option<&[u8]> {
    let mut r = In(bytes);
    r.url_id()?;
    r.var()?;
    r.take(1 + 8 + 8 + 4)?;
    Some(r.0).filter(|rest| !rest.is_empty())
}
pub fn get_revise(bytes: &[u8]) -> Option<(UrlId, u64, Verdict)> {
    let mut r = In(bytes);
    let (id, prev) = (r.url_id()?, r.var()?);
    let relevant = r.u8()? != 0;
    Some((id, prev, Verdict { relevant, relevance: r.f64()?, threshold: r.f64()?, version: r.u32()? }))
}

/// `(name, is a change, bytes)`
pub fn get_state(bytes: &[u8]) -> Option<(&str, bool, &[u8])> {
    let mut r = In(bytes);
    Some((r.text()?, r.u8()? != 0, r.0))
}
