//! A cache of robots rules of the hosts met lately, bounded in bytes. The ledger has the rules of all hosts.

use fetch::robots::Robots;
use std::collections::HashMap;
use std::sync::Arc;

/// Memory for rules. An ordinary host takes one or two kilobytes, the largest 64.
const MOST_BYTES: usize = 32 << 20;
/// Of an entry: its place in the map and what the allocator needs.
const ENTRY: usize = 128;

/// Two generations of equal size: a host that is asked for moves to the younger one; when that is full, the
/// older one is forgotten.
#[derive(Default)]
pub(crate) struct RobotsCache {
    young: Generation,
    old: Generation,
}

#[derive(Default)]
struct Generation {
    hosts: HashMap<Box<str>, Arc<Robots>>,
    bytes: usize,
}

impl RobotsCache {
    pub fn get(&mut self, host: &str) -> Option<Arc<Robots>> {
        if let Some(robots) = self.young.hosts.get(host) {
            return Some(robots.clone());
        }
        let robots = self.old.hosts.get(host)?.clone();
        self.put(host, robots.clone());
        Some(robots)
    }

    pub fn put(&mut self, host: &str, robots: Arc<Robots>) {
        let size = |host: &str, r: &Robots| ENTRY + host.len() + r.size();
        let bytes = size(host, &robots);
        if self.young.bytes + bytes > MOST_BYTES / 2 {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.bytes += bytes;
        if let Some(before) = self.young.hosts.insert(host.into(), robots) {
            self.young.bytes -= size(host, &before);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_memory_is_bounded_and_hosts_in_use_stay() {
        let mut file = "User-agent: *\n".to_string();
        for n in 0..1_000 {
            file.push_str(&format!("Disallow: /a/path/of/some/length/{n:06}\n"));
        }
        let robots = Robots::from_answer(200, file.as_bytes(), "Gleaner");
        let mut cache = RobotsCache::default();
        let mut most = 0;
        for n in 0..5_000 {
            cache.put(&format!("{n}.example"), Arc::new(robots.clone()));
            assert!(n == 0 || cache.get("0.example").is_some(), "after {n}");
            let all = cache.young.hosts.iter().chain(&cache.old.hosts);
            most = most.max(if n % 100 == 0 { all.map(|(_, r)| r.size()).sum() } else { 0 });
        }
        assert!(most <= MOST_BYTES && most > MOST_BYTES / 4, "{most}");
        assert!(cache.get("1.example").is_none() && cache.get("4999.example").is_some());
    }
}
