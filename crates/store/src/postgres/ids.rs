//! Two numbers for one URL: the crawl's, which every worker and every record uses, and the place it has in
//! this worker's memory, which must be dense.

use super::{Shard, Shared};
use hashbrown::HashTable;
use std::collections::HashMap;
use types::{Problem, UrlId};

/// The place of a URL in this worker's memory: the number that the ledger inside has for it. The crawl's
/// number is a [`UrlId`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Slot(u32);

impl Slot {
    /// The URL that the ledger inside calls so.
    pub fn of(inner: UrlId) -> Slot {
        Slot(inner.0)
    }
    pub fn nth(n: u32) -> Slot {
        Slot(n)
    }
    pub fn up_to(self, end: Slot) -> impl Iterator<Item = Slot> {
        (self.0..end.0).map(Slot)
    }
    /// What the ledger inside calls it.
    pub fn inner(self) -> UrlId {
        UrlId(self.0)
    }
}

/// Where a host's rows are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub shard: Shard,
    /// The crawl's number of its first URL.
    pub host: UrlId,
}

#[derive(Default)]
pub(super) struct Ids {
    /// By slot: the crawl's number, and the slot's host.
    slots: Vec<(UrlId, u32)>,
    /// Slots by the crawl's number.
    by_global: HashTable<u32>,
    /// By the worker's number of a host.
    hosts: Vec<Place>,
    /// Shards of URLs that are not here but that something here refers to (parents, mostly).
    far: HashMap<UrlId, Shard>,
    /// Numbers that may be given out.
    next: u32,
    end: u32,
}

