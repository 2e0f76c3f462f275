//! What sitemaps and feeds may cost. They bring links but no pages, and a server can name new ones for ever:
//! so each host has a budget of files, bytes and URLs, and its sitemap files take turns with its pages.

use std::collections::HashMap;
use types::{Lease, LinkKind, Priority, Task};

/// How much is spent on sitemaps and feeds, per host.
#[derive(Clone, Debug, PartialEq)]
pub struct ListingLimits {
    /// Sitemaps and feeds that are read.
    pub files: u32,
    /// Levels of sitemaps that name sitemaps; 0 = only those that robots.txt names.
    pub nesting: u8,
    /// Bytes of them, decompressed.
    pub bytes: u64,
    /// URLs taken from them.
    pub urls: u32,
    /// Share of the host's requests that may go to sitemap files while it has pages to fetch.
    pub share: f64,
}

impl ListingLimits {
    /// For recorded webs, which end by themselves.
    pub fn none() -> ListingLimits {
        ListingLimits { files: u32::MAX, nesting: u8::MAX, bytes: u64::MAX, urls: u32::MAX, share: 1.0 }
    }
}

/// Where a sitemap file goes that has to let pages pass: behind everything a strategy wants.
pub(crate) const LATER: f64 = -1e300;
/// A host may begin with so many sitemap files before its pages have their turn.
const FIRST: u32 = 2;

/// Is this a sitemap file (and not a page that a sitemap names)? Its `hops` then say how deeply it is nested,
/// from 1.
pub(crate) fn is_sitemap_file(lease: &Lease) -> bool {
    lease.kind == LinkKind::Sitemap && lease.hops > 0 && lease.task == Task::Page
}

pub(crate) fn later() -> Priority {
    Priority::key_only(LATER)
}

/// What each host has spent. Hosts without sitemaps are not in it.
#[derive(Default)]
pub(crate) struct Listings {
    hosts: HashMap<Box<str>, HostSpending>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct HostSpending {
    /// Requests of any kind since its first sitemap was named.
    requests: u64,
    /// Requests for sitemap files, and others that brought a sitemap or feed.
    asked: u64,
    /// Sitemap files that were admitted.
    files: u64,
    /// Sitemaps and feeds that were read.
    read: u64,
    bytes: u64,
    urls: u64,
}

impl Listings {
    /// May one more sitemap file of this host be put into the frontier? Counts it.
    pub fn admit_file(&mut self, host: &str, limits: &ListingLimits) -> bool {
        let spent = self.hosts.entry(host.into()).or_default();
        let room = spent.files < u64::from(limits.files);
        spent.files += u64::from(room);
        room
    }

    /// Is it a sitemap file's turn?
    pub fn is_turn(&self, host: &str, limits: &ListingLimits) -> bool {
        let Some(s) = self.hosts.get(host) else { return true };
        s.asked < u64::from(FIRST) || s.asked as f64 <= limits.share * s.requests as f64
    }

    /// A request was sent to this host.
    pub fn requested(&mut self, host: &str, for_file: bool) {
        if let Some(spent) = self.hosts.get_mut(host) {
            spent.requests += 1;
            spent.asked += u64::from(for_file);
        }
    }

    /// A sitemap or feed came. How many of its URLs may be taken; `None`: the host has spent its budget.
    pub fn read(&mut self, host: &str, bytes: usize, asked: bool, limits: &ListingLimits) -> Option<usize> {
        let spent = self.hosts.entry(host.into()).or_default();
        spent.asked += u64::from(!asked);
        if spent.read >= u64::from(limits.files) || spent.bytes >= limits.bytes {
            return None;
        }
        spent.read += 1;
        spent.bytes = spent.bytes.saturating_add(bytes as u64);
        let left = u64::from(limits.urls).saturating_sub(spent.urls);
        (left > 0).then_some(usize::try_from(left).unwrap_or(usize::MAX))
    }

    pub fn took(&mut self, host: &str, urls: usize) {
        if let Some(spent) = self.hosts.get_mut(host) {
            spent.urls += urls as u64;
        }
    }

    /// What is kept of a host, as a line of the state `listings`. A later line replaces an earlier one.
    pub fn line(&self, host: &str) -> Option<Vec<u8>> {
        let HostSpending { requests, asked, files, read, bytes, urls } = self.hosts.get(host)?;
        Some(format!("{host}\t{requests}\t{asked}\t{files}\t{read}\t{bytes}\t{urls}\n").into_bytes())
    }

    pub fn restore(&mut self, lines: &[u8]) {
        for line in String::from_utf8_lossy(lines).lines() {
            let Some((host, numbers)) = line.split_once('\t') else { continue };
            let numbers: Vec<u64> = numbers.split('\t').filter_map(|n| n.parse().ok()).collect();
            if let [requests, asked, files, read, bytes, urls] = numbers[..] {
                self.hosts.insert(host.into(), HostSpending { requests, asked, files, read, bytes, urls });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: ListingLimits = ListingLimits { files: 8, nesting: 2, bytes: 1000, urls: 50, share: 0.25 };

    #[test]
    fn a_host_has_a_budget_that_survives() {
        let mut l = Listings::default();
        assert_eq!((0..20).filter(|_| l.admit_file("a", &LIMITS)).count(), 8);
        assert_eq!(l.read("a", 600, false, &LIMITS), Some(50));
        l.took("a", 45);
        assert_eq!(l.read("a", 600, false, &LIMITS), Some(5));
        assert_eq!(l.read("a", 1, false, &LIMITS), None, "its bytes are spent");
        let mut again = Listings::default();
        again.restore(b"a\t1\t2\t3\t4\t5\t6\nrubbish\nb\tx\n");
        again.restore(&l.line("a").unwrap());
        assert_eq!(again.hosts, l.hosts);
        assert_eq!(l.read("b", 1, true, &LIMITS), Some(50), "another host has its own");
        l.took("b", 50);
        assert_eq!(l.read("b", 1, true, &LIMITS), None, "its URLs are spent");
    }

    #[test]
    fn files_take_turns_with_pages() {
        let mut l = Listings::default();
        assert!(l.is_turn("a", &LIMITS) && l.admit_file("a", &LIMITS));
        let (mut files, mut pages) = (0, 0);
        for _ in 0..100 {
            let turn = l.is_turn("a", &LIMITS);
            l.requested("a", turn);
            if turn { files += 1 } else { pages += 1 }
        }
        assert!((24..=27).contains(&files) && pages + files == 100, "{files} files, {pages} pages");
    }
}
