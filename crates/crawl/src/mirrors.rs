//! Recognises mirrors: hosts whose pages are copies of pages on other hosts. Pending URLs of a mirror are
//! fetched last.

use crate::network::hash;
use std::collections::{HashMap, HashSet};
use types::{Priority, domain_of};

/// A host is a mirror when so many of its pages are copies of another host's; a domain needs twice as many.
const FEWEST: u32 = 5;
/// … and so many in a hundred of all its pages.
const PERCENT: u32 = 75;
/// Below every priority that a strategy gives.
const LAST: f64 = -1e12;

#[derive(Default)]
pub(crate) struct Mirrors {
    seen: HashMap<u64, HostPages>,
    mirrors: HashSet<u64>,
    /// By the ledger's number of a host: is it one? Filled as it is asked.
    known: HashMap<u32, bool>,
}

#[derive(Clone, Copy, Default)]
struct HostPages {
    pages: u32,
    copies: u32,
}

impl Mirrors {
    /// A page came; the same stands on the host `original`, if anywhere. Does what is a mirror change with
    /// it?
    pub fn met(&mut self, host: &str, original: Option<&str>) -> bool {
        let domain = domain_of(host);
        let on_other_host = original.is_some_and(|o| o != host);
        let on_other_domain = original.is_some_and(|o| domain_of(o) != domain);
        let a = self.count(hash(("host", host)), on_other_host, FEWEST);
        let b = self.count(hash(("domain", domain)), on_other_domain, 2 * FEWEST);
        if a || b {
            self.known.clear();
        }
        a || b
    }

    fn count(&mut self, key: u64, copy: bool, fewest: u32) -> bool {
        let seen = self.seen.entry(key).or_default();
        seen.pages += 1;
        seen.copies += u32::from(copy);
        let many = seen.copies >= fewest && seen.copies * 100 >= seen.pages * PERCENT;
        match many {
            true => self.mirrors.insert(key),
            false => self.mirrors.remove(&key),
        }
    }

    pub fn is_mirror(&self, host: &str) -> bool {
        !self.mirrors.is_empty()
            && (self.mirrors.contains(&hash(("host", host)))
                || self.mirrors.contains(&hash(("domain", domain_of(host)))))
    }

    pub fn any(&self) -> bool {
        !self.mirrors.is_empty()
    }

    /// The same by the ledger's number of the host, whose name is looked up once.
    pub fn is_mirror_numbered<E>(
        &mut self,
        number: u32,
        name: impl FnOnce() -> Result<String, E>,
    ) -> Result<bool, E> {
        if let Some(known) = self.known.get(&number) {
            return Ok(*known);
        }
        let is = self.is_mirror(&name()?);
        self.known.insert(number, is);
        Ok(is)
    }
}

/// A priority behind all others, in the order they have among themselves.
pub(crate) fn last(p: Priority) -> Priority {
    if p.key() <= LAST / 2.0 { p } else { Priority::new(0, p.key() + LAST) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_a_mirror_after_five_copies_and_a_domain_after_ten() {
        let mut m = Mirrors::default();
        for n in 1..=5 {
            assert_eq!(m.met("a.copy.net", Some("www.first.org")), n == 5, "page {n}");
        }
        assert!(m.is_mirror("a.copy.net") && !m.is_mirror("b.copy.net") && !m.is_mirror("www.first.org"));
        for n in 1..=5 {
            assert_eq!(m.met("b.copy.net", Some("www.first.org")), n == 5);
        }
        assert!(m.is_mirror("c.copy.net"), "ten copies on the domain");
        // Pages of its own: it is none.
        for _ in 0..4 {
            m.met("b.copy.net", None);
        }
        assert!(!m.is_mirror("b.copy.net") && !m.is_mirror("c.copy.net") && m.is_mirror("a.copy.net"));
    }

    #[test]
    fn a_page_twice_on_one_host_makes_no_mirror() {
        let mut m = Mirrors::default();
        for _ in 0..50 {
            m.met("www.first.org", Some("www.first.org"));
        }
        assert!(!m.any());
    }

    #[test]
    fn what_is_last_keeps_its_order() {
        let p = |k: f64| last(Priority::new(3, k));
        assert!(p(0.1) < p(0.9) && p(0.9) < Priority::key_only(-1e9));
        assert_eq!(last(p(0.5)), p(0.5));
    }
}
