//! What is kept in memory of each URL: 60 bytes. Its text, its evidence and its parents are on disk.

use types::{Fingerprint, Outcome, Priority, UrlId};

/// "No URL" where an optional id is kept.
pub(crate) const NONE: u32 = u32::MAX;

pub(crate) const PENDING: u8 = 0;
pub(crate) const LEASED: u8 = 1;
pub(crate) const SETTLED: u8 = 2;
/// Another worker has it now: as if it had never been here.
pub(crate) const GONE: u8 = 3;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Entry {
    pub print: Fingerprint,
    pub key: f64,
    /// Where the newest log record of this URL is; older ones are chained from there.
    pub offset: u64,
    pub host: u32,
    pub parent: u32,
    pub model: u32,
    /// The page whose visit last re-scored it.
    pub cause: u32,
    pub depth: u16,
    pub site_depth: u16,
    /// Status of an `HttpError` outcome.
    pub status: u16,
    pub lane: u8,
    pub phase: u8,
    pub attempts: u8,
    /// Sightings that are chained from `offset`.
    pub sources: u8,
    pub outcome: u8,
    pub hops: u8,
    /// It is open for another visit; `outcome` says how it ended before. Never written: a crash ends the
    /// visit.
    pub again: bool,
}

/// Bytes of one entry in a checkpoint.
pub(crate) const ENTRY_BYTES: usize = 60;

// Ten million of these must fit: a field added in haste would cost a gigabyte with the next power of two.
const _: () = assert!(std::mem::size_of::<Entry>() == 64);

impl Entry {
    pub fn priority(&self) -> Priority {
        Priority::new(self.lane, self.key)
    }

    pub fn state(&self) -> State {
        match self.phase {
            PENDING => State::Pending,
            LEASED => State::Leased,
            _ => State::Settled(outcome_of(self.outcome, self.status)),
        }
    }

    pub fn to_bytes(self) -> [u8; ENTRY_BYTES] {
        let mut b = [0; ENTRY_BYTES];
        b[0..8].copy_from_slice(&self.print.0.to_le_bytes());
        b[8..16].copy_from_slice(&self.print.1.to_le_bytes());
        b[16..24].copy_from_slice(&self.key.to_le_bytes());
        b[24..32].copy_from_slice(&self.offset.to_le_bytes());
        b[32..36].copy_from_slice(&self.host.to_le_bytes());
        b[36..40].copy_from_slice(&self.parent.to_le_bytes());
        b[40..44].copy_from_slice(&self.model.to_le_bytes());
        b[44..48].copy_from_slice(&self.cause.to_le_bytes());
        b[48..50].copy_from_slice(&self.depth.to_le_bytes());
        b[50..52].copy_from_slice(&self.site_depth.to_le_bytes());
        b[52..54].copy_from_slice(&self.status.to_le_bytes());
        b[54..60].copy_from_slice(&[
            self.lane,
            self.phase,
            self.attempts,
            self.sources,
            self.outcome,
            self.hops,
        ]);
        b
    }

    pub fn from_bytes(b: &[u8; ENTRY_BYTES]) -> Entry {
        let u64_at = |i: usize| u64::from_le_bytes(std::array::from_fn(|k| b[i + k]));
        let u32_at = |i: usize| u32::from_le_bytes(std::array::from_fn(|k| b[i + k]));
        let u16_at = |i: usize| u16::from_le_bytes([b[i], b[i + 1]]);
        Entry {
            print: Fingerprint(u64_at(0), u64_at(8)),
            key: Priority::key_only(f64::from_bits(u64_at(16))).key(),
            offset: u64_at(24),
            host: u32_at(32),
            parent: u32_at(36),
            model: u32_at(40),
            cause: u32_at(44),
            depth: u16_at(48),
            site_depth: u16_at(50),
            status: u16_at(52),
            lane: b[54],
            phase: b[55],
            attempts: b[56],
            sources: b[57],
            outcome: b[58],
            hops: b[59],
            again: false,
        }
    }
}

/// Number of different outcomes, the status of an `HttpError` aside.
pub(crate) const OUTCOMES: usize = 13;

pub(crate) fn code_of(outcome: Outcome) -> (u8, u16) {
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

pub(crate) fn outcome_of(code: u8, status: u16) -> Outcome {
    match code {
        0 => Outcome::Fetched,
        1 => Outcome::Redirected,
        2 => Outcome::HttpError(status),
        3 => Outcome::Unreachable,
        4 => Outcome::RobotsDenied,
        5 => Outcome::Unwanted,
        6 => Outcome::Refused,
        7 => Outcome::OutOfScope,
        9 => Outcome::Unreadable,
        10 => Outcome::Crashed,
        11 => Outcome::Encrypted,
        12 => Outcome::Scanned,
        _ => Outcome::Dropped,
    }
}

/// Every URL ever admitted is in exactly one of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Waits in its host's queue, or for another try.
    Pending,
    /// Somebody has the right to fetch it.
    Leased,
    /// Will not be leased again.
    Settled(Outcome),
}

impl State {
    /// Did it end without an answer?
    pub fn is_unanswered(self) -> bool {
        matches!(self, State::Settled(outcome) if outcome.is_no_answer())
    }
}

/// What the frontier knows of one URL without looking on disk.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Info {
    /// Its number in the collection.
    pub id: UrlId,
    /// Where it is on its way.
    pub state: State,
    /// The best priority any sighting gave it, or the last re-scoring.
    pub priority: Priority,
    /// Version of the model that gave the priority.
    pub model: u32,
    /// The page it was first found on.
    pub parent: Option<UrlId>,
    /// The page whose visit last re-scored it.
    pub cause: Option<UrlId>,
    /// Links from the seed.
    pub depth: u16,
    /// Links since its host was entered.
    pub site_depth: u16,
    /// Redirects followed to get here; of a sitemap, how many sitemaps led to it.
    pub hops: u8,
    /// Tries that failed.
    pub attempts: u8,
    /// The number of its host; `None`: the host is another worker's and has no number here.
    pub host: Option<u32>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_round_trip() {
        let e = Entry {
            print: Fingerprint(0x0102_0304_0506_0708, u64::MAX),
            key: -1.5,
            offset: 1 << 40,
            host: 7,
            parent: NONE,
            model: 9,
            cause: 3,
            depth: 600,
            site_depth: 4,
            status: 404,
            lane: 200,
            phase: SETTLED,
            attempts: 2,
            sources: 8,
            outcome: 2,
            hops: 5,
            again: false,
        };
        assert_eq!(Entry::from_bytes(&e.to_bytes()), e);
        assert_eq!(e.state(), State::Settled(Outcome::HttpError(404)));
    }

    #[test]
    fn outcome_codes_are_a_bijection() {
        for code in 0..OUTCOMES as u8 {
            let status = if code == 2 { 500 } else { 0 };
            assert_eq!(code_of(outcome_of(code, status)), (code, status));
        }
    }
}
