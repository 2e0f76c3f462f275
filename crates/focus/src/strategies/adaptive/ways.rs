//! The way to the last pages. When a relevant page is found, the pages on the way to it get credit for it:
//! they were worth more as ways to others than their links promised.

use super::sight::Groups;
use learn::bytes::{Reader, Writer};
use std::collections::{HashMap, VecDeque};
use types::{Problem, UrlId};

/// Pages that are remembered.
const MOST: usize = 2_000;

/// What is remembered of a page until it may get credit.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Way {
    /// The page it was found on.
    pub parent: Option<UrlId>,
    /// The groups its address belongs to.
    pub own: Groups,
    /// Of the links to it.
    pub evidence: Vec<Vec<u8>>,
    pub is_relevant: bool,
    /// As a way to others.
    pub worth: f64,
}

/// The last pages, oldest first.
#[derive(Default)]
pub(super) struct Ways {
    known: HashMap<UrlId, Way>,
    order: VecDeque<UrlId>,
    /// Changed since the last save.
    unsaved: Vec<UrlId>,
}

impl Ways {
    pub fn get(&self, id: UrlId) -> Option<&Way> {
        self.known.get(&id)
    }

    /// A new page, or what is thought of a known one now.
    pub fn put(&mut self, id: UrlId, way: Way) {
        if self.known.insert(id, way).is_none() {
            self.order.push_back(id);
        }
        if self.order.len() > MOST
            && let Some(oldest) = self.order.pop_front()
        {
            self.known.remove(&oldest);
        }
        self.unsaved.push(id);
    }

    /// All, or what changed since the last save.
    pub fn save(&mut self, full: bool, w: &mut Writer) {
        let mut ids: Vec<UrlId> = std::mem::take(&mut self.unsaved);
        if full {
            ids = self.order.iter().copied().collect();
        }
        let ways: Vec<(UrlId, &Way)> = ids.into_iter().filter_map(|id| Some((id, self.get(id)?))).collect();
        w.var(ways.len() as u64);
        for (id, way) in ways {
            w.u32(id.0).u32(way.parent.map_or(u32::MAX, |p| p.0));
            w.u8(u8::from(way.is_relevant)).f64(way.worth);
            w.u32(way.own.host).u32(way.own.shape).u8(way.own.depth);
            for d in way.own.dirs {
                w.u32(d);
            }
            w.var(way.evidence.len() as u64);
            for e in &way.evidence {
                w.bytes(e);
            }
        }
    }

    pub fn load(&mut self, r: &mut Reader) -> Result<(), Problem> {
        for _ in 0..r.var()? {
            let (id, parent) = (UrlId(r.u32()?), Some(UrlId(r.u32()?)).filter(|p| p.0 != u32::MAX));
            let (is_relevant, worth) = (r.u8()? != 0, r.f64()?);
            let mut own = Groups { host: r.u32()?, shape: r.u32()?, depth: r.u8()?, ..Groups::default() };
            for d in &mut own.dirs {
                *d = r.u32()?;
            }
            let mut evidence = Vec::new();
            for _ in 0..r.var()? {
                evidence.push(r.bytes()?.to_vec());
            }
            self.put(id, Way { parent, own, evidence, is_relevant, worth });
        }
        self.unsaved.clear();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn way(n: u32) -> Way {
        let own = Groups { host: n, dirs: [n, 2, 0, 0], depth: 2, ..Groups::default() };
        let evidence = vec![vec![n as u8; 3]; (n % 3) as usize];
        Way {
            parent: n.checked_sub(1).map(UrlId),
            own,
            evidence,
            is_relevant: n.is_multiple_of(2),
            worth: 0.5,
        }
    }

    /// Saved in any pieces, what is read is what was there; and the oldest are forgotten on both sides.
    #[test]
    fn what_is_saved_in_pieces_comes_back() {
        let (mut ways, mut back) = (Ways::default(), Ways::default());
        for n in 0..2_500u32 {
            ways.put(UrlId(n), way(n));
            if n % 7 == 3 {
                ways.put(UrlId(n - 1), Way { worth: 0.8, ..way(n - 1) });
            }
            if n % 100 == 0 {
                let mut w = Writer::default();
                ways.save(n == 1_000, &mut w);
                if n == 1_000 {
                    back = Ways::default();
                }
                let mut r = Reader(&w.0);
                back.load(&mut r).unwrap();
                r.end().unwrap();
                assert_eq!((&back.known, &back.order), (&ways.known, &ways.order), "after {n}");
            }
        }
        assert!(ways.get(UrlId(499)).is_none() && ways.get(UrlId(500)).is_some());
    }
}
