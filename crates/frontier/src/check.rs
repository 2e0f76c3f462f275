//! Every invariant of the order, spelled out: for tests, and for whoever doubts a collection.

use crate::entry::{GONE, LEASED, PENDING};
use crate::heap::NOWHERE;
use crate::host::HostState;
use crate::order::{Counts, Order};
use std::collections::HashMap;
use types::Task;

impl Order {
    /// Every URL is in exactly one state and wherever that state puts it; every queue is in order; every
    /// counter counts.
    pub fn check(&self) -> Result<(), String> {
        let n = self.entries.len();
        ensure(self.pos.len() == n, || format!("{n} URLs, {} positions", self.pos.len()))?;
        if self.indexed {
            let here = self.entries.iter().filter(|e| e.phase != GONE).count();
            ensure(self.seen.len() == here, || format!("{here} URLs, {} in the seen set", self.seen.len()))?;
        }
        let mut counts = Counts::default();
        for (i, e) in self.entries.iter().enumerate() {
            let id = i as u32;
            if self.indexed && e.phase != GONE {
                let found = self.find(e.print);
                ensure(found.is_some_and(|f| f.0 == id), || format!("URL {id} is found as {found:?}"))?;
            }
            ensure((e.host as usize) < self.hosts.len(), || format!("URL {id} has no host"))?;
            ensure(!e.key.is_nan(), || format!("URL {id} has no key"))?;
            let queued = self.pos[i] != NOWHERE;
            let delayed = self.delayed_at.contains_key(&id);
            let leased = self.leases.get(&id).is_some_and(|l| l.task == Task::Page);
            match e.phase {
                PENDING => {
                    counts.pending += 1;
                    ensure(!leased, || format!("URL {id} is pending and leased"))?;
                    if self.live {
                        ensure(queued != delayed, || {
                            format!("URL {id}: queued {queued}, delayed {delayed}")
                        })?;
                    }
                    if queued {
                        let queue = self.hosts[e.host as usize].queue(e.lane);
                        let node = queue.and_then(|q| q.get(self.pos[i] as usize));
                        ensure(node.is_some_and(|n| n.slot == id && n.key == e.key), || {
                            format!("URL {id} is not where its position says")
                        })?;
                    }
                }
                LEASED => {
                    counts.leased += 1;
                    ensure(leased && !queued && !delayed, || format!("URL {id} is leased but not out"))?;
                }
                GONE => ensure(!leased && !queued && !delayed, || format!("URL {id} is gone but waits"))?,
                _ => {
                    counts.settled[e.outcome as usize] += 1;
                    ensure(!leased && !queued && !delayed, || format!("URL {id} is settled but waits"))?;
                }
            }
        }
        ensure(counts == self.counts, || format!("counted {counts:?}, kept {:?}", self.counts))?;
        self.check_hosts()?;
        self.check_shares()?;
        self.check_sets()
    }

    fn check_hosts(&self) -> Result<(), String> {
        let mut in_flight: HashMap<u32, u32> = HashMap::new();
        for id in self.leases.keys() {
            *in_flight.entry(self.entries[*id as usize].host).or_default() += 1;
        }
        let (mut ready, mut unproven, mut resting, mut backing_off) = (0, 0, 0, 0);
        let shared = self.limits.shares.is_some();
        for (i, h) in self.hosts.iter().enumerate() {
            let host = i as u32;
            let name = &h.name;
            ensure(name.is_empty() || self.find_host(name) == Some(host), || {
                format!("host {name} is not found")
            })?;
            let mut queued = 0;
            for (at, (lane, queue)) in h.queues.iter().enumerate() {
                queue.check(&self.pos).map_err(|e| format!("queue {lane} of {name}: {e}"))?;
                ensure(at == 0 || h.queues[at - 1].0 > *lane, || {
                    format!("lanes of {name} are not in order")
                })?;
                queued += queue.len() as u32;
            }
            ensure(queued == h.queued, || format!("{name}: {queued} queued, {} counted", h.queued))?;
            let out = in_flight.get(&host).copied().unwrap_or(0);
            ensure(out == h.in_flight, || format!("{name}: {out} in flight, {} counted", h.in_flight))?;
            ensure((h.queued == 0) == (h.place == HostState::Out) || !self.live, || {
                format!("{name} has {} queued and is {:?}", h.queued, h.place)
            })?;
            let is_ready = h.place == HostState::Ready;
            let is_unproven = shared && !h.quick;
            let lists = [
                (&self.ready, is_ready && !is_unproven, &mut ready),
                (&self.unproven, is_ready && is_unproven, &mut unproven),
                (&self.resting, h.rests, &mut resting),
            ];
            for (list, there, listed) in lists {
                for lane in list.all() {
                    let at = lane.pos.get(i).copied().unwrap_or(NOWHERE);
                    let node = lane.heap.get(at as usize).map(|n| (n.place, n.key));
                    let top = h.queue(lane.lane).and_then(|q| q.top()).map(|n| (n.place, n.key));
                    let expected = if there { top } else { None };
                    ensure(node == expected, || {
                        format!("{name} in lane {}: {node:?}, not {expected:?}", lane.lane)
                    })?;
                    *listed += usize::from(node.is_some());
                }
            }
            if let HostState::Waiting(at) = h.place {
                ensure(self.waiting.contains(&(at, host)), || format!("{name} waits but is not listed"))?;
            }
            backing_off += u64::from(h.backing_off);
        }
        for (what, list, met) in [
            ("ready", &self.ready, ready),
            ("unproven", &self.unproven, unproven),
            ("resting", &self.resting, resting),
        ] {
            let listed: usize = list.all().iter().map(|l| l.heap.len()).sum();
            ensure(met == listed, || format!("{met} {what} hosts and lanes, {listed} listed"))?;
            for lane in list.all() {
                lane.heap.check(&lane.pos).map_err(|e| format!("{what} hosts of lane {}: {e}", lane.lane))?;
            }
        }
        let waiting = self.hosts.iter().filter(|h| matches!(h.place, HostState::Waiting(_))).count();
        ensure(waiting == self.waiting.len(), || format!("{waiting} wait, {} listed", self.waiting.len()))?;
        ensure(backing_off == self.backing_off, || {
            format!("{backing_off} back off, {} counted", self.backing_off)
        })
    }

    fn check_sets(&self) -> Result<(), String> {
        let pairs = [
            ("delayed", &self.delayed, self.delayed_at.len()),
            ("expiry", &self.expiry, self.expires_at.len()),
            ("leases", &self.lease_expiry, self.leases.len()),
        ];
        for (name, set, len) in pairs {
            ensure(set.len() == len, || format!("{name}: {} by time, {len} by URL", set.len()))?;
        }
        ensure(self.delayed.iter().all(|(at, id)| self.delayed_at.get(id) == Some(at)), || {
            "delayed differ".into()
        })?;
        ensure(self.expiry.iter().all(|(at, id)| self.expires_at.get(id) == Some(at)), || {
            "expiries differ".into()
        })?;
        let by_ip: u64 = self.ips.values().map(|s| u64::from(s.in_flight)).sum();
        let held = self.leases.values().filter(|l| l.ip.is_some()).count() as u64;
        ensure(by_ip == held, || format!("{by_ip} in flight by address, {held} leases"))
    }
}

fn ensure(ok: bool, what: impl FnOnce() -> String) -> Result<(), String> {
    if ok { Ok(()) } else { Err(what()) }
}
