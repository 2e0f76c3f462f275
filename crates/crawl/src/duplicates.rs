//! Pages seen before: the same payload, or nearly the same text.

use std::collections::HashMap;
use types::UrlId;

/// Two texts are near-duplicates when their SimHashes differ in at most this many bits (Manku et al. 2007).
const NEAR_BITS: u32 = 3;

/// Remembers the content of every page. About 60 bytes per page.
#[derive(Default)]
pub struct Duplicates {
    exact: HashMap<[u8; 20], UrlId>,
    /// One table per 16-bit quarter of the SimHash: hashes that differ in ≤ 3 bits agree in one quarter at least.
    quarters: [HashMap<u16, Vec<u32>>; 4],
    hashes: Vec<(u64, UrlId)>,
}

impl Duplicates {
    /// The earlier page with this payload, and the earlier page with nearly this text; then remembers this one.
    pub fn meet(&mut self, id: UrlId, digest: [u8; 20], simhash: u64) -> (Option<UrlId>, Option<UrlId>) {
        // A page that came already extracted (a backtest) has no payload to compare: its digest is zero, as is every other's.
        let has_payload = digest != [0; 20];
        let exact = self.exact.get(&digest).copied().filter(|_| has_payload);
        if exact.is_none() && has_payload {
            self.exact.insert(digest, id);
        }
        if simhash == 0 {
            return (exact, None);
        }
        let near = self.near(simhash);
        if near.is_none() {
            // One representative per cluster keeps the tables small on sites that repeat themselves.
            let at = self.hashes.len() as u32;
            self.hashes.push((simhash, id));
            for (i, table) in self.quarters.iter_mut().enumerate() {
                table.entry((simhash >> (16 * i)) as u16).or_default().push(at);
            }
        }
        (exact, near)
    }

    fn near(&self, simhash: u64) -> Option<UrlId> {
        let mut best: Option<(u32, UrlId)> = None;
        for (i, table) in self.quarters.iter().enumerate() {
            for &at in table.get(&((simhash >> (16 * i)) as u16)).map_or(&[][..], |v| v) {
                let (other, id) = self.hashes[at as usize];
                let distance = (other ^ simhash).count_ones();
                if distance <= NEAR_BITS && best.is_none_or(|b| (distance, id) < b) {
                    best = Some((distance, id));
                }
            }
        }
        best.map(|(_, id)| id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_without_payload_are_no_copies_of_each_other() {
        let mut d = Duplicates::default();
        assert_eq!(d.meet(UrlId(1), [0; 20], 0), (None, None));
        assert_eq!(d.meet(UrlId(2), [0; 20], 0), (None, None));
        assert_eq!(d.meet(UrlId(3), [0; 20], 0xffff), (None, None));
        assert_eq!(d.meet(UrlId(4), [0; 20], 0xffff), (None, Some(UrlId(3))), "the text still tells");
    }

    #[test]
    fn same_payload_and_nearly_the_same_text() {
        let mut d = Duplicates::default();
        assert_eq!(d.meet(UrlId(1), [1; 20], 0xF0F0), (None, None));
        assert_eq!(d.meet(UrlId(2), [1; 20], 0xF0F0), (Some(UrlId(1)), Some(UrlId(1))));
        // Three bits away, in three different quarters.
        assert_eq!(d.meet(UrlId(3), [3; 20], 0xF0F0 ^ 1 ^ (1 << 20) ^ (1 << 40)), (None, Some(UrlId(1))));
        assert_eq!(d.meet(UrlId(4), [4; 20], 0xF0F0 ^ 0b1111), (None, None));
        assert_eq!(d.meet(UrlId(5), [5; 20], 0), (None, None));
        assert_eq!(d.meet(UrlId(6), [6; 20], 0), (None, None));
    }
}
