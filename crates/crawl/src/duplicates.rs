//! Pages seen before: the same payload, or nearly the same text.

use std::collections::HashMap;
use types::UrlId;

/// Two texts are near-duplicates when their SimHashes differ in at most this many bits (Manku et al. 2007).
const NEAR_BITS: u32 = 3;

/// A page that came before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct EarlierPage {
    pub id: UrlId,
    /// How many pages came before it.
    pub at: u32,
}

/// Remembers the content of every page: about 60 bytes each, and a fixed megabyte.
#[derive(Default)]
pub struct Duplicates {
    met: u32,
    /// By the first half of the payload's digest: of a hundred million pages hardly two share one by chance.
    exact: HashMap<u64, EarlierPage>,
    /// Per 16-bit quarter of the SimHash, the newest hash with each value of it: hashes that differ in ≤ 3
    /// bits agree in one quarter at least. Empty until the first hash.
    newest: [Vec<u32>; 4],
    hashes: Vec<Hash>,
}

/// A SimHash, whose it is, and per quarter the hash before it with the same value there.
struct Hash {
    hash: u64,
    page: EarlierPage,
    before: [u32; 4],
}

/// No hash.
const NONE: u32 = u32::MAX;

impl Duplicates {
    /// The earlier page with this payload, and the earlier page with nearly this text; then remembers this
    /// one.
    pub fn meet(
        &mut self,
        id: UrlId,
        digest: [u8; 20],
        simhash: u64,
    ) -> (Option<EarlierPage>, Option<EarlierPage>) {
        let page = EarlierPage { id, at: self.met };
        self.met += 1;
        // A page that came already extracted (a backtest) has no payload to compare: its digest is zero, as
        // is every other's.
        let has_payload = digest != [0; 20];
        let short = digest.first_chunk().map_or(0, |half| u64::from_le_bytes(*half));
        let exact = self.exact.get(&short).copied().filter(|_| has_payload);
        if exact.is_none() && has_payload {
            self.exact.insert(short, page);
        }
        if simhash == 0 {
            return (exact, None);
        }
        let near = self.near(simhash);
        if near.is_none() {
            // One representative per cluster keeps the lists short on sites that repeat themselves.
            let at = self.hashes.len() as u32;
            let mut before = [NONE; 4];
            for (i, newest) in self.newest.iter_mut().enumerate() {
                if newest.is_empty() {
                    newest.resize(1 << 16, NONE);
                }
                before[i] = std::mem::replace(&mut newest[quarter(simhash, i)], at);
            }
            self.hashes.push(Hash { hash: simhash, page, before });
        }
        (exact, near)
    }

    fn near(&self, simhash: u64) -> Option<EarlierPage> {
        let mut best: Option<(u32, EarlierPage)> = None;
        for (i, newest) in self.newest.iter().enumerate() {
            let mut at = newest.get(quarter(simhash, i)).copied().unwrap_or(NONE);
            while let Some(other) = self.hashes.get(at as usize) {
                let distance = (other.hash ^ simhash).count_ones();
                if distance <= NEAR_BITS && best.is_none_or(|b| (distance, other.page) < b) {
                    best = Some((distance, other.page));
                }
                at = other.before[i];
            }
        }
        best.map(|(_, page)| page)
    }
}

fn quarter(simhash: u64, i: usize) -> usize {
    usize::from((simhash >> (16 * i)) as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(met: (Option<EarlierPage>, Option<EarlierPage>)) -> (Option<UrlId>, Option<UrlId>) {
        (met.0.map(|e| e.id), met.1.map(|e| e.id))
    }

    #[test]
    fn pages_without_payload_are_no_copies_of_each_other() {
        let mut d = Duplicates::default();
        assert_eq!(ids(d.meet(UrlId(1), [0; 20], 0)), (None, None));
        assert_eq!(ids(d.meet(UrlId(2), [0; 20], 0)), (None, None));
        assert_eq!(ids(d.meet(UrlId(3), [0; 20], 0xffff)), (None, None));
        assert_eq!(ids(d.meet(UrlId(4), [0; 20], 0xffff)), (None, Some(UrlId(3))), "the text still tells");
    }

    #[test]
    fn same_payload_and_nearly_the_same_text() {
        let mut d = Duplicates::default();
        assert_eq!(ids(d.meet(UrlId(1), [1; 20], 0xF0F0)), (None, None));
        assert_eq!(ids(d.meet(UrlId(2), [1; 20], 0xF0F0)), (Some(UrlId(1)), Some(UrlId(1))));
        // Three bits away, in three different quarters.
        assert_eq!(
            ids(d.meet(UrlId(3), [3; 20], 0xF0F0 ^ 1 ^ (1 << 20) ^ (1 << 40))),
            (None, Some(UrlId(1)))
        );
        assert_eq!(ids(d.meet(UrlId(4), [4; 20], 0xF0F0 ^ 0b1111)), (None, None));
        assert_eq!(ids(d.meet(UrlId(5), [5; 20], 0)), (None, None));
        assert_eq!(ids(d.meet(UrlId(6), [6; 20], 0)), (None, None));
    }
}