fn hash(global: UrlId) -> u64 {
    u64::from(global.0).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

impl Ids {
    /// Slots given out so far.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// The slot that the next URL gets.
    pub fn next_slot(&self) -> Slot {
        Slot(self.slots.len() as u32)
    }

    pub fn slot(&self, global: UrlId) -> Option<Slot> {
        let slots = &self.slots;
        let found = self.by_global.find(hash(global), |&s| slots[s as usize].0 == global);
        found.map(|&s| Slot(s))
    }

    pub fn global(&self, slot: Slot) -> Option<UrlId> {
        self.slots.get(slot.0 as usize).map(|s| s.0)
    }

    pub fn add(&mut self, global: UrlId, host: u32) -> Slot {
        let slot = self.slots.len() as u32;
        self.slots.push((global, host));
        let slots = &self.slots;
        self.by_global.insert_unique(hash(global), slot, |&s| hash(slots[s as usize].0));
        Slot(slot)
    }

    pub fn add_host(&mut self, place: Place) -> u32 {
        self.hosts.push(place);
        self.hosts.len() as u32 - 1
    }

    pub fn host(&self, number: u32) -> Option<Place> {
        self.hosts.get(number as usize).copied()
    }

    pub fn host_of(&self, slot: Slot) -> Option<Place> {
        self.slots.get(slot.0 as usize).and_then(|s| self.host(s.1))
    }

    pub fn remember_far(&mut self, global: UrlId, shard: Shard) {
        if self.slot(global).is_none() {
            self.far.insert(global, shard);
        }
    }

    /// The shard of a URL, here or not, if it is known.
    pub fn shard_of(&self, global: UrlId) -> Option<Shard> {
        match self.slot(global) {
            Some(slot) => self.host_of(slot).map(|p| p.shard),
            None => self.far.get(&global).copied(),
        }
    }

    /// Another worker has these shards now; their URLs are far.
    pub fn evict(&mut self, gone: &dyn Fn(Shard) -> bool) {
        let (slots, hosts, far) = (&self.slots, &self.hosts, &mut self.far);
        self.by_global.retain(|&mut slot| {
            let (global, host) = slots[slot as usize];
            let shard = hosts.get(host as usize).map(|p| p.shard);
            match shard.filter(|s| gone(*s)) {
                Some(shard) => {
                    far.insert(global, shard);
                    false
                }
                None => true,
            }
        });
    }

    // ---- numbers to give out ------------------------------------------------------------------------------

    /// How many may be given out without asking for more.
    pub fn spare(&self) -> u32 {
        self.end - self.next
    }

    /// The next of them, if there are any.
    pub fn next_number(&self) -> Option<u32> {
        (self.next < self.end).then_some(self.next)
    }

    pub fn refill(&mut self, from: u32, to: u32) {
        (self.next, self.end) = (from, to);
    }

    pub fn take(&mut self) -> Option<UrlId> {
        let id = (self.next < self.end).then_some(self.next)?;
        self.next += 1;
        Some(UrlId(id))
    }

    /// What was not used of the last block.
    pub fn rest(&self) -> (u32, u32) {
        (self.next, self.end)
    }

    /// Nothing is here any more. The numbers that may be given out stay when they are still `ours`.
    pub fn forget_all(&mut self, ours: bool) {
        let (next, end) = if ours { self.rest() } else { (0, 0) };
        *self = Ids { next, end, ..Ids::default() };
    }
}

impl Shared {
    /// At least `n` numbers of new URLs in stock: a URL must have its number when it is admitted.
    pub(super) fn make_room(&mut self, n: u32) -> Result<(), Problem> {
        if self.ids.spare() >= n {
            return Ok(());
        }
        // Small crawls have small numbers, large ones ask rarely.
        let block = i64::from(n).max((self.ids.len() as i64 / 4).clamp(256, 16_384));
        let rows = self.db.ask(
            "UPDATE gleaner.crawl SET next_id = next_id + $2 WHERE crawl = $1 RETURNING next_id",
            &[&self.membership.me.crawl, &block],
        )?;
        let end: i64 = rows.first().map_or(0, |r| r.get(0));
        let number = |n: i64| {
            u32::try_from(n).map_err(|_| Problem::new("the crawl has as many URLs as it can have (2^32)"))
        };
        let (next, last) = self.ids.rest();
        if next < last && i64::from(last) == end - block {
            // Right behind what is left of the block before.
            self.ids.refill(next, number(end)?);
        } else {
            self.ids.refill(number(end - block)?, number(end)?);
        }
        Ok(())
    }

    /// Gives new slots of the ledger their numbers. There must be room.
    pub(super) fn number_new(&mut self) -> Result<(), Problem> {
        while self.ids.len() < self.inner.order().len() {
            let slot = self.ids.next_slot();
            let host = self.inner.order().host_of(slot.inner());
            let (Some(global), Some(host)) = (self.ids.take(), host) else {
                return Err(Problem::new("a URL was admitted without a number")
                    .hint("this is a bug; please report it"));
            };
            if self.ids.host(host).is_none() {
                let name = self.inner.order().host_info(host).map(|h| h.name).unwrap_or_default();
                let shard = self.spread.shard_of(&name);
                self.ids.add_host(Place { shard, host: global });
            }
            self.ids.add(global, host);
        }
        Ok(())
    }

    /// Gives back numbers that were not used, if nobody has taken any since.
    pub(super) fn return_numbers(&self) -> Result<(), Problem> {
        if self.db.has_changed_history() {
            return Ok(());
        }
        let (next, end) = self.ids.rest();
        self.db.tell(
            "UPDATE gleaner.crawl SET next_id = $2 WHERE crawl = $1 AND next_id = $3",
            &[&self.membership.me.crawl, &i64::from(next), &i64::from(end)],
        )?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_and_away() {
        let mut ids = Ids::default();
        let a = ids.add_host(Place { shard: 1, host: UrlId(70) });
        let b = ids.add_host(Place { shard: 2, host: UrlId(80) });
        let (x, y) = (ids.add(UrlId(70), a), ids.add(UrlId(80), b));
        assert_eq!((ids.slot(UrlId(70)), ids.slot(UrlId(80)), ids.slot(UrlId(1))), (Some(x), Some(y), None));
        assert_eq!((ids.global(y), ids.shard_of(UrlId(80))), (Some(UrlId(80)), Some(2)));
        ids.evict(&|shard| shard == 2);
        assert_eq!(
            (ids.slot(UrlId(80)), ids.shard_of(UrlId(80)), ids.shard_of(UrlId(70))),
            (None, Some(2), Some(1))
        );
        let again = ids.add(UrlId(80), b);
        assert_eq!(
            (ids.slot(UrlId(80)), again),
            (Some(again), Slot(2)),
            "it may come back, in another place"
        );
        ids.refill(5, 7);
        assert_eq!((ids.take(), ids.take(), ids.take()), (Some(UrlId(5)), Some(UrlId(6)), None));
    }
}
